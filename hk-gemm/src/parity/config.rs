//! The tile configurations that were built.

use hk_core::Arch;
use hk_core::dtype::DType;
use hk_core::kernel::Kernel;
use hk_core::op::tiling::Tile;

use crate::Layout;

/// A tile configuration of one chip and what it multiplies.
pub(super) struct Config {
    pub(super) arch: Arch,
    pub(super) variant: &'static str,
    pub(super) dtype: DType,
    pub(super) layout: Layout,
    pub(super) name: &'static str,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) stages: usize,
    pub(super) threads: usize,
    /// Waves side by side along n.
    pub(super) waves_n: usize,
    /// Workgroups that a compute unit holds.
    pub(super) at_once: usize,
    pub(super) ping_pong: bool,
}

impl Config {
    /// Every tile configuration of a core. Variants are called by the element type, and perhaps by the
    /// layout.
    pub(super) fn all(core: &str) -> impl Iterator<Item = Self> {
        let of_core = move |kernel: &&Kernel| kernel.core == core;
        crate::KERNELS.kernels.iter().filter(of_core).flat_map(|kernel| {
            let (dtype, layout) = kernel.variant.split_once('_').unwrap_or((kernel.variant, ""));
            let layout = Layout::ALL.into_iter().find(|known| known.name() == layout);
            kernel.tiles.iter().filter_map(move |tile| {
                let int = |name| usize::try_from(tile.int(name)?).ok();
                let arch = Arch::from_target_id(kernel.arch)?;
                Some(Self {
                    arch,
                    variant: kernel.variant,
                    dtype: dtype_of(dtype, arch)?,
                    layout: layout.unwrap_or_default(),
                    name: tile.name,
                    m: int("BM")?,
                    n: int("BN")?,
                    k: int("BK")?,
                    stages: int("STAGES")?,
                    threads: tile.threads as usize,
                    waves_n: int("WN")?,
                    at_once: Tile::of(tile).per_cu() as usize,
                    ping_pong: tile.flag("PING_PONG") == Some(true),
                })
            })
        })
    }

    /// Blocks of which, on two compute units, the last one is cut along k, if that is as long.
    pub(super) fn tail(&self) -> (usize, usize) {
        (2 * self.at_once + 1, usize::max(16 * self.k, 2048))
    }

    /// Sizes of which, on two compute units, the last row of blocks is cut along k, or the last column.
    pub(super) fn with_tail(&self) -> [[usize; 3]; 2] {
        let Self { m, n, .. } = self;
        let (lines, k) = self.tail();
        [[lines * m - 3, n - 5, k + 8], [m - 3, lines * n - 5, k + 8]]
    }

    /// Whether its operands are bf16 in the default layout.
    pub(super) fn is_plain(&self) -> bool {
        (self.dtype, self.layout) == (DType::Bf16, Layout::Tn)
    }
}

/// The element type of that name, in the flavour of the chip.
fn dtype_of(name: &str, arch: Arch) -> Option<DType> {
    let is_ocp = arch == Arch::Gfx950;
    Some(match name {
        "bf16" => DType::Bf16,
        "f16" => DType::F16,
        "i8" => DType::I8,
        "e2m1" => DType::F4x2E2M1,
        "e4m3" if is_ocp => DType::F8E4M3,
        "e4m3" => DType::F8E4M3Fnuz,
        "e5m2" if is_ocp => DType::F8E5M2,
        "e5m2" => DType::F8E5M2Fnuz,
        _ => return None,
    })
}
