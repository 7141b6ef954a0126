// The words that HIP adds to C++, on compiler attributes alone: no ROCm headers and no device
// libraries take part in a build.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
