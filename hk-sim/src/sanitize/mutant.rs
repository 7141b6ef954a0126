//! Mutants of a kernel: its code without one barrier, or with one wait that waits for less.

use super::audit::Weakened;
use crate::isa::{Op, decode};
use crate::object::{CodeObject, Placed};

const S_NOP: u32 = 0xbf80_0000;
const S_WAITCNT: u32 = 0xbf8c_0000;

/// Greatest values of `vmcnt` and `lgkmcnt`: no wait.
const MAX_VM: u32 = 63;
const MAX_LGKM: u32 = 15;

/// A change of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Offset of the instruction from the kernel's entry, in bytes.
    pub offset: u64,
    /// The instruction.
    pub instruction: String,
    /// What the mutant has in its place.
    pub replacement: String,
    /// What is left of it.
    pub weakened: Weakened,
    /// Source file and line, where the code object has line tables.
    pub source: Option<String>,
    position: usize,
    word: u32,
}

impl Mutant {
    /// The code object with the change.
    pub fn apply(&self, object: &[u8]) -> Vec<u8> {
        let mut bytes = object.to_vec();
        if let Some(place) = bytes.get_mut(self.position..self.position + 4) {
            place.copy_from_slice(&self.word.to_le_bytes());
        }
        bytes
    }
}

/// The mutants of a kernel: without each `s_barrier` and each `s_waitcnt`, and with each counter of
/// each `s_waitcnt` at the next weaker value. Empty if there is no such kernel.
pub fn mutants(object: &CodeObject, kernel: &str) -> Vec<Mutant> {
    let lines = object.lines();
    let mut mutants = Vec::new();
    for Placed { offset, vaddr, position, inst } in object.instructions(kernel) {
        let changes = match inst.info.op {
            Op::s_barrier => vec![(S_NOP, Weakened::Barrier)],
            Op::s_waitcnt => weaker_waits(u32::from(inst.simm16)),
            _ => continue,
        };
        let source = lines.as_ref().and_then(|lines| lines.line(vaddr));
        let source = source.map(|line| line.to_string());
        mutants.extend(changes.into_iter().map(|(word, weakened)| {
            Mutant {
                offset,
                instruction: inst.to_string(),
                replacement: decode(object.arch(), &[word])
                    .map_or_else(|error| error.to_string(), |inst| inst.to_string()),
                weakened,
                source: source.clone(),
                position,
                word,
            }
        }));
    }
    mutants
}

/// The weaker forms of a wait, each once.
fn weaker_waits(simm: u32) -> Vec<(u32, Weakened)> {
    let (vm, lgkm) = (simm & 15 | simm >> 10 & 0x30, simm >> 8 & 15);
    let mut left = Vec::new();
    if vm < MAX_VM {
        left.push((vm + 1, lgkm));
    }
    if lgkm < MAX_LGKM {
        left.push((vm, lgkm + 1));
    }
    if !left.is_empty() {
        left.push((MAX_VM, MAX_LGKM));
    }
    left.dedup();
    left.into_iter()
        .map(|(vm, lgkm)| {
            let weakened = Weakened::Wait {
                vector: (vm < MAX_VM).then_some(vm),
                lgkm: (lgkm < MAX_LGKM).then_some(lgkm),
            };
            let waits = (vm, lgkm) != (MAX_VM, MAX_LGKM);
            // The counter of exports stays.
            let counts = vm & 15 | (vm & 0x30) << 10 | lgkm << 8 | simm & 0x70;
            (if waits { S_WAITCNT | counts } else { S_NOP }, weakened)
        })
        .collect()
}
