// Tensors of tokens of heads: queries, keys, values, and numbers of a head such as decays.
#pragma once

#include "hk/hip.h"

namespace hk {

// Where such a tensor is; distances in elements. The host's `TokenHeads`.
template <class Pointer>
struct token_heads {
  Pointer base;  // null if there is none
  i64 sequence;
  i64 token;
  i64 head;
  u32 element_type;  // a dtype
  u32 reserved;

  // The number of the first element of a token's head.
  __device__ i64 at(u32 sequence_number, i64 token_number, u32 head_number) const {
    return sequence_number * sequence + token_number * token + head_number * head;
  }
};

// Of what is read, and of what is written.
using TokenHeads = token_heads<const void*>;
using TokenHeadsOut = token_heads<void*>;

// Element `at` of a tensor, as bits that are not yet looked at, and the number that they are.
__device__ inline u32 load_bits(const void* base, u32 type, i64 at) {
  if (static_cast<dtype>(type) == dtype::f32) return static_cast<const u32*>(base)[at];
  return static_cast<const u16*>(base)[at];
}
__device__ inline f32 number(u32 bits, u32 type) {
  if (static_cast<dtype>(type) == dtype::f32) return bit_cast<f32>(bits);
  if (static_cast<dtype>(type) == dtype::f16) return to_f32(bit_cast<f16>(static_cast<u16>(bits)));
  return bit_cast<f32>(bits << 16);
}

}  // namespace hk
