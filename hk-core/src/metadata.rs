//! What a code object says about itself: its target, its kernels, their arguments and resources.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", code object V4 to V6 metadata. What kernels do with
//! the pointers in their argument structs is in notes that hk-build adds; its README describes them.

use object::Endianness;
use object::elf::{FileHeader64, PT_NOTE};
use object::read::elf::{FileHeader, ProgramHeader};
use rmpv::Value;

use crate::kernel::Pointee;
use crate::{Error, Result};

/// Type of the ELF note that holds the metadata.
const NT_AMDGPU_METADATA: object::elf::NoteType = object::elf::NoteType(32);
/// Type of hk-build's note about a kernel's arguments, and the version of it that is known here.
const NT_HIPKITTENS_ARGUMENTS: object::elf::NoteType = object::elf::NoteType(1);
const ARGUMENTS_VERSION: u32 = 1;

/// A code object's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CodeObjectInfo {
    /// Target id, such as `gfx950:sramecc+`.
    pub target: String,
    /// Its kernels.
    pub kernels: Vec<KernelInfo>,
}

/// A kernel's arguments and resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its name, by which it is launched.
    pub name: String,
    /// Its parameters, in order of offsets, without those that the runtime supplies.
    pub args: Vec<ArgInfo>,
    /// The pointers in its arguments, those in structs and arrays too, if hk-build noted them.
    pub pointers: Option<Vec<PointerInfo>>,
    /// Bytes of its argument segment, with what the runtime supplies.
    pub kernarg_bytes: u32,
    /// LDS that it declares, in bytes.
    pub static_lds_bytes: u32,
    /// Scratch memory per work-item, in bytes.
    pub scratch_bytes: u32,
    /// Vector registers of a lane, both kinds together.
    pub vgprs: u32,
    /// The accumulation registers among them.
    pub agprs: u32,
    /// Scalar registers of a wave.
    pub sgprs: u32,
    /// Vector registers that the compiler had to spill.
    pub vgpr_spills: u32,
    /// Scalar registers that the compiler had to spill.
    pub sgpr_spills: u32,
    /// Largest workgroup it was compiled for, in work-items.
    pub max_workgroup: u32,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgInfo {
    /// Offset in the argument segment.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// Whether it is a pointer to device memory; else a value.
    pub is_pointer: bool,
}

/// A pointer in the arguments of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PointerInfo {
    /// Where it is in the argument struct, such as `views[1].data`.
    pub name: String,
    /// Offset in the argument segment.
    pub offset: u32,
    /// What it leads to.
    pub pointee: Pointee,
}

impl CodeObjectInfo {
    /// Reads the metadata of a code object: a linked ELF file for AMDGPU.
    ///
    /// # Errors
    /// [`Error::CodeObject`] if it is not one, or is damaged.
    pub fn read(image: &[u8]) -> Result<Self> {
        let notes = find_notes(image).map_err(|reason| Error::CodeObject { reason })?;
        let damaged = |what| Error::CodeObject { reason: format!("metadata: {what}") };
        let mut info = parse(notes.metadata).map_err(damaged)?;
        for note in notes.arguments {
            add_pointers(&mut info.kernels, note).map_err(damaged)?;
        }
        Ok(info)
    }

    /// The kernel of that name.
    ///
    /// # Errors
    /// [`Error::NoKernel`] if there is none; it names those that there are.
    pub fn kernel(&self, name: &str) -> Result<&KernelInfo> {
        self.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| Error::NoKernel {
            kernel: name.to_owned(),
            available: self.kernels.iter().map(|kernel| kernel.name.clone()).collect(),
        })
    }
}

/// The contents of the notes that are read here.
struct Notes<'i> {
    metadata: &'i [u8],
    arguments: Vec<&'i [u8]>,
}

fn find_notes(image: &[u8]) -> Result<Notes<'_>, String> {
    let text = |error: object::Error| error.to_string();
    // The reader casts headers in place.
    let header = FileHeader64::<Endianness>::parse(image).map_err(text)?;
    let endian = header.endian().map_err(text)?;
    if endian != Endianness::Little || header.e_machine(endian) != object::elf::EM_AMDGPU {
        return Err("it is not an ELF file for AMDGPU".into());
    }
    let (mut metadata, mut arguments) = (None, Vec::new());
    for segment in header.program_headers(endian, image).map_err(text)? {
        if segment.p_type(endian) != PT_NOTE {
            continue;
        }
        let Some(mut notes) = segment.notes(endian, image).map_err(text)? else { continue };
        while let Some(note) = notes.next().map_err(text)? {
            match (note.name(), note.n_type(endian)) {
                (b"AMDGPU", NT_AMDGPU_METADATA) => _ = metadata.get_or_insert(note.desc()),
                (b"hipkittens", NT_HIPKITTENS_ARGUMENTS) => arguments.push(note.desc()),
                _ => {}
            }
        }
    }
    let metadata = metadata.ok_or("it has no metadata note")?;
    Ok(Notes { metadata, arguments })
}

/// Adds what a note says of the arguments of one of the kernels.
fn add_pointers(kernels: &mut [KernelInfo], mut note: &[u8]) -> Result<(), String> {
    let root = rmpv::decode::read_value(&mut note).map_err(|error| error.to_string())?;
    if number(&root, "version")? != ARGUMENTS_VERSION {
        return Ok(());
    }
    let name = get(&root, "kernel").and_then(Value::as_str);
    let Some(kernel) = kernels.iter_mut().find(|kernel| Some(kernel.name.as_str()) == name) else {
        return Ok(());
    };
    let pointer = |entry: &Value| {
        let text = |key| get(entry, key).and_then(Value::as_str);
        Ok(PointerInfo {
            name: text("name").ok_or("a pointer has no name")?.to_owned(),
            offset: number(entry, "offset")?,
            pointee: Pointee {
                constant: get(entry, "const").and_then(Value::as_bool),
                element: text("element").and_then(|name| name.parse().ok()),
            },
        })
    };
    kernel.pointers =
        Some(array(&root, "pointers").iter().map(pointer).collect::<Result<_, String>>()?);
    Ok(())
}

fn parse(mut note: &[u8]) -> Result<CodeObjectInfo, String> {
    let root = rmpv::decode::read_value(&mut note).map_err(|error| error.to_string())?;
    let target = get(&root, "amdhsa.target").and_then(Value::as_str).unwrap_or_default();
    // `amdgcn-amd-amdhsa--gfx950:sramecc+`
    let target = target.rsplit("--").next().unwrap_or_default().to_owned();
    let kernels = array(&root, "amdhsa.kernels").iter().map(kernel).collect::<Result<_, _>>()?;
    Ok(CodeObjectInfo { target, kernels })
}

fn kernel(entry: &Value) -> Result<KernelInfo, String> {
    let name = get(entry, ".name").and_then(Value::as_str).ok_or("a kernel has no name")?;
    let number = |key| number(entry, key).map_err(|what| format!("kernel {name}: {what}"));
    let mut args = Vec::new();
    for arg in array(entry, ".args") {
        let kind = get(arg, ".value_kind").and_then(Value::as_str).unwrap_or_default();
        if kind.starts_with("hidden_") {
            continue;
        }
        let field = |key| self::number(arg, key).map_err(|what| format!("kernel {name}: {what}"));
        let (offset, size) = (field(".offset")?, field(".size")?);
        args.push(ArgInfo { offset, size, is_pointer: kind == "global_buffer" });
    }
    args.sort_by_key(|arg| arg.offset);
    Ok(KernelInfo {
        name: name.to_owned(),
        args,
        pointers: None,
        kernarg_bytes: number(".kernarg_segment_size")?,
        static_lds_bytes: number(".group_segment_fixed_size")?,
        scratch_bytes: number(".private_segment_fixed_size")?,
        vgprs: number(".vgpr_count")?,
        agprs: number(".agpr_count")?,
        sgprs: number(".sgpr_count")?,
        vgpr_spills: number(".vgpr_spill_count")?,
        sgpr_spills: number(".sgpr_spill_count")?,
        max_workgroup: number(".max_flat_workgroup_size")?,
    })
}

fn get<'v>(map: &'v Value, key: &str) -> Option<&'v Value> {
    let Value::Map(entries) = map else { return None };
    entries.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, value)| value)
}

fn array<'v>(map: &'v Value, key: &str) -> &'v [Value] {
    match get(map, key) {
        Some(Value::Array(values)) => values,
        _ => &[],
    }
}

/// A number that counts as 0 if it is absent, as optional keys do.
fn number(map: &Value, key: &str) -> Result<u32, String> {
    let Some(value) = get(map, key) else { return Ok(0) };
    value
        .as_u64()
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| format!("{key} is not a 32-bit number"))
}
