// Lanes, waves and reductions over them.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

using arch::wave_size;

// Index of this lane in its wave.
__device__ inline u32 lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

// A value that is the same in all lanes, as the scalar that it is.
__device__ inline u32 uniform(u32 value) { return __builtin_amdgcn_readfirstlane(value); }
__device__ inline f32 uniform(f32 value) { return bit_cast<f32>(uniform(bit_cast<u32>(value))); }

// Index of this wave in a workgroup that extends along x alone.
__device__ inline u32 wave_id() { return uniform(thread_idx().x / wave_size); }

// Binary operations for reductions.
struct add {
  __device__ static f32 apply(f32 a, f32 b) { return a + b; }
};
struct maximum {
  // NaN in either operand wins.
  __device__ static f32 apply(f32 a, f32 b) { return __builtin_elementwise_maximum(a, b); }
};

namespace detail {

template <int Control>
__device__ inline f32 dpp(f32 value) {
  const int bits = bit_cast<int>(value);
  return bit_cast<f32>(__builtin_amdgcn_update_dpp(bits, bits, Control, 0xf, 0xf, false));
}

// Controls of data-parallel primitives: each is its own inverse, and after the steps before it all
// the lanes that it may pair hold the same partial result.
inline constexpr int quad_xor_1 = 0xb1;
inline constexpr int quad_xor_2 = 0x4e;
inline constexpr int row_half_mirror = 0x141;
inline constexpr int row_mirror = 0x140;

}  // namespace detail

// Reduces over aligned groups of `Lanes` lanes; every lane receives its group's result, and all of
// them the same bits.
template <class Op, int Lanes = wave_size>
__device__ inline f32 wave_reduce(f32 value) {
  static_assert(Lanes >= 1 && Lanes <= wave_size && (Lanes & (Lanes - 1)) == 0);
  if constexpr (Lanes >= 2) value = Op::apply(value, detail::dpp<detail::quad_xor_1>(value));
  if constexpr (Lanes >= 4) value = Op::apply(value, detail::dpp<detail::quad_xor_2>(value));
  if constexpr (Lanes >= 8) value = Op::apply(value, detail::dpp<detail::row_half_mirror>(value));
  if constexpr (Lanes >= 16) value = Op::apply(value, detail::dpp<detail::row_mirror>(value));
  if constexpr (Lanes >= 32) {
    value = Op::apply(value, bit_cast<f32>(arch::lane_xor_16(bit_cast<u32>(value))));
  }
  if constexpr (Lanes >= 64) {
    value = Op::apply(value, bit_cast<f32>(arch::lane_xor_32(bit_cast<u32>(value))));
  }
  return value;
}

// Reduces over a workgroup of `Waves` waves; `scratch` is LDS of that many floats. It may be used
// again after the next barrier of the caller. Every lane receives the same bits.
template <class Op, int Waves>
__device__ inline f32 workgroup_reduce(f32 value, f32* scratch) {
  value = wave_reduce<Op>(value);
  if constexpr (Waves == 1) return value;
  if (lane_id() == 0) scratch[wave_id()] = value;
  sync_threads();
  value = scratch[0];
  for (int i = 1; i < Waves; ++i) value = Op::apply(value, scratch[i]);
  return value;
}

}  // namespace hk
