//! Calls of ops as values, for those who only want to know what they would be.

use std::cell::RefCell;

use super::{Role, Strides};
use crate::dtype::DType;
use crate::scoped::{self, Notes, with_notes};

thread_local! {
    /// What [`dry_run`] has seen on this thread so far, while it runs.
    static RECORD: Notes<CallInfo> = const { RefCell::new(None) };
}

/// A call of an op whose arguments are right.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallInfo {
    /// The op.
    pub op: &'static str,
    /// Its tensors, in the order in which it checks them.
    pub arguments: Vec<ArgumentInfo>,
    /// Bytes of the stream's [workspace](crate::Stream::reserve_workspace) that it uses.
    pub workspace_bytes: usize,
}

/// What an op says of one of its tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArgumentInfo {
    /// The argument's name.
    pub name: &'static str,
    /// Whether it is read or written.
    pub role: Role,
    /// Its element type.
    pub dtype: DType,
    /// Its shape by name, such as `["..", "n"]`; see [`Arguments`](super::Arguments).
    pub dims: &'static [&'static str],
    /// Its shape in this call.
    pub shape: Vec<usize>,
    /// The layouts that the op takes.
    pub strides: Strides,
    /// The alignment in bytes that the op needs.
    pub alignment: usize,
    /// The output that it may be.
    pub may_be: Option<&'static str>,
    /// Whether the op takes it, a vector, as a matrix of one row, too.
    pub or_row: bool,
}

/// Runs `work`, and tells of each call of an op what it was, in order; the ops check their arguments
/// and choose their kernels, but launch nothing, and leave their outputs as they were. Only this
/// thread's calls are meant; of nested ones, the inner one takes its calls for itself.
///
/// ```
/// use hk_core::op::{Arguments, dry_run};
/// use hk_core::{Device, Result, Tensor, TensorSlice};
///
/// fn fill(y: &mut TensorSlice<f32>) -> Result<()> {
///     let mut args = Arguments::new("fill");
///     args.output("y", y, &["..", "n"]).rows()?;
///     args.check()?.submit(|_| unreachable!("nothing is launched"))
/// }
///
/// let mut y = Tensor::empty(&Device::open("sim:mi355x")?.default_stream(), &[2, 3])?;
/// let (result, calls) = dry_run(|| fill(&mut y));
/// assert!(result.is_ok());
/// assert_eq!((calls[0].op, calls[0].arguments[0].name), ("fill", "y"));
/// # Ok::<(), hk_core::Error>(())
/// ```
pub fn dry_run<R>(work: impl FnOnce() -> R) -> (R, Vec<CallInfo>) {
    with_notes(&RECORD, work)
}

/// Notes a call, if this thread is in a dry run, and gives its number there.
pub(super) fn note(
    op: &'static str,
    arguments: impl FnOnce() -> Vec<ArgumentInfo>,
) -> Option<usize> {
    scoped::note(&RECORD, || CallInfo { op, arguments: arguments(), workspace_bytes: 0 })
}

/// Notes what workspace the call of that number uses.
pub(super) fn note_workspace(call: usize, bytes: usize) {
    RECORD.with_borrow_mut(|record| {
        if let Some(call) = record.as_mut().and_then(|record| record.get_mut(call)) {
            call.workspace_bytes = bytes;
        }
    });
}
