// Codes of a product's results: numbers of f32, over a scale of all of them, as the chip's e4m3.
#pragma once

#include "hk/hip.h"
#include "hk/order.h"
#include "hk/quant.h"
#include "hk/types.h"

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
  u32 wide;  // whether every run of eight codes is aligned to 8 bytes
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
    auto values = *reinterpret_cast<const vec<f32, run>*>(x + row * args.x_stride + column);
    // Past the last column nobody wrote; nothing must branch on that.
    for (u32 j = 1; j < run; ++j) {
      if (column + j >= args.n) values[j] = 0;
    }
    const auto codes = encode<e4m3_codes, run>(values * inverse);
    u8* to = y + row * args.y_stride + column;
    if (args.wide && column + run <= args.n) {
      *reinterpret_cast<vec<u32, run / 4>*>(to) = codes;
      return;
    }
    const auto bytes = bit_cast<vec<u8, run>>(codes);
    to[0] = bytes[0];
    for (u32 j = 1; j < run; ++j) {
      if (column + j < args.n) to[j] = bytes[j];
    }
  });
}

}  // namespace hk
