//! Why an image is not a loadable code object.

/// Reason for which [`super::CodeObject::parse`] or [`super::bundle::select`] refuses an image.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The container itself is broken.
    #[error("malformed code object: {0}")]
    Malformed(String),
    /// A table of the file lies outside the file or outside its segments.
    #[error("{what} at {start:#x} with {len:#x} bytes lies outside the code object")]
    OutOfBounds {
        /// Which table or field.
        what: &'static str,
        /// Offset or virtual address.
        start: u64,
        /// Length in bytes.
        len: u64,
    },
    /// The bytes start with none of the known magic numbers.
    #[error("neither an ELF code object nor an offload bundle (first bytes {0:02x?})")]
    UnknownFormat([u8; 4]),
    /// An ELF file for something else than an AMD GPU.
    #[error("not an AMDGPU HSA code object: {0}")]
    NotAmdgpu(String),
    /// Code object version outside v4..=v6.
    #[error(
        "code object version {found} is not supported (v4 to v6 are; recompile with \
         -mcode-object-version=5)"
    )]
    Version {
        /// Version that the ELF header states.
        found: u8,
    },
    /// Code for another processor.
    #[error("code object is for {machine}, not for gfx942, gfx950 or gfx9-4-generic")]
    Processor {
        /// LLVM name, or the number where the name is not known.
        machine: String,
    },
    /// A bundle without an entry that the device can run.
    #[error("no code object for {wanted} in the offload bundle; it has: {}", found.join(", "))]
    NoEntry {
        /// Target id of the device.
        wanted: String,
        /// Targets of the entries.
        found: Vec<String>,
    },
    /// A compressed bundle (`CCOB`) that cannot be unpacked.
    #[error("compressed offload bundle: {reason}")]
    Compressed {
        /// What is wrong.
        reason: String,
    },
    /// A kernel of the metadata whose descriptor symbol is missing.
    #[error("kernel {kernel}: symbol {symbol} is not in the symbol table")]
    MissingSymbol {
        /// Kernel name.
        kernel: String,
        /// Symbol that the metadata names.
        symbol: String,
    },
    /// A kernel descriptor with fields that these processors do not have.
    #[error("kernel {kernel}: {reason}")]
    Descriptor {
        /// Kernel name.
        kernel: String,
        /// What is wrong.
        reason: String,
    },
    /// The metadata note does not have the documented form.
    #[error("metadata: {0}")]
    Metadata(String),
    /// A relocation against a symbol that nothing defines.
    #[error("undefined symbol {0}")]
    UndefinedSymbol(String),
    /// A relocation that cannot occur in a linked code object.
    #[error("relocation type {kind} at {offset:#x} cannot be applied: {reason}")]
    Relocation {
        /// `R_AMDGPU_*` number.
        kind: u32,
        /// Virtual address of the relocated field.
        offset: u64,
        /// Why not.
        reason: &'static str,
    },
    /// The loaded image, or what a compressed bundle holds, would be unreasonably large.
    #[error("the image would take {bytes:#x} bytes (limit {limit:#x})")]
    TooLarge {
        /// Size of the image.
        bytes: u64,
        /// Largest accepted size.
        limit: u64,
    },
}

hk_types::debug_is_message!(LoadError);

impl From<object::Error> for LoadError {
    fn from(error: object::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}
