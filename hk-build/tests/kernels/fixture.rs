//! A small kernel crate to build.

use std::fs;
use std::path::PathBuf;

use hk_build::{Arch, BuildError, Kernels, Report};
use tempfile::TempDir;

/// A kernel crate in a temporary folder.
pub(crate) struct Fixture {
    dir: TempDir,
}

pub(crate) const SOURCE: &str = r#"
#include "device.h"
struct ScaleArgs { float *__restrict out; const float *__restrict in; float factor; unsigned n; };
template <class Tile> __device__ void scale(const ScaleArgs &args) {
    for (unsigned i = __builtin_amdgcn_workitem_id_x(); i < args.n; i += Tile::threads)
        args.out[i] = args.in[i] * args.factor + float(Tile::BIAS);
}
"#;

pub(crate) const HEADER: &str = "#define __device__ __attribute__((device))\n\
                      #define __shared__ __attribute__((shared))\n\
                      #define HK_KERNEL(threads, waves) __attribute__((global, \
                      amdgpu_flat_work_group_size(threads, threads), amdgpu_waves_per_eu(waves)))\n";

pub(crate) const TILES: &str = r#"
budget = { objects = 9, code_bytes = 99999 }

[[kernel]]
variant = "f32"
args = "ScaleArgs"
dims = ["n"]
threads = 256

[[kernel.tile]]
name = "small"
params = { BIAS = 1 }
when = { n = { max = 1024 } }

[[kernel.tile]]
name = "large"
params = { BIAS = 2 }
"#;

impl Fixture {
    pub(crate) fn new() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["kernels", "tiles", "include", "out"] {
            fs::create_dir(fixture.path(folder)).unwrap();
        }
        fixture.write("kernels/scale.hip", SOURCE);
        fixture.write("include/device.h", HEADER);
        fixture.write("tiles/scale.toml", TILES);
        fixture
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn kernels(&self) -> Kernels {
        Kernels::new("hk-demo", self.dir.path(), self.path("out")).include(self.path("include"))
    }

    pub(crate) fn build(&self) -> Result<Report, BuildError> {
        self.kernels().arch(Arch::Gfx942).run()
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        let report = self.build().unwrap();
        assert_eq!(report.warnings, Vec::<String>::new());
        (report.compiled, report.reused)
    }

    pub(crate) fn generated(&self) -> String {
        fs::read_to_string(self.path("out/kernels.rs")).unwrap()
    }
}
