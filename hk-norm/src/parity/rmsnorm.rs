//! How a case of `rmsnorm` or `fused_add_rmsnorm` is drawn and run.

use hk_core::dtype::{DType, Real, decode};
use hk_core::kernel::Kernel;
use hk_ref::norm::rmsnorm::{Normalised, add, rmsnorm as reference};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, NOT_POSITIVE, Placement, Setup, Size};

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
    pub(crate) place: Placement,
    /// The last four rows get NaNs at every place of a chunk, an infinity and a negative one, and a NaN at
    /// the end. The infinities share their dword with an element whose lowest bit is one. The weight gets
    /// a NaN, too.
    pub(crate) special: bool,
    pub(crate) tile: Option<&'static str>,
    pub(crate) workgroups: Option<u32>,
    /// x is [`TIES_X`] in turn, and the weight, of f32, is such that every other result lies between two
    /// numbers of y's type: in the middle, next to it, and elsewhere. The mean of the squares and `eps`
    /// make a power of four. Results are exact.
    pub(crate) ties: bool,
    /// No byte is written twice.
    pub(crate) writes_once: bool,
    /// No byte is read more often than the tile asks for, nor are there more accesses. The width is a
    /// multiple of 8.
    pub(crate) lean: bool,
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
            ties: false,
            writes_once: false,
            lean: false,
            name,
        }
    }

    pub(crate) const fn fused(self) -> Self {
        Self { fused: true, ..self }
    }

    fn title(&self) -> String {
        self.tile.map_or_else(|| self.name.to_owned(), |tile| format!("{}, tile {tile}", self.name))
    }
}

fn info<T: Real, W: Real>(shape: [usize; 2], fused: bool, case: String, size: Size) -> CaseInfo {
    let dtype = if T::DTYPE == W::DTYPE {
        T::DTYPE.name().to_owned()
    } else {
        format!("{}, weight {}", T::DTYPE, W::DTYPE)
    };
    let op = if fused { "fused_add_rmsnorm" } else { "rmsnorm" };
    let info = CaseInfo::new("rmsnorm", op, case, &[], &shape);
    CaseInfo { dtype, size, ..info }
}

/// The case with rows of type `T` and a weight of type `W`.
pub(crate) fn case<T: Real, W: Real>(spec: Spec, size: Size) -> Case {
    let [rows, width] = spec.shape;
    let case = Case::new(info::<T, W>(spec.shape, spec.fused, spec.title(), size), move |s| {
        let mut x: Vec<T> = s.draw("x", &[rows, width], spec.draw);
        if spec.special {
            let last = &mut x[(rows - 4) * width..];
            last[width / 3..][..8].fill(T::from_f64(f64::NAN));
            for (row, value) in [(1, f64::INFINITY), (2, f64::NEG_INFINITY)] {
                let at = row * width + width / 6 * 2 + 1;
                (last[at - 1], last[at]) = (T::from_f64(TIES_X[0].into()), T::from_f64(value));
            }
            last[4 * width - 1] = T::from_f64(f64::NAN);
        }
        let mut residual = spec.fused.then(|| s.draw("residual", &[rows, width], spec.draw));
        let mut weight: Vec<W> = s.draw("weight", &[width], Draw::Normal);
        if spec.special {
            weight[width / 2] = W::from_f64(f64::NAN);
        }
        if spec.ties {
            x = (0..rows * width).map(|i| T::from_f64(TIES_X[i % width % 2].into())).collect();
            residual = residual.map(|residual| vec![T::from_f64(0.0); residual.len()]);
            weight = between::<T, W>(width, if spec.eps > 4.0 { spec.eps.sqrt() } else { 2.0 });
        }
        set_up(s, spec, x, residual, weight);
    });
    let case = case.place(spec.place).in_place(spec.in_place);
    let case = if spec.writes_once { case.writes_once() } else { case };
    let most = spec.lean.then(|| moved::<T, W>(&spec)).flatten();
    let limit = |case: Case, [read, accesses]: [usize; 2]| {
        case.most_read(read as u64).most_accesses(accesses as u64)
    };
    most.into_iter().fold(case, limit)
}

/// How many bytes the tile configuration reads, and how often it accesses memory, if each lane has 16
/// bytes at once. `None` if it was not built.
fn moved<T: Real, W: Real>(spec: &Spec) -> Option<[usize; 2]> {
    const ACCESS: usize = 64 * 16;
    let mut kernels = crate::KERNELS.kernels.iter();
    let is_it = |kernel: &&Kernel| (kernel.core, kernel.variant) == ("rmsnorm", T::DTYPE.name());
    let tile = kernels.find(is_it)?.tile(spec.tile?)?;
    let workgroups = spec.workgroups? as usize;
    let int = |name| usize::try_from(tile.int(name)?).ok();
    let lanes = int("LANES")?;
    let rows_at_once = tile.threads as usize / lanes;
    // Of a row; of wider rows, those of a piece.
    let elements = lanes * int("CHUNKS")? * 8;
    let at_once = rows_at_once * elements;

    let [rows, width] = spec.shape;
    let matrices = 1 + usize::from(spec.fused);
    let turns = rows.div_ceil(rows_at_once);
    // Rows of several pieces are measured first, and then read again, with their weights.
    let pieces = width.div_ceil(elements);
    let (times, weights) = if pieces == 1 { (1, workgroups) } else { (2, turns) };
    let read = times * matrices * rows * width * size_of::<T>()
        + weights * rows_at_once * width * size_of::<W>();
    // After its last row, each workgroup loads one that there is not. Weights are loaded as if they were
    // of f32, since only the launch says whether they are.
    let loads = (times * turns * pieces + workgroups) * matrices * at_once * size_of::<T>()
        + weights * pieces * at_once * size_of::<f32>();
    let stores = turns * pieces * matrices * at_once * size_of::<T>();
    // A wave stores rstd of its rows at once.
    let rstd = usize::from(spec.rstd) * rows.div_ceil((64 / lanes).max(1));
    Some([read, (loads + stores) / ACCESS + rstd])
}

/// What [`Spec::ties`] multiplies. The lowest bit of the first is one, which must not reach the other.
pub(crate) const TIES_X: [f32; 2] = [255.0 / 128.0, -1.0];

/// Numbers above ones of type `T`, by a half of the distance to the next, and by a little less or
/// more, times `factor`.
fn between<T: Real, W: Real>(count: usize, factor: f32) -> Vec<W> {
    let steps = 2f64.powi(if T::DTYPE == DType::Bf16 { 7 } else { 10 });
    let parts = [0.5, 0.5 - 2f64.powi(-12), 0.5 + 2f64.powi(-12), 0.25];
    let number = |i: usize| 1.0 + ((i / 8) as f64 + parts[i / 2 % 4]) / steps;
    (0..count).map(|i| W::from_f64(number(i) * f64::from(factor))).collect()
}

/// A case on given rows, such as those of a model's embedding table, and a weight. `operands` yields
/// them when the case is run; `shape` is `[rows, width]`.
pub fn tensor_case<T: Real, W: Real>(
    name: &str,
    shape: [usize; 2],
    fused: bool,
    operands: impl Fn() -> (Vec<T>, Vec<W>) + Send + Sync + 'static,
) -> Case {
    Case::new(info::<T, W>(shape, fused, name.to_owned(), Size::Core), move |s| {
        let (rows, weight) = operands();
        let residual = fused.then(|| rows.iter().rev().copied().collect());
        set_up(s, Spec { fused, ..Spec::new(shape, "") }, rows, residual, weight);
    })
}

fn set_up<T: Real, W: Real>(
    s: &mut Setup,
    spec: Spec,
    x: Vec<T>,
    residual: Option<Vec<T>>,
    weight: Vec<W>,
) {
    let (shape, [rows, width], eps) = (&spec.shape, spec.shape, spec.eps);
    let sum = residual.as_ref().map(|residual| add(&x, residual));
    let h = decode(sum.as_deref().unwrap_or(&x));
    let Normalised { y, rstd } = reference(&h, &decode(&weight), eps, spec.offset);
    let comparable = matches!(spec.draw, Draw::Normal | Draw::Uniform) && !spec.special;

    let y = match spec.ties {
        true => Expected::exact(decode(&T::encode(&y))),
        false => Expected::rounded(y, T::DTYPE, comparable),
    };

    // Vectors have a multiple of 4 GiB at the same column or row as the matrices.
    let columns = s.carried(|element| element % width);
    let each_row = s.carried(|element| element / width);
    let x = s.given("x", shape, x);
    let weight = s.given("weight", &[width], weight).place(columns);
    let y = s.output::<T>("y", shape, y);
    let fused = residual.zip(sum).map(|(residual, sum)| {
        let sum = Expected::exact(decode(&sum));
        (s.given("residual", shape, residual), s.output::<T>("residual_out", shape, sum))
    });
    let rstd = Expected::relative(rstd, 2e-6);
    let rstd = spec.rstd.then(|| s.output::<f32>("rstd", &[rows], rstd).place(each_row));

    let rows = spec.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
    let rows = spec.workgroups.into_iter().fold(rows, RowOptions::workgroups);
    let options = RmsnormOptions::default().weight_offset(spec.offset).rows(rows);
    let eps = s.number("eps", eps, NOT_POSITIVE);
    s.call(move || {
        let (x, weight, y) = (&x.get(), &weight.get(), &mut *y.get());
        let mut rstd = rstd.as_ref().map(Arg::get);
        let rstd = rstd.as_deref_mut();
        let Some((residual, sum)) = &fused else {
            return rmsnorm_into(x, weight, eps.get(), &options, RmsnormOut { y, rstd });
        };
        let out = FusedAddRmsnormOut { y, residual_out: &mut sum.get(), rstd };
        fused_add_rmsnorm_into(x, &residual.get(), weight, eps.get(), &options, out)
    });
}
