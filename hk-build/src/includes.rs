//! The files that a source includes, found without running the compiler.
//!
//! Conditions are not looked at, so that more may be found than the compiler reads. Less would be
//! found where a file is named by a macro: [`vouch`] notices that when the compiler has said what it
//! read.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::objects::digest;

/// Finds included files in some folders. Each file is read once.
#[derive(Debug)]
pub(crate) struct Includes {
    dirs: Vec<PathBuf>,
    known: Mutex<HashMap<PathBuf, Option<Arc<File>>>>,
}

/// What matters of a file.
#[derive(Debug)]
struct File {
    hash: String,
    names: Vec<Name>,
}

/// A file as an `#include` names it.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    /// In quotes: it is looked for beside the file that names it before all else.
    quoted: bool,
    text: String,
}

impl Includes {
    /// Looks in these folders, in this order.
    pub(crate) fn new(dirs: Vec<PathBuf>) -> Self {
        Self { dirs, known: Mutex::default() }
    }

    /// The files that the source `text`, which lies at `path`, and they in turn include, with the
    /// hashes of their contents. Those that are not there are left out.
    pub(crate) fn of(&self, path: &Path, text: &str) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut open = self.resolve(path, &names(text));
        while let Some((path, file)) = open.pop() {
            if found.insert(path.clone(), file.hash.clone()).is_none() {
                open.extend(self.resolve(&path, &file.names));
            }
        }
        found
    }

    /// The files that `includer` names.
    fn resolve(&self, includer: &Path, names: &[Name]) -> Vec<(PathBuf, Arc<File>)> {
        let find = |Name { quoted, text }: &Name| {
            let beside = quoted.then(|| includer.parent()).flatten();
            let dirs = beside.into_iter().chain(self.dirs.iter().map(PathBuf::as_path));
            dirs.map(|dir| dir.join(text)).find_map(|path| Some((path.clone(), self.file(path)?)))
        };
        names.iter().filter_map(find).collect()
    }

    /// The file, or `None` if it cannot be read.
    fn file(&self, path: PathBuf) -> Option<Arc<File>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |path: &Path| {
            let bytes = fs::read(path).ok()?;
            let names = names(&String::from_utf8_lossy(&bytes));
            Some(Arc::new(File { hash: digest([bytes.as_slice()]), names }))
        };
        known.entry(path).or_insert_with_key(|path| read(path)).clone()
    }
}

/// Whether the compiler read nothing that is not among `found`, and all of these are still what they
/// were.
pub(crate) fn vouch(found: &BTreeMap<PathBuf, String>, read: &[PathBuf]) -> bool {
    let same = |(path, hash): (&PathBuf, &String)| {
        fs::read(path).is_ok_and(|bytes| digest([bytes.as_slice()]) == *hash)
    };
    read.iter().all(|path| found.contains_key(path)) && found.iter().all(same)
}

/// The files that the lines of `text` name behind `#include` and `__has_include`.
fn names(text: &str) -> Vec<Name> {
    let directives = text.lines().filter(|line| line.trim_start().starts_with('#'));
    let rests = directives.flat_map(|line| line.split("include").skip(1));
    rests
        .filter_map(|rest| {
            let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
            let (quoted, end) = match rest.chars().next()? {
                '"' => (true, '"'),
                '<' => (false, '>'),
                _ => return None,
            };
            let (text, _) = rest[1..].split_once(end)?;
            Some(Name { quoted, text: text.to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_form() {
        let text = "#include \"a.h\"\n  #  include <b/c.h> // \"no.h\"\nint x; // #include \"no.h\"\n\
                    #if __has_include(\"d.h\") && __has_include( <e.h> )\n#include NAME\n#define X\n";
        let found: Vec<_> = names(text).into_iter().map(|n| (n.quoted, n.text)).collect();
        let want = [(true, "a.h"), (false, "b/c.h"), (true, "d.h"), (false, "e.h")];
        assert_eq!(found, want.map(|(quoted, text)| (quoted, text.to_owned())));
    }

    #[test]
    fn files_are_looked_for_as_the_compiler_does() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for (name, text) in [
            ("src/kernel.hip", "#include \"near.h\"\n#include <far.h>\n#include \"gone.h\"\n"),
            ("src/near.h", "#include \"far.h\"\n#include \"near.h\"\n"),
            ("src/far.h", ""),
            ("first/near.h", ""),
            ("second/far.h", "#include \"sub/deep.h\"\n"),
            ("second/sub/deep.h", ""),
        ] {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), text).unwrap();
        }
        let found = || {
            let includes = Includes::new(vec![path("first"), path("second")]);
            let found = includes.of(&path("src/unit.hip"), "#include \"kernel.hip\"\n");
            let names = found.into_keys().map(|p| p.strip_prefix(dir.path()).unwrap().to_owned());
            names.map(|name| name.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let want =
            ["second/far.h", "second/sub/deep.h", "src/far.h", "src/kernel.hip", "src/near.h"];
        assert_eq!(found(), want);
        // A file of that name in an earlier folder goes before the later one.
        fs::write(path("first/far.h"), "").unwrap();
        assert_eq!(found(), ["first/far.h", "src/far.h", "src/kernel.hip", "src/near.h"]);
    }

    #[test]
    fn only_what_was_found_and_stayed_the_same_is_vouched_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.h");
        fs::write(&path, "int a;").unwrap();
        let includes = Includes::new(vec![dir.path().to_owned()]);
        let found = includes.of(&dir.path().join("unit.hip"), "#include <a.h>\n");
        assert!(vouch(&found, std::slice::from_ref(&path)) && vouch(&found, &[]));
        assert!(!vouch(&found, &[path.clone(), dir.path().join("b.h")]));
        fs::write(&path, "int b;").unwrap();
        assert!(!vouch(&found, &[path]));
    }
}
