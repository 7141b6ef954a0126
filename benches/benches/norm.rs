//! Ops of hk-norm on the simulator, one group per module.
//!
//! `cargo bench -p hk-benches --bench norm`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_norm::{
    Activation, Device, FusedAddRmsnormOut, GateLayout, GatedOptions, LayernormOut, MxOptions,
    Quantised, Result, RmsnormOptions, RmsnormOut, RmsnormPadOptions, RowOptions, Stream, Tensor,
    TopkOut, act_mul_mxfp4_quant_into, bf16, fused_add_rmsnorm_into, fused_mul_add_into,
    layernorm_into, rmsnorm_into, rmsnorm_pad_into, silu_and_mul_into, softmax_into, topk_into,
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

/// An op whose rows of bf16 are read and written so many times; `prepare` gives what launches it.
fn rows(
    criterion: &mut Criterion,
    op: &str,
    times: u64,
    prepare: impl Fn(&Stream, [usize; 2]) -> Result<Box<dyn FnMut() -> Result<()>>>,
) {
    let mut group = criterion.benchmark_group(format!("{op}/bf16"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for name in ["sim:mi325x", "sim:mi355x"] {
        let stream = Device::open(name).expect("it opens").default_stream();
        for shape in SHAPES {
            let [rows, width] = shape;
            let mut launch = prepare(&stream, shape).expect("it fits");
            group.throughput(Throughput::Bytes(times * (2 * rows * width) as u64));
            group.bench_function(BenchmarkId::new(name, format!("{rows}x{width}")), |bencher| {
                bencher.iter(|| {
                    launch().expect("it launches");
                    stream.synchronize().expect("it runs");
                });
            });
        }
    }
    group.finish();
}

fn others(criterion: &mut Criterion) {
    rows(criterion, "softmax", 2, |stream, shape| {
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let mut y = Tensor::<bf16>::zeros(stream, &shape)?;
        Ok(Box::new(move || softmax_into(&x, &RowOptions::default(), &mut *y)))
    });
    rows(criterion, "layernorm", 2, |stream, shape| {
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let weight = Tensor::filled(stream, &shape[1..], bf16::ONE)?;
        let mut y = Tensor::zeros(stream, &shape)?;
        Ok(Box::new(move || {
            let (columns, options) = (Some(&*weight), RowOptions::default());
            let out = LayernormOut { y: &mut *y, mean: None, rstd: None };
            layernorm_into(&x, columns, columns, EPS, &options, out)
        }))
    });
    rows(criterion, "rmsnorm_pad", 2, |stream, shape| {
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let weight = Tensor::filled(stream, &shape[1..], bf16::ONE)?;
        let options = RmsnormPadOptions::default().pad_to_multiple(128);
        let mut y = Tensor::zeros(stream, &shape)?;
        Ok(Box::new(move || rmsnorm_pad_into(&x, &weight, EPS, &options, &mut *y)))
    });
    rows(criterion, "fused_mul_add", 2, |stream, shape| {
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let mut out = Tensor::zeros(stream, &shape)?;
        let options = RowOptions::default();
        Ok(Box::new(move || fused_mul_add_into(&x, 2.0, 1.0, &options, &mut *out)))
    });
    rows(criterion, "act_mul_mxfp4_quant", 2, |stream, [rows, width]| {
        let shape = [rows, 2 * width];
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let (activation, gates, options) =
            (Activation::Silu, GateLayout::Halves, MxOptions::default());
        let codes = Tensor::zeros(stream, &[rows, width])?;
        let scales = Tensor::zeros(stream, &[rows, width / 32])?;
        let mut quantised = Quantised { codes, scales };
        Ok(Box::new(move || {
            act_mul_mxfp4_quant_into(&x, activation, gates, &options, quantised.out())
        }))
    });
    rows(criterion, "silu_and_mul", 3, |stream, [rows, width]| {
        let shape = [rows, 2 * width];
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let mut y = Tensor::zeros(stream, &[rows, width])?;
        Ok(Box::new(move || silu_and_mul_into(&x, &GatedOptions::default(), &mut *y)))
    });
    rows(criterion, "topk, k 32", 1, |stream, shape| {
        let x = Tensor::from_slice(stream, &numbers(shape), &shape)?;
        let mut values = Tensor::zeros(stream, &[shape[0], 32])?;
        let mut indices = Tensor::<i64>::zeros(stream, &[shape[0], 32])?;
        Ok(Box::new(move || {
            let out = TopkOut { values: &mut *values, indices: &mut *indices };
            topk_into(&x, 32, &RowOptions::default(), out)
        }))
    });
}

criterion_group!(benches, rmsnorm, others);
criterion_main!(benches);
