//! The sanitizer: a wrong kernel cannot look right.
//!
//! The engine executes waves in some order, and every memory instruction at once. That hides what
//! breaks on silicon: a barrier or a wait that is missing, a value that was never written. With
//! [`Options::sanitize`] a checker sees each instruction
//! before it is executed. It computes what the instruction reads, writes and addresses from the
//! decoded form and the registers, independently of the handlers, and keeps shadow state:
//!
//! - *Counters* (`counters`): memory instructions of each wave that `s_waitcnt` has not covered,
//!   with the registers that they will fill. Vector memory and LDS complete in order, scalar loads
//!   in any order. No more are outstanding than the hardware counts: issue stalls before that.
//! - *Vector clocks* (`clock`): what each wave knows to be complete of the others'. An access counts
//!   as complete when its wave has waited for it, and another wave knows when a barrier, an atomic
//!   or a flag has told it. A barrier joins the waves that arrive, wherever in the program they do;
//!   waves that ended no longer count. `race` says what counts as a flag in device memory, and which
//!   caches stand in between; `scalar`, what the scalar cache may still hold. In LDS every store may
//!   be one, for a load that polls.
//! - *Shadow memory* (`shadow`): the last write of each unit of memory, which is as small as the
//!   accesses are, and the reads since. An access that does not come after an earlier one in every
//!   execution is a race, whether or not this schedule went well. Of LDS all is forgotten at a
//!   barrier behind which everybody knows it to be complete. What is left when a launch is over is
//!   its *footprint* (`footprint`).
//! - *Order of operations* (`runtime::order`): which launches, copies, fills, allocations and frees
//!   come after which others, by streams, events, graphs and what the host waited for. Operations
//!   whose footprints overlap need an order, however the streams' threads happened to go.
//! - *Wait states* (`hazards`): the last instructions of each wave, for those that must keep a
//!   distance.
//! - *Undefined values* (`undefined`): lanes of vector registers, bits of scalar ones, bytes of LDS
//!   and memory that nobody wrote. They may be copied and computed with; they are reported where
//!   they reach an address, a branch, the execution mask or device memory.
//! - *Activity* (`activity`): lanes that take no part and hold values of another place in the program,
//!   which count as undefined if `v_readlane` reads them.
//! - *Marks* (`index`): registers whose 32 bits are not the number that they stand for.
//!
//! | kind | what is found |
//! |---|---|
//! | `memory` | accesses outside of live allocations, in freed ones, in the padding behind the end, misaligned atomics and scalar accesses, writes to inputs; values of memory that nobody wrote |
//! | `lds` | accesses outside of the workgroup's LDS, misaligned ones, values that nobody wrote |
//! | `async` | registers used before the load that fills them was waited for; LDS that a direct-to-LDS load fills, accessed without a wait and a barrier in between |
//! | `race` | accesses to LDS by two waves, and to device memory by two waves of a launch, that nothing orders, or that stale caches may undo; accesses to memory by two operations of streams that nothing orders, a use before the allocation or after the free of another stream included; different values stored to one address by lanes of one instruction |
//! | `order` | accesses to LDS by two waves that are ordered by LDS issue alone: the first wave did not wait for its `ds_read` or `ds_write` before the barrier or flag, and LDS happens to execute a workgroup's instructions in the order of their issue |
//! | `hazard` | too few wait states between two instructions, by the rules of the manuals |
//! | `uninit` | values of registers and private memory that were never written |
//! | `divergence` | values of lanes that do not take part, read by a permute, a lane access or a DPP operation |
//! | `float` | NaN and infinity out of finite operands; only if it is named, `all` leaves it out |
//! | `index` | addresses computed in 32 bits that need more |
//!
//! Findings do not stop a launch; it fails at its end with the first of them. A finding about two
//! operations fails the one that was done second in the same way: the next call that waits for its
//! stream returns `hipErrorLaunchFailure`. A call that does the second itself, such as `hipFree`,
//! does what it is to do and returns that. The finding is named after the operation that was
//! submitted second, and names the other; instructions are named where one alone is concerned.
//!
//! Of the host the sanitizer sees calls, not accesses: that it reads a buffer too early is found only
//! if a call does. An asynchronous copy to pageable memory counts as waited for, since the call
//! returns when the memory is written; one from pageable memory does not, since the memory may only
//! have been staged.
//!
//! What is right on the hardware, and yet may not be what was meant, is a *note* and fails nothing:
//! stores of equal bytes by two waves that nothing orders (`race`, `order`), writes to what only
//! metadata calls read-only (`memory`), a barrier that a wave which has ended does not come to
//! (`divergence`).
//!
//! Findings and notes of one kind at the same instruction, and with the same other one, are told
//! once, with a count. Each kind has a limit of its own, so that hazards, which hand-written kernels
//! have many of, do not hide the rest.
mod activity;
mod audit;
mod checks;
mod clock;
mod counters;
mod counting;
pub(crate) mod facts;
mod finding;
mod float;
mod footprint;
mod global;
mod group;
mod hazards;
mod index;
mod launch;
mod lds;
mod matrix;
mod memory;
mod mutant;
mod race;
mod scalar;
mod shadow;
mod transfer;
mod undefined;
mod uses;

pub use audit::{Audit, Verdict, Weakened};
pub use checks::{Checks, Kind, UnknownCheck};
pub use facts::FactTable;
pub use finding::{Finding, Other, Severity, append_json};
pub(crate) use finding::{REPORT_FILE, publish};
pub use footprint::{Footprint, Span, Touch};
pub use hazards::too_near;
pub use launch::{Checked, Notes, Options, SourceLines, check, run};
pub use mutant::{Mutant, mutants};
