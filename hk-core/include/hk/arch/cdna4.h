// CDNA4 (gfx950): MI350X, MI355X.
#pragma once

#include "hk/arch/cdna.h"

namespace hk::arch {

inline constexpr int lds_bytes = 163840;

// Widest load, in bytes per lane, that goes from global memory to LDS without registers.
inline constexpr int direct_to_lds_bytes = 16;
template <int Further>
__device__ inline void load_to_lds(const checked_range& from, lds_pointer lds, u32 offset) {
  static_assert(Further >= 0 && Further < 4096);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(from.resource, lds, direct_to_lds_bytes, offset, 0, Further,
                                           0);
}
// Whether LDS reads can transpose 16-bit data.
inline constexpr bool has_transposing_read = true;

// How the LDS serves one access of a wave: lanes of one phase are served together, and two of them
// that touch different dwords of one bank conflict. Phases as measured on MI350X and MI355X
// (amd-shark-ai LDS experiments; HipKittens finds the same).
struct lds_read_b128 {
  static constexpr int bytes = 16;
  static constexpr int banks = 64;
  static constexpr int phases = 4;
  static constexpr int phase_of(int lane) {
    // Quads of lanes 0 3 5 6 are served first, then 1 2 4 7; the same for the upper 32 lanes.
    const int quad = lane % 32 / 4;
    return ((0b10010110 >> quad) & 1) + lane / 32 * 2;
  }
};
struct lds_read_b64 {
  static constexpr int bytes = 8;
  static constexpr int banks = 64;
  static constexpr int phases = 2;
  static constexpr int phase_of(int lane) { return lane / 32; }
};
struct lds_write_b128 {
  static constexpr int bytes = 16;
  static constexpr int banks = 32;
  static constexpr int phases = 8;
  static constexpr int phase_of(int lane) { return lane / 8; }
};
struct lds_write_b64 {
  static constexpr int bytes = 8;
  static constexpr int banks = 32;
  static constexpr int phases = 4;
  static constexpr int phase_of(int lane) { return lane / 16; }
};

// The values of the two halves of this lane's aligned group of 2 * Half lanes, the lanes of each of
// which hold the same: in either order up to Half = 8, then that of the lower half first. The swaps
// exchange the odd half of one register with the even half of the other.
template <int Half>
__device__ inline vec<u32, 2> both_halves(u32 value) {
  if constexpr (Half == 16) {
    const auto swapped = __builtin_amdgcn_permlane16_swap(value, value, false, false);
    return {swapped[0], swapped[1]};
  } else if constexpr (Half == 32) {
    const auto swapped = __builtin_amdgcn_permlane32_swap(value, value, false, false);
    return {swapped[0], swapped[1]};
  } else {
    return {value, other_half_of_row<Half>(value)};
  }
}

// The value of a lane in the other half, of the same.
template <int Half>
__device__ inline u32 other_half(u32 value) {
  const vec<u32, 2> halves = both_halves<Half>(value);
  if constexpr (Half < 16) return halves[1];
  return lane_id() & Half ? halves[0] : halves[1];
}

// Reads 16 bytes of LDS. The value must not be used before lds_wait_for it.
//
// These reads are assembly because the compiler, which cannot tell the stages of a pipeline apart,
// would wait for all direct-to-LDS loads under way before every read of LDS.
template <int Offset>
__device__ inline bits128 lds_read_128(u32 address) {
  bits128 value;
  asm volatile("ds_read_b128 %0, %1 offset:%2"
               : "=v"(value)
               : "v"(address), "n"(Offset)
               : "memory");
  return value;
}

// Two transposing reads, `Step` bytes apart: of the lanes of one group of 16, lane 4r + j points at
// row r of four, columns 4j to 4j + 3; lane c receives column c, four rows from each read. As
// above, the value must not be used before lds_wait_for it; the halves stay apart until then.
struct transposed_bits {
  vec<u32, 2> half[2];

  __device__ operator bits128() const {
    return __builtin_shufflevector(half[0], half[1], 0, 1, 2, 3);
  }
};

template <int Offset, int Step>
__device__ inline transposed_bits lds_read_transposed(u32 address) {
  transposed_bits value;
  asm volatile("ds_read_b64_tr_b16 %0, %1 offset:%2"
               : "=v"(value.half[0])
               : "v"(address), "n"(Offset)
               : "memory");
  asm volatile("ds_read_b64_tr_b16 %0, %1 offset:%2"
               : "=v"(value.half[1])
               : "v"(address), "n"(Offset + Step)
               : "memory");
  return value;
}

// Ties values that were read to the wait before it: no use of them can be scheduled earlier.
__device__ inline void lds_tie(bits128& value) { asm volatile("" : "+v"(value)); }
__device__ inline void lds_tie(transposed_bits& value) {
  asm volatile("" : "+v"(value.half[0]), "+v"(value.half[1]));
}

// Waits for every LDS access of the wave before the lds_tie that must follow.
__device__ inline void lds_wait() { asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory"); }

// 8-bit floating point is OCP's: the largest e4m3, and what an OCP code is multiplied by to be one of
// these.
inline constexpr f32 e4m3_most = 448;
inline constexpr f32 fp8_of_ocp = 1;

// Puts the e2m1 codes of two numbers, divided by a power of two, into a byte of `codes`: to nearest,
// ties to even, saturating. Only the exponent of `scale` counts, and 0 is 2^-127.
inline constexpr bool has_e2m1 = true;
template <int Byte>
__device__ inline u32 to_e2m1(u32 codes, f32 low, f32 high, f32 scale) {
  return __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(codes, low, high, scale, Byte);
}

}  // namespace hk::arch
