//! The loaded image: segments in place, relocations applied.
//!
//! Relocation formulas: LLVM AMDGPU usage, "Relocation Records".

use super::tables::Relocation;
use super::{CodeObject, LoadError};

const R_ABS32_LO: u32 = 1;
const R_ABS32_HI: u32 = 2;
const R_ABS64: u32 = 3;
const R_REL32: u32 = 4;
const R_REL64: u32 = 5;
const R_ABS32: u32 = 6;
const R_REL32_LO: u32 = 10;
const R_REL32_HI: u32 = 11;
const R_RELATIVE64: u32 = 13;
const R_REL16: u32 = 14;

impl CodeObject {
    /// Bytes from virtual address 0 to the end of the last segment.
    pub fn image_size(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.range().end)
    }

    /// The loaded image, relocated as if its first byte, virtual address 0, were at `base`.
    ///
    /// # Errors
    ///
    /// [`LoadError::UndefinedSymbol`] or [`LoadError::Relocation`] for a relocation that cannot
    /// be applied.
    pub fn image(&self, base: u64) -> Result<Vec<u8>, LoadError> {
        // At most MAX_IMAGE, which the parser checked and every usize holds.
        let mut image = vec![0; self.image_size() as usize];
        for segment in &self.segments {
            let start = segment.vaddr as usize;
            image[start..start + segment.file.len()]
                .copy_from_slice(&self.bytes[segment.file.clone()]);
        }
        for relocation in &self.relocations {
            apply(&mut image, base, relocation)?;
        }
        Ok(image)
    }
}

fn apply(image: &mut [u8], base: u64, relocation: &Relocation) -> Result<(), LoadError> {
    let Relocation { offset, kind, addend, .. } = *relocation;
    let symbol = match &relocation.symbol {
        Some(symbol) if symbol.defined => base.wrapping_add(symbol.vaddr),
        Some(symbol) if !symbol.weak => {
            return Err(LoadError::UndefinedSymbol(symbol.name.clone()));
        }
        // An undefined weak symbol is null.
        _ => 0,
    };
    let absolute = symbol.wrapping_add_signed(addend);
    let relative = absolute.wrapping_sub(base.wrapping_add(offset));
    let (value, size) = match kind {
        R_ABS32_LO | R_ABS32 => (absolute, 4),
        R_ABS32_HI => (absolute >> 32, 4),
        R_ABS64 => (absolute, 8),
        R_REL32 | R_REL32_LO => (relative, 4),
        R_REL32_HI => (relative >> 32, 4),
        R_REL64 => (relative, 8),
        R_RELATIVE64 => (base.wrapping_add_signed(addend), 8),
        // Distance in dwords from the instruction behind the branch.
        R_REL16 => (relative.wrapping_sub(4) / 4, 2),
        _ => {
            return Err(LoadError::Relocation {
                kind,
                offset,
                reason: "the linker resolves it, a loader does not",
            });
        }
    };
    let outside = LoadError::Relocation { kind, offset, reason: "outside the loaded segments" };
    let field = usize::try_from(offset)
        .ok()
        .and_then(|start| image.get_mut(start..start.checked_add(size)?))
        .ok_or(outside)?;
    field.copy_from_slice(&value.to_le_bytes()[..size]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tables::TableSymbol;
    use super::*;

    fn relocation(kind: u32, addend: i64, defined: bool, weak: bool) -> Relocation {
        let symbol = TableSymbol {
            name: "symbol".to_owned(),
            vaddr: 0x340,
            size: 8,
            kind: object::elf::STT_OBJECT,
            defined,
            weak,
        };
        Relocation { offset: 0x10, kind, symbol: Some(symbol), addend }
    }

    fn applied(relocation: &Relocation) -> Result<u64, LoadError> {
        let mut image = vec![0; 0x20];
        apply(&mut image, 0x1_2345_f000, relocation)?;
        Ok(u64::from_le_bytes(image[0x10..0x18].try_into().expect("eight bytes")))
    }

    #[test]
    fn formulas() {
        // S + A = 0x1_2345_f000 + 0x340 + 8; P = 0x1_2345_f010.
        for (kind, expected) in [
            (R_ABS64, 0x1_2345_f348),
            (R_ABS32, 0x2345_f348),
            (R_ABS32_LO, 0x2345_f348),
            (R_ABS32_HI, 0x1),
            (R_REL64, 0x338),
            (R_REL32, 0x338),
            (R_REL32_LO, 0x338),
            (R_REL32_HI, 0),
            (R_RELATIVE64, 0x1_2345_f008),
            (R_REL16, 0xcd),
        ] {
            assert_eq!(applied(&relocation(kind, 8, true, false)), Ok(expected), "type {kind}");
        }
        // A negative distance keeps its sign in the high half.
        let back = relocation(R_REL32_HI, -0x400, true, false);
        assert_eq!(applied(&back), Ok(0xffff_ffff));
    }

    #[test]
    fn undefined_symbols() {
        let strong = relocation(R_ABS64, 0, false, false);
        assert_eq!(applied(&strong), Err(LoadError::UndefinedSymbol("symbol".to_owned())));
        assert_eq!(applied(&relocation(R_ABS64, 0, false, true)), Ok(0));
    }

    #[test]
    fn unknown_types_and_places_are_errors() {
        assert!(matches!(
            applied(&relocation(7, 0, true, false)),
            Err(LoadError::Relocation { kind: 7, .. })
        ));
        let far = Relocation { offset: u64::MAX - 2, ..relocation(R_ABS64, 0, true, false) };
        assert!(matches!(applied(&far), Err(LoadError::Relocation { .. })));
    }
}
