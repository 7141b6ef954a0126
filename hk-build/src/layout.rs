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
    /// The pointers in it, those of nested structs and arrays too, by offset.
    pub(crate) pointers: Vec<Pointer>,
}

/// A pointer somewhere in a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// Where it is, as C++ would say it behind the struct's name and a dot.
    pub(crate) path: String,
    pub(crate) offset: u64,
    /// Whether what it leads to is `const`.
    pub(crate) constant: bool,
    /// The variant of `hk_core::dtype::DType` that its elements are, if its type says so: bytes and
    /// `void` do not.
    pub(crate) element: Option<&'static str>,
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

/// The types of elements as clang spells them, with their variants of `hk_core::dtype::DType`.
const ELEMENTS: [(&str, &str); 9] = [
    ("__bf16", "Bf16"),
    ("_Float16", "F16"),
    ("float", "F32"),
    ("double", "F64"),
    ("signed char", "I8"),
    ("int", "I32"),
    ("unsigned int", "U32"),
    ("long", "I64"),
    ("long long", "I64"),
];

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
    let mut pointers = Vec::new();
    find_in_members(record, "", 0, &records, &mut pointers);
    for pointer in &mut pointers {
        pointer.path.remove(0);
    }
    Ok(Layout { name: name.to_owned(), size: record.size, fields, pointers })
}

/// Adds the pointers among the members of a record at `start`. Their paths begin with a dot.
fn find_in_members(
    record: &Record<'_>,
    path: &str,
    start: u64,
    records: &BTreeMap<&str, Record<'_>>,
    found: &mut Vec<Pointer>,
) {
    for line in &record.fields {
        // Bit fields hold no pointers.
        let Ok(offset) = line.offset.parse::<u64>() else { continue };
        // The members of a base class are the struct's own.
        let base =
            [" (base)", " (primary base)"].iter().find_map(|kind| line.text.strip_suffix(kind));
        if let Some(base) = base {
            find_pointers(base, path, start + offset, records, found);
        } else if let Some((ty, name)) = line.text.rsplit_once(' ') {
            find_pointers(ty, &format!("{path}.{name}"), start + offset, records, found);
        }
    }
}

/// Adds the pointers in a value of that type at `start`.
fn find_pointers(
    ty: &str,
    path: &str,
    start: u64,
    records: &BTreeMap<&str, Record<'_>>,
    found: &mut Vec<Pointer>,
) {
    if let Some(pointee) = pointee(ty) {
        let (constant, element) = constness_and_element(pointee);
        found.push(Pointer { path: path.to_owned(), offset: start, constant, element });
    } else if let Some((element, count)) = array(ty) {
        let mut inside = Vec::new();
        find_pointers(element, "", 0, records, &mut inside);
        let size = size_and_kind(element, records).map_or(0, |(size, _)| size);
        // Without pointers there is nothing to repeat, however long the array is.
        let count = if inside.is_empty() { 0 } else { count };
        for index in 0..count {
            found.extend(inside.iter().map(|pointer| Pointer {
                path: format!("{path}[{index}]{}", pointer.path),
                offset: start + index * size + pointer.offset,
                ..pointer.clone()
            }));
        }
    } else if let Some(record) = records.get(ty) {
        find_in_members(record, path, start, records, found);
    }
}

/// What a pointer type leads to. clang writes that it is a vector behind the asterisk.
fn pointee(ty: &str) -> Option<&str> {
    let (pointee, rest) = ty.rsplit_once('*')?;
    let qualifiers = rest.split(" __attribute__((ext_vector_type(").next().unwrap_or(rest);
    matches!(qualifiers, "" | "__restrict" | "const" | "const __restrict")
        .then_some(pointee.trim_end())
}

/// Whether a type is `const`, and the element type that it is or is a vector of.
fn constness_and_element(ty: &str) -> (bool, Option<&'static str>) {
    if let Some((_, qualifiers)) = ty.rsplit_once('*') {
        return (qualifiers.contains("const"), None);
    }
    let words = || ty.split_whitespace();
    let is_qualifier =
        |word: &&str| matches!(*word, "const" | "volatile") || word.starts_with("__attribute__");
    let scalar = words().filter(|word| !is_qualifier(word)).collect::<Vec<_>>().join(" ");
    let element = ELEMENTS.iter().find(|(name, _)| *name == scalar).map(|(_, variant)| *variant);
    (words().any(|word| word == "const"), element)
}

/// Element type and length of an array type. The bounds are outermost first: `int[2][3]` is two
/// times `int[3]`.
fn array(ty: &str) -> Option<(&str, u64)> {
    let (element, bounds) = ty.strip_suffix(']')?.split_once('[')?;
    let counts = bounds.split("][").map(str::parse::<u64>);
    let count = counts.reduce(|a, b| Ok(a?.saturating_mul(b?)))?.ok()?;
    Some((element.trim_end(), count))
}

/// Size and kind of a type that a field may have.
fn size_and_kind(ty: &str, records: &BTreeMap<&str, Record<'_>>) -> Option<(u64, &'static str)> {
    if let Some((_, size, kind)) = SCALARS.iter().find(|(name, ..)| *name == ty) {
        return Some((*size, kind));
    }
    if let Some((element, count)) = array(ty) {
        let (size, _) = size_and_kind(element, records)?;
        return Some((size.checked_mul(count)?, BYTES));
    }
    if pointee(ty).is_some() {
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
        56 |   struct hk::View<float>[2] views
        88 |   const void *const[2] more
       104 |   float const * __attribute__((ext_vector_type(4))) quads
       112 |   float *const *__restrict table
       120 |   struct hk::Named named
       120 |     struct hk::View<float> (base)
       120 |       float * p
       128 |       unsigned int n
       136 |     const unsigned char * name
       144 |   const volatile __attribute__((address_space(4))) int * c
           | [sizeof=152, dsize=152, align=8,
           |  nvsize=152, nvalign=8]

*** Dumping AST Record Layout
         0 | struct hk::Named
         0 |   struct hk::View<float> (base)
         0 |     float * p
         8 |     unsigned int n
        16 |   const unsigned char * name
           | [sizeof=24, dsize=24, align=8,
           |  nvsize=24, nvalign=8]

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
        assert_eq!(layout.size, 152);
        let fields: Vec<_> =
            layout.fields.iter().map(|f| (f.name.as_str(), f.offset, f.size, f.kind)).collect();
        let want = [
            ("x", 0, 8, "Pointer"),
            ("v", 8, 16, "Bytes"),
            ("dims", 24, 24, "Bytes"),
            ("eps", 48, 4, "F32"),
            ("last", 52, 1, "Bool"),
            ("views", 56, 32, "Bytes"),
            ("more", 88, 16, "Bytes"),
            ("quads", 104, 8, "Pointer"),
            ("table", 112, 8, "Pointer"),
            ("named", 120, 24, "Bytes"),
            ("c", 144, 8, "Pointer"),
        ];
        assert_eq!(fields, want);
    }

    #[test]
    fn pointers_are_found_however_deep_they_are() {
        let layout = find(DUMP, "hk::Args").unwrap();
        let pointers: Vec<_> = layout
            .pointers
            .iter()
            .map(|p| (p.path.as_str(), p.offset, p.constant, p.element))
            .collect();
        let want = [
            ("x", 0, true, Some("Bf16")),
            ("v.p", 8, false, Some("F32")),
            ("views[0].p", 56, false, Some("F32")),
            ("views[1].p", 72, false, Some("F32")),
            ("more[0]", 88, true, None),
            ("more[1]", 96, true, None),
            ("quads", 104, true, Some("F32")),
            // What is const here is a pointer; what that one leads to is not known.
            ("table", 112, true, None),
            ("named.p", 120, false, Some("F32")),
            ("named.name", 136, true, None),
            ("c", 144, true, Some("I32")),
        ];
        assert_eq!(pointers, want);
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
