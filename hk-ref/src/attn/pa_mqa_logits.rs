//! Scores of the keys of paged caches: which keys tokens have.

/// Where the keys of the n-th of `next_n` last tokens end, in a sequence of so many.
pub fn end_of(length: usize, next_n: usize, n: usize) -> usize {
    (length + n + 1).saturating_sub(next_n)
}

/// Which key of a cache, of pages of so many, key `t` of a sequence is that has these pages.
pub fn key_of(pages: &[i64], page_keys: usize, t: usize) -> usize {
    let page = usize::try_from(pages[t / page_keys]).expect("pages that have keys are there");
    page * page_keys + t % page_keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_token_has_all_keys() {
        assert_eq!([0, 1].map(|n| end_of(5, 2, n)), [4, 5]);
        assert_eq!([0, 1, 2].map(|n| end_of(1, 3, n)), [0, 0, 1]);
    }

    #[test]
    fn pages_are_where_the_table_says() {
        assert_eq!(key_of(&[7, 2], 4, 5), 9);
    }
}
