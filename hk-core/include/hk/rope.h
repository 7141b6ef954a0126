// Rotary embedding: pairs of a row's elements, turned by angles of the row's position. A lane has a
// unit of two runs of N elements, which has the partners of all of its elements, whatever the
// style: of pairs (i, i + dim/2), a run from each half; of pairs (2i, 2i + 1), two runs that are
// adjacent. What is not rotated is in units, too.
#pragma once

#include "hk/cache.h"
#include "hk/math.h"

namespace hk {

// How rows are rotated; the host's `RopeArgs`.
struct RopeArgs {
  const void* cos;  // a row for each position; angles in radians where `sin` is null
  const void* sin;
  i64 cos_stride;  // in elements, from row to row
  i64 sin_stride;
  IndexList positions;  // of tokens; without a list, see `position_of`
  IndexList offsets;    // to be added, if there are any
  IndexList bounds;     // tokens at which sequences begin, and the last ends, if they are packed
  u32 repeat;           // tokens that follow each other at the same position
  u32 length;           // positions before the first comes again
  u32 rows;             // positions of the tables
  u32 type;             // a dtype, of tables
  u32 dim;              // elements of a row that are rotated
  u32 first;            // the first of these
  u32 interleaved;      // whether pairs are (2i, 2i + 1)
  u32 paired;           // whether tables have a column for each pair, rather than for each element
};

// The row of the tables for a token: its position, or the nearest that there is.
__device__ inline u32 position_of(const RopeArgs& rope, u32 token) {
  i64 position;
  if (rope.positions.base != nullptr) {
    position = index_at(rope.positions, token);
    if (rope.offsets.base != nullptr) position += index_at(rope.offsets, token);
  } else if (rope.bounds.base != nullptr) {
    // Sequence `low` begins at or before the token, if any does, and sequence `high` after it.
    u32 low = 0, high = rope.bounds.count - 1;
    while (high - low > 1) {
      const u32 middle = low + (high - low) / 2;
      (index_at(rope.bounds, middle) <= token ? low : high) = middle;
    }
    position = token - index_at(rope.bounds, low);
  } else {
    position = token / rope.repeat % rope.length;
  }
  const i64 last = rope.rows - 1;
  return static_cast<u32>(position < 0 ? 0 : position > last ? last : position);
}

// Where a unit is in its row.
struct unit_place {
  u32 first;  // of the first run
  u32 second;
  bool rotates;
  bool has_second;  // the last one that is not rotated may have one run alone
};

// Units of N-element runs in a row of `width` elements of which `dim` are rotated, at most.
template <int N>
__device__ inline u32 units_of_row(u32 width, u32 dim) {
  return dim / (2 * N) + ((width - dim) / N + 1) / 2;
}

// Unit `unit` of such a row.
template <int N>
__device__ inline unit_place place_of_unit(const RopeArgs& rope, u32 width, u32 dim, u32 unit) {
  const u32 rotated = dim / (2 * N);
  // Comparisons are to be made where they are needed: all of them would fill the scalar registers.
  u32 first = rope.first, interleaved = rope.interleaved;
  arch::forget_scalar(first);
  arch::forget_scalar(interleaved);
  if (unit < rotated) {
    const u32 column = first + unit * N * (interleaved ? 2 : 1);
    return {column, column + (interleaved ? N : dim / 2), true, true};
  }
  const u32 runs = (width - dim) / N, run = unit - rotated;
  const u32 second = run + (runs + 1) / 2;
  // What is not rotated is behind what is, or before it.
  const u32 start = dim != 0 && first == 0 ? dim : 0;
  return {start + run * N, start + second * N, false, second < runs};
}

// The first and the second elements of pairs, from two runs, and back.
template <int N>
struct pairs {
  vec<f32, N> a, b;
};

namespace detail {

template <int N, int... I>
__device__ inline pairs<N> split_pairs(vec<f32, N> first, vec<f32, N> second, sequence<I...>) {
  return {__builtin_shufflevector(first, second, (2 * I)...),
          __builtin_shufflevector(first, second, (2 * I + 1)...)};
}

template <int N, int... I>
__device__ inline pairs<N> join_pairs(const pairs<N>& from, sequence<I...>) {
  return {__builtin_shufflevector(from.a, from.b, (I % 2 * N + I / 2)...),
          __builtin_shufflevector(from.a, from.b, ((N + I) % 2 * N + (N + I) / 2)...)};
}

}  // namespace detail

template <int N>
__device__ inline pairs<N> pairs_of_runs(vec<f32, N> first, vec<f32, N> second, bool interleaved) {
  const auto split = detail::split_pairs<N>(first, second, typename make_sequence<N>::type{});
  return {interleaved ? split.a : first, interleaved ? split.b : second};
}

template <int N>
__device__ inline pairs<N> runs_of_pairs(const pairs<N>& from, bool interleaved) {
  const auto joined = detail::join_pairs<N>(from, typename make_sequence<N>::type{});
  return {interleaved ? joined.a : from.a, interleaved ? joined.b : from.b};
}

// Cosines and sines of both elements of pairs.
template <int N>
struct rotation {
  pairs<N> cos, sin;
};

// Those of a unit that is rotated, for a row of the tables.
template <int N>
__device__ inline rotation<N> load_rotation(const RopeArgs& rope, u32 row, u32 unit,
                                            const unit_place& at) {
  u32 paired = rope.paired, interleaved = rope.interleaved;
  arch::forget_scalar(paired);
  arch::forget_scalar(interleaved);
  const auto columns = [&](const void* table, i64 stride) {
    return with_type(static_cast<dtype>(rope.type), [&](auto zero) {
      using T = decltype(zero);
      const T* const from = static_cast<const T*>(table) + row * stride;
      if (paired) {
        const auto values = to_f32<T, N>(load_elements<T, N>(from + unit * N));
        return pairs<N>{values, values};
      }
      const auto run = [&](u32 column) {
        return to_f32<T, N>(load_elements<T, N>(from + (column - rope.first)));
      };
      return pairs_of_runs<N>(run(at.first), run(at.second), interleaved);
    });
  };
  rotation<N> result;
  result.cos = columns(rope.cos, rope.cos_stride);
  if (rope.sin != nullptr) {
    result.sin = columns(rope.sin, rope.sin_stride);
  } else {
    const pairs<N> angles = result.cos;
    for (int i = 0; i < N; ++i) {
      const f32 a = revolutions(angles.a[i]), b = revolutions(angles.b[i]);
      result.cos.a[i] = arch::cos_of_revolutions(a), result.sin.a[i] = arch::sin_of_revolutions(a);
      result.cos.b[i] = arch::cos_of_revolutions(b), result.sin.b[i] = arch::sin_of_revolutions(b);
    }
  }
  return result;
}

template <int N>
__device__ inline pairs<N> rotate(const pairs<N>& x, const rotation<N>& by) {
  return {x.a * by.cos.a - x.b * by.sin.a, x.b * by.cos.b + x.a * by.sin.b};
}

}  // namespace hk
