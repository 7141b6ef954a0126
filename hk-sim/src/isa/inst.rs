//! The decoded form of one instruction, shared by the printer, the lowering and the checkers.

use super::{Arch, Op, OpInfo};

/// Encoding family of an instruction; `isa/opcodes.csv` names the same families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the vendor manual")]
pub enum Format {
    Sop2,
    Sopk,
    Sop1,
    Sopc,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3a,
    Vop3b,
    Vop3p,
    Mai,
    Vop3px2,
    Ds,
    Flat,
    Scratch,
    Global,
    Mubuf,
    Mtbuf,
}

impl Format {
    /// Vector ALU instructions, matrix instructions included.
    pub fn is_valu(self) -> bool {
        matches!(
            self,
            Self::Vop1
                | Self::Vop2
                | Self::Vopc
                | Self::Vop3a
                | Self::Vop3b
                | Self::Vop3p
                | Self::Mai
                | Self::Vop3px2
        )
    }

    /// Vector instructions: VALU, vector memory and LDS. They are no-ops while VSKIP (bit 28 of MODE)
    /// is set, matrix instructions, lane accesses and cache maintenance of this encoding included.
    pub fn is_vector(self) -> bool {
        self.is_valu()
            || matches!(
                self,
                Self::Ds | Self::Flat | Self::Scratch | Self::Global | Self::Mubuf | Self::Mtbuf
            )
    }
}

/// One register or constant operand.
///
/// `code` is the 9-bit source code of the manual, extended by the accumulation registers:
/// 0..=127 scalar registers, 128..=255 inline constants, special sources and the literal (255),
/// 256..=511 `v0..v255`, 512..=767 `a0..a255`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Extended source code; [`Operand::NONE`] where the instruction has no such operand.
    pub code: u16,
    /// Width in dwords (a 16-bit or 8-bit operand has width 1); 0 where absent.
    pub dwords: u8,
}

impl Operand {
    /// Absent operand.
    pub const NONE: Self = Self { code: u16::MAX, dwords: 0 };
    /// First VGPR code.
    pub const VGPR: u16 = 256;
    /// First AGPR code.
    pub const AGPR: u16 = 512;
    /// Code of `vcc_lo`.
    pub const VCC: u16 = 106;
    /// Code of `m0`.
    pub const M0: u16 = 124;
    /// Code of `exec_lo`.
    pub const EXEC: u16 = 126;
    /// Code of the 32-bit literal that follows the instruction.
    pub const LITERAL: u16 = 255;

    /// Whether the instruction has this operand.
    pub fn is_some(self) -> bool {
        self.dwords != 0
    }

    /// Whether the operand is a VGPR or an AGPR.
    pub fn is_vector(self) -> bool {
        self.is_some() && self.code >= Self::VGPR
    }

    /// Index into the unified vector file (`v0..v255` then `a0..a255`) if it is a vector register.
    pub fn vector_index(self) -> Option<usize> {
        self.is_vector().then(|| usize::from(self.code - Self::VGPR))
    }

    /// Index into the scalar file (codes 0..=127) if it is a scalar register.
    pub fn scalar_index(self) -> Option<usize> {
        (self.is_some() && self.code < 128).then_some(usize::from(self.code))
    }
}

/// Data-parallel primitive control of a VOP1, VOP2 or VOPC instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "field names are those of the manual")]
pub struct Dpp {
    pub ctrl: u16,
    pub bound_ctrl: bool,
    pub bank_mask: u8,
    pub row_mask: u8,
}

/// Sub-dword addressing control of a VOP1, VOP2 or VOPC instruction.
///
/// `sel`: 0..=3 byte, 4..=5 word, 6 dword. `dst_unused`: 0 pad, 1 sign-extend, 2 preserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "field names are those of the manual")]
pub struct Sdwa {
    pub dst_sel: u8,
    pub dst_unused: u8,
    pub src_sel: [u8; 2],
    pub src_sext: [bool; 2],
}

/// Extra dword of a VOP1, VOP2 or VOPC instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are documented on their contents")]
pub enum Ext {
    None,
    Dpp(Dpp),
    Sdwa(Sdwa),
}

/// One decoded instruction.
///
/// Operand positions by family (absent ones are [`Operand::NONE`]):
///
/// | family | `dst` | `src` |
/// |---|---|---|
/// | SOP1, SOP2, SOPC | sdst | ssrc0, ssrc1 |
/// | SOPK | sdst | the register of compare and setreg forms (repeated in `dst[0]`), the literal |
/// | SMEM | sdata of loads and returning atomics | sbase, soffset SGPR, sdata of stores and atomics |
/// | VOP1, VOP2, VOP3 | vdst (or SGPR), sdst of carry-out forms | src0, src1, src2 |
/// | VOPC | mask SGPR pair (`vcc` in the 32-bit form) | src0, src1 |
/// | MAI | vdst | A, B, C (the index register for SMFMAC), scale A, scale B |
/// | DS | vdst | addr, data0, data1 |
/// | FLAT, GLOBAL, SCRATCH | vdst | vaddr, data, saddr |
/// | MUBUF, MTBUF | vdata of loads and returning atomics | vaddr, vdata of stores and atomics, srsrc, soffset |
///
/// The width of a `vaddr` is that in use: one register of offset beside a scalar base, two of a
/// 64-bit address, none, or one or two by `offen` and `idxen`.
///
/// Carry-in and select masks are explicit: `src[2]` is `vcc` in the 32-bit forms of `v_addc`,
/// `v_subb`, `v_cndmask`; `dst[1]` is `vcc` in the 32-bit carry-out forms. The accumulator of
/// `v_fmac`/`v_dot*c` forms is *not* repeated as a source. `v_fmamk`/`v_fmaak` list their literal
/// in assembler position.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Row of the opcode table.
    pub info: &'static OpInfo,
    /// Size in bytes: 4, 8 or 16.
    pub size: u8,
    /// The encoded dwords with ignored bits as the assembler writes them, zero beyond `size`.
    pub raw: [u32; 4],
    /// Destinations.
    pub dst: [Operand; 2],
    /// Sources.
    pub src: [Operand; 5],
    /// 32-bit literal, where an operand has code [`Operand::LITERAL`].
    pub literal: u32,
    /// SOPK and SOPP 16-bit immediate.
    pub simm16: u16,
    /// Negate bit per source (`neg_lo` for VOP3P).
    pub neg: u8,
    /// Absolute-value bit per source (`neg_hi` for VOP3P).
    pub abs: u8,
    /// `op_sel` bits (bit 3 is the destination half of VOP3). Scaled MFMA: low bit of the byte index
    /// of scale A and of scale B. Exchange of lanes: `fi` and `bound_ctrl`.
    pub op_sel: u8,
    /// `op_sel_hi` bits of VOP3P. Scaled MFMA: high bits of the byte indices.
    pub op_sel_hi: u8,
    /// Clamp bit.
    pub clamp: bool,
    /// Output modifier: 0 none, 1 ×2, 2 ×4, 3 ÷2. `v_bitop3` keeps its truth table in [`Inst::bitop3`].
    pub omod: u8,
    /// Truth table of `v_bitop3_*`.
    pub bitop3: u8,
    /// DPP or SDWA dword.
    pub ext: Ext,
    /// MFMA: broadcast size, or the A format of the f8f6f4 forms.
    pub cbsz: u8,
    /// MFMA: broadcast block.
    pub abid: u8,
    /// MFMA: B lane permutation, f64 negate bits, or the B format of the f8f6f4 forms.
    pub blgp: u8,
    /// Memory offset in bytes (DS: `offset0`, or the whole 16 bits for single-address forms).
    pub offset: i32,
    /// DS `offset1` of the two-address forms.
    pub offset1: u8,
    /// Cache and mode bits of memory instructions.
    pub mem: MemBits,
}

/// Mode bits of memory instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "field names are those of the manual")]
pub struct MemBits {
    pub sc0: bool,
    pub sc1: bool,
    pub nt: bool,
    pub lds: bool,
    pub gds: bool,
    pub offen: bool,
    pub idxen: bool,
    /// SMEM glc bit.
    pub glc: bool,
    /// SCRATCH: the VGPR address is used.
    pub sve: bool,
    /// MTBUF data format.
    pub dfmt: u8,
    /// MTBUF number format.
    pub nfmt: u8,
}

/// Why bytes do not decode.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the instruction does.
    #[error("instruction truncated after {have} bytes")]
    Truncated {
        /// Bytes available.
        have: usize,
    },
    /// No instruction of this chip has this encoding.
    #[error("no {arch} instruction is encoded as {word:#010x} ({format:?} opcode {opcode})")]
    Unknown {
        /// Chip.
        arch: Arch,
        /// First dword.
        word: u32,
        /// Encoding family, where one was recognised.
        format: Option<Format>,
        /// Opcode field.
        opcode: u16,
    },
    /// The opcode is known, an operand field is not legal.
    #[error("{op:?}: illegal {field} field {value:#x} in {word:#010x}")]
    Operand {
        /// Operation.
        op: Op,
        /// Field name.
        field: &'static str,
        /// Field value.
        value: u32,
        /// First dword.
        word: u32,
    },
}

hk_types::debug_is_message!(DecodeError);
