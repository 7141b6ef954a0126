//! Double-precision products.

use super::kernel::{Kernel, Rows};
use super::vector::Vector;
use super::{Lanes, MfmaArgs, MfmaConfig};

/// What every NaN of a result becomes.
const QUIET_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Inner dimension of both shapes.
const K: usize = 4;

/// The columns of both shapes, counted through the blocks.
const COLUMNS: usize = 16;

type Row = [f64; COLUMNS];

/// `16 x 16 x 4` (`ROWS` 16), or `4 x 4 x 4` with four blocks side by side (`ROWS` 4).
///
/// Rows `4q..4q + 4` of the result lie in register pair `q`, 16 lanes each.
pub(super) struct Double<const ROWS: usize>;

impl<const ROWS: usize> Kernel for Double<ROWS> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        let sign = |operand: u8| u64::from(config.negate >> operand & 1) << 63;
        // SAFETY: the caller's promises; both operands were decoded to low and high words of four
        // rows, C and D have `ROWS / 2` registers.
        unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode).cast::<[[u32; COLUMNS]; 2]>();
            let b = b_rows.fill(&config.b, args.b, args.mode).cast::<[[u32; COLUMNS]; 2]>();
            let rows = |of: *const [[u32; COLUMNS]; 2], sign: u64| -> [Row; K] {
                std::array::from_fn(|k| {
                    let [low, high] = &*of.add(k);
                    joined(low, high, sign)
                })
            };
            let (a, b) = (rows(a, sign(0)), rows(b, sign(1)));
            let mut sums: [Row; ROWS] = std::array::from_fn(|i| {
                if args.c.is_null() {
                    return [f64::from_bits(args.c_const ^ sign(2)); COLUMNS];
                }
                let (low, high) = places(args.c.cast_mut(), i);
                joined(&*low, &*high, sign(2))
            });
            for (i, sum) in sums.iter_mut().enumerate() {
                for first in (0..COLUMNS).step_by(V::LANES / 2) {
                    let at = sum.as_mut_ptr().add(first).cast::<u32>();
                    let mut value = V::load(at);
                    for (a, b) in a.iter().zip(&b) {
                        let factor = if ROWS == COLUMNS {
                            V::splat_double(a[i])
                        } else {
                            // Every column takes the element of its block.
                            let of_column: Row = std::array::from_fn(|j| a[j / 4 * 4 + i]);
                            V::load(of_column.as_ptr().add(first).cast())
                        };
                        value = factor.mul_add_double(V::load(b.as_ptr().add(first).cast()), value);
                    }
                    value.store(at);
                }
            }
            for (i, sum) in sums.iter().enumerate() {
                let bits = sum.map(|sum| if sum.is_nan() { QUIET_NAN } else { sum.to_bits() });
                let (low, high) = places(args.d, i);
                *low = bits.map(|bits| bits as u32);
                *high = bits.map(|bits| (bits >> 32) as u32);
            }
        }
    }
}

/// Low and high words of row `i` in the registers of C or D.
///
/// # Safety
///
/// The registers of that row must belong to one allocation.
#[inline(always)]
unsafe fn places(registers: *mut Lanes, i: usize) -> (*mut [u32; COLUMNS], *mut [u32; COLUMNS]) {
    // SAFETY: the caller's promise.
    unsafe {
        let low = registers.add(i / 4 * 2).cast::<u32>().add(i % 4 * COLUMNS);
        (low.cast(), low.add(size_of::<Lanes>() / 4).cast())
    }
}

/// The numbers whose words are given, negated if `sign` is the sign bit.
#[inline(always)]
fn joined(low: &[u32; COLUMNS], high: &[u32; COLUMNS], sign: u64) -> Row {
    std::array::from_fn(|j| f64::from_bits((u64::from(low[j]) | u64::from(high[j]) << 32) ^ sign))
}
