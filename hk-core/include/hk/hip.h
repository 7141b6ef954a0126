// The few words of HIP that kernels need, on compiler builtins alone: no ROCm headers and no
// device libraries take part in a build.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

// Upper bounds that let the compiler plan registers: work-items of a workgroup and, optionally,
// the waves per SIMD that must fit.
#define HK_LAUNCH_BOUNDS_1(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define HK_LAUNCH_BOUNDS_2(threads, waves) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(waves)))
#define HK_LAUNCH_BOUNDS_PICK(_1, _2, name, ...) name
#define __launch_bounds__(...) \
  HK_LAUNCH_BOUNDS_PICK(__VA_ARGS__, HK_LAUNCH_BOUNDS_2, HK_LAUNCH_BOUNDS_1)(__VA_ARGS__)

namespace hk {

// Position or size in three dimensions. Components that a kernel does not use cost nothing: the
// builtins behind them have no side effects.
struct dim3 {
  unsigned x, y, z;
};

// Index of this work-item in its workgroup.
__device__ inline dim3 thread_idx() {
  return {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
          __builtin_amdgcn_workitem_id_z()};
}

// Index of this workgroup in the grid.
__device__ inline dim3 block_idx() {
  return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
          __builtin_amdgcn_workgroup_id_z()};
}

// Work-items of a workgroup.
__device__ inline dim3 block_dim() {
  return {__builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(),
          __builtin_amdgcn_workgroup_size_z()};
}

// Work-items of the whole grid.
__device__ inline dim3 grid_size() {
  return {__builtin_amdgcn_grid_size_x(), __builtin_amdgcn_grid_size_y(),
          __builtin_amdgcn_grid_size_z()};
}

// Index of this work-item in the grid, along x.
__device__ inline unsigned global_idx() {
  return block_idx().x * block_dim().x + thread_idx().x;
}

// Waits until every work-item of the workgroup has come here; LDS and global writes made before
// are visible to the workgroup afterwards.
__device__ inline void sync_threads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

}  // namespace hk
