// A batch of products whose rows of results stand beside rows of heads, and these heads, in one launch:
// neither needs the other. Blocks of the products come first; the workgroups behind share the heads.
#include "hk/heads.h"
#include "hk/product.h"

namespace hk {

struct ProductHeadsArgs {
  ProductArgs product;
  HeadsArgs heads;
  const f32* y_scale;  // what the products are divided by, if there is one
  u32 blocks;          // of the products
  u32 reserved;
};

// A tile is the configuration of the products. That of the heads is made of it: of elements HEAD, in runs
// of RUN.
template <class Tile>
struct heads_half {
  using T = typename Tile::HEAD;
  static constexpr int RUN = Tile::RUN;
  static constexpr int threads = Tile::threads;
  static constexpr bool NORM = false;
};

template <class Tile>
__device__ void product_heads(const ProductHeadsArgs& args) {
  using Block = gemm_block<Tile>;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];
  const u32 id = block_idx().x;
  if (id >= args.blocks) {
    move_heads<heads_half<Tile>>(arguments_again<ProductHeadsArgs>().heads, args.blocks);
    return;
  }
  const ProductArgs& product = args.product;
  const auto part = product_part::of(product, id, Tile::BM, Block::columns, Tile::GROUP);
  Block block;
  multiply_part(block, product, part, lds_start(lds));

  const f32 inverse = args.y_scale == nullptr ? 1 : 1 / *args.y_scale;
  const result_matrix y = detail::results_of(product, part.batch * product.y_batch);
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < Block::runs; ++i) {
    const u32 row = part.row + block.result_row(i), column = part.column + block.result_column(i);
    if (row >= product.m || column >= product.n) continue;
    vec<f32, Block::run> values;
    with_constant<0, Block::runs>(i, [&](auto c) { values = block.template results<c>(); });
    store_run(y, row, column, values * inverse);
  }
}

}  // namespace hk
