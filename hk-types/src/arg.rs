//! What kernels' arguments are made of.

use std::fmt;

use crate::dtype::DType;

/// A number in a kernel's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A truth value.
    Bool,
    /// A signed 8-bit integer.
    I8,
    /// An unsigned 8-bit integer.
    U8,
    /// A signed 16-bit integer.
    I16,
    /// An unsigned 16-bit integer.
    U16,
    /// A signed 32-bit integer.
    I32,
    /// An unsigned 32-bit integer.
    U32,
    /// A signed 64-bit integer.
    I64,
    /// An unsigned 64-bit integer.
    U64,
    /// A bfloat16.
    Bf16,
    /// A 16-bit floating-point number.
    F16,
    /// A 32-bit floating-point number.
    F32,
    /// A 64-bit floating-point number.
    F64,
}

impl ArgKind {
    /// Its name: that of the Rust type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Its size in bytes, which is also its alignment.
    pub const fn size(self) -> u32 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::Bf16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl fmt::Display for ArgKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the type of a pointer says of the memory that it leads to; what it leaves open is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pointee {
    /// Whether the kernel only reads it.
    pub constant: Option<bool>,
    /// The type of its elements.
    pub element: Option<DType>,
}

impl Pointee {
    /// Any memory.
    pub const ANY: Self = Self { constant: None, element: None };

    /// Whether nothing that both say differs.
    pub const fn agrees(self, other: Self) -> bool {
        let constness = match (self.constant, other.constant) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        let elements = match (self.element, other.element) {
            (Some(a), Some(b)) => a as u8 == b as u8,
            _ => true,
        };
        constness && elements
    }
}

impl fmt::Display for Pointee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constness = match self.constant {
            Some(true) => "const ",
            Some(false) => "mutable ",
            None => "",
        };
        write!(f, "{constness}{}", self.element.map_or("void", DType::name))
    }
}
