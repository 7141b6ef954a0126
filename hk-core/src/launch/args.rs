//! Argument structs: what a kernel is given, and how its fields lie in memory.

use std::fmt;
use std::marker::PhantomData;

use crate::dtype::{E8M0, Element, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, bf16, f16};
use crate::kernel::{ArgKind, ArgLayout, ArgType, Pointee};
use crate::metadata::{ArgInfo, KernelInfo, PointerInfo};
use crate::{Error, Result};

/// Address of a `T` in device memory, as a kernel's pointer parameter takes it.
///
/// It keeps nothing alive; memory that launched work uses is safe all the same, as it is freed in
/// stream order.
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    target: PhantomData<fn() -> T>,
}

impl<T> DevicePtr<T> {
    /// The null pointer.
    pub const NULL: Self = Self::new(0);

    /// The pointer with that address.
    pub const fn new(address: u64) -> Self {
        Self { address, target: PhantomData }
    }

    /// Its address.
    pub const fn address(self) -> u64 {
        self.address
    }
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePtr<T> {}

impl<T> PartialEq for DevicePtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePtr<T> {}

impl<T> fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.address)
    }
}

/// The bytes of a value that may be a field of an argument struct.
pub trait ArgBytes: ArgType {
    /// Writes the value to `bytes`, which has its size.
    fn write_to(&self, bytes: &mut [u8]);
}

impl<T: Element> ArgType for DevicePtr<T> {
    const KIND: ArgKind = ArgKind::Pointer;
    const POINTEE: Pointee = Pointee { constant: None, element: Some(T::DTYPE) };
}

impl<T: Element> ArgBytes for DevicePtr<T> {
    fn write_to(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.address.to_le_bytes());
    }
}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl ArgBytes for $ty {
            fn write_to(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(bytemuck::bytes_of(self));
            }
        }
    )*};
}

plain!(bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64);
plain!(bf16, f16, F8E4M3, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz, E8M0);

macro_rules! opaque {
    ($($ty:ty),*) => {$(
        impl ArgType for $ty {
            const KIND: ArgKind = ArgKind::Bytes;
        }
    )*};
}

opaque!(bf16, f16, F8E4M3, F8E5M2, F8E4M3Fnuz, F8E5M2Fnuz, E8M0);

impl<V: ArgType, const N: usize> ArgType for [V; N] {
    const KIND: ArgKind = ArgKind::Bytes;
}

impl<V: ArgBytes, const N: usize> ArgBytes for [V; N] {
    fn write_to(&self, bytes: &mut [u8]) {
        for (value, bytes) in self.iter().zip(bytes.chunks_exact_mut(size_of::<V>().max(1))) {
            value.write_to(bytes);
        }
    }
}

/// The arguments of a kernel. Written by [`kernel_args!`](crate::kernel_args); no arguments are
/// `()`.
pub trait KernelArgs: Copy {
    /// Its fields, in memory order, as the `#[repr(C)]` struct has them.
    const LAYOUT: ArgLayout;

    /// Writes the fields to `bytes`, which has the struct's size, at their offsets. Padding is not
    /// touched.
    fn write_to(&self, bytes: &mut [u8]);
}

impl KernelArgs for () {
    const LAYOUT: ArgLayout = ArgLayout { name: "()", size: 0, fields: &[] };

    fn write_to(&self, _bytes: &mut [u8]) {}
}

/// Defines a `#[repr(C)]` struct of kernel arguments, with a description of its fields that is
/// compared with the code object before anything is launched.
///
/// The kernel may take the fields as separate parameters, in this order, or the struct by value.
/// Fields are numbers, [`DevicePtr`]s, and arrays of these. The struct may have one type
/// parameter, bounded by one trait.
///
/// ```
/// use hk_core::{DevicePtr, dtype::Element, kernel_args};
///
/// kernel_args! {
///     /// Arguments of `axpy`.
///     pub struct AxpyArgs<T: Element> {
///         /// Input.
///         pub x: DevicePtr<T>,
///         /// Output.
///         pub y: DevicePtr<T>,
///         /// Factor.
///         pub a: f32,
///         /// Number of elements.
///         pub n: i32,
///     }
/// }
/// ```
#[macro_export]
macro_rules! kernel_args {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$generic:ident: $bound:path>)? {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        $vis struct $name $(<$generic: $bound>)? {
            $($(#[$field_meta])* $field_vis $field: $ty,)*
        }

        impl $(<$generic: $bound>)? $crate::KernelArgs for $name $(<$generic>)? {
            const LAYOUT: $crate::kernel::ArgLayout = $crate::kernel::ArgLayout {
                name: stringify!($name),
                size: size_of::<Self>() as u32,
                fields: &[$($crate::kernel::ArgField {
                    name: stringify!($field),
                    offset: ::core::mem::offset_of!(Self, $field) as u32,
                    size: size_of::<$ty>() as u32,
                    kind: <$ty as $crate::kernel::ArgType>::KIND,
                    pointee: <$ty as $crate::kernel::ArgType>::POINTEE,
                },)*],
            };

            fn write_to(&self, bytes: &mut [u8]) {
                $(
                    let start = ::core::mem::offset_of!(Self, $field);
                    let end = start + size_of::<$ty>();
                    $crate::ArgBytes::write_to(&self.$field, &mut bytes[start..end]);
                )*
            }
        }
    };
}

/// How a kernel takes an argument struct, with the end of the last argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding {
    /// Bytes of the explicit arguments.
    pub(crate) bytes: usize,
}

impl Binding {
    /// Compares an argument struct with a kernel's parameters.
    pub(crate) fn check(layout: &ArgLayout, kernel: &KernelInfo) -> Result<Self> {
        let by_value = match kernel.args.as_slice() {
            [only] => !only.is_pointer && only.size == layout.size && only.offset == 0,
            _ => false,
        };
        if !by_value && let Some(reason) = mismatch(layout, &kernel.args) {
            return Err(Error::Layout { kernel: kernel.name.clone(), reason });
        }
        if let Some(reason) = pointer_mismatch(layout, kernel.pointers.as_deref()) {
            return Err(Error::Layout { kernel: kernel.name.clone(), reason });
        }
        let end = kernel.args.iter().map(|arg| arg.offset.saturating_add(arg.size)).max();
        Ok(Self { bytes: end.unwrap_or(0) as usize })
    }
}

/// The first difference between the fields and separate parameters.
fn mismatch(layout: &ArgLayout, args: &[ArgInfo]) -> Option<String> {
    let name = layout.name;
    if layout.fields.len() != args.len() {
        let takes = match args {
            [arg] => format!("one parameter of {} bytes", arg.size),
            _ => format!("{} parameters", args.len()),
        };
        let (fields, size) = (layout.fields.len(), layout.size);
        return Some(format!("it takes {takes}, {name} has {fields} fields in {size} bytes"));
    }
    let text = |offset: u32, size: u32, is_pointer: bool| {
        let kind = if is_pointer { "pointer" } else { "value" };
        format!("a {kind} of {size} bytes at offset {offset}")
    };
    layout.fields.iter().zip(args).find_map(|(field, arg)| {
        let ours = text(field.offset, field.size, field.kind == ArgKind::Pointer);
        let its = text(arg.offset, arg.size, arg.is_pointer);
        (ours != its).then(|| format!("it takes {its}, {name}.{} is {ours}", field.name))
    })
}

/// The first difference between the fields and the pointers that the code object notes.
fn pointer_mismatch(layout: &ArgLayout, noted: Option<&[PointerInfo]>) -> Option<String> {
    let (name, noted) = (layout.name, noted?);
    layout.fields.iter().find_map(|field| {
        let there = noted.iter().find(|pointer| pointer.offset == field.offset);
        match (field.kind, there) {
            // An array or a struct may begin with a pointer.
            (ArgKind::Bytes, _) => None,
            (ArgKind::Pointer, Some(pointer)) if field.pointee.agrees(pointer.pointee) => None,
            (ArgKind::Pointer, Some(pointer)) => Some(format!(
                "its {} leads to {}, {name}.{} to {}",
                pointer.name, pointer.pointee, field.name, field.pointee
            )),
            (ArgKind::Pointer, None) => Some(format!(
                "it has no pointer at offset {}, {name}.{} is one",
                field.offset, field.name
            )),
            (_, Some(pointer)) => {
                Some(format!("its {} is a pointer, {name}.{} is a value", pointer.name, field.name))
            }
            (_, None) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    kernel_args! {
        struct Args<T: Element> {
            flag: u8,
            x: DevicePtr<T>,
            a: [f32; 3],
            n: i32,
        }
    }

    /// Offset, size, whether it is a pointer.
    type Parameter = (u32, u32, bool);

    fn kernel(args: &[Parameter]) -> KernelInfo {
        let args = args
            .iter()
            .map(|&(offset, size, is_pointer)| ArgInfo { offset, size, is_pointer })
            .collect();
        KernelInfo { name: "k".into(), args, ..KernelInfo::default() }
    }

    #[test]
    fn the_macro_describes_the_struct() {
        let layout = Args::<bf16>::LAYOUT;
        assert_eq!((layout.name, layout.size), ("Args", 32));
        let fields: Vec<_> = layout.fields.iter().map(|f| (f.name, f.offset, f.size)).collect();
        assert_eq!(fields, [("flag", 0, 1), ("x", 8, 8), ("a", 16, 12), ("n", 28, 4)]);
        let elements: Vec<_> = layout.fields.iter().map(|f| f.pointee.element).collect();
        assert_eq!(elements, [None, Some(DType::Bf16), None, None]);
    }

    #[test]
    fn fields_are_written_at_their_offsets_and_padding_is_left() {
        let args = Args::<f32> { flag: 7, x: DevicePtr::new(0x1122), a: [1.0, 2.0, 3.0], n: -1 };
        let mut bytes = [0xee; 32];
        args.write_to(&mut bytes);
        assert_eq!(bytes[..8], [7, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee]);
        assert_eq!(bytes[8..16], 0x1122u64.to_le_bytes());
        assert_eq!(bytes[20..24], 2f32.to_le_bytes());
        assert_eq!(bytes[28..], [0xff; 4]);
    }

    #[test]
    fn both_forms_of_parameters_are_accepted() {
        let layout = Args::<f32>::LAYOUT;
        let separate = kernel(&[(0, 1, false), (8, 8, true), (16, 12, false), (28, 4, false)]);
        assert_eq!(Binding::check(&layout, &separate).unwrap(), Binding { bytes: 32 });
        let by_value = kernel(&[(0, 32, false)]);
        assert_eq!(Binding::check(&layout, &by_value).unwrap(), Binding { bytes: 32 });
        assert_eq!(Binding::check(&<()>::LAYOUT, &kernel(&[])).unwrap(), Binding { bytes: 0 });
    }

    #[test]
    fn every_difference_of_layout_is_refused_and_named() {
        let cases: [(&[Parameter], &str); 5] = [
            (&[(0, 24, false)], "it takes one parameter of 24 bytes, Args has 4 fields in 32"),
            (&[], "it takes 0 parameters, Args has 4 fields"),
            (
                &[(0, 1, false), (8, 8, false), (16, 12, false), (28, 4, false)],
                "it takes a value of 8 bytes at offset 8, Args.x is a pointer of 8 bytes",
            ),
            (
                &[(0, 1, false), (8, 8, true), (16, 12, false), (28, 8, false)],
                "it takes a value of 8 bytes at offset 28, Args.n is a value of 4 bytes",
            ),
            (
                &[(0, 1, false), (8, 8, true), (24, 12, false), (28, 4, false)],
                "at offset 24, Args.a is a value of 12 bytes at offset 16",
            ),
        ];
        for (args, expected) in cases {
            let error = Binding::check(&Args::<f32>::LAYOUT, &kernel(args)).unwrap_err();
            assert!(matches!(&error, Error::Layout { kernel, .. } if kernel == "k"));
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn noted_pointers_that_differ_are_refused_and_named() {
        kernel_args! {
            struct Pointers { x: DevicePtr<bf16>, raw: DevicePtr<u8>, n: i64 }
        }
        let noted = |pointers: &[(u32, Option<bool>, Option<DType>)]| {
            let info = |&(offset, constant, element)| PointerInfo {
                name: format!("p{offset}"),
                offset,
                pointee: Pointee { constant, element },
            };
            let kernel = kernel(&[(0, 24, false)]);
            let pointers = Some(pointers.iter().map(info).collect());
            Binding::check(&Pointers::LAYOUT, &KernelInfo { pointers, ..kernel })
        };
        let raw = (8, Some(false), Some(DType::F32));
        noted(&[(0, Some(true), Some(DType::Bf16)), raw]).unwrap();
        noted(&[(0, Some(true), None), raw]).unwrap();
        for (pointers, expected) in [
            (
                &[(0, Some(true), Some(DType::F16)), raw][..],
                "its p0 leads to const f16, Pointers.x to bf16",
            ),
            (&[raw], "it has no pointer at offset 0, Pointers.x is one"),
            (
                &[(0, Some(true), None), raw, (16, None, None)],
                "its p16 is a pointer, Pointers.n is a value",
            ),
        ] {
            let error = noted(pointers).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
