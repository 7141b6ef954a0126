//! Bits of an encoding that hardware does not read.

use super::ignored_table::IGNORED;
use super::{Format, Op, OpInfo};

/// Fields that some rows of the opcode table ignore.
pub(super) struct Ignored {
    pub(super) format: Format,
    /// [`Forms::DPP`](super::Forms::DPP), [`Forms::SDWA`](super::Forms::SDWA), or 0 for the
    /// encoding without these dwords.
    pub(super) form: u8,
    pub(super) rows: Rows,
    /// Bits of other fields, and the values that they must have.
    pub(super) when: (u64, u64),
    /// The bits, of the first 64.
    pub(super) bits: u64,
    /// What assemblers write there.
    pub(super) value: u64,
}

/// Rows of the opcode table.
pub(super) enum Rows {
    All,
    Of(&'static [Op]),
    NoDst,
    NoSrc(usize),
    /// Those that do not select a half of an operand, by the bit of `op_sel`.
    NoSel(u8),
    /// Those with a modifier.
    With(u32),
    Without(u32),
}

impl Rows {
    fn has(&self, info: &OpInfo) -> bool {
        match *self {
            Self::All => true,
            Self::Of(ops) => ops.contains(&info.op),
            Self::NoDst => !info.dst[0].is_some(),
            Self::NoSrc(at) => !info.src[at].is_some(),
            Self::NoSel(bit) => info.mods.sel >> bit & 1 == 0,
            Self::With(modifier) => info.mods.has(modifier),
            Self::Without(modifier) => !info.mods.has(modifier),
        }
    }
}

/// The first 64 bits of an instruction with ignored bits as assemblers write them.
pub(super) fn without_ignored(info: &OpInfo, form: u8, word: u64) -> u64 {
    IGNORED
        .iter()
        .filter(|ignored| ignored.format == info.format && ignored.form == form)
        .filter(|ignored| word & ignored.when.0 == ignored.when.1 && ignored.rows.has(info))
        .fold(word, |word, ignored| word & !ignored.bits | ignored.value)
}
