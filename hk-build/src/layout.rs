//! The memory layout of argument structs, as clang reports it for the device.
//!
//! Nothing here reads or writes files.

use std::collections::BTreeMap;

/// Arguments by which clang's front end prints the layout of every complete struct.
pub(crate) const FLAGS: [&str; 5] = [
    "-fsyntax-only",
    "-Xclang",
    "-fdump-record-layouts-complete",
    "-Xclang",
    "-fdump-record-layouts-canonical",
];

/// A struct's size and fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    /// The variant of `hk_core::kernel::ArgKind`.
    pub(crate) kind: &'static str,
}

/// The scalar types as clang spells them for the device, with size and kind.
const SCALARS: [(&str, u64, &str); 17] = [
    ("bool", 1, "Bool"),
    ("_Bool", 1, "Bool"),
    ("char", 1, "I8"),
    ("signed char", 1, "I8"),
    ("unsigned char", 1, "U8"),
    ("short", 2, "I16"),
    ("unsigned short", 2, "U16"),
    ("int", 4, "I32"),
    ("unsigned int", 4, "U32"),
    ("long", 8, "I64"),
    ("unsigned long", 8, "U64"),
    ("long long", 8, "I64"),
    ("unsigned long long", 8, "U64"),
    ("float", 4, "F32"),
    ("double", 8, "F64"),
    ("_Float16", 2, BYTES),
    ("__bf16", 2, BYTES),
];

/// The kind of what is neither a scalar nor a pointer, where only place and size are compared.
pub(crate) const BYTES: &str = "Bytes";

/// The layout of the struct `name` (with namespaces) in what clang printed.
///
/// On failure, says why the struct cannot be an argument.
pub(crate) fn find(dump: &str, name: &str) -> Result<Layout, String> {
    let records = records(dump);
    let record = ["struct", "class"]
        .iter()
        .find_map(|key| records.get(format!("{key} {name}").as_str()))
        .ok_or_else(|| format!("there is no struct `{name}`"))?;
    let mut fields = Vec::new();
    for line in &record.fields {
        let unsupported = || {
            format!(
                "`{name}` has `{}`; arguments are made of pointers, bool, integers, float, double, \
                 and arrays and structs of these, without base classes or bit fields",
                line.text
            )
        };
        let offset = line.offset.parse().map_err(|_| unsupported())?;
        let (ty, field) = line.text.rsplit_once(' ').ok_or_else(unsupported)?;
        // Base classes and the like are printed with a remark in place of a name.
        if !field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(unsupported());
        }
        let (size, kind) = size_and_kind(ty, &records).ok_or_else(unsupported)?;
        fields.push(Field { name: field.to_owned(), offset, size, kind });
    }
    Ok(Layout { name: name.to_owned(), size: record.size, fields })
}

/// Size and kind of a type that a field may have.
fn size_and_kind(ty: &str, records: &BTreeMap<&str, Record<'_>>) -> Option<(u64, &'static str)> {
    if let Some((_, size, kind)) = SCALARS.iter().find(|(name, ..)| *name == ty) {
        return Some((*size, kind));
    }
    if let Some(element) = ty.strip_suffix(']') {
        // The bounds are outermost first: `int[2][3]` is two times `int[3]`.
        let (element, bounds) = element.split_once('[')?;
        let counts = bounds.split("][").map(str::parse::<u64>);
        let count = counts.reduce(|a, b| Ok(a?.saturating_mul(b?)))?.ok()?;
        let (size, _) = size_and_kind(element.trim_end(), records)?;
        return Some((size.checked_mul(count)?, BYTES));
    }
    let is_pointer = ["*", "*__restrict", "*const", "*const __restrict"]
        .iter()
        .any(|suffix| ty.ends_with(suffix));
    if is_pointer {
        return Some((8, "Pointer"));
    }
    records.get(ty).map(|record| (record.size, BYTES))
}

struct Record<'a> {
    size: u64,
    fields: Vec<Line<'a>>,
}

/// A line about a direct member: its offset and its type and name.
struct Line<'a> {
    offset: &'a str,
    text: &'a str,
}

/// The records in the dump by their names (`struct S`). A block of it looks like this, with nested
/// members indented further:
///
/// ```text
/// *** Dumping AST Record Layout
///          0 | struct S
///          0 |   float * x
///          8 |   unsigned int n
///            | [sizeof=16, dsize=16, align=8,
///            |  nvsize=16, nvalign=8]
/// ```
fn records(dump: &str) -> BTreeMap<&str, Record<'_>> {
    let mut records = BTreeMap::new();
    for block in dump.split("*** Dumping AST Record Layout\n").skip(1) {
        let mut lines = block.lines().map_while(|line| line.split_once(" | "));
        let Some((_, name)) = lines.next() else { continue };
        let name = name.strip_suffix(" (empty)").unwrap_or(name);
        let mut fields = Vec::new();
        for (offset, text) in lines {
            if let Some(sizes) = text.strip_prefix("[sizeof=") {
                let digits = sizes.split(',').next().unwrap_or_default();
                if let Ok(size) = digits.parse() {
                    records.insert(name, Record { size, fields });
                }
                break;
            }
            match text.strip_prefix("  ") {
                Some(member) if !member.starts_with(' ') => {
                    fields.push(Line { offset: offset.trim(), text: member });
                }
                _ => {}
            }
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "
*** Dumping AST Record Layout
         0 | struct hk::View<float>
         0 |   float * p
         8 |   unsigned int n
           | [sizeof=16, dsize=16, align=8,
           |  nvsize=16, nvalign=8]

*** Dumping AST Record Layout
         0 | struct hk::Args
         0 |   const __bf16 *__restrict x
         8 |   struct hk::View<float> v
         8 |     float * p
        16 |     unsigned int n
        24 |   unsigned int[2][3] dims
        48 |   float eps
        52 |   bool last
           | [sizeof=56, dsize=56, align=8,
           |  nvsize=56, nvalign=8]

*** Dumping AST Record Layout
         0 | struct Odd
     0:0-2 |   unsigned int bit
           | [sizeof=4, dsize=4, align=4,
           |  nvsize=4, nvalign=4]

*** Dumping AST Record Layout
         0 | struct Derived
         0 |   struct Odd (base)
     0:0-2 |     unsigned int bit
         4 |   int x
           | [sizeof=8, dsize=8, align=4,
           |  nvsize=8, nvalign=4]

*** Dumping AST Record Layout
         0 | struct Colour
         0 |   enum Hue hue
           | [sizeof=4, dsize=4, align=4,
           |  nvsize=4, nvalign=4]
";

    #[test]
    fn fields_have_name_offset_size_and_kind() {
        let layout = find(DUMP, "hk::Args").unwrap();
        assert_eq!(layout.size, 56);
        let fields: Vec<_> =
            layout.fields.iter().map(|f| (f.name.as_str(), f.offset, f.size, f.kind)).collect();
        let want = [
            ("x", 0, 8, "Pointer"),
            ("v", 8, 16, "Bytes"),
            ("dims", 24, 24, "Bytes"),
            ("eps", 48, 4, "F32"),
            ("last", 52, 1, "Bool"),
        ];
        assert_eq!(fields, want);
    }

    #[test]
    fn what_cannot_be_an_argument_is_named() {
        assert_eq!(find(DUMP, "Args").unwrap_err(), "there is no struct `Args`");
        for (name, what) in [
            ("Odd", "unsigned int bit"),
            ("Derived", "struct Odd (base)"),
            ("Colour", "enum Hue hue"),
        ] {
            let error = find(DUMP, name).unwrap_err();
            assert!(error.starts_with(&format!("`{name}` has `{what}`; ")), "{error}");
        }
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["", "*** Dumping AST Record Layout\n", "*** Dumping AST Record Layout\n | \n"]
        {
            assert!(find(text, "S").is_err());
        }
    }
}
