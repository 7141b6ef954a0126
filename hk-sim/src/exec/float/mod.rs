//! Float formats and arithmetic that the host does not have.

mod arithmetic;
mod format;

pub use arithmetic::{
    Denormals, FloatEnv, FloatMode, RoundMode, add_f16, add_f32, add_f64, fma_f16, fma_f32,
    fma_f64, mul_f16, mul_f32, mul_f64,
};
pub use format::{
    FloatFormat, Rounding, Specials, bf16_from_f32, bf16_from_f64, e8m0_decode, e8m0_of_f32,
    f16_from_f32, f16_from_f32_nearest, f16_from_f64, f32_from_f16, f32_from_f64, next_random,
    sr_bf16_from_f32, sr_f16_from_f32, stochastic,
};
