// Codes of a product's results: numbers of f32, over a scale of all of them, as the chip's e4m3.
#pragma once

#include "hk/elements.h"
#include "hk/order.h"
#include "hk/quant.h"

namespace hk {

struct EncodeArgs {
  const f32* x;
  u8* y;
  const f32* scale;  // one
  i64 x_stride;      // in elements, as all strides; a multiple of 8, and every row is aligned
  i64 x_batch;
  i64 y_stride;
  i64 y_batch;
  u32 m, n;
  u32 batch;
  u32 reserved;
};

// Each lane takes eight numbers of a row at a time.
template <class Tile>
__device__ void encode_e4m3(const EncodeArgs& args) {
  constexpr int run = 8;
  const u32 batch = block_idx().z * grid_size().y + block_idx().y;
  if (batch >= args.batch) return;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  const f32* x = args.x + batch * args.x_batch;
  u8* y = args.y + batch * args.y_batch;
  const f32 inverse = scaling_by(*args.scale).inverse;
  for_each_piece(first, grid_size().x, args.m, (args.n + run - 1) / run, [&](u32 row, u32 piece) {
    const u32 column = piece * run;
    const u32 left = args.n - column;
    // Past the last column nobody wrote; nothing must branch on that.
    const auto values = zeros_behind<f32, run>(
        *reinterpret_cast<const vec<f32, run>*>(x + row * args.x_stride + column), left);
    const auto codes = encode<e4m3_codes, run>(values * inverse);
    store_elements<u8, run>(y + row * args.y_stride + column, 1, left, bit_cast<vec<u8, run>>(codes));
  });
}

}  // namespace hk
