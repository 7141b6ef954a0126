// Rows of keys and values, appended to those that a cache has of sequences. A workgroup has a sequence: it
// alone reads how many rows there are, and says how many there will be.
#include "hk/attention_rows.h"

namespace hk {

// Rows that are appended; the host's `NewRows`. Distances in bytes.
struct NewRows {
  const void* base;
  i64 sequence;
  i64 row;
  i64 head;
};

struct AppendArgs {
  KeySource cache;
  void* cached_keys;  // where the cache's are
  void* cached_values;
  NewRows keys;
  NewRows values;
  IndexList lengths;  // of sequences before; without a list, all but the new rows
  i32* after;         // lengths afterwards; null if not wanted
  i32* advanced;
  u32 rows;
  u32 heads;
  u32 element;  // bytes of one
  u32 reserved;
};

namespace {

template <class T>
__device__ inline void copy_row(const NewRows& from, const KeyRows& to, u64 at, u32 sequence, u32 row,
                                u32 head) {
  const T* source = reinterpret_cast<const T*>(reinterpret_cast<u64>(from.base) +
                                               sequence * from.sequence + row * from.row +
                                               head * from.head);
#pragma unroll 1
  for (u32 column = lane_id(); column < to.width; column += wave_size) {
    arch::store_global<T>(at + column * sizeof(T), arch::load_global<T>(source + column));
  }
}

template <class Tile>
__device__ inline void cache_append(const AppendArgs& in) {
  const u32 sequence = block_idx().x;
  const KeySource& cache = in.cache;
  const key_sequence all(cache, sequence, 0, 0);
  i64 first = static_cast<i64>(all.length) - in.rows;
  if (in.lengths.base != nullptr) first = index_at(in.lengths, sequence);
  // A place has the low half of a page of 64 bits: the list says whether that is all.
  const auto is_there = [&](row_place place, u32 position) {
    if (place.page >= cache.count) return false;
    if (!cache.pages.is_64) return true;
    const u32 number = static_cast<u64>(position) * cache.page_multiplier >> cache.page_shift;
    return index_at(cache.pages, static_cast<u32>(all.start + number)) == place.page;
  };
  const auto copy = [&](void* base, const KeyRows& to, const NewRows& from, row_place place, u32 row,
                        u32 head) {
    const u64 of_head = reinterpret_cast<u64>(base) + sequence * to.sequence + head * to.head;
    const u64 at = row_address(cache, to, of_head, place);
    if (in.element == 1) {
      copy_row<u8>(from, to, at, sequence, row, head);
    } else {
      copy_row<u16>(from, to, at, sequence, row, head);
    }
  };
#pragma unroll 1
  for (u32 i = wave_id(); i < in.rows * in.heads; i += Tile::threads / wave_size) {
    const u32 row = uniform(i / in.heads), head = i - row * in.heads;
    const i64 position = first + row;
    if (position < 0 || position >= all.length) continue;
    const row_place place = find_row(cache, all, static_cast<u32>(position));
    if (!is_there(place, static_cast<u32>(position))) continue;
    copy(in.cached_keys, cache.keys, in.keys, place, row, head);
    copy(in.cached_values, cache.values, in.values, place, row, head);
  }
  // All waves have read the length by then.
  arch::sync_threads();
  if (thread_idx().x == 0) {
    const i32 after = static_cast<i32>(first + in.rows);
    if (in.after != nullptr) in.after[sequence] = after;
    if (in.advanced != nullptr) in.advanced[sequence] = after;
  }
}

}  // namespace

}  // namespace hk
