// c[i,j] = round(x[i,j] * (1 / s[i])) with s[i] = max_j |x[i,j]| / most, where `most` is the largest
// code; s[i] = 1 for rows of zeros. Rows are read once, or twice if they do not fit the registers.
#include "hk/quant.h"
#include "hk/rows.h"

namespace hk {

struct RowQuantArgs {
  const void* x;
  u8* codes;
  f32* scales;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 codes_stride;
  u32 rows;
  u32 width;
  u32 format;  // a byte_format
};

namespace {

// What `for_rows` is to do, with codes of a format.
template <class Tile, class Format>
struct quantize_rows : no_columns {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;
  using reduction = largest_magnitude;

  const RowQuantArgs& args;

  __device__ quantize_rows(const RowQuantArgs& args) : args(args) {}

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

  __device__ u32 measure(const held& x) const {
    auto sizes = magnitudes<T, chunk>(x.of[0]);
    for (int i = 1; i < chunks; ++i) {
      sizes = __builtin_elementwise_max(sizes, magnitudes<T, chunk>(x.of[i]));
    }
    return largest<T, chunk>(sizes);
  }

  __device__ void store(const held& x, auto&&, u32 amax, const auto& at) const {
    const scaling by = row_scaling(amax, Format::most);
    store_codes<8, chunks>({args.codes, args.codes_stride}, at, [&](int i) {
      return encode<Format, chunk>(to_f32<T, chunk>(x.of[i]) * by.inverse);
    });
    if (at.column == 0 && at.leads_row()) args.scales[at.row()] = by.scale;
  }
};

template <class Tile>
__device__ inline void row_quant(const RowQuantArgs& args) {
  with_format(static_cast<byte_format>(args.format), [&](auto format) {
    for_rows<Tile>(quantize_rows<Tile, decltype(format)>(args), args.rows, args.width);
  });
}

}  // namespace

}  // namespace hk
