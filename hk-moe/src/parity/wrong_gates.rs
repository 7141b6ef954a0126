//! Cases of products of experts that are given what routing never gives, and do not look at it: gates and experts
//! that there are not, and more rows than there is room for. Gates of rows of an expert's tile have their results,
//! those of a tile of none have zeros, and nothing else is read or written.

use hk_core::dtype::{DType, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::{Activation as Plain, Arch, Result, TensorSlice};
use hk_ref::moe::moe_op::{Problem, dequantised};
use hk_ref::moe::moe_op_e2e::{expect_layer, summed};
use hk_ref::moe::moe_op_mxfp4_silu_fused::expect;
use hk_ref::{Arg, Case, CaseInfo, Draw, Expected, Placement, Setup};
use ndarray::{Array2, Array3};

use super::int_groups::numbers;
use super::loads::Aligned;
use super::moe_op_mxfp4::{A_SCALES, Rows, matrices};
use super::ragged::{SWIGLU, act};
use crate::{
    AlignedGates, BlockScales, ExpertElement, MoeGatedOptions, MoeGemmOptions, MoeLayerOptions,
    Mxfp4Element, WnA16Weights, moe_e2e_into, moe_gemm_into, moe_gemm_wna16_into, moe_mxfp4_into,
    moe_mxfp4_silu_fused_into, moe_silu_fused_into, moe_silu_fused_wna16_into,
};

/// Rows, columns of the results, gates of a row, and experts.
const ROWS: usize = 19;
const COLUMNS: usize = 24;
const TOP_K: usize = 2;
const EXPERTS: usize = 3;
/// The expert in whose place tiles have experts that there are not.
const ABSENT: usize = 1;
/// Rows of a tile.
const TILE: usize = 16;

/// What is in results that are not written.
const HELD: f64 = 17.0;

/// What a case is of.
#[derive(Clone, Copy)]
struct Kind {
    /// The module, and the op.
    of: [&'static str; 2],
    name: &'static str,
    dtype: &'static str,
    arch: Option<Arch>,
    operands: fn(&mut Setup) -> Operands,
}

/// The numbers that operands stand for, what becomes of them, and what calls the op.
struct Operands {
    a: Array2<f64>,
    b: Array3<f64>,
    /// Whether gates of a row are added up.
    are_sums: bool,
    expect: Expect,
    call: Call,
}

type Expect = Box<dyn Fn(&Problem<'_>) -> Expected>;
type Call = Box<dyn Fn(&AlignedGates<'_>, &mut TensorSlice<f32>) -> Result<()>>;

fn case(kind: Kind, turn: usize) -> Case {
    let [module, op] = kind.of;
    let name = format!("wrong gates and tiles {turn}, {}", kind.name);
    let info = CaseInfo::new(module, op, name, &[], &[ROWS, COLUMNS, TOP_K, EXPERTS]);
    Case::new(CaseInfo { dtype: kind.dtype.into(), arch: kind.arch, ..info }, move |s| {
        let Operands { a, b, are_sums, expect, call } = (kind.operands)(s);
        let aligned = Aligned::wrong(s, [ROWS, TOP_K, EXPERTS], TILE, ABSENT, turn);
        let expected = expect(&Problem {
            a: a.view(),
            b: b.view(),
            ids: &aligned.ids,
            top_k: TOP_K,
            weights: None,
            absent: Some(ABSENT),
            // Gates that no row has count as zeros.
            held: if are_sums { 0.0 } else { HELD },
        });
        let shape = [ROWS, TOP_K, COLUMNS];
        let shape = if are_sums { &[ROWS, COLUMNS][..] } else { &shape };
        let held = f32::encode(&vec![HELD; shape.iter().product()]);
        let c = s.output::<f32>("c", shape, expected).holding(held);
        s.call(move || aligned.with(|gates| call(gates, &mut c.get())));
    })
}

/// Options that do not look at gates.
fn options<'a>() -> MoeGemmOptions<'a> {
    MoeGemmOptions::default().validate_indices(false)
}

fn rows([rows, columns]: [usize; 2], numbers: Vec<f64>) -> Array2<f64> {
    Array2::from_shape_vec((rows, columns), numbers).expect("rows of that shape")
}

fn cubes([matrices, rows, columns]: [usize; 3], numbers: Vec<f64>) -> Array3<f64> {
    Array3::from_shape_vec((matrices, rows, columns), numbers).expect("matrices of that shape")
}

/// Rows of so many k, and matrices of so many rows.
fn dense(s: &mut Setup, [b_rows, k]: [usize; 2]) -> ([Arg<bf16>; 2], Array2<f64>, Array3<f64>) {
    let a = s.input::<bf16>("a", &[ROWS, k], Draw::Normal);
    let b = s.input::<bf16>("b", &[EXPERTS, b_rows, k], Draw::Normal);
    let (of_a, of_b) = (a.numbers(), b.numbers());
    ([a, b], rows([ROWS, k], of_a), cubes([EXPERTS, b_rows, k], of_b))
}

/// Sums, of k that may be cut.
fn sums(s: &mut Setup, k: usize, splits: Option<u32>) -> Operands {
    let ([a, b], of_a, of_b) = dense(s, [COLUMNS, k]);
    Operands {
        a: of_a,
        b: of_b,
        are_sums: false,
        expect: Box::new(|problem| problem.expect(None, None, DType::F32)),
        call: Box::new(move |gates, c| {
            let options = splits.into_iter().fold(options(), MoeGemmOptions::splits);
            moe_gemm_into(&a.get(), &b.get(), gates, TOP_K, &options, c)
        }),
    }
}

/// Gates and what they let through, next to each other.
fn gated(s: &mut Setup) -> Operands {
    let ([a, b], of_a, of_b) = dense(s, [2 * COLUMNS, 40]);
    Operands {
        a: of_a,
        b: of_b,
        are_sums: false,
        expect: Box::new(|problem| problem.expect_gated(Plain::Silu, DType::F32)),
        call: Box::new(move |gates, c| {
            moe_silu_fused_into(&a.get(), &b.get(), gates, TOP_K, &options(), c)
        }),
    }
}

/// What [`SWIGLU`] makes of both halves.
fn of_halves() -> Expect {
    Box::new(|problem| expect(problem, None, act(SWIGLU), DType::F32))
}

/// One after the other.
fn halves(s: &mut Setup) -> Operands {
    let ([a, b], of_a, of_b) = dense(s, [2 * COLUMNS, 40]);
    Operands {
        a: of_a,
        b: of_b,
        are_sums: false,
        expect: of_halves(),
        call: Box::new(move |gates, c| {
            let options = options().activation(SWIGLU);
            moe_silu_fused_into(&a.get(), &b.get(), gates, TOP_K, &options, c)
        }),
    }
}

/// With 4-bit integers in groups.
fn in_groups(s: &mut Setup, is_gated: bool) -> Operands {
    // Scales of another number of groups would be of groups that are no multiples of 8.
    let ([k, group], bits) = ([24, 8], 4);
    let b_rows = if is_gated { 2 * COLUMNS } else { COLUMNS };
    let a = s.input::<bf16>("a", &[ROWS, k], Draw::Normal);
    let b = s.input::<u8>("b", &[EXPERTS, b_rows, k / 2], Draw::Codes);
    let groups = k / group;
    let scale = s.input::<f32>("b_scale", &[EXPERTS, b_rows, groups], Draw::Scaled(-5));
    let of_b = numbers::<bf16>((b.elements(), bits), &scale.numbers(), None, [group, groups]);
    Operands {
        a: rows([ROWS, k], a.numbers()),
        b: cubes([EXPERTS, b_rows, k], of_b),
        are_sums: false,
        expect: match is_gated {
            true => of_halves(),
            false => Box::new(|problem| problem.expect(None, None, DType::F32)),
        },
        call: Box::new(move |gates, c| {
            let (a, b, scale) = (a.get(), b.get(), scale.get());
            let b = WnA16Weights::of_4_bits(&b, &scale);
            if is_gated {
                let options = options().activation(SWIGLU);
                return moe_silu_fused_wna16_into(&a, &b, gates, TOP_K, &options, c);
            }
            moe_gemm_wna16_into(&a, &b, gates, TOP_K, &options(), c)
        }),
    }
}

/// With e2m1 in blocks of MX, as rows may be too, whose scales are put into the order of gates.
fn in_blocks<T: Mxfp4Element>(s: &mut Setup, scales: Option<Draw>) -> Operands {
    let place = Placement::default();
    let Rows { codes: a, scales: of_a, numbers } = Rows::<T>::new(s, [ROWS, 64], scales, place);
    let shape = [EXPERTS, COLUMNS, 64];
    let (b, of_b, matrices) = matrices(s, shape, Draw::Powers(-6, 4), (false, place));
    Operands {
        a: numbers,
        b: matrices,
        are_sums: false,
        expect: Box::new(|problem| problem.expect(None, None, DType::F32)),
        call: Box::new(move |gates, c| {
            let (a, b, of_b, of_a) = (a.get(), b.get(), of_b.get(), of_a.as_ref().map(Arg::get));
            let options = of_a.iter().fold(options(), |options, of| options.a_mx_scale(of));
            moe_mxfp4_into(&a, &b, &of_b, gates, TOP_K, &options, c)
        }),
    }
}

/// Gates and what they let through, in blocks of MX.
fn halves_in_blocks(s: &mut Setup) -> Operands {
    let place = Placement::default();
    let Rows { codes: a, numbers, .. } = Rows::<bf16>::new(s, [ROWS, 64], None, place);
    let shape = [EXPERTS, 2 * COLUMNS, 64];
    let (b, of_b, matrices) = matrices(s, shape, Draw::Powers(-6, 0), (false, place));
    Operands {
        a: numbers,
        b: matrices,
        are_sums: false,
        expect: of_halves(),
        call: Box::new(move |gates, c| {
            let (a, b, of_b) = (a.get(), b.get(), of_b.get());
            let options = MoeGatedOptions::new(SWIGLU).validate_indices(false);
            moe_mxfp4_silu_fused_into(&a, &b, &of_b, gates, TOP_K, &options, c)
        }),
    }
}

/// With scales of blocks of 128 by 128.
fn scaled<T: ExpertElement>(s: &mut Setup) -> Operands {
    let [k, block]: [usize; 2] = [160, 128];
    let groups = k.div_ceil(block);
    let a = s.input::<T>("a", &[ROWS, k], Draw::Codes);
    let b = s.input::<T>("b", &[EXPERTS, COLUMNS, k], Draw::Codes);
    let of_a = s.input::<f32>("a_scale", &[ROWS, groups], Draw::Scaled(-6));
    let of_b = s.input::<f32>("b_scale", &[EXPERTS, 1, groups], Draw::Scaled(-6));
    let a_scales = rows([ROWS, groups], of_a.numbers());
    let b_scales = cubes([EXPERTS, 1, groups], of_b.numbers());
    let mut matrices = cubes([EXPERTS, COLUMNS, k], b.numbers());
    for (mut matrix, scales) in matrices.outer_iter_mut().zip(b_scales.outer_iter()) {
        let scaled = dequantised(matrix.view(), scales, [block; 2]);
        matrix.assign(&scaled);
    }
    Operands {
        a: dequantised(rows([ROWS, k], a.numbers()).view(), a_scales.view(), [1, block]),
        b: matrices,
        are_sums: false,
        expect: Box::new(|problem| problem.expect(None, None, DType::F32)),
        call: Box::new(move |gates, c| {
            let (of_a, of_b) = (of_a.get(), of_b.get());
            let options = options().scales(BlockScales { a: &of_a, b: &of_b });
            moe_gemm_into(&a.get(), &b.get(), gates, TOP_K, &options, c)
        }),
    }
}

/// Whole layers, whose gates may be added up.
fn layer(s: &mut Setup, are_sums: bool) -> Operands {
    let (k, inner) = (COLUMNS, 16);
    let a = s.input::<bf16>("a", &[ROWS, k], Draw::Normal);
    let w1 = s.input::<bf16>("w1", &[EXPERTS, 2 * inner, k], Draw::Scaled(-2));
    let w2 = s.input::<bf16>("w2", &[EXPERTS, k, inner], Draw::Normal);
    let down = cubes([EXPERTS, k, inner], w2.numbers());
    Operands {
        a: rows([ROWS, k], a.numbers()),
        b: cubes([EXPERTS, 2 * inner, k], w1.numbers()),
        are_sums,
        expect: Box::new(move |problem| {
            let of_gates = expect_layer::<bf16>(problem, down.view(), DType::F32);
            match are_sums {
                true => summed(&of_gates, TOP_K, k, DType::F32),
                false => of_gates,
            }
        }),
        call: Box::new(move |gates, c| {
            let options = MoeLayerOptions::default().validate_indices(false);
            let options = if are_sums { options.reduce() } else { options };
            moe_e2e_into(&a.get(), &w1.get(), &w2.get(), gates, TOP_K, &options, c)
        }),
    }
}

/// Of both chips.
const fn kind(
    of: [&'static str; 2],
    name: &'static str,
    dtype: &'static str,
    operands: fn(&mut Setup) -> Operands,
) -> Kind {
    Kind { of, name, dtype, arch: None, operands }
}

const PLAIN: [&str; 2] = ["moe_op", "moe_gemm"];
const SILU: [&str; 2] = ["moe_op_silu_fused", "moe_silu_fused"];
const GROUPS: [[&str; 2]; 2] =
    [["moe_op", "moe_gemm_wna16"], ["moe_op_silu_fused", "moe_silu_fused_wna16"]];
const MX: [&str; 2] = ["moe_op_mxfp4", "moe_mxfp4"];
const GATED_MX: [&str; 2] = ["moe_op_mxfp4_silu_fused", "moe_mxfp4_silu_fused"];
const LAYER: [&str; 2] = ["moe_op_e2e", "moe_e2e"];

pub(super) fn add(cases: &mut Vec<Case>) {
    let whole = kind(PLAIN, "plain", "bf16->f32", |s| sums(s, 40, None));
    let shares = kind(PLAIN, "shares", "bf16->f32", |s| sums(s, 600, Some(3)));
    for turn in 0..3 {
        cases.extend([case(whole, turn), case(shares, turn)]);
    }
    let of_cdna3 = kind(PLAIN, "scales of blocks", "e4m3fnuz->f32", scaled::<F8E4M3Fnuz>);
    let of_cdna4 = kind(PLAIN, "scales of blocks", "e4m3->f32", scaled::<F8E4M3>);
    let [integers, gated_integers] = GROUPS;
    let of_groups = "bf16*u4, f32->f32";
    let others = [
        kind(SILU, "gated", "bf16->f32", gated),
        kind(SILU, "halves", "bf16->f32", halves),
        kind(integers, "groups", of_groups, |s| in_groups(s, false)),
        kind(gated_integers, "groups", of_groups, |s| in_groups(s, true)),
        kind(MX, "plain", "bf16*e2m1->f32", |s| in_blocks::<bf16>(s, None)),
        kind(MX, "scales of rows", "mx e2m1*e2m1->f32", |s| {
            in_blocks::<F4x2E2M1>(s, Some(A_SCALES))
        }),
        kind(GATED_MX, "halves", "bf16*e2m1->f32", halves_in_blocks),
        Kind { arch: Some(Arch::Gfx942), ..of_cdna3 },
        Kind { arch: Some(Arch::Gfx950), ..of_cdna4 },
        kind(LAYER, "layer", "bf16->f32", |s| layer(s, false)),
        kind(LAYER, "sums of gates", "bf16->f32", |s| layer(s, true)),
    ];
    cases.extend(others.into_iter().enumerate().map(|(turn, kind)| case(kind, turn % 3)));
}
