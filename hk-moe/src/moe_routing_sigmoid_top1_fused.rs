//! The one expert of each token, by the sigmoid of its logit, together with the product that makes
//! the logits.
//!
//! `logit = x w`, `score = 1 / (1 + e^-logit)`, `id = argmax score`, of equal ones the first, and
//! `weight = score[id]`; NaN is the largest of all.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., K]`, w `[K, N]` -> topk_ids, topk_weights `[.., 1]`, or `[.., 2]` with a shared expert; rows any distance apart, w in any layout; N up to 1024 |
//! | Dtypes | x, w bf16, f16; topk_ids i32; topk_weights f32 |
//! | Numerics | products are added up in f32 in a fixed order and are not rounded; `1 + e^-logit` is rounded to f32, so that all logits above 16.64 score 1 |
//! | Hardware | cdna3, cdna4; fastest where K, or where N, is adjacent in memory and a multiple of 8 |
//! | Source | Fedus, Zoph and Shazeer, "Switch Transformers" (2021); Llama 4; AITER, `routing_sigmoid_top1` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, SigmoidTop1Options, Tensor, bf16, moe_routing_sigmoid_top1_fused};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0].map(bf16::from_f32), &[1, 2])?;
//! let w = [1.0, -1.0, 3.0, 0.0, 0.0, -2.0].map(bf16::from_f32);
//! let w = Tensor::from_slice(&stream, &w, &[2, 3])?;
//! let options = SigmoidTop1Options::default().fused_shared_experts(true);
//! let top = moe_routing_sigmoid_top1_fused(&x, &w, 1, &options)?;
//! assert_eq!(top.topk_ids.to_vec()?, [0, 3]);
//! assert_eq!(top.topk_weights.to_vec()?[1], 1.0);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, bf16, f16};
use hk_core::op::Arguments;
use hk_core::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// Element types of what is multiplied.
pub trait RouterInput: Real {}

impl RouterInput for bf16 {}
impl RouterInput for f16 {}

/// What experts are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelectOn {
    /// Their scores, of which many may be 1.
    #[default]
    Score,
    /// Their logits.
    Logit,
}

/// How experts are chosen, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct SigmoidTop1Options {
    select_on: SelectOn,
    has_shared: bool,
}

impl SigmoidTop1Options {
    /// Compares these; scores if not given.
    #[must_use]
    pub fn select_on(mut self, what: SelectOn) -> Self {
        self.select_on = what;
        self
    }

    /// Gives each token expert N as well, with weight 1.
    #[must_use]
    pub fn fused_shared_experts(mut self, has_one: bool) -> Self {
        self.has_shared = has_one;
        self
    }

    /// Experts of a token.
    const fn slots(self) -> usize {
        if self.has_shared { 2 } else { 1 }
    }
}

/// What [`moe_routing_sigmoid_top1_fused`] returns.
#[derive(Debug)]
pub struct SigmoidTop1 {
    /// The expert of each token, and the shared one if there is one.
    pub topk_ids: Tensor<i32>,
    /// Their weights.
    pub topk_weights: Tensor<f32>,
}

/// Where [`moe_routing_sigmoid_top1_fused_into`] stores.
#[derive(Debug)]
pub struct SigmoidTop1Out<'a> {
    /// The expert of each token, and the shared one if there is one.
    pub topk_ids: &'a mut TensorSlice<i32>,
    /// Their weights.
    pub topk_weights: &'a mut TensorSlice<f32>,
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/moe_routing_sigmoid_top1_fused.hip` declares them.
    pub(crate) struct Top1Args {
        x: AnyPtr,
        w: AnyPtr,
        ids: DevicePtr<i32>,
        weights: DevicePtr<f32>,
        x_stride: i64,
        w_strides: [i64; 2],
        ids_stride: i64,
        weights_stride: i64,
        tokens: u32,
        experts: u32,
        k: u32,
        x_in_chunks: u32,
        w_order: u32,
        by_logit: u32,
        has_shared: u32,
    }
}

const OP: &str = "moe_routing_sigmoid_top1_fused";

/// Most experts.
const MOST: usize = 1024;

/// Tokens of a workgroup.
const TOKENS: usize = 16;

/// Elements that are loaded at once, and their bytes.
const CHUNK: usize = 8;
const CHUNK_BYTES: u64 = 16;

/// The expert of each row of `x`, of those that are the columns of `w`, and its weight. `topk`, the
/// experts of a token, is 1.
///
/// # Errors
/// [`Error::Value`] if `topk` is not 1; [`Error::Shape`] if K or N is 0, N is more than 1024, or
/// rows are not as long as w has; [`Error::Stride`] if rows are not evenly spaced.
pub fn moe_routing_sigmoid_top1_fused<T: RouterInput>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    topk: usize,
    options: &SigmoidTop1Options,
) -> Result<SigmoidTop1> {
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = options.slots();
    }
    let mut topk_ids = Tensor::empty(x.stream(), &shape)?;
    let mut topk_weights = Tensor::empty(x.stream(), &shape)?;
    let out = SigmoidTop1Out { topk_ids: &mut topk_ids, topk_weights: &mut topk_weights };
    moe_routing_sigmoid_top1_fused_into(x, w, topk, options, out)?;
    Ok(SigmoidTop1 { topk_ids, topk_weights })
}

/// As [`moe_routing_sigmoid_top1_fused`], into given tensors.
///
/// # Errors
/// As [`moe_routing_sigmoid_top1_fused`]; [`Error::Shape`] or [`Error::Stride`] also if an output
/// is not as [`SigmoidTop1Out`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn moe_routing_sigmoid_top1_fused_into<T: RouterInput>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    topk: usize,
    options: &SigmoidTop1Options,
    out: SigmoidTop1Out<'_>,
) -> Result<()> {
    const SLOTS: &str = "1+shared";
    let mut args = Arguments::new(OP);
    args.require(topk == 1, "topk", "1", topk)?;
    let x_stride = args.input("x", x, &["..", "K"]).rows()?;
    let w_strides = args.input("w", w, &["K", "N"]).strides::<2>()?;
    let [tokens, k, experts] = args.sizes(["..", "K", "N"])?;
    args.limit("..", 0..=i32::MAX as usize)?;
    args.limit("K", 1..=i32::MAX as usize)?;
    args.limit("N", 1..=MOST)?;
    args.define(SLOTS, options.slots());
    let ids_stride = args.output("topk_ids", out.topk_ids, &["..", SLOTS]).rows()?;
    let weights_stride = args.output("topk_weights", out.topk_weights, &["..", SLOTS]).rows()?;
    let call = args.check()?;
    let kernel = KERNELS.function(call.device(), call.op(), OP, T::DTYPE.name(), &[])?;
    if tokens == 0 {
        return Ok(());
    }
    let in_chunks = |tensor: &TensorSlice<T>, size: usize, stride: i64| {
        let is_aligned = tensor.ptr().address().is_multiple_of(CHUNK_BYTES);
        is_aligned && size.is_multiple_of(CHUNK) && stride % CHUNK as i64 == 0
    };
    let [k_stride, expert_stride] = w_strides;
    let w_order = if k_stride == 1 && in_chunks(w, k, expert_stride) {
        WeightOrder::ChunksOfK
    } else if expert_stride == 1 && in_chunks(w, experts, k_stride) {
        WeightOrder::ChunksOfExperts
    } else {
        WeightOrder::Any
    };
    let args = Top1Args {
        x: x.ptr().any(),
        w: w.ptr().any(),
        ids: out.topk_ids.ptr_mut(),
        weights: out.topk_weights.ptr_mut(),
        x_stride,
        w_strides,
        ids_stride,
        weights_stride,
        tokens: tokens as u32,
        experts: experts as u32,
        k: k as u32,
        x_in_chunks: u32::from(in_chunks(x, k, x_stride)),
        w_order: w_order as u32,
        by_logit: u32::from(options.select_on == SelectOn::Logit),
        has_shared: u32::from(options.has_shared),
    };
    let grid = tokens.div_ceil(TOKENS) as u32;
    call.submit(|stream| {
        // SAFETY: the kernel reads and writes elements of the shapes and strides that were checked.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}

/// How the weights lie in memory.
#[derive(Clone, Copy)]
#[repr(u32)]
enum WeightOrder {
    Any = 0,
    ChunksOfK = 1,
    ChunksOfExperts = 2,
}
