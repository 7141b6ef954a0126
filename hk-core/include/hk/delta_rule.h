// The state of a delta rule, K keys by V values, in the registers of a wave: 32 values of it, for which
// lanes have 16 bytes at a time of memory, in which either values or keys are adjacent.
//
// A lane has some keys and some values, `s[i]` being its values of its key i. The lanes of each value
// add up what they have of it: of them some are next to each other, or all those that are not.
#pragma once

#include "hk/arch/exchange.h"
#include "hk/elements.h"
#include "hk/wave.h"

namespace hk {

// Values of a wave.
inline constexpr u32 delta_values = 32;

// Sums over the lanes that differ in their bits from `Lowest` on alone; all of them receive the same
// bits.
template <int Lowest>
__device__ inline f32 sum_of_lanes(f32 x) {
  u32 bits = bit_cast<u32>(x);
  const auto add = [&](u32 other) { bits = bit_cast<u32>(bit_cast<f32>(bits) + bit_cast<f32>(other)); };
  if constexpr (Lowest <= 8) add(arch::value_of_lane_around<8>(bits));
  if constexpr (Lowest <= 4) add(arch::value_of_lane_around<4>(bits));
  static_assert(Lowest == 4 || Lowest == 8);
  static_for<2>([&](auto i) {
    constexpr int half = 16 << i.value;
    const vec<u32, 2> both = arch::both_halves<half>(bits);
    bits = bit_cast<u32>(bit_cast<f32>(u32(both[0])) + bit_cast<f32>(u32(both[1])));
  });
  return bit_cast<f32>(bits);
}

// Where a lane is in a state of elements T, in memory of which keys are adjacent, or values; and what it
// has of up to `MaxKeys` keys.
template <class T, bool KeysAdjacent, int MaxKeys>
struct delta_state {
  static constexpr u32 adjacent = per_128_bits<T>;
  // Lanes that share a value, and a key.
  static constexpr u32 value_lanes = KeysAdjacent ? 8 : delta_values / adjacent;
  static constexpr u32 key_lanes = wave_size / value_lanes;
  // What a lane has: values, and keys, of which so many are adjacent.
  static constexpr u32 values = delta_values / value_lanes;
  static constexpr u32 keys = MaxKeys / key_lanes;
  static constexpr u32 run = KeysAdjacent ? adjacent : 4;
  static constexpr u32 span = run * key_lanes;  // keys that the lanes have of a run each
  static_assert(keys % run == 0 && values % 4 == 0);

  using of_values = vec<f32, values>;

  u32 key_lane, value_lane;
  of_values s[keys];

  __device__ delta_state() {
    find_lane(lane_id());
  }

  __device__ void find_lane(u32 lane) {
    key_lane = KeysAdjacent ? lane % key_lanes : lane / value_lanes;
    value_lane = KeysAdjacent ? lane / key_lanes : lane % value_lanes;
  }

  // The lane's key i among all.
  __device__ u32 key(u32 i) const { return i / run * span + key_lane * run + i % run; }
  // Its first value among the wave's.
  __device__ u32 first_value() const { return value_lane * values; }

  // The sum over all keys, of what lanes have of theirs.
  __device__ static of_values sum_over_keys(of_values own) {
    for (u32 v = 0; v < values; ++v) {
      own[v] = KeysAdjacent ? wave_reduce<add, key_lanes>(own[v]) : sum_of_lanes<value_lanes>(own[v]);
    }
    return own;
  }

  // The key whose number is at a place in LDS: so that what lanes load of four is side by side.
  __device__ static u32 key_at(u32 place) {
    if constexpr (run == 4) return place;
    // The first halves of runs, then the second ones.
    const u32 in_span = place % span, in_half = in_span % (span / 2);
    return place - in_span + in_half / 4 * run + in_span / (span / 2) * 4 + in_half % 4;
  }

  // Numbers of the lane's keys from LDS: `body(i, four)` of keys i to i + 3.
  __device__ void for_keys(const f32* numbers, auto&& body) const {
    static_for<static_cast<int>(keys / 4)>([&](auto quad) {
      constexpr int i = quad.value * 4;
      body(constant<i>{}, four_of<i>(numbers));
    });
  }
  template <u32 I>
  __device__ vec<f32, 4> four_of(const f32* numbers) const {
    const u32 at = I / run * span + I % run / 4 * (span / 2) + key_lane * 4;
    return *reinterpret_cast<const vec<f32, 4>*>(numbers + at);
  }
  // Numbers of the lane's values.
  __device__ of_values of_lane(const f32* numbers) const {
    return *reinterpret_cast<const of_values*>(numbers + first_value());
  }

  __device__ void clear() {
    static_for<static_cast<int>(keys)>([&](auto i) { s[i] = 0; });
  }

  // A state in memory from `base` on, which is the same for the wave: of `k` keys, and of the `v` values
  // from the wave's first on that there are. Rows, which are adjacent, are `stride` elements apart. Of
  // which type elements are, load and store know.
  struct memory {
    arch::checked_range range;
    u32 stride, k, v;

    __device__ memory(const void* base, u32 stride, u32 k, u32 v)
        : range(base, out_of_range), stride(stride), k(k), v(v) {}
  };

  // What is not there is zero.
  __device__ void load(const memory& from) {
    forget_places();
    for_pieces(from, [&](auto first, u32 row, u32 at, u32 count) {
      const u32 offset = (row * from.stride + at) * static_cast<u32>(sizeof(T));
      const u32 whole = count >= adjacent ? offset : out_of_range;
      auto piece = bit_cast<vec<T, adjacent>>(from.range.load_128(whole));
      if (is_ragged(from)) {
        for (u32 e = 0; e < adjacent; ++e) {
          const T own = load_element(from.range, element<T>(offset, e, count));
          piece[e] = count >= adjacent ? piece[e] : own;
        }
      }
      set_piece(first, to_f32<T, adjacent>(piece));
    });
  }

  // Rounded to elements `To`.
  template <class To>
  __device__ void store(const memory& to) {
    forget_places();
    for_pieces(to, [&](auto first, u32 row, u32 at, u32 count) {
      const auto piece = round_to<To, adjacent>(get_piece(first));
      const u32 offset = (row * to.stride + at) * static_cast<u32>(sizeof(To));
      store_piece(to.range, count >= adjacent ? offset : out_of_range, piece);
      if (is_ragged(to)) {
        for (u32 e = 0; e < adjacent; ++e) {
          const u32 own = element<To>(offset, e, count);
          if constexpr (sizeof(To) == 2) {
            to.range.store_once(own, bit_cast<u16>(To(piece[e])));
          } else {
            to.range.store_once(own, bit_cast<u32>(To(piece[e])));
          }
        }
      }
    });
  }

 private:
  using of_piece = vec<f32, adjacent>;

  // So that where pieces are is computed where it is needed, not kept from the load to the store.
  __device__ void forget_places() {
    u32 lane = lane_id();
    arch::forget_here(lane);
    find_lane(lane);
  }

  // Whether rows end within 16 bytes.
  __device__ static bool is_ragged(const memory& of) {
    return (KeysAdjacent ? of.k : of.v) % adjacent != 0;
  }
  // Where element e, an `Of`, of a piece is that is not there as a whole.
  template <class Of>
  __device__ static u32 element(u32 offset, u32 e, u32 count) {
    return count < adjacent && e < count ? offset + e * static_cast<u32>(sizeof(Of)) : out_of_range;
  }
  // A piece that is there as a whole: 8, 16 or 32 bytes.
  template <class To>
  __device__ static void store_piece(const arch::checked_range& range, u32 offset, vec<To, adjacent> piece) {
    const auto bits = bit_cast<words_of<vec<To, adjacent>>>(piece);
    if constexpr (sizeof(bits) == 8) {
      range.store_once(offset, vec<u32, 2>{bits.of[0], bits.of[1]});
    } else {
      for (u32 d = 0; d < sizeof(bits) / 4; d += 4) {
        const bits128 four = {bits.of[d], bits.of[d + 1], bits.of[d + 2], bits.of[d + 3]};
        range.store_once(offset + d * 4, four);
      }
    }
  }
  __device__ static T load_element(const arch::checked_range& range, u32 offset) {
    if constexpr (sizeof(T) == 2) return bit_cast<T>(range.load_16(offset));
    if constexpr (sizeof(T) == 4) return bit_cast<T>(range.load_32(offset));
  }

  // Each piece of 16 bytes of the lane: which of its keys and values it begins with, where it is, and
  // how many elements of it are there.
  __device__ void for_pieces(const memory& of, auto&& body) const {
    constexpr u32 pieces = keys * values / adjacent;
    static_for<static_cast<int>(pieces)>([&](auto i) {
      if constexpr (KeysAdjacent) {
        constexpr u32 v = i.value % values, first = i.value / values * run;
        const u32 row = first_value() + v, at = key(first);
        body(constant<first * values + v>{}, row, at, row < of.v ? left(of.k, at) : 0);
      } else {
        const u32 row = key(i.value), at = first_value();
        body(constant<i.value * values>{}, row, at, row < of.k ? left(of.v, at) : 0);
      }
    });
  }
  __device__ static u32 left(u32 all, u32 before) { return __builtin_elementwise_sub_sat(all, before); }

  __device__ void set_piece(auto first, of_piece numbers) {
    constexpr u32 i = first.value / values, v = first.value % values;
    if constexpr (KeysAdjacent) {
      static_for<static_cast<int>(adjacent)>([&](auto e) { s[i + e.value][v] = numbers[e.value]; });
    } else {
      s[i] = numbers;
    }
  }
  __device__ of_piece get_piece(auto first) const {
    constexpr u32 i = first.value / values, v = first.value % values;
    if constexpr (!KeysAdjacent) return s[i];
    of_piece numbers;
    if constexpr (KeysAdjacent) {
      static_for<static_cast<int>(adjacent)>([&](auto e) { numbers[e.value] = s[i + e.value][v]; });
    }
    return numbers;
  }
};

}  // namespace hk
