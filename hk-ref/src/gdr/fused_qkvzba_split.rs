//! The order of projections whose heads are interleaved.

/// Numbers of heads and of their channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Heads of queries and keys.
    pub qk: usize,
    /// Heads of values, a multiple of these.
    pub v: usize,
    /// Channels of a head of queries and keys.
    pub qk_dim: usize,
    /// Channels of a head of values.
    pub v_dim: usize,
}

/// Where in rows of the projections each element of the results' rows is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// In `mixed_qkvz`: queries, keys and values.
    pub mixed_qkv: Vec<usize>,
    /// In `mixed_qkvz`: gates of the output.
    pub z: Vec<usize>,
    /// In `mixed_ba`.
    pub b: Vec<usize>,
    /// In `mixed_ba`.
    pub a: Vec<usize>,
}

/// Walks a row of the projections, in which each head of queries has q, k, the v and z of its heads of
/// values, and the b and a of these.
pub fn fused_qkvzba_split(heads: Heads) -> Sources {
    let per_head = heads.v / heads.qk;
    let [mut q, mut k, mut v, mut z, mut b, mut a] = [(); 6].map(|()| Vec::new());
    let [mut of_qkvz, mut of_ba] = [0.., 0..];
    for _ in 0..heads.qk {
        q.extend(of_qkvz.by_ref().take(heads.qk_dim));
        k.extend(of_qkvz.by_ref().take(heads.qk_dim));
        v.extend(of_qkvz.by_ref().take(per_head * heads.v_dim));
        z.extend(of_qkvz.by_ref().take(per_head * heads.v_dim));
        b.extend(of_ba.by_ref().take(per_head));
        a.extend(of_ba.by_ref().take(per_head));
    }
    Sources { mixed_qkv: [q, k, v].concat(), z, b, a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_told_apart() {
        let sources = fused_qkvzba_split(Heads { qk: 2, v: 4, qk_dim: 1, v_dim: 3 });
        let qkv = [0, 14, 1, 15, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21];
        assert_eq!(sources.mixed_qkv, qkv);
        assert_eq!(sources.z, [8, 9, 10, 11, 12, 13, 22, 23, 24, 25, 26, 27]);
        assert_eq!((sources.b, sources.a), (vec![0, 1, 4, 5], vec![2, 3, 6, 7]));
    }
}
