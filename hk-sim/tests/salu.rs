//! Every scalar ALU instruction against a model written from the manual's definitions, bit by bit
//! where the engine uses host instructions.

use hk_sim::exec::{Program, SingleWave};
use hk_sim::isa::{Arch, Format, OPS, Op, OpInfo, decode};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Registers that the encoded instructions use.
const A: u32 = 10;
const B: u32 = 12;
const D: u32 = 14;

#[derive(Clone, Copy, Debug)]
struct State {
    a: u64,
    b: u64,
    d: u64,
    exec: u64,
    scc: bool,
    imm: i16,
}

/// What an instruction leaves; `None` is unchanged.
#[derive(Default)]
struct After {
    /// Destination value and width in bits.
    d: Option<(u64, u32)>,
    scc: Option<bool>,
    exec: Option<u64>,
}

fn keep32(d: u32) -> After {
    After { d: Some((d.into(), 32)), ..After::default() }
}

fn keep64(d: u64) -> After {
    After { d: Some((d, 64)), ..After::default() }
}

fn with_scc(d: u64, bits: u32, scc: bool) -> After {
    After { d: Some((d, bits)), scc: Some(scc), exec: None }
}

fn nonzero(d: u64, bits: u32) -> After {
    let d = if bits == 32 { d & 0xffff_ffff } else { d };
    with_scc(d, bits, d != 0)
}

fn flag(scc: bool) -> After {
    After { scc: Some(scc), ..After::default() }
}

fn bit(value: u64, at: u32) -> bool {
    value >> at & 1 == 1
}

/// Combines two masks bit by bit.
fn bitwise(a: u64, b: u64, bits: u32, f: impl Fn(bool, bool) -> bool) -> u64 {
    (0..bits).map(|at| u64::from(f(bit(a, at), bit(b, at))) << at).sum()
}

/// Bits `offset..offset + width` of an infinitely extended value.
fn extract(value: i128, offset: u32, width: u32, signed: bool) -> u64 {
    let field = (0..width.min(64)).map(|at| (value >> (offset + at) & 1) << at).sum::<i128>();
    let negative = signed && width > 0 && value >> (offset + width.min(64) - 1) & 1 == 1;
    (if negative { field - (1i128 << width.min(64)) } else { field }) as u64
}

fn first(value: u64, bits: u32, wanted: bool) -> u32 {
    (0..bits).find(|&at| bit(value, at) == wanted).unwrap_or(u32::MAX)
}

fn leading(value: u64, bits: u32, signed: bool) -> u32 {
    let skip = signed && bit(value, bits - 1);
    (0..bits).rev().position(|at| bit(value, at) != skip).map_or(u32::MAX, |n| n as u32)
}

fn save_exec(s: State, f: impl Fn(bool, bool) -> bool) -> After {
    let exec = bitwise(s.a, s.exec, 64, f);
    After { d: Some((s.exec, 64)), scc: Some(exec != 0), exec: Some(exec) }
}

/// The model, or `None` for operations that are not plain functions of the state.
fn model(op: Op, s: State) -> Option<After> {
    use Op::*;
    let (a, b) = (s.a as u32, s.b as u32);
    let (ia, ib) = (i64::from(a as i32), i64::from(b as i32));
    let (ua, ub) = (u64::from(a), u64::from(b));
    let d = s.d as u32;
    let id = i64::from(d as i32);
    let imm = i64::from(s.imm);
    let uimm = i64::from(s.imm as u16);
    let signed = |value: i64| with_scc(value as u32 as u64, 32, i64::from(value as i32) != value);
    let two32 = |f: fn(bool, bool) -> bool| nonzero(bitwise(ua, ub, 32, f), 32);
    let two64 = |f: fn(bool, bool) -> bool| nonzero(bitwise(s.a, s.b, 64, f), 64);
    let field = (b & 31, b & 63, b >> 16 & 0x7f);
    Some(match op {
        s_add_u32 => with_scc(u64::from(a.wrapping_add(b)), 32, ua + ub >= 1 << 32),
        s_sub_u32 => with_scc(u64::from(a.wrapping_sub(b)), 32, ua < ub),
        s_add_i32 => signed(ia + ib),
        s_sub_i32 => signed(ia - ib),
        s_addc_u32 => {
            let sum = ua + ub + u64::from(s.scc);
            with_scc(sum & 0xffff_ffff, 32, sum > 0xffff_ffff)
        }
        s_subb_u32 => {
            let difference = i128::from(ua) - i128::from(ub) - i128::from(s.scc);
            with_scc(difference as u64 & 0xffff_ffff, 32, difference < 0)
        }
        s_min_i32 => with_scc(if ia < ib { ua } else { ub }, 32, ia < ib),
        s_min_u32 => with_scc(if ua < ub { ua } else { ub }, 32, ua < ub),
        s_max_i32 => with_scc(if ia >= ib { ua } else { ub }, 32, ia >= ib),
        s_max_u32 => with_scc(if ua >= ub { ua } else { ub }, 32, ua >= ub),
        s_cselect_b32 => keep32(if s.scc { a } else { b }),
        s_cselect_b64 => keep64(if s.scc { s.a } else { s.b }),
        s_and_b32 => two32(|a, b| a && b),
        s_and_b64 => two64(|a, b| a && b),
        s_or_b32 => two32(|a, b| a || b),
        s_or_b64 => two64(|a, b| a || b),
        s_xor_b32 => two32(|a, b| a != b),
        s_xor_b64 => two64(|a, b| a != b),
        s_andn2_b32 => two32(|a, b| a && !b),
        s_andn2_b64 => two64(|a, b| a && !b),
        s_orn2_b32 => two32(|a, b| a || !b),
        s_orn2_b64 => two64(|a, b| a || !b),
        s_nand_b32 => two32(|a, b| !(a && b)),
        s_nand_b64 => two64(|a, b| !(a && b)),
        s_nor_b32 => two32(|a, b| !(a || b)),
        s_nor_b64 => two64(|a, b| !(a || b)),
        s_xnor_b32 => two32(|a, b| a == b),
        s_xnor_b64 => two64(|a, b| a == b),
        s_lshl_b32 => nonzero((0..b & 31).fold(ua, |v, _| (v * 2) & 0xffff_ffff), 32),
        s_lshl_b64 => nonzero((0..b & 63).fold(s.a, |v, _| v.wrapping_mul(2)), 64),
        s_lshr_b32 => nonzero((0..b & 31).fold(ua, |v, _| v / 2), 32),
        s_lshr_b64 => nonzero((0..b & 63).fold(s.a, |v, _| v / 2), 64),
        s_ashr_i32 => nonzero(ia.div_euclid(1 << (b & 31)) as u64, 32),
        s_ashr_i64 => nonzero(i128::from(s.a as i64).div_euclid(1 << (b & 63)) as u64, 64),
        s_bfm_b32 => keep32((0..a & 31).map(|at| 1u64 << (at + (b & 31))).sum::<u64>() as u32),
        s_bfm_b64 => keep64((0..a & 63).map(|at| 1u128 << (at + (b & 63))).sum::<u128>() as u64),
        s_mul_i32 => keep32((i128::from(ia) * i128::from(ib)) as u32),
        s_mul_hi_u32 => keep32(((u128::from(ua) * u128::from(ub)) >> 32) as u32),
        s_mul_hi_i32 => keep32(((i128::from(ia) * i128::from(ib)) >> 32) as u32),
        s_bfe_u32 => nonzero(extract(ua.into(), field.0, field.2, false), 32),
        s_bfe_i32 => nonzero(extract(ia.into(), field.0, field.2, true), 32),
        s_bfe_u64 => nonzero(extract(s.a.into(), field.1, field.2, false), 64),
        s_bfe_i64 => nonzero(extract((s.a as i64).into(), field.1, field.2, true), 64),
        s_absdiff_i32 => nonzero(i64::from((ia - ib) as i32).unsigned_abs(), 32),
        s_lshl1_add_u32 => with_scc((ua * 2 + ub) & 0xffff_ffff, 32, ua * 2 + ub > 0xffff_ffff),
        s_lshl2_add_u32 => with_scc((ua * 4 + ub) & 0xffff_ffff, 32, ua * 4 + ub > 0xffff_ffff),
        s_lshl3_add_u32 => with_scc((ua * 8 + ub) & 0xffff_ffff, 32, ua * 8 + ub > 0xffff_ffff),
        s_lshl4_add_u32 => with_scc((ua * 16 + ub) & 0xffff_ffff, 32, ua * 16 + ub > 0xffff_ffff),
        s_pack_ll_b32_b16 => keep32((b % 65536) * 65536 + a % 65536),
        s_pack_lh_b32_b16 => keep32((b / 65536) * 65536 + a % 65536),
        s_pack_hh_b32_b16 => keep32((b / 65536) * 65536 + a / 65536),

        s_movk_i32 => keep32(imm as u32),
        s_cmovk_i32 => keep32(if s.scc { imm as u32 } else { d }),
        s_cmpk_eq_i32 => flag(id == imm),
        s_cmpk_lg_i32 => flag(id != imm),
        s_cmpk_gt_i32 => flag(id > imm),
        s_cmpk_ge_i32 => flag(id >= imm),
        s_cmpk_lt_i32 => flag(id < imm),
        s_cmpk_le_i32 => flag(id <= imm),
        s_cmpk_eq_u32 => flag(i64::from(d) == uimm),
        s_cmpk_lg_u32 => flag(i64::from(d) != uimm),
        s_cmpk_gt_u32 => flag(i64::from(d) > uimm),
        s_cmpk_ge_u32 => flag(i64::from(d) >= uimm),
        s_cmpk_lt_u32 => flag(i64::from(d) < uimm),
        s_cmpk_le_u32 => flag(i64::from(d) <= uimm),
        s_addk_i32 => signed(id + imm),
        s_mulk_i32 => keep32((id * imm) as u32),

        s_mov_b32 => keep32(a),
        s_mov_b64 => keep64(s.a),
        s_cmov_b32 => keep32(if s.scc { a } else { d }),
        s_cmov_b64 => keep64(if s.scc { s.a } else { s.d }),
        s_not_b32 => nonzero(u64::from(u32::MAX - a), 32),
        s_not_b64 => nonzero(u64::MAX - s.a, 64),
        s_wqm_b32 => nonzero(quads(ua, 32).map(|q| if q.1 { 15 << q.0 } else { 0 }).sum(), 32),
        s_wqm_b64 => nonzero(quads(s.a, 64).map(|q| if q.1 { 15 << q.0 } else { 0 }).sum(), 64),
        s_quadmask_b32 => nonzero(quads(ua, 32).map(|q| u64::from(q.1) << (q.0 / 4)).sum(), 32),
        s_quadmask_b64 => nonzero(quads(s.a, 64).map(|q| u64::from(q.1) << (q.0 / 4)).sum(), 64),
        s_brev_b32 => keep32((0..32).map(|at| u32::from(bit(ua, at)) << (31 - at)).sum()),
        s_brev_b64 => keep64((0..64).map(|at| u64::from(bit(s.a, at)) << (63 - at)).sum()),
        s_bcnt0_i32_b32 => nonzero((0..32).filter(|&at| !bit(ua, at)).count() as u64, 32),
        s_bcnt0_i32_b64 => nonzero((0..64).filter(|&at| !bit(s.a, at)).count() as u64, 32),
        s_bcnt1_i32_b32 => nonzero((0..32).filter(|&at| bit(ua, at)).count() as u64, 32),
        s_bcnt1_i32_b64 => nonzero((0..64).filter(|&at| bit(s.a, at)).count() as u64, 32),
        s_ff0_i32_b32 => keep32(first(ua, 32, false)),
        s_ff0_i32_b64 => keep32(first(s.a, 64, false)),
        s_ff1_i32_b32 => keep32(first(ua, 32, true)),
        s_ff1_i32_b64 => keep32(first(s.a, 64, true)),
        s_flbit_i32_b32 => keep32(leading(ua, 32, false)),
        s_flbit_i32_b64 => keep32(leading(s.a, 64, false)),
        s_flbit_i32 => keep32(leading(ua, 32, true)),
        s_flbit_i32_i64 => keep32(leading(s.a, 64, true)),
        s_sext_i32_i8 => keep32(extract(ua.into(), 0, 8, true) as u32),
        s_sext_i32_i16 => keep32(extract(ua.into(), 0, 16, true) as u32),
        s_bitset0_b32 => keep32(bitwise(s.d, 1 << (a & 31), 32, |d, m| d && !m) as u32),
        s_bitset0_b64 => keep64(bitwise(s.d, 1 << (a & 63), 64, |d, m| d && !m)),
        s_bitset1_b32 => keep32(bitwise(s.d, 1 << (a & 31), 32, |d, m| d || m) as u32),
        s_bitset1_b64 => keep64(bitwise(s.d, 1 << (a & 63), 64, |d, m| d || m)),
        s_and_saveexec_b64 => save_exec(s, |a, x| a && x),
        s_or_saveexec_b64 => save_exec(s, |a, x| a || x),
        s_xor_saveexec_b64 => save_exec(s, |a, x| a != x),
        s_andn2_saveexec_b64 => save_exec(s, |a, x| a && !x),
        s_orn2_saveexec_b64 => save_exec(s, |a, x| a || !x),
        s_nand_saveexec_b64 => save_exec(s, |a, x| !(a && x)),
        s_nor_saveexec_b64 => save_exec(s, |a, x| !(a || x)),
        s_xnor_saveexec_b64 => save_exec(s, |a, x| a == x),
        s_andn1_saveexec_b64 => save_exec(s, |a, x| !a && x),
        s_orn1_saveexec_b64 => save_exec(s, |a, x| !a || x),
        s_andn1_wrexec_b64 | s_andn2_wrexec_b64 => {
            let exec =
                bitwise(
                    s.a,
                    s.exec,
                    64,
                    |a, x| {
                        if op == s_andn1_wrexec_b64 { !a && x } else { a && !x }
                    },
                );
            After { d: Some((exec, 64)), scc: Some(exec != 0), exec: Some(exec) }
        }
        s_abs_i32 => nonzero(ia.unsigned_abs(), 32),
        s_bitreplicate_b64_b32 => keep64((0..64).map(|at| u64::from(bit(ua, at / 2)) << at).sum()),

        s_cmp_eq_i32 | s_cmp_eq_u32 => flag(ua == ub),
        s_cmp_lg_i32 | s_cmp_lg_u32 => flag(ua != ub),
        s_cmp_gt_i32 => flag(ia > ib),
        s_cmp_ge_i32 => flag(ia >= ib),
        s_cmp_lt_i32 => flag(ia < ib),
        s_cmp_le_i32 => flag(ia <= ib),
        s_cmp_gt_u32 => flag(ua > ub),
        s_cmp_ge_u32 => flag(ua >= ub),
        s_cmp_lt_u32 => flag(ua < ub),
        s_cmp_le_u32 => flag(ua <= ub),
        s_bitcmp0_b32 => flag(!bit(ua, b & 31)),
        s_bitcmp1_b32 => flag(bit(ua, b & 31)),
        s_bitcmp0_b64 => flag(!bit(s.a, b & 63)),
        s_bitcmp1_b64 => flag(bit(s.a, b & 63)),
        s_cmp_eq_u64 => flag(s.a == s.b),
        s_cmp_lg_u64 => flag(s.a != s.b),
        _ => return None,
    })
}

/// Groups of four bits: position and whether any bit is set.
fn quads(mask: u64, bits: u32) -> impl Iterator<Item = (u32, bool)> {
    (0..bits / 4).map(move |quad| (4 * quad, (0..4).any(|at| bit(mask, 4 * quad + at))))
}

/// Encodes an instruction with the registers above in those fields that it has.
fn encode(info: &OpInfo, imm: i16) -> u32 {
    let opcode = u32::from(info.opcode);
    let field = |slot: hk_sim::isa::Slot, value: u32| if slot.is_some() { value } else { 0 };
    let (a, b) = (field(info.src[0], A), field(info.src[1], B));
    let d = field(info.dst[0], D);
    // A SOPK operation that only reads its register lists it as a source.
    let k = if info.op == Op::s_setreg_imm32_b32 { 0 } else { D };
    match info.format {
        Format::Sop2 => 0x8000_0000 | opcode << 23 | d << 16 | b << 8 | a,
        Format::Sop1 => 0xbe80_0000 | d << 16 | opcode << 8 | a,
        Format::Sopc => 0xbf00_0000 | opcode << 16 | b << 8 | a,
        Format::Sopk => 0xb000_0000 | opcode << 23 | k << 16 | u32::from(imm as u16),
        _ => 0xbf80_0000 | opcode << 16 | u32::from(imm as u16),
    }
}

fn is_scalar_alu(info: &OpInfo) -> bool {
    matches!(info.format, Format::Sop1 | Format::Sop2 | Format::Sopk | Format::Sopc)
}

#[test]
fn scalar_alu_matches_the_model() {
    const EDGES: [u64; 12] = [
        0,
        1,
        31,
        32,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x7fff_ffff_ffff_ffff,
        0x8000_0000_0000_0000,
        0xffff_ffff_0000_0000,
        0x0020_0004,
        u64::MAX,
    ];
    let mut rng = StdRng::seed_from_u64(0x5a1u64);
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        for info in OPS.iter().filter(|info| is_scalar_alu(info) && info.archs.has(arch)) {
            for round in 0..200 {
                let mut value = || match rng.random_range(0..3) {
                    0 => EDGES[rng.random_range(0..EDGES.len())],
                    1 => rng.random::<u64>() >> rng.random_range(0..64),
                    _ => rng.random(),
                };
                let (a, b, d, exec) = (value(), value(), value(), value());
                let b = if round % 5 == 0 { a } else { b };
                let imm = rng.random::<i16>() >> rng.random_range(0..16);
                let d = if round % 7 == 0 { i64::from(imm) as u64 } else { d };
                let before = State { a, b, d, exec, scc: rng.random(), imm };
                let Some(after) = model(info.op, before) else { break };

                let mut wave = SingleWave::new(arch, &[encode(info, imm)]);
                wave.set_sgpr64(A as usize, a);
                wave.set_sgpr64(B as usize, b);
                wave.set_sgpr64(D as usize, d);
                wave.set_exec(exec);
                wave.set_scc(before.scc);
                wave.run().unwrap();

                let what = format!("{arch} {} of {before:x?}", info.mnemonic);
                let expected = match after.d {
                    None => d,
                    Some((value, 32)) => d & !0xffff_ffff | value & 0xffff_ffff,
                    Some((value, _)) => value,
                };
                assert_eq!(wave.sgpr64(D as usize), expected, "destination of {what}");
                assert_eq!(wave.scc(), after.scc.unwrap_or(before.scc), "SCC of {what}");
                assert_eq!(wave.exec(), after.exec.unwrap_or(exec), "EXEC of {what}");
                assert_eq!(wave.sgpr64(A as usize), a, "source of {what}");
            }
        }
    }
}

/// Operations that the table test cannot express; each has a test of its own below, or is refused.
const OTHERS: &[Op] = &[
    Op::s_getreg_b32,
    Op::s_setreg_b32,
    Op::s_setreg_imm32_b32,
    Op::s_call_b64,
    Op::s_getpc_b64,
    Op::s_setpc_b64,
    Op::s_swappc_b64,
    Op::s_movrels_b32,
    Op::s_movrels_b64,
    Op::s_movreld_b32,
    Op::s_movreld_b64,
    Op::s_set_gpr_idx_idx,
    Op::s_set_gpr_idx_on,
    Op::s_setvskip,
];

#[test]
fn every_scalar_operation_is_modelled_tested_or_refused() {
    let state = State { a: 1, b: 1, d: 1, exec: 1, scc: false, imm: 1 };
    for info in OPS.iter().filter(|info| is_scalar_alu(info)) {
        let inst = decode(Arch::Gfx950, &[encode(info, 0), 0]).unwrap();
        let refused = Program::supports(Arch::Gfx950, &inst).is_err();
        let covered = model(info.op, state).is_some() || OTHERS.contains(&info.op);
        assert!(covered != refused, "{}: covered {covered}, refused {refused}", info.mnemonic);
    }
}

fn run(words: &[u32], prepare: impl Fn(&mut SingleWave)) -> SingleWave {
    let mut wave = SingleWave::new(Arch::Gfx950, words);
    prepare(&mut wave);
    wave.run().unwrap();
    wave
}

fn word(op: Op, imm: i16) -> u32 {
    encode(OPS.iter().find(|info| info.op == op).unwrap(), imm)
}

#[test]
fn literals_of_64_bits_are_extended_as_the_operation_has_it() {
    // Source 255 is the dword behind the instruction.
    let high = |words: [u32; 2]| {
        let wave = run(&words, |_| ());
        assert_eq!(wave.sgpr(16), 0xffff_fff0, "{words:x?}");
        wave.sgpr(17)
    };
    // s_mov_b64 s[16:17], and s_ashr_i64 of nothing.
    assert_eq!(high([0xbe90_01ff, 0xffff_fff0]), 0);
    assert_eq!(high([0x9090_80ff, 0xffff_fff0]), u32::MAX);
    // Inline constants are signed: s_mov_b64 s[16:17], -16.
    assert_eq!(run(&[0xbe90_01d0], |_| ()).sgpr(17), u32::MAX);
    // v_mov_b64 v[0:1] moves bits, too.
    let wave = run(&[0x7e00_70ff, 0xffff_fff0], |_| ());
    assert_eq!([0, 1].map(|row| wave.vgpr(row)[5]), [0xffff_fff0, 0]);
}

#[test]
fn float_constants_of_64_bits_are_doubles() {
    let bits = |value: f64| value.to_bits();
    // s_mov_b64 s[16:17], 4.0, -0.5 and 1 / (2 pi).
    assert_eq!(run(&[0xbe90_01f6], |_| ()).sgpr64(16), bits(4.0));
    assert_eq!(run(&[0xbe90_01f1], |_| ()).sgpr64(16), bits(-0.5));
    assert_eq!(run(&[0xbe90_01f8], |_| ()).sgpr64(16), 0x3fc4_5f30_6dc9_c882);
    // v_mov_b64 v[0:1], 1.0
    let wave = run(&[0x7e00_70f2], |_| ());
    assert_eq!([0, 1].map(|row| wave.vgpr(row)[5]), [0, 0x3ff0_0000]);
    // s_cmp_lg_u64 s[10:11], 1.0
    assert!(!run(&[0xbf13_f20a], |wave| wave.set_sgpr64(10, bits(1.0))).scc());
    // s_mov_b32 s16, 1.0 has the word.
    assert_eq!(run(&[0xbe90_00f2], |_| ()).sgpr(16), 0x3f80_0000);
}

#[test]
fn equal_constants_of_a_mixed_fma_have_types_of_their_own() {
    // v_fma_mix_f32 v0, v1, 1.0, 1.0 op_sel_hi:[1,0,1]: of f16, f32 and f16.
    let words = [0xd3a0_0000 | 1 << 14, 1 << 27 | 242 << 18 | 242 << 9 | 257];
    let wave = run(&words, |wave| wave.set_vgpr(1, [0x3c00; 64]));
    assert_eq!(wave.vgpr(0)[5], 2f32.to_bits());
}

#[test]
fn hardware_registers_are_read_and_written_by_field() {
    // MODE is register 1: write bits 7:4, read bits 7:0 back.
    let write = word(Op::s_setreg_b32, (3 << 11 | 4 << 6 | 1) as i16);
    let read = word(Op::s_getreg_b32, (7 << 11 | 1) as i16);
    let wave = run(&[write, read], |wave| wave.set_sgpr(D as usize, 0x5));
    assert_eq!(wave.sgpr(D as usize), 0x50);
    let immediate = word(Op::s_setreg_imm32_b32, (1 << 11 | 1) as i16);
    let wave = run(&[immediate, 2, read], |_| ());
    assert_eq!(wave.sgpr(D as usize), 0xf2);
    // Of a field that ends beyond the register, the bits before it stay.
    let wide = word(Op::s_setreg_imm32_b32, (31 << 11 | 4 << 6 | 1) as i16);
    let wave = run(&[immediate, 2, wide, 0xf, read], |_| ());
    assert_eq!(wave.sgpr(D as usize), 0xf2);
    // XCC_ID and LDS_ALLOC are read-only.
    let write = word(Op::s_setreg_b32, (31 << 11 | 20) as i16);
    let read = word(Op::s_getreg_b32, (31 << 11 | 20) as i16);
    let wave = run(&[write, read], |wave| wave.set_sgpr(D as usize, 7));
    assert_eq!(wave.sgpr(D as usize), 0);
}

#[test]
fn calls_jump_and_come_back() {
    let s_mov = |dst: u32, value: u32| 0xbe80_0000 | dst << 16 | (128 + value);
    let words = [
        word(Op::s_call_b64, 2),   // 0: to 3, back to 1
        s_mov(20, 1),              // 1
        0xbf82_0002,               // 2: branch to 5
        s_mov(21, 2),              // 3
        0xbe80_0000 | 29 << 8 | D, // 4: s_setpc_b64 s[14:15]
        word(Op::s_getpc_b64, 0),  // 5: s[14:15] = address of 6
    ];
    let wave = run(&words, |_| ());
    assert_eq!((wave.sgpr(20), wave.sgpr(21)), (1, 2));
    assert_eq!(wave.sgpr64(D as usize), 4 * 6);
    // s_swappc_b64 s[14:15], s[10:11]: to 2, over the instruction between.
    let words = [word(Op::s_swappc_b64, 0), s_mov(20, 1), s_mov(21, 2)];
    let wave = run(&words, |wave| {
        wave.set_sgpr64(A as usize, 8);
        wave.set_sgpr(20, 0);
    });
    assert_eq!((wave.sgpr(20), wave.sgpr(21)), (0, 2));
    assert_eq!(wave.sgpr64(D as usize), 4);
    // A jump out of the code is a fault, not a crash.
    let mut wave = SingleWave::new(Arch::Gfx942, &[0xbe80_0000 | 29 << 8 | A]);
    wave.set_sgpr64(A as usize, 0x1000);
    let report = wave.run().unwrap_err();
    assert_eq!(report.kind, hk_sim::FaultKind::IllegalState);
    assert_eq!(report.address, Some(0x1000));
}

#[test]
fn relative_scalar_moves_add_m0() {
    let prepare = |wave: &mut SingleWave| {
        wave.set_sgpr(124, 4);
        for register in 0..8 {
            wave.set_sgpr(A as usize + register, 100 + register as u32);
        }
    };
    let wave = run(&[word(Op::s_movrels_b32, 0)], prepare);
    assert_eq!(wave.sgpr(D as usize), 104);
    let wave = run(&[word(Op::s_movrels_b64, 0)], prepare);
    assert_eq!((wave.sgpr(D as usize), wave.sgpr(D as usize + 1)), (104, 105));
    let wave = run(&[word(Op::s_movreld_b32, 0)], prepare);
    assert_eq!(wave.sgpr(D as usize + 4), 100);
    let wave = run(&[word(Op::s_movreld_b64, 0)], prepare);
    assert_eq!((wave.sgpr(D as usize + 4), wave.sgpr(D as usize + 5)), (100, 101));
}

#[test]
fn branches_follow_their_condition() {
    // Each branch skips one s_mov_b32 s20, 1.
    type Prepare = fn(&mut SingleWave);
    let cases: [(Op, Prepare, bool); 13] = [
        (Op::s_branch, |_| (), true),
        (Op::s_cbranch_scc0, |wave| wave.set_scc(false), true),
        (Op::s_cbranch_scc0, |wave| wave.set_scc(true), false),
        (Op::s_cbranch_scc1, |wave| wave.set_scc(true), true),
        (Op::s_cbranch_scc1, |wave| wave.set_scc(false), false),
        (Op::s_cbranch_vccz, |wave| wave.set_vcc(0), true),
        (Op::s_cbranch_vccz, |wave| wave.set_vcc(1 << 40), false),
        (Op::s_cbranch_vccnz, |wave| wave.set_vcc(1 << 40), true),
        (Op::s_cbranch_vccnz, |wave| wave.set_vcc(0), false),
        (Op::s_cbranch_execz, |wave| wave.set_exec(0), true),
        (Op::s_cbranch_execz, |wave| wave.set_exec(1 << 63), false),
        (Op::s_cbranch_execnz, |wave| wave.set_exec(1 << 63), true),
        (Op::s_cbranch_execnz, |wave| wave.set_exec(0), false),
    ];
    for (op, prepare, taken) in cases {
        let wave = run(&[word(op, 1), 0xbe80_0000 | 20 << 16 | 129], |wave| {
            wave.set_sgpr(20, 0);
            prepare(wave);
        });
        assert_eq!(wave.sgpr(20) == 0, taken, "{}", op.name());
    }
}

#[test]
fn vector_register_indexing_moves_the_selected_operands() {
    // s_set_gpr_idx_on s10, 0x9 (source 0 and destination); v_mov_b32 v1, v2; s_set_gpr_idx_off;
    // v_mov_b32 v3, v2.
    let on = 0xbf00_0000 | 17 << 16 | 0x9 << 8 | A;
    let mov = |dst: u32, src: u32| 0x7e00_0200 | dst << 17 | (256 + src);
    let wave = run(&[on, mov(1, 2), 0xbf9c_0000, mov(3, 2)], |wave| {
        wave.set_sgpr(A as usize, 10);
        wave.set_vgpr(2, [2; 64]);
        wave.set_vgpr(12, [12; 64]);
        wave.set_vgpr(1, [1; 64]);
    });
    assert_eq!(wave.vgpr(11), &[12; 64]);
    assert_eq!(wave.vgpr(1), &[1; 64]);
    assert_eq!(wave.vgpr(3), &[2; 64]);
    // s_set_gpr_idx_idx changes the index while the mode is on.
    let index = word(Op::s_set_gpr_idx_idx, 0) & !(0x7f << 16);
    let wave = run(&[on, index & !0xff | (128 + 20), mov(1, 2), 0xbf9c_0000], |wave| {
        wave.set_sgpr(A as usize, 10);
        wave.set_vgpr(22, [22; 64]);
    });
    assert_eq!(wave.vgpr(21), &[22; 64]);
}

#[test]
fn skipped_vector_code_does_nothing() {
    // s_setvskip 1, 0; v_mov_b32 v1, 5; s_setvskip 0, 0; v_mov_b32 v2, 5
    let skip = |on: u32| 0xbf00_0000 | 16 << 16 | 128 << 8 | (128 + on);
    let mov = |dst: u32| 0x7e00_0200 | dst << 17 | 133;
    let wave = run(&[skip(1), mov(1), skip(0), mov(2)], |wave| wave.set_vgpr(1, [9; 64]));
    assert_eq!(wave.vgpr(1), &[9; 64]);
    assert_eq!(wave.vgpr(2), &[5; 64]);
}

#[test]
fn traps_and_halts_stop_the_launch_with_a_report() {
    for (word, kind) in [
        (0xbf92_0002, hk_sim::FaultKind::Trap),
        (0xbf8d_0001, hk_sim::FaultKind::Deadlock),
        (0xbe80_0000 | 31 << 8, hk_sim::FaultKind::IllegalInstruction),
    ] {
        let report = SingleWave::new(Arch::Gfx942, &[0xbf80_0000, word]).run().unwrap_err();
        assert_eq!(report.kind, kind, "{report}");
        assert_eq!(report.pc, 4, "{report}");
    }
    // A breakpoint without a debugger goes on.
    SingleWave::new(Arch::Gfx942, &[0xbf92_0003]).run().unwrap();
}
