//! Codes of a product's results: what the kernels of `hk/encode.h` take.

use super::product::{Matrices, Order};
use super::tiling::Problem;
use crate::dtype::DType;
use crate::{AnyPtr, DevicePtr, kernel_args};

/// Numbers that a lane takes at a time.
const RUN: u64 = 8;

/// Codes that results become, and their scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Encode {
    pub(super) y: Matrices,
    pub(super) scale: DevicePtr<f32>,
    pub(super) problem: Problem,
}

impl Encode {
    /// The results themselves, f32 in a workspace, in rows that are aligned.
    pub(super) fn results(&self, at: DevicePtr<u8>) -> Matrices {
        let Problem { m, n, .. } = self.problem;
        let width = n.next_multiple_of(RUN);
        Matrices {
            ptr: at.cast::<f32>().any(),
            dtype: DType::F32,
            shape: [m, width],
            strides: [(m * width) as i64, width as i64],
            order: Order::Rows,
        }
    }

    /// Bytes of those.
    pub(super) fn bytes(&self) -> usize {
        let Problem { batch, m, n, .. } = self.problem;
        let count = batch.saturating_mul(m).saturating_mul(n.next_multiple_of(RUN));
        usize::try_from(count.saturating_mul(size_of::<f32>() as u64)).unwrap_or(usize::MAX)
    }

    /// Matrices, and runs of each that lanes take.
    pub(super) fn runs(&self) -> [u64; 2] {
        [self.problem.batch, self.problem.m * self.problem.n.div_ceil(RUN)]
    }

    /// The kernel's arguments, for results at that place.
    pub(super) fn arguments(&self, at: DevicePtr<u8>) -> EncodeArgs {
        let (x, Self { y, scale, problem }) = (self.results(at), *self);
        EncodeArgs {
            x: x.ptr,
            y: y.ptr,
            scale,
            x_stride: x.strides[1],
            x_batch: x.strides[0],
            y_stride: y.strides[1],
            y_batch: y.strides[0],
            m: problem.m as u32,
            n: problem.n as u32,
            batch: problem.batch as u32,
            reserved: 0,
        }
    }
}

kernel_args! {
    /// Arguments of the kernels, as `hk/encode.h` declares them.
    pub struct EncodeArgs {
        x: AnyPtr,
        y: AnyPtr,
        scale: DevicePtr<f32>,
        x_stride: i64,
        x_batch: i64,
        y_stride: i64,
        y_batch: i64,
        m: u32,
        n: u32,
        batch: u32,
        reserved: u32,
    }
}
