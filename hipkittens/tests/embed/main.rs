//! `hipkittens embed` and the model behind it: vectors against those of the reference, in f64, and what
//! is refused.

mod model;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use hipkittens::models::{BertConfig, ModelError, Sentence, SentenceEncoder};
use hk_core::{Device, Error};
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
    assert_eq!(tokens[0].ids.len(), 2, "the first and the last token of no words");
    let longest = tokens.last().unwrap();
    assert_eq!((longest.ids.len(), longest.is_truncated), (encoder.max_tokens(), true));

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
            let is_apart = expected[*b] - expected[*a] > EQUAL;
            assert!(!is_apart || got[*a] < got[*b], "pairs {a} and {b} are ranked otherwise");
        }
    }
}

#[test]
fn sentences_have_the_vectors_of_the_reference() {
    let small = Small::new();
    let published = model::published();
    match &published {
        Some(folder) => eprintln!("tested with all-MiniLM-L6-v2 in {}", folder.display()),
        None => eprintln!("tested with a small model, as all-MiniLM-L6-v2 cannot be had"),
    }
    for device in ["sim:mi325x", "sim:mi355x"] {
        agrees(published.as_deref().unwrap_or(small.path()), device);
    }
}

/// A small model in a folder of its own.
struct Small(TempDir);

impl Small {
    fn new() -> Self {
        let small = Self(TempDir::new().unwrap());
        model::make_small(small.path());
        small
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The command on that folder, with these arguments.
fn embed(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.env("HIPKITTENS_DEVICE", "").arg("embed").arg("--model").arg(folder).args(args);
    command.output().expect("the command starts")
}

/// Standard output and error of a command that ends with this status.
#[track_caller]
fn expect(output: &Output, code: i32) -> [String; 2] {
    let said =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(code), "{}{}", said[0], said[1]);
    said
}

#[test]
fn the_command_prints_similarities_or_vectors() {
    let small = Small::new();
    let long = "cat ".repeat(20);
    let sentences = ["a cat", "a cat!", "", &long];
    let [shown, said] = expect(&embed(small.path(), &sentences), 0);
    assert_eq!(said, "", "no progress in a pipe");
    assert!(shown.contains("(cut off)") && shown.contains("the first 32 tokens count"), "{shown}");
    let cosines: Vec<Vec<f64>> = shown
        .lines()
        .rev()
        .take(4)
        .map(|line| line.split_whitespace().skip(1).map(|x| x.parse().unwrap()).collect())
        .collect();
    // Upside down.
    assert!((0..4).all(|i| cosines[i].len() == 4 && cosines[i][3 - i] == 1.0), "{shown}");

    let args = [&sentences[..], &["--json", "--device", "sim:mi325x"]].concat();
    let [shown, _] = expect(&embed(small.path(), &args), 0);
    let lines: Vec<Value> =
        shown.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines.len(), 4);
    for (line, sentence) in lines.iter().zip(sentences) {
        assert_eq!((&line["sentence"], &line["device"]), (&json!(sentence), &json!("sim:mi325x")));
        assert_eq!(line["truncated"], json!(sentence.len() > 30));
        let numbers = line["embedding"].as_array().expect("numbers").iter();
        let squares: f64 = numbers.map(|x| x.as_f64().expect("a number").powi(2)).sum();
        assert!((squares - 1.0).abs() < 1e-5, "{squares}");
    }
    assert_eq!(lines.iter().map(|of| of["tokens"].as_u64().unwrap()).max(), Some(32));
}

/// That the command refuses the small model after `spoil`, and names all of these.
#[track_caller]
fn refuses(spoil: impl FnOnce(&Path), names: &[&str]) {
    let small = Small::new();
    spoil(small.path());
    let [shown, said] = expect(&embed(small.path(), &["a cat"]), 2);
    assert_eq!(shown, "");
    for name in names {
        assert!(said.contains(name), "{name} is not in {said}");
    }
}

/// Gives a setting of a file of JSON another value.
fn set(folder: &Path, file: &str, path: &str, value: Value) {
    let mut settings = model::read(folder, file);
    *settings.pointer_mut(path).expect("the setting is there") = value;
    model::write(folder, file, &settings);
}

#[test]
fn files_that_are_missing_or_broken_are_named() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        refuses(|folder| fs::remove_file(folder.join(file)).unwrap(), &[file, "No such file"]);
        refuses(|folder| fs::write(folder.join(file), "{\"a\": ").unwrap(), &[file]);
        refuses(|folder| fs::write(folder.join(file), "").unwrap(), &[file]);
    }
    for file in ["config.json", "sentence_bert_config.json", "1_Pooling/config.json"] {
        refuses(|folder| fs::write(folder.join(file), "{\"a\": ").unwrap(), &[file, "no JSON"]);
        refuses(|folder| fs::write(folder.join(file), "[]").unwrap(), &[file, "no object of JSON"]);
    }
    let cut = |bytes: fn(usize) -> usize| {
        move |folder: &Path| {
            let file = folder.join("model.safetensors");
            let weights = fs::read(&file).unwrap();
            fs::write(file, &weights[..bytes(weights.len())]).unwrap();
        }
    };
    refuses(cut(|len| len - 4), &["model.safetensors", "tensor ", "truncated"]);
    refuses(cut(|_| 200), &["model.safetensors", "header", "truncated"]);
    refuses(cut(|_| 3), &["model.safetensors", "header"]);
    let longer = |folder: &Path| {
        let file = folder.join("model.safetensors");
        let weights = fs::read(&file).unwrap();
        fs::write(file, [&weights[..], &[0; 4]].concat()).unwrap();
    };
    refuses(longer, &["model.safetensors", "last 4 bytes", "no tensor"]);
}

#[test]
fn other_architectures_are_refused_by_file_and_key() {
    let cases = [
        ("config.json", "model_type", json!("roberta"), "\"bert\""),
        ("config.json", "hidden_act", json!("selu"), "gelu"),
        ("config.json", "num_attention_heads", json!(5), "divisor of hidden_size"),
        ("config.json", "hidden_size", json!("48"), "integer"),
        ("config.json", "num_hidden_layers", json!(0), "integer from 1"),
        ("config.json", "layer_norm_eps", json!(-1.0), "positive"),
        ("1_Pooling/config.json", "pooling_mode_mean_tokens", json!(false), "true"),
        ("1_Pooling/config.json", "pooling_mode_max_tokens", json!(true), "false"),
        ("1_Pooling/config.json", "pooling_mode_mean_sqrt_len_tokens", json!(true), "false"),
        ("sentence_bert_config.json", "max_seq_length", json!(64), "max_position_embeddings"),
    ];
    for (file, key, value, expected) in cases {
        let got = format!("got {value}");
        refuses(
            |folder| set(folder, file, &format!("/{key}"), value),
            &[file, key, expected, &got],
        );
    }
}

#[test]
fn models_with_other_modules_are_refused() {
    let file = "modules.json";
    let modules = |names: &[&str]| {
        let of = |name: &&str| json!({ "type": format!("sentence_transformers.models.{name}") });
        Value::Array(names.iter().map(of).collect())
    };
    let small = Small::new();
    model::write(small.path(), file, &modules(&["Transformer", "Pooling", "Normalize"]));
    expect(&embed(small.path(), &["a cat"]), 0);
    let dense = modules(&["Transformer", "Pooling", "Dense", "Normalize"]);
    for (value, said) in [
        (dense, "must be one of Transformer, Pooling, Normalize, got \"sentence_transformers"),
        (json!([{}]), "got null"),
        (json!([3]), "got null"),
        (json!({}), "no list of JSON"),
    ] {
        refuses(|folder| model::write(folder, file, &value), &[file, said]);
    }
    refuses(|folder| fs::write(folder.join(file), "[").unwrap(), &[file, "no JSON"]);
}

#[test]
fn tokenizers_that_do_not_fit_are_refused() {
    let of = |path: &'static str, value: Value| {
        move |folder: &Path| set(folder, "tokenizer.json", path, value)
    };
    refuses(
        of("/model/type", json!("Chars")),
        &["tokenizer.json", "not a tokenizer that is known"],
    );
    refuses(of("/normalizer", json!({ "type": "No" })), &["tokenizer.json", "not a tokenizer"]);
    refuses(
        of("/model/vocab/a", json!(5000)),
        &["tokenizer.json", "\"a\" is number 5000", "vocab_size"],
    );
    refuses(of("/model/vocab", json!({})), &["tokenizer.json"]);
    let short =
        |folder: &Path| set(folder, "sentence_bert_config.json", "/max_seq_length", json!(2));
    refuses(short, &["tokenizer.json", "adds 2 tokens"]);
}

/// Changes the header of the weights.
fn change_header(folder: &Path, change: impl FnOnce(&mut Value)) {
    let file = folder.join("model.safetensors");
    let weights = fs::read(&file).unwrap();
    let (start, _) = hipkittens::models::read_header(&weights).unwrap();
    let mut header: Value = serde_json::from_slice(&weights[8..start]).unwrap();
    change(&mut header);
    let header = serde_json::to_vec(&header).unwrap();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(file, [&length[..], &header, &weights[start..]].concat()).unwrap();
}

#[test]
fn sizes_that_the_weights_do_not_have_are_refused() {
    let cases = [
        ("num_hidden_layers", json!(3), "encoder.layer.2.attention.self.query.weight"),
        ("intermediate_size", json!(97), "encoder.layer.0.intermediate.dense.weight"),
        ("vocab_size", json!(500), "embeddings.word_embeddings.weight"),
        ("type_vocab_size", json!(3), "embeddings.token_type_embeddings.weight"),
        // Beyond all memory.
        ("vocab_size", json!(i32::MAX), "embeddings.word_embeddings.weight"),
        ("num_hidden_layers", json!(i32::MAX), "encoder.layer.2.attention.self.query.weight"),
    ];
    for (key, value, tensor) in cases {
        let other = |folder: &Path| set(folder, "config.json", &format!("/{key}"), value);
        refuses(other, &["model.safetensors", &format!("tensor {tensor}"), "of shape", "got"]);
    }
}

#[test]
fn sentences_that_the_tokenizer_refuses_are_named() {
    let small = Small::new();
    set(small.path(), "tokenizer.json", "/model/unk_token", json!("[NONE]"));
    let [shown, said] = expect(&embed(small.path(), &["a cat", "\u{3a9}"]), 2);
    assert_eq!(shown, "");
    for name in ["tokenizer.json", "cannot split \"\u{3a9}\"", "UNK"] {
        assert!(said.contains(name), "{name} is not in {said}");
    }
    // Without the tokens that are added to each, there are none of an empty one.
    set(small.path(), "tokenizer.json", "/post_processor", Value::Null);
    let [_, said] = expect(&embed(small.path(), &["a cat", ""]), 2);
    for name in ["tokenizer.json", "cannot split \"\" into tokens", "none in it"] {
        assert!(said.contains(name), "{name} is not in {said}");
    }
}

#[test]
fn tensors_that_do_not_fit_are_refused() {
    /// Changes the header of the weights, whose length stays.
    fn replace(from: &'static str, to: &'static str) -> impl Fn(&Path) {
        move |folder| {
            let file = folder.join("model.safetensors");
            let mut weights = fs::read(&file).unwrap();
            let at = weights.windows(from.len()).position(|part| part == from.as_bytes());
            let at = at.expect("the header has that");
            weights[at..at + to.len()].copy_from_slice(to.as_bytes());
            fs::write(file, weights).unwrap();
        }
    }
    let position = "embeddings.position_embeddings.weight";
    let header = r#""embeddings.position_embeddings.weight":{"dtype":"F32","shape":[40,48]"#;
    let as_i32 = r#""embeddings.position_embeddings.weight":{"dtype":"I32","shape":[40,48]"#;
    let turned = r#""embeddings.position_embeddings.weight":{"dtype":"F32","shape":[48,40]"#;
    let larger = r#""embeddings.position_embeddings.weight":{"dtype":"F32","shape":[40,49]"#;
    let unknown = r#""embeddings.position_embeddings.weight":{"dtype":"F33","shape":[40,48]"#;
    let file = "model.safetensors";
    refuses(replace(header, as_i32), &[file, position, "F32, F16 or BF16", "[40, 48]", "got I32"]);
    refuses(replace(header, turned), &[file, position, "[40, 48]", "got F32 of shape [48, 40]"]);
    refuses(replace(header, larger), &[file, position, "corrupt header", "[40, 49]"]);
    refuses(replace(header, unknown), &[file, position, "unknown dtype \"F33\""]);
    let overlapping = |folder: &Path| {
        change_header(folder, |header| {
            let data = header["encoder.layer.1.output.dense.bias"]["data_offsets"].clone();
            header["encoder.layer.0.output.dense.bias"]["data_offsets"] = data;
        });
    };
    refuses(
        overlapping,
        &[file, "tensor encoder.layer.", "corrupt header", "its data begin at byte"],
    );
    let renamed =
        replace("encoder.layer.1.output.dense.weight", "encoder.layer.7.output.dense.weight");
    refuses(renamed, &[file, "encoder.layer.1.output.dense.weight", "no such tensor"]);
    let spoil = |number: f32| {
        move |folder: &Path| {
            let file = folder.join("model.safetensors");
            let mut weights = fs::read(&file).unwrap();
            let (start, metadata) = hipkittens::models::read_header(&weights).unwrap();
            let info = metadata.info("encoder.layer.0.intermediate.dense.weight").unwrap();
            let at = start + info.data_offsets.0;
            weights[at..at + 4].copy_from_slice(&number.to_le_bytes());
            fs::write(file, weights).unwrap();
        }
    };
    let tensor = "encoder.layer.0.intermediate.dense.weight";
    refuses(spoil(f32::NAN), &[file, tensor, "finite numbers", "NaN"]);
    refuses(spoil(1e5), &[file, tensor, "range of f16", "100000"]);
}

/// Tokens that the model has no embedding for, and more than it has positions for: no tokenizer gives them,
/// but a program may.
#[test]
fn tokens_that_the_model_cannot_take_are_refused() {
    let small = Small::new();
    let stream = Device::open("sim:mi355x").unwrap().default_stream();
    let encoder = SentenceEncoder::load(small.path(), &stream).unwrap();
    let config = BertConfig::read(&small.path().join("config.json")).unwrap();
    let of = |ids: Vec<i32>| encoder.embed(&[Sentence { ids, is_truncated: false }], |_| {});
    let (most, words) = (config.max_position_embeddings, config.vocab_size as i32);
    assert!(of(vec![words - 1; most]).is_ok());
    let long = format!("sequences of at most {most} tokens, got {}", most + 1);
    for (ids, names) in [
        (vec![1; most + 1], ["Bert::forward", "batch", &long]),
        (vec![words], ["embedding", "ids", &words.to_string()]),
        (vec![1, -1], ["embedding", "ids", "-1"]),
    ] {
        let ModelError::Op(error @ Error::Value { .. }) = of(ids).unwrap_err() else {
            panic!("not what an op refuses")
        };
        let shown = error.to_string();
        assert!(names.iter().all(|name| shown.contains(name)), "{shown}");
    }
}

#[test]
fn wrong_requests_are_refused() {
    let small = Small::new();
    let [_, said] = expect(&embed(small.path(), &[]), 2);
    assert!(said.contains("<SENTENCE>"), "{said}");
    let [_, said] = expect(&embed(small.path(), &["a", "--device", "sim:mi999"]), 2);
    assert!(said.contains("sim:mi999"), "{said}");
    let folder = small.path().join("nowhere");
    let [_, said] = expect(&embed(&folder, &["a"]), 2);
    assert!(said.contains("nowhere/config.json"), "{said}");
}
