//! The matrix products themselves, over operands decoded to rows.
//!
//! A and B arrive as rows of words: row `k` holds `A[.., k]` and `B[k, ..]`. C and D stay in their
//! registers, where four consecutive matrix rows lie in four consecutive registers and the columns
//! of one row in consecutive lanes.

use std::mem::MaybeUninit;

use super::operand::ROW_WORDS;
use super::vector::Vector;
use super::{Lanes, MfmaArgs, MfmaConfig, Operand, Scale};

/// What every NaN of a result becomes, so that hosts which propagate NaNs differently agree.
const QUIET_NAN: u32 = 0x7fc0_0000;

/// A matrix instruction, written once for all vector levels.
pub(super) trait Kernel {
    /// # Safety
    ///
    /// The contract of [`MfmaFn`](super::MfmaFn), and the host must have the instructions of `V`.
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs);
}

/// How one word of A and one of B are accumulated.
pub(super) trait Product {
    /// Whether results can be NaN.
    const FLOAT: bool;
    /// Whether the products are summed among themselves, and C is added to their sum.
    const C_LAST: bool = false;

    /// # Safety
    ///
    /// The host must have the instructions of `V`.
    unsafe fn step<V: Vector>(a: V, b: V, sum: V) -> V;
}

/// Fused `f32` multiply-add, onto C.
pub(super) struct Float;

impl Product for Float {
    const FLOAT: bool = true;

    #[inline(always)]
    unsafe fn step<V: Vector>(a: V, b: V, sum: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.mul_add(b, sum) }
    }
}

/// Fused `f32` multiply-add of elements of less than 32 bits, whose products are exact.
pub(super) struct Narrow;

impl Product for Narrow {
    const FLOAT: bool = true;
    const C_LAST: bool = true;

    #[inline(always)]
    unsafe fn step<V: Vector>(a: V, b: V, sum: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.mul_add(b, sum) }
    }
}

/// Two `i16` products modulo 2^32.
pub(super) struct Integer;

impl Product for Integer {
    const FLOAT: bool = false;

    #[inline(always)]
    unsafe fn step<V: Vector>(a: V, b: V, sum: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { a.dot_i16(b, sum) }
    }
}

/// Decoded operand.
#[repr(C, align(64))]
pub(super) struct Rows(MaybeUninit<[u32; ROW_WORDS]>);

impl Rows {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Fills the rows from registers and returns them.
    ///
    /// # Safety
    ///
    /// `from` must be valid for reads of the operand's registers.
    #[inline(always)]
    pub(super) unsafe fn fill(
        &mut self,
        operand: &Operand,
        from: *const Lanes,
        mode: u32,
    ) -> *const u32 {
        let to = self.0.as_mut_ptr().cast::<u32>();
        if operand.permutation.is_identity() {
            // SAFETY: the caller's promise; `to` has room for every operand.
            unsafe { (operand.decode)(operand.layout, from, to, mode) };
        } else {
            // SAFETY: as above; a permuted copy has as many registers.
            unsafe {
                let permuted = operand.permutation.apply(operand.layout.registers.into(), from);
                (operand.decode)(operand.layout, permuted.as_ptr(), to, mode);
            }
        }
        to
    }
}

/// First word of a block row of four matrix rows (`quad`) within the registers of its block.
#[inline(always)]
const fn quad_word<const DIM: usize>(quad: usize) -> usize {
    match DIM {
        32 => quad / 2 * 256 + quad % 2 * 32,
        _ => quad * 16,
    }
}

/// Where the accumulation starts: C in registers, or the same word everywhere.
#[derive(Clone, Copy)]
pub(super) struct Addend {
    pub(super) registers: *const u32,
    constant: u32,
}

impl Addend {
    /// C at a word of its registers.
    ///
    /// # Safety
    ///
    /// The registers, if there are any, must have a vector at `word`; the host must have the
    /// instructions of `V`.
    #[inline(always)]
    unsafe fn at<V: Vector>(self, word: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            match self.registers.is_null() {
                true => V::splat(self.constant),
                false => V::load(self.registers.add(word)),
            }
        }
    }

    /// Where the sum at a word starts.
    ///
    /// # Safety
    ///
    /// As for [`Addend::at`].
    #[inline(always)]
    unsafe fn start<V: Vector, P: Product>(self, word: usize) -> V {
        // The zero that keeps the sign of a sum of zeros.
        const NEGATIVE_ZERO: u32 = 1 << 31;
        // SAFETY: the caller's promise.
        unsafe { if P::C_LAST { V::splat(NEGATIVE_ZERO) } else { self.at(word) } }
    }

    /// D from the sum at a word.
    ///
    /// # Safety
    ///
    /// As for [`Addend::at`].
    #[inline(always)]
    unsafe fn finish<V: Vector, P: Product>(self, sum: V, word: usize) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let one = V::splat(1.0_f32.to_bits());
            if P::C_LAST { sum.mul_add(one, self.at(word)) } else { sum }
        }
    }
}

/// C of the instruction, moved onto D if the two overlap without being the same.
///
/// # Safety
///
/// `args.c`, if not null, and `args.d` must be valid for `registers` registers.
#[inline(always)]
pub(super) unsafe fn addend(args: &MfmaArgs, registers: usize) -> Addend {
    let mut c = args.c;
    let distance = c.addr().abs_diff(args.d.addr());
    if !c.is_null() && distance != 0 && distance < registers * size_of::<Lanes>() {
        // SAFETY: both are valid for that many registers; `copy` allows the overlap.
        unsafe { std::ptr::copy(c, args.d, registers) };
        c = args.d;
    }
    Addend { registers: c.cast(), constant: args.c_const as u32 }
}

/// Replaces every NaN of D by the canonical one.
///
/// # Safety
///
/// `d` must be valid for `words` words.
#[cold]
unsafe fn canonicalize(d: *mut u32, words: usize) {
    // SAFETY: the caller's promise.
    for word in unsafe { std::slice::from_raw_parts_mut(d, words) } {
        if f32::from_bits(*word).is_nan() {
            *word = QUIET_NAN;
        }
    }
}

/// One block: `D = C + A B` with `rows` steps, in register tiles of `4 Q` rows by `C` vectors.
///
/// `row_of_b(k, i)` is the word offset in `b` of the row that step `k` multiplies into matrix row
/// `i`; it is asked for once per step if `SHARED`, with `i` 0.
///
/// # Safety
///
/// The host must have the instructions of `V`; `a` must hold `rows` rows of at least `DIM` words
/// `stride` apart, `b` the rows that `row_of_b` names, `d` and C one block of registers.
#[inline(always)]
unsafe fn block<
    V: Vector,
    P: Product,
    const DIM: usize,
    const Q: usize,
    const C: usize,
    const SHARED: bool,
>(
    (a, b): (*const u32, *const u32),
    (rows, stride): (usize, usize),
    row_of_b: impl Fn(usize, usize) -> usize,
    addend: Addend,
    d: *mut u32,
) -> V::Nans {
    let mut nans = V::NO_NANS;
    for quad in (0..DIM / 4).step_by(Q) {
        for column in (0..DIM).step_by(C * V::LANES) {
            let word = |q: usize, r: usize, v: usize| {
                quad_word::<DIM>(quad + q) + r * 64 + column + v * V::LANES
            };
            // SAFETY: every offset stays within the block's registers or the decoded rows.
            unsafe {
                let mut sums = [[[V::splat(0); C]; 4]; Q];
                for (q, sums) in sums.iter_mut().enumerate() {
                    for (r, sums) in sums.iter_mut().enumerate() {
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = addend.start::<V, P>(word(q, r, v));
                        }
                    }
                }
                let mut a = a.add(4 * quad);
                for k in 0..rows {
                    let load = |i: usize| -> [V; C] {
                        let row = b.add(row_of_b(k, i) + column);
                        std::array::from_fn(|v| V::load(row.add(v * V::LANES)))
                    };
                    let shared = load(0);
                    for (q, sums) in sums.iter_mut().enumerate() {
                        for (r, sums) in sums.iter_mut().enumerate() {
                            let factor = V::splat_from(a.add(4 * q + r));
                            let b = if SHARED { shared } else { load(4 * (quad + q) + r) };
                            for (sum, b) in sums.iter_mut().zip(b) {
                                *sum = P::step(factor, b, *sum);
                            }
                        }
                    }
                    a = a.add(stride);
                }
                for (q, sums) in sums.iter_mut().enumerate() {
                    for (r, sums) in sums.iter_mut().enumerate() {
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = addend.finish::<V, P>(*sum, word(q, r, v));
                            sum.store(d.add(word(q, r, v)));
                        }
                    }
                    if P::FLOAT {
                        for (first, second) in sums[0].iter().zip(&sums[1]) {
                            nans = first.note_nans(*second, nans);
                        }
                        for (third, fourth) in sums[2].iter().zip(&sums[3]) {
                            nans = third.note_nans(*fourth, nans);
                        }
                    }
                }
            }
        }
    }
    nans
}

/// [`block`] with the tile size that suits the vector registers of `V`.
///
/// # Safety
///
/// As for [`block`].
#[inline(always)]
unsafe fn tiled_block<V: Vector, P: Product, const DIM: usize, const SHARED: bool>(
    operands: (*const u32, *const u32),
    shape: (usize, usize),
    row_of_b: impl Fn(usize, usize) -> usize,
    addend: Addend,
    d: *mut u32,
) -> V::Nans {
    // SAFETY: the caller's promise.
    unsafe {
        match (V::LANES, DIM) {
            // 16 of 32 registers: one vector is a whole row of a 16-column matrix.
            (16, 16) => block::<V, P, DIM, 4, 1, SHARED>(operands, shape, row_of_b, addend, d),
            (16, _) => block::<V, P, DIM, 2, 2, SHARED>(operands, shape, row_of_b, addend, d),
            // 8 of 16 registers.
            (8, _) => block::<V, P, DIM, 1, 2, SHARED>(operands, shape, row_of_b, addend, d),
            // 16 of the 32 registers of aarch64.
            _ => block::<V, P, DIM, 2, 2, SHARED>(operands, shape, row_of_b, addend, d),
        }
    }
}

/// `DIM x DIM` product of `BLOCKS` blocks (`DIM` 16 or 32).
pub(super) struct Dense<P, const DIM: usize, const BLOCKS: usize>(std::marker::PhantomData<P>);

impl<P: Product, const DIM: usize, const BLOCKS: usize> Kernel for Dense<P, DIM, BLOCKS> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let words = DIM * DIM;
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        // SAFETY: the caller's promises; blocks follow each other in the rows of A and B and in
        // the registers of C and D.
        unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode);
            let b = b_rows.fill(&config.b, args.b, args.mode);
            let addend = addend(args, words * BLOCKS / 64);
            let d = args.d.cast::<u32>();
            let stride = DIM * BLOCKS;
            for block in 0..BLOCKS {
                let operands = (a.add(block * DIM), b.add(block * DIM));
                let mut addend = addend;
                if !addend.registers.is_null() {
                    addend.registers = addend.registers.add(block * words);
                }
                let nans = tiled_block::<V, P, DIM, true>(
                    operands,
                    (config.a.layout.rows(), stride),
                    |k, _| k * stride,
                    addend,
                    d.add(block * words),
                );
                if P::FLOAT && V::any(nans) {
                    canonicalize(d.add(block * words), words);
                }
            }
        }
    }
}

/// `4 x 4` product of 16 blocks: register `i` holds row `i` of every block.
pub(super) struct FourByFour<P>(std::marker::PhantomData<P>);

impl<P: Product> FourByFour<P> {
    /// Row number `PATTERN & 3` of the result.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::run`], with decoded `a` and `b` of `rows` rows.
    #[inline(always)]
    unsafe fn row<V: Vector, const PATTERN: i32>(
        (a, b): (*const u32, *const u32),
        rows: usize,
        addend: Addend,
        d: *mut u32,
    ) {
        let first = (PATTERN & 3) as usize * 64;
        for column in (0..64).step_by(V::LANES) {
            // SAFETY: the caller's promise; rows and registers have 64 words.
            unsafe {
                let mut sum = addend.start::<V, P>(first + column);
                for k in 0..rows {
                    let factor = V::load(a.add(k * 64 + column)).quad::<PATTERN>();
                    sum = P::step(factor, V::load(b.add(k * 64 + column)), sum);
                }
                let sum = addend.finish::<V, P>(sum, first + column);
                sum.store(d.add(first + column));
                if P::FLOAT && V::any(sum.note_nans(sum, V::NO_NANS)) {
                    canonicalize(d.add(first + column), V::LANES);
                }
            }
        }
    }
}

impl<P: Product> Kernel for FourByFour<P> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        // SAFETY: the caller's promises.
        unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode);
            let b = b_rows.fill(&config.b, args.b, args.mode);
            let addend = addend(args, 4);
            let (rows, d) = (config.a.layout.rows(), args.d.cast::<u32>());
            Self::row::<V, 0x00>((a, b), rows, addend, d);
            Self::row::<V, 0x55>((a, b), rows, addend, d);
            Self::row::<V, 0xaa>((a, b), rows, addend, d);
            Self::row::<V, 0xff>((a, b), rows, addend, d);
        }
    }
}

/// Structured sparse product: A holds two of every four inner indices, D is also C.
pub(super) struct Sparse<P, const DIM: usize>(std::marker::PhantomData<P>);

impl<P: Product, const DIM: usize> Kernel for Sparse<P, DIM> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        let mut rows_of_b = [0_u32; ROW_WORDS / 2];
        let layout = config.a.layout;
        // SAFETY: the caller's promises; `args.c` is the index register, `args.d` is read as C.
        unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode);
            let b = b_rows.fill(&config.b, args.b, args.mode);
            let index = &*args.c;
            layout.for_each(|word, distance| {
                let shift = u32::from(config.index_shift) + 2 * word as u32;
                for (group, first) in layout.first.into_iter().enumerate() {
                    let position = usize::from(first) + distance;
                    // Kept elements 2q and 2q + 1 are among inner indices 4q..4q + 4.
                    let first = (position / DIM / 2 * 4 * DIM) as u32;
                    for lane in 0..16 {
                        let kept = index[16 * group + lane] >> shift & 3;
                        rows_of_b[position + lane] = first + kept * DIM as u32;
                    }
                }
            });
            let d = args.d.cast::<u32>();
            let nans = tiled_block::<V, P, DIM, false>(
                (a, b),
                (layout.rows(), DIM),
                |k, i| *rows_of_b.get_unchecked(k * DIM + i) as usize,
                Addend { registers: d, constant: 0 },
                d,
            );
            if P::FLOAT && V::any(nans) {
                canonicalize(d, DIM * DIM);
            }
        }
    }
}

/// Inner indices that share a scale.
const SCALE_BLOCK: usize = 32;

/// Product whose blocks of 32 inner indices are scaled per row of A and per column of B.
///
/// Each block is summed on its own, scaled (one rounding, in the denormal range only) and added.
pub(super) struct Scaled<const DIM: usize>;

impl<const DIM: usize> Kernel for Scaled<DIM> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let words = DIM * DIM;
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        let mut product = MaybeUninit::<[Lanes; 16]>::uninit();
        // SAFETY: the caller's promises; 16 registers hold the largest product.
        unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode);
            let b = b_rows.fill(&config.b, args.b, args.mode);
            let scale_a = config.scale_a.exponents::<V>(args.scale_a);
            let scale_b = config.scale_b.exponents::<V>(args.scale_b);
            let ordinary = scale_a.are_near_one::<V>() && scale_b.are_near_one::<V>();
            let (d, product) = (args.d.cast::<u32>(), product.as_mut_ptr().cast::<u32>());
            let addend = addend(args, words / 64);
            if addend.registers.is_null() {
                std::slice::from_raw_parts_mut(d, words).fill(addend.constant);
            } else if addend.registers != d {
                std::ptr::copy_nonoverlapping(addend.registers, d, words);
            }
            for block in 0..64 / DIM {
                let skipped = block * SCALE_BLOCK * DIM;
                tiled_block::<V, Float, DIM, true>(
                    (a.add(skipped), b.add(skipped)),
                    (SCALE_BLOCK, DIM),
                    |k, _| k * DIM,
                    Addend { registers: std::ptr::null(), constant: 0 },
                    product,
                );
                let first = block * DIM;
                if ordinary {
                    add_scaled::<V, DIM>(product, &scale_a, &scale_b, first, d);
                } else {
                    add_scaled_any::<DIM>(product, &scale_a, &scale_b, first, d);
                }
            }
            canonicalize_if_any(d, words);
        }
    }
}

/// Replaces the NaNs of D, with a quick test for none.
///
/// # Safety
///
/// `d` must be valid for `words` words.
#[inline(always)]
unsafe fn canonicalize_if_any(d: *mut u32, words: usize) {
    // SAFETY: the caller's promise.
    let any = unsafe { std::slice::from_raw_parts(d, words) }
        .iter()
        .fold(false, |any, word| any | f32::from_bits(*word).is_nan());
    if any {
        // SAFETY: the caller's promise.
        unsafe { canonicalize(d, words) };
    }
}

/// E8M0 scales of all lanes, one per word.
#[repr(C, align(64))]
pub(super) struct Exponents(pub(super) [u32; 64]);

impl Exponents {
    /// Whether all scales are so near 1 that the product of two is an exact `f32`, so that only the
    /// scaling itself rounds.
    ///
    /// # Safety
    ///
    /// The host must have the instructions of `V`.
    #[inline(always)]
    unsafe fn are_near_one<V: Vector>(&self) -> bool {
        // SAFETY: the caller's promise; `lane + V::LANES` is at most 64.
        unsafe {
            let mut far = V::splat(0);
            for lane in (0..64).step_by(V::LANES) {
                // 63..=190 leaves the low seven bits.
                let offset =
                    V::load(self.0.as_ptr().add(lane)).add(V::splat(63_u32.wrapping_neg()));
                far = far.or(offset.and(V::splat(!0x7f)));
            }
            !far.any_bit()
        }
    }
}

/// Adds `product` times the scales of its rows and columns, which are near one, to D.
///
/// Rows and columns take the scales from lane `first` on.
///
/// # Safety
///
/// `product` and `d` must be valid for `DIM * DIM` words in the register layout of D, `first + DIM`
/// at most 64, and the host must have the instructions of `V`.
#[inline(always)]
unsafe fn add_scaled<V: Vector, const DIM: usize>(
    product: *const u32,
    a: &Exponents,
    b: &Exponents,
    first: usize,
    d: *mut u32,
) {
    // SAFETY: the caller's promises; row `i` occupies `DIM` consecutive lanes of one register.
    unsafe {
        let one = V::splat(1.0_f32.to_bits());
        for column in (0..DIM).step_by(V::LANES) {
            let of_column = V::load(b.0.as_ptr().add(first + column)).shift_left(23);
            for i in 0..DIM {
                let of_row = V::splat(a.0[first + i] << 23);
                let at = quad_word::<DIM>(i / 4) + i % 4 * 64 + column;
                let scaled = V::load(product.add(at)).mul(of_row.mul(of_column));
                scaled.mul_add(one, V::load(d.add(at))).store(d.add(at));
            }
        }
    }
}

/// [`add_scaled`] for any scales.
///
/// # Safety
///
/// As for [`add_scaled`].
#[cold]
unsafe fn add_scaled_any<const DIM: usize>(
    product: *const u32,
    a: &Exponents,
    b: &Exponents,
    first: usize,
    d: *mut u32,
) {
    for i in 0..DIM {
        for j in 0..DIM {
            let at = quad_word::<DIM>(i / 4) + i % 4 * 64 + j;
            // SAFETY: the caller's promises.
            unsafe {
                let value = f32::from_bits(product.add(at).read());
                let value = scaled(value, a.0[first + i], b.0[first + j]);
                d.add(at).write((f32::from_bits(d.add(at).read()) + value).to_bits());
            }
        }
    }
}

/// `value * 2^(a - 127) * 2^(b - 127)`, rounded once; NaN if a scale is.
fn scaled(value: f32, a: u32, b: u32) -> f32 {
    if a == Scale::NAN || b == Scale::NAN {
        return f32::NAN;
    }
    // Exact in `f64`: the exponent is at least -254 and that of `value` at least -149.
    let factor = f64::from_bits(u64::from(a + b + 1023 - 254) << 52);
    (f64::from(value) * factor) as f32
}
