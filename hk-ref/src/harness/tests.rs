use hk_core::FindingKind;
use hk_core::op::Arguments;

use super::*;
use crate::expected::Expected;

fn info() -> CaseInfo {
    CaseInfo {
        module: "count",
        op: "count",
        case: "plain".into(),
        dtype: "f32".into(),
        shape: vec![4],
        size: Size::Quick,
        arch: None,
    }
}

/// A case whose op stores `values(run)` with `store`.
fn case(
    values: impl Fn(usize) -> Vec<f32> + Send + Sync + Copy + 'static,
    expected: Vec<f64>,
) -> Case {
    Case::new(info(), move |s| {
        let y = s.output::<f32>("y", &[4], Expected::exact(expected.clone()));
        let mut run = 0;
        s.call(move || {
            let row = values(run);
            run += 1;
            y.get().narrow_mut(0, 0..row.len())?.write(&row)
        });
    })
}

fn run(case: &Case) -> Report {
    case.run(&devices(&[Arch::Gfx950]).unwrap()[0])
}

#[test]
fn a_right_result_passes() {
    let report = run(&case(|_| vec![1.0, 2.0, 3.0, 4.0], vec![1.0, 2.0, 3.0, 4.0]));
    assert!(report.pass, "{report:?}");
    assert_eq!((report.max_abs_err, report.rel_err), (Some(0.0), Some(0.0)));
}

#[test]
fn a_wrong_element_fails() {
    let report = run(&case(|_| vec![1.0, 2.5, 3.0, 4.0], vec![1.0, 2.0, 3.0, 4.0]));
    assert!(!report.pass);
    assert_eq!(report.max_abs_err, Some(0.5));
    assert!(report.failure.unwrap().contains("y[1]"));
}

#[test]
fn an_element_that_is_not_written_fails_whatever_the_reference() {
    let report = run(&case(|_| vec![1.0, 2.0, 3.0], vec![1.0, 2.0, 3.0, f64::NAN]));
    assert!(report.failure.unwrap().contains("y[3]"));
}

#[test]
fn results_that_vary_fail() {
    let report = run(&case(|run| vec![run as f32; 4], vec![0.0; 4]));
    assert!(report.failure.unwrap().contains("in the first run"));
}

#[test]
fn an_error_of_the_op_is_reported() {
    let refused = Case::new(info(), |s| {
        let y = s.output::<f32>("y", &[4], Expected::default());
        s.call(move || y.get().write(&[1.0]));
    });
    assert!(run(&refused).failure.unwrap().starts_with("error: "));
}

const RACE: &str = r#"
#include "hk/hip.h"

extern "C" __global__ void race(float* y) {
  static __shared__ volatile float lds[4];
  unsigned i = hk::global_idx();
  if (i < 4) {
    lds[i] = i;
    y[i] = lds[i];
  } else {
    lds[i % 4];
  }
}
"#;

hk_core::kernel_args! {
    struct RaceArgs { y: hk_core::DevicePtr<f32> }
}

/// A case whose kernel is right under every schedule, and still wrong: one wave writes LDS that the
/// other reads, and nothing orders them.
fn racing_case() -> Case {
    Case::new(info(), |s| {
        let (stream, expected) = (s.stream().clone(), Expected::exact(vec![0.0, 1.0, 2.0, 3.0]));
        let options = hk_build::CompileOptions::default().include(hk_core::INCLUDE);
        let code = hk_build::compile_source(RACE, Arch::Gfx950, &options).unwrap();
        let module = hk_core::Module::load(stream.device(), &code.image).unwrap();
        let kernel = module.function::<RaceArgs>("race").unwrap();
        let y = s.output::<f32>("y", &[4], expected);
        s.call(move || {
            let mut y = y.get();
            let mut args = Arguments::new("race");
            args.output("y", &mut y, &["n"]).contiguous()?;
            let (call, args) = (args.check()?, RaceArgs { y: y.ptr() });
            let config = hk_core::LaunchConfig::for_elements(128, 128);
            // SAFETY: the kernel writes the four elements of y.
            call.submit(|stream| unsafe { kernel.launch(stream, config, &args) })
        });
    })
}

#[test]
fn findings_of_the_sanitizer_fail_the_case_and_are_named() {
    let device = &devices(&[Arch::Gfx950]).unwrap()[0];
    let report = racing_case().run(device);
    assert!(report.pass && report.sanitizer.is_none(), "{report:?}");
    let report = racing_case().run_sanitized(device, FindingKind::Race.into());
    assert!(!report.pass);
    let found = report.sanitizer.unwrap();
    assert!(found[0].starts_with("race: ") && found[0].contains("LDS"), "{found:?}");
    // It was on for this case alone.
    assert!(racing_case().run(device).pass);
    let report = racing_case().run_sanitized(device, FindingKind::Async.into());
    assert!(report.pass && report.sanitizer == Some(Vec::new()), "{report:?}");
}

/// Cases of every outcome, among many, in an order that one can tell.
#[test]
fn cases_on_all_cores_report_in_their_order() {
    let device = &devices(&[Arch::Gfx950]).unwrap()[0];
    let cases: Vec<Case> = (0..75)
        .map(|i| match i {
            7 => case(|run| vec![run as f32; 4], vec![0.0; 4]),
            20 => Case::new(info(), |_| panic!("of case 20")),
            33 => racing_case(),
            _ => case(|_| vec![1.0; 4], vec![1.0; 4]),
        })
        .enumerate()
        .map(|(i, case)| Case { info: CaseInfo { shape: vec![i], ..case.info }, ..case })
        .collect();
    let cases: Vec<&Case> = cases.iter().collect();
    let mut shapes = Vec::new();
    run_cases(device, &cases, Checks::from(FindingKind::Race).into(), |case, report| {
        assert_eq!(case.info.shape, report.shape);
        let at = report.shape[0];
        let failure = report.failure.unwrap_or_default();
        match at {
            7 => assert!(failure.contains("in the first run"), "{failure}"),
            20 => assert_eq!(failure, "panic: of case 20"),
            33 => assert!(failure.contains("race: "), "{failure}"),
            _ => assert_eq!(failure, "", "case {at}"),
        }
        shapes.push(at);
        if at == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(shapes, (0..=70).collect::<Vec<_>>());
}
