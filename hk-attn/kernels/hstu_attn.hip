// Attention without softmax, in which each key's weight is silu(alpha q k) / N: those of a sequence are
// independent of each other. See hk/attention.h.
#include "hk/arch/zero_product.h"
#include "hk/attention.h"

namespace hk {

struct HstuArgs {
  AttentionArgs attention;
  IndexList targets;  // so many last rows of sequences, if any
  IndexList order;    // in which sequences begin, if given
  f32 weight_factor;   // 1 / N; of f16, a power of two near 1 / sqrt(N)
  f32 length;          // what their sums are divided by: 1; of f16, the rest of N
  u32 contextual;      // first rows of sequences, that see all but targets
  u32 most_distance;   // between a row and what it sees
  u32 is_causal;
  u32 reserved;
};

namespace {

__device__ inline const HstuArgs& hstu_arguments() {
  return *(const HstuArgs*)&attention_arguments();
}

// Which rows see each other, by numbers of rows: the same number for those of the context, and for
// targets. Numbers never decrease along a sequence.
struct hstu_mask {
  i32 first;  // the row that others count from
  i32 last;   // the number of targets, above that of all others
  i32 most;   // distance
  i32 rows;   // of the sequence
  bool is_causal, has_context;

  __device__ hstu_mask(const HstuArgs& in, u32 sequence, u32 length)
      : is_causal(in.is_causal), has_context(in.contextual > 0) {
    first = has_context ? in.contextual - 1 : 0;
    const u32 targets =
        in.targets.base == nullptr ? 0 : key_sequence::at_most(length, index_at(in.targets, sequence));
    last = uniform(static_cast<i32>(length - targets) - first);
    most = in.most_distance;
    rows = static_cast<i32>(length);
  }

  __device__ i32 number_of(i32 row) const {
    const i32 number = row > first ? row - first : 0;
    return number < last ? number : last;
  }
  // The first row of a number, or of a greater one. Nothing sees what tiles have behind the last row.
  __device__ i32 row_of(i32 number) const {
    return number > last ? rows : number > 0 ? first + number : 0;
  }

  // What a row sees, besides itself: keys [begin, end) but for [hole, hole_end).
  struct keys {
    i32 begin, end, hole, hole_end;
  };
  __device__ keys seen_by(i32 row) const {
    const i32 number = number_of(row);
    const i32 begin = row_of(number - most), end = row_of(number);
    if (!is_causal) return {begin, row_of(number + 1 + most), end, row_of(number + 1)};
    if (has_context && number == 0) return {0, row_of(last), 0, 0};
    return {begin, end, 0, 0};
  }
  // Whether each of the rows sees each of the keys, which are all on one side of them.
  __device__ bool all_see(i32 first_row, i32 last_row, i32 first_key, i32 last_key) const {
    const i32 low = number_of(first_row), high = number_of(last_row);
    return (first_key >= row_of(high - most) && last_key < row_of(low)) ||
           (!is_causal && first_key >= row_of(high + 1) && last_key < row_of(low + 1 + most));
  }
};

template <class Tile>
__device__ inline void hstu_attn(const HstuArgs&) {
  using block_of = attention_block<Tile, row_kind::adjacent>;
  using span = typename block_of::span;
  constexpr int rows_of_tile = block_of::block_q;
  __shared__ alignas(256) char memory[block_of::lds_bytes];
  const u32 id = contiguous_per_xcd(block_idx().x, grid_dim().x);
  attention_task task(attention_arguments(), id);
  if (const IndexList& order = hstu_arguments().order; order.base != nullptr) {
    const i64 sequence = index_at(order, task.sequence);
    if (sequence < 0 || sequence >= attention_arguments().sequences) return;
    task.sequence = uniform(static_cast<u32>(sequence));
    task.find_queries(attention_arguments());
  }
  if (task.tile * rows_of_tile >= task.length) return;
  block_of block(attention_arguments(), task, lds_start(memory));
  block.begin(attention_arguments());
  const hstu_mask mask(hstu_arguments(), task.sequence, task.length);
  const auto last_of = [&](u32 first, u32 count) { return block_of::min_of(first + count, block.rows) - 1; };
  const u32 from = task.tile * rows_of_tile, to = last_of(from, rows_of_tile);
  // Those of the context may see more than those behind it.
  const hstu_mask::keys of_first = mask.seen_by(from), of_last = mask.seen_by(to);
  const u32 seen = of_first.end > of_last.end ? of_first.end : of_last.end;
  // Of targets alone, none sees any key from the first target on, but itself.
  const bool only_targets = mask.number_of(from) == mask.last;
  const u32 others = uniform(only_targets ? static_cast<u32>(mask.row_of(mask.last)) : task.length);
  const u32 end = seen > to && !only_targets ? seen : to + 1;
  // Values of what no row of the workgroup sees are not multiplied, even by 0: they may be NaN.
  block.seen_from = uniform(static_cast<u32>(of_first.begin));
  block.seen_to = end;
  const u32 wave_from = uniform(block.wave_row);
  const u32 wave_to = last_of(wave_from, block_of::rows_of_wave);
  const auto weigh = [&](typename block_of::scores& s, const span& tile) {
    const f32 alpha = attention_arguments().scale, by = hstu_arguments().weight_factor;
    block_of::each([&](auto f, auto n) {
      vec<f32, 4>& four = s[f.value][n.value];
      four *= alpha;
      static_for<4>([&](auto i) {
        const f32 x = four[i.value];
        // A score of -inf has no weight, rather than -inf times 0.
        const f32 sigmoid = arch::reciprocal(1 + arch::exp2(-log2_e * x));
        four[i.value] = arch::zero_product(x, sigmoid * by);
      });
    });
    if (mask.all_see(wave_from, wave_to, tile.position, tile.position + block_of::block_k - 1)) return;
    u32 lane = lane_id();
    arch::forget(lane);
    static_for<block_of::q_fragments>([&](auto n) {
      const i32 row = wave_from + n.value * 16 + lane % 16, first = tile.position + lane / 16 * 8;
      const hstu_mask::keys keys = mask.seen_by(row);
      const u32 from_begin = first - keys.begin, count = keys.end - keys.begin;
      const u32 from_hole = first - keys.hole, hole = keys.hole_end - keys.hole;
      static_for<block_of::fragments>([&](auto f) {
        static_for<4>([&](auto i) {
          constexpr i32 key = block_of::key_of(f.value, i.value);
          f32& x = reinterpret_cast<f32(&)[4]>(s[f.value][n.value])[i.value];
          const bool sees = from_begin + key < count && !(from_hole + key < hole);
          x = sees || first + key == row ? x : 0;
        });
      });
    });
  };
  constexpr u32 block_k = block_of::block_k;
  // So that own rows begin with a tile, and those that are left out before them are whole tiles.
  static_assert(rows_of_tile % block_of::block_k == 0);
  const u32 first_tile = of_first.begin / block_k, end_tile = (end - 1) / block_k + 1;
  const u32 end_of_others = (others + block_k - 1) / block_k;
  const u32 left_out = only_targets ? from / block_k - end_of_others : 0;
  const auto span_of_number = [&](u32 number) {
    if (number >= end_of_others) return block.span_of(number + left_out);
    span tile = block.span_of(number);
    tile.count = block_of::min_of(tile.count, others - tile.position);
    return tile;
  };
  block.run({first_tile, end_tile - left_out}, span_of_number, weigh);
  block.finish([&](u32 row, u32 column, auto sums, row_state) {
    constexpr int count = sizeof(sums) / sizeof(f32);
    store_row<count>(attention_arguments(), block.task, row, column, sums, {0, hstu_arguments().length});
  });
}

}  // namespace

}  // namespace hk
