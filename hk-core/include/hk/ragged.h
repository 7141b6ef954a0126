// Products of rows with the matrices of their experts. Rows of results lie in order of experts, one
// expert's behind the other's; they are taken in tiles, each of one expert, of which the last may be
// partial. Rows of x are in that order, too, or gathered.
#pragma once

#include "hk/product.h"

namespace hk {

struct RaggedArgs {
  ProductArgs product;    // of x of `m` rows; a matrix of w for each expert
  const i32* offsets;     // where each expert's rows begin, and where the last one's end
  const i32* tiles;       // of each tile the expert, and in the upper half which of its tiles it is
  const i32* gather;      // the gate of each row; null if x has the rows in order
  const f32* row_scales;  // of the rows of x; null if there are none
  u32 row_scale_stride;   // 0 if there is one for all
  u32 tile_count;
  u32 tile_rows;  // a multiple of a block's
  u32 rows;       // of results
  u32 gates_per_row;  // of x, if its rows are gathered
  u32 reserved;
};

namespace detail {

// What a block has of the rows.
struct ragged_part {
  u32 expert;
  u32 first, end;  // no rows if they are the same
  u32 column;

  template <class Tile>
  __device__ static ragged_part of(const RaggedArgs& args, u32 id) {
    const u32 blocks_per_tile = args.tile_rows / Tile::BM;
    const u32 columns = (args.product.n + Tile::BN - 1) / Tile::BN;
    const u32 blocks = args.tile_count * blocks_per_tile;
    const tile_index at = grouped_order(contiguous_per_xcd(id, blocks * columns), blocks, columns,
                                        Tile::GROUP);
    const u32 tile = at.row / blocks_per_tile, in_tile = at.row - tile * blocks_per_tile;
    const u32 code = uniform(static_cast<u32>(args.tiles[tile]));
    ragged_part part{code & 0xffff, 0, 0, at.column * Tile::BN};
    // Tiles of no expert have a number that none has.
    if (part.expert >= args.product.batch) return part;
    const u32 begin = uniform(static_cast<u32>(args.offsets[part.expert]));
    const u32 end = uniform(static_cast<u32>(args.offsets[part.expert + 1]));
    const u32 first = begin + (code >> 16) * args.tile_rows + in_tile * Tile::BM;
    const u32 limit = end < args.rows ? end : args.rows;
    if (first >= limit) return part;
    part.first = first;
    part.end = limit - first < Tile::BM ? limit : first + Tile::BM;
    return part;
  }
};

// The row of x that belongs to a row of results; the first one if that is none.
__device__ inline u32 row_of_x(const RaggedArgs& args, u32 row) {
  if (args.gather == nullptr) return row;
  const u32 from = static_cast<u32>(args.gather[row]) / args.gates_per_row;
  return from < args.product.m ? from : 0;
}

}  // namespace detail

template <class Tile>
__device__ void ragged_product(const RaggedArgs& args) {
  using Block = gemm_block<Tile>;
  constexpr int run = Block::run;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];
  __shared__ u32 rows_of_x[Tile::BM];
  const ProductArgs& product = args.product;
  const auto [expert, first, end, column] = detail::ragged_part::of<Tile>(args, block_idx().x);
  if (first == end) return;
  for (u32 r = thread_idx().x; r < Tile::BM; r += Tile::threads) {
    rows_of_x[r] = first + r < end ? detail::row_of_x(args, first + r) : 0;
  }
  sync_threads();

  Block block;
  const product_part part{expert, 0, first, column, end, 0, product.k};
  multiply_part(block, product, part, lds_start(lds), [&](u32 row) { return rows_of_x[row]; });

  const auto in = kernel_arguments<RaggedArgs>();
  const result_matrix y = detail::results_of(product, 0);
  const auto chain = detail::epilogue_of(product, &in->product, expert);
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < Block::runs; ++i) {
    const u32 in_block = Block::result_row(i), row = first + in_block;
    const u32 at = column + Block::result_column(i);
    if (row >= end || at >= product.n) continue;
    vec<f32, run> values;
    with_constant<0, Block::runs>(i, [&](auto c) { values = block.template results<c>(); });
    if (const f32* scales = in->row_scales; scales != nullptr) {
      values *= scales[rows_of_x[in_block] * in->row_scale_stride];
    }
    store_run(y, row, at, chain.apply(values, row, at));
  }
}

// A matrix of scales in the order in which products take them: rows of their own, or those of the rows
// of x that are gathered, or one for so many rows; as many as there are for each expert.
struct ScaleCopyArgs {
  const void* from;  // null if all are one
  void* to;
  const i32* gather;
  i64 matrix, row, column;        // distances in `from`, in elements
  i64 to_matrix, to_row;  // rows are filled up with zeros
  u32 matrices, rows, columns;
  u32 from_rows;  // that there are
  u32 rows_per_scale;
  u32 gates_per_row;
  u32 groups_per_scale;  // columns of the copy for one of `from`
  u32 reserved;
};

// Copies numbers of the tile's type T, of which `one` has the bits `Tile::ONE`.
template <class Tile>
__device__ void copy_scales(const ScaleCopyArgs& args) {
  using T = typename Tile::T;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  const u32 matrix = block_idx().y;
  const T* from = static_cast<const T*>(args.from) + matrix * args.matrix;
  T* to = static_cast<T*>(args.to) + matrix * args.to_matrix;
  const u32 width = static_cast<u32>(args.to_row);
  for_each_piece(first, grid_size().x, args.rows, width, [&](u32 row, u32 column) {
    u32 source = row;
    if (args.gather != nullptr) source = static_cast<u32>(args.gather[row]) / args.gates_per_row;
    source /= args.rows_per_scale;
    source = source < args.from_rows ? source : 0;
    T scale = args.from == nullptr ? static_cast<T>(Tile::ONE) : T(0);
    if (args.from != nullptr && column < args.columns) {
      scale = from[source * args.row + column / args.groups_per_scale * args.column];
    }
    to[row * args.to_row + column] = scale;
  });
}

}  // namespace hk
