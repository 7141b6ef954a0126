// Access to global memory through buffer descriptors. The hardware checks every dword against the
// descriptor's size: loads outside return zero and stores outside are dropped, so that tails need
// no branches. Offsets are in bytes from the descriptor's base.
#pragma once

#include "hk/wave.h"

namespace hk {

using arch::lds_pointer;

// The start of a __shared__ array.
template <int N>
__device__ inline lds_pointer lds_start(char (&array)[N]) {
  return (lds_pointer)array;
}

// A range of global memory, the same for all lanes of the wave. Its size must be below 2^31.
struct buffer : arch::checked_range {
  using checked_range::checked_range;
  __device__ buffer(arch::checked_range range) : checked_range(range) {}

  // Loads as much per lane as can go without registers into LDS at `lds`, which is the same for all
  // lanes; the lanes' data lie side by side. Complete when wait_global says so. Both places are
  // `Further` bytes on.
  template <int Further = 0>
  __device__ void load_to_lds(lds_pointer lds, u32 offset) const {
    arch::load_to_lds<Further>(*this, lds, offset);
  }
};

// Waits until at most N of the wave's accesses to global memory are under way.
using arch::wait_global;

// Meets all waves of the workgroup without waiting for memory.
using arch::meet;

// Meets all waves of the workgroup; LDS accesses made before are complete afterwards. Loads from
// global memory may stay under way.
using arch::meet_with_lds;

// Keeps the compiler from moving instructions across this point.
using arch::pin_order;

}  // namespace hk
