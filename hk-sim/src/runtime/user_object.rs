//! Objects of the program that graphs keep: when the last reference goes, the program is told.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::error::{HipError, HipResult};
use super::graph::HostCall;
use super::runtime;

/// An object as its handle leads to it, as long as anybody has references.
pub(crate) struct UserObject {
    own: Mutex<Own>,
    end: Weak<End>,
}

/// References of the program, and what keeps the object while there are any.
struct Own {
    count: u32,
    end: Option<Arc<End>>,
}

/// What is called when nobody holds it any more.
pub(crate) struct End {
    call: HostCall,
    object: Weak<UserObject>,
}

impl Drop for End {
    fn drop(&mut self) {
        runtime().user_objects.remove(self.object.as_ptr().cast());
        // SAFETY: the program gave the function and its argument for this call.
        unsafe { (self.call.function)(self.call.user_data) };
    }
}

impl UserObject {
    pub(crate) fn new(call: HostCall, references: u32) -> HipResult<Arc<Self>> {
        if references == 0 || references > i32::MAX.cast_unsigned() {
            return Err(HipError::INVALID_VALUE);
        }
        Ok(Arc::new_cyclic(|object| {
            let end = Arc::new(End { call, object: Weak::clone(object) });
            let weak = Arc::downgrade(&end);
            Self { own: Mutex::new(Own { count: references, end: Some(end) }), end: weak }
        }))
    }

    /// What keeps it.
    pub(crate) fn end(&self) -> HipResult<Arc<End>> {
        self.end.upgrade().ok_or(HipError::INVALID_VALUE)
    }

    /// Gives the program more references.
    pub(crate) fn retain(&self, count: u32) -> HipResult {
        self.change(|references| references.checked_add(count))
    }

    /// Takes references from the program.
    pub(crate) fn release(&self, count: u32) -> HipResult {
        self.change(|references| references.checked_sub(count))
    }

    fn change(&self, change: impl FnOnce(u32) -> Option<u32>) -> HipResult {
        // Dropped without the lock: it may be the last.
        let end = self.end()?;
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.count = change(own.count).ok_or(HipError::INVALID_VALUE)?;
        own.end = (own.count != 0).then(|| Arc::clone(&end));
        Ok(())
    }
}
