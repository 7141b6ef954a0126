//! The architectures that kernels are compiled for, with the limits that the build checks.

use std::fmt;
use std::str::FromStr;

/// A GPU architecture that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Arch {
    /// CDNA3: MI300X, MI325X.
    Gfx942,
    /// CDNA4: MI350X, MI355X.
    Gfx950,
}

impl Arch {
    /// Every architecture, in the order of their generations.
    pub const ALL: [Self; 2] = [Self::Gfx942, Self::Gfx950];

    /// The name that the compiler knows, such as `gfx950`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gfx942 => "gfx942",
            Self::Gfx950 => "gfx950",
        }
    }

    /// The cargo feature that turns the architecture on, which is also the stem of its tile file:
    /// `cdna3` or `cdna4`.
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Gfx942 => "cdna3",
            Self::Gfx950 => "cdna4",
        }
    }

    /// Bytes of LDS that one workgroup can have.
    pub const fn lds_bytes(self) -> u64 {
        match self {
            Self::Gfx942 => 65_536,
            Self::Gfx950 => 163_840,
        }
    }

    /// The unit in which the hardware gives LDS to workgroups, in bytes.
    pub const fn lds_granule(self) -> u64 {
        match self {
            Self::Gfx942 => 512,
            Self::Gfx950 => 1280,
        }
    }

    /// Lanes of a wave. Both architectures only have 64.
    pub const fn wave_size(self) -> u64 {
        64
    }

    /// Vector registers (architectural and accumulation together) that one lane of a SIMD has to
    /// share between its waves.
    pub const fn vgprs_per_simd(self) -> u64 {
        512
    }

    /// The number of registers by which a wave's vector registers are allocated.
    pub const fn vgpr_granule(self) -> u64 {
        8
    }

    /// SIMDs of a compute unit, over which the waves of a workgroup are spread.
    pub const fn simds(self) -> u64 {
        4
    }

    /// Waves that one SIMD can hold.
    pub const fn waves_per_simd(self) -> u64 {
        8
    }

    /// Work-items that a workgroup can have.
    pub const fn max_workgroup(self) -> u64 {
        1024
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of an architecture that kernels are compiled for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown architecture `{0}` (known: gfx942, gfx950)")]
pub struct UnknownArch(String);

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|arch| arch.name() == text)
            .ok_or_else(|| UnknownArch(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_others_are_refused() {
        for arch in Arch::ALL {
            assert_eq!(arch.to_string().parse(), Ok(arch));
        }
        let error = "gfx90a".parse::<Arch>().unwrap_err();
        assert_eq!(error.to_string(), "unknown architecture `gfx90a` (known: gfx942, gfx950)");
    }
}
