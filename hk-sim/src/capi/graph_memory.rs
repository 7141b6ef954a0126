//! Memory that graphs allocate and free.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use super::memory::{address, as_pointer};
use super::node::{add, work_of};
use super::pool::{LOCATION_DEVICE, PINNED, access_list, device_of, set_access};
use super::types::{
    HipDeviceptr, HipError, HipGraph, HipGraphNode, HipMemAllocNodeParams, HipMemLocation,
    HipMemPoolProps,
};
use super::{api, put, read};
use crate::runtime::{HipResult, NodeMemory, Pool, PoolValue, Work, runtime};

/// `hipMemPoolAttr` of each `hipGraphMemAttributeType`: bytes that are used and reserved, now and at
/// most.
const POOL_ATTRIBUTES: [c_int; 4] = [7, 8, 5, 6];

fn pool_attribute(number: c_int) -> HipResult<c_int> {
    let found = usize::try_from(number).ok().and_then(|number| POOL_ATTRIBUTES.get(number));
    found.copied().ok_or(HipError::INVALID_VALUE)
}

/// Adds an allocation to a graph, and tells its address.
///
/// # Safety
///
/// As of the function that a program calls; `parameters` is null or valid.
pub(super) unsafe fn add_allocation(
    node: *mut HipGraphNode,
    to: HipGraph,
    after: *const HipGraphNode,
    count: usize,
    parameters: *mut HipMemAllocNodeParams,
) -> HipResult {
    // SAFETY: the caller promises it.
    unsafe {
        let given = read(parameters.cast_const())?;
        let owner = device_of(&given.pool_props)?;
        let access = access_list(given.access_descs, given.access_desc_count)?;
        set_access(owner, &access)?;
        let plain = access.iter().map(|desc| [desc.location.kind, desc.location.id, desc.flags]);
        let device = runtime().devices.get(owner).ok_or(HipError::INVALID_DEVICE)?;
        let memory = NodeMemory::new(&device, given.bytesize as u64, plain.collect())?;
        add(node, to, after, count, Work::Allocate(Arc::clone(&memory)))?;
        put(parameters, HipMemAllocNodeParams { dptr: as_pointer(memory.region().base), ..given })
    }
}

/// The free of what an allocation node allocates.
pub(super) fn freed(pointer: *const c_void) -> HipResult<Work> {
    let memory = runtime().node_memories.starting_at(address(pointer));
    memory.map(Work::Free).ok_or(HipError::INVALID_VALUE)
}

/// An allocation from a pool in a capture, which `push` records.
///
/// # Safety
///
/// `pointer` is null or valid for a write.
pub(super) unsafe fn captured_allocation(
    pointer: *mut *mut c_void,
    size: usize,
    pool: &Pool,
    push: impl FnOnce(Work) -> HipResult,
) -> HipResult {
    // SAFETY: the caller promises it. What is no memory needs no node.
    unsafe { put(pointer, std::ptr::null_mut())? };
    if size == 0 {
        return Ok(());
    }
    let device = runtime().devices.get(pool.device).ok_or(HipError::INVALID_DEVICE)?;
    let memory = NodeMemory::new(&device, size as u64, Box::default())?;
    push(Work::Allocate(Arc::clone(&memory)))?;
    // SAFETY: as above.
    unsafe { put(pointer, as_pointer(memory.region().base)) }
}

api! {
    /// Adds an allocation, whose address stays the same. The memory is there from where a launch
    /// comes to the node until something frees it, even if the graph is destroyed before.
    fn hipGraphAddMemAllocNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        parameters: *mut HipMemAllocNodeParams,
    ) {
        add_allocation(node, to, after, count, parameters)
    }

    /// Parameters of an allocation. The list of accesses is the node's.
    fn hipGraphMemAllocNodeGetParams(node: HipGraphNode, parameters: *mut HipMemAllocNodeParams) {
        let Work::Allocate(memory) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        let allocation = memory.allocation();
        put(parameters, HipMemAllocNodeParams {
            pool_props: HipMemPoolProps {
                alloc_type: PINNED,
                handle_types: 0,
                location: HipMemLocation { kind: LOCATION_DEVICE, id: allocation.device as c_int },
                security_attributes: std::ptr::null_mut(),
                max_size: 0,
                reserved: [0; 56],
            },
            access_descs: match memory.access.is_empty() {
                true => std::ptr::null(),
                false => memory.access.as_ptr().cast(),
            },
            access_desc_count: memory.access.len(),
            bytesize: allocation.region.len as usize,
            dptr: as_pointer(allocation.region.base),
        })
    }

    /// Adds a free of what an allocation node of this or another graph allocates.
    fn hipGraphAddMemFreeNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        pointer: *mut c_void,
    ) {
        add(node, to, after, count, freed(pointer)?)
    }

    /// Adds a free of what an allocation node of this or another graph allocates.
    fn hipDrvGraphAddMemFreeNode(
        node: *mut HipGraphNode,
        to: HipGraph,
        after: *const HipGraphNode,
        count: usize,
        pointer: HipDeviceptr,
    ) {
        add(node, to, after, count, freed(pointer)?)
    }

    /// Address that a free frees.
    fn hipGraphMemFreeNodeGetParams(node: HipGraphNode, pointer: *mut c_void) {
        let Work::Free(memory) = work_of(node)? else { return Err(HipError::INVALID_VALUE) };
        put(pointer.cast(), as_pointer(memory.region().base))
    }

    /// Bytes that graphs use on a device. None are reserved beyond that.
    fn hipDeviceGetGraphMemAttribute(device: c_int, number: c_int, value: *mut c_void) {
        let device = runtime().device(device)?;
        match device.graph_pool().attribute(pool_attribute(number)?) {
            Some(PoolValue::Bytes(bytes)) => put(value.cast(), bytes),
            _ => Err(HipError::INVALID_VALUE),
        }
    }

    /// Starts a peak again, for which the value must be 0.
    fn hipDeviceSetGraphMemAttribute(device: c_int, number: c_int, value: *mut c_void) {
        let device = runtime().device(device)?;
        let value = PoolValue::Bytes(read(value.cast_const().cast())?);
        if device.graph_pool().set_attribute(pool_attribute(number)?, value) {
            Ok(())
        } else {
            Err(HipError::INVALID_VALUE)
        }
    }

    /// Gives unused memory of graphs back: there is never any.
    fn hipDeviceGraphMemTrim(device: c_int) {
        runtime().device(device).map(drop)
    }
}
