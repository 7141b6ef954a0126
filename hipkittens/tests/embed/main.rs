//! `hipkittens embed` and the model behind it: vectors against those of the reference, in f64, and what
//! is refused.

mod model;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use hipkittens::models::SentenceEncoder;
use hk_core::Device;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Of one token, of other scripts, of none, and of more than a model takes.
fn sentences() -> Vec<String> {
    let mut sentences: Vec<_> = [
        "",
        "cat",
        "🙂",
        "A cat sleeps on the warm windowsill.",
        "A kitten naps in the sun.",
        "Ein Kätzchen schläft auf dem Sofa.",
        "猫は暖かい窓辺で眠っています。",
        "Кошка спит на тёплом подоконнике.",
        "القط نائم على النافذة",
        "The stock market fell sharply on Monday after the central bank raised interest rates.",
        "Share prices dropped when borrowing became dearer.",
        "How do I bake sourdough bread at home?",
        "A recipe for bread: flour, water, salt, and a starter that is fed every day 🍞🔥",
        "let x = tensor.matmul(&w)?; // 16 x 384",
        "E = mc^2",
        "3.14159265358979323846264338327950288419716939937510",
        "Antidisestablishmentarianism!?!?",
        "    spaces \t and \n lines   ",
    ]
    .map(String::from)
    .into();
    let story = "Once upon a time a small kernel ran on a chip that nobody had, and it was right. ";
    sentences.push(story.repeat(5));
    sentences.push(story.repeat(40));
    sentences
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Cosines of all pairs.
fn pairs(vectors: &[Vec<f64>]) -> Vec<f64> {
    let others = |i: usize| (0..i).map(move |j| [i, j]);
    (0..vectors.len()).flat_map(others).map(|[i, j]| cosine(&vectors[i], &vectors[j])).collect()
}

/// Pairs that the reference holds for equally similar, as far apart at most as results in f16 may be off.
const EQUAL: f64 = 2e-4;

/// The vectors of all sentences on a device agree with the reference, and rank their pairs alike.
fn agrees(folder: &Path, device: &str) {
    let stream = Device::open(device).unwrap().default_stream();
    let encoder = SentenceEncoder::load(folder, &stream).unwrap();
    let reference = model::reference(folder);
    let tokens: Vec<_> = sentences().iter().map(|text| encoder.tokenize(text).unwrap()).collect();
    assert_eq!((tokens[0].ids.len(), tokens[1].ids.len() > 2), (2, true));
    let longest = tokens.last().unwrap();
    assert_eq!((longest.ids.len(), longest.is_truncated), (encoder.max_tokens(), true));
    assert!(tokens.iter().any(|of| of.ids.len() == 3 || folder.ends_with("small")));

    let mut steps = 0;
    let got = encoder.embed(&tokens, |done| steps += done).unwrap();
    let all: usize = tokens.iter().map(|sentence| sentence.ids.len()).sum();
    assert_eq!(steps, all * encoder.steps_per_token());
    let got: Vec<Vec<f64>> =
        got.iter().map(|vector| vector.iter().copied().map(f64::from).collect()).collect();
    let expected: Vec<_> = tokens
        .iter()
        .map(|of| reference.sentence(&of.ids.iter().map(|id| *id as usize).collect::<Vec<_>>()))
        .collect();

    let cosines = got.iter().zip(&expected).map(|(a, b)| cosine(a, b));
    let worst = cosines.fold(1.0, f64::min);
    let [got, expected] = [pairs(&got), pairs(&expected)];
    let off = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    eprintln!(
        "{device}: {all} tokens, least cosine {worst:.7}, similarities {off:.1e} off at most"
    );
    assert!(worst >= 0.999, "{worst}");
    let mut ranks: Vec<_> = (0..got.len()).collect();
    ranks.sort_by(|a, b| expected[*a].total_cmp(&expected[*b]));
    for (at, a) in ranks.iter().enumerate() {
        for b in &ranks[at..] {
            let is_apart = expected[b.to_owned()] - expected[*a] > EQUAL;
            assert!(!is_apart || got[*a] < got[*b], "pairs {a} and {b} are ranked otherwise");
        }
    }
}

#[test]
fn sentences_have_the_vectors_of_the_reference() {
    let small = Small::new();
    match model::published() {
        Some(folder) => {
            eprintln!("tested with all-MiniLM-L6-v2 in {}", folder.display());
            agrees(&folder, "sim:mi355x");
            // The other chip has the same model at a lower price.
            agrees(small.path(), "sim:mi325x");
        }
        None => {
            eprintln!("tested with a small model: the package of all-MiniLM-L6-v2 cannot be had");
            agrees(small.path(), "sim:mi325x");
            agrees(small.path(), "sim:mi355x");
        }
    }
}

/// A small model in a folder of its own.
struct Small(TempDir);

impl Small {
    fn new() -> Self {
        let small = Self(TempDir::new().unwrap());
        fs::create_dir(small.path()).unwrap();
        model::make_small(&small.path());
        small
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("small")
    }
}
