//! Wait states that software must leave between two instructions of a wave where the hardware does
//! not check for their dependence.
//!
//! [`TABLE`] is what the manuals of both chips list (CDNA3 ISA and CDNA4 ISA, 4.5 and 7.4) as far
//! as compilers know of it. An instruction is one wait state, `s_nop N` is `N + 1`. A row of the
//! table says which instructions are concerned and how many wait states must lie in between; the
//! checker counts them along the instructions that a wave executes, so that branches are followed.
//! [`too_near`] counts them on every way through a function, executed or not.

use std::collections::BTreeMap;

use super::facts::{Access, FactTable, Facts, RowSet, Rule, scalar_bits};
use crate::exec::{CodeSection, EXEC, M0, Program, VCC};
use crate::isa::{Arch, ArchSet, Ext, Format, GprIndex, MfmaClass, MfmaInfo, Op, Operand};
use crate::object::{CodeObject, LoadError, Placed, successors};

const EXEC_BITS: u128 = 3 << EXEC;
const VCC_BITS: u128 = 3 << VCC;
const M0_BIT: u128 = 1 << M0;

/// One dependence that the hardware does not check.
struct Row {
    /// The mistake, for reports.
    what: &'static str,
    chips: ArchSet,
    first: fn(&Facts) -> bool,
    then: fn(&Facts) -> bool,
    /// Whether they depend on each other through vector registers.
    in_vectors: bool,
    /// Whether two such instructions depend on each other.
    depends: fn(&Pair<'_>) -> bool,
    states: States,
}

/// Two instructions of a wave.
struct Pair<'f> {
    first: &'f Facts,
    then: &'f Facts,
    /// What the first writes and no matrix instruction in between.
    written: RowSet,
}

/// Wait states that are needed.
enum States {
    Always(u32),
    /// They depend on the matrix instruction that comes first.
    After(fn(Matrix, &Pair<'_>) -> u32),
}

use States::{After, Always};

const TABLE: &[Row] = &[
    Row {
        what: "m0 is written by a scalar instruction and used as an LDS address or message",
        chips: ArchSet::BOTH,
        first: |f| is_salu(f) && f.scalar_writes & M0_BIT != 0,
        then: uses_m0,
        in_vectors: false,
        depends: |_| true,
        states: Always(1),
    },
    Row {
        what: "a scalar register is written by a vector instruction and read by vector memory",
        chips: ArchSet::BOTH,
        first: writes_scalar,
        then: is_vector_memory,
        in_vectors: false,
        depends: scalar_passes,
        states: Always(5),
    },
    Row {
        what: "a scalar register is written by a vector instruction and selects a lane",
        chips: ArchSet::BOTH,
        first: writes_scalar,
        then: |f| selects_lane(f) && f.inst.src[1].scalar_index().is_some(),
        in_vectors: false,
        depends: |p| p.first.scalar_writes & scalar_bits(p.then.inst.src[1]) != 0,
        states: Always(4),
    },
    Row {
        what: "vcc is written by a vector instruction and read by v_div_fmas",
        chips: ArchSet::BOTH,
        first: writes_scalar,
        then: |f| matches!(f.inst.info.op, Op::v_div_fmas_f32 | Op::v_div_fmas_f64),
        in_vectors: false,
        depends: |p| p.first.scalar_writes & VCC_BITS != 0,
        states: Always(4),
    },
    Row {
        what: "a scalar register is written by a vector instruction and read by another",
        chips: ArchSet::BOTH,
        first: writes_scalar,
        then: |f| is_valu(f) && f.scalar_reads & !EXEC_BITS != 0,
        in_vectors: false,
        depends: scalar_passes,
        states: Always(2),
    },
    Row {
        what: "exec is written by a vector instruction and used by a DPP operation",
        chips: ArchSet::BOTH,
        first: writes_exec,
        then: |f| f.dpp().is_some(),
        in_vectors: false,
        depends: |_| true,
        states: Always(5),
    },
    Row {
        what: "exec is written by a vector instruction and used by a lane access",
        chips: ArchSet::BOTH,
        first: writes_exec,
        then: |f| selects_lane(f) || f.inst.info.op == Op::v_readfirstlane_b32,
        in_vectors: false,
        depends: |_| true,
        states: Always(4),
    },
    Row {
        what: "exec is written by a vector instruction before a matrix instruction",
        chips: ArchSet::BOTH,
        first: writes_exec,
        then: is_matrix,
        in_vectors: false,
        depends: |_| true,
        states: Always(4),
    },
    Row {
        what: "exec is written by a vector instruction and used by a lane swap",
        chips: ArchSet::GFX950,
        first: writes_exec,
        then: is_lane_swap,
        in_vectors: false,
        depends: |_| true,
        states: Always(4),
    },
    Row {
        what: "a register is written by a vector instruction and read by a DPP operation",
        chips: ArchSet::BOTH,
        first: is_valu,
        then: |f| f.dpp().is_some(),
        in_vectors: true,
        depends: vector_passes,
        states: Always(2),
    },
    Row {
        what: "a register is written by a vector instruction and read by a lane access",
        chips: ArchSet::BOTH,
        first: is_valu,
        then: |f| matches!(f.inst.info.op, Op::v_readlane_b32 | Op::v_readfirstlane_b32),
        in_vectors: true,
        depends: vector_passes,
        states: Always(1),
    },
    Row {
        what: "a register is written by a vector instruction and read by a lane swap",
        chips: ArchSet::GFX950,
        first: is_valu,
        then: is_lane_swap,
        in_vectors: true,
        depends: vector_passes,
        states: Always(2),
    },
    Row {
        what: "a register is written by a vector instruction and read by a matrix instruction",
        chips: ArchSet::BOTH,
        first: |f| is_valu(f) && !is_matrix(f) && !is_dot(f),
        then: is_matrix,
        in_vectors: true,
        depends: vector_passes,
        states: Always(2),
    },
    Row {
        what: "the result of a transcendental operation is read by another kind of operation",
        chips: ArchSet::BOTH,
        first: is_transcendental,
        then: |f| is_valu(f) && !is_transcendental(f),
        in_vectors: true,
        depends: vector_passes,
        states: Always(1),
    },
    Row {
        what: "a part of a register is written and the register read",
        chips: ArchSet::BOTH,
        first: writes_part,
        then: is_valu,
        in_vectors: true,
        depends: |p| vector_passes(p) || writes_part(p.then) && is_overwritten(p),
        states: Always(1),
    },
    Row {
        what: "the data of a wide store is overwritten",
        chips: ArchSet::BOTH,
        first: is_wide_store,
        then: is_valu,
        in_vectors: true,
        depends: |p| meets(p.first.inst.src[1], &p.then.writes),
        states: Always(2),
    },
    Row {
        what: "a hardware register is set and used",
        chips: ArchSet::BOTH,
        first: sets_hardware_register,
        then: |f| sets_hardware_register(f) || f.inst.info.op == Op::s_getreg_b32,
        in_vectors: false,
        depends: |p| (p.first.inst.simm16 ^ p.then.inst.simm16) & 63 == 0,
        states: Always(2),
    },
    Row {
        what: "the result of a dot product is used",
        chips: ArchSet::BOTH,
        first: is_dot,
        then: is_other_vector,
        in_vectors: true,
        depends: dot_passes,
        states: Always(3),
    },
    Row {
        what: "v_fma_f64 follows a double-precision matrix instruction",
        chips: ArchSet::BOTH,
        first: is_matrix,
        then: |f| matches!(f.inst.info.op, Op::v_fma_f64 | Op::v_fmac_f64),
        in_vectors: false,
        depends: |_| true,
        states: After(|matrix, _| if matrix.class == MfmaClass::Dgemm { 2 } else { 0 }),
    },
    Row {
        what: "the result of a matrix instruction is read",
        chips: ArchSet::BOTH,
        first: is_matrix,
        then: is_other_vector,
        in_vectors: true,
        depends: vector_passes,
        states: After(|matrix, p| matrix.until_read(!is_valu(p.then))),
    },
    Row {
        what: "the result of a matrix instruction is overwritten",
        chips: ArchSet::BOTH,
        first: is_matrix,
        then: |f| is_valu(f) && !is_matrix(f),
        in_vectors: true,
        depends: is_overwritten,
        states: After(|matrix, _| matrix.until_overwritten()),
    },
    Row {
        what: "the result of a matrix instruction is read as A or B",
        chips: ArchSet::BOTH,
        first: is_matrix,
        then: is_matrix,
        in_vectors: true,
        depends: |p| factors(p.then).any(|operand| meets(operand, &p.written)),
        states: After(|matrix, _| matrix.until_read(false)),
    },
    Row {
        what: "the result of a matrix instruction is read as C",
        chips: ArchSet::BOTH,
        first: is_matrix,
        then: is_matrix,
        in_vectors: true,
        depends: |p| meets(accumulator(p.then), &p.written),
        states: After(|matrix, p| matrix.until_accumulated(p)),
    },
    Row {
        what: "the C of a matrix instruction is overwritten",
        chips: ArchSet::BOTH,
        first: is_matrix,
        then: |f| is_valu(f) && !is_matrix(f),
        in_vectors: true,
        depends: |p| meets(accumulator(p.first), &p.then.writes),
        states: After(|matrix, _| match matrix.class {
            MfmaClass::Xdl => matrix.passes - 1,
            _ => 0,
        }),
    },
];

/// Rows whose dependence is through vector registers.
const IN_VECTORS: u32 = {
    let (mut rows, mut at) = (0, 0);
    while at < TABLE.len() {
        rows |= (TABLE[at].in_vectors as u32) << at;
        at += 1;
    }
    rows
};

fn is_valu(f: &Facts) -> bool {
    f.inst.info.format.is_valu()
}

fn is_salu(f: &Facts) -> bool {
    use Format as F;
    matches!(f.inst.info.format, F::Sop1 | F::Sop2 | F::Sopk | F::Sopc | F::Sopp)
}

fn is_matrix(f: &Facts) -> bool {
    f.rule == Rule::Matrix
}

fn is_vector_memory(f: &Facts) -> bool {
    f.inst.info.format.is_vector() && !is_valu(f) && f.inst.info.format != Format::Ds
}

/// Vector instructions that must not read results of matrix instructions or dot products too early.
/// What loads overwrite is no mistake: they take longer than any of those.
fn is_other_vector(f: &Facts) -> bool {
    f.inst.info.format.is_vector() && !is_matrix(f)
}

fn is_dot(f: &Facts) -> bool {
    f.inst.info.base().starts_with("v_dot")
}

fn is_lane_swap(f: &Facts) -> bool {
    matches!(f.inst.info.op, Op::v_permlane16_swap_b32 | Op::v_permlane32_swap_b32)
}

fn selects_lane(f: &Facts) -> bool {
    matches!(f.inst.info.op, Op::v_readlane_b32 | Op::v_writelane_b32)
}

fn is_transcendental(f: &Facts) -> bool {
    const NAMES: [&str; 7] =
        ["v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"];
    NAMES.iter().any(|name| f.inst.info.base().starts_with(name))
}

fn writes_scalar(f: &Facts) -> bool {
    is_valu(f) && f.scalar_writes & !EXEC_BITS != 0
}

fn writes_exec(f: &Facts) -> bool {
    is_valu(f) && f.scalar_writes & EXEC_BITS != 0
}

fn scalar_passes(pair: &Pair<'_>) -> bool {
    pair.first.scalar_writes & pair.then.scalar_reads & !EXEC_BITS != 0
}

fn vector_passes(pair: &Pair<'_>) -> bool {
    pair.written.meets(&pair.then.reads)
}

fn is_overwritten(pair: &Pair<'_>) -> bool {
    pair.written.meets(&pair.then.writes)
}

fn sets_hardware_register(f: &Facts) -> bool {
    matches!(f.inst.info.op, Op::s_setreg_b32 | Op::s_setreg_imm32_b32)
}

/// Addresses of LDS in `m0`, GDS operations, messages and relative moves.
fn uses_m0(f: &Facts) -> bool {
    let name = f.inst.info.base();
    let named = name.contains("addtid") || name.contains("sendmsg") || name.contains("movrel");
    named || f.inst.mem.lds || f.inst.mem.gds
}

/// Whether the result is moved into a part of the register, which takes longer than to forward it.
fn writes_part(f: &Facts) -> bool {
    let inst = &f.inst;
    match (inst.ext, inst.info.format) {
        (Ext::Sdwa(sdwa), _) => sdwa.dst_sel != 6 && inst.dst[0].is_vector(),
        (_, Format::Vop3a) => {
            // Rounding to 4 bits takes longer wherever the result goes, others if not to the start.
            let name = inst.info.base();
            let bytes = ["_sr_fp8", "_sr_bf8", "pk_fp4_"].iter().any(|part| name.contains(part));
            let moved = inst.op_sel >> 3 & 1 != 0 || bytes && inst.op_sel >> 2 & 1 != 0;
            moved || name.contains("_sr_pk_fp4_")
        }
        _ => false,
    }
}

/// Stores of more than 64 bits, unless an offset in a register keeps the data for longer.
fn is_wide_store(f: &Facts) -> bool {
    let Some(memory) = f.memory().filter(|_| is_vector_memory(f)) else { return false };
    let buffer = matches!(f.inst.info.format, Format::Mubuf | Format::Mtbuf);
    matches!(memory.access, Access::Store | Access::Atomic)
        && memory.data_rows > 2
        && !(buffer && f.inst.src[3].scalar_index().is_some())
}

/// Whether any register of a vector operand is in a set.
fn meets(operand: Operand, rows: &RowSet) -> bool {
    let dwords = usize::from(operand.dwords);
    operand.vector_index().is_some_and(|first| (first..first + dwords).any(|row| rows.has(row)))
}

/// Only the accumulator of the same operation is forwarded.
fn dot_passes(pair: &Pair<'_>) -> bool {
    if pair.first.inst.info == pair.then.inst.info {
        return pair.then.inst.src[..2].iter().any(|operand| meets(*operand, &pair.written));
    }
    vector_passes(pair) || is_valu(pair.then) && is_overwritten(pair)
}

/// C, or D where that is accumulated on.
fn accumulator(f: &Facts) -> Operand {
    if f.inst.info.dst[0].rw { f.inst.dst[0] } else { f.inst.src[2] }
}

/// Operands of a matrix instruction beside C.
fn factors(f: &Facts) -> impl Iterator<Item = Operand> {
    let c = usize::from(!f.inst.info.dst[0].rw) * 2;
    f.inst.src.into_iter().enumerate().filter(move |(at, _)| c == 0 || *at != c).map(|(_, o)| o)
}

/// What decides when the result of a matrix instruction is there.
#[derive(Clone, Copy, Debug)]
struct Matrix {
    class: MfmaClass,
    passes: u32,
    is_gfx950: bool,
}

impl Matrix {
    fn of(f: &Facts, arch: Arch) -> Option<Self> {
        let info = MfmaInfo::get(f.inst.info.op, arch)?;
        // Formats 0 and 1 have 8 bits.
        let narrow = f.inst.cbsz > 1 && f.inst.blgp > 1;
        let passes = if narrow { info.passes_narrow } else { info.passes };
        Some(Self { class: info.class, passes: passes.into(), is_gfx950: arch == Arch::Gfx950 })
    }

    /// One wait state that gfx950 adds to all but the shortest operations.
    fn extra(self) -> u32 {
        u32::from(self.is_gfx950 && self.passes != 2)
    }

    fn until_read(self, by_memory: bool) -> u32 {
        match (self.class, self.passes) {
            (MfmaClass::Xdl, passes) => passes + 3 + self.extra(),
            (MfmaClass::Sgemm, passes) => passes + 2,
            (MfmaClass::Dgemm, 4) => 6 + if by_memory { 3 } else { 0 },
            (MfmaClass::Dgemm, _) if by_memory => 18,
            (MfmaClass::Dgemm, _) => 11 + if self.is_gfx950 { 8 } else { 0 },
        }
    }

    fn until_overwritten(self) -> u32 {
        match (self.class, self.passes) {
            (MfmaClass::Dgemm, 4) => 6,
            (MfmaClass::Dgemm, _) => 11,
            _ => self.until_read(false),
        }
    }

    fn until_accumulated(self, pair: &Pair<'_>) -> u32 {
        let Some(next) = pair.then.stalls.matrix else { return 0 };
        let is_small_double = |matrix: Self| matrix.class == MfmaClass::Dgemm && matrix.passes == 4;
        let is_xdl = next.class == MfmaClass::Xdl;
        if pair.first.inst.dst[0] == accumulator(pair.then) {
            return match (is_small_double(self) && is_small_double(next), self.passes) {
                (true, _) => 4,
                (false, 2) => 2,
                (false, _) => 0,
            };
        }
        match self.class {
            MfmaClass::Xdl if is_xdl => self.passes + 1 + u32::from(self.is_gfx950),
            MfmaClass::Xdl => self.passes + 1 + self.extra(),
            _ if is_xdl => 0,
            MfmaClass::Sgemm => self.passes,
            MfmaClass::Dgemm if self.passes == 4 => 4,
            MfmaClass::Dgemm => 9 + if self.is_gfx950 { 8 } else { 0 },
        }
    }

    /// The most that any row asks for.
    fn most(self) -> u32 {
        self.until_read(true).max(self.until_read(false)).max(2)
    }
}

/// What the table says of one instruction.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    /// Rows in which it comes first.
    first: u32,
    /// Rows in which it comes second.
    then: u32,
    /// Wait states after which no row concerns it any more.
    reach: u32,
    /// Wait states that it takes.
    states: u32,
    /// Vector registers that a later instruction may use too early.
    exposed: RowSet,
    /// What the matrix instruction that this is asks for.
    matrix: Option<Matrix>,
}

impl Stalls {
    pub(super) const NONE: Self =
        Self { first: 0, then: 0, reach: 0, states: 1, exposed: RowSet::EMPTY, matrix: None };

    pub(super) fn of(f: &Facts, arch: Arch) -> Self {
        let rows = || TABLE.iter().enumerate().filter(|(_, row)| row.chips.has(arch));
        let matrix = Matrix::of(f, arch);
        let bits = |role: fn(&Row) -> fn(&Facts) -> bool| {
            rows().fold(0, |bits, (at, row)| bits | u32::from(role(row)(f)) << at)
        };
        let first = bits(|row| row.first);
        let reach =
            rows().filter(|(at, _)| first >> at & 1 != 0).map(|(_, row)| match row.states {
                Always(states) => states,
                After(_) => matrix.map_or(0, Matrix::most),
            });
        let mut exposed = f.writes;
        if matrix.is_some() {
            exposed.insert_tuple(accumulator(f));
        }
        if is_wide_store(f) {
            exposed.insert_tuple(f.inst.src[1]);
        }
        Self {
            exposed: if first & IN_VECTORS == 0 { RowSet::EMPTY } else { exposed },
            first,
            then: bits(|row| row.then),
            reach: reach.max().unwrap_or(0),
            states: if f.inst.info.op == Op::s_nop { u32::from(f.inst.simm16 & 15) + 1 } else { 1 },
            matrix,
        }
    }
}

/// Wait states that a wave looks back; no row asks for more.
const LOOK_BACK: u32 = 20;
/// Instructions that are remembered: one per wait state.
const REMEMBERED: usize = 32;

/// An instruction that comes first in some rows.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// Wait state that it took; 0 stands for none.
    at: u32,
    index: u32,
    /// GPR index that it was executed under.
    by: Option<GprIndex>,
    first: u32,
    reach: u32,
}

/// What a wave executed in the last wait states.
#[derive(Clone, Debug)]
pub(super) struct History {
    now: u32,
    /// Rows whose first instruction may be near.
    armed: u32,
    /// Wait state from which none is.
    until: u32,
    /// Vector registers that those expose, and maybe others.
    exposed: RowSet,
    recent: [Recent; REMEMBERED],
}

impl Default for History {
    fn default() -> Self {
        Self {
            now: 1,
            armed: 0,
            until: 0,
            exposed: RowSet::EMPTY,
            recent: [Recent::default(); REMEMBERED],
        }
    }
}

/// Two instructions that are too near to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooNear {
    /// Index of the first.
    pub(super) first: usize,
    what: &'static str,
    needed: u32,
    found: u32,
}

impl TooNear {
    pub(super) fn detail(&self) -> String {
        let Self { what, needed, found, .. } = self;
        format!("{what}: {needed} wait states are needed in between, there are {found}")
    }
}

impl History {
    /// Adds the instruction that a wave is about to execute and looks for an earlier one that it
    /// follows too closely. `facts_at` finds what is known of that.
    #[inline(always)]
    pub(super) fn step<'f>(
        &mut self,
        facts: &Facts,
        index: usize,
        facts_at: impl Fn(usize, Option<GprIndex>) -> Option<&'f Facts>,
    ) -> Option<TooNear> {
        let Stalls { first, then, reach, states, ref exposed, .. } = facts.stalls;
        if self.now >= self.until {
            (self.armed, self.exposed) = (0, RowSet::EMPTY);
        }
        let rows = self.armed & then;
        let concerned = rows & !IN_VECTORS != 0 || rows != 0 && self.exposed.meets(&facts.touches);
        let found = if concerned { self.look_back(facts, facts_at) } else { None };
        if first != 0 {
            self.until = self.until.max(self.now + states + reach);
            self.exposed = self.exposed.or(exposed);
            let recent = Recent { at: self.now, index: index as u32, by: facts.by, first, reach };
            self.recent[self.now as usize % REMEMBERED] = recent;
            self.armed |= first;
        }
        self.now = self.now.wrapping_add(states);
        found
    }

    #[inline(never)]
    fn look_back<'f>(
        &mut self,
        facts: &Facts,
        facts_at: impl Fn(usize, Option<GprIndex>) -> Option<&'f Facts>,
    ) -> Option<TooNear> {
        let mut result = None;
        let mut newer = RowSet::default();
        (self.armed, self.exposed) = (0, RowSet::EMPTY);
        for found in 0..LOOK_BACK {
            let at = self.now.wrapping_sub(found + 1);
            let recent = self.recent[at as usize % REMEMBERED];
            if recent.at != at || at == 0 {
                continue;
            }
            let is_near = found < recent.reach;
            let first = facts_at(recent.index as usize, recent.by)?;
            if is_near {
                self.armed |= recent.first;
                self.exposed = self.exposed.or(&first.stalls.exposed);
            }
            let rows = recent.first & facts.stalls.then;
            if rows == 0 || result.is_some() {
                continue;
            }
            let elsewhere = rows & !IN_VECTORS != 0;
            if is_near && (elsewhere || first.stalls.exposed.meets(&facts.touches)) {
                let pair = Pair { first, then: facts, written: first.writes.without(&newer) };
                result = violated(rows, &pair, found).map(|(row, needed)| TooNear {
                    first: recent.index as usize,
                    what: row.what,
                    needed,
                    found,
                });
            }
            if is_matrix(first) {
                newer = newer.or(&first.writes);
            }
        }
        result
    }
}

/// The first of some rows that asks for more wait states than there are, and how many it asks for.
fn violated(rows: u32, pair: &Pair<'_>, found: u32) -> Option<(&'static Row, u32)> {
    let rows = TABLE.iter().enumerate().filter(|(at, _)| rows >> at & 1 != 0);
    rows.map(|(_, row)| row).find_map(|row| {
        let needed = match row.states {
            Always(states) => states,
            After(states) => states(pair.first.stalls.matrix?, pair),
        };
        (found < needed && (row.depends)(pair)).then_some((row, needed))
    })
}

/// The executable bytes of an object, as if it was loaded at address 0.
fn program_of(object: &CodeObject) -> Result<Program, LoadError> {
    let image = object.image(0)?;
    let sections = object.text().map(|text| CodeSection {
        address: text.start,
        words: words(&image[text.start as usize..text.end as usize]),
    });
    Ok(Program::new(object.arch(), sections.collect()))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Instructions of a function that follow another one too closely on some way through it, by the bytes
/// from its first one: what is wrong. Compilers leave enough wait states by themselves, but not around
/// instructions in assembly, of which they do not know what these do.
///
/// # Errors
/// Why the object cannot be loaded.
pub fn too_near(object: &CodeObject, function: &str) -> Result<BTreeMap<u64, String>, LoadError> {
    Ok(on_every_way(&program_of(object)?, &object.instructions(function)))
}

fn on_every_way(program: &Program, code: &[Placed]) -> BTreeMap<u64, String> {
    let facts = FactTable::new(program.ops().len());
    let facts_at = |index, by| facts.get(program, index, by);
    let next = successors(code);
    let mut mistakes = BTreeMap::new();
    let mut step = |history: &mut History, at: usize| {
        let Some(index) = program.index_of(code[at].vaddr) else { return };
        let Some(facts) = facts_at(index, None) else { return };
        if let Some(mistake) = history.step(facts, index, facts_at) {
            mistakes.insert(code[at].offset, mistake.detail());
        }
    };
    // In the order of the code, and behind every jump as far as what is before it matters.
    let mut history = History::default();
    for (at, ways) in next.iter().enumerate() {
        step(&mut history, at);
        let end = history.now + LOOK_BACK;
        let jumps = ways.iter().filter(|to| **to != at + 1);
        let mut open: Vec<_> = jumps.map(|to| (*to, history.clone())).collect();
        while let Some((at, mut history)) = open.pop() {
            step(&mut history, at);
            if history.now < end {
                open.extend(next[at].iter().map(|to| (*to, history.clone())));
            }
        }
        if !ways.contains(&(at + 1)) {
            history = History::default();
        }
    }
    mistakes
}

#[cfg(test)]
mod tests {
    use hk_build::{CompileOptions, assemble, compile_source};

    use super::*;
    use crate::object::placed;

    const SOURCES: [&str; 2] = [
        include_str!("../../tests/sanitize/wait_states.hip"),
        include_str!("../../tests/disasm_hip/kernels.hip"),
    ];

    /// Code that the compiler makes of a source.
    fn compile(source: &str, arch: Arch) -> Program {
        let object = compile_source(source, arch, &CompileOptions::default()).expect("it compiles");
        let object = CodeObject::parse(&object.image).expect("clang makes valid objects");
        program_of(&object).expect("there are no undefined symbols")
    }

    /// Offsets of the instructions that follow another one too closely.
    fn mistakes(text: &str) -> Vec<u64> {
        let arch = Arch::Gfx950;
        let bytes = assemble(text, arch).expect("it assembles");
        let section = CodeSection { address: 0, words: words(&bytes) };
        let program = Program::new(arch, vec![section]);
        on_every_way(&program, &placed(arch, &bytes, 0, 0)).into_keys().collect()
    }

    /// A matrix instruction of 8 passes, whose result is there after 12 wait states.
    const PRODUCT: &str = "v_mfma_f32_32x32x16_bf16 a[0:15], v[0:3], v[4:7], a[0:15]\n";

    #[test]
    fn results_are_awaited_on_every_way() {
        let both = |through: u32, jump: u32| {
            mistakes(&format!(
                "{PRODUCT}\
                 s_cbranch_scc1 far\n\
                 s_nop {through}\n\
                 v_accvgpr_read_b32 v8, a0\n\
                 s_endpgm\n\
                 far:\n\
                 s_nop {jump}\n\
                 v_accvgpr_read_b32 v8, a0\n\
                 s_endpgm\n"
            ))
        };
        // The branch is a wait state too.
        assert_eq!(both(10, 10), [0; 0]);
        assert_eq!(both(9, 10), [16]);
        assert_eq!(both(10, 9), [32]);
    }

    #[test]
    fn a_loop_is_a_way_to_its_head() {
        let turn = |states: u32| {
            mistakes(&format!(
                "s_nop 0\n\
                 head:\n\
                 v_accvgpr_read_b32 v8, a0\n\
                 s_nop 1\n\
                 {PRODUCT}\
                 s_nop {states}\n\
                 s_cbranch_scc1 head\n\
                 s_endpgm\n"
            ))
        };
        assert_eq!(turn(10), [0; 0]);
        assert_eq!(turn(9), [4]);
    }

    /// Indices of the instructions, in the order of the text.
    fn instructions(program: &Program) -> Vec<usize> {
        let mut at = 0;
        let mut found = Vec::new();
        while at < program.ops().len() {
            match program.inst_at(at) {
                Ok(inst) => {
                    found.push(at);
                    at += usize::from(inst.size / 4);
                }
                Err(_) => at += 1,
            }
        }
        found
    }

    /// The first mistake in straight code, in which the instruction `shorter` takes one wait state
    /// less than it does.
    fn first_mistake(
        program: &Program,
        facts: &FactTable,
        code: &[usize],
        shorter: Option<usize>,
    ) -> Option<TooNear> {
        let facts_at = |index, by| facts.get(program, index, by);
        let mut history = History::default();
        code.iter().find_map(|&index| {
            let facts = facts_at(index, None)?;
            if matches!(facts.inst.info.op, Op::s_branch | Op::s_endpgm | Op::s_setpc_b64) {
                history = History::default();
            }
            let found = history.step(facts, index, facts_at);
            history.now -= u32::from(shorter == Some(index));
            found
        })
    }

    /// Whether the compiler adds a wait state between these for a reason of its own: it takes
    /// `op_sel_hi` of packed operations for the bit that selects the upper half of the result, parts
    /// loads that could not be replayed together, and has loads wait to overwrite what a matrix
    /// instruction uses, as if they were done at once.
    fn is_cautious(before: &Facts, behind: &Facts) -> bool {
        let is_load = behind.inst.dst[0].is_vector() && behind.memory().is_some();
        before.inst.info.format == Format::Vop3p && is_valu(behind)
            || is_vector_memory(before) && is_vector_memory(behind)
            || is_load
    }

    /// clang knows the same rules: its code leaves enough wait states everywhere, and not one of
    /// those that it adds can be taken away.
    #[test]
    fn compiled_code_has_the_wait_states_of_the_table_and_no_more() {
        for (arch, source) in
            [Arch::Gfx942, Arch::Gfx950].into_iter().flat_map(|arch| SOURCES.map(|s| (arch, s)))
        {
            let program = compile(source, arch);
            let facts = FactTable::new(program.ops().len());
            let code = instructions(&program);
            let text = |code: &[usize]| {
                let lines = code.iter().filter_map(|index| program.inst_at(*index).ok());
                lines.map(|inst| format!("{inst}\n")).collect::<String>()
            };
            let mistake = first_mistake(&program, &facts, &code, None);
            assert_eq!(
                mistake,
                None,
                "{arch}: {}",
                text(&[mistake.as_ref().map_or(0, |m| m.first)])
            );

            let facts_at = |index| facts.get(&program, index, None).expect("it was decoded");
            let (mut is_padding, mut needed) = (false, 0);
            for (place, &index) in code.iter().enumerate().take(code.len() - 1).skip(1) {
                let op = facts_at(index).inst.info.op;
                let ends = matches!(op, Op::s_endpgm | Op::s_branch | Op::s_setpc_b64);
                is_padding = ends || is_padding && op == Op::s_nop;
                let cautious = is_cautious(facts_at(code[place - 1]), facts_at(code[place + 1]));
                if op != Op::s_nop || is_padding || cautious {
                    continue;
                }
                let near = &code[place.saturating_sub(24)..(place + 24).min(code.len())];
                let mistake = first_mistake(&program, &facts, near, Some(index));
                assert!(mistake.is_some(), "{arch}: the s_nop at {index} in\n{}", text(near));
                needed += 1;
            }
            assert!(needed > 0, "{arch}");
        }
    }
}
