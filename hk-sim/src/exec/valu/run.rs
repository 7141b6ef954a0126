//! Handlers.

use std::mem::MaybeUninit;

use super::finish::Finish;
#[cfg(target_arch = "x86_64")]
use super::lane::{Avx2, Avx512};
use super::lane::{LaneArgs, LaneFn, Level, MODE_FP16_OVFL, Portable, write_rows};
use super::operand::{Permutation, Prepare, Rows, Shape, Source};
use crate::exec::simd::SimdLevel;
use crate::exec::{Detail, EXEC, Flow, Handler, Lanes, MicroOp, Wave};
use crate::isa::{Elem, Op};

/// Rows of the largest result.
const RESULT_ROWS: usize = 32;

/// What the handlers of lane kernels need to know about an instruction.
#[derive(Debug)]
pub struct LaneDetail {
    pub(super) kernel: LaneFn,
    /// Handler of the general way: not part of the other handlers, whose frames it would enlarge.
    pub(super) general_way: Handler,
    /// Bits of MODE that must be `mode_value` for the direct way.
    pub(super) mode_mask: u32,
    pub(super) mode_value: u32,
    /// [`LaneArgs::imm`].
    pub(super) imm: u32,
    /// Rows of the destination.
    pub(super) rows: u8,
    /// What to do with the lane mask.
    pub(super) mask: Mask,
    pub(super) sources: [Source; 4],
    pub(super) general: General,
}

impl LaneDetail {
    /// Whether MODE allows the direct way.
    #[inline(always)]
    fn is_direct(&self, wave: &Wave<'_>) -> bool {
        wave.mode & self.mode_mask == self.mode_value
    }
}

/// Destination of a lane mask; the scalar register is [`MicroOp::dst1`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    /// There is one.
    pub(super) write: bool,
    /// It is complemented.
    pub(super) negate: bool,
    /// It goes to EXEC too.
    pub(super) exec: bool,
}

impl Mask {
    pub(super) const NONE: Self = Self { write: false, negate: false, exec: false };

    /// Writes a mask, whose bits of inactive lanes are cleared.
    #[inline(always)]
    fn store(self, wave: &mut Wave<'_>, op: &MicroOp, mask: u64, exec: u64) {
        let mask = if self.negate { !mask } else { mask } & exec;
        wave.set_sgpr64(usize::from(op.dst1), mask);
        if self.exec {
            wave.set_sgpr64(EXEC, mask);
        }
    }
}

/// What only the general way needs.
#[derive(Debug)]
pub(super) struct General {
    pub(super) prepare: [Prepare; 4],
    pub(super) permutation: Option<Box<Permutation>>,
    /// Kernel for the rounding modes other than the default, or for rough results, and the bits of MODE
    /// that ask for it.
    pub(super) round: Option<(LaneFn, u32)>,
    pub(super) finish: Finish,
    /// For operations on pairs of dwords.
    pub(super) pair: Option<Pair>,
}

/// Source and row of the operands of each half of an operation on pairs of dwords.
#[derive(Debug)]
pub(super) struct Pair {
    /// In the registers.
    pub(super) direct: [[(u8, u8); 3]; 2],
    /// In the prepared operands, where each half has its own row.
    pub(super) prepared: [[(u8, u8); 3]; 2],
}

/// A handler that is compiled for each vector level.
trait Run {
    /// # Safety
    /// The host has the level, and `op` was lowered with this handler.
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow;
}

/// # Safety
/// As for [`Run::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn run_avx2<R: Run>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { R::run::<Avx2>(wave, op) }
}

/// # Safety
/// As for [`Run::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn run_avx512<R: Run>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
    // SAFETY: the caller's promise.
    unsafe { R::run::<Avx512>(wave, op) }
}

/// The handler for a level.
fn at_level<R: Run>(level: SimdLevel) -> Handler {
    match level {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => |wave, op| {
            // SAFETY: a program takes no level above the host's, and lowering pairs an instruction
            // with its handler.
            unsafe { run_avx512::<R>(wave, op) }
        },
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => |wave, op| {
            // SAFETY: as above.
            unsafe { run_avx2::<R>(wave, op) }
        },
        _ => |wave, op| {
            // SAFETY: as above.
            unsafe { R::run::<Portable>(wave, op) }
        },
    }
}

/// Handler of the general way.
pub(super) fn general_way(level: SimdLevel) -> Handler {
    at_level::<GeneralWay>(level)
}

/// The fastest handler for an instruction.
pub(super) fn handler(op: Op, detail: &LaneDetail, level: SimdLevel) -> Handler {
    let general = &detail.general;
    let as_is = general.prepare.iter().all(Prepare::is_none) && general.finish.is_none();
    if general.pair.is_some() {
        let negated = general.prepare.iter().any(|prepare| prepare.invert != [0; 2]);
        if negated || !general.finish.is_none() {
            return detail.general_way;
        }
        return at_level::<Paired>(level);
    }
    let count = detail.sources.iter().filter(|s| !matches!(s, Source::None)).count();
    if !as_is {
        let signs = general.prepare.iter().all(Prepare::is_signs) && general.finish.is_none();
        return match count {
            1 if signs => at_level::<Signed<1>>(level),
            2 if signs => at_level::<Signed<2>>(level),
            3 if signs => at_level::<Signed<3>>(level),
            _ => detail.general_way,
        };
    }
    if op == Op::v_cndmask_b32 {
        return at_level::<Choose>(level);
    }
    let simple = detail.sources[..count].iter().all(Source::is_simple);
    let registers = detail.sources.iter().filter(|s| matches!(s, Source::Vector(_))).count();
    match (count, registers == count, detail.mask.write) {
        (1, true, false) => at_level::<Registers<1, false>>(level),
        (2, true, false) => at_level::<Registers<2, false>>(level),
        (3, true, false) => at_level::<Registers<3, false>>(level),
        (2, true, true) => at_level::<Registers<2, true>>(level),
        (1, ..) if simple => at_level::<Direct<1, true>>(level),
        (2, ..) if simple => at_level::<Direct<2, true>>(level),
        (3, ..) if simple => at_level::<Direct<3, true>>(level),
        (1, ..) => at_level::<Direct<1, false>>(level),
        (2, ..) => at_level::<Direct<2, false>>(level),
        (3, ..) => at_level::<Direct<3, false>>(level),
        _ => at_level::<Direct<4, false>>(level),
    }
}

/// Detail of an instruction of this family.
#[inline(always)]
fn detail(op: &MicroOp) -> &LaneDetail {
    match &op.detail {
        Detail::Lane(detail) => detail,
        // SAFETY: lowering gives these handlers to instructions with this detail alone.
        _ => unsafe { std::hint::unreachable_unchecked() },
    }
}

/// All operands are vector registers; there is a lane mask if `MASK`.
struct Registers<const N: usize, const MASK: bool>;

impl<const N: usize, const MASK: bool> Run for Registers<N, MASK> {
    #[inline(always)]
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let detail = detail(op);
        if !detail.is_direct(wave) {
            return (detail.general_way)(wave, op);
        }
        let rows = wave.rows();
        let (exec, mode, imm) = (wave.exec(), wave.mode, detail.imm);
        // SAFETY: lowering has checked that all rows are inside the vector file.
        let mask = unsafe {
            let mut src = [rows.cast_const(); 4];
            for (src, row) in src.iter_mut().zip(op.src).take(N) {
                *src = rows.add(usize::from(row));
            }
            let dst = rows.add(usize::from(op.dst));
            LaneArgs { src, dst, exec, mode, imm }.call(detail.kernel)
        };
        if MASK {
            detail.mask.store(wave, op, mask, exec);
        }
        Flow::Next
    }
}

/// `v_cndmask_b32`: no kernel, since the lane mask need not become a row.
struct Choose;

impl Run for Choose {
    #[inline(always)]
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let detail = detail(op);
        let mut buffers = [const { MaybeUninit::<Rows>::uninit() }; 2];
        // SAFETY: the level is the caller's promise.
        let [clear, set, ..] = unsafe { gather::<L, 2>(wave, detail, &mut buffers) };
        let [_, _, Source::Mask(mask), _] = detail.sources else {
            return (detail.general_way)(wave, op);
        };
        let (mask, exec) = (wave.scalar64(mask, 0, false), wave.exec());
        // SAFETY: both operands are readable, and lowering has checked the destination.
        unsafe {
            let mut chosen = *clear;
            L::blend(&*set, &mut chosen, mask);
            write_rows::<L>(&chosen, wave.rows().add(usize::from(op.dst)), 1, exec);
        }
        Flow::Next
    }
}

/// `N` operands that need no preparation; all [are simple](Source::is_simple) if `SIMPLE`.
struct Direct<const N: usize, const SIMPLE: bool>;

impl<const N: usize, const SIMPLE: bool> Run for Direct<N, SIMPLE> {
    #[inline(always)]
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let detail = detail(op);
        if !detail.is_direct(wave) {
            return (detail.general_way)(wave, op);
        }
        let mut buffers = [const { MaybeUninit::<Rows>::uninit() }; N];
        // SAFETY: the level is the caller's promise, and lowering has looked at the operands.
        let src = unsafe {
            if SIMPLE {
                gather_simple::<L, N>(wave, detail, &mut buffers)
            } else {
                gather::<L, N>(wave, detail, &mut buffers)
            }
        };
        let (exec, mode, imm) = (wave.exec(), wave.mode, detail.imm);
        // SAFETY: lowering has checked that all rows are inside the vector file.
        let mask = unsafe {
            let dst = wave.rows().add(usize::from(op.dst));
            LaneArgs { src, dst, exec, mode, imm }.call(detail.kernel)
        };
        if detail.mask.write {
            detail.mask.store(wave, op, mask, exec);
        }
        Flow::Next
    }
}

/// `N` operands of which only signs change.
struct Signed<const N: usize>;

impl<const N: usize> Run for Signed<N> {
    #[inline(always)]
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let detail = detail(op);
        if !detail.is_direct(wave) {
            return (detail.general_way)(wave, op);
        }
        let mut buffers = [const { MaybeUninit::<Rows>::uninit() }; N];
        let mut signed = [const { MaybeUninit::<Rows>::uninit() }; N];
        // SAFETY: the level is the caller's promise.
        let mut src = unsafe { gather::<L, N>(wave, detail, &mut buffers) };
        let prepare = &detail.general.prepare;
        for ((src, prepare), buffer) in src.iter_mut().zip(prepare).zip(&mut signed) {
            if (prepare.clear, prepare.invert) != ([0; 2], [0; 2]) {
                let buffer = buffer.as_mut_ptr().cast();
                // SAFETY: the operand is readable and the buffer has two rows.
                unsafe { prepare.apply_signs(*src, buffer) };
                *src = buffer;
            }
        }
        let (exec, mode, imm) = (wave.exec(), wave.mode, detail.imm);
        // SAFETY: lowering has checked that all rows are inside the vector file.
        let mask = unsafe {
            let dst = wave.rows().add(usize::from(op.dst));
            LaneArgs { src, dst, exec, mode, imm }.call(detail.kernel)
        };
        if detail.mask.write {
            detail.mask.store(wave, op, mask, exec);
        }
        Flow::Next
    }
}

/// [`gather`] of operands that [are simple](Source::is_simple).
///
/// # Safety
/// The host has the level, and the operands are simple.
#[inline(always)]
unsafe fn gather_simple<L: Level, const N: usize>(
    wave: &mut Wave<'_>,
    detail: &LaneDetail,
    buffers: &mut [MaybeUninit<Rows>; N],
) -> [*const Lanes; 4] {
    // A closure would not be compiled for the level, nor what it calls be inlined.
    let mut src = [wave.rows().cast_const(); 4];
    for ((src, source), buffer) in src.iter_mut().zip(&detail.sources).zip(buffers) {
        // SAFETY: the caller's promise.
        *src = unsafe { source.simple_rows::<L>(wave, buffer) };
    }
    src
}

/// Pointers to the rows of the first `N` operands; scalars are repeated in the buffers.
///
/// # Safety
/// The host has the level.
#[inline(always)]
unsafe fn gather<L: Level, const N: usize>(
    wave: &mut Wave<'_>,
    detail: &LaneDetail,
    buffers: &mut [MaybeUninit<Rows>; N],
) -> [*const Lanes; 4] {
    let mut src = [wave.rows().cast_const(); 4];
    for ((src, source), buffer) in src.iter_mut().zip(&detail.sources).zip(buffers) {
        // SAFETY: the caller's promise.
        *src = unsafe { source.rows::<L>(wave, buffer) };
    }
    src
}

/// A pair of dwords per operand, which the kernel treats one by one.
struct Paired;

impl Run for Paired {
    #[inline(always)]
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let detail = detail(op);
        if !detail.is_direct(wave) {
            return (detail.general_way)(wave, op);
        }
        let mut buffers = [const { MaybeUninit::<Rows>::uninit() }; 4];
        // SAFETY: the level is the caller's promise.
        let src = unsafe { gather::<L, 4>(wave, detail, &mut buffers) };
        let mut results = MaybeUninit::<[Lanes; 2]>::uninit();
        let results = results.as_mut_ptr().cast::<Lanes>();
        let exec = wave.exec();
        // SAFETY: lowering has checked that all rows are inside the vector file; `results` has the
        // two rows that `run_halves` writes.
        unsafe {
            if let Some(pair) = &detail.general.pair {
                run_halves(detail, detail.kernel, &pair.direct, src, results, wave.mode);
            }
            let dst = wave.rows().add(usize::from(op.dst));
            write_rows::<L>(results, dst, 2, exec);
        }
        Flow::Next
    }
}

/// Runs a kernel on both halves of the operands.
///
/// # Safety
/// The rows of the operands are readable, two rows of `results` writable.
#[inline(always)]
unsafe fn run_halves(
    detail: &LaneDetail,
    kernel: LaneFn,
    pair: &[[(u8, u8); 3]; 2],
    src: [*const Lanes; 4],
    results: *mut Lanes,
    mode: u32,
) {
    for (half, operands) in pair.iter().enumerate() {
        let mut args = LaneArgs { src, dst: results, exec: u64::MAX, mode, imm: detail.imm };
        // SAFETY: the caller's promise.
        unsafe {
            for (to, (source, row)) in args.src.iter_mut().zip(operands) {
                *to = src[usize::from(source & 3)].add(usize::from(*row));
            }
            args.dst = results.add(half);
            args.call(kernel);
        }
    }
}

/// Everything else.
struct GeneralWay;

impl Run for GeneralWay {
    #[inline(always)]
    unsafe fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        // SAFETY: the caller's promise.
        unsafe { general::<L>(wave, op, detail(op)) }
    }
}

/// Prepares operands, computes, finishes and writes.
///
/// # Safety
/// As for [`Run::run`].
#[inline(always)]
unsafe fn general<L: Level>(wave: &mut Wave<'_>, op: &MicroOp, detail: &LaneDetail) -> Flow {
    let general = &detail.general;
    let permutation = general.permutation.as_deref();
    let (exec, mode) = (wave.exec(), wave.mode);
    let mut buffers = [const { MaybeUninit::<Rows>::uninit() }; 4];
    // SAFETY: the level is the caller's promise.
    let mut src = unsafe { gather::<L, 4>(wave, detail, &mut buffers) };
    let mut prepared = [const { MaybeUninit::<Rows>::uninit() }; 4];
    for (at, prepare) in general.prepare.iter().enumerate() {
        if matches!(detail.sources[at], Source::None) || (prepare.is_none() && !prepare.flush) {
            continue;
        }
        // SAFETY: a `Rows` is integers; `apply` writes the rows that the kernel reads. The rows
        // of the operand are readable.
        unsafe {
            let buffer = &mut *prepared[at].as_mut_ptr();
            prepare.apply::<L>(src[at], permutation, exec, mode, buffer);
        }
        src[at] = prepared[at].as_ptr().cast();
    }
    let kernel = match general.round {
        Some((kernel, mask)) if mode & mask != 0 => kernel,
        _ => detail.kernel,
    };
    let rows = usize::from(detail.rows);
    let mut results = MaybeUninit::<[Lanes; RESULT_ROWS]>::uninit();
    let results = results.as_mut_ptr().cast::<Lanes>();
    // SAFETY: the operands are readable, the results hold the largest result, and after the kernel
    // has run `rows` of them are set. Lowering has checked the destination.
    let mask = unsafe {
        let mask = if let Some(pair) = &general.pair {
            run_halves(detail, kernel, &pair.prepared, src, results, mode);
            0
        } else {
            LaneArgs { src, dst: results, exec: u64::MAX, mode, imm: detail.imm }.call(kernel)
        };
        let dst = wave.rows().add(usize::from(op.dst));
        let finished = std::slice::from_raw_parts_mut(results, rows);
        let Finish { elem, flush, .. } = general.finish;
        if mode & MODE_FP16_OVFL != 0 && flush && elem == Elem::F16 {
            saturate_halves(&mut finished[0], detail, &src);
        }
        general.finish.apply(finished, &*dst, mode);
        let written = permutation.map_or(exec, |permutation| permutation.written(exec));
        write_rows::<L>(results, dst, rows, written);
        mask
    };
    if detail.mask.write {
        detail.mask.store(wave, op, mask, exec);
    }
    Flow::Next
}

/// Puts the largest number in the place of infinities that no operand explains.
///
/// # Safety
/// The first row of every source is readable.
#[inline(never)]
unsafe fn saturate_halves(row: &mut Lanes, detail: &LaneDetail, src: &[*const Lanes; 4]) {
    const INFINITY: u32 = 0x7c00;
    let general = &detail.general;
    let halves = general.finish.count;
    for (lane, word) in row.iter_mut().enumerate() {
        for (half, shift) in [0, 16].into_iter().enumerate().take(halves.into()) {
            if *word >> shift & 0x7fff != INFINITY {
                continue;
            }
            let is_infinite = |at: usize| {
                if matches!(detail.sources[at], Source::None) {
                    return false;
                }
                // SAFETY: the caller's promise.
                let source = unsafe { (*src[at])[lane] };
                let prepare = &general.prepare[at];
                match prepare.elem {
                    _ if matches!(prepare.shape, Shape::Widened(_)) => is_infinite_f32(source),
                    // Two words are converted to a half each.
                    Elem::F32 => (halves == 1 || at == half) && is_infinite_f32(source),
                    Elem::F16 => source >> shift & 0x7fff == INFINITY,
                    _ => false,
                }
            };
            if !(0..src.len()).any(is_infinite) {
                *word -= 1 << shift;
            }
        }
    }
}

fn is_infinite_f32(bits: u32) -> bool {
    f32::from_bits(bits).is_infinite()
}
