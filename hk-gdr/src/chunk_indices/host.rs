//! Of bounds on the host.

use hk_core::dtype::Element;
use hk_core::op::indices::Indices;
use hk_core::{Error, Result, TensorSlice};

/// Integers that bounds and indices may be: i32 and i64.
pub trait Index: Element + Copy + Into<i64> + TryFrom<i64> {
    /// A tensor of them.
    fn indices(tensor: &TensorSlice<Self>) -> Indices<'_>;
}

impl Index for i32 {
    fn indices(tensor: &TensorSlice<Self>) -> Indices<'_> {
        tensor.into()
    }
}

impl Index for i64 {
    fn indices(tensor: &TensorSlice<Self>) -> Indices<'_> {
        tensor.into()
    }
}

/// The name of bounds.
const BOUNDS: &str = "cu_seqlens";

/// A number of the same type as those of the argument that it follows from.
fn index<I: Index>(op: &'static str, arg: &'static str, number: i64) -> Result<I> {
    let fits = I::try_from(number);
    fits.map_err(|_| Error::value(op, arg, "results that their type holds", number))
}

/// The lengths of sequences with these bounds.
fn lengths<I: Index>(op: &'static str, bounds: &[I]) -> Result<Vec<i64>> {
    let mut before = None;
    for (at, bound) in bounds.iter().enumerate() {
        let bound: i64 = (*bound).into();
        if bound < before.unwrap_or(0) || before.is_none() && bound != 0 {
            let constraint = "bounds from 0 on, none below the one before";
            return Err(Error::value(op, BOUNDS, constraint, format!("{bound} at {at}")));
        }
        before = Some(bound);
    }
    if before.is_none() {
        return Err(Error::value(op, BOUNDS, "one bound more than sequences", "none"));
    }
    Ok(bounds.windows(2).map(|pair| pair[1].into() - pair[0].into()).collect())
}

/// The chunks of each sequence.
fn chunks<I: Index>(op: &'static str, bounds: &[I], chunk_size: usize) -> Result<Vec<i64>> {
    let size = i64::try_from(chunk_size).unwrap_or(i64::MAX);
    if size == 0 {
        return Err(Error::value(op, "chunk_size", "at least 1", size));
    }
    let chunks = |len: i64| len / size + i64::from(len % size > 0);
    Ok(lengths(op, bounds)?.into_iter().map(chunks).collect())
}

/// Each of `counts` numbers in turn: whose it is, and its number there.
fn rows<I: Index>(op: &'static str, counts: Vec<i64>) -> Result<Vec<[I; 2]>> {
    let mut rows = Vec::new();
    for (owner, count) in counts.into_iter().enumerate() {
        let owner = index(op, BOUNDS, owner as i64)?;
        for number in 0..count {
            rows.push([owner, index(op, BOUNDS, number)?]);
        }
    }
    Ok(rows)
}

/// 0, and the sums of the numbers up to each, which follow from that argument.
fn sums<I: Index>(
    op: &'static str,
    arg: &'static str,
    numbers: impl IntoIterator<Item = i64>,
) -> Result<Vec<I>> {
    let mut sum = 0i64;
    let mut sums = vec![index(op, arg, 0)?];
    for number in numbers {
        let next = sum.checked_add(number);
        sum = next.ok_or_else(|| Error::value(op, arg, "sums of 63 bits", "more"))?;
        sums.push(index(op, arg, sum)?);
    }
    Ok(sums)
}

/// The tokens of each sequence.
///
/// # Errors
/// [`Error::Value`] if the bounds do not begin with 0, or one is below the one before.
pub fn prepare_lens<I: Index>(cu_seqlens: &[I]) -> Result<Vec<I>> {
    let op = "prepare_lens";
    lengths(op, cu_seqlens)?.into_iter().map(|len| index(op, BOUNDS, len)).collect()
}

/// The bounds of sequences of so many tokens each.
///
/// # Errors
/// [`Error::Value`] if a length is negative, or there are more tokens than the type can count.
pub fn prepare_cu_seqlens_from_lens<I: Index>(lens: &[I]) -> Result<Vec<I>> {
    let op = "prepare_cu_seqlens_from_lens";
    let lens: Vec<i64> = lens.iter().map(|len| (*len).into()).collect();
    if let Some(at) = lens.iter().position(|len| *len < 0) {
        return Err(Error::value(op, "lens", "at least 0", format!("{} at {at}", lens[at])));
    }
    sums(op, "lens", lens)
}

/// The number of each token in its sequence.
///
/// # Errors
/// As [`prepare_lens`].
pub fn prepare_position_ids<I: Index>(cu_seqlens: &[I]) -> Result<Vec<I>> {
    let op = "prepare_position_ids";
    Ok(rows(op, lengths(op, cu_seqlens)?)?.into_iter().map(|[_, position]| position).collect())
}

/// The sequence of each token.
///
/// # Errors
/// As [`prepare_lens`].
pub fn prepare_sequence_ids<I: Index>(cu_seqlens: &[I]) -> Result<Vec<I>> {
    let op = "prepare_sequence_ids";
    Ok(rows(op, lengths(op, cu_seqlens)?)?.into_iter().map(|[sequence, _]| sequence).collect())
}

/// The sequence of each token, and its number there.
///
/// # Errors
/// As [`prepare_lens`].
pub fn prepare_token_indices<I: Index>(cu_seqlens: &[I]) -> Result<Vec<[I; 2]>> {
    let op = "prepare_token_indices";
    rows(op, lengths(op, cu_seqlens)?)
}

/// The sequence of each chunk, and its number there.
///
/// # Errors
/// As [`prepare_lens`]; [`Error::Value`] also if chunks have no tokens.
pub fn prepare_chunk_indices<I: Index>(cu_seqlens: &[I], chunk_size: usize) -> Result<Vec<[I; 2]>> {
    let op = "prepare_chunk_indices";
    rows(op, chunks(op, cu_seqlens, chunk_size)?)
}

/// How many chunks are before each sequence, and how many there are.
///
/// # Errors
/// As [`prepare_chunk_indices`].
pub fn prepare_chunk_offsets<I: Index>(cu_seqlens: &[I], chunk_size: usize) -> Result<Vec<I>> {
    let op = "prepare_chunk_offsets";
    sums(op, BOUNDS, chunks(op, cu_seqlens, chunk_size)?)
}

/// How many chunks there are.
///
/// # Errors
/// As [`prepare_chunk_indices`].
pub fn prepare_num_chunks<I: Index>(cu_seqlens: &[I], chunk_size: usize) -> Result<usize> {
    Ok(chunks("prepare_num_chunks", cu_seqlens, chunk_size)?.into_iter().sum::<i64>() as usize)
}

/// The chunks of the sequence that has the most.
///
/// # Errors
/// As [`prepare_chunk_indices`]; [`Error::Value`] also if there is no sequence.
pub fn get_max_num_splits<I: Index>(cu_seqlens: &[I], chunk_size: usize) -> Result<usize> {
    let op = "get_max_num_splits";
    let most = chunks(op, cu_seqlens, chunk_size)?.into_iter().max();
    let most = most.ok_or_else(|| Error::value(op, BOUNDS, "bounds of a sequence", "none"))?;
    Ok(most as usize)
}

/// The bounds of what follows the first `num_decodes` sequences, which have `num_decode_tokens` tokens.
///
/// # Errors
/// As [`prepare_lens`]; [`Error::Value`] also if there are not so many sequences, or they have
/// another number of tokens.
pub fn prepare_rebased_cu_seqlens<I: Index>(
    cu_seqlens: &[I],
    num_decodes: usize,
    num_decode_tokens: usize,
) -> Result<Vec<I>> {
    let op = "prepare_rebased_cu_seqlens";
    let lengths = lengths(op, cu_seqlens)?;
    let Some(first) = cu_seqlens.get(num_decodes) else {
        let most = format!("at most {}", lengths.len());
        return Err(Error::value(op, "num_decodes", most, num_decodes));
    };
    let first: i64 = (*first).into();
    if usize::try_from(first) != Ok(num_decode_tokens) {
        let tokens = format!("{first}, the tokens of the first {num_decodes} sequences");
        return Err(Error::value(op, "num_decode_tokens", tokens, num_decode_tokens));
    }
    sums(op, BOUNDS, lengths.into_iter().skip(num_decodes))
}
