//! `moe_op_gemm_a8w8` against its reference, and what it refuses.

use hk_core::dtype::Element;
use hk_core::{Arch, Device, Error, Result, Stream, TensorSlice, TensorView};
use hk_moe::{
    A8w4Element, Activation, E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, MoeRaggedOptions, MxBytes,
    MxRowsOut, RaggedElement, RaggedGates, RaggedOutput, RaggedScales, Tensor, bf16, moe_a4w4_into,
    moe_a8w4_into, moe_a8w4_mx_into, moe_a8w8, moe_a8w8_blockscale, moe_a8w8_into, moe_a8w8_mx,
    moe_a8w8_mx_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_op_gemm_a8w8_has_parity() {
    hk_ref::run_module("moe_op_gemm_a8w8", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_gemm_a8w8_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op_gemm_a8w8", &parity::cases(), &devices());
}

#[test]
fn products_of_experts_name_the_argument_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let one = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let codes = |shape: &[usize]| Tensor::filled(&stream, shape, 1i8).unwrap();
        let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
        let (x, w, odd) = (codes(&[4, 8]), codes(&[2, 6, 8]), codes(&[2, 5, 8]));
        let (offsets, tiles, order) = (list(&[0, 1, 4]), list(&[0, 1]), list(&[3, 0, 1, 2]));
        let (past, back, unknown) = (list(&[0, 1, 5]), list(&[0, 3, 2]), list(&[0, 2]));
        let (far, negative) = (list(&[0, 1, 2, 4]), list(&[0, -1, 2, 3]));
        let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
        let options = MoeRaggedOptions::new(Activation::None);
        let swiglu = |alpha, limit| {
            let activation = Activation::Swiglu { alpha, limit, add_residual: true };
            MoeRaggedOptions::new(activation)
        };
        let call = |w: &_, gates: &_, options: &_| {
            moe_a8w8::<i8, bf16>(&x, w, &one, &one, gates, options).map(|_| ())
        };
        assert!(call(&w, &gates.gather(&order).scatter(&order), &options).is_ok());
        assert!(call(&w, &gates, &swiglu(1.702, Some(7.0))).is_ok());
        for (arg, w, gates, options) in [
            ("w", &odd, gates, swiglu(1.0, None)),
            ("activation", &w, gates, swiglu(f32::NAN, None)),
            ("activation", &w, gates, swiglu(1.0, Some(-1.0))),
            ("block_m", &w, RaggedGates { block_m: 8, ..gates }, options),
            ("block_m", &w, RaggedGates { block_m: 48, ..gates }, options),
            ("n_expts_act", &w, RaggedGates { n_expts_act: 0, ..gates }, options),
            ("x", &w, RaggedGates { n_expts_act: 3, ..gates }.scatter(&order), options),
            ("x_static_scale", &w, gates, options.x_static_scale(&one)),
            ("quant_static_scale", &w, gates, options.quant_static_scale(&one)),
            ("residual", &w, gates, options.residual(&one)),
            ("token_offs_raw", &w, RaggedGates { token_offs_raw: &past, ..gates }, options),
            ("token_offs_raw", &w, RaggedGates { token_offs_raw: &back, ..gates }, options),
            ("block_pid_map", &w, RaggedGates { block_pid_map: &unknown, ..gates }, options),
            ("gather_indx", &w, gates.gather(&far), options),
            ("gather_indx", &w, gates.gather(&negative), options),
            ("scatter_indx", &w, gates.scatter(&far), options),
        ] {
            let error = call(w, &gates, &options).unwrap_err();
            let is_shape = matches!(error, Error::Shape { arg: of, .. } if of == arg);
            let is_value = matches!(error, Error::Value { arg: of, .. } if of == arg);
            assert!(is_value || (arg == "residual" && is_shape), "{arg}: {error}");
            // Indices do no harm, whatever they are.
            if arg.ends_with("indx") || arg.ends_with("raw") || arg.ends_with("map") {
                let done = call(w, &gates, &options.validate_indices(false));
                assert!(done.and_then(|()| stream.synchronize()).is_ok());
            }
        }
    }
}

/// Requires that a call with results of that shape is refused, and what for.
fn refuses<Y: Element>(
    stream: &Stream,
    shape: [usize; 2],
    name: &str,
    call: impl FnOnce(&mut Tensor<Y>) -> Result<()>,
) {
    let mut y = Guarded::<Y>::new(stream, &shape, Placement::DENSE).unwrap();
    let error = rejected(&mut y, call);
    assert!(matches!(&error, Error::Value { arg, .. } if *arg == name), "{name}: {error}");
}

#[test]
fn products_of_experts_name_scales_that_are_not_theirs() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => refuses_scales::<F8E4M3Fnuz>(&device),
            Arch::Gfx950 => refuses_scales::<F8E4M3>(&device),
        }
    }
}

fn refuses_scales<C: RaggedElement + RaggedOutput + A8w4Element>(device: &Device) {
    let stream = device.default_stream();
    let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
    let (offsets, tiles, order) = (list(&[0, 4]), list(&[0]), list(&[3, 0, 1, 2]));
    let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
    let plain = MoeRaggedOptions::new(Activation::None);
    let number = |number: f32| Tensor::filled(&stream, &[1], number).unwrap();
    let scales = |shape: &[usize]| Tensor::filled(&stream, shape, E8M0::from_f32(1.0)).unwrap();
    let (one, of_x, of_w) = (number(1.0), scales(&[4, 1]), scales(&[1, 64, 1]));
    let (x, w) = (Tensor::<C>::zeros(&stream, &[4, 32]), Tensor::<C>::zeros(&stream, &[1, 64, 32]));
    let (x, w) = (x.unwrap(), w.unwrap());
    let halves = Tensor::<bf16>::zeros(&stream, &[4, 32]).unwrap();
    let (x4, w4) = (
        Tensor::<F4x2E2M1>::zeros(&stream, &[4, 32]).unwrap(),
        Tensor::<F4x2E2M1>::zeros(&stream, &[1, 64, 32]).unwrap(),
    );
    let ocp = Tensor::<F8E4M3>::zeros(&stream, &[4, 32]).unwrap();
    let fnuz = Tensor::<F8E4M3Fnuz>::zeros(&stream, &[4, 32]).unwrap();
    const SHAPE: [usize; 2] = [4, 64];

    // Scales of results that are codes.
    let name = "quant_static_scale";
    refuses::<C>(&stream, SHAPE, name, |y| moe_a8w8_into(&x, &w, &one, &one, &gates, &plain, y));
    refuses::<C>(&stream, SHAPE, name, |y| {
        moe_a8w4_into(&halves, None, &w4, &of_w, &gates, &plain, y)
    });
    for wrong in [0.0, -1.0, f32::NAN, f32::INFINITY].map(number) {
        let options = plain.quant_static_scale(&wrong);
        refuses::<C>(&stream, SHAPE, name, |y| {
            moe_a8w8_into(&x, &w, &one, &one, &gates, &options, y)
        });
    }

    // Static scales of operands that have others, or none.
    let (of_rows, of_matrices) = (plain.x_static_scale(&one), plain.w_static_scale(&one));
    for (name, options) in [("x_static_scale", of_rows), ("w_static_scale", of_matrices)] {
        refuses::<bf16>(&stream, SHAPE, name, |y| {
            moe_a8w8_into(&x, &w, &one, &one, &gates, &options, y)
        });
        refuses::<bf16>(&stream, SHAPE, name, |y| {
            moe_a8w4_into(&halves, None, &w4, &of_w, &gates, &options, y)
        });
        refuses::<bf16>(&stream, SHAPE, name, |y| {
            moe_a8w4_into(&ocp, Some(&of_x), &w4, &of_w, &gates, &options, y)
        });
        refuses::<bf16>(&stream, SHAPE, name, |y| {
            moe_a4w4_into(&x4, &of_x, &w4, &of_w, &gates, &options, y)
        });
    }

    // Scales of blocks of what is none of OCP's e4m3.
    refuses::<bf16>(&stream, SHAPE, "x_scales", |y| {
        moe_a8w4_into(&halves, Some(&of_x), &w4, &of_w, &gates, &plain, y)
    });
    refuses::<bf16>(&stream, SHAPE, "x_scales", |y| {
        moe_a8w4_into(&fnuz, Some(&of_x), &w4, &of_w, &gates, &plain, y)
    });

    // Results in blocks.
    let in_blocks = |name, n: usize, gates: &RaggedGates<'_>, options: &MoeRaggedOptions<'_>| {
        let w = Tensor::<F4x2E2M1>::zeros(&stream, &[1, n, 32]).unwrap();
        let (of_w, held) = (scales(&[1, n, 1]), E8M0::from_bits(0x5a));
        let mut of_y = Tensor::filled(&stream, &[4, n / 32], held).unwrap();
        refuses::<F8E4M3>(&stream, [4, n], name, |y| {
            let out = MxRowsOut { codes: y, scales: &mut of_y };
            moe_a8w4_mx_into(&halves, None, &w, &of_w, gates, options, out)
        });
        assert_eq!(of_y.to_vec().unwrap(), vec![held; 4 * (n / 32)]);
    };
    in_blocks("scatter_indx", 64, &gates.scatter(&order), &plain);
    in_blocks("quant_static_scale", 64, &gates, &plain.quant_static_scale(&one));
    in_blocks("w", 40, &gates, &plain);
}

#[test]
fn products_of_experts_have_scales_of_one_kind() {
    for device in devices() {
        let stream = device.default_stream();
        let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
        let (offsets, tiles) = (list(&[0, 4]), list(&[0]));
        let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
        let options = MoeRaggedOptions::new(Activation::None);
        let codes = |shape: &[usize]| Tensor::filled(&stream, shape, 1i8).unwrap();
        let (x, w) = (codes(&[4, 32]), codes(&[1, 6, 32]));
        let error = moe_a8w8_mx::<_, _, bf16>(
            MxBytes { codes: &x, scales: None },
            MxBytes { codes: &w, scales: None },
            &gates,
            &options,
        );
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Value { arg: "x_scales", .. }), "{error}");
        let scales = RaggedScales::default();
        for (arg, scales) in [
            ("group_m", scales.group_m(2)),
            ("group_n", scales.group_n(256)),
            ("group_k", scales.group_k(16)),
            ("group_k", scales.group_k(0)),
        ] {
            let error = moe_a8w8_blockscale::<_, bf16>(&x, &w, &scales, &gates, &options);
            let error = error.unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
        let none = moe_a8w8_blockscale::<_, f32>(&x, &w, &scales, &gates, &options).unwrap();
        assert_eq!(none.to_vec().unwrap(), vec![32.0; 24], "scales of 1");
    }
}

#[test]
fn products_of_experts_have_rows_as_long_as_their_sums_can_be() {
    for device in devices() {
        let stream = device.default_stream();
        let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
        let (offsets, tiles) = (list(&[0, 1]), list(&[0]));
        let one = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
        let options = MoeRaggedOptions::new(Activation::None);
        let with = |k: usize| {
            let x = Tensor::filled(&stream, &[1, k], i8::MIN).unwrap();
            let w = Tensor::filled(&stream, &[1, 1, k], i8::MIN).unwrap();
            let mut y = Tensor::filled(&stream, &[1, 1], 7.0f32).unwrap();
            let result = moe_a8w8_into(&x, &w, &one, &one, &gates, &options, &mut y);
            (result, y.to_vec().unwrap()[0])
        };
        let (result, y) = with(131_071);
        result.unwrap();
        assert_eq!(y, (131_071 * 16_384) as f32);
        let (result, y) = with(131_072);
        assert!(matches!(result, Err(Error::Value { arg: "x", .. })), "{result:?}");
        assert_eq!(y, 7.0);
    }
}

/// Storage with room for more than counts: the part of that shape has the numbers, in order, the rest the padding.
fn padded<T: Element>(
    stream: &Stream,
    [shape, room]: [&[usize]; 2],
    numbers: &[T],
    padding: T,
) -> Tensor<T> {
    let number = |at: usize| {
        let (mut rest, mut index, mut apart) = (at, 0, 1);
        for (size, room) in shape.iter().zip(room).rev() {
            if rest % room >= *size {
                return padding;
            }
            index += rest % room * apart;
            rest /= room;
            apart *= size;
        }
        numbers[index]
    };
    let count: usize = room.iter().product();
    let all: Vec<T> = (0..count).map(number).collect();
    Tensor::from_slice(stream, &all, room).unwrap()
}

/// The part of that shape.
fn part<'a, T: Element>(all: &'a TensorSlice<T>, shape: &[usize]) -> TensorView<'a, T> {
    let mut view = all.view();
    for (axis, size) in shape.iter().enumerate() {
        view = view.narrow(axis, 0..*size).unwrap();
    }
    view
}

/// Rows, columns and experts, and what there is room for.
const SIZES: [usize; 3] = [5, 6, 2];
const ROOM: [usize; 3] = [8, 16, 3];
/// The expert of each row.
const EXPERTS_OF_ROWS: [usize; SIZES[0]] = [0, 0, 1, 1, 1];

/// Makes a call with results that are part of a larger tensor, and requires that they are as expected, and
/// that the rest stays.
fn writes_its_part(
    stream: &Stream,
    expected: impl Fn(usize, usize) -> f64,
    call: impl FnOnce(&mut TensorSlice<f32>) -> Result<()>,
) {
    let ([rows, n, _], [row_room, n_room, _]) = (SIZES, ROOM);
    let mut all = Tensor::filled(stream, &[row_room, n_room], 7.0f32).unwrap();
    let mut y = all.narrow_mut(0, 0..rows).unwrap().narrow_mut(1, 0..n).unwrap();
    call(&mut y).unwrap();
    for (at, y) in all.to_vec().unwrap().into_iter().enumerate() {
        let (row, column) = (at / n_room, at % n_room);
        let is_result = row < rows && column < n;
        let expected = if is_result { expected(row, column) } else { 7.0 };
        assert_eq!(f64::from(y), expected, "row {row}, column {column}");
    }
}

#[test]
fn products_of_experts_take_the_part_of_padded_tensors_that_counts() {
    let ([rows, n, experts], [row_room, n_room, expert_room]) = (SIZES, ROOM);
    let small = |step: usize, count: usize| -> Vec<i8> {
        (0..count).map(|at| (at * step % 7) as i8 - 3).collect()
    };
    let powers = |step: usize, count: usize| -> Vec<f32> {
        (0..count).map(|at| 2f32.powi((at * step % 5) as i32 - 2)).collect()
    };
    // With rows that end in a chunk of 16 bytes, and behind one.
    for (device, k) in devices().iter().flat_map(|device| [(device, 40), (device, 48)]) {
        let stream = device.default_stream();
        let (k_room, blocks, block_room) = (64, 2, 3);
        let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
        let (offsets, tiles) = (list(&[0, 2, 5]), list(&[0, 1]));
        let gates = RaggedGates::new(&offsets, &tiles, 16, 1);
        let of_columns: [&[usize]; 2] = [&[experts, n], &[expert_room, n_room]];
        let of_x: [&[usize]; 2] = [&[rows, k], &[row_room, k_room]];
        let of_w: [&[usize]; 2] = [&[experts, n, k], &[expert_room, n_room, k_room]];

        let bias: Vec<f32> = small(3, experts * n).into_iter().map(f32::from).collect();
        let all_bias = padded(&stream, of_columns, &bias, f32::NAN);
        let of_bias = part(&all_bias, of_columns[0]);
        let options = MoeRaggedOptions::new(Activation::None).bias(&of_bias);
        let (x, w) = (small(5, rows * k), small(11, experts * n * k));
        // All sums are exact in f32.
        let sum = |row: usize, column: usize, by: &dyn Fn(usize, usize, usize) -> f32| -> f64 {
            let of_column = EXPERTS_OF_ROWS[row] * n + column;
            let product = |at: usize| {
                let product = f64::from(x[row * k + at]) * f64::from(w[of_column * k + at]);
                product * f64::from(by(row, of_column, at))
            };
            (0..k).map(product).sum::<f64>() + f64::from(bias[of_column])
        };

        let (x_scale, w_scale) = (powers(3, rows), powers(7, experts * n));
        let all_x = padded(&stream, of_x, &x, 100);
        let all_w = padded(&stream, of_w, &w, 100);
        let all_x_scale = padded(&stream, [&[rows], &[row_room]], &x_scale, f32::NAN);
        let all_w_scale = padded(&stream, of_columns, &w_scale, f32::NAN);
        let by = |row: usize, of_column: usize, _: usize| x_scale[row] * w_scale[of_column];
        let of_scales = (part(&all_x_scale, &[rows]), part(&all_w_scale, of_columns[0]));
        writes_its_part(
            &stream,
            |row, column| sum(row, column, &by),
            |y| {
                let (x, w) = (part(&all_x, of_x[0]), part(&all_w, of_w[0]));
                let (x_scale, w_scale) = &of_scales;
                moe_a8w8_into(&x, &w, x_scale, w_scale, &gates, &options, y)
            },
        );

        let codes = |numbers: &[i8]| -> Vec<F8E4M3> {
            numbers.iter().map(|number| F8E4M3::from_f32(f32::from(*number))).collect()
        };
        let scales = |powers: &[f32]| -> Vec<E8M0> {
            powers.iter().map(|power| E8M0::from_f32(*power)).collect()
        };
        let (nan, no_scale) = (F8E4M3::from_bits(0x7f), E8M0::from_bits(0xff));
        let (x_scale, w_scale) = (powers(3, rows * blocks), powers(7, experts * n * blocks));
        let all_x = padded(&stream, of_x, &codes(&x), nan);
        let all_w = padded(&stream, of_w, &codes(&w), nan);
        let of_x_blocks: [&[usize]; 2] = [&[rows, blocks], &[row_room, block_room]];
        let of_w_blocks: [&[usize]; 2] =
            [&[experts, n, blocks], &[expert_room, n_room, block_room]];
        let all_x_scale = padded(&stream, of_x_blocks, &scales(&x_scale), no_scale);
        let all_w_scale = padded(&stream, of_w_blocks, &scales(&w_scale), no_scale);
        let by = |row: usize, of_column: usize, at: usize| {
            x_scale[row * blocks + at / 32] * w_scale[of_column * blocks + at / 32]
        };
        writes_its_part(
            &stream,
            |row, column| sum(row, column, &by),
            |y| {
                let (x, w) = (part(&all_x, of_x[0]), part(&all_w, of_w[0]));
                let x_scales = part(&all_x_scale, of_x_blocks[0]);
                let w_scales = part(&all_w_scale, of_w_blocks[0]);
                let x = MxBytes { codes: &x, scales: Some(&x_scales) };
                let w = MxBytes { codes: &w, scales: Some(&w_scales) };
                moe_a8w8_mx_into(x, w, &gates, &options, y)
            },
        );
    }
}
