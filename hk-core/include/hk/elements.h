// Elements of a lane in global memory, of which some may not be there, any distance apart.
#pragma once

#include "hk/arch/global_memory.h"
#include "hk/hip.h"

namespace hk {

// N adjacent elements, aligned as one of them is.
template <class T, int N>
__device__ inline vec<T, N> load_adjacent(const T* from) {
  return arch::load_global<T, N, sizeof(T)>(from);
}
template <class T, int N>
__device__ inline void store_adjacent(T* to, vec<T, N> values) {
  arch::store_global_once<T, N, sizeof(T)>(to, values);
}

// The first `count` of N elements, `stride` apart, and the last of them again in the place of others;
// together if all are there and adjacent. There is at least one.
template <class T, int N>
__device__ inline vec<T, N> load_elements(const T* from, i64 stride, u32 count) {
  if (stride == 1 && count >= N) return load_adjacent<T, N>(from);
  vec<T, N> values;
  for (u32 i = 0; i < N; ++i) values[i] = from[(i < count ? i : count - 1) * stride];
  return values;
}
// The first `count` of N adjacent elements, at least one, and zeros in the place of others, for which nothing
// is read.
template <class T, int N>
__device__ inline vec<T, N> load_elements_or_zeros(const T* from, u32 count) {
  if (count >= N) return load_adjacent<T, N>(from);
  vec<T, N> values = 0;
  values[0] = arch::load_global<T>(from);
  for (u32 i = 1; i < N; ++i) {
    if (i < count) values[i] = arch::load_global<T>(from + i);
  }
  return values;
}
// The first `count` of such values, at least one, and zeros behind.
template <class T, int N>
__device__ inline vec<T, N> zeros_behind(vec<T, N> values, u32 count) {
  for (u32 i = 1; i < N; ++i) values[i] = i < count ? values[i] : T(0);
  return values;
}

template <class T, int N>
__device__ inline void store_elements(T* to, i64 stride, u32 count, vec<T, N> values) {
  if (stride == 1 && count >= N) return store_adjacent<T, N>(to, values);
  for (u32 i = 0; i < N; ++i) {
    if (i < count) to[i * stride] = values[i];
  }
}

// Elements of a type that 16 bytes hold.
template <class T>
constexpr int per_128_bits = sizeof(bits128) / sizeof(T);

// A square block of elements of each lane, within 2^31 bytes of memory from `base` on, which is the
// same for the wave: 16 bytes in each of as many rows, `stride` elements apart from element `first` on.
// Of the elements of a row only `left` are there, of the rows only `count`; what is not there is neither
// read nor written.
template <class T>
struct lane_block {
  static constexpr u32 size = per_128_bits<T>;
  arch::checked_range memory;
  u32 left;
  u32 rows[size];  // where they start; out of range if they are not there

  __device__ lane_block(const T* base, u32 first, u32 stride, u32 left, u32 count)
      : memory(base, out_of_range), left(left) {
    for (u32 r = 0; r < size; ++r) {
      const u32 start = (first + r * stride) * static_cast<u32>(sizeof(T));
      rows[r] = r < count ? start : out_of_range;
    }
  }

  // What is not there is zero.
  __device__ void load(bits128 (&values)[size]) const {
    for (u32 r = 0; r < size; ++r) values[r] = memory.load_128(whole(r));
    if (!is_partial()) return;
    for (u32 d = 0; d < 4; ++d) {
      for (u32 r = 0; r < size; ++r) {
        if constexpr (sizeof(T) == 1) {
          u32 bits = 0;
          for (u32 i = 0; i < 4; ++i) bits |= memory.load_8(element(r, 4 * d + i)) << (8 * i);
          values[r][d] = bits;
        } else if constexpr (sizeof(T) == 2) {
          const u32 high = memory.load_16(element(r, 2 * d + 1));
          values[r][d] = memory.load_16(element(r, 2 * d)) | high << 16;
        } else {
          values[r][d] = memory.load_32(element(r, d));
        }
      }
    }
  }

  // Row r is `of(r)`.
  __device__ void store(auto&& of) const {
    for (u32 r = 0; r < size; ++r) memory.store_once(whole(r), bits128(of(r)));
    if (!is_partial()) return;
    for (u32 r = 0; r < size; ++r) {
      const bits128 bits = of(r);
      for (u32 d = 0; d < 4; ++d) {
        if constexpr (sizeof(T) == 1) {
          for (u32 i = 0; i < 4; ++i) {
            memory.store_once(element(r, 4 * d + i), static_cast<u8>(bits[d] >> (8 * i)));
          }
        } else if constexpr (sizeof(T) == 2) {
          memory.store_once(element(r, 2 * d), static_cast<u16>(bits[d]));
          memory.store_once(element(r, 2 * d + 1), static_cast<u16>(bits[d] >> 16));
        } else {
          memory.store_once(element(r, d), u32(bits[d]));
        }
      }
    }
  }

 private:
  __device__ bool is_partial() const { return left - 1 < size - 1; }
  __device__ u32 whole(u32 r) const { return left < size ? out_of_range : rows[r]; }
  // Out of range stays so behind a few elements more.
  __device__ u32 element(u32 r, u32 i) const {
    return (i < left ? rows[r] : out_of_range) + i * static_cast<u32>(sizeof(T));
  }
};

// A square block of elements of type T in rows of 16 bytes becomes its transpose.
template <class T>
__device__ inline void transpose(bits128 (&rows)[per_128_bits<T>]) {
  bits128 columns[per_128_bits<T>];
  static_for<4>([&](auto d) {
    static_for<4>([&](auto i) {
      if constexpr (sizeof(T) == 1) {
        // Four rows of four elements: pairs of rows, then both pairs.
        const auto row = [&](int r) { return rows[i * 4 + r][int{d}]; };
        const u32 low[] = {arch::pick_bytes<0x05010400>(row(1), row(0)),
                           arch::pick_bytes<0x05010400>(row(3), row(2))};
        const u32 high[] = {arch::pick_bytes<0x07030602>(row(1), row(0)),
                            arch::pick_bytes<0x07030602>(row(3), row(2))};
        columns[d * 4][int{i}] = arch::pick_bytes<0x05040100>(low[1], low[0]);
        columns[d * 4 + 1][int{i}] = arch::pick_bytes<0x07060302>(low[1], low[0]);
        columns[d * 4 + 2][int{i}] = arch::pick_bytes<0x05040100>(high[1], high[0]);
        columns[d * 4 + 3][int{i}] = arch::pick_bytes<0x07060302>(high[1], high[0]);
      } else if constexpr (sizeof(T) == 2) {
        const u32 first = rows[i * 2][int{d}], second = rows[i * 2 + 1][int{d}];
        columns[d * 2][int{i}] = arch::pick_bytes<0x05040100>(second, first);
        columns[d * 2 + 1][int{i}] = arch::pick_bytes<0x07060302>(second, first);
      } else {
        columns[int{d}][int{i}] = rows[int{i}][int{d}];
      }
    });
  });
  static_for<per_128_bits<T>>([&](auto i) { rows[i] = columns[i]; });
}

}  // namespace hk
