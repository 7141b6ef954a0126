//! Launches written to disk, and replayed elsewhere.
//!
//! With the environment variable `HIPKITTENS_CAPTURE` set to a folder, or after
//! [`Device::set_capture`](crate::Device::set_capture), each launch is written to a folder of its
//! own in it, `NNNN-KERNEL`, numbered from 0001 in the order of launches:
//!
//! Pointers are known by the argument struct's types, whether the kernel takes the struct by value
//! or its fields as parameters. Those inside of arrays and nested structs, and what is only read, are
//! known by hk-build's note in the code object; each such pointer is an argument of its own behind
//! the one that it is part of. While it captures, a launch waits for the device, so it cannot be part
//! of a graph.
//!
//! A capture needs nothing but its folder: no file outside it is named, numbers are little-endian,
//! and the format stays readable: a change that older readers cannot follow gets a new number in
//! `format`. [`replay`] does the launch again, and so does `hipkittens replay FOLDER`.

mod replay;

use std::path::Path;

use hk_capture::{Arg, Buffer, Content, FORMAT, Moment, Writer};

pub use replay::{BufferComparison, Difference, Differences, ReplayReport, captured_arch, replay};

use crate::hip::Hip;
use crate::kernel::{ArgField, ArgKind, ArgLayout, Pointee};
use crate::metadata::KernelInfo;
use crate::{Error, LaunchConfig, Result, Stream};

/// A launch about to happen.
pub(crate) struct Launch<'l> {
    pub(crate) kernel: &'l KernelInfo,
    pub(crate) image: &'l [u8],
    pub(crate) config: LaunchConfig,
    pub(crate) kernarg: &'l [u8],
    pub(crate) layout: &'l ArgLayout,
}

/// A buffer with the place it was captured from.
struct Captured {
    record: Buffer,
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
    let record = hk_capture::Launch {
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
    let writer = Writer::new(parent, &record, launch.image)?;
    save(stream, &buffers, &writer, Moment::Before)?;
    submit()?;
    stream.synchronize()?;
    save(stream, &buffers, &writer, Moment::After)?;
    tracing::info!(folder = %writer.folder().display(), "launch captured");
    Ok(())
}

/// An argument, or a pointer inside of one.
struct Argument<'l> {
    name: &'l str,
    kind: ArgKind,
    offset: usize,
    size: usize,
    pointee: Pointee,
}

/// What the launch is given: fields, and behind each the pointers inside of it.
fn arguments<'l>(launch: &Launch<'l>) -> Vec<Argument<'l>> {
    let noted = launch.kernel.pointers.as_deref().unwrap_or_default();
    let mut arguments = Vec::new();
    for field in launch.layout.fields {
        let ArgField { name, kind, mut pointee, .. } = *field;
        let (offset, size) = (field.offset as usize, field.size as usize);
        let range = field.offset..field.offset + field.size;
        let inside = noted.iter().filter(|pointer| range.contains(&pointer.offset));
        if kind == ArgKind::Pointer {
            for noted in inside {
                pointee.constant = noted.pointee.constant;
            }
            arguments.push(Argument { name, kind, offset, size, pointee });
        } else {
            arguments.push(Argument { name, kind, offset, size, pointee });
            arguments.extend(inside.map(|pointer| Argument {
                name: &pointer.name,
                kind: ArgKind::Pointer,
                offset: pointer.offset as usize,
                size: size_of::<u64>(),
                pointee: pointer.pointee,
            }));
        }
    }
    arguments
}

/// The arguments, and the buffers that they lead to.
fn describe(hip: &Hip, launch: &Launch<'_>) -> (Vec<Arg>, Vec<Captured>) {
    let mut buffers: Vec<Captured> = Vec::new();
    let mut args = Vec::new();
    for Argument { name, kind, offset, size, pointee } in arguments(launch) {
        let bytes = &launch.kernarg[offset..offset + size];
        let pointer = match (kind, <[u8; 8]>::try_from(bytes)) {
            (ArgKind::Pointer, Ok(bytes)) => Some(u64::from_le_bytes(bytes)),
            _ => None,
        };
        let target = pointer.filter(|address| *address != 0).and_then(|address| {
            let found = hip.allocation_of(address);
            if found.is_none() {
                let (kernel, argument) = (&launch.kernel.name, name);
                tracing::warn!(kernel, argument, "points to memory that is not ours: not captured");
            }
            Some((address, found?))
        });
        let content = match target {
            Some((address, (start, bytes))) => {
                let index = buffers.iter().position(|buffer| buffer.start == start);
                let index = index.unwrap_or_else(|| {
                    let dtype = pointee.element.map(|dtype| dtype.name().to_owned());
                    let name = name.to_owned();
                    buffers.push(Captured { record: Buffer { name, bytes, dtype }, start });
                    buffers.len() - 1
                });
                let buffer = buffers[index].record.name.clone();
                Content::Buffer { buffer, buffer_offset: address - start }
            }
            None => Content::value(bytes),
        };
        args.push(Arg {
            name: name.to_owned(),
            kind: kind_name(kind).to_owned(),
            offset,
            size,
            constant: pointee.constant,
            content,
        });
    }
    (args, buffers)
}

/// Writes all buffers' present contents.
fn save(stream: &Stream, buffers: &[Captured], writer: &Writer, moment: Moment) -> Result<()> {
    writer.begin(moment)?;
    for Captured { record, start } in buffers {
        let mut contents = vec![0u8; record.bytes];
        // The launch has listed what it uses.
        stream.copy("capture", &[], |hip| {
            // SAFETY: the range is a live allocation: the arguments of a launch lead to it, and
            // the launch's contract is that they are. `contents` lives until `copy` has waited.
            unsafe { hip.download(&mut contents, *start, stream.raw()) }
        })?;
        writer.save(moment, &record.name, &contents)?;
    }
    Ok(())
}

impl From<hk_capture::Error> for Error {
    fn from(error: hk_capture::Error) -> Self {
        match error {
            hk_capture::Error::Io { path, source } => Self::Io { path, source },
            hk_capture::Error::Damaged { path, reason } => Self::Capture { path, reason },
            // The enumeration may grow; it has no other variant today.
            other => Self::Capture { path: "launch.json".into(), reason: other.to_string() },
        }
    }
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
