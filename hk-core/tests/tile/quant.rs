//! `hk/quant.h` and `hk/scale_tiles.h`: scales, codes and what they stand for, of every bf16 and what lies next to
//! ties, and where shuffled scales are.

use hk_core::dtype::{
    E8M0, Element, F4E2M1, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Scalar, bf16, f16,
};

use crate::gpu::{Program, noise, programs};

const SOURCE: &str = r"
template <class F>
__device__ void each(u32 count, F f) {
  for (u32 i = thread_idx().x; i < count; i += 256) f(i);
}
template <class Format>
__device__ void encode(const Io& io) {
  each(io.n, [&](u32 i) {
    static_cast<u32*>(io.out)[i] = Format::encode(static_cast<const vec<f32, 4>*>(io.a)[i]);
  });
}
template <class Format>
__device__ void decode(const Io& io) {
  each(io.n, [&](u32 i) {
    static_cast<vec<f32, 4>*>(io.out)[i] = Format::decode(static_cast<const u32*>(io.a)[i]);
  });
}
#define FORMAT(name) \
  KERNEL(encode_##name, 256) { encode<name>(io); } \
  KERNEL(decode_##name, 256) { decode<name>(io); }
FORMAT(i8_codes) FORMAT(e4m3_codes) FORMAT(e5m2_codes) FORMAT(mx_e4m3) FORMAT(mx_e5m2)

KERNEL(decode_mx_e2m1, 256) {
  each(io.n, [&](u32 i) {
    static_cast<vec<f32, 8>*>(io.out)[i] = mx_e2m1::decode(static_cast<const u32*>(io.a)[i]);
  });
}

KERNEL(scaling, 256) {
  const f32 most = *static_cast<const f32*>(io.b);
  each(io.n, [&](u32 i) {
    const u32 amax = static_cast<const u32*>(io.a)[i];
    const struct scaling row = row_scaling(amax, most), group = group_scaling(amax, most);
    static_cast<vec<f32, 4>*>(io.out)[i] = {row.scale, row.inverse, group.scale, group.inverse};
  });
}

// Of amax i by mode b.
template <class Format>
__device__ void scale_bytes(const Io& io) {
  const mx_round mode = static_cast<mx_round>(*static_cast<const u32*>(io.b));
  each(io.n, [&](u32 i) {
    static_cast<u32*>(io.out)[i] = mx_scale<Format>(static_cast<const u32*>(io.a)[i], mode);
  });
}
KERNEL(scale_mx_e2m1, 256) { scale_bytes<mx_e2m1>(io); }
KERNEL(scale_mx_e4m3, 256) { scale_bytes<mx_e4m3>(io); }
KERNEL(scale_mx_e5m2, 256) { scale_bytes<mx_e5m2>(io); }

// With the scale of byte b.
template <class Format>
__device__ void mx_encode_8(const Io& io) {
  const u32 byte = *static_cast<const u32*>(io.b);
  each(io.n, [&](u32 i) {
    const vec<f32, 8> x = static_cast<const vec<f32, 8>*>(io.a)[i];
    static_cast<vec<u32, 2>*>(io.out)[i] = mx_encode<Format>(x, byte);
  });
}
template <class Format>
__device__ void mx_encode_4(const Io& io) {
  const u32 byte = *static_cast<const u32*>(io.b);
  each(io.n, [&](u32 i) {
    const vec<f32, 8> x = static_cast<const vec<f32, 8>*>(io.a)[i];
    static_cast<u32*>(io.out)[i] = mx_encode<Format>(x, byte)[0];
  });
}
KERNEL(mx_encode_e4m3, 256) { mx_encode_8<mx_e4m3>(io); }
KERNEL(mx_encode_e5m2, 256) { mx_encode_8<mx_e5m2>(io); }
KERNEL(mx_encode_to_even, 256) { mx_encode_4<mx_e2m1>(io); }
KERNEL(mx_encode_away, 256) { mx_encode_4<mx_e2m1_away>(io); }

KERNEL(scale_values, 256) {
  each(256, [&](u32 i) { static_cast<f32*>(io.out)[i] = mx_scale_value(i); });
}

// Of every place in n rows of b blocks.
KERNEL(shuffled, 256) {
  const u32 columns = *static_cast<const u32*>(io.b);
  each(io.n * columns, [&](u32 i) {
    static_cast<i64*>(io.out)[i] = shuffled_scale(i / columns, i % columns, columns);
  });
}

// Of eight elements.
template <class T>
__device__ void amax(const Io& io) {
  each(io.n, [&](u32 i) {
    const vec<T, 8> x = static_cast<const vec<T, 8>*>(io.a)[i];
    static_cast<u32*>(io.out)[i] = largest<T, 8>(magnitudes<T, 8>(x));
  });
}
KERNEL(amax_bf16, 256) { amax<bf16>(io); }
KERNEL(amax_f16, 256) { amax<f16>(io); }
KERNEL(amax_f32, 256) { amax<f32>(io); }
// Of a wave.
KERNEL(amax_wave, 64) {
  const u32 i = thread_idx().x;
  static_cast<u32*>(io.out)[i] =
      wave_reduce<largest_magnitude>(static_cast<const u32*>(io.a)[i]);
}
";

fn quant_programs() -> [Program; 2] {
    programs(&["quant.h", "scale_tiles.h", "wave.h"], SOURCE)
}

/// Every bf16, and the f32 on both sides of each.
fn numbers() -> Vec<f32> {
    let every = (0..=u16::MAX).map(|bits| u32::from(bits) << 16);
    every
        .flat_map(|bits| [bits, bits.wrapping_add(1), bits.wrapping_sub(1), bits])
        .map(f32::from_bits)
        .collect()
}

/// The same without NaN, and without signs: magnitudes.
fn finite_magnitudes() -> Vec<f32> {
    numbers().into_iter().filter(|x| x.is_finite() && x.is_sign_positive()).collect()
}

fn bits<T: Element>(codes: &[u32]) -> Vec<T> {
    bytemuck::cast_slice(codes).to_vec()
}

/// Codes of a format against those of the host's type.
fn check_format<T: Scalar>(program: &Program, format: &str, keeps_nan: bool) {
    let x = numbers();
    let n = x.len() / 4;
    let kernel = format!("encode_{format}");
    let got = program.run(&kernel, 256, (&x, &[0u32]), n as u32, (n, 0u32));
    for (x, got) in x.iter().zip(bits::<T>(&got)) {
        if x.is_nan() && !keeps_nan {
            continue;
        }
        // i8 is symmetric; other types saturate at their largest by themselves.
        let want = T::from_f64(f64::from(*x).max(if format == "i8_codes" {
            -127.0
        } else {
            f64::NEG_INFINITY
        }));
        let want = if x.is_nan() { T::from_f64(f64::NAN) } else { want };
        let same = got == want || (got.to_f64().is_nan() && want.to_f64().is_nan());
        assert!(same, "{} {format}: {x:e} gives {got:?}, not {want:?}", program.chip());
    }

    let all: Vec<u8> = (0..=u8::MAX).collect();
    let kernel = format!("decode_{format}");
    let got = program.run(&kernel, 256, (&all, &[0u32]), 64, (256, 7.0f32));
    for (code, got) in all.iter().zip(got) {
        let want = bytemuck::pod_read_unaligned::<T>(&[*code]).to_f64();
        let same = f64::from(got) == want || (got.is_nan() && want.is_nan());
        assert!(same, "{} {format}: {code:#x} stands for {got}, not {want}", program.chip());
    }
}

#[test]
fn codes_of_8_bits_are_the_hosts() {
    let [cdna3, cdna4] = &quant_programs();
    check_format::<F8E4M3Fnuz>(cdna3, "e4m3_codes", true);
    check_format::<F8E5M2Fnuz>(cdna3, "e5m2_codes", true);
    check_format::<F8E4M3>(cdna4, "e4m3_codes", true);
    check_format::<F8E5M2>(cdna4, "e5m2_codes", true);
    for program in [cdna3, cdna4] {
        check_format::<i8>(program, "i8_codes", true);
        check_format::<F8E4M3>(program, "mx_e4m3", false);
        check_format::<F8E5M2>(program, "mx_e5m2", false);
    }
}

#[test]
fn scales_are_quotients_of_ieee() {
    let mut amax = finite_magnitudes();
    amax.extend(noise(3).take(20_000).map(|x| f32::from_bits(x as u32 & 0x7fff_ffff)));
    amax.extend([f32::INFINITY, f32::NAN]);
    let n = amax.len();
    for program in quant_programs() {
        for most in [127.0f32, 240.0, 448.0, 57_344.0] {
            let got = program.run("scaling", 256, (&amax, &[most]), n as u32, (4 * n, 0.0f32));
            for (amax, got) in amax.iter().zip(got.as_chunks::<4>().0) {
                let row = amax / most;
                let row = if row < f32::MIN_POSITIVE { 1.0 } else { row };
                let group = if *amax < 1e-10 { 1e-10 } else { *amax } / most;
                let want = [row, 1.0 / row, group, 1.0 / group];
                let same =
                    |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                let all = got.iter().zip(&want).all(same);
                assert!(all, "{} {amax:e} / {most}: {got:?}, not {want:?}", program.chip());
            }
        }
    }
}

/// The byte of the power of two that a mode chooses, by what the mode means: the largest byte, or the
/// smallest, of which something holds.
fn scale_byte(mode: u32, amax: f64, most: f64) -> u32 {
    let exponent = most.log2().floor() as i32;
    let power = |byte: i32| 2f64.powi(byte - 127);
    let first = |above: f64| (0..=254).find(|byte| amax <= above * power(*byte)).unwrap_or(254);
    let last = |from: f64| (0..=254).rev().find(|byte| from * power(*byte) <= amax).unwrap_or(0);
    let byte = match mode {
        0 => last(1.75 * 2f64.powi(exponent - 1)),
        1 => first(most),
        2 => last(2f64.powi(exponent)),
        3 => first(2f64.powi(exponent)),
        _ => last(most),
    };
    byte as u32
}

#[test]
fn bytes_of_blocks_are_what_their_modes_mean() {
    let amax = finite_magnitudes();
    let n = amax.len();
    for (format, most) in [("e2m1", 6.0), ("e4m3", 448.0), ("e5m2", 57_344.0)] {
        for mode in 0..5u32 {
            if mode == 0 && format == "e5m2" {
                continue;
            }
            let want: Vec<u32> =
                amax.iter().map(|amax| scale_byte(mode, f64::from(*amax), most)).collect();
            for program in quant_programs() {
                let kernel = format!("scale_mx_{format}");
                let got = program.run(&kernel, 256, (&amax, &[mode]), n as u32, (n, 0u32));
                for ((amax, got), want) in amax.iter().zip(got).zip(&want) {
                    assert_eq!(got, *want, "{} {format} mode {mode} {amax:e}", program.chip());
                }
                let special = [f32::INFINITY, f32::NAN];
                let got = program.run(&kernel, 256, (&special, &[mode]), 2, (2, 0u32));
                assert_eq!(got, [255, 255], "{} {format} mode {mode}", program.chip());
            }
        }
    }
}

/// Scale bytes at both ends, in the middle, and where products leave the range of f16.
const BYTES: [u32; 8] = [0, 1, 2, 103, 127, 142, 253, 254];

/// All that is no NaN.
fn quotients() -> Vec<f32> {
    let mut x: Vec<f32> = numbers().into_iter().filter(|x| !x.is_nan()).collect();
    x.truncate(x.len() / 8 * 8);
    x
}

fn check_blocks<T: Scalar>(format: &str) {
    let x = quotients();
    let kernel = format!("mx_encode_{format}");
    for program in quant_programs() {
        let run = |byte: u32| {
            program.run(&kernel, 256, (&x, &[byte]), (x.len() / 8) as u32, (x.len() / 4, 1u32))
        };
        for byte in BYTES {
            let scale = f64::from(E8M0::from_bits(byte as u8).to_f32());
            for (x, got) in x.iter().zip(bits::<T>(&run(byte))) {
                let want = T::from_f64(f64::from(*x) / scale);
                assert_eq!(got, want, "{} {format}: {x:e} by {byte}", program.chip());
            }
        }
        assert!(run(255).iter().all(|codes| *codes == 0), "{} {format}", program.chip());
    }
}

#[test]
fn codes_of_8_bit_blocks_are_the_hosts() {
    check_blocks::<F8E4M3>("e4m3");
    check_blocks::<F8E5M2>("e5m2");
}

/// The code of the nearest number, of two the larger.
fn away(x: f64) -> F4E2M1 {
    let middles = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0];
    let code = middles.iter().filter(|middle| x.abs() >= **middle).count() as u8;
    F4E2M1::from_bits(code | u8::from(x.is_sign_negative()) << 3)
}

#[test]
fn codes_of_4_bit_blocks_are_the_hosts() {
    let x = quotients();
    type Round = fn(f64) -> F4E2M1;
    for (kernel, round) in [("to_even", F4E2M1::from_f64 as Round), ("away", away)] {
        let kernel = format!("mx_encode_{kernel}");
        for program in quant_programs() {
            let run = |byte: u32| {
                program.run(&kernel, 256, (&x, &[byte]), (x.len() / 8) as u32, (x.len() / 8, 1u32))
            };
            for byte in BYTES {
                let scale = f64::from(E8M0::from_bits(byte as u8).to_f32());
                let got = run(byte)
                    .into_iter()
                    .flat_map(|codes| (0..8).map(move |i| codes >> (4 * i) & 15));
                for (x, got) in x.iter().zip(got) {
                    let want = round(f64::from(*x) / scale);
                    let bits = u32::from(want.to_bits());
                    assert_eq!(got, bits, "{} {kernel}: {x:e} by {byte}", program.chip());
                }
            }
            assert!(run(255).iter().all(|codes| *codes == 0), "{} {kernel}", program.chip());
        }
    }
}

#[test]
fn codes_of_4_bits_and_scales_stand_for_the_hosts_numbers() {
    for program in quant_programs() {
        let codes = [0x7654_3210u32, 0xfedc_ba98];
        let got = program.run("decode_mx_e2m1", 256, (&codes, &[0u32]), 2, (16, f32::NAN));
        for (code, got) in (0..16).zip(got) {
            let want = F4E2M1::from_bits(code).to_f32();
            assert_eq!(got.to_bits(), want.to_bits(), "{} {code}", program.chip());
        }
        let got = program.run("scale_values", 256, (&[0u32], &[0u32]), 0, (256, 0.0f32));
        for (byte, got) in (0..=u8::MAX).zip(got) {
            let want = E8M0::from_bits(byte).to_f32();
            assert!(got == want || (got.is_nan() && want.is_nan()), "{} {byte}", program.chip());
        }
    }
}

#[test]
fn shuffled_scales_have_a_byte_each() {
    for program in quant_programs() {
        for (rows, columns) in [(256u32, 8u32), (512, 24)] {
            let n = (rows * columns) as usize;
            let mut got = program.run("shuffled", 256, (&[0u32], &[columns]), rows, (n, -1i64));
            // The tile of a place, and the order of dimensions within one: 4, 16, 2 and 2.
            let (row, column) = (37, 6);
            let want = i64::from(row / 32 * 32 * columns + 2 * 64 + 5 * 4 + 2);
            assert_eq!(got[(row * columns + column) as usize], want, "{}", program.chip());
            got.sort_unstable();
            assert!(got.into_iter().eq(0..n as i64), "{} {rows} x {columns}", program.chip());
        }
    }
}

fn check_amax<T: Scalar>(kernel: &str) {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let x: Vec<T> = noise(7)
        .take(8 * 500)
        .map(|x| match x % 97 {
            i @ 0..5 => special[i as usize],
            _ => ((x >> 8) % 10_007) as f64 / 64.0 - 70.0,
        })
        .map(T::from_f64)
        .collect();
    for program in quant_programs() {
        let got = program.run(kernel, 256, (&x, &[0u32]), 500, (500, 1u32));
        for (x, got) in x.as_chunks::<8>().0.iter().zip(got) {
            let sizes = x.map(|x| x.to_f64().abs());
            let want = if sizes.iter().any(|x| x.is_nan()) {
                f64::NAN
            } else {
                sizes.into_iter().fold(0.0, f64::max)
            };
            let got = f64::from(f32::from_bits(got));
            assert!(
                got == want || (got.is_nan() && want.is_nan()),
                "{} {x:?}: {got}",
                program.chip()
            );
        }
    }
}

#[test]
fn the_largest_magnitude_keeps_infinity_and_nan() {
    check_amax::<bf16>("amax_bf16");
    check_amax::<f16>("amax_f16");
    check_amax::<f32>("amax_f32");
    for program in quant_programs() {
        let mut x: Vec<u32> = noise(8).take(64).map(|x| x as u32 & 0x7fff_ffff).collect();
        x[40] = 0x7fc0_0000;
        x.iter_mut().for_each(|x| *x = (*x).min(0x7fc0_0000));
        let got = program.run("amax_wave", 64, (&x, &[0u32]), 0, (64, 0u32));
        assert_eq!(got, vec![0x7fc0_0000; 64], "{}", program.chip());
    }
}
