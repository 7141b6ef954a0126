//! Criterion benches over every crate of hipkittens; see `benches/`. Here is what they share.

use std::time::{Duration, Instant};

/// Shortest of a few runs.
pub fn best(runs: usize, mut f: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}

/// `c = a * b^T` on the host, single-threaded.
pub fn sgemm(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    let row = n as isize;
    // SAFETY: all three matrices are n by n and row-major; b is read transposed.
    unsafe { matrixmultiply::sgemm(n, n, n, 1.0, a, row, 1, b, 1, row, 0.0, c, row, 1) };
}
