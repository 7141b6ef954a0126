//! The core `causal_conv1d`: how ops declare a convolution, and how it is launched.

use hk_core::dtype::{DType, Real};
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Argument, Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Error, Result, Tensor, TensorSlice};

use super::{CausalConv1dArgs, CausalConv1dOptions, ConvPart, ConvStrides};
use crate::KERNELS;

/// Lanes of a wave, and those of them that share the channels of a token where tokens are adjacent.
const WAVE: usize = 64;
const COLUMN_LANES: usize = 8;

/// Bytes of a token, or of a channel, that a lane moves together.
const LANE_BYTES: usize = 16;

/// Waves of which a grid has fewer: HIP counts its work-items, of whole workgroups of up to four waves, in
/// 32 bits.
const MOST_WAVES: u64 = (1 << 26) - 3;

/// Elements from row to row of a block, where tokens are adjacent, at most: its 64 rows of 16-bit
/// elements, or 32 of 32 bits, are addressed in 31 bits.
const NEAR: i64 = (1 << 24) - 4;

/// The tokens of a sequence, which the least chunk has more than.
const LEAST_CHUNK: usize = 16;

/// The dimensions of tokens of channels.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// Sequence, channel, token; of states line, channel, column.
    Sequences,
    /// Sequence, channel.
    Tokens,
    /// Channel, token.
    Columns,
    /// Token, channel.
    Rows,
}

impl Order {
    /// The name of the number of new tokens, in which there may be no dimension for them.
    pub(crate) const fn tokens(self) -> &'static str {
        if matches!(self, Self::Tokens) { "1" } else { "s" }
    }

    pub(crate) fn strides(self, argument: Argument<'_>) -> Result<ConvStrides> {
        let [sequence, token, channel] = match self {
            Self::Sequences => {
                let [sequence, channel, token] = argument.strides()?;
                [sequence, token, channel]
            }
            Self::Tokens => {
                let [sequence, channel] = argument.strides()?;
                [sequence, 0, channel]
            }
            Self::Columns => {
                let [channel, token] = argument.strides()?;
                [0, token, channel]
            }
            Self::Rows => {
                let [token, channel] = argument.strides()?;
                [0, token, channel]
            }
        };
        Ok(ConvStrides { sequence, token, channel })
    }
}

/// A convolution that is being declared.
#[derive(Debug)]
pub(crate) struct Convolution<'a, W: Real> {
    pub(crate) arguments: Arguments,
    pub(crate) args: CausalConv1dArgs,
    options: &'a CausalConv1dOptions<'a, W>,
    dtype: DType,
    parts: usize,
    /// Whether a sequence is one chunk, as it has to be where results take the place of x.
    pub(crate) is_whole: bool,
    bounds: Option<Indices<'a>>,
}

impl<'a, W: Real> Convolution<'a, W> {
    /// Declares tokens and filter.
    pub(crate) fn new<T: Real>(
        op: &'static str,
        (x, dims, order): (&TensorSlice<T>, &'static [&'static str], Order),
        may_be: Option<&'static str>,
        weight: &TensorSlice<W>,
        options: &'a CausalConv1dOptions<'a, W>,
    ) -> Result<Self> {
        let mut arguments = Arguments::new(op);
        let mut declared = arguments.input("x", x, dims);
        if let Some(output) = may_be {
            declared = declared.may_be(output);
        }
        let x_strides = order.strides(declared)?;
        arguments.limit("c", 1..=i32::MAX as usize)?;
        arguments.input("weight", weight, &["c", "w"]).contiguous()?;
        arguments.limit("w", 2..=4)?;
        if let Some(bias) = options.bias {
            arguments.input("bias", bias, &["c"]).contiguous()?;
        }
        let is_absent = options.num_accepted_tokens.is_none();
        arguments.require(is_absent, "num_accepted_tokens", "absent", "given")?;
        let [channels, width] = arguments.sizes(["c", "w"])?;
        let none = ConvStrides { sequence: 0, token: 0, channel: 0 };
        let part =
            ConvPart { base: AnyPtr::NULL, strides: none, end: channels as u32, reserved: 0 };
        let args = CausalConv1dArgs {
            x: x.ptr().any(),
            weight: weight.ptr().any(),
            bias: options.bias.map_or(AnyPtr::NULL, |bias| bias.ptr().any()),
            initial_states: AnyPtr::NULL,
            final_states: AnyPtr::NULL,
            has_initial: DevicePtr::NULL,
            bounds: IndexList::NONE,
            lines: IndexList::NONE,
            parts: [part; 3],
            x_strides,
            initial_strides: none,
            final_strides: none,
            pad_slot: options.pad_slot_id,
            line_count: u32::MAX,
            sequences: 1,
            tokens: 1,
            channels: channels as u32,
            width: width as u32,
            chunk_log2: 0,
            slots: 0,
            weight_type: W::CODE,
            silu: u32::from(options.silu.unwrap_or(false)),
            zeros: 0,
        };
        let dtype = T::DTYPE;
        Ok(Self { arguments, args, options, dtype, parts: 0, is_whole: false, bounds: None })
    }

    /// Declares results: the channels that follow those of the results before.
    pub(crate) fn output<T: Real>(
        &mut self,
        name: &'static str,
        y: &mut TensorSlice<T>,
        dims: &'static [&'static str],
        order: Order,
    ) -> Result<()> {
        let strides = order.strides(self.arguments.output(name, y, dims))?;
        let axis = if matches!(order, Order::Columns) { 0 } else { 1 };
        let before = if self.parts == 0 { 0 } else { self.args.parts[self.parts - 1].end };
        // Parts that are more than all channels are refused.
        let end = before.saturating_add(y.shape()[axis] as u32);
        self.args.parts[self.parts] = ConvPart { base: y.ptr().any(), strides, end, reserved: 0 };
        self.parts += 1;
        Ok(())
    }

    /// Requires all channels to be those of queries, keys and values of such sizes, which are activated
    /// unless the options say otherwise.
    pub(crate) fn split(&mut self, key_dim: usize, value_dim: usize) -> Result<()> {
        self.args.silu = u32::from(self.options.silu.unwrap_or(true));
        self.arguments.limit("kd", key_dim.max(1)..=key_dim)?;
        self.arguments.limit("vd", value_dim.max(1)..=value_dim)?;
        let channels = key_dim.saturating_mul(2).saturating_add(value_dim);
        self.arguments.limit("c", channels..=channels)
    }

    /// Declares the bounds of sequences, `[n + 1]`, and which begin with their states.
    pub(crate) fn bounds(&mut self, bounds: Indices<'a>, has_states: bool) -> Result<()> {
        self.args.bounds = bounds.declare(&mut self.arguments, "query_start_loc", &["bounds"])?;
        self.bounds = Some(bounds);
        let [bounds] = self.arguments.sizes(["bounds"])?;
        self.arguments.limit("bounds", 1..=i32::MAX as usize)?;
        self.arguments.define("bounds-1", bounds - 1);
        if let Some(has) = self.options.has_initial_state {
            self.arguments.input("has_initial_state", has, &["bounds-1"]).contiguous()?;
            self.arguments.require(has_states, "has_initial_state", "given with states", "none")?;
            self.args.has_initial = has.ptr();
        }
        Ok(())
    }

    /// Refuses what only ops that take bounds of sequences take.
    pub(crate) fn without_bounds(&self) -> Result<()> {
        let is_absent = self.options.has_initial_state.is_none();
        self.arguments.require(is_absent, "has_initial_state", "absent", "given")
    }

    /// Declares the lines of sequences in the states, `[n]`.
    pub(crate) fn lines(&mut self) -> Result<()> {
        if let Some(lines) = self.options.cache_indices {
            let dims: &[_] = if self.bounds.is_some() { &["bounds-1"] } else { &["n"] };
            self.args.lines = lines.declare(&mut self.arguments, "cache_indices", dims)?;
        }
        Ok(())
    }

    /// Declares states that become the new ones, `[lines, c, columns]`.
    pub(crate) fn states<T: Real>(
        &mut self,
        name: &'static str,
        states: &mut TensorSlice<T>,
    ) -> Result<()> {
        let declared = self.arguments.output(name, states, &["lines", "c", "columns"]);
        let strides = Order::Sequences.strides(declared)?;
        let sequences = if self.bounds.is_some() { "bounds-1" } else { "n" };
        let [lines, n] = self.arguments.sizes(["lines", sequences])?;
        let least = if self.options.cache_indices.is_none() { n } else { n.min(1) };
        self.arguments.limit("lines", least..=i32::MAX as usize)?;
        self.arguments.limit("columns", self.args.width as usize - 1..=usize::MAX)?;
        (self.args.final_states, self.args.final_strides) = (states.ptr().any(), strides);
        (self.args.initial_states, self.args.initial_strides) = (states.ptr().any(), strides);
        self.args.line_count = lines as u32;
        Ok(())
    }

    /// Declares the states of sequences with bounds, if there are any. Unless it is said which begin
    /// with them, all begin with zeros.
    pub(crate) fn packed_states<T: Real>(
        &mut self,
        states: Option<&mut TensorSlice<T>>,
    ) -> Result<()> {
        if let Some(states) = states {
            self.states("conv_states", states)?;
        }
        if self.options.has_initial_state.is_none() {
            self.args.initial_states = AnyPtr::NULL;
        }
        Ok(())
    }

    /// Looks at indices, if they are to be looked at.
    fn validate(&self, call: &Call) -> Result<()> {
        if !call.validates_indices(self.options.validate_indices)? {
            return Ok(());
        }
        if let Some(bounds) = self.bounds {
            let bounds = bounds.to_vec()?;
            call.require_bounds("query_start_loc", &bounds, self.args.tokens as usize)?;
        }
        let Some(lines) = self.options.cache_indices else { return Ok(()) };
        if self.args.final_states == AnyPtr::NULL {
            return Ok(());
        }
        let pad = self.options.pad_slot_id;
        let mut lines = lines.to_vec()?;
        lines.iter_mut().filter(|line| **line == pad).for_each(|line| *line = -1);
        call.require_slots("cache_indices", &lines, self.args.line_count as usize)
    }

    /// Launches it on so many sequences of so many tokens, or, if there are bounds, tokens in all. With
    /// `zeros`, results of skipped sequences are zeros; else they are left as they were.
    pub(crate) fn launch(
        mut self,
        sequences: &'static str,
        tokens: &'static str,
        zeros: bool,
    ) -> Result<()> {
        for size in [sequences, tokens] {
            self.arguments.limit(size, 0..=i32::MAX as usize)?;
        }
        let [sequences, tokens] = self.arguments.sizes([sequences, tokens])?;
        (self.args.sequences, self.args.tokens) = (sequences as u32, tokens as u32);
        self.args.zeros = u32::from(zeros);
        let chunk = self.options.chunk;
        if let Some(chunk) = chunk {
            let fits = chunk.is_power_of_two() && (LEAST_CHUNK..1 << 31).contains(&chunk);
            let range = format!("a power of two from {LEAST_CHUNK} on");
            self.arguments.require(fits, "chunk", range, chunk)?;
        }
        let arguments = std::mem::replace(&mut self.arguments, Arguments::new(""));
        let call = arguments.check()?;
        // Indices may be wrong even where there is nothing to do.
        self.validate(&call)?;
        let is_empty = sequences == 0 || tokens == 0;

        let in_columns = !self.is_whole && fits_columns(&self.args);
        let size = self.dtype.size();
        let lanes = if in_columns { COLUMN_LANES } else { WAVE };
        let least = if in_columns { COLUMN_LANES * LANE_BYTES / size } else { LEAST_CHUNK };
        let plan = Plan {
            blocks: blocks(&self.args, lanes * LANE_BYTES / size),
            sequences: sequences as u64,
            tokens: tokens as u64,
            is_packed: self.bounds.is_some(),
        };
        let chunk_log2 = match chunk {
            _ if self.is_whole => Some(tokens.next_power_of_two().ilog2()),
            Some(chunk) => Some(chunk.ilog2()),
            None => {
                let waves = u64::from(call.device().info().compute_units) * WAVES_PER_CU;
                let most = if in_columns { MOST_IN_COLUMNS } else { MOST_IN_ROWS };
                Some(plan.fastest(waves, least.ilog2()..=most.ilog2()))
            }
        };
        let fits = chunk_log2.and_then(|log2| plan.fit(log2));
        let Some(chunk_log2) = fits else {
            let most = format!("work for fewer than {MOST_WAVES} waves");
            return Err(Error::value(call.op(), "x", most, plan.waves(31)));
        };
        self.args.chunk_log2 = chunk_log2;
        self.args.slots = plan.slots(chunk_log2) as u32;
        let way = if in_columns { "columns" } else { "rows" };
        let variant = format!("{way}_{}", self.dtype.name());
        let kernel = KERNELS.function(call.device(), call.op(), "causal_conv1d", &variant, &[])?;
        if is_empty {
            return Ok(());
        }
        let grid = plan.waves(chunk_log2).div_ceil(u64::from(kernel.tile().threads) / WAVE as u64);
        call.submit(|stream| {
            // SAFETY: the kernel stays within the tensors whose shapes and strides were checked,
            // whatever bounds and lines are.
            unsafe { kernel.launch(stream, [grid as u32, 1, 1], &self.args) }
        })
    }
}

/// Waves for each compute unit that a launch should have: one for each of its SIMDs, which has enough
/// loads under way.
const WAVES_PER_CU: u64 = 4;

/// Most tokens of a chunk. Longer ones would hardly save anything more.
const MOST_IN_ROWS: usize = 128;
const MOST_IN_COLUMNS: usize = 256;

/// Whether tokens are adjacent in x, and channels or tokens in all results, which lie near enough to
/// each other.
fn fits_columns(args: &CausalConv1dArgs) -> bool {
    let near = |stride: i64| stride <= NEAR;
    let fits = |part: &ConvPart| {
        let ConvStrides { token, channel, .. } = part.strides;
        part.base == AnyPtr::NULL || token == 1 && near(channel) || channel == 1 && near(token)
    };
    let x = &args.x_strides;
    let is_column = x.token == 1 && x.channel != 1 && args.tokens > 1;
    is_column && near(x.channel) && args.parts.iter().all(fits)
}

/// Blocks of so many channels in all parts.
fn blocks(args: &CausalConv1dArgs, channels: usize) -> u64 {
    let mut first = 0;
    let of_parts = args.parts.iter().map(|part| {
        let own = part.end - std::mem::replace(&mut first, part.end);
        u64::from(own).div_ceil(channels as u64)
    });
    of_parts.sum()
}

/// How tokens are shared among waves.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Blocks of channels.
    blocks: u64,
    sequences: u64,
    /// Tokens of each sequence, or of all, if they are packed.
    tokens: u64,
    is_packed: bool,
}

impl Plan {
    /// Chunks of all sequences, or more, by the logarithm of their tokens.
    fn slots(&self, chunk_log2: u32) -> u64 {
        let Self { sequences, tokens, .. } = *self;
        if self.is_packed {
            (tokens >> chunk_log2) + sequences
        } else {
            sequences * tokens.div_ceil(1 << chunk_log2)
        }
    }

    fn waves(&self, chunk_log2: u32) -> u64 {
        self.slots(chunk_log2).saturating_mul(self.blocks)
    }

    /// The longest chunks that give so many waves work; else the shortest.
    fn fastest(&self, waves: u64, range: std::ops::RangeInclusive<u32>) -> u32 {
        let least = *range.start();
        range.rev().find(|log2| self.waves(*log2) >= waves).unwrap_or(least)
    }

    /// Such chunks, or the next longer ones of which a grid can have as many as there are.
    fn fit(&self, chunk_log2: u32) -> Option<u32> {
        (chunk_log2..32).find(|log2| self.waves(*log2) < MOST_WAVES)
    }
}

/// A tensor for results, with the dimensions in the order in which they are in the memory of x.
pub(crate) fn empty_like<T: Real>(x: &TensorSlice<T>) -> Result<Tensor<T>> {
    let mut order: Vec<usize> = (0..x.shape().len()).collect();
    order.sort_by_key(|axis| std::cmp::Reverse(x.strides()[*axis]));
    let shape: Vec<usize> = order.iter().map(|axis| x.shape()[*axis]).collect();
    let mut axes = vec![0; order.len()];
    for (at, axis) in order.iter().enumerate() {
        axes[*axis] = at;
    }
    let whole = Tensor::empty(x.stream(), &shape)?;
    // SAFETY: nobody has the whole any more.
    Ok(unsafe { whole.permute(&axes)?.alias() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(tokens: u64) -> Plan {
        Plan { blocks: 16, sequences: 3, tokens, is_packed: true }
    }

    #[test]
    fn every_sequence_has_a_slot_for_each_of_its_chunks() {
        let plan = packed(1000);
        for bounds in [[0, 0, 999, 1000], [0, 1, 2, 1000], [0, 500, 500, 1000], [0, 15, 33, 1000]] {
            for log2 in 4..8 {
                let first = |i: usize| (bounds[i] >> log2) + i as u64;
                for i in 0..3 {
                    let chunks = (bounds[i + 1] - bounds[i]).div_ceil(1 << log2);
                    assert!(first(i) + chunks <= first(i + 1));
                }
                assert!(first(3) <= plan.slots(log2));
            }
        }
    }

    #[test]
    fn chunks_are_as_long_as_the_chip_stays_busy() {
        assert_eq!(packed(8192).fastest(1216, 4..=7), 6);
        assert_eq!(packed(1 << 20).fastest(1216, 4..=7), 7);
        assert_eq!(packed(100).fastest(1216, 4..=7), 4);
    }

    #[test]
    fn grids_have_fewer_waves_than_hip_can_count() {
        let long = packed(i32::MAX as u64);
        assert_eq!(long.fit(4), Some(10));
        assert!(long.waves(10) < MOST_WAVES && long.waves(9) >= MOST_WAVES);
        let many = Plan { blocks: 1, sequences: MOST_WAVES, tokens: 1, is_packed: false };
        assert_eq!(many.fit(4), None);
        let most = Plan { sequences: MOST_WAVES - 1, ..many };
        assert_eq!(most.fit(4), Some(4));
        assert!(u32::try_from(most.waves(4).next_multiple_of(4) * WAVE as u64).is_ok());
    }

    #[test]
    fn rows_of_a_block_are_addressed_in_31_bits() {
        for size in [2, 4] {
            let rows = (COLUMN_LANES * LANE_BYTES / size) as i64;
            let farthest = ((rows - 1) * NEAR + rows) * size as i64;
            assert!(farthest + LANE_BYTES as i64 <= 1 << 31);
        }
    }
}
