// What the lanes of a wave say together.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// A bit for each lane of the wave: whether it takes part and says yes.
using lane_bits = u64;
__device__ inline lane_bits ballot(bool says_yes) { return __builtin_amdgcn_ballot_w64(says_yes); }

// How many lanes before this one have their bit set.
__device__ inline u32 count_before(lane_bits lanes) {
  const u32 low = static_cast<u32>(lanes), high = static_cast<u32>(lanes >> 32);
  return __builtin_amdgcn_mbcnt_hi(high, __builtin_amdgcn_mbcnt_lo(low, 0));
}

}  // namespace hk::arch
