//! Ops of hk-norm on the simulator, one group per module.
//!
//! `cargo bench -p hk-benches --bench norm`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_norm::{
    Device, FusedAddRmsnormOut, RmsnormOptions, RmsnormOut, RowOptions, Tensor, bf16,
    fused_add_rmsnorm_into, rmsnorm_into, softmax_into,
};

/// Rows and widths: narrow, a model's, wide, and rows that are read twice.
const SHAPES: [[usize; 2]; 4] = [[2048, 128], [128, 4096], [32, 16_384], [8, 65_536]];
const EPS: f32 = 1e-6;

fn numbers([rows, width]: [usize; 2]) -> Vec<bf16> {
    (0..rows * width).map(|i| bf16::from_f32((i % 17) as f32 / 8.0 - 1.0)).collect()
}

fn rmsnorm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rmsnorm/bf16");
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for name in ["sim:mi325x", "sim:mi355x"] {
        let stream = Device::open(name).expect("it opens").default_stream();
        for shape in SHAPES {
            let ([rows, width], data) = (shape, numbers(shape));
            let x = Tensor::from_slice(&stream, &data, &shape).expect("it fits");
            let residual = Tensor::from_slice(&stream, &data, &shape).expect("it fits");
            let weight = Tensor::from_slice(&stream, &data[..width], &[width]).expect("it fits");
            let mut y = Tensor::zeros(&stream, &shape).expect("it fits");
            let mut sum = Tensor::zeros(&stream, &shape).expect("it fits");
            let options = RmsnormOptions::default();
            let bytes = size_of_val(&data[..]) as u64;

            let title = format!("{rows}x{width}");
            group.throughput(Throughput::Bytes(2 * bytes));
            group.bench_function(BenchmarkId::new(format!("rmsnorm/{name}"), &title), |bencher| {
                bencher.iter(|| {
                    let out = RmsnormOut { y: &mut y, rstd: None };
                    rmsnorm_into(&x, &weight, EPS, &options, out).expect("it launches");
                    stream.synchronize().expect("it runs");
                });
            });
            group.throughput(Throughput::Bytes(4 * bytes));
            let fused = BenchmarkId::new(format!("fused_add_rmsnorm/{name}"), &title);
            group.bench_function(fused, |bencher| {
                bencher.iter(|| {
                    let (y, residual_out) = (&mut y, &mut sum);
                    let out = FusedAddRmsnormOut { y, residual_out, rstd: None };
                    fused_add_rmsnorm_into(&x, &residual, &weight, EPS, &options, out)
                        .expect("it launches");
                    stream.synchronize().expect("it runs");
                });
            });
        }
    }
    group.finish();
}

fn softmax(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("softmax/bf16");
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for name in ["sim:mi325x", "sim:mi355x"] {
        let stream = Device::open(name).expect("it opens").default_stream();
        for shape in SHAPES {
            let ([rows, width], data) = (shape, numbers(shape));
            let x = Tensor::from_slice(&stream, &data, &shape).expect("it fits");
            let mut y = Tensor::<bf16>::zeros(&stream, &shape).expect("it fits");
            group.throughput(Throughput::Bytes(2 * size_of_val(&data[..]) as u64));
            group.bench_function(BenchmarkId::new(name, format!("{rows}x{width}")), |bencher| {
                bencher.iter(|| {
                    softmax_into(&x, &RowOptions::default(), &mut *y).expect("it launches");
                    stream.synchronize().expect("it runs");
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rmsnorm, softmax);
criterion_main!(benches);
