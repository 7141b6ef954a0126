// A[i,j] = beta[i] exp(G[i] - G[j]) (k[i] . k[j]) of the tokens i > j of each chunk and head of values, 0
// elsewhere; G are given, or are the sums of the chunk's g up to each token, which are stored too.
//
// A workgroup has a chunk of a head of keys: it multiplies the keys once, block by block of 16 tokens of
// which a wave has one row, and gives the products to all heads of values of the head.
#include "hk/chunk_steps.h"

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

template <class Tile>
__device__ inline void chunk_kkt(const ChunkKktArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == chunk_threads);
  __shared__ chunk_tile<T, chunk_tokens> staged;
  __shared__ chunk_gates gates;

  const u32 slot = block_idx().x / args.key_heads, key_head = block_idx().x - slot * args.key_heads;
  const chunk_place chunk(args.schedule, slot);
  if (chunk.count == 0) return;

  key_products products = {};
  multiply_keys<T>(products, staged,
                   {args.k.base, args.k.at(chunk.sequence, chunk.first, key_head), args.k.token, chunk.count,
                    args.keys});

  const u32 own = wave_id(), token = own * block_rows + lane_id() % 16, group = read_again(args).group;
  for (u32 first_head = 0; first_head < group; first_head += heads_at_once) {
    const auto& again = read_again(args);
    const u32 left = group - first_head, heads = left < heads_at_once ? left : heads_at_once;
    const u32 head = key_head * group + first_head;
    sync_threads();
    gates.load(read_again(args), chunk, head, heads);
    sync_threads();
    if (again.sums.base != nullptr) {
      gates.add_up();
      sync_threads();
      const auto& to = read_again(args);
      gates.store(to.sums, to.is_two != 0, chunk, head, heads);
    }
    for (u32 h = 0; h < heads && token < chunk.count; ++h) {
      const auto& again = read_again(args);
      const bool is_two = again.is_two != 0 && again.sums.base == nullptr;
      const i64 row = again.a.at(chunk.sequence, chunk.first + token, head + h);
      static_for<chunk_tokens / block_rows>([&](auto b) {
        const u32 column = b.value * block_rows + lane_id() / 16 * 4;
        if (b.value * block_rows >> again.schedule.chunk_log2 != 0) return;
        vec<f32, 4> values = 0;
        if (b.value <= own) {
          values = gates.decayed(products[b.value], h, token, column, is_two, again.clamps != 0);
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
