//! The model alone: operations by hand.

use super::*;

/// Streams without threads.
struct Program {
    order: Arc<Order>,
    /// What each stream knows, its last point, and how many there were.
    streams: [(Clock, Option<Arc<Point>>, u64); 3],
}

impl Program {
    fn new() -> Self {
        Self { order: Arc::default(), streams: Default::default() }
    }

    /// The host submits the next operation of a stream.
    fn submit(&mut self, stream: usize) -> Arc<Point> {
        let (_, last, count) = &mut self.streams[stream];
        *count += 1;
        let stamp = Stamp { lane: stream as u32 + 1, number: *count };
        let name = StreamName { device: 0, number: Some(stream as u32) };
        let point = self.order.submit(name, stamp);
        *last = Some(Arc::clone(&point));
        point
    }

    fn begin(&self, stream: usize, point: &Arc<Point>, after: &[&Arc<Point>]) -> Running {
        point.begin(self.streams[stream].0.clone(), after.iter().map(|point| &***point))
    }

    fn end(&mut self, stream: usize, running: Running) {
        self.streams[stream].0 = running.end();
    }

    /// Does an operation and returns the streams of those that it is in a race with.
    fn run(
        &mut self,
        stream: usize,
        point: &Arc<Point>,
        after: &[&Arc<Point>],
        touch: Touch,
    ) -> Vec<u32> {
        let running = self.begin(stream, point, after);
        let found = note(&running, 0, 0..16, touch);
        self.end(stream, running);
        found
    }

    fn kept(&self) -> usize {
        self.order.state().history.len()
    }
}

fn region(serial: u64) -> Region {
    let base = 0x1000 * (serial + 1);
    Region { base, len: 64, mapped: 64, kind: RegionKind::Device, serial }
}

fn note(running: &Running, serial: u64, bytes: std::ops::Range<u64>, touch: Touch) -> Vec<u32> {
    let region = region(serial);
    let span = Span::new(region.base + bytes.start, bytes.end - bytes.start, touch);
    let pieces = [(region, Footprint::from_iter([span]))];
    let operation = running.operation(What::Copy { bytes: 16 });
    let conflicts = running.point.order.state().note(&operation, &running.view(), pieces);
    conflicts.iter().map(|found| found.earlier.stamp.lane - 1).collect()
}

const READ: Touch = Touch::READ;
const WRITE: Touch = Touch::WRITE;

#[test]
fn streams_are_ordered_by_themselves_by_events_and_by_the_host() {
    let mut program = Program::new();
    let (a, b, c) = (program.submit(0), program.submit(1), program.submit(2));
    assert!(program.run(0, &a, &[], WRITE).is_empty());
    // Another stream that waits for nothing, and one that waits for the first.
    assert_eq!(program.run(1, &b, &[], READ), [0]);
    assert_eq!(program.run(2, &c, &[&a], WRITE), [1]);
    // The host waits for the second stream alone, which does not know of the third.
    b.learn();
    let d = program.submit(0);
    assert_eq!(program.run(0, &d, &[], WRITE), [2]);
    c.learn();
    d.learn();
    let e = program.submit(1);
    assert!(program.run(1, &e, &[], WRITE).is_empty());
}

#[test]
fn order_is_that_of_the_program_not_of_the_threads() {
    // What the host learns later does not matter for what it submitted before.
    let mut program = Program::new();
    let (a, b) = (program.submit(0), program.submit(1));
    assert!(program.run(0, &a, &[], WRITE).is_empty());
    a.learn();
    assert_eq!(program.run(1, &b, &[], WRITE), [0]);
    // The other way round.
    let mut program = Program::new();
    let (a, b) = (program.submit(0), program.submit(1));
    assert!(program.run(1, &b, &[], WRITE).is_empty());
    b.learn();
    assert_eq!(program.run(0, &a, &[], WRITE), [1]);
}

#[test]
fn knowledge_passes_through_streams() {
    let mut program = Program::new();
    let a = program.submit(0);
    assert!(program.run(0, &a, &[], WRITE).is_empty());
    // An operation without accesses passes the knowledge on, in order.
    let b = program.submit(1);
    let running = program.begin(1, &b, &[&a]);
    program.end(1, running);
    let (c, d) = (program.submit(1), program.submit(2));
    assert!(program.run(1, &c, &[], READ).is_empty());
    assert!(program.run(2, &d, &[&c], WRITE).is_empty());
}

#[test]
fn what_the_host_is_told_counts_before_the_operation_is_done() {
    let mut program = Program::new();
    let (a, b) = (program.submit(0), program.submit(0));
    assert!(program.run(0, &a, &[], WRITE).is_empty());
    let running = program.begin(0, &b, &[]);
    running.tell_host();
    let c = program.submit(1);
    assert!(program.run(1, &c, &[], WRITE).is_empty());
    program.end(0, running);
}

#[test]
fn what_the_host_frees_is_in_nobody_elses_hands() {
    let mut program = Program::new();
    let (a, b) = (program.submit(0), program.submit(1));
    assert!(program.run(0, &a, &[], READ).is_empty());
    let frees = |program: &Program| {
        let mut state = program.order.state();
        let known = state.host.clone();
        let view = View { stamp: Stamp { lane: HOST, number: 1 }, known: &known, graph: None };
        let what = What::Free;
        let stamp = view.stamp;
        let free = Operation { stamp, node: None, submitted: 9, stream: None, what };
        state.note(&Arc::new(free), &view, [whole(region(0))]).len()
    };
    assert_eq!(frees(&program), 1);
    a.learn();
    assert_eq!(frees(&program), 0);
    // What is submitted before the free and executed behind it.
    let running = program.begin(1, &b, &[]);
    let gone = split(
        &Footprint::from_iter([Span::new(region(0).base + 8, 4, READ)]),
        &[region(3)],
        |address| program.order.state().history.freed_at(address),
    );
    assert_eq!(gone.len(), 1);
    assert_eq!(gone[0].0, region(0));
    let operation = running.operation(What::Copy { bytes: 4 });
    assert_eq!(program.order.state().note(&operation, &running.view(), gone).len(), 1);
    program.end(1, running);
}

#[test]
fn footprints_are_split_by_allocations() {
    let runtime = Region { kind: RegionKind::Runtime, ..region(1) };
    let live = [region(0), runtime, region(2)];
    let all = Footprint::from_iter([Span::new(0, 1 << 20, READ)]);
    let pieces = split(&all, &live, |_| None);
    let found: Vec<_> = pieces
        .iter()
        .map(|(region, footprint)| (region.serial, footprint.spans()[0].start))
        .collect();
    assert_eq!(found, [(0, region(0).base), (2, region(2).base)]);
    assert!(pieces.iter().all(|(region, footprint)| {
        footprint.spans().len() == 1 && footprint.spans()[0].end == region.range().end
    }));
}

#[test]
fn the_history_does_not_grow_with_the_program() {
    // One buffer, written again and again: the last write stands for all.
    let mut program = Program::new();
    for _ in 0..1000 {
        let point = program.submit(0);
        assert!(program.run(0, &point, &[], WRITE).is_empty());
    }
    assert_eq!(program.kept(), 1);
    // Always other buffers: what the host knows of is dropped.
    let mut program = Program::new();
    for serial in 0..40_000 {
        let point = program.submit(0);
        let running = program.begin(0, &point, &[]);
        assert!(note(&running, serial, 0..16, WRITE).is_empty());
        program.end(0, running);
        if serial % 1000 == 0 {
            point.learn();
        }
    }
    assert!(program.kept() < 10_000, "{}", program.kept());
    // An operation that was submitted long ago keeps what it does not come after.
    let mut program = Program::new();
    let old = program.submit(1);
    for serial in 0..10_000 {
        let point = program.submit(0);
        let running = program.begin(0, &point, &[]);
        assert!(note(&running, serial, 0..16, WRITE).is_empty());
        program.end(0, running);
        point.learn();
    }
    assert_eq!(program.run(1, &old, &[], READ), [0]);
}
