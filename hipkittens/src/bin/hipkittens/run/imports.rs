//! Which HIP functions a program imports that the simulator does not do.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hk_sim::capi::{EXPORTS, Export};
use object::Endianness;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader as _, Sym as _};

/// File name of the HIP runtime, without what follows it.
const LIBRARY: &str = "libamdhip64.so";

/// What was found out about a program and the libraries that it needs.
#[derive(Default)]
pub(super) struct Scan {
    program: String,
    /// HIP functions that are not done, with what they are for.
    refused: BTreeMap<String, &'static str>,
    /// HIP functions, or versions of them, that are not there.
    missing: BTreeSet<String>,
    /// Whether the program or a library has a search path that comes before LD_LIBRARY_PATH.
    pub(super) has_rpath: bool,
}

/// An imported function.
struct Import {
    name: String,
    /// Library and version that are asked for, if any.
    version: Option<(String, String)>,
}

/// What concerns us of an ELF file.
#[derive(Default)]
struct Image {
    needed: Vec<String>,
    /// Folders of DT_RPATH, without effect where there is a DT_RUNPATH, and those of DT_RUNPATH.
    rpath: Vec<PathBuf>,
    runpath: Vec<PathBuf>,
    imports: Vec<Import>,
    defined: HashSet<String>,
}

/// The file that a shell would execute for a name.
pub(super) fn find_program(name: &OsStr) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let is_executable = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(path)).find(is_executable)
}

/// Looks at a program, and at the libraries that it needs as far as they are found. `search` is
/// the LD_LIBRARY_PATH that it will have.
pub(super) fn scan(program: &Path, search: &OsStr) -> Scan {
    let mut scan = Scan { program: program.display().to_string(), ..Scan::default() };
    let system = system_folders();
    let (mut imports, mut defined) = (Vec::new(), HashSet::new());
    let mut seen = HashSet::new();
    // Each with the folders of the DT_RPATHs above it.
    let mut queue = vec![(program.to_owned(), Vec::<PathBuf>::new())];
    while let Some((path, mut rpath)) = queue.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let Some(image) = Image::read(&path) else { continue };
        scan.has_rpath |= !image.rpath.is_empty();
        rpath.extend(image.rpath);
        imports.extend(image.imports);
        defined.extend(image.defined);
        let folders: Vec<PathBuf> = rpath
            .iter()
            .cloned()
            .chain(std::env::split_paths(search))
            .chain(image.runpath)
            .chain(system.iter().cloned())
            .collect();
        for name in image.needed.iter().filter(|name| !name.starts_with(LIBRARY)) {
            let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
            queue.extend(found.map(|path| (path, rpath.clone())));
        }
    }
    let known: HashMap<&str, &Export> = EXPORTS.iter().map(|e| (e.name, e)).collect();
    for import in imports {
        scan.judge(&import, known.get(import.name.as_str()).copied(), &defined);
    }
    scan
}

impl Scan {
    fn judge(&mut self, import: &Import, known: Option<&Export>, defined: &HashSet<String>) {
        let name = &import.name;
        match (&import.version, known) {
            // The loader takes no other version.
            (Some((library, version)), known) if library.starts_with(LIBRARY) => {
                if known.is_none_or(|export| export.version != version) {
                    self.missing.insert(format!("{name}, version {version}"));
                    return;
                }
            }
            (Some(_), _) => return,
            (None, None) => {
                let of_hip = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
                let plain = name.trim_start_matches('_');
                if plain.strip_prefix("hip").is_some_and(of_hip) && !defined.contains(name) {
                    self.missing.insert(name.clone());
                }
                return;
            }
            (None, Some(_)) => {}
        }
        if let Some(reason) = known.and_then(|export| export.refused) {
            self.refused.insert(name.clone(), reason);
        }
    }
}

impl fmt::Display for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = &self.program;
        if !self.refused.is_empty() {
            writeln!(
                f,
                "hipkittens: {program} imports HIP functions that return hipErrorNotSupported:"
            )?;
        }
        for (name, reason) in &self.refused {
            writeln!(f, "  {name} ({reason})")?;
        }
        if !self.missing.is_empty() {
            writeln!(f, "hipkittens: {program} imports HIP functions that are not there:")?;
        }
        for name in &self.missing {
            writeln!(f, "  {name}")?;
        }
        Ok(())
    }
}

impl Image {
    /// Reads a 64-bit ELF file; `None` for what is none.
    fn read(path: &Path) -> Option<Self> {
        let data = fs::read(path).ok()?;
        let data = &*data;
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let mut image = Self::default();
        let origin = path.canonicalize().ok()?.parent()?.to_owned();
        let dynamic = sections.dynamic_table(endian, data).ok()?;
        for entry in dynamic.iter() {
            let text = || Some(String::from_utf8_lossy(dynamic.string(entry).ok()?).into_owned());
            match entry.tag {
                DT_NEEDED => image.needed.extend(text()),
                DT_RPATH => image.rpath = folders(&text()?, &origin),
                DT_RUNPATH => image.runpath = folders(&text()?, &origin),
                _ => {}
            }
        }
        if !image.runpath.is_empty() {
            image.rpath.clear();
        }
        let symbols = sections.symbols(endian, data, SHT_DYNSYM).ok()?;
        let versions = sections.versions(endian, data).ok()?;
        for (index, symbol) in symbols.enumerate() {
            let Ok(name) = symbol.name(endian, symbols.strings()) else { continue };
            let name = String::from_utf8_lossy(name).into_owned();
            if !symbol.is_undefined(endian) {
                image.defined.insert(name);
                continue;
            }
            let version = versions.as_ref().and_then(|table| {
                let found = table.version(table.version_index(endian, index).index()).ok()??;
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Some((text(found.file()?), text(found.name())))
            });
            image.imports.push(Import { name, version });
        }
        Some(image)
    }
}

/// The folders of a search path in a library that is in the folder `origin`.
fn folders(path: &str, origin: &Path) -> Vec<PathBuf> {
    let origin = origin.to_string_lossy();
    let expand = |folder: &str| {
        PathBuf::from(folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
    };
    path.split(':').filter(|folder| !folder.is_empty()).map(expand).collect()
}

/// Where the loader looks at last: the folders of its configuration, and its own.
fn system_folders() -> Vec<PathBuf> {
    let listed = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    let lines = listed
        .filter_map(|file| fs::read_to_string(file.path()).ok())
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>())
        .filter(|line| line.starts_with('/'));
    let own = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(str::to_owned);
    lines.chain(own).map(PathBuf::from).collect()
}
