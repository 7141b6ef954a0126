//! What kernels take of a batch.

use hk_core::{Error, Result, Stream, Tensor};

use super::host::{
    Index, get_max_num_splits, prepare_chunk_indices, prepare_chunk_offsets,
    prepare_rebased_cu_seqlens,
};

/// The chunks of the sequences of a batch, for all kernels of all layers: made once from the bounds of
/// the sequences on the host. Tensors are of 32 bits.
#[derive(Debug)]
pub struct PrefillSchedule {
    /// The bounds of the sequences, `[n + 1]`.
    pub cu_seqlens: Tensor<i32>,
    /// The sequence of each chunk, `[chunks]`.
    pub sequence_ids: Tensor<i32>,
    /// The number of each chunk in its sequence, `[chunks]`.
    pub chunk_ids: Tensor<i32>,
    /// How many chunks are before each sequence, and how many there are, `[n + 1]`.
    pub chunk_offsets: Tensor<i32>,
    /// Tokens of a chunk.
    pub chunk_size: usize,
    /// Sequences: n.
    pub sequences: usize,
    /// Tokens of all sequences.
    pub tokens: usize,
    /// Chunks of all sequences.
    pub chunks: usize,
    /// Chunks of the sequence that has the most; 0 if there is no sequence.
    pub most_chunks: usize,
}

impl PrefillSchedule {
    /// Of all sequences with these bounds.
    ///
    /// # Errors
    /// [`Error::Value`] if the bounds do not begin with 0, one is below the one before, chunks have no
    /// tokens, or there are more of anything than 31 bits count; [`Error::OutOfMemory`].
    pub fn new<I: Index>(stream: &Stream, cu_seqlens: &[I], chunk_size: usize) -> Result<Self> {
        Self::after_decodes(stream, cu_seqlens, chunk_size, 0, 0)
    }

    /// Of those after the first `num_decodes` sequences, which have `num_decode_tokens` tokens: numbers
    /// of sequences and tokens are counted from there.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Value`] also if there are not so many sequences, or they have
    /// another number of tokens.
    pub fn after_decodes<I: Index>(
        stream: &Stream,
        cu_seqlens: &[I],
        chunk_size: usize,
        num_decodes: usize,
        num_decode_tokens: usize,
    ) -> Result<Self> {
        let bounds = prepare_rebased_cu_seqlens(cu_seqlens, num_decodes, num_decode_tokens)?;
        let narrow = |bound: I| {
            let (op, bound) = ("prefill_schedule", bound.into());
            i32::try_from(bound).map_err(|_| Error::value(op, "cu_seqlens", "below 2^31", bound))
        };
        let bounds = bounds.into_iter().map(narrow).collect::<Result<Vec<i32>>>()?;
        let rows = prepare_chunk_indices(&bounds, chunk_size)?;
        let upload = |indices: &[i32]| Tensor::from_slice(stream, indices, &[indices.len()]);
        let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<_>>();
        let sequences = bounds.len() - 1;
        let most_chunks = if sequences == 0 { 0 } else { get_max_num_splits(&bounds, chunk_size)? };
        Ok(Self {
            cu_seqlens: upload(&bounds)?,
            sequence_ids: upload(&column(0))?,
            chunk_ids: upload(&column(1))?,
            chunk_offsets: upload(&prepare_chunk_offsets(&bounds, chunk_size)?)?,
            chunk_size,
            sequences,
            tokens: bounds.last().map_or(0, |last| *last as usize),
            chunks: rows.len(),
            most_chunks,
        })
    }
}
