// Kernels that make clang use a wide range of instructions; what they compute does not matter.
#define KERNEL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))

typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef _Float16 f16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 f16x4 __attribute__((ext_vector_type(4)));
typedef unsigned char u8x4 __attribute__((ext_vector_type(4)));

DEVICE unsigned lane() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE unsigned group() { return __builtin_amdgcn_workgroup_id_x(); }

KERNEL void mathematics(float *out, const float *a, const double *d, int n) {
  int i = group() * 256 + lane();
  if (i >= n) return;
  float x = a[i], y = a[i + 1];
  double z = d[i] * 3.0 + d[i + 1];
  out[i] = __builtin_sqrtf(x) + x / y + __builtin_floorf(y) - __builtin_amdgcn_exp2f(x);
  out[i + n] = (float)(z / d[i + 2]) + __builtin_fminf(x, -y) + __builtin_amdgcn_fmed3f(x, y, 1.0f);
  out[i + 2 * n] = __builtin_amdgcn_ldexpf(x, i) + __builtin_amdgcn_sinf(y) + __builtin_fmaf(x, 0.15915494f, y);
}

KERNEL void integers(long *out, const long *a, const unsigned *b, int n) {
  int i = group() * 64 + lane();
  long x = a[i], y = a[i + 1];
  unsigned u = b[i], v = b[i + 1];
  out[i] = x / y + x % (long)n;
  out[i + n] = (x << (u & 63)) ^ (x * y) + ((long)u * v >> 7);
  unsigned w = __builtin_popcount(u) + __builtin_clz(v | 1) + __builtin_amdgcn_ubfe(u, 3, 5);
  w += __builtin_amdgcn_alignbit(u, v, 7) + __builtin_amdgcn_perm(u, v, 0x01060203);
  w += u / v + u % 1000u + __builtin_bitreverse32(v) + (u & v | ~u & w);
  out[i + 2 * n] = w;
}

KERNEL void halves(_Float16 *out, const f16x2 *a, const u8x4 *bytes, short *s) {
  int i = lane();
  f16x2 x = a[i], y = a[i + 64];
  f16x2 z = x * y + x;
  out[i] = z.x + z.y * (_Float16)3.0f;
  u8x4 b = bytes[i];
  out[i + 64] = (_Float16)((float)b.x + (float)b.w * (float)b.y);
  s[i] = (short)(s[i + 1] * s[i + 2] + b.z);
  out[i + 128] = __builtin_fabsf16(x.y) - y.x;
}

KERNEL void reduction(float *out, const float *a, int n) {
  SHARED float tile[1024];
  float sum = 0;
  for (int i = lane(); i < n; i += 256) sum += a[i];
  for (int step = 32; step > 0; step /= 2) {
    int peer = __builtin_amdgcn_ds_bpermute((lane() ^ step) * 4, __builtin_bit_cast(int, sum));
    sum += __builtin_bit_cast(float, peer);
  }
  sum += __builtin_bit_cast(
      float, __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, sum), 0x111, 0xf, 0xf, true));
  sum += __builtin_bit_cast(
      float, __builtin_amdgcn_ds_swizzle(__builtin_bit_cast(int, sum), 0x401f));
  tile[lane()] = sum;
  __builtin_amdgcn_s_barrier();
  if (lane() == 0) {
    float all = 0;
    for (int i = 0; i < 256; i += 64) all += tile[i] * tile[i + 512];
    out[group()] = all;
  }
}

KERNEL void atomics(int *counter, float *sum, unsigned long *wide, int *flag) {
  SHARED int bins[64];
  bins[lane()] = 0;
  __builtin_amdgcn_s_barrier();
  int old = __atomic_fetch_add(&bins[lane() * 7 & 63], 1, __ATOMIC_RELAXED);
  __atomic_fetch_max(counter + lane(), old, __ATOMIC_ACQ_REL);
  unsigned long expected = 5;
  __atomic_compare_exchange_n(wide + lane(), &expected, 9ul, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  wide[lane() + 64] = expected;
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) __builtin_amdgcn_s_sleep(2);
  __atomic_store_n(flag + 1, bins[0], __ATOMIC_RELEASE);
}

KERNEL void matrices(f32x4 *out, f32x16 *wide, const f16x4 *a, const f16x4 *b, const long *c) {
  f32x4 acc = {};
  f32x16 big = wide[lane()];
  for (int k = 0; k < 8; k++) {
    acc = __builtin_amdgcn_mfma_f32_16x16x16f16(a[k * 64 + lane()], b[k * 64 + lane()], acc, 0, 0, 0);
    big = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(c[k], c[k + 9], big, 0, 0, 0);
  }
  out[lane()] = acc;
  wide[lane()] = big;
}

DEVICE __attribute__((noinline)) int step(int x, int k) { return k ? x * 3 + 1 : x / 2; }

KERNEL void control(int *data, int n, int mode) {
  int local[24];
  int x = data[lane()];
  for (int i = 0; i < 24; i++) local[i] = x * i;
  for (int i = 0; i < n; i++) {
    switch ((mode + i) % 7) {
      case 0: x = step(x, i & 1); break;
      case 1: x ^= local[i % 24]; break;
      case 2: if (x > lane()) x -= 5; else x += 9; break;
      case 3: local[x & 15] = i; break;
      case 5: x = __builtin_amdgcn_readfirstlane(x); break;
      default: if (x == 77) return; x++;
    }
  }
  data[lane()] = x + local[n & 15];
}

KERNEL void buffers(float *out, float *in, int n) {
  __amdgpu_buffer_rsrc_t rsrc = __builtin_amdgcn_make_buffer_rsrc(in, 0, n, 0x27000);
  int v = __builtin_amdgcn_raw_buffer_load_b32(rsrc, lane() * 4, n, 0);
  __builtin_amdgcn_raw_buffer_store_b32(v + 1, rsrc, lane() * 8, 0, 1);
  out[lane()] = __builtin_amdgcn_cvt_f32_fp8(v, 2) + (float)__builtin_readcyclecounter();
  __builtin_amdgcn_s_setprio(1);
  __builtin_nontemporal_store(1.5f, out + 2 * lane());
}
