//! Feed-forward layers of 16-bit operands: what both ops share.

use hk_core::dtype::{Real, Real16};
use hk_core::op::Arguments;
use hk_core::op::epilogue::{Lowered, Step};
use hk_core::op::feed_forward::FeedForward;
use hk_core::op::product::{Gate, Matrices, Names, Product};
use hk_core::op::tiling::Problem;
use hk_core::{Activation, Result, TensorSlice};

use crate::options::require_units;
use crate::{KERNELS, Layout, a16w16};

/// What feed-forward layers do besides.
#[derive(Debug, Clone, Default)]
pub struct FeedForwardOptions<'a> {
    activation: Option<Activation>,
    fused: Option<bool>,
    tile: Option<&'a str>,
    compute_units: Option<u32>,
}

impl<'a> FeedForwardOptions<'a> {
    /// The function of the hidden layer: [`Gelu`](Activation::Gelu), [`GeluTanh`](Activation::GeluTanh),
    /// [`Silu`](Activation::Silu), [`SiluExp2`](Activation::SiluExp2) or [`Relu`](Activation::Relu). None if nothing
    /// is said.
    #[must_use]
    pub fn activation(mut self, activation: Activation) -> Self {
        self.activation = Some(activation);
        self
    }

    /// Whether both products are in one launch, in which each workgroup has a slab of the hidden layer and
    /// partial sums of all results of its rows; or in two. If nothing is said, one launch is taken for at
    /// most 64 rows, if the slabs keep half of the device busy and their sums are less than an eighth of
    /// the weights: else a second launch costs less than sums that are written and read again.
    #[must_use]
    pub fn fused(mut self, fused: bool) -> Self {
        self.fused = Some(fused);
        self
    }

    /// Takes the tile configuration of that name, if both products are in one launch.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    /// Chooses the tiles, one launch or two, and how blocks are shared, for so many compute units, as
    /// [`GemmOptions::compute_units`](crate::GemmOptions::compute_units) says.
    #[must_use]
    pub fn compute_units(mut self, compute_units: u32) -> Self {
        self.compute_units = Some(compute_units);
        self
    }
}

/// Declares everything, and launches the layer: gated, if w_up has rows for gates before the others.
pub(crate) fn launch<T: Real16, Y: Real>(
    (op, gated): (&'static str, bool),
    x: &TensorSlice<T>,
    [w_up, w_down]: [&TensorSlice<T>; 2],
    options: &FeedForwardOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    use Activation::{Gelu, GeluTanh, Relu, Silu, SiluExp2};
    let most = Problem::MAX_SIZE as usize;
    let mut args = Arguments::new(op);
    let x_row = args.input("x", x, &["m", "k"]).rows()?;
    args.limit("m", 0..=most)?;
    args.limit("k", 1..=most)?;
    let up_row = if gated {
        // An odd number of rows is none of these.
        let hidden = w_up.shape().first().map_or(0, |rows| rows / 2);
        args.define("2i", 2 * hidden);
        args.define("i", hidden);
        args.input("w_up", w_up, &["2i", "k"]).rows()?
    } else {
        args.input("w_up", w_up, &["i", "k"]).rows()?
    };
    args.limit(if gated { "2i" } else { "i" }, 1..=most)?;
    let [hidden_stride, k_stride] = args.input("w_down", w_down, &["i", "k"]).strides::<2>()?;
    let [m, hidden, k] = args.sizes(["m", "i", "k"])?.map(|size| size as u64);
    let by_hidden = k_stride == 1 || k == 1;
    let adjacent = by_hidden || hidden_stride == 1 || hidden == 1;
    args.require(adjacent, "w_down", "adjacent elements in rows or columns", k_stride)?;
    let y_row = args.output("y", y, &["m", "k"]).rows()?;
    let activation = options.activation;
    let known = matches!(activation, None | Some(Gelu | GeluTanh | Silu | SiluExp2 | Relu));
    let name = activation.map_or_else(String::new, |activation| format!("{activation:?}"));
    args.require(known, "activation", "gelu, gelu_tanh, silu, silu_exp2 or relu", name)?;
    require_units(&args, options.compute_units)?;

    let mut steps = Lowered::default();
    if let Some(activation) = activation.filter(|_| !gated) {
        steps.push(&mut args, ["activation"; 3], Step::Activate(activation))?;
    }
    let call = args.check()?;

    let h = Matrices::in_workspace::<T>([m, hidden]);
    let w_up = Matrices::of(w_up, [0, up_row]);
    let bits = [16; 2];
    let problem = Problem { batch: 1, m, n: hidden, k, transposed: [false; 2], bits, group: 1 };
    let plain = a16w16::variant::<T>(Layout::Tn);
    let up = Product {
        kernels: &KERNELS,
        core: if gated { "a16w16_gated" } else { a16w16::CORE },
        variant: &plain,
        scaled: false,
        names: Names { w: "w_up", ..Names::PLAIN },
        x: Matrices::of(x, [0, x_row]),
        w: if gated { w_up.halves(false) } else { w_up },
        y: h,
        groups: None,
        blocks: [None; 2],
        prequant: None,
        gate: gated.then_some(Gate { steps: 0, activation, whole: false }),
        accumulate: None,
        split_cat: None,
        encode: None,
        problem,
        steps,
        splits: None,
        tile: None,
    };
    let w_down = match by_hidden {
        true => Matrices::of(w_down, [0, hidden_stride]),
        false => Matrices::of(w_down, [0, k_stride]).with_shape([k, hidden]),
    };
    let problem = Problem { n: k, k: hidden, transposed: [false, by_hidden], ..problem };
    let layout = if by_hidden { Layout::Tt } else { Layout::Tn };
    let down_variant = a16w16::variant::<T>(layout);
    let down = Product {
        core: a16w16::CORE,
        variant: &down_variant,
        // Its rows are as long as w_up has rows.
        names: Names { x: "w_up", w: "w_down", ..Names::PLAIN },
        x: h,
        w: w_down,
        y: Matrices::of(y, [0, y_row]),
        gate: None,
        problem,
        steps: Lowered::default(),
        ..up.clone()
    };
    let form = if gated { "gated" } else { "plain" };
    let order = if by_hidden { "t" } else { "n" };
    let fused = format!("{}_{form}_{order}", T::DTYPE.name());
    let FeedForwardOptions { fused: fuse, tile, compute_units, .. } = *options;
    let fused = ["feed_forward", fused.as_str()];
    FeedForward { up, down, fused, fuse, tile, compute_units }.launch(call)
}
