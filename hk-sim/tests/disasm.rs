//! Every row of the opcode table in every form: what clang assembles decodes, prints as LLVM
//! prints it, and what is printed assembles to the same bytes.

#![expect(clippy::print_stdout, reason = "prints the coverage tables")]

mod isa_common;

use hk_sim::isa::{Arch, Inst, OPS, OpInfo, decode};
use isa_common::coverage::Coverage;
use isa_common::forms;
use isa_common::llvm::{Line, canonical, without_lit};

const ARCHS: [Arch; 2] = [Arch::Gfx942, Arch::Gfx950];

/// Rows that only the vendor's table of the chip lists; no assembler knows them.
const VENDOR_ONLY: [(&str, Arch); 6] = [
    ("s_set_valu_coexec_mode", Arch::Gfx950),
    ("v_readfirstlane_b32_e64", Arch::Gfx950),
    ("v_swap_b32_e64", Arch::Gfx950),
    ("v_accvgpr_mov_b32_e64", Arch::Gfx950),
    ("v_mfma_f32_16x16x8_xf32", Arch::Gfx950),
    ("v_mfma_f32_32x32x4_xf32", Arch::Gfx950),
];

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
    // The assembler accepts, and LLVM prints, marks that these have no bits for.
    let quirky = ["v_pk_fmac_f16_", "flat_atomic_", "global_atomic_"];
    let unmarked = |text: &str| {
        let text = text.split(" op_sel:").next().unwrap_or_default();
        let text = if text.contains("_f64 a") { text.trim_end_matches(" sc1") } else { text };
        text.replace("sext(", "").replace(['-', '|', ')'], "")
    };
    let quirk = quirky.iter().any(|q| ours.starts_with(q)) && unmarked(&ours) == unmarked(&llvm);
    // LLVM's text drops bits here; ours is a number.
    let dropped = ours.starts_with("s_waitcnt 0x")
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

#[test]
fn every_form_that_clang_assembles_decodes_and_prints_as_llvm_does() {
    for arch in ARCHS {
        let mut coverage = Coverage::new(arch);
        let sources: Vec<String> = rows(arch).flat_map(forms::lines).collect();
        let lines = canonical(arch, &sources);
        let accepted: Vec<(&String, &Line)> =
            sources.iter().zip(&lines).filter_map(|(s, l)| Some((s, l.as_ref()?))).collect();
        let mut errors: Vec<String> = Vec::new();
        let mut insts: Vec<Inst> = Vec::new();
        for (source, line) in &accepted {
            match check(arch, source, line, &mut coverage) {
                Ok(inst) => insts.push(inst),
                Err(error) => errors.push(error),
            }
        }
        assert!(errors.is_empty(), "{arch}: {}", report(&errors));

        let printed: Vec<String> = insts.iter().map(Inst::to_string).collect();
        for ((inst, text), line) in insts.iter().zip(&printed).zip(canonical(arch, &printed)) {
            let bytes = inst.raw.iter().flat_map(|w| w.to_le_bytes()).take(inst.size.into());
            let bytes: Vec<u8> = bytes.collect();
            if line.as_ref().map(|l| &l.bytes) != Some(&bytes) {
                errors.push(format!("{text}: {bytes:02x?} assembles to {line:02x?}"));
            }
        }
        assert!(errors.is_empty(), "{arch}: {}", report(&errors));

        let missing = coverage.missing();
        let vendor = |m: &String| {
            VENDOR_ONLY
                .iter()
                .any(|(name, chip)| *chip == arch && m.starts_with(&format!("{name}:")))
        };
        let missing: Vec<String> = missing.into_iter().filter(|m| !vendor(m)).collect();
        println!("{}", coverage.markdown());
        println!("{} lines offered, {} accepted", sources.len(), accepted.len());
        assert!(missing.is_empty(), "{arch}: not seen: {}", report(&missing));
    }
}
