//! What cases of paged caches share: keys and values scattered over pages, with poison everywhere else.

use hk_core::dtype::{DType, decode};
use hk_ref::{Arg, Draw, Setup};

use super::attention::Sizes;
use crate::{AttentionElement, CacheLayout};

/// How caches are laid out: pages of `bs` slots, and elements of groups and runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paging {
    pub(super) layout: CacheLayout,
    pub(super) bs: usize,
    pub(super) x: usize,
}

impl Paging {
    /// The shape of a cache.
    fn shape(self, is_key: bool, [blocks, hk, d]: [usize; 3]) -> Vec<usize> {
        let Self { layout, bs, x } = self;
        match (layout, is_key) {
            (CacheLayout::Nhd, _) => vec![blocks, bs, hk, d],
            (CacheLayout::Hnd, _) => vec![blocks, hk, bs, d],
            (_, true) => vec![blocks, hk, d / x, bs, x],
            (CacheLayout::PagedX, _) => vec![blocks, hk, d, bs],
            _ => vec![blocks, hk, bs / x, d, x],
        }
    }

    /// Where an element is, in a page that is at `page`, of all heads.
    fn element(self, is_key: bool, [hk, d]: [usize; 2], at: [usize; 4]) -> usize {
        let Self { layout, bs, x } = self;
        let [page, slot, head, column] = at;
        let of_head = page * hk + head;
        match (layout, is_key) {
            (CacheLayout::Nhd, _) => ((page * bs + slot) * hk + head) * d + column,
            (CacheLayout::Hnd, _) => (of_head * bs + slot) * d + column,
            (_, true) => ((of_head * (d / x) + column / x) * bs + slot) * x + column % x,
            (CacheLayout::PagedX, _) => (of_head * d + column) * bs + slot,
            _ => ((of_head * (bs / x) + slot / x) * d + column) * x + slot % x,
        }
    }
}

/// The pages that sequences have, in no order; some are nobody's.
pub(super) struct Pages {
    pub(super) bs: usize,
    pub(super) blocks: usize,
    of: Vec<Vec<usize>>,
}

impl Pages {
    pub(super) fn new(bs: usize, lengths: &[usize]) -> Self {
        let used: usize = lengths.iter().map(|length| length.div_ceil(bs)).sum();
        let mut blocks = used + 2;
        // Steps of 7 reach all pages.
        blocks += usize::from(blocks.is_multiple_of(7));
        let mut next = (0..blocks).map(|i| (i * 7 + 3) % blocks);
        let of = lengths.iter().map(|length| next.by_ref().take(length.div_ceil(bs)).collect());
        Self { bs, blocks, of: of.collect() }
    }

    /// Rows of `slots` each, every one a page; `spare` of them are nobody's.
    pub(super) fn rows(slots: usize, sequences: usize, spare: usize) -> Self {
        let blocks = sequences + spare;
        // Without spare rows, those of sequences are in order.
        let of = (0..sequences).map(|b| vec![if spare == 0 { b } else { blocks - 1 - b }]);
        Self { bs: slots, blocks, of: of.collect() }
    }

    /// Rows of the table, longer than they need to be; what is not used, is no page.
    pub(super) fn table(&self) -> (Vec<usize>, Vec<i32>) {
        let most = self.of.iter().map(Vec::len).max().unwrap_or_default() + 1;
        let row = |pages: &Vec<usize>| {
            let mut row: Vec<_> = pages.iter().map(|page| *page as i32).collect();
            row.resize(most, i32::MAX);
            row
        };
        (vec![self.of.len(), most], self.of.iter().flat_map(row).collect())
    }

    /// Page and slot of a key.
    pub(super) fn place(&self, b: usize, key: usize) -> [usize; 2] {
        [self.of[b][key / self.bs], key % self.bs]
    }
}

/// A cache of which some slots have rows of keys or of values.
pub(super) struct Scattered<K> {
    pub(super) shape: Vec<usize>,
    pub(super) elements: Vec<K>,
}

impl<K: AttentionElement> Scattered<K> {
    /// Puts into pages those rows of sequences that are there.
    pub(super) fn new(
        paging: Paging,
        pages: &Pages,
        sizes: &Sizes,
        is_key: bool,
        rows: &[K],
        is_there: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let (hk, d) = (sizes.heads[1], sizes.widths[usize::from(!is_key)]);
        let shape = paging.shape(is_key, [pages.blocks, hk, d]);
        let mut elements = vec![poison(); shape.iter().product()];
        let keys = sizes.lengths.iter().enumerate();
        let keys = keys.flat_map(|(b, [_, sk])| (0..*sk).map(move |key| (b, key)));
        for ((b, key), row) in keys.zip(rows.chunks_exact(hk * d)) {
            if !is_there(b, key) {
                continue;
            }
            let [page, slot] = pages.place(b, key);
            for (i, element) in row.iter().enumerate() {
                let at = [page, slot, i / d, i % d];
                elements[paging.element(is_key, [hk, d], at)] = *element;
            }
        }
        Self { shape, elements }
    }
}

/// Caches, and what is in them.
pub(super) struct Caches<K: AttentionElement> {
    pub(super) k: Arg<K>,
    pub(super) v: Arg<K>,
    /// Numbers of keys and of values, rows after rows of all heads.
    pub(super) numbers: [Vec<f64>; 2],
}

/// What is where nothing should be read, or has to have no effect.
pub(super) fn poison<K: AttentionElement>() -> K {
    let number = if K::DTYPE == DType::I8 { 127.0 } else { f64::NAN };
    K::encode(&[number])[0]
}

impl<K: AttentionElement> Caches<K> {
    /// Draws keys and values of sequences, and puts those that queries see into pages.
    pub(super) fn new(
        s: &mut Setup,
        paging: Paging,
        pages: &Pages,
        sizes: &Sizes,
        names: [&'static str; 2],
        is_seen: impl Fn(usize, usize) -> bool,
    ) -> Self {
        let hk = sizes.heads[1];
        let mut numbers = [Vec::new(), Vec::new()];
        let mut caches = Vec::new();
        for (of, name) in names.into_iter().enumerate() {
            let d = sizes.widths[of];
            let rows: Vec<K> = s.draw(name, &[sizes.rows(1), hk, d], Draw::Normal);
            let Scattered { shape, elements } =
                Scattered::new(paging, pages, sizes, of == 0, &rows, &is_seen);
            numbers[of] = decode(&rows);
            caches.push(s.given(name, &shape, elements));
        }
        let [k, v] = caches.try_into().expect("there are two");
        Self { k, v, numbers }
    }
}
