//! Words of memory that streams write, or wait for.

use std::ffi::{c_int, c_uint, c_void};

use super::memory::address;
use super::types::{HipDeviceptr, HipError, HipStream, HipStreamBatchMemOp};
use super::{api, check_flags, enqueue};
use crate::runtime::{Action, Compare, HipResult, ValueOp, Work, runtime};

/// `hipStreamBatchMemOpType`.
const WAIT_32: c_int = 1;
const WRITE_32: c_int = 2;
const WAIT_64: c_int = 4;
const WRITE_64: c_int = 5;
/// Flags of `hipStreamWaitValue32`, in the order of the comparisons.
const COMPARISONS: [Compare; 4] =
    [Compare::GreaterOrEqual, Compare::Equal, Compare::And, Compare::Nor];

fn operation(pointer: *const c_void, wide: bool, value: u64, action: Action) -> HipResult<ValueOp> {
    ValueOp::new(address(pointer), wide, value, action)
}

fn submit(stream: HipStream, operation: ValueOp) -> HipResult {
    enqueue(&runtime().stream(stream)?, Work::Values([operation].into())).map(drop)
}

/// The operations of a batch, of which there must be one at least.
///
/// # Safety
///
/// `operations` is null or points to `count` of them.
pub(super) unsafe fn batch(
    operations: *const HipStreamBatchMemOp,
    count: c_uint,
    flags: c_uint,
) -> HipResult<Work> {
    /// What CUDA accepts, too.
    const MOST: c_uint = 256;
    check_flags(flags, 0)?;
    if operations.is_null() || !(1..=MOST).contains(&count) {
        return Err(HipError::INVALID_VALUE);
    }
    let each = (0..count as usize).map(|index| {
        // SAFETY: there are `count` of them.
        let given = unsafe { operations.add(index).read_unaligned() };
        let wide = matches!(given.operation, WAIT_64 | WRITE_64);
        let value = if wide { given.value } else { given.value & u64::from(u32::MAX) };
        let action = match given.operation {
            WAIT_32 | WAIT_64 => {
                Action::Wait { compare: Compare::from_flags(given.flags)?, mask: u64::MAX }
            }
            WRITE_32 | WRITE_64 => {
                check_flags(given.flags, 0)?;
                Action::Write
            }
            _ => return Err(HipError::NOT_SUPPORTED),
        };
        operation(given.address, wide, value, action)
    });
    Ok(Work::Values(each.collect::<HipResult<_>>()?))
}

/// A structure for an operation.
pub(super) fn described(operation: &ValueOp) -> HipStreamBatchMemOp {
    let (kind, flags) = match (operation.action, operation.wide) {
        (Action::Write, false) => (WRITE_32, 0),
        (Action::Write, true) => (WRITE_64, 0),
        (Action::Wait { compare, .. }, wide) => {
            let flags = COMPARISONS.iter().position(|known| *known == compare).unwrap_or(0);
            (if wide { WAIT_64 } else { WAIT_32 }, flags)
        }
    };
    HipStreamBatchMemOp {
        operation: kind,
        address: std::ptr::with_exposed_provenance_mut(operation.address() as usize),
        value: operation.value,
        flags: flags as c_uint,
        alias: std::ptr::null_mut(),
        padding: 0,
    }
}

api! {
    /// Makes a stream wait until a word compares with a value as the flags say.
    fn hipStreamWaitValue32(
        stream: HipStream,
        pointer: HipDeviceptr,
        value: u32,
        flags: c_uint,
        mask: u32,
    ) {
        let action = Action::Wait { compare: Compare::from_flags(flags)?, mask: mask.into() };
        submit(stream, operation(pointer, false, value.into(), action)?)
    }

    /// Makes a stream wait until a word of 64 bits compares with a value as the flags say.
    fn hipStreamWaitValue64(
        stream: HipStream,
        pointer: HipDeviceptr,
        value: u64,
        flags: c_uint,
        mask: u64,
    ) {
        let action = Action::Wait { compare: Compare::from_flags(flags)?, mask };
        submit(stream, operation(pointer, true, value, action)?)
    }

    /// Writes a word once the stream gets there.
    fn hipStreamWriteValue32(
        stream: HipStream,
        pointer: HipDeviceptr,
        value: u32,
        flags: c_uint,
    ) {
        check_flags(flags, 0)?;
        submit(stream, operation(pointer, false, value.into(), Action::Write)?)
    }

    /// Writes a word of 64 bits once the stream gets there.
    fn hipStreamWriteValue64(
        stream: HipStream,
        pointer: HipDeviceptr,
        value: u64,
        flags: c_uint,
    ) {
        check_flags(flags, 0)?;
        submit(stream, operation(pointer, true, value, Action::Write)?)
    }

    /// Writes words, or waits for them, one after the other.
    fn hipStreamBatchMemOp(
        stream: HipStream,
        count: c_uint,
        operations: *mut HipStreamBatchMemOp,
        flags: c_uint,
    ) {
        let stream = runtime().stream(stream)?;
        enqueue(&stream, batch(operations, count, flags)?).map(drop)
    }
}
