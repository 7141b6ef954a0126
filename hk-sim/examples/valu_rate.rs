//! Prints the time that one core takes for a vector instruction, in nanoseconds: for each vector
//! level of the host, with all lanes active and with some inactive. An argument selects the
//! instructions whose name contains it.

#![expect(clippy::print_stdout, reason = "it is a program for the terminal")]

use hk_sim::exec::SingleWave;
use hk_sim::exec::simd::SimdLevel;
use hk_sim::isa::Arch;
/// Time that this thread has run, in nanoseconds: other load on the machine does not count.
fn cpu_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split_whitespace().next().unwrap().parse().unwrap()
}
fn main() {
    let only = std::env::args().nth(1);
    // (name, words) v10 = f(v1, v2, v3)
    let v = |n: u32| 256 + n;
    let vop2 = |op: u32, d: u32, s0: u32, s1: u32| vec![op << 25 | d << 17 | s1 << 9 | s0];
    let vop1 = |op: u32, d: u32, s0: u32| vec![0x7e00_0000 | d << 17 | op << 9 | s0];
    let vop3 = |op: u32, d: u32, s: [u32; 3]| {
        vec![0xd000_0000 | op << 16 | d, s[0] | s[1] << 9 | s[2] << 18]
    };
    let vop3p = |op: u32, d: u32, s: [u32; 3]| {
        vec![0xd380_0000 | op << 16 | 1 << 14 | d, s[0] | s[1] << 9 | s[2] << 18 | 3 << 27]
    };
    let cases: Vec<(&str, Vec<u32>)> = vec![
        ("v_nop", vec![0x7e00_0000]),
        ("v_mov_b32", vop1(1, 10, v(1))),
        ("v_add_f32", vop2(1, 10, v(1), 2)),
        ("v_add_f32 alias", vop2(1, 1, v(1), 2)),
        ("v_add_f32 const", vop2(1, 10, 242, 2)),
        ("v_add_f32 sgpr", vop2(1, 10, 5, 2)),
        ("v_add_f32 neg", vec![0xd101_000a, v(1) | v(2) << 9 | 1 << 29]),
        ("v_fma_f32", vop3(459, 10, [v(1), v(2), v(3)])),
        ("v_fmac_f32", vop2(59, 10, v(1), 2)),
        ("v_and_b32", vop2(19, 10, v(1), 2)),
        ("v_lshl_add_u32", vop3(509, 10, [v(1), v(2), v(3)])),
        ("v_lshl_add_u32 c", vop3(509, 10, [v(1), 130, v(3)])),
        ("v_mul_lo_u32", vop3(645, 10, [v(1), v(2), 0])),
        ("v_cndmask_b32", vop2(0, 10, v(1), 2)),
        ("v_cmp_lt_f32", vec![0x7c00_0000 | 65 << 17 | 2 << 9 | v(1)]),
        ("v_cmp_gt_i32", vec![0x7c00_0000 | 196 << 17 | 2 << 9 | v(1)]),
        ("v_max_f32", vop2(11, 10, v(1), 2)),
        ("v_pk_fma_f32", vop3p(48, 10, [v(2), v(4), v(6)])),
        ("v_pk_mul_f32", vop3p(49, 10, [v(2), v(4), 0])),
        ("v_pk_add_f16", vop3p(15, 10, [v(2), v(4), 0])),
        ("v_pk_fma_f16", vop3p(14, 10, [v(2), v(4), v(6)])),
        ("v_fma_mix_f32", vop3p(32, 10, [v(2), v(4), v(6)])),
        ("v_dot2_f32_f16", vop3p(35, 10, [v(2), v(4), v(6)])),
        ("v_exp_f32", vop1(32, 10, v(1))),
        ("v_log_f32", vop1(33, 10, v(1))),
        ("v_rcp_f32", vop1(34, 10, v(1))),
        ("v_rsq_f32", vop1(36, 10, v(1))),
        ("v_sqrt_f32", vop1(39, 10, v(1))),
        ("v_sin_f32", vop1(41, 10, v(1))),
        ("v_cvt_f32_i32", vop1(5, 10, v(1))),
        ("v_cvt_u32_f32", vop1(7, 10, v(1))),
        ("v_cvt_f16_f32", vop1(10, 10, v(1))),
        ("v_cvt_f32_f16", vop1(11, 10, v(1))),
        ("v_cvt_pk_bf16_f32", vop3(616, 10, [v(1), v(2), 0])),
        ("v_cvt_pk_fp8_f32", vop3(674, 10, [v(1), v(2), 0])),
        ("v_cvt_pk_f32_fp8", vop1(86, 10, v(1))),
        ("v_lshl_add_u64", vop3(520, 10, [v(2), 130, v(4)])),
        ("v_mad_u64_u32", vec![0xd1e8_6a0a, v(1) | v(2) << 9 | v(4) << 18]),
        ("v_lshlrev_b64", vop3(655, 10, [130, v(2), 0])),
        ("v_mov_b64", vop1(56, 10, v(2))),
        ("v_fma_f64", vop3(460, 10, [v(2), v(4), v(6)])),
        ("v_add_f64", vop3(640, 10, [v(2), v(4), 0])),
        ("v_add_co_u32", vop2(25, 10, v(1), 2)),
        ("v_addc_co_u32", vop2(28, 10, v(1), 2)),
        ("v_perm_b32", vop3(493, 10, [v(1), v(2), v(3)])),
        ("v_bfe_u32", vop3(456, 10, [v(1), v(2), v(3)])),
        ("v_med3_f32", vop3(470, 10, [v(1), v(2), v(3)])),
        ("v_div_scale_f32", vec![0xd1e0_6a0a, v(1) | v(2) << 9 | v(1) << 18]),
        ("v_div_fmas_f32", vop3(482, 10, [v(1), v(2), v(3)])),
        ("v_div_fixup_f32", vop3(478, 10, [v(1), v(2), v(3)])),
        ("v_mbcnt_lo", vop3(652, 10, [193, v(2), 0])),
        ("v_bitop3_b32", vop3(564, 10, [v(1), v(2), v(3)])),
        ("v_add_f32 dpp", vec![1 << 25 | 10 << 17 | 2 << 9 | 250, 1 | 0xb1 << 8 | 0xff << 24]),
        ("v_cvt_f32_f16 sdwa", vec![0x7e00_0000 | 10 << 17 | 11 << 9 | 249, 1 | 6 << 8 | 5 << 16]),
        ("v_readlane", vop3(649, 10, [v(1), 130, 0])),
    ];
    const UNROLL: usize = 128;
    const LOOPS: u32 = 20000;
    for (name, words) in cases {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        print!("{name:20}");
        for level in SimdLevel::available() {
            for exec in [u64::MAX, 0x0fff_ffff_ffff_fff0] {
                let mut code = vec![];
                for _ in 0..UNROLL {
                    code.extend(&words);
                }
                let back = -(code.len() as i32 + 3);
                code.extend([0x8080_8100, 0xbf07_8000, 0xbf85_0000 | (back as u32 & 0xffff)]);
                let mut wave = SingleWave::with_level(Arch::Gfx950, &code, level);
                for r in 0..16 {
                    wave.set_vgpr(
                        r,
                        std::array::from_fn(|l| (1.0f32 + (l * r) as f32 * 0.37).to_bits()),
                    );
                }
                let loops = if level == SimdLevel::best() { LOOPS } else { LOOPS / 10 };
                wave.set_exec(exec);
                wave.set_sgpr(5, 1.0_f32.to_bits());
                wave.set_sgpr(0, 10);
                wave.run().unwrap();
                wave.set_sgpr(0, loops);
                wave.set_exec(exec);
                let start = cpu_time();
                let stats = wave.run().unwrap();
                let ns = (cpu_time() - start) as f64 / stats.instructions as f64;
                print!(" {ns:8.2}");
            }
        }
        println!();
    }
}
