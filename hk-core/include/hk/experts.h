// Products of tokens with the matrices of their experts. Gates, each of a token and one of its experts, lie
// in order of experts, whose parts are whole tiles, filled up with numbers that are no gates. Rows of x are
// gathered by them, and rows of y are theirs.
#pragma once

#include "hk/product.h"

namespace hk {

struct ExpertArgs {
  ProductArgs product;  // of x of `m` rows; a matrix of w for each expert
  const i32* gates;     // in order of experts
  const i32* experts;   // of each tile; others than those that there are have no matrix: results are 0
  const i32* length;    // how many of `gates` there are
  u32 capacity;         // what they have room for
  u32 tile_rows;        // a multiple of a block's
  u32 gate_count;
  u32 gates_per_row;    // of x
};

namespace detail {

// The gates of a block's rows, and the rows of x that they take.
template <int Rows>
struct block_gates {
  u32 gate[Rows];
  u32 row[Rows];
};

// Calls `store(gate, column, i)` for each run i of results that belongs to a gate, with its number as a
// constant.
template <class Block, class F>
__device__ inline void for_each_result(const u32* gates, u32 gate_count, u32 first_column, u32 columns,
                                       F&& store) {
  constexpr int half = Block::runs_per_part, runs = Block::gated ? Block::runs / 2 : Block::runs;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < runs; ++i) {
    const u32 run = Block::gated ? i / half * (2 * half) + i % half : i;
    const u32 gate = gates[Block::result_row(run)];
    const u32 column = first_column + Block::result_column(run);
    if (gate >= gate_count || column >= columns) continue;
    store(gate, column, i);
  }
}

}  // namespace detail

template <class Tile>
__device__ void expert_product(const ExpertArgs& args) {
  using Block = gemm_block<Tile>;
  constexpr int run = Block::run;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];
  __shared__ detail::block_gates<Tile::BM> gates;
  const ProductArgs& product = args.product;

  const u32 columns = (product.n + Block::columns - 1) / Block::columns;
  const u32 rows = (args.capacity + Tile::BM - 1) / Tile::BM;
  const u32 id = contiguous_per_xcd(block_idx().x, rows * columns);
  const tile_index tile = grouped_order(id, rows, columns, Tile::GROUP);
  const u32 first = tile.row * Tile::BM, column = tile.column * Block::columns;
  const u32 wanted = static_cast<u32>(args.length[0]);
  const u32 length = wanted < args.capacity ? wanted : args.capacity;
  if (first >= length) return;

  for (u32 r = thread_idx().x; r < Tile::BM; r += Tile::threads) {
    const u32 gate = first + r < length ? static_cast<u32>(args.gates[first + r]) : ~0u;
    gates.gate[r] = gate;
    gates.row[r] = gate < args.gate_count ? gate / args.gates_per_row : 0;
  }
  sync_threads();

  const u32 expert = static_cast<u32>(args.experts[first / args.tile_rows]);
  const result_matrix y = detail::results_of(product, 0);
  if (expert >= product.batch) {
    detail::for_each_result<Block>(gates.gate, args.gate_count, column, product.n,
                                   [&](u32 gate, u32 at, u32) {
                                     store_run(y, gate, at, vec<f32, run>(0));
                                   });
    return;
  }
  Block block;
  const product_part part{expert, 0, first, column, first + Tile::BM, 0, product.k};
  multiply_part(block, product, part, lds_start(lds), [&](u32 row) { return gates.row[row]; });

  const auto in = &kernel_arguments<ExpertArgs>()->product;
  detail::for_each_result<Block>(
      gates.gate, args.gate_count, column, product.n, [&](u32 gate, u32 at, u32 i) {
        if constexpr (Block::gated) {
          constexpr int half = Block::runs_per_part;
          vec<f32, run> of_gates, values;
          with_constant<0, Block::runs / 2>(i, [&](auto c) {
            constexpr int of_gate = c / half * (2 * half) + c % half;
            of_gates = block.template results<of_gate>();
            values = block.template results<of_gate + half>();
          });
          store_run(y, gate, at, detail::gated_run(in, expert, of_gates, values, gate, at));
        } else {
          vec<f32, run> values;
          with_constant<0, Block::runs>(i, [&](auto c) { values = block.template results<c>(); });
          store_run(y, gate, at,
                    detail::epilogue_of(product, in, expert).apply(values, gate, at));
        }
      });
}

}  // namespace hk
