// The state S of each sequence and head of values from chunk to chunk:
//
//   v_new = u - w S,    S <- exp(G_last) S + k^T (exp(G_last - G) v_new)
//
// with a snapshot of S before each chunk. A workgroup has 16 values of a head and keeps their state in
// registers, in f32: a wave has a quarter of the keys. The product with w takes it from LDS, rounded,
// turned, and 16 tokens of w a wave straight from memory; what a chunk has taught goes to the product with
// k through LDS, as does k, turned. What the next chunk needs is loaded while this one is multiplied.
#include "hk/chunks.h"
#include "hk/indices.h"

namespace hk {

struct ChunkDeltaHArgs {
  ChunkSchedule schedule;
  TokenHeads k;
  TokenHeads w;
  TokenHeads u;
  TokenHeads g;      // sums; none if there are no decays
  TokenHeadsOut v_new;  // null if not wanted
  StateRows initial_states;
  StateRows final_states;
  StateRows snapshots;
  IndexList slots;        // of each sequence in the states; its number if there are none
  const u8* has_initial;  // of each sequence, whether its initial state counts; null if all do
  u32 slot_count;
  u32 heads;  // of values
  u32 group;  // heads of values for each of keys
  u32 keys;
  u32 values;
  u32 is_two;    // whether sums are for powers of two
  u32 in_place;  // whether final states are the initial ones
  u32 reserved;
};

namespace {

// Values of a workgroup.
constexpr u32 slice = 16;

// What a work-item has loaded of a chunk.
template <class T, int Keys>
struct chunk_inputs {
  vec<T, 8> w[Keys / atom_depth];   // of its token
  turned_block<T> k[Keys / panel];
  vec<T, 4> u;  // of its token and four values
  f32 sum, last_sum;

  __device__ void load(const ChunkDeltaHArgs& args, u32 sequence, u32 head, u32 first, u32 count,
                       u32 value) {
    const u32 token = wave_id() * block_rows + lane_id() % 16;
    const auto rows_of = [&](const TokenHeads& of, u32 of_head, u32 columns) {
      return checked_rows<T>(of.base, of.at(sequence, first, of_head), of.token, count, columns);
    };
    {
      const auto& again = read_again(args);
      const auto rows = rows_of(again.w, head, again.keys);
      static_for<Keys / atom_depth>([&](auto step) {
        w[step.value] = rows.template load<8>(token, step.value * atom_depth + lane_id() / 16 * 8);
      });
    }
    {
      const auto& again = read_again(args);
      const auto rows = rows_of(again.k, head / again.group, again.keys);
      static_for<Keys / panel>([&](auto p) { k[p.value].load(rows, 0, p.value * panel); });
    }
    const auto& again = read_again(args);
    u = rows_of(again.u, head, again.values).template load<4>(token, value);
    sum = last_sum = 0;
    if (again.g.base != nullptr) {
      const f32* const sums = static_cast<const f32*>(again.g.base) + again.g.at(sequence, first, head);
      last_sum = sums[(count - 1) * again.g.token];
      sum = sums[(token < count ? token : count - 1) * again.g.token];
    }
  }
};

// Four keys of a value of a state.
template <class S>
__device__ inline vec<f32, 4> load_keys(const checked_rows<S>& rows, const StateRows& of, u32 key,
                                        u32 value) {
  vec<S, 4> keys;
  if (of.keys_adjacent) {
    keys = rows.template load<4>(value, key);
  } else {
    static_for<4>([&](auto e) { keys[int{e}] = rows.load_one(key + e.value, value); });
  }
  return to_f32<S, 4>(keys);
}
template <class S>
__device__ inline void store_keys(const checked_rows<S>& rows, const StateRows& of, u32 key, u32 value,
                                  vec<f32, 4> numbers) {
  const auto keys = round_to<S, 4>(numbers);
  if (of.keys_adjacent) {
    rows.template store<4>(value, key, keys);
  } else {
    static_for<4>([&](auto e) { rows.store_one(key + e.value, value, keys[int{e}]); });
  }
}

template <class Tile>
__device__ inline void chunk_delta_h(const ChunkDeltaHArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == chunk_threads);
  constexpr u32 blocks = Tile::KEYS / block_rows / (chunk_threads / wave_size);
  __shared__ chunk_tile<T, slice, Tile::KEYS> states;
  __shared__ chunk_tile<T, Tile::KEYS> keys;
  __shared__ chunk_tile<T, slice> taught;

  const u32 slices = (args.values + slice - 1) / slice;
  const u32 first_value = block_idx().x % slices * slice;
  const u32 of_head = block_idx().x / slices;
  const u32 sequence = of_head / args.heads, head = of_head - sequence * args.heads;
  const sequence_span span(args.schedule, sequence);
  const u32 size = 1u << args.schedule.chunk_log2;
  i64 slot = sequence;
  if (args.slots.base != nullptr) slot = uniform(index_at(args.slots, sequence));
  const bool has_slot = slot >= 0 && slot < args.slot_count;

  // Of the state, the lane has one value and, in each of the wave's blocks of 16 keys, four keys.
  const u32 own = wave_id();
  const u32 state_value = first_value + lane_id() % 16, four = lane_id() / 16 * 4;
  const auto for_blocks = [&](auto&& body) {
    static_for<static_cast<int>(blocks)>([&](auto b) { body(b, (own * blocks + b.value) * block_rows); });
  };
  vec<f32, 4> state[blocks] = {};
  const auto store_state = [&](StateRows ChunkDeltaHArgs::* which, i64 number) {
    const auto& again = read_again(args);
    const StateRows& to = again.*which;
    to.with(number, head, again.keys, again.values, [&](const auto& rows) {
      for_blocks([&](auto b, u32 first_key) {
        store_keys(rows, to, first_key + four, state_value, state[b.value]);
      });
    });
  };
  const bool begins_with_zeros = args.has_initial != nullptr && args.has_initial[sequence] == 0;
  if (args.initial_states.base != nullptr && has_slot && !begins_with_zeros) {
    args.initial_states.with(slot, head, args.keys, args.values, [&](const auto& rows) {
      for_blocks([&](auto b, u32 first_key) {
        state[b.value] = load_keys(rows, args.initial_states, first_key + four, state_value);
      });
    });
  }

  const u32 token = own * block_rows + lane_id() % 16, value = first_value + four;
  const auto count_of = [&](u32 begin) { return span.length - begin < size ? span.length - begin : size; };
  const bool has_snapshots = args.snapshots.base != nullptr;
  chunk_inputs<T, Tile::KEYS> inputs;
  if (span.chunks > 0) inputs.load(args, sequence, head, span.start, count_of(0), value);
  for (u32 c = 0; c < span.chunks; ++c) {
    const u32 begin = c * size, count = count_of(begin);
    for_blocks([&](auto b, u32 first_key) {
      states.store_four(lane_id() % 16, first_key + four, round_to<T, 4>(state[b.value]));
    });
    if (has_snapshots) store_state(&ChunkDeltaHArgs::snapshots, span.first_chunk + c);
    sync_threads();

    vec<f32, 4> known = 0;
    static_for<Tile::KEYS / atom_depth>([&](auto step) {
      const auto rows = states.load_fours(0, step.value);
      known = mma_ABt<T>(rows, fragment_from<T>(inputs.w[step.value]), known);
    });
    const vec<f32, 4> news = to_f32<T, 4>(inputs.u) - known;
    const auto& again = read_again(args);
    if (again.v_new.base != nullptr) {
      const i64 at = again.v_new.at(sequence, span.start + begin, head);
      const checked_rows<T> rows(again.v_new.base, at, again.v_new.token, count, again.values);
      rows.template store<4>(token, value, round_to<T, 4>(news));
    }
    const bool is_two = again.is_two != 0;
    const f32 since = token < count ? decay_of(inputs.last_sum - inputs.sum, is_two) : 0;
    const auto decayed = round_to<T, 4>(news * since);
    static_for<4>([&](auto e) {
      taught.elements[taught.place(four + e.value, token)] = decayed[int{e}];
    });
    static_for<Tile::KEYS / panel>([&](auto p) {
      inputs.k[p.value].store(keys, [&](u32 column) { return p.value * panel + column; });
    });
    const f32 decay = decay_of(inputs.last_sum, is_two);
    sync_threads();

    if (c + 1 < span.chunks) {
      inputs.load(args, sequence, head, span.start + begin + size, count_of(begin + size), value);
    }
    for_blocks([&](auto b, u32 first_key) {
      state[b.value] *= decay;
      static_for<chunk_tokens / atom_depth>([&](auto step) {
        const auto rows = keys.load(first_key, step.value);
        state[b.value] = mma_ABt<T>(rows, taught.load(0, step.value), state[b.value]);
      });
    });
  }
  // A pool's state of a sequence without tokens stays as it is.
  const auto& again = read_again(args);
  if (again.final_states.base != nullptr && has_slot && (again.in_place == 0 || span.chunks > 0)) {
    store_state(&ChunkDeltaHArgs::final_states, slot);
  }
}

}  // namespace

}  // namespace hk
