//! Copies and fills.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::memory::address;
use super::types::{HipDeviceptr, HipError, HipMemcpy2D, HipStream};
use super::{api, enqueue};
use crate::runtime::{Copy2d, Fill, HipResult, Host, Sides, Stream, current_device, runtime};

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

fn copy(copy: Copy2d, kind: c_int, stream: &Arc<Stream>, wait: Wait) -> HipResult {
    let Some((job, host)) = copy.job(Sides::of_kind(kind)?)? else { return Ok(()) };
    if let Some(marker) = enqueue(stream, job)? {
        match host {
            Host::GoesOn => {}
            Host::Stages => marker.block(),
            Host::Waits => marker.wait(),
        }
    }
    finish(stream, wait)
}

fn fill(fill: Fill, stream: &Arc<Stream>, wait: Wait) -> HipResult {
    let Some(job) = fill.job()? else { return Ok(()) };
    enqueue(stream, job)?;
    finish(stream, wait)
}

/// Waits, where the call does, and reports what failed in the work it waited for.
fn finish(stream: &Stream, wait: Wait) -> HipResult {
    match wait {
        Wait::No => Ok(()),
        Wait::Yes => runtime().synchronize_stream(stream),
    }
}

fn linear(dst: *const c_void, src: *const c_void, size: usize) -> Copy2d {
    Copy2d::linear(address(dst), address(src), size as u64)
}

fn pitched(dst: (*mut c_void, usize), src: (*const c_void, usize), size: (usize, usize)) -> Copy2d {
    Copy2d {
        dst: address(dst.0),
        dst_pitch: dst.1 as u64,
        src: address(src.0),
        src_pitch: src.1 as u64,
        width: size.0 as u64,
        height: size.1 as u64,
    }
}

/// The copy that `hip_Memcpy2D` describes, and its direction.
fn described(copy: *const HipMemcpy2D) -> HipResult<(Copy2d, c_int)> {
    const HOST: c_int = 1;
    const ARRAY: c_int = 10;
    if copy.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    // SAFETY: it is not null, so valid.
    let copy = unsafe { copy.read_unaligned() };
    let side =
        |kind, host: *const c_void, device: HipDeviceptr, pitch: usize, y: usize, x: usize| {
            let start = match kind {
                HOST => address(host),
                ARRAY => return Err(HipError::NOT_SUPPORTED),
                _ => address(device),
            };
            let pitch = if pitch == 0 { copy.width_in_bytes } else { pitch };
            let offset =
                (y as u64).checked_mul(pitch as u64).and_then(|rows| rows.checked_add(x as u64));
            let start = offset.and_then(|offset| start.checked_add(offset));
            Ok((start.ok_or(HipError::INVALID_VALUE)?, pitch as u64))
        };
    let (src, src_pitch) = side(
        copy.src_memory_type,
        copy.src_host,
        copy.src_device,
        copy.src_pitch,
        copy.src_y,
        copy.src_x_in_bytes,
    )?;
    let (dst, dst_pitch) = side(
        copy.dst_memory_type,
        copy.dst_host,
        copy.dst_device,
        copy.dst_pitch,
        copy.dst_y,
        copy.dst_x_in_bytes,
    )?;
    let kind = match (copy.src_memory_type == HOST, copy.dst_memory_type == HOST) {
        (true, true) => DEFAULT,
        (true, false) => HOST_TO_DEVICE,
        (false, true) => DEVICE_TO_HOST,
        (false, false) => DEVICE_TO_DEVICE,
    };
    let (width, height) = (copy.width_in_bytes as u64, copy.height as u64);
    Ok((Copy2d { dst, dst_pitch, src, src_pitch, width, height }, kind))
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
        let rows = Fill {
            dst: address(dst),
            pitch: pitch as u64,
            width: width as u64,
            height: height as u64,
            value: value as u32,
            element: 1,
        };
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
        let rows = Fill {
            dst: address(dst),
            pitch: pitch as u64,
            width: width as u64,
            height: height as u64,
            value: value as u32,
            element: 1,
        };
        fill(rows, &runtime().stream(stream)?, Wait::No)
    }
}
