use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3Fnuz, bf16, decode};
use hk_core::op::Arguments;
use hk_core::{FindingKind, TensorSlice};

use super::*;
use crate::draw::Draw;
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

/// What is wrong with an op, apart from its arguments.
#[derive(Clone, Copy)]
enum Flaw {
    None,
    /// It writes before it checks.
    Hasty,
    /// It blames its first argument for everything.
    Unjust,
    /// It makes do with what is wrong.
    Lenient,
}

/// `y = x + bias / eps`, with a copy of x that may be x.
fn add(
    x: &TensorSlice<f32>,
    bias: &TensorSlice<f32>,
    eps: f32,
    y: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut args = Arguments::new("add");
    args.input("x", x, &["..", "n"]).may_be("y").rows()?;
    args.input("bias", bias, &["n"]).contiguous()?;
    args.output("y", y, &["..", "n"]).rows()?;
    args.limit("n", 1..=100)?;
    args.require(eps > 0.0 && eps.is_finite(), "eps", "positive and finite", eps)?;
    args.check()?.submit(|_| Ok(()))
}

fn adding_case(flaw: Flaw) -> Case {
    let info = CaseInfo::new("add", "add", "plain", &[DType::F32], &[3, 2, 4]);
    Case::new(info, move |s| {
        let x = s.input::<f32>("x", &[3, 2, 4], Draw::Normal);
        let bias = s.input::<f32>("bias", &[4], Draw::Normal);
        let y = s.output::<f32>("y", &[3, 2, 4], Expected::default());
        let eps = s.number("eps", 0.5, NOT_POSITIVE);
        s.call(move || {
            let (x, bias, mut y) = (x.get(), bias.get(), y.get());
            let result = add(&x, &bias, eps.get(), &mut y);
            match (flaw, &result) {
                (Flaw::Hasty, Err(_)) => y.fill(0.0)?,
                (Flaw::Unjust, Err(Error::Shape { .. })) => {
                    return Err(Error::shape("add", "x", &[], &[], "it is wrong"));
                }
                (
                    Flaw::Lenient,
                    Err(Error::Stride { .. } | Error::Alias { .. } | Error::Value { .. }),
                ) => return Ok(()),
                _ => {}
            }
            result
        });
    })
}

#[test]
fn wrong_calls_must_be_refused_by_name_with_outputs_untouched() {
    let devices = devices(&Arch::ALL).unwrap();
    let found = |flaw| rejections::failures("add", &[adding_case(flaw)], &devices[0], &devices);
    assert_eq!(found(Flaw::None), "");
    let hasty = found(Flaw::Hasty);
    assert!(hasty.contains("y[0] is 0.0 but was") && hasty.contains("y was written"), "{hasty}");
    let unjust = found(Flaw::Unjust);
    for what in ["bias of shape [1, 4]", "bias of shape [5]", "y of shape [3, 1, 4]"] {
        assert!(unjust.contains(what), "{what}: {unjust}");
    }
    let lenient = found(Flaw::Lenient);
    for what in [
        "bias with Spread",
        "x with Spread",
        "y with Repeated",
        "y over x",
        "y over bias",
        "eps = 0",
        "eps = NaN",
        "eps = inf",
    ] {
        assert!(lenient.contains(&format!("{what} was accepted")), "{what}: {lenient}");
    }
}

#[test]
fn elements_of_another_chip_must_be_refused() {
    let devices = devices(&Arch::ALL).unwrap();
    let found = |is_strict: bool| {
        let info = CaseInfo::new("negate", "negate", "plain", &[DType::F8E4M3Fnuz], &[4]);
        let case = Case::new(CaseInfo { arch: Some(Arch::Gfx942), ..info }, move |s| {
            let x = s.input::<F8E4M3Fnuz>("x", &[4], Draw::Codes);
            s.call(move || {
                let x = x.get();
                let mut args = Arguments::new("negate");
                match is_strict {
                    true => args.input("x", &x, &["n"]).contiguous()?,
                    false => args.input("x", &*x.bitcast::<i8>()?, &["n"]).contiguous()?,
                }
                args.check()?.submit(|_| Ok(()))
            });
        });
        let device = devices.iter().find(|device| device.arch() == Arch::Gfx950);
        rejections::failures("negate", &[case], device.expect("all chips"), &devices)
    };
    let said = "elements of another chip";
    assert!(found(false).contains(said) && !found(true).contains(said));
}

/// Tensors of every kind, whose op does nothing but look at what it is given.
#[test]
fn tensors_lie_where_the_op_takes_them() {
    let place = Placement::DENSE.gap(3).shift(1);
    let info = CaseInfo::new("look", "look", "plain", &[DType::F32], &[2, 3, 4]);
    let case = Case::new(info, |s| {
        let x = s.input::<f32>("x", &[2, 3, 4], Draw::Normal);
        let any = s.input::<bf16>("any", &[4, 3, 2], Draw::Normal).order(&[2, 1, 0]);
        let scale = s.input::<E8M0>("scale", &[2, 3], Draw::Powers(-3, 3));
        let codes = s.input::<F4x2E2M1>("codes", &[2, 4], Draw::Codes);
        let state = s.output::<i32>("state", &[5], Expected::exact(vec![7.0; 5]));
        let (state, x_numbers) = (state.holding(vec![7; 5]), x.numbers());
        s.call(move || {
            let (x, any, scale, codes, mut state) =
                (x.get(), any.get(), scale.get(), codes.get(), state.get());
            let mut args = Arguments::new("look");
            let row = args.input("x", &x, &["a", "b", "c"]).rows()?;
            let strides = args.input("any", &any, &["c", "b", "a"]).strides::<3>()?;
            args.input("scale", &scale, &["a", "b"]).aligned(4).contiguous()?;
            let pairs = args.input("codes", &codes, &["a", "c"]).rows()?;
            args.output("state", &mut state, &["5"]).contiguous()?;
            let mut is_dry = true;
            args.check()?.submit(|_| {
                is_dry = false;
                Ok(())
            })?;
            if !is_dry {
                assert_eq!((row, strides, pairs), (7, [1, 15, 60], 24));
                assert_eq!(decode(&x.to_vec()?), x_numbers);
                assert_eq!(x.ptr().address() % 16, 4);
            }
            Ok(())
        });
    });
    let report = run(&case.place(place));
    assert_eq!(report.failure, None);
}

#[test]
fn an_input_that_is_written_fails() {
    let info = CaseInfo::new("look", "look", "plain", &[DType::F32], &[4]);
    let case = Case::new(info, |s| {
        let x = s.input::<f32>("x", &[4], Draw::Uniform);
        s.call(move || x.get().write(&[0.0; 4]));
    });
    assert!(run(&case).failure.unwrap().contains("before the call"));
}

#[test]
fn in_place_means_the_output_that_the_input_may_be() {
    let case = || {
        let info = CaseInfo::new("add", "add", "plain", &[DType::F32], &[3, 4]);
        Case::new(info, |s| {
            let x = s.input::<f32>("x", &[3, 4], Draw::Normal);
            let bias = s.input::<f32>("bias", &[4], Draw::Normal);
            let y = s.output::<f32>("y", &[3, 4], Expected::exact(x.numbers()));
            s.call(move || add(&x.get(), &bias.get(), 0.5, &mut y.get()));
        })
    };
    assert_eq!(run(&case().in_place(true)).failure, None, "y holds x");
    assert!(!run(&case()).pass, "nobody writes y");
}
