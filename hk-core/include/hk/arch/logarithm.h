// Logarithms of the architecture, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// log2 to 1 ulp; subnormals are flushed.
__device__ inline f32 log2(f32 x) { return __builtin_amdgcn_logf(x); }

}  // namespace hk::arch
