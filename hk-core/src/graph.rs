//! Work that is given once and done many times.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::hip::{Gate, RawCapture, RawGraph};
use crate::tensor::Buffer;
use crate::{Device, Error, Result, Stream, Use};

/// Work of a stream, captured by [`Stream::capture`], that one call does again: a HIP graph.
///
/// # What it may touch
///
/// Work writes the tensors that were `&mut` when it was captured, at each launch. So that nobody has
/// borrowed them then, a graph takes them along: it owns its state, which the work was given as
/// `&mut`, lends it between launches, and needs `&mut self` to be launched; and what the work borrowed
/// from around it stays borrowed for `'a`, as long as the graph lives. As the state may itself hold
/// `&mut` of tensors, these need not move anywhere.
///
/// ```compile_fail,E0502
/// # let stream = hk_core::Device::open("sim:mi355x")?.new_stream()?;
/// # let mut y = hk_core::Tensor::<f32>::zeros(&stream, &[4])?;
/// let mut graph = stream.capture((), |()| y.fill(1.0))?;
/// let seen = y.view();
/// graph.launch(&stream)?;
/// assert_eq!(seen.to_vec()?, [0.0; 4]);
/// # Ok::<(), hk_core::Error>(())
/// ```
///
/// The compiler does not see tensors that are shared at run time, as in a mutex, nor that some were
/// moved out of the state. Nothing goes wrong then but that their numbers change at a launch: the graph
/// itself keeps all memory that its work uses, whoever else drops it, and a launch is ordered with
/// all other work on it, as that of [`Stream::submit`] is.
///
/// The work finds tensors where they were. One that takes another's place in the state is not used.
///
/// # When it is dropped
///
/// It does not wait for launches that are under way. HIP's graph is destroyed, and memory of which the
/// graph was the last owner is given back, when these are done.
pub struct Graph<'a, S> {
    // Before the memory that its launches use.
    raw: RawGraph,
    /// All memory that the work uses; and, as the first, none, which stands for the graph itself: as
    /// each launch writes that, one comes after another, on whatever streams.
    uses: Vec<Use>,
    device: Device,
    state: S,
    borrowed: PhantomData<&'a ()>,
}

impl Stream {
    /// Runs `work`, which gives this stream work, and gives that as a graph instead of doing it.
    ///
    /// `work` is given the graph's [state](Graph): as a rule, the tensors that it writes. What it
    /// gives other streams is done at once. It can launch, fill, and copy on the device; nothing that
    /// [`Error::StreamCapture`] is for: allocate, copy from or to the host, use events. So take forms of ops
    /// with `_into`; a workspace that they need is the graph's own.
    ///
    /// Until it returns, other threads that would give this stream work get that error, too; memory that they
    /// drop is given back later.
    ///
    /// ```
    /// use hk_core::{Device, Tensor};
    ///
    /// let stream = Device::open("sim:mi355x")?.new_stream()?;
    /// let [x, y] = [1.0f32, 0.0].map(|value| Tensor::filled(&stream, &[4], value));
    /// let mut graph = stream.capture((x?, y?), |(x, y)| y.copy_from(x))?;
    /// for i in 0..3 {
    ///     let (x, _) = graph.state_mut();
    ///     x.write(&[i as f32; 4])?;
    ///     graph.launch(&stream)?;
    ///     let (_, y) = graph.state();
    ///     assert_eq!(y.to_vec()?, [i as f32; 4]);
    /// }
    /// # Ok::<(), hk_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `work`; [`Error::Value`] if this is the default stream, or the thread is in the midst of another
    /// capture or of [`submit`](Self::submit); [`Error::StreamCapture`] if the stream is being captured
    /// already; [`Error::Hip`] if HIP refuses, also if something that HIP does not allow was done
    /// meanwhile, such as waiting for the stream. The stream does work again, and nothing was done.
    pub fn capture<'a, S>(
        &self,
        mut state: S,
        work: impl FnOnce(&mut S) -> Result<()> + 'a,
    ) -> Result<Graph<'a, S>> {
        let op = "Stream::capture";
        let refuse = |constraint: &str, got: &str| Err(Error::value(op, "self", constraint, got));
        if self.raw().is_null() {
            return refuse("a stream of its own", "the default stream");
        }
        let captured = || Error::StreamCapture { op, why: "no other graph can be captured" };
        if self.is_capturing()? {
            return Err(captured());
        }
        if Gate::is_thread_inside() {
            return refuse("captured outside of other work", "a call from within other work");
        }
        let capture = RawCapture::begin(self.queue())?.ok_or_else(captured)?;
        work(&mut state)?;
        let (raw, noted) = capture.end()?;
        let own = Use::new(Arc::new(Buffer::new(op, self, 0)?), true);
        let uses = std::iter::once(own).chain(Use::once_each(noted)).collect();
        Ok(Graph { raw, uses, device: self.device().clone(), state, borrowed: PhantomData })
    }
}

impl<S> Graph<'_, S> {
    /// Gives a stream the work, without waiting. It need not be the one that was captured.
    ///
    /// # Errors
    /// [`Error::Device`] if the stream is another device's; [`Error::StreamCapture`] if it is being captured,
    /// or one that used a tensor of the graph before; [`Error::Hip`] or [`Error::Fault`] if HIP refuses, also
    /// because of earlier work. What goes wrong in the work is reported by the stream's next
    /// synchronisation at the latest.
    pub fn launch(&mut self, stream: &Stream) -> Result<()> {
        let op = "Graph::launch";
        if *stream.device() != self.device {
            let (a, b) =
                (format!("self on {}", self.device), format!("stream on {}", stream.device()));
            return Err(Error::Device { op, a, b });
        }
        let Self { raw, uses, .. } = self;
        stream.submit(uses, || {
            if stream.is_capturing()? {
                return Err(Error::StreamCapture { op, why: "a graph cannot be launched" });
            }
            // SAFETY: the work was captured from safe code, and from launches whose callers list what
            // they use: `uses` keep that, and are given back, in stream order, after this.
            unsafe { raw.launch(stream.queue()) }
        })
    }

    /// What its work was given.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// What its work was given, to be changed between launches.
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }

    /// Drops the graph, but not what its work was given.
    pub fn into_state(self) -> S {
        self.state
    }
}

impl<S> fmt::Debug for Graph<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("device", &self.device).finish_non_exhaustive()
    }
}
