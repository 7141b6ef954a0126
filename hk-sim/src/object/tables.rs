//! Symbol and relocation tables, from the section headers or, in an object stripped of them, from
//! the dynamic segment.

use std::collections::HashSet;

use object::elf;
use object::endian::{LittleEndian as LE, U32};
use object::pod;
use object::read::StringTable;
use object::read::elf::{
    Dyn as _, FileHeader as _, ProgramHeader as _, Rela as _, SectionHeader as _, Sym as _,
    SymbolTable,
};

use super::{Header, LoadError, Segment, file_bytes};

/// One symbol.
#[derive(Clone, Debug)]
pub(super) struct TableSymbol {
    pub(super) name: String,
    pub(super) vaddr: u64,
    pub(super) size: u64,
    pub(super) kind: elf::SymbolType,
    pub(super) defined: bool,
    pub(super) weak: bool,
}

/// One dynamic relocation.
#[derive(Clone, Debug)]
pub(super) struct Relocation {
    /// Virtual address of the field.
    pub(super) offset: u64,
    /// `R_AMDGPU_*` number.
    pub(super) kind: u32,
    /// Symbol that the relocation refers to.
    pub(super) symbol: Option<TableSymbol>,
    pub(super) addend: i64,
}

#[derive(Default)]
pub(super) struct Table {
    /// Dynamic symbols, then the names that only the full symbol table has.
    pub(super) symbols: Vec<TableSymbol>,
    pub(super) relocations: Vec<Relocation>,
}

impl Table {
    pub(super) fn read(
        header: &Header,
        bytes: &[u8],
        program_headers: &[elf::ProgramHeader64<LE>],
        segments: &[Segment],
    ) -> Result<Self, LoadError> {
        let sections = header.sections(LE, bytes)?;
        let dynamic = sections.symbols(LE, bytes, elf::SHT_DYNSYM)?;
        if dynamic.is_empty() {
            return Dynamic::read(bytes, program_headers, segments)?
                .map_or_else(|| Ok(Self::default()), |dynamic| dynamic.table());
        }
        let mut table = Self::default();
        let dynamic_symbols = convert(dynamic.symbols(), dynamic.strings())?;
        for section in sections.iter() {
            let Some((entries, link)) = section.rela(LE, bytes)? else { continue };
            if link == dynamic.section() {
                table.relocate(entries, &dynamic_symbols)?;
            }
        }
        table.symbols = dynamic_symbols;
        table.add_static(&sections.symbols(LE, bytes, elf::SHT_SYMTAB)?)?;
        Ok(table)
    }

    fn relocate(
        &mut self,
        entries: &[elf::Rela64<LE>],
        symbols: &[TableSymbol],
    ) -> Result<(), LoadError> {
        for entry in entries {
            let index = entry.r_sym(LE, false);
            let symbol = match usize::try_from(index) {
                Ok(0) => None,
                Ok(index) => Some(symbols.get(index).cloned().ok_or_else(|| {
                    LoadError::Malformed(format!("relocation against symbol {index} of none"))
                })?),
                Err(_) => return Err(LoadError::Malformed("symbol index".to_owned())),
            };
            self.relocations.push(Relocation {
                offset: entry.r_offset(LE),
                kind: entry.r_type(LE, false).0,
                symbol,
                addend: entry.r_addend(LE),
            });
        }
        Ok(())
    }

    fn add_static(&mut self, full: &SymbolTable<'_, Header>) -> Result<(), LoadError> {
        let known: HashSet<String> =
            self.symbols.iter().map(|symbol| symbol.name.clone()).collect();
        let symbols = convert(full.symbols(), full.strings())?;
        self.symbols.extend(symbols.into_iter().filter(|symbol| !known.contains(&symbol.name)));
        Ok(())
    }
}

fn convert(
    symbols: &[elf::Sym64<LE>],
    strings: StringTable<'_>,
) -> Result<Vec<TableSymbol>, LoadError> {
    symbols
        .iter()
        .map(|symbol| {
            Ok(TableSymbol {
                name: String::from_utf8_lossy(symbol.name(LE, strings)?).into_owned(),
                vaddr: symbol.st_value(LE),
                size: symbol.st_size(LE),
                kind: symbol.st_type(),
                defined: !symbol.is_undefined(LE),
                weak: symbol.st_bind() == elf::STB_WEAK,
            })
        })
        .collect()
}

/// The tables as the dynamic segment describes them.
struct Dynamic<'a> {
    symbols: &'a [elf::Sym64<LE>],
    strings: StringTable<'a>,
    relocations: &'a [elf::Rela64<LE>],
}

impl<'a> Dynamic<'a> {
    /// `None` where the object has no dynamic segment.
    fn read(
        bytes: &'a [u8],
        program_headers: &[elf::ProgramHeader64<LE>],
        segments: &[Segment],
    ) -> Result<Option<Self>, LoadError> {
        let mut entries = None;
        for header in program_headers {
            entries = entries.or(header.dynamic(LE, bytes)?);
        }
        let Some(entries) = entries else { return Ok(None) };
        let value = |tag| {
            let mut of_tag = entries.iter().filter(|entry| entry.d_tag(LE) == tag);
            of_tag.next().map(|entry| entry.d_val(LE))
        };
        let at = |what, start: u64, len: u64| {
            let outside = LoadError::OutOfBounds { what, start, len };
            let size = usize::try_from(len).ok();
            size.and_then(|size| file_bytes(bytes, segments, start, size)).ok_or(outside)
        };
        let (Some(symbols), Some(strings), Some(size), Some(hash)) = (
            value(elf::DT_SYMTAB),
            value(elf::DT_STRTAB),
            value(elf::DT_STRSZ),
            value(elf::DT_HASH),
        ) else {
            return Ok(None);
        };
        // The second word of a System V hash table is the count of symbols.
        let words = at("symbol hash table", hash, 8)?;
        let (words, _) = pod::slice_from_bytes::<U32<LE>>(words, 2)
            .map_err(|()| LoadError::Malformed("misaligned symbol hash table".to_owned()))?;
        let count = u64::from(words[1].get(LE));
        let symbols = at("dynamic symbol table", symbols, count * 24)?;
        let strings = at("dynamic string table", strings, size)?;
        let relocations = match (value(elf::DT_RELA), value(elf::DT_RELASZ)) {
            (Some(start), Some(size)) => at("dynamic relocations", start, size)?,
            _ => &[],
        };
        Ok(Some(Self {
            symbols: cast(symbols, "dynamic symbol table")?,
            strings: StringTable::new(strings, 0, strings.len() as u64),
            relocations: cast(relocations, "dynamic relocations")?,
        }))
    }

    fn table(&self) -> Result<Table, LoadError> {
        let mut table = Table::default();
        let symbols = convert(self.symbols, self.strings)?;
        table.relocate(self.relocations, &symbols)?;
        table.symbols = symbols;
        Ok(table)
    }
}

/// The bytes as a table of whole entries.
fn cast<'a, T: pod::Pod>(bytes: &'a [u8], what: &str) -> Result<&'a [T], LoadError> {
    pod::slice_from_all_bytes(bytes)
        .map_err(|()| LoadError::Malformed(format!("{what} of {} bytes", bytes.len())))
}
