//! `hk/row.h`: rows of any width and alignment.

use hk_core::dtype::{Element, bf16, f16};

use crate::gpu::{Program, programs};

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
// Copies as above, by an address that is the same for all lanes.
template <class T>
__device__ void copy(const Io& io) {
  const u32 start = *static_cast<const u32*>(io.b);
  row_share<T, 1, 2> row;
  row.load(static_cast<const T*>(io.a) + start, io.n, 0);
  if (thread_idx().x == 0) row.store(static_cast<T*>(io.out) + start, io.n, 0);
}
KERNEL(copy_bf16, 64) { copy<bf16>(io); }
KERNEL(copy_f16, 64) { copy<f16>(io); }
KERNEL(copy_f32, 64) { copy<f32>(io); }
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

fn check_copies<T: Element + From<i8> + PartialEq + std::fmt::Debug>(
    program: &Program,
    kernel: &str,
) {
    for width in [1u32, 8, 9, 16, 17] {
        for start in 0..8u32 {
            let end = (start + width) as usize;
            let x: Vec<T> = (0..end as i8).map(T::from).collect();
            let got = program.run(kernel, 64, (&x, &[start]), width, (32, T::from(-1)));
            let copied = |i: &usize| (start as usize..end).contains(i);
            let want: Vec<T> =
                (0..32).map(|i| if copied(&i) { x[i] } else { T::from(-1) }).collect();
            assert_eq!(got, want, "{} {kernel} {width} from {start}", program.chip());
        }
    }
}

#[test]
fn rows_at_uniform_addresses_need_no_alignment() {
    for program in programs(&["row.h"], SOURCE) {
        check_copies::<bf16>(&program, "copy_bf16");
        check_copies::<f16>(&program, "copy_f16");
        check_copies::<f32>(&program, "copy_f32");
    }
}
