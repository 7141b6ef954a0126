//! Kernel cores: what is compiled from one file `kernels/FAMILY.hip`, in all variants, tile
//! configurations and architectures.

use std::error::Error;
use std::io::{self, Write};

use hk_core::kernel::TileConfig;
use hk_sim::flow::{Flow, Ways};
use hk_sim::object::{CodeObject, Placed, SourceLocation};

use crate::reasons::Sources;
use crate::registry::KernelCrate;

/// A kernel core.
pub(crate) struct Core {
    /// The crate that has it.
    pub(crate) package: &'static str,
    /// Its name, which its kernels carry.
    pub(crate) name: &'static str,
    /// Its kernels.
    pub(crate) kernels: Vec<CoreKernel>,
}

/// A kernel of a core, for one architecture.
pub(crate) struct CoreKernel {
    pub(crate) arch: &'static str,
    pub(crate) tile: &'static TileConfig,
}

impl Core {
    /// The cores of a crate.
    pub(crate) fn all(of: &KernelCrate) -> Vec<Self> {
        let mut cores: Vec<Self> = Vec::new();
        for kernel in of.kernels.kernels {
            let known = cores.iter().position(|core| core.name == kernel.core);
            let at = known.unwrap_or_else(|| {
                let (package, name) = (of.kernels.package, kernel.core);
                cores.push(Self { package, name, kernels: Vec::new() });
                cores.len() - 1
            });
            let tiles = kernel.tiles.iter();
            cores[at].kernels.extend(tiles.map(|tile| CoreKernel { arch: kernel.arch, tile }));
        }
        cores
    }
}

/// Where an instruction comes from: the lines of the source that inlining has put around it, and
/// what it does. Equal for the copies that tile configurations, variants and unrolled loops make.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    /// File, line and column: the instruction's own, then those of the calls around it.
    pub(crate) lines: Vec<(String, u32, u32)>,
    /// Its operation.
    pub(crate) op: &'static str,
}

impl Place {
    /// `file:line:column` of each line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = |(file, line, column): &(String, u32, u32)| format!("{file}:{line}:{column}");
        self.lines.iter().map(text).collect()
    }

    /// The text of each line; none of a line that is not there.
    pub(crate) fn texts(&self, sources: &Sources) -> impl Iterator<Item = String> {
        self.lines.iter().map(|(file, line, _)| sources.line(file, *line).unwrap_or_default())
    }

    /// Prints each line with its text.
    pub(crate) fn print(&self, out: &mut impl Write, sources: &Sources) -> io::Result<()> {
        for (at, text) in self.lines().into_iter().zip(self.texts(sources)) {
            writeln!(out, "  {at}: {text}")?;
        }
        Ok(())
    }
}

/// An instruction of a kernel that can be executed.
pub(crate) struct Instruction {
    pub(crate) placed: Placed,
    pub(crate) place: Place,
    /// Where execution can go on.
    pub(crate) ways: Ways,
}

/// The instructions of a kernel.
pub(crate) struct Code {
    /// All of them.
    pub(crate) all: Vec<Placed>,
    /// Those that can be executed.
    pub(crate) possible: Vec<Instruction>,
    /// The scalar register that has the workgroup's number along x at the entry.
    pub(crate) group: Option<usize>,
}

/// The instructions of a kernel.
///
/// # Errors
/// If the code object cannot be read.
pub(crate) fn code(kernel: &CoreKernel) -> Result<Code, Box<dyn Error>> {
    let image = kernel.tile.image.unpack()?;
    let object = CodeObject::parse(&image)?;
    let lines = object.lines();
    let all = object.instructions(kernel.tile.symbol);
    let flow = Flow::of(&all);
    let mut last = Vec::new();
    let possible = all.iter().filter_map(|placed| Some((flow.behind(placed.offset)?, placed)));
    let possible = possible.map(|(ways, placed)| {
        let frames = lines.as_ref().map(|lines| lines.frames(placed.vaddr)).unwrap_or_default();
        let mut lines: Vec<_> = frames.into_iter().map(line_of).collect();
        // The outermost is the kernel's own, in a file that the build generates for each.
        if let Some(entry) = lines.pop()
            && lines.is_empty()
        {
            lines.push(("the entry".to_owned(), entry.1, 0));
        }
        // What the compiler attributes to no line belongs to the one before.
        if lines.first().is_none_or(|(_, line, _)| *line == 0) {
            lines.clone_from(&last);
        }
        last.clone_from(&lines);
        let op = placed.inst.info.op.name();
        Instruction { placed: placed.clone(), place: Place { lines, op }, ways }
    });
    let possible = possible.collect();
    let setup = object.kernel(kernel.tile.symbol).map(|kernel| kernel.descriptor.wave_setup());
    let numbered = setup.filter(|setup| setup.workgroup_id[0]);
    let group = numbered.map(|setup| setup.user_sgprs as usize);
    Ok(Code { all, possible, group })
}

fn line_of(at: SourceLocation) -> (String, u32, u32) {
    (at.file.trim_start_matches("./").to_owned(), at.line, at.column)
}
