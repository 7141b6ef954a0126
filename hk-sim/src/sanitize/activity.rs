//! Values of lanes that take no part.
//!
//! A lane that EXEC leaves out keeps its registers. Reading one of them there is right as long as the
//! register has been left alone: a value that was computed before a branch may be read in it, from
//! any lane. Once lanes that do take part have written the register, those that do not hold a value
//! of another place in the program. So the value of a lane is *old* if
//!
//! - the lane is not active,
//! - and the register was written under EXEC since the lane was last active,
//! - and not by `v_writelane` to this lane behind that, nor by an instruction that writes all lanes
//!   whatever EXEC is.
//!
//! A lane that becomes active again has no old values: what the two sides of a branch left in a
//! register is one value where they meet. Scalar registers that compilers keep in lanes of a vector
//! register are written by `v_writelane`, or under a full EXEC, and never under that of the program.

use super::facts::{Facts, Rule, ones};
use super::undefined::selected_lane;
use crate::exec::{VECTOR_ROWS, WAVE, Wave};

/// Which lanes of a wave have old values.
#[derive(Debug)]
pub(super) struct Activity {
    exec: u64,
    /// Changes of EXEC so far.
    now: u32,
    /// When each lane was left out; meaningless while it is active.
    left: [u32; WAVE],
    /// When each row was last written under EXEC.
    written: Box<[u32; VECTOR_ROWS]>,
    /// Lanes that `v_writelane` wrote since.
    placed: Box<[u64; VECTOR_ROWS]>,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            exec: 0,
            now: 1,
            left: [1; WAVE],
            written: Box::new([0; VECTOR_ROWS]),
            placed: Box::new([0; VECTOR_ROWS]),
        }
    }
}

impl Activity {
    /// A wave starts with these lanes.
    pub(super) fn reset(&mut self, exec: u64) {
        (self.exec, self.now) = (exec, 1);
        self.left.fill(1);
        self.written.fill(0);
        self.placed.fill(0);
    }

    /// Called before each instruction.
    #[inline(always)]
    pub(super) fn step(&mut self, wave: &Wave<'_>, facts: &Facts) {
        let exec = wave.exec();
        if exec != self.exec {
            self.now = self.now.saturating_add(1);
            for lane in ones(self.exec & !exec) {
                self.left[lane] = self.now;
            }
            self.exec = exec;
        }
        match facts.rule {
            Rule::Scalar(_) => {}
            Rule::WriteLane => {
                if let Some(row) = facts.inst.dst[0].vector_index() {
                    self.placed[row] |= 1 << selected_lane(wave, &facts.inst);
                }
            }
            Rule::Matrix => facts.writes.rows().for_each(|row| self.written[row] = 0),
            _ if exec == 0 => {}
            _ => facts.writes.rows().for_each(|row| {
                self.written[row] = self.now;
                self.placed[row] = 0;
            }),
        }
    }

    /// The lane that `v_readlane` or `v_readfirstlane` reads, if its value is old.
    pub(super) fn old_lane(&self, wave: &Wave<'_>, facts: &Facts) -> Option<usize> {
        let row = facts.inst.src[0].vector_index()?;
        let lane = selected_lane(wave, &facts.inst);
        let active = self.exec >> lane & 1 != 0;
        let placed = self.placed[row] >> lane & 1 != 0;
        (!active && !placed && self.written[row] >= self.left[lane]).then_some(lane)
    }
}
