//! Target identifiers such as `gfx942:sramecc+:xnack-`.

use std::fmt;

use crate::isa::Arch;

/// Processor that a code object was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Processor {
    /// One chip.
    Arch(Arch),
    /// The subset that all of gfx940, gfx941, gfx942 and gfx950 understand.
    Gfx94Generic,
}

impl Processor {
    /// LLVM processor name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arch(arch) => arch.name(),
            Self::Gfx94Generic => "gfx9-4-generic",
        }
    }

    /// Processor of an LLVM processor name.
    pub fn by_name(name: &str) -> Option<Self> {
        [Self::Arch(Arch::Gfx942), Self::Arch(Arch::Gfx950), Self::Gfx94Generic]
            .into_iter()
            .find(|processor| processor.name() == name)
    }

    fn by_machine(machine: u32) -> Option<Self> {
        Self::by_name(machine_name(machine)?)
    }
}

/// How code was compiled with regard to a target feature, or how a device is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The processor has no such feature.
    Unsupported,
    /// The code runs with the feature on and off.
    #[default]
    Any,
    /// Off.
    Off,
    /// On.
    On,
}

impl Feature {
    fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Self::Unsupported,
            1 => Self::Any,
            2 => Self::Off,
            _ => Self::On,
        }
    }

    /// Whether code with this setting runs on a device that has the feature set to `on`.
    fn accepts(self, on: bool) -> bool {
        match self {
            Self::Unsupported | Self::Any => true,
            Self::Off => !on,
            Self::On => on,
        }
    }
}

/// `sramecc` and `xnack` of every simulated device, as discrete Instinct cards report them.
const DEVICE_SRAMECC: bool = true;
const DEVICE_XNACK: bool = false;

/// Target of a code object or of a bundle entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// Processor.
    pub processor: Processor,
    /// Error correction of on-chip memory.
    pub sramecc: Feature,
    /// Retry of faulting memory accesses.
    pub xnack: Feature,
}

impl TargetId {
    /// Target that a simulated device reports (`hipDeviceProp_t::gcnArchName`).
    pub fn of_device(arch: Arch) -> Self {
        let set = |on| if on { Feature::On } else { Feature::Off };
        Self {
            processor: Processor::Arch(arch),
            sramecc: set(DEVICE_SRAMECC),
            xnack: set(DEVICE_XNACK),
        }
    }

    /// Target that the `e_flags` of a v4..v6 object state; the machine name if it is another chip.
    pub(super) fn from_elf_flags(flags: u32) -> Result<Self, String> {
        let machine = flags & 0xff;
        let processor = Processor::by_machine(machine).ok_or_else(|| {
            machine_name(machine).map_or_else(|| format!("machine {machine:#x}"), str::to_owned)
        })?;
        Ok(Self {
            processor,
            xnack: Feature::from_bits(flags >> 8),
            sramecc: Feature::from_bits(flags >> 10),
        })
    }

    /// Parses `gfx942:sramecc+:xnack-`; `None` for another processor or a malformed feature.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let mut target = Self {
            processor: Processor::by_name(parts.next()?)?,
            sramecc: Feature::Any,
            xnack: Feature::Any,
        };
        for part in parts {
            let setting = match part.chars().last()? {
                '+' => Feature::On,
                '-' => Feature::Off,
                _ => return None,
            };
            match &part[..part.len() - 1] {
                "sramecc" => target.sramecc = setting,
                "xnack" => target.xnack = setting,
                _ => return None,
            }
        }
        Some(target)
    }

    /// Whether a simulated device of that architecture can run the code.
    pub fn runs_on(&self, arch: Arch) -> bool {
        let processor = match self.processor {
            Processor::Arch(own) => own == arch,
            Processor::Gfx94Generic => true,
        };
        processor && self.sramecc.accepts(DEVICE_SRAMECC) && self.xnack.accepts(DEVICE_XNACK)
    }

    /// Rank among entries of one bundle that all run: the specific one wins over the general one.
    pub(super) fn specificity(&self) -> u8 {
        u8::from(self.processor != Processor::Gfx94Generic) * 4
            + u8::from(self.sramecc != Feature::Any)
            + u8::from(self.xnack != Feature::Any)
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor.name())?;
        for (name, setting) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match setting {
                Feature::On => write!(f, ":{name}+")?,
                Feature::Off => write!(f, ":{name}-")?,
                Feature::Any | Feature::Unsupported => {}
            }
        }
        Ok(())
    }
}

/// LLVM name of an `EF_AMDGPU_MACH` number of the GCN family (LLVM AMDGPU usage, table of
/// `EF_AMDGPU_MACH` values).
fn machine_name(machine: u32) -> Option<&'static str> {
    const NAMES: &[(u32, &str)] = &[
        (0x20, "gfx600"),
        (0x21, "gfx601"),
        (0x22, "gfx700"),
        (0x23, "gfx701"),
        (0x24, "gfx702"),
        (0x25, "gfx703"),
        (0x26, "gfx704"),
        (0x28, "gfx801"),
        (0x29, "gfx802"),
        (0x2a, "gfx803"),
        (0x2b, "gfx810"),
        (0x2c, "gfx900"),
        (0x2d, "gfx902"),
        (0x2e, "gfx904"),
        (0x2f, "gfx906"),
        (0x30, "gfx908"),
        (0x31, "gfx909"),
        (0x32, "gfx90c"),
        (0x33, "gfx1010"),
        (0x34, "gfx1011"),
        (0x35, "gfx1012"),
        (0x36, "gfx1030"),
        (0x37, "gfx1031"),
        (0x38, "gfx1032"),
        (0x39, "gfx1033"),
        (0x3a, "gfx602"),
        (0x3b, "gfx705"),
        (0x3c, "gfx805"),
        (0x3d, "gfx1035"),
        (0x3e, "gfx1034"),
        (0x3f, "gfx90a"),
        (0x40, "gfx940"),
        (0x41, "gfx1100"),
        (0x42, "gfx1013"),
        (0x43, "gfx1150"),
        (0x44, "gfx1103"),
        (0x45, "gfx1036"),
        (0x46, "gfx1101"),
        (0x47, "gfx1102"),
        (0x48, "gfx1200"),
        (0x49, "gfx1250"),
        (0x4a, "gfx1151"),
        (0x4b, "gfx941"),
        (0x4c, "gfx942"),
        (0x4e, "gfx1201"),
        (0x4f, "gfx950"),
        (0x51, "gfx9-generic"),
        (0x52, "gfx10-1-generic"),
        (0x53, "gfx10-3-generic"),
        (0x54, "gfx11-generic"),
        (0x55, "gfx1152"),
        (0x58, "gfx1153"),
        (0x59, "gfx12-generic"),
        (0x5f, "gfx9-4-generic"),
    ];
    NAMES.iter().find(|(number, _)| *number == machine).map(|(_, name)| *name)
}
