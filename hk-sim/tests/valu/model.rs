//! Model of a vector ALU instruction: operands, modifiers, lanes, destinations. The operations are
//! in the other files.

use hk_sim::exec::SingleWave;
use hk_sim::isa::{Arch, Elem, Ext, Format as Encoding, Inst, Op, Operand};

use crate::exact::{BF16, F16, F32, F64, Format, Round, Value};
use crate::{float, integer, small};

/// What an operation may depend on beside its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cx {
    pub(crate) mode: u32,
    pub(crate) ocp: bool,
    pub(crate) lane: u32,
    pub(crate) op_sel: u32,
    pub(crate) truth_table: u32,
    pub(crate) clamp: bool,
}

impl Cx {
    pub(crate) fn plain() -> Self {
        Self { mode: 0x3f0, ocp: true, lane: 0, op_sel: 0, truth_table: 0, clamp: false }
    }

    pub(crate) fn ieee(&self) -> bool {
        self.mode >> 9 & 1 == 1
    }

    pub(crate) fn round(&self, format: Format) -> Round {
        Round::of(self.mode >> if format == F32 { 0 } else { 2 })
    }
}

/// Result of one lane.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Out {
    pub(crate) bits: u128,
    pub(crate) mask: bool,
    /// Tolerance in units in the last place.
    pub(crate) ulp: u64,
    /// Any NaN will do.
    pub(crate) any_nan: bool,
}

/// The operation itself, on operands of up to 128 bits.
fn eval(cx: &Cx, name: &str, sources: &[u128]) -> Option<Out> {
    integer::eval(cx, name, sources).or_else(|| float::eval(cx, name, sources))
}

/// State of a wave.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) sgpr: Vec<u32>,
    pub(crate) scc: bool,
    pub(crate) mode: u32,
    pub(crate) rows: Vec<[u32; 64]>,
}

impl State {
    pub(crate) fn apply(&self, wave: &mut SingleWave) {
        for (code, value) in self.sgpr.iter().enumerate() {
            wave.set_sgpr(code, *value);
        }
        for (index, row) in self.rows.iter().enumerate() {
            wave.set_vgpr(index, *row);
        }
        wave.set_scc(self.scc);
        wave.set_mode(self.mode);
    }

    fn sgpr64(&self, code: usize) -> u64 {
        u64::from(self.sgpr[code]) | u64::from(self.sgpr[code + 1]) << 32
    }

    fn exec(&self) -> u64 {
        self.sgpr64(126)
    }

    fn set64(&mut self, code: usize, value: u64) {
        self.sgpr[code] = value as u32;
        self.sgpr[code + 1] = (value >> 32) as u32;
    }
}

/// How far a written register may be from the model.
pub(crate) struct Expected {
    pub(crate) state: State,
    /// Row, lane, tolerance in units in the last place of a word.
    pub(crate) approximate: Vec<(usize, usize, u64)>,
    /// Row and lane of words where any NaN will do.
    pub(crate) any_nan: Vec<(usize, usize)>,
}

/// Value that a scalar source code has in an operand.
fn scalar(state: &State, inst: &Inst, operand: Operand, elem: Elem) -> Vec<u32> {
    let words = |value: u64| {
        (0..operand.dwords).map(|at| (value >> (32 * at)) as u32).collect::<Vec<u32>>()
    };
    let code = operand.code;
    let pair_of_words = operand.dwords == 2 && matches!(elem, Elem::F32 | Elem::B32);
    match code {
        0..=127 => {
            (0..operand.dwords).map(|at| state.sgpr[usize::from(code) + usize::from(at)]).collect()
        }
        128..=208 => {
            let number = if code <= 192 { i64::from(code) - 128 } else { 192 - i64::from(code) };
            words(if pair_of_words { number as u32 as u64 } else { number as u64 })
        }
        235..=238 => {
            // The apertures: addresses, so only their upper halves differ from zero.
            let base = if code < 237 { 1u64 << 48 } else { 2 << 48 };
            let value = if code % 2 == 1 { base } else { base + 0xffff_ffff };
            if operand.dwords == 2 { words(value) } else { vec![0] }
        }
        240..=248 => {
            const VALUES: [f64; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
            let value = VALUES.get(usize::from(code) - 240);
            let value = value.copied().unwrap_or(1.0 / std::f64::consts::TAU);
            let format = match elem {
                Elem::F16 => F16,
                Elem::Bf16 => BF16,
                Elem::F64 | Elem::B64 => F64,
                _ => F32,
            };
            // 1 / (2 pi) is cut off in bf16, as it is the upper half of the f32.
            let round = if format == BF16 { Round::Zero } else { Round::Even };
            match (format, code) {
                // The manual gives the f64 pattern one below the nearest.
                (F64, 248) => words(0x3fc4_5f30_6dc9_c882),
                _ => words(format.pack(&Value::f64(value), round)),
            }
        }
        251 => words((state.sgpr64(106) == 0).into()),
        252 => words((state.exec() == 0).into()),
        253 => words(state.scc.into()),
        _ => {
            let literal = u64::from(inst.literal);
            let signed = i64::from(inst.literal as i32) as u64;
            words(match elem {
                Elem::F64 => literal << 32,
                _ if inst.info.op.name().ends_with("i64") => signed,
                _ => literal,
            })
        }
    }
}

fn is_mix(op: Op) -> bool {
    matches!(op, Op::v_fma_mix_f32 | Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16)
}

fn format_of(elem: Elem) -> Option<Format> {
    match elem {
        Elem::F16 => Some(F16),
        Elem::Bf16 => Some(BF16),
        Elem::F32 => Some(F32),
        Elem::F64 => Some(F64),
        _ => None,
    }
}

/// Lane that a lane reads under DPP.
fn dpp_source(ctrl: u16, lane: i32) -> Option<i32> {
    let row = lane / 16 * 16;
    let n = i32::from(ctrl % 16);
    let inside = |source: i32, low: i32, high: i32| (low..high).contains(&source).then_some(source);
    match ctrl >> 4 {
        0x00..=0x0f => Some(lane / 4 * 4 + i32::from(ctrl >> (lane % 4 * 2) & 3)),
        0x10 => inside(lane + n, row, row + 16),
        0x11 => inside(lane - n, row, row + 16),
        0x12 => Some(row + (lane - row - n).rem_euclid(16)),
        0x13 => match n {
            0 => inside(lane + 1, 0, 64),
            4 => Some((lane + 1) % 64),
            8 => inside(lane - 1, 0, 64),
            _ => Some((lane + 63) % 64),
        },
        0x14 => match n {
            0 => Some(row + 15 - (lane - row)),
            1 => Some(lane / 8 * 8 + 7 - lane % 8),
            2 => (row > 0).then_some(row - 1),
            _ => (lane >= 32).then_some(31),
        },
        _ => Some(row + n),
    }
}

/// Operations that leave denormals alone whatever MODE says: those that move or look at bits,
/// scale for a division, convert between small formats, or flush by rules of their own.
fn ignores_mode(name: &str) -> bool {
    let exact = [
        "v_mov",
        "v_accvgpr",
        "v_cndmask",
        "v_cmp_class",
        "v_cmpx_class",
        "v_div_scale",
        "v_div_fixup",
        "v_pack",
        "v_cvt_off",
        "v_cvt_f32_ubyte",
        "v_dot",
        "v_trig_preop",
        "v_cvt_pk_bf16",
        "v_cvt_f32_bf16",
        "v_cvt_sr",
        "v_cvt_scalef32",
        "v_cvt_f32_fp8",
        "v_cvt_f32_bf8",
        "v_cvt_pk_f32",
        "v_cvt_pk_fp8",
        "v_cvt_pk_bf8",
    ];
    exact.iter().any(|prefix| name.starts_with(prefix))
}

fn flush(format: Format, bits: u64, mode: u32, output: bool) -> u64 {
    let at = if format == F32 { 4 } else { 6 } + u32::from(output);
    if mode >> at & 1 == 0 && format != BF16 && format.is_denormal(bits) {
        bits & format.sign()
    } else {
        bits
    }
}

/// One source of one lane after all its modifiers, as registers.
fn source(state: &State, inst: &Inst, at: usize, lane: usize) -> Vec<u32> {
    let info = inst.info;
    let (slot, operand) = (info.src[at], inst.src[at]);
    let name = info.op.name();
    let [neg, abs, sel, sel_hi] =
        [inst.neg, inst.abs, inst.op_sel, inst.op_sel_hi].map(|bits| bits >> at & 1 == 1);
    let mixed_half = is_mix(info.op) && sel_hi;
    let elem = if mixed_half { Elem::F16 } else { slot.elem };
    let mut from = lane as i32;
    let mut reads_zero = false;
    if let (Ext::Dpp(dpp), 0) = (inst.ext, at) {
        let found = dpp_source(dpp.ctrl, from);
        let active = found.filter(|lane| state.exec() >> lane & 1 == 1);
        reads_zero = active.is_none();
        from = active.unwrap_or(0);
    }
    let mut words = match operand.vector_index() {
        Some(row) => (0..usize::from(operand.dwords))
            .map(|word| if reads_zero { 0 } else { state.rows[row + word][from as usize] })
            .collect(),
        None => scalar(state, inst, operand, elem),
    };
    if let (Ext::Sdwa(sdwa), 0 | 1) = (inst.ext, at) {
        let (shift, width) = match sdwa.src_sel[at] {
            byte @ 0..=3 => (8 * byte, 8),
            word @ 4..=5 => (16 * (word - 4), 16),
            _ => (0, 32),
        };
        let field = u128::from(words[0] >> shift);
        words[0] = if sdwa.src_sext[at] {
            integer::signed(field, width) as u32
        } else {
            integer::unsigned(field, width) as u32
        };
    }
    // Which format the signs and exponents have, and how many of them are in the registers.
    let format = if name == "v_cndmask_b32" && at < 2 { Some(F32) } else { format_of(elem) };
    // The table calls the reference of `v_qsad` narrow; it is four bytes.
    let narrow = slot.count == 1
        && matches!(elem, Elem::F16 | Elem::Bf16 | Elem::B16)
        && !name.contains("qsad");
    let shift_count = name.starts_with("v_align") && at == 2;
    if info.format == Encoding::Vop3p {
        if mixed_half {
            let half = words[0] >> if sel { 16 } else { 0 } & 0xffff;
            let half = flush(F16, half.into(), state.mode, false);
            words[0] = float::convert(F16, F32, half, Round::Even) as u32;
        } else if slot.count == 2 && !matches!(info.op, Op::v_pk_mov_b32) {
            // Selection, then the sign of each half.
            let selects = info.mods.sel != 0;
            let wide = slot.dwords == 2;
            let get = |high: bool| match (wide, high) {
                (true, high) => words[usize::from(high)],
                (false, high) => words[0] >> if high { 16 } else { 0 } & 0xffff,
            };
            let picked = if selects { [get(sel), get(sel_hi)] } else { [get(false), get(true)] };
            let sign = |negate: bool| match format {
                Some(format) if negate => format.sign() as u32,
                _ => 0,
            };
            let halves = [picked[0] ^ sign(neg), picked[1] ^ sign(abs)];
            words = if wide { halves.to_vec() } else { vec![halves[0] | halves[1] << 16] };
        }
        let whole_modifiers = is_mix(info.op) || info.op == Op::v_dot2_f32_f16 && at == 2;
        if whole_modifiers {
            words[0] = if abs { words[0] & !(1 << 31) } else { words[0] };
            words[0] ^= if neg { 1 << 31 } else { 0 };
        }
    } else {
        if (narrow || shift_count) && sel {
            words[0] >>= 16;
        }
        if narrow {
            words[0] &= 0xffff;
        }
        if let Some(format) = format {
            let parts = usize::from(slot.count);
            for part in 0..parts {
                let change = |bits: u64| {
                    let bits = if abs { bits & !format.sign() } else { bits };
                    bits ^ if neg { format.sign() } else { 0 }
                };
                on_part(&mut words, format, part, change);
            }
        }
    }
    if let Some(format) = format.filter(|_| !ignores_mode(name)) {
        for part in 0..usize::from(slot.count) {
            on_part(&mut words, format, part, |bits| flush(format, bits, state.mode, false));
        }
    }
    words
}

/// Changes one float of several in registers.
fn on_part(words: &mut [u32], format: Format, part: usize, change: impl Fn(u64) -> u64) {
    match format.bits() {
        16 => {
            let shift = 16 * (part % 2);
            let word = &mut words[part / 2];
            let half = change(u64::from(*word >> shift & 0xffff)) as u32;
            *word = *word & !(0xffff << shift) | half << shift;
        }
        32 => words[part] = change(words[part].into()) as u32,
        _ => {
            let bits = change(u64::from(words[2 * part]) | u64::from(words[2 * part + 1]) << 32);
            words[2 * part] = bits as u32;
            words[2 * part + 1] = (bits >> 32) as u32;
        }
    }
}

fn wide(words: &[u32]) -> u128 {
    words.iter().take(4).rev().fold(0, |all, word| all << 32 | u128::from(*word))
}

/// Registers and lane bit that the operation yields in one lane, before output modifiers.
fn compute(state: &State, arch: Arch, inst: &Inst, lane: usize) -> Option<(Vec<u32>, Out)> {
    let info = inst.info;
    let name = info.op.name();
    let cx = Cx {
        mode: state.mode,
        ocp: arch == Arch::Gfx950,
        lane: lane as u32,
        op_sel: inst.op_sel.into(),
        truth_table: inst.bitop3.into(),
        clamp: inst.clamp,
    };
    let dst_row = inst.dst[0].vector_index();
    let old = |word: usize| dst_row.map_or(0, |row| state.rows[row + word][lane]);
    let count = info.src.iter().take_while(|slot| slot.is_some()).count();
    let mut sources: Vec<Vec<u32>> = (0..count).map(|at| source(state, inst, at, lane)).collect();
    if let Some(words) = small::eval(&cx, name, &sources, old(0)) {
        return Some((words, Out::default()));
    }
    let lane_bit = |words: &[u32]| vec![(wide(words) >> lane) as u32 & 1];
    match name {
        "v_cndmask_b32" | "v_addc_co_u32" | "v_subb_co_u32" | "v_subbrev_co_u32" => {
            sources[2] = lane_bit(&sources[2]);
        }
        "v_div_fmas_f32" | "v_div_fmas_f64" => {
            let vcc = state.sgpr64(106);
            sources.push(vec![(vcc >> lane) as u32 & 1]);
        }
        "v_cvt_pkaccum_u8_f32" => sources.push(vec![old(0)]),
        "v_pk_mov_b32" => {
            let word = |at: usize| sources[at][usize::from(inst.op_sel >> at & 1)];
            return Some((vec![word(0), word(1)], Out::default()));
        }
        _ if info.dst[0].rw => {
            // Accumulators: MODE flushes them like any operand.
            let mut words: Vec<u32> = (0..usize::from(info.dst[0].dwords)).map(old).collect();
            if info.dst[0].elem == Elem::F16 && info.dst[0].count == 1 {
                words[0] &= 0xffff;
            }
            if let Some(format) = format_of(info.dst[0].elem).filter(|_| !ignores_mode(name)) {
                for part in 0..usize::from(info.dst[0].count) {
                    on_part(&mut words, format, part, |x| flush(format, x, state.mode, false));
                }
            }
            sources.push(words);
        }
        _ => {}
    }
    let packed = name.starts_with("v_pk_");
    if !packed {
        let out = eval(&cx, name, &sources.iter().map(|s| wide(s)).collect::<Vec<_>>())?;
        let words = (0..u32::from(info.dst[0].dwords)).map(|at| (out.bits >> (32 * at)) as u32);
        return Some((words.collect(), out));
    }
    // Packed operations are the plain ones on each half.
    let plain = name.replacen("v_pk_", "v_", 1).replacen("fmac", "fma", 1);
    let half = |at: usize| {
        let pick = |words: &Vec<u32>| {
            if words.len() == 2 { words[at] } else { words[0] >> (16 * at) & 0xffff }
        };
        let halves: Vec<u128> = sources.iter().map(|words| pick(words).into()).collect();
        eval(&cx, &plain, &halves).map(|out| out.bits as u32)
    };
    let (low, high) = (half(0)?, half(1)?);
    let words = if info.dst[0].dwords == 2 { vec![low, high] } else { vec![low | high << 16] };
    Some((words, Out::default()))
}

/// Halves that are infinite though no operand is become the largest number.
fn saturate(state: &State, inst: &Inst, lane: usize, words: &mut [u32]) {
    let slots = &inst.info.src;
    let slot = inst.info.dst[0];
    let count = slots.iter().take_while(|slot| slot.is_some()).count();
    let of_mix = is_mix(inst.info.op);
    let mut operands: Vec<_> = (0..count)
        .map(|at| {
            let elem = if of_mix { Elem::F32 } else { slots[at].elem };
            (elem, source(state, inst, at, lane)[0])
        })
        .collect();
    if let (true, Some(row)) = (slot.rw, inst.dst[0].vector_index()) {
        operands.push((Elem::F16, state.rows[row][lane]));
    }
    for part in 0..usize::from(slot.count) {
        let is_infinite = |(at, (elem, bits)): (usize, &(Elem, u32))| match elem {
            Elem::F16 => bits >> (16 * part) & 0x7fff == 0x7c00,
            // Of two words, each becomes a half.
            Elem::F32 => (slot.count == 1 || at == part) && f32::from_bits(*bits).is_infinite(),
            _ => false,
        };
        if !operands.iter().enumerate().any(is_infinite) {
            on_part(words, F16, part, |bits| bits - u64::from(bits & 0x7fff == 0x7c00));
        }
    }
}

/// Multiplication and clamping of a result.
fn output_modifiers(inst: &Inst, mode: u32, format: Format, bits: u64) -> u64 {
    let at = if format == F32 { 5 } else { 7 };
    let mut bits = bits;
    if mode >> 9 & 1 == 0 && mode >> at & 1 == 0 && inst.omod != 0 {
        let by = [0, 1, 2, -1][usize::from(inst.omod)];
        bits = if format.is_nan(bits) {
            bits | format.quiet_bit()
        } else {
            format.pack(&format.unpack(bits).scaled(by), Round::Even)
        };
        bits = flush(format, bits, mode, true);
    }
    if inst.clamp {
        let zero_nan = mode >> 8 & 1 == 1;
        let one = format.pack(&Value::f64(1.0), Round::Even);
        bits = match () {
            () if format.is_nan(bits) => {
                if zero_nan {
                    0
                } else {
                    bits | format.quiet_bit()
                }
            }
            () if bits & format.sign() != 0 => 0,
            () => bits.min(one),
        };
    }
    bits
}

/// The state after the instruction; `None` if there is no model for it.
pub(crate) fn execute(state: &State, arch: Arch, inst: &Inst) -> Option<Expected> {
    let mut expected =
        Expected { state: state.clone(), approximate: Vec::new(), any_nan: Vec::new() };
    if moves_lanes(&mut expected.state, state, inst) {
        return Some(expected);
    }
    let info = inst.info;
    let name = info.op.name();
    let slot = info.dst[0];
    let exec = state.exec();
    let mut mask = 0;
    for lane in 0..64 {
        let (mut words, out) = compute(state, arch, inst, lane)?;
        mask |= u64::from(out.mask) << lane;
        if exec >> lane & 1 == 0 || !dpp_writes(state, inst, lane) {
            continue;
        }
        let Some(row) = inst.dst[0].vector_index() else { continue };
        if slot.elem == Elem::F16 && state.mode >> 23 & 1 == 1 && !ignores_mode(name) {
            saturate(state, inst, lane, &mut words);
        }
        if let Some(format) = format_of(slot.elem) {
            for part in 0..usize::from(slot.count) {
                on_part(&mut words, format, part, |bits| {
                    let keep = ignores_mode(name);
                    let bits = if keep { bits } else { flush(format, bits, state.mode, true) };
                    output_modifiers(inst, state.mode, format, bits)
                });
            }
        }
        let narrow = slot.count == 1 && matches!(slot.elem, Elem::F16 | Elem::Bf16 | Elem::B16);
        // From opcode 448 on are the operations that only VOP3 has.
        let keeps_other_half = info.format == Encoding::Vop3a
            && info.opcode >= 448
            && !name.contains("legacy")
            && narrow;
        let old = state.rows[row][lane];
        let upper = match info.op {
            Op::v_fma_mixlo_f16 => Some(false),
            Op::v_fma_mixhi_f16 => Some(true),
            _ if keeps_other_half => Some(inst.op_sel & 8 != 0),
            _ => None,
        };
        if let Some(upper) = upper {
            words[0] = if upper {
                old & 0xffff | words[0] << 16
            } else {
                old & 0xffff_0000 | words[0] & 0xffff
            };
        }
        if let (Ext::Sdwa(sdwa), 1) = (inst.ext, words.len()) {
            let (shift, width) = match sdwa.dst_sel {
                byte @ 0..=3 => (8 * u32::from(byte), 8),
                word @ 4..=5 => (16 * (u32::from(word) - 4), 16),
                _ => (0, 32),
            };
            let value = words[0] & (u32::MAX >> (32 - width));
            words[0] = match sdwa.dst_unused {
                0 => value << shift,
                1 => (integer::signed(value.into(), width) as u32) << shift,
                _ => old & !((u32::MAX >> (32 - width)) << shift) | value << shift,
            };
        }
        for (word, value) in words.into_iter().enumerate() {
            expected.state.rows[row + word][lane] = value;
        }
        if out.ulp != 0 {
            let last = usize::from(slot.dwords) - 1;
            expected.approximate.push((row + last, lane, out.ulp));
            if last == 1 {
                // A double within a few units differs in its low word.
                expected.approximate.push((row, lane, u64::MAX));
            }
        }
        if out.any_nan {
            expected.any_nan.push((row, lane));
        }
    }
    let compares = name.starts_with("v_cmp");
    let mask_operand = if compares { inst.dst[0] } else { inst.dst[1] };
    if let Some(code) = mask_operand.scalar_index() {
        expected.state.set64(code, mask & exec);
        if name.starts_with("v_cmpx") {
            expected.state.set64(126, mask & exec);
        }
    }
    Some(expected)
}

fn dpp_writes(state: &State, inst: &Inst, lane: usize) -> bool {
    let Ext::Dpp(dpp) = inst.ext else { return true };
    let source = dpp_source(dpp.ctrl, lane as i32);
    let active = source.is_some_and(|source| state.exec() >> source & 1 == 1);
    let allowed = dpp.row_mask >> (lane / 16) & dpp.bank_mask >> (lane % 16 / 4) & 1 == 1;
    allowed && (active || dpp.bound_ctrl)
}

/// Instructions that are not functions of one lane.
fn moves_lanes(after: &mut State, before: &State, inst: &Inst) -> bool {
    let row = |operand: Operand| operand.vector_index().unwrap_or(0);
    let (d, s) = (inst.dst[0], inst.src[0]);
    let exec = before.exec();
    let value = |at: usize| scalar(before, inst, inst.src[at], Elem::B32)[0];
    match inst.info.op {
        Op::v_nop | Op::v_clrexcp => {}
        Op::v_readlane_b32 => {
            after.sgpr[usize::from(d.code)] = before.rows[row(s)][value(1) as usize % 64];
        }
        Op::v_readfirstlane_b32 => {
            let lane = (0..64).find(|lane| exec >> lane & 1 == 1).unwrap_or(0);
            after.sgpr[usize::from(d.code)] = before.rows[row(s)][lane];
        }
        Op::v_writelane_b32 => after.rows[row(d)][value(1) as usize % 64] = value(0),
        Op::v_swap_b32 | Op::v_permlane16_swap_b32 | Op::v_permlane32_swap_b32 => {
            let group = match inst.info.op {
                Op::v_permlane16_swap_b32 => 16,
                Op::v_permlane32_swap_b32 => 32,
                _ => 0,
            };
            let (old_d, old_s) = (before.rows[row(d)], before.rows[row(s)]);
            for lane in (0..64).filter(|lane| exec >> lane & 1 == 1) {
                // What arrives from another lane, which may be inactive, in place of `own`.
                let arrives = |own: u32, other: &[u32; 64], from: usize| {
                    let (fi, bound_ctrl) = (inst.op_sel & 1 != 0, inst.op_sel & 2 != 0);
                    match (exec >> from & 1 == 1 || fi, bound_ctrl) {
                        (true, _) => other[from],
                        (false, true) => 0,
                        (false, false) => own,
                    }
                };
                let odd = group != 0 && lane / group % 2 == 1;
                let (new_d, new_s) = match (group, odd) {
                    (0, _) => (old_s[lane], old_d[lane]),
                    (_, false) => (old_d[lane], arrives(old_s[lane], &old_d, lane + group)),
                    (_, true) => (arrives(old_d[lane], &old_s, lane - group), old_s[lane]),
                };
                after.rows[row(d)][lane] = new_d;
                after.rows[row(s)][lane] = new_s;
            }
        }
        _ => return false,
    }
    true
}
