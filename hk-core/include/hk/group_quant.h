// Groups of 32, 64 or 128 consecutive elements of a row, the last of which may be shorter, to codes of
// 8 bits: c = round(x * (1 / s)) with s = max(max |x|, 1e-10) / most for each group, where `most` is the
// largest code. Lanes next to each other have a group; rows are read once. Rows can be parts of longer
// ones, which the grid's second dimension counts.
#pragma once

#include "hk/quant_rows.h"

namespace hk {

struct GroupQuantArgs {
  const void* x;
  u8* codes;
  i64 x_stride;  // in elements, from row to row
  i64 codes_stride;
  i64 x_part;  // from part to part of a row
  i64 codes_part;
  GroupScales scales;
  u32 rows;
  u32 width;
};

namespace {

// What `for_elements` is to do.
template <class Tile>
struct quantize_groups : one_matrix<Tile>, no_columns, no_reduction {
  using one = one_matrix<Tile>;
  using T = typename Tile::T;
  using no_columns::hold, one::hold;
  using no_columns::start, one::start;

  const GroupQuantArgs& args;

  __device__ quantize_groups(const GroupQuantArgs& args)
      : one{{static_cast<const T*>(args.x) + block_idx().y * args.x_part, args.x_stride}},
        args(args) {}

  __device__ void store(const auto& x, auto&&, no_reduction, const auto& at) const {
    const u32 part = block_idx().y, groups_of_part = group_of(args.scales, args.width - 1) + 1;
    const matrix<u8> codes{args.codes + part * args.codes_part, args.codes_stride};
    with_format(static_cast<byte_format>(args.scales.format), [&](auto format) {
      store_groups<T, decltype(format), one::chunks>(
          codes, args.scales, at, [&](int i) { return x.of[i]; }, part * groups_of_part);
    });
  }
};

template <class Tile>
__device__ inline void group_quant(const GroupQuantArgs& args) {
  for_elements<Tile>(quantize_groups<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
