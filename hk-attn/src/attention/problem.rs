//! How ops declare an attention.

use hk_core::dtype::DType;
use hk_core::op::indices::{IndexList, Indices};
use hk_core::op::{Arguments, Call};
use hk_core::{Error, Result, Stream, TensorSlice};

use super::element::is_narrow;
use super::{
    AlibiForm, AppendArgs, AttentionArgs, AttentionElement, AttentionOptions, AttentionOutput,
    HeadScales, KeyRows, KeySource,
};

/// The widest heads, unless an op takes wide ones: then keys, and values of keys that are wider than these.
pub(crate) const MOST_WIDTH: usize = 256;
const MOST_WIDTHS: [usize; 2] = [640, 512];
/// What is done to indices before the launch, if they are looked at.
pub(crate) type Check<'a> = Box<dyn FnOnce(&Call) -> Result<()> + 'a>;

/// A launch that is only left to be made.
pub(crate) type Launch = Box<dyn FnOnce(&Stream) -> Result<()>>;

/// What is launched before attention and after it, with memory of its own, whose address and
/// whose arguments of attention are given to what prepares the launches.
pub(super) struct Around<'a> {
    pub(super) bytes: usize,
    pub(super) prepare: Box<Prepare<'a>>,
}

type Prepare<'a> = dyn FnOnce(&Call, u64, &mut AttentionArgs) -> Result<[Option<Launch>; 2]> + 'a;

/// An attention as far as it is declared.
pub(crate) struct Problem<'a> {
    pub(crate) arguments: Arguments,
    pub(crate) args: AttentionArgs,
    pub(crate) options: AttentionOptions<'a>,
    pub(crate) dtype: DType,
    pub(super) is_plain: bool,
    /// Whether sequences follow each other.
    pub(super) is_packed: bool,
    pub(crate) alibi: AlibiForm,
    /// The widest heads of keys and of values.
    most_widths: [usize; 2],
    /// Keys that a sequence has at most.
    pub(crate) most_keys: usize,
    /// What is launched before, of the same tensors, whose rows are not split; what is launched then has
    /// sequences of one query alone.
    pub(crate) first: Option<AttentionArgs>,
    pub(super) append: Option<AppendArgs>,
    pub(super) around: Option<Around<'a>>,
    pub(crate) checks: Vec<Check<'a>>,
}

/// Where sequences of a packed tensor are, and how long they are at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths<'a> {
    pub(crate) bounds: Indices<'a>,
    pub(crate) most: usize,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(op: &'static str, options: AttentionOptions<'a>) -> Self {
        Self {
            arguments: Arguments::new(op),
            args: AttentionArgs::NONE,
            options,
            dtype: DType::Bf16,
            is_plain: true,
            is_packed: false,
            alibi: AlibiForm::Distance,
            most_widths: [MOST_WIDTH; 2],
            most_keys: 0,
            first: None,
            append: None,
            around: None,
            checks: Vec::new(),
        }
    }

    /// Takes heads wider than [`MOST_WIDTH`], too.
    pub(crate) fn with_wide_heads(mut self) -> Self {
        self.most_widths = MOST_WIDTHS;
        self
    }

    // ---- Queries, keys and values.

    /// Queries whose sequences, rows and heads are so far apart, in elements.
    pub(crate) fn queries<Q: AttentionElement>(
        &mut self,
        q: &TensorSlice<Q>,
        [sequence, row, head]: [i64; 3],
    ) {
        let size = size_of::<Q>() as i64;
        let args = &mut self.args;
        (args.q, args.q_type) = (q.ptr().any(), Q::CODE);
        (args.q_sequence, args.q_row, args.q_head) = (sequence * size, row * size, head * size);
        self.multiplies::<Q>();
    }

    /// Products are of that type, unless it is one of 8 bits.
    fn multiplies<T: AttentionElement>(&mut self) {
        if is_narrow::<T>() {
            self.is_plain = false;
        } else {
            self.dtype = T::DTYPE;
        }
    }

    /// Rows of keys or of values that are so far apart, in elements.
    pub(crate) fn rows<T: AttentionElement>(
        &mut self,
        tensor: &TensorSlice<T>,
        [sequence, row, head]: [i64; 3],
        width: usize,
    ) -> KeyRows {
        let size = size_of::<T>();
        let whole = width.is_multiple_of(8);
        self.is_plain &= whole;
        self.multiplies::<T>();
        let bytes = |elements: i64| elements * size as i64;
        KeyRows {
            base: tensor.ptr().any(),
            sequence: bytes(sequence),
            head: bytes(head),
            page: bytes(row),
            element: size as u32,
            r#type: T::CODE,
            whole: u32::from(whole),
            width: width as u32,
            ..KeyRows::NONE
        }
    }

    /// Declares `[b, sq, hq, d]`, `[b, sk, hk, d]` and `[b, sk, hk, dv]`; or heads before rows.
    pub(crate) fn dense<Q: AttentionElement, K: AttentionElement>(
        &mut self,
        q: &TensorSlice<Q>,
        k: &TensorSlice<K>,
        v: &TensorSlice<K>,
        heads_first: bool,
    ) -> Result<()> {
        let dims: [&[&str]; 3] = if heads_first {
            [&["b", "hq", "sq", "d"], &["b", "hk", "sk", "d"], &["b", "hk", "sk", "dv"]]
        } else {
            [&["b", "sq", "hq", "d"], &["b", "sk", "hk", "d"], &["b", "sk", "hk", "dv"]]
        };
        let order = |[sequence, a, b, _]: [i64; 4]| {
            if heads_first { [sequence, b, a] } else { [sequence, a, b] }
        };
        let arguments = &mut self.arguments;
        let of_q = order(arguments.input("q", q, dims[0]).adjacent()?);
        let of_k = order(arguments.input("k", k, dims[1]).adjacent()?);
        let of_v = order(arguments.input("v", v, dims[2]).adjacent()?);
        let [b, sq, sk] = arguments.sizes(["b", "sq", "sk"])?;
        let [d, dv] = self.heads()?;
        self.queries(q, of_q);
        let (keys, values) = (self.rows(k, of_k, d), self.rows(v, of_v, dv));
        let (length, count) = (sk as u32, sk as u32);
        self.args.source[0] = KeySource { keys, values, length, count, ..KeySource::NONE };
        (self.args.sequences, self.args.q_length) = (b as u32, sq as u32);
        self.most_keys = sk;
        self.limit(["b", "sq", "sk"])
    }

    /// Declares how many rows of queries and of keys of each sequence count, `[b]`, if they are given.
    pub(crate) fn used(
        &mut self,
        of_q: Option<Indices<'a>>,
        of_k: Option<Indices<'a>>,
    ) -> Result<()> {
        let dims: &[&str] = if self.is_packed { &["bounds-1"] } else { &["b"] };
        let places = [&mut self.args.q_lengths, &mut self.args.source[0].lengths];
        let used = [("seqused_q", of_q), ("seqused_k", of_k)];
        for ((name, lengths), place) in used.into_iter().zip(places) {
            let Some(lengths) = lengths else { continue };
            *place = lengths.declare(&mut self.arguments, name, dims)?;
            self.checks.push(Box::new(move |call: &Call| {
                let lengths = lengths.to_vec()?;
                call.require_each(name, &lengths, "not negative", |_, length| length >= 0)
            }));
        }
        Ok(())
    }

    /// Declares `[tq, hq, d]`, `[tk, hk, d]` and `[tk, hk, dv]`, and the bounds of their sequences.
    pub(crate) fn packed<Q: AttentionElement, K: AttentionElement>(
        &mut self,
        q: &TensorSlice<Q>,
        k: &TensorSlice<K>,
        v: &TensorSlice<K>,
        of_q: Lengths<'a>,
        of_k: Lengths<'a>,
    ) -> Result<()> {
        let arguments = &mut self.arguments;
        let [q_row, q_head, _] = arguments.input("q", q, &["tq", "hq", "d"]).adjacent()?;
        let [k_row, k_head, _] = arguments.input("k", k, &["tk", "hk", "d"]).adjacent()?;
        let [v_row, v_head, _] = arguments.input("v", v, &["tk", "hk", "dv"]).adjacent()?;
        let [d, dv] = self.heads()?;
        self.queries(q, [0, q_row, q_head]);
        self.bounds_of_queries("cu_seqlens_q", "max_seqlen_q", of_q, "tq")?;
        let starts = of_k.bounds.declare(&mut self.arguments, "cu_seqlens_k", &["bounds"])?;
        let [tk] = self.arguments.sizes(["tk"])?;
        let keys = self.rows(k, [0, k_row, k_head], d);
        let values = self.rows(v, [0, v_row, v_head], dv);
        let (length, count) = (tk as u32, tk as u32);
        let starts_are_bounds = 1;
        self.args.source[0] =
            KeySource { keys, values, length, count, starts, starts_are_bounds, ..KeySource::NONE };
        self.most_keys = of_k.most.min(tk);
        self.check_bounds("cu_seqlens_k", "max_seqlen_k", of_k, tk);
        self.limit(["tq", "tk"])
    }

    /// Declares the bounds of sequences of queries, `[bounds]`, one more than there are sequences.
    pub(crate) fn bounds_of_queries(
        &mut self,
        name: &'static str,
        most_name: &'static str,
        of: Lengths<'a>,
        rows: &'static str,
    ) -> Result<()> {
        let arguments = &mut self.arguments;
        let [rows] = arguments.sizes([rows])?;
        self.args.q_starts = of.bounds.declare(arguments, name, &["bounds"])?;
        arguments.limit("bounds", 1..=i32::MAX as usize)?;
        let sequences = arguments.sizes(["bounds"])?[0] - 1;
        arguments.define("bounds-1", sequences);
        self.is_packed = true;
        let args = &mut self.args;
        (args.q_starts_are_bounds, args.q_rows) = (1, rows as u32);
        (args.sequences, args.q_length) = (sequences as u32, of.most.min(rows) as u32);
        self.check_bounds(name, most_name, of, rows);
        Ok(())
    }

    fn check_bounds(
        &mut self,
        name: &'static str,
        most_name: &'static str,
        of: Lengths<'a>,
        rows: usize,
    ) {
        self.check(move |call| {
            let bounds = of.bounds.to_vec()?;
            call.require_bounds(name, &bounds, rows)?;
            let longest = bounds.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max();
            match longest.filter(|longest| *longest > of.most) {
                None => Ok(()),
                Some(longest) => {
                    let wanted = format!("at least {longest}, the longest sequence");
                    Err(Error::value(call.op(), most_name, wanted, of.most))
                }
            }
        });
    }

    /// Looks at the bounds of sequences among so many indices, of which there may be more than the last bound
    /// says, and at those that they have, of so many tokens.
    pub(crate) fn check_tokens(
        &mut self,
        kv_indptr: Indices<'a>,
        kv_indices: Indices<'a>,
        [indices, tokens]: [usize; 2],
    ) {
        self.check(move |call| {
            let (bounds, list) = (kv_indptr.to_vec()?, kv_indices.to_vec()?);
            let constraint =
                format!("bounds from 0 to at most {indices}, none below the one before");
            call.require_each("kv_indptr", &bounds, &constraint, |at, bound| {
                let before = if at == 0 { 0 } else { bounds[at - 1] };
                (at > 0 || bound == 0) && (before..=indices as i64).contains(&bound)
            })?;
            let used = bounds.last().copied().unwrap_or_default() as usize;
            let constraint = format!("a token below {tokens}");
            call.require_each("kv_indices", &list[..used], &constraint, |_, token| {
                usize::try_from(token).is_ok_and(|token| token < tokens)
            })
        });
    }

    /// Looks at indices before the launch, if they are looked at.
    pub(crate) fn check(&mut self, check: impl FnOnce(&Call) -> Result<()> + 'a) {
        self.checks.push(Box::new(check));
    }

    /// Checks `hq`, `hk`, `d` and `dv`, and gives the widths.
    pub(crate) fn heads(&mut self) -> Result<[usize; 2]> {
        let arguments = &self.arguments;
        arguments.limit("hq", 1..=i32::MAX as usize)?;
        arguments.limit("hk", 1..=i32::MAX as usize)?;
        let [hq, hk, d, dv] = arguments.sizes(["hq", "hk", "d", "dv"])?;
        arguments.limit("d", 1..=self.most_widths[0])?;
        // There are no tiles of narrow keys and wide values.
        let most = if d > MOST_WIDTH { self.most_widths[1] } else { MOST_WIDTH };
        arguments.limit("dv", 1..=most)?;
        let args = &mut self.args;
        (args.kv_heads, args.group) = (hk as u32, (hq / hk) as u32);
        (args.width, args.value_width) = (d as u32, dv as u32);
        Ok([d, dv])
    }

    /// Requires sizes to be such that positions are numbers of 31 bits.
    pub(crate) fn limit<const N: usize>(&self, sizes: [&'static str; N]) -> Result<()> {
        sizes.into_iter().try_for_each(|size| self.arguments.limit(size, 0..=i32::MAX as usize / 2))
    }

    /// Requires each head of keys to have as many of queries, once all arguments are declared.
    pub(super) fn require_groups(arguments: &Arguments) -> Result<()> {
        let [hq, hk] = arguments.sizes(["hq", "hk"])?;
        arguments.require(hq % hk == 0, "hq", format!("a multiple of hk, {hk}"), hq)
    }

    /// Requires values to be no wider than keys.
    pub(crate) fn require_narrow_values(&self) -> Result<()> {
        let [d] = self.arguments.sizes(["d"])?;
        self.arguments.limit("dv", 1..=d)
    }

    /// Requires keys, if they have 16 bits, to be of the type of queries that have.
    pub(crate) fn require_one_type<Q: AttentionElement, K: AttentionElement>(
        &self,
        name: &'static str,
    ) -> Result<()> {
        let is_one = is_narrow::<Q>() || is_narrow::<K>() || Q::DTYPE == K::DTYPE;
        let constraint = format!("of {} or 8 bits, as queries are", Q::DTYPE);
        self.arguments.require(is_one, name, constraint, K::DTYPE)
    }

    /// Requires that there is no bias, which has no shape for sequences that differ in length.
    pub(crate) fn refuse_bias(&self) -> Result<()> {
        let is_none = self.options.bias.is_none();
        self.arguments.require(is_none, "bias", "none, of sequences of any lengths", "some")
    }

    /// Requires that there are no options of 8-bit elements, nor of results that are not.
    pub(super) fn refuse_codes(&self) -> Result<()> {
        let options = self.options;
        let given = [
            ("q_descale", options.q_descale.is_some()),
            ("k_descale", options.k_descale.is_some()),
            ("v_descale", options.v_descale.is_some()),
            ("output_scale", options.output_scale.is_some()),
            ("num_splits", options.num_splits.is_some()),
        ];
        given.into_iter().try_for_each(|(name, is_given)| {
            self.arguments.require(!is_given, name, "none, of gradients", "some")
        })
    }

    /// Appends rows to the cache, once attention has read it and, as its second source, them.
    pub(crate) fn append(&mut self, args: AppendArgs) {
        let length = self.most_keys as u32;
        let cache = KeySource { length, lengths: IndexList::NONE, ..args.cache };
        self.append = Some(AppendArgs { cache, ..args });
    }

    // ---- Results.

    /// Results of rows and heads that are so far apart, in elements.
    pub(crate) fn results<O: AttentionOutput>(
        &mut self,
        out: &mut TensorSlice<O>,
        [sequence, row, head]: [i64; 3],
    ) {
        let args = &mut self.args;
        (args.o, args.o_type) = (out.ptr_mut().any(), O::CODE);
        (args.o_sequence, args.o_row, args.o_head) = (sequence, row, head);
    }

    /// Declares results as `dims` say: of sequences, rows and heads, or of rows and heads.
    pub(crate) fn output<O: AttentionOutput>(
        &mut self,
        out: &mut TensorSlice<O>,
        dims: &'static [&'static str],
    ) -> Result<()> {
        let declared = self.arguments.output("out", out, dims);
        let strides = if let [_, second, ..] = dims
            && dims.len() == 4
        {
            let [sequence, a, b, _] = declared.adjacent()?;
            if *second == "hq" { [sequence, b, a] } else { [sequence, a, b] }
        } else {
            let [row, head, _] = declared.adjacent()?;
            [0, row, head]
        };
        self.results(out, strides);
        Ok(())
    }

    /// Declares logarithms of sums, if they are wanted, by the order of dimensions.
    pub(crate) fn lse(
        &mut self,
        lse: Option<&mut TensorSlice<f32>>,
        dims: &'static [&'static str],
    ) -> Result<()> {
        let Some(lse) = lse else { return Ok(()) };
        let args = &mut self.args;
        args.lse = lse.ptr_mut();
        let declared = self.arguments.output("lse", lse, dims);
        let strides = match dims {
            [_, _, _] => {
                let [sequence, head, row] = declared.strides()?;
                [sequence, row, head]
            }
            ["hq", _] => {
                let [head, row] = declared.strides()?;
                [0, row, head]
            }
            _ => {
                let [row, head] = declared.strides()?;
                [0, row, head]
            }
        };
        [args.lse_sequence, args.lse_row, args.lse_head] = strides;
        Ok(())
    }

    // ---- Options.

    /// Checks and declares the options, once shapes are known.
    pub(crate) fn declare_options(&mut self) -> Result<()> {
        let options = self.options;
        let Self { arguments, args, is_packed, alibi, .. } = self;
        // Numbers of sequences and heads.
        let of_heads: [&[&str]; 2] = if *is_packed {
            [&["bounds-1", "hq"], &["bounds-1", "hk"]]
        } else {
            [&["b", "hq"], &["b", "hk"]]
        };
        let [d, hk] = arguments.sizes(["d", "hk"])?;
        args.scale = options.scale.unwrap_or_else(|| 1.0 / (d as f32).sqrt());
        arguments.require(args.scale.is_finite(), "scale", "finite", args.scale)?;
        let side = |keys: Option<u32>| keys.map_or(-1, |keys| keys.min(i32::MAX as u32 / 2) as i32);
        (args.left, args.right) = (side(options.window.left), side(options.window.right));
        if options.causal {
            args.right = 0;
        }
        let cap = options.softcap;
        let is_cap = cap >= 0.0 && cap.is_finite();
        arguments.require(is_cap, "softcap", "0, or positive and finite", cap)?;
        args.steps.softcap = cap;
        args.steps.softcap_inverse = if cap > 0.0 { 1.0 / cap } else { 0.0 };
        if let Some(slopes) = options.alibi_slopes {
            args.steps.slopes = slopes.ptr();
            args.steps.form = *alibi as u32;
            if slopes.shape().len() == 2 {
                let declared = arguments.input("alibi_slopes", slopes, of_heads[0]);
                [args.steps.slopes_of_sequence, _] = declared.adjacent()?;
            } else {
                arguments.input("alibi_slopes", slopes, &["hq"]).contiguous()?;
            }
        }
        if let Some(bias) = options.bias {
            let dims: &[&str] = match bias.shape() {
                [1, 1, ..] => &["1", "1", "sq", "sk"],
                [1, ..] => &["1", "hq", "sq", "sk"],
                [_, 1, ..] => &["b", "1", "sq", "sk"],
                _ => &["b", "hq", "sq", "sk"],
            };
            let (base, bias_type, [sequence, head, row, key]) =
                bias.declare(arguments, "bias", dims)?;
            let of = |dim: usize, stride: i64| if dims[dim] == "1" { 0 } else { stride };
            let steps = &mut args.steps;
            (steps.bias, steps.bias_type) = (base, bias_type);
            (steps.bias_sequence, steps.bias_head) = (of(0, sequence), of(1, head));
            (steps.bias_row, steps.bias_key) = (row, key);
        }
        if let Some(sink) = options.sink {
            let (base, sink_type, [head]) = sink.declare(arguments, "sink", &["hq"])?;
            let adjacent = head == 1 || sink.shape() == [1];
            arguments.require(adjacent, "sink", "adjacent elements", head)?;
            (args.sinks, args.sink_type) = (base, sink_type);
        }
        if let Some(dropout) = options.dropout {
            let p = dropout.p;
            arguments.require((0.0..1.0).contains(&p), "dropout", "p from 0 to below 1", p)?;
            if p > 0.0 {
                let steps = &mut args.steps;
                steps.drops = 1;
                steps.threshold = (f64::from(p) * 4_294_967_296.0) as u32;
                steps.seed_low = dropout.seed as u32;
                steps.seed_high = (dropout.seed >> 32) as u32 ^ (dropout.offset >> 32) as u32;
                steps.offset_low = dropout.offset as u32;
                args.keep_scale = 1.0 / (1.0 - p);
            }
        }
        let mut scales = |name, tensor: Option<&TensorSlice<f32>>, dims| -> Result<HeadScales> {
            let Some(tensor) = tensor else { return Ok(HeadScales::NONE) };
            if tensor.shape().len() == 1 {
                arguments.input(name, tensor, &["1"]).contiguous()?;
                return Ok(HeadScales { base: tensor.ptr(), ..HeadScales::NONE });
            }
            let [sequence, head] = arguments.input(name, tensor, dims).strides()?;
            Ok(HeadScales { base: tensor.ptr(), sequence, head, ..HeadScales::NONE })
        };
        // Heads of queries that share a number.
        let of_groups = options
            .q_descale
            .is_some_and(|scale| matches!(scale.shape(), [_, heads] if *heads == hk));
        args.q_scale = scales("q_descale", options.q_descale, of_heads[usize::from(of_groups)])?;
        args.q_scale.shared_by = if of_groups { args.group } else { 1 };
        args.k_scale = scales("k_descale", options.k_descale, of_heads[1])?;
        args.v_scale = scales("v_descale", options.v_descale, of_heads[1])?;
        if let Some(scale) = options.output_scale {
            arguments.input("output_scale", scale, &["1"]).contiguous()?;
            args.o_scale = scale.ptr();
        }
        Ok(())
    }
}
