//! Kernel launches: checks, kernel arguments, dispatch packet.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use hk_types::{Arch, FaultKind, FaultReport};

use super::error::{HipError, HipResult};
use super::module::Function;
use super::occupancy::occupancy;
use super::order::What;
use super::record::Recording;
use super::stream::{Failure, Job, Worker};
use super::{memory, runtime, set_message};
use crate::counters::{self, Recorder};
use crate::exec::{self, Dispatch, RunStats};
use crate::mem::{Mapping, PAGE, RegionKind, Request, Snapshot};
use crate::object::{HiddenArg, Kernel, ValueKind};
use crate::sanitize::{self, Kind, Notes, Options, SourceLines};
use crate::trace::{self, Meanwhile, Traced, Traces};

/// Size of an AQL dispatch packet, and of the room kept for the queue structure.
const PACKET_BYTES: u64 = 64;
const QUEUE_BYTES: u64 = 448;
/// Alignment of the arguments: what HSA asks for, and no more.
const KERNARG_ALIGN: u64 = 16;
/// Offset of the kernel arguments in an arena, whose packet is aligned to 64 bytes.
const KERNARG_OFFSET: u64 = PACKET_BYTES + QUEUE_BYTES + 64 - KERNARG_ALIGN;
/// Bytes of what the workgroups of a cooperative launch share, as the device library's `mg_info` is laid out,
/// and where the number of workgroups is. The rest begins as zeros.
const GRID_SYNC_BYTES: usize = 48;
const GRID_SYNC_GROUPS: usize = 40;

/// Shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Workgroups.
    pub(crate) grid: [u32; 3],
    /// Work-items of a workgroup.
    pub(crate) block: [u32; 3],
    /// Work-items of the last workgroup of each dimension.
    tail: [u32; 3],
    /// Dynamic LDS bytes.
    pub(crate) dynamic_lds: u32,
    /// Whether all workgroups run at once, and may wait for each other.
    is_cooperative: bool,
}

impl Shape {
    /// The shape of a launch that counts its grid in workgroups.
    pub(crate) fn new(grid: [u32; 3], block: [u32; 3], dynamic_lds: u32) -> Self {
        Self { grid, block, tail: block, dynamic_lds, is_cooperative: false }
    }

    /// The shape of a launch whose workgroups may wait for each other.
    pub(crate) fn cooperative(self) -> Self {
        Self { is_cooperative: true, ..self }
    }

    /// Whether the workgroups may wait for each other.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.is_cooperative
    }

    /// Whether a workgroup has fewer work-items than the others.
    pub(crate) fn is_ragged(&self) -> bool {
        self.tail != self.block
    }

    /// Work-items of a workgroup.
    pub(crate) fn block_size(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul)
    }

    /// The shape of a launch that counts its grid in work-items. Where that is not a multiple of
    /// the workgroup, the last workgroup is a partial one.
    pub(crate) fn from_global(
        global: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
    ) -> HipResult<Self> {
        let mut shape = Self::new([0; 3], block, dynamic_lds);
        for (axis, (global, block)) in global.into_iter().zip(block).enumerate() {
            if block == 0 {
                return Err(HipError::INVALID_VALUE);
            }
            shape.grid[axis] = global.div_ceil(block);
            if !global.is_multiple_of(block) {
                shape.tail[axis] = global % block;
            }
        }
        Ok(shape)
    }

    /// What the workgroups of a cooperative launch share when it starts.
    fn grid_sync(&self) -> Option<[u8; GRID_SYNC_BYTES]> {
        self.is_cooperative.then(|| {
            let mut shared = [0; GRID_SYNC_BYTES];
            // They run at once, so that they are few.
            let groups: u32 = self.grid.iter().product();
            shared[GRID_SYNC_GROUPS..][..4].copy_from_slice(&groups.to_le_bytes());
            shared
        })
    }

    /// Work-items of the grid in a dimension; `check` made sure that they can be counted.
    fn global(&self, axis: usize) -> u32 {
        (self.grid[axis] - 1) * self.block[axis] + self.tail[axis]
    }

    /// Work-items of the partial workgroup of a dimension, 0 if there is none.
    fn remainder(&self, axis: usize) -> u32 {
        self.tail[axis] % self.block[axis]
    }

    /// Dimensions of the grid that are not 1, at least one.
    fn dimensions(&self) -> u16 {
        let used = (0..3).rev().find(|&axis| self.global(axis) > 1);
        used.map_or(1, |axis| axis as u16 + 1)
    }

    /// Checks that do not depend on the kernel; `zero` is the error for an empty dimension.
    fn check(&self, arch: Arch, zero: HipError) -> HipResult {
        if self.grid.contains(&0) || self.block.contains(&0) {
            return Err(zero);
        }
        let (size, limit) = (self.block_size(), arch.max_workgroup());
        if size > u64::from(limit) {
            set_message(format!("a workgroup of {size} work-items (limit {limit})"));
            return Err(zero);
        }
        // The dispatch packet counts the grid in work-items, 32 bits per dimension.
        for (grid, block) in self.grid.iter().zip(self.block) {
            grid.checked_mul(block).ok_or(HipError::INVALID_VALUE)?;
        }
        Ok(())
    }
}

/// A checked launch with its arguments.
pub(crate) struct Launch {
    function: Function,
    shape: Shape,
    lds_bytes: u32,
    kernarg: Vec<u8>,
    /// Host function or handle that a node was made with.
    name: Option<usize>,
    /// Addresses of the arguments in `kernarg`, once they were asked for.
    arguments: OnceLock<Vec<usize>>,
    /// Where it is counted what it does.
    recorder: Option<Arc<Recorder>>,
    /// Where it is traced, rather than executed as a whole.
    traces: Option<Arc<Traces>>,
}

impl Launch {
    /// Checks a launch of `function` with the caller's argument bytes.
    ///
    /// `zero` is the error for an empty grid or an impossible workgroup, which differs between
    /// the driver-style and the runtime-style call.
    pub(crate) fn new(
        function: Function,
        shape: Shape,
        explicit: &[u8],
        zero: HipError,
    ) -> HipResult<Self> {
        let kernel = function.kernel();
        let arch = function.module.program.arch();
        shape.check(arch, zero)?;
        let limit = arch.lds_bytes();
        if shape.dynamic_lds > limit {
            set_message(format!("{} bytes of dynamic LDS (limit {limit})", shape.dynamic_lds));
            return Err(HipError::INVALID_VALUE);
        }
        let largest = kernel.max_flat_workgroup_size();
        // At most 32 bits, as checked.
        let block_size = shape.block_size() as u32;
        if block_size > largest {
            set_message(format!(
                "{}: a workgroup of {block_size} work-items, compiled for at most {largest}",
                kernel.name
            ));
            return Err(HipError::LAUNCH_FAILURE);
        }
        let lds_bytes =
            kernel.descriptor.group_segment_fixed_size.saturating_add(shape.dynamic_lds);
        let vgprs = kernel.descriptor.vgprs();
        if occupancy(arch, vgprs, lds_bytes, block_size).workgroups == 0 {
            set_message(format!(
                "{}: {block_size} work-items with {vgprs} VGPRs and {lds_bytes} bytes of LDS do \
                 not fit a compute unit of {arch} (512 VGPRs per SIMD lane, {limit} bytes of LDS)",
                kernel.name
            ));
            return Err(HipError::LAUNCH_OUT_OF_RESOURCES);
        }
        let kernarg = kernarg(kernel, &shape, explicit);
        let (name, arguments) = (None, OnceLock::new());
        let (recorder, traces) = (counters::current(), trace::current());
        Ok(Self { function, shape, lds_bytes, kernarg, name, arguments, recorder, traces })
    }

    /// The launch as work for a stream.
    pub(crate) fn job(self: Arc<Self>) -> Job {
        Arc::new(move |worker| self.execute(worker))
    }

    /// The kernel.
    pub(crate) fn function(&self) -> &Function {
        &self.function
    }

    /// Grid, workgroup and dynamic LDS.
    pub(crate) fn shape(&self) -> Shape {
        self.shape
    }

    /// What a program calls the function, where it says so.
    pub(crate) fn named(self, name: usize) -> Self {
        Self { name: Some(name), ..self }
    }

    /// What the program calls the function, else its handle.
    pub(crate) fn name(&self) -> usize {
        let handle = || runtime().functions.insert_unique(self.function.clone()) as usize;
        self.name.unwrap_or_else(handle)
    }

    /// A list of the addresses of all explicit arguments, which lives with the launch.
    pub(crate) fn argument_list(&self) -> *const usize {
        let addresses = || {
            let start = self.kernarg.as_ptr() as usize;
            let args = self.function.kernel().explicit_args();
            args.map(|arg| start + arg.offset as usize).collect()
        };
        self.arguments.get_or_init(addresses).as_ptr()
    }

    fn execute(&self, worker: &mut Worker<'_>) -> Result<(), Failure> {
        let plain = |error| Failure { error, report: None };
        let kernel = self.function.kernel();
        let device = runtime().devices.get(self.function.module.device);
        let device = device.ok_or(plain(HipError::INVALID_DEVICE))?;
        let product = device.product;
        let sync_offset = (KERNARG_OFFSET + self.kernarg.len() as u64).next_multiple_of(8);
        let sync = self.shape.grid_sync();
        let len = sync_offset + sync.map_or(0, |sync| sync.len() as u64);
        let base = worker.arena.reserve(len, product.memory_bytes).map_err(plain)?;
        let queue = base + PACKET_BYTES;
        let kernarg_address = base + KERNARG_OFFSET;
        let mut kernarg = self.kernarg.clone();
        for arg in kernel.args() {
            let address = match arg.value_kind {
                ValueKind::Hidden(HiddenArg::QueuePtr) => queue,
                ValueKind::Hidden(HiddenArg::GridSync) if sync.is_some() => base + sync_offset,
                _ => continue,
            };
            put(&mut kernarg, arg.offset, arg.size, address);
        }
        let scratch_bytes = self.scratch_bytes(device.stack_limit.load(Ordering::Relaxed));
        let packet = self.packet(kernarg_address, scratch_bytes);
        worker.arena.write(0, &packet);
        worker.arena.write(KERNARG_OFFSET, &kernarg);
        if let Some(sync) = sync {
            worker.arena.write(sync_offset, &sync);
        }
        let snapshot = memory().snapshot(self.function.module.device);
        let mut options = runtime().options();
        if self.recorder.as_ref().is_some_and(|recorder| recorder.is_detailed()) {
            options.recorder.clone_from(&self.recorder);
        }
        if !options.sanitize.has(Kind::Memory) {
            // Nobody notes what this kernel writes, so a later one must not be told that it read
            // what was never written.
            snapshot.written().iter().for_each(|(_, written)| written.mark(0, u64::MAX));
        }
        let dispatch = Dispatch {
            product,
            program: Arc::clone(&self.function.module.program),
            kernel: kernel.name.clone(),
            entry: self.function.entry(),
            setup: kernel.descriptor.wave_setup(),
            grid: self.shape.grid,
            block: self.shape.block,
            tail: self.shape.tail,
            kernarg: kernarg_address,
            dispatch_packet: base,
            queue,
            lds_bytes: self.lds_bytes,
            scratch_bytes,
            regions: Arc::clone(snapshot.regions()),
        };
        if let Some(traces) = &self.traces {
            return traces.add(&dispatch, &options.exec).map_err(|report| self.failure(*report));
        }
        let recording = runtime().capture_folder().and_then(|folder| {
            Recording::new(&folder, &self.function, self.shape, &self.kernarg, product)
        });
        let timing = worker.time.as_ref().map(|_| trace::model());
        options.trace = timing.flatten().map(|model| Arc::new(Meanwhile::new(model, &dispatch)));
        self.run(worker, &dispatch, &options, &snapshot)?;
        if let Some(time) = &mut worker.time {
            let model = timing.flatten().zip(options.trace.take());
            let seconds = model.map_or_else(
                || Err("no model of time is there; hk_timing::install() gives one".to_owned()),
                |(model, trace)| (model.seconds)(&Traced { groups: trace.take(), dispatch }),
            );
            let about = |why| format!("{}: {why}", kernel.name);
            let seconds = seconds.map_err(about).inspect_err(|why| eprintln!("hk-sim: {why}"));
            time.pass(seconds);
        }
        if let Some(recording) = recording {
            recording.finish();
        }
        Ok(())
    }

    /// Executes the kernel, and notes its accesses where races are looked for.
    fn run(
        &self,
        worker: &Worker<'_>,
        dispatch: &Dispatch,
        options: &Options,
        snapshot: &Snapshot,
    ) -> Result<(), Failure> {
        let notes = if options.sanitize.is_empty() {
            Notes { facts: Arc::clone(&self.function.module.facts), ..Notes::default() }
        } else {
            self.notes(snapshot)
        };
        if !options.sanitize.has(Kind::Race) {
            let result = sanitize::run(dispatch, &notes, options);
            return result.map(|stats| self.note(stats)).map_err(|report| self.failure(*report));
        }
        let mut checked = sanitize::check(dispatch, &notes, options);
        let footprint = std::mem::take(&mut checked.footprint);
        let in_order = worker.touch_any(&footprint, snapshot.allocations(), || What::Kernel {
            name: self.function.kernel().name.clone(),
            entry: self.function.entry(),
            module: Arc::downgrade(&self.function.module),
        });
        let own = checked.settle(options.publish).map_err(|report| self.failure(*report));
        // An access out of order explains what came of it.
        in_order.and(own.map(|stats| self.note(stats)))
    }

    fn note(&self, stats: RunStats) {
        if let Some(recorder) = &self.recorder {
            recorder.add_executed(stats.instructions);
        }
    }

    /// What the sanitizer is told.
    fn notes(&self, snapshot: &Snapshot) -> Notes {
        let module = Arc::clone(&self.function.module);
        let lines = SourceLines::new(move |pc| {
            let line = module.object.source_line(pc.wrapping_sub(module.base))?;
            Some(line.to_string())
        });
        Notes {
            facts: Arc::clone(&self.function.module.facts),
            lines: Some(lines),
            freed: Arc::clone(snapshot.freed()),
            inputs: self.inputs(snapshot.regions()),
            read_only: self.read_only(snapshot.regions()),
            written: Arc::clone(snapshot.written()),
        }
    }

    /// Where the kernel must not write, as hk-build's note of its arguments says.
    fn inputs(&self, regions: &[Mapping]) -> Vec<Range<u64>> {
        let pointers = self.function.kernel().pointers.iter().flatten();
        self.only_read(regions, pointers.map(|pointer| (pointer.offset, pointer.is_const)))
    }

    /// The same as metadata says, which knows nothing of pointers in structs. The note knows better.
    fn read_only(&self, regions: &[Mapping]) -> Vec<Range<u64>> {
        let kernel = self.function.kernel();
        if kernel.pointers.is_some() {
            return Vec::new();
        }
        let words = kernel.explicit_args().flat_map(|arg| {
            let input = arg.is_const || arg.access.as_deref() == Some("read_only");
            (0..arg.size / 8).map(move |word| (arg.offset.saturating_add(8 * word), input))
        });
        self.only_read(regions, words)
    }

    /// Allocations to which arguments lead and only such through which the kernel does not write.
    /// Given are the arguments' offsets and whether they are such.
    fn only_read(
        &self,
        regions: &[Mapping],
        arguments: impl Iterator<Item = (u32, bool)>,
    ) -> Vec<Range<u64>> {
        let (mut inputs, mut others) = (Vec::new(), Vec::new());
        for (offset, input) in arguments {
            let word = self.kernarg.get(offset as usize..).and_then(|bytes| bytes.first_chunk());
            let Some(address) = word.copied().map(u64::from_le_bytes) else { continue };
            let holds = |region: &&Mapping| address.wrapping_sub(region.base) < region.len;
            let target = regions.iter().find(holds).map(|region| region.base);
            if input { inputs.extend(target) } else { others.extend(target) }
        }
        regions
            .iter()
            .filter(|region| inputs.contains(&region.base) && !others.contains(&region.base))
            .map(|region| region.base..region.base + region.len)
            .collect()
    }

    /// Scratch of a work-item: what the descriptor states, or more where the kernel calls functions
    /// whose need the compiler does not know.
    fn scratch_bytes(&self, stack_limit: u64) -> u32 {
        /// What clang assumes that unknown functions need.
        const UNKNOWN_CALLEES: u32 = 16 * 1024;
        let descriptor = &self.function.kernel().descriptor;
        let fixed = descriptor.private_segment_fixed_size;
        if !descriptor.uses_dynamic_stack() {
            return fixed;
        }
        // hipDeviceSetLimit keeps the limit below 2^20.
        fixed.max(UNKNOWN_CALLEES).max(stack_limit as u32)
    }

    /// The AQL packet of the launch.
    fn packet(&self, kernarg: u64, scratch_bytes: u32) -> [u8; PACKET_BYTES as usize] {
        /// `HSA_PACKET_TYPE_KERNEL_DISPATCH`, with system-scope acquire and release fences.
        const HEADER: u16 = 2 | 2 << 9 | 2 << 11;
        let function = &self.function;
        let kernel = function.kernel();
        let mut packet = [0; PACKET_BYTES as usize];
        let mut field = |offset: usize, bytes: &[u8]| {
            packet[offset..offset + bytes.len()].copy_from_slice(bytes);
        };
        field(0, &HEADER.to_le_bytes());
        field(2, &self.shape.dimensions().to_le_bytes());
        for (axis, items) in self.shape.block.into_iter().enumerate() {
            // A workgroup has at most 1024 work-items; the product was checked.
            field(4 + 2 * axis, &(items as u16).to_le_bytes());
            field(12 + 4 * axis, &self.shape.global(axis).to_le_bytes());
        }
        field(24, &scratch_bytes.to_le_bytes());
        field(28, &self.lds_bytes.to_le_bytes());
        field(32, &(function.module.base + kernel.descriptor_vaddr).to_le_bytes());
        field(40, &kernarg.to_le_bytes());
        packet
    }

    /// Adds the source line to the report, prints it, and finds the HIP error for it.
    fn failure(&self, mut report: FaultReport) -> Failure {
        if report.source.is_none() {
            let vaddr = report.pc.wrapping_sub(self.function.module.base);
            let location = self.function.module.object.source_line(vaddr);
            report.source = location.map(|location| location.to_string());
        }
        // The sanitizer prints what it finds itself.
        if !matches!(report.kind, FaultKind::Sanitizer(_)) {
            eprintln!("hk-sim: {report}");
        }
        let error = match report.kind {
            FaultKind::ReadViolation | FaultKind::WriteViolation => HipError::ILLEGAL_ADDRESS,
            FaultKind::InstructionBudget | FaultKind::Deadlock => HipError::LAUNCH_TIME_OUT,
            // HIP has no code for illegal instructions, alignment or traps.
            _ => HipError::LAUNCH_FAILURE,
        };
        Failure { error, report: Some(Arc::new(report)) }
    }
}

/// The kernarg segment: the caller's bytes, then the hidden arguments (but the queue pointer).
fn kernarg(kernel: &Kernel, shape: &Shape, explicit: &[u8]) -> Vec<u8> {
    let size = kernel.kernarg_size() as usize;
    let mut bytes = vec![0; size];
    let given = explicit.len().min(size);
    bytes[..given].copy_from_slice(&explicit[..given]);
    for arg in kernel.args() {
        let ValueKind::Hidden(hidden) = arg.value_kind else { continue };
        let value = match hidden {
            // Partial workgroups are not counted.
            HiddenArg::BlockCount(axis) => {
                let axis = usize::from(axis);
                (shape.grid[axis] - u32::from(shape.remainder(axis) != 0)).into()
            }
            HiddenArg::Remainder(axis) => shape.remainder(usize::from(axis)).into(),
            HiddenArg::GroupSize(axis) => shape.block[usize::from(axis)].into(),
            HiddenArg::GridDims => shape.dimensions().into(),
            HiddenArg::DynamicLdsSize => shape.dynamic_lds.into(),
            HiddenArg::SharedBase => exec::SHARED_APERTURE >> 32,
            HiddenArg::PrivateBase => exec::PRIVATE_APERTURE >> 32,
            // Grids start at 0; the rest is not offered, or known later.
            HiddenArg::GlobalOffset(_)
            | HiddenArg::Null
            | HiddenArg::QueuePtr
            | HiddenArg::GridSync => 0,
        };
        put(&mut bytes, arg.offset, arg.size, value);
    }
    bytes
}

/// Writes the low `size` bytes of `value`, as far as they are inside.
fn put(bytes: &mut [u8], offset: u32, size: u32, value: u64) {
    let targets = bytes.iter_mut().skip(offset as usize).take(size as usize);
    for (target, byte) in targets.zip(value.to_le_bytes()) {
        *target = byte;
    }
}

/// Device-visible memory of a stream for the packet and the arguments of the running kernel.
pub(crate) struct Arena {
    device: usize,
    /// The allocation, and the part of it that is used.
    region: u64,
    base: u64,
    len: u64,
}

impl Arena {
    pub(crate) fn new(device: usize) -> Self {
        Self { device, region: 0, base: 0, len: 0 }
    }

    /// Address of at least `len` bytes.
    fn reserve(&mut self, len: u64, limit: u64) -> HipResult<u64> {
        if self.len < len {
            self.release();
            let len = len.next_multiple_of(PAGE);
            let request = Request {
                len: 2 * len,
                kind: RegionKind::Runtime,
                device: self.device,
                flags: 0,
                managed: false,
            };
            self.region = memory().allocate(request, limit).map_err(|_| HipError::OUT_OF_MEMORY)?;
            self.len = len;
        }
        // With a multiple of 4 GiB, where there can be one, as soon behind the start of the arguments as it may be:
        // nearly every sum with their address carries into the upper half.
        self.base = self.region + self.len - (KERNARG_OFFSET + KERNARG_ALIGN);
        Ok(self.base)
    }

    /// Writes inside the reserved bytes.
    fn write(&mut self, offset: u64, bytes: &[u8]) {
        assert!(offset + bytes.len() as u64 <= self.len, "the arena was reserved for the launch");
        // SAFETY: the bytes are inside the allocation, and the kernel that reads them is not
        // running yet: one thread at a time does the stream's work, and calls this before it starts
        // the kernel.
        unsafe {
            let to = (self.base + offset) as usize;
            std::ptr::with_exposed_provenance_mut::<u8>(to)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    pub(super) fn release(&mut self) {
        if self.len != 0 {
            memory().free(self.region).expect("the arena alone frees its memory");
            self.len = 0;
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.release();
    }
}
