//! Machine code that clang generates, disassembled, is clang's own assembly text.

use std::collections::HashMap;
use std::fs;

use hk_sim::isa::{Arch, Imm, decode};

const SOURCE: &str = include_str!("disasm_hip/kernels.hip");

/// Assembly text of the kernels.
fn assembly(arch: Arch) -> String {
    let dir = tempfile::tempdir().expect("temporary folder");
    let (input, output) = (dir.path().join("kernels.hip"), dir.path().join("kernels.s"));
    fs::write(&input, SOURCE).expect("source is written");
    let clang = hk_build::clang().expect("a clang for AMD GPUs");
    let mut command = clang.command();
    command.args(["-x", "hip", "--offload-device-only", "-nogpulib", "-nogpuinc"]);
    command.args(["-O3", "-std=c++20", "-S", "-o"]).arg(&output).arg(&input);
    command.arg(format!("--offload-arch={arch}"));
    let result = command.output().expect("clang runs");
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    fs::read_to_string(&output).expect("assembly text")
}

/// Instructions of `.text` as clang prints them, without comments, and the labels in front of
/// each. What follows another section directive is not code.
fn instructions(text: &str) -> (Vec<String>, HashMap<String, usize>) {
    let (mut code, mut labels, mut in_text) = (Vec::new(), HashMap::new(), false);
    for line in text.lines() {
        let line = line.split(';').next().unwrap_or_default().trim();
        if line == ".text" || line.starts_with(".section") {
            in_text = line == ".text" || line.contains(".text");
        } else if line.is_empty() || !in_text || line.starts_with('.') && !line.ends_with(':') {
            continue;
        } else if let Some(label) = line.strip_suffix(':') {
            labels.insert(label.to_owned(), code.len());
        } else {
            code.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    (code, labels)
}

#[test]
fn disassembly_of_compiled_kernels_is_the_compilers_text() {
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let text = assembly(arch);
        let object = hk_build::assemble(&text, arch).expect("clang reads its own text");
        let words = object.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        let words: Vec<u32> = words.collect();
        let (expected, labels) = instructions(&text);

        // Padding between functions is not in the text, so offsets are found while decoding.
        let (mut at, mut insts) = (0, Vec::new());
        while at < words.len() {
            let inst =
                decode(arch, &words[at..]).unwrap_or_else(|e| panic!("{arch}, word {at}: {e}"));
            let size = usize::from(inst.size) / 4;
            insts.push((at, inst));
            at += size;
        }
        let padding = |text: &str| text == "s_nop 0" || text == "s_code_end";
        let mut found = insts.iter();
        let mut starts = Vec::new();
        let mut relocated = 0;
        let mut pairs = Vec::new();
        for line in &expected {
            let (start, inst) = found
                .find(|(_, inst)| !padding(&inst.to_string()) || padding(line))
                .unwrap_or_else(|| panic!("{arch}: code ends before {line}"));
            starts.push(*start);
            pairs.push((line, *start, inst));
        }
        for (line, start, inst) in pairs {
            let printed = inst.to_string();
            if inst.info.imm == Imm::Branch {
                // The text names a label; the distance counts words from the next instruction.
                let (head, label) = line.rsplit_once(' ').expect("a target");
                let target = starts[labels[label]] as i64;
                let distance = (target - start as i64 - 1) as u16;
                assert_eq!(printed, format!("{head} {distance}"), "{arch}: {line}");
            } else if line.contains('@') {
                // The linker fills in addresses; the mnemonic and the first operand are here.
                relocated += 1;
                let head = line.split(", ").next();
                assert_eq!(printed.split(", ").next(), head, "{arch}: {line}");
            } else {
                assert_eq!(&printed, line, "{arch}: word {start}");
            }
        }
        assert!(expected.len() > 800, "{arch}: {} instructions", expected.len());
        assert!(relocated < expected.len() / 50, "{arch}: {relocated} lines with addresses");
    }
}
