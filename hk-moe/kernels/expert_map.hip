// The experts that gates have on this device, by what a map has for each expert, and which gates
// have one: local[g] = map[ids[g]], and slots[g] = g, or both -1.
#include "hk/hip.h"

namespace hk {

struct ExpertMapArgs {
  const i32* ids;
  const i32* map;  // of each expert; null if they are all here, by their own numbers
  i32* local;
  i32* slots;
  u32 gates;
  u32 experts;  // others are nowhere
  u32 here;     // experts on this device
};

namespace {

template <class Tile>
__device__ inline void expert_map(const ExpertMapArgs& args) {
  for (u32 gate = global_idx(); gate < args.gates; gate += grid_size().x) {
    u32 expert = static_cast<u32>(args.ids[gate]);
    if (expert >= args.experts) {
      expert = ~0u;
    } else if (args.map != nullptr) {
      expert = static_cast<u32>(args.map[expert]);
    }
    const bool is_here = expert < args.here;
    args.local[gate] = is_here ? static_cast<i32>(expert) : -1;
    args.slots[gate] = is_here ? static_cast<i32>(gate) : -1;
  }
}

}  // namespace

}  // namespace hk
