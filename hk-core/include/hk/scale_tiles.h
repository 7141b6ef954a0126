// The order in which scaled matrix products read scales of MX blocks: tiles of 32 rows and 8 blocks.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

struct scale_tile {
  static constexpr u32 rows = 32, blocks = 8, bytes = rows * blocks;

  // Where in its tile the scale of a block of a row is. The four of a word are those of two rows and of two
  // blocks.
  __device__ static u32 byte_of(u32 row, u32 block) {
    return block % 4 * 64 + row % 16 * 4 + block % blocks / 4 * 2 + row % rows / 16;
  }
};

// Where the scale of block `column` of a row is, in bytes. `columns` is a multiple of 8.
__device__ inline i64 shuffled_scale(u32 row, u32 column, u32 columns) {
  using tile = scale_tile;
  return static_cast<i64>(row / tile::rows) * tile::rows * columns +
         static_cast<i64>(column / tile::blocks) * tile::bytes + tile::byte_of(row, column);
}

}  // namespace hk
