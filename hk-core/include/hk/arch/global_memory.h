// Accesses to device memory that are known to be such, in namespace hk::arch.
#pragma once

#include "hk/arch/arch.h"

namespace hk::arch {

// What is at an address of device memory, a number or a pointer. Of a number, and of a pointer that is one
// of some, the compiler does not know that it is none of LDS: whoever waits for LDS would then wait for
// it, too. N elements, aligned to so many bytes.
template <class T, int N, int Align, class Address>
__device__ inline vec<T, N> load_global(Address address) {
  using piece = vec_in_memory<T, N, Align>;
  return *(const piece __attribute__((address_space(1)))*)address;
}
template <class T, class Address>
__device__ inline T load_global(Address address) {
  return *(const T __attribute__((address_space(1)))*)address;
}
template <class T, class Address>
__device__ inline void store_global(Address address, T value) {
  *(T __attribute__((address_space(1)))*)address = value;
}
// Of what is not read again soon.
template <class T, class Address>
__device__ inline void store_global_once(Address address, T value) {
  __builtin_nontemporal_store(value, (T __attribute__((address_space(1)))*)address);
}
template <class T, int N, int Align, class Address>
__device__ inline void store_global_once(Address address, vec<T, N> values) {
  using piece = vec_in_memory<T, N, Align>;
  __builtin_nontemporal_store(values, (piece __attribute__((address_space(1)))*)address);
}

}  // namespace hk::arch
