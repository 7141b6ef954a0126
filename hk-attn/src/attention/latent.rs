//! Attention to latent heads: all heads of queries have the same keys, whose first columns are the values.

use hk_core::op::indices::{IndexList, Indices};
use hk_core::{DevicePtr, Result, TensorSlice, TileFunction, kernel_args};

use super::problem::{Around, Launch};
use super::{AttentionElement, KeySource, Problem};
use crate::KERNELS;

/// The most columns of latent values, and of what keys have behind them.
const MOST_RANK: usize = 512;
const MOST_ROPE: usize = 128;
/// Bytes that lists in a workspace are aligned to, and rows that a workgroup has of them.
const ALIGNMENT: usize = 256;
const ROWS_OF_GROUP: usize = 4;

kernel_args! {
    /// Arguments of the core `topk_tokens`.
    pub(crate) struct TopkTokensArgs {
        pub(crate) indices: DevicePtr<i32>,
        pub(crate) row: i64,
        pub(crate) tokens: DevicePtr<u32>,
        pub(crate) counts: DevicePtr<i32>,
        pub(crate) bounds: IndexList,
        pub(crate) lengths: IndexList,
        pub(crate) pages: IndexList,
        pub(crate) pages_row: i64,
        pub(crate) most_pages: u32,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) blocks: u32,
        pub(crate) block_size: u32,
        pub(crate) units_of_block: u32,
        pub(crate) units_of_slot: u32,
        pub(crate) reserved: u32,
    }
}

/// Sequences whose tokens are numbered each from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbered<'a> {
    pub(crate) bounds: Indices<'a>,
    pub(crate) lengths: Indices<'a>,
    pub(crate) table: Indices<'a>,
}

impl<'a> Problem<'a> {
    /// Checks the sizes `hq` and `d`, of whose columns the first `rank` are values, `c`.
    pub(crate) fn latent(&mut self, rank: usize) -> Result<()> {
        let arguments = &mut self.arguments;
        let constraint = format!("from 1 to {MOST_RANK}");
        arguments.require((1..=MOST_RANK).contains(&rank), "kv_lora_rank", constraint, rank)?;
        arguments.define("c", rank);
        arguments.define("hk", 1);
        arguments.limit("hq", 1..=i32::MAX as usize)?;
        arguments.limit("d", rank + 1..=rank + MOST_ROPE)?;
        let [hq, d] = arguments.sizes(["hq", "d"])?;
        let args = &mut self.args;
        (args.kv_heads, args.group) = (1, hq as u32);
        (args.width, args.value_width) = (d as u32, rank as u32);
        Ok(())
    }

    /// Declares the latent keys `[blocks, bs, 1, d]`, and, of each row of queries, `[t, k]`, the indices
    /// of those that it sees: slots of the cache, or, of sequences, the numbers of tokens.
    pub(crate) fn chosen<T: AttentionElement>(
        &mut self,
        kv: &TensorSlice<T>,
        topk: &'a TensorSlice<i32>,
        numbered: Option<Numbered<'a>>,
    ) -> Result<()> {
        let arguments = &mut self.arguments;
        let [page, slot, ..] =
            arguments.input("kv", kv, &["blocks", "bs", "1", "d"]).adjacent::<4>()?;
        let row = arguments.input("topk_indices", topk, &["t", "k"]).rows()?;
        for (size, least) in [("blocks", 1), ("bs", 1), ("k", 0)] {
            arguments.limit(size, least..=i32::MAX as usize / 2)?;
        }
        let [blocks, bs, t, k] = arguments.sizes(["blocks", "bs", "t", "k"])?;
        let few = u32::try_from(t.saturating_mul(k));
        arguments.require(few.is_ok(), "topk_indices", "fewer than 2^32 indices", topk.len())?;
        // All slots are so many units apart.
        let of = |count: usize, stride: i64| if count > 1 { stride } else { 0 };
        let (page, slot) = (of(blocks, page), of(bs, slot));
        let unit = greatest_divisor(page, slot).max(1);
        let (units_of_block, units_of_slot) = (page / unit, slot / unit);
        let last = |count: usize| count.saturating_sub(1) as i64;
        let units = i128::from(last(blocks)) * i128::from(units_of_block)
            + i128::from(last(bs)) * i128::from(units_of_slot)
            + 1;
        let fits = units < 1 << 32;
        arguments.require(fits, "kv", "fewer than 2^32 steps from slot to slot", units)?;

        let mut args = TopkTokensArgs {
            indices: topk.ptr(),
            row,
            tokens: DevicePtr::NULL,
            counts: DevicePtr::NULL,
            bounds: IndexList::NONE,
            lengths: IndexList::NONE,
            pages: IndexList::NONE,
            pages_row: 0,
            most_pages: 0,
            rows: t as u32,
            width: k as u32,
            blocks: blocks as u32,
            block_size: bs as u32,
            units_of_block: units_of_block as u32,
            units_of_slot: units_of_slot as u32,
            reserved: 0,
        };
        if let Some(numbered) = numbered {
            self.numbered(&mut args, numbered)?;
        }
        // Numbers from a sequence's length on are skipped, as -1 is.
        let end = if numbered.is_some() { i64::MAX } else { (blocks * bs) as i64 };
        self.check(move |call| {
            let constraint = format!("from -1 to {}", end - 1);
            let indices = Indices::from(topk).to_vec()?;
            call.require_each("topk_indices", &indices, &constraint, |_, index| {
                (-1..end).contains(&index)
            })
        });

        let [d, c] = self.arguments.sizes(["d", "c"])?;
        let (keys, values) = (self.rows(kv, [0, unit, 0], d), self.rows(kv, [0, unit, 0], c));
        let length = k as u32;
        let source = KeySource { keys, values, count: units as u32, length, ..KeySource::NONE };
        self.args.source[0] = KeySource { pages_of_sequence: k as i64, ..source };
        self.most_keys = k;
        let of_tokens = (t * k * size_of::<u32>()).next_multiple_of(ALIGNMENT);
        self.around = Some(Around {
            bytes: of_tokens + t * size_of::<i32>(),
            prepare: Box::new(move |call, at, attention| {
                (args.tokens, args.counts) =
                    (DevicePtr::new(at), DevicePtr::new(at + of_tokens as u64));
                let source = &mut attention.source[0];
                source.pages = IndexList::written(DevicePtr::new(at), (t * k) as u32);
                source.lengths = IndexList::written(args.counts, t as u32);
                let kernel: TileFunction<TopkTokensArgs> =
                    KERNELS.function(call.device(), call.op(), "topk_tokens", "", &[])?;
                let groups = t.div_ceil(ROWS_OF_GROUP) as u32;
                let before: Launch = Box::new(move |stream| {
                    // SAFETY: the kernel stays within the tensors, whose shapes and strides were
                    // checked, and the workspace.
                    unsafe { kernel.launch(stream, [groups, 1, 1], &args) }
                });
                Ok([Some(before), None])
            }),
        });
        Ok(())
    }

    /// Declares the sequences that indices are numbers in.
    fn numbered(&mut self, args: &mut TopkTokensArgs, of: Numbered<'a>) -> Result<()> {
        let Numbered { bounds, lengths, table } = of;
        let arguments = &mut self.arguments;
        args.bounds = bounds.declare(arguments, "cu_seqlens_q", &["bounds"])?;
        let [blocks, bs, t, count] = arguments.sizes(["blocks", "bs", "t", "bounds"])?;
        arguments.limit("bounds", 1 + t.min(1)..=i32::MAX as usize)?;
        arguments.define("bounds-1", count - 1);
        args.lengths = lengths.declare(arguments, "seqused_k", &["bounds-1"])?;
        (args.pages, args.pages_row) =
            table.declare_rows(arguments, "block_table", &["bounds-1", "most_pages"])?;
        arguments.limit("most_pages", 0..=i32::MAX as usize)?;
        let [most_pages] = arguments.sizes(["most_pages"])?;
        args.most_pages = most_pages as u32;
        let slots = most_pages.saturating_mul(bs);
        self.check(move |call| {
            call.require_bounds("cu_seqlens_q", &bounds.to_vec()?, t)?;
            let lengths = lengths.to_vec()?;
            let constraint = format!("0 to {slots}");
            call.require_each("seqused_k", &lengths, &constraint, |_, length| {
                usize::try_from(length).is_ok_and(|length| length <= slots)
            })?;
            let constraint = format!("a page below {blocks}");
            call.require_each("block_table", &table.to_vec()?, &constraint, |at, page| {
                let used = (lengths[at / most_pages] as usize).div_ceil(bs);
                at % most_pages >= used || usize::try_from(page).is_ok_and(|page| page < blocks)
            })
        });
        Ok(())
    }
}

fn greatest_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
