// c[i,j] = round(y[i,j] * (1 / s)) with y[i,j] = silu(x[i,j]) * x[i,width+j] and one scale s, which is
// given. f32 throughout; y can be rounded to the type of x before it is scaled.
#include "hk/gated_rows.h"
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
struct silu_mul_rows : gated_matrix<Tile, false>, no_columns, no_reduction {
  using pairs = gated_matrix<Tile, false>;
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold, pairs::hold;
  using no_columns::start, pairs::start;

  const SiluMulQuantArgs& args;
  f32 inverse;

  __device__ silu_mul_rows(const SiluMulQuantArgs& args)
      : pairs{static_cast<const T*>(args.x), args.x_stride, args.width},
        args(args),
        inverse(scaling_by(*args.scale).inverse) {}

  __device__ void store(const typename pairs::held& row, auto&&, no_reduction, const auto& at) const {
    const matrix<u8> codes{args.codes, args.codes_stride};
    store_scaled<f32, e4m3_codes, chunks>(codes, at, inverse, [&](int i) {
      chunk_values y = to_f32<T, chunk>(row.gate.of[i]);
      for (int e = 0; e < chunk; ++e) y[e] = activate<activation::silu>(y[e], 0);
      y *= to_f32<T, chunk>(row.linear.of[i]);
      return args.rounds != 0 ? to_f32<T, chunk>(round_to<T, chunk>(y)) : y;
    });
  }
};

template <class Tile>
__device__ inline void silu_mul_quant(const SiluMulQuantArgs& args) {
  for_elements<Tile>(silu_mul_rows<Tile>(args), args.rows, args.width);
}

}  // namespace

}  // namespace hk
