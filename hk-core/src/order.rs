//! The order of work on different streams that uses the same memory.
//!
//! Each buffer keeps a ledger of the streams that last wrote and have since read it. Work on
//! another stream waits for them first, as [`Stream::submit`] describes; while a buffer stays on
//! one stream this makes no call of HIP.

use std::fmt;
use std::sync::{Arc, MutexGuard, Weak};

use crate::hip::{Hip, RawEvent, RawStream};
use crate::tensor::Buffer;
use crate::{Error, Result, Stream};

/// That work reads or writes a tensor's memory, for [`Stream::submit`]. Made by
/// [`TensorSlice::as_input`](crate::TensorSlice::as_input) and
/// [`TensorSlice::as_output`](crate::TensorSlice::as_output).
#[derive(Clone)]
pub struct Use {
    buffer: Arc<Buffer>,
    writes: bool,
}

impl Use {
    pub(crate) fn new(buffer: Arc<Buffer>, writes: bool) -> Self {
        Self { buffer, writes }
    }
}

impl fmt::Debug for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.writes { "writes" } else { "reads" };
        write!(f, "Use {kind} {:#x}", self.buffer.address())
    }
}

impl Use {
    /// Each buffer once, with the stronger of its uses.
    pub(crate) fn once_each(mut uses: Vec<Self>) -> Vec<Self> {
        merge(&mut uses, |of| Arc::as_ptr(&of.buffer), |of| &mut of.writes);
        uses
    }
}

/// Leaves one of the uses of each buffer, that writes if any does, in the order of addresses.
fn merge<U>(
    uses: &mut Vec<U>,
    buffer: impl Fn(&U) -> *const Buffer,
    writes: impl Fn(&mut U) -> &mut bool,
) {
    uses.sort_by_key(&buffer);
    uses.dedup_by(|next, kept| {
        let same = buffer(&*next) == buffer(&*kept);
        let stronger = same && *writes(next);
        *writes(kept) |= stronger;
        same
    });
}

/// One use of a buffer.
struct Access {
    /// Gone when all of its work is done.
    stream: Weak<RawStream>,
    /// Where the use ends; without it, at the end of what the stream has been given by the time
    /// that somebody asks.
    event: Option<Arc<RawEvent>>,
}

impl Access {
    fn is_of(&self, stream: &RawStream) -> bool {
        self.stream.upgrade().is_some_and(|own| own.is(stream))
    }
}

/// Conflicts between streams over a buffer from which on each use of it gets an event, so that the
/// next stream waits for no more than that use. The first conflict is often the only one: memory
/// that is made on one stream and then read on another.
const CONFLICTS_UNTIL_EVENTS: u32 = 2;

/// What later uses of a buffer may have to wait for.
#[derive(Default)]
pub(crate) struct Ledger {
    write: Option<Access>,
    /// The last read of each stream since then.
    reads: Vec<Access>,
    /// How often a stream had to wait for another.
    conflicts: u32,
}

impl Ledger {
    /// What work on `stream` must wait for.
    fn before(
        &self,
        stream: &RawStream,
        writes: bool,
    ) -> impl Iterator<Item = (Arc<RawStream>, &Access)> {
        // A stream that has read since the last write has waited for it.
        let seen = self.reads.iter().any(|read| read.is_of(stream));
        let write = self.write.iter().filter(move |_| !seen);
        let reads = self.reads.iter().filter(move |_| writes);
        write.chain(reads).filter_map(|access| {
            let other = access.stream.upgrade()?;
            (!other.is(stream)).then_some((other, access))
        })
    }

    fn note(&mut self, stream: &Arc<RawStream>, writes: bool, event: Option<Arc<RawEvent>>) {
        let access = Access { stream: Arc::downgrade(stream), event };
        if writes {
            self.write = Some(access);
            self.reads.clear();
        } else {
            self.reads.retain(|read| read.stream.strong_count() > 0 && !read.is_of(stream));
            self.reads.push(access);
        }
    }

    /// Notes that all uses were waited for, but, if the last one only read, other reads.
    fn finish(&mut self, stream: &RawStream, writes: bool) {
        self.write = None;
        self.reads.retain(|read| !writes && !read.is_of(stream));
    }

    /// An event for each stream but `home` behind everything that it does with the buffer; `None`
    /// if there is no telling because the stream is being captured.
    pub(crate) fn ends(&self, home: &RawStream) -> Result<Option<Vec<Arc<RawEvent>>>> {
        let mut ends = Vec::new();
        for access in self.write.iter().chain(&self.reads) {
            let Some(stream) = access.stream.upgrade().filter(|stream| !stream.is(home)) else {
                continue;
            };
            match stream.mark()?.or_else(|| access.event.clone()) {
                Some(end) => ends.push(end),
                None => return Ok(None),
            }
        }
        Ok(Some(ends))
    }
}

/// The locked ledgers of all buffers that a piece of work uses.
struct Ledgers<'t>(Vec<(MutexGuard<'t, Ledger>, bool)>);

impl<'t> Ledgers<'t> {
    fn lock(stream: &Stream, uses: &'t [Use]) -> Result<Self> {
        let mut uses: Vec<_> = uses.iter().map(|of| (&*of.buffer, of.writes)).collect();
        // In one order, whatever that of the arguments, so that two threads never wait for each
        // other; each once, with the stronger of its uses.
        merge(&mut uses, |(buffer, _)| std::ptr::from_ref(*buffer), |(_, writes)| writes);
        for (buffer, _) in &uses {
            let device = buffer.home().device();
            if device != stream.device() {
                let (a, b) =
                    (format!("memory on {device}"), format!("work on {}", stream.device()));
                return Err(Error::Device { op: "Stream::submit", a, b });
            }
        }
        Ok(Self(uses.into_iter().map(|(buffer, writes)| (buffer.ledger(), writes)).collect()))
    }

    /// Lets later work of the stream wait for earlier uses on others. False if it is being
    /// captured, when it can wait for nothing outside the graph.
    fn wait(&mut self, stream: &RawStream) -> Result<bool> {
        let mut marks: Vec<(Arc<RawStream>, Arc<RawEvent>)> = Vec::new();
        for (ledger, writes) in &mut self.0 {
            let mut conflict = false;
            for (other, access) in ledger.before(stream, *writes) {
                if !conflict && stream.is_capturing()? {
                    return Ok(false);
                }
                conflict = true;
                if let Some(event) = &access.event {
                    stream.wait(event)?;
                } else if !marks.iter().any(|(marked, _)| marked.is(&other)) {
                    let mark = other.mark()?.ok_or(Error::StreamCapture {
                        op: "Stream::submit",
                        why: "what it did with a tensor before cannot be waited for",
                    })?;
                    stream.wait(&mark)?;
                    marks.push((other, mark));
                }
            }
            ledger.conflicts = ledger.conflicts.saturating_add(u32::from(conflict));
        }
        Ok(true)
    }

    fn note(&mut self, stream: &Arc<RawStream>) {
        let mut end = None;
        for (ledger, writes) in &mut self.0 {
            if end.is_none() && ledger.conflicts >= CONFLICTS_UNTIL_EVENTS {
                // Without an event, the stream's end serves.
                end = stream.mark().ok().flatten();
            }
            let event = end.clone().filter(|_| ledger.conflicts >= CONFLICTS_UNTIL_EVENTS);
            ledger.note(stream, *writes, event);
        }
    }
}

impl Stream {
    /// Gives the stream work that uses tensors: waits, on the stream, until what other streams
    /// were given before is done with them, as far as either writes; then runs `work`, which
    /// launches. All memory that it uses is to be listed, but what only this stream ever used.
    ///
    /// Other threads that would use the same tensors wait until `work` returns. It must not itself
    /// do anything with them but launch.
    ///
    /// While this thread [captures](Self::capture) the stream, the work waits for nothing; but what it
    /// uses is noted for the graph, which keeps it and waits for it at each launch. While other code
    /// captures the stream, nothing is noted: whoever captures and launches it has to order, in the
    /// graph and around it, what streams do with the same tensors, and to keep them.
    ///
    /// ```
    /// use hk_core::{DevicePtr, Function, LaunchConfig, Result, Tensor, kernel_args};
    ///
    /// kernel_args! {
    ///     struct ScaleArgs { x: DevicePtr<f32>, y: DevicePtr<f32>, n: u32 }
    /// }
    ///
    /// fn scale(kernel: &Function<ScaleArgs>, x: &Tensor<f32>, y: &mut Tensor<f32>) -> Result<()> {
    ///     let args = ScaleArgs { x: x.ptr(), y: y.ptr_mut(), n: x.len() as u32 };
    ///     let config = LaunchConfig::for_elements(x.len(), 256);
    ///     x.stream().submit(&[x.as_input(), y.as_output()], || {
    ///         // SAFETY: ...
    ///         unsafe { kernel.launch(x.stream(), config, &args) }
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    /// Those of `work`; [`Error::Device`] if a tensor is another device's; [`Error::StreamCapture`]
    /// if another thread captures the stream, or one that used a tensor before is being captured;
    /// [`Error::Hip`].
    pub fn submit<R>(&self, uses: &[Use], work: impl FnOnce() -> Result<R>) -> Result<R> {
        let entered = self.enter("Stream::submit")?;
        let mut ledgers = Ledgers::lock(self, uses)?;
        entered.note(uses);
        let tracked = ledgers.wait(self.queue())?;
        let result = work();
        if tracked {
            // Also if it failed: a part may be under way.
            ledgers.note(self.queue());
        }
        result
    }

    /// Makes copies that borrow host memory, and waits for them, also if one fails.
    pub(crate) fn copy(
        &self,
        op: &'static str,
        uses: &[Use],
        copies: impl FnOnce(&Hip) -> Result<()>,
    ) -> Result<()> {
        let _entered = self.enter(op)?;
        if self.queue().is_capturing()? {
            let why = "host memory cannot be copied";
            return Err(Error::StreamCapture { op, why });
        }
        let mut ledgers = Ledgers::lock(self, uses)?;
        ledgers.wait(self.queue())?;
        let hip = self.queue().bind()?;
        let copied = copies(&hip);
        let waited = hip.synchronize_stream(self.raw());
        if waited.is_err() {
            // It may have failed before the copies were done.
            while matches!(hip.is_stream_idle(self.raw()), Ok(false)) {
                std::thread::yield_now();
            }
            ledgers.note(self.queue());
        } else {
            for (ledger, writes) in &mut ledgers.0 {
                ledger.finish(self.queue(), *writes);
            }
        }
        copied.and(waited)
    }
}
