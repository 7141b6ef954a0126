// How many rows of a matrix of bits have each column's bit, and how many before each block of rows.
//
// A wave looks at 64 rows and two words of 32 columns: each lane loads a row's, votes turn them
// around, and each lane gets the bits that its column has in the 64 rows, of which it counts those
// of each block. A workgroup has a chunk of rows in turns of 64 a wave. Of several chunks, what
// each has is counted by a launch before, and every workgroup adds up what the chunks before its
// own have.
#include "hk/rows.h"
#include "hk/scan.h"

namespace hk {

struct MoeBitmatrixArgs {
  const u32* bitmatrix;
  i32* hist;      // null if it is not wanted
  i32* partials;  // null if they are not wanted
  u32* chunk_counts;  // of each chunk of rows and column
  i64 row_stride;     // in words
  i64 word_stride;
  i64 block_stride;  // of partials, from block to block of rows
  i64 column_stride;
  u32 rows;
  u32 columns;
  u32 words;
  u32 hist_columns;
  u32 chunk;        // rows of a workgroup
  u32 first_chunk;  // that of the first workgroup
  u32 chunks;
  u32 block_log2;  // of the rows of a block
};

namespace {

constexpr u32 word_bits = 32;

// The bits of the lane's column in 64 rows, the first in the lowest bit, of which the lane has one.
__device__ inline lane_bits turned(u32 first, u32 second) {
  lane_bits column = 0;
  // Votes of all bits at once would fill the scalar registers.
#pragma unroll 4
  for (u32 bit = 0; bit < word_bits; ++bit) {
    const lane_bits low = ballot((first >> bit & 1) != 0);
    const lane_bits high = ballot((second >> bit & 1) != 0);
    column = lane_id() == bit ? low : column;
    column = lane_id() == bit + word_bits ? high : column;
  }
  return column;
}

__device__ inline u32 count_of(lane_bits bits) {
  return static_cast<u32>(__builtin_popcountll(bits));
}

// A workgroup's rows, and 64 columns.
template <class Tile>
struct bit_chunk {
  static constexpr u32 waves = Tile::threads / wave_size;

  const MoeBitmatrixArgs& args;
  u32 first, end;  // rows
  u32 word;
  u32 column = word * word_bits + lane_id();

  __device__ bit_chunk(const MoeBitmatrixArgs& args, u32 number, u32 pair)
      : args(args), first(number * args.chunk), word(2 * pair) {
    const u32 left = args.rows - first;
    end = first + (left < args.chunk ? left : args.chunk);
  }

  // The bits of the lane's column in this wave's rows of a turn.
  __device__ lane_bits bits(u32 turn) const {
    const u32 of_wave = turn + wave_id() * wave_size, row = of_wave + lane_id();
    if (of_wave >= end) return 0;
    u32 words[2] = {0, 0};
    for (u32 i = 0; i < 2; ++i) {
      if (row < end && word + i < args.words) {
        words[i] = args.bitmatrix[row * args.row_stride + (word + i) * args.word_stride];
      }
    }
    const lane_bits bits = turned(words[0], words[1]);
    return column < args.columns ? bits : 0;
  }

  // The sum of what all waves have of each column, and of what those before this one have.
  __device__ prefix sum_waves(u32 (*scratch)[wave_size], u32 count) const {
    scratch[wave_id()][lane_id()] = count;
    sync_threads();
    prefix sum{0, 0};
    for (u32 wave = 0; wave < waves; ++wave) {
      const u32 of_other = scratch[wave][lane_id()];
      sum.before += wave < wave_id() ? of_other : 0;
      sum.total += of_other;
    }
    return sum;
  }
};

// What each chunk has.
template <class Tile>
__device__ inline void bitmatrix_counts(const MoeBitmatrixArgs& args) {
  __shared__ u32 scratch[Tile::threads / wave_size][wave_size];
  const u32 number = block_idx().x;
  const bit_chunk<Tile> chunk(args, number, block_idx().y);
  u32 count = 0;
  for (u32 turn = chunk.first; turn < chunk.end; turn += Tile::threads) {
    count += count_of(chunk.bits(turn));
  }
  count = chunk.sum_waves(scratch, count).total;
  const u32 columns = args.words * word_bits;
  if (wave_id() == 0 && chunk.column < columns) {
    args.chunk_counts[number * columns + chunk.column] = count;
  }
}

// What is before each block of the workgroup's chunk, and, of the last, what all have.
template <class Tile>
__device__ inline void moe_bitmatrix(const MoeBitmatrixArgs& args) {
  __shared__ u32 scratch[2][Tile::threads / wave_size][wave_size];
  constexpr u32 waves = bit_chunk<Tile>::waves;
  const u32 number = args.first_chunk + block_idx().x;
  const bit_chunk<Tile> chunk(args, number, block_idx().y);
  const u32 columns = args.words * word_bits;
  const bool is_there = chunk.column < columns;
  u32 before = 0;
  for (u32 other = wave_id(); other < number; other += waves) {
    if (is_there) before += args.chunk_counts[other * columns + chunk.column];
  }
  before = chunk.sum_waves(scratch[1], before).total;

  u32 set = 0;
  for (u32 turn = chunk.first; turn < chunk.end; turn += Tile::threads) {
    const lane_bits bits = chunk.bits(turn);
    // Two sets, used in turn, make one barrier enough.
    const prefix sum = chunk.sum_waves(scratch[set], count_of(bits));
    set ^= 1;
    const u32 row = turn + wave_id() * wave_size;
    if (args.partials != nullptr && row < chunk.end && is_there) {
      const u32 first = before + sum.before, rows = 1u << args.block_log2;
      i32* const to = args.partials + chunk.column * args.column_stride;
      // Blocks of more than 64 rows begin with every other wave's.
      for (u32 r = (rows - row % rows) % rows; r < wave_size && row + r < chunk.end; r += rows) {
        const u32 block = (row + r) >> args.block_log2;
        const lane_bits rows_before = (static_cast<lane_bits>(1) << r) - 1;
        to[block * args.block_stride] = static_cast<i32>(first + count_of(bits & rows_before));
      }
    }
    before += sum.total;
  }
  if (args.hist != nullptr && number + 1 == args.chunks && wave_id() == 0 &&
      chunk.column < args.hist_columns) {
    args.hist[chunk.column] = static_cast<i32>(before);
  }
}

}  // namespace

}  // namespace hk
