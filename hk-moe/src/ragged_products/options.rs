//! What happens to sums.

use hk_core::TensorSlice;
use hk_core::op::epilogue::Operand;

use crate::activation::Activation;

/// What happens to sums: first they are multiplied by the static scales, then the bias is added, then come
/// the activation, of columns 2j, the gates, and 2j + 1 if it is one of pairs, and gammas.
#[derive(Debug, Clone, Copy)]
pub struct MoeRaggedOptions<'a> {
    pub(super) activation: Activation,
    pub(super) bias: Option<&'a TensorSlice<f32>>,
    pub(super) gammas: Option<&'a TensorSlice<f32>>,
    pub(super) x_weights: Option<&'a TensorSlice<f32>>,
    pub(super) x_static_scale: Option<&'a TensorSlice<f32>>,
    pub(super) w_static_scale: Option<&'a TensorSlice<f32>>,
    pub(super) quant_static_scale: Option<&'a TensorSlice<f32>>,
    pub(super) residual: Option<Operand<'a>>,
    pub(super) validate: Option<bool>,
    pub(super) tile: Option<&'a str>,
}

impl<'a> MoeRaggedOptions<'a> {
    /// With this activation.
    pub const fn new(activation: Activation) -> Self {
        Self {
            activation,
            bias: None,
            gammas: None,
            x_weights: None,
            x_static_scale: None,
            w_static_scale: None,
            quant_static_scale: None,
            residual: None,
            validate: None,
            tile: None,
        }
    }

    /// What is added to the sums of each expert, `[E, n]`.
    #[must_use]
    pub const fn bias(mut self, bias: &'a TensorSlice<f32>) -> Self {
        self.bias = Some(bias);
        self
    }

    /// What results of each place are multiplied by, `[G]`.
    #[must_use]
    pub const fn gammas(mut self, gammas: &'a TensorSlice<f32>) -> Self {
        self.gammas = Some(gammas);
        self
    }

    /// What sums of each place are multiplied by before the bias is added, `[G]`: as if the rows of x were.
    #[must_use]
    pub(crate) const fn x_weights(mut self, weights: &'a TensorSlice<f32>) -> Self {
        self.x_weights = Some(weights);
        self
    }

    /// What x is multiplied by, `[1]`.
    #[must_use]
    pub const fn x_static_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.x_static_scale = Some(scale);
        self
    }

    /// What w is multiplied by, `[1]` or `[E]`.
    #[must_use]
    pub const fn w_static_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.w_static_scale = Some(scale);
        self
    }

    /// What results that are 8-bit floating point are multiples of, `[1]`.
    #[must_use]
    pub const fn quant_static_scale(mut self, scale: &'a TensorSlice<f32>) -> Self {
        self.quant_static_scale = Some(scale);
        self
    }

    /// What is added to the results of tokens, of their type and shape.
    #[must_use]
    pub fn residual(mut self, residual: impl Into<Operand<'a>>) -> Self {
        self.residual = Some(residual.into());
        self
    }

    /// Whether places, gates and tiles are looked at before the launch, which waits for the stream; on
    /// the simulator, and in builds with debug assertions, if not given.
    #[must_use]
    pub const fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Takes the tile configuration of that name instead of the one that is expected to be fastest.
    #[must_use]
    pub const fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }
}
