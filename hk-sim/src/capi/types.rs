//! Types of the HIP C API, laid out as the public headers lay them out.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub use crate::runtime::HipError;

/// `hipDevice_t`.
pub type HipDevice = c_int;
/// `hipDeviceptr_t`.
pub type HipDeviceptr = *mut c_void;
/// `hipStream_t`.
pub type HipStream = *mut c_void;
/// `hipEvent_t`.
pub type HipEvent = *mut c_void;
/// `hipModule_t`.
pub type HipModule = *mut c_void;
/// `hipFunction_t`.
pub type HipFunction = *mut c_void;
/// `hipCtx_t`.
pub type HipCtx = *mut c_void;
/// `hipGraph_t`.
pub type HipGraph = *mut c_void;
/// `hipGraphExec_t`.
pub type HipGraphExec = *mut c_void;
/// `hipUserObject_t`.
pub type HipUserObject = *mut c_void;
/// `hipGraphNode_t`.
pub type HipGraphNode = *mut c_void;
/// `hipMemPool_t`.
pub type HipMemPool = *mut c_void;
/// `hipHostFn_t`.
pub type HipHostFn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;
/// `hipStreamCallback_t`.
pub type HipStreamCallback =
    Option<unsafe extern "C" fn(stream: HipStream, status: HipError, user_data: *mut c_void)>;

/// `dim3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Dim3 {
    /// First dimension.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Third dimension.
    pub z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(dim: Dim3) -> Self {
        [dim.x, dim.y, dim.z]
    }
}

/// `hipUUID`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HipUuid {
    /// The bytes.
    pub bytes: [u8; 16],
}

/// `hipMemoryType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HipMemoryType {
    /// Memory that the runtime does not know.
    Unregistered = 0,
    /// Pinned host memory.
    Host = 1,
    /// Memory of a device.
    Device = 2,
    /// Managed memory.
    Managed = 3,
}

/// `hipPointerAttribute_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HipPointerAttribute {
    /// Kind of memory.
    pub kind: HipMemoryType,
    /// Device that owns it.
    pub device: c_int,
    /// Address for kernels.
    pub device_pointer: *mut c_void,
    /// Address for the host.
    pub host_pointer: *mut c_void,
    /// Whether it is managed memory.
    pub is_managed: c_int,
    /// Flags of the allocation.
    pub allocation_flags: c_uint,
}

/// `hipMemLocation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HipMemLocation {
    /// `hipMemLocationType`: 1 for a device.
    pub kind: c_int,
    /// Ordinal of the device.
    pub id: c_int,
}

/// `hipMemAccessDesc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HipMemAccessDesc {
    /// Who accesses.
    pub location: HipMemLocation,
    /// `hipMemAccessFlags`: 0 none, 3 read and write.
    pub flags: c_int,
}

/// `hipMemPoolProps`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HipMemPoolProps {
    /// `hipMemAllocationType`: 1, pinned.
    pub alloc_type: c_int,
    /// `hipMemAllocationHandleType`s that the memory can be exported as.
    pub handle_types: c_int,
    /// Where the memory is.
    pub location: HipMemLocation,
    /// For Windows.
    pub security_attributes: *mut c_void,
    /// Most bytes of the pool, 0 for no limit.
    pub max_size: usize,
    /// Zero.
    pub reserved: [u8; 56],
}

/// `hipFuncAttributes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipFuncAttributes {
    pub binary_version: c_int,
    pub cache_mode_ca: c_int,
    pub const_size_bytes: usize,
    pub local_size_bytes: usize,
    pub max_dynamic_shared_size_bytes: c_int,
    pub max_threads_per_block: c_int,
    pub num_regs: c_int,
    pub preferred_shmem_carveout: c_int,
    pub ptx_version: c_int,
    pub shared_size_bytes: usize,
}

/// `hipChannelFormatDesc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HipChannelFormatDesc {
    /// Bits of the first component.
    pub x: c_int,
    /// Bits of the second component.
    pub y: c_int,
    /// Bits of the third component.
    pub z: c_int,
    /// Bits of the fourth component.
    pub w: c_int,
    /// `hipChannelFormatKind`.
    pub kind: c_int,
}

/// `hip_Memcpy2D`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipMemcpy2D {
    pub src_x_in_bytes: usize,
    pub src_y: usize,
    pub src_memory_type: c_int,
    pub src_host: *const c_void,
    pub src_device: HipDeviceptr,
    pub src_array: *mut c_void,
    pub src_pitch: usize,
    pub dst_x_in_bytes: usize,
    pub dst_y: usize,
    pub dst_memory_type: c_int,
    pub dst_host: *mut c_void,
    pub dst_device: HipDeviceptr,
    pub dst_array: *mut c_void,
    pub dst_pitch: usize,
    pub width_in_bytes: usize,
    pub height: usize,
}

/// `hipPitchedPtr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HipPitchedPtr {
    /// First byte.
    pub pointer: *mut c_void,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Length of a row.
    pub x: usize,
    /// Rows of a slice.
    pub y: usize,
}

/// `hipExtent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HipExtent {
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a slice.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

/// `hipPos`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HipPos {
    /// Byte of a row.
    pub x: usize,
    /// Row of a slice.
    pub y: usize,
    /// Slice.
    pub z: usize,
}

/// `hipMemcpy3DParms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipMemcpy3DParms {
    pub src_array: *mut c_void,
    pub src_pos: HipPos,
    pub src_ptr: HipPitchedPtr,
    pub dst_array: *mut c_void,
    pub dst_pos: HipPos,
    pub dst_ptr: HipPitchedPtr,
    pub extent: HipExtent,
    pub kind: c_int,
}

/// `hipMemcpy3DPeerParms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipMemcpy3DPeerParms {
    pub src_array: *mut c_void,
    pub src_pos: HipPos,
    pub src_ptr: HipPitchedPtr,
    pub src_device: c_int,
    pub dst_array: *mut c_void,
    pub dst_pos: HipPos,
    pub dst_ptr: HipPitchedPtr,
    pub dst_device: c_int,
    pub extent: HipExtent,
}

/// `HIP_MEMCPY3D`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipDrvMemcpy3D {
    pub src_x_in_bytes: usize,
    pub src_y: usize,
    pub src_z: usize,
    pub src_lod: usize,
    pub src_memory_type: c_int,
    pub src_host: *const c_void,
    pub src_device: HipDeviceptr,
    pub src_array: *mut c_void,
    pub src_pitch: usize,
    pub src_height: usize,
    pub dst_x_in_bytes: usize,
    pub dst_y: usize,
    pub dst_z: usize,
    pub dst_lod: usize,
    pub dst_memory_type: c_int,
    pub dst_host: *mut c_void,
    pub dst_device: HipDeviceptr,
    pub dst_array: *mut c_void,
    pub dst_pitch: usize,
    pub dst_height: usize,
    pub width_in_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// `hipKernelNodeParams`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipKernelNodeParams {
    pub block_dim: Dim3,
    pub extra: *mut *mut c_void,
    pub func: *mut c_void,
    pub grid_dim: Dim3,
    pub kernel_params: *mut *mut c_void,
    pub shared_mem_bytes: c_uint,
}

/// `hipMemsetParams`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipMemsetParams {
    pub dst: *mut c_void,
    pub element_size: c_uint,
    pub height: usize,
    pub pitch: usize,
    pub value: c_uint,
    /// In elements.
    pub width: usize,
}

/// `hipHostNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipHostNodeParams {
    pub function: HipHostFn,
    pub user_data: *mut c_void,
}

/// `hipMemAllocNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipMemAllocNodeParams {
    pub pool_props: HipMemPoolProps,
    pub access_descs: *const HipMemAccessDesc,
    pub access_desc_count: usize,
    pub bytesize: usize,
    pub dptr: *mut c_void,
}

/// `hipGraphNodeParams`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HipGraphNodeParams {
    /// `hipGraphNodeType`.
    pub kind: c_int,
    /// Zero.
    pub reserved: [c_int; 3],
    /// The parameters of a node of that type.
    pub params: [u64; 29],
    /// Zero.
    pub reserved_end: u64,
}

/// `hipGraphInstantiateParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipGraphInstantiateParams {
    pub error_node: HipGraphNode,
    pub flags: u64,
    pub result: c_int,
    pub upload_stream: HipStream,
}

/// `hipStreamBatchMemOpParams`, as the operations on values use it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HipStreamBatchMemOp {
    /// `hipStreamBatchMemOpType`.
    pub operation: c_int,
    /// The word.
    pub address: HipDeviceptr,
    /// The value; its low half for a word of 32 bits.
    pub value: u64,
    /// How a word is compared.
    pub flags: c_uint,
    /// Ignored.
    pub alias: HipDeviceptr,
    /// Fills the union.
    pub padding: u64,
}

/// `hipBatchMemOpNodeParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipBatchMemOpNodeParams {
    pub context: HipCtx,
    pub count: c_uint,
    pub operations: *mut HipStreamBatchMemOp,
    pub flags: c_uint,
}

/// `hipLaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct HipLaunchAttribute {
    /// `hipLaunchAttributeID`.
    pub id: c_int,
    /// Fills the gap before the value.
    pub padding: [u8; 4],
    /// `hipLaunchAttributeValue`, whose first words mean what the id says.
    pub value: [u32; 16],
}

/// `HIP_LAUNCH_CONFIG` of `hipDrvLaunchKernelEx`.
#[derive(Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipDrvLaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared_mem_bytes: c_uint,
    pub stream: HipStream,
    pub attributes: *const HipLaunchAttribute,
    pub attribute_count: c_uint,
}

/// `hipLaunchConfig_t` of `hipLaunchKernelExC`.
#[derive(Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipLaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub dynamic_smem_bytes: usize,
    pub stream: HipStream,
    pub attributes: *const HipLaunchAttribute,
    pub attribute_count: c_uint,
}

/// The structure that hipcc passes to `__hipRegisterFatBinary`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FatBinaryWrapper {
    /// `HIPF`.
    pub magic: u32,
    /// 1.
    pub version: u32,
    /// The offload bundle.
    pub binary: *const c_void,
    /// Unused.
    pub unused: *const c_void,
}

impl FatBinaryWrapper {
    /// Value of [`FatBinaryWrapper::magic`].
    pub const MAGIC: u32 = 0x4849_5046;
}

/// Feature bits of `hipDeviceArch_t`, from bit 0.
pub(crate) const ARCH_FEATURES: u32 = {
    let atomics = 0b111_1111;
    let doubles_vote_ballot_shuffle = 0b1111 << 7;
    let thread_fence_system = 1 << 12;
    let grid_3d = 1 << 15;
    atomics | doubles_vote_ballot_shuffle | thread_fence_system | grid_3d
};

/// `hipDeviceProp_t` of HIP 6.0 and later.
#[derive(Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipDevicePropR0600 {
    pub name: [c_char; 256],
    pub uuid: HipUuid,
    pub luid: [c_char; 8],
    pub luid_device_node_mask: c_uint,
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub regs_per_block: c_int,
    pub warp_size: c_int,
    pub mem_pitch: usize,
    pub max_threads_per_block: c_int,
    pub max_threads_dim: [c_int; 3],
    pub max_grid_size: [c_int; 3],
    pub clock_rate: c_int,
    pub total_const_mem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
    pub device_overlap: c_int,
    pub multi_processor_count: c_int,
    pub kernel_exec_timeout_enabled: c_int,
    pub integrated: c_int,
    pub can_map_host_memory: c_int,
    pub compute_mode: c_int,
    pub max_texture_1d: c_int,
    pub max_texture_1d_mipmap: c_int,
    pub max_texture_1d_linear: c_int,
    pub max_texture_2d: [c_int; 2],
    pub max_texture_2d_mipmap: [c_int; 2],
    pub max_texture_2d_linear: [c_int; 3],
    pub max_texture_2d_gather: [c_int; 2],
    pub max_texture_3d: [c_int; 3],
    pub max_texture_3d_alt: [c_int; 3],
    pub max_texture_cubemap: c_int,
    pub max_texture_1d_layered: [c_int; 2],
    pub max_texture_2d_layered: [c_int; 3],
    pub max_texture_cubemap_layered: [c_int; 2],
    pub max_surface_1d: c_int,
    pub max_surface_2d: [c_int; 2],
    pub max_surface_3d: [c_int; 3],
    pub max_surface_1d_layered: [c_int; 2],
    pub max_surface_2d_layered: [c_int; 3],
    pub max_surface_cubemap: c_int,
    pub max_surface_cubemap_layered: [c_int; 2],
    pub surface_alignment: usize,
    pub concurrent_kernels: c_int,
    pub ecc_enabled: c_int,
    pub pci_bus_id: c_int,
    pub pci_device_id: c_int,
    pub pci_domain_id: c_int,
    pub tcc_driver: c_int,
    pub async_engine_count: c_int,
    pub unified_addressing: c_int,
    pub memory_clock_rate: c_int,
    pub memory_bus_width: c_int,
    pub l2_cache_size: c_int,
    pub persisting_l2_cache_max_size: c_int,
    pub max_threads_per_multi_processor: c_int,
    pub stream_priorities_supported: c_int,
    pub global_l1_cache_supported: c_int,
    pub local_l1_cache_supported: c_int,
    pub shared_mem_per_multiprocessor: usize,
    pub regs_per_multiprocessor: c_int,
    pub managed_memory: c_int,
    pub is_multi_gpu_board: c_int,
    pub multi_gpu_board_group_id: c_int,
    pub host_native_atomic_supported: c_int,
    pub single_to_double_precision_perf_ratio: c_int,
    pub pageable_memory_access: c_int,
    pub concurrent_managed_access: c_int,
    pub compute_preemption_supported: c_int,
    pub can_use_host_pointer_for_registered_mem: c_int,
    pub cooperative_launch: c_int,
    pub cooperative_multi_device_launch: c_int,
    pub shared_mem_per_block_optin: usize,
    pub pageable_memory_access_uses_host_page_tables: c_int,
    pub direct_managed_mem_access_from_host: c_int,
    pub max_blocks_per_multi_processor: c_int,
    pub access_policy_max_window_size: c_int,
    pub reserved_shared_mem_per_block: usize,
    pub host_register_supported: c_int,
    pub sparse_hip_array_supported: c_int,
    pub host_register_read_only_supported: c_int,
    pub timeline_semaphore_interop_supported: c_int,
    pub memory_pools_supported: c_int,
    pub gpu_direct_rdma_supported: c_int,
    pub gpu_direct_rdma_flush_writes_options: c_uint,
    pub gpu_direct_rdma_writes_ordering: c_int,
    pub memory_pool_supported_handle_types: c_uint,
    pub deferred_mapping_hip_array_supported: c_int,
    pub ipc_event_supported: c_int,
    pub cluster_launch: c_int,
    pub unified_function_pointers: c_int,
    pub reserved: [c_int; 63],
    pub hip_reserved: [c_int; 32],
    pub gcn_arch_name: [c_char; 256],
    pub max_shared_memory_per_multi_processor: usize,
    pub clock_instruction_rate: c_int,
    pub arch: u32,
    pub hdp_mem_flush_cntl: *mut c_uint,
    pub hdp_reg_flush_cntl: *mut c_uint,
    pub cooperative_multi_device_unmatched_func: c_int,
    pub cooperative_multi_device_unmatched_grid_dim: c_int,
    pub cooperative_multi_device_unmatched_block_dim: c_int,
    pub cooperative_multi_device_unmatched_shared_mem: c_int,
    pub is_large_bar: c_int,
    pub asic_revision: c_int,
}

/// `hipDeviceProp_t` before HIP 6.0.
#[derive(Clone, Copy)]
#[repr(C)]
#[expect(missing_docs, reason = "the fields are those of the header")]
pub struct HipDevicePropR0000 {
    pub name: [c_char; 256],
    pub total_global_mem: usize,
    pub shared_mem_per_block: usize,
    pub regs_per_block: c_int,
    pub warp_size: c_int,
    pub max_threads_per_block: c_int,
    pub max_threads_dim: [c_int; 3],
    pub max_grid_size: [c_int; 3],
    pub clock_rate: c_int,
    pub memory_clock_rate: c_int,
    pub memory_bus_width: c_int,
    pub total_const_mem: usize,
    pub major: c_int,
    pub minor: c_int,
    pub multi_processor_count: c_int,
    pub l2_cache_size: c_int,
    pub max_threads_per_multi_processor: c_int,
    pub compute_mode: c_int,
    pub clock_instruction_rate: c_int,
    pub arch: u32,
    pub concurrent_kernels: c_int,
    pub pci_domain_id: c_int,
    pub pci_bus_id: c_int,
    pub pci_device_id: c_int,
    pub max_shared_memory_per_multi_processor: usize,
    pub is_multi_gpu_board: c_int,
    pub can_map_host_memory: c_int,
    pub gcn_arch: c_int,
    pub gcn_arch_name: [c_char; 256],
    pub integrated: c_int,
    pub cooperative_launch: c_int,
    pub cooperative_multi_device_launch: c_int,
    pub max_texture_1d_linear: c_int,
    pub max_texture_1d: c_int,
    pub max_texture_2d: [c_int; 2],
    pub max_texture_3d: [c_int; 3],
    pub hdp_mem_flush_cntl: *mut c_uint,
    pub hdp_reg_flush_cntl: *mut c_uint,
    pub mem_pitch: usize,
    pub texture_alignment: usize,
    pub texture_pitch_alignment: usize,
    pub kernel_exec_timeout_enabled: c_int,
    pub ecc_enabled: c_int,
    pub tcc_driver: c_int,
    pub cooperative_multi_device_unmatched_func: c_int,
    pub cooperative_multi_device_unmatched_grid_dim: c_int,
    pub cooperative_multi_device_unmatched_block_dim: c_int,
    pub cooperative_multi_device_unmatched_shared_mem: c_int,
    pub is_large_bar: c_int,
    pub asic_revision: c_int,
    pub managed_memory: c_int,
    pub direct_managed_mem_access_from_host: c_int,
    pub concurrent_managed_access: c_int,
    pub pageable_memory_access: c_int,
    pub pageable_memory_access_uses_host_page_tables: c_int,
}

// The offsets that callers were compiled with.
const _: () = {
    use std::mem::{offset_of, size_of};
    type New = HipDevicePropR0600;
    assert!(size_of::<New>() == 1472);
    assert!(offset_of!(New, total_global_mem) == 288);
    assert!(offset_of!(New, shared_mem_per_block) == 296);
    assert!(offset_of!(New, warp_size) == 308);
    assert!(offset_of!(New, max_threads_per_block) == 320);
    assert!(offset_of!(New, clock_rate) == 348);
    assert!(offset_of!(New, major) == 360);
    assert!(offset_of!(New, multi_processor_count) == 388);
    assert!(offset_of!(New, l2_cache_size) == 616);
    assert!(offset_of!(New, max_threads_per_multi_processor) == 624);
    assert!(offset_of!(New, gcn_arch_name) == 1160);
    assert!(offset_of!(New, max_shared_memory_per_multi_processor) == 1416);
    type Old = HipDevicePropR0000;
    assert!(size_of::<Old>() == 792);
    assert!(offset_of!(Old, total_global_mem) == 256);
    assert!(offset_of!(Old, shared_mem_per_block) == 264);
    assert!(offset_of!(Old, warp_size) == 276);
    assert!(offset_of!(Old, max_threads_per_block) == 280);
    assert!(offset_of!(Old, clock_rate) == 308);
    assert!(offset_of!(Old, multi_processor_count) == 336);
    assert!(offset_of!(Old, l2_cache_size) == 340);
    assert!(offset_of!(Old, gcn_arch_name) == 396);
    assert!(size_of::<HipPointerAttribute>() == 32);
    assert!(size_of::<HipFuncAttributes>() == 56);
    assert!(size_of::<HipMemPoolProps>() == 88);
    assert!(size_of::<HipMemcpy2D>() == 128);
    assert!(size_of::<HipMemcpy3DParms>() == 160);
    assert!(offset_of!(HipMemcpy3DParms, dst_ptr) == 96);
    assert!(offset_of!(HipMemcpy3DParms, kind) == 152);
    assert!(size_of::<HipMemcpy3DPeerParms>() == 168);
    assert!(offset_of!(HipMemcpy3DPeerParms, dst_device) == 136);
    assert!(size_of::<HipDrvMemcpy3D>() == 184);
    assert!(offset_of!(HipDrvMemcpy3D, dst_x_in_bytes) == 80);
    assert!(offset_of!(HipDrvMemcpy3D, depth) == 176);
    assert!(size_of::<HipKernelNodeParams>() == 64);
    assert!(offset_of!(HipKernelNodeParams, func) == 24);
    assert!(offset_of!(HipKernelNodeParams, kernel_params) == 48);
    assert!(offset_of!(HipKernelNodeParams, shared_mem_bytes) == 56);
    assert!(size_of::<HipMemsetParams>() == 48);
    assert!(offset_of!(HipMemsetParams, width) == 40);
    assert!(size_of::<HipHostNodeParams>() == 16);
    assert!(size_of::<HipMemAllocNodeParams>() == 120);
    assert!(offset_of!(HipMemAllocNodeParams, dptr) == 112);
    assert!(size_of::<HipMemAccessDesc>() == size_of::<[c_int; 3]>());
    assert!(size_of::<HipGraphNodeParams>() == 256);
    assert!(offset_of!(HipGraphNodeParams, params) == 16);
    assert!(size_of::<HipGraphInstantiateParams>() == 32);
    assert!(offset_of!(HipGraphInstantiateParams, upload_stream) == 24);
    assert!(size_of::<HipStreamBatchMemOp>() == 48);
    assert!(offset_of!(HipStreamBatchMemOp, flags) == 24);
    assert!(size_of::<HipBatchMemOpNodeParams>() == 32);
    assert!(size_of::<HipChannelFormatDesc>() == 20);
    assert!(size_of::<HipPitchedPtr>() == 32);
    assert!(size_of::<HipLaunchAttribute>() == 72);
    assert!(size_of::<HipDrvLaunchConfig>() == 56);
    assert!(size_of::<HipLaunchConfig>() == 56);
};
