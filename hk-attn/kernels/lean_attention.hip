// Attention shared evenly among workgroups, one problem or two. See hk/lean_attention.h.
#include "hk/arch/flags.h"
#include "hk/lean_attention.h"

namespace hk {

namespace {

// What a program has to do. It is found again when it is needed: there are not as many scalar registers.
struct lean_share {
  lean_program program;
  u32 units;  // of all programs
  u32 begin, end;

  __device__ lean_share()
      : program(lean_arguments(), block_idx().x),
        units(lean_place::all_units(lean_arguments(), program.problem)),
        begin(program.bound(units, program.number)),
        end(program.bound(units, program.number + 1)) {}
};

template <class Tile>
__device__ inline void lean_attention(const LeanArgs&) {
  using block_of = attention_block<Tile>;
  __shared__ alignas(256) char memory[block_of::lds_bytes];
  u32 unit = lean_share().begin;
#pragma unroll 1
  for (;;) {
    const lean_share share;
    if (unit >= share.end) break;
    const u32 problem = share.program.problem;
    const lean_place place(lean_arguments(), problem, unit);
    attention_task task;
    task.sequence = place.sequence;
    task.head = place.head;
    task.tile = place.tile;
    task.split = 0;
    task.find_queries(attention_arguments(problem));
    const u32 tile_end = place.first + place.units;
    const u32 last = share.end < tile_end ? share.end : tile_end;
    const bool begins = unit == place.first, is_whole = begins && last == tile_end;
    block_of block(attention_arguments(problem), task, place.keys, problem, lds_start(memory));
    // What was before is read.
    arch::meet_with_lds();
    block.begin(attention_arguments(problem));
    // Of which keys rows see none.
    block.visible_tiles(attention_arguments(problem));
    if (block.total > 0) block.run({unit - place.first, last - place.first});
    block.finish([&](u32 row, u32 column, auto sums, row_state state) {
      constexpr int count = sizeof(sums) / sizeof(f32);
      const AttentionArgs& out = attention_arguments(block.problem);
      if (is_whole) {
        store_row<count>(out, block.task, row, column, sums, state);
      } else {
        const LeanArgs& lean = lean_arguments();
        const u32 number = lean_program(lean, block_idx().x).number;
        const u32 in_tile = row - block.task.tile * block_of::block_q;
        store_part<count>(out, lean_part(lean, number, begins, in_tile), column, sums, state);
      }
    });
    unit = last;
  }
  u32* const flags = lean_arguments().flags;
  if (flags == nullptr) return;
  const lean_share share;
  const lean_program& program = share.program;
  if (share.begin >= share.end) return;
  // Who began a tile waits for those who have more of it. All are resident, and none waits before its
  // own parts are there.
  sync_threads();
  if (thread_idx().x == 0) arch::set_flag(flags + program.flag(lean_arguments(), program.number));
  const lean_place place(lean_arguments(), program.problem, share.end - 1);
  if (program.owner(share.units, place.first) != program.number) return;
  const u32 last = program.owner(share.units, place.first + place.units - 1);
#pragma unroll 1
  for (u32 other = program.number + 1; other <= last; ++other) {
    arch::wait_for_flag(flags + program.flag(lean_arguments(), other));
  }
  merge_tile(program, place, share.units);
}

}  // namespace

}  // namespace hk
