// Layouts of tiles in LDS, free of bank conflicts by proof: a swizzle is data, and the compiler
// replays every access of a wave against the LDS rules of the architecture.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

// Permutes the 16-byte chunks of each row of a tile: chunk c of row r is stored in place c ^ of(r).
// Bit i of of(r) is the parity of the bits of r that mask[i] selects, so that
// of(a ^ b) == of(a) ^ of(b).
struct swizzle {
  static constexpr int bits = 4;
  u32 mask[bits] = {};

  __host__ __device__ constexpr u32 of(u32 row) const {
    u32 result = 0;
    for (int i = 0; i < bits; ++i) result |= (__builtin_popcount(row & mask[i]) & 1u) << i;
    return result;
  }
};

// Whether a wave's access is served without bank conflicts, given each lane's address in bytes.
template <class Access, class Address>
constexpr bool conflict_free(Address address) {
  for (int phase = 0; phase < Access::phases; ++phase) {
    // The dword that each bank serves in this phase, plus one.
    u32 served[Access::banks] = {};
    for (int lane = 0; lane < arch::wave_size; ++lane) {
      if (Access::phase_of(lane) != phase) continue;
      for (int byte = 0; byte < Access::bytes; byte += 4) {
        const u32 dword = (address(lane) + byte) / 4;
        u32& bank = served[dword % Access::banks];
        if (bank != 0 && bank != dword + 1) return false;
        bank = dword + 1;
      }
    }
  }
  return true;
}

// The chunks over which a swizzle may spread: a row, or as much of it as all banks are wide.
template <class Access>
constexpr int swizzle_span(int row_bytes) {
  return min(row_bytes, Access::banks * 4) / 16;
}

// Builds a swizzle: each of the row bits, in order, gets a place bit of its own, from `first_bit`
// on, until the span is used up. A bit whose rows already lie in different banks needs none.
template <class Access, int N>
constexpr swizzle spread(const int (&row_bits)[N], int row_bytes, int first_bit) {
  swizzle result;
  int place = first_bit;
  for (int i = 0; i < N; ++i) {
    const bool apart = (row_bytes << row_bits[i]) % (Access::banks * 4) != 0;
    if (!apart && (1 << place) < swizzle_span<Access>(row_bytes)) {
      result.mask[place++] = 1u << row_bits[i];
    }
  }
  return result;
}

// As `spread`, where a lane reads `apart` chunks, two or four, from where its neighbour of the same row
// does, and rows are as long as all banks are wide. That number's bit is what sets the lanes apart that
// are served together, so the first two row bits get other places. Of rows that the third and the
// fourth bit set apart, either those that differ in both are read by one lane's side and those that
// differ in one by both sides, if a phase has sixteen lanes: then the two bits together have the lanes'
// place. Or, with eight, those of the third are read by both sides, and need no place.
constexpr swizzle spread_beside(const int (&row_bits)[4], int apart, int span) {
  swizzle result;
  const int lane = apart == 2 ? 1 : 2;
  result.mask[0] = 1u << row_bits[0];
  result.mask[3 - lane] = 1u << row_bits[1];
  if (span == 16) {
    result.mask[lane] = 1u << row_bits[2];
    result.mask[3] = 1u << row_bits[2] | 1u << row_bits[3];
  }
  return result;
}

// Adds row bits to a swizzle so that rows which differ in them get different places too: a bit
// without a place of its own shares one that none of the others uses.
template <int N>
constexpr swizzle also_spread(swizzle result, const int (&row_bits)[N], int span) {
  bool taken[swizzle::bits] = {};
  bool placed[N] = {};
  for (int i = 0; i < N; ++i) {
    for (int place = 0; (1 << place) < span; ++place) {
      if (result.mask[place] == 1u << row_bits[i]) taken[place] = placed[i] = true;
    }
  }
  for (int i = 0; i < N; ++i) {
    for (int place = 0; (1 << place) < span && !placed[i]; ++place) {
      if (taken[place]) continue;
      result.mask[place] |= 1u << row_bits[i];
      taken[place] = placed[i] = true;
    }
  }
  return result;
}

}  // namespace hk
