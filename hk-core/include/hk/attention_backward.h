// Gradients of attention: of what comes of softmax(scale Q K^T, masked) V, by queries, keys and values.
//
// Weights are computed again, from scores and the logarithms of their sums, twice: for a tile of keys,
// which goes through the rows of queries of all of its heads (gradients of keys and values), and for a
// tile of rows of queries, which goes through the keys (gradients of queries). Nothing is added to memory,
// so that results do not depend on timing.
//
// Or, fused, once: tiles of keys also add what they know of gradients of queries to sums in memory, with
// atomics.
//
// Both are one loop. Rows that stay are the columns of products, rows that go by are their rows: a lane
// has one row that stays and some that go by, as `row_map` pairs them, and what it computes of their
// scores is what it has to give the next product, whose other operand is the rows that go by, across.
#pragma once

#include "hk/arch/wait_states.h"
#include "hk/attention.h"

namespace hk {

struct BackwardArgs {
  // Queries, keys, values and what is done to scores. Results are gradients of queries; `lse` are those of
  // the forward pass.
  AttentionArgs attention;
  KeySource queries;  // queries as keys, and gradients of results as values
  KeyRows results;
  void* dk;  // distances in elements
  i64 dk_sequence;
  i64 dk_row;
  i64 dk_head;
  void* dv;
  i64 dv_sequence;
  i64 dv_row;
  i64 dv_head;
  f32* delta;  // of rows of results
  i64 delta_sequence;
  i64 delta_row;
  i64 delta_head;
  f32* sink_gradients;  // of heads; null if there are no sinks
  f32* dq_sums;         // of rows of queries and heads, dense; null if nothing is added to memory
  u32 key_tiles;        // of a sequence, at most
  u32 query_tiles;      // of the rows of queries of a head of keys, at most
  u32 sums_row;         // from one row of sums to the next, in elements
  u32 reserved;
};

__device__ inline const BackwardArgs& backward_arguments() {
  return *(const BackwardArgs*)&attention_arguments();
}

// Of a row of queries: the logarithm of the sum of its weights, in units of log2, and the product of its
// result with the gradient of that. Rows without weights have the sum at infinity.
struct query_numbers {
  f32 lse, delta;

  __device__ query_numbers() : lse(__builtin_inff()), delta(0) {}
  __device__ query_numbers(const BackwardArgs& in, u32 sequence, u64 row, u32 head) {
    const AttentionArgs& of = in.attention;
    const f32 sum = of.lse[sequence * of.lse_sequence + row * of.lse_row + head * of.lse_head];
    lse = sum == -__builtin_inff() ? __builtin_inff() : sum * log2_e;
    delta = in.delta[sequence * in.delta_sequence + row * in.delta_row + head * in.delta_head];
  }
};

// Where the sums of a row of queries and a head are.
__device__ inline f32* sums_of(const BackwardArgs& in, u32 sequence, u64 row, u32 head) {
  const AttentionArgs& of = in.attention;
  // Rows of dense sequences follow each other, too.
  const u64 rows = of.q_starts.base == nullptr ? u64{sequence} * of.q_length + row : row;
  return in.dq_sums + (rows * of.kv_heads * of.group + head) * in.sums_row;
}

// A block of rows that stay: of keys if `Keys`, else of queries of all heads of one of keys.
template <class Tile, bool Keys, bool Fused = false>
struct backward_block {
  static_assert(Keys || !Fused);
  using T = typename Tile::T;
  static constexpr int waves = Tile::threads / wave_size;
  static constexpr int count = Tile::FRAGMENTS;  // of 16 rows that stay, of a wave
  static constexpr int width = Tile::WIDTH, value_width = Tile::VALUE_WIDTH;
  static constexpr int step = Tile::BLOCK;  // rows that go by at a time
  // Whether scores are only scaled.
  static constexpr bool plain = Tile::PLAIN;
  static constexpr int rows_of_wave = 16 * count, rows_of_block = rows_of_wave * waves;
  static constexpr int fragments = step / 16, slices = step / 32;
  static constexpr int width_slices = width / 32, value_slices = value_width / 32;
  static constexpr int width_fragments = width / 16;
  static constexpr int value_fragments = Keys ? value_width / 16 : 0;

  template <bool AlongK, int Width>
  using tile = row_tile<T, AlongK, step, Width, Tile::threads, row_kind::adjacent>;
  using first_tile = tile<true, width>;  // queries or keys
  using second_tile = tile<true, value_width>;  // gradients of results or values
  using first_across = tile<false, width>;
  using second_across = tile<false, value_width>;
  static constexpr int along_bytes = first_tile::slot_bytes + second_tile::slot_bytes;
  static constexpr int across_bytes =
      first_across::slot_bytes + (Keys ? second_across::slot_bytes : 0);
  static constexpr int number_bytes = Keys ? step * 8 : 0;
  // Tiles across take the place of those along, unless there is much room.
  static constexpr bool takes_place =
      Fused || along_bytes + across_bytes + number_bytes > arch::lds_bytes / 2;
  static constexpr int across_at = takes_place ? 0 : along_bytes;
  static constexpr int numbers_at =
      takes_place ? max(along_bytes, across_bytes) : along_bytes + across_bytes;
  // Keys that stay, across; and gradients of scores, a row for each that goes by.
  using keys_across = row_tile<T, false, rows_of_block, width, Tile::threads, row_kind::adjacent>;
  static constexpr int keys_at = numbers_at + number_bytes;
  static constexpr int score_row_bytes = rows_of_block * 2 + 16;
  static constexpr int scores_at = keys_at + (Fused ? keys_across::slot_bytes : 0);
  static constexpr int lds_bytes = scores_at + (Fused ? step * score_row_bytes : 0);
  static_assert(lds_bytes <= arch::lds_bytes);

  static constexpr i32 unlimited = 0x3fffffff;

  const u32 sequence, head;  // of keys
  const lds_pointer lds;
  u32 q_start, q_length;
  key_sequence keys;
  i32 delta;     // from a query's number to its position
  u32 wave_row;  // the wave's first row that stays
  u32 rows;      // that stay, of the sequence and head

  bits128 first[count][width_slices];
  bits128 second[count][value_slices];
  vec<f32, 4> first_sums[width_fragments][count];
  vec<f32, 4> second_sums[max(value_fragments, 1)][count];
  query_numbers numbers[count];  // of queries that stay
  i32 lowest[count], highest[count];  // rows that go by, of which each that stays has scores
  i32 wave_lowest, wave_highest;  // that all rows of the wave have scores of

  __device__ backward_block(const BackwardArgs& in, u32 sequence, u32 head, lds_pointer lds)
      : sequence(sequence),
        head(head),
        lds(lds),
        keys(in.attention.source[0], sequence, head, 0) {
    attention_task task;
    task.sequence = sequence;
    task.find_queries(in.attention);
    q_start = task.start;
    q_length = task.length;
    delta = in.attention.top_left ? 0 : static_cast<i32>(keys.length - q_length);
    rows = Keys ? keys.length : q_length * in.attention.group;
  }

  // ---- Rows that stay.

  __device__ static u32 min_of(u32 a, u32 b) { return a < b ? a : b; }
  __device__ u32 row_of(int n) const { return wave_row + n * 16 + lane_id() % 16; }

  // Rows that go by, from the lowest to the highest, that there are scores of with a row that stays.
  struct bounds {
    i32 lowest, highest;
  };
  __device__ bounds bounds_of(const AttentionArgs& in, u32 row) const {
    const i32 back = Keys ? in.right : in.left, ahead = Keys ? in.left : in.right;
    const i32 at = Keys ? static_cast<i32>(row) - delta : static_cast<i32>(row / in.group) + delta;
    const i32 last = static_cast<i32>(Keys ? q_length : keys.length) - 1;
    const i32 high = ahead < 0 ? unlimited : at + ahead;
    return {back < 0 ? 0 : at - back, high < last ? high : last};
  }

  HK_INLINE void begin(u32 tile) {
    const BackwardArgs& in = backward_arguments();
    wave_row = tile * rows_of_block + wave_id() * rows_of_wave;
    const u32 last = rows - 1;
    wave_highest = bounds_of(in.attention, min_of(wave_row, last)).highest;
    wave_lowest = bounds_of(in.attention, min_of(wave_row + rows_of_wave - 1, last)).lowest;
    static_for<count>([&](auto n) {
      const u32 row = min_of(row_of(n), last);
      const bounds of = bounds_of(in.attention, row);
      lowest[n.value] = of.lowest;
      highest[n.value] = of.highest;
      const u32 group = in.attention.group, query = row / group;
      const u32 q_head = head * group + (row - query * group);
      const KeySource& source = Keys ? in.attention.source[0] : in.queries;
      const row_place place =
          Keys ? find_row(source, keys, row) : row_place{q_start + query, 0};
      const u32 of_head = Keys ? head : q_head;
      const auto load = [&](auto& to, auto slices, const KeyRows& from) {
        const u64 at = row_address(source, from, rows_of_head(from, sequence, of_head), place);
        const auto column_of = [](auto s) { return s.value * 32 + lane_id() / 16 * 8; };
        if (!from.whole) {
          load_cut_chunks<u16>(to[n.value], from.width, [&](auto) { return at; }, column_of);
          return;
        }
        static_for<slices.value>([&](auto s) {
          const u32 column = column_of(s);
          to[n.value][s.value] = column < from.width
                                     ? bits128(arch::load_global<u32, 4, 2>(at + column * 2))
                                     : bits128(0);
        });
      };
      load(first, constant<width_slices>{}, source.keys);
      load(second, constant<value_slices>{}, source.values);
      if constexpr (!Keys) {
        numbers[n.value] = query_numbers(in, sequence, u64{q_start} + query, q_head);
      }
      static_for<width_fragments>([&](auto d) { first_sums[d.value][n.value] = 0; });
      static_for<value_fragments>([&](auto d) { second_sums[d.value][n.value] = 0; });
    });
  }

  // ---- Rows that go by.

  // Tiles of a head that there are scores of: so many from the first on.
  struct range {
    u32 begin, count;
    u32 first, end;  // rows
  };
  HK_INLINE range visible_tiles(const AttentionArgs& in, u32 tile) const {
    const u32 from = tile * rows_of_block, to = min_of(from + rows_of_block, rows) - 1;
    const i32 low = bounds_of(in, from).lowest, high = bounds_of(in, to).highest;
    const u32 begin = low < 0 ? 0 : low / step;
    if (high < 0 || static_cast<u32>(high) / step < begin) return {0, 0, 0, 0};
    return {begin, uniform(high / step + 1 - begin), uniform(static_cast<u32>(low < 0 ? 0 : low)),
            uniform(static_cast<u32>(high) + 1)};
  }
  // Of keys from row `from` on, those that some query sees: what others hold has no part in any sum.
  __device__ range seen_keys(const AttentionArgs& in, u32 from) const {
    const i32 base = static_cast<i32>(from), last = static_cast<i32>(min_of(rows - from, rows_of_block));
    const i32 first = in.left < 0 ? 0 : delta - in.left - base;
    const i32 end = in.right < 0 ? last : static_cast<i32>(q_length) + delta + in.right - base;
    return {0, 0, static_cast<u32>(first < 0 ? 0 : first), static_cast<u32>(end < 0 ? 0 : end < last ? end : last)};
  }

  // The first row that a lane has of those of a tile, and others by fragment and register.
  static constexpr int row_by(int fragment, int reg) {
    return fragment / 2 * 32 + fragment % 2 * 4 + reg;
  }
  __device__ static u32 first_by_of_lane() { return lane_id() / 16 * 8; }

  using scores = vec<f32, 4>[fragments][count];

  HK_INLINE static void each(auto&& body) {
    static_for<fragments>([&](auto f) {
      static_for<count>([&](auto n) { body(f, n); });
    });
  }

  // Products of rows of a tile with rows that stay.
  HK_INLINE void multiply(scores& s, const auto& tile, const auto& stay, auto slices) const {
    each([&](auto f, auto n) { s[f.value][n.value] = 0; });
    static_for<fragments>([&](auto f) {
      static_for<slices.value>([&](auto w) {
        const bits128 by = tile.template fragment_at<f.value, w.value>();
        static_for<count>([&](auto n) {
          s[f.value][n.value] = arch::mma(T{}, by, stay[n.value][w.value], s[f.value][n.value]);
        });
      });
    });
  }

  // Adds products of rows of a tile, across, with what is rounded of weights.
  HK_INLINE void add(auto& sums, const auto& tile, const scores& s, auto width_of) {
    static_for<slices>([&](auto c) {
      bits128 weights[count];
      static_for<count>([&](auto n) {
        const vec<f32, 8> eight = __builtin_shufflevector(
            s[2 * c.value][n.value], s[2 * c.value + 1][n.value], 0, 1, 2, 3, 4, 5, 6, 7);
        weights[n.value] = bit_cast<bits128>(round_to<T, 8>(eight));
      });
      static_for<width_of.value>([&](auto d) {
        const bits128 across = tile.template fragment_at<d.value, c.value>();
        static_for<count>([&](auto n) {
          sums[d.value][n.value] = arch::mma(T{}, across, weights[n.value], sums[d.value][n.value]);
        });
      });
    });
  }

  // Turns scores into weights, and products of values and gradients of results into gradients of scores
  // without their factor. `q_head` is that of queries that go by, `lane_numbers(f)` theirs.
  HK_INLINE void differentiate(const AttentionArgs& in, scores& s, scores& products, u32 first_by,
                               u32 q_head, auto&& lane_numbers) const {
    const i32 base = static_cast<i32>(first_by);
    const bool hides = base < wave_lowest || base + step - 1 > wave_highest;
    const bool has_steps = !plain && in.has_steps;
    each([&](auto f, auto n) {
      vec<f32, 4>& x = s[f.value][n.value];
      vec<f32, 4>& y = products[f.value][n.value];
      const u32 by = first_by + first_by_of_lane() + row_by(f, 0);
      vec<f32, 4> lse, d, slope = 1;
      lane_numbers(f, n, lse, d);
      x *= in.scale;
      if (has_steps) change(in, x, slope, by, row_of(n), q_head);
      static_for<4>([&](auto i) {
        f32 weight = arch::exp2(__builtin_fmaf(x[i.value], log2_e, -lse[i.value]));
        if (hides) {
          const i32 at = static_cast<i32>(by) + i.value;
          weight = at < lowest[n.value] || at > highest[n.value] ? 0 : weight;
        }
        x[i.value] = weight;
      });
      vec<f32, 4> kept = x;
      if (has_steps && in.steps.drops) drop(in, kept, y, by, row_of(n), q_head);
      y = x * (y * in.keep_scale - d) * slope;
      if (hides) {
        // Whatever products are of what is not seen.
        static_for<4>([&](auto i) {
          const i32 at = static_cast<i32>(by) + i.value;
          y[i.value] = at < lowest[n.value] || at > highest[n.value] ? 0 : y[i.value];
        });
      }
      x = kept;
    });
  }

  // What happens to scores before they become weights, and the slopes of that.
  __device__ void change(const AttentionArgs& in, vec<f32, 4>& x, vec<f32, 4>& slope, u32 by, u32 row,
                         u32 q_head) const {
    const ScoreSteps& steps = in.steps;
    if (!Keys) q_head = head * in.group + min_of(row, rows - 1) % in.group;
    if (steps.softcap > 0) {
      static_for<4>([&](auto i) {
        const f32 capped = tanh(x[i.value] * steps.softcap_inverse);
        slope[i.value] = 1 - capped * capped;
        x[i.value] = steps.softcap * capped;
      });
    }
    if (steps.slopes == nullptr) return;
    const f32 by_distance = steps.slopes[sequence * steps.slopes_of_sequence + q_head];
    static_for<4>([&](auto i) {
      const u32 other = by + i.value, query = Keys ? other : min_of(row, rows - 1) / in.group;
      const i32 position = static_cast<i32>(query) + delta;
      const f32 distance = static_cast<f32>(static_cast<i32>(Keys ? row : other) - position);
      x[i.value] = __builtin_fmaf(by_distance, -__builtin_fabsf(distance), x[i.value]);
    });
  }

  // Makes those zero that the forward pass has dropped.
  __device__ void drop(const AttentionArgs& in, vec<f32, 4>& weights, vec<f32, 4>& products, u32 by,
                       u32 row, u32 q_head) const {
    const ScoreSteps& steps = in.steps;
    row = min_of(row, rows - 1);
    if (!Keys) q_head = head * in.group + row % in.group;
    const u32 of_head = sequence * in.kv_heads * in.group + q_head;
    vec<u32, 4> random;
    if constexpr (Keys) {
      static_for<4>([&](auto i) {
        const vec<u32, 4> counter = {row / 4, by + static_cast<u32>(i.value), of_head, steps.offset_low};
        const vec<u32, 4> four = philox(counter, steps.seed_low, steps.seed_high);
        const u32 low = row % 2 ? four[1] : four[0], high = row % 2 ? four[3] : four[2];
        random[i.value] = row % 4 < 2 ? low : high;
      });
    } else {
      const vec<u32, 4> counter = {by / 4, row / in.group, of_head, steps.offset_low};
      random = philox(counter, steps.seed_low, steps.seed_high);
    }
    static_for<4>([&](auto i) {
      const bool drops = random[i.value] < steps.threshold;
      weights[i.value] = drops ? 0 : weights[i.value];
      products[i.value] = drops ? 0 : products[i.value];
    });
  }

  using number_pointer = arch::lds_pointer_to<vec<f32, 4>>;
  __device__ arch::lds_pointer_to<f32> number_at(u32 which, u32 row) const {
    return reinterpret_cast<arch::lds_pointer_to<f32>>(lds + numbers_at) + which * step + row;
  }

  HK_INLINE void run(u32 tile) {
    const u32 group = Keys ? backward_arguments().attention.group : 1;
    const range tiles = visible_tiles(backward_arguments().attention, tile);
    const u32 all = uniform(tiles.count * group);
    if (all == 0) return;
    const u32 thread = thread_idx().x;
    first_tile first_by(lds, thread);
    second_tile second_by(lds + first_tile::slot_bytes, thread);
    first_across first_over(lds + across_at, thread);
    second_across second_over(lds + across_at + first_across::slot_bytes, thread);
    query_numbers own;  // of one row of a tile
    // The head of queries of a tile, and the tile's first row. Workgroups that add to memory begin at
    // different ones.
    const auto number_of = [&](u32 i) {
      const u32 number = Fused ? i + tile : i;
      return Fused ? number % all : number;
    };
    const auto head_of = [&](u32 i) { return head * group + number_of(i) / tiles.count; };
    const auto row_at = [&](u32 i) { return (tiles.begin + number_of(i) % tiles.count) * step; };
    const u32 by_length = Keys ? q_length : keys.length;
    const auto load = [&](u32 i) {
      const BackwardArgs& in = backward_arguments();
      const KeySource& source = Keys ? in.queries : in.attention.source[0];
      const key_sequence by = Keys ? key_sequence(q_start, q_length) : keys;
      const u32 of_head = Keys ? head_of(i) : head, row = row_at(i);
      const u64 first_base = rows_of_head(source.keys, sequence, of_head);
      const u64 second_base = rows_of_head(source.values, sequence, of_head);
      const auto start = [&](auto& tile, const KeyRows& rows, u64 base) {
        tile.find(source, by, row);
        tile.load(source, rows, base);
      };
      start(first_by, source.keys, first_base);
      start(second_by, source.values, second_base);
      start(first_over, source.keys, first_base);
      if constexpr (Keys) {
        start(second_over, source.values, second_base);
        if (thread < step) {
          const u32 query = row + thread;
          own = query_numbers();
          if (query < q_length) own = query_numbers(in, sequence, u64{q_start} + query, of_head);
        }
      }
    };
    keys_across own_keys(lds + (Fused ? keys_at : 0), thread);
    if constexpr (Fused) {
      const KeySource& source = backward_arguments().attention.source[0];
      const u32 from = tile * rows_of_block;
      own_keys.find(source, keys, from);
      own_keys.load(source, source.keys, rows_of_head(source.keys, sequence, head));
      const range seen = seen_keys(backward_arguments().attention, from);
      own_keys.write(source.keys, seen.first, seen.end);
    }
    load(0);
#pragma unroll 1
    for (u32 i = 0; i < all; ++i) {
      const u32 row = row_at(i), left = min_of(by_length - row, step);
      const auto source = [&]() -> const KeySource& {
        const BackwardArgs& in = backward_arguments();
        return Keys ? in.queries : in.attention.source[0];
      };
      arch::meet_with_lds();
      first_by.write(source().keys, 0, left);
      second_by.write(source().values, 0, left);
      // Rows that no row of the workgroup has scores of.
      const u32 unseen = tiles.first > row ? tiles.first - row : 0, seen = min_of(left, tiles.end - row);
      if constexpr (!takes_place) write_across(first_over, second_over, source(), unseen, seen);
      if constexpr (Keys) {
        if (thread < step) {
          *number_at(0, thread) = own.lse;
          *number_at(1, thread) = own.delta;
        }
      }
      arch::meet_with_lds();
      // What is under way takes registers, which are written before others are loaded.
      if constexpr (!takes_place) {
        if (i + 1 < all) load(i + 1);
      }
      scores s, products;
      multiply(s, first_by, first, constant<width_slices>{});
      multiply(products, second_by, second, constant<value_slices>{});
      differentiate(backward_arguments().attention, s, products, row, head_of(i),
                    [&](auto f, auto n, vec<f32, 4>& lse, vec<f32, 4>& d) {
                      if constexpr (Keys) {
                        const u32 by = first_by_of_lane() + row_by(f, 0);
                        lse = *reinterpret_cast<number_pointer>(number_at(0, by));
                        d = *reinterpret_cast<number_pointer>(number_at(1, by));
                      } else {
                        lse = numbers[n.value].lse;
                        d = numbers[n.value].delta;
                      }
                    });
      if constexpr (takes_place) {
        if constexpr (Fused) write_scores(products);
        arch::meet_with_lds();
        write_across(first_over, second_over, source(), unseen, seen);
        arch::meet_with_lds();
        if (i + 1 < all) load(i + 1);
      }
      add(first_sums, first_over, products, constant<width_fragments>{});
      if constexpr (Keys) add(second_sums, second_over, s, constant<value_fragments>{});
      if constexpr (Fused) {
        arch::settle_products();
        add_to_queries(own_keys, row, head_of(i));
      }
    }
  }

  // ---- Gradients of queries, of rows that go by.

  // Puts gradients of scores into LDS, rounded: of this wave's keys.
  HK_INLINE void write_scores(const scores& s) const {
    each([&](auto f, auto n) {
      const vec<T, 4> rounded = round_to<T, 4>(s[f.value][n.value]);
      const u32 key = wave_id() * rows_of_wave + n.value * 16 + lane_id() % 16;
      static_for<4>([&](auto i) {
        const u32 row = first_by_of_lane() + row_by(f, i);
        *reinterpret_cast<arch::lds_pointer_to<T>>(lds + scores_at + row * score_row_bytes + key * 2) =
            rounded[i.value];
      });
    });
  }

  // Adds their products with keys to sums in memory: each wave has some columns of all rows of the tile.
  HK_INLINE void add_to_queries(const keys_across& own_keys, u32 first_row, u32 q_head) const {
    constexpr int of_wave = width_fragments / waves;
    static_assert(width_fragments % waves == 0);
    const BackwardArgs& in = backward_arguments();
    const u32 wave = wave_id();
    with_wave([&](auto which) {
#pragma unroll 1
      for (u32 f = 0; f < fragments; ++f) {
        vec<f32, 4> sums[of_wave];
        static_for<of_wave>([&](auto d) { sums[d.value] = 0; });
        static_for<rows_of_block / 32>([&](auto c) {
          const u32 at = scores_at + (f * 16 + lane_id() % 16) * score_row_bytes + c.value * 64 +
                         lane_id() / 16 * 16;
          const auto score = *reinterpret_cast<arch::lds_pointer_to<bits128>>(lds + at);
          static_for<of_wave>([&](auto d) {
            const bits128 key =
                own_keys.template fragment_at<which.value * of_wave + d.value, c.value>();
            sums[d.value] = arch::mma(T{}, key, score, sums[d.value]);
          });
        });
        const u32 row = first_row + f * 16 + lane_id() % 16;
        if (row >= q_length) continue;
        f32* to = sums_of(in, sequence, u64{q_start} + row, q_head);
        static_for<of_wave>([&](auto d) {
          const u32 column = (wave * of_wave + d.value) * 16 + lane_id() / 16 * 4;
          static_for<4>([&](auto i) {
            if (column + i.value >= in.attention.width) return;
            __scoped_atomic_fetch_add(to + column + i.value, sums[d.value][i.value],
                                      __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
          });
        });
      }
    });
  }

  // Calls `body` with the wave's number as a constant.
  template <int Which = 0>
  HK_INLINE static void with_wave(auto&& body) {
    if constexpr (Which + 1 == waves) {
      body(constant<Which>{});
    } else if (wave_id() == Which) {
      body(constant<Which>{});
    } else {
      with_wave<Which + 1>(body);
    }
  }

  HK_INLINE static void write_across(first_across& first, second_across& second,
                                     const KeySource& source, u32 from, u32 end) {
    first.write(source.keys, from, end);
    if constexpr (Keys) second.write(source.values, from, end);
  }

  // ---- Results.

  // Stores the sums of rows that stay: `to` is where row 0 of the sequence and head is.
  template <int Fragments>
  __device__ static void store_row(T* to, u32 width, f32 factor, const auto& sums, int n) {
    static_for<Fragments>([&](auto d) {
      const u32 column = d.value * 16 + lane_id() / 16 * 4;
      if (column >= width) return;
      const vec<f32, 4> x = sums[d.value][n] * factor;
      store_first<T, 4>(to + column, width - column, round_to<T, 4>(x));
    });
  }

  HK_INLINE void store() const {
    const BackwardArgs& in = backward_arguments();
    const AttentionArgs& of = in.attention;
    static_for<count>([&](auto n) {
      const u32 row = row_of(n);
      if (row >= rows) return;
      if constexpr (Keys) {
        const u64 at = static_cast<u64>(keys.start) + row;
        T* dk = static_cast<T*>(in.dk) + sequence * in.dk_sequence + at * in.dk_row + head * in.dk_head;
        T* dv = static_cast<T*>(in.dv) + sequence * in.dv_sequence + at * in.dv_row + head * in.dv_head;
        store_row<width_fragments>(dk, of.width, of.scale, first_sums, n);
        store_row<value_fragments>(dv, of.value_width, of.keep_scale, second_sums, n);
      } else {
        const u32 query = row / of.group, q_head = head * of.group + row % of.group;
        T* dq = static_cast<T*>(of.o) + sequence * of.o_sequence +
                (u64{q_start} + query) * of.o_row + q_head * of.o_head;
        store_row<width_fragments>(dq, of.width, of.scale, first_sums, n);
      }
    });
  }
};

}  // namespace hk
