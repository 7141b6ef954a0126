// Gates in the order of their experts, those of one expert in their own order; and how many each
// expert has, where they begin, and which expert each tile of so many rows is of.
//
// Experts come in windows of as many as a workgroup has lanes. A wave has gates next to each other:
// it counts those of each expert of the window, so that sums over experts and waves tell where its
// gates of each begin, and walks them once more, 64 at a time: lanes with the same expert find each
// other by votes. Few gates take one launch, in which all workgroups count all gates, one places
// them, and all share padding and tiles. More take three: workgroups count slices, one of them adds
// up, all place their slices. Counts alone are added in any order.
#include "hk/rows.h"
#include "hk/scan.h"

namespace hk {

// Where an expert's gates are: so many rows from one row on, in tiles from one tile on.
struct ExpertPlace {
  u32 count;
  u32 row;
  u32 tile;
};

struct ExpertSortArgs {
  const i32* ids;          // the expert of each gate; others than those there are have no place
  const i32* counts;       // instead of them: the gates of each expert
  const i32* first_tiles;  // where the tiles of each expert begin, if that is given
  const i32* expert_map;   // what tiles name instead of the expert
  const void* weights;
  // Results, of which those that are not wanted are null.
  void* sorted_weights;
  i32* sorted;     // the gate in each row
  i32* positions;  // the row of each gate
  i32* tiles;      // the expert of each tile, and which of its tiles it is
  i32* hist;       // gates of each expert
  i32* offs_raw;   // their sums before each expert, and of all
  i32* offs_pad;   // tiles before each expert, and of all, times `tile_unit`
  i32* total;      // rows of all tiles
  // Handed from launch to launch.
  u32* slice_counts;    // of each slice and expert
  ExpertPlace* places;  // of each expert, and behind them the sums of all
  u32 gates;
  u32 experts;
  u32 slice;  // gates of a workgroup
  u32 slices;
  u32 rows;  // that there is room for
  u32 tile_count;
  u32 tile_rows;
  u32 tile_unit;
  u32 is_padded;      // whether an expert's rows begin with a tile
  u32 numbers_tiles;  // whether the number of an expert's tile is in the upper half
  u32 first_only;     // whether of its tiles the first alone is named
  u32 leaves_tiles;   // whether none of them is
  u32 weight_bytes;
  i32 none;  // the gate of a row that has none
};

namespace {

template <class Tile>
inline constexpr u32 sort_waves = Tile::threads / wave_size;

// Counts of each expert of a window.
template <class Tile>
using window_counts = u32[Tile::threads];

__device__ inline u32 add_to(u32& counter, u32 count) {
  return __scoped_atomic_fetch_add(&counter, count, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

// The experts of a window, in order.
struct expert_window {
  u32 first, count;

  __device__ expert_window(const ExpertSortArgs& args, u32 first, u32 most)
      : first(first),
        count(args.experts - first < most ? args.experts - first : most) {}

  // An expert's number in the window; not below `count` if it is in another one or there is none
  // such.
  __device__ u32 number(i32 expert) const { return static_cast<u32>(expert) - first; }
  __device__ bool has(u32 number) const { return number < count; }
};

// The gates of a wave among `count` from `first` on that the waves of its workgroup share.
struct wave_gates {
  u32 first, end;

  __device__ wave_gates(u32 first, u32 count, u32 waves) {
    const u32 each = (count + waves * wave_size - 1) / (waves * wave_size) * wave_size;
    const u32 skipped = wave_id() * each;
    this->first = first + (skipped < count ? skipped : count);
    end = first + (skipped + each < count ? skipped + each : count);
  }

  // Calls with each lane's gate and its expert, a wave's width at a time, in order; lanes past the
  // end have expert -1.
  template <class F>
  __device__ void for_each(const i32* ids, F&& body) const {
    const auto load = [&](u32 gate) { return gate < end ? ids[gate] : -1; };
    i32 next = load(first + lane_id());
#pragma unroll 1
    for (u32 at = first; at < end; at += wave_size) {
      const i32 expert = next;
      next = load(at + wave_size + lane_id());
      body(at + lane_id(), expert);
    }
  }
};

// Sums over the experts of the windows so far. What only ops have that sort is left out of the
// others.
template <class Tile, bool Sorts>
struct place_sums {
  u32 gates = 0, tiles = 0;

  // The place of the lane's expert of the next window, from its count.
  __device__ ExpertPlace next(const ExpertSortArgs& args, u32 count) {
    __shared__ u32 scratch[2][sort_waves<Tile>];
    const u32 tiles_of = (count + args.tile_rows - 1) / args.tile_rows;
    const prefix in_gates = workgroup_prefix<sort_waves<Tile>>(count, scratch[0]);
    const prefix in_tiles = workgroup_prefix<sort_waves<Tile>>(tiles_of, scratch[1]);
    const u32 gate = gates + in_gates.before, tile = tiles + in_tiles.before;
    gates += in_gates.total;
    tiles += in_tiles.total;
    before = gate;
    return {count, args.is_padded != 0 ? tile * args.tile_rows : gate, tile};
  }

  u32 before = 0;  // gates of the experts before the lane's

  // The row behind all experts'.
  __device__ u32 end(const ExpertSortArgs& args) const {
    return args.is_padded != 0 ? tiles * args.tile_rows : gates;
  }

  // Stores what is known of the lane's expert.
  __device__ void store(const ExpertSortArgs& args, u32 expert, const ExpertPlace& place) const {
    if (Sorts && args.hist != nullptr) args.hist[expert] = static_cast<i32>(place.count);
    store_offsets(args, expert, before, place.tile);
  }

  // Stores what is known of all.
  __device__ void store_end(const ExpertSortArgs& args) const {
    store_offsets(args, args.experts, gates, tiles);
    if (Sorts && args.total != nullptr) *args.total = static_cast<i32>(tiles * args.tile_rows);
  }

 private:
  __device__ static void store_offsets(const ExpertSortArgs& args, u32 at, u32 gate, u32 tile) {
    if (!Sorts || args.offs_raw != nullptr) args.offs_raw[at] = static_cast<i32>(gate);
    if (!Sorts || args.offs_pad != nullptr) {
      args.offs_pad[at] = static_cast<i32>(tile * args.tile_unit);
    }
  }
};

// Names the tiles of this wave's experts of a window, and fills the rows behind their gates; waves
// of several workgroups, which have the same experts, share them.
template <bool Sorts>
__device__ inline void fill_window(const ExpertSortArgs& early, const expert_window& window,
                                   const ExpertPlace& place, u32 share, u32 shares) {
  const auto& args = *late_arguments<true>(early);
  const u32 skipped = wave_id() * wave_size;
  for (u32 i = share; i < wave_size && skipped + i < window.count; i += shares) {
    const u32 expert = window.first + skipped + i;
    const u32 count = arch::value_of_lane(place.count, i), row = arch::value_of_lane(place.row, i);
    const u32 tile = arch::value_of_lane(place.tile, i);
    const u32 tiles = (count + args.tile_rows - 1) / args.tile_rows;
    if ((!Sorts || args.tiles != nullptr) && tile < args.tile_count) {
      const u32 room = args.tile_count - tile;
      const u32 wanted = args.first_only != 0 && tiles > 1 ? 1 : tiles;
      i32 name = static_cast<i32>(expert);
      if (Sorts && args.expert_map != nullptr) name = args.expert_map[expert];
#pragma clang loop vectorize(disable) unroll(disable)
      for (u32 t = lane_id(); t < (wanted < room ? wanted : room); t += wave_size) {
        args.tiles[tile + t] = args.numbers_tiles != 0 ? static_cast<i32>(t << 16) | name : name;
      }
    }
    if (Sorts && args.is_padded != 0) {
#pragma clang loop vectorize(disable) unroll(disable)
      for (u32 r = count + lane_id(); r < tiles * args.tile_rows; r += wave_size) {
        args.sorted[row + r] = args.none;
      }
    }
  }
}

// Fills what is behind all experts.
template <bool Sorts>
__device__ inline void fill_end(const ExpertSortArgs& early, u32 row, u32 tile) {
  const auto& args = *late_arguments<true>(early);
  const u32 step = grid_size().x;
  if constexpr (Sorts) {
#pragma clang loop vectorize(disable) unroll(disable)
    for (u32 r = row + global_idx(); r < args.rows; r += step) {
      args.sorted[r] = args.none;
      if (args.sorted_weights == nullptr) continue;
      if (args.weight_bytes == 4) {
        static_cast<u32*>(args.sorted_weights)[r] = 0;
      } else {
        static_cast<u16*>(args.sorted_weights)[r] = 0;
      }
    }
  }
  if (Sorts && args.tiles == nullptr) return;
#pragma clang loop vectorize(disable) unroll(disable)
  for (u32 t = tile + global_idx(); t < args.tile_count; t += step) args.tiles[t] = -1;
}

// Gates of each expert of a window, in any order.
__device__ inline void count_gates(const ExpertSortArgs& args, const expert_window& window,
                                   const wave_gates& gates, u32* counts) {
  gates.for_each(args.ids, [&](u32, i32 expert) {
    const u32 number = window.number(expert);
    if (window.has(number)) add_to(counts[number], 1);
  });
}

// Puts gates in their rows; `rows` has the row of the wave's next gate of each expert.
__device__ inline void place_gates(const ExpertSortArgs& early, const expert_window& window,
                                   const wave_gates& gates, u32* rows) {
  const auto& args = *late_arguments<true>(early);
  const u32 bits = 32 - __builtin_clz((window.count - 1) | 1);
  gates.for_each(args.ids, [&](u32 gate, i32 expert) {
    const u32 number = window.number(expert);
    const bool is_here = window.has(number);
    const lane_bits alike = lanes_alike(ballot(is_here), number, bits);
    if (is_here) {
      const u32 before = count_before(alike);
      const u32 row =
          before + __scoped_atomic_load_n(&rows[number], __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
      // Of the lanes that have read it, one moves it on.
      if (before == 0) add_to(rows[number], static_cast<u32>(__builtin_popcountll(alike)));
      args.sorted[row] = static_cast<i32>(gate);
      if (args.positions != nullptr) args.positions[gate] = static_cast<i32>(row);
      if (args.sorted_weights != nullptr) {
        if (args.weight_bytes == 4) {
          static_cast<u32*>(args.sorted_weights)[row] = static_cast<const u32*>(args.weights)[gate];
        } else {
          static_cast<u16*>(args.sorted_weights)[row] = static_cast<const u16*>(args.weights)[gate];
        }
      }
    }
    const bool has_none = static_cast<u32>(expert) >= args.experts;
    if (window.first == 0 && has_none && gate < gates.end && args.positions != nullptr) {
      args.positions[gate] = -1;
    }
  });
}

template <class Tile>
__device__ inline void clear(window_counts<Tile>* counts, u32 tables) {
  for (u32 table = 0; table < tables; ++table) counts[table][thread_idx().x] = 0;
  sync_threads();
}

// Counts of all waves become what the waves before have; gives the sum of all.
template <class Tile>
__device__ inline u32 sum_before(window_counts<Tile>* counts) {
  u32 sum = 0;
  for (u32 wave = 0; wave < sort_waves<Tile>; ++wave) {
    const u32 count = counts[wave][thread_idx().x];
    counts[wave][thread_idx().x] = sum;
    sum += count;
  }
  return sum;
}

// The waves' next rows of the lane's expert, from what the waves before have, are so many further
// on.
template <class Tile>
__device__ inline void move_on(window_counts<Tile>* counts, u32 row) {
  for (u32 wave = 0; wave < sort_waves<Tile>; ++wave) counts[wave][thread_idx().x] += row;
}

// All in one launch.
template <class Tile>
__device__ inline void expert_sort(const ExpertSortArgs& args) {
  __shared__ window_counts<Tile> counts[sort_waves<Tile>];
  const wave_gates gates(0, args.gates, sort_waves<Tile>);
  const bool is_first = block_idx().x == 0;
  place_sums<Tile, true> sums;
  for (u32 first = 0; first < args.experts; first += Tile::threads) {
    const expert_window window(args, first, Tile::threads);
    clear<Tile>(counts, sort_waves<Tile>);
    count_gates(args, window, gates, counts[wave_id()]);
    sync_threads();
    const ExpertPlace place = sums.next(args, sum_before<Tile>(counts));
    const u32 number = thread_idx().x;
    if (is_first) {
      if (window.has(number)) sums.store(args, first + number, place);
      move_on<Tile>(counts, place.row);
      sync_threads();
      place_gates(args, window, gates, counts[wave_id()]);
    }
    fill_window<true>(args, window, place, block_idx().x, grid_size().x / Tile::threads);
    sync_threads();
  }
  if (is_first && thread_idx().x == 0) sums.store_end(args);
  fill_end<true>(args, sums.end(args), sums.tiles);
}

// The counts of a slice of gates.
template <class Tile>
__device__ inline void expert_count(const ExpertSortArgs& args) {
  __shared__ window_counts<Tile> counts[1];
  const u32 skipped = block_idx().x * args.slice, left = args.gates - skipped;
  const wave_gates gates(skipped, left < args.slice ? left : args.slice, sort_waves<Tile>);
  for (u32 first = 0; first < args.experts; first += Tile::threads) {
    const expert_window window(args, first, Tile::threads);
    clear<Tile>(counts, 1);
    count_gates(args, window, gates, counts[0]);
    sync_threads();
    const u32 number = thread_idx().x;
    if (window.has(number)) {
      args.slice_counts[block_idx().x * args.experts + first + number] = counts[0][number];
    }
  }
}

// Counts of slices become what the slices before have, and all experts get their places.
template <class Tile>
__device__ inline void expert_places(const ExpertSortArgs& args) {
  place_sums<Tile, true> sums;
  for (u32 first = 0; first < args.experts; first += Tile::threads) {
    const u32 expert = first + thread_idx().x;
    const bool is_there = expert < args.experts;
    u32 sum = 0;
    if (is_there) {
      constexpr u32 batch = 8;
      for (u32 slice = 0; slice < args.slices; slice += batch) {
        u32* const at = args.slice_counts + slice * args.experts + expert;
        u32 counts[batch];
#pragma unroll
        for (u32 i = 0; i < batch; ++i) {
          counts[i] = slice + i < args.slices ? at[i * args.experts] : 0;
        }
#pragma unroll
        for (u32 i = 0; i < batch; ++i) {
          if (slice + i < args.slices) at[i * args.experts] = sum;
          sum += counts[i];
        }
      }
    }
    const ExpertPlace place = sums.next(args, sum);
    if (is_there) {
      sums.store(args, expert, place);
      args.places[expert] = place;
    }
  }
  if (thread_idx().x == 0) {
    sums.store_end(args);
    args.places[args.experts] = {0, sums.end(args), sums.tiles};
  }
}

// Puts the gates of a slice in their rows.
template <class Tile>
__device__ inline void expert_scatter(const ExpertSortArgs& args) {
  __shared__ window_counts<Tile> counts[sort_waves<Tile>];
  const u32 skipped = block_idx().x * args.slice, left = args.gates - skipped;
  const wave_gates gates(skipped, left < args.slice ? left : args.slice, sort_waves<Tile>);
  for (u32 first = 0; first < args.experts; first += Tile::threads) {
    const expert_window window(args, first, Tile::threads);
    clear<Tile>(counts, sort_waves<Tile>);
    count_gates(args, window, gates, counts[wave_id()]);
    sync_threads();
    const u32 number = thread_idx().x, expert = first + number;
    ExpertPlace place{0, 0, 0};
    u32 before = 0;
    if (window.has(number)) {
      place = args.places[expert];
      before = args.slice_counts[block_idx().x * args.experts + expert];
    }
    sum_before<Tile>(counts);
    move_on<Tile>(counts, place.row + before);
    sync_threads();
    place_gates(args, window, gates, counts[wave_id()]);
    fill_window<true>(args, window, place, block_idx().x, args.slices);
    sync_threads();
  }
  const ExpertPlace end = args.places[args.experts];
  fill_end<true>(args, end.row, end.tile);
}

// Of experts whose gates are counted: where they begin, and the experts of tiles.
template <class Tile>
__device__ inline void expert_data(const ExpertSortArgs& args) {
  place_sums<Tile, false> sums;
  for (u32 first = 0; first < args.experts; first += Tile::threads) {
    const expert_window window(args, first, Tile::threads);
    const u32 number = thread_idx().x, expert = first + number;
    u32 count = 0;
    if (window.has(number)) {
      const i32 given = args.counts[expert];
      count = given < 0 ? 0 : static_cast<u32>(given);
    }
    ExpertPlace place = sums.next(args, count);
    if (window.has(number)) {
      if (args.first_tiles != nullptr) {
        place.tile = static_cast<u32>(args.first_tiles[expert]);
      } else if (block_idx().x == 0) {
        sums.store(args, expert, place);
      }
    }
    if (args.leaves_tiles == 0) {
      fill_window<false>(args, window, place, block_idx().x, grid_size().x / Tile::threads);
    }
  }
  if (args.first_tiles != nullptr) return;
  if (block_idx().x == 0 && thread_idx().x == 0) sums.store_end(args);
  fill_end<false>(args, 0, sums.tiles);
}

}  // namespace

}  // namespace hk
