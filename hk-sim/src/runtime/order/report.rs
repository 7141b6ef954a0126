//! What is said of operations that nothing orders.

use std::fmt;
use std::sync::{Arc, Weak};

use hk_types::FaultReport;

use super::history::Conflict;
use super::{Operation, Order, StreamName};
use crate::mem::nearest;
use crate::runtime::error::HipError;
use crate::runtime::module::Module;
use crate::runtime::stream::Failure;
use crate::sanitize::{self, Finding, Kind, Other, Severity, Span, Touch};

/// Different findings that are reported.
const MAX_REPORTED: usize = 1000;

/// What an operation does.
#[derive(Debug)]
pub(crate) enum What {
    Kernel { name: String, entry: u64, module: Weak<Module> },
    Copy { bytes: u64 },
    Fill { bytes: u64 },
    Allocate,
    Free,
}

impl What {
    pub(super) fn frees(&self) -> bool {
        matches!(self, Self::Free)
    }

    /// What it does with the bytes of a span: as a noun, a verb, and what it did.
    fn action(&self, touch: Touch) -> [&'static str; 3] {
        match self {
            Self::Allocate => ["allocation", "allocates", "allocated"],
            Self::Free => ["free", "frees", "freed"],
            _ if touch.writes() => ["write", "writes", "wrote"],
            _ => ["read", "reads", "read"],
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel { name, .. } => write!(f, "kernel {name}"),
            Self::Copy { bytes } => write!(f, "copy of {bytes} bytes"),
            Self::Fill { bytes } => write!(f, "fill of {bytes} bytes"),
            Self::Allocate => f.write_str("allocation in stream order"),
            Self::Free => f.write_str("free"),
        }
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "stream {number} of device {}", self.device),
            None => write!(f, "the null stream of device {}", self.device),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.what)?;
        if let Some(node) = self.node {
            write!(f, "node {} of the graph of ", node.index)?;
        }
        match self.stream {
            Some(stream) => write!(f, "operation {} of {stream})", self.stamp.number),
            None => f.write_str("by the host)"),
        }
    }
}

/// Where an instruction is; empty if none is known.
#[derive(Default)]
struct Site {
    pc: u64,
    offset: i64,
    instruction: String,
    source: Option<String>,
}

impl Operation {
    fn site(&self, span: Span) -> Site {
        let What::Kernel { entry, module, .. } = &self.what else { return Site::default() };
        let (Some(module), Some(index)) = (module.upgrade(), span.instruction) else {
            return Site::default();
        };
        let pc = module.program.pc_of(index as usize);
        let instruction = module.program.inst_at(index as usize);
        let source = module.object.source_line(pc.wrapping_sub(module.base));
        Site {
            pc,
            offset: pc.wrapping_sub(*entry) as i64,
            instruction: instruction.map(|inst| inst.to_string()).unwrap_or_default(),
            source: source.map(|line| line.to_string()),
        }
    }
}

/// The finding about an operation and one that was noted before.
fn finding(operation: &Arc<Operation>, conflict: &Conflict) -> Finding {
    let (mine, theirs) = conflict.spans;
    let mut pair = [(operation, mine), (&conflict.earlier, theirs)];
    // The order of submission, not that of the threads.
    pair.sort_by_key(|(operation, _)| (operation.submitted, operation.node.map(|node| node.index)));
    let [(first, before), (second, span)] = pair;
    let [_, does, _] = second.what.action(span.touch);
    let [noun, _, did] = first.what.action(before.touch);
    let name = match &second.what {
        What::Kernel { name, .. } => name.clone(),
        other => other.to_string(),
    };
    let (site, other) = (second.site(span), first.site(before));
    Finding {
        severity: Severity::Error,
        kind: Kind::Race,
        detail: format!("{second} {does} memory that {first} {did}, and nothing orders the two"),
        kernel: name,
        operation: Some(second.to_string()),
        pc: site.pc,
        offset: site.offset,
        instruction: site.instruction,
        source: site.source,
        workgroup: [0; 3],
        wave: 0,
        lane: None,
        address: Some(conflict.address),
        allocation: nearest(&[conflict.region.mapping()], conflict.address),
        other: Some(Other {
            what: noun,
            operation: Some(first.to_string()),
            pc: other.pc,
            offset: other.offset,
            instruction: other.instruction,
            source: other.source,
            workgroup: [0; 3],
            wave: 0,
        }),
        count: 1,
    }
}

/// Reports what is in conflict with an operation, and fails it then.
pub(super) fn settle(
    order: &Order,
    operation: &Arc<Operation>,
    conflicts: &[Conflict],
) -> Result<(), Failure> {
    let findings: Vec<Finding> =
        conflicts.iter().map(|conflict| finding(operation, conflict)).collect();
    let Some(first) = findings.first() else { return Ok(()) };
    let report = Some(Arc::new(FaultReport::from(first)));
    let mut state = order.state();
    let news = conflicts.iter().zip(findings).filter_map(|(conflict, finding)| {
        let earlier = &conflict.earlier;
        let sides = [operation, earlier].map(|side| format!("{} {:?}", side.what, side.stream));
        let key = format!("{} {}", sides.join(" "), conflict.region.serial);
        (state.reported.len() < MAX_REPORTED && state.reported.insert(key)).then_some(finding)
    });
    let news: Vec<Finding> = news.collect();
    drop(state);
    if crate::runtime::runtime().options().publish {
        sanitize::publish(&news);
    }
    // HIP has no code for it; kernels fail in the same way for what the sanitizer finds in them.
    Err(Failure { error: HipError::LAUNCH_FAILURE, report })
}
