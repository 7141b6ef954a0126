//! Double-precision products.

use super::kernel::{Kernel, Rows};
use super::vector::Vector;
use super::{Lanes, MfmaArgs, MfmaConfig};

/// What every NaN of a result becomes.
const QUIET_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Inner dimension of both shapes.
const K: usize = 4;

/// `16 x 16 x 4` (`ROWS` 16), or `4 x 4 x 4` with four blocks side by side (`ROWS` 4).
///
/// Rows `4q..4q + 4` of the result lie in register pair `q`, 16 lanes each.
pub(super) struct Double<const ROWS: usize>;

impl<const ROWS: usize> Kernel for Double<ROWS> {
    #[inline(always)]
    unsafe fn run<V: Vector>(config: &MfmaConfig, args: &MfmaArgs) {
        let (mut a_rows, mut b_rows) = (Rows::new(), Rows::new());
        let sign = |bit: u8| u64::from(config.negate >> bit & 1) << 63;
        // SAFETY: the caller's promises; four rows of 16 `f64` were decoded.
        let (a, b) = unsafe {
            let a = a_rows.fill(&config.a, args.a, args.mode).cast::<[[u64; 16]; K]>().read();
            let b = b_rows.fill(&config.b, args.b, args.mode).cast::<[[u64; 16]; K]>().read();
            (signed(a, sign(0)), signed(b, sign(1)))
        };
        let mut sums = [[0_u64; 16]; ROWS];
        for (i, row) in sums.iter_mut().enumerate() {
            let (pair, lane) = (i / 4 * 2, i % 4 * 16);
            *row = if args.c.is_null() {
                [args.c_const; 16]
            } else {
                // SAFETY: C has `ROWS / 2` registers.
                let [low, high] =
                    unsafe { [lanes(args.c.add(pair), lane), lanes(args.c.add(pair + 1), lane)] };
                std::array::from_fn(|j| u64::from(low[j]) | u64::from(high[j]) << 32)
            };
        }
        for (i, row) in sums.iter_mut().enumerate() {
            let mut sum: [f64; 16] = std::array::from_fn(|j| f64::from_bits(row[j] ^ sign(2)));
            for (a, b) in a.iter().zip(&b) {
                for j in 0..16 {
                    let a = if ROWS == 16 { a[i] } else { a[j / 4 * 4 + i] };
                    sum[j] = a.mul_add(b[j], sum[j]);
                }
            }
            *row = sum.map(|sum| if sum.is_nan() { QUIET_NAN } else { sum.to_bits() });
        }
        for (i, row) in sums.iter().enumerate() {
            let (pair, lane) = (i / 4 * 2, i % 4 * 16);
            // SAFETY: D has `ROWS / 2` registers.
            unsafe {
                let low = args.d.add(pair).cast::<u32>().add(lane).cast::<[u32; 16]>();
                let high = args.d.add(pair + 1).cast::<u32>().add(lane).cast::<[u32; 16]>();
                low.write(row.map(|bits| bits as u32));
                high.write(row.map(|bits| (bits >> 32) as u32));
            }
        }
    }
}

/// Sixteen lanes of a register.
///
/// # Safety
///
/// `register` must be valid for reads and `first + 16` at most 64.
#[inline(always)]
unsafe fn lanes(register: *const Lanes, first: usize) -> [u32; 16] {
    // SAFETY: the caller's promise.
    unsafe { register.cast::<u32>().add(first).cast::<[u32; 16]>().read() }
}

/// The numbers with these bits, negated where `sign` is the sign bit.
#[inline(always)]
fn signed(bits: [[u64; 16]; K], sign: u64) -> [[f64; 16]; K] {
    bits.map(|row| row.map(|bits| f64::from_bits(bits ^ sign)))
}
