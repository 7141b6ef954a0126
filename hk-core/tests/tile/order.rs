//! `hk/order.h`: renumberings of workgroups are one-to-one, and all work is done.

use crate::gpu::programs;

/// All write the order of each of n grids behind the other, from the place that `b` says: of `per_xcd`
/// `a` has a count per grid, of `grouped` rows, columns and the height of a group, of `pieces` rows,
/// columns and the number of work-items.
const SOURCE: &str = r"
KERNEL(per_xcd, 256) {
  const u32* counts = static_cast<const u32*>(io.a);
  for (u32 grid = 0; grid < io.n; ++grid) {
    u32* out = static_cast<u32*>(io.out) + static_cast<const u32*>(io.b)[grid];
    for (u32 i = thread_idx().x; i < counts[grid]; i += 256) {
      out[i] = contiguous_per_xcd(i, counts[grid]);
    }
  }
}
KERNEL(grouped, 256) {
  for (u32 grid = 0; grid < io.n; ++grid) {
    const u32* size = static_cast<const u32*>(io.a) + 3 * grid;
    u32* out = static_cast<u32*>(io.out) + 2 * static_cast<const u32*>(io.b)[grid];
    for (u32 i = thread_idx().x; i < size[0] * size[1]; i += 256) {
      const tile_index tile = grouped_order(i, size[0], size[1], size[2]);
      out[2 * i] = tile.row;
      out[2 * i + 1] = tile.column;
    }
  }
}
KERNEL(pieces, 256) {
  for (u32 grid = 0; grid < io.n; ++grid) {
    const u32* size = static_cast<const u32*>(io.a) + 3 * grid;
    u32* out = static_cast<u32*>(io.out) + static_cast<const u32*>(io.b)[grid];
    for (u32 first = thread_idx().x; first < size[2]; first += 256) {
      for_each_piece(first, size[2], size[0], size[1], [&](u32 row, u32 column) {
        out[row * size[1] + column] = first;
      });
    }
  }
}
";

const XCDS: u32 = 8;

/// Where each of pieces of these lengths begins when one follows the other, and where the last ends.
fn starts(lengths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut end = 0;
    let mut starts = vec![0];
    starts.extend(lengths.map(|length| {
        end += length;
        end
    }));
    starts
}

#[test]
fn an_xcd_gets_consecutive_numbers() {
    let counts: Vec<u32> = (1..600).chain([1000, 4095, 4096, 65_537]).collect();
    let starts = starts(counts.iter().copied());
    for program in programs(&["order.h"], SOURCE) {
        let output = (starts[counts.len()] as usize, u32::MAX);
        let all = program.run("per_xcd", 256, (&counts, &starts), counts.len() as u32, output);
        for (&count, range) in counts.iter().zip(starts.windows(2)) {
            let got = &all[range[0] as usize..range[1] as usize];
            // XCD after XCD, each with every eighth workgroup.
            let dealt = (0..XCDS).flat_map(|xcd| (xcd..count).step_by(XCDS as usize));
            for (next, id) in dealt.enumerate() {
                assert_eq!(got[id as usize], next as u32, "{} {id} of {count}", program.chip());
            }
        }
    }
}

#[test]
fn groups_of_rows_are_walked_by_columns() {
    let columns = || (1..10).chain([16, 31, 40, 41, 43, 64, 65]);
    let heights = |rows| move |columns| (1..10).map(move |height| [rows, columns, height]);
    let grids: Vec<[u32; 3]> = (1..25).flat_map(|rows| columns().flat_map(heights(rows))).collect();
    let starts = starts(grids.iter().map(|[rows, columns, _]| rows * columns));
    for program in programs(&["order.h"], SOURCE) {
        let output = (2 * starts[grids.len()] as usize, u32::MAX);
        let inputs = (grids.as_flattened(), &starts[..]);
        let all = program.run("grouped", 256, inputs, grids.len() as u32, output);
        for ([rows, columns, height], range) in grids.iter().zip(starts.windows(2)) {
            let mut tiles = all[2 * range[0] as usize..2 * range[1] as usize].chunks(2);
            // Group after group, and within one, column after column.
            for first in (0..*rows).step_by(*height as usize) {
                for column in 0..*columns {
                    for row in first..(first + height).min(*rows) {
                        assert_eq!(
                            tiles.next(),
                            Some(&[row, column][..]),
                            "{} {rows} x {columns} by {height}",
                            program.chip()
                        );
                    }
                }
            }
            assert_eq!(tiles.next(), None);
        }
    }
}

#[test]
fn every_piece_belongs_to_one_work_item() {
    let sizes = [1, 2, 3, 7, 64, 100];
    let with_items = |rows| move |columns| [1, 5, 64, 300].map(|items| [rows, columns, items]);
    let grids: Vec<[u32; 3]> =
        sizes.iter().flat_map(|rows| sizes.into_iter().flat_map(with_items(*rows))).collect();
    let starts = starts(grids.iter().map(|[rows, columns, _]| rows * columns));
    for program in programs(&["order.h"], SOURCE) {
        let output = (starts[grids.len()] as usize, u32::MAX);
        let inputs = (grids.as_flattened(), &starts[..]);
        let all = program.run("pieces", 256, inputs, grids.len() as u32, output);
        for ([rows, columns, items], range) in grids.iter().zip(starts.windows(2)) {
            let got = &all[range[0] as usize..range[1] as usize];
            for (piece, item) in got.iter().enumerate() {
                let shape = format!("{rows} x {columns} by {items}");
                assert_eq!(*item, piece as u32 % items, "{} {shape}: {piece}", program.chip());
            }
        }
    }
}
