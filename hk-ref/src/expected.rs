//! What should come out, how far off it may be, and how far off it is.

use hk_types::dtype::{DType, Element, bf16, decode, f16};

/// Reference values of an output with their tolerances.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    /// Which elements are compared, in row-major order; all if absent.
    pub at: Option<Vec<usize>>,
    /// The reference, not rounded to the output's type.
    pub values: Vec<f64>,
    /// Greatest absolute error of each.
    pub allowed: Vec<f64>,
    /// Greatest relative error of all together, by the Frobenius norm.
    pub frobenius: Option<f64>,
    /// So many consecutive values, such as a head's, are "together" for
    /// [`frobenius`](Self::frobenius), rather than all.
    pub group: Option<usize>,
    /// What may differ from the reference, rounded, by one step.
    pub steps: Option<Steps>,
    /// The very bytes, where not the number alone counts.
    pub bytes: Option<Vec<u8>>,
    /// Of inputs that are NaN in more than one way: whatever NaNs have in their mantissas is right.
    pub any_nan: bool,
}

/// Codes of a quantised output that may be one off: neighbours of the reference, rounded to the
/// output's type, in the order of the numbers that this has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps {
    /// Share of all codes that may be; two in any case, and all whose reference is a tie.
    pub share: f64,
    /// How close to a tie of two codes, in parts of itself, the reference of such a code must be;
    /// any is, if that is infinite.
    pub near: f64,
}

/// How an output compares with its reference.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Statistics {
    /// Absolute error of the worst element: the one whose error is the largest part, or multiple,
    /// of its tolerance.
    pub error: f64,
    /// Tolerance of the worst element.
    pub allowed: f64,
    /// Its index in row-major order.
    pub index: usize,
    /// Its reference.
    pub expected: f64,
    /// What came out.
    pub got: f64,
    /// Relative error of all elements together, by the Frobenius norm. Elements whose reference is
    /// not finite do not count.
    pub relative: f64,
    /// Elements that are beyond their tolerance.
    pub failures: usize,
}

/// Half the distance from 1 to the next number of the type.
///
/// Only for the types that kernels' results have: bf16, f16 and f32.
pub fn unit_roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::Bf16 => 2f64.powi(-8),
        DType::F16 => 2f64.powi(-11),
        _ => 2f64.powi(-24),
    }
}

/// Half the smallest subnormal number of the type.
pub fn half_subnormal(dtype: DType) -> f64 {
    match dtype {
        DType::Bf16 => 2f64.powi(-134),
        DType::F16 => 2f64.powi(-25),
        _ => 2f64.powi(-150),
    }
}

impl Expected {
    /// Values that must come out exactly; signed zeros count as equal.
    pub fn exact(values: Vec<f64>) -> Self {
        let allowed = vec![0.0; values.len()];
        Self { values, allowed, ..Self::default() }
    }

    /// Elements that must come out bit by bit, NaNs and zeros with their signs included.
    pub fn bits<T: Element>(elements: &[T]) -> Self {
        let bytes = bytemuck::cast_slice(elements).to_vec();
        Self { bytes: Some(bytes), ..Self::exact(decode(elements)) }
    }

    /// Values in f32 that may be so many parts of themselves off.
    pub fn relative(values: Vec<f64>, part: f64) -> Self {
        let allowed = values.iter().map(|value| part * value.abs() + 2f64.powi(-149)).collect();
        Self { values, allowed, ..Self::default() }
    }

    /// Values rounded to a 16-bit type once, with nothing more, or 4e-6 off in f32. `comparable`
    /// says that they are of comparable magnitude, so that the error of all together averages out;
    /// or, where it does not, as of rows that are scaled by nearly a power of two, is at most that
    /// of the right result, rounded.
    pub fn rounded(values: Vec<f64>, dtype: DType, comparable: bool) -> Self {
        let most = match dtype {
            DType::Bf16 => 2.0e-3,
            DType::F16 => 2.6e-4,
            _ => return Self::relative(values, 4e-6),
        };
        let relative = unit_roundoff(dtype) * (1.0 + 2f64.powi(-6));
        let floor = half_subnormal(dtype);
        let allowed = values.iter().map(|value| relative * value.abs() + floor).collect();
        let frobenius = (comparable && values.len() >= 1024)
            .then(|| f64::max(most, 1.02 * rounding_error(&values, dtype)));
        Self { values, allowed, frobenius, ..Self::default() }
    }

    /// Codes of a quantised output: the values, rounded to its type, of which some may be one step
    /// off. Values beyond the type's range are its ends.
    pub fn codes(values: Vec<f64>, steps: Steps) -> Self {
        Self { steps: Some(steps), ..Self::exact(values) }
    }

    /// With so much more allowed of each value.
    #[must_use]
    pub fn plus(mut self, slack: Vec<f64>) -> Self {
        self.allowed.iter_mut().zip(slack).for_each(|(allowed, slack)| *allowed += slack);
        self
    }

    /// With this greatest relative error of each so many consecutive values together.
    #[must_use]
    pub fn per_group(self, len: usize, most: f64) -> Self {
        Self { group: Some(len), frobenius: Some(most), ..self }
    }

    /// Compares. Of packed elements, indices are those of their numbers.
    pub fn compare<T: Element>(&self, got: &[T]) -> Statistics {
        self.compare_bytes(T::DTYPE, bytemuck::cast_slice(got))
    }

    /// The same of the bytes of elements of that type.
    fn compare_bytes(&self, dtype: DType, got: &[u8]) -> Statistics {
        let (numbers, codes) = (decoded(dtype, got), self.steps.map(|_| self.rounded_to(dtype)));
        let (mut worst, mut worst_share) = (Statistics::default(), -1.0);
        let mut together = Together::default();
        let mut one_off = 0;
        for (i, (&reference, &allowed)) in self.values.iter().zip(&self.allowed).enumerate() {
            let index = self.at.as_ref().map_or(i, |at| at[i]);
            let value = numbers[index];
            let (mut expected, mut allowed) = (reference, allowed);
            let mut error = error(dtype, expected, value);
            if let (Some(steps), Some(codes)) = (self.steps, &codes) {
                expected = codes[i];
                error = self::error(dtype, expected, value);
                if error > 0.0 && steps.permit(dtype, reference, [expected, value]) {
                    allowed = error;
                    one_off += usize::from(!is_tie(reference, [expected, value]));
                }
            }
            let at = index / dtype.pack() * dtype.size();
            let element = &got[at..at + dtype.size()];
            let is_right = match &self.bytes {
                Some(bytes) => bytes[at..].starts_with(element),
                None => self.any_nan || !value.is_nan() || is_plain_nan(dtype, element),
            };
            if !is_right {
                error = f64::INFINITY;
            }
            if self.group.is_some_and(|len| i % len == 0) {
                worst.relative = worst.relative.max(together.relative());
                together = Together::default();
            }
            together.add(expected, value, error);
            let share = if error == 0.0 { 0.0 } else { error / allowed };
            // A tolerance that is not a number allows nothing.
            let fails = error > 0.0 && (share > 1.0 || share.is_nan());
            worst.failures += usize::from(fails);
            let share = if share.is_nan() { f64::INFINITY } else { share };
            if share > worst_share {
                worst_share = share;
                worst = Statistics { error, allowed, index, expected, got: value, ..worst };
            }
        }
        worst.relative = worst.relative.max(together.relative());
        if self.steps.is_some_and(|steps| one_off > steps.most(self.values.len())) {
            worst.failures += one_off;
        }
        worst
    }

    /// The numbers of the type that are nearest to the values.
    fn rounded_to(&self, dtype: DType) -> Vec<f64> {
        let mut values = self.values.clone();
        values.resize(values.len().next_multiple_of(dtype.pack()), 0.0);
        decoded(dtype, &dtype.encode(&values))
    }

    /// Whether the comparison passes.
    pub fn accepts(&self, statistics: &Statistics) -> bool {
        statistics.failures == 0 && self.frobenius.is_none_or(|most| statistics.relative <= most)
    }
}

impl Steps {
    /// Those of numbers that f32 has computed, not exactly.
    pub const NEAR_TIES: Self = Self { share: 0.002, near: 1.0 / 65_536.0 };

    /// Codes of an output that may be one step off.
    fn most(self, count: usize) -> usize {
        2.max((self.share * count as f64) as usize)
    }

    /// Whether one of two codes may stand for the other, as that of this reference.
    fn permit(self, dtype: DType, reference: f64, [a, b]: [f64; 2]) -> bool {
        let tie = (a + b) / 2.0;
        // There is no code between them.
        let rounded = nearest(dtype, tie);
        let adjacent = rounded == a || rounded == b;
        adjacent
            && (self.near.is_infinite() || (reference - tie).abs() <= self.near * reference.abs())
    }
}

/// Whether the reference lies between two codes as far as f64 can tell: whatever is not exact may end
/// on either side.
fn is_tie(reference: f64, [a, b]: [f64; 2]) -> bool {
    (reference - (a + b) / 2.0).abs() <= 2f64.powi(-44) * reference.abs()
}

/// The nearest number of the type.
fn nearest(dtype: DType, value: f64) -> f64 {
    decoded(dtype, &dtype.encode(&[value, 0.0][..dtype.pack()]))[0]
}

/// The numbers that elements of that type hold.
fn decoded(dtype: DType, elements: &[u8]) -> Vec<f64> {
    let mut numbers = Vec::new();
    dtype.decode(elements, &mut numbers);
    numbers
}

/// Errors of several values by the Frobenius norm. Those whose reference is not finite do not
/// count.
#[derive(Debug, Default)]
struct Together {
    squares: f64,
    error_squares: f64,
}

impl Together {
    fn add(&mut self, expected: f64, got: f64, error: f64) {
        if expected.is_finite() && got.is_finite() {
            self.squares += expected * expected;
            self.error_squares += error * error;
        }
    }

    fn relative(&self) -> f64 {
        if self.error_squares == 0.0 { 0.0 } else { (self.error_squares / self.squares).sqrt() }
    }
}

/// The relative error of all values together, by the Frobenius norm, that rounding them to a 16-bit
/// type makes.
fn rounding_error(values: &[f64], dtype: DType) -> f64 {
    let rounded = match dtype {
        DType::Bf16 => decode(&bf16::encode(values)),
        _ => decode(&f16::encode(values)),
    };
    let mut together = Together::default();
    for (value, rounded) in values.iter().zip(rounded) {
        together.add(*value, rounded, rounded - value);
    }
    together.relative()
}

/// Whether a NaN is what arithmetic makes of the NaNs of cases, and of none: quiet, with nothing else in
/// its mantissa. Those around inputs and of a wrong conversion are not. Types of 8 bits have one NaN.
fn is_plain_nan(dtype: DType, bytes: &[u8]) -> bool {
    match dtype {
        DType::F32 => bytes[..3] == [0, 0, 0xc0],
        DType::Bf16 => bytes[0] == 0xc0,
        DType::F16 => bytes[0] == 0 && bytes[1] & 3 == 2,
        _ => true,
    }
}

/// The absolute error; infinite if one is a special value that the other is not.
fn error(dtype: DType, expected: f64, got: f64) -> f64 {
    if expected.is_nan() || got.is_nan() {
        return if expected.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() || expected.is_infinite() {
        // A finite reference beyond the type's range rounds to infinity.
        return if nearest(dtype, expected) == got { 0.0 } else { f64::INFINITY };
    }
    (expected - got).abs()
}

#[cfg(test)]
mod tests {
    use hk_types::dtype::F4x2E2M1;

    use super::*;

    fn expected(values: &[f64], allowed: f64) -> Expected {
        let allowed = vec![allowed; values.len()];
        Expected { values: values.to_vec(), allowed, ..Expected::default() }
    }

    #[test]
    fn the_worst_element_is_named() {
        let reference = expected(&[1.0, 2.0, 3.0], 0.25);
        let statistics = reference.compare(&[1.125f32, 2.5, 3.0]);
        assert!(!reference.accepts(&statistics));
        assert_eq!((statistics.index, statistics.failures), (1, 1));
        assert_eq!((statistics.error, statistics.allowed), (0.5, 0.25));
        assert_eq!((statistics.expected, statistics.got), (2.0, 2.5));
    }

    #[test]
    fn special_values_match_only_themselves() {
        let reference = expected(&[f64::NAN, f64::INFINITY, 1e39, 0.0], f64::MAX);
        let right = [f32::NAN, f32::INFINITY, f32::INFINITY, -0.0];
        assert!(reference.accepts(&reference.compare(&right)));
        for i in 0..4 {
            for wrong in [f32::NEG_INFINITY, 1.0f32, f32::NAN] {
                let mut got = right;
                got[i] = wrong;
                let fits = (i == 0 && wrong.is_nan()) || (i >= 2 && wrong == 1.0);
                let accepted = reference.accepts(&reference.compare(&got));
                assert_eq!(accepted, fits, "element {i} is {wrong}");
            }
        }
    }

    #[test]
    fn a_nan_is_quiet_and_has_no_payload() {
        fn accepts<T: Element>(bytes: &[u8]) -> bool {
            let reference = expected(&[f64::NAN], 0.0);
            reference.accepts(&reference.compare(&[bytemuck::pod_read_unaligned::<T>(bytes)]))
        }
        let words = [0x7fc0_0000u32, 0xffc0_0000, 0x7fc0_0001, 0x7fff_0000, 0x7fa0_0000];
        let right = words.map(|word| accepts::<f32>(&word.to_le_bytes()));
        assert_eq!(right, [true, true, false, false, false]);
        let halves = [0x7fc0u16, 0xffc0, 0x7fff, 0x7fe0, 0x7fa0];
        let right = halves.map(|half| accepts::<bf16>(&half.to_le_bytes()));
        assert_eq!(right, [true, true, false, false, false]);
        let halves = [0x7e00u16, 0xfe00, 0x7fff, 0x7d00, 0x7e01];
        let right = halves.map(|half| accepts::<f16>(&half.to_le_bytes()));
        assert_eq!(right, [true, true, false, false, false]);
    }

    #[test]
    fn all_together_may_be_worse_than_each() {
        let mut reference = expected(&[1.0; 100], 0.01);
        let got = [1.0078125f32; 100];
        assert!(reference.accepts(&reference.compare(&got)));
        reference.frobenius = Some(0.001);
        assert!(!reference.accepts(&reference.compare(&got)));
    }

    #[test]
    fn each_group_may_be_worse_than_all() {
        let mut got = [1.0f32; 100];
        got[7] = 1.1;
        let all = Expected { frobenius: Some(0.015), ..expected(&[1.0; 100], 1.0) };
        assert!(all.accepts(&all.compare(&got)));
        let groups = all.per_group(20, 0.015);
        assert!(!groups.accepts(&groups.compare(&got)));
    }

    #[test]
    fn bits_are_those_of_zeros_and_nans_too() {
        let right = [0.0f32, f32::NAN];
        let reference = Expected::bits(&right);
        assert!(reference.accepts(&reference.compare(&right)));
        assert!(!reference.accepts(&reference.compare(&[-0.0, f32::NAN])));
        assert!(!reference.accepts(&reference.compare(&[0.0, -f32::NAN])));
        let pair = [F4x2E2M1::from_f32(0.0, 1.0)];
        let reference = Expected::bits(&pair);
        assert!(reference.accepts(&reference.compare(&pair)));
        assert!(!reference.accepts(&reference.compare(&[F4x2E2M1::from_f32(-0.0, 1.0)])));
    }

    #[test]
    fn a_few_codes_near_ties_may_be_one_step_off() {
        let values = vec![5.0001, 2.5001, 1.7501, 3.6, 0.1, -0.1];
        let near = Steps { share: 0.0, near: 1e-3 };
        let pack = |codes: [f32; 6]| [0, 2, 4].map(|i| F4x2E2M1::from_f32(codes[i], codes[i + 1]));
        let judge = |codes, steps| {
            let reference = Expected::codes(values.clone(), steps);
            reference.accepts(&reference.compare(&pack(codes)))
        };
        assert!(judge([6.0, 3.0, 2.0, 4.0, 0.0, -0.0], near), "signed zeros are equal");
        assert!(judge([4.0, 2.0, 2.0, 4.0, 0.0, 0.0], near));
        assert!(!judge([4.0, 2.0, 1.5, 4.0, 0.0, 0.0], near), "three codes");
        let more = Steps { share: 0.5, ..near };
        assert!(judge([4.0, 2.0, 1.5, 4.0, 0.0, 0.0], more));
        assert!(!judge([6.0, 3.0, 2.0, 3.0, 0.0, 0.0], near), "not near a tie");
        let any = Steps { near: f64::INFINITY, ..near };
        assert!(judge([6.0, 3.0, 2.0, 3.0, 0.0, 0.0], any));
        assert!(!judge([6.0, 3.0, 2.0, 2.0, 0.0, 0.0], any), "two steps");
    }

    #[test]
    fn ties_may_all_be_one_step_off() {
        let reference = Expected::codes(vec![5.0, 2.5, 1.75, 3.5], Steps::NEAR_TIES);
        let pack = |a: [f32; 4]| [F4x2E2M1::from_f32(a[0], a[1]), F4x2E2M1::from_f32(a[2], a[3])];
        let judge = |codes| reference.accepts(&reference.compare(&pack(codes)));
        assert!(judge([4.0, 2.0, 2.0, 4.0]) && judge([6.0, 3.0, 1.5, 3.0]));
        assert!(!judge([3.0, 2.0, 2.0, 4.0]), "two steps");
    }

    #[test]
    fn exact_means_exact() {
        let reference = Expected::exact(vec![1.0, 0.0]);
        assert!(reference.accepts(&reference.compare(&[1.0f32, -0.0])));
        assert!(!reference.accepts(&reference.compare(&[1.0 + f32::EPSILON, 0.0])));
    }
}
