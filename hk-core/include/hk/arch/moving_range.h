// A range of global memory that moves along, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// It is changed within the registers that describe it. Addresses have 48 bits.
struct moving_range {
  vec<u32, 4> words;

  __device__ moving_range(const void* base, u32 bytes)
      : words{static_cast<u32>(reinterpret_cast<u64>(base)),
              static_cast<u32>(reinterpret_cast<u64>(base) >> 32) & 0xffff, bytes, raw_dwords} {}

  __device__ checked_range here() const {
    // The builtins take them by a type that nothing else converts to.
    union description {
      vec<u32, 4> words;
      __amdgpu_buffer_rsrc_t resource;
      __device__ description(vec<u32, 4> words) : words(words) {}
    };
    return checked_range(description(words).resource);
  }
  __device__ void move(u32 bytes) {
    const u64 base = (u64{words[1]} << 32 | words[0]) + bytes;
    words[0] = static_cast<u32>(base);
    words[1] = static_cast<u32>(base >> 32);
    settle();
  }
  // Nothing is left of it unless that holds.
  __device__ void keep_if(bool exists) {
    words[2] = exists ? words[2] : 0;
    settle();
  }

  // All of it is changed here, rather than parts of it before and the rest copied. Behind branches of
  // some lanes, the compiler may not know any more that all have the same.
  __device__ void settle() {
    for (int i = 0; i < 4; ++i) words[i] = first_lane(words[i]);
    asm volatile("" : "+s"(words));
  }
};

}  // namespace hk::arch
