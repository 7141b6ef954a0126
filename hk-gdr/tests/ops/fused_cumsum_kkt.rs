//! `fused_cumsum_kkt` against its reference, and what it refuses.

use hk_core::{Error, Tensor, dtype::bf16};
use hk_gdr::{
    CumsumKktOptions, CumsumKktOut, PrefillSchedule, fused_cumsum_kkt, fused_cumsum_kkt_into,
    parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::{devices, of_arguments};

#[test]
fn fused_cumsum_kkt_has_parity() {
    hk_ref::run_module("fused_cumsum_kkt", &parity::cases(), &devices(), 4_150_000);
}

#[test]
fn fused_cumsum_kkt_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_cumsum_kkt", &parity::cases(), &devices());
}

#[test]
fn wrong_chunks_heads_and_schedules_are_refused_and_outputs_left() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[b, t, h, hv, k]: [usize; 5], c: usize, options: &CumsumKktOptions<'_>| {
            let g = Tensor::filled(&stream, &[b, t, hv], -1.0f32).unwrap();
            let k = Tensor::filled(&stream, &[b, t, h, k], bf16::ONE).unwrap();
            let mut sums = Tensor::zeros(&stream, &[b, t, hv]).unwrap();
            let mut a = Guarded::<f32>::new(&stream, &[b, t, hv, c], Placement::DENSE).unwrap();
            rejected(&mut a, |a| {
                let out = CumsumKktOut { sums: &mut sums, a };
                fused_cumsum_kkt_into(&g, &k, &g, options, out)
            })
        };
        let options = CumsumKktOptions::default();
        for chunk in [0, 8, 48, 128] {
            let error = refused([1, 5, 1, 2, 4], 16, &options.chunk_size(chunk));
            assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        }
        let error = refused([1, 5, 1, 2, 4], 16, &options);
        assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        let error = refused([1, 5, 2, 3, 4], 64, &options);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for keys in [0, 257] {
            let error = refused([1, 5, 1, 2, keys], 64, &options);
            assert!(matches!(error, Error::Shape { arg: "k", .. }), "{error}");
        }
        let schedule = PrefillSchedule::new(&stream, &[0, 2, 5], 16).unwrap();
        let packed = options.schedule(&schedule);
        let error = refused([1, 5, 1, 2, 4], 16, &packed.chunk_size(32));
        assert!(matches!(error, Error::Value { arg: "chunk_size", .. }), "{error}");
        for shape in [[1, 6, 1, 2, 4], [2, 5, 1, 2, 4]] {
            let error = refused(shape, 16, &packed);
            assert!(matches!(error, Error::Shape { arg: "k", .. }), "{error}");
        }
        let elsewhere = PrefillSchedule::new(&device.new_stream().unwrap(), &[0, 5], 16).unwrap();
        let error = refused([1, 5, 1, 2, 4], 16, &options.schedule(&elsewhere));
        assert!(matches!(error, Error::Stream { .. }), "{error}");
    }
}

#[test]
fn of_no_tokens_there_is_nothing() {
    for device in devices() {
        let stream = device.default_stream();
        let g = Tensor::<f32>::zeros(&stream, &[2, 0, 4]).unwrap();
        let k = Tensor::<bf16>::zeros(&stream, &[2, 0, 2, 8]).unwrap();
        let options = CumsumKktOptions::default().head_first(true);
        let out = fused_cumsum_kkt(&g, &k, &g, &options).unwrap();
        assert_eq!(out.a.shape(), [2, 0, 4, 64]);
        assert_eq!(out.gates.sums.shape(), [2, 0, 4]);
    }
}

#[test]
fn fused_cumsum_kkt_reads_and_writes_everything_once() {
    for device in devices() {
        let stream = device.default_stream();
        let [t, h, hv, keys] = [128, 2, 4, 128];
        let k = Tensor::filled(&stream, &[1, t, h, keys], bf16::from_f32(0.0625)).unwrap();
        let g = Tensor::filled(&stream, &[1, t, hv], -0.1f32).unwrap();
        let options = CumsumKktOptions::default();
        let moved = Moved::by(&stream, || fused_cumsum_kkt(&g, &k, &g, &options));
        let read = k.len() * 2 + 2 * g.len() * 4;
        moved.once(read, of_arguments(t / 64 * h * 4), g.len() * 4 + g.len() * 64 * 4);
    }
}
