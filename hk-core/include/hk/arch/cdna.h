// What CDNA3 and CDNA4 share: the compiler's builtins for these chips, under the names by which the
// library asks for them. What a chip's instructions or the width of its waves decide is here or in
// the file of one chip, and nowhere else.
#pragma once

#include "hk/types.h"

// Attributes of a kernel: exactly so many work-items in a workgroup and, if `waves` is not 0, at
// least so many waves on a SIMD.
#define HK_KERNEL(threads, waves)                                       \
  __attribute__((global, amdgpu_flat_work_group_size(threads, threads), \
                 amdgpu_waves_per_eu(waves)))

// Upper bounds that let the compiler plan registers: work-items of a workgroup and, optionally,
// the waves per SIMD that must fit.
#define HK_LAUNCH_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define HK_LAUNCH_BOUNDS_2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define HK_LAUNCH_BOUNDS_PICK(_1, _2, name, ...) name
#define __launch_bounds__(...) \
  HK_LAUNCH_BOUNDS_PICK(__VA_ARGS__, HK_LAUNCH_BOUNDS_2, HK_LAUNCH_BOUNDS_1)(__VA_ARGS__)

namespace hk::arch {

inline constexpr int wave_size = 64;
inline constexpr int xcds = 8;

// Places in the launch; components that a kernel does not use cost nothing.
__device__ inline dim3 thread_idx() {
  return {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
          __builtin_amdgcn_workitem_id_z()};
}
__device__ inline dim3 block_idx() {
  return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
          __builtin_amdgcn_workgroup_id_z()};
}
__device__ inline dim3 block_dim() {
  return {__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z()};
}
__device__ inline dim3 grid_size() {
  return {__builtin_amdgcn_grid_size_x(), __builtin_amdgcn_grid_size_y(),
          __builtin_amdgcn_grid_size_z()};
}

template <class T>
using constant_pointer = const T __attribute__((address_space(4)))*;

// The workgroups of the grid are the first three words behind the kernel's own arguments.
__device__ inline dim3 grid_dim() {
  const auto counts = (constant_pointer<u32>)__builtin_amdgcn_implicitarg_ptr();
  return {counts[0], counts[1], counts[2]};
}

// The kernel's only parameter, where the hardware put it.
template <class Args>
__device__ inline constant_pointer<Args> kernel_arguments() {
  return (constant_pointer<Args>)__builtin_amdgcn_kernarg_segment_ptr();
}

// Meets all waves of the workgroup without waiting for memory.
__device__ inline void meet() { __builtin_amdgcn_s_barrier(); }

// Meets all waves of the workgroup; their accesses to LDS, or to LDS and global memory, that were
// made before are complete afterwards.
__device__ inline void meet_with_lds() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  meet();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}
__device__ inline void sync_threads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  meet();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Keeps the compiler from moving instructions across this point.
__device__ inline void pin_order() { __builtin_amdgcn_sched_barrier(0); }

// Makes the compiler forget what it knows of a value, so that what follows from it is computed
// again instead of kept in registers.
__device__ inline void forget(u32& value) { asm("" : "+v"(value)); }
// As above, of a value that is the same for the wave; also of its being the same each time.
__device__ inline void forget_scalar(u32& value) { asm volatile("" : "+s"(value)); }
__device__ inline void forget_scalar(i32& value) { asm volatile("" : "+s"(value)); }
// As above, but it stays known to be the same each time.
__device__ inline void forget_source(u32& value) { asm("" : "+s"(value)); }

// The wave's priority on its SIMD, from 0 to 3.
template <int Priority>
__device__ inline void set_priority() {
  __builtin_amdgcn_s_setprio(Priority);
}

__device__ inline u32 lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}

// The value of the first lane that takes part, and of a given one, as scalars.
__device__ inline u32 first_lane(u32 value) { return __builtin_amdgcn_readfirstlane(value); }
__device__ inline u32 value_of_lane(u32 value, u32 lane) {
  return __builtin_amdgcn_readlane(value, lane);
}

// The value of a lane in the other half of this lane's aligned group of 2 * Half lanes, for Half up
// to 8, where the lanes of each half hold the same.
template <int Half>
__device__ inline u32 other_half_of_row(u32 value) {
  static_assert(Half == 1 || Half == 2 || Half == 4 || Half == 8);
  // Data-parallel primitives: quads permuted to 1 0 3 2 and to 2 3 0 1, eight lanes mirrored, and
  // sixteen.
  constexpr int control = Half == 1 ? 0xb1 : Half == 2 ? 0x4e : Half == 4 ? 0x141 : 0x140;
  return __builtin_amdgcn_update_dpp(value, value, control, 0xf, 0xf, false);
}

// The value of the lane before, and of the last of the eight lanes before; of each aligned group of
// eight lanes, the first has no such lane in the first case, and only the first has one in the
// second.
__device__ inline u32 value_of_lane_before(u32 value) {
  return __builtin_amdgcn_update_dpp(value, value, 0x111, 0xf, 0xf, false);
}
__device__ inline u32 value_of_last_of_eight(u32 value) {
  return __builtin_amdgcn_update_dpp(value, value, 0x129, 0xf, 0xf, false);
}

// Instructions of 1 ulp that flush subnormals: 2^x, 1 / x, 1 / sqrt(x).
__device__ inline f32 exp2(f32 x) { return __builtin_amdgcn_exp2f(x); }
__device__ inline f32 reciprocal(f32 x) { return __builtin_amdgcn_rcpf(x); }
__device__ inline f32 rsqrt(f32 x) { return __builtin_amdgcn_rsqf(x); }

// The part of x above the next lower integer, and cosine and sine of an angle in revolutions up to
// 256.
__device__ inline f32 fraction(f32 x) { return __builtin_amdgcn_fractf(x); }
__device__ inline f32 cos_of_revolutions(f32 x) { return __builtin_amdgcn_cosf(x); }
__device__ inline f32 sin_of_revolutions(f32 x) { return __builtin_amdgcn_sinf(x); }

// The exponent e of x = m 2^e with m in [1/2, 1); 0 of zero, infinity and NaN.
__device__ inline int exponent(f32 x) { return __builtin_amdgcn_frexp_expf(x); }

// Four of the eight bytes of `high` and `low`: byte i of the result is the one that byte i of
// Selector counts, from the lowest of `low`.
template <u32 Selector>
__device__ inline u32 pick_bytes(u32 high, u32 low) {
  return __builtin_amdgcn_perm(high, low, Selector);
}

// The middle one of three numbers; if one of them is NaN, any.
__device__ inline f32 median(f32 a, f32 b, f32 c) { return __builtin_amdgcn_fmed3f(a, b, c); }

// Codes of the chip's own 8-bit floating point, the first in the lowest byte: of numbers that are
// in its range or NaN, to nearest, ties to even; and back.
__device__ inline u32 to_e4m3(vec<f32, 4> x) {
  const int low = __builtin_amdgcn_cvt_pk_fp8_f32(x[0], x[1], 0, false);
  return __builtin_amdgcn_cvt_pk_fp8_f32(x[2], x[3], low, true);
}
__device__ inline u32 to_e5m2(vec<f32, 4> x) {
  const int low = __builtin_amdgcn_cvt_pk_bf8_f32(x[0], x[1], 0, false);
  return __builtin_amdgcn_cvt_pk_bf8_f32(x[2], x[3], low, true);
}
__device__ inline vec<f32, 4> from_e4m3(u32 codes) {
  const auto low = __builtin_amdgcn_cvt_pk_f32_fp8(codes, false);
  const auto high = __builtin_amdgcn_cvt_pk_f32_fp8(codes, true);
  return {low[0], low[1], high[0], high[1]};
}
__device__ inline vec<f32, 4> from_e5m2(u32 codes) {
  const auto low = __builtin_amdgcn_cvt_pk_f32_bf8(codes, false);
  const auto high = __builtin_amdgcn_cvt_pk_f32_bf8(codes, true);
  return {low[0], low[1], high[0], high[1]};
}

// Memory of the LDS, addressed in bytes from its start.
template <class T>
using lds_pointer_to = T __attribute__((address_space(3)))*;
using lds_pointer = lds_pointer_to<char>;

// Word 3 of the description of a range, for untyped access: data format 32, no swizzle.
inline constexpr u32 raw_dwords = 0x00027000;

// A range of global memory whose accesses the hardware checks against its size, dword by dword;
// offsets are in bytes.
struct checked_range {
  __amdgpu_buffer_rsrc_t resource;

  __device__ checked_range(const void* base, u32 bytes)
      : resource(__builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, bytes, raw_dwords)) {}
  __device__ explicit checked_range(__amdgpu_buffer_rsrc_t resource) : resource(resource) {}

  __device__ bits128 load_128(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b128(resource, offset, 0, 0);
  }
  __device__ vec<u32, 2> load_64(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b64(resource, offset, 0, 0);
  }
  __device__ u32 load_32(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b32(resource, offset, 0, 0);
  }
  __device__ u16 load_16(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b16(resource, offset, 0, 0);
  }
  __device__ u8 load_8(u32 offset) const {
    return __builtin_amdgcn_raw_buffer_load_b8(resource, offset, 0, 0);
  }

  __device__ void store(u32 offset, bits128 value) const {
    __builtin_amdgcn_raw_buffer_store_b128(value, resource, offset, 0, 0);
  }
  __device__ void store(u32 offset, vec<u32, 2> value) const {
    __builtin_amdgcn_raw_buffer_store_b64(value, resource, offset, 0, 0);
  }
  __device__ void store(u32 offset, u32 value) const {
    __builtin_amdgcn_raw_buffer_store_b32(value, resource, offset, 0, 0);
  }
  __device__ void store(u32 offset, u16 value) const {
    __builtin_amdgcn_raw_buffer_store_b16(value, resource, offset, 0, 0);
  }

  // Stores what is not expected to be read again soon.
  __device__ void store_once(u32 offset, bits128 value) const {
    __builtin_amdgcn_raw_buffer_store_b128(value, resource, offset, 0, non_temporal);
  }
  __device__ void store_once(u32 offset, vec<u32, 2> value) const {
    __builtin_amdgcn_raw_buffer_store_b64(value, resource, offset, 0, non_temporal);
  }
  __device__ void store_once(u32 offset, u32 value) const {
    __builtin_amdgcn_raw_buffer_store_b32(value, resource, offset, 0, non_temporal);
  }
  __device__ void store_once(u32 offset, u16 value) const {
    __builtin_amdgcn_raw_buffer_store_b16(value, resource, offset, 0, non_temporal);
  }
  __device__ void store_once(u32 offset, u8 value) const {
    __builtin_amdgcn_raw_buffer_store_b8(value, resource, offset, 0, non_temporal);
  }

 private:
  static constexpr int non_temporal = 2;
};

// Waits until at most N of the wave's accesses to global memory are under way.
template <int N>
__device__ inline void wait_global() {
  static_assert(N >= 0);
  // No more than 63 can be counted, and fewer than 63 under way is no condition on more.
  constexpr int vmcnt = min(N, 63);
  asm volatile("s_waitcnt vmcnt(%0)" ::"n"(vmcnt) : "memory");
}

}  // namespace hk::arch
