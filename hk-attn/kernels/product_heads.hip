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
  const auto in = kernel_arguments<ProductHeadsArgs>();
  const u32 id = block_idx().x;
  if (id >= args.blocks) {
    move_heads<heads_half<Tile>>(arguments_again<ProductHeadsArgs>().heads, args.blocks);
    return;
  }
  const ProductArgs& product = args.product;
  const auto part = product_part::of(product, id, Tile::BM, Block::columns, Tile::GROUP);
  Block block;
  multiply_part(block, product, part, lds_start(lds));
  if (args.y_scale != nullptr) {
    const f32 inverse = 1 / *args.y_scale;
    for (auto& row : block.sum) {
      for (auto& fragment : row) fragment *= inverse;
    }
  }
  store_part(block, product, &in->product, part);
}

}  // namespace hk
