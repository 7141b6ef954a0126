//! `rmsnorm` and `fused_add_rmsnorm` against their references, what they refuse, and what they move.

use crate::common::devices;
use hk_core::counters::count;
use hk_core::dtype::bf16;
use hk_core::{Error, Stream, Tensor, TensorSlice};
use hk_norm::{
    FusedAddRmsnormOut, Result, RmsnormOptions, RmsnormOut, RowOptions, fused_add_rmsnorm_into,
    parity, rmsnorm_inplace, rmsnorm_into,
};
use hk_ref::harness::{Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

#[test]
fn rmsnorm_has_parity() {
    hk_ref::run_module("rmsnorm", &parity::cases(), &devices(), 28_700_000);
}

#[test]
fn rmsnorm_rejects_wrong_tensors_and_eps() {
    hk_ref::run_rejections("rmsnorm", &parity::cases(), &devices());
}

fn rmsnorm(
    x: &TensorSlice<bf16>,
    weight: &TensorSlice<bf16>,
    eps: f32,
    y: &mut TensorSlice<bf16>,
) -> Result<()> {
    rmsnorm_into(x, weight, eps, &RmsnormOptions::default(), RmsnormOut { y, rstd: None })
}

/// Arguments that fit: x `[3, 64]` and its weight.
fn fitting(stream: &Stream) -> (Tensor<bf16>, Tensor<bf16>, Guarded<bf16>) {
    let x = Tensor::filled(stream, &[3, 64], bf16::ONE).unwrap();
    let weight = Tensor::filled(stream, &[64], bf16::ONE).unwrap();
    (x, weight, Guarded::new(stream, &[3, 64], Placement::DENSE.gap(8)).unwrap())
}

#[test]
fn rmsnorm_rejects_empty_rows_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::zeros(&stream, &[4, 0]).unwrap();
        let weight = Tensor::zeros(&stream, &[0]).unwrap();
        let mut y = Guarded::new(&stream, &[4, 1], Placement::default()).unwrap();
        let error = rejected(&mut y, |y| rmsnorm(&x, &weight, 1e-6, &mut y.narrow_mut(1, 0..0)?));
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn rmsnorm_rejects_tile_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[3, 129], bf16::ONE).unwrap();
        let weight = Tensor::filled(&stream, &[129], bf16::ONE).unwrap();
        let mut y = Guarded::new(&stream, &[3, 129], Placement::DENSE).unwrap();
        let mut with = |tile| {
            let options = RmsnormOptions::default().rows(RowOptions::default().tile(tile));
            rejected(&mut y, |y| {
                rmsnorm_into(&x, &weight, 1e-6, &options, RmsnormOut { y, rstd: None })
            })
        };
        let error = with("n128");
        assert!(matches!(error, Error::Value { arg: "tile", .. }), "{error}");
        let error = with("n129");
        assert!(matches!(error, Error::NoTile { .. }), "{error}");
    }
}

#[test]
fn rmsnorm_rejects_rows_too_far_apart_for_a_wave() {
    for device in devices() {
        let stream = device.default_stream();
        let place = Placement::DENSE.gap(1 << 27);
        let x = Guarded::<bf16>::new(&stream, &[2, 8], place).unwrap();
        let x = x.tensor().unwrap();
        let weight = Tensor::filled(&stream, &[8], bf16::ONE).unwrap();
        let mut y = Guarded::new(&stream, &[2, 8], Placement::DENSE).unwrap();
        for tile in ["n128", "n256"] {
            let options = RmsnormOptions::default().rows(RowOptions::default().tile(tile));
            let error = rejected(&mut y, |y| {
                rmsnorm_into(&x, &weight, 1e-6, &options, RmsnormOut { y, rstd: None })
            });
            assert!(matches!(error, Error::Value { arg: "tile", .. }), "{error}");
        }
    }
}

#[test]
fn rmsnorm_rejects_no_workgroups_and_leaves_output() {
    for device in devices() {
        let (x, weight, mut y) = fitting(&device.default_stream());
        let options = RmsnormOptions::default().rows(RowOptions::default().workgroups(0));
        let error = rejected(&mut y, |y| {
            rmsnorm_into(&x, &weight, 1e-6, &options, RmsnormOut { y, rstd: None })
        });
        assert!(matches!(error, Error::Value { arg: "workgroups", .. }), "{error}");
    }
}

#[test]
fn rmsnorm_rejects_more_rows_than_it_can_count() {
    for device in devices() {
        let stream = device.default_stream();
        for rows in [u32::MAX as usize, u32::MAX as usize + 1] {
            // The host gives memory to what is written, no more.
            let mut x = Tensor::<bf16>::empty(&stream, &[rows, 1]).unwrap();
            let weight = Tensor::filled(&stream, &[1], bf16::ONE).unwrap();
            let options = RmsnormOptions::default();
            let error = rmsnorm_inplace(&mut x, &weight, 1.0, &options).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        }
    }
}

#[test]
fn rmsnorm_waits_for_other_streams() {
    for device in devices() {
        let (stream, other) = (device.default_stream(), device.new_stream().unwrap());
        let x = Tensor::filled(&stream, &[64, 512], 1.0f32).unwrap();
        let weight = Tensor::filled(&stream, &[512], 0.0f32).unwrap();
        let mut y = Tensor::<f32>::empty(&stream, x.shape()).unwrap();
        // SAFETY: that both streams write them is what is tested.
        let [mut weight_elsewhere, y_elsewhere] =
            [&weight, &y].map(|of| unsafe { of.alias() }.into_stream(&other).unwrap());
        for i in 0..8u8 {
            weight_elsewhere.fill(i.into()).unwrap();
            let out = RmsnormOut { y: &mut y, rstd: None };
            let options = RmsnormOptions::default();
            rmsnorm_into(&x, &weight, f32::MIN_POSITIVE, &options, out).unwrap();
            // Not before the op has read it.
            weight_elsewhere.fill(100.0).unwrap();
            assert_eq!(y_elsewhere.to_vec().unwrap(), [f32::from(i); 64 * 512]);
        }
    }
}

#[test]
fn rmsnorm_writes_each_byte_once_and_reads_all() {
    const ROWS: usize = 96;
    const COLUMNS: usize = 1024;
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[ROWS, COLUMNS], bf16::ONE).unwrap();
        let weight = Tensor::filled(&stream, &[COLUMNS], bf16::ONE).unwrap();
        let (y, counters) = count(|| {
            let y = hk_norm::rmsnorm(&x, &weight, 1e-6, &RmsnormOptions::default()).unwrap();
            stream.synchronize().map(|()| y).unwrap()
        });
        let counters = counters.into_values().next().expect("a kernel was launched");
        let (tensor, row) = ((y.len() * 2) as u64, (COLUMNS * 2) as u64);
        assert_eq!(counters.written_bytes, tensor);
        assert_eq!(counters.distinct_written_bytes, tensor);
        // Beside the tensors it reads its arguments.
        let arguments = counters.distinct_read_bytes - tensor - row;
        assert!((8..1024).contains(&arguments), "{arguments}");
        assert!(counters.read_bytes >= tensor + row && counters.matrix.is_empty());
        assert_eq!(counters.launches, 1);
    }
}

#[test]
fn rmsnorm_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in
            [([2048, 128], 16), ([512, 512], 4), ([64, 2048], 4), ([24, 8192], 1)]
        {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let weight = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
            let [mut y, mut sum] = [(); 2].map(|()| Tensor::empty(&stream, &shape).unwrap());
            let (bytes, shared) = (x.len() * 2, 2 * shape[1]);
            let traffic = Traffic { read: bytes, written: bytes, shared, rows_at_once };
            let options = RmsnormOptions::default().rows(few_workgroups());
            traffic.check(&stream, || {
                let out = RmsnormOut { y: &mut *y, rstd: None };
                rmsnorm_into(&x, &weight, 1e-6, &options, out)
            });
            let twice = Traffic { read: 2 * bytes, written: 2 * bytes, ..traffic };
            twice.check(&stream, || {
                let out = FusedAddRmsnormOut { y: &mut *y, residual_out: &mut *sum, rstd: None };
                fused_add_rmsnorm_into(&x, &x, &weight, 1e-6, &options, out)
            });
        }
    }
}
