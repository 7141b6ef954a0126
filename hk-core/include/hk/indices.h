// Indices that lie on the device, such as slots of caches and bounds of sequences.
#pragma once

#include "hk/hip.h"

namespace hk {

// Integers on the device; the host's `IndexList`.
struct IndexList {
  const void* base;  // null if there is none
  u32 count;
  u32 is_64;  // whether they have 64 bits rather than 32
};

// Number i of a list that has so many.
__device__ inline i64 index_at(const IndexList& list, u32 i) {
  return list.is_64 ? static_cast<const i64*>(list.base)[i] : static_cast<const i32*>(list.base)[i];
}

}  // namespace hk
