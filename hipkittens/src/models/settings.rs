//! Files of settings, in JSON.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::ModelError;

/// What a file of JSON holds.
pub(super) fn read_json(file: &Path) -> Result<Value, ModelError> {
    let text =
        fs::read(file).map_err(|source| ModelError::Read { file: file.to_owned(), source })?;
    serde_json::from_slice(&text).map_err(|error| {
        let what = format!("no JSON: {error}");
        ModelError::Format { file: file.to_owned(), what }
    })
}

/// An object of JSON in a file.
#[derive(Debug)]
pub(super) struct Settings {
    file: PathBuf,
    value: Value,
}

impl Settings {
    pub(super) fn read(file: &Path) -> Result<Self, ModelError> {
        let (file, value) = (file.to_owned(), read_json(file)?);
        match value {
            Value::Object(_) => Ok(Self { file, value }),
            _ => Err(ModelError::Format { file, what: "no object of JSON".into() }),
        }
    }

    /// As [`read`](Self::read), of a file that need not be there.
    pub(super) fn read_if_there(file: &Path) -> Result<Option<Self>, ModelError> {
        if file.exists() { Self::read(file).map(Some) } else { Ok(None) }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.value.get(key)
    }

    /// Requires a setting to be that, if it is there.
    pub(super) fn require(
        &self,
        key: &'static str,
        wanted: impl Into<Value>,
    ) -> Result<(), ModelError> {
        let wanted = wanted.into();
        match self.get(key) {
            Some(value) if *value != wanted => Err(self.wrong(key, wanted)),
            _ => Ok(()),
        }
    }

    /// A number of things, of which there is at least one.
    pub(super) fn count(&self, key: &'static str) -> Result<usize, ModelError> {
        let count = self.get(key).and_then(Value::as_u64).and_then(|n| i32::try_from(n).ok());
        let count = count.filter(|count| *count > 0).map(|count| count as usize);
        count.ok_or_else(|| self.wrong(key, "an integer from 1 to 2^31 - 1"))
    }

    /// The error that a setting is not what it must be.
    pub(super) fn wrong(&self, key: &'static str, expected: impl Display) -> ModelError {
        let got = self.get(key).map_or_else(|| "nothing".into(), Value::to_string);
        ModelError::Setting { file: self.file.clone(), key, expected: expected.to_string(), got }
    }
}
