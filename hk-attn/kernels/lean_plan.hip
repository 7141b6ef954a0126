// How the units of sequences follow each other, a problem by a wave; and clearing the flags by which
// programs wait for each other. See hk/lean_attention.h.
#include "hk/lean_attention.h"
#include "hk/scan.h"

namespace hk {

namespace {

template <class Tile>
__device__ inline void lean_plan(const LeanArgs& lean) {
  const u32 problem = block_idx().x, lane = lane_id();
  if (lean.flags != nullptr) {
    for (u32 i = lane; i < lean.programs[problem]; i += wave_size) {
      lean.flags[problem * lean.programs[0] + i] = 0;
    }
  }
  const AttentionArgs& in = lean.problem[problem];
  u32 units = 0, rows = 0;
#pragma unroll 1
  for (u32 first = 0; first < in.sequences; first += wave_size) {
    const u32 sequence = first + lane;
    const bool is_there = sequence < in.sequences;
    LeanSequence own = {0, 0, 0};
    u32 of_sequence = 0;
    if (is_there) {
      if (lean.ends.base != nullptr) {
        const i64 pages = in.source[0].pages_of_head;
        const auto end_of = [&](u32 i) {
          const i64 end = index_at(lean.ends, i);
          return end < 0 ? 0 : end > pages ? pages : end;
        };
        own.start = sequence == 0 ? 0 : end_of(sequence - 1);
        const i64 keys = (end_of(sequence) - own.start) * in.source[0].page_size;
        own.length = key_sequence::at_most(in.source[0].length, keys);
      } else {
        const key_sequence keys = key_sequence::of_lane(in.source[0], sequence);
        own.start = keys.start;
        own.length = keys.length;
      }
    }
    // Lengths that are wrong may be too much for 32 bits together.
    const prefix of_rows = wave_prefix<true>(own.length);
    if (lean.starts_are_sums && is_there) {
      // Lengths that are too much together end where the rows do.
      const u32 start = __builtin_elementwise_add_sat(rows, of_rows.before);
      own.start = start;
      own.length = key_sequence::at_most(own.length, static_cast<i64>(in.source[0].count) - start);
    }
    if (is_there) of_sequence = lean_units_of_head(in, lean, own.length) * in.kv_heads;
    const prefix of_units = wave_prefix(of_sequence);
    own.first_unit = units + of_units.before;
    if (is_there) lean.plan[problem][sequence] = own;
    rows = __builtin_elementwise_add_sat(rows, of_rows.total);
    units += of_units.total;
  }
  if (lane == 0) lean.plan[problem][in.sequences] = {0, 0, units};
}

}  // namespace

}  // namespace hk
