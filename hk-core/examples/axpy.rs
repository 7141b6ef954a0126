//! Compiles a small HIP kernel, and launches it on a simulated chip of each architecture.
//!
//! `cargo run -p hk-core --example axpy`

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use hk_build::{CompileOptions, compile_source};
use hk_core::{Device, DevicePtr, LaunchConfig, Module, Tensor, kernel_args};
use ndarray::Array1;

const SOURCE: &str = r#"
#include "hk/hip.h"

extern "C" __global__ void axpy(const float* x, float* y, float a, int n) {
  int i = hk::global_idx();
  if (i < n) y[i] += a * x[i];
}
"#;

kernel_args! {
    struct AxpyArgs { x: DevicePtr<f32>, y: DevicePtr<f32>, a: f32, n: i32 }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in ["sim:mi325x", "sim:mi355x"] {
        let device = Device::open(name)?;
        let options = CompileOptions::default().include(hk_core::INCLUDE);
        let code = compile_source(SOURCE, device.arch(), &options)?;
        let axpy = Module::load(&device, &code.image)?.function::<AxpyArgs>("axpy")?;

        let (a, n) = (2.0, 1000);
        let stream = device.default_stream();
        let x = Tensor::upload(&stream, Array1::linspace(0.0, 1.0, n).view())?;
        let mut y = Tensor::filled(&stream, &[n], 1.0f32)?;
        let args = AxpyArgs { x: x.ptr(), y: y.ptr_mut(), a, n: n as i32 };
        // SAFETY: the kernel reads n elements of x, and reads and writes n elements of y.
        unsafe { axpy.launch(&stream, LaunchConfig::for_elements(n, 256), &args)? };

        let (x, y) = (x.download()?, y.download()?);
        assert_eq!(y, x.mapv(|x| f32::mul_add(a, x, 1.0)));
        println!("{device}: y[0] = {}, y[{}] = {}", y[0], n - 1, y[n - 1]);
    }
    Ok(())
}
