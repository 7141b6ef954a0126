// Tm = (I + A)^-1 of each chunk of tokens and head, A strictly lower triangular, in f32, by blocks of 16
// tokens. A wave has as many heads as it has lanes for the columns of their blocks on the diagonal.
#include "hk/elements.h"
#include "hk/sequences.h"
#include "hk/triangular.h"

namespace hk {

// Distances in elements, from sequence to sequence, from token to token, and from head to head.
struct TrilStrides {
  i64 sequence;
  i64 token;
  i64 head;
};

struct SolveTrilArgs {
  const f32* a;
  void* ai;
  IndexList bounds;  // of sequences that follow each other, one more than there are
  TrilStrides a_strides;
  TrilStrides ai_strides;
  u32 sequences;
  u32 tokens;  // of each sequence, or of all together if they have bounds
  u32 heads;
  u32 slots;  // chunks of all sequences, or more
  u32 output_type;
  u32 reserved;
};

namespace {

template <class Tile>
__device__ inline void solve_tril(const SolveTrilArgs& args) {
  constexpr int size = Tile::CHUNK, blocks = size / static_cast<int>(triangle_block);
  constexpr int heads_of_wave = wave_size / size;
  static_assert(Tile::threads == wave_size);
  constexpr int below = blocks * (blocks - 1) / 2;
  // Blocks on the diagonals of all heads, then those below them.
  __shared__ triangle_blocks<heads_of_wave * max(blocks, below)> staged;

  const u32 head_groups = (args.heads + heads_of_wave - 1) / heads_of_wave;
  const u32 slot = block_idx().x / head_groups;
  const u32 head = (block_idx().x - slot * head_groups) * heads_of_wave;
  const sequence_chunk chunk(args.bounds, args.sequences, args.tokens, log2_exact(size), slot);
  if (chunk.count == 0) return;
  const auto at = [&](const TrilStrides& strides) {
    return chunk.sequence * strides.sequence +
           (static_cast<i64>(chunk.start) + chunk.begin) * strides.token + head * strides.head;
  };
  const triangle_lane lane(lane_id());
  const f32* const from = args.a + at(args.a_strides);
  vec<f32, 4> a[heads_of_wave][blocks][blocks];
  static_for<heads_of_wave>([&](auto h) {
    static_for<blocks>([&](auto i) {
      const u32 row = i.value * triangle_block + lane.line;
      const bool is_there = row < chunk.count && head + h.value < args.heads;
      static_for<i.value + 1>([&](auto j) {
        const u32 column = j.value * triangle_block + lane.four;
        a[h.value][i.value][j.value] = 0;
        if (is_there) {
          a[h.value][i.value][j.value] = load_adjacent<f32, 4>(
              from + row * args.a_strides.token + h.value * args.a_strides.head + column);
        }
      });
    });
  });
  const auto for_diagonals = [&](auto&& body) {
    static_for<heads_of_wave>([&](auto h) {
      static_for<blocks>([&](auto i) { body(h, i, constant<h.value * blocks + i.value>{}); });
    });
  };
  for_diagonals([&](auto h, auto i, auto n) { staged.store_left(lane, n.value, a[h.value][i.value][i.value]); });
  sync_threads();
  staged.invert(lane);
  sync_threads();
  vec<f32, 4> diagonal[heads_of_wave][blocks], t[heads_of_wave][blocks][blocks];  // of t, columns
  for_diagonals([&](auto h, auto i, auto n) {
    diagonal[h.value][i.value] = staged.load_left(lane, n.value);
    t[h.value][i.value][i.value] = staged.load_right(lane, n.value);
  });

  // Columns become rows.
  sync_threads();
  static_for<heads_of_wave>([&](auto h) {
    static_for<blocks>([&](auto j) {
      auto& column = t[h.value][j.value];
      solve_below<blocks>(
          lane, column, j.value, [&](auto i, auto m) { return a[h.value][i.value][m.value]; },
          [&](auto i) { return diagonal[h.value][i.value]; });
      static_for<blocks - j.value - 1>([&](auto n) {
        constexpr int i = j.value + 1 + n.value;
        staged.store_right(lane, h.value * below + i * (i - 1) / 2 + j.value, column[i]);
      });
    });
  });
  sync_threads();

  with_type(static_cast<dtype>(args.output_type), [&](auto zero) {
    using O = decltype(zero);
    O* const to = static_cast<O*>(args.ai) + at(args.ai_strides);
    for_diagonals([&](auto h, auto i, auto) {
      const u32 row = i.value * triangle_block + lane.line;
      if (row >= chunk.count || head + h.value >= args.heads) return;
      O* const own = to + row * args.ai_strides.token + h.value * args.ai_strides.head;
      static_for<blocks>([&](auto j) {
        vec<f32, 4> piece = 0;
        if constexpr (j.value < i.value) {
          piece = staged.load_left(lane, h.value * below + i.value * (i.value - 1) / 2 + j.value);
        }
        if constexpr (j.value == i.value) piece = diagonal[h.value][i.value];
        store_adjacent<O, 4>(own + j.value * triangle_block + lane.four, round_to<O, 4>(piece));
      });
    });
  });
}

}  // namespace

}  // namespace hk
