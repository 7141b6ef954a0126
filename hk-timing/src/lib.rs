//! A model of the time that a kernel takes on the products of CDNA3 and CDNA4.
//!
//! [`predict`] takes the trace of some workgroups of a launch (`hk_sim::trace`), times them on one
//! compute unit instruction by instruction, and composes the device from it. It is a pure function of
//! the trace, the parameters and the product. Its figures come from a model and from no measurement
//! of ours: [`Prediction::error`] is what is to be expected of them.
//!
//! | layer | what it does |
//! |---|---|
//! | trace | instructions, cache lines and LDS banks of sampled workgroups, by the simulator |
//! | compute unit | issue, waits, barriers, units and L1, event by event |
//! | memory | L2, MALL and HBM as servers, of which each unit has its share; what hits follows from how the distinct lines grow with the number of workgroups |
//! | device | workgroups in turns on each unit, launch rate, start and end of the kernel |
//! | clock | the largest at which the power stays within the board's |

mod clock;
mod instruction;
mod memory;
mod parameters;
mod predict;
mod unit;

use hk_sim::Product;
use hk_sim::trace::{Model, Traced, set_model};

pub use parameters::{MI300A, Parameter, Parameters};
pub use predict::{Limit, Prediction, Stalls, Timeline, predict, sample, timeline};
pub use unit::{Activity, Reason, Span, WaveLine};

/// Why there is no prediction.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The product has no parameters.
    #[error("{0}: no file of parameters; there are mi300x, mi325x, mi350x, mi355x, mi300a")]
    Product(String),
    /// A file cannot be read.
    #[error("parameters: {0}")]
    ParameterFile(String),
    /// A parameter is not there.
    #[error("parameter {0} is missing")]
    MissingParameter(&'static str),
    /// A file has one that the model does not know.
    #[error("parameter {0} is unknown")]
    UnknownParameter(String),
    /// A value is outside of its range.
    #[error("parameter {name} is {value}, outside of {low} to {high}")]
    ParameterRange {
        /// Parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Least value.
        low: f64,
        /// Largest value.
        high: f64,
    },
    /// A value has no source.
    #[error("parameter {0} has no source")]
    ParameterSource(&'static str),
    /// There is nothing to time.
    #[error("the trace has no workgroups")]
    NoGroups,
    /// A workgroup does not fit a compute unit.
    #[error("a workgroup of {block} work-items, {vgprs} VGPRs and {lds} bytes of LDS does not fit")]
    DoesNotFit {
        /// Work-items.
        block: u32,
        /// VGPRs of a lane.
        vgprs: u32,
        /// LDS in bytes.
        lds: u32,
    },
    /// The workgroups did too much to be timed.
    #[error(
        "{found} wave-instructions would have to be timed on a compute unit, at most {limit} are"
    )]
    TooLong {
        /// Instructions that would have to be timed.
        found: usize,
        /// Most that are timed.
        limit: usize,
    },
    /// An instruction of the trace does not decode.
    #[error("the instruction at {0} of the trace does not decode")]
    Instruction(u32),
    /// Waves wait for each other without end.
    #[error("no wave can go on")]
    Stuck,
}

hk_types::debug_is_message!(Error);

/// Gives this model to the simulator, so that with `HIPKITTENS_SIM_TIMING=1`, or
/// [`hk_sim::set_timing`], events of simulated devices are of its time. As for [`predict`] with `warm`, the
/// MALL holds what it can before each launch. The command `hipkittens`, and the HIP library that
/// `hipkittens run` gives programs, have it from the start.
///
/// Where there is no prediction of a launch, events around it have no time: `hipEventElapsedTime` returns
/// `hipErrorNotSupported`, and the reason is on standard error.
pub fn install() {
    fn seconds(traced: &Traced) -> Result<f64, String> {
        let Traced { dispatch, groups } = traced;
        let by = Parameters::of(dispatch.product).map_err(|error| error.to_string())?;
        let count = dispatch.grid.iter().map(|&n| u64::from(n)).product();
        let neighbours = sample(count, dispatch.product).1;
        let prediction = predict(dispatch, groups, neighbours, true, &by);
        prediction.map(|of| of.seconds).map_err(|error| error.to_string())
    }
    let choose = |groups, product: &Product| sample(groups, product).0;
    set_model(Model { choose, seconds });
}
