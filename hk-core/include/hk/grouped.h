// Grouped products: rows belong to groups that follow each other, of which only the device knows the
// sizes, and each group has a matrix of its own. `grouped_product` multiplies each group's rows of x by
// its matrix; `grouped_sums` multiplies columns of x and w with each other, of which each group's rows
// are the k; `grouped_bias` sums those of x alone.
#pragma once

#include "hk/elements.h"
#include "hk/indices.h"
#include "hk/product.h"
#include "hk/scan.h"

namespace hk {

struct GroupedArgs {
  ProductArgs product;  // of all rows: `m`, or `k`
  IndexList sizes;      // of the groups
  f32* bias;            // sums of columns, of one group after the other
};

// The rows of a group.
struct group_rows {
  u32 group, begin, end;
};

// Walks groups in their order, 64 at a time, one per lane; all waves of a workgroup walk alike. `Count`
// counts something of each group, from the arguments and its rows. The arguments are given with each call,
// as a loop would keep more of them than there are scalar registers for.
template <class Count>
class group_walk {
 public:
  // Negative sizes are 0, and rows from `Count::rows` on belong to no group.
  __device__ explicit group_walk(const GroupedArgs& args) { load(args); }

  // The count of all groups.
  __device__ static u32 total(const GroupedArgs& args) {
    group_walk walk(args);
    while (walk.first_ + wave_size < args.sizes.count) walk.next(args);
    return walk.counted_ + walk.sum();
  }

  // The group that has number `id` of what is counted, and which of its own that is. There must be
  // one.
  __device__ group_rows find(const GroupedArgs& args, u32 id, u32& within) {
    if (id < counted_) *this = group_walk(args);
    while (id - counted_ >= sum()) next(args);
    const u32 lane = __builtin_popcountll(ballot(ends_ <= id - counted_));
    const group_rows found = of_lane(lane);
    const u32 own = Count::of(args, found.end - found.begin);
    within = id - counted_ - (arch::value_of_lane(ends_, lane) - own);
    return found;
  }

  // The rows of a group.
  __device__ group_rows rows_of(const GroupedArgs& args, u32 group) {
    if (group < first_) *this = group_walk(args);
    while (group - first_ >= wave_size) next(args);
    return of_lane(group - first_);
  }

 private:
  __device__ group_rows of_lane(u32 lane) const {
    const u32 end = arch::value_of_lane(row_ends_, lane);
    return {first_ + lane, end - arch::value_of_lane(size_, lane), end};
  }

  // The count of the 64 groups.
  __device__ u32 sum() const { return arch::value_of_lane(ends_, wave_size - 1); }

  __device__ void next(const GroupedArgs& args) {
    counted_ = counted_ + sum();
    rows_before_ = arch::value_of_lane(row_ends_, wave_size - 1);
    first_ = first_ + wave_size;
    load(args);
  }

  __device__ void load(const GroupedArgs& args) {
    const u32 group = first_ + lane_id();
    const i64 size = group < args.sizes.count ? index_at(args.sizes, group) : 0;
    const u32 left = Count::rows(args) - rows_before_;
    const u32 wanted = size < 0 ? 0 : size < left ? static_cast<u32>(size) : left;
    // The sums of what is wanted may be more than 32 bits hold.
    const u64 before = (u64{wave_prefix(wanted >> 16).before} << 16) +
                       wave_prefix(wanted & 0xffff).before;
    const auto at_most = [&](u64 rows) { return rows < left ? static_cast<u32>(rows) : left; };
    const u32 begin = at_most(before), end = at_most(before + wanted);
    size_ = end - begin;
    row_ends_ = rows_before_ + end;
    const u32 own = Count::of(args, size_);
    ends_ = wave_prefix(own).before + own;
  }

  kept first_ = 0;        // the group of lane 0
  kept counted_ = 0;      // the count of the groups before it
  kept rows_before_ = 0;  // and their rows
  u32 size_, row_ends_, ends_;
};

namespace detail {

// Counts the blocks of each group's rows.
template <class Tile>
struct block_count {
  __device__ static u32 rows(const GroupedArgs& args) { return args.product.m; }
  __device__ static u32 columns(const GroupedArgs& args) {
    return (args.product.n + gemm_block<Tile>::columns - 1) / gemm_block<Tile>::columns;
  }
  __device__ static u32 of(const GroupedArgs& args, u32 rows) {
    return (rows + Tile::BM - 1) / Tile::BM * columns(args);
  }
};

// Counts nothing of groups whose rows are k.
struct no_count {
  __device__ static u32 rows(const GroupedArgs& args) { return args.product.k; }
  __device__ static u32 of(const GroupedArgs&, u32) { return 0; }
};

// Stores a part of what groups have.
template <class Tile>
__device__ inline void store_grouped(const gemm_block<Tile>& block, const product_part& part) {
  store_part(block, arguments_again<GroupedArgs>().product, &kernel_arguments<GroupedArgs>()->product, part);
}

}  // namespace detail

// y[r] = epilogue(x[r] w[g]^T) for the rows r of each group g.
template <class Tile>
__device__ void grouped_product(const GroupedArgs& args) {
  using Block = gemm_block<Tile>;
  using count = detail::block_count<Tile>;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];

  const kept total = group_walk<count>::total(args);
  group_walk<count> walk(args);
  const kept stride = grid_size().x / Tile::threads;
  for (kept i = block_idx().x; i < total; i = i + stride) {
    const GroupedArgs& in = arguments_again<GroupedArgs>();
    u32 within;
    const group_rows of = walk.find(in, contiguous_per_xcd(i, total), within);
    const u32 rows = (of.end - of.begin + Tile::BM - 1) / Tile::BM;
    const tile_index tile = grouped_order(within, rows, count::columns(in), Tile::GROUP);
    const product_part part{of.group, 0, of.begin + tile.row * Tile::BM,
                            tile.column * Block::columns, of.end, 0, in.product.k};
    Block block;
    multiply_part(block, arguments_again<GroupedArgs>().product, part, lds_start(lds));
    detail::store_grouped(block, part);
    // No wave reads of LDS what the next part loads.
    meet_with_lds();
  }
}

// Longest chain of f32 additions along k.
inline constexpr u32 longest_chain = 65536;

// y[g] = epilogue(sum_r x[r]^T w[r]) over the rows r of each group g.
template <class Tile>
__device__ void grouped_sums(const GroupedArgs& args) {
  using Block = gemm_block<Tile>;
  __shared__ __attribute__((aligned(256))) char lds[Block::lds_bytes];

  group_walk<detail::no_count> walk(args);
  const kept stride = grid_size().x / Tile::threads;
  for (kept i = block_idx().x;; i = i + stride) {
    const GroupedArgs& in = arguments_again<GroupedArgs>();
    const u32 rows = (in.product.m + Tile::BM - 1) / Tile::BM;
    const u32 columns = (in.product.n + Block::columns - 1) / Block::columns;
    const u32 blocks = rows * columns;
    if (i >= in.sizes.count * blocks) return;
    const u32 id = contiguous_per_xcd(i, in.sizes.count * blocks);
    const group_rows of = walk.rows_of(in, id / blocks);
    const tile_index tile = grouped_order(id % blocks, rows, columns, Tile::GROUP);
    const kept group = of.group, row = tile.row * Tile::BM, column = tile.column * Block::columns;
    const auto part = [&](u32 begin, u32 end) {
      const u32 rows = arguments_again<GroupedArgs>().product.m;
      return product_part{group, 0, row, column, rows, begin, end};
    };
    Block block, chain;
    block.clear();
    const kept end = of.end;
    for (kept k = of.begin; k < end; k = k + longest_chain) {
      const u32 left = end - k;
      const u32 size = left < longest_chain ? left : longest_chain;
      multiply_part(chain, arguments_again<GroupedArgs>().product, part(k, k + size), lds_start(lds));
      block.add(chain);
      meet_with_lds();
    }
    detail::store_grouped(block, part(0, 0));
  }
}

// bias[g] = sum_r x[r] over the rows r of each group g.
template <class Tile>
__device__ void grouped_bias(const GroupedArgs& args) {
  using T = typename Tile::T;
  // Columns of a workgroup, by lanes of a chunk each, and rows that it reads at a time.
  constexpr u32 run = 16 / sizeof(T), lanes = 8, columns = lanes * run;
  constexpr u32 rows = Tile::threads / lanes;
  __shared__ f32 sums[rows][columns];
  const ProductArgs& product = args.product;
  const u32 lane = thread_idx().x % lanes, first = thread_idx().x / lanes;

  const u32 pieces = (product.m + columns - 1) / columns;
  const u32 group = block_idx().x / pieces, column = block_idx().x % pieces * columns;
  const group_rows of = group_walk<detail::no_count>(args).rows_of(args, group);
  vec<f32, run> sum = 0;
  if (column + lane * run < product.m) {
    const T* from = static_cast<const T*>(product.x) + column + lane * run;
    constexpr u32 chained = longest_chain * rows;
    for (u32 begin = of.begin + first; begin < of.end; begin += chained) {
      const u32 end = of.end - begin > chained ? begin + chained : of.end;
      vec<f32, run> chain = 0;
      for (u32 row = begin; row < end; row += rows) {
        chain += to_f32<T, run>(*reinterpret_cast<const vec<T, run>*>(from + row * product.x_stride));
      }
      sum += chain;
    }
  }
  *reinterpret_cast<vec<f32, run>*>(&sums[first][lane * run]) = sum;
  sync_threads();
  const u32 own = thread_idx().x;
  if (own < columns && column + own < product.m) {
    f32 all = 0;
    for (u32 row = 0; row < rows; ++row) all += sums[row][own];
    args.bias[i64{group} * product.m + column + own] = all;
  }
}

}  // namespace hk
