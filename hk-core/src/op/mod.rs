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
mod record;
mod sizes;

pub use arguments::{Argument, Arguments, Role, Strides};
pub use record::{ArgumentInfo, CallInfo, dry_run};

use crate::order::Use;
use crate::{Device, Result, Stream};

/// A call of an op whose arguments are right. What it launches, it launches in [`submit`](Self::submit).
#[derive(Debug)]
pub struct Call {
    stream: Stream,
    uses: Vec<Use>,
    /// Whether it is to be left out.
    is_dry: bool,
}

impl Call {
    /// The stream of all arguments.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The device of all arguments.
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// Gives the stream all launches of the op, in the order in which other streams have to see what
    /// they do with the arguments: see [`Stream::submit`]. By then everything is checked, chosen and
    /// allocated: all that `launches` does is launch.
    ///
    /// # Errors
    /// Those of `launches`, and of [`Stream::submit`].
    pub fn submit(self, launches: impl FnOnce(&Stream) -> Result<()>) -> Result<()> {
        if self.is_dry {
            return Ok(());
        }
        self.stream.submit(&self.uses, || launches(&self.stream))
    }
}
