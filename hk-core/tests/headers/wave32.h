// An architecture that does not exist: waves of 32, without buffers, matrix instructions or LDS loads.
// What row-wise kernels need of it is everything here; what they compute does not matter.
#pragma once

#include "hk/types.h"

#define HK_KERNEL(threads, waves) __global__

namespace hk::arch {

inline constexpr int wave_size = 32;
inline constexpr int xcds = 1;

__device__ inline dim3 thread_idx() { return {}; }
__device__ inline dim3 block_idx() { return {}; }
__device__ inline dim3 block_dim() { return {}; }
__device__ inline dim3 grid_dim() { return {}; }
__device__ inline dim3 grid_size() { return {}; }
__device__ inline void sync_threads() {}

__device__ inline u32 lane_id() { return 0; }
__device__ inline u32 first_lane(u32 value) { return value; }
__device__ inline u32 value_of_lane(u32 value, u32) { return value; }
template <int Half>
__device__ inline u32 other_half(u32 value) {
  static_assert(Half < wave_size);
  return value;
}
template <int Half>
__device__ inline vec<u32, 2> both_halves(u32 value) {
  return {value, other_half<Half>(value)};
}

__device__ inline void pin_order() {}
__device__ inline void forget(u32&) {}
__device__ inline void forget_scalar(u32&) {}
__device__ inline void forget_source(u32&) {}

// Memory whose accesses are checked against its end.
struct checked_range {
  const void* base;
  u32 bytes;

  __device__ bits128 load_128(u32) const { return {}; }
  __device__ u32 load_32(u32) const { return bytes; }
  __device__ vec<u32, 2> load_64(u32) const { return bytes; }
  __device__ u16 load_16(u32) const { return 0; }
  __device__ u8 load_8(u32) const { return 0; }
  template <class T>
  __device__ void store_once(u32, T) const {}
};

__device__ inline f32 exp2(f32 x) { return x; }
__device__ inline f32 reciprocal(f32 x) { return x; }
__device__ inline f32 rsqrt(f32 x) { return x; }
__device__ inline f32 fraction(f32 x) { return x; }
__device__ inline f32 cos_of_revolutions(f32 x) { return x; }
__device__ inline f32 sin_of_revolutions(f32 x) { return x; }
__device__ inline int exponent(f32) { return 0; }

template <class Args>
__device__ inline const Args* kernel_arguments() {
  return nullptr;
}

}  // namespace hk::arch
