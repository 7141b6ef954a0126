//! What instructions do to memory, as their encodings and the registers say: computed without any
//! help from their handlers, for those who watch these.

mod lanes;
mod memory;

pub(crate) use lanes::{Range, Reach, locate, locate_scalar, locate_slots, ones, unaligned_scalar};
pub(crate) use memory::{Access, Memory, Queue, Scope, Space};

use super::Wave;
use crate::isa::Op;
use crate::mem::Mapping;

/// Bytes of a kind of memory.
#[derive(Clone, Copy)]
enum Part {
    Global(u64),
    Lds(u64),
    /// Offset in the private memory of a lane.
    Private(usize, u64),
}

/// What an instruction may change, as it was before.
pub(super) struct Effects {
    before: Vec<(Part, Vec<u8>)>,
    /// Something that is not followed, or that depends on time.
    unknown: bool,
    reads: bool,
    /// Addresses; kept to save their initialisation.
    reach: Option<Box<Reach>>,
}

impl Effects {
    pub(super) fn new() -> Self {
        Self { before: Vec::new(), unknown: false, reads: false, reach: None }
    }

    /// Whether the instruction reads memory.
    pub(super) fn reads(&self) -> bool {
        self.reads
    }

    /// Looks at the instruction that a wave is about to execute.
    pub(super) fn before(&mut self, wave: &Wave<'_>, index: usize) {
        self.before.clear();
        (self.unknown, self.reads) = (false, false);
        // GPR indices move no operands of memory instructions.
        let Ok(inst) = wave.env.program.inst_at(index) else {
            self.unknown = true;
            return;
        };
        if wave.skips(Some(inst.info.format)) {
            return;
        }
        self.unknown = matches!(inst.info.op, Op::s_memtime | Op::s_memrealtime);
        let Some(memory) = Memory::of(&inst) else { return };
        self.reads = matches!(memory.access, Access::Load | Access::Atomic);
        if memory.access == Access::Load {
            return;
        }
        if memory.queue == Queue::Scalar {
            let (start, len) = locate_scalar(wave, &inst, &memory);
            return self.save(wave, Part::Global(start), len);
        }
        if memory.space == Space::None {
            self.unknown |= wave.exec() != 0;
            return;
        }
        let mut reach = self.reach.take().unwrap_or_else(|| Box::new(Reach::new()));
        if let Access::ToLds { slot } = memory.access {
            locate_slots(wave, &memory, slot, wave.exec(), &mut reach);
            self.save_all(wave, &memory, &reach);
        } else {
            for second in [false, true].into_iter().take(1 + usize::from(memory.second.is_some())) {
                locate(wave, &inst, &memory, second, &mut reach);
                self.save_all(wave, &memory, &reach);
            }
        }
        self.reach = Some(reach);
    }

    fn save_all(&mut self, wave: &Wave<'_>, memory: &Memory, reach: &Reach) {
        for range in reach.in_global.as_slice() {
            self.save(wave, Part::Global(range.start), range.len);
        }
        for range in reach.in_lds.as_slice() {
            self.save(wave, Part::Lds(range.start), range.len);
        }
        for lane in ones(reach.private) {
            self.save(wave, Part::Private(lane, reach.at[lane]), memory.bytes);
        }
    }

    fn save(&mut self, wave: &Wave<'_>, part: Part, len: u32) {
        match bytes(wave, part, len as usize) {
            Some(bytes) => self.before.push((part, bytes)),
            None => self.unknown = true,
        }
    }

    /// Whether the instruction, which has been executed, may have changed anything.
    pub(super) fn changed(&self, wave: &Wave<'_>) -> bool {
        let same = |(part, before): &(Part, Vec<u8>)| {
            bytes(wave, *part, before.len()).is_some_and(|now| now == *before)
        };
        self.unknown || !self.before.iter().all(same)
    }
}

/// Contents of memory; `None` where there is none.
fn bytes(wave: &Wave<'_>, part: Part, len: usize) -> Option<Vec<u8>> {
    let mut found = vec![0; len];
    let from = match part {
        Part::Global(start) => {
            let regions = wave.env.regions;
            let at = regions.partition_point(|region| region.base <= start).checked_sub(1)?;
            let Mapping { base, mapped, .. } = regions[at];
            let inside = start - base;
            (inside <= mapped && mapped - inside >= len as u64)
                .then(|| std::ptr::with_exposed_provenance::<u8>(start as usize))?
        }
        Part::Lds(start) => {
            let end = start.checked_add(len as u64)?;
            (end <= u64::from(wave.lds_len))
                .then(|| wave.lds.wrapping_add(start as usize).cast_const())?
        }
        Part::Private(lane, start) => {
            let start = usize::try_from(start).ok()?;
            let lane = lane * wave.scratch_per_lane as usize;
            let end = start.checked_add(len)?;
            (end <= wave.scratch_per_lane as usize)
                .then(|| wave.scratch.get(lane + start..lane + end))??
                .as_ptr()
        }
    };
    // SAFETY: `len` bytes from there on belong to the region, to the workgroup's LDS or to the
    // lane; a kernel on another thread that writes them now races as it would with any load.
    unsafe { from.copy_to_nonoverlapping(found.as_mut_ptr(), len) };
    Some(found)
}
