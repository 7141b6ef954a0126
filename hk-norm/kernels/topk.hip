// The k largest elements of each row in descending order, and their columns: NaN before infinity, zeros
// alike, of equals the first. Few of a short row are found one after another, by a wave that holds it.
// Else a workgroup finds the k-th largest digit by digit, by counting how many elements have each
// digit, collects what is not below it, and sorts that; more than LDS has room for, in several turns.
#include "hk/rows.h"

namespace hk {

struct TopkArgs {
  const void* x;
  void* values;
  void* indices;
  i64 x_stride;  // in elements, from row to row, as all strides
  i64 values_stride;
  i64 indices_stride;
  u32 rows;
  u32 width;
  u32 k;
  u32 has_wide_indices;  // of 64 bits rather than 32
  u32 has_f32_values;    // whatever x has
};

namespace {

// The bits of an element in the upper half of 32, if it has 16.
template <class T>
__device__ inline u32 high_bits(T x) {
  if constexpr (sizeof(T) == 2) {
    return static_cast<u32>(bit_cast<u16>(x)) << 16;
  } else {
    return bit_cast<u32>(x);
  }
}

constexpr u32 key_of_nan = ~0u, key_of_zero = 0x80000000;

// A number that is larger for larger elements, and the same for equal ones.
template <class T>
__device__ inline u32 key_of(T x) {
  const u32 bits = high_bits(x);
  const u32 order = bits ^ (static_cast<u32>(static_cast<i32>(bits) >> 31) | 0x80000000);
  const u32 key = (bits << 1) == 0 ? key_of_zero : x == x ? order : key_of_nan;
  return sizeof(T) == 2 ? key & 0xffff0000 : key;
}

// A key with a column below it: larger for what comes before. No two elements of a row have the same.
__device__ inline u64 ranked(u32 key, u32 column) {
  return static_cast<u64>(key) << 32 | ~column;
}

// Stores result `rank` of a row. Zeros and NaN are of several bits, which their key does not have.
template <class T>
__device__ inline void store_result(const TopkArgs& args, u32 row, u32 rank, u64 result) {
  const u32 key = static_cast<u32>(result >> 32), column = ~static_cast<u32>(result);
  const T* x = static_cast<const T*>(args.x) + row * args.x_stride;
  T value;
  if (key == key_of(T(0.0f)) || key == key_of(T(__builtin_nanf("")))) {
    value = x[column];
  } else {
    const u32 bits = (key & 0x80000000) != 0 ? key ^ 0x80000000 : ~key;
    if constexpr (sizeof(T) == 2) {
      value = bit_cast<T>(static_cast<u16>(bits >> 16));
    } else {
      value = bit_cast<T>(bits);
    }
  }
  const i64 of_values = row * args.values_stride + rank;
  if (args.has_f32_values != 0) {
    static_cast<f32*>(args.values)[of_values] = to_f32(value);
  } else {
    static_cast<T*>(args.values)[of_values] = value;
  }
  const i64 at = row * args.indices_stride + rank;
  if (args.has_wide_indices != 0) {
    static_cast<i64*>(args.indices)[at] = column;
  } else {
    static_cast<u32*>(args.indices)[at] = column;
  }
}

struct largest_rank {
  template <class T>
  __device__ static T apply(T a, T b) {
    return a > b ? a : b;
  }
};

// Rows that a wave holds, of which few elements are asked for.
template <class Tile>
__device__ inline void topk_few(const TopkArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::LANES == wave_size);
  using place = row_place<Tile::LANES, true>;
  const u32 rows_at_once = grid_size().x / wave_size;
  for (u32 row = block_idx().x * (Tile::threads / wave_size) + wave_id(); row < args.rows;
       row += rows_at_once) {
    const place at{row, 1, 0, args.width};
    row_load<T, Tile::CHUNKS> loads;
    loads.start({static_cast<const T*>(args.x), args.x_stride}, at);
    // 0 is less than all, as columns are not so high.
    u64 elements[Tile::CHUNKS * chunk];
    for (int i = 0; i < Tile::CHUNKS; ++i) {
      const vec<T, chunk> x = loads.elements(i, at);
      for (u32 e = 0; e < chunk; ++e) {
        const u32 column = at.start(i) + e;
        elements[i * chunk + e] = column < args.width ? ranked(key_of<T>(x[e]), column) : 0;
      }
    }
    // Each lane has the result of its number.
    u64 result = 0, limit = ~0ul;
    for (u32 rank = 0; rank < args.k; ++rank) {
      u64 most = 0;
      for (u64 element : elements) {
        most = element <= limit && element > most ? element : most;
      }
      most = wave_reduce<largest_rank>(most);
      result = lane_id() == rank ? most : result;
      limit = most - 1;
    }
    if (lane_id() < args.k) store_result<T>(args, row, lane_id(), result);
  }
}

constexpr u32 digits = 256;
constexpr u32 most_at_once = 2048;

struct selection_memory {
  u64 best[most_at_once];
  // Used in turn, so that a barrier for each digit is enough.
  u32 counts[3][digits];
  u32 collected;
};

// Where elements of a rank are among those that have each digit.
struct digit_found {
  u32 digit;
  u32 rank;   // from there on, counted from 1
  u32 count;  // with the digit
};
struct found_by_any {
  __device__ static digit_found apply(digit_found a, digit_found b) {
    return a.count > b.count ? a : b;
  }
};

// The sum of the values of this lane and of those after it.
template <int Half = 1>
__device__ inline void sum_from_here(u32& sum, u32& total) {
  if constexpr (Half < wave_size / 2) {
    const u32 other = arch::other_half<Half>(total);
    sum += (lane_id() & Half) == 0 ? other : 0;
    total += other;
    sum_from_here<2 * Half>(sum, total);
  } else {
    // Read while all lanes take part.
    const u32 other = arch::value_of_lane(total, Half);
    sum += lane_id() < Half ? other : 0;
  }
}

// The digit of the element that has that rank, counted from 1 and from the largest digit.
__device__ inline digit_found find_digit(const u32 (&counts)[digits], u32 rank) {
  constexpr u32 per_lane = digits / wave_size;
  u32 of_lane[per_lane], total = 0;
  for (u32 i = 0; i < per_lane; ++i) {
    of_lane[i] = counts[lane_id() * per_lane + i];
    total += of_lane[i];
  }
  u32 sum = total;
  sum_from_here(sum, total);
  // Of the digits above.
  digit_found found{0, 0, 0};
  for (u32 i = 0; i < per_lane; ++i) {
    const u32 above = sum - of_lane[i];
    if (above < rank && rank <= sum) found = {lane_id() * per_lane + i, rank - above, of_lane[i]};
    sum = above;
  }
  return wave_reduce<found_by_any>(found);
}

// The elements of a row, as lanes hold or load them.
template <class Tile>
struct row_elements {
  using T = typename Tile::T;
  using place = row_place<Tile::LANES, true>;
  static constexpr u32 piece = Tile::LANES * Tile::CHUNKS * chunk;

  const TopkArgs& args;
  u32 row;
  vec<u32, chunk> keys[Tile::IN_PIECES ? 0 : Tile::CHUNKS];

  __device__ row_elements(const TopkArgs& args, u32 row) : args(args), row(row) {
    if constexpr (!Tile::IN_PIECES) load(0, keys);
  }

  // Calls with each element, ranked.
  template <class F>
  __device__ void for_each(F&& body) const {
    if constexpr (Tile::IN_PIECES) {
      for (u32 column = 0; column < args.width; column += piece) {
        vec<u32, chunk> loaded[Tile::CHUNKS];
        load(column, loaded);
        for_loaded(column, loaded, body);
      }
    } else {
      for_loaded(0, keys, body);
    }
  }

 private:
  __device__ place at(u32 column) const {
    const u32 left = args.width - column;
    return {row, 1, column, left < piece ? left : piece};
  }

  __device__ void load(u32 column, vec<u32, chunk>* to) const {
    row_load<T, Tile::CHUNKS> loads;
    loads.start({static_cast<const T*>(args.x), args.x_stride}, at(column));
    for (int i = 0; i < Tile::CHUNKS; ++i) {
      const vec<T, chunk> x = loads.elements(i, at(column));
      for (int e = 0; e < chunk; ++e) to[i][e] = key_of<T>(x[e]);
    }
  }

  template <class F>
  __device__ void for_loaded(u32 column, const vec<u32, chunk>* loaded, F&& body) const {
    // Comparisons are to be made where they are needed: all of them would fill the scalar registers.
    u32 width = args.width;
    arch::forget_scalar(width);
    for (int i = 0; i < Tile::CHUNKS; ++i) {
      for (u32 e = 0; e < chunk; ++e) {
        const u32 at = column + place::start(i) + e;
        if (at < width) body(ranked(loaded[i][e], at));
      }
    }
  }
};

__device__ inline u32 count_up(u32& counter) {
  return __scoped_atomic_fetch_add(&counter, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

// The element that has that rank, counted from 1, among those up to `limit`; or a number above all
// that come after it. All of `counts[turn]` is zero; `turn` goes on.
template <class Tile>
__device__ inline u64 select(selection_memory& memory, const row_elements<Tile>& elements, u64 limit,
                             u32 rank, u32& turn) {
  // Of columns, which are below 2^24, the highest digit is that of all.
  constexpr u32 last_of_key = 64 - 8 * sizeof(typename Tile::T);
  u64 found = 0, decided = 0;
  u32 shift = 56;
  while (true) {
    u32(&counts)[digits] = memory.counts[turn];
    turn = turn == 2 ? 0 : turn + 1;
    u32(&following)[digits] = memory.counts[turn];
    elements.for_each([&](u64 element) {
      if ((element & decided) == found && element <= limit) {
        count_up(counts[element >> shift & (digits - 1)]);
      }
    });
    for (u32 i = thread_idx().x; i < digits; i += Tile::threads) following[i] = 0;
    sync_threads();
    const digit_found digit = find_digit(counts, rank);
    found |= static_cast<u64>(digit.digit) << shift;
    decided |= static_cast<u64>(digits - 1) << shift;
    // All that have the digit are wanted.
    if (digit.count == digit.rank) return found;
    rank = digit.rank;
    if (shift == last_of_key) {
      shift = 16;
      found |= 0xff000000;
      decided |= 0xff000000;
    } else {
      shift -= 8;
    }
  }
}

// Sorts a power of two of numbers, the largest first.
template <int Threads>
__device__ inline void sort(u64* numbers, u32 count) {
  for (u32 size = 2; size <= count; size *= 2) {
    for (u32 stride = size / 2; stride > 0; stride /= 2) {
      for (u32 pair = thread_idx().x; pair < count / 2; pair += Threads) {
        const u32 first = 2 * pair - (pair & (stride - 1)), second = first + stride;
        const u64 a = numbers[first], b = numbers[second];
        if ((a < b) == ((first & size) == 0)) {
          numbers[first] = b;
          numbers[second] = a;
        }
      }
      sync_threads();
    }
  }
}

// Rows of any width, a workgroup each.
template <class Tile>
__device__ inline void topk(const TopkArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::LANES == Tile::threads);
  __shared__ selection_memory memory;
  const u32 lane = thread_idx().x;
  for (u32 i = lane; i < digits; i += Tile::threads) memory.counts[0][i] = 0;
  sync_threads();
  u32 turn = 0;
  for (u32 row = block_idx().x; row < args.rows; row += grid_size().x / Tile::threads) {
    const row_elements<Tile> elements(args, row);
    u64 limit = ~0ul;
    for (u32 done = 0; done < args.k; done += most_at_once) {
      const u32 left = args.k - done, wanted = left < most_at_once ? left : most_at_once;
      const u64 least = select<Tile>(memory, elements, limit, wanted, turn);
      u32 count = 2;
      while (count < wanted) count *= 2;
      // Less than all elements.
      for (u32 i = wanted + lane; i < count; i += Tile::threads) memory.best[i] = 0;
      if (lane == 0) memory.collected = 0;
      sync_threads();
      elements.for_each([&](u64 element) {
        if (element >= least && element <= limit) {
          memory.best[count_up(memory.collected)] = element;
        }
      });
      sync_threads();
      sort<Tile::threads>(memory.best, count);
      for (u32 i = lane; i < wanted; i += Tile::threads) {
        store_result<T>(args, row, done + i, memory.best[i]);
      }
      // Others take the place of these results after waves have met in the next selection.
      limit = least - 1;
    }
  }
}

}  // namespace

}  // namespace hk
