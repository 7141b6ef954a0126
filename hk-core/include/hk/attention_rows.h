// Rows of keys and of values of a head, wherever they are: next to each other, in the pages of a cache
// whatever its layout, or at tokens of a list. They go through registers to the tiles in LDS of which a
// product takes them; elements of 8 bits become 16-bit ones on the way, which is exact.
//
// Nothing outside of a tensor is read, whatever pages, tokens and lengths are.
#pragma once

#include "hk/arch/global_memory.h"
#include "hk/arch/lds_loads.h"
#include "hk/indices.h"
#include "hk/operand.h"

// Kernels keep tiles in registers, across all that is done with them.
#define HK_INLINE __device__ __attribute__((always_inline)) inline

namespace hk {

// Element types of rows as values; the numbers are the host's `AttentionElement::CODE`.
enum class row_type : u32 { bf16, f16, f32, e4m3, e5m2, i8 };

// Where the elements of rows are; the host's `KeyRows`. Distances are in bytes. A page has its slots in
// runs, a row its elements in groups.
struct KeyRows {
  const void* base;  // null if there are none
  i64 sequence;
  i64 head;
  i64 page;
  u32 run;      // from one run to the next
  u32 slot;     // within a run
  u32 group;    // from one group to the next
  u32 element;  // within a group
  u32 group_size;
  u32 run_log2;
  u32 type;   // a row_type
  u32 whole;  // whether chunks of eight elements are adjacent, and whole or not there
  u32 width;  // elements of a row
  u32 reserved;
};

// Keys and values of sequences; the host's `KeySource`.
struct KeySource {
  KeyRows keys;
  KeyRows values;
  IndexList pages;        // of the slots of sequences; without a list, rows follow each other
  i64 pages_of_sequence;  // from one sequence's pages to the next one's, and from one head's
  i64 pages_of_head;
  IndexList starts;   // of sequences, among rows or in the list of pages
  IndexList lengths;  // so many rows of sequences, at most
  u32 length;         // of each sequence, at most
  u32 starts_are_bounds;  // whether the next start is a sequence's end
  u32 lengths_are_total;  // whether lengths count the rows of the other source too
  u32 count;          // pages that there are; rows, without a list
  u32 page_size;
  u32 page_multiplier;  // by which division by it is a product: 2^page_shift / page_size, rounded up
  u32 page_shift;
  u32 reserved;
};

// What is known of the elements of rows when a kernel is compiled: nothing; that they are adjacent, and of the
// type that is multiplied; or, besides, that chunks of eight of them are whole or not there.
enum class row_kind { any, adjacent, whole };

// Loads 16-byte chunks of rows of `width` adjacent elements, of the size of Bits: number n from column
// `column_of(n)` on of the row at `row_of(n)`. What a row does not have is zeros, and not read.
//
// An element of each chunk at a time, in a short loop: the way of rows that end within a chunk.
template <class Bits, int Count>
HK_INLINE void load_cut_chunks(bits128 (&to)[Count], u32 width, auto&& row_of, auto&& column_of) {
  constexpr u32 size = sizeof(Bits), bits = size * 8, rest = 32 - bits;
  for (bits128& chunk : to) chunk = 0;
#pragma unroll 1
  for (u32 i = 0; i < 16 / size; ++i) {
    static_for<Count>([&](auto n) {
      const u32 column = column_of(n) + i, last = width - 1;
      // The last one again, instead of a branch.
      const u32 x = arch::load_global<Bits>(row_of(n) + (column < last ? column : last) * size);
      const bits128 before = to[n.value];
      to[n.value] = {before[0] >> bits | before[1] << rest, before[1] >> bits | before[2] << rest,
                     before[2] >> bits | before[3] << rest, before[3] >> bits | (column < width ? x << rest : 0)};
    });
  }
}

// Eight elements of 8 bits, in the first half of the bits, as elements T.
template <class T>
__device__ inline bits128 expand(bits128 codes, row_type type) {
  vec<f32, 8> x;
  static_for<2>([&](auto half) {
    vec<f32, 4> four;
    const u32 word = codes[half.value];
    if (type == row_type::i8) {
      static_for<4>([&](auto i) {
        four[i.value] = static_cast<f32>(static_cast<i32>(word << (24 - 8 * i.value)) >> 24);
      });
    } else {
      four = type == row_type::e4m3 ? arch::from_e4m3(word) : arch::from_e5m2(word);
    }
    static_for<4>([&](auto i) { x[half.value * 4 + i.value] = four[i.value]; });
  });
  return bit_cast<bits128>(round_to<T, 8>(x));
}

// Eight elements of a row from column `column` on, of which only those are there that the row has; as
// they are in memory, those of 8 bits in the first half.
__device__ inline bits128 load_chunk(const KeyRows& rows, u64 row, u32 column) {
  const u32 first = column / rows.group_size;
  const u64 at = row + first * rows.group + (column - first * rows.group_size) * rows.element;
  const u32 left = column < rows.width ? rows.width - column : 0;
  const bool is_narrow = rows.type >= static_cast<u32>(row_type::e4m3);
  bits128 bits = 0;
  if (rows.whole) {
    if (left == 0) return bits;
    if (!is_narrow) return arch::load_global<u32, 4, 2>(at);
    const auto half = arch::load_global<u32, 2, 1>(at);
    return {half[0], half[1], 0, 0};
  }
  vec<u64, 2> halves = 0;
  const u32 count = left < 8 ? left : 8, bits_of_one = is_narrow ? 8 : 16;
#pragma unroll 1
  for (u32 i = 0; i < count; ++i) {
    const u32 group = (column + i) / rows.group_size;
    const u64 element =
        row + group * rows.group + (column + i - group * rows.group_size) * rows.element;
    const u64 value =
        is_narrow ? arch::load_global<u8>(element) : arch::load_global<u16>(element);
    const u32 shift = i * bits_of_one;
    halves[0] |= shift < 64 ? value << shift : 0;
    halves[1] |= shift < 64 ? 0 : value << (shift - 64);
  }
  bits = bit_cast<bits128>(halves);
  return bits;
}

// Sixteen elements of 8 bits of a row from column `column` on, as above.
__device__ inline bits128 load_codes(const KeyRows& rows, u64 row, u32 column) {
  const bool is_adjacent = rows.group_size % 16 == 0 || rows.group_size > rows.width;
  if (rows.whole && is_adjacent && column + 16 <= rows.width) {
    const u32 first = column / rows.group_size;
    return arch::load_global<u32, 4, 1>(row + first * rows.group + (column - first * rows.group_size));
  }
  const bits128 low = load_chunk(rows, row, column), high = load_chunk(rows, row, column + 8);
  return {low[0], low[1], high[0], high[1]};
}

// A sequence's rows of one source. All of it is the same for the wave.
struct key_sequence {
  i64 start;   // of its rows, or of its pages in the list
  u32 length;

  __device__ static u32 at_most(u32 a, i64 b) {
    return b < 0 ? 0 : b < a ? static_cast<u32>(b) : a;
  }

  key_sequence() = default;
  __device__ key_sequence(i64 start, u32 length) : start(start), length(length) {}

  // `others` are the rows of the other source.
  __device__ key_sequence(const KeySource& source, u32 sequence, u32 head, u32 others) {
    *this = of_lane(source, sequence, head, others);
    start = uniform(start);
    length = uniform(length);
  }

  // The rows of a sequence that is each lane's own.
  __device__ static key_sequence of_lane(const KeySource& source, u32 sequence, u32 head = 0,
                                         u32 others = 0) {
    i64 start;
    u32 length;
    start = 0;
    length = source.length;
    if (source.starts.base != nullptr) {
      start = index_at(source.starts, sequence);
      if (start < 0) start = 0;
      if (source.starts_are_bounds) {
        length = at_most(length, index_at(source.starts, sequence + 1) - start);
      }
    }
    if (source.lengths.base != nullptr) {
      const i64 given = index_at(source.lengths, sequence);
      length = at_most(length, source.lengths_are_total ? given - others : given);
    }
    if (source.pages.base == nullptr) {
      length = at_most(length, static_cast<i64>(source.count) - start);
    } else {
      start += sequence * source.pages_of_sequence + head * source.pages_of_head;
      // As many as there are pages for.
      const i64 left = (static_cast<i64>(source.pages.count) - start) * source.page_size;
      length = at_most(length, left);
    }
    return {start, length};
  }
};

// Rows of a sequence and a head, without what tells them apart.
__device__ inline u64 rows_of_head(const KeyRows& rows, u32 sequence, u32 head) {
  return reinterpret_cast<u64>(rows.base) + sequence * rows.sequence + head * rows.head;
}

// Where a row is: its page, which may still be on its way, and what follows in it.
struct row_place {
  u32 page;
  u32 slot;
};
__device__ inline row_place find_row(const KeySource& source, const key_sequence& sequence, u32 row) {
  // There may be fewer rows than a tile has.
  row = row < sequence.length ? row : sequence.length - 1;
  if (source.pages.base == nullptr) return {static_cast<u32>(sequence.start) + row, 0};
  const u32 number = static_cast<u64>(row) * source.page_multiplier >> source.page_shift;
  const u64 list = reinterpret_cast<u64>(source.pages.base), at = sequence.start + number;
  const u32 page = source.pages.is_64 ? static_cast<u32>(arch::load_global<u64>(list + at * 8))
                                      : arch::load_global<u32>(list + at * 4);
  return {page, row - number * source.page_size};
}
__device__ inline u64 row_address(const KeySource& source, const KeyRows& rows, u64 base,
                                  row_place place) {
  const u32 page = place.page < source.count ? place.page : source.count - 1;
  const u32 run = place.slot >> rows.run_log2;
  const u32 in_run = place.slot - (run << rows.run_log2);
  return base + page * rows.page + run * rows.run + in_run * rows.slot;
}

// A tile of keys or of values on its way to LDS: `Count` rows of `Width` elements, which `Threads` of
// the workgroup share. Products take keys along k, values across it.
template <class T, bool AlongK, int Count, int Width, int Threads>
using row_operand =
    operand<T, typename choose<AlongK, k_major, mn_major>::type, AlongK ? Count : Width,
            AlongK ? Width : Count, Threads, row_map<16, AlongK>, 1, 1>;

// If T has 8 bits, elements of any kind are of that type, too.
template <class T, bool AlongK, int Count, int Width, int Threads, row_kind Kind>
struct row_tile : row_operand<T, AlongK, Count, Width, Threads> {
  using Operand = row_operand<T, AlongK, Count, Width, Threads>;
  static constexpr int loads = Operand::loads;
  static constexpr int pieces = Operand::pieces;
  // Rows that a lane has something of.
  static constexpr int rows = loads;
  static_assert(!Operand::ragged && (sizeof(T) == 2 || (AlongK && Kind == row_kind::any)));

  row_place place[rows];
  bits128 loaded[loads];

  __device__ row_tile(lds_pointer image, u32 thread) : Operand(image, 0, 0) {
    this->thread = thread;
    if constexpr (Operand::write_transposes) {
      static_for<pieces>([&](auto i) {
        this->writer[i.value] = Operand::block_address(i.value * Threads + thread);
      });
    }
  }

  // Row and column of load `Load` in the tile.
  struct spot {
    u32 row, column;
  };
  template <int Load>
  __device__ spot spot_of() const {
    constexpr int piece = Load / Operand::loads_per_piece, in_piece = Load % Operand::loads_per_piece;
    const auto at = Operand::source_place(piece * Threads + this->thread);
    if constexpr (Operand::along_k) return {at.row, at.k};
    return {at.k + in_piece, at.row};
  }

  // Finds the rows of the tile that begins at row `first`.
  HK_INLINE void find(const KeySource& source, const key_sequence& sequence, u32 first) {
    static_for<rows>([&](auto i) {
      place[i.value] = find_row(source, sequence, first + spot_of<i.value>().row);
    });
  }

  // Starts to load them.
  HK_INLINE void load(const KeySource& source, const KeyRows& of, u64 base) {
    if constexpr (Kind == row_kind::adjacent) {
      if (!of.whole) {
        load_cut_chunks<u16>(
            loaded, of.width, [&](auto i) { return row_address(source, of, base, place[i.value]); },
            [&](auto i) { return spot_of<i.value>().column; });
        return;
      }
    }
    if constexpr (Kind != row_kind::any) {
      static_for<loads>([&](auto i) {
        const u32 column = spot_of<i.value>().column;
        const u64 at = row_address(source, of, base, place[i.value]) + column * 2;
        // Without a branch where rows have all columns of the tile.
        if (of.width == Width) {
          loaded[i.value] = arch::load_global<u32, 4, 2>(at);
        } else {
          loaded[i.value] = column < of.width ? bits128(arch::load_global<u32, 4, 2>(at)) : bits128(0);
        }
      });
    } else {
      static_for<loads>([&](auto i) {
        const u64 at = row_address(source, of, base, place[i.value]);
        const u32 column = spot_of<i.value>().column;
        loaded[i.value] = sizeof(T) == 1 ? load_codes(of, at, column) : load_chunk(of, at, column);
      });
    }
  }

  // Puts them into LDS; rows but [first, end) as zeros, so that they do no harm to a sum.
  HK_INLINE void write(const KeyRows& of, u32 first, u32 end) {
    if constexpr (Kind == row_kind::any && sizeof(T) == 2) {
      if (of.type > static_cast<u32>(row_type::f32)) {
        static_for<loads>([&](auto i) {
          loaded[i.value] = expand<T>(loaded[i.value], static_cast<row_type>(of.type));
        });
      }
    }
    if (first > 0 || end < Count) {
      static_for<loads>([&](auto i) {
        const u32 row = spot_of<i.value>().row;
        if (row < first || row >= end) loaded[i.value] = 0;
      });
    }
    if constexpr (Operand::write_transposes) {
      static_for<loads>([&](auto i) { this->staged[i.value] = loaded[i.value]; });
      static_for<pieces>([&](auto i) { Operand::template write<0, i.value>(0); });
    } else {
      static_for<loads>([&](auto i) {
        const u32 at = reinterpret_cast<u32>(this->image) +
                       (i.value * Threads + this->thread) * 16;
        arch::lds_store_128(at, loaded[i.value]);
      });
    }
  }

  // Slice S along k of fragment F.
  template <int F, int S>
  HK_INLINE bits128 fragment_at() const {
    const u32 address = (this->reader ^ Operand::read_xor(F, S)) + Operand::read_offset(F, S);
    if constexpr (Operand::read_transposes) {
      return arch::lds_load_transposed<4 * Operand::line_bytes>(address);
    } else {
      return arch::lds_load_128(address);
    }
  }
};

}  // namespace hk
