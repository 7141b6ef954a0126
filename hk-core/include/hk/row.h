// Rows of a matrix in registers. `Lanes` lanes share a row; each holds `Chunks` chunks of eight
// consecutive elements (16 bytes of 16-bit types), and the elements that are left at the end of the
// row go to one lane each. Nothing outside the row is read or written, whatever its width. Row
// starts need no alignment beyond an element's; the hardware splits what crosses a cache line.
#pragma once

#include "hk/wave.h"

namespace hk {

// Elements of a row that a lane moves together.
inline constexpr int chunk = 8;
using chunk_values = vec<f32, chunk>;

// A chunk at any address that its elements may have.
template <class T>
using unaligned_chunk = vec_in_memory<T, chunk, alignof(T)>;
static_assert(alignof(unaligned_chunk<bf16>) == 2 && alignof(unaligned_chunk<f16>) == 2 &&
              alignof(unaligned_chunk<f32>) == 4);

// Elements of a row that are in whole chunks, and how many are left.
__device__ inline u32 body_of(u32 width) { return width / chunk * chunk; }
__device__ inline u32 tail_of(u32 width) { return width % chunk; }

// First column of chunk i.
template <int Lanes>
__device__ inline u32 column_of(u32 i, u32 lane) {
  return (i * Lanes + lane) * chunk;
}

// A lane's share of a row. What lies past the end of the row is zero.
template <class T, int Lanes, int Chunks>
struct row_share {
  vec<T, chunk> body[Chunks];
  T tail;

  // Starts loading; conversions and arithmetic wait for the data, so do them after all loads.
  __device__ void load(const T* row, u32 width, u32 lane) {
    for (int i = 0; i < Chunks; ++i) {
      const u32 column = column_of<Lanes>(i, lane);
      body[i] = 0;
      if (column < body_of(width)) {
        body[i] = *reinterpret_cast<const unaligned_chunk<T>*>(row + column);
      }
    }
    tail = 0;
    if (lane < tail_of(width)) tail = row[body_of(width) + lane];
  }

  // Stores to memory that is not expected to be read again soon.
  __device__ void store(T* row, u32 width, u32 lane) const {
    for (int i = 0; i < Chunks; ++i) {
      const u32 column = column_of<Lanes>(i, lane);
      if (column < body_of(width)) {
        __builtin_nontemporal_store(body[i], reinterpret_cast<unaligned_chunk<T>*>(row + column));
      }
    }
    if (lane < tail_of(width)) row[body_of(width) + lane] = tail;
  }

  // Calls `body_function` with the values of each chunk and its index, `tail_function` with the
  // tail's value; both return what replaces them, rounded.
  template <class Body, class Tail>
  __device__ void map(Body body_function, Tail tail_function) {
    for (int i = 0; i < Chunks; ++i) {
      body[i] = round_to<T, chunk>(body_function(to_f32<T, chunk>(body[i]), i));
    }
    tail = round_to<T>(tail_function(to_f32(tail)));
  }

  // The sum of squares of the lane's elements.
  __device__ f32 squares() const {
    chunk_values sums = 0;
    for (int i = 0; i < Chunks; ++i) {
      const chunk_values values = to_f32<T, chunk>(body[i]);
      sums += values * values;
    }
    const f32 last = to_f32(tail);
    return sum(sums) + last * last;
  }

  __device__ static f32 sum(chunk_values v) {
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  }
};

}  // namespace hk
