//! `hipkittens embed` and the model behind it: vectors against those of the reference, in f64, and what
//! is refused.

mod model;

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output};

use hipkittens::models::{BertConfig, ModelError, Sentence, SentenceEncoder};
use hk_core::counters::executed;
use hk_core::{Device, Error};
use model::{Kind, SMALL, modules};
use safetensors::tensor::Dtype;
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

/// How far apart pairs may be that the reference holds for equally similar, of vectors of so many numbers:
/// as far as results in f16 may be off. Each number is so by some units in the last place of f16, and the
/// products of two vectors of length one by those over the root of how many numbers there are.
fn equal(width: usize) -> f64 {
    8.0 * 2f64.powi(-11) / (width as f64).sqrt()
}

/// Says something, also of a test that passes: what `eprintln!` says then, nobody sees.
fn tell(what: impl Display) {
    writeln!(io::stderr(), "{what}").expect("stderr");
}

const DEVICES: [&str; 2] = ["sim:mi325x", "sim:mi355x"];

/// The vectors of all sentences on each device agree with the reference, and rank their pairs alike.
fn agrees(name: impl Display, folder: &Path) {
    let mut expected = None;
    for device in DEVICES {
        let stream = Device::open(device).unwrap().default_stream();
        let encoder = SentenceEncoder::load(folder, &stream).unwrap();
        agrees_on(format_args!("{device}, {name}"), &encoder, |tokens| {
            let of_reference = || {
                let reference = model::reference(folder);
                let ids = |of: &Sentence| of.ids.iter().map(|id| *id as usize).collect::<Vec<_>>();
                tokens.iter().map(|of| reference.sentence(&ids(of))).collect::<Vec<_>>()
            };
            expected.get_or_insert_with(of_reference).clone()
        });
    }
}

fn agrees_on(
    name: impl Display,
    encoder: &SentenceEncoder,
    expected: impl FnOnce(&[Sentence]) -> Vec<Vec<f64>>,
) {
    let tokens: Vec<_> = sentences().iter().map(|text| encoder.tokenize(text).unwrap()).collect();
    assert_eq!(tokens[0].ids.len(), 2, "the first and the last token of no words");
    let longest = tokens.last().unwrap();
    assert_eq!((longest.ids.len(), longest.is_truncated), (encoder.max_tokens(), true));

    let mut steps = 0;
    let got = encoder.embed(&tokens, Some(&mut |done: usize| steps += done)).unwrap();
    let all: usize = tokens.iter().map(|sentence| sentence.ids.len()).sum();
    assert_eq!(steps, all * encoder.steps_per_token());
    let got: Vec<Vec<f64>> =
        got.iter().map(|vector| vector.iter().copied().map(f64::from).collect()).collect();
    let expected = expected(&tokens);
    let equal = equal(expected[0].len());

    let cosines = got.iter().zip(&expected).map(|(a, b)| cosine(a, b));
    let worst = cosines.fold(1.0, f64::min);
    let [got, expected] = [pairs(&got), pairs(&expected)];
    let off = got.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    tell(format_args!(
        "{name}: {all} tokens, least cosine {worst:.7}, similarities {off:.1e} off at most"
    ));
    assert!(worst >= 0.999, "{name}: {worst}");
    let mut ranks: Vec<_> = (0..got.len()).collect();
    ranks.sort_by(|a, b| expected[*a].total_cmp(&expected[*b]));
    for (at, a) in ranks.iter().enumerate() {
        for b in &ranks[at..] {
            let is_apart = expected[*b] - expected[*a] > equal;
            assert!(
                !is_apart || got[*a] < got[*b],
                "{name}: pairs {a} and {b} are ranked otherwise"
            );
        }
    }
}

/// Wave instructions of sixteen tokens of all-MiniLM-L6-v2, at most. The simulator does about ten million in
/// a second on two cores, so that they take 0.6 s; more than 3 s are not wanted.
const MOST_INSTRUCTIONS: u64 = 6_000_000;

#[test]
fn the_published_model_has_the_vectors_of_the_reference() {
    let Some(folder) = model::published() else {
        return tell("tested with small models alone, as all-MiniLM-L6-v2 cannot be had");
    };
    tell(format_args!("tested with all-MiniLM-L6-v2 in {}", folder.display()));
    agrees("all-MiniLM-L6-v2", &folder);
    for device in DEVICES {
        let stream = Device::open(device).unwrap().default_stream();
        let encoder = SentenceEncoder::load(&folder, &stream).unwrap();
        let text = "A cat sleeps on the warm windowsill while rain falls outside again today";
        let sentence = encoder.tokenize(text).unwrap();
        assert_eq!(sentence.ids.len(), 16);
        let (vectors, count) = executed(|| encoder.embed(&[sentence], None).unwrap());
        tell(format_args!("{device}: 16 tokens take {count} wave instructions"));
        assert_eq!(vectors.len(), 1);
        assert!((1..=MOST_INSTRUCTIONS).contains(&count), "{device}: {count} wave instructions");
    }
    is_clean(&folder);
}

/// Each type of weights and each function, with heads of 16, 1, 3 and 48 numbers.
#[test]
fn small_models_have_the_vectors_of_the_reference() {
    for (dtype, activation, heads) in [
        (Dtype::F32, "gelu", 3),
        (Dtype::F16, "gelu_new", 3),
        (Dtype::BF16, "gelu_pytorch_tanh", 3),
        (Dtype::F32, "relu", 48),
        (Dtype::F16, "silu", 16),
        (Dtype::BF16, "swish", 1),
    ] {
        let small = Small::of(Kind { dtype, activation, heads });
        agrees(format_args!("small, {dtype}, {activation}, {heads} heads"), small.path());
    }
    is_clean(Small::new().path());
}

/// The sanitizer has nothing to say of a model.
#[track_caller]
fn is_clean(folder: &Path) {
    let devices = DEVICES.map(|device| ["--device", device]).concat();
    let args = [&devices[..], &["a cat", "it rains"]].concat();
    let [_, said] =
        expect(&command(folder, &args).env("HIPKITTENS_SANITIZE", "all").output().unwrap(), 0);
    assert_eq!(said, "");
}

/// A small model in a folder of its own.
struct Small(TempDir);

impl Small {
    fn new() -> Self {
        Self::of(SMALL)
    }

    fn of(kind: Kind) -> Self {
        let small = Self(TempDir::new().unwrap());
        model::make_small(small.path(), kind);
        small
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The command on that folder, with these arguments.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hipkittens"));
    command.env("HIPKITTENS_DEVICE", "").arg("embed").arg("--model").arg(folder).args(args);
    command
}

/// What comes of it.
fn embed(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command starts")
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

#[test]
fn nothing_that_is_shown_steers_a_terminal() {
    let small = Small::new();
    let [shown, _] = expect(&embed(small.path(), &["a\tb\nc", "\u{1b}[31md", "\u{202e}e"]), 0);
    for escaped in [r"  a\tb\nc", r"  \u{1b}[31md", r"  \u{202e}e"] {
        assert!(shown.lines().any(|line| line.ends_with(escaped)), "{shown}");
    }
    let renamed = |folder: &Path| {
        change_header(folder, |header| {
            let bias = header["encoder.layer.1.output.dense.bias"].take();
            let tensors = header.as_object_mut().unwrap();
            tensors.remove("encoder.layer.1.output.dense.bias");
            tensors.insert("encoder.layer.7.\u{1b}[31m".into(), bias);
        });
    };
    refuses(renamed, &[r"tensor encoder.layer.7.\u{1b}[31m: must be absent"]);
    let unknown = |folder: &Path| {
        renamed(folder);
        change_header(folder, |header| header["encoder.layer.7.\u{1b}[31m"]["dtype"] = json!("F"));
    };
    refuses(unknown, &[r"tensor encoder.layer.7.\u{1b}[31m: unknown dtype"]);
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

/// Gives a setting of a file of JSON another value, or one.
fn set(folder: &Path, file: &str, path: &str, value: Value) {
    let mut settings = model::read(folder, file);
    let (parent, key) = path.rsplit_once('/').expect("a path");
    settings.pointer_mut(parent).expect("the object is there")[key] = value;
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
        ("config.json", "position_embedding_type", json!("relative_key"), "\"absolute\""),
        ("config.json", "is_decoder", json!(true), "false"),
        ("config.json", "layer_norm_eps", json!(-1.0), "positive"),
        ("config.json", "layer_norm_eps", json!(1e39), "positive number of f32"),
        ("config.json", "layer_norm_eps", json!(0.0), "positive number of f32"),
        ("1_Pooling/config.json", "pooling_mode_mean_tokens", json!(false), "true"),
        ("1_Pooling/config.json", "pooling_mode_max_tokens", json!(true), "false"),
        ("1_Pooling/config.json", "pooling_mode_mean_sqrt_len_tokens", json!(true), "false"),
        ("1_Pooling/config.json", "pooling_mode_cls_token", json!(true), "false"),
        ("1_Pooling/config.json", "pooling_mode_weightedmean_tokens", json!(true), "false"),
        ("1_Pooling/config.json", "pooling_mode_lasttoken", json!(true), "false"),
        ("1_Pooling/config.json", "pooling_mode", json!("cls"), "\"mean\""),
        ("sentence_bert_config.json", "do_lower_case", json!("yes"), "true or false"),
        ("config_sentence_transformers.json", "default_prompt_name", json!("query"), "null"),
        ("sentence_bert_config.json", "max_seq_length", json!(64), "max_position_embeddings"),
    ];
    for (file, key, value, expected) in cases {
        let got = format!("got {value}");
        refuses(
            |folder| set(folder, file, &format!("/{key}"), value),
            &[file, key, expected, &got],
        );
    }
    let untyped = |folder: &Path| {
        let mut config = model::read(folder, "config.json");
        config.as_object_mut().unwrap().remove("model_type");
        model::write(folder, "config.json", &config);
    };
    refuses(untyped, &["config.json", "model_type", "\"bert\", got nothing"]);
    // Of 341 numbers.
    let wide = |folder: &Path| set(folder, "config.json", "/hidden_size", json!(1023));
    refuses(wide, &["config.json", "num_attention_heads", "1023, into heads of at most 256"]);
    let of_f64 = |folder: &Path| model::make_small(folder, Kind { dtype: Dtype::F64, ..SMALL });
    refuses(of_f64, &["model.safetensors", "tensor ", "of F32, F16 or BF16", "got F64 of shape"]);
}

#[test]
fn models_with_other_modules_are_refused() {
    let file = "modules.json";
    for names in [&["Transformer", "Pooling"][..], &["Transformer", "Pooling", "Normalize"]] {
        let small = Small::new();
        model::write(small.path(), file, &modules(names));
        expect(&embed(small.path(), &["a cat"]), 0);
    }
    let whole = "must be Transformer, Pooling and, if there is one more, Normalize, got [";
    let nowhere = json!([{ "type": "Transformer", "path": "" }, { "type": "Pooling" }]);
    for (value, said) in [
        (modules(&["Transformer", "Pooling", "Dense", "Normalize"]), whole),
        (modules(&["Transformer", "Pooling", "Dense"]), "models.Dense"),
        (modules(&["Pooling", "Transformer", "Normalize"]), whole),
        (modules(&["Transformer", "Normalize"]), whole),
        (modules(&["Transformer"]), whole),
        (json!([]), "got []"),
        (json!([{}]), "got [null]"),
        (json!([3]), "got [null]"),
        (json!({}), "no list of JSON"),
        (nowhere, "path: must be a string, got null"),
    ] {
        refuses(|folder| model::write(folder, file, &value), &[file, said]);
    }
    refuses(|folder| fs::write(folder.join(file), "[").unwrap(), &[file, "no JSON"]);
}

#[test]
fn modules_are_where_the_model_says() {
    let places = |transformer: &str, pooling: &str| {
        let mut places = modules(&["Transformer", "Pooling"]);
        (places[0]["path"], places[1]["path"]) = (json!(transformer), json!(pooling));
        places
    };
    // What is elsewhere does not count, were it right or wrong.
    let elsewhere = |folder: &Path| model::write(folder, "modules.json", &places("", "2_Pooling"));
    refuses(elsewhere, &["2_Pooling/config.json", "No such file"]);
    let other = |folder: &Path| {
        elsewhere(folder);
        fs::create_dir(folder.join("2_Pooling")).unwrap();
        let pooling = json!({ "pooling_mode_cls_token": true });
        model::write(folder, "2_Pooling/config.json", &pooling);
    };
    refuses(other, &["2_Pooling/config.json", "pooling_mode_cls_token", "false"]);
    let inside = |folder: &Path| model::write(folder, "modules.json", &places("0_T", "1_Pooling"));
    refuses(inside, &["0_T/config.json", "No such file"]);

    let small = Small::new();
    let args = ["a cat", "--json"];
    let [expected, _] = expect(&embed(small.path(), &args), 0);
    inside(small.path());
    fs::create_dir(small.path().join("0_T")).unwrap();
    let files = ["config.json", "tokenizer.json", "sentence_bert_config.json", "model.safetensors"];
    for file in files {
        fs::rename(small.path().join(file), small.path().join("0_T").join(file)).unwrap();
    }
    assert_eq!(expect(&embed(small.path(), &args), 0)[0], expected);

    // Without all that need not be there.
    let small = Small::new();
    for file in ["modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"] {
        fs::remove_file(small.path().join(file)).unwrap();
    }
    let cls = json!(true);
    set(small.path(), "1_Pooling/config.json", "/pooling_mode_cls_token", cls);
    let [_, said] = expect(&embed(small.path(), &args), 2);
    assert!(said.contains("1_Pooling/config.json: pooling_mode_cls_token"), "{said}");
    fs::remove_dir_all(small.path().join("1_Pooling")).unwrap();
    assert_eq!(expect(&embed(small.path(), &args), 0)[0], expected);
}

#[test]
fn sentences_are_lowered_if_the_model_says_so() {
    let small = Small::new();
    set(small.path(), "tokenizer.json", "/normalizer/lowercase", json!(false));
    let tokens = |text: &str| {
        let stream = Device::open("sim:mi355x").unwrap().default_stream();
        SentenceEncoder::load(small.path(), &stream).unwrap().tokenize(text).unwrap().ids
    };
    assert_ne!(tokens("A CAT"), tokens("a cat"));
    for (value, is_lowered) in [(Value::Null, false), (json!(false), false), (json!(true), true)] {
        set(small.path(), "sentence_bert_config.json", "/do_lower_case", value);
        assert_eq!(tokens("A CAT") == tokens("a cat"), is_lowered);
    }
}

/// A model in which one word is beyond f16: sentences with it have no vectors, and others have theirs.
#[test]
fn sentences_that_leave_the_range_of_f16_are_named() {
    let small = Small::new();
    let word = model::read(small.path(), "tokenizer.json")["model"]["vocab"]["z"].as_u64().unwrap();
    let table = "embeddings.word_embeddings.weight";
    spoil(small.path(), table, |shape| word as usize * shape[1], 1e5);
    expect(&embed(small.path(), &["a cat", "it rains"]), 0);
    let [shown, said] = expect(&embed(small.path(), &["a cat", "z", "it rains"]), 2);
    assert_eq!(shown, "");
    for name in ["model.safetensors", "sentence 2 ", "not finite", "range of f16"] {
        assert!(said.contains(name), "{name} is not in {said}");
    }
    for (tensor, number) in [("LayerNorm.weight", 1e30), ("LayerNorm.bias", 3e38)] {
        let tensor = format!("embeddings.{tensor}");
        let beyond = |folder: &Path| spoil(folder, &tensor, |_| 0, number);
        refuses(beyond, &["model.safetensors", "sentence 1 ", "not finite"]);
    }
}

/// Puts a number in place of one of the weights', which are of f32.
fn spoil(folder: &Path, tensor: &str, place: impl FnOnce(&[usize]) -> usize, number: f32) {
    let file = folder.join("model.safetensors");
    let mut weights = fs::read(&file).unwrap();
    let (start, metadata) = hipkittens::models::read_header(&weights).unwrap();
    let info = metadata.info(tensor).unwrap();
    let at = start + info.data_offsets.0 + 4 * place(&info.shape);
    weights[at..at + 4].copy_from_slice(&number.to_le_bytes());
    fs::write(file, weights).unwrap();
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
    rewrite_header(folder, |header| {
        let mut header = serde_json::from_str(header).unwrap();
        change(&mut header);
        header.to_string()
    });
}

/// As [`change_header`], of the header's text.
fn rewrite_header(folder: &Path, change: impl FnOnce(&str) -> String) {
    let file = folder.join("model.safetensors");
    let weights = fs::read(&file).unwrap();
    let (start, _) = hipkittens::models::read_header(&weights).unwrap();
    let header = change(str::from_utf8(&weights[8..start]).unwrap());
    let length = (header.len() as u64).to_le_bytes();
    fs::write(file, [&length[..], header.as_bytes(), &weights[start..]].concat()).unwrap();
}

#[test]
fn sizes_that_the_weights_do_not_have_are_refused() {
    let cases = [
        ("num_hidden_layers", json!(3), "encoder.layer.2.attention.self.query.weight"),
        // Fewer than the file has.
        ("num_hidden_layers", json!(1), "encoder.layer.1.attention.output.LayerNorm.bias"),
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
    // Of which a map would keep the last.
    let twice = |entry: &'static str| {
        move |folder: &Path| {
            rewrite_header(folder, |header| header.replacen('{', &format!("{{{entry},"), 1));
        }
    };
    let again = r#""embeddings.position_embeddings.weight":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}"#;
    refuses(twice(again), &[file, "corrupt header", position, "is there twice"]);
    refuses(twice(r#""__metadata__":{},"__metadata__":{}"#), &[file, "is there twice"]);
    let renamed =
        replace("encoder.layer.1.output.dense.weight", "encoder.layer.1.output.dense.weighs");
    refuses(renamed, &[file, "encoder.layer.1.output.dense.weight", "no such tensor"]);
    let tensor = "encoder.layer.0.intermediate.dense.weight";
    let spoilt = |number| move |folder: &Path| spoil(folder, tensor, |_| 0, number);
    refuses(spoilt(f32::NAN), &[file, tensor, "finite numbers", "NaN"]);
    refuses(spoilt(1e5), &[file, tensor, "range of f16", "100000"]);
}

/// Tokens that the model has no embedding for, and more than it has positions for: no tokenizer gives them,
/// but a program may.
#[test]
fn tokens_that_the_model_cannot_take_are_refused() {
    let small = Small::new();
    let stream = Device::open("sim:mi355x").unwrap().default_stream();
    let encoder = SentenceEncoder::load(small.path(), &stream).unwrap();
    let config = BertConfig::read(&small.path().join("config.json")).unwrap();
    let of = |ids: Vec<i32>| encoder.embed(&[Sentence { ids, is_truncated: false }], None);
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
