//! Classes of instructions.

use serde::Serialize;

use crate::isa::{Format, Inst, Op};
use crate::object::Placed;

macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $field:ident,)*) => {
        /// What executes an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Class {
            $($(#[$doc])* $class,)*
        }

        /// Instructions of each class.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Classes {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Classes {
            /// Counts an instruction.
            pub fn count(&mut self, class: Class) {
                match class {
                    $(Class::$class => self.$field += 1,)*
                }
            }

            /// Adds other instructions.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)*
            }

            /// Instructions of all classes.
            pub fn total(&self) -> u64 {
                0 $(+ self.$field)*
            }
        }
    };
}

classes! {
    /// Scalar ALU.
    Scalar scalar,
    /// Branches, also those that are not taken.
    Branch branch,
    /// `s_waitcnt`.
    Wait wait,
    /// `s_barrier`.
    Barrier barrier,
    /// The rest of what only controls a wave, such as `s_nop` and `s_endpgm`.
    Control control,
    /// Scalar memory.
    ScalarMemory scalar_memory,
    /// Vector ALU.
    Vector vector,
    /// Matrix units.
    Matrix matrix,
    /// LDS, and the permutes that use its crossbar.
    Lds lds,
    /// Vector memory: loads to LDS and private memory too.
    VectorMemory vector_memory,
}

impl Classes {
    /// The instructions of a function, however often each is executed.
    pub fn of_code(code: &[Placed]) -> Self {
        let mut classes = Self::default();
        code.iter().for_each(|placed| classes.count(Class::of(&placed.inst)));
        classes
    }
}

impl Class {
    /// Class of an instruction.
    pub fn of(inst: &Inst) -> Self {
        let base = inst.info.base();
        match inst.info.format {
            _ if inst.is_matrix() => Self::Matrix,
            _ if base.starts_with("s_cbranch") || base.starts_with("s_branch") => Self::Branch,
            _ if matches!(inst.info.op, Op::s_setpc_b64 | Op::s_swappc_b64 | Op::s_call_b64) => {
                Self::Branch
            }
            Format::Sopp => match inst.info.op {
                Op::s_waitcnt => Self::Wait,
                Op::s_barrier => Self::Barrier,
                _ => Self::Control,
            },
            Format::Smem => Self::ScalarMemory,
            Format::Ds => Self::Lds,
            Format::Flat | Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf => {
                Self::VectorMemory
            }
            format if format.is_vector() => Self::Vector,
            _ => Self::Scalar,
        }
    }
}
