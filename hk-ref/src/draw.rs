//! Seeded inputs: the same numbers on every machine and in every version of this crate.

use hk_types::dtype::{DType, Scalar};

/// A distribution of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// Gaussian, mean 0, deviation 1.
    Normal,
    /// Uniform in [0, 1): sums grow without cancelling.
    Uniform,
    /// Uniform in [0.5, 1.5) with alternating sign: sums cancel.
    Alternating,
    /// Gaussian, but one in 61 is 100 times larger, as activations of language models are.
    Outliers,
    /// Subnormal numbers of the element type, or next to them.
    Denormal,
    /// All zero.
    Zeros,
    /// Gaussian, mean 0, deviation 2 to this power.
    Scaled(i32),
    /// Gaussian times a power of two from -20 to 20: each magnitude is as likely as any other.
    Spread,
    /// All the same number, whose square, added up in one f32, loses much to rounding, always in the
    /// same direction.
    Equal,
}

/// The number of [`Draw::Equal`]: 512 times eight of its squares, added up one after the other, are
/// 3.8e-6 off by the root; in chains of 64 they are good to 3e-8.
const EQUAL: f64 = 1.441_771_388_053_894;

/// The generator: splitmix64.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts the sequence that the seed stands for.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    /// The next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0 to `limit - 1`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }

    /// Two independent Gaussian numbers, by the method of Box and Muller.
    pub fn normal_pair(&mut self) -> [f64; 2] {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.unit()).sin_cos();
        [radius * cos, radius * sin]
    }
}

impl Draw {
    /// Draws `count` numbers, rounded to `T`.
    pub fn values<T: Scalar>(self, seed: u64, count: usize) -> Vec<T> {
        let mut random = Random::new(seed);
        let least = match T::DTYPE {
            DType::F16 => 2f64.powi(-14),
            _ => 2f64.powi(-126),
        };
        let mut spare = None;
        let mut normal = |random: &mut Random| {
            spare.take().unwrap_or_else(|| {
                let [now, later] = random.normal_pair();
                spare = Some(later);
                now
            })
        };
        (0..count)
            .map(|i| match self {
                Self::Normal => normal(&mut random),
                Self::Uniform => random.unit(),
                Self::Alternating => (random.unit() + 0.5) * if i % 2 == 0 { 1.0 } else { -1.0 },
                Self::Outliers => {
                    let scale = if random.below(61) == 0 { 100.0 } else { 1.0 };
                    scale * normal(&mut random)
                }
                Self::Denormal => 0.5 * least * normal(&mut random),
                Self::Zeros => 0.0,
                Self::Scaled(power) => 2f64.powi(power) * normal(&mut random),
                Self::Spread => {
                    let power = random.below(41) as i32 - 20;
                    2f64.powi(power) * normal(&mut random)
                }
                Self::Equal => EQUAL,
            })
            .map(T::from_f64)
            .collect()
    }
}

/// The numbers as `f64`.
pub fn to_f64<T: Scalar>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        // The first outputs of splitmix64 with the state 0, as its author's program prints them.
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let values: Vec<f64> = Draw::Normal.values(7, 100_000);
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| v * v).sum::<f64>() / 1e5;
        assert_abs_diff_eq!(mean, 0.0, epsilon = 0.01);
        assert_abs_diff_eq!(variance, 1.0, epsilon = 0.02);
    }

    #[test]
    fn denormal_numbers_are_subnormal_or_next_to_it() {
        let values: Vec<f32> = Draw::Denormal.values(7, 1000);
        assert!(values.iter().filter(|v| v.is_subnormal()).count() > 800);
    }
}
