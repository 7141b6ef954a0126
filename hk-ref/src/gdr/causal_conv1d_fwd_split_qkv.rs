//! Channels of convolutions whose tokens become rows.

/// Elements `[channel, token]` as `[token, channel]`.
pub fn rows<T: Copy>(columns: &[T], tokens: usize) -> Vec<T> {
    let row = |token| columns.iter().skip(token).step_by(tokens).copied();
    (0..tokens).flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_rows() {
        assert_eq!(rows(&[1, 2, 3, 10, 20, 30], 3), [1, 10, 2, 20, 3, 30]);
        assert!(rows::<f64>(&[], 0).is_empty());
    }
}
