//! `hk/row.h` and `hk/rows.h`: rows of any width, alignment and distance, alone and in a traversal.

use std::fmt::Debug;

use hk_core::dtype::{Real, bf16, f16};

use crate::gpu::{Program, noise, programs};

/// Doubles `b[2]` rows of n elements, the first `b[0]` elements into `a`, `b[1]` apart, and stores them
/// as far into the output. One wave, or a workgroup with one row.
const SHARES: &str = r"
template <class T, int Lanes, int Chunks, bool Ragged>
__device__ void double_at(const Io& io) {
  const u32* b = static_cast<const u32*>(io.b);
  const row_place<Lanes, Ragged> at{0, b[2], 0, io.n};
  row_load<T, Chunks> row;
  row.start({static_cast<const T*>(io.a) + b[0], b[1]}, at);
  store_row<Chunks>(matrix<T>{static_cast<T*>(io.out) + b[0], b[1]}, at, [&](int i) {
    return row.elements(i, at) + row.elements(i, at);
  });
}
template <class T, int Lanes, int Chunks>
__device__ void double_rows(const Io& io) {
  if (row_place<Lanes, true>::is_ragged(io.n)) {
    double_at<T, Lanes, Chunks, true>(io);
  } else {
    double_at<T, Lanes, Chunks, false>(io);
  }
}
#define TYPES(lanes, chunks, threads) \
  KERNEL(bf16_##lanes, threads) { double_rows<bf16, lanes, chunks>(io); } \
  KERNEL(f16_##lanes, threads) { double_rows<f16, lanes, chunks>(io); } \
  KERNEL(f32_##lanes, threads) { double_rows<f32, lanes, chunks>(io); }
TYPES(16, 1, 64) TYPES(32, 2, 64) TYPES(64, 2, 64) TYPES(128, 2, 128)
";

fn check_shares<T: Real + PartialEq + Debug>(program: &Program) {
    for (lanes, chunks) in [(16, 1), (32, 2), (64, 2), (128, 2)] {
        let threads = lanes.max(64);
        let rows_of_wave = threads / lanes;
        let most = lanes * chunks * 8;
        let widths = (1..=17).step_by(2).chain([8, 16, 18, most / 2 + 9, most - 8, most - 1, most]);
        for width in widths {
            for (start, gap, rows) in [(0, 0, 1), (1, 3, 3), (2, 8, 4)] {
                let rows = rows.min(rows_of_wave);
                let stride = width + gap;
                let value = |i: usize| T::from_f64((i % 13) as f64 - 6.0);
                // Memory ends where the last row does.
                let x: Vec<T> = (0..start + (rows - 1) * stride + width).map(value).collect();
                let mut want = vec![T::from_f64(77.0); x.len() + 9];
                for row in 0..rows {
                    let first = start + row * stride;
                    for (i, want) in want.iter_mut().enumerate().skip(first).take(width) {
                        *want = T::from_f64(2.0 * ((i % 13) as f64 - 6.0));
                    }
                }
                let place = [start as u32, stride as u32, rows as u32];
                let kernel = format!("{}_{lanes}", T::DTYPE);
                let fill = (want.len(), T::from_f64(77.0));
                let got = program.run(&kernel, threads as u32, (&x, &place), width as u32, fill);
                assert_eq!(got, want, "{} {kernel} {width} {place:?}", program.chip());
            }
        }
    }
}

#[test]
fn rows_of_any_width_stay_inside() {
    for program in programs(&["row.h"], SHARES) {
        check_shares::<bf16>(&program);
        check_shares::<f16>(&program);
        check_shares::<f32>(&program);
    }
}

/// Stores `b[2]` rows of n codes, the first `b[0]` bytes into the output, `b[1]` bytes apart. They
/// follow from row and column.
const CODES: &str = r"
template <int Bits, int Lanes, int Chunks, bool Ragged>
__device__ void store_at(const Io& io) {
  const u32* b = static_cast<const u32*>(io.b);
  const row_place<Lanes, Ragged> at{0, b[2], 0, io.n};
  store_codes<Bits, Chunks>({static_cast<u8*>(io.out) + b[0], b[1]}, at, [&](int i) {
    vec<u32, chunk * Bits / 32> bits = 0;
    for (u32 j = 0; j < chunk; ++j) {
      const u32 code = (at.row() * 31 + (at.start(i) + j) * 7 + 1) % (1 << Bits);
      bits[j * Bits / 32] |= code << j * Bits % 32;
    }
    return bits;
  });
}
template <int Bits, int Lanes, int Chunks>
__device__ void store_rows(const Io& io) {
  if (row_place<Lanes, true>::is_ragged(io.n)) {
    store_at<Bits, Lanes, Chunks, true>(io);
  } else {
    store_at<Bits, Lanes, Chunks, false>(io);
  }
}
#define BITS(lanes, chunks, threads) \
  KERNEL(codes_4_##lanes, threads) { store_rows<4, lanes, chunks>(io); } \
  KERNEL(codes_8_##lanes, threads) { store_rows<8, lanes, chunks>(io); }
BITS(16, 1, 64) BITS(32, 2, 64) BITS(64, 2, 64) BITS(128, 2, 128)
";

fn check_codes(program: &Program, bits: usize) {
    for (lanes, chunks) in [(16, 1), (32, 2), (64, 2), (128, 2)] {
        let threads = lanes.max(64);
        let most = lanes * chunks * 8;
        let codes_of_byte = 8 / bits;
        let near = |width: usize| width.saturating_sub(10)..=width;
        let widths = (1..=33).chain(near(most / 2 + 9)).chain(near(most));
        for width in widths.filter(|width| width % codes_of_byte == 0) {
            for (start, gap, rows) in [(0, 0, 1), (1, 3, 3), (2, 8, 4), (3, 0, 2)] {
                let rows = rows.min(threads / lanes);
                let row_bytes = width / codes_of_byte;
                let stride = row_bytes + gap;
                let mut want = vec![0xa5u8; start + rows * stride + 9];
                for row in 0..rows {
                    let code = |column| (row * 31 + column * 7 + 1) % (1 << bits);
                    for i in 0..row_bytes {
                        let codes =
                            (0..codes_of_byte).map(|j| code(i * codes_of_byte + j) << (j * bits));
                        want[start + row * stride + i] = codes.sum::<usize>() as u8;
                    }
                }
                let place = [start as u32, stride as u32, rows as u32];
                let kernel = format!("codes_{bits}_{lanes}");
                let got = program.run(
                    &kernel,
                    threads as u32,
                    (&[0u32], &place),
                    width as u32,
                    (want.len(), 0xa5u8),
                );
                assert_eq!(got, want, "{} {kernel} {width} {place:?}", program.chip());
            }
        }
    }
}

#[test]
fn rows_of_codes_end_at_any_byte() {
    for program in programs(&["row.h"], CODES) {
        check_codes(&program, 4);
        check_codes(&program, 8);
    }
}

/// Stores of each lane's share of a row of n elements: the elements, -7 past the end, how many of them
/// are in the row, and the largest.
const ENDS: &str = r"
constexpr int chunks = 2;
KERNEL(ends, 64) {
  const row_place<64, true> at{0, 1, 0, io.n};
  row_load<bf16, chunks> row;
  row.start({static_cast<const bf16*>(io.a), 0}, at);
  row_load<bf16, chunks> nothing;
  nothing.start({static_cast<const bf16*>(io.a), 0}, at.only_if(io.n == 0));
  f32* out = static_cast<f32*>(io.out) + thread_idx().x * chunks * (chunk + 3);
  for (int i = 0; i < chunks; ++i) {
    const vec<bf16, chunk> elements = row.elements(i, at), none = nothing.elements(i, at);
    const auto filled = fill_past_end(elements, static_cast<bf16>(-7.0f), i, at);
    for (int e = 0; e < chunk; ++e) *out++ = to_f32(filled[e]);
    *out++ = static_cast<f32>(at.elements_of(i));
    *out++ = largest(to_f32<bf16, chunk>(filled));
    *out++ = sum(to_f32<bf16, chunk>(none));
  }
}
";

#[test]
fn ends_of_rows_are_filled() {
    for program in programs(&["row.h"], ENDS) {
        for width in [1usize, 2, 7, 8, 9, 511, 512, 513, 1000, 1023, 1024] {
            let x: Vec<bf16> = (0..width).map(|i| bf16::from_f64((i % 13) as f64 - 6.0)).collect();
            let want: Vec<f32> = (0..64 * 2)
                .flat_map(|at| {
                    let start = (at % 2 * 64 + at / 2) * 8;
                    let element = |i: usize| x.get(i).map_or(-7.0, |x| x.to_f64() as f32);
                    let elements: Vec<f32> = (start..start + 8).map(element).collect();
                    let most = elements.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    let count = width.saturating_sub(start).min(8) as f32;
                    elements.into_iter().chain([count, most, 0.0])
                })
                .collect();
            let fill = (want.len(), f32::NAN);
            let got = program.run("ends", 64, (&x, &[0u32][..]), width as u32, fill);
            assert_eq!(got, want, "{} {width}", program.chip());
        }
    }
}

/// Adds to each element of the rows of `a` the sum of its row and an element of a vector, which
/// follows the rows; `b` has rows and the vector's type. Small integers, so that sums are exact.
const TRAVERSALS: &str = r"
template <int Threads, int Lanes, int Chunks, bool InPieces>
struct tile {
  static constexpr int threads = Threads, LANES = Lanes, CHUNKS = Chunks;
  static constexpr bool IN_PIECES = InPieces;
};
template <class Tile>
struct add_sums {
  static constexpr int chunks = Tile::CHUNKS;
  const Io& io;
  u32 rows;
  dtype type;

  using loads = row_load<f32, chunks>;
  using held = per_chunk<chunk_values, chunks>;
  __device__ void start(loads& to, const auto& at) const {
    to.start({static_cast<const f32*>(io.a), io.n}, at);
  }
  __device__ held hold(const loads& from, const auto& at) const {
    held result;
    for (int i = 0; i < chunks; ++i) result.of[i] = from.elements(i, at);
    return result;
  }
  struct columns { column_load<chunks> load; };
  __device__ void start(columns& to, const auto& at) const {
    to.load.start(static_cast<const f32*>(io.a) + rows * io.n, type, at);
  }
  __device__ chunk_values hold(const columns& from, int i, const auto& at) const {
    return from.load.values(i, type, at);
  }
  using reduction = add;
  __device__ f32 measure(const held& row) const {
    f32 result = 0;
    for (const chunk_values& elements : row.of) result += sum(elements);
    return result;
  }
  __device__ void store(const held& row, auto&& vector, f32 sum,
                        const auto& at) const {
    store_row<chunks>(matrix<f32>{static_cast<f32*>(io.out), io.n}, at,
                      [&](int i) { return row.of[i] + sum + vector(i); });
  }
};
template <int Threads, int Lanes, int Chunks, bool InPieces>
__device__ void traverse(const Io& io) {
  using this_tile = tile<Threads, Lanes, Chunks, InPieces>;
  const u32* b = static_cast<const u32*>(io.b);
  for_rows<this_tile>(add_sums<this_tile>{io, b[0], static_cast<dtype>(b[1])}, b[0], io.n);
}
KERNEL(lanes_16, 128) { traverse<128, 16, 1, false>(io); }
KERNEL(wave, 128) { traverse<128, 64, 2, false>(io); }
KERNEL(workgroup, 128) { traverse<128, 128, 1, false>(io); }
KERNEL(pieces, 64) { traverse<64, 64, 1, true>(io); }
KERNEL(wide_pieces, 128) { traverse<128, 128, 2, true>(io); }
";

fn check_traversals<V: Real>(program: &Program) {
    let pieces = [1, 7, 8, 512, 513, 3000, 2 * 64 * 512 + 5];
    for (kernel, threads, widths) in [
        ("lanes_16", 128, &[1, 8, 27, 64, 127, 128][..]),
        ("wave", 128, &[1, 16, 401, 1022, 1024]),
        ("workgroup", 128, &[1, 16, 401, 1023, 1024]),
        ("pieces", 64, &pieces),
        ("wide_pieces", 128, &pieces),
    ] {
        for &width in widths {
            let rows = if width > 4096 { 2 } else { 37 };
            let mut numbers = noise(width as u64).map(|x| (x % 15) as f32 - 7.0);
            let x: Vec<f32> = numbers.by_ref().take(rows * width).collect();
            let vector: Vec<V> = numbers.take(width).map(|v| V::from_f64(v.into())).collect();
            let want: Vec<f32> = x
                .chunks(width)
                .flat_map(|row| {
                    let sum: f32 = row.iter().sum();
                    row.iter().zip(&vector).map(move |(x, v)| x + sum + v.to_f64() as f32)
                })
                .collect();
            let mut bytes: Vec<u8> = bytemuck::cast_slice(&x).to_vec();
            bytes.extend_from_slice(bytemuck::cast_slice(&vector));
            let inputs = (&bytes[..], &[rows as u32, V::CODE][..]);
            let got = program.run(kernel, threads, inputs, width as u32, (want.len(), 0.0f32));
            assert!(got == want, "{} {kernel} {width} {}", program.chip(), V::DTYPE);
        }
    }
}

#[test]
fn traversals_reduce_rows_and_store_what_follows() {
    for program in programs(&["rows.h"], TRAVERSALS) {
        check_traversals::<bf16>(&program);
        check_traversals::<f16>(&program);
        check_traversals::<f32>(&program);
    }
}

/// Adds the two numbers of each pair of the rows of `a`, which are `b[1]` numbers apart; `b` has their
/// count, that, and the pairs of the last of them.
const PAIRS: &str = r"
struct tile {
  static constexpr int threads = 128, LANES = 64, CHUNKS = 2;
};
template <class T, class Pair>
struct add_pairs : no_reduction {
  const Io& io;
  u32 stride;
  __device__ add_pairs(const Io& io, u32 stride) : io(io), stride(stride) {}

  using loads = row_load<Pair, 2>;
  using held = per_chunk<vec<T, 2 * chunk>, 2>;
  __device__ void start(loads& to, const auto& at) const {
    to.start(io.a, stride * static_cast<i64>(sizeof(T)), at);
  }
  __device__ held hold(const loads& from, const auto& at) const {
    held result;
    for (int i = 0; i < 2; ++i) {
      result.of[i] = bit_cast<vec<T, 2 * chunk>>(from.elements(i, at));
    }
    return result;
  }
  __device__ void store(const held& row, auto&&, no_reduction, const auto& at) const {
    store_row<2>(matrix<T>{static_cast<T*>(io.out), io.n}, at,
                 [&](int i) { return row.of[i].even + row.of[i].odd; });
  }
};
template <class T, class Pair>
__device__ void add_all(const Io& io) {
  const u32* b = static_cast<const u32*>(io.b);
  for_pieces<tile>(add_pairs<T, Pair>(io, b[1]), b[0], io.n, b[2]);
}
KERNEL(f16_pairs, 128) { add_all<f16, u32>(io); }
KERNEL(f32_pairs, 128) { add_all<f32, u64>(io); }
";

fn check_pairs<T: Real + PartialEq + Debug>(program: &Program) {
    for (rows, width, gap, last) in
        [(1, 1, 0, 1), (1, 777, 0, 777), (3, 1024, 1, 1024), (9, 2100, 3, 5), (7, 64, 0, 63)]
    {
        let stride = 2 * width + gap;
        let number = |i: usize| (i * 7 % 31) as f64;
        let x: Vec<T> =
            (0..(rows - 1) * stride + 2 * last).map(|i| T::from_f64(number(i))).collect();
        let mut want = vec![T::from_f64(-1.0); rows * width];
        for row in 0..rows {
            let columns = if row + 1 == rows { last } else { width };
            for column in 0..columns {
                let first = row * stride + 2 * column;
                want[row * width + column] = T::from_f64(number(first) + number(first + 1));
            }
        }
        let inputs = (&x[..], &[rows as u32, stride as u32, last as u32][..]);
        let fill = (want.len(), T::from_f64(-1.0));
        let got = program.run(&format!("{}_pairs", T::DTYPE), 128, inputs, width as u32, fill);
        assert_eq!(got, want, "{} {} {rows} {width} {last}", program.chip(), T::DTYPE);
    }
}

#[test]
fn pieces_of_waves_are_all_of_the_rows() {
    for program in programs(&["rows.h"], PAIRS) {
        check_pairs::<f16>(&program);
        check_pairs::<f32>(&program);
    }
}
