//! The GPU architectures that kernels are built for.

use std::fmt;
use std::str::FromStr;

use crate::dtype::DType;
use crate::{Error, Result};

/// A GPU architecture that this library has kernels for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
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

    /// The cargo feature that builds its code objects.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Gfx942 => "cdna3",
            Self::Gfx950 => "cdna4",
        }
    }

    /// Local memory that one workgroup can have, in bytes.
    pub const fn lds_bytes(self) -> u32 {
        match self {
            Self::Gfx942 => 65_536,
            Self::Gfx950 => 163_840,
        }
    }

    /// Work-items of one wave.
    pub const fn wave_size(self) -> u32 {
        64
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

    /// Whether its instructions compute with that element type. Packed formats and scales that it
    /// must unpack in software are not native.
    pub const fn is_native(self, dtype: DType) -> bool {
        match dtype {
            DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => matches!(self, Self::Gfx942),
            DType::F8E4M3 | DType::F8E5M2 | DType::F4x2E2M1 | DType::E8M0 => {
                matches!(self, Self::Gfx950)
            }
            _ => true,
        }
    }

    /// Refuses an element type that this architecture would misread or cannot compute with.
    ///
    /// # Errors
    /// [`Error::ArchMismatch`] if the type is not native here; it names what to use instead.
    ///
    /// ```
    /// use hk_core::{Arch, dtype::DType};
    /// assert!(Arch::Gfx950.require_native("gemm_a8w8", DType::F8E4M3).is_ok());
    /// let error = Arch::Gfx942.require_native("gemm_a8w8", DType::F8E4M3).unwrap_err();
    /// assert!(error.to_string().contains("use F8E4M3Fnuz"));
    /// ```
    pub fn require_native(self, op: &'static str, dtype: DType) -> Result<()> {
        if self.is_native(dtype) {
            return Ok(());
        }
        let use_instead = match dtype {
            DType::F8E4M3 | DType::F8E4M3Fnuz => self.fp8_e4m3().name(),
            DType::F8E5M2 | DType::F8E5M2Fnuz => self.fp8_e5m2().name(),
            _ => "bf16",
        };
        Err(Error::ArchMismatch { op, dtype, arch: self, use_instead })
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

impl FromStr for Arch {
    type Err = Error;

    /// Accepts `gfx942` and `cdna3` alike.
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|arch| arch.name() == text || arch.feature() == text)
            .ok_or_else(|| Error::UnsupportedArch { arch: text.into() })
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
    fn names_round_trip() {
        for arch in Arch::ALL {
            assert_eq!(arch.name().parse::<Arch>().unwrap(), arch);
            assert_eq!(arch.feature().parse::<Arch>().unwrap(), arch);
        }
        assert!("gfx1100".parse::<Arch>().is_err());
    }
}
