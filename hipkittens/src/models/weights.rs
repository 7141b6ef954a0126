//! Weights in a file of the safetensors format.

use std::fmt::{self, Debug, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

use half::slice::HalfFloatSliceExt;
use hk_core::dtype::{bf16, f16};
use hk_core::{Stream, Tensor};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{ModelError, on_one_line};

/// The tensors of a file, which are given to a device as they are asked for.
pub struct Weights {
    file: PathBuf,
    bytes: Vec<u8>,
    /// Where the data of tensors start.
    start: usize,
    metadata: Metadata,
}

impl Debug for Weights {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weights").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Weights {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ModelError::Read`], or [`ModelError::Format`] if it is truncated or corrupt.
    pub fn read(file: &Path) -> Result<Self, ModelError> {
        let file = file.to_owned();
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(source) => return Err(ModelError::Read { file, source }),
        };
        match read_header(&bytes) {
            Ok((start, metadata)) => Ok(Self { file, bytes, start, metadata }),
            Err(what) => Err(ModelError::Format { file, what }),
        }
    }

    /// A tensor of that name and shape in f32, whichever of f32, f16 and bf16 the file has.
    ///
    /// # Errors
    /// [`ModelError::Tensor`] if there is none such, or it has an element that is not finite.
    pub fn f32<const R: usize>(
        &self,
        stream: &Stream,
        name: &str,
        shape: [usize; R],
    ) -> Result<Tensor<f32>, ModelError> {
        self.stacked_f32(stream, &[name], shape)
    }

    /// As [`f32`](Self::f32), of tensors of that shape each, one behind the other.
    ///
    /// # Errors
    /// As [`f32`](Self::f32).
    pub fn stacked_f32<const R: usize>(
        &self,
        stream: &Stream,
        names: &[impl AsRef<str>],
        shape: [usize; R],
    ) -> Result<Tensor<f32>, ModelError> {
        let numbers = self.stack(names, shape)?;
        Ok(Tensor::from_slice(stream, &numbers, &stacked(names, shape))?)
    }

    /// As [`stacked_f32`](Self::stacked_f32), rounded to f16.
    ///
    /// # Errors
    /// As [`f32`](Self::f32); [`ModelError::Tensor`] also if an element is beyond the range of f16.
    pub fn stacked_f16<const R: usize>(
        &self,
        stream: &Stream,
        names: &[impl AsRef<str>],
        shape: [usize; R],
    ) -> Result<Tensor<f16>, ModelError> {
        let numbers = self.stack(names, shape)?;
        let mut rounded = vec![f16::ZERO; numbers.len()];
        rounded.convert_from_f32_slice(&numbers);
        if let Some(at) = rounded.iter().position(|number| !number.is_finite()) {
            let name = &names[at * names.len() / rounded.len()];
            return Err(self.wrong(name.as_ref(), "numbers within the range of f16", numbers[at]));
        }
        Ok(Tensor::from_slice(stream, &rounded, &stacked(names, shape))?)
    }

    /// Refuses tensors of such names, in place of which `expected` says what must be.
    pub(super) fn require_none(
        &self,
        is_such: impl Fn(&str) -> bool,
        expected: impl fmt::Display,
    ) -> Result<(), ModelError> {
        // Of several, the first in the file.
        let found = self.metadata.offset_keys().into_iter().find(|name| is_such(name));
        match found.and_then(|name| Some((self.metadata.info(&name)?, name))) {
            Some((info, name)) => Err(self.wrong(&name, expected, kind(info))),
            None => Ok(()),
        }
    }

    fn stack<const R: usize>(
        &self,
        names: &[impl AsRef<str>],
        shape: [usize; R],
    ) -> Result<Vec<f32>, ModelError> {
        // It grows with what the file has, whatever the shape asks for.
        let mut stack = Vec::new();
        for name in names {
            let name = name.as_ref();
            let numbers = self.numbers(name, &shape)?;
            if let Some(number) = numbers.iter().find(|number| !number.is_finite()) {
                return Err(self.wrong(name, "finite numbers", number));
            }
            stack.extend_from_slice(&numbers);
        }
        Ok(stack)
    }

    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let expected = format!("of F32, F16 or BF16 and of shape {shape:?}");
        let Some(info) = self.metadata.info(name) else {
            return Err(self.wrong(name, expected, "no such tensor"));
        };
        let TensorInfo { dtype, shape: got, data_offsets: (begin, end) } = info;
        let data = &self.bytes[self.start + begin..self.start + end];
        let mut numbers = vec![0.0; data.len() / 2];
        match dtype {
            _ if got != shape => {}
            Dtype::F32 => return Ok(bytemuck::pod_collect_to_vec(data)),
            Dtype::F16 => {
                bytemuck::pod_collect_to_vec::<u8, f16>(data).convert_to_f32_slice(&mut numbers);
                return Ok(numbers);
            }
            Dtype::BF16 => {
                bytemuck::pod_collect_to_vec::<u8, bf16>(data).convert_to_f32_slice(&mut numbers);
                return Ok(numbers);
            }
            _ => {}
        }
        Err(self.wrong(name, expected, kind(info)))
    }

    fn wrong(
        &self,
        tensor: &str,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> ModelError {
        let (expected, got) = (expected.to_string(), got.to_string());
        ModelError::Tensor { file: self.file.clone(), tensor: tensor.to_owned(), expected, got }
    }
}

/// What a message says that a tensor is.
fn kind(info: &TensorInfo) -> String {
    format!("{} of shape {:?}", info.dtype, info.shape)
}

/// The shape of tensors of a shape one behind the other.
fn stacked<const R: usize>(names: &[impl AsRef<str>], mut shape: [usize; R]) -> [usize; R] {
    if let Some(rows) = shape.first_mut() {
        *rows *= names.len();
    }
    shape
}

/// Where the data of tensors start in a file of the safetensors format, and what its header says of
/// them.
///
/// # Errors
/// What is wrong with the file, [on one line](on_one_line); it names the tensor, if it is about one.
pub fn read_header(file: &[u8]) -> Result<(usize, Metadata), String> {
    let parsed = check_header(file).and_then(|()| {
        SafeTensors::read_metadata(file).map_err(|error| format!("corrupt header: {error}"))
    });
    let (header, metadata) = parsed.map_err(on_one_line)?;
    Ok((size_of::<u64>() + header, metadata))
}

/// What a header says, of which each key is there once: a map would keep the last of several.
struct Header(Map<String, Value>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Keys).map(Self)
    }
}

/// Gathers the keys of a [`Header`].
struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut header = Map::new();
        while let Some((key, value)) = from.next_entry::<String, Value>()? {
            if header.contains_key(&key) {
                return Err(A::Error::custom(format_args!("{key} is there twice")));
            }
            header.insert(key, value);
        }
        Ok(header)
    }
}

/// Finds what the format's own parser would refuse without naming the tensor.
fn check_header(file: &[u8]) -> Result<(), String> {
    let Some((length, rest)) = file.split_first_chunk::<8>() else {
        return Err(format!("its {} bytes are too few for a header", file.len()));
    };
    let length = u64::from_le_bytes(*length);
    let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let Some((header, data)) = split else {
        return Err(format!(
            "its first bytes announce a header of {length} bytes, but {} follow: it is truncated, or \
             no safetensors file",
            rest.len()
        ));
    };
    let Header(header) =
        serde_json::from_slice(header).map_err(|error| format!("corrupt header: {error}"))?;
    let mut parts = Vec::new();
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let part = check_tensor(tensor, data.len());
        parts.push((part.map_err(|what| format!("tensor {name}: {what}"))?, name));
    }
    check_order(parts, data.len())
}

/// Data of tensors follow each other, without gaps, up to the end of the `available` bytes.
fn check_order(mut parts: Vec<((usize, usize), &String)>, available: usize) -> Result<(), String> {
    parts.sort_unstable();
    let mut expected = 0;
    for ((begin, end), name) in parts {
        if begin != expected {
            return Err(format!(
                "tensor {name}: corrupt header: its data begin at byte {begin}, and those of the tensors \
                 before end at {expected}"
            ));
        }
        expected = end;
    }
    match available - expected {
        0 => Ok(()),
        rest => Err(format!("its last {rest} bytes are of no tensor: it is corrupt")),
    }
}

/// Where a tensor's data begin and end; `available` bytes follow the header.
fn check_tensor(tensor: &Value, available: usize) -> Result<(usize, usize), String> {
    if serde_json::from_value::<Dtype>(tensor["dtype"].clone()).is_err() {
        return Err(format!("unknown dtype {}", tensor["dtype"]));
    }
    let info: TensorInfo = serde_json::from_value(tensor.clone())
        .map_err(|error| format!("corrupt header: {error}"))?;
    let TensorInfo { dtype, shape, data_offsets: (begin, end) } = info;
    let bits = shape.iter().try_fold(dtype.bitsize(), |bits, size| bits.checked_mul(*size));
    let taken = end.checked_sub(begin).and_then(|bytes| bytes.checked_mul(8));
    if bits.is_none() || bits != taken {
        return Err(format!(
            "corrupt header: its shape {shape:?} of {dtype} does not fill its bytes {begin} to {end}"
        ));
    }
    if end > available {
        return Err(format!(
            "its data ends at byte {end}, but only {available} bytes follow the header: the file is \
             truncated"
        ));
    }
    Ok((begin, end))
}
