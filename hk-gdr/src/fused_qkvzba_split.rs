//! The projections of gated delta rules, in which the parts of a head are side by side, in the order in
//! which convolution and recurrence take them: with h heads of queries and keys, and r heads of values
//! for each of these, head i of a row of `mixed_qkvz` is `[q (k) | k (k) | v (r v) | z (r v)]`, and of a
//! row of `mixed_ba` `[b (r) | a (r)]`. A row of `mixed_qkv` has the q of all heads, then all k, then all
//! v; z, b and a have one row of their own each.
//!
//! | | |
//! |---|---|
//! | Shapes | mixed_qkvz `[n, h(2k+2rv)]`, mixed_ba `[n, 2hr]` -> mixed_qkv `[n, 2hk+hrv]`, z `[n, hr, v]`, b, a `[n, hr]`; rows any distance apart, z in any layout; h, r, k and v of any size |
//! | Dtypes | mixed_qkvz, mixed_qkv, z bf16, f16, f32; mixed_ba, b, a bf16, f16, f32 |
//! | Numerics | bits are moved, those of NaN, too |
//! | Hardware | cdna3, cdna4; accesses of as many bytes, up to 16, as parts and rows are aligned to |
//! | Source | Yang, Kautz and Hatamizadeh, "Gated Delta Networks" (2024); Qwen3-Next |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, QkvzbaHeads, QkvzbaSplitOptions, Tensor, fused_qkvzba_split};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! // Two heads of q and k, with a head of v each, all of one channel.
//! let qkvz = [1.0f32, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0];
//! let qkvz = Tensor::from_slice(&stream, &qkvz, &[1, 8])?;
//! let ba = Tensor::from_slice(&stream, &[5.0f32, 6.0, 50.0, 60.0], &[1, 4])?;
//! let heads = QkvzbaHeads { num_heads_qk: 2, num_heads_v: 2, head_qk: 1, head_v: 1 };
//! let split = fused_qkvzba_split(&qkvz, &ba, heads, &QkvzbaSplitOptions::default())?;
//! assert_eq!(split.mixed_qkv.to_vec()?, [1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
//! assert_eq!(split.z.to_vec()?, [4.0, 40.0]);
//! assert_eq!(split.b.to_vec()?, [5.0, 50.0]);
//! assert_eq!(split.a.to_vec()?, [6.0, 60.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::RowOptions;
use hk_core::{AnyPtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// Numbers of heads, and of their channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QkvzbaHeads {
    /// Heads of queries, and of keys: h.
    pub num_heads_qk: usize,
    /// Heads of values, a multiple of h: h r.
    pub num_heads_v: usize,
    /// Channels of a head of queries, and of keys: k.
    pub head_qk: usize,
    /// Channels of a head of values: v.
    pub head_v: usize,
}

/// How projections are split, where the default is not wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct QkvzbaSplitOptions {
    workgroups: Option<u32>,
}

impl QkvzbaSplitOptions {
    /// Launches at most so many workgroups, or one for each piece of a row if these are more; they take
    /// the rows in turn. As many as are expected to be fastest if not given.
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.workgroups = Some(most);
        self
    }
}

/// What [`fused_qkvzba_split`] returns.
#[derive(Debug)]
pub struct QkvzbaSplit<T: Real, B: Real> {
    /// Queries, keys and values of all heads, `[n, 2hk+hrv]`.
    pub mixed_qkv: Tensor<T>,
    /// Gates of the output, `[n, hr, v]`.
    pub z: Tensor<T>,
    /// `[n, hr]`.
    pub b: Tensor<B>,
    /// `[n, hr]`.
    pub a: Tensor<B>,
}

/// Where [`fused_qkvzba_split_into`] stores.
#[derive(Debug)]
pub struct QkvzbaSplitOut<'a, T: Real, B: Real> {
    /// Queries, keys and values of all heads, `[n, 2hk+hrv]`.
    pub mixed_qkv: &'a mut TensorSlice<T>,
    /// Gates of the output, `[n, hr, v]`.
    pub z: &'a mut TensorSlice<T>,
    /// `[n, hr]`.
    pub b: &'a mut TensorSlice<B>,
    /// `[n, hr]`.
    pub a: &'a mut TensorSlice<B>,
}

kernel_args! {
    /// What a part of each head becomes.
    struct SplitPart {
        to: AnyPtr,
        row_stride: i64,
        run_stride: i64,
        stride: i64,
        first: u32,
        width: u32,
        run: u32,
        start: u32,
    }
}

kernel_args! {
    /// Rows of heads.
    struct SplitRows {
        from: AnyPtr,
        row_stride: i64,
        parts: [SplitPart; 4],
        heads: u32,
        head: u32,
        piece_log2: u32,
        lanes_log2: u32,
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/fused_qkvzba_split.hip` declares them.
    pub(crate) struct QkvzbaSplitArgs {
        rows: [SplitRows; 2],
        blocks: [u32; 2],
        groups: u32,
        row_count: u32,
    }
}

/// Lanes of a wave.
const WAVE: u32 = 64;

/// Waves for each compute unit that a launch should have.
const WAVES_PER_CU: u32 = 16;

/// The projections of n tokens, `mixed_qkvz` and `mixed_ba`, with the heads of each part side by side.
///
/// # Errors
/// [`Error::Shape`] if rows are not those of such heads, [`Error::Stride`] if they are not evenly
/// spaced, and [`Error::Value`] if a number of heads or channels is 0, heads of values are no multiple
/// of those of queries, rows have more elements than 31 bits count, or there are no workgroups.
pub fn fused_qkvzba_split<T: Real, B: Real>(
    mixed_qkvz: &TensorSlice<T>,
    mixed_ba: &TensorSlice<B>,
    heads: QkvzbaHeads,
    options: &QkvzbaSplitOptions,
) -> Result<QkvzbaSplit<T, B>> {
    let (arguments, _) = declare(mixed_qkvz, mixed_ba, heads)?;
    let [n, all] = arguments.sizes(["n", "h(2k+2rv)"])?;
    let QkvzbaHeads { num_heads_v, head_v, .. } = heads;
    let stream = mixed_qkvz.stream();
    let mut mixed_qkv = Tensor::empty(stream, &[n, all - num_heads_v * head_v])?;
    let mut z = Tensor::empty(stream, &[n, num_heads_v, head_v])?;
    let mut b = Tensor::empty(stream, &[n, num_heads_v])?;
    let mut a = Tensor::empty(stream, &[n, num_heads_v])?;
    let out = QkvzbaSplitOut { mixed_qkv: &mut mixed_qkv, z: &mut z, b: &mut b, a: &mut a };
    fused_qkvzba_split_into(mixed_qkvz, mixed_ba, heads, options, out)?;
    Ok(QkvzbaSplit { mixed_qkv, z, b, a })
}

/// As [`fused_qkvzba_split`], into given tensors.
///
/// # Errors
/// As [`fused_qkvzba_split`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`QkvzbaSplitOut`] says, and [`Error::Alias`] if one overlaps another argument.
pub fn fused_qkvzba_split_into<T: Real, B: Real>(
    mixed_qkvz: &TensorSlice<T>,
    mixed_ba: &TensorSlice<B>,
    heads: QkvzbaHeads,
    options: &QkvzbaSplitOptions,
    out: QkvzbaSplitOut<'_, T, B>,
) -> Result<()> {
    let (mut arguments, [qkvz_stride, ba_stride]) = declare(mixed_qkvz, mixed_ba, heads)?;
    let qkv_stride = arguments.output("mixed_qkv", out.mixed_qkv, &["n", "2hk+hrv"]).rows()?;
    let z_strides = arguments.output("z", out.z, &["n", "hr", "v"]).strides()?;
    let b_stride = arguments.output("b", out.b, &["n", "hr"]).rows()?;
    let a_stride = arguments.output("a", out.a, &["n", "hr"]).rows()?;
    let QkvzbaHeads { num_heads_qk: h, num_heads_v: hr, head_qk: k, head_v: v } = heads;
    let qkv_width = 2 * h * k + hr * v;
    for (size, value) in [("2hk+hrv", qkv_width), ("hr", hr), ("v", v)] {
        arguments.limit(size, value..=value)?;
    }
    arguments.limit("n", 0..=i32::MAX as usize)?;
    let has_some = options.workgroups != Some(0);
    arguments.require(has_some, "workgroups", "at least 1", 0)?;
    let [n] = arguments.sizes(["n"])?;
    let call = arguments.check()?;

    let (qkv, r) = (out.mixed_qkv.ptr().any(), hr / h);
    let mut qkvz = Rows::new::<T>(mixed_qkvz.ptr().any(), qkvz_stride, h);
    qkvz.part(qkv, 0, k, Layout::dense(qkv_stride));
    qkvz.part(qkv, h * k, k, Layout::dense(qkv_stride));
    qkvz.part(qkv, 2 * h * k, r * v, Layout::dense(qkv_stride));
    qkvz.part(out.z.ptr().any(), 0, r * v, Layout::of_heads(z_strides, [hr, v]));
    let mut ba = Rows::new::<B>(mixed_ba.ptr().any(), ba_stride, h);
    ba.part(out.b.ptr().any(), 0, r, Layout::dense(b_stride));
    ba.part(out.a.ptr().any(), 0, r, Layout::dense(a_stride));
    let rows = [qkvz, ba].map(Rows::in_pieces);

    let blocks = rows.map(|rows| (rows.heads * rows.head).div_ceil(WAVE));
    let kernel = KERNELS.function(call.device(), call.op(), "fused_qkvzba_split", "", &[])?;
    if n == 0 {
        return Ok(());
    }
    let waves_of_workgroup = kernel.tile().threads / WAVE;
    let wanted = match options.workgroups {
        // At most as many as take rows that 32 bits count.
        Some(most) => {
            let most = RowOptions::default().workgroups(most);
            most.most_workgroups(call.device(), kernel.tile()) * waves_of_workgroup
        }
        None => call.device().info().compute_units * WAVES_PER_CU,
    };
    let blocks_of_row = blocks[0] + blocks[1];
    let rows_at_once = rows.map(|rows| WAVE >> rows.lanes_log2);
    let most = (n as u32).div_ceil(rows_at_once[0].min(rows_at_once[1]));
    let groups = (wanted / blocks_of_row).clamp(1, most);
    let args = QkvzbaSplitArgs { rows, blocks, groups, row_count: n as u32 };
    let grid = (groups * blocks_of_row).div_ceil(waves_of_workgroup);
    call.submit(|stream| {
        // SAFETY: the kernel moves each piece of the rows, whose shapes and strides were checked.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}

/// Declares the projections; with the distances of their rows.
fn declare<T: Real, B: Real>(
    mixed_qkvz: &TensorSlice<T>,
    mixed_ba: &TensorSlice<B>,
    heads: QkvzbaHeads,
) -> Result<(Arguments, [i64; 2])> {
    let QkvzbaHeads { num_heads_qk: h, num_heads_v: hr, head_qk: k, head_v: v } = heads;
    let mut arguments = Arguments::new("fused_qkvzba_split");
    for (name, number) in [("num_heads_qk", h), ("num_heads_v", hr), ("head_qk", k), ("head_v", v)]
    {
        arguments.require(number > 0, name, "at least 1", number)?;
    }
    let multiple = format!("a multiple of num_heads_qk, {h}");
    arguments.require(hr % h == 0, "num_heads_v", multiple, hr)?;
    let (hk, hrv) = (h.saturating_mul(k), hr.saturating_mul(v));
    let all = hk.saturating_add(hrv).saturating_mul(2);
    let fits = all.max(hr.saturating_mul(2)) <= i32::MAX as usize;
    arguments.require(fits, "head_v", "rows of fewer than 2^31 elements", v)?;
    let qkvz_stride = arguments.input("mixed_qkvz", mixed_qkvz, &["n", "h(2k+2rv)"]).rows()?;
    let ba_stride = arguments.input("mixed_ba", mixed_ba, &["n", "2hr"]).rows()?;
    arguments.limit("h(2k+2rv)", all..=all)?;
    arguments.limit("2hr", 2 * hr..=2 * hr)?;
    Ok((arguments, [qkvz_stride, ba_stride]))
}

/// Where the elements of a part's rows are.
struct Layout {
    row: i64,
    /// How many of them are evenly spaced, if not all, and how far it is from those to the next.
    run: Option<(usize, i64)>,
    stride: i64,
}

impl Layout {
    const fn dense(row: i64) -> Self {
        Self { row, run: None, stride: 1 }
    }

    /// Of heads of so many channels.
    fn of_heads([row, head, channel]: [i64; 3], [heads, channels]: [usize; 2]) -> Self {
        // A dimension of one element has no distance.
        let stride = if channels == 1 { head } else { channel };
        let is_even = heads == 1 || channels == 1 || head == channel * channels as i64;
        Self { row, run: (!is_even).then_some((channels, head)), stride }
    }
}

/// Rows of heads that are being declared, in elements.
struct Rows {
    args: SplitRows,
    parts: usize,
    size_log2: u32,
}

impl Rows {
    fn new<T: Real>(from: AnyPtr, row_stride: i64, heads: usize) -> Self {
        let none = SplitPart {
            to: AnyPtr::NULL,
            row_stride: 0,
            run_stride: 0,
            stride: 0,
            first: 0,
            width: 0,
            run: 0,
            start: 0,
        };
        let (heads, parts) = (heads as u32, [none; 4]);
        let args =
            SplitRows { from, row_stride, parts, heads, head: 0, piece_log2: 0, lanes_log2: 0 };
        Self { args, parts: 0, size_log2: T::DTYPE.size().ilog2() }
    }

    /// Declares the next part of a head, of that width, whose results begin at `start` of their rows.
    fn part(&mut self, to: AnyPtr, start: usize, width: usize, layout: Layout) {
        let all = self.args.heads as usize * width;
        let (run, run_stride) = layout.run.unwrap_or((all, 0));
        self.args.parts[self.parts] = SplitPart {
            to,
            row_stride: layout.row,
            run_stride,
            stride: layout.stride,
            first: self.args.head,
            width: width as u32,
            run: run as u32,
            start: start as u32,
        };
        self.args.head += width as u32;
        self.parts += 1;
    }

    /// In pieces of as many bytes, up to 16, as everything is a multiple of.
    fn in_pieces(mut self) -> SplitRows {
        let (args, parts) = (&mut self.args, 0..self.parts);
        let (mut addresses, mut elements) = (args.from.address(), args.row_stride);
        for part in &args.parts[parts.clone()] {
            addresses |= part.to.address();
            elements |= part.row_stride | part.run_stride;
            elements |= [part.first, part.width, part.run, part.start].map(i64::from).iter().fold(
                // Elements that are apart are pieces each.
                i64::from(part.stride != 1),
                |all, number| all | number,
            );
        }
        let bytes = addresses | elements.unsigned_abs() << self.size_log2;
        args.piece_log2 = bytes.trailing_zeros().min(4);
        let shift = args.piece_log2 - self.size_log2;
        args.row_stride >>= shift;
        args.head >>= shift;
        for part in &mut args.parts[parts] {
            part.row_stride >>= shift;
            part.run_stride >>= shift;
            for number in [&mut part.first, &mut part.width, &mut part.run, &mut part.start] {
                *number >>= shift;
            }
        }
        args.lanes_log2 = (args.heads * args.head).min(WAVE).next_power_of_two().ilog2();
        self.args
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_are_evenly_spaced_are_one_run() {
        let run = |strides, sizes| Layout::of_heads(strides, sizes).run;
        assert_eq!(run([64, 8, 1], [8, 8]), None);
        assert_eq!(run([64, 9, 1], [8, 8]), Some((8, 9)));
        assert_eq!(run([64, 9, 1], [1, 8]), None);
        assert_eq!(run([64, 1, 8], [8, 8]), Some((8, 1)));
        let of_one_channel = Layout::of_heads([64, 3, 1], [8, 1]);
        assert_eq!((of_one_channel.run, of_one_channel.stride), (None, 3));
    }
}
