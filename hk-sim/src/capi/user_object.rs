//! User objects: what graphs keep for the program.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::graph::graph;
use super::types::{HipError, HipGraph, HipUserObject};
use super::{api, put};
use crate::runtime::{HipResult, HostCall, UserObject, lock, runtime};

/// The flag that creation demands: the function is called at any time, and calls nothing of HIP.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
/// The graph's references are those that the program had.
const MOVE: c_uint = 1;

fn object(handle: HipUserObject) -> HipResult<Arc<UserObject>> {
    runtime().user_objects.get(handle).ok_or(HipError::INVALID_VALUE)
}

api! {
    /// Makes an object of which the program has so many references; when it and all graphs have none
    /// any more, `destroy` is called with `data`.
    fn hipUserObjectCreate(
        to: *mut HipUserObject,
        data: *mut c_void,
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
        references: c_uint,
        flags: c_uint,
    ) {
        let function = destroy.ok_or(HipError::INVALID_VALUE)?;
        if to.is_null() || flags != NO_DESTRUCTOR_SYNC {
            return Err(HipError::INVALID_VALUE);
        }
        let made = UserObject::new(HostCall { function, user_data: data }, references)?;
        put(to, runtime().user_objects.insert(made))
    }

    /// Gives the program more references of an object.
    fn hipUserObjectRetain(of: HipUserObject, count: c_uint) {
        object(of)?.retain(count)
    }

    /// Takes references of an object from the program.
    fn hipUserObjectRelease(of: HipUserObject, count: c_uint) {
        object(of)?.release(count)
    }

    /// Gives a graph references of an object: new ones, or the program's own.
    fn hipGraphRetainUserObject(to: HipGraph, of: HipUserObject, count: c_uint, flags: c_uint) {
        let (to, of) = (graph(to)?, object(of)?);
        if count == 0 || flags & !MOVE != 0 {
            return Err(HipError::INVALID_VALUE);
        }
        let kept = of.end()?;
        if flags == MOVE {
            of.release(count)?;
        }
        lock(&to).keep(&kept, count);
        Ok(())
    }

    /// Takes references of an object from a graph.
    fn hipGraphReleaseUserObject(from: HipGraph, of: HipUserObject, count: c_uint) {
        let from = graph(from)?;
        let kept = object(of)?.end()?;
        // Dropped without the lock: it may be the last.
        let released = lock(&from).let_go(&kept, count)?;
        drop(released);
        Ok(())
    }
}
