//! Keys and values of heads in pages.

use hipkittens::attn::PagedSequences;
use hipkittens::{Result, Stream, Tensor, bf16};

use crate::shared::{CONTEXT, PAGE, PAGES, Ranges, SEQUENCES, bounds, longest, page};

/// Keys and values of a layer.
pub(crate) struct Cache {
    pub(crate) key: Tensor<bf16>,
    pub(crate) value: Tensor<bf16>,
}

impl Cache {
    pub(crate) fn new(stream: &Stream, heads: usize, head_dim: usize) -> Result<Self> {
        let pages = || Tensor::empty(stream, &[SEQUENCES * PAGES, PAGE, heads, head_dim]);
        Ok(Self { key: pages()?, value: pages()? })
    }
}

/// The sequences of a step, whose tokens attend to all before them.
pub(crate) struct Sequences {
    bounds: Tensor<i32>,
    longest: usize,
    lengths: Tensor<i32>,
    pages: Tensor<i32>,
}

impl Sequences {
    /// Of as many tokens as there are positions.
    pub(crate) fn new(stream: &Stream, ranges: &Ranges) -> Result<Self> {
        let pages = (0..SEQUENCES).flat_map(|b| (0..PAGES).map(move |at| page(b, at) as i32));
        let pages: Vec<_> = pages.collect();
        Ok(Self {
            bounds: Tensor::from_slice(stream, &bounds(ranges), &[SEQUENCES + 1])?,
            longest: longest(ranges),
            lengths: Tensor::empty(stream, &[SEQUENCES])?,
            pages: Tensor::from_slice(stream, &pages, &[SEQUENCES, PAGES])?,
        })
    }

    /// Takes the tokens at these positions.
    pub(crate) fn write(&mut self, ranges: &Ranges) -> Result<()> {
        self.lengths.write(&ranges.each_ref().map(|range| range.end as i32))
    }

    /// As attention takes them.
    pub(crate) fn paged(&self) -> PagedSequences<'_> {
        PagedSequences {
            cu_seqlens_q: (&self.bounds).into(),
            max_seqlen_q: self.longest,
            seqused_k: (&self.lengths).into(),
            max_seqlen_k: CONTEXT,
            block_table: (&self.pages).into(),
        }
    }
}
