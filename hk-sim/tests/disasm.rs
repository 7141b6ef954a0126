//! Every row of the opcode table in every form: what clang assembles decodes, prints as LLVM
//! prints it, and what is printed assembles to the same bytes.

#![expect(clippy::print_stdout, reason = "prints the coverage tables")]

mod isa_common;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hk_sim::isa::{Arch, Format, Inst, OPS, OpInfo, Operand, decode};
use isa_common::coverage::{Coverage, Execution, decode_section, execution_section};
use isa_common::forms;
use isa_common::llvm::{Line, canonical};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ARCHS: [Arch; 2] = [Arch::Gfx942, Arch::Gfx950];

/// Rows of gfx950 that only the vendor's table lists; no assembler knows them on that chip.
const VENDOR_ONLY: [&str; 6] = [
    "s_set_valu_coexec_mode",
    "v_readfirstlane_b32_e64",
    "v_swap_b32_e64",
    "v_accvgpr_mov_b32_e64",
    "v_mfma_f32_16x16x8_xf32",
    "v_mfma_f32_32x32x4_xf32",
];

/// One encoding of each, in the same order.
const VENDOR_ONLY_WORDS: [[u32; 2]; 6] = [
    [0xbf9f_0001, 0],
    [0xd142_0005, 0x0000_0101],
    [0xd191_0005, 0x0000_0101],
    [0xd192_0005, 0x0000_0101],
    [0xd3be_0000, 0x0412_0501],
    [0xd3bf_0000, 0x0412_0501],
];

/// Text without the marks that only newer versions of LLVM print around literals.
fn without_lit(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("lit(") {
        out.push_str(before);
        let (value, tail) = after.split_once(')').unwrap_or((after, ""));
        out.push_str(value);
        rest = tail;
    }
    out + rest
}

/// Whether `ours` is LLVM's text, or says the same where LLVM's text does not tell encodings
/// apart: LLVM leaves out the suffixes of these two.
fn same_text(ours: &str, llvm: &str) -> bool {
    let (ours, llvm) = (without_lit(ours), without_lit(llvm));
    let plain = |text: &str| {
        text.replace("v_nop_e64", "v_nop")
            .replace("v_nop_sdwa", "v_nop")
            .replace("v_nop_dpp", "v_nop")
            .replace("v_clrexcp_e64", "v_clrexcp")
    };
    // The assembler accepts, and LLVM prints, marks and bits that it has no encoding for.
    let unmarked = |text: &str| {
        let text = text.split(" op_sel:").next().unwrap_or_default();
        text.replace("sext(", "").replace("neg(", "").replace(['-', '|', ')'], "")
    };
    let quirk = ours.starts_with("v_pk_fmac_f16_") && unmarked(&ours) == unmarked(&llvm)
        || llvm.contains("_f64 a") && llvm.strip_suffix(" sc1") == Some(&ours);
    // LLVM's text drops bits here; ours is a number.
    let dropped = ours.starts_with("s_waitcnt 0x")
        || ours.starts_with("s_sendmsg") && !ours.contains("sendmsg(")
        || ours.starts_with("ds_swizzle_b32") && !ours.contains("swizzle(");
    ours == llvm || plain(&ours) == llvm || quirk || dropped
}

/// Checks one line of clang against the decoder; notes it, or says what is wrong.
fn check(arch: Arch, source: &str, line: &Line, coverage: &mut Coverage) -> Result<Inst, String> {
    let inst = decode(arch, &line.words()).map_err(|e| format!("{source}: {e}"))?;
    let text = inst.to_string();
    if usize::from(inst.size) != line.bytes.len() {
        return Err(format!("{source}: {} bytes, decoded {}", line.bytes.len(), inst.size));
    }
    if !same_text(&text, &line.text) {
        return Err(format!("{source}: printed {text}, LLVM prints {}", line.text));
    }
    coverage.note(&inst);
    Ok(inst)
}

fn report(errors: &[String]) -> String {
    // One per operation says enough.
    let mut shown: Vec<&str> = errors.iter().map(String::as_str).collect();
    shown.dedup_by_key(|error| error.split(' ').next().unwrap_or_default().to_owned());
    shown.truncate(60);
    format!("{} mismatches:\n{}", errors.len(), shown.join("\n"))
}

fn rows(arch: Arch) -> impl Iterator<Item = &'static OpInfo> {
    OPS.iter().filter(move |row| row.archs.has(arch))
}

/// What clang makes of every line offered for one chip.
struct Assembled {
    /// Number of lines offered.
    offered: usize,
    /// Those that it assembles.
    lines: Vec<(String, Line)>,
}

fn assembled(arch: Arch) -> &'static Assembled {
    static CHIPS: [OnceLock<Assembled>; 2] = [OnceLock::new(), OnceLock::new()];
    CHIPS[arch as usize].get_or_init(|| {
        let sources: Vec<String> = rows(arch).flat_map(forms::lines).collect();
        let offered = sources.len();
        let results = canonical(arch, &sources);
        let lines = sources.into_iter().zip(results).filter_map(|(s, l)| Some((s, l?))).collect();
        Assembled { offered, lines }
    })
}

/// Whether the assembler drops a bit that the instruction has: `sc1` of f64 atomics on AGPRs.
fn assembler_drops(inst: &Inst) -> bool {
    let flat = matches!(inst.info.format, Format::Flat | Format::Global);
    let agpr = inst.src[1].is_some() && inst.src[1].code >= Operand::AGPR;
    flat && agpr && inst.mem.sc1 && inst.info.base().ends_with("_f64")
}

/// Bytes of an instruction as encoded.
fn bytes(inst: &Inst) -> Vec<u8> {
    inst.raw.iter().flat_map(|w| w.to_le_bytes()).take(inst.size.into()).collect()
}

/// Prints each instruction, and says where assembling the text fails to give its bytes and text
/// again. Returns how many of the texts the assembler takes.
fn round_trip(arch: Arch, insts: &[Inst], errors: &mut Vec<String>) -> usize {
    let printed: Vec<String> = insts.iter().map(Inst::to_string).collect();
    let lines = canonical(arch, &printed);
    for ((inst, text), line) in insts.iter().zip(&printed).zip(&lines) {
        let Some(line) = line else { continue };
        if line.bytes != bytes(inst) {
            errors.push(format!("{text}: {:02x?} assembles to {:02x?}", bytes(inst), line.bytes));
        } else if !same_text(text, &line.text) {
            errors.push(format!("{text}: LLVM prints {}", line.text));
        }
    }
    lines.iter().flatten().count()
}

#[test]
fn every_form_that_clang_assembles_decodes_and_prints_as_llvm_does() {
    let mut coverages = Vec::new();
    let mut executions = Vec::new();
    for arch in ARCHS {
        let mut coverage = Coverage::new(arch);
        let mut execution = Execution::new(arch);
        let Assembled { offered, lines } = assembled(arch);
        let mut errors: Vec<String> = Vec::new();
        let mut insts: Vec<Inst> = Vec::new();
        for (source, line) in lines {
            match check(arch, source, line, &mut coverage) {
                Ok(inst) => insts.push(inst),
                Err(error) => errors.push(error),
            }
        }
        assert!(errors.is_empty(), "{arch}: {}", report(&errors));

        let taken = round_trip(arch, &insts, &mut errors);
        assert!(errors.is_empty(), "{arch}: {}", report(&errors));
        assert_eq!(taken, insts.len(), "{arch}: every printed line assembles");

        let vendor = |m: &String| {
            let name = m.split(':').next().unwrap_or_default();
            arch == Arch::Gfx950 && VENDOR_ONLY.contains(&name)
        };
        let missing: Vec<String> = coverage.missing().into_iter().filter(|m| !vendor(m)).collect();
        assert!(missing.is_empty(), "{arch}: not seen: {}", report(&missing));
        println!("{arch}: {offered} lines offered, {} assembled", lines.len());
        for inst in &insts {
            execution.note(inst);
        }
        for words in VENDOR_ONLY_WORDS.iter().filter(|_| arch == Arch::Gfx950) {
            execution.note(&decode(arch, words).expect("a sample decodes"));
        }
        let (executed, all) = execution.counts();
        println!("{arch}: {executed} of {all} opcodes executed");
        assert!((all - executed) * 50 < all, "{arch}: 2 % or more are not executed");
        coverages.push(coverage);
        executions.push(execution);
    }
    let document = format!(
        "# Instruction coverage\n\nGenerated by `cargo test -p hk-sim --test disasm`, which fails if \
         it is out of date; with `HIPKITTENS_BLESS=1` it writes the file.\n\n{}\n{}",
        execution_section(&executions),
        decode_section(&coverages, &VENDOR_ONLY),
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/COVERAGE.md");
    if std::env::var_os("HIPKITTENS_BLESS").is_some() {
        std::fs::write(file, &document).expect("the file is writable");
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == document, "COVERAGE.md is out of date; set HIPKITTENS_BLESS=1 to write it");
}

/// Words that differ from an assembled instruction in random fields: whatever still decodes must
/// print as text that assembles to the same bytes, if the assembler takes it at all.
#[test]
fn random_fields_survive_printing_and_assembling() {
    const PER_ROW: usize = 40;
    let mut rng = StdRng::seed_from_u64(0x15a);
    for arch in ARCHS {
        let mut seeds: BTreeMap<(&str, usize), Vec<Vec<u32>>> = BTreeMap::new();
        for (_, line) in &assembled(arch).lines {
            let words = line.words();
            if let Ok(inst) = decode(arch, &words) {
                seeds.entry((inst.info.mnemonic, words.len())).or_default().push(words);
            }
        }
        let mut insts = Vec::new();
        for ((mnemonic, _), words) in &seeds {
            let mut found = 0;
            for _ in 0..PER_ROW * 20 {
                let mut mutant = words[rng.random_range(0..words.len())].clone();
                for _ in 0..rng.random_range(1..6) {
                    // A field of one to nine bits takes a random value.
                    let at = rng.random_range(0..mutant.len());
                    let mask = (1_u32 << rng.random_range(1..10)) - 1;
                    let shift = rng.random_range(0..32);
                    let value: u32 = rng.random();
                    mutant[at] = mutant[at] & !(mask << shift) | (value & mask) << shift;
                }
                if let Ok(inst) = decode(arch, &mutant)
                    && inst.info.mnemonic == *mnemonic
                    && !assembler_drops(&inst)
                {
                    insts.push(inst);
                    found += 1;
                    if found == PER_ROW {
                        break;
                    }
                }
            }
        }
        let mut errors = Vec::new();
        let taken = round_trip(arch, &insts, &mut errors);
        println!("{arch}: {} random instructions, {taken} taken by the assembler", insts.len());
        assert!(errors.is_empty(), "{arch}: {}", report(&errors));
        assert!(taken > 20_000, "{arch}: enough of them are instructions to the assembler");
    }
}
