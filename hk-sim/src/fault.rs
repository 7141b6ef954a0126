//! What went wrong in a kernel, and where.

use std::fmt;

use crate::sanitize::Kind;

/// Class of a kernel fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// Read of an address that no allocation covers.
    ReadViolation,
    /// Write (or atomic) to an address that no allocation covers.
    WriteViolation,
    /// Address that the instruction does not allow, e.g. a misaligned atomic.
    Misaligned,
    /// Bytes that are no instruction of the chip, or one that the simulator does not execute.
    IllegalInstruction,
    /// Machine state in which the instruction has no defined meaning.
    IllegalState,
    /// `s_trap`.
    Trap,
    /// The launch executed more instructions than its budget.
    InstructionBudget,
    /// All waves that are left wait for something that cannot happen.
    Deadlock,
    /// A finding of the sanitizer.
    Sanitizer(Kind),
}

impl FaultKind {
    /// Stable lower-case word for machines.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadViolation => "read-violation",
            Self::WriteViolation => "write-violation",
            Self::Misaligned => "misaligned",
            Self::IllegalInstruction => "illegal-instruction",
            Self::IllegalState => "illegal-state",
            Self::Trap => "trap",
            Self::InstructionBudget => "instruction-budget",
            Self::Deadlock => "deadlock",
            Self::Sanitizer(kind) => kind.word(),
        }
    }
}

/// Place and reason of a kernel fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// Class.
    pub kind: FaultKind,
    /// One sentence of detail.
    pub detail: String,
    /// Kernel name.
    pub kernel: String,
    /// Address of the instruction; 0 for a fault that is not one instruction's alone.
    pub pc: u64,
    /// Offset of the instruction from the kernel's entry.
    pub offset: i64,
    /// Disassembled instruction.
    pub instruction: String,
    /// Workgroup id.
    pub workgroup: [u32; 3],
    /// Wave within the workgroup.
    pub wave: u32,
    /// Lane, where one lane is at fault.
    pub lane: Option<u32>,
    /// Address, where one is at fault.
    pub address: Option<u64>,
    /// Nearest allocation and the distance to it.
    pub allocation: Option<String>,
    /// Source file and line, where the code object has line tables.
    pub source: Option<String>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, pc, offset, instruction, wave, detail, .. } = self;
        let [x, y, z] = self.workgroup;
        writeln!(f, "{}: {detail}", self.kind.word())?;
        if *pc != 0 {
            writeln!(f, "  kernel {kernel} at pc {pc:#x} (entry{offset:+#x}): {instruction}")?;
            if let Some(source) = &self.source {
                writeln!(f, "  source {source}")?;
            }
            write!(f, "  workgroup ({x}, {y}, {z}), wave {wave}")?;
            if let Some(lane) = self.lane {
                write!(f, ", lane {lane}")?;
            }
            if let Some(address) = self.address {
                write!(f, ", address {address:#x}")?;
            }
        } else if let Some(address) = self.address {
            write!(f, "  address {address:#x}")?;
        }
        if let Some(allocation) = &self.allocation {
            write!(f, "\n  {allocation}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FaultReport {}
