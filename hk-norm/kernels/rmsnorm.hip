// y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset), where h = x or, fused,
// h = round(x + residual), which is stored too. f32 throughout, one rounding at the store.
//
// Three shapes of work, chosen by the width of a row. Narrow rows share a wave: LANES lanes each.
// Wider ones have a workgroup each. Both stay in registers, CHUNKS chunks of eight elements per
// lane, so that memory is read once, and weights stay there from row to row. The widest (CHUNKS =
// 0) are read twice, the second time from cache.
#include "hk/math.h"
#include "hk/row.h"

namespace hk {

struct RmsnormArgs {
  const void* x;
  const void* residual;  // null unless fused
  const void* weight;
  void* y;
  void* residual_out;  // null unless fused
  f32* rstd;           // null if not wanted
  i64 x_stride;        // in elements, from row to row, as all strides
  i64 residual_stride;
  i64 y_stride;
  i64 residual_out_stride;
  u32 rows;
  u32 width;
  u32 weight_type;  // a dtype
  f32 eps;
  f32 weight_offset;
};

namespace {

template <class T>
struct rmsnorm_row {
  const T* x;
  const T* residual;
  T* y;
  T* residual_out;

  __device__ rmsnorm_row(const RmsnormArgs& args, u32 row)
      : x(static_cast<const T*>(args.x) + row * args.x_stride),
        residual(static_cast<const T*>(args.residual) + row * args.residual_stride),
        y(static_cast<T*>(args.y) + row * args.y_stride),
        residual_out(static_cast<T*>(args.residual_out) + row * args.residual_out_stride) {}
};

// 1 / rms from the sum of squares.
__device__ inline f32 scale_of(const RmsnormArgs& args, f32 squares) {
  return rsqrt(squares / static_cast<f32>(args.width) + args.eps);
}

// Rows that fit into registers. Weights of type W stay there as they were loaded.
template <class Tile, class W>
__device__ inline void rmsnorm_in_registers(const RmsnormArgs& args, f32* scratch) {
  using T = typename Tile::T;
  constexpr int lanes = Tile::LANES, chunks = Tile::CHUNKS;
  constexpr bool per_workgroup = lanes == Tile::threads;
  constexpr int waves = Tile::threads / wave_size;
  static_assert(per_workgroup || lanes <= wave_size);
  using share = row_share<T, lanes, chunks>;

  u32 turn = 0;
  const u32 width = args.width;
  const u32 lane = thread_idx().x % lanes;
  const f32 offset = args.weight_offset;
  row_share<W, lanes, chunks> weight;
  weight.load(static_cast<const W*>(args.weight), width, lane);

  // Every wave takes every turn, so that reductions find all lanes present. The rows of a wave past
  // the end are empty.
  const u32 rows_at_once = grid_size().x / lanes;
  for (u32 first = block_idx().x * (Tile::threads / lanes); first < args.rows;
       first += rows_at_once) {
    const u32 row = first + thread_idx().x / lanes;
    const u32 row_width = row < args.rows ? width : 0;
    const rmsnorm_row<T> at(args, row);
    share h;
    h.load(at.x, row_width, lane);
    if constexpr (Tile::FUSED) {
      share residual;
      residual.load(at.residual, row_width, lane);
      h.map([&](chunk_values v, int i) { return v + to_f32<T, chunk>(residual.body[i]); },
            [&](f32 v) { return v + to_f32(residual.tail); });
    }
    f32 squares = h.squares();
    if constexpr (per_workgroup) {
      squares = workgroup_reduce<add, waves>(squares, scratch + turn * waves);
      turn ^= 1;
    } else {
      squares = wave_reduce<add, lanes>(squares);
    }
    const f32 scale = scale_of(args, squares);
    // Stores come last: outputs may be the inputs.
    if constexpr (Tile::FUSED) h.store(at.residual_out, row_width, lane);
    h.map([&](chunk_values v, int i) {
            return v * scale * (to_f32<W, chunk>(weight.body[i]) + offset);
          },
          [&](f32 v) { return v * scale * (to_f32(weight.tail) + offset); });
    h.store(at.y, row_width, lane);
    if (args.rstd != nullptr && lane == 0 && row < args.rows) args.rstd[row] = scale;
  }
}

// Rows of any width, a workgroup each.
template <class Tile, class W>
__device__ inline void rmsnorm_in_two_passes(const RmsnormArgs& args, f32* scratch) {
  using T = typename Tile::T;
  constexpr int lanes = Tile::LANES;
  constexpr int waves = lanes / wave_size;
  static_assert(lanes == Tile::threads);
  using share = row_share<T, lanes, 1>;

  u32 turn = 0;
  const u32 width = args.width;
  const u32 lane = thread_idx().x;
  const f32 offset = args.weight_offset;
  // What a workgroup takes of a row at once. The last piece may be shorter.
  constexpr u32 piece = lanes * chunk;

  for (u32 row = block_idx().x; row < args.rows; row += grid_size().x / lanes) {
    const rmsnorm_row<T> at(args, row);
    const auto load = [&](u32 column) {
      const u32 left = width - column;
      share h;
      h.load(at.x + column, left < piece ? left : piece, lane);
      if constexpr (Tile::FUSED) {
        share residual;
        residual.load(at.residual + column, left < piece ? left : piece, lane);
        h.map([&](chunk_values v, int) { return v + to_f32<T, chunk>(residual.body[0]); },
              [&](f32 v) { return v + to_f32(residual.tail); });
      }
      return h;
    };
    // Chains of additions stay short: they are folded every 64 terms.
    f32 squares = 0, partial = 0;
    u32 terms = 0;
    for (u32 column = 0; column < width; column += piece) {
      partial += load(column).squares();
      if (++terms % 64 == 0) {
        squares += partial;
        partial = 0;
      }
    }
    squares = workgroup_reduce<add, waves>(squares + partial, scratch + turn * waves);
    turn ^= 1;
    const f32 scale = scale_of(args, squares);
    for (u32 column = 0; column < width; column += piece) {
      const u32 left = width - column < piece ? width - column : piece;
      // Each element is loaded by the lane that stores it: outputs may be the inputs.
      share h = load(column);
      if constexpr (Tile::FUSED) h.store(at.residual_out + column, left, lane);
      row_share<W, lanes, 1> weight;
      weight.load(static_cast<const W*>(args.weight) + column, left, lane);
      h.map([&](chunk_values v, int) {
              return v * scale * (to_f32<W, chunk>(weight.body[0]) + offset);
            },
            [&](f32 v) { return v * scale * (to_f32(weight.tail) + offset); });
      h.store(at.y + column, left, lane);
    }
    if (args.rstd != nullptr && lane == 0) args.rstd[row] = scale;
  }
}

template <class Tile, class W>
__device__ inline void rmsnorm_weighted(const RmsnormArgs& args, f32* scratch) {
  if constexpr (Tile::CHUNKS == 0) {
    rmsnorm_in_two_passes<Tile, W>(args, scratch);
  } else {
    rmsnorm_in_registers<Tile, W>(args, scratch);
  }
}

template <class Tile>
__device__ inline void rmsnorm(const RmsnormArgs& args) {
  // A number per wave; two sets, used in turn, make one barrier per row enough.
  __shared__ f32 scratch[2 * Tile::threads / wave_size];
  switch (static_cast<dtype>(args.weight_type)) {
    case dtype::bf16: rmsnorm_weighted<Tile, bf16>(args, scratch); break;
    case dtype::f16: rmsnorm_weighted<Tile, f16>(args, scratch); break;
    case dtype::f32: rmsnorm_weighted<Tile, f32>(args, scratch); break;
  }
}

}  // namespace

}  // namespace hk
