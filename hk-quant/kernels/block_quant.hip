// Tiles of 128 x 128 elements of a matrix, the last of which may be smaller, to codes of 8 bits:
// c = round(x * (1 / s)) with s = max(max |x|, 1e-10) / most for each tile, where `most` is the largest
// code. A workgroup holds a tile, and AHEAD loads its next one meanwhile: memory is read once.
#include "hk/quant_rows.h"

namespace hk {

struct BlockQuantArgs {
  const void* x;
  u8* codes;
  f32* scales;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 codes_stride;
  i64 scales_stride;
  u32 rows;
  u32 width;
  u32 format;  // a byte_format
};

namespace {

template <class Tile, bool Ragged>
__device__ inline void quantize_tiles(const BlockQuantArgs& args) {
  using T = typename Tile::T;
  using place = row_place<Tile::LANES, Ragged>;
  constexpr u32 side = 128;
  constexpr int waves = Tile::threads / wave_size;
  constexpr u32 rows_of_pass = waves * place::rows_of_wave;
  constexpr int passes = side / rows_of_pass;
  static_assert(Tile::LANES * chunk >= static_cast<int>(side));

  const matrix<const T> x{static_cast<const T*>(args.x), args.x_stride};
  const matrix<u8> codes{args.codes, args.codes_stride};
  // Tiles from left to right, and line after line of them.
  struct position {
    u32 line, column;
  };
  const u32 lines = (args.rows - 1) / side + 1, columns = (args.width - 1) / side + 1;
  const u32 step = grid_size().x / Tile::threads;
  const u32 lines_of_step = step / columns, columns_of_step = step % columns;
  const auto after = [&](position tile) -> position {
    const u32 column = tile.column + columns_of_step;
    const bool wraps = column >= columns;
    return {tile.line + lines_of_step + wraps, wraps ? column - columns : column};
  };
  // The wave's rows of a pass over a tile; none past the last tile.
  const auto at = [&](position tile, int pass) {
    // Places are to be made where they are needed: all of them would fill the scalar registers.
    arch::forget_scalar(tile.line);
    if constexpr (place::shares_wave) arch::forget_scalar(tile.column);
    const u32 before = pass * rows_of_pass + wave_id() * place::rows_of_wave;
    const u32 first = tile.line * side + before, column = tile.column * side;
    const u32 left = args.width - column;
    const u32 rows = left_of(args.rows, tile.line < lines ? first : args.rows);
    const u32 count = place::shares_wave ? rows : rows != 0;
    return place{first, count, column, left < side ? left : side};
  };
  per_chunk<row_load<T, 1>, passes> loads;
  const auto start = [&](position tile) {
    for (int i = 0; i < passes; ++i) loads.of[i].start(x, at(tile, i));
  };

  position tile{block_idx().x / columns, block_idx().x % columns};
  start(tile);
  u32 turn = 0;
  do {
    const position next = after(tile);
    per_chunk<vec<T, chunk>, passes> held;
    for (int i = 0; i < passes; ++i) held.of[i] = loads.of[i].elements(0, at(tile, i));
    if constexpr (Tile::AHEAD) start(next);
    arch::pin_order();
    // Two sets, used in turn, make one barrier per tile enough.
    __shared__ u32 scratch[2 * waves];
    const u32 amax = workgroup_reduce<largest_magnitude, waves>(
        largest_of_share<T, passes>([&](int i) { return held.of[i]; }),
        scratch + turn % 2 * waves);
    with_format(static_cast<byte_format>(args.format), [&](auto format) {
      using format_of = decltype(format);
      const scaling by = group_scaling(amax, format_of::most);
      for (int i = 0; i < passes; ++i) {
        store_scaled<T, format_of, 1>(codes, at(tile, i), by.inverse,
                                      [&](int) { return held.of[i]; });
      }
      if (thread_idx().x == 0) args.scales[tile.line * args.scales_stride + tile.column] = by.scale;
    });
    if constexpr (!Tile::AHEAD) start(next);
    tile = next;
    ++turn;
  } while (tile.line < lines);
}

template <class Tile>
__device__ inline void block_quant(const BlockQuantArgs& args) {
  if (row_place<Tile::LANES, true>::is_ragged(args.width)) {
    quantize_tiles<Tile, true>(args);
  } else {
    quantize_tiles<Tile, false>(args);
  }
}

}  // namespace

}  // namespace hk
