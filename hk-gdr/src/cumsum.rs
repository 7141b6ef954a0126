//! Running sums along tokens that begin anew in each chunk, as those of the logarithms of decays: with
//! chunks of `chunk_size` tokens of a sequence, of which the last may be shorter,
//! `o[t] = scale * sum s[i]` over the tokens i of t's chunk up to t, or from t on if sums are reversed.
//! Each head, and each element of one, has sums of its own.
//!
//! | | |
//! |---|---|
//! | Shapes | s `[b, t, h]`, or `[b, t, h, n]` for vectors -> o alike; `[b, h, t]` and `[b, h, t, n]` where heads are first; any strides; chunks of 16, 32, 64, 128 or 256 tokens |
//! | Dtypes | s and o bf16, f16, f32 each; bounds i32, i64 |
//! | Numerics | f32, from the side where the sum begins, so that what is infinite or NaN is only in sums that have it; rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each element is read once and written once |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{CumsumOptions, Device, Tensor, cumsum_scalar};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let s = Tensor::from_slice(&stream, &[1.0f32; 20], &[1, 20, 1])?;
//! let o = cumsum_scalar(&s, 16, &CumsumOptions::default())?;
//! assert_eq!(o.to_vec()?[13..], [14.0, 15.0, 16.0, 1.0, 2.0, 3.0, 4.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

use hk_core::dtype::Real;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Argument, Arguments};
use hk_core::{AnyPtr, Error, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// How sums are taken, where the default is not wanted: forward, of sequences of one length, tokens
/// before heads.
#[derive(Debug, Clone, Copy)]
pub struct CumsumOptions<'a> {
    reverse: bool,
    scale: f32,
    cu_seqlens: Option<Indices<'a>>,
    head_first: bool,
    output_head_first: Option<bool>,
    validate_indices: Option<bool>,
}

impl Default for CumsumOptions<'_> {
    fn default() -> Self {
        Self {
            reverse: false,
            scale: 1.0,
            cu_seqlens: None,
            head_first: false,
            output_head_first: None,
            validate_indices: None,
        }
    }
}

impl<'a> CumsumOptions<'a> {
    /// Adds from each token to the end of its chunk rather than from the beginning.
    #[must_use]
    pub fn reverse(self, reverse: bool) -> Self {
        Self { reverse, ..self }
    }

    /// Multiplies the sums: log2(e) makes powers of two of those of e.
    #[must_use]
    pub fn scale(self, scale: f32) -> Self {
        Self { scale, ..self }
    }

    /// The bounds of sequences that follow each other, `[n + 1]`; b is 1.
    #[must_use]
    pub fn cu_seqlens(self, bounds: impl Into<Indices<'a>>) -> Self {
        Self { cu_seqlens: Some(bounds.into()), ..self }
    }

    /// Whether heads come before tokens in s, and in o unless that is said, too.
    #[must_use]
    pub fn head_first(self, head_first: bool) -> Self {
        Self { head_first, ..self }
    }

    /// Whether heads come before tokens in o; as in s if not given.
    #[must_use]
    pub fn output_head_first(self, head_first: bool) -> Self {
        Self { output_head_first: Some(head_first), ..self }
    }

    /// Whether bounds are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }

    fn output_is_head_first(&self) -> bool {
        self.output_head_first.unwrap_or(self.head_first)
    }

    /// An output for s.
    fn output<T: Real>(&self, s: &TensorSlice<T>) -> Result<Tensor<f32>> {
        let mut shape = s.shape().to_vec();
        if self.output_is_head_first() != self.head_first && shape.len() > 2 {
            shape.swap(1, 2);
        }
        Tensor::empty(s.stream(), &shape)
    }
}

kernel_args! {
    /// Distances in elements.
    struct CumsumStrides {
        sequence: i64,
        token: i64,
        head: i64,
        element: i64,
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/cumsum.hip` declares them.
    pub(crate) struct CumsumArgs {
        s: AnyPtr,
        o: AnyPtr,
        bounds: IndexList,
        s_strides: CumsumStrides,
        o_strides: CumsumStrides,
        sequences: u32,
        tokens: u32,
        heads: u32,
        head_size: u32,
        chunk_log2: u32,
        slots: u32,
        token_lanes_log2: u32,
        output_type: u32,
        reverse: u32,
        scale: f32,
    }
}

/// The sums of each head, `[b, t, h]`, or `[b, h, t]` if heads are first.
///
/// # Errors
/// [`Error::Shape`] if there are no heads, or b is not 1 and there are bounds, [`Error::Stride`] if
/// bounds have gaps, and [`Error::Value`] if `chunk_size` is none of the above, `scale` is not finite,
/// or a bound is wrong and [looked at](CumsumOptions::validate_indices).
pub fn cumsum_scalar<T: Real>(
    s: &TensorSlice<T>,
    chunk_size: usize,
    options: &CumsumOptions<'_>,
) -> Result<Tensor<f32>> {
    let mut o = options.output(s)?;
    cumsum_scalar_into(s, chunk_size, options, &mut *o)?;
    Ok(o)
}

/// As [`cumsum_scalar`], into a given tensor, which may have another element type, and may be s.
///
/// # Errors
/// As [`cumsum_scalar`]; [`Error::Shape`] also if o has another shape, and [`Error::Alias`] if it
/// overlaps s otherwise, or the bounds.
pub fn cumsum_scalar_into<T: Real, O: Real>(
    s: &TensorSlice<T>,
    chunk_size: usize,
    options: &CumsumOptions<'_>,
    o: &mut TensorSlice<O>,
) -> Result<()> {
    cumsum("cumsum_scalar", SCALAR, s, chunk_size, options, o)
}

/// The sums of each element of heads, `[b, t, h, n]`, or `[b, h, t, n]` if heads are first.
///
/// # Errors
/// As [`cumsum_scalar`]; [`Error::Shape`] also if heads have no elements.
pub fn cumsum_vector<T: Real>(
    s: &TensorSlice<T>,
    chunk_size: usize,
    options: &CumsumOptions<'_>,
) -> Result<Tensor<f32>> {
    let mut o = options.output(s)?;
    cumsum_vector_into(s, chunk_size, options, &mut *o)?;
    Ok(o)
}

/// As [`cumsum_vector`], into a given tensor, which may have another element type, and may be s.
///
/// # Errors
/// As [`cumsum_scalar_into`] and [`cumsum_vector`].
pub fn cumsum_vector_into<T: Real, O: Real>(
    s: &TensorSlice<T>,
    chunk_size: usize,
    options: &CumsumOptions<'_>,
    o: &mut TensorSlice<O>,
) -> Result<()> {
    cumsum("cumsum_vector", VECTOR, s, chunk_size, options, o)
}

/// Dimensions where tokens are first, and where heads are.
type Dims = [&'static [&'static str]; 2];
const SCALAR: Dims = [&["b", "t", "h"], &["b", "h", "t"]];
const VECTOR: Dims = [&["b", "t", "h", "n"], &["b", "h", "t", "n"]];

/// Lanes of a wave, and the tokens of a lane.
const WAVE_LOG2: u32 = 6;
const RUN_LOG2: u32 = 3;

/// Adjacent columns that a wave has where tokens are not: 64 bytes of f32.
const COLUMNS_LOG2: u32 = 4;

/// Waves of which a grid has fewer: HIP counts its work-items, of whole workgroups of four waves, in 32
/// bits.
const MOST_WAVES: u64 = (1 << 26) - 3;

fn cumsum<T: Real, O: Real>(
    op: &'static str,
    dims: Dims,
    s: &TensorSlice<T>,
    chunk_size: usize,
    options: &CumsumOptions<'_>,
    o: &mut TensorSlice<O>,
) -> Result<()> {
    let (from, to) = (options.head_first, options.output_is_head_first());
    let mut args = Arguments::new(op);
    let mut declared = args.input("s", s, dims[usize::from(from)]);
    if from == to {
        declared = declared.may_be("o");
    }
    let mut s_strides = strides(declared, from, dims)?;
    let bounds = match options.cu_seqlens {
        Some(bounds) => {
            args.limit("b", 1..=1)?;
            let list = bounds.declare(&mut args, "cu_seqlens", &["bounds"])?;
            args.limit("bounds", 1..=i32::MAX as usize)?;
            list
        }
        None => IndexList::NONE,
    };
    let mut o_strides = strides(args.output("o", o, dims[usize::from(to)]), to, dims)?;
    for (size, least) in [("b", 0), ("t", 0), ("h", 1)] {
        args.limit(size, least..=i32::MAX as usize)?;
    }
    let [b, t, h] = args.sizes(["b", "t", "h"])?;
    let n = if dims == VECTOR { args.sizes(["n"])?[0] } else { 1 };
    if dims == VECTOR {
        args.limit("n", 1..=i32::MAX as usize / h)?;
    }
    let is_chunk = chunk_size.is_power_of_two() && (16..=256).contains(&chunk_size);
    args.require(is_chunk, "chunk_size", "16, 32, 64, 128 or 256", chunk_size)?;
    args.require(options.scale.is_finite(), "scale", "finite", options.scale)?;
    let sequences = match options.cu_seqlens {
        Some(_) => args.sizes(["bounds"])?[0] - 1,
        None => b,
    };
    if options.cu_seqlens.is_some() {
        // Bounds tell where sequences are.
        (s_strides.sequence, o_strides.sequence) = (0, 0);
    }
    let call = args.check()?;

    let kernel = KERNELS.function(call.device(), call.op(), "cumsum", T::DTYPE.name(), &[])?;
    let chunk_log2 = chunk_size.ilog2();
    let slots = match options.cu_seqlens {
        Some(_) => (t >> chunk_log2) + sequences,
        None => b * t.div_ceil(chunk_size),
    };
    // As many lanes as a chunk has tokens for, unless columns are adjacent.
    let most = chunk_log2 - RUN_LOG2;
    let are_adjacent = s_strides.token == 1 && o_strides.token == 1;
    let columns_log2 = (h * n).next_power_of_two().ilog2().min(COLUMNS_LOG2);
    let token_lanes_log2 = if are_adjacent { most } else { most.min(WAVE_LOG2 - columns_log2) };
    let blocks = (h * n).div_ceil(1 << (WAVE_LOG2 - token_lanes_log2));
    let waves = (slots as u64).saturating_mul(blocks as u64);
    if waves >= MOST_WAVES {
        let most = format!("work for fewer than {MOST_WAVES} waves");
        return Err(Error::value(op, "s", most, waves));
    }
    // Bounds may be wrong even where there is nothing to do.
    if let Some(bounds) = options.cu_seqlens
        && call.validates_indices(options.validate_indices)?
    {
        call.require_bounds("cu_seqlens", &bounds.to_vec()?, t)?;
    }
    if t == 0 || sequences == 0 {
        return Ok(());
    }
    let args = CumsumArgs {
        s: s.ptr().any(),
        o: o.ptr().any(),
        bounds,
        s_strides,
        o_strides,
        sequences: sequences as u32,
        tokens: t as u32,
        heads: h as u32,
        head_size: n as u32,
        chunk_log2,
        slots: slots as u32,
        token_lanes_log2,
        output_type: O::CODE,
        reverse: u32::from(options.reverse),
        scale: options.scale,
    };
    let waves_of_workgroup = u64::from(kernel.tile().threads >> WAVE_LOG2);
    let grid = waves.div_ceil(waves_of_workgroup) as u32;
    call.submit(|stream| {
        // SAFETY: the kernel stays within the tensors whose shapes and strides were checked, whatever
        // the bounds are.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}

fn strides(argument: Argument<'_>, head_first: bool, dims: Dims) -> Result<CumsumStrides> {
    let ([sequence, first, second], element) = if dims == VECTOR {
        let [sequence, first, second, element] = argument.strides()?;
        ([sequence, first, second], element)
    } else {
        (argument.strides()?, 0)
    };
    let (token, head) = if head_first { (second, first) } else { (first, second) };
    Ok(CumsumStrides { sequence, token, head, element })
}
