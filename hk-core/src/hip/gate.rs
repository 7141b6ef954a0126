//! Who may give a stream work: any thread, or only the one that captures it.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::Use;

thread_local! {
    /// How much this thread is giving streams at present: work, one inside of another, and a capture.
    static GIVING: Cell<usize> = const { Cell::new(0) };
}

/// Lets either any threads give a stream work, or one thread capture it: what is asked of the stream
/// before it is given work, whether it is being captured, stays true until it has the work.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    /// Pieces of work that threads are giving the stream.
    inside: usize,
    capture: Option<Captured>,
}

/// Who captures the stream, and what the work uses so far.
struct Captured {
    thread: ThreadId,
    uses: Vec<Use>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each update is complete, so a panic elsewhere cannot leave it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be held while the stream is asked and given work. `None` if another thread captures it.
    pub(crate) fn enter(&self) -> Option<Entered<'_>> {
        let mut state = self.state();
        let captured = state.capture.is_some();
        if state.capture.as_ref().is_some_and(|of| of.thread != thread::current().id()) {
            return None;
        }
        state.inside += 1;
        GIVING.set(GIVING.get() + 1);
        Some(Entered { gate: self, captured })
    }

    /// Whether this thread is giving some stream work, or captures one. It would wait for itself if it
    /// began a capture.
    pub(crate) fn is_thread_inside() -> bool {
        GIVING.get() > 0
    }

    /// Lets only this thread enter, once others have left; false if there is such a thread already.
    pub(crate) fn close(&self) -> bool {
        let waits = |state: &mut State| state.inside > 0 && state.capture.is_none();
        let waited = self.left.wait_while(self.state(), waits);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.capture.is_some() {
            return false;
        }
        state.capture = Some(Captured { thread: thread::current().id(), uses: Vec::new() });
        GIVING.set(GIVING.get() + 1);
        true
    }

    /// What was noted since [`close`](Self::close).
    pub(crate) fn take_notes(&self) -> Vec<Use> {
        let mut state = self.state();
        state.capture.as_mut().map_or_else(Vec::new, |captured| std::mem::take(&mut captured.uses))
    }

    /// Lets everybody enter again, after [`close`](Self::close) on the same thread.
    pub(crate) fn open(&self) {
        GIVING.set(GIVING.get() - 1);
        // Memory of which these are the last uses enters, too.
        let captured = self.state().capture.take();
        drop(captured);
    }
}

/// That a thread is giving a stream work.
pub(crate) struct Entered<'g> {
    gate: &'g Gate,
    captured: bool,
}

impl Entered<'_> {
    /// Whether this thread captures the stream.
    pub(crate) fn is_captured(&self) -> bool {
        self.captured
    }

    /// Notes what the work uses, if it is captured.
    pub(crate) fn note(&self, uses: &[Use]) {
        if self.captured
            && let Some(captured) = &mut self.gate.state().capture
        {
            captured.uses.extend_from_slice(uses);
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        GIVING.set(GIVING.get() - 1);
        let mut state = self.gate.state();
        state.inside -= 1;
        if state.inside == 0 {
            self.gate.left.notify_all();
        }
    }
}
