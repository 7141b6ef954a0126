//! How argument structs lie in memory.

use std::fmt::Write as _;

pub use hk_types::{ArgKind, Pointee};

/// The memory layout of a kernel's argument struct, by the rules of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgLayout {
    /// The name of the struct.
    pub name: &'static str,
    /// Its fields, in memory order.
    pub fields: &'static [ArgField],
}

/// A field of an argument struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgField {
    /// The field's name.
    pub name: &'static str,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its type.
    pub ty: ArgType,
}

/// The type of an argument, or of a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgType {
    /// A number.
    Number(ArgKind),
    /// An address in device memory.
    Pointer(Pointee),
    /// So many elements.
    Array(&'static Self, u32),
    /// A struct.
    Struct(&'static ArgLayout),
}

impl ArgType {
    /// Its size in bytes.
    pub const fn size(self) -> u32 {
        match self {
            Self::Number(kind) => kind.size(),
            Self::Pointer(_) => 8,
            Self::Array(element, count) => element.size() * count,
            Self::Struct(layout) => layout.size(),
        }
    }

    /// Its alignment in bytes.
    pub const fn align(self) -> u32 {
        match self {
            Self::Number(kind) => kind.size(),
            Self::Pointer(_) => 8,
            Self::Array(element, _) => element.align(),
            Self::Struct(layout) => layout.align(),
        }
    }

    /// Numbers and pointers in it; an array counts as one element.
    const fn leaves(self) -> usize {
        match self {
            Self::Number(_) | Self::Pointer(_) => 1,
            Self::Array(element, _) => element.leaves(),
            Self::Struct(layout) => layout.leaves(),
        }
    }

    fn has_pointers(self) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Pointer(_) => true,
            Self::Array(element, _) => element.has_pointers(),
            Self::Struct(layout) => layout.fields.iter().any(|field| field.ty.has_pointers()),
        }
    }

    /// Calls `found` with the offset of each pointer, and what it leads to.
    fn pointers(self, offset: u32, found: &mut dyn FnMut(u32, Pointee)) {
        match self {
            Self::Number(_) => {}
            Self::Pointer(pointee) => found(offset, pointee),
            Self::Array(element, count) if element.has_pointers() => {
                (0..count).for_each(|i| element.pointers(offset + i * element.size(), found));
            }
            Self::Array(..) => {}
            Self::Struct(layout) => {
                let fields = layout.fields.iter();
                fields.for_each(|field| field.ty.pointers(offset + field.offset, found));
            }
        }
    }
}

impl ArgField {
    /// Gives fields their places, by the rules of C. For [`kernel_args!`](crate::kernel_args).
    pub const fn place<const N: usize>(fields: [(&'static str, ArgType); N]) -> [Self; N] {
        let mut placed = [Self { name: "", offset: 0, ty: ArgType::Number(ArgKind::U8) }; N];
        let (mut i, mut end) = (0, 0u32);
        while i < N {
            let (name, ty) = fields[i];
            // A name that is a keyword is written r#name.
            let name = match name.as_bytes() {
                [b'r', b'#', ..] => name.split_at(2).1,
                _ => name,
            };
            let offset = end.next_multiple_of(ty.align());
            placed[i] = Self { name, offset, ty };
            end = offset + ty.size();
            i += 1;
        }
        placed
    }

    /// The field's part of the struct's bytes.
    pub fn part<'b>(&self, bytes: &'b mut [u8]) -> &'b mut [u8] {
        let start = self.offset as usize;
        &mut bytes[start..start + self.ty.size() as usize]
    }
}

/// Where a part of an argument struct is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgPlace {
    /// Its offset in bytes.
    pub offset: usize,
    /// Its type.
    pub ty: ArgType,
}

impl ArgPlace {
    /// Elements, if it is an array; else 1.
    pub const fn count(&self) -> usize {
        match self.ty {
            ArgType::Array(_, count) => count as usize,
            _ => 1,
        }
    }

    /// Whether it is a number of that kind.
    pub const fn is_number(&self, kind: ArgKind) -> bool {
        matches!(self.ty, ArgType::Number(own) if own as u8 == kind as u8)
    }

    /// Whether it is a pointer that may lead there.
    pub const fn leads_to(&self, pointee: Pointee) -> bool {
        matches!(self.ty, ArgType::Pointer(own) if own.agrees(pointee))
    }
}

impl ArgLayout {
    /// The struct's size in bytes.
    pub const fn size(&self) -> u32 {
        let end = match self.fields {
            [.., last] => last.offset + last.ty.size(),
            [] => 0,
        };
        end.next_multiple_of(self.align())
    }

    /// The struct's alignment in bytes.
    pub const fn align(&self) -> u32 {
        let (mut i, mut align) = (0, 1);
        while i < self.fields.len() {
            let own = self.fields[i].ty.align();
            align = if own > align { own } else { align };
            i += 1;
        }
        align
    }

    /// Numbers and pointers in it, of an array those of one element. For the assertions that
    /// hk-build generates.
    pub const fn leaves(&self) -> usize {
        let (mut i, mut leaves) = (0, 0);
        while i < self.fields.len() {
            leaves += self.fields[i].ty.leaves();
            i += 1;
        }
        leaves
    }

    /// Where the part with that path is, such as `steps[].a.number`; `[]` stands for the first
    /// element of an array. For the assertions that hk-build generates: without such a part, it
    /// stops the compilation.
    #[track_caller]
    pub const fn at(&self, path: &str) -> ArgPlace {
        let path = path.as_bytes();
        let (mut fields, mut offset, mut start) = (self.fields, 0, 0);
        loop {
            let mut end = start;
            while end < path.len() && path[end] != b'.' && path[end] != b'[' {
                end += 1;
            }
            let mut i = 0;
            while i < fields.len() && !is_part(fields[i].name, path, start, end) {
                i += 1;
            }
            assert!(i < fields.len(), "the struct in Rust has no such field");
            offset += fields[i].offset as usize;
            let mut ty = fields[i].ty;
            while end < path.len() && path[end] == b'[' {
                let ArgType::Array(element, _) = ty else { panic!("it is no array in Rust") };
                (ty, end) = (*element, end + 2);
            }
            if end == path.len() {
                return ArgPlace { offset, ty };
            }
            let ArgType::Struct(layout) = ty else { panic!("it is no struct in Rust") };
            (fields, start) = (layout.fields, end + 1);
        }
    }

    /// Calls `found` with the offset of each pointer, and what it leads to, in order.
    pub(crate) fn pointers(&self, found: &mut dyn FnMut(u32, Pointee)) {
        self.fields.iter().for_each(|field| field.ty.pointers(field.offset, found));
    }

    /// The path of what is at that offset, such as `steps[2].a.number`.
    pub(crate) fn path(&self, offset: u32) -> String {
        let (mut path, mut layout, mut offset) = (String::new(), self, offset);
        while let Some(field) = layout.fields.iter().rfind(|field| field.offset <= offset) {
            path += field.name;
            offset -= field.offset;
            let mut ty = field.ty;
            while let ArgType::Array(element, _) = ty {
                let size = element.size().max(1);
                // Writing to a string cannot fail.
                let _ = write!(path, "[{}]", offset / size);
                (ty, offset) = (*element, offset % size);
            }
            let ArgType::Struct(inner) = ty else { break };
            path.push('.');
            layout = inner;
        }
        path
    }
}

/// Whether a name is that part of a path.
const fn is_part(name: &str, path: &[u8], start: usize, end: usize) -> bool {
    let name = name.as_bytes();
    let mut same = name.len() == end - start;
    let mut i = 0;
    while same && i < name.len() {
        same = name[i] == path[start + i];
        i += 1;
    }
    same
}
