// Flags in global memory by which workgroups tell each other that they have stored something.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// Sets a flag: what this lane has stored before, and what it has met of others' stores, can be loaded by
// who has seen it.
__device__ inline void set_flag(u32* flag) {
  // Compilers do not wait for the caches to be written back before they store.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  wait_global<0>();
  __scoped_atomic_store_n(flag, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

// Waits until a flag is set.
__device__ inline void wait_for_flag(const u32* flag) {
  while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) == 0) {
    __builtin_amdgcn_s_sleep(2);
  }
}

}  // namespace hk::arch
