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

// Workgroups of the grid: the first three words behind the kernel's own arguments.
__device__ inline dim3 grid_dim() {
  using word = const __attribute__((address_space(4))) unsigned;
  word* counts = (word*)__builtin_amdgcn_implicitarg_ptr();
  return {counts[0], counts[1], counts[2]};
}

// Index of this work-item in the grid, along x.
__device__ inline unsigned global_idx() {
  return block_idx().x * block_dim().x + thread_idx().x;
}

namespace detail {

// What HIP's own headers call threadIdx and so on: values that are read from registers where they
// are named.
template <dim3 (*Read)()>
struct coordinates {
  template <unsigned dim3::*Component>
  struct component {
    __device__ operator unsigned() const { return Read().*Component; }
  };
  component<&dim3::x> x;
  component<&dim3::y> y;
  component<&dim3::z> z;

  __device__ operator dim3() const { return Read(); }
};

}  // namespace detail

// Waits until every work-item of the workgroup has come here; LDS and global writes made before
// are visible to the workgroup afterwards.
__device__ inline void sync_threads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

}  // namespace hk

// The names that HIP programs use.
inline constexpr __device__ hk::detail::coordinates<hk::thread_idx> threadIdx{};
inline constexpr __device__ hk::detail::coordinates<hk::block_idx> blockIdx{};
inline constexpr __device__ hk::detail::coordinates<hk::block_dim> blockDim{};
inline constexpr __device__ hk::detail::coordinates<hk::grid_dim> gridDim{};
