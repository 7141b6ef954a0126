//! What the waves of a compute unit do, as a picture.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use hk_timing::{Activity, Prediction, Reason, Timeline, WaveLine};

/// What is drawn in one colour, with its class and its name.
const KINDS: [(&str, &str); 9] = [
    ("issue", "issues"),
    ("turn", "waits for the VALU or its turn"),
    ("matrix", "waits for the matrix unit"),
    ("lds", "waits for LDS or its port"),
    ("conflict", "waits for LDS: bank conflicts"),
    ("vector", "waits for vector memory"),
    ("scalar", "waits for scalar memory"),
    ("barrier", "waits at a barrier"),
    ("idle", "idle: pause, branch, fetch of code"),
];

/// Which of them an activity is.
fn kind(activity: Activity) -> usize {
    match activity {
        Activity::Issue => 0,
        Activity::Conflict => 4,
        Activity::Wait(reason) => match reason {
            Reason::Arbitration | Reason::Vector => 1,
            Reason::Matrix => 2,
            Reason::LdsWait | Reason::LdsPort => 3,
            Reason::VectorWait | Reason::VectorMemory => 5,
            Reason::ScalarWait | Reason::ScalarMemory => 6,
            Reason::Barrier => 7,
            Reason::Pause | Reason::Fetch => 8,
        },
    }
}

const STYLE: &str = "\
text { font: 12px sans-serif; fill: #222 } .small { font-size: 10px } .axis { stroke: #999; fill: none }
.issue { fill: #15803d } .turn { fill: #a3d9a5 } .matrix { fill: #7e22ce } .lds { fill: #eab308 }
.conflict { fill: #dc2626 } .vector { fill: #1d4ed8 } .scalar { fill: #67c7e0 } .barrier { fill: #7c4a1e }
.idle { fill: #c8c8c8 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .idle { fill: #666 } }
";

const LEFT: f64 = 150.0;
/// Columns of the plot, one for each unit of its width.
const COLUMNS: u64 = 900;
const ROW: f64 = 12.0;
const GAP: f64 = 4.0;
/// Cycles of the second panel, and of a column of it.
const DETAIL: u64 = 1800;

/// A panel with a row for each wave, in which each column has the colour of what takes most of its cycles.
fn panel(svg: &mut String, waves: &[&WaveLine], cycles: &Range<u64>, top: f64) -> f64 {
    let length = (cycles.end - cycles.start).max(1);
    let edge = |column: u64| cycles.start + column * length / COLUMNS;
    let mut y = top;
    let mut simd = None;
    for wave in waves {
        if simd.is_some_and(|simd| simd != wave.simd) {
            y += GAP;
        }
        simd = Some(wave.simd);
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<text class=\"small\" x=\"8\" y=\"{:.1}\">SIMD {} group {} wave {}</text>",
            y + ROW - 3.0,
            wave.simd,
            wave.group,
            wave.wave
        );
        let mut spans = wave.spans.iter().peekable();
        // Column from which on the present colour goes, and the colour.
        let mut run: (u64, Option<usize>) = (0, None);
        for column in 0..=COLUMNS {
            let mut most = None;
            if column < COLUMNS {
                let (from, to) = (edge(column), edge(column + 1));
                let mut sums = [0; KINDS.len()];
                while let Some(span) = spans.peek() {
                    let shared = span.end.min(to).saturating_sub(span.start.max(from));
                    sums[kind(span.activity)] += shared;
                    if span.end > to {
                        break;
                    }
                    spans.next();
                }
                let highest = sums.iter().copied().max().unwrap_or(0);
                most = sums.iter().position(|&sum| sum == highest).filter(|_| highest != 0);
            }
            if column == COLUMNS || most != run.1 {
                if let Some(kind) = run.1 {
                    let (x, width) = (LEFT + run.0 as f64, column - run.0);
                    let (class, _) = KINDS[kind];
                    let height = ROW - 2.0;
                    let _ = writeln!(
                        svg,
                        "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{width}\" \
                         height=\"{height}\"/>"
                    );
                }
                run = (column, most);
            }
        }
        y += ROW;
    }
    for tenth in 0..=10 {
        let x = LEFT + (COLUMNS * tenth / 10) as f64;
        let at = cycles.start + length * tenth / 10;
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{x} {y:.1}v4\"/>");
        let _ = writeln!(
            svg,
            "<text class=\"small\" text-anchor=\"middle\" x=\"{x}\" y=\"{:.1}\">{at}</text>",
            y + 15.0
        );
    }
    y + 22.0
}

/// The picture: the first workgroups of a compute unit from start to end, some cycles of their middle, and
/// what takes which share of the waves' time. Cycles are those of the engine clock.
pub(super) fn timeline(
    title: &str,
    device: &str,
    kernel: &str,
    prediction: &Prediction,
    timeline: &Timeline,
) -> String {
    let mut waves: Vec<_> = timeline.waves.iter().collect();
    waves.sort_by_key(|wave| (wave.simd, wave.group, wave.wave));
    let spans = || waves.iter().flat_map(|wave| &wave.spans);
    let start = spans().map(|span| span.start).min().unwrap_or(0);
    let end = spans().map(|span| span.end).max().unwrap_or(0);
    let mut sums: HashMap<usize, u64> = HashMap::new();
    for span in spans() {
        *sums.entry(kind(span.activity)).or_default() += span.end - span.start;
    }
    let total = sums.values().sum::<u64>().max(1) as f64;

    let mut body = String::new();
    let mut y = 20.0;
    let kernel = escaped(kernel);
    let micros = 1e6 * prediction.seconds;
    for line in [
        format!("{} on {device}, by a model: nothing was measured", escaped(title)),
        format!(
            "{kernel}: {micros:.1} us at {:.2} GHz, limited by {}",
            timeline.clock, prediction.limit
        ),
    ] {
        let _ = writeln!(body, "<text x=\"8\" y=\"{y}\">{line}</text>");
        y += 18.0;
    }
    for (number, (class, name)) in KINDS.iter().enumerate() {
        let (x, y) = (8.0 + 340.0 * (number % 3) as f64, y + 18.0 * (number / 3) as f64);
        let share = 100.0 * sums.get(&number).copied().unwrap_or(0) as f64 / total;
        let _ = writeln!(
            body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"12\"/>\
             <text x=\"{}\" y=\"{y}\">{name}, {share:.0} %</text>",
            y - 10.0,
            x + 18.0
        );
    }
    y += 18.0 * KINDS.len().div_ceil(3) as f64;
    let whole = start..end;
    let _ = writeln!(
        body,
        "<text x=\"8\" y=\"{:.1}\">Workgroups that begin together, in cycles; a column of {:.1} cycles \
         shows what takes most of them</text>",
        y + 6.0,
        (end - start) as f64 / COLUMNS as f64
    );
    y = panel(&mut body, &waves, &whole, y + 14.0);
    if end - start > 2 * DETAIL {
        let middle = start.midpoint(end) - DETAIL / 2;
        let _ = writeln!(body, "<text x=\"8\" y=\"{:.1}\">The middle of it</text>", y + 16.0);
        y = panel(&mut body, &waves, &(middle..middle + DETAIL), y + 24.0);
    }
    let width = LEFT + COLUMNS as f64 + 30.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {:.0}\">\n<style>\n{STYLE}</style>\n\
         {body}</svg>\n",
        y + 8.0
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
