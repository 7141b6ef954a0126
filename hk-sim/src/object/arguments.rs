//! The note of hk-build about a kernel's arguments (MessagePack; hk-build's README describes it).

use super::LoadError;
use super::metadata::{Map, read};

/// The version that is understood; others are left alone.
const VERSION: u32 = 1;

/// A pointer in the arguments of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgPointer {
    /// Where it is in the argument struct, such as `views[1].data`.
    pub name: String,
    /// Offset in the kernarg segment.
    pub offset: u32,
    /// Whether the kernel only reads what it leads to.
    pub is_const: bool,
    /// Name of the type of the elements that it leads to, if its type says so.
    pub element: Option<String>,
}

/// The kernel that a note is about and its pointers; `None` for another version.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(String, Vec<ArgPointer>)>, LoadError> {
    let root = read(bytes)?;
    let root = Map::new(&root, "note of hipkittens")?;
    if root.number("version")? != VERSION {
        return Ok(None);
    }
    let pointers = root.list("pointers")?.iter().map(|entry| {
        let entry = Map::new(entry, "pointers")?;
        Ok(ArgPointer {
            name: entry.str("name")?.to_owned(),
            offset: entry.number("offset")?,
            is_const: entry.flag("const")?,
            element: entry.optional_str("element")?.map(str::to_owned),
        })
    });
    Ok(Some((root.str("kernel")?.to_owned(), pointers.collect::<Result<_, LoadError>>()?)))
}
