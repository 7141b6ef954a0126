// Attention: for each row of queries, the average of rows of values, weighed by how well their keys
// match. A workgroup has a tile of rows of one head of keys, those of all of its heads of queries
// together, and goes through the rows of keys and values, tile by tile, once.
//
// Scores are computed transposed, K Q^T: a lane has one row of queries and some rows of keys, so that
// maxima and sums of a row stay in four lanes; and with rows of keys dealt as `row_map` pairs them, the
// weights that a lane computes are what it has to give the second product, V^T P^T.
//
// Maxima are kept in units of log2, and only raised when they grow by more than `lazy_growth`: weights
// are at most 2^lazy_growth then, and sums stay far from overflowing. Weights of 8 bits are at most
// 2^code_exponent, those of the largest score: what is subtracted is so much less than the maximum.
#pragma once

#include "hk/arch/exchange.h"
#include "hk/arch/votes.h"
#include "hk/attention_codes.h"
#include "hk/attention_results.h"
#include "hk/math.h"
#include "hk/order.h"

namespace hk {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
__device__ inline vec<u32, 4> philox(vec<u32, 4> counter, u32 key_low, u32 key_high) {
#pragma unroll 1
  for (int round = 0; round < 10; ++round) {
    const u64 first = static_cast<u64>(counter[0]) * 0xD2511F53u;
    const u64 second = static_cast<u64>(counter[2]) * 0xCD9E8D57u;
    counter = {static_cast<u32>(second >> 32) ^ counter[1] ^ key_low, static_cast<u32>(second),
               static_cast<u32>(first >> 32) ^ counter[3] ^ key_high, static_cast<u32>(first)};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return counter;
}

// Of the four lanes that have a row: all receive the same bits.
template <class Op>
__device__ inline f32 over_lanes_of_row(f32 x) {
  const auto step = [&](auto half) {
    const vec<u32, 2> both = arch::both_halves<half.value>(bit_cast<u32>(x));
    x = Op::apply(bit_cast<f32>(u32(both[0])), bit_cast<f32>(u32(both[1])));
  };
  step(constant<16>{});
  step(constant<32>{});
  return x;
}

// Of elements of a kind: any, unless they are said to be plain.
template <class Tile, row_kind Kind = Tile::PLAIN ? row_kind::whole : row_kind::any>
struct attention_block {
  using T = typename multiplied<typename Tile::T>::key;      // of queries and keys
  using V = typename multiplied<typename Tile::T>::value;    // of weights and values
  static constexpr bool is_coded = sizeof(T) == 1;
  static constexpr int q_waves = Tile::Q_WAVES;  // that share tiles, each with rows of its own
  static constexpr int k_waves = Tile::K_WAVES;  // that have the same rows, and tiles of their own
  static constexpr int q_fragments = Tile::Q_FRAGMENTS;  // of 16 rows, of a wave
  static constexpr int width = Tile::WIDTH, value_width = Tile::VALUE_WIDTH;
  static constexpr int block_k = Tile::BK;
  // Whether scores are only scaled, and all elements adjacent and of type T.
  static constexpr bool plain = Tile::PLAIN;
  static_assert(plain == (Kind != row_kind::any));
  static_assert(q_waves == 1 || k_waves == 1);
  static_assert(Tile::threads == wave_size * q_waves * k_waves);

  static constexpr int rows_of_wave = 16 * q_fragments;
  static constexpr int block_q = rows_of_wave * q_waves;
  static constexpr int lane_columns = per_128_bits<T>;  // of a row, in each slice
  static constexpr int fragments = block_k / 16, slices = block_k / (4 * per_128_bits<V>);
  static constexpr int width_slices = width / (4 * lane_columns), value_fragments = value_width / 16;
  static constexpr int threads = wave_size * q_waves;  // that share tiles

  using key_tile = row_tile<T, true, block_k, width, threads, Kind>;
  using value_tile =
      typename choose<is_coded, code_columns<block_k, value_width, threads>,
                      row_tile<T, false, block_k, value_width, threads, Kind>>::type;
  static constexpr int key_bytes = key_tile::slot_bytes;
  // Whether LDS has no room for both, so that values take the keys' place once there are scores.
  static constexpr bool in_turn =
      k_waves == 1 && key_bytes + value_tile::slot_bytes > arch::lds_bytes;
  static constexpr int tile_bytes = in_turn ? max(key_bytes, value_tile::slot_bytes)
                                            : key_bytes + value_tile::slot_bytes;
  static constexpr int waves = q_waves * k_waves;
  static constexpr int lds_bytes = max(tile_bytes * k_waves, waves * (16 * min(64, value_width) * 4 + 128));

  static constexpr f32 lazy_growth = is_coded ? 0 : 8;
  static constexpr f32 code_exponent = is_coded ? 7 : 0;
  static constexpr f32 infinity = __builtin_inff();

  attention_task task;
  const u32 problem;  // whose arguments count
  const lds_pointer lds;
  u32 key_head = task.head;  // of keys and values
  u32 rows;           // of queries and heads that the sequence has
  u32 wave_row;       // the wave's first
  u32 total;          // keys
  key_sequence first, second;
  u32 first_tiles;    // of the first source
  u32 seen_from = 0;  // the first key that a row of the workgroup sees
  u32 seen_to = ~0u;  // the first behind all that one sees

  // What a lane has: rows of queries, of each 16 an own one.
  bits128 q[q_fragments][width_slices];
  vec<f32, 4> o[value_fragments][q_fragments];
  f32 maximum[q_fragments], sum[q_fragments];  // the sum is the lane's part
  f32 factor[q_fragments];                     // of scores
  i32 lowest[q_fragments], highest[q_fragments];  // keys that are visible
  i32 wave_lowest, wave_highest;  // those visible to all rows of the wave
  bool has_steps;

  __device__ attention_block(const AttentionArgs& in, const attention_task& task, lds_pointer lds)
      : task(task),
        problem(0),
        lds(lds),
        rows(task.length * in.group),
        first(in.source[0], task.sequence, task.head, 0),
        second(first) {
    second.length = 0;
    if (in.source[1].keys.base != nullptr) {
      second = key_sequence(in.source[1], task.sequence, task.head, 0);
    }
    if (in.source[0].lengths_are_total) {
      first = key_sequence(in.source[0], task.sequence, task.head, second.length);
    }
    count_keys(in);
  }

  // Of keys of one source, which were found before, and of one of several problems.
  __device__ attention_block(const AttentionArgs& in, const attention_task& task,
                             const key_sequence& keys, u32 problem, lds_pointer lds)
      : task(task),
        problem(problem),
        lds(lds),
        rows(task.length * in.group),
        first(keys),
        second(keys) {
    second.length = 0;
    count_keys(in);
  }

  __device__ void count_keys(const AttentionArgs& in) {
    total = first.length + second.length;
    first_tiles = (first.length + block_k - 1) / block_k;
    this->task.delta = in.top_left ? 0 : static_cast<i32>(total - task.length);
  }

  // ---- Rows of queries.

  __device__ u32 row_of(int n) const { return wave_row + n * 16 + lane_id() % 16; }

  HK_INLINE void begin(const AttentionArgs& in) {
    const u32 team = q_waves == 1 ? 0 : wave_id();
    wave_row = task.tile * block_q + team * rows_of_wave;
    const auto bounds = [&](u32 row, i32& low, i32& high) {
      const i32 position = static_cast<i32>(row / in.group) + task.delta;
      low = in.left < 0 ? 0 : position - in.left;
      high = in.right < 0 ? 0x7fffffff : position + in.right;
    };
    i32 unused;
    const u32 last = rows - 1;
    bounds(min_of(wave_row, last), unused, wave_highest);
    bounds(min_of(wave_row + rows_of_wave - 1, last), wave_lowest, unused);
    bool is_steep = in.has_steps;
    static_for<q_fragments>([&](auto n) {
      const u32 row = min_of(row_of(n), last);
      bounds(row, lowest[n.value], highest[n.value]);
      const u32 query = row / in.group, head = task.head * in.group + row % in.group;
      f32 by = in.scale;
      if (in.q_scale.base != nullptr) {
        const u32 number = head / in.q_scale.shared_by;
        by *= in.q_scale.base[task.sequence * in.q_scale.sequence + number * in.q_scale.head];
      }
      if (in.k_scale.base != nullptr) {
        by *= in.k_scale.base[task.sequence * in.k_scale.sequence + task.head * in.k_scale.head];
      }
      factor[n.value] = by;
      is_steep = is_steep || !(by > 0);
      maximum[n.value] = -infinity;
      sum[n.value] = 0;
      if (in.sinks != nullptr && task.split == 0 && (k_waves == 1 || wave_id() == 0)) {
        const f32 sink = in.sink_type == static_cast<u32>(dtype::f32)
                             ? static_cast<const f32*>(in.sinks)[head]
                             : to_f32(static_cast<const bf16*>(in.sinks)[head]);
        // A sink of no weight is none. One that is NaN stays.
        if (sink != -infinity) {
          maximum[n.value] = sink * log2_e - code_exponent;
          sum[n.value] = lane_id() < 16 ? (is_coded ? 128 : 1) : 0;
        }
      }
      load_query(in, query, head, n);
      static_for<value_fragments>([&](auto d) { o[d.value][n.value] = 0; });
    });
    has_steps = arch::ballot(is_steep) != 0;
  }

  HK_INLINE void load_query(const AttentionArgs& in, u32 query, u32 head, auto n) {
    const u64 at = reinterpret_cast<u64>(in.q) + task.sequence * in.q_sequence +
                   (static_cast<u64>(task.start) + query) * in.q_row + head * in.q_head;
    const bool is_narrow = in.q_type >= static_cast<u32>(row_type::e4m3);
    const u32 size = is_narrow ? 1 : 2;
    if constexpr (Kind == row_kind::adjacent) {
      if (in.width % 8 != 0) {
        load_cut_chunks<u16>(
            q[n.value], in.width, [&](auto) { return at; },
            [&](auto s) { return s.value * 32 + lane_id() / 16 * 8; });
        return;
      }
    }
    if constexpr (plain) {
      static_for<width_slices>([&](auto s) {
        const u32 column = s.value * 32 + lane_id() / 16 * 8;
        q[n.value][s.value] =
            column < in.width ? bits128(arch::load_global<u32, 4, 2>(at + column * 2)) : bits128(0);
      });
      return;
    }
    const KeyRows like = {nullptr, 0, 0, 0, 0, 0, 0, size, ~0u, 31, in.q_type,
                          in.width % 8 == 0, in.width, 0};
    static_for<width_slices>([&](auto s) {
      const u32 column = (s.value * 4 + lane_id() / 16) * lane_columns;
      if constexpr (is_coded) {
        q[n.value][s.value] = load_codes(like, at, column);
      } else {
        const bits128 bits = load_chunk(like, at, column);
        q[n.value][s.value] = is_narrow ? expand<T>(bits, static_cast<row_type>(in.q_type)) : bits;
      }
    });
  }

  __device__ static u32 min_of(u32 a, u32 b) { return a < b ? a : b; }

  // ---- Tiles of keys.

  // Tiles that the workgroup's rows see some of: [begin, end).
  struct range {
    u32 begin, end;
  };
  __device__ u32 tile_of(u32 position) const {
    return position < first.length ? position / block_k
                                   : first_tiles + (position - first.length) / block_k;
  }
  __device__ range visible_tiles(const AttentionArgs& in) {
    const u32 last = rows - 1;
    const i32 from = static_cast<i32>(task.tile * block_q / in.group) + task.delta;
    const i32 to = static_cast<i32>(min_of(task.tile * block_q + block_q - 1, last) / in.group) +
                   task.delta;
    const i32 low = in.left < 0 || from < in.left ? 0 : from - in.left;
    i32 high = static_cast<i32>(total) - 1;
    if (in.right >= 0 && to + in.right < high) high = to + in.right;
    seen_from = uniform(low);
    // Where all rows are before the first key, none is seen.
    seen_to = uniform(high < 0 ? 0 : high + 1);
    if (high < low) return {0, 0};
    const range all = {tile_of(low), tile_of(high) + 1};
    const u32 each = (all.end - all.begin + in.splits - 1) / in.splits;
    const u32 begin = min_of(all.begin + task.split * each, all.end);
    return {uniform(begin), uniform(min_of(begin + each, all.end))};
  }

  // A tile: the rows of a source that it has, and where they are among all. Those before `first` no row
  // of the workgroup sees.
  struct span {
    bool is_second;
    u32 row, position, count, first;
  };
  __device__ span span_of(u32 tile) const {
    const bool is_second = tile >= first_tiles;
    const u32 row = (is_second ? tile - first_tiles : tile) * block_k;
    const u32 length = is_second ? second.length : first.length;
    const u32 position = is_second ? first.length + row : row;
    const u32 unseen = seen_from > position ? seen_from - position : 0;
    return {is_second, row, position, min_of(length - row, block_k), unseen};
  }
  __device__ key_sequence of(const span& tile) const { return tile.is_second ? second : first; }

  // ---- Scores.

  // The key that a lane has in a register of a fragment, from its first on.
  static constexpr int key_of(int fragment, int reg) {
    return fragment / 2 * 32 + fragment % 2 * 4 + reg;
  }
  __device__ static i32 first_key_of_lane() { return lane_id() / 16 * 8; }

  using scores = vec<f32, 4>[fragments][q_fragments];

  HK_INLINE static void each(auto&& body) {
    static_for<fragments>([&](auto f) {
      static_for<q_fragments>([&](auto n) { body(f, n); });
    });
  }

  // Numbers of the slots of a tile's keys, four of which follow each other.
  __device__ static vec<f32, 4> slot_scales(const SlotScales& scales, const KeySource& source,
                                            const key_sequence& sequence, u32 head, u32 row) {
    vec<f32, 4> x;
    static_for<4>([&](auto i) {
      const row_place place = find_row(source, sequence, row + i.value);
      const u32 page = place.page < source.count ? place.page : source.count - 1;
      x[i.value] = scales.base[page * scales.page + head * scales.head + place.slot * scales.slot];
    });
    return x;
  }

  // All that may happen to scores, after which they are in units of log2.
  HK_INLINE void change(const AttentionArgs& in, scores& s, const span& tile) const {
    const ScoreSteps& steps = in.steps;
    each([&](auto f, auto n) {
      vec<f32, 4>& four = s[f.value][n.value];
      const u32 row = min_of(row_of(n), rows - 1);
      const u32 query = row / in.group, head = task.head * in.group + row % in.group;
      const i32 position = static_cast<i32>(query) + task.delta;
      const u32 in_tile = first_key_of_lane() + key_of(f, 0);
      const u32 key = tile.position + in_tile;
      four *= factor[n.value];
      if (steps.key_scales.base != nullptr && !tile.is_second) {
        four *= slot_scales(steps.key_scales, in.source[0], first, task.head, tile.row + in_tile);
      }
      if (steps.softcap > 0) {
        static_for<4>([&](auto i) {
          four[i.value] = steps.softcap * tanh(four[i.value] * steps.softcap_inverse);
        });
      }
      if (steps.slopes != nullptr) {
        const f32 slope = steps.slopes[task.sequence * steps.slopes_of_sequence + head];
        const auto form = static_cast<alibi_form>(steps.form);
        const i32 from = form == alibi_form::to_context ? task.delta : position;
        static_for<4>([&](auto i) {
          f32 distance = static_cast<f32>(static_cast<i32>(key + i.value) - from);
          if (form == alibi_form::distance) distance = -__builtin_fabsf(distance);
          four[i.value] = __builtin_fmaf(slope, distance, four[i.value]);
        });
      }
      if (steps.bias != nullptr) {
        const i64 at = task.sequence * steps.bias_sequence + head * steps.bias_head +
                       query * steps.bias_row;
        static_for<4>([&](auto i) {
          const u32 last = total - 1;
          const i64 element = at + min_of(key + i.value, last) * steps.bias_key;
          four[i.value] += steps.bias_type == static_cast<u32>(dtype::f32)
                               ? static_cast<const f32*>(steps.bias)[element]
                               : to_f32(static_cast<const bf16*>(steps.bias)[element]);
        });
      }
      four *= log2_e;
      if (steps.mask != nullptr && !(steps.mask_skips_first && !tile.is_second)) {
        const u64 at = index_at(steps.mask_starts, task.sequence) + static_cast<u64>(query) * total;
        static_for<4>([&](auto i) {
          // Nothing is visible that the mask has no byte for.
          const u64 byte = at + min_of(key + i.value, total - 1);
          if (byte >= steps.mask_bytes || steps.mask[byte] == 0) four[i.value] = -infinity;
        });
      }
    });
  }

  // Scores of keys that are not visible become none.
  HK_INLINE void hide(scores& s, const span& tile) const {
    const i32 base = static_cast<i32>(tile.position);
    const i32 end = base + static_cast<i32>(tile.count) - 1;
    if (end < base + block_k - 1 || base + block_k - 1 > wave_highest) {
      each([&](auto f, auto n) {
        const i32 most = (highest[n.value] < end ? highest[n.value] : end) - base - first_key_of_lane();
        static_for<4>([&](auto i) {
          f32& x = reinterpret_cast<f32(&)[4]>(s[f.value][n.value])[i.value];
          x = key_of(f, i) > most ? -infinity : x;
        });
      });
    }
    if (base < wave_lowest) {
      each([&](auto f, auto n) {
        const i32 least = lowest[n.value] - base - first_key_of_lane();
        static_for<4>([&](auto i) {
          f32& x = reinterpret_cast<f32(&)[4]>(s[f.value][n.value])[i.value];
          x = key_of(f, i) < least ? -infinity : x;
        });
      });
    }
  }

  // Turns scores into weights, and raises maxima as they grow.
  HK_INLINE void weigh(scores& s) {
    f32 by[q_fragments];
    bool grows = false;
    f32 tops[q_fragments];
    static_for<q_fragments>([&](auto n) {
      by[n.value] = !plain && has_steps ? 1 : factor[n.value] * log2_e;
      f32 top = -infinity;
      static_for<fragments>([&](auto f) {
        static_for<4>([&](auto i) { top = __builtin_fmaxf(top, s[f.value][n.value][i.value]); });
      });
      top = over_lanes_of_row<largest>(top);
      tops[n.value] = top * by[n.value] - code_exponent;
      grows = grows || tops[n.value] - maximum[n.value] > lazy_growth;
    });
    if (arch::ballot(grows) != 0) {
      static_for<q_fragments>([&](auto n) {
        const f32 before = maximum[n.value];
        const f32 now = __builtin_fmaxf(before, tops[n.value]);
        // Nothing was added up before there was a maximum.
        const f32 rest = before == -infinity ? 0 : arch::exp2(before - now);
        maximum[n.value] = now;
        sum[n.value] *= rest;
        static_for<value_fragments>([&](auto d) { o[d.value][n.value] *= rest; });
      });
    }
    static_for<q_fragments>([&](auto n) {
      const f32 subtracted = maximum[n.value] == -infinity ? 0 : maximum[n.value];
      static_for<fragments>([&](auto f) {
        vec<f32, 4>& four = s[f.value][n.value];
        static_for<4>([&](auto i) {
          four[i.value] = arch::exp2(__builtin_fmaf(four[i.value], by[n.value], -subtracted));
          sum[n.value] += four[i.value];
        });
      });
    });
  }

  struct largest {
    __device__ static f32 apply(f32 a, f32 b) { return __builtin_fmaxf(a, b); }
  };

  // What happens to weights after they were added up.
  HK_INLINE void change_weights(const AttentionArgs& in, scores& s, const span& tile) const {
    const ScoreSteps& steps = in.steps;
    if (steps.value_scales.base != nullptr && !tile.is_second) {
      static_for<fragments>([&](auto f) {
        const u32 row = tile.row + first_key_of_lane() + key_of(f, 0);
        const auto by = slot_scales(steps.value_scales, in.source[0], first, task.head, row);
        const u32 in_tile = first_key_of_lane() + key_of(f, 0);
        static_for<q_fragments>([&](auto n) {
          static_for<4>([&](auto i) {
            // What is not seen weighs nothing, whatever its scale is.
            const u32 key = in_tile + i.value;
            const bool is_seen = key >= tile.first && key < tile.count;
            s[f.value][n.value][i.value] *= is_seen ? by[i.value] : 0;
          });
        });
      });
    }
    if (steps.drops) {
      each([&](auto f, auto n) {
        const u32 row = min_of(row_of(n), rows - 1);
        const u32 query = row / in.group, head = row % in.group;
        const u32 heads = in.kv_heads * in.group;
        const u32 key = tile.position + first_key_of_lane() + key_of(f, 0);
        const vec<u32, 4> counter = {key / 4, query, task.sequence * heads + task.head * in.group + head,
                                     steps.offset_low};
        const vec<u32, 4> random = philox(counter, steps.seed_low, steps.seed_high);
        static_for<4>([&](auto i) {
          if (random[i.value] < steps.threshold) s[f.value][n.value][i.value] = 0;
        });
      });
    }
  }

  // ---- The loop.

  __device__ static void sync() {
    if constexpr (q_waves > 1) {
      arch::meet_with_lds();
    } else {
      arch::sync_wave();
    }
  }

  // Goes through tiles [range.begin, range.end), which become weights by softmax.
  HK_INLINE void run(range tiles) {
    run(tiles, [&](u32 tile) { return span_of(tile); }, [&](scores& s, const span& tile) {
      if (!plain && has_steps) change(attention_arguments(problem), s, tile);
      hide(s, tile);
      weigh(s);
      if (!plain && has_steps) change_weights(attention_arguments(problem), s, tile);
    });
  }

  // Goes through numbers [range.begin, range.end): of tiles as `span_of_number` says, whose scores become
  // weights by `weigh_tile(scores, span)`.
  HK_INLINE void run(range tiles, auto&& span_of_number, auto&& weigh_tile) {
    const u32 team = k_waves == 1 ? 0 : wave_id();
    const u32 begin = tiles.begin + team, end = tiles.end;
    if (begin >= end) return;
    const lds_pointer image = lds + team * tile_bytes;
    const u32 thread = q_waves == 1 ? lane_id() : thread_idx().x;
    key_tile keys(image, thread);
    value_tile values(image + (in_turn ? 0 : key_bytes), thread);

    const auto find = [&](const span& tile) {
      const KeySource& source = attention_arguments(problem).source[tile.is_second];
      const key_sequence sequence = of(tile);
      keys.find(source, sequence, tile.row);
      values.find(source, sequence, tile.row);
    };
    const auto load_keys = [&](const span& tile) {
      const KeySource& source = attention_arguments(problem).source[tile.is_second];
      keys.load(source, source.keys, rows_of_head(source.keys, task.sequence, key_head));
    };
    const auto load_values = [&](const span& tile) {
      const KeySource& source = attention_arguments(problem).source[tile.is_second];
      values.load(source, source.values, rows_of_head(source.values, task.sequence, key_head));
    };
    const auto write_values = [&](const span& tile) {
      const KeySource& source = attention_arguments(problem).source[tile.is_second];
      values.write(source.values, tile.first, min_of(tile.count, seen_to - tile.position));
    };
    // Rows of a tile are found while the one before is loaded, and that one before is multiplied.
    const u32 count = (end - begin + k_waves - 1) / k_waves;
    const auto span_at = [&](u32 i) { return span_of_number(begin + i * k_waves); };
#pragma unroll 1
    for (u32 i = 0; i < count + 2; ++i) {
      const bool computes = i >= 2;
      const span now = span_at(computes ? i - 2 : 0);
      if (computes) {
        const KeySource& source = attention_arguments(problem).source[now.is_second];
        sync();
        keys.write(source.keys, 0, now.count);
        if constexpr (!in_turn) write_values(now);
        sync();
      }
      if (i - 1 < count) load_keys(span_at(i - 1));
      if constexpr (in_turn) {
        scores s;
        if (computes) {
          score(keys, s, now, weigh_tile);
          sync();
          write_values(now);
          sync();
        }
        if (i - 1 < count) load_values(span_at(i - 1));
        if (i < count) find(span_at(i));
        if (computes) add_values(values, s);
      } else {
        if (i - 1 < count) load_values(span_at(i - 1));
        if (i < count) find(span_at(i));
        if (computes) step(keys, values, now, weigh_tile);
      }
    }
  }

  HK_INLINE void step(const key_tile& keys, const value_tile& values, const span& tile,
                      auto&& weigh_tile) {
    scores s;
    score(keys, s, tile, weigh_tile);
    add_values(values, s);
  }

  // The weights of a tile's keys.
  HK_INLINE void score(const key_tile& keys, scores& s, const span& tile, auto&& weigh_tile) {
    multiply(keys, s);
    weigh_tile(s, tile);
  }

  HK_INLINE void multiply(const key_tile& keys, scores& s) const {
    each([&](auto f, auto n) { s[f.value][n.value] = 0; });
    static_for<fragments>([&](auto f) {
      static_for<width_slices>([&](auto w) {
        const bits128 key = keys.template fragment_at<f.value, w.value>();
        static_for<q_fragments>([&](auto n) {
          s[f.value][n.value] = arch::mma(T{}, key, q[n.value][w.value], s[f.value][n.value]);
        });
      });
    });
  }

  // Chunks of a lane, from the first of them on, of what `of` gives by number.
  template <int Chunks>
  HK_INLINE static fragment_of<bits128, Chunks> chunks_from(auto first, auto&& of) {
    fragment_of<bits128, Chunks> fragment;
    static_for<Chunks>([&](auto c) { fragment.chunk[c.value] = of(constant<first.value * Chunks + c.value>{}); });
    return fragment;
  }

  // Products of codes, those of integers exact.
  HK_INLINE void multiply(const key_tile& keys, scores& s) const
    requires is_coded
  {
    constexpr int chunks = chunks_at_once<T, width_slices>;
    static_for<fragments>([&](auto f) {
      vec<typename sum_of<T>::type, 4> sums[q_fragments] = {};
      static_for<width_slices / chunks>([&](auto w) {
        const auto key = chunks_from<chunks>(
            w, [&](auto at) { return keys.template fragment_at<f.value, at.value>(); });
        static_for<q_fragments>([&](auto n) {
          const auto query = chunks_from<chunks>(w, [&](auto at) { return q[n.value][at.value]; });
          sums[n.value] = mma_chunks<T>(key, query, sums[n.value]);
        });
      });
      static_for<q_fragments>(
          [&](auto n) { s[f.value][n.value] = __builtin_convertvector(sums[n.value], vec<f32, 4>); });
    });
  }

  // Values by their weights, as codes.
  HK_INLINE void add_values(const value_tile& values, const scores& s)
    requires is_coded
  {
    constexpr int chunks = chunks_at_once<V, slices>;
    static_for<slices / chunks>([&](auto c) {
      fragment_of<bits128, chunks> weights[q_fragments];
      static_for<q_fragments>([&](auto n) {
        weights[n.value] = chunks_from<chunks>(c, [&](auto at) {
          bits128 codes;
          static_for<4>([&](auto f) { codes[f.value] = arch::to_e4m3(s[at.value * 4 + f.value][n.value]); });
          return codes;
        });
      });
      static_for<value_fragments>([&](auto d) {
        const auto value = chunks_from<chunks>(
            c, [&](auto at) { return values.template fragment_at<d.value, at.value>(); });
        static_for<q_fragments>([&](auto n) {
          o[d.value][n.value] = mma_chunks<V>(value, weights[n.value], o[d.value][n.value]);
        });
      });
    });
  }

  // Values by their weights.
  HK_INLINE void add_values(const value_tile& values, const scores& s) {
    static_for<slices>([&](auto c) {
      bits128 weights[q_fragments];
      static_for<q_fragments>([&](auto n) {
        const vec<f32, 8> eight = __builtin_shufflevector(s[2 * c.value][n.value], s[2 * c.value + 1][n.value],
                                                          0, 1, 2, 3, 4, 5, 6, 7);
        weights[n.value] = bit_cast<bits128>(round_to<T, 8>(eight));
      });
      static_for<value_fragments>([&](auto d) {
        const bits128 value = values.template fragment_at<d.value, c.value>();
        static_for<q_fragments>([&](auto n) {
          o[d.value][n.value] = arch::mma(T{}, value, weights[n.value], o[d.value][n.value]);
        });
      });
    });
  }

  // ---- Results: `body(row, column, sums, state)` of adjacent columns of each row that there is.
  //
  // They go through LDS, so that lanes have adjacent columns: so many at a time, of 16 rows of a wave.
  static constexpr int pass = min(64, value_width);
  static constexpr int pass_bytes = 16 * pass * 4;
  using floats = arch::lds_pointer_to<vec<f32, 4>>;

  // Where four columns of a row are, of those of a wave. Lanes that read or write at once have other
  // banks: what a quad reads of a row differs in bits 1 and 2 of the chunk, of several rows in the rest.
  __device__ floats columns_at(u32 wave, u32 row, u32 column) const {
    const u32 chunk = column / 4 ^ (row ^ (row & 4) << 1) % (pass / 4);
    return reinterpret_cast<floats>(lds + wave * pass_bytes + row * (pass * 4) + chunk * 16);
  }
  __device__ arch::lds_pointer_to<f32> state_at(u32 wave, u32 row) const {
    return reinterpret_cast<arch::lds_pointer_to<f32>>(lds + waves * pass_bytes) +
           (wave * 16 + row) * 2;
  }

  HK_INLINE void finish(auto&& body) {
    const u32 wave = wave_id();
    static_for<q_fragments>([&](auto n) {
      sum[n.value] = over_lanes_of_row<add>(sum[n.value]);
      static_for<value_width / pass>([&](auto p) {
        // What was there before was read by then, by all waves.
        if (n.value + p.value == 0 || k_waves > 1) arch::meet_with_lds();
        static_for<pass / 16>([&](auto d) {
          *columns_at(wave, lane_id() % 16, d.value * 16 + lane_id() / 16 * 4) =
              o[p.value * (pass / 16) + d.value][n.value];
        });
        if (lane_id() < 16) {
          state_at(wave, lane_id())[0] = maximum[n.value];
          state_at(wave, lane_id())[1] = sum[n.value];
        }
        if constexpr (k_waves > 1) {
          arch::meet_with_lds();
          share(p.value * pass, body);
        } else {
          arch::sync_wave();
          constexpr int columns = pass / 4;
          const u32 row = lane_id() / 4, at_row = wave_row + n.value * 16 + row;
          if (at_row < rows) {
            const row_state state = {state_at(wave, row)[0], state_at(wave, row)[1]};
#pragma unroll 1
            for (u32 c = 0; c < columns; c += 8) {
              const u32 column = lane_id() % 4 * 8 + c * 4;
              const vec<f32, 4> low = *columns_at(wave, row, column);
              const vec<f32, 4> high = *columns_at(wave, row, column + 4);
              const vec<f32, 8> eight = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
              body(at_row, p.value * pass + column, eight, state);
            }
          }
          arch::sync_wave();
        }
      });
    });
  }

  // Of waves that have the same rows, all threads merge what these have of columns from `first` on.
  HK_INLINE void share(u32 first, auto&& body) {
    constexpr u32 lanes = Tile::threads / 16, columns = pass / lanes;
    static_assert(columns % 4 == 0 && q_fragments == 1);
    const u32 row = thread_idx().x / lanes;
    if (wave_row + row >= rows) return;
#pragma unroll 1
    for (u32 c = 0; c < columns; c += 4) {
      const u32 column = thread_idx().x % lanes * columns + c;
      vec<f32, 4> sums = 0;
      row_state state = {-infinity, 0};
      for (int wave = 0; wave < k_waves; ++wave) {
        const merged_states both = merge(state, {state_at(wave, row)[0], state_at(wave, row)[1]});
        sums = sums * both.of_a + *columns_at(wave, row, column) * both.of_b;
        state = both.state;
      }
      body(wave_row + row, first + column, sums, state);
    }
  }
};

}  // namespace hk
