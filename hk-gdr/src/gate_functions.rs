//! Elementary functions of each element: `exp(x)`, `2^x`, `ln(x)`, `log2(x)`;
//! `safe_exp(x) = exp(x)` for x <= 0, else 0; `softplus(x) = ln(1 + exp(c x)) / c` with
//! c = [`OpOptions::softplus_beta`], and x itself where `c x` is above
//! [`OpOptions::softplus_threshold`]; `sigmoid(x) = 1 / (1 + exp(-x))`; `silu(x) = x sigmoid(x)`. They are
//! what kernels compute with.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[..]` -> the same, without gaps |
//! | Dtypes | f32 |
//! | Numerics | 3e-7 of the result, beside 1e-7 of logarithms and 6e-8 of `c x` of softplus; [fast](OpOptions::fast) 1e-6, and 1.2e-7 of x of exp; below 1.2e-38 results may be 0; infinities and NaN as IEEE has them, `silu(-inf)` is NaN |
//! | Hardware | cdna3, cdna4; 16-byte accesses |
//! | Source | flash-linear-attention, `fla/ops/utils/op.py` |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, OpOptions, Tensor, op_all, op_exp2};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[-1.0f32, 0.0, 3.0], &[3])?;
//! assert_eq!(op_exp2(&x, &OpOptions::default())?.to_vec()?, [0.5, 1.0, 8.0]);
//! let all = op_all(&x, &OpOptions::default())?;
//! assert_eq!(all.safe_exp.to_vec()?[1..], [1.0, 0.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::op::Arguments;
use hk_core::{DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// How functions are computed, where the default is not wanted.
#[derive(Debug, Clone, Copy)]
pub struct OpOptions {
    fast: bool,
    softplus_beta: f32,
    softplus_threshold: f32,
    workgroups: Option<u32>,
}

impl Default for OpOptions {
    /// Accurate, 1 and 20.
    fn default() -> Self {
        Self { fast: false, softplus_beta: 1.0, softplus_threshold: 20.0, workgroups: None }
    }
}

impl OpOptions {
    /// Leaves out what corrects the rounding of products and quotients.
    #[must_use]
    pub fn fast(self, fast: bool) -> Self {
        Self { fast, ..self }
    }

    /// Factor of the argument of softplus, and divisor of its result.
    #[must_use]
    pub fn softplus_beta(self, factor: f32) -> Self {
        Self { softplus_beta: factor, ..self }
    }

    /// The product of that factor and the argument above which softplus is its argument.
    #[must_use]
    pub fn softplus_threshold(self, threshold: f32) -> Self {
        Self { softplus_threshold: threshold, ..self }
    }

    /// Launches at most so many workgroups, which take the elements in turn. As many as are expected to
    /// be fastest if not given.
    #[must_use]
    pub fn workgroups(self, most: u32) -> Self {
        Self { workgroups: Some(most), ..self }
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/gate_functions.hip` declares them.
    pub(crate) struct ElementaryArgs {
        x: DevicePtr<f32>,
        results: [DevicePtr<f32>; 8],
        count: i64,
        fast: u32,
        softplus_beta: f32,
        softplus_beta_inverse: f32,
        softplus_threshold: f32,
    }
}

/// Elements of a lane, and workgroups for each compute unit that a launch should have.
const LANE: u64 = 4;
const WORKGROUPS_PER_CU: u64 = 8;

fn launch<const N: usize>(
    op: &'static str,
    x: &TensorSlice<f32>,
    options: &OpOptions,
    results: [(usize, &'static str, &mut TensorSlice<f32>); N],
) -> Result<()> {
    let mut args = Arguments::new(op);
    let [(_, first, _), ..] = &results[..] else { return Ok(()) };
    args.input("x", x, &[".."]).may_be(first).contiguous()?;
    let mut pointers = [DevicePtr::NULL; 8];
    for (at, name, result) in results {
        args.output(name, result, &[".."]).contiguous()?;
        pointers[at] = result.ptr_mut();
    }
    let (factor, threshold) = (options.softplus_beta, options.softplus_threshold);
    let is_factor = factor > 0.0 && factor.is_finite();
    args.require(is_factor, "softplus_beta", "positive and finite", factor)?;
    args.require(!threshold.is_nan(), "softplus_threshold", "a number", threshold)?;
    args.require(options.workgroups != Some(0), "workgroups", "at least 1", 0)?;
    let call = args.check()?;

    let kernel = KERNELS.function(call.device(), call.op(), "gate_functions", "", &[])?;
    let count = x.len() as u64;
    if count == 0 {
        return Ok(());
    }
    let needed = count.div_ceil(LANE * u64::from(kernel.tile().threads));
    let fastest = u64::from(call.device().info().compute_units) * WORKGROUPS_PER_CU;
    let grid = needed.min(options.workgroups.map_or(fastest, u64::from)) as u32;
    let args = ElementaryArgs {
        x: x.ptr(),
        results: pointers,
        count: count as i64,
        fast: u32::from(options.fast),
        softplus_beta: factor,
        softplus_beta_inverse: 1.0 / factor,
        softplus_threshold: threshold,
    };
    call.submit(|stream| {
        // SAFETY: the kernel reads and writes as many elements as all tensors have.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}

macro_rules! functions {
    ($($at:literal $function:ident: $op:ident, $into:ident, $what:literal;)*) => {
        $(
            #[doc = concat!($what, " of each element.")]
            ///
            /// # Errors
            /// [`Error::Stride`] if x has gaps, and [`Error::Value`] if `softplus_beta` is not positive
            /// and finite, `softplus_threshold` is NaN, or there are no workgroups.
            pub fn $op(x: &TensorSlice<f32>, options: &OpOptions) -> Result<Tensor<f32>> {
                let mut y = Tensor::empty(x.stream(), x.shape())?;
                $into(x, options, &mut y)?;
                Ok(y)
            }

            #[doc = concat!("As [`", stringify!($op), "`], into a given tensor, which may be x.")]
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($op), "`]; [`Error::Shape`] or [`Error::Stride`] also if")]
            /// y is not as x, and [`Error::Alias`] if it overlaps x otherwise.
            pub fn $into(
                x: &TensorSlice<f32>,
                options: &OpOptions,
                y: &mut TensorSlice<f32>,
            ) -> Result<()> {
                launch(stringify!($op), x, options, [($at, "y", y)])
            }
        )*

        /// What [`op_all`] returns: the result of each function, in the shape of x.
        #[derive(Debug)]
        pub struct OpAll {
            $(#[doc = concat!("As of [`", stringify!($op), "`].")] pub $function: Tensor<f32>,)*
        }

        /// Where [`op_all_into`] stores the result of each function, in the shape of x.
        #[derive(Debug)]
        pub struct OpAllOut<'a> {
            $(#[doc = concat!("As of [`", stringify!($op), "`].")]
              pub $function: &'a mut TensorSlice<f32>,)*
        }

        /// Every function of each element, which is read once.
        ///
        /// # Errors
        /// As [`op_exp`].
        pub fn op_all(x: &TensorSlice<f32>, options: &OpOptions) -> Result<OpAll> {
            $(let mut $function = Tensor::empty(x.stream(), x.shape())?;)*
            op_all_into(x, options, OpAllOut { $($function: &mut $function),* })?;
            Ok(OpAll { $($function),* })
        }

        /// As [`op_all`], into given tensors.
        ///
        /// # Errors
        /// As [`op_exp_into`].
        pub fn op_all_into(
            x: &TensorSlice<f32>,
            options: &OpOptions,
            out: OpAllOut<'_>,
        ) -> Result<()> {
            launch("op_all", x, options, [$(($at, stringify!($function), out.$function)),*])
        }
    };
}

functions! {
    0 exp: op_exp, op_exp_into, "`e^x`";
    1 exp2: op_exp2, op_exp2_into, "`2^x`";
    2 log: op_log, op_log_into, "`ln(x)`";
    3 log2: op_log2, op_log2_into, "`log2(x)`";
    4 safe_exp: op_safe_exp, op_safe_exp_into, "`e^x`, or 0 above 0,";
    5 softplus: op_softplus, op_softplus_into, "`ln(1 + e^(c x)) / c`";
    6 sigmoid: op_sigmoid, op_sigmoid_into, "`1 / (1 + e^-x)`";
    7 silu: op_silu, op_silu_into, "`x / (1 + e^-x)`";
}
