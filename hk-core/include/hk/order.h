// The order in which workgroups take output tiles, so that those which run at the same time on one
// XCD share rows and columns in its L2.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

struct tile_index {
  u32 row, column;
};

// The hardware deals workgroups to XCDs in turn. Renumbers them so that each XCD gets consecutive
// numbers. A bijection of [0, count) for every count.
__device__ inline u32 contiguous_per_xcd(u32 id, u32 count) {
  constexpr u32 xcds = arch::xcds;
  const u32 xcd = id % xcds;
  const u32 position = id / xcds;
  // The first `longer` XCDs have one more than the others.
  const u32 longer = count % xcds;
  return xcd * (count / xcds) + (xcd < longer ? xcd : longer) + position;
}

// Calls `body` with the row and column of each of `rows` x `columns` pieces of work that belongs to
// work-item `first`: that many rows' pieces on, and one for every `stride` further ones. There may be
// more pieces than 32 bits count, and a division of 64 bits would be slow.
template <class F>
__device__ inline void for_each_piece(u32 first, u32 stride, u32 rows, u32 columns, F&& body) {
  const u32 rows_on = stride / columns;
  const u32 columns_on = stride % columns;
  u32 column = first % columns;
  for (u64 row = first / columns; row < rows; row += rows_on) {
    body(static_cast<u32>(row), column);
    column += columns_on;
    if (column >= columns) {
      column -= columns;
      ++row;
    }
  }
}

// Walks the tiles in groups of `height` tile rows, column after column within a group.
__device__ inline tile_index grouped_order(u32 id, u32 rows, u32 columns, u32 height) {
  const u32 group = id / (height * columns);
  const u32 first = group * height;
  const u32 left = rows - first;
  const u32 members = left < height ? left : height;
  const u32 within = id - first * columns;
  return {first + within % members, within / members};
}

}  // namespace hk
