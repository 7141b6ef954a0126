//! What the simulator knows about a kernel that did something illegal.

use std::fmt;

/// Report of a fault. Fields that the simulator could not determine are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FaultReport {
    /// What was illegal.
    pub reason: String,
    /// The kernel.
    pub kernel: String,
    /// Address of the instruction, from the start of the code object.
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
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, kernel, pc, instruction, workgroup, wave, .. } = self;
        write!(f, "{kernel}: {reason}\n  at pc {pc:#x}: {instruction}")?;
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
        Ok(())
    }
}
