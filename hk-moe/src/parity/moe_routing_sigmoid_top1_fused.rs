//! Cases of `moe_routing_sigmoid_top1_fused`.

use hk_core::dtype::{DType, bf16, f16};
use hk_ref::draw::Random;
use hk_ref::moe::moe_routing_sigmoid_top1_fused::{Top1, sigmoid_top1};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, Setup, Size};

use crate::moe_routing_sigmoid_top1_fused::RouterInput;
use crate::{
    SelectOn, SigmoidTop1Options, SigmoidTop1Out, moe_routing_sigmoid_top1_fused_into as op_into,
};

const OP: &str = "moe_routing_sigmoid_top1_fused";

/// What is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Integers from -2 to 2: logits are exact, and may be alike or score 1.
    Integers,
    /// Weights so small that logits are about 1.
    Drawn,
    /// Every logit is the same.
    Equal,
    /// Some tokens have a NaN.
    Nan,
}

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    /// Tokens, experts and K.
    shape: [usize; 3],
    content: Content,
    by_logit: bool,
    has_shared: bool,
    /// Whether K is adjacent in memory, rather than experts.
    is_k_major: bool,
    /// The size of the first axis of tokens, if they have two.
    leading: Option<usize>,
    place: Placement,
    size: Size,
}

impl Spec {
    const fn new(shape: [usize; 3]) -> Self {
        let (content, place, size) = (Content::Integers, Placement::DENSE, Size::Quick);
        let (by_logit, has_shared, is_k_major, leading) = (false, true, false, None);
        Self { shape, content, by_logit, has_shared, is_k_major, leading, place, size }
    }

    fn case<T: RouterInput>(self) -> Case {
        let Self { content, by_logit, has_shared, is_k_major, .. } = self;
        let mut title = format!("{content:?} by {}", if by_logit { "logit" } else { "score" });
        title += if has_shared { ", shared" } else { "" };
        title += if is_k_major { ", k adjacent" } else { "" };
        title += &self.leading.map_or(String::new(), |first| format!(", in {first} parts"));
        if self.place != Placement::DENSE {
            title += &format!(", {:?}", self.place);
        }
        let info = CaseInfo::new(OP, OP, title, &[T::DTYPE, DType::F32], &self.shape);
        let case = Case::new(info, move |s| set_up::<T>(s, self));
        case.place(self.place).size(self.size)
    }
}

fn set_up<T: RouterInput>(s: &mut Setup, spec: Spec) {
    let Spec { shape: [tokens, experts, k], content, .. } = spec;
    let mut random = Random::new((tokens * 31 + experts) as u64);
    let integers = Draw::Integers(-2, 3);
    let (mut x, w) = match content {
        Content::Integers | Content::Nan => {
            (s.draw::<T>("x", &[tokens, k], integers), s.draw::<T>("w", &[k, experts], integers))
        }
        Content::Drawn => {
            let scale = -((k as f64).log2() / 2.0) as i32;
            let x = s.draw::<T>("x", &[tokens, k], Draw::Normal);
            (x, s.draw::<T>("w", &[k, experts], Draw::Scaled(scale)))
        }
        Content::Equal => {
            (s.draw::<T>("x", &[tokens, k], integers), vec![T::from_f64(1.0); k * experts])
        }
    };
    if content == Content::Nan {
        x.iter_mut().step_by(3 * k + 1).for_each(|x| *x = T::from_f64(f64::NAN));
    }
    let numbers = hk_core::dtype::decode(&w);
    let mut best: Vec<Top1> = Vec::new();
    for row in x.chunks_mut(k) {
        loop {
            let found = hk_core::dtype::decode(row);
            let found = sigmoid_top1(&found, &numbers, experts, spec.by_logit);
            if !found.is_close {
                best.push(found);
                break;
            }
            // Other numbers where rounding errors would decide.
            assert_eq!(content, Content::Drawn, "only these can be drawn again");
            row.iter_mut().for_each(|x| *x = T::from_f64(random.normal()));
        }
    }
    let slots = if spec.has_shared { 2 } else { 1 };
    let with_shared = |of: &dyn Fn(&Top1) -> f64, shared: f64| -> Vec<f64> {
        best.iter().flat_map(|top| [of(top), shared].into_iter().take(slots)).collect()
    };
    let ids = with_shared(&|top| top.expert as f64, experts as f64);
    let weights = with_shared(&|top| top.weight, 1.0);
    let allowed = with_shared(&|top| 2e-6 + top.delta / 4.0, 0.0);
    let allowed = allowed.into_iter().map(|most| if most.is_nan() { 0.0 } else { most }).collect();
    let of_tokens = |width: usize| match spec.leading {
        Some(first) => vec![first, tokens / first, width],
        None => vec![tokens, width],
    };
    let x = s.given("x", &of_tokens(k), x);
    let order = if spec.is_k_major { [1, 0] } else { [0, 1] };
    let w = s.given("w", &[k, experts], w).order(&order);
    let ids = s.output::<i32>("topk_ids", &of_tokens(slots), Expected::exact(ids));
    let weights = Expected::exact(weights).plus(allowed);
    let weights = s.output::<f32>("topk_weights", &of_tokens(slots), weights);
    s.call(move || {
        let what = if spec.by_logit { SelectOn::Logit } else { SelectOn::Score };
        let options = SigmoidTop1Options::default().select_on(what);
        let options = options.fused_shared_experts(spec.has_shared);
        let (mut ids, mut weights) = (ids.get(), weights.get());
        let out = SigmoidTop1Out { topk_ids: &mut ids, topk_weights: &mut weights };
        op_into(&x.get(), &w.get(), 1, &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec| cases.extend([spec.case::<bf16>(), spec.case::<f16>()]);
    for shape in [
        [128, 16, 16],
        [128, 16, 128],
        [128, 128, 16],
        [256, 128, 128],
        [256, 64, 128],
        [16, 128, 512],
        [1, 16, 320],
        [1, 1, 1],
        [3, 17, 257],
        [17, 17, 64],
        [33, 200, 72],
        [5, 136, 40],
        [2, 1024, 33],
        [0, 16, 16],
        [7, 3, 5],
    ] {
        for is_k_major in [false, true] {
            for content in [Content::Integers, Content::Drawn] {
                // Without a shared expert every other.
                let has_shared = is_k_major != (content == Content::Drawn);
                let spec = Spec { content, is_k_major, has_shared, ..Spec::new(shape) };
                add(spec);
                if shape[0] < 100 {
                    add(Spec { by_logit: true, ..spec });
                }
            }
        }
    }
    for content in [Content::Equal, Content::Nan] {
        for by_logit in [false, true] {
            for shape in [[9, 24, 32], [9, 150, 20]] {
                add(Spec { content, by_logit, ..Spec::new(shape) });
            }
        }
    }
    for (shape, first) in [([18, 17, 64], 3), ([35, 40, 96], 7), ([0, 16, 16], 2)] {
        let leading = Spec { leading: Some(first), ..Spec::new(shape) };
        add(leading);
        let place = Placement::DENSE.gap(3).shift(1);
        add(Spec { place, content: Content::Drawn, has_shared: false, ..leading });
    }
    // Rows that are apart, and aligned and not.
    for is_k_major in [false, true] {
        for (gap, shift) in [(8, 0), (3, 0), (8, 1), (16, 8)] {
            let place = Placement::DENSE.gap(gap).shift(shift);
            let place = if shift == 0 { place.edge(Edge::End) } else { place };
            add(Spec { place, is_k_major, ..Spec::new([19, 40, 96]) });
        }
    }
    add(Spec { size: Size::Core, content: Content::Drawn, ..Spec::new([1024, 16, 128]) });
    add(Spec { size: Size::Core, content: Content::Drawn, ..Spec::new([16, 128, 5120]) });
    for (tokens, experts) in [(1, 16), (256, 16), (4096, 16), (256, 128), (4096, 128)] {
        add(Spec {
            size: Size::Large,
            content: Content::Drawn,
            ..Spec::new([tokens, experts, 5120])
        });
    }
    for (tokens, experts, k) in [(8192, 128, 128), (8192, 16, 16)] {
        add(Spec { size: Size::Large, ..Spec::new([tokens, experts, k]) });
    }
    cases
}
