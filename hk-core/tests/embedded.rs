//! Code objects as a crate embeds them.

#![cfg(feature = "sim")]

use std::fs;

use hk_build::Kernels;
use hk_core::kernel::{CodeObjectImage, Kernel, KernelSet, Resources, TileConfig};
use hk_core::{Arch, Device, DevicePtr, Error, FaultKind, Tensor, kernel_args};
use hk_sim::Options;
use hk_sim::sanitize::Kind;

kernel_args! {
    struct CopyArgs { x: DevicePtr<f32>, y: DevicePtr<f32> }
}

const SOURCE: &str = "#include \"hk/hip.h\"
struct CopyArgs { const float *x; float *y; };
template <class Tile> __attribute__((device)) void copy(const CopyArgs &args) {
    const unsigned i = __builtin_amdgcn_workitem_id_x();
    const float value = args.x[i];
    args.y[i] = value;
}
";

const TILES: &str = "budget = { objects = 1, code_bytes = 9999 }\n[[kernel]]\nargs = \"CopyArgs\"\nthreads = 64\n\
                     [[kernel.tile]]\nname = \"tile\"\n";

/// What the build of a crate with that kernel embeds.
fn image() -> CodeObjectImage {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("kernels/copy.hip", SOURCE), ("tiles/copy.toml", TILES)] {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let kernels = Kernels::new("demo", dir.path(), dir.path()).include(hk_core::INCLUDE);
    kernels.arch(Arch::Gfx950).run().unwrap();
    let read = |extension| {
        fs::read(dir.path().join("hk/hk_copy_tile-gfx950").with_extension(extension)).unwrap()
    };
    let (plain, packed) = (read("hsaco"), read("hsaco.zlib").leak());
    let image = CodeObjectImage { arch: "gfx950", packed, size: plain.len() };
    assert_eq!(image.unpack().unwrap(), plain);
    image
}

#[test]
fn a_finding_in_an_embedded_kernel_names_file_and_line() {
    let tile = TileConfig {
        name: "tile",
        symbol: "hk_copy_tile",
        image: image(),
        threads: 64,
        dynamic_lds: 0,
        params: &[],
        when: &[],
        resources: Resources::default(),
    };
    let tiles = Vec::leak(vec![tile]);
    let kernel = Kernel { arch: "gfx950", core: "copy", variant: "", dims: &[], tiles };
    let set = KernelSet { package: "demo", kernels: Vec::leak(vec![kernel]) };

    hk_sim::set_options(Options { sanitize: Kind::Memory.into(), ..Default::default() });
    let device = Device::open("sim:mi355x").unwrap();
    let stream = device.default_stream();
    let copy = set.function::<CopyArgs>(&device, "copy", "copy", "", &[]).unwrap();
    let x = Tensor::filled(&stream, &[60], 1.0f32).unwrap();
    let mut y = Tensor::filled(&stream, &[64], 0.0f32).unwrap();
    let args = CopyArgs { x: x.ptr(), y: y.ptr_mut() };
    // SAFETY: reads past the end of x, which the simulator reports instead.
    unsafe { copy.launch(&stream, [1, 1, 1], &args) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    let Error::Fault(report) = error else { panic!("{error}") };
    assert!(matches!(report.kind, FaultKind::Sanitizer(_)), "{report}");
    let source = report.source.as_deref().unwrap();
    assert!(source.contains("kernels/copy.hip:5"), "{source}");
}

#[test]
fn a_damaged_stream_is_an_error() {
    let image = image();
    let mut packed = image.packed.to_vec();
    packed[image.packed.len() / 2] ^= 1;
    let damaged = CodeObjectImage { packed: packed.leak(), ..image };
    let longer = CodeObjectImage { size: image.size + 1, ..image };
    let shorter = CodeObjectImage { size: image.size - 1, ..image };
    for image in [damaged, longer, shorter] {
        let error = image.unpack().unwrap_err();
        assert!(matches!(error, Error::CodeObject { .. }), "{error}");
    }
}
