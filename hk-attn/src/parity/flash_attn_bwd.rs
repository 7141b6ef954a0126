//! Cases of the ops of the module `flash_attn_bwd`.

use hk_core::Result;
use hk_core::dtype::{DType, Scalar, bf16, f16};
use hk_core::op::dry_run;
use hk_ref::attn::flash_attn_bwd::products;
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, Setup, unit_roundoff};

use super::backward::{self, Kind};
use crate::{
    AttnForward, AttnGradientsOut, BackwardElement, BackwardMode, BackwardOptions, TensorSlice,
    VarlenOptions, attn_bwd_delta_into, attn_dq_convert_into, flash_attn_bwd_into,
    flash_attn_varlen_bwd_into,
};

#[derive(Clone, Copy)]
struct Ops;

impl Kind for Ops {
    const MODULE: &'static str = "flash_attn_bwd";
    const OPS: [&'static str; 2] = ["flash_attn_bwd", "flash_attn_varlen_bwd"];
    const HEADS_FIRST: bool = true;
    const MODES: &'static [BackwardMode] =
        &[BackwardMode::Deterministic, BackwardMode::FusedAtomic];
    const IS_FUSED: bool = false;

    fn dense<T: BackwardElement>(
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        options: &BackwardOptions<'_>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()> {
        flash_attn_bwd_into(dout, forward, options, out)
    }

    fn packed<'a, T: BackwardElement>(
        dout: &TensorSlice<T>,
        forward: &AttnForward<'_, T>,
        varlen: &VarlenOptions<'a>,
        options: &BackwardOptions<'a>,
        out: AttnGradientsOut<'_, T>,
    ) -> Result<()> {
        flash_attn_varlen_bwd_into(dout, forward, varlen, options, out)
    }
}

/// Products of rows of results with their gradients.
fn delta<T: BackwardElement + Scalar>(shape: [usize; 4], place: Placement) -> Case {
    let info = CaseInfo::new("flash_attn_bwd", "attn_bwd_delta", "rows", &[T::DTYPE], &shape);
    Case::new(info, move |s| {
        let [b, sq, hq, dv] = shape;
        let dout = s.input::<T>("dout", &shape, Draw::Normal).place(place).order(&[1, 0, 2, 3]);
        let out = s.input::<T>("out", &shape, Draw::Normal).place(place);
        let (x, y) = (dout.numbers(), out.numbers());
        let mut values = Vec::new();
        for at in 0..b * hq * sq {
            let (b, h, i) = (at / sq / hq, at / sq % hq, at % sq);
            let first = ((b * sq + i) * hq + h) * dv;
            values.push((first..first + dv).map(|at| x[at] * y[at]).sum());
        }
        let delta = s.output::<f32>("delta", &[b, hq, sq], products(values, dv)).place(place);
        s.call(move || attn_bwd_delta_into(&dout.get(), &out.get(), &mut delta.get()));
    })
}

/// Gradients from sums.
fn convert<T: BackwardElement + Scalar>(shape: [usize; 4], place: Placement) -> Case {
    let dtypes = [DType::F32, T::DTYPE];
    let info = CaseInfo::new("flash_attn_bwd", "attn_dq_convert", "sums", &dtypes, &shape);
    Case::new(info, move |s| {
        let sums = s.input::<f32>("sums", &shape, Draw::Normal);
        let values: Vec<_> = sums.numbers().into_iter().map(|sum| sum * 0.125).collect();
        // Half a step of subnormal numbers of f16, if they are such.
        let allowed =
            values.iter().map(|x| x.abs() * unit_roundoff(T::DTYPE) + 2f64.powi(-25)).collect();
        let expected = Expected { values, allowed, ..Expected::default() };
        let dq = s.output::<T>("dq", &shape, expected).place(place);
        s.call(move || attn_dq_convert_into(&sums.get(), 0.125, &mut dq.get()));
    })
}

/// A dry run of gradients by queries, keys and values of such shapes, with logarithms of one, which leaves what
/// there is.
fn set_up_dry(
    s: &mut Setup,
    [queries, keys, rows]: [&[usize]; 3],
    call: impl Fn(&TensorSlice<bf16>, &AttnForward<'_, bf16>, AttnGradientsOut<'_, bf16>) -> Result<()>
    + 'static,
) {
    let [q, out, dout] =
        ["q", "out", "dout"].map(|name| s.input::<bf16>(name, queries, Draw::Normal));
    let [k, v] = ["k", "v"].map(|name| s.input::<bf16>(name, keys, Draw::Normal));
    let lse = s.input::<f32>("lse", rows, Draw::Normal);
    let [dq, dk, d_v] = [("dq", queries), ("dk", keys), ("dv", keys)].map(|(name, shape)| {
        let count = shape.iter().product();
        let same = s.output::<bf16>(name, shape, Expected::exact(vec![1.0; count]));
        same.holding(vec![bf16::ONE; count])
    });
    let count = rows.iter().product();
    let delta = s.output::<f32>("delta", rows, Expected::exact(vec![1.0; count]));
    let delta = delta.holding(vec![1.0; count]);
    s.call(move || {
        let (q, k, v, o, lse, dout) = (q.get(), k.get(), v.get(), out.get(), lse.get(), dout.get());
        let forward = AttnForward { q: &q, k: &k, v: &v, out: &o, lse: &lse };
        let (mut dq, mut dk, mut dv, mut delta) = (dq.get(), dk.get(), d_v.get(), delta.get());
        let into = AttnGradientsOut {
            dq: &mut dq,
            dk: &mut dk,
            dv: &mut dv,
            delta: &mut delta,
            dsink: None,
        };
        dry_run(|| call(&dout, &forward, into)).0
    });
}

/// A dry run, though rows of no sequence are to be zeros.
fn dry() -> Case {
    let sizes = [1, 4, 4, 2, 2, 8, 8];
    let info = CaseInfo::new("flash_attn_bwd", "flash_attn_bwd", "dry run", &[DType::Bf16], &sizes);
    Case::new(info, |s| {
        let shape: &[usize] = &[1, 4, 2, 8];
        set_up_dry(s, [shape, shape, &[1, 2, 4]], |dout, forward, out| {
            let options = BackwardOptions::default().zero_tensors(true);
            flash_attn_bwd_into(dout, forward, &options, out)
        });
    })
}

/// A dry run of many short sequences that are said to be as long as all of them: launches have room for what
/// there is, if not for so many long ones.
fn many() -> Case {
    let (b, hq, d) = (1 << 11, 32, 8);
    let sizes = [b, b, b, hq, 1, d, d];
    let op = "flash_attn_varlen_bwd";
    let info = CaseInfo::new("flash_attn_bwd", op, "dry run of many", &[DType::Bf16], &sizes);
    Case::new(info, move |s| {
        let bounds = s.given::<i32>("bounds", &[b + 1], (0..=b as i32).collect());
        set_up_dry(s, [&[b, hq, d], &[b, 1, d], &[hq, b]], move |dout, forward, out| {
            let bounds = bounds.get();
            let varlen = VarlenOptions {
                cu_seqlens_q: (&bounds).into(),
                cu_seqlens_k: (&bounds).into(),
                max_seqlen_q: b,
                max_seqlen_k: b,
            };
            flash_attn_varlen_bwd_into(dout, forward, &varlen, &BackwardOptions::default(), out)
        });
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = backward::cases::<Ops>();
    cases.extend([dry(), many()]);
    let dense = Placement::DENSE;
    for (shape, place) in [
        ([2, 3, 4, 16], dense),
        ([1, 70, 3, 136], dense.gap(8).shift(8)),
        ([2, 33, 2, 256], dense.edge(Edge::End)),
        ([1, 0, 2, 64], dense),
        ([2, 3, 4, 1], dense),
        ([1, 5, 2, 19], dense.gap(3).shift(1)),
        ([1, 5, 3, 100], dense.gap(5)),
        ([1, 7, 2, 255], dense.edge(Edge::End)),
    ] {
        cases.push(delta::<bf16>(shape, place));
        cases.push(delta::<f16>(shape, place));
        cases.push(convert::<bf16>(shape, place));
        cases.push(convert::<f16>(shape, place));
    }
    cases
}
