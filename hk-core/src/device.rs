//! Devices: a GPU behind the HIP library, or a simulated product.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::hip::{Bound, Hip, RawStream};
use crate::launch::ModuleCache;
use crate::stream::OpenStream;
use crate::{Allocator, Arch, Error, HipVersion, Result, Stream};

/// Environment variable that names the device of [`Device::auto`].
const DEVICE_VARIABLE: &str = "HIPKITTENS_DEVICE";
/// Environment variable that names the folder into which launches are captured.
const CAPTURE_VARIABLE: &str = "HIPKITTENS_CAPTURE";

/// A GPU, real or simulated. Cheap to clone.
///
/// ```
/// use hk_core::{Arch, Device};
/// let device = Device::open("sim:mi355x")?;
/// assert_eq!(device.arch(), Arch::Gfx950);
/// # Ok::<(), hk_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    hip: &'static Hip,
    ordinal: i32,
    arch: Arch,
    info: DeviceInfo,
    capture: Mutex<Option<PathBuf>>,
    allocator: Mutex<Option<Arc<dyn Allocator>>>,
    default_stream: Arc<OpenStream>,
    modules: ModuleCache,
}

/// What is known of a device before it is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The name that [`Device::open`] takes, such as `hip:0` or `sim:mi355x`.
    pub name: String,
    /// The product's marketing name.
    pub product: String,
    /// Its target id, such as `gfx950:sramecc+:xnack-`.
    pub target: String,
    /// Its architecture, if kernels exist for it.
    pub arch: Option<Arch>,
    /// Device memory in bytes.
    pub memory_bytes: u64,
    /// Compute units.
    pub compute_units: u32,
    /// Peak engine clock in kHz.
    pub clock_khz: u32,
}

/// The HIP library that serves the `hip:` devices.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HipLibrary {
    /// The path, or the bare name, by which the loader found it.
    pub path: PathBuf,
    /// Its version.
    pub version: HipVersion,
    /// GPUs that it sees.
    pub devices: u32,
    /// What it says when asked for GPUs, if it sees none.
    pub refusal: Option<String>,
}

/// Finds the HIP library, without which only simulated devices exist.
///
/// # Errors
/// [`Error::Library`], [`Error::Symbol`] or [`Error::Version`] say what is missing.
pub fn hip_library() -> Result<HipLibrary> {
    let hip = Hip::library()?;
    let (devices, refusal) = match hip.device_count() {
        Ok(count) if count > 0 => (count.cast_unsigned(), None),
        Ok(_) => (0, Some("it counts none".into())),
        Err(error) => (0, Some(error.to_string())),
    };
    let path = hip.path().map(Path::to_owned).unwrap_or_default();
    Ok(HipLibrary { path, version: hip.version()?, devices, refusal })
}

/// Why none of the devices is a GPU of one of the architectures.
fn without_gpu(devices: &[DeviceInfo], archs: &[Arch]) -> String {
    let gpus: Vec<_> = devices
        .iter()
        .filter(|info| info.name.starts_with("hip:"))
        .map(|info| format!("{} is {}", info.name, info.target))
        .collect();
    if !gpus.is_empty() {
        let wanted: Vec<_> = archs.iter().map(|arch| arch.name()).collect();
        return format!("no GPU is {}: {}", wanted.join(" or "), gpus.join(", "));
    }
    match hip_library() {
        Ok(HipLibrary { path, refusal, .. }) => {
            let refusal = refusal.unwrap_or_else(|| "its GPUs do not answer".into());
            format!("{} sees no GPU: {refusal}", path.display())
        }
        Err(error) => error.to_string(),
    }
}

impl Device {
    /// Opens the device of that name: `hip:N`, or `sim:` with one of the products `mi300x`,
    /// `mi325x`, `mi350x`, `mi355x`.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is none of that name, [`Error::UnsupportedArch`] if no kernel
    /// could run on it; for `hip:` also what [`hip_library`] returns, and [`Error::Hip`] if the
    /// library sees no GPU at all.
    pub fn open(name: &str) -> Result<Self> {
        let no_device = || Error::NoDevice {
            wanted: name.to_owned(),
            available: Self::list().into_iter().map(|info| info.name).collect(),
        };
        match name.split_once(':') {
            Some(("hip", ordinal)) => {
                let ordinal: i32 = ordinal.parse().map_err(|_| no_device())?;
                let hip = Hip::library()?;
                if !(0..hip.device_count()?).contains(&ordinal) {
                    return Err(no_device());
                }
                Self::new(hip, ordinal, name.to_owned())
            }
            Some(("sim", product)) => Self::simulated(product)?.ok_or_else(no_device),
            _ => Err(no_device()),
        }
    }

    /// Opens the device of that number in the HIP library that the process has loaded, as other code
    /// of the process counts them: `hip:N` by [`open`](Self::open).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn attach(ordinal: u32) -> Result<Self> {
        Self::open(&format!("hip:{ordinal}"))
    }

    #[cfg(feature = "sim")]
    fn simulated(product: &str) -> Result<Option<Self>> {
        let Some(ordinal) = hk_sim::device_ordinal(product) else { return Ok(None) };
        let name = format!("sim:{}", product.to_ascii_lowercase());
        Self::new(Hip::simulator()?, ordinal, name).map(Some)
    }

    #[cfg(not(feature = "sim"))]
    fn simulated(_product: &str) -> Result<Option<Self>> {
        Ok(None)
    }

    /// Opens the device that the environment variable `HIPKITTENS_DEVICE` names, else the first GPU
    /// of an architecture that kernels exist for, else a simulated one. Says which in a `tracing`
    /// event; as a simulated device is far slower than a GPU, it is a warning if one takes a GPU's
    /// place, and says why.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); [`Error::NoDevice`] where there is neither GPU nor simulator.
    pub fn auto() -> Result<Self> {
        Self::auto_for(&Arch::ALL)
    }

    /// As [`auto`](Self::auto), of the architectures given: those whose code the binary holds.
    ///
    /// # Errors
    /// As [`auto`](Self::auto).
    pub fn auto_for(archs: &[Arch]) -> Result<Self> {
        let named = std::env::var_os(DEVICE_VARIABLE).filter(|name| !name.is_empty());
        let device = match &named {
            Some(name) => Self::open(&name.to_string_lossy())?,
            None => {
                let devices = Self::list();
                let device = Self::choose(&devices, archs)?;
                if device.is_simulated() {
                    let why = without_gpu(&devices, archs);
                    tracing::warn!(device = device.name(), why, "no GPU can be used: simulated");
                    return Ok(device);
                }
                device
            }
        };
        let why = if named.is_some() { DEVICE_VARIABLE } else { "first supported GPU" };
        tracing::info!(device = device.name(), arch = device.arch().name(), why, "device chosen");
        Ok(device)
    }

    /// The first GPU, else the newest simulated product, of an architecture in the list.
    fn choose(devices: &[DeviceInfo], archs: &[Arch]) -> Result<Self> {
        let usable = |kind: &'static str| {
            let of_kind = devices.iter().filter(move |info| info.name.starts_with(kind));
            of_kind.filter(|info| info.arch.is_some_and(|arch| archs.contains(&arch)))
        };
        if let Some(gpu) = usable("hip:").next() {
            return Self::open(&gpu.name);
        }
        let simulated = usable("sim:").next_back().ok_or_else(|| Error::NoDevice {
            wanted: "auto".into(),
            available: devices.iter().map(|info| info.name.clone()).collect(),
        })?;
        Self::open(&simulated.name)
    }

    /// Every device that exists: the GPUs of the HIP library, supported or not, then the simulated
    /// products. [`hip_library`] tells why there is no GPU among them.
    pub fn list() -> Vec<DeviceInfo> {
        let mut devices = Vec::new();
        if let Ok(hip) = Hip::library() {
            for ordinal in 0..hip.device_count().unwrap_or(0) {
                devices.extend(DeviceInfo::query(hip, ordinal, format!("hip:{ordinal}")));
            }
        }
        #[cfg(feature = "sim")]
        if let Ok(hip) = Hip::simulator() {
            for product in &hk_sim::PRODUCTS {
                if let Some(ordinal) = hk_sim::device_ordinal(product.name) {
                    let name = format!("sim:{}", product.name);
                    devices.extend(DeviceInfo::query(hip, ordinal, name));
                }
            }
        }
        devices
    }

    pub(crate) fn new(hip: &'static Hip, ordinal: i32, name: String) -> Result<Self> {
        let info = DeviceInfo::query(hip, ordinal, name)?;
        let arch = info.arch.ok_or_else(|| Error::UnsupportedArch { arch: info.target.clone() })?;
        let folder = std::env::var_os(CAPTURE_VARIABLE).filter(|folder| !folder.is_empty());
        let capture = Mutex::new(folder.map(PathBuf::from));
        let null = RawStream::foreign(hip, ordinal, std::ptr::null_mut());
        let (default_stream, modules) = (OpenStream::new(null), ModuleCache::default());
        let allocator = Mutex::default();
        let inner = Inner { hip, ordinal, arch, info, capture, allocator, default_stream, modules };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Its name, as [`open`](Self::open) takes it.
    pub fn name(&self) -> &str {
        &self.inner.info.name
    }

    /// Its architecture.
    pub fn arch(&self) -> Arch {
        self.inner.arch
    }

    /// Its description.
    pub fn info(&self) -> &DeviceInfo {
        &self.inner.info
    }

    /// Whether it is simulated.
    pub fn is_simulated(&self) -> bool {
        self.inner.hip.path().is_none()
    }

    /// Free and total memory in bytes.
    ///
    /// # Errors
    /// [`Error::Hip`] if the device does not answer.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.bind()?.memory()
    }

    /// The device's default stream.
    pub fn default_stream(&self) -> Stream {
        Stream::new(self, Arc::clone(&self.inner.default_stream))
    }

    /// Creates a stream, whose work is not ordered with that of any other.
    ///
    /// # Errors
    /// [`Error::Hip`] if HIP cannot create it.
    pub fn new_stream(&self) -> Result<Stream> {
        let raw = RawStream::new(self.inner.hip, self.inner.ordinal)?;
        Ok(Stream::new(self, OpenStream::new(raw)))
    }

    /// Waits for all work of all streams.
    ///
    /// # Errors
    /// [`Error::Fault`] or [`Error::Hip`] if any of that work failed.
    pub fn synchronize(&self) -> Result<()> {
        let hip = self.bind()?;
        hip.sweep();
        hip.synchronize_device()
    }

    /// Captures every later launch on this device into folders of `folder`, as
    /// [`capture`](crate::capture) describes, or stops with `None`. A device starts with the folder
    /// that the environment variable `HIPKITTENS_CAPTURE` names.
    pub fn set_capture(&self, folder: Option<&Path>) {
        *self.inner.capture.lock().unwrap_or_else(PoisonError::into_inner) =
            folder.map(Path::to_owned);
    }

    /// Takes all later memory of this device, of tensors and of workspaces, from an allocator, or
    /// from HIP again with `None`. What was allocated before goes back to where it came from.
    pub fn set_allocator(&self, allocator: Option<Arc<dyn Allocator>>) {
        *self.inner.allocator.lock().unwrap_or_else(PoisonError::into_inner) = allocator;
    }

    pub(crate) fn allocator(&self) -> Option<Arc<dyn Allocator>> {
        self.inner.allocator.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn capture_folder(&self) -> Option<PathBuf> {
        self.inner.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes it the current device of this thread for a while.
    pub(crate) fn bind(&self) -> Result<Bound> {
        self.inner.hip.bind(self.inner.ordinal)
    }

    /// The HIP library that it belongs to.
    pub(crate) fn hip(&self) -> &'static Hip {
        self.inner.hip
    }

    /// Its number in that library.
    pub(crate) fn ordinal(&self) -> i32 {
        self.inner.ordinal
    }

    pub(crate) fn modules(&self) -> &ModuleCache {
        &self.inner.modules
    }
}

impl DeviceInfo {
    fn query(hip: &Hip, ordinal: i32, name: String) -> Result<Self> {
        let properties = hip.properties(ordinal)?;
        Ok(Self {
            name,
            product: properties.name,
            arch: Arch::from_target_id(&properties.target),
            target: properties.target,
            memory_bytes: properties.memory_bytes,
            compute_units: properties.compute_units,
            clock_khz: properties.clock_khz,
        })
    }
}

impl PartialEq for Device {
    /// Whether both are the same device, however they were opened.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.inner.hip, other.inner.hip) && self.inner.ordinal == other.inner.ordinal
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.name()).finish()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str, arch: Option<Arch>) -> DeviceInfo {
        DeviceInfo {
            name: name.into(),
            product: String::new(),
            target: String::new(),
            arch,
            memory_bytes: 0,
            compute_units: 0,
            clock_khz: 0,
        }
    }

    #[test]
    fn without_gpu_and_simulator_the_choice_fails_and_names_what_exists() {
        let devices = [info("hip:0", None), info("sim:mi300x", Some(Arch::Gfx942))];
        let error = Device::choose(&devices, &[Arch::Gfx950]).unwrap_err();
        let Error::NoDevice { wanted, available } = error else { panic!("{error}") };
        assert_eq!((wanted.as_str(), available.len()), ("auto", 2));
        let why = without_gpu(&[info("hip:0", None)], &Arch::ALL);
        assert_eq!(why, "no GPU is gfx942 or gfx950: hip:0 is ");
    }

    #[test]
    #[cfg(feature = "sim")]
    fn the_newest_simulated_product_of_a_wanted_architecture_is_chosen() {
        let simulated: Vec<_> =
            Device::list().into_iter().filter(|info| info.name.starts_with("sim:")).collect();
        let chosen = |archs: &[Arch]| Device::choose(&simulated, archs).unwrap();
        assert_eq!(chosen(&[Arch::Gfx942]).name(), "sim:mi325x");
        assert_eq!(chosen(&Arch::ALL).name(), "sim:mi355x");
    }
}
