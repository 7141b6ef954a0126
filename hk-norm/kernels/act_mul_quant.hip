// Gated rows, quantised: y[i,j] = f(g) * l, where g and l are the halves of a row of x, or its even and odd
// elements, to codes of e4m3 with a scale for each group of 32, 64 or 128 elements of y, or of e2m1 with
// a power of two for each block of 32. f32 throughout. Lanes next to each other have a group; x is read
// once.
#include "hk/gated_rows.h"
#include "hk/quant_rows.h"

namespace hk {

struct ActMulQuantArgs {
  const void* x;
  u8* codes;
  i64 x_stride;      // in elements, from row to row
  i64 codes_stride;  // in bytes
  GroupScales groups;
  BlockScales blocks;  // of e2m1
  u32 rows;
  u32 width;  // of y
  u32 is_interleaved;
  u32 is_e2m1;
  u32 kind;  // an activation
  f32 slope;
};

namespace {

// What is to be done with each row.
template <class Tile, bool Interleaved>
struct act_mul_rows : gated_matrix<Tile, Interleaved>, no_columns, no_reduction {
  using pairs = gated_matrix<Tile, Interleaved>;
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold, pairs::hold;
  using no_columns::start, pairs::start;

  const ActMulQuantArgs& args;

  __device__ act_mul_rows(const ActMulQuantArgs& args)
      : pairs{static_cast<const T*>(args.x), args.x_stride, args.width}, args(args) {}

  __device__ void store(const typename pairs::held& row, auto&&, no_reduction,
                        const auto& loaded_at) const {
    // Comparisons with the width are to be made where they are needed: all of them would fill the
    // scalar registers.
    auto at = loaded_at;
    arch::forget_scalar(at.width);
    const auto to = late_arguments<true>(args);
    per_chunk<chunk_values, chunks> y;
    for (int i = 0; i < chunks; ++i) {
      y.of[i] = activate_inline(to->kind, to_f32<T, chunk>(row.gate.of[i]), to->slope) *
                to_f32<T, chunk>(row.linear.of[i]);
    }
    const auto elements = [&](int i) { return y.of[i]; };
    const matrix<u8> codes{to->codes, to->codes_stride};
    // Codes of 4 bits are even in number: of no row that has a wave alone, and is ragged.
    using place = __remove_cvref(decltype(at));
    if constexpr (place::shares_wave || !place::ragged) {
      if (to->is_e2m1 != 0) {
        store_blocks<f32, mx_e2m1, chunks>(codes, to->blocks, at, elements);
        return;
      }
    }
    store_groups<f32, e4m3_codes, chunks>(codes, to->groups, at, elements);
  }
};

template <class Tile>
__device__ inline void act_mul_quant(const ActMulQuantArgs& args) {
  // First, since the rows need the registers.
  if (args.is_e2m1 != 0 && args.blocks.shuffled_columns != 0) {
    pad_shuffled<Tile>(args.blocks, args.rows, mx_blocks(args.width));
  }
  if (args.is_interleaved != 0) {
    for_elements<Tile>(act_mul_rows<Tile, true>(args), args.rows, args.width);
  } else {
    for_elements<Tile>(act_mul_rows<Tile, false>(args), args.rows, args.width);
  }
}

}  // namespace

}  // namespace hk
