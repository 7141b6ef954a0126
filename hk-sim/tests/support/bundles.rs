//! Offload bundles, plain and compressed, written by hand.

/// A bundle as clang-offload-bundler lays it out.
pub(crate) fn bundle_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let table: usize = entries.iter().map(|(id, _)| 24 + id.len()).sum();
    let mut offset = (32 + table).next_multiple_of(4096);
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend((entries.len() as u64).to_le_bytes());
    for (id, code) in entries {
        for field in [offset, code.len(), id.len()] {
            bytes.extend((field as u64).to_le_bytes());
        }
        bytes.extend(id.as_bytes());
        offset = (offset + code.len()).next_multiple_of(4096);
    }
    for (_, code) in entries {
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend(*code);
    }
    bytes
}

/// A file of a version (1 to 3) and method (0: zlib, 1: zstd) as LLVM lays it out, around a stream
/// that unpacks to `size` bytes.
pub(crate) fn wrapped(version: u16, method: u16, stream: &[u8], size: u64) -> Vec<u8> {
    let mut bytes = b"CCOB".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(method.to_le_bytes());
    let narrow = |size: u64| u32::try_from(size).expect("it fits").to_le_bytes();
    let len = stream.len() as u64;
    match version {
        1 => bytes.extend(narrow(size)),
        2 => bytes.extend([narrow(24 + len), narrow(size)].concat()),
        _ => bytes.extend([(32 + len).to_le_bytes(), size.to_le_bytes()].concat()),
    }
    // The hash, which nobody compares.
    bytes.extend([0x5a; 8]);
    bytes.extend(stream);
    bytes
}

/// The same around a stream that stores the contents.
pub(crate) fn compressed(version: u16, method: u16, contents: &[u8]) -> Vec<u8> {
    let stream = if method == 0 { zlib(contents) } else { zstd(contents) };
    wrapped(version, method, &stream, contents.len() as u64)
}

/// A zlib stream of stored blocks (RFC 1950, RFC 1951).
fn zlib(contents: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let blocks = contents.chunks(0xffff);
    let last = blocks.len();
    for (number, block) in (1..).zip(blocks) {
        let len = block.len() as u16;
        stream.push(u8::from(number == last));
        stream.extend([len.to_le_bytes(), (!len).to_le_bytes()].concat());
        stream.extend(block);
    }
    let (a, b) = contents.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    stream.extend((b << 16 | a).to_be_bytes());
    stream
}

/// A zstd frame of raw blocks (RFC 8878), without size and checksum and with a window of 1 MiB.
fn zstd(contents: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    let blocks = contents.chunks(1 << 17);
    let last = blocks.len();
    for (number, block) in (1..).zip(blocks) {
        let header = (block.len() as u32) << 3 | u32::from(number == last);
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}
