//! Launches written to disk, for replay. `hk-capture` describes the format.
//!
//! A buffer is the whole allocation that a pointer argument leads into, or an aligned word of an
//! argument by value that is an address of one: structures by value hold pointers, too. Work of
//! other streams on the same buffers is not waited for.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_capture::{Arg, Buffer, Content, Error, FORMAT, Launch, Moment, Writer};

use super::copy::Side;
use super::launch::Shape;
use super::memory;
use super::module::Function;
use crate::mem::{Allocation, RegionKind};
use crate::object::{HiddenArg, KernelArg, ValueKind};
use crate::product::Product;

const WORD: usize = size_of::<u64>();

/// A launch that is being captured.
pub(super) struct Recording {
    writer: Writer,
    buffers: Vec<Target>,
    /// One launch at a time is captured, so that none changes what another is reading.
    _turn: MutexGuard<'static, ()>,
}

/// A buffer in memory.
struct Target {
    name: String,
    /// Keeps the allocation.
    side: Side,
    bytes: usize,
}

impl Recording {
    /// Writes what is known before a launch. What cannot be captured is said on standard error.
    pub(super) fn new(
        folder: &Path,
        function: &Function,
        shape: Shape,
        kernarg: &[u8],
        product: &Product,
    ) -> Option<Self> {
        static TURN: Mutex<()> = Mutex::new(());
        let kernel = &function.kernel().name;
        if shape.is_ragged() {
            eprintln!("hk-sim: {kernel} is not captured: its last workgroup is a partial one");
            return None;
        }
        // A replay is a plain launch, which has no place to meet at.
        let meets = |arg: &KernelArg| arg.value_kind == ValueKind::Hidden(HiddenArg::GridSync);
        if shape.is_cooperative() && function.kernel().args().iter().any(meets) {
            eprintln!("hk-sim: {kernel} is not captured: its workgroups wait for each other");
            return None;
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let (args, buffers) = describe(function, kernarg);
        let description = |target: &Target| Buffer {
            name: target.name.clone(),
            bytes: target.bytes,
            dtype: None,
        };
        let launch = Launch {
            format: FORMAT,
            kernel: kernel.clone(),
            arch: product.arch.name().to_owned(),
            device: format!("sim:{}", product.name),
            grid: shape.grid,
            block: shape.block,
            dynamic_lds_bytes: shape.dynamic_lds,
            kernarg_bytes: function.kernel().explicit_size() as usize,
            args,
            buffers: buffers.iter().map(description).collect(),
        };
        let made = Writer::new(folder, &launch, function.module.object.bytes());
        let made = made.and_then(|writer| {
            save(&writer, &buffers, Moment::Before)?;
            Ok(Self { writer, buffers, _turn: turn })
        });
        made.map_err(|error| eprintln!("hk-sim: {kernel} is not captured: {error}")).ok()
    }

    /// Writes what the launch, which succeeded, left.
    pub(super) fn finish(self) {
        if let Err(error) = save(&self.writer, &self.buffers, Moment::After) {
            eprintln!("hk-sim: the capture of a launch is incomplete: {error}");
        }
    }
}

fn save(writer: &Writer, buffers: &[Target], moment: Moment) -> Result<(), Error> {
    writer.begin(moment)?;
    for target in buffers {
        let mut contents = vec![0u8; target.bytes];
        let from = std::ptr::with_exposed_provenance::<u8>(target.side.address as usize);
        // SAFETY: `Side::new` checked that the allocation has these bytes, and keeps it alive.
        unsafe { contents.as_mut_ptr().copy_from_nonoverlapping(from, target.bytes) };
        writer.save(moment, &target.name, &contents)?;
    }
    Ok(())
}

/// A piece of the argument bytes.
struct Piece {
    name: String,
    offset: usize,
    size: usize,
    is_pointer: bool,
}

/// The pieces that may lead to buffers, and those between them.
fn pieces(function: &Function, kernarg: &[u8]) -> Vec<Piece> {
    let kernel = function.kernel();
    let mut given: Vec<(String, usize, usize, bool)> = kernel
        .explicit_args()
        .enumerate()
        .map(|(index, arg)| {
            // Names become names of files, of which some letters may leave nothing.
            let is_plain = |c: &char| c.is_ascii_alphanumeric() || "_.".contains(*c);
            let name = arg.name.as_deref().unwrap_or_default();
            let mut name: String = name.chars().filter(is_plain).collect();
            if name.trim_matches('.').is_empty() {
                name = format!("arg{index}");
            }
            let is_pointer = arg.value_kind == ValueKind::GlobalBuffer && arg.size as usize == WORD;
            (name, arg.offset as usize, arg.size as usize, is_pointer)
        })
        .collect();
    if kernel.metadata.is_none() {
        given.push(("args".to_owned(), 0, kernel.explicit_size() as usize, false));
    }
    let mut pieces = Vec::new();
    for (name, offset, size, is_pointer) in given {
        if is_pointer {
            pieces.push(Piece { name, offset, size, is_pointer });
            continue;
        }
        let end = offset + size;
        let mut start = offset;
        let words = (offset.next_multiple_of(WORD)..).step_by(WORD);
        for at in words.take_while(|at| at + WORD <= end) {
            if address_at(kernarg, at).and_then(target_of).is_none() {
                continue;
            }
            let inside = |at: usize| format!("{name}.{}", at - offset);
            if start < at {
                let (name, size) = (inside(start), at - start);
                pieces.push(Piece { name, offset: start, size, is_pointer: false });
            }
            pieces.push(Piece { name: inside(at), offset: at, size: WORD, is_pointer: true });
            start = at + WORD;
        }
        if start == offset {
            pieces.push(Piece { name, offset, size, is_pointer: false });
        } else if start < end {
            let name = format!("{name}.{}", start - offset);
            pieces.push(Piece { name, offset: start, size: end - start, is_pointer: false });
        }
    }
    pieces
}

fn address_at(kernarg: &[u8], at: usize) -> Option<u64> {
    let bytes = kernarg.get(at..at + WORD)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// The allocation of the program that an address is in.
fn target_of(address: u64) -> Option<Allocation> {
    let found = memory().find(address)?;
    matches!(found.region.kind, RegionKind::Device | RegionKind::HostPinned).then_some(found)
}

/// The arguments, and the buffers that they lead to.
fn describe(function: &Function, kernarg: &[u8]) -> (Vec<Arg>, Vec<Target>) {
    let (mut args, mut buffers) = (Vec::new(), Vec::<Target>::new());
    let mut names = HashSet::new();
    for Piece { mut name, offset, size, is_pointer } in pieces(function, kernarg) {
        // Kernels may repeat names.
        if !names.insert(name.clone()) {
            name = format!("{name}.at{offset}");
            names.insert(name.clone());
        }
        let address = address_at(kernarg, offset).filter(|_| is_pointer);
        let target = address.and_then(|address| {
            let region = target_of(address)?.region;
            let known = buffers.iter().position(|target| target.side.address == region.base);
            let index = match known {
                Some(index) => index,
                None => {
                    let side = Side::new(region.base, region.len, true).ok()?;
                    buffers.push(Target { name: name.clone(), side, bytes: region.len as usize });
                    buffers.len() - 1
                }
            };
            Some((index, address - region.base))
        });
        let content = match target {
            Some((index, buffer_offset)) => {
                Content::Buffer { buffer: buffers[index].name.clone(), buffer_offset }
            }
            None => Content::value(kernarg.get(offset..offset + size).unwrap_or(&[])),
        };
        let kind = if is_pointer { "pointer" } else { "bytes" }.to_owned();
        let mut noted = function.kernel().pointers.iter().flatten();
        let constant = noted.find(|pointer| is_pointer && pointer.offset as usize == offset);
        let constant = constant.map(|pointer| pointer.is_const);
        args.push(Arg { name, kind, offset, size, constant, content });
    }
    (args, buffers)
}
