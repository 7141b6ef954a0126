// Scales of MX blocks, e8m0, on their way from global memory to the lanes that multiply with them: rows
// of them are aligned to 16 bytes and filled up to that.
#pragma once

#include "hk/memory.h"
#include "hk/mixed.h"
#include "hk/scale_tiles.h"

namespace hk {

// k of a block.
inline constexpr u32 block_depth = 32;

// An operand's scales for a workgroup. Those of a row follow each other; or, if they are `tiled`, those of a
// `scale_tile`.
struct block_scale_stream {
  const u8* matrix;
  i64 stride;       // from row to row, in tiles on average
  u32 row, rows;    // the workgroup's first, and where the matrix ends
  u32 begin, end;   // the share's first block, and where all end
  bool tiled;

  // Those of the workgroup's rows. Tiles begin with an earlier row, perhaps.
  __device__ const u8* first() const {
    return matrix + i64{tiled ? row / scale_tile::rows * scale_tile::rows : row} * stride;
  }
  __device__ u32 row_in_tile() const { return tiled ? row % scale_tile::rows : 0; }
};

struct block_scale_streams {
  block_scale_stream x, w;
};

// Those that a lane needs in a step of `Slices` slices, each of 128 k: of the row that it holds of each
// fragment, from `first_row` on. They are loaded a step ahead.
//
// Of each slice, a lane needs one scale of a row's four: a byte of the two words that it loads for two slices.
template <class T, class Map, int Fragments, int Slices, bool = has_blocks<T>>
struct block_scales {
  static_assert(Map::dim == 16 && Slices % 2 == 0);
  static constexpr int pairs = Slices / 2;
  // Fragments by turns are the first and the second 16 of 32 rows, if any are.
  static constexpr int kinds = min(Fragments, 2);
  using words = vec<u32, 2>;

  block_scale_stream of;
  const u8* first;
  u32 offset[Fragments];
  u32 pick[2][kinds];  // which byte, as a selector
  words next[pairs][Fragments];
  words now[pairs][Fragments];

  __device__ block_scales(const block_scale_stream& of, u32 first_row)
      : of(of), first(of.first()) {
    const u32 block = lane_id() / Map::dim, begin = of.row_in_tile(), left = of.rows - of.row;
    const u32 stride = static_cast<u32>(of.stride);
    static_for<Fragments>([&](auto f) {
      const u32 row = first_row + Map::base_row(f) + Map::lane_row(lane_id() % Map::dim);
      const u32 in_tiles = begin + row;
      const u32 tile = in_tiles / scale_tile::rows * scale_tile::rows * stride;
      // A pair of words is aligned as such.
      const u32 word = scale_tile::byte_of(in_tiles % 16, block) / sizeof(words) * sizeof(words);
      offset[f] = row >= left ? out_of_range : of.tiled ? tile + word : row * stride;
    });
    static_for<kinds>([&](auto f) {
      const u32 row = begin + first_row + Map::base_row(f) + Map::lane_row(lane_id() % Map::dim);
      static_for<2>([&](auto s) {
        const u32 byte = scale_tile::byte_of(row, block + s * 4) % sizeof(words);
        pick[s][f] = zeros_but_lowest | (of.tiled ? byte : s * 4 + block);
      });
    });
  }

  // Starts loading those from `k` on. There are none past the end of a row.
  __device__ void load(u32 k) {
    const u32 block = of.begin + k / block_depth;
    // From one pair of slices, which is as long as a tile, to the next.
    const u32 step = of.tiled ? scale_tile::bytes : scale_tile::blocks;
    const u8* from = first + block / scale_tile::blocks * step;
    static_for<pairs>([&](auto p) {
      const bool exists = block + p * scale_tile::blocks < of.end;
      const buffer pair(from + p * step, exists ? out_of_range : 0);
      static_for<Fragments>([&](auto f) { next[p][f] = pair.load_64(offset[f]); });
    });
  }
  // Takes what was loaded for this step, and loads for the next.
  __device__ void take_and_load(u32 k) {
    static_for<pairs>([&](auto p) {
      static_for<Fragments>([&](auto f) { now[p][f] = next[p][f]; });
    });
    load(k);
  }

  // That of a fragment's row in a slice.
  template <int F, int Slice>
  __device__ u32 scale() const {
    const words& pair = now[Slice / 2][F];
    return arch::byte_of_table(pair[1], pair[0], pick[Slice % 2][F % kinds]);
  }

 private:
  static constexpr u32 zeros_but_lowest = 0x0c0c0c00;
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
