// The main loops of matrix products: y = x * w^T, one block of BM x BN per workgroup, accumulated
// in registers: in f32, or in i32 if the elements are integers.
//
// If the operands have scales per group of k, sums of a group are kept apart until it ends, and then
// added to the sums of all, times the scales: `C::FOLD` slices are a group or, of a longer one, a part.
//
// A configuration `C` names the element type T, the block BM x BN x BK, the grid of waves WM x WN,
// the LDS slots STAGES, the atom's size ATOM, the storage orders X and W, and the schedule (PING_PONG,
// IN_PLACE).
//
// The tiles of one product are taken in an unusual order: the last one first, because it may be
// partial along k. Then every other tile is whole; tiles past the end are loaded through an empty buffer,
// which brings zeros and costs no traffic.
#pragma once

#include "hk/arch/in_place.h"
#include "hk/arch/moving_range.h"
#include "hk/arch/tie.h"
#include "hk/block_scales.h"
#include "hk/operand.h"

namespace hk {

// One operand's tiles along k.
struct tile_stream {
  buffer first;  // the tile that is taken first
  u32 first_depth;
  arch::moving_range next;  // the others
  u32 step;
};

// Rows of x that follow each other. Others are gathered: what takes the place of this tells of each row of
// a block which of the matrix it is.
struct rows_in_order {
  __device__ u32 operator()(u32 row) const { return row; }
};

// The part of a matrix that a workgroup multiplies: from `row` on, at most `rows` of them that
// exist, and k in [k_begin, k_end). All k are counted in elements, strides in what the operand's memory
// is made of; of operands with more than one line, these have 32 bits.
template <class Operand, bool Gathered = false>
__device__ inline tile_stream stream_of(const void* matrix, u32 stride, u32 row, u32 rows,
                                        u32 k_begin, u32 k_end, u32 steps, u32 depth,
                                        bool tiled = false) {
  constexpr int unit = per_unit<typename Operand::type>;
  const char* base =
      static_cast<const char*>(matrix) + Operand::origin_bytes(stride, row, k_begin / unit, tiled);
  const u32 step = Operand::step_bytes(stride, tiled), last = steps - 1;
  const u32 limit = (k_end - k_begin - last * depth) / unit;
  const auto bytes = [&](u32 depth) {
    return Gathered ? Operand::bytes_of(stride, rows, depth)
                    : Operand::tile_bytes(stride, rows, depth, tiled);
  };
  // By how much buffers begin earlier than what is loaded.
  constexpr u32 lead = Operand::lead_bytes;
  const char* from = base - lead;
  return {{from + u64{last} * step, bytes(limit) + lead},
          limit,
          {from, bytes(depth / unit) + lead},
          step};
}

// The streams of w's parts, if these are matrices of their own, or that of all.
template <int Matrices>
struct tile_streams {
  tile_stream of[Matrices];

  // A part of the tile that is taken first.
  __device__ const buffer& first(int part) const { return of[part % Matrices].first; }
  __device__ u32 first_depth() const { return of[0].first_depth; }

  // A part of the next tile.
  __device__ buffer next(int part) const { return of[part % Matrices].next.here(); }
  // There is none unless that holds, and then none behind it.
  __device__ void has_next(bool exists) {
    for (auto& stream : of) stream.next.keep_if(exists);
  }
  __device__ void advance() {
    for (auto& stream : of) stream.next.move(stream.step);
  }
};

// Whether a configuration multiplies gates and what they let through.
template <class C>
inline constexpr bool is_gated = false;
template <class C>
  requires requires { C::GATED; }
inline constexpr bool is_gated<C> = C::GATED;

// Whether a configuration has the schedule of four waves whose sums stay where they are.
template <class C>
inline constexpr bool is_in_place = false;
template <class C>
  requires requires { C::IN_PLACE; }
inline constexpr bool is_in_place<C> = C::IN_PLACE;

// Scales of groups of k of both operands: of x per row, of w per group of rows. Distances are in
// elements, sizes of groups powers of two.
struct group_scales {
  const f32* x;  // of the block's first row
  const f32* w;
  u32 rows;  // that the block has
  i64 x_row, x_group;
  i64 w_row, w_group;
  u32 column, columns;  // the block's first row of w, and how many rows w has
  u32 log2_n, log2_k;
  u32 k_begin, k_last;  // the first and the last k of the share
};

template <class C>
struct gemm_block {
  using T = typename C::T;
  static constexpr int BM = C::BM, BN = C::BN, BK = C::BK;
  static constexpr int WM = C::WM, WN = C::WN;
  static constexpr int waves = WM * WN;
  static constexpr int threads = waves * wave_size;
  static_assert(threads == C::threads);

  static constexpr bool direct = arch::direct_to_lds_bytes == 16;
  static constexpr bool ping_pong = C::PING_PONG;
  static constexpr bool in_place = is_in_place<C>;
  static constexpr int stages = C::STAGES;
  // A gated product has columns in pairs, which end up in one lane: a half of the block's rows of w are
  // gates, the other half is what they let through, of a matrix of its own.
  static constexpr bool gated = is_gated<C>;
  static constexpr int x_parts = ping_pong && direct ? 2 : 1;
  static constexpr int w_parts = gated ? 2 : x_parts;
  // Columns of the result that a block has.
  static constexpr int columns = gated ? BN / 2 : BN;

  static constexpr atom_layout atom = {C::ATOM};

  // The wave's fragments in each part. w's rows become the atom's rows and x's its columns, so that
  // a lane holds consecutive columns of y.
  static constexpr int fm = BM / x_parts / WM / atom.dim;
  static constexpr int fn = BN / w_parts / WN / atom.dim;
  static_assert(fm * atom.dim * WM * x_parts == BM && fn * atom.dim * WN * w_parts == BN);

  static constexpr bool transposing_w = same_type<typename C::W, mn_major> &&
                                        arch::has_transposing_read;
  static constexpr bool paired = !transposing_w && fn * atom.dim >= 32;
  using x_map = row_map<atom.dim, false>;
  using w_map = row_map<atom.dim, paired>;
  using types = product_types<T>;
  using X = typename types::x;
  using W = typename types::w;
  using x_operand = operand<X, typename C::X, BM, BK / per_unit<X>, threads, x_map, x_parts,
                            types::x_chunks, types::adjacent, false, ping_pong>;
  using w_operand = operand<W, typename C::W, BN, BK / per_unit<W>, threads, w_map, w_parts,
                            types::w_chunks, types::adjacent, gated, ping_pong>;
  static constexpr int slices = BK / (x_operand::slice_depth * per_unit<X>);
  static_assert(slices == BK / (w_operand::slice_depth * per_unit<W>));

  // Slices whose sums are kept apart from the others', if there are scales per group of k.
  static constexpr bool folds = C::FOLD > 0;
  static_assert(!folds || slices % C::FOLD == 0);
  static constexpr int groups_per_step =
      folds ? slices * types::groups_per_slice / max(C::FOLD, 1) : 0;
  static_assert(types::groups_per_slice == 1 || C::FOLD == 1);
  // Operands of 16 bits have no scales.
  static constexpr bool x_scaled = sizeof(X) == 1;

  static constexpr int lds_bytes =
      stages * (x_operand::slot_bytes + w_operand::slot_bytes);
  static_assert(lds_bytes <= arch::lds_bytes);

  using accumulator = vec<typename types::sum, atom.registers()>;
  // By part and fragment of x, then of w. After the product, integers are rounded to f32, whose bits
  // take their place.
  accumulator sum[x_parts * fm][w_parts * fn];

  // ---- Where a lane's results belong.

  // Consecutive columns that a lane holds together.
  static constexpr int run = w_map::run;
  // Columns that a wave's lanes hold together.
  static constexpr int run_columns = run * (wave_size / atom.dim);
  static constexpr int runs_per_part = fn * atom.dim / run_columns;
  static constexpr int runs_per_row = w_parts * runs_per_part;
  static constexpr int runs = x_parts * fm * runs_per_row;

  // Run `i`, in order of rows, then columns.
  template <int I>
  __device__ vec<f32, run> results() const {
    constexpr int row = I / runs_per_row, column = I % runs_per_row;
    constexpr int quads = run / 4;
    vec<f32, run> values;
    static_for<quads>([&](auto q) {
      constexpr int quad = column * quads + q;  // of four accumulators
      constexpr int per_fragment = atom.registers() / 4;
      static_for<4>([&](auto r) {
        values[q * 4 + r] =
            bit_cast<f32>(sum[row][quad / per_fragment][quad % per_fragment * 4 + r]);
      });
    });
    return values;
  }
  // Row of the block that run i belongs to.
  __device__ static u32 result_row(u32 i) {
    // Not memory of the device, as the member is.
    constexpr atom_layout atom = gemm_block::atom;
    const u32 fragment = i / runs_per_row;
    return fragment / fm * (BM / x_parts) + wave_row() * (fm * atom.dim) +
           fragment % fm * atom.dim + atom.d_column(lane_id());
  }
  // First column of the block that run i belongs to.
  __device__ static u32 result_column(u32 i) {
    const u32 column = i % runs_per_row;
    return column / runs_per_part * (BN / w_parts) + wave_column() * (fn * atom.dim) +
           column % runs_per_part * run_columns + lane_id() / atom.dim * run;
  }

  __device__ static u32 wave_row() { return WM == 1 ? 0 : wave_id() / WN; }
  __device__ static u32 wave_column() { return WM == 1 ? wave_id() : wave_id() % WN; }

  // ---- The product.

  // All sums are 0, as of no k.
  __device__ void clear() {
    for (auto& row : sum) {
      for (auto& fragment : row) fragment = accumulator(0);
    }
  }
  // Adds the sums of other k.
  __device__ void add(const gemm_block& other) {
    static_for<x_parts * fm>([&](auto i) {
      static_for<w_parts * fn>([&](auto j) { sum[i][j] += other.sum[i][j]; });
    });
  }

  using w_streams = tile_streams<gated ? 2 : 1>;

  // Adds up `steps` tiles, at least one. `lds` has lds_bytes.
  template <class Rows = rows_in_order>
  __device__ void multiply(lds_pointer lds, u32 x_stride, u32 w_stride, tile_streams<1> x_tiles,
                           w_streams w_tiles, i32 steps, const group_scales& scales = {},
                           const block_scale_streams& blocks = {}, const Rows& rows = {},
                           bool w_tiled = false) {
    static_assert((!folds && types::as_read) || (!ping_pong && !in_place),
                  "the interleaved schedule alone has groups and expands operands");
    static_assert(!gated || (!folds && types::as_read), "gates have neither");
    __builtin_assume(steps > 0);
    clear();
    x_operand x(lds, x_stride, wave_row() * (fm * atom.dim));
    w_operand w(lds + stages * x_operand::slot_bytes, w_stride, wave_column() * (fn * atom.dim),
                w_tiled);
    if constexpr (!same_type<Rows, rows_in_order>) x.gather(rows);
    if constexpr (ping_pong && direct) {
      ping_pong_direct(x, w, x_tiles, w_tiles, steps);
    } else if constexpr (ping_pong) {
      ping_pong_staged(x, w, x_tiles, w_tiles, steps);
    } else if constexpr (in_place) {
      multiply_in_place(x, w, x_tiles, w_tiles, steps);
    } else {
      interleave(x, w, x_tiles, w_tiles, steps, scales, blocks, rows);
    }
    if constexpr (types::missing != 1) {
      for (auto& row : sum) {
        for (auto& fragment : row) fragment *= types::missing;
      }
    }
    if constexpr (!same_type<typename types::sum, f32>) {
      for (auto& row : sum) {
        for (auto& fragment : row) {
          using rounded = vec<f32, atom.registers()>;
          fragment = bit_cast<accumulator>(__builtin_convertvector(fragment, rounded));
        }
      }
    }
  }

 private:
  // Fragments of `Slices` slices of one part of each operand.
  template <int Slices>
  struct fragments {
    typename x_operand::fragment x[Slices][fm];
    typename w_operand::fragment w[Slices][w_parts * fn];

    __device__ void tie() {
      for (auto& slice : x) {
        for (auto& fragment : slice) hk::tie(fragment);
      }
      for (auto& slice : w) {
        for (auto& fragment : slice) hk::tie(fragment);
      }
    }
  };

  template <class XFragment, class WFragment>
  __device__ static void mma(accumulator& d, const XFragment& x, const WFragment& w) {
    d = mma_ABt<T>(w, x, d);
  }

  // Does `Ops` memory operations spread over `Count` matrix operations: each matrix operation is
  // preceded by its share.
  template <int Count, int Ops, class Mma, class Op>
  __device__ static __attribute__((always_inline)) void spread_over(Mma mma, Op op) {
    if constexpr (Count == 0) static_for<Ops>(op);
    static_for<Count>([&](auto i) {
      constexpr int begin = i * Ops / Count, end = (i + 1) * Ops / Count;
      static_for<end - begin>([&](auto j) { op(constant<begin + j>{}); });
      pin_order();
      mma(i);
      pin_order();
    });
  }

  template <int Part, class Operand, class Tiles>
  __device__ static __attribute__((always_inline)) void load_part(Operand& operand,
                                                                  const Tiles& tiles, u32 slot) {
    static_for<Operand::loads>(
        [&](auto i) { operand.template load<Part, i>(tiles.next(Part), slot); });
  }
  template <class Operand, class Tiles>
  __device__ static __attribute__((always_inline)) void load_all(Operand& operand,
                                                                 const Tiles& tiles, u32 slot) {
    static_for<Operand::parts>([&](auto p) { load_part<p>(operand, tiles, slot); });
  }
  // The tile that is taken first, to slot 0.
  template <int Part, class Operand, class Tiles>
  __device__ static __attribute__((always_inline)) void load_first_part(Operand& operand,
                                                                        const Tiles& tiles) {
    static_for<Operand::loads>([&](auto i) {
      operand.template load<Part, i>(tiles.first(Part), 0, tiles.first_depth());
    });
  }
  template <class Operand, class Tiles>
  __device__ static __attribute__((always_inline)) void load_first(Operand& operand,
                                                                   const Tiles& tiles) {
    static_for<Operand::parts>([&](auto p) { load_first_part<p>(operand, tiles); });
  }
  template <class Operand>
  __device__ static __attribute__((always_inline)) void write_all(Operand& operand, u32 slot) {
    static_for<Operand::all_pieces>([&](auto i) {
      operand.template write<i / Operand::pieces, i % Operand::pieces>(slot);
    });
  }

  // ---- Interleaved schedule.
  //
  // Every wave runs alike. While it multiplies one slice of k, the fragments of the next are on
  // their way from LDS. In the last slice of a tile, the next tile must be in LDS, and loads into
  // the slot that has become free are started; memory operations are spread between the matrix
  // operations. Staged tiles are written to LDS in the first half of that last slice.
  template <class Rows>
  __device__ void interleave(x_operand& x, w_operand& w, tile_streams<1>& x_tiles,
                             w_streams& w_tiles, i32 steps, const group_scales& scales,
                             const block_scale_streams& blocks, const Rows& rows) {
    static_assert(slices % 2 == 0, "fragments alternate between two sets of registers");
    constexpr int loads = x_operand::all_loads + w_operand::all_loads;
    constexpr int writes = direct ? 0 : x_operand::all_pieces + w_operand::all_pieces;
    constexpr int reads = fm + w_parts * fn;
    constexpr int products = fm * w_parts * fn;
    // Tiles that are taken before the first is multiplied, beside it.
    constexpr int ahead = direct ? stages - 1 : 1;
    fragments<1> sets[2];

    const auto load = [&](auto i, u32 slot) {
      if constexpr (i < x_operand::loads) {
        x.template load<0, i>(x_tiles.next(0), slot);
      } else {
        constexpr int j = i - x_operand::loads, part = j / w_operand::loads;
        w.template load<part, j % w_operand::loads>(w_tiles.next(part), slot);
      }
    };
    const auto write = [&](auto i, u32 slot) {
      if constexpr (i < x_operand::pieces) {
        x.template write<0, i>(slot);
      } else {
        constexpr int j = i - x_operand::pieces;
        w.template write<j / w_operand::pieces, j % w_operand::pieces>(slot);
      }
    };
    const auto read = [&](fragments<1>& to, auto i, auto slice, u32 slot) {
      if constexpr (i < fm) {
        to.x[0][i] = x.template read<0, i, slice>(slot);
      } else {
        constexpr int j = i - fm;
        to.w[0][j] = w.template read<j / fn, j % fn, slice>(slot);
      }
    };
    constexpr bool by_slices = folds && types::groups_per_slice == 1;
    accumulator group[by_slices ? fm : 1][by_slices ? fn : 1];
    block_scales<X, x_map, fm, slices> x_blocks(blocks.x, wave_row() * (fm * atom.dim));
    block_scales<W, w_map, fn, slices> w_blocks(blocks.w, wave_column() * (fn * atom.dim));
    expanded_operands now_expanded;
    scales_of_step<groups_per_step> factors;
    const auto product = [&](fragments<1>& of, auto i, auto slice) {
      if constexpr (!types::as_read) {
        // By columns, so that one fragment of w is expanded at a time.
        constexpr int row = i % fm, column = i / fm;
        if constexpr (i == 0) {
          static_for<fm>([&](auto f) {
            now_expanded.x[f] =
                types::template prepare<X>(of.x[0][f], x_blocks.template scale<f, slice>());
          });
        }
        if constexpr (row == 0) {
          now_expanded.w =
              types::template prepare<W>(of.w[0][column], w_blocks.template scale<column, slice>());
        }
        const auto& of_x = now_expanded.x[row];
        if constexpr (!folds) {
          sum[row][column] = types::mma(now_expanded.w, of_x, sum[row][column]);
        } else if constexpr (types::groups_per_slice == 1) {
          if constexpr (slice % C::FOLD == 0) group[row][column] = accumulator(0);
          group[row][column] = types::mma(now_expanded.w, of_x, group[row][column]);
        } else {
          static_for<types::groups_per_slice>([&](auto g) {
            factors.template fold_one<slice * types::groups_per_slice + g, row, column>(
                sum, types::template mma_of_group<g>(now_expanded.w, of_x, accumulator(0)));
          });
        }
      } else {
        constexpr int row = i / (w_parts * fn), column = i % (w_parts * fn);
        const auto& x = of.x[0][row];
        const auto& w = of.w[0][column];
        if constexpr (!folds) {
          mma(sum[row][column], x, w);
        } else {
          if constexpr (slice % C::FOLD == 0) group[row][column] = accumulator(0);
          mma(group[row][column], x, w);
        }
      }
    };
    // What a slice ends with: its sums may be those of a group.
    const auto end_slice = [&](auto s) {
      if constexpr (by_slices && (s + 1) % max(C::FOLD, 1) == 0) {
        factors.template fold<s / C::FOLD>(sum, group);
      }
    };
    // Which tile a step multiplies: the last one first.
    i32 tile = steps - 1;
    x_blocks.load(tile * BK);
    w_blocks.load(tile * BK);
    // How many are to be taken yet: less than none if empty ones were.
    i32 left = steps - 1;
    const auto begin_loads = [&] {
      x_tiles.has_next(left > 0);
      w_tiles.has_next(left > 0);
    };
    const auto end_loads = [&] {
      x_tiles.advance();
      w_tiles.advance();
      --left;
    };

    load_first(x, x_tiles);
    load_first(w, w_tiles);
    if constexpr (!direct) static_for<writes>([&](auto i) { write(i, 0); });
    static_for<ahead>([&](auto i) {
      begin_loads();
      load_all(x, x_tiles, direct ? i + 1 : 0);
      load_all(w, w_tiles, direct ? i + 1 : 0);
      end_loads();
    });
    if constexpr (direct) {
      wait_global<ahead * loads>();
      meet();
    } else {
      meet_with_lds();
    }
    static_for<reads>([&](auto i) { read(sets[0], i, constant<0>{}, 0); });
    arch::lds_wait();
    sets[0].tie();

    // A step but for its last slice.
    const auto begin_step = [&](auto slot) __attribute__((always_inline)) {
      factors.load(scales, tile * BK, rows);
      tile = tile == steps - 1 ? 0 : tile + 1;
      x_blocks.take_and_load(tile * BK);
      w_blocks.take_and_load(tile * BK);
      static_for<slices - 1>([&](auto s) {
        fragments<1>& next = sets[1 - s % 2];
        spread_over<products, reads>(
            [&](auto i) { product(sets[s % 2], i, s); },
            [&](auto i) { read(next, i, constant<s + 1>{}, slot); });
        arch::lds_wait();
        next.tie();
        end_slice(s);
      });
    };
    // Its last slice, and what must be ready for the next step. Of the last steps, those that no tile is left for
    // may be told their number, from 1: they do not load, and fewer are under way.
    constexpr constant<slices - 1> last_slice;
    const auto end_step = [&](auto slot, auto last) __attribute__((always_inline)) {
      constexpr bool brings = last == 0 || (!direct && last <= stages - 3);
      constexpr int under_way = (stages - 2 - max(last - 1, 0)) * loads;
      constexpr u32 next_slot = (slot + 1) % stages;
      constexpr int early = direct ? 0 : products / 2;
      if constexpr (direct) {
        wait_global<under_way>();
        meet();
      } else {
        if constexpr (stages == 1) meet_with_lds();
        spread_over<early, writes>([&](auto i) { product(sets[1], i, last_slice); },
                                   [&](auto i) { write(i, next_slot); });
        meet_with_lds();
      }
      if constexpr (brings) begin_loads();
      spread_over<products - early, reads + (brings ? loads : 0)>(
          [&](auto i) { product(sets[1], constant<early + i>{}, last_slice); },
          [&](auto i) {
            if constexpr (i < reads) {
              read(sets[0], i, constant<0>{}, next_slot);
            } else {
              load(constant<i - reads>{}, slot);
            }
          });
      if constexpr (brings) end_loads();
      arch::lds_wait();
      sets[0].tie();
      end_slice(last_slice);
    };
    if constexpr (!direct && !folds && types::as_read) {
      // No step is too many, and the last one has no end.
      begin_step(constant<0>{});
      if (left > -ahead) {
        for_each_slot([&](auto slot) __attribute__((always_inline)) {
          end_step(slot, constant<0>{});
          begin_step(constant<(slot + 1) % stages>{});
          return left <= -ahead;
        });
      }
      static_for<products>([&](auto i) { product(sets[1], i, last_slice); });
      tie_sums();
    } else {
      // Loads to registers that are under way would have to be moved if any step could be the last; and those to
      // LDS that bring nothing would take time.
      for_each_step(steps, [&](auto slot, auto last) __attribute__((always_inline)) {
        begin_step(slot);
        end_step(slot, last);
      });
    }
    finish();
  }

  // What is multiplied next, if operands are not as they were read.
  template <bool AsRead, class Types = types>
  struct expanded_of {};
  template <class Types>
  struct expanded_of<false, Types> {
    decltype(Types::template prepare<X>(typename x_operand::fragment{}, 0)) x[fm];
    decltype(Types::template prepare<W>(typename w_operand::fragment{}, 0)) w;
  };
  using expanded_operands = expanded_of<types::as_read>;

  // The scales of the `Groups` groups of one step, as this lane needs them.
  template <int Groups>
  struct scales_of_step {
    // Rows of w that one number is for.
    static constexpr bool uniform = C::UNIFORM;
    using w_scales = typename choose<uniform, f32, accumulator>::type;
    f32 x[max(Groups, 1)][fm];
    w_scales w[max(Groups, 1)][uniform ? 1 : fn];

    // Those of k from `first` on in the workgroup's share.
    template <class Rows>
    __device__ void load(const group_scales& of, u32 first, const Rows& rows) {
      static_for<Groups>([&](auto g) {
        constexpr atom_layout atom = gemm_block::atom;
        const u32 k = of.k_begin + first + g * (BK / max(Groups, 1));
        // There may be no groups behind the last k.
        const u32 group = (k < of.k_last ? k : of.k_last) >> of.log2_k;
        if constexpr (x_scaled) {
          const f32* column = of.x + group * of.x_group;
          static_for<fm>([&](auto f) {
            const u32 row = wave_row() * (fm * atom.dim) + f * atom.dim + atom.d_column(lane_id());
            x[g][f] = column[rows(row < of.rows ? row : of.rows - 1) * of.x_row];
          });
        }
        const f32* from = of.w + group * of.w_group;
        if constexpr (uniform) {
          w[g][0] = from[(of.column >> of.log2_n) * of.w_row];
        } else {
          static_for<fn>([&](auto f) {
            static_for<atom.registers()>([&](auto r) {
              const u32 row = of.column + wave_column() * (fn * atom.dim) + w_map::base_row(f) +
                              w_map::lane_row(atom.d_row(lane_id(), r));
              const u32 last = of.columns - 1;
              w[g][f][int{r}] = from[((row < last ? row : last) >> of.log2_n) * of.w_row];
            });
          });
        }
      });
    }

    // Adds the sums of a group to those of all.
    template <int Group, class Sums, class Part>
    __device__ void fold(Sums& sum, const Part& group) const {
      static_for<fm * fn>([&](auto i) {
        constexpr int row = i / fn, column = i % fn;
        fold_one<Group, row, column>(sum, group[row][column]);
      });
    }
    template <int Group, int Row, int Column, class Sums>
    __device__ void fold_one(Sums& sum, accumulator group) const {
      accumulator factor = w[Group][uniform ? 0 : Column];
      if constexpr (x_scaled) factor = x[Group][Row] * w[Group][uniform ? 0 : Column];
      sum[Row][Column] = __builtin_elementwise_fma(group, factor, sum[Row][Column]);
    }
  };

  // Calls `step` with the slot of each step as a constant: addresses in LDS then are immediates. At
  // the end of the product up to stages - 1 steps remain, which are told their number, from 1.
  template <class Step>
  __device__ static __attribute__((always_inline)) void for_each_step(i32 steps, Step step) {
    for (; steps >= stages; steps -= stages) {
      static_for<stages>([&](auto slot) { step(slot, constant<0>{}); });
    }
    static_for<stages - 1>([&](auto slot) {
      if (slot < steps) step(slot, constant<slot + 1>{});
    });
  }
  // The same without an end of its own: until `step` says that it was the last.
  template <class Step>
  __device__ static __attribute__((always_inline)) void for_each_slot(Step step) {
    while (!any_slot(step, typename make_sequence<stages>::type{})) {
    }
  }
  template <class Step, int... Slot>
  __device__ static __attribute__((always_inline)) bool any_slot(Step step, sequence<Slot...>) {
    return (step(constant<Slot>{}) || ...);
  }

  // All products are made before what comes next.
  __device__ void tie_sums() {
    for (auto& row : sum) {
      for (auto& fragment : row) arch::tie(fragment);
    }
  }

  // No load may write to LDS once it could belong to another workgroup.
  __device__ static void finish() {
    if constexpr (direct) wait_global<0>();
  }

  // ---- Ping-pong schedules.
  //
  // Eight waves, two on each SIMD. A step along k is a few clusters, each a memory phase and a
  // matrix phase with a barrier after each. The second row of waves runs one phase behind the
  // first, because it meets one barrier more at the start: on every SIMD one wave is in its memory
  // phase while the other multiplies.

  // Lets waves of that row meet once more, so that the other row is a phase ahead.
  template <u32 Row>
  __device__ static __attribute__((always_inline)) void stagger() {
    u32 row = wave_row();
    arch::forget_scalar(row);
    if (row == Row) meet();
  }

  // The matrix phase, at raised priority so that the other wave's memory phase cannot delay it.
  template <class Products>
  __device__ static __attribute__((always_inline)) void matrix_phase(Products products) {
    pin_order();
    arch::set_priority<1>();
    products();
    arch::set_priority<0>();
    pin_order();
  }

  // With direct-to-LDS loads. Each operand has two parts and two slots; a cluster multiplies one
  // part of x with one of w. A part is loaded into the place of the one two steps before, two
  // clusters after the last read of that, which every wave has then behind it:
  //
  //   cluster   reads     multiplies   loads
  //   0         x0 w0     x0 w0        w1 of the next step
  //   1         w1        x0 w1        x1 of the next step
  //   2         x1        x1 w1        x0 of the step after
  //   3                   x1 w0        w0 of the step after
  //
  // So four parts are under way at any time, and a wave waits for its own share of a part before
  // the barrier that precedes the first read of it.
  __device__ void ping_pong_direct(x_operand& x, w_operand& w, tile_streams<1>& x_tiles,
                                   w_streams& w_tiles, i32 steps) {
    static_assert(WM == 2 && waves == 8 && stages == 2);
    constexpr int under_way = x_operand::all_loads + w_operand::all_loads;
    typename x_operand::fragment xs[slices][fm];
    typename w_operand::fragment ws[2][slices][fn];

    const auto read_x = [&](auto part, u32 slot) __attribute__((always_inline)) {
      static_for<slices>([&](auto s) {
        static_for<fm>([&](auto f) { xs[s][f] = x.template read<part, f, s>(slot); });
      });
    };
    const auto read_w = [&](auto part, u32 slot) __attribute__((always_inline)) {
      static_for<slices>([&](auto s) {
        static_for<fn>([&](auto f) { ws[part][s][f] = w.template read<part, f, s>(slot); });
      });
    };
    const auto multiply = [&](auto x_part, auto w_part) __attribute__((always_inline)) {
      // The last cluster of a step has read nothing that it could wait for.
      if constexpr (x_part == 0 || w_part == 1) {
        arch::lds_wait();
        for (auto& slice : xs) {
          for (auto& fragment : slice) tie(fragment);
        }
        for (auto& slice : ws[w_part]) {
          for (auto& fragment : slice) tie(fragment);
        }
      }
      matrix_phase([&] {
        static_for<slices>([&](auto s) {
          static_for<fm * fn>([&](auto i) {
            mma(sum[x_part * fm + i / fn][w_part * fn + i % fn], xs[s][i / fn],
                ws[w_part][s][i % fn]);
          });
        });
      });
    };
    constexpr constant<0> part0;
    constexpr constant<1> part1;

    // How many tiles are to be taken yet.
    i32 left = steps - 1;
    load_first_part<0>(x, x_tiles);
    load_first_part<0>(w, w_tiles);
    load_first_part<1>(w, w_tiles);
    load_first_part<1>(x, x_tiles);
    x_tiles.has_next(left > 0);
    w_tiles.has_next(left > 0);
    load_part<0>(x, x_tiles, 1);
    load_part<0>(w, w_tiles, 1);
    wait_global<under_way>();
    meet();
    stagger<1>();

    const auto step = [&](auto slot, auto is_last) __attribute__((always_inline)) {
      read_x(part0, slot);
      read_w(part0, slot);
      if constexpr (is_last) {
        wait_global<0>();
      } else {
        load_part<1>(w, w_tiles, 1 - slot);
        wait_global<under_way>();
      }
      meet();
      multiply(part0, part0);
      meet();

      if constexpr (!is_last) load_part<1>(x, x_tiles, 1 - slot);
      read_w(part1, slot);
      if constexpr (!is_last) wait_global<under_way>();
      meet();
      multiply(part0, part1);
      meet();

      read_x(part1, slot);
      if constexpr (!is_last) {
        --left;
        x_tiles.advance();
        x_tiles.has_next(left > 0);
        load_part<0>(x, x_tiles, slot);
      }
      meet();
      multiply(part1, part1);
      meet();

      if constexpr (!is_last) {
        w_tiles.advance();
        w_tiles.has_next(left > 0);
        load_part<0>(w, w_tiles, slot);
        wait_global<under_way>();
      }
      meet();
      multiply(part1, part0);
      meet();
    };
    // Both slots by turns: addresses in LDS then are immediates. Of an odd number of steps, the last loads
    // nothing.
    while (left > 0) {
      step(constant<0>{}, constant<false>{});
      step(constant<1>{}, constant<false>{});
      // Compared with zero where it is, rather than by a flag that is kept.
      arch::forget_scalar(left);
    }
    if (left == 0) step(constant<0>{}, constant<true>{});
    stagger<0>();
    finish();
  }

  // With tiles staged in registers and a single slot: the next tile waits in registers until every
  // wave has read the last of this one. Slices are read in pairs, which is as much as registers
  // hold, so that three clusters do.
  //
  //   cluster   reads          multiplies     global memory
  //   0         slices 0, 1    slices 0, 1    loads the next step
  //   1         slices 2, 3    slice 2
  //   2                        slice 3        writes the next step to LDS
  __device__ void ping_pong_staged(x_operand& x, w_operand& w, tile_streams<1>& x_tiles,
                                   w_streams& w_tiles, i32 steps) {
    static_assert(WM == 2 && waves == 8 && stages == 1 && slices == 4);
    constexpr int columns = w_parts * fn;
    typename x_operand::fragment xs[2][fm];
    typename w_operand::fragment ws[2][columns];
    const auto read = [&](auto slice) __attribute__((always_inline)) {
      static_for<fm>([&](auto f) { xs[slice % 2][f] = x.template read<0, f, slice>(0); });
      static_for<columns>([&](auto f) {
        ws[slice % 2][f] = w.template read<f / fn, f % fn, slice>(0);
      });
    };
    // Multiplies `count` slices from `first` on.
    const auto multiply = [&](auto first, auto count) __attribute__((always_inline)) {
      matrix_phase([&] {
        static_for<count>([&](auto j) {
          constexpr int set = (first + j) % 2;
          static_for<fm * columns>([&](auto i) {
            mma(sum[i / columns][i % columns], xs[set][i / columns], ws[set][i % columns]);
          });
        });
      });
    };
    load_first(x, x_tiles);
    load_first(w, w_tiles);
    write_all(x, 0);
    write_all(w, 0);
    meet_with_lds();
    stagger<1>();

    // A step but for its last slice.
    const auto begin_step = [&](auto is_last) __attribute__((always_inline)) {
      read(constant<0>{});
      read(constant<1>{});
      if constexpr (!is_last) {
        load_all(x, x_tiles, 0);
        load_all(w, w_tiles, 0);
        x_tiles.advance();
        w_tiles.advance();
      }
      meet_with_lds();
      multiply(constant<0>{}, constant<2>{});
      meet_with_lds();

      read(constant<2>{});
      read(constant<3>{});
      meet_with_lds();
      multiply(constant<2>{}, constant<1>{});
      meet_with_lds();
    };
    // One step alone takes the same registers.
    tie_sums();
    for (i32 left = steps - 1; left > 0; --left) {
      begin_step(constant<false>{});
      write_all(x, 0);
      write_all(w, 0);
      meet_with_lds();
      multiply(constant<3>{}, constant<1>{});
      meet_with_lds();
    }
    begin_step(constant<true>{});
    multiply(constant<3>{}, constant<1>{});
    tie_sums();
    stagger<0>();
  }

  // ---- Schedule in place.
  //
  // Four waves, each alone on a SIMD: its sums take half of the registers, and nothing but its own
  // products hides what it waits for. While it multiplies a slice, it reads the next one and starts
  // loads into the slot that it does not read from:
  //
  //   slice          reads                      loads
  //   the last       slice 0 of the next step   of the step after, whose slot has become free
  //   the others     the slice after            what is left of them
  //
  // Loads are spread over three quarters of a step and have the rest of it to arrive. x is awaited
  // before the last slice, w within it, where its reads begin. The last products of a slice have no
  // reads beside them: the latest ones arrive meanwhile.
  __device__ void multiply_in_place(x_operand& x, w_operand& w, tile_streams<1>& x_tiles,
                                    w_streams& w_tiles, i32 steps) {
    static_assert(arch::has_in_place && waves == 4 && stages == 2 && slices % 2 == 0 && !gated);
    constexpr int loads = x_operand::all_loads + w_operand::all_loads;
    constexpr int products = fm * fn;
    // Of the products of a slice, those before which the next one's x and w have been read.
    constexpr int w_read = products - products / 8 - 2, x_read = w_read * fm / (fm + fn);
    // How many loads precede product `at`, counted from the last slice on.
    constexpr auto loads_before = [](int at) {
      return min(at * loads * 4 / (slices * products * 3), loads);
    };
    constexpr int first_loads = loads_before(products);
    constexpr constant<slices - 1> last_slice;
    fragments<1> sets[2];

    const auto load = [&](auto i, u32 slot) __attribute__((always_inline)) {
      if constexpr (i < x_operand::loads) {
        x.template load<0, i>(x_tiles.next(0), slot);
      } else {
        w.template load<0, i - x_operand::loads>(w_tiles.next(0), slot);
      }
    };
    const auto read_x = [&](auto slice, auto f, u32 slot) __attribute__((always_inline)) {
      sets[slice % 2].x[0][f] = x.template read<0, f, slice>(slot);
    };
    const auto read_w = [&](auto slice, auto f, u32 slot) __attribute__((always_inline)) {
      sets[slice % 2].w[0][f] = w.template read<0, f, slice>(slot);
    };
    const auto end_reads = [&](auto slice) __attribute__((always_inline)) {
      arch::lds_wait();
      sets[slice % 2].tie();
    };
    const auto multiply = [&](auto slice, auto i) __attribute__((always_inline)) {
      const fragments<1>& of = sets[slice % 2];
      arch::mma_in_place(T{}, of.w[0][i % fn].bits(), of.x[0][i / fn].bits(), sum[i / fn][i % fn]);
    };
    // Multiplies a slice while the next one is read from `slot` and loads go to the other slot.
    const auto multiply_and_read = [&](auto slice, auto slot,
                                       auto with_loads) __attribute__((always_inline)) {
      constexpr constant<(slice + 1) % slices> next;
      const auto product = [&](auto i) __attribute__((always_inline)) {
        constexpr int from = loads_before(next * products + i);
        constexpr int to = loads_before(next * products + i + 1);
        if constexpr (with_loads) {
          static_for<to - from>([&](auto j) { load(constant<from + j>{}, 1 - slot); });
        }
        multiply(slice, i);
      };
      spread_over<x_read, fm>(product, [&](auto f) { read_x(next, f, slot); });
      if constexpr (slice == last_slice) {
        wait_global<loads_before(x_read)>();
        meet();
      }
      spread_over<w_read - x_read, fn>([&](auto i) { product(constant<x_read + i>{}); },
                                       [&](auto f) { read_w(next, f, slot); });
      static_for<products - w_read>([&](auto i) { product(constant<w_read + i>{}); });
      end_reads(next);
    };

    // How many tiles are to be taken yet.
    i32 left = steps - 1;
    const auto take_next = [&] {
      x_tiles.has_next(left > 0);
      w_tiles.has_next(left > 0);
    };
    load_first(x, x_tiles);
    load_first(w, w_tiles);
    take_next();
    static_for<first_loads>([&](auto i) { load(i, 1); });
    arch::begin_in_place(sum);
    wait_global<first_loads>();
    meet();
    static_for<fm>([&](auto f) { read_x(constant<0>{}, f, 0); });
    static_for<fn>([&](auto f) { read_w(constant<0>{}, f, 0); });
    end_reads(constant<0>{});

    const auto step = [&](auto slot, auto is_last) __attribute__((always_inline)) {
      static_for<slices - 1>([&](auto s) { multiply_and_read(s, slot, constant<!is_last>{}); });
      if constexpr (is_last) {
        static_for<products>([&](auto i) { multiply(last_slice, i); });
      } else {
        --left;
        x_tiles.advance();
        w_tiles.advance();
        take_next();
        wait_global<w_operand::all_loads>();
        meet();
        multiply_and_read(last_slice, constant<1 - slot>{}, constant<true>{});
      }
    };
    // Both slots by turns, as with ping-pong.
    while (left > 0) {
      step(constant<0>{}, constant<false>{});
      step(constant<1>{}, constant<false>{});
      arch::forget_scalar(left);
    }
    if (left == 0) step(constant<0>{}, constant<true>{});
    arch::end_in_place(sum);
    finish();
  }
};

}  // namespace hk
