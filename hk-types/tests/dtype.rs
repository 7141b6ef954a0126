//! Exhaustive checks of the host conversions against independent computations.

use hk_types::dtype::*;

/// A small format as its standard defines it, written down apart from the codec under test: field
/// widths and bias, and by code which values are special.
struct Spec {
    name: &'static str,
    bits: u32,
    mantissa: u32,
    bias: i32,
    special: fn(u16) -> Option<f64>,
    encode: fn(f64) -> u16,
    encode_overflowing: fn(f64) -> u16,
    decode: fn(u16) -> f64,
    /// Code that a positive overflow gives without saturation.
    overflow: u16,
}

macro_rules! spec {
    (
        $ty:ident, $bits:literal, $mantissa:literal, $bias:literal, $overflow:literal,
        $special:expr
    ) => {
        Spec {
            name: stringify!($ty),
            bits: $bits,
            mantissa: $mantissa,
            bias: $bias,
            special: $special,
            encode: |v| $ty::from_f64(v).to_bits().into(),
            encode_overflowing: |v| $ty::from_f64_overflowing(v).to_bits().into(),
            decode: |c| $ty::from_bits(c as u8).to_f64(),
            overflow: $overflow,
        }
    };
}

fn small_formats() -> Vec<Spec> {
    vec![
        spec!(F8E4M3, 8, 3, 7, 0x7f, |c| (c & 0x7f == 0x7f).then_some(f64::NAN)),
        spec!(F8E5M2, 8, 2, 15, 0x7c, |c| match c & 0x7f {
            0x7c => Some(if c & 0x80 == 0 { f64::INFINITY } else { f64::NEG_INFINITY }),
            0x7d..=0x7f => Some(f64::NAN),
            _ => None,
        }),
        spec!(F8E4M3Fnuz, 8, 3, 8, 0x80, |c| (c == 0x80).then_some(f64::NAN)),
        spec!(F8E5M2Fnuz, 8, 2, 16, 0x80, |c| (c == 0x80).then_some(f64::NAN)),
        spec!(F6E2M3, 6, 3, 1, 0x1f, |_| None),
        spec!(F6E3M2, 6, 2, 3, 0x1f, |_| None),
        spec!(F4E2M1, 4, 1, 1, 0x07, |_| None),
    ]
}

impl Spec {
    /// Value by the formula of the standards: (-1)^s 2^(e-b) (1 + m/2^w), subnormals without the 1.
    fn value(&self, code: u16) -> f64 {
        if let Some(special) = (self.special)(code) {
            return special;
        }
        let sign = if code >> (self.bits - 1) & 1 == 1 { -1.0 } else { 1.0 };
        let exponent =
            i32::from(code >> self.mantissa) & ((1 << (self.bits - 1 - self.mantissa)) - 1);
        let fraction =
            f64::from(code & ((1 << self.mantissa) - 1)) / 2f64.powi(self.mantissa as i32);
        if exponent == 0 {
            sign * 2f64.powi(1 - self.bias) * fraction
        } else {
            sign * 2f64.powi(exponent - self.bias) * (1.0 + fraction)
        }
    }

    /// Finite non-negative codes by rising value.
    fn finite(&self) -> Vec<(f64, u16)> {
        let mut finite: Vec<_> = (0..1u16 << (self.bits - 1))
            .map(|code| (self.value(code), code))
            .filter(|(value, _)| value.is_finite())
            .collect();
        finite.sort_by(|a, b| a.0.total_cmp(&b.0));
        finite
    }

    /// Nearest finite code to a finite magnitude by search; midpoints are exact in f64, so no
    /// distance is ever rounded.
    fn nearest(&self, magnitude: f64) -> u16 {
        let finite = self.finite();
        let above = finite.partition_point(|(value, _)| *value < magnitude);
        if above == 0 || above == finite.len() {
            return finite[above.saturating_sub(1)].1;
        }
        let ((low, low_code), (high, high_code)) = (finite[above - 1], finite[above]);
        let middle = (low + high) / 2.0;
        if magnitude < middle || magnitude == middle && low_code % 2 == 0 {
            low_code
        } else {
            high_code
        }
    }

    fn negative(&self, code: u16) -> u16 {
        let fnuz = (self.special)(1 << (self.bits - 1)).is_some();
        if fnuz && code == 0 { 0 } else { code | 1 << (self.bits - 1) }
    }

    /// Each value, each midpoint, their neighbours in f64 and f32, and values beyond the largest.
    fn probes(&self) -> Vec<f64> {
        let finite = self.finite();
        let values = finite.iter().map(|(value, _)| *value);
        let middles = finite.windows(2).map(|pair| (pair[0].0 + pair[1].0) / 2.0);
        let max = finite[finite.len() - 1].0;
        let step = max - finite[finite.len() - 2].0;
        let beyond = [max + step / 2.0, max + step, max * 4.0, 1e300, f64::MAX];
        let tiny = [f64::from_bits(1), 1e-300, f64::from(f32::from_bits(1)), 1e-30];
        let mut probes = Vec::new();
        for value in values.chain(middles).chain(beyond).chain(tiny) {
            probes.extend([value, value.next_down().max(0.0), value.next_up().min(f64::MAX)]);
            let single = value as f32;
            if single.is_finite() {
                probes.push(f64::from(single.next_down()).max(0.0));
                probes.push(f64::from(single.next_up()).min(f64::MAX));
            }
        }
        probes
    }
}

#[test]
fn every_code_decodes_by_the_formula() {
    for spec in small_formats() {
        for code in 0..1u16 << spec.bits {
            let (got, expected) = ((spec.decode)(code), spec.value(code));
            assert!(
                got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan(),
                "{} {code:#x}: {got} is not {expected}",
                spec.name
            );
        }
    }
}

#[test]
fn every_code_survives_a_round_trip() {
    for spec in small_formats() {
        for code in 0..1u16 << spec.bits {
            let value = spec.value(code);
            if value.is_nan() {
                assert!((spec.decode)((spec.encode)(value)).is_nan(), "{} {code:#x}", spec.name);
                continue;
            }
            assert_eq!((spec.encode_overflowing)(value), code, "{} {code:#x}", spec.name);
            if value.is_finite() {
                assert_eq!((spec.encode)(value), code, "{} {code:#x}", spec.name);
            }
        }
    }
}

#[test]
fn encoding_is_nearest_even_and_saturates() {
    for spec in small_formats() {
        for magnitude in spec.probes() {
            let expected = spec.nearest(magnitude);
            assert_eq!((spec.encode)(magnitude), expected, "{} {magnitude:e}", spec.name);
            let negative = spec.negative(expected);
            assert_eq!((spec.encode)(-magnitude), negative, "{} -{magnitude:e}", spec.name);
        }
        let max = spec.finite().pop().unwrap().1;
        assert_eq!((spec.encode)(f64::INFINITY), max, "{}", spec.name);
        assert_eq!((spec.encode)(f64::NEG_INFINITY), spec.negative(max), "{}", spec.name);
    }
}

#[test]
fn overflowing_encoding_leaves_the_range_at_the_rounding_midpoint() {
    for spec in small_formats() {
        let finite = spec.finite();
        let (max, max_code) = finite[finite.len() - 1];
        let step = max - finite[finite.len() - 2].0;
        let middle = max + step / 2.0;
        let overflow = spec.overflow;
        // The tie goes to the even mantissa: the largest value's own, or the next step's.
        let at_tie = if max_code % 2 == 0 { max_code } else { overflow };
        assert_eq!((spec.encode_overflowing)(middle), at_tie, "{}", spec.name);
        assert_eq!((spec.encode_overflowing)(middle.next_down()), max_code, "{}", spec.name);
        assert_eq!((spec.encode_overflowing)(middle.next_up()), overflow, "{}", spec.name);
        assert_eq!((spec.encode_overflowing)(f64::INFINITY), overflow, "{}", spec.name);
    }
}

#[test]
fn ocp_types_agree_with_float8() {
    for code in 0..=255u8 {
        let pairs = [
            (F8E4M3::from_bits(code).to_f32(), float8::F8E4M3::from_bits(code).to_f32()),
            (F8E5M2::from_bits(code).to_f32(), float8::F8E5M2::from_bits(code).to_f32()),
        ];
        for (ours, theirs) in pairs {
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{code:#x}");
        }
    }
    // Every bf16 value: it has more exponent and more mantissa than either format.
    for code in 0..=u16::MAX {
        let value = bf16::from_bits(code).to_f32();
        if value.is_nan() {
            continue;
        }
        let e4m3 = float8::F8E4M3::from_f32(value);
        assert_eq!(F8E4M3::from_f32(value).to_bits(), e4m3.to_bits(), "{value:e}");
        let e5m2 = float8::F8E5M2::from_f32(value);
        assert_eq!(F8E5M2::from_f32(value).to_bits(), e5m2.to_bits(), "{value:e}");
    }
}

/// Checks an f64 conversion to a 16-bit type at every value, every midpoint, and just beside each:
/// the expectation comes from the ordered codes alone.
fn check_half_precision(
    encode: impl Fn(f64) -> u16,
    decode: impl Fn(u16) -> f64,
    infinity: u16,
    beyond: f64,
) {
    for code in 0..infinity {
        let value = decode(code);
        assert_eq!(encode(value), code);
        assert_eq!(encode(-value), code | 0x8000);
        let next = if code + 1 == infinity { beyond } else { decode(code + 1) };
        let middle = (value + next) / 2.0;
        let even = code + code % 2;
        assert_eq!(encode(middle), even, "{middle:e}");
        assert_eq!(encode(middle.next_down()), code, "{middle:e}");
        assert_eq!(encode(middle.next_up()), code + 1, "{middle:e}");
    }
    assert_eq!(encode(f64::INFINITY), infinity);
    assert!(decode(encode(f64::NAN)).is_nan());
}

#[test]
fn bf16_and_f16_round_once_from_f64() {
    let encode = |v| <bf16 as Scalar>::from_f64(v).to_bits();
    check_half_precision(encode, |c| bf16::from_bits(c).to_f64(), 0x7f80, 2f64.powi(128));
    let encode = |v| <f16 as Scalar>::from_f64(v).to_bits();
    check_half_precision(encode, |c| f16::from_bits(c).to_f64(), 0x7c00, 65536.0);
}

#[test]
fn half_precision_agrees_with_the_half_crate() {
    for code in 0..=u16::MAX {
        let (b, h) = (bf16::from_bits(code), f16::from_bits(code));
        let exact = |ours: f64, theirs: f32| ours == f64::from(theirs) || theirs.is_nan();
        assert!(exact(Scalar::to_f64(b), b.to_f32()) && exact(Scalar::to_f64(h), h.to_f32()));
        // From f32 the crate is correctly rounded; every code and its upper neighbour half-way.
        for value in [b.to_f32(), h.to_f32(), f32::from_bits(u32::from(code) << 16 | 0x8000)] {
            if value.is_nan() {
                continue;
            }
            let wide = f64::from(value);
            assert_eq!(<bf16 as Scalar>::from_f64(wide), bf16::from_f32(value), "{value:e}");
            assert_eq!(<f16 as Scalar>::from_f64(wide), f16::from_f32(value), "{value:e}");
        }
    }
}

#[test]
fn e8m0_is_a_power_of_two() {
    for byte in 0..255u8 {
        let value = 2f64.powi(i32::from(byte) - 127);
        assert_eq!(E8M0::from_bits(byte).to_f64(), value);
        assert_eq!(f64::from(E8M0::from_bits(byte).to_f32()), value);
        assert_eq!(E8M0::from_f64(value).to_bits(), byte);
        if byte < 254 {
            assert_eq!(E8M0::from_f64(value * 1.5).to_bits(), byte + 1);
            assert_eq!(E8M0::from_f64((value * 1.5).next_down()).to_bits(), byte);
        }
    }
    assert!(E8M0::from_bits(255).is_nan() && E8M0::from_bits(255).to_f64().is_nan());
    assert!(E8M0::from_f64(f64::NAN).is_nan() && E8M0::from_f64(-1.0).is_nan());
    for (value, byte) in [(0.0, 0), (-0.0, 0), (1e-300, 0), (f64::INFINITY, 254), (1e300, 254)] {
        assert_eq!(E8M0::from_f64(value).to_bits(), byte, "{value:e}");
    }
}

#[test]
fn packed_fp4_keeps_the_even_element_low() {
    for byte in 0..=255u8 {
        let pair = F4x2E2M1::from_bits(byte);
        assert_eq!((pair.low().to_bits(), pair.high().to_bits()), (byte & 15, byte >> 4));
        assert_eq!(F4x2E2M1::new(pair.low(), pair.high()).to_bits(), byte);
        let (low, high) = (pair.low().to_f32(), pair.high().to_f32());
        assert_eq!(F4x2E2M1::from_f32(low, high).to_bits(), byte);
    }
}

#[test]
fn integers_round_and_saturate() {
    assert_eq!([0.5, 1.5, -2.5, 300.0].map(<i8 as Scalar>::from_f64), [0, 2, -2, 127]);
    assert_eq!([-1.0, 254.5, 1e9].map(<u8 as Scalar>::from_f64), [0, 254, 255]);
    assert_eq!([-1e20, f64::NAN].map(<i32 as Scalar>::from_f64), [i32::MIN, 0]);
}

#[test]
fn dtypes_describe_their_types() {
    assert_eq!(DType::F4x2E2M1.pack(), 2);
    for &dtype in DType::ALL {
        assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
        let mut values = Vec::new();
        dtype.decode(&vec![0u8; 3 * dtype.size()], &mut values);
        let zero = if dtype == DType::E8M0 { 2f64.powi(-127) } else { 0.0 };
        assert_eq!(values, vec![zero; 3 * dtype.pack()], "{dtype}");
    }
    let mut values = Vec::new();
    DType::F4x2E2M1.decode(&[0x7a], &mut values);
    assert_eq!(values, [-1.0, 6.0]);
}

#[test]
fn fp8_flavours_belong_to_their_chips() {
    use hk_types::Arch::{Gfx942, Gfx950};
    for (dtype, cdna3, cdna4) in [
        (DType::F8E4M3, DType::F8E4M3Fnuz, DType::F8E4M3),
        (DType::F8E4M3Fnuz, DType::F8E4M3Fnuz, DType::F8E4M3),
        (DType::F8E5M2, DType::F8E5M2Fnuz, DType::F8E5M2),
        (DType::F8E5M2Fnuz, DType::F8E5M2Fnuz, DType::F8E5M2),
        (DType::F4x2E2M1, DType::F4x2E2M1, DType::F4x2E2M1),
        (DType::Bf16, DType::Bf16, DType::Bf16),
    ] {
        assert_eq!((Gfx942.native(dtype), Gfx950.native(dtype)), (cdna3, cdna4), "{dtype}");
    }
}

/// Slices are encoded as single numbers are: at every tie, next to it, and anywhere in `f64`.
#[test]
fn slices_are_encoded_as_their_elements_are() {
    fn check<T: Scalar>() {
        let codes = (0..=u16::MAX).map(|code| f64::from(f32::from_bits(u32::from(code) << 16)));
        let halves = (0..=u16::MAX).map(|code| f16::from_bits(code).to_f64());
        let mut values: Vec<f64> = codes.chain(halves).collect();
        let ties = values.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
        values.extend(ties.collect::<Vec<_>>());
        let beside = |v: &f64| [v.to_bits() + 1, v.to_bits().saturating_sub(1)].map(f64::from_bits);
        values.extend(values.iter().flat_map(beside).collect::<Vec<_>>());
        let mut bits = 1u64;
        values.extend((0..100_000).map(|_| {
            bits = bits.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x2545_f491_4f6c_dd1d);
            f64::from_bits(bits)
        }));
        for (value, encoded) in values.iter().zip(T::encode(&values)) {
            let one = T::from_f64(*value);
            let same = bytemuck::bytes_of(&one) == bytemuck::bytes_of(&encoded);
            let both_nan = one.to_f64().is_nan() && encoded.to_f64().is_nan();
            assert!(same || both_nan, "{}: {value:e} is {one:?}, not {encoded:?}", T::DTYPE);
        }
    }
    check::<bf16>();
    check::<f16>();
    check::<f32>();
    check::<F8E4M3>();
    check::<i8>();
    let pairs = F4x2E2M1::encode(&[1.5, -6.0, 0.0, 0.5]);
    assert_eq!(pairs, [F4x2E2M1::from_f32(1.5, -6.0), F4x2E2M1::from_f32(0.0, 0.5)]);
    assert_eq!(decode(&pairs), [1.5, -6.0, 0.0, 0.5]);
}
