//! Cases of `solve_tril`.

use hk_core::dtype::{DType, Real};
use hk_ref::expected::{half_subnormal, unit_roundoff};
use hk_ref::gdr::fused_recurrent::normalized;
use hk_ref::gdr::solve_tril::solve_tril as reference;
use hk_ref::{Case, CaseInfo, Draw, Expected, Placement, REALS, Setup, Size, real};

use super::delta_rule::{Far, placed};
use super::indices::{IndexArg, IndexTensor, bounds_of, indices};
use crate::{SolveTrilOptions, solve_tril_into};

/// What a case has below the diagonal; there is NaN elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// A tenth of normal numbers.
    Small,
    /// As of models: products of keys of length 1, decays and strengths.
    Model,
    Zeros,
    Ones,
    /// A number on the first subdiagonal alone.
    Powers,
    /// Small, and a NaN in a row.
    Nan,
}

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    /// Tokens of each sequence.
    lengths: Vec<usize>,
    /// Whether sequences follow each other rather than having one length.
    packed: bool,
    heads: usize,
    chunk: usize,
    content: Content,
    output: DType,
    /// Whether bounds are beside the tokens.
    wild: bool,
    /// Of both tensors.
    far: Option<Far>,
    place: Placement,
    in_place: bool,
    size: Size,
}

impl Spec {
    fn new(lengths: &[usize], heads: usize, chunk: usize, content: Content) -> Self {
        Self {
            lengths: lengths.to_vec(),
            packed: false,
            heads,
            chunk,
            content,
            output: DType::F32,
            wild: false,
            far: None,
            place: Placement::DENSE,
            in_place: false,
            size: Size::Quick,
        }
    }

    fn shape(&self) -> [usize; 4] {
        let [b, t] = match self.packed {
            true => [1, self.lengths.iter().sum()],
            false => [self.lengths.len(), self.lengths[0]],
        };
        [b, t, self.heads, self.chunk]
    }

    /// The rows of the tokens of each chunk, of all heads.
    fn chunks(&self) -> Vec<Vec<usize>> {
        let mut start = 0;
        let mut chunks = Vec::new();
        for length in &self.lengths {
            let tokens: Vec<usize> = (start..start + length).collect();
            chunks.extend(tokens.chunks(self.chunk).map(<[usize]>::to_vec));
            start += length;
        }
        chunks
    }

    /// The row with a NaN, in the last block of a chunk.
    fn nan_row(&self) -> usize {
        self.chunk - 11
    }

    fn case(self) -> Case {
        let Self { content, packed, wild, in_place, place, size, output, .. } = self;
        let mut title = format!("{content:?}");
        for (is_said, what) in [
            (packed, ", packed"),
            (wild, ", wild bounds"),
            (in_place, ", in place"),
            (place.gap > 0, ", gaps"),
        ] {
            title += if is_said { what } else { "" };
        }
        title += &self.far.map(|far| format!(", {far:?}")).unwrap_or_default();
        let mut shape = self.shape();
        shape[0] = self.lengths.len();
        let dtypes = [DType::F32, output];
        let info = CaseInfo::new("solve_tril", "solve_tril", title, &dtypes, &shape);
        let set_up = move |s: &mut Setup| real!(output, O => set_up::<O>(s, &self));
        Case::new(info, set_up).place(place).in_place(in_place).size(size).writes_once()
    }

    /// Fills the square of a chunk's head with what is below its diagonal.
    fn square(&self, drawn: &[f64], count: usize) -> Vec<f64> {
        let c = self.chunk;
        let mut square = vec![f64::NAN; c * c];
        let (keys, size) = (drawn, 8);
        let key = |i: usize| normalized(&keys[i * size..][..size]);
        for i in 0..count {
            for j in 0..i {
                square[i * c + j] = match self.content {
                    Content::Zeros => 0.0,
                    Content::Ones => 1.0,
                    Content::Powers if j + 1 == i => 0.75,
                    Content::Powers => 0.0,
                    Content::Nan if (i, j) == (self.nan_row(), 2) => f64::NAN,
                    Content::Small | Content::Nan => 0.1 * drawn[i * c + j],
                    Content::Model => {
                        let product: f64 = key(i).iter().zip(key(j)).map(|(x, y)| x * y).sum();
                        let strength = 1.0 / (1.0 + (-drawn[c * 8 + i]).exp());
                        product * strength * (-0.05 * (i - j) as f64).exp()
                    }
                };
            }
        }
        square.iter().map(|x| f64::from(*x as f32)).collect()
    }
}

fn set_up<O: Real>(s: &mut Setup, spec: &Spec) {
    let (shape, c) = (spec.shape(), spec.chunk);
    let count = shape.iter().product();
    let drawn: Vec<f32> = s.draw("a", &[c * (c + 9) + 1024], Draw::Normal);
    let mut a = vec![f32::NAN; count];
    let (mut values, mut allowed) = (vec![0.0; count], vec![0.0; count]);
    let part = match O::DTYPE {
        DType::F32 => 0.0,
        dtype => unit_roundoff(dtype) * (1.0 + 2f64.powi(-6)),
    };
    for (number, tokens) in spec.chunks().into_iter().enumerate() {
        for head in 0..spec.heads {
            let first = (number * spec.heads + head) * 37 % 1024;
            let own: Vec<f64> =
                drawn[first..].iter().take(c * (c + 9)).map(|x| (*x).into()).collect();
            let square = spec.square(&own, tokens.len());
            let inverse = reference(&square, c);
            // Each row's errors are those of its sum, and of the rows that it is a sum of.
            let largest = inverse
                .iter()
                .filter(|x| x.is_finite())
                .fold(0.0, |most, x| f64::max(most, x.abs()));
            let norm = |i: usize| square[i * c..][..i].iter().map(|x| x.abs()).sum::<f64>();
            let norms = (0..tokens.len()).map(norm).filter(|norm| norm.is_finite());
            let norm = norms.fold(0.0, f64::max);
            for (i, token) in tokens.iter().enumerate() {
                for j in 0..c {
                    let at = (token * spec.heads + head) * c + j;
                    a[at] = square[i * c + j] as f32;
                    values[at] = inverse[i * c + j];
                    let is_below = j < i && values[at].is_finite();
                    let exact = matches!(spec.content, Content::Zeros | Content::Ones);
                    let own = if exact { 0.0 } else { 5e-7 * (1.0 + norm) * largest };
                    allowed[at] = if is_below { own + part * values[at].abs() } else { 0.0 };
                    allowed[at] += if is_below { half_subnormal(O::DTYPE) } else { 0.0 };
                }
            }
        }
    }
    let a = placed(s.given("a", &shape, a), &shape, spec.far);
    let compared = match spec.content {
        // What a NaN may spoil is not compared.
        Content::Nan => Some((0..count).filter(|i| is_before_nan(spec, *i)).collect::<Vec<_>>()),
        _ => None,
    };
    if let Some(at) = &compared {
        values = at.iter().map(|i| values[*i]).collect();
        allowed = at.iter().map(|i| allowed[*i]).collect();
    }
    let frobenius = (compared.is_none() && count >= 1024).then_some(match O::DTYPE {
        DType::Bf16 => 2e-3,
        DType::F16 => 3e-4,
        _ => 5e-7,
    });
    let ai = Expected { at: compared, values, allowed, frobenius, ..Expected::default() };
    let ai = placed(s.output::<O>("ai", &shape, ai), &shape, spec.far);
    let bounds = spec.packed.then(|| {
        let mut bounds = bounds_of(&spec.lengths);
        if spec.wild {
            bounds[0] = i64::MIN;
            bounds[spec.lengths.len()] = i64::MAX;
        }
        indices(s, "cu_seqlens", bounds, spec.wild)
    });
    let wild = spec.wild;
    s.call(move || {
        let bounds = bounds.as_ref().map(IndexArg::get);
        let mut options = SolveTrilOptions::default().validate_indices(!wild);
        if let Some(bounds) = bounds.as_ref().map(IndexTensor::indices) {
            options = options.cu_seqlens(bounds);
        }
        solve_tril_into(&a.get(), &options, &mut *ai.get())
    });
}

/// Whether an element is in a row before that of its chunk that has a NaN.
fn is_before_nan(spec: &Spec, element: usize) -> bool {
    let token = element / spec.chunk / spec.heads;
    let mut rows = spec.chunks().into_iter();
    rows.any(|chunk| chunk.iter().position(|at| *at == token).is_some_and(|i| i < spec.nan_row()))
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for chunk in [16, 32, 64] {
        for content in [
            Content::Small,
            Content::Model,
            Content::Zeros,
            Content::Ones,
            Content::Powers,
            Content::Nan,
        ] {
            specs.push(Spec::new(&[chunk], 2, chunk, content));
            specs.push(Spec::new(&[2 * chunk + 3; 2], 5, chunk, content));
        }
        for tokens in [1, 2, 15, 17, 33, 63, 65, 130] {
            specs.push(Spec::new(&[tokens], 3, chunk, Content::Model));
        }
        for heads in [1, 4, 9] {
            specs.push(Spec::new(&[20], heads, chunk, Content::Small));
        }
        for lengths in [&[15, 85, 200][..], &[0, 7, 0, 64, 0]] {
            let packed = Spec { packed: true, ..Spec::new(lengths, 2, chunk, Content::Model) };
            specs.push(Spec { wild: true, ..packed.clone() });
            specs.push(packed);
        }
        for output in REALS {
            specs.push(Spec { output, ..Spec::new(&[77], 3, chunk, Content::Model) });
        }
        let two = Spec::new(&[50, 50], 3, chunk, Content::Small);
        specs.push(Spec { in_place: true, ..two.clone() });
        specs.push(Spec { place: Placement::DENSE.gap(8).shift(1), ..two });
        let long = Spec::new(&[1000], 8, chunk, Content::Model);
        specs.push(Spec { size: Size::Core, ..long });
    }
    // Sequences, tokens and heads of which the last is beyond 2^32 bytes.
    for (count, distance) in [(2, 1 << 32), (3, 1 << 31)] {
        let plain = |lengths: &[usize], heads| Spec::new(lengths, heads, 16, Content::Model);
        for (axis, spec) in [
            (0, plain(&vec![2; count], 1)),
            (1, plain(&[count], 1)),
            (1, Spec { packed: true, ..plain(&vec![1; count], 1) }),
            (2, plain(&[2], count)),
        ] {
            let far = Some(Far { axis, distance });
            specs.push(Spec { far, size: Size::Core, ..spec });
        }
    }
    let large = Spec::new(&[8192], 32, 64, Content::Model);
    specs.push(Spec { size: Size::Large, ..large });
    specs.into_iter().map(Spec::case).collect()
}
