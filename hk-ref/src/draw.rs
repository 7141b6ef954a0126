//! Seeded inputs: the same numbers on every machine and in every version of this crate.

use hk_types::dtype::{DType, Element};

/// A distribution of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// Nearly Gaussian, mean 0, deviation 1: see [`Random::normal`].
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
    /// Integers from the first to below the second, each as likely as any other.
    Integers(i64, i64),
    /// Powers of two, of an exponent from the first to below the second: scales.
    Powers(i32, i32),
    /// Any bits that stand for finite numbers: codes of quantised operands.
    Codes,
    /// Any bits at all, those of NaNs and infinities included: of what is only copied.
    Bits,
}

/// The number of [`Draw::Equal`]: 512 times sixteen of its squares, added up one after the other or
/// with the chain folded at the wrong places, are at least 2.3e-6 off by the root; in chains of 64
/// they are good to 2e-8.
const EQUAL: f64 = 1.789_812_922_477_722_2;

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

    /// A number that is nearly Gaussian, mean 0, deviation 1: the sum of eight uniform ones, which
    /// is within 4.9 of 0. No function of the mathematics library is in it, whose last bits are not
    /// the same everywhere.
    pub fn normal(&mut self) -> f64 {
        // Of a sum of eight numbers below 2^16.
        const MEAN: f64 = 4.0 * 65_535.0;
        const DEVIATION: f64 = 53_509.919_921_450_08;
        let every_other = 0x0000_ffff_0000_ffff;
        let quarters = |bits: u64| (bits & every_other) + (bits >> 16 & every_other);
        let halves = quarters(self.bits()) + quarters(self.bits());
        let sum = (halves & 0xffff_ffff) + (halves >> 32);
        (sum as f64 - MEAN) * (1.0 / DEVIATION)
    }
}

impl Draw {
    /// Draws `count` numbers, rounded to `T`.
    pub fn values<T: Element>(self, seed: u64, count: usize) -> Vec<T> {
        let bytes = match self {
            Self::Codes => codes(T::DTYPE, seed, count / T::PACK),
            Self::Bits => bits(seed, T::DTYPE.size() * (count / T::PACK)),
            _ => return T::encode(&self.numbers(seed, count, T::DTYPE)),
        };
        bytemuck::pod_collect_to_vec(&bytes)
    }

    fn numbers(self, seed: u64, count: usize, dtype: DType) -> Vec<f64> {
        let mut random = Random::new(seed);
        let least = match dtype {
            DType::F16 => 2f64.powi(-14),
            _ => 2f64.powi(-126),
        };
        let mut scaled = |scale: f64| (0..count).map(|_| scale * random.normal()).collect();
        match self {
            Self::Normal => scaled(1.0),
            Self::Denormal => scaled(0.5 * least),
            Self::Scaled(power) => scaled(2f64.powi(power)),
            Self::Zeros => vec![0.0; count],
            Self::Equal => vec![EQUAL; count],
            Self::Uniform => (0..count).map(|_| random.unit()).collect(),
            Self::Alternating => {
                let sign = |i| if i % 2 == 0 { 1.0 } else { -1.0 };
                (0..count).map(|i| (random.unit() + 0.5) * sign(i)).collect()
            }
            Self::Outliers => {
                let mut number = || {
                    let scale = if random.below(61) == 0 { 100.0 } else { 1.0 };
                    scale * random.normal()
                };
                (0..count).map(|_| number()).collect()
            }
            Self::Spread => {
                let mut number = || {
                    let power = random.below(41) as i32 - 20;
                    2f64.powi(power) * random.normal()
                };
                (0..count).map(|_| number()).collect()
            }
            Self::Integers(from, to) => {
                let mut number = || from + random.below((to - from) as usize) as i64;
                (0..count).map(|_| number() as f64).collect()
            }
            Self::Powers(from, to) => {
                let mut power = || from + random.below((to - from) as usize) as i32;
                (0..count).map(|_| 2f64.powi(power())).collect()
            }
            Self::Codes | Self::Bits => unreachable!("bits are not drawn as numbers"),
        }
    }
}

/// So many random bytes.
fn bits(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = (0..count.div_ceil(8)).map(|_| random.bits().to_le_bytes());
    let mut bytes: Vec<u8> = words.flatten().collect();
    bytes.truncate(count);
    bytes
}

/// Bytes of elements of random bits, each of which stands for finite numbers.
fn codes(dtype: DType, seed: u64, count: usize) -> Vec<u8> {
    let (size, len) = (dtype.size(), dtype.size() * count);
    let mut random = Random::new(seed);
    let (mut codes, mut numbers) = (Vec::with_capacity(len), Vec::new());
    while codes.len() < len {
        let missing = (len - codes.len()) / size;
        let drawn: Vec<_> = (0..missing).map(|_| random.bits().to_le_bytes()).collect();
        let bytes: Vec<_> = drawn.iter().flat_map(|bits| &bits[..size]).copied().collect();
        numbers.clear();
        dtype.decode(&bytes, &mut numbers);
        for (code, numbers) in bytes.chunks(size).zip(numbers.chunks(dtype.pack())) {
            if numbers.iter().all(|number| number.is_finite()) {
                codes.extend(code);
            }
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;
    use hk_types::dtype::{E8M0, F4x2E2M1, F8E4M3Fnuz};

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
    fn normal_numbers_are_where_gaussian_ones_are() {
        let values: Vec<f64> = Draw::Normal.values(7, 100_000);
        // The distribution function of Gaussian numbers, from tables.
        for (limit, share) in [(0.5, 0.3829), (1.0, 0.6827), (2.0, 0.9545), (3.0, 0.9973)] {
            let within = values.iter().filter(|value| value.abs() < limit).count();
            assert_abs_diff_eq!(within as f64 / 1e5, share, epsilon = 0.012);
        }
    }

    #[test]
    fn bits_stand_for_different_nans() {
        let elements: Vec<f32> = Draw::Bits.values(7, 10_000);
        let nans = elements.iter().filter(|element| element.is_nan());
        let mut patterns: Vec<u32> = nans.map(|nan| nan.to_bits()).collect();
        patterns.sort_unstable();
        patterns.dedup();
        assert!(patterns.len() > 20, "about one in 256 is NaN: {}", patterns.len());
    }

    #[test]
    fn quantised_operands_are_drawn_of_all_codes() {
        let elements: Vec<F8E4M3Fnuz> = Draw::Codes.values(7, 10_000);
        let mut codes: Vec<u8> = elements.iter().map(|element| element.to_bits()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), 255, "all but that of NaN");
        let pairs: Vec<F4x2E2M1> = Draw::Codes.values(7, 10);
        assert_eq!(pairs.len(), 5);
        let scales: Vec<E8M0> = Draw::Powers(-2, 3).values(7, 100);
        assert!(scales.iter().all(|scale| (125..130).contains(&scale.to_bits())));
        let indices: Vec<i64> = Draw::Integers(-1, 3).values(7, 100);
        assert!((-1..3).all(|index| indices.contains(&index)));
    }

    #[test]
    fn denormal_numbers_are_subnormal_or_next_to_it() {
        let values: Vec<f32> = Draw::Denormal.values(7, 1000);
        assert!(values.iter().filter(|v| v.is_subnormal()).count() > 800);
    }
}
