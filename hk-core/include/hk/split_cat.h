// Results whose columns are heads of two parts each: the first go to one tensor, beside elements that are
// copied there, the second to another.
#pragma once

#include "hk/epilogue.h"
#include "hk/order.h"

namespace hk {

// Where columns go, of which `width` are a head, and `at` of these its first part. Distances in elements.
struct SplitColumns {
  void* second;
  i64 first_head;  // from head to head
  i64 second_row;
  i64 second_head;
  u32 width;
  u32 at;
  u32 whole;  // whether no run of eight is in two parts
  u32 reserved;
};

// Stores a run of one row, rounded. Its first element is a result.
template <int Run>
__device__ inline void store_split_run(const result_matrix& y, const SplitColumns& split, u32 row,
                                       u32 column, vec<f32, Run> values) {
  with_type(y.type, [&](auto zero) {
    using T = decltype(zero);
    const auto place = [&](u32 column) {
      const u32 head = column / split.width, within = column % split.width;
      if (within < split.at) {
        return reinterpret_cast<T*>(y.base) + row * y.stride + head * split.first_head + within;
      }
      return static_cast<T*>(split.second) + row * split.second_row + head * split.second_head +
             (within - split.at);
    };
    const vec<T, Run> rounded = round_to<T, Run>(values);
    if (split.whole) {
      store_whole<T, Run>(place(column), rounded);
      return;
    }
    *place(column) = rounded[0];
    for (u32 i = 1; i < Run; ++i) {
      if (column + i < y.columns) *place(column + i) = rounded[i];
    }
  });
}

struct CatArgs {
  const void* x;
  void* y;
  i64 x_row, x_head, x_step;  // from row to row, head to head, and element to element
  i64 y_row, y_head;
  u32 m, heads, width;
  u32 x_type, y_type;  // dtypes
  u32 whole;           // whether heads are whole runs of eight
};

// Copies m rows of heads of `width` elements, rounded to y's type.
template <class Tile>
__device__ void cat_heads(const CatArgs& args) {
  constexpr int run = 8;
  const u32 step = args.whole ? run : 1;
  const u32 pieces = args.width / step;
  const u32 first = block_idx().x * Tile::threads + thread_idx().x;
  for_each_piece(first, grid_size().x, args.m, args.heads * pieces, [&](u32 row, u32 piece) {
    const u32 head = piece / pieces, column = piece % pieces * step;
    const i64 from = row * args.x_row + head * args.x_head + column * args.x_step;
    const i64 to = row * args.y_row + head * args.y_head + column;
    with_type(static_cast<dtype>(args.x_type), [&](auto x_zero) {
      using X = decltype(x_zero);
      const X* x = static_cast<const X*>(args.x) + from;
      with_type(static_cast<dtype>(args.y_type), [&](auto y_zero) {
        using Y = decltype(y_zero);
        Y* y = static_cast<Y*>(args.y) + to;
        if (args.whole) {
          const auto values = to_f32<X, run>(load_elements<X, run>(x, args.x_step, run));
          store_whole<Y, run>(y, round_to<Y, run>(values));
        } else {
          *y = round_to<Y>(to_f32(*x));
        }
      });
    });
  });
}

}  // namespace hk
