// A[i,j] = beta[i] exp(G[i] - G[j]) (k[i] . k[j]) of the tokens i > j of each chunk and head of values, 0
// elsewhere; G are given, or are the sums of the chunk's g up to each token, which are stored too.
//
// A workgroup has a chunk of a head of keys: it multiplies the keys once, block by block of 16 tokens of
// which a wave has one row, and gives the products to all heads of values of the head.
#include "hk/chunks.h"
#include "hk/lane_sums.h"

namespace hk {

struct ChunkKktArgs {
  ChunkSchedule schedule;
  TokenHeads k;
  TokenHeads g;     // sums, or what they are of
  TokenHeads beta;  // 1 if there is none
  TokenHeadsOut sums;  // null if sums are given
  TokenHeadsOut a;
  u32 key_heads;
  u32 group;  // heads of values for each of keys
  u32 keys;
  u32 is_two;  // whether sums are for powers of two
  u32 clamps;  // whether decays of more than 1 are 0
  u32 reserved;
};

namespace {

// Heads of values whose gates are in LDS at once, and tokens of a lane that adds up.
constexpr u32 heads_at_once = 8, run = chunk_tokens / 8;
using of_heads = f32[heads_at_once][chunk_tokens];

// Gates and strengths of heads, zero and one of tokens that there are not.
__device__ inline void load_gates(const ChunkKktArgs& args, const chunk_place& chunk, u32 head, u32 heads,
                                  of_heads& gates, of_heads& strengths) {
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

// Makes a wave's gates the sums of theirs and those of the tokens before.
__device__ inline void add_up(of_heads& gates) {
  auto& runs = *reinterpret_cast<vec<f32, run>*>(&gates[lane_id() / 8][lane_id() % 8 * run]);
  vec<f32, run> sums = runs;
  for (u32 e = 1; e < run; ++e) sums[e] += sums[e - 1];
  runs = sums + scan_lanes(sums[run - 1], 8, false).before;
}

__device__ inline void store_sums(const ChunkKktArgs& args, const chunk_place& chunk, u32 head, u32 heads,
                                  const of_heads& gates) {
  const f32 scale = args.is_two != 0 ? log2_e : 1.0f;
  f32* const to = static_cast<f32*>(args.sums.base);
  for (u32 i = thread_idx().x; i < heads * chunk_tokens; i += chunk_threads) {
    const u32 h = i / chunk_tokens, t = i % chunk_tokens;
    if (t < chunk.count) to[args.sums.at(chunk.sequence, chunk.first + t, head + h)] = gates[h][t] * scale;
  }
}

template <class Tile>
__device__ inline void chunk_kkt(const ChunkKktArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == chunk_threads);
  __shared__ chunk_tile<T, chunk_tokens> keys;
  __shared__ alignas(32) of_heads gates;
  __shared__ of_heads strengths;

  const u32 slot = block_idx().x / args.key_heads, key_head = block_idx().x - slot * args.key_heads;
  const chunk_place chunk(args.schedule, slot);
  if (chunk.count == 0) return;

  // Of the wave's tokens, the products with the block of 16 tokens before, and so on.
  const u32 own = wave_id();
  vec<f32, 4> products[chunk_tokens / block_rows] = {};
  const checked_rows<T> from(args.k.base, args.k.at(chunk.sequence, chunk.first, key_head), args.k.token,
                             chunk.count, args.keys);
  for (u32 first = 0; first < args.keys; first += panel) {
    sync_threads();
    keys.fill(from, first);
    sync_threads();
    static_for<panel / atom_depth>([&](auto step) {
      if (first + step.value * atom_depth >= args.keys) return;
      const auto mine = keys.load(own * block_rows, step.value);
      static_for<chunk_tokens / block_rows>([&](auto b) {
        if (b.value > own || own * block_rows >= chunk.count) return;
        const auto others = keys.load(b.value * block_rows, step.value);
        products[b.value] = mma_ABt<T>(others, mine, products[b.value]);
      });
    });
  }

  const u32 token = own * block_rows + lane_id() % 16, group = read_again(args).group;
  for (u32 first_head = 0; first_head < group; first_head += heads_at_once) {
    const auto& again = read_again(args);
    const u32 left = group - first_head, heads = left < heads_at_once ? left : heads_at_once;
    const u32 head = key_head * group + first_head;
    sync_threads();
    load_gates(read_again(args), chunk, head, heads, gates, strengths);
    sync_threads();
    if (again.sums.base != nullptr) {
      if (own == 0) add_up(gates);
      sync_threads();
      store_sums(read_again(args), chunk, head, heads, gates);
    }
    for (u32 h = 0; h < heads && token < chunk.count; ++h) {
      const auto& again = read_again(args);
      const bool is_two = again.is_two != 0 && again.sums.base == nullptr;
      const f32 gate = gates[h][token], strength = strengths[h][token];
      const i64 row = again.a.at(chunk.sequence, chunk.first + token, head + h);
      static_for<chunk_tokens / block_rows>([&](auto b) {
        const u32 column = b.value * block_rows + lane_id() / 16 * 4;
        if (b.value * block_rows >> again.schedule.chunk_log2 != 0) return;
        vec<f32, 4> values = 0;
        if (b.value <= own) {
          const auto others = *reinterpret_cast<const vec<f32, 4>*>(&gates[h][column]);
          static_for<4>([&](auto e) {
            const f32 sum = gate - others[e.value];
            const f32 decay = again.clamps != 0 && sum > 0 ? 0 : decay_of(sum, is_two);
            const f32 value = strength * (decay * products[b.value][e.value]);
            values[e.value] = column + e.value < token ? value : 0;
          });
        }
        with_type(static_cast<dtype>(again.a.element_type), [&](auto zero) {
          using O = decltype(zero);
          O* const to = static_cast<O*>(again.a.base) + row + column;
          store_adjacent<O, 4>(to, round_to<O, 4>(values));
        });
      });
    }
  }
}

}  // namespace

}  // namespace hk
