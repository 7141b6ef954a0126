//! Code of a loaded code object, lowered for execution.

use std::sync::OnceLock;

use super::micro::OUTSIDE;
use super::simd::SimdLevel;
use super::{MicroOp, Unsupported, VECTOR_ROWS, buffer, ds, flat, matrix, salu, smem, valu};
use crate::isa::{Arch, ByIndex, DecodeError, GprIndex, Inst, MfmaInfo, Op, decode};

/// Executable bytes of a loaded image.
#[derive(Clone, Debug)]
pub struct CodeSection {
    /// Address of the first dword.
    pub address: u64,
    /// The code, as loaded and relocated.
    pub words: Vec<u32>,
}

/// Code of one loaded code object.
#[derive(Debug)]
pub struct Program {
    arch: Arch,
    level: SimdLevel,
    sections: Vec<Section>,
    /// One entry per dword, so that a jump to any dword finds its instruction; behind each section
    /// stand [`GAP`] entries that fault, so that running off its end is caught.
    ops: OnceLock<Vec<MicroOp>>,
    /// The same as GPR indices move them.
    indexed: OnceLock<Vec<ByIndex<Result<MicroOp, String>>>>,
}

#[derive(Debug)]
struct Section {
    first: usize,
    code: CodeSection,
}

/// Largest instruction in dwords: how far execution can step beyond the end of a section.
const GAP: usize = 4;

impl Program {
    /// Program of these sections. Lowering happens at the first use.
    pub fn new(arch: Arch, sections: Vec<CodeSection>) -> Self {
        Self::with_level(arch, sections, SimdLevel::detect())
    }

    /// Program whose handlers use the vector level `level`, or the host's best if that is lower.
    pub fn with_level(arch: Arch, sections: Vec<CodeSection>, level: SimdLevel) -> Self {
        let mut first = 0;
        let sections = sections
            .into_iter()
            .map(|code| {
                let section = Section { first, code };
                first += section.code.words.len() + GAP;
                section
            })
            .collect();
        let level = level.min(SimdLevel::best());
        Self { arch, level, sections, ops: OnceLock::new(), indexed: OnceLock::new() }
    }

    /// Chip.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Vector level of the handlers.
    pub fn level(&self) -> SimdLevel {
        self.level
    }

    /// Lowered instructions by index.
    pub fn ops(&self) -> &[MicroOp] {
        self.ops.get_or_init(|| {
            let mut ops = Vec::new();
            for section in &self.sections {
                let words = &section.code.words;
                for at in 0..words.len() {
                    ops.push(match decode(self.arch, &words[at..]) {
                        Ok(inst) => self.lower(&inst, ops.len()).unwrap_or_else(|_| {
                            MicroOp::illegal(inst.size / 4, Some(inst.info.format))
                        }),
                        Err(_) => MicroOp::illegal(1, None),
                    });
                }
                ops.extend((0..GAP).map(|_| MicroOp::illegal(1, None)));
            }
            ops
        })
    }

    /// The lowered instruction at a place as a GPR index moves it.
    ///
    /// # Errors
    /// Says why it cannot be executed so.
    pub(super) fn indexed(&self, at: usize, index: GprIndex) -> &Result<MicroOp, String> {
        let all = || (0..self.ops().len()).map(|_| ByIndex::default()).collect();
        self.indexed.get_or_init(all)[at].get(index, || {
            let inst = self.inst_at(at).map_err(|error| error.to_string())?;
            let moved = index.apply(&inst).map_err(|error| format!("`{inst}`: {error}"))?;
            self.lower(&moved, at).map_err(|reason| format!("`{inst}`, as `{moved}`: {reason}"))
        })
    }

    /// Index of the instruction at an address.
    pub fn index_of(&self, pc: u64) -> Option<usize> {
        self.sections.iter().find_map(|section| {
            let offset = pc.checked_sub(section.code.address)?;
            let inside = offset % 4 == 0 && offset / 4 < section.code.words.len() as u64;
            inside.then(|| section.first + (offset / 4) as usize)
        })
    }

    /// Address of the instruction at an index; any value beyond the end for an index in a gap.
    pub fn pc_of(&self, index: usize) -> u64 {
        self.section_of(index)
            .map_or(u64::MAX, |section| section.code.address + 4 * (index - section.first) as u64)
    }

    /// Decodes the instruction at an index again, for reports and checks.
    pub fn inst_at(&self, index: usize) -> Result<Inst, DecodeError> {
        let words = self
            .section_of(index)
            .and_then(|section| section.code.words.get(index - section.first..))
            .unwrap_or(&[]);
        decode(self.arch, words)
    }

    /// Why the entry at this index faults.
    pub(super) fn why_illegal(&self, index: usize) -> String {
        match self.inst_at(index) {
            Ok(inst) => match self.lower(&inst, index) {
                Ok(_) => format!("`{inst}` was reached in an illegal way"),
                Err(reason) => format!("`{inst}`: {reason}"),
            },
            Err(DecodeError::Truncated { .. }) => "execution ran off the end of the code".into(),
            Err(error) => error.to_string(),
        }
    }

    fn section_of(&self, index: usize) -> Option<&Section> {
        self.sections.iter().find(|section| {
            (section.first..section.first + section.code.words.len() + GAP).contains(&index)
        })
    }

    /// Index that a branch at `index` over `dwords` instruction dwords and `offset` further ones
    /// reaches, if that is inside the section.
    pub(super) fn branch_target(&self, index: usize, dwords: u8, offset: i16) -> Option<usize> {
        let target = (index + usize::from(dwords)).checked_add_signed(isize::from(offset))?;
        let section = self.section_of(index)?;
        (section.first..section.first + section.code.words.len())
            .contains(&target)
            .then_some(target)
    }

    pub(super) fn lower(&self, inst: &Inst, index: usize) -> Result<MicroOp, Unsupported> {
        for operand in inst.dst.iter().chain(&inst.src) {
            if let Some(row) = operand.vector_index() {
                // A tuple that starts in one bank must not run into the other or off the end.
                let bank_end = if row < 256 { 256 } else { VECTOR_ROWS };
                if row + usize::from(operand.dwords) > bank_end {
                    return Err(Unsupported::Operands("a register tuple exceeds v255 or a255"));
                }
            } else if operand.is_some()
                && operand.code < 128
                && usize::from(operand.code) + usize::from(operand.dwords) > 128
            {
                return Err(Unsupported::Operands("a scalar tuple exceeds exec_hi"));
            }
        }
        lower(self, inst, index)
    }

    /// Whether the simulator executes an instruction, with the reason if not.
    pub fn supports(arch: Arch, inst: &Inst) -> Result<(), Unsupported> {
        let words = inst.raw[..usize::from(inst.size / 4)].to_vec();
        let program = Self::new(arch, vec![CodeSection { address: 0, words }]);
        // A branch out of this one-instruction program is no fault of the instruction.
        match program.lower(inst, 0) {
            Err(Unsupported::Operands(OUTSIDE)) => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

/// Lowers one instruction by trying each family.
fn lower(program: &Program, inst: &Inst, index: usize) -> Result<MicroOp, Unsupported> {
    use crate::isa::Format as F;
    let (arch, level) = (program.arch, program.level);
    match inst.info.format {
        F::Sop1 | F::Sop2 | F::Sopk | F::Sopc | F::Sopp => {
            salu::lower(inst, |dwords, offset| program.branch_target(index, dwords, offset))
        }
        F::Mai | F::Vop3px2 if MfmaInfo::get(inst.info.op, arch).is_some() => {
            matrix::lower(arch, inst, level)
        }
        _ if inst.info.op == Op::v_mfma_ld_scale_b32 => Err(Unsupported::Operation(
            "it is the first half of a scaled matrix instruction, which is executed as a whole",
        )),
        _ if matches!(inst.info.op, Op::v_mfma_f32_16x16x8_xf32 | Op::v_mfma_f32_32x32x4_xf32) => {
            Err(Unsupported::Operation("the matrix units of gfx950 have no xf32"))
        }
        F::Smem => smem::lower(inst),
        F::Ds => ds::lower(inst, level),
        F::Flat | F::Global | F::Scratch => flat::lower(inst, level),
        F::Mubuf | F::Mtbuf => buffer::lower(inst, level),
        F::Vop1 | F::Vop2 | F::Vopc | F::Vop3a | F::Vop3b | F::Vop3p | F::Mai => {
            valu::lower(arch, inst, level)
        }
        _ => Err(Unsupported::Operation("no handler")),
    }
}
