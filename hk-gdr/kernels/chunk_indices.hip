// Where rows of sequences are: chunk_offsets[n] = sum_{i < n} ceil(len[i] / chunk), and for each of so many
// rows, the sequence that has it, which is the last n with offsets[n] <= row, and its number there.
#include "hk/hip.h"
#include "hk/indices.h"

namespace hk {

struct ChunkOffsetsArgs {
  IndexList bounds;  // of sequences, one more than there are
  void* offsets;     // as many, of the same type
  u32 chunk;
  u32 reserved;
};

struct IndexRowsArgs {
  const void* offsets;
  void* sequences;  // of each row; null if not wanted
  void* positions;  // null if not wanted
  u32 count;        // offsets
  u32 rows;
  u32 stride;  // from row to row
  u32 is_64;   // whether offsets and results have 64 bits rather than 32
};

namespace {

__device__ inline void store_index(void* to, u32 is_64, i64 at, i64 index) {
  if (is_64) {
    static_cast<i64*>(to)[at] = index;
  } else {
    static_cast<i32*>(to)[at] = static_cast<i32>(index);
  }
}

// One workgroup, whose work-items have adjacent sequences each.
template <class Tile>
__device__ inline void chunk_offsets(const ChunkOffsetsArgs& args) {
  __shared__ i64 chunks_of[Tile::threads];
  const u32 thread = thread_idx().x, sequences = args.bounds.count - 1;
  const u32 share = sequences / Tile::threads + 1;
  const u64 first = static_cast<u64>(thread) * share;
  const u32 begin = first < sequences ? first : sequences;
  const u32 end = begin + share < sequences ? begin + share : sequences;
  const auto chunks = [&](u32 n) {
    const i64 length = index_at(args.bounds, n + 1) - index_at(args.bounds, n);
    return length <= 0 ? 0 : static_cast<i64>((static_cast<u64>(length) - 1) / args.chunk + 1);
  };
  i64 sum = 0;
#pragma unroll 1
  for (u32 n = begin; n < end; ++n) sum += chunks(n);
  chunks_of[thread] = sum;
  sync_threads();
  i64 offset = 0;
#pragma unroll 1
  for (u32 i = 0; i < thread; ++i) offset += chunks_of[i];
#pragma unroll 1
  for (u32 n = begin; n < end; ++n) {
    store_index(args.offsets, args.bounds.is_64, n, offset);
    offset += chunks(n);
  }
  if (thread == Tile::threads - 1) store_index(args.offsets, args.bounds.is_64, sequences, offset);
}

// Rows that no sequence has are of sequence -1.
template <class Tile>
__device__ inline void index_rows(const IndexRowsArgs& args) {
  const u32 row = global_idx();
  if (row >= args.rows) return;
  const IndexList offsets{args.offsets, args.count, args.is_64};
  u32 low = 0, high = args.count - 1;
  while (low < high) {
    const u32 middle = low + (high - low) / 2;
    const bool is_before = index_at(offsets, middle + 1) <= row;
    low = is_before ? middle + 1 : low;
    high = is_before ? high : middle;
  }
  const bool has_sequence = low + 1 < args.count;
  const i64 at = static_cast<i64>(row) * args.stride;
  if (args.sequences != nullptr) {
    store_index(args.sequences, args.is_64, at, has_sequence ? static_cast<i64>(low) : -1);
  }
  if (args.positions != nullptr) {
    store_index(args.positions, args.is_64, at, has_sequence ? row - index_at(offsets, low) : 0);
  }
}

}  // namespace

}  // namespace hk
