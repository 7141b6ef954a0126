//! Tokens and chunks of sequences that follow each other.

/// The sequence of each token, and its number there.
pub fn token_indices(lens: &[usize]) -> Vec<[i64; 2]> {
    let tokens = |(n, len): (usize, &usize)| (0..*len).map(move |t| [n as i64, t as i64]);
    lens.iter().enumerate().flat_map(tokens).collect()
}

/// The sequence of each chunk, and its number there: of each chunk's first token.
pub fn chunk_indices(lens: &[usize], chunk_size: usize) -> Vec<[i64; 2]> {
    let size = chunk_size as i64;
    let firsts = token_indices(lens).into_iter().filter(|[_, token]| token % size == 0);
    firsts.map(|[n, token]| [n, token / size]).collect()
}

/// How many chunks are before each sequence, and how many there are.
pub fn chunk_offsets(lens: &[usize], chunk_size: usize) -> Vec<i64> {
    let chunks = chunk_indices(lens, chunk_size);
    let before = |n| chunks.iter().filter(|[owner, _]| *owner < n as i64).count() as i64;
    (0..=lens.len()).map(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_sequences_have_numbers_but_no_chunks() {
        assert_eq!(token_indices(&[0, 2, 0, 1]), [[1, 0], [1, 1], [3, 0]]);
        assert_eq!(chunk_indices(&[0, 5, 0, 4], 4), [[1, 0], [1, 1], [3, 0]]);
        assert_eq!(chunk_offsets(&[128, 192, 128], 64), [0, 2, 5, 7]);
    }
}
