//! A multiply-add of all elements, `out[i] = a[i] x[i] + b[i]`, where `a` and `b` are each a tensor, an
//! element in the device's memory, or a number.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[..]`, a and b of as many elements, or of one -> out `[..]`, without gaps |
//! | Dtypes | x, a and b bf16, f16, f32, each whatever the others are; out as x |
//! | Numerics | one multiply-add of f32, rounded once more at the store of 16-bit types |
//! | Hardware | cdna3, cdna4 |
//! | Source | the fused multiply-add of IEEE 754-2008, 5.4.1 |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RowOptions, Tensor, fused_mul_add};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, 2.0, 3.0], &[3])?;
//! let b = Tensor::from_slice(&stream, &[0.5f32, 0.0, -6.0], &[3])?;
//! let out = fused_mul_add(&x, 2.0, &*b, &RowOptions::default())?;
//! assert_eq!(out.to_vec()?, [2.5, 4.0, 0.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, bf16, f16};
use hk_core::op::Arguments;
use hk_core::op::rows::RowOptions;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// What elements are multiplied by, or what is added to them.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// The same number for all.
    Number(f32),
    /// As many elements as x has, in any shape; or one for all.
    Bf16(&'a TensorSlice<bf16>),
    /// As for [`Bf16`](Self::Bf16).
    F16(&'a TensorSlice<f16>),
    /// As for [`Bf16`](Self::Bf16).
    F32(&'a TensorSlice<f32>),
}

impl From<f32> for Operand<'_> {
    fn from(number: f32) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a TensorSlice<bf16>> for Operand<'a> {
    fn from(tensor: &'a TensorSlice<bf16>) -> Self {
        Self::Bf16(tensor)
    }
}

impl<'a> From<&'a TensorSlice<f16>> for Operand<'a> {
    fn from(tensor: &'a TensorSlice<f16>) -> Self {
        Self::F16(tensor)
    }
}

impl<'a> From<&'a TensorSlice<f32>> for Operand<'a> {
    fn from(tensor: &'a TensorSlice<f32>) -> Self {
        Self::F32(tensor)
    }
}

/// An operand as the kernel takes it.
struct Declared {
    base: AnyPtr,
    dtype: u32,
    number: f32,
    is_tensor: bool,
}

impl Operand<'_> {
    fn declare(self, args: &mut Arguments, name: &'static str, count: usize) -> Result<Declared> {
        match self {
            Self::Number(number) => {
                Ok(Declared { base: AnyPtr::NULL, dtype: 0, number, is_tensor: false })
            }
            Self::Bf16(tensor) => declare(args, name, tensor, count),
            Self::F16(tensor) => declare(args, name, tensor, count),
            Self::F32(tensor) => declare(args, name, tensor, count),
        }
    }
}

/// As many elements as x has, whatever their shape.
const ELEMENTS: &str = "#..";

fn declare<A: Real>(
    args: &mut Arguments,
    name: &'static str,
    tensor: &TensorSlice<A>,
    count: usize,
) -> Result<Declared> {
    let is_tensor = tensor.len() != 1 || count == 1;
    if tensor.is_contiguous() {
        let dims: &[_] = if is_tensor { &[ELEMENTS] } else { &["1"] };
        args.input(name, &*tensor.reshape(&[tensor.len()])?, dims).contiguous()?;
    } else {
        // It is refused, but only for its gaps if its shape is right.
        args.input(name, tensor, &[".."]).contiguous()?;
    }
    Ok(Declared { base: tensor.ptr().any(), dtype: A::CODE, number: 0.0, is_tensor })
}

/// Multiplies each element of `x` by `a`, and adds `b`.
///
/// # Errors
/// [`Error::Shape`] if `a` or `b` has neither as many elements as x nor one, [`Error::Stride`] if there are
/// gaps between elements, [`Error::Value`] if there are to be no workgroups, and [`Error::NoTile`] if
/// there is no tile of that name.
pub fn fused_mul_add<'a, T: Real>(
    x: &TensorSlice<T>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut out = Tensor::empty(x.stream(), x.shape())?;
    fused_mul_add_into(x, a, b, options, &mut *out)?;
    Ok(out)
}

/// As [`fused_mul_add`], into `x`.
///
/// # Errors
/// As [`fused_mul_add`]; [`Error::Alias`] also if `a` or `b` overlaps `x`.
pub fn fused_mul_add_inplace<'a, T: Real>(
    x: &mut TensorSlice<T>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    options: &RowOptions<'_>,
) -> Result<()> {
    let (x, mut out) = x.in_place();
    fused_mul_add_into(&x, a, b, options, &mut *out)
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/fused_mul_add.hip` declares them.
    pub(crate) struct FusedMulAddArgs {
        pub(crate) x: AnyPtr,
        pub(crate) a: AnyPtr,
        pub(crate) b: AnyPtr,
        pub(crate) out: AnyPtr,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) last: u32,
        pub(crate) a_type: u32,
        pub(crate) b_type: u32,
        pub(crate) a_number: f32,
        pub(crate) b_number: f32,
    }
}

/// Elements of a row as the kernel counts them: few enough for 32 bits, and whole pieces.
const ROW: usize = 1 << 20;

/// As [`fused_mul_add`], into `out`, which may be `x`.
///
/// # Errors
/// As [`fused_mul_add`]; [`Error::Shape`] or [`Error::Stride`] also if `out` has another shape than x,
/// or gaps, and [`Error::Alias`] if it overlaps another argument otherwise.
pub fn fused_mul_add_into<'a, T: Real>(
    x: &TensorSlice<T>,
    a: impl Into<Operand<'a>>,
    b: impl Into<Operand<'a>>,
    options: &RowOptions<'_>,
    out: &mut TensorSlice<T>,
) -> Result<()> {
    let mut args = Arguments::new("fused_mul_add");
    args.input("x", x, &[".."]).may_be("out").contiguous()?;
    let [count] = args.sizes([".."])?;
    args.define(ELEMENTS, count);
    let a = a.into().declare(&mut args, "a", count)?;
    let b = b.into().declare(&mut args, "b", count)?;
    args.output("out", out, &[".."]).contiguous()?;
    options.check_workgroups(&args)?;
    let call = args.check()?;

    let rows = count.div_ceil(ROW);
    let width = count.min(ROW);
    let kind = |is_tensor| if is_tensor { "tensor" } else { "number" };
    let variant = format!("{}_{}_{}", T::DTYPE.name(), kind(a.is_tensor), kind(b.is_tensor));
    let core = ("fused_mul_add", &*variant);
    let kernel = options.kernel(&call, &KERNELS, core, width, width as i64)?;
    let args = FusedMulAddArgs {
        x: x.ptr().any(),
        a: a.base,
        b: b.base,
        out: out.ptr().any(),
        rows: rows as u32,
        width: width as u32,
        last: (count - rows.saturating_sub(1) * ROW) as u32,
        a_type: a.dtype,
        b_type: b.dtype,
        a_number: a.number,
        b_number: b.number,
    };
    // SAFETY: the kernel reads and writes as many elements as there are of x.
    unsafe { kernel.launch(call, rows, &args) }
}
