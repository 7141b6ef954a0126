//! Rows of two parts.

/// Rows of `n` elements and of `r`, each with the other behind it.
pub fn concat<T: Copy>([first, second]: [&[T]; 2], [n, r]: [usize; 2]) -> Vec<T> {
    let rows = first.chunks_exact(n).zip(second.chunks_exact(r));
    rows.flat_map(|(first, second)| [first, second].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_parts_stand_behind_the_first() {
        assert_eq!(concat([&[1, 2, 3, 4], &[5, 6]], [2, 1]), [1, 2, 5, 3, 4, 6]);
    }
}
