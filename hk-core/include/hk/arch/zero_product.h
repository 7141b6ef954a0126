// A product in which zero counts most, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// x y, but 0 if either is 0, whatever the other is. The compiler does not wait for y if it comes from a
// transcendental instruction.
__device__ inline f32 zero_product(f32 x, f32 y) {
  f32 product;
  asm("v_mul_legacy_f32 %0, %1, %2" : "=v"(product) : "v"(x), "v"(y));
  return product;
}

}  // namespace hk::arch
