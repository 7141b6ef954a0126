//! Decoding and printing are total, and an instruction is no longer than the bytes given.

#![no_main]

use hk_sim::isa::{Arch, decode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let words: Vec<u32> =
        data.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let mut at = 0;
        while at < words.len() {
            match decode(arch, &words[at..]) {
                Ok(inst) => {
                    let size = usize::from(inst.size) / 4;
                    assert!(size > 0 && at + size <= words.len());
                    assert!(inst.to_string().starts_with(inst.info.base()));
                    inst.reads(&mut |operand| assert!(operand.is_some()));
                    inst.writes(&mut |operand| assert!(operand.is_some()));
                    at += size;
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    at += 1;
                }
            }
        }
    }
});
