//! Gates in the order of their experts, in whole tiles.

/// What routing makes of the ids of gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aligned {
    /// The gate in each row, or that behind the last.
    pub sorted: Vec<usize>,
    /// The expert of each tile; none behind them.
    pub experts: Vec<Option<usize>>,
    /// Rows of all tiles that are an expert's.
    pub rows: usize,
    /// Gates of each expert.
    pub hist: Vec<usize>,
    /// The first row of each expert, and that behind all.
    pub offsets: Vec<usize>,
}

/// The gates of each expert, in order; ids that are no expert's have none.
pub fn buckets(ids: &[i32], experts: usize) -> Vec<Vec<usize>> {
    let mut buckets = vec![Vec::new(); experts];
    for (gate, id) in ids.iter().enumerate() {
        if let Some(bucket) = usize::try_from(*id).ok().and_then(|id| buckets.get_mut(id)) {
            bucket.push(gate);
        }
    }
    buckets
}

/// Fills a bucket for each expert, and lays them out one after the other in tiles of `block` rows.
pub fn moe_align_block_size(ids: &[i32], experts: usize, block: usize) -> Aligned {
    let gates = ids.len();
    let buckets = buckets(ids, experts);
    let (mut sorted, mut tiles, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
    for (expert, bucket) in buckets.iter().enumerate() {
        sorted.extend(bucket);
        sorted.resize(sorted.len().next_multiple_of(block), gates);
        tiles.resize(sorted.len() / block, Some(expert));
        offsets.push(sorted.len());
    }
    let rows = sorted.len();
    let most = (gates + experts * (block - 1)).min(gates * block);
    sorted.resize(most, gates);
    tiles.resize(most.div_ceil(block), None);
    let hist = buckets.iter().map(Vec::len).collect();
    Aligned { sorted, experts: tiles, rows, hist, offsets }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experts_have_whole_tiles_and_others_none() {
        let aligned = moe_align_block_size(&[2, -1, 0, 2, 2, 7], 3, 2);
        assert_eq!(aligned.sorted, [2, 6, 0, 3, 4, 6, 6, 6, 6]);
        assert_eq!(aligned.experts, [Some(0), Some(2), Some(2), None, None]);
        assert_eq!((aligned.rows, aligned.hist), (6, vec![1, 0, 3]));
        assert_eq!(aligned.offsets, [0, 2, 2, 6]);
    }
}
