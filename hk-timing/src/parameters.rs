//! Parameters of the model: one file per product, which inherits those of its chip.

use std::collections::BTreeMap;
use std::fmt::Write;

use hk_sim::Product;
use hk_sim::isa::Arch;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::Error;

/// One parameter of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    value: f64,
    /// What it was before anything was fitted, if something was.
    prior: Option<f64>,
    range: [f64; 2],
    tag: Tag,
    source: String,
}

/// How a value is known.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tag {
    Fixed,
    Vendor,
    Measured,
    Fit,
    Inferred,
}

#[derive(Deserialize)]
struct File {
    inherits: Option<String>,
    set: Option<String>,
    #[serde(flatten)]
    entries: BTreeMap<String, Entry>,
}

const FILES: [(&str, &str); 7] = [
    ("gfx942", include_str!("../products/gfx942.toml")),
    ("gfx950", include_str!("../products/gfx950.toml")),
    ("mi300x", include_str!("../products/mi300x.toml")),
    ("mi325x", include_str!("../products/mi325x.toml")),
    ("mi350x", include_str!("../products/mi350x.toml")),
    ("mi355x", include_str!("../products/mi355x.toml")),
    ("mi300a", include_str!("../products/mi300a.toml")),
];

/// MI300A, from which some published figures are. The simulator does not offer it, and whatever is true of
/// the chip gfx942 is taken to be true of it.
///
/// Source: AMD's data sheet and the white paper of CDNA3: 228 compute units in 6 XCDs, 2100 MHz, 128 GB of
/// HBM3 at 5.3 TB/s.
pub static MI300A: Product = Product {
    name: "mi300a",
    marketing: "AMD Instinct MI300A (simulated)",
    arch: Arch::Gfx942,
    compute_units: 228,
    clock_khz: 2_100_000,
    memory_clock_khz: 1_300_000,
    memory_bus_bits: 8192,
    memory_bytes: 128 << 30,
    xcds: 6,
};

/// A parameter as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// File: the chip's or the product's.
    pub file: &'static str,
    /// Value.
    pub value: f64,
    /// Value before anything was fitted.
    pub prior: f64,
    /// Least and largest value that it may have.
    pub range: [f64; 2],
    /// Where it is from.
    pub source: String,
}

macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The parameters of a product.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Parameters {
            $($(#[$doc])* pub $name: f64,)*
            /// Name of the set, which is another whenever values are fitted.
            pub set: String,
            /// Hash of all values.
            pub hash: String,
        }

        impl Parameters {
            fn from_entries(
                mut entries: BTreeMap<String, Entry>,
                set: String,
            ) -> Result<Self, Error> {
                let hash = hash(&entries);
                let mut take = |name: &'static str| {
                    let entry = entries.remove(name).ok_or(Error::MissingParameter(name))?;
                    let Entry { value, prior, range: [low, high], source, .. } = entry;
                    for value in [Some(value), prior].into_iter().flatten() {
                        if !(low..=high).contains(&value) {
                            return Err(Error::ParameterRange { name, value, low, high });
                        }
                    }
                    if source.is_empty() {
                        return Err(Error::ParameterSource(name));
                    }
                    Ok(value)
                };
                $(let $name = take(stringify!($name))?;)*
                match entries.into_keys().next() {
                    Some(name) => Err(Error::UnknownParameter(name)),
                    None => Ok(Self { $($name,)* set, hash }),
                }
            }
        }
    };
}

parameters! {
    /// Cycles of a transcendental vector instruction.
    trans,
    /// Cycles of `v_mul_lo_u32` and `v_mul_hi_*`.
    mul_lo,
    /// Cycles of conversions between f32 and integers, and of f64.
    convert,
    /// Cycles between two matrix instructions beyond their passes.
    mfma_issue_gap,
    /// 1 if f8f6f4 instructions block the slots behind them.
    f8f6f4_port_block,
    /// Cycles of a taken branch.
    branch_taken,
    /// Cycles of the first fetch of a line of code.
    icache_miss,
    /// Dwords that a wave fetches ahead.
    ibuf,
    /// Cycles from the last arrival at a barrier to the first issue.
    barrier_release,
    /// Cycles of an LDS read beyond its service.
    lds_roundtrip,
    /// Cycles of a scalar load that hits.
    scalar_hit,
    /// Cycles of one that misses.
    scalar_miss,
    /// Cycles of a vector load that hits the L1.
    l1_hit,
    /// Bytes per cycle that the L1 returns.
    l1_return,
    /// The same of loads to LDS.
    dtl_return,
    /// Lines that the L1 waits for at once.
    l1_inflight,
    /// Lines that are being written at once.
    wr_inflight,
    /// Cycles of a load that hits the L2.
    l2_hit,
    /// Cycles more of a load that bypasses the L1.
    l1_bypass,
    /// Bytes per cycle that the L2 of an XCD gives.
    l2_read,
    /// Bytes per cycle that it takes.
    l2_write,
    /// MiB of the L2 of an XCD.
    l2_size,
    /// Cycles of an atomic on a line.
    l2_atomic,
    /// Nanoseconds of a load that hits the MALL.
    mall_latency,
    /// TB/s of the MALL.
    mall_rate,
    /// MiB of the MALL that hold what is used again.
    mall_effective,
    /// TB/s that an XCD reads.
    fabric_read,
    /// Nanoseconds of a load from HBM.
    hbm_latency,
    /// Share of the peak that reads reach.
    hbm_read,
    /// Share of the peak that writes reach.
    hbm_write,
    /// Share of the peak that both reach together, as many bytes read as written.
    hbm_copy,
    /// Waves per cycle that an XCD starts.
    wave_launch,
    /// Nanoseconds of start and drain of a wave.
    wave_start,
    /// Nanoseconds of start and end of a kernel.
    kernel_start,
    /// Watts of a chip that does nothing.
    power_idle,
    /// Watts per TB/s of HBM.
    power_memory,
    /// Watts per GHz with all compute units active.
    power_clock,
    /// Relative voltage per GHz above 1.2 GHz.
    voltage_slope,
    /// Factor of the cap in kernels shorter than a millisecond.
    burst,
    /// Watts per TFLOP/s of vector f32.
    energy_vector,
    /// Watts per TFLOP/s of bf16 matrix instructions.
    energy_bf16,
    /// The same of f16, and of wider types.
    energy_f16,
    /// The same of 8-bit types.
    energy_8bit,
    /// The same of 6-bit and 4-bit types.
    energy_narrow,
    /// Board power in watts.
    power_cap,
    /// Peak of HBM in TB/s.
    hbm_peak,
}

impl Parameters {
    /// Those of a product.
    ///
    /// # Errors
    /// [`Error::Product`] if there is no file of it, and what is wrong with the file.
    pub fn of(product: &Product) -> Result<Self, Error> {
        Self::with(product, &[])
    }

    /// Those of a product, but for some that have another value.
    ///
    /// # Errors
    /// Those of [`Parameters::of`]; [`Error::ParameterRange`] if the value is outside of the range,
    /// [`Error::UnknownParameter`] if there is none of that name.
    pub fn with(product: &Product, changes: &[(&str, f64)]) -> Result<Self, Error> {
        let (set, mut entries) = entries(product)?;
        for &(name, value) in changes {
            let unknown = || Error::UnknownParameter(name.to_owned());
            entries.get_mut(name).ok_or_else(unknown)?.1.value = value;
        }
        let entries = entries.into_iter().map(|(name, (_, entry))| (name, entry));
        Self::from_entries(entries.collect(), set)
    }

    /// One of a product, with its range and source.
    ///
    /// # Errors
    /// Those of [`Parameters::of`]; [`Error::UnknownParameter`] if there is none of that name.
    pub fn entry(product: &Product, name: &str) -> Result<Parameter, Error> {
        let (file, entry) = entries(product)?
            .1
            .remove(name)
            .ok_or_else(|| Error::UnknownParameter(name.to_owned()))?;
        let Entry { value, prior, range, source, .. } = entry;
        Ok(Parameter { file, value, prior: prior.unwrap_or(value), range, source })
    }
}

/// Parameters by name, with the names of their files.
type Entries = BTreeMap<String, (&'static str, Entry)>;

/// The name of the set and all parameters of a product.
fn entries(product: &Product) -> Result<(String, Entries), Error> {
    let read = |name: &str| {
        let file = FILES.iter().find(|(known, _)| *known == name);
        let &(name, text) = file.ok_or_else(|| Error::Product(name.to_owned()))?;
        let File { inherits, set, entries } = parse(text)?;
        let entries = entries.into_iter().map(move |(key, entry)| (key, (name, entry)));
        Ok::<_, Error>((inherits, set, entries))
    };
    let (inherits, mut set, own) = read(product.name)?;
    let mut all = BTreeMap::new();
    if let Some(chip) = inherits {
        let (_, of_chip, entries) = read(&chip)?;
        set = set.or(of_chip);
        all.extend(entries);
    }
    all.extend(own);
    Ok((set.ok_or(Error::MissingParameter("set"))?, all))
}

fn parse(text: &str) -> Result<File, Error> {
    toml::from_str(text).map_err(|error| Error::ParameterFile(error.to_string()))
}

/// The first 12 digits of the SHA-256 of all names and values.
fn hash(entries: &BTreeMap<String, Entry>) -> String {
    let mut text = String::new();
    for (name, Entry { value, range, tag, .. }) in entries {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {value} {range:?} {tag:?}");
    }
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use hk_sim::PRODUCTS;

    use super::*;

    fn entries() -> BTreeMap<String, Entry> {
        let product = Product::by_name("mi300x").expect("it is one");
        let (_, all) = super::entries(product).expect("the files are whole");
        all.into_iter().map(|(name, (_, entry))| (name, entry)).collect()
    }

    fn made(entries: BTreeMap<String, Entry>) -> Result<Parameters, Error> {
        Parameters::from_entries(entries, "a set".to_owned())
    }

    #[test]
    fn every_product_has_a_set_of_its_own() {
        let products = PRODUCTS.iter().chain([&MI300A]);
        let sets: Vec<_> = products
            .map(|product| Parameters::of(product).expect("the set is whole").hash)
            .collect();
        for (at, hash) in sets.iter().enumerate() {
            assert!(hash.len() == 12 && !sets[..at].contains(hash), "{sets:?}");
        }
    }

    #[test]
    fn a_set_is_whole_and_has_nothing_else() {
        let mut missing = entries();
        missing.remove("l2_hit");
        assert!(matches!(made(missing), Err(Error::MissingParameter("l2_hit"))));
        let mut more = entries();
        more.insert("l3_hit".into(), more["l2_hit"].clone());
        assert!(matches!(made(more), Err(Error::UnknownParameter(_))));
        let mut outside = entries();
        outside.get_mut("l2_hit").expect("it is there").value = 100.0;
        assert!(matches!(made(outside), Err(Error::ParameterRange { .. })));
        let mut prior = entries();
        prior.get_mut("l2_hit").expect("it is there").prior = Some(300.0);
        assert!(matches!(made(prior), Err(Error::ParameterRange { value: 300.0, .. })));
        let mut silent = entries();
        silent.get_mut("l2_hit").expect("it is there").source.clear();
        assert!(matches!(made(silent), Err(Error::ParameterSource("l2_hit"))));
    }

    #[test]
    fn a_value_changes_the_hash() {
        let before = made(entries()).expect("the set is whole");
        let mut changed = entries();
        changed.get_mut("l2_hit").expect("it is there").value = 214.0;
        let after = made(changed).expect("the set is whole");
        assert_ne!(before.hash, after.hash);
    }

    #[test]
    fn a_change_is_made_or_refused() {
        let product = Product::by_name("mi300x").expect("it is one");
        let plain = Parameters::of(product).expect("the set is whole");
        let changed = Parameters::with(product, &[("l2_hit", 206.0)]).expect("it is in the range");
        assert_eq!(changed.l2_hit, 206.0);
        assert_ne!(changed.hash, plain.hash);
        let refused =
            [("l2_hit", 100.0), ("l3_hit", 1.0)].map(|of| Parameters::with(product, &[of]));
        assert!(matches!(refused[0], Err(Error::ParameterRange { name: "l2_hit", .. })));
        assert!(matches!(refused[1], Err(Error::UnknownParameter(_))));
        let entry = Parameters::entry(product, "power_cap").expect("it is there");
        assert_eq!((entry.file, entry.value, entry.prior), ("mi300x", 750.0, 750.0));
        let entry = Parameters::entry(product, "l2_hit").expect("it is there");
        assert_eq!((entry.file, entry.value), ("gfx942", plain.l2_hit));
        // The published figure, which its chain of pointers did not quite give.
        assert_eq!(entry.prior, 213.0);
    }
}
