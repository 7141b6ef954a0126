// From the keys, values and gates of each chunk and head of values to the rows of which states learn, in one
// launch:
//
//   G = sums of g,  A[i,j] = beta[i] exp(G[i] - G[j]) (k[i] . k[j]) of i > j,  Tm = (I + A)^-1,
//   u = Tm (beta v),  w = Tm (beta exp(G) k)
//
// A workgroup has a chunk of a head of keys, whose products with each other all heads of values of the head
// share. A wave has 16 rows of A, 16 columns of Tm, and 16 rows of u and w; A and Tm stay in LDS.
#include "hk/arch/exchange.h"
#include "hk/chunk_steps.h"
#include "hk/indices.h"
#include "hk/triangular.h"

namespace hk {

struct ChunkPrepareArgs {
  ChunkSchedule schedule;
  TokenHeads k;
  TokenHeads v;
  TokenHeads g;
  TokenHeads beta;
  TokenHeadsOut sums;
  TokenHeadsOut tm;  // null if not wanted
  TokenHeadsOut w;
  TokenHeadsOut u;
  IndexList slots;  // of each sequence: one without is padding. None if there is no padding
  u32 key_heads;
  u32 group;  // heads of values for each of keys
  u32 keys;
  u32 values;
  u32 chunk;   // tokens of a chunk
  u32 is_two;  // whether sums that are stored are for powers of two
  u32 slot_count;  // at least 1
  u32 reserved;
};

namespace {

constexpr int blocks = chunk_tokens / block_rows;
static_assert(block_rows == triangle_block);

// The number, among the blocks of a triangle, of block `m` in front of the diagonal's block `i`.
__device__ constexpr u32 below(u32 i, u32 m) { return i * (i - 1) / 2 + m; }

// Rows of Tm.
template <class T>
__device__ inline void store_inverse(const chunk_tile<T, chunk_tokens>& inverse, const checked_rows<T>& to) {
  static_for<chunk_tokens * 8 / chunk_threads>([&](auto i) {
    const u32 piece = i.value * chunk_threads + thread_idx().x, row = piece / 8, column = piece % 8 * 8;
    to.template store<8>(row, column, inverse.row_of(row, column));
  });
}

template <class Tile>
__device__ inline void chunk_prepare(const ChunkPrepareArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == chunk_threads);
  __shared__ chunk_tile<T, chunk_tokens> staged, inverse;
  __shared__ chunk_gates gates;
  __shared__ triangle_blocks<blocks> diagonal;
  __shared__ vec<f32, 4> a[blocks * (blocks - 1) / 2][wave_size];  // as left operands, lane by lane
  __shared__ f32 decayed_strengths[chunk_tokens];

  const u32 slot = block_idx().x / args.key_heads, key_head = block_idx().x - slot * args.key_heads;
  const chunk_place chunk(args.schedule, slot);
  if (chunk.count == 0) return;
  // Keys and values of padding are zeros, but its gates may be NaN: none of them is there.
  chunk_place gated = chunk;
  const i64 state = args.slots.base == nullptr ? 0 : uniform(index_at(args.slots, chunk.sequence));
  if (static_cast<u64>(state) >= args.slot_count) gated.count = 0;
  // The rows of a head of a tensor with so many elements.
  const auto rows_of = [&](auto ChunkPrepareArgs::* which, u32 head, u32 ChunkPrepareArgs::* columns) {
    const auto& again = read_again(args);
    const auto& of = again.*which;
    const i64 at = of.at(chunk.sequence, chunk.first, head);
    return checked_rows<T>(of.base, at, of.token, chunk.count, again.*columns);
  };

  key_products products = {};
  multiply_keys<T>(products, staged, rows_of(&ChunkPrepareArgs::k, key_head, &ChunkPrepareArgs::keys));

  const u32 own = wave_id(), group = read_again(args).group;
  for (u32 first_head = 0; first_head < group; first_head += heads_at_once) {
    const u32 left = group - first_head, heads = left < heads_at_once ? left : heads_at_once;
    const u32 head = key_head * group + first_head;
    sync_threads();
    gates.load(read_again(args), gated, head, heads);
    sync_threads();
    gates.add_up();
    sync_threads();
    const auto& again = read_again(args);
    gates.store(again.sums, again.is_two != 0, chunk, head, heads);

    for (u32 h = 0; h < heads; ++h) {
      // What depends on it would be kept from head to head, in more registers than there are.
      u32 of_lane = lane_id();
      arch::forget_here(of_lane);
      const triangle_lane lane(of_lane);
      const u32 token = own * block_rows + lane.line;
      static_for<blocks>([&](auto b) {
        if (b.value > own) return;
        vec<f32, 4> values = 0;
        if (token < chunk.count) {
          const u32 first = b.value * block_rows + lane.four;
          values = gates.decayed(products[b.value], h, token, first, false, false);
        }
        if (b.value == own) {
          diagonal.store_left(lane, own, values);
        } else {
          a[below(own, b.value)][of_lane] = values;
        }
      });
      if (const u32 t = thread_idx().x; t < chunk_tokens) {
        decayed_strengths[t] = gates.strengths[h][t] * decay_of(gates.gates[h][t], false);
      }
      sync_threads();
      if (own == 0) diagonal.invert(lane);
      sync_threads();
      vec<f32, 4> t[blocks] = {};
      static_for<blocks>([&](auto b) {
        if (b.value == own) t[b.value] = diagonal.load_right(lane, own);
      });
      solve_below<blocks>(
          lane, t, own, [&](auto i, auto m) { return a[below(i.value, m.value)][of_lane]; },
          [&](auto i) { return diagonal.load_left(lane, i.value); });
      static_for<blocks>([&](auto b) {
        static_for<4>([&](auto e) {
          const u32 row = b.value * block_rows + lane.four + e.value;
          inverse.elements[inverse.place(row, token)] = round_to<T>(t[b.value][int{e}]);
        });
      });
      sync_threads();
      using Args = ChunkPrepareArgs;
      if (read_again(args).tm.base != nullptr) store_inverse(inverse, rows_of(&Args::tm, head + h, &Args::chunk));
      multiply_inverse<T>(inverse, staged, gates.strengths[h], rows_of(&Args::v, head + h, &Args::values),
                          rows_of(&Args::u, head + h, &Args::values));
      multiply_inverse<T>(inverse, staged, decayed_strengths, rows_of(&Args::k, key_head, &Args::keys),
                          rows_of(&Args::w, head + h, &Args::keys));
    }
  }
}

}  // namespace

}  // namespace hk
