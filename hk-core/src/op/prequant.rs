//! Quantising x before a product: what the kernels of `hk/prequant.h` take, and where they put codes and
//! scales.

use super::product::Matrices;
use super::tiling::Problem;
use crate::dtype::{DType, Element, F4x2E2M1, F8E4M3};
use crate::{AnyPtr, DevicePtr, kernel_args};

/// Bytes of which rows of codes, and of scales of blocks, are whole multiples.
const CHUNK: u64 = 16;
/// k of an MX block.
const BLOCK: u64 = 32;
/// Numbers that a lane takes at a time.
const RUN: u64 = 8;

/// The codes that x is quantised to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prequant {
    /// e2m1 in MX blocks, whose scales are those of [`MxRound::Even`](super::quant::MxRound::Even).
    Mx,
    /// e4m3 in the flavour of the chip, in groups of so many k of a row: 32, 64, 128 or 256.
    Groups {
        /// k of a group.
        k: u32,
        /// A scale is the group's largest magnitude times the f32 next to 1 / the largest code, rather
        /// than over the largest code: they differ in the last bit.
        reciprocal: bool,
    },
}

/// Codes of x, and their scales, in a workspace.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    pub(super) form: Prequant,
    pub(super) codes: Matrices,
    pub(super) scales: Matrices,
    matrices: u64,
    k: u64,
}

impl Codes {
    /// Those of x, `(batch, m, k)` numbers of 16 bits.
    pub(super) fn of(form: Prequant, x: &Matrices, problem: Problem) -> Self {
        let (m, k) = (problem.m, problem.k);
        // Quantised once, if they are all the same.
        let matrices = if x.strides[0] == 0 { 1 } else { problem.batch };
        let rows = |dtype: DType, width: u64| {
            let batch = if matrices == 1 { 0 } else { (m * width) as i64 };
            Matrices { ptr: AnyPtr::NULL, dtype, shape: [m, width], strides: [batch, width as i64] }
        };
        let (codes, scales) = match form {
            Prequant::Mx => {
                let blocks = (k / BLOCK).next_multiple_of(CHUNK);
                let codes = (k / 2).next_multiple_of(CHUNK);
                (rows(F4x2E2M1::DTYPE, codes), rows(DType::U8, blocks))
            }
            Prequant::Groups { k: group, .. } => {
                let scales = k.div_ceil(group.into());
                (rows(F8E4M3::DTYPE, k.next_multiple_of(CHUNK)), rows(DType::F32, scales))
            }
        };
        Self { form, codes, scales, matrices, k }
    }

    /// The same, at these places.
    pub(super) fn at(mut self, [codes, scales]: [DevicePtr<u8>; 2]) -> Self {
        self.codes.ptr = AnyPtr::NULL.moved_to(codes.any().address());
        self.scales.ptr = AnyPtr::NULL.moved_to(scales.any().address());
        self
    }

    /// Bytes of the codes, and of the scales.
    pub(super) fn bytes(&self) -> [usize; 2] {
        [&self.codes, &self.scales].map(|of| {
            let [rows, width] = of.shape;
            let bytes =
                self.matrices.saturating_mul(rows * width).saturating_mul(of.dtype.size() as u64);
            usize::try_from(bytes).unwrap_or(usize::MAX)
        })
    }

    /// Matrices, and runs of each that lanes take.
    pub(super) fn runs(&self) -> [u64; 2] {
        [self.matrices, self.codes.shape[0] * self.k.div_ceil(RUN)]
    }

    /// The kernel that quantises x, and its arguments.
    pub(super) fn launch(&self, x: &Matrices) -> (&'static str, PrequantArgs) {
        let is_bf16 = x.dtype == DType::Bf16;
        let (name, group, reciprocal) = match self.form {
            Prequant::Mx => (if is_bf16 { "mx_bf16" } else { "mx_f16" }, BLOCK as u32, false),
            Prequant::Groups { k, reciprocal } => {
                (if is_bf16 { "groups_bf16" } else { "groups_f16" }, k, reciprocal)
            }
        };
        let args = PrequantArgs {
            x: x.ptr,
            codes: self.codes.ptr,
            blocks: self.scales.ptr,
            scales: self.scales.ptr,
            x_stride: x.strides[1],
            x_batch: x.strides[0],
            code_stride: self.codes.strides[1],
            code_batch: self.codes.strides[0],
            scale_stride: self.scales.strides[1],
            scale_batch: self.scales.strides[0],
            m: self.codes.shape[0] as u32,
            k: self.k as u32,
            batch: self.matrices as u32,
            group,
            reciprocal: reciprocal.into(),
            wide: x.are_aligned(self.matrices).into(),
        };
        (name, args)
    }
}

kernel_args! {
    /// Arguments of the kernels, as `hk/prequant.h` declares them.
    pub struct PrequantArgs {
        x: AnyPtr,
        codes: AnyPtr,
        blocks: AnyPtr,
        scales: AnyPtr,
        x_stride: i64,
        x_batch: i64,
        code_stride: i64,
        code_batch: i64,
        scale_stride: i64,
        scale_batch: i64,
        m: u32,
        k: u32,
        batch: u32,
        group: u32,
        reciprocal: u32,
        wide: u32,
    }
}
