//! Compiling with the object cache: what was made of the same things before is not made again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::compiler::{Clang, CompileOptions, Compiled, scratch_dir};
use crate::error::BuildError;
use crate::includes::{Includes, vouch};
use crate::layout;
use crate::objects::{Entry, FORMAT, ObjectCache, digest};
use hk_types::Arch;

/// Compiles sources with the same options.
#[derive(Debug)]
pub(crate) struct Maker<'a> {
    clang: &'a Clang,
    options: &'a CompileOptions,
    cache: Option<ObjectCache>,
    includes: Includes,
}

/// What is asked of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A code object.
    Image,
    /// What it prints of the layout of structs.
    Layouts,
}

/// What was made now or earlier.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) entry: Entry,
    /// The files that the source includes.
    pub(crate) files: Vec<PathBuf>,
    /// Whether the compiler ran.
    pub(crate) fresh: bool,
    /// For how long it ran.
    pub(crate) seconds: f64,
    /// Why the cache could not take it.
    pub(crate) not_kept: Option<String>,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(
        clang: &'a Clang,
        options: &'a CompileOptions,
        cache: Option<ObjectCache>,
    ) -> Self {
        let includes = Includes::new(options.includes.clone());
        Self { clang, options, cache, includes }
    }

    /// What the compiler makes of the file `source`.
    pub(crate) fn make(
        &self,
        source: &Path,
        arch: Arch,
        wanted: Wanted,
    ) -> Result<Made, BuildError> {
        let mut args = self.clang.hip_args(arch, self.options)?;
        if wanted == Wanted::Layouts {
            args.extend(layout::FLAGS.map(OsString::from));
        }
        let bytes = fs::read(source).map_err(BuildError::io("read", source))?;
        let text = String::from_utf8_lossy(&bytes);
        let found = self.includes.of(source, &text);
        let start = Instant::now();
        let Some(cache) = &self.cache else {
            let (entry, files) = self.compile(source, arch, &args, wanted)?;
            let seconds = start.elapsed().as_secs_f64();
            return Ok(Made { entry, files, fresh: true, seconds, not_kept: None });
        };
        let key = self.key(source, &bytes, &args, &found);
        if let Some(entry) = cache.get(&key) {
            let entry = Entry { warnings: self.local(entry.warnings), ..entry };
            let files = found.into_keys().collect();
            return Ok(Made { entry, files, fresh: false, seconds: 0.0, not_kept: None });
        }
        let (entry, read) = self.compile(source, arch, &args, wanted)?;
        let seconds = start.elapsed().as_secs_f64();
        let mut not_kept = None;
        if vouch(&found, &read) {
            let portable = Entry { warnings: self.portable(&entry.warnings), ..entry.clone() };
            let put = cache.put(&key, &portable);
            not_kept = put.err().map(|error| format!("{}: {error}", cache.dir().display()));
        }
        Ok(Made { entry, files: read, fresh: true, seconds, not_kept })
    }

    /// Brings the cache back to its limit.
    pub(crate) fn trim(&self) {
        if let Some(cache) = &self.cache {
            cache.trim();
        }
    }

    /// Runs the compiler. Also returns the files that it read besides `source`.
    fn compile(
        &self,
        source: &Path,
        arch: Arch,
        args: &[OsString],
        wanted: Wanted,
    ) -> Result<(Entry, Vec<PathBuf>), BuildError> {
        let dir = scratch_dir()?;
        let output = dir.path().join("kernel.hsaco");
        let Compiled { mut dependencies, warnings, printed } =
            self.clang.compile_file(source, arch, args, &output)?;
        dependencies.retain(|path| path != source);
        let product = match wanted {
            Wanted::Image => fs::read(&output).map_err(BuildError::io("read", &output))?,
            Wanted::Layouts => printed,
        };
        Ok((Entry::new(&product, warnings), dependencies))
    }

    /// Tells the compilation from every other whose outcome may differ.
    fn key(
        &self,
        source: &Path,
        content: &[u8],
        args: &[OsString],
        found: &BTreeMap<PathBuf, String>,
    ) -> String {
        let mut parts = vec![FORMAT.to_owned(), self.clang.identity(), digest([content])];
        parts.push(self.portable(&source.to_string_lossy()));
        parts.extend(args.iter().map(|arg| self.portable(&arg.to_string_lossy())));
        for (path, hash) in found {
            parts.extend([self.portable(&path.to_string_lossy()), hash.clone()]);
        }
        digest(parts.iter().map(String::as_bytes))
    }

    /// `text` with the roots of paths replaced, since these differ from one clone to the next.
    fn portable(&self, text: &str) -> String {
        let replace = |text: String, (root, mark): (String, String)| text.replace(&root, &mark);
        self.roots().into_iter().fold(text.to_owned(), replace)
    }

    /// The inverse of [`Self::portable`].
    fn local(&self, text: String) -> String {
        let replace = |text: String, (root, mark): (String, String)| text.replace(&mark, &root);
        self.roots().into_iter().fold(text, replace)
    }

    /// The roots, those in others first, each with what stands for it.
    fn roots(&self) -> Vec<(String, String)> {
        let roots = self.options.roots.iter().enumerate();
        let mut roots: Vec<_> = roots
            .map(|(index, root)| {
                (root.to_string_lossy().into_owned(), format!("\u{1}{index}\u{1}"))
            })
            .collect();
        roots.sort_by_key(|(root, _)| std::cmp::Reverse(root.len()));
        roots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::clang;

    const SOURCE: &str = "#include \"bias.h\"\nextern \"C\" __attribute__((global)) void f(int *out)\
                          { int unused; *out = BIAS; }\n";

    struct Fixture {
        dir: tempfile::TempDir,
        cache: ObjectCache,
    }

    impl Fixture {
        fn new(cache: &Path) -> Self {
            let fixture =
                Self { dir: tempfile::tempdir().unwrap(), cache: ObjectCache::new(cache) };
            fs::write(fixture.dir.path().join("bias.h"), "#define BIAS 1\n").unwrap();
            fs::write(fixture.source(), SOURCE).unwrap();
            fixture
        }

        fn source(&self) -> PathBuf {
            self.dir.path().join("f.hip")
        }

        fn options(&self) -> CompileOptions {
            CompileOptions::default().root(self.dir.path())
        }

        fn make(&self, clang: &Clang, options: &CompileOptions, arch: Arch) -> Made {
            let maker = Maker::new(clang, options, Some(self.cache.clone()));
            let made = maker.make(&self.source(), arch, Wanted::Image).unwrap();
            assert!(made.entry.product().starts_with(b"\x7fELF"));
            assert_eq!(made.files, [self.dir.path().join("bias.h")]);
            assert_eq!(made.not_kept, None);
            made
        }

        fn is_made(&self, clang: &Clang, options: &CompileOptions, arch: Arch) -> bool {
            self.make(clang, options, arch).fresh
        }
    }

    #[test]
    fn whatever_can_change_the_outcome_is_part_of_the_key() {
        let cache = tempfile::tempdir().unwrap();
        let fixture = Fixture::new(cache.path());
        let (clang, options) = (clang().unwrap(), fixture.options());
        let made = |options: &CompileOptions| fixture.is_made(clang, options, Arch::Gfx942);
        assert!(made(&options));
        assert!(!made(&options));
        assert!(fixture.is_made(clang, &options, Arch::Gfx950));
        assert!(made(&options.clone().flag("-O2")));
        assert!(made(&options.clone().define("NAME", 1)));
        assert!(made(&options.clone().define("NAME", 2)));
        assert!(made(&options.clone().include("/nowhere")));
        let mut other = clang.clone();
        other.version.push('1');
        assert!(fixture.is_made(&other, &options, Arch::Gfx942));
        let mut other = clang.clone();
        other.linker = fixture.source();
        assert!(fixture.is_made(&other, &options, Arch::Gfx942));
        fs::write(fixture.dir.path().join("bias.h"), "#define BIAS 2\n").unwrap();
        assert!(made(&options));
        fs::write(fixture.source(), [SOURCE, "\n"].concat()).unwrap();
        assert!(made(&options));
        fs::write(fixture.source(), SOURCE).unwrap();
        assert!(!made(&options));
        fs::write(fixture.dir.path().join("bias.h"), "#define BIAS 1\n").unwrap();
        assert!(!made(&options));
        let maker = Maker::new(clang, &options, Some(fixture.cache.clone()));
        let layouts = maker.make(&fixture.source(), Arch::Gfx942, Wanted::Layouts).unwrap();
        assert!(layouts.fresh);
    }

    #[test]
    fn the_place_of_the_roots_is_no_part_of_the_key() {
        let cache = tempfile::tempdir().unwrap();
        let clang = clang().unwrap();
        let [first, second] = [(); 2].map(|()| Fixture::new(cache.path()));
        let made = [&first, &second].map(|fixture| {
            let made = fixture.make(clang, &fixture.options(), Arch::Gfx950);
            // Warnings come back, and name the file that is here.
            let warning = format!("{}:2:", fixture.source().display());
            assert!(made.entry.warnings.contains(&warning), "{}", made.entry.warnings);
            made
        });
        assert_eq!(made.each_ref().map(|made| made.fresh), [true, false]);
        // The compiler itself makes the same in both places.
        let alone = tempfile::tempdir().unwrap();
        let again = Fixture { cache: ObjectCache::new(alone.path()), ..second };
        let again = again.make(clang, &again.options(), Arch::Gfx950);
        assert!(again.fresh && again.entry.packed == made[0].entry.packed);
    }

    #[test]
    fn what_the_scan_does_not_see_is_made_each_time() {
        let cache = tempfile::tempdir().unwrap();
        let fixture = Fixture::new(cache.path());
        let source =
            SOURCE.replace("#include \"bias.h\"", "#define NAME \"bias.h\"\n#include NAME");
        fs::write(fixture.source(), source).unwrap();
        for _ in 0..2 {
            assert!(fixture.is_made(clang().unwrap(), &fixture.options(), Arch::Gfx942));
        }
        assert_eq!(fixture.cache.usage().entries, 0);
    }

    #[test]
    fn a_source_that_depends_on_the_time_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let fixture = Fixture::new(cache.path());
        fs::write(fixture.source(), SOURCE.replace("BIAS;", "__TIME__[0];")).unwrap();
        let options = fixture.options();
        let maker = Maker::new(clang().unwrap(), &options, Some(fixture.cache.clone()));
        let error = maker.make(&fixture.source(), Arch::Gfx942, Wanted::Image).unwrap_err();
        assert!(error.to_string().contains("not reproducible"), "{error}");
    }

    #[test]
    fn a_cache_that_cannot_be_written_stops_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("file");
        fs::write(&file, "").unwrap();
        let fixture = Fixture::new(&file.join("objects"));
        let options = fixture.options();
        let maker = Maker::new(clang().unwrap(), &options, Some(fixture.cache.clone()));
        let made = maker.make(&fixture.source(), Arch::Gfx942, Wanted::Image).unwrap();
        assert!(made.fresh);
        let reason = made.not_kept.unwrap();
        assert!(reason.starts_with(&file.display().to_string()), "{reason}");
    }
}
