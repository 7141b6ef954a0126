// Gradients of attention; see hk/attention_backward.h.
#include "hk/attention_backward.h"

namespace hk {

namespace {

template <class Tile, bool Keys, bool Fused = false>
__device__ __attribute__((always_inline)) inline void differentiate(u32 id, lds_pointer lds) {
  using block_of = backward_block<Tile, Keys, Fused>;
  const BackwardArgs& in = backward_arguments();
  const u32 tiles = Keys ? in.key_tiles : in.query_tiles;
  const u32 of_head = uniform(id / tiles), kv_heads = in.attention.kv_heads;
  // Those that keys of a causal mask have most queries for come first, and queries with most keys.
  const u32 tile = Keys ? id - of_head * tiles : tiles - 1 - (id - of_head * tiles);
  const u32 sequence = uniform(of_head / kv_heads);
  block_of block(in, sequence, of_head - sequence * kv_heads, lds);
  if (tile * block_of::rows_of_block >= block.rows) return;
  block.begin(tile);
  block.run(tile);
  block.store();
}

// Blocks of keys, then blocks of rows of queries.
template <class Tile>
__device__ inline void attention_backward(const BackwardArgs&) {
  using of_keys = backward_block<Tile, true>;
  using of_queries = backward_block<Tile, false>;
  constexpr int bytes = max(of_keys::lds_bytes, of_queries::lds_bytes);
  __shared__ alignas(256) char memory[bytes];
  const AttentionArgs& in = backward_arguments().attention;
  const u32 heads = in.sequences * in.kv_heads;
  const u32 of_first = uniform(heads * backward_arguments().key_tiles);
  const u32 id = contiguous_per_xcd(block_idx().x, grid_dim().x);
  if (id < of_first) {
    differentiate<Tile, true>(id, lds_start(memory));
  } else {
    differentiate<Tile, false>(id - of_first, lds_start(memory));
  }
}

// Blocks of keys, which add gradients of queries to memory.
template <class Tile>
__device__ inline void attention_backward_fused(const BackwardArgs&) {
  __shared__ alignas(256) char memory[backward_block<Tile, true, true>::lds_bytes];
  const u32 id = contiguous_per_xcd(block_idx().x, grid_dim().x);
  differentiate<Tile, true, true>(id, lds_start(memory));
}

}  // namespace

}  // namespace hk
