//! Device properties and attributes.
//!
//! One [`Properties`] of plain numbers feeds both structures of the C API and every attribute.
//! Attribute numbers: `hipDeviceAttribute_t`; values as a discrete Instinct card reports them.

use std::ffi::{c_char, c_int};

use super::types::{ARCH_FEATURES, HipDevicePropR0000, HipDevicePropR0600, HipError, HipUuid};
use crate::isa::Arch;
use crate::object::TargetId;
use crate::product::Product;
use crate::runtime::HipResult;

const MAX_GRID: [c_int; 3] = [c_int::MAX, 65_536, 65_536];
/// Second-level cache of one accelerator complex die.
const L2_BYTES: c_int = 4 << 20;
/// Rate of the constant clock behind `s_memrealtime`, in kHz.
const WALL_CLOCK_KHZ: c_int = 100_000;
const TEXTURE_ALIGNMENT: usize = 256;
/// Image sizes that the runtime reports although these chips have no image instructions.
const IMAGE_1D: c_int = 16_384;
const IMAGE_3D: c_int = 16_384;

/// What a device tells of itself.
pub(crate) struct Properties {
    pub(crate) product: &'static Product,
    ordinal: usize,
}

/// Text as a zero-terminated array, cut if need be.
fn c_text<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, from) in array[..N - 1].iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    array
}

impl Properties {
    pub(crate) fn new(product: &'static Product, ordinal: usize) -> Self {
        Self { product, ordinal }
    }

    /// Compute capability: `gfx942` is 9.4, `gfx950` is 9.5.
    pub(crate) fn capability(&self) -> (c_int, c_int) {
        match self.product.arch {
            Arch::Gfx942 => (9, 4),
            Arch::Gfx950 => (9, 5),
        }
    }

    /// Sixteen characters that no other device of the process has.
    pub(crate) fn uuid(&self) -> HipUuid {
        let text = format!("sim{:>8}{:05x}", self.product.name, self.ordinal & 0xf_ffff);
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(text.bytes()) {
            *to = from;
        }
        HipUuid { bytes }
    }

    /// PCI bus number; the domain, device and function are 0.
    pub(crate) fn pci_bus(&self) -> c_int {
        (self.ordinal & 0xff) as c_int + 1
    }

    /// `domain:bus:device.function`.
    pub(crate) fn pci_text(&self) -> String {
        format!("0000:{:02x}:00.0", self.pci_bus())
    }

    /// The structure of HIP 6.0 and later.
    pub(crate) fn r0600(&self) -> HipDevicePropR0600 {
        // SAFETY: the structure has integers, arrays of integers and raw pointers only.
        let mut prop: HipDevicePropR0600 = unsafe { std::mem::zeroed() };
        let product = self.product;
        let arch = product.arch;
        let lds = arch.lds_bytes() as usize;
        let waves_per_cu = arch.waves_per_simd() * arch.simds();
        let registers_per_cu = (arch.vgprs_per_simd() * arch.simds() * arch.wave_size()) as c_int;
        let max_workgroup = arch.max_workgroup() as c_int;
        let (major, minor) = self.capability();
        prop.name = c_text(product.marketing);
        prop.uuid = self.uuid();
        prop.total_global_mem = product.memory_bytes as usize;
        prop.shared_mem_per_block = lds;
        prop.regs_per_block = registers_per_cu;
        prop.warp_size = arch.wave_size() as c_int;
        prop.mem_pitch = c_int::MAX as usize;
        prop.max_threads_per_block = max_workgroup;
        prop.max_threads_dim = [max_workgroup; 3];
        prop.max_grid_size = MAX_GRID;
        prop.clock_rate = product.clock_khz as c_int;
        prop.total_const_mem = c_int::MAX as usize;
        (prop.major, prop.minor) = (major, minor);
        prop.texture_alignment = TEXTURE_ALIGNMENT;
        prop.texture_pitch_alignment = TEXTURE_ALIGNMENT;
        prop.device_overlap = 1;
        prop.multi_processor_count = product.compute_units as c_int;
        prop.can_map_host_memory = 1;
        prop.max_texture_1d = IMAGE_1D;
        prop.max_texture_1d_linear = c_int::MAX;
        prop.max_texture_2d = [IMAGE_1D; 2];
        prop.max_texture_3d = [IMAGE_3D, IMAGE_3D, IMAGE_3D / 2];
        prop.surface_alignment = TEXTURE_ALIGNMENT;
        prop.concurrent_kernels = 1;
        prop.ecc_enabled = 1;
        prop.pci_bus_id = self.pci_bus();
        prop.async_engine_count = 8;
        prop.memory_pools_supported = 1;
        prop.unified_addressing = 1;
        prop.memory_clock_rate = product.memory_clock_khz as c_int;
        prop.memory_bus_width = product.memory_bus_bits as c_int;
        prop.l2_cache_size = L2_BYTES;
        prop.persisting_l2_cache_max_size = L2_BYTES;
        prop.max_threads_per_multi_processor = (waves_per_cu * arch.wave_size()) as c_int;
        prop.stream_priorities_supported = 1;
        prop.global_l1_cache_supported = 1;
        prop.local_l1_cache_supported = 1;
        prop.shared_mem_per_multiprocessor = lds;
        prop.regs_per_multiprocessor = registers_per_cu;
        prop.managed_memory = 1;
        prop.host_native_atomic_supported = 1;
        prop.concurrent_managed_access = 1;
        prop.can_use_host_pointer_for_registered_mem = 1;
        prop.cooperative_launch = 1;
        prop.shared_mem_per_block_optin = lds;
        prop.direct_managed_mem_access_from_host = 1;
        prop.max_blocks_per_multi_processor = waves_per_cu as c_int;
        prop.host_register_supported = 1;
        prop.gcn_arch_name = c_text(&TargetId::of_device(arch).to_string());
        prop.max_shared_memory_per_multi_processor = lds;
        prop.clock_instruction_rate = WALL_CLOCK_KHZ;
        prop.arch = ARCH_FEATURES;
        prop.is_large_bar = 1;
        prop
    }

    /// The structure before HIP 6.0.
    pub(crate) fn r0000(&self) -> HipDevicePropR0000 {
        let new = self.r0600();
        // SAFETY: the structure has integers, arrays of integers and raw pointers only.
        let mut prop: HipDevicePropR0000 = unsafe { std::mem::zeroed() };
        macro_rules! same {
            ($($field:ident)*) => { $(prop.$field = new.$field;)* };
        }
        same! {
            name total_global_mem shared_mem_per_block regs_per_block warp_size
            max_threads_per_block max_threads_dim max_grid_size clock_rate memory_clock_rate
            memory_bus_width total_const_mem major minor multi_processor_count l2_cache_size
            max_threads_per_multi_processor compute_mode clock_instruction_rate arch
            concurrent_kernels pci_domain_id pci_bus_id pci_device_id
            max_shared_memory_per_multi_processor is_multi_gpu_board can_map_host_memory
            gcn_arch_name integrated cooperative_launch cooperative_multi_device_launch
            max_texture_1d_linear max_texture_1d max_texture_2d max_texture_3d mem_pitch
            texture_alignment texture_pitch_alignment kernel_exec_timeout_enabled ecc_enabled
            tcc_driver is_large_bar asic_revision managed_memory
            direct_managed_mem_access_from_host concurrent_managed_access pageable_memory_access
            pageable_memory_access_uses_host_page_tables
        }
        prop.gcn_arch = match self.product.arch {
            Arch::Gfx942 => 942,
            Arch::Gfx950 => 950,
        };
        prop
    }

    /// PCI id of the chip.
    fn chip_id(&self) -> c_int {
        match self.product.name {
            "mi300x" => 0x74a1,
            "mi325x" => 0x74a5,
            "mi350x" => 0x75a0,
            _ => 0x75a3,
        }
    }
}

fn saturated(value: usize) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Value of a `hipDeviceAttribute_t`.
pub(crate) fn attribute(properties: &Properties, number: c_int) -> HipResult<c_int> {
    let prop = properties.r0600();
    let value = match number {
        0 => prop.ecc_enabled,
        1 => prop.access_policy_max_window_size,
        2 => prop.async_engine_count,
        3 => prop.can_map_host_memory,
        4 => prop.can_use_host_pointer_for_registered_mem,
        5 => prop.clock_rate,
        6 => prop.compute_mode,
        7 => prop.compute_preemption_supported,
        8 => prop.concurrent_kernels,
        9 => prop.concurrent_managed_access,
        10 => prop.cooperative_launch,
        11 => prop.cooperative_multi_device_launch,
        12 => prop.device_overlap,
        13 => prop.direct_managed_mem_access_from_host,
        14 => prop.global_l1_cache_supported,
        15 => prop.host_native_atomic_supported,
        16 => prop.integrated,
        17 => prop.is_multi_gpu_board,
        18 => prop.kernel_exec_timeout_enabled,
        19 => prop.l2_cache_size,
        20 => prop.local_l1_cache_supported,
        22 => 0, // LUID node mask: Windows only.
        23 => prop.major,
        24 => prop.managed_memory,
        25 => prop.max_blocks_per_multi_processor,
        26..=28 => prop.max_threads_dim[(number - 26) as usize],
        29..=31 => prop.max_grid_size[(number - 29) as usize],
        32 => prop.max_surface_1d,
        39 => prop.max_texture_1d,
        41 => prop.max_texture_1d_linear,
        42 => prop.max_texture_1d_mipmap,
        43 | 44 => prop.max_texture_2d[(number - 43) as usize],
        49..=51 => prop.max_texture_3d[(number - 49) as usize],
        53 => prop.max_texture_cubemap,
        55 => prop.max_threads_dim[0],
        56 => prop.max_threads_per_block,
        57 => prop.max_threads_per_multi_processor,
        58 => saturated(prop.mem_pitch),
        59 => prop.memory_bus_width,
        60 => prop.memory_clock_rate,
        61 => prop.minor,
        62 => prop.multi_gpu_board_group_id,
        63 => prop.multi_processor_count,
        65 => prop.pageable_memory_access,
        66 => prop.pageable_memory_access_uses_host_page_tables,
        67 => prop.pci_bus_id,
        68 => prop.pci_device_id,
        69 => prop.pci_domain_id,
        70 => prop.persisting_l2_cache_max_size,
        71 => prop.regs_per_block,
        72 => prop.regs_per_multiprocessor,
        73 => saturated(prop.reserved_shared_mem_per_block),
        74 => saturated(prop.shared_mem_per_block),
        75 => saturated(prop.shared_mem_per_block_optin),
        76 => saturated(prop.shared_mem_per_multiprocessor),
        78 => prop.stream_priorities_supported,
        79 => saturated(prop.surface_alignment),
        81 => saturated(prop.texture_alignment),
        82 => saturated(prop.texture_pitch_alignment),
        83 => saturated(prop.total_const_mem),
        84 => saturated(prop.total_global_mem),
        85 => prop.unified_addressing,
        87 => prop.warp_size,
        88 => prop.memory_pools_supported,
        89 => 0, // Virtual memory management.
        90 => prop.host_register_supported,
        91 => 0,      // Memory pool handle types.
        92 => -1,     // NUMA node.
        93..=96 => 0, // DMA-Buf, GPUDirect with VMM, fabric handles.
        97 => prop.gpu_direct_rdma_supported,
        98 => 0,
        99 => prop.gpu_direct_rdma_writes_ordering,
        10_000 => prop.clock_instruction_rate,
        10_002 => saturated(prop.max_shared_memory_per_multi_processor),
        10_007..=10_010 => 0, // Cooperative multi-device launches with differing shapes.
        10_011 => prop.is_large_bar,
        10_012 => prop.asic_revision,
        10_013 => 0, // Stream wait value.
        10_014 => 0, // Images.
        10_015 => prop.multi_processor_count,
        10_016 => 1, // Fine-grained memory.
        10_017 => WALL_CLOCK_KHZ,
        10_018 => properties.product.xcds as c_int,
        10_019 => properties.product.arch.vgprs_per_simd() as c_int,
        10_020 => properties.chip_id(),
        10_021 | 10_022 => 0, // Expert scheduling, dynamic data prefetch.
        _ => return Err(HipError::INVALID_VALUE),
    };
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(array: &[c_char]) -> String {
        array.iter().take_while(|c| **c != 0).map(|c| *c as u8 as char).collect()
    }

    #[test]
    fn both_structures_agree() {
        for (ordinal, product) in crate::PRODUCTS.iter().enumerate() {
            let properties = Properties::new(product, ordinal);
            let (new, old) = (properties.r0600(), properties.r0000());
            assert_eq!(text(&new.name), product.marketing);
            assert_eq!(text(&old.name), product.marketing);
            let target = format!("{}:sramecc+:xnack-", product.arch);
            assert_eq!(text(&new.gcn_arch_name), target);
            assert_eq!(text(&old.gcn_arch_name), target);
            assert_eq!(old.total_global_mem as u64, product.memory_bytes);
            assert_eq!((old.warp_size, old.multi_processor_count), (64, new.multi_processor_count));
            assert_eq!(old.gcn_arch.to_string(), product.arch.name()[3..]);
        }
    }

    #[test]
    fn attributes_by_their_numbers() {
        let properties = Properties::new(&crate::PRODUCTS[3], 1);
        for (number, value) in [
            (23, 9),
            (61, 5),
            (56, 1024),
            (57, 2048),
            (63, 256),
            (74, 163_840),
            (76, 163_840),
            (84, c_int::MAX),
            (87, 64),
            (26, 1024),
            (29, c_int::MAX),
            (31, 65_536),
            (10_002, 163_840),
            (10_018, 8),
        ] {
            assert_eq!(attribute(&properties, number), Ok(value), "attribute {number}");
        }
        for unknown in [-1, 21, 100, 9_999, 10_001, 19_999, 20_000] {
            assert_eq!(attribute(&properties, unknown), Err(HipError::INVALID_VALUE));
        }
    }

    #[test]
    fn identities_differ() {
        let [first, second] = [0, 1].map(|ordinal| Properties::new(&crate::PRODUCTS[0], ordinal));
        assert_ne!(first.uuid(), second.uuid());
        assert_eq!(second.pci_text(), "0000:02:00.0");
    }
}
