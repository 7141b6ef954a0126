// Matrix-multiply atoms: one step D = C + A * B^T on fragments in registers, and which lane and
// register holds which element, as data.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

// The lanes and registers of an atom for 16-bit elements. A is dim x depth, B is dim x depth, D is
// dim x dim in f32. Every lane holds eight consecutive k of one row of A, and of one row of B.
struct atom_layout {
  int dim;
  int depth;

  static constexpr int elements = 8;

  // Accumulation registers per lane.
  __host__ __device__ constexpr int registers() const { return dim * dim / arch::wave_size; }
  // Row of A, or of B, whose elements the lane holds.
  __host__ __device__ constexpr int row(int lane) const { return lane % dim; }
  // The first k that the lane holds.
  __host__ __device__ constexpr int first_k(int lane) const { return lane / dim * elements; }
  // Row of D, which is a row of A, in the lane's register `reg`.
  __host__ __device__ constexpr int d_row(int lane, int reg) const {
    const int groups = arch::wave_size / dim;
    return reg / 4 * (4 * groups) + lane / dim * 4 + reg % 4;
  }
  // Column of D, which is a row of B, in all of the lane's registers.
  __host__ __device__ constexpr int d_column(int lane) const { return lane % dim; }
};

// Every atom of the library.
inline constexpr atom_layout atoms[] = {{16, 32}, {32, 16}};

// The atom with D of Dim x Dim.
template <int Dim>
constexpr atom_layout atom_of() {
  for (const atom_layout& atom : atoms) {
    if (atom.dim == Dim) return atom;
  }
  return {};
}

// D = C + A * B^T for elements of type T.
template <class T>
__device__ inline vec<f32, 4> mma_ABt(bits128 a, bits128 b, vec<f32, 4> c) {
  return arch::mma_16x16x32(bit_cast<vec<T, 8>>(a), bit_cast<vec<T, 8>>(b), c);
}
template <class T>
__device__ inline vec<f32, 16> mma_ABt(bits128 a, bits128 b, vec<f32, 16> c) {
  return arch::mma_32x32x16(bit_cast<vec<T, 8>>(a), bit_cast<vec<T, 8>>(b), c);
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
