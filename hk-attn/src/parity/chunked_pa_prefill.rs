//! Cases of `chunked_prefill_paged_decode`.

use hk_core::dtype::DType;
use hk_ref::Case;

use super::pa_prefill::Spec;

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let tokens = [[35, 1], [9, 5], [0, 1], [20, 0]];
    let new = |name, bs| Spec::new(name, &tokens, [4, 2], 64, bs);
    let specs = [
        Spec { slopes: true, scales: true, ..Spec::new("tiny", &[[3, 2], [2, 1]], [4, 2], 8, 2) },
        new("steps and prompts", 16),
        new("steps and prompts", 5),
        Spec { dtypes: [DType::F16; 2], window: Some(7), slopes: true, ..new("windowed", 16) },
        Spec::new("steps alone", &[[299, 1], [16, 1], [0, 1]], [8, 1], 128, 16),
        Spec::new("long steps and prompts", &[[599, 1], [9, 5], [290, 1]], [8, 1], 64, 16),
        Spec::new("prompts alone", &[[29, 30], [16, 2]], [4, 1], 128, 16),
        Spec { dtypes: [DType::Bf16, DType::F8E4M3], scales: true, ..new("codes", 16) },
        Spec { dtypes: [DType::F16, DType::F8E4M3Fnuz], scales: true, ..new("codes", 16) },
        Spec { dtypes: [DType::Bf16, DType::F8E5M2], x: 16, scales: true, ..new("codes", 5) },
        Spec { dtypes: [DType::Bf16, DType::F8E5M2Fnuz], x: 16, scales: true, ..new("codes", 5) },
    ];
    specs.into_iter().map(|spec| Spec { is_chunked: true, ..spec }.case()).collect()
}
