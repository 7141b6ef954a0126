// Rows of gates and what they let through: two elements of a row of x for each of the result, all gates
// and then all others, or each gate beside what it lets through. For row-wise policies.
#pragma once

#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

// A call would wait for all that is under way.
__device__ __attribute__((flatten, always_inline)) inline chunk_values activate_inline(
    u32 kind, chunk_values x, f32 slope) {
  return activate<chunk>(static_cast<activation>(kind), x, slope);
}

namespace detail {

// Something as large as two elements of so many bytes.
template <int Bytes>
struct pair_of {
  using type = u32;
};
template <>
struct pair_of<4> {
  using type = u64;
};

}  // namespace detail

// What policies that gate load, and hold as it is.
template <class Tile, bool Interleaved>
struct gated_matrix {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const T* x;
  i64 stride;
  u32 width;  // of the result

  // One or the other.
  struct loads {
    row_load<T, Interleaved ? 0 : chunks> gate, linear;
    row_load<typename detail::pair_of<sizeof(T)>::type, Interleaved ? chunks : 0> both;
  };
  struct held {
    per_chunk<vec<T, chunk>, chunks> gate, linear;
  };

  __device__ void start(loads& to, const auto& at) const {
    if constexpr (Interleaved) {
      to.both.start(x, stride * static_cast<i64>(sizeof(T)), at);
    } else {
      to.gate.start({x, stride}, at);
      to.linear.start({x + width, stride}, at);
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    for (int i = 0; i < chunks; ++i) {
      if constexpr (Interleaved) {
        const auto pairs = bit_cast<vec<T, 2 * chunk>>(from.both.elements(i, at));
        row.gate.of[i] = pairs.even;
        row.linear.of[i] = pairs.odd;
      } else {
        row.gate.of[i] = from.gate.elements(i, at);
        row.linear.of[i] = from.linear.elements(i, at);
      }
    }
    return row;
  }
};

}  // namespace hk
