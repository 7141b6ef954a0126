//! Objects of the program that graphs keep: when the last reference goes, the program is told.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::{HipError, HipResult};
use super::graph::HostCall;

/// An object as its handle leads to it, while the program has references of its own.
pub(crate) struct UserObject {
    references: Mutex<u32>,
    end: Arc<End>,
}

/// What is called when nobody holds it any more.
pub(crate) struct End(HostCall);

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: the program gave the function and its argument for this call.
        unsafe { (self.0.function)(self.0.user_data) };
    }
}

impl UserObject {
    pub(crate) fn new(end: HostCall, references: u32) -> HipResult<Self> {
        if references == 0 || references > i32::MAX.cast_unsigned() {
            return Err(HipError::INVALID_VALUE);
        }
        Ok(Self { references: Mutex::new(references), end: Arc::new(End(end)) })
    }

    /// What keeps it.
    pub(crate) fn end(&self) -> &Arc<End> {
        &self.end
    }

    /// Gives the program more references.
    pub(crate) fn retain(&self, count: u32) -> HipResult {
        self.change(|references| references.checked_add(count)).map(drop)
    }

    /// Takes references from the program, and tells whether it has none any more.
    pub(crate) fn release(&self, count: u32) -> HipResult<bool> {
        self.change(|references| references.checked_sub(count)).map(|left| left == 0)
    }

    fn change(&self, change: impl FnOnce(u32) -> Option<u32>) -> HipResult<u32> {
        let mut references = self.references.lock().unwrap_or_else(PoisonError::into_inner);
        *references = change(*references).ok_or(HipError::INVALID_VALUE)?;
        Ok(*references)
    }
}
