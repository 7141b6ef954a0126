//! How blocks of MX formats are scaled.

/// How the power of two that scales a block follows from its largest magnitude, amax, for codes whose
/// largest number is `most`, with the exponent P. The numbers are those of the enum `mx_round` of
/// `hk/quant.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum MxRound {
    /// `2^(e - P)`, where `2^e` is the power of two up to amax, or the next one from 1.75 times it on.
    #[default]
    Even = 0,
    /// The smallest power of two by which no number exceeds `most`.
    RoundUp = 1,
    /// `2^(e - P)`, where `2^e` is the power of two up to amax: as OCP has it. Numbers beyond `most`
    /// are clamped.
    RoundDown = 2,
    /// `2^(e - P)`, where `2^e` is the power of two from amax on.
    Ceil = 3,
    /// The power of two up to `amax / most`. Numbers up to twice `most` are clamped.
    FloorOfRatio = 4,
}

impl MxRound {
    /// Every one.
    pub const ALL: [Self; 5] =
        [Self::Even, Self::RoundUp, Self::RoundDown, Self::Ceil, Self::FloorOfRatio];
}
