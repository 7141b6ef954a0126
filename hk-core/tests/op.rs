//! Declared arguments: what is refused, whom the error names, and what a dry run tells.

#![cfg(feature = "sim")]

use hk_core::dtype::{E8M0, Element, F4x2E2M1, F8E4M3, F8E5M2Fnuz, bf16};
use hk_core::op::{Arguments, Call, Role, Strides, dry_run};
use hk_core::{Device, Error, Result, Stream, Tensor, TensorSlice};

fn stream() -> Stream {
    Device::open("sim:mi355x").unwrap().default_stream()
}

fn zeros<T: Element>(shape: &[usize]) -> Tensor<T> {
    Tensor::zeros(&stream(), shape).unwrap()
}

fn message<R: std::fmt::Debug>(result: Result<R>) -> String {
    result.expect_err("it is refused").to_string()
}

/// The arguments of a product with a bias, `y = x w^T + bias`, checked.
fn product(
    x: &TensorSlice<f32>,
    w: &TensorSlice<f32>,
    bias: Option<&TensorSlice<f32>>,
    y: &mut TensorSlice<f32>,
) -> Result<Call> {
    let mut args = Arguments::new("product");
    args.input("x", x, &["m", "k"]).rows()?;
    args.limit("k", 1..=64)?;
    args.input("w", w, &["n", "k"]).aligned(16).contiguous()?;
    if let Some(bias) = bias {
        args.input("bias", bias, &["m", "n"]).may_be("y").rows()?;
    }
    args.output("y", y, &["m", "n"]).rows()?;
    args.check()
}

#[test]
fn sizes_follow_from_the_first_argument_that_has_them() {
    let [x, w, bias, mut y] = [[4, 16], [8, 16], [4, 8], [4, 8]].map(|shape| zeros(&shape));
    product(&x, &w, Some(&bias), &mut y).unwrap();
    for (shapes, expected) in [
        (
            [&[4, 16, 1][..], &[8, 16], &[4, 8], &[4, 8]],
            "product: x: expected [m, k], got [4, 16, 1] (it is [m, k])",
        ),
        (
            [&[4, 16], &[8, 17], &[4, 8], &[4, 8]],
            "product: w: expected [n, 16], got [8, 17] (it is [n, k], k as in x [4, 16])",
        ),
        (
            [&[4, 0], &[8, 0], &[4, 8], &[4, 8]],
            "product: x: expected [m, k], got [4, 0] (k is 0, and must be at least 1)",
        ),
        (
            [&[4, 65], &[8, 65], &[4, 8], &[4, 8]],
            "product: x: expected [m, k], got [4, 65] (k is 65, and must be at most 64)",
        ),
        (
            [&[4, 16], &[8, 16], &[8, 4], &[4, 8]],
            "product: bias: expected [4, 8], got [8, 4] (it is [m, n], m as in x [4, 16], n as in w \
             [8, 16])",
        ),
        (
            [&[4, 16], &[8, 16], &[4, 8], &[32]],
            "product: y: expected [4, 8], got [32] (it is [m, n], m as in x [4, 16], n as in w \
             [8, 16])",
        ),
    ] {
        let [x, w, bias, mut y] = shapes.map(zeros);
        assert_eq!(message(product(&x, &w, Some(&bias), &mut y)), expected);
    }
}

#[test]
fn eight_bit_floats_are_those_of_the_chip_unless_any_will_do() {
    fn take<T: Element>(device: &str, portable: bool) -> Result<()> {
        let stream = Device::open(device).unwrap().default_stream();
        let q = Tensor::<T>::zeros(&stream, &[4]).unwrap();
        let mut args = Arguments::new("take");
        let argument = args.input("q", &q, &["n"]);
        if portable { argument.portable().contiguous() } else { argument.contiguous() }
    }
    let refused = message(take::<F8E4M3>("sim:mi325x", false));
    assert_eq!(refused, "take: q is of F8E4M3, which gfx942 has not; use F8E4M3Fnuz");
    assert!(take::<F8E5M2Fnuz>("sim:mi355x", false).is_err());
    for (device, portable) in [("sim:mi325x", true), ("sim:mi355x", false)] {
        take::<F8E4M3>(device, portable).unwrap();
    }
    take::<F8E5M2Fnuz>("sim:mi325x", false).unwrap();
    for device in ["sim:mi325x", "sim:mi355x"] {
        take::<E8M0>(device, false).unwrap();
    }
}

#[test]
fn leading_dimensions_are_any_number_and_the_same_everywhere() {
    fn rows(x: &[usize], w: &[usize], scale: &[usize], y: &[usize]) -> Result<[usize; 3]> {
        let [x, w, scale, mut y] = [x, w, scale, y].map(zeros::<f32>);
        let mut args = Arguments::new("rows");
        args.input("x", &x, &["..", "2", "n"]).rows()?;
        args.input("w", &w, &["n"]).contiguous()?;
        let [n] = args.sizes(["n"])?;
        args.define("ceil(n/32)", n.div_ceil(32));
        args.limit("ceil(n/32)", 1..=3)?;
        args.input("scale", &scale, &["..", "ceil(n/32)"]).contiguous()?;
        args.output("y", &mut y, &[".."]).contiguous()?;
        args.limit("..", 0..=35)?;
        let sizes = args.sizes(["..", "n", "ceil(n/32)"])?;
        args.check()?;
        Ok(sizes)
    }
    assert_eq!(rows(&[3, 5, 2, 33], &[33], &[3, 5, 2], &[3, 5]).unwrap(), [15, 33, 2]);
    assert_eq!(rows(&[2, 33], &[33], &[2], &[]).unwrap(), [1, 33, 2]);
    assert_eq!(rows(&[0, 2, 33], &[33], &[0, 2], &[0]).unwrap(), [0, 33, 2]);
    for (shapes, expected) in [
        ([&[33][..], &[33], &[2], &[]], "x: expected [.., 2, n], got [33] (it is [.., 2, n])"),
        (
            [&[4, 3, 33], &[33], &[4, 2], &[4]],
            "x: expected [.., 2, n], got [4, 3, 33] (it is [.., 2, n])",
        ),
        (
            [&[4, 2, 33], &[33], &[4, 1], &[4]],
            "scale: expected [4, 2], got [4, 1] (it is [.., ceil(n/32)], .. as in x [4, 2, 33])",
        ),
        (
            [&[4, 2, 33], &[33], &[5, 2], &[4]],
            "scale: expected [4, 2], got [5, 2] (it is [.., ceil(n/32)], .. as in x [4, 2, 33])",
        ),
        (
            [&[4, 2, 33], &[33], &[4, 2], &[2, 2]],
            "y: expected [4], got [2, 2] (it is [..], .. as in x [4, 2, 33])",
        ),
        (
            [&[6, 6, 2, 33], &[33], &[6, 6, 2], &[6, 6]],
            "x: expected [.., 2, n], got [6, 6, 2, 33] (the number of rows is 36, and must be at \
             most 35)",
        ),
        ([&[2, 97], &[97], &[4], &[]], "ceil(n/32): must be at most 3, got 4"),
    ] {
        let [x, w, scale, y] = shapes;
        assert_eq!(message(rows(x, w, scale, y)), format!("rows: {expected}"));
    }
}

#[test]
fn a_size_that_no_argument_has_is_an_error() {
    let args = Arguments::new("op");
    assert_eq!(message(args.sizes(["n"])), "op: n: must be a size of an argument, got none");
    assert_eq!(message(args.limit("n", 0..=1)), "op: n: must be a size of an argument, got none");
    assert!(matches!(args.check(), Err(Error::Value { arg: "arguments", .. })));
}

#[test]
fn layouts_are_those_that_the_op_takes() {
    let declare = |tensor: &TensorSlice<bf16>, how: Strides| -> Result<Vec<i64>> {
        let mut args = Arguments::new("op");
        let x = args.input("x", tensor, &["..", "n"]);
        Ok(match how {
            Strides::Contiguous => x.contiguous().map(|()| vec![])?,
            Strides::Rows => vec![x.rows()?],
            Strides::Adjacent => x.adjacent::<3>()?.to_vec(),
            Strides::Any => x.strides::<3>()?.to_vec(),
        })
    };
    let whole = zeros::<bf16>(&[4, 6, 8]);
    assert_eq!(declare(&whole, Strides::Rows).unwrap(), [8]);
    assert!(declare(&whole, Strides::Contiguous).is_ok());
    let columns = whole.narrow(2, 2..6).unwrap();
    assert_eq!(declare(&columns, Strides::Rows).unwrap(), [8]);
    assert_eq!(
        message(declare(&columns, Strides::Contiguous)),
        "op: x: expected no gaps between elements, got strides [48, 8, 1] of shape [4, 6, 4]"
    );
    let uneven = whole.narrow(1, 0..5).unwrap();
    assert_eq!(declare(&uneven, Strides::Any).unwrap(), [48, 8, 1]);
    assert_eq!(
        message(declare(&uneven, Strides::Rows)),
        "op: x: expected adjacent elements in evenly spaced rows, got strides [48, 8, 1] of shape \
         [4, 5, 8]"
    );
    assert_eq!(declare(&uneven, Strides::Adjacent).unwrap(), [48, 8, 1]);
    let turned = whole.permute(&[2, 0, 1]).unwrap();
    let error = declare(&turned, Strides::Adjacent).unwrap_err();
    assert!(matches!(error, Error::Stride { arg: "x", .. }), "{error}");
    assert_eq!(declare(&turned, Strides::Any).unwrap(), [1, 48, 8]);
    let error = declare(&turned, Strides::Rows).unwrap_err();
    assert!(matches!(error, Error::Stride { arg: "x", .. }), "{error}");
    let repeated = whole.index(0).unwrap();
    let repeated = repeated.slice(0..1).unwrap().broadcast(&[4, 6, 8]).unwrap();
    assert_eq!(declare(&repeated, Strides::Any).unwrap(), [0, 0, 1]);
    assert_eq!(declare(&repeated, Strides::Rows).unwrap(), [0]);
    // But what is written has a place of its own for every element.
    // SAFETY: nothing is launched.
    let mut repeated = unsafe { repeated.alias() };
    let error = Arguments::new("op").output("y", &mut repeated, &["..", "n"]).rows().unwrap_err();
    assert!(matches!(error, Error::Stride { arg: "y", .. }), "{error}");
    let flat = whole.reshape(&[24, 8]).unwrap();
    let error = declare(&flat, Strides::Any).unwrap_err();
    assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
}

#[test]
fn alignment_and_values_are_checked() {
    let whole = zeros::<f32>(&[64]);
    let w = whole.slice(1..17).unwrap().reshape(&[1, 16]).unwrap();
    let (x, mut y) = (zeros(&[2, 16]), zeros(&[2, 1]));
    let error = product(&x, &w, None, &mut y).expect_err("w is not aligned");
    let Error::Value { arg: "w", constraint, .. } = &error else { panic!("{error}") };
    assert_eq!(constraint, "aligned to 16 bytes");
    let w = whole.slice(4..20).unwrap().reshape(&[1, 16]).unwrap();
    product(&x, &w, None, &mut y).unwrap();
    let args = Arguments::new("op");
    assert!(args.require(true, "eps", "positive", 1.0).is_ok());
    let refused = args.require(false, "eps", "positive", -1.0);
    assert_eq!(message(refused), "op: eps: must be positive, got -1");
}

#[test]
fn outputs_share_memory_only_as_declared() {
    let memory = zeros::<f32>(&[16, 16]);
    let part = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| {
        let part = memory.slice(rows).unwrap().narrow(1, columns).unwrap();
        // SAFETY: nothing is launched.
        unsafe { part.alias() }
    };
    let (x, w) = (zeros(&[4, 16]), zeros(&[8, 16]));
    // In place, beside, and partly over the bias.
    let bias = part(0..4, 0..8);
    product(&x, &w, Some(&bias), &mut part(0..4, 0..8)).unwrap();
    product(&x, &w, Some(&bias), &mut part(0..4, 8..16)).unwrap();
    for mut y in [part(1..5, 0..8), part(0..4, 1..9)] {
        let error = product(&x, &w, Some(&bias), &mut y).expect_err("it overlaps");
        assert!(matches!(error, Error::Alias { op: "product", a: "y", b: "bias" }), "{error}");
    }
    // What may not be the output may not be even the same view.
    let mut square = zeros::<f32>(&[8, 8]);
    let (read, mut write) = square.in_place();
    let error = product(&read, &zeros(&[8, 8]), None, &mut write).unwrap_err();
    assert!(matches!(error, Error::Alias { a: "y", b: "x", .. }), "{error}");
    // Inputs may be one.
    product(&square, &square, Some(&square), &mut zeros(&[8, 8])).unwrap();

    let two_outputs = |mut a: Tensor<f32>, mut b: Tensor<f32>| {
        let mut args = Arguments::new("op");
        args.output("a", &mut a, &["m", "n"]).rows()?;
        args.output("b", &mut b, &["m", "n"]).rows()?;
        args.check()
    };
    two_outputs(part(0..4, 0..8), part(0..4, 8..16)).unwrap();
    for b in [part(0..4, 0..8), part(3..7, 7..15)] {
        let error = two_outputs(part(0..4, 0..8), b).expect_err("it overlaps");
        assert!(matches!(error, Error::Alias { a: "b", b: "a", .. }), "{error}");
    }
}

#[test]
fn arguments_are_on_one_stream() {
    let device = Device::open("sim:mi355x").unwrap();
    let (other, elsewhere) = (device.new_stream().unwrap(), Device::open("sim:mi325x").unwrap());
    let (x, mut y) = (zeros(&[4, 16]), zeros(&[4, 8]));
    let w = Tensor::zeros(&other, &[8, 16]).unwrap();
    let error = product(&x, &w, None, &mut y).expect_err("w is on another stream");
    assert!(matches!(error, Error::Stream { a: "x", b: "w", .. }), "{error}");
    let w = Tensor::zeros(&elsewhere.default_stream(), &[8, 16]).unwrap();
    assert_eq!(
        message(product(&x, &w, None, &mut y)),
        "product: x on sim:mi355x and w on sim:mi325x are on different devices"
    );
}

#[test]
fn a_dry_run_tells_what_is_called_and_launches_nothing() {
    let [x, w, mut y] = [[4, 16], [8, 16], [4, 8]].map(|shape| zeros(&shape));
    let (bias, mut y) = y.in_place();
    let mut launched = 0;
    let mut run = |w: &Tensor<f32>| {
        product(&x, w, Some(&bias), &mut y)?.submit(|_| {
            launched += 1;
            Ok(())
        })
    };
    let (result, calls) = dry_run(|| run(&w));
    result.unwrap();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    let told: Vec<_> = call.arguments.iter().map(|of| (of.name, of.role, of.strides)).collect();
    let expected = [
        ("x", Role::Input, Strides::Rows),
        ("w", Role::Input, Strides::Contiguous),
        ("bias", Role::Input, Strides::Rows),
        ("y", Role::Output, Strides::Rows),
    ];
    assert_eq!((call.op, &told[..]), ("product", &expected[..]));
    let w_info = &call.arguments[1];
    assert_eq!(
        (w_info.dims, &w_info.shape[..], w_info.alignment),
        (&["n", "k"][..], &[8, 16][..], 16)
    );
    assert_eq!(call.arguments[2].may_be, Some("y"));

    // What is refused is no call; afterwards calls are made again, also after a panic.
    let (refused, calls) = dry_run(|| run(&zeros(&[8, 15])));
    assert!(refused.is_err() && calls.is_empty());
    let panicked = std::panic::catch_unwind(|| dry_run(|| panic!("in a dry run")));
    assert!(panicked.is_err());
    run(&w).unwrap();
    assert_eq!(launched, 1);
}

#[test]
fn packed_elements_are_counted_as_elements() {
    let codes = zeros::<F4x2E2M1>(&[4, 64]);
    let mut args = Arguments::new("op");
    assert_eq!(args.input("codes", &codes, &["m", "k"]).rows().unwrap(), 64);
    assert_eq!(args.sizes(["m", "k"]).unwrap(), [4, 64]);
}
