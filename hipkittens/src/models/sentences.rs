//! Vectors of sentences, as the library sentence-transformers makes them.

use std::path::{Path, PathBuf};

use hk_core::{Stream, Tensor};
use hk_norm::{MeanPoolOptions, RowOptions, l2norm, mean_pool};
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
    file: PathBuf,
    tokenizer: Tokenizer,
    max_tokens: usize,
    bert: Bert,
}

impl SentenceEncoder {
    /// Loads the model of a folder: `config.json`, `tokenizer.json`, `model.safetensors`, and as far as
    /// they are there `modules.json`, `sentence_bert_config.json` and `1_Pooling/config.json`.
    ///
    /// # Errors
    /// [`ModelError`], which names the file.
    pub fn load(folder: &Path, stream: &Stream) -> Result<Self, ModelError> {
        let config = BertConfig::read(&folder.join("config.json"))?;
        require_modules(&folder.join("modules.json"))?;
        require_mean(&folder.join("1_Pooling/config.json"))?;
        let max_tokens = max_tokens(&folder.join("sentence_bert_config.json"), &config)?;
        let file = folder.join("tokenizer.json");
        let tokenizer = tokenizer(&file, &config, max_tokens)?;
        let weights = Weights::read(&folder.join("model.safetensors"))?;
        let bert = Bert::load(&config, &weights, stream)?;
        Ok(Self { stream: stream.clone(), file, tokenizer, max_tokens, bert })
    }

    /// Tokens of a sentence, at most.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
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
        let tokens =
            self.tokenizer.encode(sentence, true).map_err(|error| fail(error.to_string()))?;
        // Below the size of the vocabulary, as was checked.
        let ids: Vec<_> = tokens.get_ids().iter().map(|id| *id as i32).collect();
        if ids.is_empty() {
            return Err(fail("there are none in it".into()));
        }
        Ok(Sentence { ids, is_truncated: !tokens.get_overflowing().is_empty() })
    }

    /// The vector of each sentence. Calls `progress` with steps that were done.
    ///
    /// # Errors
    /// [`ModelError::Op`].
    pub fn embed(
        &self,
        sentences: &[Sentence],
        mut progress: impl FnMut(usize),
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(sentences.len());
        for sentences in batches(sentences) {
            let batch = Batch::new(&self.stream, sentences.iter().map(|of| &of.ids[..]))?;
            let tokens = sentences.iter().map(|sentence| sentence.ids.len()).sum();
            let x = self.bert.forward(&batch, || progress(tokens))?;
            let means: Tensor<f32> = mean_pool(&x, &batch.cu_seqlens, &MeanPoolOptions::default())?;
            let y = l2norm(&means, EPS, &RowOptions::default())?;
            vectors.extend(y.to_vec()?.chunks_exact(y.row_len()).map(<[f32]>::to_vec));
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

/// Refuses a model that makes a sentence's vector of something else than the mean of its tokens'.
fn require_mean(file: &Path) -> Result<(), ModelError> {
    let Some(settings) = Settings::read_if_there(file)? else { return Ok(()) };
    // Of several modes, the vectors would follow each other.
    for (key, wanted) in [
        ("pooling_mode_mean_tokens", true),
        ("pooling_mode_cls_token", false),
        ("pooling_mode_max_tokens", false),
        ("pooling_mode_mean_sqrt_len_tokens", false),
        ("pooling_mode_weightedmean_tokens", false),
        ("pooling_mode_lasttoken", false),
    ] {
        if settings.get(key).is_some_and(|value| *value != wanted) {
            return Err(settings.wrong(key, wanted));
        }
    }
    Ok(())
}

/// What a model may be made of: the last part of the names that sentence-transformers has for it.
const MODULES: [&str; 3] = ["Transformer", "Pooling", "Normalize"];

/// Refuses a model with a step that is not done here, as one more product behind the mean.
fn require_modules(file: &Path) -> Result<(), ModelError> {
    if !file.exists() {
        return Ok(());
    }
    let fail = |what: String| Err(ModelError::Format { file: file.to_owned(), what });
    let modules = read_json(file)?;
    let Some(modules) = modules.as_array() else { return fail("no list of JSON".into()) };
    for module in modules {
        let name = module["type"].as_str().and_then(|name| name.rsplit('.').next());
        if name.is_none_or(|name| !MODULES.contains(&name)) {
            let known = MODULES.join(", ");
            return fail(format!("type: must be one of {known}, got {}", module["type"]));
        }
    }
    Ok(())
}

/// Tokens that a sentence has at most.
fn max_tokens(file: &Path, config: &BertConfig) -> Result<usize, ModelError> {
    let positions = config.max_position_embeddings;
    let Some(settings) = Settings::read_if_there(file)? else { return Ok(positions) };
    let key = "max_seq_length";
    match settings.get(key) {
        None | Some(serde_json::Value::Null) => Ok(positions),
        Some(_) => match settings.count(key)? {
            count if count <= positions => Ok(count),
            _ => Err(settings.wrong(
                key,
                format_args!("at most max_position_embeddings of config.json, {positions}"),
            )),
        },
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
