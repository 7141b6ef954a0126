// Running sums in f32 over lanes next to each other.
#pragma once

#include "hk/wave.h"

namespace hk {

// What a lane's sums begin with, and the sum of all its group's lanes.
struct lane_sums {
  f32 before;
  f32 all;
};

// Of groups of `lanes` lanes, a power of two up to 32, which have `own` each, in the order of lanes or in
// reverse.
__device__ inline lane_sums scan_lanes(f32 own, u32 lanes, bool reverse) {
  lane_sums sums{0, own};
  static_for<5>([&](auto bit) {
    constexpr u32 half = 1 << bit.value;
    if (half >= lanes) return;
    const f32 other = bit_cast<f32>(arch::other_half<half>(bit_cast<u32>(sums.all)));
    const bool is_upper = (lane_id() & half) != 0;
    sums.before += is_upper != reverse ? other : 0;
    sums.all += other;
  });
  return sums;
}

}  // namespace hk
