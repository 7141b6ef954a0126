// The parts of attention's results over splits of keys, merged: those of a row by a wave, split after
// split, so that the result does not depend on which was computed first.
#include "hk/attention_results.h"

namespace hk {

namespace {

template <class Tile>
__device__ inline void attention_merge(const AttentionArgs& in) {
  const u32 all_rows = in.part_rows;
  const u32 number = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const u32 of_head = uniform(number / all_rows);
  const u32 row = number - of_head * all_rows;
  attention_task task;
  task.sequence = uniform(of_head / in.kv_heads);
  task.head = of_head - task.sequence * in.kv_heads;
  if (task.sequence >= in.sequences) return;
  task.find_queries(in);
  if (row >= task.length * in.group) return;
  const u64 first = part_of(in, task, row, 0);
#pragma unroll 1
  for (u32 column = lane_id() * 4; column < in.value_width; column += wave_size * 4) {
    vec<f32, 4> sums = 0;
    row_state state = {-__builtin_inff(), 0};
#pragma unroll 1
    for (u32 split = 0; split < in.splits; ++split) {
      merge_part(in, first + split, column, sums, state);
    }
    store_row<4>(in, task, row, column, sums, state);
  }
}

}  // namespace

}  // namespace hk
