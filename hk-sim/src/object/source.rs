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

/// Source line of the instruction at `vaddr` in the code object `bytes`.
///
/// The DWARF sections are read anew at each call: only reports ask.
pub(super) fn find(bytes: &[u8], vaddr: u64) -> Option<SourceLocation> {
    let file = ElfFile64::<object::LittleEndian>::parse(bytes).ok()?;
    let section = |id: SectionId| {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
        Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or(&[]), LittleEndian))
    };
    let context = addr2line::Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()?;
    let location = context.find_location(vaddr).ok()??;
    Some(SourceLocation {
        file: location.file?.to_owned(),
        line: location.line.unwrap_or(0),
        column: location.column.unwrap_or(0),
    })
}
