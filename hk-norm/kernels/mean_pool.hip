// y[s,j] = mean of x[i,j] over the tokens i of sequence s, from cu_seqlens[s] to cu_seqlens[s + 1]; 0 if
// it has none. A workgroup has a sequence and a piece of the columns. Each wave adds up every so many-th
// token, DEPTH of which are loaded at once; the sums of waves are added in their order. f32 throughout,
// one rounding at the store.
#include "hk/row.h"
#include "hk/sequences.h"

namespace hk {

struct MeanPoolArgs {
  const void* x;
  void* y;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 y_stride;
  IndexList cu_seqlens;
  u32 tokens;
  u32 width;
  u32 y_type;  // a dtype
};

namespace {

// Sums of waves, by halves of 16 bytes, so that those of lanes are next to each other.
template <class Tile>
using wave_sums = vec<f32, 4>[Tile::threads / wave_size][2][wave_size];

template <class Tile, bool Ragged>
__device__ inline void mean_pool_of(const MeanPoolArgs& args, u32 sequence, u32 start, u32 count,
                                    wave_sums<Tile>& sums) {
  using T = typename Tile::T;
  using place = row_place<wave_size, Ragged>;
  constexpr u32 waves = Tile::threads / wave_size, depth = Tile::DEPTH;
  constexpr u32 piece = wave_size * chunk;
  const u32 column = block_idx().y * piece, left = args.width - column;
  const auto at = [&](u32 row, bool is_there) {
    return place{row, is_there ? 1u : 0u, column, left < piece ? left : piece};
  };

  const matrix<const T> x{static_cast<const T*>(args.x), args.x_stride};
  chunk_values sum = 0;
  for (u32 token = wave_id(); token < count; token += waves * depth) {
    row_load<T, 1> loads[depth];
    for (u32 d = 0; d < depth; ++d) {
      const u32 number = token + d * waves;
      loads[d].start(x, at(start + number, number < count));
    }
    for (u32 d = 0; d < depth; ++d) {
      sum += to_f32<T, chunk>(loads[d].elements(0, at(start, true)));
    }
  }

  const u32 lane = lane_id(), wave = wave_id();
  for (int half = 0; half < 2; ++half) {
    const int e = half * 4;
    sums[wave][half][lane] = {sum[e], sum[e + 1], sum[e + 2], sum[e + 3]};
  }
  sync_threads();
  if (wave != 0) return;
  for (u32 w = 1; w < waves; ++w) {
    for (int e = 0; e < chunk; ++e) sum[e] += sums[w][e / 4][lane][e % 4];
  }
  const f32 scale = count == 0 ? 0 : 1.0f / static_cast<f32>(count);
  sum *= scale;
  with_type(static_cast<dtype>(args.y_type), [&](auto zero) {
    using Y = decltype(zero);
    store_row<1>(matrix<Y>{static_cast<Y*>(args.y), args.y_stride}, at(sequence, true),
                 [&](int) { return round_to<Y, chunk>(sum); });
  });
}

template <class Tile>
__device__ inline void mean_pool(const MeanPoolArgs& args) {
  __shared__ wave_sums<Tile> sums;
  // Lines of sequences: HIP counts the work-items of one in 32 bits.
  const u32 sequence = block_idx().z * grid_dim().x + block_idx().x;
  if (sequence >= args.cu_seqlens.count - 1) return;
  const u32 start = bound_at(args.cu_seqlens, args.tokens, sequence);
  const u32 end = bound_at(args.cu_seqlens, args.tokens, sequence + 1);
  const u32 count = __builtin_elementwise_sub_sat(end, start);
  if (row_place<wave_size, true>::is_ragged(args.width)) {
    mean_pool_of<Tile, true>(args, sequence, start, count, sums);
    // Keeps the compiler from making one of the last stores of both, with a range in vector registers.
    asm volatile("");
  } else {
    mean_pool_of<Tile, false>(args, sequence, start, count, sums);
  }
}

}  // namespace

}  // namespace hk
