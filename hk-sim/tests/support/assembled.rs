//! Machine code of assembled lines.

#![allow(dead_code, reason = "not every test uses every helper")]

use hk_build::assemble_lines;
use hk_sim::isa::{Arch, decode};
use hk_sim::object::Placed;

/// The words of each line.
pub(crate) fn words(lines: &[&str], arch: Arch) -> Vec<Vec<u32>> {
    let assembled = assemble_lines(lines, arch).expect("the assembler starts");
    let words = |(line, bytes): (&&str, Result<Vec<u8>, String>)| {
        let bytes = bytes.unwrap_or_else(|why| panic!("{line}: {why}"));
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    lines.iter().zip(assembled).map(words).collect()
}

/// The instructions of a function of these words.
pub(crate) fn placed(code: &[Vec<u32>], arch: Arch) -> Vec<Placed> {
    let mut offset = 0;
    let place = |words: &Vec<u32>| {
        let inst = decode(arch, words).expect("it decodes");
        let placed = Placed { offset, vaddr: offset, position: offset as usize, inst };
        offset += 4 * words.len() as u64;
        placed
    };
    code.iter().map(place).collect()
}
