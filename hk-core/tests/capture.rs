//! Launches captured to disk and replayed.

#![cfg(feature = "sim")]

mod common;

use std::ffi::c_void;
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{AXPY, AxpyArgs, compile};
use hk_build::Kernels;
use hk_core::capture::{captured_arch, replay};
use hk_core::dtype::DType;
use hk_core::metadata::CodeObjectInfo;
use hk_core::{Allocator, Device, DevicePtr, Error, LaunchConfig, Module, Tensor, kernel_args};
use hk_sim::capi;

/// Captures one launch of a kernel over the second half of two tensors, and returns its folder.
fn capture(device: &Device, kernel: &str, parent: &Path) -> PathBuf {
    let stream = device.new_stream().unwrap();
    let module = Module::load(device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>(kernel).unwrap();
    let host: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let x = Tensor::from_slice(&stream, &host, &[2, 32]).unwrap();
    let mut y = Tensor::filled(&stream, &[2, 32], 1.0f32).unwrap();
    let (x_half, mut y_half) = (x.slice(1..2).unwrap(), y.slice_mut(1..2).unwrap());
    let args = AxpyArgs { x: x_half.ptr(), y: y_half.ptr_mut(), a: 2.0, n: 32 };
    let before = count(parent);
    device.set_capture(Some(parent));
    // SAFETY: the kernel stays within n elements of x and y.
    unsafe { axpy.launch(&stream, LaunchConfig::new(1, 64), &args) }.unwrap();
    device.set_capture(None);
    // SAFETY: as above.
    unsafe { axpy.launch(&stream, LaunchConfig::new(1, 64), &args) }.unwrap();
    assert_eq!(count(parent), before + 1, "one launch was captured, one was not");
    parent.join(format!("{:04}-{kernel}", before + 1))
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

fn json(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(folder.join("launch.json")).unwrap()).unwrap()
}

fn floats(path: &Path) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(&fs::read(path).unwrap())
}

#[test]
fn a_captured_launch_is_complete() {
    let parent = tempfile::tempdir().unwrap();
    let device = Device::open("sim:mi355x").unwrap();
    let folder = capture(&device, "axpy", parent.path());
    let record = json(&folder);
    assert_eq!(
        record,
        serde_json::json!({
            "format": 1,
            "kernel": "axpy",
            "arch": "gfx950",
            "device": "sim:mi355x",
            "grid": [1, 1, 1],
            "block": [64, 1, 1],
            "dynamic_lds_bytes": 0,
            "kernarg_bytes": 24,
            "args": [
                {"name": "x", "kind": "pointer", "offset": 0, "size": 8,
                 "buffer": "x", "buffer_offset": 128},
                {"name": "y", "kind": "pointer", "offset": 8, "size": 8,
                 "buffer": "y", "buffer_offset": 128},
                {"name": "a", "kind": "f32", "offset": 16, "size": 4, "value": "00000040"},
                {"name": "n", "kind": "i32", "offset": 20, "size": 4, "value": "20000000"},
            ],
            "buffers": [
                {"name": "x", "bytes": 256, "dtype": "f32"},
                {"name": "y", "bytes": 256, "dtype": "f32"},
            ],
        })
    );
    let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    assert_eq!(floats(&folder.join("before/x.bin")), x);
    assert_eq!(floats(&folder.join("after/x.bin")), x);
    assert_eq!(floats(&folder.join("before/y.bin")), [1.0; 64]);
    let y: Vec<f32> = (0..64).map(|i| if i < 32 { 1.0 } else { 1.0 + 2.0 * i as f32 }).collect();
    assert_eq!(floats(&folder.join("after/y.bin")), y);
    let code = CodeObjectInfo::read(&fs::read(folder.join("code.hsaco")).unwrap()).unwrap();
    assert_eq!(code.kernel("axpy").unwrap().args.len(), 4);
}

#[test]
fn replays_give_the_same_bits_on_every_product_of_the_architecture() {
    let parent = tempfile::tempdir().unwrap();
    let groups = [["sim:mi300x", "sim:mi325x"], ["sim:mi350x", "sim:mi355x"]];
    for group in groups {
        let devices = group.map(|name| Device::open(name).unwrap());
        for kernel in ["axpy", "axpy_struct"] {
            let folder = capture(&devices[0], kernel, parent.path());
            for device in &devices {
                let report = replay(&folder, device).unwrap();
                assert!(report.is_identical() && report.is_within(0.0, 0.0), "{report:?}");
                assert_eq!((report.kernel.as_str(), report.buffers.len()), (kernel, 2));
                assert_eq!(report.captured_on, group[0]);
                assert_eq!(report.buffers[1].dtype, Some(DType::F32));
            }
        }
    }
    assert_eq!(count(parent.path()), 4);
    let first = replay(&parent.path().join("0001-axpy"), &Device::open("sim:mi355x").unwrap());
    assert!(matches!(first, Err(Error::CodeObject { .. })), "{first:?}");
}

#[test]
fn differences_are_found_and_weighed() {
    let parent = tempfile::tempdir().unwrap();
    let device = Device::open("sim:mi355x").unwrap();
    let folder = capture(&device, "axpy", parent.path());
    let after = folder.join("after/y.bin");
    let mut y = floats(&after);
    y[40] += 0.5;
    fs::write(&after, bytemuck::cast_slice(&y)).unwrap();
    let report = replay(&folder, &device).unwrap();
    assert!(!report.is_identical());
    let first = report.buffers[1].first_difference().unwrap();
    assert_eq!((report.buffers[0].first_difference(), first / 4), (None, 40));
    assert!(report.is_within(0.5, 0.0) && report.is_within(0.0, 0.5 / 81.0));
    assert!(!report.is_within(0.49, 0.0));
    assert_eq!(report.buffers[0].differences().count, 0);
    let differences = report.buffers[1].differences();
    assert_eq!((differences.count, differences.total), (1, 64));
    let worst = differences.worst.unwrap();
    assert_eq!((worst.index, worst.captured, worst.replayed), (40, 81.5, 81.0));
    // Nothing is close to an infinity, however wide the bound.
    y[40] = f32::INFINITY;
    fs::write(&after, bytemuck::cast_slice(&y)).unwrap();
    let report = replay(&folder, &device).unwrap();
    assert!(!report.is_within(1e30, 1.0));
    assert_eq!(report.buffers[1].differences().worst.unwrap().distance(), f64::INFINITY);
    y[40] = f32::NAN;
    fs::write(&after, bytemuck::cast_slice(&y)).unwrap();
    assert!(!replay(&folder, &device).unwrap().is_within(1e30, 1.0));
}

/// Pointers in an array, which only hk-build's note tells of.
#[test]
fn pointers_in_arrays_are_captured_by_the_note() {
    kernel_args! {
        struct SumArgs { parts: [DevicePtr<f32>; 2], y: DevicePtr<f32>, n: u32 }
    }
    let source = "
        #include \"hk/hip.h\"
        struct SumArgs { const float *parts[2]; float *y; unsigned n; };
        template <class Tile> __attribute__((device)) void sum(const SumArgs &args) {
            const unsigned i = __builtin_amdgcn_workitem_id_x();
            if (i < args.n) args.y[i] = args.parts[0][i] + args.parts[1][i];
        }";
    let tiles = "budget = { objects = 1, code_bytes = 9999 }\n[[kernel]]\nargs = \"SumArgs\"\nthreads = 64\n\
                 [[kernel.tile]]\nname = \"tile\"\n";
    let parent = tempfile::tempdir().unwrap();
    let crate_dir = tempfile::tempdir().unwrap();
    for (name, text) in [("kernels/sum.hip", source), ("tiles/sum.toml", tiles)] {
        let path = crate_dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let kernels =
        Kernels::new("demo", crate_dir.path(), crate_dir.path()).include(hk_core::INCLUDE);
    kernels.arch(hk_build::Arch::Gfx950).run().unwrap();
    let image = fs::read(crate_dir.path().join("hk/hk_sum_tile-gfx950.hsaco")).unwrap();

    let device = Device::open("sim:mi355x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &image).unwrap();
    let sum = module.function::<SumArgs>("hk_sum_tile").unwrap();
    let parts = [1.0f32, 2.0].map(|x| Tensor::filled(&stream, &[64], x).unwrap());
    let mut y = Tensor::filled(&stream, &[64], 0.0f32).unwrap();
    let args = SumArgs { parts: [parts[0].ptr(), parts[1].ptr()], y: y.ptr_mut(), n: 64 };
    device.set_capture(Some(parent.path()));
    // SAFETY: the kernel stays within 64 elements of all three.
    unsafe { sum.launch(&stream, LaunchConfig::new(1, 64), &args) }.unwrap();
    device.set_capture(None);
    drop(parts);

    let folder = parent.path().join("0001-hk_sum_tile");
    let record = json(&folder);
    let places: Vec<_> = record["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| (arg["name"].as_str().unwrap(), &arg["const"], &arg["buffer"]))
        .collect();
    let null = serde_json::Value::Null;
    let (yes, no) = (true.into(), false.into());
    let buffers = ["parts[0]", "parts[1]", "y"].map(serde_json::Value::from);
    let want = [
        ("parts", &null, &null),
        ("parts[0]", &yes, &buffers[0]),
        ("parts[1]", &yes, &buffers[1]),
        ("y", &no, &buffers[2]),
        ("n", &null, &null),
    ];
    assert_eq!(places, want);
    let report = replay(&folder, &device).unwrap();
    assert!(report.is_identical(), "{report:?}");
    assert_eq!(floats(&folder.join("after/y.bin")), [3.0; 64]);

    kernel_args! {
        struct WrongElement { parts: [DevicePtr<f32>; 2], y: DevicePtr<i32>, n: u32 }
    }
    let error = module.function::<WrongElement>("hk_sum_tile").unwrap_err().to_string();
    assert!(error.contains("its y leads to mutable f32, WrongElement.y to i32"), "{error}");
}

/// Gives pieces of a block.
struct Pieces {
    block: usize,
    given: AtomicUsize,
}

// SAFETY: each piece is a part of its own of a block that is there to the end.
unsafe impl Allocator for Pieces {
    fn allocate(&self, bytes: usize, _: i32, _: *mut c_void) -> Option<NonNull<c_void>> {
        let at = self.given.fetch_add(bytes.next_multiple_of(256), Ordering::Relaxed);
        NonNull::new((self.block + at) as *mut c_void)
    }

    unsafe fn free(&self, _: NonNull<c_void>, _: usize, _: i32, _: *mut c_void) {}
}

#[test]
fn a_piece_of_a_block_and_foreign_memory_of_that_block_are_one_buffer() {
    let parent = tempfile::tempdir().unwrap();
    let device = Device::open("sim:mi355x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let block = Tensor::<f32>::zeros(&stream, &[1024]).unwrap();
    let start = block.ptr().address() as usize;
    let pieces = Pieces { block: start, given: AtomicUsize::new(256) };
    device.set_allocator(Some(Arc::new(pieces)));
    let mut y = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
    device.set_allocator(None);
    let behind = (start + 2048) as *mut c_void;
    // SAFETY: the block has these elements, no other tensor does, and it is there to the end.
    let mut x = unsafe { Tensor::<f32>::from_raw(&stream, behind, &[64], &[1], ()) }.unwrap();
    x.fill(3.0).unwrap();
    let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 2.0, n: 64 };
    device.set_capture(Some(parent.path()));
    // SAFETY: the kernel stays within 64 elements of both.
    unsafe { axpy.launch(&stream, LaunchConfig::new(1, 64), &args) }.unwrap();
    device.set_capture(None);

    let folder = parent.path().join("0001-axpy");
    let record = json(&folder);
    let buffers = serde_json::json!([{"name": "x", "bytes": 4096, "dtype": "f32"}]);
    assert_eq!(record["buffers"], buffers);
    for (arg, offset) in [(0usize, 2048), (1, 256)] {
        assert_eq!(record["args"][arg]["buffer"], "x");
        assert_eq!(record["args"][arg]["buffer_offset"], offset);
    }
    assert_eq!(floats(&folder.join("after/x.bin"))[64..128], [7.0; 64]);
    let report = replay(&folder, &device).unwrap();
    assert!(report.is_identical(), "{report:?}");
}

#[test]
fn what_is_empty_may_lead_anywhere() {
    let parent = tempfile::tempdir().unwrap();
    let device = Device::open("sim:mi325x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let mut memory = ptr::null_mut();
    // SAFETY: it only writes the address.
    assert_eq!(unsafe { capi::hipMalloc(&mut memory, 256) }.0, 0);
    let nowhere = 0x1000 as *mut c_void;
    // SAFETY: it has no element.
    let empty = unsafe { Tensor::<f32>::from_raw(&stream, nowhere, &[0], &[1], ()) }.unwrap();
    let mut y = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
    let end = DevicePtr::new(memory as u64 + 256);
    // Where ops say that a list is, of which the length is 0.
    let list = DevicePtr::new(8);
    for (number, x) in [empty.ptr(), end, list].into_iter().enumerate() {
        let args = AxpyArgs { x, y: y.ptr_mut(), a: 2.0, n: 0 };
        device.set_capture(Some(parent.path()));
        // SAFETY: the kernel accesses no element.
        unsafe { axpy.launch(&stream, LaunchConfig::new(1, 64), &args) }.unwrap();
        device.set_capture(None);
        let folder = parent.path().join(format!("{:04}-axpy", number + 1));
        assert!(replay(&folder, &device).unwrap().is_identical());
    }
    // SAFETY: it was allocated above, and no work uses it.
    assert_eq!(unsafe { capi::hipFree(memory) }.0, 0);
}

#[test]
fn a_launch_that_faults_leaves_a_capture_without_an_after() {
    let parent = tempfile::tempdir().unwrap();
    let device = Device::open("sim:mi325x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let x = Tensor::filled(&stream, &[64], 1.0f32).unwrap();
    let args = AxpyArgs { x: x.ptr(), y: DevicePtr::new(0x1000), a: 1.0, n: 64 };
    device.set_capture(Some(parent.path()));
    // SAFETY: the simulator checks every access.
    let error = unsafe { axpy.launch(&stream, LaunchConfig::new(1, 64), &args) }.unwrap_err();
    device.set_capture(None);
    assert!(matches!(error, Error::Fault(_)), "{error}");
    let folder = parent.path().join("0001-axpy");
    assert!(folder.join("before/x.bin").exists() && !folder.join("after").exists());
    // The pointer that led nowhere is kept as a value.
    assert_eq!(json(&folder)["args"][1]["value"], "0010000000000000");
    // The replay meets the same fault.
    let again = replay(&folder, &device).unwrap_err();
    let (Error::Fault(first), Error::Fault(again)) = (&error, &again) else { panic!("{again}") };
    assert_eq!((first.kind, first.address), (again.kind, again.address));

    // Without the bad pointer it goes through, and there is nothing to compare with.
    let mut record = json(&folder);
    record["args"][3]["value"] = "00000000".into();
    fs::write(folder.join("launch.json"), record.to_string()).unwrap();
    let error = replay(&folder, &device).unwrap_err();
    assert!(error.to_string().contains("its replay did not"), "{error}");
}

#[test]
fn damaged_captures_are_errors() {
    let parent = tempfile::tempdir().unwrap();
    let device = Device::open("sim:mi355x").unwrap();
    let folder = capture(&device, "axpy", parent.path());
    let good = json(&folder);
    type Damage = fn(&mut serde_json::Value);
    let damages: [(Damage, &str); 11] = [
        (|r| r["format"] = 2.into(), "format 2"),
        (|r| r["kernarg_bytes"] = 1_000_000_000.into(), "too many"),
        (|r| r["kernarg_bytes"] = 22.into(), "n does not fit"),
        (|r| r["args"][0]["buffer"] = "z".into(), "unknown buffer `z`"),
        (|r| r["args"][0]["buffer_offset"] = 300.into(), "beyond the end of x"),
        (|r| r["args"][2]["value"] = "0g".into(), "`0g`"),
        (|r| r["args"][2]["offset"] = u64::MAX.into(), "a does not fit"),
        (|r| r["buffers"][0]["name"] = "../x".into(), "no name of a buffer"),
        (|r| r["buffers"][0]["bytes"] = 12.into(), "before/x.bin does not have 12 bytes"),
        (|r| r["buffers"][1]["dtype"] = "f33".into(), "f33"),
        (
            |r| {
                let x = r["args"][0].as_object_mut().unwrap();
                x.retain(|key, _| !key.starts_with("buffer"));
                x.insert("value".into(), "0010000000000000".into());
            },
            "x leads to memory that was not captured",
        ),
    ];
    for (damage, expected) in damages {
        let mut record = good.clone();
        damage(&mut record);
        fs::write(folder.join("launch.json"), record.to_string()).unwrap();
        let error = replay(&folder, &device).unwrap_err();
        assert!(matches!(error, Error::Capture { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let mut record = good;
    assert_eq!(record["arch"], "gfx950");
    record["arch"] = "gfx1".into();
    fs::write(folder.join("launch.json"), record.to_string()).unwrap();
    assert!(matches!(captured_arch(&folder), Err(Error::UnsupportedArch { .. })));
    fs::write(folder.join("launch.json"), "{").unwrap();
    assert!(matches!(captured_arch(&folder), Err(Error::Capture { .. })));
    assert!(matches!(replay(&folder, &device), Err(Error::Capture { .. })));
    fs::remove_file(folder.join("launch.json")).unwrap();
    assert!(matches!(replay(&folder, &device), Err(Error::Io { .. })));
}
