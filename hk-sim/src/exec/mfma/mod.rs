//! Matrix instructions: MFMA and SMFMAC.
//!
//! `D[b][i][j] = C[b][i][j] + sum_k A[b][i][k] B[b][k][j]`, by the whole wave whatever EXEC says.
//! Inner indices are taken in order, each by one fused multiply-add in `f32`, rounding to nearest
//! even and keeping denormals; integers are exact modulo 2^32; NaN results are canonical. A sum of
//! `f32` and `f64` products starts from C. Products of narrower elements are summed first, and C is
//! added to their sum: vendors document neither the order nor the intermediate precision, but
//! probing found that CDNA3 adds 4 (xf32), 8 (16-bit) or 16 (8-bit) products and C with one rounding
//! (Xie et al., Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units, arXiv 2511.10909), so
//! that errors do not grow with every single product as those of one chain onto C would.

mod double;
mod kernel;
mod operand;
mod vector;

use double::Double;
use kernel::{Dense, Exponents, Float, FourByFour, Integer, Kernel, Narrow, Scaled, Sparse};
use operand::{DecodeFn, Element, Layout, decoder};
use vector::Vector;

use super::Lanes;
use super::simd::SimdLevel;
use crate::isa::{Arch, Blgp, Format, Inst, MatType, MfmaInfo};

/// Registers and constants of one execution of a matrix instruction.
///
/// A register tuple is contiguous: register `n + 1` follows register `n` in memory.
#[derive(Clone, Copy, Debug)]
pub struct MfmaArgs {
    /// First register of A.
    pub a: *const Lanes,
    /// First register of B.
    pub b: *const Lanes,
    /// First register of C, or the index register of SMFMAC. If null, C is `c_const` everywhere.
    pub c: *const Lanes,
    /// Bits of the constant C: the low 32, or for `f64` all 64.
    pub c_const: u64,
    /// First register of D.
    pub d: *mut Lanes,
    /// Scale register of A; if null, the inline constant of the instruction.
    pub scale_a: *const Lanes,
    /// Scale register of B; if null, the inline constant of the instruction.
    pub scale_b: *const Lanes,
    /// MODE register.
    pub mode: u32,
}

/// Executes one matrix instruction.
///
/// # Safety
///
/// The configuration must be the one that [`lower`] returned with the function, on a host that has
/// the level it was lowered for. Each pointer must be valid for the registers of its operand (A, B
/// and C for reads, D for reads and writes; C null or valid, of SMFMAC valid). They may overlap in
/// any way: every input is read before D is written.
pub type MfmaFn = unsafe fn(&MfmaConfig, &MfmaArgs);

/// Everything about a matrix instruction that does not change between executions.
#[derive(Clone, Copy, Debug)]
pub struct MfmaConfig {
    a: Operand,
    b: Operand,
    /// First bit of the indices in the index register of SMFMAC.
    index_shift: u8,
    /// Negation of A, B and C (bits 0, 1, 2) of `f64` products.
    negate: u8,
    scale_a: Scale,
    scale_b: Scale,
}

/// How A or B is read.
#[derive(Clone, Copy, Debug)]
struct Operand {
    decode: DecodeFn,
    layout: Layout,
    permutation: Permutation,
}

/// Which lane a lane of A or B is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permutation {
    Identity,
    /// A: block `abid` of every `2^cbsz` neighbouring blocks, for blocks of `dim` lanes (as AMD's
    /// matrix instruction calculator has it).
    Broadcast {
        dim: u8,
        cbsz: u8,
        abid: u8,
    },
    /// B: the BLGP patterns.
    Pattern(u8),
}

impl Permutation {
    #[inline(always)]
    fn is_identity(self) -> bool {
        self == Self::Identity
    }

    fn source(self, lane: usize) -> usize {
        match self {
            Self::Identity => lane,
            Self::Broadcast { dim, cbsz, abid } => {
                let dim = usize::from(dim);
                let group = (1 << cbsz) - 1;
                let block = ((lane / dim) & !group) + (usize::from(abid) & group);
                block * dim + lane % dim
            }
            Self::Pattern(1) => lane % 32,
            Self::Pattern(2) => lane % 32 + 32,
            Self::Pattern(3) => (lane + 16) % 64,
            Self::Pattern(4) => lane % 16,
            Self::Pattern(5) => lane % 16 + 16,
            Self::Pattern(6) => lane % 16 + 32,
            Self::Pattern(7) => lane % 16 + 48,
            Self::Pattern(_) => lane,
        }
    }

    /// A permuted copy of `registers` registers (at most 8) in the first elements.
    ///
    /// # Safety
    ///
    /// `from` must be valid for reads of that many registers.
    #[cold]
    unsafe fn apply(self, registers: usize, from: *const Lanes) -> [Lanes; 8] {
        let mut permuted = [[0; 64]; 8];
        // SAFETY: the caller's promise.
        let from = unsafe { std::slice::from_raw_parts(from, registers) };
        for lane in 0..64 {
            let source = self.source(lane);
            for (to, from) in permuted.iter_mut().zip(from) {
                to[lane] = from[source];
            }
        }
        permuted
    }
}

/// E8M0 scales of A or B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scale {
    /// Byte of the scale register.
    byte: u8,
    /// Scale where the operand is a constant.
    constant: u8,
}

impl Scale {
    /// The scale that makes results NaN.
    const NAN: u32 = 255;

    /// The scale of each lane.
    ///
    /// # Safety
    ///
    /// `register` must be null or valid for reads, and the host must have the instructions of `V`.
    #[inline(always)]
    unsafe fn exponents<V: Vector>(self, register: *const Lanes) -> Exponents {
        let mut exponents = Exponents([self.constant.into(); 64]);
        if !register.is_null() {
            for lane in (0..64).step_by(V::LANES) {
                // SAFETY: the caller's promise; `lane + V::LANES` is at most 64.
                unsafe {
                    let word = V::load(register.cast::<u32>().add(lane));
                    let exponent = word.shift_right(8 * u32::from(self.byte)).and(V::splat(0xff));
                    exponent.store(exponents.0.as_mut_ptr().add(lane));
                }
            }
        }
        exponents
    }
}

/// The function and the configuration that execute `inst`; `None` if it is not a matrix
/// instruction of `arch`.
///
/// `level` must not be above what the host supports.
pub fn lower(arch: Arch, inst: &Inst, level: SimdLevel) -> Option<(MfmaFn, MfmaConfig)> {
    let info = MfmaInfo::get(inst.info.op, arch)?;
    let a = element(info.a, arch, inst.cbsz)?;
    let b = element(info.b, arch, inst.blgp)?;
    let width = usize::from(info.m) * usize::from(info.blocks);
    let k = usize::from(info.k);
    let operand = |element: Element, k: usize, permutation| {
        // The long 8-bit rows of f8f6f4 interleave the lane groups in chunks of 16.
        let run = (info.a == MatType::F8F6F4 && element.bits() == 8).then_some(16);
        let paired = element == Element::I8 && !info.sparse;
        let layout = Layout::new(k, element, width, run, paired);
        Operand { decode: decoder(element, paired, level), layout, permutation }
    };
    let of_a = match inst.cbsz.min(info.blocks.ilog2() as u8) {
        cbsz if info.broadcast && cbsz != 0 => {
            Permutation::Broadcast { dim: info.m as u8, cbsz, abid: inst.abid }
        }
        _ => Permutation::Identity,
    };
    let of_b = match inst.blgp {
        pattern if info.blgp == Blgp::Permute && pattern != 0 => Permutation::Pattern(pattern),
        _ => Permutation::Identity,
    };
    let a = operand(a, if info.sparse { k / 2 } else { k }, of_a);
    let config = MfmaConfig {
        index_shift: if info.sparse && inst.cbsz == 0 {
            index_shift(a.layout, inst.abid)
        } else {
            0
        },
        negate: if info.blgp == Blgp::Negate { inst.blgp } else { 0 },
        scale_a: Scale::new(inst, 0),
        scale_b: Scale::new(inst, 1),
        b: operand(b, k, of_b),
        a,
    };
    Some((function(info, inst, level)?, config))
}

/// Element type of an operand; `format` is its format field, if the instruction has one.
fn element(matrix: MatType, arch: Arch, format: u8) -> Option<Element> {
    Some(match (matrix, arch) {
        (MatType::F64, _) => Element::F64,
        (MatType::F32, _) => Element::F32,
        (MatType::Xf32, _) => Element::Xf32,
        (MatType::F16, _) => Element::F16,
        (MatType::Bf16, _) => Element::Bf16,
        (MatType::I8, _) => Element::I8,
        (MatType::Fp8, Arch::Gfx942) => Element::E4m3Fnuz,
        (MatType::Fp8, Arch::Gfx950) => Element::E4m3,
        (MatType::Bf8, Arch::Gfx942) => Element::E5m2Fnuz,
        (MatType::Bf8, Arch::Gfx950) => Element::E5m2,
        (MatType::F8F6F4, _) => match format {
            0 => Element::E4m3,
            1 => Element::E5m2,
            2 => Element::E2m3,
            3 => Element::E3m2,
            4 => Element::E2m1,
            _ => return None,
        },
        (MatType::I32, _) => return None,
    })
}

/// First index bit that ABID selects in the index register of SMFMAC: each kept element takes two
/// bits, and the register holds as many sets as fit.
fn index_shift(a: Layout, abid: u8) -> u8 {
    let bits = 2 * a.words;
    abid % (32 / bits) * bits
}

impl Scale {
    /// Scale of source 0 or 1 of a scaled instruction.
    fn new(inst: &Inst, source: usize) -> Self {
        let selector = inst.op_sel >> source & 1 | (inst.op_sel_hi >> source & 1) << 1;
        // Constants scale by their exponent field; only float constants have one.
        let constant = match inst.src[3 + source].code {
            240 | 241 => 126,
            242 | 243 => 127,
            244 | 245 => 128,
            246 | 247 => 129,
            248 => 124,
            _ => 0,
        };
        Self { byte: selector, constant }
    }
}

fn function(info: &MfmaInfo, inst: &Inst, level: SimdLevel) -> Option<MfmaFn> {
    let scaled = inst.info.format == Format::Vop3px2;
    let wide = info.a == MatType::F32;
    Some(match (info.cd, info.sparse, info.m, info.blocks) {
        (MatType::F32, false, 32, 1) if scaled => at_level::<Scaled<32>>(level),
        (MatType::F32, false, 16, 1) if scaled => at_level::<Scaled<16>>(level),
        (MatType::F32, false, 32, 1) if wide => at_level::<Dense<Float, 32, 1>>(level),
        (MatType::F32, false, 32, 1) => at_level::<Dense<Narrow, 32, 1>>(level),
        (MatType::F32, false, 32, 2) if wide => at_level::<Dense<Float, 32, 2>>(level),
        (MatType::F32, false, 32, 2) => at_level::<Dense<Narrow, 32, 2>>(level),
        (MatType::F32, false, 16, 1) if wide => at_level::<Dense<Float, 16, 1>>(level),
        (MatType::F32, false, 16, 1) => at_level::<Dense<Narrow, 16, 1>>(level),
        (MatType::F32, false, 16, 4) if wide => at_level::<Dense<Float, 16, 4>>(level),
        (MatType::F32, false, 16, 4) => at_level::<Dense<Narrow, 16, 4>>(level),
        (MatType::F32, false, 4, 16) if wide => at_level::<FourByFour<Float>>(level),
        (MatType::F32, false, 4, 16) => at_level::<FourByFour<Narrow>>(level),
        (MatType::F32, true, 32, 1) => at_level::<Sparse<Narrow, 32>>(level),
        (MatType::F32, true, 16, 1) => at_level::<Sparse<Narrow, 16>>(level),
        (MatType::I32, false, 32, 1) => at_level::<Dense<Integer, 32, 1>>(level),
        (MatType::I32, false, 32, 2) => at_level::<Dense<Integer, 32, 2>>(level),
        (MatType::I32, false, 16, 1) => at_level::<Dense<Integer, 16, 1>>(level),
        (MatType::I32, false, 16, 4) => at_level::<Dense<Integer, 16, 4>>(level),
        (MatType::I32, false, 4, 16) => at_level::<FourByFour<Integer>>(level),
        (MatType::I32, true, 32, 1) => at_level::<Sparse<Integer, 32>>(level),
        (MatType::I32, true, 16, 1) => at_level::<Sparse<Integer, 16>>(level),
        (MatType::F64, false, 16, 1) => at_level::<Double<16>>(level),
        (MatType::F64, false, 4, 4) => at_level::<Double<4>>(level),
        _ => return None,
    })
}

/// The kernel compiled for a level.
fn at_level<K: Kernel>(level: SimdLevel) -> MfmaFn {
    match level {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => avx512::<K>,
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => avx2::<K>,
        _ => K::run::<vector::Portable>,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<K: Kernel>(config: &MfmaConfig, args: &MfmaArgs) {
    // SAFETY: the contract is that of `MfmaFn`, which includes the level.
    unsafe { K::run::<vector::Avx512>(config, args) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2<K: Kernel>(config: &MfmaConfig, args: &MfmaArgs) {
    // SAFETY: the contract is that of `MfmaFn`, which includes the level.
    unsafe { K::run::<vector::Avx2>(config, args) }
}
