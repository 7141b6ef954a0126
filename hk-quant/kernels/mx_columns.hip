// Blocks of 32 consecutive elements of a column of a matrix, the last of which may be shorter, to codes of
// 4 or 8 bits with a power of two: c[j,i] = round(x[i,j] / 2^(b - 127)), so that the codes of a column
// become adjacent. A wave has blocks of 128 columns: four lanes have those of eight of them, each eight
// rows. They exchange codes, so that each stores whole blocks; x is read once.
#include "hk/elements.h"
#include "hk/quant_rows.h"

namespace hk {

struct MxColumnsArgs {
  const void* x;
  u8* codes;
  u8* scales;
  i64 x_matrix;  // in elements, from matrix to matrix
  i64 x_stride;  // from row to row
  i64 codes_matrix;  // in bytes, from matrix to matrix
  i64 codes_stride;  // from column of x to column
  i64 scales_matrix;
  i64 scales_stride;
  u32 matrices;
  u32 rows;
  u32 columns;
  u32 mode;    // an mx_round
  u32 format;  // an mx_format
};

namespace {

// Lanes that share a block, and rows and columns of each.
inline constexpr u32 lanes_of_block = 4;
inline constexpr u32 side = mx_block / lanes_of_block;
static_assert(side == chunk);

// Where a wave's part of the matrices is.
struct columns_place {
  u32 matrix;
  u32 block;   // of 32 rows
  u32 column;  // the lane's first
  u32 lane;    // of those that share a block

  // The lane's first row.
  __device__ u32 row() const { return block * mx_block + lane * side; }
};

// The elements of eight rows and columns, of those that there are; others are given in their place.
template <class T>
__device__ inline void load_square(vec<T, side> (&rows)[side], const MxColumnsArgs& args,
                                   const columns_place& at) {
  const T* matrix = static_cast<const T*>(args.x) + at.matrix * args.x_matrix + at.column;
  // A number twice does not change what is largest.
  const auto from = [&](u32 r) {
    const u32 row = at.row() + r, last = args.rows - 1;
    return matrix + (row < last ? row : last) * args.x_stride;
  };
  const u32 left = args.columns - at.column;
  if (left >= side) {
    for (u32 r = 0; r < side; ++r) rows[r] = load_adjacent<T, side>(from(r));
  } else {
    for (u32 r = 0; r < side; ++r) rows[r] = load_elements<T, side>(from(r), 1, left);
  }
}

template <int N>
__device__ inline void store_bytes(u8* to, vec<u8, N> bytes) {
  *reinterpret_cast<vec_in_memory<u8, N, 1>*>(to) = bytes;
}

// Stores the first `count` bytes of a power of two that are more.
template <int N>
__device__ inline void store_part(u8* to, vec<u8, N> bytes, u32 count) {
  if constexpr (N == 2) {
    if (count % 2 != 0) *to = bytes[0];
  } else {
    constexpr u32 half = N / 2;
    const bool has_half = (count & half) != 0;
    if (has_half) store_bytes<half>(to, bytes.lo);
    store_part<half>(to + (has_half ? half : 0), has_half ? bytes.hi : bytes.lo, count);
  }
}

template <class Format, class T>
__device__ inline void store_columns(const vec<T, side> (&rows)[side], const auto& args,
                                     const columns_place& at) {
  constexpr u32 words = Format::bits / 4;  // of the codes of a column that a lane has
  constexpr u32 bytes = mx_block * Format::bits / 8;
  const u32 addend = mx_addend<Format>(static_cast<mx_round>(args.mode));
  u32 scales[side], codes[words][side];
  static_for<side>([&](auto c) {
    vec<T, side> elements;
    static_for<side>([&](auto r) { elements[r.value] = rows[r.value][c.value]; });
    const u32 amax = largest<T, side>(magnitudes<T, side>(elements));
    const u32 of_block = wave_reduce<largest_magnitude, lanes_of_block>(amax);
    scales[c.value] = mx_scale<Format>(of_block, addend);
    const auto encoded = mx_encode<Format>(to_f32<T, side>(elements), scales[c.value]);
    static_for<words>([&](auto w) { codes[w.value][c.value] = encoded[w.value]; });
  });
  // Each lane stores two blocks.
  static_for<side / lanes_of_block>([&](auto half) {
    constexpr u32 first = half.value * lanes_of_block;
    vec<u32, bytes / 4> whole;
    static_for<words>([&](auto w) {
      u32 parts[lanes_of_block];
      static_for<lanes_of_block>([&](auto p) { parts[p.value] = codes[w.value][first + p.value]; });
      exchange_in_quad(parts);
      static_for<lanes_of_block>([&](auto p) { whole[p.value * words + w.value] = parts[p.value]; });
    });
    const u32 column = at.column + first + at.lane;
    if (column >= args.columns) return;
    u8* row = args.codes + at.matrix * args.codes_matrix + column * args.codes_stride;
    u8* to = row + at.block * bytes;
    const u32 rows = args.rows - at.block * mx_block;
    const u32 left = (rows < mx_block ? rows : mx_block) * Format::bits / 8;
    const auto block = bit_cast<vec<u8, bytes>>(whole);
    if (left >= bytes) {
      store_bytes<bytes>(to, block);
    } else {
      store_part<bytes>(to, block, left);
    }
    const u32 low = at.lane % 2 == 0 ? scales[first] : scales[first + 1];
    const u32 high = at.lane % 2 == 0 ? scales[first + 2] : scales[first + 3];
    u8* scale = args.scales + at.matrix * args.scales_matrix + column * args.scales_stride;
    scale[at.block] = at.lane < 2 ? low : high;
  });
}

template <class Tile>
__device__ inline void mx_columns(const MxColumnsArgs& args) {
  using T = typename Tile::T;
  constexpr u32 columns_of_wave = wave_size / lanes_of_block * side;
  const u32 blocks = (args.rows - 1) / mx_block + 1;
  const u32 across = (args.columns - 1) / columns_of_wave + 1;
  const u32 parts = args.matrices * blocks * across, step = grid_size().x / wave_size;
  u32 part = block_idx().x * (Tile::threads / wave_size) + wave_id();
  for (; part < parts; part += step) {
    // Waves that are next to each other have blocks of the same columns.
    const u32 line = part / blocks;
    const u32 of_lane = lane_id() / lanes_of_block * side;
    const columns_place at{line / across, part % blocks, line % across * columns_of_wave + of_lane,
                           lane_id() % lanes_of_block};
    if (at.column >= args.columns) continue;
    vec<T, side> rows[side];
    load_square<T>(rows, args, at);
    with_mx_format(static_cast<mx_format>(args.format), [&](auto format) {
      store_columns<decltype(format)>(rows, *late_arguments<true>(args), at);
    });
  }
}

}  // namespace

}  // namespace hk
