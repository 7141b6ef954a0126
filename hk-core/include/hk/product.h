// Kernels of matrix products over the main loops of hk/gemm.h: y[b] = epilogue(x[b] w[b]^T) for a
// batch of matrices, x (m, k) and w (n, k), each with k or rows contiguous.
//
// One workgroup makes one block of one y, or of one split's share of k: `product`. Splits write f32
// partial sums, which `product_reduce` adds up in order of k, so that results do not depend on timing,
// and finishes. `product_pack` copies an operand whose rows are not aligned to 16 bytes into rows that
// are, with zeros behind.
#pragma once

#include "hk/elements.h"
#include "hk/epilogue.h"
#include "hk/gemm.h"
#include "hk/order.h"
#include "hk/split_cat.h"

namespace hk {

struct ProductArgs {
  const void* x;
  const void* w;
  void* y;
  const void* tensors[max_tensors];
  i64 x_stride;  // in elements, as all strides
  i64 w_stride;
  i64 y_stride;
  i64 x_batch;  // from one matrix of a batch to the next
  i64 w_batch;
  i64 w_half;  // from the gates of a gated product to what they let through
  i64 y_batch;  // of partial sums, from those of one split to the next; a matrix's follow each other
  const f32* x_scales;  // of groups of k, if operands have such
  const f32* w_scales;
  i64 x_scale_row, x_scale_group;
  i64 w_scale_row, w_scale_group;
  i64 x_scale_batch, w_scale_batch;
  const u8* x_blocks;  // of MX blocks, e8m0, if operands have such
  const u8* w_blocks;
  i64 x_block_row, w_block_row;
  i64 x_block_batch, w_block_batch;
  u32 log2_group_n, log2_group_k;
  u32 m, n, k;
  u32 batch;
  u32 split_k;  // share of k of each split but the last, a multiple of BK
  u32 splits;
  u32 y_type;   // a dtype
  u32 y_whole;  // whether blocks within y may be stored as such: the steps are those of a `linear_chain`
  u32 step_count;
  u32 gate_at;  // of a gated product, the first step behind the gate
  u32 gate;     // its activation, or no_gate
  u32 adds;     // of a tile that can, whether results are added to what y holds
  u32 w_tiled;  // whether w is in tiles, as `byte_rows` has them
  u32 x_blocks_tiled, w_blocks_tiled;  // and the scales of blocks, as `block_scale_stream` has them
  SplitColumns split;  // of a tile that splits columns
  EpilogueStep steps[max_steps];
};

// Gates as they are.
inline constexpr u32 no_gate = ~0u;

// Whether results, of f32 alone, may be added to what y holds.
template <class C>
inline constexpr bool is_atomic = false;
template <class C>
  requires requires { C::ATOMIC; }
inline constexpr bool is_atomic<C> = C::ATOMIC;

// Whether columns are heads of two parts, which go to different tensors.
template <class C>
inline constexpr bool splits_columns = false;
template <class C>
  requires requires { C::SPLIT_CAT; }
inline constexpr bool splits_columns<C> = C::SPLIT_CAT;

// What kernels that make several parts need, since a loop over them would keep more scalars than there are
// registers for: the arguments, read again, and scalars that wait in vector registers.
template <class Args>
__device__ inline const Args& arguments_again() {
  auto in = kernel_arguments<Args>();
  asm volatile("" : "+s"(in));
  return *(const Args*)in;
}
class kept {
 public:
  __device__ kept(u32 value) : value_(value) { arch::forget(value_); }
  __device__ operator u32() const { return arch::first_lane(value_); }

 private:
  u32 value_;
};

// What one workgroup makes.
struct product_part {
  u32 batch, split;
  u32 row, column;     // the first of the block
  u32 rows;            // where those of its matrix end
  u32 k_begin, k_end;  // its share of k

  // How many there are, where blocks have these sizes.
  __device__ static u32 count(const ProductArgs& args, u32 block_rows, u32 block_columns) {
    const u32 rows = (args.m + block_rows - 1) / block_rows;
    const u32 columns = (args.n + block_columns - 1) / block_columns;
    return rows * columns * args.splits * args.batch;
  }

  // That of workgroup `id`, where they are taken in groups of `group` rows.
  __device__ static product_part of(const ProductArgs& args, u32 id, u32 block_rows,
                                    u32 block_columns, u32 group) {
    const u32 rows = (args.m + block_rows - 1) / block_rows;
    const u32 columns = (args.n + block_columns - 1) / block_columns;
    const u32 blocks = rows * columns;
    id = contiguous_per_xcd(id, blocks * args.splits * args.batch);
    const tile_index tile = grouped_order(id % blocks, rows, columns, group);
    const u32 split = id / blocks % args.splits;
    const u32 k_begin = split * args.split_k;
    const u32 k_left = args.k - k_begin;
    return {id / blocks / args.splits,
            split,
            tile.row * block_rows,
            tile.column * block_columns,
            args.m,
            k_begin,
            k_begin + (k_left < args.split_k ? k_left : args.split_k)};
  }
};

namespace detail {

// Where arguments are, beside their values: an index into them that is not a constant needs that.
using argument_pointer = constant_pointer<ProductArgs>;

__device__ inline epilogue<ProductArgs> epilogue_of(const ProductArgs& args, argument_pointer in,
                                                    u32 batch) {
  return {in, batch, args.n};
}

template <class Args>
__device__ inline result_matrix results_of(const Args& args, i64 offset) {
  const auto type = static_cast<dtype>(args.y_type);
  const u32 size = type == dtype::f32 ? 4 : 2;
  return {static_cast<char*>(args.y) + offset * size, args.y_stride, args.n, type};
}

// Where an operand's matrix of a batch begins.
template <class T>
__device__ inline const T* matrix_of(const void* operand, i64 stride, u32 batch) {
  return static_cast<const T*>(operand) + batch * stride;
}

// The scales of groups of k for a block.
__device__ inline group_scales scales_of(const ProductArgs& args, const product_part& part) {
  return {args.x_scales + part.batch * args.x_scale_batch + part.row * args.x_scale_row,
          args.w_scales + part.batch * args.w_scale_batch,
          part.rows - part.row,
          args.x_scale_row,
          args.x_scale_group,
          args.w_scale_row,
          args.w_scale_group,
          part.column,
          args.n,
          args.log2_group_n,
          args.log2_group_k,
          part.k_begin,
          part.k_end - 1};
}

// The scales of blocks for a block of the result.
__device__ inline block_scale_streams blocks_of(const ProductArgs& args, const product_part& part) {
  const u32 begin = part.k_begin / block_depth;
  const u32 end = (args.k + block_depth - 1) / block_depth;
  return {{args.x_blocks + part.batch * args.x_block_batch, args.x_block_row, part.row, part.rows,
           begin, end, args.x_blocks_tiled != 0},
          {args.w_blocks + part.batch * args.w_block_batch, args.w_block_row, part.column, args.n,
           begin, end, args.w_blocks_tiled != 0}};
}

// The matrix of a batch that a workgroup of `product_reduce` or `product_pack` works on: two dimensions
// of the grid, since one alone is too short for every batch.
__device__ inline u32 batch_of_workgroup() {
  return block_idx().z * grid_size().y + block_idx().y;
}

// v = v * row * column + bias, the most that is done to a block as a whole: what the numbers of a
// lane's rows and columns are. Without `Scaled`, there is only a bias. The columns' factors are f32, and
// are read when they are needed: all of them would not fit beside the accumulators.
template <class Block, bool Scaled>
struct linear_chain {
  static constexpr int run = Block::run;
  static constexpr int columns = Block::runs_per_row;
  static constexpr int rows = Block::runs / columns;

  vec<f32, Scaled ? rows : 1> row_factor = 1;
  const f32* column_factor = nullptr;  // of the block's first column
  vec<f32, run> bias[columns] = {};

  __device__ linear_chain(const ProductArgs& args, argument_pointer in, const product_part& part) {
    // Without factors, there is at most one step, which has the one tensor.
    const u32 steps = Scaled || args.step_count == 0 ? args.step_count : 1;
    for (u32 i = 0; i < steps; ++i) {
      const auto kind = static_cast<step_kind>(in->steps[i].kind);
      const EpilogueOperand a = in->steps[i].a;
      const auto base = static_cast<const char*>(in->tensors[Scaled ? a.tensor : 0]);
      const auto type = static_cast<dtype>(a.element);
      if (kind != step_kind::multiply) {
        with_type(type, [&](auto zero) {
          using T = decltype(zero);
          const T* from = matrix_of<T>(base, a.batch_stride, part.batch) + part.column;
          static_for<columns>([&](auto c) { bias[c] = run_of<c>(from); });
        });
      } else if constexpr (Scaled) {
        const f32* from = matrix_of<f32>(base, a.batch_stride, part.batch);
        if (a.column_stride != 0) {
          column_factor = from + part.column;
        } else {
          static_for<rows>([&](auto r) {
            row_factor[int{r}] *= from[(part.row + Block::result_row(r * columns)) * a.row_stride];
          });
        }
      }
    }
  }

  // A run of a lane's columns.
  template <int C, class T>
  __device__ static vec<f32, run> run_of(const T* from) {
    constexpr int size = min(16, run * static_cast<int>(sizeof(T)));
    const auto values =
        reinterpret_cast<const vec_in_memory<T, run, size>*>(from + Block::result_column(C));
    return to_f32<T, run>(*values);
  }

  // The factors of column run C.
  template <int C>
  __device__ vec<f32, run> factors() const {
    if (!Scaled || column_factor == nullptr) return 1;
    return run_of<C>(column_factor);
  }

  // Of run I.
  template <int I>
  __device__ vec<f32, run> apply(vec<f32, run> v, vec<f32, run> factors) const {
    if constexpr (Scaled) v = v * row_factor[I / columns] * factors;
    return v + bias[I % columns];
  }
};

// Stores a block that lies within y.
template <class T, class Block, bool Scaled>
__device__ inline void store_block(const Block& block, const linear_chain<Block, Scaled>& chain,
                                   const result_matrix& y, u32 row, u32 column) {
  // No lane is outside: any size does.
  const u32 stride = y.stride;
  const buffer to(y.base + (u64{row} * stride + column) * sizeof(T), out_of_range);
  static_for<Block::runs_per_row>([&](auto c) {
    constexpr int run = Block::run;
    const vec<f32, run> factors = chain.template factors<c>();
    static_for<Block::runs / Block::runs_per_row>([&](auto r) {
      constexpr int i = r * Block::runs_per_row + c;
      const auto rounded =
          round_to<T, run>(chain.template apply<i>(block.template results<i>(), factors));
      const u32 offset =
          (block.result_row(i) * stride + block.result_column(i)) * sizeof(T);
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

}  // namespace detail

namespace detail {

// What becomes of the sums of gates, and of what they let through: steps before, the gate, and steps
// behind. `n` columns of gates precede those of the others in an operand of the steps before.
template <int Run>
__device__ inline vec<f32, Run> gated_run(argument_pointer in, u32 batch, vec<f32, Run> gates,
                                          vec<f32, Run> values, u32 row, u32 column) {
  // Read again each time: there are too few scalar registers to keep them.
  asm volatile("" : "+s"(in));
  const epilogue<ProductArgs> before{in, batch, 2 * in->n};
  gates = before.apply(gates, row, column, 0, in->gate_at);
  values = before.apply(values, row, in->n + column, 0, in->gate_at);
  if (in->gate != no_gate) gates = activate<Run>(static_cast<activation>(in->gate), gates, 0);
  const epilogue<ProductArgs> behind{in, batch, in->n};
  return behind.apply(gates * values, row, column, in->gate_at, in->step_count);
}

// Columns of partial sums: whole runs of what adds them up, of gates and behind these of what they let
// through.
__device__ inline u32 whole_runs(u32 n) { return (n + 7) / 8 * 8; }

// Stores a block of gated results, or the sums of gates and of the others if k is split.
template <class Block>
__device__ inline void store_gated(const Block& block, const ProductArgs& args,
                                   argument_pointer in, const result_matrix& y,
                                   const product_part& part) {
  constexpr int half = Block::runs_per_part;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < Block::runs / 2; ++i) {
    const u32 gate = i / half * (2 * half) + i % half;
    const u32 y_row = part.row + block.result_row(gate);
    const u32 y_column = part.column + block.result_column(gate);
    if (y_row >= part.rows || y_column >= args.n) continue;
    vec<f32, Block::run> gates, values;
    with_constant<0, Block::runs / 2>(i, [&](auto c) {
      constexpr int of_gate = c / half * (2 * half) + c % half;
      gates = block.template results<of_gate>();
      values = block.template results<of_gate + half>();
    });
    if (args.splits > 1) {
      store_run(y, y_row, y_column, gates);
      const result_matrix behind = y.from(whole_runs(args.n));
      store_run(behind, y_row, y_column, values);
    } else {
      store_run(y, y_row, y_column,
                gated_run(in, part.batch, gates, values, y_row, y_column));
    }
  }
}

// Adds a block to what y holds, which other workgroups do at the same time.
template <class Block>
__device__ inline void add_block(const Block& block, const result_matrix& y,
                                 const product_part& part) {
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < Block::runs; ++i) {
    const u32 row = part.row + block.result_row(i), column = part.column + block.result_column(i);
    if (row >= part.rows || column >= y.columns) continue;
    vec<f32, Block::run> values;
    with_constant<0, Block::runs>(i, [&](auto c) { values = block.template results<c>(); });
    f32* to = reinterpret_cast<f32*>(y.base) + row * y.stride + column;
    for (u32 j = 0; j < Block::run; ++j) {
      if (column + j < y.columns) {
        __scoped_atomic_fetch_add(to + j, values[j], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
      }
    }
  }
}

}  // namespace detail

// Multiplies what a part of a product is made of: at least one k. `lds` has the block's lds_bytes. If rows of
// x are gathered, they are any of all m.
template <class Tile, class Rows = rows_in_order>
__device__ __attribute__((always_inline)) inline void multiply_part(gemm_block<Tile>& block,
                                                                    const ProductArgs& args,
                                                                    const product_part& part,
                                                                    lds_pointer lds,
                                                                    const Rows& of_rows = {}) {
  using Block = gemm_block<Tile>;
  constexpr bool gathered = !same_type<Rows, rows_in_order>;
  const auto [batch, split, row, column, rows, k_begin, k_end] = part;
  const i32 steps = static_cast<i32>((k_end - k_begin + Tile::BK - 1) / Tile::BK);
  const auto x = detail::matrix_of<typename Block::X>(args.x, args.x_batch, batch);
  const auto w = detail::matrix_of<typename Block::W>(args.w, args.w_batch, batch);

  const auto w_stream = [&](auto first) {
    return stream_of<typename Block::w_operand>(first, args.w_stride, column, args.n - column,
                                                k_begin, k_end, steps, Tile::BK, args.w_tiled != 0);
  };
  const auto w_tiles = [&]() -> typename Block::w_streams {
    if constexpr (Block::gated) {
      return {{w_stream(w), w_stream(w + args.w_half)}};
    } else {
      return {{w_stream(w)}};
    }
  };
  const u32 first = gathered ? 0 : row, left = gathered ? args.m : rows - row;
  const tile_stream x_tiles = stream_of<typename Block::x_operand, gathered>(
      x, args.x_stride, first, left, k_begin, k_end, steps, Tile::BK);
  group_scales scales = detail::scales_of(args, part);
  if constexpr (gathered) scales.x -= row * args.x_scale_row;
  block.multiply(lds, args.x_stride, args.w_stride, {{x_tiles}}, w_tiles(), steps, scales,
                 detail::blocks_of(args, part), of_rows, args.w_tiled != 0);
}

// Stores what a part of a product has become, or the partial sums of a share of k.
template <class Tile>
__device__ __attribute__((always_inline)) inline void store_part(const gemm_block<Tile>& block,
                                                                 const ProductArgs& args,
                                                                 detail::argument_pointer in,
                                                                 const product_part& part) {
  using Block = gemm_block<Tile>;
  const auto [batch, split, row, column, rows, k_begin, k_end] = part;
  if constexpr (is_atomic<Tile>) {
    if (args.adds) {
      return detail::add_block(block, detail::results_of(args, batch * args.y_batch), part);
    }
  }
  result_matrix y = detail::results_of(args, (batch * args.splits + split) * args.y_batch);
  if (args.splits > 1) y.columns = detail::whole_runs(args.n);
  if constexpr (Block::gated) {
    detail::store_gated(block, args, in, y, part);
    return;
  }
  const bool inside = row + Tile::BM <= rows && column + Tile::BN <= args.n;
  const bool splits = splits_columns<Tile> && args.splits == 1;
  if (inside && !splits && args.y_whole) {
    const detail::linear_chain<Block, Tile::SCALED> chain(args, in, part);
    with_type(y.type, [&](auto zero) {
      detail::store_block<decltype(zero)>(block, chain, y, row, column);
    });
    return;
  }
  const auto chain = detail::epilogue_of(args, in, batch);
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < Block::runs; ++i) {
    const u32 y_row = row + block.result_row(i);
    const u32 y_column = column + block.result_column(i);
    if (y_row >= rows || y_column >= args.n) continue;
    vec<f32, Block::run> values;
    with_constant<0, Block::runs>(i, [&](auto c) { values = block.template results<c>(); });
    values = chain.apply(values, y_row, y_column);
    if (splits) {
      store_split_run(y, args.split, y_row, y_column, values);
    } else {
      store_run(y, y_row, y_column, values);
    }
  }
}

template <class Tile>
__device__ void product(const ProductArgs& args) {
  using Block = gemm_block<Tile>;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];
  const auto part = product_part::of(args, block_idx().x, Tile::BM, Block::columns, Tile::GROUP);
  Block block;
  multiply_part(block, args, part, lds_start(lds));
  store_part(block, args, kernel_arguments<ProductArgs>(), part);
}

// x holds the partial sums: f32, m rows of x_stride, a multiple of 8, per split. Those of gates, if the
// tile is gated, and then of what they let through.
template <class Tile>
__device__ void product_reduce(const ProductArgs& args) {
  constexpr int run = 8;
  const u32 runs = (args.n + run - 1) / run;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  __builtin_assume(args.splits > 0);
  const u32 batch = detail::batch_of_workgroup();
  if (batch >= args.batch) return;
  for_each_piece(first, grid_size().x, args.m, runs, [&](u32 row, u32 piece) {
    // Read again each time: there are too few scalar registers to keep them beside the chain's.
    auto in = kernel_arguments<ProductArgs>();
    asm volatile("" : "+s"(in));
    const u32 column = piece * run;
    const auto sum_from = [&](u32 first) {
      const f32* from = detail::matrix_of<f32>(in->x, in->x_batch, batch * args.splits) +
                        row * in->x_stride + first;
      vec<f32, run> sum = 0;
      for (u32 split = 0; split < args.splits; ++split) {
        sum += *reinterpret_cast<const vec<f32, run>*>(from + split * args.x_batch);
      }
      return sum;
    };
    const vec<f32, run> sum = sum_from(column);
    const result_matrix y = detail::results_of(*in, batch * in->y_batch);
    if constexpr (is_gated<Tile>) {
      const vec<f32, run> values = sum_from(detail::whole_runs(args.n) + column);
      store_run(y, row, column, detail::gated_run(in, batch, sum, values, row, column));
    } else {
      const auto values = detail::epilogue_of(args, in, batch).apply(sum, row, column);
      if constexpr (splits_columns<Tile>) {
        store_split_run(y, in->split, row, column, values);
      } else {
        store_run(y, row, column, values);
      }
    }
  });
}

// Makes m rows of n numbers of y zero.
template <class Tile>
__device__ void product_clear(const ProductArgs& args) {
  constexpr int run = 8;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  const result_matrix y = detail::results_of(args, 0);
  for_each_piece(first, grid_size().x, args.m, (args.n + run - 1) / run, [&](u32 row, u32 piece) {
    store_run(y, row, piece * run, vec<f32, run>(0));
  });
}

// Copies m rows of n elements of the tile's size from x to y, whose stride is of whole chunks of 16
// bytes, and fills its rows up with zeros to the next chunk.
template <class Tile>
__device__ void product_pack(const ProductArgs& args) {
  using T = typename Tile::T;
  constexpr int run = 16 / sizeof(T);
  const u32 runs = (args.n + run - 1) / run;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  const u32 batch = detail::batch_of_workgroup();
  if (batch >= args.batch) return;
  const T* x = detail::matrix_of<T>(args.x, args.x_batch, batch);
  T* y = static_cast<T*>(args.y) + batch * args.y_batch;
  for_each_piece(first, grid_size().x, args.m, runs, [&](u32 row, u32 piece) {
    const u32 column = piece * run;
    *reinterpret_cast<vec<T, run>*>(y + row * args.y_stride + column) =
        load_elements_or_zeros<T, run>(x + row * args.x_stride + column, args.n - column);
  });
}

// y = x^T for x of m rows of k elements of the tile's size; rows of y are filled up with zeros to whole chunks
// of 16 bytes.
template <class Tile>
__device__ void product_turn(const ProductArgs& args) {
  using T = typename Tile::T;
  using block = lane_block<T>;
  // A wave turns a square, each lane a block of it.
  constexpr u32 run = block::size, lanes = 8, square = lanes * run, waves = Tile::threads / wave_size;
  static_assert(lanes * lanes == wave_size);
  const u32 inner = lane_id() % lanes * run, outer = lane_id() / lanes * run;
  // How many of a chunk's elements there are behind `first`.
  const auto left = [](i64 size, u32 first) -> u32 {
    return first < size ? static_cast<u32>(size - first) : 0;
  };

  const u32 batch = detail::batch_of_workgroup();
  const u32 columns = (args.k + square - 1) / square;
  const u32 id = block_idx().x * waves + wave_id();
  const u32 row = id / columns * square, column = id % columns * square;
  if (batch >= args.batch || row >= args.m) return;
  const u32 x_stride = static_cast<u32>(args.x_stride), y_stride = static_cast<u32>(args.y_stride);
  const T* from = detail::matrix_of<T>(args.x, args.x_batch, batch) + row * args.x_stride + column;
  const T* to = detail::matrix_of<T>(args.y, args.y_batch, batch) + column * args.y_stride + row;
  bits128 values[run];
  block(from, outer * x_stride + inner, x_stride, left(args.k, column + inner), left(args.m, row + outer))
      .load(values);
  transpose<T>(values);
  block(to, inner * y_stride + outer, y_stride, left(args.y_stride, row + outer),
        left(args.k, column + inner))
      .store([&](u32 c) { return values[c]; });
}

}  // namespace hk
