//! Reports of what went wrong in a kernel, and where.

use std::fmt;

/// What a finding of the simulator's sanitizer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// Device memory out of bounds, freed, misaligned, read-only or never written.
    Memory,
    /// LDS out of bounds or never written.
    Lds,
    /// Something asynchronous that was not waited for.
    Async,
    /// Two accesses that nothing orders.
    Race,
    /// Two accesses to LDS that only the order of their issue keeps apart.
    Order,
    /// Too few wait states between two instructions.
    Hazard,
    /// A register or private memory that was never written.
    Uninit,
    /// Values of lanes that take no part.
    Divergence,
    /// NaN or infinity out of finite operands.
    Float,
    /// An address computed in 32 bits that needs more.
    Index,
}

impl FindingKind {
    /// All kinds, in the order of their words in the documentation.
    pub const ALL: [Self; 10] = [
        Self::Memory,
        Self::Lds,
        Self::Async,
        Self::Race,
        Self::Order,
        Self::Hazard,
        Self::Uninit,
        Self::Divergence,
        Self::Float,
        Self::Index,
    ];

    /// Stable lower-case word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Lds => "lds",
            Self::Async => "async",
            Self::Race => "race",
            Self::Order => "order",
            Self::Hazard => "hazard",
            Self::Uninit => "uninit",
            Self::Divergence => "divergence",
            Self::Float => "float",
            Self::Index => "index",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

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
    Sanitizer(FindingKind),
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
