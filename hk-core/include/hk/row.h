// Rows of a matrix, eight consecutive elements per lane and access: 16 bytes of 16-bit types. Row
// starts need no alignment beyond that of an element; the hardware splits what crosses a line.
#pragma once

#include "hk/wave.h"

namespace hk {

// Elements of a row that a lane handles together.
inline constexpr int chunk = 8;
using chunk_values = vec<f32, chunk>;

namespace detail {

// Eight elements at any address that is a multiple of the element's size.
template <class T>
struct __attribute__((packed, aligned(alignof(T)))) unaligned_chunk {
  vec<T, chunk> values;
};

}  // namespace detail

// Up to eight elements from `row[column]` on, as f32. Those at or past `width` are zero and are not
// read.
template <class T>
__device__ inline chunk_values load_chunk(const T* row, u32 column, u32 width) {
  chunk_values values = 0;
  if (column + chunk <= width) {
    using unaligned = detail::unaligned_chunk<T>;
    values = to_f32<T, chunk>(reinterpret_cast<const unaligned*>(row + column)->values);
  } else {
    for (u32 i = 0; i < chunk; ++i) {
      if (column + i < width) values[i] = to_f32(row[column + i]);
    }
  }
  return values;
}

// Stores up to eight values to `row[column]` on, rounded; past `width` nothing is written. The data
// are kept in caches only if they are to be read `again` soon.
template <class T>
__device__ inline void store_chunk(T* row, u32 column, u32 width, chunk_values values,
                                   bool again = false) {
  using unaligned = vec<T, chunk> __attribute__((aligned(alignof(T))));
  const vec<T, chunk> rounded = round_to<T, chunk>(values);
  if (column + chunk <= width) {
    auto* to = reinterpret_cast<unaligned*>(row + column);
    if (again) {
      *to = rounded;
    } else {
      __builtin_nontemporal_store(rounded, to);
    }
  } else {
    for (u32 i = 0; i < chunk; ++i) {
      if (column + i < width) row[column + i] = rounded[i];
    }
  }
}

// Values as they are after a store and a load.
template <class T>
__device__ inline chunk_values rounded(chunk_values values) {
  return to_f32<T, chunk>(round_to<T, chunk>(values));
}

}  // namespace hk
