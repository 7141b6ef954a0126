//! Sums of rows of bits.

/// How many rows have each bit, and how many of those before each block of `block` rows: of rows of
/// `words` words, of which the first `columns` bits count.
pub fn moe_bitmatrix(
    bits: &[u32],
    words: usize,
    columns: usize,
    block: usize,
) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut sums = vec![0; 32 * words];
    let mut partials = Vec::new();
    for (at, row) in bits.chunks_exact(words).enumerate() {
        if at % block == 0 {
            partials.push(sums.clone());
        }
        for (column, sum) in sums.iter_mut().enumerate().take(columns) {
            *sum += (row[column / 32] >> (column % 32) & 1) as usize;
        }
    }
    sums.truncate(columns.next_multiple_of(32));
    (sums, partials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_before_a_block_count() {
        let (sums, partials) = moe_bitmatrix(&[0b11, 0, 0b1, 0, 0b10, 0], 2, 33, 2);
        assert_eq!((sums.len(), sums[0], sums[1]), (64, 2, 2));
        assert_eq!(
            (partials.len(), partials[0][0], partials[1][..3].to_vec()),
            (2, 0, vec![2, 1, 0])
        );
    }
}
