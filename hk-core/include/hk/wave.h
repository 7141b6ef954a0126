// Lanes, waves and reductions over them.
#pragma once

#include "hk/hip.h"

namespace hk {

using arch::wave_size;

// Index of this lane in its wave.
using arch::lane_id;

// A value of whole dwords that is the same in all lanes, as the scalars that it is.
template <class T>
__device__ inline T uniform(T value) {
  auto words = bit_cast<words_of<T>>(value);
  for (u32& word : words.of) word = arch::first_lane(word);
  return bit_cast<T>(words);
}

// Index of this wave in a workgroup that extends along x alone.
__device__ inline u32 wave_id() {
  u32 id = uniform(thread_idx().x / wave_size);
  // The compiler would make what follows from it of the work-item's number, and mask the lane's bits out
  // of each.
  arch::forget_source(id);
  return id;
}

// Binary operations for reductions, commutative, with the value that changes nothing.
struct add {
  __device__ static f32 identity() { return 0; }
  __device__ static f32 apply(f32 a, f32 b) { return a + b; }
};
struct maximum {
  __device__ static f32 identity() { return -__builtin_inff(); }
  // NaN in either operand wins.
  __device__ static f32 apply(f32 a, f32 b) { return __builtin_elementwise_maximum(a, b); }
};

// Reduces over aligned groups of `Lanes` lanes; every lane receives its group's result, and all of
// them the same bits. A value may be any struct of dwords that `Op` can take.
template <class Op, int Lanes = wave_size, class T>
__device__ inline T wave_reduce(T value) {
  static_assert(Lanes >= 1 && Lanes <= wave_size && (Lanes & (Lanes - 1)) == 0);
  if constexpr (Lanes == 1) {
    return value;
  } else {
    constexpr int half = Lanes / 2;
    // The lanes of each half hold the same.
    const auto words = bit_cast<words_of<T>>(wave_reduce<Op, half>(value));
    words_of<T> halves[2];
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) {
      if constexpr (Lanes == wave_size) {
        halves[0].of[i] = arch::first_lane(words.of[i]);
        halves[1].of[i] = arch::value_of_lane(words.of[i], half);
      } else {
        const vec<u32, 2> both = arch::both_halves<half>(words.of[i]);
        for (int side = 0; side < 2; ++side) halves[side].of[i] = both[side];
      }
    }
    return Op::apply(bit_cast<T>(halves[0]), bit_cast<T>(halves[1]));
  }
}

// Of four lanes next to each other, that have a value for each of them: the values that all have for
// this lane.
__device__ inline void exchange_in_quad(u32 (&values)[4]) {
  const u32 lane = lane_id();
  const auto exchange = [&](auto distance, u32& first, u32& second) {
    // Pairs of lanes, of which each keeps what is for it.
    const bool is_second = (lane & distance.value) != 0;
    const u32 other = arch::other_half<distance.value>(is_second ? first : second);
    first = is_second ? other : first;
    second = is_second ? second : other;
  };
  exchange(constant<1>{}, values[0], values[1]);
  exchange(constant<1>{}, values[2], values[3]);
  exchange(constant<2>{}, values[0], values[2]);
  exchange(constant<2>{}, values[1], values[3]);
}

// Reduces over a workgroup of `Waves` waves, a power of two, that extends along x alone; `scratch` is LDS
// of that many values. It may be used again after the next barrier of the caller. Every lane receives
// the same bits.
template <class Op, int Waves, class T>
__device__ inline T workgroup_reduce(T value, T* scratch) {
  value = wave_reduce<Op>(value);
  if constexpr (Waves == 1) return value;
  // All lanes store the same: no branch.
  scratch[wave_id()] = value;
  sync_threads();
  return wave_reduce<Op, Waves>(scratch[thread_idx().x % Waves]);
}

}  // namespace hk
