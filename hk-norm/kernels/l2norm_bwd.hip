// dx[i,j] = r[i] * (dy[i,j] - y[i,j] * sum_k dy[i,k] y[i,k]), the derivative of rows y = r x of length one.
// f32 throughout, one rounding at the store.
#include "hk/rows.h"

namespace hk {

struct L2normBwdArgs {
  const void* y;
  const void* dy;
  const f32* rstd;
  void* dx;
  i64 y_stride;  // in elements, from row to row, as all strides
  i64 dy_stride;
  i64 dx_stride;
  u32 rows;
  u32 width;
};

namespace {

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
__device__ inline void l2norm_bwd(const L2normBwdArgs& args) {
  for_rows<Tile>(l2norm_bwd_rows<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
