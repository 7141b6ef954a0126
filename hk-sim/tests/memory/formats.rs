//! Buffer data formats in double precision; rounding by search among all codes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// Data format and number format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub(crate) dfmt: u32,
    pub(crate) nfmt: u32,
}

/// Formats by number, their component widths named from the most significant on.
const NAMES: [&str; 15] = [
    "",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
];

const FLOAT: u32 = 7;

/// Every combination that exists.
pub(crate) fn all() -> Vec<Format> {
    let mut all = Vec::new();
    for dfmt in 1..NAMES.len() as u32 {
        for nfmt in [0, 1, 2, 3, 4, 5, FLOAT] {
            let format = Format { dfmt, nfmt };
            let float = format.widths().iter().all(|width| [10, 11, 16, 32].contains(width));
            if nfmt != FLOAT || float {
                all.push(format);
            }
        }
    }
    all
}

impl Format {
    /// Widths from the least significant component on.
    fn widths(self) -> Vec<u32> {
        let name = NAMES[self.dfmt as usize];
        name.rsplit('_').map(|width| width.parse().expect("a width")).collect()
    }

    pub(crate) fn bytes(self) -> usize {
        self.widths().iter().sum::<u32>() as usize / 8
    }

    pub(crate) fn unpack(self, raw: &[u8]) -> Vec<u32> {
        let bits: Vec<bool> =
            raw.iter().flat_map(|b| (0..8).map(move |at| b >> at & 1 != 0)).collect();
        let mut at = 0;
        self.widths()
            .into_iter()
            .map(|width| {
                let field = &bits[at..at + width as usize];
                at += width as usize;
                let code = field.iter().rev().fold(0, |code, &bit| code << 1 | u32::from(bit));
                self.decode(width, code)
            })
            .collect()
    }

    pub(crate) fn pack(self, components: &[u32]) -> Vec<u8> {
        let mut bits = Vec::new();
        for (width, &component) in self.widths().into_iter().zip(components) {
            let code = self.encode(width, component);
            bits.extend((0..width).map(|at| code >> at & 1));
        }
        let byte = |bits: &[u32]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | *bit as u8);
        bits.chunks(8).map(byte).collect()
    }

    /// Register of a code.
    fn decode(self, width: u32, code: u32) -> u32 {
        match self.nfmt {
            _ if width == 32 => code,
            4 => code,
            5 => two_complement(width, code) as u32,
            FLOAT if width == 16 => {
                Half::from_bits(code.into()).convert(&mut false).value.map_bits()
            }
            FLOAT if code >> (width - 5) == 31 && code & ((1 << (width - 5)) - 1) != 0 => {
                // A NaN keeps its mantissa.
                0x7f80_0000 | (code & ((1 << (width - 5)) - 1)) << (23 - (width - 5)) | 0x40_0000
            }
            _ => (self.value(width, code) as f32).to_bits(),
        }
    }

    /// Number that a code means.
    fn value(self, width: u32, code: u32) -> f64 {
        let unsigned = f64::from(code);
        let signed = two_complement(width, code) as f64;
        match self.nfmt {
            0 => unsigned / (2f64.powi(width as i32) - 1.0),
            1 => (signed / (2f64.powi(width as i32 - 1) - 1.0)).max(-1.0),
            2 => unsigned,
            3 => signed,
            _ => {
                let mantissa = width - 5;
                let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
                match code >> mantissa {
                    0 => fraction * 2f64.powi(-14),
                    31 => f64::INFINITY,
                    exponent => (1.0 + fraction) * 2f64.powi(exponent as i32 - 15),
                }
            }
        }
    }

    /// Code of a register: the nearest number, of two the one with the even code.
    fn encode(self, width: u32, register: u32) -> u32 {
        let number = f64::from(f32::from_bits(register));
        let last = (1u64 << width) as u32 - 1;
        match self.nfmt {
            _ if width == 32 => register,
            4 => register.min(last),
            5 => {
                let half = 1i64 << (width - 1);
                (i64::from(register as i32).clamp(-half, half - 1) & i64::from(last)) as u32
            }
            FLOAT if width == 16 => to_f16(register),
            FLOAT if number.is_nan() => 31 << (width - 5) | 1,
            _ if number.is_nan() => 0,
            _ => {
                let numbers = self.numbers(width);
                let at = numbers.partition_point(|&(value, _)| value < number);
                let near = &numbers[at.saturating_sub(1)..(at + 1).min(numbers.len())];
                let nearest = near.iter().min_by(|a, b| {
                    let distance = |value: f64| (number.clamp(-1e9, 1e9) - value).abs();
                    distance(a.0).total_cmp(&distance(b.0)).then((a.1 & 1).cmp(&(b.1 & 1)))
                });
                nearest.expect("there are codes").1
            }
        }
    }

    /// All numbers with their codes, ascending. Infinity counts as the power of two that it stands
    /// for when rounding; the most negative normalised code repeats its successor and is left out.
    fn numbers(self, width: u32) -> Numbers {
        static KNOWN: Mutex<BTreeMap<(u32, u32), Numbers>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().expect("no thread panicked here");
        known.entry((self.nfmt, width)).or_insert_with(|| {
            let last = if self.nfmt == FLOAT { 31 << (width - 5) } else { (1 << width) - 1 };
            let mut numbers: Vec<(f64, u32)> = (0..=last)
                .filter(|&code| self.nfmt != 1 || code != 1 << (width - 1))
                .map(|code| (self.value(width, code).min(65536.0), code))
                .collect();
            numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
            numbers.leak()
        })
    }
}

/// Numbers and their codes, ascending.
type Numbers = &'static [(f64, u32)];

trait MapBits {
    fn map_bits(self) -> u32;
}

impl MapBits for Single {
    fn map_bits(self) -> u32 {
        self.to_bits() as u32
    }
}

fn two_complement(width: u32, code: u32) -> i64 {
    let code = i64::from(code);
    if code >> (width - 1) != 0 { code - (1 << width) } else { code }
}

/// f16 of an f32.
pub(crate) fn to_f16(bits: u32) -> u32 {
    let half: Half = Single::from_bits(bits.into()).convert(&mut false).value;
    half.to_bits() as u32
}

/// f32 of an f16.
pub(crate) fn from_f16(bits: u32) -> u32 {
    let single: Single = Half::from_bits(bits.into()).convert(&mut false).value;
    single.to_bits() as u32
}
