//! The states of a gated delta rule from chunk to chunk of tokens, of what
//! [`recompute_w_u`](crate::recompute_w_u) gives. A sequence and head of values begins with its initial
//! state S, or zeros; of each chunk,
//!
//! ```text
//! h     = S                                         the snapshot before the chunk
//! v_new = u - w S
//! S     = exp(G_last) S + k^T (exp(G_last - G) v_new)
//! ```
//!
//! with the sums G of the logarithms of decays in the chunk up to each token, and G_last that of its last
//! token. Snapshots are in the order of sequences, and of chunks in each.
//!
//! A sequence whose slot is -1, or one that there is not, begins with zeros and leaves no state.
//!
//! | | |
//! |---|---|
//! | Shapes | k `[b, t, h, k]`, w `[b, t, hv, k]`, u `[b, t, hv, v]`, G `[b, t, hv]`, states `[n, hv, k, v]` or `[n, hv, v, k]`, or of slots -> h `[chunks, hv, k, v]` or `[chunks, hv, v, k]`, v_new as u, states; chunks of 16, 32 or 64 tokens; n is b, or as many sequences as the schedule has; hv a multiple of h; k from 1 to 256, v from 1 to 512; any strides of all but the innermost dimension, 64 tokens and a state of a head within 2^31 bytes |
//! | Dtypes | k, w, u, v_new all bf16, or all f16; G f32; initial states, final states f32, bf16 each; snapshots bf16, f16, f32; slots i32, i64 |
//! | Numerics | S in f32 from the first chunk to the last; as an operand of products it is rounded to the type of k, as are v_new and exp(G_last - G) v_new, each once, from f32; bitwise deterministic |
//! | Hardware | cdna3, cdna4; states stay in registers; a workgroup has 16 values of a head |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{ChunkDeltaHOptions, Device, Tensor, bf16, chunk_delta_h_fwd};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let one = Tensor::filled(&stream, &[1, 1, 1, 1], bf16::ONE)?;
//! let u = Tensor::filled(&stream, &[1, 1, 1, 1], bf16::from_f32(5.0))?;
//! let initial = Tensor::filled(&stream, &[1, 1, 1, 1], 2.0f32)?;
//! let options = ChunkDeltaHOptions::default().output_final_state(true);
//! let out = chunk_delta_h_fwd::<_, bf16, _>(&one, &one, &u, Some(&*initial), &options)?;
//! assert_eq!(out.h.to_vec()?, [bf16::from_f32(2.0)]);
//! // What was not known, 5 - 2, is learnt.
//! assert_eq!(out.final_state.expect("it is wanted").to_vec()?, [5.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

use hk_core::dtype::Real;
use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

#[cfg(doc)]
use hk_core::Error;

use crate::chunk_kkt::MOST_KEYS;
use crate::chunk_states::{ChunkStates, StateRows};
use crate::chunk_wu::MOST_VALUES;
use crate::chunks::{ChunkElement, ChunkGates, ChunkOp, ChunkSchedule, Chunking, GateBase, grid};
use crate::delta_rule::{State, StateLayout, TokenHeads};
use crate::{KERNELS, PrefillSchedule};

/// What can be chosen of the scan. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChunkDeltaHOptions<'a> {
    chunking: Chunking<'a>,
    gates: Option<ChunkGates<'a>>,
    layout: StateLayout,
    output_final_state: bool,
    validate_indices: Option<bool>,
}

impl<'a> ChunkDeltaHOptions<'a> {
    /// Tokens of a chunk, 16, 32 or 64; those of the schedule, or 64, if not given.
    #[must_use]
    pub fn chunk_size(mut self, tokens: usize) -> Self {
        self.chunking.chunk_size = Some(tokens);
        self
    }

    /// The chunks of sequences that follow each other; b is 1.
    #[must_use]
    pub fn schedule(mut self, schedule: &'a PrefillSchedule) -> Self {
        self.chunking.schedule = Some(schedule);
        self
    }

    /// Sums of the logarithms of decays; 0 if not given.
    #[must_use]
    pub fn gates(self, gates: ChunkGates<'a>) -> Self {
        Self { gates: Some(gates), ..self }
    }

    /// The order of keys and values in states and snapshots.
    #[must_use]
    pub fn state_layout(self, layout: StateLayout) -> Self {
        Self { layout, ..self }
    }

    /// Whether the states after the last tokens are returned.
    #[must_use]
    pub fn output_final_state(self, output: bool) -> Self {
        Self { output_final_state: output, ..self }
    }

    /// Whether slots are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

/// What [`chunk_delta_h_fwd`] returns.
#[derive(Debug)]
pub struct ChunkDeltaH<T: ChunkElement, H: Real, S: State> {
    /// The states before each chunk.
    pub h: Tensor<H>,
    /// What is learnt, in the shape of u.
    pub v_new: Tensor<T>,
    /// The states after the last tokens, if they are wanted.
    pub final_state: Option<Tensor<S>>,
}

/// Where [`chunk_delta_h_fwd_into`] stores.
#[derive(Debug)]
pub struct ChunkDeltaHOut<'a, T: ChunkElement, H: Real, S: State, F: State = S> {
    /// The states before each chunk; wanted if given.
    pub h: Option<&'a mut TensorSlice<H>>,
    /// What is learnt, in the shape of u; wanted if given.
    pub v_new: Option<&'a mut TensorSlice<T>>,
    /// The states with which sequences begin and end.
    pub states: ChunkStates<'a, S, F>,
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/chunk_delta_h.hip` declares them.
    pub(crate) struct ChunkDeltaHArgs {
        pub(crate) schedule: ChunkSchedule,
        pub(crate) k: TokenHeads,
        pub(crate) w: TokenHeads,
        pub(crate) u: TokenHeads,
        pub(crate) g: TokenHeads,
        pub(crate) v_new: TokenHeads,
        pub(crate) initial_states: StateRows,
        pub(crate) final_states: StateRows,
        pub(crate) snapshots: StateRows,
        pub(crate) slots: IndexList,
        pub(crate) has_initial: AnyPtr,
        pub(crate) slot_count: u32,
        pub(crate) heads: u32,
        pub(crate) group: u32,
        pub(crate) keys: u32,
        pub(crate) values: u32,
        pub(crate) is_two: u32,
        pub(crate) in_place: u32,
        pub(crate) reserved: u32,
    }
}

/// Values of a workgroup.
pub(crate) const SLICE: u32 = 16;

/// The snapshots of all chunks, what they learn, and, if wanted, the states after the last tokens.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, to the schedule or to what there may be,
/// [`Error::Stride`] if elements of a row are not adjacent, and [`Error::Value`] if hv is no multiple of h,
/// the chunk size is none of the above, or a chunk of tokens or a head's state spans more than 2^31 bytes.
pub fn chunk_delta_h_fwd<T: ChunkElement, H: Real, S: State>(
    k: &TensorSlice<T>,
    w: &TensorSlice<T>,
    u: &TensorSlice<T>,
    initial_state: Option<&TensorSlice<S>>,
    options: &ChunkDeltaHOptions<'_>,
) -> Result<ChunkDeltaH<T, H, S>> {
    let stream = u.stream();
    let mut op = ChunkOp::new(OP, options.chunking);
    op.vectors("k", k, &["b", "t", "h", "k"])?;
    op.vectors("u", u, &["b", "t", "hv", "v"])?;
    let schedule = op.schedule()?;
    let [hv, keys, values] = op.arguments.sizes(["hv", "k", "v"])?;
    let [first, second] = match options.layout {
        StateLayout::Kv => [keys, values],
        StateLayout::Vk => [values, keys],
    };
    let mut h = Tensor::empty(stream, &[schedule.chunks as usize, hv, first, second])?;
    let mut v_new = Tensor::empty(stream, u.shape())?;
    let mut final_state = None;
    if options.output_final_state {
        let shape = [schedule.sequences as usize, hv, first, second];
        final_state = Some(Tensor::empty(stream, &shape)?);
    }
    let states = ChunkStates::Each { initial: initial_state, finals: final_state.as_deref_mut() };
    let out = ChunkDeltaHOut { h: Some(&mut *h), v_new: Some(&mut *v_new), states };
    chunk_delta_h_fwd_into(k, w, u, options, out)?;
    Ok(ChunkDeltaH { h, v_new, final_state })
}

/// As [`chunk_delta_h_fwd`], into given tensors; final states may have another element type.
///
/// # Errors
/// As [`chunk_delta_h_fwd`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`ChunkDeltaHOut`] says, [`Error::Alias`] if one overlaps another argument otherwise, and
/// [`Error::Value`] if a slot is wrong and [looked at](ChunkDeltaHOptions::validate_indices).
pub fn chunk_delta_h_fwd_into<T: ChunkElement, H: Real, S: State, F: State>(
    k: &TensorSlice<T>,
    w: &TensorSlice<T>,
    u: &TensorSlice<T>,
    options: &ChunkDeltaHOptions<'_>,
    out: ChunkDeltaHOut<'_, T, H, S, F>,
) -> Result<()> {
    let layout = options.layout;
    let mut op = ChunkOp::new(OP, options.chunking);
    let k = op.vectors("k", k, &["b", "t", "h", "k"])?;
    let w = op.vectors("w", w, &["b", "t", "hv", "k"])?;
    let u = op.vectors("u", u, &["b", "t", "hv", "v"])?;
    let (g, is_two) = match options.gates {
        Some(gates) => (op.scalars("g", gates.sums)?, gates.base == GateBase::Two),
        None => (TokenHeads::NONE, false),
    };
    let schedule = op.schedule()?;
    op.arguments.limit("k", 1..=MOST_KEYS)?;
    op.arguments.limit("v", 1..=MOST_VALUES)?;
    let states = op.states(out.states, layout, schedule.sequences)?;
    let snapshots = match out.h {
        Some(h) => op.snapshots("h", h, layout)?,
        None => StateRows::NONE,
    };
    let v_new = match out.v_new {
        Some(v_new) => op.output("v_new", v_new, &["b", "t", "hv", "v"])?,
        None => TokenHeads::NONE,
    };
    let [h, hv, keys, values] = op.arguments.sizes(["h", "hv", "k", "v"])?;
    let call = op.check()?;
    let (variant, problem) = (T::DTYPE.name(), [("k", keys as u64)]);
    let kernel = KERNELS.function(call.device(), call.op(), "chunk_delta_h", variant, &problem)?;
    let slices = (values as u32).div_ceil(SLICE);
    let grid = grid(&call, "u", [schedule.sequences, hv as u32, slices])?;
    // Slots may be wrong even where there is nothing to do.
    states.validate(&call, options.validate_indices)?;
    if grid == 0 || schedule.chunks == 0 && (states.in_place || states.finals.base == AnyPtr::NULL)
    {
        return Ok(());
    }
    let args = ChunkDeltaHArgs {
        schedule,
        k,
        w,
        u,
        g,
        v_new,
        initial_states: states.initial,
        final_states: states.finals,
        snapshots,
        slots: states.slots,
        has_initial: states.has_initial,
        slot_count: states.slot_count,
        heads: hv as u32,
        group: (hv / h) as u32,
        keys: keys as u32,
        values: values as u32,
        is_two: u32::from(is_two),
        in_place: u32::from(states.in_place),
        reserved: 0,
    };
    call.submit(|stream| {
        // SAFETY: the kernel stays within the tensors whose shapes and strides were checked, whatever
        // the schedule's numbers and slots are.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}

const OP: &str = "chunk_delta_h_fwd";
