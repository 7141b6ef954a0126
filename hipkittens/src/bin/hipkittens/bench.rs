//! `hipkittens bench`: how long ops take, by the model of `hk-timing` on simulated devices, by events on
//! GPUs.

mod draw;
mod roofline;

use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use hipkittens::problems::{Family, Launch, Problem, Published, captured, families};
use hk_core::{Device, Stream};
use hk_sim::Product;
use hk_sim::trace::{Traced, launches};
use hk_timing::{Parameters, Prediction, Timeline, predict, sample, timeline};
use serde_json::{Value, json};

use crate::{check, output};

use roofline::{Point, roofline};

/// What `hipkittens bench` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Time only problems whose op and shape contain one of these texts, such as `gemm` or `8192`; --list
    /// prints all.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Sizes of the problem instead of those listed: as 8192x4096x512 in the order of the op, or by names as
    /// m=8192,n=4096,k=512; a wrong one is answered by what the op takes. FILTER names the op.
    #[arg(long, value_name = "SIZES", conflicts_with = "capture")]
    shape: Option<String>,
    /// Device, such as hip:0 or sim:mi355x; may be given several times [default: a simulated chip of
    /// each architecture that there are kernels for]
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// Print an object of JSON per problem and device, one per line: with each kernel's share of the
    /// time, what it waits for and how busy its units are. With --list, one per problem.
    #[arg(long)]
    json: bool,
    /// List the problems, and time none.
    #[arg(long)]
    list: bool,
    /// Time captured launches instead, by the model: that of this folder, or all in folders of their own
    /// there. They are of any HIP program: `hipkittens run --capture DIR -- PROGRAM`.
    #[arg(long, value_name = "DIR")]
    capture: Option<PathBuf>,
    /// Draw a picture into this file: of one problem, or captured launch, on one simulated device, what the
    /// waves of a compute unit do cycle after cycle in its longest kernel; of others, where they are on the
    /// rooflines of the devices.
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    svg: Option<PathBuf>,
}

/// Those of the problems whose titles contain one of the texts, or all if there are none; of the sizes
/// `shape`, if it says some.
///
/// # Errors
/// What is wrong with the sizes, or that there is none.
pub(crate) fn matching(
    filters: &[String],
    shape: Option<&str>,
) -> Result<Vec<Problem>, Box<dyn Error>> {
    let is_wanted = |problem: &Problem| is_wanted(problem, filters);
    let problems: Vec<_> = match shape {
        Some(shape) => {
            let families = families().into_iter().filter(|family| family.has(is_wanted));
            families.map(|family| family.shaped(shape)).collect::<Result<_, _>>()?
        }
        None => families().into_iter().flat_map(Family::problems).filter(is_wanted).collect(),
    };
    at_least_one(problems, filters)
}

fn is_wanted(problem: &Problem, filters: &[String]) -> bool {
    let title = problem.title();
    filters.is_empty() || filters.iter().any(|filter| title.contains(filter))
}

fn at_least_one(
    problems: Vec<Problem>,
    filters: &[String],
) -> Result<Vec<Problem>, Box<dyn Error>> {
    let none = || format!("no problem matches `{}`; --list prints all", filters.join("`, `"));
    if problems.is_empty() { Err(none().into()) } else { Ok(problems) }
}

impl Request {
    fn problems(&self) -> Result<Vec<Problem>, Box<dyn Error>> {
        let Some(folder) = &self.capture else {
            return matching(&self.filters, self.shape.as_deref());
        };
        let mut problems = captured(folder)?;
        problems.retain(|problem| is_wanted(problem, &self.filters));
        at_least_one(problems, &self.filters)
    }
}

/// Times the problems on the devices and prints what came out.
///
/// # Errors
/// What is wrong with the request, or with a launch.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let problems = request.problems()?;
    let mut out = BufWriter::new(output::stdout());
    if request.list {
        for problem in &problems {
            if request.json {
                let (op, shape) = (&problem.op, &problem.shape);
                writeln!(out, "{}", json!({ "op": op, "shape": shape }))?;
            } else {
                writeln!(out, "{}", problem.title())?;
            }
        }
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let devices = check::open(&request.device)?;
    if request.capture.is_some() {
        if let Some(device) = devices.iter().find(|device| !device.is_simulated()) {
            return Err(
                format!("{device}: captured launches are timed on simulated devices").into()
            );
        }
        let fits = |device: &Device| problems.iter().any(|of| of.arch == Some(device.arch()));
        if !devices.iter().any(fits) {
            return Err("no device is of an architecture of the captured launches".into());
        }
    }
    let fits =
        |problem: &Problem, device: &Device| problem.arch.is_none_or(|arch| arch == device.arch());
    let timed = problems.iter().map(|of| devices.iter().filter(|on| fits(of, on)).count());
    let is_one = timed.sum::<usize>() == 1 && devices.iter().all(Device::is_simulated);
    if request.svg.is_some() && request.capture.is_some() && !is_one {
        return Err(
            "--svg draws one captured launch on one device; nobody knows the rooflines of \
                    others: FILTER and --device choose"
                .into(),
        );
    }
    if !request.json && devices.iter().any(Device::is_simulated) {
        write!(out, "{MODEL}")?;
    }
    let (mut hashes, mut points, mut picture) = (Vec::new(), Vec::new(), None);
    for (number, problem) in problems.iter().enumerate() {
        // The picture is of all.
        if request.svg.is_none() && !output::is_read() {
            break;
        }
        if !request.json {
            writeln!(out, "{}", problem.title())?;
        }
        let fitting = devices.iter().enumerate().filter(|(_, device)| fits(problem, device));
        for (at, device) in fitting {
            let time = Time::of(problem, device, is_one && request.svg.is_some())?;
            if request.json {
                writeln!(out, "{}", time.object(problem, device))?;
            } else {
                writeln!(out, "  {}", time.row(problem, device))?;
            }
            // Whoever waits sees what is there.
            out.flush()?;
            hashes.extend(time.hash(device));
            picture = time.picture(problem, device);
            points.push(Point {
                number: number + 1,
                device: at,
                flops_per_byte: problem.flops / problem.bytes,
                flops_per_second: problem.flops / time.seconds(),
            });
        }
    }
    hashes.sort();
    hashes.dedup();
    if !request.json {
        for (device, hash) in hashes {
            writeln!(out, "{device}: parameters {hash}")?;
        }
    }
    out.flush()?;
    if let Some(file) = &request.svg {
        let titles: Vec<_> = problems.iter().map(Problem::title).collect();
        let about = |error| format!("{}: {error}", file.display());
        let picture = picture.unwrap_or_else(|| roofline(&points, &titles, &devices));
        fs::write(file, picture).map_err(about)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What precedes times of simulated devices.
const MODEL: &str = "\
Times of simulated devices are those of a model; nothing was measured. `within` is the error to expect of
nine in ten: of a factor of 1.2, 20 %. `roofline` is the least time by what a kernel does, as a share of its
time. Published times are of others' kernels, measured.

";

/// How often a GPU does a problem before it is timed, and while.
const WARM_UP: usize = 3;
const REPEATS: usize = 20;

/// A launch, by the model.
pub(crate) struct Kernel {
    name: String,
    prediction: Prediction,
    /// What waves do meanwhile, if it is to be drawn.
    timeline: Option<Timeline>,
}

/// What a problem takes on a device.
pub(crate) enum Time {
    /// Launches of it, by the model.
    Model(Vec<Kernel>),
    /// Measured.
    Device(Duration),
}

impl Time {
    fn of(problem: &Problem, device: &Device, to_draw: bool) -> Result<Self, Box<dyn Error>> {
        let about = |error| format!("{} on {device}: {error}", problem.title());
        let stream = device.new_stream()?;
        let mut launch = (problem.prepare)(&stream).map_err(|error| about(error.to_string()))?;
        Self::of_launch(&stream, &mut launch, to_draw)
            .map_err(|error| about(error.to_string()).into())
    }

    /// What a launch takes that is ready.
    pub(crate) fn of_launch(
        stream: &Stream,
        launch: &mut Launch,
        to_draw: bool,
    ) -> Result<Self, Box<dyn Error>> {
        match stream.device().is_simulated() {
            true => model(stream, launch, to_draw).map(Self::Model),
            false => Ok(Self::Device(measure(stream, launch)?)),
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        match self {
            Self::Model(kernels) => kernels.iter().map(|of| of.prediction.seconds).sum(),
            Self::Device(time) => time.as_secs_f64(),
        }
    }

    /// The launch that takes longest.
    fn longest_kernel(&self) -> Option<&Kernel> {
        let Self::Model(kernels) = self else { return None };
        let seconds = |of: &Kernel| of.prediction.seconds;
        kernels.iter().max_by(|a, b| seconds(a).total_cmp(&seconds(b)))
    }

    fn longest(&self) -> Option<&Prediction> {
        self.longest_kernel().map(|of| &of.prediction)
    }

    /// What waves do in the launch that takes longest, if it is to be drawn.
    fn picture(&self, problem: &Problem, device: &Device) -> Option<String> {
        let Kernel { name, prediction, timeline } = self.longest_kernel()?;
        let title = problem.title();
        Some(draw::timeline(&title, device.name(), name, prediction, timeline.as_ref()?))
    }

    /// The least time by what the kernels do, as a share of their time.
    fn roofline_share(&self) -> Option<f64> {
        let Self::Model(kernels) = self else { return None };
        let roofline = kernels.iter().map(|of| of.prediction.roofline).sum::<f64>();
        Some(roofline / self.seconds())
    }

    /// The device's name, and what tells the parameters of its model, if it has one.
    pub(crate) fn hash(&self, device: &Device) -> Option<(String, String)> {
        Some((device.name().to_owned(), self.longest()?.parameters.clone()))
    }

    fn row(&self, problem: &Problem, device: &Device) -> String {
        let seconds = self.seconds();
        let mut row =
            format!("{:<10} {:>10} {:>11}", device.name(), micros(seconds), problem.rate(seconds));
        if let Some((longest, share)) = self.longest().zip(self.roofline_share()) {
            let within = 100.0 * (longest.error.exp() - 1.0);
            let limit = longest.limit;
            row += &format!("  within {within:>3.0} %  roofline {:>3.0} %  {limit}", 100.0 * share);
        }
        if let Some(Published { seconds: theirs, by, .. }) = problem.published_on(device) {
            let ratio = seconds / theirs;
            row += &format!("  published {} ({by}), ratio {ratio:.2}", micros(*theirs));
        }
        row
    }

    fn object(&self, problem: &Problem, device: &Device) -> Value {
        let seconds = self.seconds();
        let mut object = json!({
            "op": problem.op,
            "shape": problem.shape,
            "device": device.name(),
            "source": if matches!(self, Self::Model(_)) { "model" } else { "events" },
            "seconds": seconds,
        });
        if problem.bytes > 0.0 {
            object["flops_per_second"] = (problem.flops / seconds).into();
            object["bytes_per_second"] = (problem.bytes / seconds).into();
        }
        if let Some(published) = problem.published_on(device) {
            let Published { seconds, by, .. } = published;
            object["published"] = json!({ "seconds": seconds, "by": by });
        }
        if let Some((longest, share)) = self.longest().zip(self.roofline_share()) {
            object["roofline_share"] = share.into();
            object["limit"] = longest.limit.to_string().into();
            object["error"] = longest.error.into();
            object["parameters"] = longest.parameters.as_str().into();
        }
        if let Self::Model(kernels) = self {
            let kernel = |Kernel { name, prediction: of, .. }: &Kernel| {
                let busy = of.busy.iter().map(|(unit, share)| (unit.to_string(), json!(share)));
                let waits = of.stalls.reasons.iter();
                let waits = waits.map(|(reason, cycles)| {
                    (format!("{reason:?}"), json!(*cycles as f64 / of.stalls.total.max(1) as f64))
                });
                json!({
                    "kernel": name,
                    "seconds": of.seconds,
                    "clock_ghz": of.clock,
                    "roofline_share": of.roofline_share(),
                    "limit": of.limit.to_string(),
                    "busy": busy.collect::<serde_json::Map<_, _>>(),
                    "waits": waits.collect::<serde_json::Map<_, _>>(),
                })
            };
            object["kernels"] = kernels.iter().map(kernel).collect();
        }
        object
    }
}

pub(crate) fn micros(seconds: f64) -> String {
    format!("{:.1} us", 1e6 * seconds)
}

/// What the model expects of each launch.
fn model(
    stream: &Stream,
    launch: &mut Launch,
    to_draw: bool,
) -> Result<Vec<Kernel>, Box<dyn Error>> {
    let chosen = |groups, product: &Product| sample(groups, product).0;
    let (result, traced) = launches(chosen, || launch().and_then(|()| stream.synchronize()));
    result?;
    let predicted = |Traced { dispatch, groups }: Traced| {
        let by = Parameters::of(dispatch.product)?;
        let count = dispatch.grid.iter().map(|&n| u64::from(n)).product();
        let neighbours = sample(count, dispatch.product).1;
        // Whoever publishes a time has run the kernel before.
        let prediction = predict(&dispatch, &groups, neighbours, true, &by)?;
        let timeline =
            to_draw.then(|| timeline(&dispatch, &groups, neighbours, true, &by)).transpose()?;
        Ok(Kernel { name: dispatch.kernel, prediction, timeline })
    };
    traced.into_iter().map(predicted).collect()
}

/// The median of what events say.
fn measure(stream: &Stream, launch: &mut Launch) -> hk_core::Result<Duration> {
    for _ in 0..WARM_UP {
        launch()?;
    }
    let mut events = Vec::new();
    for _ in 0..REPEATS {
        let start = stream.record()?;
        launch()?;
        events.push((start, stream.record()?));
    }
    stream.synchronize()?;
    let mut times: Vec<_> =
        events.iter().map(|(start, stop)| start.elapsed(stop)).collect::<Result<_, _>>()?;
    times.sort();
    Ok(times[REPEATS / 2])
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Instant;

    use super::*;

    /// What a GPU would do; events of a simulated device are of the host's clock.
    #[test]
    fn events_around_repeated_launches_are_a_time() {
        let _alone = crate::toy::alone();
        let device = Device::open("sim:mi355x").expect("it is simulated");
        let stream = device.new_stream().expect("a stream");
        let mut all = families().into_iter().flat_map(Family::problems);
        let problem = all.find(|of| of.title() == "moe_topk bf16 4096x256, 8 of them");
        let problem = problem.expect("it is one of them");
        let mut launch = (problem.prepare)(&stream).expect("it is ready");
        let launched = Rc::new(Cell::new(0));
        let count = Rc::clone(&launched);
        let start = Instant::now();
        let mut counted: Launch = Box::new(move || {
            count.set(count.get() + 1);
            launch()
        });
        let time = measure(&stream, &mut counted).expect("it is timed");
        assert_eq!(launched.get(), WARM_UP + REPEATS);
        // The median and all that are longer are within what passed.
        assert!(time > Duration::ZERO && time * (REPEATS / 2) as u32 <= start.elapsed());
        let object = Time::Device(time).object(&problem, &device);
        assert_eq!(object["source"], "events");
        assert_eq!(object["seconds"], time.as_secs_f64());
        // What only the model knows is not there.
        assert!(object["limit"].is_null() && object["kernels"].is_null());
    }
}
