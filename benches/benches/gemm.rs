//! `gemm_a16w16` in bf16 on the simulator, beside the host's single-threaded `matrixmultiply` sgemm of
//! the same size, in one run.
//!
//! `cargo bench -p hk-benches --bench gemm`

#![expect(clippy::print_stdout, reason = "the table is the purpose of the bench")]

use half::bf16;
use hk_benches::{best, sgemm};
use hk_core::{Device, Tensor};
use hk_gemm::{GemmOptions, gemm_a16w16_into};
use hk_sim::exec::ExecOptions;

fn operand(seed: usize, n: usize) -> Vec<bf16> {
    (0..n * n).map(|i| bf16::from_f32(((i * 31 + seed) % 17) as f32 / 8.0 - 1.0)).collect()
}

fn main() {
    println!("{:<6} {:<26} {:>10} {:>10} {:>8}", "n", "where", "s", "GFLOP/s", "ratio");
    for n in [2048, 4096] {
        let (x, w) = (operand(0, n), operand(7, n));
        let wide = |values: &[bf16]| values.iter().map(|v| v.to_f32()).collect::<Vec<_>>();
        let (x_wide, w_wide) = (wide(&x), wide(&w));
        let mut expected = vec![0.0; n * n];
        let host = best(2, || sgemm(n, &x_wide, &w_wide, &mut expected)).as_secs_f64();
        let row = |place: &str, seconds: f64| {
            let rate = 2.0 * (n as f64).powi(3) / seconds / 1e9;
            println!("{n:<6} {place:<26} {seconds:>10.3} {rate:>10.1} {:>8.2}", host / seconds);
        };
        row("host sgemm, one thread", host);
        for name in ["sim:mi325x", "sim:mi355x"] {
            let stream = Device::open(name).expect("it opens").default_stream();
            let upload =
                |data: &[bf16]| Tensor::from_slice(&stream, data, &[n, n]).expect("it fits");
            let (x, w) = (upload(&x), upload(&w));
            let mut y = Tensor::<f32>::zeros(&stream, &[n, n]).expect("it fits");
            for threads in [1, 2] {
                hk_sim::set_exec_options(ExecOptions { threads, ..ExecOptions::default() });
                let time = best(2, || {
                    gemm_a16w16_into(&x, &w, &GemmOptions::default(), &mut y).expect("it launches");
                    stream.synchronize().expect("it runs");
                });
                row(&format!("{name}, threads={threads}"), time.as_secs_f64());
            }
            let got = y.to_vec().expect("it comes back");
            let close = got.iter().zip(&expected).filter(|(g, e)| (*g - *e).abs() <= 0.01).count();
            assert_eq!(close, n * n, "elements of the product are wrong");
        }
    }
}
