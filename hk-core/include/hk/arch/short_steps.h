// Products of 8-bit floating point in steps of 8 bytes, which both chips have, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// Adds products of 16 rows of a and of b, of which a lane holds 16 bytes each.
__device__ inline vec<f32, 4> mma_of_one_chunk(e4m3, bits128 a, bits128 b, vec<f32, 4> c) {
  const auto x = bit_cast<vec<i64, 2>>(a), y = bit_cast<vec<i64, 2>>(b);
  c = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x[0], y[0], c, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(x[1], y[1], c, 0, 0, 0);
}

}  // namespace hk::arch
