//! Why code that no case tells apart is right: data of the kernel crates.
//!
//! A crate's `src/parity/reasons.toml` has a table per reason, `[[coverage]]` for code that is not
//! executed, `[[values]]` for altered instructions that no case notices. It speaks of every place
//! whose core is `core`, or one of these, at which, or at a call around which, a line of `file` contains `line`,
//! whose operation contains `op`, and where `what` is part of what is missing, or of the change;
//! `op` and `what` may be absent. With `under`, one of the calls around that line contains it too:
//! one of several users of a function of a header. Lines are named by their text, so that a reason stays with its
//! line when others move it, and ends when the line is changed. A table of `[[values]]` may have
//! `proof` in place of `reason`: why no result of any call can differ.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cores::Place;

/// The reasons of a crate.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reasons {
    /// Code that is not executed, or branches that go one way.
    pub(crate) coverage: Vec<Reason>,
    /// Altered instructions that are not noticed.
    pub(crate) values: Vec<Reason>,
}

/// A reason, and what it speaks of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reason {
    core: OneOrMore,
    file: String,
    line: String,
    #[serde(default)]
    under: String,
    #[serde(default)]
    op: String,
    #[serde(default)]
    what: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    proof: String,
    #[serde(skip)]
    used: Cell<bool>,
}

/// Names of cores.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn has(&self, core: &str) -> bool {
        match self {
            Self::One(name) => name == core,
            Self::More(names) => names.iter().any(|name| name == core),
        }
    }
}

impl Reasons {
    /// The reasons in the text of a file.
    ///
    /// # Errors
    /// A message that names the crate.
    pub(crate) fn parse(package: &str, text: &str) -> Result<Self, String> {
        let error = |what: &dyn Display| format!("reasons.toml of {package}: {what}");
        let all: Self = toml::from_str(text).map_err(|problem| error(&problem))?;
        let unclear = |of: &&Reason| of.reason.is_empty() != of.is_proof();
        let unreasoned = |of: &&Reason| of.reason.is_empty() || of.is_proof();
        let wrong = all.values.iter().find(unclear).or(all.coverage.iter().find(unreasoned));
        match wrong {
            Some(Reason { file, line, .. }) => {
                let rule = "a table has a `reason`, or of `[[values]]` a `proof`";
                Err(error(&format_args!("{file}: `{line}`: {rule}")))
            }
            None => Ok(all),
        }
    }
}

impl Reason {
    /// The first of the reasons that speaks of a place and of all that is said of it.
    pub(crate) fn find<'r>(
        all: &'r [Self],
        sources: &Sources,
        core: &str,
        place: &Place,
        what: &[impl AsRef<str>],
    ) -> Option<&'r Self> {
        let covers = |reason: &Self| what.iter().all(|what| reason.covers(what.as_ref()));
        let speaks = |reason: &&Self| covers(reason) && reason.is_about(sources, core, place);
        let reason = all.iter().find(speaks)?;
        reason.used.set(true);
        Some(reason)
    }

    /// Whether it proves that no result of any call can differ.
    pub(crate) const fn is_proof(&self) -> bool {
        !self.proof.is_empty()
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        if self.is_proof() { &self.proof } else { &self.reason }
    }

    /// Whether it speaks of this, if it is said of a place that the reason is about.
    pub(crate) fn covers(&self, what: &str) -> bool {
        what.contains(&self.what)
    }

    /// Whether it speaks of a place of a core.
    pub(crate) fn is_about(&self, sources: &Sources, core: &str, place: &Place) -> bool {
        type Line = (String, u32, u32);
        let has = |(file, line, _): &Line, part: &str| {
            sources.line(file, *line).is_some_and(|text| text.contains(part))
        };
        let is_under = |around: &[Line]| {
            self.under.is_empty() || around.iter().any(|call| has(call, &self.under))
        };
        // From the instruction's own line to the outermost call.
        let mut lines = place.lines.iter().enumerate();
        let at = |(i, line): (usize, &Line)| {
            line.0 == self.file && has(line, &self.line) && is_under(&place.lines[i + 1..])
        };
        self.core.has(core) && place.op.contains(&self.op) && lines.any(at)
    }

    /// Names the reasons about a core that speak of nothing any more, on standard error; returns how
    /// many there are.
    pub(crate) fn complain(all: &[Self], core: &str, stale: impl Fn(&Self) -> bool) -> usize {
        let stale = all.iter().filter(|reason| reason.core.has(core) && stale(reason));
        let complaints = stale.map(|of| {
            let (Self { file, line, .. }, text) = (of, of.text());
            eprintln!("hipkittens: a reason of {core} speaks of nothing: {file}: `{line}`: {text}");
        });
        complaints.count()
    }

    /// Whether [`find`](Self::find) has not found it yet.
    pub(crate) fn is_idle(&self) -> bool {
        !self.used.get()
    }
}

/// The source files of a crate's kernels, read from the repository that this program was built in.
pub(crate) struct Sources {
    folders: Vec<PathBuf>,
    files: RefCell<HashMap<String, Vec<String>>>,
}

impl Sources {
    /// Those of a crate.
    pub(crate) fn new(package: &str) -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        Self::of_folders([workspace.join(package), workspace.join("hk-core/include")])
    }

    /// Files of folders, the first that has them.
    pub(crate) fn of_folders(folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let folders = folders.into_iter().map(Into::into).collect();
        Self { folders, files: RefCell::default() }
    }

    /// A line of a file, without the blanks around it; nothing if the file is not there.
    pub(crate) fn line(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry(file.to_owned()).or_insert_with(|| {
            let text = self.folders.iter().find_map(|of| fs::read_to_string(of.join(file)).ok());
            text.unwrap_or_default().lines().map(|line| line.trim().to_owned()).collect()
        });
        lines.get((line as usize).checked_sub(1)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_one_thing() {
        let text = |kind, says| {
            format!("[[{kind}]]\ncore = \"of\"\nfile = \"a.h\"\nline = \"x\"\n{says}\n")
        };
        let (reason, proof) = ("reason = \"r\"", "proof = \"p\"");
        for kind in ["coverage", "values"] {
            assert!(Reasons::parse("hk", &text(kind, reason)).is_ok(), "{kind}");
        }
        let all = Reasons::parse("hk", &text("values", proof)).expect("a proof");
        assert!(all.values[0].is_proof() && all.values[0].text() == "p");
        let both = format!("{reason}\n{proof}");
        for (kind, says) in
            [("coverage", proof), ("coverage", ""), ("values", &both), ("values", "")]
        {
            let error = Reasons::parse("hk", &text(kind, says)).expect_err(kind);
            assert!(error.starts_with("reasons.toml of hk: a.h: `x`: "), "{error}");
        }
    }
    #[test]
    fn a_table_is_about_one_user_of_a_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "fold(x);\nfirst(x);\nsecond(x);\n";
        fs::write(folder.path().join("a.h"), text).expect("a file");
        let sources = Sources::of_folders([folder.path()]);
        let of = |under| {
            let text = "core = \"of\"\nfile = \"a.h\"\nline = \"fold\"\nreason = \"r\"\n";
            let all = Reasons::parse("hk", &format!("[[values]]\n{text}under = \"{under}\"\n"));
            let [reason] = <[Reason; 1]>::try_from(all.expect("a reason").values).expect("one");
            let about = |lines: [u32; 2]| {
                let lines = lines.map(|line| ("a.h".to_owned(), line, 1)).into();
                reason.is_about(&sources, "of", &Place { lines, op: "v_add_f32" })
            };
            [[1, 2], [1, 3], [2, 1]].map(about)
        };
        assert_eq!(of(""), [true, true, true]);
        assert_eq!(of("first"), [true, false, false]);
        assert_eq!(of("fold"), [false, false, false]);
    }
}
