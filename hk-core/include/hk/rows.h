// Row-wise traversal: the loop of every kernel that reduces rows and writes what follows from it. A
// policy says what is loaded, what is reduced and what is stored; `for_rows` does all else.
//
// A policy has, for shares of `Tile::LANES` and `Tile::CHUNKS` at a `row_place`,
//   loads, start(loads&, at)             a row's share that is under way, and what starts it
//   held, hold(loads, at) -> held        what is kept of it, once it is there: whole dwords
//   columns, start(columns&, at)         as loads, of vectors that all rows use, such as weights
//   hold(columns, i, at) -> factors      what is kept of chunk i
//   reduction                            how statistics are merged, as for `wave_reduce`
//   measure(held) -> statistic           of the lane's share; what is past the end is made of zeros
//   store(held, factors_of, statistic, at)
//                                        the row's results, from its whole statistic and the factors
//                                        `factors_of(i)` of chunk i
// Those whose results need nothing of the rest of the row are a `no_reduction`. Those that reduce a
// second time, what follows from the first, have
//   refinement                           as reduction
//   refine(held, factors_of, statistic) -> refined
//                                        of the lane's share; what is past the end is made of zeros
//   store(held, factors_of, statistic, refined, at)
//
// What is stored may take the place of what was loaded, element by element.
#pragma once

#include "hk/row.h"

namespace hk {

// Of policies that reduce nothing.
struct no_reduction {
  using reduction = no_reduction;
  __device__ no_reduction measure(const auto&) const { return {}; }
};

// The kernel's arguments where they are needed late: read again, if there are so many that the scalar
// registers have no room to keep them.
template <bool Again, class Args>
__device__ inline auto late_arguments(const Args& args) {
  if constexpr (Again) {
    auto arguments = arch::kernel_arguments<Args>();
    asm volatile("" : "+s"(arguments));
    return arguments;
  } else {
    return &args;
  }
}

namespace detail {

template <class Policy>
inline constexpr bool reduces = !__is_same(typename Policy::reduction, no_reduction);
template <class Policy>
inline constexpr bool refines = requires { typename Policy::refinement; };

// LDS for so many values, the same for ragged rows and others.
template <class T, int Count>
__device__ inline T* shared() {
  __shared__ T values[Count];
  return values;
}

// How the work-items of a tile share rows.
template <class Tile, bool Ragged>
struct row_lanes {
  static constexpr int lanes = Tile::LANES;
  using place = row_place<lanes, Ragged>;
  static constexpr int waves_of_row = max(lanes / wave_size, 1);
  static constexpr u32 rows_of_workgroup = Tile::threads / lanes;
  static_assert(waves_of_row == 1 || lanes == Tile::threads);

  // The first row of this wave among those of its workgroup.
  __device__ static u32 first() {
    return waves_of_row == 1 ? wave_id() * place::rows_of_wave : 0;
  }

  // The place of this wave in the rows from `row` on, if there are any.
  __device__ static place at(u32 row, u32 rows, u32 column, u32 width) {
    const u32 count = place::shares_wave ? left_of(rows, row) : row < rows;
    return {row, count, column, width};
  }

  // Its place in vectors, which all rows have alike.
  __device__ static place in_columns(u32 column, u32 width) {
    return {0, place::rows_of_wave, column, width};
  }

  // Values that were computed of the held would take registers until they are stored.
  template <class Held>
  __device__ static void drop_values(Held& held) {
    auto words = bit_cast<words_of<Held>>(held);
    for (u32& word : words.of) arch::forget(word);
    held = bit_cast<Held>(words);
  }

  // The statistic of a row, from those of its lanes. `turn` counts rows, and `Which` the statistics of
  // one.
  template <class Reduction, int Which, class Statistic>
  __device__ static Statistic reduce(Statistic statistic, u32 turn) {
    if constexpr (__is_same(Reduction, no_reduction)) {
      return statistic;
    } else if constexpr (waves_of_row == 1) {
      return wave_reduce<Reduction, lanes>(statistic);
    } else {
      // Two sets, used in turn, make one barrier per row enough.
      Statistic* sets = shared<Statistic, 2 * waves_of_row>();
      return workgroup_reduce<Reduction, waves_of_row>(statistic, sets + turn % 2 * waves_of_row);
    }
  }
};

}  // namespace detail

// Of policies that have none.
struct no_columns {
  struct columns {};
  __device__ void start(columns&, const auto&) const {}
  __device__ columns hold(const columns&, int, const auto&) const { return {}; }
};

// Of policies that load one matrix, and hold its elements as they are.
template <class Tile>
struct one_matrix {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  matrix<const T> x;

  using loads = row_load<T, chunks>;
  using held = per_chunk<vec<T, chunk>, chunks>;

  __device__ void start(loads& to, const auto& at) const { to.start(x, at); }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    for (int i = 0; i < chunks; ++i) row.of[i] = from.elements(i, at);
    return row;
  }
};

// Rows of at most LANES * CHUNKS chunks stay in registers: memory is read once, and columns stay
// there from row to row. The next row is loaded while this one is reduced and stored.
//
// Every wave takes every turn, so that reductions find all of them; the rows of a wave past the last
// are empty.
template <class Tile, bool Ragged, class Policy>
__device__ inline void for_rows_in_registers(const Policy& op, u32 rows, u32 width) {
  using lanes = detail::row_lanes<Tile, Ragged>;
  const u32 step = grid_size().x / lanes::lanes;
  const u32 first = lanes::first();
  const auto place = [&](u32 row) { return lanes::at(row + first, rows, 0, width); };

  u32 row = block_idx().x * lanes::rows_of_workgroup;
  typename Policy::loads loads;
  op.start(loads, place(row));
  typename Policy::columns columns;
  op.start(columns, lanes::in_columns(0, width));
  auto held = op.hold(loads, place(row));
  per_chunk<decltype(op.hold(columns, 0, lanes::in_columns(0, width))), Tile::CHUNKS> factors;
  for (int i = 0; i < Tile::CHUNKS; ++i) {
    factors.of[i] = op.hold(columns, i, lanes::in_columns(0, width));
  }
  // Every wave has a first turn: there are no workgroups without rows.
  u32 turn = 0;
  do {
    typename Policy::loads next;
    op.start(next, place(row + step));
    arch::pin_order();
    const auto statistic =
        lanes::template reduce<typename Policy::reduction, 0>(op.measure(held), turn);
    lanes::drop_values(held);
    const auto factors_of = [&](int i) { return factors.of[i]; };
    if constexpr (detail::refines<Policy>) {
      const auto refined = lanes::template reduce<typename Policy::refinement, 1>(
          op.refine(held, factors_of, statistic), turn);
      lanes::drop_values(held);
      op.store(held, factors_of, statistic, refined, place(row));
    } else {
      op.store(held, factors_of, statistic, place(row));
    }
    // Waits for the loads only, since it is known here how many stores were made after them.
    held = op.hold(next, place(row + step));
    row += step;
    ++turn;
  } while (row < rows);
}

// Rows of any width, a workgroup each, in pieces of LANES * CHUNKS chunks: first measured, if there is
// something to reduce, then read again, from cache, and stored. The next piece is loaded while one is
// measured or stored.
template <class Tile, bool Ragged, class Policy>
__device__ inline void for_rows_in_pieces(const Policy& op, u32 rows, u32 width) {
  using lanes = detail::row_lanes<Tile, Ragged>;
  using reduction = typename Policy::reduction;
  static_assert(lanes::lanes == Tile::threads);
  constexpr u32 piece = lanes::lanes * Tile::CHUNKS * chunk;
  const u32 step = grid_size().x / lanes::lanes;
  const auto width_at = [&](u32 column) {
    const u32 left = width - column;
    return left < piece ? left : piece;
  };
  // Of a row that there is, and of one that may be past the last.
  const auto place = [&](u32 row, u32 column) {
    return typename lanes::place{row, 1, column, width_at(column)};
  };
  const auto place_after = [&](u32 row, u32 column) {
    return lanes::at(row, rows, column, width_at(column));
  };
  const auto in_columns = [&](u32 column) { return lanes::in_columns(column, width_at(column)); };

  const u32 pieces = (width - 1) / piece + 1;
  u32 row = block_idx().x;
  typename Policy::loads loads;
  op.start(loads, place(row, 0));
  auto held = op.hold(loads, place(row, 0));
  u32 turn = 0;
  // What all pieces of the row come to, of which the first is held before and afterwards. `measure` is
  // given the factors of the piece that is held, if it takes some.
  const auto over_pieces = [&](auto merge, auto which, auto takes_factors, auto&& measure) {
    // Chains of mergers stay short: they are folded every 64 pieces.
    auto whole = merge.identity(), part = merge.identity();
    u32 left = pieces, column = 0;
    do {
      // After the last piece the first is read again.
      const u32 following = left == 1 ? 0 : column + piece;
      typename Policy::columns columns;
      if constexpr (takes_factors.value) op.start(columns, in_columns(column));
      typename Policy::loads next;
      op.start(next, place(row, following));
      arch::pin_order();
      const auto factors = [&](int i) { return op.hold(columns, i, in_columns(column)); };
      part = merge.apply(part, measure(factors));
      if (left % 64 == 0) {
        whole = merge.apply(whole, part);
        part = merge.identity();
      }
      held = op.hold(next, place(row, following));
      column += piece;
    } while (--left != 0);
    return lanes::template reduce<decltype(merge), which.value>(merge.apply(whole, part), turn);
  };
  do {
    const auto statistic = [&] {
      if constexpr (detail::reduces<Policy>) {
        return over_pieces(reduction{}, constant<0>{}, constant<false>{},
                           [&](auto&&) { return op.measure(held); });
      } else {
        return op.measure(held);
      }
    }();
    const auto store = [&](auto... refined) {
      u32 left = pieces, column = 0;
      do {
        // After the last piece comes the first of the next row.
        const bool last = left == 1;
        const u32 row_after = last ? row + step : row, following = last ? 0 : column + piece;
        typename Policy::columns columns;
        op.start(columns, in_columns(column));
        typename Policy::loads next;
        op.start(next, place_after(row_after, following));
        arch::pin_order();
        const auto factors = [&](int i) { return op.hold(columns, i, in_columns(column)); };
        op.store(held, factors, statistic, refined..., place(row, column));
        held = op.hold(next, place_after(row_after, following));
        column += piece;
      } while (--left != 0);
    };
    if constexpr (detail::refines<Policy>) {
      store(over_pieces(typename Policy::refinement{}, constant<1>{}, constant<true>{},
                        [&](auto&& factors) { return op.refine(held, factors, statistic); }));
    } else {
      store();
    }
    row += step;
    ++turn;
  } while (row < rows);
}

// By the tile's schedule. A policy that also has rows of another width says so. Widths are multiples of
// `Unit`.
template <class Tile, u32 Unit = 1, class Policy>
__device__ inline void for_rows(const Policy& op, u32 rows, u32 width, u32 other_width = 0) {
  const auto run = [&](auto ragged) {
    if constexpr (Tile::IN_PIECES) {
      for_rows_in_pieces<Tile, ragged.value>(op, rows, width);
    } else {
      for_rows_in_registers<Tile, ragged.value>(op, rows, width);
    }
  };
  using place = row_place<Tile::LANES, true>;
  if constexpr (place::is_ragged(Unit)) {
    if (place::is_ragged(width) || place::is_ragged(other_width)) return run(constant<true>{});
  }
  run(constant<false>{});
}

namespace detail {

template <class Tile, bool Ragged, class Policy>
__device__ inline void for_pieces_of_waves(const Policy& op, u32 rows, u32 width, u32 last) {
  using place = row_place<Tile::LANES, Ragged>;
  static_assert(Tile::LANES == wave_size && !reduces<Policy>);
  constexpr u32 piece = Tile::LANES * Tile::CHUNKS * chunk;
  const u32 pieces = (width - 1) / piece + 1;
  const u32 waves = grid_size().x / wave_size;
  const u32 rows_of_step = waves / pieces, pieces_of_step = waves % pieces;
  const u32 first = block_idx().x * (Tile::threads / wave_size) + wave_id();
  u32 row = first / pieces, number = first % pieces;
  // The piece at that place, or one of nothing.
  const auto at = [&] {
    const u32 column = number * piece;
    const place all{row, row < rows ? 1u : 0u, column, piece};
    return all.until(row == rows - 1 ? last : width);
  };
  typename Policy::loads loads;
  op.start(loads, at());
  auto held = op.hold(loads, at());
  while (row < rows) {
    const place now = at();
    number += pieces_of_step;
    row += rows_of_step;
    if (number >= pieces) {
      number -= pieces;
      ++row;
    }
    typename Policy::loads next;
    op.start(next, at());
    arch::pin_order();
    op.store(held, [](int) { return 0; }, no_reduction{}, now);
    held = op.hold(next, at());
  }
}

}  // namespace detail

// Rows of any width of which nothing is reduced, in pieces of LANES * CHUNKS chunks, which waves take
// in turn. The next piece is loaded while one is stored. The last row ends after `last` elements. Widths
// are multiples of `Unit`.
template <class Tile, u32 Unit = 1, class Policy>
__device__ inline void for_pieces(const Policy& op, u32 rows, u32 width, u32 last) {
  using place = row_place<Tile::LANES, true>;
  if constexpr (place::is_ragged(Unit)) {
    if (place::is_ragged(width) || place::is_ragged(last)) {
      return detail::for_pieces_of_waves<Tile, true>(op, rows, width, last);
    }
  }
  detail::for_pieces_of_waves<Tile, false>(op, rows, width, last);
}

// Of tiles with few elements in a row, rows share waves; of others, waves take pieces.
template <class Tile, u32 Unit = 1, class Policy>
__device__ inline void for_elements(const Policy& op, u32 rows, u32 width) {
  if constexpr (Tile::IN_PIECES) {
    for_pieces<Tile, Unit>(op, rows, width, width);
  } else {
    for_rows<Tile, Unit>(op, rows, width);
  }
}

}  // namespace hk
