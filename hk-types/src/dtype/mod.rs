//! Element types: what they mean, and exact conversions between them on the host.
//!
//! The two FP8 families are distinct types. gfx942 computes with the *FNUZ* flavours
//! ([`F8E4M3Fnuz`], [`F8E5M2Fnuz`]), gfx950 with the *OCP* ones ([`F8E4M3`], [`F8E5M2`]); the same
//! byte means different numbers in each, so that mixing them up is a compile error, or an
//! error when an op is asked for what the chip does not have, never silently wrong data.
//!
//! | type | bits | bias | largest | infinity | NaN codes | source |
//! |---|---|---|---|---|---|---|
//! | [`bf16`] | 1, 8, 7 | 127 | 3.39e38 | yes | many | truncated IEEE binary32 |
//! | [`struct@f16`] | 1, 5, 10 | 15 | 65504 | yes | many | IEEE 754 binary16 |
//! | [`F8E4M3`] | 1, 4, 3 | 7 | 448 | no | 0x7f, 0xff | OCP OFP8 1.0 |
//! | [`F8E5M2`] | 1, 5, 2 | 15 | 57344 | yes | six | OCP OFP8 1.0 |
//! | [`F8E4M3Fnuz`] | 1, 4, 3 | 8 | 240 | no | 0x80 | CDNA3 ISA |
//! | [`F8E5M2Fnuz`] | 1, 5, 2 | 16 | 57344 | no | 0x80 | CDNA3 ISA |
//! | [`F6E2M3`] | 1, 2, 3 | 1 | 7.5 | no | none | OCP MX 1.0 |
//! | [`F6E3M2`] | 1, 3, 2 | 3 | 28 | no | none | OCP MX 1.0 |
//! | [`F4E2M1`] | 1, 2, 1 | 1 | 6 | no | none | OCP MX 1.0 |
//! | [`E8M0`] | 0, 8, 0 | 127 | 2^127 | no | 0xff | OCP MX 1.0 |
//!
//! Conversions round to nearest, ties to even, once, from `f32` or `f64`. The small formats
//! saturate unless the name says `overflowing`.

mod minifloat;
mod scale;
mod sixteen;
mod small;

use std::fmt;
use std::str::FromStr;

pub use half::{bf16, f16};
use minifloat::{Format, Overflow};
pub use scale::E8M0;
pub use small::{F4E2M1, F4x2E2M1, F6E2M3, F6E3M2, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz};

/// Calls a macro with every element type: variant, Rust type, name.
macro_rules! for_each_element {
    ($callback:ident) => {
        $callback! {
            Bf16: bf16 = "bf16", "bfloat16: 8 exponent bits, 7 mantissa bits.";
            F16: f16 = "f16", "IEEE 754 half precision.";
            F32: f32 = "f32", "IEEE 754 single precision.";
            F64: f64 = "f64", "IEEE 754 double precision.";
            I8: i8 = "i8", "8-bit two's complement integer.";
            U8: u8 = "u8", "8-bit unsigned integer; also a boolean, 0 or 1.";
            I32: i32 = "i32", "32-bit two's complement integer.";
            U32: u32 = "u32", "32-bit unsigned integer.";
            I64: i64 = "i64", "64-bit two's complement integer.";
            F8E4M3: F8E4M3 = "F8E4M3", "OCP e4m3, the flavour of gfx950.";
            F8E5M2: F8E5M2 = "F8E5M2", "OCP e5m2, the flavour of gfx950.";
            F8E4M3Fnuz: F8E4M3Fnuz = "F8E4M3Fnuz", "FNUZ e4m3, the flavour of gfx942.";
            F8E5M2Fnuz: F8E5M2Fnuz = "F8E5M2Fnuz", "FNUZ e5m2, the flavour of gfx942.";
            F4x2E2M1: F4x2E2M1 = "F4x2E2M1", "Two packed e2m1 numbers, the even one low.";
            E8M0: E8M0 = "E8M0", "Power-of-two block scale.";
        }
    };
}

macro_rules! define_dtype {
    ($($variant:ident: $ty:ty = $name:literal, $doc:literal;)*) => {
        /// An element type as a value, for messages, tables and files.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DType {
            $(#[doc = $doc] $variant,)*
        }

        impl DType {
            /// Every element type.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in messages and files: that of the Rust type.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Bytes of one storage element.
            pub const fn size(self) -> usize {
                match self { $(Self::$variant => size_of::<$ty>(),)* }
            }

            /// Logical values in one storage element: 2 for packed fp4, else 1.
            pub const fn pack(self) -> usize {
                match self { $(Self::$variant => <$ty as Element>::PACK,)* }
            }

            /// Appends the values that the bytes hold, converted to `f64`, in order. A trailing
            /// partial element is ignored.
            pub fn decode(self, bytes: &[u8], values: &mut Vec<f64>) {
                match self {
                    $(Self::$variant => decode_as::<$ty>(bytes, values),)*
                }
            }

            /// Bytes of the storage elements of the nearest numbers, as [`Element::encode`].
            pub fn encode(self, values: &[f64]) -> Vec<u8> {
                match self {
                    $(Self::$variant => bytemuck::pod_collect_to_vec(&<$ty>::encode(values)),)*
                }
            }
        }

        $(
            impl sealed::Sealed for $ty {}
        )*
    };
}

for_each_element!(define_dtype);

fn decode_as<T: Element>(bytes: &[u8], values: &mut Vec<f64>) {
    values.reserve(bytes.len() / size_of::<T>() * T::PACK);
    for chunk in bytes.chunks_exact(size_of::<T>()) {
        bytemuck::pod_read_unaligned::<T>(chunk).values(values);
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is not the name of an element type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown element type `{0}`")]
pub struct UnknownDType(pub String);

crate::debug_is_message!(UnknownDType);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(text: &str) -> Result<Self, UnknownDType> {
        let known = Self::ALL.iter().copied().find(|dtype| dtype.name() == text);
        known.ok_or_else(|| UnknownDType(text.to_owned()))
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A type that a tensor can hold.
pub trait Element: bytemuck::Pod + fmt::Debug + PartialEq + Send + Sync + sealed::Sealed {
    /// The type as a value.
    const DTYPE: DType;
    /// Logical values in one storage element.
    const PACK: usize = 1;

    /// Appends the logical values of this storage element, converted to `f64` (exact but for large
    /// `i64`).
    fn values(self, into: &mut Vec<f64>);

    /// The storage elements of the nearest numbers of this type: of a [`Scalar`] as
    /// [`from_f64`](Scalar::from_f64), of a packed type the same for each of its elements, of which
    /// there are whole storage elements.
    fn encode(values: &[f64]) -> Vec<Self>;
}

/// The numbers that storage elements hold, in order, converted to `f64`.
pub fn decode<T: Element>(elements: &[T]) -> Vec<f64> {
    let mut values = Vec::new();
    // Not compiled again, and perhaps not optimised, in each crate that calls it.
    T::DTYPE.decode(bytemuck::cast_slice(elements), &mut values);
    values
}

/// An element type of one number, convertible from and to `f64`.
///
/// From `f64`, the integers round to nearest, ties to even, and saturate (NaN gives 0); `f32`,
/// `bf16` and `f16` overflow to infinity; FP8 saturates.
pub trait Scalar: Element {
    /// The number, exact but for `i64` beyond 2^53.
    fn to_f64(self) -> f64;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
}

/// Marks the floating-point [`Scalar`] types.
pub trait Float: Scalar {
    /// Largest finite value.
    const MAX: f64;
}

/// The element types that kernels read and write as `f32`: bf16, f16 and f32.
pub trait Real: Float {
    /// The type as kernels' arguments name it; the enum `dtype` of `hk/types.h`.
    const CODE: u32;
}

impl Real for bf16 {
    const CODE: u32 = 0;
}

impl Real for f16 {
    const CODE: u32 = 1;
}

impl Real for f32 {
    const CODE: u32 = 2;
}

/// The 16-bit element types that the matrix units multiply: bf16 and f16.
pub trait Real16: Real {}

impl Real16 for bf16 {}

impl Real16 for f16 {}

macro_rules! scalar {
    ($($ty:ident, $variant:ident: $to:expr, $from:expr $(, $encode:expr)?;)*) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$variant;

            fn values(self, into: &mut Vec<f64>) {
                into.push(self.to_f64());
            }

            fn encode(values: &[f64]) -> Vec<Self> {
                scalar!(@encode values $(, $encode)?)
            }
        }

        impl Scalar for $ty {
            fn to_f64(self) -> f64 {
                ($to)(self)
            }

            fn from_f64(value: f64) -> Self {
                ($from)(value)
            }
        }
    )*};
    (@encode $values:expr) => {
        $values.iter().map(|value| Self::from_f64(*value)).collect()
    };
    (@encode $values:expr, $encode:expr) => {
        ($encode)($values)
    };
}

// `as` from float to integer saturates and maps NaN to 0. `half`'s own conversions from f64 round
// twice where the CPU converts f32 only, hence the codec.
scalar! {
    bf16, Bf16: f64::from, |v| bf16::from_bits(Format::BF16.encode(v, Overflow::Special)),
        sixteen::encode_bf16;
    f16, F16: f64::from, |v| f16::from_bits(Format::F16.encode(v, Overflow::Special)),
        sixteen::encode_f16;
    f32, F32: f64::from, |v: f64| v as f32;
    f64, F64: |v| v, |v| v;
    i8, I8: f64::from, |v: f64| v.round_ties_even() as i8;
    u8, U8: f64::from, |v: f64| v.round_ties_even() as u8;
    i32, I32: f64::from, |v: f64| v.round_ties_even() as i32;
    u32, U32: f64::from, |v: f64| v.round_ties_even() as u32;
    i64, I64: |v| v as f64, |v: f64| v.round_ties_even() as i64;
    F8E4M3, F8E4M3: F8E4M3::to_f64, F8E4M3::from_f64;
    F8E5M2, F8E5M2: F8E5M2::to_f64, F8E5M2::from_f64;
    F8E4M3Fnuz, F8E4M3Fnuz: F8E4M3Fnuz::to_f64, F8E4M3Fnuz::from_f64;
    F8E5M2Fnuz, F8E5M2Fnuz: F8E5M2Fnuz::to_f64, F8E5M2Fnuz::from_f64;
    E8M0, E8M0: E8M0::to_f64, E8M0::from_f64;
}

impl Element for F4x2E2M1 {
    const DTYPE: DType = DType::F4x2E2M1;
    const PACK: usize = 2;

    fn values(self, into: &mut Vec<f64>) {
        into.extend([self.low().to_f64(), self.high().to_f64()]);
    }

    fn encode(values: &[f64]) -> Vec<Self> {
        let pairs = values.as_chunks().0.iter();
        pairs
            .map(|pair| pair.map(F4E2M1::from_f64))
            .map(|[low, high]| Self::new(low, high))
            .collect()
    }
}

macro_rules! float {
    ($($ty:ty = $max:expr;)*) => {$(
        impl Float for $ty {
            const MAX: f64 = $max;
        }
    )*};
}

float! {
    bf16 = 3.389_531_389_251_535_5e38;
    f16 = 65_504.0;
    f32 = f32::MAX as f64;
    f64 = f64::MAX;
    F8E4M3 = 448.0;
    F8E5M2 = 57_344.0;
    F8E4M3Fnuz = 240.0;
    F8E5M2Fnuz = 57_344.0;
}
