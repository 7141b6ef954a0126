//! Compressed offload bundles: a header, then one bundle or code object as a stream of zlib or zstd.
//!
//! Format: `CompressedOffloadBundle` of LLVM. The header's hash of the contents is for the caches of
//! build tools; as in LLVM and in HIP, nobody compares it.

use std::ops::Range;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::LoadError;
use super::bundle::{little_endian, out_of_bounds};

pub(super) const MAGIC: &[u8] = b"CCOB";

/// Largest bundle that is unpacked. The third version exists because some have more than 4 GiB.
const MAX_UNPACKED: u64 = 1 << 33;
/// Largest window of zstd, the default limit of the zstd library; compilers use no larger one.
const MAX_WINDOW: u64 = 1 << 27;
/// Bytes that are unpacked before it is looked whether they are too many.
const STEP: usize = 1 << 20;

#[derive(Clone, Copy)]
enum Method {
    Zlib,
    Zstd,
}

struct Header {
    method: Method,
    /// Where the stream begins.
    start: usize,
    /// Bytes of header and stream; the first version does not say.
    total: Option<u64>,
    /// Bytes that the stream unpacks to.
    size: u64,
}

impl Header {
    /// The header at the beginning of a file, or how many bytes are needed to tell.
    fn read(bytes: &[u8]) -> Result<Result<Self, usize>, LoadError> {
        let Some(fixed) = bytes.get(..8) else { return Ok(Err(8)) };
        // Where the stream begins, and the fields of the two sizes. The hash is behind them.
        let (start, total, size): (_, Option<Range<usize>>, _) = match little_endian(&fixed[4..6]) {
            1 => (20, None, 8..12),
            2 => (24, Some(8..12), 12..16),
            3 => (32, Some(8..16), 16..24),
            other => return Err(refused(format!("version {other} is not known (1 to 3 are)"))),
        };
        let method = match little_endian(&fixed[6..8]) {
            0 => Method::Zlib,
            1 => Method::Zstd,
            other => {
                let reason = format!("method {other} is not known (0, zlib, and 1, zstd, are)");
                return Err(refused(reason));
            }
        };
        let Some(header) = bytes.get(..start) else { return Ok(Err(start)) };
        let total = total.map(|field| little_endian(&header[field]));
        if let Some(total) = total.filter(|total| *total < start as u64) {
            return Err(refused(format!("{total} bytes in all, with a header of {start}")));
        }
        Ok(Ok(Self { method, start, total, size: little_endian(&header[size]) }))
    }
}

fn refused(reason: String) -> LoadError {
    LoadError::Compressed { reason }
}

/// Bytes of the file that starts with `prefix`: `Ok(total)`, or `Err(needed)` if the header reaches
/// beyond the prefix.
pub(super) fn extent(prefix: &[u8]) -> Result<Result<u64, u64>, LoadError> {
    match Header::read(prefix)? {
        Err(needed) => Ok(Err(needed as u64)),
        // The stream says where it ends, but not before it is read that far.
        Ok(header) => header.total.map(Ok).ok_or_else(|| {
            refused("version 1 does not state its length; load it from a file".to_owned())
        }),
    }
}

/// What a file holds. Bytes behind it are ignored.
pub(super) fn unpack(bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    let header = Header::read(bytes)?.map_err(|needed| out_of_bounds(0, needed as u64))?;
    let end = header.total.unwrap_or(bytes.len() as u64);
    let packed = usize::try_from(end).ok().and_then(|end| bytes.get(header.start..end));
    let packed = packed.ok_or_else(|| out_of_bounds(0, end))?;
    let too_large = LoadError::TooLarge { bytes: header.size, limit: MAX_UNPACKED };
    let size = usize::try_from(header.size).ok().filter(|_| header.size <= MAX_UNPACKED);
    let size = size.ok_or(too_large)?;
    let unpacked = match header.method {
        Method::Zlib => decompress_to_vec_zlib_with_limit(packed, size)
            .map_err(|error| refused(format!("zlib: {error}")))?,
        Method::Zstd => {
            unpack_zstd(packed, size).map_err(|error| refused(format!("zstd: {error}")))?
        }
    };
    if unpacked.len() != size {
        let found = unpacked.len();
        return Err(refused(format!("it unpacks to {found} bytes, the header states {size}")));
    }
    Ok(unpacked)
}

/// The contents of frames, until there are `size` bytes of them.
fn unpack_zstd(mut packed: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW);
    let mut unpacked = Vec::new();
    while unpacked.len() < size && !packed.is_empty() {
        decoder.init(&mut packed).map_err(|error| error.to_string())?;
        while !decoder.is_finished() {
            let step = BlockDecodingStrategy::UptoBytes(STEP);
            decoder.decode_blocks(&mut packed, step).map_err(|error| error.to_string())?;
            decoder.collect_to_writer(&mut unpacked).map_err(|error| error.to_string())?;
            if unpacked.len() > size {
                return Err(format!("more than {size} bytes, which the header states"));
            }
        }
        let stated = decoder.get_checksum_from_data();
        if stated.is_some() && stated != decoder.get_calculated_checksum() {
            return Err("the checksum is wrong".to_owned());
        }
    }
    Ok(unpacked)
}
