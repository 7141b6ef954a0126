//! Registers without a defined value, and how instructions pass them on.
//!
//! The unit is a lane of a row for vector registers and a bit for scalar ones, since those hold
//! masks of lanes. What is undefined has an origin, the instruction that brought it in; it is
//! reported when it matters, not when it is copied.

use std::collections::HashMap;

use super::Kind;
use super::facts::{Facts, RowSet, Rule, ones};
use crate::exec::{EXEC, VCC, VECTOR_ROWS, WAVE, Wave, WaveSetup};
use crate::isa::{Dpp, Inst, Operand};

/// EXEC as an operand.
pub(super) const EXEC_PAIR: Operand = Operand { code: EXEC as u16, dwords: 2 };

/// Where undefined values come from; 0 stands for a register that was never written.
pub(super) type OriginId = u32;

/// Instruction that brought in undefined values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) kind: Kind,
    /// Index of the instruction.
    pub(super) index: usize,
    /// A lane, and where it read.
    pub(super) lane: Option<u32>,
    pub(super) address: Option<u64>,
    pub(super) wave: usize,
}

/// Origins of a workgroup.
#[derive(Debug, Default)]
pub(super) struct Origins {
    list: Vec<Origin>,
    known: HashMap<(Kind, usize), OriginId>,
}

impl Origins {
    pub(super) fn reset(&mut self) {
        self.list.clear();
        self.known.clear();
    }

    /// Number of an origin; the first of several of an instruction stands for all.
    pub(super) fn add(&mut self, origin: Origin) -> OriginId {
        *self.known.entry((origin.kind, origin.index)).or_insert_with(|| {
            self.list.push(origin);
            self.list.len() as OriginId
        })
    }

    /// The origin; `None` for a register that was never written.
    pub(super) fn get(&self, id: OriginId) -> Option<&Origin> {
        self.list.get((id as usize).checked_sub(1)?)
    }
}

/// Undefined lanes of an operand and where they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taint {
    pub(super) lanes: u64,
    pub(super) origin: OriginId,
}

impl Taint {
    pub(super) fn new(lanes: u64, origin: OriginId) -> Self {
        Self { lanes, origin }
    }

    /// Either; the origin of the first that has any.
    pub(super) fn or(self, other: Self) -> Self {
        let origin = if self.lanes != 0 { self.origin } else { other.origin };
        Self { lanes: self.lanes | other.lanes, origin }
    }

    /// All lanes if any is undefined.
    pub(super) fn spread(self) -> Self {
        Self { lanes: if self.lanes == 0 { 0 } else { u64::MAX }, ..self }
    }

    fn map(self, lanes: impl FnOnce(u64) -> u64) -> Self {
        Self { lanes: lanes(self.lanes), ..self }
    }
}

/// What of the registers of a wave is undefined.
#[derive(Debug)]
pub(super) struct Undefined {
    rows: Box<[u64; VECTOR_ROWS]>,
    origins: Box<[OriginId; VECTOR_ROWS]>,
    /// Rows with undefined lanes.
    any: RowSet,
    scalars: [u32; 128],
    scalar_origins: [OriginId; 128],
    /// Scalar registers with undefined bits.
    any_scalar: u128,
    scc: Option<OriginId>,
}

impl Default for Undefined {
    fn default() -> Self {
        Self {
            rows: Box::new([0; VECTOR_ROWS]),
            origins: Box::new([0; VECTOR_ROWS]),
            any: RowSet::default(),
            scalars: [0; 128],
            scalar_origins: [0; 128],
            any_scalar: 0,
            scc: None,
        }
    }
}

impl Undefined {
    /// Everything is defined.
    pub(super) fn clear(&mut self) {
        self.rows.fill(0);
        self.scalars.fill(0);
        (self.any, self.any_scalar, self.scc) = (RowSet::default(), 0, None);
    }

    /// Everything is undefined but what the dispatcher sets. The aperture registers and `ttmp` are
    /// its business; `live` are the lanes that have a work-item.
    pub(super) fn reset(&mut self, setup: &WaveSetup, live: u64) {
        self.clear();
        self.origins.fill(0);
        self.scalar_origins.fill(0);
        for row in 0..VECTOR_ROWS {
            self.set_row(row, Taint::new(if row == 0 { !live } else { u64::MAX }, 0));
        }
        let ids = setup.workgroup_id.iter().filter(|enabled| **enabled).count();
        let set = setup.user_sgprs as usize + ids + usize::from(setup.workgroup_info);
        for register in (set..102).chain([VCC, VCC + 1, crate::exec::M0]) {
            self.set_scalar(register, u32::MAX, 0);
        }
        self.scc = Some(0);
    }

    #[inline(always)]
    pub(super) fn row(&self, row: usize) -> Taint {
        Taint::new(self.rows[row & 511], self.origins[row & 511])
    }

    pub(super) fn set_row(&mut self, row: usize, taint: Taint) {
        let row = row & 511;
        self.rows[row] = taint.lanes;
        if taint.lanes == 0 {
            self.any.remove(row);
        } else {
            self.origins[row] = taint.origin;
            self.any.insert(row);
        }
    }

    /// Replaces the state of some lanes of a row.
    pub(super) fn write_row(&mut self, row: usize, lanes: u64, taint: Taint) {
        let kept = self.row(row).map(|old| old & !lanes);
        self.set_row(row, taint.map(|new| new & lanes).or(kept));
    }

    pub(super) fn set_scalar(&mut self, register: usize, bits: u32, origin: OriginId) {
        let register = register & 127;
        self.scalars[register] = bits;
        if bits == 0 {
            self.any_scalar &= !(1 << register);
        } else {
            self.scalar_origins[register] = origin;
            self.any_scalar |= 1 << register;
        }
    }

    /// Undefined bits of a scalar register or pair.
    pub(super) fn scalar(&self, operand: Operand) -> Taint {
        let Some(first) = operand.scalar_index() else { return Taint::default() };
        let low = Taint::new(self.scalars[first].into(), self.scalar_origins[first]);
        if operand.dwords < 2 {
            return low;
        }
        let second = (first + 1) & 127;
        let high = u64::from(self.scalars[second]) << 32;
        low.or(Taint::new(high, self.scalar_origins[second]))
    }

    fn set_scalars(&mut self, operand: Operand, taint: Taint) {
        let Some(first) = operand.scalar_index() else { return };
        for dword in 0..usize::from(operand.dwords) {
            // Beyond a pair all dwords are alike.
            let bits = (taint.lanes >> (32 * (dword & 1))) as u32;
            self.set_scalar(first + dword, bits, taint.origin);
        }
    }

    pub(super) fn scc(&self) -> Option<OriginId> {
        self.scc
    }

    pub(super) fn define_scc(&mut self) {
        self.scc = None;
    }

    /// Undefined lanes of an operand that is read as a value.
    pub(super) fn value(&self, operand: Operand) -> Taint {
        match operand.vector_index() {
            Some(first) => (first..first + usize::from(operand.dwords))
                .fold(Taint::default(), |taint, row| taint.or(self.row(row))),
            None => {
                let wide = (0..usize::from(operand.dwords)).step_by(2).map(|at| Operand {
                    code: operand.code + at as u16,
                    dwords: operand.dwords - at as u8,
                });
                wide.fold(Taint::default(), |taint, part| taint.or(self.scalar(part))).spread()
            }
        }
    }

    /// Undefined lanes among those that are active.
    fn active(&self, operand: Operand, exec: u64) -> Taint {
        self.value(operand).map(|lanes| lanes & exec)
    }

    /// Whether an instruction reads anything undefined, or may leave part of a destination.
    #[inline(always)]
    fn concerns(&self, facts: &Facts) -> bool {
        self.any.meets(&facts.reads)
            || self.any_scalar & facts.scalar_reads != 0
            || self.scc.is_some() && facts.reads_scc
            || facts.dpp().is_some() && self.any.meets(&facts.writes)
    }

    /// Passes on what an ALU instruction does. `never` is the origin that registers which were
    /// never written get.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        wave: &Wave<'_>,
        facts: &Facts,
        never: &mut dyn FnMut(Kind) -> OriginId,
    ) {
        if self.concerns(facts) {
            self.pass_on(wave, facts, never);
        } else {
            self.define_writes(wave, facts);
        }
    }

    /// All inputs are defined, hence so is what is written.
    #[inline(always)]
    pub(super) fn define_writes(&mut self, wave: &Wave<'_>, facts: &Facts) {
        if self.any.meets(&facts.writes) {
            let lanes = if facts.rule == Rule::Matrix { u64::MAX } else { wave.exec() };
            for row in self.any.and(&facts.writes).rows() {
                self.write_row(row, lanes, Taint::default());
            }
        }
        let scalars = self.any_scalar & facts.scalar_writes;
        if scalars != 0 {
            self.any_scalar &= !scalars;
            for register in 0..128 {
                if scalars >> register & 1 != 0 {
                    self.scalars[register] = 0;
                }
            }
        }
        if facts.writes_scc {
            self.scc = None;
        }
    }

    #[inline(never)]
    fn pass_on(&mut self, wave: &Wave<'_>, facts: &Facts, never: &mut dyn FnMut(Kind) -> OriginId) {
        let inst = &facts.inst;
        let exec = wave.exec();
        let mut name_as = |kind: Kind, taint: Taint| match taint {
            Taint { lanes: 1.., origin: 0 } => Taint { origin: never(kind), ..taint },
            _ => taint,
        };
        let mut name = |taint: Taint| name_as(Kind::Uninit, taint);
        match facts.rule {
            Rule::Scalar(rule) => self.pass_on_scalar(wave, inst, rule, &mut name),
            Rule::Matrix => super::matrix::pass_on(self, wave, inst, &mut name),
            Rule::ReadLane => {
                let lane = selected_lane(wave, inst);
                let selector = self.value(inst.src[1]);
                let value = self.value(inst.src[0]).map(|lanes| lanes & 1 << lane);
                let inactive = exec >> lane & 1 == 0;
                let value = name_as(if inactive { Kind::Divergence } else { Kind::Uninit }, value);
                let taint = name_as(Kind::Uninit, value.or(selector).spread());
                self.set_scalars(inst.dst[0], taint);
            }
            Rule::WriteLane => {
                let lane = selected_lane(wave, inst);
                let taint = name(self.value(inst.src[0]).or(self.value(inst.src[1])));
                if let Some(row) = inst.dst[0].vector_index() {
                    self.write_row(row, 1 << lane, taint);
                }
            }
            Rule::Swap(source) => {
                let (Some(a), Some(b)) = (inst.dst[0].vector_index(), inst.src[0].vector_index())
                else {
                    return;
                };
                let (old_a, old_b) = (self.row(a), self.row(b));
                // Which lanes of each register come from the other one, and from where.
                let (mut new_a, mut new_b) = (old_a.lanes, old_b.lanes);
                let mut inactive = false;
                for lane in ones(exec) {
                    let (a_from_b, b_from_a) = source.lanes(lane);
                    for (from, old, new) in
                        [(a_from_b, old_b, &mut new_a), (b_from_a, old_a, &mut new_b)]
                    {
                        let Some(from) = from else { continue };
                        let (active, kept) = (exec >> from & 1 != 0, *new >> lane & 1);
                        // Bits of an exchange of lanes: `fi` reads inactive lanes, `bound_ctrl`
                        // gives zero for them, and without either the register is kept.
                        let undefined = match inst.op_sel {
                            0 if !active => kept,
                            2 if !active => 0,
                            _ => old.lanes >> from & 1,
                        };
                        *new = *new & !(1 << lane) | undefined << lane;
                        inactive |= !active && undefined != 0;
                    }
                }
                let kind = if inactive { Kind::Divergence } else { Kind::Uninit };
                let origin = name_as(kind, old_a.or(old_b)).origin;
                self.set_row(a, Taint::new(new_a, origin));
                self.set_row(b, Taint::new(new_b, origin));
            }
            Rule::Rows(selection) => {
                let Some(first) = inst.dst[0].vector_index() else { return };
                let count = usize::from(inst.dst[0].dwords);
                let new: Vec<Taint> = (0..count)
                    .map(|dword| {
                        let sources = selection.sources(inst, dword);
                        let taint =
                            sources.into_iter().flatten().fold(Taint::default(), |taint, part| {
                                taint.or(self.active(part, exec))
                            });
                        name(taint)
                    })
                    .collect();
                let carry = new.iter().fold(Taint::default(), |taint, part| taint.or(*part));
                for (dword, taint) in new.into_iter().enumerate() {
                    self.write_row(first + dword, exec, taint);
                }
                self.set_scalars(inst.dst[1], carry.map(|lanes| lanes & exec));
            }
            Rule::Lanewise { mask, accumulates } => {
                if let Some(dpp) = facts.dpp() {
                    // The register is kept where the lane that would be read takes no part.
                    let stale = exec & dpp_stale(dpp, exec);
                    for row in self.any.and(&facts.writes).rows() {
                        let old = self.row(row);
                        if old.lanes & stale != 0 {
                            self.set_row(row, name_as(Kind::Divergence, old));
                        }
                    }
                }
                let mut name = |taint: Taint| name_as(Kind::Uninit, taint);
                let taint = name(self.lanewise(wave, inst, facts.dpp(), mask, accumulates));
                self.write_lanewise(wave, facts, taint);
            }
        }
    }

    /// Undefined lanes of the result of an operation that works lane by lane.
    fn lanewise(
        &self,
        wave: &Wave<'_>,
        inst: &Inst,
        dpp: Option<Dpp>,
        mask: Option<Operand>,
        accumulates: bool,
    ) -> Taint {
        let base = inst.info.base();
        let same = inst.src[0] == inst.src[1] && inst.src[0].is_vector();
        if same && dpp.is_none() && (base.starts_with("v_xor") || base.starts_with("v_sub_")) {
            return Taint::default();
        }
        let exec = wave.exec();
        // What a lane reads of one that is not active is zero.
        let active = self.active(inst.src[0], exec);
        let first = match dpp {
            Some(dpp) => active.map(|lanes| {
                let moved = |lane: usize| match dpp_source(dpp.ctrl, lane) {
                    Some(from) => lanes >> from & 1,
                    None => 0,
                };
                (0..WAVE).fold(0, |bits, lane| bits | moved(lane) << lane)
            }),
            None => active,
        };
        if let Some(mask) = mask.filter(|_| base == "v_cndmask_b32") {
            // Only the chosen side matters; an undefined choice does in any case.
            let chosen = wave.sgpr64(mask.scalar_index().unwrap_or(VCC));
            let zero = first.map(|lanes| lanes & !chosen);
            let one = self.active(inst.src[1], exec).map(|lanes| lanes & chosen);
            return zero.or(one).or(self.scalar(mask));
        }
        let mut taint = first;
        for operand in &inst.src[1..] {
            if Some(*operand) != mask {
                taint = taint.or(self.active(*operand, exec));
            }
        }
        if let Some(mask) = mask {
            taint = taint.or(self.scalar(mask));
        }
        if accumulates {
            taint = taint.or(self.active(inst.dst[0], exec));
        }
        taint
    }

    fn write_lanewise(&mut self, wave: &Wave<'_>, facts: &Facts, taint: Taint) {
        let inst = &facts.inst;
        let exec = wave.exec();
        for operand in inst.dst {
            if let Some(first) = operand.vector_index() {
                let lanes = facts.dpp().map_or(exec, |dpp| exec & dpp_written(dpp, exec));
                for row in first..first + usize::from(operand.dwords) {
                    self.write_row(row, lanes, taint);
                }
            } else if operand.is_some() {
                // A mask: the bits of inactive lanes are zero.
                self.set_scalars(operand, taint.map(|lanes| lanes & exec));
            }
        }
        if inst.info.base().starts_with("v_cmpx") {
            self.set_scalars(EXEC_PAIR, taint.map(|lanes| lanes & exec));
        }
        if facts.writes_scc {
            self.scc = None;
        }
    }

    fn pass_on_scalar(
        &mut self,
        wave: &Wave<'_>,
        inst: &Inst,
        rule: ScalarRule,
        name: &mut dyn FnMut(Taint) -> Taint,
    ) {
        let wide = inst.dst[0].dwords == 2 || inst.src[0].dwords == 2;
        let width = if wide { u64::MAX } else { 0xffff_ffff };
        let scc = self.scc.map_or(Taint::default(), |origin| Taint::new(u64::MAX, origin));
        let base = inst.info.base();
        let source = |at: usize| {
            let operand = inst.src[at];
            let taint = if operand.code == 253 { scc } else { self.scalar(operand) };
            let value = if operand.dwords == 2 {
                wave.scalar64(operand.code, inst.literal, base.ends_with("_i64"))
            } else {
                wave.scalar(operand.code, inst.literal).into()
            };
            (value, taint)
        };
        let saves = base.contains("saveexec");
        let masks = saves || base.contains("wrexec");
        let (a, ua) = source(0);
        let (b, ub) = if masks { (wave.exec(), self.scalar(EXEC_PAIR)) } else { source(1) };
        // Undefined bits, and bits that are one for certain.
        let both = ua.or(ub);
        let (lanes, ones) = match rule {
            ScalarRule::And { not_b } => {
                let b = if not_b { !b } else { b };
                let lanes = ua.lanes & (b | ub.lanes) | ub.lanes & (a | ua.lanes);
                (lanes, a & b & !ua.lanes & !ub.lanes)
            }
            ScalarRule::Or { not_b } => {
                let b = if not_b { !b } else { b };
                let lanes = ua.lanes & (!b | ub.lanes) | ub.lanes & (!a | ua.lanes);
                (lanes, a & !ua.lanes | b & !ub.lanes)
            }
            ScalarRule::Bitwise => (both.lanes, 0),
            ScalarRule::Select => {
                let chosen = if wave.scc { ua } else { ub };
                (if scc.lanes != 0 { u64::MAX } else { chosen.lanes }, 0)
            }
            ScalarRule::Other => {
                let mut any = both;
                if inst.info.dst[0].rw {
                    any = any.or(self.scalar(inst.dst[0]));
                }
                if inst.reads_scc() {
                    any = any.or(scc);
                }
                (any.spread().lanes, 0)
            }
        };
        let origin = both.or(if inst.reads_scc() { scc } else { Taint::default() }).origin;
        let result = name(Taint::new(lanes & width, origin));
        if inst.writes_scc() {
            self.scc = (result.lanes != 0 && ones & width == 0).then_some(result.origin);
        }
        if masks {
            let old = self.scalar(EXEC_PAIR);
            self.set_scalars(inst.dst[0], if saves { old } else { result });
            self.set_scalars(EXEC_PAIR, result);
        } else {
            self.set_scalars(inst.dst[0], result);
        }
    }
}

/// The lane that `v_readlane`, `v_writelane` or `v_readfirstlane` is about; the last takes lane 0 if
/// none is active.
pub(super) fn selected_lane(wave: &Wave<'_>, inst: &Inst) -> usize {
    match inst.src[1].is_some() {
        true => wave.scalar(inst.src[1].code, inst.literal) as usize % WAVE,
        false => wave.exec().trailing_zeros() as usize % WAVE,
    }
}

/// How a scalar operation passes on undefined bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarRule {
    /// A zero bit on either side decides; `not_b` if the second source is inverted.
    And { not_b: bool },
    /// A one bit on either side decides.
    Or { not_b: bool },
    /// Bit by bit.
    Bitwise,
    /// `s_cselect`.
    Select,
    /// Any undefined bit spoils all.
    Other,
}

impl ScalarRule {
    /// Rule of an operation.
    pub(super) fn of(base: &str) -> Self {
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| base.starts_with(prefix));
        if starts(&["s_andn1", "s_orn1"]) {
            Self::Bitwise
        } else if starts(&["s_andn2"]) {
            Self::And { not_b: true }
        } else if starts(&["s_and_"]) {
            Self::And { not_b: false }
        } else if starts(&["s_orn2"]) {
            Self::Or { not_b: true }
        } else if starts(&["s_or_"]) {
            Self::Or { not_b: false }
        } else if starts(&["s_xor", "s_xnor", "s_not", "s_mov_b", "s_nand", "s_nor"]) {
            Self::Bitwise
        } else if starts(&["s_cselect"]) {
            Self::Select
        } else {
            Self::Other
        }
    }
}

/// Which lanes a swap exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwapLanes {
    /// The same lane of both registers.
    Same,
    /// The upper part of each group of twice this many lanes of the destination with the lower
    /// part of the source.
    Halves(usize),
}

impl SwapLanes {
    /// Lane of the source that a lane of the destination receives, and the reverse.
    fn lanes(self, lane: usize) -> (Option<usize>, Option<usize>) {
        match self {
            Self::Same => (Some(lane), Some(lane)),
            Self::Halves(half) if lane & half != 0 => (Some(lane - half), None),
            Self::Halves(half) => (None, Some(lane + half)),
        }
    }
}

/// Which source dwords make up a dword of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// The same dword of the first source.
    Copy,
    /// The dword of the first source that `op_sel` picks for the low one, of the second for the
    /// high one.
    PackedMove,
    /// Of every source the dword that `op_sel` or `op_sel_hi` picks.
    Packed,
    /// The same dword of every source and those below, for sums and products of integers.
    Carried,
}

impl Selection {
    fn sources(self, inst: &Inst, dword: usize) -> [Option<Operand>; 3] {
        let part = |source: usize, dword: usize| {
            let operand = inst.src[source];
            let is_register = operand.is_vector() || operand.scalar_index().is_some();
            let dword = dword.min(usize::from(operand.dwords.max(1)) - 1);
            is_register.then_some(Operand { code: operand.code + dword as u16, dwords: 1 })
        };
        let picked = |source: usize| {
            let bits = if dword == 0 { inst.op_sel } else { inst.op_sel_hi };
            part(source, usize::from(bits >> source & 1))
        };
        let carried = |source: usize| {
            let operand = inst.src[source];
            let dwords = operand.dwords.min(dword as u8 + 1);
            let is_register = operand.is_vector() || operand.scalar_index().is_some();
            is_register.then_some(Operand { dwords, ..operand })
        };
        match self {
            Self::Carried => [carried(0), carried(1), carried(2)],
            Self::Copy => [part(0, dword), None, None],
            Self::PackedMove => {
                let half = usize::from(inst.op_sel >> dword & 1);
                [part(dword, half), None, None]
            }
            Self::Packed => [picked(0), picked(1), picked(2)],
        }
    }
}

/// Lane that a lane reads under a DPP control; `None` where there is none.
pub(super) fn dpp_source(ctrl: u16, lane: usize) -> Option<usize> {
    let (row, at, n) = (lane & !15, lane & 15, usize::from(ctrl & 15));
    match ctrl {
        0x000..=0x0ff => Some(lane & !3 | usize::from(ctrl >> (2 * (lane & 3)) & 3)),
        0x101..=0x10f => (at + n < 16).then_some(lane + n),
        0x111..=0x11f => (at >= n).then(|| lane - n),
        0x121..=0x12f => Some(row | (at + 16 - n) & 15),
        0x130 => (lane < 63).then_some(lane + 1),
        0x134 => Some((lane + 1) & 63),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + 63) & 63),
        0x140 => Some(row | (15 - at)),
        0x141 => Some(lane & !7 | (7 - (lane & 7))),
        0x142 => (lane >= 16).then(|| row - 1),
        0x143 => (lane >= 32).then_some(31),
        0x150..=0x15f => Some(row | n),
        _ => None,
    }
}

/// Lanes that a DPP instruction leaves as they are because the lane to be read is inactive.
fn dpp_stale(dpp: Dpp, exec: u64) -> u64 {
    let exists = |lane: usize| dpp_source(dpp.ctrl, lane).is_some();
    let exists = (0..WAVE).fold(0, |lanes, lane| lanes | u64::from(exists(lane)) << lane);
    exists & dpp_written(dpp, u64::MAX) & !dpp_written(dpp, exec)
}

/// Lanes that a DPP instruction writes, as far as its control decides.
pub(super) fn dpp_written(dpp: Dpp, exec: u64) -> u64 {
    let writes = |lane: usize| {
        let enabled =
            dpp.row_mask >> (lane / 16) & 1 != 0 && dpp.bank_mask >> (lane % 16 / 4) & 1 != 0;
        let source = dpp_source(dpp.ctrl, lane).is_some_and(|from| exec >> from & 1 != 0);
        enabled && (source || dpp.bound_ctrl)
    };
    (0..WAVE).fold(0, |lanes, lane| lanes | u64::from(writes(lane)) << lane)
}
