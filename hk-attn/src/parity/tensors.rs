//! A case on the tensors of a model: rows of its embedding table, as heads of tokens.

use hk_core::dtype::{DType, Real};
use hk_ref::attn::rope::{Rope, Rotated, TABLES};
use hk_ref::{Case, CaseInfo, Setup, Size};

use crate::{Angles, RopeLayout, RopeOptions, rope_into};

/// Elements of a head, where rows are made of such.
const HEAD: usize = 64;
/// What the angles of a position are powers of.
const BASE: f64 = 10_000.0;

/// `rope` of rows `[tokens, width]`, each of them a token's heads, at the angles of models.
pub fn rope_case<T: Real>(
    name: &str,
    [tokens, width]: [usize; 2],
    rows: impl Fn() -> Vec<T> + Send + Sync + 'static,
) -> Case {
    let d = if width.is_multiple_of(HEAD) { HEAD } else { width };
    let shape = [tokens, width / d, d];
    let dtypes = [T::DTYPE, DType::F32, T::DTYPE];
    let info = CaseInfo::new("rope", "rope", name.to_owned(), &dtypes, &shape);
    Case::new(CaseInfo { size: Size::Core, ..info }, move |s| set_up(s, shape, rows()))
}

fn set_up<T: Real>(s: &mut Setup, shape: [usize; 3], rows: Vec<T>) {
    let [tokens, heads, d] = shape;
    // Of an odd number of elements, the last is not rotated.
    let pairs = d / 2;
    let rope = Rope { dim: 2 * pairs, first: 0, interleaved: false, paired: true };
    let angle = |i: usize| {
        let (position, pair) = (i / pairs, i % pairs);
        position as f64 * BASE.powf(-(pair as f64) / pairs as f64)
    };
    let mut table = |name: &'static str, function: fn(f64) -> f64| {
        let values = (0..tokens * pairs).map(|i| function(angle(i)) as f32).collect();
        s.given(name, &[tokens, pairs], values)
    };
    let (cos, sin) = (table("cos", f64::cos), table("sin", f64::sin));
    let x = s.given("x", &shape, rows);
    let (of_cos, of_sin) = (cos.numbers(), sin.numbers());
    let mut y = Rotated::default();
    for (row, x) in x.numbers().chunks_exact(d).enumerate() {
        let columns = row / heads * pairs..(row / heads + 1) * pairs;
        rope.rotate(x, &of_cos[columns.clone()], &of_sin[columns], &mut y);
    }
    let y = s.output::<T>("y", &shape, y.expected(T::DTYPE, T::DTYPE, TABLES));
    s.call(move || {
        let (cos, sin) = (cos.get(), sin.get());
        let angles = Angles::tables(&cos, &sin);
        let options = RopeOptions::default();
        rope_into(&x.get(), RopeLayout::Thd, &angles, &options, &mut y.get())
    });
}
