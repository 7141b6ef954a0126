// One operand of a matrix product on its way from global memory through LDS to fragments: a block
// of Rows x Depth elements of type T per step along k.
//
// The tile of one step lies in a *slot* of LDS as `Parts` images, one per Rows / Parts rows, so
// that parts can be loaded and freed by themselves. An image is stored in the operand's own order,
// or along k if it is transposed on the way. With direct-to-LDS loads the image is filled in lane
// order and the swizzle is applied to the global addresses; otherwise tiles are staged in
// registers.
#pragma once

#include "hk/lds.h"
#include "hk/memory.h"
#include "hk/mixed.h"

namespace hk {

// Storage orders of a matrix with a row per output row or column: k contiguous, or rows contiguous.
struct k_major {};
struct mn_major {};

// Where elements of one byte are whose k are contiguous: rows, so far apart, of one chunk of 16 bytes
// behind the other; or, if they are in tiles, 16 rows together: their first chunks, then their second ones.
struct byte_rows {
  u32 stride;
  bool tiled;

  static constexpr u32 tile = 16;  // rows

  // Bytes to a byte of a row, where rows begin with a tile.
  __device__ u32 offset(u32 row, u32 k) const {
    if (!tiled) return row * stride + k;
    return row / tile * tile * stride + row % tile * 16 + k / 16 * (tile * 16) + k % 16;
  }
  // Bytes to the first of a chunk, in the row that rows begin with.
  __device__ u64 along(u32 k) const { return u64{k} * (tiled ? tile : 1); }
  // Bytes of so many rows to the end of a chunk, if neither is 0; in tiles, of whole ones.
  __device__ u32 extent(u32 rows, u32 width) const {
    return tiled ? (rows - tile) * stride + width * tile : (rows - 1) * stride + width;
  }
};

// Ties a fragment that was read to the wait before it: no use of it can be scheduled earlier.
template <class Chunk, int Chunks>
__device__ inline void tie(fragment_of<Chunk, Chunks>& fragment) {
  for (auto& chunk : fragment.chunk) arch::lds_tie(chunk);
}

// A lane holds `Chunks` chunks of a slice: each `depth_bytes` behind the one before, or, if they are
// `Adjacent`, side by side. If parts are `Apart`, each is loaded through a buffer of its own. Direct loads
// may be `Together`, where instructions are what limits.
template <class T, class Order, int Rows, int Depth, int Threads, class Map, int Parts = 1,
          int Chunks = chunks_of<T>, bool Adjacent = false, bool Apart = false, bool Together = false>
struct operand {
  using type = T;
  static constexpr int parts = Parts;
  static constexpr int element = sizeof(T);
  static constexpr int chunk = 16 / element;  // elements of one
  static constexpr int part_rows = Rows / Parts;
  // Elements of a row of which every lane holds one chunk, and those of a slice.
  static constexpr int chunk_depth = atom_layout{Map::dim}.depth_bytes() / element;
  static constexpr int slice_depth = Chunks * chunk_depth;
  // Chunks from those of one lane to those of the next.
  static constexpr int lane_chunks = Adjacent ? Chunks : 1;

  // How the tile gets to LDS and out again.
  static constexpr bool along_k = same_type<Order, k_major>;
  static constexpr bool direct = arch::direct_to_lds_bytes == 16;
  static constexpr bool read_transposes = !along_k && arch::has_transposing_read;
  static constexpr bool write_transposes = !along_k && !read_transposes;

  // The image: lines of chunks.
  static constexpr int line_bytes = (read_transposes ? part_rows : Depth) * element;
  static constexpr int lines = read_transposes ? Depth : part_rows;
  static constexpr int line_chunks = line_bytes / 16;
  static constexpr int part_bytes = lines * line_bytes;
  static constexpr int slot_bytes = Parts * part_bytes;

  using read_access =
      typename choose<read_transposes, arch::lds_read_b64, arch::lds_read_b128>::type;
  using chunk_bits = typename choose<read_transposes, arch::transposed_bits, bits128>::type;
  using fragment = fragment_of<chunk_bits, Chunks>;
  static constexpr int span = swizzle_span<read_access>(line_bytes);

  static_assert(Rows % Parts == 0 && part_rows % 16 == 0 && Depth % slice_depth == 0);
  static_assert(along_k || element == 2, "only 16-bit elements are transposed");
  static_assert(!read_transposes || (Map::dim == 16 && !Map::paired),
                "transposing reads take 16 consecutive rows");
  static_assert(lane_chunks == 1 || (along_k && Map::dim == 16), "only these are spread");

  static constexpr swizzle make_swizzle() {
    if constexpr (read_transposes) {
      // A phase reads 32 bytes of each of eight lines, whose numbers differ in these bits.
      return spread<read_access>({0, 1, 3}, line_bytes, 1);
    } else {
      constexpr auto bit = [](int i) { return log2_exact(Map::lane_row(1 << i)); };
      const int rows[] = {bit(0), bit(1), bit(2), bit(3)};
      if constexpr (lane_chunks > 1) return spread_beside(rows, lane_chunks, span);
      const swizzle reads = spread<read_access>(rows, line_bytes, 0);
      // Transposing writes go to lines whose numbers differ in these bits. Lines of less than all
      // banks have no places for them.
      return write_transposes && line_bytes >= 128 ? also_spread(reads, {3, 4, 5}, span) : reads;
    }
  }
  static constexpr swizzle layout = make_swizzle();

  // By how much the chunks of a line are displaced. From a copy: the member itself is memory of the
  // device, which the compiler would have to read.
  __host__ __device__ static constexpr u32 displaced(u32 line) {
    constexpr swizzle constants = layout;
    return constants.of(line);
  }

  // Address in an image from which the lane reads chunk 0 of fragment 0.
  __host__ __device__ static constexpr u32 read_address(u32 lane, u32 first_row) {
    if constexpr (read_transposes) {
      const u32 line = lane / 16 * 8 + lane % 16 / 4;
      const u32 row = first_row + lane % 4 * 4;
      return line * line_bytes + ((row / 8) ^ displaced(line)) * 16 + row % 8 * element;
    } else {
      const u32 line = first_row + Map::lane_row(lane % Map::dim);
      return line * line_bytes + ((lane / Map::dim * lane_chunks) ^ displaced(line)) * 16;
    }
  }
  // What sets the address of chunk s of fragment f apart, counted along k: a part that is xored into
  // its place, and one that is added.
  static constexpr u32 chunk_of(int f, int s) {
    if (read_transposes) return Map::base_row(f) / 8;
    constexpr int lanes = chunk_depth / chunk;  // that share a row
    return s / lane_chunks * lane_chunks * lanes + s % lane_chunks;
  }
  static constexpr u32 read_xor(int f, int s) {
    const u32 place = chunk_of(f, s) % span;
    return (read_transposes ? place : place ^ displaced(Map::base_row(f))) * 16;
  }
  static constexpr u32 read_offset(int f, int s) {
    const u32 line = read_transposes ? s * chunk_depth : Map::base_row(f);
    return line * line_bytes + chunk_of(f, s) / span * span * 16;
  }

  static constexpr bool reads_are_conflict_free() {
    return conflict_free<read_access>([](int lane) { return read_address(lane, 0); });
  }
  // Lines of 32 bytes repeat their banks within a phase whatever their order: narrow tiles, where
  // LDS is not what limits.
  static_assert(line_bytes < 64 || reads_are_conflict_free());

  // ---- From global memory to LDS.

  // A block that is transposed while it is written: four k of eight rows.
  static constexpr int block_k = 4;
  static constexpr int line_blocks = min(8, part_rows / 8);

  // Loads of 16 bytes per lane that bring one part: whole chunks, or four per transposed block.
  static constexpr int pieces = write_transposes
                                    ? ceil_div(part_rows / 8 * (Depth / block_k), Threads)
                                    : ceil_div(part_bytes / 16, Threads);
  static constexpr int loads_per_piece = write_transposes ? block_k : 1;
  static constexpr int loads = pieces * loads_per_piece;
  static constexpr int all_loads = Parts * loads;
  static constexpr int all_pieces = Parts * pieces;
  // Whether some lanes have nothing to load in the last piece.
  static constexpr bool ragged =
      (write_transposes ? part_rows / 8 * (Depth / block_k) : part_bytes / 16) % Threads != 0;
  static_assert(!(direct && ragged), "direct-to-LDS loads need a whole number of chunks per lane");

  // Direct loads in a row that share the scalar register with their place in LDS: what sets them apart
  // is an offset of 12 bits in the instruction, by which both that place and the address move: a wave
  // fills pieces that follow each other, lanes' offsets are smaller by as much, and the buffer of a tile
  // begins `lead_bytes` earlier, so that none is below zero.
  static constexpr int wave_bytes = wave_size * 16;
  static constexpr int together =
      !(direct && Together) ? 1 : loads % 4 == 0 ? 4 : loads % 3 == 0 ? 3 : loads % 2 == 0 ? 2 : 1;
  static constexpr u32 lead_bytes = (together - 1) * wave_bytes;
  // Beyond every buffer, of which some have `lead_bytes` more.
  static constexpr u32 nowhere = out_of_range + lead_bytes;

  // The chunk, or transposed block, that a thread has as its piece i.
  __device__ static u32 piece_of(u32 i, u32 thread) {
    if constexpr (together == 1) return i * Threads + thread;
    return (i / together * (Threads / wave_size) + thread / wave_size) * (together * wave_size) +
           i % together * wave_size + thread % wave_size;
  }

  // The row and k that thread `q` of a part loads.
  struct place {
    u32 row, k;
  };
  __host__ __device__ static constexpr place source_place(u32 q) {
    if constexpr (write_transposes) {
      // Neighbouring lanes take neighbouring rows, and lane groups different k.
      constexpr u32 group = line_blocks * (Depth / block_k);
      const u32 inner = q % group;
      return {(q / group * line_blocks + inner % line_blocks) * 8, inner / line_blocks * block_k};
    } else {
      const u32 line = q / line_chunks;
      const u32 first = (q % line_chunks ^ displaced(line)) * chunk;
      if constexpr (along_k) return {line, first};
      return {first, line};
    }
  }
  // Where row 0 of a transposed block goes: 8 bytes. Its row j goes j lines on, in a chunk whose
  // number is xored with displaced(j), since blocks start at multiples of eight rows.
  __host__ __device__ static constexpr u32 block_address(u32 q) {
    const place at = source_place(q);
    return at.row * line_bytes + ((at.k / 8) ^ displaced(at.row)) * 16 + at.k % 8 * element;
  }
  static constexpr bool writes_are_conflict_free() {
    if constexpr (write_transposes) {
      return conflict_free<arch::lds_write_b64>([](int lane) { return block_address(lane); });
    } else {
      return conflict_free<arch::lds_write_b128>([](int lane) { return lane * 16u; });
    }
  }
  static_assert((write_transposes && line_blocks < 8) || line_bytes < 128 ||
                writes_are_conflict_free());

  // Bytes between consecutive steps along k: as many as the buffer of a tile has, and a line's. Rows of
  // bytes may be in tiles, in this and what follows.
  static constexpr bool of_bytes = along_k && element == 1;
  __device__ static u32 step_bytes(u32 stride, bool tiled = false) {
    if constexpr (of_bytes) return byte_rows{stride, tiled}.along(Depth);
    return along_k ? Depth * element : stride * (Depth * element);
  }
  // Bytes from the matrix's start to a row, with which a tile of them begins, and k.
  __device__ static u64 origin_bytes(u32 stride, u32 row, u32 k, bool tiled = false) {
    if constexpr (of_bytes) return u64{row} * stride + byte_rows{stride, tiled}.along(k);
    return (along_k ? u64{row} * stride + k : u64{k} * stride + row) * element;
  }
  // Bytes from where a tile begins to a place in it.
  __device__ static u32 offset_of(place at, u32 stride, bool tiled) {
    if constexpr (of_bytes) return byte_rows{stride, tiled}.offset(at.row, at.k);
    return (along_k ? at.row * stride + at.k : at.k * stride + at.row) * element;
  }
  // Size of the buffer that holds `rows` x `depth` elements of a tile, neither of them 0. What is
  // contiguous is whole chunks in memory, filled up with zeros if need be. Elements of other rows
  // or columns may lie in between; they do no harm, because a row past the end of the matrix only
  // affects results that are not stored.
  __device__ static u32 tile_bytes(u32 stride, u32 rows, u32 depth, bool tiled = false) {
    constexpr u32 most = Apart ? part_rows : Rows;
    return bytes_of(stride, rows < most ? rows : most, depth, tiled);
  }
  // As above, of rows from anywhere among so many.
  __device__ static u32 bytes_of(u32 stride, u32 rows, u32 depth, bool tiled = false) {
    depth = depth < Depth ? depth : Depth;
    const u32 lines = along_k ? rows : depth;
    const u32 width = ((along_k ? depth : rows) + chunk - 1) / chunk * chunk;
    if constexpr (of_bytes) return byte_rows{stride, tiled}.extent(rows, width);
    return ((lines - 1) * stride + width) * element;
  }

  u32 thread;
  u32 stride;
  u32 source[pieces];  // byte offsets of this lane's pieces of part 0
  u32 part_source;     // byte offset from one part to the next
  lds_pointer image;   // slot 0 in LDS
  lds_pointer filled;  // where in slot 0 this wave's direct loads begin
  u32 reader;          // this lane's read address in slot 0
  u32 writer[write_transposes ? pieces : 1];  // block addresses of this lane's pieces
  bits128 staged[direct ? 1 : all_loads];

  __device__ operand(lds_pointer image, u32 stride, u32 first_row, bool tiled = false)
      : thread(thread_idx().x),
        stride(stride),
        part_source((along_k ? part_rows * stride : part_rows) * element),
        image(image),
        filled(image + wave_id() * (together * wave_bytes)),
        reader(reinterpret_cast<u32>(image) + read_address(lane_id(), first_row)) {
    static_for<pieces>([&](auto i) {
      const u32 q = piece_of(i, thread);
      const place at = source_place(q);
      const bool outside = ragged && (at.row >= part_rows || at.k >= Depth);
      source[i] = outside ? nowhere : offset_of(at, stride, tiled) + lead_of(i);
      if constexpr (write_transposes) writer[i] = block_address(q);
    });
  }

  // What is added to a lane's offset of load i.
  static constexpr u32 lead_of(int i) { return lead_bytes - i % together * wave_bytes; }

  // Takes rows from elsewhere: `of(row)` is the matrix's row that the block has as `row`.
  template <class Source>
  __device__ void gather(const Source& of) {
    static_assert(along_k && Parts == 1, "rows of one part, each of adjacent elements");
    static_for<pieces>([&](auto i) {
      const place at = source_place(piece_of(i, thread));
      if (ragged && (at.row >= part_rows || at.k >= Depth)) return;
      source[i] = (of(at.row) * stride + at.k) * element + lead_of(i);
    });
  }

  // Byte offset of load i of a part.
  template <int Load>
  __device__ u32 source_of() const {
    constexpr int piece = Load / loads_per_piece;
    constexpr int k = Load % loads_per_piece;
    return source[piece] + k * stride * element;
  }

  // Starts load `Load` of part `Part` into a slot. `limit` is how many k the tile has: pieces past
  // it load zeros. It only matters along k, where what follows is another row's data, and is known
  // to hold where the limit is a constant.
  template <int Part, int Load>
  __device__ void load(const buffer& tile, u32 slot, u32 limit = Depth) {
    u32 offset = source_of<Load>();
    if (Part > 0 && !Apart) offset += Part * part_source;
    if (along_k) {
      offset = source_place(piece_of(Load, thread)).k < limit ? offset : nowhere;
    }
    if constexpr (direct) {
      constexpr int first = Load / together * together;
      tile.template load_to_lds<(Load - first) * wave_bytes>(
          filled + slot * slot_bytes + Part * part_bytes + first * Threads * 16, offset);
    } else {
      staged[Part * loads + Load] = tile.load_128(offset);
    }
  }

  // Writes what the loads of piece `Piece` of part `Part` brought into the slot. Nothing is left to
  // do if they went there directly.
  template <int Part, int Piece>
  __device__ void write(u32 slot) {
    if constexpr (!direct) {
      using pointer128 = arch::lds_pointer_to<bits128>;
      using pointer64 = arch::lds_pointer_to<vec<u32, 2>>;
      const lds_pointer part = image + slot * slot_bytes + Part * part_bytes;
      const u32 q = Piece * Threads + thread;
      const place at = source_place(q);
      if (ragged && (at.row >= part_rows || at.k >= Depth)) return;
      const bits128* from = staged + Part * loads + Piece * loads_per_piece;
      if constexpr (!write_transposes) {
        *reinterpret_cast<pointer128>(part + q * 16) = from[0];
      } else {
        static_for<8>([&](auto j) {
          // Byte selectors: the low or the high halves of two registers.
          constexpr u32 select = j % 2 == 0 ? 0x05040100 : 0x07060302;
          const u32 address = writer[Piece] ^ (displaced(j) * 16);
          *reinterpret_cast<pointer64>(part + address + j * line_bytes) =
              vec<u32, 2>{arch::pick_bytes<select>(from[1][j / 2], from[0][j / 2]),
                          arch::pick_bytes<select>(from[3][j / 2], from[2][j / 2])};
        });
      }
    }
  }

  // Reads slice S of fragment F of a part. Use it after the next arch::lds_wait.
  template <int Part, int F, int S>
  __device__ fragment read(u32 slot) const {
    fragment result;
    static_for<Chunks>([&](auto c) {
      result.chunk[c] = read_chunk<Part, F, S * Chunks + c>(slot);
    });
    return result;
  }

 private:
  template <int Part, int F, int S>
  __device__ chunk_bits read_chunk(u32 slot) const {
    const u32 address = (reader + slot * slot_bytes) ^ read_xor(F, S);
    constexpr int offset = Part * part_bytes + read_offset(F, S);
    static_assert(offset < 65536);
    if constexpr (read_transposes) {
      return arch::lds_read_transposed<offset, 4 * line_bytes>(address);
    } else {
      return arch::lds_read_128<offset>(address);
    }
  }
};

}  // namespace hk
