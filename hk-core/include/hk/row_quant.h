// c[i,j] = round(x[i,j] * (1 / s[i])) with s[i] = max_j |x[i,j]| / most, where `most` is the
// largest code; s[i] = 1 for rows of zeros. Rows are read once, or twice if they do not fit the
// registers.
#pragma once

#include "hk/quant_rows.h"

namespace hk {

struct RowQuantArgs {
  const void* x;
  u8* codes;
  f32* scales;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 codes_stride;
  u32 rows;
  u32 width;
  u32 format;  // a byte_format
};

namespace {

// What `for_rows` is to do.
template <class Tile>
struct quantize_rows : one_matrix<Tile>, no_columns {
  using one = one_matrix<Tile>;
  using T = typename Tile::T;
  using no_columns::hold, one::hold;
  using no_columns::start, one::start;
  using reduction = largest_magnitude;

  const RowQuantArgs& args;

  __device__ quantize_rows(const RowQuantArgs& args)
      : one{{static_cast<const T*>(args.x), args.x_stride}}, args(args) {}

  __device__ u32 measure(const auto& x) const {
    return largest_of_share<T, one::chunks>([&](int i) { return x.of[i]; });
  }

  __device__ void store(const auto& x, auto&&, u32 amax, const auto& at) const {
    const matrix<u8> codes{args.codes, args.codes_stride};
    with_format(static_cast<byte_format>(args.format), [&](auto format) {
      using format_of = decltype(format);
      const scaling by = row_scaling(amax, format_of::most);
      store_scaled<T, format_of, one::chunks>(codes, at, by.inverse,
                                              [&](int i) { return x.of[i]; });
      if (at.column == 0 && at.leads_row()) args.scales[at.row()] = by.scale;
    });
  }
};

template <class Tile>
__device__ inline void row_quant(const RowQuantArgs& args) {
  for_rows<Tile>(quantize_rows<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
