//! Tile configurations: what `tiles/*.toml` says, and the kernel instantiations that follow.
//!
//! Nothing here reads or writes files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use hk_types::{Arch, Range};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// What a tile file says for one architecture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Core {
    pub(crate) name: String,
    pub(crate) arch: Arch,
    pub(crate) budget: CoreBudget,
    pub(crate) units: Vec<Unit>,
}

/// What all instantiations of a core together may be, for one architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CoreBudget {
    pub(crate) objects: u64,
    pub(crate) code_bytes: u64,
}

/// One kernel in one tile configuration: a translation unit to compile.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unit {
    pub(crate) arch: Arch,
    pub(crate) core: String,
    pub(crate) variant: String,
    pub(crate) tile: String,
    /// The kernel's name in the code object.
    pub(crate) symbol: String,
    /// The device function template that is instantiated.
    pub(crate) entry: String,
    /// The argument struct in C++.
    pub(crate) args: String,
    /// The path of its Rust twin.
    pub(crate) rust_args: String,
    pub(crate) dims: Vec<String>,
    pub(crate) params: BTreeMap<String, Param>,
    /// Parameters that the device does not know.
    pub(crate) host: BTreeMap<String, Param>,
    pub(crate) threads: u32,
    pub(crate) dynamic_lds: u32,
    pub(crate) budget: Budget,
    pub(crate) when: BTreeMap<String, Range>,
}

/// What a tile configuration may occupy, besides what the hardware limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) max_vgprs: Option<u32>,
    pub(crate) min_waves_per_simd: Option<u32>,
    pub(crate) allow_spills: bool,
    pub(crate) allow_scratch: bool,
}

/// A parameter of a kernel template.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Param {
    Bool(bool),
    Int(i64),
    Type(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    budget: CoreBudget,
    #[serde(default)]
    kernel: Vec<Kernel>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    #[serde(default)]
    variant: String,
    #[serde(default)]
    variants: Vec<Variant>,
    entry: Option<String>,
    args: String,
    rust_args: Option<String>,
    #[serde(default)]
    dims: Vec<String>,
    #[serde(default)]
    choose: Choose,
    #[serde(default)]
    params: BTreeMap<String, Param>,
    threads: Option<u32>,
    #[serde(default)]
    tile: Vec<Tile>,
    /// The list from which it has what it does not say itself.
    list: Option<String>,
    /// The tiles that it takes of the list, if not all.
    take: Option<Vec<String>>,
}

/// What kernels of several cores share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    #[serde(default)]
    dims: Vec<String>,
    #[serde(default)]
    params: BTreeMap<String, Param>,
    threads: Option<u32>,
    tile: Vec<Tile>,
}

/// Lists by their names.
pub(crate) type Lists = BTreeMap<String, List>;

/// Which of the tiles that serve a problem the host takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Choose {
    /// The first.
    #[default]
    First,
    /// The one that the kernel crate finds best.
    Best,
}

/// One of several variants that share everything else, tiles included.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    name: String,
    #[serde(default)]
    params: BTreeMap<String, Param>,
}

impl Kernel {
    /// Completes the kernel by what its list says.
    fn complete(&mut self, lists: &Lists) -> Result<(), String> {
        let Some(name) = &self.list else {
            return match self.take {
                Some(_) => Err("has `take`, but no `list`".to_owned()),
                None => Ok(()),
            };
        };
        let list = lists.get(name).ok_or_else(|| format!("there is no list `{name}`"))?;
        if !self.tile.is_empty() {
            return Err("has both `list` and tiles of its own".to_owned());
        }
        let mut params = list.params.clone();
        params.append(&mut self.params);
        self.params = params;
        self.threads = self.threads.or(list.threads);
        if self.dims.is_empty() {
            self.dims.clone_from(&list.dims);
        }
        self.tile.clone_from(&list.tile);
        if let Some(take) = &self.take {
            if let Some(unknown) = take.iter().find(|name| !list.has(name)) {
                return Err(format!("the list `{name}` has no tile `{unknown}`"));
            }
            self.tile.retain(|tile| take.contains(&tile.name));
        }
        Ok(())
    }

    /// The kernel once for each of its variants.
    fn per_variant(mut self, core: &str) -> Result<Vec<Self>, String> {
        let variants = std::mem::take(&mut self.variants);
        if variants.is_empty() {
            return match self.tile.iter().find(|tile| tile.variants.is_some()) {
                Some(tile) => {
                    Err(format!("tile `{}` of `{core}`: the kernel has no `variants`", tile.name))
                }
                None => Ok(vec![self]),
            };
        }
        if !self.variant.is_empty() {
            let name = display_name(core, &self.variant);
            return Err(format!("kernel `{name}`: has both `variant` and `variants`"));
        }
        let known = |name: &String| variants.iter().any(|variant| variant.name == *name);
        for tile in &self.tile {
            if let Some(name) = tile.variants.iter().flatten().find(|name| !known(name)) {
                let tile = &tile.name;
                return Err(format!("tile `{tile}` of `{core}`: there is no variant `{name}`"));
            }
        }
        let one = |Variant { name, params }: &Variant| {
            let mut kernel = Self { variant: name.clone(), ..self.clone() };
            kernel.params.extend(params.clone());
            kernel.tile.retain(|tile| tile.variants.as_ref().is_none_or(|of| of.contains(name)));
            kernel
        };
        Ok(variants.iter().map(one).collect())
    }
}

impl List {
    fn has(&self, tile: &str) -> bool {
        self.tile.iter().any(|of| of.name == tile)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tile {
    name: String,
    /// The variants that have it, if not all.
    variants: Option<Vec<String>>,
    #[serde(default)]
    params: BTreeMap<String, Param>,
    #[serde(default)]
    host: BTreeMap<String, Param>,
    threads: Option<u32>,
    #[serde(default)]
    dynamic_lds: u32,
    max_vgprs: Option<u32>,
    min_waves_per_simd: Option<u32>,
    #[serde(default)]
    allow_spills: bool,
    #[serde(default)]
    allow_scratch: bool,
    #[serde(default)]
    when: BTreeMap<String, Range>,
}

/// Names that the generated struct gives to every kernel, so that `params` cannot.
const RESERVED: [&str; 2] = ["threads", "dynamic_lds"];

/// What a text says for `arch`.
fn read<T: DeserializeOwned>(text: &str, arch: Arch) -> Result<T, String> {
    let clean = |error: toml::de::Error| error.to_string().trim_end().to_owned();
    let mut table: Table = toml::from_str(text).map_err(clean)?;
    settle(&mut table, arch)?;
    table.try_into().map_err(clean)
}

/// The lists of a text, for `arch`.
///
/// On failure, says what is wrong and where.
pub(crate) fn parse_lists(text: &str, arch: Arch) -> Result<Lists, String> {
    read(text, arch)
}

/// What the text of the tile file of `core` says for `arch`, with the units in the file's order.
///
/// On failure, says what is wrong and where.
pub(crate) fn parse(core: &str, text: &str, lists: &Lists, arch: Arch) -> Result<Core, String> {
    let file: File = read(text, arch)?;
    check_name("core", core)?;
    let mut units: Vec<Unit> = Vec::new();
    let mut names = BTreeSet::new();
    for mut kernel in file.kernel {
        kernel.complete(lists).map_err(|problem| format!("a kernel of `{core}`: {problem}"))?;
        for kernel in kernel.per_variant(core)? {
            let name = display_name(core, &kernel.variant);
            let at = |problem: String| format!("kernel `{name}`: {problem}");
            if !names.insert(kernel.variant.clone()) {
                return Err(at("is listed twice".to_owned()));
            }
            units.extend(kernel_units(core, kernel, arch).map_err(at)?);
        }
    }
    Ok(Core { name: core.to_owned(), arch, budget: file.budget, units })
}

/// Two of an architecture's kernels whose symbols are the same: `a` in the variant `b_c` would be
/// called as `a_b` in the variant `c` is.
pub(crate) fn check_symbols<'u>(units: impl IntoIterator<Item = &'u Unit>) -> Result<(), String> {
    let mut symbols = BTreeSet::new();
    match units.into_iter().find(|unit| !symbols.insert((unit.arch, &unit.symbol))) {
        Some(unit) => Err(format!("{unit}: another kernel has the symbol `{}`", unit.symbol)),
        None => Ok(()),
    }
}

/// Leaves what holds for `arch`: in any table, what the table of the architecture's name in it says
/// goes before the rest; of an array's tables, those whose `only` is another's name are left out.
fn settle(table: &mut Table, arch: Arch) -> Result<(), String> {
    for other in Arch::ALL {
        match table.remove(other.feature()) {
            Some(Value::Table(own)) if other == arch => lay_over(table, own),
            Some(Value::Table(_)) | None => {}
            Some(_) => return Err(format!("`{}` has to be a table", other.feature())),
        }
    }
    for (_, value) in table.iter_mut() {
        match value {
            Value::Table(table) => settle(table, arch)?,
            Value::Array(items) => {
                let mut kept = Vec::new();
                for mut item in std::mem::take(items) {
                    if let Value::Table(table) = &mut item {
                        let only = table.remove("only");
                        if only.map(chip).transpose()?.is_some_and(|only| only != arch) {
                            continue;
                        }
                        settle(table, arch)?;
                    }
                    kept.push(item);
                }
                *items = kept;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Puts what `own` has into `table`, tables key by key.
fn lay_over(table: &mut Table, own: Table) {
    for (key, value) in own {
        match (table.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay_over(below, above),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

/// The architecture that `only` names.
fn chip(name: Value) -> Result<Arch, String> {
    let named = |arch: &Arch| name.as_str() == Some(arch.feature());
    let known = || Arch::ALL.map(Arch::feature).join(", ");
    Arch::ALL.into_iter().find(named).ok_or_else(|| format!("`only` is {name}, not of {}", known()))
}

fn kernel_units(core: &str, kernel: Kernel, arch: Arch) -> Result<Vec<Unit>, String> {
    let Kernel { variant, entry, args, rust_args, dims, choose, params, threads, .. } = kernel;
    let tiles = kernel.tile;
    if !variant.is_empty() {
        check_name("variant", &variant)?;
    }
    let entry = entry.unwrap_or_else(|| core.to_owned());
    for path in [Some(&entry), Some(&args), rust_args.as_ref()].into_iter().flatten() {
        path.split("::").try_for_each(|part| check_name("name", part))?;
    }
    let name = args.rsplit("::").next().unwrap_or(&args);
    let rust_args = rust_args.unwrap_or_else(|| format!("crate::{core}::{name}"));
    if tiles.is_empty() {
        return Err("has no tile".to_owned());
    }
    let mut units: Vec<Unit> = Vec::new();
    for tile in tiles {
        let at = |problem: String| format!("tile `{}`: {problem}", tile.name);
        check_name("name", &tile.name).map_err(at)?;
        if choose == Choose::First
            && let Some(earlier) = units.iter().find(|unit| unit.when.is_empty())
        {
            let earlier = &earlier.tile;
            return Err(at(format!("is never chosen, since tile `{earlier}` serves everything")));
        }
        if units.iter().any(|unit| unit.tile == tile.name) {
            return Err(at("is listed twice".to_owned()));
        }
        for (dim, range) in &tile.when {
            if !dims.contains(dim) {
                return Err(at(format!("`when` has `{dim}`, which `dims` does not list")));
            }
            if range.min > range.max || range.multiple_of == 0 {
                return Err(at(format!("`when` has no value for `{dim}`")));
            }
        }
        let threads = tile.threads.or(threads).ok_or_else(|| at("needs `threads`".to_owned()))?;
        if threads == 0 || !threads.is_multiple_of(arch.wave_size()) {
            let wave = arch.wave_size();
            return Err(at(format!("`threads` is {threads}, not a multiple of {wave}")));
        }
        let mut all = params.clone();
        all.extend(tile.params.clone());
        for (param, value) in &all {
            check_param(param, value).map_err(at)?;
        }
        for (param, value) in &tile.host {
            check_param(param, value).map_err(at)?;
            if all.contains_key(param) {
                return Err(at(format!("parameter `{param}` is in both `params` and `host`")));
            }
        }
        let parts = ["hk", core, &variant, &tile.name];
        let symbol = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        units.push(Unit {
            arch,
            core: core.to_owned(),
            variant: variant.clone(),
            symbol: symbol.join("_"),
            tile: tile.name,
            entry: entry.clone(),
            args: args.clone(),
            rust_args: rust_args.clone(),
            dims: dims.clone(),
            params: all,
            host: tile.host,
            threads,
            dynamic_lds: tile.dynamic_lds,
            budget: Budget {
                max_vgprs: tile.max_vgprs,
                min_waves_per_simd: tile.min_waves_per_simd,
                allow_spills: tile.allow_spills,
                allow_scratch: tile.allow_scratch,
            },
            when: tile.when,
        });
    }
    Ok(units)
}

/// Names end up in symbols and in generated code, so they have to be identifiers.
fn check_name(what: &str, name: &str) -> Result<(), String> {
    let letters = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // A tile may be called `256x256`, so only an empty name is wrong besides.
    if letters && !name.is_empty() {
        return Ok(());
    }
    Err(format!("{what} `{name}` has to consist of letters, digits and underscores"))
}

fn check_param(name: &str, value: &Param) -> Result<(), String> {
    check_name("parameter", name)?;
    if name.starts_with(|c: char| c.is_ascii_digit()) || RESERVED.contains(&name) {
        return Err(format!("parameter `{name}` needs another name"));
    }
    // What is written into a `using` declaration must not end it.
    match value {
        Param::Type(text) if text.trim().is_empty() || text.contains([';', '{', '}', '\n']) => {
            Err(format!("parameter `{name}` is not a C++ type: `{text}`"))
        }
        _ => Ok(()),
    }
}

impl Unit {
    /// The name of the kernel in messages: core and variant.
    pub(crate) fn kernel(&self) -> String {
        display_name(&self.core, &self.variant)
    }

    /// The last part of the argument struct's name, which its Rust twin also has.
    pub(crate) fn args_name(&self) -> &str {
        self.args.rsplit("::").next().unwrap_or(&self.args)
    }

    /// Whether both have the same argument struct, laid out for the same architecture.
    pub(crate) fn shares_args(&self, other: &Self) -> bool {
        (self.arch, &self.core, &self.args) == (other.arch, &other.core, &other.args)
    }

    /// The translation unit: the core's source, the parameters as a struct, and the kernel.
    pub(crate) fn source(&self) -> String {
        let Self { arch, core, entry, args, threads, symbol, .. } = self;
        let mut text = format!("// {self}, {arch}. Generated from tiles/{core}.toml.\n");
        let mut line = |args: fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = text.write_fmt(args);
            text.push('\n');
        };
        line(format_args!("#include \"{core}.hip\""));
        line(format_args!("struct hk_tile {{"));
        line(format_args!("    static constexpr int threads = {threads};"));
        line(format_args!("    static constexpr int dynamic_lds = {};", self.dynamic_lds));
        for (name, value) in &self.params {
            match value {
                Param::Type(value) => line(format_args!("    using {name} = {value};")),
                Param::Bool(value) => {
                    line(format_args!("    static constexpr bool {name} = {value};"));
                }
                Param::Int(value) => {
                    let ty = if i32::try_from(*value).is_ok() { "int" } else { "long" };
                    line(format_args!("    static constexpr {ty} {name} = {value};"));
                }
            }
        }
        line(format_args!("}};"));
        let waves = self.budget.min_waves_per_simd.unwrap_or(0);
        line(format_args!(
            "extern \"C\" HK_KERNEL({threads}, {waves})\nvoid {symbol}({args} args) {{\n    \
             {entry}<hk_tile>(args);\n}}"
        ));
        text
    }

    /// A translation unit in which the argument struct is complete, to see its layout.
    pub(crate) fn layout_source(&self) -> String {
        let Self { core, args, .. } = self;
        // Taking the size makes clang lay the struct out even if nothing else does.
        format!("#include \"{core}.hip\"\nstatic_assert(sizeof({args}) != 0);\n")
    }
}

/// As messages name it: kernel and tile configuration.
impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`, tile `{}`", self.kernel(), self.tile)
    }
}

fn display_name(core: &str, variant: &str) -> String {
    if variant.is_empty() { core.to_owned() } else { format!("{core} {variant}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        budget = { objects = 2, code_bytes = 1000 }

        [[kernel]]
        variant = "bf16"
        args = "hk::RmsnormArgs"
        dims = ["n"]
        params = { T = "hk::bf16", VEC = 8 }
        threads = 256

        [[kernel.tile]]
        name = "n4096"
        params = { VEC = 16, EXACT = true }
        dynamic_lds = 1024
        min_waves_per_simd = 4
        when = { n = { max = 4096, multiple_of = 8 } }

        [[kernel.tile]]
        name = "any"
        threads = 512
        allow_spills = true
    "#;

    fn units(text: &str, arch: Arch) -> Result<Vec<Unit>, String> {
        parse("rmsnorm", text, &Lists::new(), arch).map(|core| core.units)
    }

    #[test]
    fn a_file_gives_one_unit_per_tile() {
        let units = units(FILE, Arch::Gfx950).unwrap();
        let [first, second] = units.as_slice() else { panic!("{units:?}") };
        assert_eq!(first.symbol, "hk_rmsnorm_bf16_n4096");
        assert_eq!((first.threads, second.threads), (256, 512));
        assert_eq!(first.when["n"], Range { min: 0, max: 4096, multiple_of: 8 });
        assert_eq!(first.params["VEC"], Param::Int(16));
        assert_eq!(second.params["VEC"], Param::Int(8));
        assert!(second.budget.allow_spills && !first.budget.allow_spills);
        assert_eq!((first.args_name(), first.entry.as_str()), ("RmsnormArgs", "rmsnorm"));
    }

    #[test]
    fn the_translation_unit_instantiates_the_template() {
        let units = units(FILE, Arch::Gfx950).unwrap();
        let want = "\
// kernel `rmsnorm bf16`, tile `n4096`, gfx950. Generated from tiles/rmsnorm.toml.
#include \"rmsnorm.hip\"
struct hk_tile {
    static constexpr int threads = 256;
    static constexpr int dynamic_lds = 1024;
    static constexpr bool EXACT = true;
    using T = hk::bf16;
    static constexpr int VEC = 16;
};
extern \"C\" HK_KERNEL(256, 4)
void hk_rmsnorm_bf16_n4096(hk::RmsnormArgs args) {
    rmsnorm<hk_tile>(args);
}
";
        assert_eq!(units[0].source(), want);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let cases = [
            ("variant = \"bf16\"", "variant = \"bf-16\"", "variant `bf-16` has to consist"),
            ("budget =", "#", "missing field `budget`"),
            ("objects = 2", "objets = 2", "unknown field `objets`"),
            ("EXACT = true }", "EXACT = true }\nhost = { VEC = 1 }", "in both `params` and `host`"),
            ("threads = 512", "cdna3 = 512", "`cdna3` has to be a table"),
            ("threads = 512", "only = \"cdna5\"", "`only` is \"cdna5\", not of cdna3, cdna4"),
            ("threads = 512", "variants = [\"f64\"]", "has no `variants`"),
            ("args =", "arg =", "unknown field `arg`"),
            ("name = \"any\"", "name = \"n4096\"", "tile `n4096`: is listed twice"),
            ("dims = [\"n\"]", "dims = [\"m\"]", "`when` has `n`, which `dims` does not list"),
            ("max = 4096", "min = 5, max = 4", "`when` has no value for `n`"),
            ("max = 4096", "maximum = 4096", "unknown field `maximum`"),
            ("multiple_of = 8", "multiple_of = 0", "`when` has no value for `n`"),
            (
                "threads = 512",
                "threads = 100",
                "tile `any`: `threads` is 100, not a multiple of 64",
            ),
            ("EXACT", "threads", "parameter `threads` needs another name"),
            ("EXACT", "2X", "parameter `2X` needs another name"),
            ("hk::bf16", "int; int x", "parameter `T` is not a C++ type"),
            ("        threads = 256\n", "", "tile `n4096`: needs `threads`"),
            ("allow_spills = true", "dynamic_lds = -1", "invalid value"),
            ("when = {", "when = {} #", "tile `any`: is never chosen, since tile `n4096` serves"),
        ];
        for (from, to, want) in cases {
            assert!(FILE.contains(from), "{from}");
            let error = units(&FILE.replacen(from, to, 1), Arch::Gfx942).unwrap_err();
            assert!(error.contains(want), "{to}: {error}");
        }
        let kernel = &FILE[FILE.find("[[kernel]]").unwrap()..];
        let twice = units(&[FILE, kernel].concat(), Arch::Gfx942).unwrap_err();
        assert_eq!(twice, "kernel `rmsnorm bf16`: is listed twice");
        assert!(
            parse("rms-norm", FILE, &Lists::new(), Arch::Gfx942)
                .unwrap_err()
                .contains("core `rms-norm` has to")
        );
    }

    #[test]
    fn no_two_kernels_have_one_symbol() {
        let other = FILE.replace("variant = \"bf16\"", "");
        let mut both = units(FILE, Arch::Gfx942).unwrap();
        both.extend(parse("rmsnorm_bf16", &other, &Lists::new(), Arch::Gfx950).unwrap().units);
        assert_eq!(check_symbols(&both), Ok(()));
        both.extend(parse("rmsnorm_bf16", &other, &Lists::new(), Arch::Gfx942).unwrap().units);
        let clash = check_symbols(&both).unwrap_err();
        assert!(clash.contains("another kernel has the symbol `hk_rmsnorm_bf16_n4096`"), "{clash}");
    }

    #[test]
    fn what_differs_between_chips_is_laid_over_what_they_share() {
        let file = FILE.replace(
            "dynamic_lds = 1024",
            "host = { RATE = 5 }\ncdna4 = { name = \"n9\", params = { VEC = 4, NEW = 1 } }\n\
             cdna3 = { host = { RATE = 6 }, threads = 64 }",
        );
        let file = file.replace("allow_spills = true", "only = \"cdna4\"");
        let file = file.replace("objects = 2", "objects = 2, cdna3 = { objects = 1 }");
        let [cdna3, cdna4] =
            Arch::ALL.map(|arch| parse("rmsnorm", &file, &Lists::new(), arch).unwrap());
        assert_eq!((cdna3.budget.objects, cdna4.budget.objects), (1, 2));
        assert_eq!((cdna3.units.len(), cdna4.units.len()), (1, 2));
        let (old, new) = (&cdna3.units[0], &cdna4.units[0]);
        assert_eq!((old.tile.as_str(), new.tile.as_str()), ("n4096", "n9"));
        assert_eq!((old.threads, new.threads), (64, 256));
        assert_eq!((&old.params["VEC"], &new.params["VEC"]), (&Param::Int(16), &Param::Int(4)));
        assert!(new.params.contains_key("NEW") && new.params.contains_key("EXACT"));
        assert_eq!((&old.host["RATE"], &new.host["RATE"]), (&Param::Int(6), &Param::Int(5)));
        // The device knows nothing of what only the host uses.
        assert!(!old.source().contains("RATE") && !new.source().contains("RATE"));
    }

    #[test]
    fn variants_share_tiles() {
        let variants = r#"variants = [
            { name = "bf16", params = { T = "hk::bf16" } }, { name = "f32", params = { VEC = 4 } }]"#;
        let file = FILE.replace("variant = \"bf16\"", variants);
        let units = units(&file, Arch::Gfx942).unwrap();
        let symbols: Vec<_> = units.iter().map(|unit| unit.symbol.as_str()).collect();
        let want = ["bf16_n4096", "bf16_any", "f32_n4096", "f32_any"];
        assert_eq!(symbols, want.map(|name| format!("hk_rmsnorm_{name}")));
        assert_eq!(units[3].params["VEC"], Param::Int(4));
        // A tile's parameter goes before a variant's.
        assert_eq!(units[2].params["VEC"], Param::Int(16));

        let best = FILE.replace("threads = 256", "threads = 256\nchoose = \"best\"");
        let best = best.replace("when = {", "when = {} #");
        assert_eq!(parse("rmsnorm", &best, &Lists::new(), Arch::Gfx942).unwrap().units.len(), 2);

        // A tile may be for some of them.
        let some = file.replace("threads = 512", "threads = 512\nvariants = [\"f32\"]");
        let some = parse("rmsnorm", &some, &Lists::new(), Arch::Gfx942).unwrap().units;
        let symbols: Vec<_> = some.iter().map(|unit| unit.symbol.as_str()).collect();
        assert_eq!(
            symbols,
            ["bf16_n4096", "f32_n4096", "f32_any"].map(|n| format!("hk_rmsnorm_{n}"))
        );
        let none = file.replace("threads = 512", "threads = 512\nvariants = [\"f64\"]");
        let error = parse("rmsnorm", &none, &Lists::new(), Arch::Gfx942).unwrap_err();
        assert_eq!(error, "tile `any` of `rmsnorm`: there is no variant `f64`");

        let both = FILE.replace("variant =", "variants = [{ name = \"f16\" }]\nvariant =");
        let error = parse("rmsnorm", &both, &Lists::new(), Arch::Gfx942).unwrap_err();
        assert_eq!(error, "kernel `rmsnorm bf16`: has both `variant` and `variants`");
        let twice =
            FILE.replace("variant = \"bf16\"", r#"variants = [{ name = "a" }, { name = "a" }]"#);
        assert_eq!(
            parse("rmsnorm", &twice, &Lists::new(), Arch::Gfx942).unwrap_err(),
            "kernel `rmsnorm a`: is listed twice"
        );
    }

    #[test]
    fn a_list_gives_what_a_kernel_does_not_say() {
        let lists = r#"
            [rows]
            dims = ["n"]
            threads = 256
            params = { LANES = 64, PIECES = false }

            [[rows.tile]]
            name = "n512"
            max_vgprs = 128
            when = { n = { max = 512 } }

            [[rows.tile]]
            name = "n1024"
            params = { LANES = 128 }
            when = { n = { max = 1024 } }

            [[rows.tile]]
            name = "any"
            threads = 512
            params = { PIECES = true }
            cdna3 = { params = { LANES = 256 } }
        "#;
        let units = |kernel: &str, arch| {
            let lists = parse_lists(lists, arch).unwrap();
            let budget = "budget = { objects = 9, code_bytes = 9 }\n[[kernel]]\nargs = \"Args\"\n";
            parse("norm", &[budget, kernel].concat(), &lists, arch).map(|core| core.units)
        };
        let all = units("list = \"rows\"\nparams = { LANES = 32, T = \"float\" }", Arch::Gfx942);
        let all = all.unwrap();
        let lanes: Vec<_> = all.iter().map(|unit| &unit.params["LANES"]).collect();
        assert_eq!(lanes, [&Param::Int(32), &Param::Int(128), &Param::Int(256)]);
        assert!(all.iter().all(|unit| unit.params["T"] == Param::Type("float".into())));
        assert_eq!((all[0].threads, all[2].threads), (256, 512));
        assert_eq!(
            (all[0].dims.as_slice(), all[0].budget.max_vgprs),
            (&["n".into()][..], Some(128))
        );
        let some = units("list = \"rows\"\ntake = [\"n512\", \"any\"]", Arch::Gfx950).unwrap();
        let names: Vec<_> = some.iter().map(|unit| unit.tile.as_str()).collect();
        assert_eq!((names, &some[1].params["LANES"]), (vec!["n512", "any"], &Param::Int(64)));
        for (kernel, want) in [
            ("list = \"columns\"", "there is no list `columns`"),
            ("list = \"rows\"\ntake = [\"n9\"]", "the list `rows` has no tile `n9`"),
            ("list = \"rows\"\ntake = []", "has no tile"),
            ("take = [\"any\"]", "has `take`, but no `list`"),
            ("list = \"rows\"\ntile = [{ name = \"a\" }]", "has both `list` and tiles of its own"),
            ("", "has no tile"),
        ] {
            let error = units(kernel, Arch::Gfx942).unwrap_err();
            assert!(error.contains("norm`: ") && error.ends_with(want), "{kernel}: {error}");
        }
        assert!(parse_lists("[rows]\ntiles = 3", Arch::Gfx942).unwrap_err().contains("`tiles`"));
    }

    #[test]
    fn a_file_without_kernels_has_no_units() {
        let file = "budget = { objects = 0, code_bytes = 0 }";
        assert_eq!(units(file, Arch::Gfx950), Ok(vec![]));
    }
}
