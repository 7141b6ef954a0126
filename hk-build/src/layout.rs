//! The memory layout of argument structs, as clang reports it for the device.
//!
//! Nothing here reads or writes files.

use std::collections::BTreeMap;

use hk_types::dtype::DType;
use hk_types::{ArgKind, Pointee};

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
    pub(crate) ty: Type,
}

/// The type of an argument, or of a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Number(ArgKind),
    Pointer(Pointee),
    Array(Box<Self>, u64),
    Struct(Layout),
}

impl Type {
    fn size(&self) -> u64 {
        match self {
            Self::Number(kind) => kind.size().into(),
            Self::Pointer(_) => 8,
            Self::Array(element, count) => element.size() * count,
            Self::Struct(layout) => layout.size,
        }
    }
}

/// A number, a pointer or an array somewhere in a struct.
pub(crate) struct Part<'l> {
    /// Where it is, as C++ would say it behind the struct's name and a dot.
    pub(crate) path: String,
    pub(crate) offset: u64,
    pub(crate) ty: &'l Type,
}

impl Layout {
    /// Every part; of an array the elements that are asked for, each with its index.
    fn parts<'l>(&'l self, path: &str, start: u64, elements: Elements, found: &mut Vec<Part<'l>>) {
        for Field { name, offset, ty } in &self.fields {
            let dot = if path.is_empty() { "" } else { "." };
            add_parts(ty, format!("{path}{dot}{name}"), start + offset, elements, found);
        }
    }

    /// Every part. `[]` in a path stands for all elements of an array, and the offset is that of
    /// the first.
    pub(crate) fn distinct_parts(&self) -> Vec<Part<'_>> {
        let mut found = Vec::new();
        self.parts("", 0, Elements::First, &mut found);
        found
    }

    /// Every pointer with its path, its offset and what it leads to.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = (String, u64, Pointee)> {
        let mut found = Vec::new();
        self.parts("", 0, Elements::All, &mut found);
        found.into_iter().filter_map(|Part { path, offset, ty }| match ty {
            Type::Pointer(pointee) => Some((path, offset, *pointee)),
            _ => None,
        })
    }
}

/// Which elements of an array are meant.
#[derive(Clone, Copy)]
enum Elements {
    First,
    All,
}

fn add_parts<'l>(
    ty: &'l Type,
    path: String,
    offset: u64,
    elements: Elements,
    found: &mut Vec<Part<'l>>,
) {
    match (ty, elements) {
        (Type::Struct(layout), _) => layout.parts(&path, offset, elements, found),
        (Type::Array(element, _), Elements::First) => {
            let first = format!("{path}[]");
            found.push(Part { path, offset, ty });
            add_parts(element, first, offset, elements, found);
        }
        (Type::Array(element, count), Elements::All) => {
            for i in 0..*count {
                let offset = offset + i * element.size();
                add_parts(element, format!("{path}[{i}]"), offset, elements, found);
            }
        }
        (Type::Number(_) | Type::Pointer(_), _) => found.push(Part { path, offset, ty }),
    }
}

/// The scalar types as clang spells them for the device.
const SCALARS: [(&str, ArgKind); 17] = [
    ("bool", ArgKind::Bool),
    ("_Bool", ArgKind::Bool),
    ("char", ArgKind::I8),
    ("signed char", ArgKind::I8),
    ("unsigned char", ArgKind::U8),
    ("short", ArgKind::I16),
    ("unsigned short", ArgKind::U16),
    ("int", ArgKind::I32),
    ("unsigned int", ArgKind::U32),
    ("long", ArgKind::I64),
    ("unsigned long", ArgKind::U64),
    ("long long", ArgKind::I64),
    ("unsigned long long", ArgKind::U64),
    ("float", ArgKind::F32),
    ("double", ArgKind::F64),
    ("_Float16", ArgKind::F16),
    ("__bf16", ArgKind::Bf16),
];

/// The types of elements as clang spells them. Bytes say nothing of what they are.
const ELEMENTS: [(&str, DType); 9] = [
    ("__bf16", DType::Bf16),
    ("_Float16", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("signed char", DType::I8),
    ("int", DType::I32),
    ("unsigned int", DType::U32),
    ("long", DType::I64),
    ("long long", DType::I64),
];

/// The layout of the struct `name` (with namespaces) in what clang printed.
///
/// On failure, says why the struct cannot be an argument.
pub(crate) fn find(dump: &str, name: &str) -> Result<Layout, String> {
    let records = records(dump);
    let found = ["struct", "class"].iter().find_map(|key| {
        let key = format!("{key} {name}");
        records.contains_key(key.as_str()).then_some(key)
    });
    let key = found.ok_or_else(|| format!("there is no struct `{name}`"))?;
    layout_of(&key, name, &records)
}

/// The layout of the record that the dump calls `key`.
fn layout_of(
    key: &str,
    name: &str,
    records: &BTreeMap<&str, Record<'_>>,
) -> Result<Layout, String> {
    let record = &records[key];
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
        let ty = type_of(ty, records).unwrap_or_else(|| Err(unsupported()))?;
        fields.push(Field { name: field.to_owned(), offset, ty });
    }
    Ok(Layout { name: name.to_owned(), size: record.size, fields })
}

/// A type that a field may have; `None` if it may not, an error if a struct in it may not.
fn type_of(ty: &str, records: &BTreeMap<&str, Record<'_>>) -> Option<Result<Type, String>> {
    if let Some((_, kind)) = SCALARS.iter().find(|(name, _)| *name == ty) {
        return Some(Ok(Type::Number(*kind)));
    }
    if let Some((element, count)) = array(ty) {
        let element = type_of(&element, records)?;
        return Some(element.map(|element| Type::Array(Box::new(element), count)));
    }
    if let Some(pointee) = pointee(ty) {
        return Some(Ok(Type::Pointer(constness_and_element(pointee))));
    }
    let name = ["struct ", "class "].iter().find_map(|key| ty.strip_prefix(key))?;
    records.contains_key(ty).then(|| layout_of(ty, name, records).map(Type::Struct))
}

/// What a pointer type leads to. clang writes that it is a vector behind the asterisk.
fn pointee(ty: &str) -> Option<&str> {
    let (pointee, rest) = ty.rsplit_once('*')?;
    let qualifiers = rest.split(" __attribute__((ext_vector_type(").next().unwrap_or(rest);
    matches!(qualifiers, "" | "__restrict" | "const" | "const __restrict")
        .then_some(pointee.trim_end())
}

/// Whether a type is `const`, and the element type that it is or is a vector of.
fn constness_and_element(ty: &str) -> Pointee {
    if let Some((_, qualifiers)) = ty.rsplit_once('*') {
        return Pointee { constant: Some(qualifiers.contains("const")), element: None };
    }
    let words = || ty.split_whitespace();
    let is_qualifier =
        |word: &&str| matches!(*word, "const" | "volatile") || word.starts_with("__attribute__");
    let scalar = words().filter(|word| !is_qualifier(word)).collect::<Vec<_>>().join(" ");
    let element = ELEMENTS.iter().find(|(name, _)| *name == scalar).map(|(_, element)| *element);
    Pointee { constant: Some(words().any(|word| word == "const")), element }
}

/// Element type and length of an array type. The bounds are outermost first: `int[2][3]` is two
/// times `int[3]`.
fn array(ty: &str) -> Option<(String, u64)> {
    let (element, bounds) = ty.strip_suffix(']')?.split_once('[')?;
    let (count, inner) = match bounds.split_once("][") {
        Some((count, inner)) => (count, format!("[{inner}]")),
        None => (bounds, String::new()),
    };
    Some((format!("{}{inner}", element.trim_end()), count.parse().ok()?))
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
       120 |     struct hk::View<float>[2][1] rows
       152 |     const unsigned char * name
       160 |   const volatile __attribute__((address_space(4))) int * c
           | [sizeof=168, dsize=168, align=8,
           |  nvsize=168, nvalign=8]

*** Dumping AST Record Layout
         0 | struct hk::Named
         0 |   struct hk::View<float>[2][1] rows
        32 |   const unsigned char * name
           | [sizeof=40, dsize=40, align=8,
           |  nvsize=40, nvalign=8]

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
         0 | struct Outer
         0 |   struct Derived[2] inner
           | [sizeof=16, dsize=16, align=4,
           |  nvsize=16, nvalign=4]

*** Dumping AST Record Layout
         0 | struct Colour
         0 |   enum Hue hue
           | [sizeof=4, dsize=4, align=4,
           |  nvsize=4, nvalign=4]
";

    #[test]
    fn parts_have_path_offset_and_type() {
        let layout = find(DUMP, "hk::Args").unwrap();
        assert_eq!(layout.size, 168);
        let text = |ty: &Type| match ty {
            Type::Number(kind) => kind.to_string(),
            Type::Pointer(pointee) => format!("-> {pointee}"),
            Type::Array(_, count) => format!("{count} times"),
            Type::Struct(_) => "a struct".to_owned(),
        };
        let parts: Vec<_> = layout
            .distinct_parts()
            .into_iter()
            .map(|part| format!("{} {} {}", part.path, part.offset, text(part.ty)))
            .collect();
        let want = [
            "x 0 -> const bf16",
            "v.p 8 -> mutable f32",
            "v.n 16 u32",
            "dims 24 2 times",
            "dims[] 24 3 times",
            "dims[][] 24 u32",
            "eps 48 f32",
            "last 52 bool",
            "views 56 2 times",
            "views[].p 56 -> mutable f32",
            "views[].n 64 u32",
            "more 88 2 times",
            "more[] 88 -> const void",
            "quads 104 -> const f32",
            // What is const here is a pointer; what that one leads to is not known.
            "table 112 -> const void",
            "named.rows 120 2 times",
            "named.rows[] 120 1 times",
            "named.rows[][].p 120 -> mutable f32",
            "named.rows[][].n 128 u32",
            "named.name 152 -> const void",
            "c 160 -> const i32",
        ];
        assert_eq!(parts, want);
    }

    #[test]
    fn pointers_are_found_however_deep_they_are() {
        let layout = find(DUMP, "hk::Args").unwrap();
        let pointers: Vec<_> =
            layout.pointers().map(|(path, offset, _)| format!("{path} {offset}")).collect();
        let want = [
            "x 0",
            "v.p 8",
            "views[0].p 56",
            "views[1].p 72",
            "more[0] 88",
            "more[1] 96",
            "quads 104",
            "table 112",
            "named.rows[0][0].p 120",
            "named.rows[1][0].p 136",
            "named.name 152",
            "c 160",
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
        // However deep it is.
        let error = find(DUMP, "Outer").unwrap_err();
        assert!(error.starts_with("`Derived` has `struct Odd (base)`; "), "{error}");
    }

    #[test]
    fn any_text_is_survived() {
        for text in ["", "*** Dumping AST Record Layout\n", "*** Dumping AST Record Layout\n | \n"]
        {
            assert!(find(text, "S").is_err());
        }
    }
}
