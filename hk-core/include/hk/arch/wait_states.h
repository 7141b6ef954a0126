// Wait states that compilers may overlook, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// Waits for the results of matrix instructions of four passes or fewer. The compiler waits where a
// result is used, but where several ways lead there it may have measured a longer one.
__device__ inline void settle_products() {
  pin_order();
  asm volatile("s_nop 7");
  pin_order();
}

}  // namespace hk::arch
