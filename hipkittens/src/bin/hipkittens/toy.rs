//! The measures of the cases' strength, on a small kernel whose cases are weak in known ways.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_build::{CompileOptions, compile_hip};
use hk_core::dtype::DType;
use hk_core::kernel::{CodeObjectImage, Kernel, KernelSet, Param, Resources, TileConfig};
use hk_core::op::Arguments;
use hk_core::{Device, DevicePtr, kernel_args};
use hk_ref::{Case, CaseInfo, Expected};
use hk_sim::alter::{Kind, alterations};
use hk_sim::isa::Arch;
use miniz_oxide::deflate::compress_to_vec_zlib;

use crate::cores::{self, Core, CoreKernel, Instruction};
use crate::coverage::{Watch, figures};
use crate::reasons::{Reason, Reasons, Sources};
use crate::values::worker::{Outcome, Run, judge, patch};

/// `y = x + 3`, but 0 where x is above `limit`, and doubled where `twice` says so.
const SOURCE: &str = r#"
#include "hk/hip.h"

struct ToyArgs {
  const int* x;
  int* y;
  int limit;
  int twice;
};

__device__ inline int changed(const ToyArgs& args, int x) {
  int result = x + 3;
  if (x > args.limit) result = 0;  // the choice
  if (args.twice != 0) {
    __builtin_amdgcn_s_sleep(1);  // keeps the branch
    result *= 2;
  }
  return result;
}

extern "C" __global__ void toy(ToyArgs args) {
  int i = __builtin_amdgcn_workitem_id_x();
  args.y[i] = changed(args, args.x[i]);
}
"#;

kernel_args! {
    struct ToyArgs { x: DevicePtr<i32>, y: DevicePtr<i32>, limit: i32, twice: i32 }
}

const LANES: i32 = 64;
const LIMIT: i32 = 40;

/// The toy's kernels, which stay for the process.
fn kernels(folder: &Path) -> &'static KernelSet {
    let path = folder.join("toy.hip");
    fs::write(&path, SOURCE).unwrap();
    // The line tables join the names with the folder of the compilation.
    let here = std::env::current_dir().unwrap();
    let options = CompileOptions::default().include(hk_core::INCLUDE).root(folder).root(here);
    let code = compile_hip(&path, Arch::Gfx950, &options).unwrap();
    let tile = TileConfig {
        name: "any",
        symbol: "toy",
        image: CodeObjectImage {
            arch: "gfx950",
            packed: compress_to_vec_zlib(&code.image, 6).leak(),
            size: code.image.len(),
        },
        threads: LANES as u32,
        dynamic_lds: 0,
        params: &[] as &[(&str, Param)],
        when: &[],
        resources: Resources::default(),
    };
    let kernel =
        Kernel { arch: "gfx950", core: "toy", variant: "", dims: &[], tiles: vec![tile].leak() };
    Box::leak(Box::new(KernelSet { package: "toys", kernels: vec![kernel].leak() }))
}

/// A case with `x` from `first` on.
fn case(set: &'static KernelSet, first: i32) -> Case {
    let info =
        CaseInfo::new("toy", "toy", format!("from {first}"), &[DType::I32], &[LANES as usize]);
    Case::new(info, move |s| {
        let x: Vec<i32> = (first..first + LANES).collect();
        let y = x.iter().map(|&x| if x > LIMIT { 0.0 } else { f64::from(x + 3) }).collect();
        let x = s.given("x", &[LANES as usize], x);
        let y = s.output::<i32>("y", &[LANES as usize], Expected::exact(y));
        s.call(move || {
            let (x, mut y) = (x.get(), y.get());
            let mut args = Arguments::new("toy");
            args.input("x", &x, &["n"]).contiguous()?;
            args.output("y", &mut y, &["n"]).contiguous()?;
            let call = args.check()?;
            let args = ToyArgs { x: x.ptr(), y: y.ptr_mut(), limit: LIMIT, twice: 0 };
            let toy = set.function::<ToyArgs>(call.device(), "toy", "toy", "", &[])?;
            // SAFETY: each lane accesses its element of x and y, which have as many.
            call.submit(|stream| unsafe { toy.launch(stream, [1, 1, 1], &args) })
        });
    })
}

fn core_of(set: &KernelSet) -> Core {
    let tile = &set.kernels[0].tiles[0];
    let kernels = vec![CoreKernel { arch: "gfx950", tile }];
    Core { package: "toys", name: "toy", kernels }
}

const REASON: &str = r#"
[[coverage]]
core = "toy"
file = "toy.hip"
line = "keeps the branch"
reason = "nobody asks for it"
"#;

/// The simulator has one setting for the process, so tests run one after another.
static RUNNING: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn what_no_case_executes_is_a_gap_unless_a_reason_says_why() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let set = kernels(folder.path());
    let device = Device::open("sim:mi355x").unwrap();
    let core = core_of(set);
    let sources = Sources::of_folders([folder.path()]);
    let mut watch = Watch::new();
    watch.watch(&device);
    assert_eq!(case(set, 0).run(&device).failure, None);

    let found = figures(&watch, &core, &Reasons::default(), &sources).unwrap();
    let line = |text: &str| 1 + SOURCE.lines().position(|line| line.contains(text)).unwrap() as u32;
    let gap_at = |text: &str, what: &str| {
        found.gaps.iter().any(|gap| {
            gap.what() == what && gap.place.lines.iter().any(|(_, at, _)| *at == line(text))
        })
    };
    assert!(gap_at("keeps the branch", "never executed"));
    assert!(gap_at("args.twice != 0", "always jumps") || gap_at("args.twice != 0", "never jumps"));
    assert!(!gap_at("x + 3", "never executed"));
    assert_eq!(found.defects(), found.gaps.len());

    let reasons = Reasons::parse("toys", REASON).unwrap();
    let explained = figures(&watch, &core, &reasons, &sources).unwrap();
    assert_eq!(explained.gaps.len(), found.gaps.len());
    assert!(explained.defects() < found.defects() && explained.defects() > 0);
    assert_eq!(Reason::complain(&reasons.coverage, "toy", Reason::is_idle), 0);
    let unneeded =
        Reasons::parse("toys", &REASON.replace("keeps the branch", "no such line")).unwrap();
    assert_eq!(figures(&watch, &core, &unneeded, &sources).unwrap().defects(), found.defects());
    assert_eq!(Reason::complain(&unneeded.coverage, "toy", Reason::is_idle), 1);
}

#[test]
fn a_kernel_that_no_case_launches_is_a_defect() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let core = core_of(kernels(folder.path()));
    let mut watch = Watch::new();
    watch.watch(&Device::open("sim:mi355x").unwrap());
    let sources = Sources::of_folders([folder.path()]);
    let found = figures(&watch, &core, &Reasons::default(), &sources).unwrap();
    assert_eq!(found.unlaunched, 1);
    assert!(found.gaps.len() == found.places && found.defects() > 0);
}

#[test]
fn an_altered_comparison_survives_until_a_case_has_the_limit() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let set = kernels(folder.path());
    let device = Device::open("sim:mi355x").unwrap();
    let core = core_of(set);
    let code = cores::code(&core.kernels[0]).unwrap();
    let altered = code.possible.iter().find_map(|Instruction { placed, .. }| {
        let mut all = alterations(Arch::Gfx950, &placed.inst).into_iter();
        let compare = all.find(|altered| altered.change.kind == Kind::Compare)?;
        placed.inst.info.op.name().starts_with("v_cmp").then_some((placed, compare))
    });
    let (placed, compare) = altered.expect("the choice is a comparison of lanes");
    let image = core.kernels[0].tile.image;
    let mut mutant = (image, image.unpack().unwrap());
    patch(&mut mutant.1, &[(placed.position, compare.words().to_vec())]).unwrap();
    let judged = |cases: &[&Case]| {
        let cases = cases.iter().copied();
        let run = |case| Run { device: &device, case, budget: 1 << 20, code: vec![&mutant] };
        judge(&cases.map(run).collect::<Vec<_>>()).unwrap()
    };
    let before = hk_sim::options();
    let [weak, strong] = [case(set, LIMIT + 1), case(set, 0)];
    let survived = judged(&[&weak]);
    assert_eq!((survived.outcome, survived.case), (Outcome::Survived, None));
    let caught = judged(&[&weak, &strong]);
    assert_eq!((caught.outcome, caught.cases), (Outcome::Parity, 2));
    assert_eq!(caught.case, Some(strong.info.title()));
    hk_sim::set_options(before);
}
