//! What ops of a step hand to each other.

use hipkittens::{Result, Stream, Tensor, bf16};

use super::model::{HEAD_DIM, HEADS, HIDDEN, KV_HEADS};
use crate::paged::Sequences;
use crate::shared::{self, Ranges};

pub(crate) type Step = shared::Step<Buffers>;

pub(crate) struct Buffers {
    pub(crate) normed: Tensor<bf16>,
    pub(crate) qkv: Tensor<bf16>,
    pub(crate) q: Tensor<bf16>,
    pub(crate) attended: Tensor<bf16>,
    pub(crate) sequences: Sequences,
}

impl shared::Buffers for Buffers {
    const HIDDEN: usize = HIDDEN;

    fn new(stream: &Stream, ranges: &Ranges, tokens: usize) -> Result<Self> {
        Ok(Self {
            normed: Tensor::empty(stream, &[tokens, HIDDEN])?,
            qkv: Tensor::empty(stream, &[tokens, (HEADS + 2 * KV_HEADS) * HEAD_DIM])?,
            q: Tensor::empty(stream, &[tokens, HEADS, HEAD_DIM])?,
            attended: Tensor::empty(stream, &[tokens, HEADS, HEAD_DIM])?,
            sequences: Sequences::new(stream, ranges)?,
        })
    }

    fn write(&mut self, ranges: &Ranges) -> Result<()> {
        self.sequences.write(ranges)
    }
}
