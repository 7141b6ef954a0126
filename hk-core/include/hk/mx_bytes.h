// Operands of products that are MX blocks of 8 bits: e4m3 as OCP has it, on every chip, with a scale for
// each 32 k of a row.
#pragma once

#include "hk/mixed.h"

namespace hk {

struct mxfp8 {
  u8 code;
};

template <>
inline constexpr bool has_blocks<mxfp8> = true;

// The numbers of a lane's 32 k of one block, in bf16: times the scale, but for what all operands with
// scales lack.
__device__ inline detail::pieces<4> expand(bf16, mxfp8, const fragment_of<bits128, 2>& from,
                                           u32 scale) {
  const f32 unit = mx_scale_value(scale) * (1 / detail::missing<mxfp8>);
  detail::pieces<4> result;
  static_for<4>([&](auto i) {
    static_for<2>([&](auto j) {
      const u32 codes = from.chunk[i / 2][i % 2 * 2 + j];
      const auto two = detail::exactly(bf16{}, mx_e4m3::decode(codes) * unit);
      result.of[i][2 * j] = two[0];
      result.of[i][2 * j + 1] = two[1];
    });
  });
  return result;
}

namespace detail {

// Of which a lane has 32 k of each, as scales have.
template <class X, class W>
struct expanded_blocks : expanded<X, W> {
  static constexpr int lane_depth = 32;
  static constexpr int x_chunks = bits_of<X> / 4;
  static constexpr int w_chunks = bits_of<W> / 4;
};

template <class X, class W>
struct bytes_with_scales : with_scales<X, W> {
  using scaled = typename with_scales<X, W>::scaled;
  // What the matrix instructions call an element.
  template <class T>
  using element = typename choose<same_type<T, mxfp8>, e4m3, T>::type;

  template <class T, class Fragment>
  __device__ static scaled prepare(const Fragment& fragment, u32 scale) {
    if constexpr (same_type<T, mxfp8>) return {fragment.bits(), scale};
    else return with_scales<X, W>::template prepare<T>(fragment, scale);
  }
  template <class Sum>
  __device__ static Sum mma(const scaled& w, const scaled& x, Sum c) {
    return arch::mma_scaled(element<W>{}, element<X>{}, w.bits, x.bits, c, w.scale, x.scale);
  }
};

template <class X, class W>
struct bytes_if_possible
    : choose<arch::has_scaled_matrix, bytes_with_scales<X, W>, expanded_blocks<X, W>>::type {};

}  // namespace detail

template <>
struct product_types<mxfp8> : detail::bytes_if_possible<mxfp8, mxfp8> {};
template <class W>
struct product_types<unlike<mxfp8, W>> : detail::bytes_if_possible<mxfp8, W> {};
template <>
struct product_types<unlike<e4m3, mxfp8>> : detail::bytes_if_possible<e4m3, mxfp8> {};

}  // namespace hk
