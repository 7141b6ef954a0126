//! The metadata note (`NT_AMDGPU_METADATA`, MessagePack).
//!
//! Keys: LLVM AMDGPU usage, "Code Object V3 Metadata" to "V5 Metadata".

use rmpv::Value;

use super::LoadError;

/// Deepest nesting accepted (the documented form needs 5).
const MAX_DEPTH: usize = 32;

/// What the metadata says of one kernel, beyond its descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelMetadata {
    /// Arguments in the order of their offsets, hidden ones included.
    pub args: Vec<KernelArg>,
    /// Bytes of the kernarg segment.
    pub kernarg_segment_size: u32,
    /// Alignment of the kernarg segment.
    pub kernarg_segment_align: u32,
    /// Static LDS bytes.
    pub group_segment_fixed_size: u32,
    /// Scratch bytes per work-item.
    pub private_segment_fixed_size: u32,
    /// Lanes per wave.
    pub wavefront_size: u32,
    /// Scalar registers.
    pub sgpr_count: u32,
    /// Vector registers in the unified file, accumulation registers included.
    pub vgpr_count: u32,
    /// Accumulation registers.
    pub agpr_count: u32,
    /// Spilled scalar registers.
    pub sgpr_spill_count: u32,
    /// Spilled vector registers.
    pub vgpr_spill_count: u32,
    /// Largest workgroup the kernel was compiled for, in work-items.
    pub max_flat_workgroup_size: u32,
    /// Workgroup size the kernel was compiled for, where it is fixed.
    pub reqd_workgroup_size: Option<[u32; 3]>,
    /// Whether every workgroup must be full.
    pub uniform_work_group_size: bool,
    /// Whether the stack of the kernel has no static bound.
    pub uses_dynamic_stack: bool,
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelArg {
    /// Name in the source, where it was kept.
    pub name: Option<String>,
    /// Offset in the kernarg segment.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
    /// What the bytes mean.
    pub value_kind: ValueKind,
    /// Address space of a pointer: `global`, `local`, ...
    pub address_space: Option<String>,
    /// Access qualifier: `read_only`, `write_only`, `read_write`.
    pub access: Option<String>,
    /// Whether the pointee is const.
    pub is_const: bool,
}

/// Meaning of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// The bytes themselves.
    ByValue,
    /// Pointer to global memory.
    GlobalBuffer,
    /// Size or offset of dynamic LDS (OpenCL).
    DynamicSharedPointer,
    /// Image, sampler, pipe or queue handle: OpenCL objects.
    OpenClObject,
    /// Filled in by the runtime.
    Hidden(HiddenArg),
    /// A kind unknown to this crate; treated as bytes.
    Other,
}

/// Value that the runtime supplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HiddenArg {
    /// Workgroups of the grid in that dimension.
    BlockCount(u8),
    /// Work-items of a workgroup in that dimension.
    GroupSize(u8),
    /// Work-items of the partial last workgroup in that dimension.
    Remainder(u8),
    /// Offset of the global id in that dimension.
    GlobalOffset(u8),
    /// Number of dimensions of the grid.
    GridDims,
    /// Bytes of dynamic LDS.
    DynamicLdsSize,
    /// Address of the queue.
    QueuePtr,
    /// High half of the private aperture.
    PrivateBase,
    /// High half of the shared aperture.
    SharedBase,
    /// Where the workgroups of a cooperative launch meet; null for others.
    GridSync,
    /// A service that the simulator does not offer (printf, host calls, device heap, device-side
    /// enqueue, multi-device grids) or padding: null.
    Null,
}

impl ValueKind {
    fn from_name(name: &str) -> Self {
        const DIMENSIONS: [(&str, u8); 3] = [("_x", 0), ("_y", 1), ("_z", 2)];
        let hidden = match name {
            "by_value" => return Self::ByValue,
            "global_buffer" => return Self::GlobalBuffer,
            "dynamic_shared_pointer" => return Self::DynamicSharedPointer,
            "sampler" | "image" | "pipe" | "queue" => return Self::OpenClObject,
            "hidden_grid_dims" => HiddenArg::GridDims,
            "hidden_dynamic_lds_size" => HiddenArg::DynamicLdsSize,
            "hidden_queue_ptr" => HiddenArg::QueuePtr,
            "hidden_private_base" => HiddenArg::PrivateBase,
            "hidden_shared_base" => HiddenArg::SharedBase,
            "hidden_multigrid_sync_arg" => HiddenArg::GridSync,
            _ if !name.starts_with("hidden_") => return Self::Other,
            _ => {
                let split = DIMENSIONS.into_iter().find_map(|(suffix, dimension)| {
                    name.strip_suffix(suffix).map(|stem| (stem, dimension))
                });
                match split {
                    Some(("hidden_block_count", dimension)) => HiddenArg::BlockCount(dimension),
                    Some(("hidden_group_size", dimension)) => HiddenArg::GroupSize(dimension),
                    Some(("hidden_remainder", dimension)) => HiddenArg::Remainder(dimension),
                    Some(("hidden_global_offset", dimension)) => HiddenArg::GlobalOffset(dimension),
                    _ => HiddenArg::Null,
                }
            }
        };
        Self::Hidden(hidden)
    }
}

/// One entry of `amdhsa.kernels`.
pub(super) struct NamedMetadata {
    pub(super) name: String,
    pub(super) symbol: String,
    pub(super) kernel: KernelMetadata,
}

/// Metadata note of a code object.
#[derive(Default)]
pub(super) struct Note {
    /// `amdhsa.target`, from v4 on.
    pub(super) target: Option<String>,
    pub(super) kernels: Vec<NamedMetadata>,
}

/// The MessagePack document of a note.
pub(super) fn read(mut bytes: &[u8]) -> Result<Value, LoadError> {
    rmpv::decode::read_value_with_max_depth(&mut bytes, MAX_DEPTH)
        .map_err(|error| LoadError::Metadata(error.to_string()))
}

pub(super) fn parse(bytes: &[u8]) -> Result<Note, LoadError> {
    let root = read(bytes)?;
    let root = Map::new(&root, "root")?;
    let mut note = Note {
        target: root.optional_str("amdhsa.target")?.map(str::to_owned),
        kernels: Vec::new(),
    };
    for entry in root.list("amdhsa.kernels")? {
        note.kernels.push(kernel(&Map::new(entry, "amdhsa.kernels")?)?);
    }
    Ok(note)
}

fn kernel(map: &Map<'_>) -> Result<NamedMetadata, LoadError> {
    let mut args = map
        .list(".args")?
        .iter()
        .map(|entry| argument(&Map::new(entry, ".args")?))
        .collect::<Result<Vec<_>, _>>()?;
    args.sort_by_key(|arg| arg.offset);
    let reqd_workgroup_size = match map.list(".reqd_workgroup_size")? {
        [] => None,
        [x, y, z] => Some([
            number(x, ".reqd_workgroup_size")?,
            number(y, ".reqd_workgroup_size")?,
            number(z, ".reqd_workgroup_size")?,
        ]),
        _ => return Err(map.wrong(".reqd_workgroup_size", "three numbers")),
    };
    Ok(NamedMetadata {
        name: map.str(".name")?.to_owned(),
        symbol: map.str(".symbol")?.to_owned(),
        kernel: KernelMetadata {
            args,
            kernarg_segment_size: map.number(".kernarg_segment_size")?,
            kernarg_segment_align: map.number(".kernarg_segment_align")?,
            group_segment_fixed_size: map.number(".group_segment_fixed_size")?,
            private_segment_fixed_size: map.number(".private_segment_fixed_size")?,
            wavefront_size: map.number(".wavefront_size")?,
            sgpr_count: map.number(".sgpr_count")?,
            vgpr_count: map.number(".vgpr_count")?,
            agpr_count: map.optional_number(".agpr_count")?.unwrap_or(0),
            sgpr_spill_count: map.optional_number(".sgpr_spill_count")?.unwrap_or(0),
            vgpr_spill_count: map.optional_number(".vgpr_spill_count")?.unwrap_or(0),
            max_flat_workgroup_size: map.number(".max_flat_workgroup_size")?,
            reqd_workgroup_size,
            uniform_work_group_size: map.flag(".uniform_work_group_size")?,
            uses_dynamic_stack: map.flag(".uses_dynamic_stack")?,
        },
    })
}

fn argument(map: &Map<'_>) -> Result<KernelArg, LoadError> {
    Ok(KernelArg {
        name: map.optional_str(".name")?.map(str::to_owned),
        offset: map.number(".offset")?,
        size: map.number(".size")?,
        value_kind: ValueKind::from_name(map.str(".value_kind")?),
        address_space: map.optional_str(".address_space")?.map(str::to_owned),
        access: map
            .optional_str(".actual_access")?
            .or(map.optional_str(".access")?)
            .map(str::to_owned),
        is_const: map.flag(".is_const")?,
    })
}

/// A MessagePack map with error messages that name the key.
pub(super) struct Map<'a> {
    entries: &'a [(Value, Value)],
    place: &'static str,
}

impl<'a> Map<'a> {
    pub(super) fn new(value: &'a Value, place: &'static str) -> Result<Self, LoadError> {
        match value {
            Value::Map(entries) => Ok(Self { entries, place }),
            _ => Err(LoadError::Metadata(format!("{place}: expected a map"))),
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    fn wrong(&self, key: &str, expected: &str) -> LoadError {
        LoadError::Metadata(format!("{}: {key}: expected {expected}", self.place))
    }

    pub(super) fn optional_str(&self, key: &str) -> Result<Option<&'a str>, LoadError> {
        self.get(key)
            .map(|value| value.as_str().ok_or_else(|| self.wrong(key, "a string")))
            .transpose()
    }

    pub(super) fn str(&self, key: &str) -> Result<&'a str, LoadError> {
        self.optional_str(key)?.ok_or_else(|| self.wrong(key, "a string, found nothing"))
    }

    fn optional_number(&self, key: &'static str) -> Result<Option<u32>, LoadError> {
        self.get(key).map(|value| number(value, key)).transpose()
    }

    pub(super) fn number(&self, key: &'static str) -> Result<u32, LoadError> {
        self.optional_number(key)?.ok_or_else(|| self.wrong(key, "a number, found nothing"))
    }

    /// A boolean, which older producers write as 0 or 1; absent means false.
    pub(super) fn flag(&self, key: &'static str) -> Result<bool, LoadError> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Boolean(flag)) => Ok(*flag),
            Some(value) => Ok(number(value, key)? != 0),
        }
    }

    /// A list; absent means empty.
    pub(super) fn list(&self, key: &str) -> Result<&'a [Value], LoadError> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(self.wrong(key, "a list")),
        }
    }
}

fn number(value: &Value, key: &'static str) -> Result<u32, LoadError> {
    value.as_u64().and_then(|wide| u32::try_from(wide).ok()).ok_or_else(|| {
        LoadError::Metadata(format!("{key}: expected a number below 2^32, found {value}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_map_to_values() {
        use HiddenArg::*;
        for (name, hidden) in [
            ("hidden_block_count_x", BlockCount(0)),
            ("hidden_group_size_y", GroupSize(1)),
            ("hidden_remainder_z", Remainder(2)),
            ("hidden_global_offset_z", GlobalOffset(2)),
            ("hidden_grid_dims", GridDims),
            ("hidden_dynamic_lds_size", DynamicLdsSize),
            ("hidden_multigrid_sync_arg", GridSync),
            ("hidden_hostcall_buffer", Null),
            ("hidden_group_size_w", Null),
            ("hidden_none", Null),
        ] {
            assert_eq!(ValueKind::from_name(name), ValueKind::Hidden(hidden), "{name}");
        }
        assert_eq!(ValueKind::from_name("by_value"), ValueKind::ByValue);
        assert_eq!(ValueKind::from_name("something"), ValueKind::Other);
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let mut bytes = vec![0x91; 5000];
        bytes.push(0);
        assert!(matches!(parse(&bytes), Err(LoadError::Metadata(_))));
    }

    #[test]
    fn wrong_types_name_the_key() {
        let mut bytes = Vec::new();
        let value = Value::Map(vec![("amdhsa.kernels".into(), Value::from(3))]);
        rmpv::encode::write_value(&mut bytes, &value).expect("writing to a vector succeeds");
        let error = parse(&bytes).err().expect("a number is no list").to_string();
        assert!(error.contains("amdhsa.kernels"), "{error}");
    }
}
