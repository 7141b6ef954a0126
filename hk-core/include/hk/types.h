// Scalar and vector types, and conversions between them. All conversions round to nearest, ties to
// even, keep subnormals and keep NaN; the compiler picks the instructions of the architecture.
#pragma once

#include "hk/language.h"

namespace hk {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using i8 = signed char;
using i32 = int;
using i64 = long;
using bf16 = __bf16;
using f16 = _Float16;
using f32 = float;

// Codes of the chip's own 8-bit floating point, with 4 and with 5 bits of exponent.
struct e4m3 {
  u8 code;
};
struct e5m2 {
  u8 code;
};

// N values of type T in consecutive registers.
template <class T, int N>
using vec = T __attribute__((ext_vector_type(N)));

namespace detail {

// clang drops an alignment that is written into an alias template; a member keeps it.
template <class T, int N, int Bytes>
struct aligned_vec {
  typedef vec<T, N> type __attribute__((aligned(Bytes)));
  static_assert(alignof(type) == Bytes && sizeof(type) == sizeof(vec<T, N>));
};

}  // namespace detail

// Such values in memory, at a multiple of so many bytes: what the compiler takes for granted of the
// address. A scalar load, which it may use where lanes agree, ignores the low two bits.
template <class T, int N, int Bytes>
using vec_in_memory = typename detail::aligned_vec<T, N, Bytes>::type;

// 16 bytes: the widest access of a lane, and the unit in which tiles are moved and swizzled.
using bits128 = vec<u32, 4>;

// An offset that is outside of every range of memory that the hardware checks.
inline constexpr u32 out_of_range = 0x80000000;

// Position or size in three dimensions.
struct dim3 {
  unsigned x, y, z;
};

// Element types as values; the numbers are the host's `Real::CODE`.
enum class dtype : u32 { bf16 = 0, f16 = 1, f32 = 2 };

// What `body` returns for a zero of the type that `type`, the same in all lanes, stands for.
template <class F>
__device__ inline auto with_type(dtype type, F&& body) {
  if (type == dtype::bf16) return body(bf16{});
  // Keeps the compiler from making a switch of it, which would ask for bf16 twice.
  asm volatile("");
  if (type == dtype::f16) return body(f16{});
  return body(f32{});
}

// The dwords of a type.
template <class T>
struct words_of {
  static_assert(sizeof(T) % 4 == 0);
  u32 of[sizeof(T) / 4];
};

// The same bits as another type of the same size.
template <class To, class From>
__device__ inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <class T>
__device__ inline f32 to_f32(T value) {
  return static_cast<f32>(value);
}

template <class T>
__device__ inline T round_to(f32 value) {
  return static_cast<T>(value);
}

template <class T, int N>
__device__ inline vec<f32, N> to_f32(vec<T, N> values) {
  return __builtin_convertvector(values, vec<f32, N>);
}

template <class T, int N>
__device__ inline vec<T, N> round_to(vec<f32, N> values) {
  return __builtin_convertvector(values, vec<T, N>);
}

// A compile-time integer as a value, so that lambdas can be called with constants.
template <int V>
struct constant {
  static constexpr int value = V;
  __host__ __device__ constexpr operator int() const { return V; }
};

template <int... I>
struct sequence {};

template <int N, int... I>
struct make_sequence : make_sequence<N - 1, N - 1, I...> {};

template <int... I>
struct make_sequence<0, I...> {
  using type = sequence<I...>;
};

template <class F, int... I>
__device__ __attribute__((always_inline)) inline void static_for_impl(F&& body, sequence<I...>) {
  (body(constant<I>{}), ...);
}

// Calls `body(constant<0>{})` to `body(constant<N - 1>{})`: a loop that is always unrolled, with an
// index that may be a template argument.
template <int N, class F>
__device__ __attribute__((always_inline)) inline void static_for(F&& body) {
  static_for_impl(static_cast<F&&>(body), typename make_sequence<N>::type{});
}

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int min(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int max(int a, int b) { return a > b ? a : b; }

// log2 of a power of two.
__host__ __device__ constexpr int log2_exact(int value) {
  int bits = 0;
  while ((1 << bits) < value) ++bits;
  return bits;
}

}  // namespace hk
