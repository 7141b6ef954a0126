// u = Tm (beta v) and w = Tm (beta exp(G) k) of each chunk and head of values, Tm being lower triangular.
//
// A workgroup has a chunk of a head: it keeps Tm in LDS and multiplies it with 64 columns at a time of
// what is learnt, turned in LDS; a wave has 16 tokens.
#include "hk/chunk_steps.h"

namespace hk {

struct ChunkWuArgs {
  ChunkSchedule schedule;
  TokenHeads k;
  TokenHeads v;
  TokenHeads g;     // sums; none if there are no decays
  TokenHeads beta;  // 1 if there is none
  TokenHeads tm;    // of the type of keys, or f32
  TokenHeadsOut w;
  TokenHeadsOut u;
  u32 heads;  // of values
  u32 group;  // heads of values for each of keys
  u32 keys;
  u32 values;
  u32 is_two;  // whether sums are for powers of two
  u32 reserved;
};

namespace {

// Rows of a chunk's Tm, up to the diagonal.
template <class T, class From>
__device__ inline void fill_inverse(chunk_tile<T, chunk_tokens>& inverse, const checked_rows<From>& from) {
  static_for<chunk_tokens * 8 / chunk_threads>([&](auto i) {
    const u32 piece = i.value * chunk_threads + thread_idx().x, row = piece / 8, column = piece % 8 * 8;
    auto values = round_to<T, 8>(to_f32<From, 8>(from.template load<8>(row, column)));
    for (u32 e = 0; e < 8; ++e) values[e] = column + e <= row ? values[e] : T{};
    inverse.template store<8>(row, column, values);
  });
}

template <class Tile>
__device__ inline void chunk_wu(const ChunkWuArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == chunk_threads);
  __shared__ chunk_tile<T, chunk_tokens> inverse;
  __shared__ chunk_tile<T, panel> learnt;
  __shared__ f32 strengths[chunk_tokens];
  __shared__ f32 decayed_strengths[chunk_tokens];

  const u32 slot = block_idx().x / args.heads, head = block_idx().x - slot * args.heads;
  const chunk_place chunk(args.schedule, slot);
  if (chunk.count == 0) return;

  const auto fill = [&](auto zero) {
    const i64 at = args.tm.at(chunk.sequence, chunk.first, head);
    const u32 size = 1u << args.schedule.chunk_log2;
    using From = decltype(zero);
    fill_inverse(inverse, checked_rows<From>(args.tm.base, at, args.tm.token, chunk.count, size));
  };
  if (static_cast<dtype>(args.tm.element_type) == dtype::f32) {
    fill(f32{});
  } else {
    fill(T{});
  }
  const u32 own_token = thread_idx().x;
  if (own_token < chunk.count) {
    const auto load = [&](const TokenHeads& of) {
      const i64 at = of.at(chunk.sequence, chunk.first + own_token, head);
      return number(load_bits(of.base, of.element_type, at), of.element_type);
    };
    const f32 strength = args.beta.base != nullptr ? load(args.beta) : 1;
    strengths[own_token] = strength;
    const f32 decay = args.g.base != nullptr ? decay_of(load(args.g), args.is_two != 0) : 1;
    decayed_strengths[own_token] = strength * decay;
  } else if (own_token < chunk_tokens) {
    strengths[own_token] = decayed_strengths[own_token] = 0;
  }

  const auto multiply = [&](const TokenHeads& of, u32 of_head, u32 columns, const f32* factors,
                            const TokenHeadsOut& to) {
    const i64 at = of.at(chunk.sequence, chunk.first, of_head), to_at = to.at(chunk.sequence, chunk.first, head);
    multiply_inverse<T>(inverse, learnt, factors, {of.base, at, of.token, chunk.count, columns},
                        {to.base, to_at, to.token, chunk.count, columns});
  };
  multiply(args.v, head, args.values, strengths, args.u);
  const auto& again = read_again(args);
  multiply(again.k, head / again.group, again.keys, decayed_strengths, again.w);
}

}  // namespace

}  // namespace hk
