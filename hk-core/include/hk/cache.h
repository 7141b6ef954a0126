// Rows of heads that are found by indices which lie on the device: slots of caches, in all their
// layouts. Nothing is accessed outside of a list or a cache, whatever the indices are.
#pragma once

#include "hk/arch/global_memory.h"
#include "hk/indices.h"
#include "hk/quant.h"

namespace hk {

// Element types as values; the numbers are the host's `CacheElement::CODE`, and those of `dtype`.
enum class cache_type : u32 { bf16, f16, f32, e4m3 };

// Where the rows of heads are in a cache; the host's `SlotMap`. Slots are in blocks, in which they
// may be in runs, and the elements of a row may be in groups. Strides are in elements.
struct SlotMap {
  void* base;
  const f32* scale;  // what is stored is divided by it, if there is one
  i64 block_stride;
  i64 run_stride;
  i64 slot_stride;
  i64 head_stride;
  i64 group_stride;
  i64 element_stride;
  IndexList slots;  // of tokens, of which those beyond have none; without a list, their numbers
  u32 count;        // slots that there are; none if there is no cache
  u32 block;        // slots of a block
  u32 run;          // slots of a run
  u32 group;        // elements of a group
  u32 type;         // a cache_type
  u32 reserved;
};

// The slot of a token, or `no_slot`.
inline constexpr u32 no_slot = ~0u;
__device__ inline u32 slot_of(const SlotMap& map, u32 token) {
  u32 slot = token;
  if (map.slots.base != nullptr) {
    if (token >= map.slots.count) return no_slot;
    const i64 index = index_at(map.slots, token);
    slot = static_cast<u64>(index) < map.count ? static_cast<u32>(index) : no_slot;
  }
  return slot < map.count ? slot : no_slot;
}

// Where a slot begins, and an element of its first head, in elements.
__device__ inline i64 slot_offset(const SlotMap& map, u32 slot) {
  const u32 in_block = slot % map.block;
  return slot / map.block * map.block_stride + in_block / map.run * map.run_stride +
         in_block % map.run * map.slot_stride;
}
__device__ inline i64 element_offset(const SlotMap& map, u32 element) {
  return element / map.group * map.group_stride + element % map.group * map.element_stride;
}

// N elements in memory that are adjacent, and aligned as one of them is.
template <class T, int N>
__device__ inline vec<T, N> load_elements(const T* from) {
  return arch::load_global<T, N, sizeof(T)>(from);
}
template <class T, int N>
__device__ inline void store_elements(T* to, vec<T, N> elements) {
  arch::store_global_once<T, N, sizeof(T)>(to, elements);
}

// As above, `stride` apart.
template <class T, int N>
__device__ inline void store_elements(T* to, vec<T, N> elements, i64 stride) {
  if (N == 1 || stride == 1) {
    store_elements<T, N>(to, elements);
  } else {
    for (int i = 0; i < N; ++i) to[i * stride] = elements[i];
  }
}

// The codes of N numbers, a byte each.
template <int N>
__device__ inline vec<u8, N> e4m3_bytes(vec<f32, N> x) {
  if constexpr (N % 4 == 0) {
    return bit_cast<vec<u8, N>>(encode<e4m3_codes, N>(x));
  } else {
    vec<u8, N> bytes;
    for (int i = 0; i < N; ++i) bytes[i] = static_cast<u8>(e4m3_codes::encode({x[i], 0, 0, 0}));
    return bytes;
  }
}

// Stores numbers, rounded to a type that is the same in all lanes, from an element on.
template <int N>
__device__ inline void store_rounded(void* base, i64 element, dtype type, vec<f32, N> x,
                                     i64 stride = 1) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    store_elements<T, N>(static_cast<T*>(base) + element, round_to<T, N>(x), stride);
  });
}
template <int N>
__device__ inline void store_rounded(void* base, i64 element, cache_type type, vec<f32, N> x,
                                     i64 stride) {
  if (type == cache_type::e4m3) {
    store_elements<u8, N>(static_cast<u8*>(base) + element, e4m3_bytes<N>(x), stride);
  } else {
    // As in `with_type`.
    asm volatile("");
    store_rounded<N>(base, element, static_cast<dtype>(type), x, stride);
  }
}

}  // namespace hk
