// c[i,j] = round(x[i,j] smooth[j] (1 / s[i])) with s[i] as `hk/row_quant.h` has it, of the products, which
// are rounded to f32. Codes are i8.
#pragma once

#include "hk/row_quant.h"

namespace hk {

struct SmoothQuantArgs {
  const void* x;
  const void* smooth;
  u8* codes;
  f32* scales;
  i64 x_stride;
  i64 codes_stride;
  u32 rows;
  u32 width;
  u32 smooth_type;  // a dtype
};

namespace {

// What `for_rows` is to do.
template <class Tile>
struct quantize_smooth_rows : one_matrix<Tile>, no_reduction {
  using one = one_matrix<Tile>;
  using T = typename Tile::T;
  using one::hold, one::start;
  using format = i8_codes;

  const SmoothQuantArgs& args;

  __device__ quantize_smooth_rows(const SmoothQuantArgs& args)
      : one{{static_cast<const T*>(args.x), args.x_stride}}, args(args) {}

  using columns = column_load<one::chunks>;

  __device__ void start(columns& to, const auto& at) const { to.start(args.smooth, type(), at); }

  __device__ chunk_values hold(const columns& from, int i, const auto& at) const {
    return from.values(i, type(), at);
  }

  using refinement = largest_magnitude;

  __device__ u32 refine(const auto& x, auto&& smooth, no_reduction) const {
    return largest_of_share<f32, one::chunks>(products(x, smooth));
  }

  __device__ void store(const auto& x, auto&& smooth, no_reduction, u32 amax,
                        const auto& at) const {
    const scaling by = row_scaling(amax, format::most);
    const matrix<u8> codes{args.codes, args.codes_stride};
    store_scaled<f32, format, one::chunks>(codes, at, by.inverse, products(x, smooth));
    if (at.column == 0 && at.leads_row()) args.scales[at.row()] = by.scale;
  }

 private:
  __device__ dtype type() const { return static_cast<dtype>(args.smooth_type); }

  __device__ static auto products(const auto& x, auto& smooth) {
    return [&](int i) { return to_f32<T, chunk>(x.of[i]) * smooth(i); };
  }
};

template <class Tile>
__device__ inline void smooth_quant(const SmoothQuantArgs& args) {
  for_rows<Tile>(quantize_smooth_rows<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
