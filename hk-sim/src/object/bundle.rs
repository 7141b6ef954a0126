//! Clang offload bundles: several code objects, one per target, in one file.
//!
//! Format: LLVM documentation of clang-offload-bundler ("Bundled Binary File Layout").

use std::borrow::Cow;
use std::ops::Range;

use super::{LoadError, TargetId, compressed};
use crate::isa::Arch;

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
pub(super) const ELF_MAGIC: &[u8] = b"\x7fELF";

/// Most entries accepted in one bundle.
const MAX_ENTRIES: u64 = 4096;
/// Longest entry id accepted.
const MAX_ID: u64 = 4096;

/// One entry of a bundle.
struct Entry {
    /// `hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+`, `host-x86_64-unknown-linux-gnu-`, ...
    id: String,
    range: Range<u64>,
}

/// Code object for devices of `arch` inside `bytes`: the whole of an ELF file, or the best fitting
/// entry of a bundle. Either may be compressed (`--offload-compress`).
///
/// # Errors
///
/// [`LoadError::NoEntry`] if no entry of the bundle runs on the device,
/// [`LoadError::Compressed`] for a compressed file that does not unpack to what its header states,
/// [`LoadError::TooLarge`] for one that states too much, [`LoadError::UnknownFormat`] for neither.
pub fn select(bytes: &[u8], arch: Arch) -> Result<Cow<'_, [u8]>, LoadError> {
    if !bytes.starts_with(compressed::MAGIC) {
        return Ok(Cow::Borrowed(&bytes[chosen(bytes, arch)?]));
    }
    let mut unpacked = compressed::unpack(bytes)?;
    let range = chosen(&unpacked, arch)?;
    unpacked.truncate(range.end);
    unpacked.drain(..range.start);
    Ok(Cow::Owned(unpacked))
}

/// Where the code object for devices of `arch` is in an ELF file or a bundle.
fn chosen(bytes: &[u8], arch: Arch) -> Result<Range<usize>, LoadError> {
    if bytes.starts_with(ELF_MAGIC) {
        return Ok(0..bytes.len());
    }
    check_magic(bytes)?;
    let mut best: Option<(u8, &Entry)> = None;
    let entries = match entries(bytes)? {
        Scan::Done { entries, .. } => entries,
        Scan::More(len) => return Err(out_of_bounds(0, len)),
    };
    for entry in &entries {
        let Some(target) = device_target(&entry.id) else { continue };
        let rank = target.specificity();
        if target.runs_on(arch) && best.is_none_or(|(other, _)| rank > other) {
            best = Some((rank, entry));
        }
    }
    let Some((_, entry)) = best else {
        return Err(LoadError::NoEntry {
            wanted: TargetId::of_device(arch).to_string(),
            found: entries.into_iter().map(|entry| entry.id).collect(),
        });
    };
    let Range { start, end } = entry.range;
    usize::try_from(start)
        .ok()
        .zip(usize::try_from(end).ok())
        .map(|(start, end)| start..end)
        .filter(|range| range.end <= bytes.len())
        .ok_or_else(|| out_of_bounds(start, end - start))
}

/// Result of looking at the beginning of an image of unknown length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The beginning must be at least that long to tell.
    NeedPrefix(usize),
    /// The whole image is that long.
    Total(usize),
}

/// How many bytes the image that starts with `prefix` has, for interfaces that pass an image
/// without its length (`hipModuleLoadData`).
///
/// # Errors
///
/// As [`select`]; a length that no address space holds is [`LoadError::OutOfBounds`]. The first
/// version of compressed bundles does not state its length, which is [`LoadError::Compressed`].
pub fn extent(prefix: &[u8]) -> Result<Extent, LoadError> {
    if prefix.len() < MAGIC.len() {
        return Ok(Extent::NeedPrefix(MAGIC.len()));
    }
    let whole = if prefix.starts_with(ELF_MAGIC) {
        elf_extent(prefix)?
    } else if prefix.starts_with(compressed::MAGIC) {
        compressed::extent(prefix)?
    } else {
        check_magic(prefix)?;
        match entries(prefix)? {
            Scan::More(len) => Err(len),
            Scan::Done { entries, table_end } => {
                Ok(entries.iter().map(|entry| entry.range.end).fold(table_end, u64::max))
            }
        }
    };
    let fits = |len: u64| {
        usize::try_from(len)
            .ok()
            .filter(|len| isize::try_from(*len).is_ok())
            .ok_or_else(|| out_of_bounds(0, len))
    };
    Ok(match whole {
        Ok(total) => Extent::Total(fits(total)?),
        Err(more) => Extent::NeedPrefix(fits(more)?),
    })
}

/// `Ok(total)`, or `Err(needed)` if the tables reach beyond the prefix.
fn elf_extent(prefix: &[u8]) -> Result<Result<u64, u64>, LoadError> {
    const HEADER: u64 = 64;
    const PROGRAM_HEADER: u64 = 56;
    const SECTION_HEADER: u64 = 64;
    const SHT_NOBITS: u64 = 8;
    let Some(header) = prefix.get(..HEADER as usize) else { return Ok(Err(HEADER)) };
    let at = |bytes: &[u8], offset: usize, size: usize| -> u64 {
        little_endian(&bytes[offset..offset + size])
    };
    // Each table: offset, count, entry size, and where an entry states its own offset and size.
    let tables = [
        (at(header, 32, 8), at(header, 56, 2), PROGRAM_HEADER, 8, 32),
        (at(header, 40, 8), at(header, 60, 2), SECTION_HEADER, 24, 32),
    ];
    let mut end = HEADER;
    for (offset, count, size, _, _) in tables {
        if count > 0 {
            let table = offset.checked_add(count * size);
            end = end.max(table.ok_or_else(|| out_of_bounds(offset, count * size))?);
        }
    }
    let tables_end = end;
    if (prefix.len() as u64) < tables_end {
        return Ok(Err(tables_end));
    }
    for (table, (offset, count, size, entry_offset, entry_size)) in tables.into_iter().enumerate() {
        for index in 0..count {
            // The tables lie inside the prefix, so their offsets fit.
            let entry = &prefix[(offset + index * size) as usize..][..size as usize];
            if table == 1 && at(entry, 4, 4) == SHT_NOBITS {
                continue;
            }
            let (start, len) = (at(entry, entry_offset, 8), at(entry, entry_size, 8));
            let stop = start.checked_add(len).ok_or_else(|| out_of_bounds(start, len))?;
            end = end.max(stop);
        }
    }
    Ok(Ok(end))
}

/// The number in a field of at most eight bytes.
pub(super) fn little_endian(field: &[u8]) -> u64 {
    field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

pub(super) fn out_of_bounds(start: u64, len: u64) -> LoadError {
    LoadError::OutOfBounds { what: "image", start, len }
}

fn check_magic(bytes: &[u8]) -> Result<(), LoadError> {
    if bytes.starts_with(MAGIC) {
        return Ok(());
    }
    let mut first = [0; 4];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    Err(LoadError::UnknownFormat(first))
}

/// Target of a HIP entry id; `None` for host entries and other processors.
fn device_target(id: &str) -> Option<TargetId> {
    let triple = id.strip_prefix("hipv4-").or_else(|| id.strip_prefix("hip-"))?;
    // The environment component of the triple may be absent ("--") or given ("-unknown-").
    let triple = triple.strip_prefix("amdgcn-amd-amdhsa-")?;
    let (_, target) = triple.split_once('-')?;
    TargetId::parse(target)
}

/// Table of a bundle, read from as many bytes as are there.
enum Scan {
    Done {
        entries: Vec<Entry>,
        table_end: u64,
    },
    /// The table needs that many bytes.
    More(u64),
}

fn entries(bytes: &[u8]) -> Result<Scan, LoadError> {
    let mut cursor = MAGIC.len() as u64;
    let Some(count) = u64_at(bytes, cursor) else { return Ok(Scan::More(cursor + 8)) };
    if count > MAX_ENTRIES {
        return Err(LoadError::Malformed(format!("offload bundle with {count} entries")));
    }
    cursor += 8;
    let mut entries = Vec::new();
    for _ in 0..count {
        let fields = [0, 8, 16].map(|at| u64_at(bytes, cursor + at));
        let [Some(offset), Some(size), Some(id_len)] = fields else {
            return Ok(Scan::More(cursor + 24));
        };
        if id_len > MAX_ID {
            return Err(LoadError::Malformed(format!("offload bundle id of {id_len} bytes")));
        }
        cursor += 24;
        let end = cursor + id_len;
        // Both are below the sum of the caps above.
        let Some(id) = bytes.get(cursor as usize..end as usize) else {
            return Ok(Scan::More(end));
        };
        let stop = offset.checked_add(size).ok_or_else(|| out_of_bounds(offset, size))?;
        entries.push(Entry { id: String::from_utf8_lossy(id).into_owned(), range: offset..stop });
        cursor = end;
    }
    Ok(Scan::Done { entries, table_end: cursor })
}

fn u64_at(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let field = bytes.get(at..at.checked_add(8)?)?;
    field.try_into().ok().map(u64::from_le_bytes)
}
