// Quantisation: scales from the largest magnitude, codes of 8 and 4 bits, and what they stand for. Each
// step is one of f32 that is rounded as IEEE says, so that results are the same bits everywhere.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

namespace detail {

template <int Bytes>
struct unsigned_of {
  using type = u32;
};
template <>
struct unsigned_of<2> {
  using type = u16;
};

}  // namespace detail

// The bits of a type without the sign. As integers they are in the order of magnitudes, with infinity
// above all numbers and NaN above that, so that their maximum loses neither.
template <class T>
using magnitude = typename detail::unsigned_of<sizeof(T)>::type;

template <class T, int N>
__device__ inline vec<magnitude<T>, N> magnitudes(vec<T, N> x) {
  constexpr magnitude<T> all_but_sign = static_cast<magnitude<T>>(~0u) >> 1;
  return bit_cast<vec<magnitude<T>, N>>(x) & all_but_sign;
}

// The largest of N magnitudes of type T, as one of f32.
template <class T, int N>
__device__ inline u32 largest(vec<magnitude<T>, N> of) {
  if constexpr (N == 1) {
    return bit_cast<u32>(to_f32(bit_cast<T>(static_cast<magnitude<T>>(of[0]))));
  } else {
    return largest<T, N / 2>(__builtin_elementwise_max(of.lo, of.hi));
  }
}

// The maximum of magnitudes, as a reduction.
struct largest_magnitude {
  __device__ static u32 identity() { return 0; }
  __device__ static u32 apply(u32 a, u32 b) { return a > b ? a : b; }
};

// What codes are multiplied by, and what numbers are multiplied by to be encoded.
struct scaling {
  f32 scale;
  f32 inverse;
};

__device__ inline scaling scaling_by(f32 scale) { return {scale, 1.0f / scale}; }

// Of a row or a tensor: its largest magnitude becomes `most`. 1 if that is zero or would be subnormal.
__device__ inline scaling row_scaling(u32 amax, f32 most) {
  const f32 scale = bit_cast<f32>(amax) / most;
  return scaling_by(scale < 0x1p-126f ? 1.0f : scale);
}

// Of a group of elements: as if the largest magnitude were at least 1e-10.
__device__ inline scaling group_scaling(u32 amax, f32 most) {
  const u32 least = bit_cast<u32>(1e-10f);
  return scaling_by(bit_cast<f32>(amax > least ? amax : least) / most);
}

// Each number, or the end of the range from -most to most that it is beyond; NaN stays.
template <int N>
__device__ inline vec<f32, N> clamp_to(vec<f32, N> x, f32 most) {
  vec<f32, N> result;
  for (int i = 0; i < N; ++i) {
    const f32 inside = arch::median(x[i], -most, most);
    result[i] = x[i] == x[i] ? inside : x[i];
  }
  return result;
}

// Formats of codes: `encode` clamps to the format's range and rounds to nearest, ties to even; `decode`
// is exact. The first code is in the lowest bits.

// Integers from -127 to 127. NaN becomes 0.
struct i8_codes {
  static constexpr f32 most = 127;

  __device__ static u32 encode(vec<f32, 4> x) {
    // The sum's unit in the last place is 1; its lowest bits are the integer in two's complement.
    u32 bits[4];
    for (int i = 0; i < 4; ++i) {
      const f32 sum = arch::median(x[i], -most, most) + 0x1.8p23f;
      bits[i] = x[i] == x[i] ? bit_cast<u32>(sum) : 0;
    }
    const u32 low = arch::pick_bytes<0x0c0c0400>(bits[1], bits[0]);
    return arch::pick_bytes<0x04000c0c>(bits[3], bits[2]) | low;
  }

  __device__ static vec<f32, 4> decode(u32 codes) {
    const auto integers = bit_cast<vec<signed char, 4>>(codes);
    return __builtin_convertvector(integers, vec<f32, 4>);
  }
};

// The chip's own 8-bit floating point. `convert` is given only what is in its range, or NaN.
struct e4m3_codes {
  static constexpr f32 most = arch::e4m3_most;
  __device__ static u32 convert(vec<f32, 4> x) { return arch::to_e4m3(x); }
  __device__ static u32 encode(vec<f32, 4> x) { return convert(clamp_to(x, most)); }
  __device__ static vec<f32, 4> decode(u32 codes) { return arch::from_e4m3(codes); }
};
struct e5m2_codes {
  static constexpr f32 most = 57344;
  __device__ static u32 convert(vec<f32, 4> x) { return arch::to_e5m2(x); }
  __device__ static u32 encode(vec<f32, 4> x) { return convert(clamp_to(x, most)); }
  __device__ static vec<f32, 4> decode(u32 codes) { return arch::from_e5m2(codes); }
};

// The codes of N numbers.
template <class Format, int N>
__device__ inline vec<u32, N / 4> encode(vec<f32, N> x) {
  vec<u32, N / 4> codes;
  for (int i = 0; i < N / 4; ++i) {
    codes[i] = Format::encode({x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]});
  }
  return codes;
}

// Formats of 8-bit codes as values; the numbers are the host's `ByteCode::CODE`.
enum class byte_format : u32 { i8, e4m3 };

// What `body` returns for the format that `format`, the same in all lanes, stands for.
template <class F>
__device__ inline auto with_format(byte_format format, F&& body) {
  return format == byte_format::i8 ? body(i8_codes{}) : body(e4m3_codes{});
}

// The elements of MX blocks, which are OCP's on every chip. `exponent` is that of the largest number,
// `mantissa` the mantissa field that the largest would have in f32.
//
// NaN need not be kept by codes: the scale of its block has it.

// Of 8 bits: those of `Native`, perhaps with another bias.
template <class Native, int Most, u32 Exponent>
struct mx_fp8 {
  static constexpr int bits = 8;
  static constexpr f32 most = Most;
  static constexpr u32 exponent = Exponent, mantissa = 0x600000;

  __device__ static u32 encode(vec<f32, 4> x) {
    return Native::convert(clamp_to(x * arch::fp8_of_ocp, most * arch::fp8_of_ocp));
  }
};

struct mx_e4m3 : mx_fp8<e4m3_codes, 448, 8> {
  __device__ static vec<f32, 4> decode(u32 codes) {
    vec<f32, 4> x;
    for (int i = 0; i < 4; ++i) {
      const u32 code = codes >> 8 * i & 0xff, size = code & 0x7f;
      // The fields of f32 with another bias; subnormal codes are subnormal there too.
      const f32 number = bit_cast<f32>(size << 20) * 0x1p120f;
      x[i] = __builtin_copysignf(size == 0x7f ? __builtin_nanf("") : number,
                                 bit_cast<f32>(code << 24));
    }
    return x;
  }
};
struct mx_e5m2 : mx_fp8<e5m2_codes, 57344, 15> {
  __device__ static vec<f32, 4> decode(u32 codes) {
    // The upper half of f16.
    vec<f32, 4> x;
    for (int i = 0; i < 4; ++i) {
      x[i] = to_f32(bit_cast<f16>(static_cast<u16>((codes >> 8 * i & 0xff) << 8)));
    }
    return x;
  }
};

// Where a number is just between two e2m1 codes.
enum class fp4_ties { to_even, away };

struct mx_e2m1 {
  static constexpr fp4_ties ties = fp4_ties::to_even;
  static constexpr int bits = 4;
  static constexpr f32 most = 6;
  static constexpr u32 exponent = 2, mantissa = 0x400000;

  // The code of one number that is not NaN.
  template <fp4_ties Ties>
  __device__ static u32 encode(f32 x) {
    const u32 sign = bit_cast<u32>(x) >> 31, size = bit_cast<u32>(x) & 0x7fffffff;
    constexpr u32 quarter = 0x3e800000, three_quarters = 0x3f400000, one = 0x3f800000;
    constexpr int dropped = 22;
    constexpr u32 half = 1u << (dropped - 1);
    const bool is_some = Ties == fp4_ties::away ? size >= quarter : size > quarter;
    const u32 small = is_some + (size >= three_quarters);
    const u32 odd = size >> dropped & 1;
    const u32 rounded = (size + (Ties == fp4_ties::away ? half : half - 1 + odd)) >> dropped;
    const u32 large = rounded - (one >> dropped) + 2;
    const u32 code = size < one ? small : large;
    return (code < 7 ? code : 7) | sign << 3;
  }

  __device__ static vec<f32, 8> decode(u32 codes) {
    vec<f32, 8> x;
    for (int i = 0; i < 8; ++i) {
      const u32 code = codes >> 4 * i & 0xf;
      // The fields of f32 with another bias.
      x[i] = __builtin_copysignf(bit_cast<f32>((code & 7) << 22) * 0x1p126f,
                                 bit_cast<f32>(code << 28));
    }
    return x;
  }
};

struct mx_e2m1_away : mx_e2m1 {
  static constexpr fp4_ties ties = fp4_ties::away;
};

// How the power of two that scales an MX block follows from its largest magnitude; the numbers are
// those of the host's `MxRound`.
enum class mx_round : u32 { even, round_up, round_down, ceil, floor_of_ratio };

// Formats of MX codes as values; the numbers are the host's `MxFormat`.
enum class mx_format : u32 { e4m3, e2m1, e2m1_away, e5m2 };

// What `body` returns for the format that `format`, the same in all lanes, stands for.
template <class F>
__device__ inline auto with_mx_format(mx_format format, F&& body) {
  switch (format) {
    case mx_format::e4m3: return body(mx_e4m3{});
    case mx_format::e2m1: return body(mx_e2m1{});
    case mx_format::e2m1_away: return body(mx_e2m1_away{});
    default: return body(mx_e5m2{});
  }
}

// What carries into the exponent of a block's largest magnitude where the mode takes the next power of
// two.
template <class Format>
__device__ inline u32 mx_addend(mx_round mode) {
  switch (mode) {
    case mx_round::even: return 0x200000;
    case mx_round::round_up: return 0x7fffff - Format::mantissa;
    case mx_round::round_down: return 0;
    case mx_round::ceil: return 0x7fffff;
    default: return -Format::mantissa;
  }
}

// The e8m0 byte of a block, with that addend; 255 if the block has infinity or NaN.
template <class Format>
__device__ inline u32 mx_scale(u32 amax, u32 addend) {
  const i32 byte = (static_cast<i32>(amax + addend) >> 23) - static_cast<i32>(Format::exponent);
  return amax >= 0x7f800000 ? 255 : byte > 0 ? byte : 0;
}

// As above, by the mode.
template <class Format>
__device__ inline u32 mx_scale(u32 amax, mx_round mode) {
  return mx_scale<Format>(amax, mx_addend<Format>(mode));
}

// 2^(byte - 127), and NaN for 255.
__device__ inline f32 mx_scale_value(u32 byte) {
  return bit_cast<f32>(byte == 0 ? 0x00400000 : byte == 255 ? 0x7fc00000 : byte << 23);
}

// 2^(127 - byte), for bytes other than 255.
__device__ inline f32 mx_inverse(u32 byte) {
  return bit_cast<f32>(byte == 254 ? 0x00400000 : (254 - byte) << 23);
}

// The codes of eight numbers of an MX block with that scale: 0 if the scale is NaN.
template <class Format>
__device__ inline vec<u32, Format::bits / 4> mx_encode(vec<f32, 8> x, u32 byte) {
  vec<u32, Format::bits / 4> codes = 0;
  if constexpr (Format::bits == 8) {
    codes = encode<Format, 8>(x * mx_inverse(byte));
  } else if constexpr (Format::ties == fp4_ties::to_even && arch::has_e2m1) {
    const f32 scale = bit_cast<f32>(byte << 23);
    static_for<4>([&](auto i) {
      constexpr int pair = 2 * decltype(i)::value;
      codes[0] = arch::to_e2m1<pair / 2>(codes[0], x[pair], x[pair + 1], scale);
    });
  } else {
    const f32 inverse = mx_inverse(byte);
    for (int i = 0; i < 8; ++i) {
      codes[0] |= Format::template encode<Format::ties>(x[i] * inverse) << 4 * i;
    }
  }
  return byte == 255 ? vec<u32, Format::bits / 4>(0) : codes;
}

}  // namespace hk
