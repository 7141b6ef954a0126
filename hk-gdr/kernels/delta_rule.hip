// The gated delta rule, token after token, for each sequence and head of values, with a state S of keys
// by values:
//
//   S <- exp(g) S,  by keys exp(gk) S,  by values exp(gv) S
//   S <- S + k (beta (v - S^T k))^T,    o = S^T (scale q)
//
// in f32. Gates are given, or are g = -exp(A_log) softplus(a + dt_bias) and beta = sigmoid(b).
//
// A wave has 32 values of a head, and keeps their state in registers from the first token to the last:
// each byte of it is read once and written once, 16 at a time. Of a token, a wave loads q, k, v and gates
// with all lanes while it computes the one before, and hands them to its lanes in LDS. The results follow
// from the state before it learns, as S^T q + (k q) delta, so that lanes add up once for both.
#include "hk/delta_rule.h"
#include "hk/math.h"
#include "hk/sequences.h"
#include "hk/token_heads.h"

namespace hk {

struct DeltaRuleArgs {
  TokenHeads q;
  TokenHeads k;
  TokenHeads v;
  TokenHeads g;     // or a
  TokenHeads beta;  // or b
  TokenHeads gk;
  TokenHeads gv;
  const void* a_log;  // null if g and beta are given
  const void* dt_bias;
  void* o;
  i64 o_sequence;  // distances in elements, as those that follow
  i64 o_token;
  i64 o_head;
  const void* initial_states;  // states; null if they are zeros
  i64 initial_slot;
  i64 initial_head;
  void* final_states;  // null if not wanted
  i64 final_slot;
  i64 final_head;
  IndexList bounds;  // of sequences that follow each other, one more than there are
  IndexList slots;   // of each sequence in the states; its number if there are none
  u32 initial_row;   // from key to key, or from value to value
  u32 final_row;
  u32 slot_count;
  u32 sequences;
  u32 tokens;  // of each sequence, or of all together if they have bounds
  u32 value_heads;
  u32 group;  // heads of values for each of keys
  u32 keys;
  u32 values;
  u32 o_type;
  u32 a_log_type;
  u32 dt_bias_type;
  u32 beta_of_values;  // whether each value has a beta of its own
  u32 normalizes;      // whether q and k are divided by their lengths
  u32 in_place;        // whether final states are the initial ones
  f32 scale;
  f32 softplus_beta;
  f32 softplus_beta_inverse;
  f32 softplus_threshold;
  u32 pads;        // whether sequences without a slot have zeros for results, whatever their gates are
  u32 turns_type;  // whether final states are of the other type than initial ones: bf16 or f32
  u32 reserved;
};

namespace {

// The kernel's arguments, read again: there are more than scalar registers have room for.
__device__ inline const DeltaRuleArgs& arguments_again() {
  auto arguments = arch::kernel_arguments<DeltaRuleArgs>();
  asm volatile("" : "+s"(arguments));
  return *(const DeltaRuleArgs*)arguments;
}

// What a wave has to do. All of it is the same for the wave.
struct delta_task {
  u32 sequence;
  u32 head;         // of values
  u32 first_value;  // the first of the wave's
  u32 start;        // of the sequence among all tokens
  u32 length;
  i64 slot;  // none if negative

  __device__ delta_task(const DeltaRuleArgs& args, u32 wave) {
    const u32 slices = (args.values + delta_values - 1) / delta_values;
    const u32 number = uniform(wave / slices);
    first_value = (wave - number * slices) * delta_values;
    sequence = uniform(number / args.value_heads);
    head = number - sequence * args.value_heads;
    start = 0;
    length = sequence < args.sequences ? args.tokens : 0;
    slot = sequence < args.sequences ? static_cast<i64>(sequence) : -1;
    if (slot < 0) return;
    if (args.bounds.base != nullptr) {
      start = bound_at(args.bounds, args.tokens, sequence);
      length = bound_at(args.bounds, args.tokens, sequence + 1);
      length = uniform(__builtin_elementwise_sub_sat(length, start));
      start = uniform(start);
    }
    if (args.slots.base != nullptr) {
      slot = uniform(index_at(args.slots, sequence));
      if (static_cast<u64>(slot) >= args.slot_count) slot = -1;
    }
  }

  __device__ i64 at(const TokenHeads& of, u32 token, u32 head) const {
    return sequence * of.sequence + (static_cast<i64>(start) + token) * of.token + head * of.head;
  }
};

// What a wave has of a token in LDS: numbers of keys, and of the wave's values.
template <int MaxKeys>
struct alignas(16) delta_token {
  f32 q[MaxKeys];
  f32 k[MaxKeys];
  f32 gk[MaxKeys];
  f32 v[delta_values];
  f32 beta[delta_values];
  f32 gv[delta_values];
};

// The type of the decays of keys and of values.
constexpr u32 type_f32 = static_cast<u32>(dtype::f32);

// What a lane loads of a token: some keys, and one value.
template <class State, int MaxKeys>
struct token_bits {
  using of_keys = vec<u32, MaxKeys / wave_size>;
  of_keys q, k, gk;
  u32 v, beta, gv, g;

  __device__ void load(const DeltaRuleArgs& args, const delta_task& task, u32 token) {
    const u32 key_head = task.head / args.group, value = task.first_value + lane_id();
    const auto keys = [&](const TokenHeads& of, u32 type, u32 head, of_keys& bits) {
      const i64 at = task.at(of, token, head);
#pragma unroll
      for (int i = 0; i < MaxKeys / wave_size; ++i) {
        const u32 key = State::key_at(i * wave_size + lane_id());
        bits[i] = key < args.keys ? load_bits(of.base, type, at + key) : 0;
      }
    };
    const auto one = [&](const TokenHeads& of, u32 type, bool has_values) {
      const i64 at = task.at(of, token, task.head);
      if (!has_values) return load_bits(of.base, type, at);
      const bool is_there = lane_id() < delta_values && value < args.values;
      return is_there ? load_bits(of.base, type, at + value) : 0;
    };
    keys(args.q, args.q.element_type, key_head, q);
    keys(args.k, args.k.element_type, key_head, k);
    if (args.gk.base != nullptr) keys(args.gk, type_f32, task.head, gk);
    v = one(args.v, args.v.element_type, true);
    if (args.g.base != nullptr) g = one(args.g, args.g.element_type, false);
    if (args.beta.base != nullptr) {
      beta = one(args.beta, args.beta.element_type, args.beta_of_values != 0);
    }
    if (args.gv.base != nullptr) gv = one(args.gv, type_f32, true);
  }
};

// What is the same for all keys and values of a token.
struct token_scalars {
  f32 decay;
  f32 kq;  // k q
};

// The gates of a head, of which it is known whether they are given.
struct head_gates {
  f32 rate = 0;  // exp(A_log)
  f32 bias = 0;

  __device__ head_gates(const DeltaRuleArgs& args, u32 head) {
    if (args.a_log == nullptr) return;
    // No rate is zero: in an infinite step everything decays.
    const f32 of_head = exp(number(load_bits(args.a_log, args.a_log_type, head), args.a_log_type));
    rate = __builtin_elementwise_maximum(of_head, 0x1p-126f);
    bias = number(load_bits(args.dt_bias, args.dt_bias_type, head), args.dt_bias_type);
  }

  __device__ f32 log_decay(const DeltaRuleArgs& args, f32 g) const {
    if (args.a_log == nullptr) return g;
    const f32 step = g + bias, scaled = step * args.softplus_beta;
    const f32 soft = softplus(scaled) * args.softplus_beta_inverse;
    const f32 size = scaled > args.softplus_threshold ? step : soft;
    // Nothing decays in a step of zero, even at an infinite rate.
    return size == 0 ? 0 : -rate * size;
  }
};

// Puts a token into LDS. Of one that is padding, queries, keys and values are zeros, but gates may be NaN.
template <class State, int MaxKeys>
__device__ inline token_scalars stage(const DeltaRuleArgs& args, const head_gates& gates,
                                      const token_bits<State, MaxKeys>& bits, delta_token<MaxKeys>& token,
                                      bool has_slot) {
  const bool is_padding = args.pads != 0 && !has_slot;
  using of_keys = vec<f32, MaxKeys / wave_size>;
  of_keys q, k;
  f32 qq = 0, kk = 0, kq = 0;
#pragma unroll
  for (int i = 0; i < MaxKeys / wave_size; ++i) {
    q[i] = number(bits.q[i], args.q.element_type);
    k[i] = number(bits.k[i], args.k.element_type);
    qq = __builtin_fmaf(q[i], q[i], qq);
    kk = __builtin_fmaf(k[i], k[i], kk);
  }
  f32 q_scale = args.scale;
  if (args.normalizes) {
    q_scale *= rsqrt(wave_reduce<add>(qq) + 1e-6f);
    k *= rsqrt(wave_reduce<add>(kk) + 1e-6f);
  }
  q *= q_scale;
#pragma unroll
  for (int i = 0; i < MaxKeys / wave_size; ++i) {
    kq = __builtin_fmaf(q[i], k[i], kq);
    const u32 at = i * wave_size + lane_id();
    token.q[at] = q[i];
    token.k[at] = k[i];
    if (args.gk.base != nullptr) token.gk[at] = exp(bit_cast<f32>(u32(bits.gk[i])));
  }
  if (lane_id() < delta_values) {
    token.v[lane_id()] = number(bits.v, args.v.element_type);
    f32 beta = 1;
    if (args.beta.base != nullptr) beta = number(bits.beta, args.beta.element_type);
    if (args.a_log != nullptr) beta = sigmoid(beta);
    token.beta[lane_id()] = is_padding ? 0 : beta;
    if (args.gv.base != nullptr) token.gv[lane_id()] = exp(bit_cast<f32>(bits.gv));
  }
  f32 decay = 1;
  if (args.g.base != nullptr) decay = exp(gates.log_decay(args, number(bits.g, args.g.element_type)));
  return {is_padding ? 1 : decay, wave_reduce<add>(kq)};
}

// Lets the state learn a token, and gives the results of the lane's values.
template <class State, int MaxKeys>
__device__ inline typename State::of_values learn(const DeltaRuleArgs& args, State& state,
                                                  const delta_token<MaxKeys>& token,
                                                  const token_scalars& scalars) {
  using of_values = typename State::of_values;
  if (args.gk.base != nullptr) {
    state.for_keys(token.gk, [&](auto i, vec<f32, 4> gk) {
      static_for<4>([&](auto e) { state.s[i.value + e.value] *= gk[e.value]; });
    });
  }
  of_values decay = scalars.decay;
  if (args.gv.base != nullptr) decay *= state.of_lane(token.gv);
  of_values of_k = 0, of_q = 0;
  state.for_keys(token.k, [&](auto i, vec<f32, 4> k) {
    const auto q = state.template four_of<i.value>(token.q);
    static_for<4>([&](auto e) {
      of_values& s = state.s[i.value + e.value];
      s *= decay;
      of_k += s * k[e.value];
      of_q += s * q[e.value];
    });
  });
  of_k = State::sum_over_keys(of_k);
  of_q = State::sum_over_keys(of_q);
  const of_values delta = state.of_lane(token.beta) * (state.of_lane(token.v) - of_k);
  state.for_keys(token.k, [&](auto i, vec<f32, 4> k) {
    static_for<4>([&](auto e) { state.s[i.value + e.value] += delta * k[e.value]; });
  });
  return of_q + delta * scalars.kq;
}

// The other type of states.
template <class T>
struct other_state {
  using type = f32;
};
template <>
struct other_state<f32> {
  using type = bf16;
};

template <class Tile>
__device__ inline void delta_rule(const DeltaRuleArgs& args) {
  using T = typename Tile::T;
  constexpr int max_keys = Tile::KEYS;
  using state_of = delta_state<T, Tile::KEYS_ADJACENT, max_keys>;
  __shared__ delta_token<max_keys> tokens[Tile::threads / wave_size];
  const delta_task task(args, block_idx().x * (Tile::threads / wave_size) + wave_id());
  // Nobody's state stays as it is.
  if (task.slot < 0 && task.length == 0) return;
  if (args.in_place && task.length == 0) return;

  const bool has_slot = task.slot >= 0;
  const u32 values = args.values - task.first_value;
  const u32 of_wave = values < delta_values ? values : delta_values;
  const auto first = [&](i64 slot, i64 head, u32 row) {
    return task.slot * slot + task.head * head +
           task.first_value * static_cast<i64>(Tile::KEYS_ADJACENT ? row : 1);
  };
  state_of state;
  token_bits<state_of, max_keys> bits;
  if (task.length > 0) bits.load(arguments_again(), task, 0);
  {
    // Of a state that there is not, no key is there.
    const DeltaRuleArgs& from = arguments_again();
    const u32 keys = has_slot && from.initial_states != nullptr ? from.keys : 0;
    const i64 at = first(from.initial_slot, from.initial_head, from.initial_row);
    state.load({static_cast<const T*>(from.initial_states) + at, from.initial_row, keys, of_wave});
  }

  const head_gates gates(args, task.head);
  delta_token<max_keys>& token = tokens[wave_id()];
  const u32 first_of_lane = state.first_value();
  const u32 left = __builtin_elementwise_sub_sat(of_wave, first_of_lane);
#pragma unroll 1
  for (u32 t = 0; t < task.length; ++t) {
    const token_scalars scalars = stage(arguments_again(), gates, bits, token, has_slot);
    arch::sync_wave();
    if (t + 1 < task.length) bits.load(arguments_again(), task, t + 1);
    const auto o = learn(arguments_again(), state, token, scalars);
    arch::sync_wave();
    if (state.key_lane != 0 || left == 0) continue;
    const DeltaRuleArgs& to = arguments_again();
    with_type(static_cast<dtype>(to.o_type), [&](auto zero) {
      using O = decltype(zero);
      const i64 at = task.sequence * to.o_sequence +
                     (static_cast<i64>(task.start) + t) * to.o_token + task.head * to.o_head +
                     task.first_value + first_of_lane;
      constexpr int count = state_of::values;
      store_elements<O, count>(static_cast<O*>(to.o) + at, 1, left, round_to<O, count>(o));
    });
  }
  const DeltaRuleArgs& to = arguments_again();
  if (has_slot && to.final_states != nullptr) {
    const i64 at = first(to.final_slot, to.final_head, to.final_row);
    const auto store = [&](auto zero) {
      using F = decltype(zero);
      state.template store<F>({static_cast<F*>(to.final_states) + at, to.final_row, to.keys, of_wave});
    };
    if (to.turns_type != 0) {
      store(typename other_state<T>::type());
    } else {
      store(T());
    }
  }
}

}  // namespace

}  // namespace hk
