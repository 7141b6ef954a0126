//! Lane kernels: one operation over the 64 lanes of a wave.
//!
//! A kernel is written once, as a closure over the values of one lane. [`map`] turns it into a
//! loop over all lanes whose results go to a local buffer; since that cannot alias the sources,
//! the compiler makes the loop vector code, once per [`SimdLevel`]. The buffer is then copied or,
//! under a partial EXEC, blended into the destination, which may overlap the sources in any way.

use std::mem::MaybeUninit;

use super::half::Half;
#[cfg(target_arch = "x86_64")]
pub(super) use super::level::{Avx2, Avx512};
pub(super) use super::level::{Level, Portable};
#[cfg(target_arch = "x86_64")]
use super::near::{Hasty, Near};
use crate::exec::simd::SimdLevel;
use crate::exec::{Lanes, WAVE};
use crate::isa::Op;

/// Runs a kernel and returns its lane mask (0 if it has none, otherwise inactive lanes included).
///
/// The arguments are the first row of the destination and of three sources, the lanes to write,
/// MODE with the immediate in its upper half, and the first row of a fourth source. They are not in
/// a structure because all but the last travel in registers.
///
/// # Safety
/// The rows of every source that the kernel has are readable, the rows of its destination
/// writable, and the host has the vector level that the kernel was compiled for.
pub(super) type LaneFn =
    unsafe fn(*mut Lanes, *const Lanes, *const Lanes, *const Lanes, u64, u64, *const Lanes) -> u64;

/// Arguments of a [`LaneFn`].
#[derive(Clone, Copy)]
pub(super) struct LaneArgs {
    /// First row of each source.
    pub(super) src: [*const Lanes; 4],
    /// First row of the destination.
    pub(super) dst: *mut Lanes,
    /// Lanes to write.
    pub(super) exec: u64,
    /// MODE register.
    pub(super) mode: u32,
    /// Immediate modifiers of the instruction, see [`Context`].
    pub(super) imm: u32,
}

impl LaneArgs {
    /// Calls a kernel.
    ///
    /// # Safety
    /// As for [`LaneFn`].
    #[inline(always)]
    pub(super) unsafe fn call(self, kernel: LaneFn) -> u64 {
        let [a, b, c, d] = self.src;
        let settings = u64::from(self.mode) | u64::from(self.imm) << 32;
        // SAFETY: the caller's promise.
        unsafe { kernel(self.dst, a, b, c, self.exec, settings, d) }
    }
}

/// MODE.FP16_OVFL: floats of 16 bits and fewer saturate instead of overflowing.
pub(super) const MODE_FP16_OVFL: u32 = 1 << 23;

/// What a kernel may know beside its operands.
#[derive(Clone, Copy)]
pub(super) struct Context {
    /// MODE register.
    pub(super) mode: u32,
    imm: u32,
    /// Number of the lane.
    pub(super) lane: u32,
}

/// Chip flag in the immediate of a kernel: OCP 8-bit floats instead of FNUZ.
pub(super) const IMM_OCP: u32 = 1 << 8;

impl Context {
    /// `op_sel` bits of instructions that select parts of the destination or of a packed source
    /// in their own way.
    #[inline(always)]
    pub(super) fn op_sel(self) -> u32 {
        self.imm & 15
    }

    /// Truth table of `v_bitop3`.
    #[inline(always)]
    pub(super) fn truth_table(self) -> u32 {
        self.imm & 0xff
    }

    /// Whether the 8-bit floats are those of OCP.
    #[inline(always)]
    pub(super) fn ocp(self) -> bool {
        self.imm & IMM_OCP != 0
    }

    /// MODE.IEEE: minimum and maximum return signalling NaNs, quieted.
    #[inline(always)]
    pub(super) fn ieee(self) -> bool {
        self.mode & (1 << 9) != 0
    }

    /// Whether conversions to small floats saturate instead of overflowing.
    #[inline(always)]
    pub(super) fn saturate_overflow(self) -> bool {
        self.mode & MODE_FP16_OVFL != 0
    }
}

/// Value of one lane of an operand.
pub(super) trait Elem: Copy {
    /// Rows that the operand occupies.
    const ROWS: usize;
    /// Whether the operand is a lane mask.
    const IS_MASK: bool = false;

    /// # Safety
    /// `ROWS` rows are readable and `lane < 64`.
    unsafe fn load(rows: *const Lanes, lane: usize) -> Self;

    /// # Safety
    /// `ROWS` rows are writable and `lane < 64`.
    unsafe fn store(self, rows: *mut Lanes, lane: usize);
}

/// Word `lane` of row `row`.
///
/// # Safety
/// The row is readable and `lane < 64`.
#[inline(always)]
unsafe fn word(rows: *const Lanes, row: usize, lane: usize) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { *rows.add(row).cast::<u32>().add(lane) }
}

/// Sets word `lane` of row `row`.
///
/// # Safety
/// The row is writable and `lane < 64`.
#[inline(always)]
unsafe fn set_word(rows: *mut Lanes, row: usize, lane: usize, value: u32) {
    // SAFETY: the caller's promise.
    unsafe { *rows.add(row).cast::<u32>().add(lane) = value }
}

/// Elements that are a function of one word.
macro_rules! word_elem {
    ($(
        $type:ty: |$word:ident| $from:expr, |$value:ident| $to:expr $(, mask = $mask:literal)?;
    )*) => {$(
        impl Elem for $type {
            const ROWS: usize = 1;
            $(const IS_MASK: bool = $mask;)?

            #[inline(always)]
            unsafe fn load(rows: *const Lanes, lane: usize) -> Self {
                // SAFETY: the caller's promise.
                let $word = unsafe { word(rows, 0, lane) };
                $from
            }

            #[inline(always)]
            unsafe fn store(self, rows: *mut Lanes, lane: usize) {
                let $value = self;
                // SAFETY: the caller's promise.
                unsafe { set_word(rows, 0, lane, $to) }
            }
        }
    )*};
}

/// Lane bit of a mask operand, which the handlers expand to a row of zeros and ones.
#[derive(Clone, Copy)]
pub(super) struct Bit(pub(super) bool);

/// `bf16` bits.
#[derive(Clone, Copy)]
pub(super) struct Brain(pub(super) u16);

impl Brain {
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

word_elem! {
    u32: |w| w, |v| v;
    i32: |w| w as i32, |v| v as u32;
    f32: |w| f32::from_bits(w), |v| v.to_bits();
    // A 16-bit operand is the low half of a register; as a result it clears the upper half.
    u16: |w| w as u16, |v| u32::from(v);
    i16: |w| w as i16, |v| u32::from(v as u16);
    Half: |w| Half(w as u16), |v| u32::from(v.0);
    Brain: |w| Brain(w as u16), |v| u32::from(v.0);
    Bit: |w| Bit(w != 0), |v| u32::from(v.0), mask = true;
    [u16; 2]: |w| [w as u16, (w >> 16) as u16], |v| u32::from(v[0]) | u32::from(v[1]) << 16;
    [i16; 2]: |w| [w as i16, (w >> 16) as i16],
        |v| u32::from(v[0] as u16) | u32::from(v[1] as u16) << 16;
    [Half; 2]: |w| [Half(w as u16), Half((w >> 16) as u16)],
        |v| u32::from(v[0].0) | u32::from(v[1].0) << 16;
    [Brain; 2]: |w| [Brain(w as u16), Brain((w >> 16) as u16)],
        |v| u32::from(v[0].0) | u32::from(v[1].0) << 16;
}

macro_rules! double_word_elem {
    ($($type:ty: |$word:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Elem for $type {
            const ROWS: usize = 2;

            #[inline(always)]
            unsafe fn load(rows: *const Lanes, lane: usize) -> Self {
                // SAFETY: the caller's promise.
                let (low, high) = unsafe { (word(rows, 0, lane), word(rows, 1, lane)) };
                let $word = u64::from(low) | u64::from(high) << 32;
                $from
            }

            #[inline(always)]
            unsafe fn store(self, rows: *mut Lanes, lane: usize) {
                let $value = self;
                let value: u64 = $to;
                // SAFETY: the caller's promise.
                unsafe {
                    set_word(rows, 0, lane, value as u32);
                    set_word(rows, 1, lane, (value >> 32) as u32);
                }
            }
        }
    )*};
}

double_word_elem! {
    u64: |w| w, |v| v;
    i64: |w| w as i64, |v| v as u64;
    f64: |w| f64::from_bits(w), |v| v.to_bits();
}

/// A tuple of registers.
#[derive(Clone, Copy)]
pub(super) struct Wide<T, const N: usize>(pub(super) [T; N]);

macro_rules! wide_elem {
    ($($type:ty: |$word:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl<const N: usize> Elem for Wide<$type, N> {
            const ROWS: usize = N;

            #[inline(always)]
            unsafe fn load(rows: *const Lanes, lane: usize) -> Self {
                Self(std::array::from_fn(|row| {
                    // SAFETY: the caller's promise.
                    let $word = unsafe { word(rows, row, lane) };
                    $from
                }))
            }

            #[inline(always)]
            unsafe fn store(self, rows: *mut Lanes, lane: usize) {
                for (row, $value) in self.0.into_iter().enumerate() {
                    // SAFETY: the caller's promise.
                    unsafe { set_word(rows, row, lane, $to) }
                }
            }
        }
    )*};
}

wide_elem! {
    u32: |w| w, |v| v;
    f32: |w| f32::from_bits(w), |v| v.to_bits();
}

/// Result of one lane: a value, a lane bit, or both.
pub(super) trait Output: Copy {
    /// Rows of the value.
    const ROWS: usize;
    /// Whether there is a lane bit.
    const MASK: bool;
    /// `[Lanes; ROWS]`.
    type Rows: Copy;

    /// # Safety
    /// `rows` is writable for `ROWS` rows, `bits` for 64 bytes; `lane < 64`.
    unsafe fn put(self, rows: *mut Lanes, bits: *mut u8, lane: usize);
}

macro_rules! outputs {
    ($($type:ty, $rows:literal;)*) => {$(
        impl Output for $type {
            const ROWS: usize = $rows;
            const MASK: bool = false;
            type Rows = [Lanes; $rows];

            #[inline(always)]
            unsafe fn put(self, rows: *mut Lanes, _bits: *mut u8, lane: usize) {
                const { assert!(<Self as Elem>::ROWS == $rows) };
                // SAFETY: the caller's promise.
                unsafe { self.store(rows, lane) }
            }
        }
    )*};
}

outputs! {
    u32, 1; i32, 1; f32, 1; u16, 1; i16, 1; Half, 1; Brain, 1;
    [u16; 2], 1; [i16; 2], 1; [Half; 2], 1; [Brain; 2], 1;
    u64, 2; i64, 2; f64, 2;
    Wide<f32, 2>, 2; Wide<u32, 2>, 2; Wide<u32, 4>, 4; Wide<u32, 6>, 6; Wide<u32, 16>, 16; Wide<f32, 32>, 32;
}

impl Output for bool {
    const ROWS: usize = 0;
    const MASK: bool = true;
    type Rows = [Lanes; 0];

    #[inline(always)]
    unsafe fn put(self, _rows: *mut Lanes, bits: *mut u8, lane: usize) {
        // SAFETY: the caller's promise.
        unsafe { *bits.add(lane) = u8::from(self) }
    }
}

impl<E: Elem + Output> Output for (E, bool) {
    const ROWS: usize = <E as Output>::ROWS;
    const MASK: bool = true;
    type Rows = E::Rows;

    #[inline(always)]
    unsafe fn put(self, rows: *mut Lanes, bits: *mut u8, lane: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            self.0.store(rows, lane);
            self.1.put(rows, bits, lane);
        }
    }
}

/// Operands of one lane, as a tuple.
pub(super) trait Operands: Sized {
    /// Rows of each source.
    const ROWS: &'static [usize];
    /// Number of sources that are not lane masks; masks come last.
    const VALUES: usize;

    /// # Safety
    /// The rows of each source are readable and `lane < 64`.
    unsafe fn load(src: &[*const Lanes; 4], lane: usize) -> Self;
}

macro_rules! operands {
    ($($($type:ident $at:literal),+;)*) => {$(
        impl<$($type: Elem),+> Operands for ($($type,)+) {
            const ROWS: &'static [usize] = &[$($type::ROWS),+];
            const VALUES: usize = 0 $(+ !$type::IS_MASK as usize)+;

            #[inline(always)]
            unsafe fn load(src: &[*const Lanes; 4], lane: usize) -> Self {
                // SAFETY: the caller's promise.
                unsafe { ($($type::load(src[$at], lane),)+) }
            }
        }
    )*};
}

operands! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
}

/// Floating-point results whose NaNs follow a rule instead of the host's habits: the first operand
/// that is a NaN, quieted, or else the default NaN.
pub(super) trait NanRule: Elem {
    /// Non-zero if the value is (or holds) a NaN.
    fn nan_bits(self) -> u32;
    /// Applies the rule to a result.
    fn resolve(self, operands: impl Iterator<Item = Self> + Clone) -> Self;
}

macro_rules! nan_rules {
    ($($type:ty: $is_nan:expr, $quiet:expr, $default:expr;)*) => {$(
        impl NanRule for $type {
            #[inline(always)]
            fn nan_bits(self) -> u32 {
                u32::from($is_nan(self))
            }

            fn resolve(self, operands: impl Iterator<Item = Self> + Clone) -> Self {
                if self.nan_bits() == 0 {
                    return self;
                }
                operands.into_iter().find(|x| x.nan_bits() != 0).map_or($default, $quiet)
            }
        }
    )*};
}

nan_rules! {
    f32: f32::is_nan, quiet32, f32::from_bits(0x7fc0_0000);
    f64: f64::is_nan, quiet64, f64::from_bits(0x7ff8 << 48);
    Half: Half::is_nan, Half::quiet, Half(0x7e00);
}

impl NanRule for Wide<f32, 2> {
    #[inline(always)]
    fn nan_bits(self) -> u32 {
        self.0[0].nan_bits() | self.0[1].nan_bits()
    }

    fn resolve(self, operands: impl Iterator<Item = Self> + Clone) -> Self {
        Self(std::array::from_fn(|row| self.0[row].resolve(operands.clone().map(|x| x.0[row]))))
    }
}

impl NanRule for [Half; 2] {
    #[inline(always)]
    fn nan_bits(self) -> u32 {
        self[0].nan_bits() | self[1].nan_bits()
    }

    fn resolve(self, operands: impl Iterator<Item = Self> + Clone) -> Self {
        std::array::from_fn(|half| self[half].resolve(operands.clone().map(|pair| pair[half])))
    }
}

/// Sets the quiet bit.
#[inline(always)]
pub(super) fn quiet32(x: f32) -> f32 {
    f32::from_bits(x.to_bits() | 1 << 22)
}

/// Sets the quiet bit.
#[inline(always)]
pub(super) fn quiet64(x: f64) -> f64 {
    f64::from_bits(x.to_bits() | 1 << 51)
}

/// Copies rows, in the lanes of `exec` only.
///
/// # Safety
/// `from` is readable and `to` writable for `rows` rows; they do not overlap. The host has the
/// level.
#[inline(always)]
pub(super) unsafe fn write_rows<L: Level>(
    from: *const Lanes,
    to: *mut Lanes,
    rows: usize,
    exec: u64,
) {
    if exec == u64::MAX {
        // SAFETY: the caller's promise.
        return unsafe { to.copy_from_nonoverlapping(from, rows) };
    }
    for row in 0..rows {
        // SAFETY: the caller's promise.
        unsafe { L::blend(&*from.add(row), &mut *to.add(row), exec) }
    }
}

/// Applies `f` to all lanes.
///
/// # Safety
/// As for [`LaneFn`].
#[inline(always)]
pub(super) unsafe fn map<L: Level, I: Operands, D: Output>(
    args: &LaneArgs,
    f: impl Fn(Context, I) -> D,
) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { map_checked::<L, I, D>(args, f, |_| 0, |_| ()) }
}

/// Applies `f` to all lanes and then the [`NanRule`] to its results; all operands have their type.
///
/// # Safety
/// As for [`LaneFn`].
#[inline(always)]
pub(super) unsafe fn map_arith<L: Level, I: Operands, D: Output + NanRule>(
    args: &LaneArgs,
    f: impl Fn(Context, I) -> D,
) -> u64 {
    let check = |result: D| result.nan_bits();
    // SAFETY: the caller's promise; `map_checked` passes the rows of a `D`.
    unsafe {
        map_checked::<L, I, D>(args, f, check, |rows| resolve_nans::<D>(rows, args.src, I::VALUES))
    }
}

/// # Safety
/// `rows` and the first `count` sources are the rows of a `D`.
#[cold]
#[inline(never)]
unsafe fn resolve_nans<D: NanRule>(rows: *mut Lanes, src: [*const Lanes; 4], count: usize) {
    for lane in 0..WAVE {
        // SAFETY: the caller's promise.
        unsafe {
            let result = D::load(rows, lane);
            let operands = src[..count].iter().map(|src| D::load(*src, lane));
            result.resolve(operands).store(rows, lane);
        }
    }
}

/// Buffer that is aligned for vector access.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Results<T: Copy>(MaybeUninit<T>);

impl<T: Copy> Results<T> {
    const UNINIT: Self = Self(MaybeUninit::uninit());
}

/// The loop of all kernels. `repair` gets the results if `check` was not zero for one of them.
///
/// # Safety
/// As for [`LaneFn`].
#[inline(always)]
unsafe fn map_checked<L: Level, I: Operands, D: Output>(
    args: &LaneArgs,
    f: impl Fn(Context, I) -> D,
    check: impl Fn(D) -> u32,
    repair: impl FnOnce(*mut Lanes),
) -> u64 {
    let mut results = Results::<D::Rows>::UNINIT;
    let mut bits = Results::<[u8; WAVE]>::UNINIT;
    let rows = results.0.as_mut_ptr().cast::<Lanes>();
    let (src, mode, imm) = (args.src, args.mode, args.imm);
    let mut seen = 0;
    for lane in 0..WAVE {
        // SAFETY: the sources are the caller's, `D::Rows` has the rows of `D`, and `lane < 64`.
        unsafe {
            let operands = I::load(&src, lane);
            let result = f(Context { mode, imm, lane: lane as u32 }, operands);
            seen |= check(result);
            result.put(rows, bits.0.as_mut_ptr().cast(), lane);
        }
    }
    if seen != 0 {
        // The address of a copy, so that the results themselves can stay in vector registers.
        let mut repaired = results;
        repair(repaired.0.as_mut_ptr().cast());
        results = repaired;
    }
    let rows = results.0.as_ptr().cast::<Lanes>();
    if D::ROWS != 0 {
        // SAFETY: the loop has set all results; the destination is the caller's.
        unsafe { write_rows::<L>(rows, args.dst, D::ROWS, args.exec) };
    }
    // SAFETY: the loop has set all bits, if there are any; the level is the caller's promise.
    if D::MASK { unsafe { L::movemask(bits.0.assume_init_ref()) } } else { 0 }
}

/// A kernel that can be compiled for any level.
pub(super) trait Kernel {
    /// # Safety
    /// As for [`LaneFn`].
    unsafe fn run<L: Level>(args: &LaneArgs) -> u64;
}

macro_rules! entries {
    ($($(#[$attribute:meta])* $name:ident: $level:ty;)*) => {$(
        /// Entry of a kernel at one level.
        ///
        /// # Safety
        /// As for [`LaneFn`].
        $(#[$attribute])*
        pub(super) unsafe fn $name<K: Kernel>(
            dst: *mut Lanes,
            a: *const Lanes,
            b: *const Lanes,
            c: *const Lanes,
            exec: u64,
            settings: u64,
            d: *const Lanes,
        ) -> u64 {
            let (mode, imm) = (settings as u32, (settings >> 32) as u32);
            // SAFETY: the caller's promise.
            unsafe { K::run::<$level>(&LaneArgs { src: [a, b, c, d], dst, exec, mode, imm }) }
        }
    )*};
}

entries! {
    portable: Portable;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    avx2: Avx2;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
    avx512: Avx512;
}

/// How the MODE register acts on an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Not at all.
    Bits,
    /// Denormal operands and results are flushed if MODE says so; results are rounded as it says.
    Float,
}

/// One operation.
pub(super) struct Core {
    /// Operation.
    pub(super) op: Op,
    /// The kernel at each level, ascending.
    levels: [LaneFn; 3],
    /// Kernel for the clamp bit of operations on integers.
    pub(super) clamp: Option<LaneFn>,
    /// Kernel for rounding modes other than to nearest even.
    pub(super) round: Option<LaneFn>,
    /// Kernel for [`MODE_ROUGH`].
    pub(super) rough: Option<LaneFn>,
    /// Influence of MODE.
    pub(super) class: Class,
    /// Rows of each source.
    pub(super) sources: &'static [usize],
    /// Rows of the destination.
    pub(super) rows: usize,
    /// Whether the kernel has a lane mask as (second) result.
    pub(super) mask: bool,
    /// Whether the last source is a lane mask.
    pub(super) reads_mask: bool,
}

impl Core {
    /// Operation with kernel `K` on operands `I` with result `D`.
    pub(super) const fn new<K: Kernel, I: Operands, D: Output>(op: Op, class: Class) -> Self {
        #[cfg(target_arch = "x86_64")]
        let levels = [portable::<K> as LaneFn, avx2::<K>, avx512::<K>];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [portable::<K> as LaneFn; 3];
        Self::with_levels::<I, D>(op, class, levels)
    }

    /// Operation whose kernel gains nothing from vector instructions.
    pub(super) const fn scalar<K: Kernel, I: Operands, D: Output>(op: Op, class: Class) -> Self {
        let levels = [portable::<K> as LaneFn; 3];
        Self::with_levels::<I, D>(op, class, levels)
    }

    const fn with_levels<I: Operands, D: Output>(
        op: Op,
        class: Class,
        levels: [LaneFn; 3],
    ) -> Self {
        Self {
            op,
            levels,
            clamp: None,
            round: None,
            rough: None,
            class,
            sources: I::ROWS,
            rows: D::ROWS,
            mask: D::MASK,
            reads_mask: I::VALUES < I::ROWS.len(),
        }
    }

    /// Adds the kernel for the clamp bit.
    pub(super) const fn with_clamp(mut self, kernel: LaneFn) -> Self {
        self.clamp = Some(kernel);
        self
    }

    /// Adds the kernel for directed rounding.
    pub(super) const fn with_round(mut self, kernel: LaneFn) -> Self {
        self.round = Some(kernel);
        self
    }

    /// Adds the kernel for rough results.
    pub(super) const fn with_rough(mut self, kernel: LaneFn) -> Self {
        self.rough = Some(kernel);
        self
    }

    /// Takes the fast form `N` of the kernel `K` on hosts with AVX-512.
    #[cfg(target_arch = "x86_64")]
    pub(super) const fn with_near<K: Kernel, N: Near>(mut self) -> Self {
        self.levels[SimdLevel::Avx512 as usize] = avx512::<Hasty<N, K>>;
        self
    }

    /// Kernel of a level.
    pub(super) fn kernel(&self, level: SimdLevel) -> LaneFn {
        self.levels[level as usize]
    }
}

/// Table of operations. A row is
///
/// `CLASS OP(CONTEXT, OPERAND: TYPE, ..) -> TYPE = EXPRESSION, clamp = .., round = ..;`
///
/// with the classes
/// - `bits`: MODE does not matter,
/// - `float`: it does, and the expression deals with NaNs itself,
/// - `arith`: it does, and NaNs follow [`NanRule`],
/// - `scalar` and `scalar_float`: as `bits` and `float`, but compiled for one level only.
///
/// `clamp` is the expression for the clamp bit of integer operations, `round` that for rounding
/// modes other than the default, `near` the fast form of a function for hosts with AVX-512.
macro_rules! cores {
    ($(
        $class:ident $op:ident $operands:tt -> $out:ty = $body:expr
        $(, clamp = $clamp:expr)?
        $(, round = |$cx:ident| $round:expr)?
        $(, rough = $rough:expr)?
        $(, near = $near:ident)?
        ;
    )*) => {
        &[$({
            use $crate::exec::valu::lane::{Class, Core, Kernel, LaneArgs, Level, cores};
            use $crate::isa::Op;
            struct Main;
            impl Kernel for Main {
                #[inline(always)]
                unsafe fn run<L: Level>(args: &LaneArgs) -> u64 {
                    cores!(@map $class, L, $operands, $out, args, $body)
                }
            }
            let core = cores!(@core $class, $op, $operands, $out);
            $(
                #[cfg(target_arch = "x86_64")]
                let core = core.with_near::<Main, $crate::exec::valu::near::$near>();
            )?
            core
            $(.with_clamp({
                struct Clamp;
                impl Kernel for Clamp {
                    #[inline(always)]
                    unsafe fn run<L: Level>(args: &LaneArgs) -> u64 {
                        cores!(@map bits, L, $operands, $out, args, $clamp)
                    }
                }
                $crate::exec::valu::lane::portable::<Clamp>
            }))?
            $(.with_round({
                struct Round;
                impl Kernel for Round {
                    #[inline(always)]
                    unsafe fn run<L: Level>(args: &LaneArgs) -> u64 {
                        cores!(@round $class, L, $cx, $operands, $out, args, $round)
                    }
                }
                $crate::exec::valu::lane::portable::<Round>
            }))?
            $(.with_rough({
                struct Rough;
                impl Kernel for Rough {
                    #[inline(always)]
                    unsafe fn run<L: Level>(args: &LaneArgs) -> u64 {
                        cores!(@map $class, L, $operands, $out, args, $rough)
                    }
                }
                $crate::exec::valu::lane::portable::<Rough>
            }))?
        }),*]
    };
    (@round $class:ident, $level:ident, $cx:ident,
     ($_:tt $(, $arg:ident: $type:ty)+), $out:ty, $args:ident, $body:expr) => {
        cores!(@map $class, $level, ($cx $(, $arg: $type)+), $out, $args, $body)
    };
    (@map arith, $level:ident, ($cx:pat_param $(, $arg:ident: $type:ty)+), $out:ty,
     $args:ident, $body:expr) => {
        // SAFETY: the promise of the caller of `Kernel::run`.
        unsafe {
            $crate::exec::valu::lane::map_arith::<$level, ($($type,)+), $out>(
                $args,
                |$cx, ($($arg,)+)| $body,
            )
        }
    };
    (@map $class:ident, $level:ident, ($cx:pat_param $(, $arg:ident: $type:ty)+), $out:ty,
     $args:ident, $body:expr) => {
        // SAFETY: the promise of the caller of `Kernel::run`.
        unsafe {
            $crate::exec::valu::lane::map::<$level, ($($type,)+), $out>(
                $args,
                |$cx, ($($arg,)+)| $body,
            )
        }
    };
    (@core scalar, $op:ident, ($_:tt $(, $arg:ident: $type:ty)+), $out:ty) => {
        Core::scalar::<Main, ($($type,)+), $out>(Op::$op, Class::Bits)
    };
    (@core scalar_float, $op:ident, ($_:tt $(, $arg:ident: $type:ty)+), $out:ty) => {
        Core::scalar::<Main, ($($type,)+), $out>(Op::$op, Class::Float)
    };
    (@core $class:ident, $op:ident, ($_:tt $(, $arg:ident: $type:ty)+), $out:ty) => {
        Core::new::<Main, ($($type,)+), $out>(Op::$op, cores!(@class $class))
    };
    (@class bits) => { Class::Bits };
    (@class $class:ident) => { Class::Float };
}
pub(super) use cores;
