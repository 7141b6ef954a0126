// y[i,j] = tables[0][ids[0][i],j] + tables[1][ids[1][i],j] + ..., of three tables at most. Sums in f32,
// one rounding at the store. An id that is no row of its table adds nothing.
#include "hk/indices.h"
#include "hk/rows.h"

namespace hk {

struct EmbeddingTable {
  const void* base;  // null if there is none
  i64 stride;        // in elements, from row to row
  i64 rows;
  IndexList ids;
};

inline constexpr int most_tables = 3;

struct EmbeddingArgs {
  EmbeddingTable tables[most_tables];
  void* y;
  i64 y_stride;
  u32 rows;
  u32 width;
  u32 y_type;  // a dtype
};

namespace {

// What `for_pieces` is to do, with results of type Y.
template <class Tile, class Y>
struct embedding_rows : no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  const EmbeddingArgs& args;

  __device__ embedding_rows(const EmbeddingArgs& args) : args(args) {}

  struct loads {
    row_load<T, chunks> of[most_tables];
  };
  using held = per_chunk<chunk_values, chunks>;

  __device__ void start(loads& to, const auto& at) const {
    for (int t = 0; t < most_tables; ++t) {
      const EmbeddingTable& table = args.tables[t];
      const bool is_asked = table.base != nullptr && at.count != 0;
      const i64 id = is_asked ? index_at(table.ids, at.first) : -1;
      const bool is_there = id >= 0 && id < table.rows;
      const T* row = static_cast<const T*>(table.base) + (is_there ? id * table.stride : 0);
      to.of[t].start({row, 0}, at.only_if_loaded(is_there));
    }
  }

  __device__ held hold(const loads& from, const auto& at) const {
    held sums;
    for (int i = 0; i < chunks; ++i) {
      sums.of[i] = to_f32<T, chunk>(from.of[0].elements(i, at));
      for (int t = 1; t < most_tables; ++t) {
        // A zero that is added would change the sign of one.
        if (args.tables[t].base == nullptr) continue;
        sums.of[i] += to_f32<T, chunk>(from.of[t].elements(i, at));
      }
    }
    return sums;
  }

  __device__ void store(const held& sums, auto&&, no_reduction, const auto& at) const {
    store_row<chunks>(matrix<Y>{static_cast<Y*>(args.y), args.y_stride}, at,
                      [&](int i) { return round_to<Y, chunk>(sums.of[i]); });
  }
};

template <class Tile>
__device__ inline void embedding(const EmbeddingArgs& args) {
  with_type(static_cast<dtype>(args.y_type), [&](auto zero) {
    const embedding_rows<Tile, decltype(zero)> rows(args);
    for_pieces<Tile>(rows, args.rows, args.width, args.width);
  });
}

}  // namespace

}  // namespace hk
