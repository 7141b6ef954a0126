// A feed-forward layer of few rows in one launch: h = activation(x up^T), perhaps times what the gates
// let through, then y = h down^T. A workgroup makes all rows of a slab of h's columns, and multiplies it
// with what belongs to it of `down`: partial sums of all of y, one share per slab.
//
// The slab goes through global memory, where the next product's loads find it: it stays in the L2.
#pragma once

#include "hk/product.h"

namespace hk {

// The arguments of both products: y of the first is x of the second, whose shares of k are slabs.
struct FeedForwardArgs {
  ProductArgs up;
  ProductArgs down;
};

// A tile is the configuration of the first product, of which a block has all rows. That of the second is
// made of it: the storage order DOWN of its w, blocks of DOWN_BN columns, steps of DOWN_BK of a slab.
template <class Tile>
struct down_half {
  using T = typename Tile::T;
  using X = k_major;
  using W = typename Tile::DOWN;
  static constexpr int threads = Tile::threads;
  static constexpr int BM = Tile::BM, BN = Tile::DOWN_BN, BK = Tile::DOWN_BK;
  static constexpr int WM = Tile::WM, WN = Tile::WN;
  static constexpr int STAGES = Tile::DOWN_STAGES, ATOM = Tile::ATOM;
  static constexpr int FOLD = 0;
  static constexpr bool PING_PONG = false, UNIFORM = false, SCALED = false;
};

// Fills a block's rows of h up with zeros behind the last slab: the next product reads whole chunks.
template <class Tile>
__device__ inline void fill_slab(const ProductArgs& up, u32 slab, u32 row) {
  using T = typename Tile::T;
  row += thread_idx().x;
  const bool is_last = (slab + 1) * gemm_block<Tile>::columns >= up.n;
  if (!is_last || thread_idx().x >= Tile::BM || row >= up.m) return;
  T* to = static_cast<T*>(up.y) + row * up.y_stride;
  for (u32 column = up.n; column < up.y_stride; ++column) to[column] = T(0);
}

template <class Tile>
__device__ void feed_forward(const FeedForwardArgs& args) {
  using Up = gemm_block<Tile>;
  using Down = gemm_block<down_half<Tile>>;
  static_assert(Up::columns % Down::BK == 0);
  __shared__ __attribute__((aligned(256))) char lds[max(Up::lds_bytes, Down::lds_bytes)];

  const u32 slabs = args.down.splits;
  const kept slab = block_idx().x % slabs, row = block_idx().x / slabs * Tile::BM;
  const auto in = kernel_arguments<FeedForwardArgs>();
  {
    const product_part part{0, 0, row, slab * Up::columns, args.up.m, 0, args.up.k};
    Up block;
    multiply_part(block, args.up, part, lds_start(lds));
    store_part(block, arguments_again<FeedForwardArgs>().up, &in->up, part);
  }
  fill_slab<Tile>(arguments_again<FeedForwardArgs>().up, slab, row);
  wait_global<0>();

  // Each slab begins elsewhere, so that not all read and write the same columns at a time.
  const u32 blocks = (arguments_again<FeedForwardArgs>().down.n + Down::BN - 1) / Down::BN;
  kept column = slab % blocks;
  for (kept left = blocks; left > 0; left = left - 1) {
    // The slab is complete, and no wave reads of LDS what comes next.
    meet_with_lds();
    const ProductArgs& down = arguments_again<FeedForwardArgs>().down;
    const u32 begin = slab * Up::columns;
    const u32 end = down.k - begin < Up::columns ? down.k : begin + Up::columns;
    const product_part part{0, slab, row, column * Down::BN, down.m, begin, end};
    Down block;
    multiply_part(block, down, part, lds_start(lds));
    const ProductArgs& again = arguments_again<FeedForwardArgs>().down;
    store_part(block, again, &in->down, part);
    column = (column + 1) * Down::BN < again.n ? column + 1 : 0;
  }
}

}  // namespace hk
