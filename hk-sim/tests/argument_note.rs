//! Writes to inputs of kernels that take a struct by value, known by hk-build's note.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CString, c_void};
use std::fs;
use std::path::Path;
use std::ptr::null_mut;

use hk_build::{Arch, Kernels};
use hk_sim::Options;
use hk_sim::capi::*;
use hk_sim::object::{ArgPointer, CodeObject};
use hk_sim::sanitize::Kind;
use hk_sim::{FaultKind, HipError};
use support::*;

const SOURCE: &str = r#"
#define HK_KERNEL(threads, waves) \
  __attribute__((global, amdgpu_flat_work_group_size(threads, threads)))
struct Row { const void* values; unsigned count; };
struct NormArgs {
  const float* x;
  float* y;
  float* rstd;  // null if not wanted
  Row rows[2];
  unsigned n;
};
template <class Tile> __attribute__((device)) void norm(const NormArgs& args) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  float* spoilt = Tile::SPOILS == 1 ? const_cast<float*>(args.x)
                : Tile::SPOILS == 2 ? (float*)args.rows[1].values : args.y;
  const float value = args.x[i] + ((const float*)args.rows[0].values)[i];
  const float old = args.y[i];
  args.y[i] = value * 0.5f + old;
  if (i < args.n) spoilt[i] = value;
  if (args.rstd != nullptr) args.rstd[i] = value;
}
"#;

const TILES: &str = r#"
budget = { objects = 3, code_bytes = 9999 }

[[kernel]]
args = "NormArgs"
threads = 64
choose = "best"

[[kernel.tile]]
name = "right"
params = { SPOILS = 0 }

[[kernel.tile]]
name = "x"
params = { SPOILS = 1 }

[[kernel.tile]]
name = "row"
params = { SPOILS = 2 }
"#;

#[repr(C)]
struct Row {
    values: *mut c_void,
    count: u32,
}

#[repr(C)]
struct NormArgs {
    x: *mut c_void,
    y: *mut c_void,
    rstd: *mut c_void,
    rows: [Row; 2],
    n: u32,
}

fn object(folder: &Path, tile: &str, arch: Arch) -> Vec<u8> {
    fs::read(folder.join(format!("hk/hk_norm_{tile}-{arch}.hsaco"))).expect("it was built")
}

/// Launches a tile and returns what the next synchronising call says.
fn launch(image: &[u8], tile: &str, mut args: NormArgs) -> HipError {
    let module = get(|to| unsafe { hipModuleLoadData(to, image.as_ptr().cast()) });
    let name = CString::new(format!("hk_norm_{tile}")).expect("no zeros");
    let function = get(|to| unsafe { hipModuleGetFunction(to, module, name.as_ptr()) });
    let stream = stream();
    let mut args = [(&raw mut args).cast::<c_void>()];
    ok(unsafe {
        let args = args.as_mut_ptr();
        hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream.cast(), args, null_mut())
    });
    unsafe { hipStreamSynchronize(stream.cast()) }
}

#[test]
fn writes_to_inputs_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("kernels/norm.hip", SOURCE), ("tiles/norm.toml", TILES)] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    let kernels = Kernels::new("demo", folder.path(), folder.path());
    kernels.arch(Arch::Gfx942).arch(Arch::Gfx950).run().unwrap_or_else(|error| panic!("{error}"));
    hk_sim::set_options(Options { sanitize: Kind::Memory.into(), ..Default::default() });

    for (product, arch) in [("mi325x", Arch::Gfx942), ("mi355x", Arch::Gfx950)] {
        use_product(product);
        let image = |tile| object(folder.path(), tile, arch);
        let parsed = CodeObject::parse(&image("right")).expect("a code object");
        let kernel = parsed.kernel("hk_norm_right").expect("the kernel");
        let pointer = |name: &str, offset, is_const, element: Option<&str>| ArgPointer {
            name: name.to_owned(),
            offset,
            is_const,
            element: element.map(str::to_owned),
        };
        let want = [
            pointer("x", 0, true, Some("f32")),
            pointer("y", 8, false, Some("f32")),
            pointer("rstd", 16, false, Some("f32")),
            pointer("rows[0].values", 24, true, None),
            pointer("rows[1].values", 40, true, None),
        ];
        assert_eq!(kernel.pointers.as_deref(), Some(&want[..]));
        let noted = parsed.variables().iter().any(|variable| variable.name.contains("note"));
        assert!(!noted, "the note is no variable");

        let [x, y, first, second] = [(); 4].map(|()| upload(&[1.5f32; 64]));
        let run = |tile, x, y, n| {
            let rows = [first, second].map(|values| Row { values, count: 64 });
            launch(&image(tile), tile, NormArgs { x, y, rstd: null_mut(), rows, n })
        };
        ok(run("right", x, y, 64));
        for (tile, spoilt) in [("x", x), ("row", second)] {
            // As long as it does not write there.
            ok(run(tile, x, y, 0));
            assert_eq!(run(tile, x, y, 64), HipError::LAUNCH_FAILURE, "{tile} on {arch}");
            let fault = hk_sim::last_fault().expect("a report");
            assert_eq!(fault.kind, FaultKind::Sanitizer(Kind::Memory), "{fault}");
            assert_eq!(fault.address, Some(spoilt as u64), "{fault}");
            assert!(fault.detail.contains("which is an input"), "{fault}");
        }
        // What is an output as well may be written, whichever pointer is used.
        ok(run("right", x, x, 64));
        ok(run("x", x, x, 64));
        [x, y, first, second].into_iter().for_each(free);
    }
}
