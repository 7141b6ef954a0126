//! Loops of kernels, counted from their code.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::{Class, Classes};
use crate::isa::{Arch, Inst, MfmaInfo, Op};
use crate::object::{Placed, successors};

/// What a turn of a loop executes if it takes every way through it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// Offset of its head.
    pub head: u64,
    /// Its instructions by class.
    pub instructions: Classes,
    /// Multiplications with an addition that its matrix instructions make for a wave.
    pub multiply_adds: u64,
    /// Exponentials among the vector instructions.
    pub exponentials: u64,
    /// Moves between the two halves of the vector registers among them.
    pub accumulator_moves: u64,
    /// Reads of LDS.
    pub lds_reads: u64,
    /// Writes to LDS, without loads that end there.
    pub lds_writes: u64,
    /// Vector loads, to registers or to LDS.
    pub loads: u64,
    /// What its waits leave under way, in the order of the code.
    pub waits: Vec<Wait>,
}

/// What a wait leaves under way of each counter that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// Vector memory instructions.
    pub vector: Option<u32>,
    /// LDS and scalar memory instructions.
    pub lgkm: Option<u32>,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [("v", self.vector), ("l", self.lgkm)];
        let named = named.into_iter().filter_map(|(name, count)| Some(format!("{name}{}", count?)));
        write!(f, "{}", named.collect::<Vec<_>>().join("+"))
    }
}

impl Loop {
    fn count(&mut self, inst: &Inst, arch: Arch) {
        let class = Class::of(inst);
        self.instructions.count(class);
        let name = inst.info.base();
        match class {
            Class::Matrix => {
                let info = MfmaInfo::get(inst.info.op, arch);
                self.multiply_adds += info.map_or(0, |info| info.operations() / 2);
            }
            Class::Vector => {
                self.exponentials += u64::from(inst.info.op == Op::v_exp_f32);
                self.accumulator_moves += u64::from(name.starts_with("v_accvgpr"));
            }
            Class::Lds if name.starts_with("ds_read") => self.lds_reads += 1,
            Class::Lds if name.starts_with("ds_write") => self.lds_writes += 1,
            Class::VectorMemory if name.contains("load") => self.loads += 1,
            Class::Wait => {
                let (vector, lgkm) = inst.leaves_under_way();
                self.waits.push(Wait { vector, lgkm });
            }
            _ => {}
        }
    }

    /// The innermost loop of a function with the most multiplications of matrices in a turn: that over
    /// the depth of a product, or over the keys of an attention.
    pub fn main(code: &[Placed], arch: Arch) -> Option<Self> {
        let bodies = bodies(code);
        let counted = bodies.iter().map(|(head, body)| {
            let mut turn = Self { head: code[*head].offset, ..Self::default() };
            body.iter().for_each(|at| turn.count(&code[*at].inst, arch));
            (body, turn)
        });
        let products: Vec<_> = counted.filter(|(_, turn)| turn.multiply_adds > 0).collect();
        let innermost = products.iter().filter(|(body, _)| {
            let within = |(other, _): &(&BTreeSet<usize>, Self)| {
                other.len() < body.len() && other.is_subset(body)
            };
            !products.iter().any(within)
        });
        innermost.map(|(_, turn)| turn).max_by_key(|turn| turn.multiply_adds).cloned()
    }
}

/// The instructions of every loop, by that of its head: those from which the head is reached again
/// without it.
fn bodies(code: &[Placed]) -> BTreeMap<usize, BTreeSet<usize>> {
    let next = successors(code);
    let mut from = vec![Vec::new(); code.len()];
    for (at, next) in next.iter().enumerate() {
        next.iter().for_each(|to| from[*to].push(at));
    }
    let mut bodies: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (last, head) in ways_back(&next) {
        let mut body = BTreeSet::from([head]);
        let mut open = vec![last];
        while let Some(at) = open.pop() {
            if body.insert(at) {
                open.extend(&from[at]);
            }
        }
        // A loop is entered by its head alone.
        if head == 0 || !body.contains(&0) {
            bodies.entry(head).or_default().extend(body);
        }
    }
    bodies
}

/// The ways to an instruction that lies on the way from the entry to where they begin. In the order of
/// the code it may stand behind that.
fn ways_back(next: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let (mut seen, mut on_path) = (vec![false; next.len()], vec![false; next.len()]);
    let mut ways = Vec::new();
    // Instructions on the way, each with how many of its successors were looked at.
    let mut path = Vec::new();
    if !next.is_empty() {
        path.push((0, 0));
        (seen[0], on_path[0]) = (true, true);
    }
    while let Some((at, looked_at)) = path.last_mut() {
        let from = *at;
        let Some(&to) = next[from].get(*looked_at) else {
            on_path[from] = false;
            path.pop();
            continue;
        };
        *looked_at += 1;
        if on_path[to] {
            ways.push((from, to));
        } else if !seen[to] {
            (seen[to], on_path[to]) = (true, true);
            path.push((to, 0));
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::placed;

    fn main_of(text: &str) -> Option<Loop> {
        let bytes = hk_build::assemble(text, Arch::Gfx942).expect("it assembles");
        Loop::main(&placed(Arch::Gfx942, &bytes, 0, 0), Arch::Gfx942)
    }

    #[test]
    fn the_main_loop_is_the_innermost_with_the_most_products() {
        let found = main_of(
            "s_mov_b32 s0, 4\n\
             outer:\n\
             s_mov_b32 s1, 4\n\
             inner:\n\
             ds_read_b128 v[0:3], v8\n\
             global_load_dwordx4 v[4:7], v[10:11], off\n\
             s_waitcnt vmcnt(5) lgkmcnt(0)\n\
             v_mfma_f32_32x32x8_bf16 v[16:31], v[0:1], v[2:3], v[16:31]\n\
             v_mfma_f32_32x32x8_bf16 v[16:31], v[2:3], v[4:5], v[16:31]\n\
             s_cbranch_vccnz rare\n\
             back:\n\
             s_sub_u32 s1, s1, 1\n\
             s_cmp_lg_u32 s1, 0\n\
             s_cbranch_scc1 inner\n\
             ds_write_b32 v8, v0\n\
             s_sub_u32 s0, s0, 1\n\
             s_cmp_lg_u32 s0, 0\n\
             s_cbranch_scc1 outer\n\
             tail:\n\
             v_mfma_f32_32x32x8_bf16 v[16:31], v[0:1], v[2:3], v[16:31]\n\
             s_sub_u32 s0, s0, 1\n\
             s_cbranch_scc1 tail\n\
             s_endpgm\n\
             rare:\n\
             v_exp_f32 v0, v0\n\
             s_branch back\n",
        )
        .expect("it has a loop");
        let Loop { multiply_adds, lds_reads, lds_writes, loads, exponentials, ref waits, .. } =
            found;
        assert_eq!((multiply_adds, lds_reads, lds_writes, loads), (16_384, 1, 0, 1));
        // Code that stands elsewhere is part of it.
        assert_eq!((exponentials, found.instructions.total()), (1, 11));
        assert_eq!(*waits, [Wait { vector: Some(5), lgkm: Some(0) }]);
        assert_eq!((found.head, waits[0].to_string()), (8, "v5+l0".to_owned()));
    }

    #[test]
    fn a_head_may_stand_behind_its_body() {
        let found = main_of(
            "s_branch head\n\
             body:\n\
             v_mfma_f32_32x32x8_bf16 v[16:31], v[0:1], v[2:3], v[16:31]\n\
             head:\n\
             s_sub_u32 s0, s0, 1\n\
             s_cbranch_scc0 body\n\
             s_endpgm\n",
        )
        .expect("it has a loop");
        assert_eq!((found.multiply_adds, found.instructions.total()), (8192, 3));
    }

    #[test]
    fn code_without_products_has_none() {
        assert_eq!(main_of("a:\nv_exp_f32 v0, v0\ns_cbranch_scc1 a\ns_endpgm\n"), None);
    }
}
