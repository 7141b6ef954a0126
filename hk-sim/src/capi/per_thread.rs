//! Forms of functions for which the default stream is the calling thread's (`_spt`).

use std::ffi::{c_int, c_uint, c_void};

use super::types::{
    Dim3, HipError, HipEvent, HipExtent, HipGraph, HipGraphExec, HipGraphNode, HipHostFn,
    HipMemcpy3DParms, HipPitchedPtr, HipStream, HipStreamCallback,
};
use super::*;

/// `hipStreamPerThread`.
const PER_THREAD: HipStream = std::ptr::without_provenance_mut(2);

/// The stream that a program means, whose default stream is the thread's.
fn of_thread(stream: HipStream) -> HipStream {
    if stream.is_null() { PER_THREAD } else { stream }
}

/// Waits for the thread's stream after work was appended to it.
///
/// # Safety
///
/// As `hipStreamSynchronize` demands, which takes no pointer here.
unsafe fn finish(appended: HipError) -> HipResult {
    passed_on(appended)?;
    // SAFETY: the handle is a predefined one.
    passed_on(unsafe { hipStreamSynchronize(PER_THREAD) })
}

api! {
    /// [`hipMemcpy`] of the thread's stream.
    fn hipMemcpy_spt(dst: *mut c_void, src: *const c_void, size: usize, kind: c_int) {
        passed_on(hipMemcpyWithStream(dst, src, size, kind, PER_THREAD))
    }

    /// [`hipMemcpyAsync`] of the thread's stream.
    fn hipMemcpyAsync_spt(
        dst: *mut c_void,
        src: *const c_void,
        size: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        passed_on(hipMemcpyAsync(dst, src, size, kind, of_thread(stream)))
    }

    /// [`hipMemcpy2D`] of the thread's stream.
    fn hipMemcpy2D_spt(
        dst: *mut c_void,
        dst_pitch: usize,
        src: *const c_void,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) {
        finish(hipMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind, PER_THREAD))
    }

    /// [`hipMemcpy2DAsync`] of the thread's stream.
    fn hipMemcpy2DAsync_spt(
        dst: *mut c_void,
        dst_pitch: usize,
        src: *const c_void,
        src_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        passed_on(
            hipMemcpy2DAsync(
                dst, dst_pitch, src, src_pitch, width, height, kind, of_thread(stream),
            ),
        )
    }

    /// [`hipMemcpy3D`] of the thread's stream.
    fn hipMemcpy3D_spt(parameters: *const HipMemcpy3DParms) {
        finish(hipMemcpy3DAsync(parameters, PER_THREAD))
    }

    /// [`hipMemcpy3DAsync`] of the thread's stream.
    fn hipMemcpy3DAsync_spt(parameters: *const HipMemcpy3DParms, stream: HipStream) {
        passed_on(hipMemcpy3DAsync(parameters, of_thread(stream)))
    }

    /// [`hipMemcpyToSymbol`] of the thread's stream.
    fn hipMemcpyToSymbol_spt(
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        finish(hipMemcpyToSymbolAsync(symbol, src, size, offset, kind, PER_THREAD))
    }

    /// [`hipMemcpyToSymbolAsync`] of the thread's stream.
    fn hipMemcpyToSymbolAsync_spt(
        symbol: *const c_void,
        src: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        passed_on(hipMemcpyToSymbolAsync(symbol, src, size, offset, kind, of_thread(stream)))
    }

    /// [`hipMemcpyFromSymbol`] of the thread's stream.
    fn hipMemcpyFromSymbol_spt(
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
    ) {
        finish(hipMemcpyFromSymbolAsync(dst, symbol, size, offset, kind, PER_THREAD))
    }

    /// [`hipMemcpyFromSymbolAsync`] of the thread's stream.
    fn hipMemcpyFromSymbolAsync_spt(
        dst: *mut c_void,
        symbol: *const c_void,
        size: usize,
        offset: usize,
        kind: c_int,
        stream: HipStream,
    ) {
        passed_on(hipMemcpyFromSymbolAsync(dst, symbol, size, offset, kind, of_thread(stream)))
    }

    /// [`hipMemset`] of the thread's stream.
    fn hipMemset_spt(dst: *mut c_void, value: c_int, size: usize) {
        finish(hipMemsetAsync(dst, value, size, PER_THREAD))
    }

    /// [`hipMemsetAsync`] of the thread's stream.
    fn hipMemsetAsync_spt(dst: *mut c_void, value: c_int, size: usize, stream: HipStream) {
        passed_on(hipMemsetAsync(dst, value, size, of_thread(stream)))
    }

    /// [`hipMemset2D`] of the thread's stream.
    fn hipMemset2D_spt(dst: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        finish(hipMemset2DAsync(dst, pitch, value, width, height, PER_THREAD))
    }

    /// [`hipMemset2DAsync`] of the thread's stream.
    fn hipMemset2DAsync_spt(
        dst: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: HipStream,
    ) {
        passed_on(hipMemset2DAsync(dst, pitch, value, width, height, of_thread(stream)))
    }

    /// [`hipMemset3D`] of the thread's stream.
    fn hipMemset3D_spt(dst: HipPitchedPtr, value: c_int, extent: HipExtent) {
        finish(hipMemset3DAsync(dst, value, extent, PER_THREAD))
    }

    /// [`hipMemset3DAsync`] of the thread's stream.
    fn hipMemset3DAsync_spt(
        dst: HipPitchedPtr,
        value: c_int,
        extent: HipExtent,
        stream: HipStream,
    ) {
        passed_on(hipMemset3DAsync(dst, value, extent, of_thread(stream)))
    }

    /// [`hipStreamSynchronize`] of the thread's stream.
    fn hipStreamSynchronize_spt(stream: HipStream) {
        passed_on(hipStreamSynchronize(of_thread(stream)))
    }

    /// [`hipStreamQuery`] of the thread's stream.
    fn hipStreamQuery_spt(stream: HipStream) {
        passed_on(hipStreamQuery(of_thread(stream)))
    }

    /// [`hipStreamGetFlags`] of the thread's stream.
    fn hipStreamGetFlags_spt(stream: HipStream, flags: *mut c_uint) {
        passed_on(hipStreamGetFlags(of_thread(stream), flags))
    }

    /// [`hipStreamGetPriority`] of the thread's stream.
    fn hipStreamGetPriority_spt(stream: HipStream, priority: *mut c_int) {
        passed_on(hipStreamGetPriority(of_thread(stream), priority))
    }

    /// [`hipStreamWaitEvent`] of the thread's stream.
    fn hipStreamWaitEvent_spt(stream: HipStream, event: HipEvent, flags: c_uint) {
        passed_on(hipStreamWaitEvent(of_thread(stream), event, flags))
    }

    /// [`hipEventRecord`] of the thread's stream.
    fn hipEventRecord_spt(event: HipEvent, stream: HipStream) {
        passed_on(hipEventRecord(event, of_thread(stream)))
    }

    /// [`hipStreamAddCallback`] of the thread's stream.
    fn hipStreamAddCallback_spt(
        stream: HipStream,
        callback: HipStreamCallback,
        user_data: *mut c_void,
        flags: c_uint,
    ) {
        passed_on(hipStreamAddCallback(of_thread(stream), callback, user_data, flags))
    }

    /// [`hipLaunchHostFunc`] of the thread's stream.
    fn hipLaunchHostFunc_spt(stream: HipStream, function: HipHostFn, user_data: *mut c_void) {
        passed_on(hipLaunchHostFunc(of_thread(stream), function, user_data))
    }

    /// [`hipLaunchKernel`] of the thread's stream.
    fn hipLaunchKernel_spt(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *mut *mut c_void,
        shared_bytes: usize,
        stream: HipStream,
    ) {
        passed_on(hipLaunchKernel(host, grid, block, args, shared_bytes, of_thread(stream)))
    }

    /// [`hipLaunchCooperativeKernel`] of the thread's stream.
    fn hipLaunchCooperativeKernel_spt(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *mut *mut c_void,
        shared_bytes: c_uint,
        stream: HipStream,
    ) {
        passed_on(
            hipLaunchCooperativeKernel(host, grid, block, args, shared_bytes, of_thread(stream)),
        )
    }

    /// [`hipGraphLaunch`] of the thread's stream.
    fn hipGraphLaunch_spt(executable: HipGraphExec, stream: HipStream) {
        passed_on(hipGraphLaunch(executable, of_thread(stream)))
    }

    /// [`hipStreamBeginCapture`] of the thread's stream.
    fn hipStreamBeginCapture_spt(stream: HipStream, mode: c_uint) {
        passed_on(hipStreamBeginCapture(of_thread(stream), mode))
    }

    /// [`hipStreamEndCapture`] of the thread's stream.
    fn hipStreamEndCapture_spt(stream: HipStream, graph: *mut HipGraph) {
        passed_on(hipStreamEndCapture(of_thread(stream), graph))
    }

    /// [`hipStreamIsCapturing`] of the thread's stream.
    fn hipStreamIsCapturing_spt(stream: HipStream, state: *mut c_int) {
        passed_on(hipStreamIsCapturing(of_thread(stream), state))
    }

    /// [`hipStreamGetCaptureInfo`] of the thread's stream.
    fn hipStreamGetCaptureInfo_spt(stream: HipStream, state: *mut c_int, id: *mut u64) {
        passed_on(hipStreamGetCaptureInfo(of_thread(stream), state, id))
    }

    /// [`hipStreamGetCaptureInfo_v2`] of the thread's stream.
    fn hipStreamGetCaptureInfo_v2_spt(
        stream: HipStream,
        state: *mut c_int,
        id: *mut u64,
        graph: *mut HipGraph,
        nodes: *mut *const HipGraphNode,
        count: *mut usize,
    ) {
        passed_on(hipStreamGetCaptureInfo_v2(of_thread(stream), state, id, graph, nodes, count))
    }
}
