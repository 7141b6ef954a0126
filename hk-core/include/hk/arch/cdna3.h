// CDNA3 (gfx942): MI300X, MI325X.
#pragma once

#include "hk/arch/cdna.h"

namespace hk::arch {

inline constexpr int lds_bytes = 65536;

// Widest load, in bytes per lane, that goes from global memory to LDS without registers.
inline constexpr int direct_to_lds_bytes = 4;
template <int Further>
__device__ inline void load_to_lds(const checked_range& from, lds_pointer lds, u32 offset) {
  static_assert(Further >= 0 && Further < 4096);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(from.resource, lds, direct_to_lds_bytes, offset, 0, Further,
                                           0);
}
// Whether LDS reads can transpose 16-bit data.
inline constexpr bool has_transposing_read = false;

// How the LDS serves one access of a wave: lanes of one phase are served together, and two of them
// that touch different dwords of one bank conflict. Phases as measured on MI300X (amd-shark-ai
// kernel guide and its LDS experiments; HipKittens finds the same).
struct lds_read_b128 {
  static constexpr int bytes = 16;
  static constexpr int banks = 32;
  static constexpr int phases = 8;
  static constexpr int phase_of(int lane) {
    const int quad = lane % 32 / 4;
    return (quad < 4 ? quad : quad ^ 5) + lane / 32 * 4;
  }
};
struct lds_read_b64 {
  static constexpr int bytes = 8;
  static constexpr int banks = 32;
  static constexpr int phases = 4;
  static constexpr int phase_of(int lane) { return lane / 16; }
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

// The value of a lane in the other half of this lane's aligned group of 2 * Half lanes, where the
// lanes of each half hold the same.
template <int Half>
__device__ inline u32 other_half(u32 value) {
  if constexpr (Half == 16) {
    return __builtin_amdgcn_ds_swizzle(value, 0x401f);
  } else if constexpr (Half == 32) {
    return __builtin_amdgcn_ds_bpermute((lane_id() ^ 32) * 4, value);
  } else {
    return other_half_of_row<Half>(value);
  }
}

// That value and this lane's own, in either order.
template <int Half>
__device__ inline vec<u32, 2> both_halves(u32 value) {
  return {value, other_half<Half>(value)};
}

// Reads 16 bytes of LDS. The value may be used at once: the compiler waits for it.
template <int Offset>
__device__ inline bits128 lds_read_128(u32 address) {
  using pointer = const bits128 __attribute__((address_space(3)))*;
  return *reinterpret_cast<pointer>(address + Offset);
}

// There are no transposing reads.
using transposed_bits = bits128;
template <int Offset, int Step>
__device__ bits128 lds_read_transposed(u32 address) = delete;

// Nothing to do: see lds_read_128.
__device__ inline void lds_wait() {}
__device__ inline void lds_tie(bits128&) {}

// 8-bit floating point is FNUZ: the largest e4m3, and what the OCP code of the same bits is multiplied
// by to be read as one of these, whose bias is one more.
inline constexpr f32 e4m3_most = 240;
inline constexpr f32 fp8_of_ocp = 0.5f;

// There is no conversion to 4-bit floating point.
inline constexpr bool has_e2m1 = false;
template <int Byte>
__device__ u32 to_e2m1(u32 codes, f32 low, f32 high, f32 scale) = delete;

}  // namespace hk::arch
