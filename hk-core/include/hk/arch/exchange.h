// Exchanges between lanes that hold different values, and order within a wave, of the architecture that
// is being compiled for, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// The value of the lane so many before this one in its aligned group of sixteen, the last ones coming
// before the first.
template <int Distance>
__device__ inline u32 value_of_lane_around(u32 value) {
  static_assert(Distance > 0 && Distance < 16);
  return __builtin_amdgcn_update_dpp(value, value, 0x120 + Distance, 0xf, 0xf, false);
}

// What the wave's lanes have stored in LDS before, they can load afterwards.
__device__ inline void sync_wave() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront", "local");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront", "local");
}

// Makes the compiler forget what it knows of a lane's value here, even that it is the same elsewhere.
__device__ inline void forget_here(u32& value) { asm volatile("" : "+v"(value)); }

}  // namespace hk::arch
