//! What a memory instruction accesses and how, as its encoding says.

use crate::isa::{Format, Inst, Op};

/// Where a memory instruction finds its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// LDS at a VGPR.
    Lds,
    /// LDS at `m0` and the lane number.
    LdsByLane,
    /// Global memory.
    Global,
    /// Generic addresses.
    Flat,
    /// Private memory.
    Scratch,
    /// Memory behind a descriptor.
    Buffer,
    /// Scalar memory.
    Scalar,
    /// Scalar memory behind a descriptor.
    ScalarBuffer,
    /// No memory: a permute through the LDS crossbar, or one whose addresses are not followed
    /// (typed buffers, whose element size the descriptor decides, and GWS).
    None,
}

/// What a memory instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    Store,
    Atomic,
    /// Direct-to-LDS load; lanes are this many bytes apart.
    ToLds {
        slot: u32,
    },
}

/// Scope that the encoding of a memory instruction asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Wave,
    Group,
    /// The device or the system.
    Device,
}

/// Counter that a memory instruction increments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// `vmcnt`.
    Vector,
    /// `lgkmcnt`, in order.
    Lds,
    /// `lgkmcnt`, in any order.
    Scalar,
    /// Both, decided by where the addresses point.
    Flat,
}

/// A memory instruction.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) space: Space,
    pub(crate) access: Access,
    pub(crate) queue: Queue,
    /// Bytes per lane and address.
    pub(crate) bytes: u32,
    /// Byte offset of the (first) address.
    pub(crate) offset: i32,
    /// Byte offset of the second address of two-address LDS operations.
    pub(crate) second: Option<i32>,
    /// First row of the data that is stored.
    pub(crate) data: Option<usize>,
    /// Rows of the data at each address.
    pub(crate) data_rows: usize,
    /// First row of the data at the second address.
    pub(crate) second_data: Option<usize>,
    /// An atomic operation that leaves nothing of what was there.
    pub(crate) replaces: bool,
    /// Who is meant to see the access at once.
    pub(crate) scope: Scope,
    /// A transposing LDS read of elements of this many bits.
    pub(crate) transpose: Option<u32>,
    /// A load that is repeated with nothing but tests in between, where code around it is looked at.
    pub(crate) polls: bool,
    /// What it accesses may be a flag in device memory: a word, with a scope or an atomic
    /// operation, but not one that adds floats up.
    pub(crate) flag: bool,
}

impl Memory {
    /// What an instruction accesses, if it is one of memory. Those that only concern caches access
    /// nothing.
    pub(crate) fn of(inst: &Inst) -> Option<Self> {
        if matches!(inst.info.op, Op::buffer_wbl2 | Op::buffer_inv | Op::s_dcache_inv) {
            return None;
        }
        match inst.info.format {
            Format::Ds => ds(inst),
            Format::Global | Format::Flat | Format::Scratch | Format::Mubuf | Format::Mtbuf => {
                vector_memory(inst)
            }
            Format::Smem => smem(inst),
            _ => None,
        }
    }
}

/// Bytes per lane that the mnemonic of a memory instruction says.
fn bytes_of(name: &str) -> u32 {
    const SIZES: [(&str, u32); 14] = [
        ("byte", 1),
        ("short", 2),
        ("dwordx16", 64),
        ("dwordx8", 32),
        ("dwordx4", 16),
        ("dwordx3", 12),
        ("dwordx2", 8),
        ("dword", 4),
        ("b128", 16),
        ("b96", 12),
        ("64", 8),
        ("_x2", 8),
        ("16", 2),
        ("8", 1),
    ];
    SIZES.iter().find(|(word, _)| name.contains(word)).map_or(4, |&(_, bytes)| bytes)
}

fn ds(inst: &Inst) -> Option<Memory> {
    let name = inst.info.base();
    let mut memory = Memory {
        space: Space::Lds,
        access: Access::Load,
        queue: Queue::Lds,
        bytes: 0,
        offset: inst.offset,
        second: None,
        data: inst.src[1].vector_index(),
        data_rows: usize::from(inst.src[1].dwords),
        second_data: None,
        replaces: name.contains("_wrxchg"),
        scope: Scope::Wave,
        transpose: None,
        polls: false,
        flag: false,
    };
    if name == "ds_nop" {
        return None;
    }
    if name.starts_with("ds_gws") || name.ends_with("permute_b32") || name == "ds_swizzle_b32" {
        memory.space = Space::None;
        return Some(memory);
    }
    let pair = name.contains("2st64")
        || name.contains("read2_")
        || name.contains("write2_")
        || name.contains("xchg2_");
    if let Some(bits) = name.split_once("_tr_b").and_then(|(_, bits)| bits.parse().ok()) {
        memory.transpose = Some(bits);
        memory.bytes = 4 * u32::from(inst.dst[0].dwords);
    } else if pair {
        memory.bytes = if name.ends_with("64") { 8 } else { 4 };
        let unit = memory.bytes as i32 * if name.contains("st64") { 64 } else { 1 };
        memory.offset = inst.offset * unit;
        memory.second = Some(i32::from(inst.offset1) * unit);
        memory.second_data = inst.src[2].vector_index();
    } else {
        // The element size stands at the end: `ds_read_u8_d16`, `ds_add_rtn_u64`.
        let tail = name.trim_end_matches("_hi").trim_end_matches("_d16");
        let tail = tail.rsplit('_').next().unwrap_or(tail);
        memory.bytes = match tail {
            "f16" | "bf16" => 4,
            _ => bytes_of(tail),
        };
    }
    if name.contains("addtid") {
        memory.space = Space::LdsByLane;
        memory.data = inst.src[0].vector_index().filter(|_| name.contains("write"));
        memory.data_rows = 1;
    } else if matches!(inst.info.op, Op::ds_append | Op::ds_consume) {
        // One dword for the whole wave, at `m0`.
        memory.space = Space::None;
    }
    memory.access = if name.starts_with("ds_read") {
        Access::Load
    } else if name.starts_with("ds_write") {
        Access::Store
    } else {
        Access::Atomic
    };
    Some(memory)
}

fn vector_memory(inst: &Inst) -> Option<Memory> {
    let name = inst.info.base();
    let typed = name.contains("format");
    let space = match inst.info.format {
        Format::Flat => Space::Flat,
        Format::Scratch => Space::Scratch,
        Format::Global => Space::Global,
        _ if typed => Space::None,
        _ => Space::Buffer,
    };
    let access = if name.contains("atomic") {
        Access::Atomic
    } else if name.contains("store") {
        Access::Store
    } else if inst.mem.lds {
        let slot = if bytes_of(name) > 4 { 16 } else { 4 };
        Access::ToLds { slot }
    } else {
        Access::Load
    };
    let bytes = match (access, name.contains("f64") || name.ends_with("_x2")) {
        (Access::Atomic, true) => 8,
        (Access::Atomic, false) => 4,
        _ => bytes_of(name.trim_end_matches("_hi").trim_end_matches("_d16")),
    };
    Some(Memory {
        space,
        access,
        queue: if space == Space::Flat { Queue::Flat } else { Queue::Vector },
        bytes,
        offset: inst.offset,
        second: None,
        data: inst.src[1].vector_index(),
        data_rows: usize::from(inst.src[1].dwords),
        second_data: None,
        replaces: name.contains("_swap"),
        scope: match (inst.mem.sc1, inst.mem.sc0 && access != Access::Atomic) {
            (true, _) => Scope::Device,
            (false, true) => Scope::Group,
            (false, false) => Scope::Wave,
        },
        transpose: None,
        polls: false,
        flag: false,
    })
}

fn smem(inst: &Inst) -> Option<Memory> {
    let name = inst.info.base();
    let clock = matches!(inst.info.op, Op::s_memtime | Op::s_memrealtime);
    if !clock && !["load", "store", "atomic"].iter().any(|word| name.contains(word)) {
        return None;
    }
    let access = if name.contains("atomic") {
        Access::Atomic
    } else if name.contains("store") {
        Access::Store
    } else {
        Access::Load
    };
    let space = if clock {
        Space::None
    } else if inst.src[0].dwords == 4 {
        Space::ScalarBuffer
    } else {
        Space::Scalar
    };
    let bytes = match access {
        Access::Atomic if name.ends_with("_x2") => 8,
        Access::Atomic => 4,
        _ => bytes_of(name),
    };
    Some(Memory {
        space,
        access,
        queue: Queue::Scalar,
        bytes,
        offset: inst.offset,
        second: None,
        data: None,
        data_rows: 0,
        second_data: None,
        replaces: name.contains("_swap"),
        scope: if inst.mem.glc { Scope::Device } else { Scope::Wave },
        transpose: None,
        polls: false,
        flag: false,
    })
}
