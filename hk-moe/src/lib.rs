//! Mixture-of-experts kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950).
//!
//! T tokens have k experts each, of E: *gate* `t k + s` is slot s of token t. Build with the
//! feature `cdna3` or `cdna4`, or both, to have code for the chips. [`FusedMoe`] is a whole layer.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Device, MoeAlignOptions, MoeGemmOptions, MoeTopkOptions, Tensor, bf16};
//! use hk_moe::{moe_align_block_size, moe_gemm, moe_topk};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Of two experts, the first token has expert 1, the second one expert 0.
//! let logits = Tensor::from_slice(&stream, &[1.0f32, 3.0, 2.0, 0.5], &[2, 2])?;
//! let top = moe_topk(&logits, 1, &MoeTopkOptions::default())?;
//! let aligned = moe_align_block_size(&top.y_indx, 2, 16, &MoeAlignOptions::default())?;
//! let x = Tensor::from_slice(&stream, &[1.0, 2.0, 1.0, 2.0].map(bf16::from_f32), &[2, 2])?;
//! let w = [3.0, 4.0, -5.0, 1.0].map(bf16::from_f32);
//! let w = Tensor::from_slice(&stream, &w, &[2, 1, 2])?;
//! let y: Tensor<f32> = moe_gemm(&x, &w, &aligned.gates(16), 1, &MoeGemmOptions::default())?;
//! assert_eq!(y.to_vec()?, [-3.0, 11.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod activation;
mod expert_map;
mod expert_products;
mod expert_sort;
pub mod fused_moe;
mod int_groups;
mod interleave;
pub mod moe_align_block_size;
pub mod moe_bitmatrix;
pub mod moe_expt_data;
pub mod moe_op;
pub mod moe_op_e2e;
pub mod moe_op_gelu;
pub mod moe_op_gemm_a4w4;
pub mod moe_op_gemm_a8w4;
pub mod moe_op_gemm_a8w8;
pub mod moe_op_gemm_a8w8_blockscale;
pub mod moe_op_mxfp4;
pub mod moe_op_mxfp4_silu_fused;
pub mod moe_op_silu_fused;
pub mod moe_routing;
pub mod moe_routing_sigmoid_top1_fused;
pub mod moe_topk;
#[cfg(feature = "parity")]
pub mod parity;
mod ragged_products;
pub mod reduce_grouped;

pub use expert_products::{AlignedGates, BlockScales, ExpertElement, ExpertWeight, MoeGemmOptions};
pub use fused_moe::{
    A4w4Weights, A8w4Weights, A8w8Weights, ByteMatrices, DenseMatrices, DenseWeights,
    ExpertWeights, Fp8BlockWeights, Fp8Matrices, FusedMoe, FusedMoeConfig, GroupedWeights,
    IntMatrices, MxMatrices, MxProduct, MxWeights, Mxfp4Weights, Mxfp8Weights, Router,
    SharedExpert, StaticA8w4Weights, W8a16Weights,
};
pub use int_groups::WnA16Weights;
pub use interleave::{moe_deinterleave_gate_up, moe_interleave_gate_up};
pub use moe_align_block_size::{
    MoeAlign, MoeAlignOptions, MoeAlignOut, aligned_capacity, moe_align_block_size,
    moe_align_block_size_into,
};
pub use moe_bitmatrix::{
    BitmatrixOptions, BitmatrixSums, BitmatrixSumsOut, sum_bitmatrix_rows,
    sum_bitmatrix_rows_fused, sum_bitmatrix_rows_fused_into, sum_bitmatrix_rows_into,
};
pub use moe_expt_data::{
    ExptData, ExptDataOptions, ExptDataOut, expt_data_compute, expt_data_compute_into,
    expt_data_stage1_into, expt_data_stage2_fused_into, expt_data_stage2_into, max_num_tiles,
};
pub use moe_op::{moe_gemm, moe_gemm_into, moe_gemm_wna16, moe_gemm_wna16_into};
pub use moe_op_e2e::{MoeLayerOptions, moe_e2e, moe_e2e_into};
pub use moe_op_gelu::{moe_gelu, moe_gelu_into};
pub use moe_op_gemm_a4w4::{moe_a4w4, moe_a4w4_into};
pub use moe_op_gemm_a8w4::{
    A8w4Element, MxRows, MxRowsOut, moe_a8w4, moe_a8w4_into, moe_a8w4_mx, moe_a8w4_mx_into,
};
pub use moe_op_gemm_a8w8::{
    MxBytes, RaggedElement, StoredMxBytes, moe_a8w8, moe_a8w8_into, moe_a8w8_mx, moe_a8w8_mx_into,
};
pub use moe_op_gemm_a8w8_blockscale::{
    RaggedScales, moe_a8w8_blockscale, moe_a8w8_blockscale_into,
};
pub use moe_op_mxfp4::{Mxfp4Element, moe_mxfp4, moe_mxfp4_into};
pub use moe_op_mxfp4_silu_fused::{
    MoeGatedOptions, moe_mxfp4_silu_fused, moe_mxfp4_silu_fused_into,
};
pub use moe_op_silu_fused::{
    moe_silu_fused, moe_silu_fused_into, moe_silu_fused_wna16, moe_silu_fused_wna16_into,
};
pub use moe_routing::{
    ChosenOut, Routing, RoutingData, RoutingIndx, RoutingIndxOut, RoutingOptions, SortOptions,
    SortTokensOut, block_m, routing, routing_compute_indx, routing_compute_indx_into, routing_into,
    sort_tokens, sort_tokens_fused, sort_tokens_fused_into, sort_tokens_into,
};
pub use moe_routing_sigmoid_top1_fused::{
    RouterInput, SelectOn, SigmoidTop1, SigmoidTop1Options, SigmoidTop1Out,
    moe_routing_sigmoid_top1_fused, moe_routing_sigmoid_top1_fused_into,
};
pub use moe_topk::{
    ExpertGroups, MoeTopk, MoeTopkOptions, MoeTopkOut, Order, Score, Ties, WeightNorm,
    moe_grouped_topk, moe_grouped_topk_into, moe_topk, moe_topk_into,
};

pub use ragged_products::{MoeRaggedOptions, RaggedGates, RaggedOutput};
pub use reduce_grouped::{
    ReduceGroupedOptions, Residual, moe_sum, moe_sum_into, reduce_grouped, reduce_grouped_into,
};

pub use activation::Activation;
pub use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz};
pub use hk_core::op::rows::RowOptions;
pub use hk_core::op::stored::{Shuffled, Stored};
pub use hk_core::prelude::*;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
}

pub(crate) use generated::KERNELS;
