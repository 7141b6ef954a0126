// Copies rows to tiles as matrix units take them, or back. Each lane takes 16 bytes of weights, or four scales
// of MX blocks; neighbouring lanes are neighbours in the tiles.
#include "hk/arch/global_memory.h"
#include "hk/operand.h"
#include "hk/order.h"
#include "hk/scale_tiles.h"

namespace hk {

struct ShuffleArgs {
  const u8* from;
  u8* to;
  i64 stride;   // in bytes, of what is in rows
  u32 rows;
  u32 width;    // bytes of a row, of whole tiles
  u32 tiles;    // rows of tiles, perhaps of more rows
  u32 to_rows;  // whether tiles become rows
};

namespace {

// Rows of `width` bytes to or from tiles of 16 rows by 16 bytes.
template <class Tile>
__device__ inline void shuffle_weight(const ShuffleArgs& args) {
  constexpr u32 height = byte_rows::tile, chunk = sizeof(bits128);
  const u32 chunks = args.width / chunk * height;  // of a row of tiles
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  for_each_piece(first, grid_size().x, args.tiles, chunks, [&](u32 tiles, u32 piece) {
    const u64 in_tiles = (u64{tiles} * chunks + piece) * chunk;
    const i64 row = u64{tiles} * height + piece % height;
    const u64 in_rows = row * args.stride + piece / height * chunk;
    const u64 from = args.to_rows ? in_tiles : in_rows, to = args.to_rows ? in_rows : in_tiles;
    // Rows may begin anywhere.
    const auto bytes = arch::load_global<u8, chunk, 1>(args.from + from);
    arch::store_global_once<u8, chunk, 1>(args.to + to, bytes);
  });
}

// Rows of `width` scales to or from tiles of 32 rows by 8. Those of no row are 1.
template <class Tile>
__device__ inline void shuffle_scale(const ShuffleArgs& args) {
  using tile = scale_tile;
  constexpr u32 in_word = sizeof(u32), words = tile::bytes / in_word;
  constexpr u32 one = 0x7f;
  const u32 columns = args.width / tile::blocks * words;  // words of a row of tiles
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  for_each_piece(first, grid_size().x, args.tiles, columns, [&](u32 tiles, u32 piece) {
    const u64 word = (u64{tiles} * columns + piece) * in_word;
    const u32 row = tiles * tile::rows + piece % 16;
    const u32 block = piece / words * tile::blocks + piece % words / 16;
    const auto in_rows = [&](u32 i) {
      return static_cast<i64>(row + i % 2 * 16) * args.stride + block + i / 2 * 4;
    };
    const auto has_row = [&](u32 i) { return row + i % 2 * 16 < args.rows; };
    if (args.to_rows) {
      const u32 scales = arch::load_global<u32>(args.from + word);
      for (u32 i = 0; i < in_word; ++i) {
        if (has_row(i)) arch::store_global(args.to + in_rows(i), static_cast<u8>(scales >> (8 * i)));
      }
    } else {
      u32 scales = 0;
      for (u32 i = 0; i < in_word; ++i) {
        const u32 scale = has_row(i) ? arch::load_global<u8>(args.from + in_rows(i)) : one;
        scales |= scale << (8 * i);
      }
      arch::store_global(args.to + word, scales);
    }
  });
}

}  // namespace

}  // namespace hk
