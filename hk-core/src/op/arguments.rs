//! Arguments of an op: declared once each, checked together.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::Call;
use super::record::{self, ArgumentInfo};
use super::sizes::Sizes;
use crate::dtype::{DType, Element};
use crate::order::Use;
use crate::tensor::Region;
use crate::{Error, Result, TensorSlice};

/// Whether an op reads an argument or writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// It is read.
    Input,
    /// It is written; it shares memory with no other argument, except as
    /// [`may_be`](Argument::may_be) permits.
    Output,
}

/// The memory layouts that an op takes of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strides {
    /// Row-major without gaps.
    Contiguous,
    /// Elements of a row are adjacent, rows are evenly spaced.
    Rows,
    /// Elements of a row are adjacent, rows are anywhere.
    Adjacent,
    /// Any.
    Any,
}

/// The arguments of one call of an op, as they are declared.
///
/// Shapes are declared by name: `&["m", "k"]` is a matrix, `".."` at the front stands for any
/// number of leading dimensions, `"2"` for itself. The argument that first has a name gives the
/// size its value, and each later one must agree: in an error, the later one is wrong.
#[derive(Debug)]
pub struct Arguments {
    op: &'static str,
    declared: Vec<Declared>,
    sizes: Sizes,
}

/// An argument and what is said of it.
#[derive(Debug)]
struct Declared {
    name: &'static str,
    role: Role,
    dtype: DType,
    dims: &'static [&'static str],
    strides: Strides,
    alignment: usize,
    may_be: Option<&'static str>,
    /// Whether the op takes the vector as a matrix of one row, too.
    or_row: bool,
    /// Whether the element type means the same to every chip, because the op says so.
    portable: bool,
    region: Region,
}

/// An argument that is being declared. The last word is the layout that the op takes:
/// [`contiguous`](Self::contiguous), [`rows`](Self::rows), [`matrices`](Self::matrices),
/// [`adjacent`](Self::adjacent) or [`strides`](Self::strides).
#[must_use = "an argument is declared by the layout that it may have"]
#[derive(Debug)]
pub struct Argument<'a> {
    arguments: &'a mut Arguments,
    declared: Declared,
}

impl Arguments {
    /// None yet, of the op of that name.
    pub const fn new(op: &'static str) -> Self {
        Self { op, declared: Vec::new(), sizes: Sizes::new() }
    }

    /// Declares a tensor that the op reads, by its name and its shape.
    pub fn input<T: Element>(
        &mut self,
        name: &'static str,
        tensor: &TensorSlice<T>,
        dims: &'static [&'static str],
    ) -> Argument<'_> {
        self.argument(name, Role::Input, T::DTYPE, dims, tensor.region())
    }

    /// Declares a tensor that the op writes, by its name and its shape.
    pub fn output<T: Element>(
        &mut self,
        name: &'static str,
        tensor: &mut TensorSlice<T>,
        dims: &'static [&'static str],
    ) -> Argument<'_> {
        self.argument(name, Role::Output, T::DTYPE, dims, tensor.region())
    }

    fn argument(
        &mut self,
        name: &'static str,
        role: Role,
        dtype: DType,
        dims: &'static [&'static str],
        region: Region,
    ) -> Argument<'_> {
        let declared = Declared {
            name,
            role,
            dtype,
            dims,
            strides: Strides::Any,
            alignment: 1,
            may_be: None,
            or_row: false,
            portable: false,
            region,
        };
        Argument { arguments: self, declared }
    }

    /// Names a size that follows from others, such as `ceil(n/32)`.
    pub fn define(&mut self, name: &'static str, value: usize) {
        self.sizes.define(name, value);
    }

    /// The sizes of those names; that of `".."` is the product of the leading dimensions.
    ///
    /// # Errors
    /// [`Error::Value`] if no argument so far has a size of that name.
    pub fn sizes<const N: usize>(&self, names: [&'static str; N]) -> Result<[usize; N]> {
        let mut sizes = [0; N];
        for (size, name) in sizes.iter_mut().zip(names) {
            *size = self.size(name)?;
        }
        Ok(sizes)
    }

    fn size(&self, name: &'static str) -> Result<usize> {
        let size = self.sizes.get(name);
        size.ok_or_else(|| Error::value(self.op, name, "a size of an argument", "none"))
    }

    /// Requires a size to be in a range.
    ///
    /// # Errors
    /// [`Error::Shape`] for the argument that gave the size its value, or [`Error::Value`] if it
    /// was [defined](Self::define), if it is not in the range.
    pub fn limit(&self, size: &'static str, range: RangeInclusive<usize>) -> Result<()> {
        let value = self.size(size)?;
        if range.contains(&value) {
            return Ok(());
        }
        let constraint = if value < *range.start() {
            format!("at least {}", range.start())
        } else {
            format!("at most {}", range.end())
        };
        self.require_size(size, false, constraint)
    }

    /// Requires something of a size.
    ///
    /// # Errors
    /// As [`limit`](Self::limit), if it does not hold.
    pub fn require_size(
        &self,
        size: &'static str,
        holds: bool,
        constraint: impl Display,
    ) -> Result<()> {
        if holds {
            return Ok(());
        }
        let value = self.size(size)?;
        let Some(of) = self.sizes.origin(size).and_then(|at| self.declared.get(at)) else {
            return Err(Error::value(self.op, size, constraint.to_string(), value));
        };
        let name = if size == ".." { "the number of rows" } else { size };
        let (expected, got) = (format!("[{}]", of.dims.join(", ")), of.shape().to_vec());
        let why = format!("{name} is {value}, and must be {constraint}");
        Err(Error::Shape { op: self.op, arg: of.name, expected, got, why })
    }

    /// Requires something of an argument that is no tensor.
    ///
    /// # Errors
    /// [`Error::Value`] if it does not hold.
    pub fn require(
        &self,
        holds: bool,
        arg: &'static str,
        constraint: impl Display,
        got: impl Display,
    ) -> Result<()> {
        if holds {
            return Ok(());
        }
        Err(Error::value(self.op, arg, constraint.to_string(), got))
    }

    /// Requires that outputs share memory with no other argument, but as declared.
    ///
    /// # Errors
    /// [`Error::Alias`] if one does. [`Error::Value`] if no argument was declared.
    pub fn check(self) -> Result<Call> {
        let Self { op, declared, .. } = self;
        for (at, output) in declared.iter().enumerate() {
            if output.role == Role::Input {
                continue;
            }
            // Of two outputs, the later one is wrong.
            let others = declared.iter().enumerate();
            let others = others.filter(|(other, of)| of.role == Role::Input || *other < at);
            for (_, other) in others {
                if output.spoils(other) {
                    return Err(Error::Alias { op, a: output.name, b: other.name });
                }
            }
        }
        let Some(stream) = declared.first().map(|first| first.region.stream.clone()) else {
            return Err(Error::value(op, "arguments", "at least one", 0));
        };
        let dry = record::note(op, || declared.iter().map(Declared::info).collect());
        let uses = declared.into_iter().map(Declared::into_use).collect();
        Ok(Call { op, stream, uses, workspace: None, has_workspace: false, dry })
    }
}

impl Declared {
    fn shape(&self) -> &[usize] {
        self.region.layout.shape()
    }

    /// Whether this output shares memory with another argument as it must not.
    fn spoils(&self, other: &Self) -> bool {
        let is_permitted =
            other.may_be == Some(self.name) && self.region.is_same_view(&other.region);
        !is_permitted && self.region.overlaps(&other.region)
    }

    fn info(&self) -> ArgumentInfo {
        let Self { name, role, dtype, dims, strides, alignment, may_be, or_row, .. } = *self;
        let shape = self.shape().to_vec();
        ArgumentInfo { name, role, dtype, dims, shape, strides, alignment, may_be, or_row }
    }

    fn into_use(self) -> Use {
        Use::new(self.region.buffer, self.role == Role::Output)
    }
}

impl Argument<'_> {
    /// Permits an input to be the output of that name: the same view, each of whose elements the op
    /// reads before it writes the one in its place.
    pub fn may_be(mut self, output: &'static str) -> Self {
        self.declared.may_be = Some(output);
        self
    }

    /// Says that the op takes a vector as a matrix of one row, too, which it then declares as such.
    pub fn or_row(mut self) -> Self {
        self.declared.or_row = true;
        self
    }

    /// Requires the first element to be at a multiple of so many bytes.
    pub fn aligned(mut self, bytes: usize) -> Self {
        self.declared.alignment = bytes;
        self
    }

    /// Takes an element type of any chip, such as the OCP codes of MX formats. Else a type of 8-bit
    /// floating point has to be the one that the chip computes with.
    pub fn portable(mut self) -> Self {
        self.declared.portable = true;
        self
    }

    /// Requires that there are no gaps between elements.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Stream`] if the argument is not where the first one is,
    /// [`Error::ArchMismatch`] if its element type is not the chip's,
    /// [`Error::Shape`] if it has another shape, [`Error::Value`] if it is not aligned, and
    /// [`Error::Stride`] if it has another layout.
    pub fn contiguous(mut self) -> Result<()> {
        self.place()?;
        if !self.declared.region.layout.is_contiguous() {
            return Err(self.stride_error("no gaps between elements"));
        }
        self.declare(Strides::Contiguous)
    }

    /// Requires that the elements of a row, the innermost dimension, are adjacent, and rows evenly
    /// spaced. Gives the distance from row to row in elements.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn rows(mut self) -> Result<i64> {
        self.place()?;
        let Some(stride) = self.declared.region.layout.row_stride() else {
            return Err(self.stride_error("adjacent elements in evenly spaced rows"));
        };
        self.declare(Strides::Rows)?;
        Ok(stride as i64)
    }

    /// Requires that the elements of a row, the innermost dimension, are adjacent, and matrices,
    /// the two innermost, evenly spaced. Gives the distance from matrix to matrix, and from row to
    /// row of one, in elements.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous).
    pub fn matrices(mut self) -> Result<[i64; 2]> {
        self.place()?;
        let Some(strides) = self.declared.region.layout.matrix_strides() else {
            return Err(self.stride_error("adjacent elements in evenly spaced matrices"));
        };
        self.declare(Strides::Any)?;
        Ok(strides.map(|stride| stride as i64))
    }

    /// Takes any layout. Gives the distance between neighbours of each dimension, in elements.
    ///
    /// # Errors
    /// As [`contiguous`](Self::contiguous); [`Error::Shape`] also if there are not `N` dimensions.
    pub fn strides<const N: usize>(mut self) -> Result<[i64; N]> {
        self.place()?;
        let strides = self.layout()?;
        self.declare(Strides::Any)?;
        Ok(strides)
    }

    /// Requires that the elements of a row, the innermost dimension, are adjacent. Gives the
    /// distance between neighbours of each dimension, in elements.
    ///
    /// # Errors
    /// As [`strides`](Self::strides).
    pub fn adjacent<const N: usize>(mut self) -> Result<[i64; N]> {
        self.place()?;
        let strides = self.layout()?;
        let layout = &self.declared.region.layout;
        if let (Some(row), Some(stride)) = (layout.shape().last(), strides.last())
            && *row > 1
            && *stride != 1
        {
            return Err(self.stride_error("adjacent elements in rows"));
        }
        self.declare(Strides::Adjacent)?;
        Ok(strides)
    }

    fn layout<const N: usize>(&self) -> Result<[i64; N]> {
        let Ok(strides) = <[usize; N]>::try_from(self.declared.region.layout.strides()) else {
            return Err(self.shape_error(format!("[{N} dimensions]"), "what the op takes".into()));
        };
        Ok(strides.map(|stride| stride as i64))
    }

    /// Checks everything but the strides.
    fn place(&mut self) -> Result<()> {
        let Self { arguments: Arguments { op, declared: others, sizes }, declared } = self;
        let Declared { name, dims, alignment, ref region, .. } = *declared;
        if let Some(first) = others.first() {
            first.region.check_same_stream(op, first.name, region, name)?;
        }
        if !declared.portable {
            let arch = region.stream.device().arch();
            let (dtype, native) = (declared.dtype, arch.native(declared.dtype));
            if dtype != native {
                let use_instead = native.name();
                return Err(Error::ArchMismatch { op, arg: name, dtype, arch, use_instead });
            }
        }
        let index = others.len();
        if let Err(differs) = sizes.bind(index, dims, region.layout.shape()) {
            let mut why = format!("it is [{}]", dims.join(", "));
            for (dim, of) in differs {
                let of = &others[of];
                why += &format!(", {dim} as in {} {:?}", of.name, of.shape());
            }
            let expected = sizes.expected(index, dims);
            return Err(self.shape_error(expected, why));
        }
        let address = region.placement.start;
        if !address.is_multiple_of(alignment as u64) {
            let constraint = format!("aligned to {alignment} bytes");
            return Err(Error::value(op, name, constraint, format!("{address:#x}")));
        }
        Ok(())
    }

    fn declare(mut self, strides: Strides) -> Result<()> {
        let is_output = self.declared.role == Role::Output;
        if is_output && !self.declared.region.layout.is_injective() {
            return Err(self.stride_error("an element of its own at every index"));
        }
        self.declared.strides = strides;
        self.arguments.declared.push(self.declared);
        Ok(())
    }

    fn shape_error(&self, expected: String, why: String) -> Error {
        let (op, arg, got) =
            (self.arguments.op, self.declared.name, self.declared.shape().to_vec());
        Error::Shape { op, arg, expected, got, why }
    }

    fn stride_error(&self, expected: &'static str) -> Error {
        let Declared { name: arg, ref region, .. } = self.declared;
        let (shape, got) = (region.layout.shape().to_vec(), region.layout.strides().to_vec());
        Error::Stride { op: self.arguments.op, arg, expected, shape, got }
    }
}
