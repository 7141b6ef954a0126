//! What a kernel occupies, from its code object's metadata, and whether that is allowed.
//!
//! Nothing here reads or writes files.

use std::fmt;

use hk_types::Arch;
use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, SectionKind};
use rmpv::Value;

use crate::layout::Layout;
use crate::plan::{Budget, Core, CoreBudget, Unit};

/// The type of the note with the metadata, in LLVM's AMDGPU usage guide.
const NT_AMDGPU_METADATA: u32 = 32;

/// The metadata of a kernel, by the names of LLVM's AMDGPU usage guide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) group_segment_fixed_size: u64,
    pub(crate) private_segment_fixed_size: u64,
    pub(crate) max_flat_workgroup_size: u64,
    /// Architectural and accumulation registers together.
    pub(crate) vgpr_count: u64,
    pub(crate) agpr_count: u64,
    pub(crate) sgpr_count: u64,
    pub(crate) vgpr_spill_count: u64,
    pub(crate) sgpr_spill_count: u64,
    pub(crate) uses_dynamic_stack: bool,
    /// The arguments that the caller passes.
    pub(crate) args: Vec<Arg>,
}

/// An explicit argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arg {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) value_kind: String,
}

/// A limit that a kernel exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kernel and its tile configuration, or the core.
    pub place: String,
    /// The architecture.
    pub arch: Arch,
    /// What there is too much of.
    pub what: &'static str,
    /// How much there is.
    pub figure: u64,
    /// How much there may be.
    pub limit: u64,
    /// What to do about it, or how the figure comes about.
    pub note: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, arch, what, figure, limit, note } = self;
        write!(f, "{place}, {arch}: {what}: {figure}, limit {limit}")?;
        if note.is_empty() { Ok(()) } else { write!(f, " ({note})") }
    }
}

/// Reads the metadata of every kernel in a code object.
///
/// On failure, says what is wrong with the image.
pub(crate) fn read_metadata(image: &[u8]) -> Result<Vec<Metadata>, String> {
    let file = ElfFile64::<Endianness>::parse(image).map_err(|error| error.to_string())?;
    let (header, endian, data) = (file.elf_header(), file.endian(), file.data());
    let sections = header.sections(endian, data).map_err(|error| error.to_string())?;
    for section in sections.iter() {
        let notes = section.notes(endian, data).map_err(|error| error.to_string())?;
        let Some(mut notes) = notes else { continue };
        while let Some(note) = notes.next().map_err(|error| error.to_string())? {
            if note.name() == b"AMDGPU" && note.n_type(endian).0 == NT_AMDGPU_METADATA {
                return parse_metadata(note.desc());
            }
        }
    }
    Err("no AMDGPU metadata".to_owned())
}

/// Bytes of machine code in a code object.
///
/// On failure, says what is wrong with the image.
pub(crate) fn code_bytes(image: &[u8]) -> Result<u64, String> {
    let file = ElfFile64::<Endianness>::parse(image).map_err(|error| error.to_string())?;
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    Ok(code.map(|section| section.size()).sum())
}

/// Parses the message pack document in the metadata note.
fn parse_metadata(mut document: &[u8]) -> Result<Vec<Metadata>, String> {
    let root = rmpv::decode::read_value(&mut document).map_err(|error| error.to_string())?;
    let kernels = get(&root, "amdhsa.kernels").and_then(Value::as_array);
    let kernels = kernels.ok_or("metadata without amdhsa.kernels")?;
    kernels.iter().map(parse_kernel).collect()
}

fn parse_kernel(kernel: &Value) -> Result<Metadata, String> {
    let missing = |key: &str| format!("kernel metadata without {key}");
    let name = get(kernel, ".name").and_then(Value::as_str).ok_or_else(|| missing(".name"))?;
    let required = |key: &str| number(kernel, key).ok_or_else(|| missing(key));
    let optional = |key: &str| number(kernel, key).unwrap_or(0);
    let mut args = Vec::new();
    for arg in get(kernel, ".args").and_then(Value::as_array).into_iter().flatten() {
        let number = |key: &str| number(arg, key).ok_or_else(|| missing(key));
        let kind = get(arg, ".value_kind").and_then(Value::as_str);
        let value_kind = kind.ok_or_else(|| missing(".value_kind"))?.to_owned();
        // The compiler adds arguments that the runtime fills.
        if !value_kind.starts_with("hidden_") {
            args.push(Arg { offset: number(".offset")?, size: number(".size")?, value_kind });
        }
    }
    Ok(Metadata {
        name: name.to_owned(),
        group_segment_fixed_size: required(".group_segment_fixed_size")?,
        private_segment_fixed_size: required(".private_segment_fixed_size")?,
        max_flat_workgroup_size: required(".max_flat_workgroup_size")?,
        vgpr_count: required(".vgpr_count")?,
        agpr_count: optional(".agpr_count"),
        sgpr_count: required(".sgpr_count")?,
        vgpr_spill_count: optional(".vgpr_spill_count"),
        sgpr_spill_count: optional(".sgpr_spill_count"),
        uses_dynamic_stack: get(kernel, ".uses_dynamic_stack")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        args,
    })
}

/// The number of a key in a map. All that are read here are 32 bits wide on the hardware.
fn number(map: &Value, key: &str) -> Option<u64> {
    get(map, key)?.as_u64().filter(|number| u32::try_from(*number).is_ok())
}

/// The value of a key in a map.
fn get<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    map.as_map()?.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
}

/// Waves of the kernel that fit on one SIMD: by registers, by LDS, and by the wave slots.
pub(crate) fn waves_per_simd(arch: Arch, vgprs: u64, lds: u64, threads: u64) -> u64 {
    let lds_bytes = u64::from(arch.lds_bytes());
    let granule = u64::from(arch.vgpr_granule());
    let by_vgprs = u64::from(arch.vgprs_per_simd()) / vgprs.max(1).next_multiple_of(granule);
    let waves = threads.div_ceil(arch.wave_size().into()).max(1);
    let by_lds = match lds {
        0 => u64::MAX,
        lds => {
            (lds_bytes / lds.next_multiple_of(arch.lds_granule().into())).saturating_mul(waves)
                / u64::from(arch.simds())
        }
    };
    // A workgroup that is smaller than the SIMDs are many still puts a wave on one of them.
    let by_lds = if by_lds == 0 && lds <= lds_bytes { 1 } else { by_lds };
    by_vgprs.min(by_lds).min(arch.waves_per_simd().into())
}

/// The limits that a compiled unit exceeds.
pub(crate) fn check(unit: &Unit, kernel: &Metadata, layout: &Layout) -> Vec<Violation> {
    let arch = unit.arch;
    let Budget { max_vgprs, min_waves_per_simd, allow_spills, allow_scratch } = unit.budget;
    let threads = u64::from(unit.threads);
    let (fixed, dynamic) = (kernel.group_segment_fixed_size, u64::from(unit.dynamic_lds));
    let lds = fixed + dynamic;
    let mut found = Vec::new();
    let mut demand = |holds: bool, what: &'static str, figure: u64, limit: u64, note: String| {
        if !holds {
            found.push(violation(unit, what, figure, limit, note));
        }
    };
    let mut at_most = |what, figure: u64, limit: u64, note: String| {
        demand(figure <= limit, what, figure, limit, note);
    };

    let note = format!("{fixed} static and {dynamic} dynamic");
    at_most("bytes of LDS", lds, arch.lds_bytes().into(), note);
    if !allow_spills {
        let note = || "`allow_spills = true` in the tile permits them".to_owned();
        at_most("VGPR spills", kernel.vgpr_spill_count, 0, note());
        at_most("SGPR spills", kernel.sgpr_spill_count, 0, note());
    }
    // Spilled vector registers lie in scratch, so whoever permits the one permits the other.
    if !(allow_scratch || allow_spills && kernel.vgpr_spill_count > 0) {
        let note = || "`allow_scratch = true` in the tile permits it".to_owned();
        let scratch = kernel.private_segment_fixed_size;
        at_most("bytes of scratch per work-item", scratch, 0, note());
        at_most("dynamic stack", u64::from(kernel.uses_dynamic_stack), 0, note());
    }
    if let Some(limit) = max_vgprs {
        let note = "`max_vgprs` of the tile".to_owned();
        at_most("VGPRs", kernel.vgpr_count, limit.into(), note);
    }
    // All waves of a workgroup have to be on the compute unit at once.
    let waves = threads.div_ceil((arch.wave_size() * arch.simds()).into()).max(1);
    let granule = u64::from(arch.vgpr_granule());
    let limit = u64::from(arch.vgprs_per_simd()) / waves / granule * granule;
    let note = format!("a workgroup of {threads} puts {waves} waves on a SIMD");
    at_most("VGPRs", kernel.vgpr_count, limit, note);
    at_most("work-items of a workgroup", threads, arch.max_workgroup().into(), String::new());

    if kernel.max_flat_workgroup_size != threads {
        let note = "the compiled workgroup size is not the tile's `threads`".to_owned();
        let size = kernel.max_flat_workgroup_size;
        demand(false, "work-items of a workgroup", size, threads, note);
    }
    if let Some(limit) = min_waves_per_simd {
        let got = waves_per_simd(arch, kernel.vgpr_count, lds, threads);
        let note = format!(
            "`min_waves_per_simd` of the tile; {} VGPRs, {lds} bytes of LDS",
            kernel.vgpr_count
        );
        demand(got >= u64::from(limit), "waves per SIMD", got, limit.into(), note);
    }
    match kernel.args.as_slice() {
        [Arg { offset: 0, size, value_kind }] if value_kind == "by_value" => {
            let note = format!("the size of `{}`", layout.name);
            demand(*size == layout.size, "bytes of arguments", *size, layout.size, note);
        }
        args => {
            let size = args.iter().map(|arg| arg.offset + arg.size).max().unwrap_or(0);
            let note = format!("the kernel has to take `{}` alone, by value", layout.name);
            demand(false, "bytes of arguments", size, layout.size, note);
        }
    }
    found
}

/// What can be told before compiling, where the compiler would refuse the unit with a message that
/// does not name the tile.
pub(crate) fn check_plan(unit: &Unit) -> Vec<Violation> {
    let (threads, limit) = (u64::from(unit.threads), u64::from(unit.arch.max_workgroup()));
    let too_many = threads > limit;
    let what = "work-items of a workgroup";
    too_many.then(|| violation(unit, what, threads, limit, String::new())).into_iter().collect()
}

/// The violation that the compiler's messages report: it stops by itself at too much static LDS.
pub(crate) fn from_messages(unit: &Unit, messages: &str) -> Option<Violation> {
    let (_, rest) = messages.split_once("error: local memory (")?;
    let (figure, rest) = rest.split_once(") exceeds limit (")?;
    let (limit, _) = rest.split_once(')')?;
    let note = format!("{figure} static and {} dynamic", unit.dynamic_lds);
    let (figure, limit) = (figure.parse().ok()?, limit.parse().ok()?);
    let figure = u64::saturating_add(figure, unit.dynamic_lds.into());
    Some(violation(unit, "bytes of LDS", figure, limit, note))
}

fn violation(unit: &Unit, what: &'static str, figure: u64, limit: u64, note: String) -> Violation {
    Violation { place: unit.to_string(), arch: unit.arch, what, figure, limit, note }
}

/// The limits that a core's instantiations together exceed, given their machine code in bytes.
pub(crate) fn check_core(core: &Core, objects: u64, code_bytes: u64) -> Vec<Violation> {
    let CoreBudget { objects: most_objects, code_bytes: most_bytes } = core.budget;
    let figures = [
        ("objects", "objects", objects, most_objects),
        ("bytes of machine code", "code_bytes", code_bytes, most_bytes),
    ];
    let over = figures.into_iter().filter(|(_, _, figure, limit)| figure > limit);
    over.map(|(what, key, figure, limit)| {
        let (name, over) = (&core.name, figure - limit);
        let note = format!("{over} more than `{key}` of `budget` in tiles/{name}.toml");
        Violation { place: format!("core `{name}`"), arch: core.arch, what, figure, limit, note }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    fn unit(extra: &str) -> Unit {
        let text = format!(
            "budget = {{ objects = 1, code_bytes = 100 }}\n[[kernel]]\nargs = \"A\"\n\
             [[kernel.tile]]\nname = \"t\"\n{extra}\n"
        );
        plan::parse("f", &text, &plan::Lists::new(), Arch::Gfx942).unwrap().units.remove(0)
    }

    fn fine() -> Metadata {
        Metadata {
            name: "hk_f_t".to_owned(),
            max_flat_workgroup_size: 512,
            vgpr_count: 256,
            args: vec![Arg { offset: 0, size: 24, value_kind: "by_value".to_owned() }],
            ..Metadata::default()
        }
    }

    fn messages(extra: &str, change: impl FnOnce(&mut Metadata)) -> Vec<String> {
        let mut kernel = fine();
        change(&mut kernel);
        let layout = Layout { name: "A".to_owned(), size: 24, fields: vec![] };
        let unit = unit(&format!("threads = 512\n{extra}"));
        let at = "kernel `f`, tile `t`, gfx942: ";
        let text = |v: Violation| v.to_string().strip_prefix(at).unwrap().to_owned();
        check(&unit, &kernel, &layout).into_iter().map(text).collect()
    }

    #[test]
    fn a_kernel_inside_its_budget_passes() {
        assert_eq!(messages("dynamic_lds = 65536", |_| {}), Vec::<String>::new());
    }

    #[test]
    fn every_figure_above_its_limit_is_reported() {
        let one = |extra: &str, change: fn(&mut Metadata)| {
            let mut all = messages(extra, change);
            assert_eq!(all.len(), 1, "{all:?}");
            all.remove(0)
        };
        assert_eq!(
            one("dynamic_lds = 65000", |k| k.group_segment_fixed_size = 537),
            "bytes of LDS: 65537, limit 65536 (537 static and 65000 dynamic)"
        );
        let permits = "`allow_spills = true` in the tile permits them";
        assert_eq!(
            one("", |k| k.vgpr_spill_count = 3),
            format!("VGPR spills: 3, limit 0 ({permits})")
        );
        assert_eq!(
            one("", |k| k.sgpr_spill_count = 1),
            format!("SGPR spills: 1, limit 0 ({permits})")
        );
        let permits = "`allow_scratch = true` in the tile permits it";
        assert_eq!(
            one("", |k| k.private_segment_fixed_size = 16),
            format!("bytes of scratch per work-item: 16, limit 0 ({permits})")
        );
        assert_eq!(
            one("", |k| k.uses_dynamic_stack = true),
            format!("dynamic stack: 1, limit 0 ({permits})")
        );
        assert_eq!(
            one("max_vgprs = 128", |k| k.vgpr_count = 129),
            "VGPRs: 129, limit 128 (`max_vgprs` of the tile)"
        );
        assert_eq!(
            one("", |k| k.vgpr_count = 257),
            "VGPRs: 257, limit 256 (a workgroup of 512 puts 2 waves on a SIMD)"
        );
        assert_eq!(
            one("", |k| k.max_flat_workgroup_size = 256),
            "work-items of a workgroup: 256, limit 512 \
             (the compiled workgroup size is not the tile's `threads`)"
        );
        assert_eq!(
            one("min_waves_per_simd = 3", |_| {}),
            "waves per SIMD: 2, limit 3 \
             (`min_waves_per_simd` of the tile; 256 VGPRs, 0 bytes of LDS)"
        );
        assert_eq!(
            one("", |k| k.args[0].size = 32),
            "bytes of arguments: 32, limit 24 (the size of `A`)"
        );
        assert_eq!(
            one("", |k| k.args.push(Arg { offset: 24, size: 8, value_kind: "by_value".into() })),
            "bytes of arguments: 32, limit 24 (the kernel has to take `A` alone, by value)"
        );
    }

    #[test]
    fn a_core_has_a_budget_of_its_own() {
        let core = Core {
            name: "f".to_owned(),
            arch: Arch::Gfx950,
            budget: CoreBudget { objects: 2, code_bytes: 1000 },
            units: vec![],
        };
        assert_eq!(check_core(&core, 2, 1000), []);
        let found: Vec<_> = check_core(&core, 5, 1001).iter().map(ToString::to_string).collect();
        let want = [
            "core `f`, gfx950: objects: 5, limit 2 (3 more than `objects` of `budget` in \
             tiles/f.toml)",
            "core `f`, gfx950: bytes of machine code: 1001, limit 1000 (1 more than `code_bytes` of \
             `budget` in tiles/f.toml)",
        ];
        assert_eq!(found, want);
    }

    #[test]
    fn permissions_are_honoured() {
        let spilled = |k: &mut Metadata| {
            (k.vgpr_spill_count, k.private_segment_fixed_size) = (4, 16);
        };
        assert_eq!(messages("allow_spills = true", spilled), Vec::<String>::new());
        let scratch = |k: &mut Metadata| k.private_segment_fixed_size = 16;
        assert_eq!(messages("allow_scratch = true", scratch), Vec::<String>::new());
        assert_eq!(messages("allow_spills = true", scratch).len(), 1);
    }

    #[test]
    fn a_workgroup_above_1024_is_refused_before_compiling() {
        assert_eq!(check_plan(&unit("threads = 1024")), []);
        let [violation] = check_plan(&unit("threads = 1088")).try_into().unwrap();
        let want = "kernel `f`, tile `t`, gfx942: work-items of a workgroup: 1088, limit 1024";
        assert_eq!(violation.to_string(), want);
    }

    #[test]
    fn occupancy_is_the_tightest_of_registers_lds_and_slots() {
        let waves = |vgprs, lds, threads| waves_per_simd(Arch::Gfx942, vgprs, lds, threads);
        for (vgprs, want) in [(0, 8), (64, 8), (65, 7), (128, 4), (129, 3), (256, 2), (512, 1)] {
            assert_eq!(waves(vgprs, 0, 256), want, "{vgprs}");
        }
        assert_eq!(waves(0, 65_536, 256), 1);
        assert_eq!(waves(0, 32_768, 256), 2);
        assert_eq!(waves(0, 32_769, 256), 1);
        assert_eq!(waves(0, 65_536, 64), 1);
        // 32,256 bytes take 26 granules of 1,280 bytes on gfx950, so only 4 workgroups fit.
        assert_eq!(waves_per_simd(Arch::Gfx950, 0, 32_256, 256), 4);
    }

    #[test]
    fn the_compilers_own_lds_error_becomes_a_violation() {
        let unit = unit("threads = 64\ndynamic_lds = 8");
        let text = "m.hip:7:78: error: local memory (80000) exceeds limit (65536) in 'k'\n";
        let violation = from_messages(&unit, text).unwrap();
        assert_eq!((violation.figure, violation.limit), (80_008, 65_536));
        assert_eq!(from_messages(&unit, "error: something else"), None);
    }

    #[test]
    fn malformed_images_are_errors() {
        assert!(read_metadata(b"").is_err());
        assert!(read_metadata(b"\x7fELF").is_err());
        for document in [&[0xc0][..], &[0x81, 0xa1, b'x', 0x01], &[0xdf, 0xff], &[]] {
            assert!(parse_metadata(document).is_err(), "{document:?}");
        }
    }
}
