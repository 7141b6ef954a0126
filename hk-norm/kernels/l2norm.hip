// y[i,j] = x[i,j] * r[i], where r[i] = 1 / sqrt(sum_j x[i,j]^2 + eps), which can be stored too; and
// its derivative dx[i,j] = r[i] * (dy[i,j] - y[i,j] * sum_k dy[i,k] y[i,k]). f32 throughout, one
// rounding at the store.
#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

struct L2normArgs {
  const void* x;
  void* y;
  f32* rstd;     // null if not wanted
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 y_stride;
  u32 rows;
  u32 width;
  u32 y_type;  // a dtype
  f32 eps;
};

struct L2normBwdArgs {
  const void* y;
  const void* dy;
  const f32* rstd;
  void* dx;
  i64 y_stride;
  i64 dy_stride;
  i64 dx_stride;
  u32 rows;
  u32 width;
};

namespace {

// What `for_rows` is to do, with results of type Y.
template <class Tile, class Y>
struct l2norm_rows : one_matrix<Tile>, no_columns {
  using one = one_matrix<Tile>;
  using T = typename one::T;
  using held = typename one::held;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;
  using one::hold;
  using one::start;
  using reduction = add;

  const L2normArgs& args;

  __device__ l2norm_rows(const L2normArgs& args)
      : one{{static_cast<const T*>(args.x), args.x_stride}}, args(args) {}

  __device__ f32 measure(const held& x) const { return dot(x, x); }

  __device__ void store(const held& x, auto&&, f32 squares, const auto& at) const {
    const f32 r = rsqrt(squares + args.eps);
    store_row<chunks>(matrix<Y>{static_cast<Y*>(args.y), args.y_stride}, at, [&](int i) {
      return round_to<Y, chunk>(to_f32<T, chunk>(x.of[i]) * r);
    });
    if (args.rstd != nullptr && at.column == 0 && at.leads_row()) args.rstd[at.row()] = r;
  }
};

template <class Tile>
struct l2norm_bwd_rows : no_columns {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;
  using reduction = add;

  const L2normBwdArgs& args;

  __device__ l2norm_bwd_rows(const L2normBwdArgs& args) : args(args) {}

  struct loads {
    row_load<T, chunks> y, dy;
    f32 rstd;
  };
  struct held {
    per_chunk<vec<T, chunk>, chunks> y, dy;
    f32 rstd;
  };

  __device__ void start(loads& to, const auto& at) const {
    const arch::checked_range rstd{args.rstd + at.first, out_of_range};
    to.rstd = bit_cast<f32>(rstd.load_32(at.has_row() ? at.row_of_wave() * 4 : out_of_range));
    to.y.start({static_cast<const T*>(args.y), args.y_stride}, at);
    to.dy.start({static_cast<const T*>(args.dy), args.dy_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    row.rstd = from.rstd;
    for (int i = 0; i < chunks; ++i) {
      row.y.of[i] = from.y.elements(i, at);
      row.dy.of[i] = from.dy.elements(i, at);
    }
    return row;
  }

  __device__ f32 measure(const held& row) const { return dot(row.y, row.dy); }

  __device__ void store(const held& row, auto&&, f32 product, const auto& at) const {
    store_row<chunks>(matrix<T>{static_cast<T*>(args.dx), args.dx_stride}, at, [&](int i) {
      const chunk_values y = to_f32<T, chunk>(row.y.of[i]), dy = to_f32<T, chunk>(row.dy.of[i]);
      return round_to<T, chunk>(row.rstd * (dy - y * product));
    });
  }
};

template <class Tile>
__device__ inline void l2norm(const L2normArgs& args) {
  with_type(static_cast<dtype>(args.y_type), [&](auto zero) {
    for_rows<Tile>(l2norm_rows<Tile, decltype(zero)>(args), args.rows, args.width);
  });
}

template <class Tile>
__device__ inline void l2norm_bwd(const L2normBwdArgs& args) {
  for_rows<Tile>(l2norm_bwd_rows<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
