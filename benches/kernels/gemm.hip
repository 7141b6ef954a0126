// c = a * b^T, a [m, k] and b [n, k] in bf16, c [m, n] in f32, all row-major.
// The plainest tiled product that loads the simulator as a real one does: 128x128 tiles by four
// waves of 64x64, both operands staged through padded LDS, 16-byte accesses, 32x32 MFMA.
// m and n must be multiples of 128, k of 64.

using bf16x8 = __attribute__((ext_vector_type(8))) __bf16;
using f32x16 = __attribute__((ext_vector_type(16))) float;
using i16x4 = __attribute__((ext_vector_type(4))) short;
using u32x4 = __attribute__((ext_vector_type(4))) unsigned;

constexpr int TILE = 128;
constexpr int STEP = 64;
constexpr int PITCH = STEP + 8;  // elements; the padding spreads the rows over the banks

static __attribute__((device)) f32x16 mma(bf16x8 a, bf16x8 b, f32x16 c) {
#if __has_builtin(__builtin_amdgcn_mfma_f32_32x32x16_bf16) && defined(__gfx950__)
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, c, 0, 0, 0);
#else
    // Two steps of eight: any split of k serves, as long as both operands use the same.
    union {
        bf16x8 whole;
        i16x4 half[2];
    } u{a}, v{b};
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(u.half[0], v.half[0], c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(u.half[1], v.half[1], c, 0, 0, 0);
#endif
}

extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256))) void gemm(
    const __bf16* a, const __bf16* b, float* c, int m, int n, int k) {
    static __attribute__((shared)) __bf16 as[TILE * PITCH];
    static __attribute__((shared)) __bf16 bs[TILE * PITCH];
    const int thread = __builtin_amdgcn_workitem_id_x();
    const int lane = thread % 64, wave = thread / 64;
    const int row0 = __builtin_amdgcn_workgroup_id_y() * TILE;
    const int col0 = __builtin_amdgcn_workgroup_id_x() * TILE;
    const int wave_row = wave / 2 * 64, wave_col = wave % 2 * 64;
    f32x16 acc[2][2] = {};

    for (int k0 = 0; k0 < k; k0 += STEP) {
        u32x4 stage_a[4], stage_b[4];
        for (int i = 0; i < 4; i++) {
            const int chunk = i * 256 + thread;
            const int row = chunk / 8, col = chunk % 8 * 8;
            stage_a[i] = *(const u32x4*)&a[(long)(row0 + row) * k + k0 + col];
            stage_b[i] = *(const u32x4*)&b[(long)(col0 + row) * k + k0 + col];
        }
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        for (int i = 0; i < 4; i++) {
            const int chunk = i * 256 + thread;
            const int row = chunk / 8, col = chunk % 8 * 8;
            *(u32x4*)&as[row * PITCH + col] = stage_a[i];
            *(u32x4*)&bs[row * PITCH + col] = stage_b[i];
        }
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
        for (int step = 0; step < STEP; step += 16) {
            bf16x8 fa[2], fb[2];
            for (int i = 0; i < 2; i++) {
                const int at = (i * 32 + lane % 32) * PITCH + step + lane / 32 * 8;
                fa[i] = *(const bf16x8*)&as[wave_row * PITCH + at];
                fb[i] = *(const bf16x8*)&bs[wave_col * PITCH + at];
            }
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) acc[i][j] = mma(fa[i], fb[j], acc[i][j]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int r = 0; r < 16; r++) {
                const int row = row0 + wave_row + i * 32 + r / 4 * 8 + lane / 32 * 4 + r % 4;
                const int col = col0 + wave_col + j * 32 + lane % 32;
                c[(long)row * n + col] = acc[i][j][r];
            }
}
