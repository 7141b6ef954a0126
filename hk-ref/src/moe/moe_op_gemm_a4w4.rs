//! Products of rows with the matrices of their experts, both in blocks of MX.

pub use super::ragged::{Act, Problem};

/// k of a block.
const BLOCK: usize = 32;

/// Numbers of rows of k, times the scales of their blocks.
pub fn scaled(numbers: Vec<f64>, scales: &[f64], k: usize) -> Vec<f64> {
    let blocks = k.div_ceil(BLOCK);
    let of = |(i, x): (usize, f64)| x * scales[i / k * blocks + i % k / BLOCK];
    numbers.into_iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_of_a_row_may_be_shorter() {
        let numbers = scaled(vec![1.0; 68], &[2.0, 3.0, 5.0, 7.0], 34);
        assert_eq!((numbers[31], numbers[32], numbers[33]), (2.0, 3.0, 3.0));
        assert_eq!((numbers[34], numbers[67]), (5.0, 7.0));
    }
}
