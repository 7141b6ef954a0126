//! What the sanitizer reports, and how.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use hk_types::{FaultKind, FaultReport};
use serde_json::json;

use super::Kind;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// A defect, which fails the launch.
    Error,
    /// Worth a look, and right on the hardware as far as one can tell.
    Note,
}

impl Severity {
    /// Stable lower-case word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Note => "note",
        }
    }
}

/// The earlier access that a finding conflicts with, or the instruction where an undefined value
/// mattered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// What it did, such as `write`.
    pub what: &'static str,
    /// The other operation, if the two are not of one launch; the place in the grid has no meaning
    /// then, and the address is 0 unless one instruction is known.
    pub operation: Option<String>,
    /// Address of the instruction.
    pub pc: u64,
    /// Offset of the instruction from the kernel's entry.
    pub offset: i64,
    /// Disassembled instruction.
    pub instruction: String,
    /// Source file and line, where the code object has line tables.
    pub source: Option<String>,
    /// Workgroup id.
    pub workgroup: [u32; 3],
    /// Wave within the workgroup.
    pub wave: u32,
}

/// One defect that the sanitizer saw, or what it notes. What it sees again at the same instruction,
/// and with the same other one, is counted and not told anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it fails the launch.
    pub severity: Severity,
    /// Kind.
    pub kind: Kind,
    /// One sentence of detail.
    pub detail: String,
    /// Kernel name.
    pub kernel: String,
    /// Operation of a stream, if the finding is not about one launch alone; see
    /// [`Other::operation`].
    pub operation: Option<String>,
    /// Address of the instruction.
    pub pc: u64,
    /// Offset of the instruction from the kernel's entry.
    pub offset: i64,
    /// Disassembled instruction.
    pub instruction: String,
    /// Source file and line, where the code object has line tables.
    pub source: Option<String>,
    /// Workgroup id.
    pub workgroup: [u32; 3],
    /// Wave within the workgroup.
    pub wave: u32,
    /// Lane, where one is concerned.
    pub lane: Option<u32>,
    /// Device address or LDS offset, where one is concerned.
    pub address: Option<u64>,
    /// Allocation that the address belongs to or is nearest to.
    pub allocation: Option<String>,
    /// The other instruction, where two are concerned.
    pub other: Option<Other>,
    /// How often it was seen.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.severity == Severity::Note {
            f.write_str("note: ")?;
        }
        write!(f, "{}", FaultReport::from(self))?;
        let place = |f: &mut fmt::Formatter<'_>, at, instruction, source: &Option<String>| {
            let (pc, offset): (u64, i64) = at;
            write!(f, " at pc {pc:#x} (entry{offset:+#x}): {instruction}")?;
            source.iter().try_for_each(|source| write!(f, "\n    source {source}"))
        };
        if self.operation.is_some() && self.pc != 0 {
            write!(f, "\n  kernel {}", self.kernel)?;
            place(f, (self.pc, self.offset), &self.instruction, &self.source)?;
        }
        if let Some(other) = &self.other {
            let Other { what, operation, pc, offset, instruction, source, .. } = other;
            if operation.is_some() && *pc == 0 {
                return Ok(());
            }
            write!(f, "\n  {what}")?;
            place(f, (*pc, *offset), instruction, source)?;
            if operation.is_none() {
                let [x, y, z] = other.workgroup;
                write!(f, "\n    workgroup ({x}, {y}, {z}), wave {}", other.wave)?;
            }
        }
        if self.count > 1 {
            write!(f, "\n  seen {} times", self.count)?;
        }
        Ok(())
    }
}

impl From<&Finding> for FaultReport {
    fn from(finding: &Finding) -> Self {
        let Finding { kind, detail, kernel, pc, offset, instruction, source, .. } = finding.clone();
        Self {
            kind: FaultKind::Sanitizer(kind),
            detail,
            kernel,
            // A fault without an address of an instruction has no place in a grid.
            pc: if finding.operation.is_some() { 0 } else { pc },
            offset,
            instruction,
            workgroup: finding.workgroup,
            wave: finding.wave,
            lane: finding.lane,
            address: finding.address,
            allocation: finding.allocation.clone(),
            source,
        }
    }
}

impl Finding {
    /// One line of JSON with the documented keys; numbers are numbers, absent values are `null`.
    pub fn to_json(&self) -> String {
        let other = self.other.as_ref().map(|other| {
            json!({
                "what": other.what,
                "operation": other.operation,
                "pc": other.pc,
                "offset": other.offset,
                "instruction": other.instruction,
                "source": other.source,
                "workgroup": other.workgroup,
                "wave": other.wave,
            })
        });
        json!({
            "severity": self.severity.word(),
            "kind": self.kind.word(),
            "detail": self.detail,
            "kernel": self.kernel,
            "operation": self.operation,
            "pc": self.pc,
            "offset": self.offset,
            "instruction": self.instruction,
            "source": self.source,
            "workgroup": self.workgroup,
            "wave": self.wave,
            "lane": self.lane,
            "address": self.address,
            "allocation": self.allocation,
            "other": other,
            "count": self.count,
        })
        .to_string()
    }
}

/// Names the file that [`publish`] appends to.
pub(crate) const REPORT_FILE: &str = "HIPKITTENS_SANITIZE_REPORT";

/// Prints findings, and appends them to the file that the environment asks for.
pub(crate) fn publish(findings: &[Finding]) {
    if findings.is_empty() {
        return;
    }
    for finding in findings {
        eprintln!("hk-sim: sanitizer: {finding}");
    }
    if let Some(file) = std::env::var_os(REPORT_FILE).filter(|file| !file.is_empty())
        && let Err(error) = append_json(file.as_ref(), findings)
    {
        eprintln!("hk-sim: {REPORT_FILE}: cannot write {}: {error}", file.display());
    }
}

/// Appends findings to a file, one line of JSON each.
///
/// # Errors
/// Those of opening and writing the file.
pub fn append_json(path: &Path, findings: &[Finding]) -> std::io::Result<()> {
    let lines: String = findings.iter().map(|finding| finding.to_json() + "\n").collect();
    // One write in append mode, so that the lines of several processes do not mix.
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_exactly_the_documented_keys() {
        let finding = Finding {
            severity: Severity::Note,
            kind: Kind::Race,
            detail: "a \"quoted\" detail".into(),
            kernel: "gemm".into(),
            operation: None,
            pc: 0x7f00_0000_1234,
            offset: 0x34,
            instruction: "ds_read_b32 v0, v1".into(),
            source: Some("a\\b.hip:12:3".into()),
            workgroup: [1, 2, 3],
            wave: 4,
            lane: Some(5),
            address: None,
            allocation: None,
            other: Some(Other {
                what: "write",
                operation: None,
                pc: 0x7f00_0000_1000,
                offset: -0x200,
                instruction: "ds_write_b32 v1, v0".into(),
                source: None,
                workgroup: [1, 2, 3],
                wave: 0,
            }),
            count: 7,
        };
        let line = finding.to_json();
        assert!(!line.contains('\n'));
        let value: serde_json::Value = serde_json::from_str(&line).expect("valid JSON");
        let object = value.as_object().expect("an object");
        let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
        keys.sort_unstable();
        let mut documented = [
            "severity",
            "kind",
            "detail",
            "kernel",
            "operation",
            "pc",
            "offset",
            "instruction",
            "source",
            "workgroup",
            "wave",
            "lane",
            "address",
            "allocation",
            "other",
            "count",
        ];
        documented.sort_unstable();
        assert_eq!(keys, documented);
        assert_eq!((&value["severity"], &value["kind"]), (&json!("note"), &json!("race")));
        assert_eq!(value["detail"], "a \"quoted\" detail");
        assert_eq!((&value["offset"], &value["count"]), (&json!(0x34), &json!(7)));
        assert_eq!(value["other"]["offset"], -0x200);
        assert_eq!(value["pc"], 0x7f00_0000_1234u64);
        assert_eq!(value["workgroup"], json!([1, 2, 3]));
        assert_eq!(value["address"], json!(null));
        assert_eq!(value["other"]["wave"], 0);
        let text = finding.to_string();
        assert!(text.starts_with("note: race: a \"quoted\" detail\n"), "{text}");
        assert!(text.ends_with("\n  seen 7 times"), "{text}");
        // Both forms say the same.
        for part in ["kernel", "instruction", "source"] {
            assert!(value[part].as_str().is_some_and(|part| text.contains(part)), "{text}");
        }
        for part in ["what", "instruction"] {
            let part = value["other"][part].as_str();
            assert!(part.is_some_and(|part| text.contains(part)), "{text}");
        }
    }
}
