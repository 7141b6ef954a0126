//! Cases of `rmsnorm` and `fused_add_rmsnorm`.

use std::collections::BTreeSet;

use hk_core::dtype::{bf16, f16};
use hk_ref::{Case, Draw, Edge, Placement, Size};

use super::rmsnorm::{Spec, TIES_X, case};

/// `[rows, width]` that the simulator runs in no time: sub-wave rows, a workgroup per row, two
/// passes; odd widths, a width of one.
const SHAPES: [[usize; 2]; 17] = [
    [1, 4],
    [2, 10],
    [5, 1],
    [173, 409],
    [71, 3571],
    [128, 768],
    [64, 512],
    [256, 1024],
    [17, 8192],
    [3, 16_384],
    [1, 31_744],
    [1, 32_767],
    [2, 65_536],
    [1, 17_389],
    // The last column is in the first dword of its chunk, of the second turn of the lanes.
    [1, 18_433],
    // The last column is the last lane's, in the last dword of its chunk.
    [1, 19_967],
    [512, 128],
];

/// Every tile configuration: its name, rows of a workgroup, and two shapes for which it is chosen, of
/// ragged rows and of others, that end in a lane's last chunk. The widths leave every remainder of a
/// chunk.
const TILES: [(&str, usize, [[usize; 2]; 2]); 9] = [
    ("n128", 16, [[5, 102], [5, 104]]),
    ("n256", 8, [[3, 207], [3, 208]]),
    ("n512", 4, [[2, 509], [2, 508]]),
    ("n1024", 4, [[2, 901], [2, 902]]),
    ("n2048", 4, [[2, 2003], [2, 2004]]),
    ("n4096", 1, [[2, 3507], [2, 3510]]),
    ("n8192", 1, [[1, 7001], [1, 7002]]),
    ("n16384", 1, [[1, 16_377], [1, 16_376]]),
    ("any", 1, [[1, 31_391], [1, 31_386]]),
];

/// Shapes of models, and of the seed's only test.
const LARGE: [[usize; 2]; 8] = [
    [4096, 128],
    [364_800, 128],
    [16_380, 1536],
    [8192, 8192],
    [4096, 7168],
    [8192, 2048],
    [8192, 2880],
    [8192, 65_536],
];

/// Batches of decoding, each with the widths of [`LARGE`].
const DECODE: [usize; 4] = [1, 8, 32, 128];

/// Every combination of options that is not just another shape.
fn variants() -> Vec<Spec> {
    let spec = Spec::new;
    let gaps = Placement::DENSE.gap(576);
    let odd = Placement::DENSE.gap(5).shift(3);
    let all = Spec { offset: -0.5, rstd: true, in_place: true, ..spec([0, 0], "") };
    let special = |shape, name| Spec { special: true, ..spec(shape, name) };
    vec![
        Spec { offset: 1.0, ..spec([9, 256], "zero-centred weight") },
        Spec { rstd: true, ..spec([9, 256], "rstd") },
        Spec { rstd: true, ..spec([3, 20_000], "rstd, two passes") },
        Spec { in_place: true, ..spec([9, 2000], "in place") },
        Spec { in_place: true, ..spec([2, 20_000], "in place, two passes") },
        Spec { place: gaps, ..spec([7, 1536], "rows of a wider tensor") },
        Spec { place: odd, ..spec([7, 300], "rows off alignment") },
        Spec { place: odd, ..spec([2, 17_000], "rows off alignment, two passes") },
        Spec { shape: [7, 301], name: "all options", place: odd, ..all },
        Spec { shape: [2, 17_003], name: "all options, two passes", place: gaps, ..all },
        Spec { eps: 0.25, rstd: true, ..spec([9, 300], "large eps") },
        Spec { eps: 2.0, offset: 0.25, rstd: true, ..spec([2, 17_000], "large eps, two passes") },
        Spec { draw: Draw::Outliers, ..spec([16, 2880], "outliers") },
        Spec { draw: Draw::Uniform, ..spec([16, 768], "uniform") },
        Spec { draw: Draw::Denormal, ..spec([4, 768], "denormal") },
        Spec { draw: Draw::Zeros, rstd: true, ..spec([4, 768], "zeros") },
        Spec { rstd: true, ..special([5, 100], "special values") },
        Spec { workgroups: Some(1), ..special([5, 5003], "special values, wide") },
        Spec {
            workgroups: Some(1),
            rstd: true,
            ..special([5, 17_001], "special values, two passes")
        },
        Spec { workgroups: Some(1), ..special([37, 101], "special values, half a dword") },
        Spec { workgroups: Some(1), ..special([37, 104], "special values, whole chunks") },
        special([5, 16_896], "special values, whole pieces"),
        spec([0, 64], "no rows"),
    ]
}

/// Magnitudes at the limits of the element types.
fn limits(cases: &mut Vec<Case>) {
    let spec = |power, eps, name| Spec {
        draw: Draw::Scaled(power),
        eps,
        rstd: true,
        ..Spec::new([5, 301], name)
    };
    let least = f32::from_bits(1);
    let small = spec(-56, 1e-36, "small");
    let tiny = Spec { draw: Draw::Denormal, ..spec(0, least, "denormal, least eps") };
    let large = spec(57, 1e-6, "large");
    let most = spec(0, f32::MAX, "largest eps");
    for spec in [small, tiny, large, most] {
        for spec in [spec, spec.fused()] {
            cases.push(case::<bf16, bf16>(spec, Size::Quick));
            cases.push(case::<f32, f32>(spec, Size::Quick));
        }
    }
    // Some sums are infinite.
    let large = spec(14, 1e-6, "large");
    cases.push(case::<f16, f16>(large, Size::Quick));
    cases.push(case::<f16, f16>(large.fused(), Size::Quick));
    cases.push(case::<f16, f32>(large.fused(), Size::Quick));
}

/// What every tile configuration does, whether it would be chosen or not.
fn tiles(cases: &mut Vec<Case>) {
    for (tile, rows_at_once, shapes) in TILES {
        for shape in shapes {
            let chosen = Spec { eps: 0.01, offset: 0.75, rstd: true, ..Spec::new(shape, "tile") };
            for spec in [chosen, chosen.fused()] {
                add_dtypes(cases, spec, Size::Quick);
                add_mixed(cases, spec);
            }
        }
        let [shape, _] = shapes;
        let spec = |shape, name| Spec { tile: Some(tile), ..Spec::new(shape, name) };
        // Whole chunks, whole dwords and neither, of every pair of types.
        for width in [24, 26, 27] {
            let ends = Spec { rstd: width == 27, ..spec([3, width], "ends of rows") };
            for spec in [ends, ends.fused()] {
                add_dtypes(cases, spec, Size::Quick);
                add_mixed(cases, spec);
            }
        }
        // Two workgroups take several turns, the last of them not with all waves.
        let rows = rows_at_once * 5 + 1;
        let turns = Spec {
            rstd: true,
            offset: -0.25,
            workgroups: Some(2),
            writes_once: true,
            ..spec([rows, 11], "several turns")
        };
        // Every number of elements in a row's last chunk, the last of them at the end of an allocation.
        let tails = (9..16).map(|width| Spec {
            place: Placement::DENSE.gap(3).edge(Edge::End),
            rstd: width % 3 == 0,
            ..spec([3, width], "tail")
        });
        for tail in tails.clone() {
            let [_, width] = tail.shape;
            let tail = Spec { shape: [rows, width], workgroups: Some(2), ..tail };
            let tail = Spec { name: "tail, several turns", ..tail };
            cases.push(case::<bf16, bf16>(tail, Size::Core));
            cases.push(case::<bf16, bf16>(tail.fused(), Size::Core));
        }
        let whole = Spec { rstd: true, ..spec([rows, shape[1]], "rows") };
        let later = Spec { workgroups: Some(2), name: "rows, several turns", ..whole };
        for spec in tails.chain([whole, later]) {
            add_dtypes(cases, spec, Size::Quick);
            add_dtypes(cases, spec.fused(), Size::Quick);
        }
        // The end of a row in each dword of each chunk that a lane has, in turns of both kinds.
        if matches!(tile, "n16384" | "any") {
            for (chunk, dword) in (0..4).flat_map(|chunk| (0..4).map(move |dword| (chunk, dword))) {
                let lane = 512 / 4 * 3;
                let column = (chunk * 512 + lane) * 8 + dword * 2;
                let end = spec([3, column + 1], "ends of chunks");
                let end = Spec { workgroups: Some(2), ..end };
                cases.push(case::<bf16, bf16>(end, Size::Core));
                cases.push(case::<bf16, bf16>(end.fused(), Size::Core));
            }
        }
        // A weight of other elements that ends with half a chunk.
        let half =
            Spec { place: Placement::DENSE.edge(Edge::End), ..spec([3, 12], "half a chunk") };
        add_mixed(cases, half);
        // What is not finite, in first turns and in later ones.
        for (shape, workgroups) in shapes
            .into_iter()
            .flat_map(|[_, width]| [([5, width], None), ([rows_at_once + 5, width], Some(1))])
        {
            let special = Spec { special: true, workgroups, ..spec(shape, "special values") };
            cases.push(case::<bf16, bf16>(special, Size::Core));
            cases.push(case::<bf16, bf16>(special.fused(), Size::Core));
        }
        // Rows of which every wave has a share, and such as end with the half of a chunk.
        let wide = [rows, shape[1] / 8 * 8];
        let wide = Spec { shape: wide, in_place: true, lean: true, ..turns };
        let half = Spec { shape: [rows, 20], ..turns };
        for spec in [turns, wide, half] {
            add_dtypes(cases, spec, Size::Quick);
            add_dtypes(cases, spec.fused(), Size::Quick);
        }
    }
}

/// Sums of so many terms that lanes fold their chains.
fn long_rows(cases: &mut Vec<Case>) {
    // The end of a row is in the last of a lane's chunks, of the first and only piece.
    let one =
        Spec { tile: Some("any"), workgroups: Some(2), ..Spec::new([3, 12_301], "one piece") };
    for one in [one, one.fused()] {
        add_dtypes(cases, one, Size::Core);
    }
    let long = Spec { rstd: true, ..Spec::new([1, 536_589], "long") };
    cases.push(case::<bf16, bf16>(long, Size::Quick));
    cases.push(case::<f16, bf16>(long.fused(), Size::Core));
    // A fold with a piece behind it.
    let fold = Spec { shape: [1, (64 << 14) + 9], draw: Draw::Equal, name: "fold", ..long };
    cases.push(case::<bf16, bf16>(fold, Size::Core));
    cases.push(case::<bf16, f32>(fold.fused(), Size::Core));
    // Without folds the rounding errors are too large.
    for width in [4 << 20, (4 << 20) + 1] {
        let equal = Spec { shape: [1, width], draw: Draw::Equal, name: "equal", ..long };
        cases.push(case::<f32, bf16>(equal, Size::Core));
    }
    // Nothing but zeros is added to them.
    let least = f32::from_bits(1);
    for width in [1, 26, 27] {
        let zeros = Spec { draw: Draw::Zeros, eps: least, ..Spec::new([1, width], "least eps") };
        cases.push(case::<f32, f32>(Spec { tile: Some("any"), rstd: true, ..zeros }, Size::Quick));
    }
}

/// Results in the middle between two numbers, which are rounded to the even one, and next to it.
fn ties(cases: &mut Vec<Case>) {
    // The means of squares are exact in rows of so many elements; they make 4 with this.
    let powers = [("n128", [7, 4]), ("n256", [5, 4])];
    let rest = 4.0 - (TIES_X[0] * TIES_X[0] + TIES_X[1] * TIES_X[1]) / 2.0;
    let whole = TILES.map(|(tile, ..)| (tile, [3, 64])).into_iter().chain(powers);
    // Others add nothing to so large a number.
    let ragged = TILES.map(|(tile, ..)| (tile, [3, 27])).into_iter();
    let all = whole.map(|of| (of, rest)).chain(ragged.map(|of| (of, 2f32.powi(60))));
    for ((tile, shape), eps) in all {
        let spec = Spec { ties: true, eps, tile: Some(tile), ..Spec::new(shape, "ties") };
        for spec in [spec, spec.fused()] {
            cases.push(case::<bf16, f32>(spec, Size::Quick));
            cases.push(case::<f16, f32>(spec, Size::Quick));
        }
    }
}

/// Rows at the edges of allocations, and rows that are gigabytes apart.
fn memory(cases: &mut Vec<Case>) {
    for (edge, name) in [(Edge::Start, "start of memory"), (Edge::End, "end of memory")] {
        for shape in [[4, 64], [3, 1027], [1, 16_392]] {
            let place = Placement::DENSE.edge(edge);
            let spec = Spec { place, rstd: true, ..Spec::new(shape, name) };
            for spec in [spec, spec.fused()] {
                cases.push(case::<bf16, bf16>(spec, Size::Quick));
                cases.push(case::<f32, f16>(spec, Size::Quick));
            }
        }
    }
    // Rows that share a wave, nearly as far apart as they may be: 2^30 bytes behind the first there is an
    // element of the third.
    for width in [96, 99] {
        let place = Placement::DENSE.gap((1 << 27) - 32 - width);
        let name = "rows of a wave far apart";
        let spec = Spec { place, tile: Some("n128"), ..Spec::new([4, width], name) };
        for spec in [spec, spec.fused()] {
            cases.push(case::<f32, f32>(spec, Size::Core));
        }
    }
    // The second row is beyond 2^32 elements, or their distance has two bits on either side of those
    // that it loses in bytes; and another such place in each matrix.
    let gaps = [1 << 32, 3 << 30];
    let tiles = [None, Some("n2048"), Some("n4096"), Some("any")];
    let widths = tiles.into_iter().flat_map(|tile| [(tile, 43), (tile, 44)]);
    for ((tile, width), gap) in widths.flat_map(|of| gaps.map(|gap| (of, gap))) {
        // One after the other, too, if each has the workgroup alone.
        let name = if gap == gaps[0] { "rows far apart" } else { "rows apart" };
        let far = Spec { place: Placement::DENSE.gap(gap), tile, ..Spec::new([2, width], name) };
        let turns = Spec { workgroups: Some(1), ..far };
        let name = if gap == gaps[0] { "one workgroup" } else { "one workgroup, apart" };
        let alone = matches!(tile, Some("n4096" | "any"));
        let turns = Some(Spec { name, ..turns }).filter(|_| alone);
        for far in [far].into_iter().chain(turns) {
            cases.push(case::<bf16, bf16>(far, Size::Core));
            cases.push(case::<bf16, bf16>(far.fused(), Size::Core));
            if tile == Some("any") {
                cases.push(case::<f32, f32>(far, Size::Core));
            }
        }
    }
    // The same for one workgroup, whose rows have several pieces; and the second piece of the second
    // row behind a multiple of 4 GiB.
    for width in [16_392, 16_393] {
        let spec = |name, place| {
            let spec =
                Spec { place, workgroups: Some(1), rstd: true, ..Spec::new([2, width], name) };
            Spec { tile: Some("any"), ..spec }
        };
        let first = spec("pieces of the first row across 4 GiB", Placement::DENSE.carry(12_000));
        let second = spec("pieces across 4 GiB", Placement::DENSE.carry(width + 12_000));
        let carries = [first, second];
        for fused in [false, true] {
            let fuse = |spec| Spec { fused, ..spec };
            for (gap, name) in gaps.into_iter().zip(["pieces far apart", "pieces apart"]) {
                let far = spec(name, Placement::DENSE.gap(gap));
                let half = spec(name, Placement::DENSE.gap(gap / 2));
                cases.push(case::<bf16, bf16>(fuse(far), Size::Core));
                cases.push(case::<f32, f32>(fuse(half), Size::Core));
            }
            for carry in carries {
                cases.push(case::<bf16, bf16>(fuse(carry), Size::Core));
                cases.push(case::<f32, f32>(fuse(carry), Size::Core));
            }
        }
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for shape in SHAPES {
        let spec = Spec::new(shape, "plain");
        for spec in [spec, spec.fused()] {
            add_dtypes(&mut cases, spec, Size::Quick);
        }
    }
    let variants = variants();
    for spec in variants.iter().copied().chain(variants.iter().map(|spec| spec.fused())) {
        add_dtypes(&mut cases, spec, Size::Quick);
        if spec.place.shift > 0 {
            add_mixed(&mut cases, spec);
        }
    }
    limits(&mut cases);
    tiles(&mut cases);
    long_rows(&mut cases);
    ties(&mut cases);
    memory(&mut cases);
    let widths = BTreeSet::from(LARGE.map(|[_, width]| width));
    let decode = widths.into_iter().flat_map(|width| DECODE.map(|rows| [rows, width]));
    for shape in LARGE.into_iter().chain(decode) {
        let spec = Spec::new(shape, "model");
        cases.push(case::<bf16, bf16>(spec, Size::Large));
        cases.push(case::<bf16, bf16>(spec.fused(), Size::Large));
    }
    cases
}

/// The three element types, each with a weight of its own type.
fn add_dtypes(cases: &mut Vec<Case>, spec: Spec, size: Size) {
    cases.push(case::<bf16, bf16>(spec, size));
    let [rows, width] = spec.shape;
    let size = if rows * width < 50_000 { size } else { size.max(Size::Core) };
    cases.push(case::<f16, f16>(spec, size));
    cases.push(case::<f32, f32>(spec, size));
}

/// The element types with a weight of each other type.
fn add_mixed(cases: &mut Vec<Case>, spec: Spec) {
    cases.extend([
        case::<bf16, f16>(spec, Size::Quick),
        case::<bf16, f32>(spec, Size::Quick),
        case::<f16, bf16>(spec, Size::Quick),
        case::<f16, f32>(spec, Size::Quick),
        case::<f32, bf16>(spec, Size::Quick),
        case::<f32, f16>(spec, Size::Quick),
    ]);
}
