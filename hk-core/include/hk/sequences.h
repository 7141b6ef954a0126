// Sequences of tokens that follow each other, or are equally long, in chunks: which one a workgroup or
// a wave has.
#pragma once

#include "hk/indices.h"
#include "hk/wave.h"

namespace hk {

// Bound i of sequences that follow each other, which is within the tokens whatever is in memory.
__device__ inline u32 bound_at(const IndexList& bounds, u32 tokens, u32 i) {
  const i64 index = index_at(bounds, i);
  return index < 0 ? 0 : index < tokens ? static_cast<u32>(index) : tokens;
}

// A chunk of a sequence. All of it is the same for the wave.
struct sequence_chunk {
  u32 sequence;
  u32 start;   // of the sequence among all tokens
  u32 length;  // of the sequence
  u32 begin;   // of the chunk in the sequence
  u32 count;   // tokens of the chunk; none if there is no such chunk

  sequence_chunk() = default;

  // What slot number `slot` has. Without bounds, each sequence has `tokens`, and as many slots as
  // chunks; with bounds, `tokens` are those of all, and sequence i has the slots from
  // bounds[i] / chunk + i on: as many as it has chunks, or one more.
  __device__ sequence_chunk(const IndexList& bounds, u32 sequences, u32 tokens, u32 chunk_log2,
                            u32 slot) {
    u32 number;
    if (bounds.base == nullptr) {
      start = 0;
      length = tokens;
      const u32 chunks = ((length - 1) >> chunk_log2) + 1;
      sequence = uniform(slot / chunks);
      number = slot - sequence * chunks;
    } else {
      u32 low = 0, high = sequences;
      while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        const bool is_before = (bound_at(bounds, tokens, middle) >> chunk_log2) + middle <= slot;
        low = is_before ? middle : low;
        high = is_before ? high : middle;
      }
      sequence = low;
      start = bound_at(bounds, tokens, low);
      length = __builtin_elementwise_sub_sat(bound_at(bounds, tokens, low + 1), start);
      number = slot - ((start >> chunk_log2) + low);
    }
    const u32 chunks = length == 0 ? 0 : ((length - 1) >> chunk_log2) + 1;
    begin = number << chunk_log2;
    count = length - begin;
    if (count > 1u << chunk_log2) count = 1u << chunk_log2;
    if (number >= chunks) count = 0;
  }
};

}  // namespace hk
