//! The products that can be simulated, with the figures of their data sheets.

use crate::isa::Arch;

/// One accelerator product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Product {
    /// Name in device strings, e.g. `mi355x`.
    pub name: &'static str,
    /// Marketing name that `hipDeviceGetName` reports.
    pub marketing: &'static str,
    /// Instruction set.
    pub arch: Arch,
    /// Compute units.
    pub compute_units: u32,
    /// Peak engine clock in kHz.
    pub clock_khz: u32,
    /// Peak memory clock in kHz.
    pub memory_clock_khz: u32,
    /// Memory bus width in bits.
    pub memory_bus_bits: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Accelerator complex dies.
    pub xcds: u32,
}

/// Every product, in the order of their release.
pub const PRODUCTS: [Product; 4] = [
    Product {
        name: "mi300x",
        marketing: "AMD Instinct MI300X (simulated)",
        arch: Arch::Gfx942,
        compute_units: 304,
        clock_khz: 2_100_000,
        memory_clock_khz: 1_300_000,
        memory_bus_bits: 8192,
        memory_bytes: 192 << 30,
        xcds: 8,
    },
    Product {
        name: "mi325x",
        marketing: "AMD Instinct MI325X (simulated)",
        arch: Arch::Gfx942,
        compute_units: 304,
        clock_khz: 2_100_000,
        memory_clock_khz: 1_500_000,
        memory_bus_bits: 8192,
        memory_bytes: 256 << 30,
        xcds: 8,
    },
    Product {
        name: "mi350x",
        marketing: "AMD Instinct MI350X (simulated)",
        arch: Arch::Gfx950,
        compute_units: 256,
        clock_khz: 2_200_000,
        memory_clock_khz: 2_000_000,
        memory_bus_bits: 8192,
        memory_bytes: 288 << 30,
        xcds: 8,
    },
    Product {
        name: "mi355x",
        marketing: "AMD Instinct MI355X (simulated)",
        arch: Arch::Gfx950,
        compute_units: 256,
        clock_khz: 2_400_000,
        memory_clock_khz: 2_000_000,
        memory_bus_bits: 8192,
        memory_bytes: 288 << 30,
        xcds: 8,
    },
];

impl Product {
    /// Product of that name, in any case.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PRODUCTS.iter().find(|product| product.name.eq_ignore_ascii_case(name))
    }
}
