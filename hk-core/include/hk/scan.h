// Sums over the lanes before, and lanes that have the same number.
#pragma once

#include "hk/arch/votes.h"
#include "hk/wave.h"

namespace hk {

using arch::ballot;
using arch::count_before;
using arch::lane_bits;

// The lanes among `lanes`, which have this one, whose number of so many bits is this lane's.
__device__ inline lane_bits lanes_alike(lane_bits lanes, u32 number, u32 bits) {
#pragma unroll 1
  for (u32 bit = 0; bit < bits; ++bit) {
    const bool is_set = (number >> bit & 1) != 0;
    const lane_bits set = ballot(is_set);
    lanes &= is_set ? set : ~set;
  }
  return lanes;
}

// The sum of the values of the lanes before this one, and of all; of sums of 32 bits.
struct prefix {
  u32 before, total;
};

// If it `Saturates`, sums that 32 bits have no room for are the largest number instead.
template <bool Saturates, int Half = 1>
__device__ inline prefix wave_prefix(prefix part) {
  const auto add = [](u32 a, u32 b) {
    return Saturates ? __builtin_elementwise_add_sat(a, b) : a + b;
  };
  if constexpr (Half < wave_size / 2) {
    const u32 other = arch::other_half<Half>(part.total);
    const u32 before = add(part.before, (lane_id() & Half) != 0 ? other : 0);
    return wave_prefix<Saturates, 2 * Half>({before, add(part.total, other)});
  } else {
    const u32 first = arch::first_lane(part.total), second = arch::value_of_lane(part.total, Half);
    return {add(part.before, lane_id() < Half ? 0 : first), add(first, second)};
  }
}
template <bool Saturates = false>
__device__ inline prefix wave_prefix(u32 value) {
  return wave_prefix<Saturates, 1>(prefix{0, value});
}

// As `wave_prefix`, over a workgroup of `Waves` waves, which must be a power of two, that extends
// along x alone. `scratch` is LDS of that many numbers, which may be used again after the next
// barrier of the caller.
template <int Waves>
__device__ inline prefix workgroup_prefix(u32 value, u32* scratch) {
  const prefix of_wave = wave_prefix(value);
  // All lanes store the same: no branch.
  scratch[wave_id()] = of_wave.total;
  sync_threads();
  u32 before = of_wave.before, total = 0;
  for (u32 wave = 0; wave < Waves; ++wave) {
    const u32 of_other = scratch[wave];
    before += wave < wave_id() ? of_other : 0;
    total += of_other;
  }
  return {before, total};
}

}  // namespace hk
