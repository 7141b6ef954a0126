//! `hipkittens inspect`: what a code object holds.

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use hk_sim::isa::{Arch, decode};
use hk_sim::object::{CodeObject, Kernel, LoadError, bundle};
use hk_sim::occupancy;

use crate::output;

/// Prints the kernels of the file and checks that all of its code decodes.
pub(crate) fn run(file: &Path, disasm: bool) -> Result<ExitCode, Box<dyn Error>> {
    let name = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let bytes = std::fs::read(file).map_err(|error| name(&error))?;
    if bytes.is_empty() {
        return Err(name(&"the file is empty").into());
    }
    let mut out = BufWriter::new(output::stdout());
    let mut undecoded = 0;
    let mut found = false;
    // Chips of which a bundle has no code, what it has instead, and code that cannot be read.
    let (mut absent, mut entries, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let object = match bundle::select(&bytes, arch) {
            Ok(code) => CodeObject::parse(&code),
            Err(error) => Err(error),
        };
        match object {
            // A plain object is offered for both chips; it is for one of them.
            Ok(object) if object.arch() == arch => {
                found = true;
                undecoded += show(&mut out, &object, disasm)?;
            }
            Ok(_) => {}
            Err(LoadError::NoEntry { wanted, found: others }) => {
                absent.push(wanted);
                entries = others;
            }
            Err(error) => damaged.push((arch, error)),
        }
    }
    out.flush()?;
    if undecoded > 0 {
        eprintln!("hipkittens: {undecoded} instructions could not be decoded");
    }
    match &damaged[..] {
        [] if !found => {
            let error = LoadError::NoEntry { wanted: absent.join(" or "), found: entries };
            Err(name(&error).into())
        }
        [] if undecoded > 0 => Ok(ExitCode::FAILURE),
        [] => Ok(ExitCode::SUCCESS),
        // Of a plain object, or of the bundle as such.
        [(_, error), (_, other)] if error == other => Err(name(error).into()),
        all => {
            let all = all.iter().map(|(arch, error)| format!("code for {}: {error}", arch.name()));
            Err(name(&all.collect::<Vec<_>>().join("; ")).into())
        }
    }
}

/// Prints one code object; returns how many instructions do not decode.
fn show(out: &mut impl Write, object: &CodeObject, disasm: bool) -> io::Result<usize> {
    writeln!(out, "target {}, code object version {}", object.target(), object.version())?;
    let width = object.kernels().iter().map(|kernel| kernel.name.len()).max().unwrap_or(0).max(6);
    writeln!(
        out,
        "{:width$}  {:>5} {:>5} {:>5} {:>7} {:>7} {:>6} {:>6} {:>5}  occupancy",
        "kernel", "VGPRs", "AGPRs", "SGPRs", "LDS B", "scratch", "spills", "args B", "block",
    )?;
    for kernel in object.kernels() {
        show_kernel(out, object.arch(), kernel, width)?;
    }
    for variable in object.variables() {
        writeln!(out, "global {} ({} bytes)", variable.name, variable.size)?;
    }
    let mut undecoded = 0;
    for function in functions(object) {
        undecoded += show_code(out, object, &function, disasm)?;
    }
    Ok(undecoded)
}

fn show_kernel(out: &mut impl Write, arch: Arch, kernel: &Kernel, width: usize) -> io::Result<()> {
    let descriptor = &kernel.descriptor;
    let metadata = kernel.metadata.clone().unwrap_or_default();
    let (vgprs, agprs, sgprs) = match &kernel.metadata {
        Some(metadata) => (metadata.vgpr_count, metadata.agpr_count, metadata.sgpr_count),
        None => {
            let vgprs = descriptor.vgprs();
            (vgprs, vgprs.saturating_sub(descriptor.accum_offset()), descriptor.sgprs())
        }
    };
    let block = kernel.max_flat_workgroup_size();
    let lds = descriptor.group_segment_fixed_size;
    let fit = occupancy(arch, vgprs, lds, block);
    writeln!(
        out,
        "{:width$}  {vgprs:>5} {agprs:>5} {sgprs:>5} {lds:>7} {:>7} {:>6} {:>6} {block:>5}  \
         {} waves/CU, limited by {:?}",
        kernel.name,
        descriptor.private_segment_fixed_size,
        metadata.vgpr_spill_count + metadata.sgpr_spill_count,
        descriptor.kernarg_size,
        fit.waves,
        fit.limit,
    )
}

/// A stretch of code with a name.
struct Function {
    name: String,
    range: Range<u64>,
}

/// The functions of the object by address. One without a size, as hand-written assembly has them,
/// reaches to the next one or to the end of its segment.
fn functions(object: &CodeObject) -> Vec<Function> {
    let mut symbols: Vec<(u64, u64, String)> = object
        .functions()
        .iter()
        .map(|symbol| (symbol.vaddr, symbol.size, symbol.name.clone()))
        .collect();
    for kernel in object.kernels() {
        if symbols.iter().all(|(vaddr, ..)| *vaddr != kernel.entry_vaddr) {
            symbols.push((kernel.entry_vaddr, 0, kernel.name.clone()));
        }
    }
    symbols.sort();
    symbols.dedup_by_key(|(vaddr, ..)| *vaddr);
    let starts: Vec<u64> = symbols.iter().map(|(vaddr, ..)| *vaddr).collect();
    symbols
        .into_iter()
        .filter_map(|(start, size, name)| {
            let text = object.text().find(|text| text.contains(&start))?;
            let next = starts.iter().copied().find(|&other| other > start).unwrap_or(text.end);
            let end = if size == 0 { next } else { start.saturating_add(size) }.min(text.end);
            Some(Function { name, range: start..end })
        })
        .collect()
}

/// Decodes one function; prints its instructions if asked, and those that do not decode always.
fn show_code(
    out: &mut impl Write,
    object: &CodeObject,
    function: &Function,
    disasm: bool,
) -> io::Result<usize> {
    let words = words(object, &function.range);
    if disasm {
        writeln!(out, "\n{}:", function.name)?;
    }
    let mut undecoded = 0;
    let mut at = 0;
    let mut line = None;
    while at < words.len() {
        let pc = function.range.start + 4 * at as u64;
        match decode(object.arch(), &words[at..]) {
            Ok(inst) => {
                let dwords = usize::from(inst.size / 4);
                if disasm {
                    let source = object.source_line(pc);
                    if source != line
                        && let Some(source) = &source
                    {
                        writeln!(out, "; {source}")?;
                    }
                    line = source;
                    writeln!(out, "  {pc:08x}: {:<18} {inst}", hex(&words[at..at + dwords]))?;
                }
                at += dwords;
            }
            Err(error) => {
                undecoded += 1;
                let bytes = hex(&words[at..words.len().min(at + 2)]);
                writeln!(out, "  {pc:08x}: {bytes:<18} ; {}: {error}", function.name)?;
                at += 1;
            }
        }
    }
    Ok(undecoded)
}

/// Code of an address range, without the zero padding at its end.
fn words(object: &CodeObject, range: &Range<u64>) -> Vec<u32> {
    let Some(segment) = object.segments().iter().find(|s| s.range().contains(&range.start)) else {
        return Vec::new();
    };
    let bytes = &object.bytes()[segment.file.clone()];
    let offset = |address: u64| usize::try_from(address - segment.vaddr).unwrap_or(usize::MAX);
    let bytes = bytes.get(offset(range.start)..offset(range.end).min(bytes.len())).unwrap_or(&[]);
    let mut words: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    while words.last() == Some(&0) {
        words.pop();
    }
    words
}

fn hex(words: &[u32]) -> String {
    words.iter().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(" ")
}
