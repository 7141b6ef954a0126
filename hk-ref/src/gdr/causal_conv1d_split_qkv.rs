//! Channels of convolutions that are those of queries, keys and values.

use std::ops::Range;

/// The channels of queries, keys and values, which follow each other.
pub fn split_qkv(key_dim: usize, value_dim: usize) -> [Range<usize>; 3] {
    let [keys, values] = [key_dim, 2 * key_dim];
    [0..keys, keys..values, values..values + value_dim]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_is_of_one_part() {
        assert_eq!(split_qkv(2, 5), [0..2, 2..4, 4..9]);
    }
}
