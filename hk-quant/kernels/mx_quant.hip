// Blocks of 32 consecutive elements of a row, the last of which may be shorter, to codes of e2m1 or
// e4m3 with a power of two: c = round(x / 2^(b - 127)), where the byte b of a block follows from its
// largest magnitude by one of five modes. Four lanes have a block; rows are read once.
#include "hk/quant.h"
#include "hk/rows.h"

namespace hk {

struct MxQuantArgs {
  const void* x;
  u8* codes;
  u8* scales;
  i64 x_stride;           // in elements, from row to row
  i64 codes_stride;       // in bytes
  i64 scales_row_stride;  // from row to row, and from block to block
  i64 scales_block_stride;
  u32 rows;
  u32 width;
  u32 is_e2m1;
  u32 mode;              // an mx_round
  u32 shuffled_columns;  // columns of shuffled scales; 0 if they are not shuffled
};

namespace {

// What `for_rows` is to do, with codes of a format.
template <class Tile, class Format>
struct quantize_blocks : no_columns, no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS, lanes = 32 / chunk;
  using no_columns::hold;
  using no_columns::start;

  const MxQuantArgs& args;

  __device__ quantize_blocks(const MxQuantArgs& args) : args(args) {}

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
    u32 scales[chunks];
    for (int i = 0; i < chunks; ++i) {
      const u32 amax = largest<T, chunk>(magnitudes<T, chunk>(x.of[i]));
      const u32 of_block = wave_reduce<largest_magnitude, lanes>(amax);
      scales[i] = mx_scale<Format>(of_block, static_cast<mx_round>(args.mode));
    }
    store_codes<Format::bits, chunks>({args.codes, args.codes_stride}, at, [&](int i) {
      return mx_encode<Format>(to_f32<T, chunk>(x.of[i]), scales[i]);
    });
    if (at.lane() % lanes != 0 || at.row_of_wave() >= at.count) return;
    for (int i = 0; i < chunks; ++i) {
      const u32 block = (at.column + at.start(i)) / 32;
      const i64 in_rows = at.row() * args.scales_row_stride + block * args.scales_block_stride;
      const i64 offset = args.shuffled_columns == 0
                             ? in_rows
                             : shuffled_scale(at.row(), block, args.shuffled_columns);
      if (at.start(i) < at.width) args.scales[offset] = static_cast<u8>(scales[i]);
    }
  }
};

template <class Tile>
__device__ inline void mx_quant(const MxQuantArgs& args) {
  const auto run = [&](auto format) {
    for_rows<Tile>(quantize_blocks<Tile, decltype(format)>(args), args.rows, args.width);
  };
  if (args.is_e2m1 != 0) {
    run(mx_e2m1{});
  } else {
    run(mx_e4m3{});
  }
}

}  // namespace

}  // namespace hk
