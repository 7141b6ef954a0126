//! Products of tokens with the matrices of their experts, of 4-bit floating point with scales of MX blocks:
//! `c[g] = w_g sum_b 2^(b_mx_scale[e, ., b] - 127) (a[g / top_k] b[e]^T)_b` for each gate g of an expert e, where b
//! is a block of 32 k; rows of 8 or 4 bits may have such scales, too, by which their blocks are multiplied.
//!
//! | | |
//! |---|---|
//! | Shapes | a `[rows, k]`, b `[E, n, k]`, b_mx_scale `[E, n, ceil(k / 32)]`, a_mx_scale `[rows, ceil(k / 32)]` -> c `[rows, top_k, n]`; any sizes, k even, at most 65,536; the gates as [`moe_align_block_size`](crate::moe_align_block_size()) gives them, topk_weights `[rows, top_k]` |
//! | Dtypes | a bf16, f16, or e4m3 in the flavour of the chip, or, with a_mx_scale, e2m1, two in a byte, or OCP's e4m3 on every chip; b e2m1; scales of blocks e8m0; c bf16, f16 or f32; topk_weights f32, bf16 or f16 |
//! | Numerics | operands are expanded exactly, for every scale, where there is no instruction for them, but that cdna3 rounds e4m3 in blocks to multiples of 2^-133; f32 sums and weights, one rounding at the end; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own, whose rows divide those of the gates' tiles |
//! | Source | gpt-oss model card (arXiv 2508.10925), section 2.1; OCP Microscaling Formats (MX) 1.0; AITER `fused_moe_mxfp4` |
//!
//! Row t of `a` has the gates `t top_k` to `t top_k + top_k - 1`. Those that no tile has are not written, and
//! those of a tile without an expert are 0.
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_moe::{Device, E8M0, F4x2E2M1, MoeAlignOptions, MoeGemmOptions, Tensor, bf16};
//! use hk_moe::{moe_align_block_size, moe_mxfp4};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let a = Tensor::filled(&stream, &[1, 32], bf16::from_f32(2.0))?;
//! // Pairs of 1.0 and 0.5, times 4.
//! let b = Tensor::filled(&stream, &[1, 3, 32], F4x2E2M1::from_bits(0x12))?;
//! let scale = Tensor::filled(&stream, &[1, 3, 1], E8M0::from_f32(4.0))?;
//! let ids = Tensor::from_slice(&stream, &[0], &[1, 1])?;
//! let aligned = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default())?;
//! let options = MoeGemmOptions::default();
//! let c: Tensor<f32> = moe_mxfp4(&a, &b, &scale, &aligned.gates(16), 1, &options)?;
//! assert_eq!(c.to_vec()?, [192.0; 3]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, Real};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Extent, Lowered};
use hk_core::op::experts::Experts;
use hk_core::op::product::{Matrices, Product};
use hk_core::op::ragged::ScaleCopy;
use hk_core::op::tiling::Problem;
use hk_core::{Result, Tensor, TensorSlice};

use crate::expert_products::{
    AlignedGates, ExpertElement, Form, MoeGemmOptions, WeightCopy, product,
};

const OP: &str = "moe_mxfp4";

/// k of a block, and how many there are, as they are declared.
const BLOCK: usize = 32;
const BLOCKS: &str = "blocks(k)";

/// Multiplies the row of `a` of each gate by the transpose of its expert's matrix:
/// `c[t, s, n] = w sum_k a[t, k] 2^(b_mx_scale[e, n, k / 32] - 127) b[e, n, k]`, where e is the expert of slot s
/// of row t and w its weight, if the options have such. With [scales](MoeGemmOptions::a_mx_scale) of its blocks, a is
/// multiplied by these as well.
///
/// # Errors
/// [`Error::Shape`] if the tensors do not fit together, n, k or E is 0, or E is above 32,767; [`Error::Stride`] if
/// elements of rows are not adjacent; [`Error::ArchMismatch`] if a is that of another chip; [`Error::Value`] if k is
/// above 65,536, `top_k` is not from 1 to 64, there are 2^31 gates or more, tiles of gates are not multiples of 16
/// rows, the options have `scales` or ask for what there is not, a of e2m1 has no scales of blocks of MX or a of 16
/// bits or of cdna3's e4m3 has such, or a is of 2 GiB or more, or gates or tiles are wrong and [looked
/// at](MoeGemmOptions::validate_indices); [`Error::NoTile`] if there is no tile of that name.
pub fn moe_mxfp4<T: Mxfp4Element, Y: Real>(
    a: &TensorSlice<T>,
    b: &TensorSlice<F4x2E2M1>,
    b_mx_scale: &TensorSlice<E8M0>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let rows = a.shape().first().copied().unwrap_or_default();
    let columns = b.shape().get(1).copied().unwrap_or_default();
    let mut c = Tensor::zeros(a.stream(), &[rows, top_k, columns])?;
    moe_mxfp4_into(a, b, b_mx_scale, gates, top_k, options, &mut c)?;
    Ok(c)
}

/// As [`moe_mxfp4`], into `c`, whose gates may be any distance apart. Those that no tile has stay as they are.
///
/// # Errors
/// As [`moe_mxfp4`]; [`Error::Shape`] also if `c` has the wrong shape, [`Error::Alias`] if it overlaps an
/// operand.
pub fn moe_mxfp4_into<T: Mxfp4Element, Y: Real>(
    a: &TensorSlice<T>,
    b: &TensorSlice<F4x2E2M1>,
    b_mx_scale: &TensorSlice<E8M0>,
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    launch((OP, Form::Plain(None)), a, (b, b_mx_scale), gates, top_k, options, c)
}

/// As [`moe_mxfp4_into`], of a form without gates.
pub(crate) fn launch<T: Mxfp4Element, Y: Real>(
    (op, form): (&'static str, Form),
    a: &TensorSlice<T>,
    (b, b_mx_scale): (&TensorSlice<F4x2E2M1>, &TensorSlice<E8M0>),
    gates: &AlignedGates<'_>,
    top_k: usize,
    options: &MoeGemmOptions<'_>,
    c: &mut TensorSlice<Y>,
) -> Result<()> {
    let MoeGemmOptions { a_mx_scale, splits, validate, .. } = *options;
    let operands = MxOperands { a, a_mx_scale, b, b_mx_scale, gates, top_k, splits, validate };
    let declare = |args: &mut Arguments| {
        args.require(options.scales.is_none(), "scales", "none", "some")?;
        args.require(options.block_shape.is_none(), "block_shape", "none", "some")?;
        let mut steps = Lowered::default();
        options.scale(args, &mut steps, Extent::ExpertColumns)?;
        let (_, weights) = form.lower(args, &mut steps, options, Extent::ExpertColumns)?;
        Ok((steps, weights))
    };
    operands.launch(op, None, options.tile, declare, c)
}

/// Elements of tokens that are multiplied by matrices of e2m1: bf16 and f16, e4m3 in the flavour of the chip,
/// and, with scales of blocks of MX, e4m3 as OCP has it and e2m1 on every chip.
pub trait Mxfp4Element: Element {
    /// How the kernels' variants name it.
    const VARIANT: &'static str;
}

impl<T: ExpertElement> Mxfp4Element for T {
    const VARIANT: &'static str = <T as ExpertElement>::VARIANT;
}

impl Mxfp4Element for F4x2E2M1 {
    const VARIANT: &'static str = "e2m1";
}

/// What is multiplied.
pub(crate) struct MxOperands<'a, T: Mxfp4Element> {
    pub(crate) a: &'a TensorSlice<T>,
    pub(crate) a_mx_scale: Option<&'a TensorSlice<E8M0>>,
    pub(crate) b: &'a TensorSlice<F4x2E2M1>,
    pub(crate) b_mx_scale: &'a TensorSlice<E8M0>,
    pub(crate) gates: &'a AlignedGates<'a>,
    pub(crate) top_k: usize,
    pub(crate) splits: Option<u32>,
    /// Whether the gates are looked at.
    pub(crate) validate: Option<bool>,
}

impl<T: Mxfp4Element> MxOperands<'_, T> {
    /// Declares everything, and launches the product; `steps` declares what happens to sums. If there are
    /// `halves`, those of the columns are gates and what they let through.
    pub(crate) fn launch<Y: Real>(
        self,
        op: &'static str,
        halves: Option<[f32; 3]>,
        tile: Option<&str>,
        steps: impl FnOnce(&mut Arguments) -> Result<(Lowered, WeightCopy)>,
        c: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let Self { a, a_mx_scale, b, b_mx_scale, gates, top_k, splits, validate } = self;
        let most = Problem::MAX_SIZE as usize;
        let mut args = Arguments::new(op);
        let is_mx = a_mx_scale.is_some();
        let declared = args.input("a", a, &["rows", "k"]);
        let a_row = if is_mx { declared.portable().rows()? } else { declared.rows()? };
        let (may_have, must_have) = match T::DTYPE {
            DType::F4x2E2M1 => (true, true),
            DType::F8E4M3 => (true, false),
            _ => (false, false),
        };
        let (expected, given) = if is_mx { ("none", "some") } else { ("some", "none") };
        let fits = if is_mx { may_have } else { !must_have };
        args.require(fits, "a_mx_scale", format!("{expected}, of {}", T::DTYPE), given)?;
        args.limit("rows", 0..=most)?;
        args.limit("k", 1..=most)?;
        let of_b = if halves.is_some() { "2n" } else { "n" };
        if halves.is_some() {
            // An odd number of rows is none of these.
            let n = b.shape().get(1).map_or(0, |rows| rows / 2);
            args.define("2n", 2 * n);
            args.define("n", n);
        }
        let b_dims: &[&str] = match halves {
            Some(_) => &["experts", "2n", "k"],
            None => &["experts", "n", "k"],
        };
        let [b_matrix, b_row, _] = args.input("b", b, b_dims).adjacent::<3>()?;
        args.limit(of_b, 1..=most)?;
        let [rows, experts, k] = args.sizes(["rows", "experts", "k"])?.map(|size| size as u64);
        let [n, b_rows] = args.sizes(["n", of_b])?.map(|size| size as u64);
        args.define(BLOCKS, (k as usize).div_ceil(BLOCK));
        let scale_dims: &[&str] = match halves {
            Some(_) => &["experts", "2n", BLOCKS],
            None => &["experts", "n", BLOCKS],
        };
        let scale = args.input("b_mx_scale", b_mx_scale, scale_dims);
        let [scale_matrix, scale_row, _] = scale.adjacent::<3>()?;
        let sorted = gates.declare(&mut args, rows, top_k)?;
        let mut x_blocks = None;
        if let Some(scale) = a_mx_scale {
            let [row, block] = args.input("a_mx_scale", scale, &["rows", BLOCKS]).strides::<2>()?;
            x_blocks = Some(ScaleCopy {
                from: scale.ptr().any(),
                dtype: DType::E8M0,
                strides: [0, row, block],
                shape: [1, sorted.capacity, k.div_ceil(BLOCK as u64)],
                from_rows: rows,
                rows_per_scale: 1,
                groups_per_scale: 1,
                gathered: true,
                dense: false,
            });
        }
        let (steps, weights) = steps(&mut args)?;
        let c_row = args.output("c", c, &["rows", "top_k", "n"]).rows()?;
        let call = args.check()?;
        gates.validate(&call, &sorted, experts, validate)?;

        let form = if halves.is_some() { "_halves" } else { "" };
        let variant = match (T::DTYPE, is_mx) {
            (DType::F4x2E2M1, _) => format!("e2m1{form}"),
            (_, true) => format!("mxfp8_e2m1{form}"),
            _ => format!("{}_e2m1{form}", T::VARIANT),
        };
        let of_a = size_of::<T>() as u64 * 8 / T::PACK as u64;
        let rows_of_tiles = sorted.capacity.next_multiple_of(sorted.tile_rows);
        let scales = Matrices::of(b_mx_scale, [scale_matrix, scale_row]);
        let product = Product {
            x: Matrices::of(a, [0, a_row]),
            w: Matrices::of(b, [b_matrix, b_row]),
            y: Matrices::of(c, [0, c_row]).with_shape([sorted.count, n]),
            blocks: [x_blocks.map(|copy| copy.matrices(rows_of_tiles)), Some(scales)],
            problem: Problem {
                batch: experts,
                m: rows,
                n: b_rows,
                k,
                bits: [of_a, 4],
                group: 1,
                ..Problem::NONE
            },
            steps,
            splits,
            tile,
            ..product(&variant)
        };
        let copies = [x_blocks, None];
        Experts { halves, copies, weights, ..Experts::new(product, sorted) }.launch(call)
    }
}
