// g[i,j] = -exp(A_log[j]) * softplus(a[i,j] + dt_bias[j]), the logarithm of a head's decay, and
// beta[i,j] = sigmoid(b[i,j]), in f32. Rows are read once; the heads' parameters stay in registers.
#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

struct GdnGatingArgs {
  const void* a_log;
  const void* dt_bias;
  const void* a;
  const void* b;
  f32* g;
  void* beta;
  i64 a_stride;  // in elements, from row to row, as all strides
  i64 b_stride;
  i64 g_stride;
  i64 beta_stride;
  u32 rows;
  u32 width;
  u32 a_log_type;  // a dtype, as all types
  u32 dt_bias_type;
  u32 beta_type;
  f32 softplus_beta;
  f32 softplus_beta_inverse;
  f32 softplus_threshold;
};

namespace {

// What `for_rows` is to do.
template <class Tile>
struct gating_rows : no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const GdnGatingArgs& args;

  __device__ gating_rows(const GdnGatingArgs& args) : args(args) {}

  struct loads {
    row_load<T, chunks> a, b;
  };
  struct held {
    per_chunk<vec<T, chunk>, chunks> a, b;
  };

  __device__ void start(loads& to, auto at) const {
    if constexpr (at.shares_wave) arch::forget_scalar(at.width);
    to.a.start({static_cast<const T*>(args.a), args.a_stride}, at);
    to.b.start({static_cast<const T*>(args.b), args.b_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    for (int i = 0; i < chunks; ++i) {
      row.a.of[i] = from.a.elements(i, at);
      row.b.of[i] = from.b.elements(i, at);
    }
    return row;
  }

  struct columns {
    column_load<chunks> a_log, dt_bias;
  };
  struct parameters {
    chunk_values rate;  // exp(A_log)
    chunk_values bias;
  };

  __device__ void start(columns& to, const auto& at) const {
    to.a_log.start(args.a_log, a_log_type(), at);
    to.dt_bias.start(args.dt_bias, dt_bias_type(), at);
  }

  __device__ parameters hold(const columns& from, int i, const auto& at) const {
    chunk_values rate = from.a_log.values(i, a_log_type(), at);
    // No rate is zero: in an infinite step everything decays.
    for (int e = 0; e < chunk; ++e) {
      rate[e] = __builtin_elementwise_maximum(exp(rate[e]), 0x1p-126f);
    }
    return {rate, from.dt_bias.values(i, dt_bias_type(), at)};
  }

  __device__ void store(const held& row, auto&& parameters_of, no_reduction, auto at) const {
    // What is compared with the width is to be compared here: all masks would fill the scalar registers.
    arch::forget_scalar(at.width);
    const auto to = late_arguments<Tile::IN_PIECES>(args);
    store_row<chunks>(matrix<f32>{to->g, to->g_stride}, at, [&](int i) {
      const parameters heads = parameters_of(i);
      const chunk_values step = to_f32<T, chunk>(row.a.of[i]) + heads.bias;
      chunk_values g;
      for (int e = 0; e < chunk; ++e) g[e] = decay(heads.rate[e], step[e]);
      return g;
    });
    per_chunk<chunk_values, chunks> beta;
    for (int i = 0; i < chunks; ++i) {
      beta.of[i] = to_f32<T, chunk>(row.b.of[i]);
      for (int e = 0; e < chunk; ++e) beta.of[i][e] = sigmoid(beta.of[i][e]);
    }
    arch::forget_scalar(at.width);
    with_type(type_of(to->beta_type), [&](auto zero) {
      using Beta = decltype(zero);
      const matrix<Beta> rows{static_cast<Beta*>(to->beta), to->beta_stride};
      store_row<chunks>(rows, at, [&](int i) { return round_to<Beta, chunk>(beta.of[i]); });
    });
  }

 private:
  // -rate * softplus(step): nothing decays in a step of zero, even at an infinite rate.
  __device__ f32 decay(f32 rate, f32 step) const {
    const f32 scaled = step * args.softplus_beta;
    const f32 soft = softplus(scaled) * args.softplus_beta_inverse;
    const f32 size = scaled > args.softplus_threshold ? step : soft;
    return size == 0 ? 0 : -rate * size;
  }

  // To be compared where they are needed, as widths are.
  __device__ static dtype type_of(u32 code) {
    arch::forget_scalar(code);
    return static_cast<dtype>(code);
  }
  __device__ dtype a_log_type() const { return type_of(args.a_log_type); }
  __device__ dtype dt_bias_type() const { return type_of(args.dt_bias_type); }
};

template <class Tile>
__device__ inline void fused_gdn_gating(const GdnGatingArgs& args) {
  for_rows<Tile>(gating_rows<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
