//! What is between the two products of an expert.

use hk_core::Result;
use hk_core::op::Arguments;

/// An activation. None of them is what is meant if nothing is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// None.
    None,
    /// `silu(gate) linear`, of pairs.
    SiluAndMul,
    /// `silu_alpha(gate) (linear + 1)`, of pairs, or without the 1, with `silu_alpha(x) =
    /// x / (1 + e^(-alpha x))`. With a limit gates are at most that, and what is let through is
    /// between that and its negative. GPT-OSS has 1.702, 7 and the 1.
    Swiglu {
        /// What gates are multiplied by in the exponent.
        alpha: f32,
        /// Where gates, and what they let through, end.
        limit: Option<f32>,
        /// Whether 1 is added to what is let through.
        add_residual: bool,
    },
    /// `x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2`.
    GeluTanh,
}

impl Activation {
    /// Whether it makes one number of two.
    pub const fn is_gated(self) -> bool {
        matches!(self, Self::SiluAndMul | Self::Swiglu { .. })
    }

    /// As kernels take it: its number, alpha, limit and what is added.
    pub(crate) const fn code(self) -> (u32, [f32; 3]) {
        const NO_LIMIT: f32 = f32::INFINITY;
        match self {
            Self::None => (0, [1.0, NO_LIMIT, 0.0]),
            Self::SiluAndMul => (1, [1.0, NO_LIMIT, 0.0]),
            Self::Swiglu { alpha, limit, add_residual } => {
                let limit = match limit {
                    Some(limit) => limit,
                    None => NO_LIMIT,
                };
                (1, [alpha, limit, if add_residual { 1.0 } else { 0.0 }])
            }
            Self::GeluTanh => (2, [1.0, NO_LIMIT, 0.0]),
        }
    }

    /// Requires numbers that it can have.
    pub(crate) fn check(self, args: &Arguments) -> Result<()> {
        let Self::Swiglu { alpha, limit, .. } = self else { return Ok(()) };
        args.require(alpha.is_finite(), "activation", "a finite alpha", alpha)?;
        let limit = limit.unwrap_or(0.0);
        args.require(limit >= 0.0, "activation", "a limit of 0 or more", limit)
    }
}
