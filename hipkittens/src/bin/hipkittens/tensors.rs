//! Cases on the tensors of a real model, from a file in the safetensors format.

use std::fmt::Display;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use hipkittens::models::read_header;
use hk_attn::parity::rope_tensor_case;
use hk_core::dtype::{Real, Real16, bf16, f16};
use hk_gemm::Layout;
use hk_gemm::parity::a16w16_tensor_case;
use hk_norm::parity::{
    layernorm_tensor_case, rmsnorm_pad_tensor_case, rmsnorm_tensor_case, row_tensor_cases,
};
use hk_quant::parity::{norm_tensor_cases, quant_tensor_cases};
use hk_ref::Case;
use memmap2::Mmap;
use safetensors::tensor::Dtype;

/// Rows of the embedding table that go into each case.
const ROWS: usize = 64;

/// Every op that fits on the file's tensors: products of rows of the embedding table with each
/// matrix, as it is and transposed, these rows normalised by each norm's weight, and quantised then, and
/// without one, activated, sorted, or rotated, and rows of each matrix quantised, and back. The file is
/// read when a case is run.
///
/// # Errors
/// A message that names the file, and the tensor if it is about one.
pub(crate) fn cases(path: &Path) -> Result<Vec<Case>, String> {
    let fail = |what: &dyn Display| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| fail(&error))?;
    // SAFETY: the map is read only. Another process that changes the file meanwhile changes
    // numbers, whose every bit pattern is valid; what was checked of the header is a copy.
    let map = unsafe { Mmap::map(&file) }.map_err(|error| fail(&error))?;
    let tensors = read(map).map_err(|what| fail(&what))?;
    let Some(table) = embedding_table(&tensors) else {
        return Err(fail(
            &"no tensor fits: none is an embedding table, a matrix of bf16, f16 or f32 with `emb` or \
             `wte` in its name",
        ));
    };
    let mut cases = match table.dtype {
        Dtype::BF16 => rows::<bf16>(table),
        Dtype::F16 => rows::<f16>(table),
        _ => rows::<f32>(table),
    };
    for tensor in &tensors {
        if tensor.matrix().is_some() {
            match tensor.dtype {
                Dtype::F16 => products::<f16>(&mut cases, table, tensor),
                _ => products::<bf16>(&mut cases, table, tensor),
            }
            match tensor.dtype {
                Dtype::BF16 => quantised::<bf16>(&mut cases, tensor),
                Dtype::F16 => quantised::<f16>(&mut cases, tensor),
                _ => quantised::<f32>(&mut cases, tensor),
            }
        } else if tensor.is_norm_of(table) {
            match table.dtype {
                Dtype::BF16 => norms::<bf16>(&mut cases, table, tensor),
                Dtype::F16 => norms::<f16>(&mut cases, table, tensor),
                _ => norms::<f32>(&mut cases, table, tensor),
            }
        }
    }
    Ok(cases)
}

/// A tensor of bf16, f16 or f32 in a mapped file.
#[derive(Clone)]
struct Tensor {
    file: Arc<Mmap>,
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Its bytes in the file.
    data: Range<usize>,
}

/// The file's tensors of those types, by name.
fn read(map: Mmap) -> Result<Vec<Tensor>, String> {
    let (start, metadata) = read_header(&map)?;
    let file = Arc::new(map);
    let mut tensors: Vec<_> = metadata
        .tensors()
        .into_iter()
        .filter(|(_, info)| matches!(info.dtype, Dtype::BF16 | Dtype::F16 | Dtype::F32))
        .map(|(name, info)| Tensor {
            file: Arc::clone(&file),
            name,
            dtype: info.dtype,
            shape: info.shape.clone(),
            data: start + info.data_offsets.0..start + info.data_offsets.1,
        })
        .collect();
    tensors.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tensors)
}

/// The largest matrix whose name says that its rows are embeddings.
fn embedding_table(tensors: &[Tensor]) -> Option<&Tensor> {
    let is_table = |tensor: &&Tensor| {
        let name = tensor.name.to_lowercase();
        (name.contains("emb") || name.contains("wte")) && tensor.matrix().is_some()
    };
    tensors.iter().filter(is_table).max_by_key(|tensor| tensor.shape[0])
}

impl Tensor {
    /// Its sizes, if it is a matrix that is not empty.
    fn matrix(&self) -> Option<[usize; 2]> {
        match *self.shape {
            [rows, columns] if rows * columns > 0 => Some([rows, columns]),
            _ => None,
        }
    }

    /// Whether it is the weight of a norm of the table's rows.
    fn is_norm_of(&self, table: &Self) -> bool {
        let name = self.name.to_lowercase();
        let is_weight = name.ends_with("weight") || name.ends_with("gamma");
        let is_norm = name.contains("norm") || name.split('.').any(|part| part.starts_with("ln"));
        is_weight && is_norm && self.shape == table.shape[1..]
    }

    /// `count` elements from `start` on, converted.
    fn values<T: Real>(&self, start: usize, count: usize) -> impl Iterator<Item = T> + '_ {
        let width = self.dtype.bitsize() / 8;
        let data = &self.file[self.data.clone()][start * width..(start + count) * width];
        let to_f64 = match self.dtype {
            Dtype::BF16 => |b: &[u8]| bf16::from_le_bytes([b[0], b[1]]).to_f64(),
            Dtype::F16 => |b: &[u8]| f16::from_le_bytes([b[0], b[1]]).to_f64(),
            _ => |b: &[u8]| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])),
        };
        data.chunks_exact(width).map(move |bytes| T::from_f64(to_f64(bytes)))
    }

    /// All elements, converted.
    fn all<T: Real>(&self) -> Vec<T> {
        self.values(0, self.shape.iter().product()).collect()
    }

    /// How many [`rows`](Self::rows) of `k` elements the table gives; 0 if it has fewer elements.
    fn row_count(&self, k: usize) -> usize {
        let [rows, width] = [self.shape[0], self.shape[1]];
        if rows * width < k { 0 } else { rows.min(ROWS) }
    }

    /// Rows of `k` elements, spread over the whole table. Where its own rows are shorter, several
    /// are joined; where they are longer, each is cut.
    fn rows<T: Real>(&self, k: usize) -> Vec<T> {
        let [rows, width] = [self.shape[0], self.shape[1]];
        let count = self.row_count(k);
        let start = |i: usize| (i * rows / count * width).min(rows * width - k);
        (0..count).flat_map(|i| self.values(start(i), k)).collect()
    }
}

/// The weight as it is, `(n, k)`; and its transpose, which the file holds as `(k, n)`.
fn products<T: Real16>(cases: &mut Vec<Case>, table: &Tensor, weight: &Tensor) {
    let [rows, columns] = [weight.shape[0], weight.shape[1]];
    let name = format!("{} x rows of {}", weight.name, table.name);
    for (n, k, layout) in [(rows, columns, Layout::Tn), (columns, rows, Layout::Tt)] {
        let m = table.row_count(k);
        if m == 0 {
            continue;
        }
        let (table, weight) = (table.clone(), weight.clone());
        cases.push(a16w16_tensor_case(&name, [m, n, k], layout, move || {
            let stored: Vec<T> = weight.all();
            let w = if layout.w_is_transposed() { transpose(&stored, columns) } else { stored };
            [table.rows(k), w]
        }));
    }
}

/// Rows of a matrix as codes with scales, and back.
fn quantised<T: Real>(cases: &mut Vec<Case>, weight: &Tensor) {
    let width = weight.shape[1];
    let (name, shape) = (format!("{}, rows", weight.name), [weight.row_count(width), width]);
    let weight = weight.clone();
    cases.extend(quant_tensor_cases(&name, shape, move || weight.rows::<T>(width)));
}

/// The transpose of a matrix with rows of `columns` elements.
fn transpose<T: Real>(matrix: &[T], columns: usize) -> Vec<T> {
    let column = |at| matrix.iter().skip(at).step_by(columns).copied();
    (0..columns).flat_map(column).collect()
}

/// What is done to the table's rows alone.
fn rows<T: Real>(table: &Tensor) -> Vec<Case> {
    let width = table.shape[1];
    let (name, shape) = (format!("rows of {}", table.name), [table.row_count(width), width]);
    let table = table.clone();
    let rows = move || table.rows::<T>(width);
    let mut cases = row_tensor_cases(&name, shape, rows.clone());
    if width > 1 {
        cases.push(rope_tensor_case(&name, shape, rows));
    }
    cases
}

/// The norms of the table's rows, whose type is `T`, alone, behind an addition, and quantised.
fn norms<T: Real>(cases: &mut Vec<Case>, table: &Tensor, weight: &Tensor) {
    match weight.dtype {
        Dtype::BF16 => norms_by::<T, bf16>(cases, table, weight),
        Dtype::F16 => norms_by::<T, f16>(cases, table, weight),
        _ => norms_by::<T, f32>(cases, table, weight),
    }
}

fn norms_by<T: Real, W: Real>(cases: &mut Vec<Case>, table: &Tensor, weight: &Tensor) {
    let width = table.shape[1];
    let name = format!("{}, rows of {}", weight.name, table.name);
    let shape = [table.row_count(width), width];
    let (table, weight) = (table.clone(), weight.clone());
    let operands = move || (table.rows::<T>(width), weight.all::<W>());
    for fused in [false, true] {
        cases.push(rmsnorm_tensor_case(&name, shape, fused, operands.clone()));
        cases.push(layernorm_tensor_case(&name, shape, fused, operands.clone()));
    }
    cases.push(rmsnorm_pad_tensor_case(&name, shape, operands.clone()));
    cases.extend(norm_tensor_cases(&name, shape, operands));
}
