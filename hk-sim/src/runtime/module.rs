//! Loaded code objects.

use std::sync::{Arc, OnceLock};

use super::error::{HipError, HipResult};
use super::{memory, set_message};
use crate::exec::{CodeSection, Program};
use crate::mem::{RegionKind, Request};
use crate::object::{CodeObject, Kernel, LoadError, bundle};
use crate::product::Product;
use crate::sanitize::FactTable;

/// A code object in the memory of a device.
pub(crate) struct Module {
    pub(crate) device: usize,
    pub(crate) object: CodeObject,
    /// Address of virtual address 0 of the object.
    pub(crate) base: u64,
    pub(crate) program: Arc<Program>,
    /// What the sanitizer knows of its instructions.
    pub(crate) facts: Arc<OnceLock<FactTable>>,
}

impl Module {
    /// Loads an ELF object or the fitting entry of a bundle.
    pub(crate) fn load(device: usize, product: &'static Product, bytes: &[u8]) -> HipResult<Self> {
        let object = bundle::select(bytes, product.arch)
            .and_then(|code| CodeObject::parse(&code))
            .map_err(|error| refuse(&error))?;
        if !object.target().runs_on(product.arch) {
            set_message(format!("code for {} does not run on {}", object.target(), product.arch));
            return Err(HipError::NO_BINARY_FOR_GPU);
        }
        let request = Request {
            len: object.image_size().max(1),
            kind: RegionKind::Code,
            device,
            flags: 0,
            managed: false,
        };
        let out_of_memory = |_| HipError::OUT_OF_MEMORY;
        let base = memory().allocate(request, product.memory_bytes).map_err(out_of_memory)?;
        let image = match object.image(base) {
            Ok(image) => image,
            Err(error) => {
                memory().free(base).expect("it was allocated just now");
                return Err(refuse(&error));
            }
        };
        // SAFETY: the allocation has image_size() bytes at least, and nobody else knows it yet.
        unsafe {
            std::ptr::with_exposed_provenance_mut::<u8>(base as usize)
                .copy_from_nonoverlapping(image.as_ptr(), image.len());
        }
        let sections = object.text().map(|range| CodeSection {
            address: base + range.start,
            words: image[range.start as usize..range.end as usize]
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect(),
        });
        let program = Arc::new(Program::new(product.arch, sections.collect()));
        Ok(Self { device, object, base, program, facts: Arc::default() })
    }

    /// Function handle contents for the kernel of that name.
    pub(crate) fn function(self: &Arc<Self>, name: &str) -> Option<Function> {
        let kernels = self.object.kernels();
        let index = kernels.iter().position(|kernel| kernel.name == name)?;
        Some(Function { module: Arc::clone(self), index })
    }

    /// Address and size of a global variable.
    pub(crate) fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let variable = self.object.variable(name)?;
        Some((self.base + variable.vaddr, variable.size))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        memory().free(self.base).expect("the module alone frees its image");
    }
}

/// A kernel of a loaded module.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) module: Arc<Module>,
    index: usize,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.module, &other.module) && self.index == other.index
    }
}

impl Function {
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.module.object.kernels()[self.index]
    }

    pub(crate) fn entry(&self) -> u64 {
        self.module.base + self.kernel().entry_vaddr
    }
}

/// The HIP error for an image that does not load; the reason is kept for the caller.
fn refuse(error: &LoadError) -> HipError {
    set_message(error.to_string());
    match error {
        LoadError::Processor { .. } | LoadError::NoEntry { .. } | LoadError::Version { .. } => {
            HipError::NO_BINARY_FOR_GPU
        }
        LoadError::UndefinedSymbol(_) => HipError::SHARED_OBJECT_SYMBOL_NOT_FOUND,
        LoadError::TooLarge { .. } => HipError::OUT_OF_MEMORY,
        _ => HipError::INVALID_IMAGE,
    }
}
