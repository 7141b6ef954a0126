//! The format of captured kernel launches.
//!
//! Each launch has a folder of its own, `NNNN-KERNEL`, numbered from 0001 in the order of launches:
//!
//! | file | holds |
//! |---|---|
//! | `launch.json` | everything below |
//! | `code.hsaco` | the code object, an ELF file |
//! | `before/NAME.bin` | each buffer as it was before the launch |
//! | `after/NAME.bin` | each buffer as it was afterwards; no `after` if the launch failed |
//!
//! A buffer is a whole allocation that some pointer argument leads into, or several that overlap,
//! named after the first argument that does. Fields of `launch.json`:
//!
//! | field | meaning |
//! |---|---|
//! | `format` | 1 |
//! | `kernel`, `arch`, `device` | kernel name, e.g. `gfx950`, name of the device that ran it |
//! | `grid`, `block` | workgroups, and work-items of a workgroup, in x, y, z |
//! | `dynamic_lds_bytes` | LDS beside what the kernel declares |
//! | `kernarg_bytes` | size of the explicit arguments; bytes that no argument covers are 0 |
//! | `args[].name, offset, size` | where in the argument bytes it is |
//! | `args[].kind` | `pointer`, a number type such as `f32`, or `bytes` |
//! | `args[].value` | the argument's bytes in hexadecimal; not for a pointer into a buffer |
//! | `args[].buffer, buffer_offset` | what a pointer leads to; absent for one to [nowhere](NOWHERE), as null is |
//! | `args[].const` | whether the kernel only reads what the pointer leads to, if it is known |
//! | `buffers[].name, bytes` | the buffers, with their sizes |
//! | `buffers[].dtype` | the element type, as far as the pointer's type tells |
//!
//! A capture needs nothing but its folder: no file outside it is named, numbers are little-endian,
//! and the format stays readable: a change that older readers cannot follow gets a new number in
//! `format`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// Version of the format.
pub const FORMAT: u32 = 1;

/// Addresses below have no memory: pointers that are not null, but lead to nothing, may have them.
pub const NOWHERE: u64 = 4096;

/// The file that describes a launch.
pub const DESCRIPTION: &str = "launch.json";

/// The file with the code object.
pub const CODE: &str = "code.hsaco";

/// Why a capture cannot be written or read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Contents that are not of the format.
    #[error("{}: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

hk_types::debug_is_message!(Error);

type Result<T> = std::result::Result<T, Error>;

/// The contents of `launch.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the kernel.
    pub kernel: String,
    /// Architecture of the device, such as `gfx950`.
    pub arch: String,
    /// Name of the device.
    pub device: String,
    /// Workgroups in x, y, z.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in x, y, z.
    pub block: [u32; 3],
    /// LDS beside what the kernel declares.
    pub dynamic_lds_bytes: u32,
    /// Size of the explicit arguments.
    pub kernarg_bytes: usize,
    /// The arguments.
    pub args: Vec<Arg>,
    /// The buffers that they lead to.
    pub buffers: Vec<Buffer>,
}

/// An argument, or a part of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// `pointer`, a number type such as `f32`, or `bytes`.
    pub kind: String,
    /// Where in the argument bytes it is.
    pub offset: usize,
    /// How many bytes it has.
    pub size: usize,
    /// Whether the kernel only reads what it leads to, if it is a pointer and this is known.
    #[serde(rename = "const", default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<bool>,
    /// What it holds.
    #[serde(flatten)]
    pub content: Content,
}

/// What an argument holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A pointer into a buffer.
    Buffer {
        /// Name of the buffer.
        buffer: String,
        /// How far behind its start.
        buffer_offset: u64,
    },
    /// Bytes.
    Value {
        /// In hexadecimal.
        value: String,
    },
}

impl Content {
    /// Bytes that lead to no buffer.
    pub fn value(bytes: &[u8]) -> Self {
        Self::Value { value: bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
    }
}

/// Bytes in hexadecimal; `None` if they are not.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}

/// A buffer: a whole allocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Name of the first argument that leads to it.
    pub name: String,
    /// Its size.
    pub bytes: usize,
    /// Its element type, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
}

/// When a buffer has its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the launch.
    Before,
    /// After the launch.
    After,
}

impl Moment {
    /// The folder of the buffers' contents.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// A capture that is being written.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
}

impl Writer {
    /// Makes the folder of the next number in `parent`, with the description and the code object.
    ///
    /// # Errors
    /// [`Error::Io`] if something cannot be written.
    pub fn new(parent: &Path, launch: &Launch, code: &[u8]) -> Result<Self> {
        let folder = new_folder(parent, &launch.kernel)?;
        let path = folder.join(DESCRIPTION);
        let json = serde_json::to_vec_pretty(launch)
            .map_err(|error| Error::Damaged { path: path.clone(), reason: error.to_string() })?;
        write(&path, &json)?;
        write(&folder.join(CODE), code)?;
        Ok(Self { folder })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins with the contents at a moment. For [`Moment::After`], this says that the launch
    /// succeeded.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be made.
    pub fn begin(&self, moment: Moment) -> Result<()> {
        let folder = self.folder.join(moment.folder());
        fs::create_dir(&folder).map_err(|source| Error::Io { path: folder, source })
    }

    /// Writes the contents of a buffer.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn save(&self, moment: Moment, buffer: &str, contents: &[u8]) -> Result<()> {
        write(&buffer_file(&self.folder, moment, buffer), contents)
    }
}

/// Makes the folder of the next number.
fn new_folder(parent: &Path, kernel: &str) -> Result<PathBuf> {
    // Two launches of this process must not look for the next number at the same time.
    static NUMBERING: Mutex<()> = Mutex::new(());
    let _guard = NUMBERING.lock().unwrap_or_else(PoisonError::into_inner);
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    fs::create_dir_all(parent).map_err(io(parent))?;
    let mut last = 0;
    for entry in fs::read_dir(parent).map_err(io(parent))? {
        let name = entry.map_err(io(parent))?.file_name();
        let number = name.to_str().and_then(|name| name.split_once('-')?.0.parse::<u32>().ok());
        last = last.max(number.unwrap_or(0));
    }
    // Symbols of templates are long and hold characters that some file systems refuse.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '_' };
    let name: String = kernel.chars().take(100).map(plain).collect();
    numbered_folder(parent, last.saturating_add(1), &name)
}

/// Makes the folder of the first number from `first` on that nobody has taken: another process may
/// capture into the same parent.
fn numbered_folder(parent: &Path, first: u32, name: &str) -> Result<PathBuf> {
    let mut number = first;
    loop {
        let path = parent.join(format!("{number:04}-{name}"));
        match (fs::create_dir(&path), number.checked_add(1)) {
            (Ok(()), _) => return Ok(path),
            (Err(error), Some(next)) if error.kind() == io::ErrorKind::AlreadyExists => {
                number = next;
            }
            (Err(source), _) => return Err(Error::Io { path, source }),
        }
    }
}

fn write(path: &Path, contents: &[u8]) -> Result<()> {
    fs::write(path, contents).map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// The file with the contents of a buffer.
pub fn buffer_file(folder: &Path, moment: Moment, buffer: &str) -> PathBuf {
    folder.join(moment.folder()).join(format!("{buffer}.bin"))
}

/// Reads the description of a captured launch.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Damaged`] if it is not of the known format.
pub fn read(folder: &Path) -> Result<Launch> {
    let path = folder.join(DESCRIPTION);
    let json = fs::read(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
    let damaged = |reason| Error::Damaged { path: path.clone(), reason };
    let launch: Launch =
        serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?;
    if launch.format == FORMAT {
        Ok(launch)
    } else {
        Err(damaged(format!("format {}, only {FORMAT} is known", launch.format)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(format: u32) -> Launch {
        let content = Content::Buffer { buffer: "x".into(), buffer_offset: 4 };
        let value = Content::value(&[0, 0xa7, 255]);
        let arg = |name: &str, offset, size, content| Arg {
            name: name.into(),
            kind: "bytes".into(),
            offset,
            size,
            constant: (size == 8).then_some(true),
            content,
        };
        Launch {
            format,
            kernel: "scale<float>(float*)".into(),
            arch: "gfx950".into(),
            device: "sim:mi355x".into(),
            grid: [1, 2, 3],
            block: [64, 1, 1],
            dynamic_lds_bytes: 0,
            kernarg_bytes: 11,
            args: vec![arg("x", 0, 8, content), arg("n", 8, 3, value)],
            buffers: vec![Buffer { name: "x".into(), bytes: 2, dtype: None }],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let parent = tempfile::tempdir().expect("a folder");
        let parent = parent.path().join("deep/er");
        for number in 1..=2 {
            let writer = Writer::new(&parent, &launch(FORMAT), b"code").expect("written");
            let name = format!("000{number}-scale_float__float__");
            assert_eq!(writer.folder(), parent.join(name));
            writer.begin(Moment::Before).expect("made");
            writer.save(Moment::Before, "x", b"ab").expect("written");
            let file = buffer_file(writer.folder(), Moment::Before, "x");
            assert_eq!(fs::read(file).expect("read"), b"ab");
            assert_eq!(read(writer.folder()).expect("read"), launch(FORMAT));
        }
        let newer = Writer::new(&parent, &launch(FORMAT + 1), b"").expect("written");
        let error = read(newer.folder()).expect_err("refused").to_string();
        assert!(error.contains("launch.json: format 2, only 1 is known"), "{error}");
    }

    #[test]
    fn a_number_that_another_process_takes_meanwhile_is_left_to_it() {
        let parent = tempfile::tempdir().expect("a folder");
        // Each has seen none of the others.
        for name in ["0001-k", "0002-k", "0003-k"] {
            let folder = numbered_folder(parent.path(), 1, "k").expect("made");
            assert_eq!(folder, parent.path().join(name));
        }
        let last = || numbered_folder(parent.path(), u32::MAX, "k");
        assert_eq!(last().expect("made"), parent.path().join("4294967295-k"));
        let error = last().expect_err("no number is left").to_string();
        assert!(error.contains("4294967295-k: "), "{error}");
    }

    #[test]
    fn hexadecimal() {
        assert_eq!(from_hex("00a7ff"), Some(vec![0, 0xa7, 255]));
        assert_eq!(from_hex("0"), None);
        assert_eq!(from_hex("0g"), None);
    }
}
