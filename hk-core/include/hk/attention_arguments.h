// What kernels of attention are given, and which part of it a workgroup has.
#pragma once

#include "hk/attention_rows.h"
#include "hk/elements.h"

namespace hk {

// How the positions of keys and queries enter scores.
enum class alibi_form : u32 { none, distance, relative, to_context };

// Numbers of sequences and heads; the host's `HeadScales`. Distances in elements.
struct HeadScales {
  const f32* base;  // null if they are 1
  i64 sequence;
  i64 head;
  u32 shared_by;  // heads of queries that have the same number
  u32 reserved;
};

// Scales of slots of pages; the host's `SlotScales`. Distances in elements.
struct SlotScales {
  const f32* base;  // null if they are 1
  i64 page;
  i64 head;
  i64 slot;
};

// Scores as they change before they become weights; the host's `ScoreSteps`.
struct ScoreSteps {
  const f32* slopes;  // null if there are none
  i64 slopes_of_sequence;
  const void* bias;  // null if there is none; distances in elements
  i64 bias_sequence;
  i64 bias_head;
  i64 bias_row;
  i64 bias_key;
  const u8* mask;  // null if there is none: of each sequence, rows of all its keys
  IndexList mask_starts;
  u64 mask_bytes;
  SlotScales key_scales;  // of the first source
  SlotScales value_scales;
  f32 softcap;  // 0 if there is none
  f32 softcap_inverse;
  u32 form;            // an alibi_form
  u32 bias_type;       // a dtype
  u32 mask_skips_first;  // whether all rows of the first source are visible
  u32 drops;             // whether weights are dropped: those whose random number is below the threshold
  u32 threshold;
  u32 seed_low;
  u32 seed_high;
  u32 offset_low;
};

struct AttentionArgs {
  const void* q;  // distances in bytes
  i64 q_sequence;
  i64 q_row;
  i64 q_head;
  void* o;  // distances in elements
  i64 o_sequence;
  i64 o_row;
  i64 o_head;
  f32* lse;  // null if not wanted
  i64 lse_sequence;
  i64 lse_row;
  i64 lse_head;
  f32* parts;        // of rows of splits: sums, then [maximum, sum of weights] of each
  f32* part_states;
  KeySource source[2];
  IndexList q_starts;
  IndexList q_lengths;
  ScoreSteps steps;
  HeadScales q_scale;
  HeadScales k_scale;
  HeadScales v_scale;
  const f32* o_scale;  // what results are divided by; null if nothing
  const void* sinks;   // null if there are none
  u32 sink_type;
  u32 q_length;  // of each sequence, at most
  u32 q_starts_are_bounds;
  u32 q_rows;  // of all sequences together, if they have starts
  u32 q_type;
  u32 o_type;  // a row_type
  u32 width;   // of queries and keys
  u32 value_width;
  i32 left;  // keys before a query's position that it sees; all if negative
  i32 right;
  u32 top_left;  // whether query 0 is at key 0, rather than the last query at the last key
  u32 sequences;
  u32 kv_heads;
  u32 group;   // heads of queries for each of keys
  u32 tiles;   // of rows of a sequence and head, at most
  u32 splits;  // of keys; results are parts if there are several
  u32 has_steps;
  u32 skips;  // 1 if sequences of one query are left alone, 2 if all others are
  f32 scale;
  f32 keep_scale;  // of results, for weights that are dropped
  u32 part_rows;   // of a sequence and head, that have parts
  u32 reserved;
};

// The sequence and head of a workgroup, and what it has of it. All of it is the same for the workgroup.
struct attention_task {
  u32 sequence, head;  // of keys
  u32 tile, split;
  u32 start;   // of its queries among all rows
  u32 length;  // queries
  i32 delta;   // from a query's number to its position

  attention_task() = default;

  __device__ attention_task(const AttentionArgs& in, u32 id) {
    split = id % in.splits;
    id = uniform(id / in.splits);
    // Those with most keys first.
    tile = in.tiles - 1 - id % in.tiles;
    id = uniform(id / in.tiles);
    head = id % in.kv_heads;
    sequence = uniform(id / in.kv_heads);
    find_queries(in);
  }

  __device__ void find_queries(const AttentionArgs& in) {
    start = 0;
    length = in.q_length;
    if (in.q_starts.base != nullptr) {
      start = key_sequence::at_most(in.q_rows, index_at(in.q_starts, sequence));
      u32 end = in.q_rows;
      if (in.q_starts_are_bounds) {
        end = key_sequence::at_most(in.q_rows, index_at(in.q_starts, sequence + 1));
      }
      length = key_sequence::at_most(length, static_cast<i64>(end) - start);
    }
    if (in.q_lengths.base != nullptr) {
      length = key_sequence::at_most(length, index_at(in.q_lengths, sequence));
    }
    start = uniform(start);
    length = uniform(length);
    if (in.skips == (length == 1 ? 1u : 2u)) length = 0;
  }
};

// The kernel's arguments, read again: there are more than scalar registers have room for. They begin
// with those of so many problems.
__device__ inline const AttentionArgs& attention_arguments(u32 problem = 0) {
  auto arguments = arch::kernel_arguments<AttentionArgs>() + problem;
  asm volatile("" : "+s"(arguments));
  return *(const AttentionArgs*)arguments;
}

}  // namespace hk
