// c[i,j] = round(x[i,j] * (1 / s)) with one given scale s. Rows are read once.
#include "hk/quant.h"
#include "hk/rows.h"

namespace hk {

struct StaticQuantArgs {
  const void* x;
  const f32* scale;
  u8* codes;
  i64 x_stride;  // in elements, from row to row
  i64 codes_stride;
  u32 rows;
  u32 width;
  u32 format;  // a byte_format
};

namespace {

// What `for_rows` is to do, with codes of a format.
template <class Tile, class Format>
struct quantize_by : no_columns, no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;

  const StaticQuantArgs& args;
  f32 inverse;

  __device__ quantize_by(const StaticQuantArgs& args)
      : args(args), inverse(scaling_by(*args.scale).inverse) {}

  using loads = row_load<T, chunks>;
  using held = per_chunk<vec<T, chunk>, chunks>;

  __device__ void start(loads& to, const auto& at) const {
    to.start({static_cast<const T*>(args.x), args.x_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held x;
    for (int i = 0; i < chunks; ++i) x.of[i] = from.elements(i, at);
    return x;
  }

  __device__ void store(const held& x, auto&&, no_reduction, const auto& at) const {
    store_codes<8, chunks>({args.codes, args.codes_stride}, at, [&](int i) {
      return encode<Format, chunk>(to_f32<T, chunk>(x.of[i]) * inverse);
    });
  }
};

template <class Tile>
__device__ inline void static_quant(const StaticQuantArgs& args) {
  with_format(static_cast<byte_format>(args.format), [&](auto format) {
    for_rows<Tile>(quantize_by<Tile, decltype(format)>(args), args.rows, args.width);
  });
}

}  // namespace

}  // namespace hk
