//! Cases of products of rows with the matrices of their experts, in the order of experts.

use hk_core::dtype::{DType, E8M0, Element, F8E4M3, Real};
use hk_core::kernel::Kernel;
use hk_core::op::epilogue::Operand;
use hk_core::op::quant::{ByteCode, Fp8};
use hk_core::{Arch, Result, Tensor, TensorSlice};
use hk_ref::moe::moe_op_gemm_a8w4::in_blocks;
use hk_ref::moe::ragged::{Act, Problem};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, Setup, Size, Steps};
use ndarray::{Array2, Array3, ArrayView2};

use super::experts::{FAR_ROWS, FEW, far, tiles_of};
use super::loads::{Load, ids};
use crate::{Activation, MoeRaggedOptions, MxRowsOut, RaggedGates, RaggedOutput};

/// What operands hold.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Content {
    Drawn,
    /// All are 1, and their scales, so that sums are k.
    Ones,
    /// Rows of x have few numbers, of which none follows itself, matrices a 1 at a place of their own: rows or
    /// matrices of others show.
    Marks,
}

/// Numbers that each type has.
const MARKS: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 6.0];

/// Codes of 8 bits whose numbers have few bits, so that scales however small leave them as they are.
const FEW_BITS: Draw = Draw::Integers(-15, 16);

/// A case as data.
#[derive(Clone)]
pub(super) struct Spec {
    pub(super) name: String,
    /// Tokens, columns of w, k, gates of a token, and experts.
    pub(super) shape: [usize; 5],
    pub(super) block_m: usize,
    pub(super) load: Load,
    pub(super) gather: bool,
    pub(super) scatter: bool,
    pub(super) bias: bool,
    pub(super) gammas: bool,
    pub(super) residual: bool,
    pub(super) act: Activation,
    pub(super) tile: Option<(Arch, &'static str)>,
    pub(super) place: Placement,
    /// Static scales of x, and of w.
    pub(super) statics: [bool; 2],
    /// Has the scales of blocks of w shuffled.
    pub(super) shuffled: bool,
    pub(super) content: Content,
    /// Of blocks of x and of w, if they are not the usual ones.
    pub(super) scales: Option<[Draw; 2]>,
    /// Whether the first scale of w is NaN.
    pub(super) nan_scale: bool,
    /// Whether matrices are far apart, and results.
    pub(super) is_far: bool,
    /// Of the case, if it does not follow from the shape.
    pub(super) size: Option<Size>,
}

/// GPT-OSS's.
pub(super) const SWIGLU: Activation =
    Activation::Swiglu { alpha: 1.702, limit: Some(7.0), add_residual: true };

impl Spec {
    pub(super) fn new(name: impl Into<String>, shape: [usize; 5], block_m: usize) -> Self {
        Self {
            name: name.into(),
            shape,
            block_m,
            load: Load::Uniform,
            gather: true,
            scatter: false,
            bias: false,
            gammas: false,
            residual: false,
            act: Activation::None,
            tile: None,
            place: Placement::default(),
            statics: [false; 2],
            shuffled: false,
            content: Content::Drawn,
            scales: None,
            nan_scale: false,
            is_far: false,
            size: None,
        }
    }

    /// Operand x, `[rows, k]`, drawn if nothing else is said.
    pub(super) fn x<T: Element>(&self, s: &mut Setup, draw: Draw) -> Arg<T> {
        let (k, shape) = (self.shape[2], [self.rows(), self.shape[2]]);
        let marks = |at: usize| MARKS[(at / k + at % k) % MARKS.len()];
        self.operand(s, ("x", &shape), draw, &marks).place(self.place)
    }

    /// Likewise w, `[experts, n, k]`; far apart, `[experts, n * k]`.
    pub(super) fn w<T: Element>(&self, s: &mut Setup, draw: Draw) -> Arg<T> {
        let [_, n, k, _, experts] = self.shape;
        let marks = |at: usize| {
            let (expert, row, column) = (at / (n * k), at / k % n, at % k);
            // Of pairs, too, both are marked.
            let is_marked = row / 2 == expert % n.div_ceil(2) && column == (7 * expert + 1) % k;
            f64::from(u8::from(is_marked))
        };
        match self.is_far {
            true => self.operand(s, ("w", &[experts, n * k]), draw, &marks).place(far::<T>()),
            false => self.operand(s, ("w", &[experts, n, k]), draw, &marks).place(self.place),
        }
    }

    fn operand<T: Element>(
        &self,
        s: &mut Setup,
        (name, shape): (&'static str, &[usize]),
        draw: Draw,
        marks: &dyn Fn(usize) -> f64,
    ) -> Arg<T> {
        let count: usize = shape.iter().product();
        let numbers: Vec<f64> = match self.content {
            Content::Drawn if self.scales.is_some() && size_of::<T>() == 1 && T::PACK == 1 => {
                return s.input(name, shape, FEW_BITS);
            }
            Content::Drawn => return s.input(name, shape, draw),
            Content::Ones => vec![1.0; count],
            Content::Marks => (0..count).map(marks).collect(),
        };
        s.given(name, shape, T::encode(&numbers))
    }

    /// What scales are drawn from: 1 alone, of operands that are not drawn.
    pub(super) fn scale(&self, usual: Draw) -> Draw {
        if self.content == Content::Drawn { usual } else { Draw::Powers(0, 1) }
    }

    /// Scales of blocks of x or w, of that shape.
    pub(super) fn block_scales(
        &self,
        s: &Setup,
        (name, shape): (&'static str, &[usize]),
        usual: Draw,
    ) -> Vec<E8M0> {
        let of_w = name == "w_scales";
        let draw = self.scales.map_or(usual, |draws| draws[usize::from(of_w)]);
        let mut scales = s.draw::<E8M0>(name, shape, self.scale(draw));
        if of_w && self.nan_scale {
            scales[0] = E8M0::NAN;
        }
        scales
    }

    /// Where results are.
    fn place_of_results(&self) -> Placement {
        if self.is_far { FAR_ROWS } else { self.place }
    }

    /// What results have to be, which are exact of operands that are not drawn.
    fn expected(&self, expected: Expected) -> Expected {
        let is_exact = self.content != Content::Drawn && self.act == Activation::None;
        if is_exact { Expected::exact(expected.values) } else { expected }
    }

    /// Rows of x.
    pub(super) fn rows(&self) -> usize {
        let [tokens, .., each, _] = self.shape;
        if self.gather { tokens } else { tokens * each }
    }

    fn title(&self) -> String {
        let mut title = format!("{}, {:?}, tiles of {}", self.name, self.load, self.block_m);
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(!self.gather, ", in order");
        say(self.scatter, ", scattered");
        say(self.bias, ", bias");
        say(self.gammas, ", gammas");
        say(self.residual, ", residual");
        say(self.statics[0], ", x scaled");
        say(self.statics[1], ", w scaled");
        match self.act {
            Activation::None => (),
            Activation::SiluAndMul => title += ", silu",
            Activation::Swiglu { .. } => title += ", swiglu",
            Activation::GeluTanh => title += ", gelu",
        }
        title
    }
}

/// An activation, as references take it.
pub(super) fn act(activation: Activation) -> Act {
    match activation {
        Activation::None => Act::None,
        Activation::GeluTanh => Act::GeluTanh,
        Activation::SiluAndMul => Act::Swiglu { alpha: 1.0, limit: f64::INFINITY, offset: 0.0 },
        Activation::Swiglu { alpha, limit, add_residual } => Act::Swiglu {
            alpha: alpha.into(),
            limit: limit.map_or(f64::INFINITY, f64::from),
            offset: if add_residual { 1.0 } else { 0.0 },
        },
    }
}

/// What calls an op.
pub(super) type Call<Y> =
    Box<dyn Fn(&RaggedGates<'_>, &MoeRaggedOptions<'_>, &mut TensorSlice<Y>) -> Result<()>>;

/// The numbers that operands stand for, with all scales but static ones; and what calls the op.
pub(super) struct Operands<Y: Element> {
    pub(super) x: Vec<f64>,
    pub(super) w: Vec<f64>,
    pub(super) call: Call<Y>,
}

/// Gates in the order of experts.
struct Order {
    /// Where experts begin, and how many gates have one.
    offsets: Vec<i32>,
    tiles: Vec<i32>,
    /// The gate of each place, those without an expert behind.
    gather: Vec<usize>,
    /// The expert of each place that has one.
    experts: Vec<usize>,
}

impl Order {
    fn new(ids: &[i32], experts: usize, block_m: usize) -> Self {
        let expert_of = |gate: &usize| usize::try_from(ids[*gate]).ok().filter(|of| *of < experts);
        let mut gather: Vec<usize> = (0..ids.len()).collect();
        gather.sort_by_key(|gate| expert_of(gate).unwrap_or(usize::MAX));
        let of_places: Vec<usize> = gather.iter().map_while(expert_of).collect();
        let (mut offsets, mut tiles) = (vec![0], Vec::new());
        for expert in 0..experts {
            let count = of_places.iter().filter(|of| **of == expert).count();
            offsets.push(offsets[expert] + count as i32);
            tiles.extend((0..count.div_ceil(block_m)).map(|tile| (tile << 16 | expert) as i32));
        }
        // Tiles of no expert, as there may be.
        tiles.extend([-1; 2]);
        Self { offsets, tiles, gather, experts: of_places }
    }
}

/// What is in rows that are not written.
const HELD: f64 = 17.0;

/// What all ops take besides operands.
struct Common {
    order: Order,
    token_offs_raw: Arg<i32>,
    block_pid_map: Arg<i32>,
    gather_indx: Option<Arg<i32>>,
    scatter_indx: Option<Arg<i32>>,
    bias: Option<Arg<f32>>,
    gammas: Option<Arg<f32>>,
    statics: [Option<Arg<f32>>; 2],
    spec: Spec,
}

impl Common {
    fn new(s: &mut Setup, spec: &Spec) -> Self {
        let [tokens, n, _, each, experts] = spec.shape;
        let gates = tokens * each;
        let order = Order::new(&ids([tokens, each, experts], spec.load), experts, spec.block_m);
        let token_offs_raw = s.given("token_offs_raw", &[experts + 1], order.offsets.clone());
        let block_pid_map = s.given("block_pid_map", &[order.tiles.len()], order.tiles.clone());
        let gather_indx = spec.gather.then(|| {
            let list = order.gather.iter().map(|gate| *gate as i32).collect();
            s.given("gather_indx", &[gates], list)
        });
        let scatter_indx = spec.scatter.then(|| {
            let mut places = vec![-1; gates];
            for (place, gate) in order.gather[..order.experts.len()].iter().enumerate() {
                places[*gate] = place as i32;
            }
            s.given("scatter_indx", &[gates], places)
        });
        let bias = spec.bias.then(|| s.input::<f32>("bias", &[experts, n], Draw::Normal));
        let gammas = spec.gammas.then(|| s.input::<f32>("gammas", &[gates], Draw::Normal));
        let statics = [("x_static_scale", 1), ("w_static_scale", experts)].map(|(name, count)| {
            let is_given = spec.statics[usize::from(name == "w_static_scale")];
            is_given.then(|| s.input::<f32>(name, &[count], spec.scale(Draw::Powers(-3, 2))))
        });
        let spec = spec.clone();
        Self {
            order,
            token_offs_raw,
            block_pid_map,
            gather_indx,
            scatter_indx,
            bias,
            gammas,
            statics,
            spec,
        }
    }

    /// The reference's problem.
    fn with_problem<R>(
        &self,
        [x, w]: [&[f64]; 2],
        residual: Option<&[f64]>,
        body: impl FnOnce(&Problem<'_>) -> R,
    ) -> R {
        let Spec { shape: [tokens, n, k, each, experts], .. } = self.spec;
        let of_x = self.statics[0].as_ref().map_or(1.0, |scale| scale.numbers()[0]);
        let of_w = self.statics[1].as_ref().map_or(vec![1.0; experts], |scale| scale.numbers());
        let x = Array2::from_shape_fn((self.spec.rows(), k), |(row, i)| of_x * x[row * k + i]);
        let w = Array3::from_shape_fn((experts, n, k), |(expert, row, i)| {
            of_w[expert] * w[(expert * n + row) * k + i]
        });
        let rows: Vec<usize> = match self.spec.gather {
            true => self.order.gather.iter().map(|gate| gate / each).collect(),
            false => (0..tokens * each).collect(),
        };
        let mut sums = vec![Vec::new(); tokens];
        for gate in 0..tokens * each {
            let place = self.order.gather.iter().position(|of| *of == gate).unwrap_or_default();
            if place < self.order.experts.len() {
                sums[gate / each].push(place);
            }
        }
        let act = act(self.spec.act);
        let bias = self.bias.as_ref().map(Arg::numbers);
        let gammas = self.gammas.as_ref().map(Arg::numbers);
        let [rows_of_y, columns] = self.results();
        let matrix = |shape, numbers| ArrayView2::from_shape(shape, numbers).expect("a matrix");
        body(&Problem {
            x: x.view(),
            w: w.view(),
            experts: &self.order.experts,
            rows: &rows,
            bias: bias.as_deref().map(|bias| matrix((experts, n), bias)),
            act,
            gammas: gammas.as_deref(),
            scatter: self.spec.scatter.then_some(&sums),
            residual: residual.map(|of| matrix((rows_of_y, columns), of)),
            held: HELD,
        })
    }

    /// The shape of the results.
    fn results(&self) -> [usize; 2] {
        let Spec { shape: [tokens, n, _, each, _], scatter, act, .. } = self.spec;
        let rows = if scatter { tokens } else { tokens * each };
        [rows, if act.is_gated() { n / 2 } else { n }]
    }

    /// Calls `body` with the gates and options.
    fn with_call<R>(&self, body: impl FnOnce(&RaggedGates<'_>, &MoeRaggedOptions<'_>) -> R) -> R {
        let (offsets, tiles) = (self.token_offs_raw.get(), self.block_pid_map.get());
        let [gather, scatter] =
            [&self.gather_indx, &self.scatter_indx].map(|list| list.as_ref().map(Arg::get));
        let [bias, gammas, of_x, of_w] =
            [&self.bias, &self.gammas, &self.statics[0], &self.statics[1]]
                .map(|tensor| tensor.as_ref().map(Arg::get));
        let gates = RaggedGates::new(&offsets, &tiles, self.spec.block_m, self.spec.shape[3]);
        let gates = gather.iter().fold(gates, |gates, list| gates.gather(list));
        let gates = scatter.iter().fold(gates, |gates, list| gates.scatter(list));
        let options = MoeRaggedOptions::new(self.spec.act);
        let options = bias.iter().fold(options, |options, of| options.bias(of));
        let options = gammas.iter().fold(options, |options, of| options.gammas(of));
        let options = of_x.iter().fold(options, |options, of| options.x_static_scale(of));
        let options = of_w.iter().fold(options, |options, of| options.w_static_scale(of));
        let tile = self.spec.tile.map(|(_, tile)| tile);
        body(&gates, &tile.into_iter().fold(options, MoeRaggedOptions::tile))
    }
}

/// What a case is of.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) module: &'static str,
    pub(super) op: &'static str,
    pub(super) arch: Option<Arch>,
    /// Of operands.
    pub(super) dtype: &'static str,
}

impl Kind {
    fn info(self, spec: &Spec, output: DType) -> CaseInfo {
        let [tokens, n, k, each, _] = spec.shape;
        let products = tokens * each * n * k;
        let usual = if products < 8_000_000 { Size::Quick } else { Size::Core };
        let size = spec.size.unwrap_or(usual);
        let dtype = format!("{}->{output}", self.dtype);
        let info = CaseInfo::new(self.module, self.op, spec.title(), &[], &spec.shape);
        let arch = self.arch.or(spec.tile.map(|(arch, _)| arch));
        CaseInfo { dtype, arch, size, ..info }
    }

    /// A case with results of real numbers.
    pub(super) fn case<Y: Real + RaggedOutput>(
        self,
        spec: Spec,
        operands: impl Fn(&mut Setup, &Spec) -> Operands<Y> + Send + Sync + 'static,
    ) -> Case
    where
        for<'a> Operand<'a>: From<&'a Tensor<Y>>,
    {
        Case::new(self.info(&spec, Y::DTYPE), move |s| {
            let Operands { x, w, call } = operands(s, &spec);
            let all = Common::new(s, &spec);
            let shape = all.results();
            let residual = spec.residual.then(|| s.input::<Y>("residual", &shape, Draw::Normal));
            let numbers = residual.as_ref().map(Arg::numbers);
            let expected = all.with_problem([&x, &w], numbers.as_deref(), |of| of.expect(Y::DTYPE));
            let expected = spec.expected(expected);
            let held = Y::encode(&vec![HELD; shape.iter().product()]);
            let y = s.output::<Y>("out", &shape, expected).place(spec.place_of_results());
            let y = y.holding(held);
            s.call(move || {
                let residual = residual.as_ref().map(Arg::get);
                all.with_call(|gates, options| {
                    let options =
                        residual.iter().fold(*options, |options, of| options.residual(of));
                    call(gates, &options, &mut y.get())
                })
            });
        })
    }

    /// A case with results of 8-bit floating point.
    pub(super) fn codes<Y: Fp8 + RaggedOutput>(
        self,
        spec: Spec,
        operands: impl Fn(&mut Setup, &Spec) -> Operands<Y> + Send + Sync + 'static,
    ) -> Case {
        Case::new(self.info(&spec, Y::DTYPE), move |s| {
            let Operands { x, w, call } = operands(s, &spec);
            let all = Common::new(s, &spec);
            let scale = s.given::<f32>("quant_static_scale", &[1], vec![0.3]);
            let number = scale.numbers()[0];
            let expected = all.with_problem([&x, &w], None, |of| {
                of.expect_codes(number, f64::from(<Y as ByteCode>::MOST))
            });
            let held = Y::encode(&vec![HELD / number; all.results().iter().product()]);
            let y = s.output::<Y>("out", &all.results(), expected).place(spec.place).holding(held);
            s.call(move || {
                let scale = scale.get();
                all.with_call(|gates, options| {
                    call(gates, &options.quant_static_scale(&scale), &mut y.get())
                })
            });
        })
    }

    /// A case with results in blocks of MX, whose call has a place for their scales.
    pub(super) fn blocks(
        self,
        spec: Spec,
        operands: impl Fn(&mut Setup, &Spec) -> ([Vec<f64>; 2], MxCall) + Send + Sync + 'static,
    ) -> Case {
        Case::new(self.info(&spec, DType::F8E4M3), move |s| {
            let ([x, w], call) = operands(s, &spec);
            let all = Common::new(s, &spec);
            let shape = all.results();
            let values = all.with_problem([&x, &w], None, |of| of.values());
            let (codes, scales) = in_blocks(&values, shape[1]);
            let (held, held_scale) = in_blocks(&[HELD; 32], 32);
            let codes = Expected {
                allowed: vec![0.0; codes.len()],
                steps: Some(Steps { share: 0.005, near: 1e-3 }),
                values: codes,
                ..Expected::default()
            };
            let blocks = [shape[0], shape[1] / 32];
            let held = F8E4M3::encode(&vec![held[0]; shape.iter().product()]);
            let out = s.output::<F8E4M3>("out", &shape, codes).holding(held);
            let bytes = scales.iter().map(|scale| scale.to_bits()).collect();
            let scales = Expected {
                values: scales.iter().map(|scale| f64::from(scale.to_f32())).collect(),
                allowed: vec![0.0; scales.len()],
                bytes: Some(bytes),
                ..Expected::default()
            };
            let held = vec![held_scale[0]; blocks.iter().product()];
            let out_scales = s.output::<E8M0>("out_scales", &blocks, scales).holding(held);
            s.call(move || {
                all.with_call(|gates, options| {
                    let (mut codes, mut scales) = (out.get(), out_scales.get());
                    call(gates, options, MxRowsOut { codes: &mut codes, scales: &mut scales })
                })
            });
        })
    }
}

/// What calls an op whose results are in blocks of MX.
pub(super) type MxCall =
    Box<dyn Fn(&RaggedGates<'_>, &MoeRaggedOptions<'_>, MxRowsOut<'_>) -> Result<()>>;

/// Specs that say all that there is to say of a product: with each of these, ops are right for all types.
pub(super) fn specs(k: usize) -> Vec<Spec> {
    let mut specs = Vec::new();
    let spec = |name: &str, shape, block_m| Spec::new(name, shape, block_m);
    specs.push(Spec { bias: true, gammas: true, ..spec("tiny", [3, 4, k, 2, 3], 16) });
    for (shape, block_m) in [
        ([16, 64, 3 * k, 2, 8], 16),
        ([30, 40, 2 * k, 2, 8], 32),
        ([33, 130, 5 * k, 3, 5], 64),
        ([1, 2, k, 1, 1], 16),
        ([0, 8, k, 2, 4], 16),
    ] {
        specs.push(spec("plain", shape, block_m));
    }
    let shape = [21, 72, 4 * k, 3, 5];
    for (gather, scatter) in [(true, true), (false, true), (false, false), (true, false)] {
        for act in [Activation::None, SWIGLU] {
            let both = Spec { gather, scatter, act, ..spec("routed", shape, 16) };
            specs.push(Spec { bias: true, gammas: true, ..both.clone() });
            if scatter {
                specs.push(Spec { residual: true, ..both });
            }
        }
    }
    for act in [Activation::SiluAndMul, Activation::GeluTanh] {
        specs.push(Spec { act, gammas: true, ..spec("activated", shape, 32) });
    }
    for load in [Load::Zipf, Load::One(2), Load::Even, Load::Wrong, Load::Absent] {
        specs.push(Spec { load, ..spec("load", [37, 40, 3 * k, 2, 6], 32) });
        specs.push(Spec { load, scatter: true, ..spec("load", [37, 40, 3 * k, 2, 6], 128) });
    }
    for scatter in [false, true] {
        specs.push(Spec { load: Load::Wrong, scatter, ..spec(FEW, [9, 40, 3 * k, 6, 3], 16) });
    }
    // Places without an expert, whose rows are not written behind the product either.
    for (load, act) in [(Load::Wrong, SWIGLU), (Load::Absent, Activation::GeluTanh)] {
        specs.push(Spec { load, act, gammas: true, ..spec("activated load", shape, 16) });
        specs.push(Spec { load, residual: true, ..spec("load and residual", shape, 16) });
    }
    specs
        .push(Spec { load: Load::One(0), ..spec("more than a tile", [129, 24, 2 * k, 1, 1], 128) });
    let most = spec("as many gates of a token as there may be", [3, 24, 2 * k, 64, 5], 16);
    specs.push(Spec { scatter: true, gammas: true, ..most });
    for (place, name) in [
        (Placement::DENSE.gap(64), "rows of wider tensors"),
        (Placement::DENSE.gap(6).shift(2), "rows off alignment"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        specs.push(Spec { place, ..spec(name, [21, 72, 3 * k, 2, 3], 32) });
    }
    // One column of results.
    let pair =
        Spec { act: SWIGLU, scatter: true, ..spec("a pair of columns", [3, 2, k, 1, 2], 16) };
    specs.push(pair);
    specs.push(Spec { content: Content::Ones, ..spec("ones", [21, 24, 2 * k, 2, 3], 16) });
    specs.push(Spec { content: Content::Marks, ..spec("marks", [21, 24, 2 * k, 2, 3], 16) });
    specs
}

/// Specs of shapes of the specification, which are not quick.
pub(super) fn specified(shapes: &[[usize; 5]]) -> Vec<Spec> {
    let of =
        |shape: &[usize; 5]| Spec { size: Some(Size::Core), ..Spec::new("specified", *shape, 16) };
    shapes.iter().map(of).collect()
}

/// Specs of matrices that are far apart, of rows of k.
pub(super) fn far_apart(k: usize) -> Vec<Spec> {
    let far = Spec::new("far apart", [3, 20, k, 2, 3], 16);
    vec![Spec { is_far: true, size: Some(Size::Core), ..far }]
}

/// Specs of scales of blocks at both ends of their range, whose products are numbers, and of one that is NaN.
/// Numbers times those up to 2 to the power of `most` are numbers.
pub(super) fn ends_of_scales(most: i32) -> Vec<Spec> {
    let (least, large) = (Draw::Powers(-127, -95), Draw::Powers(96, most));
    let spec = |name: String| Spec::new(name, [9, 24, 96, 1, 2], 16);
    let ends = [[least, large], [large, least]].map(|scales| Spec {
        scales: Some(scales),
        ..spec(format!("scales of {:?} by {:?}", scales[0], scales[1]))
    });
    let nan = Spec { nan_scale: true, ..spec("a NaN as a scale".into()) };
    ends.into_iter().chain([nan]).collect()
}

/// Specs of matrices whose scales are shuffled.
pub(super) fn shuffled() -> Vec<Spec> {
    let of = |shape, block_m| {
        let spec = Spec::new("shuffled scales", shape, block_m);
        Spec { shuffled: true, ..spec }
    };
    let routed = Spec { gather: true, scatter: true, bias: true, ..of([21, 96, 512, 3, 5], 16) };
    vec![
        of([33, 130, 768, 3, 5], 64),
        of([3, 7, 256, 2, 3], 16),
        of([70, 300, 1280, 2, 4], 32),
        routed,
    ]
}

/// A spec for each tile configuration of a variant.
pub(super) fn tiles(variant: &str) -> Vec<Spec> {
    let are_wanted = |kernel: &Kernel| kernel.core == "ragged" && kernel.variant == variant;
    let of_tile = |(_, arch, name, [m, n, k]): (_, _, &'static str, [usize; 3])| {
        let shape = [2 * m + 5, n + 9, 3 * k + 32, 2, 3];
        let place = Placement::DENSE.edge(Edge::End);
        Spec { tile: Some((arch, name)), place, ..Spec::new(format!("tile {name}"), shape, m) }
    };
    tiles_of(are_wanted).map(of_tile).collect()
}
