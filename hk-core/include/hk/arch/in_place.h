// Matrix instructions that add to sums where they are, in namespace hk::arch: in the accumulation
// registers, half of a lane's. Sums that take all of these the compiler would move about.
//
// It does not know how long these instructions take. So `begin_in_place` comes before the first and
// `end_in_place` behind the last; in between nothing else touches sums, and what is multiplied was
// read from LDS rather than computed just before.
#pragma once

#include "hk/arch/matrix.h"

namespace hk::arch {

#if defined(__gfx950__)

inline constexpr bool has_in_place = true;

#define HK_IN_PLACE(type, sum, registers, shape, formats)                              \
  template <class Bits>                                                                \
  __device__ inline void mma_in_place(type, Bits a, Bits b, vec<sum, registers>& c) {  \
    asm volatile("v_mfma_" #sum "_" shape " %0, %1, %2, %0" formats                    \
                 : "+a"(c)                                                             \
                 : "v"(a), "v"(b));                                                    \
  }

HK_IN_PLACE(bf16, f32, 4, "16x16x32_bf16", "")
HK_IN_PLACE(bf16, f32, 16, "32x32x16_bf16", "")
HK_IN_PLACE(f16, f32, 4, "16x16x32_f16", "")
HK_IN_PLACE(f16, f32, 16, "32x32x16_f16", "")
HK_IN_PLACE(i8, i32, 4, "16x16x64_i8", "")
HK_IN_PLACE(i8, i32, 16, "32x32x32_i8", "")
HK_IN_PLACE(e4m3, f32, 4, "16x16x128_f8f6f4", "")
HK_IN_PLACE(e4m3, f32, 16, "32x32x64_f8f6f4", "")
HK_IN_PLACE(e5m2, f32, 4, "16x16x128_f8f6f4", " cbsz:1 blgp:1")
HK_IN_PLACE(e5m2, f32, 16, "32x32x64_f8f6f4", " cbsz:1 blgp:1")

#undef HK_IN_PLACE

#else

inline constexpr bool has_in_place = false;
template <class T, class Bits, class Sum>
__device__ void mma_in_place(T, Bits a, Bits b, Sum& c) = delete;

#endif

// Moves sums to accumulation registers, and waits for that: two states.
template <class Sum, int Rows, int Columns>
__device__ inline void begin_in_place(Sum (&sums)[Rows][Columns]) {
  for (auto& row : sums) {
    for (auto& sum : row) asm volatile("" : "+a"(sum));
  }
  asm volatile("s_nop 1");
}

// Waits for the sums of the last instructions: 20 states are needed behind one of 16 passes.
template <class Sum, int Rows, int Columns>
__device__ inline void end_in_place(Sum (&sums)[Rows][Columns]) {
  asm volatile("s_nop 15\n\ts_nop 3");
  for (auto& row : sums) {
    for (auto& sum : row) asm volatile("" : "+a"(sum));
  }
}

}  // namespace hk::arch
