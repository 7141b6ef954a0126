// A product in which zero counts most, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// x y, but 0 if either is 0, whatever the other is. The compiler does not wait for y if it comes from a
// transcendental instruction.
__device__ inline f32 zero_product(f32 x, f32 y) {
  // Into the register of x: another may be one that a matrix instruction still reads, of which the
  // compiler takes no care here.
  asm("v_mul_legacy_f32 %0, %0, %1" : "+v"(x) : "v"(y));
  return x;
}

}  // namespace hk::arch
