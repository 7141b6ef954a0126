// What becomes of the sums of a row of attention: results, or parts that are merged later.
#pragma once

#include "hk/arch/logarithm.h"
#include "hk/attention_arguments.h"
#include "hk/quant.h"

namespace hk {

// A row's results, as far as they go, are its sums of weighed values, the sum of the weights, and in
// units of log2 what was subtracted from its scores.
struct row_state {
  f32 maximum, sum;

  __device__ f32 lse() const {
    constexpr f32 ln_2 = 0x1.62e43p-1f;
    return sum == 0 ? -__builtin_inff() : ln_2 * (maximum + arch::log2(sum));
  }
};

// By how much both sides of a sum are to be multiplied, and the state of the sum.
struct merged_states {
  row_state state;
  f32 of_a, of_b;
};
__device__ inline merged_states merge(row_state a, row_state b) {
  const f32 m = a.maximum > b.maximum ? a.maximum : b.maximum;
  const bool none = m == -__builtin_inff();
  const f32 of_a = none ? 0 : arch::exp2(a.maximum - m), of_b = none ? 0 : arch::exp2(b.maximum - m);
  return {{m, a.sum * of_a + b.sum * of_b}, of_a, of_b};
}

// Number of a part of a row's results: those of a row are next to each other.
__device__ inline u64 part_of(const AttentionArgs& in, const attention_task& task, u32 row, u32 split) {
  const u64 head = static_cast<u64>(task.sequence) * in.kv_heads + task.head;
  return (head * in.part_rows + row) * in.splits + split;
}

// Stores the first of N adjacent elements, `count` if there are not as many.
template <class T, int N>
__device__ inline void store_first(T* to, u32 count, vec<T, N> x) {
  if (count >= N) return store_adjacent<T, N>(to, x);
  // Few rows end so: a short loop.
#pragma unroll 1
  for (u32 i = 0; i < count; ++i) {
    to[i] = x[0];
    vec<T, N> rest = x;
    static_for<N - 1>([&](auto next) { rest[next.value] = x[next.value + 1]; });
    x = rest;
  }
}

// Stores N values of a row from column `column` on, `sums` divided by the state's sum.
template <int N>
__device__ inline void store_row(const AttentionArgs& in, const attention_task& task, u32 row,
                                 u32 column, vec<f32, N> sums, row_state state) {
  const u32 query = row / in.group, head = task.head * in.group + row % in.group;
  f32 factor = state.sum == 0 ? 0 : in.keep_scale / state.sum;
  if (in.v_scale.base != nullptr) {
    factor *= in.v_scale.base[task.sequence * in.v_scale.sequence + task.head * in.v_scale.head];
  }
  if (in.o_scale != nullptr) factor /= *in.o_scale;
  const u64 at_row = static_cast<u64>(task.start) + query;
  if (column == 0 && in.lse != nullptr) {
    in.lse[task.sequence * in.lse_sequence + at_row * in.lse_row + head * in.lse_head] = state.lse();
  }
  if (column >= in.value_width) return;
  const u32 left = in.value_width - column;
  const u64 at = task.sequence * in.o_sequence + at_row * in.o_row + head * in.o_head + column;
  const vec<f32, N> x = sums * factor;
  if (in.o_type >= static_cast<u32>(row_type::e4m3)) {
    const auto codes = bit_cast<vec<u8, N>>(encode<e4m3_codes, N>(x));
    store_first<u8, N>(static_cast<u8*>(in.o) + at, left, codes);
    return;
  }
  with_type(static_cast<dtype>(in.o_type), [&](auto zero) {
    using O = decltype(zero);
    store_first<O, N>(static_cast<O*>(in.o) + at, left, round_to<O, N>(x));
  });
}

// A part's sums and state, which are to be merged with others.
template <int N>
__device__ inline void store_part(const AttentionArgs& in, u64 part, u32 column, vec<f32, N> sums,
                                  row_state state) {
  if (column == 0) {
    in.part_states[part * 2] = state.maximum;
    in.part_states[part * 2 + 1] = state.sum;
  }
  if (column >= in.value_width) return;
  store_first<f32, N>(in.parts + part * in.value_width + column, in.value_width - column, sums);
}

// Adds a part's sums from column `column` on to those of the parts before.
__device__ inline void merge_part(const AttentionArgs& in, u64 part, u32 column, vec<f32, 4>& sums,
                                  row_state& state) {
  const merged_states both =
      merge(state, {in.part_states[part * 2], in.part_states[part * 2 + 1]});
  const f32* from = in.parts + part * in.value_width + column;
  const vec<f32, 4> own = load_elements<f32, 4>(from, 1, in.value_width - column);
  // A part without weights has nothing to say, whatever it is.
  sums = sums * both.of_a + (both.of_b == 0 ? vec<f32, 4>(0) : own * both.of_b);
  state = both.state;
}

}  // namespace hk
