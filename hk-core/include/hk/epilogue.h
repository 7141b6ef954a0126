// What happens to a product between its f32 accumulators and memory: a list of steps, then one
// rounding. The list is part of a kernel's arguments, so every chain runs in the same code; steps
// are chosen by scalar branches and work on a run of columns of one row per lane.
#pragma once

#include "hk/elements.h"
#include "hk/math.h"
#include "hk/wave.h"

namespace hk {

// Kinds of steps; the numbers are those of the host's `StepKind`.
enum class step_kind : u32 {
  multiply = 0,  // v *= a
  add,           // v = fma(parameter, a, v)
  add_product,   // v = fma(a, b, v)
  scale_add,     // v = fma(parameter, v, v)
  activate,      // v = activation(v)
};

// An operand of a step: a number, or a tensor that is broadcast along axes of stride 0.
struct EpilogueOperand {
  i64 batch_stride;  // in elements, as all strides
  i64 row_stride;
  u32 column_stride;
  f32 number;
  i32 tensor;   // which of the kernel's tensors, or -1 for the number
  u32 element;  // a dtype
};

struct EpilogueStep {
  u32 kind;
  u32 activation;
  f32 parameter;
  u32 reserved;
  EpilogueOperand a, b;
};

inline constexpr int max_steps = 8;
inline constexpr int max_tensors = 8;

using arch::constant_pointer;
// The kernel's only parameter, where the hardware put it: an index into it that is not a constant
// would otherwise force a copy into scratch memory.
using arch::kernel_arguments;

// A matrix of results: where it is, its width, and how its elements are rounded.
struct result_matrix {
  char* base;
  i64 stride;  // in elements
  u32 columns;
  dtype type;

  // The same from a column on, of which there are as many.
  __device__ result_matrix from(u32 column) const {
    result_matrix result = *this;
    result.base += u64{column} * (type == dtype::f32 ? 4 : 2);
    return result;
  }
};

// Stores N adjacent elements, aligned as one of them is.
template <class T, int N>
__device__ inline void store_whole(T* to, vec<T, N> values) {
  *reinterpret_cast<vec_in_memory<T, N, sizeof(T)>*>(to) = values;
}

// Stores a run of one row, rounded. Its first element is within y.
template <int Run>
__device__ inline void store_run(const result_matrix& y, u32 row, u32 column,
                                 vec<f32, Run> values) {
  const i64 offset = row * y.stride + column;
  with_type(y.type, [&](auto zero) {
    using T = decltype(zero);
    T* to = reinterpret_cast<T*>(y.base) + offset;
    const vec<T, Run> rounded = round_to<T, Run>(values);
    if (column + Run <= y.columns) {
      store_whole<T, Run>(to, rounded);
    } else {
      to[0] = rounded[0];
      for (u32 i = 1; i < Run; ++i) {
        if (column + i < y.columns) to[i] = rounded[i];
      }
    }
  });
}

// A chain of steps. `Args` has the fields `step_count`, `steps[max_steps]` and the pointers
// `tensors[max_tensors]`.
template <class Args>
struct epilogue {
  constant_pointer<Args> args;
  u32 batch;
  u32 columns;

  // A run of an operand. Its first element belongs to a result.
  template <int Run>
  __device__ vec<f32, Run> operand(constant_pointer<EpilogueOperand> of, u32 row,
                                   u32 column) const {
    if (of->tensor < 0) return vec<f32, Run>(of->number);
    const char* base = static_cast<const char*>(args->tensors[of->tensor]);
    const i64 offset = batch * of->batch_stride + row * of->row_stride;
    return with_type(static_cast<dtype>(of->element), [&](auto zero) -> vec<f32, Run> {
      using T = decltype(zero);
      const T* from = reinterpret_cast<const T*>(base) + offset;
      if (of->column_stride == 0) return to_f32(*from);
      const i64 stride = of->column_stride;
      return to_f32<T, Run>(load_elements<T, Run>(from + column * stride, stride, columns - column));
    });
  }

  // The results of all steps on a run, of which the first element is a result. Lanes past the end
  // must stay away: another wave may be writing what they would read, if an operand is the output.
  template <int Run>
  __device__ vec<f32, Run> apply(vec<f32, Run> v, u32 row, u32 column) const {
    return apply(v, row, column, 0, args->step_count);
  }
  // Those of the steps from `begin` to before `end`.
  template <int Run>
  __device__ vec<f32, Run> apply(vec<f32, Run> v, u32 row, u32 column, u32 begin, u32 end) const {
    for (u32 i = begin; i < end; ++i) {
      const auto step = &args->steps[i];
      // There are no kinds between and beyond those that are asked for, and fewer branches so.
      const auto kind = static_cast<step_kind>(step->kind);
      if (kind >= step_kind::activate) {
        v = activate<Run>(static_cast<activation>(step->activation), v, step->parameter);
      } else if (kind >= step_kind::scale_add) {
        v = __builtin_elementwise_fma(vec<f32, Run>(step->parameter), v, v);
      } else {
        vec<f32, Run> a = operand<Run>(&step->a, row, column);
        if (kind == step_kind::multiply) {
          v *= a;
        } else {
          const vec<f32, Run> b = kind >= step_kind::add_product
                                      ? operand<Run>(&step->b, row, column)
                                      : vec<f32, Run>(step->parameter);
          v = __builtin_elementwise_fma(a, b, v);
        }
      }
    }
    return v;
  }
};

// Calls `body` with the constant in [Low, High) that `index`, the same in all lanes, is. Branches,
// rather than selects: `body` may be long, and only one runs.
template <int Low, int High, class F>
__device__ inline void with_constant(u32 index, F&& body) {
  if constexpr (High - Low == 1) {
    body(constant<Low>{});
    // Keeps the compiler from turning the branches into selects.
    asm volatile("");
  } else {
    constexpr int middle = (Low + High) / 2;
    if (index < middle) {
      with_constant<Low, middle>(index, body);
    } else {
      with_constant<middle, High>(index, body);
    }
  }
}

}  // namespace hk
