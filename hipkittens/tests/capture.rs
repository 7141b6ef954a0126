//! Captured launches of every op: their buffers have the elements that the tensors had, so that a
//! replay may be compared within a tolerance.

use std::fs;
use std::path::{Path, PathBuf};

use hipkittens::gemm::{Activation, Epilogue, GemmOptions, gemm_a16w16};
use hipkittens::norm::rmsnorm;
use hk_core::capture::{ReplayReport, replay};
use hk_core::dtype::{DType, Real, bf16, f16};
use hk_core::{Device, Stream, Tensor};

/// What an op does with a stream.
type Op = fn(&Stream) -> hk_core::Result<()>;

fn tensor<T: Real>(stream: &Stream, shape: &[usize]) -> hk_core::Result<Tensor<T>> {
    let values: Vec<T> =
        (0..shape.iter().product()).map(|i: usize| T::from_f64((i % 7) as f64 - 2.5)).collect();
    Tensor::from_slice(stream, &values, shape)
}

fn norm<T: Real, W: Real>(stream: &Stream) -> hk_core::Result<()> {
    rmsnorm(
        &tensor::<T>(stream, &[3, 96])?,
        &tensor::<W>(stream, &[96])?,
        1e-6,
        &Default::default(),
    )
    .map(drop)
}

/// A product whose x and w have to be packed, in splits, with operands of other types.
fn product(stream: &Stream) -> hk_core::Result<()> {
    let (x, w) = (tensor::<bf16>(stream, &[20, 1001])?, tensor::<bf16>(stream, &[24, 1001])?);
    let (scale, bias) = (tensor::<f16>(stream, &[20])?, tensor::<f32>(stream, &[24])?);
    let steps = Epilogue::default().mul_rows(&scale).add_columns(&bias).act(Activation::Gelu);
    let options = GemmOptions::default().splits(2).epilogue(steps);
    gemm_a16w16::<bf16, f16>(&x, &w, &options).map(drop)
}

/// Captures what an op launches; returns the folders in order.
fn capture(device: &Device, op: Op, parent: &Path) -> Vec<PathBuf> {
    let stream = device.new_stream().unwrap();
    device.set_capture(Some(parent));
    op(&stream).unwrap();
    device.set_capture(None);
    let folders = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = folders.collect();
    folders.sort();
    folders
}

fn dtypes(report: &ReplayReport) -> Vec<(&str, Option<DType>)> {
    report.buffers.iter().map(|buffer| (buffer.name.as_str(), buffer.dtype)).collect()
}

#[test]
fn captures_of_ops_know_their_elements() {
    use DType::{Bf16, F16, F32};
    let norms: [(Op, DType, DType); 3] = [
        (norm::<bf16, f32>, Bf16, F32),
        (norm::<f16, bf16>, F16, Bf16),
        (norm::<f32, f32>, F32, F32),
    ];
    for name in ["sim:mi325x", "sim:mi355x"] {
        let device = Device::open(name).unwrap();
        for (op, x, weight) in norms {
            let parent = tempfile::tempdir().unwrap();
            let [folder] = &capture(&device, op, parent.path())[..] else { panic!("launches") };
            let report = replay(folder, &device).unwrap();
            assert!(report.is_identical());
            assert_eq!(dtypes(&report), [("x", Some(x)), ("weight", Some(weight)), ("y", Some(x))]);
            within_tolerance(folder, &device, "y");
        }

        let parent = tempfile::tempdir().unwrap();
        let folders = capture(&device, product, parent.path());
        // The copies of x and w and the sums are in one workspace, of bf16 and f32.
        let tensors = [("tensors[0]", Some(F16)), ("tensors[1]", Some(F32))];
        let want: [&[_]; 4] = [
            &[("x", Some(Bf16)), ("y", Some(Bf16))],
            &[("x", Some(Bf16)), ("y", Some(Bf16))],
            &[("x", None), tensors[0], tensors[1]],
            &[("x", None), ("y", Some(F16)), tensors[0], tensors[1]],
        ];
        assert_eq!(folders.len(), want.len());
        for (folder, want) in folders.iter().zip(want) {
            assert_eq!(dtypes(&replay(folder, &device).unwrap()), want, "{}", folder.display());
        }
        within_tolerance(&folders[3], &device, "y");
    }
}

/// Changes the last place of an element of a captured result: it is near what a replay gives, and
/// not the same.
fn within_tolerance(folder: &Path, device: &Device, buffer: &str) {
    let file = folder.join(format!("after/{buffer}.bin"));
    let mut bytes = fs::read(&file).unwrap();
    let report = replay(folder, device).unwrap();
    let of = report.buffers.iter().find(|of| of.name == buffer).unwrap();
    bytes[of.dtype.unwrap().size()] ^= 1;
    fs::write(file, bytes).unwrap();
    let report = replay(folder, device).unwrap();
    assert!(!report.is_identical() && report.is_within(1e-3, 0.01), "{}", folder.display());
    assert!(!report.is_within(0.0, 1e-9));
}
