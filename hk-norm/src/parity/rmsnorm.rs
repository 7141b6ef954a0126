//! How a case of `rmsnorm` or `fused_add_rmsnorm` is drawn and run.

use hk_core::dtype::{DType, Real};
use hk_core::{Result, Stream, TensorSlice};
use hk_ref::draw::to_f64;
use hk_ref::norm::rmsnorm::{Normalised, add, expect_rstd, expect_y, rmsnorm as reference};
use hk_ref::{Case, CaseInfo, Draw, Expected, Guarded, Placement, Prepared, Size};

use crate::{
    FusedAddRmsnormOut, RmsnormOptions, RmsnormOut, RowOptions, fused_add_rmsnorm_into,
    rmsnorm_into,
};

/// A case as data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) shape: [usize; 2],
    pub(crate) fused: bool,
    pub(crate) draw: Draw,
    pub(crate) eps: f32,
    pub(crate) offset: f32,
    pub(crate) rstd: bool,
    /// `y` is `x`, and in the fused op `residual_out` is `residual`.
    pub(crate) in_place: bool,
    /// Where x is. The other matrices have longer gaps, if it has any, each by another 8 elements.
    pub(crate) place: Placement,
    /// Rows 1 to 3 get a NaN, an infinity and a negative infinity, row 4 a NaN at its end.
    pub(crate) special: bool,
    pub(crate) tile: Option<&'static str>,
    pub(crate) workgroups: Option<u32>,
    pub(crate) name: &'static str,
}

impl Spec {
    pub(crate) const fn new(shape: [usize; 2], name: &'static str) -> Self {
        Self {
            shape,
            fused: false,
            draw: Draw::Normal,
            eps: 1e-6,
            offset: 0.0,
            rstd: false,
            in_place: false,
            place: Placement::DENSE,
            special: false,
            tile: None,
            workgroups: None,
            name,
        }
    }

    pub(crate) const fn fused(self) -> Self {
        Self { fused: true, ..self }
    }

    fn title(&self) -> String {
        self.tile.map_or_else(|| self.name.to_owned(), |tile| format!("{}, tile {tile}", self.name))
    }

    /// Where the matrix of that number is; x has number 0.
    fn place(&self, number: usize) -> Placement {
        match self.place.gap {
            0 => self.place,
            gap => self.place.gap(gap + 8 * number),
        }
    }
}

fn info<T: Real, W: Real>(shape: [usize; 2], fused: bool, case: String, size: Size) -> CaseInfo {
    let dtype = if T::DTYPE == W::DTYPE {
        T::DTYPE.name().to_owned()
    } else {
        format!("{}, weight {}", T::DTYPE, W::DTYPE)
    };
    let op = if fused { "fused_add_rmsnorm" } else { "rmsnorm" };
    CaseInfo { module: "rmsnorm", op, case, dtype, shape: shape.to_vec(), size, arch: None }
}

/// The case with rows of type `T` and a weight of type `W`.
pub(crate) fn case<T: Real, W: Real>(spec: Spec, size: Size) -> Case {
    let [rows, width] = spec.shape;
    Case::new(info::<T, W>(spec.shape, spec.fused, spec.title(), size), move |stream| {
        let seed = (rows * 31 + width) as u64;
        let mut x: Vec<T> = spec.draw.values(seed, rows * width);
        if spec.special {
            for (row, value) in [(1, f64::NAN), (2, f64::INFINITY), (3, f64::NEG_INFINITY)] {
                x[row * width + width / 3] = T::from_f64(value);
            }
            x[5 * width - 1] = T::from_f64(f64::NAN);
        }
        let residual = spec.fused.then(|| spec.draw.values(seed + 1, rows * width));
        let weight: Vec<W> = Draw::Normal.values(seed + 2, width);
        prepare(stream, spec, &x, residual, &weight)
    })
}

/// A case on given rows, such as those of a model's embedding table, and a weight. `operands` yields
/// them when the case is run; `shape` is `[rows, width]`.
pub fn tensor_case<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    fused: bool,
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Send + Sync + 'static,
) -> Case {
    Case::new(info::<T, W>(shape, fused, name.to_owned(), Size::Core), move |stream| {
        let (rows, weight) = operands();
        let spec = Spec { fused, ..Spec::new(shape, "") };
        let residual: Option<Vec<T>> = fused.then(|| rows.iter().rev().copied().collect());
        prepare(stream, spec, &rows, residual, &weight)
    })
}

fn prepare<T: Real, W: Real>(
    stream: &Stream,
    spec: Spec,
    x: &[T],
    residual: Option<Vec<T>>,
    weight: &[W],
) -> Result<Prepared> {
    let [rows, width] = spec.shape;
    let sum = residual.as_ref().map(|residual| add(x, residual));
    let h = to_f64(sum.as_deref().unwrap_or(x));
    let Normalised { y, rstd } = reference(&h, &to_f64(weight), spec.eps, spec.offset);
    let comparable = matches!(spec.draw, Draw::Normal | Draw::Uniform) && T::DTYPE != DType::F32;
    let expected_y = expect_y(y, T::DTYPE, comparable && !spec.special);

    let new = |number| Guarded::<T>::new(stream, rows, width, spec.place(number));
    let upload =
        |values: &[T], number| Guarded::input(stream, values, rows, width, spec.place(number));
    // Vectors are where the matrices are, without gaps.
    let vector = spec.place.gap(0);
    let weight_memory = Guarded::input(stream, weight, 1, width, vector)?;
    let weight = weight_memory.vector()?;
    let x_memory = if spec.in_place { None } else { Some(upload(x, 0)?) };
    let y_memory = new(1)?;
    let x_tensor = x_memory.as_ref().unwrap_or(&y_memory).matrix()?;
    let mut y_tensor = y_memory.matrix()?;
    let in_place = |values: &[T]| spec.in_place.then(|| values.to_vec());

    let rstd_memory = Guarded::<f32>::new(stream, 1, rows, vector)?;
    let mut rstd_tensor = rstd_memory.vector()?;
    let rows = spec.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
    let rows = spec.workgroups.into_iter().fold(rows, RowOptions::workgroups);
    let options = RmsnormOptions::default().weight_offset(spec.offset).rows(rows);
    let mut call = move |sum: Option<(&TensorSlice<T>, &mut TensorSlice<T>)>| {
        let (x, y) = (&x_tensor, &mut y_tensor);
        let rstd = spec.rstd.then_some(&mut *rstd_tensor);
        match sum {
            None => rmsnorm_into(x, &weight, spec.eps, &options, RmsnormOut { y, rstd }),
            Some((residual, residual_out)) => {
                let out = FusedAddRmsnormOut { y, residual_out, rstd };
                fused_add_rmsnorm_into(x, residual, &weight, spec.eps, &options, out)
            }
        }
    };
    let prepared = match residual.zip(sum) {
        None => Prepared::new(move || call(None)),
        Some((residual, sum)) => {
            let sum_memory = new(3)?;
            let residual_memory = if spec.in_place { None } else { Some(upload(&residual, 2)?) };
            let residual_tensor = residual_memory.as_ref().unwrap_or(&sum_memory).matrix()?;
            let mut sum_tensor = sum_memory.matrix()?;
            let expected = Expected::exact(to_f64(&sum));
            Prepared::new(move || call(Some((&residual_tensor, &mut sum_tensor)))).output(
                "residual_out",
                sum_memory,
                in_place(&residual),
                expected,
            )
        }
    };
    let prepared = prepared.output("y", y_memory, in_place(x), expected_y);
    Ok(if spec.rstd {
        prepared.output("rstd", rstd_memory, None, expect_rstd(rstd))
    } else {
        prepared
    })
}
