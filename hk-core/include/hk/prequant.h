// Kernels that quantise an operand of 16 bits before a product, as rows of codes that the product takes:
// aligned to 16 bytes and filled up with zeros. A lane has eight numbers of a row at a time, and the
// lanes of a group of k find its largest magnitude together.
#pragma once

#include "hk/elements.h"
#include "hk/mixed.h"
#include "hk/order.h"
#include "hk/quant.h"
#include "hk/wave.h"

namespace hk {

struct PrequantArgs {
  const void* x;
  u8* codes;
  u8* blocks;   // e8m0 of MX blocks, or
  f32* scales;  // of groups of other sizes
  i64 x_stride;  // in elements
  i64 x_batch;
  i64 code_stride;
  i64 code_batch;
  i64 scale_stride;
  i64 scale_batch;
  u32 m, k;
  u32 batch;
  u32 group;       // k of one: 32, 64, 128 or 256
  u32 reciprocal;  // whether a scale is the largest magnitude times 1 / the largest code, not over it
  u32 reserved;
};

namespace detail {

inline constexpr int prequant_run = 8;

// Calls `body(row, column, values)` for every run of x, whose rows are filled up to a multiple of `whole`
// numbers: so that groups of so many, or of fewer, are aligned groups of lanes.
template <class T, class F>
__device__ inline void for_runs(const PrequantArgs& args, u32 whole, u32 batch, F&& body) {
  const u32 runs = (args.k + whole - 1) / whole * (whole / prequant_run);
  const u32 first = block_idx().x * block_dim().x + thread_idx().x;
  const T* x = static_cast<const T*>(args.x) + batch * args.x_batch;
  for_each_piece(first, grid_size().x, args.m, runs, [&](u32 row, u32 run) {
    const u32 column = run * prequant_run;
    vec<T, prequant_run> values = 0;
    if (column < args.k) {
      const T* from = x + row * args.x_stride + column;
      values = load_elements_or_zeros<T, prequant_run>(from, args.k - column);
    }
    body(row, column, values);
  });
}

}  // namespace detail

// To e2m1 with a scale per MX block, in mode `even`.
template <class Tile>
__device__ void prequant_mx(const PrequantArgs& args) {
  using T = typename Tile::T;
  const u32 batch = block_idx().z * grid_size().y + block_idx().y;
  if (batch >= args.batch) return;
  constexpr u32 block = 32;
  // Rows of scales, too, are read in chunks of 16 bytes.
  constexpr u32 whole = 16 * block;
  detail::for_runs<T>(args, whole, batch, [&](u32 row, u32 column, auto values) {
    constexpr int lanes = block / detail::prequant_run;
    const u32 amax =
        wave_reduce<largest_magnitude, lanes>(largest<T, detail::prequant_run>(magnitudes(values)));
    const u32 scale = mx_scale<mx_e2m1>(amax, mx_round::even);
    // All lanes of the block store the same.
    args.blocks[batch * args.scale_batch + row * args.scale_stride + column / block] = scale;
    if (column / 2 >= args.code_stride) return;
    u8* codes = args.codes + batch * args.code_batch + row * args.code_stride + column / 2;
    *reinterpret_cast<u32*>(codes) =
        mx_encode<mx_e2m1>(to_f32<T, detail::prequant_run>(values), scale)[0];
  });
}

// To e4m3 with a scale per group.
template <class Tile>
__device__ void prequant_groups(const PrequantArgs& args) {
  using T = typename Tile::T;
  const u32 batch = block_idx().z * grid_size().y + block_idx().y;
  if (batch >= args.batch) return;
  const auto of_groups = [&](auto group) {
    detail::for_runs<T>(args, group, batch, [&](u32 row, u32 column, auto values) {
      constexpr int lanes = group / detail::prequant_run;
      const u32 amax =
          wave_reduce<largest_magnitude, lanes>(largest<T, detail::prequant_run>(magnitudes(values)));
      const u32 least = bit_cast<u32>(1e-10f);
      const f32 most = bit_cast<f32>(amax > least ? amax : least);
      const f32 scale = args.reciprocal ? most * (1.0f / e4m3_codes::most) : most / e4m3_codes::most;
      args.scales[batch * args.scale_batch + row * args.scale_stride + column / group] = scale;
      // Past the last chunk of 16 bytes there is no place.
      if (column >= args.code_stride) return;
      u8* codes = args.codes + batch * args.code_batch + row * args.code_stride + column;
      *reinterpret_cast<vec<u32, 2>*>(codes) =
          encode<e4m3_codes, detail::prequant_run>(to_f32<T, detail::prequant_run>(values) * (1.0f / scale));
    });
  };
  if (args.group <= 32) {
    of_groups(constant<32>{});
  } else if (args.group <= 64) {
    of_groups(constant<64>{});
  } else if (args.group <= 128) {
    of_groups(constant<128>{});
  } else {
    of_groups(constant<256>{});
  }
}

}  // namespace hk
