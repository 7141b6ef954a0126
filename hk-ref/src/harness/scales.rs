//! Where scales of groups are.

use hk_core::op::quant::ScaleLayout;

use super::Setup;
use crate::guarded::Placement;

/// Scales of rows of so many elements each, in groups.
#[derive(Debug, Clone, Copy)]
pub struct Scales {
    /// `[rows, width]`.
    pub shape: [usize; 2],
    /// Elements of a group.
    pub group: usize,
    /// How they are in memory.
    pub layout: ScaleLayout,
}

impl Scales {
    fn groups(&self) -> usize {
        self.shape[1].div_ceil(self.group)
    }

    /// Their shape in memory.
    pub fn in_memory(&self) -> [usize; 2] {
        let [rows, groups] = [self.shape[0], self.groups()];
        match self.layout {
            ScaleLayout::RowMajor => [rows, groups],
            ScaleLayout::ColMajor => [groups, rows],
            ScaleLayout::Shuffled32x8 => [rows.next_multiple_of(256), groups.next_multiple_of(8)],
        }
    }

    /// Where in memory the scale is that has this number in the order of rows.
    pub fn place(&self, at: usize) -> usize {
        let (i, j) = (at / self.groups(), at % self.groups());
        let columns = self.in_memory()[1];
        match self.layout {
            ScaleLayout::RowMajor => at,
            ScaleLayout::ColMajor => j * columns + i,
            ScaleLayout::Shuffled32x8 => {
                let in_tile = j % 4 * 64 + i % 16 * 4 + j % 8 / 4 * 2 + i % 32 / 16;
                i / 32 * 32 * columns + j / 8 * 256 + in_tile
            }
        }
    }

    /// The number of the scale that an element has.
    pub fn of_element(&self, element: usize) -> usize {
        let width = self.shape[1];
        element / width * self.groups() + element % width / self.group
    }

    /// As they are in memory, with padding where there is some.
    pub fn arrange<S: Copy>(&self, scales: &[S], padding: S) -> Vec<S> {
        let mut arranged = vec![padding; self.in_memory().iter().product()];
        for (at, scale) in scales.iter().enumerate() {
            arranged[self.place(at)] = *scale;
        }
        arranged
    }

    /// Where the tensor is, if rows are across 4 GiB.
    pub fn carried(&self, s: &Setup) -> Placement {
        s.carried(|element| self.place(self.of_element(element)))
    }
}
