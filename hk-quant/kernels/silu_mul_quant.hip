// c[i,j] = round(y[i,j] * (1 / s)) with y[i,j] = silu(x[i,j]) * x[i,width+j] and one scale s, which is
// given. f32 throughout; y can be rounded to the type of x before it is scaled.
#include "hk/math.h"
#include "hk/quant_rows.h"

namespace hk {

struct SiluMulQuantArgs {
  const void* x;  // rows of twice the width
  const f32* scale;
  u8* codes;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 codes_stride;
  u32 rows;
  u32 width;
  u32 rounds;  // whether y is rounded
};

namespace {

// What is to be done with each row of codes.
template <class Tile>
struct silu_mul_rows : no_columns, no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;

  const SiluMulQuantArgs& args;
  f32 inverse;

  __device__ silu_mul_rows(const SiluMulQuantArgs& args)
      : args(args), inverse(scaling_by(*args.scale).inverse) {}

  struct loads {
    row_load<T, chunks> gate, linear;
  };
  struct held {
    per_chunk<vec<T, chunk>, chunks> gate, linear;
  };

  __device__ void start(loads& to, const auto& at) const {
    const auto x = static_cast<const T*>(args.x);
    to.gate.start({x, args.x_stride}, at);
    to.linear.start({x + args.width, args.x_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    for (int i = 0; i < chunks; ++i) {
      row.gate.of[i] = from.gate.elements(i, at);
      row.linear.of[i] = from.linear.elements(i, at);
    }
    return row;
  }

  __device__ void store(const held& row, auto&&, no_reduction, const auto& at) const {
    const matrix<u8> codes{args.codes, args.codes_stride};
    store_scaled<f32, e4m3_codes, chunks>(codes, at, inverse, [&](int i) {
      chunk_values y = to_f32<T, chunk>(row.gate.of[i]);
      for (int e = 0; e < chunk; ++e) y[e] = activate<activation::silu>(y[e], 0);
      y *= to_f32<T, chunk>(row.linear.of[i]);
      return args.rounds != 0 ? to_f32<T, chunk>(round_to<T, chunk>(y)) : y;
    });
  }
};

// Rows of few elements share waves; of others, waves take pieces.
template <class Tile>
__device__ inline void silu_mul_quant(const SiluMulQuantArgs& args) {
  const silu_mul_rows<Tile> op(args);
  if constexpr (Tile::IN_PIECES) {
    for_pieces<Tile>(op, args.rows, args.width, args.width);
  } else {
    for_rows<Tile>(op, args.rows, args.width);
  }
}

}  // namespace

}  // namespace hk
