//! `hipkittens embed`: vectors of sentences by a model with weights, every step an op of ours.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use hipkittens::models::{Sentence, SentenceEncoder, on_one_line};
use hk_core::Device;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{check, output};

/// What `hipkittens embed` is asked to do.
#[derive(Args)]
pub(crate) struct Request {
    /// Folder of the model: config.json, tokenizer.json, model.safetensors, and what else
    /// sentence-transformers keeps there.
    #[arg(long, value_name = "DIR")]
    model: PathBuf,
    /// Device, such as hip:0 or sim:mi355x; may be given several times [default: that of
    /// HIPKITTENS_DEVICE, else a GPU, else a simulated one]
    #[arg(long, value_name = "NAME")]
    device: Vec<String>,
    /// Print an object of JSON per sentence, one per line, with its vector.
    #[arg(long)]
    json: bool,
    /// Sentences.
    #[arg(required = true, value_name = "SENTENCE")]
    sentences: Vec<String>,
}

/// A line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    device: &'a str,
    sentence: &'a str,
    tokens: usize,
    truncated: bool,
    embedding: &'a [f32],
}

/// What came of the sentences.
struct Embedded {
    max_tokens: usize,
    sentences: Vec<Sentence>,
    vectors: Vec<Vec<f32>>,
    loading: Duration,
    computing: Duration,
}

/// Makes vectors of the sentences on each device, and prints them, or their cosine similarities.
///
/// # Errors
/// What is wrong with the request or the model's files.
pub(crate) fn run(request: &Request) -> Result<ExitCode, Box<dyn Error>> {
    let devices = match &request.device[..] {
        [] => vec![Device::auto_for(&check::built()?)?],
        names => check::open(names)?,
    };
    for device in devices {
        let embedded = embed(&device, request)?;
        let out = &mut output::stdout();
        if request.json {
            print_json(out, device.name(), request, &embedded)?;
        } else {
            print(out, device.name(), request, &embedded)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn embed(device: &Device, request: &Request) -> Result<Embedded, Box<dyn Error>> {
    // Hidden by itself where the standard error is no terminal.
    let progress = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent}% {elapsed} {wide_msg}") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(100));
    progress.set_message(format!("{device} loads {}", request.model.display()));
    let start = Instant::now();
    let encoder = SentenceEncoder::load(&request.model, &device.default_stream())?;
    let loading = start.elapsed();
    let sentences = request.sentences.iter().map(|sentence| encoder.tokenize(sentence));
    let sentences = sentences.collect::<Result<Vec<_>, _>>()?;
    let tokens: usize = sentences.iter().map(|sentence| sentence.ids.len()).sum();
    progress.set_length((tokens * encoder.steps_per_token()) as u64);
    progress.set_message(format!("{device} {tokens} tokens"));
    let start = Instant::now();
    let mut count = |steps: usize| progress.inc(steps as u64);
    // Layers need not be waited for where nobody sees that they are done.
    let listener = (!progress.is_hidden()).then_some(&mut count as &mut dyn FnMut(usize));
    let vectors = encoder.embed(&sentences, listener)?;
    let computing = start.elapsed();
    progress.finish_and_clear();
    let max_tokens = encoder.max_tokens();
    Ok(Embedded { max_tokens, sentences, vectors, loading, computing })
}

fn print_json(
    out: &mut impl Write,
    device: &str,
    request: &Request,
    embedded: &Embedded,
) -> Result<(), Box<dyn Error>> {
    let of = request.sentences.iter().zip(&embedded.sentences).zip(&embedded.vectors);
    for ((sentence, Sentence { ids, is_truncated }), embedding) in of {
        let (tokens, truncated) = (ids.len(), *is_truncated);
        let line = Line { device, sentence, tokens, truncated, embedding };
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(())
}

/// Characters of a sentence that are shown.
const SHOWN: usize = 72;

fn print(
    out: &mut impl Write,
    device: &str,
    request: &Request,
    embedded: &Embedded,
) -> io::Result<()> {
    let Embedded { max_tokens, sentences, vectors, loading, computing } = embedded;
    let count: usize = sentences.iter().map(|sentence| sentence.ids.len()).sum();
    let (loading, computing) = (loading.as_secs_f64(), computing.as_secs_f64());
    writeln!(
        out,
        "{device}: {count} tokens in {computing:.1} s, model loaded in {loading:.1} s\n"
    )?;
    writeln!(out, "     tokens  sentence")?;
    for (i, (text, sentence)) in request.sentences.iter().zip(sentences).enumerate() {
        let cut = if sentence.is_truncated { " (cut off)" } else { "" };
        let mut shown = on_one_line(text.chars().take(SHOWN).collect::<String>());
        if text.chars().nth(SHOWN).is_some() {
            shown += "...";
        }
        writeln!(out, "{:>4} {:>6}  {shown}{cut}", i + 1, sentence.ids.len())?;
    }
    if sentences.iter().any(|sentence| sentence.is_truncated) {
        writeln!(out, "\nOf sentences that are cut off, the first {max_tokens} tokens count.")?;
    }
    let numbers: String = (1..=vectors.len()).map(|i| format!("{i:>7}")).collect();
    writeln!(out, "\ncosine similarities\n    {numbers}")?;
    for (i, a) in vectors.iter().enumerate() {
        let cosine = |b: &Vec<f32>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let row: String = vectors.iter().map(|b| format!("{:>7.3}", cosine(b))).collect();
        writeln!(out, "{:>4}{row}", i + 1)?;
    }
    Ok(())
}
