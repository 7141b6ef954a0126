//! Execution of decoded instructions.
//!
//! A [`Program`] is the code of one loaded code object, lowered once into [`MicroOp`]s. [`run`]
//! executes a [`Dispatch`] of it: workgroups on a pool of threads, the waves of a workgroup on one
//! thread in turns. A handler sees one [`Wave`] and one [`MicroOp`]; each encoding has its file.

mod access;
mod buffer;
mod coverage;
mod ds;
pub(crate) mod effects;
mod flat;
pub mod float;
mod group;
mod matrix;
pub mod mfma;
mod micro;
mod observer;
mod program;
mod progress;
mod salu;
mod schedule;
pub mod simd;
mod single;
mod smem;
pub mod transcendental;
mod valu;
mod wave;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

pub use coverage::{Coverage, Executed, Seen};
pub use micro::{Detail, Handler, MicroOp, Unsupported};
pub use observer::{GroupObserver, Observer};
pub use program::{CodeSection, Program};
pub(crate) use progress::Count;
pub(crate) use schedule::run_chosen;
pub use schedule::{run, run_observed};
pub use single::SingleWave;
pub use wave::{
    EXEC, Fault, Flow, INLINE_F32, M0, POISON, PRIVATE_APERTURE, SHARED_APERTURE, VCC, VECTOR_ROWS,
    WAVE, Wave, inline_f64,
};

use crate::isa::Arch;
use crate::mem::Mapping;
pub use crate::object::WaveSetup;
use crate::product::Product;

/// The 64 lanes of one 32-bit vector register.
pub type Lanes = [u32; WAVE];

/// Launch of one kernel.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Simulated product.
    pub product: &'static Product,
    /// Code.
    pub program: Arc<Program>,
    /// Kernel name, for reports.
    pub kernel: String,
    /// Address of the first instruction.
    pub entry: u64,
    /// Initial register state and resources that the kernel descriptor asks for.
    pub setup: WaveSetup,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// Work-items of the last workgroup in x, y, z: less than `block` where the grid, counted in
    /// work-items, is not a multiple of it.
    pub tail: [u32; 3],
    /// Address of the kernarg segment.
    pub kernarg: u64,
    /// Address of the 64-byte dispatch packet.
    pub dispatch_packet: u64,
    /// Address of the queue structure.
    pub queue: u64,
    /// Static plus dynamic LDS of a workgroup in bytes.
    pub lds_bytes: u32,
    /// Private memory of a work-item in bytes.
    pub scratch_bytes: u32,
    /// All memory that the kernel may touch, sorted by address.
    pub regions: Arc<[Mapping]>,
}

/// How to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecOptions {
    /// Threads; 0 takes what the host offers.
    pub threads: usize,
    /// Permutes the order and the turns of waves and workgroups; `None` is plain round robin.
    pub seed: Option<u64>,
    /// Instructions that a wave executes before another wave of its workgroup gets its turn; with a
    /// seed, the most that it may. With few the waves advance nearly in step, as on hardware, and
    /// kernels run right that rely on it. With many a wave runs far ahead of others as long as no
    /// barrier stops it, which shows barriers that are missing.
    pub slice: u32,
    /// Whether functions that chips compute to a unit in the last place (`v_rcp_f32`, `v_rsq_f32`,
    /// `v_sqrt_f32`, `v_exp_f32`, `v_log_f32`) give the number on the other side of the exact result
    /// instead of the nearest one: kernels that rely on more show.
    pub rough: bool,
    /// Wave instructions that a launch may execute.
    pub max_instructions: u64,
    /// Time for the host or another stream to change what the waves of a launch poll once none of
    /// them can go on by itself; then the launch fails.
    pub patience: Duration,
    /// Where executed instructions are noted.
    pub coverage: Option<Arc<Coverage>>,
}

impl ExecOptions {
    /// The slice in which waves advance nearly in step, the default.
    pub const NEAR_LOCKSTEP: u32 = 8;
    /// A slice in which a seed permutes waves thoroughly.
    pub const PERMUTED: u32 = 512;
    /// A slice in which one wave runs as far ahead as barriers let it.
    pub const FAR_AHEAD: u32 = 8192;
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            threads: 0,
            seed: None,
            slice: Self::NEAR_LOCKSTEP,
            rough: false,
            max_instructions: 1 << 44,
            patience: Duration::from_secs(5),
            coverage: None,
        }
    }
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Wave instructions executed.
    pub instructions: u64,
    /// Workgroups executed.
    pub workgroups: u64,
}

/// What all waves of a launch share.
pub struct Env<'a> {
    /// Code.
    pub program: &'a Program,
    /// Memory.
    pub regions: &'a [Mapping],
    /// Chip.
    pub arch: Arch,
    /// Simulated product.
    pub product: &'static Product,
    /// Launch.
    pub dispatch: &'a Dispatch,
    /// Instructions of all finished time slices, for the budget.
    pub executed: AtomicU64,
    /// Start of the launch, the zero of `s_memrealtime`.
    pub start: std::time::Instant,
    /// Who watches each instruction, which costs time.
    pub observer: Option<&'a dyn Observer>,
}
