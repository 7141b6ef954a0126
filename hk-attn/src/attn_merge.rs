//! Attention to parts of the keys, combined to that to all of them.
//!
//! [`splitk_combine`] takes sums that were not divided by those of their weights, with these sums and
//! what was subtracted from scores, in units of log2; [`attn_merge_states`] takes averages, with
//! logarithms of sums of exponentials:
//!
//! ```text
//! out = sum_n 2^(m[n] - m) acc[n] / sum_n 2^(m[n] - m) l[n],    m = max_n m[n]
//! out = sum_n exp(lse[n] - most) o[n] / sum_n exp(lse[n] - most),    most = max_n lse[n]
//! lse = ln(sum_n 2^m[n] l[n]), or ln(sum_n exp(lse[n]))
//! ```
//!
//! A part of `m` or `lse` -inf has no weight, whatever its sums are; without other parts, the result is 0
//! and its `lse` -inf.
//!
//! | | |
//! |---|---|
//! | Shapes | acc `[b, hq, n, sq, dv]`, m and l `[b, hq, n, sq]` -> out `[b, sq, hq, dv]`, lse `[b, hq, sq]`; o `[n, t, hq, dv]`, lse `[n, hq, t]` -> out `[t, hq, dv]`, lse `[hq, t]`; any strides of all but the innermost dimension of acc, o and out |
//! | Dtypes | acc, m, l and lse f32; o bf16, f16, f32, and out of any of these |
//! | Numerics | f32, parts in their order; bitwise deterministic |
//! | Hardware | cdna3, cdna4; a wave per row and head |
//! | Source | Dao et al., "Flash-Decoding for long-context inference" (2023) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, Tensor, attn_merge_states};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Averages of one and of three equal weights.
//! let o = Tensor::from_slice(&stream, &[1.0f32, 5.0], &[2, 1, 1, 1])?;
//! let lse = Tensor::from_slice(&stream, &[0.0, 3f32.ln()], &[2, 1, 1])?;
//! let merged = attn_merge_states(&o, &lse)?;
//! assert!((merged.out.to_vec()?[0] - 4.0).abs() < 1e-5);
//! assert!((merged.lse.to_vec()?[0] - 4f32.ln()).abs() < 1e-5);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, TileFunction, kernel_args};

use crate::attention::Launch;
use crate::mha::{Mha, MhaOut};
use crate::{AttentionOutput, KERNELS};

kernel_args! {
    /// Where numbers of parts, sequences, rows and heads are: `PartPlaces` of `attention_combine`.
    pub(crate) struct PartPlaces {
        pub(crate) base: AnyPtr,
        pub(crate) part: i64,
        pub(crate) sequence: i64,
        pub(crate) row: i64,
        pub(crate) head: i64,
    }
}

impl PartPlaces {
    pub(crate) const NONE: Self =
        Self { base: AnyPtr::NULL, part: 0, sequence: 0, row: 0, head: 0 };
}

kernel_args! {
    /// Arguments of the core `attention_combine`.
    pub(crate) struct CombineArgs {
        pub(crate) parts: PartPlaces,
        pub(crate) maxima: PartPlaces,
        pub(crate) sums: PartPlaces,
        pub(crate) out: PartPlaces,
        pub(crate) lse: PartPlaces,
        pub(crate) part_type: u32,
        pub(crate) out_type: u32,
        pub(crate) count: u32,
        pub(crate) sequences: u32,
        pub(crate) rows: u32,
        pub(crate) heads: u32,
        pub(crate) width: u32,
        pub(crate) unit: f32,
    }
}

impl CombineArgs {
    /// Checks sizes, and launches a wave per row and head.
    fn launch(self, arguments: Arguments, sizes: [&'static str; 2]) -> Result<()> {
        for size in sizes {
            arguments.limit(size, 0..=i32::MAX as usize)?;
        }
        arguments.limit("hq", 0..=i32::MAX as usize)?;
        arguments.limit("dv", 0..=i32::MAX as usize)?;
        let rows = u64::from(self.sequences) * u64::from(self.rows);
        let waves = rows.saturating_mul(u64::from(self.heads));
        arguments.require(waves < MOST_WAVES, "out", "fewer rows of heads", waves)?;
        let call = arguments.check()?;
        if waves == 0 {
            return Ok(());
        }
        let launch = self.prepare(&call)?;
        call.submit(launch)
    }

    /// The launch, of shapes that were checked.
    pub(crate) fn prepare(self, call: &Call) -> Result<Launch> {
        let kernel: TileFunction<Self> =
            KERNELS.function(call.device(), call.op(), "attention_combine", "", &[])?;
        let waves = u64::from(self.sequences) * u64::from(self.rows) * u64::from(self.heads);
        let groups = waves.div_ceil(WAVES_OF_GROUP) as u32;
        // SAFETY: the kernel stays within the tensors, whose shapes and strides were checked.
        Ok(Box::new(move |stream| unsafe { kernel.launch(stream, [groups, 1, 1], &self) }))
    }
}

/// Rows and heads of which a launch has fewer: HIP counts its work-items in 32 bits.
pub(crate) const MOST_WAVES: u64 = 1 << 25;
const WAVES_OF_GROUP: u64 = 4;

/// Combines sums of parts, as they are before they are divided by the sums `l` of their weights, with
/// the maxima `m`, in units of log2, that were subtracted from scores.
///
/// # Errors
/// [`Error::Shape`] if shapes do not fit to each other, [`Error::Stride`] if elements of a row are not
/// adjacent, and [`Error::Value`] if there are more rows than a launch can have.
pub fn splitk_combine(
    acc: &TensorSlice<f32>,
    m: &TensorSlice<f32>,
    l: &TensorSlice<f32>,
) -> Result<Mha<f32>> {
    let [b, hq, _, sq, dv] = <[usize; 5]>::try_from(acc.shape()).unwrap_or_default();
    let mut out = Tensor::empty(acc.stream(), &[b, sq, hq, dv])?;
    let mut lse = Tensor::empty(acc.stream(), &[b, hq, sq])?;
    splitk_combine_into(acc, m, l, MhaOut { out: &mut *out, lse: Some(&mut *lse), s_dmask: None })?;
    Ok(Mha { out, lse })
}

/// As [`splitk_combine`], into given tensors.
///
/// # Errors
/// As [`splitk_combine`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as it should
/// be, and [`Error::Alias`] if one overlaps another argument.
pub fn splitk_combine_into<O: AttentionOutput + Real>(
    acc: &TensorSlice<f32>,
    m: &TensorSlice<f32>,
    l: &TensorSlice<f32>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let mut arguments = Arguments::new("splitk_combine");
    let dims = &["b", "hq", "n", "sq", "dv"];
    let [sequence, head, part, row, _] = arguments.input("acc", acc, dims).adjacent()?;
    let parts = PartPlaces { base: acc.ptr().any(), part, sequence, row, head };
    let mut numbers = |name, tensor: &TensorSlice<f32>| -> Result<PartPlaces> {
        let declared = arguments.input(name, tensor, &["b", "hq", "n", "sq"]);
        let [sequence, head, part, row] = declared.strides()?;
        Ok(PartPlaces { base: tensor.ptr().any(), part, sequence, row, head })
    };
    let (maxima, sums) = (numbers("m", m)?, numbers("l", l)?);
    out.refuse_weights(&arguments)?;
    let MhaOut { out, lse: to, .. } = out;
    let declared = arguments.output("out", out, &["b", "sq", "hq", "dv"]);
    let [sequence, row, head, _] = declared.adjacent()?;
    let out = PartPlaces { base: out.ptr_mut().any(), part: 0, sequence, row, head };
    let mut lse = PartPlaces::NONE;
    if let Some(to) = to {
        let [sequence, head, row] = arguments.output("lse", to, &["b", "hq", "sq"]).strides()?;
        lse = PartPlaces { base: to.ptr_mut().any(), part: 0, sequence, row, head };
    }
    arguments.limit("n", 0..=i32::MAX as usize)?;
    let [b, hq, n, sq, dv] = arguments.sizes(["b", "hq", "n", "sq", "dv"])?;
    let args = CombineArgs {
        parts,
        maxima,
        sums,
        out,
        lse,
        part_type: <f32 as Real>::CODE,
        out_type: <O as Real>::CODE,
        count: n as u32,
        sequences: b as u32,
        rows: sq as u32,
        heads: hq as u32,
        width: dv as u32,
        unit: 1.0,
    };
    args.launch(arguments, ["b", "sq"])
}

/// Merges averages `o` of parts by the logarithms `lse` of the sums of exponentials of their scores.
///
/// # Errors
/// As [`splitk_combine`].
pub fn attn_merge_states<T: AttentionOutput + Real>(
    o: &TensorSlice<T>,
    lse: &TensorSlice<f32>,
) -> Result<Mha<T>> {
    let [_, t, hq, dv] = <[usize; 4]>::try_from(o.shape()).unwrap_or_default();
    let mut out = Tensor::empty(o.stream(), &[t, hq, dv])?;
    let mut merged = Tensor::empty(o.stream(), &[hq, t])?;
    attn_merge_states_into(
        o,
        lse,
        MhaOut { out: &mut *out, lse: Some(&mut *merged), s_dmask: None },
    )?;
    Ok(Mha { out, lse: merged })
}

/// As [`attn_merge_states`], into given tensors.
///
/// # Errors
/// As [`attn_merge_states`] and [`splitk_combine_into`].
pub fn attn_merge_states_into<T: Real, O: AttentionOutput + Real>(
    o: &TensorSlice<T>,
    lse: &TensorSlice<f32>,
    out: MhaOut<'_, O>,
) -> Result<()> {
    let mut arguments = Arguments::new("attn_merge_states");
    let [part, row, head, _] = arguments.input("o", o, &["n", "t", "hq", "dv"]).adjacent()?;
    let parts = PartPlaces { base: o.ptr().any(), part, sequence: 0, row, head };
    let [part, head, row] = arguments.input("lse", lse, &["n", "hq", "t"]).strides()?;
    let maxima = PartPlaces { base: lse.ptr().any(), part, sequence: 0, row, head };
    out.refuse_weights(&arguments)?;
    let MhaOut { out, lse: to, .. } = out;
    let [row, head, _] = arguments.output("out", out, &["t", "hq", "dv"]).adjacent()?;
    let out = PartPlaces { base: out.ptr_mut().any(), row, head, ..PartPlaces::NONE };
    let mut lse = PartPlaces::NONE;
    if let Some(to) = to {
        let [head, row] = arguments.output("lse_out", to, &["hq", "t"]).strides()?;
        lse = PartPlaces { base: to.ptr_mut().any(), row, head, ..PartPlaces::NONE };
    }
    let [n, t, hq, dv] = arguments.sizes(["n", "t", "hq", "dv"])?;
    let args = CombineArgs {
        parts,
        maxima,
        sums: PartPlaces::NONE,
        out,
        lse,
        part_type: T::CODE,
        out_type: <O as Real>::CODE,
        count: n as u32,
        sequences: 1,
        rows: t as u32,
        heads: hq as u32,
        width: dv as u32,
        unit: std::f32::consts::LOG2_E,
    };
    args.launch(arguments, ["n", "t"])
}
