//! The states of sequences before and after ops on chunks.

use hk_core::dtype::Real;
use hk_core::op::Call;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::{AnyPtr, Result, TensorSlice, kernel_args};

use crate::chunks::{ChunkOp, Dims};
use crate::delta_rule::{State, StateLayout};

/// The states with which sequences begin and end. Final states may have another element type than
/// initial ones.
#[derive(Debug)]
pub enum ChunkStates<'a, S: State, F: State = S> {
    /// Those of each sequence, `[n, hv, k, v]` or `[n, hv, v, k]`.
    Each {
        /// Before the first tokens; zeros if not given.
        initial: Option<&'a TensorSlice<S>>,
        /// After the last ones, which may be those before the first; not wanted if not given.
        finals: Option<&'a mut TensorSlice<F>>,
    },
    /// Slots of a pool, which become the new states; those of sequences without tokens stay as they are.
    Pool {
        /// `[slots, hv, k, v]` or `[slots, hv, v, k]`.
        states: &'a mut TensorSlice<S>,
        /// The slot of each sequence, `[n]`, each another, or -1: such a sequence begins with zeros and
        /// leaves no state. If not given, those of their numbers.
        indices: Option<Indices<'a>>,
        /// Of each sequence, `[n]`, whether it begins with its state, if not 0, or with zeros. All begin
        /// with their states if not given.
        has_initial_state: Option<&'a TensorSlice<u8>>,
    },
}

kernel_args! {
    /// States of heads as kernels take them: `StateRows` in `hk/chunks.h`.
    pub(crate) struct StateRows {
        pub(crate) base: AnyPtr,
        pub(crate) slot: i64,
        pub(crate) head: i64,
        pub(crate) row: i64,
        pub(crate) element_type: u32,
        pub(crate) keys_adjacent: u32,
    }
}

impl StateRows {
    pub(crate) const NONE: Self =
        Self { base: AnyPtr::NULL, slot: 0, head: 0, row: 0, element_type: 0, keys_adjacent: 0 };

    /// With these strides, without the last one.
    pub(crate) fn new<S: Real>(base: AnyPtr, strides: [i64; 4], layout: StateLayout) -> Self {
        let [slot, head, row, _] = strides;
        let (element_type, keys_adjacent) = (S::CODE, u32::from(layout == StateLayout::Vk));
        Self { base, slot, head, row, element_type, keys_adjacent }
    }
}

/// States as the scan takes them.
#[derive(Debug)]
pub(crate) struct DeclaredStates<'a> {
    pub(crate) initial: StateRows,
    pub(crate) finals: StateRows,
    pub(crate) slots: IndexList,
    pub(crate) has_initial: AnyPtr,
    pub(crate) slot_count: u32,
    pub(crate) in_place: bool,
    indices: Option<Indices<'a>>,
}

/// Bytes from the first to behind the last element of a head's state, at most: kernels address them in
/// 31 bits.
const MOST_BYTES: u64 = 1 << 31;

/// How many chunks there are of all sequences.
const CHUNKS: &str = "sum(ceil(t/c))";

/// The dimensions of states, of so many slots.
fn dims(layout: StateLayout, of: &'static str) -> Dims {
    match (layout, of) {
        (StateLayout::Kv, "slots") => &["slots", "hv", "k", "v"],
        (StateLayout::Vk, "slots") => &["slots", "hv", "v", "k"],
        (StateLayout::Kv, CHUNKS) => &[CHUNKS, "hv", "k", "v"],
        (StateLayout::Vk, CHUNKS) => &[CHUNKS, "hv", "v", "k"],
        (StateLayout::Kv, "b") => &["b", "hv", "k", "v"],
        (StateLayout::Vk, "b") => &["b", "hv", "v", "k"],
        (StateLayout::Kv, _) => &["bounds-1", "hv", "k", "v"],
        (StateLayout::Vk, _) => &["bounds-1", "hv", "v", "k"],
    }
}

impl<'a> ChunkOp<'a> {
    /// Requires a head's state to be within what is addressed.
    fn require_span<S: Real>(
        &self,
        name: &'static str,
        strides: [i64; 4],
        layout: StateLayout,
    ) -> Result<()> {
        let [k, v] = self.arguments.sizes(["k", "v"])?;
        let (rows, columns) = if layout == StateLayout::Kv { (k, v) } else { (v, k) };
        let [before_last, columns] = [rows.saturating_sub(1), columns].map(|size| size as u64);
        let [_, _, row, _] = strides;
        let spanned = row.unsigned_abs().saturating_mul(before_last).saturating_add(columns);
        let bytes = spanned.saturating_mul(size_of::<S>() as u64);
        self.arguments.require(bytes <= MOST_BYTES, name, "a head's state within 2^31 bytes", bytes)
    }

    /// Declares the states before chunks, which are read.
    pub(crate) fn read_snapshots<S: Real>(
        &mut self,
        name: &'static str,
        states: &TensorSlice<S>,
        layout: StateLayout,
    ) -> Result<StateRows> {
        let declared = self.arguments.input(name, states, dims(layout, CHUNKS));
        let strides = declared.adjacent()?;
        self.require_span::<S>(name, strides, layout)?;
        Ok(StateRows::new::<S>(states.ptr().any(), strides, layout))
    }

    /// Declares the states before chunks, which are written.
    pub(crate) fn snapshots<S: Real>(
        &mut self,
        name: &'static str,
        states: &mut TensorSlice<S>,
        layout: StateLayout,
    ) -> Result<StateRows> {
        let declared = self.arguments.output(name, states, dims(layout, CHUNKS));
        let strides = declared.adjacent()?;
        self.require_span::<S>(name, strides, layout)?;
        Ok(StateRows::new::<S>(states.ptr_mut().any(), strides, layout))
    }

    /// Declares the states of so many sequences.
    pub(crate) fn states<S: State, F: State>(
        &mut self,
        states: ChunkStates<'a, S, F>,
        layout: StateLayout,
        sequences: u32,
    ) -> Result<DeclaredStates<'a>> {
        let of = if self.is_packed() { "bounds-1" } else { "b" };
        let mut declared = DeclaredStates {
            initial: StateRows::NONE,
            finals: StateRows::NONE,
            slots: IndexList::NONE,
            has_initial: AnyPtr::NULL,
            slot_count: sequences,
            in_place: false,
            indices: None,
        };
        match states {
            ChunkStates::Each { initial, finals } => {
                if let Some(states) = initial {
                    let name = "initial_state";
                    let argument = self.arguments.input(name, states, dims(layout, of));
                    let strides = argument.may_be("final_state").adjacent()?;
                    self.require_span::<S>(name, strides, layout)?;
                    declared.initial = StateRows::new::<S>(states.ptr().any(), strides, layout);
                }
                if let Some(states) = finals {
                    let name = "final_state";
                    let strides =
                        self.arguments.output(name, states, dims(layout, of)).adjacent()?;
                    self.require_span::<F>(name, strides, layout)?;
                    declared.finals = StateRows::new::<F>(states.ptr_mut().any(), strides, layout);
                }
            }
            ChunkStates::Pool { states, indices, has_initial_state } => {
                let per_sequence: Dims = if of == "b" { &["b"] } else { &["bounds-1"] };
                if let Some(indices) = indices {
                    declared.slots =
                        indices.declare(&mut self.arguments, "state_indices", per_sequence)?;
                }
                if let Some(has) = has_initial_state {
                    let argument = self.arguments.input("has_initial_state", has, per_sequence);
                    argument.contiguous()?;
                    declared.has_initial = has.ptr().any();
                }
                let strides =
                    self.arguments.output("state", states, dims(layout, "slots")).adjacent()?;
                self.require_span::<S>("state", strides, layout)?;
                let sequences = sequences as usize;
                let least = if indices.is_some() { sequences.min(1) } else { sequences };
                self.arguments.limit("slots", least..=i32::MAX as usize)?;
                declared.slot_count = self.arguments.sizes(["slots"])?[0] as u32;
                declared.initial = StateRows::new::<S>(states.ptr_mut().any(), strides, layout);
                (declared.finals, declared.in_place) = (declared.initial, true);
                declared.indices = indices;
            }
        }
        Ok(declared)
    }
}

impl DeclaredStates<'_> {
    /// Looks at slots, if they are to be looked at.
    pub(crate) fn validate(&self, call: &Call, wanted: Option<bool>) -> Result<()> {
        if let Some(indices) = self.indices
            && call.validates_indices(wanted)?
        {
            call.require_slots("state_indices", &indices.to_vec()?, self.slot_count as usize)?;
        }
        Ok(())
    }
}
