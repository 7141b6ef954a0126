//! Two products of the same rows in one launch: what the ops that have such share.

use hk_core::dtype::{Element, Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Extent, Lowered, Operand, Step};
use hk_core::op::product::{self, GroupScales, Matrices, Product};
use hk_core::op::product_pair::ProductPair;
use hk_core::op::stored::Stored;
use hk_core::op::tiling::Problem;
use hk_core::{Result, Stream, Tensor, TensorSlice};

use crate::KERNELS;
use crate::options::require_units;

/// What ops of two products do besides.
#[derive(Debug, Clone, Default)]
pub struct TwoProductsOptions<'a> {
    biases: [Option<Operand<'a>>; 2],
    splits: Option<u32>,
    compute_units: Option<u32>,
    tile: Option<&'a str>,
}

impl<'a> TwoProductsOptions<'a> {
    /// Adds a vector, a number for each column, to every row of the product of the narrow type.
    #[must_use]
    pub fn narrow_bias(mut self, bias: impl Into<Operand<'a>>) -> Self {
        self.biases[0] = Some(bias.into());
        self
    }

    /// Adds a vector, a number for each column, to every row of the product of 16-bit numbers.
    #[must_use]
    pub fn wide_bias(mut self, bias: impl Into<Operand<'a>>) -> Self {
        self.biases[1] = Some(bias.into());
        self
    }

    /// Cuts k of both products into at most so many shares; see
    /// [`GemmOptions::splits`](crate::GemmOptions::splits).
    #[must_use]
    pub fn splits(mut self, splits: u32) -> Self {
        self.splits = Some(splits);
        self
    }

    /// Chooses the tile, and how blocks and k are shared, for so many compute units; see
    /// [`GemmOptions::compute_units`](crate::GemmOptions::compute_units).
    #[must_use]
    pub fn compute_units(mut self, compute_units: u32) -> Self {
        self.compute_units = Some(compute_units);
        self
    }

    /// Takes the tile configuration of that name; see [`GemmOptions::tile`](crate::GemmOptions::tile).
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }
}

/// The results of two products.
#[derive(Debug)]
pub struct TwoProducts<Y: Real> {
    /// Of the narrow type, `(m, n1)`.
    pub narrow: Tensor<Y>,
    /// Of 16-bit numbers, `(m, n2)`.
    pub wide: Tensor<Y>,
}

/// Where these go. Rows may be any distance apart.
#[derive(Debug)]
pub struct TwoProductsOut<'a, Y: Real> {
    /// Of the narrow type, `(m, n1)`.
    pub narrow: &'a mut TensorSlice<Y>,
    /// Of 16-bit numbers, `(m, n2)`.
    pub wide: &'a mut TensorSlice<Y>,
}

impl<Y: Real> TwoProducts<Y> {
    /// Room for the results of operands of these shapes.
    pub(crate) fn empty(stream: &Stream, x: &[usize], columns: [usize; 2]) -> Result<Self> {
        // What does not fit together is refused when it is declared.
        let rows = x.first().copied().unwrap_or_default();
        let [narrow, wide] = columns.map(|columns| Tensor::empty(stream, &[rows, columns]));
        Ok(Self { narrow: narrow?, wide: wide? })
    }

    /// Where they are.
    pub(crate) fn out(&mut self) -> TwoProductsOut<'_, Y> {
        TwoProductsOut { narrow: &mut self.narrow, wide: &mut self.wide }
    }
}

/// What the arguments of one of the products are called.
pub(crate) struct Names {
    pub(crate) of: product::Names,
    pub(crate) bias: &'static str,
    pub(crate) y: &'static str,
    /// Of w.
    pub(crate) w_dims: &'static [&'static str; 2],
    /// Of y; the bias has the columns'.
    pub(crate) y_dims: &'static [&'static str; 2],
}

/// Names of the product of 16-bit numbers.
const WIDE: Names = Names {
    of: product::Names { x: "x_bf16", w: "w_bf16", ..product::Names::PLAIN },
    bias: "bias_bf16",
    y: "y_bf16",
    w_dims: &["wide", "k"],
    y_dims: &["m", "wide"],
};

/// A product of x `(m, k)` and w `(n, k)`.
pub(crate) struct Half {
    names: Names,
    pub(crate) problem: Problem,
    x: Matrices,
    w: Matrices,
    pub(crate) groups: Option<GroupScales>,
    pub(crate) blocks: [Option<Matrices>; 2],
}

impl Half {
    /// Declares the operands.
    pub(crate) fn declare<T: Element>(
        args: &mut Arguments,
        names: Names,
        (x, w): (&TensorSlice<T>, Stored<'_, T>),
    ) -> Result<Self> {
        let x_row = args.input(names.of.x, x, &["m", "k"]).rows()?;
        args.limit("m", 0..=Problem::MAX_SIZE as usize)?;
        args.limit("k", 1..=Problem::MAX_SIZE as usize)?;
        let w = w.weights(args, names.of.w, names.w_dims)?;
        let [m, n, k] = args.sizes(["m", names.w_dims[0], "k"])?.map(|size| size as u64);
        let bits = [(size_of::<T>() * 8 / T::PACK) as u64; 2];
        Ok(Self {
            names,
            problem: Problem { batch: 1, m, n, k, transposed: [false; 2], bits, group: 1 },
            x: Matrices::of(x, [0, x_row]),
            w,
            groups: None,
            blocks: [None; 2],
        })
    }

    /// Declares the bias and the result.
    fn product<'a, Y: Real>(
        &self,
        args: &mut Arguments,
        (core, variant): (&'static str, &'a str),
        bias: Option<Operand<'_>>,
        y: &mut TensorSlice<Y>,
    ) -> Result<Product<'a>> {
        let mut steps = Lowered::default();
        if let Some(bias) = bias {
            let step = Step::Add(bias, Extent::Named(&self.names.y_dims[1..], [0, 1]), 1.0);
            steps.push(args, [self.names.bias; 3], step)?;
        }
        let row = args.output(self.names.y, y, self.names.y_dims).rows()?;
        Ok(Product {
            kernels: &KERNELS,
            core,
            variant,
            scaled: self.blocks[0].is_some(),
            names: self.names.of,
            x: self.x,
            w: self.w,
            y: Matrices::of(y, [0, row]),
            groups: self.groups,
            blocks: self.blocks,
            prequant: None,
            gate: None,
            accumulate: None,
            split_cat: None,
            encode: None,
            problem: self.problem,
            steps,
            splits: None,
            tile: None,
        })
    }
}

/// Declares the other product and what is left, and launches both.
pub(crate) fn launch<T: Real16, Y: Real>(
    mut args: Arguments,
    (core, narrow): (&'static str, &Half),
    [x, w]: [&TensorSlice<T>; 2],
    options: &TwoProductsOptions<'_>,
    out: TwoProductsOut<'_, Y>,
) -> Result<()> {
    let mut wide = Half::declare(&mut args, WIDE, (x, w.into()))?;
    // Shares are of whole groups of both.
    wide.problem.group = narrow.problem.group;
    let core = (core, T::DTYPE.name());
    let narrow = narrow.product(&mut args, core, options.biases[0], out.narrow)?;
    let wide = wide.product(&mut args, core, options.biases[1], out.wide)?;
    if let Some(splits) = options.splits {
        let k = wide.problem.k;
        let holds = (1..=k).contains(&splits.into());
        args.require(holds, "splits", format_args!("1 to k = {k}"), splits)?;
    }
    require_units(&args, options.compute_units)?;
    let call = args.check()?;
    let narrow = Product { splits: options.splits, tile: options.tile, ..narrow };
    ProductPair { narrow, wide }.launch_on(call, options.compute_units)
}
