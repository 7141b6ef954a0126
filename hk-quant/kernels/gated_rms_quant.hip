// Gated, normalised rows to codes with a scale for each group of elements:
// y[i,j] = (x[i,j] * r[i] * weight[j] + bias[j]) * act(z[i,j]) with r[i] = 1 / sqrt(mean_j x[i,j]^2 + eps),
// or, gated first, y[i,j] = h[i,j] * r[i] * weight[j] + bias[j] with h = x * act(z) and r of h; then
// c[i,j] = round(y[i,j] / s), where s = max(max |y|, 1 / 512) / most, or the power of two from there on.
// f32 throughout. Rows are read once if a group is a whole row, or 4, 8 or 16 lanes have one; else twice:
// a first launch stores the roots r, and a second takes groups as rows of their own.
#include "hk/math.h"
#include "hk/quant_rows.h"

namespace hk {

struct GatedRmsQuantArgs {
  const void* x;
  const void* z;
  const void* weight;
  const void* bias;  // null for zeros
  u8* codes;
  f32* scales;
  f32* roots;    // of rows, between the two launches; else null
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 z_stride;
  i64 codes_stride;
  i64 scales_stride;
  u32 rows;
  u32 width;  // of a row, or of a group in the second of two launches
  u32 group;
  u32 weight_type;  // a dtype
  u32 bias_type;    // a dtype
  u32 step;         // a gated_step
  u32 gates_first;
  u32 is_sigmoid;  // else silu
  u32 is_power;    // whether scales are powers of two
  f32 eps;
  f32 most;  // the largest code
  u32 reserved;
};

namespace {

// What a launch does; the numbers are the host's. Groups that are rows of their own are counted by the
// grid's second dimension.
enum class gated_step : u32 { whole_rows, lanes, roots, groups };

// The scale of a group with that largest magnitude. NaN and infinity stay.
__device__ inline f32 gated_scale(u32 amax, f32 most, bool is_power) {
  const u32 least = bit_cast<u32>(0x1p-9f);
  const f32 scale = bit_cast<f32>(amax > least ? amax : least) / most;
  const u32 bits = bit_cast<u32>(scale);
  const bool is_rounded = is_power && bits < 0x7f800000;
  return is_rounded ? bit_cast<f32>((bits + 0x7fffff) & 0x7f800000) : scale;
}

// The codes of a chunk.
__device__ inline vec<u32, 2> gated_codes(chunk_values y, f32 scale, f32 most) {
  const chunk_values quotients = clamp_to<chunk>(y / scale, most);
  return {e4m3_codes::convert(quotients.lo), e4m3_codes::convert(quotients.hi)};
}

// Rows, with what all policies do with them.
template <class Tile, gated_step Step>
struct gated_base {
  using T = typename Tile::T;
  // The roots of groups were found before.
  static constexpr bool is_group = Step == gated_step::groups;
  using root_of_row = per_chunk<f32, is_group ? 1 : 0>;
  static constexpr int chunks = Tile::CHUNKS;
  using values = per_chunk<chunk_values, chunks>;

  const GatedRmsQuantArgs& args;

  struct loads {
    row_load<T, chunks> x, z;
    root_of_row root;
  };
  struct held {
    per_chunk<vec<T, chunk>, chunks> x, z;
    root_of_row root;
  };

  __device__ void start(loads& to, const auto& at) const {
    const auto from = late();
    const i64 offset = before(from);
    to.x.start({static_cast<const T*>(from->x) + offset, from->x_stride}, at);
    // Roots need gates only if these come first.
    const bool is_gated = Step != gated_step::roots || from->gates_first != 0;
    to.z.start({static_cast<const T*>(from->z) + offset, from->z_stride}, at.only_if(is_gated));
    if constexpr (is_group) {
      const arch::checked_range roots{from->roots + at.first, out_of_range};
      const u32 offset = at.has_row() ? at.row_of_wave() * 4 : out_of_range;
      to.root.of[0] = bit_cast<f32>(roots.load_32(offset));
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    for (int i = 0; i < chunks; ++i) {
      row.x.of[i] = from.x.elements(i, at);
      row.z.of[i] = from.z.elements(i, at);
    }
    row.root = from.root;
    return row;
  }

  struct columns {
    column_load<chunks> weight, bias;
  };
  struct factors {
    chunk_values weight, bias;
  };

  __device__ void start(columns& to, const auto& at) const {
    const auto from = late();
    const i64 offset = before(from);
    const auto move = [&](const void* of, dtype type) {
      return static_cast<const char*>(of) + offset * (type == dtype::f32 ? 4 : 2);
    };
    to.weight.start(move(from->weight, weight_type()), weight_type(), at);
    const bool has_bias = from->bias != nullptr;
    to.bias.start(move(from->bias, bias_type()), bias_type(), at.only_if(has_bias));
  }

  __device__ factors hold(const columns& from, int i, const auto& at) const {
    return {from.weight.values(i, weight_type(), at), from.bias.values(i, bias_type(), at)};
  }

 protected:
  // Elements before the group that the workgroup has.
  __device__ static i64 before(const auto& of) {
    return is_group ? static_cast<i64>(block_idx().y) * of->width : 0;
  }

  // In some tiles there are more arguments than scalar registers.
  __device__ auto late() const {
    return late_arguments<Tile::IN_PIECES || Tile::LANES < wave_size>(args);
  }

  __device__ f32 squares(const held& row) const {
    const bool gates_first = late()->gates_first != 0;
    chunk_values sums = 0;
    for (int i = 0; i < chunks; ++i) {
      chunk_values h = to_f32<T, chunk>(row.x.of[i]);
      if (gates_first) h *= gates(row, i);
      sums += h * h;
    }
    return sum(sums);
  }

  __device__ f32 root(f32 squares) const {
    const auto of = late();
    return rsqrt(squares * reciprocal(static_cast<f32>(of->width)) + of->eps);
  }

  __device__ values results(const held& row, auto& factors_of, f32 root) const {
    const bool gates_first = late()->gates_first != 0;
    values y;
    for (int i = 0; i < chunks; ++i) {
      const factors of_chunk = factors_of(i);
      const chunk_values gate = gates(row, i);
      chunk_values h = to_f32<T, chunk>(row.x.of[i]);
      if (gates_first) h *= gate;
      y.of[i] = h * root * of_chunk.weight + of_chunk.bias;
      if (!gates_first) y.of[i] *= gate;
    }
    return y;
  }

  // Codes with one scale for all of the lane's row.
  __device__ void store_whole(const values& y, u32 amax, const auto& at) const {
    const auto to = late();
    const f32 most = to->most, scale = gated_scale(amax, most, to->is_power != 0);
    store_codes<8, chunks>({to->codes + before(to), to->codes_stride}, at,
                           [&](int i) { return gated_codes(y.of[i], scale, most); });
    if (at.column != 0 || !at.leads_row()) return;
    to->scales[at.row() * to->scales_stride + (is_group ? block_idx().y : 0)] = scale;
  }

  __device__ static u32 largest_of(const values& y) {
    return largest_of_share<f32, chunks>([&](int i) { return y.of[i]; });
  }

 private:
  __device__ dtype weight_type() const { return static_cast<dtype>(args.weight_type); }
  __device__ dtype bias_type() const { return static_cast<dtype>(args.bias_type); }

  // Past the end of a row, elements of x are zero.
  __device__ chunk_values gates(const held& row, int i) const {
    chunk_values z = to_f32<T, chunk>(row.z.of[i]);
    const bool is_sigmoid = late()->is_sigmoid != 0;
    for (int e = 0; e < chunk; ++e) z[e] = sigmoid(z[e]) * (is_sigmoid ? 1.0f : z[e]);
    return z;
  }
};

template <class Tile>
struct gated_whole_rows : gated_base<Tile, gated_step::whole_rows> {
  using typename gated_base<Tile, gated_step::whole_rows>::held;
  using reduction = add;
  using refinement = largest_magnitude;

  __device__ f32 measure(const held& row) const { return this->squares(row); }

  __device__ u32 refine(const held& row, auto&& factors, f32 squares) const {
    return this->largest_of(this->results(row, factors, this->root(squares)));
  }

  __device__ void store(const held& row, auto&& factors, f32 squares, u32 amax,
                        const auto& at) const {
    this->store_whole(this->results(row, factors, this->root(squares)), amax, at);
  }
};

template <class Tile>
struct gated_groups_of_lanes : gated_base<Tile, gated_step::lanes> {
  using typename gated_base<Tile, gated_step::lanes>::held;
  using reduction = add;

  __device__ f32 measure(const held& row) const { return this->squares(row); }

  __device__ void store(const held& row, auto&& factors, f32 squares, const auto& at) const {
    const auto y = this->results(row, factors, this->root(squares));
    const auto to = this->late();
    const u32 group = to->group, lanes = group / chunk;
    const f32 most = to->most;
    // Rows end with whole groups, so with whole dwords.
    __builtin_assume(at.width % 4 == 0);
    f32 scales[Tile::CHUNKS];
    for (int i = 0; i < Tile::CHUNKS; ++i) {
      const u32 amax = largest<f32, chunk>(magnitudes<f32, chunk>(y.of[i]));
      scales[i] = gated_scale(detail::largest_of_group(amax, lanes), most, to->is_power != 0);
    }
    store_codes<8, Tile::CHUNKS>({to->codes, to->codes_stride}, at,
                                 [&](int i) { return gated_codes(y.of[i], scales[i], most); });
    const bool is_first = at.lane() % lanes == 0, leads = is_first && at.has_row();
    f32* row_scales = to->scales + at.row() * to->scales_stride;
    for (int i = 0; i < Tile::CHUNKS; ++i) {
      const u32 start = at.start(i);
      if (leads && start < at.width) row_scales[(at.column + start) / group] = scales[i];
    }
  }
};

template <class Tile>
struct gated_roots : gated_base<Tile, gated_step::roots> {
  using base = gated_base<Tile, gated_step::roots>;
  using typename base::held;
  using reduction = add;

  // Roots need neither weights nor biases.
  using columns = no_columns::columns;
  using base::hold, base::start;
  __device__ void start(columns&, const auto&) const {}
  __device__ columns hold(const columns&, int, const auto&) const { return {}; }

  __device__ f32 measure(const held& row) const { return this->squares(row); }

  __device__ void store(const held&, auto&&, f32 squares, const auto& at) const {
    if (at.column == 0 && at.leads_row()) this->late()->roots[at.row()] = this->root(squares);
  }
};

template <class Tile>
struct gated_groups : gated_base<Tile, gated_step::groups>, no_reduction {
  using typename gated_base<Tile, gated_step::groups>::held;
  using refinement = largest_magnitude;

  __device__ gated_groups(const GatedRmsQuantArgs& args)
      : gated_base<Tile, gated_step::groups>{args} {}

  __device__ u32 refine(const held& row, auto&& factors, no_reduction) const {
    return this->largest_of(this->results(row, factors, row.root.of[0]));
  }

  __device__ void store(const held& row, auto&& factors, no_reduction, u32 amax,
                        const auto& at) const {
    this->store_whole(this->results(row, factors, row.root.of[0]), amax, at);
  }
};

template <class Tile>
__device__ inline void gated_rms_quant(const GatedRmsQuantArgs& args) {
  const u32 rows = args.rows, width = args.width;
  // The smallest groups that lanes have together.
  constexpr u32 least = 32;
  switch (static_cast<gated_step>(args.step)) {
    case gated_step::whole_rows: for_rows<Tile>(gated_whole_rows<Tile>{{args}}, rows, width); break;
    case gated_step::lanes:
      for_rows<Tile, least>(gated_groups_of_lanes<Tile>{{args}}, rows, width);
      break;
    case gated_step::roots: for_rows<Tile>(gated_roots<Tile>{{args}}, rows, width); break;
    default: for_rows<Tile>(gated_groups<Tile>(args), rows, width);
  }
}

}  // namespace

}  // namespace hk
