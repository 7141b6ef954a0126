// y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset), where h = x or, fused,
// h = round(x + residual), which is stored too. f32 throughout, one rounding at the store.
//
// Three shapes of work, chosen by the width of a row. Narrow rows share a wave: LANES lanes each.
// Wider ones have a workgroup each and stay in registers, CHUNKS chunks of eight elements per lane,
// so that memory is read once. The widest (CHUNKS = 0) are read twice; the second time comes from
// cache. Workgroups walk over rows, and weights stay in registers.
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

// Up to eight weights, with the offset added.
__device__ inline chunk_values load_weight(const RmsnormArgs& args, u32 column) {
  chunk_values weight;
  switch (static_cast<dtype>(args.weight_type)) {
    case dtype::bf16:
      weight = load_chunk(static_cast<const bf16*>(args.weight), column, args.width);
      break;
    case dtype::f16:
      weight = load_chunk(static_cast<const f16*>(args.weight), column, args.width);
      break;
    case dtype::f32:
      weight = load_chunk(static_cast<const f32*>(args.weight), column, args.width);
      break;
  }
  return weight + args.weight_offset;
}

template <class Tile>
struct rmsnorm_rows {
  using T = typename Tile::T;
  static constexpr int lanes = Tile::LANES;  // of one row
  static constexpr int chunks = Tile::CHUNKS;
  static constexpr int waves = Tile::threads / wave_size;
  static constexpr bool per_workgroup = lanes == Tile::threads;
  static constexpr int rows_at_once = Tile::threads / lanes;
  static_assert(per_workgroup || lanes <= wave_size);

  const RmsnormArgs& args;
  f32* scratch;  // two sets of a float per wave, used in turn
  u32 turn = 0;

  // The values to normalise; stores them too if they are sums.
  __device__ chunk_values load(u32 row, u32 column) const {
    const T* x = static_cast<const T*>(args.x) + row * args.x_stride;
    chunk_values h = load_chunk(x, column, args.width);
    if constexpr (Tile::FUSED) {
      const T* residual = static_cast<const T*>(args.residual) + row * args.residual_stride;
      h = rounded<T>(h + load_chunk(residual, column, args.width));
      store_chunk(sums(row), column, args.width, h, chunks == 0);
    }
    return h;
  }
  __device__ T* sums(u32 row) const {
    return static_cast<T*>(args.residual_out) + row * args.residual_out_stride;
  }

  __device__ void store(u32 row, u32 column, chunk_values h, f32 scale,
                        chunk_values weight) const {
    T* y = static_cast<T*>(args.y) + row * args.y_stride;
    store_chunk(y, column, args.width, h * scale * weight);
  }

  // 1 / rms of a row from each lane's sum of squares; all lanes of the row must call it.
  __device__ f32 scale_of(f32 squares, u32 row, bool first) {
    if constexpr (per_workgroup) {
      // Alternating between two sets makes one barrier per row enough.
      squares = workgroup_reduce<add, waves>(squares, scratch + turn * waves);
      turn ^= 1;
    } else {
      squares = wave_reduce<add, lanes>(squares);
    }
    const f32 scale = rsqrt(squares / static_cast<f32>(args.width) + args.eps);
    if (args.rstd != nullptr && first && row < args.rows) args.rstd[row] = scale;
    return scale;
  }

  __device__ static f32 sum(chunk_values v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  }

  // Rows that fit into registers.
  __device__ void in_registers() {
    const u32 lane = thread_idx().x % lanes;
    chunk_values weight[chunks];
    static_for<chunks>([&](auto i) { weight[i] = load_weight(args, (i * lanes + lane) * chunk); });
    const u32 step = grid_size().x / lanes;
    // Every wave takes every turn, so that reductions and barriers find all lanes present.
    for (u32 base = block_idx().x * rows_at_once; base < args.rows; base += step) {
      const u32 row = base + thread_idx().x / lanes;
      const bool valid = row < args.rows;
      chunk_values h[chunks];
      chunk_values squares = 0;
      static_for<chunks>([&](auto i) {
        h[i] = valid ? load(row, (i * lanes + lane) * chunk) : 0;
        squares += h[i] * h[i];
      });
      const f32 scale = scale_of(sum(squares), row, lane == 0);
      if (!valid) continue;
      static_for<chunks>(
          [&](auto i) { store(row, (i * lanes + lane) * chunk, h[i], scale, weight[i]); });
    }
  }

  // Rows of any width, read twice.
  __device__ void in_two_passes() {
    constexpr u32 step = lanes * chunk;
    for (u32 row = block_idx().x; row < args.rows; row += grid_size().x / lanes) {
      // Chains of additions stay short: eight sums per lane, folded every 64 terms.
      chunk_values squares = 0, partial = 0;
      u32 terms = 0;
      for (u32 column = thread_idx().x * chunk; column < args.width; column += step) {
        const chunk_values h = load(row, column);
        partial += h * h;
        if (++terms % 64 == 0) {
          squares += partial;
          partial = 0;
        }
      }
      const f32 scale = scale_of(sum(squares + partial), row, thread_idx().x == 0);
      for (u32 column = thread_idx().x * chunk; column < args.width; column += step) {
        chunk_values h;
        if constexpr (Tile::FUSED) {
          // This lane's own stores of the first pass.
          h = load_chunk(sums(row), column, args.width);
        } else {
          h = load(row, column);
        }
        store(row, column, h, scale, load_weight(args, column));
      }
    }
  }
};

template <class Tile>
__device__ void rmsnorm(const RmsnormArgs& args) {
  __shared__ f32 scratch[2 * Tile::threads / wave_size];
  rmsnorm_rows<Tile> rows = {args, scratch};
  if constexpr (Tile::CHUNKS == 0) {
    rows.in_two_passes();
  } else {
    rows.in_registers();
  }
}

}  // namespace

}  // namespace hk
