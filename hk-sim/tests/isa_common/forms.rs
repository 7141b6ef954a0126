//! Assembly text for every row of the opcode table in every form one could write.
//!
//! The forms offered do not depend on what the table says is legal: every operand is tried as
//! each kind of register and constant, and every modifier is tried on every operation of the
//! family. The assembler decides which of them exist.

use hk_sim::isa::{Class, Format, Imm, OpInfo};

/// Lines for one row.
pub(crate) fn lines(row: &OpInfo) -> Vec<String> {
    match row.format {
        Format::Smem => smem(row),
        Format::Ds => ds(row),
        Format::Flat | Format::Global | Format::Scratch => flat(row),
        Format::Mubuf | Format::Mtbuf => buffer(row),
        Format::Sopk | Format::Sopp | Format::Sopc if row.imm != Imm::None => immediate(row),
        _ => alu(row),
    }
}

fn tuple(kind: char, first: u32, dwords: u8) -> String {
    match dwords {
        1 => format!("{kind}{first}"),
        n => format!("{kind}[{first}:{}]", first + u32::from(n) - 1),
    }
}

fn line(mnemonic: &str, operands: &[String], modifiers: &str) -> String {
    format!("{mnemonic} {}{modifiers}", operands.join(", "))
}

const IMMEDIATES: [&str; 10] =
    ["0", "1", "10", "64", "65", "0x8000", "0xffff", "0x31f", "0x50", "0x22"];

fn immediate(row: &OpInfo) -> Vec<String> {
    let mut registers = Vec::new();
    for slot in row.dst.iter().chain(&row.src).filter(|s| s.is_some()) {
        registers.push(if slot.class == Class::Literal {
            "0x1234".to_owned()
        } else {
            tuple('s', 4, slot.dwords)
        });
    }
    let with = |value: &str| {
        let leads = row.imm == Imm::HwReg && !row.dst[0].is_some();
        let at = if leads { 0 } else { registers.len() };
        let mut operands = registers.clone();
        operands.insert(at, value.to_owned());
        line(row.mnemonic, &operands, "")
    };
    let mut lines: Vec<String> = IMMEDIATES.iter().map(|value| with(value)).collect();
    lines.push(line(row.mnemonic, &registers, ""));
    if row.src[0].is_some() && row.format == Format::Sopc {
        for source in ["m0", "5", "-1.0", "0x1234"] {
            lines.push(format!("{} {source}, 5", row.mnemonic));
        }
    }
    lines
}

/// Operands of an arithmetic row: registers of the class it most likely takes.
fn base_operands(row: &OpInfo) -> (Vec<String>, usize) {
    let scalar_format = matches!(row.format, Format::Sop1 | Format::Sop2 | Format::Sopc);
    let mut operands = Vec::new();
    for (at, slot) in row.dst.iter().filter(|s| s.is_some()).enumerate() {
        operands.push(match slot.class {
            Class::Vcc => "vcc".to_owned(),
            Class::ScalarReg => tuple('s', 8 + 4 * at as u32, slot.dwords),
            Class::Agpr => tuple('a', 8, slot.dwords),
            _ => tuple('v', 8, slot.dwords),
        });
    }
    let first_source = operands.len();
    for (at, slot) in row.src.iter().filter(|s| s.is_some()).enumerate() {
        let first = 40 + 36 * at as u32;
        operands.push(match slot.class {
            Class::Vcc => "vcc".to_owned(),
            Class::Literal => "0x1234".to_owned(),
            Class::ScalarNamed => tuple('s', 20, slot.dwords),
            Class::Scalar => tuple('s', 20 + 4 * at as u32, slot.dwords),
            Class::Agpr => tuple('a', first, slot.dwords),
            _ if scalar_format => tuple('s', 20, slot.dwords),
            _ => tuple('v', first, slot.dwords),
        });
    }
    (operands, first_source)
}

const CONSTANTS: [&str; 17] = [
    "0",
    "64",
    "-16",
    "0.5",
    "-4.0",
    "0.15915494",
    "0.15915494309189532",
    "src_scc",
    "src_shared_base",
    "0x12345678",
    "0x1234",
    "0x7fff",
    "lit(0x1)",
    "lit(0x3f800000)",
    "lit(0x3c00)",
    "lit(0x3ff00000)",
    "0xffffffff",
];

/// `operands` with each of the sources replaced by each other kind of operand.
fn replaced_operands(row: &OpInfo, operands: &[String], first_source: usize) -> Vec<Vec<String>> {
    let mut all = vec![operands.to_vec()];
    let slots: Vec<_> = row.dst.iter().chain(&row.src).filter(|s| s.is_some()).collect();
    for (at, slot) in slots.iter().enumerate() {
        let mut kinds = vec![
            tuple('s', 16, slot.dwords),
            tuple('v', 200, slot.dwords),
            tuple('a', 96, slot.dwords),
        ];
        let named: &[&str] = match slot.dwords {
            1 => &["m0", "vcc_lo", "exec_hi", "flat_scratch_lo", "xnack_mask_hi", "ttmp5"],
            2 => &["vcc", "exec", "flat_scratch", "xnack_mask", "ttmp[4:5]"],
            _ => &[],
        };
        kinds.extend(named.iter().map(|n| (*n).to_owned()));
        // With a mandatory literal, another one must be equal to it: the assembler does not check.
        let literal_row = row.src.iter().any(|s| s.is_some() && s.class == Class::Literal);
        if at >= first_source && literal_row {
            kinds.extend(["0x1234", "64", "-4.0", "s7"].map(str::to_owned));
        } else if at >= first_source {
            // The assembler does not check this mark in encodings without room for a literal.
            let long = matches!(
                row.format,
                Format::Vop3a | Format::Vop3b | Format::Vop3p | Format::Mai | Format::Vop3px2
            );
            let offered = CONSTANTS.iter().filter(|c| !(long && c.starts_with("lit")));
            kinds.extend(offered.map(|c| (*c).to_owned()));
        }
        for kind in kinds {
            let mut changed = operands.to_vec();
            changed[at] = kind;
            all.push(changed);
        }
    }
    // Accumulators in AGPRs need destination and C to agree.
    let accumulators: Vec<String> = operands.iter().map(|o| o.replacen('v', "a", 1)).collect();
    let mut c_and_d = operands.to_vec();
    for at in [0, 3] {
        if let (Some(to), Some(from)) = (c_and_d.get_mut(at), accumulators.get(at)) {
            to.clone_from(from);
        }
    }
    all.push(c_and_d);
    all.push(accumulators);
    all
}

/// Sources with each sign or sign-extension mark, one at a time and all together.
fn marked_operands(operands: &[String], first_source: usize) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (open, close) in [("-", ""), ("|", "|"), ("-|", "|"), ("sext(", ")")] {
        for at in first_source..operands.len() {
            let mut marked = operands.to_vec();
            marked[at] = format!("{open}{}{close}", operands[at]);
            all.push(marked);
        }
        let mut marked = operands.to_vec();
        for operand in &mut marked[first_source..] {
            *operand = format!("{open}{operand}{close}");
        }
        all.push(marked);
    }
    all
}

fn alu(row: &OpInfo) -> Vec<String> {
    let (operands, first_source) = base_operands(row);
    let sources = operands.len() - first_source;
    let mut lines = Vec::new();
    for changed in replaced_operands(row, &operands, first_source) {
        lines.push(line(row.mnemonic, &changed, ""));
    }
    if matches!(row.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopp) {
        return lines;
    }
    for marked in marked_operands(&operands, first_source) {
        // The assembler accepts absolute values where this encoding has another destination.
        let literal = marked.iter().any(|operand| operand.contains("0x1234"));
        if literal {
            continue;
        }
        if row.format != Format::Vop3b || !marked.iter().any(|operand| operand.contains('|')) {
            lines.push(line(row.mnemonic, &marked, ""));
        }
    }
    for modifier in modifiers(row, sources) {
        lines.push(line(row.mnemonic, &operands, &modifier));
    }
    let formats = if packed(row) { 5 } else { 0 };
    for cbsz in 0..formats {
        for blgp in 0..formats {
            let width = |format: usize| [8, 8, 6, 6, 4][format];
            if operands.len() > 3 {
                let mut formats = operands.clone();
                formats[1] = tuple('v', 40, width(cbsz));
                formats[2] = tuple('v', 76, width(blgp));
                let modifier = format!(" cbsz:{cbsz} blgp:{blgp}");
                lines.push(line(row.mnemonic, &formats, &modifier));
            }
        }
    }
    if matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc) {
        extended(row, &operands, first_source, &mut lines);
    }
    lines
}

fn packed(row: &OpInfo) -> bool {
    matches!(row.format, Format::Vop3p | Format::Mai | Format::Vop3px2)
}

/// Modifiers of the 64-bit vector encodings.
fn modifiers(row: &OpInfo, sources: usize) -> Vec<String> {
    let mut all: Vec<String> =
        [" clamp", " mul:2", " mul:4", " div:2", " clamp mul:4", " bitop3:3", " bitop3:0x96"]
            .map(str::to_owned)
            .to_vec();
    all.extend([" fi:1", " bound_ctrl:1", " bound_ctrl:1 fi:1"].map(str::to_owned));
    if matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc) {
        return all;
    }
    let packed = packed(row);
    for name in ["op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg"] {
        let lengths = if packed { [sources, 3] } else { [sources + 1, 4] };
        for length in lengths {
            for set in 0..1_u32 << length.min(4) {
                if !packed && name != "op_sel" && set.count_ones() > 1 {
                    continue;
                }
                let bits: Vec<String> =
                    (0..length).map(|at| ((set >> at) & 1).to_string()).collect();
                all.push(format!(" {name}:[{}]", bits.join(",")));
            }
        }
    }
    // The assembler does not check that a format exists.
    let formats = row.mnemonic.ends_with("f8f6f4");
    for at in if !packed {
        1..2
    } else if formats {
        1..5
    } else {
        1..8
    } {
        all.push(format!(" cbsz:{at}"));
        all.push(format!(" abid:{at}"));
        all.push(format!(" blgp:{at}"));
        all.push(format!(" cbsz:1 abid:{} blgp:{at}", at + 8));
    }
    all
}

/// DPP and SDWA forms.
fn extended(row: &OpInfo, operands: &[String], first_source: usize, lines: &mut Vec<String>) {
    let base = row.base();
    let dpp = format!("{base}_dpp");
    for control in [
        "quad_perm:[3,1,0,2]",
        "row_shl:1",
        "row_shr:15",
        "row_ror:7",
        "wave_shl:1",
        "wave_rol:1",
        "wave_shr:1",
        "wave_ror:1",
        "row_mirror",
        "row_half_mirror",
        "row_bcast:15",
        "row_bcast:31",
        "row_newbcast:9",
    ] {
        let modifier = format!(" {control} row_mask:0xa bank_mask:0x3");
        lines.push(line(&dpp, operands, &modifier));
        lines.push(line(&dpp, operands, &format!("{modifier} bound_ctrl:0")));
    }
    for marked in marked_operands(operands, first_source) {
        if marked.iter().any(|operand| operand.starts_with("sext")) {
            continue; // Accepted in places, but DPP has no bit for it.
        }
        lines.push(line(&dpp, &marked, " row_newbcast:2 row_mask:0xf bank_mask:0xf"));
    }
    let sdwa = format!("{base}_sdwa");
    let sources = row.src.iter().filter(|s| s.is_some() && s.class != Class::Vcc).count();
    let selects =
        |sel: &str| -> String { (0..sources).map(|at| format!(" src{at}_sel:{sel}")).collect() };
    let dst = " dst_sel:BYTE_1 dst_unused:UNUSED_SEXT";
    for sel in ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"] {
        for unused in ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"] {
            let modifier = format!(" dst_sel:{sel} dst_unused:{unused}{}", selects(sel));
            lines.push(line(&sdwa, operands, &modifier));
        }
        lines.push(line(&sdwa, operands, &selects(sel)));
    }
    lines.push(line(&sdwa, operands, ""));
    for modifier in [" clamp", " mul:2", " div:2", " clamp mul:4"] {
        lines.push(line(&sdwa, operands, &format!("{modifier}{dst}{}", selects("WORD_1"))));
        lines.push(line(&sdwa, operands, &format!("{modifier}{}", selects("WORD_1"))));
    }
    let mut variants = marked_operands(operands, first_source);
    variants.extend(replaced_operands(row, operands, first_source));
    let dst = if row.format == Format::Vopc { "" } else { dst };
    for variant in variants {
        lines.push(line(&sdwa, &variant, &format!("{dst}{}", selects("BYTE_2"))));
    }
}

fn smem(row: &OpInfo) -> Vec<String> {
    let mut operands = Vec::new();
    if row.imm == Imm::Probe {
        operands.push("100".to_owned());
    }
    let data = if row.src[2].is_some() { row.src[2] } else { row.dst[0] };
    if data.is_some() {
        operands.push(tuple('s', 32, data.dwords));
    }
    if !row.src[0].is_some() {
        return vec![line(row.mnemonic, &operands, ""), line(row.mnemonic, &operands, " glc")];
    }
    let mut lines = Vec::new();
    for base in [tuple('s', 8, row.src[0].dwords), "vcc".to_owned(), "ttmp[4:7]".to_owned()] {
        for offset in [
            "0x0",
            "0x1234",
            "-0x10",
            "0xfffff",
            "s6",
            "m0",
            "vcc_hi",
            "s6 offset:0x0",
            "s6 offset:0x40",
            "s6 offset:-0x40",
        ] {
            let mut all = operands.clone();
            all.extend([base.clone(), offset.to_owned()]);
            lines.push(line(row.mnemonic, &all, ""));
            lines.push(line(row.mnemonic, &all, " glc"));
        }
    }
    lines
}

/// Memory operands with data in VGPRs or, where `agpr`, in AGPRs.
fn data(kind: char, first: u32, dwords: u8) -> Option<String> {
    (dwords != 0).then(|| tuple(kind, first, dwords))
}

fn ds(row: &OpInfo) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in ['v', 'a'] {
        let operands: Vec<String> = [
            data(kind, 8, row.dst[0].dwords),
            data('v', 40, row.src[0].dwords),
            data(kind, 76, row.src[1].dwords),
            data(kind, 112, row.src[2].dwords),
        ]
        .into_iter()
        .flatten()
        .collect();
        for offset in
            ["", " offset:8", " offset:65535", " offset0:3", " offset1:4", " offset0:255 offset1:1"]
        {
            lines.push(line(row.mnemonic, &operands, offset));
            lines.push(line(row.mnemonic, &operands, &format!("{offset} gds")));
        }
        if row.imm == Imm::Swizzle {
            for offset in (0..0x1_0000).step_by(1013).chain(0x8000..0x8010) {
                lines.push(line(row.mnemonic, &operands, &format!(" offset:{offset}")));
            }
        }
    }
    lines
}

fn flat(row: &OpInfo) -> Vec<String> {
    let addresses: &[(&str, &str)] = match row.format {
        Format::Flat => &[("v[40:41]", "")],
        Format::Global => &[("v[40:41]", "off"), ("v40", "s[8:9]"), ("v40", "vcc")],
        _ => &[("v40", "off"), ("off", "s6"), ("v40", "s6"), ("off", "off"), ("v40", "m0")],
    };
    let mut lines = Vec::new();
    for kind in ['v', 'a'] {
        for (vaddr, saddr) in addresses {
            for returns in [false, true] {
                let dst = if returns { row.dst[0].dwords } else { 0 };
                let operands: Vec<String> = [
                    data(kind, 8, dst),
                    Some((*vaddr).to_owned()),
                    data(kind, 76, row.src[1].dwords),
                    (!saddr.is_empty()).then(|| (*saddr).to_owned()),
                ]
                .into_iter()
                .flatten()
                .collect();
                for modifier in [
                    "",
                    " offset:16",
                    " offset:4095",
                    " offset:-4096",
                    " sc0",
                    " nt",
                    " sc1",
                    " offset:8 sc0 nt sc1",
                ] {
                    lines.push(line(row.mnemonic, &operands, modifier));
                }
            }
        }
    }
    lines
}

fn buffer(row: &OpInfo) -> Vec<String> {
    let cache = ["", " sc0", " nt", " sc1", " sc0 nt sc1", " sc0 sc1"];
    let data_slot = if row.src[1].is_some() { row.src[1] } else { row.dst[0] };
    if !data_slot.is_some() {
        return ["", " sc0", " sc1", " sc0 sc1"].map(|c| line(row.mnemonic, &[], c)).to_vec();
    }
    let mut lines = Vec::new();
    for kind in ["v", "a", ""] {
        for (vaddr, mode) in
            [("off", ""), ("v40", " offen"), ("v40", " idxen"), ("v[40:41]", " idxen offen")]
        {
            for soffset in ["s6", "0", "1.0", "m0"] {
                let vdata = kind.chars().next().and_then(|k| data(k, 8, data_slot.dwords));
                let operands: Vec<String> =
                    [vdata, Some(vaddr.to_owned()), Some("s[16:19]".to_owned())]
                        .into_iter()
                        .flatten()
                        .chain([soffset.to_owned()])
                        .collect();
                let cache = if soffset == "s6" { &cache[..] } else { &cache[..1] };
                for cache in cache {
                    for (format, offset) in [
                        ("", ""),
                        (" format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]", " offset:4095"),
                    ] {
                        let format = if row.imm == Imm::BufFormat { format } else { "" };
                        for lds in ["", " lds"] {
                            let modifier = format!("{format}{mode}{offset}{cache}{lds}");
                            lines.push(line(row.mnemonic, &operands, &modifier));
                        }
                    }
                }
            }
        }
    }
    if row.imm == Imm::BufFormat {
        for format in 0..128 {
            let text =
                format!("{}, off, s[16:19], 0 format:{format}", tuple('v', 8, data_slot.dwords));
            lines.push(format!("{} {text}", row.mnemonic));
        }
    }
    lines
}
