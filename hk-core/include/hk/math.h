// Elementary functions in f32 without a device math library, and the activations made of them.
// Those that are instructions are good to 1 ulp and flush subnormals.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

using arch::exp2;
using arch::reciprocal;

inline constexpr f32 log2_e = 0x1.715476p+0f;

// e^x to 2 ulp: the product with log2(e) is carried out to twice the precision, because its
// rounding error would grow with x. Where e^x counts for little if x is large, `exp2(x * log2_e)`
// does.
__device__ inline f32 exp(f32 x) {
  constexpr f32 log2_e_rest = 0x1.4ae0bep-26f, ln_2 = 0x1.62e43p-1f;
  const f32 whole = x * log2_e;
  const f32 rest = __builtin_fmaf(x, log2_e_rest, __builtin_fmaf(x, log2_e, -whole));
  const f32 power = exp2(whole);
  // At infinite powers the rest is NaN or the product is.
  return __builtin_isinf(power) || power == 0 ? power
                                              : __builtin_fmaf(power, rest * ln_2, power);
}

// 1 / sqrt(x) for x > 0, subnormal numbers included: the root is taken of a number around 1, from
// which x differs by a power of four.
__device__ inline f32 rsqrt(f32 x) {
  const int half = arch::exponent(x) >> 1;
  return __builtin_ldexpf(arch::rsqrt(__builtin_ldexpf(x, -2 * half)), -half);
}

// An angle in radians as a part of a revolution, of at most about 1 in size, 2^-22 off at most for
// angles up to 2^20: the product with 1 / (2 pi) is carried out to twice the precision, without the
// whole revolutions.
__device__ inline f32 revolutions(f32 radians) {
  constexpr f32 per_radian = 0x1.45f306p-3f, per_radian_rest = 0x1.b9391p-28f;
  const f32 whole = radians * per_radian;
  const f32 rest = __builtin_fmaf(radians, per_radian_rest,
                                  __builtin_fmaf(radians, per_radian, -whole));
  return arch::fraction(whole) + rest;
}

template <int N>
__device__ inline f32 polynomial(f32 x, const f32 (&coefficients)[N]) {
  f32 sum = coefficients[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = __builtin_fmaf(sum, x, coefficients[i]);
  return sum;
}

__device__ inline f32 sigmoid(f32 x) { return reciprocal(1.0f + exp(-x)); }

// ln(1 + x) for x from 0 to 1 to 2 ulp: 2 artanh(x / (2 + x)), whose series in s^2 <= 1/9 is fitted
// by a minimax polynomial.
__device__ inline f32 log1p_of_unit(f32 x) {
  const f32 s = x * reciprocal(2.0f + x);
  const f32 square = s * s;
  const f32 rest = polynomial(square, {0.3333320916f, 0.2001076341f, 0.1400090158f, 0.1400599778f});
  return __builtin_fmaf(2.0f * s * square, rest, 2.0f * s);
}

// ln(1 + e^x), which neither overflows nor loses what is small.
__device__ inline f32 softplus(f32 x) {
  const f32 part = log1p_of_unit(exp(-__builtin_fabsf(x)));
  return x > 0 ? x + part : part;
}

// 1 ulp. Coefficients are minimax fits of erf(x) / x - 1 in x^2 and of -ln(erfc(x)) / x in x.
__device__ inline f32 erf(f32 x) {
  const f32 size = __builtin_fabsf(x);
  const f32 square = x * x;
  const f32 small = polynomial(square, {0x1.06eba6p-3f, -0x1.81270ep-2f, 0x1.ce218ep-4f,
                                        -0x1.b6f934p-6f, 0x1.49e7bcp-8f, -0x1.45a6a6p-11f});
  const f32 slope = polynomial(size, {1.128619909f, 0.6352695823f, 0.1060378402f, -0.02358775772f,
                                      0.003558747005f, -0.0003019102442f, 9.114788554e-6f});
  // Past 4 the result is 1, and the fit would not hold.
  const f32 large = size > 4.0f ? 1.0f : 1.0f - exp2(-log2_e * size * slope);
  const f32 result = size <= 0.875f ? __builtin_fmaf(small, x, x) : __builtin_copysignf(large, x);
  return x == x ? result : x;
}

// 2 ulp. The polynomial is a minimax fit of (tanh(x) / x - 1) / x^2 in x^2.
__device__ inline f32 tanh(f32 x) {
  const f32 square = x * x;
  const f32 small = square * polynomial(square, {-0.3333328366f, 0.1333149076f, -0.05374344438f,
                                                 0.02065045387f, -0.005716927815f});
  const f32 large = 1.0f - 2.0f * reciprocal(1.0f + exp2(2.0f * log2_e * __builtin_fabsf(x)));
  return square < 0.390625f ? __builtin_fmaf(small, x, x) : __builtin_copysignf(large, x);
}

// Activations as values; the numbers are those of the host's `Activation`.
enum class activation : u32 {
  relu = 1,
  relu6,
  leaky_relu,
  gelu,
  gelu_tanh,
  silu,
  silu_exp2,
  sigmoid,
  tanh,
  mish,
};

// One activation. `slope` is that of leaky_relu for negative x. Comparisons are written so that NaN
// passes, and zeros with their signs.
template <activation Kind>
__device__ inline f32 activate(f32 x, f32 slope) {
  if constexpr (Kind == activation::relu) return x < 0 ? 0 : x;
  if constexpr (Kind == activation::relu6) return x < 0 ? 0 : x > 6 ? 6 : x;
  if constexpr (Kind == activation::leaky_relu) return x < 0 ? slope * x : x;
  if constexpr (Kind == activation::gelu) {
    return 0.5f * x * (1.0f + erf(x * 0.70710678118f));
  }
  if constexpr (Kind == activation::gelu_tanh) {
    // (1 + tanh(z)) / 2 == sigmoid(2 z), without the cancellation. Rounding errors of z grow like
    // those of the exponent.
    const f32 z = 0.7978845608f * __builtin_fmaf(0.044715f * x, x * x, x);
    return x * reciprocal(1.0f + exp2(-2.0f * log2_e * z));
  }
  if constexpr (Kind == activation::silu) return x * sigmoid(x);
  if constexpr (Kind == activation::silu_exp2) {
    return x * reciprocal(1.0f + exp2(x * -log2_e));
  }
  if constexpr (Kind == activation::sigmoid) return sigmoid(x);
  if constexpr (Kind == activation::tanh) return tanh(x);
  if constexpr (Kind == activation::mish) {
    // x tanh(ln(1 + e)) as a fraction, which is 1 from 20 on, and free of inf / inf up to there.
    const f32 e = exp(__builtin_fminf(x, 20));
    const f32 numerator = e * (e + 2);
    return x * (numerator * reciprocal(numerator + 2));
  }
  return x;
}

// The activation of each of N values; `kind` is the same in all lanes.
template <int N>
__device__ inline vec<f32, N> activate(activation kind, vec<f32, N> x, f32 slope) {
  const auto with = [&](auto constant_kind) {
    for (int i = 0; i < N; ++i) {
      x[i] = activate<static_cast<activation>(decltype(constant_kind)::value)>(x[i], slope);
    }
  };
  switch (kind) {
    case activation::relu: with(constant<static_cast<int>(activation::relu)>{}); break;
    case activation::relu6: with(constant<static_cast<int>(activation::relu6)>{}); break;
    case activation::leaky_relu: with(constant<static_cast<int>(activation::leaky_relu)>{}); break;
    case activation::gelu: with(constant<static_cast<int>(activation::gelu)>{}); break;
    case activation::gelu_tanh: with(constant<static_cast<int>(activation::gelu_tanh)>{}); break;
    case activation::silu: with(constant<static_cast<int>(activation::silu)>{}); break;
    case activation::silu_exp2: with(constant<static_cast<int>(activation::silu_exp2)>{}); break;
    case activation::sigmoid: with(constant<static_cast<int>(activation::sigmoid)>{}); break;
    case activation::tanh: with(constant<static_cast<int>(activation::tanh)>{}); break;
    case activation::mish: with(constant<static_cast<int>(activation::mish)>{}); break;
    default: __builtin_unreachable();
  }
  return x;
}

}  // namespace hk
