// What a configuration's `T` says of a product: the element types of both operands, and what the matrix
// instructions are given of them. Operands of one type go as they were read. Others, and those that no
// instruction takes, are expanded to 16 bits in registers.
//
// Elements of 4 bits, e2m1, have a scale for each 32 k of a row, e8m0: a block of MX.
#pragma once

#include "hk/mma.h"
#include "hk/quant.h"
#include "hk/wave.h"

namespace hk {

// As a configuration's T: x and w of unlike types.
template <class X, class W>
struct unlike {};

// Elements of type T that a unit of memory holds, which has sizeof(T) bytes.
template <class T>
inline constexpr int per_unit = 1;
template <>
inline constexpr int per_unit<e2m1> = 2;

template <class T>
inline constexpr int bits_of = sizeof(T) * 8 / per_unit<T>;

// Whether an operand has scales of blocks.
template <class T>
inline constexpr bool has_blocks = false;
template <>
inline constexpr bool has_blocks<e2m1> = true;

// e2m1 numbers as bf16, times a scale: looked up in a table of the eight magnitudes, a byte of each in
// a register. They are a quarter of what they are to be, so that all of them are within bf16's range,
// whatever the scale.
struct e2m1_table {
  u32 high[2], low[2];

  static constexpr f32 missing = 4;

  // Of a block whose scale has that code.
  __device__ explicit e2m1_table(u32 scale) {
    const f32 power = __builtin_ldexpf(1.0f, static_cast<int>(scale) - 129);
    const f32 unit = scale == 255 ? __builtin_nanf("") : power;
    const vec<f32, 4> small = vec<f32, 4>{0.0f, 0.5f, 1.0f, 1.5f} * unit;
    const vec<f32, 4> large = vec<f32, 4>{2.0f, 3.0f, 4.0f, 6.0f} * unit;
    for (int i = 0; i < 2; ++i) {
      const auto bits = bit_cast<vec<u32, 4>>(i == 0 ? small : large);
      const u32 first = arch::pick_bytes<0x07030602>(bits[1], bits[0]);
      const u32 second = arch::pick_bytes<0x07030602>(bits[3], bits[2]);
      high[i] = arch::pick_bytes<0x07060302>(second, first);
      low[i] = arch::pick_bytes<0x05040100>(second, first);
    }
  }

  // Eight numbers.
  __device__ bits128 expand(u32 codes) const {
    const u32 even = codes & 0x07070707, odd = codes >> 4 & 0x07070707;
    constexpr u32 signs = 0x80808080;
    const u32 even_high = arch::byte_of_table(high[1], high[0], even) | (codes << 4 & signs);
    const u32 odd_high = arch::byte_of_table(high[1], high[0], odd) | (codes & signs);
    const u32 even_low = arch::byte_of_table(low[1], low[0], even);
    const u32 odd_low = arch::byte_of_table(low[1], low[0], odd);
    // Numbers 0, 2 and 4, 6; then 1, 3 and 5, 7.
    const u32 even_first = arch::pick_bytes<0x05010400>(even_high, even_low);
    const u32 even_second = arch::pick_bytes<0x07030602>(even_high, even_low);
    const u32 odd_first = arch::pick_bytes<0x05010400>(odd_high, odd_low);
    const u32 odd_second = arch::pick_bytes<0x07030602>(odd_high, odd_low);
    return {arch::pick_bytes<0x05040100>(odd_first, even_first),
            arch::pick_bytes<0x07060302>(odd_first, even_first),
            arch::pick_bytes<0x05040100>(odd_second, even_second),
            arch::pick_bytes<0x07060302>(odd_second, even_second)};
  }
};

namespace detail {

// Consecutive numbers of a row in 16 bits: `N` pieces of eight.
template <int N>
struct pieces {
  bits128 of[N];
};

// Four numbers that both types hold exactly, from f32.
__device__ inline vec<u32, 2> exactly(bf16, vec<f32, 4> x) {
  const auto bits = bit_cast<vec<u32, 4>>(x);
  return {arch::pick_bytes<0x07060302>(bits[1], bits[0]),
          arch::pick_bytes<0x07060302>(bits[3], bits[2])};
}
__device__ inline vec<u32, 2> exactly(f16, vec<f32, 4> x) {
  return bit_cast<vec<u32, 2>>(__builtin_convertvector(x, vec<f16, 4>));
}

// The numbers that stand for a lane's chunks of a slice, in `To`. `scale` is their block's, if they have
// one.
template <class To, int N>
__device__ inline pieces<N> expand(To, To, const fragment_of<bits128, N>& from, u32) {
  pieces<N> result;
  static_for<N>([&](auto i) { result.of[i] = from.chunk[i]; });
  return result;
}
template <class To, class Codes, int N>
__device__ inline pieces<2 * N> expand_bytes(const fragment_of<bits128, N>& from) {
  pieces<2 * N> result;
  static_for<2 * N>([&](auto i) {
    static_for<2>([&](auto j) {
      const auto two = exactly(To{}, Codes::decode(from.chunk[i / 2][i % 2 * 2 + j]));
      result.of[i][2 * j] = two[0];
      result.of[i][2 * j + 1] = two[1];
    });
  });
  return result;
}
template <class To, int N>
__device__ inline pieces<2 * N> expand(To, e4m3, const fragment_of<bits128, N>& from, u32) {
  return expand_bytes<To, e4m3_codes>(from);
}
template <class To, int N>
__device__ inline pieces<2 * N> expand(To, i8, const fragment_of<bits128, N>& from, u32) {
  return expand_bytes<To, i8_codes>(from);
}
__device__ inline pieces<4> expand(bf16, e2m1, const fragment_of<bits128, 1>& from, u32 scale) {
  const e2m1_table table(scale);
  pieces<4> result;
  static_for<4>([&](auto i) { result.of[i] = table.expand(from.chunk[0][int{i}]); });
  return result;
}
// f16 has more mantissa than bf16: its upper part, then what is left of each number, which is exact.
__device__ inline pieces<8> expand(bf16, f16, const fragment_of<bits128, 4>& from, u32) {
  pieces<8> result;
  static_for<4>([&](auto i) {
    static_for<4>([&](auto j) {
      using pair = vec<f16, 2>;
      const auto whole = __builtin_convertvector(bit_cast<pair>(from.chunk[i][int{j}]), vec<f32, 2>);
      const auto bits = bit_cast<vec<u32, 2>>(whole);
      const auto left = bit_cast<vec<u32, 2>>(whole - bit_cast<vec<f32, 2>>(bits & 0xffff0000));
      result.of[i][int{j}] = arch::pick_bytes<0x07060302>(bits[1], bits[0]);
      // Nothing is left of infinity.
      const u32 low = (bits[0] & 0xffff) == 0 ? 0 : left[0], high = (bits[1] & 0xffff) == 0 ? 0 : left[1];
      result.of[4 + i][int{j}] = arch::pick_bytes<0x07060302>(high, low);
    });
  });
  return result;
}

// What both operands' scales lack after the expansion.
template <class T>
inline constexpr f32 missing = has_blocks<T> ? e2m1_table::missing : 1.0f;

// Operands that are multiplied in 16 bits: bf16, or f16 if x is that and can be. A slice is 16 bytes per
// lane of the operand of fewer bits. Of the groups of k with scales, `Groups` share a slice.
template <class X, class W, int Groups = 1>
struct expanded {
  using x = X;
  using w = W;
  using sum = f32;
  using common = typename choose<same_type<X, f16> && !has_blocks<W>, f16, bf16>::type;
  static constexpr bool as_read = false;
  static constexpr int lane_depth = 128 / min(bits_of<X>, bits_of<W>);
  static constexpr int x_chunks = lane_depth * bits_of<X> / 128;
  static constexpr int w_chunks = lane_depth * bits_of<W> / 128;
  // So that each lane has the same k of both.
  static constexpr bool adjacent = true;
  static constexpr f32 missing = detail::missing<X> * detail::missing<W>;
  static constexpr int groups_per_slice = Groups;

  template <class T, class Fragment>
  __device__ static auto prepare(const Fragment& fragment, u32 scale) {
    return expand(common{}, T{}, fragment, scale);
  }
  template <int XN, int N, class Sum>
  __device__ static Sum mma(const pieces<N>& w, const pieces<XN>& x, Sum c) {
    static_for<XN>([&](auto i) { c = arch::mma(common{}, w.of[i % N], x.of[i], c); });
    return c;
  }
  // Of one of two groups that share a slice: the other's lanes have zeros.
  template <int Group, int N, class Sum>
  __device__ static Sum mma_of_group(const pieces<N>& w, const pieces<N>& x, Sum c) {
    const u32 mask = lane_id() / (wave_size / Groups) == Group ? ~0u : 0;
    static_for<N>([&](auto i) { c = arch::mma(common{}, w.of[i] & mask, x.of[i], c); });
    return c;
  }
};

// Operands of which the matrix instructions take the scales, too.
template <class X, class W>
struct with_scales {
  using x = X;
  using w = W;
  using sum = f32;
  static constexpr bool as_read = false;
  static constexpr int x_chunks = bits_of<X> / 4;
  static constexpr int w_chunks = bits_of<W> / 4;
  static constexpr bool adjacent = false;
  static constexpr f32 missing = 1;
  static constexpr int groups_per_slice = 1;

  struct scaled {
    vec<i32, 8> bits;
    u32 scale;
  };
  template <class T, class Fragment>
  __device__ static scaled prepare(const Fragment& fragment, u32 scale) {
    constexpr u32 one = 127;
    if constexpr (has_blocks<T>) {
      const auto low = bit_cast<vec<i32, 4>>(fragment.bits());
      return {__builtin_shufflevector(low, low, 0, 1, 2, 3, -1, -1, -1, -1), scale};
    } else {
      return {fragment.bits(), one};
    }
  }
  template <class Sum>
  __device__ static Sum mma(const scaled& w, const scaled& x, Sum c) {
    return arch::mma_scaled(W{}, X{}, w.bits, x.bits, c, w.scale, x.scale);
  }
};

}  // namespace detail

// Both operands of one type, as they were read.
template <class T>
struct product_types {
  using x = T;
  using w = T;
  using sum = typename sum_of<T>::type;
  static constexpr bool as_read = true;
  static constexpr int x_chunks = chunks_of<T>;
  static constexpr int w_chunks = chunks_of<T>;
  static constexpr bool adjacent = false;
  static constexpr f32 missing = 1;
  static constexpr int groups_per_slice = 1;
};

template <class X, class W>
struct product_types<unlike<X, W>> : detail::expanded<X, W> {};
template <class X, class W>
struct product_types<in_short_steps<unlike<X, W>>> : detail::expanded<X, W, 2> {};

// Those of which the matrix instructions of some chips take the scales.
template <class X, class W>
struct scaled_if_possible
    : choose<arch::has_scaled_matrix, detail::with_scales<X, W>, detail::expanded<X, W>>::type {};

template <>
struct product_types<e2m1> : scaled_if_possible<e2m1, e2m1> {};
template <>
struct product_types<unlike<e4m3, e2m1>> : scaled_if_possible<e4m3, e2m1> {};

}  // namespace hk
