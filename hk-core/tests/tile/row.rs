//! `hk/row.h`: rows of any width and alignment.

use crate::gpu::programs;

/// Doubles a row of n elements that starts `b[0]` elements into `a`, and stores it as far into the
/// output; the sum of squares follows at its end.
const SOURCE: &str = r"
template <class T, int Lanes, int Chunks>
__device__ void twice(const Io& io) {
  const u32 start = *static_cast<const u32*>(io.b);
  const u32 lane = thread_idx().x;
  row_share<T, Lanes, Chunks> row;
  row.load(static_cast<const T*>(io.a) + start, io.n, lane);
  f32 squares = row.squares();
  row.map([](chunk_values v, int) { return v + v; }, [](f32 v) { return v + v; });
  row.store(static_cast<T*>(io.out) + start, io.n, lane);
  squares = wave_reduce<add, Lanes>(squares);
  if (lane == 0) static_cast<T*>(io.out)[Lanes * Chunks * 8 + 16] = squares;
}
KERNEL(f32_16, 16) { twice<f32, 16, 1>(io); }
KERNEL(f32_64, 64) { twice<f32, 64, 2>(io); }
";

#[test]
fn rows_of_any_width_stay_inside() {
    for program in programs(&["row.h"], SOURCE) {
        for (kernel, lanes, chunks) in [("f32_16", 16usize, 1), ("f32_64", 64, 2)] {
            let most = lanes * chunks * 8;
            let widths = (1..=17).chain([most / 2 - 1, most / 2 + 9, most - 8, most - 1, most]);
            for width in widths {
                for start in [0usize, 1, 3] {
                    let x: Vec<f32> = (0..start + width).map(|i| (i % 11) as f32).collect();
                    let inputs = (&x[..], &[start as u32][..]);
                    let fill = (most + 17, -1.0f32);
                    let got = program.run(kernel, lanes as u32, inputs, width as u32, fill);
                    let mut want = vec![-1.0; most + 17];
                    for i in start..start + width {
                        want[i] = 2.0 * x[i];
                    }
                    want[most + 16] = x[start..].iter().map(|x| x * x).sum();
                    assert_eq!(got, want, "{} {kernel} {width} from {start}", program.chip());
                }
            }
        }
    }
}
