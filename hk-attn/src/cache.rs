//! Caches of keys and values: their layouts, and where slots are in them.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, Scalar, bf16, f16};
use hk_core::op::Arguments;
use hk_core::op::indices::IndexList;
use hk_core::{DevicePtr, Result, TensorSlice};

use crate::heads::SlotMap;

/// Element types of caches: bf16, f16, f32, and e4m3 in the flavour of the chip.
pub trait CacheElement: Scalar {
    /// The type as kernels' arguments name it; the enum `cache_type` of `hk/cache.h`.
    const CODE: u32;
}

impl CacheElement for bf16 {
    const CODE: u32 = 0;
}

impl CacheElement for f16 {
    const CODE: u32 = 1;
}

impl CacheElement for f32 {
    const CODE: u32 = 2;
}

impl CacheElement for F8E4M3 {
    const CODE: u32 = 3;
}

impl CacheElement for F8E4M3Fnuz {
    const CODE: u32 = 3;
}

/// How keys and values are in paged caches, of blocks of `bs` slots; slot s is row `s % bs` of
/// block `s / bs`. x elements are 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheLayout {
    /// `[blocks, bs, kh, d]`.
    #[default]
    Nhd,
    /// `[blocks, kh, bs, d]`.
    Hnd,
    /// Keys `[blocks, kh, d / x, bs, x]`, values `[blocks, kh, d, bs]`.
    PagedX,
    /// Keys as [`PagedX`](Self::PagedX), values `[blocks, kh, bs / x, d, x]`.
    PagedXShuffledV,
}

/// Sizes of caches.
const X: &str = "x = 16 bytes";
const GROUPS: &str = "d / x";
const RUNS: &str = "bs / x";

impl CacheLayout {
    /// Whether keys, or values, are in five dimensions.
    const fn is_split(self, is_key: bool) -> bool {
        match self {
            Self::Nhd | Self::Hnd => false,
            Self::PagedX => is_key,
            Self::PagedXShuffledV => true,
        }
    }

    /// Declares both caches, and gives the places of slots of keys and of values.
    ///
    /// # Errors
    /// As [`Argument::strides`](hk_core::op::Argument::strides);
    /// [`Error::Value`](hk_core::Error::Value) if rows or blocks are not made of whole runs of x,
    /// or there are too many slots.
    pub(crate) fn declare<C: CacheElement>(
        self,
        args: &mut Arguments,
        key: &mut TensorSlice<C>,
        value: &mut TensorSlice<C>,
    ) -> Result<[SlotMap; 2]> {
        let x = 16 / size_of::<C>();
        let [d] = args.sizes(["d"])?;
        args.define(X, x);
        args.define(GROUPS, d / x);
        let base = |tensor: &TensorSlice<C>| SlotMap {
            base: tensor.ptr().any(),
            r#type: C::CODE,
            ..SlotMap::NONE
        };
        let (keys, values) = (base(key), base(value));
        // The size of blocks, as the keys have it.
        let bs = if self.is_split(true) {
            3
        } else if self == Self::Hnd {
            2
        } else {
            1
        };
        let bs = key.shape().get(bs).copied().unwrap_or_default();
        args.define(RUNS, bs / x);
        let keys = self.declare_one(args, ("key_cache", true), key, keys)?;
        let values = self.declare_one(args, ("value_cache", false), value, values)?;
        let has_runs = self.is_split(true);
        let whole = |size: usize, is_split: bool| !is_split || size.is_multiple_of(x);
        args.require(whole(d, has_runs), "d", format!("a multiple of {x}"), d)?;
        args.require(whole(bs, self.is_split(false)), "bs", format!("a multiple of {x}"), bs)?;
        args.limit("bs", 1..=i32::MAX as usize)?;
        args.limit("blocks", 1..=i32::MAX as usize)?;
        let [blocks] = args.sizes(["blocks"])?;
        let count = blocks.checked_mul(bs).and_then(|count| u32::try_from(count).ok());
        let count = count.filter(|count| *count <= i32::MAX as u32);
        args.require(count.is_some(), "blocks", "fewer than 2^31 slots in all", blocks)?;
        let with_count =
            |map| SlotMap { count: count.unwrap_or_default(), block: bs as u32, ..map };
        Ok([keys, values].map(with_count))
    }

    fn declare_one<C: CacheElement>(
        self,
        args: &mut Arguments,
        (name, is_key): (&'static str, bool),
        cache: &mut TensorSlice<C>,
        map: SlotMap,
    ) -> Result<SlotMap> {
        let x = 16 / size_of::<C>() as u32;
        if self.is_split(is_key) {
            let dims: &[&str] = if is_key {
                &["blocks", "kh", GROUPS, "bs", X]
            } else {
                &["blocks", "kh", RUNS, "d", X]
            };
            let [block_stride, head_stride, outer, inner, last] =
                args.output(name, cache, dims).strides()?;
            let map = SlotMap { block_stride, head_stride, ..map };
            return Ok(if is_key {
                let (group_stride, run_stride) = (outer, inner);
                SlotMap { group_stride, run_stride, element_stride: last, group: x, ..map }
            } else {
                let (run_stride, element_stride) = (outer, inner);
                SlotMap { run_stride, element_stride, slot_stride: last, run: x, ..map }
            });
        }
        let dims: &[&str] = match self {
            Self::Nhd => &["blocks", "bs", "kh", "d"],
            Self::Hnd => &["blocks", "kh", "bs", "d"],
            _ => &["blocks", "kh", "d", "bs"],
        };
        let [block_stride, a, b, c] = args.output(name, cache, dims).strides()?;
        let [run_stride, head_stride, element_stride] = match self {
            Self::Nhd => [a, b, c],
            Self::Hnd => [b, a, c],
            _ => [c, a, b],
        };
        Ok(SlotMap { block_stride, run_stride, head_stride, element_stride, ..map })
    }
}

impl SlotMap {
    /// By slots of tokens, with what is stored divided by a scale, if there is one.
    pub(crate) fn with(self, slots: IndexList, scale: Option<DevicePtr<f32>>) -> Self {
        Self { slots, scale: scale.unwrap_or(DevicePtr::NULL), ..self }
    }
}
