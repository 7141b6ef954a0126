// Attention shared evenly among workgroups, as stream-K shares products (Sanovar et al., "Lean Attention:
// Hardware-Aware Scalable Attention Mechanism for the Decode-Phase of Transformers", 2024).
//
// A *unit* is a tile of keys for a tile of rows of queries; those of a tile of rows follow each other, as
// do tiles, heads and sequences. Each program has as many as the others, or one more. What it has of a tile
// that others have too, it leaves as a part in memory; the parts of a tile are merged in the order of
// programs, whoever was first.
#pragma once

#include "hk/attention.h"

namespace hk {

// The most problems of a launch.
inline constexpr u32 lean_problems = 2;

// A sequence of a problem, as `lean_plan` has found it; one more has the number of all units.
struct LeanSequence {
  i64 start;  // of its keys, or of their pages
  u32 length;
  u32 first_unit;
};

struct LeanArgs {
  AttentionArgs problem[lean_problems];
  LeanSequence* plan[lean_problems];
  IndexList ends;  // of the pages of sequences that follow each other, if these have no lengths
  u32* flags;      // of programs of all problems: whether their parts are there; null if nobody waits
  u32 programs[lean_problems];
  u32 block_q;          // rows of a tile
  u32 block_k;          // keys of a unit
  u32 starts_are_sums;  // whether sequences of keys follow each other
  u32 reserved;
};

__device__ inline const LeanArgs& lean_arguments() {
  auto arguments = arch::kernel_arguments<LeanArgs>();
  asm volatile("" : "+s"(arguments));
  return *(const LeanArgs*)arguments;
}

// A program among those of its problem.
struct lean_program {
  u32 problem, number, count;

  // Those of two problems are dealt so that both are everywhere.
  __device__ lean_program(const LeanArgs& lean, u32 id) {
    const u32 all = lean.programs[0] + lean.programs[1];
    const auto of_first = [&](u32 ids) {
      return static_cast<u32>(static_cast<u64>(ids) * lean.programs[0] / all);
    };
    const u32 before = uniform(of_first(id));
    problem = uniform(static_cast<u32>(of_first(id + 1) == before));
    number = problem ? id - before : before;
    count = lean.programs[problem];
  }
  __device__ lean_program(const LeanArgs& lean, u32 problem, u32 number)
      : problem(problem), number(number), count(lean.programs[problem]) {}

  // Where a program's units begin, and whose a unit is.
  __device__ u32 bound(u32 units, u32 program) const {
    const u32 each = units / count, more = units - each * count;
    return uniform(each * program + (program < more ? program : more));
  }
  __device__ u32 owner(u32 units, u32 unit) const {
    const u32 each = units / count, more = units - each * count;
    const u32 of_longer = more * (each + 1);
    return uniform(unit < of_longer ? unit / (each + 1) : more + (unit - of_longer) / each);
  }
  // Its flag's number among all programs'.
  __device__ u32 flag(const LeanArgs& lean, u32 program) const {
    return problem * lean.programs[0] + program;
  }
};

// Units of a tile of rows that sees some of so many keys.
__device__ inline u32 lean_units(const AttentionArgs& in, const LeanArgs& lean, u32 keys, u32 tile) {
  if (in.right >= 0) {
    const u32 rows = in.q_length * in.group;
    u32 last = (tile + 1) * lean.block_q - 1;
    if (last >= rows) last = rows - 1;
    // Query i is at key i, or the last one at the last.
    const i64 end = static_cast<i64>(last / in.group) + 1 +
                    (in.top_left ? 0 : static_cast<i64>(keys) - in.q_length);
    keys = end < 0 ? 0 : end < keys ? static_cast<u32>(end) : keys;
  }
  // Even without keys, there is a result.
  return keys == 0 ? 1 : (keys + lean.block_k - 1) / lean.block_k;
}

__device__ inline u32 lean_units_of_head(const AttentionArgs& in, const LeanArgs& lean, u32 keys) {
  if (in.right < 0) return in.tiles * lean_units(in, lean, keys, 0);
  u32 units = 0;
#pragma unroll 1
  for (u32 tile = 0; tile < in.tiles; ++tile) units += lean_units(in, lean, keys, tile);
  return units;
}

// Where a unit is. All of it is the same for the workgroup.
struct lean_place {
  u32 sequence, head, tile;
  key_sequence keys;
  u32 first;  // the tile's first unit among all
  u32 units;  // of the tile

  __device__ static u32 all_units(const LeanArgs& lean, u32 problem) {
    return uniform(lean.plan[problem][lean.problem[problem].sequences].first_unit);
  }

  // The place of a tile.
  __device__ lean_place(const LeanArgs& lean, u32 problem, u32 sequence, u32 head, u32 tile)
      : sequence(sequence), head(head), tile(tile) {
    const AttentionArgs& in = lean.problem[problem];
    first = take(lean, problem);
    units = lean_units(in, lean, keys.length, 0);
    for (u32 before = 0; before < tile; ++before) next(in, lean, before + 1);
    finish(in);
  }

  // The place of a unit, which there is.
  __device__ lean_place(const LeanArgs& lean, u32 problem, u32 unit) {
    const AttentionArgs& in = lean.problem[problem];
    const LeanSequence* plan = lean.plan[problem];
    u32 low = 0, high = in.sequences;
    while (high - low > 1) {
      const u32 middle = low + (high - low) / 2;
      const bool is_before = uniform(plan[middle].first_unit) <= unit;
      low = is_before ? middle : low;
      high = is_before ? high : middle;
    }
    sequence = low;
    head = 0;
    const u32 begin = uniform(plan[low].first_unit), end = uniform(plan[low + 1].first_unit);
    const u32 of_head = uniform((end - begin) / in.kv_heads);
    head = uniform((unit - begin) / of_head);
    first = take(lean, problem);
    tile = 0;
    units = lean_units(in, lean, keys.length, 0);
#pragma unroll 1
    while (unit >= first + units) next(in, lean, ++tile);
    finish(in);
  }

 private:
  // The first unit of the head; and its keys.
  __device__ u32 take(const LeanArgs& lean, u32 problem) {
    const LeanSequence* plan = lean.plan[problem];
    const LeanSequence own = plan[sequence];
    keys.start = uniform(own.start);
    keys.length = uniform(own.length);
    const u32 begin = uniform(own.first_unit), end = uniform(plan[sequence + 1].first_unit);
    return uniform(begin + (end - begin) / lean.problem[problem].kv_heads * head);
  }
  __device__ void next(const AttentionArgs& in, const LeanArgs& lean, u32 of) {
    first += units;
    units = uniform(lean_units(in, lean, keys.length, of));
  }
  __device__ void finish(const AttentionArgs& in) {
    units = uniform(units);
    keys.start += head * in.source[0].pages_of_head;
  }
};

// Number of a row's part: each program has two tiles of them, of the tile that others began before it,
// and of the one that it begins.
__device__ inline u64 lean_part(const LeanArgs& lean, u32 program, bool begins, u32 row) {
  return (static_cast<u64>(program) * 2 + begins) * lean.block_q + row;
}

// Merges the parts of a tile, if it has several.
__device__ inline void merge_tile(const lean_program& program, const lean_place& place, u32 units) {
  const u32 begin = program.owner(units, place.first);
  const u32 end = program.owner(units, place.first + place.units - 1);
  if (begin == end) return;
  const auto in = [&]() -> const AttentionArgs& { return attention_arguments(program.problem); };
  attention_task task;
  task.sequence = place.sequence;
  task.head = place.head;
  task.find_queries(in());
  const u32 rows = task.length * in().group;
  const u32 waves = block_dim().x / wave_size, block = lean_arguments().block_q;
#pragma unroll 1
  for (u32 row = wave_id(); row < block; row += waves) {
    const u32 of_all = place.tile * block + row;
    if (of_all >= rows) return;
#pragma unroll 1
    for (u32 column = lane_id() * 4; column < in().value_width; column += wave_size * 4) {
      vec<f32, 4> sums = 0;
      row_state state = {-__builtin_inff(), 0};
#pragma unroll 1
      for (u32 g = begin; g <= end; ++g) {
        merge_part(in(), lean_part(lean_arguments(), g, g == begin, row), column, sums, state);
      }
      store_row<4>(in(), task, of_all, column, sums, state);
    }
  }
}

}  // namespace hk
