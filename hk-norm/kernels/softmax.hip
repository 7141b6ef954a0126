// y[i,j] = exp(x[i,j] - m[i]) / sum_k exp(x[i,k] - m[i]), where m[i] = max_k x[i,k]. f32 throughout,
// one rounding at the store. Rows that do not fit into registers are read twice: maximum and sum are
// found in one go, and merged.
#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

struct SoftmaxArgs {
  const void* x;
  void* y;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 y_stride;
  u32 rows;
  u32 width;
  u32 y_type;  // a dtype
};

namespace {

constexpr f32 infinity = __builtin_inff();

// What is known of some numbers x: `sum` is that of e^(x - max).
struct powers_sum {
  f32 max;
  f32 sum;
};

struct merge_sums {
  __device__ static powers_sum identity() { return {-infinity, 0}; }

  // The same bits whichever comes first. NaN in either wins.
  __device__ static powers_sum apply(powers_sum a, powers_sum b) {
    const bool a_is_larger = a.max >= b.max;
    const powers_sum larger = a_is_larger ? a : b, smaller = a_is_larger ? b : a;
    const f32 max = maximum::apply(a.max, b.max);
    // Also where both are infinite.
    const f32 scale = smaller.max == max ? 1 : exp2((smaller.max - max) * log2_e);
    return {max, __builtin_fmaf(smaller.sum, scale, larger.sum)};
  }
};

// What `for_rows` is to do, with results of type Y.
template <class Tile, class Y>
struct softmax_rows : no_columns {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;
  using reduction = merge_sums;

  const SoftmaxArgs& args;

  __device__ softmax_rows(const SoftmaxArgs& args) : args(args) {}

  using loads = row_load<T, chunks>;
  using held = per_chunk<vec<T, chunk>, chunks>;

  __device__ void start(loads& to, const auto& at) const {
    to.start({static_cast<const T*>(args.x), args.x_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held x;
    for (int i = 0; i < chunks; ++i) {
      x.of[i] = fill_past_end(from.elements(i, at), static_cast<T>(-infinity), i, at);
    }
    return x;
  }

  __device__ powers_sum measure(const held& x) const {
    chunk_values larger = -infinity;
    for (int i = 0; i < chunks; ++i) {
      larger = __builtin_elementwise_maximum(larger, to_f32<T, chunk>(x.of[i]));
    }
    const f32 max = largest(larger);
    // Without a number there are no powers, rather than those of -inf - -inf.
    const f32 base = max == -infinity ? 0 : max;
    chunk_values powers = 0;
    for (int i = 0; i < chunks; ++i) powers += power(x.of[i], base, 0);
    return {max, sum(powers)};
  }

  __device__ void store(const held& x, auto&&, powers_sum row, const auto& at) const {
    // Powers that are too small for normal numbers would be 0, the product may be subnormal.
    const f32 scale = reciprocal(row.sum) * 0x1p-24f;
    store_row<chunks>(matrix<Y>{static_cast<Y*>(args.y), args.y_stride}, at, [&](int i) {
      return round_to<Y, chunk>(power(x.of[i], row.max, 24) * scale);
    });
  }

 private:
  // e^(x - base) 2^more for x <= base. The roundings of the exponent make it 8e-6 of itself off at
  // most as long as that is a normal number, and less the closer x is to the base.
  __device__ static chunk_values power(vec<T, chunk> x, f32 base, f32 more) {
    chunk_values powers = (to_f32<T, chunk>(x) - base) * log2_e + more;
    for (int e = 0; e < chunk; ++e) powers[e] = exp2(powers[e]);
    return powers;
  }
};

template <class Tile>
__device__ inline void softmax(const SoftmaxArgs& args) {
  with_type(static_cast<dtype>(args.y_type), [&](auto zero) {
    for_rows<Tile>(softmax_rows<Tile, decltype(zero)>(args), args.rows, args.width);
  });
}

}  // namespace

}  // namespace hk
