// y[i,j] = (h[i,j] - mean[i]) * rstd[i] * weight[j] + bias[j], where h = x or, fused,
// h = round(x + residual), which is stored too; mean[i] = mean_j h[i,j] and
// rstd[i] = 1 / sqrt(mean_j (h[i,j] - mean[i])^2 + eps) can be stored. f32 throughout, one rounding at
// the store. Each lane has the mean of its share and the squares of what differs from that; these are
// merged.
#include "hk/math.h"
#include "hk/rows.h"

namespace hk {

struct LayernormArgs {
  const void* x;
  const void* residual;  // null unless fused
  const void* weight;    // null for ones
  const void* bias;      // null for zeros
  void* y;
  void* residual_out;  // null unless fused
  f32* mean;           // null if not wanted
  f32* rstd;           // null if not wanted
  i64 x_stride;        // in elements, from row to row, as all strides
  i64 residual_stride;
  i64 y_stride;
  i64 residual_out_stride;
  u32 rows;
  u32 width;
  u32 weight_type;  // a dtype
  u32 bias_type;    // a dtype
  f32 eps;
};

namespace {

// What is known of `count` numbers: `squares` is the sum of the squares of their differences from
// their mean.
struct moments {
  f32 count;
  f32 mean;
  f32 squares;
};

// A count to divide by, where none are counted, and nothing is divided.
__device__ inline f32 at_least_one(f32 count) { return __builtin_fmaxf(count, 1); }

struct merge_moments {
  __device__ static moments identity() { return {0, 0, 0}; }

  // As Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
  // variances" (1979). Equal means stay what they are; the result has the same bits whichever
  // comes first.
  __device__ static moments apply(moments a, moments b) {
    const bool is_ordered = a.count != b.count ? a.count > b.count : a.mean >= b.mean;
    const moments larger = is_ordered ? a : b, smaller = is_ordered ? b : a;
    const f32 count = a.count + b.count;
    const f32 share = smaller.count / at_least_one(count);
    const f32 apart = smaller.mean - larger.mean;
    // The square of what is far apart may be infinite, where one counts nothing.
    return {count, __builtin_fmaf(apart, share, larger.mean),
            __builtin_fmaf(apart * (share * larger.count), apart, a.squares + b.squares)};
  }
};

// What `for_rows` is to do.
template <class Tile>
struct layernorm_rows {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const LayernormArgs& args;

  struct loads {
    row_load<T, chunks> x, residual;
  };
  using elements = vec<T, chunk>;
  struct held {
    per_chunk<elements, chunks> h;
    f32 count;  // of elements in the row; the others are as the first
  };

  __device__ void start(loads& to, const auto& at) const {
    to.x.start({static_cast<const T*>(args.x), args.x_stride}, at);
    if constexpr (Tile::FUSED) {
      to.residual.start({static_cast<const T*>(args.residual), args.residual_stride}, at);
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    u32 count = 0;
    for (int i = 0; i < chunks; ++i) {
      elements& h = row.h.of[i];
      h = from.x.elements(i, at);
      if constexpr (Tile::FUSED) {
        const elements residual = from.residual.elements(i, at);
        h = round_to<T, chunk>(to_f32<T, chunk>(h) + to_f32<T, chunk>(residual));
      }
      h = fill_past_end(h, row.h.of[0][0], i, at);
      count += at.elements_of(i);
    }
    row.count = static_cast<f32>(count);
    return row;
  }

  struct columns {
    column_load<chunks> weight, bias;
  };
  struct factors {
    chunk_values weight, bias;
  };

  __device__ void start(columns& to, const auto& at) const {
    to.weight.start(args.weight, weight_type(), at.only_if(args.weight != nullptr));
    to.bias.start(args.bias, bias_type(), at.only_if(args.bias != nullptr));
  }

  __device__ factors hold(const columns& from, int i, const auto& at) const {
    const f32 ones = args.weight == nullptr ? 1 : 0;
    return {from.weight.values(i, weight_type(), at) + ones, from.bias.values(i, bias_type(), at)};
  }

  using reduction = merge_moments;

  __device__ moments measure(const held& row) const {
    // Of differences from one of the numbers, which vanish if all are the same.
    const f32 first = to_f32(row.h.of[0][0]);
    chunk_values sums = 0;
    for (int i = 0; i < chunks; ++i) sums += to_f32<T, chunk>(row.h.of[i]) - first;
    const f32 apart = sum(sums) / at_least_one(row.count);
    const f32 mean = first + apart;
    chunk_values squares = 0;
    for (int i = 0; i < chunks; ++i) {
      const chunk_values differences = to_f32<T, chunk>(row.h.of[i]) - mean;
      squares += differences * differences;
    }
    // Without those of the elements past the end.
    const f32 others = chunk * chunks - row.count, difference = first - mean;
    return {row.count, mean, sum(squares) - others * (difference * difference)};
  }

  __device__ void store(const held& row, auto&& factors_of, moments all, const auto& at) const {
    const auto to = late_arguments<Tile::FUSED && Tile::IN_PIECES>(args);
    const f32 rstd = rsqrt(all.squares / all.count + to->eps);
    if constexpr (Tile::FUSED) {
      const matrix<T> sum{static_cast<T*>(to->residual_out), to->residual_out_stride};
      store_row<chunks>(sum, at, [&](int i) { return row.h.of[i]; });
    }
    const matrix<T> y{static_cast<T*>(to->y), to->y_stride};
    store_row<chunks>(y, at, [&](int i) {
      const factors of_chunk = factors_of(i);
      const chunk_values differences = to_f32<T, chunk>(row.h.of[i]) - all.mean;
      return round_to<T, chunk>(differences * rstd * of_chunk.weight + of_chunk.bias);
    });
    if (at.column == 0 && at.leads_row()) {
      if (to->mean != nullptr) to->mean[at.row()] = all.mean;
      if (to->rstd != nullptr) to->rstd[at.row()] = rstd;
    }
  }

 private:
  __device__ dtype weight_type() const { return static_cast<dtype>(args.weight_type); }
  __device__ dtype bias_type() const { return static_cast<dtype>(args.bias_type); }
};

template <class Tile>
__device__ inline void layernorm(const LayernormArgs& args) {
  for_rows<Tile>(layernorm_rows<Tile>{args}, args.rows, args.width);
}

}  // namespace

}  // namespace hk
