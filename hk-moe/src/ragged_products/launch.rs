//! What is declared last, and how products are launched.

use hk_core::dtype::{DType, E8M0, F8E4M3, F8E4M3Fnuz, Real, Scalar, bf16, f16};
use hk_core::op::epilogue::{Extent, Operand, Step};
use hk_core::op::product::Matrices;
use hk_core::op::ragged::Ragged;
use hk_core::op::tiling::Problem;
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Error, Result, TensorSlice};

use super::{BLOCK, OF_GATES, OF_TOKENS, PAIRS, RaggedGates, RaggedOp};
use crate::activation::Activation;
use crate::reduce_grouped::{Combine, E4M3, MXFP8};

/// Element types of results: bf16, f16, f32, and e4m3 in the flavour of the chip, with a scale.
pub trait RaggedOutput: Scalar {
    /// The type as kernels' arguments name it.
    const CODE: u32;
}

macro_rules! outputs {
    ($($type:ty: $code:expr),*) => {$(
        impl RaggedOutput for $type {
            const CODE: u32 = $code;
        }
    )*};
}

outputs!(
    bf16: <bf16 as Real>::CODE, f16: <f16 as Real>::CODE, f32: <f32 as Real>::CODE,
    F8E4M3: E4M3, F8E4M3Fnuz: E4M3
);

impl<'a> RaggedOp<'a> {
    /// Declares what is left, and launches the product in a variant of the core.
    pub(crate) fn launch<Y: RaggedOutput>(
        mut self,
        variant: &'a str,
        out: &mut TensorSlice<Y>,
        mx_scales: Option<&mut TensorSlice<E8M0>>,
    ) -> Result<()> {
        let Self { gates, options, .. } = self;
        let args = &mut self.args;
        self.ragged.product.variant = variant;
        options.activation.check(args)?;
        let Problem { m, n, .. } = self.ragged.product.problem;
        let (is_scattered, is_gated) =
            (gates.scatter_indx.is_some(), options.activation.is_gated());
        if let Some(of_rows) = options.x_weights {
            let extent = Extent::Named(Self::places(&gates), [1, 0]);
            self.steps.push(args, ["x_weights"; 3], Step::Multiply(of_rows.into(), extent))?;
        }
        if let Some(bias) = options.bias {
            let step = Step::Add(bias.into(), Extent::ExpertColumns, 1.0);
            self.steps.push(args, ["bias"; 3], step)?;
        }
        let (is_code, is_mx) = (Y::CODE >= E4M3, mx_scales.is_some());
        let is_direct = !is_scattered
            && options.activation == Activation::None
            && !is_code
            && options.residual.is_none();
        // Rows that are only added up are rounded before, and have their gammas before that: what is
        // beyond the type may not be any more.
        let is_narrow = is_scattered && options.activation == Activation::None && !is_code;
        let mut gammas = DevicePtr::NULL;
        match options.gammas {
            Some(of_rows) if is_direct || is_narrow => {
                let extent = Extent::Named(Self::places(&gates), [1, 0]);
                self.steps.push(args, ["gammas"; 3], Step::Multiply(of_rows.into(), extent))?;
            }
            Some(of_rows) => {
                args.input("gammas", of_rows, Self::places(&gates)).contiguous()?;
                gammas = of_rows.ptr();
            }
            None => (),
        }
        args.require(!is_mx || !is_scattered, "scatter_indx", "none, of blocks of MX", "some")?;
        let has_scale = options.quant_static_scale.is_some();
        let (wanted, given) = if is_code && !is_mx { ("some", "none") } else { ("none", "some") };
        args.require(has_scale == (is_code && !is_mx), "quant_static_scale", wanted, given)?;
        let mut quant_scale = DevicePtr::NULL;
        if let Some(scale) = options.quant_static_scale {
            args.input("quant_static_scale", scale, &["1"]).contiguous()?;
            quant_scale = scale.ptr();
        }
        if is_gated {
            args.require(n.is_multiple_of(2), "w", "even n, as columns are pairs", n)?;
        }
        args.define(PAIRS, n as usize / 2);
        let each = gates.n_expts_act;
        let is_gathered = gates.gather_indx.is_some();
        if is_scattered && !is_gathered {
            let whole = (m as usize).is_multiple_of(each);
            args.require(whole, "x", "as many rows for each token", m)?;
        }
        let dims: &'static [&'static str] = match (is_scattered, is_gathered, is_gated) {
            (false, false, false) | (true, true, false) => &["rows", "n"],
            (false, false, true) | (true, true, true) => &["rows", PAIRS],
            (false, true, false) => &[OF_GATES, "n"],
            (false, true, true) => &[OF_GATES, PAIRS],
            (true, false, false) => &[OF_TOKENS, "n"],
            (true, false, true) => &[OF_TOKENS, PAIRS],
        };
        let mut residual = (AnyPtr::NULL, 0);
        if let Some(of_tokens) = options.residual {
            residual = declare_residual::<Y>(args, of_tokens, dims)?;
        }
        let declared = args.output("out", out, dims);
        let out_row = if is_mx { declared.portable().rows()? } else { declared.rows()? };
        let mx_scales = match mx_scales {
            Some(scales) => declare_mx(args, scales, [n as usize, usize::from(is_gated)], dims)?,
            None => (AnyPtr::NULL, 0),
        };
        let call = self.args.check()?;
        if call.validates_indices(options.validate)? {
            check_gates(&call, &gates, &self.ragged, options.quant_static_scale)?;
        }

        let count = self.ragged.rows.count;
        let product = &mut self.ragged.product;
        product.steps = self.steps;
        let mut behind = None;
        if is_direct {
            product.y = Matrices::of(out, [0, out_row]).with_shape([count, n]);
        } else {
            let between = if is_narrow { Y::DTYPE } else { DType::F32 };
            product.y = match between {
                DType::Bf16 => Matrices::in_workspace::<bf16>([count, n]),
                DType::F16 => Matrices::in_workspace::<f16>([count, n]),
                _ => Matrices::in_workspace::<f32>([count, n]),
            };
            let of_group = if is_scattered { each } else { 1 };
            let indx = gates.scatter_indx.map_or(DevicePtr::NULL, TensorSlice::ptr);
            // Places behind the last expert's have no rows.
            let groups_there = match is_scattered {
                true => DevicePtr::NULL,
                false => places_of_experts(gates.token_offs_raw),
            };
            let combine = Combine {
                between: (between, n.next_multiple_of(16) as i64),
                shape: [count as usize, n as usize],
                indx,
                groups: [count as usize / of_group, of_group],
                groups_there,
                activation: options.activation,
                gammas,
                residual,
                out: (out.ptr_mut().any(), out_row, if is_mx { MXFP8 } else { Y::CODE }),
                quant_scale,
                mx_scales,
            };
            behind = Some(combine.behind(&call)?);
        }
        self.ragged.launch(call, behind)
    }
}

/// Where the number of places that are an expert's is.
fn places_of_experts(token_offs_raw: &TensorSlice<i32>) -> DevicePtr<u32> {
    let last = (token_offs_raw.len() - 1) * size_of::<i32>();
    DevicePtr::new(token_offs_raw.ptr().address() + last as u64)
}

/// Declares what is added to results, which is of their type.
fn declare_residual<Y: RaggedOutput>(
    args: &mut Arguments,
    residual: Operand<'_>,
    dims: &'static [&'static str],
) -> Result<(AnyPtr, i64)> {
    let (dtype, place) = match residual {
        Operand::Number(_) => (None, (AnyPtr::NULL, 0)),
        Operand::Bf16(x) => {
            (Some(DType::Bf16), (x.ptr().any(), args.input("residual", x, dims).rows()?))
        }
        Operand::F16(x) => {
            (Some(DType::F16), (x.ptr().any(), args.input("residual", x, dims).rows()?))
        }
        Operand::F32(x) => {
            (Some(DType::F32), (x.ptr().any(), args.input("residual", x, dims).rows()?))
        }
    };
    let given = dtype.map_or("a number", DType::name);
    let constraint = format!("a tensor of {}", Y::DTYPE);
    args.require(dtype == Some(Y::DTYPE), "residual", constraint, given)?;
    Ok(place)
}

/// Declares the scales of results in MX blocks.
fn declare_mx(
    args: &mut Arguments,
    scales: &mut TensorSlice<E8M0>,
    [n, is_gated]: [usize; 2],
    dims: &'static [&'static str],
) -> Result<(AnyPtr, i64)> {
    const BLOCKS: &str = "blocks(columns)";
    let columns = n >> is_gated;
    args.require(columns.is_multiple_of(BLOCK), "w", "columns in whole blocks of 32", columns)?;
    args.define(BLOCKS, columns / BLOCK);
    let of_rows: &[&str] = match dims[0] {
        OF_GATES => &[OF_GATES, BLOCKS],
        _ => &["rows", BLOCKS],
    };
    let row = args.output("out_scales", scales, of_rows).rows()?;
    Ok((scales.ptr_mut().any(), row))
}

/// Looks at all that lies on the device and says where rows are.
fn check_gates(
    call: &Call,
    gates: &RaggedGates<'_>,
    ragged: &Ragged<'_>,
    quant_scale: Option<&TensorSlice<f32>>,
) -> Result<()> {
    let of = |list: &TensorSlice<i32>| -> Result<Vec<i64>> {
        Ok(list.to_vec()?.into_iter().map(i64::from).collect())
    };
    let (count, experts) = (ragged.rows.count as i64, ragged.product.problem.batch as i64);
    let offsets = of(gates.token_offs_raw)?;
    let constraint = format!("places up to {count}, none below the one before");
    call.require_each("token_offs_raw", &offsets, &constraint, |at, place| {
        (at == 0 || offsets[at - 1] <= place) && (0..=count).contains(&place)
    })?;
    let constraint = format!("-1, or a tile of one of {experts} experts");
    call.require_each("block_pid_map", &of(gates.block_pid_map)?, &constraint, |_, tile| {
        tile == -1 || (tile >= 0 && tile & 0xffff < experts)
    })?;
    if let Some(list) = gates.gather_indx {
        let constraint = format!("gates below {count}");
        call.require_each("gather_indx", &of(list)?, &constraint, |_, gate| {
            (0..count).contains(&gate)
        })?;
    }
    if let Some(list) = gates.scatter_indx {
        let constraint = format!("-1, or places below {count}");
        call.require_each("scatter_indx", &of(list)?, &constraint, |_, place| {
            (-1..count).contains(&place)
        })?;
    }
    let Some(scale) = quant_scale else { return Ok(()) };
    let scale = scale.to_vec()?.first().copied().unwrap_or(f32::NAN);
    if scale > 0.0 && scale.is_finite() {
        return Ok(());
    }
    Err(Error::value(call.op(), "quant_static_scale", "positive and finite", scale))
}
