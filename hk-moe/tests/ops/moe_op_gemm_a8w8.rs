//! `moe_op_gemm_a8w8` against its reference, and what it refuses.

use hk_core::Error;
use hk_moe::{
    Activation, MoeRaggedOptions, MxBytes, RaggedGates, RaggedScales, Tensor, bf16, moe_a8w8,
    moe_a8w8_blockscale, moe_a8w8_into, moe_a8w8_mx, parity,
};

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
