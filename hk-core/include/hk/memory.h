// Access to global memory through buffer descriptors. The hardware checks every dword against the
// descriptor's size: loads outside return zero and stores outside are dropped, so that tails need
// no branches. Offsets are in bytes from the descriptor's base.
#pragma once

#include "hk/wave.h"

namespace hk {

// An offset that is outside of every buffer.
inline constexpr u32 out_of_range = 0x80000000;

// How long a store's data should live in caches.
enum class cache : int { normal = 0, streaming = 2 };

// Memory of the LDS, addressed in bytes from its start.
using lds_pointer = char __attribute__((address_space(3)))*;

// The start of a __shared__ array.
template <int N>
__device__ inline lds_pointer lds_start(char (&array)[N]) {
  return (lds_pointer)array;
}

// A range of global memory, the same for all lanes of the wave. Its size must be below 2^31.
struct buffer {
  __amdgpu_buffer_rsrc_t resource;

  __device__ buffer(const void* base, u32 bytes)
      : resource(__builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, bytes, raw_dwords)) {}

  __device__ bits128 load_128(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b128(resource, offset, 0, 0);
  }
  __device__ vec<u32, 2> load_64(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b64(resource, offset, 0, 0);
  }
  __device__ u32 load_32(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b32(resource, offset, 0, 0);
  }
  __device__ u16 load_16(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b16(resource, offset, 0, 0);
  }

  __device__ void store(u32 offset, bits128 value) const {
    __builtin_amdgcn_raw_buffer_store_b128(value, resource, offset, 0, 0);
  }
  __device__ void store(u32 offset, vec<u32, 2> value) const {
    __builtin_amdgcn_raw_buffer_store_b64(value, resource, offset, 0, 0);
  }
  __device__ void store(u32 offset, u32 value) const {
    __builtin_amdgcn_raw_buffer_store_b32(value, resource, offset, 0, 0);
  }
  __device__ void store(u32 offset, u16 value) const {
    __builtin_amdgcn_raw_buffer_store_b16(value, resource, offset, 0, 0);
  }

  // Loads 16 bytes per lane into LDS at `lds`, which is the same for all lanes: lane i's data go
  // to lds + 16 i. Complete when wait_global says so.
  __device__ void load_to_lds(lds_pointer lds, u32 offset) const {
    __builtin_amdgcn_raw_ptr_buffer_load_lds(resource, lds, arch::direct_to_lds_bytes, offset, 0,
                                             0, 0);
  }

 private:
  // Word 3 of a descriptor for untyped access: data format 32, no swizzle.
  static constexpr int raw_dwords = 0x00027000;
};

// Waits until at most N of the wave's accesses to global memory are under way.
template <int N>
__device__ inline void wait_global() {
  static_assert(N >= 0);
  // No more than 63 can be counted, and fewer than 63 under way is no condition on more.
  constexpr int vmcnt = min(N, 63);
  asm volatile("s_waitcnt vmcnt(%0)" ::"n"(vmcnt) : "memory");
}

// Meets all waves of the workgroup without waiting for memory.
__device__ inline void meet() { __builtin_amdgcn_s_barrier(); }

// Meets all waves of the workgroup; LDS accesses made before are complete afterwards. Loads from
// global memory may stay under way.
__device__ inline void meet_with_lds() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

// Keeps the compiler from moving instructions across this point.
__device__ inline void pin_order() { __builtin_amdgcn_sched_barrier(0); }

}  // namespace hk
