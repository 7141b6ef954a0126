//! Running kernels of the corpus.

use std::collections::HashMap;
use std::sync::Arc;

use hk_build::{CompileOptions, assemble_with_symbols, compile_source};
use hk_sim::PRODUCTS;
use hk_sim::exec::{CodeSection, Dispatch, Program, WaveSetup};
use hk_sim::isa::Arch;
use hk_sim::mem::{Memory, RegionKind, Request};
use hk_sim::object::CodeObject;
use hk_sim::sanitize::{Checked, Notes, Options, SourceLines, check};

use crate::corpus::{Arg, Case, Version};

/// Head of every HIP file of the corpus.
const PRELUDE: &str = "\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
";

/// Code of all cases of a file for one chip.
pub(crate) struct Code {
    program: Arc<Program>,
    lines: SourceLines,
    kernels: HashMap<String, Kernel>,
}

struct Kernel {
    entry: u64,
    setup: WaveSetup,
    lds: u32,
}

/// Address that code is loaded at: far from everything else.
const BASE: u64 = 0x1000_0000;

impl Code {
    /// Compiles or assembles both versions of the cases that the chip has.
    pub(crate) fn build(file: &'static str, text: &str, cases: &[&Case], arch: Arch) -> Self {
        let versions =
            cases.iter().flat_map(|case| [(*case, Version::Wrong), (case, Version::Right)]);
        if file.ends_with(".s") {
            Self::assemble(file, text, versions, arch)
        } else {
            Self::compile(text, versions, arch)
        }
    }

    fn assemble<'c>(
        file: &'static str,
        text: &str,
        versions: impl Iterator<Item = (&'c Case, Version)> + Clone,
        arch: Arch,
    ) -> Self {
        let source: String =
            versions.clone().map(|(case, version)| case.assembly(text, version)).collect();
        let assembly = assemble_with_symbols(&source, arch)
            .unwrap_or_else(|error| panic!("{file} for {arch}: {error}"));
        let program = program(arch, vec![section(BASE, &assembly.text)]);
        let mut kernels = HashMap::new();
        for (case, version) in versions {
            let symbol = case.symbol(version);
            let offset = assembly.symbols.iter().find(|(name, _)| *name == symbol);
            let entry = BASE + offset.expect("the symbol was assembled").1;
            kernels.insert(symbol, Kernel { entry, setup: ASSEMBLY_SETUP, lds: case.lds });
        }
        // The last label at or before an instruction is that of its line.
        let lines: Vec<(u64, String)> = assembly
            .symbols
            .iter()
            .filter_map(|(name, offset)| {
                let (_, line) = name.rsplit_once("_line_")?;
                Some((BASE + offset, format!("{file}:{line}")))
            })
            .collect();
        let lines = SourceLines::new(move |pc| {
            let at = lines.partition_point(|(start, _)| *start <= pc);
            lines.get(at.checked_sub(1)?).map(|(_, line)| line.clone())
        });
        Self { program, lines, kernels }
    }

    fn compile<'c>(
        text: &str,
        versions: impl Iterator<Item = (&'c Case, Version)> + Clone,
        arch: Arch,
    ) -> Self {
        let mut source = PRELUDE.to_owned();
        // What stands before the first case belongs to all.
        for line in text.lines().take_while(|line| !line.starts_with("// case ")) {
            source.push_str(line);
            source.push('\n');
        }
        source.extend(versions.clone().map(|(case, version)| case.source(text, version)));
        let options = CompileOptions::default();
        let compiled =
            compile_source(&source, arch, &options).unwrap_or_else(|error| panic!("{error}"));
        let object = CodeObject::parse(&compiled.image).expect("clang makes valid objects");
        let image = object.image(BASE).expect("there are no undefined symbols");
        let sections = object.text().map(|range| {
            section(BASE + range.start, &image[range.start as usize..range.end as usize])
        });
        let program = program(arch, sections.collect());
        let kernels = versions
            .map(|(case, version)| {
                let symbol = case.symbol(version);
                let kernel = object.kernel(&symbol).expect("the kernel was compiled");
                let entry = BASE + kernel.entry_vaddr;
                let setup = kernel.descriptor.wave_setup();
                let lds = kernel.descriptor.group_segment_fixed_size;
                (symbol, Kernel { entry, setup, lds })
            })
            .collect();
        let lines = SourceLines::new(move |pc| {
            let location = object.source_line(pc - BASE)?;
            Some(format!("{}:{}", location.file.rsplit('/').next()?, location.line))
        });
        Self { program, lines, kernels }
    }

    /// Offset from its entry of the code of a line in the right version of a case.
    pub(crate) fn offset(&self, case: &Case, line: usize) -> Option<u64> {
        let entry = self.kernels[&case.symbol(Version::Right)].entry;
        let wanted = Some(format!("{}:{line}", case.file));
        (0..4096).step_by(4).find(|offset| self.lines.find(entry + offset) == wanted)
    }

    /// Runs a version of a case.
    pub(crate) fn run(&self, case: &Case, version: Version, options: &Options) -> Checked {
        let kernel = &self.kernels[&case.symbol(version)];
        let memory = Memory::new();
        memory.watch(true, true);
        let mut notes = Notes { lines: Some(self.lines.clone()), ..Notes::default() };
        let mut kernarg = Vec::new();
        for arg in &case.args {
            kernarg.extend(place(*arg, &memory, &mut notes).to_le_bytes());
        }
        let kernarg_address = allocate(&memory, kernarg.len().max(8), RegionKind::Runtime);
        write(kernarg_address, &kernarg);
        let snapshot = memory.snapshot(0);
        notes.freed = Arc::clone(snapshot.freed());
        notes.written = Arc::clone(snapshot.written());
        let arch = self.program.arch();
        let dispatch = Dispatch {
            product: PRODUCTS.iter().find(|product| product.arch == arch).expect("one per chip"),
            program: Arc::clone(&self.program),
            kernel: case.symbol(version),
            entry: kernel.entry,
            setup: kernel.setup,
            grid: [case.grid, 1, 1],
            block: [case.block, 1, 1],
            tail: [case.block, 1, 1],
            kernarg: kernarg_address,
            dispatch_packet: 0,
            queue: 0,
            lds_bytes: kernel.lds,
            scratch_bytes: case.scratch,
            regions: Arc::clone(snapshot.regions()),
        };
        check(&dispatch, &notes, options)
    }
}

/// Registers that assembly kernels start with: the arguments' address in `s[0:1]`, the workgroup in
/// `s2`, the work-item in `v0`.
const ASSEMBLY_SETUP: WaveSetup = WaveSetup {
    vgprs: 256,
    agprs: 256,
    mode: 0x3f0,
    user_sgprs: 2,
    dispatch_ptr: false,
    queue_ptr: false,
    kernarg_ptr: true,
    dispatch_id: false,
    private_segment_size: false,
    workgroup_id: [true, false, false],
    workgroup_info: false,
    workitem_ids: 0,
};

fn section(address: u64, bytes: &[u8]) -> CodeSection {
    let words =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four")));
    CodeSection { address, words: words.collect() }
}

fn program(arch: Arch, sections: Vec<CodeSection>) -> Arc<Program> {
    Arc::new(Program::new(arch, sections))
}

fn allocate(memory: &Memory, len: usize, kind: RegionKind) -> u64 {
    let request = Request { len: len as u64, kind, device: 0, flags: 0, managed: false };
    memory.allocate(request, 1 << 30).expect("there is room")
}

fn write(address: u64, bytes: &[u8]) {
    let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
    // SAFETY: the caller passes an allocation of at least as many bytes, which no kernel uses yet.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
}

/// Value of an argument, with its memory.
fn place(arg: Arg, memory: &Memory, notes: &mut Notes) -> u64 {
    let (Arg::In(len)
    | Arg::Zero(len)
    | Arg::Out(len)
    | Arg::Const(len)
    | Arg::Declared(len)
    | Arg::Freed(len)) = arg
    else {
        let Arg::Value(value) = arg else { unreachable!("all others have a length") };
        return value;
    };
    let base = allocate(memory, len, RegionKind::Device);
    match arg {
        Arg::In(_) | Arg::Const(_) | Arg::Declared(_) => {
            // Dwords that are small as indices and finite as floats of any width.
            let words = (0..len.div_ceil(4)).flat_map(|at| ((at % 7) as u32).to_le_bytes());
            write(base, &words.take(len).collect::<Vec<u8>>());
            memory.note_write(base, len as u64);
        }
        Arg::Zero(_) => memory.note_write(base, len as u64),
        Arg::Freed(_) => drop(memory.free(base).expect("it was allocated")),
        Arg::Out(_) | Arg::Value(_) => {}
    }
    let range = base..base + len as u64;
    match arg {
        Arg::Const(_) => notes.inputs.push(range),
        Arg::Declared(_) => notes.read_only.push(range),
        _ => {}
    }
    base
}
