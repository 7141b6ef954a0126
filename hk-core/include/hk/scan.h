// Sums over the lanes before.
#pragma once

#include "hk/arch/lanes.h"
#include "hk/wave.h"

namespace hk {

// The sum of this lane's value and those of all lanes before it, at most `most`, which no value may
// exceed, and which must be below 2^31. All lanes must take part.
__device__ inline u32 inclusive_sum(u32 value, u32 most = ~0u >> 1) {
  static_for<6>([&](auto step) {
    constexpr u32 distance = 1u << step;
    static_assert(wave_size == 64);
    const u32 lane = lane_id();
    const u32 other = arch::value_from(value, lane - distance);
    value += lane >= distance ? other : 0;
    value = value < most ? value : most;
  });
  return value;
}

}  // namespace hk
