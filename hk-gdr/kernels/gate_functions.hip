// Elementary functions of each element, in f32: of each x as many of them as are wanted.
#include "hk/elements.h"
#include "hk/math.h"

namespace hk {

// The functions, in the order of the results.
enum class elementary : u32 { exp, exp2, log, log2, safe_exp, softplus, sigmoid, silu };
inline constexpr int elementary_count = 8;

struct ElementaryArgs {
  const f32* x;
  f32* results[elementary_count];  // null where not wanted
  i64 count;
  u32 fast;
  f32 softplus_beta;
  f32 softplus_beta_inverse;
  f32 softplus_threshold;
};

namespace {

constexpr f32 ln_2 = 0x1.62e43p-1f;

// The function of x. What is not fast divides as IEEE says, and does not lose digits of products.
template <elementary Function, bool Fast>
__device__ inline f32 elementary_of(const ElementaryArgs& args, f32 x) {
  const auto power = [](f32 x) { return Fast ? exp2(x * log2_e) : exp(x); };
  if constexpr (Function == elementary::exp) return power(x);
  if constexpr (Function == elementary::exp2) return exp2(x);
  if constexpr (Function == elementary::log) {
    return Fast ? __builtin_log2f(x) * ln_2 : __builtin_logf(x);
  }
  if constexpr (Function == elementary::log2) return __builtin_log2f(x);
  // Written so that NaN passes.
  if constexpr (Function == elementary::safe_exp) return x > 0 ? 0 : power(x);
  if constexpr (Function == elementary::softplus) {
    const f32 scaled = x * args.softplus_beta;
    return scaled > args.softplus_threshold ? x : softplus(scaled) * args.softplus_beta_inverse;
  }
  const f32 numerator = Function == elementary::silu ? x : 1.0f;
  const f32 denominator = 1.0f + exp(-x);
  return Fast ? numerator * reciprocal(denominator) : numerator / denominator;
}

template <bool Fast>
__device__ inline void store_elementary(const ElementaryArgs& args, i64 at, u32 count, vec<f32, 4> x) {
  static_for<elementary_count>([&](auto i) {
    constexpr auto function = static_cast<elementary>(i.value);
    f32* const to = args.results[i];
    if (to == nullptr) return;
    vec<f32, 4> y;
    for (int e = 0; e < 4; ++e) y[e] = elementary_of<function, Fast>(args, x[e]);
    store_elements<f32, 4>(to + at, 1, count, y);
  });
}

template <class Tile>
__device__ inline void elementary_functions(const ElementaryArgs& args) {
  const i64 step = static_cast<i64>(grid_dim().x) * Tile::threads * 4;
#pragma unroll 1
  for (i64 at = static_cast<i64>(global_idx()) * 4; at < args.count; at += step) {
    const u32 count = args.count - at < 4 ? static_cast<u32>(args.count - at) : 4;
    const vec<f32, 4> x = load_elements<f32, 4>(args.x + at, 1, count);
    if (args.fast) {
      store_elementary<true>(args, at, count, x);
    } else {
      store_elementary<false>(args, at, count, x);
    }
  }
}

}  // namespace

}  // namespace hk
