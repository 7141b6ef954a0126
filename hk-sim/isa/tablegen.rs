//! Writes `src/isa/table.rs`, `src/isa/mfma_table.rs` and `src/isa/ignored_table.rs` from
//! `isa/opcodes.csv`, `isa/mfma.csv` and `isa/ignored.csv`.
//!
//! Shared by the example `gen_isa`, which writes the files, and the test `isa_tables`, which fails
//! when they are out of step.
//!
//! Columns of `opcodes.csv`:
//!
//! * `dst`, `src`: operands in the order of `Inst::dst` and `Inst::src`, `-` where a position is
//!   unused. An operand is `CLASS.TYPE`, with `+` in front when it is both read and written.
//!   Classes: `d` scalar register, `s` scalar source, `r` scalar register tuple of an address,
//!   `n` scalar register or special source, `v` VGPR, `a` AGPR, `w` VGPR or AGPR,
//!   `x` any vector source, `c` vector register or inline constant, `k` literal, `vcc`.
//!   Types: element and, after `x`, the number of elements.
//! * `imm`: how the 16-bit immediate is printed.
//! * `mods`: legal modifiers; `neg=3` means on sources 0 and 1.
//! * `implicit`: registers read (`.r`) and written (`.w`) without an operand.
//!
//! `ignored.csv` lists the bits that hardware does not read, as LLVM's disassembler knows them and
//! as they stand in code of vendors. Columns:
//!
//! * `encoding`: encodings, with `+dpp` or `+sdwa` for those of that extra dword.
//! * `rows`: operations, all if empty; a name may have one `*`. `no X`: those without operand,
//!   operand half or modifier X; `ret`: atomics that can return the old value.
//! * `when`: values of other fields, all of which are required.
//! * `bits`: fields of the first 64 bits that are ignored, with the value that assemblers give
//!   them if that is not zero.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const HEADER: &str = "// Generated from the tables in `isa/` by `cargo run -p hk-sim --example gen_isa`; do not edit.\n\n";

/// Rows of a comma-separated file as maps from column name to field.
fn rows(csv: &str) -> Result<Vec<BTreeMap<&str, &str>>, String> {
    let mut lines = csv.lines();
    let columns: Vec<&str> = lines.next().ok_or("empty table")?.split(',').collect();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            if fields.len() != columns.len() {
                return Err(format!("{line}: expected {} fields", columns.len()));
            }
            Ok(columns.iter().copied().zip(fields).collect())
        })
        .collect()
}

/// Bits per element of a type name, and its variant of `Elem`.
fn elem(name: &str) -> Result<(u32, &'static str), String> {
    Ok(match name {
        "b16" => (16, "B16"),
        "b32" => (32, "B32"),
        "b64" => (64, "B64"),
        "f16" => (16, "F16"),
        "bf16" => (16, "Bf16"),
        "f32" => (32, "F32"),
        "f64" => (64, "F64"),
        "xf32" => (32, "Xf32"),
        "fp8" => (8, "Fp8"),
        "bf8" => (8, "Bf8"),
        _ => return Err(format!("unknown element type {name}")),
    })
}

fn slot(spec: &str) -> Result<(String, String), String> {
    let (rw, rest) = spec.strip_prefix('+').map_or((false, spec), |r| (true, r));
    let (class, ty) = rest.split_once('.').ok_or_else(|| format!("bad operand {spec}"))?;
    let variant = match class {
        "d" => "ScalarReg",
        "s" => "Scalar",
        "r" => "Address",
        "n" => "ScalarNamed",
        "v" => "Vgpr",
        "a" => "Agpr",
        "w" => "VgprOrAgpr",
        "x" => "Any",
        "c" => "VectorOrConst",
        "k" => "Literal",
        "vcc" => "Vcc",
        _ => return Err(format!("unknown class in {spec}")),
    };
    let (name, count) = match ty.strip_prefix("xf32") {
        Some(rest) => ("xf32", rest.strip_prefix('x').unwrap_or("1")),
        None => ty.split_once('x').unwrap_or((ty, "1")),
    };
    let count: u32 = count.parse().map_err(|_| format!("bad count in {spec}"))?;
    let (bits, elem) = elem(name)?;
    let dwords = (bits * count).div_ceil(32);
    let ident = format!("{}{}_{}", if rw { "RW_" } else { "" }, class, ty).to_uppercase();
    let value = format!("slot(Class::{variant}, Elem::{elem}, {count}, {dwords}, {rw})");
    Ok((ident, value))
}

fn slots(list: &str, n: usize, consts: &mut BTreeMap<String, String>) -> Result<String, String> {
    let mut names = Vec::new();
    for spec in list.split_whitespace() {
        if spec == "-" {
            names.push("NO".to_owned());
            continue;
        }
        let (ident, value) = slot(spec)?;
        consts.insert(ident.clone(), value);
        names.push(ident);
    }
    if names.len() > n {
        return Err(format!("too many operands: {list}"));
    }
    names.resize(n, "NO".to_owned());
    Ok(names.join(", "))
}

fn mods(list: &str) -> Result<String, String> {
    let mut masks = [0_u8; 5];
    let mut flags = Vec::new();
    for word in list.split_whitespace() {
        if let Some((name, value)) = word.split_once('=') {
            let at = ["neg", "abs", "sext", "sel", "sel_hi"]
                .iter()
                .position(|n| *n == name)
                .ok_or_else(|| format!("unknown modifier {word}"))?;
            masks[at] = value.parse().map_err(|_| format!("bad mask {word}"))?;
        } else {
            flags.push(format!("Mods::{}", word.to_uppercase()));
        }
    }
    if masks == [0; 5] && flags.is_empty() {
        return Ok("NM".to_owned());
    }
    let flags = if flags.is_empty() { "0".to_owned() } else { flags.join(" | ") };
    let [neg, abs, sext, sel, sel_hi] = masks;
    Ok(format!("mods({neg}, {abs}, {sext}, {sel}, {sel_hi}, {flags})"))
}

fn flags(ty: &str, list: &str) -> String {
    let parts: Vec<String> = list
        .split_whitespace()
        .map(|w| {
            format!("{ty}::{}", w.replace(".r", "_read").replace(".w", "_write").to_uppercase())
        })
        .collect();
    if parts.is_empty() { "0".to_owned() } else { parts.join(" | ") }
}

fn base(mnemonic: &str) -> &str {
    mnemonic.strip_suffix("_e32").or_else(|| mnemonic.strip_suffix("_e64")).unwrap_or(mnemonic)
}

/// Text of `src/isa/table.rs`.
pub(crate) fn opcode_table(csv: &str) -> Result<String, String> {
    let rows = rows(csv)?;
    let ops: BTreeSet<&str> = rows.iter().map(|r| base(r["mnemonic"])).collect();
    let mut consts = BTreeMap::new();
    let (mut body, mut format) = (String::new(), "");
    for row in &rows {
        let mnemonic = row["mnemonic"];
        let context = |e: String| format!("{mnemonic}: {e}");
        let archs = match row["archs"] {
            "both" => "ArchSet::BOTH",
            "cdna3" => "ArchSet::GFX942",
            "cdna4" => "ArchSet::GFX950",
            other => return Err(context(format!("unknown archs {other}"))),
        };
        let imm = match row["imm"] {
            "" => "None",
            "dec" => "Decimal",
            "hex" => "Hex",
            "optional" => "Optional",
            "hwreg" => "HwReg",
            "waitcnt" => "WaitCnt",
            "sendmsg" => "SendMsg",
            "gpridx" => "GprIdx",
            "branch" => "Branch",
            "probe" => "Probe",
            "swizzle" => "Swizzle",
            "bufformat" => "BufFormat",
            other => return Err(context(format!("unknown immediate {other}"))),
        };
        let dst = slots(row["dst"], 2, &mut consts).map_err(context)?;
        let src = slots(row["src"], 5, &mut consts).map_err(context)?;
        let mods = mods(row["mods"]).map_err(context)?;
        if format != row["format"] {
            format = row["format"];
            body.push_str(&format!("    // {format}\n"));
        }
        writeln!(
            body,
            "    row(Op::{}, Format::{}, {}, \"{mnemonic}\", {archs}, {}, [{dst}], [{src}], \
             Imm::{imm}, {mods}, {}),",
            base(mnemonic),
            row["format"],
            row["opcode"],
            flags("Forms", row["forms"]),
            flags("Implicit", row["implicit"]),
        )
        .map_err(|e| e.to_string())?;
    }
    let mut out = String::from(HEADER);
    out.push_str(
        "// In this order: operands of rows, operations by name, encodings by format and opcode.\n\n\
         use super::Format;\nuse super::info::{\n    ArchSet, Class, Elem, Forms, Imm, Implicit, Mods, OpInfo, \
         Slot, mods, operations, row, slot,\n};\n\n\
         const NO: Slot = Slot::NONE;\nconst NM: Mods = Mods::NONE;\n",
    );
    for (ident, value) in &consts {
        out.push_str(&format!("const {ident}: Slot = {value};\n"));
    }
    out.push_str("\noperations! {\n");
    let mut line = String::new();
    for op in &ops {
        if line.len() + op.len() >= 96 {
            out.push_str(&format!("   {line}\n"));
            line.clear();
        }
        line.push_str(&format!(" {op}"));
    }
    out.push_str(&format!("   {line}\n"));
    out.push_str(&format!(
        "}}\n\n/// Every encoding of every operation, by format and opcode.\n\
         pub static OPS: [OpInfo; {}] = [\n",
        rows.len()
    ));
    out.push_str(&body);
    out.push_str("];\n");
    Ok(out)
}

/// Text of `src/isa/mfma_table.rs`.
pub(crate) fn mfma_table(csv: &str) -> Result<String, String> {
    let rows = rows(csv)?;
    let mut out = String::from(HEADER);
    out.push_str(
        "use super::mfma::MatType::*;\nuse super::mfma::{Blgp, MfmaClass, MfmaInfo};\n\
         use super::{Arch, Op};\n\n\
         /// One row per matrix instruction and chip, by name and chip.\n",
    );
    out.push_str(&format!("pub static MFMA: [MfmaInfo; {}] = [\n", rows.len()));
    for row in &rows {
        let ty = |column: &str| -> Result<&'static str, String> {
            Ok(match row[column] {
                "f16" => "F16",
                "bf16" => "Bf16",
                "f32" => "F32",
                "f64" => "F64",
                "xf32" => "Xf32",
                "i8" => "I8",
                "i32" => "I32",
                "fp8" => "Fp8",
                "bf8" => "Bf8",
                "f8f6f4" => "F8F6F4",
                other => return Err(format!("unknown matrix type {other}")),
            })
        };
        let arch = match row["arch"] {
            "gfx942" => "Gfx942",
            "gfx950" => "Gfx950",
            other => return Err(format!("unknown chip {other}")),
        };
        let class = match row["class"] {
            "xdl" => "Xdl",
            "sgemm" => "Sgemm",
            "dgemm" => "Dgemm",
            other => return Err(format!("unknown class {other}")),
        };
        let blgp = match row["blgp"] {
            "none" => "None",
            "permute" => "Permute",
            "neg" => "Negate",
            "format" => "Format",
            other => return Err(format!("unknown blgp {other}")),
        };
        writeln!(
            out,
            "    MfmaInfo {{ op: Op::{}, arch: Arch::{arch}, m: {}, n: {}, k: {}, blocks: {}, \
             a: {}, b: {}, cd: {}, sparse: {}, a_vgprs: {}, b_vgprs: {}, cd_vgprs: {}, \
             passes: {}, passes_narrow: {}, class: MfmaClass::{class}, broadcast: {}, \
             blgp: Blgp::{blgp} }},",
            row["op"],
            row["m"],
            row["n"],
            row["k"],
            row["blocks"],
            ty("a")?,
            ty("b")?,
            ty("cd")?,
            row["sparse"],
            row["a_vgprs"],
            row["b_vgprs"],
            row["cd_vgprs"],
            row["passes"],
            row["passes_narrow"],
            row["broadcast"],
        )
        .map_err(|e| e.to_string())?;
    }
    out.push_str("];\n");
    Ok(out)
}

/// Mask and value of fields such as `14`, `60:59=3`.
fn fields(list: &str) -> Result<(u64, u64), String> {
    let mut sum = (0, 0);
    for field in list.split_whitespace() {
        let (range, value) = field.split_once('=').unwrap_or((field, "0"));
        let (high, low) = range.split_once(':').unwrap_or((range, range));
        let number =
            |text: &str| text.parse::<u32>().map_err(|_| format!("bad field {field} in {list}"));
        let (high, low, value) = (number(high)?, number(low)?, number(value)?);
        if high > 63 || low > high || u64::from(value) >> (high - low + 1) != 0 {
            return Err(format!("bad field {field} in {list}"));
        }
        sum.0 |= (u64::MAX >> (63 - (high - low))) << low;
        sum.1 |= u64::from(value) << low;
    }
    Ok(sum)
}

/// Whether a name is meant by a name that may have one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

/// Text of `src/isa/ignored_table.rs`.
pub(crate) fn ignored_table(csv: &str, opcodes: &str) -> Result<String, String> {
    let opcodes = rows(opcodes)?;
    let mut body = String::new();
    let mut count = 0;
    for row in &rows(csv)? {
        let (when, value) = fields(row["when"])?;
        let (bits, canonical) = fields(row["bits"])?;
        writeln!(body, "    // {}", row["reason"]).map_err(|e| e.to_string())?;
        for encoding in row["encoding"].split_whitespace() {
            let (format, form) = encoding.split_once('+').unwrap_or((encoding, "0"));
            let form = match form {
                "0" => "0",
                "dpp" => "Forms::DPP",
                "sdwa" => "Forms::SDWA",
                other => return Err(format!("unknown form {other}")),
            };
            let of = match row["rows"] {
                "" => "Rows::All".to_owned(),
                "ret" => "Rows::With(Mods::RET)".to_owned(),
                "no gds" => "Rows::Without(Mods::GDS)".to_owned(),
                "no dst" => "Rows::NoDst".to_owned(),
                list if list.starts_with("no src") => format!("Rows::NoSrc({})", &list[6..]),
                list if list.starts_with("no sel") => format!("Rows::NoSel({})", &list[6..]),
                list => {
                    let mut ops = BTreeSet::new();
                    for pattern in list.split_whitespace() {
                        let before = ops.len();
                        let named = opcodes.iter().filter(|op| op["format"] == format);
                        ops.extend(
                            named.map(|op| base(op["mnemonic"])).filter(|op| matches(pattern, op)),
                        );
                        if ops.len() == before {
                            return Err(format!("{format}: no operation is called {pattern}"));
                        }
                    }
                    let ops: Vec<String> = ops.iter().map(|op| format!("Op::{op}")).collect();
                    format!("Rows::Of(&[{}])", ops.join(", "))
                }
            };
            writeln!(
                body,
                "    Ignored {{ format: Format::{format}, form: {form}, rows: {of}, \
                 when: ({when:#x}, {value:#x}), bits: {bits:#x}, value: {canonical:#x} }},"
            )
            .map_err(|e| e.to_string())?;
            count += 1;
        }
    }
    Ok(format!(
        "{HEADER}use super::ignored::{{Ignored, Rows}};\nuse super::{{Format, Forms, Mods, Op}};\n\n\
         /// Every field that hardware does not read.\n\
         pub(super) static IGNORED: [Ignored; {count}] = [\n{body}];\n"
    ))
}
