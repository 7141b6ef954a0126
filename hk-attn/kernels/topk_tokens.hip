// Lists of the keys that rows of queries chose, from those of indices among which there are ones that
// mean no key: what is no key goes, and the rest moves up. A wave has a row.
#include "hk/arch/votes.h"
#include "hk/indices.h"
#include "hk/types.h"
#include "hk/wave.h"

namespace hk {

struct TopkTokensArgs {
  const i32* indices;
  i64 row;       // from one row's indices to the next one's
  u32* tokens;   // rows of them, in units of which pages and slots are so many apart
  i32* counts;   // of the tokens of rows
  IndexList bounds;   // of the rows of sequences; without a list, indices are places in the cache
  IndexList lengths;  // of sequences
  IndexList pages;    // of sequences
  i64 pages_row;
  u32 most_pages;  // of a sequence
  u32 rows;
  u32 width;  // indices of a row
  u32 blocks;
  u32 block_size;
  u32 units_of_block;
  u32 units_of_slot;
  u32 reserved;
};

namespace {

template <class Tile>
__device__ inline void topk_tokens(const TopkTokensArgs& in) {
  const u32 row = block_idx().x * (Tile::threads / wave_size) + wave_id();
  if (row >= in.rows) return;
  const bool is_physical = in.bounds.base == nullptr;
  u32 sequence = 0;
  i64 length = static_cast<i64>(is_physical ? in.blocks : in.most_pages) * in.block_size;
  if (!is_physical) {
    // Sequence `low` begins at or before the row, if any does, and sequence `high` after it.
    u32 high = in.bounds.count - 1;
    while (high - sequence > 1) {
      const u32 middle = sequence + (high - sequence) / 2;
      (index_at(in.bounds, middle) <= row ? sequence : high) = middle;
    }
    const i64 given = index_at(in.lengths, sequence);
    length = given < length ? given : length;
  }
  u32 count = 0;
#pragma unroll 1
  for (u32 first = 0; first < in.width; first += wave_size) {
    const u32 at = first + lane_id();
    const i64 index = at < in.width ? in.indices[row * in.row + at] : -1;
    bool is_key = index >= 0 && index < length;
    const u32 place = is_key ? static_cast<u32>(index) : 0, number = place / in.block_size;
    i64 page = number;
    if (!is_physical && is_key) {
      page = index_at(in.pages, static_cast<u32>(sequence * in.pages_row + number));
      is_key = page >= 0 && page < in.blocks;
    }
    const arch::lane_bits keys = arch::ballot(is_key);
    if (is_key) {
      const u32 slot = place - number * in.block_size;
      in.tokens[static_cast<u64>(row) * in.width + count + arch::count_before(keys)] =
          static_cast<u32>(page) * in.units_of_block + slot * in.units_of_slot;
    }
    count += __builtin_popcountll(keys);
  }
  if (lane_id() == 0) in.counts[row] = static_cast<i32>(count);
}

}  // namespace

}  // namespace hk
