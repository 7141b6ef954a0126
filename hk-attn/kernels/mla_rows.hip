// Rows of a latent decode before attention: queries whose last columns are rotated, of each sequence the
// last key with its columns rotated, and which tokens splits have of sequences. A wave has a row of
// queries, or what there is of a sequence.
#include "hk/attention_rows.h"
#include "hk/elements.h"
#include "hk/math.h"
#include "hk/types.h"
#include "hk/wave.h"

namespace hk {

struct MlaRowsArgs {
  const void* q;  // distances in elements
  i64 q_sequence;
  i64 q_head;
  void* rotated_q;  // [sequences, heads, width]
  void* rotated_k;  // [sequences, width + value_width], values behind keys if they are apart
  void* k_pe;       // [sequences, width - rank]
  i64 k_pe_row;
  const void* cos_sin;  // rows of cosines, then sines
  i64 cos_sin_row;
  IndexList positions;
  KeySource source;
  // Of each split of each sequence:
  i32* split_sequences;
  i32* split_starts;   // in the list of tokens
  i32* split_lengths;  // without what is rotated
  i32* split_rotated;  // 1 if the sequence's last key is the split's
  u32 sequences;
  u32 heads;  // that are rotated; 0 if nothing is
  u32 width;
  u32 rank;
  u32 value_width;  // of values that are apart; 0 if they are columns of keys
  u32 rotary;       // columns that are rotated
  u32 rows;         // of the tables
  u32 table_type;   // a dtype
  u32 interleaved;  // whether pairs are (2i, 2i + 1)
  u32 split_count;
};

namespace {

template <class T>
__device__ inline void copy_row(T* to, const T* from, u32 width) {
#pragma unroll 1
  for (u32 column = lane_id(); column < width; column += wave_size) {
    arch::store_global<T>(to + column, arch::load_global<T>(from + column));
  }
}

// Rotates what is behind the first `rank` columns of a row, and copies what is not rotated.
template <class T>
__device__ inline void rotate_row(const MlaRowsArgs& in, u32 sequence, const T* from, T* to) {
  const i64 given = index_at(in.positions, sequence), last = static_cast<i64>(in.rows) - 1;
  const i64 position = given < 0 ? 0 : given > last ? last : given;
  const u32 half = in.rotary / 2;
#pragma unroll 1
  for (u32 pair = lane_id(); pair < half; pair += wave_size) {
    f32 cos, sin;
    with_type(static_cast<dtype>(in.table_type), [&](auto zero) {
      using Table = decltype(zero);
      const Table* row = static_cast<const Table*>(in.cos_sin) + position * in.cos_sin_row;
      cos = to_f32(row[pair]);
      sin = to_f32(row[half + pair]);
    });
    const u32 i = in.interleaved ? 2 * pair : pair, j = in.interleaved ? i + 1 : i + half;
    const f32 x = to_f32(arch::load_global<T>(from + i)), y = to_f32(arch::load_global<T>(from + j));
    arch::store_global<T>(to + i, round_to<T>(x * cos - y * sin));
    arch::store_global<T>(to + j, round_to<T>(y * cos + x * sin));
  }
  copy_row(to + in.rotary, from + in.rotary, in.width - in.rank - in.rotary);
}

// What splits have of a sequence, each as many tokens as the others, but the last.
__device__ inline void split_sequence(const MlaRowsArgs& in, u32 sequence, const key_sequence& all) {
  const u32 each = (all.length + in.split_count - 1) / in.split_count;
#pragma unroll 1
  for (u32 split = lane_id(); split < in.split_count; split += wave_size) {
    const u64 from = static_cast<u64>(split) * each;
    const u32 begin = from < all.length ? static_cast<u32>(from) : all.length;
    const u32 end = all.length - begin < each ? all.length : begin + each;
    const bool has_last = in.heads > 0 && begin < end && end == all.length;
    const u32 at = sequence * in.split_count + split;
    in.split_sequences[at] = static_cast<i32>(sequence);
    in.split_starts[at] = static_cast<i32>(all.start + begin);
    in.split_lengths[at] = static_cast<i32>(end - begin - has_last);
    in.split_rotated[at] = has_last;
  }
}

// The last key of a sequence.
template <class T>
__device__ inline void rotate_last(const MlaRowsArgs& in, u32 sequence, const key_sequence& all) {
  T* const pe = static_cast<T*>(in.k_pe) + sequence * in.k_pe_row;
  const u32 width = in.width - in.rank;
  if (all.length == 0) {
    for (u32 column = lane_id(); column < width; column += wave_size) pe[column] = T(0);
    return;
  }
  const row_place place = find_row(in.source, all, all.length - 1);
  const auto row_of = [&](const KeyRows& rows) {
    return reinterpret_cast<const T*>(
        row_address(in.source, rows, reinterpret_cast<u64>(rows.base), place));
  };
  const T* const key = row_of(in.source.keys);
  T* const to = static_cast<T*>(in.rotated_k) + sequence * static_cast<u64>(in.width + in.value_width);
  copy_row(to, key, in.rank);
  rotate_row(in, sequence, key + in.rank, to + in.rank);
  rotate_row(in, sequence, key + in.rank, pe);
  copy_row(to + in.width, row_of(in.source.values), in.value_width);
}

template <class Tile>
__device__ inline void mla_rows(const MlaRowsArgs& in) {
  using T = typename Tile::T;
  const u32 number = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const u32 sequence = uniform(number / (in.heads + 1)), head = number - sequence * (in.heads + 1);
  if (sequence >= in.sequences) return;
  if (head == in.heads) {
    const key_sequence all(in.source, sequence, 0, 0);
    split_sequence(in, sequence, all);
    if (in.heads > 0) rotate_last<T>(in, sequence, all);
    return;
  }
  const T* const q = static_cast<const T*>(in.q) + sequence * in.q_sequence + head * in.q_head;
  T* const to = static_cast<T*>(in.rotated_q) +
                (static_cast<u64>(sequence) * in.heads + head) * in.width;
  copy_row(to, q, in.rank);
  rotate_row(in, sequence, q + in.rank, to + in.rank);
}

}  // namespace

}  // namespace hk
