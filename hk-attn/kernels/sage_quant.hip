// Queries, keys and values as codes of 8 bits: queries and keys in blocks of rows, with a scale each, values
// by channel. Keys may lose the mean of each channel, queries that of each channel of a block, which is
// made up for by what is added to scores.
//
// Means and largest magnitudes of channels are found in shares of rows, which are merged in order.
#include "hk/arch/f32_matrix.h"
#include "hk/attention_rows.h"
#include "hk/elements.h"
#include "hk/math.h"
#include "hk/quant.h"

namespace hk {

// A tensor of rows of heads; distances in elements.
struct SageRows {
  const void* base;
  i64 sequence;
  i64 row;
  i64 head;
};

// The same, of codes.
struct SageCodeRows {
  u8* base;
  i64 sequence;
  i64 row;
  i64 head;
};

struct SageQuantArgs {
  SageRows q, k, v;
  SageCodeRows q_codes, k_codes, v_codes;
  f32* q_scales;  // of sequences, heads and blocks, without gaps, as all that follows
  f32* k_scales;
  f32* v_scales;  // of channels
  f32* shares;    // of keys' and values' channels: sums, then largest magnitudes
  f32* means;     // of keys' channels, as they are rounded
  f32* q_means;   // of queries' channels in each block; null if they keep them
  f32* delta;     // products of these with keys; null if queries keep their means
  f32* delta_lse;  // products of queries with keys' means, times the factor of scores; null if not wanted
  u32 type;        // a dtype, of all inputs
  u32 sequences, q_heads, kv_heads;
  u32 q_rows, k_rows;
  u32 width, value_width;
  u32 q_block, k_block;
  u32 q_blocks, k_blocks;
  u32 share_count, share_rows;
  u32 smooths_keys;
  f32 factor;  // of queries, before they are codes
  f32 scale;   // of scores
  u32 reserved;
};

namespace {

constexpr u32 lanes = 32;  // that have a row, eight columns each
constexpr u32 widest = lanes * 8;
constexpr u32 value_rows = 64;  // of a workgroup

// The arguments, read again: there are more than scalar registers have room for beside the rest.
__device__ inline const SageQuantArgs& arguments_again() {
  auto in = arch::kernel_arguments<SageQuantArgs>();
  asm volatile("" : "+s"(in));
  return *(const SageQuantArgs*)in;
}

template <class Rows>
__device__ inline i64 place_of(const Rows& of, u32 sequence, u32 row, u32 head) {
  return sequence * of.sequence + row * of.row + head * of.head;
}

// Eight numbers of a row from column `column` on; those behind its width are zero.
__device__ inline vec<f32, 8> load_eight(const SageRows& of, dtype type, i64 row, u32 column,
                                         u32 width) {
  if (column >= width) return 0;
  const u32 left = width - column;
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = static_cast<const T*>(of.base) + row + column;
    vec<f32, 8> x = to_f32<T, 8>(load_elements<T, 8>(from, 1, left));
    for (u32 i = 0; i < 8; ++i) x[i] = i < left ? x[i] : 0;
    return x;
  });
}

__device__ inline vec<f32, 8> rounded(dtype type, vec<f32, 8> x) {
  return with_type(type, [&](auto zero) {
    using T = decltype(zero);
    return to_f32<T, 8>(round_to<T, 8>(x));
  });
}

__device__ inline void store_codes(const SageCodeRows& to, i64 row, u32 column, u32 width,
                                   vec<u32, 2> codes) {
  if (column >= width) return;
  store_elements<u8, 8>(to.base + row + column, 1, width - column, bit_cast<vec<u8, 8>>(codes));
}

// What each thread has of its columns, merged over the rows that it was found of: for all of them.
template <class Tile, class Op>
__device__ inline vec<f32, 8> over_rows(vec<f32, 8> x, Op&& op) {
  constexpr u32 groups = Tile::threads / lanes;
  __shared__ vec<f32, 8> all[Tile::threads];
  sync_threads();
  all[thread_idx().x] = x;
  sync_threads();
  vec<f32, 8> merged = all[thread_idx().x % lanes];
  for (u32 group = 1; group < groups; ++group) {
    merged = op(merged, all[group * lanes + thread_idx().x % lanes]);
  }
  return merged;
}

__device__ inline vec<f32, 8> larger(vec<f32, 8> a, vec<f32, 8> b) {
  return __builtin_elementwise_max(a, b);
}

// The largest magnitude that any thread has.
template <class Tile>
__device__ inline f32 largest_of_all(vec<f32, 8> x) {
  const vec<f32, 8> channels = over_rows<Tile>(x, larger);
  f32 most = channels[0];
  for (int i = 1; i < 8; ++i) most = __builtin_fmaxf(most, channels[i]);
  struct larger_number {
    __device__ static f32 apply(f32 a, f32 b) { return __builtin_fmaxf(a, b); }
  };
  return wave_reduce<larger_number, lanes>(most);
}

// Sums of keys' channels, and largest magnitudes of values', of a share of rows.
template <class Tile>
__device__ inline void sage_shares(const SageQuantArgs& in) {
  constexpr u32 rows = Tile::threads / lanes;
  const u32 share = block_idx().x % in.share_count, of_head = block_idx().x / in.share_count;
  const u32 heads = in.sequences * in.kv_heads;
  const bool is_value = of_head >= heads;
  const u32 number = is_value ? of_head - heads : of_head;
  const u32 sequence = number / in.kv_heads, head = number - sequence * in.kv_heads;
  const SageRows& from = is_value ? in.v : in.k;
  const u32 width = is_value ? in.value_width : in.width;
  const u32 column = thread_idx().x % lanes * 8;
  const u32 begin = share * in.share_rows, left = in.k_rows - begin;
  const u32 count = left < in.share_rows ? left : in.share_rows;
  vec<f32, 8> sum = 0;
  for (u32 r = thread_idx().x / lanes; r < count; r += rows) {
    const vec<f32, 8> x = load_eight(from, static_cast<dtype>(in.type),
                                     place_of(from, sequence, begin + r, head), column, width);
    sum = is_value ? larger(sum, __builtin_elementwise_abs(x)) : sum + x;
  }
  sum = over_rows<Tile>(sum, [&](auto a, auto b) { return is_value ? larger(a, b) : a + b; });
  if (thread_idx().x < lanes) {
    f32* to = in.shares + (static_cast<u64>(of_head) * in.share_count + share) * widest + column;
    store_adjacent<f32, 8>(to, sum);
  }
}

// Means of keys' channels, and scales of values': a workgroup of one row for each head.
template <class Tile>
__device__ inline void sage_channels(const SageQuantArgs& in) {
  const u32 of_head = block_idx().x, heads = in.sequences * in.kv_heads;
  const bool is_value = of_head >= heads;
  const u32 column = thread_idx().x;
  f32 all = 0;
  for (u32 share = 0; share < in.share_count; ++share) {
    const f32 x = in.shares[(static_cast<u64>(of_head) * in.share_count + share) * widest + column];
    all = is_value ? __builtin_fmaxf(all, x) : all + x;
  }
  if (!is_value) {
    const f32 mean = in.smooths_keys && in.k_rows > 0 ? all / static_cast<f32>(in.k_rows) : 0;
    in.means[of_head * widest + column] = rounded(static_cast<dtype>(in.type), mean)[0];
  } else if (column < in.value_width) {
    in.v_scales[(of_head - heads) * in.value_width + column] = all / e4m3_codes::most;
  }
}

// The codes of a block of rows of queries or of keys, and its scale.
template <class Tile, bool is_key>
__device__ inline void quantize_rows(const SageQuantArgs& in, u32 number) {
  constexpr u32 rows = Tile::threads / lanes;
  const dtype type = static_cast<dtype>(in.type);
  const u32 blocks = is_key ? in.k_blocks : in.q_blocks, heads = is_key ? in.kv_heads : in.q_heads;
  const u32 of_head = number / blocks, block = number - of_head * blocks;
  const u32 sequence = of_head / heads, head = of_head - sequence * heads;
  const u32 size = is_key ? in.k_block : in.q_block, all = is_key ? in.k_rows : in.q_rows;
  const u32 begin = block * size, count = all - begin < size ? all - begin : size;
  const u32 column = thread_idx().x % lanes * 8, first = thread_idx().x / lanes;
  const u32 kv_head = is_key ? head : head / (in.q_heads / in.kv_heads);
  const f32* means = in.means + (sequence * in.kv_heads + kv_head) * widest + column;
  const vec<f32, 8> of_keys = load_adjacent<f32, 8>(means);
  const auto load = [&](u32 row) {
    const SageQuantArgs& again = arguments_again();
    const SageRows& from = is_key ? again.k : again.q;
    const i64 at = place_of(from, sequence, begin + row, head);
    return load_eight(from, type, at, column, again.width);
  };
  vec<f32, 8> mean = 0;
  const bool smooths_queries = !is_key && in.q_means != nullptr;
  if (smooths_queries) {
    vec<f32, 8> sum = 0;
    for (u32 row = first; row < count; row += rows) sum += load(row) * in.factor;
    mean = over_rows<Tile>(sum, [](auto a, auto b) { return a + b; }) / static_cast<f32>(size);
    f32* q_means = in.q_means + static_cast<u64>(number) * widest + column;
    if (first == 0) store_adjacent<f32, 8>(q_means, mean);
  }
  // A row as it becomes codes.
  const auto changed = [&](vec<f32, 8> x) {
    if (is_key) return in.smooths_keys ? rounded(type, x - of_keys) : x;
    x *= in.factor;
    return smooths_queries ? rounded(type, x - mean) : x;
  };
  vec<f32, 8> most = 0;
  for (u32 row = first; row < count; row += rows) {
    const vec<f32, 8> x = load(row);
    most = larger(most, __builtin_elementwise_abs(changed(x)));
    if (is_key || in.delta_lse == nullptr) continue;
    f32 product = 0;
    for (int i = 0; i < 8; ++i) product = __builtin_fmaf(x[i], of_keys[i], product);
    product = wave_reduce<add, lanes>(product);
    const u64 at = (static_cast<u64>(sequence) * in.q_heads + head) * in.q_rows + begin + row;
    if (column == 0) in.delta_lse[at] = product * in.scale;
  }
  const f32 scale = largest_of_all<Tile>(most) / 127.0f;
  if (thread_idx().x == 0) (is_key ? in.k_scales : in.q_scales)[number] = scale;
  for (u32 row = first; row < count; row += rows) {
    const vec<f32, 8> x = changed(load(row));
    vec<u32, 2> codes = 0;
    for (int i = 0; i < 8; ++i) {
      const f32 ratio = scale == 0 ? 0 : x[i] / scale;
      // Half a code away from zero, then towards it. A subnormal scale may be far below the quotient.
      const i32 code = static_cast<i32>(ratio + __builtin_copysignf(0.5f, ratio));
      const i32 inside = __builtin_elementwise_max(__builtin_elementwise_min(code, 127), -127);
      codes[i / 4] |= (static_cast<u32>(inside) & 0xff) << (i % 4 * 8);
    }
    const SageQuantArgs& again = arguments_again();
    const SageCodeRows& to = is_key ? again.k_codes : again.q_codes;
    store_codes(to, place_of(to, sequence, begin + row, head), column, again.width, codes);
  }
}

template <class Tile>
__device__ inline void quantize_values(const SageQuantArgs& in, u32 number) {
  constexpr u32 rows = Tile::threads / lanes;
  const u32 blocks = (in.k_rows + value_rows - 1) / value_rows;
  const u32 of_head = number / blocks, begin = (number - of_head * blocks) * value_rows;
  const u32 sequence = of_head / in.kv_heads, head = of_head - sequence * in.kv_heads;
  const u32 count = in.k_rows - begin < value_rows ? in.k_rows - begin : value_rows;
  const u32 column = thread_idx().x % lanes * 8;
  vec<f32, 8> scales = 0;
  for (u32 i = 0; i < 8; ++i) {
    if (column + i < in.value_width) scales[i] = in.v_scales[of_head * in.value_width + column + i];
  }
  for (u32 row = thread_idx().x / lanes; row < count; row += rows) {
    vec<f32, 8> x = load_eight(in.v, static_cast<dtype>(in.type),
                               place_of(in.v, sequence, begin + row, head), column, in.value_width);
    for (int i = 0; i < 8; ++i) x[i] = scales[i] == 0 ? 0 : x[i] / scales[i];
    store_codes(in.v_codes, place_of(in.v_codes, sequence, begin + row, head), column,
                in.value_width, encode<e4m3_codes, 8>(x));
  }
}

// Blocks of queries, then of keys, then of values.
template <class Tile>
__device__ inline void sage_codes(const SageQuantArgs&) {
  const SageQuantArgs& in = arguments_again();
  const u32 queries = in.sequences * in.q_heads * in.q_blocks;
  const u32 keys = in.sequences * in.kv_heads * in.k_blocks;
  const u32 id = block_idx().x;
  if (id < queries) return quantize_rows<Tile, false>(in, id);
  if (id < queries + keys) return quantize_rows<Tile, true>(in, id - queries);
  quantize_values<Tile>(in, id - queries - keys);
}

// Products of means of blocks of queries with keys: sixteen blocks with sixteen keys of each wave.
template <class Tile>
__device__ inline void sage_delta(const SageQuantArgs& in) {
  constexpr u32 of_wave = 16, of_group = of_wave * Tile::threads / wave_size;
  const u32 groups = (in.k_rows + of_group - 1) / of_group, sixteens = (in.q_blocks + 15) / 16;
  const u32 group = block_idx().x % groups, rest = block_idx().x / groups;
  const u32 sixteen = rest % sixteens, of_head = rest / sixteens;
  const u32 sequence = of_head / in.q_heads, head = of_head - sequence * in.q_heads;
  const u32 kv_head = head / (in.q_heads / in.kv_heads);
  const dtype type = static_cast<dtype>(in.type);
  const u32 first_key = group * of_group + wave_id() * of_wave, lane = lane_id();
  if (first_key >= in.k_rows) return;
  const u32 key = first_key + lane % 16, block = sixteen * 16 + lane % 16;
  const u32 of_key = key < in.k_rows ? key : in.k_rows - 1;
  const u32 of_block = block < in.q_blocks ? block : in.q_blocks - 1;
  const f32* q_means = in.q_means + (static_cast<u64>(of_head) * in.q_blocks + of_block) * widest;
  const f32* means = in.means + (sequence * in.kv_heads + kv_head) * widest;
  vec<f32, 4> sums = 0;
  for (u32 d = lane / 16 * 8; d < (in.width + 31) / 32 * 32; d += 32) {
    vec<f32, 8> x = load_eight(in.k, type, place_of(in.k, sequence, of_key, kv_head), d, in.width);
    if (in.smooths_keys) x = rounded(type, x - load_adjacent<f32, 8>(means + d));
    const vec<f32, 8> q = load_adjacent<f32, 8>(q_means + d);
    // Elements of both in any order, but the same.
    static_for<8>([&](auto i) { sums = arch::mma(x[i.value], q[i.value], sums); });
  }
  if (block >= in.q_blocks) return;
  f32* to = in.delta + (static_cast<u64>(of_head) * in.q_blocks + block) * in.k_rows;
  const u32 at = first_key + lane / 16 * 4;
  if (at < in.k_rows) store_elements<f32, 4>(to + at, 1, in.k_rows - at, sums);
}

}  // namespace

}  // namespace hk
