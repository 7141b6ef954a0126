//! Canonical text and bytes of assembly lines, by clang's integrated assembler.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use hk_sim::isa::Arch;

/// One line as the assembler understood it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The line as LLVM prints it.
    pub(crate) text: String,
    /// Its encoding.
    pub(crate) bytes: Vec<u8>,
}

impl Line {
    /// The encoding as words.
    pub(crate) fn words(&self) -> Vec<u32> {
        words(&self.bytes)
    }
}

/// Little-endian words of `bytes`.
pub(crate) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

/// Assembles each line and prints it again; `None` where the assembler refuses it.
///
/// `clang -cc1as -filetype asm` parses assembly text and prints it with the instruction printer
/// that the disassembler uses too, so its text is LLVM's canonical one.
///
/// A few constants that the assembler accepts although they cannot be encoded count as refused;
/// it prints `/*Invalid immediate*/` for them.
pub(crate) fn canonical<S: AsRef<str>>(arch: Arch, lines: &[S]) -> Vec<Option<Line>> {
    let mut live: BTreeSet<usize> = (0..lines.len()).collect();
    let mut result = vec![None; lines.len()];
    while !live.is_empty() {
        match run(arch, lines, &live) {
            Ok(printed) => {
                assert_eq!(printed.len(), live.len(), "one line is printed per line read");
                for (&at, line) in live.iter().zip(printed) {
                    result[at] = Some(line).filter(|line| !line.text.contains("/*Invalid"));
                }
                break;
            }
            Err(refused) => {
                let before = live.len();
                live.retain(|at| !refused.contains(at));
                assert!(live.len() < before, "the assembler failed without naming a line");
            }
        }
    }
    result
}

fn run<S: AsRef<str>>(
    arch: Arch,
    lines: &[S],
    live: &BTreeSet<usize>,
) -> Result<Vec<Line>, BTreeSet<usize>> {
    let dir = tempfile::tempdir().expect("temporary folder");
    let input = dir.path().join("input.s");
    let text: String = (0..lines.len())
        .map(|at| if live.contains(&at) { lines[at].as_ref() } else { "" })
        .flat_map(|line| [line, "\n"])
        .collect();
    fs::write(&input, text).expect("assembly text is written");
    let clang = hk_build::clang().expect("a clang for AMD GPUs");
    let model = clang.command();
    let mut command = Command::new(model.get_program());
    // The driver's arguments mean nothing to the assembler proper, which must come first.
    command.args(model.get_args().filter(|a| !a.to_string_lossy().starts_with("-B")));
    for (key, value) in model.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.args(["-cc1as", "-triple", "amdgcn-amd-amdhsa", "-target-cpu", arch.name()]);
    command.args(["-filetype", "asm", "-show-encoding", "-o", "-"]).arg(&input);
    let output = command.output().expect("clang runs");
    if output.status.success() {
        let text = String::from_utf8(output.stdout).expect("text");
        return Ok(text.lines().filter_map(parse).collect());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let refused: BTreeSet<usize> = errors.lines().filter_map(refused_line).collect();
    assert!(!refused.is_empty(), "{}: {errors}", clang.version());
    Err(refused)
}

/// Zero-based line of a diagnostic such as `input.s:3:1: error: ...`.
fn refused_line(diagnostic: &str) -> Option<usize> {
    let (place, _) = diagnostic.split_once(": error:")?;
    let mut parts = place.rsplit(':');
    parts.next()?;
    parts.next()?.parse::<usize>().ok()?.checked_sub(1)
}

/// Text and encoding of a printed line such as `\ts_nop 0 ; encoding: [0x00,0x00,0x80,0xbf]`.
fn parse(line: &str) -> Option<Line> {
    let (text, rest) = line.split_once("; encoding: [")?;
    let hex = rest.split(']').next()?;
    let byte = |b: &str| u8::from_str_radix(b.trim_start_matches("0x"), 16).ok();
    let bytes = hex.split(',').map(byte).collect::<Option<Vec<u8>>>()?;
    Some(Line { text: text.trim().to_owned(), bytes })
}
