//! `hipkittens kernels`: what was built.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Args;
use hk_core::kernel::{Kernel, TileConfig};
use hk_sim::counters::{Classes, Loop};
use hk_sim::isa::Op;
use hk_sim::object::{CodeObject, Next, Placed};
use hk_sim::sanitize;
use serde_json::json;

use crate::{output, registry};

/// What `hipkittens kernels` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// List only kernels whose crate, architecture, name and tile contain this text.
    filter: Option<String>,
    /// Print what a turn of each main loop executes instead: the innermost loop with the most
    /// multiplications of matrices. Kernels without one are left out.
    #[arg(long)]
    loops: bool,
    /// Print an object of JSON per tile configuration, one per line.
    #[arg(long)]
    json: bool,
}

/// Prints a row per tile configuration.
///
/// # Errors
/// That there is none, or what is wrong with its code object.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let filter = request.filter.as_deref().unwrap_or_default();
    let (mut rows, mut matching) = (Vec::new(), 0);
    for set in registry::kernels() {
        for kernel in set.kernels {
            for tile in kernel.tiles {
                let (arch, name) = (kernel.arch, kernel.name());
                if format!("{} {arch} {name} {}", set.package, tile.name).contains(filter) {
                    matching += 1;
                    let object = CodeObject::parse(&tile.image.unpack()?)?;
                    let placed = object.instructions(tile.symbol);
                    let main_loop = Loop::main(&placed, object.arch());
                    if request.loops && main_loop.is_none() {
                        continue;
                    }
                    let code = Classes::of_code(&placed);
                    let is_flat = |placed: &&Placed| placed.inst.info.base().starts_with("flat_");
                    let flat = placed.iter().filter(is_flat).count();
                    let lane_loops = lane_loops(&placed);
                    // They are told as JSON alone.
                    let too_near = match request.json {
                        true => sanitize::too_near(&object, tile.symbol)?,
                        false => BTreeMap::new(),
                    };
                    rows.push(Row {
                        package: set.package,
                        kernel,
                        tile,
                        code,
                        main_loop,
                        flat,
                        lane_loops,
                        too_near,
                    });
                }
            }
        }
    }
    if rows.is_empty() {
        return Err(match matching {
            0 => format!("no kernel matches `{filter}`; features cdna3 and cdna4 build kernels"),
            _ => format!("none of the {matching} kernels that match `{filter}` has a main loop"),
        }
        .into());
    }
    let mut out = BufWriter::new(output::stdout());
    if request.json {
        for row in rows {
            writeln!(out, "{}", object(&row))?;
        }
    } else if request.loops {
        loops(&mut out, &rows)?;
    } else {
        table(&mut out, &rows)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A tile configuration, and the instructions of its code.
struct Row {
    package: &'static str,
    kernel: &'static Kernel,
    tile: &'static TileConfig,
    code: Classes,
    main_loop: Option<Loop>,
    /// Accesses to memory that may be LDS, for which waits for LDS wait.
    flat: usize,
    /// Loops over lanes.
    lane_loops: usize,
    /// Offsets of instructions that follow another one too closely, and why.
    too_near: BTreeMap<u64, String>,
}

/// The loops that access memory for those lanes at a time whose buffer is the same, where the compiler
/// takes the words of a buffer to differ by lane. They end by a flip of the lanes that are left.
fn lane_loops(code: &[Placed]) -> usize {
    let is_end = |pair: &[Placed]| {
        let [flip, branch] = [&pair[0], &pair[1]];
        let turns = matches!(branch.next(), Next::Branch(target) if target < branch.offset);
        let ops = [flip, branch].map(|placed| placed.inst.info.op);
        turns && ops == [Op::s_xor_b64, Op::s_cbranch_execnz]
    };
    code.windows(2).filter(|pair| is_end(pair)).count()
}

fn object(row: &Row) -> serde_json::Value {
    let Row { package, kernel, tile, code, main_loop, flat, lane_loops, too_near } = row;
    let r = &tile.resources;
    json!({
        "crate": package,
        "arch": kernel.arch,
        "kernel": kernel.name(),
        "tile": tile.name,
        "threads": tile.threads,
        "lds_bytes": tile.lds(),
        "vgprs": r.vgprs,
        "agprs": r.agprs,
        "sgprs": r.sgprs,
        "spills": r.vgpr_spills + r.sgpr_spills,
        "scratch_bytes": r.scratch,
        "waves_per_simd": r.waves_per_simd,
        "object_bytes": tile.image.size,
        "embedded_bytes": tile.image.packed.len(),
        "instructions": code,
        "main_loop": main_loop,
        "flat_accesses": flat,
        "lane_loops": lane_loops,
        "too_near": too_near,
    })
}

fn table(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    writeln!(
        out,
        "{:<8} {:<7} {:<22} {:<12} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7} {:>7} {:>5} {:>5} {:>5} \
         {:>5} {:>5}  waves/SIMD",
        "crate",
        "arch",
        "kernel",
        "tile",
        "threads",
        "LDS B",
        "VGPRs",
        "AGPRs",
        "SGPRs",
        "spills",
        "scratch",
        "VALU",
        "MFMA",
        "LDS",
        "VMEM",
        "waits",
    )?;
    for Row { package, kernel, tile, code, .. } in rows {
        let r = &tile.resources;
        writeln!(
            out,
            "{package:<8} {:<7} {:<22} {:<12} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7} {:>7} {:>5} \
             {:>5} {:>5} {:>5} {:>5}  {}",
            kernel.arch,
            kernel.name(),
            tile.name,
            tile.threads,
            tile.lds(),
            r.vgprs,
            r.agprs,
            r.sgprs,
            r.vgpr_spills + r.sgpr_spills,
            r.scratch,
            code.vector,
            code.matrix,
            code.lds,
            code.vector_memory,
            code.wait,
            r.waves_per_simd,
        )?;
    }
    Ok(())
}

/// Multiply-adds that the table counts instructions by: those of a 16x16x32 or a 32x32x8 product.
const UNIT: f64 = 8192.0;

fn loops(out: &mut impl Write, rows: &[Row]) -> io::Result<()> {
    writeln!(
        out,
        "a turn of the main loop; `/8 Ki` are instructions per 8,192 multiply-adds of a wave, waits \
         what is left\nunder way of vector memory (v) and of LDS and scalar memory (l)\n"
    )?;
    writeln!(
        out,
        "{:<8} {:<7} {:<22} {:<12} {:>5} {:>4} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>7}  waits",
        "crate",
        "arch",
        "kernel",
        "tile",
        "MFMA",
        "exp",
        "VALU",
        "SALU",
        "read",
        "write",
        "load",
        "barr",
        "all",
        "/8 Ki",
    )?;
    for Row { package, kernel, tile, main_loop, .. } in rows {
        let Some(turn) = main_loop else { continue };
        let of = &turn.instructions;
        writeln!(
            out,
            "{package:<8} {:<7} {:<22} {:<12} {:>5} {:>4} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} \
             {:>7.2}  {}",
            kernel.arch,
            kernel.name(),
            tile.name,
            of.matrix,
            turn.exponentials,
            of.vector,
            of.scalar + of.branch,
            turn.lds_reads,
            turn.lds_writes,
            turn.loads,
            of.barrier,
            of.total(),
            of.total() as f64 * UNIT / turn.multiply_adds as f64,
            turn.waits.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        )?;
    }
    Ok(())
}
