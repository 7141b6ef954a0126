// Matrix-multiply atoms: one step D = C + A * B^T on fragments in registers, and which lane and
// register holds which element, as data.
//
// Where the k of a fragment lie does not matter, as long as those of A and B lie alike: so a fragment
// is bytes of a row, whatever its elements are.
#pragma once

#include "hk/arch/matrix.h"

namespace hk {

template <class A, class B>
inline constexpr bool same_type = false;
template <class A>
inline constexpr bool same_type<A, A> = true;

template <bool Condition, class A, class B>
struct choose {
  using type = A;
};
template <class A, class B>
struct choose<false, A, B> {
  using type = B;
};

// The lanes and registers of an atom, which are the same for every element type. A has `dim` rows, as
// has B, D is dim x dim. Of one row of A, and of one of B, every lane holds one *chunk* of 16 bytes per
// `depth_bytes` of a row, or two: see `chunks_of`.
struct atom_layout {
  int dim;

  // Bytes of a row of which every lane holds one chunk.
  __host__ __device__ constexpr int depth_bytes() const { return 16 * arch::wave_size / dim; }
  // Accumulation registers per lane.
  __host__ __device__ constexpr int registers() const { return dim * dim / arch::wave_size; }
  // Row of A, or of B, whose elements the lane holds.
  __host__ __device__ constexpr int row(int lane) const { return lane % dim; }
  // The chunk of those bytes that the lane holds.
  __host__ __device__ constexpr int chunk(int lane) const { return lane / dim; }
  // Row of D, which is a row of A, in the lane's register `reg`.
  __host__ __device__ constexpr int d_row(int lane, int reg) const {
    const int groups = arch::wave_size / dim;
    return reg / 4 * (4 * groups) + lane / dim * 4 + reg % 4;
  }
  // Column of D, which is a row of B, in all of the lane's registers.
  __host__ __device__ constexpr int d_column(int lane) const { return lane % dim; }
};

// Every atom of the library.
inline constexpr atom_layout atoms[] = {{16}, {32}};

// What products of elements of type T are added up in.
template <class T>
struct sum_of {
  using type = f32;
};
template <>
struct sum_of<i8> {
  using type = i32;
};

// Chunks of a row that an atom for elements of type T takes from a lane. Of several, the first are of
// `depth_bytes` of a row, the second of as many bytes behind.
template <class T>
inline constexpr int chunks_of = 1;
template <>
inline constexpr int chunks_of<e4m3> = arch::fp8_chunks;
template <>
inline constexpr int chunks_of<e5m2> = arch::fp8_chunks;

// Elements that are multiplied in the chips' shorter steps: groups of 32 do not share an atom.
template <class T>
struct in_short_steps {
  T of;
};

// What a lane holds of an operand for one atom.
template <class Chunk, int Chunks>
struct fragment_of {
  Chunk chunk[Chunks];

  // As the instructions take it.
  __device__ auto bits() const {
    if constexpr (Chunks == 1) {
      return bits128(chunk[0]);
    } else {
      static_assert(Chunks == 2);
      const bits128 low(chunk[0]), high(chunk[1]);
      return bit_cast<vec<i32, 8>>(__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7));
    }
  }
};

namespace detail {

template <class T, class A, class Sum>
__device__ inline Sum mma(T, A a, A b, Sum c) {
  return arch::mma(T{}, a, b, c);
}
template <class T, class Sum>
__device__ inline Sum mma(in_short_steps<T>, bits128 a, bits128 b, Sum c) {
  return arch::mma_in_short_steps(T{}, a, b, c);
}

}  // namespace detail

// D = C + A * B^T for elements of type T.
template <class T, class A, class B, class Sum>
__device__ inline Sum mma_ABt(const A& a, const B& b, Sum c) {
  return detail::mma(T{}, a.bits(), b.bits(), c);
}

// Which rows of an operand feed the rows of its fragments. Any choice gives the right product, as
// long as results are stored accordingly; this one decides how well they are stored.
//
// Plain: fragment f has rows Dim * f to Dim * f + Dim - 1, and a lane ends up with runs of four
// consecutive rows. Paired: rows are dealt so that two runs of four in a lane are adjacent, eight
// consecutive rows, 16 bytes of bf16.
template <int Dim, bool Paired>
struct row_map {
  static constexpr int dim = Dim;
  static constexpr bool paired = Paired;
  // Consecutive rows in a lane.
  static constexpr int run = Paired ? 8 : 4;

  // Row, from the first of the fragment, that the atom's row i is.
  __host__ __device__ static constexpr int lane_row(int i) {
    if constexpr (!Paired) return i;
    if constexpr (Dim == 16) return i / 4 * 8 + i % 4;
    return (i & ~12) | (i & 4) << 1 | (i & 8) >> 1;
  }
  // First row of fragment f. Its bits are apart from those of every lane_row.
  __host__ __device__ static constexpr int base_row(int f) {
    return Paired && Dim == 16 ? f / 2 * 32 + f % 2 * 4 : f * Dim;
  }
};

}  // namespace hk
