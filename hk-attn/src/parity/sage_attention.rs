//! Cases of the module `sage_attention`.

use hk_core::Arch;
use hk_core::dtype::{DType, Element, F8E4M3, F8E4M3Fnuz, Real, bf16, decode, f16};
use hk_core::op::quant::{ByteCode, Fp8};
use hk_ref::attn::attention::Head;
use hk_ref::attn::sage_attention::{
    Coded, attended, blocks, codes, logarithms, means, products, results, rounded, scales, smoothed,
};
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, Setup, Size};

use crate::{
    AttentionElement, SageAttnOut, SageCodes, SageLut, SageOptions, SageQuantOut,
    sage_attn_fwd_into, sage_attn_into, sage_quant_into,
};

/// What varies between cases.
#[derive(Debug, Clone)]
struct Spec {
    name: &'static str,
    b: usize,
    rows: [usize; 2],
    heads: [usize; 2],
    widths: [usize; 2],
    blocks: [usize; 2],
    causal: bool,
    window: [Option<u32>; 2],
    heads_first: bool,
    smooth_k: bool,
    q_smooth: bool,
    /// Whether blocks of queries see some blocks of keys only, the first of them none.
    sparse: bool,
    /// What is added to keys, so that they have a mean.
    offset: f32,
    content: Content,
    /// Whether what logarithms of sums lose is wanted.
    delta_lse: bool,
    /// Factor of scores, if it is not that of the width.
    scale: Option<f32>,
    /// Which tensor is far apart, its dimension that is outermost, and the gap in elements of 16 bits, if one
    /// is.
    far: Option<(Far, usize, usize)>,
}

/// Numbers of queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// Drawn.
    Drawn,
    /// Whose sums and means are exact, so that all results are, bit by bit. Heads differ in magnitude.
    Sums,
    /// The same, with means and differences that are ties of bf16, and values that are ties of codes. The
    /// numbers in the lower halves of their dwords are odd.
    Ties,
    /// Codes that are next to ties, or next to one half.
    Halves,
    /// Sums in units of the least subnormal number of f32, with means that are ties.
    Subnormal,
    /// Queries and keys in units of that number, which is the scale though codes would be beyond 127.
    Beyond,
    /// Queries of zeros.
    Zeros,
}

/// A tensor whose rows are far apart, with its codes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Far {
    Queries,
    Keys,
    Values,
}

/// The scale with which the factor of queries is 1.
const OF_ONE: f32 = std::f32::consts::LN_2;
/// The dimensions of a tensor in memory, of which one is outermost.
const ORDERS: [[usize; 4]; 3] = [[0, 1, 2, 3], [1, 0, 2, 3], [2, 0, 1, 3]];

impl Spec {
    fn new(name: &'static str, rows: [usize; 2], heads: [usize; 2], d: usize) -> Self {
        Self {
            name,
            b: 1,
            rows,
            heads,
            widths: [d, d],
            blocks: [64, 64],
            causal: false,
            window: [None; 2],
            heads_first: false,
            smooth_k: true,
            q_smooth: false,
            sparse: false,
            offset: 0.0,
            content: Content::Drawn,
            delta_lse: true,
            scale: None,
            far: None,
        }
    }

    /// Of exact numbers.
    fn exact(name: &'static str, rows: [usize; 2], heads: [usize; 2], d: usize) -> Self {
        let scale = Some(OF_ONE);
        Self { content: Content::Sums, scale, ..Self::new(name, rows, heads, d) }
    }

    /// The factor of scores.
    fn factor(&self) -> f32 {
        self.scale.unwrap_or_else(|| 1.0 / (self.widths[0] as f32).sqrt())
    }

    fn title(&self) -> String {
        let [blk_q, blk_k] = self.blocks;
        let mut title = format!("{}, blocks of {blk_q} and {blk_k}", self.name);
        let mut say = |is_said: bool, what: &str| title += if is_said { what } else { "" };
        say(self.causal, ", causal");
        say(self.window != [None; 2], ", windowed");
        say(self.heads_first, ", heads first");
        say(!self.smooth_k, ", with means of keys");
        say(self.q_smooth, ", without means of queries");
        say(self.sparse, ", sparse");
        say(!self.delta_lse, ", without delta_lse");
        if self.content != Content::Drawn {
            title += &format!(", {:?}", self.content).to_lowercase();
        }
        if let Some((far, outermost, gap)) = self.far {
            title += &format!(", {far:?} {gap} apart, {outermost} outermost").to_lowercase();
        }
        title
    }

    fn info(&self, op: &'static str, dtypes: &[DType], arch: Option<Arch>) -> CaseInfo {
        let ([sq, sk], [hq, hk], [d, dv]) = (self.rows, self.heads, self.widths);
        let shape = [self.b, sq, sk, hq, hk, d, dv];
        let info = CaseInfo::new("sage_attention", op, self.title(), dtypes, &shape);
        let is_quick = self.b * sq * sk * hq * (d + dv) < 6_000_000;
        let size = if is_quick { Size::Quick } else { Size::Core };
        CaseInfo { arch, size, ..info }
    }

    /// The shape of a tensor of rows of heads.
    fn shape(&self, rows: usize, heads: usize, width: usize) -> Vec<usize> {
        let b = self.b;
        if self.heads_first { vec![b, heads, rows, width] } else { vec![b, rows, heads, width] }
    }

    /// Rows of a head, of such a tensor.
    fn head(
        &self,
        x: &[f64],
        [b, h]: [usize; 2],
        [rows, heads, width]: [usize; 3],
    ) -> Vec<Vec<f64>> {
        let at = |row: usize| self.place([b, h, row], [rows, heads]) * width;
        (0..rows).map(|row| x[at(row)..][..width].to_vec()).collect()
    }

    /// Number of a row of a head.
    fn place(&self, [b, h, row]: [usize; 3], [rows, heads]: [usize; 2]) -> usize {
        match self.heads_first {
            true => (b * heads + h) * rows + row,
            false => (b * rows + row) * heads + h,
        }
    }

    fn counts(&self) -> [usize; 2] {
        [0, 1].map(|of| self.rows[of].div_ceil(self.blocks[of]))
    }

    /// Blocks of keys that block `of` of queries of head `h` sees.
    fn seen(&self, h: usize, of: usize) -> Vec<usize> {
        let [_, k_blocks] = self.counts();
        (0..k_blocks).filter(|block| of > 0 && (block + of + h).is_multiple_of(2)).collect()
    }

    fn options(&self) -> SageOptions<'static> {
        let options = SageOptions::default()
            .causal(self.causal)
            .window(self.window[0], self.window[1])
            .blocks(self.blocks[0], self.blocks[1])
            .heads_first(self.heads_first)
            .smooth_k(self.smooth_k)
            .q_smooth(self.q_smooth);
        self.scale.into_iter().fold(options, SageOptions::scale)
    }

    /// At its place, of the tensor of which that is.
    fn at<T: Element>(&self, tensor: Arg<T>, of: Far) -> Arg<T> {
        match self.far {
            Some((far, outermost, gap)) if far == of => {
                let gap = gap * 2 / size_of::<T>().max(2);
                tensor.order(&ORDERS[outermost]).place(Placement::DENSE.gap(gap))
            }
            _ => tensor,
        }
    }

    /// Keys that are visible before a query's position, and behind it.
    fn sides(&self) -> [Option<usize>; 2] {
        let right = if self.causal { Some(0) } else { self.window[1] };
        [self.window[0], right].map(|side| side.map(|keys| keys as usize))
    }
}

/// Lists of blocks, if there are any.
struct Lut([Arg<i32>; 3]);

impl Lut {
    fn new(s: &mut Setup, spec: &Spec) -> Self {
        let ([hq, _], [q_blocks, _]) = (spec.heads, spec.counts());
        let (mut list, mut starts, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for entry in 0..spec.b * hq * q_blocks {
            let seen = spec.seen(entry / q_blocks % hq, entry % q_blocks);
            starts.push(list.len() as i32);
            counts.push(seen.len() as i32);
            list.extend(seen.into_iter().map(|block| block as i32));
        }
        let entries = [starts.len()];
        Self([
            s.given("kv_block_indices", &[list.len()], list),
            s.given("lut_start", &entries, starts),
            s.given("lut_count", &entries, counts),
        ])
    }
}

/// Attention of codes.
fn forward<F: Fp8 + AttentionElement>(spec: Spec, arch: Arch) -> Case {
    let info = spec.info("sage_attn_fwd", &[DType::I8, F::DTYPE, DType::Bf16], Some(arch));
    Case::new(info, move |s| {
        let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
        let (b, [q_blocks, k_blocks]) = (spec.b, spec.counts());
        let q = s.input::<i8>("q", &spec.shape(sq, hq, d), Draw::Codes);
        let k = s.input::<i8>("k", &spec.shape(sk, hk, d), Draw::Codes);
        let v = s.input::<F>("v", &spec.shape(sk, hk, dv), Draw::Normal);
        let q_descale = s.input::<f32>("q_descale", &[b, hq, q_blocks], Draw::Scaled(-8));
        let k_descale = s.input::<f32>("k_descale", &[b, hk, k_blocks], Draw::Scaled(-8));
        let v_descale = s.input::<f32>("v_descale", &[b, hk, dv], Draw::Normal);
        let of_delta = [b, hq, q_blocks, sk];
        let delta = spec.q_smooth.then(|| s.input::<f32>("delta_s", &of_delta, Draw::Normal));
        let delta_lse =
            spec.smooth_k.then(|| s.input::<f32>("delta_lse", &[b, hq, sq], Draw::Normal));
        let lut = spec.sparse.then(|| Lut::new(s, &spec));

        let numbers = [decode(&q.elements()), decode(&k.elements()), decode(&v.elements())];
        let [by_q, by_k, by_v] = [&q_descale, &k_descale, &v_descale].map(Arg::numbers);
        let by_delta = delta.as_ref().map(Arg::numbers);
        let more = delta_lse.as_ref().map(Arg::numbers);
        let (mut o, mut lse) = (vec![0.0; b * sq * hq * dv], Vec::new());
        let mut all_largest = o.clone();
        for entry in 0..b * hq {
            let (b, h) = (entry / hq, entry % hq);
            let of = h / (hq / hk);
            let head = Head {
                q: spec.head(&numbers[0], [b, h], [sq, hq, d]),
                k: spec.head(&numbers[1], [b, of], [sk, hk, d]),
                v: spec.head(&numbers[2], [b, of], [sk, hk, dv]),
            };
            let delta = by_delta.as_ref().map(|delta| -> Vec<Vec<f64>> {
                let of = |block: usize| delta[(entry * q_blocks + block) * sk..][..sk].to_vec();
                (0..q_blocks).map(of).collect()
            });
            let seen: Vec<_> = (0..q_blocks).map(|block| spec.seen(h, block)).collect();
            let coded = Coded {
                q: (&by_q[entry * q_blocks..][..q_blocks], spec.blocks[0]),
                k: (&by_k[(b * hk + of) * k_blocks..][..k_blocks], spec.blocks[1]),
                v: &by_v[(b * hk + of) * dv..][..dv],
                delta: delta.as_deref(),
                seen: spec.sparse.then_some(&seen),
                window: spec.sides(),
            };
            let magnitudes = |row: &Vec<f64>| -> f64 {
                let of = row.iter().zip(coded.v).map(|(x, scale)| (x * scale).abs());
                of.fold(0.0, f64::max)
            };
            let largest = head.v.iter().map(magnitudes).fold(0.0, f64::max);
            for (i, row) in attended(&head, &coded).into_iter().enumerate() {
                let at = spec.place([b, h, i], [sq, hq]) * dv;
                o[at..at + dv].copy_from_slice(&row.o);
                all_largest[at..at + dv].fill(largest);
                lse.push(row.lse + more.as_ref().map_or(0.0, |more| more[entry * sq + i]));
            }
        }
        let out = s.output::<bf16>("out", &spec.shape(sq, hq, dv), results(o, &all_largest));
        let lse = s.output::<f32>("lse", &[b, hq, sq], logarithms(lse));
        let spec = spec.clone();
        s.call(move || {
            let (q, k, v) = (q.get(), k.get(), v.get());
            let [by_q, by_k, by_v] = [&q_descale, &k_descale, &v_descale].map(Arg::get);
            let (delta, delta_lse) =
                (delta.as_ref().map(Arg::get), delta_lse.as_ref().map(Arg::get));
            let codes = SageCodes {
                q: &q,
                k: &k,
                v: &v,
                q_descale: &by_q,
                k_descale: &by_k,
                v_descale: &by_v,
                delta_s: delta.as_deref(),
                delta_lse: delta_lse.as_deref(),
            };
            let (mut out, mut lse) = (out.get(), lse.get());
            let into = SageAttnOut { out: &mut out, lse: Some(&mut lse) };
            let Some(Lut(lists)) = &lut else {
                return sage_attn_fwd_into(&codes, &spec.options(), into);
            };
            let [list, start, count] = lists.each_ref().map(Arg::get);
            let lut = SageLut {
                kv_block_indices: (&list).into(),
                lut_start: (&start).into(),
                lut_count: (&count).into(),
            };
            sage_attn_fwd_into(&codes, &spec.options().block_lut(lut), into)
        });
    })
}

/// Values that are large: the sum of what weights make of them is more than f32 has room for, the average
/// is not.
fn large<F: Fp8 + AttentionElement>(arch: Arch) -> Case {
    let (shape, dtypes) = ([1, 1, 64, 1, 1, 8, 8], [DType::I8, F::DTYPE, DType::Bf16]);
    let info = CaseInfo::new("sage_attention", "sage_attn_fwd", "large values", &dtypes, &shape);
    Case::new(CaseInfo { arch: Some(arch), ..info }, |s| {
        let size = 2f32.powi(115);
        let q = s.given::<i8>("q", &[1, 1, 1, 8], vec![0; 8]);
        let k = s.given::<i8>("k", &[1, 64, 1, 8], vec![0; 512]);
        let v = s.given::<F>("v", &[1, 64, 1, 8], vec![F::from_f64(1.0); 512]);
        let by_q = s.given::<f32>("q_descale", &[1, 1, 1], vec![1.0]);
        let by_k = s.given::<f32>("k_descale", &[1, 1, 1], vec![1.0]);
        let by_v = s.given::<f32>("v_descale", &[1, 1, 8], vec![size; 8]);
        let expected = Expected::exact(vec![f64::from(size); 8]);
        let out = s.output::<bf16>("out", &[1, 1, 1, 8], expected);
        let lse = s.output::<f32>("lse", &[1, 1, 1], logarithms(vec![64f64.ln()]));
        s.call(move || {
            let (q, k, v) = (q.get(), k.get(), v.get());
            let [by_q, by_k, by_v] = [&by_q, &by_k, &by_v].map(Arg::get);
            let codes = SageCodes {
                q: &q,
                k: &k,
                v: &v,
                q_descale: &by_q,
                k_descale: &by_k,
                v_descale: &by_v,
                delta_s: None,
                delta_lse: None,
            };
            let (mut out, mut lse) = (out.get(), lse.get());
            let into = SageAttnOut { out: &mut out, lse: Some(&mut lse) };
            sage_attn_fwd_into(&codes, &SageOptions::default(), into)
        });
    })
}

/// Queries, keys and values of a case of numbers.
fn numbers<T: Real>(s: &mut Setup, spec: &Spec, most: f64) -> [Arg<T>; 3] {
    let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
    let [q, k, v] = [spec.shape(sq, hq, d), spec.shape(sk, hk, d), spec.shape(sk, hk, dv)];
    if spec.content != Content::Drawn {
        let drawn = |name, shape: &[usize]| -> Vec<f64> {
            decode(&s.draw::<f32>(name, shape, Draw::Integers(-100, 101)))
        };
        let drawn = [drawn("q", &q), drawn("k", &k), drawn("v", &v)];
        let [of_q, of_k, of_v] = exact_numbers(spec, &drawn, most)
            .map(|numbers| numbers.into_iter().map(T::from_f64).collect::<Vec<T>>());
        let (q, k) = (s.given("q", &q, of_q), s.given("k", &k, of_k));
        let v = s.given("v", &v, of_v);
        return [spec.at(q, Far::Queries), spec.at(k, Far::Keys), spec.at(v, Far::Values)];
    }
    let of_q = s.input::<T>("q", &q, Draw::Normal);
    let keys: Vec<T> = s.draw("k", &k, Draw::Normal);
    let offset = f64::from(spec.offset);
    let keys = keys.into_iter().map(|key| T::from_f64(key.to_f64() + offset)).collect();
    let of_k = s.given("k", &k, keys);
    [of_q, of_k, s.input::<T>("v", &v, Draw::Normal)]
}

/// Numbers that are not drawn, from integers from -100 to 100; the codes of values end with `most`.
fn exact_numbers(spec: &Spec, drawn: &[Vec<f64>; 3], most: f64) -> [Vec<f64>; 3] {
    let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
    let mut all = [drawn[0].clone(), drawn[1].clone(), drawn[2].clone()];
    for (of, (rows, heads, width)) in
        [(sq, hq, d), (sk, hk, d), (sk, hk, dv)].into_iter().enumerate()
    {
        for entry in 0..spec.b * heads {
            let (b, h) = (entry / heads, entry % heads);
            let mut head = spec.head(&drawn[of], [b, h], [rows, heads, width]);
            for column in 0..width {
                let from: Vec<f64> = head.iter().map(|row| row[column]).collect();
                let to = match of {
                    0 => queries(spec.content, &from, h, column),
                    1 => keys(spec.content, &from, h, column),
                    _ => values(spec.content, &from, [h, column], most),
                };
                head.iter_mut().zip(to).for_each(|(row, x)| row[column] = x);
            }
            for (row, numbers) in head.iter().enumerate() {
                let at = spec.place([b, h, row], [rows, heads]) * width;
                all[of][at..at + width].copy_from_slice(numbers);
            }
        }
    }
    all
}

/// The magnitude of a head's numbers.
fn magnitude(h: usize) -> f64 {
    f64::from(1 << (h % 3))
}

/// The least subnormal number of f32.
fn least() -> f64 {
    2f64.powi(-149)
}

/// A column whose sum is half way between multiples of 64, of which the lower one is even. The largest
/// magnitude is about 100, with or without the mean: the scale is the least number, as codes are not beyond
/// 127.
fn half_way(drawn: &[f64]) -> Vec<f64> {
    let mut column: Vec<f64> = drawn.iter().map(|x| (x / 2.0).trunc()).collect();
    column[0] = 100.0;
    if let Some((last, others)) = column.split_last_mut() {
        *last = (96.0 - others.iter().sum::<f64>()).rem_euclid(128.0) - 64.0;
    }
    column.iter().map(|x| x * least()).collect()
}

/// Odd numbers of 8 bits whose halves, as multiples of their 127th parts, come out just below 63.5 in f32.
/// The next number of f32 does not.
const NEXT_TO_TIES: [f64; 9] = [143.0, 145.0, 147.0, 149.0, 175.0, 177.0, 179.0, 207.0, 209.0];

/// A column of codes next to ties. Every other head has a scale of 1 and, in f32, numbers below one half of
/// which the sum with one half is less than 1 by two of its steps.
fn halves(drawn: &[f64], h: usize, column: usize) -> Vec<f64> {
    let of_one = |x: f64| match column % 2 {
        0 => 63.5f64.copysign(x),
        _ => (0.5f64 - 3f64 * 2f64.powi(-25)).copysign(x),
    };
    let most = if h % 2 == 1 { 127.0 } else { NEXT_TO_TIES[h / 2 % 9] };
    let of = |x: &f64| match (column, h % 2) {
        (0, _) => most,
        (_, 1) => of_one(*x),
        _ => (most / 2.0).copysign(*x),
    };
    drawn.iter().map(of).collect()
}

/// A column of magnitudes up to 190, both signs.
fn beyond(rows: usize) -> Vec<f64> {
    (0..rows).map(|row| [190.0, -190.0, 128.0, -128.0, 127.0, -1.0][row % 6] * least()).collect()
}

/// A column of queries.
fn queries(content: Content, drawn: &[f64], h: usize, column: usize) -> Vec<f64> {
    // One column alone has a mean, so that products with keys are single ones.
    let tie = |row: usize| match (column % 16, row % 2) {
        (15, row) => [250.0, -250.0][row],
        (column, row) if column % 2 == 0 => [1.0, -1.0][row] * (129 + column) as f64,
        (column, row) if column == 2 * (h % 4) + 1 => [3.0, 5.0][row],
        _ => 0.0,
    };
    match content {
        Content::Zeros => vec![0.0; drawn.len()],
        Content::Ties => (0..drawn.len()).map(tie).collect(),
        Content::Halves => halves(drawn, h, column),
        Content::Subnormal => half_way(drawn),
        Content::Beyond => beyond(drawn.len()),
        // From 9 to 15.
        _ => drawn.iter().map(|x| magnitude(h) * (12.0 + x.rem_euclid(7.0) - 3.0)).collect(),
    }
}

/// A column of keys.
fn keys(content: Content, drawn: &[f64], h: usize, column: usize) -> Vec<f64> {
    let rows = drawn.len();
    // Of four rows each. Means are 28.25, of differences that are ties, or ties themselves.
    let (t, u) = ((column / 4) as f64, ((5 * column + 11 * h) % 35) as f64);
    let first = if column == 2 { 127.0 } else { 64.0 + u };
    let second = 64.0 + ((7 * column + 3 * h) % 35) as f64;
    let tie = |row: usize| match column % 4 {
        0 => 129.0 + 2.0 * row as f64 + 8.0 * (t % 4.0),
        1 => 128.0 + t + (row % 2) as f64,
        2 => 28.0 + [first, -first, second, 1.0 - second][row],
        _ => 240.0,
    };
    // Rows from both ends cancel each other but for the mean.
    let mean =
        (24 + column * 5 % 9) as f64 * if (column / 3).is_multiple_of(2) { 1.0 } else { -1.0 };
    let moved = |row: usize| match row.cmp(&(rows - 1 - row)) {
        std::cmp::Ordering::Less => drawn[row].rem_euclid(31.0) - 15.0,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => 15.0 - drawn[rows - 1 - row].rem_euclid(31.0),
    };
    match content {
        Content::Ties => (0..rows).map(|row| tie(row % 4)).collect(),
        Content::Halves => halves(drawn, h, column),
        Content::Subnormal => half_way(drawn),
        Content::Beyond => beyond(drawn.len()),
        _ => (0..rows).map(|row| magnitude(h) * (mean + moved(row))).collect(),
    }
}

/// A column of values.
fn values(content: Content, drawn: &[f64], [h, column]: [usize; 2], most: f64) -> Vec<f64> {
    let rows = drawn.len();
    // Every third column has a scale that is no power of two.
    let end = if column % 3 == 2 { 1.25 * most } else { most };
    let place = (column * 7 + h) % rows.max(1);
    let sum = |row: usize| if row == place { end.copysign(drawn[row]) } else { drawn[row] };
    let tie = |row: usize| match (column % 2, row) {
        (0, 0) | (1, 1) => most,
        (0, _) => 129.0 + 2.0 * ((column + 3 * row) % 40) as f64,
        _ => (17f64 + 4f64 * ((column / 2 + row) % 4) as f64).copysign(drawn[row]),
    };
    match content {
        Content::Ties => (0..rows).map(tie).collect(),
        Content::Subnormal => {
            let small = |row: usize| if row == 0 { most } else { drawn[row].rem_euclid(16.0) };
            (0..rows).map(|row| small(row) * least()).collect()
        }
        _ => (0..rows).map(|row| magnitude(h) * sum(row)).collect(),
    }
}

/// A number as one of f32.
fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// Rows without a mean: a difference of f32, as a number of type T.
fn without<T: Real>(rows: &[Vec<f64>], mean: &[f64]) -> Vec<Vec<f64>> {
    let rows = smoothed::<f32>(rows, mean).into_iter();
    rows.map(|row| row.into_iter().map(rounded::<T>).collect()).collect()
}

/// A number as a code of type F.
fn rounded_code<F: Fp8>(x: f64) -> f64 {
    F::from_f64(x).to_f64()
}

/// The quantiser.
fn quantise<T: Real, F: Fp8>(spec: Spec, arch: Arch) -> Case {
    let info = spec.info("sage_quant", &[T::DTYPE, DType::I8, F::DTYPE], Some(arch));
    Case::new(info, move |s| {
        let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
        let (b, [q_blocks, k_blocks], [blk_q, blk_k]) = (spec.b, spec.counts(), spec.blocks);
        let most = f64::from(<F as ByteCode>::MOST);
        let [q, k, v] = numbers::<T>(s, &spec, most);
        let given = [q.numbers(), k.numbers(), v.numbers()];
        let is_exact = spec.content != Content::Drawn;
        let scale = spec.factor();
        let factor = f64::from(scale * std::f32::consts::LOG2_E);

        let mut q8 = vec![0.0; b * sq * hq * d];
        let (mut k8, mut v8) = (vec![0.0; b * sk * hk * d], vec![0.0; b * sk * hk * dv]);
        let (mut q_scales, mut k_scales, mut v_scales) = (Vec::new(), Vec::new(), Vec::new());
        let (mut delta, mut sizes) = (Vec::new(), Vec::new());
        let (mut delta_lse, mut lse_sizes) = (Vec::new(), Vec::new());
        let put = |to: &mut [f64], rows: &[Vec<f64>], [b, h, heads]: [usize; 3]| {
            for (i, row) in rows.iter().enumerate() {
                let at = spec.place([b, h, i], [rows.len(), heads]) * row.len();
                to[at..at + row.len()].copy_from_slice(row);
            }
        };
        let mut of_keys = Vec::new();
        for entry in 0..b * hk {
            let (b, h) = (entry / hk, entry % hk);
            let keys = spec.head(&given[1], [b, h], [sk, hk, d]);
            let mean: Vec<f64> = match spec.smooth_k && sk > 0 {
                true => means(&keys, sk).into_iter().map(|x| rounded::<T>(single(x))).collect(),
                false => vec![0.0; d],
            };
            let keys = if spec.smooth_k { without::<T>(&keys, &mean) } else { keys };
            let coded = blocks(&keys, blk_k, 127.0);
            put(&mut k8, &coded.codes, [b, h, hk]);
            k_scales.extend(coded.scales);
            let values = spec.head(&given[2], [b, h], [sk, hk, dv]);
            let by_channel: Vec<f64> = (0..dv)
                .map(|at| values.iter().fold(0.0, |most: f64, row| most.max(row[at].abs())))
                .map(|amax| f64::from(amax as f32 / most as f32))
                .collect();
            let code = |row: &Vec<f64>| {
                let of = |(x, scale): (&f64, &f64)| match (*scale == 0.0, is_exact) {
                    (true, _) => 0.0,
                    (false, true) => rounded_code::<F>(single(x / scale)),
                    (false, false) => x / scale,
                };
                row.iter().zip(&by_channel).map(of).collect()
            };
            put(&mut v8, &values.iter().map(code).collect::<Vec<_>>(), [b, h, hk]);
            v_scales.extend(by_channel);
            of_keys.push((keys, mean));
        }
        for entry in 0..b * hq {
            let (b, h) = (entry / hq, entry % hq);
            let (keys, mean) = &of_keys[b * hk + h / (hq / hk)];
            let queries = spec.head(&given[0], [b, h], [sq, hq, d]);
            for row in &queries {
                let terms = || row.iter().zip(mean).map(|(q, mean)| q * mean);
                let scale = f64::from(scale);
                delta_lse.push(single(terms().sum::<f64>() * scale));
                lse_sizes.push(terms().map(f64::abs).sum::<f64>() * scale + 1e-3);
            }
            let scaled: Vec<Vec<f64>> = queries
                .iter()
                .map(|row| row.iter().map(|x| single(x * factor)).collect())
                .collect();
            let mut changed = Vec::new();
            for block in scaled.chunks(blk_q) {
                if !spec.q_smooth {
                    changed.extend_from_slice(block);
                    continue;
                }
                let mean: Vec<f64> = means(block, blk_q).into_iter().map(single).collect();
                changed.extend(without::<T>(block, &mean));
                for key in keys {
                    let terms = || key.iter().zip(&mean).map(|(k, mean)| k * mean);
                    delta.push(single(terms().sum()));
                    sizes.push(1e-2 * terms().map(f64::abs).sum::<f64>());
                }
            }
            let coded = blocks(&changed, blk_q, 127.0);
            put(&mut q8, &coded.codes, [b, h, hq]);
            q_scales.extend(coded.scales);
        }
        let coded = |values| if is_exact { Expected::exact(values) } else { codes(values) };
        let q_codes = s.output::<i8>("q8", &spec.shape(sq, hq, d), coded(q8));
        let k_codes = s.output::<i8>("k8", &spec.shape(sk, hk, d), coded(k8));
        let v_codes = s.output::<F>("v8", &spec.shape(sk, hk, dv), coded(v8));
        let q_codes = spec.at(q_codes, Far::Queries);
        let (k_codes, v_codes) = (spec.at(k_codes, Far::Keys), spec.at(v_codes, Far::Values));
        // A mean that is rounded the other way moves scales.
        let near = |values: Vec<f64>, is_moved: bool| match (is_exact, is_moved) {
            (true, _) => Expected::exact(values),
            (false, true) => {
                let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
                products(values, &sizes)
            }
            (false, false) => scales(values),
        };
        let sums = |values: Vec<f64>, sizes: &[f64]| match is_exact {
            true => Expected::exact(values),
            false => products(values, sizes),
        };
        let q_descale =
            s.output::<f32>("q_descale", &[b, hq, q_blocks], near(q_scales, spec.q_smooth));
        let k_descale =
            s.output::<f32>("k_descale", &[b, hk, k_blocks], near(k_scales, spec.smooth_k));
        let v_descale = s.output::<f32>("v_descale", &[b, hk, dv], near(v_scales, false));
        let delta_s = spec
            .q_smooth
            .then(|| s.output::<f32>("delta_s", &[b, hq, q_blocks, sk], sums(delta, &sizes)));
        let expected = sums(delta_lse, &lse_sizes);
        let delta_lse =
            spec.delta_lse.then(|| s.output::<f32>("delta_lse", &[b, hq, sq], expected));
        let spec = spec.clone();
        s.call(move || {
            let (mut q8, mut k8, mut v8) = (q_codes.get(), k_codes.get(), v_codes.get());
            let (mut by_q, mut by_k, mut by_v) =
                (q_descale.get(), k_descale.get(), v_descale.get());
            let mut delta = delta_s.as_ref().map(|delta| delta.get());
            let mut lse = delta_lse.as_ref().map(|lse| lse.get());
            let out = SageQuantOut {
                q: &mut q8,
                k: &mut k8,
                v: &mut v8,
                q_descale: &mut by_q,
                k_descale: &mut by_k,
                v_descale: &mut by_v,
                delta_s: delta.as_deref_mut(),
                delta_lse: lse.as_deref_mut(),
            };
            sage_quant_into(&q.get(), &k.get(), &v.get(), &spec.options(), out)
        });
    })
    .writes_once()
}

/// Both, against attention of the numbers themselves.
fn whole<T: Real, F: Fp8 + AttentionElement>(spec: Spec, arch: Arch) -> Case {
    let info = spec.info("sage_attn", &[T::DTYPE, F::DTYPE, DType::Bf16], Some(arch));
    Case::new(info, move |s| {
        let ([sq, sk], [hq, hk], [d, dv]) = (spec.rows, spec.heads, spec.widths);
        let b = spec.b;
        let [q, k, v] = numbers::<T>(s, &spec, f64::from(<F as ByteCode>::MOST));
        let given = [q.numbers(), k.numbers(), v.numbers()];
        let (mut o, mut lse) = (vec![0.0; b * sq * hq * dv], Vec::new());
        for entry in 0..b * hq {
            let (b, h) = (entry / hq, entry % hq);
            let of = h / (hq / hk);
            let head = Head {
                q: spec.head(&given[0], [b, h], [sq, hq, d]),
                k: spec.head(&given[1], [b, of], [sk, hk, d]),
                v: spec.head(&given[2], [b, of], [sk, hk, dv]),
            };
            let scale = 1.0 / (d as f64).sqrt() / std::f64::consts::LN_2;
            let coded = Coded {
                q: (&[scale], sq.max(1)),
                k: (&[1.0], sk.max(1)),
                v: &vec![1.0; dv],
                delta: None,
                seen: None,
                window: spec.sides(),
            };
            for (i, row) in attended(&head, &coded).into_iter().enumerate() {
                let at = spec.place([b, h, i], [sq, hq]) * dv;
                o[at..at + dv].copy_from_slice(&row.o);
                lse.push(row.lse);
            }
        }
        let most = vec![5.0; o.len()];
        let mut expected = results(o, &most);
        expected.frobenius = Some(5e-2);
        let out = s.output::<bf16>("out", &spec.shape(sq, hq, dv), expected);
        let mut expected = logarithms(lse);
        expected.allowed = vec![5e-2; expected.values.len()];
        let lse = s.output::<f32>("lse", &[b, hq, sq], expected);
        let spec = spec.clone();
        s.call(move || {
            let (mut out, mut lse) = (out.get(), lse.get());
            let into = SageAttnOut { out: &mut out, lse: Some(&mut lse) };
            sage_attn_into::<T, F>(&q.get(), &k.get(), &v.get(), &spec.options(), into)
        });
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let spec = Spec::new;
    let mut forwards = vec![
        Spec { b: 2, widths: [16, 8], q_smooth: true, ..spec("tiny", [3, 5], [4, 2], 16) },
        Spec { b: 2, widths: [16, 8], sparse: true, ..spec("tiny", [130, 5], [4, 2], 16) },
        spec("one", [1, 1], [1, 1], 128),
        spec("few", [4, 4], [2, 1], 128),
        Spec { smooth_k: false, ..spec("two", [2, 1], [1, 1], 128) },
        Spec { heads_first: true, ..spec("two keys", [1, 2], [2, 1], 128) },
        Spec { causal: true, ..spec("more queries", [32, 16], [2, 1], 128) },
        Spec { causal: true, ..spec("more keys", [64, 128], [2, 1], 128) },
        Spec { causal: true, blocks: [128, 64], ..spec("several blocks", [200, 300], [4, 2], 64) },
        Spec {
            blocks: [256, 128],
            q_smooth: true,
            ..spec("usual blocks", [300, 270], [2, 1], 128)
        },
        Spec { window: [Some(20), Some(7)], ..spec("near", [150, 170], [2, 2], 72) },
        Spec { sparse: true, blocks: [64, 128], ..spec("blocks", [200, 300], [4, 2], 128) },
        Spec { sparse: true, heads_first: true, ..spec("blocks", [130, 257], [2, 1], 200) },
        Spec { q_smooth: true, causal: true, ..spec("wide", [70, 90], [2, 1], 256) },
        Spec { widths: [19, 7], ..spec("odd widths", [33, 70], [2, 1], 19) },
        spec("no keys", [3, 0], [2, 1], 64),
        spec("no queries", [0, 3], [2, 1], 64),
    ];
    forwards.push(Spec { b: 2, ..spec("heads of groups", [65, 129], [6, 2], 96) });
    for spec in forwards {
        cases.push(forward::<F8E4M3Fnuz>(spec.clone(), Arch::Gfx942));
        cases.push(forward::<F8E4M3>(spec, Arch::Gfx950));
    }
    cases.push(large::<F8E4M3Fnuz>(Arch::Gfx942));
    cases.push(large::<F8E4M3>(Arch::Gfx950));
    let quantised = [
        Spec { b: 2, widths: [16, 8], q_smooth: true, ..spec("tiny", [3, 5], [4, 2], 16) },
        Spec { offset: 3.0, ..spec("with a mean", [70, 200], [2, 1], 128) },
        Spec { offset: 3.0, smooth_k: false, ..spec("with a mean", [70, 200], [2, 1], 128) },
        Spec {
            q_smooth: true,
            blocks: [128, 64],
            ..spec("several blocks", [300, 700], [4, 2], 64)
        },
        Spec { heads_first: true, ..spec("heads", [150, 70], [2, 2], 256) },
        Spec { widths: [19, 7], q_smooth: true, ..spec("odd widths", [90, 70], [2, 1], 19) },
        spec("no keys", [3, 0], [2, 1], 64),
        spec("no queries", [0, 3], [2, 1], 64),
    ];
    for spec in quantised {
        cases.push(quantise::<bf16, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942));
        cases.push(quantise::<f16, F8E4M3>(spec.clone(), Arch::Gfx950));
        cases.push(quantise::<f32, F8E4M3Fnuz>(spec, Arch::Gfx942));
    }
    exact_cases(&mut cases);
    let wholes = [
        Spec { b: 2, widths: [16, 8], q_smooth: true, ..spec("tiny", [3, 5], [4, 2], 16) },
        Spec { offset: 2.0, causal: true, ..spec("layer", [70, 90], [4, 2], 128) },
        Spec { offset: 2.0, q_smooth: true, ..spec("layer", [150, 130], [2, 1], 64) },
        Spec { smooth_k: false, heads_first: true, ..spec("layer", [40, 130], [2, 2], 128) },
    ];
    for spec in wholes {
        cases.push(whole::<bf16, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942));
        cases.push(whole::<f16, F8E4M3>(spec.clone(), Arch::Gfx950));
        cases.push(whole::<f32, F8E4M3>(spec, Arch::Gfx950));
    }
    cases
}

/// The quantiser for each element type, on both chips.
fn each(cases: &mut Vec<Case>, spec: &Spec, place: Placement) {
    let of = [
        quantise::<bf16, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942),
        quantise::<f16, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942),
        quantise::<f32, F8E4M3Fnuz>(spec.clone(), Arch::Gfx942),
        quantise::<bf16, F8E4M3>(spec.clone(), Arch::Gfx950),
    ];
    cases.extend(of.map(|case| case.place(place)));
}

/// Cases of the quantiser whose results are exact.
fn exact_cases(cases: &mut Vec<Case>) {
    let (dense, end) = (Placement::DENSE, Placement::DENSE.edge(Edge::End));
    let spec = Spec::exact;
    // Each remainder of widths, up to the end of memory. Blocks of one row behind a whole one.
    for (d, dv) in [(1, 1), (10, 2), (11, 3), (12, 12), (13, 5), (14, 6), (23, 15), (33, 9)] {
        let of = Spec { widths: [d, dv], q_smooth: true, ..spec("tails", [65, 65], [2, 1], d) };
        each(cases, &of, end);
    }
    // Several sequences and heads, in both orders.
    for (rows, d, dv) in [([66, 3], 9, 9), ([3, 64], 22, 14), ([5, 66], 15, 7)] {
        let of = Spec { b: 2, widths: [d, dv], q_smooth: true, ..spec("heads", rows, [2, 2], d) };
        each(cases, &of, dense);
        each(cases, &Spec { heads_first: true, smooth_k: false, ..of }, dense);
    }
    let of = Spec { q_smooth: true, ..spec("one", [1, 1], [1, 1], 8) };
    each(cases, &Spec { smooth_k: false, delta_lse: false, ..of.clone() }, end);
    each(cases, &of, end);
    // Several pieces of a width, to the last.
    for d in [32, 65, 96, 256] {
        let of = Spec { q_smooth: true, ..spec("widths", [2, 17], [1, 1], d) };
        each(cases, &of, end);
    }
    // Larger blocks, and another factor.
    let of = Spec { blocks: [128, 192], q_smooth: true, ..spec("blocks", [130, 195], [2, 1], 8) };
    each(cases, &Spec { scale: Some(2.0 * OF_ONE), ..of }, dense);
    // Where workspaces have a multiple of 4 GiB: in sums, in means of keys, and in those of queries.
    for (name, b, heads, rows, q_smooth) in [
        ("many heads", 2, [8, 4], [2, 3], false),
        ("many heads", 2, [8, 4], [2, 3], true),
        ("groups of heads", 4, [12, 4], [65, 65], true),
    ] {
        let of = Spec { b, q_smooth, ..spec(name, rows, heads, 9) };
        cases.push(quantise::<bf16, F8E4M3Fnuz>(of.clone(), Arch::Gfx942));
        cases.push(quantise::<bf16, F8E4M3>(of, Arch::Gfx950));
    }
    // Shares of rows, and more than sixteen blocks of queries.
    for (name, rows, heads) in
        [("shares", [2, 513], [2, 2]), ("sixteens of blocks", [1025, 3], [4, 2])]
    {
        let of = Spec { q_smooth: true, ..spec(name, rows, heads, 3) };
        cases.push(quantise::<bf16, F8E4M3Fnuz>(of.clone(), Arch::Gfx942));
        cases.push(quantise::<f16, F8E4M3>(of, Arch::Gfx950));
    }
    for (smooth_k, q_smooth) in [(true, false), (true, true), (false, false), (false, true)] {
        let of = spec("ties", [2, 4], [4, 4], 16);
        let of = Spec { content: Content::Ties, smooth_k, q_smooth, ..of };
        each(cases, &of, dense);
        cases.push(quantise::<f16, F8E4M3>(of.clone(), Arch::Gfx950));
        cases.push(quantise::<f32, F8E4M3>(of, Arch::Gfx950));
    }
    let of = Spec { smooth_k: false, ..spec("next to ties", [3, 3], [18, 18], 16) };
    each(cases, &Spec { content: Content::Halves, ..of }, dense);
    // A register that holds 1 in place of 0 holds the least number.
    for q_smooth in [false, true] {
        let of = Spec { q_smooth, ..spec("subnormal", [64, 64], [1, 1], 8) };
        let of = Spec { content: Content::Subnormal, ..of };
        cases.push(quantise::<f32, F8E4M3Fnuz>(of, Arch::Gfx942));
        let of = Spec { smooth_k: false, ..spec("codes beyond", [7, 6], [1, 1], 8) };
        let of = Spec { q_smooth, content: Content::Beyond, ..of };
        cases.push(quantise::<f32, F8E4M3Fnuz>(of, Arch::Gfx942));
        let of = Spec { q_smooth, ..spec("large factor", [9, 3], [1, 1], 9) };
        let of = Spec { content: Content::Zeros, scale: Some(2f32.powi(100)), ..of };
        each(cases, &of, dense);
    }
    far_cases(cases);
}

/// Sequences, rows and heads that are 2^32 elements of 16 bits apart, or as many bytes of others; and a
/// sequence and a head of which only both distances together are.
fn far_cases(cases: &mut Vec<Case>) {
    for far in [Far::Queries, Far::Keys, Far::Values] {
        let mut add = |b: usize, rows: usize, heads: usize, outermost: usize, gap: usize| {
            let of = Spec::exact("far", [rows; 2], [heads; 2], 9);
            let of = Spec { b, far: Some((far, outermost, gap)), ..of };
            let of = Spec { q_smooth: far != Far::Values, ..of };
            let case = quantise::<bf16, F8E4M3Fnuz>(of.clone(), Arch::Gfx942);
            cases.push(case.size(Size::Core));
            if b * heads < 4 {
                let case = quantise::<f32, F8E4M3Fnuz>(of, Arch::Gfx942);
                cases.push(case.size(Size::Core));
            }
        };
        // Each other dimension has room for one more.
        add(2, 1, 1, 0, 1 << 30);
        add(1, 2, 1, 1, 1 << 30);
        add(1, 1, 2, 2, 1 << 30);
        add(2, 1, 2, 0, 700_000_000);
    }
}
