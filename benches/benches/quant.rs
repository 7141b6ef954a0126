//! Ops of hk-quant on the simulator, one group per module.
//!
//! `cargo bench -p hk-benches --bench quant`

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use hk_core::Arch;
use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz};
use hk_core::op::quant::Fp8;
use hk_quant::{
    Device, DowncastOptions, GatedRmsInput, GatedRmsOptions, GroupOptions, MxOptions, Quantised,
    RmsInput, RmsOthers, RmsnormDynamicOptions, RowOptions, StaticOptions, Stream, Tensor, bf16,
    downcast_to_mxfp_into, dynamic_mxfp4_quant_into, dynamic_per_tensor_quant_into,
    fused_flatten_fp8_group_quant_into, fused_flatten_mxfp4_quant_into,
    fused_rms_gated_fp8_group_quant_into, fused_rms_mxfp4_quant_into,
    fused_silu_mul_fp8_per_tensor_static_quant_into, per_block_quant_into, per_group_quant_into,
    per_token_quant_into, rmsnorm_dynamic_quant_into,
};

const DEVICES: [&str; 2] = ["sim:mi325x", "sim:mi355x"];

/// Rows and widths: narrow, models', and rows that are read in pieces.
const SHAPES: [[usize; 2]; 4] = [[2048, 128], [128, 7168], [32, 16_384], [8, 65_536]];

type Group<'a> = BenchmarkGroup<'a, WallTime>;

fn group_of<'a>(criterion: &'a mut Criterion, module: &str) -> Group<'a> {
    let mut group = criterion.benchmark_group(format!("{module}/bf16"));
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    group
}

/// A matrix of small numbers.
fn matrix(stream: &Stream, shape: [usize; 2]) -> Tensor<bf16> {
    let number = |i: usize| bf16::from_f32((i % 17) as f32 / 8.0 - 1.0);
    let data: Vec<_> = (0..shape[0] * shape[1]).map(number).collect();
    Tensor::from_slice(stream, &data, &shape).expect("it fits")
}

/// Launches ops on a matrix of that shape, or what is made of it.
struct Bench<'a, 'b> {
    group: &'a mut Group<'b>,
    stream: &'a Stream,
    device: &'static str,
    shape: [usize; 2],
}

impl Bench<'_, '_> {
    fn run(&mut self, op: &str, mut launch: impl FnMut() -> hk_quant::Result<()>) {
        let [rows, width] = self.shape;
        let bytes = rows * width * size_of::<bf16>();
        self.group.throughput(Throughput::Bytes(bytes as u64));
        let title = BenchmarkId::new(format!("{op}/{}", self.device), format!("{rows}x{width}"));
        self.group.bench_function(title, |bencher| {
            bencher.iter(|| {
                launch().expect("it launches");
                self.stream.synchronize().expect("it runs");
            });
        });
    }
}

/// On each device, with each shape.
fn each(mut group: Group<'_>, run: impl Fn(&mut Bench<'_, '_>, &Tensor<bf16>)) {
    for device in DEVICES {
        let stream = &Device::open(device).expect("it opens").default_stream();
        for shape in SHAPES {
            let x = matrix(stream, shape);
            run(&mut Bench { group: &mut group, stream, device, shape }, &x);
        }
    }
    group.finish();
}

fn quant(criterion: &mut Criterion) {
    each(group_of(criterion, "quant"), |bench, x| {
        let [rows, width] = bench.shape;
        let options = &RowOptions::default();
        let mut token = Quantised::<i8>::empty(x, &[rows]).expect("it fits");
        bench.run("per_token", || per_token_quant_into(x, options, token.out()));
        let mut tensor = Quantised::<i8>::empty(x, &[1]).expect("it fits");
        bench.run("per_tensor", || dynamic_per_tensor_quant_into(x, options, tensor.out()));
        let tiles = bench.shape.map(|size| size.div_ceil(128));
        let mut tiles = Quantised::<i8>::empty(x, &tiles).expect("it fits");
        bench.run("per_block", || per_block_quant_into(x, options, tiles.out()));
        let mut groups = Quantised::<i8>::empty(x, &[rows, width / 128]).expect("it fits");
        let options = GroupOptions::default();
        bench.run("per_group", || per_group_quant_into(x, &options, groups.out()));
        let mut blocks = Quantised::empty(x, &[rows, width / 32]).expect("it fits");
        let options = MxOptions::default();
        bench.run("mxfp4", || dynamic_mxfp4_quant_into(x, &options, blocks.out()));
    });
}

/// With codes of the chip.
fn fused_fp8<C: Fp8>(bench: &mut Bench<'_, '_>, x: &Tensor<bf16>) {
    let [rows, width] = bench.shape;
    let weight = matrix(bench.stream, [1, width]);
    let weight = weight.reshape(&[width]).expect("it fits");
    let mut token = Quantised::<C>::empty(x, &[rows]).expect("it fits");
    let options = RmsnormDynamicOptions::default();
    bench.run("rmsnorm_dynamic", || {
        rmsnorm_dynamic_quant_into(x, &weight, 1e-6, &options, token.out(), None)
    });
    let options = GatedRmsOptions::default();
    bench.run("rms_gated", || {
        let input = GatedRmsInput { x, z: x, weight: &weight, bias: None, eps: 1e-6 };
        fused_rms_gated_fp8_group_quant_into(&input, &options, token.out())
    });
    let scale = Tensor::filled(bench.stream, &[1], 0.01f32).expect("it fits");
    let mut codes = Tensor::<C>::empty(bench.stream, &[rows, width / 2]).expect("it fits");
    bench.run("silu_mul", || {
        let options = StaticOptions::default();
        fused_silu_mul_fp8_per_tensor_static_quant_into(x, &scale, &options, &mut *codes)
    });
    let parts = x.reshape(&[rows / 4, 4, width]).expect("it fits");
    let codes = &mut Tensor::<C>::empty(bench.stream, &[rows / 4, 4 * width]).expect("it fits");
    let scales = &mut Tensor::empty(bench.stream, &[rows / 4, width / 32]).expect("it fits");
    bench.run("flatten", || {
        let out = hk_quant::QuantisedOut { codes: &mut *codes, scales: &mut *scales };
        fused_flatten_fp8_group_quant_into(&parts, &GroupOptions::default(), out)
    });
}

fn fused_fp8_quant(criterion: &mut Criterion) {
    each(group_of(criterion, "fused_fp8_quant"), |bench, x| match bench.stream.device().arch() {
        Arch::Gfx942 => fused_fp8::<F8E4M3Fnuz>(bench, x),
        _ => fused_fp8::<F8E4M3>(bench, x),
    });
}

fn fused_mxfp4_quant(criterion: &mut Criterion) {
    each(group_of(criterion, "fused_mxfp4_quant"), |bench, x| {
        let [rows, width] = bench.shape;
        let weight = matrix(bench.stream, [1, width]);
        let weight = weight.reshape(&[width]).expect("it fits");
        let options = MxOptions::default();
        let mut blocks = Quantised::empty(x, &[rows, width / 32]).expect("it fits");
        bench.run("rms", || {
            let input = RmsInput::new(x, &weight, 1e-6);
            fused_rms_mxfp4_quant_into(&input, &options, blocks.out(), RmsOthers::default())
        });
        let parts = x.reshape(&[rows / 4, 4, width]).expect("it fits");
        let codes = &mut Tensor::empty(bench.stream, &[rows / 4, 4 * width]).expect("it fits");
        let scales = &mut Tensor::empty(bench.stream, &[rows / 4, width / 8]).expect("it fits");
        bench.run("flatten", || {
            let out = hk_quant::QuantisedOut { codes: &mut *codes, scales: &mut *scales };
            fused_flatten_mxfp4_quant_into(&parts, &options, out)
        });
    });
}

/// Blocks of columns.
fn quant_moe(criterion: &mut Criterion) {
    each(group_of(criterion, "quant_moe"), |bench, x| {
        let [rows, width] = bench.shape;
        let codes = Tensor::zeros(bench.stream, &[width, rows]).expect("it fits");
        let scales = Tensor::zeros(bench.stream, &[width, rows.div_ceil(32)]).expect("it fits");
        let mut columns = Quantised::<F4x2E2M1, E8M0> { codes, scales };
        let options = DowncastOptions::default();
        bench.run("downcast_to_mxfp", || downcast_to_mxfp_into(x, 0, &options, columns.out()));
    });
}

criterion_group!(benches, quant, quant_moe, fused_fp8_quant, fused_mxfp4_quant);
criterion_main!(benches);
