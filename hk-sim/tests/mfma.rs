//! Every matrix instruction against the naive formulas, element by element.
//!
//! The expectation shares nothing with the implementation: shapes and types come from the
//! mnemonic, register positions from the layout formulas of the vendor's documentation, element
//! values from field arithmetic in `f64`, and each result is one chain of fused multiply-adds, from C
//! on for `f32` and `f64` elements, added to C for narrower ones.

use std::fmt::Write as _;

use hk_sim::exec::Lanes;
use hk_sim::exec::mfma::{MfmaArgs, MfmaConfig, MfmaFn, lower};
use hk_sim::exec::simd::SimdLevel;
use hk_sim::isa::{Arch, Format, Inst, MFMA, Op, decode};

/// Seeded random bits (splitmix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }
}

/// Element type as the mnemonic (or the format field) names it, for one chip.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Element {
    bits: usize,
    /// Exponent bits, mantissa bits, bias; `None` for integers.
    float: Option<(u32, u32, i32)>,
    specials: Specials,
    xf32: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Specials {
    Ieee,
    Ocp,
    Fnuz,
    None,
}

impl Element {
    fn float(bits: usize, exponent: u32, mantissa: u32, bias: i32, specials: Specials) -> Self {
        Self { bits, float: Some((exponent, mantissa, bias)), specials, xf32: false }
    }

    fn named(name: &str, arch: Arch) -> Self {
        let fnuz = arch == Arch::Gfx942;
        match name {
            "f64" => Self::float(64, 11, 52, 1023, Specials::Ieee),
            "f32" => Self::float(32, 8, 23, 127, Specials::Ieee),
            "xf32" => Self { xf32: true, ..Self::float(32, 8, 23, 127, Specials::Ieee) },
            "f16" => Self::float(16, 5, 10, 15, Specials::Ieee),
            "bf16" => Self::float(16, 8, 7, 127, Specials::Ieee),
            "fp8" if fnuz => Self::float(8, 4, 3, 8, Specials::Fnuz),
            "fp8" => Self::float(8, 4, 3, 7, Specials::Ocp),
            "bf8" if fnuz => Self::float(8, 5, 2, 16, Specials::Fnuz),
            "bf8" => Self::float(8, 5, 2, 15, Specials::Ieee),
            "i8" => Self { bits: 8, float: None, specials: Specials::None, xf32: false },
            _ => panic!("unknown type {name}"),
        }
    }

    fn of_format(format: u32) -> Self {
        match format {
            0 => Self::float(8, 4, 3, 7, Specials::Ocp),
            1 => Self::float(8, 5, 2, 15, Specials::Ieee),
            2 => Self::float(6, 2, 3, 1, Specials::None),
            3 => Self::float(6, 3, 2, 3, Specials::None),
            _ => Self::float(4, 2, 1, 1, Specials::None),
        }
    }

    fn value(self, code: u64) -> f64 {
        let Some((exponent_bits, mantissa_bits, bias)) = self.float else {
            return f64::from(code as u8 as i8);
        };
        if self.bits == 64 {
            return f64::from_bits(code);
        }
        let sign = if code >> (self.bits - 1) & 1 == 0 { 1.0 } else { -1.0 };
        let mut exponent = (code >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
        let mut mantissa = code & ((1 << mantissa_bits) - 1);
        let top = (1 << exponent_bits) - 1;
        match self.specials {
            Specials::Ieee if exponent == top && mantissa == 0 => return sign * f64::INFINITY,
            Specials::Ieee if exponent == top => return f64::NAN,
            Specials::Ocp if exponent == top && mantissa == (1 << mantissa_bits) - 1 => {
                return f64::NAN;
            }
            Specials::Fnuz if code == 1 << (self.bits - 1) => return f64::NAN,
            _ => {}
        }
        if self.xf32 {
            // Nearest multiple of 2^13 in units of the last f32 place, ties to even.
            let (below, rest) = (mantissa >> 13, mantissa & 0x1fff);
            let up = rest > 0x1000 || (rest == 0x1000 && below & 1 == 1);
            mantissa = (below + u64::from(up)) << 13;
            if exponent == 254 && mantissa == 1 << 23 {
                return sign * f64::INFINITY;
            }
        }
        let mut significand = mantissa as f64;
        if exponent == 0 {
            exponent = 1;
        } else {
            significand += (1_u64 << mantissa_bits) as f64;
        }
        sign * significand * 2_f64.powi(exponent - bias - mantissa_bits as i32)
    }
}

/// What the mnemonic says.
#[derive(Debug)]
struct Shape {
    m: usize,
    n: usize,
    k: usize,
    blocks: usize,
    sparse: bool,
    scaled: bool,
    f8f6f4: bool,
    result: String,
    a: Element,
    b: Element,
}

impl Shape {
    fn parse(name: &str, arch: Arch, formats: (u32, u32)) -> Self {
        let mut parts = name.split('_').skip(1).peekable();
        let sparse = parts.next() == Some("smfmac");
        let scaled = parts.next_if_eq(&"scale").is_some();
        let result = parts.next().expect("result type").to_owned();
        let dims: Vec<usize> = parts
            .next()
            .expect("dimensions")
            .split('x')
            .map(|dim| dim.parse().expect("dimension"))
            .collect();
        let blocks = parts
            .next_if(|part| part.ends_with('b') && part.len() <= 3)
            .map_or(1, |part| part[..part.len() - 1].parse().expect("blocks"));
        let types: Vec<&str> = parts.collect();
        let f8f6f4 = types[0] == "f8f6f4";
        let (a, b) = if f8f6f4 {
            (Element::of_format(formats.0), Element::of_format(formats.1))
        } else {
            let last = types[types.len() - 1];
            (Element::named(types[0], arch), Element::named(last, arch))
        };
        let [m, n, k] = dims[..] else { panic!("three dimensions") };
        Self { m, n, k, blocks, sparse, scaled, f8f6f4, result, a, b }
    }

    /// Lane and first bit of element `(row, k)` of a block of A or B.
    fn place(
        &self,
        element: Element,
        dim: usize,
        depth: usize,
        row: usize,
        block: usize,
        k: usize,
    ) -> (usize, usize) {
        let lanes_per_block = 64 / (dim * self.blocks);
        let per_lane = depth / lanes_per_block;
        if self.f8f6f4 && element.bits == 8 {
            let chunk = k / 16;
            let lane = (chunk % lanes_per_block) * dim + row;
            return (lane, ((chunk / lanes_per_block) * 16 + k % 16) * 8);
        }
        if self.result == "f64" && self.blocks == 4 {
            return (4 * block + 16 * k + row, 0);
        }
        let lane = block * dim + (k / per_lane) * dim * self.blocks + row;
        (lane, (k % per_lane) * element.bits)
    }

    /// Register and lane of `D[block][i][j]` (the low register for `f64`).
    fn result_place(&self, block: usize, i: usize, j: usize) -> (usize, usize) {
        let (m, n) = (self.m, self.n);
        if self.result == "f64" {
            return match self.blocks {
                1 => (2 * (i / 4), 16 * (i % 4) + j),
                _ => (0, 16 * i + 4 * block + j),
            };
        }
        let rows = 64 / n;
        let blocks_per_register = 256_usize.div_ceil(m * n);
        // A 4x4 result has four rows per register group and 16 blocks side by side.
        let rows = if n == 4 { 1 } else { rows };
        let register = block * (m * n / 64) + (i / (4 * rows)) * 4 + i % 4;
        let lane = (block % blocks_per_register) * n + ((i / 4) % rows) * blocks_per_register * n;
        (register, lane + j)
    }
}

const A: usize = 0;
const B: usize = 16;
const C: usize = 32;
const D: usize = 64;
const INDEX: usize = 96;
const SCALE_A: usize = 97;
const SCALE_B: usize = 98;
const REGISTERS: usize = 100;

#[repr(C, align(64))]
#[derive(Clone, PartialEq)]
struct Registers([Lanes; REGISTERS]);

impl Registers {
    fn bits(&self, first: usize, lane: usize, bit: usize, width: usize) -> u64 {
        (0..width).fold(0, |code, at| {
            let bit = bit + at;
            code | u64::from(self.0[first + bit / 32][lane] >> (bit % 32) & 1) << at
        })
    }

    fn set_bits(&mut self, first: usize, lane: usize, bit: usize, width: usize, code: u64) {
        for at in 0..width {
            let (bit, value) = (bit + at, (code >> at & 1) as u32);
            let word = &mut self.0[first + bit / 32][lane];
            *word = *word & !(1 << (bit % 32)) | value << (bit % 32);
        }
    }
}

/// What the inputs look like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    /// Exponents around 1.
    Ordinary,
    /// Any finite numbers.
    Finite,
    /// Denormals and zeros.
    Denormal,
    /// Finite numbers and a few infinities and NaNs.
    FewSpecials,
    /// Any bits.
    Bits,
}

const FILLS: [Fill; 5] =
    [Fill::Ordinary, Fill::Finite, Fill::Denormal, Fill::FewSpecials, Fill::Bits];

fn draw(random: &mut Random, element: Element, fill: Fill) -> u64 {
    let mask = u64::MAX >> (64 - element.bits);
    let Some((exponent_bits, mantissa_bits, bias)) = element.float else {
        return random.bits() & mask;
    };
    let with_exponent = |random: &mut Random, exponent: i64| {
        let sign_and_mantissa =
            random.bits() & ((1 << (element.bits - 1)) | ((1 << mantissa_bits) - 1));
        sign_and_mantissa | (exponent as u64) << mantissa_bits
    };
    let any = random.bits() & mask;
    match fill {
        Fill::Ordinary => {
            let top = (1_i64 << exponent_bits) - 2;
            let exponent = i64::from(bias) - 3 + random.below(6) as i64;
            with_exponent(random, exponent.clamp(0, top.max(1)))
        }
        Fill::Denormal => with_exponent(random, 0) * u64::from(random.below(8) != 0),
        Fill::FewSpecials if random.below(400) == 0 => match element.specials {
            Specials::Ieee => with_exponent(random, (1 << exponent_bits) - 1) & !1,
            Specials::Ocp => mask,
            Specials::Fnuz => 1 << (element.bits - 1),
            Specials::None => any,
        },
        Fill::Finite | Fill::FewSpecials if !element.value(any).is_finite() => {
            any & !(1 << (element.bits - 2)) & (mask >> 1)
        }
        _ => any,
    }
}

fn fill(random: &mut Random, shape: &Shape, kind: Fill) -> Box<Registers> {
    let mut registers = Box::new(Registers([[0; 64]; REGISTERS]));
    for word in registers.0.as_flattened_mut() {
        *word = random.bits() as u32;
    }
    let depth_a = if shape.sparse { shape.k / 2 } else { shape.k };
    for (first, element, depth) in [(A, shape.a, depth_a), (B, shape.b, shape.k)] {
        let per_lane = depth * shape.m * shape.blocks / 64;
        for lane in 0..64 {
            for at in 0..per_lane {
                let code = draw(random, element, kind);
                registers.set_bits(first, lane, at * element.bits, element.bits, code);
            }
        }
    }
    if shape.result != "i32" {
        let element = Element::named(&shape.result, Arch::Gfx942);
        let registers_of_c = shape.m * shape.n * shape.blocks / 64;
        let per_lane = registers_of_c * if element.bits == 64 { 2 } else { 1 };
        for first in [C, D] {
            for lane in 0..64 {
                for at in 0..per_lane * 32 / element.bits {
                    let code = draw(random, element, kind);
                    registers.set_bits(first, lane, at * element.bits, element.bits, code);
                }
            }
        }
    }
    if shape.scaled {
        let (low, spread) = match kind {
            Fill::Ordinary => (120, 15),
            // Products of two such scales are still exact in f32; one step further they are not.
            Fill::Finite => (63, 128),
            Fill::Denormal => (62, 3),
            Fill::FewSpecials => (188, 4),
            Fill::Bits => (0, 256),
        };
        for scale in [SCALE_A, SCALE_B] {
            for lane in 0..64 {
                for byte in 0..4 {
                    let code = low + random.below(spread);
                    registers.set_bits(scale, lane, byte * 8, 8, code);
                }
            }
        }
    }
    registers
}

/// Modifiers of one execution.
#[derive(Clone, Copy, Debug, Default)]
struct Modifiers {
    cbsz: u32,
    abid: u32,
    blgp: u32,
    /// Byte of scale A and of scale B.
    scale_bytes: [u32; 2],
    /// Source code of constant scales.
    scale_constant: Option<u32>,
    /// Value of C everywhere.
    constant: Option<u64>,
    mode: u32,
}

/// The expected D, in the registers from [`D`]. C is read from `c`.
fn reference(shape: &Shape, modifiers: &Modifiers, before: &Registers, c: usize) -> Box<Registers> {
    let mut after = Box::new(before.clone());
    let Modifiers { cbsz, abid, blgp, .. } = *modifiers;
    let double = shape.result == "f64";
    let broadcasts = shape.blocks > 1 && !shape.sparse && !shape.f8f6f4;
    let flush = shape.a.bits == 32 && !shape.a.xf32 && modifiers.mode & 1 << 4 == 0;
    let input = |element: Element, code: u64| {
        let value = element.value(code);
        if flush && value.abs() < 2_f64.powi(-126) { 0.0_f64.copysign(value) } else { value }
    };
    let depth_a = if shape.sparse { shape.k / 2 } else { shape.k };
    let element_a = |block: usize, i: usize, k: usize| {
        // The group of 2^cbsz neighbouring blocks reads its block number abid.
        let source = match broadcasts {
            true => (block >> cbsz << cbsz) + abid as usize,
            false => block,
        };
        let (lane, bit) = shape.place(shape.a, shape.m, depth_a, i, source, k);
        input(shape.a, before.bits(A, lane, bit, shape.a.bits))
    };
    let element_b = |block: usize, j: usize, k: usize| {
        let (lane, bit) = shape.place(shape.b, shape.n, shape.k, j, block, k);
        let permutes = !double && !shape.sparse && !shape.f8f6f4;
        let lane = match if permutes { blgp } else { 0 } {
            0 => lane,
            1 => lane % 32,
            2 => 32 + lane % 32,
            3 => (lane + 16) % 64,
            pattern => lane % 16 + 16 * (pattern as usize - 4),
        };
        input(shape.b, before.bits(B, lane, bit, shape.b.bits))
    };
    let scale = |register: usize, which: usize, dim: usize, at: usize, block: usize| {
        let byte = match modifiers.scale_constant {
            Some(240 | 241) => 126,
            Some(242 | 243) => 127,
            Some(244 | 245) => 128,
            Some(246 | 247) => 129,
            Some(248) => 124,
            Some(_) => 0,
            None => {
                let bit = 8 * modifiers.scale_bytes[which] as usize;
                before.bits(register, dim * block + at, bit, 8)
            }
        };
        if byte == 255 { f64::NAN } else { 2_f64.powi(byte as i32 - 127) }
    };
    // Inner indices in the order of accumulation, with the index into B.
    let kept = |i: usize, at: usize| {
        if !shape.sparse {
            return at;
        }
        let (lane, bit) = shape.place(shape.a, shape.m, depth_a, i, 0, at);
        let per_lane = depth_a * shape.m / 64;
        let set = match (2 * per_lane, cbsz) {
            (8, 0) => 8 * (abid as usize % 4),
            (16, 0) => 16 * (abid as usize % 2),
            _ => 0,
        };
        let index = before.bits(INDEX, lane, set + 2 * (bit / shape.a.bits), 2);
        at / 2 * 4 + index as usize
    };
    let negated = |value: f64, which: u32| {
        if double && blgp >> which & 1 == 1 { -value } else { value }
    };
    for block in 0..shape.blocks {
        for i in 0..shape.m {
            for j in 0..shape.n {
                let (register, lane) = shape.result_place(block, i, j);
                let width = if double { 64 } else { 32 };
                let addend = match modifiers.constant {
                    Some(constant) => constant,
                    None => before.bits(c + register, lane, 0, width),
                };
                let products = (0..depth_a)
                    .map(|at| (element_a(block, i, at), element_b(block, j, kept(i, at))));
                let code = if double {
                    let start = negated(f64::from_bits(addend), 2);
                    let sum = products
                        .fold(start, |sum, (a, b)| negated(a, 0).mul_add(negated(b, 1), sum));
                    if sum.is_nan() { 0x7ff8 << 48 } else { sum.to_bits() }
                } else if shape.result == "i32" {
                    let exact: i64 = products.map(|(a, b)| a as i64 * b as i64).sum();
                    u64::from((addend as u32).wrapping_add(exact as u32))
                } else if shape.scaled {
                    let products: Vec<_> = products.collect();
                    let mut sum = f32::from_bits(addend as u32);
                    for (number, products) in products.chunks(32).enumerate() {
                        let dot = products
                            .iter()
                            .fold(0_f32, |sum, &(a, b)| (a as f32).mul_add(b as f32, sum));
                        let a = scale(SCALE_A, 0, shape.m, i, number);
                        let b = scale(SCALE_B, 1, shape.n, j, number);
                        sum += (f64::from(dot) * a * b) as f32;
                    }
                    single(sum)
                } else {
                    let addend = f32::from_bits(addend as u32);
                    let chain = |start: f32| {
                        products.fold(start, |sum, (a, b)| (a as f32).mul_add(b as f32, sum))
                    };
                    let wide = shape.a.bits == 32 && !shape.a.xf32;
                    single(if wide { chain(addend) } else { addend + chain(-0.0) })
                };
                after.set_bits(D + register, lane, 0, width, code);
            }
        }
    }
    after
}

fn single(value: f32) -> u64 {
    if value.is_nan() { 0x7fc0_0000 } else { u64::from(value.to_bits()) }
}

fn encode(op: Op, arch: Arch, modifiers: &Modifiers) -> Inst {
    let row = op.encodings().find(|row| row.archs.has(arch)).expect("encoding");
    let Modifiers { cbsz, abid, blgp, scale_bytes: [byte_a, byte_b], .. } = *modifiers;
    let scaled = row.format == Format::Vop3px2;
    let marker = u32::from(scaled) << 11;
    let word0 = 0xd380_0000 | u32::from(row.opcode) << 16 | cbsz << 8 | abid << 11 | marker;
    let word1 = 256 | 256 << 9 | 256 << 18 | blgp << 29;
    let words = if scaled {
        let source = modifiers.scale_constant.unwrap_or(256);
        let low = (byte_a & 1) << 11 | (byte_b & 1) << 12;
        let high = (byte_a >> 1) << 27 | (byte_b >> 1) << 28;
        [0xd3ac_0000 | low, source | source << 9 | high, word0, word1]
    } else {
        [word0, word1, 0, 0]
    };
    decode(arch, &words).unwrap_or_else(|error| panic!("{op} {modifiers:?}: {error}"))
}

/// Where the operands lie.
#[derive(Clone, Copy, Debug)]
struct Placement {
    a: usize,
    b: usize,
    c: usize,
    d: usize,
}

fn execute(
    (run, config): (MfmaFn, MfmaConfig),
    shape: &Shape,
    modifiers: &Modifiers,
    at: Placement,
    registers: &mut Registers,
) {
    let base = registers.0.as_mut_ptr();
    // SAFETY: every operand lies within the registers, and only available levels are lowered.
    unsafe {
        let scale = |register: usize| match modifiers.scale_constant {
            Some(_) => std::ptr::null(),
            None => base.add(register).cast_const(),
        };
        let c = match (shape.sparse, modifiers.constant) {
            (true, _) => base.add(INDEX).cast_const(),
            (false, Some(_)) => std::ptr::null(),
            (false, None) => base.add(at.c).cast_const(),
        };
        run(
            &config,
            &MfmaArgs {
                a: base.add(at.a),
                b: base.add(at.b),
                c,
                c_const: modifiers.constant.unwrap_or(0),
                d: base.add(at.d),
                scale_a: scale(SCALE_A),
                scale_b: scale(SCALE_B),
                mode: modifiers.mode,
            },
        );
    }
}

/// Runs one case at every level and compares all registers.
fn check(op: Op, arch: Arch, shape: &Shape, modifiers: &Modifiers, before: &Registers, what: &str) {
    let inst = encode(op, arch, modifiers);
    let c = if shape.sparse { D } else { C };
    let expected = reference(shape, modifiers, before, c);
    let in_place = !shape.sparse && modifiers.constant.is_none();
    for level in SimdLevel::available() {
        let lowered = lower(arch, &inst, level).expect("a matrix instruction");
        let place = Placement { a: A, b: B, c: C, d: D };
        let mut registers = before.clone();
        execute(lowered, shape, modifiers, place, &mut registers);
        compare(&registers, &expected, &format!("{op} {arch} {level:?} {what} {modifiers:?}"));
        if in_place {
            // D in the registers of C gives the same.
            let mut registers = before.clone();
            let count = (D - C).min(INDEX - D);
            execute(lowered, shape, modifiers, Placement { d: C, ..place }, &mut registers);
            let mut moved = before.clone();
            let results =
                shape.m * shape.n * shape.blocks / 64 * if shape.result == "f64" { 2 } else { 1 };
            assert!(results <= count);
            moved.0[C..C + results].copy_from_slice(&expected.0[D..D + results]);
            compare(&registers, &moved, &format!("{op} {arch} {level:?} {what} in place"));
        }
    }
}

fn compare(got: &Registers, expected: &Registers, what: &str) {
    if got == expected {
        return;
    }
    let mut report = String::new();
    let mut wrong = 0;
    for (register, (got, expected)) in got.0.iter().zip(&expected.0).enumerate() {
        for lane in 0..64 {
            if got[lane] != expected[lane] {
                wrong += 1;
                if wrong <= 5 {
                    let (got, expected) = (got[lane], expected[lane]);
                    writeln!(report, "v{register}[{lane}]: {got:#010x}, expected {expected:#010x}")
                        .expect("a string takes everything");
                }
            }
        }
    }
    panic!("{what}: {wrong} words differ\n{report}");
}

const DEFAULT_MODE: u32 = 0x3f0;

fn plain() -> Modifiers {
    Modifiers { mode: DEFAULT_MODE, ..Modifiers::default() }
}

fn is_f8f6f4(op: Op) -> bool {
    op.name().ends_with("f8f6f4")
}

#[test]
fn every_instruction_matches_the_formulas() {
    let mut random = Random(1);
    for info in MFMA.iter().filter(|info| !is_f8f6f4(info.op)) {
        let shape = Shape::parse(info.op.name(), info.arch, (0, 0));
        for kind in FILLS {
            let before = fill(&mut random, &shape, kind);
            check(info.op, info.arch, &shape, &plain(), &before, &format!("{kind:?}"));
        }
    }
}

#[test]
fn every_format_combination_matches_the_formulas() {
    let mut random = Random(2);
    for info in MFMA.iter().filter(|info| is_f8f6f4(info.op)) {
        for formats in (0..25).map(|pair| (pair / 5, pair % 5)) {
            let shape = Shape::parse(info.op.name(), info.arch, formats);
            for (number, kind) in FILLS.into_iter().enumerate() {
                let before = fill(&mut random, &shape, kind);
                let modifiers = Modifiers {
                    cbsz: formats.0,
                    blgp: formats.1,
                    scale_bytes: [number as u32 % 4, (number as u32 + formats.0) % 4],
                    ..plain()
                };
                check(info.op, info.arch, &shape, &modifiers, &before, &format!("{kind:?}"));
            }
        }
    }
}

#[test]
fn scale_constants_match_the_formulas() {
    let mut random = Random(3);
    for info in MFMA.iter().filter(|info| info.op.name().starts_with("v_mfma_scale")) {
        let shape = Shape::parse(info.op.name(), info.arch, (4, 0));
        for code in [128, 129, 193, 240, 241, 242, 243, 244, 245, 246, 247, 248] {
            let before = fill(&mut random, &shape, Fill::Ordinary);
            let scale_constant = Some(code);
            let modifiers = Modifiers { cbsz: 4, scale_constant, ..plain() };
            // LLVM accepts registers only; the architecture also has constants.
            check(info.op, info.arch, &shape, &modifiers, &before, "constant scale");
        }
    }
}

#[test]
fn broadcasts_and_permutations_match_the_formulas() {
    let mut random = Random(4);
    let mut cases = 0;
    for info in MFMA.iter().filter(|info| !is_f8f6f4(info.op)) {
        let shape = Shape::parse(info.op.name(), info.arch, (0, 0));
        if shape.sparse {
            continue;
        }
        let multiple = shape.blocks > 1;
        let single_f32 = shape.a == Element::named("f32", info.arch);
        let negates = shape.result == "f64";
        let last_blgp = if multiple || single_f32 || negates { 7 } else { 0 };
        for cbsz in 0..=shape.blocks.ilog2() {
            for abid in 0..1 << cbsz {
                for blgp in 0..=last_blgp {
                    let before = fill(&mut random, &shape, Fill::Ordinary);
                    let modifiers = Modifiers { cbsz, abid, blgp, ..plain() };
                    check(info.op, info.arch, &shape, &modifiers, &before, "modifiers");
                    cases += 1;
                }
            }
        }
    }
    // 16 blocks: 31 choices of block, 4 blocks: 7, 2 blocks: 3, each with 8 permutations.
    let expected = 2 * 8 * (4 * (31 + 7 + 3) + 2 + (1 + 7));
    let others = MFMA
        .iter()
        .filter(|info| !is_f8f6f4(info.op) && !info.sparse && info.blocks == 1)
        .filter(|info| !info.op.name().ends_with("x2_f32") && !info.op.name().ends_with("x4_f32"))
        .filter(|info| !info.op.name().ends_with("f64"))
        .count();
    assert_eq!(cases, expected + others);
}

#[test]
fn sparse_index_sets_match_the_formulas() {
    let mut random = Random(5);
    for info in MFMA.iter().filter(|info| info.op.name().starts_with("v_smfmac")) {
        let shape = Shape::parse(info.op.name(), info.arch, (0, 0));
        for (cbsz, abid) in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 3)] {
            let before = fill(&mut random, &shape, Fill::Finite);
            let modifiers = Modifiers { cbsz, abid, ..plain() };
            check(info.op, info.arch, &shape, &modifiers, &before, "index set");
        }
    }
}

#[test]
fn constant_c_matches_the_formulas() {
    let mut random = Random(6);
    for info in MFMA.iter().filter(|info| !info.op.name().starts_with("v_smfmac")) {
        let shape = Shape::parse(info.op.name(), info.arch, (0, 0));
        let constants = match shape.result.as_str() {
            "f64" => [0, 1_f64.to_bits(), (-4_f64).to_bits()],
            "f32" => [0, 1_f32.to_bits().into(), (-4_f32).to_bits().into()],
            _ => [0, 64, u64::from(-16_i32 as u32)],
        };
        for constant in constants {
            let before = fill(&mut random, &shape, Fill::Ordinary);
            let modifiers = Modifiers { constant: Some(constant), ..plain() };
            check(info.op, info.arch, &shape, &modifiers, &before, "constant C");
        }
    }
}

#[test]
fn mode_matters_for_f32_inputs_only() {
    let mut random = Random(7);
    for info in MFMA.iter().filter(|info| !is_f8f6f4(info.op)) {
        let shape = Shape::parse(info.op.name(), info.arch, (0, 0));
        for mode in [0, 0x3c0, 0x3e0, 0x3ff] {
            let before = fill(&mut random, &shape, Fill::Denormal);
            check(info.op, info.arch, &shape, &Modifiers { mode, ..plain() }, &before, "mode");
        }
    }
}

#[test]
fn inputs_are_read_before_results_are_written() {
    let mut random = Random(8);
    for info in MFMA {
        let shape = Shape::parse(info.op.name(), info.arch, (0, 0));
        let before = fill(&mut random, &shape, Fill::Ordinary);
        let modifiers = plain();
        let inst = encode(info.op, info.arch, &modifiers);
        let results = usize::from(info.cd_vgprs);
        for level in SimdLevel::available() {
            let lowered = lower(info.arch, &inst, level).expect("a matrix instruction");
            for (d, c) in [(A, C), (B - results.min(3), C), (C + 1, C), (C - 1, C), (A, A)] {
                // Sparse products accumulate in D, so C is what is there.
                let c = if shape.sparse { d } else { c };
                let expected = reference(&shape, &modifiers, &before, c);
                let mut moved = before.clone();
                moved.0[d..d + results].copy_from_slice(&expected.0[D..D + results]);
                let mut registers = before.clone();
                let place = Placement { a: A, b: B, c, d };
                execute(lowered, &shape, &modifiers, place, &mut registers);
                compare(&registers, &moved, &format!("{} {level:?} D at v{d}", info.op));
            }
        }
    }
}

#[test]
fn other_instructions_are_not_lowered() {
    // s_nop 0; v_accvgpr_write_b32 a0, v0.
    for words in [&[0xbf80_0000][..], &[0xd3d9_4000, 0x1800_0100]] {
        let inst = decode(Arch::Gfx950, words).expect("valid instruction");
        assert!(lower(Arch::Gfx950, &inst, SimdLevel::Portable).is_none(), "{}", inst.info.op);
    }
}
