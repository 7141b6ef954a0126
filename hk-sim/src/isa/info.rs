//! Types of the opcode table.

use super::table::{NAMES, OPS};
use super::{Arch, Format, Op};

/// Chips that have an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchSet(u8);

impl ArchSet {
    /// gfx942 only.
    pub const GFX942: Self = Self(1);
    /// gfx950 only.
    pub const GFX950: Self = Self(2);
    /// Both chips.
    pub const BOTH: Self = Self(3);

    /// Whether `arch` is in the set.
    pub const fn has(self, arch: Arch) -> bool {
        self.0 & (1 << arch as u8) != 0
    }
}

/// Which values an operand may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Scalar register.
    ScalarReg,
    /// Scalar source: register, constant or literal.
    Scalar,
    /// Scalar register (tuple) that holds an address, a descriptor or an offset.
    Address,
    /// Scalar register or special source such as `src_scc`, but no constant.
    ScalarNamed,
    /// VGPR.
    Vgpr,
    /// AGPR.
    Agpr,
    /// VGPR, or AGPR by the accumulation bit.
    VgprOrAgpr,
    /// Any vector source: VGPR, scalar register, constant, in 32-bit encodings a literal.
    Any,
    /// Vector register or inline constant.
    VectorOrConst,
    /// The literal that the instruction always carries.
    Literal,
    /// `vcc`, not encoded.
    Vcc,
}

/// Element type of an operand; `B16`, `B32` and `B64` are integers and bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Elem {
    B16,
    B32,
    B64,
    F16,
    Bf16,
    F32,
    F64,
    Xf32,
    Fp8,
    Bf8,
}

/// One operand position of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Legal values.
    pub class: Class,
    /// Element type.
    pub elem: Elem,
    /// Number of elements.
    pub count: u8,
    /// Registers it occupies; 0 where the encoding has no such operand.
    pub dwords: u8,
    /// Both read and written.
    pub rw: bool,
}

impl Slot {
    /// Absent operand.
    pub const NONE: Self = slot(Class::Scalar, Elem::B32, 0, 0, false);

    /// Whether the encoding has this operand.
    pub const fn is_some(self) -> bool {
        self.dwords != 0
    }
}

pub(super) const fn slot(class: Class, elem: Elem, count: u8, dwords: u8, rw: bool) -> Slot {
    Slot { class, elem, count, dwords, rw }
}

/// Meaning of the immediate field and how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imm {
    /// There is none.
    None,
    /// Unsigned number.
    Decimal,
    /// Number printed in hexadecimal; the operation says whether it is signed.
    Hex,
    /// Decimal number, not printed when it is zero.
    Optional,
    /// Hardware register, offset and size.
    HwReg,
    /// Counters of `s_waitcnt`.
    WaitCnt,
    /// Message of `s_sendmsg`.
    SendMsg,
    /// Operands that the GPR index applies to.
    GprIdx,
    /// Branch distance in dwords from the next instruction.
    Branch,
    /// Access mode of `s_atc_probe`.
    Probe,
    /// Pattern of `ds_swizzle_b32`.
    Swizzle,
    /// MTBUF data and number format.
    BufFormat,
}

/// Extra dwords that a VOP1, VOP2 or VOPC encoding may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forms(pub u8);

impl Forms {
    /// 32-bit literal.
    pub const LIT: u8 = 1;
    /// DPP dword.
    pub const DPP: u8 = 2;
    /// SDWA dword.
    pub const SDWA: u8 = 4;

    /// Whether all of `bits` are present.
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// Modifiers that an encoding accepts. The masks have one bit per source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mods {
    /// Negation (`neg_lo` of VOP3P).
    pub neg: u8,
    /// Absolute value (`neg_hi` of VOP3P).
    pub abs: u8,
    /// SDWA sign extension.
    pub sext: u8,
    /// `op_sel`; bit 3 is the destination.
    pub sel: u8,
    /// `op_sel_hi`.
    pub sel_hi: u8,
    /// The constants of this type.
    pub flags: u32,
}

impl Mods {
    /// No modifier.
    pub const NONE: Self = mods(0, 0, 0, 0, 0, 0);
    /// Clamp.
    pub const CLAMP: u32 = 1;
    /// Output multiplier.
    pub const OMOD: u32 = 1 << 1;
    /// Truth table in place of the source and output modifiers.
    pub const BITOP3: u32 = 1 << 2;
    /// DPP is limited to `row_newbcast`, as for every 64-bit operation.
    pub const DPP64: u32 = 1 << 3;
    /// VOP3P operation whose sources are single values with sign modifiers.
    pub const MIX: u32 = 1 << 4;
    /// MFMA `cbsz` and `abid`.
    pub const BCAST: u32 = 1 << 5;
    /// MFMA `blgp` as lane permutation.
    pub const BLGP: u32 = 1 << 6;
    /// SMFMAC `cbsz` and `abid`, selecting the index set.
    pub const INDEX: u32 = 1 << 7;
    /// MFMA `cbsz` and `blgp` as formats of A and B.
    pub const FMT: u32 = 1 << 8;
    /// Atomic that returns the old value if its return bit is set.
    pub const RET: u32 = 1 << 9;
    /// Load that writes LDS instead of registers.
    pub const LDS: u32 = 1 << 10;
    /// MUBUF load with an `lds` bit on both chips.
    pub const LDSBIT: u32 = 1 << 11;
    /// MUBUF load with an `lds` bit on gfx950 only.
    pub const LDSBIT950: u32 = 1 << 12;
    /// DS instruction with two 8-bit offsets.
    pub const OFF2: u32 = 1 << 13;
    /// DS instruction that must set the `gds` bit.
    pub const GDS: u32 = 1 << 14;
    /// SDWA whose destination selection is fixed to the whole dword.
    pub const DSTDWORD: u32 = 1 << 15;
    /// Memory instruction without address and offset.
    pub const NOADDR: u32 = 1 << 16;
    /// Exchange of lanes whose `op_sel` bits are `fi` and `bound_ctrl`.
    pub const FETCH: u32 = 1 << 17;

    /// Whether any of `bits` is present.
    pub const fn has(self, bits: u32) -> bool {
        self.flags & bits != 0
    }
}

pub(super) const fn mods(neg: u8, abs: u8, sext: u8, sel: u8, sel_hi: u8, flags: u32) -> Mods {
    Mods { neg, abs, sext, sel, sel_hi, flags }
}

/// Registers read and written without an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Implicit(pub u16);

#[expect(missing_docs, reason = "the names say register and direction")]
impl Implicit {
    pub const SCC_READ: u16 = 1;
    pub const SCC_WRITE: u16 = 1 << 1;
    pub const VCC_READ: u16 = 1 << 2;
    pub const EXEC_READ: u16 = 1 << 3;
    pub const EXEC_WRITE: u16 = 1 << 4;
    pub const M0_READ: u16 = 1 << 5;
    pub const M0_WRITE: u16 = 1 << 6;
    pub const FLAT_SCRATCH_READ: u16 = 1 << 7;
}

impl Implicit {
    /// Whether any of `bits` is present.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }
}

/// One row of the opcode table: one encoding of an operation.
#[derive(Debug)]
pub struct OpInfo {
    /// Operation.
    pub op: Op,
    /// Encoding family.
    pub format: Format,
    /// Opcode field.
    pub opcode: u16,
    /// Name as LLVM prints it without DPP or SDWA.
    pub mnemonic: &'static str,
    /// Chips that have it.
    pub archs: ArchSet,
    /// Extra dwords.
    pub forms: Forms,
    /// Destinations, in the order of [`Inst::dst`](super::Inst::dst).
    pub dst: [Slot; 2],
    /// Sources, in the order of [`Inst::src`](super::Inst::src).
    pub src: [Slot; 5],
    /// Immediate.
    pub imm: Imm,
    /// Modifiers.
    pub mods: Mods,
    /// Implicit registers.
    pub implicit: Implicit,
}

impl PartialEq for OpInfo {
    fn eq(&self, other: &Self) -> bool {
        (self.format, self.opcode) == (other.format, other.opcode)
    }
}

#[expect(clippy::too_many_arguments, reason = "one argument per column of the table")]
pub(super) const fn row(
    op: Op,
    format: Format,
    opcode: u16,
    mnemonic: &'static str,
    archs: ArchSet,
    forms: u8,
    dst: [Slot; 2],
    src: [Slot; 5],
    imm: Imm,
    mods: Mods,
    implicit: u16,
) -> OpInfo {
    let (forms, implicit) = (Forms(forms), Implicit(implicit));
    OpInfo { op, format, opcode, mnemonic, archs, forms, dst, src, imm, mods, implicit }
}

/// Defines [`Op`] and the names of its values, which are given in order.
macro_rules! operations {
    ($($name:ident)*) => {
        /// Operation: a mnemonic without its encoding suffix. Ordered by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[allow(non_camel_case_types)]
        #[expect(missing_docs, reason = "the names are the mnemonics")]
        pub enum Op {
            $($name,)*
        }

        pub(super) const NAMES: &[&str] = &[$(stringify!($name),)*];

        impl Op {
            /// Every operation, in order.
            pub const ALL: [Self; NAMES.len()] = [$(Self::$name,)*];
        }
    };
}
pub(super) use operations;

impl OpInfo {
    /// The mnemonic without `_e32` or `_e64`.
    pub fn base(&self) -> &'static str {
        self.op.name()
    }

    /// Row of a printed name, such as `v_add_f32_e64` or `s_nop`.
    pub fn from_mnemonic(mnemonic: &str) -> Option<&'static Self> {
        let base = mnemonic.strip_suffix("_e32").or_else(|| mnemonic.strip_suffix("_e64"));
        let op = Op::from_name(base.unwrap_or(mnemonic))?;
        OPS.iter().find(|row| row.op == op && row.mnemonic == mnemonic)
    }
}

impl Op {
    /// Mnemonic without encoding suffix.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// Operation of a mnemonic without encoding suffix.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.binary_search(&name).ok().map(|at| Self::ALL[at])
    }

    /// Rows of this operation.
    pub fn encodings(self) -> impl Iterator<Item = &'static OpInfo> {
        OPS.iter().filter(move |row| row.op == self)
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
