// What the gradients of attention take besides: products of rows of results with their gradients,
// gradients of sinks, and those of queries from sums. See hk/attention_backward.h.
#include "hk/attention_backward.h"

namespace hk {

namespace {

// A row of queries and a head, which sixteen lanes have.
struct gradient_row {
  static constexpr int lanes = 16;
  u32 sequence, head;
  u64 row;  // among all
  bool is_there;

  __device__ gradient_row(const AttentionArgs& of, u32 number) : row(0), is_there(false) {
    const u32 heads = of.kv_heads * of.group, place = number / heads;
    head = number - place * heads;
    // Lengths differ among lanes.
    u32 start = 0, length = of.q_length;
    if (of.q_starts.base == nullptr) {
      sequence = place / length;
      if (sequence >= of.sequences) return;
      row = place - sequence * length;
    } else {
      row = place;
      // It begins at or before the row, if any does, and sequence `high` after it.
      sequence = 0;
      u32 high = of.sequences;
      while (high - sequence > 1) {
        const u32 middle = sequence + (high - sequence) / 2;
        (index_at(of.q_starts, middle) <= place ? sequence : high) = middle;
      }
      start = key_sequence::at_most(of.q_rows, index_at(of.q_starts, sequence));
      const u32 end = key_sequence::at_most(of.q_rows, index_at(of.q_starts, sequence + 1));
      length = key_sequence::at_most(length, static_cast<i64>(end) - start);
    }
    if (of.q_lengths.base != nullptr) {
      length = key_sequence::at_most(length, index_at(of.q_lengths, sequence));
    }
    is_there = row >= start && row - start < length;
  }

  template <class Tile>
  __device__ static gradient_row of_lane(const AttentionArgs& of) {
    return {of, block_idx().x * (Tile::threads / lanes) + thread_idx().x / lanes};
  }
};

// delta[i] = o[i] . do[i]. Sums to which gradients are added become zero.
template <class Tile>
__device__ inline void attention_delta(const BackwardArgs& in) {
  constexpr int lanes = gradient_row::lanes;
  const AttentionArgs& of = in.attention;
  const auto at = gradient_row::of_lane<Tile>(of);
  f32 sum = 0;
  if (at.is_there) {
    const auto address = [&](const KeyRows& rows) {
      return rows_of_head(rows, at.sequence, at.head) + at.row * rows.page;
    };
    const u64 result = address(in.results), gradient = address(in.queries.values);
    with_type(static_cast<dtype>(of.q_type), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (sizeof(T) == 2) {
        const auto eight = [&](u64 row, u32 column) {
          const T* from = reinterpret_cast<const T*>(row) + column;
          return to_f32<T, 8>(load_elements_or_zeros<T, 8>(from, of.value_width - column));
        };
        for (u32 column = thread_idx().x % lanes * 8; column < of.value_width; column += lanes * 8) {
          const vec<f32, 8> a = eight(result, column), b = eight(gradient, column);
          for (int i = 0; i < 8; ++i) sum = __builtin_fmaf(a[i], b[i], sum);
        }
      }
    });
    if (in.dq_sums != nullptr) {
      f32* sums = sums_of(in, at.sequence, at.row, at.head);
      // Rows of sums have room for whole fours.
      for (u32 column = thread_idx().x % lanes * 4; column < of.width; column += lanes * 4) {
        store_adjacent<f32, 4>(sums + column, 0);
      }
    }
  }
  sum = wave_reduce<add, lanes>(sum);
  if (at.is_there && thread_idx().x % lanes == 0) {
    in.delta[at.sequence * in.delta_sequence + at.row * in.delta_row + at.head * in.delta_head] = sum;
  }
}

// Sums of gradients of queries, times the factor of scores, as they are stored.
template <class Tile>
__device__ inline void convert_gradients(const BackwardArgs& in) {
  constexpr int lanes = gradient_row::lanes;
  const AttentionArgs& of = in.attention;
  const auto at = gradient_row::of_lane<Tile>(of);
  if (!at.is_there) return;
  const f32* sums = sums_of(in, at.sequence, at.row, at.head);
  with_type(static_cast<dtype>(of.o_type), [&](auto zero) {
    using T = decltype(zero);
    T* to = static_cast<T*>(of.o) + at.sequence * of.o_sequence + at.row * of.o_row + at.head * of.o_head;
    for (u32 column = thread_idx().x % lanes * 4; column < of.width; column += lanes * 4) {
      const u32 left = of.width - column;
      const vec<f32, 4> x = load_elements_or_zeros<f32, 4>(sums + column, left) * of.scale;
      store_first<T, 4>(to + column, left, round_to<T, 4>(x));
    }
  });
}

// Of each head, in order: -sum over queries of exp(sink - lse) delta.
template <class Tile>
__device__ inline void sink_gradients(const BackwardArgs& in) {
  __shared__ f32 scratch[Tile::threads / wave_size];
  const AttentionArgs& of = in.attention;
  const u32 head = block_idx().x;
  const f32 sink = of.sink_type == static_cast<u32>(dtype::f32)
                       ? static_cast<const f32*>(of.sinks)[head]
                       : to_f32(static_cast<const bf16*>(of.sinks)[head]);
  f32 sum = 0;
  for (u32 sequence = 0; sequence < of.sequences; ++sequence) {
    attention_task task;
    task.sequence = sequence;
    task.find_queries(of);
    for (u32 query = thread_idx().x; query < task.length; query += Tile::threads) {
      const query_numbers numbers(in, sequence, u64{task.start} + query, head);
      // Without weights, there is nothing that a sink shares in.
      if (numbers.lse == __builtin_inff() || sink == -__builtin_inff()) continue;
      sum -= arch::exp2(sink * log2_e - numbers.lse) * numbers.delta;
    }
  }
  sum = workgroup_reduce<add, Tile::threads / wave_size>(sum, scratch);
  if (thread_idx().x == 0) in.sink_gradients[head] = sum;
}

}  // namespace

}  // namespace hk
