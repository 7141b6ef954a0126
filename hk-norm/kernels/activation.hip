// Activations of rows: y[i,j] = f(x[i,j]), and gated, y[i,j] = f(g) * (l + offset) * w[i,j], where g and
// l are the halves of a row of x, or its even and odd elements, that are cut off at a limit. f32
// throughout, one rounding at the store.
#include "hk/gated_rows.h"

namespace hk {

struct ActivationArgs {
  const void* x;
  void* y;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 y_stride;
  u32 rows;
  u32 width;
  u32 kind;  // an activation
  f32 slope;
};

struct GatedArgs {
  const void* x;
  const f32* weights;
  void* y;
  i64 x_stride;
  i64 weights_stride;
  i64 y_stride;
  u32 rows;
  u32 width;          // of y
  u32 weights_width;  // 1 or that of y
  u32 is_interleaved;
  u32 kind;   // an activation, or 0 for g * sigmoid(slope * g)
  f32 slope;
  f32 limit;  // infinity for none
  f32 offset;
};

namespace {

// What is to be done with each row of x.
template <class Tile>
struct activated_rows : one_matrix<Tile>, no_columns, no_reduction {
  using one = one_matrix<Tile>;
  using T = typename one::T;
  using held = typename one::held;
  static constexpr int chunks = Tile::CHUNKS;
  using no_columns::hold;
  using no_columns::start;
  using one::hold;
  using one::start;

  const ActivationArgs& args;

  __device__ activated_rows(const ActivationArgs& args)
      : one{{static_cast<const T*>(args.x), args.x_stride}}, args(args) {}

  __device__ void store(const held& x, auto&&, no_reduction, const auto& at) const {
    store_row<chunks>(matrix<T>{static_cast<T*>(args.y), args.y_stride}, at, [&](int i) {
      return round_to<T, chunk>(activate_inline(args.kind, to_f32<T, chunk>(x.of[i]), args.slope));
    });
  }
};

// What is to be done with each gated row.
template <class Tile, bool Interleaved>
struct gated_rows : no_columns, no_reduction {
  using pairs = gated_matrix<Tile, Interleaved>;
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;
  static constexpr bool is_weighted = Tile::WEIGHTED;
  using no_columns::hold;
  using no_columns::start;

  const GatedArgs& args;
  pairs x;

  __device__ gated_rows(const GatedArgs& args)
      : args(args), x{static_cast<const T*>(args.x), args.x_stride, args.width} {}

  struct loads {
    typename pairs::loads x;
    row_load<f32, is_weighted ? chunks : 0> weights;
    f32 weight;
  };
  struct held {
    typename pairs::held x;
    per_chunk<chunk_values, is_weighted ? chunks : 0> weights;
  };

  __device__ void start(loads& to, const auto& at) const {
    x.start(to.x, at);
    if constexpr (is_weighted) {
      // One for the row, or one for each element.
      const bool is_one = args.weights_width == 1;
      const arch::checked_range ones{args.weights + at.first * args.weights_stride, out_of_range};
      const u32 offset = at.row_of_wave() * static_cast<u32>(args.weights_stride) * 4;
      to.weight = bit_cast<f32>(ones.load_32((is_one & at.has_row()) ? offset : out_of_range));
      to.weights.start({args.weights, args.weights_stride}, at.only_if(!is_one));
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    row.x = x.hold(from.x, at);
    if constexpr (is_weighted) {
      for (int i = 0; i < chunks; ++i) {
        row.weights.of[i] =
            args.weights_width == 1 ? chunk_values(from.weight) : from.weights.elements(i, at);
      }
    }
    return row;
  }

  __device__ void store(const held& row, auto&&, no_reduction, const auto& at) const {
    const auto to = late_arguments<is_weighted>(args);
    store_row<chunks>(matrix<T>{static_cast<T*>(to->y), to->y_stride}, at, [&](int i) {
      return round_to<T, chunk>(values(row, i, *to));
    });
  }

 private:
  // The results of chunk i: zeros past the end of the row.
  __device__ static chunk_values values(const held& row, int i, const auto& by) {
    chunk_values gate = to_f32<T, chunk>(row.x.gate.of[i]);
    chunk_values linear = to_f32<T, chunk>(row.x.linear.of[i]);
    // NaN passes.
    for (int e = 0; e < chunk; ++e) {
      gate[e] = gate[e] > by.limit ? by.limit : gate[e];
      linear[e] = linear[e] > by.limit ? by.limit : linear[e];
      linear[e] = linear[e] < -by.limit ? -by.limit : linear[e];
    }
    chunk_values activated;
    if (by.kind == 0) {
      for (int e = 0; e < chunk; ++e) activated[e] = gate[e] * sigmoid(by.slope * gate[e]);
    } else {
      activated = activate_inline(by.kind, gate, by.slope);
    }
    // Ops with weights have no offset.
    if constexpr (is_weighted) return activated * linear * row.weights.of[i];
    return activated * (linear + by.offset);
  }
};

template <class Tile>
__device__ inline void activation_of(const ActivationArgs& args) {
  for_elements<Tile>(activated_rows<Tile>(args), args.rows, args.width);
}

template <class Tile>
__device__ inline void gated(const GatedArgs& args) {
  if (args.is_interleaved != 0) {
    for_elements<Tile>(gated_rows<Tile, true>(args), args.rows, args.width);
  } else {
    for_elements<Tile>(gated_rows<Tile, false>(args), args.rows, args.width);
  }
}

}  // namespace

}  // namespace hk
