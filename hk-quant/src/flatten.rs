//! What ops have in common that make rows of matrices: `[.., h, n]` to `[.., h n]`.

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Element;
use hk_core::op::quant::{Quantised, ScaleLayout};
use hk_core::op::{Arguments, Call};
use hk_core::{Result, Tensor, TensorSlice};

/// Most parts of a row: the grid's second dimension.
const MOST_PARTS: usize = 65_535;

/// Most rows that parts are counted as.
const MOST_ROWS: usize = i32::MAX as usize;

/// The shape by name of what is quantised, and of its codes.
const MATRICES: &[&str] = &["..", "h", "n"];
pub(crate) const FLAT: &[&str] = &["..", "flat(h,n)"];

/// Rows in parts of `width` elements, and the distances from row to row and from part to part, in
/// elements of x and codes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) rows: usize,
    pub(crate) parts: usize,
    pub(crate) width: usize,
    pub(crate) x: [i64; 2],
    pub(crate) codes: [i64; 2],
}

impl Parts {
    /// Rows that are one part each, with the distances of x and of codes.
    pub(crate) fn whole([rows, width]: [usize; 2], x_stride: i64, codes_stride: i64) -> Self {
        Self { rows, parts: 1, width, x: [x_stride, 0], codes: [codes_stride, 0] }
    }

    /// Declares x, `[.., h, n]`, and the size of rows of codes. What is quantised is its
    /// [`copy_of_spread`], if there is one.
    ///
    /// # Errors
    /// Those of a declaration; [`Error::Shape`] also if h is 0 or too many.
    pub(crate) fn new<T: Element>(args: &mut Arguments, x: &TensorSlice<T>) -> Result<Self> {
        let declared = args.input("x", x, MATRICES);
        let strides = match is_spread(x) {
            true => declared.strides::<3>().map(|_| None)?,
            false => Some(declared.matrices()?),
        };
        let [rows, parts, width] = args.sizes(["..", "h", "n"])?;
        let x = strides.unwrap_or([parts * width, width].map(|stride| stride as i64));
        args.limit("h", 1..=MOST_PARTS)?;
        args.define(FLAT[1], parts * width);
        Ok(Self { rows, parts, width, x, codes: [0, width as i64] })
    }

    /// Declares scales of groups of so many elements, after codes, and gives their distances, from row
    /// to row and from group to group.
    ///
    /// # Errors
    /// Those of a declaration.
    pub(crate) fn scales<S: Element>(
        &mut self,
        args: &mut Arguments,
        scales: &mut TensorSlice<S>,
        layout: ScaleLayout,
        group: usize,
    ) -> Result<[i64; 2]> {
        let groups = self.width.div_ceil(group);
        let [mut row, group] = layout.output_of(args, scales, self.parts * groups)?;
        if layout == ScaleLayout::RowMajor {
            row = self.merge(groups, row);
        }
        Ok([row, group])
    }

    /// Counts parts as rows, if all are evenly spaced, with scales too: so many of each part, adjacent
    /// in rows that are so far apart. Gives the distance of the scales of rows.
    fn merge(&mut self, scales: usize, scales_stride: i64) -> i64 {
        let Self { rows, parts, width, x, codes } = *self;
        let is_even = |[row, part]: [i64; 2]| rows == 1 || row == parts as i64 * part;
        let are_even = is_even(x) && is_even(codes) && is_even([scales_stride, scales as i64]);
        if are_even && rows * parts <= MOST_ROWS {
            *self =
                Self { rows: rows * parts, parts: 1, width, x: [x[1], 0], codes: [codes[1], 0] };
            return scales as i64;
        }
        scales_stride
    }

    /// The largest distance of rows.
    pub(crate) fn stride(&self) -> i64 {
        self.x[0].max(self.codes[0])
    }
}

/// Whether elements of rows of `[m, h, n]` are apart.
fn is_spread<T: Element>(x: &TensorSlice<T>) -> bool {
    let has_rows = matches!(x.shape(), [_, _, n] if *n > 1) && !x.is_empty();
    has_rows && x.strides().last() != Some(&1)
}

/// A copy without gaps of x whose elements of rows are apart, as kernels take such that are adjacent.
///
/// # Errors
/// As [`TensorSlice::to_contiguous`].
pub(crate) fn copy_of_spread<T: Element>(
    call: &Call,
    x: &TensorSlice<T>,
) -> Result<Option<Tensor<T>>> {
    (is_spread(x) && !call.is_dry()).then(|| x.to_contiguous()).transpose()
}

/// Memory for the codes of x, in rows, and their scales, of groups of so many elements.
pub(crate) fn empty_flat<T: Element, C: Element, S: Element>(
    x: &TensorSlice<T>,
    layout: ScaleLayout,
    group: usize,
) -> Result<Quantised<C, S>> {
    // What has fewer dimensions is refused by the op.
    let (leading, [h, n]) = x.shape().split_last_chunk().unwrap_or((&[], &[1, 1]));
    let codes = Tensor::empty(x.stream(), &[leading, &[h * n]].concat())?;
    let scales = layout.shape_of(leading, h * n.div_ceil(group));
    Ok(Quantised { codes, scales: Tensor::empty(x.stream(), &scales)? })
}
