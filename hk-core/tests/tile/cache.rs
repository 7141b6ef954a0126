//! `hk/cache.h`: slots of tokens, where they are, and what is stored there.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, Real, Scalar, bf16, f16};

use crate::gpu::{Program, programs};

const SOURCE: &str = r"
// Slots of n tokens, from b[0] of a list of 64 or, if b[1], 32 bits, in a cache of b[2].
KERNEL(slots, 64) {
  const u32* const b = static_cast<const u32*>(io.b);
  SlotMap map = {};
  map.slots = {io.a, b[0], b[1] == 0}, map.count = b[2];
  const u32 token = thread_idx().x;
  if (token < io.n) static_cast<u32*>(io.out)[token] = slot_of(map, token);
}
KERNEL(own_slots, 64) {
  SlotMap map = {};
  map.count = io.n;
  static_cast<u32*>(io.out)[thread_idx().x] = slot_of(map, thread_idx().x);
}

// Where n slots begin and b[0] elements of a row are, with strides and sizes of a.
KERNEL(places, 64) {
  const i64* const a = static_cast<const i64*>(io.a);
  SlotMap map = {};
  map.block_stride = a[0], map.run_stride = a[1], map.slot_stride = a[2];
  map.group_stride = a[3], map.element_stride = a[4];
  map.block = a[5], map.run = a[6], map.group = a[7];
  i64* const out = static_cast<i64*>(io.out);
  for (u32 i = thread_idx().x; i < io.n; i += 64) out[i] = slot_offset(map, i);
  const u32 elements = *static_cast<const u32*>(io.b);
  for (u32 i = thread_idx().x; i < elements; i += 64) out[io.n + i] = element_offset(map, i);
}

// Four numbers from the second element on, b apart, as a cache's type n.
KERNEL(rounded, 64) {
  const vec<f32, 4> x = load_elements<f32, 4>(static_cast<const f32*>(io.a));
  const i64 stride = *static_cast<const i64*>(io.b);
  if (thread_idx().x == 0) store_rounded<4>(io.out, 1, static_cast<cache_type>(io.n), x, stride);
}
KERNEL(rounded_one, 64) {
  const f32 x = *static_cast<const f32*>(io.a);
  const i64 stride = *static_cast<const i64*>(io.b);
  if (thread_idx().x == 0) {
    store_rounded<1>(io.out, 1, static_cast<cache_type>(io.n), vec<f32, 1>{x}, stride);
  }
}
";

const NONE: u32 = u32::MAX;

fn all() -> [Program; 2] {
    programs(&["cache.h"], SOURCE)
}

#[test]
fn tokens_outside_of_the_list_or_the_cache_have_no_slot() {
    let listed: [i64; 7] = [0, 8, 9, -1, 1 << 32, (1 << 33) + 3, 4];
    for program in all() {
        let got = program.run("slots", 64, (&listed, &[7u32, 0, 9]), 9, (9, 7u32));
        let want = [0, 8, NONE, NONE, NONE, NONE, 4, NONE, NONE];
        assert_eq!(got, want, "{}", program.chip());
        let short: [i32; 5] = [8, i32::MIN, 9, i32::MAX, 1];
        let got = program.run("slots", 64, (&short, &[5u32, 1, 9]), 6, (6, 7u32));
        assert_eq!(got, [8, NONE, NONE, NONE, 1, NONE], "{}", program.chip());
        let got = program.run("own_slots", 64, (&[0u32], &[0u32]), 5, (64, 7u32));
        let want = (0..64).map(|token| if token < 5 { token } else { NONE });
        assert!(got.iter().copied().eq(want), "{} {got:?}", program.chip());
    }
}

#[test]
fn slots_are_in_runs_of_blocks_and_elements_in_groups() {
    let (strides, [block, run, group]) = ([10_000_000_000, 700, 11, 130, 3], [12, 4, 5]);
    let [of_block, of_run, of_slot, of_group, of_element] = strides;
    let sizes: Vec<i64> = strides.into_iter().chain([block, run, group]).collect();
    for program in all() {
        let got = program.run("places", 64, (&sizes, &[23u32]), 40, (63, 0i64));
        let slots = (0..40).map(|slot| {
            slot / block * of_block + slot % block / run * of_run + slot % run * of_slot
        });
        let elements =
            (0..23).map(|element| element / group * of_group + element % group * of_element);
        assert!(got.into_iter().eq(slots.chain(elements)), "{}", program.chip());
    }
}

fn check<T: Scalar + PartialEq + std::fmt::Debug>(program: &Program, code: u32) {
    // A tie, one that is too large for some, and one that is too small.
    let x = [1.0625f32, -1e6, 3e-9, -0.3];
    for (kernel, count) in [("rounded", 4), ("rounded_one", 1)] {
        for stride in [1i64, 3] {
            let fill = T::from_f64(2.0);
            let got = program.run(kernel, 64, (&x, &[stride]), code, (16, fill));
            let mut want = [fill; 16];
            for (i, x) in x.into_iter().enumerate().take(count) {
                want[1 + i * stride as usize] = T::from_f64(f64::from(x));
            }
            // Zeros of both signs are the same.
            let same = got.iter().zip(&want).all(|(got, want)| got.to_f64() == want.to_f64());
            assert!(same, "{} {code} by {stride}: {got:?}", program.chip());
        }
    }
}

#[test]
fn numbers_are_rounded_to_the_type_of_the_cache() {
    let [cdna3, cdna4] = all();
    for program in [&cdna3, &cdna4] {
        check::<bf16>(program, bf16::CODE);
        check::<f16>(program, f16::CODE);
        check::<f32>(program, f32::CODE);
    }
    check::<F8E4M3Fnuz>(&cdna3, 3);
    check::<F8E4M3>(&cdna4, 3);
}
