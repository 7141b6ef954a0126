//! The runtime behind the C API: devices, streams, events, modules, launches.

mod capture;
mod copy;
mod device;
mod error;
mod event;
mod graph;
mod launch;
mod module;
mod node_memory;
pub mod occupancy;
mod order;
mod pool;
mod record;
mod state;
mod stream;
mod time;
mod user_object;
mod value;

pub use error::HipError;
pub(crate) use error::HipResult;

pub(crate) use capture::{Capture, CaptureMode};
pub(crate) use copy::{Extent, Fill, Host, Rows, Sides, Transfer};
pub(crate) use device::Device;
pub(crate) use event::{Event, EventState};
pub(crate) use graph::{
    Executable, Graph, HostCall, Node, NodeRef, NodeType, Piece, Turn, UpdateError, Work, lock,
    marker_of, pieces,
};
pub(crate) use launch::{Launch, Shape};
pub(crate) use module::{Function, Module};
pub(crate) use node_memory::{NodeMemory, free_job};
pub(crate) use order::{What, whole};
pub(crate) use pool::{Pool, PoolValue};
pub(crate) use state::{
    capture_mode, current_device, current_ordinal, last_error, memory, note_result, pop_call,
    push_call, raise, runtime, set_capture_mode, set_current, set_message, take_error, take_result,
};
pub use state::{
    device_ordinal, last_fault, last_message, options, set_capture, set_options, set_timing,
};
pub(crate) use stream::{Job, Marker, Stream, StreamKind, Worker};
pub(crate) use user_object::UserObject;
pub(crate) use value::{Action, Compare, ValueOp};
