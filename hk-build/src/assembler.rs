//! Assembling AMD GPU assembly text with clang.

use std::fs;
use std::path::Path;

use hk_types::Arch;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol};

use crate::compiler::{TRIPLE, run, scratch_dir};
use crate::discover::clang;
use crate::error::{BuildError, Diagnostic};

/// Assembled machine code, not linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The bytes of the section `.text`.
    pub text: Vec<u8>,
    /// The symbols in it with their offsets, in the order of these.
    pub symbols: Vec<(String, u64)>,
}

/// Assembles `source` for `arch` and returns the machine code.
///
/// # Errors
///
/// [`BuildError::Assemble`] with every line that the assembler refuses.
pub fn assemble(source: &str, arch: Arch) -> Result<Vec<u8>, BuildError> {
    assemble_with_symbols(source, arch).map(|assembly| assembly.text)
}

/// Assembles `source` for `arch` and returns the machine code and where its labels are (those that
/// begin with `.L` are not kept).
///
/// # Errors
///
/// [`BuildError::Assemble`] with every line that the assembler refuses.
pub fn assemble_with_symbols(source: &str, arch: Arch) -> Result<Assembly, BuildError> {
    let object = run_assembler(source, arch, Output::Object)?;
    read_text(&object).map_err(|error| BuildError::CodeObject {
        name: "assembled text".to_owned(),
        reason: error.to_string(),
    })
}

/// Assembles each line of `lines` for `arch` on its own, all in one run of the assembler.
///
/// The result has one entry per line: its machine code, or what the assembler has against it.
///
/// # Errors
///
/// Those of [`assemble`], except that refused lines are part of the result.
pub fn assemble_lines<S: AsRef<str>>(
    lines: &[S],
    arch: Arch,
) -> Result<Vec<Result<Vec<u8>, String>>, BuildError> {
    let mut refused: Vec<Option<String>> = lines
        .iter()
        .map(|line| line.as_ref().contains('\n').then(|| "more than one line".to_owned()))
        .collect();
    loop {
        let mut source = String::new();
        for (index, line) in lines.iter().enumerate() {
            let line = if refused[index].is_none() { line.as_ref() } else { "" };
            // Two lines of text for each line given: its label, then itself.
            source.push_str(&format!("{LABEL}{index}:\n{line}\n"));
        }
        match assemble_with_symbols(&source, arch) {
            Ok(assembly) => return Ok(cut(&assembly, refused)),
            Err(BuildError::Assemble { diagnostics, .. })
                if diagnostics.iter().any(|found| {
                    refused.get(found.line.wrapping_sub(1) / 2).is_some_and(Option::is_none)
                }) =>
            {
                for Diagnostic { line, message, .. } in diagnostics {
                    // Some errors only show once others are gone, so this may take several rounds.
                    if let Some(refused) = refused.get_mut(line.wrapping_sub(1) / 2) {
                        refused.get_or_insert(message);
                    }
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// What the labels of [`assemble_lines`] begin with.
const LABEL: &str = "hk_line_";

/// The machine code of each line, from its label to the next.
fn cut(assembly: &Assembly, refused: Vec<Option<String>>) -> Vec<Result<Vec<u8>, String>> {
    let mut starts = vec![assembly.text.len(); refused.len() + 1];
    for (name, offset) in &assembly.symbols {
        if let Some(index) = name.strip_prefix(LABEL).and_then(|n| n.parse::<usize>().ok())
            && let Some(start) = starts.get_mut(index)
        {
            *start = usize::try_from(*offset).unwrap_or(usize::MAX);
        }
    }
    let codes = starts.windows(2).map(|pair| assembly.text.get(pair[0]..pair[1]));
    refused
        .into_iter()
        .zip(codes)
        .map(|(refused, code)| match refused {
            Some(message) => Err(message),
            None => code.map(<[u8]>::to_vec).ok_or_else(|| "leaves the section".to_owned()),
        })
        .collect()
}

/// Assembles and links `source` for `arch`: the image of a code object that the HIP runtime loads,
/// if the text has kernel descriptors and metadata.
///
/// # Errors
///
/// [`BuildError::Assemble`] with every line that the assembler refuses, or with the linker's
/// messages.
pub fn assemble_code_object(source: &str, arch: Arch) -> Result<Vec<u8>, BuildError> {
    run_assembler(source, arch, Output::Linked)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Object,
    Linked,
}

fn run_assembler(source: &str, arch: Arch, kind: Output) -> Result<Vec<u8>, BuildError> {
    let clang = clang()?;
    let dir = scratch_dir()?;
    let input = dir.path().join("input.s");
    let output = dir.path().join("output");
    fs::write(&input, source).map_err(BuildError::io("write", &input))?;
    let mut command = clang.command();
    command.args(["-target", TRIPLE, "-nogpulib", "-nostdlib", "-x", "assembler"]);
    command.arg(format!("-mcpu={arch}")).arg(&input).arg("-o").arg(&output);
    if kind == Output::Object {
        command.arg("-c");
    }
    let result = run(&mut command)?;
    if result.status.success() {
        return fs::read(&output).map_err(BuildError::io("read", &output));
    }
    let messages = String::from_utf8_lossy(&result.stderr).into_owned();
    let diagnostics = parse_diagnostics(&messages, &input);
    Err(BuildError::Assemble { arch, diagnostics, messages })
}

/// The errors about lines of `input` among the compiler's messages.
fn parse_diagnostics(messages: &str, input: &Path) -> Vec<Diagnostic> {
    let prefix = format!("{}:", input.display());
    let parse = |line: &str| {
        let mut parts = line.strip_prefix(&prefix)?.splitn(3, ':');
        let (line, column) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let message = parts.next()?.trim_start().strip_prefix("error: ")?.to_owned();
        Some(Diagnostic { line, column, message })
    };
    messages.lines().filter_map(parse).collect()
}

fn read_text(image: &[u8]) -> Result<Assembly, object::Error> {
    let file = ElfFile64::<Endianness>::parse(image)?;
    let Some(section) = file.section_by_name(".text") else {
        return Ok(Assembly { text: Vec::new(), symbols: Vec::new() });
    };
    let text = section.data()?.to_vec();
    let mut symbols = Vec::new();
    for symbol in file.symbols().filter(|s| s.section_index() == Some(section.index())) {
        symbols.push((symbol.name()?.to_owned(), symbol.address()));
    }
    symbols.retain(|(name, _)| !name.is_empty());
    symbols.sort_by_key(|(_, offset)| *offset);
    Ok(Assembly { text, symbols })
}
