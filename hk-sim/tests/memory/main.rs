//! Every memory instruction against a byte-level model.

mod atomics;
mod case;
mod concurrency;
mod faults;
mod formats;
mod model;

use std::collections::BTreeSet;

use hk_sim::exec::simd::SimdLevel;
use hk_sim::exec::{PRIVATE_APERTURE, Program, SHARED_APERTURE, WAVE};
use hk_sim::isa::{Arch, Format, Mods, OPS, OpInfo, decode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use atomics::Atomic;
use case::*;

/// Instructions that the engine refuses.
const REFUSED: [&str; 6] = [
    "ds_gws_sema_release_all",
    "ds_gws_init",
    "ds_gws_sema_v",
    "ds_gws_sema_br",
    "ds_gws_sema_p",
    "ds_gws_barrier",
];

/// Instructions whose result is a clock; `clocks` tests them.
const CLOCKS: [&str; 2] = ["s_memtime", "s_memrealtime"];

fn rows(formats: &[Format]) -> impl Iterator<Item = &'static OpInfo> {
    OPS.iter().filter(move |row| formats.contains(&row.format))
}

/// Chip to test a case on: the first that has it.
fn arch(case: &Case) -> Arch {
    let wide_to_lds = case.lds && case.row.mods.has(Mods::LDSBIT950);
    let first = case.row.archs.has(Arch::Gfx942) && !wide_to_lds;
    if first { Arch::Gfx942 } else { Arch::Gfx950 }
}

const ALL: [Format; 7] = [
    Format::Smem,
    Format::Ds,
    Format::Flat,
    Format::Global,
    Format::Scratch,
    Format::Mubuf,
    Format::Mtbuf,
];

/// No operation is without a model, and the engine supports what it should.
#[test]
fn every_instruction_has_a_model() {
    let mut unknown = BTreeSet::new();
    let mut refused = BTreeSet::new();
    let mut count = 0;
    for row in rows(&ALL) {
        count += 1;
        let mut case = Case::new(row);
        (case.dfmt, case.nfmt) = (4, 7);
        let words = case.encode();
        let arch = arch(&case);
        let inst = decode(arch, &words).unwrap_or_else(|e| panic!("{}: {e}", row.mnemonic));
        assert_eq!(inst.info.mnemonic, row.mnemonic);
        if Program::supports(arch, &inst).is_err() {
            refused.insert(row.mnemonic);
            continue;
        }
        let is_fence = matches!(row.mnemonic, "buffer_wbl2" | "buffer_inv");
        let mut world = quiet_world();
        if !is_fence && !CLOCKS.contains(&row.mnemonic) && !model::step(&mut world, &case) {
            unknown.insert(row.mnemonic);
        }
    }
    assert!(count > 400, "the table has {count} memory instructions");
    assert_eq!(unknown, BTreeSet::new(), "instructions without a model");
    assert_eq!(refused, REFUSED.into(), "instructions that the engine refuses");
}

/// World in which no lane is active and every address is legal.
fn quiet_world() -> World {
    let mut world = World::new(&mut StdRng::seed_from_u64(0));
    world.exec = 0;
    world.s[SOFFSET] = 0;
    world.set_s64(SADDR, 0);
    world.set_s64(RSRC, 0);
    world
}

/// Runs a case on the engine and on the model and compares everything.
fn run(world: &mut World, case: &Case, level: SimdLevel, fill: impl FnOnce(&mut World)) {
    run_all(world, std::slice::from_ref(case), level, fill);
}

fn run_all(world: &mut World, cases: &[Case], level: SimdLevel, fill: impl FnOnce(&mut World)) {
    let words: Vec<u32> = cases.iter().flat_map(Case::encode).collect();
    let last = cases.last().expect("a case");
    let mut wave = world.wave(arch(last), &words, level, fill);
    let inst = decode(arch(last), &last.encode()).expect("an instruction");
    let what = format!("{inst} with exec {:#x} at {}", world.exec, level.name());
    wave.run().unwrap_or_else(|fault| panic!("{what}: {fault}"));
    for case in cases {
        assert!(model::step(world, case), "no model of {}", case.name());
    }
    world.check(&wave, &what);
}

/// Bytes that a lane accesses.
fn bytes_of(row: &OpInfo) -> u32 {
    if let Some(atomic) = Atomic::of(row.mnemonic) {
        return atomic.bits / 8;
    }
    let name = row.mnemonic;
    match name {
        _ if name.contains("byte") || name.contains("_u8") || name.contains("_i8") => 1,
        _ if name.contains("_b8") && !name.contains("tr_b8") => 1,
        _ if name.contains("short") || name.contains("_u16") || name.contains("_i16") => 2,
        _ if name.contains("_b16") && !name.contains("tr_b16") => 2,
        _ if name.contains("x4") || name.contains("b128") => 16,
        _ if name.contains("x3") || name.contains("b96") => 12,
        _ if name.contains("x2") || name.contains("b64") => 8,
        _ => 4,
    }
}

/// Puts telling values where an atomic works.
fn prepare_atomic(rng: &mut StdRng, world: &mut World, case: &Case) {
    let Some(atomic) = Atomic::of(case.name()) else { return };
    world.mode = world.mode & !0xf0 | rng.random_range(0..16) << 4;
    let samples: Vec<u64> = {
        let seeds: Vec<u64> = (0..4096).map(|_| rng.random()).collect();
        let next = std::cell::Cell::new(0);
        let random = || {
            next.set((next.get() + 1) % seeds.len());
            seeds[next.get()]
        };
        (0..1024).map(|_| atomic.sample(random)).collect()
    };
    let bytes = atomic.bits as usize / 8;
    for memory in [&mut world.mem, &mut world.lds] {
        for chunk in memory.chunks_exact_mut(bytes) {
            let value = samples[rng.random_range(0..samples.len())];
            chunk.copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }
    for (row, step) in [(DATA, 0), (DATA1, 0), (DATA, bytes / 4)] {
        for lane in 0..WAVE {
            let value = samples[rng.random_range(0..samples.len())];
            let row = case.bank() + row + step;
            world.v[row][lane] = value as u32;
            if bytes == 8 {
                world.v[row + 1][lane] = (value >> 32) as u32;
            }
        }
    }
    for (index, value) in samples[..8].iter().enumerate() {
        world.s[SDATA + index] = (value >> (32 * (index % 2))) as u32;
    }
    // Comparisons that succeed.
    if rng.random() {
        for lane in 0..WAVE {
            let value: u32 = [1, 0x8000_0000, 0][lane % 3];
            for row in [DATA, DATA + 1, DATA1, DATA + bytes / 4] {
                world.v[case.bank() + row][lane] = value;
            }
        }
        world.lds[..4096].fill(0);
        world.lds[LDS - 1024..].fill(0);
        world.mem.fill(0);
    }
}

#[test]
fn lds() {
    let mut rng = StdRng::seed_from_u64(1);
    for row in rows(&[Format::Ds]).filter(|row| !REFUSED.contains(&row.mnemonic)) {
        for level in SimdLevel::available() {
            for _ in 0..24 {
                let mut world = World::new(&mut rng);
                let mut case = Case::new(row);
                case.acc =
                    rng.random_range(0..4) == 0 && (row.dst[0].is_some() || row.src[1].is_some());
                case.overlap = !case.acc && rng.random_range(0..3) == 0;
                prepare_atomic(&mut rng, &mut world, &case);
                world.exec = random_exec(&mut rng);
                let bytes = bytes_of(row);
                let aligned = Atomic::of(row.mnemonic).is_some()
                    || row.mnemonic.contains("wrxchg2")
                    || rng.random();
                let stray = rng.random();
                if row.mods.has(Mods::OFF2) {
                    case.offset = rng.random_range(0..256);
                    case.offset1 = rng.random_range(1..256) as u8;
                } else if !row.mods.has(Mods::NOADDR) {
                    let align = if aligned { 16 } else { 1 };
                    case.offset = rng.random_range(0..1000) / align * align;
                }
                if row.mnemonic.contains("_tr_") {
                    world.exec = u64::MAX;
                }
                world.v[ADDR] = match row.mnemonic {
                    "ds_permute_b32" | "ds_bpermute_b32" => {
                        std::array::from_fn(|_| rng.random_range(0..1 << 20))
                    }
                    "ds_swizzle_b32" => {
                        case.offset = i32::from(rng.random::<u16>());
                        world.v[ADDR]
                    }
                    _ => random_offsets(&mut rng, bytes, LDS as u32 - 1000, aligned, stray),
                };
                // A base below zero, which the offset of the instruction makes up for.
                if stray && !aligned && rng.random() {
                    let back = case.offset as u32;
                    world.v[ADDR].iter_mut().step_by(3).for_each(|at| *at = at.wrapping_sub(back));
                }
                if matches!(row.mnemonic, "ds_consume" | "ds_append")
                    || row.mnemonic.contains("addtid")
                {
                    let top = if stray { LDS as u32 } else { LDS as u32 - 1300 };
                    world.s[M0] = (rng.random_range(0..top) & !3) | 0xfff0_0000;
                    case.offset &= !3;
                    world.lds.iter_mut().skip(3).step_by(4).for_each(|byte| *byte |= 1);
                }
                run(&mut world, &case, level, |_| {});
            }
        }
    }
}

#[test]
fn swizzle_patterns() {
    let mut rng = StdRng::seed_from_u64(2);
    let row = rows(&[Format::Ds]).find(|row| row.mnemonic == "ds_swizzle_b32").expect("swizzle");
    // The assembler's names: broadcast, swap, reverse, quad permute; then FFT and rotation.
    for pattern in [0x00a0, 0x401f, 0x1c1f, 0x801b, 0xe000, 0xe01f, 0xe003, 0xc020, 0xc7f0, 0xc407]
    {
        let mut world = World::new(&mut rng);
        let mut case = Case::new(row);
        case.offset = pattern;
        run(&mut world, &case, SimdLevel::detect(), |_| {});
    }
}

#[test]
fn global() {
    let mut rng = StdRng::seed_from_u64(3);
    for row in rows(&[Format::Global]) {
        for level in SimdLevel::available() {
            for _ in 0..24 {
                let mut world = World::new(&mut rng);
                let mut case = Case::new(row);
                case.returns = rng.random() && row.mnemonic.contains("atomic");
                let result =
                    row.dst[0].is_some() && (case.returns || !row.mnemonic.contains("atomic"));
                case.acc = rng.random_range(0..4) == 0 && (row.src[1].is_some() || result);
                case.overlap = !case.acc && rng.random_range(0..3) == 0;
                case.saddr = rng.random();
                case.sc1 = rng.random_range(0..4) == 0;
                prepare_atomic(&mut rng, &mut world, &case);
                world.exec = random_exec(&mut rng);
                let bytes = bytes_of(row);
                let aligned = Atomic::of(row.mnemonic).is_some() || rng.random();
                case.offset = rng.random_range(-4096..4096) / 8 * 8;
                let to_lds = row.mnemonic.contains("_lds_");
                if to_lds {
                    world.s[M0] = rng.random_range(0..LDS as u32);
                }
                let offsets = random_offsets(&mut rng, bytes, MEM as u32, aligned, false);
                run(&mut world, &case, level, |w| {
                    let start = w.base.wrapping_add_signed(-i64::from(case.offset));
                    if case.saddr {
                        // The vector offset is unsigned: let half of the bases lie far below.
                        let far: u32 = if w.s[0] % 2 == 0 { 0xf000_0000 } else { 0 };
                        w.set_s64(SADDR, start.wrapping_sub(far.into()));
                        w.v[ADDR] = offsets.map(|offset| offset.wrapping_add(far));
                    } else {
                        w.set_v64(ADDR, offsets.map(|offset| start.wrapping_add(offset.into())));
                    }
                    scramble_inactive(w);
                });
            }
        }
    }
}

/// Gives the lanes that are not active addresses that would fault.
fn scramble_inactive(w: &mut World) {
    for lane in (0..WAVE).filter(|lane| w.exec >> lane & 1 == 0) {
        w.v[ADDR][lane] = 0xdead_beef;
        w.v[ADDR + 1][lane] = 0x7fff_1234;
    }
}

#[test]
fn flat_through_apertures() {
    let mut rng = StdRng::seed_from_u64(4);
    for row in rows(&[Format::Flat]) {
        let level = SimdLevel::detect();
        for trial in 0..24 {
            let mut world = World::new(&mut rng);
            let mut case = Case::new(row);
            case.returns = rng.random() && row.mnemonic.contains("atomic");
            prepare_atomic(&mut rng, &mut world, &case);
            world.exec = random_exec(&mut rng);
            let bytes = bytes_of(row);
            let atomic = Atomic::of(row.mnemonic).is_some();
            case.offset = rng.random_range(0..4096) / 8 * 8;
            let offsets = random_offsets(&mut rng, bytes, SCRATCH as u32, atomic, false);
            let spaces: [u32; WAVE] = std::array::from_fn(|_| match trial % 4 {
                0 => 0,
                1 => 1,
                _ => rng.random_range(0..3),
            });
            run(&mut world, &case, level, |w| {
                let bases = [w.base, SHARED_APERTURE, PRIVATE_APERTURE];
                // The offset of the instruction counts before the aperture is chosen.
                w.set_v64(
                    ADDR,
                    std::array::from_fn(|lane| {
                        let base = bases[spaces[lane] as usize];
                        (base + u64::from(offsets[lane])).wrapping_sub(case.offset as u64)
                    }),
                );
                scramble_inactive(w);
            });
        }
    }
}

/// Stores into private memory, then the instruction, then loads of all that it can have changed.
#[test]
fn scratch() {
    let mut rng = StdRng::seed_from_u64(5);
    let by_name = |name: &str| {
        rows(&[Format::Scratch]).find(|row| row.mnemonic == name).expect("a scratch instruction")
    };
    for row in rows(&[Format::Scratch]) {
        for level in SimdLevel::available() {
            for _ in 0..24 {
                let mut world = World::new(&mut rng);
                world.exec = random_exec(&mut rng);
                let mut case = Case::new(row);
                case.sve = rng.random();
                case.saddr = rng.random();
                let scalar = if case.saddr { rng.random_range(0..64) } else { 0 };
                world.s[SADDR] = scalar;
                let vector = if case.sve { rng.random_range(0..64) } else { 0 };
                let start = rng.random_range(128..300);
                case.offset = start - (scalar + vector) as i32;
                world.v[ADDR] = std::array::from_fn(|lane| vector + lane as u32 % 8);
                if row.mnemonic.contains("_lds_") {
                    world.s[M0] = rng.random_range(0..LDS as u32);
                }
                let mut cases = Vec::new();
                for at in (start / 16 * 16..start + 40).step_by(16) {
                    let mut fill = Case::new(by_name("scratch_store_dwordx4"));
                    fill.offset = at;
                    cases.push(fill);
                }
                cases.push(case);
                if row.mnemonic.contains("store") {
                    for at in [start, start + 8] {
                        let mut back = Case::new(by_name("scratch_load_dwordx4"));
                        back.offset = at;
                        cases.push(back);
                    }
                }
                run_all(&mut world, &cases, level, |_| {});
            }
        }
    }
}

/// Descriptor words two and three and the range that lanes may stray over.
struct Sharp {
    stride: u32,
    records: u32,
    word3: u32,
    swizzle: bool,
}

fn buffer_case(
    rng: &mut StdRng,
    row: &'static OpInfo,
    level: SimdLevel,
    format: Option<formats::Format>,
) {
    let mut world = World::new(rng);
    let mut case = Case::new(row);
    let atomic = Atomic::of(row.mnemonic).is_some();
    case.returns = rng.random() && atomic;
    case.acc = rng.random_range(0..4) == 0;
    case.sc1 = rng.random_range(0..4) == 0;
    let lds_bit = row.mods.has(Mods::LDSBIT) || row.mods.has(Mods::LDSBIT950);
    case.lds = lds_bit && rng.random_range(0..3) == 0;
    if case.lds {
        case.acc = false;
        world.s[M0] = rng.random_range(0..LDS as u32);
    }
    prepare_atomic(rng, &mut world, &case);
    world.exec = random_exec(rng);
    let bytes = format.map_or(bytes_of(row), |format| format.bytes() as u32);
    let align = if atomic { bytes } else { 1 };
    (case.offen, case.idxen) = (rng.random(), rng.random_range(0..3) == 0);
    case.offset = rng.random_range(0..256) / align as i32 * align as i32;
    let soffset = rng.random_range(0..128) / align * align;
    world.s[SOFFSET] = soffset;
    let base_offset = rng.random_range(0..64) / 8 * 8;
    let typed = format.is_some();
    let add_tid = rng.random_range(0..5) == 0;
    let stride = match rng.random_range(0..3) {
        0 => 0,
        _ if add_tid => rng.random_range(1..5) * 8,
        _ => rng.random_range(1..12) * 8,
    };
    let fields = match format {
        Some(format) if row.format == Format::Mubuf => format.dfmt << 15 | format.nfmt << 12,
        // With the lane number added, these bits extend the stride.
        _ if add_tid && !typed => 0,
        _ => 0x27000,
    };
    let selects = [0, 1, 4, 5, 6, 7];
    let dst_sel: u32 = match rng.random_range(0..3) {
        0 => (0..4).map(|at| selects[rng.random_range(0..6)] << (3 * at)).sum(),
        _ => 0o7654,
    };
    let index_stride = rng.random_range(0..4);
    let sharp = Sharp {
        stride,
        // In bytes or records; private buffers ignore it.
        records: if case.idxen && stride != 0 {
            rng.random_range(1..40)
        } else {
            rng.random_range(600..4000)
        },
        word3: dst_sel | fields | index_stride << 21 | u32::from(add_tid) << 23,
        // The interleaving by dwords misaligns longer atomics.
        swizzle: rng.random() && !(atomic && bytes == 8),
    };
    (case.dfmt, case.nfmt) = format.map_or((0, 0), |format| (format.dfmt, format.nfmt));
    if let Some(format) = format {
        prepare_format(rng, &mut world, format);
    }
    let records = rng.random_range(1..40);
    let indices = random_offsets(rng, 1, records, false, false);
    // All that the interleaving can reach stays inside memory.
    let reach = if add_tid { 16 } else { 2200 };
    if add_tid {
        case.offset %= 16;
    }
    let stray = !add_tid && rng.random::<bool>();
    let mut offsets = random_offsets(rng, bytes, reach, atomic, stray);
    if case.idxen {
        // With an index the descriptor may not check the offset.
        offsets = offsets.map(|offset| if offset < reach { offset } else { 0 });
    }
    let sharp_words = |w: &mut World| {
        let base = w.base + base_offset;
        let high =
            (base >> 32) as u32 & 0xffff | sharp.stride << 16 | u32::from(sharp.swizzle) << 31;
        w.s[RSRC] = base as u32;
        w.s[RSRC + 1] = high;
        w.s[RSRC + 2] = sharp.records;
        w.s[RSRC + 3] = sharp.word3;
    };
    match (case.idxen, case.offen) {
        (true, true) => (world.v[ADDR], world.v[ADDR + 1]) = (indices, offsets),
        (true, false) => world.v[ADDR] = indices,
        _ => world.v[ADDR] = offsets,
    }
    run(&mut world, &case, level, sharp_words);
}

/// Published kernels set stride, cache swizzle and swizzle bits for plain offsets, which the
/// hardware serves linearly with the range check of a raw buffer.
#[test]
fn buffers_with_swizzle_bits_but_without_lane_numbers_are_linear() {
    let row = rows(&[Format::Mubuf]).find(|row| row.mnemonic == "buffer_load_dwordx4");
    let mut case = Case::new(row.expect("a load"));
    case.offen = true;
    let mut world = World::new(&mut StdRng::seed_from_u64(12));
    world.v[ADDR] = std::array::from_fn(|lane| 32 * lane as u32);
    let records = 32 * 60 + 8;
    let mut wave = world.wave(Arch::Gfx950, &case.encode(), SimdLevel::detect(), |w| {
        w.s[SOFFSET] = 0;
        w.s[RSRC] = w.base as u32;
        w.s[RSRC + 1] = (w.base >> 32) as u32 | 3 << 30 | 256 << 16;
        w.s[RSRC + 2] = records;
        w.s[RSRC + 3] = 0x0011_0000;
    });
    wave.run().expect("no fault");
    for lane in 0..WAVE {
        for index in 0..4 {
            let at = 32 * lane + 4 * index;
            let expected = match at + 4 <= records as usize {
                true => u32::from_le_bytes(world.mem[at..at + 4].try_into().expect("4 bytes")),
                false => 0,
            };
            assert_eq!(wave.vgpr(DATA + index)[lane], expected, "lane {lane} dword {index}");
        }
    }
}

/// Values near the limits of a format.
fn prepare_format(rng: &mut StdRng, world: &mut World, format: formats::Format) {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        0.4999,
        1.5,
        2.5,
        -3.5,
        255.0,
        256.5,
        1023.4,
        65519.0,
        65520.0,
        7e-8,
        6.1e-5,
        70000.0,
        -70000.0,
        1e30,
        f32::INFINITY,
        f32::NEG_INFINITY,
        3e-8,
    ];
    let integer = matches!(format.nfmt, 4 | 5);
    for row in (DATA..DATA + 4).chain(256 + DATA..256 + DATA + 4) {
        world.v[row] = std::array::from_fn(|_| match rng.random_range(0..3) {
            0 if !integer => f32::to_bits(values[rng.random_range(0..values.len())]),
            1 if !integer => f32::to_bits(rng.random_range(-2.0..2.0)),
            2 if !integer => f32::to_bits(rng.random_range(-70000.0..70000.0)),
            0 => rng.random(),
            _ => (rng.random_range(0..600u32)).wrapping_sub(300),
        });
    }
}

#[test]
fn buffers() {
    let mut rng = StdRng::seed_from_u64(6);
    for row in rows(&[Format::Mubuf]).filter(|row| !row.mnemonic.contains("format")) {
        if row.mods.has(Mods::NOADDR) {
            continue;
        }
        for level in SimdLevel::available() {
            for _ in 0..40 {
                buffer_case(&mut rng, row, level, None);
            }
        }
    }
}

#[test]
fn typed_buffers() {
    let mut rng = StdRng::seed_from_u64(7);
    for row in rows(&[Format::Mubuf, Format::Mtbuf]).filter(|row| row.mnemonic.contains("format")) {
        for format in formats::all() {
            for _ in 0..2 {
                buffer_case(&mut rng, row, SimdLevel::detect(), Some(format));
            }
        }
    }
}

#[test]
fn scalar() {
    let mut rng = StdRng::seed_from_u64(8);
    for row in rows(&[Format::Smem]).filter(|row| !CLOCKS.contains(&row.mnemonic)) {
        for _ in 0..60 {
            let mut world = World::new(&mut rng);
            let mut case = Case::new(row);
            let atomic = Atomic::of(row.mnemonic);
            case.returns = rng.random() && atomic.is_some();
            prepare_atomic(&mut rng, &mut world, &case);
            let align = atomic.as_ref().map_or(1, |atomic| atomic.bits as i32 / 8);
            (case.imm, case.soff) = match row.src[0].is_some() {
                true => (rng.random(), rng.random()),
                false => (false, false),
            };
            let buffer = row.src[0].dwords == 4;
            if case.imm {
                let low = if buffer { 0 } else { -500 };
                case.offset = rng.random_range(low..500) / align * align;
            }
            world.s[SOFFSET] = match row.mnemonic.contains("scratch") {
                true => rng.random_range(0..20),
                false => rng.random_range(0..2000) / align as u32 * align as u32,
            };
            let records = rng.random_range(0..3000);
            let stride = if rng.random() { 0 } else { rng.random_range(1..4) << 16 };
            run(&mut world, &case, SimdLevel::detect(), |w| {
                let base = w.base + 1024;
                w.set_s64(SADDR, base + if align == 1 { u64::from(w.s[0]) % 4 } else { 0 });
                w.set_s64(RSRC, base);
                w.s[RSRC + 1] |= stride;
                w.s[RSRC + 2] = records;
            });
        }
    }
}

/// The clocks advance, and the core clock does so by the same amounts in every run.
#[test]
fn clocks() {
    let read = |opcode: u32, sdata: u32| [0b110000 << 26 | opcode << 18 | sdata << 6, 0];
    let words: Vec<u32> =
        [(36, 4), (37, 6), (36, 8), (37, 10)].iter().flat_map(|&(op, at)| read(op, at)).collect();
    let run = || {
        let mut wave = hk_sim::exec::SingleWave::new(Arch::Gfx942, &words);
        wave.run().expect("no fault");
        [4, 6, 8, 10].map(|at| wave.sgpr64(at))
    };
    let (first, second) = (run(), run());
    assert!(first[2] > first[0]);
    assert!(first[3] >= first[1]);
    assert_eq!((first[0], first[2]), (second[0], second[2]));
}
