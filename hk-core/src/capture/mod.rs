//! Launches written to disk, and replayed elsewhere.
//!
//! With the environment variable `HIPKITTENS_CAPTURE` set to a folder, or after
//! [`Device::set_capture`](crate::Device::set_capture), each launch is written to a folder of its
//! own in it, `NNNN-KERNEL`, numbered from 0001 in the order of launches:
//!
//! Pointers and the elements that they lead to are known by the argument struct, whether the kernel
//! takes it by value or its fields as parameters; what is only read is known by hk-build's note in
//! the code object. Each pointer inside of an array or a nested struct is an argument of its own
//! behind the one that it is part of. Allocations that overlap, as a piece that a program's allocator
//! gave and the block that it is of, are one buffer. While it captures, a launch waits for the device,
//! so it cannot be part of a graph.
//!
//! A capture needs nothing but its folder: no file outside it is named, numbers are little-endian,
//! and the format stays readable: a change that older readers cannot follow gets a new number in
//! `format`. [`replay`] does the launch again, and so does `hipkittens replay FOLDER`.

mod replay;

use std::path::Path;

use hk_capture::{Arg, Buffer, Content, FORMAT, Moment, NOWHERE, Writer};

pub use replay::{BufferComparison, Difference, Differences, ReplayReport, captured_arch, replay};

use crate::dtype::DType;
use crate::hip::Hip;
use crate::kernel::{ArgField, ArgLayout, ArgType, Pointee};
use crate::metadata::KernelInfo;
use crate::{Error, LaunchConfig, Result, Stream};

/// A launch about to happen.
pub(crate) struct Launch<'l> {
    pub(crate) kernel: &'l KernelInfo,
    pub(crate) image: &'l [u8],
    pub(crate) config: LaunchConfig,
    pub(crate) kernarg: &'l [u8],
    pub(crate) layout: &'l ArgLayout,
    /// Element types that pointers, by their offsets, lead to.
    pub(crate) elements: &'l [(u32, DType)],
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
struct Argument {
    name: String,
    kind: &'static str,
    offset: usize,
    size: usize,
    /// What it leads to, if it is a pointer.
    pointee: Option<Pointee>,
}

/// What the launch is given: fields, and behind each the pointers inside of it.
fn arguments(launch: &Launch<'_>) -> Vec<Argument> {
    let Launch { layout, elements, .. } = *launch;
    let noted = launch.kernel.pointers.as_deref().unwrap_or_default();
    let mut pointers = Vec::new();
    layout.pointers(&mut |offset, own| {
        let noted = noted.iter().find(|pointer| pointer.offset == offset);
        let noted = noted.map_or(own, |noted| noted.pointee);
        let element = elements.iter().find(|(at, _)| *at == offset).map(|(_, element)| *element);
        let pointee = Pointee { constant: noted.constant, element: element.or(noted.element) };
        pointers.push((offset, pointee));
    });
    let pointer = |(offset, pointee)| Argument {
        name: layout.path(offset),
        kind: "pointer",
        offset: offset as usize,
        size: 8,
        pointee: Some(pointee),
    };
    let mut arguments = Vec::new();
    for ArgField { name, offset, ty } in layout.fields {
        let kind = match ty {
            ArgType::Number(kind) => Some(kind.name()),
            ArgType::Pointer(_) => None,
            ArgType::Array(..) | ArgType::Struct(_) => Some("bytes"),
        };
        arguments.extend(kind.map(|kind| Argument {
            name: (*name).to_owned(),
            kind,
            offset: *offset as usize,
            size: ty.size() as usize,
            pointee: None,
        }));
        let inside = *offset..*offset + ty.size();
        let inside = pointers.iter().filter(|(offset, _)| inside.contains(offset));
        arguments.extend(inside.copied().map(pointer));
    }
    arguments
}

/// Start and length of device memory.
type Range = (u64, usize);

/// The address that an argument is, and the allocation that it leads into.
fn target(hip: &Hip, launch: &Launch<'_>, argument: &Argument) -> Option<(u64, Range)> {
    let Argument { name, offset, size, pointee, .. } = argument;
    pointee.as_ref()?;
    let bytes = launch.kernarg[*offset..offset + size].try_into().ok()?;
    let address = u64::from_le_bytes(bytes);
    if address < NOWHERE {
        return None;
    }
    // What is empty may begin where its memory ends.
    let found = hip.allocation_of(address).or_else(|| hip.allocation_of(address - 1));
    if found.is_none() {
        let (kernel, argument) = (&launch.kernel.name, name);
        tracing::warn!(kernel, argument, "points to memory that is not ours: not captured");
    }
    Some((address, found?))
}

/// The ranges, with those that overlap as one: what is written through one of them is in the others.
fn merged(ranges: impl Iterator<Item = Range>) -> Vec<Range> {
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort_unstable();
    ranges.dedup_by(|(start, bytes), (first, all)| {
        let before = (*start - *first) as usize;
        let overlaps = before < *all;
        if overlaps {
            *all = (*all).max(before + *bytes);
        }
        overlaps
    });
    ranges
}

/// The arguments, and the buffers that they lead to.
fn describe(hip: &Hip, launch: &Launch<'_>) -> (Vec<Arg>, Vec<Captured>) {
    let arguments = arguments(launch);
    let targets: Vec<_> = arguments.iter().map(|argument| target(hip, launch, argument)).collect();
    let ranges = merged(targets.iter().flatten().map(|(_, range)| *range));
    let mut buffers: Vec<Captured> = Vec::new();
    let mut args = Vec::new();
    for (Argument { name, kind, offset, size, pointee }, target) in
        arguments.into_iter().zip(targets)
    {
        let whole = target.and_then(|(address, (start, _))| {
            let holds = |range: &&Range| range.0 <= start && start - range.0 < range.1 as u64;
            Some((address, *ranges.iter().find(holds)?))
        });
        let content = match whole {
            Some((address, (start, bytes))) => {
                let index = buffers.iter().position(|buffer| buffer.start == start);
                let index = index.unwrap_or_else(|| {
                    let element = pointee.and_then(|pointee| pointee.element);
                    let dtype = element.map(|dtype| dtype.name().to_owned());
                    let record = Buffer { name: name.clone(), bytes, dtype };
                    buffers.push(Captured { record, start });
                    buffers.len() - 1
                });
                let record = &mut buffers[index].record;
                // Of memory in which there are several types, nothing is said.
                let element = pointee.and_then(|pointee| pointee.element);
                if record.dtype.as_deref() != element.map(DType::name) {
                    record.dtype = None;
                }
                let buffer = record.name.clone();
                Content::Buffer { buffer, buffer_offset: address - start }
            }
            None => Content::value(&launch.kernarg[offset..offset + size]),
        };
        args.push(Arg {
            name,
            kind: kind.to_owned(),
            offset,
            size,
            constant: pointee.and_then(|pointee| pointee.constant),
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
