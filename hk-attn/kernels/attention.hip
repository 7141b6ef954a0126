// Attention: softmax(scale Q K^T, masked) V, for queries of any sequences and keys of up to two sources
// each. See hk/attention.h.
#include "hk/attention.h"

namespace hk {

namespace {

template <class Tile>
__device__ inline void attention(const AttentionArgs&) {
  using block_of = attention_block<Tile>;
  __shared__ alignas(256) char memory[block_of::lds_bytes];
  const u32 id = contiguous_per_xcd(block_idx().x, grid_dim().x);
  const attention_task task(attention_arguments(), id);
  if (task.tile * block_of::block_q >= task.length * attention_arguments().group) return;
  block_of block(attention_arguments(), task, lds_start(memory));
  block.begin(attention_arguments());
  block.run(block.visible_tiles(attention_arguments()));
  block.finish([&](u32 row, u32 column, auto sums, row_state state) {
    constexpr int count = sizeof(sums) / sizeof(f32);
    const AttentionArgs& out = attention_arguments();
    if (out.splits > 1) {
      store_part<count>(out, part_of(out, task, row, task.split), column, sums, state);
    } else {
      store_row<count>(out, task, row, column, sums, state);
    }
  });
}

}  // namespace

}  // namespace hk
