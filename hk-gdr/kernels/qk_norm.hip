// Queries and keys divided by their lengths: y = x / sqrt(sum x^2 + 1e-6) of each row of both, in f32,
// rounded once. Sixteen lanes have a row.
#include "hk/elements.h"
#include "hk/math.h"
#include "hk/token_heads.h"
#include "hk/wave.h"

namespace hk {

struct QkNormArgs {
  TokenHeads q;
  TokenHeads k;
  TokenHeadsOut normalized_q;
  TokenHeadsOut normalized_k;
  u32 tokens;  // of each sequence
  u32 heads;
  u32 keys;
  u32 rows;  // of each of both
};

namespace {

// Lanes of a row, and elements of a lane at a time.
constexpr u32 row_lanes = 16, eight = 8;

template <class Tile>
__device__ inline void qk_norm(const QkNormArgs& args) {
  using T = typename Tile::T;
  const u32 number = block_idx().x * (Tile::threads / row_lanes) + thread_idx().x / row_lanes;
  if (number >= 2 * args.rows) return;
  const bool is_key = number >= args.rows;
  const u32 row = is_key ? number - args.rows : number;
  const u32 token = row / args.heads, head = row - token * args.heads;
  const u32 sequence = token / args.tokens, in_sequence = token - sequence * args.tokens;
  const auto at = [&](const auto& of) { return of.at(sequence, in_sequence, head); };
  const T* const from = is_key ? static_cast<const T*>(args.k.base) + at(args.k)
                               : static_cast<const T*>(args.q.base) + at(args.q);
  T* const to = is_key ? static_cast<T*>(args.normalized_k.base) + at(args.normalized_k)
                       : static_cast<T*>(args.normalized_q.base) + at(args.normalized_q);

  constexpr int pieces = 2;
  vec<f32, eight> x[pieces];
  f32 squares = 0;
  static_for<pieces>([&](auto i) {
    const u32 first = (i.value * row_lanes + lane_id() % row_lanes) * eight;
    x[i.value] = 0;
    if (first >= args.keys) return;
    const u32 left = args.keys - first;
    x[i.value] = to_f32<T, eight>(load_elements<T, eight>(from + first, 1, left));
    for (u32 e = 0; e < eight; ++e) {
      x[i.value][e] = e < left ? x[i.value][e] : 0;
      squares += x[i.value][e] * x[i.value][e];
    }
  });
  const f32 inverse = rsqrt(wave_reduce<add, row_lanes>(squares) + 1e-6f);
  static_for<pieces>([&](auto i) {
    const u32 first = (i.value * row_lanes + lane_id() % row_lanes) * eight;
    if (first >= args.keys) return;
    store_elements<T, eight>(to + first, 1, args.keys - first, round_to<T, eight>(x[i.value] * inverse));
  });
}

}  // namespace

}  // namespace hk
