//! Ops of hk-gemm on the simulator, one group per module; that of `gemm_a16w16` also has the host's
//! single-threaded `matrixmultiply` sgemm of the same size, and prints the ratio to it in one run.
//!
//! `cargo bench -p hk-benches --bench gemm`

#![expect(clippy::print_stdout, reason = "the ratios are the purpose of the bench")]

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use half::bf16;
use hk_benches::{best, sgemm};
use hk_core::op::product::Element8;
use hk_core::op::quant::Fp8;
use hk_gemm::{
    A16W8Options, A16Wfp4Options, Activation, AtomicOptions, BlockscaleOptions, Device, E8M0,
    F4x2E2M1, F8E4M3, F8E4M3Fnuz, FeedForwardOptions, Fuse, GemmOptions, GmmOptions, GroupedForm,
    PtgqOptions, SplitCatOut, Stream, Tensor, TgmmOut, TwoProductsOptions, TwoProductsOut,
    batched_gemm_a8w8_into, batched_gemm_a8w8_ptgq_into, batched_gemm_a16wfp4_into,
    batched_gemm_afp4wfp4_into, batched_gemm_bf16_into, ff_a16w16_fused_gated_into,
    ff_a16w16_fused_ungated_into, fused_gemm_a8w8_blockscale_a16w16_into,
    fused_gemm_a8w8_blockscale_mul_add_into, fused_gemm_a8w8_blockscale_split_cat_into,
    fused_gemm_afp4wfp4_a16w16_into, fused_gemm_afp4wfp4_mul_add_into,
    fused_gemm_afp4wfp4_split_cat_into, gemm_a8w8_blockscale_into, gemm_a8w8_into,
    gemm_a8w8_per_token_scale_into, gemm_a8wfp4_into, gemm_a16w8_blockscale_into,
    gemm_a16w16_atomic_into, gemm_a16w16_gated_into, gemm_a16w16_into, gemm_a16wfp4_into,
    gemm_afp4wfp4_into, gmm_into, nptgmm_into, ptgmm_into,
};
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

/// m, n and k of a decoding and of a prefilling step of language models, in small.
const SHAPES: [[usize; 3]; 2] = [[16, 1280, 2048], [512, 1280, 1024]];

/// An op with its outputs.
type Op<'a> = (&'static str, Box<dyn FnMut() -> hk_gemm::Result<()> + 'a>);

/// Runs ops of one problem on one device, one group each.
fn measure<'a>(
    criterion: &mut Criterion,
    stream: &Stream,
    (name, [m, n, k]): (&str, [usize; 3]),
    ops: impl IntoIterator<Item = Op<'a>>,
) {
    for (op, mut launch) in ops {
        let mut group = criterion.benchmark_group(op);
        group.sample_size(10).warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(1));
        group.throughput(Throughput::Elements(2 * (m * n * k) as u64));
        group.bench_function(BenchmarkId::new(name, format!("{m}x{n}x{k}")), |bencher| {
            bencher.iter(|| {
                launch().expect("it launches");
                stream.synchronize().expect("it runs");
            });
        });
    }
}

/// Every op of which an operand has scales of MX blocks, is of 16 bits beside one of 8, or is gated.
fn unlike<T: Fp8>(criterion: &mut Criterion, name: &str, one: T) {
    let stream = Device::open(name).expect("it opens").default_stream();
    for [m, n, k] in SHAPES {
        let half = bf16::from_f32(0.5);
        let wide = |shape: &[usize]| Tensor::filled(&stream, shape, half).expect("it fits");
        let codes = |shape: &[usize]| {
            Tensor::filled(&stream, shape, F4x2E2M1::from_bits(0x25)).expect("it fits")
        };
        let blocks = |shape: &[usize]| Tensor::filled(&stream, shape, E8M0::ONE).expect("it fits");
        let bytes = |shape: &[usize]| Tensor::filled(&stream, shape, one).expect("it fits");
        let scales = |shape: &[usize]| Tensor::filled(&stream, shape, 0.5f32).expect("it fits");
        let results = || Tensor::<f32>::zeros(&stream, &[m, n]).expect("it fits");
        let (x, w, x_narrow, w_narrow) =
            (&wide(&[m, k]), &wide(&[2 * n, k]), &codes(&[m, k]), &codes(&[n, k]));
        let (x_blocks, w_blocks) = (&blocks(&[m, k / 32]), &blocks(&[n, k / 32]));
        let (x_bytes, w_bytes) = (&bytes(&[m, k]), &bytes(&[n, k]));
        let (x_scale, w_scale) = (&scales(&[m, 1]), &scales(&[n / 128, k / 128]));
        let x_scales = &scales(&[m, k / 128]);
        let (x_batch, w_batch) = (&wide(&[4, m / 4, k]), &bytes(&[4, n / 4, k]));
        let (x_codes, w_codes) = (&codes(&[4, m / 4, k]), &codes(&[4, n / 4, k]));
        let (x_of_batch, w_of_batch) = (&blocks(&[4, m / 4, k / 32]), &blocks(&[4, n / 4, k / 32]));
        let one_scale = &scales(&[1]);
        // Heads of 128 and 128 columns, beside 64.
        let y = &wide(&[m, n / 256, 64]);
        let of_heads =
            |width| Tensor::<f32>::zeros(&stream, &[m, n / 256, width]).expect("it fits");
        let [mut c1, mut c2, mut d1, mut d2] = [192, 128, 192, 128].map(of_heads);
        let [mut y0, mut y1, mut y2, mut y3, mut y4, mut y5, mut y6] =
            std::array::from_fn(|_| results());
        let [mut b0, mut b1, mut b2] = std::array::from_fn(|_| {
            Tensor::<f32>::zeros(&stream, &[4, m / 4, n / 4]).expect("it fits")
        });
        let (plain, grouped) = (&GemmOptions::default(), &BlockscaleOptions::default());
        let gate = &GemmOptions::default().activation(Activation::Silu);
        let (a16w8, a16wfp4) = (&A16W8Options::default(), &A16Wfp4Options::default());
        let weight_only = &A16Wfp4Options::default().prequant(false);
        let halves = w.slice(0..n).expect("it has as many rows");
        let ops: [Op<'_>; 13] = [
            ("gemm_a16w16_gated/bf16", Box::new(|| gemm_a16w16_gated_into(x, w, gate, &mut y0))),
            (
                "gemm_a16w16_atomic/bf16",
                Box::new(|| {
                    gemm_a16w16_atomic_into(x, &halves, &AtomicOptions::default(), &mut y1)
                }),
            ),
            (
                "gemm_a16w8_blockscale/bf16",
                Box::new(|| gemm_a16w8_blockscale_into(x, w_bytes, w_scale, a16w8, &mut y2)),
            ),
            (
                "gemm_a16wfp4/bf16",
                Box::new(|| gemm_a16wfp4_into(x, w_narrow, w_blocks, a16wfp4, &mut y3)),
            ),
            (
                "gemm_a16wfp4/bf16, as it is",
                Box::new(|| gemm_a16wfp4_into(x, w_narrow, w_blocks, weight_only, &mut y4)),
            ),
            (
                "gemm_a8wfp4/e4m3",
                Box::new(|| gemm_a8wfp4_into(x_bytes, w_narrow, x_scale, w_blocks, plain, &mut y5)),
            ),
            (
                "gemm_afp4wfp4/e2m1",
                Box::new(|| {
                    gemm_afp4wfp4_into(x_narrow, w_narrow, x_blocks, w_blocks, plain, &mut y6)
                }),
            ),
            (
                "batched_gemm_a8w8_ptgq/bf16",
                Box::new(|| {
                    let options = PtgqOptions::default();
                    batched_gemm_a8w8_ptgq_into(x_batch, w_batch, one_scale, &options, &mut b0)
                }),
            ),
            (
                "batched_gemm_a16wfp4/bf16",
                Box::new(|| {
                    batched_gemm_a16wfp4_into(x_batch, w_codes, w_of_batch, a16wfp4, &mut b1)
                }),
            ),
            (
                "batched_gemm_afp4wfp4/e2m1",
                Box::new(|| {
                    batched_gemm_afp4wfp4_into(
                        x_codes, w_codes, x_of_batch, w_of_batch, plain, &mut b2,
                    )
                }),
            ),
            (
                "fused_gemm_afp4wfp4_mul_add/e2m1",
                Box::new(|| {
                    let mut y = results();
                    let fuse = Fuse::ScaleProduct;
                    fused_gemm_afp4wfp4_mul_add_into(
                        x_narrow, w_narrow, x_blocks, w_blocks, 2.0f32, 1.0f32, fuse, plain, &mut y,
                    )
                }),
            ),
            (
                "fused_gemm_a8w8_blockscale_split_cat/e4m3",
                Box::new(|| {
                    let out = SplitCatOut { c1: &mut c1, c2: &mut c2 };
                    fused_gemm_a8w8_blockscale_split_cat_into(
                        x_bytes, w_bytes, x_scales, w_scale, y, 128, grouped, out,
                    )
                }),
            ),
            (
                "fused_gemm_afp4wfp4_split_cat/e2m1",
                Box::new(|| {
                    let out = SplitCatOut { c1: &mut d1, c2: &mut d2 };
                    fused_gemm_afp4wfp4_split_cat_into(
                        x_narrow, w_narrow, x_blocks, w_blocks, y, 128, plain, out,
                    )
                }),
            ),
        ];
        measure(criterion, &stream, (name, [m, n, k]), ops);
    }
}

/// Every op of several products.
fn several<T: Fp8>(criterion: &mut Criterion, name: &str, one: T) {
    let stream = Device::open(name).expect("it opens").default_stream();
    for [m, n, k] in SHAPES {
        let wide =
            |shape: &[usize]| Tensor::filled(&stream, shape, bf16::from_f32(0.5)).expect("it fits");
        let bytes = |shape: &[usize]| Tensor::filled(&stream, shape, one).expect("it fits");
        let codes = |shape: &[usize]| {
            Tensor::filled(&stream, shape, F4x2E2M1::from_bits(0x25)).expect("it fits")
        };
        let blocks = |shape: &[usize]| Tensor::filled(&stream, shape, E8M0::ONE).expect("it fits");
        let scales = |shape: &[usize]| Tensor::filled(&stream, shape, 0.5f32).expect("it fits");
        let results = |shape: &[usize]| Tensor::<f32>::zeros(&stream, shape).expect("it fits");
        // A router of 256 experts beside n columns.
        let (x, w) = (&wide(&[m, k]), &wide(&[256, k]));
        let (x_bytes, w_bytes) = (&bytes(&[m, k]), &bytes(&[n, k]));
        let (x_codes, w_codes) = (&codes(&[m, k]), &codes(&[n, k]));
        let (x_blocks, w_blocks) = (&blocks(&[m, k / 32]), &blocks(&[n, k / 32]));
        let (x_scales, w_scales) = (&scales(&[m, k / 128]), &scales(&[n / 128, k / 128]));
        let [mut y0, mut y1] = std::array::from_fn(|_| results(&[m, n]));
        let [mut z0, mut z1] = std::array::from_fn(|_| results(&[m, 256]));
        let (up, both, down) = (&wide(&[n, k]), &wide(&[2 * n, k]), &wide(&[n, k]));
        let [mut y2, mut y3] = std::array::from_fn(|_| results(&[m, k]));
        // Eight groups of which one is empty.
        let sizes = [2, 3, 0, 1, 4, 1, 2, 3].map(|share| share * (m / 16) as i32);
        let sizes = &Tensor::from_slice(&stream, &sizes, &[8]).expect("it fits");
        let (matrices, of_rows) = (&wide(&[8, n, k]), &wide(&[m, n]));
        let mut y4 = results(&[m, n]);
        let [mut sums0, mut sums1] = std::array::from_fn(|_| results(&[8, k, n]));
        let options = &TwoProductsOptions::default();
        let silu = &FeedForwardOptions::default().activation(Activation::Silu);
        let grouped = &GmmOptions::default().form(GroupedForm::Transposed);
        let ops: [Op<'_>; 7] = [
            (
                "fused_gemm_a8w8_blockscale_a16w16/e4m3",
                Box::new(|| {
                    let out = TwoProductsOut { narrow: &mut y0, wide: &mut z0 };
                    let (narrow, scales) = ([x_bytes, w_bytes], [x_scales, w_scales]);
                    let (narrow, scales) = (narrow.map(|x| &**x), scales.map(|x| &**x));
                    fused_gemm_a8w8_blockscale_a16w16_into(narrow, scales, [x, w], options, out)
                }),
            ),
            (
                "fused_gemm_afp4wfp4_a16w16/e2m1",
                Box::new(|| {
                    let out = TwoProductsOut { narrow: &mut y1, wide: &mut z1 };
                    let (narrow, scales) = ([x_codes, w_codes], [x_blocks, w_blocks]);
                    let (narrow, scales) = (narrow.map(|x| &**x), scales.map(|x| &**x));
                    fused_gemm_afp4wfp4_a16w16_into(narrow, scales, [x, w], options, out)
                }),
            ),
            (
                "ff_fused_gated/bf16",
                Box::new(|| ff_a16w16_fused_gated_into(x, both, down, silu, &mut y2)),
            ),
            (
                "ff_fused_ungated/bf16",
                Box::new(|| ff_a16w16_fused_ungated_into(x, up, down, silu, &mut y3)),
            ),
            ("gmm/bf16", Box::new(|| gmm_into(x, matrices, sizes, grouped, &mut y4))),
            (
                "ptgmm/bf16",
                Box::new(|| {
                    let out = TgmmOut { out: &mut sums0, bias_grad: None };
                    ptgmm_into(x, of_rows, sizes, grouped, out)
                }),
            ),
            (
                "nptgmm/bf16",
                Box::new(|| {
                    let out = TgmmOut { out: &mut sums1, bias_grad: None };
                    nptgmm_into(x, of_rows, sizes, grouped, out)
                }),
            ),
        ];
        measure(criterion, &stream, (name, [m, n, k]), ops);
    }
}

/// Every op whose operands are quantised, and batches.
fn quantised<T: Fp8 + Element8>(criterion: &mut Criterion, name: &str, one: T) {
    let stream = Device::open(name).expect("it opens").default_stream();
    for [m, n, k] in SHAPES {
        let narrow = |rows| Tensor::filled(&stream, &[rows, k], one).expect("it fits");
        let integers = |rows| Tensor::filled(&stream, &[rows, k], 3i8).expect("it fits");
        let scales = |shape: &[usize]| Tensor::filled(&stream, shape, 0.5f32).expect("it fits");
        let (x, w, x_i8, w_i8) = (&narrow(m), &narrow(n), &integers(m), &integers(n));
        let (x_scale, w_scale) = (&scales(&[m, 1]), &scales(&[1, n]));
        let upright = &scales(&[n, 1]);
        let (x_groups, w_groups) = (&scales(&[m, k / 128]), &scales(&[n / 128, k / 128]));
        let halves = |rows: usize| {
            let half = bf16::from_f32(0.5);
            Tensor::filled(&stream, &[4, rows / 4, k], half).expect("it fits")
        };
        let (x_batch, w_batch) = (&halves(m), &halves(n));
        let batch = |rows: usize| Tensor::filled(&stream, &[4, rows / 4, k], 3i8).expect("it fits");
        let (x_batch_i8, w_batch_i8) = (&batch(m), &batch(n));
        let [mut y, mut y_i8, mut y_token, mut y_block, mut y_fused] =
            std::array::from_fn(|_| Tensor::<f32>::zeros(&stream, &[m, n]).expect("it fits"));
        let [mut y_batch, mut y_batch_i8] = std::array::from_fn(|_| {
            Tensor::<f32>::zeros(&stream, &[4, m / 4, n / 4]).expect("it fits")
        });
        let (plain, blocks) = (&GemmOptions::default(), &BlockscaleOptions::default());
        let (batch_x_scale, batch_w_scale) = (&scales(&[4, m / 4, 1]), &scales(&[4, 1, n / 4]));
        let ops: [Op<'_>; 7] = [
            ("gemm_a8w8/e4m3", Box::new(|| gemm_a8w8_into(x, w, x_scale, w_scale, plain, &mut y))),
            (
                "gemm_a8w8/i8",
                Box::new(|| gemm_a8w8_into(x_i8, w_i8, x_scale, w_scale, plain, &mut y_i8)),
            ),
            (
                "gemm_a8w8_per_token_scale/e4m3",
                Box::new(|| {
                    gemm_a8w8_per_token_scale_into(x, w, x_scale, upright, plain, &mut y_token)
                }),
            ),
            (
                "gemm_a8w8_blockscale/e4m3",
                Box::new(|| {
                    gemm_a8w8_blockscale_into(x, w, x_groups, w_groups, blocks, &mut y_block)
                }),
            ),
            (
                "fused_gemm_a8w8_blockscale_mul_add/e4m3",
                Box::new(|| {
                    let (fuse, y) = (Fuse::ScaleProduct, &mut y_fused);
                    fused_gemm_a8w8_blockscale_mul_add_into(
                        x, w, x_groups, w_groups, 2.0f32, 1.0f32, fuse, blocks, y,
                    )
                }),
            ),
            (
                "batched_gemm_bf16/bf16",
                Box::new(|| batched_gemm_bf16_into(x_batch, w_batch, plain, &mut y_batch)),
            ),
            (
                "batched_gemm_a8w8/i8",
                Box::new(|| {
                    let (scales, y) = ([batch_x_scale, batch_w_scale], &mut y_batch_i8);
                    batched_gemm_a8w8_into(x_batch_i8, w_batch_i8, scales[0], scales[1], plain, y)
                }),
            ),
        ];
        measure(criterion, &stream, (name, [m, n, k]), ops);
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    quantised(&mut criterion, "sim:mi325x", F8E4M3Fnuz::from_f32(0.5));
    quantised(&mut criterion, "sim:mi355x", F8E4M3::from_f32(0.5));
    unlike(&mut criterion, "sim:mi325x", F8E4M3Fnuz::from_f32(0.5));
    unlike(&mut criterion, "sim:mi355x", F8E4M3::from_f32(0.5));
    several(&mut criterion, "sim:mi325x", F8E4M3Fnuz::from_f32(0.5));
    several(&mut criterion, "sim:mi355x", F8E4M3::from_f32(0.5));
    square(&mut criterion, 2048);
    square(&mut criterion, 4096);
    criterion.final_summary();
}
