//! How matrix instructions pass on undefined values: an undefined element of A spoils a row of D,
//! one of B a column.

use super::facts::ones;
use super::undefined::{Taint, Undefined};
use crate::exec::{WAVE, Wave};
use crate::isa::{Blgp, Inst, MatType, MfmaInfo};

pub(super) fn pass_on(
    state: &mut Undefined,
    wave: &Wave<'_>,
    inst: &Inst,
    name: &mut dyn FnMut(Taint) -> Taint,
) {
    let Some(shape) = MfmaInfo::get(inst.info.op, wave.env.arch) else { return };
    let Some(first) = inst.dst[0].vector_index() else { return };
    let count = usize::from(inst.dst[0].dwords);
    let [a, b, c, scale_a, scale_b] = inst.src;
    let mut rows = name(state.value(a).or(state.value(scale_a)));
    let columns = name(state.value(b).or(state.value(scale_b)));
    let accumulator = if shape.sparse {
        rows = rows.or(name(state.value(c)));
        inst.dst[0]
    } else {
        c
    };
    let mut result = vec![Taint::default(); count];
    if let Some(row) = accumulator.vector_index() {
        for (dword, taint) in result.iter_mut().enumerate() {
            *taint = name(state.row(row + dword));
        }
    }
    spread(shape, inst, rows, columns, &mut result);
    for (dword, taint) in result.into_iter().enumerate() {
        state.set_row(first + dword, taint);
    }
}

/// Marks what the elements that some lanes of A and B hold spoil of D.
pub(super) fn spread(
    shape: &MfmaInfo,
    inst: &Inst,
    rows: Taint,
    columns: Taint,
    result: &mut [Taint],
) {
    let moves_a = shape.broadcast && inst.cbsz != 0;
    let moves_b = shape.blgp == Blgp::Permute && inst.blgp != 0;
    if moves_a && rows.lanes != 0 || moves_b && columns.lanes != 0 {
        // Which blocks are spoilt depends on the broadcast; none of the compilers' kernels mixes
        // it with partial data.
        result.fill(Taint::new(u64::MAX, rows.or(columns).origin));
    } else {
        spoil(shape, rows, true, result);
        spoil(shape, columns, false, result);
    }
}

/// Marks the rows (or columns) of D whose elements some lanes of A (or B) hold.
fn spoil(shape: &MfmaInfo, taint: Taint, is_row: bool, result: &mut [Taint]) {
    let (m, n, blocks) = (usize::from(shape.m), usize::from(shape.n), usize::from(shape.blocks));
    let (dim, other) = if is_row { (m, n) } else { (n, m) };
    for lane in ones(taint.lanes) {
        let (block, at) = (lane / dim % blocks, lane % dim);
        for across in 0..other {
            let (i, j) = if is_row { (at, across) } else { (across, at) };
            let (register, lane, dwords) = place(shape, block, i, j);
            for dword in register..register + dwords {
                if let Some(old) = result.get_mut(dword) {
                    *old = old.or(Taint::new(1 << (lane % WAVE), taint.origin));
                }
            }
        }
    }
}

/// Register, lane and dwords of an element of D.
fn place(shape: &MfmaInfo, block: usize, i: usize, j: usize) -> (usize, usize, usize) {
    let (m, n) = (usize::from(shape.m), usize::from(shape.n));
    if shape.cd == MatType::F64 {
        return match m {
            16 => (2 * (i / 4), 16 * (i % 4) + j, 2),
            _ => (0, 16 * i + 4 * block + j, 2),
        };
    }
    let multirows = WAVE / n;
    let per_register = 256usize.div_ceil(m * n);
    let register =
        block / per_register * (m * n * per_register / WAVE) + i / (4 * multirows) * 4 + i % 4;
    let lane = block % per_register * n + i / 4 % multirows * per_register * n + j;
    (register, lane, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::MFMA;

    #[test]
    fn every_element_of_a_result_has_its_own_place() {
        for shape in &MFMA {
            let mut seen = vec![0u64; usize::from(shape.cd_vgprs)];
            for block in 0..usize::from(shape.blocks) {
                for i in 0..usize::from(shape.m) {
                    for j in 0..usize::from(shape.n) {
                        let (register, lane, dwords) = place(shape, block, i, j);
                        for word in &mut seen[register..register + dwords] {
                            assert_eq!(*word >> lane & 1, 0, "{} {block} {i} {j}", shape.op);
                            *word |= 1 << lane;
                        }
                    }
                }
            }
            assert!(seen.iter().all(|lanes| *lanes == u64::MAX), "{}", shape.op);
        }
    }

    #[test]
    fn a_lane_of_a_spoils_its_row() {
        let shape = MFMA
            .iter()
            .find(|shape| shape.op.name() == "v_mfma_f32_16x16x16_f16")
            .expect("both chips have it");
        let mut result = vec![Taint::default(); 4];
        // Lane 21 holds row 5, which is register 1 of the lanes 16..32.
        spoil(shape, Taint::new(1 << 21, 3), true, &mut result);
        let lanes: Vec<u64> = result.iter().map(|taint| taint.lanes).collect();
        assert_eq!(lanes, [0, 0xffff << 16, 0, 0]);
        let mut result = vec![Taint::default(); 4];
        // And column 5.
        spoil(shape, Taint::new(1 << 21, 3), false, &mut result);
        assert!(result.iter().all(|taint| taint.lanes == 0x0020_0020_0020_0020));
    }
}
