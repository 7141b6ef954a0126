// Products of tokens with the matrices of their experts. Gates, each of a token and one of its experts, lie
// in order of experts, whose parts are whole tiles, filled up with numbers that are no gates. Rows of x are
// gathered by them, and rows of y are theirs.
#pragma once

#include "hk/product.h"
#include "hk/swiglu.h"

namespace hk {

struct ExpertArgs {
  ProductArgs product;  // of x of `m` rows; a matrix of w for each expert
  const i32* gates;     // in order of experts
  const i32* experts;   // of each tile; others than those that there are have no matrix: results are 0
  const i32* length;    // how many of `gates` there are
  u32 capacity;         // what they have room for
  u32 tile_rows;        // a multiple of a block's
  u32 gate_count;
  u32 gates_per_row;  // of x
  // Of halves of columns: what gates are multiplied by in the exponent, where they and what they let through
  // end, infinite if they do not, and what is added to the latter.
  f32 alpha, limit, offset;
  u32 columns;  // of the results; halves may be further apart
};

namespace detail {

// The gates of a block's rows, and the rows of x that they take.
template <int Rows>
struct block_gates {
  u32 gate[Rows];
  u32 row[Rows];
};

// What a workgroup makes: rows from one on, of one expert, and columns from one on. Shares of k are the grid's
// second dimension.
struct expert_block {
  u32 first, column, expert;
};

// Finds that among blocks of so many of all columns, and its gates. There is none past the last row.
template <class Tile>
__device__ inline bool find_block(const ExpertArgs& args, u32 all_columns, u32 block_columns,
                                  block_gates<Tile::BM>& gates, expert_block& block) {
  const u32 columns = (all_columns + block_columns - 1) / block_columns;
  const u32 rows = (args.capacity + Tile::BM - 1) / Tile::BM;
  const u32 id = contiguous_per_xcd(block_idx().x, rows * columns);
  const tile_index tile = grouped_order(id, rows, columns, Tile::GROUP);
  const u32 first = tile.row * Tile::BM;
  const u32 wanted = static_cast<u32>(args.length[0]);
  const u32 length = wanted < args.capacity ? wanted : args.capacity;
  if (first >= length) return false;

  for (u32 r = thread_idx().x; r < Tile::BM; r += Tile::threads) {
    const u32 gate = first + r < length ? static_cast<u32>(args.gates[first + r]) : ~0u;
    gates.gate[r] = gate;
    gates.row[r] = gate < args.gate_count ? gate / args.gates_per_row : 0;
  }
  sync_threads();
  block = {first, tile.column * block_columns,
           static_cast<u32>(args.experts[first / args.tile_rows])};
  return true;
}

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

// If k has shares, results are partial sums: a row for each gate, behind those of the share before.
template <class Tile>
__device__ void expert_product(const ExpertArgs& args) {
  using Block = gemm_block<Tile>;
  constexpr int run = Block::run;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];
  __shared__ detail::block_gates<Tile::BM> gates;
  const ProductArgs& product = args.product;

  detail::expert_block at;
  if (!detail::find_block<Tile>(args, product.n, Block::columns, gates, at)) return;
  const auto [first, column, expert] = at;
  const u32 split = block_idx().y;
  const result_matrix y = detail::results_of(product, split * product.y_batch);
  if (expert >= product.batch) {
    detail::for_each_result<Block>(gates.gate, args.gate_count, column, product.n,
                                   [&](u32 gate, u32 at, u32) {
                                     store_run(y, gate, at, vec<f32, run>(0));
                                   });
    return;
  }
  Block block;
  const u32 begin = split * product.split_k, left = product.k - begin;
  const u32 end = left < product.split_k ? product.k : begin + product.split_k;
  const product_part part{expert, split, first, column, first + Tile::BM, begin, end};
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

// Of columns that are gates, and behind them as many that these let through, with an activation between the
// two. A block multiplies its columns of both halves, one after the other.
template <class Tile>
__device__ void expert_halves(const ExpertArgs& args) {
  using Block = gemm_block<Tile>;
  constexpr int run = Block::run;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];
  __shared__ detail::block_gates<Tile::BM> gates;
  const ProductArgs& product = args.product;

  detail::expert_block at;
  if (!detail::find_block<Tile>(args, args.columns, Block::columns, gates, at)) return;
  const auto [first, column, expert] = at;
  result_matrix y = detail::results_of(product, 0);
  y.columns = args.columns;
  if (expert >= product.batch) {
    detail::for_each_result<Block>(gates.gate, args.gate_count, column, y.columns,
                                   [&](u32 gate, u32 at, u32) {
                                     store_run(y, gate, at, vec<f32, run>(0));
                                   });
    return;
  }
  Block of_gates, block;
  of_gates.clear();
  const kept from_row(first), from_column(column), of_expert(expert);
#pragma clang loop unroll(disable)
  for (u32 half = 0; half < 2; ++half) {
    const ProductArgs& again = arguments_again<ExpertArgs>().product;
    const u32 row = from_row, behind = half * (again.n / 2);
    const product_part part{of_expert, 0, row, behind + from_column, row + Tile::BM, 0, again.k};
    multiply_part(block, again, part, lds_start(lds), [&](u32 row) { return gates.row[row]; });
    if (half == 0) {
      of_gates = block;
      // Until the other waves have read their last from LDS. At the loop's start, clang 22 leaves the wait
      // for this wave's own reads out.
      sync_threads();
    }
  }

  detail::for_each_result<Block>(
      gates.gate, args.gate_count, column, y.columns, [&](u32 gate, u32 at, u32 i) {
        // Read again each time: there are too few scalar registers to keep them.
        auto in = kernel_arguments<ExpertArgs>();
        asm volatile("" : "+s"(in));
        vec<f32, run> through, values;
        with_constant<0, Block::runs>(i, [&](auto c) {
          through = of_gates.template results<c>();
          values = block.template results<c>();
        });
        const epilogue<ProductArgs> steps{&in->product, expert, 2 * in->columns};
        through = steps.apply(through, gate, at);
        values = steps.apply(values, gate, y.columns + at);
        const swiglu activate{in->alpha, in->limit, in->offset};
        for (int j = 0; j < run; ++j) values[j] = activate(through[j], values[j]);
        store_run(y, gate, at, values);
      });
}

// Adds up the partial sums of shares of k, in their order, for the gates that rows have. x holds them: f32, in
// rows of a multiple of 8.
template <class Tile>
__device__ void expert_reduce(const ExpertArgs& args) {
  constexpr int run = 8;
  const u32 runs = (args.product.n + run - 1) / run;
  const u32 wanted = static_cast<u32>(args.length[0]);
  const u32 length = wanted < args.capacity ? wanted : args.capacity;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  __builtin_assume(args.product.splits > 0);
  for_each_piece(first, grid_size().x, length, runs, [&](u32 row, u32 piece) {
    // Read again each time: there are too few scalar registers to keep them beside the chain's.
    auto all = kernel_arguments<ExpertArgs>();
    asm volatile("" : "+s"(all));
    const auto in = &all->product;
    const u32 gate = static_cast<u32>(all->gates[row]);
    if (gate >= all->gate_count) return;
    const u32 expert = static_cast<u32>(all->experts[row / all->tile_rows]);
    const u32 column = piece * run;
    const result_matrix y = detail::results_of(*in, 0);
    vec<f32, run> sum = 0;
    if (expert < in->batch) {
      const f32* from = static_cast<const f32*>(in->x) + gate * in->x_stride + column;
      for (u32 split = 0; split < args.product.splits; ++split) {
        sum += *reinterpret_cast<const vec<f32, run>*>(from + split * args.product.x_batch);
      }
      // Past the last column nobody wrote; the chain must not branch on that.
      sum = zeros_behind<f32, run>(sum, in->n - column);
      sum = detail::epilogue_of(args.product, in, expert).apply(sum, gate, column);
    }
    store_run(y, gate, column, sum);
  });
}

}  // namespace hk
