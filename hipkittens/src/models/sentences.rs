//! Vectors of sentences, as the library sentence-transformers makes them.

use std::borrow::Cow;
use std::iter;
use std::path::{Path, PathBuf};

use hk_core::{Stream, Tensor};
use hk_norm::{MeanPoolOptions, RowOptions, l2norm, mean_pool};
use serde_json::Value;
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};

use super::settings::{Settings, read_json};
use super::{Batch, Bert, BertConfig, ModelError, Weights};

/// Tokens of the sentences that pass through the model together, unless one alone has more.
const TOKENS_AT_ONCE: usize = 512;

/// What the norm adds to the sum of squares: nothing, unless that is zero.
const EPS: f32 = 1e-24;

/// A sentence as tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The tokens' numbers in the vocabulary.
    pub ids: Vec<i32>,
    /// Whether it had more tokens than the model takes, so that the last were cut off.
    pub is_truncated: bool,
}

/// Makes vectors of sentences, of length one, whose products are cosine similarities: a tokenizer, a
/// [`Bert`] and the mean of what it makes of the tokens.
#[derive(Debug)]
pub struct SentenceEncoder {
    stream: Stream,
    /// That of the tokenizer.
    file: PathBuf,
    tokenizer: Tokenizer,
    splitting: Splitting,
    /// The file of the weights.
    weights: PathBuf,
    bert: Bert,
}

impl SentenceEncoder {
    /// Loads the model of a folder: `config.json`, `tokenizer.json`, `model.safetensors`, and as far as
    /// they are there `modules.json`, `config_sentence_transformers.json`, `sentence_bert_config.json` and
    /// `1_Pooling/config.json`. If `modules.json` has other places for the parts of the model, they are
    /// taken from there.
    ///
    /// # Errors
    /// [`ModelError`], which names the file.
    pub fn load(folder: &Path, stream: &Stream) -> Result<Self, ModelError> {
        let Modules { transformer, pooling } = Modules::read(folder)?;
        let config = BertConfig::read(&transformer.join("config.json"))?;
        if let Some(pooling) = pooling {
            require_mean(&Settings::read(&pooling)?)?;
        }
        refuse_prompts(&folder.join("config_sentence_transformers.json"))?;
        let splitting = Splitting::read(&transformer.join("sentence_bert_config.json"), &config)?;
        let file = transformer.join("tokenizer.json");
        let tokenizer = tokenizer(&file, &config, splitting.max_tokens)?;
        let weights = transformer.join("model.safetensors");
        let bert = Bert::load(&config, &Weights::read(&weights)?, stream)?;
        Ok(Self { stream: stream.clone(), file, tokenizer, splitting, weights, bert })
    }

    /// Tokens of a sentence, at most.
    pub fn max_tokens(&self) -> usize {
        self.splitting.max_tokens
    }

    /// Steps that [`embed`](Self::embed) tells for each token.
    pub fn steps_per_token(&self) -> usize {
        self.bert.config().num_hidden_layers
    }

    /// Splits a sentence into tokens, without those that are too many.
    ///
    /// # Errors
    /// [`ModelError::Sentence`] if the tokenizer refuses it, or finds no token in it.
    pub fn tokenize(&self, sentence: &str) -> Result<Sentence, ModelError> {
        let fail = |what: String| {
            let (file, sentence) = (self.file.clone(), sentence.to_owned());
            ModelError::Sentence { file, sentence, what }
        };
        let text = if self.splitting.is_lowered {
            Cow::Owned(sentence.to_lowercase())
        } else {
            Cow::Borrowed(sentence)
        };
        let tokens = self.tokenizer.encode(text, true).map_err(|error| fail(error.to_string()))?;
        // Below the size of the vocabulary, as was checked.
        let ids: Vec<_> = tokens.get_ids().iter().map(|id| *id as i32).collect();
        if ids.is_empty() {
            return Err(fail("there are none in it".into()));
        }
        Ok(Sentence { ids, is_truncated: !tokens.get_overflowing().is_empty() })
    }

    /// The vector of each sentence. If there is a `progress`, waits for the device after each layer, and
    /// calls it with the steps that were done.
    ///
    /// # Errors
    /// [`ModelError::Op`], and [`ModelError::NotFinite`] if the model leaves the range of f16.
    pub fn embed(
        &self,
        sentences: &[Sentence],
        mut progress: Option<&mut dyn FnMut(usize)>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(sentences.len());
        for sentences in batches(sentences) {
            let batch = Batch::new(&self.stream, sentences.iter().map(|of| &of.ids[..]))?;
            let tokens = sentences.iter().map(|sentence| sentence.ids.len()).sum();
            let x = match &mut progress {
                Some(progress) => self.bert.forward(&batch, Some(&mut || progress(tokens)))?,
                None => self.bert.forward(&batch, None)?,
            };
            let means: Tensor<f32> = mean_pool(&x, &batch.cu_seqlens, &MeanPoolOptions::default())?;
            let y = l2norm(&means, EPS, &RowOptions::default())?;
            for vector in y.to_vec()?.chunks_exact(y.row_len()) {
                if vector.iter().any(|number| !number.is_finite()) {
                    let (file, sentence) = (self.weights.clone(), vectors.len());
                    return Err(ModelError::NotFinite { file, sentence });
                }
                vectors.push(vector.to_vec());
            }
        }
        Ok(vectors)
    }
}

/// Sentences that pass through the model together.
fn batches(sentences: &[Sentence]) -> impl Iterator<Item = &[Sentence]> {
    let mut tokens = 0;
    sentences.chunk_by(move |before, next| {
        tokens += before.ids.len();
        let fits = tokens + next.ids.len() <= TOKENS_AT_ONCE;
        tokens = if fits { tokens } else { 0 };
        fits
    })
}

/// Where the parts of a model are.
struct Modules {
    /// The folder of the tokenizer and the BERT.
    transformer: PathBuf,
    /// The file that says how a vector is made of those of tokens; without it, it is their mean.
    pooling: Option<PathBuf>,
}

/// What a model is made of, one behind the other: the last part of the names that sentence-transformers
/// has for it. The last may be missing, as it is done in any case.
const MODULES: [&str; 3] = ["Transformer", "Pooling", "Normalize"];

impl Modules {
    /// Those of a folder. Refuses a model of other ones, as of one more product behind the mean.
    fn read(folder: &Path) -> Result<Self, ModelError> {
        let file = folder.join("modules.json");
        if !file.exists() {
            let pooling = folder.join("1_Pooling/config.json");
            let pooling = pooling.exists().then_some(pooling);
            return Ok(Self { transformer: folder.to_owned(), pooling });
        }
        let fail = |what: String| ModelError::Format { file: file.clone(), what };
        let modules = read_json(&file)?;
        let modules = modules.as_array().ok_or_else(|| fail("no list of JSON".into()))?;
        let is_of = |module: &Value, name: &str| {
            let whole = module["type"].as_str();
            whole.and_then(|whole| whole.rsplit('.').next()) == Some(name)
        };
        let is_known = (2..=MODULES.len()).contains(&modules.len())
            && iter::zip(modules, MODULES).all(|(module, name)| is_of(module, name));
        if !is_known {
            let [first, second, third] = MODULES;
            let got: Vec<_> = modules.iter().map(|module| module["type"].to_string()).collect();
            return Err(fail(format!(
                "type: must be {first}, {second} and, if there is one more, {third}, got [{}]",
                got.join(", ")
            )));
        }
        let place = |module: &Value| {
            let path = module["path"].as_str().map(|path| folder.join(path));
            path.ok_or_else(|| fail(format!("path: must be a string, got {}", module["path"])))
        };
        let pooling = place(&modules[1])?.join("config.json");
        Ok(Self { transformer: place(&modules[0])?, pooling: Some(pooling) })
    }
}

/// Refuses a model that makes a sentence's vector of something else than the mean of its tokens'.
fn require_mean(pooling: &Settings) -> Result<(), ModelError> {
    // Of several modes, the vectors would follow each other.
    for (key, wanted) in [
        ("pooling_mode_mean_tokens", true),
        ("pooling_mode_cls_token", false),
        ("pooling_mode_max_tokens", false),
        ("pooling_mode_mean_sqrt_len_tokens", false),
        ("pooling_mode_weightedmean_tokens", false),
        ("pooling_mode_lasttoken", false),
    ] {
        pooling.require(key, wanted)?;
    }
    pooling.require("pooling_mode", "mean")
}

/// Refuses a model that puts words of its own before each sentence.
fn refuse_prompts(file: &Path) -> Result<(), ModelError> {
    match Settings::read_if_there(file)? {
        Some(settings) => settings.require("default_prompt_name", Value::Null),
        None => Ok(()),
    }
}

/// How sentences are made into tokens.
#[derive(Debug)]
struct Splitting {
    /// Tokens that a sentence has at most.
    max_tokens: usize,
    /// Whether it is put in small letters before, whatever the tokenizer does.
    is_lowered: bool,
}

impl Splitting {
    /// As a file says that need not be there.
    fn read(file: &Path, config: &BertConfig) -> Result<Self, ModelError> {
        let positions = config.max_position_embeddings;
        let mut splitting = Self { max_tokens: positions, is_lowered: false };
        let Some(settings) = Settings::read_if_there(file)? else { return Ok(splitting) };
        let there = |key| settings.get(key).filter(|value| !value.is_null());
        let key = "max_seq_length";
        if there(key).is_some() {
            splitting.max_tokens = settings.count(key)?;
        }
        if splitting.max_tokens > positions {
            let most = "at most max_position_embeddings of config.json";
            return Err(settings.wrong(key, format_args!("{most}, {positions}")));
        }
        let key = "do_lower_case";
        if let Some(value) = there(key) {
            let is_lowered = value.as_bool();
            splitting.is_lowered =
                is_lowered.ok_or_else(|| settings.wrong(key, "true or false"))?;
        }
        Ok(splitting)
    }
}

/// The tokenizer of a file, which cuts off what is more than so many tokens.
fn tokenizer(file: &Path, config: &BertConfig, max: usize) -> Result<Tokenizer, ModelError> {
    let fail = |what: String| ModelError::Format { file: file.to_owned(), what };
    let text =
        std::fs::read(file).map_err(|source| ModelError::Read { file: file.to_owned(), source })?;
    let mut tokenizer = Tokenizer::from_bytes(text)
        .map_err(|error| fail(format!("not a tokenizer that is known: {error}")))?;
    let (tokens, vocabulary) = (tokenizer.get_vocab(true), config.vocab_size);
    if let Some((token, id)) = tokens.iter().find(|(_, id)| **id as usize >= vocabulary) {
        return Err(fail(format!(
            "token {token:?} is number {id}, and vocab_size of config.json is {vocabulary}"
        )));
    }
    let added = tokenizer.get_post_processor().map_or(0, |of| of.added_tokens(false));
    if added >= max {
        return Err(fail(format!(
            "it adds {added} tokens to each sentence, and the model takes {max}, these included"
        )));
    }
    let truncation = TruncationParams { max_length: max, ..TruncationParams::default() };
    tokenizer.with_padding(None);
    tokenizer.with_truncation(Some(truncation)).map_err(|error| fail(error.to_string()))?;
    Ok(tokenizer)
}
