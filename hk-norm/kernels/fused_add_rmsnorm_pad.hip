// y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset) for the columns of x,
// and 0 for those from there to `padded`, where h = x or, fused, h = x + residual, which is not
// rounded, but stored rounded too. f32 throughout, one rounding at the store.
#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

struct FusedAddRmsnormPadArgs {
  const void* x;
  const void* residual;  // null unless fused
  const void* weight;
  void* y;
  void* residual_out;  // null unless fused
  i64 x_stride;        // in elements, from row to row, as all strides
  i64 residual_stride;
  i64 y_stride;
  i64 residual_out_stride;
  u32 rows;
  u32 width;
  u32 padded;         // width of y
  u32 weight_type;    // a dtype
  u32 residual_type;  // a dtype
  f32 eps;
  f32 weight_offset;
};

namespace {

// What `for_rows` is to do in the columns of y, with a residual of type R.
template <class Tile, class R>
struct rmsnorm_pad_rows {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const FusedAddRmsnormPadArgs& args;

  struct loads {
    row_load<T, chunks> x;
    row_load<R, chunks> residual;
  };
  using held = per_chunk<chunk_values, chunks>;

  __device__ void start(loads& to, const auto& place) const {
    const auto at = place.until(args.width);
    to.x.start({static_cast<const T*>(args.x), args.x_stride}, at);
    if constexpr (Tile::FUSED) {
      to.residual.start({static_cast<const R*>(args.residual), args.residual_stride}, at);
    }
  }

  __device__ held hold(const loads& from, const auto& place) const {
    const auto at = place.until(args.width);
    held h;
    for (int i = 0; i < chunks; ++i) {
      h.of[i] = to_f32<T, chunk>(from.x.elements(i, at));
      if constexpr (Tile::FUSED) h.of[i] += to_f32<R, chunk>(from.residual.elements(i, at));
    }
    return h;
  }

  using columns = column_load<chunks>;

  __device__ void start(columns& to, const auto& place) const {
    to.start(args.weight, weight_type(), place.until(args.width));
  }

  __device__ chunk_values hold(const columns& from, int i, const auto& place) const {
    return from.values(i, weight_type(), place.until(args.width)) + args.weight_offset;
  }

  using reduction = add;

  __device__ f32 measure(const held& row) const { return dot(row, row); }

  __device__ void store(const held& row, auto&& weights, f32 squares, const auto& place) const {
    const auto at = place.until(args.width);
    const f32 scale = rsqrt(squares / static_cast<f32>(args.width) + args.eps);
    if constexpr (Tile::FUSED) {
      const auto to = late_arguments<true>(args);
      const matrix<R> sum{static_cast<R*>(to->residual_out), to->residual_out_stride};
      store_row<chunks>(sum, at, [&](int i) { return round_to<R, chunk>(row.of[i]); });
    }
    const matrix<T> y{static_cast<T*>(args.y), args.y_stride};
    store_row<chunks>(y, place, [&](int i) {
      const auto normalised = round_to<T, chunk>(row.of[i] * scale * weights(i));
      // Whatever the scale is.
      return fill_past_end(normalised, static_cast<T>(0.0f), i, at);
    });
  }

 private:
  __device__ dtype weight_type() const { return static_cast<dtype>(args.weight_type); }
};

template <class Tile>
__device__ inline void rmsnorm_pad(const FusedAddRmsnormPadArgs& args) {
  const auto run = [&](auto zero) {
    const rmsnorm_pad_rows<Tile, decltype(zero)> op{args};
    for_rows<Tile>(op, args.rows, args.padded, args.width);
  };
  if constexpr (Tile::FUSED) {
    with_type(static_cast<dtype>(args.residual_type), run);
  } else {
    run(typename Tile::T{});
  }
}

}  // namespace

}  // namespace hk
