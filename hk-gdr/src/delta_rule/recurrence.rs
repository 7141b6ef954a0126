//! How ops declare a recurrence, and how it is launched.

use hk_core::dtype::{Element, Real};
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Error, Result, TensorSlice, TileFunction};

use super::{DeltaRuleArgs, RealTensor, State, StateLayout, TokenHeads};
use crate::{GatingInputs, KERNELS, QkvzbaHeads};

/// The most keys and values of a head.
const MOST_KEYS: usize = 256;
const MOST_VALUES: usize = 512;

/// Values of a wave.
const VALUES_OF_WAVE: usize = 32;

/// Waves of which a grid has fewer: HIP counts its work-items, of whole workgroups of four waves, in 32
/// bits.
const MOST_WAVES: u64 = (1 << 26) - 3;

/// Bytes from the first to behind the last element of a head's state, at most: the kernel addresses
/// them in 31 bits.
const MOST_BYTES: u64 = 1 << 31;

/// What all recurrences have of options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) scale: Option<f32>,
    pub(crate) normalizes: bool,
    pub(crate) layout: StateLayout,
    pub(crate) cu_seqlens: Option<Indices<'a>>,
    pub(crate) validate_indices: Option<bool>,
}

/// A recurrence that is being declared.
#[derive(Debug)]
pub(crate) struct Recurrence<'a> {
    pub(crate) arguments: Arguments,
    pub(crate) args: DeltaRuleArgs,
    shared: Shared<'a>,
    slots: Option<Indices<'a>>,
    /// The element type of initial states, or, if there are none, of final ones.
    element: &'static str,
}

impl<'a> Recurrence<'a> {
    pub(crate) fn new(op: &'static str, shared: Shared<'a>) -> Self {
        let (none, null) = (TokenHeads::NONE, AnyPtr::NULL);
        let args = DeltaRuleArgs {
            q: none,
            k: none,
            v: none,
            g: none,
            beta: none,
            gk: none,
            gv: none,
            a_log: null,
            dt_bias: null,
            o: null,
            o_sequence: 0,
            o_token: 0,
            o_head: 0,
            initial_states: null,
            initial_slot: 0,
            initial_head: 0,
            final_states: null,
            final_slot: 0,
            final_head: 0,
            bounds: IndexList::NONE,
            slots: IndexList::NONE,
            initial_row: 0,
            final_row: 0,
            slot_count: 0,
            sequences: 0,
            tokens: 0,
            value_heads: 0,
            group: 1,
            keys: 0,
            values: 0,
            o_type: 0,
            a_log_type: 0,
            dt_bias_type: 0,
            beta_of_values: 0,
            normalizes: u32::from(shared.normalizes),
            in_place: 0,
            scale: 0.0,
            softplus_beta: 1.0,
            softplus_beta_inverse: 1.0,
            softplus_threshold: 20.0,
            pads: 0,
            turns_type: 0,
            reserved: 0,
        };
        Self {
            arguments: Arguments::new(op),
            args,
            shared,
            slots: None,
            element: f32::DTYPE.name(),
        }
    }

    /// Declares queries, keys and values of heads.
    pub(crate) fn qkv<Q: Real, V: Real>(
        &mut self,
        q: &TensorSlice<Q>,
        k: &TensorSlice<Q>,
        v: &TensorSlice<V>,
    ) -> Result<()> {
        let arguments = &mut self.arguments;
        self.args.q = TokenHeads::vectors(arguments.input("q", q, &["b", "t", "h", "k"]), q)?;
        self.args.k = TokenHeads::vectors(arguments.input("k", k, &["b", "t", "h", "k"]), k)?;
        self.args.v = TokenHeads::vectors(arguments.input("v", v, &["b", "t", "hv", "v"]), v)?;
        Ok(())
    }

    /// Declares queries, keys and values that are side by side.
    pub(crate) fn mixed_qkv<Q: Real>(
        &mut self,
        mixed_qkv: &TensorSlice<Q>,
        heads: QkvzbaHeads,
    ) -> Result<()> {
        let declared = self.arguments.input("mixed_qkv", mixed_qkv, &["b", "t", "c"]);
        let [sequence, token, _] = declared.adjacent()?;
        self.side_by_side(mixed_qkv.ptr(), [sequence, token], heads)
    }

    /// Queries, keys and values of rows of c elements, which are declared.
    pub(crate) fn side_by_side<Q: Real>(
        &mut self,
        base: DevicePtr<Q>,
        [sequence, token]: [i64; 2],
        heads: QkvzbaHeads,
    ) -> Result<()> {
        let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk: k, head_v: v } = heads;
        let arguments = &mut self.arguments;
        for (name, number) in
            [("num_heads_qk", h), ("num_heads_v", hv), ("head_qk", k), ("head_v", v)]
        {
            arguments.require(number > 0, name, "at least 1", number)?;
        }
        let all = h.saturating_mul(k).saturating_mul(2).saturating_add(hv.saturating_mul(v));
        arguments.limit("c", all..=all)?;
        for (name, size) in [("h", h), ("hv", hv), ("k", k), ("v", v)] {
            arguments.define(name, size);
        }
        let part = |first: usize, head: usize| {
            let base = DevicePtr::<Q>::new(base.address() + (first * size_of::<Q>()) as u64);
            let (base, head) = (base.any(), head as i64);
            TokenHeads { base, sequence, token, head, element_type: Q::CODE, reserved: 0 }
        };
        (self.args.q, self.args.k) = (part(0, k), part(h * k, k));
        self.args.v = part(2 * h * k, v);
        Ok(())
    }

    /// Checks the sizes of heads, and declares the bounds of sequences.
    pub(crate) fn sizes(&mut self) -> Result<()> {
        let arguments = &mut self.arguments;
        for (size, range) in [
            ("b", 0..=i32::MAX as usize),
            ("t", 0..=i32::MAX as usize),
            ("h", 1..=i32::MAX as usize),
            ("hv", 1..=i32::MAX as usize),
            ("k", 1..=MOST_KEYS),
            ("v", 1..=MOST_VALUES),
        ] {
            arguments.limit(size, range)?;
        }
        let [b, t, h, hv, k, v] = arguments.sizes(["b", "t", "h", "hv", "k", "v"])?;
        let scale = self.shared.scale.unwrap_or_else(|| 1.0 / (k as f32).sqrt());
        let is_scale = scale > 0.0 && scale.is_finite();
        arguments.require(is_scale, "scale", "positive and finite", scale)?;
        let mut sequences = b;
        if let Some(bounds) = self.shared.cu_seqlens {
            arguments.limit("b", 1..=1)?;
            self.args.bounds = bounds.declare(arguments, "cu_seqlens", &["bounds"])?;
            arguments.limit("bounds", 1..=i32::MAX as usize)?;
            sequences = arguments.sizes(["bounds"])?[0] - 1;
            arguments.define("bounds-1", sequences);
        }
        let args = &mut self.args;
        (args.sequences, args.tokens) = (sequences as u32, t as u32);
        (args.value_heads, args.group) = (hv as u32, (hv / h) as u32);
        (args.keys, args.values, args.scale) = (k as u32, v as u32, scale);
        args.slot_count = sequences as u32;
        Ok(())
    }

    /// The shape of the states of all sequences.
    pub(crate) fn state_shape(&self) -> [usize; 4] {
        let DeltaRuleArgs { sequences, value_heads, keys, values, .. } = self.args;
        let [first, second] = match self.shared.layout {
            StateLayout::Kv => [keys, values],
            StateLayout::Vk => [values, keys],
        };
        [sequences, value_heads, first, second].map(|size| size as usize)
    }

    /// Declares gates that are given.
    pub(crate) fn gates(
        &mut self,
        g: Option<&TensorSlice<f32>>,
        gk: Option<&TensorSlice<f32>>,
        gv: Option<&TensorSlice<f32>>,
        beta: Option<RealTensor<'_>>,
    ) -> Result<()> {
        let arguments = &mut self.arguments;
        if let Some(g) = g {
            self.args.g = TokenHeads::scalars(arguments.input("g", g, &["b", "t", "hv"]), g)?;
        }
        if let Some(gk) = gk {
            let declared = arguments.input("gk", gk, &["b", "t", "hv", "k"]);
            self.args.gk = TokenHeads::vectors(declared, gk)?;
        }
        if let Some(gv) = gv {
            let declared = arguments.input("gv", gv, &["b", "t", "hv", "v"]);
            self.args.gv = TokenHeads::vectors(declared, gv)?;
        }
        match beta {
            None => Ok(()),
            Some(RealTensor::Bf16(beta)) => self.beta(beta),
            Some(RealTensor::F16(beta)) => self.beta(beta),
            Some(RealTensor::F32(beta)) => self.beta(beta),
        }
    }

    /// Declares what gates are computed from, with factor and threshold of softplus.
    pub(crate) fn computed_gates<P: Real, D: Real, A: Real>(
        &mut self,
        gating: GatingInputs<'_, P, D, A>,
        [factor, threshold]: [f32; 2],
    ) -> Result<()> {
        let GatingInputs { a_log, dt_bias, a, b } = gating;
        let arguments = &mut self.arguments;
        arguments.input("a_log", a_log, &["hv"]).contiguous()?;
        arguments.input("dt_bias", dt_bias, &["hv"]).contiguous()?;
        let args = &mut self.args;
        (args.g, args.beta) = (of_tokens(arguments, "a", a)?, of_tokens(arguments, "b", b)?);
        let is_factor = factor > 0.0 && factor.is_finite();
        arguments.require(is_factor, "softplus_beta", "positive and finite", factor)?;
        arguments.require(!threshold.is_nan(), "softplus_threshold", "a number", threshold)?;
        (args.a_log, args.a_log_type) = (a_log.ptr().any(), P::CODE);
        (args.dt_bias, args.dt_bias_type) = (dt_bias.ptr().any(), D::CODE);
        (args.softplus_beta, args.softplus_beta_inverse) = (factor, 1.0 / factor);
        args.softplus_threshold = threshold;
        Ok(())
    }

    fn beta<B: Real>(&mut self, beta: &TensorSlice<B>) -> Result<()> {
        let of_values = beta.shape().len() == 4;
        let arguments = &mut self.arguments;
        self.args.beta = if of_values {
            TokenHeads::vectors(arguments.input("beta", beta, &["b", "t", "hv", "v"]), beta)?
        } else {
            TokenHeads::scalars(arguments.input("beta", beta, &["b", "t", "hv"]), beta)?
        };
        self.args.beta_of_values = u32::from(of_values);
        Ok(())
    }

    /// Declares the results.
    pub(crate) fn output<O: Real>(&mut self, o: &mut TensorSlice<O>) -> Result<()> {
        let declared = self.arguments.output("o", o, &["b", "t", "hv", "v"]);
        let [sequence, token, head, _] = declared.adjacent()?;
        self.args.o = o.ptr_mut().any();
        (self.args.o_sequence, self.args.o_token, self.args.o_head) = (sequence, token, head);
        self.args.o_type = O::CODE;
        Ok(())
    }

    /// The dimensions of states: of each sequence, or of each slot of a pool.
    fn dims(&self, is_pool: bool) -> &'static [&'static str] {
        let is_packed = self.shared.cu_seqlens.is_some();
        match (self.shared.layout, is_pool, is_packed) {
            (StateLayout::Kv, true, _) => &["slots", "hv", "k", "v"],
            (StateLayout::Vk, true, _) => &["slots", "hv", "v", "k"],
            (StateLayout::Kv, _, false) => &["b", "hv", "k", "v"],
            (StateLayout::Vk, _, false) => &["b", "hv", "v", "k"],
            (StateLayout::Kv, _, true) => &["bounds-1", "hv", "k", "v"],
            (StateLayout::Vk, _, true) => &["bounds-1", "hv", "v", "k"],
        }
    }

    /// The slot, head and row strides of states.
    fn strides<S: State>(&self, name: &'static str, argument: [i64; 4]) -> Result<[i64; 3]> {
        let [slot, head, row, _] = argument;
        let (rows, columns) = match self.shared.layout {
            StateLayout::Kv => (self.args.keys, self.args.values),
            StateLayout::Vk => (self.args.values, self.args.keys),
        };
        let (rows, columns) = (u64::from(rows), u64::from(columns));
        let spanned = row.unsigned_abs().saturating_mul(rows.saturating_sub(1));
        let bytes = spanned.saturating_add(columns).saturating_mul(size_of::<S>() as u64);
        let fits = bytes <= MOST_BYTES;
        self.arguments.require(fits, name, "a head's state within 2^31 bytes", bytes)?;
        Ok([slot, head, row])
    }

    /// Declares the states that sequences begin with, and those that they end with.
    pub(crate) fn states<S: State, F: State>(
        &mut self,
        initial: Option<&TensorSlice<S>>,
        finals: Option<&mut TensorSlice<F>>,
    ) -> Result<()> {
        let dims = self.dims(false);
        if let Some(states) = initial {
            let mut declared = self.arguments.input("initial_state", states, dims);
            if S::DTYPE == F::DTYPE {
                declared = declared.may_be("final_state");
            }
            let strides = declared.adjacent()?;
            let [slot, head, row] = self.strides::<S>("initial_state", strides)?;
            self.element = S::DTYPE.name();
            (self.args.initial_slot, self.args.initial_head) = (slot, head);
            (self.args.initial_states, self.args.initial_row) = (states.ptr().any(), row as u32);
        }
        if let Some(states) = finals {
            let strides = self.arguments.output("final_state", states, dims).adjacent()?;
            let [slot, head, row] = self.strides::<F>("final_state", strides)?;
            if initial.is_none() {
                self.element = F::DTYPE.name();
            }
            self.args.turns_type = u32::from(self.element != F::DTYPE.name());
            (self.args.final_slot, self.args.final_head) = (slot, head);
            (self.args.final_states, self.args.final_row) = (states.ptr_mut().any(), row as u32);
        }
        Ok(())
    }

    /// Declares states that become the new ones, of which sequences have slots.
    pub(crate) fn pool<S: State>(
        &mut self,
        pool: &mut TensorSlice<S>,
        slots: Option<Indices<'a>>,
    ) -> Result<()> {
        if let Some(slots) = slots {
            let is_packed = self.shared.cu_seqlens.is_some();
            let dims: &[_] = if is_packed { &["bounds-1"] } else { &["b"] };
            self.args.slots = slots.declare(&mut self.arguments, "state_indices", dims)?;
        }
        self.slots = slots;
        let dims = self.dims(true);
        let strides = self.arguments.output("state", pool, dims).adjacent()?;
        let sequences = self.args.sequences as usize;
        let least = if slots.is_some() { sequences.min(1) } else { sequences };
        self.arguments.limit("slots", least..=i32::MAX as usize)?;
        let [slot, head, row] = self.strides::<S>("state", strides)?;
        self.element = S::DTYPE.name();
        let args = &mut self.args;
        args.slot_count = self.arguments.sizes(["slots"])?[0] as u32;
        (args.initial_states, args.final_states) = (pool.ptr_mut().any(), pool.ptr_mut().any());
        (args.initial_slot, args.final_slot) = (slot, slot);
        (args.initial_head, args.final_head) = (head, head);
        (args.initial_row, args.final_row) = (row as u32, row as u32);
        args.in_place = 1;
        Ok(())
    }

    /// Launches it.
    pub(crate) fn launch(self) -> Result<()> {
        self.prepare()?.map_or(Ok(()), Prepared::submit)
    }

    /// Checks and chooses all that is to be launched, if anything is.
    pub(crate) fn prepare(mut self) -> Result<Option<Prepared>> {
        if self.shared.cu_seqlens.is_some() {
            // Bounds tell where sequences are.
            let args = &mut self.args;
            for of in [&mut args.q, &mut args.k, &mut args.v, &mut args.g, &mut args.beta] {
                of.sequence = 0;
            }
            (args.gk.sequence, args.gv.sequence, args.o_sequence) = (0, 0, 0);
        }
        let Self { arguments, args, shared, slots, element } = self;
        let layout = match shared.layout {
            StateLayout::Kv => "kv",
            StateLayout::Vk => "vk",
        };
        let [h, hv] = arguments.sizes(["h", "hv"])?;
        arguments.require(hv % h == 0, "hv", format!("a multiple of h, {h}"), hv)?;
        let call = arguments.check()?;
        let variant = format!("{element}_{layout}");
        let problem = [("k", u64::from(args.keys))];
        let kernel =
            KERNELS.function(call.device(), call.op(), "delta_rule", &variant, &problem)?;
        let slices = (args.values as usize).div_ceil(VALUES_OF_WAVE) as u64;
        let heads = u64::from(args.sequences) * u64::from(args.value_heads);
        let waves = heads.saturating_mul(slices);
        if waves >= MOST_WAVES {
            let most = format!("work for fewer than {MOST_WAVES} waves");
            return Err(Error::value(call.op(), "v", most, waves));
        }
        // Bounds and slots may be wrong even where there is nothing to do.
        if call.validates_indices(shared.validate_indices)? {
            if let Some(bounds) = shared.cu_seqlens {
                call.require_bounds("cu_seqlens", &bounds.to_vec()?, args.tokens as usize)?;
            }
            if let Some(slots) = slots {
                let count = args.slot_count as usize;
                call.require_slots("state_indices", &slots.to_vec()?, count)?;
            }
        }
        let has_final = args.final_states != AnyPtr::NULL && args.in_place == 0;
        if waves == 0 || args.tokens == 0 && !has_final {
            return Ok(None);
        }
        let waves_of_workgroup = u64::from(kernel.tile().threads / 64);
        let grid = waves.div_ceil(waves_of_workgroup) as u32;
        Ok(Some(Prepared { call, kernel, args, grid }))
    }
}

/// Declares one number of each head of tokens, which may have all sequences in one dimension.
fn of_tokens<T: Real>(
    arguments: &mut Arguments,
    name: &'static str,
    tensor: &TensorSlice<T>,
) -> Result<TokenHeads> {
    if tensor.shape().len() != 2 {
        return TokenHeads::scalars(arguments.input(name, tensor, &["b", "t", "hv"]), tensor);
    }
    let [b, t] = arguments.sizes(["b", "t"])?;
    arguments.define("b t", b.saturating_mul(t));
    let [token, head] = arguments.input(name, tensor, &["b t", "hv"]).strides()?;
    let (base, sequence) = (tensor.ptr().any(), token.saturating_mul(t as i64));
    Ok(TokenHeads { base, sequence, token, head, element_type: T::CODE, reserved: 0 })
}

/// A recurrence that only has to be launched.
pub(crate) struct Prepared {
    call: Call,
    kernel: TileFunction<DeltaRuleArgs>,
    args: DeltaRuleArgs,
    grid: u32,
}

impl Prepared {
    pub(crate) fn submit(self) -> Result<()> {
        let Self { call, kernel, args, grid } = self;
        call.submit(|stream| {
            // SAFETY: the kernel stays within the tensors whose shapes and strides were checked,
            // whatever bounds and slots are.
            unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
        })
    }
}
