//! Indices in cases.

use hk_core::Tensor;
use hk_core::op::indices::Indices;
use hk_ref::{Arg, Setup};

/// Indices in a case.
pub(super) enum IndexArg {
    I32(Arg<i32>),
    I64(Arg<i64>),
}

/// As an op is given them.
pub(super) enum IndexTensor {
    I32(Tensor<i32>),
    I64(Tensor<i64>),
}

impl IndexArg {
    pub(super) fn get(&self) -> IndexTensor {
        match self {
            Self::I32(arg) => IndexTensor::I32(arg.get()),
            Self::I64(arg) => IndexTensor::I64(arg.get()),
        }
    }
}

impl IndexTensor {
    pub(super) fn indices(&self) -> Indices<'_> {
        match self {
            Self::I32(tensor) => tensor.into(),
            Self::I64(tensor) => tensor.into(),
        }
    }
}

/// Indices of 32 or 64 bits.
pub(super) fn indices(
    s: &mut Setup,
    name: &'static str,
    values: Vec<i64>,
    is_64: bool,
) -> IndexArg {
    let shape = [values.len()];
    if is_64 {
        return IndexArg::I64(s.given(name, &shape, values));
    }
    IndexArg::I32(s.given(name, &shape, values.into_iter().map(|value| value as i32).collect()))
}

/// The bounds of sequences of these lengths.
pub(super) fn bounds_of(lengths: &[usize]) -> Vec<i64> {
    let mut bounds = vec![0];
    for length in lengths {
        bounds.push(bounds.last().copied().unwrap_or_default() + *length as i64);
    }
    bounds
}
