//! What ops of a step hand to each other, and what layers remember.

use hipkittens::attn::{MlaTokens, VarlenOptions};
use hipkittens::{Result, Stream, Tensor, bf16};

use super::model::{HEADS, HIDDEN, KV_RANK, NOPE, Q_RANK, ROPE, VALUE};
use crate::shared::{self, CONTEXT, Ranges, SEQUENCES, bounds, longest, slots};

pub(crate) type Step = shared::Step<Buffers>;

pub(crate) struct Buffers {
    pub(crate) normed: Tensor<bf16>,
    pub(crate) latent: Tensor<bf16>,
    pub(crate) q: Tensor<bf16>,
    pub(crate) form: Form,
    pub(crate) attended: Tensor<bf16>,
    pub(crate) fed: Tensor<f32>,
}

/// What attention has besides, of prompts and of a token of each sequence.
pub(crate) enum Form {
    Prompts(Prompts),
    Tokens(Tokens),
}

/// Keys and values of each head.
pub(crate) struct Prompts {
    pub(crate) kv: Tensor<bf16>,
    pub(crate) q: Tensor<bf16>,
    pub(crate) k: Tensor<bf16>,
    pub(crate) sequences: Sequences,
}

/// Sequences that follow each other, whose tokens attend to those before them.
pub(crate) struct Sequences {
    bounds: Tensor<i32>,
    longest: usize,
}

/// Queries of latent rows.
pub(crate) struct Tokens {
    pub(crate) absorbed: Tensor<bf16>,
    pub(crate) q: Tensor<bf16>,
    pub(crate) mean: Tensor<bf16>,
    pub(crate) rows: Rows,
}

/// Where latent rows of sequences are: with room for the longest sequences, of which bounds say how much is
/// in use.
pub(crate) struct Rows {
    bounds: Tensor<i32>,
    rows: Tensor<i32>,
}

/// What a layer remembers: latent rows of tokens, in pages.
pub(crate) type Cache = Tensor<bf16>;

impl shared::Buffers for Buffers {
    const HIDDEN: usize = HIDDEN;

    fn new(stream: &Stream, ranges: &Ranges, tokens: usize) -> Result<Self> {
        let rows = |width| Tensor::empty(stream, &[tokens, width]);
        let heads = |width| Tensor::empty(stream, &[tokens, HEADS, width]);
        let (bounds, longest) = (bounds(ranges), longest(ranges));
        let bounds = Tensor::from_slice(stream, &bounds, &[SEQUENCES + 1])?;
        let form = if longest > 1 {
            Form::Prompts(Prompts {
                kv: rows(HEADS * (NOPE + VALUE))?,
                q: heads(NOPE + ROPE)?,
                k: heads(NOPE + ROPE)?,
                sequences: Sequences { bounds, longest },
            })
        } else {
            let room = Tensor::empty(stream, &[SEQUENCES * CONTEXT])?;
            Form::Tokens(Tokens {
                absorbed: heads(KV_RANK)?,
                q: heads(KV_RANK + ROPE)?,
                mean: heads(KV_RANK)?,
                rows: Rows { bounds, rows: room },
            })
        };
        Ok(Self {
            normed: rows(HIDDEN)?,
            latent: rows(Q_RANK + KV_RANK + ROPE)?,
            q: rows(HEADS * (NOPE + ROPE))?,
            form,
            attended: heads(VALUE)?,
            fed: Tensor::empty(stream, &[tokens, HIDDEN])?,
        })
    }

    fn write(&mut self, ranges: &Ranges) -> Result<()> {
        match &mut self.form {
            Form::Prompts(_) => Ok(()),
            Form::Tokens(Tokens { rows, .. }) => rows.write(ranges),
        }
    }
}

impl Sequences {
    pub(crate) fn varlen(&self) -> VarlenOptions<'_> {
        VarlenOptions {
            cu_seqlens_q: (&self.bounds).into(),
            cu_seqlens_k: (&self.bounds).into(),
            max_seqlen_q: self.longest,
            max_seqlen_k: self.longest,
        }
    }
}

impl Rows {
    /// Takes those up to the ends of these positions.
    fn write(&mut self, ranges: &Ranges) -> Result<()> {
        let all = ranges.each_ref().map(|range| 0..range.end);
        let mut rows = slots(&all);
        rows.resize(SEQUENCES * CONTEXT, 0);
        self.bounds.write(&bounds(&all))?;
        self.rows.write(&rows)
    }

    pub(crate) fn mla(&self) -> MlaTokens<'_> {
        MlaTokens {
            kv_indptr: (&self.bounds).into(),
            kv_indices: (&self.rows).into(),
            kv_lora_rank: KV_RANK,
        }
    }
}
