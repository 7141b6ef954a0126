// The matrix instructions of the architecture that is being compiled for, in namespace hk::arch. Only
// what multiplies matrices includes them.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

// The codes of two numbers of 4 bits, the first in the lower half: a sign, two bits of exponent, one of
// mantissa. OCP's on every chip.
struct e2m1 {
  u8 codes;
};

namespace arch {

// Four of the eight bytes of a table: byte i of the result is the one that byte i of `index` counts.
__device__ inline u32 byte_of_table(u32 high, u32 low, u32 index) {
  return __builtin_amdgcn_perm(high, low, index);
}

}  // namespace arch
}  // namespace hk

#if defined(__gfx942__)
#include "hk/arch/cdna3_matrix.h"
#elif defined(__gfx950__)
#include "hk/arch/cdna4_matrix.h"
#endif
