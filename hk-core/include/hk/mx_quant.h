// Blocks of 32 consecutive elements of a row, the last of which may be shorter, to codes of 4 or 8 bits
// with a power of two: c = round(x / 2^(b - 127)), where the byte b of a block follows from its
// largest magnitude by one of five modes. Four lanes have a block; rows are read once. Rows can be parts
// of longer ones, which the grid's second dimension counts.
#pragma once

#include "hk/quant_rows.h"

namespace hk {

struct MxQuantArgs {
  const void* x;
  u8* codes;
  i64 x_stride;      // in elements, from row to row
  i64 codes_stride;  // in bytes
  i64 x_part;        // from part to part of a row
  i64 codes_part;
  BlockScales scales;
  u32 rows;
  u32 width;
  u32 format;  // an mx_format
  u32 parts;   // of a row
};

namespace {

// What `for_elements` is to do, with codes of a format.
template <class Tile, class Format>
struct quantize_blocks : one_matrix<Tile>, no_columns, no_reduction {
  using one = one_matrix<Tile>;
  using T = typename Tile::T;
  using no_columns::hold, one::hold;
  using no_columns::start, one::start;

  const MxQuantArgs& args;

  __device__ quantize_blocks(const MxQuantArgs& args)
      : one{{static_cast<const T*>(args.x) + block_idx().y * args.x_part, args.x_stride}},
        args(args) {}

  __device__ void store(const auto& x, auto&&, no_reduction, const auto& at) const {
    const u32 part = block_idx().y;
    const matrix<u8> codes{args.codes + part * args.codes_part, args.codes_stride};
    store_blocks<T, Format, one::chunks>(
        codes, args.scales, at, [&](int i) { return x.of[i]; }, part * mx_blocks(args.width));
  }
};

template <class Tile>
__device__ inline void mx_quant(const MxQuantArgs& args) {
  with_mx_format(static_cast<mx_format>(args.format), [&](auto format) {
    using format_of = decltype(format);
    // Rows are of whole bytes of codes.
    constexpr u32 unit = 8 / format_of::bits;
    for_elements<Tile, unit>(quantize_blocks<Tile, format_of>(args), args.rows, args.width);
  });
  if (args.scales.shuffled_columns != 0 && block_idx().y == 0) {
    pad_shuffled<Tile>(args.scales, args.rows, args.parts * mx_blocks(args.width));
  }
}

}  // namespace

}  // namespace hk
