//! Doing a captured launch again, and comparing what comes out.

use std::fs;
use std::path::Path;

use super::{Content, FORMAT, Record, buffer_file, from_hex};
use crate::dtype::DType;
use crate::launch::Module;
use crate::{Device, Error, LaunchConfig, Result, Tensor};

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
        let close = |(a, b): (&f64, &f64)| {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= absolute + relative * a.abs()
        };
        captured.len() == replayed.len()
            && self.captured[whole..] == self.replayed[whole..]
            && captured.iter().zip(&replayed).all(close)
    }
}

/// Does a captured launch again on a device, which may be another than the one that was captured
/// on, of the same architecture. `folder` is the launch's own, with `launch.json` in it.
///
/// A replay gives the device the captured code and arguments as they are: only replay captures from
/// a source that you would run a program from.
///
/// # Errors
/// [`Error::Io`] and [`Error::Capture`] if the folder is incomplete or damaged,
/// [`Error::CodeObject`] if the code is for another architecture, and what a launch can return.
pub fn replay(folder: &Path, device: &Device) -> Result<ReplayReport> {
    let path = folder.join("launch.json");
    let damaged = |reason: String| Error::Capture { path: path.clone(), reason };
    let record: Record =
        serde_json::from_slice(&read(&path)?).map_err(|error| damaged(error.to_string()))?;
    if record.format != FORMAT {
        return Err(damaged(format!("format {}, only {FORMAT} is known", record.format)));
    }
    let module = Module::load(device, &read(&folder.join("code.hsaco"))?)?;
    let stream = device.default_stream();

    let mut buffers = Vec::new();
    for buffer in &record.buffers {
        let name = Path::new(&buffer.name);
        if name.file_name() != Some(name.as_os_str()) {
            return Err(damaged(format!("`{}` is no name of a buffer", buffer.name)));
        }
        let [before, after] =
            ["before", "after"].map(|part| read(&buffer_file(&folder.join(part), &buffer.name)));
        let (before, after) = (before?, after?);
        if before.len() != buffer.bytes || after.len() != buffer.bytes {
            let name = &buffer.name;
            return Err(damaged(format!("the files of {name} do not have {} bytes", buffer.bytes)));
        }
        let tensor = Tensor::from_slice(&stream, &before, &[before.len()])?;
        let dtype = buffer.dtype.as_deref().map(str::parse::<DType>).transpose()?;
        buffers.push((&buffer.name, dtype, tensor, after));
    }

    let addresses: Vec<_> = buffers
        .iter()
        .map(|(name, _, tensor, after)| (name.as_str(), tensor.ptr().address(), after.len()))
        .collect();
    let kernarg = arguments(&record, &addresses).map_err(damaged)?;
    let config = LaunchConfig {
        grid: record.grid,
        block: record.block,
        dynamic_lds_bytes: record.dynamic_lds_bytes,
    };
    // SAFETY: the arguments are those of the captured launch with its buffers, so that the kernel
    // stays in memory that is allocated if it did so then; the caller vouches for the capture.
    unsafe { module.launch_bytes(&record.kernel, &stream, &config, &kernarg)? };

    let compare = |(name, dtype, tensor, captured): (&String, _, Tensor<u8>, _)| {
        let replayed = tensor.to_vec()?;
        Ok(BufferComparison { name: name.clone(), dtype, captured, replayed })
    };
    let buffers = buffers.into_iter().map(compare).collect::<Result<_>>()?;
    Ok(ReplayReport { kernel: record.kernel, captured_on: record.device, buffers })
}

/// The argument bytes, with pointers to the buffers at their new addresses.
fn arguments(record: &Record, buffers: &[(&str, u64, usize)]) -> Result<Vec<u8>, String> {
    if record.kernarg_bytes > crate::launch::MAX_KERNARG_BYTES {
        return Err(format!("{} bytes of arguments are too many", record.kernarg_bytes));
    }
    let mut kernarg = vec![0; record.kernarg_bytes];
    for arg in &record.args {
        let name = &arg.name;
        let bytes = match &arg.content {
            Content::Buffer { buffer, buffer_offset } => {
                let (_, address, len) = buffers
                    .iter()
                    .find(|(name, ..)| name == buffer)
                    .ok_or_else(|| format!("{name} leads to an unknown buffer `{buffer}`"))?;
                if *buffer_offset > *len as u64 {
                    return Err(format!("{name} leads beyond the end of {buffer}"));
                }
                (address + buffer_offset).to_le_bytes().to_vec()
            }
            Content::Value { value } => {
                let bytes = from_hex(value).ok_or_else(|| format!("{name}: `{value}`"))?;
                if arg.kind == "pointer" && bytes.iter().any(|byte| *byte != 0) {
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
