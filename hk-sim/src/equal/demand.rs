//! Which bits of registers may matter later, from the ends of the program backwards.

use super::bits::{self, Bit};
use super::known::{Facts, Known};
use super::lanes::{self, Lanes};
use super::{EXEC, REGISTERS, SCC, exhaust, is_of_lanes, only_writes, registers};
use crate::isa::{Elem, Ext, Format, Inst, Op, Operand, Slot};
use crate::object::{Placed, successors};

/// The bits of every register on which an address, a branch, a store or EXEC may depend.
#[derive(Clone, PartialEq)]
pub(super) struct Demand {
    /// In lanes that execute.
    active: Vec<u32>,
    /// In the others. Of scalar registers, both are the same.
    idle: Vec<u32>,
    /// Of scalar registers, where nothing but the size of a buffer depends on them.
    sizes: Vec<Size>,
    /// Where nothing but whether they are equal to this does, in any lane.
    tests: Vec<Option<u32>>,
}

/// What matters of the size of a buffer.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Size {
    pub(super) bits: u32,
    /// What is smaller than an access holds nothing.
    pub(super) least: u32,
}

impl Size {
    fn join(&mut self, other: Self) {
        self.bits |= other.bits;
        self.least = match (self.least, other.least) {
            (0, least) | (least, 0) => least,
            (a, b) => a.min(b),
        };
    }
}

/// What is demanded of an instruction's results.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    demand: &'a Demand,
    /// Whether idle lanes have none of them.
    own: bool,
}

impl Wanted<'_> {
    pub(super) fn of(self, register: usize) -> u32 {
        let test = self.test(register).map_or(0, |_| u32::MAX);
        self.exactly(register) | self.size(register).bits | test
    }

    /// Without what only a buffer's size or a comparison depends on.
    pub(super) fn exactly(self, register: usize) -> u32 {
        let Demand { active, idle, .. } = self.demand;
        // Everything may depend on EXEC.
        match register {
            EXEC..128 => u32::MAX,
            _ if self.own => active[register],
            _ => active[register] | idle[register],
        }
    }

    pub(super) fn size(self, register: usize) -> Size {
        self.demand.sizes.get(register).copied().unwrap_or_default()
    }

    pub(super) fn test(self, register: usize) -> Option<u32> {
        self.demand.tests[register]
    }

    /// Whether something that the instruction writes is demanded.
    pub(super) fn any(self, inst: &Inst) -> bool {
        let mut any = inst.writes_scc() && self.of(SCC) != 0;
        inst.writes(&mut |operand| {
            any |= registers(operand).any(|register| self.of(register) != 0)
        });
        any
    }
}

impl Demand {
    fn nothing() -> Self {
        let sizes = vec![Size::default(); EXEC];
        let tests = vec![None; REGISTERS];
        Self { active: vec![0; REGISTERS], idle: vec![0; REGISTERS], sizes, tests }
    }

    /// Behind an instruction, of its results.
    pub(super) fn of_results(&self, inst: &Inst) -> Wanted<'_> {
        Wanted { demand: self, own: lanes::writes_own(inst) }
    }

    /// Adds what may be demanded otherwise; `idle` says that no lane executes then.
    fn join(&mut self, other: &Self, idle: bool) {
        join(&mut self.active[..128], &other.active[..128]);
        join(&mut self.active[SCC..], &other.active[SCC..]);
        if !idle {
            join(&mut self.active, &other.active);
        }
        join(&mut self.idle, &other.idle);
        self.sizes.iter_mut().zip(&other.sizes).for_each(|(a, b)| a.join(*b));
        for (register, test) in other.tests.iter().enumerate() {
            test.iter().for_each(|constant| self.add_test(register, *constant));
        }
    }

    /// Adds bits that an instruction reads.
    fn add(&mut self, inst: &Inst, operand: Operand, bits: u32) {
        registers(operand).for_each(|register| self.add_register(inst, register, bits));
    }

    fn add_register(&mut self, inst: &Inst, register: usize, bits: u32) {
        self.active[register] |= bits;
        if !is_of_lanes(register) || !lanes::reads_own(inst) {
            self.idle[register] |= bits;
        }
    }

    fn add_test(&mut self, register: usize, constant: u32) {
        match self.tests[register] {
            Some(other) if other != constant => {
                self.active[register] = u32::MAX;
                self.idle[register] = u32::MAX;
            }
            _ => self.tests[register] = Some(constant),
        }
    }

    /// Nothing of a register is demanded before it is written; `whole` says in all lanes.
    fn clear(&mut self, register: usize, whole: bool) {
        self.active[register] = 0;
        if !is_of_lanes(register) {
            self.idle[register] = 0;
        }
        if whole || !is_of_lanes(register) {
            self.tests[register] = None;
        }
        if let Some(size) = self.sizes.get_mut(register) {
            *size = Size::default();
        }
    }

    fn add_size(&mut self, inst: &Inst, operand: Operand, size: Size) {
        for register in registers(operand) {
            match self.sizes.get_mut(register) {
                Some(of) => of.join(size),
                None => self.add_register(inst, register, size.bits),
            }
        }
    }

    /// From what is demanded behind an instruction, what is before it, where something is known.
    fn before(&mut self, inst: &Inst, known: &Known) {
        let behind = self.clone();
        let behind = behind.of_results(inst);
        for (operand, slot) in inst.dst.iter().zip(&inst.info.dst) {
            // What is loaded is extended.
            let every_bit = (fills_registers(slot) || !inst.info.format.is_valu())
                && inst.ext == Ext::None
                && !slot.rw
                && !["s_cmov", "v_writelane", "_d16"]
                    .iter()
                    .any(|w| inst.info.op.name().contains(w));
            if every_bit {
                registers(*operand).for_each(|register| self.clear(register, known.whole()));
            }
        }
        if inst.writes_scc() {
            self.clear(SCC, true);
        }
        match lanes::change(inst) {
            Some(Lanes::Fewer) => join(&mut self.active, &self.idle),
            Some(Lanes::More) => join(&mut self.idle, &self.active),
            Some(Lanes::Rest) => {
                std::mem::swap(&mut self.active, &mut self.idle);
                join(&mut self.idle, &self.active);
            }
            Some(Lanes::Others) => {
                join(&mut self.active, &self.idle);
                self.idle.clone_from(&self.active);
            }
            None => {}
        }
        if known.whole() {
            (0..REGISTERS).filter(|at| is_of_lanes(*at)).for_each(|at| self.idle[at] = 0);
        }
        let writes = only_writes(inst);
        if writes && !behind.any(inst) {
            return;
        }
        if inst.reads_scc() {
            self.add_register(inst, SCC, u32::MAX);
        }
        if let Some(passed) = passed_on(inst) {
            let [register] = registers(inst.dst[0]).collect::<Vec<_>>()[..] else { return };
            inst.reads(&mut |operand| {
                if inst.src[..passed].contains(&operand) {
                    self.add(inst, operand, behind.exactly(register));
                    self.add_size(inst, operand, behind.size(register));
                    let test = behind.test(register);
                    let both = registers(operand).zip(test);
                    both.for_each(|(register, constant)| self.add_test(register, constant));
                } else {
                    self.add(inst, operand, u32::MAX);
                }
            });
            return;
        }
        let known = &known.of_sources(inst);
        if let Some((operand, constant)) = bits::test(inst, known) {
            registers(operand).for_each(|register| self.add_test(register, constant));
            return;
        }
        let scc = inst.writes_scc() && behind.of(SCC) != 0;
        if writes && !scc && self.by_bits(inst, behind, known).is_some() {
            return;
        }
        inst.reads(&mut |operand| {
            let format_of_buffer =
                inst.info.format == Format::Mubuf && !inst.info.op.name().contains("format");
            if format_of_buffer && operand == inst.src[2] {
                let word = |at| Operand { code: operand.code + at, dwords: 1 };
                (0..2).for_each(|at| self.add(inst, word(at), u32::MAX));
                let bits = u32::MAX << idle_bits_of_size(inst, known);
                self.add_size(inst, word(2), Size { bits, least: least_size(inst) });
                // Where elements come from, and the number's format.
                self.add(inst, word(3), !0x7fff);
            } else if inst.mem.lds && operand.code == Operand::M0 {
                // Loads to LDS go to dwords of 256 KiB.
                self.add(inst, operand, 0x3_fffc);
            } else if operand == inst.src[1] && operand != inst.src[0] {
                self.add(inst, operand, stored_bits(inst));
            } else {
                self.add(inst, operand, u32::MAX);
            }
        });
    }

    /// Adds the bits of the sources that the demanded ones of the result come from, if that is known.
    fn by_bits(&mut self, inst: &Inst, behind: Wanted<'_>, known: &Facts) -> Option<()> {
        if inst.dst[1].is_some() || inst.info.dst[0].rw {
            return None;
        }
        let all: Vec<usize> = registers(inst.dst[0]).collect();
        if bits::carries_up(inst) {
            let highest = behind.of(all[0]).checked_ilog2()?;
            inst.reads(&mut |operand| self.add(inst, operand, u32::MAX >> (31 - highest)));
            return Some(());
        }
        let demanded = all.iter().fold(0, |bits, register| bits | behind.of(*register));
        if let Some(bits) = bits::bitwise(inst, demanded, known) {
            inst.reads(&mut |operand| {
                let of_source = |(at, _): (usize, &Operand)| bits.get(at).copied();
                let sources = inst.src.iter().enumerate();
                let found: Vec<u32> = sources
                    .filter(|(_, source)| **source == operand)
                    .filter_map(of_source)
                    .collect();
                let bits = found.into_iter().reduce(|a, b| a | b).unwrap_or(u32::MAX);
                self.add(inst, operand, bits);
            });
            return Some(());
        }
        let words = bits::result(inst, known)?;
        let mut found = Vec::new();
        for (word, register) in words.iter().zip(&all) {
            for bit in (0..32).filter(|bit| behind.of(*register) >> bit & 1 != 0) {
                match word[bit] {
                    Bit::Is(_) => {}
                    Bit::Of(register, bit) | Bit::Not(register, bit) => {
                        found.push((usize::from(register), 1 << bit))
                    }
                    Bit::Opaque => return None,
                }
            }
        }
        found.into_iter().for_each(|(register, bit)| self.add_register(inst, register, bit));
        Some(())
    }
}

/// Which bits of its second source an instruction may store or read otherwise: of global memory, that is the
/// data.
fn stored_bits(inst: &Inst) -> u32 {
    let name = inst.info.op.name();
    let Some((_, what)) = name.split_once("global_store_").or(name.split_once("buffer_store_"))
    else {
        return u32::MAX;
    };
    match what {
        "byte" => 0xff,
        "short" => 0xffff,
        "byte_d16_hi" => 0xff_0000,
        "short_d16_hi" => 0xffff_0000,
        _ => u32::MAX,
    }
}

/// How many of the lowest bits of a buffer's size decide nothing: those that the accesses' ends cannot have,
/// where all that they are sums of are multiples of a power of two. Only as far as dwords, which may be in the
/// buffer one by one.
fn idle_bits_of_size(inst: &Inst, known: &Facts) -> u32 {
    const DWORD: u32 = 2;
    let Inst { src: [address, _, descriptor, distance, ..], mem, offset, .. } = inst;
    let zeros = |operand: Operand| match bits::source(inst, operand, known).first() {
        Some(word) => word.iter().take_while(|bit| **bit == Bit::Is(false)).count() as u32,
        None => 0,
    };
    // Of structures, the size counts records.
    let word = Operand { code: descriptor.code + 1, dwords: 1 };
    let is_raw = bits::source(inst, word, known)
        .first()
        .is_some_and(|word| word[16..].iter().all(|bit| *bit == Bit::Is(false)));
    if !is_raw || mem.idxen || !inst.info.op.name().contains("_dword") {
        return 0;
    }
    let of_address = if mem.offen { zeros(*address) } else { DWORD };
    [of_address, zeros(*distance), offset.trailing_zeros()].into_iter().fold(DWORD, u32::min)
}

/// Whether the elements leave no bit of the registers as it was.
pub(super) fn fills_registers(slot: &Slot) -> bool {
    let bits = match slot.elem {
        Elem::Fp8 | Elem::Bf8 => 8,
        Elem::B16 | Elem::F16 | Elem::Bf16 => 16,
        Elem::B32 | Elem::F32 | Elem::Xf32 => 32,
        Elem::B64 | Elem::F64 => 64,
    };
    bits * u32::from(slot.count) >= 32 * u32::from(slot.dwords)
}

/// The size of a buffer below which an instruction finds nothing in it. Of structures, the size counts
/// records.
fn least_size(inst: &Inst) -> u32 {
    let name = inst.info.op.name();
    match () {
        () if inst.mem.idxen => 1,
        () if name.contains("_dword") => 4,
        () if name.contains("_short") || name.contains("_ushort") || name.contains("_sshort") => 2,
        () => 1,
    }
}

/// If an instruction gives one dword that it has, or one of two: how many that are, the first sources.
pub(super) fn passed_on(inst: &Inst) -> Option<usize> {
    match inst.info.op {
        Op::s_mov_b32 | Op::v_mov_b32 if bits::is_plain(inst) => Some(1),
        Op::s_cselect_b32 | Op::v_cndmask_b32 if bits::is_plain(inst) => Some(2),
        _ => None,
    }
}

fn join(bits: &mut [u32], other: &[u32]) {
    bits.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}

/// What is demanded behind each instruction, with what is known before each.
pub(super) fn behind(code: &[Placed], known: &[Known]) -> Vec<Demand> {
    let next = successors(code);
    let mut from: Vec<Vec<usize>> = vec![Vec::new(); code.len()];
    for (at, next) in next.iter().enumerate() {
        next.iter().for_each(|to| from[*to].push(at));
    }
    let mut before = vec![Demand::nothing(); code.len()];
    let behind = |before: &[Demand], at: usize| {
        let mut demand = Demand::nothing();
        for &to in &next[at] {
            demand.join(&before[to], lanes::none_on_the_way(code, &next, at, to));
        }
        demand
    };
    let mut seen = vec![false; code.len()];
    exhaust(0..code.len(), true, |at| {
        let mut demand = behind(&before, at);
        demand.before(&code[at].inst, &known[at]);
        let first = !std::mem::replace(&mut seen[at], true);
        if demand == before[at] && !first {
            return vec![];
        }
        before[at] = demand;
        from[at].clone()
    });
    (0..code.len()).map(|at| behind(&before, at)).collect()
}
