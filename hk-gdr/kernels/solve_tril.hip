// Tm = (I + A)^-1 of each chunk of tokens and head, A strictly lower triangular, by forward substitution
// in f32: row i of Tm is that of I less sum_{m < i} A[i,m] Tm[m].
//
// A lane has a column of Tm in registers; a wave has as many heads as it has lanes for. Rows of A come
// from LDS, the same for all lanes of a head, and rows of Tm go back there, so that lanes move 16 bytes
// at a time. Only what is below the diagonal of A is ever used.
#include "hk/elements.h"
#include "hk/sequences.h"

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
  constexpr int size = Tile::CHUNK;
  constexpr u32 heads_of_wave = wave_size / size, quads = size / 4;
  static_assert(Tile::threads == wave_size);
  // Heads begin at banks of their own, for reads of four numbers and for writes of rows, of which half a
  // wave has two at a time.
  const auto start_of = [](u32 of) { return of * size * size + of % 2 * 16 + of / 2 * 36; };
  __shared__ alignas(16) f32 rows[heads_of_wave * size * size + 64];

  const u32 blocks = (args.heads + heads_of_wave - 1) / heads_of_wave;
  const u32 slot = block_idx().x / blocks;
  const u32 head = (block_idx().x - slot * blocks) * heads_of_wave;
  const sequence_chunk chunk(args.bounds, args.sequences, args.tokens, log2_exact(size), slot);
  if (chunk.count == 0) return;
  const auto at = [&](const TrilStrides& strides) {
    return chunk.sequence * strides.sequence +
           (static_cast<i64>(chunk.start) + chunk.begin) * strides.token + head * strides.head;
  };
  // Each piece of 16 bytes of f32 of a lane: of which head and row it is, where in it, and whether it is
  // there.
  const auto for_pieces = [&](auto&& body) {
    static_for<static_cast<int>(heads_of_wave * size * quads / wave_size)>([&](auto i) {
      const u32 number = i.value * wave_size + lane_id();
      const u32 of = number / (size * quads), row = number / quads % size;
      body(of, row, number % quads * 4, row < chunk.count && head + of < args.heads);
    });
  };
  const f32* from = args.a + at(args.a_strides);
  for_pieces([&](u32 of, u32 row, u32 column, bool is_there) {
    vec<f32, 4> piece = 0;
    if (is_there) {
      piece = load_adjacent<f32, 4>(from + row * args.a_strides.token + of * args.a_strides.head +
                                    column);
    }
    *reinterpret_cast<vec<f32, 4>*>(&rows[start_of(of) + row * size + column]) = piece;
  });
  sync_threads();

  const u32 own = start_of(lane_id() / size), column = lane_id() % size;
  vec<f32, size> t;
  static_for<size>([&](auto i) {
    f32 sum = 0;
    static_for<ceil_div(i.value, 4)>([&](auto quad) {
      const auto a = *reinterpret_cast<const vec<f32, 4>*>(&rows[own + i.value * size + quad.value * 4]);
      static_for<min(4, i.value - quad.value * 4)>([&](auto e) {
        sum = __builtin_fmaf(a[e.value], t[quad.value * 4 + e.value], sum);
      });
    });
    t[i.value] = column < i.value ? -sum : column == i.value ? 1.0f : 0.0f;
  });
  sync_threads();
  static_for<size>([&](auto i) { rows[own + i.value * size + column] = t[i.value]; });
  sync_threads();

  with_type(static_cast<dtype>(args.output_type), [&](auto zero) {
    using O = decltype(zero);
    O* const to = static_cast<O*>(args.ai) + at(args.ai_strides);
    for_pieces([&](u32 of, u32 row, u32 column, bool is_there) {
      if (!is_there) return;
      const auto piece = *reinterpret_cast<vec<f32, 4>*>(&rows[start_of(of) + row * size + column]);
      store_adjacent<O, 4>(to + row * args.ai_strides.token + of * args.ai_strides.head + column,
                           round_to<O, 4>(piece));
    });
  });
}

}  // namespace

}  // namespace hk
