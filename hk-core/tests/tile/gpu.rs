//! Compiling and running small kernels.

use hk_core::dtype::Element;
use hk_core::{AnyPtr, Device, Function, LaunchConfig, Module, Tensor, kernel_args};

kernel_args! {
    /// Arguments of every kernel here: two inputs, an output, a number.
    pub(crate) struct Io {
        pub(crate) a: AnyPtr,
        pub(crate) b: AnyPtr,
        pub(crate) out: AnyPtr,
        pub(crate) n: u32,
    }
}

/// What every source begins with.
const HEAD: &str = "
#include \"hk/hip.h\"
struct Io { const void* a; const void* b; void* out; hk::u32 n; };
#define KERNEL(name, threads) \
  extern \"C\" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void \
  name(Io io)
using namespace hk;
";

/// A compiled source on one device.
pub(crate) struct Program {
    module: Module,
    device: Device,
}

/// The source, which includes `header`, compiled for and loaded on both chips.
pub(crate) fn programs(headers: &[&str], source: &str) -> [Program; 2] {
    let includes: String =
        headers.iter().map(|header| format!("#include \"hk/{header}\"\n")).collect();
    let source = format!("{includes}{HEAD}{source}");
    ["sim:mi325x", "sim:mi355x"].map(|name| {
        let device = Device::open(name).unwrap();
        let options = hk_build::CompileOptions::default().include(hk_core::INCLUDE);
        let image = hk_build::compile_source(&source, device.arch(), &options).unwrap().image;
        Program { module: Module::load(&device, &image).unwrap(), device }
    })
}

/// Whether the source compiles, for each chip.
pub(crate) fn compiles(headers: &[&str], source: &str) -> [bool; 2] {
    let includes: String =
        headers.iter().map(|header| format!("#include \"hk/{header}\"\n")).collect();
    let source = format!("{includes}{HEAD}{source}");
    ["gfx942", "gfx950"].map(|arch| {
        let options = hk_build::CompileOptions::default().include(hk_core::INCLUDE);
        hk_build::compile_source(&source, arch.parse().unwrap(), &options).is_ok()
    })
}

impl Program {
    /// The chip, for messages.
    pub(crate) fn chip(&self) -> &str {
        self.device.name()
    }

    /// The device that it is loaded on.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// One of its kernels.
    pub(crate) fn function(&self, kernel: &str) -> Function<Io> {
        self.module.function(kernel).unwrap()
    }

    /// Runs one workgroup; returns what it leaves in an output of `len` elements, which are `fill`
    /// before.
    pub(crate) fn run<A: Element, B: Element, T: Element>(
        &self,
        kernel: &str,
        threads: u32,
        inputs: (&[A], &[B]),
        n: u32,
        (len, fill): (usize, T),
    ) -> Vec<T> {
        let stream = self.device.default_stream();
        let a = Tensor::from_slice(&stream, inputs.0, &[inputs.0.len()]).unwrap();
        let b = Tensor::from_slice(&stream, inputs.1, &[inputs.1.len()]).unwrap();
        let out = Tensor::filled(&stream, &[len], fill).unwrap();
        let args = Io { a: a.ptr().any(), b: b.ptr().any(), out: out.ptr().any(), n };
        let function = self.function(kernel);
        // SAFETY: the kernels of these tests stay inside these three tensors.
        unsafe { function.launch(&stream, LaunchConfig::new(1, threads), &args) }.unwrap();
        out.to_vec().unwrap()
    }
}

/// Numbers that look random, the same each time.
pub(crate) fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}
