//! What every op does before it launches: it declares its arguments, once each, and has them
//! checked together.
//!
//! An op's function declares inputs and outputs with [`Arguments`], which gives back what the kernel
//! needs of each (strides, sizes), and ends with [`check`](Arguments::check). Only the [`Call`] that
//! this yields can launch, and only once, so nothing is launched before all is checked. What the
//! call reads and writes, which [`Stream::submit`] has to know, follows from the declarations.
//!
//! ```
//! use hk_core::op::Arguments;
//! use hk_core::{DevicePtr, Function, LaunchConfig, Result, TensorSlice, kernel_args};
//!
//! kernel_args! {
//!     struct ScaleArgs { x: DevicePtr<f32>, y: DevicePtr<f32>, stride: i64, width: u32, by: f32 }
//! }
//!
//! /// Multiplies the rows of `x` by a number. `y` may be `x`.
//! fn scale(
//!     kernel: &Function<ScaleArgs>,
//!     x: &TensorSlice<f32>,
//!     by: f32,
//!     y: &mut TensorSlice<f32>,
//! ) -> Result<()> {
//!     let mut args = Arguments::new("scale");
//!     let stride = args.input("x", x, &["..", "n"]).may_be("y").rows()?;
//!     args.output("y", y, &["..", "n"]).contiguous()?;
//!     let [rows, width] = args.sizes(["..", "n"])?;
//!     args.limit("n", 1..=u32::MAX as usize)?;
//!     args.require(by.is_finite(), "by", "finite", by)?;
//!     let call = args.check()?;
//!
//!     let config = LaunchConfig::new(rows as u32, 256);
//!     let args = ScaleArgs { x: x.ptr(), y: y.ptr_mut(), stride, width: width as u32, by };
//!     call.submit(|stream| {
//!         // SAFETY: the kernel stays within the shapes that were checked.
//!         unsafe { kernel.launch(stream, config, &args) }
//!     })
//! }
//! ```

mod arguments;
pub mod encode;
pub mod epilogue;
pub mod experts;
pub mod feed_forward;
pub mod grouped;
pub mod indices;
mod plan;
pub mod prequant;
pub mod product;
mod product_beside;
pub mod product_pair;
pub mod quant;
pub mod quant_rows;
pub mod ragged;
mod record;
pub mod rows;
mod sizes;
pub mod split_cat;
pub mod stored;
pub mod tiling;

use std::fmt;
use std::sync::Arc;

pub use arguments::{Argument, Arguments, Role, Strides};
pub use record::{ArgumentInfo, CallInfo, dry_run};

use crate::order::Use;
use crate::workspace::{ALIGNMENT, Workspace};
use crate::{Device, DevicePtr, Error, Result, Stream};

/// A call of an op whose arguments are right. What it launches, it launches in
/// [`submit`](Self::submit).
pub struct Call {
    op: &'static str,
    stream: Stream,
    uses: Vec<Use>,
    workspace: Option<Arc<Workspace>>,
    /// Whether one was asked for.
    has_workspace: bool,
    /// Its number in the dry run that it is a part of.
    dry: Option<usize>,
}

impl Call {
    /// The op's name.
    pub const fn op(&self) -> &'static str {
        self.op
    }

    /// The stream of all arguments.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device of all arguments.
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// Whether it is part of a [dry run](dry_run), in which nothing is to be written.
    pub const fn is_dry(&self) -> bool {
        self.dry.is_some()
    }

    /// Memory for what the launches hand to each other: pieces of so many bytes, each aligned to 256.
    /// It is the stream's, which keeps it for later calls, or, if the stream is being captured, the
    /// graph's. What is in it is left from others.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; [`Error::Value`] if the call has a workspace already; [`Error::Hip`].
    pub fn workspace<const N: usize>(&mut self, bytes: [usize; N]) -> Result<[DevicePtr<u8>; N]> {
        let mut total = 0usize;
        let mut starts = [0; N];
        for (start, bytes) in starts.iter_mut().zip(bytes) {
            *start = total;
            let end = bytes.checked_next_multiple_of(ALIGNMENT);
            let end = end.and_then(|bytes| total.checked_add(bytes));
            total = end.ok_or(Error::OutOfMemory { requested: usize::MAX, free: 0 })?;
        }
        if std::mem::replace(&mut self.has_workspace, true) {
            return Err(Error::value(self.op, "workspace", "asked for once", "twice"));
        }
        let base = match self.dry {
            _ if total == 0 => 0,
            Some(call) => {
                record::note_workspace(call, total);
                0
            }
            None => self.workspace.insert(self.stream.workspace(self.op, total)?).address(),
        };
        Ok(starts.map(|start| DevicePtr::new(base + start as u64)))
    }

    /// Gives the stream all launches of the op, in the order in which other streams have to see what
    /// they do with the arguments: see [`Stream::submit`]. By then everything is checked, chosen and
    /// allocated: all that `launches` does is launch.
    ///
    /// # Errors
    /// Those of `launches`, and of [`Stream::submit`].
    pub fn submit(self, launches: impl FnOnce(&Stream) -> Result<()>) -> Result<()> {
        if self.dry.is_some() {
            return Ok(());
        }
        let _turn = self.workspace.as_deref().map(|workspace| workspace.turn(&self.stream));
        self.stream.submit(&self.uses, || launches(&self.stream))
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("op", &self.op).field("stream", &self.stream).finish()
    }
}
