//! The object cache: what the compiler made, by everything that it was made from.
//!
//! An entry is one file, named by its key and put in place by a rename, so that builds side by side
//! see it whole or not at all. It begins with a hash of the rest: one that was damaged is made again.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib;
use sha2::{Digest, Sha256};

use crate::discover::SearchEnv;
use crate::error::BuildError;

/// The variable that names the folder of the cache, or says [`OFF`].
const VARIABLE: &str = "HIPKITTENS_OBJECT_CACHE";
const OFF: &str = "off";

/// The level of compression beyond which objects hardly become smaller.
const LEVEL: u8 = 9;

/// Bytes that the cache may take, unless told otherwise.
const LIMIT: u64 = 1 << 30;

/// What entries of all formats begin with.
const MARK: &str = "hipkittens object ";

/// The beginning of every entry. The number is part of every key: another one makes everything new.
pub(crate) const FORMAT: &str = "hipkittens object 2\n";

/// A folder in which compiled kernels are kept, so that none is compiled twice.
///
/// It can be removed at any time, also while kernels are built. Files of others may be in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCache {
    dir: PathBuf,
    limit: u64,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Files, without those that are not the cache's.
    pub entries: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// What the compiler made from one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// A code object or what was printed, as a zlib stream.
    pub(crate) packed: Vec<u8>,
    pub(crate) warnings: String,
}

impl Entry {
    pub(crate) fn new(product: &[u8], warnings: String) -> Self {
        Self { packed: compress_to_vec_zlib(product, LEVEL), warnings }
    }

    /// What the compiler made. Empty if the stream is damaged, which an entry's hash excludes.
    pub(crate) fn product(&self) -> Vec<u8> {
        decompress_to_vec_zlib(&self.packed).unwrap_or_default()
    }
}

impl ObjectCache {
    /// A cache in the folder `dir`, which is created when something is kept.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), limit: LIMIT }
    }

    /// The same, in which at most that many bytes are left when a build ends: what was not used for
    /// the longest time goes first.
    #[must_use]
    pub fn limited(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// The cache of this process: the folder that `HIPKITTENS_OBJECT_CACHE` names, or else `objects`
    /// in the folder `hipkittens` of the user's cache folder. `None` if the variable is `off`, or if
    /// the user has no cache folder.
    ///
    /// # Errors
    ///
    /// [`BuildError::Variable`] for a relative path, which build scripts would take for different
    /// folders.
    pub fn from_process() -> Result<Option<Self>, BuildError> {
        let value = env::var_os(VARIABLE).filter(|value| !value.is_empty());
        let Some(value) = value else {
            let cache = SearchEnv::from_process().cache;
            return Ok(cache.map(|dir| Self::new(dir.join("objects"))));
        };
        let dir = PathBuf::from(&value);
        if dir.is_absolute() {
            Ok(Some(Self::new(dir)))
        } else if value == OFF {
            Ok(None)
        } else {
            let expected = "an absolute path or `off`";
            Err(BuildError::Variable { variable: VARIABLE, expected, got: value })
        }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The bytes that may be left in it when a build ends.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What is in it now.
    pub fn usage(&self) -> Usage {
        let files = self.files();
        Usage { entries: files.len(), bytes: files.iter().map(|file| file.bytes).sum() }
    }

    /// The entry of that key, if it is there and undamaged.
    pub(crate) fn get(&self, key: &str) -> Option<Entry> {
        let path = self.dir.join(key);
        let entry = decode(&fs::read(&path).ok()?)?;
        // Where the time of use cannot be written, the entry only goes earlier.
        let _ = fs::File::options()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(entry)
    }

    /// Keeps `entry` under that key.
    pub(crate) fn put(&self, key: &str, entry: &Entry) -> io::Result<()> {
        fs::create_dir_all(&self.dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(&encode(entry))?;
        file.persist(self.dir.join(key))?;
        Ok(())
    }

    /// Removes what was not used for the longest time, until the rest is within the limit. What a
    /// killed build left half-written goes in the same way.
    pub(crate) fn trim(&self) {
        let mut files = self.files();
        files.sort_by_key(|file| file.used);
        let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
        for file in files {
            if bytes <= self.limit {
                break;
            }
            // Another build may have removed it just now.
            let _ = fs::remove_file(&file.path);
            bytes -= file.bytes;
        }
    }

    /// The entries that are there, half-written ones too; none of a folder that cannot be read.
    fn files(&self) -> Vec<Kept> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let kept = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            // The user may have chosen a folder in which there is more.
            let path = Some(entry.path()).filter(|path| is_own(path))?;
            Some(Kept { path, bytes: meta.len(), used: meta.modified().ok()? })
        };
        entries.filter_map(kept).collect()
    }
}

/// A file of a cache.
struct Kept {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Whether the file begins as entries do.
fn is_own(path: &Path) -> bool {
    let mut start = [0; MARK.len()];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MARK.as_bytes()
}

/// The format, a line with the hash of the rest, the length of the warnings, they, the packed product.
fn encode(entry: &Entry) -> Vec<u8> {
    let length = (entry.warnings.len() as u64).to_le_bytes();
    let body = [&length[..], entry.warnings.as_bytes(), &entry.packed].concat();
    [FORMAT.as_bytes(), digest([body.as_slice()]).as_bytes(), b"\n", &body].concat()
}

fn decode(file: &[u8]) -> Option<Entry> {
    let rest = file.strip_prefix(FORMAT.as_bytes())?;
    let (hash, rest) = rest.split_at_checked(2 * Sha256::output_size())?;
    let body = rest.strip_prefix(b"\n")?;
    if digest([body]).as_bytes() != hash {
        return None;
    }
    let (length, rest) = body.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (warnings, packed) = rest.split_at_checked(length)?;
    let warnings = String::from_utf8(warnings.to_vec()).ok()?;
    Some(Entry { packed: packed.to_vec(), warnings })
}

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn entry(bytes: usize) -> Entry {
        Entry { packed: vec![7; bytes], warnings: "warning: é\n".to_owned() }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(digest([&b"ab"[..], b"c"]), digest([&b"a"[..], b"bc"]));
        // The SHA-256 of eight zero bytes, as for one empty part.
        let want = "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc";
        assert_eq!(digest([&b""[..]]), want);
    }

    #[test]
    fn products_are_kept_small() {
        let product = b"code ".repeat(1000);
        let entry = Entry::new(&product, String::new());
        assert!(entry.packed.len() < product.len() / 10);
        assert_eq!(entry.product(), product);
    }

    #[test]
    fn what_was_put_comes_back_and_no_damaged_byte_does() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ObjectCache::new(dir.path().join("new"));
        assert_eq!(cache.get("key"), None);
        cache.put("key", &entry(9)).unwrap();
        assert_eq!(cache.get("key"), Some(entry(9)));
        assert_eq!(cache.get("other"), None);
        let path = cache.dir().join("key");
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.get("key"), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.get("key"), None, "cut at {at}");
        }
        cache.put("key", &entry(9)).unwrap();
        assert_eq!(cache.get("key"), Some(entry(9)));
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ObjectCache::new(dir.path());
        for (key, age) in [("a", 40), ("b", 30), ("c", 20), ("d", 10)] {
            cache.put(key, &entry(1000)).unwrap();
            let file = fs::File::options().write(true).open(dir.path().join(key)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        assert!(cache.get("b").is_some());
        let Usage { entries, bytes } = cache.usage();
        assert_eq!(entries, 4);
        cache.clone().limited(bytes).trim();
        assert_eq!(cache.usage().entries, 4);
        cache.clone().limited(bytes / 2).trim();
        let left = ["a", "b", "c", "d"].map(|key| cache.get(key).is_some());
        assert_eq!(left, [false, true, false, true]);
        cache.limited(0).trim();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_of_others_are_neither_counted_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ObjectCache::new(dir.path());
        for (name, content) in [("notes", "no entry"), ("empty", ""), ("object", "hipkittens")] {
            fs::write(dir.path().join(name), content).unwrap();
        }
        cache.put("key", &entry(1000)).unwrap();
        let whole = fs::read(dir.path().join("key")).unwrap();
        // A killed build, and one of another version.
        fs::write(dir.path().join(".tmp1"), &whole[..100]).unwrap();
        fs::write(dir.path().join("old"), "hipkittens object 1\n").unwrap();
        let bytes = whole.len() as u64 + 120;
        assert_eq!(cache.usage(), Usage { entries: 3, bytes });
        cache.limited(0).trim();
        let left = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort();
        assert_eq!(left, ["empty", "notes", "object"]);
    }

    #[test]
    fn readers_and_writers_side_by_side_see_whole_entries() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ObjectCache::new(dir.path());
        cache.put("key", &entry(100_000)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..50).for_each(|_| cache.put("key", &entry(100_000)).unwrap()));
                scope.spawn(|| (0..200).for_each(|_| assert!(cache.get("key").is_some())));
            }
        });
        assert_eq!(cache.usage().entries, 1);
    }
}
