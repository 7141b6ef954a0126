//! Weights and activations of experts as codes of few bits, and back: blocks of 32 elements along any
//! dimension with a power of two each, `x ~ 2^(b - 127) c`, or all elements with one given scale.
//!
//! | | |
//! |---|---|
//! | Shapes | [`downcast_to_mxfp`]: x of any shape, whose dimension `axis` has n elements -> codes with that dimension at the end, `[.., n]`, and scales `[.., ceil(n/32)]`; [`upcast_from_mxfp`]: these -> y with the dimension at `axis` again; any n >= 1, but even of fp4; [`downcast_to_static_fp8`]: x `[.., n]`, scale `[1]` -> codes `[.., n]` |
//! | Dtypes | x, y bf16, f16, f32; codes OCP e2m1, e4m3 or e5m2 with scales e8m0, on any chip; of [`downcast_to_static_fp8`] e4m3 in the flavour of the chip, with scale f32 |
//! | Numerics | exact: quotients, products and codes are rounded to nearest, each once; codes never leave the finite numbers; of ties between 4-bit codes the larger is taken, or the even one, if that is wanted |
//! | Hardware | cdna3, cdna4 |
//! | Source | OCP Microscaling Formats (MX) Specification 1.0; GPT-OSS, whose experts have such weights |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_core::dtype::{E8M0, F4x2E2M1, bf16};
//! use hk_quant::{
//!     Device, DowncastOptions, Quantised, RowOptions, Tensor, downcast_to_mxfp, upcast_from_mxfp,
//! };
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! // Two columns, each with a scale of its own.
//! let x = [12.0, 0.5, -4.0, 0.25].map(bf16::from_f32);
//! let x = Tensor::from_slice(&stream, &x, &[2, 2])?;
//! let q: Quantised<F4x2E2M1, E8M0> = downcast_to_mxfp(&x, 0, &DowncastOptions::default())?;
//! assert_eq!(q.scales.to_vec()?, [128, 124].map(E8M0::from_bits));
//! let codes = [F4x2E2M1::from_f32(6.0, -2.0), F4x2E2M1::from_f32(4.0, 2.0)];
//! assert_eq!(q.codes.to_vec()?, codes);
//! let y: Tensor<bf16> = upcast_from_mxfp(&q.codes, &q.scales, 0, &RowOptions::default())?;
//! assert_eq!(y.to_vec()?, x.to_vec()?);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod downcast;
mod static_fp8;
mod upcast;

pub use downcast::{DowncastOptions, Fp4Ties, downcast_to_mxfp, downcast_to_mxfp_into};
pub use static_fp8::{downcast_to_static_fp8, downcast_to_static_fp8_into};
pub use upcast::{upcast_from_mxfp, upcast_from_mxfp_into};

use hk_core::Result;
use hk_core::op::Arguments;

/// The number of a dimension, of which negative ones are counted from the end.
fn dimension(args: &Arguments, axis: isize, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as isize } else { axis };
    let is_one = (0..rank as isize).contains(&from_start);
    args.require(is_one, "axis", format!("a dimension of {rank}"), axis)?;
    Ok(from_start as usize)
}

/// The order of dimensions with `axis` at the end.
fn at_the_end(axis: usize, rank: usize) -> Vec<usize> {
    (0..rank).filter(|of| *of != axis).chain([axis]).collect()
}
