// c[i,j] = round(x[i,j] * (1 / s)), or round(x[i,j] / s), with one scale s for all elements, which is
// given, or follows from the largest magnitude: s = max |x| / most, where `most` is the largest code; 1
// for zeros. Two launches then read x once each: each workgroup of the first stores the largest that it
// finds.
#pragma once

#include "hk/quant_rows.h"

namespace hk {

struct AmaxArgs {
  const void* x;
  u32* largest;  // of each workgroup: bits of f32
  i64 x_stride;  // in elements, from row to row, as all strides
  u32 rows;
  u32 width;
};

struct StaticQuantArgs {
  const void* x;
  const f32* scale;    // null if it follows from `largest`
  const u32* largest;  // of workgroups
  f32* scale_out;
  u8* codes;
  i64 x_stride;
  i64 codes_stride;
  u32 workgroups;  // of which there is the largest
  u32 rows;
  u32 width;
  u32 format;   // a byte_format
  u32 divides;  // whether numbers are divided by the scale; of floating point only
};

namespace {

// What `for_elements` is to do.
template <class Tile>
struct find_largest : one_matrix<Tile>, no_columns, no_reduction {
  using one = one_matrix<Tile>;
  using T = typename Tile::T;
  using no_columns::hold, one::hold;
  using no_columns::start, one::start;

  u32& amax;  // of the lane

  __device__ find_largest(const AmaxArgs& args, u32& amax)
      : one{{static_cast<const T*>(args.x), args.x_stride}}, amax(amax) {}

  __device__ void store(const auto& x, auto&&, no_reduction, const auto&) const {
    const u32 share = largest_of_share<T, one::chunks>([&](int i) { return x.of[i]; });
    amax = largest_magnitude::apply(amax, share);
  }
};

// What `for_elements` is to do.
template <class Tile>
struct quantize_by : one_matrix<Tile>, no_columns, no_reduction {
  using one = one_matrix<Tile>;
  using T = typename Tile::T;
  using no_columns::hold, one::hold;
  using no_columns::start, one::start;

  const StaticQuantArgs& args;
  scaling by;

  __device__ quantize_by(const StaticQuantArgs& args, scaling by)
      : one{{static_cast<const T*>(args.x), args.x_stride}}, args(args), by(by) {}

  __device__ void store(const auto& x, auto&&, no_reduction, const auto& at) const {
    const matrix<u8> codes{args.codes, args.codes_stride};
    with_format(static_cast<byte_format>(args.format), [&](auto format) {
      using format_of = decltype(format);
      const bool divides = !__is_same(format_of, i8_codes) && args.divides != 0;
      store_codes<8, one::chunks>(codes, at, [&](int i) {
        const chunk_values values = to_f32<T, chunk>(x.of[i]);
        return encode<format_of, chunk>(divides ? values / by.scale : values * by.inverse);
      });
    });
  }
};

// The largest that the lanes of the workgroup have.
template <class Tile>
__device__ inline u32 largest_of_workgroup(u32 amax) {
  constexpr int waves = Tile::threads / wave_size;
  __shared__ u32 scratch[waves];
  return workgroup_reduce<largest_magnitude, waves>(amax, scratch);
}

// Workgroups of the launch before, at most; the number is the host's.
inline constexpr u32 most_workgroups = 2048;

// The largest that they have.
template <class Tile>
__device__ inline u32 largest_of_launch(const StaticQuantArgs& args) {
  // There are zeros behind.
  const arch::checked_range all{args.largest, args.workgroups * static_cast<u32>(sizeof(u32))};
  u32 amax = 0;
  for (u32 first = 0; first < most_workgroups; first += 4 * Tile::threads) {
    const bits128 four = all.load_128((first + 4 * thread_idx().x) * static_cast<u32>(sizeof(u32)));
    for (int i = 0; i < 4; ++i) amax = largest_magnitude::apply(amax, four[i]);
  }
  return largest_of_workgroup<Tile>(amax);
}

template <class Tile>
__device__ inline void amax(const AmaxArgs& args) {
  u32 of_lane = 0;
  for_elements<Tile>(find_largest<Tile>(args, of_lane), args.rows, args.width);
  const u32 largest = largest_of_workgroup<Tile>(of_lane);
  if (thread_idx().x == 0) args.largest[block_idx().x] = largest;
}

template <class Tile>
__device__ inline void static_quant(const StaticQuantArgs& args) {
  scaling by;
  if (args.scale != nullptr) {
    by = scaling_by(*args.scale);
  } else {
    const f32 most = with_format(static_cast<byte_format>(args.format),
                                 [](auto format) { return decltype(format)::most; });
    by = row_scaling(largest_of_launch<Tile>(args), most);
    if (block_idx().x == 0 && thread_idx().x == 0) *args.scale_out = by.scale;
    if (args.rows == 0) return;
  }
  for_elements<Tile>(quantize_by<Tile>(args, by), args.rows, args.width);
}

}  // namespace

}  // namespace hk
