// o[i] = scale (exp(G[i]) h^T q[i] + sum over j <= i of exp(G[i] - G[j]) (q[i] . k[j]) v[j]) of the tokens
// of each chunk and head of values, h being the state before the chunk.
//
// A workgroup has a chunk of a head; a wave has 16 of its tokens, and keeps their queries in registers.
// Keys, the state and values come in turn through LDS, 64 by 64 elements at a time.
#include "hk/chunks.h"

namespace hk {

struct ChunkOArgs {
  ChunkSchedule schedule;
  TokenHeads q;
  TokenHeads k;
  TokenHeads v;
  TokenHeads g;  // sums; none if there are no decays
  TokenHeadsOut o;
  StateRows h;
  u32 heads;  // of values
  u32 group;  // heads of values for each of keys
  u32 keys;
  u32 values;
  u32 is_two;  // whether sums are for powers of two
  f32 scale;
};

namespace {

// The most keys.
constexpr int most_keys = 256;

// A state's values from `value` on by its keys from `key` on, 64 each, values as rows of the tile.
template <class T>
__device__ inline void fill_state(chunk_tile<T, panel>& tile, const ChunkOArgs& args, u32 slot, u32 head,
                                  u32 value, u32 key) {
  args.h.with(slot, head, args.keys, args.values, [&]<class S>(const checked_rows<S>& rows) {
    if (args.h.keys_adjacent) {
      static_for<panel * 8 / chunk_threads>([&](auto i) {
        const u32 piece = i.value * chunk_threads + thread_idx().x, row = piece / 8, column = piece % 8 * 8;
        const auto elements = to_f32<S, 8>(rows.template load<8>(value + row, key + column));
        tile.template store<8>(dealt(row), column, round_to<T, 8>(elements));
      });
    } else {
      turned_block<S> block;
      block.load(rows, key, value);
      turned_block<T> rounded;
      static_for<2>([&](auto r) {
        rounded.rows[r.value] = round_to<T, 8>(to_f32<S, 8>(block.rows[r.value]));
      });
      rounded.store(tile, dealt);
    }
  });
}

template <class Tile>
__device__ inline void chunk_o(const ChunkOArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == chunk_threads);
  __shared__ chunk_tile<T, panel> staged;
  __shared__ chunk_tile<T, chunk_tokens> scores;

  const u32 slot = block_idx().x / args.heads, head = block_idx().x - slot * args.heads;
  const chunk_place chunk(args.schedule, slot);
  if (chunk.count == 0) return;
  const u32 own = wave_id(), token = own * block_rows + lane_id() % 16, key_head = head / args.group;
  const bool is_there = token < chunk.count, is_two = args.is_two != 0;

  vec<T, 8> q[most_keys / atom_depth];
  const auto rows_of = [&](const auto& of, u32 of_head, u32 columns) {
    const i64 at = of.at(chunk.sequence, chunk.first, of_head);
    return checked_rows<T>(of.base, at, of.token, chunk.count, columns);
  };
  const auto queries = rows_of(args.q, key_head, args.keys);
  static_for<most_keys / atom_depth>([&](auto step) {
    q[step.value] = queries.template load<8>(token, step.value * atom_depth + lane_id() / 16 * 8);
  });
  // Calls `body` for each step along keys that there are, after 64 of them are staged.
  const auto along_keys = [&](auto&& stage, auto&& body) {
    static_for<most_keys / panel>([&](auto p) {
      constexpr u32 key = p.value * panel;
      if (key >= args.keys) return;
      sync_threads();
      stage(key);
      sync_threads();
      static_for<panel / atom_depth>([&](auto step) {
        if (key + step.value * atom_depth >= args.keys) return;
        body(step, fragment_from<T>(q[key / atom_depth + step.value]));
      });
    });
  };

  vec<f32, 4> products[chunk_tokens / block_rows] = {};
  const auto keys = rows_of(args.k, key_head, args.keys);
  along_keys(
      [&](u32 key) { staged.fill(keys, key); },
      [&](auto step, auto mine) {
        static_for<chunk_tokens / block_rows>([&](auto b) {
          if (b.value > own) return;
          const auto others = staged.load(b.value * block_rows, step.value);
          products[b.value] = mma_ABt<T>(others, mine, products[b.value]);
        });
      });

  const f32* const sums =
      static_cast<const f32*>(args.g.base) + args.g.at(chunk.sequence, chunk.first, head);
  const bool has_sums = args.g.base != nullptr;
  const f32 sum = has_sums && is_there ? sums[token * args.g.token] : 0;
  static_for<chunk_tokens / block_rows>([&](auto b) {
    const u32 first = b.value * block_rows + lane_id() / 16 * 4;
    vec<f32, 4> row = 0;
    static_for<4>([&](auto e) {
      const u32 other = first + e.value;
      if (b.value > own || other > token || !is_there) return;
      const f32 decay = has_sums ? decay_of(sum - sums[other * args.g.token], is_two) : 1;
      row[e.value] = products[b.value][e.value] * decay;
    });
    scores.store_four(token, first, round_to<T, 4>(row));
  });

  const f32 decay = decay_of(sum, is_two);
  for (u32 first = 0; first < args.values; first += panel) {
    vec<f32, 4> results[panel / block_rows] = {};
    along_keys([&](u32 key) { fill_state(staged, args, slot, head, first, key); },
               [&](auto step, auto mine) {
                 static_for<panel / block_rows>([&](auto b) {
                   const auto others = staged.load(b.value * block_rows, step.value);
                   results[b.value] = mma_ABt<T>(others, mine, results[b.value]);
                 });
               });
    turned_block<T> values;
    values.load(rows_of(args.v, head, args.values), 0, first);
    sync_threads();
    values.store(staged, dealt);
    sync_threads();
    static_for<panel / block_rows>([&](auto b) { results[b.value] *= decay; });
    static_for<chunk_tokens / atom_depth>([&](auto step) {
      if (step.value * atom_depth > own * block_rows) return;
      const auto mine = scores.load_fours(own * block_rows, step.value);
      static_for<panel / block_rows>([&](auto b) {
        const auto others = staged.load(b.value * block_rows, step.value);
        results[b.value] = mma_ABt<T>(others, mine, results[b.value]);
      });
    });
    static_for<panel / 32>([&](auto pair) {
      const u32 column = first + pair.value * 32 + lane_id() / 16 * 8;
      const auto low = results[2 * pair.value], high = results[2 * pair.value + 1];
      const vec<f32, 8> both = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
      const auto rows = rows_of(args.o, head, args.values);
      rows.template store<8>(token, column, round_to<T, 8>(both * args.scale));
    });
  }
}

}  // namespace

}  // namespace hk
