//! Where tokens and chunks of sequences that follow each other are, from the bounds of the sequences,
//! `cu_seqlens`, of which there is one more: `cu_seqlens[i + 1] - cu_seqlens[i]` tokens are those of
//! sequence i, in `ceil(len / chunk_size)` chunks. Sequences may be empty; their numbers are not given
//! to others.
//!
//! Bounds on the host are slices, and so are results; of bounds on the device, the ops whose names
//! end in `_on_device` give tensors, without looking at them on the host. [`PrefillSchedule`] has all that
//! kernels take of a batch.
//!
//! | | |
//! |---|---|
//! | Shapes | cu_seqlens `[n + 1]` -> chunk_offsets `[n + 1]`, position_ids and sequence_ids `[tokens]`, chunk_indices `[chunks, 2]` |
//! | Dtypes | i32, i64; results as the bounds |
//! | Numerics | exact |
//! | Hardware | cdna3, cdna4, and the host |
//! | Source | flash-linear-attention, `fla/ops/utils/index.py`, which leaves empty sequences out |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_gdr::{Device, Tensor, prepare_chunk_offsets, prepare_chunk_offsets_on_device};
//!
//! let bounds = [0, 128, 320, 448];
//! assert_eq!(prepare_chunk_offsets(&bounds, 64)?, [0, 2, 5, 7]);
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let bounds = Tensor::from_slice(&stream, &bounds, &[4])?;
//! assert_eq!(prepare_chunk_offsets_on_device(&bounds, 64)?.to_vec()?, [0, 2, 5, 7]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

mod device;
mod host;
mod schedule;

pub use device::{
    prepare_chunk_indices_on_device, prepare_chunk_indices_on_device_into,
    prepare_chunk_offsets_on_device, prepare_chunk_offsets_on_device_into,
    prepare_position_ids_on_device, prepare_position_ids_on_device_into,
    prepare_sequence_ids_on_device, prepare_sequence_ids_on_device_into,
};
pub use host::{
    Index, get_max_num_splits, prepare_chunk_indices, prepare_chunk_offsets,
    prepare_cu_seqlens_from_lens, prepare_lens, prepare_num_chunks, prepare_position_ids,
    prepare_rebased_cu_seqlens, prepare_sequence_ids, prepare_token_indices,
};
pub use schedule::PrefillSchedule;

use hk_core::op::indices::IndexList;
use hk_core::{AnyPtr, kernel_args};

kernel_args! {
    /// Arguments of the kernel `offsets`, as `kernels/chunk_indices.hip` declares them.
    pub(crate) struct ChunkOffsetsArgs {
        bounds: IndexList,
        offsets: AnyPtr,
        chunk: u32,
        reserved: u32,
    }
}

kernel_args! {
    /// Arguments of the kernel `rows`.
    pub(crate) struct IndexRowsArgs {
        offsets: AnyPtr,
        sequences: AnyPtr,
        positions: AnyPtr,
        count: u32,
        rows: u32,
        stride: u32,
        is_64: u32,
    }
}
