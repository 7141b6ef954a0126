//! Every op that `hipkittens bench` times, a group per module: on simulated devices in small and by the host's
//! clock; on a GPU, if there is one, at the shapes of models and by its own clock. Then what a router does for
//! few and for many tokens over the experts of models: elements per second are tokens.
//!
//! `cargo bench -p hk-benches --bench ops -- FILTER`

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use hipkittens::problems::{Family, Problem, families};
use hk_core::Device;

/// The table of modules, which has the ops of each.
const MODULES: &str = include_str!("../../docs/modules.md");

const SIMULATED: [&str; 2] = ["sim:mi325x", "sim:mi355x"];
const GPU: &str = "hip:0";

/// Times a problem on a device.
fn time(group: &mut BenchmarkGroup<'_, WallTime>, problem: &Problem, device: &Device) {
    let stream = device.default_stream();
    // Made ready only if it is asked for.
    let mut launch = None;
    group.bench_function(BenchmarkId::new(device.name(), problem.title()), |bencher| {
        let launch = launch.get_or_insert_with(|| (problem.prepare)(&stream).expect("it is ready"));
        if device.is_simulated() {
            bencher.iter(|| {
                launch().expect("it launches");
                stream.synchronize().expect("it runs");
            });
        } else {
            bencher.iter_custom(|count| {
                let start = stream.record().expect("an event");
                (0..count).for_each(|_| launch().expect("it launches"));
                let stop = stream.record().expect("an event");
                stream.synchronize().expect("it runs");
                start.elapsed(&stop).expect("both have passed")
            });
        }
    });
}

/// Each module's ops.
fn modules(criterion: &mut Criterion, simulated: &[Device], gpu: Option<&Device>) {
    let mut families = families();
    for line in MODULES.lines().filter(|line| line.starts_with("| `")) {
        let names: Vec<_> = line.split('`').skip(1).step_by(2).collect();
        let (of_module, others): (Vec<_>, Vec<_>) =
            families.into_iter().partition(|family| names[1..].contains(&family.op()));
        families = others;
        let mut group = criterion.benchmark_group(names[0]);
        for family in of_module {
            let small = family.small();
            let amount = |problem: &Problem| match problem.is_arithmetic() {
                true => Throughput::Elements(problem.flops as u64),
                false => Throughput::Bytes(problem.bytes as u64),
            };
            group.throughput(amount(&small));
            simulated.iter().for_each(|device| time(&mut group, &small, device));
            let Some(gpu) = gpu else { continue };
            for problem in family.problems() {
                group.throughput(amount(&problem));
                time(&mut group, &problem, gpu);
            }
        }
        group.finish();
    }
    let left: Vec<_> = families.iter().map(Family::op).collect();
    assert!(left.is_empty(), "ops of no module in docs/modules.md: {left:?}");
}

/// Experts, and how many a token has: of Mixtral, GPT-OSS, DeepSeek-V3 and Qwen3-Next.
const MODELS: [[usize; 2]; 4] = [[8, 2], [128, 4], [256, 8], [512, 10]];
/// Steps from logits to what products of experts take.
const ROUTER: [&str; 5] = [
    "moe_topk",
    "moe_align_block_size",
    "sum_bitmatrix_rows_fused",
    "expt_data_compute",
    "routing",
];

/// Work that grows with the tokens, whatever the experts.
fn experts(criterion: &mut Criterion, devices: &[Device]) {
    let mut group = criterion.benchmark_group("experts of models");
    for family in families().iter().filter(|family| ROUTER.contains(&family.op())) {
        for [experts, k] in MODELS {
            for tokens in [64, 256] {
                let shape = match family.op() {
                    "sum_bitmatrix_rows_fused" => format!("{tokens}x{experts}"),
                    _ => format!("{tokens}x{experts}x{k}"),
                };
                let problem = family.shaped(&shape).expect("these are its sizes");
                group.throughput(Throughput::Elements(tokens));
                devices.iter().for_each(|device| time(&mut group, &problem, device));
            }
        }
    }
    group.finish();
}

fn main() {
    let (few, shortly) = (Duration::from_millis(200), Duration::from_secs(1));
    let criterion = Criterion::default().sample_size(10).warm_up_time(few);
    let mut criterion = criterion.measurement_time(shortly).configure_from_args();
    let simulated = SIMULATED.map(|name| Device::open(name).expect("it is simulated"));
    let gpu = Device::open(GPU).ok();
    modules(&mut criterion, &simulated, gpu.as_ref());
    experts(&mut criterion, &simulated);
    criterion.final_summary();
}
