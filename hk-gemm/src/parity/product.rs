//! Cases of products with a batch, with scales, or with both.

use hk_core::dtype::{DType, E8M0, Element, F8E4M3, F8E4M3Fnuz, decode};
use hk_core::op::epilogue::NAMES;
use hk_core::op::quant::ByteCode;
use hk_core::op::stored::Stored;
use hk_core::{Arch, Result, Tensor, TensorSlice};
use hk_ref::gemm::batched_gemm_a16wfp4::codes;
use hk_ref::gemm::fused_gemm_a8w8_blockscale_mul_add::combined;
use hk_ref::gemm::gemm_a8w8::scaled;
use hk_ref::gemm::gemm_a8w8_blockscale::dequantised;
use hk_ref::gemm::gemm_afp4wfp4::{BLOCK, dequantised as of_mx_blocks};
use hk_ref::gemm::product::{self as reference, Operands, Term};
use hk_ref::gemm::{batched_gemm_a8w8_ptgq, gemm_a16w8_blockscale, gemm_a16wfp4};
use hk_ref::{Arg, Case, CaseInfo, Draw, Held, HeldTensor, Placement, Size, in_rows, real};
use ndarray::{Array2, ArrayView2};

use super::gemm_a16w16::{Factor, Getter};
use crate::{Activation, Epilogue, Fuse, GemmOptions, Layout, Operand, ScaleLayout};

/// How an operand's scales are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// One for all.
    One,
    /// One per row of the operand, as a row or column beside it.
    Each,
    /// The same, without the dimension of 1.
    Flat,
}

/// How the scale of w as a whole is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WScale {
    /// A tensor of one element.
    One,
    /// A tensor without dimensions.
    Flat,
    /// One for each matrix of the batch.
    PerMatrix,
}

/// How an op quantises x before the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prequant {
    /// To e2m1 in MX blocks.
    Mx,
    /// To e4m3 of that type in groups of so many k.
    Groups(DType, usize),
    /// The same, with scales that are products.
    Tokens(DType, usize),
}

impl Prequant {
    /// What the codes and scales of x stand for.
    fn apply(self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        match self {
            Self::Mx => gemm_a16wfp4::quantised(x),
            Self::Groups(DType::F8E4M3, k) => {
                gemm_a16w8_blockscale::quantised::<F8E4M3>(x, k, F8E4M3::MOST)
            }
            Self::Groups(_, k) => {
                gemm_a16w8_blockscale::quantised::<F8E4M3Fnuz>(x, k, F8E4M3Fnuz::MOST)
            }
            Self::Tokens(DType::F8E4M3, k) => {
                batched_gemm_a8w8_ptgq::quantised::<F8E4M3>(x, k, F8E4M3::MOST)
            }
            Self::Tokens(_, k) => {
                batched_gemm_a8w8_ptgq::quantised::<F8E4M3Fnuz>(x, k, F8E4M3Fnuz::MOST)
            }
        }
    }
}

/// What extends along the rows of the result, or along its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    Rows,
    Columns,
}

/// Which operands are shuffled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tiles {
    pub(super) w: bool,
    /// Scales of blocks of x and of w.
    pub(super) blocks: [bool; 2],
}

/// A case as data.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) module: &'static str,
    pub(super) name: String,
    /// Products, if the op has a dimension for them.
    pub(super) batch: Option<usize>,
    /// m, n, k.
    pub(super) shape: [usize; 3],
    pub(super) layout: Layout,
    pub(super) draw: [Draw; 2],
    /// Whether x, and w, is the same for all products.
    pub(super) shared: [bool; 2],
    /// Stores y as `(m, batch, n)`.
    pub(super) by_rows: bool,
    /// Of x and w, if the op has them.
    pub(super) scales: [Option<Scale>; 2],
    /// Has w's scales as a column.
    pub(super) upright: bool,
    /// Rows of w and k of groups with scales, and how those of x are stored, if it has such.
    pub(super) groups: Option<([usize; 2], Option<ScaleLayout>)>,
    /// The scales of blocks of x and of w, if they have such.
    pub(super) blocks: [Option<Draw>; 2],
    /// Has w, and the scales of blocks of x and of w, shuffled.
    pub(super) tiles: Tiles,
    /// Has NaN as a scale of a block of the last rows of x and of w.
    pub(super) nan_scales: bool,
    /// A scale of w as a whole, if it has such.
    pub(super) w_scale: Option<WScale>,
    /// Stores x as `(m, batch, k)`.
    pub(super) x_by_rows: bool,
    /// A scale of the result, which is codes, as a whole, if the op has such.
    pub(super) y_scale: Option<Draw>,
    /// How the op quantises x before, if it does.
    pub(super) prequant: Option<Prequant>,
    /// Has infinity and NaN in x.
    pub(super) special: bool,
    /// What the product is multiplied with and added to.
    pub(super) mul_add: Option<(Fuse, [Factor; 2], DType)>,
    pub(super) bias: Option<DType>,
    pub(super) activation: Option<Activation>,
    pub(super) residual: bool,
    /// Stores what has y's shape by columns.
    pub(super) by_columns: bool,
    /// Adds the product of two tensors of y's shape, as the last step.
    pub(super) add_product: Option<DType>,
    /// Has gaps between the elements of biases and of scales of rows or columns that have another dimension.
    pub(super) vectors_apart: bool,
    /// Multiplies by f32 numbers of rows or columns, behind all options, of a single product.
    pub(super) factors: &'static [Along],
    pub(super) splits: Option<u32>,
    pub(super) compute_units: Option<u32>,
    pub(super) tile: Option<(Arch, &'static str)>,
    pub(super) place: Placement,
    pub(super) operand_place: Placement,
    pub(super) size: Size,
}

impl Spec {
    pub(super) fn new(module: &'static str, name: impl Into<String>, shape: [usize; 3]) -> Self {
        Self {
            module,
            name: name.into(),
            batch: None,
            shape,
            layout: Layout::Tn,
            draw: [Draw::Normal; 2],
            shared: [false; 2],
            by_rows: false,
            scales: [None; 2],
            upright: false,
            groups: None,
            blocks: [None; 2],
            tiles: Tiles::default(),
            nan_scales: false,
            w_scale: None,
            x_by_rows: false,
            y_scale: None,
            prequant: None,
            special: false,
            mul_add: None,
            bias: None,
            activation: None,
            residual: false,
            by_columns: false,
            add_product: None,
            vectors_apart: false,
            factors: &[],
            splits: None,
            compute_units: None,
            tile: None,
            place: Placement::default(),
            operand_place: Placement::default(),
            size: Size::Quick,
        }
    }

    fn info<X: Element, W: Element, Y: Element>(&self) -> CaseInfo {
        let operands = if X::DTYPE == W::DTYPE {
            X::DTYPE.to_string()
        } else {
            format!("{}*{}", X::DTYPE, W::DTYPE)
        };
        let dtype = format!("{operands}->{}", Y::DTYPE);
        let mut case = format!("{}, {}", self.name, self.layout.name());
        for (is_tiled, what) in [
            (self.tiles.w, "w"),
            (self.tiles.blocks[0], "scales of x"),
            (self.tiles.blocks[1], "scales of w"),
        ] {
            case += &if is_tiled { format!(", shuffled {what}") } else { String::new() };
        }
        if let Some(kind) = self.bias {
            case += &format!(", bias {kind}");
        }
        let shape: Vec<usize> = self.batch.into_iter().chain(self.shape).collect();
        let info = CaseInfo::new(self.module, self.module, case, &[], &shape);
        let arch = match (X::DTYPE, W::DTYPE) {
            _ if Y::DTYPE == DType::F8E4M3 => Some(Arch::Gfx950),
            _ if Y::DTYPE == DType::F8E4M3Fnuz => Some(Arch::Gfx942),
            (DType::F8E4M3 | DType::F8E5M2, _) | (_, DType::F8E4M3) => Some(Arch::Gfx950),
            (DType::F8E4M3Fnuz | DType::F8E5M2Fnuz, _) | (_, DType::F8E4M3Fnuz) => {
                Some(Arch::Gfx942)
            }
            _ => self.tile.map(|(arch, _)| arch),
        };
        CaseInfo { dtype, arch, size: self.size, ..info }
    }
}

/// What an op is given besides x and w.
pub(super) struct Given<'a> {
    /// Of x and w, and of the result, if it has such.
    pub(super) scales: &'a [Tensor<f32>],
    /// Of blocks of those of x and w that have such.
    pub(super) blocks: &'a [Stored<'a, E8M0>],
    /// What the product is multiplied with and added to.
    pub(super) mul_add: [Operand<'a>; 2],
}

/// What multiplies: x, w, what else it is given, options and the result.
pub(super) trait Op<X: Element, W: Element, Y: Element>:
    Fn(
        &TensorSlice<X>,
        Stored<'_, W>,
        &Given<'_>,
        &GemmOptions<'_>,
        &mut TensorSlice<Y>,
    ) -> Result<()>
    + Copy
    + Send
    + Sync
    + 'static
{
}

impl<X: Element, W: Element, Y: Element, F> Op<X, W, Y> for F where
    F: Fn(
            &TensorSlice<X>,
            Stored<'_, W>,
            &Given<'_>,
            &GemmOptions<'_>,
            &mut TensorSlice<Y>,
        ) -> Result<()>
        + Copy
        + Send
        + Sync
        + 'static
{
}

/// A vector, or one for each matrix, of that shape, with gaps between its elements: the dimension of these, if
/// it is the last, is the outermost in memory.
fn with_gaps<T: Element>(of: Arg<T>, shape: &[usize]) -> Arg<T> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if shape.last() != Some(&1) {
        order.rotate_right(1);
    }
    of.order(&order).place(Placement::DENSE.gap(3))
}

/// The steps that multiply by these.
fn multiplied(factors: &[(Along, Tensor<f32>)]) -> Epilogue<'_> {
    factors.iter().fold(Epilogue::default(), |steps, (along, factor)| match along {
        Along::Rows => steps.mul_rows(factor),
        Along::Columns => steps.mul_columns(factor),
    })
}

/// The case with operands of types `X` and `W` and a result of type `Y`, computed by `op`.
pub(super) fn case<X: Element, W: Element, Y: Element>(spec: Spec, op: impl Op<X, W, Y>) -> Case {
    Case::new(spec.info::<X, W, Y>(), move |s| {
        let [m, n, k] = spec.shape;
        let batch = spec.batch.unwrap_or(1);
        let leading = |shared: bool| spec.batch.map(|batch| if shared { 1 } else { batch });
        let shape_of = |shared, rows: usize, transposed: bool| -> Vec<usize> {
            let matrix = if transposed { [k, rows] } else { [rows, k] };
            leading(shared).into_iter().chain(matrix).collect()
        };
        let [x_shared, w_shared] = spec.shared;
        let transposed = [spec.layout.x_is_transposed(), spec.layout.w_is_transposed()];
        let x_shape = shape_of(x_shared, m, transposed[0]);
        let w_shape = shape_of(w_shared, n, transposed[1]);
        let mut elements: Vec<X> = s.draw("x", &x_shape, spec.draw[0]);
        if spec.special {
            let values = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY];
            for (element, value) in elements.iter_mut().step_by(5 * k + 3).zip(values) {
                *element = X::encode(&[value])[0];
            }
        }
        let x = s.given("x", &x_shape, elements).place(spec.place);
        let x = if spec.x_by_rows { x.order(&[1, 0, 2]) } else { x };
        let w = if spec.tiles.w {
            let elements: Vec<W> = s.draw("w", &[n, k], spec.draw[1]);
            Held::weights(s, "w", (elements, [n, k]), true)
        } else {
            Held::rows(s.input::<W>("w", &w_shape, spec.draw[1]))
        };
        let w = w.place(spec.place);

        let scales = {
            let shape = |kind, count: usize, is_row: bool| match (kind, is_row) {
                (Scale::One, _) => vec![1],
                (Scale::Flat, _) => spec.batch.into_iter().chain([count]).collect(),
                (Scale::Each, false) => spec.batch.into_iter().chain([count, 1]).collect(),
                (Scale::Each, true) => spec.batch.into_iter().chain([1, count]).collect(),
            };
            let mut scale = |name, shape: Vec<usize>| {
                let of = s.input::<f32>(name, &shape, Draw::Scaled(-6));
                if spec.vectors_apart { with_gaps(of, &shape) } else { of }
            };
            let [x_kind, w_kind] = spec.scales;
            [
                x_kind.map(|kind| scale("x_scale", shape(kind, m, false))),
                w_kind.map(|kind| scale("w_scale", shape(kind, n, !spec.upright))),
            ]
        };
        let group_scales = spec.groups.map(|([group_n, group_k], layout)| {
            let (groups_n, groups_k) = (n.div_ceil(group_n), k.div_ceil(group_k));
            let draw = Draw::Scaled(-6);
            let x_scale = layout.map(|layout| {
                let shape = match layout {
                    ScaleLayout::ColMajor => [groups_k, m],
                    _ => [m, groups_k],
                };
                s.input::<f32>("x_scale", &shape, draw)
            });
            [x_scale, Some(s.input::<f32>("w_scale", &[groups_n, groups_k], draw))]
        });
        let w_scale_of = spec.w_scale.map(|kind| {
            let shape = match kind {
                WScale::One => vec![1],
                WScale::Flat => vec![],
                WScale::PerMatrix => vec![batch],
            };
            s.input::<f32>("w_scale", &shape, Draw::Scaled(-6))
        });
        let y_scale = spec.y_scale.map(|draw| s.input::<f32>("y_scale", &[1], draw));
        let mut block_scale = |name, draw: Option<Draw>, rows, is_tiled: bool| {
            let shape: Vec<usize> = spec.batch.into_iter().chain([rows, k / BLOCK]).collect();
            draw.map(|draw| {
                let mut scales: Vec<E8M0> = s.draw(name, &shape, draw);
                if let Some(last) = scales.last_mut().filter(|_| spec.nan_scales) {
                    *last = E8M0::NAN;
                }
                Held::scales(s, name, (scales, &shape), is_tiled)
            })
        };
        let blocks = [
            block_scale("x_scale", spec.blocks[0], m, spec.tiles.blocks[0]),
            block_scale("w_scale", spec.blocks[1], n, spec.tiles.blocks[1]),
        ];
        let y_shape: Vec<usize> = spec.batch.into_iter().chain([m, n]).collect();
        let mut y_order: Vec<usize> = (0..y_shape.len()).collect();
        if spec.by_columns {
            y_order[y_shape.len() - 2..].reverse();
        }
        let mul_add = spec.mul_add.map(|(fuse, factors, dtype)| {
            let mut factor = |name, factor| -> (Term, Option<Getter>) {
                let (shape, strides) = match factor {
                    Factor::Number(number) => return (Term::number(number), None),
                    Factor::One => (vec![1], [0, 0]),
                    Factor::Full => (vec![m, n], [n, 1]),
                };
                real!(dtype, U => {
                    let tensor = s.input::<U>(name, &shape, Draw::Normal);
                    let is_whole = shape.len() == y_order.len();
                    let tensor = if is_whole { tensor.order(&y_order) } else { tensor };
                    let values = tensor.numbers();
                    let [row_stride, column_stride] = strides;
                    let get: Getter = Box::new(move || tensor.get().into());
                    (Term { values, row_stride, column_stride }, Some(get))
                })
            };
            let ((a, get_a), (b, get_b)) = (factor("a", factors[0]), factor("b", factors[1]));
            (combined(fuse == Fuse::ScaleProduct, [a, b]), factors.into_iter().zip([get_a, get_b]))
        });
        let bias = spec.bias.map(|dtype| -> (Vec<f64>, Getter) {
            // Those that are far apart are in this form, others in the other.
            let shape = match spec.batch {
                Some(batch) if spec.operand_place.gap > 0 => vec![batch, n],
                Some(batch) => vec![batch, 1, n],
                // As AITER has them beside scales that are one.
                None if spec.scales[1] == Some(Scale::Each) => vec![1, n],
                None => vec![n],
            };
            real!(dtype, U => {
                let bias = s.input::<U>("bias", &shape, Draw::Normal).place(spec.operand_place);
                let bias = if spec.vectors_apart { with_gaps(bias, &shape) } else { bias };
                (bias.numbers(), Box::new(move || bias.get().into()))
            })
        });
        let residual = spec.residual.then(|| {
            let residual = s.input::<f32>("residual", &y_shape, Draw::Normal).place(spec.place);
            residual.order(&y_order)
        });
        let factors_of_y = spec.add_product.map(|dtype| {
            ["epilogue[0].a", "epilogue[0].b"].map(|name| -> (Vec<f64>, Getter) {
                real!(dtype, U => {
                    let of = s.input::<U>(name, &y_shape, Draw::Normal).place(spec.operand_place);
                    let of = of.order(&y_order);
                    (of.numbers(), Box::new(move || of.get().into()))
                })
            })
        });
        let factors_behind: Vec<_> = spec
            .factors
            .iter()
            .zip(NAMES)
            .map(|(along, [name, ..])| {
                let count = if *along == Along::Rows { m } else { n };
                (*along, s.input::<f32>(name, &[count], Draw::Normal))
            })
            .collect();

        let expected = {
            let [x_numbers, w_numbers] = [decode(&x.elements()), w.numbers()];
            let matrix = |numbers: &[f64], rows: usize, transposed: bool, of: usize| {
                let one = &numbers[of * rows * k..][..rows * k];
                let shape = if transposed { (k, rows) } else { (rows, k) };
                let view = ArrayView2::from_shape(shape, one).expect("a matrix of the batch");
                if transposed { view.reversed_axes().to_owned() } else { view.to_owned() }
            };
            let along = |numbers: &[f64], count: usize, of: usize, strides: [usize; 2]| {
                let values = match numbers {
                    [one] => return Term::number(*one as f32),
                    all => all[of * count..][..count].to_vec(),
                };
                Term { values, row_stride: strides[0], column_stride: strides[1] }
            };
            let steps_of = |of: usize| {
                let mut steps = mul_add.as_ref().map_or_else(Vec::new, |(steps, _)| steps.clone());
                if let Some((numbers, _)) = &bias {
                    steps.push(reference::Step::Add(along(numbers, n, of, [0, 1]), 1.0));
                }
                steps.extend(spec.activation.map(reference::Step::Activate));
                if let Some(residual) = &residual {
                    let term = along(&residual.numbers(), m * n, of, [n, 1]);
                    steps.push(reference::Step::Add(term, 1.0));
                }
                if let Some(factors) = &factors_of_y {
                    let [a, b] =
                        factors.each_ref().map(|(numbers, _)| along(numbers, m * n, of, [n, 1]));
                    steps.push(reference::Step::AddProduct(a, b));
                }
                for (axis, factor) in &factors_behind {
                    let (count, strides) = match axis {
                        Along::Rows => (m, [1, 0]),
                        Along::Columns => (n, [0, 1]),
                    };
                    let term = along(&factor.numbers(), count, of, strides);
                    steps.push(reference::Step::Multiply(term));
                }
                if let Some(scale) = &y_scale {
                    steps.push(reference::Step::Divide(scale.numbers()[0] as f32));
                }
                let [x_scale, w_scale] = &scales;
                let x_scale = x_scale.as_ref().map(|x| along(&x.numbers(), m, of, [1, 0]));
                let w_scale = w_scale.as_ref().map(|w| along(&w.numbers(), n, of, [0, 1]));
                let of_matrix = w_scale_of.as_ref().map(|scale| {
                    let numbers = scale.numbers();
                    Term::number(numbers[if numbers.len() == 1 { 0 } else { of }] as f32)
                });
                scaled(x_scale.into_iter().chain(w_scale).chain(of_matrix), steps)
            };
            let of_groups = |numbers: Array2<f64>, of: usize, sizes: [usize; 2]| {
                let Some(all) = group_scales.as_ref().and_then(|scales| scales[of].as_ref()) else {
                    return numbers;
                };
                let (rows, columns) = numbers.dim();
                let shape = (rows.div_ceil(sizes[0]), columns.div_ceil(sizes[1]));
                let is_transposed =
                    of == 0 && spec.groups.is_some_and(|(_, x)| x == Some(ScaleLayout::ColMajor));
                let stored = if is_transposed { (shape.1, shape.0) } else { shape };
                let scales =
                    Array2::from_shape_vec(stored, all.numbers()).expect("a scale for each group");
                let scales = if is_transposed { scales.reversed_axes() } else { scales };
                dequantised(numbers.view(), scales.view(), sizes)
            };
            let of_blocks = |numbers: Array2<f64>, scales: &Option<Held<E8M0>>, of: usize| {
                let Some(scales) = scales else { return numbers };
                let shape = (numbers.nrows(), k / BLOCK);
                let all = scales.numbers();
                let scales = ArrayView2::from_shape(
                    shape,
                    &all[of * shape.0 * shape.1..][..shape.0 * shape.1],
                )
                .expect("a scale for each block");
                of_mx_blocks(numbers.view(), scales)
            };
            let [group_n, group_k] = spec.groups.map_or([1, 1], |(sizes, _)| sizes);
            let matrices: Vec<_> = (0..batch)
                .map(|of| {
                    let [x_of, w_of] =
                        [x_shared, w_shared].map(|shared| if shared { 0 } else { of });
                    let x = matrix(&x_numbers, m, transposed[0], x_of);
                    let w = matrix(&w_numbers, n, transposed[1], w_of);
                    let x = spec.prequant.map_or(x.clone(), |form| form.apply(x.view()));
                    (
                        of_blocks(of_groups(x, 0, [1, group_k]), &blocks[0], of),
                        of_blocks(of_groups(w, 1, [group_n, group_k]), &blocks[1], of),
                    )
                })
                .collect();
            let integers = X::DTYPE == DType::I8;
            let products: Vec<_> = matrices
                .iter()
                .enumerate()
                .map(|(of, (x, w))| (Operands { x: x.view(), w: w.view(), integers }, steps_of(of)))
                .collect();
            match y_scale {
                None => reference::expect_batch(&products, Y::DTYPE),
                Some(_) => codes(&products),
            }
        };
        let y = s.output::<Y>("y", &y_shape, expected).place(spec.place);
        let y = if spec.by_rows { y.order(&[1, 0, 2]) } else { y };

        let spec = spec.clone();
        let bias = bias.map(|(_, get)| get);
        let scales: Vec<_> = scales
            .into_iter()
            .chain(group_scales.into_iter().flatten())
            .flatten()
            .chain(w_scale_of)
            .chain(y_scale)
            .collect();
        let factors: Vec<_> = mul_add.into_iter().flat_map(|(_, factors)| factors).collect();
        s.call(move || {
            let bias = bias.as_ref().map(|get| get());
            let residual = residual.as_ref().map(|residual| residual.get());
            let factors_of_y = factors_of_y.as_ref().map(|of| of.each_ref().map(|(_, get)| get()));
            let factors_behind: Vec<_> =
                factors_behind.iter().map(|(along, factor)| (*along, factor.get())).collect();
            let mut options = GemmOptions::default().layout(spec.layout);
            options = bias.iter().fold(options, GemmOptions::bias);
            options = spec.activation.into_iter().fold(options, GemmOptions::activation);
            options = residual.iter().fold(options, |options, of| options.residual(of));
            options = factors_of_y.iter().fold(options, |options, [a, b]| {
                options.epilogue(Epilogue::default().add_product(a, b))
            });
            if !factors_behind.is_empty() {
                options = options.epilogue(multiplied(&factors_behind));
            }
            options = spec.splits.into_iter().fold(options, GemmOptions::splits);
            options = spec.compute_units.into_iter().fold(options, GemmOptions::compute_units);
            options = spec.tile.into_iter().fold(options, |options, (_, tile)| options.tile(tile));
            let scales: Vec<_> = scales.iter().map(|scale| scale.get()).collect();
            let held: Vec<_> =
                factors.iter().map(|(_, get)| get.as_ref().map(|get| get())).collect();
            let mut mul_add = [Operand::Number(0.0); 2];
            for (operand, ((factor, _), held)) in mul_add.iter_mut().zip(factors.iter().zip(&held))
            {
                *operand = match (factor, held) {
                    (_, Some(held)) => held.into(),
                    (Factor::Number(number), _) => (*number).into(),
                    _ => unreachable!("tensors are held"),
                };
            }
            let blocks: Vec<_> = blocks.iter().flatten().map(|scale| scale.get()).collect();
            let blocks: Vec<_> = blocks.iter().map(HeldTensor::stored).collect();
            let given = Given { scales: &scales, blocks: &blocks, mul_add };
            let (x, w) = (x.get(), w.get());
            let repeated = |shape: &[usize]| [&[batch], &shape[1..]].concat();
            let x_shape = repeated(x.shape());
            let x = if x_shared { x.broadcast(&x_shape)? } else { x.view() };
            let x = if spec.x_by_rows { x.permute(&[1, 0, 2])? } else { x };
            if !w_shared {
                return op(&x, w.stored(), &given, &options, &mut y.get());
            }
            let w = in_rows(w.stored());
            let w = w.broadcast(&repeated(w.shape()))?;
            op(&x, (&w).into(), &given, &options, &mut y.get())
        });
    })
}
