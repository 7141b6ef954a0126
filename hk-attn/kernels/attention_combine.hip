// Results of parts of keys, combined to those of all: of sums that are not yet divided by those of their
// weights, or of averages and logarithms of these sums. A wave has a row of a head, and goes through its
// parts in their order.
#include "hk/arch/logarithm.h"
#include "hk/elements.h"
#include "hk/math.h"
#include "hk/quant.h"
#include "hk/types.h"
#include "hk/wave.h"

namespace hk {

// Where numbers of parts, sequences, rows and heads are; the host's `PartPlaces`. Distances in elements.
struct PartPlaces {
  const void* base;
  i64 part;
  i64 sequence;
  i64 row;
  i64 head;

  __device__ i64 at(u32 of, u32 of_row, u32 of_head) const {
    return of * sequence + of_row * row + of_head * head;
  }
};

// Where results of sequences, rows and heads are; of the host's `PartPlaces`, those without parts.
struct ResultPlaces {
  void* base;
  i64 part;
  i64 sequence;
  i64 row;
  i64 head;

  __device__ i64 at(u32 of, u32 of_row, u32 of_head) const {
    return of * sequence + of_row * row + of_head * head;
  }
};

struct CombineArgs {
  PartPlaces parts;
  PartPlaces maxima;  // or logarithms of sums
  PartPlaces sums;    // of weights; null if parts are averages
  ResultPlaces out;
  ResultPlaces lse;  // null if not wanted
  u32 part_type;   // a dtype
  u32 out_type;
  u32 count;  // of parts
  u32 sequences;
  u32 rows;
  u32 heads;
  u32 width;
  f32 unit;  // what maxima are multiplied by, to be of base 2
};

namespace {

template <class Tile>
__device__ inline void attention_combine(const CombineArgs& in) {
  const u32 number = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const u32 row_number = uniform(number / in.heads), head = number - row_number * in.heads;
  const u32 sequence = uniform(row_number / in.rows), row = row_number - sequence * in.rows;
  if (sequence >= in.sequences) return;
  const f32* maxima = static_cast<const f32*>(in.maxima.base) + in.maxima.at(sequence, row, head);
  const f32* part_sums = static_cast<const f32*>(in.sums.base) + in.sums.at(sequence, row, head);
  const i64 first = in.parts.at(sequence, row, head);
  constexpr f32 infinity = __builtin_inff();
  f32 most = -infinity;
#pragma unroll 1
  for (u32 part = 0; part < in.count; ++part) {
    const f32 x = maxima[part * in.maxima.part];
    if (!(x <= most)) most = x;  // NaN stays
  }
  f32 sum = 0;
#pragma unroll 1
  for (u32 column = lane_id() * 4; column == lane_id() * 4 || column < in.width;
       column += wave_size * 4) {
    const u32 left = column < in.width ? in.width - column : 0;
    vec<f32, 4> all = 0;
    sum = 0;
#pragma unroll 1
    for (u32 part = 0; part < in.count; ++part) {
      const f32 x = maxima[part * in.maxima.part];
      // A part without weights has nothing to say, whatever it is.
      if (x == -infinity) continue;
      const f32 weight = arch::exp2((x - most) * in.unit);
      sum = __builtin_fmaf(weight, in.sums.base == nullptr ? 1 : part_sums[part * in.sums.part], sum);
      if (left == 0) continue;
      const i64 at = first + part * in.parts.part + column;
      with_type(static_cast<dtype>(in.part_type), [&](auto zero) {
        using T = decltype(zero);
        const T* from = static_cast<const T*>(in.parts.base) + at;
        const vec<f32, 4> own = to_f32<T, 4>(load_elements<T, 4>(from, 1, left));
        all = own * weight + all;
      });
    }
    if (left == 0) continue;
    const vec<f32, 4> x = sum == 0 ? vec<f32, 4>(0) : all / sum;
    const i64 at = in.out.at(sequence, row, head) + column;
    with_type(static_cast<dtype>(in.out_type), [&](auto zero) {
      using O = decltype(zero);
      O* to = static_cast<O*>(in.out.base) + at;
      store_elements<O, 4>(to, 1, left, round_to<O, 4>(x));
    });
  }
  if (lane_id() == 0 && in.lse.base != nullptr) {
    constexpr f32 ln_2 = 0x1.62e43p-1f;
    const f32 largest = in.unit == 1 ? most * ln_2 : most;
    f32* lse = static_cast<f32*>(in.lse.base);
    lse[in.lse.at(sequence, row, head)] =
        sum == 0 ? -infinity : __builtin_fmaf(ln_2, arch::log2(sum), largest);
  }
}

}  // namespace

}  // namespace hk
