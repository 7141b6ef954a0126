//! Immediates that print as more than a number.

use std::fmt::{Formatter, Result, Write};

use super::super::info::Imm;

/// A number as LLVM prints immediates: inline constants in decimal, others in hexadecimal.
fn number(f: &mut Formatter<'_>, value: u16) -> Result {
    if value <= 64 { write!(f, "{value}") } else { write!(f, "{value:#x}") }
}

/// The immediate field of a scalar instruction.
pub(super) fn immediate(f: &mut Formatter<'_>, imm: Imm, value: u16) -> Result {
    match imm {
        Imm::None | Imm::Swizzle | Imm::BufFormat => Ok(()),
        Imm::Decimal | Imm::Probe => number(f, value),
        Imm::Hex => write!(f, "{value:#x}"),
        Imm::Branch | Imm::Optional => write!(f, "{value}"),
        Imm::HwReg => hwreg(f, value),
        Imm::WaitCnt => waitcnt(f, value),
        Imm::SendMsg => sendmsg(f, value),
        Imm::GprIdx => gpr_idx(f, value),
    }
}

fn hwreg(f: &mut Formatter<'_>, value: u16) -> Result {
    let (id, offset, size) = (value & 63, (value >> 6) & 31, (value >> 11) + 1);
    let name = match id {
        1 => "MODE",
        2 => "STATUS",
        3 => "TRAPSTS",
        4 => "HW_ID",
        5 => "GPR_ALLOC",
        6 => "LDS_ALLOC",
        7 => "IB_STS",
        15 => "SH_MEM_BASES",
        16 => "TBA_LO",
        17 => "TBA_HI",
        18 => "TMA_LO",
        19 => "TMA_HI",
        20 => "XCC_ID",
        21 => "SQ_PERF_SNAPSHOT_DATA",
        22 => "SQ_PERF_SNAPSHOT_DATA1",
        23 => "SQ_PERF_SNAPSHOT_PC_LO",
        24 => "SQ_PERF_SNAPSHOT_PC_HI",
        _ => "",
    };
    if name.is_empty() {
        write!(f, "hwreg({id}")?;
    } else {
        write!(f, "hwreg(HW_REG_{name}")?;
    }
    if (offset, size) != (0, 32) {
        write!(f, ", {offset}, {size}")?;
    }
    f.write_char(')')
}

fn waitcnt(f: &mut Formatter<'_>, value: u16) -> Result {
    if value & 0x3080 != 0 {
        // Bits that no counter owns.
        return number(f, value);
    }
    let counters = [
        ("vmcnt", (value & 15) | (value >> 14 << 4), 63),
        ("expcnt", (value >> 4) & 7, 7),
        ("lgkmcnt", (value >> 8) & 15, 15),
    ];
    let idle = counters.iter().all(|(_, count, max)| count == max);
    let mut space = "";
    for (name, count, max) in counters {
        if idle || count != max {
            write!(f, "{space}{name}({count})")?;
            space = " ";
        }
    }
    Ok(())
}

fn sendmsg(f: &mut Formatter<'_>, value: u16) -> Result {
    const GS_OPS: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    let (id, op, stream) = (value & 15, (value >> 4) & 7, (value >> 8) & 3);
    if value & !0x37f != 0 {
        return write!(f, "{value}");
    }
    let plain = match id {
        1 => "MSG_INTERRUPT",
        4 => "MSG_SAVEWAVE",
        5 => "MSG_STALL_WAVE_GEN",
        6 => "MSG_HALT_WAVES",
        7 => "MSG_ORDERED_PS_DONE",
        8 => "MSG_EARLY_PRIM_DEALLOC",
        9 => "MSG_GS_ALLOC_REQ",
        10 => "MSG_GET_DOORBELL",
        _ => "",
    };
    let sys = match op {
        1 => "SYSMSG_OP_ECC_ERR_INTERRUPT",
        2 => "SYSMSG_OP_REG_RD",
        4 => "SYSMSG_OP_TTRACE_PC",
        _ => "",
    };
    match (id, op) {
        (_, 0) if !plain.is_empty() && stream == 0 => write!(f, "sendmsg({plain})"),
        (2, 1..=3) => write!(f, "sendmsg(MSG_GS, {}, {stream})", GS_OPS[usize::from(op)]),
        (3, 1..=3) => write!(f, "sendmsg(MSG_GS_DONE, {}, {stream})", GS_OPS[usize::from(op)]),
        (3, 0) if stream == 0 => write!(f, "sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
        (15, _) if !sys.is_empty() && stream == 0 => write!(f, "sendmsg(MSG_SYSMSG, {sys})"),
        _ => write!(f, "sendmsg({id}, {op}, {stream})"),
    }
}

fn gpr_idx(f: &mut Formatter<'_>, value: u16) -> Result {
    if value > 15 {
        return number(f, value);
    }
    f.write_str("gpr_idx(")?;
    let mut comma = "";
    for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].into_iter().enumerate() {
        if value & (1 << bit) != 0 {
            write!(f, "{comma}{name}")?;
            comma = ",";
        }
    }
    f.write_char(')')
}

/// Offset of `ds_swizzle_b32`.
pub(super) fn swizzle(f: &mut Formatter<'_>, value: u16) -> Result {
    if value == 0 {
        return Ok(());
    }
    f.write_str(" offset:")?;
    let (and, or, xor) = (value & 31, (value >> 5) & 31, (value >> 10) & 31);
    match value {
        0xe000..=0xe01f => write!(f, "swizzle(FFT,{and})"),
        0xc000..=0xdfff if value & 0x181f == 0 => {
            write!(f, "swizzle(ROTATE,{},{or})", (value >> 10) & 1)
        }
        0x8000..=0x80ff => {
            let lane = |at: u16| (value >> (2 * at)) & 3;
            let [a, b, c, d] = [0, 1, 2, 3].map(lane);
            write!(f, "swizzle(QUAD_PERM,{a},{b},{c},{d})")
        }
        0x8100.. => write!(f, "{value}"),
        _ => {
            let group = 32 - and;
            if (and, or) == (31, 0) && xor.is_power_of_two() {
                write!(f, "swizzle(SWAP,{xor})")
            } else if (and, or) == (31, 0) && xor > 0 && (xor + 1).is_power_of_two() {
                write!(f, "swizzle(REVERSE,{})", xor + 1)
            } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
                write!(f, "swizzle(BROADCAST,{group},{or})")
            } else if or & and == 0 && xor & !and == 0 {
                f.write_str("swizzle(BITMASK_PERM,\"")?;
                for bit in (0..5).rev() {
                    let is = |mask: u16| mask & (1 << bit) != 0;
                    f.write_char(match (is(and), is(or), is(xor)) {
                        (true, _, false) => 'p',
                        (true, _, true) => 'i',
                        (false, true, _) => '1',
                        (false, false, _) => '0',
                    })?;
                }
                f.write_str("\")")
            } else {
                write!(f, "{value}")
            }
        }
    }
}

/// Format of a typed buffer access.
pub(super) fn buffer_format(f: &mut Formatter<'_>, dfmt: u8, nfmt: u8) -> Result {
    const DATA: [&str; 16] = [
        "INVALID",
        "8",
        "16",
        "8_8",
        "32",
        "16_16",
        "10_11_11",
        "11_11_10",
        "10_10_10_2",
        "2_10_10_10",
        "8_8_8_8",
        "32_32",
        "16_16_16_16",
        "32_32_32",
        "32_32_32_32",
        "RESERVED_15",
    ];
    const NUM: [&str; 8] =
        ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];
    let data = DATA[usize::from(dfmt & 15)];
    let num = NUM[usize::from(nfmt & 7)];
    match (dfmt, nfmt) {
        (1, 0) => Ok(()),
        (1, _) => write!(f, " format:[BUF_NUM_FORMAT_{num}]"),
        (_, 0) => write!(f, " format:[BUF_DATA_FORMAT_{data}]"),
        _ => write!(f, " format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{num}]"),
    }
}

/// Lane permutation of a DPP dword.
pub(super) fn dpp_ctrl(f: &mut Formatter<'_>, ctrl: u16) -> Result {
    let low = ctrl & 15;
    match ctrl {
        0..=0xff => {
            let [a, b, c, d] = [0, 2, 4, 6].map(|at| (ctrl >> at) & 3);
            write!(f, "quad_perm:[{a},{b},{c},{d}]")
        }
        0x101..=0x10f => write!(f, "row_shl:{low}"),
        0x111..=0x11f => write!(f, "row_shr:{low}"),
        0x121..=0x12f => write!(f, "row_ror:{low}"),
        0x130 => f.write_str("wave_shl:1"),
        0x134 => f.write_str("wave_rol:1"),
        0x138 => f.write_str("wave_shr:1"),
        0x13c => f.write_str("wave_ror:1"),
        0x140 => f.write_str("row_mirror"),
        0x141 => f.write_str("row_half_mirror"),
        0x142 => f.write_str("row_bcast:15"),
        0x143 => f.write_str("row_bcast:31"),
        0x150..=0x15f => write!(f, "row_newbcast:{low}"),
        _ => write!(f, "dpp_ctrl:{ctrl:#x}"),
    }
}
