// What row-wise policies that quantise do at last: scales, and codes, of a lane's share of rows.
// `elements(i)` are those of chunk i, of type T.
#pragma once

#include "hk/quant.h"
#include "hk/rows.h"
#include "hk/scale_tiles.h"

namespace hk {

// Where scales of groups go; strides count scales, from row to row and from group to group. The host's
// structures of these names are the same.
struct GroupScales {
  f32* scales;
  i64 row_stride;
  i64 group_stride;
  u32 group;   // elements: 32, 64 or 128
  u32 format;  // of the codes: a byte_format
};

struct BlockScales {
  u8* scales;
  i64 row_stride;
  i64 block_stride;
  u32 shuffled_columns;  // if scales are shuffled, else 0
  u32 mode;              // an mx_round
};

// The number of the group that a column is in: groups are of a power of two.
__device__ inline u32 group_of(const GroupScales& scales, u32 column) {
  return column >> __builtin_ctz(scales.group);
}

// Elements of an MX block.
inline constexpr u32 mx_block = 32;

// The lane's share of a row's largest magnitude.
template <class T, int Chunks, class F>
__device__ inline u32 largest_of_share(F&& elements) {
  auto sizes = magnitudes<T, chunk>(elements(0));
  for (int i = 1; i < Chunks; ++i) {
    sizes = __builtin_elementwise_max(sizes, magnitudes<T, chunk>(elements(i)));
  }
  return largest<T, chunk>(sizes);
}

// Codes with a scale that is known.
template <class T, class Format, int Chunks, class Place, class F>
__device__ inline void store_scaled(const matrix<u8>& codes, const Place& at, f32 inverse,
                                    F&& elements) {
  store_codes<8, Chunks>(codes, at, [&](int i) {
    return encode<Format, chunk>(to_f32<T, chunk>(elements(i)) * inverse);
  });
}

namespace detail {

// The largest of the magnitudes of 4, 8 or 16 lanes, the same number for the wave.
__device__ inline u32 largest_of_group(u32 amax, u32 lanes) {
  amax = wave_reduce<largest_magnitude, 4>(amax);
  if (lanes >= 8) amax = largest_magnitude::apply(amax, arch::other_half<4>(amax));
  if (lanes >= 16) amax = largest_magnitude::apply(amax, arch::other_half<8>(amax));
  return amax;
}

}  // namespace detail

// Codes with a scale for each group of elements of a row. If that is part of a longer row, so many
// groups of it are before.
template <class T, class Format, int Chunks, class Place, class F>
__device__ inline void store_groups(const matrix<u8>& codes, const GroupScales& to,
                                    const Place& at, F&& elements, u32 before = 0) {
  const u32 lanes = to.group / chunk;
  scaling by[Chunks];
  for (int i = 0; i < Chunks; ++i) {
    const u32 amax = largest<T, chunk>(magnitudes<T, chunk>(elements(i)));
    by[i] = group_scaling(detail::largest_of_group(amax, lanes), Format::most);
  }
  store_codes<8, Chunks>(codes, at, [&](int i) {
    return encode<Format, chunk>(to_f32<T, chunk>(elements(i)) * by[i].inverse);
  });
  const bool is_first = (at.lane() & (lanes - 1)) == 0, leads = is_first && at.has_row();
  f32* row = to.scales + at.row() * to.row_stride;
  for (int i = 0; i < Chunks; ++i) {
    const u32 group = before + group_of(to, at.column + at.start(i));
    if (leads && at.start(i) < at.width) row[group * to.group_stride] = by[i].scale;
  }
}

// Codes with a power of two for each block of 32 elements of a row. If that is part of a longer row, so
// many blocks of it are before.
template <class T, class Format, int Chunks, class Place, class F>
__device__ inline void store_blocks(const matrix<u8>& codes, const BlockScales& to,
                                    const Place& at, F&& elements, u32 before = 0) {
  constexpr int lanes = mx_block / chunk;
  u32 scales[Chunks];
  for (int i = 0; i < Chunks; ++i) {
    const u32 amax = largest<T, chunk>(magnitudes<T, chunk>(elements(i)));
    const u32 of_block = wave_reduce<largest_magnitude, lanes>(amax);
    scales[i] = mx_scale<Format>(of_block, static_cast<mx_round>(to.mode));
  }
  store_codes<Format::bits, Chunks>(codes, at, [&](int i) {
    return mx_encode<Format>(to_f32<T, chunk>(elements(i)), scales[i]);
  });
  const bool is_first = at.lane() % lanes == 0, leads = is_first && at.has_row();
  for (int i = 0; i < Chunks; ++i) {
    const u32 block = before + (at.column + at.start(i)) / mx_block;
    const i64 in_rows = at.row() * to.row_stride + block * to.block_stride;
    const i64 offset = to.shuffled_columns == 0
                           ? in_rows
                           : shuffled_scale(at.row(), block, to.shuffled_columns);
    if (leads && at.start(i) < at.width) to.scales[offset] = static_cast<u8>(scales[i]);
  }
}

// The blocks of so many elements.
__device__ inline u32 mx_blocks(u32 width) { return (width - 1) / mx_block + 1; }

// Fills what shuffled scales have beside those of `rows` rows of `blocks` blocks, with ones. All
// workgroups take part, of which those along x share the work.
template <class Tile>
__device__ inline void pad_shuffled(const BlockScales& to, u32 rows, u32 blocks) {
  constexpr u8 one = 127;
  constexpr u32 lanes = Tile::threads;
  const u32 columns = to.shuffled_columns;
  const u32 lane = thread_idx().x;
  const u32 workgroup = block_idx().x, workgroups = grid_size().x / lanes;
  // Up to 7 blocks of each row.
  for (u64 row = workgroup * lanes + lane; row < rows; row += workgroups * lanes) {
    for (u32 block = blocks; block < columns; ++block) {
      to.scales[shuffled_scale(row, block, columns)] = one;
    }
  }
  // Up to 255 rows.
  const u64 padded_rows = (static_cast<u64>(rows) + 255) / 256 * 256;
  for (u64 row = rows + static_cast<u64>(workgroup); row < padded_rows; row += workgroups) {
    for (u32 block = lane; block < columns; block += lanes) {
      to.scales[shuffled_scale(row, block, columns)] = one;
    }
  }
}

}  // namespace hk
