//! Doing a captured launch again, and comparing what comes out.

use std::fmt;
use std::fs;
use std::path::Path;

use hk_capture::{CODE, Content, DESCRIPTION, Launch, Moment, NOWHERE, buffer_file, from_hex};

use crate::dtype::DType;
use crate::launch::Module;
use crate::{Arch, Device, Error, LaunchConfig, Result, Tensor};

/// What a replay gave, beside what was captured.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReplayReport {
    /// The kernel.
    pub kernel: String,
    /// The device on which the launch was captured.
    pub captured_on: String,
    /// Every buffer that the arguments lead to.
    pub buffers: Vec<BufferComparison>,
}

/// A buffer after the captured launch, and after its replay.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BufferComparison {
    /// The buffer's name.
    pub name: String,
    /// Its element type, if the capture tells.
    pub dtype: Option<DType>,
    /// Its bytes after the captured launch.
    pub captured: Vec<u8>,
    /// Its bytes after the replay.
    pub replayed: Vec<u8>,
}

impl ReplayReport {
    /// Whether every buffer has the same bits.
    pub fn is_identical(&self) -> bool {
        self.buffers.iter().all(BufferComparison::is_identical)
    }

    /// Whether every buffer is equal within a tolerance, see [`BufferComparison::is_within`].
    pub fn is_within(&self, absolute: f64, relative: f64) -> bool {
        self.buffers.iter().all(|buffer| buffer.is_within(absolute, relative))
    }
}

impl BufferComparison {
    /// Whether both have the same bits.
    pub fn is_identical(&self) -> bool {
        self.captured == self.replayed
    }

    /// Index of the first byte that differs.
    pub fn first_difference(&self) -> Option<usize> {
        self.captured.iter().zip(&self.replayed).position(|(a, b)| a != b)
    }

    /// Whether each element is within `absolute + relative * |captured|` of the captured one; a NaN
    /// only equals a NaN. Without an element type, and for what is left of a partial element at the
    /// end, only the same bits will do.
    pub fn is_within(&self, absolute: f64, relative: f64) -> bool {
        let Some(dtype) = self.dtype else { return self.is_identical() };
        let whole = self.captured.len() / dtype.size() * dtype.size();
        let (mut captured, mut replayed) = (Vec::new(), Vec::new());
        dtype.decode(&self.captured, &mut captured);
        dtype.decode(&self.replayed, &mut replayed);
        // An infinity has no neighbours: a bound relative to it would let everything pass.
        let close = |(a, b): (&f64, &f64)| {
            let near = || a.is_finite() && (a - b).abs() <= absolute + relative * a.abs();
            a == b || a.is_nan() && b.is_nan() || near()
        };
        captured.len() == replayed.len()
            && self.captured[whole..] == self.replayed[whole..]
            && captured.iter().zip(&replayed).all(close)
    }

    /// Which elements do not have the same bits: of the element type, or bytes if the capture does
    /// not tell one.
    pub fn differences(&self) -> Differences {
        let dtype = self.dtype.unwrap_or(DType::U8);
        let mut found = Differences {
            count: 0,
            total: self.captured.len().div_ceil(dtype.size()),
            worst: None,
        };
        let pairs = self.captured.chunks(dtype.size()).zip(self.replayed.chunks(dtype.size()));
        let (mut captured, mut replayed) = (Vec::new(), Vec::new());
        for (index, (a, b)) in pairs.enumerate().filter(|(_, (a, b))| a != b) {
            found.count += 1;
            captured.clear();
            replayed.clear();
            dtype.decode(a, &mut captured);
            dtype.decode(b, &mut replayed);
            for (&captured, &replayed) in captured.iter().zip(&replayed) {
                let difference = Difference { index, captured, replayed };
                let distance = difference.distance();
                if found.worst.is_none_or(|worst| distance > worst.distance()) {
                    found.worst = Some(difference);
                }
            }
        }
        found
    }
}

/// The elements of a buffer that a replay changed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Differences {
    /// Elements with other bits.
    pub count: usize,
    /// Elements of the buffer.
    pub total: usize,
    /// The first of those that are farthest apart.
    pub worst: Option<Difference>,
}

/// One element that a replay changed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// Its index in the buffer.
    pub index: usize,
    /// Its value after the captured launch.
    pub captured: f64,
    /// Its value after the replay.
    pub replayed: f64,
}

impl Difference {
    /// How far apart the values are; a NaN is infinitely far from every number.
    pub fn distance(&self) -> f64 {
        let Self { captured, replayed, .. } = *self;
        if captured == replayed || captured.is_nan() && replayed.is_nan() {
            return 0.0;
        }
        let distance = (captured - replayed).abs();
        if distance.is_nan() { f64::INFINITY } else { distance }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, captured, replayed } = self;
        write!(f, "element {index}: {captured} was captured, {replayed} was replayed")
    }
}

/// Architecture that a captured launch was made for: what a device must have to replay it.
///
/// # Errors
/// [`Error::Io`] and [`Error::Capture`] if `launch.json` is missing or damaged,
/// [`Error::UnsupportedArch`] if it names an architecture that is not known.
pub fn captured_arch(folder: &Path) -> Result<Arch> {
    Ok(hk_capture::read(folder)?.arch.parse()?)
}

/// Does a captured launch again on a device, which may be another than the one that was captured
/// on, of the same architecture. `folder` is the launch's own, with `launch.json` in it.
///
/// A capture without `after` is of a launch that failed. Its replay returns the same failure, unless
/// the launch succeeds this time, which is an error too, because there is nothing to compare with.
///
/// A replay gives the device the captured code and arguments as they are: only replay captures from
/// a source that you would run a program from.
///
/// # Errors
/// [`Error::Io`] and [`Error::Capture`] if the folder is incomplete or damaged,
/// [`Error::CodeObject`] if the code is for another architecture, and what a launch can return.
pub fn replay(folder: &Path, device: &Device) -> Result<ReplayReport> {
    let path = folder.join(DESCRIPTION);
    let damaged = |reason: String| Error::Capture { path: path.clone(), reason };
    let record = hk_capture::read(folder)?;
    let completed = folder.join(Moment::After.folder()).is_dir();
    let module = Module::load(device, &read(&folder.join(CODE))?)?;
    let stream = device.default_stream();

    let mut buffers = Vec::new();
    for buffer in &record.buffers {
        let name = Path::new(&buffer.name);
        if name.file_name() != Some(name.as_os_str()) {
            return Err(damaged(format!("`{}` is no name of a buffer", buffer.name)));
        }
        let contents = |moment: Moment| {
            let contents = read(&buffer_file(folder, moment, &buffer.name))?;
            if contents.len() == buffer.bytes {
                return Ok(contents);
            }
            let (name, bytes) = (&buffer.name, buffer.bytes);
            let part = moment.folder();
            Err(damaged(format!("{part}/{name}.bin does not have {bytes} bytes")))
        };
        let before = contents(Moment::Before)?;
        let after = if completed { contents(Moment::After)? } else { Vec::new() };
        let tensor = Tensor::from_slice(&stream, &before, &[before.len()])?;
        let dtype = buffer.dtype.as_deref().map(str::parse::<DType>).transpose();
        let dtype = dtype.map_err(|error| damaged(error.to_string()))?;
        buffers.push((&buffer.name, dtype, tensor, after));
    }

    let places: Vec<_> = buffers
        .iter()
        .map(|(name, _, tensor, _)| Place {
            name,
            address: tensor.ptr().address(),
            bytes: tensor.len(),
        })
        .collect();
    let kernarg = arguments(&record, &places, completed).map_err(damaged)?;
    let config = LaunchConfig {
        grid: record.grid,
        block: record.block,
        dynamic_lds_bytes: record.dynamic_lds_bytes,
    };
    // SAFETY: the arguments are those of the captured launch with its buffers, so that the kernel
    // stays in memory that is allocated if it did so then; the caller vouches for the capture.
    unsafe { module.launch_bytes(&record.kernel, &stream, &config, &kernarg)? };
    stream.synchronize()?;
    if !completed {
        return Err(damaged("the captured launch failed, its replay did not".into()));
    }

    let compare = |(name, dtype, tensor, captured): (&String, _, Tensor<u8>, _)| {
        let replayed = tensor.to_vec()?;
        Ok(BufferComparison { name: name.clone(), dtype, captured, replayed })
    };
    let buffers = buffers.into_iter().map(compare).collect::<Result<_>>()?;
    Ok(ReplayReport { kernel: record.kernel, captured_on: record.device, buffers })
}

/// Where a buffer is during a replay.
struct Place<'b> {
    name: &'b str,
    address: u64,
    bytes: usize,
}

/// The argument bytes, with pointers to the buffers at their new addresses. A pointer to memory that
/// was not captured is refused, unless the launch failed, maybe because of it.
fn arguments(record: &Launch, buffers: &[Place<'_>], completed: bool) -> Result<Vec<u8>, String> {
    if record.kernarg_bytes > crate::launch::MAX_KERNARG_BYTES {
        return Err(format!("{} bytes of arguments are too many", record.kernarg_bytes));
    }
    let mut kernarg = vec![0; record.kernarg_bytes];
    for arg in &record.args {
        let name = &arg.name;
        let bytes = match &arg.content {
            Content::Buffer { buffer, buffer_offset } => {
                let place = buffers
                    .iter()
                    .find(|place| place.name == buffer)
                    .ok_or_else(|| format!("{name} leads to an unknown buffer `{buffer}`"))?;
                if *buffer_offset > place.bytes as u64 {
                    return Err(format!("{name} leads beyond the end of {buffer}"));
                }
                (place.address + buffer_offset).to_le_bytes().to_vec()
            }
            Content::Value { value } => {
                let bytes = from_hex(value).ok_or_else(|| format!("{name}: `{value}`"))?;
                let address = bytes[..].try_into().map_or(u64::MAX, u64::from_le_bytes);
                if completed && arg.kind == "pointer" && address >= NOWHERE {
                    return Err(format!("{name} leads to memory that was not captured"));
                }
                bytes
            }
        };
        let place =
            arg.offset.checked_add(arg.size).and_then(|end| kernarg.get_mut(arg.offset..end));
        match place {
            Some(place) if place.len() == bytes.len() => place.copy_from_slice(&bytes),
            _ => return Err(format!("{name} does not fit in the arguments")),
        }
    }
    Ok(kernarg)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), source })
}
