// Sums of rows that belong together: of a token's experts, and of shares of k.
//
//   out[g] = gate(g) residual[g] + sum over s of gammas[r] act(sum over b of x[b, r])
//   with r = indx[g, s]
//
// A wave has a piece of a row of results, and takes the rows that it needs in order, several under
// way together. Sums are in f32, rounded once.
#include "hk/elements.h"
#include "hk/math.h"
#include "hk/order.h"
#include "hk/quant_rows.h"
#include "hk/swiglu.h"

namespace hk {

struct ReduceGroupedArgs {
  const void* x;
  const i32* indx;  // null if group g has the rows from g k on
  const f32* gammas;  // of each row; null if they are 1
  const void* residual;  // null if there is none
  const f32* residual_gate;  // of each group, before its sigmoid; null if it is 1
  void* out;
  i64 x_strides[2];  // in elements: from share to share, and from row to row
  i64 residual_stride;
  i64 out_stride;
  u32 shares;
  u32 rows;  // of x
  u32 width;  // of them
  u32 groups;
  u32 k;  // rows of a group
  u32 activation;  // as `reduced_activation`
  u32 out_type;  // as `reduced_type`
  f32 alpha;
  f32 limit;  // infinite if there is none
  f32 offset;  // added to what is let through
  const f32* quant_scale;  // of which results of e4m3 are multiples
  u8* mx_scales;           // of blocks of 32 columns, of results in such
  i64 mx_stride;
  const u32* groups_there;  // how many of the groups have rows, the first ones; null if all
};

namespace {

// Types of results: those of `dtype`, and codes, with one scale or one for each MX block.
enum class reduced_type : u32 { e4m3 = 3, mxfp8 };

enum class reduced_activation : u32 { none, gated, gelu_tanh };

constexpr u32 reduce_piece = wave_size * chunk;
constexpr u32 reduce_batch = 4;

template <class T, bool Ragged>
struct group_reduction {
  using reduce_place = row_place<wave_size, Ragged>;

  const ReduceGroupedArgs& args;
  u32 group, column, width;  // width of the piece

  __device__ reduce_place at(u32 row) const { return {row, 1, column, width}; }

  // Calls with the values of each of so many rows, in order; `place` says the row and the share of
  // each, and whether there is one.
  template <class Place, class F>
  __device__ void for_rows(u32 count, Place&& place, F&& body) const {
    for (u32 first = 0; first < count; first += reduce_batch) {
      row_load<T, 1> loads[reduce_batch];
#pragma unroll
      for (u32 i = 0; i < reduce_batch; ++i) {
        u32 row = 0, share = 0;
        const bool is_there = first + i < count && place(first + i, row, share);
        const T* from = static_cast<const T*>(args.x) + share * args.x_strides[0];
        loads[i].start(matrix<const T>{from, args.x_strides[1]}, at(row).only_if_loaded(is_there));
      }
#pragma unroll
      for (u32 i = 0; i < reduce_batch; ++i) {
        u32 row = 0, share = 0;
        if (first + i < count && place(first + i, row, share)) {
          body(row, to_f32<T, chunk>(loads[i].elements(0, at(row))));
        }
      }
    }
  }

  // The row that is number `slot` of the group, if there is one.
  __device__ bool row_of(u32 slot, u32& row) const {
    const u32 number = group * args.k + slot;
    row = args.indx != nullptr ? static_cast<u32>(args.indx[number]) : number;
    return row < args.rows;
  }

  // With an activation of pairs, the result of each is where its first number was.
  __device__ chunk_values activated(u32 row, chunk_values x) const {
    const auto& args = *late_arguments<true>(this->args);
    const reduced_activation kind = static_cast<reduced_activation>(args.activation);
    // Rows of pairs are not ragged.
    if (!Ragged && kind == reduced_activation::gated) {
      const swiglu activate_pair{args.alpha, args.limit, args.offset};
      for (int e = 0; e < chunk; e += 2) {
        x[e] = activate_pair(x[e], x[e + 1]);
      }
    }
    if (kind == reduced_activation::gelu_tanh) {
      x = activate<chunk>(activation::gelu_tanh, x, 0);
    }
    return args.gammas != nullptr ? x * args.gammas[row] : x;
  }

  __device__ chunk_values sum() const {
    chunk_values sum = 0;
    if (args.shares == 1) {
      for_rows(
          args.k,
          [&](u32 slot, u32& row, u32&) { return row_of(slot, row); },
          [&](u32 row, chunk_values x) { sum += activated(row, x); });
      return sum;
    }
    for (u32 slot = 0; slot < args.k; ++slot) {
      u32 of_slot;
      if (!row_of(slot, of_slot)) continue;
      chunk_values of_shares = 0;
      for_rows(
          args.shares,
          [&](u32 number, u32& row, u32& share) {
            row = of_slot;
            share = number;
            return true;
          },
          [&](u32, chunk_values x) { of_shares += x; });
      sum += activated(of_slot, of_shares);
    }
    return sum;
  }

  __device__ f32 gate() const {
    const auto& args = *late_arguments<true>(this->args);
    return args.residual_gate != nullptr ? sigmoid(args.residual_gate[group]) : 1.0f;
  }

  // Stores the first `count` of N results from column `first` on as codes; there are whole MX blocks.
  template <int N>
  __device__ void store_codes(i64 first, u32 count, chunk_values all) const {
    const auto& args = *late_arguments<true>(this->args);
    vec<f32, N> x;
    for (int i = 0; i < N; ++i) x[i] = all[i];
    vec<u32, N / 4> codes;
    if (static_cast<reduced_type>(args.out_type) == reduced_type::e4m3) {
      codes = encode<e4m3_codes, N>(x / *args.quant_scale);
    } else {
      constexpr int lanes = mx_block / N;
      u32 amax = wave_reduce<largest_magnitude, lanes>(largest<f32, N>(magnitudes<f32, N>(x)));
      const u32 scale = mx_scale<mx_e4m3>(amax, mx_round::even);
      codes = scale == 255 ? vec<u32, N / 4>(0) : encode<mx_e4m3, N>(x * mx_inverse(scale));
      if (lane_id() % lanes == 0 && count > 0) {
        args.mx_scales[group * args.mx_stride + first / mx_block] = static_cast<u8>(scale);
      }
    }
    if (count == 0) return;
    u8* to = static_cast<u8*>(args.out) + group * args.out_stride + first;
    store_elements<u8, N>(to, 1, count, bit_cast<vec<u8, N>>(codes));
  }

  // Stores results in the order of x.
  template <class V>
  __device__ void store(chunk_values sum) const {
    const auto& args = *late_arguments<true>(this->args);
    if (args.residual != nullptr) {
      row_load<V, 1> residual;
      residual.start({static_cast<const V*>(args.residual), args.residual_stride}, at(group));
      sum += gate() * to_f32<V, chunk>(residual.elements(0, at(group)));
    }
    store_row<1>(matrix<V>{static_cast<V*>(args.out), args.out_stride}, at(group),
                 [&](int) { return round_to<V, chunk>(sum); });
  }

  __device__ void store_as_codes(chunk_values sum, bool in_pairs) const {
    const u32 count = at(group).elements_of(0);
    const i64 first = column + reduce_place::start(0);
    if constexpr (!Ragged) {
      if (in_pairs) {
        const chunk_values results = {sum[0], sum[2], sum[4], sum[6], 0, 0, 0, 0};
        return store_codes<4>(first / 2, count / 2, results);
      }
    }
    store_codes<8>(first, count, sum);
  }

  // Stores the results of pairs.
  template <class V>
  __device__ void store_pairs(chunk_values sum) const {
    const auto& args = *late_arguments<true>(this->args);
    constexpr int pairs = chunk / 2;
    const u32 count = at(group).elements_of(0) / 2;
    if (count == 0) return;
    const i64 first = (column + reduce_place::start(0)) / 2;
    vec<f32, pairs> results = {sum[0], sum[2], sum[4], sum[6]};
    if (args.residual != nullptr) {
      const V* from = static_cast<const V*>(args.residual) + group * args.residual_stride + first;
      results += gate() * to_f32<V, pairs>(load_elements<V, pairs>(from, 1, count));
    }
    store_elements<V, pairs>(static_cast<V*>(args.out) + group * args.out_stride + first, 1, count,
                             round_to<V, pairs>(results));
  }
};

template <class T, bool Ragged>
__device__ inline void reduce_groups(const ReduceGroupedArgs& args, u32 first, u32 stride) {
  const u32 pieces = (args.width + reduce_piece - 1) / reduce_piece;
  u32 groups = args.groups;
  if (args.groups_there != nullptr && *args.groups_there < groups) groups = *args.groups_there;
  for_each_piece(first, stride, groups, pieces, [&](u32 group, u32 piece) {
    const u32 column = piece * reduce_piece, left = args.width - column;
    const u32 width = left < reduce_piece ? left : reduce_piece;
    const group_reduction<T, Ragged> reduction{args, group, column, width};
    const chunk_values sum = reduction.sum();
    const bool in_pairs =
        static_cast<reduced_activation>(args.activation) == reduced_activation::gated;
    // Numbers that are quantised were not rounded before.
    if constexpr (__is_same(T, f32)) {
      if (static_cast<reduced_type>(args.out_type) >= reduced_type::e4m3) {
        return reduction.store_as_codes(sum, in_pairs);
      }
    }
    with_type(static_cast<dtype>(args.out_type), [&](auto zero) {
      using V = decltype(zero);
      if constexpr (!Ragged) {
        if (in_pairs) return reduction.template store_pairs<V>(sum);
      }
      reduction.template store<V>(sum);
    });
  });
}

template <class Tile>
__device__ inline void reduce_grouped(const ReduceGroupedArgs& args) {
  using T = typename Tile::T;
  const u32 first = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const u32 stride = grid_size().x / wave_size;
  if (row_place<wave_size, true>::is_ragged(args.width)) {
    reduce_groups<T, true>(args, first, stride);
  } else {
    reduce_groups<T, false>(args, first, stride);
  }
}

}  // namespace

}  // namespace hk
