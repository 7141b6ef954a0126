// Inverses T of I + A, A being what a square matrix has below its diagonal, in f32, by blocks of 16 rows and
// columns: those on the diagonal by forward substitution, the others by matrix instructions,
//
//   T[i,j] = -T[i,i] (A[i,j] T[j,j] + .. + A[i,i-1] T[i-1,j]).
//
// A lane has four elements of a block: of row `lane % 16` from column `lane / 16 * 4` on, as the left
// operand of a product, or of that column from that row on, as the right operand and as the result.
#pragma once

#include "hk/arch/f32_matrix.h"
#include "hk/arch/votes.h"
#include "hk/wave.h"

namespace hk {

// Rows, or columns, of a block.
inline constexpr u32 triangle_block = 16;

// What of a block a lane has: the row or column, and where its four elements of that begin.
struct triangle_lane {
  u32 line;
  u32 four;

  explicit __device__ triangle_lane(u32 lane) : line(lane % triangle_block), four(lane / triangle_block * 4) {}
};

// left * right + sum.
__device__ inline vec<f32, 4> multiply_blocks(vec<f32, 4> left, vec<f32, 4> right, vec<f32, 4> sum) {
  static_for<4>([&](auto e) { sum = arch::mma(left[int{e}], right[int{e}], sum); });
  return sum;
}

// left * right, left being lower triangular: what is not finite in a row of `right` does not spoil the rows
// before, though they have zeros for it.
__device__ inline vec<f32, 4> multiply_lower_block(triangle_lane lane, vec<f32, 4> left,
                                                  vec<f32, 4> right) {
  constexpr u32 infinite = 0x7f80'0000;
  u32 spoilt = triangle_block;  // the first row of the column that is
  for (int e = 3; e >= 0; --e) {
    if ((bit_cast<u32>(f32(right[e])) & infinite) == infinite) spoilt = lane.four + e;
  }
  if (arch::ballot(spoilt < triangle_block) == 0) return multiply_blocks(left, right, 0);
  spoilt = __builtin_elementwise_min(spoilt, arch::other_half<16>(spoilt));
  spoilt = __builtin_elementwise_min(spoilt, arch::other_half<32>(spoilt));
  for (u32 e = 0; e < 4; ++e) right[e] = lane.four + e < spoilt ? f32(right[e]) : 0.0f;
  vec<f32, 4> product = multiply_blocks(left, right, 0);
  for (u32 e = 0; e < 4; ++e) {
    if (lane.four + e >= spoilt) product[e] = __builtin_nanf("");
  }
  return product;
}

// Blocks in LDS that lanes store and load as either operand.
template <u32 Count>
struct triangle_blocks {
  // Of up to four blocks, reads of the same four elements are of banks of their own, and so are writes of
  // the same row of two.
  static constexpr u32 size = triangle_block * triangle_block;
  static __device__ constexpr u32 start(u32 block) { return block * size + block % 2 * 16 + block / 2 * 36; }
  alignas(16) f32 elements[start(Count - 1) + size];

  // Fours of rows that lanes have at once are at banks of their own, and so are single elements of rows four
  // apart, of 32 banks and of 64.
  static __device__ u32 place(u32 block, u32 row, u32 column) {
    const u32 four = (row << 1 & 12) ^ (row & 8);
    return start(block) + (row ^ row >> 2) * triangle_block + (column ^ four);
  }

  __device__ vec<f32, 4>& left(u32 block, u32 row, u32 column) {
    return *reinterpret_cast<vec<f32, 4>*>(&elements[place(block, row, column)]);
  }
  __device__ void store_left(triangle_lane lane, u32 block, vec<f32, 4> values) {
    left(block, lane.line, lane.four) = values;
  }
  __device__ vec<f32, 4> load_left(triangle_lane lane, u32 block) { return left(block, lane.line, lane.four); }
  __device__ void store_right(triangle_lane lane, u32 block, vec<f32, 4> values) {
    static_for<4>([&](auto e) {
      elements[place(block, lane.four + e.value, lane.line)] = values[int{e}];
    });
  }
  __device__ vec<f32, 4> load_right(triangle_lane lane, u32 block) const {
    vec<f32, 4> values;
    static_for<4>([&](auto e) {
      values[int{e}] = elements[place(block, lane.four + e.value, lane.line)];
    });
    return values;
  }

  // Makes blocks of A on the diagonal those of T, one by each 16 lanes. What is not below the diagonal is
  // not looked at.
  __device__ void invert(triangle_lane lane) {
    const u32 block = lane.four / 4, column = lane.line;
    f32 t[triangle_block];
    static_for<static_cast<int>(triangle_block)>([&](auto i) {
      f32 sum = 0;
      static_for<(i.value + 3) / 4>([&](auto quad) {
        const auto a = left(block, i.value, quad.value * 4);
        static_for<min(4, i.value - quad.value * 4)>([&](auto e) {
          sum = __builtin_fmaf(a[int{e}], t[quad.value * 4 + e.value], sum);
        });
      });
      t[i.value] = column < i.value ? -sum : column == i.value ? 1.0f : 0.0f;
    });
    static_for<static_cast<int>(triangle_block)>([&](auto i) {
      elements[place(block, i.value, column)] = t[i.value];
    });
  }
};

// Column `first` of the blocks of T, as right operands, of which `t[first]` is there and those below it are not:
// `a(i, m)` and `diagonal(i)` are blocks of A and those of T on the diagonal, as left operands.
template <int Blocks>
__device__ inline void solve_below(triangle_lane lane, vec<f32, 4> (&t)[Blocks], u32 first, auto&& a,
                                   auto&& diagonal) {
  static_for<Blocks>([&](auto i) {
    if (i.value <= first) return;
    vec<f32, 4> sum = 0;
    static_for<i.value>([&](auto m) {
      if (m.value >= first) sum = multiply_blocks(a(i, m), t[m.value], sum);
    });
    t[i.value] = -multiply_lower_block(lane, diagonal(i), sum);
  });
}

}  // namespace hk
