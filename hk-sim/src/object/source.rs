//! Source lines of instructions, from DWARF.

use std::fmt;

use addr2line::gimli::{self, EndianSlice, LittleEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSection as _};

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// File, as the compiler recorded it.
    pub file: String,
    /// Line, from 1; 0 where the compiler attributes the instruction to no line.
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column != 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The line tables of a code object.
pub struct LineTable<'a>(addr2line::Context<Bytes<'a>>);

impl<'a> LineTable<'a> {
    /// The tables in the file, if it has some.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Self> {
        let file = ElfFile64::<object::LittleEndian>::parse(bytes).ok()?;
        let section = |id: SectionId| {
            let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
            Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or(&[]), LittleEndian))
        };
        Some(Self(addr2line::Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()?))
    }

    /// Source line of the instruction at an address inside of the code.
    pub fn line(&self, vaddr: u64) -> Option<SourceLocation> {
        located(self.0.find_location(vaddr).ok()??)
    }

    /// The instruction's own line first, then those of the inlined calls around it.
    pub fn frames(&self, vaddr: u64) -> Vec<SourceLocation> {
        let Ok(mut found) = self.0.find_frames(vaddr).skip_all_loads() else { return Vec::new() };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            frames.extend(frame.location.and_then(located));
        }
        frames
    }
}

impl fmt::Debug for LineTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineTable")
    }
}

fn located(location: addr2line::Location<'_>) -> Option<SourceLocation> {
    Some(SourceLocation {
        file: location.file?.to_owned(),
        line: location.line.unwrap_or(0),
        column: location.column.unwrap_or(0),
    })
}
