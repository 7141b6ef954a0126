//! Launches written to disk, and replayed elsewhere.
//!
//! With the environment variable `HIPKITTENS_CAPTURE` set to a folder, or after
//! [`Device::set_capture`](crate::Device::set_capture), each launch is written to a folder of its
//! own in it, `NNNN-KERNEL`, numbered from 0001 in the order of launches:
//!
//! | file | holds |
//! |---|---|
//! | `launch.json` | everything below |
//! | `code.hsaco` | the code object, an ELF file |
//! | `before/NAME.bin` | each buffer as it was before the launch |
//! | `after/NAME.bin` | each buffer as it was afterwards; no `after` if the launch failed |
//!
//! A buffer is a whole allocation that some pointer argument leads into, named after the first
//! argument that does. Fields of `launch.json`:
//!
//! | field | meaning |
//! |---|---|
//! | `format` | 1 |
//! | `kernel`, `arch`, `device` | kernel name, e.g. `gfx950`, name of the device that ran it |
//! | `grid`, `block` | workgroups, and work-items of a workgroup, in x, y, z |
//! | `dynamic_lds_bytes` | LDS beside what the kernel declares |
//! | `kernarg_bytes` | size of the explicit arguments; bytes that no argument covers are 0 |
//! | `args[].name, offset, size` | where in the argument bytes it is |
//! | `args[].kind` | `pointer`, a number type such as `f32`, or `bytes` |
//! | `args[].value` | the argument's bytes in hexadecimal; not for a pointer into a buffer |
//! | `args[].buffer, buffer_offset` | what a pointer leads to; absent for a null pointer |
//! | `buffers[].name, bytes` | the buffers, with their sizes |
//! | `buffers[].dtype` | the element type, as far as the pointer's type tells |
//!
//! Pointers are known by the argument struct's types, whether the kernel takes the struct by value
//! or its fields as parameters; pointers inside arrays are not found. While it captures, a launch
//! waits for the device, so it cannot be part of a graph.
//!
//! A capture needs nothing but its folder: no file outside it is named, numbers are little-endian,
//! and the format stays readable: a change that older readers cannot follow gets a new number in
//! `format`. [`replay`] does the launch again, and so does `hipkittens replay FOLDER`.

mod replay;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

pub use replay::{BufferComparison, Difference, Differences, ReplayReport, captured_arch, replay};

use crate::dtype::DType;
use crate::hip::Hip;
use crate::kernel::{ArgKind, ArgLayout};
use crate::metadata::KernelInfo;
use crate::{Error, LaunchConfig, Result, Stream};

/// Version of the format.
const FORMAT: u32 = 1;

/// A launch about to happen.
pub(crate) struct Launch<'l> {
    pub(crate) kernel: &'l KernelInfo,
    pub(crate) image: &'l [u8],
    pub(crate) config: LaunchConfig,
    pub(crate) kernarg: &'l [u8],
    pub(crate) layout: &'l ArgLayout,
    pub(crate) pointees: &'l [Option<DType>],
}

/// The contents of `launch.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    format: u32,
    kernel: String,
    arch: String,
    device: String,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds_bytes: u32,
    kernarg_bytes: usize,
    args: Vec<ArgRecord>,
    buffers: Vec<BufferRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ArgRecord {
    name: String,
    kind: String,
    offset: usize,
    size: usize,
    #[serde(flatten)]
    content: Content,
}

/// What an argument holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Content {
    Buffer { buffer: String, buffer_offset: u64 },
    Value { value: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct BufferRecord {
    name: String,
    bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
}

/// A buffer with the place it was captured from.
struct Captured {
    record: BufferRecord,
    start: u64,
}

/// Writes a launch around the call of `submit`, which does it.
pub(crate) fn record(
    parent: &Path,
    stream: &Stream,
    launch: &Launch<'_>,
    submit: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let device = stream.device();
    if stream.is_capturing()? {
        let why = "a launch cannot be written to a folder";
        return Err(Error::StreamCapture { op: "launch", why });
    }
    let hip = device.bind()?;
    // Work on other streams may still be writing to the buffers.
    hip.synchronize_device()?;
    let (args, buffers) = describe(&hip, launch);
    let folder = new_folder(parent, &launch.kernel.name)?;
    let record = Record {
        format: FORMAT,
        kernel: launch.kernel.name.clone(),
        arch: device.arch().name().to_owned(),
        device: device.name().to_owned(),
        grid: launch.config.grid,
        block: launch.config.block,
        dynamic_lds_bytes: launch.config.dynamic_lds_bytes,
        kernarg_bytes: launch.kernarg.len(),
        args,
        buffers: buffers.iter().map(|buffer| buffer.record.clone()).collect(),
    };
    let json = serde_json::to_vec_pretty(&record)
        .map_err(|error| Error::Capture { path: folder.clone(), reason: error.to_string() })?;
    write(&folder.join("launch.json"), &json)?;
    write(&folder.join("code.hsaco"), launch.image)?;
    save(stream, &buffers, &folder.join("before"))?;
    submit()?;
    stream.synchronize()?;
    save(stream, &buffers, &folder.join("after"))?;
    tracing::info!(folder = %folder.display(), "launch captured");
    Ok(())
}

/// The arguments, and the buffers that they lead to.
fn describe(hip: &Hip, launch: &Launch<'_>) -> (Vec<ArgRecord>, Vec<Captured>) {
    let mut buffers: Vec<Captured> = Vec::new();
    let mut args = Vec::new();
    for (field, dtype) in launch.layout.fields.iter().zip(launch.pointees) {
        let (offset, size) = (field.offset as usize, field.size as usize);
        let bytes = &launch.kernarg[offset..offset + size];
        let pointer = match (field.kind, <[u8; 8]>::try_from(bytes)) {
            (ArgKind::Pointer, Ok(bytes)) => Some(u64::from_le_bytes(bytes)),
            _ => None,
        };
        let target = pointer.filter(|address| *address != 0).and_then(|address| {
            let found = hip.allocation_of(address);
            if found.is_none() {
                let (kernel, argument) = (&launch.kernel.name, field.name);
                tracing::warn!(kernel, argument, "points to memory that is not ours: not captured");
            }
            Some((address, found?))
        });
        let content = match target {
            Some((address, (start, bytes))) => {
                let index = buffers.iter().position(|buffer| buffer.start == start);
                let index = index.unwrap_or_else(|| {
                    let (name, dtype) = (field.name.to_owned(), dtype.map(|d| d.name().to_owned()));
                    buffers.push(Captured { record: BufferRecord { name, bytes, dtype }, start });
                    buffers.len() - 1
                });
                let buffer = buffers[index].record.name.clone();
                Content::Buffer { buffer, buffer_offset: address - start }
            }
            None => Content::Value { value: to_hex(bytes) },
        };
        let kind = kind_name(field.kind).to_owned();
        args.push(ArgRecord { name: field.name.to_owned(), kind, offset, size, content });
    }
    (args, buffers)
}

/// Makes the folder of the next number.
fn new_folder(parent: &Path, kernel: &str) -> Result<PathBuf> {
    // Two launches of this process must not look for the next number at the same time.
    static NUMBERING: Mutex<()> = Mutex::new(());
    let _guard = NUMBERING.lock().unwrap_or_else(PoisonError::into_inner);
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    fs::create_dir_all(parent).map_err(io(parent))?;
    let mut last = 0;
    for entry in fs::read_dir(parent).map_err(io(parent))? {
        let name = entry.map_err(io(parent))?.file_name();
        let number = name.to_str().and_then(|name| name.split_once('-')?.0.parse::<u32>().ok());
        last = last.max(number.unwrap_or(0));
    }
    // Symbols of templates are long and hold characters that some file systems refuse.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '_' };
    let name: String = kernel.chars().take(100).map(plain).collect();
    let folder = parent.join(format!("{:04}-{name}", last.saturating_add(1)));
    fs::create_dir(&folder).map_err(io(&folder))?;
    Ok(folder)
}

/// Writes all buffers' present contents to a folder.
fn save(stream: &Stream, buffers: &[Captured], folder: &Path) -> Result<()> {
    fs::create_dir(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
    for Captured { record, start } in buffers {
        let mut contents = vec![0u8; record.bytes];
        // The launch has listed what it uses.
        stream.copy("capture", &[], |hip| {
            // SAFETY: the range is a live allocation: the arguments of a launch lead to it, and
            // the launch's contract is that they are. `contents` lives until `copy` has waited.
            unsafe { hip.download(&mut contents, *start, stream.raw()) }
        })?;
        write(&buffer_file(folder, &record.name), &contents)?;
    }
    Ok(())
}

fn buffer_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.bin"))
}

fn write(path: &Path, contents: &[u8]) -> Result<()> {
    fs::write(path, contents).map_err(|source| Error::Io { path: path.to_owned(), source })
}

fn kind_name(kind: ArgKind) -> &'static str {
    match kind {
        ArgKind::Pointer => "pointer",
        ArgKind::Bool => "bool",
        ArgKind::I8 => "i8",
        ArgKind::U8 => "u8",
        ArgKind::I16 => "i16",
        ArgKind::U16 => "u16",
        ArgKind::I32 => "i32",
        ArgKind::U32 => "u32",
        ArgKind::I64 => "i64",
        ArgKind::U64 => "u64",
        ArgKind::F32 => "f32",
        ArgKind::F64 => "f64",
        ArgKind::Bytes => "bytes",
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}
