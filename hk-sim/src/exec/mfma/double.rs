//! Double-precision products.

use super::kernel::{Kernel, Rows, addend};
use super::vector::Vector;
use super::{Lanes, MfmaArgs, MfmaConfig};

/// What every NaN of a result becomes.
const QUIET_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Inner dimension of both shapes.
const K: usize = 4;

/// The columns of both shapes, counted through the blocks.
const COLUMNS: usize = 16;

/// Words between the low and the high register of a pair.
const HIGH: usize = size_of::<Lanes>() / size_of::<u32>();

/// `16 x 16 x 4` (`ROWS` 16), or `4 x 4 x 4` with four blocks side by side (`ROWS` 4).
///
/// Rows `4q..4q + 4` of the result lie in register pair `q`, 16 lanes each.
pub(super) struct Double<const ROWS: usize>;

impl<const ROWS: usize> Kernel for Double<ROWS> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        let sign = |operand: u8| u32::from(config.negate >> operand & 1) << 31;
        let mut nans = V::NO_NANS;
        // SAFETY: the caller's promises; both operands were decoded to low and high words of four
        // rows, C and D have `ROWS / 2` registers.
        unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode);
            let b = b_rows.fill(&config.b, args.b, args.mode);
            let (a, b) = (rows::<V>(a, sign(0)), rows::<V>(b, sign(1)));
            let start = V::splat_double(f64::from_bits(args.c_const ^ u64::from(sign(2)) << 32));
            let (c, d) = (addend(args, ROWS / 2).registers, args.d.cast::<u32>());
            for i in 0..ROWS {
                for first in (0..COLUMNS).step_by(V::LANES) {
                    let at = i / 4 * 2 * HIGH + i % 4 * COLUMNS + first;
                    let mut sums =
                        if c.is_null() { [start; 2] } else { load(c.add(at), HIGH, sign(2)) };
                    for (a, b) in a.iter().zip(&b) {
                        for (part, sum) in sums.iter_mut().enumerate() {
                            let column = first + part * V::LANES / 2;
                            let factor = if ROWS == COLUMNS {
                                V::splat_double(a[i])
                            } else {
                                // Every column takes the element of its block.
                                let of_column: [f64; COLUMNS] =
                                    std::array::from_fn(|j| a[j / 4 * 4 + i]);
                                V::load(of_column.as_ptr().add(column).cast())
                            };
                            let b = V::load(b.as_ptr().add(column).cast());
                            *sum = factor.mul_add_double(b, *sum);
                        }
                    }
                    for sum in sums {
                        nans = sum.note_double_nans(nans);
                    }
                    let [low, high] = V::split(sums);
                    low.store(d.add(at));
                    high.store(d.add(at + HIGH));
                }
            }
            if V::any(nans) {
                canonicalize::<ROWS>(d);
            }
        }
    }
}

/// Rows of `f64` from rows of words, negated if `sign` is the sign bit.
///
/// # Safety
///
/// `words` must be valid for [`K`] rows of low and high words, and the host must have the
/// instructions of `V`.
#[inline(always)]
unsafe fn rows<V: Vector>(words: *const u32, sign: u32) -> [[f64; COLUMNS]; K] {
    let mut rows = [[0.0; COLUMNS]; K];
    for (k, row) in rows.iter_mut().enumerate() {
        for first in (0..COLUMNS).step_by(V::LANES) {
            // SAFETY: the caller's promise; the parts have `V::LANES / 2` columns each.
            unsafe {
                let parts = load::<V>(words.add(k * 2 * COLUMNS + first), COLUMNS, sign);
                let to = row.as_mut_ptr().add(first).cast::<u32>();
                parts[0].store(to);
                parts[1].store(to.add(V::LANES));
            }
        }
    }
    rows
}

/// `f64` from `V::LANES` low words and the high words `high` further on, with `sign` flipped.
///
/// # Safety
///
/// Both must be valid for reads, and the host must have the instructions of `V`.
#[inline(always)]
unsafe fn load<V: Vector>(words: *const u32, high: usize, sign: u32) -> [V; 2] {
    // SAFETY: the caller's promise. Adding the sign bit flips it.
    unsafe { V::load(words).join(V::load(words.add(high)).add(V::splat(sign))) }
}

/// Replaces every NaN of D by the canonical one.
///
/// # Safety
///
/// `d` must be valid for `ROWS / 2` registers.
#[cold]
unsafe fn canonicalize<const ROWS: usize>(d: *mut u32) {
    for pair in 0..ROWS / 4 {
        for lane in 0..HIGH {
            // SAFETY: the caller's promise.
            unsafe {
                let (low, high) =
                    (d.add(pair * 2 * HIGH + lane), d.add((pair * 2 + 1) * HIGH + lane));
                if f64::from_bits(u64::from(low.read()) | u64::from(high.read()) << 32).is_nan() {
                    low.write(QUIET_NAN as u32);
                    high.write((QUIET_NAN >> 32) as u32);
                }
            }
        }
    }
}
