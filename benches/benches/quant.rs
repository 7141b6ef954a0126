//! Ops of hk-quant on the simulator, one group per module.
//!
//! `cargo bench -p hk-benches --bench quant`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hk_quant::{
    Device, GroupOptions, MxOptions, Quantised, RmsInput, RmsOthers, RmsnormDynamicOptions,
    RowOptions, Tensor, bf16, dynamic_mxfp4_quant_into, dynamic_per_tensor_quant_into,
    fused_rms_mxfp4_quant_into, per_block_quant_into, per_group_quant_into, per_token_quant_into,
    rmsnorm_dynamic_quant_into,
};

/// Rows and widths: narrow, models', and rows that are read in pieces.
const SHAPES: [[usize; 2]; 4] = [[2048, 128], [128, 7168], [32, 16_384], [8, 65_536]];

/// An op with its outputs.
type Op<'a> = (&'static str, Box<dyn FnMut() -> hk_quant::Result<()> + 'a>);

fn quant(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("quant/bf16");
    group.sample_size(10).warm_up_time(Duration::from_millis(200));
    group.measurement_time(Duration::from_secs(1));
    for name in ["sim:mi325x", "sim:mi355x"] {
        let stream = Device::open(name).expect("it opens").default_stream();
        for shape in SHAPES {
            let [rows, width] = shape;
            let number = |i: usize| bf16::from_f32((i % 17) as f32 / 8.0 - 1.0);
            let data: Vec<_> = (0..rows * width).map(number).collect();
            let x = Tensor::from_slice(&stream, &data, &shape).expect("it fits");
            let mut token = Quantised::<i8>::empty(&x, &[rows]).expect("it fits");
            let mut tensor = Quantised::<i8>::empty(&x, &[1]).expect("it fits");
            let mut groups = Quantised::<i8>::empty(&x, &[rows, width / 128]).expect("it fits");
            let tiles = shape.map(|size| size.div_ceil(128));
            let mut tiles = Quantised::<i8>::empty(&x, &tiles).expect("it fits");
            let mut blocks = Quantised::empty(&x, &[rows, width / 32]).expect("it fits");
            let mut normalised = Quantised::<i8>::empty(&x, &[rows]).expect("it fits");
            let mut normalised_blocks = Quantised::empty(&x, &[rows, width / 32]).expect("it fits");
            let weight = Tensor::from_slice(&stream, &data[..width], &[width]).expect("it fits");
            let (x, weight, options) = (&x, &weight, &RowOptions::default());
            let ops: [Op<'_>; 7] = [
                ("per_token", Box::new(|| per_token_quant_into(x, options, token.out()))),
                (
                    "per_tensor",
                    Box::new(|| dynamic_per_tensor_quant_into(x, options, tensor.out())),
                ),
                ("per_block", Box::new(|| per_block_quant_into(x, options, tiles.out()))),
                (
                    "per_group",
                    Box::new(|| per_group_quant_into(x, &GroupOptions::default(), groups.out())),
                ),
                (
                    "mxfp4",
                    Box::new(|| dynamic_mxfp4_quant_into(x, &MxOptions::default(), blocks.out())),
                ),
                (
                    "rmsnorm_dynamic",
                    Box::new(|| {
                        let options = RmsnormDynamicOptions::default();
                        let out = normalised.out();
                        rmsnorm_dynamic_quant_into(x, weight, 1e-6, &options, out, None)
                    }),
                ),
                (
                    "rms_mxfp4",
                    Box::new(|| {
                        let (input, options) =
                            (RmsInput::new(x, weight, 1e-6), MxOptions::default());
                        let out = normalised_blocks.out();
                        fused_rms_mxfp4_quant_into(&input, &options, out, RmsOthers::default())
                    }),
                ),
            ];
            group.throughput(Throughput::Bytes(size_of_val(&data[..]) as u64));
            for (op, mut launch) in ops {
                let title = BenchmarkId::new(format!("{op}/{name}"), format!("{rows}x{width}"));
                group.bench_function(title, |bencher| {
                    bencher.iter(|| {
                        launch().expect("it launches");
                        stream.synchronize().expect("it runs");
                    });
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, quant);
criterion_main!(benches);
