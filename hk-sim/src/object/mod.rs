//! Loader of AMDGPU HSA code objects (ELF64, code object v4 to v6).
//!
//! [`CodeObject::parse`] reads everything a launch needs and checks it against the file, so that
//! the rest of the crate meets no malformed object. It allocates in proportion to the file.
//! [`CodeObject::image`] builds the relocated bytes of the loaded object.

mod arguments;
pub mod bundle;
mod code;
mod compressed;
mod descriptor;
mod error;
mod image;
mod metadata;
mod source;
mod tables;
mod target;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use object::elf;
use object::endian::LittleEndian as LE;
use object::read::elf::{FileHeader as _, ProgramHeader as _};

pub use arguments::ArgPointer;
#[cfg(test)]
pub(crate) use code::placed;
pub(crate) use code::successors;
pub use code::{Next, Placed};
pub use descriptor::{KernelDescriptor, SystemSgprs, UserSgprs, WaveSetup};
pub use error::LoadError;
pub use metadata::{HiddenArg, KernelArg, KernelMetadata, ValueKind};
pub use source::{LineTable, SourceLocation};
pub use target::{Feature, Processor, TargetId};

use crate::isa::Arch;
use tables::{Relocation, Table, TableSymbol};

type Header = elf::FileHeader64<LE>;

/// `ELFOSABI_AMDGPU_HSA`.
const OS_ABI_HSA: u8 = 64;
/// Owner and type of the metadata note.
const NOTE_METADATA: (&[u8], u32) = (b"AMDGPU", 32);
/// Owner and type of hk-build's notes about the arguments of kernels.
const NOTE_ARGUMENTS: (&[u8], u32) = (b"hipkittens", 1);

/// A parsed code object.
#[derive(Debug)]
pub struct CodeObject {
    bytes: Box<[u8]>,
    target: TargetId,
    version: u8,
    segments: Vec<Segment>,
    kernels: Vec<Kernel>,
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    relocations: Vec<Relocation>,
}

/// One `PT_LOAD` segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Virtual address of the first byte.
    pub vaddr: u64,
    /// Bytes in memory; those beyond the file bytes are zero.
    pub memsz: u64,
    /// Place of the initialised bytes in the file.
    pub file: Range<usize>,
    /// Whether kernels may execute it.
    pub executable: bool,
    /// Whether kernels may write it.
    pub writable: bool,
}

impl Segment {
    /// Virtual addresses of the segment.
    pub fn range(&self) -> Range<u64> {
        self.vaddr..self.vaddr + self.memsz
    }
}

/// A function or a global variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Symbol name.
    pub name: String,
    /// Virtual address.
    pub vaddr: u64,
    /// Size in bytes.
    pub size: u64,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name by which it is launched.
    pub name: String,
    /// Symbol of its descriptor, `<name>.kd`.
    pub symbol: String,
    /// Virtual address of the descriptor.
    pub descriptor_vaddr: u64,
    /// Virtual address of the first instruction.
    pub entry_vaddr: u64,
    /// Descriptor.
    pub descriptor: KernelDescriptor,
    /// Metadata; absent in an object without a metadata note.
    pub metadata: Option<KernelMetadata>,
    /// The pointers in the arguments, those in structs and arrays too, if hk-build noted them.
    pub pointers: Option<Vec<ArgPointer>>,
}

impl Kernel {
    /// Arguments in the order of their offsets; empty without metadata.
    pub fn args(&self) -> &[KernelArg] {
        self.metadata.as_ref().map_or(&[], |metadata| &metadata.args)
    }

    /// Arguments that the caller passes, in the order of their offsets.
    pub fn explicit_args(&self) -> impl Iterator<Item = &KernelArg> {
        self.args().iter().filter(|arg| !matches!(arg.value_kind, ValueKind::Hidden(_)))
    }

    /// Bytes of the kernarg segment that the caller's arguments occupy.
    pub fn explicit_size(&self) -> u32 {
        match &self.metadata {
            None => self.descriptor.kernarg_size,
            Some(_) => self
                .explicit_args()
                .map(|arg| arg.offset.saturating_add(arg.size))
                .max()
                .unwrap_or(0),
        }
    }

    /// Bytes of the kernarg segment. Handwritten kernels list padding behind the size that they
    /// state, which callers pass like any argument.
    pub fn kernarg_size(&self) -> u32 {
        let stated = self.metadata.as_ref().map_or(0, |metadata| metadata.kernarg_segment_size);
        stated.max(self.descriptor.kernarg_size).max(self.explicit_size())
    }

    /// Largest workgroup the kernel was compiled for, in work-items.
    pub fn max_flat_workgroup_size(&self) -> u32 {
        const HARDWARE_LIMIT: u32 = 1024;
        self.metadata
            .as_ref()
            .map_or(HARDWARE_LIMIT, |metadata| metadata.max_flat_workgroup_size)
            .min(HARDWARE_LIMIT)
    }
}

impl CodeObject {
    /// Largest accepted span of the loaded segments.
    pub const MAX_IMAGE: u64 = 1 << 30;

    /// Parses an ELF code object. (For a bundle, [`bundle::select`] comes first.)
    ///
    /// # Errors
    ///
    /// [`LoadError`] names what is malformed, unsupported or meant for another processor.
    pub fn parse(bytes: &[u8]) -> Result<Self, LoadError> {
        let header = Header::parse(bytes)?;
        let (target, version) = identify(header)?;
        let program_headers = header.program_headers(LE, bytes)?;
        let segments = load_segments(program_headers, bytes)?;
        let table = Table::read(header, bytes, program_headers, &segments)?;
        let metadata_notes = notes_of(program_headers, bytes, NOTE_METADATA)?;
        let note = metadata_notes.first().copied().map(metadata::parse).transpose()?;
        if let Some(stated) = note.as_ref().and_then(|note| note.target.as_deref()) {
            check_stated_target(stated, target)?;
        }

        let mut object = Self {
            bytes: bytes.into(),
            target,
            version,
            segments,
            kernels: Vec::new(),
            functions: symbols_of(&table.symbols, elf::STT_FUNC),
            variables: symbols_of(&table.symbols, elf::STT_OBJECT),
            relocations: table.relocations,
        };
        object.kernels = object.collect_kernels(note, &table.symbols)?;
        for note in notes_of(program_headers, bytes, NOTE_ARGUMENTS)? {
            let Some((name, pointers)) = arguments::parse(note)? else { continue };
            for kernel in object.kernels.iter_mut().filter(|kernel| kernel.name == name) {
                kernel.pointers = Some(pointers.clone());
            }
        }
        let descriptors: HashSet<&str> =
            object.kernels.iter().map(|kernel| kernel.symbol.as_str()).collect();
        object.variables.retain(|variable| !descriptors.contains(variable.name.as_str()));
        Ok(object)
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What the object was compiled for.
    pub fn target(&self) -> TargetId {
        self.target
    }

    /// The architecture whose instructions the code is decoded with: its own, or gfx942 for the
    /// generic target, whose instructions mean the same on every chip of the family.
    pub fn arch(&self) -> Arch {
        match self.target.processor {
            Processor::Arch(arch) => arch,
            Processor::Gfx94Generic => Arch::Gfx942,
        }
    }

    /// Code object version, 4 to 6.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Loadable segments in ascending order of address.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Kernels in the order of the metadata.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Kernel of that name, with or without the suffix `.kd`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name || kernel.symbol == name)
    }

    /// Functions, kernels included.
    pub fn functions(&self) -> &[Symbol] {
        &self.functions
    }

    /// Global variables (kernel descriptors are not among them).
    pub fn variables(&self) -> &[Symbol] {
        &self.variables
    }

    /// Global variable of that name.
    pub fn variable(&self, name: &str) -> Option<&Symbol> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Virtual addresses of the executable segments.
    pub fn text(&self) -> impl Iterator<Item = Range<u64>> {
        self.segments.iter().filter(|segment| segment.executable).map(Segment::range)
    }

    /// Source line of an instruction, from the DWARF sections if the object has them.
    pub fn source_line(&self, vaddr: u64) -> Option<SourceLocation> {
        // addr2line adds to the address, so only real ones reach it.
        self.text().any(|text| text.contains(&vaddr)).then(|| self.lines()?.line(vaddr))?
    }

    /// The DWARF line tables, read anew at each call, if the object has them.
    pub fn lines(&self) -> Option<LineTable<'_>> {
        LineTable::new(&self.bytes)
    }

    fn collect_kernels(
        &self,
        note: Option<metadata::Note>,
        symbols: &[TableSymbol],
    ) -> Result<Vec<Kernel>, LoadError> {
        let Some(note) = note else {
            return symbols
                .iter()
                .filter(|symbol| symbol.defined && symbol.kind == elf::STT_OBJECT)
                .filter_map(|symbol| {
                    let name = symbol.name.strip_suffix(".kd")?;
                    Some(self.kernel_at(name, &symbol.name, symbol.vaddr, None))
                })
                .collect();
        };
        let addresses: HashMap<&str, u64> = symbols
            .iter()
            .filter(|symbol| symbol.defined)
            .map(|symbol| (symbol.name.as_str(), symbol.vaddr))
            .collect();
        note.kernels
            .into_iter()
            .map(|entry| {
                let Some(&vaddr) = addresses.get(entry.symbol.as_str()) else {
                    return Err(LoadError::MissingSymbol {
                        kernel: entry.name,
                        symbol: entry.symbol,
                    });
                };
                self.kernel_at(&entry.name, &entry.symbol, vaddr, Some(entry.kernel))
            })
            .collect()
    }

    fn kernel_at(
        &self,
        name: &str,
        symbol: &str,
        descriptor_vaddr: u64,
        metadata: Option<KernelMetadata>,
    ) -> Result<Kernel, LoadError> {
        let bytes = self.file_bytes(descriptor_vaddr, KernelDescriptor::SIZE).ok_or(
            LoadError::OutOfBounds {
                what: "kernel descriptor",
                start: descriptor_vaddr,
                len: KernelDescriptor::SIZE as u64,
            },
        )?;
        let bytes = bytes.try_into().expect("file_bytes returns as many bytes as asked");
        let descriptor = KernelDescriptor::from_bytes(bytes);
        let wrong = |reason| LoadError::Descriptor { kernel: name.to_owned(), reason };
        if let Some(reason) = descriptor.unsupported() {
            return Err(wrong(reason));
        }
        if let Some(metadata) = &metadata {
            check_kernarg(metadata).map_err(wrong)?;
        }
        let entry_vaddr =
            descriptor_vaddr.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
        if !entry_vaddr.is_multiple_of(4) || !self.text().any(|text| text.contains(&entry_vaddr)) {
            return Err(wrong(format!("entry point {entry_vaddr:#x} is not in executable code")));
        }
        Ok(Kernel {
            name: name.to_owned(),
            symbol: symbol.to_owned(),
            descriptor_vaddr,
            entry_vaddr,
            descriptor,
            metadata,
            pointers: None,
        })
    }

    /// Bytes of the file that are loaded at `vaddr`.
    fn file_bytes(&self, vaddr: u64, len: usize) -> Option<&[u8]> {
        file_bytes(&self.bytes, &self.segments, vaddr, len)
    }
}

/// Bytes of the file that `segments` load at `vaddr`.
fn file_bytes<'a>(
    bytes: &'a [u8],
    segments: &[Segment],
    vaddr: u64,
    len: usize,
) -> Option<&'a [u8]> {
    segments.iter().find_map(|segment| {
        let offset = usize::try_from(vaddr.checked_sub(segment.vaddr)?).ok()?;
        bytes[segment.file.clone()].get(offset..offset.checked_add(len)?)
    })
}

fn identify(header: &Header) -> Result<(TargetId, u8), LoadError> {
    let machine = header.e_machine(LE);
    if machine != elf::EM_AMDGPU {
        return Err(LoadError::NotAmdgpu(format!("ELF machine {}", machine.0)));
    }
    let ident = header.e_ident();
    if ident.os_abi.0 != OS_ABI_HSA {
        return Err(LoadError::NotAmdgpu(format!("OS ABI {} is not HSA", ident.os_abi.0)));
    }
    if header.e_type(LE) != elf::ET_DYN {
        return Err(LoadError::NotAmdgpu(
            "the object is not linked (link it with ld.lld -shared)".to_owned(),
        ));
    }
    // ELFABIVERSION_AMDGPU_HSA_V2 is 0.
    let version = ident.abi_version.saturating_add(2);
    if !(4..=6).contains(&version) {
        return Err(LoadError::Version { found: version });
    }
    let target = TargetId::from_elf_flags(header.e_flags(LE).0)
        .map_err(|machine| LoadError::Processor { machine })?;
    Ok((target, version))
}

fn load_segments(
    program_headers: &[elf::ProgramHeader64<LE>],
    bytes: &[u8],
) -> Result<Vec<Segment>, LoadError> {
    let mut segments = Vec::new();
    for header in program_headers {
        if header.p_type(LE) != elf::PT_LOAD || header.p_memsz(LE) == 0 {
            continue;
        }
        let (offset, filesz) = header.file_range(LE);
        let (vaddr, memsz) = (header.p_vaddr(LE), header.p_memsz(LE));
        let outside = LoadError::OutOfBounds { what: "segment", start: offset, len: filesz };
        let file = (|| {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(usize::try_from(filesz).ok()?)?;
            (end <= bytes.len() && filesz <= memsz).then_some(start..end)
        })()
        .ok_or(outside)?;
        let end = vaddr.saturating_add(memsz);
        if end > CodeObject::MAX_IMAGE {
            return Err(LoadError::TooLarge { bytes: end, limit: CodeObject::MAX_IMAGE });
        }
        let flags = header.p_flags(LE);
        segments.push(Segment {
            vaddr,
            memsz,
            file,
            executable: flags.contains(elf::PF_X),
            writable: flags.contains(elf::PF_W),
        });
    }
    segments.sort_by_key(|segment| segment.vaddr);
    if let Some(pair) = segments.windows(2).find(|pair| pair[0].range().end > pair[1].vaddr) {
        return Err(LoadError::Malformed(format!(
            "segments at {:#x} and {:#x} overlap",
            pair[0].vaddr, pair[1].vaddr
        )));
    }
    Ok(segments)
}

/// Contents of the notes with that owner and type.
fn notes_of<'b>(
    program_headers: &[elf::ProgramHeader64<LE>],
    bytes: &'b [u8],
    (owner, kind): (&[u8], u32),
) -> Result<Vec<&'b [u8]>, LoadError> {
    let mut found = Vec::new();
    for header in program_headers {
        let Some(mut notes) = header.notes(LE, bytes)? else { continue };
        while let Some(note) = notes.next()? {
            if note.name() == owner && note.n_type(LE).0 == kind {
                found.push(note.desc());
            }
        }
    }
    Ok(found)
}

/// The target string of the metadata must name the processor of the ELF header. In front of it stands
/// a triple whose environment may be absent (`amdgcn-amd-amdhsa--gfx942`) or given
/// (`amdgcn-amd-amdhsa-unknown-gfx942`), and processors have dashes in their names too.
fn check_stated_target(stated: &str, target: TargetId) -> Result<(), LoadError> {
    let name = target.processor.name();
    let without_features = stated.split(':').next().unwrap_or(stated);
    let triple = without_features.strip_suffix(name);
    if triple.is_some_and(|triple| triple.is_empty() || triple.ends_with('-')) {
        return Ok(());
    }
    Err(LoadError::Metadata(format!("amdhsa.target is {stated}, the ELF header says {name}")))
}

/// The kernarg segment, and the arguments with it, must be of a size that can be meant.
fn check_kernarg(metadata: &KernelMetadata) -> Result<(), String> {
    /// Far above the 4 KiB that compilers allow.
    const MAX_KERNARG: u32 = 1 << 20;
    if metadata.kernarg_segment_size > MAX_KERNARG {
        return Err(format!("kernarg segment of {} bytes", metadata.kernarg_segment_size));
    }
    for arg in &metadata.args {
        let end = arg.offset.checked_add(arg.size);
        if end.is_none_or(|end| end > MAX_KERNARG) {
            return Err(format!("argument of {} bytes at offset {}", arg.size, arg.offset));
        }
    }
    Ok(())
}

fn symbols_of(symbols: &[TableSymbol], kind: elf::SymbolType) -> Vec<Symbol> {
    symbols
        .iter()
        .filter(|symbol| symbol.defined && symbol.kind == kind)
        .map(|symbol| Symbol { name: symbol.name.clone(), vaddr: symbol.vaddr, size: symbol.size })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_targets_name_the_processor() {
        let target = |name| TargetId::parse(name).expect("a target");
        for (stated, name, fits) in [
            ("amdgcn-amd-amdhsa--gfx942", "gfx942", true),
            ("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942", true),
            ("amdgcn-amd-amdhsa-unknown-gfx950", "gfx950", true),
            ("amdgcn-amd-amdhsa--gfx9-4-generic", "gfx9-4-generic", true),
            ("amdgcn-amd-amdhsa-unknown-gfx9-4-generic:xnack+", "gfx9-4-generic", true),
            ("gfx942", "gfx942", true),
            ("amdgcn-amd-amdhsa--gfx950", "gfx942", false),
            ("amdgcn-amd-amdhsa--gfx942", "gfx9-4-generic", false),
            ("amdgcn-amd-amdhsa--nogfx942", "gfx942", false),
            ("", "gfx942", false),
        ] {
            let found = check_stated_target(stated, target(name));
            assert_eq!(found.is_ok(), fits, "{stated} of {name}");
            if let Err(error) = found {
                let text = error.to_string();
                assert!(text.contains(stated) && text.contains(name), "{text}");
            }
        }
    }
}
