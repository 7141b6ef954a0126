//! What ops on chunks of tokens have in common: the logarithms of decays, summed up in each chunk, and
//! where chunks are.

use hk_core::dtype::{Element, Real, bf16, f16};
use hk_core::op::indices::Indices;
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, Error, Result, Stream, Tensor, TensorSlice, kernel_args};

use crate::PrefillSchedule;
use crate::delta_rule::{RealTensor, TokenHeads};

/// Types of what matrix instructions multiply: bf16 and f16.
pub trait ChunkElement: Real {}
impl ChunkElement for bf16 {}
impl ChunkElement for f16 {}

/// Of which number sums of logarithms give the power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GateBase {
    /// `exp(G)`.
    #[default]
    E,
    /// `2^G`: sums are multiplied by log2(e) when they are stored.
    Two,
}

/// The logarithms of decays of the tokens of each chunk up to each, `[b, t, hv]`, and their base.
#[derive(Debug, Clone, Copy)]
pub struct ChunkGates<'a> {
    /// The sums.
    pub sums: &'a TensorSlice<f32>,
    /// Of which number they give the power.
    pub base: GateBase,
}

/// [`ChunkGates`] that an op has made.
#[derive(Debug)]
pub struct CumulativeGates {
    /// The sums, `[b, t, hv]`.
    pub sums: Tensor<f32>,
    /// Of which number they give the power.
    pub base: GateBase,
}

impl CumulativeGates {
    /// For the ops that take them.
    pub fn gates(&self) -> ChunkGates<'_> {
        ChunkGates { sums: &self.sums, base: self.base }
    }
}

kernel_args! {
    /// The chunks of a batch, as kernels take them: `ChunkSchedule` in `hk/chunks.h`.
    pub(crate) struct ChunkSchedule {
        bounds: AnyPtr,
        sequence_ids: AnyPtr,
        chunk_ids: AnyPtr,
        offsets: AnyPtr,
        pub(crate) sequences: u32,
        pub(crate) tokens: u32,
        pub(crate) chunk_log2: u32,
        pub(crate) chunks: u32,
    }
}

/// Which chunks there are, of all options.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Chunking<'a> {
    pub(crate) chunk_size: Option<usize>,
    pub(crate) schedule: Option<&'a PrefillSchedule>,
}

impl Chunking<'_> {
    pub(crate) fn size(&self) -> usize {
        self.schedule.map(|schedule| schedule.chunk_size).or(self.chunk_size).unwrap_or(64)
    }

    /// Requires chunks to be of a size that there is, and of that of the schedule; which it gives.
    pub(crate) fn require_size(&self, arguments: &Arguments) -> Result<usize> {
        let size = self.size();
        arguments.require([16, 32, 64].contains(&size), "chunk_size", "16, 32 or 64", size)?;
        let (wanted, of) = (self.chunk_size.unwrap_or(size), "that of the schedule");
        arguments.require(wanted == size, "chunk_size", format!("{of}, {size}"), wanted)?;
        Ok(size)
    }
}

/// An op on chunks that is being declared.
pub(crate) struct ChunkOp<'a> {
    pub(crate) arguments: Arguments,
    chunking: Chunking<'a>,
}

/// Dimensions of tensors of tokens.
pub(crate) type Dims = &'static [&'static str];

/// Work-items of a workgroup, and of which a grid has fewer, as HIP counts them in 32 bits.
const THREADS: u64 = 256;
const MOST_ITEMS: u64 = 1 << 32;

/// Bytes from the first to behind the last element of a chunk of a head, at most.
const MOST_BYTES: u64 = 1 << 31;

impl<'a> ChunkOp<'a> {
    pub(crate) const fn new(op: &'static str, chunking: Chunking<'a>) -> Self {
        Self { arguments: Arguments::new(op), chunking }
    }

    /// Tokens of a chunk.
    pub(crate) fn size(&self) -> usize {
        self.chunking.size()
    }

    /// Whether sequences follow each other.
    pub(crate) fn is_packed(&self) -> bool {
        self.chunking.schedule.is_some()
    }

    /// Checks what remains, once all is declared.
    pub(crate) fn check(self) -> Result<Call> {
        let [h, hv] = self.arguments.sizes(["h", "hv"])?;
        self.arguments.require(hv % h == 0, "hv", format!("a multiple of h, {h}"), hv)?;
        self.arguments.check()
    }

    /// The factor of queries, `1 / sqrt(k)` if it is not given.
    pub(crate) fn scale(&self, scale: Option<f32>) -> Result<f32> {
        let [k] = self.arguments.sizes(["k"])?;
        let scale = scale.unwrap_or_else(|| 1.0 / (k as f32).sqrt());
        let is_scale = scale > 0.0 && scale.is_finite();
        self.arguments.require(is_scale, "scale", "positive and finite", scale)?;
        Ok(scale)
    }

    /// Bounds tell where sequences are.
    fn placed(&self, of: TokenHeads) -> TokenHeads {
        TokenHeads { sequence: if self.is_packed() { 0 } else { of.sequence }, ..of }
    }

    /// Declares an input of rows of heads.
    pub(crate) fn vectors<T: Real>(
        &mut self,
        name: &'static str,
        tensor: &TensorSlice<T>,
        dims: Dims,
    ) -> Result<TokenHeads> {
        let of = TokenHeads::vectors(self.arguments.input(name, tensor, dims), tensor)?;
        self.placed_rows::<T>(name, of, tensor.shape())
    }

    /// Declares an input of rows of heads, of any type.
    pub(crate) fn real_vectors(
        &mut self,
        name: &'static str,
        tensor: RealTensor<'_>,
        dims: Dims,
    ) -> Result<TokenHeads> {
        match tensor {
            RealTensor::Bf16(tensor) => self.vectors(name, tensor, dims),
            RealTensor::F16(tensor) => self.vectors(name, tensor, dims),
            RealTensor::F32(tensor) => self.vectors(name, tensor, dims),
        }
    }

    /// As [`placed`](Self::placed), of rows of which those of a chunk are addressed in 31 bits.
    fn placed_rows<T: Real>(
        &self,
        name: &'static str,
        of: TokenHeads,
        shape: &[usize],
    ) -> Result<TokenHeads> {
        let tokens = shape.get(1).copied().unwrap_or_default().min(self.size()) as u64;
        let row = shape.last().copied().unwrap_or_default() as u64;
        let spanned = of.token.unsigned_abs().saturating_mul(tokens.saturating_sub(1));
        let spanned = spanned.saturating_add(row);
        let bytes = spanned.saturating_mul(size_of::<T>() as u64);
        let fits = bytes <= MOST_BYTES;
        self.arguments.require(fits, name, "a chunk of tokens within 2^31 bytes", bytes)?;
        Ok(self.placed(of))
    }

    /// Declares an input of a number of each head, `[b, t, hv]`.
    pub(crate) fn scalars<T: Real>(
        &mut self,
        name: &'static str,
        tensor: &TensorSlice<T>,
    ) -> Result<TokenHeads> {
        let declared = self.arguments.input(name, tensor, &["b", "t", "hv"]);
        let of = TokenHeads::scalars(declared, tensor)?;
        Ok(self.placed(of))
    }

    /// Declares an input of a number of each head, of any type.
    pub(crate) fn real_scalars(
        &mut self,
        name: &'static str,
        tensor: RealTensor<'_>,
    ) -> Result<TokenHeads> {
        match tensor {
            RealTensor::Bf16(tensor) => self.scalars(name, tensor),
            RealTensor::F16(tensor) => self.scalars(name, tensor),
            RealTensor::F32(tensor) => self.scalars(name, tensor),
        }
    }

    /// Declares an output of rows of heads.
    pub(crate) fn output<T: Real>(
        &mut self,
        name: &'static str,
        tensor: &mut TensorSlice<T>,
        dims: Dims,
    ) -> Result<TokenHeads> {
        let declared = self.arguments.output(name, tensor, dims);
        let of = TokenHeads::vectors(declared, tensor)?;
        self.placed_rows::<T>(name, of, tensor.shape())
    }

    /// Declares an output of a number of each head, `[b, t, hv]`.
    pub(crate) fn output_scalars(
        &mut self,
        name: &'static str,
        tensor: &mut TensorSlice<f32>,
    ) -> Result<TokenHeads> {
        let declared = self.arguments.output(name, tensor, &["b", "t", "hv"]);
        let of = TokenHeads::scalars(declared, tensor)?;
        Ok(self.placed(of))
    }

    /// Checks the sizes that all such ops have, and declares where chunks are. The sizes b and t are
    /// known by now.
    pub(crate) fn schedule(&mut self) -> Result<ChunkSchedule> {
        let Self { arguments, chunking } = self;
        let most = i32::MAX as usize;
        for (size, least) in [("b", 0), ("t", 0), ("h", 1), ("hv", 1)] {
            arguments.limit(size, least..=most)?;
        }
        let [b, t] = arguments.sizes(["b", "t"])?;
        let size = chunking.require_size(arguments)?;
        let null = AnyPtr::NULL;
        let mut schedule = ChunkSchedule {
            bounds: null,
            sequence_ids: null,
            chunk_ids: null,
            offsets: null,
            sequences: b as u32,
            tokens: t as u32,
            chunk_log2: size.ilog2(),
            chunks: 0,
        };
        let mut chunks = b.saturating_mul(t.div_ceil(size));
        if let Some(of) = chunking.schedule {
            arguments.limit("b", 1..=1)?;
            arguments.limit("t", of.tokens..=of.tokens)?;
            Indices::from(&of.cu_seqlens).declare(arguments, "cu_seqlens", &["bounds"])?;
            schedule.bounds = of.cu_seqlens.ptr().any();
            let mut index = |name, tensor: &TensorSlice<i32>, dims: Dims| -> Result<AnyPtr> {
                arguments.input(name, tensor, dims).contiguous()?;
                Ok(tensor.ptr().any())
            };
            schedule.sequence_ids = index("sequence_ids", &of.sequence_ids, &["chunks"])?;
            schedule.chunk_ids = index("chunk_ids", &of.chunk_ids, &["chunks"])?;
            schedule.offsets = index("chunk_offsets", &of.chunk_offsets, &["bounds"])?;
            arguments.limit("bounds", of.sequences + 1..=of.sequences + 1)?;
            arguments.define("bounds-1", of.sequences);
            schedule.sequences = of.sequences as u32;
            chunks = arguments.sizes(["chunks"])?[0];
            // A chunk's sequence is looked up among those that there are.
            let has_sequences = of.sequences > 0 || chunks == 0;
            arguments.require(has_sequences, "sequence_ids", "none without sequences", chunks)?;
        }
        arguments.define("sum(ceil(t/c))", chunks);
        arguments.require(chunks <= most, "t", "fewer than 2^31 chunks", chunks)?;
        schedule.chunks = chunks as u32;
        Ok(schedule)
    }
}

/// The workgroups of a grid, if they are not too many.
pub(crate) fn grid(call: &Call, arg: &'static str, workgroups: [u32; 3]) -> Result<u32> {
    let workgroups = workgroups.into_iter().map(u64::from).fold(1, u64::saturating_mul);
    let items = workgroups.saturating_mul(THREADS);
    if items >= MOST_ITEMS {
        let most = format!("work for fewer than {MOST_ITEMS} work-items");
        return Err(Error::value(call.op(), arg, most, items));
    }
    Ok(workgroups as u32)
}

/// A tensor of tokens of heads, `[b, t, heads, ..]`, in which heads may be before tokens in memory.
pub(crate) fn tokens_of_heads<T: Element>(
    stream: &Stream,
    shape: &[usize],
    head_first: bool,
) -> Result<Tensor<T>> {
    if !head_first || shape.len() < 3 {
        return Tensor::empty(stream, shape);
    }
    let mut axes: Vec<usize> = (0..shape.len()).collect();
    axes.swap(1, 2);
    let in_memory: Vec<usize> = axes.iter().map(|axis| shape[*axis]).collect();
    Tensor::empty(stream, &in_memory)?.into_permuted(&axes)
}
