// Attention of 8-bit queries and keys, whose blocks have scales, to 8-bit values, whose channels have; see
// hk/attention.h. A workgroup has rows of one block of one head of queries.
#include "hk/attention.h"

namespace hk {

struct SageArgs {
  AttentionArgs attention;  // of heads of queries, each with its own keys
  const f32* q_scales;      // of blocks of queries, in units of log2; distances in elements
  i64 q_scale_sequence;
  i64 q_scale_head;
  const f32* k_scales;
  i64 k_scale_sequence;
  i64 k_scale_head;
  const f32* v_scales;
  i64 v_scale_sequence;
  i64 v_scale_head;
  const f32* delta;  // what is added to scores of a block of queries, for each key; null if nothing
  i64 delta_sequence;
  i64 delta_head;
  i64 delta_block;
  const f32* delta_lse;  // what is added to logarithms of sums; null if nothing
  i64 delta_lse_sequence;
  i64 delta_lse_head;
  i64 delta_lse_row;
  IndexList indices;     // blocks of keys that a block of queries sees; all if there is no list
  IndexList starts;
  IndexList counts;
  u32 query_block;
  u32 key_block;
  u32 query_blocks;
  u32 group;  // heads of queries that have the same keys
};

namespace {

__device__ inline const SageArgs& sage_arguments() {
  return *(const SageArgs*)&attention_arguments();
}

// Tiles of keys, by number: all of them, or those of the blocks of a list.
template <class Block>
struct sage_tiles {
  u32 start, count;  // in the list
  static constexpr u32 none = ~0u;

  __device__ sage_tiles(const SageArgs& in, const attention_task& task, u32 query_block) {
    start = count = 0;
    if (in.indices.base == nullptr) return;
    const u32 heads = in.attention.kv_heads;
    const u32 entry = (task.sequence * heads + task.head) * in.query_blocks + query_block;
    const i64 begin = index_at(in.starts, entry), wanted = index_at(in.counts, entry);
    start = uniform(key_sequence::at_most(in.indices.count, begin));
    count = uniform(key_sequence::at_most(in.indices.count - start, wanted));
  }

  __device__ typename Block::span operator()(const Block& block, u32 number) const {
    const SageArgs& in = sage_arguments();
    if (in.indices.base == nullptr) return block.span_of(number);
    const u32 each = in.key_block / Block::block_k, entry = number / each;
    const u32 of_keys = uniform(static_cast<u32>(index_at(in.indices, start + entry)));
    const u64 row = u64{of_keys} * in.key_block + (number - entry * each) * Block::block_k;
    // Blocks may end before their last tile, or not be there.
    if (row >= block.total) return {false, 0, 0, 0};
    return block.span_of(static_cast<u32>(row) / Block::block_k);
  }
};

template <class Tile>
__device__ inline void sage_attention(const SageArgs&) {
  using block_of = attention_block<Tile>;
  using span = typename block_of::span;
  __shared__ alignas(256) char memory[block_of::lds_bytes];
  const u32 id = contiguous_per_xcd(block_idx().x, grid_dim().x);
  const attention_task task(attention_arguments(), id);
  if (task.tile * block_of::block_q >= task.length) return;
  block_of block(attention_arguments(), task, lds_start(memory));
  block.begin(attention_arguments());
  const SageArgs& given = sage_arguments();
  block.key_head = task.head / given.group;
  // Scores are in units of log2 before they become weights.
  block.has_steps = true;
  const u32 query_block = uniform(task.tile * block_of::block_q / given.query_block);
  const f32 q_scale = given.q_scales[task.sequence * given.q_scale_sequence +
                                     task.head * given.q_scale_head + query_block];
  const auto weigh = [&](typename block_of::scores& s, const span& tile) {
    const SageArgs& in = sage_arguments();
    const u32 of_keys = uniform(tile.position / in.key_block);
    const f32 k_scale = in.k_scales[task.sequence * in.k_scale_sequence +
                                    block.key_head * in.k_scale_head + of_keys];
    const f32 by = q_scale * k_scale;
    const f32* delta = in.delta;
    if (delta != nullptr) {
      delta += task.sequence * in.delta_sequence + task.head * in.delta_head +
               query_block * in.delta_block;
    }
    block_of::each([&](auto f, auto n) {
      vec<f32, 4>& four = s[f.value][n.value];
      four *= by;
      if (delta == nullptr) return;
      const u32 key = tile.position + block_of::first_key_of_lane() + block_of::key_of(f.value, 0);
      static_for<4>([&](auto i) {
        const u32 at = key + i.value;
        four[i.value] += delta[at < block.total ? at : block.total - 1];
      });
    });
    block.hide(s, tile);
    block.weigh(s);
  };
  const sage_tiles<block_of> tiles(given, task, query_block);
  const auto span_of = [&](u32 number) { return tiles(block, number); };
  if (given.indices.base == nullptr) {
    block.run(block.visible_tiles(attention_arguments()), span_of, weigh);
  } else if (block.total > 0) {
    block.run({0, tiles.count * (given.key_block / block_of::block_k)}, span_of, weigh);
  }
  block.finish([&](u32 row, u32 column, auto sums, row_state state) {
    constexpr int count = sizeof(sums) / sizeof(f32);
    const SageArgs& in = sage_arguments();
    const AttentionArgs& out = in.attention;
    const f32* scales = in.v_scales + block.task.sequence * in.v_scale_sequence +
                        block.key_head * in.v_scale_head;
    // Sums times scales may be beyond f32 where averages times scales are not.
    sums *= state.sum == 0 ? 0 : 1 / state.sum;
    for (int i = 0; i < count; ++i) {
      const u32 at = column + i, last = out.value_width - 1;
      sums[i] *= scales[at < last ? at : last];
    }
    // Of averages the sum of weights is 1; its logarithm is the same.
    const row_state averaged = {state.maximum + arch::log2(state.sum), 1};
    store_row<count>(out, block.task, row, column, sums, averaged);
    if (column == 0 && out.lse != nullptr && in.delta_lse != nullptr) {
      const i64 at = block.task.sequence * out.lse_sequence + row * out.lse_row +
                     block.task.head * out.lse_head;
      out.lse[at] += in.delta_lse[block.task.sequence * in.delta_lse_sequence +
                                  block.task.head * in.delta_lse_head + row * in.delta_lse_row];
    }
  });
}

}  // namespace

}  // namespace hk
