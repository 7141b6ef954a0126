//! `hk/rope.h`: units that make up a row, positions of tokens, and pairs that are turned.

use crate::gpu::{Program, programs};

const SOURCE: &str = r"
// Of each row's `a` {width, dim, first, interleaved}, which units have its columns: b is what a
// column is counted by, in which place.
template <int N>
__device__ void columns(const Io& io) {
  const u32* const a = static_cast<const u32*>(io.a);
  const u32 width = a[0], dim = a[1];
  RopeArgs rope = {};
  rope.dim = dim, rope.first = a[2], rope.interleaved = a[3];
  u32* const out = static_cast<u32*>(io.out);
  const u32 units = units_of_row<N>(width, dim);
  for (u32 unit = thread_idx().x; unit < units; unit += 64) {
    const unit_place at = place_of_unit<N>(rope, width, dim, unit);
    for (u32 i = 0; i < N; ++i) {
      out[at.first + i] = 4 * unit + 2 * at.rotates;
      if (at.has_second) out[at.second + i] = 4 * unit + 2 * at.rotates + 1;
    }
  }
}
KERNEL(columns_1, 64) { columns<1>(io); }
KERNEL(columns_4, 64) { columns<4>(io); }

// Rows of tables for n tokens: `a` holds the bounds of b[0] sequences and one more; if there are none,
// b[1] tokens follow each other at each of b[2] positions.
KERNEL(positions, 64) {
  const u32* const b = static_cast<const u32*>(io.b);
  RopeArgs rope = {};
  rope.repeat = b[1], rope.length = b[2], rope.rows = b[3];
  if (b[0] != 0) rope.bounds = {io.a, b[0] + 1, 0};
  for (u32 token = thread_idx().x; token < io.n; token += 64) {
    static_cast<u32*>(io.out)[token] = position_of(rope, token);
  }
}

// A pair of runs of four, `a`, by cosines and sines of eight elements, `b`, of a table with a column
// for each; n says whether pairs are adjacent.
KERNEL(turns, 64) {
  RopeArgs rope = {};
  rope.type = 2, rope.dim = 8, rope.interleaved = io.n;
  rope.cos = io.b, rope.sin = static_cast<const f32*>(io.b) + 8;
  const unit_place at = place_of_unit<4>(rope, 8, 8, 0);
  const f32* const a = static_cast<const f32*>(io.a);
  const vec<f32, 4> first = load_elements<f32, 4>(a), second = load_elements<f32, 4>(a + 4);
  const auto turned = rotate<4>(pairs_of_runs<4>(first, second, io.n),
                                load_rotation<4>(rope, 0, 0, at));
  const auto runs = runs_of_pairs<4>(turned, io.n);
  f32* const out = static_cast<f32*>(io.out);
  store_elements<f32, 4>(out, runs.a);
  store_elements<f32, 4>(out + 4, runs.b);
}
";

fn all() -> [Program; 2] {
    programs(&["rope.h"], SOURCE)
}

#[test]
fn units_have_each_column_once_and_partners_together() {
    for program in all() {
        for (n, kernel) in [(1, "columns_1"), (4, "columns_4")] {
            for (width, dim) in [(8, 8), (16, 8), (20, 8), (24, 16), (12, 0), (36, 8)] {
                for (first, interleaved) in [(0, 0), (0, 1), (width - dim, 0), (width - dim, 1)] {
                    let row = [width, dim, first, interleaved];
                    let output = (width as usize, u32::MAX);
                    let got = program.run(kernel, 64, (&row[..], &[0u32]), 0, output);
                    let what = format!("{} runs of {n}, {row:?}: {got:?}", program.chip());
                    assert!(got.iter().all(|of| *of != u32::MAX), "{what}");
                    for column in 0..width {
                        let rotates = (first..first + dim).contains(&column);
                        assert_eq!(got[column as usize] & 2 != 0, rotates, "{what}");
                    }
                    for pair in 0..dim / 2 {
                        let [i, j] = if interleaved == 1 {
                            [2 * pair, 2 * pair + 1]
                        } else {
                            [pair, pair + dim / 2]
                        };
                        let [i, j] = [i, j].map(|at| got[(first + at) as usize] / 4);
                        assert_eq!(i, j, "{what}");
                    }
                    // A unit has at most two runs.
                    for unit in 0..=got.iter().max().unwrap() / 4 {
                        let columns = got.iter().filter(|of| **of / 4 == unit).count();
                        assert!(columns == n || columns == 2 * n, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn tokens_are_where_their_sequence_says() {
    let bounds = [0u32, 3, 3, 70, 71];
    for program in all() {
        let inputs = (&bounds[..], &[4u32, 1, 1, 60][..]);
        let got = program.run("positions", 64, inputs, 80, (80, u32::MAX));
        let want = (0..80u32).map(|token| {
            let start = bounds.into_iter().take(4).filter(|start| *start <= token).max();
            (token - start.unwrap()).min(59)
        });
        assert!(got.iter().copied().eq(want), "{} {got:?}", program.chip());

        let inputs = (&bounds[..], &[0u32, 3, 5, 4][..]);
        let got = program.run("positions", 64, inputs, 80, (80, u32::MAX));
        let want = (0..80u32).map(|token| (token / 3 % 5).min(3));
        assert!(got.iter().copied().eq(want), "{} {got:?}", program.chip());
    }
}

#[test]
fn each_element_is_turned_by_its_own_angle() {
    let x = [1.0f32, -2.0, 3.0, 4.0, -5.0, 6.0, 7.0, -8.0];
    // Small integers, so that nothing is rounded.
    let tables: Vec<f32> = (0..16).map(|i| (i * 7 % 11) as f32 - 4.0).collect();
    let (cos, sin) = tables.split_at(8);
    for program in all() {
        for interleaved in [0, 1] {
            let mut want = [0.0f32; 8];
            for pair in 0..4 {
                let [i, j] =
                    if interleaved == 1 { [2 * pair, 2 * pair + 1] } else { [pair, pair + 4] };
                want[i] = x[i] * cos[i] - x[j] * sin[i];
                want[j] = x[j] * cos[j] + x[i] * sin[j];
            }
            let got = program.run("turns", 64, (&x, &tables), interleaved, (8, 0.0f32));
            assert_eq!(got, want, "{} {interleaved}", program.chip());
        }
    }
}
