// Code between whose instructions compilers must leave wait states.

#define __device__ __attribute__((device))
#define KERNEL extern "C" __attribute__((global)) void

typedef _Float16 half2v __attribute__((ext_vector_type(2)));
typedef _Float16 half4v __attribute__((ext_vector_type(4)));
typedef _Float16 half8v __attribute__((ext_vector_type(8)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef float float32v __attribute__((ext_vector_type(32)));
typedef double double4v __attribute__((ext_vector_type(4)));
typedef int int2v __attribute__((ext_vector_type(2)));
typedef int int4v __attribute__((ext_vector_type(4)));
typedef int int8v __attribute__((ext_vector_type(8)));

__device__ inline int item() { return __builtin_amdgcn_workitem_id_x(); }

KERNEL uniform_address(int* out, const int* in) {
  long row = __builtin_amdgcn_readfirstlane(in[item()]);
  int value = __builtin_amdgcn_readfirstlane(out[item()]);
  out[row * 64 + item()] = value;
}

KERNEL lanes(int* out, const int* in) {
  int value = in[item()];
  int lane = __builtin_amdgcn_readfirstlane(value);
  int other = __builtin_amdgcn_readlane(value + 1, lane);
  out[item()] = __builtin_amdgcn_readlane(value * 3, other & 63) + other;
}

KERNEL division(float* out, double* wide, const float* in) {
  out[item()] = out[item()] / in[item()];
  wide[item()] = wide[item()] / (double)in[item()];
}

KERNEL selection(int* out, const int* in, int a, int b) {
  int x = in[item()], y = out[item()];
  int z = x < y ? x * a : y * b;
  out[item()] = z > a ? z : __builtin_popcount(x) > 3 ? y + 7 : x;
}

KERNEL long_sum(unsigned long* out, const unsigned long* in) {
  unsigned __int128 sum = (unsigned __int128)in[item()] * out[item()] + in[0];
  out[item()] = (unsigned long)(sum >> 64) + (unsigned long)sum;
}

KERNEL neighbours(int* out, const int* in) {
  int x = in[item()] + 1;
  x += __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, true);
  x += __builtin_amdgcn_update_dpp(0, x, 0x112, 0xf, 0xf, true);
  x += __builtin_amdgcn_update_dpp(0, x, 0x114, 0xf, 0xf, true);
  x += __builtin_amdgcn_update_dpp(0, x, 0x142, 0xa, 0xf, false);
  out[item()] = __builtin_amdgcn_readlane(x, 63);
}

KERNEL transcendentals(float* out, const float* in) {
  float x = in[item()];
  float y = __builtin_amdgcn_exp2f(x) * x;
  float z = __builtin_amdgcn_rcpf(y + 1.0f) - y;
  out[item()] = __builtin_amdgcn_sqrtf(z) + __builtin_amdgcn_rsqf(__builtin_amdgcn_logf(z));
}

KERNEL halves(half2v* out, const half2v* in, const float* wide) {
  half2v x = in[item()];
  _Float16 y = x.x * x.y + (_Float16)wide[item()];
  half2v z = {(_Float16)(y * x.x), (_Float16)(y - x.y)};
  out[item()] = z + half2v{y, (_Float16)(y / x.x)};
}

KERNEL eight_bits(int* out, const float* in) {
  int word = __builtin_amdgcn_cvt_pk_fp8_f32(in[0], in[item()], 0, false);
  word = __builtin_amdgcn_cvt_pk_fp8_f32(in[1], in[item()], word, true);
  int other = __builtin_amdgcn_cvt_sr_fp8_f32(in[2], 5, word, 2);
  out[item()] = word + other * 3;
}

KERNEL wide_stores(int4v* out, int4v x) {
  int4v y = {item(), 1, 2, 3};
  for (int i = 0; i < 8; ++i) {
    out[item() + 64 * i] = y;
    y += x * i;
    out[item() + 1024 * i] = y;
    y.x ^= i;
  }
}

KERNEL dot_products(int* out, float* sums, const half2v* in, const int* bytes) {
  float sum = __builtin_amdgcn_fdot2(in[item()], in[0], sums[item()], false);
  sum = __builtin_amdgcn_fdot2(in[1], in[item()], sum, false);
  int other = __builtin_amdgcn_sdot4(bytes[item()], bytes[0], 0, false);
  other = __builtin_amdgcn_sdot4(other, bytes[1], other, false);
  sums[item()] = sum * 2.0f;
  out[item()] = other + 3;
}

KERNEL modes(float* out, const float* in) {
  float x = in[item()];
  __builtin_amdgcn_s_setreg(0x0801, 3);
  float y = x * 3.0f;
  __builtin_amdgcn_s_setreg(0x0801, 0);
  out[item()] = y + __builtin_amdgcn_s_getreg(0x1801);
}

template <typename D, typename A, typename F>
__device__ inline void chain(D* out, const A* in, F multiply) {
  D d = out[item()];
  A a = in[item()], b = in[item() + 64];
  d = multiply(a, b, d);
  d = multiply(b, a, d);
  out[item() + 64] = d;
  d = d * d;
  D zero = {};
  D e = multiply(a, a, zero);
  d = multiply(b, b, d);
  out[item() + 128] = d + e;
  A f;
  __builtin_memcpy(&f, &d, sizeof(f) < sizeof(d) ? sizeof(f) : sizeof(d));
  d = multiply(f, b, e);
  out[item() + 192] = multiply(b, f, d);
}

#define MATRIX(name, D, A, builtin)                                                         \
  KERNEL name(D* out, const A* in) {                                                        \
    chain(out, in, [](A a, A b, D d) { return __builtin_amdgcn_##builtin(a, b, d, 0, 0, 0); }); \
  }

MATRIX(half16, float4v, half4v, mfma_f32_16x16x16f16)
MATRIX(half32, float16v, half4v, mfma_f32_32x32x8f16)
MATRIX(half4, float4v, half4v, mfma_f32_4x4x4f16)
MATRIX(half_blocks, float32v, half4v, mfma_f32_32x32x4f16)
MATRIX(single16, float4v, float, mfma_f32_16x16x4f32)
MATRIX(single32, float16v, float, mfma_f32_32x32x2f32)
MATRIX(single4, float4v, float, mfma_f32_4x4x1f32)
MATRIX(double16, double4v, double, mfma_f64_16x16x4f64)
MATRIX(double4, double, double, mfma_f64_4x4x4f64)
MATRIX(bytes16, int4v, long, mfma_i32_16x16x32_i8)
MATRIX(fp8_32, float16v, long, mfma_f32_32x32x16_fp8_fp8)

KERNEL double_then_fma(double4v* out, const double* in) {
  double4v d = __builtin_amdgcn_mfma_f64_16x16x4f64(in[item()], in[item()], out[0], 0, 0, 0);
  double x = __builtin_fma(in[1], in[item()], in[2]);
  out[item()] = d * x;
}

KERNEL mixed(float4v* out, const half4v* in, const float* single) {
  float4v d = __builtin_amdgcn_mfma_f32_16x16x16f16(in[item()], in[0], out[item()], 0, 0, 0);
  d = __builtin_amdgcn_mfma_f32_16x16x4f32(single[item()], d.x, d, 0, 0, 0);
  d = __builtin_amdgcn_mfma_f32_16x16x16f16(in[item()], in[1], d, 0, 0, 0);
  for (int i = 0; i < 4; ++i) {
    d = __builtin_amdgcn_mfma_f32_16x16x16f16(in[i], in[item()], d * single[i], 0, 0, 0);
  }
  out[item()] = d;
}

KERNEL sparse(float4v* out, const half4v* in, const half8v* wide, const int* indices) {
  int index = indices[item()] * 5;
  float4v d = __builtin_amdgcn_smfmac_f32_16x16x32_f16(in[item()], wide[item()], out[0], index, 0, 0);
  d = __builtin_amdgcn_smfmac_f32_16x16x32_f16(in[1], wide[1], d, index, 0, 0);
  out[item()] = d + 1.0f;
}

#ifdef __gfx950__
MATRIX(half16_wide, float4v, half8v, mfma_f32_16x16x32_f16)
MATRIX(half32_wide, float16v, half8v, mfma_f32_32x32x16_f16)

#define SCALED(name, D, builtin, a_format, b_format)                                         \
  KERNEL name(D* out, const int8v* in, const int* scales) {                                  \
    int scale = scales[item()] + 1;                                                          \
    chain(out, in, [=](int8v a, int8v b, D d) {                                              \
      return __builtin_amdgcn_##builtin(a, b, d, a_format, b_format, 0, scale, 1, scale);    \
    });                                                                                      \
  }

SCALED(scaled8, float4v, mfma_scale_f32_16x16x128_f8f6f4, 0, 0)
SCALED(scaled4, float4v, mfma_scale_f32_16x16x128_f8f6f4, 4, 4)
SCALED(scaled6_8, float4v, mfma_scale_f32_16x16x128_f8f6f4, 2, 1)
SCALED(scaled32_8, float16v, mfma_scale_f32_32x32x64_f8f6f4, 0, 4)
SCALED(scaled32_4, float16v, mfma_scale_f32_32x32x64_f8f6f4, 4, 3)

KERNEL swaps(int* out, const int* in) {
  int x = in[item()] * 3, y = in[item() + 64] + 1;
  auto pair = __builtin_amdgcn_permlane32_swap(x, y, false, false);
  auto next = __builtin_amdgcn_permlane16_swap(pair[0] + 1, pair[1], false, false);
  out[item()] = next[0] - next[1];
}

KERNEL four_bits(int* out, const float* in) {
  int word = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0, in[0], in[item()], 2.0f, 0);
  word = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(word, in[1], in[item()], 2.0f, 2);
  out[item()] = word * 3;
}
#endif
