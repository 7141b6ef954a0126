// Device memory, between workgroups and between the waves of one, as clang compiles it.
using u32 = unsigned;
#define THREAD __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define WORKGROUP __HIP_MEMORY_SCOPE_WORKGROUP
#define FENCE(order, scope) __builtin_amdgcn_fence(__ATOMIC_##order, scope)
#define LOAD(p, order) __hip_atomic_load(p, __ATOMIC_##order, AGENT)
#define STORE(p, v, order) __hip_atomic_store(p, v, __ATOMIC_##order, AGENT)
#define ADD(p, v, order) __hip_atomic_fetch_add(p, v, __ATOMIC_##order, AGENT)
__device__ static inline __attribute__((always_inline)) void barrier() {
    FENCE(RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    FENCE(ACQUIRE, "workgroup");
}

// Tiles of the output overlap.
// case tiles block=128 grid=3 args=in:2048,out:2048
KERNEL(const float* a, float* c) {
    u32 start = GROUP * 128;                        // +
    u32 start = GROUP * 64;                         // -
    c[start + THREAD] = a[start + THREAD] + GROUP;  // !race
}

// They overlap, but who computes an element again gets the same.
// case last_tile block=128 grid=3 args=in:1536,out:1536
KERNEL(const float* a, float* c) {
    u32 start = GROUP * 128;                        // +
    u32 start = GROUP == 2 ? 192 : GROUP * 128;     // -
    c[start + THREAD] = a[start + THREAD] * 2;      // ?race
}

// case in_place block=256 grid=4 args=in:4100,out:4096
KERNEL(float* a, float* c) {
    u32 i = GROUP * 256 + THREAD;
    float value = a[i] + a[i + 1];                  // !race
    c[i] = value;                                   // +
    a[i] = value;                                   // -!race
}

// A workgroup reverses its rows through memory.
// case reverse block=256 grid=2 args=zero:2048,out:2048
KERNEL(float* scratch, float* out) {
    float* mine = scratch + GROUP * 256;
    mine[THREAD] = THREAD;                          // !race
    barrier();                                      // +
    out[GROUP * 256 + THREAD] = mine[255 - THREAD]; // !race
}

// case accumulate block=128 grid=4 args=zero:512
KERNEL(u32* sum) {
    __hip_atomic_fetch_add(&sum[THREAD], THREAD, __ATOMIC_RELAXED, AGENT); // +
    sum[THREAD] += THREAD;                          // -!race
}

// Some of these are loops around a compare and swap.
// case accumulate_floats block=128 grid=4 args=zero:512,zero:1024,zero:512,zero:256
KERNEL(float* sum, double* wide, float* largest, _Float16* half) {
    ADD(&sum[THREAD], 1.5f, RELAXED);
    if (GROUP == 2) sum[THREAD] = 0;                // -!race
    ADD(&wide[THREAD], 2.5, RELAXED);
    ADD(&half[THREAD], (_Float16)1, RELAXED);
    __hip_atomic_fetch_max(&largest[THREAD], (float)GROUP, __ATOMIC_RELAXED, AGENT);
}

// case tickets block=64 grid=3 args=zero:4,out:2048
KERNEL(u32* counter, u32* out) {
    __shared__ u32 tile;
    for (;;) {
        barrier();
        if (THREAD == 0) {
            tile = ADD(counter, 1, RELAXED);        // +
            tile = (*counter)++;                    // -!race
        }
        barrier();
        u32 mine = tile;
        if (mine >= 8) break;
        out[mine * 64 + THREAD] = mine;
    }
}

// Split-K: the last workgroup to arrive adds the parts.
// case split_k_release block=128 grid=12 args=zero:6144,zero:4,out:512
KERNEL(float* parts, u32* arrivals, float* out) {
    __shared__ u32 before;
    parts[GROUP * 128 + THREAD] = GROUP + THREAD;   // !race
    barrier();
    if (THREAD == 0) {
        before = ADD(arrivals, 1, ACQ_REL);         // +
        before = ADD(arrivals, 1, ACQUIRE);         // -
    }
    barrier();
    if (before != 11) return;
    float sum = 0;
    for (u32 part = 0; part < 12; ++part)
        sum += parts[part * 128 + THREAD];          // !race
    out[THREAD] = sum;
}

// case split_k_acquire block=128 grid=4 args=zero:2048,zero:4,out:512
KERNEL(float* parts, u32* arrivals, float* out) {
    __shared__ u32 before;
    parts[GROUP * 128 + THREAD] = GROUP + THREAD;   // !race
    barrier();
    if (THREAD == 0) {
        before = ADD(arrivals, 1, ACQ_REL);         // +
        before = ADD(arrivals, 1, RELEASE);         // -
    }
    barrier();
    if (before != 3) return;
    float sum = 0;
    for (u32 part = 0; part < 4; ++part)
        sum += parts[part * 128 + THREAD];          // !race
    out[THREAD] = sum;
}

// The first wave counts before the second has written.
// case split_k_barrier block=128 grid=4 args=zero:2048,zero:4,out:512
KERNEL(float* parts, u32* arrivals, float* out) {
    __shared__ u32 before;
    parts[GROUP * 128 + THREAD] = GROUP + THREAD;   // !race
    barrier();                                      // +
    if (THREAD == 0) before = ADD(arrivals, 1, ACQ_REL);
    barrier();
    if (before != 3) return;
    float sum = 0;
    for (u32 part = 0; part < 4; ++part)
        sum += parts[part * 128 + THREAD];          // !race
    out[THREAD] = sum;
}

// Fences of every thread around a relaxed counter, as `__threadfence` is used.
// case split_k_fences block=128 grid=4 args=zero:2048,zero:4,out:512
KERNEL(float* parts, u32* arrivals, float* out) {
    __shared__ u32 before;
    parts[GROUP * 128 + THREAD] = GROUP + THREAD;   // !race
    FENCE(SEQ_CST, "agent");                        // +
    FENCE(SEQ_CST, "workgroup");                    // -
    barrier();
    if (THREAD == 0) before = ADD(arrivals, 1, RELAXED);
    barrier();
    if (before != 3) return;
    FENCE(SEQ_CST, "agent");
    float sum = 0;
    for (u32 part = 0; part < 4; ++part)
        sum += parts[part * 128 + THREAD];          // !race
    out[THREAD] = sum;
    if (THREAD == 0) *arrivals = 0;
}

// Too few arrivals are waited for.
// case split_k_count block=128 grid=4 args=zero:2048,zero:4,zero:512
KERNEL(float* parts, u32* arrivals, float* out) {
    __shared__ u32 before;
    parts[GROUP * 128 + THREAD] = GROUP + THREAD;   // !race
    barrier();
    if (THREAD == 0) before = ADD(arrivals, 1, ACQ_REL);
    barrier();
    if (before != 3) return;                        // +
    if (before != 2) return;                        // -
    float sum = 0;
    for (u32 part = 0; part < 4; ++part)
        sum += parts[part * 128 + THREAD];          // !race
    out[THREAD] = sum;
}

// The parts themselves are written and read at device scope.
// case split_k_coherent block=128 grid=4 args=zero:2048,zero:4,out:512
KERNEL(u32* parts, u32* arrivals, u32* out) {
    __shared__ u32 before;
    STORE(&parts[GROUP * 128 + THREAD], GROUP + THREAD, RELAXED); // +
    parts[GROUP * 128 + THREAD] = GROUP + THREAD;   // -!race
    __builtin_amdgcn_s_waitcnt(0);
    barrier();
    if (THREAD == 0) before = ADD(arrivals, 1, RELAXED);
    barrier();
    if (before != 3) return;
    u32 sum = 0;
    for (u32 part = 0; part < 4; ++part)
        sum += LOAD(&parts[part * 128 + THREAD], RELAXED);
    out[THREAD] = sum;
}

// Split-K with a semaphore: the workgroups add to the output in turns.
// case split_k_turns block=128 grid=4 args=zero:4,in:512
KERNEL(u32* turn, float* out) {
    if (THREAD == 0)
        while (LOAD(turn, ACQUIRE) != GROUP) {}
    barrier();
    out[THREAD] += GROUP;                           // !race
    barrier();
    if (THREAD == 0) {
        STORE(turn, GROUP + 1, RELEASE);            // +
        STORE(turn, GROUP + 1, RELAXED);            // -
    }
}

// Stream-K: the owner of a tile waits for those that computed parts of it.
// case stream_k_release block=128 grid=3 args=zero:1536,zero:12,out:512
KERNEL(float* parts, u32* ready, float* out) {
    if (GROUP != 0) {
        parts[GROUP * 128 + THREAD] = GROUP;        // !race
        barrier();
        if (THREAD == 0) {
            STORE(&ready[GROUP], 1, RELEASE);       // +
            STORE(&ready[GROUP], 1, RELAXED);       // -
        }
        return;
    }
    float sum = THREAD;
    for (u32 part = 1; part < 3; ++part) {
        if (THREAD == 0)
            while (LOAD(&ready[part], ACQUIRE) == 0) {}
        barrier();
        sum += parts[part * 128 + THREAD];          // !race
    }
    out[THREAD] = sum;
}

// case stream_k_acquire block=128 grid=3 args=zero:1536,zero:12,out:512
KERNEL(float* parts, u32* ready, float* out) {
    if (GROUP != 0) {
        parts[GROUP * 128 + THREAD] = GROUP;        // !race
        barrier();
        if (THREAD == 0) STORE(&ready[GROUP], 1, RELEASE);
        return;
    }
    float sum = THREAD;
    for (u32 part = 1; part < 3; ++part) {
        if (THREAD == 0) {
            while (LOAD(&ready[part], ACQUIRE) == 0) {} // +
            while (LOAD(&ready[part], RELAXED) == 0) {} // -
        }
        barrier();
        sum += parts[part * 128 + THREAD];          // !race
    }
    out[THREAD] = sum;
}

// case stream_k_scope block=128 grid=3 args=zero:1536,zero:12,out:512
KERNEL(float* parts, u32* ready, float* out) {
    if (GROUP != 0) {
        parts[GROUP * 128 + THREAD] = GROUP;        // !race
        barrier();
        if (THREAD == 0) {
            STORE(&ready[GROUP], 1, RELEASE);       // +
            __hip_atomic_store(&ready[GROUP], 1, __ATOMIC_RELEASE, WORKGROUP); // -
        }
        return;
    }
    float sum = THREAD;
    for (u32 part = 1; part < 3; ++part) {
        if (THREAD == 0)
            while (LOAD(&ready[part], ACQUIRE) == 0) {}
        barrier();
        sum += parts[part * 128 + THREAD];          // !race
    }
    out[THREAD] = sum;
}

// The owner does not wait for the last part.
// case stream_k_missing block=128 grid=3 args=zero:1536,zero:12,out:512
KERNEL(float* parts, u32* ready, float* out) {
    if (GROUP != 0) {
        parts[GROUP * 128 + THREAD] = GROUP;        // !race
        barrier();
        if (THREAD == 0) STORE(&ready[GROUP], 1, RELEASE);
        return;
    }
    float sum = THREAD;
    for (u32 part = 1; part < 3; ++part) {
        if (THREAD == 0)
            while (LOAD(&ready[1], ACQUIRE) == 0) {} // -
            while (LOAD(&ready[part], ACQUIRE) == 0) {} // +
        barrier();
        sum += parts[part * 128 + THREAD];          // !race
    }
    out[THREAD] = sum;
}

// A ring of two slots between two workgroups: nobody may overwrite what is still read.
// case ring_full block=128 grid=2 args=zero:1024,zero:4,zero:4,out:4096
KERNEL(u32* ring, u32* given, u32* taken, u32* out) {
    for (u32 i = 0; i < 8; ++i) {
        u32* slot = ring + i % 2 * 128;
        if (GROUP == 0) {
            if (THREAD == 0)                        // +
                while (LOAD(taken, ACQUIRE) + 2 <= i) {} // +
            barrier();
            slot[THREAD] = i + THREAD;              // !race
            barrier();
            if (THREAD == 0) STORE(given, i + 1, RELEASE);
        } else {
            if (THREAD == 0)
                while (LOAD(given, ACQUIRE) <= i) {}
            barrier();
            out[i * 128 + THREAD] = slot[127 - THREAD]; // !race
            barrier();
            if (THREAD == 0) STORE(taken, i + 1, RELEASE);
        }
    }
}

// The reader gives a slot back before all of its waves have read it.
// case ring_early block=128 grid=2 args=zero:1024,zero:4,zero:4,out:4096
KERNEL(u32* ring, u32* given, u32* taken, u32* out) {
    for (u32 i = 0; i < 8; ++i) {
        u32* slot = ring + i % 2 * 128;
        if (GROUP == 0) {
            if (THREAD == 0)
                while (LOAD(taken, ACQUIRE) + 2 <= i) {}
            barrier();
            slot[THREAD] = i + THREAD;              // !race
            barrier();
            if (THREAD == 0) STORE(given, i + 1, RELEASE);
        } else {
            if (THREAD == 0)
                while (LOAD(given, ACQUIRE) <= i) {}
            barrier();
            u32 value = slot[127 - THREAD];         // !race
            barrier();                              // +
            if (THREAD == 0) STORE(taken, i + 1, RELEASE);
            out[i * 128 + THREAD] = value;
        }
    }
}

// Waves of a workgroup hand a tile on with flags of workgroup scope, two tiles in flight.
// case wave_pipeline block=128 grid=2 args=zero:1024,zero:16,out:4096
KERNEL(u32* tiles, u32* flags, u32* out) {
    u32 lane = THREAD % 64, wave = __builtin_amdgcn_readfirstlane(THREAD / 64);
    u32 *given = flags + 2 * GROUP, *taken = given + 1;
    for (u32 i = 0; i < 8; ++i) {
        u32* tile = tiles + GROUP * 128 + i % 2 * 64;
        if (wave == 0) {
            while (__hip_atomic_load(taken, __ATOMIC_ACQUIRE, WORKGROUP) + 2 <= i) {}
            tile[lane] = i + lane;                  // +
            __hip_atomic_store(given, i + 1, __ATOMIC_RELEASE, WORKGROUP);
            __builtin_amdgcn_sched_barrier(0);      // -
            tile[lane] = i + lane;                  // -!race
        } else {
            while (__hip_atomic_load(given, __ATOMIC_ACQUIRE, WORKGROUP) <= i) {}
            out[GROUP * 512 + i * 64 + lane] = tile[63 - lane]; // !race
            __hip_atomic_store(taken, i + 1, __ATOMIC_RELEASE, WORKGROUP);
        }
    }
}

// A grid-wide barrier between two steps.
// case grid_barrier block=128 grid=4 args=zero:4,zero:2048,out:2048
KERNEL(u32* arrivals, u32* step, u32* out) {
    step[GROUP * 128 + THREAD] = GROUP + THREAD;    // !race
    barrier();
    if (THREAD == 0) {
        ADD(arrivals, 1, RELEASE);
        while (LOAD(arrivals, ACQUIRE) < 4) {}      // +
    }
    barrier();
    out[GROUP * 128 + THREAD] = step[(511 - GROUP * 128) - THREAD]; // !race
}
