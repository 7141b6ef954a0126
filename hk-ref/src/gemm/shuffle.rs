//! Operands in the order in which matrix units take them.

/// Rows of a tile of weights, and bytes of each.
const WEIGHTS: usize = 16;

/// Rows and blocks of a tile of scales.
const SCALES: [usize; 2] = [32, 8];

/// The numbers, in the order of rows of so many elements of `size` bytes, of the elements of weights in tiles
/// of 16 rows by 16 bytes: a tile's first row, its second, and so on; then the next tile along the row.
///
/// # Panics
/// If there are no whole tiles.
pub fn weights(rows: usize, width: usize, size: usize) -> Vec<usize> {
    let chunk = WEIGHTS / size;
    assert!(rows.is_multiple_of(WEIGHTS) && width.is_multiple_of(chunk), "whole tiles");
    let mut order = Vec::with_capacity(rows * width);
    for first_row in (0..rows).step_by(WEIGHTS) {
        for first in (0..width).step_by(chunk) {
            for row in first_row..first_row + WEIGHTS {
                order.extend((first..first + chunk).map(|column| row * width + column));
            }
        }
    }
    order
}

/// As [`weights`], of scales in tiles of 32 rows by 8 blocks. A tile has, for each of four blocks and each of 16
/// rows, the four scales that are of that block or the fourth next, and of that row or the sixteenth next.
///
/// # Panics
/// If there are no whole tiles.
pub fn scales(rows: usize, blocks: usize) -> Vec<usize> {
    let [tile_rows, tile_blocks] = SCALES;
    assert!(rows.is_multiple_of(tile_rows) && blocks.is_multiple_of(tile_blocks), "whole tiles");
    let mut order = Vec::with_capacity(rows * blocks);
    for first_row in (0..rows).step_by(tile_rows) {
        for first in (0..blocks).step_by(tile_blocks) {
            for (block, row) in (0..4).flat_map(|block| (0..16).map(move |row| (block, row))) {
                for (more_blocks, more_rows) in [(0, 0), (0, 16), (4, 0), (4, 16)] {
                    let row = first_row + row + more_rows;
                    order.push(row * blocks + first + block + more_blocks);
                }
            }
        }
    }
    order
}

/// What is in rows, in that order.
pub fn arranged<T: Copy>(rows: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|at| rows[*at]).collect()
}

/// What is in that order, in rows.
pub fn in_rows<T: Copy>(tiles: &[T], order: &[usize]) -> Vec<T> {
    let mut rows = tiles.to_vec();
    for (element, at) in tiles.iter().zip(order) {
        rows[*at] = *element;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places as AITER's documentation writes them.
    #[test]
    fn places_are_those_of_the_formulas() {
        for size in [1, 2] {
            let (rows, width) = (48, 96);
            let order = weights(rows, width, size);
            for (n, column) in (0..rows).flat_map(|n| (0..width).map(move |column| (n, column))) {
                let (kb, row_bytes) = (column * size, width * size);
                let at = n / 16 * 16 * row_bytes + kb / 16 * 256 + n % 16 * 16 + kb % 16;
                assert_eq!(order[at / size], n * width + column);
            }
        }
        let (rows, blocks) = (96, 24);
        let order = scales(rows, blocks);
        for (r, kg) in (0..rows).flat_map(|r| (0..blocks).map(move |kg| (r, kg))) {
            let in_tile = kg % 4 * 64 + r % 16 * 4 + kg % 8 / 4 * 2 + r % 32 / 16;
            assert_eq!(order[r / 32 * 32 * blocks + kg / 8 * 256 + in_tile], r * blocks + kg);
        }
    }

    #[test]
    fn both_ways_give_what_there_was() {
        let elements: Vec<u16> = (0..32 * 64).collect();
        for order in [weights(32, 64, 2), scales(32, 64)] {
            let tiles = arranged(&elements, &order);
            assert_ne!(tiles, elements);
            assert_eq!(in_rows(&tiles, &order), elements);
        }
    }
}
