//! The core `attention`: how ops declare queries, keys and values, and how it is launched.

mod append;
pub(crate) mod backward;
pub(crate) mod backward_steps;
mod element;
pub(crate) mod latent;
pub(crate) mod latent_decode;
mod launch;
mod lean;
mod options;
mod paged;
mod problem;
pub(crate) mod weights;

pub(crate) use append::{AppendArgs, NewRows};
pub(crate) use backward::Backward;
pub use backward::{
    AttnForward, AttnGradients, AttnGradientsOut, BackwardElement, BackwardMode, BackwardOptions,
};
pub(crate) use element::variant;
pub use element::{AttentionElement, AttentionOutput};
pub(crate) use latent::Numbered;
pub(crate) use launch::{MOST_GROUPS, MOST_SPLITS, default_splits};
pub(crate) use lean::{Lean, Shares};
pub use lean::{LeanMode, LeanOptions};
pub(crate) use options::AlibiForm;
pub use options::{AttentionOptions, Dropout, RealNumbers, Window};
pub(crate) use paged::Pages;
pub(crate) use problem::{Launch, Lengths, MOST_WIDTH, Problem};

use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, DevicePtr, kernel_args};

kernel_args! {
    /// Where the elements of rows of keys or values are: `KeyRows` in `hk/attention_rows.h`.
    pub(crate) struct KeyRows {
        pub(crate) base: AnyPtr,
        pub(crate) sequence: i64,
        pub(crate) head: i64,
        pub(crate) page: i64,
        pub(crate) run: u32,
        pub(crate) slot: u32,
        pub(crate) group: u32,
        pub(crate) element: u32,
        pub(crate) group_size: u32,
        pub(crate) run_log2: u32,
        pub(crate) r#type: u32,
        pub(crate) whole: u32,
        pub(crate) width: u32,
        pub(crate) reserved: u32,
    }
}

impl KeyRows {
    const NONE: Self = Self {
        base: AnyPtr::NULL,
        sequence: 0,
        head: 0,
        page: 0,
        run: 0,
        slot: 0,
        group: 0,
        element: 0,
        group_size: u32::MAX,
        run_log2: 31,
        r#type: 0,
        whole: 1,
        width: 0,
        reserved: 0,
    };
}

kernel_args! {
    /// Keys and values of sequences: `KeySource` in `hk/attention_rows.h`.
    pub(crate) struct KeySource {
        pub(crate) keys: KeyRows,
        pub(crate) values: KeyRows,
        pub(crate) pages: IndexList,
        pub(crate) pages_of_sequence: i64,
        pub(crate) pages_of_head: i64,
        pub(crate) starts: IndexList,
        pub(crate) lengths: IndexList,
        pub(crate) length: u32,
        pub(crate) starts_are_bounds: u32,
        pub(crate) lengths_are_total: u32,
        pub(crate) count: u32,
        pub(crate) page_size: u32,
        pub(crate) page_multiplier: u32,
        pub(crate) page_shift: u32,
        pub(crate) reserved: u32,
    }
}

impl KeySource {
    pub(crate) const NONE: Self = Self {
        keys: KeyRows::NONE,
        values: KeyRows::NONE,
        pages: IndexList::NONE,
        pages_of_sequence: 0,
        pages_of_head: 0,
        starts: IndexList::NONE,
        lengths: IndexList::NONE,
        length: 0,
        starts_are_bounds: 0,
        lengths_are_total: 0,
        count: 0,
        page_size: 1,
        page_multiplier: 1 << 31,
        page_shift: 31,
        reserved: 0,
    };

    /// With pages of so many slots, from 1 to 2^30.
    pub(crate) fn of_pages(self, size: usize) -> Self {
        let log2 = size.next_power_of_two().trailing_zeros();
        let page_shift = 31 + log2;
        let page_multiplier = (1u64 << page_shift).div_ceil(size as u64) as u32;
        Self { page_size: size as u32, page_multiplier, page_shift, ..self }
    }
}

kernel_args! {
    /// Numbers of sequences and heads, in elements: `HeadScales` in `hk/attention_arguments.h`.
    pub(crate) struct HeadScales {
        pub(crate) base: DevicePtr<f32>,
        pub(crate) sequence: i64,
        pub(crate) head: i64,
        pub(crate) shared_by: u32,
        pub(crate) reserved: u32,
    }
}

impl HeadScales {
    const NONE: Self =
        Self { base: DevicePtr::NULL, sequence: 0, head: 0, shared_by: 1, reserved: 0 };
}

kernel_args! {
    /// Scales of slots of pages, in elements: `SlotScales` in `hk/attention_arguments.h`.
    pub(crate) struct SlotScales {
        pub(crate) base: DevicePtr<f32>,
        pub(crate) page: i64,
        pub(crate) head: i64,
        pub(crate) slot: i64,
    }
}

impl SlotScales {
    const NONE: Self = Self { base: DevicePtr::NULL, page: 0, head: 0, slot: 0 };
}

kernel_args! {
    /// What is done to scores and weights: `ScoreSteps` in `hk/attention_arguments.h`.
    pub(crate) struct ScoreSteps {
        pub(crate) slopes: DevicePtr<f32>,
        pub(crate) slopes_of_sequence: i64,
        pub(crate) bias: AnyPtr,
        pub(crate) bias_sequence: i64,
        pub(crate) bias_head: i64,
        pub(crate) bias_row: i64,
        pub(crate) bias_key: i64,
        pub(crate) mask: DevicePtr<u8>,
        pub(crate) mask_starts: IndexList,
        pub(crate) mask_bytes: u64,
        pub(crate) key_scales: SlotScales,
        pub(crate) value_scales: SlotScales,
        pub(crate) softcap: f32,
        pub(crate) softcap_inverse: f32,
        pub(crate) form: u32,
        pub(crate) bias_type: u32,
        pub(crate) mask_skips_first: u32,
        pub(crate) drops: u32,
        pub(crate) threshold: u32,
        pub(crate) seed_low: u32,
        pub(crate) seed_high: u32,
        pub(crate) offset_low: u32,
    }
}

impl ScoreSteps {
    const NONE: Self = Self {
        slopes: DevicePtr::NULL,
        slopes_of_sequence: 0,
        bias: AnyPtr::NULL,
        bias_sequence: 0,
        bias_head: 0,
        bias_row: 0,
        bias_key: 0,
        mask: DevicePtr::NULL,
        mask_starts: IndexList::NONE,
        mask_bytes: 0,
        key_scales: SlotScales::NONE,
        value_scales: SlotScales::NONE,
        softcap: 0.0,
        softcap_inverse: 0.0,
        form: 0,
        bias_type: 0,
        mask_skips_first: 0,
        drops: 0,
        threshold: 0,
        seed_low: 0,
        seed_high: 0,
        offset_low: 0,
    };

    /// Whether there is any.
    pub(crate) fn is_any(&self) -> bool {
        self.slopes != DevicePtr::NULL
            || self.bias != AnyPtr::NULL
            || self.mask != DevicePtr::NULL
            || self.key_scales.base != DevicePtr::NULL
            || self.value_scales.base != DevicePtr::NULL
            || self.softcap > 0.0
            || self.drops != 0
    }
}

kernel_args! {
    /// Arguments of the kernels, as `hk/attention_arguments.h` declares them.
    pub(crate) struct AttentionArgs {
        pub(crate) q: AnyPtr,
        pub(crate) q_sequence: i64,
        pub(crate) q_row: i64,
        pub(crate) q_head: i64,
        pub(crate) o: AnyPtr,
        pub(crate) o_sequence: i64,
        pub(crate) o_row: i64,
        pub(crate) o_head: i64,
        pub(crate) lse: DevicePtr<f32>,
        pub(crate) lse_sequence: i64,
        pub(crate) lse_row: i64,
        pub(crate) lse_head: i64,
        pub(crate) parts: DevicePtr<f32>,
        pub(crate) part_states: DevicePtr<f32>,
        pub(crate) source: [KeySource; 2],
        pub(crate) q_starts: IndexList,
        pub(crate) q_lengths: IndexList,
        pub(crate) steps: ScoreSteps,
        pub(crate) q_scale: HeadScales,
        pub(crate) k_scale: HeadScales,
        pub(crate) v_scale: HeadScales,
        pub(crate) o_scale: DevicePtr<f32>,
        pub(crate) sinks: AnyPtr,
        pub(crate) sink_type: u32,
        pub(crate) q_length: u32,
        pub(crate) q_starts_are_bounds: u32,
        pub(crate) q_rows: u32,
        pub(crate) q_type: u32,
        pub(crate) o_type: u32,
        pub(crate) width: u32,
        pub(crate) value_width: u32,
        pub(crate) left: i32,
        pub(crate) right: i32,
        pub(crate) top_left: u32,
        pub(crate) sequences: u32,
        pub(crate) kv_heads: u32,
        pub(crate) group: u32,
        pub(crate) tiles: u32,
        pub(crate) splits: u32,
        pub(crate) has_steps: u32,
        pub(crate) skips: u32,
        pub(crate) scale: f32,
        pub(crate) keep_scale: f32,
        pub(crate) part_rows: u32,
        pub(crate) reserved: u32,
    }
}

impl AttentionArgs {
    const NONE: Self = Self {
        q: AnyPtr::NULL,
        q_sequence: 0,
        q_row: 0,
        q_head: 0,
        o: AnyPtr::NULL,
        o_sequence: 0,
        o_row: 0,
        o_head: 0,
        lse: DevicePtr::NULL,
        lse_sequence: 0,
        lse_row: 0,
        lse_head: 0,
        parts: DevicePtr::NULL,
        part_states: DevicePtr::NULL,
        source: [KeySource::NONE; 2],
        q_starts: IndexList::NONE,
        q_lengths: IndexList::NONE,
        steps: ScoreSteps::NONE,
        q_scale: HeadScales::NONE,
        k_scale: HeadScales::NONE,
        v_scale: HeadScales::NONE,
        o_scale: DevicePtr::NULL,
        sinks: AnyPtr::NULL,
        sink_type: 0,
        q_length: 0,
        q_starts_are_bounds: 0,
        q_rows: 0,
        q_type: 0,
        o_type: 0,
        width: 0,
        value_width: 0,
        left: -1,
        right: -1,
        top_left: 0,
        sequences: 0,
        kv_heads: 1,
        group: 1,
        tiles: 0,
        splits: 1,
        has_steps: 0,
        skips: 0,
        scale: 1.0,
        keep_scale: 1.0,
        part_rows: 0,
        reserved: 0,
    };
}

/// Problems of a launch, as `lean_problems` in `hk/lean_attention.h`.
const LEAN_PROBLEMS: usize = 2;

kernel_args! {
    /// Arguments of the kernels that share attention evenly, as `hk/lean_attention.h` declares them.
    pub(crate) struct LeanArgs {
        pub(crate) problem: [AttentionArgs; LEAN_PROBLEMS],
        pub(crate) plan: [DevicePtr<u8>; LEAN_PROBLEMS],
        pub(crate) ends: IndexList,
        pub(crate) flags: DevicePtr<u32>,
        pub(crate) programs: [u32; LEAN_PROBLEMS],
        pub(crate) block_q: u32,
        pub(crate) block_k: u32,
        pub(crate) starts_are_sums: u32,
        pub(crate) reserved: u32,
    }
}
