// Scales of MX blocks, e8m0, on their way from global memory to the lanes that multiply with them: rows
// of them are aligned to 16 bytes and filled up to that.
#pragma once

#include "hk/memory.h"
#include "hk/mixed.h"

namespace hk {

// k of a block.
inline constexpr u32 block_depth = 32;

// An operand's scales for a workgroup: those of its first row and first k on, of so many rows, of which
// each has so many bytes to its end.
struct block_scale_stream {
  const u8* first;
  i64 stride;
  u32 rows;
  u32 left;
};

struct block_scale_streams {
  block_scale_stream x, w;
};

// Those that a lane needs in a step of `Slices` slices, each of 128 k: of the row that it holds of each
// fragment, from `first_row` on. They are loaded a step ahead.
template <class T, class Map, int Fragments, int Slices, bool = has_blocks<T>>
struct block_scales {
  static_assert(Map::dim == 16);
  // Four of a row for each slice, of which a lane needs one.
  using words = vec<u32, Slices>;

  block_scale_stream of;
  u32 offset[Fragments];
  words next[Fragments];
  words now[Fragments];

  __device__ block_scales(const block_scale_stream& of, u32 first_row) : of(of) {
    static_for<Fragments>([&](auto f) {
      const u32 row = first_row + Map::base_row(f) + Map::lane_row(lane_id() % Map::dim);
      offset[f] = row < of.rows ? row * static_cast<u32>(of.stride) : out_of_range;
    });
  }

  // Starts loading those of k from `first` on. There are none past the end of a row.
  __device__ void load(u32 first) {
    const u32 begin = first / block_depth;
    const bool exists = begin < of.left;
    const buffer from(of.first + begin, exists ? out_of_range : 0);
    static_for<Fragments>([&](auto f) {
      if constexpr (Slices == 1) {
        next[f] = from.load_32(offset[f]);
      } else if constexpr (Slices == 2) {
        next[f] = from.load_64(offset[f]);
      } else {
        static_assert(Slices == 4);
        next[f] = from.load_128(offset[f]);
      }
    });
  }
  // Takes what was loaded for this step, and loads for the next.
  __device__ void take_and_load(u32 first) {
    static_for<Fragments>([&](auto f) { now[f] = next[f]; });
    load(first);
  }

  // That of a fragment's row in a slice.
  template <int F, int Slice>
  __device__ u32 scale() const {
    return now[F][Slice] >> (lane_id() / Map::dim * 8) & 0xff;
  }
};

template <class T, class Map, int Fragments, int Slices>
struct block_scales<T, Map, Fragments, Slices, false> {
  __device__ block_scales(const block_scale_stream&, u32) {}
  __device__ void load(u32) {}
  __device__ void take_and_load(u32) {}
  template <int F, int Slice>
  __device__ u32 scale() const {
    return 0;
  }
};

}  // namespace hk
