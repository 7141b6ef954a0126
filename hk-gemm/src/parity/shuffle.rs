//! Cases of `shuffle`.

use hk_core::dtype::{E8M0, Element, F4x2E2M1, F8E4M3, bf16};
use hk_core::op::stored::{SCALE_ROWS, Shuffled, WEIGHT_TILE};
use hk_ref::gemm::shuffle::{arranged, scales as order_of_scales, weights as order_of_weights};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, Size};

use crate::{shuffle_scale_into, shuffle_weight_into, unshuffle_scale_into, unshuffle_weight_into};

const MODULE: &str = "shuffle";

/// Both ways of weights `(n, k)`.
fn weights<T: Element>(cases: &mut Vec<Case>, name: &str, [n, k]: [usize; 2], place: Placement) {
    // Of any chip's types, which are only copied.
    let info = |op| CaseInfo::new(MODULE, op, name.to_owned(), &[T::DTYPE], &[n, k]);
    let tiles_shape = [n / WEIGHT_TILE, WEIGHT_TILE * k];
    let order = move || order_of_weights(n, k / T::PACK, size_of::<T>());
    let shuffle = Case::new(info("shuffle_weight"), move |s| {
        let w = s.input::<T>("w", &[n, k], Draw::Codes);
        let tiles = s.output::<T>(
            "tiles",
            &tiles_shape,
            Expected::bits(&arranged(&w.elements(), &order())),
        );
        s.call(move || shuffle_weight_into(&w.get(), &mut tiles.get()))
    });
    let unshuffle = Case::new(info("unshuffle_weight"), move |s| {
        let w: Vec<T> = s.draw("w", &[n, k], Draw::Codes);
        let tiles = s.given("tiles", &tiles_shape, arranged(&w, &order()));
        let w = s.output::<T>("w", &[n, k], Expected::bits(&w));
        s.call(move || unshuffle_weight_into(&Shuffled::new(tiles.get()), &mut w.get()))
    });
    cases.extend([shuffle, unshuffle].map(|case| case.place(place).writes_once()));
}

/// Both ways of scales of so many rows and blocks.
fn scales(cases: &mut Vec<Case>, name: &str, [rows, blocks]: [usize; 2], place: Placement) {
    let info = |op| CaseInfo::new(MODULE, op, name.to_owned(), &[E8M0::DTYPE], &[rows, blocks]);
    let padded = move |scales: &[E8M0], all: usize, padding| {
        let mut padded = scales.to_vec();
        padded.resize(all * blocks, padding);
        arranged(&padded, &order_of_scales(all, blocks))
    };
    let shuffle = Case::new(info("shuffle_scale"), move |s| {
        let scales = s.input::<E8M0>("scales", &[rows, blocks], Draw::Powers(-20, 20));
        let all = rows.next_multiple_of(256);
        let tiles = Expected::bits(&padded(&scales.elements(), all, E8M0::ONE));
        let tiles = s.output::<E8M0>("tiles", &[all, blocks], tiles);
        s.call(move || shuffle_scale_into(&scales.get(), &mut tiles.get()))
    });
    let unshuffle = Case::new(info("unshuffle_scale"), move |s| {
        let scales: Vec<E8M0> = s.draw("scales", &[rows, blocks], Draw::Powers(-20, 20));
        let all = rows.next_multiple_of(SCALE_ROWS);
        let tiles = s.given("tiles", &[all, blocks], padded(&scales, all, E8M0::NAN));
        let scales = s.output::<E8M0>("scales", &[rows, blocks], Expected::bits(&scales));
        s.call(move || unshuffle_scale_into(&Shuffled::new(tiles.get()), &mut scales.get()))
    });
    cases.extend([shuffle, unshuffle].map(|case| case.place(place).writes_once()));
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let dense = Placement::DENSE;
    for shape in [[16, 64], [48, 192], [272, 320], [112, 4096]] {
        weights::<i8>(cases, "plain", shape, dense);
        weights::<F8E4M3>(cases, "plain", shape, dense);
        weights::<F4x2E2M1>(cases, "plain", shape, dense);
        weights::<bf16>(cases, "plain", shape, dense);
    }
    // More than all workgroups take at once.
    let at = cases.len();
    weights::<i8>(cases, "in turns", [4096, 2560], dense);
    scales(cases, "in turns", [4090, 640], dense);
    let turns = cases.split_off(at);
    cases.extend(turns.into_iter().map(|case| case.size(Size::Core)));
    for shape in [[1, 8], [31, 16], [33, 8], [256, 40], [300, 24]] {
        scales(cases, "plain", shape, dense);
    }
    for (place, name) in [
        (dense.gap(5).shift(3), "rows off alignment"),
        (dense.edge(Edge::Start), "start of memory"),
        (dense.edge(Edge::End), "end of memory"),
    ] {
        weights::<i8>(cases, name, [32, 96], place);
        scales(cases, name, [37, 24], place);
    }
}
