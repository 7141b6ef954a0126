//! One query of each sequence to latent keys, whose last columns may be rotated before.

use hk_core::dtype::Real;
use hk_core::op::Call;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::{AnyPtr, DevicePtr, Result, TensorSlice, TileFunction, kernel_args};

use super::element::variant;
use super::problem::{Around, Launch};
use super::{AttentionArgs, AttentionElement, AttentionOutput, KeyRows, KeySource, Problem};
use crate::attn_merge::{CombineArgs, MOST_WAVES, PartPlaces};
use crate::{KERNELS, RopeStyle};

/// Bytes that what is in a workspace is aligned to.
const ALIGNMENT: usize = 256;
/// Rows that a workgroup has.
const ROWS_OF_GROUP: usize = 4;
/// Lists of what splits have.
const LISTS: usize = 4;

kernel_args! {
    /// Arguments of the core `mla_rows`.
    pub(crate) struct MlaRowsArgs {
        pub(crate) q: AnyPtr,
        pub(crate) q_sequence: i64,
        pub(crate) q_head: i64,
        pub(crate) rotated_q: AnyPtr,
        pub(crate) rotated_k: AnyPtr,
        pub(crate) k_pe: AnyPtr,
        pub(crate) k_pe_row: i64,
        pub(crate) cos_sin: AnyPtr,
        pub(crate) cos_sin_row: i64,
        pub(crate) positions: IndexList,
        pub(crate) source: KeySource,
        pub(crate) split_sequences: DevicePtr<i32>,
        pub(crate) split_starts: DevicePtr<i32>,
        pub(crate) split_lengths: DevicePtr<i32>,
        pub(crate) split_rotated: DevicePtr<i32>,
        pub(crate) sequences: u32,
        pub(crate) heads: u32,
        pub(crate) width: u32,
        pub(crate) rank: u32,
        pub(crate) value_width: u32,
        pub(crate) rotary: u32,
        pub(crate) rows: u32,
        pub(crate) table_type: u32,
        pub(crate) interleaved: u32,
        pub(crate) split_count: u32,
    }
}

impl MlaRowsArgs {
    const NONE: Self = Self {
        q: AnyPtr::NULL,
        q_sequence: 0,
        q_head: 0,
        rotated_q: AnyPtr::NULL,
        rotated_k: AnyPtr::NULL,
        k_pe: AnyPtr::NULL,
        k_pe_row: 0,
        cos_sin: AnyPtr::NULL,
        cos_sin_row: 0,
        positions: IndexList::NONE,
        source: KeySource::NONE,
        split_sequences: DevicePtr::NULL,
        split_starts: DevicePtr::NULL,
        split_lengths: DevicePtr::NULL,
        split_rotated: DevicePtr::NULL,
        sequences: 0,
        heads: 0,
        width: 0,
        rank: 0,
        value_width: 0,
        rotary: 0,
        rows: 0,
        table_type: 0,
        interleaved: 0,
        split_count: 1,
    };
}

/// How the last columns of keys are rotated, and where those of the last ones go.
pub(crate) struct Rotation<'a, 'b, T: AttentionElement, W: Real> {
    pub(crate) table: &'b TensorSlice<W>,
    pub(crate) positions: Indices<'a>,
    pub(crate) style: RopeStyle,
    pub(crate) k_pe: &'b mut TensorSlice<T>,
}

/// A decode as far as it is declared.
pub(crate) struct LatentDecode {
    rows: MlaRowsArgs,
    /// Whether values are apart from keys.
    is_apart: bool,
}

impl<'a> Problem<'a> {
    /// Declares the tokens of sequences, and their keys and values; queries are declared.
    pub(crate) fn latent_tokens<T: AttentionElement>(
        &mut self,
        k: &TensorSlice<T>,
        v: Option<&TensorSlice<T>>,
        kv_indptr: Indices<'a>,
        kv_indices: Indices<'a>,
    ) -> Result<LatentDecode> {
        let arguments = &mut self.arguments;
        let [key, ..] = arguments.input("k_buffer", k, &["n", "1", "d"]).adjacent::<3>()?;
        let value = match v {
            Some(v) => arguments.input("v_buffer", v, &["n", "1", "c"]).adjacent::<3>()?[0],
            None => key,
        };
        let [b, n, d, c] = arguments.sizes(["b", "n", "d", "c"])?;
        arguments.define("b+1", b + 1);
        let starts = kv_indptr.declare(arguments, "kv_indptr", &["b+1"])?;
        let pages = kv_indices.declare(arguments, "kv_indices", &["nnz"])?;
        // Positions, and those behind the last tile, are numbers of 31 bits.
        arguments.limit("nnz", 0..=i32::MAX as usize / 2)?;
        let [nnz] = arguments.sizes(["nnz"])?;
        arguments.limit("n", nnz.min(1)..=i32::MAX as usize)?;
        let keys = self.rows(k, [0, key, 0], d);
        let values = self.rows(v.unwrap_or(k), [0, value, 0], c);
        self.args.source[0] = KeySource {
            keys,
            values,
            pages,
            starts,
            starts_are_bounds: 1,
            length: nnz as u32,
            count: n as u32,
            ..KeySource::NONE
        };
        self.check_tokens(kv_indptr, kv_indices, [nnz, n]);
        let rows = MlaRowsArgs {
            source: self.args.source[0],
            sequences: b as u32,
            width: d as u32,
            rank: c as u32,
            ..MlaRowsArgs::NONE
        };
        Ok(LatentDecode { rows, is_apart: v.is_some() })
    }

    /// Declares how the last columns of queries and of sequences' last keys are rotated.
    pub(crate) fn rotated<T: AttentionElement, W: Real>(
        &mut self,
        decode: &mut LatentDecode,
        rotation: Rotation<'a, '_, T, W>,
    ) -> Result<()> {
        let Rotation { table, positions, style, k_pe } = rotation;
        let arguments = &mut self.arguments;
        let [b, hq, d, c] = arguments.sizes(["b", "hq", "d", "c"])?;
        arguments.define("r", d - c);
        let [row, _] =
            arguments.input("cos_sin_cache", table, &["positions", "rotary"]).adjacent()?;
        let dims: &[&str] = if positions.is_column() { &["b", "1"] } else { &["b"] };
        let list = positions.declare(arguments, "positions", dims)?;
        let [k_pe_row, _] = arguments.output("k_pe_tokens", k_pe, &["b", "r"]).adjacent()?;
        arguments.limit("positions", b.min(1)..=i32::MAX as usize)?;
        arguments.limit("rotary", 2..=d - c)?;
        let [rows, rotary] = arguments.sizes(["positions", "rotary"])?;
        let constraint = "an even number of columns";
        arguments.require(rotary.is_multiple_of(2), "cos_sin_cache", constraint, rotary)?;
        self.check(move |call| {
            let constraint = format!("a position below {rows}");
            call.require_each("positions", &positions.to_vec()?, &constraint, |_, position| {
                usize::try_from(position).is_ok_and(|position| position < rows)
            })
        });
        let size = size_of::<T>() as i64;
        let AttentionArgs { q, q_row, q_head, .. } = self.args;
        decode.rows = MlaRowsArgs {
            q,
            q_sequence: q_row / size,
            q_head: q_head / size,
            k_pe: k_pe.ptr_mut().any(),
            k_pe_row,
            cos_sin: table.ptr().any(),
            cos_sin_row: row,
            positions: list,
            heads: hq as u32,
            rotary: rotary as u32,
            rows: rows as u32,
            table_type: W::CODE,
            interleaved: u32::from(style == RopeStyle::Gptj),
            ..decode.rows
        };
        Ok(())
    }

    /// Declares results, and, if they are wanted, those of splits, of which there are so many.
    pub(crate) fn split_results<T: AttentionElement + AttentionOutput + Real>(
        &mut self,
        decode: LatentDecode,
        splits: usize,
        out: &mut TensorSlice<T>,
        attn_logits: Option<&mut TensorSlice<f32>>,
    ) -> Result<()> {
        let arguments = &mut self.arguments;
        let [b, hq, d, c] = arguments.sizes(["b", "hq", "d", "c"])?;
        let [row, head, _] = arguments.output("out", out, &["b", "hq", "c"]).adjacent()?;
        arguments.define("num_kv_splits", splits);
        arguments.define("c+1", c + 1);
        let mut parts = AnyPtr::NULL;
        if let Some(given) = attn_logits {
            let dims = &["b", "hq", "num_kv_splits", "c+1"];
            arguments.output("attn_logits", given, dims).contiguous()?;
            parts = given.ptr_mut().any();
        }
        let waves = (b as u64).saturating_mul(hq as u64 + 1);
        arguments.require(waves < MOST_WAVES, "q", "fewer rows of heads", waves)?;
        let has_parts = splits > 1 || parts != AnyPtr::NULL;
        self.results(out, [0, row, head]);
        let args = &mut self.args;
        (args.sequences, args.q_length, args.q_rows) = ((b * splits) as u32, 1, b as u32);
        let LatentDecode { mut rows, is_apart } = decode;
        rows.split_count = splits as u32;
        rows.value_width = if is_apart { c as u32 } else { 0 };
        let rotates = rows.heads > 0;
        // What there is in the workspace: queries, last keys, lists, results of splits.
        let key = d + rows.value_width as usize;
        let [of_q, of_k] = if rotates { [b * hq * d, b * key] } else { [0; 2] };
        let of_list = b * splits * size_of::<i32>();
        let of_parts = b * hq * splits * (c + 1) * size_of::<f32>();
        let own_parts = if has_parts && parts == AnyPtr::NULL { of_parts } else { 0 };
        let sizes = [of_q * size_of::<T>(), of_k * size_of::<T>(), LISTS * of_list, own_parts];
        let starts = sizes.iter().scan(0, |end, size| {
            let start = *end;
            *end = (start + size).next_multiple_of(ALIGNMENT);
            Some(start as u64)
        });
        let starts: Vec<u64> = starts.collect();
        let bytes = sizes.iter().map(|size| size.next_multiple_of(ALIGNMENT)).sum();
        let out = PartPlaces { base: out.ptr_mut().any(), sequence: row, head, ..PartPlaces::NONE };
        let dtype = self.dtype;
        let prepare = move |call: &Call, at: u64, attention: &mut AttentionArgs| {
            let typed = |address: u64| DevicePtr::<T>::new(address).any();
            let list = |of: usize| at + starts[2] + (of * of_list) as u64;
            let written =
                |of: usize| IndexList::written(DevicePtr::new(list(of)), (b * splits) as u32);
            rows.split_sequences = DevicePtr::new(list(0));
            rows.split_starts = DevicePtr::new(list(1));
            rows.split_lengths = DevicePtr::new(list(2));
            rows.split_rotated = DevicePtr::new(list(3));
            attention.q_starts = written(0);
            let [first, second] = &mut attention.source;
            (first.starts, first.starts_are_bounds) = (written(1), 0);
            first.lengths = written(2);
            if rotates {
                let (q, k) = (at + starts[0], at + starts[1]);
                (rows.rotated_q, rows.rotated_k) = (typed(q), typed(k));
                let size = size_of::<T>() as i64;
                (attention.q, attention.q_head) = (typed(q), d as i64 * size);
                attention.q_row = (hq * d) as i64 * size;
                // A row of each sequence, of the key and, if they are apart, its value.
                let page = key as i64 * size;
                let value = k + if is_apart { (d * size_of::<T>()) as u64 } else { 0 };
                *second = KeySource {
                    keys: KeyRows { base: typed(k), page, ..first.keys },
                    values: KeyRows { base: typed(value), page, ..first.values },
                    starts: written(0),
                    lengths: written(3),
                    length: 1,
                    count: b as u32,
                    ..KeySource::NONE
                };
            }
            let kernel: TileFunction<MlaRowsArgs> =
                KERNELS.function(call.device(), call.op(), "mla_rows", variant(dtype), &[])?;
            let groups = (b * (rows.heads as usize + 1)).div_ceil(ROWS_OF_GROUP) as u32;
            let before: Launch = Box::new(move |stream| {
                // SAFETY: the kernel stays within the tensors, whose shapes and strides were checked,
                // whatever bounds, tokens and positions are, and within the workspace.
                unsafe { kernel.launch(stream, [groups, 1, 1], &rows) }
            });
            if !has_parts {
                return Ok([Some(before), None]);
            }
            let base = if own_parts > 0 { at + starts[3] } else { parts.address() };
            let (part, head) = ((c + 1) as i64, (splits * (c + 1)) as i64);
            let sequence = hq as i64 * head;
            // Splits are sequences of attention, whose rows are those of the queries' sequences.
            let row = sequence - head;
            let sums = DevicePtr::<f32>::new(base + (c * size_of::<f32>()) as u64);
            (attention.o, attention.o_type) =
                (DevicePtr::<f32>::new(base).any(), <f32 as AttentionOutput>::CODE);
            (attention.o_sequence, attention.o_row, attention.o_head) = (part, row, head);
            (attention.lse, attention.lse_sequence) = (sums, part);
            (attention.lse_row, attention.lse_head) = (row, head);
            let places = PartPlaces { part, sequence, head, ..PartPlaces::NONE };
            let combine = CombineArgs {
                parts: PartPlaces { base: attention.o, ..places },
                maxima: PartPlaces { base: sums.any(), ..places },
                sums: PartPlaces::NONE,
                out,
                lse: PartPlaces::NONE,
                part_type: <f32 as Real>::CODE,
                out_type: <T as Real>::CODE,
                count: splits as u32,
                sequences: b as u32,
                rows: 1,
                heads: hq as u32,
                width: c as u32,
                unit: std::f32::consts::LOG2_E,
            };
            Ok([Some(before), Some(combine.prepare(call)?)])
        };
        self.around = Some(Around { bytes, prepare: Box::new(prepare) });
        Ok(())
    }
}
