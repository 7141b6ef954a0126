//! Orders of gates and of what they let through.

use crate::common::devices;
use hk_core::Error;
use hk_moe::{F4x2E2M1, Tensor, moe_deinterleave_gate_up, moe_interleave_gate_up};

#[test]
fn gates_and_what_they_let_through_become_pairs_and_halves_again() {
    for device in devices() {
        let stream = device.default_stream();
        let numbers: Vec<i8> = (0..24).collect();
        let w = Tensor::from_slice(&stream, &numbers, &[2, 4, 3]).unwrap();
        let pairs = moe_interleave_gate_up(&w).unwrap();
        let first = [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11];
        let all: Vec<i8> = first.iter().copied().chain(first.iter().map(|x| x + 12)).collect();
        assert_eq!((pairs.shape(), pairs.to_vec().unwrap()), (&[2, 4, 3][..], all));
        assert_eq!(moe_deinterleave_gate_up(&pairs).unwrap().to_vec().unwrap(), numbers);
        // A bias, and two numbers in a byte.
        let bias = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0, 4.0], &[1, 4]).unwrap();
        let pairs = moe_interleave_gate_up(&bias).unwrap();
        assert_eq!(pairs.to_vec().unwrap(), [1.0, 3.0, 2.0, 4.0]);
        let bytes = [0x21, 0x43, 0x65, 0x07].map(F4x2E2M1::from_bits);
        let w = Tensor::from_slice(&stream, &bytes, &[1, 4, 2]).unwrap();
        let pairs = moe_interleave_gate_up(&w).unwrap().to_vec().unwrap();
        assert_eq!(pairs, [0x21, 0x65, 0x43, 0x07].map(F4x2E2M1::from_bits));
        let nothing = Tensor::<f32>::zeros(&stream, &[0, 4, 8]).unwrap();
        assert_eq!(moe_interleave_gate_up(&nothing).unwrap().shape(), [0, 4, 8]);
        for shape in [&[5][..], &[2, 3, 4]] {
            let w = Tensor::<f32>::zeros(&stream, shape).unwrap();
            let error = moe_interleave_gate_up(&w).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "w", .. }), "{error}");
        }
    }
}
