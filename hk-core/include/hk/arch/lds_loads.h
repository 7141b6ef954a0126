// Loads from LDS that the compiler schedules, and waits for where their values are used: for kernels
// without direct-to-LDS loads under way, with which it would wait for those too.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

__device__ inline bits128 lds_load_128(u32 address) {
  return *reinterpret_cast<lds_pointer_to<const bits128>>(address);
}
__device__ inline void lds_store_128(u32 address, bits128 value) {
  *reinterpret_cast<lds_pointer_to<bits128>>(address) = value;
}

// As lds_read_transposed.
template <int Step>
__device__ inline bits128 lds_load_transposed(u32 address) {
  if constexpr (!has_transposing_read) {
    static_assert(Step < 0, "there are no transposing reads");
  }
#if defined(__gfx950__)
  using column = vec<short, 4>;
  using pointer = lds_pointer_to<column>;
  const column first = __builtin_amdgcn_ds_read_tr16_b64_v4i16(reinterpret_cast<pointer>(address));
  const column second =
      __builtin_amdgcn_ds_read_tr16_b64_v4i16(reinterpret_cast<pointer>(address + Step));
  return bit_cast<bits128>(__builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7));
#else
  return bits128(address);
#endif
}

}  // namespace hk::arch
