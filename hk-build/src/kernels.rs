//! Building the kernels of one crate: from its tile files to the file that it includes.

use std::collections::BTreeSet;
use std::env::{self, VarError};
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hk_types::Arch;

use crate::budget::{self, Violation};
use crate::codegen::{self, Built};
use crate::compiler::{Clang, CompileOptions};
use crate::discover::{SearchEnv, clang};
use crate::error::BuildError;
use crate::layout::{self, Layout};
use crate::maker::{Made, Maker, Wanted};
use crate::note;
use crate::objects::ObjectCache;
use crate::plan::{self, Core, Lists, Unit};
use crate::pool;

/// The file beside the device headers with the tile lists that cores share.
const LISTS: &str = "hk/tiles.toml";

/// The file in `OUT_DIR` that the crate includes.
const GENERATED: &str = "kernels.rs";

/// The whole `main` of a kernel crate's build script:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     hk_build::build()
/// }
/// ```
///
/// Does [`Kernels::run`] with what cargo sets for build scripts, and prints what cargo has to know.
/// On failure the error goes to cargo, and the exit code is 1.
pub fn build() -> ExitCode {
    let result = Kernels::from_cargo().and_then(|kernels| kernels.run());
    let (lines, code) = match result {
        Ok(report) => (report.directives(), ExitCode::SUCCESS),
        Err(error) => {
            let text = error.to_string();
            (text.lines().map(|line| format!("cargo::error={line}")).collect(), ExitCode::FAILURE)
        }
    };
    let mut out = io::stdout().lock();
    // Cargo closes the pipe only when it gives up the build, and then nobody reads the outcome.
    match lines.iter().try_for_each(|line| writeln!(out, "{line}")) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The kernels of one crate: `tiles/CORE.toml` says which instantiations of the templates in
/// `kernels/CORE.hip` there are.
#[derive(Clone, Debug)]
pub struct Kernels {
    package: String,
    root: PathBuf,
    out_dir: PathBuf,
    arches: BTreeSet<Arch>,
    includes: Vec<PathBuf>,
    compiler: Option<Clang>,
    cache: ObjectCache,
}

/// What a build did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What each core came to, for each architecture.
    pub cores: Vec<CoreCost>,
    /// Runs of the compiler.
    pub compiled: usize,
    /// Products that the object cache had.
    pub reused: usize,
    /// Every file that the outcome depends on.
    pub inputs: BTreeSet<PathBuf>,
    /// What the compiler warned of, now or when it made what the cache had, and what the cache could
    /// not take.
    pub warnings: Vec<String>,
}

/// What the instantiations of a core come to for one architecture.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreCost {
    /// The core.
    pub core: String,
    /// The architecture.
    pub arch: Arch,
    /// Code objects.
    pub objects: u64,
    /// Bytes of machine code in them.
    pub code_bytes: u64,
    /// Bytes that a program embeds of them.
    pub embedded_bytes: u64,
    /// Seconds for which the compiler ran, now, for all of them together.
    pub seconds: f64,
}

impl fmt::Display for CoreCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { core, arch, objects, code_bytes, embedded_bytes, seconds } = self;
        write!(
            f,
            "core `{core}`, {arch}: {objects} objects, {code_bytes} bytes of machine code, \
             {embedded_bytes} bytes embedded, {seconds:.1} s of compilation"
        )
    }
}

impl Report {
    /// The lines by which a build script tells cargo, and who reads its output, about the build.
    fn directives(&self) -> Vec<String> {
        let files = self.inputs.iter().map(|p| format!("cargo::rerun-if-changed={}", p.display()));
        let variables = SearchEnv::DECISIVE.iter().chain(&["DOCS_RS"]);
        let variables = variables.map(|name| format!("cargo::rerun-if-env-changed={name}"));
        let warnings = self.warnings.iter().flat_map(|text| text.lines());
        let warnings = warnings.map(|line| format!("cargo::warning={line}"));
        // No directives: `cargo build -vv` shows them.
        let costs = self.cores.iter().map(ToString::to_string);
        files.chain(variables).chain(warnings).chain(costs).collect()
    }
}

impl Kernels {
    /// The kernels of the crate `package` whose folder is `root`, built into `out_dir`, where the
    /// object cache is too, for no architecture yet.
    pub fn new(
        package: impl Into<String>,
        root: impl Into<PathBuf>,
        out_dir: impl Into<PathBuf>,
    ) -> Self {
        let out_dir = out_dir.into();
        Self {
            package: package.into(),
            root: root.into(),
            arches: BTreeSet::new(),
            includes: Vec::new(),
            compiler: None,
            cache: ObjectCache::new(out_dir.join("hk/objects")),
            out_dir,
        }
    }

    /// The kernels of the crate whose build script runs, for the architectures whose features are
    /// on; for none if `DOCS_RS` is set. The folder that hk-core's build script names is included,
    /// and the object cache is [`ObjectCache::from_process`], if there is one.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoCargo`] if cargo's variables are missing, [`BuildError::Variable`] if they are
    /// not UTF-8, or the user's have no meaning.
    pub fn from_cargo() -> Result<Self, BuildError> {
        let var = |variable: &'static str| {
            env::var(variable).map_err(|error| match error {
                VarError::NotPresent => BuildError::NoCargo { variable },
                VarError::NotUnicode(got) => {
                    BuildError::Variable { variable, expected: "text in UTF-8", got }
                }
            })
        };
        let mut kernels =
            Self::new(var("CARGO_PKG_NAME")?, var("CARGO_MANIFEST_DIR")?, var("OUT_DIR")?);
        if let Some(cache) = ObjectCache::from_process()? {
            kernels = kernels.cache(cache);
        }
        if env::var_os("DOCS_RS").is_none() {
            for arch in Arch::ALL {
                let feature = format!("CARGO_FEATURE_{}", arch.feature().to_ascii_uppercase());
                if env::var_os(feature).is_some() {
                    kernels = kernels.arch(arch);
                }
            }
        }
        Ok(match env::var_os("DEP_HK_CORE_INCLUDE") {
            Some(dir) => kernels.include(dir),
            None => kernels,
        })
    }

    /// Builds for `arch` too.
    #[must_use]
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arches.insert(arch);
        self
    }

    /// Adds a folder in which `#include` looks.
    #[must_use]
    pub fn include(mut self, dir: impl Into<PathBuf>) -> Self {
        self.includes.push(dir.into());
        self
    }

    /// Uses this compiler instead of the one that [`clang`] finds.
    #[must_use]
    pub fn compiler(mut self, compiler: Clang) -> Self {
        self.compiler = Some(compiler);
        self
    }

    /// Uses this object cache instead of one in the output folder.
    #[must_use]
    pub fn cache(mut self, cache: ObjectCache) -> Self {
        self.cache = cache;
        self
    }

    /// Compiles what the object cache does not have, checks every budget, and writes the file
    /// `kernels.rs` into the output folder.
    ///
    /// # Errors
    ///
    /// [`BuildError`]; what is wrong with several kernels is reported together.
    pub fn run(&self) -> Result<Report, BuildError> {
        let mut report = Report::default();
        // Cargo takes a missing file for a changed one, so only what is there is named.
        let watched = ["build.rs", "tiles"].map(|name| self.root.join(name));
        report.inputs.extend(watched.into_iter().filter(|path| path.exists()));
        report.inputs.extend(self.list_files());
        let cores = self.plan()?;
        let units: Vec<_> = cores.iter().flat_map(|core| core.units.clone()).collect();
        let violations: Vec<_> = units.iter().flat_map(budget::check_plan).collect();
        if !violations.is_empty() {
            return Err(BuildError::Budget { violations });
        }
        let products = match units.is_empty() {
            true => Vec::new(),
            false => self.compile(&units)?,
        };
        for Product { made, .. } in &products {
            report.inputs.extend(made.files.iter().cloned());
            if made.fresh {
                report.compiled += 1;
            } else {
                report.reused += 1;
            }
            if !made.entry.warnings.is_empty() {
                report.warnings.push(made.entry.warnings.clone());
            }
        }
        // One reason stands for all: mostly it is the same.
        let not_kept = products.iter().find_map(|product| product.made.not_kept.as_ref());
        report
            .warnings
            .extend(not_kept.map(|reason| format!("not kept in the object cache: {reason}")));
        let built = check(&units, &products)?;
        report.cores = costs(&cores, &built, &products)?;
        let text = codegen::generate(&self.package, &built)
            .map_err(|reason| BuildError::Arguments { reason })?;
        write_if_changed(&self.out_dir.join(GENERATED), text.as_bytes())?;
        Ok(report)
    }

    /// What every tile file says for each of the architectures.
    fn plan(&self) -> Result<Vec<Core>, BuildError> {
        let mut cores = Vec::new();
        let dir = self.root.join("tiles");
        if self.arches.is_empty() || !dir.exists() {
            return Ok(cores);
        }
        let entries = fs::read_dir(&dir).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.map_err(BuildError::io("read", &dir))?;
        let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort();
        let lists = self.lists()?;
        for path in paths {
            let text = fs::read_to_string(&path).map_err(BuildError::io("read", &path))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let wrong = |reason| BuildError::Tiles { path: path.clone(), reason };
            // What is wrong for one chip is wrong whichever the build is for.
            for (arch, lists) in Arch::ALL.into_iter().zip(&lists) {
                let core = plan::parse(&name, &text, lists, arch).map_err(wrong)?;
                cores.extend(self.arches.contains(&arch).then_some(core));
            }
        }
        plan::check_symbols(cores.iter().flat_map(|core| &core.units))
            .map_err(|reason| BuildError::Tiles { path: dir, reason })?;
        Ok(cores)
    }

    /// The tile lists of the device headers, for each architecture.
    fn lists(&self) -> Result<[Lists; Arch::ALL.len()], BuildError> {
        let mut all: [Lists; Arch::ALL.len()] = Default::default();
        for path in self.list_files() {
            let text = fs::read_to_string(&path).map_err(BuildError::io("read", &path))?;
            for (arch, lists) in Arch::ALL.into_iter().zip(&mut all) {
                let wrong = |reason| BuildError::Tiles { path: path.clone(), reason };
                lists.append(&mut plan::parse_lists(&text, arch).map_err(wrong)?);
            }
        }
        Ok(all)
    }

    fn list_files(&self) -> impl Iterator<Item = PathBuf> {
        self.includes.iter().map(|include| include.join(LISTS)).filter(|path| path.exists())
    }

    /// The products of every job that the units need, made now or earlier.
    fn compile<'u>(&self, units: &'u [Unit]) -> Result<Vec<Product<'u>>, BuildError> {
        let compiler = match &self.compiler {
            Some(compiler) => compiler,
            None => clang()?,
        };
        let dir = self.out_dir.join("hk");
        fs::create_dir_all(&dir).map_err(BuildError::io("create", &dir))?;
        let sources = self.root.join("kernels");
        let mut options = CompileOptions::default().root(&self.root).root(&dir).include(sources);
        for include in &self.includes {
            options = options.root(include).include(include);
        }
        let shop =
            Workshop { maker: Maker::new(compiler, &options, Some(self.cache.clone())), dir };
        let mut structs = BTreeSet::new();
        let layouts: Vec<_> = units
            .iter()
            .filter(|unit| structs.insert((unit.arch, &unit.core, &unit.args)))
            .map(|unit| Job { unit, kind: Kind::Layout })
            .collect();
        let mut products = pool::map(&layouts, |job| shop.make(*job, job_source(*job, &[])));
        // A kernel carries a note of its arguments. Where they cannot be read it does without, only
        // for what the compiler has to say of it.
        let read = products.iter().flatten().filter_map(|product| {
            Some((product.job.unit, read_layout(product.job.unit, product).ok()?))
        });
        let known: Vec<(&Unit, Layout)> = read.collect();
        let kernels: Vec<_> = units.iter().map(|unit| Job { unit, kind: Kind::Kernel }).collect();
        products.extend(pool::map(&kernels, |job| shop.make(*job, job_source(*job, &known))));
        if products.iter().flatten().any(|product| product.made.fresh) {
            shop.maker.trim();
        }
        collect(products)
    }
}

/// Something to have compiled for a unit.
#[derive(Clone, Copy, Debug)]
struct Job<'u> {
    unit: &'u Unit,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Its code object.
    Kernel,
    /// What clang prints about its argument struct. Units with the same struct share it.
    Layout,
}

/// What a job made.
#[derive(Debug)]
struct Product<'u> {
    job: Job<'u>,
    made: Made,
    product: Vec<u8>,
    /// Where a code object lies as it is embedded.
    packed: PathBuf,
}

/// The source of a job, given the layouts of structs.
fn job_source(job: Job<'_>, layouts: &[(&Unit, Layout)]) -> String {
    let unit = job.unit;
    match job.kind {
        Kind::Layout => unit.layout_source(),
        Kind::Kernel => {
            let layout = layouts.iter().find(|(other, _)| unit.shares_args(other));
            let note = layout.map(|(_, layout)| note::source(&unit.symbol, layout));
            unit.source() + &note.unwrap_or_default()
        }
    }
}

/// What all jobs have in common.
struct Workshop<'a> {
    maker: Maker<'a>,
    dir: PathBuf,
}

impl Workshop<'_> {
    fn make<'u>(&self, job: Job<'u>, source: String) -> Result<Product<'u>, BuildError> {
        let unit = job.unit;
        let (stem, wanted) = match job.kind {
            Kind::Kernel => (unit.symbol.clone(), Wanted::Image),
            Kind::Layout => {
                (format!("{}-{}", unit.core, unit.args.replace("::", ".")), Wanted::Layouts)
            }
        };
        let base = format!("{stem}-{}", unit.arch);
        let input = self.dir.join(format!("{base}.hip"));
        write_if_changed(&input, source.as_bytes())?;
        let made =
            self.maker.make(&input, unit.arch, wanted).map_err(|error| locate(unit, error))?;
        let product = made.entry.product();
        let packed = self.dir.join(format!("{base}.hsaco.zlib"));
        if job.kind == Kind::Kernel {
            // The plain one is for people and their tools.
            write_if_changed(&packed.with_extension(""), &product)?;
            write_if_changed(&packed, &made.entry.packed)?;
        }
        Ok(Product { job, made, product, packed })
    }
}

/// Names kernel and tile in the compiler's error.
fn locate(unit: &Unit, error: BuildError) -> BuildError {
    match error {
        BuildError::Compile { arch, messages, .. } => {
            match budget::from_messages(unit, &messages) {
                Some(violation) => BuildError::Budget { violations: vec![violation] },
                None => BuildError::Compile { source_name: unit.to_string(), arch, messages },
            }
        }
        other => other,
    }
}

/// Reads what was compiled and checks it against the budgets.
fn check<'u>(units: &'u [Unit], products: &[Product<'u>]) -> Result<Vec<Built<'u>>, BuildError> {
    let results = units.iter().map(|unit| check_unit(unit, products)).collect();
    collect(results)
}

fn check_unit<'u>(unit: &'u Unit, products: &[Product<'_>]) -> Result<Built<'u>, BuildError> {
    let bad = |reason| BuildError::CodeObject { name: unit.to_string(), reason };
    let find = |kind: Kind, wanted: &dyn Fn(&Unit) -> bool| {
        products
            .iter()
            .find(|product| product.job.kind == kind && wanted(product.job.unit))
            .ok_or_else(|| bad("it was not compiled".to_owned()))
    };
    let image =
        find(Kind::Kernel, &|other| other.symbol == unit.symbol && other.arch == unit.arch)?;
    let printed = find(Kind::Layout, &|other| unit.shares_args(other))?;
    let layout = read_layout(unit, printed)?;
    let kernels = budget::read_metadata(&image.product).map_err(bad)?;
    let metadata = kernels
        .into_iter()
        .find(|kernel| kernel.name == unit.symbol)
        .ok_or_else(|| bad(format!("there is no kernel `{}`", unit.symbol)))?;
    let violations: Vec<Violation> = budget::check(unit, &metadata, &layout);
    if violations.is_empty() {
        let (packed, size) = (image.packed.clone(), image.product.len());
        let code = budget::code_bytes(&image.product).map_err(bad)?;
        Ok(Built { unit, metadata, layout, packed, size, code })
    } else {
        Err(BuildError::Budget { violations })
    }
}

/// What the cores come to, or which of them is over its budget.
fn costs(
    cores: &[Core],
    built: &[Built<'_>],
    products: &[Product<'_>],
) -> Result<Vec<CoreCost>, BuildError> {
    let mut violations = Vec::new();
    let mut costs = Vec::new();
    for core in cores {
        let is_of = |unit: &Unit| (unit.arch, &unit.core) == (core.arch, &core.name);
        let mut cost = CoreCost {
            core: core.name.clone(),
            arch: core.arch,
            objects: core.units.len() as u64,
            code_bytes: built.iter().filter(|one| is_of(one.unit)).map(|one| one.code).sum(),
            embedded_bytes: 0,
            seconds: 0.0,
        };
        for Product { job, made, .. } in products.iter().filter(|one| is_of(one.job.unit)) {
            cost.seconds += made.seconds;
            if job.kind == Kind::Kernel {
                cost.embedded_bytes += made.entry.packed.len() as u64;
            }
        }
        violations.extend(budget::check_core(core, cost.objects, cost.code_bytes));
        costs.push(cost);
    }
    if violations.is_empty() { Ok(costs) } else { Err(BuildError::Budget { violations }) }
}

fn read_layout(unit: &Unit, printed: &Product<'_>) -> Result<Layout, BuildError> {
    layout::find(&String::from_utf8_lossy(&printed.product), &unit.args)
        .map_err(|reason| BuildError::Arguments { reason: format!("{unit}: {reason}") })
}

/// All successes, or all failures.
fn collect<T>(results: Vec<Result<T, BuildError>>) -> Result<Vec<T>, BuildError> {
    let mut values = Vec::new();
    let mut errors = Vec::new();
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(values),
        1 => Err(errors.remove(0)),
        _ => Err(BuildError::Several { errors }),
    }
}

/// Writes the file unless it is like that already, so that its time only changes with its content.
fn write_if_changed(path: &Path, content: &[u8]) -> Result<(), BuildError> {
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    fs::write(path, content).map_err(BuildError::io("write", path))
}
