//! Activations.

/// A function that is applied to every element. `x` is the f32 value; NaN stays NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// `max(0, x)`
    Relu,
    /// `min(max(0, x), 6)`
    Relu6,
    /// `x` if `x >= 0`, else the given slope times `x`
    LeakyRelu(f32),
    /// `x (1 + erf(x / sqrt 2)) / 2`
    Gelu,
    /// `x (1 + tanh(0.7978845608 (x + 0.044715 x^3))) / 2`
    GeluTanh,
    /// `x / (1 + e^-x)`
    Silu,
    /// The same function as [`Silu`](Self::Silu), computed as `x / (1 + 2^(-1.44269504089 x))`
    SiluExp2,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `tanh x`
    Tanh,
    /// `x tanh(ln(1 + e^x))`
    Mish,
}

impl Activation {
    /// The function as kernels' arguments name it: the enum `activation` of `hk/math.h`.
    pub const fn code(self) -> u32 {
        match self {
            Self::Relu => 1,
            Self::Relu6 => 2,
            Self::LeakyRelu(_) => 3,
            Self::Gelu => 4,
            Self::GeluTanh => 5,
            Self::Silu => 6,
            Self::SiluExp2 => 7,
            Self::Sigmoid => 8,
            Self::Tanh => 9,
            Self::Mish => 10,
        }
    }

    /// Its parameter: the slope of [`LeakyRelu`](Self::LeakyRelu), 0 where there is none.
    pub const fn parameter(self) -> f32 {
        match self {
            Self::LeakyRelu(slope) => slope,
            _ => 0.0,
        }
    }
}
