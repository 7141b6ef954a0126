//! `hk/types.h`: conversions round as the host's do.

use hk_core::dtype::{Real, bf16, f16};

use crate::gpu::{noise, programs};

const SOURCE: &str = r"
template <class T>
__device__ void round(const Io& io) {
  const vec<f32, 8>* x = static_cast<const vec<f32, 8>*>(io.a);
  vec<T, 8>* out = static_cast<vec<T, 8>*>(io.out);
  for (u32 i = thread_idx().x; i < io.n / 8; i += 256) out[i] = round_to<T, 8>(x[i]);
}
template <class T>
__device__ void widen(const Io& io) {
  const T* x = static_cast<const T*>(io.a);
  f32* out = static_cast<f32*>(io.out);
  for (u32 i = thread_idx().x; i < io.n; i += 256) out[i] = to_f32(x[i]);
}
KERNEL(bf16_round, 256) { round<bf16>(io); }
KERNEL(f16_round, 256) { round<f16>(io); }
KERNEL(bf16_widen, 256) { widen<bf16>(io); }
KERNEL(f16_widen, 256) { widen<f16>(io); }
// An address that all lanes share, which a scalar load would round down to a dword.
KERNEL(unaligned, 64) {
  const auto from = reinterpret_cast<const vec_in_memory<u16, 8, 2>*>(static_cast<const u16*>(io.a) + io.n);
  *static_cast<vec<u16, 8>*>(io.out) = *from;
}
";

/// Every sign, exponent and leading mantissa, with what follows at, just below and just above the
/// middle between two numbers, and random.
fn samples() -> Vec<f32> {
    let tails = [0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff];
    let ends =
        tails.into_iter().flat_map(|tail| (0..0x1_0000u32).step_by(3).map(move |top| (top, tail)));
    let mut all: Vec<f32> = ends.map(|(top, tail)| f32::from_bits(top << 16 | tail)).collect();
    all.extend(noise(11).take(10_000).map(|x| f32::from_bits(x as u32)));
    all.truncate(all.len() / 8 * 8);
    all
}

fn check<T: Real>() {
    let x = samples();
    let n = x.len();
    for program in programs(&["types.h"], SOURCE) {
        let name = T::DTYPE.name();
        let inputs = (&x[..], &[0u32][..]);
        let zero = T::from_f64(0.0);
        let got = program.run(&format!("{name}_round"), 256, inputs, n as u32, (n, zero));
        for (x, got) in x.iter().zip(&got) {
            let want = T::from_f64(f64::from(*x));
            let same = *got == want || (got.to_f64().is_nan() && want.to_f64().is_nan());
            assert!(same, "{} {name}: {x:e} gives {got:?}, not {want:?}", program.chip());
        }

        let all: Vec<T> =
            (0..=u16::MAX).map(|bits| bytemuck::pod_read_unaligned(&bits.to_le_bytes())).collect();
        let inputs = (&all[..], &[0u32][..]);
        let kernel = format!("{name}_widen");
        let got = program.run(&kernel, 256, inputs, all.len() as u32, (all.len(), 0.0f32));
        for (x, got) in all.iter().zip(&got) {
            let want = x.to_f64();
            let same = f64::from(*got) == want || (got.is_nan() && want.is_nan());
            assert!(same, "{} {name}: {x:?} gives {got:e}", program.chip());
        }
    }
}

#[test]
fn vectors_in_memory_are_at_any_address_that_they_allow() {
    let numbers: Vec<bf16> = (0..16).map(|n| bf16::from_f32(n as f32)).collect();
    for program in programs(&["types.h"], SOURCE) {
        for first in 0..8 {
            let inputs = (&numbers[..], &[0u32][..]);
            let got = program.run("unaligned", 64, inputs, first as u32, (8, bf16::ZERO));
            assert_eq!(got, numbers[first..first + 8], "{}", program.chip());
        }
    }
}

#[test]
fn bf16_conversions_are_the_hosts() {
    check::<bf16>();
}

#[test]
fn f16_conversions_are_the_hosts() {
    check::<f16>();
}
