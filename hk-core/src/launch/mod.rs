//! Kernels: loading code objects, and launching what is in them with typed arguments.

mod args;
mod set;

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use args::Binding;
pub use args::{AnyPtr, ArgValue, DevicePtr, KernelArgs};
pub use set::{TileFunction, record_tiles, with_code};

use crate::hip::{Handle, Hip, RawStream, note_stream};
use crate::kernel::CodeObjectImage;
use crate::metadata::{CodeObjectInfo, KernelInfo};
use crate::{Arch, Device, Error, Result, Stream, capture};

/// Most bytes of explicit arguments. They are laid out on the stack, so that a launch allocates
/// nothing on the host either.
pub(crate) const MAX_KERNARG_BYTES: usize = 4096;

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Workgroups in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub block: [u32; 3],
    /// LDS in bytes, besides what the kernel declares.
    pub dynamic_lds_bytes: u32,
}

impl LaunchConfig {
    /// So many workgroups of so many work-items, in one dimension.
    pub const fn new(grid: u32, block: u32) -> Self {
        Self { grid: [grid, 1, 1], block: [block, 1, 1], dynamic_lds_bytes: 0 }
    }

    /// The smallest one-dimensional grid with at least one work-item for each of `n` elements;
    /// one workgroup if there are none.
    pub fn for_elements(n: usize, block: u32) -> Self {
        let grid = n.div_ceil(block.max(1) as usize).max(1);
        // A launch refuses so many workgroups, whatever their size.
        Self::new(u32::try_from(grid).unwrap_or(u32::MAX), block)
    }

    /// With that many bytes of dynamic LDS.
    pub const fn dynamic_lds(self, bytes: u32) -> Self {
        Self { dynamic_lds_bytes: bytes, ..self }
    }

    /// Compares with the limits of the kernel and the architecture.
    fn check(&self, kernel: &KernelInfo, arch: Arch) -> Result<()> {
        let refuse = |what, constraint: String, got: u64| {
            Err(Error::Launch { kernel: kernel.name.clone(), what, constraint, got })
        };
        for (axis, (grid, block)) in self.grid.into_iter().zip(self.block).enumerate() {
            let (grid_name, block_name) =
                [("grid.x", "block.x"), ("grid.y", "block.y"), ("grid.z", "block.z")][axis];
            if grid == 0 {
                return refuse(grid_name, "at least 1".into(), 0);
            }
            if block == 0 {
                return refuse(block_name, "at least 1".into(), 0);
            }
            // HIP counts work-items of the grid in 32 bits per dimension. `u32::MAX` workgroups
            // stand for more.
            let most = (u32::MAX / block).min(u32::MAX - 1);
            if grid > most {
                return refuse(grid_name, format!("at most {most}"), grid.into());
            }
        }
        let workgroup = self.block.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        let limit = match kernel.max_workgroup {
            0 => arch.max_workgroup(),
            compiled => compiled.min(arch.max_workgroup()),
        };
        if workgroup > u64::from(limit) {
            return refuse("the workgroup", format!("at most {limit} work-items"), workgroup);
        }
        let lds = u64::from(kernel.static_lds_bytes) + u64::from(self.dynamic_lds_bytes);
        if lds > u64::from(arch.lds_bytes()) {
            let constraint = format!("at most {} bytes on {arch}", arch.lds_bytes());
            return refuse("LDS, static and dynamic,", constraint, lds);
        }
        Ok(())
    }
}

/// A code object loaded on a device. Cheap to clone.
#[derive(Clone)]
pub struct Module {
    device: Device,
    inner: Arc<ModuleInner>,
}

/// The part of a module that the device's cache can hold without holding the device.
struct ModuleInner {
    hip: &'static Hip,
    raw: Handle,
    image: Arc<[u8]>,
    /// Each kernel with its handle.
    kernels: Vec<(KernelInfo, Handle)>,
    users: Mutex<Users>,
}

/// What may still need a module when it is dropped.
#[derive(Default)]
struct Users {
    /// Streams that it was launched on.
    streams: Vec<Weak<RawStream>>,
    /// Whether a graph holds such a launch.
    captured: bool,
}

// SAFETY: HIP modules and functions may be used from any thread; the handles are never
// dereferenced here.
unsafe impl Send for ModuleInner {}
// SAFETY: as above.
unsafe impl Sync for ModuleInner {}

impl ModuleInner {
    fn users(&self) -> MutexGuard<'_, Users> {
        // Each update leaves the list whole, so a panic elsewhere does not matter.
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a launch that is about to happen.
    fn note_launch(&self, stream: &Arc<RawStream>) -> Result<()> {
        let captured = stream.is_capturing()?;
        let mut users = self.users();
        users.captured |= captured;
        note_stream(&mut users.streams, stream);
        Ok(())
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        let Users { streams, captured } = std::mem::take(&mut *self.users());
        let module = Unloading { hip: self.hip, raw: self.raw, image: Arc::clone(&self.image) };
        if captured {
            // The graph may launch it at any time, and does not say when it is destroyed.
            std::mem::forget(module);
            return;
        }
        self.hip.retire_after(streams, move || module.unload());
    }
}

/// A module without users.
struct Unloading {
    hip: &'static Hip,
    raw: Handle,
    #[expect(dead_code, reason = "HIP may use it as long as the module is loaded")]
    image: Arc<[u8]>,
}

// SAFETY: as for `ModuleInner`.
unsafe impl Send for Unloading {}

impl Unloading {
    fn unload(&self) {
        if let Err(error) = self.hip.unload_module(self.raw) {
            tracing::warn!(%error, "a module could not be unloaded");
        }
    }
}

/// Modules of embedded code objects, by the address of their bytes.
#[derive(Default)]
pub(crate) struct ModuleCache(Mutex<HashMap<usize, Arc<ModuleInner>>>);

impl Module {
    /// Loads a code object: a linked ELF file for the device's architecture.
    ///
    /// # Errors
    /// [`Error::CodeObject`] if it is damaged or for another architecture, [`Error::Hip`] if HIP
    /// refuses it.
    pub fn load(device: &Device, image: &[u8]) -> Result<Self> {
        Ok(Self { device: device.clone(), inner: Arc::new(ModuleInner::load(device, image)?) })
    }

    /// Loads an embedded code object once per device.
    pub(crate) fn embedded(device: &Device, image: CodeObjectImage) -> Result<Self> {
        let mut cache = device.modules().0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = image.packed.as_ptr() as usize;
        let inner = match cache.get(&key) {
            Some(inner) => Arc::clone(inner),
            None => {
                let inner = Arc::new(ModuleInner::load(device, &image.unpack()?)?);
                cache.insert(key, Arc::clone(&inner));
                inner
            }
        };
        Ok(Self { device: device.clone(), inner })
    }

    /// Its kernels.
    pub fn kernels(&self) -> impl ExactSizeIterator<Item = &KernelInfo> {
        self.inner.kernels.iter().map(|(info, _)| info)
    }

    /// The device it is loaded on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The kernel of that name, to be launched with arguments of type `A`.
    ///
    /// # Errors
    /// [`Error::NoKernel`] if there is none of that name, [`Error::Layout`] if its parameters are
    /// not those of `A`.
    pub fn function<A: KernelArgs>(&self, name: &str) -> Result<Function<A>> {
        let index = self.index_of(name)?;
        let (kernel, _) = &self.inner.kernels[index];
        let binding = Binding::check(&A::LAYOUT, kernel)?;
        if A::LAYOUT.size() as usize > MAX_KERNARG_BYTES
            || binding.bytes > A::LAYOUT.size() as usize
        {
            let limit = MAX_KERNARG_BYTES;
            let reason = format!("{} bytes of arguments, at most {limit}", A::LAYOUT.size());
            return Err(Error::Layout { kernel: name.to_owned(), reason });
        }
        Ok(Function { module: self.clone(), index, binding, args: PhantomData })
    }

    fn index_of(&self, name: &str) -> Result<usize> {
        let found = self.kernels().position(|kernel| kernel.name == name);
        found.ok_or_else(|| Error::NoKernel {
            kernel: name.to_owned(),
            available: self.kernels().map(|kernel| kernel.name.clone()).collect(),
        })
    }

    /// Launches with arguments as bytes.
    ///
    /// # Safety
    /// As [`Function::launch`]; and the bytes are the kernel's explicit arguments.
    pub(crate) unsafe fn launch_bytes(
        &self,
        name: &str,
        stream: &Stream,
        config: &LaunchConfig,
        kernarg: &[u8],
    ) -> Result<()> {
        let index = self.index_of(name)?;
        // SAFETY: passed on to the caller.
        unsafe { self.submit(index, stream, config, kernarg) }
    }

    /// The launch itself, after all checks. Allocates nothing on the device and creates neither
    /// stream nor event, so that it may be captured in a graph.
    ///
    /// # Safety
    /// As [`launch_bytes`](Self::launch_bytes).
    unsafe fn submit(
        &self,
        index: usize,
        stream: &Stream,
        config: &LaunchConfig,
        kernarg: &[u8],
    ) -> Result<()> {
        let (kernel, raw) = &self.inner.kernels[index];
        config.check(kernel, self.device.arch())?;
        if *stream.device() != self.device {
            return Err(Error::Device {
                op: "launch",
                a: format!("kernel {} on {}", kernel.name, self.device),
                b: format!("stream on {}", stream.device()),
            });
        }
        tracing::debug!(
            kernel = kernel.name,
            grid = ?config.grid,
            block = ?config.block,
            dynamic_lds = config.dynamic_lds_bytes,
            "launch"
        );
        self.inner.note_launch(stream.queue())?;
        let hip = self.device.bind()?;
        let LaunchConfig { grid, block, dynamic_lds_bytes } = *config;
        // SAFETY: passed on to the caller.
        unsafe { hip.launch(*raw, grid, block, dynamic_lds_bytes, kernarg, stream.raw()) }
    }
}

impl ModuleInner {
    fn load(device: &Device, image: &[u8]) -> Result<Self> {
        let info = CodeObjectInfo::read(image)?;
        if Arch::from_target_id(&info.target) != Some(device.arch()) {
            let (target, arch) = (&info.target, device.arch());
            let reason = format!("it is for `{target}`, the device {device} is {arch}");
            return Err(Error::CodeObject { reason });
        }
        let hip = device.bind()?;
        hip.sweep();
        let image: Arc<[u8]> = image.into();
        let raw = hip.load_module(&image)?;
        let mut module = Self {
            hip: device.hip(),
            raw,
            image: Arc::clone(&image),
            kernels: Vec::new(),
            users: Mutex::default(),
        };
        for kernel in info.kernels {
            let function = hip.function(raw, &kernel.name)?;
            module.kernels.push((kernel, function));
        }
        let (kernels, bytes) = (module.kernels.len(), image.len());
        tracing::debug!(device = device.name(), kernels, bytes, "module loaded");
        Ok(module)
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.kernels().map(|kernel| kernel.name.as_str()).collect();
        f.debug_struct("Module").field("device", &self.device).field("kernels", &names).finish()
    }
}

/// A kernel whose parameters were found to be those of `A`. Cheap to clone.
pub struct Function<A> {
    module: Module,
    index: usize,
    binding: Binding,
    args: PhantomData<fn(&A)>,
}

impl<A: KernelArgs> Function<A> {
    /// Its arguments and resources.
    pub fn info(&self) -> &KernelInfo {
        &self.module.inner.kernels[self.index].0
    }

    /// Workgroups of that size and dynamic LDS that a compute unit can hold at a time.
    ///
    /// # Errors
    /// [`Error::Hip`] if HIP cannot tell.
    pub fn occupancy(&self, block: u32, dynamic_lds_bytes: u32) -> Result<u32> {
        let (_, raw) = &self.module.inner.kernels[self.index];
        self.module.device.bind()?.occupancy(*raw, block, dynamic_lds_bytes)
    }

    /// Launches it on a stream, without waiting.
    ///
    /// # Safety
    /// A kernel may write wherever its arguments lead it. With these arguments and this grid it
    /// must stay inside memory that is allocated, and whose owner expects that it is accessed: as a
    /// rule, tensors that are listed for [`Stream::submit`], from within which it is called, or
    /// that no other stream uses. If it is [captured](Stream::capture), all that holds as long as the
    /// graph lives, which keeps what is listed.
    ///
    /// # Errors
    /// [`Error::Launch`] if the grid, the workgroup or LDS exceed a limit, [`Error::Device`] if the
    /// stream is another device's, [`Error::Hip`] if HIP refuses. What goes wrong while the kernel
    /// runs is reported by the stream's next synchronisation at the latest.
    pub unsafe fn launch(&self, stream: &Stream, config: LaunchConfig, args: &A) -> Result<()> {
        let mut kernarg = [0u8; MAX_KERNARG_BYTES];
        args.write_to(&mut kernarg[..A::LAYOUT.size() as usize]);
        let kernarg = &kernarg[..self.binding.bytes];
        let Some(folder) = self.module.device.capture_folder() else {
            // SAFETY: passed on to the caller.
            return unsafe { self.module.submit(self.index, stream, &config, kernarg) };
        };
        let mut elements = Vec::new();
        args.elements(0, &mut |offset, element| elements.push((offset, element)));
        let launch = capture::Launch {
            kernel: self.info(),
            image: &self.module.inner.image,
            config,
            kernarg,
            layout: &A::LAYOUT,
            elements: &elements,
        };
        // SAFETY: passed on to the caller.
        let submit = || unsafe { self.module.submit(self.index, stream, &config, kernarg) };
        capture::record(&folder, stream, &launch, submit)
    }
}

impl<A> Clone for Function<A> {
    fn clone(&self) -> Self {
        Self { module: self.module.clone(), args: PhantomData, ..*self }
    }
}

impl<A> fmt::Debug for Function<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kernel, _) = &self.module.inner.kernels[self.index];
        f.debug_tuple("Function").field(&kernel.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: LaunchConfig, kernel: &KernelInfo, arch: Arch) -> String {
        config.check(kernel, arch).unwrap_err().to_string()
    }

    #[test]
    fn launches_beyond_a_limit_are_refused_with_both_figures() {
        let kernel = KernelInfo {
            name: "k".into(),
            max_workgroup: 256,
            static_lds_bytes: 1024,
            ..KernelInfo::default()
        };
        let arch = Arch::Gfx942;
        assert!(LaunchConfig::new(1, 256).dynamic_lds(64_512).check(&kernel, arch).is_ok());
        let too_large = refused(LaunchConfig::new(1, 257), &kernel, arch);
        assert_eq!(too_large, "k: the workgroup must be at most 256 work-items, got 257");
        let lds = refused(LaunchConfig::new(1, 64).dynamic_lds(64_513), &kernel, arch);
        assert!(lds.contains("at most 65536 bytes on gfx942, got 65537"), "{lds}");
        let more = LaunchConfig::new(1, 64).dynamic_lds(64_513);
        assert!(more.check(&kernel, Arch::Gfx950).is_ok());
        assert!(refused(LaunchConfig::new(0, 64), &kernel, arch).contains("grid.x"));
        let flat = LaunchConfig { block: [64, 0, 1], ..LaunchConfig::new(1, 64) };
        assert!(refused(flat, &kernel, arch).contains("block.y must be at least 1"));
        let huge = refused(LaunchConfig::new(1 << 25, 256), &kernel, arch);
        assert_eq!(huge, "k: grid.x must be at most 16777215, got 33554432");
        // Work-items that 64 bits do not count.
        let block = [1 << 31, 1 << 31, 4];
        let huge = refused(LaunchConfig { block, ..LaunchConfig::new(1, 1) }, &kernel, arch);
        assert!(huge.contains("the workgroup must be at most 256 work-items"), "{huge}");
        assert!(LaunchConfig::new(u32::MAX - 1, 1).check(&kernel, arch).is_ok());
        for block in [1, 64] {
            let huge = refused(LaunchConfig::for_elements(usize::MAX, block), &kernel, arch);
            assert!(huge.contains("grid.x must be at most"), "{huge}");
        }
    }

    #[test]
    #[cfg(feature = "sim")]
    fn a_launch_only_launches() {
        const SOURCE: &str = r#"extern "C" __attribute__((global)) void nothing() {}"#;
        let options = hk_build::CompileOptions::default();
        let code = hk_build::compile_source(SOURCE, Arch::Gfx942, &options).unwrap();
        // Everything that allocates, copies, waits, or creates a stream or an event fails here.
        let ordinal = hk_sim::device_ordinal("mi300x").unwrap();
        let device = Device::new(Hip::that_only_launches(), ordinal, "test".into()).unwrap();
        let stream = device.default_stream();
        let error = stream.record().map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Hip { call: "hipEventCreateWithFlags", .. }), "{error}");
        let module = Module::load(&device, &code.image).unwrap();
        let nothing = module.function::<()>("nothing").unwrap();
        // SAFETY: the kernel does nothing.
        unsafe { nothing.launch(&stream, LaunchConfig::new(3, 64), &()) }.unwrap();
    }

    #[test]
    fn a_grid_covers_every_element() {
        for (n, grid) in [(0, 1), (1, 1), (256, 1), (257, 2)] {
            assert_eq!(LaunchConfig::for_elements(n, 256), LaunchConfig::new(grid, 256));
        }
    }
}
