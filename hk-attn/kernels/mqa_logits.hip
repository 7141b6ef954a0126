// Scores of keys for rows of queries of several heads, added up over the heads by their weights:
//   y[i, n] = sum_h w[i, h] relu(scale[n] (q[i, h] . k[n])), -inf outside of the row's window
// with sums in f32, always in the same order. Keys are rows one behind the other, or in pages that a
// table lists.
//
// A workgroup has some keys, of which each wave keeps its own in registers as fragments, and goes through
// rows of queries of one sequence, whose heads pass through LDS in two slots, the next ones being on
// their way. Heads are the atom's rows: a lane has many heads of one key, and adds them up by itself; one
// step across lanes completes a sum. Rows that none of the keys is for are only filled, if they are.
#include "hk/attention_rows.h"
#include "hk/elements.h"
#include "hk/lds.h"
#include "hk/memory.h"
#include "hk/mma.h"

namespace hk {

struct MqaLogitsArgs {
  const void* q;
  const u8* k;         // the first key
  const u8* k_scales;  // its f32; null if all are 1
  const f32* weights;
  f32* y;
  const i32* starts;   // of each row's window, and its end
  const i32* ends;
  const i32* lengths;  // of sequences, of pages that are not one behind the other
  const i32* bounds;   // in the table, of sequences whose pages, of one key, are
  const i32* table;    // of pages
  i64 q_sequence;      // in elements, as all strides but those of keys
  i64 q_row;
  i64 q_head;
  i64 k_page;  // in bytes, as those of scales
  i64 k_key;
  i64 scale_page;
  i64 scale_key;
  i64 weight_row;
  i64 y_row;
  i64 y_head;     // of what has a number for each head
  i64 table_row;
  u32 sequences;
  u32 rows;       // of a sequence
  u32 heads;
  u32 depth;      // elements of a head or key
  u32 keys;       // columns of y
  u32 page_keys;
  u32 pages;
  u32 listed;     // pages in a row of the table
  u32 at_once;    // rows that a workgroup takes
  u32 clean;      // whether y is filled outside of windows
};

namespace {

// 16 bytes from anywhere.
__device__ inline bits128 load_chunk(const u8* from) {
  return bit_cast<bits128>(load_adjacent<u8, 16>(from));
}
// Whether rows of so many elements, of the size of Bits, are not made of pairs of chunks.
template <class Bits>
__device__ inline bool is_cut(u32 depth) {
  return depth % (2 * per_128_bits<Bits>) != 0;
}

// The queries of a row's heads in LDS: Heads rows of Bytes.
template <int Heads, int Bytes, int Threads>
struct query_tile {
  static constexpr int chunks = Bytes / 16;
  static constexpr int bytes = Heads * Bytes;
  static constexpr int loads = Heads * chunks / Threads;
  static_assert(Heads * chunks % Threads == 0);

  static constexpr swizzle make_swizzle() {
    return spread<arch::lds_read_b128>({0, 1, 2, 3}, Bytes, 0);
  }
  __host__ __device__ static constexpr u32 address(u32 head, u32 chunk) {
    constexpr swizzle layout = make_swizzle();
    return head * Bytes + (chunk ^ layout.of(head)) * 16;
  }
  static_assert(conflict_free<arch::lds_read_b128>([](int lane) {
    return address(lane % 32, lane / 32);
  }));
  static_assert(conflict_free<arch::lds_write_b128>([](int lane) {
    return address(lane / chunks, lane % chunks);
  }));

  bits128 staged[loads];

  // Starts loading so many heads of `depth` elements, of the size of Bits; those that there are not are zeros,
  // or, if depths are no whole chunks, copies of the last head.
  template <class Bits>
  __device__ void load(const u8* from, i64 stride, u32 heads, u32 depth) {
    const auto number = [&](auto i) { return i.value * Threads + thread_idx().x; };
    if (is_cut<Bits>(depth)) {
      load_cut_chunks<Bits>(
          staged, depth,
          [&](auto i) {
            const u32 head = number(i) / chunks, last = heads - 1;
            return reinterpret_cast<u64>(from) + (head < last ? head : last) * stride;
          },
          [&](auto i) { return number(i) % chunks * per_128_bits<Bits>; });
      return;
    }
    static_for<loads>([&](auto i) {
      const u32 head = number(i) / chunks, chunk = number(i) % chunks;
      staged[i] = 0;
      if (head < heads && chunk * per_128_bits<Bits> < depth) {
        staged[i] = load_chunk(from + head * stride + chunk * 16);
      }
    });
  }
  __device__ void write(lds_pointer to) const {
    static_for<loads>([&](auto i) {
      const u32 at = i * Threads + thread_idx().x;
      *reinterpret_cast<arch::lds_pointer_to<bits128>>(to + address(at / chunks, at % chunks)) = staged[i];
    });
  }
};

// Columns of y that a row has numbers for.
struct key_window {
  u32 begin, end;

  __device__ bool has(u32 key) const { return key >= begin && key < end; }
};

template <class Tile>
struct mqa_block {
  using T = typename Tile::T;
  using bits = typename choose<sizeof(T) == 1, u8, u16>::type;
  static constexpr int threads = Tile::threads;
  static constexpr int fragments = Tile::FRAGMENTS;  // of 32 keys, that a wave has
  static constexpr int wave_keys = fragments * 32;
  static constexpr int keys = threads / wave_size * wave_keys;
  static constexpr int heads_at_once = 64;
  static constexpr int bytes = Tile::DEPTH * static_cast<int>(sizeof(T));
  static constexpr int lane_chunks = bytes / 32;
  static constexpr int slices = lane_chunks / chunks_of<T>;
  using queries = query_tile<heads_at_once, bytes, threads>;
  using fragment = fragment_of<bits128, chunks_of<T>>;
  static_assert(slices * chunks_of<T> == lane_chunks);

  const MqaLogitsArgs& args;
  u32 sequence;
  u32 first_key;  // of the workgroup
  u32 length;     // keys of the sequence that there are
  fragment k[fragments][slices];
  f32 scale[fragments];

  __device__ mqa_block(const MqaLogitsArgs& args, u32 sequence, u32 tile)
      : args(args), sequence(sequence), first_key(tile * keys), length(args.keys) {
    if constexpr (Tile::PAGED) {
      // No more than the table lists.
      i64 there = 0, listed = i64{args.listed} * args.page_keys;
      if (is_ragged()) {
        const i64 first = args.bounds[sequence];
        there = first < 0 ? 0 : args.bounds[sequence + 1] - first;
        listed -= first;
      } else {
        there = args.lengths[sequence];
      }
      if (there > listed) there = listed;
      if (there < length) length = uniform(static_cast<u32>(there < 0 ? 0 : there));
    }
  }

  // Whether pages of sequences, of one key, are one behind the other in the table.
  __device__ bool is_ragged() const { return !Tile::PER_HEAD && args.bounds != nullptr; }

  __device__ key_window window_of(u32 row) const {
    i64 begin = 0, end;
    if constexpr (Tile::PAGED) {
      end = i64{length} - args.rows + row + 1;
    } else {
      begin = args.starts[row], end = args.ends[row];
    }
    const i64 last = length;
    const auto within = [&](i64 at) {
      return uniform(static_cast<u32>(at < 0 ? 0 : at > last ? last : at));
    };
    return {within(begin), within(end)};
  }

  // Where a key of the sequence is: those of the cache and of their scales lie alike.
  struct place {
    u32 page, slot;
  };
  __device__ place place_of(u32 key) const {
    if constexpr (Tile::PAGED) {
      i64 entry = sequence * args.table_row + key / args.page_keys;
      if (is_ragged()) entry = i64{args.bounds[sequence]} + key;
      const u32 page = static_cast<u32>(args.table[entry]);
      // Nothing outside of the cache is read.
      return {page < args.pages ? page : args.pages - 1, key % args.page_keys};
    } else {
      return {0, key};
    }
  }

  __device__ void load_keys() {
    static_for<fragments>([&](auto f) {
      const u32 key = first_key + wave_id() * wave_keys + f * 32 + lane_id() % 32;
      const bool exists = key < length;
      scale[f] = 1;
      place at = {};
      if (exists) {
        at = place_of(key);
        if (Tile::PAGED || args.k_scales != nullptr) {
          const u8* from = args.k_scales + at.page * args.scale_page + at.slot * args.scale_key;
          // Behind keys of any depth.
          scale[f] = bit_cast<f32>(load_adjacent<u8, 4>(from));
        }
      }
      const u8* from = args.k + at.page * args.k_page + at.slot * args.k_key;
      if (is_cut<bits>(args.depth)) {
        // In the place of a key that is not there, the first one, whose numbers are not stored.
        bits128 chunks[lane_chunks];
        load_cut_chunks<bits>(
            chunks, args.depth, [&](auto) { return reinterpret_cast<u64>(from); },
            [](auto c) { return (c.value * 2 + lane_id() / 32) * per_128_bits<bits>; });
        static_for<lane_chunks>(
            [&](auto c) { k[f][c / chunks_of<T>].chunk[c % chunks_of<T>] = chunks[c]; });
        return;
      }
      static_for<lane_chunks>([&](auto c) {
        const u32 chunk = c * 2 + lane_id() / 32;
        bits128 bits = 0;
        // Rows have 32 bytes at least.
        if (exists && (c == 0 || chunk * 16 < args.depth * sizeof(T))) {
          bits = load_chunk(from + chunk * 16);
        }
        k[f][c / chunks_of<T>].chunk[c % chunks_of<T>] = bits;
      });
    });
  }

  // Where a row of y begins.
  __device__ f32* row_of_y(u32 row) const {
    return args.y + (i64{sequence} * args.rows + row) * args.y_row;
  }

  // Stores what a row has for a key, or nothing.
  __device__ void store(u32 row, key_window window, u32 key, f32 value, u32 head = 0) const {
    const bool has = window.has(key);
    if (key >= args.keys || (!has && !args.clean)) return;
    row_of_y(row)[head * args.y_head + key] = has ? value : -__builtin_inff();
  }

  // Fills a row where no key of the workgroup is in its window.
  __device__ void fill(u32 row) const {
    static_assert(keys <= threads);
    if (thread_idx().x >= keys) return;
    const u32 copies = Tile::PER_HEAD ? args.heads : 1;
#pragma clang loop unroll(disable) vectorize(disable)
    for (u32 head = 0; head < copies; ++head) store(row, {}, first_key + thread_idx().x, 0, head);
  }

  // The first row from `row` on that some of the keys are for; those before are filled.
  __device__ u32 first_row(u32 row, u32 end) const {
    for (; row < end; ++row) {
      const key_window of = window_of(row);
      if (of.begin < of.end && of.begin < first_key + keys && of.end > first_key) break;
      fill(row);
    }
    return row;
  }

  // The next row behind one that some are for: in pages, each row has one key more.
  __device__ u32 next_row(u32 row, u32 end) const {
    return Tile::PAGED ? row + 1 : first_row(row + 1, end);
  }

  // The weights of four heads; zeros of those that are not there.
  __device__ vec<f32, 4> weights_of(u32 row, u32 head) const {
    const i64 at = (i64{sequence} * args.rows + row) * args.weight_row;
    const buffer weights(args.weights + at, args.heads * sizeof(f32));
    return bit_cast<vec<f32, 4>>(weights.load_128(head * sizeof(f32)));
  }

  // The first key of a wave's fragment.
  __device__ u32 key_of(u32 f) const { return first_key + wave_id() * wave_keys + f * 32; }

  // Adds to `total` what the 32 heads from `head` on, in a slot of LDS, add to the lane's keys.
  __device__ void add_heads(u32 row, key_window window, u32 head, lds_pointer slot,
                            f32 (&total)[fragments]) const {
    vec<f32, 4> w[4];
    static_for<4>([&](auto i) { w[i] = weights_of(row, head + i * 8 + lane_id() / 32 * 4); });
    vec<f32, 16> dot[fragments];
    for (auto& of : dot) of = 0;
    static_for<slices>([&](auto s) {
      fragment q;
      static_for<chunks_of<T>>([&](auto c) {
        const u32 chunk = (s * chunks_of<T> + c) * 2 + lane_id() / 32;
        const u32 from = queries::address(head % heads_at_once + lane_id() % 32, chunk);
        q.chunk[c] = *reinterpret_cast<arch::lds_pointer_to<bits128>>(slot + from);
      });
      static_for<fragments>([&](auto f) { dot[f] = mma_ABt<T>(q, k[f][s], dot[f]); });
    });
    // NaN stays.
    static_for<fragments>([&](auto f) {
      static_for<16>([&](auto i) {
        const f32 x = dot[f][int{i}] * scale[f];
        dot[f][int{i}] = x <= 0 ? 0 : x;
      });
    });
    const u32 first = head + lane_id() / 32 * 4;
    if constexpr (Tile::PER_HEAD) {
      static_for<fragments>([&](auto f) {
        // Here, not in the branches below: across those, the compiler waits one state too few for an
        // atom's results on CDNA4.
        asm volatile("" : "+v"(dot[f]));
        static_for<16>([&](auto i) {
          const u32 of = first + i / 4 * 8 + i % 4;
          const f32 term = w[i / 4][i % 4] * dot[f][int{i}];
          if (of < args.heads) store(row, window, key_of(f) + lane_id() % 32, term, of);
        });
      });
      return;
    }
    const auto add = [&](auto all) {
      static_for<fragments>([&](auto f) {
        static_for<16>([&](auto i) {
          if (!all && first + i / 4 * 8 + i % 4 >= args.heads) return;
          total[f] = __builtin_fmaf(w[i / 4][i % 4], dot[f][int{i}], total[f]);
        });
      });
    };
    if (head + 32 <= args.heads) {
      add(constant<true>{});
    } else {
      add(constant<false>{});
    }
  }

  // Stores a row's sums, which the wave's halves have parts of.
  __device__ void store_row(u32 row, key_window window, const f32 (&total)[fragments]) const {
    f32 sum[fragments];
    static_for<fragments>([&](auto f) { sum[f] = total[f] + bit_cast<f32>(arch::other_half<32>(bit_cast<u32>(total[f]))); });
    const u32 lane = lane_id();
    if constexpr (fragments == 1) {
      if (lane < 32) store(row, window, key_of(0) + lane, sum[0]);
    } else {
      static_for<fragments / 2>([&](auto pair) {
        const f32 value = lane < 32 ? sum[2 * pair] : sum[2 * pair + 1];
        store(row, window, key_of(2 * pair) + lane, value);
      });
    }
  }
};

}  // namespace

template <class Tile>
__device__ inline void mqa_logits(const MqaLogitsArgs& args) {
  using Block = mqa_block<Tile>;
  using queries = typename Block::queries;
  using T = typename Tile::T;
  __shared__ __attribute__((aligned(256))) char lds[2 * queries::bytes];
  const u32 tiles = (args.keys + Block::keys - 1) / Block::keys;
  const u32 parts = (args.rows + args.at_once - 1) / args.at_once;
  const u32 id = block_idx().x;
  Block block(args, id / tiles / parts, id % tiles);
  const u32 first = id / tiles % parts * args.at_once;
  const u32 end = args.rows - first < args.at_once ? args.rows : first + args.at_once;
  u32 row = block.first_row(first, end);
  if (row == end) return;

  queries next;
  const auto load = [&](u32 row, u32 head) {
    const i64 at = block.sequence * args.q_sequence + row * args.q_row + head * args.q_head;
    next.template load<typename Block::bits>(static_cast<const u8*>(args.q) + at * i64{sizeof(T)},
                                             args.q_head * i64{sizeof(T)}, args.heads - head, args.depth);
  };
  load(row, 0);
  block.load_keys();
  lds_pointer slot = lds_start(lds), other = slot + queries::bytes;
  next.write(slot);
  meet_with_lds();
  f32 total[Block::fragments] = {};
  u32 head = 0;
  while (true) {
    const key_window window = block.window_of(row);
    const bool ends = head + Block::heads_at_once >= args.heads;
    const u32 then = ends ? block.next_row(row, end) : row;
    const u32 then_head = ends ? 0 : head + Block::heads_at_once;
    const bool goes_on = !ends || then < end;
    if (goes_on) load(then, then_head);
    u32 of = head;
    do {
      block.add_heads(row, window, of, slot, total);
      of += 32;
    } while (of < args.heads && of < head + Block::heads_at_once);
    if (ends) {
      if constexpr (!Tile::PER_HEAD) block.store_row(row, window, total);
      for (f32& of : total) of = 0;
    }
    if (!goes_on) return;
    // No wave reads that slot any more.
    next.write(other);
    meet_with_lds();
    const lds_pointer filled = other;
    other = slot, slot = filled, row = then, head = then_head;
  }
}

}  // namespace hk
