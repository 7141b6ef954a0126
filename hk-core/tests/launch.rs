//! Kernels launched with typed arguments on both simulated chips.

#![cfg(feature = "sim")]

mod common;

use std::ptr;

use common::{AXPY, AxpyArgs, compile, devices};
use hk_core::kernel::{CodeObjectImage, Kernel, KernelSet, Range, Resources, TileConfig};
use hk_core::metadata::CodeObjectInfo;
use hk_core::{Arch, Device, DevicePtr, Error, LaunchConfig, Module, Tensor, kernel_args};
use hk_sim::trace::launches;
use hk_sim::{HipError, capi};
use miniz_oxide::deflate::compress_to_vec_zlib;

fn axpy_reference(x: &[f32], y: &[f32], a: f32) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| a.mul_add(*x, *y)).collect()
}

#[test]
fn both_forms_of_arguments_compute_the_same() {
    for device in devices() {
        let stream = device.new_stream().unwrap();
        let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
        let host_x: Vec<f32> = (0..1000).map(|i| i as f32 * 0.25 - 7.0).collect();
        let host_y: Vec<f32> = (0..1000).map(|i| (i * i % 97) as f32).collect();
        let expected = axpy_reference(&host_x, &host_y, 1.5);
        for name in ["axpy", "axpy_struct"] {
            let x = Tensor::from_slice(&stream, &host_x, &[1000]).unwrap();
            let mut y = Tensor::from_slice(&stream, &host_y, &[1000]).unwrap();
            let axpy = module.function::<AxpyArgs>(name).unwrap();
            let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 1.5, n: 1000 };
            // SAFETY: the kernel stays within n elements of x and y.
            unsafe { axpy.launch(&stream, LaunchConfig::for_elements(1000, 256), &args) }.unwrap();
            assert_eq!(y.to_vec().unwrap(), expected, "{name} on {device}");
            assert!(axpy.occupancy(256, 0).unwrap() > 0);
            assert!(axpy.info().max_workgroup == 256 && axpy.info().vgprs > 0);
        }
    }
}

#[test]
fn of_a_traced_launch_few_workgroups_are_executed_unless_it_is_small() {
    let [device, _] = devices();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let launch = |workgroups: usize, traced: bool| {
        let n = 256 * workgroups;
        let x = Tensor::filled(&stream, &[n], 1.0f32).unwrap();
        let mut y = Tensor::filled(&stream, &[n], 2.0f32).unwrap();
        let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 1.0, n: n as i32 };
        let run = || {
            // SAFETY: the kernel stays within n elements of x and y.
            unsafe { axpy.launch(&stream, LaunchConfig::for_elements(n, 256), &args) }.unwrap();
            stream.synchronize().unwrap();
        };
        let traced = if traced {
            launches(|_, _| vec![5, 2], run).1
        } else {
            run();
            Vec::new()
        };
        let written: Vec<_> = y.to_vec().unwrap().chunks(256).map(|of| of == [3.0; 256]).collect();
        (traced, written)
    };
    for workgroups in [8, 1000] {
        let (traced, written) = launch(workgroups, true);
        let [traced] = traced.as_slice() else { panic!("one launch") };
        assert_eq!(
            (traced.dispatch.kernel.as_str(), traced.dispatch.grid[0]),
            ("axpy", workgroups as u32)
        );
        assert_eq!(traced.groups.iter().map(|of| of.group).collect::<Vec<_>>(), [5, 2]);
        assert!(
            traced.groups.iter().all(|of| of.waves.len() == 4 && !of.waves[3].steps.is_empty())
        );
        let executed = written.iter().filter(|written| **written).count();
        assert_eq!(executed, if workgroups == 8 { 8 } else { 2 });
        assert!(written[2] && written[5]);
    }
    // Other launches are as ever.
    let (traced, written) = launch(8, false);
    assert!(traced.is_empty() && written.iter().all(|written| *written));
}

#[test]
fn arguments_that_do_not_match_the_kernel_are_refused() {
    kernel_args! {
        struct Short { x: DevicePtr<f32>, y: DevicePtr<f32>, n: i32 }
    }
    kernel_args! {
        struct Swapped { x: DevicePtr<f32>, y: i64, a: f32, n: i32 }
    }
    let [device, _] = devices();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let errors = [
        module.function::<Short>("axpy").unwrap_err(),
        module.function::<Swapped>("axpy").unwrap_err(),
        module.function::<()>("axpy_struct").unwrap_err(),
    ];
    for (error, expected) in errors.iter().zip([
        "takes 4 parameters, Short has 3 fields",
        "takes a pointer of 8 bytes at offset 8, Swapped.y is a value",
        "takes one parameter of 24 bytes, () has 0 fields",
    ]) {
        assert!(matches!(error, Error::Layout { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
    let error = module.function::<AxpyArgs>("axpi").unwrap_err();
    let Error::NoKernel { kernel, available } = error else { panic!("{error}") };
    assert_eq!((kernel.as_str(), available.len()), ("axpi", 2));
}

#[test]
fn code_for_another_chip_is_refused() {
    let [mi325x, mi355x] = devices();
    let image = compile(Arch::Gfx942, AXPY);
    assert!(Module::load(&mi325x, &image).is_ok());
    let error = Module::load(&mi355x, &image).unwrap_err();
    assert!(error.to_string().contains("is for `gfx942"), "{error}");
}

#[test]
fn damaged_code_objects_are_errors() {
    let [device, _] = devices();
    let image = compile(device.arch(), AXPY);
    for cut in [0, 10, 64, 200] {
        let error = Module::load(&device, &image[..cut]).unwrap_err();
        assert!(matches!(error, Error::CodeObject { .. }), "{error}");
    }
    // Whatever the bytes are, reading them ends with kernels or an error.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as usize % below
    };
    let mut refused = 0;
    for _ in 0..5000 {
        let mut damaged = image.clone();
        // The headers and the note are at the start.
        for _ in 0..=random(8) {
            damaged[random(1500)] = random(256) as u8;
        }
        refused += u32::from(CodeObjectInfo::read(&damaged).is_err());
    }
    assert!((500..5000).contains(&refused), "{refused} of 5000 were refused");
}

#[test]
fn launches_beyond_limits_leave_the_output() {
    let [device, other] = devices();
    let stream = device.default_stream();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let mut y = Tensor::filled(&stream, &[64], 3.0f32).unwrap();
    let args = AxpyArgs { x: y.ptr(), y: y.ptr_mut(), a: 1.0, n: 64 };
    for config in [
        LaunchConfig::new(1, 512),
        LaunchConfig::new(0, 64),
        LaunchConfig::new(1, 64).dynamic_lds(65_537),
    ] {
        // SAFETY: the kernel stays within n elements; nothing is launched.
        let error = unsafe { axpy.launch(&stream, config, &args) }.unwrap_err();
        assert!(matches!(error, Error::Launch { .. }), "{error}");
    }
    // SAFETY: as above.
    let error = unsafe { axpy.launch(&other.default_stream(), LaunchConfig::new(1, 64), &args) };
    assert!(matches!(error, Err(Error::Device { .. })), "{error:?}");
    assert_eq!(y.to_vec().unwrap(), [3.0; 64]);
}

#[test]
fn dynamic_lds_reaches_the_kernel() {
    const REVERSE: &str = r#"
        #include "hk/hip.h"
        extern "C" __global__ void reverse(int* data, int n) {
          extern __shared__ int copy[];
          for (int i = hk::thread_idx().x; i < n; i += hk::block_dim().x) copy[i] = data[i];
          hk::sync_threads();
          for (int i = hk::thread_idx().x; i < n; i += hk::block_dim().x) data[i] = copy[n - 1 - i];
        }
    "#;
    kernel_args! {
        struct ReverseArgs { data: DevicePtr<i32>, n: i32 }
    }
    for device in devices() {
        let stream = device.default_stream();
        let n = (device.arch().lds_bytes() / 4) as i32;
        let host: Vec<i32> = (0..n).collect();
        let mut data = Tensor::from_slice(&stream, &host, &[host.len()]).unwrap();
        let module = Module::load(&device, &compile(device.arch(), REVERSE)).unwrap();
        let reverse = module.function::<ReverseArgs>("reverse").unwrap();
        let config = LaunchConfig::new(1, 1024).dynamic_lds(device.arch().lds_bytes());
        // SAFETY: the kernel stays within n elements, and n words of LDS.
        unsafe { reverse.launch(&stream, config, &ReverseArgs { data: data.ptr_mut(), n }) }
            .unwrap();
        assert!(data.to_vec().unwrap().into_iter().eq((0..n).rev()));
    }
}

#[test]
fn a_fault_is_an_error_and_the_device_stays_usable() {
    let device = Device::open("sim:mi355x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let x = Tensor::filled(&stream, &[256], 1.0f32).unwrap();
    let mut y = Tensor::filled(&stream, &[256], 1.0f32).unwrap();
    let mut args = AxpyArgs { x: x.ptr(), y: DevicePtr::new(0x1000), a: 1.0, n: 256 };
    let config = LaunchConfig::new(1, 256);
    // SAFETY: the simulator checks every access; that it reports this one is what is tested.
    let launched = unsafe { axpy.launch(&stream, config, &args) };
    let error = launched.and_then(|()| stream.synchronize()).unwrap_err();
    let Error::Fault(report) = error else { panic!("{error}") };
    assert_eq!(report.kernel, "axpy");
    assert_eq!(report.address.unwrap() & !0x3ff, 0x1000, "{report}");
    assert!(report.instruction.starts_with("global_"), "{report}");

    args.y = y.ptr_mut();
    // SAFETY: the kernel stays within n elements of x and y.
    unsafe { axpy.launch(&stream, config, &args) }.unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 256]);
}

#[test]
fn a_launch_can_be_captured_in_a_graph() {
    let device = Device::open("sim:mi355x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let x = Tensor::filled(&stream, &[256], 1.0f32).unwrap();
    let mut y = Tensor::filled(&stream, &[256], 1.0f32).unwrap();
    let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 1.0, n: 256 };
    stream.synchronize().unwrap();
    // The simulator refuses what ROCm 7 refuses during a global capture: allocation, creation of
    // streams, synchronisation.
    let raw = stream.raw();
    let ok = HipError::SUCCESS;
    let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the stream is live, the graph and its instance are written before they are used, and
    // the kernel stays within n elements of x and y.
    unsafe {
        assert_eq!(capi::hipStreamBeginCapture(raw, 0), ok);
        axpy.launch(&stream, LaunchConfig::new(1, 256), &args).unwrap();
        assert_eq!(capi::hipStreamEndCapture(raw, &mut graph), ok);
        assert_eq!(y.to_vec().unwrap(), [1.0; 256], "a captured launch does not run");
        let nothing = ptr::null_mut();
        let created =
            capi::hipGraphInstantiate(&mut executable, graph, ptr::null_mut(), nothing, 0);
        assert_eq!(created, ok);
        for _ in 0..3 {
            assert_eq!(capi::hipGraphLaunch(executable, raw), ok);
        }
        assert_eq!(y.to_vec().unwrap(), [4.0; 256]);
        assert_eq!(capi::hipGraphExecDestroy(executable), ok);
        assert_eq!(capi::hipGraphDestroy(graph), ok);
    }
}

/// The embedded tables of a crate, as its build would write them.
fn kernel_set(arch: Arch) -> KernelSet {
    let image = compile(arch, AXPY);
    let (packed, size) = (compress_to_vec_zlib(&image, 6).leak(), image.len());
    let tile = TileConfig {
        name: "only",
        symbol: "axpy",
        image: CodeObjectImage { arch: arch.name(), packed, size },
        threads: 128,
        dynamic_lds: 0,
        params: &[],
        when: &[("n", Range { multiple_of: 128, ..Range::ANY })],
        resources: Resources::default(),
    };
    let (dims, tiles): (&[&str], _) = (&["n"], Vec::leak(vec![tile]));
    let kernel = Kernel { arch: arch.name(), core: "axpy", variant: "", dims, tiles };
    KernelSet { package: "test", kernels: Vec::leak(vec![kernel]) }
}

#[test]
fn embedded_kernels_are_selected_loaded_and_launched() {
    let [mi325x, mi355x] = devices();
    let set = kernel_set(Arch::Gfx942);
    let select = |device, n| set.function::<AxpyArgs>(device, "axpy", "axpy", "", &[("n", n)]);

    let stream = mi325x.default_stream();
    let x = Tensor::filled(&stream, &[256], 2.0f32).unwrap();
    let mut y = Tensor::filled(&stream, &[256], 1.0f32).unwrap();
    let axpy = select(&mi325x, 256).unwrap();
    assert_eq!(axpy.tile().threads, 128);
    let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 0.5, n: 256 };
    // SAFETY: the kernel stays within n elements of x and y.
    unsafe { axpy.launch(&stream, [2, 1, 1], &args) }.unwrap();
    assert_eq!(y.to_vec().unwrap(), [2.0; 256]);

    let error = select(&mi325x, 100).unwrap_err();
    let Error::NoTile { op: "axpy", problem, nearest, .. } = error else { panic!("{error}") };
    assert_eq!((problem.as_str(), nearest.contains("multiple of 128")), ("n = 100", true));
    let error = select(&mi355x, 256).unwrap_err();
    assert!(matches!(error, Error::NoCodeObject { op: "axpy", feature: "cdna4", .. }), "{error}");
    let error = set.function::<AxpyArgs>(&mi325x, "axpy", "axpby", "", &[]).unwrap_err();
    assert!(matches!(error, Error::NoKernel { .. }), "{error}");
    let error = set.function::<()>(&mi325x, "axpy", "axpy", "", &[("n", 128)]).unwrap_err();
    assert!(matches!(error, Error::Layout { .. }), "{error}");
}

#[test]
fn events_measure_time_on_the_device() {
    let device = Device::open("sim:mi325x").unwrap();
    let stream = device.new_stream().unwrap();
    let module = Module::load(&device, &compile(device.arch(), AXPY)).unwrap();
    let axpy = module.function::<AxpyArgs>("axpy").unwrap();
    let x = Tensor::filled(&stream, &[1 << 16], 2.0f32).unwrap();
    let mut y = Tensor::filled(&stream, &[1 << 16], 1.0f32).unwrap();
    let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a: 0.5, n: 1 << 16 };
    let start = stream.record().unwrap();
    // SAFETY: the kernel stays within n elements of x and y.
    unsafe { axpy.launch(&stream, LaunchConfig::for_elements(1 << 16, 256), &args) }.unwrap();
    let stop = stream.record().unwrap();
    let other = device.new_stream().unwrap();
    other.wait(&stop).unwrap();
    other.synchronize().unwrap();
    assert!(stream.is_idle().unwrap());
    assert!(!start.elapsed(&stop).unwrap().is_zero());
}
