//! Argument structs: what a kernel is given, and how its fields lie in memory.

use std::fmt;
use std::marker::PhantomData;

use crate::dtype::{DType, Element, bf16, f16};
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

impl<T: Element> DevicePtr<T> {
    /// The same address, of elements of another type.
    pub const fn cast<U: Element>(self) -> DevicePtr<U> {
        DevicePtr::new(self.address)
    }

    /// The pointer with its element type as a value.
    pub const fn any(self) -> AnyPtr {
        AnyPtr { address: self.address, element: Some(T::DTYPE) }
    }
}

/// Address in device memory of elements whose type is known when the program runs: what a kernel
/// takes that is made for several element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyPtr {
    address: u64,
    element: Option<DType>,
}

impl AnyPtr {
    /// The null pointer.
    pub const NULL: Self = Self { address: 0, element: None };

    /// Its address.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Elements of the same type at another address.
    pub(crate) const fn moved_to(self, address: u64) -> Self {
        Self { address, ..self }
    }

    /// The type of the elements; `None` for the null pointer.
    pub const fn element(self) -> Option<DType> {
        self.element
    }
}

impl<T: Element> From<DevicePtr<T>> for AnyPtr {
    fn from(pointer: DevicePtr<T>) -> Self {
        pointer.any()
    }
}

/// A value that a kernel's arguments may hold: numbers, pointers, arrays of these, and structs that
/// [`kernel_args!`](crate::kernel_args) defines.
pub trait ArgValue: Copy {
    /// What it is to the device.
    const TYPE: ArgType;

    /// Writes the value to `bytes`, which has the type's size. Padding is not touched.
    fn write_to(&self, bytes: &mut [u8]);

    /// Calls `found` with the place of each pointer in it, if it begins at `offset`, and with the
    /// type of the elements there, if that is known.
    fn elements(&self, _offset: u32, _found: &mut dyn FnMut(u32, DType)) {}
}

impl<T: Element> ArgValue for DevicePtr<T> {
    const TYPE: ArgType = ArgType::Pointer(Pointee { constant: None, element: Some(T::DTYPE) });

    fn write_to(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.address.to_le_bytes());
    }

    fn elements(&self, offset: u32, found: &mut dyn FnMut(u32, DType)) {
        found(offset, T::DTYPE);
    }
}

impl ArgValue for AnyPtr {
    const TYPE: ArgType = ArgType::Pointer(Pointee::ANY);

    fn write_to(&self, bytes: &mut [u8]) {
        bytes.copy_from_slice(&self.address.to_le_bytes());
    }

    fn elements(&self, offset: u32, found: &mut dyn FnMut(u32, DType)) {
        if let Some(element) = self.element {
            found(offset, element);
        }
    }
}

macro_rules! numbers {
    ($($ty:ty: $kind:ident),* $(,)?) => {$(
        impl ArgValue for $ty {
            const TYPE: ArgType = ArgType::Number(ArgKind::$kind);

            fn write_to(&self, bytes: &mut [u8]) {
                bytes.copy_from_slice(bytemuck::bytes_of(self));
            }
        }
    )*};
}

numbers!(
    bool: Bool, i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64,
    bf16: Bf16, f16: F16, f32: F32, f64: F64,
);

impl<V: ArgValue, const N: usize> ArgValue for [V; N] {
    const TYPE: ArgType = ArgType::Array(&V::TYPE, N as u32);

    fn write_to(&self, bytes: &mut [u8]) {
        for (value, bytes) in self.iter().zip(bytes.chunks_exact_mut(V::TYPE.size() as usize)) {
            value.write_to(bytes);
        }
    }

    fn elements(&self, offset: u32, found: &mut dyn FnMut(u32, DType)) {
        for (value, i) in self.iter().zip(0..) {
            value.elements(offset + i * V::TYPE.size(), found);
        }
    }
}

/// The arguments of a kernel, or a part of them. Written by [`kernel_args!`](crate::kernel_args);
/// no arguments are `()`.
pub trait KernelArgs: ArgValue {
    /// How they lie in the device's memory.
    const LAYOUT: ArgLayout;
}

impl ArgValue for () {
    const TYPE: ArgType = ArgType::Struct(&Self::LAYOUT);

    fn write_to(&self, _bytes: &mut [u8]) {}
}

impl KernelArgs for () {
    const LAYOUT: ArgLayout = ArgLayout { name: "()", fields: &[] };
}

/// Defines a struct of kernel arguments, with a description of how its fields lie in the device's
/// memory, by the rules of C, that is compared with the code object before anything is launched.
///
/// The kernel may take the fields as separate parameters, in this order, or the struct by value.
/// Fields are numbers, [`DevicePtr`]s, [`AnyPtr`]s, other such structs, and arrays of these. The
/// struct may have one type parameter, bounded by one trait.
///
/// ```
/// use hk_core::{AnyPtr, DevicePtr, dtype::Element, kernel_args};
///
/// kernel_args! {
///     /// A term of a sum.
///     pub struct Term {
///         /// Its values.
///         pub values: AnyPtr,
///         /// Its factor.
///         pub factor: f32,
///     }
/// }
///
/// kernel_args! {
///     /// Arguments of `sum`.
///     pub struct SumArgs<T: Element> {
///         /// Inputs.
///         pub terms: [Term; 2],
///         /// Output.
///         pub y: DevicePtr<T>,
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
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $name $(<$generic: $bound>)? {
            $($(#[$field_meta])* $field_vis $field: $ty,)+
        }

        impl $(<$generic: $bound>)? $crate::KernelArgs for $name $(<$generic>)? {
            const LAYOUT: $crate::kernel::ArgLayout = $crate::kernel::ArgLayout {
                name: stringify!($name),
                fields: &$crate::kernel::ArgField::place([
                    $((stringify!($field), <$ty as $crate::ArgValue>::TYPE),)+
                ]),
            };
        }

        impl $(<$generic: $bound>)? $crate::ArgValue for $name $(<$generic>)? {
            const TYPE: $crate::kernel::ArgType =
                $crate::kernel::ArgType::Struct(&<Self as $crate::KernelArgs>::LAYOUT);

            fn write_to(&self, bytes: &mut [u8]) {
                let mut fields = <Self as $crate::KernelArgs>::LAYOUT.fields.iter();
                $(if let Some(field) = fields.next() {
                    $crate::ArgValue::write_to(&self.$field, field.part(bytes));
                })+
            }

            fn elements(
                &self,
                offset: u32,
                found: &mut dyn FnMut(u32, $crate::dtype::DType),
            ) {
                let mut fields = <Self as $crate::KernelArgs>::LAYOUT.fields.iter();
                $(if let Some(field) = fields.next() {
                    $crate::ArgValue::elements(&self.$field, offset + field.offset, found);
                })+
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
            [only] => !only.is_pointer && only.size == layout.size() && only.offset == 0,
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
        let (fields, size) = (layout.fields.len(), layout.size());
        return Some(format!("it takes {takes}, {name} has {fields} fields in {size} bytes"));
    }
    let text = |offset: u32, size: u32, is_pointer: bool| {
        let kind = if is_pointer { "pointer" } else { "value" };
        format!("a {kind} of {size} bytes at offset {offset}")
    };
    layout.fields.iter().zip(args).find_map(|(field, arg)| {
        let is_pointer = matches!(field.ty, ArgType::Pointer(_));
        let same =
            (field.offset, field.ty.size(), is_pointer) == (arg.offset, arg.size, arg.is_pointer);
        (!same).then(|| {
            let ours = text(field.offset, field.ty.size(), is_pointer);
            let its = text(arg.offset, arg.size, arg.is_pointer);
            format!("it takes {its}, {name}.{} is {ours}", field.name)
        })
    })
}

/// The first difference between the struct's pointers and those that the code object notes.
fn pointer_mismatch(layout: &ArgLayout, noted: Option<&[PointerInfo]>) -> Option<String> {
    let (name, noted) = (layout.name, noted?);
    let (mut difference, mut count) = (None, 0);
    layout.pointers(&mut |offset, ours| {
        count += 1;
        let there = noted.iter().find(|pointer| pointer.offset == offset);
        if difference.is_some() || there.is_some_and(|its| its.pointee.agrees(ours)) {
            return;
        }
        let path = layout.path(offset);
        difference = Some(match there {
            Some(PointerInfo { name: its, pointee, .. }) => {
                format!("its {its} leads to {pointee}, {name}.{path} to {ours}")
            }
            None => format!("it has no pointer at offset {offset}, {name}.{path} is one"),
        });
    });
    // All of ours are among the noted ones, so that more of them are values here.
    if difference.is_none() && noted.len() > count {
        let mut ours = Vec::new();
        layout.pointers(&mut |offset, _| ours.push(offset));
        let extra = noted.iter().find(|pointer| !ours.contains(&pointer.offset))?;
        let path = layout.path(extra.offset);
        return Some(format!("its {} is a pointer, {name}.{path} is a value", extra.name));
    }
    difference
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((layout.name, layout.size(), layout.align()), ("Args", 32, 8));
        let fields: Vec<_> =
            layout.fields.iter().map(|f| (f.name, f.offset, f.ty.size())).collect();
        assert_eq!(fields, [("flag", 0, 1), ("x", 8, 8), ("a", 16, 12), ("n", 28, 4)]);
        let bf16 = Pointee { constant: None, element: Some(DType::Bf16) };
        assert_eq!(layout.fields[1].ty, ArgType::Pointer(bf16));
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

    kernel_args! {
        struct Operand { values: AnyPtr, r#type: u16 }
    }

    kernel_args! {
        struct Nested { n: u8, pairs: [[Operand; 2]; 2], last: DevicePtr<f32> }
    }

    /// The same in Rust's own words: the compiler lays it out as C does.
    #[repr(C)]
    struct Mirror {
        n: u8,
        pairs: [[(MirrorOperand,); 2]; 2],
        last: u64,
    }

    #[repr(C)]
    struct MirrorOperand {
        values: u64,
        kind: u16,
    }

    #[test]
    fn structs_and_arrays_nest() {
        let layout = Nested::LAYOUT;
        assert_eq!(layout.size() as usize, size_of::<Mirror>());
        let pairs = std::mem::offset_of!(Mirror, pairs);
        let kind = std::mem::offset_of!(MirrorOperand, kind);
        assert_eq!(layout.at("pairs").offset, pairs);
        assert_eq!(layout.at("pairs[][].type").offset, pairs + kind);
        assert!(layout.at("pairs[][].type").is_number(ArgKind::U16));
        assert_eq!((layout.at("pairs").count(), layout.at("pairs[]").count()), (2, 2));
        assert_eq!(layout.at("last").offset, std::mem::offset_of!(Mirror, last));
        assert!(layout.at("last").leads_to(Pointee { constant: Some(true), ..Pointee::ANY }));
        assert_eq!(layout.leaves(), 4);
        let third = (pairs + 2 * size_of::<MirrorOperand>()) as u32;
        assert_eq!(layout.path(third), "pairs[1][0].values");
        assert_eq!(layout.path(third + kind as u32), "pairs[1][0].type");

        let operand =
            |address| Operand { values: DevicePtr::<bf16>::new(address).any(), r#type: 9 };
        let pairs_of = [[operand(1), operand(2)], [operand(3), operand(4)]];
        let args = Nested { n: 5, pairs: pairs_of, last: DevicePtr::new(6) };
        let mut bytes = [0xee; size_of::<Mirror>()];
        args.write_to(&mut bytes);
        assert_eq!(bytes[third as usize..][..8], 3u64.to_le_bytes());
        assert_eq!(bytes[third as usize + kind..][..4], [9, 0, 0xee, 0xee]);
        assert_eq!((bytes[0], bytes[1]), (5, 0xee));
        let mut elements = Vec::new();
        args.elements(0, &mut |offset, element| elements.push((offset, element)));
        assert_eq!(elements[2], (third, DType::Bf16));
        assert_eq!(elements[4], (layout.at("last").offset as u32, DType::F32));
        assert_eq!(elements.len(), 5);
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
            struct Pointers { x: DevicePtr<bf16>, raw: AnyPtr, n: i64 }
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
        noted(&[(0, Some(true), None), (8, Some(false), None)]).unwrap();
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
