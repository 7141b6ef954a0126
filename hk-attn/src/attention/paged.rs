//! Keys and values in the pages of caches.

use hk_core::op::indices::{IndexList, Indices};
use hk_core::{Result, TensorSlice};

use super::element::is_narrow;
use super::{AttentionElement, HeadScales, KeyRows, KeySource, Problem, SlotScales};
use crate::cache::CacheLayout;

/// Sizes of caches whose rows are in groups of x elements, or whose slots are in runs of x.
const GROUPS: &str = "d / x";
const RUNS: &str = "bs / x";

/// The pages that sequences have, and how many keys are in them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages<'a> {
    /// Of each sequence, a row of pages.
    pub(crate) table_name: &'static str,
    pub(crate) table: Indices<'a>,
    /// Of each sequence, its keys; as many as there are slots for, if not given.
    pub(crate) lengths_name: &'static str,
    pub(crate) lengths: Option<Indices<'a>>,
    /// The dimension of sequences.
    pub(crate) sequences: &'static str,
    /// Keys that a sequence has at most.
    pub(crate) most: usize,
    /// Rows that are appended to them.
    pub(crate) appended: usize,
}

impl<'a> Problem<'a> {
    /// Declares caches of keys and values, and gives where their rows are.
    pub(crate) fn caches<K: AttentionElement>(
        &mut self,
        layout: CacheLayout,
        [key_name, value_name]: [&'static str; 2],
        k: &TensorSlice<K>,
        v: &TensorSlice<K>,
    ) -> Result<[KeyRows; 2]> {
        let dims: [&[&str]; 2] = match layout {
            CacheLayout::Nhd => [&["blocks", "bs", "hk", "d"], &["blocks", "bs", "hk", "dv"]],
            CacheLayout::Hnd => [&["blocks", "hk", "bs", "d"], &["blocks", "hk", "bs", "dv"]],
            CacheLayout::PagedX => {
                [&["blocks", "hk", GROUPS, "bs", "x"], &["blocks", "hk", "dv", "bs"]]
            }
            CacheLayout::PagedXShuffledV => {
                [&["blocks", "hk", GROUPS, "bs", "x"], &["blocks", "hk", RUNS, "dv", "x"]]
            }
        };
        let arguments = &mut self.arguments;
        if dims[0].len() == 5 {
            let [d] = arguments.sizes(["d"])?;
            let [bs, x] = k.shape().last_chunk().copied().unwrap_or([1; 2]);
            arguments.define(GROUPS, d.checked_div(x).unwrap_or_default());
            arguments.define(RUNS, bs.checked_div(x).unwrap_or_default());
        }
        let key_strides = self.strides_of(key_name, k, dims[0])?;
        let value_strides = self.strides_of(value_name, v, dims[1])?;
        let [d, dv] = self.heads()?;
        let keys = self.rows_of_pages(layout, true, (key_name, k), &key_strides, d)?;
        let values = self.rows_of_pages(layout, false, (value_name, v), &value_strides, dv)?;
        Ok([keys, values])
    }

    /// Declares a cache, and gives its strides.
    fn strides_of<K: AttentionElement>(
        &mut self,
        name: &'static str,
        cache: &TensorSlice<K>,
        dims: &'static [&'static str],
    ) -> Result<Vec<i64>> {
        let declared = self.arguments.input(name, cache, dims);
        match dims {
            [_, _, _, _, _] => Ok(declared.strides::<5>()?.to_vec()),
            [.., "bs"] => Ok(declared.strides::<4>()?.to_vec()),
            _ => Ok(declared.adjacent::<4>()?.to_vec()),
        }
    }

    /// Where rows are of a cache that has these strides.
    pub(crate) fn rows_of_pages<K: AttentionElement>(
        &mut self,
        layout: CacheLayout,
        is_key: bool,
        (name, cache): (&'static str, &TensorSlice<K>),
        strides: &[i64],
        width: usize,
    ) -> Result<KeyRows> {
        let size = size_of::<K>() as i64;
        // Offsets within a page and a head have 32 bits.
        let (shape, extent) = (cache.shape(), |dims: &[usize]| -> i64 {
            dims.iter().map(|dim| (cache.shape()[*dim] as i64 - 1) * strides[*dim] * size).sum()
        });
        let within: &[usize] = match layout {
            CacheLayout::Nhd => &[1, 3],
            CacheLayout::Hnd => &[2, 3],
            CacheLayout::PagedX if !is_key => &[2, 3],
            _ => &[2, 3, 4],
        };
        let bytes = extent(within);
        let is_small = bytes <= i64::from(i32::MAX);
        self.arguments.require(is_small, name, "slots of a page within 2 GiB", bytes)?;
        let of = |dim: usize| if shape[dim] == 1 { 0 } else { (strides[dim] * size) as u32 };
        let [page, head] = match layout {
            CacheLayout::Nhd => [strides[0], strides[2]],
            _ => [strides[0], strides[1]],
        };
        let rows = self.rows(cache, [0, page, head], width);
        if matches!(layout, CacheLayout::Nhd | CacheLayout::Hnd) {
            return Ok(KeyRows { slot: of(within[0]), ..rows });
        }
        self.is_plain = false;
        let x = shape[shape.len() - 1];
        if is_key {
            let constraint = format!("a multiple of {x}");
            self.arguments.require(width.is_multiple_of(x), "d", constraint, width)?;
            let is_whole = x.is_multiple_of(8) && strides[4] == 1;
            let (group, slot, group_size) = (of(2), of(3), x as u32);
            let element = (strides[4] * size) as u32;
            let whole = u32::from(is_whole && width.is_multiple_of(8));
            return Ok(KeyRows { group, slot, element, group_size, whole, ..rows });
        }
        let whole = 0;
        if layout == CacheLayout::PagedX {
            return Ok(KeyRows { element: of(2), slot: of(3), whole, ..rows });
        }
        let constraint = format!("a multiple of {x}, and that a power of two");
        let [bs] = self.arguments.sizes(["bs"])?;
        let has_runs = x.is_power_of_two() && bs.is_multiple_of(x);
        self.arguments.require(has_runs, "bs", constraint, bs)?;
        let (run, element, slot, run_log2) = (of(2), of(3), of(4), x.ilog2());
        Ok(KeyRows { run, element, slot, run_log2, whole, ..rows })
    }

    /// Declares lengths, and which pages sequences have of a cache whose rows these are.
    pub(crate) fn paged(&mut self, rows: [KeyRows; 2], pages: Pages<'a>) -> Result<()> {
        let dims: &[&str] = if pages.sequences == "b" { &["b"] } else { &["bounds-1"] };
        let lengths = match pages.lengths {
            Some(lengths) => lengths.declare(&mut self.arguments, pages.lengths_name, dims)?,
            None => IndexList::NONE,
        };
        self.table(rows, pages, lengths)
    }

    /// Declares which pages sequences have of a cache whose rows these are, and whose lengths are
    /// declared.
    pub(crate) fn table(
        &mut self,
        rows: [KeyRows; 2],
        pages: Pages<'a>,
        list: IndexList,
    ) -> Result<()> {
        let Pages { table_name, table, lengths_name, lengths, sequences, most, appended } = pages;
        let [blocks, bs, most_pages] =
            self.pages_of(rows, (table_name, table), sequences, appended.min(1))?;
        let most = most_pages.saturating_mul(bs).min(most).min(i32::MAX as usize / 2);
        self.lengths((lengths_name, lengths), list, most, appended);
        self.check(move |call| {
            let table = table.to_vec()?;
            let lengths = match lengths {
                Some(lengths) => lengths.to_vec()?,
                None => vec![most as i64; table.len() / most_pages.max(1)],
            };
            let constraint = format!("a page below {blocks}");
            call.require_each(table_name, &table, &constraint, |at, page| {
                let used = (lengths[at / most_pages] as usize + appended).div_ceil(bs);
                at % most_pages >= used || usize::try_from(page).is_ok_and(|page| page < blocks)
            })
        });
        Ok(())
    }

    /// Declares which pages sequences have of a cache whose rows these are, in a table of so many columns
    /// at least, and gives how many pages there are, slots of a page, and pages of a sequence at most.
    fn pages_of(
        &mut self,
        rows: [KeyRows; 2],
        (name, table): (&'static str, Indices<'a>),
        sequences: &'static str,
        least: usize,
    ) -> Result<[usize; 3]> {
        let dims: &[&str] = match sequences {
            "b" => &["b", "most_pages"],
            _ => &["bounds-1", "most_pages"],
        };
        let arguments = &mut self.arguments;
        let (of_pages, row) = table.declare_rows(arguments, name, dims)?;
        for size in ["blocks", "bs"] {
            arguments.limit(size, 1..=i32::MAX as usize)?;
        }
        let sizes = arguments.sizes(["blocks", "bs", "most_pages"])?;
        let [count] = arguments.sizes([sequences])?;
        arguments.limit("most_pages", count.min(least)..=i32::MAX as usize)?;
        let [blocks, bs, _] = sizes;
        self.pages(rows, of_pages, [row, 0], [blocks, bs]);
        Ok(sizes)
    }

    /// Of keys in slots, of which there are so many for a sequence, how many there are before rows are
    /// appended.
    pub(crate) fn lengths(
        &mut self,
        (name, lengths): (&'static str, Option<Indices<'a>>),
        list: IndexList,
        slots: usize,
        appended: usize,
    ) {
        let most = slots.saturating_sub(appended);
        let source = &mut self.args.source[0];
        (source.length, source.lengths) = (most as u32, list);
        self.most_keys = slots;
        let Some(lengths) = lengths else { return };
        self.check(move |call| {
            let constraint = format!("0 to {most}");
            call.require_each(name, &lengths.to_vec()?, &constraint, |_, length| {
                usize::try_from(length).is_ok_and(|length| length <= most)
            })
        });
    }

    /// Keys and values of sequences that have so many slots.
    pub(crate) fn slots(&mut self, [keys, values]: [KeyRows; 2], count: usize) {
        let count = count as u32;
        self.args.source[0] = KeySource { keys, values, length: count, count, ..KeySource::NONE };
    }

    /// Declares which row of a cache each sequence has, whose slots they are.
    pub(crate) fn rows_of_cache(
        &mut self,
        rows: [KeyRows; 2],
        (name, of_sequences): (&'static str, Indices<'a>),
    ) -> Result<()> {
        let list = of_sequences.declare(&mut self.arguments, name, &["b"])?;
        self.arguments.limit("rows", 1..=i32::MAX as usize)?;
        self.arguments.limit("sk", 1..=i32::MAX as usize / 2)?;
        let [count, sk] = self.arguments.sizes(["rows", "sk"])?;
        // A row is a page.
        self.pages(rows, list, [1, 0], [count, sk]);
        self.check(move |call| {
            let constraint = format!("a row below {count}");
            call.require_each(name, &of_sequences.to_vec()?, &constraint, |_, row| {
                usize::try_from(row).is_ok_and(|row| row < count)
            })
        });
        Ok(())
    }

    /// Keys and values of the tokens that queries are of, of so many rows in all.
    pub(crate) fn new_tokens(&self, [keys, values]: [KeyRows; 2], rows: usize) -> KeySource {
        let (starts, starts_are_bounds) = (self.args.q_starts, 1);
        let (length, count) = (rows as u32, rows as u32);
        KeySource { keys, values, starts, starts_are_bounds, length, count, ..KeySource::NONE }
    }

    /// So many keys and values of each sequence behind those of the cache.
    pub(crate) fn fresh(&mut self, [keys, values]: [KeyRows; 2], count: usize) {
        if count > 0 {
            let count = count as u32;
            let source = KeySource { keys, values, length: count, count, ..KeySource::NONE };
            self.args.source[1] = source;
        }
    }

    /// Keys and values in pages of a list, of which sequences and heads have parts.
    pub(super) fn pages(
        &mut self,
        [keys, values]: [KeyRows; 2],
        pages: IndexList,
        [pages_of_sequence, pages_of_head]: [i64; 2],
        [blocks, bs]: [usize; 2],
    ) {
        self.args.source[0] = KeySource {
            keys,
            values,
            pages,
            pages_of_sequence,
            pages_of_head,
            count: blocks as u32,
            ..KeySource::NONE
        }
        .of_pages(bs);
    }

    /// Declares the tokens of sequences before their queries, in pages of a cache whose rows these are, and
    /// how many tokens sequences have with them; queries are declared. If there are steps, a sequence's
    /// only query is in the cache too.
    pub(crate) fn prefix(
        &mut self,
        rows: [KeyRows; 2],
        (table_name, table): (&'static str, Indices<'a>),
        (lengths_name, lengths): (&'static str, Indices<'a>),
        queries: Indices<'a>,
        has_steps: bool,
    ) -> Result<()> {
        let [blocks, bs, most_pages] = self.pages_of(rows, (table_name, table), "bounds-1", 0)?;
        let list = lengths.declare(&mut self.arguments, lengths_name, &["bounds-1"])?;
        let slots = most_pages.saturating_mul(bs).min(i32::MAX as usize / 2);
        let source = &mut self.args.source[0];
        (source.length, source.lengths, source.lengths_are_total) = (slots as u32, list, 1);
        self.most_keys = slots;
        self.check(move |call| {
            let (bounds, lengths) = (queries.to_vec()?, lengths.to_vec()?);
            let new = |b: usize| match bounds[b + 1] - bounds[b] {
                1 if has_steps => 0,
                queries => queries,
            };
            let constraint = format!("the queries of a sequence and 0 to {slots} tokens before");
            call.require_each(lengths_name, &lengths, &constraint, |b, length| {
                (0..=slots as i64).contains(&(length - new(b)))
            })?;
            let constraint = format!("a page below {blocks}");
            call.require_each(table_name, &table.to_vec()?, &constraint, |at, page| {
                let b = at / most_pages;
                let used = ((lengths[b] - new(b)) as usize).div_ceil(bs);
                at % most_pages >= used || usize::try_from(page).is_ok_and(|page| page < blocks)
            })
        });
        Ok(())
    }

    /// Declares scales, `[1]`, of the elements of a cache of keys and of values, if these have 8 bits, and
    /// of no others.
    pub(crate) fn scales_of_cached<K: AttentionElement>(
        &mut self,
        scales: [Option<&TensorSlice<f32>>; 2],
    ) -> Result<()> {
        let steps = &mut self.args.steps;
        let places = [("k_scale", &mut steps.key_scales), ("v_scale", &mut steps.value_scales)];
        for ((name, place), scale) in places.into_iter().zip(scales) {
            let Some(scale) = scale else { continue };
            self.arguments.input(name, scale, &["1"]).contiguous()?;
            if is_narrow::<K>() {
                *place = SlotScales { base: scale.ptr(), ..SlotScales::NONE };
            }
        }
        Ok(())
    }

    /// Declares scales of caches, `[1]` or, of slots, `[blocks, hk, bs]`, which only apply to elements
    /// of 8 bits.
    pub(crate) fn cache_scales<K: AttentionElement>(
        &mut self,
        scales: [Option<&TensorSlice<f32>>; 2],
    ) -> Result<()> {
        for (is_value, scale) in [false, true].into_iter().zip(scales) {
            let Some(scale) = scale else { continue };
            let name = if is_value { "v_scale" } else { "k_scale" };
            let (mut of_heads, mut of_slots) = (HeadScales::NONE, SlotScales::NONE);
            if scale.shape().len() == 1 {
                self.arguments.input(name, scale, &["1"]).contiguous()?;
                of_heads.base = scale.ptr();
            } else {
                let declared = self.arguments.input(name, scale, &["blocks", "hk", "bs"]);
                let [page, head, slot] = declared.strides()?;
                of_slots = SlotScales { base: scale.ptr(), page, head, slot };
            }
            if !is_narrow::<K>() {
                continue;
            }
            let args = &mut self.args;
            if is_value {
                (args.v_scale, args.steps.value_scales) = (of_heads, of_slots);
            } else {
                (args.k_scale, args.steps.key_scales) = (of_heads, of_slots);
            }
        }
        Ok(())
    }

    /// Of queries without rows, each of a sequence of its own, rows are where sequences are.
    pub(crate) fn one_row(&mut self) {
        let args = &mut self.args;
        (args.o_sequence, args.lse_sequence) = (args.o_row, args.lse_row);
        args.q_length = 1;
    }
}
