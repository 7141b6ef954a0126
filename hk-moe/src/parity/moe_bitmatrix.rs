//! Cases of `sum_bitmatrix_rows` and `sum_bitmatrix_rows_fused`.

use hk_core::dtype::DType;
use hk_ref::draw::Random;
use hk_ref::moe::moe_bitmatrix::moe_bitmatrix as reference;
use hk_ref::{Case, CaseInfo, Edge, Expected, Placement, Setup, Size};

use crate::{
    BitmatrixOptions, BitmatrixSumsOut, sum_bitmatrix_rows_fused_into, sum_bitmatrix_rows_into,
};

/// Which bits are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// About one of eight; those of columns that do not count, too.
    Drawn,
    All,
    None,
    /// All of one column.
    Column(usize),
}

/// What varies between cases.
#[derive(Debug, Clone, Copy)]
struct Spec {
    /// Rows, columns, and rows of a block, or 0 if only all rows are to be added up.
    shape: [usize; 3],
    content: Content,
    /// Words more than there have to be.
    more: usize,
    /// Rows, and blocks of them, are adjacent in memory, rather than columns.
    by_column: bool,
    workgroups: Option<u32>,
    place: Placement,
    size: Size,
}

impl Spec {
    const fn new(shape: [usize; 3]) -> Self {
        let (content, more, by_column, workgroups) = (Content::Drawn, 0, true, None);
        let (place, size) = (Placement::DENSE, Size::Quick);
        Self { shape, content, more, by_column, workgroups, place, size }
    }

    fn case(self) -> Case {
        let mut title = format!("{:?}, {} words more", self.content, self.more);
        if !self.by_column {
            title += ", by row";
        }
        title += &self.workgroups.map(|most| format!(", {most} workgroups")).unwrap_or_default();
        if self.place != Placement::DENSE {
            title += &format!(", {:?}", self.place);
        }
        let [rows, columns, block] = self.shape;
        let (op, shape) = match block {
            0 => ("sum_bitmatrix_rows_fused", vec![rows, columns]),
            _ => ("sum_bitmatrix_rows", vec![rows, columns, block]),
        };
        let info = CaseInfo::new("moe_bitmatrix", op, title, &[DType::U32, DType::I32], &shape);
        let case = Case::new(info, move |s| set_up(s, self));
        case.place(self.place).size(self.size).writes_once()
    }
}

fn exactly(values: &[usize]) -> Expected {
    Expected::exact(values.iter().map(|value| *value as f64).collect())
}

fn set_up(s: &mut Setup, spec: Spec) {
    let [rows, columns, block] = spec.shape;
    let words = columns.div_ceil(32) + spec.more;
    let mut random = Random::new((rows * 4099 + columns) as u64);
    let mut word = |at: usize| match spec.content {
        Content::Drawn => (random.bits() & random.bits() & random.bits()) as u32,
        Content::All => u32::MAX,
        Content::None => 0,
        Content::Column(column) if at % words == column / 32 => 1 << (column % 32),
        Content::Column(_) => 0,
    };
    let bits: Vec<u32> = (0..rows * words).map(&mut word).collect();
    let (hist, partials) = reference(&bits, words, columns, block.max(1));
    let order = if spec.by_column { [1, 0] } else { [0, 1] };
    let bits = s.given("bitmatrix", &[rows, words], bits).order(&order);
    let hist = s.output::<i32>("hist", &[hist.len()], exactly(&hist));
    let options = spec.workgroups.map_or_else(BitmatrixOptions::default, |most| {
        BitmatrixOptions::default().workgroups(most)
    });
    if block == 0 {
        s.call(move || {
            sum_bitmatrix_rows_fused_into(&bits.get(), columns, &options, &mut hist.get())
        });
        return;
    }
    let shape = [partials.len(), 32 * words];
    let partials = s.output::<i32>("partials", &shape, exactly(&partials.concat())).order(&order);
    s.call(move || {
        let out = BitmatrixSumsOut { hist: &mut hist.get(), partials: &mut partials.get() };
        sum_bitmatrix_rows_into(&bits.get(), columns, block, &options, out)
    });
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    for rows in [1, 7, 8, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 1023] {
        for columns in [8, 32, 33, 64, 128, 257, 512, 1500] {
            // Each with some of the others, so that all come.
            let turn = rows + columns;
            let block = [8, 16, 32, 64, 128][turn % 5];
            let size = if turn % 3 > 0 || rows < 130 { Size::Quick } else { Size::Core };
            let spec = Spec::new([rows, columns, if turn % 4 == 0 { 0 } else { block }]);
            specs.push(Spec { size, ..spec });
        }
    }
    for block in [0, 8, 16, 32, 64, 128] {
        for content in [Content::All, Content::None, Content::Column(37)] {
            specs.push(Spec { content, ..Spec::new([200, 70, block]) });
        }
        specs.push(Spec::new([130, 64, block]));
        specs.push(Spec::new([0, 64, block]));
        // Rows in chunks, each in one turn and in several, and words that are not counted.
        let many = Spec { more: 1, by_column: false, ..Spec::new([2600, 40, block]) };
        specs.push(many);
        specs.extend([1, 2].map(|most| Spec { workgroups: Some(most), ..many }));
        let apart = Placement::DENSE.gap(3).shift(1);
        specs.push(Spec { place: apart, ..many });
        specs.push(Spec { place: apart.edge(Edge::End), by_column: true, ..many });
    }
    for size in [[65_536, 256], [40_000, 1500], [33, 32_767]] {
        let [rows, columns] = size;
        specs.extend([0, 32].map(|block| {
            let spec = Spec::new([rows, columns, block]);
            Spec { size: Size::Core, ..spec }
        }));
    }
    specs.into_iter().map(Spec::case).collect()
}
