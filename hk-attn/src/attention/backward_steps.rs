//! The launches that gradients of attention take besides, as ops of their own.

use hk_core::op::{Arguments, Call};
use hk_core::{DevicePtr, Error, Result, Tensor, TensorSlice, TileFunction};

use super::backward::{BackwardArgs, BackwardElement, DELTA_ROWS};
use super::launch::MOST_GROUPS;
use super::{AttentionArgs, AttentionElement, AttentionOptions, AttentionOutput, KeySource};
use super::{MOST_WIDTH, Problem};
use crate::KERNELS;
use crate::mha::shape;

/// Products of rows of results with their gradients, as [`flash_attn_bwd`](crate::flash_attn_bwd()) computes
/// them before all else: `delta[b, h, i] = sum_d out[b, i, h, d] dout[b, i, h, d]`, in f32.
///
/// # Errors
/// [`Error::Shape`] if shapes differ, or rows have no elements or more than 256, and [`Error::Stride`] if
/// elements of a row are not adjacent.
pub fn attn_bwd_delta<T: BackwardElement>(
    dout: &TensorSlice<T>,
    out: &TensorSlice<T>,
) -> Result<Tensor<f32>> {
    let [b, sq, hq, _] = shape(out.shape());
    let mut delta = Tensor::empty(out.stream(), &[b, hq, sq])?;
    attn_bwd_delta_into(dout, out, &mut delta)?;
    Ok(delta)
}

/// As [`attn_bwd_delta`], into `delta`.
///
/// # Errors
/// As [`attn_bwd_delta`]; [`Error::Shape`] also if `delta` has another shape, and [`Error::Alias`] if it
/// overlaps another argument.
pub fn attn_bwd_delta_into<T: BackwardElement>(
    dout: &TensorSlice<T>,
    out: &TensorSlice<T>,
    delta: &mut TensorSlice<f32>,
) -> Result<()> {
    let mut problem = Problem::new("attn_bwd_delta", AttentionOptions::default());
    let dims = &["b", "sq", "hq", "dv"];
    let arguments = &mut problem.arguments;
    let [d_sequence, d_row, d_head, _] = arguments.input("dout", dout, dims).adjacent()?;
    let [o_sequence, o_row, o_head, _] = arguments.input("out", out, dims).adjacent()?;
    let [delta_sequence, delta_head, delta_row] =
        arguments.output("delta", delta, &["b", "hq", "sq"]).strides()?;
    let [sizes @ .., width] = check(arguments, "dv")?;
    let gradients = problem.rows(dout, [d_sequence, d_row, d_head], width);
    let results = problem.rows(out, [o_sequence, o_row, o_head], width);
    let args = BackwardArgs {
        attention: AttentionArgs {
            value_width: width as u32,
            q_type: <T as AttentionElement>::CODE,
            ..of_rows(sizes)
        },
        queries: KeySource { values: gradients, ..KeySource::NONE },
        results,
        delta: delta.ptr_mut(),
        delta_sequence,
        delta_row,
        delta_head,
        ..BackwardArgs::NONE
    };
    args.launch_rows(problem.arguments.check()?, "delta")
}

/// Gradients of queries from the sums to which they were added: `dq = scale sums`, rounded once.
///
/// # Errors
/// [`Error::Shape`] if rows have no elements or more than 256, [`Error::Stride`] if sums have gaps, and
/// [`Error::Value`] if the scale is not finite.
pub fn attn_dq_convert<T: BackwardElement>(
    sums: &TensorSlice<f32>,
    scale: f32,
) -> Result<Tensor<T>> {
    let mut dq = Tensor::empty(sums.stream(), sums.shape())?;
    attn_dq_convert_into(sums, scale, &mut dq)?;
    Ok(dq)
}

/// As [`attn_dq_convert`], into `dq`.
///
/// # Errors
/// As [`attn_dq_convert`]; [`Error::Shape`] or [`Error::Stride`] also if `dq` has another shape or rows
/// whose elements are not adjacent, and [`Error::Alias`] if it overlaps the sums.
pub fn attn_dq_convert_into<T: BackwardElement>(
    sums: &TensorSlice<f32>,
    scale: f32,
    dq: &mut TensorSlice<T>,
) -> Result<()> {
    let mut arguments = Arguments::new("attn_dq_convert");
    let dims = &["b", "sq", "hq", "d"];
    arguments.input("sums", sums, dims).contiguous()?;
    let [o_sequence, o_row, o_head, _] = arguments.output("dq", dq, dims).adjacent()?;
    let [sizes @ .., width] = check(&arguments, "d")?;
    arguments.require(scale.is_finite(), "scale", "finite", scale)?;
    let args = BackwardArgs {
        attention: AttentionArgs {
            o: dq.ptr_mut().any(),
            o_type: <T as AttentionOutput>::CODE,
            o_sequence,
            o_row,
            o_head,
            width: width as u32,
            scale,
            ..of_rows(sizes)
        },
        // Only read by this kernel.
        dq_sums: DevicePtr::new(sums.ptr().address()),
        sums_row: width as u32,
        ..BackwardArgs::NONE
    };
    args.launch_rows(arguments.check()?, "convert")
}

/// Checks sizes, and gives them.
fn check(arguments: &Arguments, width: &'static str) -> Result<[usize; 4]> {
    arguments.limit("hq", 1..=i32::MAX as usize)?;
    arguments.limit(width, 1..=MOST_WIDTH)?;
    for size in ["b", "sq"] {
        arguments.limit(size, 0..=i32::MAX as usize / 2)?;
    }
    arguments.sizes(["b", "sq", "hq", width])
}

/// Arguments of so many sequences, rows and heads.
fn of_rows([b, sq, hq]: [usize; 3]) -> AttentionArgs {
    let (sequences, q_length, kv_heads) = (b as u32, sq as u32, hq as u32);
    AttentionArgs { sequences, q_length, kv_heads, ..AttentionArgs::NONE }
}

impl BackwardArgs {
    /// Launches a kernel that has rows of heads of queries.
    fn launch_rows(self, call: Call, variant: &str) -> Result<()> {
        let AttentionArgs { sequences, q_length, kv_heads, .. } = self.attention;
        let rows = u64::from(sequences) * u64::from(kv_heads) * u64::from(q_length);
        if rows == 0 {
            return Ok(());
        }
        let kernel: TileFunction<Self> =
            KERNELS.function(call.device(), call.op(), "attention_delta", variant, &[])?;
        let groups = rows.div_ceil(DELTA_ROWS);
        if groups >= MOST_GROUPS {
            return Err(Error::value(call.op(), "sq", "fewer rows", rows));
        }
        call.submit(|stream| {
            // SAFETY: the kernel stays within the tensors whose shapes and strides were checked.
            unsafe { kernel.launch(stream, [groups as u32, 1, 1], &self) }
        })
    }
}
