use super::*;
use crate::guarded::Placement;

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
    Case::new(info(), move |stream| {
        let memory = Guarded::<f32>::new(stream, 1, 4, Placement::default())?;
        let y = memory.matrix()?;
        let mut run = 0;
        let launch = move || {
            let row = values(run);
            run += 1;
            let mut part = y.narrow(1, 0..row.len())?;
            part.write(&row)
        };
        let expected = Expected::exact(expected.clone());
        Ok(Prepared::new(launch).output("y", memory, None, expected))
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
    let refused = Case::new(info(), |stream| {
        hk_core::Tensor::<f32>::from_slice(stream, &[1.0], &[2])?;
        Ok(Prepared::new(|| Ok(())))
    });
    assert!(run(&refused).failure.unwrap().starts_with("error: "));
}
