// y = epilogue(x w^T) for bf16 and f16: x is (m, k), w is (n, k), each with k or rows contiguous.
//
// One workgroup makes one block of y, or of one split's share of k: `a16w16`. Splits write f32
// partial sums, which `a16w16_reduce` adds up in order of k, so that results do not depend on
// timing, and finishes. `a16w16_pack` copies an operand whose rows are not aligned to 16 bytes
// into rows that are, with zeros behind.
//
// Schedules (hk/gemm.h): eight waves in ping-pong for the largest tiles, where the matrix units are
// the limit; interleaved for all others.
#include "hk/epilogue.h"
#include "hk/gemm.h"
#include "hk/order.h"

namespace hk {

// The largest units in which results may be stored; the numbers are the host's `StoreUnit`.
enum class store_unit : u32 {
  element = 0,
  run,    // rows are aligned
  block,  // and there is no step, or only a bias whose runs are aligned
};

struct A16w16Args {
  const void* x;
  const void* w;
  void* y;
  const void* tensors[max_tensors];
  i64 x_stride;  // in elements, as all strides
  i64 w_stride;
  i64 y_stride;
  i64 split_stride;  // between the partial sums of one split and the next
  u32 m, n, k;
  u32 split_k;  // share of k of each split but the last, a multiple of BK
  u32 splits;
  u32 y_type;   // a dtype
  u32 y_store;  // a store_unit
  u32 step_count;
  EpilogueStep steps[max_steps];
};

namespace {

using A16w16Epilogue = epilogue<A16w16Args>;

__device__ inline A16w16Epilogue epilogue_of(const A16w16Args& args) {
  return {kernel_arguments<A16w16Args>(), args.n};
}

__device__ inline result_matrix results_of(const A16w16Args& args, i64 offset) {
  const auto type = static_cast<dtype>(args.y_type);
  const u32 size = type == dtype::f32 ? 4 : 2;
  return {static_cast<char*>(args.y) + offset * size, args.y_stride, args.n, type,
          args.y_store >= static_cast<u32>(store_unit::run)};
}

// Reads the bias of a lane's columns of a block.
template <class T, class Block>
__device__ inline void read_bias(const void* from, u32 column,
                                 vec<f32, Block::run> (&bias)[Block::runs_per_row]) {
  static_for<Block::runs_per_row>([&](auto c) {
    using values = wide_run<T, Block::run>;
    const T* at = static_cast<const T*>(from) + column + Block::result_column(c);
    bias[c] = to_f32<T, Block::run>(*reinterpret_cast<const values*>(at));
  });
}

// Stores a block that lies within y, when there is nothing to do but add a bias and round.
template <class T, class Block>
__device__ inline void store_block(const Block& block, const result_matrix& y, u32 row, u32 column,
                                   const vec<f32, Block::run> (&bias)[Block::runs_per_row]) {
  // No lane is outside: any size does.
  const buffer to(y.base + (row * y.stride + column) * i64{sizeof(T)}, out_of_range);
  static_for<Block::runs_per_row>([&](auto c) {
    constexpr int run = Block::run;
    static_for<Block::runs / Block::runs_per_row>([&](auto r) {
      constexpr int i = r * Block::runs_per_row + c;
      const auto rounded = round_to<T, run>(block.template results<i>() + bias[c]);
      const u32 offset =
          (block.result_row(i) * static_cast<u32>(y.stride) + block.result_column(i)) * sizeof(T);
      constexpr int width = min(16, run * sizeof(T));
      using piece = vec<u32, width / 4>;
      struct pieces {
        piece of[run * sizeof(T) / width];
      };
      const auto split = bit_cast<pieces>(rounded);
      static_for<run * sizeof(T) / width>([&](auto p) { to.store(offset + p * width, split.of[p]); });
    });
  });
}

template <class Tile>
__device__ void a16w16(const A16w16Args& args) {
  using Block = gemm_block<Tile>;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];

  // Which block, and which share of k.
  const u32 rows = (args.m + Tile::BM - 1) / Tile::BM;
  const u32 columns = (args.n + Tile::BN - 1) / Tile::BN;
  const u32 id = contiguous_per_xcd(block_idx().x, rows * columns * args.splits);
  const u32 split = id / (rows * columns);
  const tile_index tile = grouped_order(id % (rows * columns), rows, columns, Tile::GROUP);
  const u32 row = tile.row * Tile::BM;
  const u32 column = tile.column * Tile::BN;
  const i64 k_begin = i64{split} * args.split_k;
  const i64 k_left = args.k - k_begin;
  const i64 k_end = k_begin + (k_left < args.split_k ? k_left : args.split_k);
  const i32 steps = static_cast<i32>((k_end - k_begin + Tile::BK - 1) / Tile::BK);

  Block block;
  block.multiply(lds_start(lds), args.x_stride, args.w_stride,
                 stream_of<typename Block::x_operand>(args.x, args.x_stride, row, args.m - row,
                                                      k_begin, k_end, steps, Tile::BK),
                 stream_of<typename Block::w_operand>(args.w, args.w_stride, column,
                                                      args.n - column, k_begin, k_end, steps,
                                                      Tile::BK),
                 steps);

  const result_matrix y = results_of(args, split * args.split_stride);
  const bool inside = row + Tile::BM <= args.m && column + Tile::BN <= args.n;
  if (inside && args.y_store == static_cast<u32>(store_unit::block)) {
    vec<f32, Block::run> bias[Block::runs_per_row] = {};
    if (args.step_count > 0) {
      with_type(static_cast<dtype>(args.steps[0].a.element), [&](auto zero) {
        read_bias<decltype(zero), Block>(args.tensors[0], column, bias);
      });
    }
    with_type(y.type, [&](auto zero) {
      store_block<decltype(zero)>(block, y, row, column, bias);
    });
    return;
  }
  const A16w16Epilogue chain = epilogue_of(args);
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < Block::runs; ++i) {
    const u32 y_row = row + block.result_row(i);
    const u32 y_column = column + block.result_column(i);
    if (y_row >= args.m || y_column >= args.n) continue;
    vec<f32, Block::run> values;
    with_constant<0, Block::runs>(i, [&](auto c) { values = block.template results<c>(); });
    store_run(y, y_row, y_column, chain.apply(values, y_row, y_column));
  }
}

// x holds the partial sums: f32, m rows of x_stride, a multiple of 8, per split.
template <class Tile>
__device__ void a16w16_reduce(const A16w16Args& args) {
  constexpr int run = 8;
  const A16w16Epilogue chain = epilogue_of(args);
  const result_matrix y = results_of(args, 0);
  const u32 runs = (args.n + run - 1) / run;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  __builtin_assume(args.splits > 0);
  for_each_piece(first, grid_size().x, args.m, runs, [&](u32 row, u32 piece) {
    const u32 column = piece * run;
    const f32* from = static_cast<const f32*>(args.x) + row * args.x_stride + column;
    vec<f32, run> sum = 0;
    for (u32 split = 0; split < args.splits; ++split) {
      sum += *reinterpret_cast<const vec<f32, run>*>(from + split * args.split_stride);
    }
    // Past the last column nobody wrote; the chain must not branch on that.
    for (u32 j = 1; j < run; ++j) {
      if (column + j >= args.n) sum[j] = 0;
    }
    store_run(y, row, column, chain.apply(sum, row, column));
  });
}

// Copies m rows of n 16-bit elements from x to y, whose stride is a multiple of 8, and fills its
// rows up with zeros to the next multiple of 8.
template <class Tile>
__device__ void a16w16_pack(const A16w16Args& args) {
  constexpr int run = 8;
  const u32 runs = (args.n + run - 1) / run;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  for_each_piece(first, grid_size().x, args.m, runs, [&](u32 row, u32 piece) {
    const u32 column = piece * run;
    const u16* from = static_cast<const u16*>(args.x) + row * args.x_stride + column;
    vec<u16, run> values = 0;
    values[0] = from[0];
    for (u32 j = 1; j < run; ++j) {
      if (column + j < args.n) values[j] = from[j];
    }
    u16* to = static_cast<u16*>(args.y) + row * args.y_stride + column;
    *reinterpret_cast<vec<u16, run>*>(to) = values;
  });
}

}  // namespace

}  // namespace hk
