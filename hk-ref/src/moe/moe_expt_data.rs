//! Where the gates of experts begin, and of which expert each tile is.

/// What follows from how many gates each expert has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpertData {
    /// Gates before each expert, and of all.
    pub offsets: Vec<usize>,
    /// Tiles before each expert, and of all.
    pub first_tiles: Vec<usize>,
    /// The expert of each tile, and the number of the tile among its own.
    pub tiles: Vec<(usize, usize)>,
}

/// Lays out tiles of `rows` rows, one expert after the other.
pub fn moe_expt_data(counts: &[usize], rows: usize) -> ExpertData {
    let mut data = ExpertData { offsets: vec![0], first_tiles: vec![0], tiles: Vec::new() };
    for (expert, count) in counts.iter().enumerate() {
        let mut left = *count;
        let mut tile = 0;
        while left > 0 {
            data.tiles.push((expert, tile));
            tile += 1;
            left = left.saturating_sub(rows);
        }
        data.offsets.push(data.offsets[expert] + count);
        data.first_tiles.push(data.tiles.len());
    }
    data
}

/// A tile as 32 bits.
pub fn packed((expert, tile): (usize, usize)) -> i32 {
    (tile * 65_536 + expert) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_may_be_partial_and_experts_have_none() {
        let data = moe_expt_data(&[17, 0, 16, 1], 16);
        assert_eq!(data.offsets, [0, 17, 17, 33, 34]);
        assert_eq!(data.first_tiles, [0, 2, 2, 3, 4]);
        assert_eq!(data.tiles, [(0, 0), (0, 1), (2, 0), (3, 0)]);
        assert_eq!(packed((3, 2)), 0x2_0003);
    }
}
