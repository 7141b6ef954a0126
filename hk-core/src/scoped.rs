//! Values of a thread that others stand in for while something runs.

use std::cell::RefCell;
use std::mem;
use std::thread::LocalKey;

/// What a thread notes while somebody listens: nothing, if nobody does.
pub(crate) type Notes<T> = RefCell<Option<Vec<T>>>;

/// Runs `work` while the thread's value is this one, and gives what that has become, too. Then the outer
/// one is back, also if `work` panics.
pub(crate) fn with_value<T: Default, R>(
    of: &'static LocalKey<RefCell<T>>,
    value: T,
    work: impl FnOnce() -> R,
) -> (R, T) {
    struct Outer<T: Default + 'static>(&'static LocalKey<RefCell<T>>, T);

    impl<T: Default> Drop for Outer<T> {
        fn drop(&mut self) {
            self.0.set(mem::take(&mut self.1));
        }
    }

    let _outer = Outer(of, of.replace(value));
    let result = work();
    (result, of.take())
}

/// Runs `work`, and gives what this thread has noted meanwhile, in order; of nested calls, the inner one
/// takes its notes for itself.
pub(crate) fn with_notes<T, R>(
    of: &'static LocalKey<Notes<T>>,
    work: impl FnOnce() -> R,
) -> (R, Vec<T>) {
    let (result, notes) = with_value(of, Some(Vec::new()), work);
    (result, notes.unwrap_or_default())
}

/// Notes what `make` gives, if somebody listens, and gives its number there.
pub(crate) fn note<T>(of: &'static LocalKey<Notes<T>>, make: impl FnOnce() -> T) -> Option<usize> {
    of.with_borrow_mut(|notes| {
        let notes = notes.as_mut()?;
        notes.push(make());
        Some(notes.len() - 1)
    })
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    thread_local! {
        static NOTES: Notes<u32> = const { RefCell::new(None) };
    }

    fn numbered(number: u32) -> Option<usize> {
        note(&NOTES, || number)
    }

    #[test]
    fn an_inner_call_takes_its_notes_for_itself() {
        assert_eq!(note(&NOTES, || unreachable!("nobody listens")), None);
        let (inner, outer) = with_notes(&NOTES, || {
            assert_eq!(numbered(1), Some(0));
            let inner = with_notes(&NOTES, || numbered(2));
            assert_eq!(numbered(3), Some(1));
            inner
        });
        assert_eq!((inner, outer), ((Some(0), vec![2]), vec![1, 3]));
        assert_eq!(numbered(4), None);
    }

    #[test]
    fn the_outer_value_is_back_after_a_panic() {
        let ((), notes) = with_notes(&NOTES, || {
            let panics = || with_notes(&NOTES, || -> () { panic!("on purpose") });
            assert!(catch_unwind(panics).is_err());
            numbered(5);
        });
        assert_eq!(notes, [5]);
    }
}
