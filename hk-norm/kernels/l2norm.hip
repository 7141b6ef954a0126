// y[i,j] = x[i,j] * r[i], where r[i] = 1 / sqrt(sum_j x[i,j]^2 + eps), which can be stored too. f32
// throughout, one rounding at the store.
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
__device__ inline void l2norm(const L2normArgs& args) {
  with_type(static_cast<dtype>(args.y_type), [&](auto zero) {
    for_rows<Tile>(l2norm_rows<Tile, decltype(zero)>(args), args.rows, args.width);
  });
}

}  // namespace

}  // namespace hk
