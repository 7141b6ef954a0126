//! The `hipkittens` command.

mod doctor;
mod inspect;
mod replay;

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
