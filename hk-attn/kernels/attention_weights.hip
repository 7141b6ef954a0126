// The weights of an attention, for tests: of each row of queries and key exp(s - lse), negative if they are
// dropped, 0 where a key is not visible or a row or key not there. See hk/attention.h.
//
// Scores are computed again, as attention computes them, once the logarithms of sums are known.
#include "hk/attention.h"

namespace hk {

struct WeightsArgs {
  AttentionArgs attention;  // `lse` are those of the results
  f32* weights;             // distances in elements; keys are adjacent
  i64 weights_sequence;
  i64 weights_head;
  i64 weights_row;
  u32 keys;  // that each row has a place for
  u32 reserved;
};

namespace {

__device__ inline const WeightsArgs& weights_arguments() {
  return *(const WeightsArgs*)&attention_arguments();
}

template <class Tile>
__device__ inline void attention_weights(const WeightsArgs&) {
  using block_of = attention_block<Tile>;
  using span = typename block_of::span;
  static_assert(block_of::k_waves == 1);
  __shared__ alignas(256) char memory[block_of::lds_bytes];
  const attention_task task(attention_arguments(), block_idx().x);
  const auto row_at = [&](u32 row) {
    const WeightsArgs& in = weights_arguments();
    const u32 group = in.attention.group;
    return in.weights + task.sequence * in.weights_sequence +
           (task.head * group + row % group) * in.weights_head + row / group * in.weights_row;
  };
  const u32 first_row = task.tile * block_of::block_q;
  block_of block(attention_arguments(), task, lds_start(memory));
  const u32 keys = block_of::min_of(block.total, weights_arguments().keys);
  if (first_row < block.rows && block.total > 0) {
    block.begin(attention_arguments());
    f32 lse[block_of::q_fragments];
    static_for<block_of::q_fragments>([&](auto n) {
      const AttentionArgs& in = attention_arguments();
      const u32 row = block_of::min_of(block.row_of(n), block.rows - 1);
      const u64 query = u64{task.start} + row / in.group;
      lse[n.value] = in.lse[task.sequence * in.lse_sequence + query * in.lse_row +
                            (task.head * in.group + row % in.group) * in.lse_head];
    });
    const auto weigh = [&](typename block_of::scores& s, const span& tile) {
      const AttentionArgs& in = attention_arguments();
      block.change(in, s, tile);
      block.hide(s, tile);
      typename block_of::scores kept;
      block_of::each([&](auto f, auto n) {
        static_for<4>([&](auto i) {
          // A row without weights has a sum of -inf, as all of its scores are.
          const f32 x = s[f.value][n.value][i.value];
          s[f.value][n.value][i.value] =
              x == -block_of::infinity ? 0 : arch::exp2(__builtin_fmaf(-log2_e, lse[n.value], x));
        });
        kept[f.value][n.value] = s[f.value][n.value];
      });
      block.change_weights(in, kept, tile);
      block_of::each([&](auto f, auto n) {
        const u32 row = block.row_of(n);
        const u32 key = tile.position + block_of::first_key_of_lane() + block_of::key_of(f, 0);
        if (row >= block.rows || key >= keys) return;
        vec<f32, 4> x = s[f.value][n.value];
        static_for<4>([&](auto i) {
          if (kept[f.value][n.value][i.value] != x[i.value]) x[i.value] = -x[i.value];
        });
        store_first<f32, 4>(row_at(row) + key, keys - key, x);
      });
    };
    const u32 tiles = block.tile_of(block.total - 1) + 1;
    block.run({0, tiles}, [&](u32 tile) { return block.span_of(tile); }, weigh);
  }
  // What is not there.
  const AttentionArgs& in = attention_arguments();
  const u32 end = block_of::min_of(first_row + block_of::block_q, in.q_length * in.group);
  for (u32 row = first_row + wave_id(); row < end; row += block_of::waves) {
    const u32 from = row < block.rows ? keys : 0;
    for (u32 key = from + lane_id(); key < weights_arguments().keys; key += wave_size) row_at(row)[key] = 0;
  }
}

}  // namespace

}  // namespace hk
