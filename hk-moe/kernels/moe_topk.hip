// The experts of each token: the k best of a row of E logits, and their weights.
//
//   choice = score(x) + bias, -inf outside the best groups
//   weight = normalised score of the chosen
//
// A wave has a row, a lane eight adjacent experts of it; rows of more than 512 experts come in
// pieces, from each of which, and the k best so far, the k best are taken. Then each of k lanes has
// one expert: it scores that one again, for its weight. The best are found one after another, by a
// key that no two experts share: the order of the choice's bits, and below it the expert's number.
#include "hk/math.h"
#include "hk/rows.h"
#include "hk/scan.h"

namespace hk {

struct MoeTopkArgs {
  const void* x;
  const f32* bias;          // null if there is none
  const i32* expert_group;  // null if groups are of so many experts next to each other
  void* y_vals;
  i32* y_indx;
  u32* bitmatrix;  // null if it is not wanted
  i64 x_stride;    // in elements, from row to row, as all strides
  i64 vals_stride;
  i64 indx_stride;
  i64 bits_strides[2];  // from row to row, and from word to word
  u32 rows;
  u32 experts;
  u32 k;
  u32 groups;
  u32 group_size;
  u32 topk_group;
  u32 score;          // as `score_mode`
  u32 normalisation;  // as `weight_norm`
  u32 takes_low;      // of equal ones the expert of the lower number, not of the higher
  u32 is_by_value;    // the best first, not the expert of the lowest number
  u32 vals_type;      // as `dtype`
  u32 shared;         // experts that every token has in addition
  f32 shared_weight;
  f32 scale;
};

// The numbers are the host's.
enum class score_mode : u32 { logits, sigmoid, sqrt_softplus, softmax };
enum class weight_norm : u32 { none, softmax, sum };

namespace {

constexpr u32 topk_piece = wave_size * chunk;
using topk_place = row_place<wave_size, true>;

// What all elements of a row are scored by, if that is a softmax.
struct row_softmax {
  f32 most, per_sum;
};

// A number that is larger for larger bits of a choice, and back.
__device__ inline u32 key_of(f32 choice) {
  const u32 bits = bit_cast<u32>(choice);
  return bits ^ (static_cast<u32>(static_cast<i32>(bits) >> 31) | 0x80000000);
}
__device__ inline f32 choice_of(u32 key) {
  return bit_cast<f32>((key & 0x80000000) != 0 ? key ^ 0x80000000 : ~key);
}

// One NaN stands for all that are computed.
__device__ inline f32 one_nan(f32 x) { return x == x ? x : __builtin_nanf(""); }

__device__ inline f32 score_of(score_mode mode, f32 x, const row_softmax& row) {
  if (mode == score_mode::logits) return x;
  if (mode == score_mode::sigmoid) return one_nan(sigmoid(x));
  if (mode == score_mode::softmax) return one_nan(exp(x - row.most) * row.per_sum);
  // Far below zero the root of ln(1 + e^x) is that of e^x, which itself may be too small for f32.
  return one_nan(x < -30.0f ? exp(0.5f * x) : __builtin_elementwise_sqrt(softplus(x)));
}

struct larger {
  __device__ static u64 apply(u64 a, u64 b) { return a > b ? a : b; }
};

// The two largest keys of some.
struct top_two {
  u32 first, second;
};
struct merge_top_two {
  __device__ static top_two apply(top_two a, top_two b) {
    const u32 less = a.first < b.first ? a.first : b.first;
    const u32 second = a.second > b.second ? a.second : b.second;
    return {a.first > b.first ? a.first : b.first, less > second ? less : second};
  }
};

template <class Tile>
struct topk_row {
  using T = typename Tile::T;

  const MoeTopkArgs& args;
  score_mode mode;
  row_softmax softmax = {0, 0};
  u32 kept_groups = 0;
  vec<T, chunk> first;  // the logits of the lane in the first piece, which are loaded once
  // Of the first piece, for all rows.
  vec<f32, chunk> first_bias;
  vec<u32, chunk> first_group;

  __device__ explicit topk_row(const MoeTopkArgs& args)
      : args(args), mode(static_cast<score_mode>(args.score)) {
    first_bias = bias(0);
    if constexpr (Tile::GROUPED) first_group = group(0);
  }

  __device__ topk_place at(u32 row, u32 column) const {
    const u32 left = args.experts - column;
    return {row, 1, column, left < topk_piece ? left : topk_piece};
  }

  __device__ vec<T, chunk> load(u32 row, u32 column) const {
    row_load<T, 1> loads;
    loads.start({static_cast<const T*>(args.x), args.x_stride}, at(row, column));
    return loads.elements(0, at(row, column));
  }

  __device__ vec<f32, chunk> bias(u32 column) const {
    if (args.bias == nullptr) return 0;
    row_load<f32, 1> loads;
    loads.start({args.bias, 0}, at(0, column));
    return loads.elements(0, at(0, column));
  }

  __device__ vec<u32, chunk> group(u32 column) const {
    vec<u32, chunk> groups;
    if (args.expert_group == nullptr) {
      for (u32 e = 0; e < chunk; ++e) {
        groups[e] = (column + topk_place::start(0) + e) / args.group_size;
      }
      return groups;
    }
    row_load<u32, 1> loads;
    loads.start({reinterpret_cast<const u32*>(args.expert_group), 0}, at(0, column));
    return loads.elements(0, at(0, column));
  }

  // Calls with the lane's logits of each piece, and its column.
  template <class F>
  __device__ void for_pieces(u32 row, F&& body) const {
    vec<T, chunk> x = first;
    u32 column = 0;
    while (true) {
      body(x, column);
      column += topk_piece;
      if (column >= args.experts) break;
      x = load(row, column);
    }
  }

  // The keys of the lane's choices in a piece.
  __device__ vec<u32, chunk> keys(vec<T, chunk> x, u32 column) const {
    const bool is_biased = args.bias != nullptr;
    const vec<f32, chunk> bias = column == 0 || !is_biased ? first_bias : this->bias(column);
    vec<u32, chunk> keys;
    for (int e = 0; e < chunk; ++e) {
      const f32 score = score_of(mode, to_f32(x[e]), softmax);
      keys[e] = key_of(is_biased ? one_nan(score + bias[e]) : score);
    }
    return keys;
  }

  __device__ vec<u32, chunk> groups(u32 column) const {
    return column == 0 ? first_group : group(column);
  }

  // Maximum and sum of the softmax.
  __device__ void measure(u32 row) {
    f32 most = maximum::identity(), sum = 0;
    for_pieces(row, [&](vec<T, chunk> x, u32 column) {
      const auto values = to_f32<T, chunk>(
          fill_past_end(x, static_cast<T>(-__builtin_inff()), 0, at(row, column)));
      const f32 all = maximum::apply(most, wave_reduce<maximum>(largest(values)));
      // Until there is something above -inf, there is no sum.
      f32 part = 0;
      for (int e = 0; e < chunk; ++e) {
        part += values[e] == -__builtin_inff() ? 0 : exp(values[e] - all);
      }
      sum = (most == all ? sum : sum * exp(most - all)) + wave_reduce<add>(part);
      most = all;
    });
    softmax = {most, reciprocal(sum)};
  }

  // The groups whose experts may be chosen.
  __device__ void choose_groups(u32 row) {
    // Each lane has those of the group of its number.
    top_two best{0, 0};
    for_pieces(row, [&](vec<T, chunk> x, u32 column) {
      const vec<u32, chunk> keys = this->keys(x, column), groups = this->groups(column);
      const u32 columns = at(row, column).width;
      for (u32 group = 0; group < args.groups; ++group) {
        top_two of_group{0, 0};
        for (u32 e = 0; e < chunk; ++e) {
          const bool is_in = groups[e] == group && topk_place::start(0) + e < columns;
          of_group = merge_top_two::apply(of_group, {is_in ? keys[e] : 0, 0});
        }
        of_group = wave_reduce<merge_top_two>(of_group);
        if (lane_id() == group) best = merge_top_two::apply(best, of_group);
      }
    });
    u32 score = best.first;
    if (args.bias != nullptr) {
      score = key_of(one_nan(choice_of(best.first) + choice_of(best.second)));
    }
    u32 rank = 0;
    for (u32 group = 0; group < args.groups; ++group) {
      const u32 other = arch::value_of_lane(score, group);
      rank += other > score || (other == score && group < lane_id()) ? 1 : 0;
    }
    kept_groups = static_cast<u32>(ballot(lane_id() < args.groups && rank < args.topk_group));
  }

  // Each of the first k lanes gets the expert of its rank.
  __device__ u32 choose(u32 row) {
    u64 best = 0;
    for_pieces(row, [&](vec<T, chunk> x, u32 column) {
      const vec<u32, chunk> keys = this->keys(x, column);
      vec<u32, chunk> groups;
      if constexpr (Tile::GROUPED) groups = this->groups(column);
      u64 ranked[chunk];
      for (u32 e = 0; e < chunk; ++e) {
        u32 key = keys[e];
        if constexpr (Tile::GROUPED) {
          const bool is_kept = groups[e] < args.groups && (kept_groups >> groups[e] & 1) != 0;
          key = is_kept ? key : key_of(-__builtin_inff());
        }
        const u32 expert = column + topk_place::start(0) + e;
        // Above zero, which stands for none.
        const u32 number = args.takes_low != 0 ? ~expert : expert + 1;
        ranked[e] = expert < args.experts ? static_cast<u64>(key) << 32 | number : 0;
      }
      u64 so_far = best, limit = ~0ul;
      for (u32 rank = 0; rank < args.k; ++rank) {
        u64 most = so_far <= limit ? so_far : 0;
        for (u64 element : ranked) most = element <= limit && element > most ? element : most;
        most = wave_reduce<larger>(most);
        best = lane_id() == rank ? most : best;
        limit = most - 1;
      }
    });
    const u32 number = static_cast<u32>(best);
    return args.takes_low != 0 ? ~number : number - 1;
  }

  // The weight of the expert that each of the first k lanes has.
  __device__ f32 weight(u32 row, u32 expert) const {
    const auto args = late_arguments<true>(this->args);
    const bool has_expert = lane_id() < args->k;
    const weight_norm norm = static_cast<weight_norm>(args->normalisation);
    f32 x = 0;
    if (has_expert) x = to_f32((static_cast<const T*>(args->x) + row * args->x_stride)[expert]);
    f32 weight = score_of(mode, x, softmax);
    if (norm == weight_norm::softmax) {
      const f32 most = wave_reduce<maximum>(has_expert ? weight : maximum::identity());
      weight = exp(weight - most);
    }
    if (norm != weight_norm::none) {
      const f32 sum = wave_reduce<add>(has_expert ? weight : 0);
      weight *= reciprocal(norm == weight_norm::sum ? sum + 1e-20f : sum);
    }
    return weight * args->scale;
  }

  __device__ void store(u32 row, u32 expert, f32 weight) const {
    const auto args = late_arguments<true>(this->args);
    const u32 lane = lane_id();
    u32 slot = lane;
    if (args->is_by_value == 0) {
      slot = 0;
      for (u32 other = 0; other < args->k; ++other) {
        slot += arch::value_of_lane(expert, other) < expert ? 1 : 0;
      }
    }
    const auto put = [&](u32 to, u32 id, f32 value) {
      (args->y_indx + row * args->indx_stride)[to] = static_cast<i32>(id);
      with_type(static_cast<dtype>(args->vals_type), [&](auto zero) {
        using V = decltype(zero);
        (static_cast<V*>(args->y_vals) + row * args->vals_stride)[to] = round_to<V>(value);
      });
    };
    if (lane < args->k) put(slot, expert, weight);
    if (lane < args->shared) put(args->k + lane, args->experts + lane, args->shared_weight);
    if (args->bitmatrix == nullptr) return;
    const u32 words = (args->experts + 31) / 32;
    u32* const bits = args->bitmatrix + row * args->bits_strides[0];
    for (u32 base = 0; base < words; base += wave_size) {
      u32 word = 0;
      for (u32 other = 0; other < args->k; ++other) {
        const u32 chosen = arch::value_of_lane(expert, other);
        word |= chosen / 32 == base + lane ? 1u << chosen % 32 : 0;
      }
      if (base + lane < words) bits[(base + lane) * args->bits_strides[1]] = word;
    }
  }
};

template <class Tile>
__device__ inline void moe_topk(const MoeTopkArgs& args) {
  topk_row<Tile> state(args);
  const u32 rows_at_once = grid_size().x / wave_size;
  for (u32 row = block_idx().x * (Tile::threads / wave_size) + wave_id(); row < args.rows;
       row += rows_at_once) {
    state.first = state.load(row, 0);
    if (state.mode == score_mode::softmax) state.measure(row);
    if constexpr (Tile::GROUPED) state.choose_groups(row);
    const u32 expert = state.choose(row);
    state.store(row, expert, state.weight(row, expert));
  }
}

}  // namespace

}  // namespace hk
