//! Attention kernels for AMD CDNA3 (gfx942) and CDNA4 (gfx950); none has landed yet.

pub use hk_core::prelude::*;
