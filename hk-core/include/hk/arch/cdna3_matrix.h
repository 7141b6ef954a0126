// The matrix instructions of CDNA3 (gfx942).
//
// D = C + A * B^T, where a lane holds 16 bytes of one row of A and of one of B. The hardware's steps
// take 8 bytes: first the lower halves, then the upper. Both operands' halves have the same k, so the
// sum is that of the 16 bytes, in another order.
#pragma once

#include "hk/types.h"

namespace hk::arch {

// Chunks of 16 bytes of a row of 8-bit floating point that one atom takes from a lane.
inline constexpr int fp8_chunks = 1;

namespace detail {

// 8 bytes, as the instructions for 16-bit and for 8-bit elements take them.
template <class T>
struct halves {
  T lower, upper;
};

}  // namespace detail

#define HK_MATRIX(type, half, sum, registers, instruction)                                     \
  __device__ inline vec<sum, registers> mma(type, bits128 a, bits128 b, vec<sum, registers> c) { \
    const auto x = bit_cast<detail::halves<half>>(a);                                          \
    const auto y = bit_cast<detail::halves<half>>(b);                                          \
    c = instruction(x.lower, y.lower, c, 0, 0, 0);                                             \
    return instruction(x.upper, y.upper, c, 0, 0, 0);                                          \
  }

using bf16_half = vec<short, 4>;
using f16_half = vec<f16, 4>;
HK_MATRIX(bf16, bf16_half, f32, 4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
HK_MATRIX(bf16, bf16_half, f32, 16, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
HK_MATRIX(f16, f16_half, f32, 4, __builtin_amdgcn_mfma_f32_16x16x16f16)
HK_MATRIX(f16, f16_half, f32, 16, __builtin_amdgcn_mfma_f32_32x32x8f16)
HK_MATRIX(i8, i64, i32, 4, __builtin_amdgcn_mfma_i32_16x16x32_i8)
HK_MATRIX(i8, i64, i32, 16, __builtin_amdgcn_mfma_i32_32x32x16_i8)
HK_MATRIX(e4m3, i64, f32, 4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
HK_MATRIX(e4m3, i64, f32, 16, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
HK_MATRIX(e5m2, i64, f32, 4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8)
HK_MATRIX(e5m2, i64, f32, 16, __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8)

#undef HK_MATRIX

// As above, in steps of 8 bytes, which all are.
template <class T, class Sum>
__device__ inline Sum mma_in_short_steps(T, bits128 a, bits128 b, Sum c) {
  return mma(T{}, a, b, c);
}

// There are none with scales.
inline constexpr bool has_scaled_matrix = false;
template <class A, class B, class Sum>
__device__ Sum mma_scaled(A, B, vec<i32, 8> a, vec<i32, 8> b, Sum c, u32 a_scale, u32 b_scale) = delete;

}  // namespace hk::arch
