// y[c,t] = act(bias[c] + sum_{j < Wd} w[c,j] * x[c,t-(Wd-1)+j]) for each channel c of sequences of
// tokens t, where what lies before a sequence is its state, or zeros. f32 throughout, taps in order,
// one rounding at the store. The new state is the last Wd-1 of old state and tokens, bit by bit.
//
// A wave takes a chunk of a sequence's tokens for a block of channels. Each lane has the adjacent
// channels that 16 bytes of a token hold, and the Wd-1 tokens before its own in registers; of memory,
// only those before a chunk are read again. There are two ways to walk a chunk:
//
// rows     Of a lane are all tokens of the chunk, in turn: for memory in which channels are adjacent,
//          or nothing is.
// columns  For memory in which tokens are adjacent. Eight lanes share the tokens of a channel, each
//          with 16 bytes at a time, and hand on the last to the next lane. Results in which channels
//          are adjacent change lanes in LDS, so that lanes store side by side, too.
//
// The wave that has the first chunk of a sequence reads the old state and writes the new one, so that
// both may be in the same place.
#include "hk/elements.h"
#include "hk/indices.h"
#include "hk/lds.h"
#include "hk/math.h"
#include "hk/sequences.h"
#include "hk/wave.h"

namespace hk {

// Distances in elements: from sequence to sequence, of states from line to line; from token to token;
// from channel to channel.
struct ConvStrides {
  i64 sequence;
  i64 token;
  i64 channel;
};

// A part of the results: channels from the end of the part before on.
struct ConvPart {
  void* base;
  ConvStrides strides;
  u32 end;
  u32 reserved;
};

inline constexpr int conv_parts = 3;

struct CausalConv1dArgs {
  const void* x;
  const void* weight;
  const void* bias;            // null if there is none
  const void* initial_states;  // null if they are zeros
  void* final_states;          // null if not wanted
  const u8* has_initial;       // of each sequence; null if all have what there is
  IndexList bounds;            // of sequences that follow each other, one more than there are
  IndexList lines;             // of sequences in the states; their numbers if there are none
  ConvPart parts[conv_parts];
  ConvStrides x_strides;
  ConvStrides initial_strides;
  ConvStrides final_strides;
  i64 pad_slot;     // the line of sequences that are to be skipped, beside those that there are not
  u32 line_count;
  u32 sequences;
  u32 tokens;       // of each sequence, or of all together if they have bounds
  u32 channels;
  u32 width;        // Wd
  u32 chunk_log2;   // tokens of a chunk
  u32 slots;        // chunks of all sequences, or more
  u32 weight_type;  // a dtype
  u32 silu;
  u32 zeros;        // whether results of skipped sequences are zeros rather than left alone
};

namespace {

// Elements that a lane moves together.
template <class T>
constexpr int conv_lane = per_128_bits<T>;
template <class T>
using conv_vec = vec<T, conv_lane<T>>;

// N tokens, or taps, of a lane's channels, of which the first `count` are there.
template <class T, int Lane, int N>
struct conv_window {
  vec<T, Lane> of[N];

  // `from` is where the first channel of the first token is.
  __device__ void load(const T* from, const ConvStrides& strides, u32 count) {
    if (strides.token == 1 && strides.channel == N && count >= Lane) {
      vec<T, Lane> adjacent[N];
      for (int i = 0; i < N; ++i) adjacent[i] = load_adjacent<T, Lane>(from + i * Lane);
      for (int i = 0; i < N * Lane; ++i) of[i % N][i / N] = adjacent[i / Lane][i % Lane];
    } else {
      load_tokens(from, strides, count);
    }
  }

  // As above, from where a channel has more tokens than these.
  __device__ void load_tokens(const T* from, const ConvStrides& strides, u32 count) {
    for (int i = 0; i < N; ++i) {
      of[i] = load_elements<T, Lane>(from + i * strides.token, strides.channel, count);
    }
  }

  __device__ void store(T* to, const ConvStrides& strides, u32 count) const {
    if (strides.token == 1 && strides.channel == N && count >= Lane) {
      vec<T, Lane> adjacent[N];
      for (int i = 0; i < N * Lane; ++i) adjacent[i / Lane][i % Lane] = of[i % N][i / N];
      for (int i = 0; i < N; ++i) store_adjacent<T, Lane>(to + i * Lane, adjacent[i]);
    } else {
      for (int i = 0; i < N; ++i) {
        store_elements<T, Lane>(to + i * strides.token, strides.channel, count, of[i]);
      }
    }
  }

  // Drops the oldest token.
  __device__ void push(vec<T, Lane> token) {
    for (int i = 0; i + 1 < N; ++i) of[i] = of[i + 1];
    of[N - 1] = token;
  }
};

// Taps and bias of a lane's channels, from `channel` on.
template <int Width, int Lane>
struct conv_filter {
  vec<f32, Lane> taps[Width];
  vec<f32, Lane> bias;

  __device__ conv_filter(const CausalConv1dArgs& args, u32 channel, u32 count) {
    with_type(static_cast<dtype>(args.weight_type), [&](auto zero) {
      using W = decltype(zero);
      conv_window<W, Lane, Width> weight;
      const i64 first = static_cast<i64>(channel) * Width;
      weight.load(static_cast<const W*>(args.weight) + first, {0, 1, Width}, count);
      for (int j = 0; j < Width; ++j) taps[j] = to_f32<W, Lane>(weight.of[j]);
      bias = 0;
      if (args.bias != nullptr) {
        const W* from = static_cast<const W*>(args.bias) + channel;
        bias = to_f32<W, Lane>(load_elements<W, Lane>(from, 1, count));
      }
    });
  }
};

template <int N>
__device__ inline vec<f32, N> activated(const CausalConv1dArgs& args, vec<f32, N> y) {
  if (args.silu) {
    for (int i = 0; i < N; ++i) y[i] = activate<activation::silu>(y[i], 0);
  }
  return y;
}

// What a wave has to do: a chunk of a sequence, of no tokens if there is nothing to do, and channels of
// one part. All of it is the same for the wave.
struct conv_task : sequence_chunk {
  u32 part;
  u32 first_of_part;
  u32 channel;  // the first of the wave's
  i64 line;     // of the states
  u32 skipped;
  u32 reserved = 0;

  // Number `task` of those that have up to `block` channels.
  __device__ conv_task(const CausalConv1dArgs& args, u32 task, u32 block) {
    u32 blocks[conv_parts], all = 0;
    for (int i = 0; i < conv_parts; ++i) {
      all += (args.parts[i].end - (i == 0 ? 0 : args.parts[i - 1].end) + block - 1) / block;
      blocks[i] = all;
    }
    const u32 slot = uniform(task / all), number = task - slot * all;
    part = (number >= blocks[0]) + (number >= blocks[1]);
    first_of_part = part == 0 ? 0 : args.parts[part - 1].end;
    channel = first_of_part + (number - (part == 0 ? 0 : blocks[part - 1])) * block;
    static_cast<sequence_chunk&>(*this) =
        sequence_chunk(args.bounds, args.sequences, args.tokens, args.chunk_log2, slot);
    if (slot >= args.slots) count = 0;
    line = sequence;
    skipped = false;
    if (count > 0 && args.lines.base != nullptr) {
      line = index_at(args.lines, sequence);
      skipped = line == args.pad_slot || static_cast<u64>(line) >= args.line_count;
      if (skipped && !args.zeros) count = 0;
    }
  }

  __device__ bool has_initial(const CausalConv1dArgs& args) const {
    return !skipped && args.initial_states != nullptr &&
           (args.has_initial == nullptr || args.has_initial[sequence] != 0);
  }
  // Whether it stores the new state.
  __device__ bool has_final(const CausalConv1dArgs& args) const {
    return !skipped && begin == 0 && args.final_states != nullptr;
  }

  // Channels from there on that it has, up to `most`.
  __device__ u32 channels(const CausalConv1dArgs& args, u32 from, u32 most) const {
    const u32 left = __builtin_elementwise_sub_sat(args.parts[part].end, from);
    return left < most ? left : most;
  }

  // Where a token of the sequence is, and its result.
  template <class T>
  __device__ const T* x(const CausalConv1dArgs& args, u32 token) const {
    const ConvStrides& strides = args.x_strides;
    return static_cast<const T*>(args.x) + sequence * strides.sequence +
           (static_cast<i64>(start) + token) * strides.token;
  }
  template <class T>
  __device__ T* y(const CausalConv1dArgs& args, u32 token) const {
    const ConvStrides& strides = args.parts[part].strides;
    return static_cast<T*>(args.parts[part].base) + sequence * strides.sequence +
           (static_cast<i64>(start) + token) * strides.token - first_of_part * strides.channel;
  }
};

// The tokens before a sequence, of a lane's channels.
template <class T, int Lane, int N>
__device__ inline conv_window<T, Lane, N> initial_window(const CausalConv1dArgs& args,
                                                         const conv_task& task, u32 channel,
                                                         u32 count) {
  conv_window<T, Lane, N> window{};
  if (task.has_initial(args)) {
    const ConvStrides& strides = args.initial_strides;
    const auto states = static_cast<const T*>(args.initial_states);
    window.load(states + task.line * strides.sequence + channel * strides.channel, strides, count);
  }
  return window;
}

template <class T, int Lane, int N>
__device__ inline void store_final(const CausalConv1dArgs& args, const conv_task& task, u32 channel,
                                   u32 count, const conv_window<T, Lane, N>& window) {
  const ConvStrides& strides = args.final_strides;
  const auto states = static_cast<T*>(args.final_states);
  window.store(states + task.line * strides.sequence + channel * strides.channel, strides, count);
}

// Tokens of a lane whose loads are under way together.
constexpr u32 conv_batch = 4;

// Walks the chunk. `Adjacent` lanes have all of their channels, adjacent in tokens and results.
template <class T, int Width, bool Adjacent>
__device__ inline void conv_walk(const CausalConv1dArgs& args, const conv_task& task,
                                 const conv_filter<Width, conv_lane<T>>& filter, u32 channel,
                                 u32 count, conv_window<T, conv_lane<T>, Width - 1>& window) {
  constexpr int lane = conv_lane<T>, before = Width - 1;
  constexpr u32 batch = Adjacent ? conv_batch : 1;
  const i64 x_channel = Adjacent ? 1 : args.x_strides.channel;
  const i64 y_channel = Adjacent ? 1 : args.parts[task.part].strides.channel;
  const i64 x_token = args.x_strides.token, y_token = args.parts[task.part].strides.token;
  if (Adjacent) count = lane;
  const T* x = task.x<T>(args, task.begin) + channel * x_channel;
  T* y = task.y<T>(args, task.begin) + channel * y_channel;
  u32 left = task.count;
#pragma unroll 1
  do {
    vec<T, lane> tokens[batch];
#pragma unroll
    for (u32 i = 0; i < batch; ++i) {
      if (i >= left) break;
      tokens[i] = load_elements<T, lane>(x, x_channel, count);
      x += x_token;
    }
#pragma unroll
    for (u32 i = 0; i < batch; ++i) {
      if (left == 0) break;
      vec<f32, lane> sum = filter.bias;
      for (int j = 0; j < before; ++j) {
        sum = __builtin_elementwise_fma(filter.taps[j], to_f32<T, lane>(window.of[j]), sum);
      }
      sum = __builtin_elementwise_fma(filter.taps[before], to_f32<T, lane>(tokens[i]), sum);
      vec<T, lane> result = round_to<T, lane>(activated<lane>(args, sum));
      if (task.skipped) result = 0;
      store_elements<T, lane>(y, y_channel, count, result);
      y += y_token;
      window.push(tokens[i]);
      --left;
    }
  } while (left > 0);
}

template <class T, int Width>
__device__ inline void conv_rows(const CausalConv1dArgs& args, const conv_task& task) {
  constexpr int lane = conv_lane<T>, before = Width - 1;
  const u32 channel = task.channel + lane_id() * lane;
  const u32 count = task.channels(args, channel, lane);
  if (count == 0) return;
  const conv_filter<Width, lane> filter(args, channel, count);
  conv_window<T, lane, before> window;
  if (task.begin == 0) {
    window = initial_window<T, lane, before>(args, task, channel, count);
  } else {
    const T* from = task.x<T>(args, task.begin - before) + channel * args.x_strides.channel;
    window.load_tokens(from, args.x_strides, count);
  }
  const bool adjacent = args.x_strides.channel == 1 && args.parts[task.part].strides.channel == 1;
  if (adjacent && count == lane) {
    conv_walk<T, Width, true>(args, task, filter, channel, count, window);
  } else {
    conv_walk<T, Width, false>(args, task, filter, channel, count, window);
  }
  if (task.has_final(args)) {
    // Of a sequence of several chunks, the window is in its middle.
    if (task.length > task.count) {
      const T* from = task.x<T>(args, task.length - before) + channel * args.x_strides.channel;
      window.load_tokens(from, args.x_strides, count);
    }
    store_final(args, task, channel, count, window);
  }
}

// Lanes that share the tokens of a channel, and lanes that share the channels of a token.
constexpr u32 conv_lanes = 8;
static_assert(conv_lanes * conv_lanes == wave_size);

// The last tokens of a lane's share of a channel.
template <class T>
using conv_tail = vec<T, 4>;

template <class T>
__device__ inline conv_tail<T> moved(conv_tail<T> tail, auto&& move) {
  auto words = bit_cast<words_of<conv_tail<T>>>(tail);
  for (u32& word : words.of) word = move(word);
  return bit_cast<conv_tail<T>>(words);
}

// What a wave keeps in LDS: of each of its channels the filter and what is before the chunk, and the
// results of one step. Number c of the channels of lane group g is at c * conv_lanes + g.
template <class T>
struct conv_scratch {
  static constexpr u32 channels = conv_lanes * conv_lane<T>;
  vec<f32, 4> taps[channels];
  f32 bias[channels];
  conv_tail<T> before[channels];
  bits128 results[conv_lane<T> * wave_size];

  // The `Count` last tokens before the chunk of a channel; what is before these is not read.
  template <u32 Count>
  __device__ conv_tail<T> last_before(u32 channel) const {
    words_of<conv_tail<T>> tail{};
    const auto from = reinterpret_cast<const u32*>(&before[channel]);
    constexpr u32 first = (4 - Count) * sizeof(T) / 4;
    for (u32 i = first; i < sizeof(tail) / 4; ++i) tail.of[i] = from[i];
    return bit_cast<conv_tail<T>>(tail);
  }

  // Where the results of a token are for the channels of a lane group: each token has the groups in
  // another order, since tokens are as far apart as all banks are wide.
  __device__ bits128& result(u32 i, u32 token, u32 group) {
    return results[i * wave_size + token * conv_lanes + (group ^ token)];
  }
};

// Leaves filter, and what is before the chunk, of the channels in LDS, each of a lane of its own, and
// stores their new states.
template <class T, int Width>
__device__ inline void conv_prepare(const CausalConv1dArgs& args, const conv_task& task,
                                    conv_scratch<T>& scratch) {
  constexpr u32 lane = conv_lane<T>, before = Width - 1, channels = conv_scratch<T>::channels;
  if (channels < wave_size && lane_id() >= channels) return;
  const u32 number = lane_id() % conv_lanes * lane + lane_id() / conv_lanes;
  // Past the last channel, that once more.
  const u32 there = task.channels(args, task.channel, channels);
  const u32 channel = task.channel + (number < there ? number : there - 1);
  const conv_filter<Width, 1> filter(args, channel, 1);
  vec<f32, 4> taps = 0;
  for (u32 j = 0; j < Width; ++j) taps[j] = filter.taps[j][0];
  scratch.taps[lane_id()] = taps;
  scratch.bias[lane_id()] = filter.bias[0];
  conv_window<T, 1, before> window;
  if (task.begin == 0) {
    window = initial_window<T, 1, before>(args, task, channel, 1);
  } else {
    const T* from = task.x<T>(args, task.begin - before) + channel * args.x_strides.channel;
    for (u32 i = 0; i < before; ++i) window.of[i] = from[i];
  }
  conv_tail<T> tail = 0;
  for (u32 i = 0; i < before; ++i) tail[4 - before + i] = window.of[i][0];
  scratch.before[lane_id()] = tail;
  if (task.has_final(args) && number < there) {
    // The window moves on by as many tokens as the sequence has, at most all.
    const u32 steps = task.length < before ? task.length : before;
    const T* from = task.x<T>(args, task.length - steps) + channel * args.x_strides.channel;
    u32 i = 0;
    do window.push(from[i]);
    while (++i < steps);
    store_final(args, task, channel, 1, window);
  }
}

template <class T, int Width>
__device__ inline void conv_columns(const CausalConv1dArgs& args, const conv_task& task,
                                    conv_scratch<T>& scratch) {
  constexpr u32 lane = conv_lane<T>, before = Width - 1;
  const u32 of_token = lane_id() % conv_lanes, of_channel = lane_id() / conv_lanes;
  const u32 count = task.channels(args, task.channel + of_channel * lane, lane);
  const ConvStrides &x_strides = args.x_strides, &y_strides = args.parts[task.part].strides;
  const bool transposed = y_strides.token != 1;
  const T* x = task.x<T>(args, task.begin) + task.channel * x_strides.channel;
  T* y = task.y<T>(args, task.begin) + task.channel * y_strides.channel;
  conv_tail<T> tails[lane];
  for (u32 c = 0; c < lane; ++c) {
    tails[c] = scratch.template last_before<before>(c * conv_lanes + of_channel);
  }
  u32 done = 0;
#pragma unroll 1
  do {
    // Offsets are to be computed each time: all of them would fill the registers.
    u32 x_stride = static_cast<u32>(x_strides.channel);
    u32 y_stride = static_cast<u32>(transposed ? y_strides.token : y_strides.channel);
    arch::forget_scalar(x_stride);
    arch::forget_scalar(y_stride);
    const u32 remaining = task.count - done;
    const u32 left = __builtin_elementwise_sub_sat(remaining, of_token * lane);
    const u32 channels = left == 0 ? 0 : count;
    bits128 rows[lane];
    const u32 x_first = (of_channel * x_stride + of_token) * lane;
    lane_block<T>(uniform(x + done), x_first, x_stride, left, channels).load(rows);
    for (u32 c = 0; c < lane; ++c) {
      const auto row = bit_cast<conv_vec<T>>(rows[c]);
      conv_tail<T> end;
      for (u32 i = 0; i < 4; ++i) end[i] = row[lane - 4 + i];
      conv_tail<T> tail = moved<T>(end, [](u32 word) { return arch::value_of_lane_before(word); });
      if (of_token == 0) tail = tails[c];
      tails[c] = moved<T>(end, [](u32 word) { return arch::value_of_last_of_eight(word); });
      f32 values[before + lane];
      for (u32 i = 0; i < before; ++i) values[i] = to_f32(tail[4 - before + i]);
      for (u32 i = 0; i < lane; ++i) values[before + i] = to_f32(row[i]);
      const vec<f32, 4> taps = scratch.taps[c * conv_lanes + of_channel];
      vec<f32, lane> sum = scratch.bias[c * conv_lanes + of_channel];
      for (u32 j = 0; j < Width; ++j) {
        for (u32 i = 0; i < lane; ++i) sum[i] = __builtin_fmaf(taps[j], values[i + j], sum[i]);
      }
      rows[c] = bit_cast<bits128>(round_to<T, lane>(activated<lane>(args, sum)));
      if (task.skipped) rows[c] = 0;
    }
    T* to = uniform(y + done * y_strides.token);
    const u32 y_first = (of_channel * y_stride + of_token) * lane;
    done += conv_lanes * lane;
    if (!transposed) {
      lane_block<T>(to, y_first, y_stride, left, channels).store([&](u32 c) { return rows[c]; });
      continue;
    }
    sync_threads();
    for (u32 i = 0; i < lane; ++i) {
      conv_vec<T> token;
      for (u32 c = 0; c < lane; ++c) token[c] = bit_cast<conv_vec<T>>(rows[c])[i];
      scratch.result(i, of_token, of_channel) = bit_cast<bits128>(token);
    }
    sync_threads();
    const u32 tokens = __builtin_elementwise_sub_sat(remaining, of_channel * lane);
    const u32 to_channels = task.channels(args, task.channel + of_token * lane, lane);
    const lane_block<T> block(to, y_first, y_stride, to_channels, tokens);
    block.store([&](u32 i) { return scratch.result(i, of_channel, of_token); });
  } while (done < task.count);
}

template <class F>
__device__ inline void with_width(u32 width, F&& body) {
  if (width == 2) return body(constant<2>{});
  if (width == 3) return body(constant<3>{});
  return body(constant<4>{});
}

template <class Tile>
__device__ inline void causal_conv1d_rows(const CausalConv1dArgs& args) {
  using T = typename Tile::T;
  const u32 wave = block_idx().x * (Tile::threads / wave_size) + wave_id();
  const conv_task task(args, wave, wave_size * conv_lane<T>);
  if (task.count == 0) return;
  with_width(args.width, [&](auto width) { conv_rows<T, width.value>(args, task); });
}

template <class Tile>
__device__ inline void causal_conv1d_columns(const CausalConv1dArgs& args) {
  using T = typename Tile::T;
  static_assert(Tile::threads == wave_size);
  __shared__ conv_scratch<T> scratch;
  const conv_task task(args, block_idx().x, conv_scratch<T>::channels);
  if (task.count == 0) return;
  with_width(args.width, [&](auto width) {
    conv_prepare<T, width.value>(args, task, scratch);
    sync_threads();
    // The compiler does not know it to be the same for the wave behind what only some lanes did.
    conv_columns<T, width.value>(args, uniform(task), scratch);
  });
}

}  // namespace

}  // namespace hk
