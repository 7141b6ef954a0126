//! The clock under load: the largest at which power stays within what the board may take.

use crate::Parameters;

/// What a kernel does, per cycle of the engine clock, of the whole chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Load {
    /// Share of the compute units that work.
    pub(crate) active: f64,
    /// Bytes of HBM.
    pub(crate) bytes: f64,
    /// Watts per TFLOP/s times operations.
    pub(crate) energy: f64,
}

/// Watts at `clock` GHz: `P0 + e_mem B + v² (k f + Σ e R)`.
fn power(by: &Parameters, load: Load, clock: f64) -> f64 {
    let voltage = 1.0 + by.voltage_slope * (clock - 1.2);
    // Per cycle and GHz: 10^9 a second, and TB and TFLOP are 10^12.
    let per_second = clock / 1e3;
    let engine = by.power_clock * clock * load.active + load.energy * per_second;
    by.power_idle + by.power_memory * load.bytes * per_second + voltage * voltage * engine
}

/// Clock in GHz of a kernel of that load, at most `most`, with a cap of `cap` watts.
pub(crate) fn clock(by: &Parameters, load: Load, cap: f64, most: f64) -> f64 {
    if power(by, load, most) <= cap {
        return most;
    }
    let (mut low, mut high) = (0.3, most);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if power(by, load, middle) <= cap {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use hk_sim::Product;

    use super::*;

    fn parameters() -> Parameters {
        let product = Product::by_name("mi300x").expect("it is one");
        Parameters::of(product).expect("the set is whole")
    }

    #[test]
    fn the_clock_of_published_streams() {
        // RRZE gpu-roofline on MI300X: FLOP per byte, TB/s, MHz at 750 W.
        let by = parameters();
        for (intensity, rate, published) in [
            (0.25, 4.07, 1254.0),
            (4.25, 3.74, 1204.0),
            (10.25, 3.46, 1030.0),
            (20.25, 2.83, 981.0),
        ] {
            // The rates are per second; per cycle they follow from the clock.
            let mut clock = 1.2;
            for _ in 0..50 {
                let bytes = rate * 1e3 / clock;
                let energy = by.energy_vector * intensity * bytes;
                let load = Load { active: 1.0, bytes, energy };
                clock = f64::midpoint(clock, super::clock(&by, load, by.power_cap, 2.1));
            }
            let error = (clock * 1e3 / published).ln().abs();
            assert!(error < 0.08, "{intensity} FLOP/B: {clock} GHz, published {published} MHz");
        }
    }

    #[test]
    fn more_work_never_raises_the_clock() {
        let by = parameters();
        let mut last = f64::MAX;
        for step in 0..20 {
            let energy = 1e4 * f64::from(step);
            let found = clock(&by, Load { active: 1.0, bytes: 1e3, energy }, by.power_cap, 2.1);
            assert!(found <= last && found <= 2.1);
            last = found;
        }
        assert!(last < 2.0);
    }
}
