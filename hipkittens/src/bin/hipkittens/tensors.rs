//! Cases on the tensors of a real model, from a file in the safetensors format.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use hk_core::dtype::{Real, Real16, bf16, f16};
use hk_gemm::Layout;
use hk_gemm::parity::a16w16_tensor_case;
use hk_norm::parity::rmsnorm_tensor_case;
use hk_ref::Case;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

/// Rows of the embedding table that go into each product.
const ROWS: usize = 16;

/// Element types that the format knows. Those that no op takes are passed over.
const KNOWN: [&str; 22] = [
    "U64",
    "BOOL",
    "F4",
    "F6_E2M3",
    "F6_E3M2",
    "U8",
    "I8",
    "F8_E5M2",
    "F8_E4M3",
    "F8_E8M0",
    "F8_E4M3FNUZ",
    "F8_E5M2FNUZ",
    "I16",
    "U16",
    "F16",
    "BF16",
    "I32",
    "U32",
    "F32",
    "C64",
    "F64",
    "I64",
];

/// Every op that fits on the file's tensors: products of rows of the embedding table with each 2-D
/// weight in both orientations, and normalisations of these rows by each norm's weight.
///
/// # Errors
/// A message that names the file, and the tensor if it is about one.
pub(crate) fn cases(path: &Path) -> Result<Vec<Case>, String> {
    let fail = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| fail(&error))?;
    // SAFETY: the map is read only. Another process that changes the file meanwhile changes numbers,
    // whose every bit pattern is valid; what was checked of the header is a copy.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.map_err(|error| fail(&error))?;
    check_header(&bytes).map_err(|what| fail(&what))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| fail(&error))?;
    let mut all: Vec<_> = tensors.iter().filter(|(_, view)| is_real(view.dtype())).collect();
    all.sort_by_key(|(name, _)| *name);
    let table = all
        .iter()
        .filter(|(name, view)| name.contains("emb") && matrix(view).is_some())
        .max_by_key(|(_, view)| view.shape()[0]);
    let Some((table_name, table)) = table else {
        let what = "no tensor fits: there is no embedding table, a matrix of bf16, f16 or f32 with \
                    `emb` in its name";
        return Err(fail(&what));
    };
    let mut cases = Vec::new();
    for (name, view) in &all {
        if let Some([rows, columns]) = matrix(view) {
            // The weight as it is, (n, k); and its transpose, which is stored as (k, n).
            let title = format!("{name} x {table_name}");
            match view.dtype() {
                Dtype::F16 => products::<f16>(&mut cases, &title, table, view, [rows, columns]),
                _ => products::<bf16>(&mut cases, &title, table, view, [rows, columns]),
            }
        } else if view.shape() == [table.shape()[1]]
            && name.to_lowercase().contains("norm")
            && name.ends_with("weight")
        {
            let title = format!("{name}, rows of {table_name}");
            match table.dtype() {
                Dtype::BF16 => norms::<bf16>(&mut cases, &title, table, view),
                Dtype::F16 => norms::<f16>(&mut cases, &title, table, view),
                _ => norms::<f32>(&mut cases, &title, table, view),
            }
        }
    }
    Ok(cases)
}

/// Finds what is wrong with a single tensor, and names it; what is wrong with the file as a whole
/// is left to the parser.
fn check_header(bytes: &[u8]) -> Result<(), String> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else { return Ok(()) };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let Some((header, data)) = rest.split_at_checked(length) else { return Ok(()) };
    let Ok(serde_json::Value::Object(header)) = serde_json::from_slice(header) else {
        return Ok(());
    };
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let dtype = tensor["dtype"].as_str().unwrap_or("none");
        if !KNOWN.contains(&dtype) {
            return Err(format!("tensor {name}: unknown dtype {dtype}"));
        }
        let end = tensor["data_offsets"][1].as_u64().unwrap_or(u64::MAX);
        if end > data.len() as u64 {
            let len = data.len();
            return Err(format!(
                "tensor {name}: its data ends at byte {end}, but only {len} bytes follow the \
                 header: the file is truncated or corrupt"
            ));
        }
    }
    Ok(())
}

fn is_real(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::BF16 | Dtype::F16 | Dtype::F32)
}

/// The sizes of a matrix that is not empty.
fn matrix(view: &TensorView<'_>) -> Option<[usize; 2]> {
    match *view.shape() {
        [rows, columns] if rows * columns > 0 => Some([rows, columns]),
        _ => None,
    }
}

/// The first `count` elements, converted.
fn values<T: Real>(view: &TensorView<'_>, count: usize) -> Vec<T> {
    let data = view.data();
    fn convert<const N: usize, T: Real>(
        data: &[u8],
        count: usize,
        to_f64: impl Fn([u8; N]) -> f64,
    ) -> Vec<T> {
        data.as_chunks::<N>().0.iter().take(count).map(|b| T::from_f64(to_f64(*b))).collect()
    }
    match view.dtype() {
        Dtype::BF16 => convert(data, count, |b| bf16::from_le_bytes(b).to_f64()),
        Dtype::F16 => convert(data, count, |b| f16::from_le_bytes(b).to_f64()),
        _ => convert(data, count, |b: [u8; 4]| f64::from(f32::from_le_bytes(b))),
    }
}

/// Rows of `k` elements from the start of the table. Where its own rows have another length, they
/// are joined and cut.
fn rows<T: Real>(table: &TensorView<'_>, k: usize) -> Vec<T> {
    let mut rows = values(table, ROWS * k);
    rows.truncate(rows.len() / k * k);
    rows
}

fn products<T: Real16>(
    cases: &mut Vec<Case>,
    title: &str,
    table: &TensorView<'_>,
    weight: &TensorView<'_>,
    [n, k]: [usize; 2],
) {
    let stored: Vec<T> = values(weight, n * k);
    let x = Arc::new(rows::<T>(table, k));
    let shape = [x.len() / k, n, k];
    // The case takes w as (n, k) and stores it as the layout says; the transposed weight is (k, n)
    // as it is in the file.
    let transposed: Vec<T> = (0..k)
        .flat_map(|column| (0..n).map(move |row| (row, column)))
        .map(|(row, column)| stored[row * k + column])
        .collect();
    cases.push(a16w16_tensor_case(title.to_owned(), x, Arc::new(stored), shape, Layout::Tn));
    let x = Arc::new(rows::<T>(table, n));
    let shape = [x.len() / n, k, n];
    cases.push(a16w16_tensor_case(title.to_owned(), x, Arc::new(transposed), shape, Layout::Tt));
}

fn norms<T: Real>(
    cases: &mut Vec<Case>,
    title: &str,
    table: &TensorView<'_>,
    weight: &TensorView<'_>,
) {
    fn with_weight<T: Real, W: Real>(
        cases: &mut Vec<Case>,
        title: &str,
        table: &TensorView<'_>,
        weight: &TensorView<'_>,
    ) {
        let width = weight.shape()[0];
        let (rows, weight) = (Arc::new(rows::<T>(table, width)), values::<W>(weight, width));
        let weight = Arc::new(weight);
        for fused in [false, true] {
            let (rows, weight) = (Arc::clone(&rows), Arc::clone(&weight));
            cases.push(rmsnorm_tensor_case(title.to_owned(), rows, weight, fused));
        }
    }
    match weight.dtype() {
        Dtype::BF16 => with_weight::<T, bf16>(cases, title, table, weight),
        Dtype::F16 => with_weight::<T, f16>(cases, title, table, weight),
        _ => with_weight::<T, f32>(cases, title, table, weight),
    }
}
