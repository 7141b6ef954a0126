//! Every vector ALU instruction against a model that computes one lane at a time in exact
//! arithmetic.
//!
//! For each row of the opcode table, random encodings of every form are decoded and run through
//! the engine at each vector level of the host, from random registers, masks and modes.

mod exact;
mod float;
mod integer;
mod model;
mod small;

use hk_sim::exec::simd::SimdLevel;
use hk_sim::exec::{Program, SingleWave, Unsupported};
use hk_sim::isa::{Arch, Class, Ext, Format, Forms, Inst, Mods, OPS, OpInfo, decode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use model::{Expected, State, execute};

/// Encodings tried per row of the table and chip.
const ENCODINGS: usize = 24;
/// States that each encoding runs from.
const STATES: usize = 2;
/// Registers that the encodings use: `v0` to `v(ROWS - 1)`.
const ROWS: u32 = 80;

/// Operations that the simulator does not execute.
const UNSUPPORTED: [&str; 2] = ["v_screen_partition_4se_b32", "v_mfma_ld_scale_b32"];

fn is_tested(row: &OpInfo) -> bool {
    let matrix = row.base().starts_with("v_mfma") || row.base().starts_with("v_smfmac");
    row.format.is_valu() && row.format != Format::Vop3px2 && !matrix
}

/// A vector register number: few of them, so that operands overlap, mostly even.
fn vgpr(rng: &mut StdRng) -> u32 {
    let number = rng.random_range(0..10u32) * 4;
    if rng.random_range(0..8) == 0 { number + 1 } else { number }
}

/// A nine-bit source field.
fn source(rng: &mut StdRng, literal: bool) -> u32 {
    match rng.random_range(0..10) {
        0 => rng.random_range(0..16) * 2,
        1 => rng.random_range(128..=208),
        2 => rng.random_range(240..=248),
        3 => [106, 124, 126, 251, 252, 253, 235, 236, 238][rng.random_range(0..9)],
        4 if literal => 255,
        _ => 256 + vgpr(rng),
    }
}

/// SDWA dword with the modifiers that the row has.
fn sdwa_word(rng: &mut StdRng, row: &OpInfo) -> u32 {
    let scalar = rng.random_range(0..6) == 0;
    let mut word = if scalar { rng.random_range(0..100) | 1 << 23 } else { vgpr(rng) };
    let mods = &row.mods;
    for (at, shift) in [(0, 16), (1, 24)] {
        if !row.src[at].is_some() || row.src[at].class == Class::Vcc {
            continue;
        }
        let allowed = [mods.sext, mods.neg, mods.abs].map(|mask| u32::from(mask >> at & 1));
        let allowed = allowed[0] | allowed[1] << 1 | allowed[2] << 2;
        word |= rng.random_range(0..7) << shift;
        word |= (rng.random_range(0..8) & allowed) << (shift + 3);
    }
    if row.format == Format::Vopc {
        return word | [0, 1 << 15 | 20 << 8][rng.random_range(0..2)];
    }
    let whole = mods.has(Mods::DSTDWORD) || rng.random_range(0..4) == 0;
    let select = if whole { 6 } else { rng.random_range(0..7) | rng.random_range(0..3) << 3 };
    let clamp = rng.random_range(0..2) * u32::from(mods.has(Mods::CLAMP));
    let omod = rng.random_range(0..4) * u32::from(mods.has(Mods::OMOD));
    word | select << 8 | clamp << 13 | omod << 14
}

/// DPP dword with the modifiers that the row has.
fn dpp_word(rng: &mut StdRng, row: &OpInfo) -> u32 {
    let kind = if row.mods.has(Mods::DPP64) { 6 } else { rng.random_range(0..8) };
    let control = match kind {
        0 => rng.random_range(0..0x100),
        1 => rng.random_range(0x101..0x110),
        2 => rng.random_range(0x111..0x120),
        3 => rng.random_range(0x121..0x130),
        4 => [0x130, 0x134, 0x138, 0x13c][rng.random_range(0..4)],
        5 => rng.random_range(0x140..0x144),
        _ => rng.random_range(0x150..0x160),
    };
    let masks = if rng.random_range(0..2) == 0 { 0xff } else { rng.random_range(0..256) };
    let [neg, abs] = [row.mods.neg, row.mods.abs].map(u32::from);
    let allowed = neg & 1 | (abs & 1) << 1 | (neg >> 1 & 1) << 2 | (abs >> 1 & 1) << 3;
    let bits = rng.random_range(0..2) | (rng.random_range(0..16) & allowed) << 1;
    vgpr(rng) | control << 8 | bits << 19 | masks << 24
}

/// Random words for a row; most of them decode.
fn encode(rng: &mut StdRng, row: &OpInfo) -> Vec<u32> {
    let opcode = u32::from(row.opcode);
    let short = |rng: &mut StdRng, base: u32| {
        if !row.dst[0].is_some() {
            // Without operands, all fields are zero, but for those of DPP.
            let dpp = dpp_word(rng, row) & !0xff;
            let base = base & !(0xff << 17);
            return match rng.random_range(0..3) {
                0 => vec![base],
                1 => vec![base | 249, 0],
                _ => vec![base | 250, dpp],
            };
        }
        let src0 = match rng.random_range(0..4) {
            0 => 249,
            1 => 250,
            _ => source(rng, true),
        };
        let extra = match src0 {
            249 => sdwa_word(rng, row),
            250 => dpp_word(rng, row),
            _ => operand_word(rng),
        };
        let long = matches!(src0, 249 | 250 | 255) || row.base().contains("k_f");
        let mut words = vec![base | src0];
        words.extend(long.then_some(extra));
        words
    };
    // Most modifiers of most instructions are off.
    let modifiers = |rng: &mut StdRng, bits: u32| {
        if rng.random_range(0..2) == 0 { rng.random_range(0..1u32 << bits) } else { 0 }
    };
    let sources = |rng: &mut StdRng| {
        row.src.iter().take(3).enumerate().fold(0, |word, (at, slot)| {
            let field = if slot.is_some() { source(rng, false) } else { 0 };
            // Masks and lane selects take scalar registers.
            let scalar = matches!(slot.class, Class::ScalarNamed);
            let field =
                if slot.is_some() && scalar { [106, 8, 253][field as usize % 3] } else { field };
            word | field << (9 * at)
        })
    };
    match row.format {
        Format::Vop1 => {
            let vdst = if row.dst[0].class == Class::ScalarReg { 30 } else { vgpr(rng) };
            short(rng, 0x7e00_0000 | vdst << 17 | opcode << 9)
        }
        Format::Vop2 => {
            let (vdst, vsrc1) = (vgpr(rng), vgpr(rng));
            short(rng, opcode << 25 | vdst << 17 | vsrc1 << 9)
        }
        Format::Vopc => {
            let vsrc1 = vgpr(rng);
            short(rng, 0x7c00_0000 | opcode << 17 | vsrc1 << 9)
        }
        Format::Vop3p => {
            let high = if rng.random_range(0..2) == 0 { 7 } else { rng.random_range(0..8) };
            let low =
                modifiers(rng, 7) << 7 & 0x700 | modifiers(rng, 3) << 11 | modifiers(rng, 1) << 15;
            let first = 0xd380_0000 | opcode << 16 | vgpr(rng) | low | high >> 2 << 14;
            vec![first, sources(rng) | (high & 3) << 27 | modifiers(rng, 3) << 29]
        }
        Format::Mai => {
            vec![0xd3c0_4000 | (opcode - 64) << 16 | vgpr(rng), source(rng, false) | 3 << 27]
        }
        Format::Vop3b => {
            let sdst = [106, 20, 40][rng.random_range(0..3)];
            let first =
                0xd000_0000 | opcode << 16 | vgpr(rng) | sdst << 8 | modifiers(rng, 1) << 15;
            vec![first, sources(rng) | modifiers(rng, 5) << 27]
        }
        _ => {
            let scalar = row.dst[0].class == Class::ScalarReg;
            let vdst = if scalar { [106, 20, 40][rng.random_range(0..3)] } else { vgpr(rng) };
            let first = 0xd000_0000
                | opcode << 16
                | vdst
                | modifiers(rng, 3) << 8
                | modifiers(rng, 4) << 11
                | modifiers(rng, 1) << 15;
            vec![first, sources(rng) | modifiers(rng, 5) << 27]
        }
    }
}

/// A word that is interesting in some type.
fn operand_word(rng: &mut StdRng) -> u32 {
    const WORDS: [u32; 40] = [
        0,
        1,
        2,
        0x7f,
        0x80,
        0xff,
        0x100,
        0x7fff,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0x8000_0001,
        0xffff_ffff,
        0xffff_fffe,
        0x3f80_0000,
        0xbf80_0000,
        0x3f00_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0xffa0_1234,
        0x0080_0000,
        0x007f_ffff,
        0x7f7f_ffff,
        0x8000_1234,
        0x3c00_3c00,
        0x7c00_fc00,
        0x7e01_7d01,
        0x0001_03ff,
        0x7bff_0400,
        0x3ff0_0000,
        0x7ff0_0000,
        0xfff8_0001,
        0x000f_ffff,
        0x0010_0000,
        0x4b00_0000,
        0xcf00_0000,
    ];
    match rng.random_range(0..8) {
        0 | 1 => WORDS[rng.random_range(0..WORDS.len())],
        // Floats near one, where sums cancel and products do not overflow.
        2 | 3 => rng.random_range(0x3c00_0000u32..0x4400_0000) | rng.random_range(0..2u32) << 31,
        4 => {
            let half = |rng: &mut StdRng| {
                rng.random_range(0x2c00u32..0x5000) | rng.random_range(0..2u32) << 15
            };
            half(rng) | half(rng) << 16
        }
        5 => rng.random_range(0..70u32),
        6 => rng.random_range(0x3f80_0000u32..0x4000_0000) & !0xfff,
        _ => rng.random(),
    }
}

fn random_state(rng: &mut StdRng) -> State {
    let mut rows = vec![[0xffff_ffff; 64]; 512];
    for row in (0..ROWS as usize).chain(256..256 + ROWS as usize) {
        for word in &mut rows[row] {
            *word = operand_word(rng);
        }
    }
    let mut sgpr: Vec<u32> = (0..128).map(|_| operand_word(rng)).collect();
    let exec: u64 = match rng.random_range(0..5) {
        0 | 1 => u64::MAX,
        2 => rng.random(),
        3 => 0xffff_0000_0000_ffff,
        _ => [0, 1, 1 << 63][rng.random_range(0..3)],
    };
    let vcc: u64 = if rng.random_range(0..2) == 0 { rng.random() } else { 0 };
    for (code, value) in [(126, exec), (106, vcc)] {
        sgpr[code] = value as u32;
        sgpr[code + 1] = (value >> 32) as u32;
    }
    // Rounding, denormals, DX10_CLAMP, IEEE and FP16_OVFL; the other bits stay 0.
    let mode = match rng.random_range(0..3) {
        0 => rng.random_range(0..0x400u32) | rng.random_range(0..2u32) << 23,
        _ => 0x3f0,
    };
    State { sgpr, scc: rng.random_range(0..2) == 0, mode, rows }
}

/// Runs the instruction and describes the first difference from the model.
fn difference(
    level: SimdLevel,
    arch: Arch,
    inst: &Inst,
    before: &State,
    expected: &Expected,
) -> Option<String> {
    let words = &inst.raw[..usize::from(inst.size / 4)];
    let mut wave = SingleWave::with_level(arch, words, level);
    before.apply(&mut wave);
    if let Err(report) = wave.run() {
        return Some(report.to_string());
    }
    let after = &expected.state;
    for (code, &want) in after.sgpr.iter().enumerate() {
        let got = wave.sgpr(code);
        if got != want {
            return Some(format!("scalar {code}: {got:#010x}, not {want:#010x}"));
        }
    }
    if (wave.scc(), wave.mode()) != (after.scc, after.mode) {
        return Some("SCC or MODE changed".into());
    }
    for (row, lanes) in after.rows.iter().enumerate() {
        for (lane, &want) in lanes.iter().enumerate() {
            let got = wave.vgpr(row)[lane];
            if got == want {
                continue;
            }
            let place = |entry: &&(usize, usize, u64)| (entry.0, entry.1) == (row, lane);
            let near = expected.approximate.iter().find(place);
            if near.is_some_and(|(_, _, ulp)| u64::from(got.abs_diff(want)) <= *ulp) {
                continue;
            }
            let both_nan = f32::from_bits(got).is_nan() && f32::from_bits(want).is_nan();
            if both_nan && expected.any_nan.contains(&(row, lane)) {
                continue;
            }
            let operands: Vec<String> = inst
                .src
                .iter()
                .filter_map(|operand| Some((operand.vector_index()?, operand.dwords)))
                .flat_map(|(row, dwords)| (row..row + usize::from(dwords)).take(4))
                .map(|row| format!("{:#010x}", before.rows[row][lane]))
                .collect();
            return Some(format!(
                "v{row} lane {lane}: {got:#010x}, not {want:#010x}; was {:#010x}; operands {}",
                before.rows[row][lane],
                operands.join(" "),
            ));
        }
    }
    None
}

/// Runs random encodings of the rows that `choose` picks.
fn check(choose: impl Fn(&OpInfo) -> bool) {
    let mut failures = Vec::new();
    'rows: for (index, row) in
        OPS.iter().enumerate().filter(|(_, row)| is_tested(row) && choose(row))
    {
        let mut forms = [0; 4];
        for arch in [Arch::Gfx942, Arch::Gfx950].into_iter().filter(|arch| row.archs.has(*arch)) {
            let mut rng = StdRng::seed_from_u64(index as u64 * 2 + u64::from(arch == Arch::Gfx950));
            let mut tested = 0;
            'encodings: for _ in 0..ENCODINGS * 40 {
                if tested == ENCODINGS {
                    break;
                }
                let words = encode(&mut rng, row);
                let Ok(inst) = decode(arch, &words) else { continue };
                assert_eq!(inst.info.mnemonic, row.mnemonic);
                match Program::supports(arch, &inst) {
                    Ok(()) => {}
                    Err(Unsupported::Operation(_)) => {
                        assert!(UNSUPPORTED.contains(&row.base()), "{}", row.mnemonic);
                        continue 'rows;
                    }
                    Err(Unsupported::Operands(_)) => continue,
                }
                tested += 1;
                forms[match inst.ext {
                    Ext::None => 0,
                    Ext::Sdwa(_) => 1,
                    Ext::Dpp(_) => 2,
                }] += 1;
                for _ in 0..STATES {
                    let before = random_state(&mut rng);
                    let Some(expected) = execute(&before, arch, &inst) else {
                        failures.push(format!("{}: there is no model", row.mnemonic));
                        break 'encodings;
                    };
                    for level in SimdLevel::available() {
                        if let Some(difference) = difference(level, arch, &inst, &before, &expected)
                        {
                            failures.push(format!(
                                "{arch} {} `{inst}` {words:x?} mode {:#x} exec {:#x}: {difference}",
                                level.name(),
                                before.mode,
                                u64::from(before.sgpr[126]) | u64::from(before.sgpr[127]) << 32,
                            ));
                            break 'encodings;
                        }
                    }
                }
            }
        }
        let has = |bit: u8, form: usize| row.forms.has(bit) && forms[form] == 0;
        if has(Forms::SDWA, 1) || has(Forms::DPP, 2) || forms[0] == 0 {
            failures.push(format!("{}: forms tried: {forms:?}", row.mnemonic));
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn vop1_matches_the_model() {
    check(|row| row.format == Format::Vop1);
}

#[test]
fn vop2_matches_the_model() {
    check(|row| row.format == Format::Vop2);
}

#[test]
fn vopc_matches_the_model() {
    check(|row| row.format == Format::Vopc);
}

#[test]
fn vop3_of_short_operations_matches_the_model() {
    check(|row| row.format == Format::Vop3a && row.opcode < 448);
}

#[test]
fn vop3_matches_the_model() {
    check(|row| {
        matches!(row.format, Format::Vop3a | Format::Vop3b) && row.opcode >= 448
            || row.format == Format::Vop3b
    });
}

#[test]
fn vop3p_matches_the_model() {
    check(|row| matches!(row.format, Format::Vop3p | Format::Mai));
}

/// The compiler's division, instruction by instruction, gives the quotient rounded to nearest even.
#[test]
fn divisions_are_correctly_rounded() {
    let v = |n: u32| 256 + n;
    let vop3 = |op: u32, d: u32, [a, b, c]: [u32; 3], neg: u32| {
        [0xd000_0000 | op << 16 | d, a | b << 9 | c << 18 | neg << 29]
    };
    let (den, num) = (0, 2);
    // Opcodes of v_div_scale, v_fma, v_div_fmas, v_div_fixup, v_rcp and v_mul.
    let sequence = |[scale, fma, fmas, fixup]: [u32; 4], rcp: u32, mul: [u32; 2]| {
        let s = 20;
        let mut code = vec![];
        code.extend(vop3(scale, 4, [v(den), v(den), v(num)], 0));
        code[0] |= s << 8;
        code.push(0x7e00_0000 | 6 << 17 | rcp << 9 | v(4));
        code.extend(vop3(scale, 8, [v(num), v(den), v(num)], 0));
        let at = code.len() - 2;
        code[at] |= 106 << 8;
        code.extend(vop3(fma, 10, [v(4), v(6), 242], 1));
        code.extend(vop3(fma, 6, [v(10), v(6), v(6)], 0));
        code.extend(vop3(fma, 10, [v(4), v(6), 242], 1));
        code.extend(vop3(fma, 6, [v(10), v(6), v(6)], 0));
        code.extend(mul);
        code.extend(vop3(fma, 14, [v(4), v(12), v(8)], 1));
        code.extend(vop3(fma, 12, [v(14), v(6), v(12)], 0));
        code.extend(vop3(fma, 14, [v(4), v(12), v(8)], 1));
        code.extend(vop3(fmas, 12, [v(14), v(6), v(12)], 0));
        code.extend(vop3(fixup, 16, [v(12), v(den), v(num)], 0));
        code
    };
    let singles = sequence([480, 459, 482, 478], 34, vop3(261, 12, [v(8), v(6), 0], 0));
    let doubles = sequence([481, 460, 483, 479], 37, vop3(641, 12, [v(8), v(6), 0], 0));
    let mut rng = StdRng::seed_from_u64(7);
    let specials32 =
        [0, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x0c00_0000];
    let word32 = |rng: &mut StdRng| match rng.random_range(0..4) {
        0 => specials32[rng.random_range(0..8)] | rng.random_range(0..2u32) << 31,
        1 => rng.random_range(0..0x80_0000u32),
        _ => rng.random::<u32>(),
    };
    for level in SimdLevel::available() {
        for _ in 0..300 {
            let mut wave = SingleWave::with_level(Arch::Gfx942, &singles, level);
            let inputs: [[u32; 64]; 2] =
                [0; 2].map(|_: u32| std::array::from_fn(|_| word32(&mut rng)));
            wave.set_vgpr(den as usize, inputs[0]);
            wave.set_vgpr(num as usize, inputs[1]);
            wave.run().unwrap();
            for lane in 0..64 {
                let [d, n] = inputs.map(|row| f32::from_bits(row[lane]));
                let (got, want) = (f32::from_bits(wave.vgpr(16)[lane]), n / d);
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{n:e} / {d:e}: {got:e}, not {want:e}");
            }
        }
        for _ in 0..300 {
            let mut wave = SingleWave::with_level(Arch::Gfx942, &doubles, level);
            let mut word64 = || {
                let low: u32 = if rng.random_range(0..3) == 0 { 0 } else { rng.random() };
                let high = match rng.random_range(0..4) {
                    0 => [0, 1, 0x10_0000, 0x3ff0_0000, 0x7fef_ffff, 0x7ff0_0000]
                        [rng.random_range(0..6)],
                    1 => rng.random_range(0..0x0400_0000),
                    _ => rng.random::<u32>(),
                };
                u64::from(high) << 32 | u64::from(low)
            };
            let inputs: [[u64; 64]; 2] = [0; 2].map(|_: u32| std::array::from_fn(|_| word64()));
            for (register, row) in [den, num].into_iter().zip(&inputs) {
                wave.set_vgpr(register as usize, row.map(|x| x as u32));
                wave.set_vgpr(register as usize + 1, row.map(|x| (x >> 32) as u32));
            }
            wave.run().unwrap();
            for lane in 0..64 {
                let [d, n] = inputs.each_ref().map(|row| f64::from_bits(row[lane]));
                let bits = u64::from(wave.vgpr(17)[lane]) << 32 | u64::from(wave.vgpr(16)[lane]);
                let (got, want) = (f64::from_bits(bits), n / d);
                let same = bits == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{n:e} / {d:e}: {got:e}, not {want:e}");
            }
        }
    }
}

#[test]
fn halves_saturate_if_mode_says_so() {
    let run = |words: &[u32], mode: u32, a: u32, b: u32| {
        let mut wave = SingleWave::new(Arch::Gfx942, words);
        wave.set_mode(mode);
        wave.set_vgpr(1, [a; 64]);
        wave.set_vgpr(2, [b; 64]);
        wave.run().unwrap();
        wave.vgpr(0)[5]
    };
    const PLAIN: u32 = 0x3f0;
    const SATURATES: u32 = PLAIN | 1 << 23;
    let add = [0xd38f_4000, 0x1802_0501]; // v_pk_add_f16 v0, v1, v2
    assert_eq!(run(&add, PLAIN, 0x7bff_7bff, 0x7bff_7bff), 0x7c00_7c00);
    assert_eq!(run(&add, SATURATES, 0x7bff_fbff, 0x7bff_fbff), 0x7bff_fbff);
    assert_eq!(run(&add, SATURATES, 0x7c00_7bff, 0x7bff_7bff), 0x7c00_7bff);
    let convert = [0x7e00_1501]; // v_cvt_f16_f32 v0, v1
    assert_eq!(run(&convert, PLAIN, 70_000f32.to_bits(), 0), 0x7c00);
    assert_eq!(run(&convert, SATURATES, 70_000f32.to_bits(), 0), 0x7bff);
    assert_eq!(run(&convert, SATURATES, (-70_000f32).to_bits(), 0), 0xfbff);
    assert_eq!(run(&convert, SATURATES, f32::INFINITY.to_bits(), 0), 0x7c00);
}
