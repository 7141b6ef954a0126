//! Compiling and running the kernels that say what is where.

use std::fmt::Write;
use std::path::Path;

use hk_core::counters::{Counters, count};
use hk_core::dtype::f16;
use hk_core::{AnyPtr, Arch, Device, LaunchConfig, Module, Result, Stream, Tensor, kernel_args};

kernel_args! {
    /// Arguments of every kernel here: elements of 16 bits, and what it says.
    struct Io {
        elements: AnyPtr,
        out: AnyPtr,
    }
}

/// What every source begins with.
const HEAD: &str = "
struct Io { const void* elements; void* out; };
#define KERNEL(name, threads) \
  extern \"C\" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void \
  name(Io io)
using namespace hk;
";

/// Elements that a matrix is made of here: each has a number of its own.
const ELEMENTS: u16 = 0x7fff;

/// A source on one chip.
pub(crate) struct Program {
    module: Module,
    device: Device,
}

impl Program {
    /// Compiles a source that includes a header, behind `before`.
    pub(crate) fn new(chip: &str, header: &str, before: &str, source: &str) -> Self {
        let device = Device::open(&format!("sim:{}", chip.to_lowercase())).unwrap();
        let source =
            format!("#include \"hk/hip.h\"\n#include \"hk/{header}\"\n{HEAD}{before}{source}");
        let options = hk_build::CompileOptions::default().include(hk_core::INCLUDE);
        let image = hk_build::compile_source(&source, device.arch(), &options).unwrap().image;
        Self { module: Module::load(&device, &image).unwrap(), device }
    }

    /// Runs one workgroup; returns the first `len` numbers that it writes, and what was counted.
    pub(crate) fn run(&self, kernel: &str, threads: u32, len: usize) -> (Vec<u32>, Counters) {
        let stream = self.device.default_stream();
        let elements: Vec<_> = (0..ELEMENTS).map(f16::from_bits).collect();
        let elements = Tensor::from_slice(&stream, &elements, &[elements.len()]).unwrap();
        let out = Tensor::filled(&stream, &[len], -1i32).unwrap();
        let args = Io { elements: elements.ptr().any(), out: out.ptr().any() };
        let function = self.module.function(kernel).unwrap();
        let ((), counts) = count(|| {
            // SAFETY: the kernels here read no other elements and write `len` numbers.
            unsafe { function.launch(&stream, LaunchConfig::new(1, threads), &args) }.unwrap();
            stream.synchronize().unwrap();
        });
        let counts = counts.into_values().next().expect("it was launched");
        (out.to_vec().unwrap().into_iter().map(|x| x as u32).collect(), counts)
    }

    /// The numbers alone.
    pub(crate) fn say(&self, kernel: &str, threads: u32, len: usize) -> Vec<u32> {
        self.run(kernel, threads, len).0
    }
}

/// What a crate's tile file says of a tile.
pub(crate) struct Tile {
    params: toml::Table,
    pub(crate) threads: u32,
}

impl Tile {
    /// A tile of `FOLDER/tiles/FILE`, for a chip.
    pub(crate) fn read(file: &str, name: &str, chip: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let text = std::fs::read_to_string(file).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let kernel = table["kernel"][0].as_table().unwrap();
        let tiles = kernel["tile"].as_array().unwrap().iter();
        let tile = tiles.map(|tile| tile.as_table().unwrap());
        let tile = tile.into_iter().find(|tile| tile["name"].as_str() == Some(name)).unwrap();
        let arch = Device::open(&format!("sim:{}", chip.to_lowercase())).unwrap().arch();
        let arch = if arch == Arch::Gfx942 { "cdna3" } else { "cdna4" };
        let mut params = toml::Table::new();
        let mut threads = 0;
        for table in [kernel, tile] {
            let of_arch = table.get(arch).and_then(toml::Value::as_table);
            for table in [Some(table), of_arch].into_iter().flatten() {
                let given =
                    table.get("params").and_then(toml::Value::as_table).into_iter().flatten();
                params.extend(given.map(|(key, value)| (key.clone(), value.clone())));
                threads = table.get("threads").map_or(threads, |n| n.as_integer().unwrap() as u32);
            }
        }
        Self { params, threads }
    }

    /// A parameter.
    pub(crate) fn get(&self, name: &str) -> usize {
        self.params[name].as_integer().unwrap() as usize
    }

    /// The struct that kernels take, with `more` members.
    pub(crate) fn declare(&self, name: &str, more: &str) -> String {
        let mut text = format!("struct {name} {{\n  {more}\n");
        let _ = writeln!(text, "  static constexpr int threads = {};", self.threads);
        for (key, value) in &self.params {
            let kind = if value.is_bool() { "bool" } else { "int" };
            let _ = writeln!(text, "  static constexpr {kind} {key} = {value};");
        }
        text + "};\n"
    }
}

/// What an op does on a chip: accesses of LDS, and the cycles that its bank conflicts cost.
pub(crate) fn lds_of_op(chip: &str, op: impl FnOnce(&Stream) -> Result<()>) -> [u64; 2] {
    let stream = Device::open(&format!("sim:{}", chip.to_lowercase())).unwrap().default_stream();
    let (result, counts) = count(|| op(&stream).and_then(|()| stream.synchronize()));
    result.unwrap();
    let sum = |of: fn(&Counters) -> u64| counts.values().map(of).sum();
    [sum(|of| of.lds_accesses), sum(|of| of.lds_conflict_cycles)]
}
