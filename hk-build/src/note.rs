//! The note about a kernel's arguments that its code object carries: see the README.

use std::fmt::Write as _;

use rmpv::Value;

use crate::layout::Layout;

/// Owner and type of the ELF note, and the version of its contents.
const OWNER: &str = "hipkittens";
const TYPE: u32 = 1;
const VERSION: u32 = 1;

/// C++ that puts the note into the code object of the kernel `symbol`. Sections whose name begins
/// so are notes to clang and to the linker.
pub(crate) fn source(symbol: &str, layout: &Layout) -> String {
    let contents = contents(symbol, layout);
    let (owner_size, size) = (OWNER.len() + 1, contents.len());
    let mut text = format!(
        "namespace {{\n__attribute__((device, used, retain, aligned(4), \
         section(\".note.{OWNER}\"))) const struct {{\n    \
         unsigned owner_size, size, type;\n    \
         __attribute__((aligned(4))) char owner[{owner_size}];\n    \
         __attribute__((aligned(4))) unsigned char contents[{size}];\n\
         }} hk_note asm(\".Lhk_note\") = {{{owner_size}, {size}, {TYPE}, \"{OWNER}\", {{"
    );
    for (index, byte) in contents.iter().enumerate() {
        let space = if index % 24 == 0 { "\n    " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}{byte},");
    }
    text + "\n}};\n}\n"
}

/// The note's contents, in MessagePack.
fn contents(symbol: &str, layout: &Layout) -> Vec<u8> {
    let map = |entries: Vec<(&str, Value)>| {
        Value::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    };
    let pointers = layout.pointers().map(|(path, offset, pointee)| {
        let mut entries = vec![("name", path.into()), ("offset", offset.into())];
        entries.extend(pointee.constant.map(|constant| ("const", constant.into())));
        entries.extend(pointee.element.map(|element| ("element", element.name().into())));
        map(entries)
    });
    let root = map(vec![
        ("version", VERSION.into()),
        ("kernel", symbol.into()),
        ("pointers", Value::Array(pointers.collect())),
    ]);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &root).expect("writing to memory succeeds");
    bytes
}
