//! The order of the nodes of a graph launch.

use super::clock::{Clock, Stamp};

/// One node, as others are told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) index: usize,
    /// Its place in a chain of nodes that come one after the other.
    pub(super) stamp: Stamp,
}

/// The nodes of a launch that have begun: every node continues the chain of one that it comes after,
/// or begins a chain, so that a clock with one number per chain tells what a node comes after.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    /// Each node, and what it comes after.
    begun: Vec<(Node, Clock)>,
    /// Length of each chain.
    chains: Vec<u64>,
}

impl Nodes {
    /// Begins the next node, which comes after those with the numbers `after`.
    pub(super) fn begin(&mut self, after: &[usize]) {
        let mut known = Clock::default();
        let mut chain = None;
        for (node, before) in after.iter().filter_map(|index| self.begun.get(*index)) {
            known.join(before);
            known.add(node.stamp);
            let lane = node.stamp.lane as usize;
            if self.chains[lane] == node.stamp.number {
                chain = Some(lane);
            }
        }
        let chain = chain.unwrap_or_else(|| {
            self.chains.push(0);
            self.chains.len() - 1
        });
        self.chains[chain] += 1;
        let stamp = Stamp { lane: chain as u32, number: self.chains[chain] };
        self.begun.push((Node { index: self.begun.len(), stamp }, known));
    }

    /// The node that is being done.
    pub(super) fn current(&self) -> Option<Node> {
        self.begun.last().map(|(node, _)| *node)
    }

    /// Whether the node that is being done comes after another, or is the same.
    pub(super) fn after(&self, earlier: Node) -> bool {
        let current = self.begun.last();
        current.is_some_and(|(node, known)| *node == earlier || known.knows(earlier.stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_after_what_their_edges_lead_to() {
        let edges: [&[usize]; 8] = [&[], &[0], &[0], &[1], &[3, 2], &[], &[5, 2], &[6, 4]];
        let mut nodes = Nodes::default();
        for (index, after) in edges.iter().enumerate() {
            nodes.begin(after);
            let mut expected = vec![false; index];
            let mut open = after.to_vec();
            while let Some(node) = open.pop() {
                expected[node] = true;
                open.extend_from_slice(edges[node]);
            }
            let others: Vec<Node> = nodes.begun.iter().map(|(node, _)| *node).collect();
            let found: Vec<bool> = others[..index].iter().map(|node| nodes.after(*node)).collect();
            assert_eq!(found, expected, "{index}");
            assert_eq!(nodes.current().map(|node| node.index), Some(index));
        }
        assert_eq!(nodes.chains.len(), 3);
    }
}
