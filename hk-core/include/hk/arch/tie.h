// Values that are complete at a point of the program, in namespace hk::arch.
#pragma once

#include "hk/language.h"

namespace hk::arch {

// What was computed is computed here at the latest. Behind a branch that some lanes take, a matrix
// instruction would miss what the others have to give.
template <class Value>
__device__ inline void tie(Value& value) {
  asm volatile("" : "+v"(value));
}

}  // namespace hk::arch
