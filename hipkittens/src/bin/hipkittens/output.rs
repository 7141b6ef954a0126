//! Standard output, which whoever reads it may close early, as `head` does. That fails nothing: a command
//! ends with the status of what it did, and writes its files.

use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Standard output. What is written after it was closed is dropped.
pub(crate) fn stdout() -> Output {
    Output(io::stdout().lock())
}

/// Whether somebody may still read what is written. Else those who did have what they want, and what
/// serves nothing but more of it may end.
pub(crate) fn is_read() -> bool {
    !CLOSED.load(Ordering::Relaxed)
}

/// See [`stdout`].
pub(crate) struct Output(StdoutLock<'static>);

impl Output {
    /// What came of writing; `dropped` in place of a closed pipe.
    fn unless_closed<T>(
        &mut self,
        dropped: T,
        write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<T>,
    ) -> io::Result<T> {
        if !is_read() {
            return Ok(dropped);
        }
        match write(&mut self.0) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                CLOSED.store(true, Ordering::Relaxed);
                Ok(dropped)
            }
            written => written,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_closed(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_closed((), Write::flush)
    }
}
