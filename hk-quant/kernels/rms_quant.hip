// n[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * weight[j], where h = x or, fused, x + residual, to
// codes: with a scale of each group of a row, of each row, a given one, or a power of two of each
// block of 32. f32 throughout. The norm and the sum can be stored too, rounded once.
#include "hk/math.h"
#include "hk/quant_rows.h"

namespace hk {

struct RmsQuantArgs {
  const void* x;
  const void* residual;  // null unless fused
  const void* weight;
  u8* codes;           // null if the norm alone is wanted
  void* y;             // the norm; null if not wanted
  void* residual_out;  // null if not wanted
  const f32* scale;    // the given one
  f32* row_scales;
  GroupScales groups;
  BlockScales blocks;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 residual_stride;
  i64 codes_stride;  // in bytes
  i64 y_stride;
  i64 residual_out_stride;
  u32 rows;
  u32 width;
  u32 weight_type;  // a dtype
  f32 eps;
  u32 kind;       // a scale_kind
  u32 format;     // of the codes of a kind that has several: a byte_format
  u32 rounds;     // whether the norm is rounded to the type of x before it is scaled
  f32 most_amax;  // of a row, as far as it counts
};

namespace {

// The numbers are the host's.
enum class scale_kind : u32 { none, given, row, group, block };

// Rows that are normalised, held as type H, to which sums are rounded. What is done with the norm is
// said by policies that derive from this.
template <class Tile, class H>
struct norm_rows {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const RmsQuantArgs& args;

  struct loads {
    row_load<T, chunks> x, residual;
  };
  using held = per_chunk<vec<H, chunk>, chunks>;
  using values = per_chunk<chunk_values, chunks>;

  __device__ void start(loads& to, const auto& at) const {
    to.x.start({static_cast<const T*>(args.x), args.x_stride}, at);
    if constexpr (Tile::FUSED) {
      to.residual.start({static_cast<const T*>(args.residual), args.residual_stride}, at);
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held h;
    for (int i = 0; i < chunks; ++i) {
      const vec<T, chunk> x = from.x.elements(i, at);
      if constexpr (Tile::FUSED) {
        const vec<T, chunk> residual = from.residual.elements(i, at);
        h.of[i] = round_to<H, chunk>(to_f32<T, chunk>(x) + to_f32<T, chunk>(residual));
      } else {
        h.of[i] = x;
      }
    }
    return h;
  }

  using columns = column_load<chunks>;

  __device__ void start(columns& to, const auto& at) const {
    to.start(args.weight, weight_type(), at);
  }

  __device__ chunk_values hold(const columns& from, int i, const auto& at) const {
    return from.values(i, weight_type(), at);
  }

  using reduction = add;

  __device__ f32 measure(const held& row) const { return dot(row, row); }

 protected:
  // In some tiles there are more arguments than scalar registers.
  __device__ auto late() const {
    constexpr bool shares_wave = Tile::LANES < wave_size;
    return late_arguments<Tile::IN_PIECES || (Tile::FUSED && shares_wave)>(args);
  }

  __device__ values normalised(const held& row, auto& weights, f32 squares) const {
    const auto of = late();
    const f32 scale = rsqrt(squares * reciprocal(static_cast<f32>(of->width)) + of->eps);
    values norm;
    for (int i = 0; i < chunks; ++i) norm.of[i] = to_f32<H, chunk>(row.of[i]) * scale * weights(i);
    return norm;
  }

  __device__ matrix<u8> codes() const {
    const auto to = late();
    return {to->codes, to->codes_stride};
  }

  // Stores what is wanted besides codes, of which the sum may be wanted always.
  template <bool HasSum = false>
  __device__ void store_others(const held& row, const values& norm, const auto& at) const {
    const auto to = late();
    if constexpr (Tile::FUSED) {
      if (HasSum || to->residual_out != nullptr) {
        const matrix<T> sum{static_cast<T*>(to->residual_out), to->residual_out_stride};
        store_row<chunks>(sum, at, [&](int i) {
          return round_to<T, chunk>(to_f32<H, chunk>(row.of[i]));
        });
      }
    }
    if (to->y != nullptr) store_norm(to, norm, at);
  }

  __device__ static void store_norm(const auto& to, const values& norm, const auto& at) {
    store_row<chunks>(matrix<T>{static_cast<T*>(to->y), to->y_stride}, at,
                      [&](int i) { return round_to<T, chunk>(norm.of[i]); });
  }

 private:
  __device__ dtype weight_type() const { return static_cast<dtype>(args.weight_type); }
};

// The norm without codes.
template <class Tile, class H>
struct only_norm : norm_rows<Tile, H> {
  __device__ void store(const auto& row, auto&& weights, f32 squares, const auto& at) const {
    const auto norm = this->normalised(row, weights, squares);
    this->store_norm(this->late(), norm, at);
  }
};

template <class Tile, class H, class Format>
struct norm_by_given : norm_rows<Tile, H> {
  using T = typename Tile::T;

  f32 inverse;

  __device__ void store(const auto& row, auto&& weights, f32 squares, const auto& at) const {
    auto norm = this->normalised(row, weights, squares);
    this->store_others(row, norm, at);
    if (this->late()->rounds != 0) {
      for (chunk_values& n : norm.of) n = to_f32<T, chunk>(round_to<T, chunk>(n));
    }
    store_scaled<f32, Format, Tile::CHUNKS>(this->codes(), at, inverse,
                                            [&](int i) { return norm.of[i]; });
  }
};

template <class Tile, class H, class Format>
struct norm_by_group : norm_rows<Tile, H> {
  __device__ void store(const auto& row, auto&& weights, f32 squares, const auto& at) const {
    const auto norm = this->normalised(row, weights, squares);
    this->store_others(row, norm, at);
    const GroupScales groups = this->late()->groups;
    store_groups<f32, Format, Tile::CHUNKS>(this->codes(), groups, at,
                                            [&](int i) { return norm.of[i]; });
  }
};

template <class Tile, class H, class Format>
struct norm_by_block : norm_rows<Tile, H> {
  __device__ void store(const auto& row, auto&& weights, f32 squares, const auto& at) const {
    const auto norm = this->normalised(row, weights, squares);
    this->store_others(row, norm, at);
    const BlockScales blocks = this->late()->blocks;
    store_blocks<f32, Format, Tile::CHUNKS>(this->codes(), blocks, at,
                                            [&](int i) { return norm.of[i]; });
  }
};

template <class Tile, class H>
struct norm_by_row : norm_rows<Tile, H> {
  using refinement = largest_magnitude;

  __device__ u32 refine(const auto& row, auto&& weights, f32 squares) const {
    const auto norm = this->normalised(row, weights, squares);
    return largest_of_share<f32, Tile::CHUNKS>([&](int i) { return norm.of[i]; });
  }

  __device__ void store(const auto& row, auto&& weights, f32 squares, u32 amax,
                        const auto& at) const {
    const auto norm = this->normalised(row, weights, squares);
    this->template store_others<true>(row, norm, at);
    const auto to = this->late();
    // NaN is not capped.
    const u32 most = bit_cast<u32>(to->most_amax);
    const bool is_capped = amax > most && amax <= 0x7f800000;
    with_format(static_cast<byte_format>(to->format), [&](auto format) {
      using format_of = decltype(format);
      const scaling by = row_scaling(is_capped ? most : amax, format_of::most);
      store_scaled<f32, format_of, Tile::CHUNKS>(this->codes(), at, by.inverse,
                                                 [&](int i) { return norm.of[i]; });
      if (at.column == 0 && at.leads_row()) to->row_scales[at.row()] = by.scale;
    });
  }
};

// Sums are rounded where rows have one scale, and held in f32 elsewhere.
template <bool Fused, class T>
struct sum_of_rows {
  using type = T;
};
template <class T>
struct sum_of_rows<true, T> {
  using type = f32;
};

template <class Tile>
__device__ inline void rms_quant(const RmsQuantArgs& args) {
  using T = typename Tile::T;
  using sum = typename sum_of_rows<Tile::FUSED, T>::type;
  const auto run = [&](const auto& policy) { for_rows<Tile>(policy, args.rows, args.width); };
  switch (static_cast<scale_kind>(args.kind)) {
    case scale_kind::none:
      // Of other rows, which have no residual.
      if constexpr (!Tile::FUSED) run(only_norm<Tile, sum>{{args}});
      break;
    case scale_kind::given: {
      const f32 inverse = scaling_by(*args.scale).inverse;
      run(norm_by_given<Tile, sum, e4m3_codes>{{args}, inverse});
      break;
    }
    case scale_kind::row: run(norm_by_row<Tile, T>{{args}}); break;
    case scale_kind::group: run(norm_by_group<Tile, sum, e4m3_codes>{{args}}); break;
    default:
      // Of whole bytes of codes.
      for_rows<Tile, 2>(norm_by_block<Tile, sum, mx_e2m1>{{args}}, args.rows, args.width);
      if (args.blocks.shuffled_columns != 0) {
        pad_shuffled<Tile>(args.blocks, args.rows, mx_blocks(args.width));
      }
  }
}

}  // namespace

}  // namespace hk
