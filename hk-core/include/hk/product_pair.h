// Two products of the same rows in one launch: x and w of a narrow type with scales, and x and w of 16
// bits, each with results of its own. Blocks of both have the same size; those of 16 bits, which take
// longer, come first.
#pragma once

#include "hk/product.h"

namespace hk {

// The two products' arguments.
struct ProductPairArgs {
  ProductArgs narrow;
  ProductArgs wide;
};

// A tile is the configuration of the narrow product. That of the other one is made of it: the type
// WIDE, steps along k of WIDE_BK, and as many LDS slots as WIDE_STAGES says.
template <class Tile>
struct wide_half {
  using T = typename Tile::WIDE;
  using X = k_major;
  using W = k_major;
  static constexpr int threads = Tile::threads;
  static constexpr int BM = Tile::BM, BN = Tile::BN, BK = Tile::WIDE_BK;
  static constexpr int WM = Tile::WM, WN = Tile::WN;
  static constexpr int STAGES = Tile::WIDE_STAGES, ATOM = Tile::ATOM, GROUP = Tile::GROUP;
  static constexpr int FOLD = 0;
  static constexpr bool PING_PONG = false, UNIFORM = false, SCALED = false;
  static_assert(Tile::BK % BK == 0, "shares of k are the same for both");
};

template <class Tile>
__device__ void product_pair(const ProductPairArgs& args) {
  using Wide = wide_half<Tile>;
  constexpr int bytes = max(gemm_block<Tile>::lds_bytes, gemm_block<Wide>::lds_bytes);
  __shared__ __attribute__((aligned(256))) char lds[bytes];

  const auto make = [&]<class Half>(gemm_block<Half> block, ProductArgs ProductPairArgs::*half,
                                    detail::argument_pointer in, u32 id) {
    const auto part = [&](const ProductArgs& of) {
      return product_part::of(of, id, Half::BM, Half::BN, Half::GROUP);
    };
    multiply_part(block, args.*half, part(args.*half), lds_start(lds));
    // All again: there are too few scalar registers to keep it.
    arch::forget_scalar(id);
    const ProductArgs& again = arguments_again<ProductPairArgs>().*half;
    store_part(block, again, in, part(again));
  };
  const auto in = kernel_arguments<ProductPairArgs>();
  const u32 wide_parts = product_part::count(args.wide, Wide::BM, Wide::BN);
  const u32 id = block_idx().x;
  if (id < wide_parts) {
    make(gemm_block<Wide>{}, &ProductPairArgs::wide, &in->wide, id);
  } else {
    make(gemm_block<Tile>{}, &ProductPairArgs::narrow, &in->narrow, id - wide_parts);
  }
}

}  // namespace hk
