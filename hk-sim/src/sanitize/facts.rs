//! What the checks know of an instruction before it is executed.

use std::sync::OnceLock;

use super::float::Floats;
use super::hazards::Stalls;
use super::index::Form;
use super::undefined::{ScalarRule, Selection, SwapLanes};
use crate::counters::Class;
use crate::exec::Program;
pub(super) use crate::exec::effects::{Access, Memory, Queue, Scope, Space, ones};
use crate::isa::{ByIndex, Dpp, Ext, GprIndex, Inst, Op, Operand};

/// A set of rows of the vector file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowSet([u64; 8]);

impl RowSet {
    pub(super) const EMPTY: Self = Self([0; 8]);

    #[inline(always)]
    pub(super) fn insert(&mut self, row: usize) {
        self.0[row / 64] |= 1 << (row % 64);
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, row: usize) {
        self.0[row / 64] &= !(1 << (row % 64));
    }

    pub(super) fn has(&self, row: usize) -> bool {
        self.0[(row / 64) & 7] >> (row % 64) & 1 != 0
    }

    #[inline(always)]
    pub(super) fn meets(&self, other: &Self) -> bool {
        let mut any = 0;
        for (a, b) in self.0.iter().zip(&other.0) {
            any |= a & b;
        }
        any != 0
    }

    /// Rows of the set, ascending.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        (0..8).flat_map(|word| ones(self.0[word]).map(move |bit| 64 * word + bit))
    }

    /// Rows of both sets.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Rows of either set.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Rows of this set that are not in the other.
    pub(super) fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    pub(super) fn insert_tuple(&mut self, operand: Operand) {
        if let Some(first) = operand.vector_index() {
            for row in first..(first + usize::from(operand.dwords)).min(512) {
                self.insert(row);
            }
        }
    }
}

/// Bits of the scalar file that an operand covers.
pub(super) fn scalar_bits(operand: Operand) -> u128 {
    operand.scalar_index().map_or(0, |first| {
        let width = u32::from(operand.dwords).min(128 - first as u32);
        (u128::MAX >> (128 - width)) << first
    })
}

/// What kind of step an instruction is for the checks.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// Only registers are concerned.
    Plain,
    /// `s_waitcnt`; a counter that is not waited for is `None`.
    Wait { vector: Option<u32>, lgkm: Option<u32> },
    /// `s_barrier`.
    Barrier,
    /// `s_endpgm`.
    End,
    /// A memory instruction.
    Memory(Box<Memory>),
    /// `buffer_wbl2` of device scope or wider.
    WriteBack,
    /// `buffer_inv` of device scope or wider.
    Invalidate,
    /// `s_dcache_inv`.
    InvalidateScalars,
}

/// Which lanes of its vector operands an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneRule {
    /// Those that EXEC enables.
    Active,
    /// Others as well.
    All,
    /// One, which a scalar operand or EXEC selects.
    One,
}

/// What the checks need to know of one instruction.
#[derive(Debug)]
pub(super) struct Facts {
    /// The instruction, with its operands as they are executed.
    pub(super) inst: Inst,
    pub(super) class: Class,
    /// The GPR index that moved them.
    pub(super) by: Option<GprIndex>,
    /// Rows read.
    pub(super) reads: RowSet,
    /// Rows written.
    pub(super) writes: RowSet,
    /// Rows read or written.
    pub(super) touches: RowSet,
    /// Scalar registers read.
    pub(super) scalar_reads: u128,
    /// Scalar registers written.
    pub(super) scalar_writes: u128,
    pub(super) reads_scc: bool,
    pub(super) writes_scc: bool,
    /// A branch whose direction or target is computed.
    pub(super) ends_block: bool,
    pub(super) lanes: LaneRule,
    pub(super) rule: Rule,
    pub(super) action: Action,
    pub(super) stalls: Stalls,
    pub(super) form: Form,
    /// Floating-point operands and results.
    pub(super) floats: Option<Box<Floats>>,
}

/// How an ALU instruction passes on undefined values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Lane by lane from all sources, with a mask of lanes among them, and from the destination if
    /// it accumulates.
    Lanewise { mask: Option<Operand>, accumulates: bool },
    /// `v_readlane`, `v_readfirstlane`.
    ReadLane,
    /// `v_writelane`.
    WriteLane,
    /// Two registers exchange lanes.
    Swap(SwapLanes),
    /// Dword by dword.
    Rows(Selection),
    /// MFMA and SMFMAC.
    Matrix,
    /// Scalar instructions.
    Scalar(ScalarRule),
}

fn rule(inst: &Inst) -> Rule {
    let base = inst.info.base();
    if !inst.info.format.is_vector() {
        return Rule::Scalar(ScalarRule::of(base));
    }
    if inst.is_matrix() {
        return Rule::Matrix;
    }
    let vcc = Operand { code: Operand::VCC, dwords: 2 };
    let mask = match base {
        "v_cndmask_b32" | "v_addc_co_u32" | "v_subb_co_u32" | "v_subbrev_co_u32" => {
            Some(inst.src[2])
        }
        "v_div_fmas_f32" | "v_div_fmas_f64" => Some(vcc),
        _ => None,
    };
    match base {
        "v_readlane_b32" | "v_readfirstlane_b32" => Rule::ReadLane,
        "v_writelane_b32" => Rule::WriteLane,
        "v_swap_b32" => Rule::Swap(SwapLanes::Same),
        "v_permlane16_swap_b32" => Rule::Swap(SwapLanes::Halves(16)),
        "v_permlane32_swap_b32" => Rule::Swap(SwapLanes::Halves(32)),
        "v_mov_b64" if inst.ext == Ext::None => Rule::Rows(Selection::Copy),
        "v_pk_mov_b32" => Rule::Rows(Selection::PackedMove),
        "v_pk_fma_f32" | "v_pk_mul_f32" | "v_pk_add_f32" => Rule::Rows(Selection::Packed),
        "v_mad_u64_u32" | "v_mad_i64_i32" | "v_lshl_add_u64" => Rule::Rows(Selection::Carried),
        _ => Rule::Lanewise { mask, accumulates: inst.info.dst[0].rw },
    }
}

impl Facts {
    fn new(program: &Program, index: usize, inst: Inst, by: Option<GprIndex>) -> Self {
        let (mut reads, mut writes) = (RowSet::default(), RowSet::default());
        let (mut scalar_reads, mut scalar_writes) = (0, 0);
        inst.reads(&mut |operand| {
            reads.insert_tuple(operand);
            scalar_reads |= scalar_bits(operand);
        });
        inst.writes(&mut |operand| {
            writes.insert_tuple(operand);
            scalar_writes |= scalar_bits(operand);
        });
        let touches = reads.or(&writes);
        let mut facts = Self {
            reads,
            writes,
            touches,
            scalar_reads,
            scalar_writes,
            reads_scc: inst.reads_scc(),
            writes_scc: inst.writes_scc(),
            ends_block: inst.info.base().starts_with("s_cbranch")
                || matches!(inst.info.op, Op::s_setpc_b64 | Op::s_swappc_b64),
            lanes: lane_rule(&inst),
            rule: rule(&inst),
            action: action(program, index, &inst),
            stalls: Stalls::NONE,
            form: Form::of(program, index, &inst),
            class: Class::of(&inst),
            floats: Floats::of(&inst, program.arch()).map(Box::new),
            by,
            inst,
        };
        facts.stalls = Stalls::of(&facts, program.arch());
        facts
    }

    /// The memory instruction that this is.
    pub(super) fn memory(&self) -> Option<&Memory> {
        match &self.action {
            Action::Memory(memory) => Some(memory),
            _ => None,
        }
    }

    /// DPP control of the instruction.
    pub(super) fn dpp(&self) -> Option<Dpp> {
        match self.inst.ext {
            Ext::Dpp(dpp) => Some(dpp),
            _ => None,
        }
    }
}

fn lane_rule(inst: &Inst) -> LaneRule {
    match inst.info.op {
        Op::v_readlane_b32 | Op::v_readfirstlane_b32 | Op::v_writelane_b32 => LaneRule::One,
        Op::v_permlane16_swap_b32
        | Op::v_permlane32_swap_b32
        | Op::ds_bpermute_b32
        | Op::ds_permute_b32
        | Op::ds_swizzle_b32 => LaneRule::All,
        _ if matches!(inst.ext, Ext::Dpp(_)) || inst.is_matrix() => LaneRule::All,
        _ => LaneRule::Active,
    }
}

impl Inst {
    /// Whether this is an MFMA or SMFMAC instruction, which ignores EXEC.
    pub(crate) fn is_matrix(&self) -> bool {
        let name = self.info.base();
        name.starts_with("v_mfma") || name.starts_with("v_smfmac")
    }
}

fn action(program: &Program, index: usize, inst: &Inst) -> Action {
    match inst.info.op {
        Op::s_waitcnt => {
            let (vector, lgkm) = inst.leaves_under_way();
            return Action::Wait { vector, lgkm };
        }
        Op::s_barrier => return Action::Barrier,
        Op::s_endpgm | Op::s_endpgm_saved | Op::s_endpgm_ordered_ps_done => return Action::End,
        Op::buffer_wbl2 if inst.mem.sc1 => return Action::WriteBack,
        Op::buffer_inv if inst.mem.sc1 => return Action::Invalidate,
        Op::buffer_wbl2 | Op::buffer_inv => return Action::Plain,
        Op::s_dcache_inv => return Action::InvalidateScalars,
        _ => {}
    }
    let Some(mut memory) = Memory::of(inst) else { return Action::Plain };
    if memory.access == Access::Load {
        memory.polls = polls(program, index, inst);
        if is_guess(program, index, inst) {
            memory.scope = Scope::Device;
        }
    }
    memory.flag = match memory.access {
        Access::Atomic => !["_f", "_bf"].iter().any(|word| inst.info.base().contains(word)),
        Access::ToLds { .. } => false,
        _ => memory.bytes <= 8 && (memory.scope != Scope::Wave || memory.polls),
    };
    Action::Memory(Box::new(memory))
}

/// Instructions that are looked at behind a load, to find out whether it polls.
const POLL_REACH: usize = 64;

/// Whether the load at `index` waits for another wave: on some way from there the same address is
/// loaded again, and nothing that has an effect (a store, a barrier or a matrix instruction) is done
/// in between. Such a load reads a flag even if no bit of its encoding says so, as is the case in
/// LDS. Compilers peel the first turn off loops that poll and unroll them, so the load that follows
/// need not be the same instruction.
fn polls(program: &Program, index: usize, load: &Inst) -> bool {
    let (mut rows, mut scalars) = (RowSet::default(), 0);
    for operand in load.src.iter().filter(|operand| operand.is_some()) {
        rows.insert_tuple(*operand);
        scalars |= scalar_bits(*operand);
    }
    let again = |inst: &Inst| {
        (inst.info.op, inst.src, inst.offset, inst.offset1)
            == (load.info.op, load.src, load.offset, load.offset1)
    };
    let moves = |inst: &Inst| {
        let mut moves = false;
        inst.writes(&mut |operand| {
            let mut written = RowSet::default();
            written.insert_tuple(operand);
            moves |= written.meets(&rows) || scalar_bits(operand) & scalars != 0;
        });
        moves
    };
    if moves(load) {
        return false;
    }
    // Breadth first, as one of two ways may be long.
    let mut ways = vec![index + usize::from(load.size / 4)];
    for turn in 0..POLL_REACH {
        let Some(&at) = ways.get(turn) else { return false };
        let Ok(inst) = program.inst_at(at) else { continue };
        if again(&inst) {
            return true;
        }
        if has_effect(&inst) || moves(&inst) {
            continue;
        }
        let next = at + usize::from(inst.size / 4);
        let jumps = inst.info.op == Op::s_branch;
        let target = next.checked_add_signed(isize::from(inst.simm16 as i16));
        let target = target.filter(|_| jumps || inst.info.base().starts_with("s_cbranch"));
        for way in Some(next).filter(|_| !jumps).into_iter().chain(target) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    false
}

/// Longest way in dwords from a load to the compare and swap that checks its value.
const GUESS_REACH: usize = 96;

/// Whether the load at `index` only guesses what a compare and swap behind it finds: compilers make
/// the first load of a loop around one without any scope, since an old value costs one more turn.
fn is_guess(program: &Program, index: usize, load: &Inst) -> bool {
    let rows = |operand: Operand| {
        let mut rows = RowSet::default();
        rows.insert_tuple(operand);
        rows
    };
    let mut held = rows(load.dst[0]);
    let mut at = index + usize::from(load.size / 4);
    while at < index + GUESS_REACH && held != RowSet::default() {
        let Ok(inst) = program.inst_at(at) else { return false };
        if inst.info.base().contains("atomic_cmpswap") {
            // The value to compare with is the second half of the data.
            let data = inst.src[1];
            let half = data.dwords / 2;
            let compared = rows(Operand { code: data.code + u16::from(half), dwords: half });
            return half != 0 && held.and(&compared) == compared;
        }
        if matches!(inst.info.op, Op::s_branch | Op::s_endpgm | Op::s_setpc_b64) {
            return false;
        }
        let copies = inst.info.op == Op::v_mov_b32
            && inst.ext == Ext::None
            && rows(inst.src[0]).meets(&held);
        inst.writes(&mut |operand| {
            for row in rows(operand).rows() {
                if copies {
                    held.insert(row);
                } else {
                    held.remove(row);
                }
            }
        });
        at += usize::from(inst.size / 4);
    }
    false
}

fn has_effect(inst: &Inst) -> bool {
    const EFFECTS: [&str; 8] =
        ["store", "write", "atomic", "mfma", "barrier", "endpgm", "setpc", "swappc"];
    inst.mem.lds || EFFECTS.iter().any(|word| inst.info.base().contains(word))
}

/// Facts of the instructions of a program, each found when it is first executed.
#[derive(Debug)]
pub struct FactTable {
    plain: Vec<OnceLock<Option<Box<Facts>>>>,
    /// The same as GPR indices move their operands.
    indexed: OnceLock<Vec<ByIndex<Option<Box<Facts>>>>>,
}

impl FactTable {
    pub(super) fn new(entries: usize) -> Self {
        Self { plain: (0..entries).map(|_| OnceLock::new()).collect(), indexed: OnceLock::new() }
    }

    /// Facts of the instruction at an index; `None` if it does not decode, or if it cannot be
    /// executed under the GPR index `by`.
    #[inline(always)]
    pub(super) fn get(
        &self,
        program: &Program,
        index: usize,
        by: Option<GprIndex>,
    ) -> Option<&Facts> {
        let plain = self.plain[index]
            .get_or_init(|| {
                let inst = program.inst_at(index).ok()?;
                Some(Box::new(Facts::new(program, index, inst, None)))
            })
            .as_deref()?;
        match by {
            Some(by) if plain.inst.info.format.is_valu() => self.get_indexed(program, index, by),
            _ => Some(plain),
        }
    }

    #[inline(never)]
    fn get_indexed(&self, program: &Program, index: usize, by: GprIndex) -> Option<&Facts> {
        let all = || (0..self.plain.len()).map(|_| ByIndex::default()).collect();
        let make = || {
            let inst = by.apply(&program.inst_at(index).ok()?).ok()?;
            Some(Box::new(Facts::new(program, index, inst, Some(by))))
        };
        self.indexed.get_or_init(all)[index].get(by, make).as_deref()
    }
}
