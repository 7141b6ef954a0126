//! Modules, kernel attributes, occupancy, launches.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use super::event::record;
use super::fatbin::{function_of, registered_function};
use super::properties::Properties;
use super::types::{
    Dim3, HipDeviceptr, HipDrvLaunchConfig, HipError, HipEvent, HipFuncAttributes, HipFunction,
    HipLaunchAttribute, HipLaunchConfig, HipModule, HipStream,
};
use super::{api, check_flags, enqueue, name, passed_on, put, read};
use crate::object::Kernel;
use crate::object::bundle::{Extent, extent};
use crate::runtime::occupancy::{Occupancy, occupancy};
use crate::runtime::{
    Function, HipResult, Launch, Module, Shape, Work, current_device, pop_call, push_call, runtime,
    set_message,
};

/// Markers of the `extra` list of launches.
const PARAM_BUFFER_POINTER: usize = 1;
const PARAM_BUFFER_SIZE: usize = 2;
const PARAM_END: usize = 3;
/// Most pairs read from an `extra` list.
const PARAM_PAIRS: usize = 4;
/// Flags of the occupancy calls.
const OCCUPANCY_FLAGS: c_uint = 1;
/// Flags of `hipExtModuleLaunchKernel`.
const ANY_ORDER: c_uint = 1;

/// The bytes of an image that is passed without its length.
///
/// # Safety
///
/// `image` points to an ELF object or an offload bundle that is readable as far as its own tables
/// say, and lives for `'a`.
pub(super) unsafe fn image_bytes<'a>(image: *const c_void) -> HipResult<&'a [u8]> {
    if image.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    let mut len = 0;
    loop {
        // SAFETY: the header, and then the tables that it describes, are readable.
        let prefix = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), len) };
        match extent(prefix) {
            Ok(Extent::NeedPrefix(more)) if more > len => len = more,
            Ok(Extent::Total(total)) => {
                // SAFETY: the tables describe an image of that length.
                return Ok(unsafe { std::slice::from_raw_parts(image.cast(), total) });
            }
            Ok(Extent::NeedPrefix(_)) => return Err(HipError::INVALID_IMAGE),
            Err(error) => {
                set_message(error.to_string());
                return Err(HipError::INVALID_IMAGE);
            }
        }
    }
}

fn load(module: *mut HipModule, bytes: &[u8]) -> HipResult {
    if module.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    let device = current_device()?;
    let loaded = Module::load(device.ordinal, device.product, bytes)?;
    // SAFETY: it is not null; the API demands that it is valid then.
    unsafe { put(module, runtime().modules.insert(Arc::new(loaded))) }
}

fn module(handle: HipModule) -> HipResult<Arc<Module>> {
    runtime().modules.get(handle).ok_or(HipError::INVALID_HANDLE)
}

fn function(handle: HipFunction) -> HipResult<Arc<Function>> {
    runtime().functions.get(handle).ok_or(HipError::INVALID_HANDLE)
}

/// The caller's argument bytes, from either form.
///
/// # Safety
///
/// As the launch functions demand of `params` and `extra`.
pub(super) unsafe fn argument_bytes(
    kernel: &Kernel,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> HipResult<Vec<u8>> {
    if !params.is_null() && !extra.is_null() {
        return Err(HipError::INVALID_VALUE);
    }
    if !extra.is_null() {
        // SAFETY: the list is as the API demands.
        return unsafe { extra_bytes(extra) };
    }
    if params.is_null() {
        return if kernel.explicit_size() == 0 {
            Ok(Vec::new())
        } else {
            Err(HipError::INVALID_VALUE)
        };
    }
    if kernel.metadata.is_none() {
        set_message(format!("{}: no metadata, so arguments go through extra", kernel.name));
        return Err(HipError::INVALID_VALUE);
    }
    let mut bytes = vec![0; kernel.explicit_size() as usize];
    for (index, arg) in kernel.explicit_args().enumerate() {
        let (start, size) = (arg.offset as usize, arg.size as usize);
        // SAFETY: there is one pointer per explicit argument.
        let from = unsafe { params.add(index).read_unaligned() }.cast::<u8>();
        if from.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        // SAFETY: it points to the argument's bytes, and `explicit_size` covers the argument.
        unsafe { bytes[start..start + size].as_mut_ptr().copy_from_nonoverlapping(from, size) };
    }
    Ok(bytes)
}

/// # Safety
///
/// `extra` is a list of marker and value that ends with the end marker.
unsafe fn extra_bytes(extra: *mut *mut c_void) -> HipResult<Vec<u8>> {
    let mut buffer = std::ptr::null::<u8>();
    let mut size = 0;
    for pair in 0..PARAM_PAIRS {
        // SAFETY: the list goes on until the end marker.
        let marker = unsafe { extra.add(2 * pair).read_unaligned() } as usize;
        if marker == PARAM_END {
            if buffer.is_null() {
                return if size == 0 { Ok(Vec::new()) } else { Err(HipError::INVALID_VALUE) };
            }
            // SAFETY: the list gave this buffer and its size.
            return Ok(unsafe { std::slice::from_raw_parts(buffer, size) }.to_vec());
        }
        // SAFETY: each marker but the end has a value.
        let value = unsafe { extra.add(2 * pair + 1).read_unaligned() };
        match marker {
            PARAM_BUFFER_POINTER => buffer = value.cast(),
            PARAM_BUFFER_SIZE if !value.is_null() => {
                // SAFETY: the value points to the size.
                size = unsafe { value.cast::<usize>().read_unaligned() };
            }
            _ => return Err(HipError::INVALID_VALUE),
        }
    }
    Err(HipError::INVALID_VALUE)
}

/// Checks a launch and appends it to a stream.
///
/// # Safety
///
/// As the launch functions demand of `params` and `extra`.
unsafe fn launch(
    function: &Function,
    shape: Shape,
    stream: HipStream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    zero: HipError,
) -> HipResult {
    let stream = runtime().stream(stream)?;
    if stream.device != function.module.device {
        set_message("the module is loaded on another device than the stream's".to_owned());
        return Err(HipError::INVALID_HANDLE);
    }
    // SAFETY: the caller passes on what the launch functions demand.
    let bytes = unsafe { argument_bytes(function.kernel(), params, extra)? };
    let launch = Launch::new(function.clone(), shape, &bytes, zero)?;
    enqueue(&stream, Work::Kernel(Arc::new(launch))).map(drop)
}

fn occupancy_of(function: &Function, block: c_int, dynamic_lds: usize) -> HipResult<Occupancy> {
    let block = u32::try_from(block).ok().filter(|block| *block > 0);
    let block = block.ok_or(HipError::INVALID_VALUE)?;
    let descriptor = &function.kernel().descriptor;
    let dynamic = u32::try_from(dynamic_lds).unwrap_or(u32::MAX);
    let lds = descriptor.group_segment_fixed_size.saturating_add(dynamic);
    Ok(occupancy(function.module.program.arch(), descriptor.vgprs(), lds, block))
}

/// Workgroup size with the most waves per compute unit, and the workgroups that fill the device.
fn potential(function: &Function, dynamic_lds: usize, limit: c_int) -> HipResult<(c_int, c_int)> {
    let largest = function.kernel().max_flat_workgroup_size();
    let arch = function.module.program.arch();
    let limit = u32::try_from(limit).ok().filter(|limit| *limit > 0);
    let (limit, wave) = (limit.unwrap_or(arch.max_workgroup()), arch.wave_size());
    let sizes = (1..=largest.min(limit).max(wave) / wave).map(|waves| waves * wave);
    let mut best = (0, wave, 0);
    for block in sizes {
        let found = occupancy_of(function, block as c_int, dynamic_lds)?;
        if found.waves >= best.0 {
            best = (found.waves, block, found.workgroups);
        }
    }
    let units = current_device()?.product.compute_units;
    Ok(((units * best.2) as c_int, best.1 as c_int))
}

fn dynamic_room(function: &Function) -> u32 {
    let limit = function.module.program.arch().lds_bytes();
    limit.saturating_sub(function.kernel().descriptor.group_segment_fixed_size)
}

/// Attributes in the structure of `hipFuncGetAttributes`.
fn attributes(function: &Function) -> HipResult<HipFuncAttributes> {
    let kernel = function.kernel();
    let device = current_device()?;
    let (major, minor) = Properties::new(device.product, device.ordinal).capability();
    let version = major * 10 + minor;
    Ok(HipFuncAttributes {
        binary_version: version,
        cache_mode_ca: 0,
        const_size_bytes: 0,
        local_size_bytes: kernel.descriptor.private_segment_fixed_size as usize,
        max_dynamic_shared_size_bytes: dynamic_room(function) as c_int,
        max_threads_per_block: kernel.max_flat_workgroup_size() as c_int,
        num_regs: kernel
            .metadata
            .as_ref()
            .map_or(kernel.descriptor.vgprs(), |found| found.vgpr_count) as c_int,
        preferred_shmem_carveout: 0,
        ptx_version: version,
        shared_size_bytes: kernel.descriptor.group_segment_fixed_size as usize,
    })
}

/// Whether the attributes of an extended launch ask for a cooperative one.
///
/// # Safety
///
/// `attributes` is null or points to `count` attributes.
unsafe fn is_cooperative(attributes: *const HipLaunchAttribute, count: c_uint) -> HipResult<bool> {
    const COOPERATIVE: c_int = 2;
    const CLUSTER_DIMENSION: c_int = 4;
    let mut cooperative = false;
    for index in 0..if attributes.is_null() { 0 } else { count as usize } {
        // SAFETY: there are `count` of them.
        let attribute = unsafe { attributes.add(index).read_unaligned() };
        match attribute.id {
            COOPERATIVE => cooperative = attribute.value[0] != 0,
            CLUSTER_DIMENSION if attribute.value[..3] != [1; 3] => {
                return Err(HipError::NOT_SUPPORTED);
            }
            // The others are hints about caches, priorities and fences.
            _ => {}
        }
    }
    Ok(cooperative)
}

/// The shape of a launch whose workgroups must all run at once.
pub(super) fn cooperative(function: &Function, shape: Shape) -> HipResult<Shape> {
    let block = c_int::try_from(shape.block_size()).map_err(|_| HipError::INVALID_VALUE)?;
    let fits = occupancy_of(function, block, shape.dynamic_lds as usize)?.workgroups;
    let units = current_device()?.product.compute_units;
    let groups = shape.grid.iter().try_fold(1u64, |product, n| product.checked_mul((*n).into()));
    if groups.is_none_or(|groups| groups > u64::from(fits) * u64::from(units)) {
        return Err(HipError::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(shape.cooperative())
}

api! {
    /// Loads a module from a file.
    fn hipModuleLoad(handle: *mut HipModule, file: *const c_char) {
        let bytes = std::fs::read(name(file)?).map_err(|_| HipError::FILE_NOT_FOUND)?;
        load(handle, &bytes)
    }

    /// Loads a module from memory.
    fn hipModuleLoadData(handle: *mut HipModule, image: *const c_void) {
        load(handle, image_bytes(image)?)
    }

    /// Loads a module from memory; the options are for compilers, of which there is none.
    fn hipModuleLoadDataEx(
        handle: *mut HipModule,
        image: *const c_void,
        _count: c_uint,
        _options: *mut c_int,
        _values: *mut *mut c_void,
    ) {
        load(handle, image_bytes(image)?)
    }

    /// Loads a module from an offload bundle.
    fn hipModuleLoadFatBinary(handle: *mut HipModule, image: *const c_void) {
        load(handle, image_bytes(image)?)
    }

    /// Unloads a module; launches that are queued still run.
    fn hipModuleUnload(handle: HipModule) {
        runtime().refuse_during_capture()?;
        let unloaded = runtime().modules.remove(handle).ok_or(HipError::INVALID_HANDLE)?;
        runtime().functions.remove_where(|function| Arc::ptr_eq(&function.module, &unloaded));
        Ok(())
    }

    /// Kernel of a module.
    fn hipModuleGetFunction(handle: *mut HipFunction, of: HipModule, kernel: *const c_char) {
        if handle.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let kernel = name(kernel)?;
        let found = module(of)?.function(kernel).ok_or(HipError::NOT_FOUND)?;
        put(handle, runtime().functions.insert_unique(found))
    }

    /// Number of kernels of a module.
    fn hipModuleGetFunctionCount(count: *mut c_uint, of: HipModule) {
        put(count, module(of)?.object.kernels().len() as c_uint)
    }

    /// Global variable of a module.
    fn hipModuleGetGlobal(
        pointer: *mut HipDeviceptr,
        bytes: *mut usize,
        of: HipModule,
        variable: *const c_char,
    ) {
        if pointer.is_null() && bytes.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let variable = name(variable)?;
        let (address, size) = module(of)?.variable(variable).ok_or(HipError::NOT_FOUND)?;
        // Either may be null.
        let _ = put(pointer, std::ptr::with_exposed_provenance_mut(address as usize));
        let _ = put(bytes, size as usize);
        Ok(())
    }

    /// Launches a kernel; the grid counts workgroups.
    fn hipModuleLaunchKernel(
        kernel: HipFunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: HipStream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes);
        launch(&*function(kernel)?, shape, stream, params, extra, HipError::INVALID_VALUE)
    }

    /// Launches a kernel; the grid counts work-items. Events, if given, frame the launch.
    fn hipExtModuleLaunchKernel(
        kernel: HipFunction,
        global_x: c_uint,
        global_y: c_uint,
        global_z: c_uint,
        local_x: c_uint,
        local_y: c_uint,
        local_z: c_uint,
        shared_bytes: usize,
        stream: HipStream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
        start: HipEvent,
        stop: HipEvent,
        flags: c_uint,
    ) {
        check_flags(flags, ANY_ORDER)?;
        let dynamic = u32::try_from(shared_bytes).map_err(|_| HipError::INVALID_VALUE)?;
        let (global, local) = ([global_x, global_y, global_z], [local_x, local_y, local_z]);
        let shape = Shape::from_global(global, local, dynamic)?;
        if !start.is_null() {
            record(start, stream)?;
        }
        let zero = HipError::INVALID_VALUE;
        launch(&*function(kernel)?, shape, stream, params, extra, zero)?;
        if !stop.is_null() {
            record(stop, stream)?;
        }
        Ok(())
    }

    /// `hipExtModuleLaunchKernel` by its C++ name.
    fn _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
        kernel: HipFunction,
        global_x: c_uint,
        global_y: c_uint,
        global_z: c_uint,
        local_x: c_uint,
        local_y: c_uint,
        local_z: c_uint,
        shared_bytes: usize,
        stream: HipStream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
        start: HipEvent,
        stop: HipEvent,
        flags: c_uint,
    ) {
        passed_on(hipExtModuleLaunchKernel(
            kernel, global_x, global_y, global_z, local_x, local_y, local_z, shared_bytes, stream,
            params, extra, start, stop, flags,
        ))
    }

    /// The same without flags, by the C++ name of its older form.
    fn _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
        kernel: HipFunction,
        global_x: c_uint,
        global_y: c_uint,
        global_z: c_uint,
        local_x: c_uint,
        local_y: c_uint,
        local_z: c_uint,
        shared_bytes: usize,
        stream: HipStream,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
        start: HipEvent,
        stop: HipEvent,
    ) {
        passed_on(hipExtModuleLaunchKernel(
            kernel, global_x, global_y, global_z, local_x, local_y, local_z, shared_bytes, stream,
            params, extra, start, stop, 0,
        ))
    }

    /// Launches a kernel if all its workgroups can run at once.
    fn hipModuleLaunchCooperativeKernel(
        kernel: HipFunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: HipStream,
        params: *mut *mut c_void,
    ) {
        let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes);
        let kernel = function(kernel)?;
        let shape = cooperative(&kernel, shape)?;
        let none = std::ptr::null_mut();
        launch(&kernel, shape, stream, params, none, HipError::INVALID_VALUE)
    }

    /// Launches a kernel with attributes.
    fn hipDrvLaunchKernelEx(
        config: *const HipDrvLaunchConfig,
        kernel: HipFunction,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let config = read(config)?;
        let shape = Shape::new(config.grid.into(), config.block.into(), config.shared_mem_bytes);
        let kernel = function(kernel)?;
        let shape = match is_cooperative(config.attributes, config.attribute_count)? {
            true => cooperative(&kernel, shape)?,
            false => shape,
        };
        launch(&kernel, shape, config.stream, params, extra, HipError::INVALID_VALUE)
    }

    /// Launches a kernel by its host function, with attributes.
    fn hipLaunchKernelExC(
        config: *const HipLaunchConfig,
        host: *const c_void,
        args: *mut *mut c_void,
    ) {
        let config = read(config)?;
        let dynamic_lds =
            u32::try_from(config.dynamic_smem_bytes).map_err(|_| HipError::INVALID_VALUE)?;
        let shape = Shape::new(config.grid.into(), config.block.into(), dynamic_lds);
        let kernel = function_of(host)?;
        let shape = match is_cooperative(config.attributes, config.attribute_count)? {
            true => cooperative(&kernel, shape)?,
            false => shape,
        };
        let none = std::ptr::null_mut();
        launch(&kernel, shape, config.stream, args, none, HipError::INVALID_CONFIGURATION)
    }

    /// Launches a kernel by its host function.
    fn hipLaunchKernel(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *mut *mut c_void,
        shared_bytes: usize,
        stream: HipStream,
    ) {
        let dynamic_lds = u32::try_from(shared_bytes).map_err(|_| HipError::INVALID_VALUE)?;
        let shape = Shape::new(grid.into(), block.into(), dynamic_lds);
        let kernel = registered_function(host)?;
        let none = std::ptr::null_mut();
        launch(&kernel, shape, stream, args, none, HipError::INVALID_CONFIGURATION)
    }

    /// Launches a kernel by its host function; events, if given, frame the launch.
    fn hipExtLaunchKernel(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *mut *mut c_void,
        shared_bytes: usize,
        stream: HipStream,
        start: HipEvent,
        stop: HipEvent,
        flags: c_int,
    ) {
        check_flags(flags as c_uint, ANY_ORDER)?;
        if !start.is_null() {
            record(start, stream)?;
        }
        match hipLaunchKernel(host, grid, block, args, shared_bytes, stream) {
            HipError::SUCCESS if stop.is_null() => Ok(()),
            HipError::SUCCESS => record(stop, stream),
            error => Err(error),
        }
    }

    /// Launches a kernel by its host function if all its workgroups can run at once.
    fn hipLaunchCooperativeKernel(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *mut *mut c_void,
        shared_bytes: c_uint,
        stream: HipStream,
    ) {
        let shape =
            Shape::new(grid.into(), block.into(), shared_bytes);
        let kernel = registered_function(host)?;
        let shape = cooperative(&kernel, shape)?;
        let none = std::ptr::null_mut();
        launch(&kernel, shape, stream, args, none, HipError::INVALID_CONFIGURATION)
    }

    /// Keeps the configuration of a `<<<...>>>` launch for its stub.
    fn __hipPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: HipStream) {
        let dynamic_lds = u32::try_from(shared_bytes).map_err(|_| HipError::INVALID_VALUE)?;
        push_call(Shape::new(grid.into(), block.into(), dynamic_lds), stream);
        Ok(())
    }

    /// Gives the stub of a `<<<...>>>` launch its configuration.
    fn __hipPopCallConfiguration(
        grid: *mut Dim3,
        block: *mut Dim3,
        shared_bytes: *mut usize,
        stream: *mut HipStream,
    ) {
        let (shape, on) = pop_call().ok_or(HipError::MISSING_CONFIGURATION)?;
        let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        put(grid, dim(shape.grid))?;
        put(block, dim(shape.block))?;
        put(shared_bytes, shape.dynamic_lds as usize)?;
        put(stream, on)
    }

    /// One attribute of a kernel (`hipFunction_attribute`).
    fn hipFuncGetAttribute(value: *mut c_int, number: c_int, kernel: HipFunction) {
        if value.is_null() {
            return Err(HipError::INVALID_VALUE);
        }
        let found = attributes(&*function(kernel)?)?;
        let attribute = match number {
            0 => found.max_threads_per_block,
            1 => found.shared_size_bytes as c_int,
            2 => found.const_size_bytes as c_int,
            3 => found.local_size_bytes as c_int,
            4 => found.num_regs,
            5 => found.ptx_version,
            6 => found.binary_version,
            7 => found.cache_mode_ca,
            8 => found.max_dynamic_shared_size_bytes,
            9 => found.preferred_shmem_carveout,
            _ => return Err(HipError::INVALID_VALUE),
        };
        put(value, attribute)
    }

    /// All attributes of a kernel, by its host function or handle.
    fn hipFuncGetAttributes(found: *mut HipFuncAttributes, host: *const c_void) {
        put(found, attributes(&function_of(host)?)?)
    }

    /// Hints of a kernel. The whole LDS is always available, so they are only checked.
    fn hipFuncSetAttribute(host: *const c_void, number: c_int, value: c_int) {
        const MAX_DYNAMIC_SHARED: c_int = 8;
        const SHARED_CARVEOUT: c_int = 9;
        const LAST: c_int = 15;
        let function = function_of(host)?;
        let accepted = match number {
            MAX_DYNAMIC_SHARED => (0..=dynamic_room(&function) as c_int).contains(&value),
            SHARED_CARVEOUT => (-1..=100).contains(&value),
            _ => (0..=LAST).contains(&number),
        };
        if accepted { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// Cache preference, which these devices do not have.
    fn hipFuncSetCacheConfig(host: *const c_void, config: c_int) {
        function_of(host)?;
        if (0..=3).contains(&config) { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// LDS bank width, which these devices do not let choose.
    fn hipFuncSetSharedMemConfig(host: *const c_void, config: c_int) {
        function_of(host)?;
        if (0..=2).contains(&config) { Ok(()) } else { Err(HipError::INVALID_VALUE) }
    }

    /// Most dynamic LDS with which a compute unit still holds that many workgroups.
    fn hipOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize,
        host: *const c_void,
        blocks: c_int,
        block: c_int,
    ) {
        let function = function_of(host)?;
        let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0);
        let blocks = blocks.ok_or(HipError::INVALID_VALUE)?;
        let share = function.module.program.arch().lds_bytes() / blocks;
        let fixed = function.kernel().descriptor.group_segment_fixed_size;
        if occupancy_of(&function, block, 0)?.workgroups < blocks || share < fixed {
            return Err(HipError::INVALID_VALUE);
        }
        put(bytes, (share - fixed) as usize)
    }

    /// Workgroups that a compute unit holds.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        kernel: HipFunction,
        block: c_int,
        dynamic_lds: usize,
    ) {
        let found = occupancy_of(&*function(kernel)?, block, dynamic_lds)?;
        put(blocks, found.workgroups as c_int)
    }

    /// Workgroups that a compute unit holds.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int,
        kernel: HipFunction,
        block: c_int,
        dynamic_lds: usize,
        flags: c_uint,
    ) {
        check_flags(flags, OCCUPANCY_FLAGS)?;
        let found = occupancy_of(&*function(kernel)?, block, dynamic_lds)?;
        put(blocks, found.workgroups as c_int)
    }

    /// Workgroups that a compute unit holds, by host function.
    fn hipOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        host: *const c_void,
        block: c_int,
        dynamic_lds: usize,
    ) {
        let found = occupancy_of(&function_of(host)?, block, dynamic_lds)?;
        put(blocks, found.workgroups as c_int)
    }

    /// Workgroups that a compute unit holds, by host function.
    fn hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int,
        host: *const c_void,
        block: c_int,
        dynamic_lds: usize,
        flags: c_uint,
    ) {
        check_flags(flags, OCCUPANCY_FLAGS)?;
        let found = occupancy_of(&function_of(host)?, block, dynamic_lds)?;
        put(blocks, found.workgroups as c_int)
    }

    /// Grid and workgroup size that fill the device.
    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: *mut c_int,
        block: *mut c_int,
        kernel: HipFunction,
        dynamic_lds: usize,
        limit: c_int,
    ) {
        let (groups, size) = potential(&*function(kernel)?, dynamic_lds, limit)?;
        put(grid, groups)?;
        put(block, size)
    }

    /// Grid and workgroup size that fill the device.
    fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int,
        block: *mut c_int,
        kernel: HipFunction,
        dynamic_lds: usize,
        limit: c_int,
        flags: c_uint,
    ) {
        check_flags(flags, OCCUPANCY_FLAGS)?;
        let (groups, size) = potential(&*function(kernel)?, dynamic_lds, limit)?;
        put(grid, groups)?;
        put(block, size)
    }

    /// Grid and workgroup size that fill the device, by host function.
    fn hipOccupancyMaxPotentialBlockSize(
        grid: *mut c_int,
        block: *mut c_int,
        host: *const c_void,
        dynamic_lds: usize,
        limit: c_int,
    ) {
        let (groups, size) = potential(&function_of(host)?, dynamic_lds, limit)?;
        put(grid, groups)?;
        put(block, size)
    }
}
