// Chunks of up to 64 tokens of sequences, and products of tiles of them.
//
// A tile is 64 rows in LDS that 256 work-items fill: tokens with elements of their heads adjacent, or,
// turned, elements with tokens adjacent. What is not there is zero. A wave multiplies blocks of 16 rows.
#pragma once

#include "hk/elements.h"
#include "hk/math.h"
#include "hk/mma.h"
#include "hk/token_heads.h"
#include "hk/wave.h"

namespace hk {

// The kernel's arguments, read again: there may be more than scalar registers have room for.
template <class Args>
__device__ inline const Args& read_again(const Args&) {
  auto arguments = arch::kernel_arguments<Args>();
  asm volatile("" : "+s"(arguments));
  return *(const Args*)arguments;
}

// The chunks of a batch. Without bounds, sequences have as many tokens each. The host's `ChunkSchedule`.
struct ChunkSchedule {
  const i32* bounds;        // of sequences that follow each other, one more than there are, or null
  const i32* sequence_ids;  // of each chunk
  const i32* chunk_ids;     // of each chunk, in its sequence
  const i32* offsets;       // the chunks before each sequence
  u32 sequences;
  u32 tokens;  // of each sequence, or of all together
  u32 chunk_log2;
  u32 chunks;  // of all sequences
};

// A sequence, within the tokens that there are whatever is in memory. All of it is the same for the wave.
struct sequence_span {
  u32 start;  // among all tokens, or 0
  u32 length;
  u32 first_chunk;  // among all chunks
  u32 chunks;

  __device__ sequence_span(const ChunkSchedule& schedule, u32 sequence) {
    start = 0;
    length = schedule.tokens;
    if (schedule.bounds != nullptr) {
      start = clamped(uniform(schedule.bounds[sequence]), schedule.tokens);
      const u32 end = clamped(uniform(schedule.bounds[sequence + 1]), schedule.tokens);
      length = __builtin_elementwise_sub_sat(end, start);
    }
    chunks = length == 0 ? 0 : ((length - 1) >> schedule.chunk_log2) + 1;
    first_chunk = sequence * chunks;
    if (schedule.bounds != nullptr) {
      first_chunk = clamped(uniform(schedule.offsets[sequence]), schedule.chunks);
      const u32 left = schedule.chunks - first_chunk;
      if (chunks > left) chunks = left;
    }
  }

  static __device__ u32 clamped(i32 index, u32 most) {
    return index < 0 ? 0 : static_cast<u32>(index) < most ? static_cast<u32>(index) : most;
  }
};

// A chunk of a sequence. All of it is the same for the wave.
struct chunk_place {
  u32 sequence;
  u32 first;  // token, among all or those of its sequence
  u32 count;  // none if there is no such chunk

  // The one that is number `slot` of all.
  __device__ chunk_place(const ChunkSchedule& schedule, u32 slot) {
    u32 number;
    if (schedule.bounds == nullptr) {
      const u32 chunks = ((schedule.tokens - 1) >> schedule.chunk_log2) + 1;
      sequence = slot / chunks;
      number = slot - sequence * chunks;
    } else {
      const i32 id = uniform(schedule.sequence_ids[slot]);
      sequence = sequence_span::clamped(id, schedule.sequences - 1);
      number = static_cast<u32>(uniform(schedule.chunk_ids[slot]));
    }
    const sequence_span span(schedule, sequence);
    if (number >= span.chunks) {
      first = count = 0;
      return;
    }
    const u32 begin = number << schedule.chunk_log2, size = 1u << schedule.chunk_log2;
    first = span.start + begin;
    count = span.length - begin < size ? span.length - begin : size;
  }
};

// The decay of a sum of logarithms, of base 2 or e.
__device__ inline f32 decay_of(f32 sum, bool is_two) { return is_two ? exp2(sum) : exp(sum); }

// The most tokens of a chunk, elements of a row that are staged at once, and work-items.
inline constexpr int chunk_tokens = 64, panel = 64, chunk_threads = 256;

// Rows of a block of a product, and what of a row's elements of 16 bits one atom takes.
inline constexpr int block_rows = 16, atom_depth = 32;

// The place, among `panel` rows of a tile, of the row that is to be element `c` of a lane's eight: a lane
// has four rows of a product of 16, and the next four of the next one.
__device__ constexpr u32 dealt(u32 c) { return c / 32 * 32 + c % 8 / 4 * 16 + c % 32 / 8 * 4 + c % 4; }

// Rows of elements in global memory, within 2^31 bytes from where they begin, which is the same for the
// wave: as many as there are, and as many elements of each. What is not there is neither read nor written.
template <class T>
struct checked_rows {
  arch::checked_range memory;
  u32 stride;  // in bytes
  u32 rows;
  u32 columns;

  __device__ checked_rows(const void* base, i64 at, i64 stride, u32 rows, u32 columns)
      : memory(static_cast<const T*>(base) + at, out_of_range),
        stride(static_cast<u32>(stride) * static_cast<u32>(sizeof(T))),
        rows(rows),
        columns(columns) {}

  // N elements of a row; those that are not there are zero.
  template <int N>
  __device__ vec<T, N> load(u32 row, u32 column) const {
    using words = words_of<vec<T, N>>;
    words bits;
    const u32 start = whole<N>(row, column);
    for (u32 d = 0; d < sizeof(words) / 4; d += 4) {
      if constexpr (sizeof(words) == 8) {
        bits = bit_cast<words>(memory.load_64(start));
      } else {
        const bits128 piece = memory.load_128(start + d * 4);
        for (u32 i = 0; i < 4; ++i) bits.of[d + i] = piece[i];
      }
    }
    // The last elements of rows that have some more: of those, there is nothing yet.
    if (columns % N != 0) {
      for (u32 e = 0; e < N; ++e) {
        const u32 at = part<N>(row, column, e);
        if constexpr (sizeof(T) == 2) bits.of[e / 2] |= static_cast<u32>(memory.load_16(at)) << e % 2 * 16;
        if constexpr (sizeof(T) == 4) bits.of[e] |= memory.load_32(at);
      }
    }
    return bit_cast<vec<T, N>>(bits);
  }

  template <int N>
  __device__ void store(u32 row, u32 column, vec<T, N> values) const {
    const auto bits = bit_cast<words_of<vec<T, N>>>(values);
    const u32 start = whole<N>(row, column);
    for (u32 d = 0; d < sizeof(bits) / 4; d += 4) {
      if constexpr (sizeof(bits) == 8) {
        memory.store_once(start, vec<u32, 2>{bits.of[0], bits.of[1]});
      } else {
        const bits128 piece = {bits.of[d], bits.of[d + 1], bits.of[d + 2], bits.of[d + 3]};
        memory.store_once(start + d * 4, piece);
      }
    }
    if (columns % N != 0) {
      for (u32 e = 0; e < N; ++e) {
        const u32 at = part<N>(row, column, e);
        if constexpr (sizeof(T) == 2) {
          memory.store_once(at, static_cast<u16>(bits.of[e / 2] >> e % 2 * 16));
        } else {
          memory.store_once(at, bits.of[e]);
        }
      }
    }
  }

  // One element.
  __device__ T load_one(u32 row, u32 column) const {
    const u32 at = left(row, column) > 0 ? offset(row, column) : out_of_range;
    if constexpr (sizeof(T) == 2) return bit_cast<T>(memory.load_16(at));
    if constexpr (sizeof(T) == 4) return bit_cast<T>(memory.load_32(at));
  }
  __device__ void store_one(u32 row, u32 column, T value) const {
    const u32 at = left(row, column) > 0 ? offset(row, column) : out_of_range;
    if constexpr (sizeof(T) == 2) memory.store_once(at, bit_cast<u16>(value));
    if constexpr (sizeof(T) == 4) memory.store_once(at, bit_cast<u32>(value));
  }

 private:
  __device__ u32 left(u32 row, u32 column) const {
    return row < rows ? __builtin_elementwise_sub_sat(columns, column) : 0;
  }
  __device__ u32 offset(u32 row, u32 column) const {
    return row * stride + column * static_cast<u32>(sizeof(T));
  }
  // Where N elements are that all are there, and element `e` of N that are not all there.
  template <int N>
  __device__ u32 whole(u32 row, u32 column) const {
    return left(row, column) >= N ? offset(row, column) : out_of_range;
  }
  template <int N>
  __device__ u32 part(u32 row, u32 column, u32 e) const {
    const u32 there = left(row, column);
    return there < N && e < there ? offset(row, column + e) : out_of_range;
  }
};

// Eight elements of a row, as an atom takes them.
using chunk_fragment = fragment_of<bits128, 1>;
template <class T>
__device__ inline chunk_fragment fragment_from(vec<T, 8> elements) {
  return {{bit_cast<bits128>(elements)}};
}

// Rows of elements of 16 bits in LDS, of which eight at a time are in such an order that no two rows of a
// block, and no two that a wave turns at once, are at the same banks.
template <class T, int Rows, int Columns = panel>
struct chunk_tile {
  static_assert(sizeof(T) == 2 && Columns % panel == 0);
  alignas(16) T elements[Rows * Columns];

  // Rows that differ in bits 0 to 2, in bits 3 to 5, as those of columns that are turned at once, or in
  // bits 2, 3 and 5, as those that are dealt, have places of their own; so have even and odd rows of a
  // block that are read at once from all of 64 banks.
  static __device__ u32 swizzled(u32 row) { return (row & 7) ^ (row >> 2 & 6) ^ (row >> 5 & 1); }
  static __device__ u32 place(u32 row, u32 column) {
    // Of rows as long as 64 banks, even and odd ones begin in halves of their own.
    const u32 half = Columns > panel ? (row & 1) << 3 : 0;
    return row * Columns + (column ^ (swizzled(row) | half) * 8);
  }

  // What a lane has of 16 rows for step `step` of a product.
  __device__ chunk_fragment load(u32 first_row, u32 step) const {
    const u32 at = place(first_row + lane_id() % 16, step * atom_depth + lane_id() / 16 * 8);
    return {{*reinterpret_cast<const bits128*>(&elements[at])}};
  }

  // Four elements of 16 rows by 16 lanes, from a multiple of four on: in every other eight rows, halves of
  // eight elements change places, so that all are at banks of their own; and what was stored so.
  __device__ void store_four(u32 row, u32 column, vec<T, 4> values) {
    *reinterpret_cast<vec<T, 4>*>(&elements[place(row, column) ^ (row >> 1 & 4)]) = values;
  }
  __device__ chunk_fragment load_fours(u32 first_row, u32 step) const {
    const bits128 eight = load(first_row, step).chunk[0];
    const bits128 other = __builtin_shufflevector(eight, eight, 2, 3, 0, 1);
    return {{lane_id() & 8 ? other : eight}};
  }

  // Up to eight elements of a row, from a multiple of their number on.
  template <int N>
  __device__ void store(u32 row, u32 column, vec<T, N> values) {
    *reinterpret_cast<vec<T, N>*>(&elements[place(row, column)]) = values;
  }

  // Eight elements of a row, from a multiple of eight on.
  __device__ vec<T, 8> row_of(u32 row, u32 column) const {
    return *reinterpret_cast<const vec<T, 8>*>(&elements[place(row, column)]);
  }

  // Elements of rows from column `first` on.
  __device__ void fill(const checked_rows<T>& from, u32 first) {
    static_for<Rows * 8 / chunk_threads>([&](auto i) {
      const u32 piece = i.value * chunk_threads + thread_idx().x, row = piece / 8, at = piece % 8 * 8;
      store<8>(row, at, from.template load<8>(row, first + at));
    });
  }
};

// Of 64 rows of 64 elements, what a work-item has on the way to a tile in which columns are rows: eight
// elements of each of two rows.
template <class T>
struct turned_block {
  vec<T, 8> rows[2];

  static __device__ u32 row() { return thread_idx().x / 8 * 2; }
  static __device__ u32 column() { return thread_idx().x % 8 * 8; }

  // Of rows from row and column `first` on.
  __device__ void load(const checked_rows<T>& from, u32 first_row, u32 first_column) {
    static_for<2>([&](auto r) {
      const u32 at = first_row + row() + r.value;
      rows[r.value] = from.template load<8>(at, first_column + column());
    });
  }

  // Rows times a number each, rounded.
  __device__ void scale(const f32* factors) {
    static_for<2>([&](auto r) {
      rows[r.value] = round_to<T, 8>(to_f32<T, 8>(rows[r.value]) * factors[row() + r.value]);
    });
  }

  // Stores column c in row `place(c)` of the tile.
  __device__ void store(auto& tile, auto&& place) const {
    static_for<8>([&](auto e) {
      tile.template store<2>(place(column() + e.value), row(), vec<T, 2>{rows[0][int{e}], rows[1][int{e}]});
    });
  }
};

// States of heads, or snapshots of them, keys by values or values by keys; distances in elements. The
// host's `StateRows`.
struct StateRows {
  void* base;  // null if there are none
  i64 slot;
  i64 head;
  i64 row;  // from key to key, or from value to value
  u32 element_type;
  u32 keys_adjacent;

  // Calls `body` with the rows of a state, of its type.
  __device__ void with(i64 slot_number, u32 head_number, u32 keys, u32 values, auto&& body) const {
    with_type(static_cast<dtype>(element_type), [&](auto zero) {
      const i64 at = slot_number * slot + head_number * head;
      const u32 rows = keys_adjacent ? values : keys, columns = keys_adjacent ? keys : values;
      body(checked_rows<decltype(zero)>(base, at, row, rows, columns));
    });
  }
};

}  // namespace hk
