// Rows of heads, moved from tensors of tokens to others, and into caches by slots; on the way they
// may be normalised, and pairs of their elements rotated:
//   y = x, or x r (w + weight_offset) with r = 1 / sqrt(mean x^2 + eps)
//   (a, b) -> (a cos t - b sin t, b cos t + a sin t)
// in f32, rounded once at each store. What is not changed is copied bit by bit.
//
// A list of parts says which rows. Of a part, a wave takes the rows of some heads of one or more
// tokens at once, each by the lanes that it needs, and then those of the next heads, which it loads
// meanwhile. The lanes keep their cosines, sines and weights. Each lane has 32 bytes of a row.
#pragma once

#include "hk/rope.h"
#include "hk/wave.h"

namespace hk {

inline constexpr int max_parts = 8;

// Rows of heads of tokens: of `inner` at even distances, then as many further ones at another
// distance.
struct HeadRows {
  i64 outer_stride;  // in elements, as all strides
  i64 inner_stride;
  i64 head_stride;
};

struct HeadPart {
  const void* x;  // null for zeros
  void* y;        // null if rows go into a cache alone
  const void* weight;
  HeadRows x_rows;
  HeadRows y_rows;
  SlotMap cache;
  u32 tokens;
  u32 inner;
  u32 rotated;  // tokens whose rows are rotated: the first ones
  u32 heads;
  u32 width;
  u32 y_type;  // a dtype
  u32 weight_type;
  u32 lanes;    // of a row, as the power of two
  u32 at_once;  // heads that a wave takes at once, as the power of two
  u32 turns;    // times that it does
  u32 pieces;   // so many waves' for the heads of a token
  u32 end;      // pieces of this part and those before
};

struct HeadsArgs {
  HeadPart parts[max_parts];
  RopeArgs rope;
  u32 part_count;
  f32 eps;
  f32 weight_offset;
  u32 reserved;
};

namespace detail {

// The type as `dtype` and `cache_type` have it.
template <class T>
constexpr u32 type_code = __is_same(T, bf16) ? 0 : __is_same(T, f16) ? 1 : 2;

// A lane's unit of a row.
template <class T, int N>
struct head_unit {
  vec<T, N> first, second;
};

// The sum over aligned groups of `lanes` lanes, a power of two.
template <int half = 1>
__device__ inline f32 sum_of_lanes(f32 value, u32 lanes) {
  if constexpr (half < wave_size) {
    if (lanes > half) {
      value += bit_cast<f32>(arch::other_half<half>(bit_cast<u32>(value)));
      return sum_of_lanes<2 * half>(value, lanes);
    }
  }
  return value;
}

template <int N>
__device__ inline f32 sum_of_run(vec<f32, N> x) {
  if constexpr (N == 1) {
    return x[0];
  } else {
    return sum_of_run<N / 2>(x.lo) + sum_of_run<N / 2>(x.hi);
  }
}

// A piece of a part's work, for one wave.
template <class Tile>
struct head_piece {
  using T = typename Tile::T;
  static constexpr int run = Tile::RUN;
  static constexpr bool has_numbers = !__is_same(T, u8);
  using numbers = vec<f32, run>;
  using unit = head_unit<T, run>;

  const HeadsArgs& args;
  const HeadPart& part;
  u32 token;
  u32 head;     // the lane's first
  u32 dim;      // elements of a row that are rotated
  f32 inverse;  // of the cache's scale
  const T* from;
  i64 to;
  i64 to_slot;
  bool has_slot;

  __device__ head_piece(const HeadsArgs& args, const HeadPart& part, u32 index)
      : args(args), part(part) {
    const u32 row = lane_id() >> part.lanes;
    const u32 tokens = wave_size >> part.lanes >> part.at_once;
    token = index / part.pieces * tokens + (row >> part.at_once);
    head = (index % part.pieces * part.turns << part.at_once) + row % (1 << part.at_once);
    dim = part.rotated != 0 ? args.rope.dim : 0;
    from = static_cast<const T*>(part.x) + start(part.x_rows);
    to = start(part.y_rows);
    has_slot = false;
    if (!has_numbers) return;
    const f32* const scale = part.cache.scale;
    inverse = scale == nullptr ? 1 : 1 / *scale;
    if (token < part.tokens) {
      const u32 slot = slot_of(part.cache, token);
      has_slot = slot != no_slot;
      to_slot = slot_offset(part.cache, slot);
    }
  }

  // All of it.
  __device__ void run_all() const {
    const u32 lanes = 1 << part.lanes, units = units_of_row<run>(part.width, dim);
    u32 unit_row = 0;
    if (token < part.rotated) unit_row = position_of(args.rope, token);
    u32 first = 0;
    do {
      const u32 number = first + lane_id() % lanes;
      const unit_place at = place_of_unit<run>(args.rope, part.width, dim, number);
      const bool is_there = token < part.tokens && number < units;
      const bool rotates = at.rotates && token < part.rotated && is_there;
      rotation<run> by;
      if constexpr (has_numbers) {
        if (rotates) by = load_rotation<run>(args.rope, unit_row, number, at);
      }
      numbers weights[2];
      if constexpr (Tile::NORM) load_weights(at, is_there, weights);
      const auto has_row = [&](u32 turn) {
        return token < part.tokens && head + (turn << part.at_once) < part.heads;
      };
      const auto has = [&](u32 turn) { return is_there && turn < part.turns && has_row(turn); };
      unit held = load(at, has(0), 0);
      u32 turn = 0;
      do {
        const unit next = load(at, has(turn + 1), turn + 1);
        arch::pin_order();
        f32 scale = 0;
        if constexpr (Tile::NORM) {
          if (part.weight != nullptr) scale = norm(held, units, turn, has_row(turn));
        }
        if (has(turn)) store(at, held, rotates, by, weights, scale, turn);
        held = next;
      } while (++turn < part.turns);
      first += lanes;
    } while (first < units);
  }

 private:
  // The lane's token in such rows.
  __device__ i64 start(const HeadRows& rows) const {
    return token / part.inner * rows.outer_stride + token % part.inner * rows.inner_stride;
  }

  __device__ i64 in_token(const HeadRows& rows, u32 turn) const {
    return (head + (turn << part.at_once)) * rows.head_stride;
  }

  __device__ unit load(const unit_place& at, bool is_there, u32 turn) const {
    unit x = {0, 0};
    // Ops that normalise have no zeros, and store all rows.
    if (is_there && (Tile::NORM || part.x != nullptr)) {
      const T* const row = from + in_token(part.x_rows, turn);
      x.first = load_elements<T, run>(row + at.first);
      if (at.has_second) x.second = load_elements<T, run>(row + at.second);
    }
    return x;
  }

  __device__ void load_weights(const unit_place& at, bool is_there, numbers (&weights)[2]) const {
    if (part.weight == nullptr || !is_there) return;
    with_type(static_cast<dtype>(part.weight_type), [&](auto zero) {
      using W = decltype(zero);
      const W* const from = static_cast<const W*>(part.weight);
      weights[0] = to_f32<W, run>(load_elements<W, run>(from + at.first)) + args.weight_offset;
      if (at.has_second) {
        weights[1] = to_f32<W, run>(load_elements<W, run>(from + at.second)) + args.weight_offset;
      }
    });
  }

  // What a row is multiplied by to have a mean square of one. Of a row of which the lanes hold a
  // part at a time, the rest is read for it, also by lanes that hold nothing of the last part.
  __device__ f32 norm(const unit& held, u32 units, u32 turn, bool has_row) const {
    const auto squares = [](const unit& x) {
      const numbers first = to_f32<T, run>(x.first), second = to_f32<T, run>(x.second);
      return sum_of_run<run>(first * first + second * second);
    };
    const u32 lanes = 1 << part.lanes;
    f32 sum = 0;
    if (units <= lanes) {
      sum = squares(held);
    } else {
      u32 number = lane_id() % lanes;
      do {
        const unit_place at = place_of_unit<run>(args.rope, part.width, dim, number);
        sum += squares(load(at, has_row, turn));
        number += lanes;
      } while (number < units);
    }
    return rsqrt(sum_of_lanes(sum, lanes) / part.width + args.eps);
  }

  __device__ void store(const unit_place& at, unit bits, bool rotates, const rotation<run>& by,
                        const numbers (&weights)[2], f32 scale, u32 turn) const {
    const i64 row = to + in_token(part.y_rows, turn);
    if constexpr (!has_numbers) {
      T* const y = static_cast<T*>(part.y) + row;
      store_elements<T, run>(y + at.first, bits.first);
      if (at.has_second) store_elements<T, run>(y + at.second, bits.second);
    } else {
      numbers first = to_f32<T, run>(bits.first), second = to_f32<T, run>(bits.second);
      const bool is_normal = Tile::NORM && part.weight != nullptr;
      if (is_normal) {
        first *= scale * weights[0];
        second *= scale * weights[1];
      }
      if (rotates) {
        // The comparison is to be made here: all of them would fill the scalar registers.
        u32 interleaved = args.rope.interleaved;
        arch::forget_scalar(interleaved);
        const auto rotated = rotate<run>(pairs_of_runs<run>(first, second, interleaved), by);
        const auto runs = runs_of_pairs<run>(rotated, interleaved);
        first = runs.a, second = runs.b;
        bits = {round_to<T, run>(first), round_to<T, run>(second)};
      } else if (is_normal) {
        bits = {round_to<T, run>(first), round_to<T, run>(second)};
      }
      if (Tile::NORM || part.y != nullptr) {
        const auto put = [&](u32 element, vec<T, run> bits, numbers values) {
          if (part.y_type == type_code<T>) {
            store_elements<T, run>(static_cast<T*>(part.y) + row + element, bits);
          } else {
            store_rounded<run>(part.y, row + element, static_cast<dtype>(part.y_type), values);
          }
        };
        put(at.first, bits.first, first);
        if (at.has_second) put(at.second, bits.second, second);
      }
      if (has_slot) store_in_cache(at, bits, first, second, turn);
    }
  }

  __device__ void store_in_cache(const unit_place& at, const unit& bits, numbers first,
                                 numbers second, u32 turn) const {
    const SlotMap& cache = part.cache;
    const i64 row = to_slot + (head + (turn << part.at_once)) * cache.head_stride;
    const i64 stride = cache.element_stride;
    // Numbers that are scaled are not those of the bits.
    const bool is_scaled = cache.scale != nullptr;
    first *= inverse, second *= inverse;
    const auto put = [&](u32 element, vec<T, run> bits, numbers values) {
      const i64 to = row + element_offset(cache, element);
      // As for `interleaved`.
      u32 type = cache.type;
      arch::forget_scalar(type);
      if (type == type_code<T> && !is_scaled) {
        store_elements<T, run>(static_cast<T*>(cache.base) + to, bits, stride);
      } else {
        store_rounded<run>(cache.base, to, static_cast<cache_type>(type), values, stride);
      }
    };
    put(at.first, bits.first, first);
    if (at.has_second) put(at.second, bits.second, second);
  }
};

}  // namespace detail

// What is due to this workgroup, where those from `first` on share all of it.
template <class Tile>
__device__ inline void move_heads(const HeadsArgs& args, u32 first) {
  constexpr u32 waves = Tile::threads / wave_size;
  const u32 pieces = args.parts[args.part_count - 1].end;
  u32 step = grid_size().x / wave_size - first * waves;
  arch::forget_scalar(step);
  u32 part = 0, start = 0;
  for (u32 at = (block_idx().x - first) * waves + wave_id(); at < pieces; at += step) {
    while (at >= args.parts[part].end) start = args.parts[part++].end;
    detail::head_piece<Tile>(args, args.parts[part], at - start).run_all();
  }
}

template <class Tile>
__device__ inline void heads(const HeadsArgs&) {
  move_heads<Tile>(*(const HeadsArgs*)arch::kernel_arguments<HeadsArgs>(), 0);
}

}  // namespace hk
