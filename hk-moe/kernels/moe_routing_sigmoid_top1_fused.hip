// The expert of each token whose logit x w is the largest, and the sigmoid of that.
//
// A workgroup has sixteen tokens and, in turn, each 128 experts; its waves share k. Fragments of
// the matrix instructions come from global memory: fragment f of the weights has experts f, 8 + f,
// 16 + f and so on, so that a lane has eight adjacent ones, which it turns around in registers if
// it is experts that are adjacent in memory. Sums of all waves meet in LDS, where each of 32 lanes
// for a token takes the best of its experts.
#include "hk/math.h"
#include "hk/mma.h"
#include "hk/wave.h"

namespace hk {

struct Top1Args {
  const void* x;
  const void* w;
  i32* ids;
  f32* weights;
  i64 x_stride;      // in elements, as all strides
  i64 w_strides[2];  // from k to k, and from expert to expert
  i64 ids_stride;
  i64 weights_stride;
  u32 tokens;
  u32 experts;
  u32 k;
  u32 x_in_chunks;  // whether rows of x are of whole chunks of 16 bytes
  u32 w_order;      // as `weight_order`
  u32 by_logit;     // whether logits are compared, not their sigmoids
  u32 has_shared;   // whether every token has expert `experts` too
};

namespace {

enum class weight_order : u32 { any, chunks_of_k, chunks_of_experts };

constexpr int top1_tokens = 16;
constexpr int top1_fragments = 8;
constexpr u32 top1_experts = top1_fragments * top1_tokens;
constexpr u32 top1_chunk = 8;  // elements of 16 bytes
constexpr u32 top1_depth = wave_size / top1_tokens * top1_chunk;

using chunk_fragment = fragment_of<bits128, 1>;

// Eight elements that may be apart, of which only `count` are there; others are zero.
template <class T>
__device__ inline bits128 gather(const T* from, i64 stride, u32 count) {
  vec<T, top1_chunk> values;
  for (u32 i = 0; i < top1_chunk; ++i) {
    values[i] = i < count ? from[i * stride] : static_cast<T>(0.0f);
  }
  return bit_cast<bits128>(values);
}

// Element f of each of eight rows.
template <int F>
__device__ inline bits128 column_of(const bits128 (&rows)[top1_chunk]) {
  constexpr u32 halves = F % 2 == 0 ? 0x05040100 : 0x07060302;
  bits128 column;
  for (int i = 0; i < 4; ++i) {
    column[i] = arch::pick_bytes<halves>(rows[2 * i + 1][F / 2], rows[2 * i][F / 2]);
  }
  return column;
}

// What a lane has of the operands; past the end of k there are zeros.
template <class T>
struct top1_operands {
  const Top1Args& args;
  u32 token, expert;  // the lane's row of x, and the first of its eight of w

  __device__ chunk_fragment x(u32 k) const {
    const T* from = static_cast<const T*>(args.x) + token * args.x_stride + k;
    const u32 left = __builtin_elementwise_sub_sat(args.k, k);
    if (args.x_in_chunks != 0) {
      bits128 bits = 0;
      if (left != 0) bits = *reinterpret_cast<const bits128*>(from);
      return {bits};
    }
    return {gather(from, 1, left)};
  }

  __device__ void w(u32 k, chunk_fragment (&fragments)[top1_fragments]) const {
    const T* from = static_cast<const T*>(args.w) + k * args.w_strides[0];
    const u32 left = __builtin_elementwise_sub_sat(args.k, k);
    const weight_order order = static_cast<weight_order>(args.w_order);
    if (order == weight_order::chunks_of_experts) {
      bits128 rows[top1_chunk];
      const bool is_there = expert < args.experts;
      for (u32 i = 0; i < top1_chunk; ++i) {
        rows[i] = 0;
        if (is_there && i < left) {
          rows[i] = *reinterpret_cast<const bits128*>(from + i * args.w_strides[0] + expert);
        }
      }
      static_for<top1_fragments>([&](auto f) { fragments[f.value] = {column_of<f.value>(rows)}; });
      return;
    }
    static_for<top1_fragments>([&](auto f) {
      const T* const of_expert = from + (expert + f.value) * args.w_strides[1];
      const bool is_there = expert + f.value < args.experts;
      bits128 bits = 0;
      if (order == weight_order::chunks_of_k) {
        if (is_there && left != 0) bits = *reinterpret_cast<const bits128*>(of_expert);
      } else if (is_there) {
        bits = gather(of_expert, args.w_strides[0], left);
      }
      fragments[f.value] = {bits};
    });
  }
};

// Larger for what is better, of which NaN is the best, and back: of logits, and of 1 + e^-logit,
// which is positive. NaN has one sign, that which makes it the best.
__device__ inline u32 key_of_logit(f32 logit) {
  // Zeros are equal.
  const u32 bits = bit_cast<u32>(logit == logit ? logit + 0.0f : __builtin_nanf(""));
  return bits ^ (static_cast<u32>(static_cast<i32>(bits) >> 31) | 0x80000000);
}
__device__ inline f32 logit_of(u32 key) {
  return bit_cast<f32>((key & 0x80000000) != 0 ? key ^ 0x80000000 : ~key);
}
__device__ inline u32 key_of_divisor(f32 divisor) {
  return bit_cast<u32>(divisor == divisor ? divisor : -__builtin_nanf("")) ^ 0x7fffffff;
}
__device__ inline f32 divisor_of(f32 logit) { return 1.0f + exp(-logit); }
__device__ inline f32 weight_of(u32 key, bool by_logit) {
  return reciprocal(by_logit ? divisor_of(logit_of(key)) : bit_cast<f32>(key ^ 0x7fffffff));
}

struct better {
  __device__ static u64 apply(u64 a, u64 b) { return a > b ? a : b; }
};

template <class Tile>
__device__ inline void moe_routing_sigmoid_top1_fused(const Top1Args& args) {
  using T = typename Tile::T;
  constexpr u32 waves = Tile::threads / wave_size;
  constexpr u32 half = top1_experts / 2, lanes_of_token = Tile::threads / top1_tokens;
  static_assert(lanes_of_token == half / 2);
  // Rows of sums are so far apart that lanes with several tokens write them to other banks. Of two
  // rows that a wave reads, it begins the second where the banks are free.
  constexpr u32 gap = 4;
  __shared__ f32 sums[waves][top1_tokens][half + gap];
  const u32 of_token = thread_idx().x % lanes_of_token, token = thread_idx().x / lanes_of_token;
  const u32 start = of_token + token % 2 * (half - lanes_of_token - gap);
  constexpr atom_layout layout{top1_tokens};

  const u32 lane = lane_id(), first = block_idx().x * top1_tokens;
  const u32 last = args.tokens - 1, row = first + layout.row(lane);
  u64 best = 0;
  for (u32 base = 0; base < args.experts; base += top1_experts) {
    const u32 expert = base + layout.row(lane) * top1_fragments;
    const top1_operands<T> operands{args, row < last ? row : last, expert};
    vec<f32, 4> partial[top1_fragments] = {};
#pragma unroll 1
    for (u32 k = wave_id() * top1_depth; k < args.k; k += waves * top1_depth) {
      const u32 of_lane = k + layout.chunk(lane) * top1_chunk;
      chunk_fragment w[top1_fragments];
      const chunk_fragment x = operands.x(of_lane);
      operands.w(of_lane, w);
      static_for<top1_fragments>([&](auto f) {
        partial[f.value] = mma_ABt<T>(x, w[f.value], partial[f.value]);
      });
    }
    static_for<2>([&](auto part) {
      static_for<top1_fragments / 2>([&](auto f) {
        for (int r = 0; r < 4; ++r) {
          sums[wave_id()][layout.d_row(lane, r)][f.value * top1_tokens + layout.d_column(lane)] =
              partial[part.value * top1_fragments / 2 + f.value][r];
        }
      });
      sync_threads();
      for (u32 turn = 0; turn < half; turn += lanes_of_token) {
        const u32 i = (start + turn) % half;
        f32 logit = 0;
        for (u32 wave = 0; wave < waves; ++wave) logit += sums[wave][token][i];
        const u32 fragment = part.value * top1_fragments / 2 + i / top1_tokens;
        const u32 id = base + i % top1_tokens * top1_fragments + fragment;
        const u32 key =
            args.by_logit != 0 ? key_of_logit(logit) : key_of_divisor(divisor_of(logit));
        // Of equal ones the first; above zero, which stands for none.
        const u64 found = static_cast<u64>(key) << 32 | ~id;
        if (id < args.experts) best = better::apply(best, found);
      }
      sync_threads();
    });
  }
  best = wave_reduce<better, lanes_of_token>(best);
  if (first + token >= args.tokens || of_token > args.has_shared) return;
  const bool is_shared = of_token == 1;
  args.ids[(first + token) * args.ids_stride + of_token] =
      static_cast<i32>(is_shared ? args.experts : ~static_cast<u32>(best));
  args.weights[(first + token) * args.weights_stride + of_token] =
      is_shared ? 1.0f : weight_of(static_cast<u32>(best >> 32), args.by_logit != 0);
}

}  // namespace

}  // namespace hk
