// What comparisons of tensors need: elementwise differences and conversions, and reductions of whole
// tensors, in f32.
//
// A reduction is two launches: each workgroup reduces what it takes in turn to one value, and one
// workgroup reduces these. Which elements are added up together, and in which order, depends on the
// number of elements alone. Sums are of 64 bits.
#include "hk/elements.h"
#include "hk/wave.h"

namespace hk {

enum class elementwise : u32 { abs_diff, squared_diff, widen, round };

struct ElementwiseArgs {
  const void* x;
  const void* y;  // of differences
  void* out;
  i64 count;
  u32 kind;
  u32 reserved;
};

enum class reduction : u32 { sum, maximum, largest_difference, squares };

struct ReduceArgs {
  const f32* x;
  const f32* y;      // of differences
  void* partials;    // of each workgroup
  f32* result;
  i64 count;
  u32 kind;
  u32 workgroups;  // of the first launch
};

struct L2NormalizeArgs {
  const f32* x;
  f32* out;
  i64 x_stride;  // in elements, from row to row
  i64 out_stride;
  u32 rows;
  u32 width;
  f32 eps;
  u32 reserved;
};

namespace {

// A sum of 64 bits, or two, or a maximum.
struct partial {
  double sums[2];
  f32 most;
  u32 reserved;
};

struct combine {
  __device__ static partial apply(const partial& a, const partial& b) {
    return {{a.sums[0] + b.sums[0], a.sums[1] + b.sums[1]}, maximum::apply(a.most, b.most), 0};
  }
};

template <class In, class Out, int N, class F>
__device__ inline void for_elements_of(const ElementwiseArgs& args, u32 threads, F&& result) {
  const i64 step = static_cast<i64>(grid_dim().x) * threads * N;
#pragma unroll 1
  for (i64 at = static_cast<i64>(global_idx()) * N; at < args.count; at += step) {
    const u32 count = args.count - at < N ? static_cast<u32>(args.count - at) : N;
    const auto x = load_elements<In, N>(static_cast<const In*>(args.x) + at, 1, count);
    store_elements<Out, N>(static_cast<Out*>(args.out) + at, 1, count, result(x, at, count));
  }
}

template <class Tile>
__device__ inline void elementwise_functions(const ElementwiseArgs& args) {
  const auto kind = static_cast<elementwise>(args.kind);
  if (kind == elementwise::widen) {
    return for_elements_of<bf16, f32, 8>(args, Tile::threads, [](vec<bf16, 8> x, i64, u32) {
      return to_f32<bf16, 8>(x);
    });
  }
  if (kind == elementwise::round) {
    return for_elements_of<f32, bf16, 8>(args, Tile::threads, [](vec<f32, 8> x, i64, u32) {
      return round_to<bf16, 8>(x);
    });
  }
  for_elements_of<f32, f32, 4>(args, Tile::threads, [&](vec<f32, 4> x, i64 at, u32 count) {
    const auto y = load_elements<f32, 4>(static_cast<const f32*>(args.y) + at, 1, count);
    const vec<f32, 4> difference = x - y;
    vec<f32, 4> of_kind;
    for (int e = 0; e < 4; ++e) {
      of_kind[e] = kind == elementwise::abs_diff ? __builtin_fabsf(difference[e])
                                                 : difference[e] * difference[e];
    }
    return of_kind;
  });
}

template <int Waves>
__device__ inline partial of_workgroup(const partial& own) {
  __shared__ partial scratch[Waves];
  return workgroup_reduce<combine, Waves>(own, scratch);
}

template <class Tile>
__device__ inline void reduce_parts(const ReduceArgs& args) {
  const auto kind = static_cast<reduction>(args.kind);
  const bool has_difference = kind >= reduction::largest_difference;
  const i64 step = static_cast<i64>(args.workgroups) * Tile::threads * 4;
  partial own{{0, 0}, maximum::identity(), 0};
#pragma unroll 1
  for (i64 at = static_cast<i64>(global_idx()) * 4; at < args.count; at += step) {
    const u32 count = args.count - at < 4 ? static_cast<u32>(args.count - at) : 4;
    const vec<f32, 4> x = load_elements<f32, 4>(args.x + at, 1, count);
    vec<f32, 4> difference = x;
    if (has_difference) difference -= load_elements<f32, 4>(args.y + at, 1, count);
    for (u32 e = 0; e < 4; ++e) {
      if (e >= count) break;
      const double of_x = x[e], of_difference = difference[e];
      const bool squares = kind == reduction::squares;
      own.sums[0] += squares ? of_difference * of_difference : of_x;
      own.sums[1] += of_x * of_x;
      own.most = maximum::apply(own.most, has_difference ? __builtin_fabsf(difference[e]) : x[e]);
    }
  }
  own = of_workgroup<Tile::threads / wave_size>(own);
  if (thread_idx().x == 0) static_cast<partial*>(args.partials)[block_idx().x] = own;
}

// The root of a square that f32 may have no number for, or but a few digits: it is taken of one that f32
// has, from which it differs by a power of four.
__device__ inline f32 root_of(double square) {
  const bool large = square > 0x1p100, small = square < 0x1p-100;
  const double factor = large ? 0x1p-200 : small ? 0x1p200 : 1;
  const f32 root = __builtin_sqrtf(static_cast<f32>(square * factor));
  return root * (large ? 0x1p100f : small ? 0x1p-100f : 1.0f);
}

// One workgroup.
template <class Tile>
__device__ inline void reduce_partials(const ReduceArgs& args) {
  partial own{{0, 0}, maximum::identity(), 0};
#pragma unroll 1
  for (u32 i = thread_idx().x; i < args.workgroups; i += Tile::threads) {
    own = combine::apply(own, static_cast<const partial*>(args.partials)[i]);
  }
  own = of_workgroup<Tile::threads / wave_size>(own);
  if (thread_idx().x != 0) return;
  const auto kind = static_cast<reduction>(args.kind);
  f32 result = own.most;
  if (kind == reduction::sum) result = static_cast<f32>(own.sums[0]);
  if (kind == reduction::squares) {
    // rms(x - y) / (rms(x) + 1e-8)
    const double count = static_cast<double>(args.count);
    const f32 error = root_of(own.sums[0] / count), size = root_of(own.sums[1] / count);
    result = error / (size + 1e-8f);
  }
  *args.result = result;
}

// Elements of a row that a wave keeps in registers: pieces of 16 bytes of each lane.
constexpr int kept_pieces = 8;
constexpr u32 kept = kept_pieces * wave_size * 4;

struct add_double {
  __device__ static double apply(double a, double b) { return a + b; }
};

// x / sqrt(sum x^2 + eps). Waves take the rows in turn; a row is read again only if it is longer than what
// is kept.
template <class Tile>
__device__ inline void l2_normalize(const L2NormalizeArgs& args) {
  constexpr u32 waves = Tile::threads / wave_size;
  const i64 step = static_cast<i64>(grid_dim().x) * waves;
#pragma unroll 1
  for (i64 row = block_idx().x * waves + wave_id(); row < args.rows; row += step) {
    const f32* from = args.x + row * args.x_stride;
    f32* to = args.out + row * args.out_stride;
    vec<f32, 4> pieces[kept_pieces];
    const auto for_pieces = [&](u32 first, auto&& body) {
      static_for<kept_pieces>([&](auto i) {
        const u32 at = first + (i.value * wave_size + lane_id()) * 4;
        if (at < args.width) body(pieces[i], at, args.width - at < 4 ? args.width - at : 4);
      });
    };
    const auto load = [&](vec<f32, 4>& piece, u32 at, u32 count) {
      piece = load_elements<f32, 4>(from + at, 1, count);
    };
    double sum = 0;
#pragma unroll 1
    for (u32 first = 0; first < args.width; first += kept) {
      for_pieces(first, load);
      for_pieces(first, [&](vec<f32, 4>& piece, u32, u32 count) {
        for (u32 e = 0; e < 4; ++e) {
          const double x = e < count ? piece[e] : 0;
          sum += x * x;
        }
      });
    }
    const double square = wave_reduce<add_double>(sum) + args.eps;
    // Rows so short that f32 may have but a few digits of their length are as much longer as that is.
    const bool is_short = square < 0x1p-200;
    const f32 times = is_short ? 0x1p100f : 1.0f;
    // Rows whose squares are more than f32 holds become zeros.
    const f32 rounded = static_cast<f32>(square);
    const f32 length = __builtin_isinf(rounded) ? rounded : root_of(is_short ? square * 0x1p200 : square);
#pragma unroll 1
    for (u32 first = 0; first < args.width; first += kept) {
      if (args.width > kept) for_pieces(first, load);
      for_pieces(first, [&](vec<f32, 4>& piece, u32 at, u32 count) {
        const vec<f32, 4> unit = piece * times / (length > 0 || length != length ? length : 1.0f);
        store_elements<f32, 4>(to + at, 1, count, unit);
      });
    }
  }
}

}  // namespace

}  // namespace hk
