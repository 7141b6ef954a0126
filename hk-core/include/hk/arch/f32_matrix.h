// Matrix instructions of f32, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// Adds products of 16 rows of a and 16 rows of b, of four elements each: a lane has row `lane % 16` of both,
// element `lane / 16`, and of the results row `lane % 16` of b, for four rows of a from `lane / 16 * 4` on.
__device__ inline vec<f32, 4> mma(f32 a, f32 b, vec<f32, 4> c) {
  return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
}

}  // namespace hk::arch
