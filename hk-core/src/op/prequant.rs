//! Quantising x before a product: what the kernels of `hk/prequant.h` take, and where they, and those of
//! whole rows, put codes and scales.

use super::epilogue::Lowered;
use super::product::{Matrices, Order};
use super::quant_rows::MOST_WORKGROUPS;
use super::tiling::Problem;
use crate::dtype::{DType, Element, F4x2E2M1, F8E4M3};
use crate::{AnyPtr, DevicePtr, kernel_args};

/// Bytes of which rows of codes, and of scales of blocks, are whole multiples.
const CHUNK: u64 = 16;
/// k of an MX block.
const BLOCK: u64 = 32;
/// Numbers that a lane takes at a time.
const RUN: u64 = 8;

/// Scales of codes by which a step multiplies the results; of those that are not given, with the number of
/// that step's operand.
#[derive(Debug, Clone, Copy)]
pub enum StepScales {
    /// One for all rows, by which they are divided.
    Given(DevicePtr<f32>),
    /// One for all rows: their largest magnitude over the largest code, or 1 for zeros.
    Tensor(usize),
    /// One for each row, likewise.
    Rows(usize),
}

/// Where the largest magnitudes are behind the scale of all rows, in bytes.
const LARGEST: u64 = 256;

/// The codes that x is quantised to.
#[derive(Debug, Clone, Copy)]
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
    /// e4m3 in the flavour of the chip.
    Steps(StepScales),
}

impl Prequant {
    /// Gives the steps the address of scales that they multiply by.
    pub(super) fn hand_scales(self, steps: &mut Lowered, at: DevicePtr<u8>) {
        if let Self::Steps(StepScales::Tensor(operand) | StepScales::Rows(operand)) = self {
            steps.tensors[operand] = at.any();
        }
    }
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
    /// Those of x, `(batch, m, k)` numbers of 16 bits, which may be stored as columns.
    pub(super) fn of(form: Prequant, x: &Matrices, problem: Problem) -> Self {
        let (m, k) = (problem.m, problem.k);
        // Quantised once, if they are all the same.
        let matrices = if x.strides[0] == 0 { 1 } else { problem.batch };
        let rows = |dtype: DType, width: u64| {
            let batch = if matrices == 1 { 0 } else { (m * width) as i64 };
            Matrices {
                ptr: AnyPtr::NULL,
                dtype,
                shape: [m, width],
                strides: [batch, width as i64],
                order: Order::Rows,
            }
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
            Prequant::Steps(_) => {
                // Chunks are filled up in a copy, if rows do not end with one.
                let codes = rows(F8E4M3::DTYPE, k.next_multiple_of(CHUNK));
                (codes.with_width(k), rows(DType::F32, 1))
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
        let [codes, scales] = [&self.codes, &self.scales].map(|of| {
            let elements = of.shape[0] * of.strides[1] as u64;
            let bytes = self.matrices.saturating_mul(elements).saturating_mul(of.size());
            usize::try_from(bytes).unwrap_or(usize::MAX)
        });
        match self.form {
            Prequant::Steps(StepScales::Tensor(_)) => {
                [codes, LARGEST as usize + MOST_WORKGROUPS as usize * size_of::<u32>()]
            }
            _ => [codes, scales],
        }
    }

    /// Where the largest magnitude of each workgroup is that looks for that of all rows.
    pub(super) fn largest(&self) -> DevicePtr<u32> {
        DevicePtr::new(self.scales.ptr.address() + LARGEST)
    }

    /// Matrices, and runs of each that lanes take.
    pub(super) fn runs(&self) -> [u64; 2] {
        [self.matrices, self.codes.shape[0] * self.k.div_ceil(RUN)]
    }

    /// The kernel that quantises x, and its arguments.
    pub(super) fn launch(
        &self,
        x: &Matrices,
        (group, reciprocal): (Option<u32>, bool),
    ) -> (&'static str, PrequantArgs) {
        let name = match (group, x.dtype == DType::Bf16) {
            (None, true) => "mx_bf16",
            (None, false) => "mx_f16",
            (Some(_), true) => "groups_bf16",
            (Some(_), false) => "groups_f16",
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
            group: group.unwrap_or(BLOCK as u32),
            reciprocal: reciprocal.into(),
            reserved: 0,
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
        reserved: u32,
    }
}
