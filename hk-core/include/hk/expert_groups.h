// Products of tokens with matrices of integers of 8 or 4 bits that have a scale, and perhaps a zero point, for
// each group of k of a row: a number is (q - zero) scale, rounded to the type of tokens.
#pragma once

#include "hk/experts.h"

namespace hk {

struct GroupedExpertArgs {
  ExpertArgs experts;  // the scales are the product's `w_blocks`, with distances in bytes, and have no gaps
  const u8* zero_points;  // null if all are `zero`
  f32 zero;
  u32 group;       // k of one: a multiple of 8
  u32 inverse;     // 2^32 over it, rounded up: a k below 2^16 times it, over 2^32, is the k's group
  u32 groups;      // of a row
  u32 scale_type;  // a dtype
  u32 reserved;
};

// Unsigned integers: of 4 bits, the first one of a byte is in its low bits. Zero points of these are packed
// likewise, those of two rows in a byte.
struct grouped_i8 {
  u8 code;
};
struct grouped_i4 {
  u8 code;
};

template <>
inline constexpr int per_unit<grouped_i4> = 2;
template <>
inline constexpr bool has_blocks<grouped_i8> = true;
template <>
inline constexpr bool has_blocks<grouped_i4> = true;

namespace detail {

// k that share a scale at least, and those of a lane in a slice, 16 bytes.
inline constexpr int group_run = 8;
template <class T>
inline constexpr int grouped_depth = 128 / bits_of<T>;

// The scales and zero points of a lane's k in a slice.
template <int Runs>
struct group_factors {
  f32 scale[Runs];
  f32 zero[Runs];

  group_factors() = default;
  // What stands for those of operands that have none.
  __device__ group_factors(u32) {}
};

// Eight numbers of these bytes, four of each word.
template <class To>
__device__ inline bits128 in_group(vec<f32, group_run> codes, f32 scale, f32 zero) {
  return bit_cast<bits128>(round_to<To, group_run>((codes - zero) * scale));
}

template <class To>
__device__ inline bits128 expand_run(grouped_i8, const fragment_of<bits128, 1>& from, int run, f32 scale,
                                     f32 zero) {
  vec<f32, group_run> codes;
  for (int i = 0; i < group_run; ++i) {
    codes[i] = static_cast<f32>(from.chunk[0][run * 2 + i / 4] >> i % 4 * 8 & 0xff);
  }
  return in_group<To>(codes, scale, zero);
}
template <class To>
__device__ inline bits128 expand_run(grouped_i4, const fragment_of<bits128, 1>& from, int run, f32 scale,
                                     f32 zero) {
  const u32 word = from.chunk[0][run];
  const u32 halves[] = {word & 0x0f0f0f0f, word >> 4 & 0x0f0f0f0f};
  vec<f32, group_run> codes;
  for (int i = 0; i < group_run; ++i) {
    codes[i] = static_cast<f32>(halves[i % 2] >> i / 2 * 8 & 0xff);
  }
  return in_group<To>(codes, scale, zero);
}

// Operands that are multiplied in the type of x. A slice is 16 bytes per lane of w.
template <class X, class W>
struct expanded_groups {
  using x = X;
  using w = W;
  using sum = f32;
  static constexpr bool as_read = false;
  static constexpr int lane_depth = grouped_depth<W>;
  static constexpr int runs = lane_depth / group_run;
  static constexpr int x_chunks = lane_depth * bits_of<X> / 128;
  static constexpr int w_chunks = 1;
  // So that each lane has the same k of both.
  static constexpr bool adjacent = true;
  static constexpr f32 missing = 1;
  static constexpr int groups_per_slice = 1;

  template <class T, class Fragment>
  __device__ static pieces<runs> prepare(const Fragment& fragment, const group_factors<runs>& factors) {
    pieces<runs> result;
    static_for<runs>([&](auto i) {
      if constexpr (same_type<T, X>) {
        result.of[i] = fragment.chunk[i];
      } else {
        result.of[i] = expand_run<X>(W{}, fragment, i, factors.scale[i], factors.zero[i]);
      }
    });
    return result;
  }
  template <class Sum>
  __device__ static Sum mma(const pieces<runs>& w, const pieces<runs>& x, Sum c) {
    static_for<runs>([&](auto i) { c = arch::mma(X{}, w.of[i], x.of[i], c); });
    return c;
  }
};

// As `block_scales`, of groups of k: those of the rows that a lane holds. They are loaded a step ahead.
template <class T, class Map, int Fragments, int Slices>
struct factors_of_groups {
  static_assert(Map::dim == 16);
  static constexpr int lane_depth = grouped_depth<T>, runs = lane_depth / group_run;
  static constexpr bool is_packed = per_unit<T> == 2;
  using factors = group_factors<runs>;

  buffer scales, zeros;
  u32 k_begin, k_last;
  u32 row[Fragments];  // the first group of the row, counted from the workgroup's first one
  u32 zero_row[Fragments];
  u32 zero_shift[Fragments];
  u32 next_scale[Fragments][Slices][runs], next_zero[Fragments][Slices][runs];
  factors now[Fragments][Slices];

  __device__ static auto arguments() { return kernel_arguments<GroupedExpertArgs>(); }
  // Bytes of a scale, as a shift.
  __device__ static u32 scale_shift() {
    return static_cast<dtype>(arguments()->scale_type) == dtype::f32 ? 2 : 1;
  }

  __device__ factors_of_groups(const block_scale_stream& of, u32 first_row)
      : scales(of.matrix, out_of_range), zeros(of.matrix, out_of_range) {
    const auto in = arguments();
    const auto product = &in->experts.product;
    const u32 groups = in->groups;
    const u8* first = of.first();
    k_begin = of.begin * block_depth;
    k_last = product->k - 1;
    scales = buffer(first, out_of_range);
    const u32 left = of.rows - of.row, odd = is_packed ? of.row % 2 : 0;
    const u64 of_scales = static_cast<u64>(first - product->w_blocks) >> scale_shift();
    const u64 of_zeros = is_packed ? (of_scales - odd * groups) / 2 : of_scales;
    zeros = buffer(in->zero_points + of_zeros, in->zero_points == nullptr ? 0 : out_of_range);
    static_for<Fragments>([&](auto f) {
      const u32 wanted = first_row + Map::base_row(f) + Map::lane_row(lane_id() % Map::dim);
      const u32 at = wanted < left ? wanted : left - 1;
      row[f] = at * groups;
      zero_row[f] = is_packed ? (at + odd) / 2 * groups : row[f];
      zero_shift[f] = is_packed ? (at + odd) % 2 * 4 : 0;
    });
  }

  // Starts loading those of k from `first` on. Past the end of a row they are the last ones again.
  __device__ void load(u32 first) {
    const auto in = arguments();
    const bool has_zeros = in->zero_points != nullptr;
    // One group has all of a lane's k.
    const bool is_one = in->group % lane_depth == 0;
    const u32 shift = scale_shift();
    static_for<Slices>([&](auto s) {
      static_for<runs>([&](auto run) {
        if (run > 0 && is_one) {
          static_for<Fragments>([&](auto f) {
            next_scale[f][s][int{run}] = next_scale[f][s][0];
            next_zero[f][s][int{run}] = next_zero[f][s][0];
          });
          return;
        }
        const u32 in_slice = lane_id() / Map::dim * lane_depth + run * group_run;
        const u32 k = k_begin + first + s * (wave_size / Map::dim * lane_depth) + in_slice;
        const u32 group = static_cast<u64>(k < k_last ? k : k_last) * in->inverse >> 32;
        static_for<Fragments>([&](auto f) {
          const u32 at = (row[f] + group) << shift;
          next_scale[f][s][int{run}] = shift == 2 ? scales.load_32(at) : scales.load_16(at);
          next_zero[f][s][int{run}] = has_zeros ? zeros.load_8(zero_row[f] + group) : 0;
        });
      });
    });
  }
  // Takes what was loaded for this step, and loads for the next.
  __device__ void take_and_load(u32 first) {
    const auto in = arguments();
    const auto type = static_cast<dtype>(in->scale_type);
    const bool has_zeros = in->zero_points != nullptr;
    const f32 zero = in->zero;
    static_for<Fragments>([&](auto f) {
      static_for<Slices>([&](auto s) {
        static_for<runs>([&](auto run) {
          const u32 bits = next_scale[f][s][int{run}], code = next_zero[f][s][int{run}];
          const u32 of_row = is_packed ? code >> zero_shift[f] & 0xf : code;
          factors& to = now[f][s];
          to.scale[int{run}] = type == dtype::f32    ? bit_cast<f32>(bits)
                               : type == dtype::bf16 ? bit_cast<f32>(bits << 16)
                                                     : to_f32(bit_cast<f16>(static_cast<u16>(bits)));
          to.zero[int{run}] = has_zeros ? static_cast<f32>(of_row) : zero;
        });
      });
    });
    load(first);
  }

  // Those of a fragment's row in a slice.
  template <int F, int Slice>
  __device__ const factors& scale() const {
    return now[F][Slice];
  }
};

}  // namespace detail

template <class Map, int Fragments, int Slices>
struct block_scales<grouped_i8, Map, Fragments, Slices, true>
    : detail::factors_of_groups<grouped_i8, Map, Fragments, Slices> {
  using detail::factors_of_groups<grouped_i8, Map, Fragments, Slices>::factors_of_groups;
};
template <class Map, int Fragments, int Slices>
struct block_scales<grouped_i4, Map, Fragments, Slices, true>
    : detail::factors_of_groups<grouped_i4, Map, Fragments, Slices> {
  using detail::factors_of_groups<grouped_i4, Map, Fragments, Slices>::factors_of_groups;
};

template <class X>
struct product_types<unlike<X, grouped_i8>> : detail::expanded_groups<X, grouped_i8> {};
template <class X>
struct product_types<unlike<X, grouped_i4>> : detail::expanded_groups<X, grouped_i4> {};

template <class Tile>
__device__ void grouped_expert_product(const GroupedExpertArgs& args) {
  expert_product<Tile>(args.experts);
}
template <class Tile>
__device__ void grouped_expert_halves(const GroupedExpertArgs& args) {
  expert_halves<Tile>(args.experts);
}

}  // namespace hk
