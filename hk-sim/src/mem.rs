//! Device memory.
//!
//! A device address is the host address of a real allocation, so the execution engine reads and
//! writes memory directly; it checks each access against the regions of a [`Snapshot`] taken
//! at launch. A snapshot also keeps the allocations alive, so freeing memory under a running
//! kernel cannot harm the host process.

mod mixer;
mod written;

use std::alloc::{self, Layout};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use mixer::Mixer;
pub use written::Written;
pub(crate) use written::masks;

/// Granularity of device memory mappings.
pub const PAGE: u64 = 4096;

/// Of an address, the lowest bit of the upper half.
const HIGH: u64 = 1 << 32;

/// What a region is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegionKind {
    /// Memory of a device.
    Device,
    /// Host memory that devices can access.
    HostPinned,
    /// Loaded code object: code, constants and global variables.
    Code,
    /// Kernel arguments and packets that the runtime writes.
    Runtime,
}

impl RegionKind {
    /// Whether the memory is of the device, which has only so much.
    fn is_charged(self) -> bool {
        self != Self::HostPinned
    }
}

/// Range of device-visible memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address, which is also the host address of the bytes.
    pub base: u64,
    /// Bytes that the program asked for.
    pub len: u64,
    /// Bytes that are mapped: `len` rounded up to the page, as on the hardware.
    pub mapped: u64,
    /// What the range is, for reports.
    pub name: String,
}

/// Names the region nearest to an address.
pub(crate) fn nearest(regions: &[Mapping], address: u64) -> Option<String> {
    let distance = |base: u64, end: u64| {
        if address < base { base - address } else { address.saturating_sub(end - 1) }
    };
    let region = regions
        .iter()
        .min_by_key(|region| distance(region.base, region.base + region.len.max(1)))?;
    let (base, end) = (region.base, region.base + region.len);
    let place = if address < base {
        format!("{} bytes before", base - address)
    } else if address >= end {
        format!("{} bytes past the end of", address - end)
    } else {
        format!("{} bytes into", address - base)
    };
    Some(format!("{place} {} [{base:#x}, {end:#x})", region.name))
}

/// A range of addresses that kernels may access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// First address.
    pub base: u64,
    /// Bytes that were asked for.
    pub len: u64,
    /// Bytes that exist: `len` rounded up to whole pages. Hardware does not notice an access
    /// between `len` and `mapped`; the sanitizer does.
    pub mapped: u64,
    /// Use of the memory.
    pub kind: RegionKind,
    /// Number of the allocation in the process, unique even if an address is used again.
    pub serial: u64,
}

impl Region {
    /// The region as kernels see it.
    pub(crate) fn mapping(&self) -> Mapping {
        let Self { base, len, mapped, kind, serial } = *self;
        let name = match kind {
            RegionKind::Device => format!("device allocation {serial}"),
            RegionKind::HostPinned => format!("host allocation {serial}"),
            RegionKind::Code => format!("code object {serial}"),
            RegionKind::Runtime => "kernel arguments".to_owned(),
        };
        Mapping { base, len, mapped, name }
    }

    /// Addresses that exist.
    pub fn range(&self) -> Range<u64> {
        self.base..self.base + self.mapped
    }
}

/// What is known of an allocation beyond its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Addresses.
    pub region: Region,
    /// Device that owns it; `None` for host memory registered with no device.
    pub device: usize,
    /// Allocation or registration flags that the caller passed.
    pub flags: u32,
    /// Whether it is managed memory.
    pub managed: bool,
    /// Whether the caller's memory was registered rather than allocated here.
    pub registered: bool,
}

/// What to allocate.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Bytes, at least one.
    pub len: u64,
    /// Use.
    pub kind: RegionKind,
    /// Device that the memory is charged to (host memory is charged to none, but remembers it).
    pub device: usize,
    /// Flags to remember.
    pub flags: u32,
    /// Whether it is managed memory.
    pub managed: bool,
}

/// Why memory could not be allocated, registered or freed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The device, or the host that backs it, has no room.
    #[error("out of memory: {requested} bytes asked for, {free} free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes that the device has left.
        free: u64,
    },
    /// The range overlaps memory that is registered or allocated already.
    #[error("memory at {0:#x} is registered already")]
    AlreadyRegistered(u64),
    /// No allocation starts at the address.
    #[error("{0:#x} is not the start of an allocation")]
    NotFound(u64),
    /// The range wraps around or is empty.
    #[error("invalid range: {len} bytes at {base:#x}")]
    InvalidRange {
        /// First address.
        base: u64,
        /// Bytes.
        len: u64,
    },
}

hk_types::debug_is_message!(MemoryError);

/// Zeroed host memory of one allocation.
struct Backing {
    start: NonNull<u8>,
    layout: Layout,
    /// First page-aligned address inside.
    base: u64,
}

// SAFETY: the memory is plain bytes that no Rust reference points to; who accesses it when is
// decided by the program that runs on the device, as on hardware.
unsafe impl Send for Backing {}
// SAFETY: as above; the methods only read the fields.
unsafe impl Sync for Backing {}

impl Backing {
    /// Zeroed memory of `len` bytes, aligned to a page; the host commits it when it is touched.
    fn new(len: u64) -> Option<Self> {
        Self::placed(len, PAGE, |start| start.next_multiple_of(PAGE))
    }

    /// As [`new`](Self::new), with a multiple of 4 GiB at the page in the middle, where sums of
    /// addresses carry into the upper half. Where hardware has these multiples is a matter of luck;
    /// here a kernel that loses a carry is to fail: nothing else is 4 GiB before or behind.
    fn with_carry(len: u64) -> Option<Self> {
        let before = len / 2 / PAGE * PAGE;
        Self::placed(len, 2 * HIGH, |start| (start + HIGH + before).next_multiple_of(HIGH) - before)
    }

    /// Zeroed memory of `len` bytes at the address that `place` finds in memory that starts at the
    /// one it is given and has `slack` bytes more.
    fn placed(len: u64, slack: u64, place: impl FnOnce(u64) -> u64) -> Option<Self> {
        // A larger alignment in the layout would make the allocator write all the zeros itself,
        // so the alignment is made by hand inside a fresh, lazily zeroed mapping.
        let size = usize::try_from(len.checked_add(slack)?).ok()?;
        let layout = Layout::from_size_align(size, 16).ok()?;
        // SAFETY: the layout has a size of at least a page.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) })?;
        let base = place(start.as_ptr().expose_provenance() as u64);
        Some(Self { start, layout, base })
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        // SAFETY: `start` came from the allocator with this layout and is freed once.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

struct Entry {
    allocation: Allocation,
    /// `None` for registered memory, which belongs to the caller.
    backing: Option<Arc<Backing>>,
    /// Which bytes were ever written, where somebody wants to know.
    written: Option<Arc<Written>>,
}

/// The place of an allocation that comes and goes, always at the same address.
pub struct Reserved {
    allocation: Allocation,
    backing: Arc<Backing>,
}

impl Reserved {
    /// The allocation, whether or not it is there.
    pub fn allocation(&self) -> Allocation {
        self.allocation
    }

    /// Keeps the place.
    pub fn pin(&self) -> Pin {
        Pin(Some(Arc::clone(&self.backing)))
    }
}

/// Freed bytes that [`Memory::watch`] keeps from being used again.
const QUARANTINE: u64 = 256 << 20;

/// The regions that kernels of one device may access, kept alive.
#[derive(Clone)]
pub struct Snapshot {
    regions: Arc<[Mapping]>,
    allocations: Arc<[Region]>,
    freed: Arc<[Mapping]>,
    written: Arc<[(u64, Arc<Written>)]>,
    _backings: Arc<[Arc<Backing>]>,
}

impl Snapshot {
    /// Regions in ascending order of address; they do not overlap.
    pub fn regions(&self) -> &Arc<[Mapping]> {
        &self.regions
    }

    /// The same regions with what they are used for.
    pub(crate) fn allocations(&self) -> &[Region] {
        &self.allocations
    }

    /// Regions that were freed and not used again since; none unless [`Memory::watch`] is on.
    pub fn freed(&self) -> &Arc<[Mapping]> {
        &self.freed
    }

    /// Which bytes of the watched regions were ever written, by their first addresses.
    pub fn written(&self) -> &Arc<[(u64, Arc<Written>)]> {
        &self.written
    }
}

/// Keeps one allocation alive.
#[derive(Clone)]
pub struct Pin(#[expect(dead_code, reason = "held for its destructor")] Option<Arc<Backing>>);

#[derive(Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    /// Bytes charged to each device.
    used: Vec<u64>,
    next_serial: u64,
    /// (device, owner of the memory it may access besides its own)
    peers: BTreeSet<(usize, usize)>,
    snapshots: HashMap<usize, Snapshot>,
    /// Whether new allocations are watched.
    watch: bool,
    /// Whether the addresses of freed allocations rest for a while.
    rest: bool,
    /// Freed allocations whose addresses are not used again, oldest first.
    quarantine: VecDeque<Entry>,
}

impl State {
    fn used(&mut self, device: usize) -> &mut u64 {
        if self.used.len() <= device {
            self.used.resize(device + 1, 0);
        }
        &mut self.used[device]
    }

    fn new_serial(&mut self) -> u64 {
        self.next_serial += 1;
        self.next_serial - 1
    }

    /// Finds a place for what is asked for, of which there may be `free` bytes.
    fn reserve(&mut self, request: Request, free: u64) -> Result<Reserved, MemoryError> {
        let Request { len, kind, device, flags, managed } = request;
        if len == 0 {
            return Err(MemoryError::InvalidRange { base: 0, len });
        }
        let out_of_memory = MemoryError::OutOfMemory { requested: len, free };
        let mapped = len.checked_next_multiple_of(PAGE).ok_or(out_of_memory)?;
        if kind.is_charged() && mapped > free {
            return Err(out_of_memory);
        }
        // A host that does not promise memory that is never touched has none to spare.
        let may_carry = matches!(kind, RegionKind::Device | RegionKind::Runtime);
        let carries = may_carry.then(|| Backing::with_carry(mapped)).flatten();
        let backing = carries.or_else(|| Backing::new(mapped)).ok_or(out_of_memory)?;
        let region = Region { base: backing.base, len, mapped, kind, serial: self.new_serial() };
        let allocation = Allocation { region, device, flags, managed, registered: false };
        Ok(Reserved { allocation, backing: Arc::new(backing) })
    }

    /// Makes what was reserved be there.
    fn map(&mut self, reserved: &Reserved) {
        let Allocation { region, device, .. } = reserved.allocation;
        if region.kind.is_charged() {
            *self.used(device) += region.mapped;
        }
        self.insert(reserved.allocation, Some(Arc::clone(&reserved.backing)));
    }

    fn insert(&mut self, allocation: Allocation, backing: Option<Arc<Backing>>) {
        let Region { base, len, kind, .. } = allocation.region;
        let written = (self.watch && kind == RegionKind::Device && !allocation.managed)
            .then(|| Arc::new(Written::new(len)));
        self.entries.insert(base, Entry { allocation, backing, written });
        self.snapshots.clear();
    }

    fn remove(&mut self, base: u64, registered: bool) -> Result<Entry, MemoryError> {
        let matches = |entry: &Entry| entry.allocation.registered == registered;
        if !self.entries.get(&base).is_some_and(matches) {
            return Err(MemoryError::NotFound(base));
        }
        self.snapshots.clear();
        self.entries.remove(&base).ok_or(MemoryError::NotFound(base))
    }

    /// Keeps the address of a freed allocation from being used again for a while.
    fn retire(&mut self, entry: Entry) {
        self.quarantine.push_back(entry);
        let mapped = |entry: &Entry| entry.allocation.region.mapped;
        let mut kept: u64 = self.quarantine.iter().map(mapped).sum();
        while kept > QUARANTINE
            && let Some(oldest) = self.quarantine.pop_front()
        {
            kept -= mapped(&oldest);
        }
    }

    /// Entry with the greatest base at or below `address`.
    fn below(&self, address: u64) -> Option<&Entry> {
        self.entries.range(..=address).next_back().map(|(_, entry)| entry)
    }

    fn visible_to(&self, device: usize, allocation: &Allocation) -> bool {
        match allocation.region.kind {
            RegionKind::HostPinned => true,
            _ => allocation.device == device || self.peers.contains(&(device, allocation.device)),
        }
    }
}

/// The memory of all devices and the host memory they can reach.
#[derive(Default)]
pub struct Memory {
    state: Mutex<State>,
}

impl Memory {
    /// Memory without any allocation.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves the tables consistent at each step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates zeroed memory; `limit` is the capacity of the device.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`] if the device or the host has no room.
    pub fn allocate(&self, request: Request, limit: u64) -> Result<u64, MemoryError> {
        let mut state = self.state();
        let free = limit.saturating_sub(*state.used(request.device));
        let reserved = state.reserve(request, free)?;
        state.map(&reserved);
        Ok(reserved.allocation.region.base)
    }

    /// Finds a place for an allocation that [`Memory::map`] then makes be there, and
    /// [`Memory::free`] go, any number of times. It is charged while it is there.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`] if the device, of the capacity `limit`, or the host could never
    /// have room.
    pub fn reserve(&self, request: Request, limit: u64) -> Result<Reserved, MemoryError> {
        self.state().reserve(request, limit)
    }

    /// Makes an allocation be there, with whatever its memory holds.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`] if the device has no room, [`MemoryError::AlreadyRegistered`] if
    /// the allocation is there.
    pub fn map(&self, reserved: &Reserved, limit: u64) -> Result<(), MemoryError> {
        let Allocation { region, device, .. } = reserved.allocation;
        let mut state = self.state();
        if state.entries.contains_key(&region.base) {
            return Err(MemoryError::AlreadyRegistered(region.base));
        }
        let free = limit.saturating_sub(*state.used(device));
        if region.kind.is_charged() && region.mapped > free {
            return Err(MemoryError::OutOfMemory { requested: region.len, free });
        }
        state.quarantine.retain(|entry| entry.allocation.region.base != region.base);
        state.map(reserved);
        Ok(())
    }

    /// Frees the allocation that starts at `base`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::NotFound`] if none does.
    pub fn free(&self, base: u64) -> Result<Allocation, MemoryError> {
        let mut state = self.state();
        let entry = state.remove(base, false)?;
        let allocation = entry.allocation;
        let Allocation { region, device, .. } = allocation;
        if region.kind.is_charged() {
            *state.used(device) -= region.mapped;
        }
        if state.rest {
            state.retire(entry);
        }
        Ok(allocation)
    }

    /// Makes host memory of the caller accessible to devices.
    ///
    /// # Errors
    ///
    /// [`MemoryError::AlreadyRegistered`] if part of it is known already,
    /// [`MemoryError::InvalidRange`] if it is empty or wraps around.
    pub fn register(
        &self,
        base: u64,
        len: u64,
        device: usize,
        flags: u32,
    ) -> Result<(), MemoryError> {
        let invalid = MemoryError::InvalidRange { base, len };
        let end = base.checked_add(len).filter(|_| base != 0 && len != 0).ok_or(invalid)?;
        let mut state = self.state();
        if state.below(end - 1).is_some_and(|entry| entry.allocation.region.range().end > base) {
            return Err(MemoryError::AlreadyRegistered(base));
        }
        let serial = state.new_serial();
        // Neighbours in the same page belong to others, so `mapped` ends with the range.
        let region = Region { base, len, mapped: len, kind: RegionKind::HostPinned, serial };
        let allocation = Allocation { region, device, flags, managed: false, registered: true };
        state.insert(allocation, None);
        Ok(())
    }

    /// Undoes [`Memory::register`].
    ///
    /// # Errors
    ///
    /// [`MemoryError::NotFound`] if no registered range starts at `base`.
    pub fn unregister(&self, base: u64) -> Result<Allocation, MemoryError> {
        self.state().remove(base, true).map(|entry| entry.allocation)
    }

    /// Allocation that contains `address` (up to the requested length, or its base).
    pub fn find(&self, address: u64) -> Option<Allocation> {
        let state = self.state();
        let allocation = state.below(address)?.allocation;
        let region = allocation.region;
        (address - region.base < region.len).then_some(allocation)
    }

    /// Like [`Memory::find`], and keeps the allocation alive while the result lives.
    pub fn pin(&self, address: u64) -> Option<(Allocation, Pin)> {
        let state = self.state();
        let entry = state.below(address)?;
        let region = entry.allocation.region;
        (address - region.base < region.len).then(|| (entry.allocation, Pin(entry.backing.clone())))
    }

    /// From now on (or no longer), notes which bytes of new allocations are `written`, and keeps the
    /// addresses of `freed` ones from being used again soon.
    pub fn watch(&self, written: bool, freed: bool) {
        let mut state = self.state();
        state.watch = written;
        state.rest = freed;
        if !freed {
            state.quarantine.clear();
        }
        state.snapshots.clear();
    }

    /// Notes that the host or a copy writes `len` bytes at an address.
    pub fn note_write(&self, address: u64, len: u64) {
        self.change_written(address, |written, offset| written.mark(offset, len));
    }

    /// Takes `len` bytes at an address for unwritten again.
    pub fn forget_write(&self, address: u64, len: u64) {
        self.change_written(address, |written, offset| written.forget(offset, len));
    }

    fn change_written(&self, address: u64, change: impl FnOnce(&Written, u64)) {
        let state = self.state();
        if let Some(entry) = state.below(address)
            && let Some(written) = &entry.written
        {
            change(written, address - entry.allocation.region.base);
        }
    }

    /// Bytes charged to the device.
    pub fn used(&self, device: usize) -> u64 {
        *self.state().used(device)
    }

    /// Lets kernels of `device` access memory of `owner`; false if they could already.
    pub fn grant(&self, device: usize, owner: usize) -> bool {
        let mut state = self.state();
        state.snapshots.clear();
        state.peers.insert((device, owner))
    }

    /// Whether [`Memory::grant`] let kernels of `device` access memory of `owner`.
    pub fn is_granted(&self, device: usize, owner: usize) -> bool {
        self.state().peers.contains(&(device, owner))
    }

    /// Undoes [`Memory::grant`]; false if there was no such grant.
    pub fn revoke(&self, device: usize, owner: usize) -> bool {
        let mut state = self.state();
        state.snapshots.clear();
        state.peers.remove(&(device, owner))
    }

    /// Frees the program's device memory, as a reset of the device does. What the runtime itself
    /// holds there stays.
    pub fn release_device(&self, device: usize) {
        let mut state = self.state();
        let freed = |entry: &Entry| {
            let Allocation { region, device: owner, .. } = entry.allocation;
            owner == device && region.kind == RegionKind::Device
        };
        let entries = state.entries.values().filter(|entry| freed(entry));
        let bytes: u64 = entries.map(|entry| entry.allocation.region.mapped).sum();
        state.entries.retain(|_, entry| !freed(entry));
        *state.used(device) -= bytes;
        state.peers.retain(|(from, to)| *from != device && *to != device);
        state.snapshots.clear();
    }

    /// Regions that kernels of `device` may access.
    pub fn snapshot(&self, device: usize) -> Snapshot {
        let mut state = self.state();
        if let Some(snapshot) = state.snapshots.get(&device) {
            return snapshot.clone();
        }
        let visible = || {
            let entries = state.entries.values();
            entries.filter(|entry| state.visible_to(device, &entry.allocation))
        };
        let snapshot = Snapshot {
            regions: visible().map(|entry| entry.allocation.region.mapping()).collect(),
            allocations: visible().map(|entry| entry.allocation.region).collect(),
            freed: state.quarantine.iter().map(|entry| entry.allocation.region.mapping()).collect(),
            written: visible()
                .filter_map(|entry| {
                    Some((entry.allocation.region.base, Arc::clone(entry.written.as_ref()?)))
                })
                .collect(),
            _backings: visible().filter_map(|entry| entry.backing.clone()).collect(),
        };
        state.snapshots.insert(device, snapshot.clone());
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn request(len: u64) -> Request {
        Request { len, kind: RegionKind::Device, device: 0, flags: 0, managed: false }
    }

    /// First byte of an allocation of the test.
    fn byte(address: u64) -> u8 {
        // SAFETY: the tests pass addresses of live allocations.
        unsafe { std::ptr::with_exposed_provenance::<u8>(address as usize).read() }
    }

    #[test]
    fn allocations_are_zeroed_aligned_and_counted() {
        let memory = Memory::new();
        let a = memory.allocate(request(5000), LIMIT).expect("fits");
        assert_eq!(a % PAGE, 0);
        assert_eq!((byte(a), byte(a + 8191)), (0, 0));
        assert_eq!(memory.used(0), 8192);
        let found = memory.find(a + 4999).expect("inside").region;
        assert_eq!((found.base, found.len, found.mapped), (a, 5000, 8192));
        assert_eq!(memory.find(a + 5000), None);
        memory.free(a).expect("allocated");
        assert_eq!(memory.used(0), 0);
        assert_eq!(memory.free(a), Err(MemoryError::NotFound(a)));
    }

    #[test]
    fn device_memory_lies_across_a_multiple_of_4_gib() {
        let memory = Memory::new();
        for len in [1, PAGE, PAGE + 1, 10 * PAGE] {
            let base = memory.allocate(request(len), LIMIT).expect("fits");
            let mapped = len.next_multiple_of(PAGE);
            let multiple = base.next_multiple_of(HIGH);
            assert_eq!(multiple, base + mapped / 2 / PAGE * PAGE, "{len} bytes");
            assert_eq!(byte(base + mapped - 1), 0);
            for other in [base - HIGH, base + HIGH, base + HIGH + mapped - 1] {
                assert_eq!(memory.find(other), None, "{len} bytes");
            }
        }
    }

    #[test]
    fn the_limit_is_per_device() {
        let memory = Memory::new();
        memory.allocate(request(LIMIT - PAGE), LIMIT).expect("fits");
        let too_much = memory.allocate(request(PAGE + 1), LIMIT);
        assert_eq!(too_much, Err(MemoryError::OutOfMemory { requested: PAGE + 1, free: PAGE }));
        let other = Request { device: 1, ..request(LIMIT) };
        memory.allocate(other, LIMIT).expect("the other device is empty");
        let host = Request { kind: RegionKind::HostPinned, ..request(LIMIT) };
        memory.allocate(host, LIMIT).expect("host memory is charged to no device");
        assert!(memory.allocate(request(u64::MAX), u64::MAX).is_err());
        memory.release_device(0);
        assert_eq!((memory.used(0), memory.used(1)), (0, LIMIT));
    }

    #[test]
    fn registered_ranges_do_not_overlap() {
        let memory = Memory::new();
        let host = [0u8; 100];
        let base = host.as_ptr().expose_provenance() as u64;
        memory.register(base + 10, 50, 0, 3).expect("new");
        for (start, len) in [(base + 10, 50), (base, 11), (base + 59, 1), (base, 100)] {
            let again = memory.register(start, len, 0, 0);
            assert_eq!(again, Err(MemoryError::AlreadyRegistered(start)));
        }
        memory.register(base + 60, 40, 0, 0).expect("adjacent");
        memory.register(base, 10, 0, 0).expect("adjacent");
        assert_eq!(memory.find(base + 59).map(|found| found.flags), Some(3));
        assert!(memory.free(base + 10).is_err(), "registered memory is not freed");
        memory.unregister(base + 10).expect("registered");
        assert_eq!(memory.find(base + 10), None);
    }

    #[test]
    fn snapshots_show_what_a_device_may_access() {
        let memory = Memory::new();
        let own = memory.allocate(request(1), LIMIT).expect("fits");
        let theirs = memory.allocate(Request { device: 1, ..request(1) }, LIMIT).expect("fits");
        let host = Request { kind: RegionKind::HostPinned, device: 1, ..request(1) };
        let host = memory.allocate(host, LIMIT).expect("fits");
        let bases = |device| {
            let snapshot = memory.snapshot(device);
            let regions = snapshot.regions();
            assert!(regions.is_sorted_by_key(|region| region.base));
            regions.iter().map(|region| region.base).collect::<BTreeSet<_>>()
        };
        assert_eq!(bases(0), BTreeSet::from([own, host]));
        assert!(memory.grant(0, 1) && !memory.grant(0, 1));
        assert_eq!(bases(0), BTreeSet::from([own, theirs, host]));
        assert_eq!(bases(1), BTreeSet::from([theirs, host]));
        assert!(memory.revoke(0, 1) && !memory.revoke(0, 1));
        assert_eq!(bases(0), BTreeSet::from([own, host]));
    }

    #[test]
    fn watched_memory_knows_what_was_written_and_freed() {
        let memory = Memory::new();
        let before = memory.allocate(request(100), LIMIT).expect("fits");
        memory.watch(true, true);
        let a = memory.allocate(request(100), LIMIT).expect("fits");
        let b = memory.allocate(request(100), LIMIT).expect("fits");
        memory.note_write(a + 8, 4);
        memory.note_write(before, 4);
        let snapshot = memory.snapshot(0);
        let written: HashMap<u64, Arc<Written>> = snapshot.written().iter().cloned().collect();
        assert_eq!(written.len(), 2, "memory of before counts as written");
        assert!(written[&a].is_written(8, 4) && !written[&a].is_written(8, 5));
        memory.forget_write(a + 10, 5);
        assert!(written[&a].is_written(8, 2) && !written[&a].is_written(10, 1));
        memory.free(b).expect("allocated");
        assert!((0..10).all(|_| memory.allocate(request(100), LIMIT).expect("fits") != b));
        let freed = |memory: &Memory| {
            let snapshot = memory.snapshot(0);
            snapshot.freed().iter().map(|region| region.base).collect::<Vec<_>>()
        };
        assert_eq!(freed(&memory), [b]);
        memory.watch(false, false);
        assert!(freed(&memory).is_empty());
    }

    #[test]
    fn a_reserved_allocation_comes_and_goes_at_its_address() {
        let memory = Memory::new();
        memory.watch(true, true);
        let reserved = memory.reserve(request(5000), LIMIT).expect("fits");
        let base = reserved.allocation().region.base;
        for _ in 0..2 {
            assert_eq!((memory.used(0), memory.find(base)), (0, None));
            memory.map(&reserved, LIMIT).expect("fits");
            let again = memory.map(&reserved, LIMIT);
            assert_eq!(again, Err(MemoryError::AlreadyRegistered(base)));
            assert_eq!(memory.used(0), 8192);
            assert_eq!(memory.find(base + 4999), Some(reserved.allocation()));
            let snapshot = memory.snapshot(0);
            assert!(snapshot.freed().is_empty());
            // What was written before it went does not count.
            let (_, written) = &snapshot.written()[0];
            assert!(!written.is_written(8, 1));
            memory.note_write(base + 8, 1);
            assert!(written.is_written(8, 1));
            memory.free(base).expect("it is there");
            assert_eq!(memory.snapshot(0).freed().len(), 1);
        }
        let full = memory.map(&reserved, PAGE);
        assert_eq!(full, Err(MemoryError::OutOfMemory { requested: 5000, free: PAGE }));
        assert!(memory.reserve(request(LIMIT + 1), LIMIT).is_err(), "it could never be there");
    }

    #[test]
    fn a_snapshot_outlives_a_free() {
        let memory = Memory::new();
        let base = memory.allocate(request(1 << 24), LIMIT << 10).expect("fits");
        let snapshot = memory.snapshot(0);
        memory.free(base).expect("allocated");
        assert_eq!(byte(base + (1 << 24) - 1), 0);
        assert!(memory.snapshot(0).regions().is_empty());
        assert_eq!(snapshot.regions().len(), 1);
    }
}
