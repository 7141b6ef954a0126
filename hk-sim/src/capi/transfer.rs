//! Copies and fills.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::memory::address;
use super::types::{
    HipDeviceptr, HipDrvMemcpy3D, HipError, HipExtent, HipMemcpy2D, HipMemcpy3DParms,
    HipMemcpy3DPeerParms, HipMemsetParams, HipPitchedPtr, HipPos, HipStream,
};
use super::{api, enqueue, enqueue_as};
use crate::runtime::{
    Extent, Fill, HipResult, Host, NodeType, Rows, Sides, Stream, Transfer, Work, current_device,
    runtime,
};

/// `hipMemcpyKind` values of the calls that fix the direction.
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;
const DEFAULT: c_int = 4;

/// Whether a call returns before its work is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// It waits and reports failures of earlier work.
    Yes,
    /// It returns at once, unless the work touches pageable host memory.
    No,
}

/// The null stream, for calls without a stream.
fn null_stream() -> HipResult<Arc<Stream>> {
    runtime().refuse_during_capture()?;
    Ok(Arc::clone(current_device()?.null_stream()))
}

/// A copy as work, and what the host does meanwhile; nothing for no bytes.
pub(super) fn copy_work(
    copy: Transfer,
    kind: c_int,
    of: NodeType,
) -> HipResult<Option<(Work, Host)>> {
    let made = copy.job(Sides::of_kind(kind)?)?;
    Ok(made.map(|(job, host)| (Work::Copy(copy, kind, of, job), host)))
}

fn copy(copy: Transfer, kind: c_int, stream: &Arc<Stream>, wait: Wait) -> HipResult {
    let made = copy_work(copy, kind, NodeType::Memcpy)?;
    let Some((work, host)) = made else { return Ok(()) };
    enqueue_as(stream, work, host)?;
    finish(stream, wait)
}

fn fill(fill: Fill, stream: &Arc<Stream>, wait: Wait) -> HipResult {
    let Some(job) = fill.job()? else { return Ok(()) };
    enqueue(stream, Work::Fill(fill, job))?;
    finish(stream, wait)
}

/// Waits, where the call does, and reports what failed in the work it waited for.
fn finish(stream: &Stream, wait: Wait) -> HipResult {
    match wait {
        Wait::No => Ok(()),
        Wait::Yes => runtime().synchronize_stream(stream),
    }
}

pub(super) fn linear(dst: *const c_void, src: *const c_void, size: usize) -> Transfer {
    Transfer::linear(address(dst), address(src), size as u64)
}

/// Rows without slices.
fn plane(pointer: *const c_void, pitch: usize) -> Rows {
    Rows { address: address(pointer), pitch: pitch as u64, slice: 0 }
}

fn plane_extent(width: usize, height: usize) -> Extent {
    Extent { width: width as u64, height: height as u64, depth: 1 }
}

fn pitched(
    dst: (*mut c_void, usize),
    src: (*const c_void, usize),
    size: (usize, usize),
) -> Transfer {
    let (dst, src) = (plane(dst.0, dst.1), plane(src.0, src.1));
    Transfer { dst, src, extent: plane_extent(size.0, size.1) }
}

/// Rows of a fill, whose width is counted in elements.
fn fill_plane(
    dst: *const c_void,
    pitch: usize,
    (value, element): (c_uint, usize),
    width: usize,
    height: usize,
) -> HipResult<Fill> {
    let width = width.checked_mul(element).ok_or(HipError::INVALID_VALUE)?;
    Ok(Fill { dst: plane(dst, pitch), extent: plane_extent(width, height), value, element })
}

/// The rows and slices from a position on.
fn at_position(start: u64, pitch: usize, rows: usize, position: HipPos) -> HipResult<Rows> {
    let (pitch, rows) = (pitch as u64, rows as u64);
    let slice = pitch.checked_mul(rows);
    let offset = slice.and_then(|slice| {
        let slices = slice.checked_mul(position.z as u64)?;
        let rows = pitch.checked_mul(position.y as u64)?;
        slices.checked_add(rows)?.checked_add(position.x as u64)
    });
    let address = offset.and_then(|offset| start.checked_add(offset));
    match (address, slice) {
        (Some(address), Some(slice)) => Ok(Rows { address, pitch, slice }),
        _ => Err(HipError::INVALID_VALUE),
    }
}

fn extent_of(extent: HipExtent) -> Extent {
    Extent { width: extent.width as u64, height: extent.height as u64, depth: extent.depth as u64 }
}

/// One side of `hipMemcpy3DParms`.
fn side(
    array: *mut c_void,
    pointer: HipPitchedPtr,
    position: HipPos,
    extent: HipExtent,
) -> HipResult<Rows> {
    if !array.is_null() {
        return Err(HipError::NOT_SUPPORTED);
    }
    let end = |start: usize, len: usize| start.checked_add(len).ok_or(HipError::INVALID_VALUE);
    if end(position.x, extent.width)? > pointer.pitch
        || (extent.depth > 1 && end(position.y, extent.height)? > pointer.y)
    {
        return Err(HipError::INVALID_VALUE);
    }
    at_position(address(pointer.pointer), pointer.pitch, pointer.y, position)
}

/// The copy that `hipMemcpy3DParms` describes, and its direction.
///
/// # Safety
///
/// The pointer is null or valid.
pub(super) unsafe fn described_3d(
    parameters: *const HipMemcpy3DParms,
) -> HipResult<(Transfer, c_int)> {
    if parameters.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    let given = unsafe { parameters.read_unaligned() };
    let src = side(given.src_array, given.src_ptr, given.src_pos, given.extent)?;
    let dst = side(given.dst_array, given.dst_ptr, given.dst_pos, given.extent)?;
    Ok((Transfer { dst, src, extent: extent_of(given.extent) }, given.kind))
}

/// `hipMemcpy3DParms` of a copy.
pub(super) fn as_parameters(copy: &Transfer, kind: c_int) -> HipMemcpy3DParms {
    let extent = HipExtent {
        width: copy.extent.width as usize,
        height: copy.extent.height as usize,
        depth: copy.extent.depth as usize,
    };
    let pointer = |rows: Rows| HipPitchedPtr {
        pointer: std::ptr::with_exposed_provenance_mut(rows.address as usize),
        pitch: rows.pitch as usize,
        x: extent.width,
        y: rows.slice.checked_div(rows.pitch).unwrap_or(0).max(extent.height as u64) as usize,
    };
    HipMemcpy3DParms {
        src_array: std::ptr::null_mut(),
        src_pos: HipPos::default(),
        src_ptr: pointer(copy.src),
        dst_array: std::ptr::null_mut(),
        dst_pos: HipPos::default(),
        dst_ptr: pointer(copy.dst),
        extent,
        kind,
    }
}

/// `HIP_MEMCPY3D` of a copy.
pub(super) fn as_drv_parameters(copy: &Transfer, kind: c_int) -> HipDrvMemcpy3D {
    let given = as_parameters(copy, kind);
    let host = |is_host: bool| if is_host { MEMORY_HOST } else { MEMORY_DEVICE };
    HipDrvMemcpy3D {
        src_x_in_bytes: 0,
        src_y: 0,
        src_z: 0,
        src_lod: 0,
        src_memory_type: host(kind == HOST_TO_DEVICE || kind == DEFAULT),
        src_host: given.src_ptr.pointer,
        src_device: given.src_ptr.pointer,
        src_array: std::ptr::null_mut(),
        src_pitch: given.src_ptr.pitch,
        src_height: given.src_ptr.y,
        dst_x_in_bytes: 0,
        dst_y: 0,
        dst_z: 0,
        dst_lod: 0,
        dst_memory_type: host(kind == DEVICE_TO_HOST || kind == DEFAULT),
        dst_host: given.dst_ptr.pointer,
        dst_device: given.dst_ptr.pointer,
        dst_array: std::ptr::null_mut(),
        dst_pitch: given.dst_ptr.pitch,
        dst_height: given.dst_ptr.y,
        width_in_bytes: given.extent.width,
        height: given.extent.height,
        depth: given.extent.depth,
    }
}

/// `hipMemoryType` values of driver-style copies.
const MEMORY_HOST: c_int = 1;
const MEMORY_DEVICE: c_int = 2;
const MEMORY_ARRAY: c_int = 10;

/// Direction of a copy between memories of these types.
fn kind_between(src: c_int, dst: c_int) -> c_int {
    match (src == MEMORY_HOST, dst == MEMORY_HOST) {
        (true, true) => DEFAULT,
        (true, false) => HOST_TO_DEVICE,
        (false, true) => DEVICE_TO_HOST,
        (false, false) => DEVICE_TO_DEVICE,
    }
}

/// Where a side of a driver-style copy begins.
fn start_of(kind: c_int, host: *const c_void, device: HipDeviceptr) -> HipResult<u64> {
    match kind {
        MEMORY_HOST => Ok(address(host)),
        MEMORY_ARRAY => Err(HipError::NOT_SUPPORTED),
        _ => Ok(address(device)),
    }
}

/// The copy that `HIP_MEMCPY3D` describes, and its direction.
///
/// # Safety
///
/// The pointer is null or valid.
pub(super) unsafe fn described_drv_3d(
    parameters: *const HipDrvMemcpy3D,
) -> HipResult<(Transfer, c_int)> {
    if parameters.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    let given = unsafe { parameters.read_unaligned() };
    let or = |value: usize, default: usize| if value == 0 { default } else { value };
    let src = at_position(
        start_of(given.src_memory_type, given.src_host, given.src_device)?,
        or(given.src_pitch, given.width_in_bytes),
        or(given.src_height, given.height),
        HipPos { x: given.src_x_in_bytes, y: given.src_y, z: given.src_z },
    )?;
    let dst = at_position(
        start_of(given.dst_memory_type, given.dst_host, given.dst_device)?,
        or(given.dst_pitch, given.width_in_bytes),
        or(given.dst_height, given.height),
        HipPos { x: given.dst_x_in_bytes, y: given.dst_y, z: given.dst_z },
    )?;
    let extent = extent_of(HipExtent {
        width: given.width_in_bytes,
        height: given.height,
        depth: given.depth,
    });
    Ok((Transfer { dst, src, extent }, kind_between(given.src_memory_type, given.dst_memory_type)))
}

/// The copy between devices that a structure describes.
///
/// # Safety
///
/// The pointer is null or valid.
unsafe fn described_peer(parameters: *const HipMemcpy3DPeerParms) -> HipResult<Transfer> {
    if parameters.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    let given = unsafe { parameters.read_unaligned() };
    runtime().device(given.src_device)?;
    runtime().device(given.dst_device)?;
    let src = side(given.src_array, given.src_ptr, given.src_pos, given.extent)?;
    let dst = side(given.dst_array, given.dst_ptr, given.dst_pos, given.extent)?;
    Ok(Transfer { dst, src, extent: extent_of(given.extent) })
}

/// Slices of bytes.
fn fill_3d(dst: HipPitchedPtr, value: c_int, extent: HipExtent) -> HipResult<Fill> {
    let none = std::ptr::null_mut();
    let dst = side(none, dst, HipPos::default(), extent)?;
    Ok(Fill { dst, extent: extent_of(extent), value: value as u32, element: 1 })
}

/// The fill that `hipMemsetParams` describes.
///
/// # Safety
///
/// The pointer is null or valid.
pub(super) unsafe fn described_fill(parameters: *const HipMemsetParams) -> HipResult<Fill> {
    if parameters.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    let given = unsafe { parameters.read_unaligned() };
    let element = given.element_size as usize;
    if !matches!(element, 1 | 2 | 4) {
        return Err(HipError::INVALID_VALUE);
    }
    // The pitch of a single row is not used.
    let row = given.width.checked_mul(element).ok_or(HipError::INVALID_VALUE)?;
    let pitch = if given.height == 1 { row } else { given.pitch };
    fill_plane(given.dst, pitch, (given.value, element), given.width, given.height)
}

/// The copy that `hip_Memcpy2D` describes, and its direction.
fn described(copy: *const HipMemcpy2D) -> HipResult<(Transfer, c_int)> {
    if copy.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    let copy = unsafe { copy.read_unaligned() };
    let rows = |start, pitch, x, y| {
        let pitch = if pitch == 0 { copy.width_in_bytes } else { pitch };
        at_position(start, pitch, 0, HipPos { x, y, z: 0 })
    };
    let src = start_of(copy.src_memory_type, copy.src_host, copy.src_device)?;
    let dst = start_of(copy.dst_memory_type, copy.dst_host, copy.dst_device)?;
    let src = rows(src, copy.src_pitch, copy.src_x_in_bytes, copy.src_y)?;
    let dst = rows(dst, copy.dst_pitch, copy.dst_x_in_bytes, copy.dst_y)?;
    let extent = plane_extent(copy.width_in_bytes, copy.height);
    let kind = kind_between(copy.src_memory_type, copy.dst_memory_type);
    Ok((Transfer { dst, src, extent }, kind))
}

api! {
    /// Copies and waits.
    fn hipMemcpy(dst: *mut c_void, src: *const c_void, size: usize, kind: c_int) {
        copy(linear(dst, src, size), kind, &null_stream()?, Wait::Yes)
    }

    /// Copies on a stream and waits.
    fn hipMemcpyWithStream(
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        runtime().refuse_during_capture()?;
        copy(linear(dst, src, size), kind, &runtime().stream(stream)?, Wait::Yes)
    }

    /// Copies on a stream.
    fn hipMemcpyAsync(
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        copy(linear(dst, src, size), kind, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies from the host to a device and waits.
    fn hipMemcpyHtoD(dst: HipDeviceptr, src: *const c_void, size: usize) {
        copy(linear(dst, src, size), HOST_TO_DEVICE, &null_stream()?, Wait::Yes)
    }

    /// Copies from the host to a device on a stream.
    fn hipMemcpyHtoDAsync(dst: HipDeviceptr, src: *const c_void, size: usize, stream: HipStream) {
        copy(linear(dst, src, size), HOST_TO_DEVICE, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies from a device to the host and waits.
    fn hipMemcpyDtoH(dst: *mut c_void, src: HipDeviceptr, size: usize) {
        copy(linear(dst, src, size), DEVICE_TO_HOST, &null_stream()?, Wait::Yes)
    }

    /// Copies from a device to the host on a stream.
    fn hipMemcpyDtoHAsync(dst: *mut c_void, src: HipDeviceptr, size: usize, stream: HipStream) {
        copy(linear(dst, src, size), DEVICE_TO_HOST, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies between device allocations and waits.
    fn hipMemcpyDtoD(dst: HipDeviceptr, src: HipDeviceptr, size: usize) {
        copy(linear(dst, src, size), DEVICE_TO_DEVICE, &null_stream()?, Wait::Yes)
    }

    /// Copies between device allocations on a stream.
    fn hipMemcpyDtoDAsync(dst: HipDeviceptr, src: HipDeviceptr, size: usize, stream: HipStream) {
        copy(linear(dst, src, size), DEVICE_TO_DEVICE, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies between devices and waits.
    fn hipMemcpyPeer(
        dst: *mut c_void,
        dst_device: c_int,
        src: *const c_void,
        src_device: c_int,
        size: usize,
    ) {
        runtime().device(dst_device)?;
        runtime().device(src_device)?;
        copy(linear(dst, src, size), DEVICE_TO_DEVICE, &null_stream()?, Wait::Yes)
    }

    /// Copies between devices on a stream.
    fn hipMemcpyPeerAsync(
        dst: *mut c_void,
        dst_device: c_int,
        src: *const c_void,
        src_device: c_int,
        size: usize,
        stream: HipStream,
    ) {
        runtime().device(dst_device)?;
        runtime().device(src_device)?;
        copy(linear(dst, src, size), DEVICE_TO_DEVICE, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies rows and waits.
    fn hipMemcpy2D(
        dst: *mut c_void,
        dst_pitch: usize,
        src: *const c_void,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) {
        let rows = pitched((dst, dst_pitch), (src, src_pitch), (width, height));
        copy(rows, kind, &null_stream()?, Wait::Yes)
    }

    /// Copies rows on a stream.
    fn hipMemcpy2DAsync(
        dst: *mut c_void,
        dst_pitch: usize,
        src: *const c_void,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        let rows = pitched((dst, dst_pitch), (src, src_pitch), (width, height));
        copy(rows, kind, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies rows as a structure describes and waits.
    fn hipMemcpyParam2D(parameters: *const HipMemcpy2D) {
        let (rows, kind) = described(parameters)?;
        copy(rows, kind, &null_stream()?, Wait::Yes)
    }

    /// Copies rows as a structure describes on a stream.
    fn hipMemcpyParam2DAsync(parameters: *const HipMemcpy2D, stream: HipStream) {
        let (rows, kind) = described(parameters)?;
        copy(rows, kind, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills bytes and waits.
    fn hipMemset(dst: *mut c_void, value: c_int, size: usize) {
        let bytes = Fill::linear(address(dst), value as u32, 1, size as u64)?;
        fill(bytes, &null_stream()?, Wait::Yes)
    }

    /// Fills bytes on a stream.
    fn hipMemsetAsync(dst: *mut c_void, value: c_int, size: usize, stream: HipStream) {
        let bytes = Fill::linear(address(dst), value as u32, 1, size as u64)?;
        fill(bytes, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills bytes and waits.
    fn hipMemsetD8(dst: HipDeviceptr, value: u8, count: usize) {
        let bytes = Fill::linear(address(dst), value.into(), 1, count as u64)?;
        fill(bytes, &null_stream()?, Wait::Yes)
    }

    /// Fills bytes on a stream.
    fn hipMemsetD8Async(dst: HipDeviceptr, value: u8, count: usize, stream: HipStream) {
        let bytes = Fill::linear(address(dst), value.into(), 1, count as u64)?;
        fill(bytes, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills 16-bit words and waits.
    fn hipMemsetD16(dst: HipDeviceptr, value: u16, count: usize) {
        let words = Fill::linear(address(dst), value.into(), 2, count as u64)?;
        fill(words, &null_stream()?, Wait::Yes)
    }

    /// Fills 16-bit words on a stream.
    fn hipMemsetD16Async(dst: HipDeviceptr, value: u16, count: usize, stream: HipStream) {
        let words = Fill::linear(address(dst), value.into(), 2, count as u64)?;
        fill(words, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills 32-bit words and waits.
    fn hipMemsetD32(dst: HipDeviceptr, value: c_int, count: usize) {
        let words = Fill::linear(address(dst), value as c_uint, 4, count as u64)?;
        fill(words, &null_stream()?, Wait::Yes)
    }

    /// Fills 32-bit words on a stream.
    fn hipMemsetD32Async(dst: HipDeviceptr, value: c_int, count: usize, stream: HipStream) {
        let words = Fill::linear(address(dst), value as c_uint, 4, count as u64)?;
        fill(words, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills rows of bytes and waits.
    fn hipMemset2D(dst: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        let rows = fill_plane(dst, pitch, (value as u32, 1), width, height)?;
        fill(rows, &null_stream()?, Wait::Yes)
    }

    /// Fills rows of bytes on a stream.
    fn hipMemset2DAsync(
        dst: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: HipStream,
    ) {
        let rows = fill_plane(dst, pitch, (value as u32, 1), width, height)?;
        fill(rows, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies rows as a structure describes, whatever their alignment, and waits.
    fn hipDrvMemcpy2DUnaligned(parameters: *const HipMemcpy2D) {
        let (rows, kind) = described(parameters)?;
        copy(rows, kind, &null_stream()?, Wait::Yes)
    }

    /// Copies slices and waits.
    fn hipMemcpy3D(parameters: *const HipMemcpy3DParms) {
        let (slices, kind) = described_3d(parameters)?;
        copy(slices, kind, &null_stream()?, Wait::Yes)
    }

    /// Copies slices on a stream.
    fn hipMemcpy3DAsync(parameters: *const HipMemcpy3DParms, stream: HipStream) {
        let (slices, kind) = described_3d(parameters)?;
        copy(slices, kind, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies slices between devices and waits.
    fn hipMemcpy3DPeer(parameters: *const HipMemcpy3DPeerParms) {
        copy(described_peer(parameters)?, DEVICE_TO_DEVICE, &null_stream()?, Wait::Yes)
    }

    /// Copies slices between devices on a stream.
    fn hipMemcpy3DPeerAsync(parameters: *const HipMemcpy3DPeerParms, stream: HipStream) {
        let slices = described_peer(parameters)?;
        copy(slices, DEVICE_TO_DEVICE, &runtime().stream(stream)?, Wait::No)
    }

    /// Copies slices as a driver-style structure describes and waits.
    fn hipDrvMemcpy3D(parameters: *const HipDrvMemcpy3D) {
        let (slices, kind) = described_drv_3d(parameters)?;
        copy(slices, kind, &null_stream()?, Wait::Yes)
    }

    /// Copies slices as a driver-style structure describes on a stream.
    fn hipDrvMemcpy3DAsync(parameters: *const HipDrvMemcpy3D, stream: HipStream) {
        let (slices, kind) = described_drv_3d(parameters)?;
        copy(slices, kind, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills slices of bytes and waits.
    fn hipMemset3D(dst: HipPitchedPtr, value: c_int, extent: HipExtent) {
        fill(fill_3d(dst, value, extent)?, &null_stream()?, Wait::Yes)
    }

    /// Fills slices of bytes on a stream.
    fn hipMemset3DAsync(dst: HipPitchedPtr, value: c_int, extent: HipExtent, stream: HipStream) {
        fill(fill_3d(dst, value, extent)?, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills rows of 8-bit elements and waits.
    fn hipMemsetD2D8(
        dst: HipDeviceptr,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
    ) {
        let rows = fill_plane(dst, pitch, (value.into(), 1), width, height)?;
        fill(rows, &null_stream()?, Wait::Yes)
    }

    /// Fills rows of 8-bit elements on a stream.
    fn hipMemsetD2D8Async(
        dst: HipDeviceptr,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
        stream: HipStream,
    ) {
        let rows = fill_plane(dst, pitch, (value.into(), 1), width, height)?;
        fill(rows, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills rows of 16-bit elements and waits.
    fn hipMemsetD2D16(
        dst: HipDeviceptr,
        pitch: usize,
        value: u16,
        width: usize,
        height: usize,
    ) {
        let rows = fill_plane(dst, pitch, (value.into(), 2), width, height)?;
        fill(rows, &null_stream()?, Wait::Yes)
    }

    /// Fills rows of 16-bit elements on a stream.
    fn hipMemsetD2D16Async(
        dst: HipDeviceptr,
        pitch: usize,
        value: u16,
        width: usize,
        height: usize,
        stream: HipStream,
    ) {
        let rows = fill_plane(dst, pitch, (value.into(), 2), width, height)?;
        fill(rows, &runtime().stream(stream)?, Wait::No)
    }

    /// Fills rows of 32-bit elements and waits.
    fn hipMemsetD2D32(
        dst: HipDeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
    ) {
        let rows = fill_plane(dst, pitch, (value, 4), width, height)?;
        fill(rows, &null_stream()?, Wait::Yes)
    }

    /// Fills rows of 32-bit elements on a stream.
    fn hipMemsetD2D32Async(
        dst: HipDeviceptr,
        pitch: usize,
        value: c_uint,
        width: usize,
        height: usize,
        stream: HipStream,
    ) {
        let rows = fill_plane(dst, pitch, (value, 4), width, height)?;
        fill(rows, &runtime().stream(stream)?, Wait::No)
    }
}
