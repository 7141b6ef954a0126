// Undoes the interleaving of fused projections: a row of heads, each of which has its parts side by side,
// becomes a row for each part, in which the heads are side by side. Bits are moved, nothing else.
//
// A wave has 64 pieces of the results' rows, or those of several short rows, and takes the same of rows
// further on in turn: where its pieces come from is found once. A piece is as wide as all places where
// one can be are aligned, up to 16 bytes.
#include "hk/arch/global_memory.h"
#include "hk/types.h"
#include "hk/wave.h"

namespace hk {

// What a part of each head becomes: part of a row; in pieces.
struct SplitPart {
  void* to;
  i64 row_stride;
  i64 run_stride;  // from run to run of evenly spaced pieces
  i64 stride;      // from piece to piece of a run
  u32 first;       // where the part begins in a head
  u32 width;       // of the part in a head
  u32 run;         // pieces of a run
  u32 start;       // where the part begins in the row
};

inline constexpr int split_parts = 4;

// Rows of heads; in pieces.
struct SplitRows {
  const void* from;
  i64 row_stride;
  SplitPart parts[split_parts];
  u32 heads;
  u32 head;        // pieces of a head
  u32 piece_log2;  // of a piece's bytes
  u32 lanes_log2;  // of the lanes that a row has in a wave
};

struct QkvzbaSplitArgs {
  SplitRows rows[2];
  u32 blocks[2];  // waves that share a row of each
  u32 groups;     // of so many waves together: they take the rows in turn
  u32 row_count;
};

namespace {

// Rows of a lane whose loads are under way together.
constexpr u32 split_batch = 4;
constexpr u32 wave_size_log2 = log2_exact(wave_size);

// Copies a piece of every `step`th row from `row` on.
template <class Piece>
__device__ inline void copy_rows(const Piece* from, i64 from_stride, Piece* to, i64 to_stride, u32 row,
                                 u32 step, u32 rows) {
  from += row * from_stride;
  to += row * to_stride;
  from_stride *= step;
  to_stride *= step;
#pragma unroll 1
  for (; row < rows; row += split_batch * step) {
    Piece pieces[split_batch];
    const u32 left = rows - row;
#pragma unroll
    for (u32 i = 0; i < split_batch; ++i) {
      if (i * step < left) pieces[i] = arch::load_global<Piece>(from + i * from_stride);
    }
#pragma unroll
    for (u32 i = 0; i < split_batch; ++i) {
      if (i * step < left) arch::store_global_once<Piece>(to + i * to_stride, pieces[i]);
    }
    from += split_batch * from_stride;
    to += split_batch * to_stride;
  }
}

template <class F>
__device__ inline void with_piece(u32 bytes_log2, F&& body) {
  if (bytes_log2 == 1) return body(u16{});
  if (bytes_log2 == 2) return body(u32{});
  if (bytes_log2 == 3) return body(vec<u32, 2>{});
  return body(bits128{});
}

template <class Tile>
__device__ inline void fused_qkvzba_split(const QkvzbaSplitArgs& args) {
  const u32 wave = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const u32 blocks = args.blocks[0] + args.blocks[1];
  const u32 group = uniform(wave / blocks);
  if (group >= args.groups) return;
  const u32 block = wave - group * blocks;
  const u32 is_second = block >= args.blocks[0];
  const auto& rows = arch::kernel_arguments<QkvzbaSplitArgs>()->rows[is_second];
  const u32 lanes = 1u << rows.lanes_log2;

  // Number of the piece in the results' row, part after part.
  const u32 piece = (is_second ? block - args.blocks[0] : block) * wave_size + lane_id() % lanes;
  if (piece >= rows.heads * rows.head) return;
  SplitPart part = uniform<SplitPart>(rows.parts[0]);
  u32 start = 0, end = 0;
  for (int i = 1; i < split_parts; ++i) {
    end += rows.heads * rows.parts[i - 1].width;
    // Read by scalar loads, whatever the lane's part is.
    const SplitPart next = uniform<SplitPart>(rows.parts[i]);
    if (piece < end) continue;
    part = next;
    start = end;
  }
  const u32 number = piece - start;  // in the part
  const u32 head = number / part.width, run = number / part.run;
  const i64 from_at = head * static_cast<i64>(rows.head) + part.first + (number - head * part.width);
  const i64 to_at = part.start + run * part.run_stride + (number - run * part.run) * part.stride;

  const u32 row = (group << (wave_size_log2 - rows.lanes_log2)) + lane_id() / lanes;
  const u32 step = args.groups << (wave_size_log2 - rows.lanes_log2);
  with_piece(rows.piece_log2, [&](auto zero) {
    using Piece = decltype(zero);
    copy_rows(static_cast<const Piece*>(rows.from) + from_at, rows.row_stride,
              static_cast<Piece*>(part.to) + to_at, part.row_stride, row, step, args.row_count);
  });
}

}  // namespace

}  // namespace hk
