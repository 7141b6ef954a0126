//! What a tile is like in LDS.

use crate::gpu::Program;
use crate::svg::{Anchor, Cells, HUES, Picture};

/// Says of an operand of a product what its image in LDS holds, and where a wave's first read of it goes.
pub(crate) const SOURCE: &str = r"
template <class X>
__device__ void describe(u32* out, const char* image, int threads) {
  using access = typename X::read_access;
  const u32 thread = thread_idx().x;
  if (thread == 0) {
    out[0] = X::line_bytes;
    out[1] = access::banks;
    out[2] = access::bytes;
  }
  if (thread < wave_size) {
    out[3 + thread] = X::read_address(thread, 0);
    out[3 + wave_size + thread] = access::phase_of(thread);
  }
  for (int i = thread; i < X::slot_bytes / 2; i += threads) {
    out[3 + 2 * wave_size + i] = reinterpret_cast<const u16*>(image)[i];
  }
}
";

const LANES: usize = 64;

/// What a kernel said with `describe`.
pub(crate) struct Image {
    pub(crate) line_bytes: usize,
    pub(crate) banks: usize,
    /// Bytes that a lane reads at once.
    bytes: usize,
    /// The lanes' addresses, and which of them are served together.
    addresses: Vec<usize>,
    phases: Vec<u32>,
    /// The numbers of the elements.
    elements: Vec<u32>,
}

impl Image {
    /// Of an operand of so many elements.
    pub(crate) fn of(program: &Program, kernel: &str, threads: u32, elements: usize) -> Self {
        let said = program.say(kernel, threads, 3 + 2 * LANES + elements);
        let [line_bytes, banks, bytes] = [0, 1, 2].map(|i| said[i] as usize);
        let addresses = said[3..][..LANES].iter().map(|x| *x as usize).collect();
        let phases = said[3 + LANES..][..LANES].to_vec();
        let elements = said[3 + 2 * LANES..].to_vec();
        Self { line_bytes, banks, bytes, addresses, phases, elements }
    }

    /// Where element number `n` is, in bytes.
    fn address(&self, n: usize) -> usize {
        let at = self.elements.iter().position(|x| *x as usize == n);
        2 * at.unwrap_or_else(|| panic!("element {n} is not in LDS"))
    }

    /// Numbers of the elements that lanes of the first phase read.
    fn read_together(&self) -> Vec<usize> {
        let lanes = self.addresses.iter().zip(&self.phases).filter(|(_, phase)| **phase == 0);
        let elements = lanes.flat_map(|(at, _)| &self.elements[at / 2..][..self.bytes / 2]);
        elements.map(|n| *n as usize).collect()
    }

    /// Lanes of the first phase.
    pub(crate) fn lanes_together(&self) -> usize {
        self.phases.iter().filter(|phase| **phase == 0).count()
    }

    /// Draws `lines` lines of 16-byte chunks, each in the colour of its banks: where it is, or where it
    /// would be without the swizzle. `number` is that of an element in a line. What is read together is
    /// framed.
    pub(crate) fn draw(
        &self,
        picture: &mut Picture,
        [x, y]: [f64; 2],
        [width, height]: [f64; 2],
        lines: usize,
        number: impl Fn(usize, usize) -> usize,
        is_swizzled: bool,
    ) {
        let together = self.read_together();
        let (mut frames, mut cells) = (Vec::new(), Cells::default());
        for line in 0..lines {
            for chunk in 0..self.line_bytes / 16 {
                let first = number(line, chunk * 8);
                let plain = line * self.line_bytes + chunk * 16;
                let at = if is_swizzled { self.address(first) } else { plain };
                let bank = at / 4 % self.banks;
                let cell = [x + chunk as f64 * width, y + line as f64 * height, width, height];
                if width > 16.0 {
                    cells.cell(cell, HUES[bank / 4], bank);
                } else {
                    cells.fill(cell, HUES[bank / 4]);
                }
                let part = self.bytes / 2;
                for begin in (0..8).step_by(part) {
                    if together.contains(&number(line, chunk * 8 + begin)) {
                        let share = width * part as f64 / 8.0;
                        let left = cell[0] + width * begin as f64 / 8.0;
                        frames.push([left + 0.8, cell[1] + 0.8, share - 1.6, height - 1.6]);
                    }
                }
            }
            if line % 4 == 0 {
                let at = [x - 6.0, y + line as f64 * height + height / 2.0 + 3.0];
                picture.text(at, Anchor::End, "note", line);
            }
        }
        picture.cells(cells);
        for frame in frames {
            picture.rect(frame, "edge");
        }
    }
}
