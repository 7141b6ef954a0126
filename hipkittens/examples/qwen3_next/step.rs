//! What ops of a step hand to each other, and what layers remember.

use hipkittens::gdr::{PrefillSchedule, QkvzbaHeads};
use hipkittens::{Error, Result, Stream, Tensor, bf16};

use super::model::{CHANNELS, DELTA, HEAD_DIM, HEADS, HIDDEN, KV_HEADS, VALUES};
use crate::paged::{Cache, Sequences};
use crate::shared::{self, Ranges, SEQUENCES, bounds, longest};

/// Tokens of a chunk.
const CHUNK: usize = 64;

pub(crate) type Step = shared::Step<Buffers>;

pub(crate) struct Buffers {
    pub(crate) normed: Tensor<bf16>,
    pub(crate) qkvz: Tensor<bf16>,
    pub(crate) ba: Tensor<bf16>,
    pub(crate) mixed: Tensor<bf16>,
    pub(crate) convolved: Tensor<bf16>,
    pub(crate) z: Tensor<bf16>,
    pub(crate) b: Tensor<bf16>,
    pub(crate) a: Tensor<bf16>,
    /// None for a token of each sequence.
    pub(crate) prompts: Option<Prompts>,
    pub(crate) learnt: Tensor<bf16>,
    pub(crate) qkv: Tensor<bf16>,
    pub(crate) q: Tensor<bf16>,
    pub(crate) k: Tensor<bf16>,
    pub(crate) v: Tensor<bf16>,
    pub(crate) gate: Tensor<bf16>,
    pub(crate) sequences: Sequences,
    pub(crate) attended: Tensor<bf16>,
    pub(crate) fed: Tensor<f32>,
}

/// The chunks of prompts.
pub(crate) struct Prompts {
    pub(crate) schedule: PrefillSchedule,
    pub(crate) has_initial_state: Tensor<u8>,
    pub(crate) qkv: [Tensor<bf16>; 3],
    pub(crate) g: Tensor<f32>,
    pub(crate) beta: Tensor<f32>,
}

/// What layers remember of sequences: the last tokens before the convolution and the state of the
/// delta rule, and keys and values.
pub(crate) struct Memory {
    pub(crate) conv: Tensor<bf16>,
    pub(crate) state: Tensor<f32>,
    pub(crate) cache: Cache,
}

impl shared::Buffers for Buffers {
    const HIDDEN: usize = HIDDEN;

    fn new(stream: &Stream, ranges: &Ranges, tokens: usize) -> Result<Self> {
        let QkvzbaHeads { num_heads_v, head_v, .. } = DELTA;
        let rows = |width| Tensor::empty(stream, &[tokens, width]);
        let heads = |heads, width| Tensor::empty(stream, &[tokens, heads, width]);
        let prompts = || {
            let keys = DELTA.num_heads_qk * DELTA.head_qk;
            Ok::<_, Error>(Prompts {
                schedule: PrefillSchedule::new(stream, &bounds(ranges), CHUNK)?,
                has_initial_state: Tensor::filled(stream, &[SEQUENCES], 0u8)?,
                qkv: [rows(keys)?, rows(keys)?, rows(VALUES)?],
                g: Tensor::empty(stream, &[tokens, num_heads_v])?,
                beta: Tensor::empty(stream, &[tokens, num_heads_v])?,
            })
        };
        Ok(Self {
            normed: rows(HIDDEN)?,
            qkvz: rows(CHANNELS + VALUES)?,
            ba: rows(2 * num_heads_v)?,
            mixed: rows(CHANNELS)?,
            convolved: rows(CHANNELS)?,
            z: heads(num_heads_v, head_v)?,
            b: rows(num_heads_v)?,
            a: rows(num_heads_v)?,
            prompts: (longest(ranges) > 1).then(prompts).transpose()?,
            learnt: heads(num_heads_v, head_v)?,
            qkv: rows((2 * HEADS + 2 * KV_HEADS) * HEAD_DIM)?,
            q: heads(HEADS, HEAD_DIM)?,
            k: heads(KV_HEADS, HEAD_DIM)?,
            v: heads(KV_HEADS, HEAD_DIM)?,
            gate: heads(HEADS, HEAD_DIM)?,
            sequences: Sequences::new(stream, ranges)?,
            attended: heads(HEADS, HEAD_DIM)?,
            fed: Tensor::empty(stream, &[tokens, HIDDEN])?,
        })
    }

    fn write(&mut self, ranges: &Ranges) -> Result<()> {
        self.sequences.write(ranges)
    }
}
