// y[i,j] = round(value(c[i,j]) * s), where s is the scale of the element's row, group, tile or tensor.
// Rows are read once.
#include "hk/quant_rows.h"

namespace hk {

struct DequantArgs {
  const u8* codes;
  const void* scales;  // f32, or of MX formats e8m0
  void* y;
  i64 codes_stride;  // in bytes, from row to row
  i64 y_stride;      // in elements
  i64 scales_row_stride;
  i64 scales_group_stride;
  u32 rows;
  u32 width;
  u32 row_shift;  // log2 of the rows and columns that share a scale
  u32 group_shift;
  u32 shuffled_columns;  // of shuffled scales, else 0
  u32 format;            // a code_format
};

namespace {

// The numbers are the host's.
enum class code_format : u32 { i8, e4m3, mx_e2m1, mx_e4m3, mx_e5m2 };

// What `for_elements` is to do, with codes of so many bits.
template <class Tile, int Bits, bool Mx>
struct dequantize_rows : no_columns, no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS, dwords = chunk * Bits / 32;
  using no_columns::hold;
  using no_columns::start;

  const DequantArgs& args;

  __device__ dequantize_rows(const DequantArgs& args) : args(args) {}

  struct loads {
    code_load<Bits, chunks> codes;
    u32 scales[chunks];
  };
  struct held {
    per_chunk<vec<u32, dwords>, chunks> codes;
    u32 scales[chunks];
  };

  __device__ void start(loads& to, const auto& at) const {
    for (int i = 0; i < chunks; ++i) to.scales[i] = scale(i, at);
    to.codes.start({args.codes, args.codes_stride}, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held row;
    for (int i = 0; i < chunks; ++i) {
      row.codes.of[i] = from.codes.codes(i, at);
      row.scales[i] = from.scales[i];
    }
    return row;
  }

  __device__ void store(const held& row, auto&&, no_reduction, const auto& at) const {
    const matrix<T> y{static_cast<T*>(args.y), args.y_stride};
    store_row<chunks>(y, at, [&](int i) {
      const f32 by = Mx ? mx_scale_value(row.scales[i]) : bit_cast<f32>(row.scales[i]);
      return round_to<T, chunk>(decode(row.codes.of[i]) * by);
    });
  }

 private:
  // Of chunk i, as it is in memory. Where there is none, it is the first one of all.
  __device__ u32 scale(int i, const auto& at) const {
    const bool has_row = at.has_row(), has_chunk = at.start(i) < at.width;
    const bool is_there = has_row & has_chunk;
    const u32 row = is_there ? at.row() >> args.row_shift : 0;
    const u32 group = is_there ? (at.column + at.start(i)) >> args.group_shift : 0;
    const i64 in_rows = row * args.scales_row_stride + group * args.scales_group_stride;
    if constexpr (Mx) {
      const auto scales = static_cast<const u8*>(args.scales);
      const u32 columns = args.shuffled_columns;
      return scales[columns == 0 ? in_rows : shuffled_scale(row, group, columns)];
    } else {
      return static_cast<const u32*>(args.scales)[in_rows];
    }
  }

  __device__ chunk_values decode(vec<u32, dwords> codes) const {
    const auto format = static_cast<code_format>(args.format);
    if constexpr (Bits == 4) {
      return mx_e2m1::decode(codes[0]);
    } else if constexpr (Mx) {
      return format == code_format::mx_e4m3 ? decode<mx_e4m3>(codes) : decode<mx_e5m2>(codes);
    } else {
      return format == code_format::i8 ? decode<i8_codes>(codes) : decode<e4m3_codes>(codes);
    }
  }

  template <class Codes>
  __device__ static chunk_values decode(vec<u32, 2> codes) {
    const auto low = Codes::decode(codes[0]), high = Codes::decode(codes[1]);
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
  }
};

template <class Tile>
__device__ inline void dequant(const DequantArgs& args) {
  switch (static_cast<code_format>(args.format)) {
    case code_format::i8:
    case code_format::e4m3:
      for_elements<Tile>(dequantize_rows<Tile, 8, false>(args), args.rows, args.width);
      break;
    case code_format::mx_e2m1:
      // Of whole bytes.
      for_elements<Tile, 2>(dequantize_rows<Tile, 4, true>(args), args.rows, args.width);
      break;
    default: for_elements<Tile>(dequantize_rows<Tile, 8, true>(args), args.rows, args.width);
  }
}

}  // namespace

}  // namespace hk
