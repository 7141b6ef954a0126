//! Drawing.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Hues that tell up to 16 things apart, light enough for dark letters on them.
pub(crate) const HUES: [&str; 16] = [
    "#9ec5f4", "#f7c08a", "#a8dba0", "#d8b6f0", "#f4a6a6", "#f3e08c", "#9adfd6", "#d6c3ae",
    "#c3daf9", "#fbdcb9", "#cfeccb", "#ebd9f8", "#fad0d0", "#faf0c3", "#c8efea", "#e9dfd3",
];

/// Cells of tables, each in a colour, with letters on them.
#[derive(Default)]
pub(crate) struct Cells {
    /// Paths, by colour.
    fills: BTreeMap<&'static str, String>,
    /// Letters, by where they are at their points.
    letters: [String; 3],
}

impl Cells {
    /// A cell, with a margin.
    pub(crate) fn fill(&mut self, [x, y, w, h]: [f64; 4], colour: &'static str) {
        let [x, y, w, h] = [x, y, w - 0.6, h - 0.6].map(short);
        let path = self.fills.entry(colour).or_default();
        // Writing to a string cannot fail.
        let _ = write!(path, "M{x} {y}h{w}v{h}h-{w}z");
    }

    /// Letters at a point.
    pub(crate) fn letters(&mut self, [x, y]: [f64; 2], at: Anchor, letters: impl Display) {
        let [x, y] = [x, y].map(short);
        let _ = write!(self.letters[at as usize], "<text x=\"{x}\" y=\"{y}\">{letters}</text>");
    }

    /// A cell with letters in the middle.
    pub(crate) fn cell(&mut self, cell: [f64; 4], colour: &'static str, letters: impl Display) {
        self.fill(cell, colour);
        let [x, y, w, h] = cell;
        self.letters([x + w / 2.0 - 0.3, y + h / 2.0 + 2.6], Anchor::Middle, letters);
    }
}

/// A picture as it grows.
pub(crate) struct Picture {
    size: [f64; 2],
    body: String,
}

/// Where a text is at its point.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 15px; font-weight: 600 }
.note { font-size: 11px; fill: #59636e } .cell text { font-size: 8px; fill: #1f2328 }
.middle { text-anchor: middle } .end { text-anchor: end } .small { font-size: 10px } .sign { font-size: 26px }
.small, .on { fill: #1f2328 } .tick { fill: #59636e } .name { font-weight: 600 } .data { font-size: 9.5px } .sheet { fill: #fff } .thin { fill: none; stroke: #fff; stroke-width: .6 }
.edge { fill: none; stroke: #1f2328; stroke-width: 1.6 } .mark { fill: #1f2328 }
.box { fill: #eef1f4; stroke: #8c959f } .band { fill: #eef1f4 }
.rim { stroke: #fff } .ring { fill: #fff; stroke: #1f2328; stroke-width: 1.6 }
@media (prefers-color-scheme: dark) {
text, .title { fill: #e6edf3 } .note { fill: #9aa4af } .cell text, .small, .on { fill: #1f2328 } .sheet { fill: #0d1117 }
.thin { stroke: #0d1117 } .box { fill: #d5dbe2 }
.band { fill: #161b22 } .tick { fill: #9aa4af }
.rim { fill: #e6edf3; stroke: #161b22 } .ring { fill: #161b22; stroke: #e6edf3 } .name { fill: #e6edf3 }
}";

impl Picture {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { size: [width, height], body: String::new() }
    }

    fn put(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{line}");
    }

    /// A rectangle of a class of the style, or of a colour.
    pub(crate) fn rect(&mut self, [x, y, width, height]: [f64; 4], look: &str) {
        let look = if look.starts_with('#') {
            format!("fill=\"{look}\"")
        } else {
            format!("class=\"{look}\"")
        };
        let [x, y, width, height] = [x, y, width, height].map(short);
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {look}/>"
        ));
    }

    pub(crate) fn text(&mut self, [x, y]: [f64; 2], at: Anchor, class: &str, text: impl Display) {
        let anchor = match at {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = text.to_string().replace('&', "&amp;").replace('<', "&lt;");
        let [x, y] = [x, y].map(short);
        self.put(format_args!("<text x=\"{x}\" y=\"{y}\"{anchor} class=\"{class}\">{text}</text>"));
    }

    /// A text in the middle of a rectangle, or at another share of its height.
    pub(crate) fn label(
        &mut self,
        [x, y, w, h]: [f64; 4],
        at: f64,
        class: &str,
        text: impl Display,
    ) {
        self.text([x + w / 2.0, y + h * at + 3.8], Anchor::Middle, class, text);
    }

    pub(crate) fn cells(&mut self, cells: Cells) {
        for (colour, path) in cells.fills {
            self.put(format_args!("<path fill=\"{colour}\" d=\"{path}\"/>"));
        }
        for (letters, class) in cells.letters.iter().zip(["cell", "cell middle", "cell end"]) {
            if !letters.is_empty() {
                self.put(format_args!("<g class=\"{class}\">{letters}</g>"));
            }
        }
    }

    /// A path of SVG.
    pub(crate) fn path(&mut self, class: &str, path: impl Display) {
        self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
    }

    /// A broad line of a colour.
    pub(crate) fn stroke(&mut self, from: [f64; 2], to: [f64; 2], colour: &str) {
        let [[x, y], [to_x, to_y]] = [from, to].map(|point| point.map(short));
        self.put(format_args!(
            "<path d=\"M{x} {y}L{to_x} {to_y}\" stroke=\"{colour}\" stroke-width=\"4\"/>"
        ));
    }

    /// A ring, or a dot.
    pub(crate) fn ring(&mut self, at: [f64; 2], is_dot: bool) {
        let [x, y] = at.map(short);
        let class = if is_dot { "mark rim" } else { "ring" };
        self.put(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" class=\"{class}\"/>"));
    }

    pub(crate) fn finish(self) -> String {
        let [width, height] = self.size.map(short);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\n\
             <style>\n{STYLE}\n</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" class=\"sheet\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// A number without digits that nobody sees.
fn short(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Rectangles `[column, row, columns, rows]` of what has the same key in a grid of rows.
pub(crate) fn regions<K: PartialEq + Copy>(
    rows: usize,
    columns: usize,
    key: impl Fn(usize, usize) -> K,
) -> Vec<([usize; 4], K)> {
    let mut taken = vec![false; rows * columns];
    let mut found = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            if taken[row * columns + column] {
                continue;
            }
            let k = key(row, column);
            let free = |r: usize, c: usize| !taken[r * columns + c] && key(r, c) == k;
            let width = (column..columns).take_while(|c| free(row, *c)).count();
            let height =
                (row..rows).take_while(|r| (column..column + width).all(|c| free(*r, c))).count();
            for r in row..row + height {
                taken[r * columns + column..][..width].fill(true);
            }
            found.push(([column, row, width, height], k));
        }
    }
    found
}
