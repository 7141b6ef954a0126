//! Whether the product of an earlier build can be used again.
//!
//! Beside each product lies a record of what it was made from: a key for the compiler, its
//! arguments and the generated source, and the content hash of every file that was read.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::error::BuildError;

/// The SHA-256 of `parts` as text. Parts cannot run into each other.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Content hashes of files, each read once per build.
#[derive(Debug, Default)]
pub(crate) struct FileHashes(Mutex<HashMap<PathBuf, Option<String>>>);

impl FileHashes {
    /// The hash of the file's content, or `None` if it cannot be read.
    fn of(&self, path: &Path) -> Option<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry(path.to_owned())
            .or_insert_with(|| fs::read(path).ok().map(|content| digest([content.as_slice()])))
            .clone()
    }

    /// The files that the product was made from, if it is there and would be made the same again.
    pub(crate) fn reusable(&self, product: &Path, key: &str) -> Option<Vec<PathBuf>> {
        let record = fs::read_to_string(record_path(product)).ok()?;
        let mut lines = record.lines();
        let (hash, made_from) = (lines.next()?, lines.next()?);
        if made_from != key || self.of(product)? != hash {
            return None;
        }
        lines
            .map(|line| {
                let (hash, path) = line.split_once(' ')?;
                let path = PathBuf::from(path);
                (self.of(&path)? == hash).then_some(path)
            })
            .collect()
    }

    /// Writes down what the product was made from.
    pub(crate) fn record(
        &self,
        product: &Path,
        key: &str,
        made_from: &[PathBuf],
    ) -> Result<(), BuildError> {
        let unreadable = |path: &Path| {
            BuildError::io("read", path)(io::Error::other("it vanished during the build"))
        };
        // What was known of the product is about an older one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(product);
        let hash = self.of(product).ok_or_else(|| unreadable(product))?;
        let mut text = format!("{hash}\n{key}\n");
        for path in made_from {
            let hash = self.of(path).ok_or_else(|| unreadable(path))?;
            text.push_str(&format!("{hash} {}\n", path.display()));
        }
        let path = record_path(product);
        fs::write(&path, text).map_err(BuildError::io("write", &path))
    }
}

fn record_path(product: &Path) -> PathBuf {
    product.with_extension("made-from")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(digest([&b"ab"[..], b"c"]), digest([&b"a"[..], b"bc"]));
        // The SHA-256 of eight zero bytes, as for one empty part.
        let want = "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc";
        assert_eq!(digest([&b""[..]]), want);
    }

    #[test]
    fn a_product_is_reused_until_something_it_was_made_from_changes() {
        let dir = tempfile::tempdir().unwrap();
        let [product, header] = ["product.hsaco", "header.h"].map(|name| dir.path().join(name));
        fs::write(&product, "code").unwrap();
        fs::write(&header, "int x;").unwrap();
        FileHashes::default().record(&product, "key", std::slice::from_ref(&header)).unwrap();
        let reusable = |key| FileHashes::default().reusable(&product, key);
        assert_eq!(reusable("key"), Some(vec![header.clone()]));
        assert_eq!(reusable("other key"), None);
        fs::write(&header, "int y;").unwrap();
        assert_eq!(reusable("key"), None);
        fs::write(&header, "int x;").unwrap();
        assert!(reusable("key").is_some());
        fs::write(&product, "half").unwrap();
        assert_eq!(reusable("key"), None);
        fs::write(&product, "code").unwrap();
        fs::remove_file(&header).unwrap();
        assert_eq!(reusable("key"), None);
    }
}
