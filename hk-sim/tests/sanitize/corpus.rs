//! Reading the corpus.
//!
//! A file of `cases/` holds kernels in assembly (`.s`) or HIP C++ (`.hip`), each behind a header
//! line: the comment marker, `case`, the name, and `key=value` words.
//!
//! | key | meaning |
//! |---|---|
//! | `block`, `grid` | work-items of a workgroup (64), workgroups (1) |
//! | `lds` | bytes of LDS (assembly; HIP kernels know theirs) |
//! | `scratch` | bytes of private memory of a work-item (0) |
//! | `args` | kernel arguments, separated by commas |
//! | `arch` | the one chip that has the instructions |
//! | `also` | kinds that the wrong version is reported for besides |
//! | `checks` | checks that are on (all) |
//!
//! An argument is `in:BYTES` (written by the host with small numbers), `zero:BYTES`, `out:BYTES`
//! (never written), `const:BYTES` (an input), `declared:BYTES` (read-only, as metadata says),
//! `freed:BYTES`, or an integer.
//!
//! Lines end in a comment with a tag: `+` only in the right version, `-` only in the wrong one,
//! `!kind` the wrong version is reported here, `?kind` it is so by a note; `-!kind` is both. The rest
//! of a line is a comment as usual. A line that is left out stays as an empty one, so that line
//! numbers agree.

use std::fmt::Write as _;
use std::ops::Range;

use hk_sim::isa::Arch;
use hk_sim::sanitize::{Kind, Severity};

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg {
    In(usize),
    Zero(usize),
    Out(usize),
    Const(usize),
    Declared(usize),
    Freed(usize),
    Value(u64),
}

/// One kernel, in a wrong and a right version.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) file: &'static str,
    pub(crate) name: &'static str,
    pub(crate) block: u32,
    pub(crate) grid: u32,
    pub(crate) lds: u32,
    pub(crate) scratch: u32,
    pub(crate) args: Vec<Arg>,
    pub(crate) arch: Option<Arch>,
    pub(crate) also: Vec<Kind>,
    pub(crate) checks: &'static str,
    /// Lines of the file, from 0.
    pub(crate) lines: Range<usize>,
    /// What the wrong version is reported for, and the lines, from 1.
    pub(crate) expected: (Severity, Kind, Vec<usize>),
}

/// Which version of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Wrong,
    Right,
}

fn kind(word: &str) -> Kind {
    let found = Kind::ALL.into_iter().find(|kind| kind.word() == word);
    found.unwrap_or_else(|| panic!("{word} is no kind"))
}

/// Code and tag of a line.
fn split(line: &str, marker: &str) -> (String, String) {
    match line.rfind(marker) {
        Some(at) => {
            let tag = line[at + marker.len()..].split_whitespace().next().unwrap_or("");
            let is_tag = tag.starts_with(['+', '-', '!', '?']);
            (line[..at].to_owned(), if is_tag { tag.to_owned() } else { String::new() })
        }
        None => (line.to_owned(), String::new()),
    }
}

/// Comment marker of a file.
fn marker(file: &str) -> &'static str {
    if file.ends_with(".s") { ";" } else { "//" }
}

/// The cases of a file.
pub(crate) fn cases(file: &'static str, text: &'static str) -> Vec<Case> {
    let marker = marker(file);
    let header = format!("{marker} case ");
    let lines: Vec<&'static str> = text.lines().collect();
    let starts: Vec<usize> =
        (0..lines.len()).filter(|&at| lines[at].starts_with(&header)).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    starts.iter().zip(ends).map(|(&start, end)| case(file, &lines, start..end, marker)).collect()
}

fn case(file: &'static str, lines: &[&'static str], range: Range<usize>, marker: &str) -> Case {
    let mut words = lines[range.start].split_whitespace().skip(2);
    let name = words.next().expect("a case has a name");
    let mut case = Case {
        file,
        name,
        block: 64,
        grid: 1,
        lds: 0,
        scratch: 0,
        args: Vec::new(),
        arch: None,
        also: Vec::new(),
        checks: "all",
        lines: range.clone(),
        expected: (Severity::Error, Kind::Memory, Vec::new()),
    };
    for word in words {
        let (key, value) = word.split_once('=').expect("key=value");
        let number = || value.parse().unwrap_or_else(|_| panic!("{name}: {word}"));
        match key {
            "block" => case.block = number(),
            "grid" => case.grid = number(),
            "lds" => case.lds = number(),
            "scratch" => case.scratch = number(),
            "args" => case.args = value.split(',').map(arg).collect(),
            "arch" if value == "gfx942" => case.arch = Some(Arch::Gfx942),
            "arch" if value == "gfx950" => case.arch = Some(Arch::Gfx950),
            "also" => case.also = value.split(',').map(kind).collect(),
            "checks" => case.checks = value,
            _ => panic!("{name}: unknown key {word}"),
        }
    }
    for at in range.skip(1) {
        let tag = split(lines[at], marker).1;
        if let Some((_, word)) = tag.split_once(['!', '?']) {
            let severity = if tag.contains('?') { Severity::Note } else { Severity::Error };
            let (known, reported, places) = &mut case.expected;
            let same = (*known, *reported) == (severity, kind(word));
            assert!(places.is_empty() || same, "{name}: one kind");
            (*known, *reported) = (severity, kind(word));
            places.push(at + 1);
        }
    }
    case
}

fn arg(word: &str) -> Arg {
    let Some((kind, size)) = word.split_once(':') else {
        return Arg::Value(word.parse().expect("a number"));
    };
    let size = size.parse().expect("a size");
    match kind {
        "in" => Arg::In(size),
        "zero" => Arg::Zero(size),
        "out" => Arg::Out(size),
        "const" => Arg::Const(size),
        "declared" => Arg::Declared(size),
        "freed" => Arg::Freed(size),
        _ => panic!("unknown argument {word}"),
    }
}

impl Case {
    /// Symbol of a version.
    pub(crate) fn symbol(&self, version: Version) -> String {
        let stem = self.file.split('.').next().unwrap_or(self.file);
        let version = if version == Version::Wrong { "wrong" } else { "right" };
        format!("{stem}_{}_{version}", self.name)
    }

    /// Lines of a version with their numbers from 1; those that it does not have are left out.
    pub(crate) fn version<'t>(
        &self,
        text: &'t str,
        version: Version,
    ) -> impl Iterator<Item = (usize, String)> + 't {
        let (marker, range) = (marker(self.file), self.lines.clone());
        let lines = text.lines().enumerate().skip(range.start + 1).take(range.len() - 1);
        lines.filter_map(move |(at, line)| {
            let (code, tag) = split(line, marker);
            let other = if version == Version::Wrong { '+' } else { '-' };
            (!tag.starts_with(other)).then_some((at + 1, code))
        })
    }

    /// The line, from 1, that alone sets the right version apart, and its code: one wait or barrier.
    pub(crate) fn missing_order(&self, text: &str) -> Option<(usize, String)> {
        let lines =
            |version| self.version(text, version).filter(|(_, code)| !code.trim().is_empty());
        let wrong: Vec<usize> = lines(Version::Wrong).map(|(line, _)| line).collect();
        let mut more = lines(Version::Right).filter(|(line, _)| !wrong.contains(line));
        let (line, code) = more.next()?;
        let code = code.trim().to_owned();
        let orders = code.starts_with("s_waitcnt") || code.starts_with("s_barrier");
        let alone = more.next().is_none() && lines(Version::Right).count() == wrong.len() + 1;
        (orders && alone).then_some((line, code))
    }

    /// Assembly of a version. Every line has a label that ends in its number; `@` in a name stands
    /// for the symbol, so that labels of several cases do not collide.
    pub(crate) fn assembly(&self, text: &str, version: Version) -> String {
        let symbol = self.symbol(version);
        let mut out = format!("  .p2align 8\n{symbol}:\n");
        for (line, code) in self.version(text, version) {
            let code = code.replace('@', &symbol);
            writeln!(out, "{symbol}_line_{line}:\n{code}").expect("strings accept everything");
        }
        out.push_str("  s_endpgm\n");
        out
    }

    /// HIP C++ of a version, in which `KERNEL` is the head of the kernel.
    pub(crate) fn source(&self, text: &str, version: Version) -> String {
        let symbol = self.symbol(version);
        let mut out = format!(
            "#undef KERNEL\n#define KERNEL extern \"C\" __global__ \
             __attribute__((amdgpu_flat_work_group_size({0}, {0}))) void {symbol}\n\
             namespace {symbol}_space {{\n",
            self.block
        );
        for (line, code) in self.version(text, version) {
            writeln!(out, "#line {line} \"{}\"\n{code}", self.file).expect("as above");
        }
        out.push_str("}\n");
        out
    }
}
