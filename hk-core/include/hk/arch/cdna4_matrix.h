// The matrix instructions of CDNA4 (gfx950).
//
// D = C + A * B^T, where a lane holds 16 bytes of one row of A and of one of B; 32 of 8-bit floating
// point, which is what its fast instruction takes.
#pragma once

#include "hk/types.h"

namespace hk {
struct e2m1;
}

namespace hk::arch {

// Chunks of 16 bytes of a row of 8-bit floating point that one atom takes from a lane.
inline constexpr int fp8_chunks = 2;

#define HK_MATRIX(type, fragment, sum, registers, instruction)                                    \
  __device__ inline vec<sum, registers> mma(type, bits128 a, bits128 b, vec<sum, registers> c) {  \
    return instruction(bit_cast<fragment>(a), bit_cast<fragment>(b), c, 0, 0, 0);                 \
  }

using bf16_fragment = vec<bf16, 8>;
using f16_fragment = vec<f16, 8>;
using i8_fragment = vec<i32, 4>;
HK_MATRIX(bf16, bf16_fragment, f32, 4, __builtin_amdgcn_mfma_f32_16x16x32_bf16)
HK_MATRIX(bf16, bf16_fragment, f32, 16, __builtin_amdgcn_mfma_f32_32x32x16_bf16)
HK_MATRIX(f16, f16_fragment, f32, 4, __builtin_amdgcn_mfma_f32_16x16x32_f16)
HK_MATRIX(f16, f16_fragment, f32, 16, __builtin_amdgcn_mfma_f32_32x32x16_f16)
HK_MATRIX(i8, i8_fragment, i32, 4, __builtin_amdgcn_mfma_i32_16x16x64_i8)
HK_MATRIX(i8, i8_fragment, i32, 16, __builtin_amdgcn_mfma_i32_32x32x32_i8)

#undef HK_MATRIX

// The formats of an operand of the instructions for 8, 6 and 4 bits.
template <class T>
inline constexpr int narrow_format = 0;
template <>
inline constexpr int narrow_format<e5m2> = 1;
template <>
inline constexpr int narrow_format<e2m1> = 4;

// Without scales.
template <class T>
__device__ inline vec<f32, 4> mma(T, vec<i32, 8> a, vec<i32, 8> b, vec<f32, 4> c) {
  constexpr int format = narrow_format<T>;
  return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, format, format, 0, 0, 0, 0);
}
template <class T>
__device__ inline vec<f32, 16> mma(T, vec<i32, 8> a, vec<i32, 8> b, vec<f32, 16> c) {
  constexpr int format = narrow_format<T>;
  return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, c, format, format, 0, 0, 0, 0);
}

// With a scale for each 32 k of a row, e8m0: a lane's lowest byte is for those that its bytes are, of
// operands of 4 bits.
inline constexpr bool has_scaled_matrix = true;
template <class A, class B>
__device__ inline vec<f32, 4> mma_scaled(A, B, vec<i32, 8> a, vec<i32, 8> b, vec<f32, 4> c,
                                         u32 a_scale, u32 b_scale) {
  return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, narrow_format<A>,
                                                          narrow_format<B>, 0, a_scale, 0, b_scale);
}

// In steps of 8 bytes, those of CDNA3, of which fewer lanes' k take part in one sum: first the lower
// halves, then the upper.
__device__ inline vec<f32, 16> mma_in_short_steps(e4m3, bits128 a, bits128 b, vec<f32, 16> c) {
  const auto x = bit_cast<vec<i64, 2>>(a), y = bit_cast<vec<i64, 2>>(b);
  c = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(x[0], y[0], c, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(x[1], y[1], c, 0, 0, 0);
}

}  // namespace hk::arch
