//! Proofs that altered instructions change nothing.
//!
//! An altered program is run beside the original in the mind. Both are in step as long as they agree
//! on every *demanded* bit: one that an address, a branch, a store or a wave's mask may depend on
//! later. Which bits those are is found from the ends of the original program backwards (`demand`),
//! with what is known of the values in both programs. Altered instructions are proved equal if, in every state that
//! the altered program can reach, the original instruction would give the same demanded bits. What is
//! known of such states is found from the entry forwards (`known`), here in the program with all the
//! alterations, so that nothing rests on what one of them may have spoilt. Then both stay in step, by
//! induction on the number of steps, for all arguments and all memory.
//!
//! What comes of it:
//! - a result that is overwritten before it is read, on every way;
//! - bits that instructions ignore: the upper ones of a shift's distance, the format in a buffer's
//!   descriptor, those that a mask takes away;
//! - what only lanes have that do not execute when it is read;
//! - bits that are the same anyway: a mask's where the value has zeros, a shift of a zero;
//! - another of some lanes that hold the same, but for which NaN they have of several.
//!
//! Only instructions that do nothing but write registers can be proved; not those that access memory
//! or decide branches by themselves.

mod alike;
mod bits;
mod demand;
mod known;
mod lanes;

use crate::isa::{Format, Inst, Operand};
use crate::object::{Next, Placed};

use bits::{Bit, Word, result};
use demand::Wanted;
use known::Facts;

/// Registers that are followed: the scalar file, the vector file, and SCC.
const REGISTERS: usize = 128 + 512 + 1;
const SCC: usize = REGISTERS - 1;
/// The first of two, which are everywhere.
const EXEC: usize = Operand::EXEC as usize;

/// What a kernel is launched with.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Work-items of its workgroups, which extend along x alone.
    pub threads: u32,
    /// The scalar register that has the workgroup's number along x, if one has.
    pub group: Option<usize>,
}

/// Whether a function does the same with other instructions at some offsets, in every launch. `false`
/// says only that there is no proof.
pub fn is_equal(code: &[Placed], entry: Entry, altered: &[(u64, &Inst)]) -> bool {
    // Of a wave that is not full, nothing is known of the other lanes.
    if !entry.threads.is_multiple_of(64)
        || code
            .iter()
            .any(|placed| placed.next() == Next::Anywhere || moves_registers(&placed.inst))
    {
        return false;
    }
    let mut changed = code.to_vec();
    let mut places = Vec::new();
    for (offset, inst) in altered {
        let Ok(at) = code.binary_search_by_key(offset, |placed| placed.offset) else {
            return false;
        };
        if !is_comparable(&code[at].inst, inst) {
            return false;
        }
        changed[at].inst = (*inst).clone();
        places.push(at);
    }
    let known = known::before(&changed, entry);
    // What holds in both programs.
    let mut both = known::before(code, entry);
    both.iter_mut().zip(&known).for_each(|(one, other)| one.meet(other));
    let demanded = demand::behind(code, &both);
    places.into_iter().all(|at| {
        let (original, altered) = (&code[at].inst, &changed[at].inst);
        let wanted = demanded[at].of_results(original);
        // Of the lanes that either reads.
        let reads_more = if lanes::reads_own(original) { altered } else { original };
        let of_sources = known[at].of_sources(reads_more);
        !wanted.any(original)
            || known[at].alike.same_lane(original, altered, &of_sources)
            || same(original, altered, &of_sources, wanted)
    })
}

/// Whether two instructions do nothing but write the same registers.
fn is_comparable(original: &Inst, altered: &Inst) -> bool {
    only_writes(original)
        && only_writes(altered)
        && (original.dst, original.writes_scc()) == (altered.dst, altered.writes_scc())
        && original.info.dst.map(|slot| slot.elem) == altered.info.dst.map(|slot| slot.elem)
}

/// Whether two instructions give the same demanded bits.
fn same(original: &Inst, altered: &Inst, known: &Facts, demanded: Wanted<'_>) -> bool {
    let results: Vec<usize> = registers(original.dst[0]).collect();
    let scc = demanded.of(SCC) != 0 && original.writes_scc();
    // Whatever it does with them: the same operation on the same bits.
    let width = match results.first().and_then(|at| demanded.of(*at).checked_ilog2()) {
        Some(highest) if bits::carries_up(original) && !scc => highest as usize + 1,
        _ => 32,
    };
    let sources = |inst: &Inst| -> Vec<Bit> {
        let present = inst.src.iter().filter(|operand| operand.is_some());
        let words = present.flat_map(|operand| bits::source(inst, *operand, known));
        words.flat_map(|word| word.into_iter().take(width)).collect()
    };
    let fields = |inst: &Inst| {
        let Inst { neg, abs, op_sel, op_sel_hi, clamp, omod, bitop3, ext, simm16, .. } = *inst;
        let matrix = (inst.cbsz, inst.abid, inst.blgp);
        let modifiers = (neg, abs, op_sel, op_sel_hi, clamp, omod, bitop3, ext);
        (inst.info.op, simm16, matrix, modifiers)
    };
    let (one, other) = (sources(original), sources(altered));
    let same_operation = fields(original) == fields(altered);
    if same_operation && one == other && !one.contains(&Bit::Opaque) {
        return true;
    }
    if original.dst[1].is_some() {
        return false;
    }
    if same_operation && !scc && same_sources(original, altered, known, demanded) {
        return true;
    }
    if same_operation && same_passed_on(original, altered, known, demanded) {
        return true;
    }
    let (Some(one), Some(other)) = (result(original, known), result(altered, known)) else {
        return false;
    };
    // SCC is the same if it is known, or says that equal results are not zero.
    let condition = |inst: &Inst, result| bits::scc(inst, known, result);
    let conditions = [condition(original, &one), condition(altered, &other)];
    let known_scc = conditions[0] != Bit::Opaque && conditions[0] == conditions[1];
    let from_result = scc && !known_scc;
    if from_result && ![original, altered].into_iter().all(bits::tells_zero) {
        return false;
    }
    one.len() == results.len()
        && other.len() == results.len()
        && one.iter().zip(&other).zip(results).all(|((one, other), register)| {
            bits::equal(one, other, if from_result { u32::MAX } else { demanded.of(register) })
        })
}

/// Whether the same bitwise operation has the same bits of sources, of those that the demanded ones of its
/// result come from.
fn same_sources(original: &Inst, altered: &Inst, known: &Facts, demanded: Wanted<'_>) -> bool {
    let results = registers(original.dst[0]);
    let wanted = results.fold(0, |bits, register| bits | demanded.of(register));
    let masks = bits::bitwise(original, wanted, known);
    let (Some(masks), true) = (masks, masks == bits::bitwise(altered, wanted, known)) else {
        return false;
    };
    (0..masks.len()).all(|at| {
        let [one, other] = [original, altered].map(|inst| bits::source(inst, inst.src[at], known));
        let equal = |(one, other)| bits::equal(one, other, masks[at]);
        one.len() == other.len() && one.iter().zip(&other).all(equal)
    })
}

/// Whether dwords that are passed on are the same for what they are demanded for: of sizes of buffers
/// those that are too small, of what is compared with a constant those that are not equal to it.
fn same_passed_on(original: &Inst, altered: &Inst, known: &Facts, demanded: Wanted<'_>) -> bool {
    let registers: Vec<usize> = registers(original.dst[0]).collect();
    let ([register], Some(passed)) = (&registers[..], demand::passed_on(original)) else {
        return false;
    };
    let (exact, size) = (demanded.exactly(*register), demanded.size(*register));
    let test = demanded.test(*register);
    let same = |one: &Word, other: &Word| {
        let both = [one, other];
        let same_size = bits::equal(one, other, size.bits)
            || both.into_iter().all(|word| bits::is_below(word, size.least));
        let same_test = test.is_none_or(|constant| {
            let [one, other] = both.map(|word| bits::is_equal_to(word, constant));
            one.is_some() && one == other
        });
        bits::equal(one, other, exact)
            && same_size
            && (same_test || bits::equal(one, other, u32::MAX))
    };
    (0..original.src.len()).all(|at| {
        let [one, other] = [original, altered].map(|inst| bits::source(inst, inst.src[at], known));
        match at < passed {
            true => one.len() == other.len() && one.iter().zip(&other).all(|(a, b)| same(a, b)),
            false => original.src[at] == altered.src[at],
        }
    })
}

/// Whether each lane has a register of that number.
fn is_of_lanes(register: usize) -> bool {
    (128..SCC).contains(&register)
}

/// Registers of an operand.
fn registers(operand: Operand) -> impl Iterator<Item = usize> {
    let scalar = operand.scalar_index().map(|first| (first, 128));
    let vector = operand.vector_index().map(|first| (128 + first, SCC));
    let (first, end) = scalar.or(vector).unwrap_or((0, 0));
    first..(first + usize::from(operand.dwords)).min(end)
}

/// Registers that an instruction writes.
fn written(inst: &Inst) -> Vec<usize> {
    let mut written = Vec::new();
    inst.writes(&mut |operand| written.extend(registers(operand)));
    written
}

/// Whether the instruction does nothing but write registers, EXEC among them, and SCC.
fn calculates(inst: &Inst) -> bool {
    let format = inst.info.format;
    let name = inst.info.op.name();
    let effects = ["s_setreg", "s_getreg", "s_set_gpr", "s_cbranch", "v_nop"];
    let calculates = format.is_valu()
        || matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk);
    calculates && !effects.iter().any(|word| name.contains(word))
}

/// Whether the instruction does nothing but write the registers that its operands name, and SCC.
fn only_writes(inst: &Inst) -> bool {
    calculates(inst) && !inst.writes_exec()
}

/// Whether it changes which registers other instructions access, or accesses such that its operands
/// do not name, or which instructions are executed.
fn moves_registers(inst: &Inst) -> bool {
    let name = inst.info.op.name();
    ["s_movrel", "s_set_gpr", "s_setvskip", "v_movrel", "s_setreg"]
        .iter()
        .any(|word| name.starts_with(word))
}

/// Calls `step` with an instruction's place until nothing is open any more; it returns those that are
/// open after it.
fn exhaust(
    open: impl IntoIterator<Item = usize>,
    backwards: bool,
    mut step: impl FnMut(usize) -> Vec<usize>,
) {
    let mut open: std::collections::BTreeSet<usize> = open.into_iter().collect();
    while let Some(at) = if backwards { open.pop_last() } else { open.pop_first() } {
        open.extend(step(at));
    }
}
