//! The core `delta_rule`: how ops declare a recurrence, and how it is launched.

mod recurrence;

pub(crate) use recurrence::{Recurrence, Shared};

use hk_core::dtype::{DType, Real, bf16, f16};
use hk_core::op::Argument;
use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

/// Types of states: f32 and bf16.
pub trait State: Real {}
impl State for f32 {}
impl State for bf16 {}

/// The order of keys and values in a state of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StateLayout {
    /// Keys by values: values are adjacent.
    #[default]
    Kv,
    /// Values by keys: keys are adjacent.
    Vk,
}

/// A tensor whose elements are bf16, f16 or f32.
#[derive(Debug, Clone, Copy)]
pub enum RealTensor<'a> {
    /// Of bf16.
    Bf16(&'a TensorSlice<bf16>),
    /// Of f16.
    F16(&'a TensorSlice<f16>),
    /// Of f32.
    F32(&'a TensorSlice<f32>),
}

impl<'a> RealTensor<'a> {
    /// Elements of each dimension.
    pub(crate) fn shape(&self) -> &'a [usize] {
        match self {
            Self::Bf16(tensor) => tensor.shape(),
            Self::F16(tensor) => tensor.shape(),
            Self::F32(tensor) => tensor.shape(),
        }
    }

    /// The element type.
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Bf16(_) => DType::Bf16,
            Self::F16(_) => DType::F16,
            Self::F32(_) => DType::F32,
        }
    }
}

macro_rules! real_tensors {
    ($($variant:ident: $element:ty),*) => {$(
        impl<'a> From<&'a TensorSlice<$element>> for RealTensor<'a> {
            fn from(tensor: &'a TensorSlice<$element>) -> Self {
                Self::$variant(tensor)
            }
        }

        impl<'a> From<&'a Tensor<$element>> for RealTensor<'a> {
            fn from(tensor: &'a Tensor<$element>) -> Self {
                Self::$variant(tensor)
            }
        }
    )*};
}

real_tensors!(Bf16: bf16, F16: f16, F32: f32);

kernel_args! {
    /// A tensor of tokens of heads.
    pub(crate) struct TokenHeads {
        pub(crate) base: AnyPtr,
        pub(crate) sequence: i64,
        pub(crate) token: i64,
        pub(crate) head: i64,
        pub(crate) element_type: u32,
        pub(crate) reserved: u32,
    }
}

impl TokenHeads {
    pub(crate) const NONE: Self =
        Self { base: AnyPtr::NULL, sequence: 0, token: 0, head: 0, element_type: 0, reserved: 0 };

    /// Tokens of rows of heads.
    pub(crate) fn vectors<T: Real>(
        argument: Argument<'_>,
        tensor: &TensorSlice<T>,
    ) -> Result<Self> {
        let [sequence, token, head, _] = argument.adjacent()?;
        let (base, element_type) = (tensor.ptr().any(), T::CODE);
        Ok(Self { base, sequence, token, head, element_type, reserved: 0 })
    }

    /// Tokens of one number of each head.
    pub(crate) fn scalars<T: Real>(
        argument: Argument<'_>,
        tensor: &TensorSlice<T>,
    ) -> Result<Self> {
        let [sequence, token, head] = argument.strides()?;
        let (base, element_type) = (tensor.ptr().any(), T::CODE);
        Ok(Self { base, sequence, token, head, element_type, reserved: 0 })
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/delta_rule.hip` declares them.
    pub(crate) struct DeltaRuleArgs {
        pub(crate) q: TokenHeads,
        pub(crate) k: TokenHeads,
        pub(crate) v: TokenHeads,
        pub(crate) g: TokenHeads,
        pub(crate) beta: TokenHeads,
        pub(crate) gk: TokenHeads,
        pub(crate) gv: TokenHeads,
        pub(crate) a_log: AnyPtr,
        pub(crate) dt_bias: AnyPtr,
        pub(crate) o: AnyPtr,
        pub(crate) o_sequence: i64,
        pub(crate) o_token: i64,
        pub(crate) o_head: i64,
        pub(crate) initial_states: AnyPtr,
        pub(crate) initial_slot: i64,
        pub(crate) initial_head: i64,
        pub(crate) final_states: AnyPtr,
        pub(crate) final_slot: i64,
        pub(crate) final_head: i64,
        pub(crate) bounds: IndexList,
        pub(crate) slots: IndexList,
        pub(crate) initial_row: u32,
        pub(crate) final_row: u32,
        pub(crate) slot_count: u32,
        pub(crate) sequences: u32,
        pub(crate) tokens: u32,
        pub(crate) value_heads: u32,
        pub(crate) group: u32,
        pub(crate) keys: u32,
        pub(crate) values: u32,
        pub(crate) o_type: u32,
        pub(crate) a_log_type: u32,
        pub(crate) dt_bias_type: u32,
        pub(crate) beta_of_values: u32,
        pub(crate) normalizes: u32,
        pub(crate) in_place: u32,
        pub(crate) scale: f32,
        pub(crate) softplus_beta: f32,
        pub(crate) softplus_beta_inverse: f32,
        pub(crate) softplus_threshold: f32,
        pub(crate) pads: u32,
        pub(crate) turns_type: u32,
        pub(crate) reserved: u32,
    }
}
