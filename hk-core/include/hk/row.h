// A lane's share of rows: `Chunks` chunks of eight consecutive elements (16 bytes of 16-bit types) of
// a row that `Lanes` lanes have together. Nothing outside the row is read or written, whatever its
// width, and a row may start at any element: the hardware checks every dword against the end of the
// memory, so that accesses are in no branch and the compiler can tell how many are under way.
#pragma once

#include "hk/wave.h"

namespace hk {

// Elements of a row that a lane moves together, and their values.
inline constexpr int chunk = 8;
using chunk_values = vec<f32, chunk>;

__device__ inline f32 sum(chunk_values v) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

__device__ inline f32 largest(chunk_values v) {
  const auto larger = [](auto a, auto b) { return __builtin_elementwise_maximum(a, b); };
  return larger(larger(larger(v[0], v[1]), larger(v[2], v[3])),
                larger(larger(v[4], v[5]), larger(v[6], v[7])));
}

// Something for each chunk of a lane's share.
template <class T, int Chunks>
struct per_chunk {
  T of[Chunks];
};

// The sum of products of the elements of two shares.
template <class T, int Chunks>
__device__ inline f32 dot(const per_chunk<vec<T, chunk>, Chunks>& a,
                          const per_chunk<vec<T, chunk>, Chunks>& b) {
  chunk_values products = 0;
  for (int i = 0; i < Chunks; ++i) {
    products += to_f32<T, chunk>(a.of[i]) * to_f32<T, chunk>(b.of[i]);
  }
  return sum(products);
}

// Rows in memory, `stride` elements from one to the next.
template <class T>
struct matrix {
  T* base;
  i64 stride;
};

// What is left of so many after others, scalars all. The compiler would take a vector instruction that
// also cuts off, and more of them for all that follows.
__device__ inline u32 left_of(u32 all, u32 others) {
  u32 taken = __builtin_elementwise_min(all, others);
  arch::forget_scalar(taken);
  return all - taken;
}

// The part of a matrix in which a wave works: rows from `first` on, as many as it has lanes for but at
// most `count`, and of each `width` columns from `column` on. The wave has all of `Lanes` lanes of a
// row, of which `count` is 0 or 1, or several rows, which must lie within 2^31 bytes. All members are
// the same for the wave.
//
// `Ragged` places have rows of any width, which takes more instructions; others have not those that
// `is_ragged` names.
template <int Lanes, bool Ragged>
struct row_place {
  static constexpr bool shares_wave = Lanes < wave_size;
  static constexpr u32 rows_of_wave = shares_wave ? wave_size / Lanes : 1;
  static constexpr u32 lanes = Lanes;
  static constexpr bool ragged = Ragged;
  // Whether chunks are moved dword by dword, each checked by its lane.
  static constexpr bool by_dword = shares_wave && ragged;

  u32 first;
  u32 count;
  u32 column;
  u32 width;

  // The hardware cuts off what a row that has the wave alone lacks of whole dwords. Rows that share
  // a wave share a range of memory too, whose end is not that of each.
  __device__ static constexpr bool is_ragged(u32 width) {
    return width % (shares_wave ? chunk : 2) != 0;
  }

  // The lane's number in its row, and its row's in the wave.
  __device__ static u32 lane() { return thread_idx().x % Lanes; }
  __device__ static u32 row_of_wave() { return thread_idx().x % wave_size / Lanes; }
  __device__ u32 row() const { return first + row_of_wave(); }

  // Whether the lane's row is there, and whether the lane is the first of it.
  __device__ bool has_row() const { return row_of_wave() < count; }
  __device__ bool leads_row() const {
    // To be compared where it is needed, not held in scalar registers up to there.
    u32 own = lane();
    arch::forget(own);
    return own == 0 && has_row();
  }

  // Where the lane's chunk i starts, and how many of its elements are in the row.
  __device__ static u32 start(int i) { return (i * Lanes + lane()) * chunk; }
  __device__ u32 elements_of(int i) const {
    const u32 left = __builtin_elementwise_sub_sat(width, start(i));
    return left < chunk ? left : chunk;
  }

  // The same place, or one in which there is nothing.
  __device__ row_place only_if(bool is_there) const {
    return {first, is_there ? count : 0, column, width};
  }
  // The same, if that hangs on what was loaded: the compiler compares it in vectors, and sizes in vector
  // registers would make accesses loops over lanes.
  __device__ row_place only_if_loaded(bool is_there) const {
    return {first, uniform(is_there ? count : 0), column, width};
  }

  // The same place, without the columns from `end` of the row on.
  __device__ row_place until(u32 end) const {
    // The compiler would take vector instructions for all of it, and a scalar is needed.
    u32 left = __builtin_elementwise_sub_sat(end, column);
    arch::forget(left);
    left = uniform(left);
    u32 all = width;
    arch::forget_scalar(all);
    return {first, count, column, left < all ? left : all};
  }
};

namespace detail {

// A lane's addresses in a part of a matrix, or of a `Vector` that all rows have alike.
template <class Place, bool Vector = false>
struct row_access {
  static constexpr u32 lanes = Place::lanes;
  static constexpr bool ragged = Place::ragged;
  static constexpr bool by_dword = Place::by_dword && !Vector;
  // Whether the lanes' addresses are all in one row, behind whose end the hardware finds nothing.
  static constexpr bool one_row = Vector || !Place::shares_wave;

  const char* base;
  i64 stride;  // in bytes
  u32 size;    // of an element
  const Place& at;

  // Without a dword that is only partly in the one row.
  __device__ arch::checked_range dwords() const {
    // Of rows that share a wave, every lane checks its own.
    if constexpr (!one_row) return range(out_of_range);
    const u32 bytes = at.width * size;
    return range(if_there(ragged ? bytes & ~3u : bytes));
  }

  // The lane's dwords d to d + count - 1 of chunk i: whole elements, or part of a single one.
  __device__ u32 offset(int i, u32 d, u32 count) const {
    const u32 in_row = at.start(i) * size + d * 4;
    if constexpr (one_row) return in_row;
    // Rows that are not ragged have whole chunks.
    const u32 elements = ragged ? ((d + count) * 4 + size - 1) / size : 1;
    return offset_if(at.start(i) + elements <= at.width, in_row);
  }

  // The element at the end of a row that ends within a dword, which is moved by itself. One lane has
  // it, in the first half of a dword, and others have an offset that is out of range.
  __device__ arch::checked_range all() const {
    return range(one_row ? if_there(out_of_range) : out_of_range);
  }
  __device__ u32 end_offset() const {
    const u32 column = at.width - 1;
    const bool is_lane = column / chunk % lanes == at.lane();
    return offset_if(ends_in_dword() & is_lane, column * size);
  }
  // The number of the last element's dword in the share of the lane that has it, of `chunk / 2` dwords
  // a chunk; the same for the wave. Comparisons with it are to be made where they are needed: all of
  // them would fill the registers.
  __device__ u32 end_dword() const {
    const u32 column = at.width - 1;
    u32 dword = uniform(column / (chunk * lanes) * (chunk / 2) + column % chunk / 2);
    arch::forget_scalar(dword);
    return dword;
  }

 private:
  __device__ bool ends_in_dword() const { return size == 2 && at.width % 2 != 0; }
  // The size of the one row, or nothing.
  __device__ u32 if_there(u32 bytes) const {
    return Vector ? at.count != 0 ? bytes : 0 : -at.count & bytes;
  }
  __device__ arch::checked_range range(u32 bytes) const {
    return {base + at.first * stride + static_cast<i64>(at.column) * size, bytes};
  }
  __device__ u32 offset_if(bool is_there, u32 in_row) const {
    if constexpr (one_row) return is_there ? in_row : out_of_range;
    // No branch for each.
    const u32 before = at.row_of_wave() * static_cast<u32>(stride);
    return (is_there & at.has_row()) ? before + in_row : out_of_range;
  }
};

// A lane's share as it is in memory; what lies past the end of a row is zero. `Dwords` hold a chunk.
template <int Chunks, int Dwords>
struct row_bits {
  vec<u32, Dwords> of[Chunks];
  u32 end;

  // Starts loading the first `Count` dwords of each chunk.
  template <int Count = Dwords, class Access>
  __device__ void load(const Access& from) {
    const arch::checked_range memory = from.dwords();
    for (int i = 0; i < Chunks; ++i) {
      if constexpr (Access::by_dword) {
        for (int d = 0; d < Count; ++d) of[i][d] = memory.load_32(from.offset(i, d, 1));
      } else {
        for (int d = 0; d < Count; d += 4) {
          const bits128 loaded = memory.load_128(from.offset(i, d, 4));
          for (int j = 0; j < 4; ++j) of[i][d + j] = loaded[j];
        }
      }
    }
    if (Access::ragged && from.size == 2) end = from.all().load_16(from.end_offset());
  }

  // The elements of chunk i, of type T.
  template <class T, class Access>
  __device__ vec<T, chunk> elements(int i, const Access& from) const {
    constexpr int dwords = chunk * sizeof(T) / 4;
    vec<u32, dwords> bits;
    for (int d = 0; d < dwords; ++d) bits[d] = of[i][d];
    if constexpr (Access::ragged && sizeof(T) == 2) {
      const u32 end_dword = from.end_dword();
      // Both are zero where the other is not, and `end` where the row ends with a dword.
      for (int d = 0; d < dwords; ++d) bits[d] |= end_dword == i * dwords + d ? end : 0;
    }
    return bit_cast<vec<T, chunk>>(bits);
  }
};

}  // namespace detail

// A lane's share of a matrix, under way.
template <class T, int Chunks>
struct row_load {
  template <class Place>
  __device__ void start(const matrix<const T>& from, const Place& at) {
    start(from.base, from.stride * static_cast<i64>(sizeof(T)), at);
  }

  // From rows that need not be whole elements apart: so many bytes.
  template <class Place>
  __device__ void start(const void* base, i64 stride, const Place& at) {
    bits.load(detail::row_access<Place>{static_cast<const char*>(base), stride, sizeof(T), at});
  }

  // Chunk i. It waits for the data, so ask for it after all loads.
  template <class Place>
  __device__ vec<T, chunk> elements(int i, const Place& at) const {
    return bits.template elements<T>(i, detail::row_access<Place>{nullptr, 0, sizeof(T), at});
  }

 private:
  detail::row_bits<Chunks, chunk * sizeof(T) / 4> bits;
};

// A lane's share of a vector that all rows use, under way. Its type is known at run time only.
template <int Chunks>
struct column_load {
  template <class Place>
  __device__ void start(const void* from, dtype type, const Place& at) {
    const auto base = static_cast<const char*>(from);
    if (type == dtype::f32) {
      bits.load(detail::row_access<Place, true>{base, 0, 4, at});
    } else {
      bits.template load<chunk / 2>(detail::row_access<Place, true>{base, 0, 2, at});
    }
  }

  template <class Place>
  __device__ chunk_values values(int i, dtype type, const Place& at) const {
    return with_type(type, [&](auto zero) {
      using T = decltype(zero);
      const detail::row_access<Place, true> access{nullptr, 0, sizeof(T), at};
      return to_f32<T, chunk>(bits.template elements<T>(i, access));
    });
  }

 private:
  detail::row_bits<Chunks, chunk> bits;
};

// Chunk i of a lane's share with `filler` in the place of what lies past the end of the row.
template <class T, class Place>
__device__ inline vec<T, chunk> fill_past_end(vec<T, chunk> elements, T filler, int i,
                                              const Place& at) {
  // Comparisons are to be made where they are needed: all of them would fill the scalar registers.
  u32 width = at.width;
  arch::forget_scalar(width);
  const i32 left = static_cast<i32>(width - at.start(i));
  for (int e = 0; e < chunk; ++e) elements[e] = e < left ? elements[e] : filler;
  return elements;
}

// Stores a lane's share of a matrix, of which chunk i is `elements(i)`, to memory that is not expected
// to be read again soon.
template <int Chunks, class T, class Place, class F>
__device__ inline void store_row(const matrix<T>& to, const Place& at, F&& elements) {
  constexpr int dwords = chunk * sizeof(T) / 4;
  const auto base = reinterpret_cast<const char*>(to.base);
  const detail::row_access<Place> access{base, to.stride * static_cast<i64>(sizeof(T)), sizeof(T), at};
  const arch::checked_range memory = access.dwords();
  u32 end = 0;
  for (int i = 0; i < Chunks; ++i) {
    const auto bits = bit_cast<vec<u32, dwords>>(vec<T, chunk>(elements(i)));
    if constexpr (Place::by_dword) {
      for (int d = 0; d < dwords; ++d) memory.store_once(access.offset(i, d, 1), bits[d]);
    } else {
      for (int d = 0; d < dwords; d += 4) {
        const bits128 part = {bits[d], bits[d + 1], bits[d + 2], bits[d + 3]};
        memory.store_once(access.offset(i, d, 4), part);
      }
    }
    if constexpr (Place::ragged && sizeof(T) == 2) {
      const u32 end_dword = access.end_dword();
      // The first dword, if it is none of the others.
      for (int d = 0; d < dwords; ++d) {
        end = i + d == 0 || end_dword == i * dwords + d ? bits[d] : end;
      }
    }
  }
  if constexpr (Place::ragged && sizeof(T) == 2) {
    access.all().store_once(access.end_offset(), static_cast<u16>(end));
  }
}

namespace detail {

// A lane's addresses in rows of codes of `Bits` bits, `stride` bytes apart. A row is of whole bytes,
// which need not fill its last dword.
template <int Bits, class Place>
struct code_access {
  static constexpr u32 codes_of_byte = 8 / Bits, bytes = chunk * Bits / 8, dwords = bytes / 4;
  // Whether each dword of a chunk is checked by its lane.
  static constexpr bool by_dword = Place::by_dword || dwords == 1;

  const u8* base;
  u32 stride;
  u32 width;  // in bytes
  const Place& at;

  __device__ code_access(const matrix<const u8>& of, const Place& at)
      : base(of.base + at.first * of.stride + at.column / codes_of_byte),
        stride(static_cast<u32>(of.stride)),
        width(at.width / codes_of_byte),
        at(at) {}

  // The hardware cuts off what a row that has the wave alone lacks of whole dwords.
  __device__ arch::checked_range whole_dwords() const { return range(end()); }
  __device__ arch::checked_range all() const { return range(width); }

  // Of dword d of chunk i, and of all of the chunk.
  __device__ u32 offset(int i, u32 d) const {
    return offset_if(start(i) + d * 4 + 4 <= width, start(i) + d * 4);
  }
  __device__ u32 offset(int i) const {
    return offset_if(!Place::shares_wave || start(i) + bytes <= width, start(i));
  }

  // Where the last dword begins if it is not whole, and its number in the share of the lane that has
  // it: its first two bytes, if it has so many, and the one byte left, if there is one.
  __device__ bool is_cut() const {
    // Rows that share a wave are ragged if they are not of whole chunks.
    if constexpr (Place::shares_wave && (!Place::ragged || Bits == 4)) return Place::ragged;
    return width % 4 != 0;
  }
  __device__ u32 end() const { return width & ~3u; }
  __device__ u32 end_dword() const {
    u32 dword = end() / (bytes * Place::lanes) * dwords + end() % bytes / 4;
    arch::forget_scalar(dword);
    return dword;
  }
  __device__ u32 two() const { return width & 2; }
  __device__ u32 offset_of_two() const { return end_offset_if(two() != 0, end()); }
  __device__ u32 offset_of_one() const { return end_offset_if(width % 2 != 0, end() + two()); }

 private:
  __device__ u32 start(int i) const { return at.start(i) / codes_of_byte; }
  __device__ u32 end_offset_if(bool is_there, u32 in_row) const {
    const bool is_lane = end() / bytes % Place::lanes == at.lane();
    return offset_if(is_there & is_lane, in_row);
  }
  // Of rows that share a wave, every lane checks its own.
  __device__ arch::checked_range range(u32 bytes) const {
    return {base, Place::shares_wave ? out_of_range : at.count == 0 ? 0 : bytes};
  }
  __device__ u32 offset_if(bool is_there, u32 in_row) const {
    const u32 before = Place::shares_wave ? at.row_of_wave() * stride : 0;
    const bool has_row = at.has_row();
    return (is_there & has_row) ? before + in_row : out_of_range;
  }
};

}  // namespace detail

// A lane's share of rows of codes, under way.
template <int Bits, int Chunks>
struct code_load {
  static constexpr int dwords = chunk * Bits / 32;

  template <class Place>
  __device__ void start(const matrix<const u8>& from, const Place& at) {
    const detail::code_access<Bits, Place> access{from, at};
    const arch::checked_range memory = access.whole_dwords();
    for (int i = 0; i < Chunks; ++i) {
      if constexpr (access.by_dword) {
        for (int d = 0; d < dwords; ++d) of[i][d] = memory.load_32(access.offset(i, d));
      } else {
        of[i] = memory.load_64(access.offset(i));
      }
    }
    two = one = 0;
    if (access.is_cut()) {
      const arch::checked_range all = access.all();
      two = all.load_16(access.offset_of_two());
      one = all.load_8(access.offset_of_one());
    }
  }

  // Chunk i. It waits for the data, so ask for it after all loads.
  template <class Place>
  __device__ vec<u32, dwords> codes(int i, const Place& at) const {
    const detail::code_access<Bits, Place> access{{nullptr, 0}, at};
    const u32 end_dword = access.end_dword(), last = two | one << 8 * access.two();
    vec<u32, dwords> bits = of[i];
    // What is cut off is zero.
    for (int d = 0; d < dwords; ++d) bits[d] |= end_dword == u32(i * dwords + d) ? last : 0;
    return bits;
  }

 private:
  vec<u32, dwords> of[Chunks];
  u32 two, one;
};

// Stores a lane's share of rows of codes, of which chunk i is the dwords `codes(i)`, as `store_row` does.
template <int Bits, int Chunks, class Place, class F>
__device__ inline void store_codes(const matrix<u8>& to, const Place& at, F&& codes) {
  using access_of = detail::code_access<Bits, Place>;
  constexpr u32 dwords = access_of::dwords;
  const access_of access{{to.base, to.stride}, at};
  const arch::checked_range memory = access.whole_dwords();
  const u32 end_dword = access.end_dword();
  u32 last = 0;
  for (int i = 0; i < Chunks; ++i) {
    const vec<u32, dwords> bits = codes(i);
    if constexpr (access_of::by_dword) {
      for (u32 d = 0; d < dwords; ++d) memory.store_once(access.offset(i, d), u32(bits[d]));
    } else {
      memory.store_once(access.offset(i), bits);
    }
    for (u32 d = 0; d < dwords; ++d) last = end_dword == i * dwords + d ? bits[d] : last;
  }
  if (access.is_cut()) {
    const arch::checked_range all = access.all();
    all.store_once(access.offset_of_two(), static_cast<u16>(last));
    all.store_once(access.offset_of_one(), static_cast<u8>(last >> 8 * access.two()));
  }
}

}  // namespace hk
