//! The runtime behind the C API: devices, streams, events, modules, launches.

mod capture;
mod copy;
mod device;
mod error;
mod event;
mod launch;
mod module;
pub mod occupancy;
mod order;
mod pool;
mod properties;
mod state;
mod stream;

pub use error::HipError;
pub(crate) use error::HipResult;

pub(crate) use capture::{Capture, CaptureMode, Graph};
pub(crate) use copy::{Copy2d, Fill, Host, Sides};
pub(crate) use device::Device;
pub(crate) use event::{Event, EventState};
pub(crate) use launch::{Launch, Shape};
pub(crate) use module::{Function, Module};
pub(crate) use order::{What, whole};
pub(crate) use pool::{Pool, PoolValue};
pub(crate) use properties::{Properties, attribute};
pub(crate) use state::{
    capture_mode, current_device, current_ordinal, last_error, memory, note_error, pop_call,
    push_call, raise, runtime, set_capture_mode, set_current, set_message, take_error,
};
pub use state::{device_ordinal, exec_options, last_fault, last_message, set_exec_options};
pub(crate) use stream::{Job, Marker, Stream, StreamKind, Worker};
