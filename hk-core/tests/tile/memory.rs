//! `hk/memory.h`: buffers end where they say.

use crate::gpu::programs;

const SOURCE: &str = r"
KERNEL(loads, 64) {
  const buffer from(io.a, io.n);
  u32* out = static_cast<u32*>(io.out) + lane_id() * 8;
  const u32 at = lane_id() * 4;
  const bits128 wide = from.load_128(at);
  for (int i = 0; i < 4; ++i) out[i] = wide[i];
  const vec<u32, 2> pair = from.load_64(at);
  out[4] = pair[0];
  out[5] = pair[1];
  out[6] = from.load_32(at);
  out[7] = from.load_32(at | out_of_range);
}
KERNEL(stores, 64) {
  const buffer to(io.out, io.n);
  to.store(lane_id() * 16, bits128(lane_id()));
  to.store(lane_id() * 4 | out_of_range, 77u);
}
";

const NONE: &[u32] = &[0];

#[test]
fn loads_past_the_end_are_zero() {
    let data: Vec<u32> = (1..=80).collect();
    for program in programs(&["memory.h"], SOURCE) {
        // 30 dwords of the data.
        let got = program.run("loads", 64, (&data[..], NONE), 120, (64 * 8, u32::MAX));
        let at = |i: usize| if i < 30 { data[i] } else { 0 };
        for lane in 0..64 {
            let mut want: Vec<u32> = (0..4).map(|i| at(lane + i)).collect();
            want.extend([at(lane), at(lane + 1), at(lane), 0]);
            assert_eq!(got[lane * 8..][..8], want, "{} lane {lane}", program.chip());
        }
    }
}

#[test]
fn stores_past_the_end_are_dropped() {
    for program in programs(&["memory.h"], SOURCE) {
        let got = program.run("stores", 64, (NONE, NONE), 104, (256, u32::MAX));
        let want = (0..256).map(|i| if i < 26 { i / 4 } else { u32::MAX });
        assert!(got.iter().copied().eq(want), "{} {got:?}", program.chip());
    }
}
