// What gates let through: silu_alpha(gate) (linear + offset), where gates are at most a limit, and what they
// let through is between that and its negative.
#pragma once

#include "hk/math.h"

namespace hk {

struct swiglu {
  f32 alpha;
  f32 limit;   // infinite if there is none
  f32 offset;  // added to what is let through

  __device__ f32 operator()(f32 gate, f32 linear) const {
    gate = at_most(gate, limit);
    linear = at_least(at_most(linear, limit), -limit);
    const f32 through = gate * reciprocal(1.0f + exp2(-log2_e * alpha * gate));
    // Of infinite gates, nothing is added where there is no offset.
    const f32 more = offset == 0 ? 0 : through * offset;
    return __builtin_fmaf(through, linear, more);
  }

  // NaN stays.
  __device__ static f32 at_most(f32 x, f32 limit) { return x > limit ? limit : x; }
  __device__ static f32 at_least(f32 x, f32 limit) { return x < limit ? limit : x; }
};

}  // namespace hk
