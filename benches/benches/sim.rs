//! Speed of the simulator, group `sim`.
//!
//! Beside criterion's own report it prints a summary in one run: wave-instructions per second of
//! typical VALU instructions, GFLOP/s of matrix instructions, and a bf16 product by a tiled kernel
//! with LDS as a ratio to the host's single-threaded `matrixmultiply` sgemm of the same size.
//!
//! `cargo bench -p hk-benches --bench sim`

#![expect(clippy::print_stdout, reason = "the summary is the purpose of the bench")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use half::bf16;
use hk_benches::{best, sgemm};
use hk_build::{CompileOptions, assemble, compile_hip};
use hk_core::{Device, DevicePtr, Function, LaunchConfig, Module, Tensor, kernel_args};
use hk_sim::Options;
use hk_sim::exec::{ExecOptions, SingleWave};
use hk_sim::isa::Arch;

/// Name, body that is repeated in a loop, and floating-point operations of one execution.
const LOOPS: &[(&str, &str, f64)] = &[
    ("v_add_f32", "v_add_f32_e32 v{d}, v1, v2", 64.0),
    ("v_fma_f32", "v_fma_f32 v{d}, v1, v2, v3", 128.0),
    ("v_and_b32", "v_and_b32_e32 v{d}, v1, v2", 0.0),
    ("v_mul_f32, scalar", "v_mul_f32_e32 v{d}, s1, v2", 64.0),
    ("v_add_f32, negated", "v_add_f32_e64 v{d}, -v1, v2", 64.0),
    ("v_lshl_add_u32", "v_lshl_add_u32 v{d}, v1, 3, v2", 0.0),
    ("v_cndmask_b32", "v_cndmask_b32_e32 v{d}, v1, v2, vcc", 0.0),
    ("v_cmp_gt_f32", "v_cmp_gt_f32_e32 vcc, v1, v{d}", 0.0),
    ("v_pk_fma_f32", "v_pk_fma_f32 v[{d}:{d1}], v[2:3], v[4:5], v[6:7]", 256.0),
    ("v_exp_f32", "v_exp_f32_e32 v{d}, v1", 0.0),
    ("v_log_f32", "v_log_f32_e32 v{d}, v1", 0.0),
    ("v_rcp_f32", "v_rcp_f32_e32 v{d}, v1", 0.0),
    ("v_rsq_f32", "v_rsq_f32_e32 v{d}, v1", 0.0),
    ("v_sqrt_f32", "v_sqrt_f32_e32 v{d}, v1", 0.0),
    ("v_sin_f32", "v_sin_f32_e32 v{d}, v1", 0.0),
    ("v_cos_f32", "v_cos_f32_e32 v{d}, v1", 0.0),
    (
        "mfma 32x32x8 bf16",
        "v_mfma_f32_32x32x8_bf16 v[{m}:{m15}], v[0:1], v[2:3], v[{m}:{m15}]",
        16384.0,
    ),
    (
        "mfma 32x32x16 bf16",
        "v_mfma_f32_32x32x16_bf16 v[{m}:{m15}], v[0:3], v[4:7], v[{m}:{m15}]",
        32768.0,
    ),
    (
        "mfma 16x16x32 f16",
        "v_mfma_f32_16x16x32_f16 v[{d}:{d3}], v[0:3], v[4:7], v[{d}:{d3}]",
        16384.0,
    ),
    (
        "mfma 32x32x64 fp8",
        "v_mfma_f32_32x32x64_f8f6f4 v[{m}:{m15}], v[0:7], v[8:15], v[{m}:{m15}]",
        131072.0,
    ),
];

/// Copies of the body in one turn of the loop.
const UNROLL: u32 = 32;

/// A wave that executes the body `turns * UNROLL` times, already lowered.
fn looping(body: &str, turns: u32) -> impl FnMut() {
    let mut source = String::from("loop:\n");
    for copy in 0..UNROLL {
        let (d, m) = (16 + copy % 8 * 4, 64 + copy % 4 * 16);
        let numbers = [("d", d), ("d1", d + 1), ("d3", d + 3), ("m", m), ("m15", m + 15)];
        let line = numbers.iter().fold(body.to_owned(), |line, (name, number)| {
            line.replace(&format!("{{{name}}}"), &number.to_string())
        });
        source += &line;
        source.push('\n');
    }
    source += "s_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 loop\n";
    let code = assemble(&source, Arch::Gfx950).expect("the loop assembles");
    let words: Vec<u32> =
        code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut wave = SingleWave::new(Arch::Gfx950, &words);
    for row in 0..256 {
        wave.set_vgpr(row, [0x3c00_3c00; 64]);
    }
    wave.set_sgpr(1, 1.5f32.to_bits());
    let mut run = move |turns| {
        wave.set_sgpr(0, turns);
        black_box(wave.run().expect("the loop runs"));
    };
    run(1);
    move || run(turns)
}

fn instructions(criterion: &mut Criterion) {
    println!("{:<26} {:>10} {:>10}", "one core", "M inst/s", "GFLOP/s");
    let mut group = criterion.benchmark_group("sim");
    group.sample_size(10).measurement_time(Duration::from_millis(500));
    group.warm_up_time(Duration::from_millis(100));
    for &(name, body, flop) in LOOPS {
        let turns = if name.starts_with("mfma") { 50 } else { 3000 };
        let mut run = looping(body, turns);
        let rate = f64::from(turns * UNROLL) / best(7, &mut run).as_secs_f64();
        println!("{name:<26} {:>10.1} {:>10.1}", rate / 1e6, rate * flop / 1e9);
        group.throughput(Throughput::Elements(u64::from(turns * UNROLL)));
        group.bench_function(name, |bencher| bencher.iter(&mut run));
    }
    group.finish();
}

kernel_args! {
    struct GemmArgs {
        a: DevicePtr<bf16>, b: DevicePtr<bf16>, c: DevicePtr<f32>, m: i32, n: i32, k: i32,
    }
}

/// The tiled test kernel on one device, with its operands.
struct Gemm {
    kernel: Function<GemmArgs>,
    a: Tensor<bf16>,
    b: Tensor<bf16>,
    c: Tensor<f32>,
    n: usize,
}

impl Gemm {
    fn new(device: &Device, n: usize) -> Self {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/gemm.hip");
        let code = compile_hip(source.as_ref(), device.arch(), &CompileOptions::default())
            .expect("the test kernel compiles");
        let stream = device.default_stream();
        let operand = |seed: usize| {
            let value = |i: usize| bf16::from_f32(((i * 31 + seed) % 17) as f32 / 8.0 - 1.0);
            let data: Vec<bf16> = (0..n * n).map(value).collect();
            Tensor::from_slice(&stream, &data, &[n, n]).expect("the operand fits")
        };
        Self {
            kernel: Module::load(device, &code.image)
                .and_then(|module| module.function("gemm"))
                .expect("the test kernel loads"),
            a: operand(0),
            b: operand(7),
            c: Tensor::filled(&stream, &[n, n], f32::NAN).expect("the result fits"),
            n,
        }
    }

    fn run(&mut self) {
        let n = self.n as i32;
        let stream = self.a.stream().clone();
        let (a, b, c) = (self.a.ptr(), self.b.ptr(), self.c.ptr_mut());
        let args = GemmArgs { a, b, c, m: n, n, k: n };
        let tiles = self.n as u32 / 128;
        let config = LaunchConfig {
            grid: [tiles, tiles, 1],
            block: [256, 1, 1],
            ..LaunchConfig::for_elements(0, 256)
        };
        // SAFETY: the operands are n by n as the kernel expects, and n is a multiple of its tile.
        unsafe { self.kernel.launch(&stream, config, &args) }.expect("the test kernel launches");
        stream.synchronize().expect("the test kernel runs");
    }

    /// Compares with the host's product of the same operands.
    fn check(&self, expected: &[f32]) {
        let got = self.c.to_vec().expect("the result comes back");
        let close = got.iter().zip(expected).filter(|(g, e)| (*g - *e).abs() <= 0.01).count();
        assert_eq!(close, expected.len(), "elements of the product are wrong");
    }
}

fn product(criterion: &mut Criterion) {
    const N: usize = 2048;
    let devices = ["sim:mi325x", "sim:mi355x"].map(|name| Device::open(name).expect("it opens"));
    let mut gemms = devices.each_ref().map(|device| Gemm::new(device, N));
    let [a, b] = [&gemms[0].a, &gemms[0].b].map(|operand| {
        let data = operand.to_vec().expect("the operand comes back");
        data.into_iter().map(f32::from).collect::<Vec<_>>()
    });
    let mut expected = vec![0.0; N * N];
    let host = best(3, || sgemm(N, &a, &b, &mut expected)).as_secs_f64();
    println!(
        "\n{:<26} {:>10} {:>10} {:>10}",
        "bf16 product of 2048 cubed", "s", "GFLOP/s", "ratio"
    );
    let row = |name: &str, seconds: f64| {
        let gflops = 2.0 * (N as f64).powi(3) / seconds / 1e9;
        println!("{name:<26} {seconds:>10.3} {gflops:>10.1} {:>10.2}", host / seconds);
    };
    row("host sgemm, one thread", host);

    let mut group = criterion.benchmark_group("sim/gemm_bf16/2048");
    group.sample_size(10);
    for (device, gemm) in devices.iter().zip(&mut gemms) {
        let times = [1, 2].map(|threads| {
            hk_sim::set_options(ExecOptions { threads, ..ExecOptions::default() });
            let time = best(3, || gemm.run()).as_secs_f64();
            gemm.check(&expected);
            row(&format!("{}, threads={threads}", device.name()), time);
            group.bench_function(format!("{}/threads={threads}", device.name()), |bencher| {
                bencher.iter(|| gemm.run());
            });
            time
        });
        println!("{}: two threads are {:.2} times one", device.name(), times[0] / times[1]);
    }
    group.finish();
    hk_sim::set_options(ExecOptions::default());
}

/// What the sanitizer costs: the same product with and without it, in one run.
fn sanitizer(criterion: &mut Criterion) {
    const N: usize = 1024;
    let row = |device: &str, checks: &str, seconds: f64, plain: f64| {
        println!("{device:<12} {checks:<28} {seconds:>10.4} {:>10.2}", seconds / plain);
    };
    println!("\n{:<12} {:<28} {:>10} {:>10}", "sanitizer", "checks", "s", "ratio");
    let mut group = criterion.benchmark_group("sim/sanitizer");
    group.sample_size(10);
    for name in ["sim:mi325x", "sim:mi355x"] {
        let device = Device::open(name).expect("it opens");
        let mut plain = None;
        for checks in ["none", "memory,lds,async,uninit", "all"] {
            let sanitize = checks.parse().expect("these are checks");
            hk_sim::set_options(Options { sanitize, ..Options::default() });
            // The operands are made anew, so that the sanitizer knows what was written.
            let mut gemm = Gemm::new(&device, N);
            gemm.run();
            let time = best(5, || gemm.run()).as_secs_f64();
            row(name, checks, time, *plain.get_or_insert(time));
            group.bench_function(format!("{name}/{checks}"), |bencher| {
                bencher.iter(|| gemm.run());
            });
        }
    }
    group.finish();
    hk_sim::set_options(ExecOptions::default());
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    instructions(&mut criterion);
    product(&mut criterion);
    sanitizer(&mut criterion);
    criterion.final_summary();
}
