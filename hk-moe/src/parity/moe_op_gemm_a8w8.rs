//! Cases of `moe_op_gemm_a8w8`.

use hk_core::Arch;
use hk_core::Tensor;
use hk_core::dtype::{DType, E8M0, F8E4M3, F8E4M3Fnuz, Real, Scalar, bf16, decode, f16};
use hk_core::op::epilogue::Operand;
use hk_ref::moe::moe_op_gemm_a8w8::{scaled, scaled_by_blocks};
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Held, HeldTensor, Setup, in_rows};

use super::ragged::{
    Kind, Operands, Spec, ends_of_scales, far_apart, shuffled, specified, specs, tiles,
};
use crate::{
    Activation, MoeRaggedOptions, MxBytes, RaggedElement, RaggedGates, RaggedOutput, StoredMxBytes,
    moe_a8w8_into, moe_a8w8_mx_into,
};

const MODULE: &str = "moe_op_gemm_a8w8";

/// Scales of rows, and of columns: one, one for each row or expert, or one for each column.
#[derive(Clone, Copy)]
enum Scales {
    One,
    Many,
    Columns,
}

fn operands<T: RaggedElement + Scalar, Y: RaggedOutput>(
    s: &mut Setup,
    spec: &Spec,
    scales: Scales,
) -> Operands<Y> {
    let ([_, n, k, _, experts], rows) = (spec.shape, spec.rows());
    let draw = if T::DTYPE == DType::I8 { Draw::Codes } else { Draw::Normal };
    let (x, w) = (spec.x::<T>(s, draw), spec.w::<T>(s, draw));
    let size = if T::DTYPE == DType::I8 { Draw::Scaled(-6) } else { Draw::Scaled(-1) };
    let size = spec.scale(size);
    let (of_x, of_w) = match scales {
        Scales::One => (vec![1], vec![1]),
        Scales::Many => (vec![rows], vec![experts]),
        Scales::Columns => (vec![rows], vec![experts, n]),
    };
    let x_scale = s.input::<f32>("x_scale", &of_x, size);
    let w_scale = s.input::<f32>("w_scale", &of_w, size);
    let is_far = spec.is_far;
    Operands {
        x: scaled(x.numbers(), &x_scale.numbers(), k),
        w: scaled(w.numbers(), &w_scale.numbers(), k),
        call: Box::new(move |gates, options, y| {
            let (x_scale, w_scale, w) = (x_scale.get(), w_scale.get(), w.get());
            let w = if is_far { w.reshape(&[experts, n, k])? } else { w.view() };
            moe_a8w8_into(&x.get(), &w, &x_scale, &w_scale, gates, options, y)
        }),
    }
}

/// An operand of 8-bit floating point, in blocks of MX or not, whose scales may be shuffled, and the numbers that
/// it stands for.
fn bytes<T: RaggedElement>(
    s: &mut Setup,
    [name, scales]: [&'static str; 2],
    (shape, spec): (&[usize], &Spec),
    [is_mx, is_shuffled]: [bool; 2],
) -> (Arg<T>, Option<Held<E8M0>>, Vec<f64>) {
    let k = shape[shape.len() - 1];
    let codes = match name {
        "x" => spec.x::<T>(s, Draw::Codes),
        _ => spec.w::<T>(s, Draw::Codes),
    };
    let numbers = decode(&codes.elements());
    if !is_mx {
        return (codes, None, numbers);
    }
    let of_blocks = [&shape[..shape.len() - 1], &[k.div_ceil(32)]].concat();
    let drawn = spec.block_scales(s, (scales, &of_blocks), Draw::Powers(-9, -4));
    let scales = Held::scales(s, scales, (drawn, &of_blocks), is_shuffled);
    let numbers = scaled_by_blocks(numbers, &scales.numbers(), k);
    (codes, Some(scales), numbers)
}

fn mx_operands<X: RaggedElement, W: RaggedElement, Y: RaggedOutput>(
    s: &mut Setup,
    spec: &Spec,
    [of_x, of_w]: [bool; 2],
) -> Operands<Y> {
    let ([_, n, k, _, experts], rows) = (spec.shape, spec.rows());
    let (x, x_scales, x_numbers) =
        bytes::<X>(s, ["x", "x_scales"], (&[rows, k], spec), [of_x, false]);
    let (w, w_scales, w_numbers) =
        bytes::<W>(s, ["w", "w_scales"], (&[experts, n, k], spec), [of_w, spec.shuffled]);
    Operands {
        x: x_numbers,
        w: w_numbers,
        call: Box::new(move |gates, options, y| {
            let (x, w) = (x.get(), w.get());
            let [of_x, of_w] = [&x_scales, &w_scales].map(|scales| scales.as_ref().map(Held::get));
            let x = MxBytes { codes: &x, scales: of_x.as_ref().map(|of| in_rows(of.stored())) };
            let w = StoredMxBytes { codes: &w, scales: of_w.as_ref().map(HeldTensor::stored) };
            moe_a8w8_mx_into(x, w, gates, options, y)
        }),
    }
}

fn plain<T: RaggedElement + Scalar, Y: Real + RaggedOutput>(
    cases: &mut Vec<Case>,
    (arch, dtype): (Option<Arch>, &'static str),
    all: Vec<Spec>,
) where
    for<'a> Operand<'a>: From<&'a Tensor<Y>>,
{
    let kind = Kind { module: MODULE, op: "moe_a8w8", arch, dtype };
    for (turn, spec) in all.into_iter().enumerate() {
        let scales = [Scales::Columns, Scales::One, Scales::Many][turn % 3];
        cases.push(kind.case::<Y>(spec, move |s, spec| operands::<T, Y>(s, spec, scales)));
    }
}

fn mx<X: RaggedElement, W: RaggedElement, Y: Real + RaggedOutput>(
    cases: &mut Vec<Case>,
    (arch, dtype): (Option<Arch>, &'static str),
    are_mx: [bool; 2],
    all: Vec<Spec>,
) where
    for<'a> Operand<'a>: From<&'a Tensor<Y>>,
{
    let kind = Kind { module: MODULE, op: "moe_a8w8_mx", arch, dtype };
    for (turn, spec) in all.into_iter().enumerate() {
        let has = turn % 2 == 1;
        let spec = Spec { statics: are_mx.map(|is_mx| !is_mx && has), ..spec };
        cases.push(kind.case::<Y>(spec, move |s, spec| mx_operands::<X, W, Y>(s, spec, are_mx)));
    }
}

/// The tiles of a chip.
fn tiles_of(variant: &str, arch: Arch) -> Vec<Spec> {
    tiles(variant).into_iter().filter(|spec| spec.tile.is_some_and(|of| of.0 == arch)).collect()
}

/// Rows of f16 of which each sum, 131,072, is beyond the type, but not what gammas make of it: they come
/// before rows are rounded, which are added up behind.
fn large_sums() -> Case {
    const SHAPE: [usize; 5] = [1, 5, 32, 2, 2];
    let info = CaseInfo::new(MODULE, "moe_a8w8", "sums beyond the type, scattered", &[], &SHAPE);
    Case::new(CaseInfo { dtype: "i8->f16".into(), ..info }, |s| {
        let [tokens, n, k, each, experts] = SHAPE;
        let x = s.given("x", &[tokens, k], vec![64i8; tokens * k]);
        let w = s.given("w", &[experts, n, k], vec![64i8; experts * n * k]);
        let x_scale = s.given("x_scale", &[1], vec![1f32]);
        let w_scale = s.given("w_scale", &[1], vec![1f32]);
        // A gate of each expert.
        let offsets = s.given::<i32>("token_offs_raw", &[experts + 1], vec![0, 1, 2]);
        let tiles = s.given::<i32>("block_pid_map", &[2], vec![0, 1]);
        let gather = s.given::<i32>("gather_indx", &[each], vec![0, 1]);
        let scatter = s.given::<i32>("scatter_indx", &[each], vec![0, 1]);
        let gammas = s.given("gammas", &[each], vec![0.25f32, -0.125]);
        let sums = vec![16_384.0; tokens * n];
        let out = s.output::<f16>("out", &[tokens, n], Expected::exact(sums));
        s.call(move || {
            let (x_scale, w_scale, gammas) = (x_scale.get(), w_scale.get(), gammas.get());
            let (offsets, tiles) = (offsets.get(), tiles.get());
            let (gather, scatter) = (gather.get(), scatter.get());
            let gates = RaggedGates::new(&offsets, &tiles, 16, each);
            let gates = gates.gather(&gather).scatter(&scatter);
            let options = MoeRaggedOptions::new(Activation::None).gammas(&gammas);
            let mut out = out.get();
            moe_a8w8_into(&x.get(), &w.get(), &x_scale, &w_scale, &gates, &options, &mut out)
        });
    })
}

/// Tokens whose gates all have no expert, of which there are no tiles either: they receive what is added to
/// the sums of none.
fn no_tiles(has_residual: bool) -> Case {
    const SHAPE: [usize; 5] = [3, 8, 32, 1, 2];
    let name = if has_residual { "no tiles, residual" } else { "no tiles, scattered" };
    let info = CaseInfo::new(MODULE, "moe_a8w8", name, &[], &SHAPE);
    Case::new(CaseInfo { dtype: "i8->f32".into(), ..info }, move |s| {
        let [tokens, n, k, each, experts] = SHAPE;
        let x = s.input::<i8>("x", &[tokens, k], Draw::Codes);
        let w = s.input::<i8>("w", &[experts, n, k], Draw::Codes);
        let x_scale = s.given("x_scale", &[1], vec![1f32]);
        let w_scale = s.given("w_scale", &[1], vec![1f32]);
        let offsets = s.given::<i32>("token_offs_raw", &[experts + 1], vec![0; experts + 1]);
        let tiles = s.given::<i32>("block_pid_map", &[0], Vec::new());
        let scatter = s.given::<i32>("scatter_indx", &[tokens], vec![-1; tokens]);
        let residual = has_residual.then(|| s.input::<f32>("residual", &[tokens, n], Draw::Normal));
        let sums = residual.as_ref().map_or(vec![0.0; tokens * n], Arg::numbers);
        let out = s.output::<f32>("out", &[tokens, n], Expected::exact(sums));
        s.call(move || {
            let (x_scale, w_scale) = (x_scale.get(), w_scale.get());
            let (offsets, tiles, scatter) = (offsets.get(), tiles.get(), scatter.get());
            let gates = RaggedGates::new(&offsets, &tiles, 16, each).scatter(&scatter);
            let residual = residual.as_ref().map(Arg::get);
            let options = MoeRaggedOptions::new(Activation::None);
            let options = residual.iter().fold(options, |options, of| options.residual(of));
            let mut out = out.get();
            moe_a8w8_into(&x.get(), &w.get(), &x_scale, &w_scale, &gates, &options, &mut out)
        });
    })
}

pub(super) fn add(cases: &mut Vec<Case>) {
    cases.extend([large_sums(), no_tiles(true), no_tiles(false)]);
    let (cdna3, cdna4) = (Some(Arch::Gfx942), Some(Arch::Gfx950));
    plain::<i8, bf16>(cases, (None, "i8"), specs(33));
    plain::<i8, f32>(cases, (None, "i8"), specs(32).into_iter().take(8).collect());
    plain::<i8, bf16>(cases, (None, "i8"), tiles("i8"));
    plain::<i8, bf16>(cases, (None, "i8"), far_apart(48));
    let shapes = [[64, 256, 256, 2, 8], [30, 40, 40, 2, 8], [4, 256, 256, 2, 8]];
    plain::<i8, bf16>(cases, (None, "i8"), specified(&shapes));
    plain::<F8E4M3Fnuz, bf16>(cases, (cdna3, "e4m3fnuz"), specified(&shapes));
    plain::<F8E4M3, bf16>(cases, (cdna4, "e4m3"), specified(&shapes));
    // The longest sums that 32 bits hold, whatever the codes are.
    plain::<i8, f32>(cases, (None, "i8"), vec![Spec::new("deep", [2, 3, 131_071, 1, 2], 16)]);
    plain::<F8E4M3Fnuz, bf16>(cases, (cdna3, "e4m3fnuz"), specs(40));
    plain::<F8E4M3, bf16>(cases, (cdna4, "e4m3"), specs(40));
    plain::<F8E4M3Fnuz, f16>(cases, (cdna3, "e4m3fnuz"), tiles_of("e4m3", Arch::Gfx942));
    plain::<F8E4M3, f16>(cases, (cdna4, "e4m3"), tiles_of("e4m3", Arch::Gfx950));
    let (fnuz, ocp) = ("e4m3fnuz", "e4m3");
    let names = ["tiny", "plain", "routed", "activated load"];
    let is_of = |spec: &Spec| !spec.residual && names.contains(&&*spec.name);
    for spec in specs(48).into_iter().filter(is_of) {
        let codes = |arch, dtype| Kind { module: MODULE, op: "moe_a8w8", arch, dtype };
        let of_cdna3 =
            |s: &mut Setup, spec: &Spec| operands::<F8E4M3Fnuz, _>(s, spec, Scales::Many);
        cases.push(codes(cdna3, fnuz).codes::<F8E4M3Fnuz>(spec.clone(), of_cdna3));
        let of_cdna4 = |s: &mut Setup, spec: &Spec| operands::<F8E4M3, _>(s, spec, Scales::Many);
        cases.push(codes(cdna4, ocp).codes::<F8E4M3>(spec, of_cdna4));
    }
    let (both, x, w) = ([true; 2], [true, false], [false, true]);
    mx::<F8E4M3, F8E4M3, bf16>(cases, (None, "mxfp8*mxfp8"), both, specs(33));
    mx::<F8E4M3, F8E4M3, f32>(cases, (None, "mxfp8*mxfp8"), both, tiles("mxfp8"));
    mx::<F8E4M3, F8E4M3, f32>(cases, (None, "mxfp8*mxfp8"), both, ends_of_scales(125));
    mx::<F8E4M3, F8E4M3, bf16>(cases, (None, "mxfp8*mxfp8"), both, specified(&shapes));
    mx::<F8E4M3, F8E4M3, f32>(cases, (None, "mxfp8*mxfp8"), both, shuffled());
    mx::<F8E4M3, F8E4M3Fnuz, bf16>(cases, (cdna3, "mxfp8*e4m3fnuz"), x, specs(32));
    mx::<F8E4M3, F8E4M3, bf16>(cases, (cdna4, "mxfp8*e4m3"), x, specs(32));
    mx::<F8E4M3Fnuz, F8E4M3, bf16>(cases, (cdna3, "e4m3fnuz*mxfp8"), w, specs(32));
    mx::<F8E4M3, F8E4M3, bf16>(cases, (cdna4, "e4m3*mxfp8"), w, specs(32));
    mx::<F8E4M3Fnuz, F8E4M3, f32>(cases, (cdna3, "e4m3fnuz*mxfp8"), w, shuffled());
    mx::<F8E4M3, F8E4M3, f32>(cases, (cdna4, "e4m3*mxfp8"), w, shuffled());
}
