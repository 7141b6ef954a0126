//! Speed of every matrix instruction on one core, by vector level.
//!
//! `cargo run --release -p hk-sim --example mfma_bench [SUBSTRING]`

use std::hint::black_box;
use std::time::{Duration, Instant};

use hk_sim::exec::Lanes;
use hk_sim::exec::mfma::{MfmaArgs, lower};
use hk_sim::exec::simd::SimdLevel;
use hk_sim::isa::{Arch, Format, MFMA, MatType, decode};

#[repr(C, align(64))]
struct Registers([Lanes; 64]);

#[expect(clippy::print_stdout, reason = "the report is the purpose")]
fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    for info in MFMA.iter().filter(|info| info.op.name().contains(&filter)) {
        if info.arch == Arch::Gfx942 && info.a != MatType::Xf32 {
            continue;
        }
        let formats: &[u32] = if info.a == MatType::F8F6F4 { &[0, 1, 2, 3, 4] } else { &[0] };
        for &format in formats {
            let row = info.op.encodings().find(|row| row.archs.has(info.arch)).expect("encoding");
            // a v[0..], b v[16..], c and d v[32..], scales v[63].
            let word0 = 0xd380_0000 | u32::from(row.opcode) << 16 | 32 | format << 8;
            let index = 256 + if info.sparse { 63 } else { 32 };
            let word1 = 256 | (256 + 16) << 9 | index << 18 | format << 29;
            let words = if row.format == Format::Vop3px2 {
                [0xd3ac_0000, (256 + 63) | (256 + 63) << 9, word0 | 1 << 11, word1]
            } else {
                [word0, word1, 0, 0]
            };
            let inst = decode(info.arch, &words).expect("encoding");
            print!("{:<34} {format}", info.op.name());
            for level in SimdLevel::available() {
                let (run, config) = lower(info.arch, &inst, level).expect("matrix instruction");
                let mut registers = Box::new(Registers([[0x3c00_3c00; 64]; 64]));
                for (at, word) in registers.0.as_flattened_mut().iter_mut().enumerate() {
                    *word = (at as u32).wrapping_mul(0x9e37_79b9) & 0x3737_3737 | 0x0101_0101;
                }
                // Scales of 1, or arbitrary sparse indices.
                registers.0[63].fill(0x7f7f_7f7f);
                let base = registers.0.as_mut_ptr();
                // SAFETY: the offsets are within the registers.
                let args = unsafe {
                    MfmaArgs {
                        a: base,
                        b: base.add(16),
                        c: base.add(if info.sparse { 63 } else { 32 }),
                        c_const: 0,
                        d: base.add(32),
                        scale_a: base.add(63),
                        scale_b: base.add(63),
                        mode: 0x3f0,
                    }
                };
                let mut count = 0_u64;
                let mut best = Duration::MAX;
                let until = Instant::now() + Duration::from_millis(60);
                while Instant::now() < until {
                    registers.0[32..63].fill([0; 64]);
                    let start = Instant::now();
                    for _ in 0..200 {
                        // SAFETY: the registers outlive the call and the level is available.
                        unsafe { run(black_box(&config), black_box(&args)) };
                    }
                    best = best.min(start.elapsed());
                    count += 200;
                }
                black_box(count);
                let rate = (info.operations() * 200) as f64 / best.as_secs_f64() / 1e9;
                print!("  {} {rate:7.2}", level.name());
            }
            println!();
        }
    }
}
