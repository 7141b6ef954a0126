// Values and conditions of other lanes, chosen at run time.
#pragma once

#include "hk/hip.h"

namespace hk::arch {

// The value that a lane has, which each lane names. All lanes must take part.
__device__ inline u32 value_from(u32 value, u32 lane) {
  return __builtin_amdgcn_ds_bpermute(static_cast<int>(lane * 4), static_cast<int>(value));
}

// How many lanes take part for which it holds.
__device__ inline u32 lanes_where(bool holds) {
  return __builtin_popcountll(__builtin_amdgcn_ballot_w64(holds));
}

}  // namespace hk::arch
