//! What all memory instructions share: lane addresses, bounds, and the transfers themselves.
//!
//! An instruction is executed in two steps. Its [`Space`] turns the operands into one host address
//! per lane and says which lanes may be accessed; a [`Body`] (load, store, atomic, load to LDS)
//! then moves the data. Lanes that must not be accessed point at [`ZEROS`], so that a load needs no
//! mask while it gathers.
//!
//! Several threads execute workgroups on the same memory. Plain accesses move whole aligned dwords
//! or less, which the hosts do not tear; atomics are atomics of the host. A kernel that races is as
//! undefined as on the hardware.

mod atomic;
mod lanes;

use std::marker::PhantomData;
use std::sync::atomic::{Ordering, fence};

pub(super) use atomic::{Atomic, AtomicOp, Rmw, scalar_atomic};
pub(super) use lanes::{Level, Portable};

use hk_types::FaultKind;

use super::simd::SimdLevel;
use super::{Flow, Handler, Lanes, M0, MicroOp, Unsupported, WAVE, Wave};
use crate::isa::{Inst, Operand};
use crate::mem::Mapping;

/// Where the lanes of an instruction are.
pub(super) trait Places {
    /// Pointer of a lane below [`WAVE`].
    fn pointer(&self, lane: usize) -> *mut u8;

    /// Whether the lanes are `bytes` apart in ascending order.
    fn are_contiguous(&self, bytes: u32) -> bool;
}

/// Host address of every lane.
#[repr(C, align(64))]
pub(super) struct Addresses(pub [u64; WAVE]);

impl Places for Addresses {
    #[inline(always)]
    fn pointer(&self, lane: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0[lane] as usize)
    }

    #[inline(always)]
    fn are_contiguous(&self, bytes: u32) -> bool {
        let mut difference = 0;
        for (lane, address) in self.0.iter().enumerate() {
            difference |= address ^ self.0[0].wrapping_add(u64::from(bytes) * lane as u64);
        }
        difference == 0
    }
}

/// An address, and a row of the vector file with what each lane adds to it. The row may be among
/// those that a load writes: a lane is read before it is written.
struct Offsets {
    base: u64,
    row: *const u32,
}

impl Offsets {
    /// Lanes whose offsets are in the first address row of an instruction.
    ///
    /// # Safety
    /// `rows` is the vector file of the wave that executes it, and outlives this.
    #[inline(always)]
    unsafe fn new(base: u64, rows: *const Lanes, op: &MicroOp) -> Self {
        // SAFETY: lowering checked the row.
        Self { base, row: unsafe { rows.add(usize::from(op.src[0])) }.cast() }
    }
}

impl Places for Offsets {
    #[inline(always)]
    fn pointer(&self, lane: usize) -> *mut u8 {
        debug_assert!(lane < WAVE);
        // SAFETY: `new` promises a row, which has 64 words.
        let offset = unsafe { *self.row.add(lane) };
        std::ptr::with_exposed_provenance_mut(self.base.wrapping_add(offset.into()) as usize)
    }

    #[inline(always)]
    fn are_contiguous(&self, bytes: u32) -> bool {
        // SAFETY: as above; nothing is written meanwhile.
        let row = unsafe { &*self.row.cast::<Lanes>() };
        let mut difference = 0;
        for (lane, offset) in row.iter().enumerate() {
            difference |= offset ^ row[0].wrapping_add(bytes * lane as u32);
        }
        difference == 0
    }
}

/// What lanes that must not be accessed read.
static ZEROS: u128 = 0;

impl Addresses {
    /// All lanes at [`ZEROS`].
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([Self::nowhere(); WAVE])
    }

    /// Address of [`ZEROS`].
    #[inline(always)]
    pub(super) fn nowhere() -> u64 {
        (&raw const ZEROS).expose_provenance() as u64
    }

    /// Sets the active lanes to `base` plus their offset and says whether all these offsets are at
    /// most `limit`, which may be negative.
    #[inline(always)]
    pub(super) fn set_offsets(
        &mut self,
        base: u64,
        offsets: &Lanes,
        limit: i64,
        exec: u64,
    ) -> bool {
        // Negative as soon as one distance to the limit is.
        let mut signs = 0;
        if exec == u64::MAX {
            for (address, &offset) in self.0.iter_mut().zip(offsets) {
                signs |= limit - i64::from(offset);
                *address = base.wrapping_add(offset.into());
            }
        } else {
            let nowhere = Self::nowhere();
            for (lane, (address, &offset)) in self.0.iter_mut().zip(offsets).enumerate() {
                let active = spread(exec, lane);
                signs |= (limit - i64::from(offset)) & active.cast_signed();
                *address = base.wrapping_add(offset.into()) & active | nowhere & !active;
            }
        }
        signs >= 0
    }
}

/// Direction of an access, for the class of its fault.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    fn fault(self) -> (FaultKind, &'static str) {
        match self {
            Self::Read => (FaultKind::ReadViolation, "read"),
            Self::Write => (FaultKind::WriteViolation, "write"),
        }
    }
}

/// Lanes whose addresses a [`Space`] has checked.
#[derive(Clone, Copy)]
pub(super) struct Hits {
    /// Lanes that may access their whole element.
    pub whole: u64,
    /// Lanes that may access each dword of the element, those of `whole` included.
    pub parts: [u64; 4],
}

impl Hits {
    /// Lanes that are entirely inside; all others are entirely outside.
    #[inline(always)]
    pub(super) fn all_or_nothing(whole: u64) -> Self {
        Self { whole, parts: [whole; 4] }
    }
}

/// Where an instruction's addresses come from and what they reach.
pub(super) trait Space: 'static {
    /// Only one thread at a time reaches this memory, so atomics need not be host atomics.
    const LOCAL: bool;

    /// Writes the host address of each active lane that may be accessed into `at` (the others keep
    /// [`ZEROS`]). Lanes out of range are left out where the hardware ignores them; elsewhere they
    /// end the launch with a fault.
    fn locate(
        wave: &mut Wave<'_>,
        op: &MicroOp,
        bytes: u32,
        access: Access,
        at: &mut Addresses,
    ) -> Result<Hits, Flow>;

    /// The host address to which the lanes add the row `src[0]`, if all of them are active and one
    /// look shows that all may be accessed; otherwise [`Space::locate`] has to tell.
    #[inline(always)]
    fn locate_all(_wave: &mut Wave<'_>, _op: &MicroOp, _bytes: u32) -> Option<u64> {
        None
    }
}

/// A handler that is compiled once per vector level.
pub(super) trait Body: 'static {
    /// Executes the instruction; must be inlined into its callers.
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow;
}

/// Handler of a body for a vector level.
pub(super) fn handler<B: Body>(level: SimdLevel) -> Handler {
    match level {
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx512 => |wave, op| {
            // SAFETY: a program is only lowered for a level that the host has.
            unsafe { lanes::with_avx512::<B>(wave, op) }
        },
        #[cfg(target_arch = "x86_64")]
        SimdLevel::Avx2 => |wave, op| {
            // SAFETY: as above.
            unsafe { lanes::with_avx2::<B>(wave, op) }
        },
        _ => B::run::<Portable>,
    }
}

/// Bit of [`MicroOp::flags`] of memory instructions: device scope or wider.
pub(super) const FENCE: u32 = 1 << 31;

/// Orders the accesses of this thread before and after the instruction against other threads if
/// its scope asks for it. Hosts with strong ordering need it as well: a store must not pass a
/// later load.
#[inline(always)]
pub(super) fn order(op: &MicroOp) {
    if op.flags & FENCE != 0 {
        fence(Ordering::SeqCst);
    }
}

/// Operation with the fields that all vector memory instructions share.
///
/// `src[0]` is the row of the address, `src[1]` that of the data, `dst` that of the result and
/// `imm` the byte offset.
pub(super) fn vector_op(run: Handler, inst: &Inst) -> MicroOp {
    let mut micro = MicroOp::new(run, inst);
    micro.dst = row(inst.dst[0]);
    micro.src[0] = row(inst.src[0]);
    micro.src[1] = row(inst.src[1]);
    micro.imm = inst.offset as u32;
    if inst.mem.sc1 {
        micro.flags |= FENCE;
    }
    micro
}

/// Lowers an atomic operation on a space, or a transfer between it and registers or LDS.
pub(super) fn lower_access<S: Space>(
    inst: &Inst,
    level: SimdLevel,
) -> Result<MicroOp, Unsupported> {
    let opcode = inst.info.opcode;
    let Some(atomic) = Atomic::of_vector_memory(opcode) else {
        let (run, flags) = transfer::<S>(opcode, inst.mem.lds, level)
            .ok_or(Unsupported::Operation("no such access to memory"))?;
        let mut micro = vector_op(run, inst);
        micro.flags |= flags;
        return Ok(micro);
    };
    let mut micro = vector_op(handler::<AtomicOp<S>>(level), inst);
    micro.flags |= atomic.flags(inst.dst[0].is_some());
    if atomic.takes_two() {
        // The new value is the low part of the data, the comparison the high one.
        micro.src[2] = micro.src[1];
        micro.src[1] += if atomic.wide { 2 } else { 1 };
    }
    Ok(micro)
}

/// Row of a vector operand, 0 if it is absent.
pub(super) fn row(operand: Operand) -> u16 {
    operand.vector_index().map_or(0, |row| row as u16)
}

/// Lanes of a mask, ascending.
#[inline(always)]
pub(super) fn each(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}

/// All bits if the lane is in the mask, else none.
#[inline(always)]
pub(super) fn spread(mask: u64, lane: usize) -> u64 {
    0u64.wrapping_sub(mask >> lane & 1)
}

/// Writes the lanes of `mask` of consecutive rows.
#[inline(always)]
pub(super) fn write_rows(wave: &mut Wave<'_>, first: u16, rows: &[Lanes], mask: u64) {
    for (index, row) in rows.iter().enumerate() {
        let out = wave.row_mut(usize::from(first) + index);
        if mask == u64::MAX {
            *out = *row;
            continue;
        }
        for half in 0..2 {
            let bits = (mask >> (32 * half)) as u32;
            for bit in 0..32 {
                let keep = 0u32.wrapping_sub(bits >> bit & 1);
                let lane = 32 * half + bit;
                out[lane] = row[lane] & keep | out[lane] & !keep;
            }
        }
    }
}

/// Checks global addresses: makes those of inactive lanes harmless and raises the fault of the
/// first active lane that no region covers.
#[inline(always)]
pub(super) fn check_regions(
    wave: &mut Wave<'_>,
    at: &mut Addresses,
    mask: u64,
    bytes: u32,
    access: Access,
) -> Result<(), Flow> {
    let first = at.0[mask.trailing_zeros() as usize % WAVE];
    let (base, limit) = window(wave.env.regions.get(wave.last_region), bytes);
    if first.wrapping_sub(base) > limit
        && let Some(index) = region_of(wave.env.regions, first, bytes)
    {
        wave.last_region = index;
    }
    let (base, limit) = window(wave.env.regions.get(wave.last_region), bytes);
    // A lane is inside exactly if neither its distance from the first address nor its distance to
    // the last one is negative; the signs of all lanes are collected.
    let mut signs = 0;
    if mask == u64::MAX {
        for address in &at.0 {
            let distance = address.wrapping_sub(base);
            signs |= distance | limit.wrapping_sub(distance);
        }
    } else {
        let nowhere = Addresses::nowhere();
        for (lane, address) in at.0.iter_mut().enumerate() {
            let active = spread(mask, lane);
            let distance = address.wrapping_sub(base);
            signs |= (distance | limit.wrapping_sub(distance)) & active;
            *address = *address & active | nowhere & !active;
        }
    }
    if signs >> 63 == 0 { Ok(()) } else { search_regions(wave, at, mask, bytes, access) }
}

/// First address of a region and distance from it to the last start of an access of `bytes`; a
/// window without addresses if there is none.
#[inline(always)]
fn window(region: Option<&Mapping>, bytes: u32) -> (u64, u64) {
    const NONE: (u64, u64) = (0, u64::MAX);
    region.map_or(NONE, |region| {
        region.mapped.checked_sub(u64::from(bytes)).map_or(NONE, |limit| (region.base, limit))
    })
}

/// The least and the greatest value of the lanes of a row.
#[inline(always)]
pub(super) fn extremes(row: &Lanes) -> (u32, u32) {
    row.iter().fold((u32::MAX, 0), |(least, greatest), &at| (least.min(at), greatest.max(at)))
}

/// `base` if one region covers `bytes` at all of its sums with the lanes of a row.
#[inline(always)]
pub(super) fn base_in_region(wave: &mut Wave<'_>, base: u64, row: u16, bytes: u32) -> Option<u64> {
    let (least, greatest) = extremes(wave.row(usize::from(row)));
    let start = base.wrapping_add(least.into());
    let end = start.wrapping_add(u64::from(greatest - least));
    let regions = wave.env.regions;
    let covers = |index| {
        let (base, limit) = window(regions.get(index), bytes);
        let farthest = start.wrapping_sub(base).max(end.wrapping_sub(base));
        farthest <= limit && limit >> 63 == 0
    };
    if !covers(wave.last_region) {
        wave.last_region = region_of(regions, start, bytes).filter(|index| covers(*index))?;
    }
    Some(base)
}

/// Region that covers `bytes` bytes from an address.
pub(super) fn region_of(regions: &[Mapping], address: u64, bytes: u32) -> Option<usize> {
    let index = regions.partition_point(|region| region.base <= address).checked_sub(1)?;
    let region = &regions[index];
    let (base, limit) = window(Some(region), bytes);
    (limit >> 63 == 0 && address - base <= limit).then_some(index)
}

/// [`check_regions`] lane by lane.
#[cold]
#[inline(never)]
fn search_regions(
    wave: &mut Wave<'_>,
    at: &Addresses,
    mask: u64,
    bytes: u32,
    access: Access,
) -> Result<(), Flow> {
    for lane in each(mask) {
        match region_of(wave.env.regions, at.0[lane], bytes) {
            Some(index) => wave.last_region = index,
            None => return Err(violation(wave, Some(lane), at.0[lane], bytes, access)),
        }
    }
    Ok(())
}

/// Host pointer of a scalar access, checked.
pub(super) fn scalar_pointer(
    wave: &mut Wave<'_>,
    address: u64,
    bytes: u32,
    access: Access,
) -> Result<*mut u8, Flow> {
    let (base, limit) = window(wave.env.regions.get(wave.last_region), bytes);
    let distance = address.wrapping_sub(base);
    if (distance | limit.wrapping_sub(distance)) >> 63 != 0 {
        match region_of(wave.env.regions, address, bytes) {
            Some(index) => wave.last_region = index,
            None => return Err(violation(wave, None, address, bytes, access)),
        }
    }
    Ok(std::ptr::with_exposed_provenance_mut(address as usize))
}

/// Raises the fault of an address that nothing covers.
#[cold]
pub(super) fn violation(
    wave: &mut Wave<'_>,
    lane: Option<usize>,
    address: u64,
    bytes: u32,
    access: Access,
) -> Flow {
    let (kind, verb) = access.fault();
    let detail = format!("{verb} of {bytes} bytes at {address:#x}, which no allocation covers");
    wave.raise(kind, detail, lane.map(|lane| lane as u32), Some(address))
}

/// Loads `N` dwords per lane.
pub(super) struct Load<S, const N: usize>(PhantomData<S>);

impl<S: Space, const N: usize> Body for Load<S, N> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let exec = wave.exec();
        if exec == 0 {
            return Flow::Next;
        }
        if let Some(base) = S::locate_all(wave, op, 4 * N as u32) {
            order(op);
            let rows = wave.rows();
            // SAFETY: `locate_all` checked `4 * N` bytes in every lane, and lowering that the rows
            // of the result are in the file.
            unsafe {
                L::gather::<N>(&Offsets::new(base, rows, op), rows.add(usize::from(op.dst)));
            }
            order(op);
            return Flow::Next;
        }
        let mut at = Addresses::new();
        order(op);
        let hits = match S::locate(wave, op, 4 * N as u32, Access::Read, &mut at) {
            Ok(hits) => hits,
            Err(flow) => return flow,
        };
        if hits.whole == u64::MAX {
            // SAFETY: `locate` checked `4 * N` bytes in every lane, and lowering that the rows of
            // the result are in the file.
            unsafe { L::gather::<N>(&at, wave.rows().add(usize::from(op.dst))) };
        } else {
            load_some::<L, N>(wave, op.dst, &at, exec, &hits);
        }
        order(op);
        Flow::Next
    }
}

/// Loads where some lanes are inactive or out of range.
#[inline(always)]
pub(super) fn load_some<L: Level, const N: usize>(
    wave: &mut Wave<'_>,
    dst: u16,
    at: &Addresses,
    exec: u64,
    hits: &Hits,
) {
    let mut rows = [[0; WAVE]; N];
    if hits.whole == exec {
        // SAFETY: `locate` checked the lanes of `whole`; the others point at zeros.
        unsafe { L::gather::<N>(at, rows.as_mut_ptr()) };
    } else {
        for (index, row) in rows.iter_mut().enumerate() {
            for lane in each(hits.parts[index]) {
                // SAFETY: `locate` checked this dword of this lane.
                row[lane] = unsafe { at.pointer(lane).cast::<u32>().add(index).read_unaligned() };
            }
        }
    }
    write_rows(wave, dst, &rows, exec);
}

/// Stores `N` dwords per lane.
pub(super) struct Store<S, const N: usize>(PhantomData<S>);

impl<S: Space, const N: usize> Body for Store<S, N> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        if wave.exec() == 0 {
            return Flow::Next;
        }
        if let Some(base) = S::locate_all(wave, op, 4 * N as u32) {
            order(op);
            let rows = wave.rows();
            // SAFETY: as for loads.
            unsafe {
                L::scatter::<N>(&Offsets::new(base, rows, op), rows.add(usize::from(op.src[1])));
            }
            order(op);
            return Flow::Next;
        }
        let mut at = Addresses::new();
        order(op);
        let hits = match S::locate(wave, op, 4 * N as u32, Access::Write, &mut at) {
            Ok(hits) => hits,
            Err(flow) => return flow,
        };
        if hits.whole == u64::MAX {
            // SAFETY: as for loads.
            unsafe { L::scatter::<N>(&at, wave.rows().add(usize::from(op.src[1]))) };
        } else {
            store_some::<N>(wave, op.src[1], &at, &hits);
        }
        order(op);
        Flow::Next
    }
}

/// Stores where some lanes are inactive or out of range.
#[inline(never)]
pub(super) fn store_some<const N: usize>(wave: &Wave<'_>, src: u16, at: &Addresses, hits: &Hits) {
    if hits.whole == wave.exec() {
        for lane in each(hits.whole) {
            let value: [u32; N] =
                std::array::from_fn(|index| wave.row(usize::from(src) + index)[lane]);
            // SAFETY: `locate` checked the lanes of `whole`.
            unsafe { at.pointer(lane).cast::<[u32; N]>().write_unaligned(value) };
        }
        return;
    }
    for lane in each(hits.parts[..N].iter().fold(0, |any, part| any | part)) {
        for index in 0..N {
            if hits.parts[index] >> lane & 1 != 0 {
                let value = wave.row(usize::from(src) + index)[lane];
                // SAFETY: `locate` checked this dword of this lane.
                unsafe { at.pointer(lane).cast::<u32>().add(index).write_unaligned(value) };
            }
        }
    }
}

/// Element of one or two bytes and the part of the register that holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Narrow {
    /// Bytes in memory.
    pub bytes: u8,
    /// A load extends the sign.
    pub signed: bool,
    /// Part of the register.
    pub half: Half,
}

/// Part of a register that a narrow element takes.
///
/// Loads into one half zero the other: the chips run with ECC, and "when ECC is enabled 16-bit
/// memory loads write the full 32-bit VGPR. Unused bits are set to zero." (CDNA4 ISA, 9.1.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    /// The whole register.
    Both,
    /// Bits 0..16.
    Low,
    /// Bits 16..32.
    High,
}

const TWO_BYTES: u32 = 1;
const SIGNED: u32 = 1 << 1;
const LOW: u32 = 1 << 2;
const HIGH: u32 = 1 << 3;

impl Narrow {
    pub(super) const fn new(bytes: u8, signed: bool, half: Half) -> Self {
        Self { bytes, signed, half }
    }

    /// Bits of [`MicroOp::flags`].
    pub(super) fn flags(self) -> u32 {
        let half = match self.half {
            Half::Both => 0,
            Half::Low => LOW,
            Half::High => HIGH,
        };
        half | if self.bytes == 2 { TWO_BYTES } else { 0 } | if self.signed { SIGNED } else { 0 }
    }
}

/// Reads a `T` of every lane.
///
/// # Safety
/// Every lane points at a readable `T`.
#[inline(always)]
unsafe fn gather_small<T: Copy + Into<u32>>(at: &Addresses) -> Lanes {
    if at.are_contiguous(size_of::<T>() as u32) {
        // SAFETY: the lanes together are one readable array.
        let values = unsafe { at.pointer(0).cast::<[T; WAVE]>().read_unaligned() };
        return values.map(Into::into);
    }
    // SAFETY: the caller's promise.
    std::array::from_fn(|lane| unsafe { at.pointer(lane).cast::<T>().read_unaligned() }.into())
}

/// Reads a narrow element of every lane and extends it as `flags` say.
///
/// # Safety
/// Every lane points at as many readable bytes.
#[inline(always)]
unsafe fn gather_narrow(at: &Addresses, flags: u32) -> Lanes {
    let (mut row, bits) = if flags & TWO_BYTES != 0 {
        // SAFETY: the caller's promise.
        (unsafe { gather_small::<u16>(at) }, 16)
    } else {
        // SAFETY: the caller's promise.
        (unsafe { gather_small::<u8>(at) }, 8)
    };
    if flags & SIGNED != 0 {
        for value in &mut row {
            *value = ((*value << (32 - bits)) as i32 >> (32 - bits)) as u32;
        }
    }
    if flags & LOW != 0 {
        for value in &mut row {
            *value &= 0xffff;
        }
    } else if flags & HIGH != 0 {
        for value in &mut row {
            *value <<= 16;
        }
    }
    row
}

/// Bytes of the element in [`MicroOp::flags`].
#[inline(always)]
fn narrow_bytes(op: &MicroOp) -> u32 {
    1 + (op.flags & TWO_BYTES)
}

/// Loads a [`Narrow`] element.
pub(super) struct LoadNarrow<S>(PhantomData<S>);

impl<S: Space> Body for LoadNarrow<S> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let exec = wave.exec();
        if exec == 0 {
            return Flow::Next;
        }
        let mut at = Addresses::new();
        order(op);
        if let Err(flow) = S::locate(wave, op, narrow_bytes(op), Access::Read, &mut at) {
            return flow;
        }
        // SAFETY: `locate` checked the lanes in range; the others point at zeros.
        let row = unsafe { gather_narrow(&at, op.flags) };
        write_rows(wave, op.dst, &[row], exec);
        order(op);
        Flow::Next
    }
}

/// Writes a `T` of every lane of `mask`.
///
/// # Safety
/// These lanes point at a writable `T`.
#[inline(always)]
unsafe fn scatter_small<T: Copy>(at: &Addresses, row: &[T; WAVE], mask: u64) {
    if mask == u64::MAX && at.are_contiguous(size_of::<T>() as u32) {
        // SAFETY: the lanes together are one writable array.
        return unsafe { at.pointer(0).cast::<[T; WAVE]>().write_unaligned(*row) };
    }
    for lane in each(mask) {
        // SAFETY: the caller's promise.
        unsafe { at.pointer(lane).cast::<T>().write_unaligned(row[lane]) };
    }
}

/// Stores a [`Narrow`] element.
pub(super) struct StoreNarrow<S>(PhantomData<S>);

impl<S: Space> Body for StoreNarrow<S> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        if wave.exec() == 0 {
            return Flow::Next;
        }
        let mut at = Addresses::new();
        order(op);
        let hits = match S::locate(wave, op, narrow_bytes(op), Access::Write, &mut at) {
            Ok(hits) => hits,
            Err(flow) => return flow,
        };
        let shift = if op.flags & HIGH != 0 { 16 } else { 0 };
        let row = wave.row(usize::from(op.src[1])).map(|value| value >> shift);
        // SAFETY: `locate` checked as many bytes in the lanes of `whole`.
        unsafe {
            if op.flags & TWO_BYTES != 0 {
                scatter_small(&at, &row.map(|value| value as u16), hits.whole);
            } else {
                scatter_small(&at, &row.map(|value| value as u8), hits.whole);
            }
        }
        order(op);
        Flow::Next
    }
}

/// Loads `N` dwords per lane into LDS, or for `N == 0` a [`Narrow`] element extended to a dword.
///
/// Each lane has its slot behind `m0` plus the instruction's offset, whether other lanes are active
/// or not. The slot of three dwords is as wide as that of four, the fourth stays as it is (CDNA4
/// ISA, 9.1.9). Lanes out of range of a buffer write zeros, lanes out of range of LDS nothing.
pub(super) struct LoadToLds<S, const N: usize>(PhantomData<S>);

impl<S: Space, const N: usize> Body for LoadToLds<S, N> {
    #[inline(always)]
    fn run<L: Level>(wave: &mut Wave<'_>, op: &MicroOp) -> Flow {
        let exec = wave.exec();
        if exec == 0 {
            return Flow::Next;
        }
        let slot = if N > 1 { 16 } else { 4 };
        let start = lds_slots(wave, op);
        let inside = start.checked_add(64 * slot).is_some_and(|end| end <= wave.lds_len.into());
        let fills = inside && start.is_multiple_of(4) && matches!(N, 1 | 4);
        let lds = wave.lds;
        let bytes = if N == 0 { narrow_bytes(op) } else { 4 * N as u32 };
        if fills && let Some(base) = S::locate_all(wave, op, bytes) {
            order(op);
            // SAFETY: `locate_all` checked `4 * N` bytes in every lane; all slots are inside LDS.
            unsafe {
                let at = Offsets::new(base, wave.rows(), op);
                fill_slots::<L, N>(&at, lds.add(start as usize));
            }
            order(op);
            return Flow::Next;
        }
        let mut at = Addresses::new();
        order(op);
        let hits = match S::locate(wave, op, bytes, Access::Read, &mut at) {
            Ok(hits) => hits,
            Err(flow) => return flow,
        };
        if fills && hits.whole == u64::MAX {
            // SAFETY: `locate` checked `4 * N` bytes in every lane; all slots are inside LDS.
            unsafe { fill_slots::<L, N>(&at, lds.add(start as usize)) };
        } else if N == 0 {
            // SAFETY: `locate` checked the lanes in range; the others point at zeros.
            let row = unsafe { gather_narrow(&at, op.flags) };
            write_slots(wave, op, &row, exec);
        } else {
            for lane in each(exec) {
                let offset = start.wrapping_add(slot * lane as u64);
                let len = u64::from(wave.lds_len);
                if offset >= len || offset + 4 * N as u64 > len {
                    continue;
                }
                for index in 0..N {
                    let hit = hits.parts[index] >> lane & 1 != 0;
                    // SAFETY: `locate` checked this dword of this lane, and the slot is inside LDS.
                    unsafe {
                        let from = at.pointer(lane).cast::<u32>().add(index);
                        let value = if hit { from.read_unaligned() } else { 0 };
                        lds.add(offset as usize + 4 * index).cast::<u32>().write_unaligned(value);
                    }
                }
            }
        }
        order(op);
        Flow::Next
    }
}

/// Copies one or four dwords per lane to slots without gaps.
///
/// # Safety
/// `4 * N` bytes are readable in every lane, and 64 times as many are writable at `to`, which is a
/// multiple of 4.
#[inline(always)]
unsafe fn fill_slots<L: Level, const N: usize>(at: &impl Places, to: *mut u8) {
    if N == 1 {
        // SAFETY: the caller's promise; the slots are a row.
        return unsafe { L::gather::<1>(at, to.cast()) };
    }
    for lane in 0..WAVE {
        // SAFETY: the caller's promise.
        unsafe {
            let value = at.pointer(lane).cast::<[u32; 4]>().read_unaligned();
            to.cast::<[u32; 4]>().add(lane).write_unaligned(value);
        }
    }
}

/// LDS offset of the first lane's slot of a load to LDS; may be negative, which wraps.
#[inline(always)]
fn lds_slots(wave: &Wave<'_>, op: &MicroOp) -> u64 {
    u64::from(wave.sgpr[M0] & 0x3_fffc).wrapping_add_signed(i64::from(op.imm as i32))
}

/// Writes a dword of each lane of `mask` to its LDS slot.
pub(super) fn write_slots(wave: &Wave<'_>, op: &MicroOp, values: &Lanes, mask: u64) {
    let start = lds_slots(wave, op);
    for lane in each(mask) {
        let offset = start.wrapping_add(4 * lane as u64);
        if offset < wave.lds_len.into() && offset + 4 <= wave.lds_len.into() {
            // SAFETY: the slot is inside LDS.
            unsafe { wave.lds.add(offset as usize).cast::<u32>().write_unaligned(values[lane]) };
        }
    }
}

/// Handler and flags of the transfer with this opcode, which FLAT, GLOBAL, SCRATCH and MUBUF
/// number alike.
fn transfer<S: Space>(opcode: u16, to_lds: bool, level: SimdLevel) -> Option<(Handler, u32)> {
    let wide = |run| Some((run, 0));
    if let Some(narrow) = narrow(opcode) {
        let run = match opcode {
            24..=27 => handler::<StoreNarrow<S>>(level),
            _ if to_lds => handler::<LoadToLds<S, 0>>(level),
            _ => handler::<LoadNarrow<S>>(level),
        };
        return Some((run, narrow.flags()));
    }
    match (opcode, to_lds) {
        (20 | 42, true) => wide(handler::<LoadToLds<S, 1>>(level)),
        (22 | 126, true) => wide(handler::<LoadToLds<S, 3>>(level)),
        (23 | 125, true) => wide(handler::<LoadToLds<S, 4>>(level)),
        (20, false) => wide(handler::<Load<S, 1>>(level)),
        (21, false) => wide(handler::<Load<S, 2>>(level)),
        (22, false) => wide(handler::<Load<S, 3>>(level)),
        (23, false) => wide(handler::<Load<S, 4>>(level)),
        (28, false) => wide(handler::<Store<S, 1>>(level)),
        (29, false) => wide(handler::<Store<S, 2>>(level)),
        (30, false) => wide(handler::<Store<S, 3>>(level)),
        (31, false) => wide(handler::<Store<S, 4>>(level)),
        _ => None,
    }
}

/// Element of the opcodes that transfer less than a dword.
fn narrow(opcode: u16) -> Option<Narrow> {
    let (bytes, signed, half) = match opcode {
        16 | 38 => (1, false, Half::Both),
        17 | 39 => (1, true, Half::Both),
        18 | 40 => (2, false, Half::Both),
        19 | 41 => (2, true, Half::Both),
        24 => (1, false, Half::Both),
        25 => (1, false, Half::High),
        26 => (2, false, Half::Both),
        27 => (2, false, Half::High),
        32 => (1, false, Half::Low),
        33 => (1, false, Half::High),
        34 => (1, true, Half::Low),
        35 => (1, true, Half::High),
        36 => (2, false, Half::Low),
        37 => (2, false, Half::High),
        _ => return None,
    };
    Some(Narrow::new(bytes, signed, half))
}
