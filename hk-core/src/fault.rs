//! What the simulator knows about a kernel that did something illegal.

use std::fmt;

/// Report of a fault. Fields that do not apply, or could not be determined, are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FaultReport {
    /// The kind of fault as a stable word, such as `write-violation`.
    pub kind: &'static str,
    /// What happened, in one sentence.
    pub detail: String,
    /// The kernel.
    pub kernel: String,
    /// Address of the instruction.
    pub pc: u64,
    /// The instruction in assembly syntax.
    pub instruction: String,
    /// Source file and line, where the code object has them.
    pub line: Option<String>,
    /// Index of the workgroup in the grid.
    pub workgroup: [u32; 3],
    /// Index of the wave in its workgroup.
    pub wave: u32,
    /// The lane that caused it.
    pub lane: Option<u32>,
    /// The address that was accessed.
    pub address: Option<u64>,
    /// The allocation nearest to that address, and how far away it is.
    pub allocation: Option<String>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, detail, kernel, pc, instruction, workgroup, wave, .. } = self;
        write!(f, "{kernel}: {kind}: {detail}\n  at pc {pc:#x}: {instruction}")?;
        if let Some(line) = &self.line {
            write!(f, "\n  source {line}")?;
        }
        write!(f, "\n  workgroup {workgroup:?}, wave {wave}")?;
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Some(address) = self.address {
            write!(f, ", address {address:#x}")?;
        }
        if let Some(allocation) = &self.allocation {
            write!(f, "\n  {allocation}")?;
        }
        Ok(())
    }
}

/// The simulator's report of the fault that a call of this thread has just failed with.
#[cfg(feature = "sim")]
pub(crate) fn last_of_simulator() -> Option<FaultReport> {
    let report = hk_sim::last_fault()?;
    Some(FaultReport {
        kind: report.kind.word(),
        detail: report.detail,
        kernel: report.kernel,
        pc: report.pc,
        instruction: report.instruction,
        line: report.source,
        workgroup: report.workgroup,
        wave: report.wave,
        lane: report.lane,
        address: report.address,
        allocation: report.allocation,
    })
}
