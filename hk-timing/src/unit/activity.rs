//! What waves do, and why they wait.

/// Why a wave does not issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Another wave had the slot.
    Arbitration,
    /// `s_nop`, `s_sleep`, a branch.
    Pause,
    /// Its code is fetched.
    Fetch,
    /// `s_waitcnt` of vector memory, or its counter is full.
    VectorWait,
    /// `s_waitcnt` of LDS, or its counter is full.
    LdsWait,
    /// `s_waitcnt` of scalar memory, or its counter is full.
    ScalarWait,
    /// `s_barrier`.
    Barrier,
    /// The matrix unit is busy.
    Matrix,
    /// The VALU is busy.
    Vector,
    /// The LDS port's queue is full.
    LdsPort,
    /// The vector memory unit is busy.
    VectorMemory,
    /// The scalar memory unit is busy.
    ScalarMemory,
}

impl Reason {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Arbitration,
        Self::Pause,
        Self::Fetch,
        Self::VectorWait,
        Self::LdsWait,
        Self::ScalarWait,
        Self::Barrier,
        Self::Matrix,
        Self::Vector,
        Self::LdsPort,
        Self::VectorMemory,
        Self::ScalarMemory,
    ];
}

/// What a wave does for some cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It issues.
    Issue,
    /// It waits.
    Wait(Reason),
    /// It waits for LDS no longer than bank conflicts of that access take.
    Conflict,
}

/// Cycles in which a wave does one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First of them.
    pub start: u64,
    /// The one behind the last.
    pub end: u64,
    /// What it does.
    pub activity: Activity,
}

/// What a wave does, cycle after cycle, from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveLine {
    /// Which workgroup of the compute unit it belongs to, from 0 on.
    pub group: usize,
    /// Which wave of the workgroup it is.
    pub wave: usize,
    /// Its SIMD.
    pub simd: usize,
    /// Without gaps, in order.
    pub spans: Vec<Span>,
}

impl WaveLine {
    pub(super) fn add(&mut self, start: u64, end: u64, activity: Activity) {
        if start == end {
            return;
        }
        match self.spans.last_mut().filter(|last| last.activity == activity) {
            Some(last) => last.end = end,
            None => self.spans.push(Span { start, end, activity }),
        }
    }
}
