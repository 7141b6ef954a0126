// Queries, keys and values of 8 bits that are multiplied as they are: keys of a tile as any rows (see
// hk/attention_rows.h), values and weights as e4m3.
#pragma once

#include "hk/arch/short_steps.h"
#include "hk/attention_rows.h"

namespace hk {

// The element type of an attention whose queries and keys are codes K, and whose values and weights are e4m3.
template <class K>
struct codes {};

// What is multiplied, of an attention of type T: queries and keys, and weights and values.
template <class T>
struct multiplied {
  using key = T;
  using value = T;
};
template <class K>
struct multiplied<codes<K>> {
  using key = K;
  using value = e4m3;
};

// Chunks that are multiplied at once, of so many.
template <class T, int Count>
inline constexpr int chunks_at_once = Count % chunks_of<T> == 0 ? chunks_of<T> : 1;

// D = C + A * B^T of elements T, of so many chunks.
template <class T, int Chunks, class Sum>
__device__ inline Sum mma_chunks(const fragment_of<bits128, Chunks>& a, const fragment_of<bits128, Chunks>& b,
                                 Sum c) {
  if constexpr (Chunks < chunks_of<T>) {
    return arch::mma_of_one_chunk(T{}, a.bits(), b.bits(), c);
  } else {
    return mma_ABt<T>(a, b, c);
  }
}

// How LDS serves the write of a dword.
struct lds_write_b32 {
  static constexpr int bytes = 4;
  static constexpr int banks = 32;
  static constexpr int phases = 2;
  static constexpr int phase_of(int lane) { return lane / 32; }
};

// A tile of values on its way to LDS, where it is across: `Count` rows, which become 16-byte chunks of one
// column each, `Width` columns. Lanes transpose blocks of four rows and eight columns.
//
// The image has slices of 64 rows. A column has in it a chunk for each quarter of a wave, of the rows whose
// weights that has: eight from 8 g on, and eight from 32 + 8 g on. Two columns share a line of 128 bytes.
template <int Count, int Width, int Threads>
struct code_columns {
  static constexpr int block_rows = 4, block_columns = 8, slice_rows = 64;
  static constexpr int pieces = Width / block_columns * (Count / block_rows) / Threads;
  static constexpr int rows = pieces * block_rows;
  static constexpr int slice_bytes = Width * slice_rows, slot_bytes = Count / slice_rows * slice_bytes;
  static_assert(Count % slice_rows == 0 && Width % 64 == 0 && pieces > 0);
  static_assert(pieces * Threads * block_rows * block_columns == Count * Width);

  row_place place[rows];
  vec<u32, 2> loaded[rows];
  u32 image, thread, reader;

  // By how much the eight chunks of a line are displaced, whose columns these are.
  __host__ __device__ static constexpr u32 displaced(u32 column) {
    constexpr swizzle layout = {{0x16, 0x0c, 0x20, 0}};
    return layout.of(column);
  }
  // Where quarter `quarter` of a column of a slice is.
  __host__ __device__ static constexpr u32 address_of(u32 column, u32 quarter) {
    return column / 2 * 128 + ((column % 2 * 4 + quarter) ^ displaced(column)) * 16;
  }

  // Piece q: its first row and column.
  struct spot {
    u32 row, column;
  };
  __host__ __device__ static constexpr spot spot_of(u32 q) {
    constexpr u32 blocks = Width / 64;
    const u32 rest = q / 32 / blocks, word = q / 8 % 4;
    return {rest / 4 * slice_rows + rest % 4 * 8 + word % 2 * 4 + word / 2 * 32,
            q % 8 * 8 + q / 32 % blocks * 64};
  }
  // Where it has the rows of its first column. Those of column j of the eight are at another line, and
  // displaced by as much as column j is.
  __host__ __device__ static constexpr u32 write_address(u32 q) {
    const spot at = spot_of(q);
    const u32 row = at.row % slice_rows;
    return at.row / slice_rows * slice_bytes + address_of(at.column, row % 32 / 8) + row / 32 * 8 + row % 8;
  }
  static constexpr bool is_conflict_free() {
    return conflict_free<lds_write_b32>([](int lane) { return write_address(lane); }) &&
           conflict_free<arch::lds_read_b128>([](int lane) { return address_of(lane % 16, lane / 16); });
  }
  static_assert(is_conflict_free());

  __device__ code_columns(lds_pointer image, u32 thread)
      : image(reinterpret_cast<u32>(image)),
        thread(thread),
        reader(reinterpret_cast<u32>(image) + address_of(lane_id() % 16, lane_id() / 16)) {}

  HK_INLINE void find(const KeySource& source, const key_sequence& sequence, u32 first) {
    static_for<rows>([&](auto i) {
      const u32 row = spot_of(i.value / block_rows * Threads + thread).row + i.value % block_rows;
      place[i.value] = find_row(source, sequence, first + row);
    });
  }

  HK_INLINE void load(const KeySource& source, const KeyRows& of, u64 base) {
    static_for<rows>([&](auto i) {
      const u32 column = spot_of(i.value / block_rows * Threads + thread).column;
      const bits128 bits = load_chunk(of, row_address(source, of, base, place[i.value]), column);
      loaded[i.value] = {bits[0], bits[1]};
    });
  }

  // Puts them into LDS; rows but [first, end) as zeros.
  HK_INLINE void write(const KeyRows&, u32 first, u32 end) {
    static_for<pieces>([&](auto piece) {
      const u32 q = piece.value * Threads + thread, row = spot_of(q).row;
      vec<u32, 2> x[block_rows];
      static_for<block_rows>([&](auto i) {
        x[i.value] = loaded[piece.value * block_rows + i.value];
        if (row + i.value < first || row + i.value >= end) x[i.value] = 0;
      });
      const u32 to = write_address(q);
      static_for<2>([&](auto half) {
        // Pairs of rows of a column, then all four.
        const auto pair = [&](auto which, auto from) {
          constexpr u32 select = which.value == 0 ? 0x05010400 : 0x07030602;
          return arch::pick_bytes<select>(x[from.value + 1][half.value], x[from.value][half.value]);
        };
        static_for<4>([&](auto j) {
          constexpr u32 select = j.value % 2 == 0 ? 0x05040100 : 0x07060302;
          const u32 four = arch::pick_bytes<select>(pair(constant<j.value / 2>{}, constant<2>{}),
                                                    pair(constant<j.value / 2>{}, constant<0>{}));
          constexpr u32 column = half.value * 4 + j.value;
          const u32 at = (to ^ (column % 2 * 64 ^ displaced(column) * 16)) + column / 2 * 128;
          *reinterpret_cast<arch::lds_pointer_to<u32>>(image + at) = four;
        });
      });
    });
  }

  // Slice S of columns 16 F to 16 F + 15.
  template <int F, int S>
  HK_INLINE bits128 fragment_at() const {
    constexpr u32 displacement = displaced(F * 16) * 16, offset = S * slice_bytes + F * 16 * 64;
    return arch::lds_load_128((reader ^ displacement) + offset);
  }
};

}  // namespace hk
