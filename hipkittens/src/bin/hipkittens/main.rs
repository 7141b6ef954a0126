//! The `hipkittens` command.

mod check;
mod doctor;
mod inspect;
mod kernels;
mod replay;
mod tensors;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// GPU kernels for AMD CDNA3 and CDNA4, proven on a simulator.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare every op with its reference on each device, under several schedules.
    ///
    /// Prints a table of what was run; exits with 1 if a case does not pass, or none was run. Each
    /// case runs three times, on the simulator under three schedules of waves, and must give the
    /// same bits.
    Check {
        /// Run only cases whose module, op, element types, shape and name contain this text.
        filter: Option<String>,
        /// Device, such as hip:0 or sim:mi355x; may be given several times [default: a simulated
        /// chip of each architecture that there are kernels for]
        #[arg(long)]
        device: Vec<String>,
        /// Print an object of JSON per case, one per line.
        #[arg(long)]
        json: bool,
        /// Run large shapes too: those of models, and benchmarks in full size. For GPUs; hours on
        /// the simulator.
        #[arg(long)]
        full: bool,
        /// Run every op that fits on the tensors of a model too: its weights, and rows of its
        /// embedding table.
        #[arg(long, value_name = "FILE.safetensors")]
        tensors: Option<PathBuf>,
    },
    /// List the kernels that were built, with their resources and occupancy.
    Kernels {
        /// List only kernels whose crate, architecture and name contain this text.
        filter: Option<String>,
    },
    /// Say which compiler, devices and code objects were found, and what to do about what is missing.
    Doctor,
    /// Show the kernels of a code object: resources, occupancy and, on request, instructions.
    ///
    /// Exits with 1 if some instruction cannot be decoded; each is named with its address and bytes.
    Inspect {
        /// Code object (.hsaco, .co) or uncompressed offload bundle.
        file: PathBuf,
        /// Print every instruction in LLVM syntax.
        #[arg(long)]
        disasm: bool,
    },
    /// Do a captured launch again and compare its buffers with what was captured.
    ///
    /// Launches are captured with HIPKITTENS_CAPTURE=DIR, each into a folder of its own. Exits with
    /// 1 if a buffer differs. A replay runs the captured code: treat captures like programs.
    Replay(replay::Request),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Check { filter, device, json, full, tensors } => {
            let what = check::What { filter: filter.unwrap_or_default(), full, tensors };
            check::run(&what, &device, json)
        }
        Command::Kernels { filter } => kernels::run(&filter.unwrap_or_default()),
        Command::Doctor => doctor::run(),
        Command::Inspect { file, disasm } => inspect::run(&file, disasm),
        Command::Replay(request) => replay::run(&request),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hipkittens: {error}");
            ExitCode::FAILURE
        }
    }
}
