//! `hk/order.h`: renumberings of workgroups are one-to-one.

use std::collections::BTreeSet;

use crate::gpu::programs;

const SOURCE: &str = r"
KERNEL(per_xcd, 256) {
  for (u32 i = thread_idx().x; i < io.n; i += 256) {
    static_cast<u32*>(io.out)[i] = contiguous_per_xcd(i, io.n);
  }
}
KERNEL(grouped, 256) {
  const u32* size = static_cast<const u32*>(io.a);
  for (u32 i = thread_idx().x; i < io.n; i += 256) {
    const tile_index tile = grouped_order(i, size[0], size[1], size[2]);
    static_cast<u32*>(io.out)[2 * i] = tile.row;
    static_cast<u32*>(io.out)[2 * i + 1] = tile.column;
  }
}
";

const XCDS: usize = 8;

#[test]
fn an_xcd_gets_consecutive_numbers() {
    for program in programs(&["order.h"], SOURCE) {
        for count in (1..40).chain([64, 255, 1000]) {
            let inputs = (&[0u32][..], &[0u32][..]);
            let got = program.run("per_xcd", 256, inputs, count, (count as usize, u32::MAX));
            let mut next = 0;
            for xcd in 0..XCDS {
                for number in got.iter().skip(xcd).step_by(XCDS) {
                    assert_eq!(*number, next, "{} {count} on XCD {xcd}", program.chip());
                    next += 1;
                }
            }
            assert_eq!(next, count);
        }
    }
}

#[test]
fn groups_of_rows_are_walked_by_columns() {
    for program in programs(&["order.h"], SOURCE) {
        for (rows, columns) in [(1, 1), (8, 3), (9, 4), (5, 7), (17, 16), (3, 40)] {
            for height in [1, 4, 8] {
                let count = rows * columns;
                let inputs = (&[rows, columns, height][..], &[0u32][..]);
                let len = 2 * count as usize;
                let got = program.run("grouped", 256, inputs, count, (len, u32::MAX));
                let tiles: Vec<_> = got.chunks(2).map(|tile| (tile[0], tile[1])).collect();
                let set: BTreeSet<_> = tiles.iter().copied().collect();
                let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
                assert_eq!(set, all.collect(), "{} {rows} x {columns}", program.chip());
                // Groups in order, and within one, columns in order.
                assert!(tiles.is_sorted_by_key(|(row, column)| (row / height, *column)));
            }
        }
    }
}
