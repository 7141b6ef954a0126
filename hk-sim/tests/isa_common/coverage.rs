//! Forms in which an instruction may come, and which of them were verified.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use hk_sim::exec::Program;
use hk_sim::isa::{Arch, Class, Ext, Format, Forms, Implicit, Inst, Mods, OPS, OpInfo, Operand};

/// Forms that the table gives a row on `arch`.
pub(crate) fn forms_of_row(row: &OpInfo, arch: Arch) -> BTreeSet<&'static str> {
    let mods = row.mods;
    let scalar = matches!(
        row.format,
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp
    );
    let has_source = |class: Class| row.src.iter().any(|s| s.is_some() && s.class == class);
    // Vector instructions read at most one scalar register or literal.
    let bus_free = scalar
        || !has_source(Class::Vcc)
            && !has_source(Class::Literal)
            && !row.implicit.has(Implicit::VCC_READ);
    let any = has_source(Class::Any);
    let memory = matches!(
        row.format,
        Format::Ds
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf
    );
    let data = row.dst[0].is_some() || row.src[1].is_some();
    let buffer = matches!(row.format, Format::Mubuf | Format::Mtbuf);
    let forms = [
        // Instructions that always carry a literal have no plain form.
        ("plain", !has_source(Class::Literal)),
        ("literal", row.forms.has(Forms::LIT) && (any || scalar) && bus_free),
        ("literal", has_source(Class::Literal)),
        (
            "constant",
            any && row.format != Format::Vop3px2
                || has_source(Class::Scalar)
                || has_source(Class::VectorOrConst),
        ),
        ("scalar", any && row.format != Format::Vop3px2 && bus_free),
        ("dpp", row.forms.has(Forms::DPP)),
        ("sdwa", row.forms.has(Forms::SDWA)),
        ("sdwa:sext", mods.sext != 0),
        ("sdwa:sdst", row.format == Format::Vopc && row.forms.has(Forms::SDWA)),
        ("neg", mods.neg != 0),
        ("abs", mods.abs != 0),
        ("clamp", mods.has(Mods::CLAMP)),
        ("omod", mods.has(Mods::OMOD)),
        ("op_sel", mods.sel != 0 || row.format == Format::Vop3px2),
        ("op_sel_hi", mods.sel_hi != 0 || row.format == Format::Vop3px2),
        ("bitop3", mods.has(Mods::BITOP3)),
        ("cbsz", mods.has(Mods::BCAST) || mods.has(Mods::INDEX) || mods.has(Mods::FMT)),
        ("abid", mods.has(Mods::BCAST) || mods.has(Mods::INDEX)),
        ("blgp", mods.has(Mods::BLGP) || mods.has(Mods::FMT)),
        ("agpr:cd", row.dst[0].class == Class::VgprOrAgpr && row.dst[0].is_some() && !memory),
        ("agpr:a", row.src[0].class == Class::VgprOrAgpr && !memory),
        ("agpr:b", row.src[1].class == Class::VgprOrAgpr && row.src[1].is_some() && !memory),
        ("agpr", memory && data),
        ("offset", memory && !mods.has(Mods::NOADDR)),
        ("offset", row.format == Format::Smem && row.src[0].is_some()),
        ("offset1", mods.has(Mods::OFF2)),
        ("return", mods.has(Mods::RET)),
        ("cache", (memory && row.format != Format::Ds) && !mods.has(Mods::RET)),
        (
            "glc",
            row.format == Format::Smem
                && (row.src[2].is_some() || row.dst[0].is_some() && row.src[0].is_some()),
        ),
        ("soffset", row.format == Format::Smem && row.src[1].is_some()),
        ("soffset+offset", row.format == Format::Smem && row.src[1].is_some()),
        ("off", matches!(row.format, Format::Global | Format::Scratch)),
        ("saddr", matches!(row.format, Format::Global | Format::Scratch)),
        ("saddr+vaddr", row.format == Format::Scratch),
        ("offen", buffer && row.src[0].is_some()),
        ("idxen", buffer && row.src[0].is_some()),
        ("idxen+offen", buffer && row.src[0].is_some()),
        ("lds", mods.has(Mods::LDSBIT) || mods.has(Mods::LDSBIT950) && arch == Arch::Gfx950),
        ("format", row.format == Format::Mtbuf),
    ];
    forms.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

/// Forms that one instruction shows.
pub(crate) fn forms_of_inst(inst: &Inst) -> BTreeSet<&'static str> {
    let mem = inst.mem;
    let memory = matches!(
        inst.info.format,
        Format::Ds
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf
    );
    let smem = inst.info.format == Format::Smem;
    let scratch = inst.info.format == Format::Scratch;
    let buffer = matches!(inst.info.format, Format::Mubuf | Format::Mtbuf);
    let agpr = |o: Operand| o.is_some() && o.code >= Operand::AGPR;
    let has = |o: Operand| o.is_some();
    let scalar = |o: &Operand| o.is_some() && o.code < 128;
    let constant = |o: &Operand| o.is_some() && (128..255).contains(&o.code);
    let literal = inst.src.iter().any(|o| o.is_some() && o.code == Operand::LITERAL);
    let mai = matches!(inst.info.format, Format::Mai | Format::Vop3px2);
    let imm_offset = smem && inst.raw[0] & (1 << 17) != 0;
    let forms = [
        ("plain", inst.ext == Ext::None && !literal),
        ("literal", literal),
        ("constant", inst.src.iter().any(constant)),
        ("scalar", inst.src.iter().any(scalar)),
        ("dpp", matches!(inst.ext, Ext::Dpp(_))),
        ("sdwa", matches!(inst.ext, Ext::Sdwa(_))),
        ("sdwa:sext", matches!(inst.ext, Ext::Sdwa(s) if s.src_sext != [false; 2])),
        (
            "sdwa:sdst",
            matches!(inst.ext, Ext::Sdwa(_))
                && inst.info.format == Format::Vopc
                && inst.dst[0].code != Operand::VCC,
        ),
        ("neg", inst.neg != 0 || mai && inst.info.mods.neg != 0 && inst.blgp != 0),
        ("abs", inst.abs != 0),
        ("clamp", inst.clamp),
        ("omod", inst.omod != 0),
        ("op_sel", inst.op_sel != 0),
        ("op_sel_hi", inst.op_sel_hi != 0 && inst.op_sel_hi != 7),
        ("bitop3", inst.bitop3 != 0),
        ("cbsz", inst.cbsz != 0),
        ("abid", inst.abid != 0),
        ("blgp", inst.blgp != 0),
        ("agpr:cd", agpr(inst.dst[0])),
        ("agpr:a", agpr(inst.src[0])),
        ("agpr:b", agpr(inst.src[1])),
        ("agpr", memory && (agpr(inst.dst[0]) || agpr(inst.src[1]))),
        ("offset", (memory || imm_offset) && inst.offset != 0),
        ("offset1", inst.offset1 != 0),
        ("return", inst.info.mods.has(Mods::RET) && has(inst.dst[0])),
        ("cache", mem.sc0 || mem.sc1 || mem.nt),
        ("glc", mem.glc),
        ("soffset", smem && has(inst.src[1]) && !imm_offset),
        ("soffset+offset", smem && has(inst.src[1]) && imm_offset),
        ("off", !has(inst.src[2])),
        ("saddr", has(inst.src[2]) && !(scratch && has(inst.src[0]))),
        ("saddr+vaddr", scratch && has(inst.src[2]) && has(inst.src[0])),
        ("offen", mem.offen && !mem.idxen),
        ("idxen", mem.idxen && !mem.offen),
        ("idxen+offen", mem.idxen && mem.offen),
        ("lds", buffer && mem.lds),
        ("format", mem.dfmt != 1 || mem.nfmt != 0),
    ];
    forms.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
}

/// Verified forms of every row of one chip.
pub(crate) struct Coverage {
    arch: Arch,
    seen: BTreeMap<(u8, u16), BTreeSet<&'static str>>,
}

impl Coverage {
    pub(crate) fn new(arch: Arch) -> Self {
        Self { arch, seen: BTreeMap::new() }
    }

    /// Notes a verified instruction.
    pub(crate) fn note(&mut self, inst: &Inst) {
        let key = (inst.info.format as u8, inst.info.opcode);
        self.seen.entry(key).or_default().extend(forms_of_inst(inst));
    }

    /// Rows and forms that were not verified, as `mnemonic: form`.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for row in OPS.iter().filter(|row| row.archs.has(self.arch)) {
            let seen = self.seen.get(&(row.format as u8, row.opcode));
            for form in forms_of_row(row, self.arch) {
                if !seen.is_some_and(|seen| seen.contains(form)) {
                    missing.push(format!("{}: {form}", row.mnemonic));
                }
            }
        }
        missing
    }

    /// Markdown table of verified over existing rows and forms, per encoding family.
    pub(crate) fn markdown(&self) -> String {
        let mut table: BTreeMap<u8, (Format, [usize; 4])> = BTreeMap::new();
        for row in OPS.iter().filter(|row| row.archs.has(self.arch)) {
            let forms = forms_of_row(row, self.arch);
            let seen = self.seen.get(&(row.format as u8, row.opcode));
            let hit = seen.map_or(0, |seen| forms.intersection(seen).count());
            let (_, counts) = table.entry(row.format as u8).or_insert((row.format, [0; 4]));
            counts[0] += usize::from(seen.is_some());
            counts[1] += 1;
            counts[2] += hit;
            counts[3] += forms.len();
        }
        let mut out = format!(
            "| {} | opcodes verified | opcodes | opcode forms verified | opcode forms |\n\
             |---|---|---|---|---|\n",
            self.arch
        );
        let mut sum = [0; 4];
        for (format, counts) in table.values() {
            let name = format!("{format:?}").to_uppercase();
            let [a, b, c, d] = counts;
            writeln!(out, "| {name} | {a} | {b} | {c} | {d} |").expect("writing to a string");
            for (total, count) in sum.iter_mut().zip(counts) {
                *total += count;
            }
        }
        let [a, b, c, d] = sum;
        writeln!(out, "| all | {a} | {b} | {c} | {d} |").expect("writing to a string");
        out
    }
}

/// Section of a report on what the decoder is verified to do, from the coverage of each chip.
pub(crate) fn decode_section(coverages: &[Coverage], vendor_only: &[&str]) -> String {
    let mut out = String::from(
        "## Decoding\n\nAn opcode form is an opcode of a chip with one of: plain operands, literal, \
         inline constant, scalar operand, DPP, SDWA, each modifier, each addressing form. Verified \
         means: clang assembles it, it decodes, prints as LLVM prints it, and the printed text \
         assembles to the same bytes.\n\n",
    );
    for coverage in coverages {
        out.push_str(&coverage.markdown());
        out.push('\n');
    }
    let names = vendor_only.join("`, `");
    writeln!(
        out,
        "No assembler knows `{names}`, which only the vendor's table of gfx950 lists: they decode \
         and print, and have no second opinion."
    )
    .expect("writing to a string");
    out
}

/// Executed and refused instructions of one chip.
pub(crate) struct Execution {
    arch: Arch,
    executed: BTreeSet<(u8, u16)>,
    /// Reasons by mnemonic.
    refused: BTreeMap<&'static str, String>,
}

impl Execution {
    pub(crate) fn new(arch: Arch) -> Self {
        Self { arch, executed: BTreeSet::new(), refused: BTreeMap::new() }
    }

    /// Asks the engine whether it executes the instruction; one refused form refuses its opcode.
    pub(crate) fn note(&mut self, inst: &Inst) {
        match Program::supports(self.arch, inst) {
            Ok(()) => {
                self.executed.insert((inst.info.format as u8, inst.info.opcode));
            }
            Err(reason) => {
                self.refused.insert(inst.info.mnemonic, reason.to_string());
            }
        }
    }

    /// Opcodes of the chip that are executed in every form, and all opcodes.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let rows = || OPS.iter().filter(|row| row.archs.has(self.arch));
        let executed = rows().filter(|row| {
            self.executed.contains(&(row.format as u8, row.opcode))
                && !self.refused.contains_key(row.mnemonic)
        });
        (executed.count(), rows().count())
    }
}

/// Section of a report on what is executed, and why the rest is not.
pub(crate) fn execution_section(executions: &[Execution]) -> String {
    let mut out = String::from(
        "## Execution\n\nAn opcode counts as executed if the engine executes it in every form that \
         the decoder is verified on.\n\n| chip | opcodes executed | opcodes | not executed |\n\
         |---|---|---|---|\n",
    );
    let mut reasons: BTreeMap<&str, &str> = BTreeMap::new();
    for execution in executions {
        let (executed, all) = execution.counts();
        let share = 100.0 * (all - executed) as f64 / all as f64;
        writeln!(out, "| {} | {executed} | {all} | {share:.2} % |", execution.arch)
            .expect("writing to a string");
        reasons.extend(execution.refused.iter().map(|(name, why)| (*name, why.as_str())));
    }
    out.push_str("\n| not executed | reason |\n|---|---|\n");
    for (name, reason) in reasons {
        let reason = reason.trim_start_matches("not executed: ");
        writeln!(out, "| `{name}` | {reason} |").expect("writing to a string");
    }
    out
}
