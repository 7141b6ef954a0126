//! Problems on the rooflines of devices, as a picture.

use std::fmt::Write;

use hk_core::Device;
use hk_sim::Product;
use hk_sim::isa::Arch;

/// A problem on a device.
pub(super) struct Point {
    /// The number of its problem, from 1 on, and of its device.
    pub(super) number: usize,
    pub(super) device: usize,
    pub(super) flops_per_byte: f64,
    pub(super) flops_per_second: f64,
}

/// Corners of the plot, and powers of ten that it spans: operations per byte, and per second.
const LEFT: f64 = 70.0;
const TOP: f64 = 20.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 460.0;
const INTENSITY: [f64; 2] = [-1.0, 4.0];
const RATE: [f64; 2] = [11.0, 16.0];

const STYLE: &str = "\
text { font: 12px sans-serif; fill: #222 } .grid { stroke: #ddd } .roof { fill: none; stroke-width: 1.5 }
.d0 { stroke: #c2410c; fill: #c2410c } .d1 { stroke: #1d4ed8; fill: #1d4ed8 }
.d2 { stroke: #15803d; fill: #15803d } .d3 { stroke: #7e22ce; fill: #7e22ce }
.roof { fill: none } .half { stroke-dasharray: 5 4 } .at { stroke: none; font-size: 10px }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #444 } }
";

/// Where in the plot something is, on logarithmic axes.
fn place(flops_per_byte: f64, flops_per_second: f64) -> [f64; 2] {
    let along = |value: f64, [low, high]: [f64; 2]| (value.log10() - low) / (high - low);
    [
        LEFT + WIDTH * along(flops_per_byte, INTENSITY),
        TOP + HEIGHT * (1.0 - along(flops_per_second, RATE)),
    ]
}

/// Bytes per second of the memory, and operations of 16 bits of the matrix units, at the peak clocks.
fn peaks(product: &Product) -> [f64; 2] {
    let per_clock = match product.arch {
        Arch::Gfx942 => 2048.0,
        Arch::Gfx950 => 4096.0,
    };
    let memory = f64::from(product.memory_bus_bits) / 8.0;
    [
        // Four transfers in a clock.
        4e3 * f64::from(product.memory_clock_khz) * memory,
        1e3 * f64::from(product.clock_khz) * f64::from(product.compute_units) * per_clock,
    ]
}

/// The picture: rooflines of simulated devices, for operations of 16 bits and, dashed, of 8 bits; a dot for
/// each point; the problems' titles.
pub(super) fn roofline(points: &[Point], titles: &[String], devices: &[Device]) -> String {
    let height = (TOP + HEIGHT + 60.0).max(60.0 + 18.0 * (titles.len() + devices.len()) as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1080 {height:.0}\">\n<style>\n{STYLE}</style>\n"
    );
    let mut add = |line: String| {
        // Writing to a string does not fail.
        let _ = writeln!(svg, "{line}");
    };
    for power in INTENSITY[0] as i32..=INTENSITY[1] as i32 {
        let [x, _] = place(10f64.powi(power), 1e12);
        let bottom = TOP + HEIGHT;
        add(format!("<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/>"));
        add(format!(
            "<text x=\"{:.1}\" y=\"{}\">{}</text>",
            x - 8.0,
            bottom + 18.0,
            10f64.powi(power)
        ));
    }
    for power in RATE[0] as i32..=RATE[1] as i32 {
        let [_, y] = place(1.0, 10f64.powi(power));
        let right = LEFT + WIDTH;
        add(format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
        add(format!("<text x=\"8\" y=\"{:.1}\">{} TF/s</text>", y + 4.0, 10f64.powi(power - 12)));
    }
    let (middle, below) = (LEFT + WIDTH / 2.0 - 60.0, TOP + HEIGHT + 40.0);
    add(format!("<text x=\"{middle}\" y=\"{below}\">operations per byte</text>"));
    let x = LEFT + WIDTH + 30.0;
    for (number, device) in devices.iter().enumerate() {
        let name = device.name();
        if let Some(product) = name.strip_prefix("sim:").and_then(Product::by_name) {
            let [bytes, flops] = peaks(product);
            for (flops, class) in [(flops, ""), (2.0 * flops, " half")] {
                let [first, ridge] = [10f64.powf(INTENSITY[0]), flops / bytes];
                let [x0, y0] = place(first, first * bytes);
                let [x1, y1] = place(ridge, flops);
                let x2 = LEFT + WIDTH;
                let path = format!("M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}H{x2}");
                add(format!("<path class=\"roof d{}{class}\" d=\"{path}\"/>", number % 4));
            }
        }
        let y = TOP + 14.0 + 18.0 * number as f64;
        add(format!(
            "<circle class=\"d{}\" cx=\"{x}\" cy=\"{:.1}\" r=\"4\"/>",
            number % 4,
            y - 4.0
        ));
        add(format!("<text x=\"{}\" y=\"{y:.1}\">{name}</text>", x + 14.0));
    }
    for (number, title) in titles.iter().enumerate() {
        let y = TOP + 24.0 + 18.0 * (devices.len() + number) as f64;
        add(format!("<text x=\"{x}\" y=\"{y:.1}\">{} {title}</text>", number + 1));
    }
    for Point { number, device, flops_per_byte, flops_per_second } in points {
        let [x, y] = place(*flops_per_byte, *flops_per_second);
        add(format!("<circle class=\"d{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>", device % 4));
        add(format!(
            "<text class=\"at\" x=\"{:.1}\" y=\"{:.1}\">{number}</text>",
            x + 5.0,
            y - 3.0
        ));
    }
    svg + "</svg>\n"
}
