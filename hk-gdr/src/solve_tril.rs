//! The inverse of `I + A` of each chunk of tokens and head, `Ai = (I + A)^-1`, where A is what of the
//! chunk's square matrix is below the diagonal: the triangular solve of gated delta rules in chunks.
//!
//! Row t of a head is that of token t, columns are the tokens of its chunk; chunks of `c` tokens begin
//! anew in each sequence. What is on and above the diagonal of A is not looked at; Ai has ones and zeros
//! there, and zeros in the columns of tokens that a last chunk does not have.
//!
//! | | |
//! |---|---|
//! | Shapes | A `[b, t, hv, c]` -> Ai alike; c is 16, 32 or 64; any strides of all but the innermost dimension |
//! | Dtypes | A f32; Ai bf16, f16, f32; bounds i32, i64 |
//! | Numerics | in f32: blocks of 16 on the diagonal by forward substitution, those below by matrix instructions; rounded once at the store; bitwise deterministic; a NaN spoils at most its row and later ones of its chunk and head |
//! | Hardware | cdna3, cdna4; blocks of 16 by 16 on and below the diagonal are read once, all elements written once, 16 bytes of f32 to a lane |
//! | Source | Yang, Wang, Zhang, Shen and Kim, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length" (2024) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, SolveTrilOptions, Tensor, solve_tril};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // A has ones below the diagonal.
//! let a = Tensor::filled(&stream, &[1, 3, 1, 16], 1.0f32)?;
//! let ai = solve_tril(&a, &SolveTrilOptions::default())?.to_vec()?;
//! assert_eq!(ai[..3], [1.0, 0.0, 0.0]);
//! assert_eq!(ai[16..19], [-1.0, 1.0, 0.0]);
//! assert_eq!(ai[32..35], [0.0, -1.0, 1.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

use hk_core::dtype::Real;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Argument, Arguments};
use hk_core::{AnyPtr, Error, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// What can be chosen of the solve. Default is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SolveTrilOptions<'a> {
    cu_seqlens: Option<Indices<'a>>,
    validate_indices: Option<bool>,
}

impl<'a> SolveTrilOptions<'a> {
    /// The bounds of sequences that follow each other, `[n + 1]`; b is 1.
    #[must_use]
    pub fn cu_seqlens(self, bounds: impl Into<Indices<'a>>) -> Self {
        Self { cu_seqlens: Some(bounds.into()), ..self }
    }

    /// Whether bounds are looked at before the launch, which waits for the stream, to tell which are
    /// wrong. If not given, they are on the simulator and in builds with debug assertions.
    #[must_use]
    pub fn validate_indices(self, validate: bool) -> Self {
        Self { validate_indices: Some(validate), ..self }
    }
}

kernel_args! {
    /// Distances in elements.
    pub(crate) struct TrilStrides {
        pub(crate) sequence: i64,
        pub(crate) token: i64,
        pub(crate) head: i64,
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/solve_tril.hip` declares them.
    pub(crate) struct SolveTrilArgs {
        pub(crate) a: AnyPtr,
        pub(crate) ai: AnyPtr,
        pub(crate) bounds: IndexList,
        pub(crate) a_strides: TrilStrides,
        pub(crate) ai_strides: TrilStrides,
        pub(crate) sequences: u32,
        pub(crate) tokens: u32,
        pub(crate) heads: u32,
        pub(crate) slots: u32,
        pub(crate) output_type: u32,
        pub(crate) reserved: u32,
    }
}

/// Work-items of which a grid has fewer, as HIP counts them in 32 bits, and those of a workgroup.
const MOST_ITEMS: u64 = 1 << 32;
const THREADS: usize = 64;

/// The inverses of all chunks and heads.
///
/// # Errors
/// [`Error::Shape`] if c is not 16, 32 or 64, there are no heads, or b is not 1 and there are bounds,
/// [`Error::Stride`] if elements of a row are not adjacent, and [`Error::Value`] if a bound is wrong and
/// [looked at](SolveTrilOptions::validate_indices).
pub fn solve_tril(a: &TensorSlice<f32>, options: &SolveTrilOptions<'_>) -> Result<Tensor<f32>> {
    let mut ai = Tensor::empty(a.stream(), a.shape())?;
    solve_tril_into(a, options, &mut *ai)?;
    Ok(ai)
}

/// As [`solve_tril`], into a given tensor, which may have another element type, and may be A.
///
/// # Errors
/// As [`solve_tril`]; [`Error::Shape`] or [`Error::Stride`] also if Ai is not as A, and [`Error::Alias`] if
/// it overlaps A otherwise, or the bounds.
pub fn solve_tril_into<O: Real>(
    a: &TensorSlice<f32>,
    options: &SolveTrilOptions<'_>,
    ai: &mut TensorSlice<O>,
) -> Result<()> {
    let mut args = Arguments::new("solve_tril");
    let mut a_strides = strides(args.input("a", a, &["b", "t", "hv", "c"]).may_be("ai"))?;
    let bounds = match options.cu_seqlens {
        Some(bounds) => {
            args.limit("b", 1..=1)?;
            let list = bounds.declare(&mut args, "cu_seqlens", &["bounds"])?;
            args.limit("bounds", 1..=i32::MAX as usize)?;
            list
        }
        None => IndexList::NONE,
    };
    let mut ai_strides = strides(args.output("ai", ai, &["b", "t", "hv", "c"]))?;
    for (size, range) in [
        ("b", 0..=i32::MAX as usize),
        ("t", 0..=i32::MAX as usize),
        ("hv", 1..=i32::MAX as usize),
        ("c", 16..=64),
    ] {
        args.limit(size, range)?;
    }
    let [b, t, hv, c] = args.sizes(["b", "t", "hv", "c"])?;
    if !c.is_power_of_two() {
        args.limit("c", c.next_power_of_two()..=64)?;
    }
    let mut sequences = b;
    if options.cu_seqlens.is_some() {
        sequences = args.sizes(["bounds"])?[0] - 1;
        // Bounds tell where sequences are.
        (a_strides.sequence, ai_strides.sequence) = (0, 0);
    }
    let call = args.check()?;

    let problem = [("chunk", c as u64)];
    let kernel = KERNELS.function(call.device(), call.op(), "solve_tril", "", &problem)?;
    let slots = match options.cu_seqlens {
        Some(_) => t / c + sequences,
        None => b * t.div_ceil(c),
    };
    let blocks = hv.div_ceil(THREADS / c);
    let workgroups = (slots as u64).saturating_mul(blocks as u64);
    let items = workgroups.saturating_mul(THREADS as u64);
    if items >= MOST_ITEMS {
        let most = format!("work for fewer than {MOST_ITEMS} work-items");
        return Err(Error::value(call.op(), "a", most, items));
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
    let args = SolveTrilArgs {
        a: a.ptr().any(),
        ai: ai.ptr_mut().any(),
        bounds,
        a_strides,
        ai_strides,
        sequences: sequences as u32,
        tokens: t as u32,
        heads: hv as u32,
        slots: slots as u32,
        output_type: O::CODE,
        reserved: 0,
    };
    call.submit(|stream| {
        // SAFETY: the kernel stays within the tensors whose shapes and strides were checked, whatever
        // the bounds are.
        unsafe { kernel.launch(stream, [workgroups as u32, 1, 1], &args) }
    })
}

fn strides(argument: Argument<'_>) -> Result<TrilStrides> {
    let [sequence, token, head, _] = argument.adjacent()?;
    Ok(TrilStrides { sequence, token, head })
}
