// Steps from the keys, values and gates of a chunk to the rows of which states learn, by four waves: each has
// a block of 16 tokens.
#pragma once

#include "hk/chunks.h"
#include "hk/lane_sums.h"

namespace hk {

// Products of a block of tokens with those of its chunk up to it: of token `lane % 16` of the block, with
// four tokens of each block from `lane / 16 * 4` on.
using key_products = vec<f32, 4>[chunk_tokens / block_rows];

// Products of keys, which come through LDS.
template <class T>
__device__ inline void multiply_keys(key_products& products, chunk_tile<T, chunk_tokens>& staged,
                                     const checked_rows<T>& keys) {
  const u32 own = wave_id();
  for (u32 first = 0; first < keys.columns; first += panel) {
    sync_threads();
    staged.fill(keys, first);
    sync_threads();
    static_for<panel / atom_depth>([&](auto step) {
      if (first + step.value * atom_depth >= keys.columns) return;
      const auto mine = staged.load(own * block_rows, step.value);
      static_for<chunk_tokens / block_rows>([&](auto b) {
        if (b.value > own || own * block_rows >= keys.rows) return;
        const auto others = staged.load(b.value * block_rows, step.value);
        products[b.value] = mma_ABt<T>(others, mine, products[b.value]);
      });
    });
  }
}

// Heads of values whose gates are in LDS at once.
inline constexpr u32 heads_at_once = 8;

// Gates and strengths of tokens of heads, in LDS.
struct chunk_gates {
  using of_heads = f32[heads_at_once][chunk_tokens];

  alignas(16) of_heads gates;
  of_heads strengths;

  // Zero and one of tokens that there are not. `Args` has the fields `g` and `beta`.
  template <class Args>
  __device__ void load(const Args& args, const chunk_place& chunk, u32 head, u32 heads) {
    for (u32 i = thread_idx().x; i < heads * chunk_tokens; i += chunk_threads) {
      const u32 h = i / chunk_tokens, t = i % chunk_tokens;
      const auto load = [&](const TokenHeads& of, f32 otherwise) {
        if (of.base == nullptr || t >= chunk.count) return otherwise;
        const i64 at = of.at(chunk.sequence, chunk.first + t, head + h);
        return number(load_bits(of.base, of.element_type, at), of.element_type);
      };
      gates[h][t] = load(args.g, 0);
      strengths[h][t] = load(args.beta, 1);
    }
  }

  // Makes gates the sums of theirs and those of the tokens before. A wave has two heads, a lane two tokens.
  __device__ void add_up() {
    constexpr u32 lanes = chunk_tokens / 2;
    static_assert(chunk_threads / lanes == heads_at_once);
    const u32 h = thread_idx().x / lanes, first = thread_idx().x % lanes * 2;
    auto& two = *reinterpret_cast<vec<f32, 2>*>(&gates[h][first]);
    vec<f32, 2> sums = two;
    sums[1] += sums[0];
    two = sums + scan_lanes(sums[1], lanes, false).before;
  }

  // Stores sums, for powers of two if that is wanted.
  __device__ void store(const TokenHeadsOut& to, bool is_two, const chunk_place& chunk, u32 head,
                        u32 heads) const {
    const f32 scale = is_two ? log2_e : 1.0f;
    f32* const sums = static_cast<f32*>(to.base);
    for (u32 i = thread_idx().x; i < heads * chunk_tokens; i += chunk_threads) {
      const u32 h = i / chunk_tokens, t = i % chunk_tokens;
      if (t < chunk.count) sums[to.at(chunk.sequence, chunk.first + t, head + h)] = gates[h][t] * scale;
    }
  }

  // What tokens from `first` on have taught a token of a head, by products of their keys.
  __device__ vec<f32, 4> decayed(vec<f32, 4> products, u32 h, u32 token, u32 first, bool is_two,
                                 bool clamps) const {
    vec<f32, 4> values = 0;
    const auto others = *reinterpret_cast<const vec<f32, 4>*>(&gates[h][first]);
    static_for<4>([&](auto e) {
      const f32 sum = gates[h][token] - others[e.value];
      const f32 decay = clamps && sum > 0 ? 0 : decay_of(sum, is_two);
      const f32 value = strengths[h][token] * (decay * products[e.value]);
      values[e.value] = first + e.value < token ? value : 0;
    });
    return values;
  }
};

// The rows of a chunk, times a number each, times its lower triangular inverse, 64 elements at a time, which
// are turned in LDS.
template <class T>
__device__ inline void multiply_inverse(const chunk_tile<T, chunk_tokens>& inverse,
                                        chunk_tile<T, panel>& staged, const f32* factors,
                                        const checked_rows<T>& from, const checked_rows<T>& to) {
  const u32 own = wave_id();
  for (u32 first = 0; first < from.columns; first += panel) {
    turned_block<T> block;
    block.load(from, 0, first);
    sync_threads();
    block.scale(factors);
    block.store(staged, dealt);
    sync_threads();
    if (own * block_rows >= from.rows) continue;
    vec<f32, 4> products[panel / block_rows] = {};
    static_for<chunk_tokens / atom_depth>([&](auto step) {
      if (step.value * atom_depth > own * block_rows) return;
      const auto mine = inverse.load(own * block_rows, step.value);
      static_for<panel / block_rows>([&](auto b) {
        const auto others = staged.load(b.value * block_rows, step.value);
        products[b.value] = mma_ABt<T>(others, mine, products[b.value]);
      });
    });
    static_for<panel / 32>([&](auto pair) {
      const u32 column = first + pair.value * 32 + lane_id() / 16 * 8;
      const auto low = products[2 * pair.value], high = products[2 * pair.value + 1];
      const vec<f32, 8> both = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
      to.template store<8>(own * block_rows + lane_id() % 16, column, round_to<T, 8>(both));
    });
  }
}

}  // namespace hk
