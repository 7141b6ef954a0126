//! Accesses that must stop the launch.

use hk_sim::exec::simd::SimdLevel;
use hk_sim::exec::{PRIVATE_APERTURE, SHARED_APERTURE};
use hk_sim::isa::{Format, OPS};
use hk_sim::{FaultKind, FaultReport};
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::case::*;

fn case(name: &str) -> Case {
    Case::new(OPS.iter().find(|row| row.mnemonic == name).expect("an instruction"))
}

fn fault(case: &Case, fill: impl FnOnce(&mut World)) -> Box<FaultReport> {
    let mut world = World::new(&mut StdRng::seed_from_u64(9));
    world.v[DATA] = [0; 64];
    let mut wave = world.wave(crate::arch(case), &case.encode(), SimdLevel::detect(), fill);
    wave.run().expect_err("a fault")
}

/// All lanes inside memory except one.
fn stray(lane: usize, address: impl Fn(&World) -> u64) -> impl FnOnce(&mut World) {
    move |w| {
        let mut addresses = std::array::from_fn(|lane| w.base + 16 * lane as u64);
        addresses[lane] = address(w);
        w.set_v64(ADDR, addresses);
    }
}

#[test]
fn addresses_outside_memory_name_lane_and_address() {
    for (name, kind, bytes) in [
        ("global_load_ubyte", FaultKind::ReadViolation, 1),
        ("global_load_dwordx4", FaultKind::ReadViolation, 16),
        ("global_load_lds_dword", FaultKind::ReadViolation, 4),
        ("global_store_short", FaultKind::WriteViolation, 2),
        ("global_store_dwordx3", FaultKind::WriteViolation, 12),
        ("global_atomic_add", FaultKind::WriteViolation, 4),
        ("flat_load_dwordx2", FaultKind::ReadViolation, 8),
        ("flat_store_dword", FaultKind::WriteViolation, 4),
    ] {
        let edges: [fn(&World, u64) -> u64; 4] = [
            |w, bytes| w.base - bytes,
            |w, bytes| w.base + MEM as u64 - bytes + if bytes > 1 { bytes / 2 } else { 1 },
            |_, _| 0,
            |_, bytes| (u64::MAX - 64) / 16 * 16 - bytes,
        ];
        for (lane, edge) in edges.into_iter().enumerate() {
            let mut expected = 0;
            let report = fault(&case(name), |w| {
                expected = edge(w, bytes);
                stray(lane * 17, |w| edge(w, bytes))(w);
            });
            assert_eq!(report.kind, kind, "{name}: {report}");
            assert_eq!(report.lane, Some(lane as u32 * 17), "{name}: {report}");
            assert_eq!(report.address, Some(expected), "{name}: {report}");
        }
    }
}

#[test]
fn first_lane_at_fault_is_named() {
    let report = fault(&case("global_load_dword"), |w| {
        w.exec = 0xff00;
        w.set_v64(ADDR, [8; 64]);
    });
    assert_eq!(report.lane, Some(8));
}

#[test]
fn a_fault_of_a_store_leaves_memory_as_it_was() {
    let case = case("global_store_dword");
    let mut world = World::new(&mut StdRng::seed_from_u64(10));
    let before = world.mem.clone();
    let mut wave = world.wave(
        crate::arch(&case),
        &case.encode(),
        SimdLevel::detect(),
        stray(63, |w| w.base + MEM as u64),
    );
    assert_eq!(wave.run().expect_err("a fault").kind, FaultKind::WriteViolation);
    assert_eq!(wave.memory(world.base), before);
}

#[test]
fn atomics_must_be_aligned() {
    for (name, offset) in [("global_atomic_add", 2), ("global_atomic_add_x2", 4)] {
        let report = fault(&case(name), stray(5, |w| w.base + offset));
        assert_eq!(
            (report.kind, report.lane),
            (FaultKind::Misaligned, Some(5)),
            "{name}: {report}"
        );
    }
    for (name, offset) in [("ds_add_u32", 1), ("ds_add_rtn_f64", 4)] {
        let report = fault(&case(name), |w| {
            w.v[ADDR] = std::array::from_fn(|lane| 8 * lane as u32 + u32::from(lane == 9) * offset);
        });
        assert_eq!(
            (report.kind, report.lane),
            (FaultKind::Misaligned, Some(9)),
            "{name}: {report}"
        );
    }
}

#[test]
fn apertures_are_bounded() {
    for (base, size) in [(SHARED_APERTURE, LDS), (PRIVATE_APERTURE, SCRATCH)] {
        let report = fault(&case("flat_load_dword"), stray(3, |_| base + size as u64 - 3));
        assert_eq!((report.kind, report.lane), (FaultKind::ReadViolation, Some(3)), "{report}");
    }
    let mut store = case("scratch_store_dwordx2");
    store.offset = SCRATCH as i32 - 7;
    assert_eq!(fault(&store, |_| {}).kind, FaultKind::WriteViolation);
    let mut load = case("scratch_load_ubyte");
    load.offset = -1;
    assert_eq!(fault(&load, |_| {}).kind, FaultKind::ReadViolation);
}

#[test]
fn scalar_addresses_are_checked() {
    for (name, kind) in [
        ("s_load_dwordx16", FaultKind::ReadViolation),
        ("s_store_dword", FaultKind::WriteViolation),
        ("s_atomic_add", FaultKind::WriteViolation),
    ] {
        let mut case = case(name);
        case.imm = true;
        let report = fault(&case, |w| w.set_s64(SADDR, w.base + MEM as u64));
        assert_eq!((report.kind, report.lane), (kind, None), "{name}: {report}");
    }
}

#[test]
fn a_buffer_that_claims_more_than_memory_faults() {
    let mut load = case("buffer_load_dwordx4");
    load.offen = true;
    let report = fault(&load, |w| {
        w.set_s64(RSRC, w.base);
        w.s[RSRC + 2] = u32::MAX;
        w.s[RSRC + 3] = 0x27000;
        w.s[SOFFSET] = 0;
        w.v[ADDR] = [0; 64];
        w.v[ADDR][40] = MEM as u32 - 12;
    });
    assert_eq!((report.kind, report.lane), (FaultKind::ReadViolation, Some(40)), "{report}");
}

#[test]
fn states_without_meaning_fault() {
    let report = fault(&case("ds_read_b64_tr_b16"), |w| w.exec = u64::MAX >> 1);
    assert_eq!(report.kind, FaultKind::IllegalState, "{report}");
    let mut load = case("tbuffer_load_format_x");
    (load.dfmt, load.nfmt) = (10, 7);
    let report = fault(&load, |w| {
        w.set_s64(RSRC, w.base);
        w.s[RSRC + 3] = 0x27000;
    });
    assert_eq!(report.kind, FaultKind::IllegalState, "{report}");
}

#[test]
fn every_format_has_a_fault_free_idle_run() {
    // No lane is active: addresses do not matter.
    for row in OPS.iter().filter(|row| crate::ALL.contains(&row.format)) {
        if row.format == Format::Smem || crate::REFUSED.contains(&row.mnemonic) {
            continue;
        }
        let mut case = Case::new(row);
        (case.dfmt, case.nfmt) = (4, 7);
        if row.mnemonic.contains("_tr_") {
            continue;
        }
        let mut world = World::new(&mut StdRng::seed_from_u64(11));
        world.exec = 0;
        let words = case.encode();
        let mut wave = world.wave(crate::arch(&case), &words, SimdLevel::detect(), |w| {
            w.s[RSRC + 3] = 0x27000;
        });
        wave.run().unwrap_or_else(|fault| panic!("{}: {fault}", row.mnemonic));
        world.check(&wave, row.mnemonic);
    }
}
