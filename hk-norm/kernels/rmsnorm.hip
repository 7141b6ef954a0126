// y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset), where h = x or, fused,
// h = round(x + residual), which is stored too. f32 throughout, one rounding at the store.
#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

struct RmsnormArgs {
  const void* x;
  const void* residual;  // null unless fused
  const void* weight;
  void* y;
  void* residual_out;  // null unless fused
  f32* rstd;           // null if not wanted
  i64 x_stride;        // in elements, from row to row, as all strides
  i64 residual_stride;
  i64 y_stride;
  i64 residual_out_stride;
  u32 rows;
  u32 width;
  u32 weight_type;  // a dtype
  f32 eps;
  f32 weight_offset;
};

namespace {

// What `for_rows` is to do.
template <class Tile>
struct rmsnorm_rows {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const RmsnormArgs& args;

  struct loads {
    row_load<T, chunks> x, residual;
  };
  using elements = vec<T, chunk>;
  using held = per_chunk<elements, chunks>;

  __device__ void start(loads& to, const auto& at) const {
    to.x.start({static_cast<const T*>(args.x), args.x_stride}, at);
    if constexpr (Tile::FUSED) {
      to.residual.start({static_cast<const T*>(args.residual), args.residual_stride}, at);
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held h;
    for (int i = 0; i < chunks; ++i) {
      h.of[i] = from.x.elements(i, at);
      if constexpr (Tile::FUSED) {
        const elements residual = from.residual.elements(i, at);
        h.of[i] = round_to<T, chunk>(to_f32<T, chunk>(h.of[i]) + to_f32<T, chunk>(residual));
      }
    }
    return h;
  }

  using columns = column_load<chunks>;

  __device__ void start(columns& to, const auto& at) const {
    to.start(args.weight, weight_type(), at);
  }

  __device__ chunk_values hold(const columns& from, int i, const auto& at) const {
    return from.values(i, weight_type(), at) + args.weight_offset;
  }

  using reduction = add;

  __device__ f32 measure(const held& row) const { return dot(row, row); }

  __device__ void store(const held& row, auto&& weights, f32 squares, const auto& at) const {
    const f32 scale = rsqrt(squares * reciprocal(static_cast<f32>(args.width)) + args.eps);
    if constexpr (Tile::FUSED) {
      const matrix<T> sum{static_cast<T*>(args.residual_out), args.residual_out_stride};
      store_row<chunks>(sum, at, [&](int i) { return row.of[i]; });
    }
    const matrix<T> y{static_cast<T*>(args.y), args.y_stride};
    store_row<chunks>(y, at, [&](int i) {
      return round_to<T, chunk>(to_f32<T, chunk>(row.of[i]) * scale * weights(i));
    });
    if (args.rstd != nullptr && at.column == 0 && at.leads_row()) args.rstd[at.row()] = scale;
  }

 private:
  __device__ dtype weight_type() const { return static_cast<dtype>(args.weight_type); }
};

template <class Tile>
__device__ inline void rmsnorm(const RmsnormArgs& args) {
  for_rows<Tile>(rmsnorm_rows<Tile>{args}, args.rows, args.width);
}

}  // namespace

}  // namespace hk
