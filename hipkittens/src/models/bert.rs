//! The encoder of BERT.

use std::path::Path;

use hk_attn::{AttentionOptions, VarlenOptions, mha_varlen_fwd};
use hk_core::dtype::f16;
use hk_core::{Activation, Error, Result, Stream, Tensor};
use hk_gemm::{GemmOptions, gemm_a16w16};
use hk_norm::{EmbeddingOptions, RowOptions, embedding, layernorm};

use super::settings::Settings;
use super::{ModelError, Weights};

/// The sizes of a BERT, under the names that `config.json` has for them.
#[derive(Debug, Clone, PartialEq)]
pub struct BertConfig {
    /// Tokens that there are.
    pub vocab_size: usize,
    /// Tokens of a sequence, at most.
    pub max_position_embeddings: usize,
    /// Kinds of segments.
    pub type_vocab_size: usize,
    /// Numbers of a token.
    pub hidden_size: usize,
    /// Numbers of a token between the two products of the feed-forward part.
    pub intermediate_size: usize,
    /// Heads of attention.
    pub num_attention_heads: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// What layer norms add to the variance.
    pub layer_norm_eps: f32,
    /// The function between the two products of the feed-forward part.
    pub hidden_act: Activation,
}

/// The names of functions, as `config.json` has them.
const ACTIVATIONS: [(&str, Activation); 6] = [
    ("gelu", Activation::Gelu),
    ("gelu_new", Activation::GeluTanh),
    ("gelu_pytorch_tanh", Activation::GeluTanh),
    ("relu", Activation::Relu),
    ("silu", Activation::Silu),
    ("swish", Activation::Silu),
];

/// The widest heads of attention.
const MOST_WIDTH: usize = 256;

impl BertConfig {
    /// Reads a `config.json`.
    ///
    /// # Errors
    /// [`ModelError::Read`], [`ModelError::Format`], and [`ModelError::Setting`] if the model is no BERT,
    /// or one that is not supported.
    pub fn read(file: &Path) -> Result<Self, ModelError> {
        let settings = Settings::read(file)?;
        if settings.get("model_type").is_none_or(|value| *value != "bert") {
            return Err(settings.wrong("model_type", "\"bert\""));
        }
        settings.require("position_embedding_type", "absolute")?;
        // The tokens of a decoder do not see those behind them.
        settings.require("is_decoder", false)?;
        let eps = settings.get("layer_norm_eps").and_then(serde_json::Value::as_f64);
        let eps = eps.map(|eps| eps as f32).filter(|eps| *eps > 0.0 && eps.is_finite());
        let named =
            |of: &&(&str, Activation)| settings.get("hidden_act").is_some_and(|name| *name == of.0);
        let activation = ACTIVATIONS.iter().find(named).map(|(_, activation)| *activation);
        let config = Self {
            vocab_size: settings.count("vocab_size")?,
            max_position_embeddings: settings.count("max_position_embeddings")?,
            type_vocab_size: settings.count("type_vocab_size")?,
            hidden_size: settings.count("hidden_size")?,
            intermediate_size: settings.count("intermediate_size")?,
            num_attention_heads: settings.count("num_attention_heads")?,
            num_hidden_layers: settings.count("num_hidden_layers")?,
            layer_norm_eps: eps
                .ok_or_else(|| settings.wrong("layer_norm_eps", "a positive number of f32"))?,
            hidden_act: activation.ok_or_else(|| {
                let names = ACTIVATIONS.map(|(name, _)| name).join(", ");
                settings.wrong("hidden_act", format_args!("one of {names}"))
            })?,
        };
        let (heads, hidden) = (config.num_attention_heads, config.hidden_size);
        if !hidden.is_multiple_of(heads) || hidden / heads > MOST_WIDTH {
            let expected =
                format!("a divisor of hidden_size, {hidden}, into heads of at most {MOST_WIDTH}");
            return Err(settings.wrong("num_attention_heads", expected));
        }
        Ok(config)
    }
}

/// Sequences of tokens that follow each other on a device.
#[derive(Debug)]
pub struct Batch {
    tokens: usize,
    longest: usize,
    ids: Tensor<i32>,
    positions: Tensor<i32>,
    segments: Tensor<i32>,
    /// Bounds of the sequences, of which there is one more.
    pub cu_seqlens: Tensor<i32>,
}

impl Batch {
    /// Sequences of tokens, each of one segment.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new<'a>(
        stream: &Stream,
        sequences: impl IntoIterator<Item = &'a [i32]>,
    ) -> Result<Self> {
        let (mut ids, mut positions, mut bounds, mut longest) = (vec![], vec![], vec![0], 0);
        for sequence in sequences {
            ids.extend_from_slice(sequence);
            positions.extend(0..sequence.len() as i32);
            bounds.push(ids.len() as i32);
            longest = sequence.len().max(longest);
        }
        let tokens = ids.len();
        Ok(Self {
            tokens,
            longest,
            ids: Tensor::from_slice(stream, &ids, &[tokens])?,
            positions: Tensor::from_slice(stream, &positions, &[tokens])?,
            segments: Tensor::zeros(stream, &[tokens])?,
            cu_seqlens: Tensor::from_slice(stream, &bounds, &[bounds.len()])?,
        })
    }
}

/// The encoder of a BERT on a device: weights and what passes between ops in f16, biases, norms and
/// tables of embeddings in f32, sums in f32.
#[derive(Debug)]
pub struct Bert {
    config: BertConfig,
    words: Tensor<f32>,
    positions: Tensor<f32>,
    segments: Tensor<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    heads: [usize; 2],
    activation: Activation,
    qkv: Linear,
    output: Linear,
    attention_norm: Norm,
    up: Linear,
    down: Linear,
    norm: Norm,
}

#[derive(Debug)]
struct Linear {
    weight: Tensor<f16>,
    bias: Tensor<f32>,
}

#[derive(Debug)]
struct Norm {
    weight: Tensor<f32>,
    bias: Tensor<f32>,
    eps: f32,
}

impl Bert {
    /// Takes the weights of a model of that configuration to the stream's device.
    ///
    /// # Errors
    /// [`ModelError::Tensor`] if one is not as the configuration asks for, or is of a layer that it does not
    /// have, [`ModelError::Op`] if there is no memory for it.
    pub fn load(
        config: &BertConfig,
        weights: &Weights,
        stream: &Stream,
    ) -> Result<Self, ModelError> {
        let BertConfig {
            hidden_size: hidden,
            intermediate_size: inner,
            num_hidden_layers: layers,
            ..
        } = *config;
        // With some of its layers left out, a model makes vectors that look right.
        let is_beyond = |name: &str| {
            let rest = name.strip_prefix("encoder.layer.");
            let layer = rest.and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
            layer.is_some_and(|layer| layer >= layers)
        };
        weights
            .require_none(is_beyond, format_args!("absent, as num_hidden_layers is {layers}"))?;
        let load = Loader { weights, stream, eps: config.layer_norm_eps };
        let table = |name: &str, rows| {
            weights.f32(stream, &format!("embeddings.{name}_embeddings.weight"), [rows, hidden])
        };
        let layer = |i| -> Result<Layer, ModelError> {
            let at = |part: &str| format!("encoder.layer.{i}.{part}");
            let parts = ["query", "key", "value"].map(|part| at(&format!("attention.self.{part}")));
            Ok(Layer {
                heads: [config.num_attention_heads, hidden / config.num_attention_heads],
                activation: config.hidden_act,
                qkv: load.linear(&parts, [hidden, hidden])?,
                output: load.linear(&[at("attention.output.dense")], [hidden, hidden])?,
                attention_norm: load.norm(&at("attention.output.LayerNorm"), hidden)?,
                up: load.linear(&[at("intermediate.dense")], [inner, hidden])?,
                down: load.linear(&[at("output.dense")], [hidden, inner])?,
                norm: load.norm(&at("output.LayerNorm"), hidden)?,
            })
        };
        Ok(Self {
            words: table("word", config.vocab_size)?,
            positions: table("position", config.max_position_embeddings)?,
            segments: table("token_type", config.type_vocab_size)?,
            norm: load.norm("embeddings.LayerNorm", hidden)?,
            layers: (0..layers).map(layer).collect::<Result<_, _>>()?,
            config: config.clone(),
        })
    }

    /// Its sizes.
    pub fn config(&self) -> &BertConfig {
        &self.config
    }

    /// What the model makes of each token, `[tokens, hidden_size]`. If there is an `after_layer`, waits for
    /// the device after each, and calls it.
    ///
    /// # Errors
    /// [`Error::Value`] if a sequence has more tokens than there are positions, or an id is not in
    /// the vocabulary and [looked at](EmbeddingOptions::validate_indices).
    pub fn forward(
        &self,
        batch: &Batch,
        mut after_layer: Option<&mut dyn FnMut()>,
    ) -> Result<Tensor<f16>> {
        let most = self.config.max_position_embeddings;
        if batch.longest > most {
            let constraint = format!("sequences of at most {most} tokens");
            return Err(Error::value("Bert::forward", "batch", constraint, batch.longest));
        }
        let mut x = self.norm.apply(&self.embed(batch)?)?;
        for layer in &self.layers {
            x = layer.forward(&x, batch)?;
            if let Some(after_layer) = &mut after_layer {
                x.stream().synchronize()?;
                after_layer();
            }
        }
        Ok(x)
    }

    fn embed(&self, batch: &Batch) -> Result<Tensor<f16>> {
        let options = EmbeddingOptions::default()
            .plus(&self.positions, &batch.positions)
            .plus(&self.segments, &batch.segments);
        embedding(&self.words, &batch.ids, &options)
    }
}

impl Layer {
    fn forward(&self, x: &Tensor<f16>, batch: &Batch) -> Result<Tensor<f16>> {
        let qkv = self.qkv.apply(x, |product| product)?;
        let attended = self.attend(&qkv, batch)?;
        let sum = self.output.apply(&attended, |product| product.residual(x))?;
        let x = self.attention_norm.apply(&sum)?;
        let inner = self.up.apply(&x, |product| product.activation(self.activation))?;
        let sum = self.down.apply(&inner, |product| product.residual(&x))?;
        self.norm.apply(&sum)
    }

    /// Attention of the tokens of each sequence to all of it.
    fn attend(&self, qkv: &Tensor<f16>, batch: &Batch) -> Result<Tensor<f16>> {
        let [heads, width] = self.heads;
        let qkv = qkv.reshape(&[batch.tokens, 3, heads, width])?.permute(&[1, 0, 2, 3])?;
        let (q, k, v) = (qkv.index(0)?, qkv.index(1)?, qkv.index(2)?);
        let varlen = VarlenOptions {
            cu_seqlens_q: (&batch.cu_seqlens).into(),
            cu_seqlens_k: (&batch.cu_seqlens).into(),
            max_seqlen_q: batch.longest,
            max_seqlen_k: batch.longest,
        };
        let attended = mha_varlen_fwd(&q, &k, &v, &varlen, &AttentionOptions::default())?.out;
        attended.into_reshaped(&[batch.tokens, heads * width])
    }
}

impl Linear {
    /// `x w^T + bias`, and what `fused` has it do besides.
    fn apply<'a>(
        &'a self,
        x: &Tensor<f16>,
        fused: impl FnOnce(GemmOptions<'a>) -> GemmOptions<'a>,
    ) -> Result<Tensor<f16>> {
        gemm_a16w16(x, &self.weight, &fused(GemmOptions::default().bias(&self.bias)))
    }
}

impl Norm {
    fn apply(&self, x: &Tensor<f16>) -> Result<Tensor<f16>> {
        layernorm(x, Some(&self.weight), Some(&self.bias), self.eps, &RowOptions::default())
    }
}

/// Loads the parts of a model.
struct Loader<'a> {
    weights: &'a Weights,
    stream: &'a Stream,
    eps: f32,
}

impl Loader<'_> {
    /// Products of those names as one, of that shape each.
    fn linear(&self, names: &[String], [n, k]: [usize; 2]) -> Result<Linear, ModelError> {
        let all =
            |part: &str| names.iter().map(|name| format!("{name}.{part}")).collect::<Vec<_>>();
        let (weights, biases) = (all("weight"), all("bias"));
        Ok(Linear {
            weight: self.weights.stacked_f16(self.stream, &weights, [n, k])?,
            bias: self.weights.stacked_f32(self.stream, &biases, [n])?,
        })
    }

    fn norm(&self, name: &str, width: usize) -> Result<Norm, ModelError> {
        let load = |part| self.weights.f32(self.stream, &format!("{name}.{part}"), [width]);
        Ok(Norm { weight: load("weight")?, bias: load("bias")?, eps: self.eps })
    }
}
