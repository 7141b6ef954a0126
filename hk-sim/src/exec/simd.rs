//! Which vector instructions of the host the execution kernels use.

use std::sync::OnceLock;

use cfg_if::cfg_if;

use crate::environment;

/// Vector instruction level of the host, from the least to the most capable.
///
/// Every kernel gives the same bits at every level; the levels differ in speed alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SimdLevel {
    /// What the compilation target guarantees (on aarch64 that includes fused multiply-add).
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL on top of [`SimdLevel::Avx2`].
    Avx512,
}

impl SimdLevel {
    /// Every level, ascending.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Level to use in this process, determined once.
    ///
    /// It is the best that the host supports. The environment variable `HIPKITTENS_SIM_SIMD`
    /// (`portable`, `avx2` or `avx512`) lowers it; a level that the host lacks leaves it as it is.
    pub fn detect() -> Self {
        static LEVEL: OnceLock<SimdLevel> = OnceLock::new();
        *LEVEL.get_or_init(|| {
            environment::simd_level().map_or(Self::best(), |level| level.min(Self::best()))
        })
    }

    /// Best level that the host supports.
    pub fn best() -> Self {
        cfg_if! {
            if #[cfg(target_arch = "x86_64")] {
                let avx2 = is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c");
                let avx512 = avx2
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl");
                match (avx2, avx512) {
                    (_, true) => Self::Avx512,
                    (true, false) => Self::Avx2,
                    (false, false) => Self::Portable,
                }
            } else {
                Self::Portable
            }
        }
    }

    /// Levels that the host can run, ascending; tests run each.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| *level <= Self::best())
    }

    /// Level of that name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// Name in `HIPKITTENS_SIM_SIMD`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SimdLevel;

    #[test]
    fn names_round_trip() {
        for level in SimdLevel::ALL {
            assert_eq!(SimdLevel::by_name(level.name()), Some(level));
            assert_eq!(SimdLevel::by_name(&level.name().to_uppercase()), Some(level));
        }
        assert_eq!(SimdLevel::by_name("sse9"), None);
    }

    #[test]
    fn detected_level_is_available() {
        assert!(SimdLevel::available().any(|level| level == SimdLevel::detect()));
        assert_eq!(SimdLevel::available().next(), Some(SimdLevel::Portable));
    }
}
