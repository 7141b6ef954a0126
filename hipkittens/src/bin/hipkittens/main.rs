//! The `hipkittens` command.

mod bench;
mod budgets;
mod check;
mod cores;
mod coverage;
mod doctor;
mod embed;
mod environment;
mod inspect;
mod kernels;
mod mutate;
mod output;
mod reasons;
mod registry;
mod replay;
mod run;
mod table;
mod tensors;
#[cfg(test)]
mod toy;
mod tune;
mod values;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const STATUS: &str = "Exit status: 0 if all is well; 1 if a case fails, a mutant survives, a buffer differs, \
    an instruction is unknown or nothing can run; 2 if the request cannot be done; of run, that of the program. \
    If the pipe is closed early, as head does, it is that of what was done until then, and files are written \
    all the same.";

/// GPU kernels for AMD CDNA3 and CDNA4, proven on a simulator.
#[derive(Parser)]
#[command(version, after_help = STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare every op with its reference on each device, under several schedules.
    ///
    /// Prints a table of what was run; exits with 1 if a case does not pass. Each case runs three
    /// times, on the simulator under three schedules of waves, and must give the same bits.
    Check(check::Request),
    /// Drop or weaken each barrier and each wait of the kernels, and see whether it is noticed.
    ///
    /// Each mutant is reported as caught by the sanitizer, caught by parity only, equivalent (proved:
    /// no access in flight that the instruction orders), survived, or unreached: no case executes the
    /// instruction. Exits with 1 if one survived.
    ///
    /// With --values, ordinary instructions are altered instead, a sample of them for each kernel core.
    /// Exits with 1 if fewer than 97 % of the mutants that are not proved equivalent are caught, or if
    /// no reason is stated why one may survive.
    Mutate(mutate::Request),
    /// Time ops at shapes of models: by a model on simulated devices, by events on GPUs.
    ///
    /// Says for each what limits it, how far it is from the roofline, and what was published of others'
    /// kernels. A simulated device executes only some workgroups of each launch, and the model composes
    /// the device from them.
    Bench(bench::Request),
    /// Find the fastest tile configurations for problems, and write them into a file for
    /// HIPKITTENS_TILES.
    ///
    /// Times every configuration that serves, by events on a GPU; on a simulated device by the model, as
    /// `bench` does, which the file says. One is taken instead of the built-in choice if it needs 2 % less
    /// time; all other problems are left to that choice.
    Tune(tune::Request),
    /// Make vectors of sentences with the model all-MiniLM-L6-v2, or another BERT of
    /// sentence-transformers, every step an op of these crates.
    ///
    /// Prints how similar the sentences are: the cosines of the angles between their vectors.
    Embed(embed::Request),
    /// List the kernels that were built, with their resources and occupancy.
    Kernels(kernels::Request),
    /// Say which compiler, devices and code objects were found, and what to do about what is missing.
    Doctor,
    /// Show the kernels of a code object: resources, occupancy and, on request, instructions.
    ///
    /// Exits with 1 if some instruction cannot be decoded; each is named with its address and bytes.
    Inspect {
        /// Code object (.hsaco, .co) or offload bundle, compressed or not.
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
    /// Run a HIP program on simulated devices: `hipkittens run -- PROGRAM ARGUMENTS`.
    ///
    /// The program gets the simulator as libamdhip64.so, and its own exit status is that of the
    /// command. Says before which HIP functions that the program imports are not done. A program
    /// that opens libamdhip64.so by an absolute path gets that file.
    Run(run::Request),
}

/// Exit status of a request that cannot be done, as that of arguments that clap refuses.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    hk_timing::install();
    let command = Cli::parse().command;
    let problems = environment::problems();
    // The doctor reports them among the rest.
    if !problems.is_empty() && !matches!(command, Command::Doctor) {
        for problem in problems {
            eprintln!("hipkittens: {problem}");
        }
        return ExitCode::from(UNUSABLE);
    }
    let result = match command {
        Command::Check(request) => check::run(&request),
        Command::Mutate(request) => mutate::run(&request),
        Command::Bench(request) => bench::run(&request),
        Command::Tune(request) => tune::run(&request),
        Command::Embed(request) => embed::run(&request),
        Command::Kernels(request) => kernels::run(&request),
        Command::Doctor => doctor::run(),
        Command::Inspect { file, disasm } => inspect::run(&file, disasm),
        Command::Replay(request) => replay::run(&request),
        Command::Run(request) => run::run(&request),
    };
    result.unwrap_or_else(|error| {
        eprintln!("hipkittens: {error}");
        ExitCode::from(UNUSABLE)
    })
}
