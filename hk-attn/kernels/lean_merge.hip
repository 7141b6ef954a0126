// The parts of tiles that several programs have, merged, a tile by a workgroup. See hk/lean_attention.h.
#include "hk/lean_attention.h"

namespace hk {

namespace {

template <class Tile>
__device__ inline void lean_merge(const LeanArgs& lean) {
  u32 id = block_idx().x;
  const auto tiles = [&](u32 problem) {
    const AttentionArgs& in = lean.problem[problem];
    return in.sequences * in.kv_heads * in.tiles;
  };
  // Of a number rather than of a comparison, from which addresses would follow lane by lane.
  u32 problem = id < tiles(0) ? 0 : 1;
  arch::forget(problem);
  problem = uniform(problem);
  if (problem) id -= tiles(0);
  const AttentionArgs& in = lean.problem[problem];
  const u32 of_head = uniform(id / in.tiles);
  const u32 sequence = uniform(of_head / in.kv_heads);
  const lean_place place(lean, problem, sequence, of_head - sequence * in.kv_heads,
                         id - of_head * in.tiles);
  merge_tile(lean_program(lean, problem, 0), place, lean_place::all_units(lean, problem));
}

}  // namespace

}  // namespace hk
