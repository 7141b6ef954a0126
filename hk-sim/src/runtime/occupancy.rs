//! How many workgroups of a kernel a compute unit holds.

use crate::isa::Arch;

/// What keeps a further workgroup off a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Wave slots of the SIMDs.
    Waves,
    /// Vector registers.
    Vgprs,
    /// Local data share.
    Lds,
}

/// Occupancy of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Workgroups that run at once; 0 if not even one fits.
    pub workgroups: u32,
    /// Waves that run at once.
    pub waves: u32,
    /// Waves that the registers allow on one SIMD.
    pub waves_per_simd: u32,
    /// What limits the number of workgroups.
    pub limit: Limit,
}

/// Bytes of LDS that the hardware allocates for a workgroup that asks for `bytes`.
pub fn lds_allocation(arch: Arch, bytes: u32) -> u32 {
    bytes.checked_next_multiple_of(arch.lds_granule()).unwrap_or(u32::MAX)
}

/// Occupancy of a kernel with `vgprs` vector registers per lane (accumulation registers included)
/// launched with `lds_bytes` of LDS (static and dynamic) and `block` work-items per workgroup.
pub fn occupancy(arch: Arch, vgprs: u32, lds_bytes: u32, block: u32) -> Occupancy {
    let granule = arch.vgpr_granule();
    let allocated = vgprs.max(1).checked_next_multiple_of(granule).unwrap_or(u32::MAX);
    let by_vgprs = arch.vgprs_per_simd() / allocated;
    let waves_per_simd = by_vgprs.min(arch.waves_per_simd());
    let waves_per_block = block.max(1).div_ceil(arch.wave_size());
    let by_waves = arch.simds() * waves_per_simd / waves_per_block;
    let by_lds = match lds_allocation(arch, lds_bytes) {
        0 => u32::MAX,
        allocated => arch.lds_bytes() / allocated,
    };
    let workgroups = if block > arch.max_workgroup() { 0 } else { by_waves.min(by_lds) };
    let limit = if by_lds < by_waves {
        Limit::Lds
    } else if by_vgprs < arch.waves_per_simd() {
        Limit::Vgprs
    } else {
        Limit::Waves
    };
    Occupancy { workgroups, waves: workgroups * waves_per_block, waves_per_simd, limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_cases() {
        // (vgprs, lds, block) -> (workgroups, limit); registers: 512 / granule of 8.
        for (arch, vgprs, lds, block, workgroups, limit) in [
            (Arch::Gfx942, 64, 0, 256, 8, Limit::Waves),
            (Arch::Gfx942, 65, 0, 256, 7, Limit::Vgprs),
            (Arch::Gfx942, 128, 0, 1024, 1, Limit::Vgprs),
            (Arch::Gfx942, 136, 0, 1024, 0, Limit::Vgprs),
            (Arch::Gfx942, 512, 0, 256, 1, Limit::Vgprs),
            (Arch::Gfx942, 32, 65536, 64, 1, Limit::Lds),
            (Arch::Gfx942, 32, 32769, 64, 1, Limit::Lds),
            (Arch::Gfx942, 32, 65537, 64, 0, Limit::Lds),
            (Arch::Gfx950, 32, 65536, 64, 2, Limit::Lds),
            (Arch::Gfx950, 32, 163_840, 64, 1, Limit::Lds),
            (Arch::Gfx950, 32, 1, 1, 32, Limit::Waves),
            (Arch::Gfx950, 32, 0, 1025, 0, Limit::Waves),
        ] {
            let found = occupancy(arch, vgprs, lds, block);
            let case = (vgprs, lds, block);
            assert_eq!((found.workgroups, found.limit), (workgroups, limit), "{case:?}");
        }
    }

    #[test]
    fn waves_follow_from_workgroups() {
        let found = occupancy(Arch::Gfx950, 100, 40_000, 130);
        // 104 registers: 4 waves per SIMD, 16 per unit; 3 waves per group; LDS fits 4 groups.
        assert_eq!((found.waves_per_simd, found.workgroups, found.waves), (4, 4, 12));
    }
}
