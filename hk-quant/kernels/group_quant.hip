// Groups of 32, 64 or 128 consecutive elements of a row, the last of which may be shorter, to codes of
// 8 bits: c = round(x * (1 / s)) with s = max(max |x|, 1e-10) / most for each group, where `most` is the
// largest code. Lanes next to each other have a group; rows are read once.
#include "hk/quant.h"
#include "hk/rows.h"

namespace hk {

struct GroupQuantArgs {
  const void* x;
  u8* codes;
  f32* scales;
  i64 x_stride;  // in elements, from row to row
  i64 codes_stride;
  i64 scales_row_stride;  // from row to row, and from group to group
  i64 scales_group_stride;
  u32 rows;
  u32 width;
  u32 format;  // a byte_format
  u32 group;
};

namespace {

// The largest of the magnitudes of 4, 8 or 16 lanes, the same number for the wave.
__device__ inline u32 largest_of_group(u32 amax, u32 lanes) {
  amax = wave_reduce<largest_magnitude, 4>(amax);
  if (lanes >= 8) amax = largest_magnitude::apply(amax, arch::other_half<4>(amax));
  if (lanes >= 16) amax = largest_magnitude::apply(amax, arch::other_half<8>(amax));
  return amax;
}

// What `for_rows` is to do, with codes of a format.
template <class Tile, class Format>
struct quantize_groups : no_columns, no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;

  const GroupQuantArgs& args;

  __device__ quantize_groups(const GroupQuantArgs& args) : args(args) {}

  using loads = row_load<T, chunks>;
  using held = per_chunk<vec<T, chunk>, chunks>;

  __device__ void start(loads& to, const auto& at) const {
    to.start({static_cast<const T*>(args.x), args.x_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held x;
    for (int i = 0; i < chunks; ++i) x.of[i] = from.elements(i, at);
    return x;
  }

  __device__ void store(const held& x, auto&&, no_reduction, const auto& at) const {
    const u32 lanes = args.group / chunk;
    scaling by[chunks];
    for (int i = 0; i < chunks; ++i) {
      const u32 amax = largest<T, chunk>(magnitudes<T, chunk>(x.of[i]));
      by[i] = group_scaling(largest_of_group(amax, lanes), Format::most);
    }
    store_codes<8, chunks>({args.codes, args.codes_stride}, at, [&](int i) {
      return encode<Format, chunk>(to_f32<T, chunk>(x.of[i]) * by[i].inverse);
    });
    if (at.lane() % lanes != 0 || at.row_of_wave() >= at.count) return;
    f32* row = args.scales + at.row() * args.scales_row_stride;
    for (int i = 0; i < chunks; ++i) {
      const u32 group = (at.column + at.start(i)) / args.group;
      if (at.start(i) < at.width) row[group * args.scales_group_stride] = by[i].scale;
    }
  }
};

template <class Tile>
__device__ inline void group_quant(const GroupQuantArgs& args) {
  with_format(static_cast<byte_format>(args.format), [&](auto format) {
    for_rows<Tile>(quantize_groups<Tile, decltype(format)>(args), args.rows, args.width);
  });
}

}  // namespace

}  // namespace hk
