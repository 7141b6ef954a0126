//! The GPU architectures that kernels are built for, with the limits that everybody checks against.

use std::fmt;
use std::str::FromStr;

use crate::dtype::DType;

/// A GPU architecture that kernels are built for and that the simulator executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// CDNA3: MI300X, MI325X.
    Gfx942,
    /// CDNA4: MI350X, MI355X.
    Gfx950,
}

impl Arch {
    /// Every architecture, oldest first.
    pub const ALL: [Self; 2] = [Self::Gfx942, Self::Gfx950];

    /// The compiler's name of it, such as `gfx942`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx942 => "gfx942",
            Self::Gfx950 => "gfx950",
        }
    }

    /// The cargo feature that builds its code objects: `cdna3` or `cdna4`.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Gfx942 => "cdna3",
            Self::Gfx950 => "cdna4",
        }
    }

    /// Bytes of LDS that one workgroup can have.
    pub const fn lds_bytes(self) -> u32 {
        match self {
            Self::Gfx942 => 65_536,
            Self::Gfx950 => 163_840,
        }
    }

    /// The unit in which the hardware gives LDS to workgroups, in bytes.
    pub const fn lds_granule(self) -> u32 {
        match self {
            Self::Gfx942 => 512,
            Self::Gfx950 => 1280,
        }
    }

    /// Lanes of a wave.
    pub const fn wave_size(self) -> u32 {
        64
    }

    /// Vector registers (architectural and accumulation together) that one lane of a SIMD has to
    /// share between its waves.
    pub const fn vgprs_per_simd(self) -> u32 {
        512
    }

    /// The number of registers by which a wave's vector registers are allocated.
    pub const fn vgpr_granule(self) -> u32 {
        8
    }

    /// SIMDs of a compute unit, over which the waves of a workgroup are spread.
    pub const fn simds(self) -> u32 {
        4
    }

    /// Waves that one SIMD can hold.
    pub const fn waves_per_simd(self) -> u32 {
        8
    }

    /// Work-items that one workgroup can have.
    pub const fn max_workgroup(self) -> u32 {
        1024
    }

    /// The e4m3 flavour that its matrix units and conversions use.
    pub const fn fp8_e4m3(self) -> DType {
        match self {
            Self::Gfx942 => DType::F8E4M3Fnuz,
            Self::Gfx950 => DType::F8E4M3,
        }
    }

    /// The e5m2 flavour that its matrix units and conversions use.
    pub const fn fp8_e5m2(self) -> DType {
        match self {
            Self::Gfx942 => DType::F8E5M2Fnuz,
            Self::Gfx950 => DType::F8E5M2,
        }
    }

    /// The chip's own flavour of an element type: of FP8, the one that its instructions compute with;
    /// else the type itself.
    ///
    /// ```
    /// use hk_types::{Arch, dtype::DType};
    /// assert_eq!(Arch::Gfx942.native(DType::F8E4M3), DType::F8E4M3Fnuz);
    /// assert_eq!(Arch::Gfx950.native(DType::F8E4M3), DType::F8E4M3);
    /// ```
    pub const fn native(self, dtype: DType) -> DType {
        match (self, dtype) {
            (_, DType::F8E4M3 | DType::F8E4M3Fnuz) => self.fp8_e4m3(),
            (_, DType::F8E5M2 | DType::F8E5M2Fnuz) => self.fp8_e5m2(),
            (_, dtype) => dtype,
        }
    }

    /// The architecture of a target id such as `gfx950:sramecc+:xnack-`.
    pub fn from_target_id(target: &str) -> Option<Self> {
        let processor = target.split(':').next()?;
        let processor = processor.rsplit("--").next()?;
        Self::ALL.into_iter().find(|arch| arch.name() == processor)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of an architecture that kernels are built for.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{0}` (known: gfx942, gfx950)")]
pub struct UnknownArch(pub String);

crate::debug_is_message!(UnknownArch);

impl FromStr for Arch {
    type Err = UnknownArch;

    /// Accepts `gfx942` and `cdna3` alike.
    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        Self::ALL
            .into_iter()
            .find(|arch| arch.name() == text || arch.feature() == text)
            .ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_ids_are_parsed() {
        assert_eq!(Arch::from_target_id("gfx950:sramecc+:xnack-"), Some(Arch::Gfx950));
        assert_eq!(Arch::from_target_id("gfx942"), Some(Arch::Gfx942));
        assert_eq!(Arch::from_target_id("amdgcn-amd-amdhsa--gfx942:xnack-"), Some(Arch::Gfx942));
        assert_eq!(Arch::from_target_id("gfx9420"), None);
        assert_eq!(Arch::from_target_id(""), None);
    }

    #[test]
    fn names_parse_back_and_others_are_refused() {
        for arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
            assert_eq!(arch.feature().parse(), Ok(arch));
        }
        let error = "gfx90a".parse::<Arch>().unwrap_err();
        assert_eq!(error.to_string(), "unknown architecture `gfx90a` (known: gfx942, gfx950)");
    }
}
