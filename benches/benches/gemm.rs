//! The op `gemm_a16w16` on the simulator beside the host's single-threaded `matrixmultiply` sgemm of the same
//! size: prints the ratio to it in one run.
//!
//! `cargo bench -p hk-benches --bench gemm`

#![expect(clippy::print_stdout, reason = "the ratios are the purpose of the bench")]

use std::time::Duration;

use criterion::{Criterion, Throughput};
use half::bf16;
use hipkittens::gemm::{Device, GemmOptions, Tensor, gemm_a16w16_into};
use hk_benches::{best, sgemm};
use hk_sim::exec::ExecOptions;

fn operand(seed: usize, n: usize) -> Vec<bf16> {
    (0..n * n).map(|i| bf16::from_f32(((i * 31 + seed) % 17) as f32 / 8.0 - 1.0)).collect()
}

/// The product of two n by n matrices, everywhere.
fn square(criterion: &mut Criterion, n: usize) {
    let (x, w) = (operand(0, n), operand(7, n));
    let wide = |values: &[bf16]| values.iter().map(|v| v.to_f32()).collect::<Vec<_>>();
    let (x_wide, w_wide) = (wide(&x), wide(&w));
    let mut expected = vec![0.0; n * n];
    let flop = 2 * (n as u64).pow(3);

    let mut group = criterion.benchmark_group(format!("gemm_a16w16/bf16/{n}"));
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    group.throughput(Throughput::Elements(flop));
    let host = best(2, || sgemm(n, &x_wide, &w_wide, &mut expected)).as_secs_f64();
    group.bench_function("host sgemm", |bencher| {
        bencher.iter(|| sgemm(n, &x_wide, &w_wide, &mut expected));
    });
    for name in ["sim:mi325x", "sim:mi355x"] {
        let stream = Device::open(name).expect("it opens").default_stream();
        let upload = |data: &[bf16]| Tensor::from_slice(&stream, data, &[n, n]).expect("it fits");
        let (x, w) = (upload(&x), upload(&w));
        let mut y = Tensor::<f32>::zeros(&stream, &[n, n]).expect("it fits");
        for threads in [1, 2] {
            hk_sim::set_options(ExecOptions { threads, ..ExecOptions::default() });
            let mut product = || {
                gemm_a16w16_into(&x, &w, &GemmOptions::default(), &mut y).expect("it launches");
                stream.synchronize().expect("it runs");
            };
            let seconds = best(2, &mut product).as_secs_f64();
            let (rate, ratio) = (flop as f64 / seconds / 1e9, host / seconds);
            println!(
                "{name}, threads={threads}: {rate:.1} GFLOP/s, {ratio:.2} of the host's sgemm"
            );
            group.bench_function(format!("{name}/threads={threads}"), |bencher| {
                bencher.iter(&mut product);
            });
        }
        let got = y.to_vec().expect("it comes back");
        let close = got.iter().zip(&expected).filter(|(g, e)| (*g - *e).abs() <= 0.01).count();
        assert_eq!(close, n * n, "elements of the product are wrong");
    }
    group.finish();
    hk_sim::set_options(ExecOptions::default());
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    square(&mut criterion, 2048);
    square(&mut criterion, 4096);
    criterion.final_summary();
}
