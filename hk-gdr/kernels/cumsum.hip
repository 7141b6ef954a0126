// o[t] = scale * sum_{chunk start..t} s, or sum_{t..chunk end}, of each chunk of tokens of sequences and
// of each column, which is a head, or an element of one. f32, in an order that depends on the chunk's
// length and the layout alone.
//
// A wave has a chunk of adjacent columns. The lanes of a column have eight adjacent tokens each; they add
// up their own, and exchange sums. What they have not yet come in turn, from the end of the chunk if sums
// are to end there, so that each sum is of its own tokens alone.
#include "hk/elements.h"
#include "hk/lane_sums.h"
#include "hk/sequences.h"

namespace hk {

// Distances in elements: from sequence to sequence, from token to token, from head to head, and from
// element to element of one.
struct CumsumStrides {
  i64 sequence;
  i64 token;
  i64 head;
  i64 element;
};

struct CumsumArgs {
  const void* s;
  void* o;
  IndexList bounds;  // of sequences that follow each other, one more than there are
  CumsumStrides s_strides;
  CumsumStrides o_strides;
  u32 sequences;
  u32 tokens;  // of each sequence, or of all together if they have bounds
  u32 heads;
  u32 head_size;
  u32 chunk_log2;         // tokens of a chunk
  u32 slots;              // chunks of all sequences, or more
  u32 token_lanes_log2;   // lanes that share a column
  u32 output_type;        // a dtype
  u32 reverse;
  f32 scale;
};

namespace {

// Tokens of a lane.
constexpr u32 run = 8;
using run_values = vec<f32, run>;

template <class Tile>
__device__ inline void cumsum(const CumsumArgs& args) {
  using T = typename Tile::T;
  const u32 wave = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const u32 lanes_log2 = args.token_lanes_log2, lanes = 1u << lanes_log2;
  const u32 columns_of_wave = wave_size >> lanes_log2, columns = args.heads * args.head_size;
  const u32 blocks = (columns + columns_of_wave - 1) / columns_of_wave;
  const u32 slot = uniform(wave / blocks);
  if (slot >= args.slots) return;
  const sequence_chunk chunk(args.bounds, args.sequences, args.tokens, args.chunk_log2, slot);
  if (chunk.count == 0) return;

  const u32 column = (wave - slot * blocks) * columns_of_wave + (lane_id() >> lanes_log2);
  const u32 head = column / args.head_size, element = column - head * args.head_size;
  const auto at = [&](const CumsumStrides& strides) {
    return chunk.sequence * strides.sequence + head * strides.head + element * strides.element +
           (static_cast<i64>(chunk.start) + chunk.begin) * strides.token;
  };
  const T* const from = static_cast<const T*>(args.s) + at(args.s_strides);
  const i64 to = at(args.o_strides);
  const bool reverse = args.reverse != 0;

  const u32 span_log2 = lanes_log2 + log2_exact(run);  // of the tokens that the lanes have at once
  const u32 spans = ((chunk.count - 1) >> span_log2) + 1;
  f32 carry = 0;
#pragma unroll 1
  for (u32 i = 0; i < spans; ++i) {
    const u32 span = reverse ? spans - 1 - i : i;
    const u32 first = (span << span_log2) + (lane_id() & (lanes - 1)) * run;
    u32 count = __builtin_elementwise_sub_sat(chunk.count, first);
    if (count > run) count = run;
    if (column >= columns) count = 0;
    run_values sums = 0;
    if (count > 0) {
      const i64 stride = args.s_strides.token;
      sums = to_f32<T, run>(load_elements<T, run>(from + first * stride, stride, count));
    }
    for (u32 e = 0; e < run; ++e) sums[e] = e < count ? sums[e] : 0;
    if (reverse) {
      for (u32 e = run - 1; e > 0; --e) sums[e - 1] += sums[e];
    } else {
      for (u32 e = 1; e < run; ++e) sums[e] += sums[e - 1];
    }
    const lane_sums scanned = scan_lanes(reverse ? sums[0] : sums[run - 1], lanes, reverse);
    sums += carry + scanned.before;
    carry += scanned.all;
    if (count == 0) continue;
    with_type(static_cast<dtype>(args.output_type), [&](auto zero) {
      using O = decltype(zero);
      const i64 stride = args.o_strides.token;
      const auto values = round_to<O, run>(sums * args.scale);
      store_elements<O, run>(static_cast<O*>(args.o) + to + first * stride, stride, count, values);
    });
  }
}

}  // namespace

}  // namespace hk
