// out[i] = round(a[i] * x[i] + b[i]), where a and b are tensors, elements of memory or numbers. One
// multiply-add of f32, one rounding at the store. Elements without gaps are taken as rows of one
// width, of which the last may be shorter.
#include "hk/rows.h"

namespace hk {

struct FusedMulAddArgs {
  const void* x;
  const void* a;  // null for the number
  const void* b;
  void* out;
  u32 rows;
  u32 width;  // also the distance from row to row, in elements
  u32 last;   // width of the last row
  u32 a_type;  // a dtype
  u32 b_type;
  f32 a_number;
  f32 b_number;
};

namespace {

// A lane's share of an operand: of a tensor of type A, or one number, if that is void.
template <class Tile, class A>
struct operand {
  static constexpr int chunks = Tile::CHUNKS;
  using loads = row_load<A, chunks>;
  using held = per_chunk<vec<A, chunk>, chunks>;

  const void* base;
  u32 stride;

  __device__ void start(loads& to, const auto& at) const {
    to.start({static_cast<const A*>(base), stride}, at);
  }
  __device__ held hold(const loads& from, const auto& at) const {
    held elements;
    for (int i = 0; i < chunks; ++i) elements.of[i] = from.elements(i, at);
    return elements;
  }
  __device__ chunk_values values(const held& elements, int i) const {
    return to_f32<A, chunk>(elements.of[i]);
  }
};

template <class Tile>
struct operand<Tile, void> {
  struct loads {};
  using held = loads;

  f32 number;

  __device__ void start(loads&, const auto&) const {}
  __device__ held hold(const loads&, const auto&) const { return {}; }
  __device__ chunk_values values(const held&, int) const { return number; }
};

// What `for_pieces` is to do.
template <class Tile, class A, class B>
struct mul_add_rows : no_reduction {
  using T = typename Tile::T;
  static constexpr int chunks = Tile::CHUNKS;

  operand<Tile, T> x;
  operand<Tile, A> a;
  operand<Tile, B> b;
  matrix<T> out;

  __device__ mul_add_rows(const FusedMulAddArgs& args, const operand<Tile, A>& a,
                          const operand<Tile, B>& b)
      : x{args.x, args.width}, a(a), b(b), out{static_cast<T*>(args.out), args.width} {}

  struct loads {
    typename operand<Tile, T>::loads x;
    typename operand<Tile, A>::loads a;
    typename operand<Tile, B>::loads b;
  };
  struct held {
    typename operand<Tile, T>::held x;
    typename operand<Tile, A>::held a;
    typename operand<Tile, B>::held b;
  };

  __device__ void start(loads& to, const auto& at) const {
    x.start(to.x, at);
    a.start(to.a, at);
    b.start(to.b, at);
  }

  __device__ held hold(const loads& from, const auto& at) const {
    return {x.hold(from.x, at), a.hold(from.a, at), b.hold(from.b, at)};
  }

  __device__ void store(const held& row, auto&&, no_reduction, const auto& at) const {
    store_row<chunks>(out, at, [&](int i) {
      return round_to<T, chunk>(__builtin_elementwise_fma(a.values(row.a, i), x.values(row.x, i),
                                                          b.values(row.b, i)));
    });
  }
};

// What `body` returns for an operand of that kind.
template <class Tile, bool IsTensor, class F>
__device__ inline void with_operand(const void* base, u32 stride, dtype type, f32 number, F&& body) {
  if constexpr (IsTensor) {
    with_type(type, [&](auto zero) { body(operand<Tile, decltype(zero)>{base, stride}); });
  } else {
    if (base != nullptr) {
      number = with_type(type, [&](auto zero) {
        return to_f32(*static_cast<const decltype(zero)*>(base));
      });
    }
    body(operand<Tile, void>{number});
  }
}

template <class Tile>
__device__ inline void fused_mul_add(const FusedMulAddArgs& args) {
  const dtype a_type = static_cast<dtype>(args.a_type), b_type = static_cast<dtype>(args.b_type);
  with_operand<Tile, Tile::A>(args.a, args.width, a_type, args.a_number, [&](const auto& a) {
    with_operand<Tile, Tile::B>(args.b, args.width, b_type, args.b_number, [&](const auto& b) {
      for_pieces<Tile>(mul_add_rows(args, a, b), args.rows, args.width, args.last);
    });
  });
}

}  // namespace

}  // namespace hk
