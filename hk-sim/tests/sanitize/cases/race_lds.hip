// LDS, between the waves of a workgroup, as clang compiles it.
using u32 = unsigned;
#define THREAD __builtin_amdgcn_workitem_id_x()
#define WAVE __builtin_amdgcn_readfirstlane(THREAD / 64)
#define LANE (THREAD % 64)
#define WORKGROUP __HIP_MEMORY_SCOPE_WORKGROUP
#define FENCE(order) __builtin_amdgcn_fence(__ATOMIC_##order, "workgroup")
#define LOAD(p, order) __hip_atomic_load(p, __ATOMIC_##order, WORKGROUP)
#define STORE(p, v, order) __hip_atomic_store(p, v, __ATOMIC_##order, WORKGROUP)
#define ADD(p, v, order) __hip_atomic_fetch_add(p, v, __ATOMIC_##order, WORKGROUP)
__device__ static inline __attribute__((always_inline)) void barrier() {
    FENCE(RELEASE);
    __builtin_amdgcn_s_barrier();
    FENCE(ACQUIRE);
}

// case flag_store block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64], flag;
    if (THREAD == 0) flag = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        STORE(&flag, 1, RELEASE);                   // +
        STORE(&flag, 1, RELAXED);                   // -
    } else {
        while (LOAD(&flag, ACQUIRE) == 0) {}
        out[LANE] = data[63 - LANE];                // !order
    }
}

// case flag_one_lane block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64], flag;
    if (THREAD == 0) flag = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        if (LANE == 0) STORE(&flag, 1, RELEASE);                   // +
        if (LANE == 0) STORE(&flag, 1, RELAXED);                   // -
    } else {
        if (LANE == 0) while (LOAD(&flag, ACQUIRE) == 0) {}
        out[LANE] = data[63 - LANE];                // !order
    }
}

// case flag_sleep block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64], flag;
    if (THREAD == 0) flag = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        STORE(&flag, 1, RELEASE);                   // +
        STORE(&flag, 1, RELAXED);                   // -
    } else {
        while (LOAD(&flag, ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
        out[LANE] = data[63 - LANE];                // !order
    }
}

// case flag_relaxed_fence block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64], flag;
    if (THREAD == 0) flag = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        FENCE(RELEASE);                             // +
        STORE(&flag, 1, RELAXED);
    } else {
        while (LOAD(&flag, RELAXED) == 0) {}
        FENCE(ACQUIRE);
        out[LANE] = data[63 - LANE];                // !order
    }
}

// case count_add block=256 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[192], count;
    if (THREAD == 0) count = 0;
    barrier();
    if (WAVE != 3) {
        data[THREAD] = LANE;                        // !order
        if (LANE == 0) ADD(&count, 1, RELEASE);     // +
        if (LANE == 0) ADD(&count, 1, RELAXED);     // -
    } else {
        while (LOAD(&count, ACQUIRE) < 3) {}
        out[LANE] = data[63 - LANE] + data[127 - LANE] + data[191 - LANE]; // !order
    }
}

// case flag_per_lane block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64], flags[64];
    if (WAVE == 0) flags[LANE] = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        STORE(&flags[LANE], 1, RELEASE);            // +
        STORE(&flags[LANE], 1, RELAXED);            // -
    } else {
        while (LOAD(&flags[63 - LANE], ACQUIRE) == 0) {}
        out[LANE] = data[63 - LANE];                // !order
    }
}

// case flag_per_wave block=256 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[192], flags[4];
    if (THREAD < 4) flags[THREAD] = 0;
    barrier();
    if (WAVE != 3) {
        data[THREAD] = LANE;                        // !order
        if (LANE == 0) STORE(&flags[WAVE], 1, RELEASE);     // +
        if (LANE == 0) STORE(&flags[WAVE], 1, RELAXED);     // -
    } else {
        for (u32 wave = 0; wave < 3; ++wave)
            while (LOAD(&flags[wave], ACQUIRE) == 0) {}
        out[LANE] = data[63 - LANE] + data[127 - LANE] + data[191 - LANE]; // !order
    }
}

// case flag_lanes_of_a_wave block=256 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[192], flags[4];
    if (THREAD < 4) flags[THREAD] = 0;
    barrier();
    if (WAVE != 3) {
        data[THREAD] = LANE;                        // !order
        if (LANE == 0) STORE(&flags[WAVE], 1, RELEASE);     // +
        if (LANE == 0) STORE(&flags[WAVE], 1, RELAXED);     // -
    } else {
        if (LANE < 3) while (LOAD(&flags[LANE], ACQUIRE) == 0) {}
        out[LANE] = data[63 - LANE] + data[127 - LANE] + data[191 - LANE]; // !order
    }
}

// case pipeline block=128 args=out:2048
KERNEL(u32* out) {
    __shared__ u32 tiles[2][64], given, taken;
    if (THREAD == 0) given = taken = 0;
    barrier();
    for (u32 i = 0; i < 8; ++i) {
        if (WAVE == 0) {
            while (LOAD(&taken, ACQUIRE) + 2 <= i) {}
            tiles[i % 2][LANE] = i + LANE;          // !order
            STORE(&given, i + 1, RELEASE);          // +
            STORE(&given, i + 1, RELAXED);          // -
        } else {
            while (LOAD(&given, ACQUIRE) <= i) {}
            out[i * 64 + LANE] = tiles[i % 2][63 - LANE]; // !order
            STORE(&taken, i + 1, RELEASE);
        }
    }
}

// case flag_wide block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64]; __shared__ unsigned long long flag;
    if (THREAD == 0) flag = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        STORE(&flag, 1, RELEASE);                   // +
        STORE(&flag, 1, RELAXED);                   // -
    } else {
        while (LOAD(&flag, ACQUIRE) == 0) {}
        out[LANE] = data[63 - LANE];                // !order
    }
}

// case flag_bounded block=128 args=out:256
KERNEL(u32* out) {
    __shared__ u32 data[64], flag;
    if (THREAD == 0) flag = 0;
    barrier();
    if (WAVE == 0) {
        data[LANE] = LANE;                          // !order
        STORE(&flag, 1, RELEASE);                   // +
        STORE(&flag, 1, RELAXED);                   // -
    } else {
        u32 turns = 0;
        while (LOAD(&flag, ACQUIRE) == 0 && ++turns < 100000) {}
        if (turns < 100000) out[LANE] = data[63 - LANE];                // !order
    }
}

// case lock block=256 args=out:256
KERNEL(u32* out) {
    __shared__ u32 sum[64], lock;
    if (THREAD < 64) sum[THREAD] = 0;
    if (THREAD == 0) lock = 0;
    barrier();
    if (LANE == 0)
        for (;;) {
            u32 expected = 0;
            if (__hip_atomic_compare_exchange_strong(&lock, &expected, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, WORKGROUP)) break;
        }
    sum[LANE] += THREAD;                            // !order
    if (LANE == 0) STORE(&lock, 0, RELEASE);        // +
    if (LANE == 0) STORE(&lock, 0, RELAXED);        // -
    barrier();
    if (WAVE == 0) out[LANE] = sum[LANE];
}
