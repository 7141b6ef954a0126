//! Scores by which an indexer chooses keys: of all heads of a row of queries, weighed and added up.
//! `logits[i, n] = sum_h weights[i, h] relu(kv_scales[n] (q[i, h] . kv[n]))` for n in the row's window,
//! and -inf for others.
//!
//! | | |
//! |---|---|
//! | Shapes | q `[s, h, d]`, kv `[skv, d]`, kv_scales `[skv]`, weights `[s, h]`, cu_starts, cu_ends `[s]` -> logits `[s, skv]`; d from 1 to 256; rows anywhere. Returned rows are a multiple of 256 elements apart |
//! | Dtypes | q, kv e4m3 in the flavour of the chip, to which [`fp8_ocp_to_fnuz`] brings OCP's, or bf16; kv_scales, weights, logits f32; bounds i32 |
//! | Numerics | exact products, sums in f32 in an order that only d and h decide; NaN stays; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | DeepSeek-V3.2 (2025), the lightning indexer; AITER `fp8_mqa_logits` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_attn::{Device, MqaLogitsOptions, Tensor, bf16, fp8_mqa_logits};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // One row of two heads, of opposite sign; three keys.
//! let q: Vec<bf16> = (0..64).map(|i| bf16::from_f32(if i < 32 { 1.0 } else { -1.0 })).collect();
//! let q = Tensor::from_slice(&stream, &q, &[1, 2, 32])?;
//! let kv = Tensor::filled(&stream, &[3, 32], bf16::ONE)?;
//! let kv_scales = Tensor::from_slice(&stream, &[1.0, -0.5, 2.0], &[3])?;
//! let weights = Tensor::from_slice(&stream, &[0.5, 10.0], &[1, 2])?;
//! let [starts, ends] = [0, 2].map(|at| Tensor::from_slice(&stream, &[at], &[1]));
//! let (starts, ends) = (starts?, ends?);
//! let options = MqaLogitsOptions::default();
//! let logits = fp8_mqa_logits(&q, &kv, Some(&kv_scales), &weights, &starts, &ends, &options)?;
//! assert_eq!(logits.to_vec()?, [16.0, 160.0, f32::NEG_INFINITY]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{F8E4M3, F8E4M3Fnuz};
use hk_core::op::Arguments;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice};

use crate::mqa_logits::{MqaElement, MqaLogitsArgs, MqaLogitsOptions};

/// Elements of which distances between rows are multiples.
const ROW: usize = 256;

/// Scores keys for each row of queries. Windows end where the keys do; keys have scales of 1 if none
/// are given. What a scale of queries is, belongs into the weights.
///
/// # Errors
/// [`Error::Shape`] if sizes differ, d is above 256, or there are no heads, [`Error::Stride`] if the
/// elements of a row are not adjacent, [`Error::ArchMismatch`] if they are those of another chip, and
/// [`Error::Value`] if there are more scores than a launch can have.
pub fn fp8_mqa_logits<T: MqaElement>(
    q: &TensorSlice<T>,
    kv: &TensorSlice<T>,
    kv_scales: Option<&TensorSlice<f32>>,
    weights: &TensorSlice<f32>,
    cu_starts: &TensorSlice<i32>,
    cu_ends: &TensorSlice<i32>,
    options: &MqaLogitsOptions,
) -> Result<Tensor<f32>> {
    let [rows, keys] = [q.shape(), kv.shape()].map(|shape| shape.first().copied().unwrap_or(0));
    let logits = Tensor::empty(q.stream(), &[rows, keys.next_multiple_of(ROW)])?;
    let mut logits = logits.into_narrowed(1, 0..keys)?;
    fp8_mqa_logits_into(q, kv, kv_scales, weights, cu_starts, cu_ends, options, &mut logits)?;
    Ok(logits)
}

/// As [`fp8_mqa_logits`], into `logits`, whose rows may be any distance apart.
///
/// # Errors
/// As [`fp8_mqa_logits`]; [`Error::Shape`] also if `logits` has the wrong shape, [`Error::Alias`] if it
/// overlaps another argument.
#[expect(clippy::too_many_arguments, reason = "all of them are tensors")]
pub fn fp8_mqa_logits_into<T: MqaElement>(
    q: &TensorSlice<T>,
    kv: &TensorSlice<T>,
    kv_scales: Option<&TensorSlice<f32>>,
    weights: &TensorSlice<f32>,
    cu_starts: &TensorSlice<i32>,
    cu_ends: &TensorSlice<i32>,
    options: &MqaLogitsOptions,
    logits: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut args = Arguments::new("fp8_mqa_logits");
    let [q_row, q_head, _] = args.input("q", q, &["s", "h", "d"]).adjacent()?;
    let [key, _] = args.input("kv", kv, &["skv", "d"]).adjacent()?;
    let mut scale = 0;
    if let Some(scales) = kv_scales {
        [scale] = args.input("kv_scales", scales, &["skv"]).strides()?;
    }
    let [weight_row, _] = args.input("weights", weights, &["s", "h"]).adjacent()?;
    args.input("cu_starts", cu_starts, &["s"]).contiguous()?;
    args.input("cu_ends", cu_ends, &["s"]).contiguous()?;
    let [y_row, _] = args.output("logits", logits, &["s", "skv"]).adjacent()?;
    for size in ["s", "skv"] {
        args.limit(size, 0..=i32::MAX as usize)?;
    }
    options.check(&args)?;
    let [rows, keys, heads, depth] = args.sizes(["s", "skv", "h", "d"])?.map(|size| size as u32);
    let call = args.check()?;

    let kernel_args = MqaLogitsArgs {
        q: q.ptr().any(),
        k: kv.ptr().any(),
        k_scales: kv_scales.map_or(AnyPtr::NULL, |scales| scales.ptr().any()),
        weights: weights.ptr(),
        y: logits.ptr_mut(),
        starts: cu_starts.ptr(),
        ends: cu_ends.ptr(),
        q_row,
        q_head,
        k_key: key * size_of::<T>() as i64,
        scale_key: scale * size_of::<f32>() as i64,
        weight_row,
        y_row,
        rows,
        heads,
        depth,
        keys,
        ..MqaLogitsArgs::NONE
    };
    // SAFETY: these are the arguments' shapes and strides, which were checked.
    unsafe { kernel_args.launch(call, T::VARIANT, options) }
}

/// Codes of OCP's e4m3 as those of gfx942, each of half the number: scales that go with them are to be doubled.
/// All halves are numbers of that type, and NaN stays.
///
/// ```
/// use hk_attn::{F8E4M3, F8E4M3Fnuz, fp8_ocp_to_fnuz};
///
/// let codes = [448.0, -0.5].map(F8E4M3::from_f32);
/// assert_eq!(fp8_ocp_to_fnuz(&codes), [224.0, -0.25].map(F8E4M3Fnuz::from_f32));
/// ```
#[must_use]
pub fn fp8_ocp_to_fnuz(codes: &[F8E4M3]) -> Vec<F8E4M3Fnuz> {
    let half = |code: &F8E4M3| match code.to_bits() {
        // There is one zero.
        0x80 => 0,
        0x7f | 0xff => 0x80,
        // The same bits, of a type whose exponents are one less.
        bits => bits,
    };
    codes.iter().map(|code| F8E4M3Fnuz::from_bits(half(code))).collect()
}
