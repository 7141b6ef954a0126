//! The 64-byte kernel descriptor (`<kernel>.kd`).
//!
//! Layout and field meaning: LLVM AMDGPU usage, "Kernel Descriptor" and "compute_pgm_rsrc1..3".

/// What the kernel descriptor says about the registers of a new wave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveSetup {
    /// VGPRs that the kernel uses (`v0..`).
    pub vgprs: u32,
    /// AGPRs that the kernel uses (`a0..`).
    pub agprs: u32,
    /// Initial MODE register.
    pub mode: u32,
    /// Count of user SGPRs, preloaded kernel arguments included.
    pub user_sgprs: u32,
    /// User SGPRs hold the dispatch packet's address.
    pub dispatch_ptr: bool,
    /// User SGPRs hold the queue's address.
    pub queue_ptr: bool,
    /// User SGPRs hold the kernarg segment's address.
    pub kernarg_ptr: bool,
    /// User SGPRs hold the dispatch id.
    pub dispatch_id: bool,
    /// A user SGPR holds the private segment's size.
    pub private_segment_size: bool,
    /// A system SGPR holds each workgroup id coordinate.
    pub workgroup_id: [bool; 3],
    /// A system SGPR holds the workgroup info word.
    pub workgroup_info: bool,
    /// Highest work-item id coordinate in `v0`: 0 x, 1 y, 2 z.
    pub workitem_ids: u32,
}

/// Decoded kernel descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// Static LDS bytes.
    pub group_segment_fixed_size: u32,
    /// Scratch bytes per work-item.
    pub private_segment_fixed_size: u32,
    /// Kernarg segment bytes.
    pub kernarg_size: u32,
    /// Entry point relative to the address of the descriptor.
    pub kernel_code_entry_byte_offset: i64,
    /// Register counts, float modes.
    pub compute_pgm_rsrc1: u32,
    /// User and system registers, exception enables.
    pub compute_pgm_rsrc2: u32,
    /// Accumulation offset, threadgroup split.
    pub compute_pgm_rsrc3: u32,
    /// User SGPR enables.
    pub kernel_code_properties: u16,
    /// Preloaded kernel arguments.
    pub kernarg_preload: u16,
}

/// Which values the hardware puts into user SGPRs, in this order from `s0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserSgprs {
    /// 64-bit address of the dispatch packet.
    pub dispatch_ptr: bool,
    /// 64-bit address of the queue.
    pub queue_ptr: bool,
    /// 64-bit address of the kernarg segment.
    pub kernarg_segment_ptr: bool,
    /// 64-bit dispatch id.
    pub dispatch_id: bool,
    /// 32-bit scratch bytes per work-item.
    pub private_segment_size: bool,
    /// Dwords of the kernarg segment that are preloaded.
    pub preload_dwords: u8,
    /// Offset in dwords of the first preloaded dword in the kernarg segment.
    pub preload_offset: u16,
}

impl UserSgprs {
    /// SGPRs that the enabled values occupy.
    pub fn count(&self) -> u32 {
        let pairs = [self.dispatch_ptr, self.queue_ptr, self.kernarg_segment_ptr, self.dispatch_id];
        let pairs: u32 = pairs.into_iter().map(u32::from).sum();
        2 * pairs + u32::from(self.private_segment_size) + u32::from(self.preload_dwords)
    }
}

/// Which workgroup values follow the user SGPRs, one SGPR each, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemSgprs {
    /// Workgroup id x, y, z.
    pub workgroup_id: [bool; 3],
    /// Workgroup info.
    pub workgroup_info: bool,
}

impl KernelDescriptor {
    /// Size in bytes.
    pub const SIZE: usize = 64;

    /// Reads the fields of a descriptor.
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) | u32::from(u16_at(at + 2)) << 16;
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        Self {
            group_segment_fixed_size: u32_at(0),
            private_segment_fixed_size: u32_at(4),
            kernarg_size: u32_at(8),
            kernel_code_entry_byte_offset: u64_at(16).cast_signed(),
            compute_pgm_rsrc3: u32_at(44),
            compute_pgm_rsrc1: u32_at(48),
            compute_pgm_rsrc2: u32_at(52),
            kernel_code_properties: u16_at(56),
            kernarg_preload: u16_at(58),
        }
    }

    /// Vector registers that the hardware allocates to a lane (unified file, granules of 8).
    pub fn vgprs(&self) -> u32 {
        ((self.compute_pgm_rsrc1 & 0x3f) + 1) * 8
    }

    /// Index in the unified file at which the accumulation registers begin.
    pub fn accum_offset(&self) -> u32 {
        ((self.compute_pgm_rsrc3 & 0x3f) + 1) * 4
    }

    /// Scalar registers that the descriptor asks for (informative: gfx9 allocates a fixed count).
    pub fn sgprs(&self) -> u32 {
        ((self.compute_pgm_rsrc1 >> 6 & 0xf) / 2 + 1) * 16
    }

    /// Count of user SGPRs that `compute_pgm_rsrc2` states.
    pub fn user_sgpr_count(&self) -> u32 {
        self.compute_pgm_rsrc2 >> 1 & 0x1f
    }

    /// Values in the user SGPRs.
    pub fn user_sgprs(&self) -> UserSgprs {
        let enabled = |bit: u32| self.kernel_code_properties >> bit & 1 == 1;
        UserSgprs {
            dispatch_ptr: enabled(1),
            queue_ptr: enabled(2),
            kernarg_segment_ptr: enabled(3),
            dispatch_id: enabled(4),
            private_segment_size: enabled(6),
            // The mask leaves at most 127.
            preload_dwords: (self.kernarg_preload & 0x7f) as u8,
            preload_offset: self.kernarg_preload >> 7,
        }
    }

    /// Values in the SGPRs behind the user SGPRs.
    pub fn system_sgprs(&self) -> SystemSgprs {
        let enabled = |bit: u32| self.compute_pgm_rsrc2 >> bit & 1 == 1;
        SystemSgprs {
            workgroup_id: [enabled(7), enabled(8), enabled(9)],
            workgroup_info: enabled(10),
        }
    }

    /// How many work-item ids (x, then y, then z) `v0` holds: 1, 2 or 3.
    pub fn workitem_id_dimensions(&self) -> u32 {
        (self.compute_pgm_rsrc2 >> 11 & 3).min(2) + 1
    }

    /// Whether the kernel uses scratch.
    pub fn uses_scratch(&self) -> bool {
        self.compute_pgm_rsrc2 & 1 == 1
    }

    /// Whether the stack of the kernel has no static bound.
    pub fn uses_dynamic_stack(&self) -> bool {
        self.kernel_code_properties >> 11 & 1 == 1
    }

    /// Whether waves of one workgroup may run on different compute units (no LDS).
    pub fn threadgroup_split(&self) -> bool {
        self.compute_pgm_rsrc3 >> 16 & 1 == 1
    }

    /// MODE register of a new wave: round 3:0, denormals 7:4, DX10 clamp 8, IEEE 9,
    /// exception enables 18:12, f16 overflow 23.
    pub fn initial_mode(&self) -> u32 {
        let rsrc1 = self.compute_pgm_rsrc1;
        let exceptions = self.compute_pgm_rsrc2 >> 24 & 0x7f;
        (rsrc1 >> 12 & 0xff)
            | (rsrc1 >> 21 & 1) << 8
            | (rsrc1 >> 23 & 1) << 9
            | exceptions << 12
            | (rsrc1 >> 26 & 1) << 23
    }

    /// Initial registers of a wave.
    pub fn wave_setup(&self) -> WaveSetup {
        let user = self.user_sgprs();
        let system = self.system_sgprs();
        let vgprs = self.accum_offset().min(self.vgprs());
        WaveSetup {
            vgprs,
            agprs: self.vgprs() - vgprs,
            mode: self.initial_mode(),
            user_sgprs: self.user_sgpr_count(),
            dispatch_ptr: user.dispatch_ptr,
            queue_ptr: user.queue_ptr,
            kernarg_ptr: user.kernarg_segment_ptr,
            dispatch_id: user.dispatch_id,
            private_segment_size: user.private_segment_size,
            workgroup_id: system.workgroup_id,
            workgroup_info: system.workgroup_info,
            workitem_ids: self.workitem_id_dimensions() - 1,
        }
    }

    /// What the descriptor asks for that gfx942 and gfx950 do not have.
    pub(super) fn unsupported(&self) -> Option<String> {
        const PRIVATE_SEGMENT_BUFFER: u16 = 1 << 0;
        const FLAT_SCRATCH_INIT: u16 = 1 << 5;
        const WAVE32: u16 = 1 << 10;
        for (bit, what) in [
            (PRIVATE_SEGMENT_BUFFER, "a private segment buffer"),
            (FLAT_SCRATCH_INIT, "a flat scratch initialiser"),
            (WAVE32, "waves of 32 lanes"),
        ] {
            if self.kernel_code_properties & bit != 0 {
                return Some(format!("the descriptor asks for {what}"));
            }
        }
        let stated = self.user_sgpr_count();
        let needed = self.user_sgprs().count();
        if stated > 16 || needed > stated {
            return Some(format!(
                "the descriptor enables {needed} user SGPRs in {stated} (at most 16)"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with 6 VGPRs, 16 AGPRs, 48 B scratch, 400 B LDS, workgroup ids x and z, and
    /// work-item ids x and y, as clang 22 writes it.
    fn example() -> KernelDescriptor {
        let mut bytes = [0u8; 64];
        for (at, value) in
            [(0, 400u32), (4, 48), (8, 288), (44, 0x1), (48, 0x00af_0082), (52, 0xa85), (56, 8)]
        {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&(-0x1000i64).to_le_bytes());
        KernelDescriptor::from_bytes(&bytes)
    }

    #[test]
    fn fields_follow_the_layout() {
        let kd = example();
        assert_eq!(kd.group_segment_fixed_size, 400);
        assert_eq!(kd.private_segment_fixed_size, 48);
        assert_eq!(kd.kernarg_size, 288);
        assert_eq!(kd.kernel_code_entry_byte_offset, -0x1000);
        assert_eq!((kd.vgprs(), kd.accum_offset()), (24, 8));
        assert_eq!(kd.user_sgpr_count(), 2);
        assert_eq!(
            kd.user_sgprs(),
            UserSgprs { kernarg_segment_ptr: true, ..UserSgprs::default() }
        );
        assert_eq!(kd.system_sgprs().workgroup_id, [true, false, true]);
        assert_eq!(kd.workitem_id_dimensions(), 2);
        assert!(kd.uses_scratch());
        assert!(!kd.threadgroup_split());
        assert_eq!(kd.initial_mode(), 0x3f0);
        assert_eq!(kd.unsupported(), None);
        let setup = kd.wave_setup();
        assert_eq!((setup.vgprs, setup.agprs, setup.user_sgprs), (8, 16, 2));
        assert!(setup.kernarg_ptr && !setup.dispatch_ptr);
        assert_eq!((setup.workgroup_id, setup.workitem_ids), ([true, false, true], 1));
    }

    #[test]
    fn foreign_features_are_named() {
        let wave32 = KernelDescriptor { kernel_code_properties: 1 << 10 | 8, ..example() };
        assert!(wave32.unsupported().is_some_and(|reason| reason.contains("32 lanes")));
        let preload = KernelDescriptor { kernarg_preload: 15, ..example() };
        assert!(preload.unsupported().is_some_and(|reason| reason.contains("17 user SGPRs")));
    }
}
