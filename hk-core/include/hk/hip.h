// What a program written for HIP expects, without ROCm's headers: its words, and places in the
// launch by their names here and by HIP's own.
#pragma once

#include "hk/arch/arch.h"

namespace hk {

// Index of this work-item in its workgroup, of this workgroup in the grid; work-items of a workgroup,
// workgroups of the grid, and work-items of the whole grid.
using arch::thread_idx;
using arch::block_idx;
using arch::block_dim;
using arch::grid_dim;
using arch::grid_size;

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
using arch::sync_threads;

}  // namespace hk

// The names that HIP programs use.
inline constexpr __device__ hk::detail::coordinates<hk::thread_idx> threadIdx{};
inline constexpr __device__ hk::detail::coordinates<hk::block_idx> blockIdx{};
inline constexpr __device__ hk::detail::coordinates<hk::block_dim> blockDim{};
inline constexpr __device__ hk::detail::coordinates<hk::grid_dim> gridDim{};
