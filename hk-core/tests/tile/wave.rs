//! `hk/wave.h`: reductions over lanes, waves and workgroups.

use crate::gpu::{noise, programs};

const SOURCE: &str = r"
template <class Op, int Lanes>
__device__ void reduce(const Io& io) {
  const u32 i = thread_idx().x;
  static_cast<f32*>(io.out)[i] = wave_reduce<Op, Lanes>(static_cast<const f32*>(io.a)[i]);
}
template <class Op, int Waves>
__device__ void reduce_all(const Io& io) {
  __shared__ f32 scratch[Waves];
  const u32 i = thread_idx().x;
  static_cast<f32*>(io.out)[i] =
      workgroup_reduce<Op, Waves>(static_cast<const f32*>(io.a)[i], scratch);
}
#define LANES(n) \
  KERNEL(add_##n, 64) { reduce<add, n>(io); } \
  KERNEL(max_##n, 64) { reduce<maximum, n>(io); }
LANES(1) LANES(2) LANES(4) LANES(8) LANES(16) LANES(32) LANES(64)
#define WAVES(n) \
  KERNEL(add_waves_##n, n * 64) { reduce_all<add, n>(io); } \
  KERNEL(max_waves_##n, n * 64) { reduce_all<maximum, n>(io); }
WAVES(1) WAVES(2) WAVES(4) WAVES(8) WAVES(16)
KERNEL(partners, 64) {
  u32* out = static_cast<u32*>(io.out);
  const u32 lane = lane_id();
  // Each half's lanes hold the same: its number.
  out[lane] = arch::other_half<1>(lane);
  out[64 + lane] = arch::other_half<2>(lane / 2);
  out[128 + lane] = arch::other_half<4>(lane / 4);
  out[192 + lane] = arch::other_half<8>(lane / 8);
  out[256 + lane] = arch::other_half<16>(lane / 16);
  out[320 + lane] = arch::other_half<32>(lane / 32);
}
KERNEL(quads, 64) {
  const u32 lane = lane_id();
  u32 values[4];
  for (u32 i = 0; i < 4; ++i) values[i] = 10 * lane + i;
  exchange_in_quad(values);
  for (u32 i = 0; i < 4; ++i) static_cast<u32*>(io.out)[4 * lane + i] = values[i];
}
";

/// Small integers: sums are exact in any order.
fn integers(count: usize) -> Vec<f32> {
    noise(7).take(count).map(|x| (x % 2001) as f32 - 1000.0).collect()
}

#[test]
fn groups_of_lanes_get_their_sum_and_maximum() {
    for program in programs(&["wave.h"], SOURCE) {
        let x = integers(64);
        for lanes in [1, 2, 4, 8, 16, 32, 64] {
            let inputs = (&x[..], &[0u32][..]);
            let sums = program.run(&format!("add_{lanes}"), 64, inputs, 0, (64, f32::NAN));
            let maxima = program.run(&format!("max_{lanes}"), 64, inputs, 0, (64, f32::NAN));
            for (i, group) in x.chunks(lanes).enumerate() {
                let sum = group.iter().sum::<f32>();
                let maximum = group.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let range = i * lanes..(i + 1) * lanes;
                assert_eq!(sums[range.clone()], vec![sum; lanes], "{} {lanes}", program.chip());
                assert_eq!(maxima[range], vec![maximum; lanes], "{} {lanes}", program.chip());
            }
        }
    }
}

#[test]
fn workgroups_get_their_sum_and_maximum() {
    for program in programs(&["wave.h"], SOURCE) {
        for waves in [1, 2, 4, 8, 16] {
            let threads = waves * 64;
            let x = integers(threads);
            let run = |op| {
                let kernel = format!("{op}_waves_{waves}");
                let inputs = (&x[..], &[0u32][..]);
                program.run(&kernel, threads as u32, inputs, 0, (threads, f32::NAN))
            };
            assert_eq!(run("add"), vec![x.iter().sum::<f32>(); threads], "{}", program.chip());
            let maximum = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            assert_eq!(run("max"), vec![maximum; threads], "{}", program.chip());
        }
    }
}

#[test]
fn every_lane_gets_the_same_bits() {
    for program in programs(&["wave.h"], SOURCE) {
        // Sums that round: the order matters, and must be the same for all lanes.
        let x: Vec<f32> = noise(3).take(64).map(|x| x as f32 / 3.0).collect();
        let sums = program.run("add_64", 64, (&x[..], &[0u32][..]), 0, (64, 0.0f32));
        assert!(sums.iter().all(|sum| sum.to_bits() == sums[0].to_bits()), "{sums:?}");
    }
}

#[test]
fn a_maximum_keeps_nan() {
    for program in programs(&["wave.h"], SOURCE) {
        for place in [0, 17, 63] {
            let mut x = integers(64);
            x[place] = f32::NAN;
            let maxima = program.run("max_64", 64, (&x[..], &[0u32][..]), 0, (64, 0.0f32));
            assert!(maxima.iter().all(|x| x.is_nan()), "{} {place}", program.chip());
        }
    }
}

#[test]
fn lanes_get_the_value_of_the_other_half_of_their_group() {
    for program in programs(&["wave.h"], SOURCE) {
        let got = program.run("partners", 64, (&[0u32][..], &[0u32][..]), 0, (384, u32::MAX));
        let halves = [1, 2, 4, 8, 16, 32];
        let want: Vec<u32> =
            halves.iter().flat_map(|half| (0..64).map(move |lane| (lane / half) ^ 1)).collect();
        assert_eq!(got, want, "{}", program.chip());
    }
}

#[test]
fn lanes_of_a_quad_get_what_each_has_for_them() {
    for program in programs(&["wave.h"], SOURCE) {
        let got = program.run("quads", 64, (&[0u32][..], &[0u32][..]), 0, (256, u32::MAX));
        let of_quad = |lane: u32| (0..4).map(move |i| 10 * (lane / 4 * 4 + i) + lane % 4);
        let want: Vec<u32> = (0..64).flat_map(of_quad).collect();
        assert_eq!(got, want, "{}", program.chip());
    }
}
