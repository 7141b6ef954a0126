//! Arguments of row-wise kernels, checked.

use hk_core::dtype::Element;
use hk_core::{DevicePtr, Error, Result, Tensor};

/// A tensor's address without its type.
pub(crate) fn erased<T: Element>(tensor: &Tensor<T>) -> DevicePtr<u8> {
    DevicePtr::new(tensor.ptr().address())
}

/// Elements from row to row, where rows are evenly spaced.
pub(crate) fn stride<T: Element>(
    op: &'static str,
    arg: &'static str,
    tensor: &Tensor<T>,
) -> Result<i64> {
    Ok(tensor.check_rows(op, arg)? as i64)
}

/// A size as the kernels take it.
pub(crate) fn small(
    op: &'static str,
    arg: &'static str,
    value: usize,
    limit: usize,
) -> Result<u32> {
    if value > limit {
        return Err(Error::value(op, arg, format!("at most {limit}"), value));
    }
    Ok(value as u32)
}
