//! The order in which experts take the gates of tokens.

/// Gates in the order of experts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorted {
    /// The gate in each place.
    pub gather: Vec<Option<usize>>,
    /// The place of each gate.
    pub scatter: Vec<Option<usize>>,
    /// Gates of each expert.
    pub hist: Vec<usize>,
}

/// Sorts the gates whose ids are those of an expert by these, equal ones in their own order; others
/// have no place.
pub fn moe_routing(ids: &[i32], experts: usize) -> Sorted {
    let is_expert = |gate: &usize| (0..experts as i64).contains(&i64::from(ids[*gate]));
    let mut order: Vec<usize> = (0..ids.len()).filter(is_expert).collect();
    // Stable.
    order.sort_by_key(|gate| ids[*gate]);
    let (mut scatter, mut hist) = (vec![None; ids.len()], vec![0; experts]);
    for (place, gate) in order.iter().enumerate() {
        scatter[*gate] = Some(place);
        hist[ids[*gate] as usize] += 1;
    }
    let mut gather: Vec<_> = order.into_iter().map(Some).collect();
    gather.resize(ids.len(), None);
    Sorted { gather, scatter, hist }
}

/// Rows of a tile: the power of two next to the gates of an expert, from 16 to 128.
pub fn block_m(gates: usize, experts: usize) -> usize {
    let mut rows = 16;
    while rows < gates / experts && rows < 128 {
        rows *= 2;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_of_an_expert_stay_in_order_and_others_have_no_place() {
        let sorted = moe_routing(&[1, 0, -1, 1, 7, 0], 2);
        assert_eq!(sorted.gather, [Some(1), Some(5), Some(0), Some(3), None, None]);
        assert_eq!(sorted.scatter, [Some(2), Some(0), None, Some(3), None, Some(1)]);
        assert_eq!(sorted.hist, [2, 2]);
    }

    #[test]
    fn tiles_are_about_as_high_as_experts_have_gates() {
        assert_eq!(
            [(0, 8), (128, 8), (136, 8), (9999, 1)].map(|(g, e)| block_m(g, e)),
            [16, 16, 32, 128]
        );
    }
}
