//! The sanitizer against a corpus of kernels, each in a wrong and a right version.

mod corpus;
mod machine;

use std::sync::Arc;

use corpus::{Case, Version, cases};
use hk_sim::exec::ExecOptions;
use hk_sim::isa::Arch;
use hk_sim::sanitize::{Audit, Checked, Checks, Finding, Kind, Options, Severity, Weakened};
use machine::Code;

const FILES: &[(&str, &str)] = &[
    ("async.s", include_str!("cases/async.s")),
    ("memory.s", include_str!("cases/memory.s")),
    ("lds.s", include_str!("cases/lds.s")),
    ("uninit.s", include_str!("cases/uninit.s")),
    ("race.s", include_str!("cases/race.s")),
    ("race_lds.hip", include_str!("cases/race_lds.hip")),
    ("race_global.s", include_str!("cases/race_global.s")),
    ("race_global.hip", include_str!("cases/race_global.hip")),
    ("scalar_cache.s", include_str!("cases/scalar_cache.s")),
    ("hazards.s", include_str!("cases/hazards.s")),
    ("divergence.s", include_str!("cases/divergence.s")),
    ("index.s", include_str!("cases/index.s")),
    ("float.s", include_str!("cases/float.s")),
    ("modes.s", include_str!("cases/modes.s")),
];

const IN_STEP: u32 = ExecOptions::NEAR_LOCKSTEP;
const PERMUTED: u32 = ExecOptions::PERMUTED;
const FAR_AHEAD: u32 = ExecOptions::FAR_AHEAD;

/// Threads, slices and seeds that every case runs with: no finding depends on the schedule.
const RUNS: [(usize, u32, Option<u64>); 6] = [
    (1, IN_STEP, None),
    (1, FAR_AHEAD, None),
    (1, IN_STEP, Some(1)),
    (1, PERMUTED, Some(2)),
    (1, PERMUTED, Some(3)),
    (4, IN_STEP, None),
];

fn options(case: &Case, (threads, slice, seed): (usize, u32, Option<u64>)) -> Options {
    let sanitize: Checks = case.checks.parse().expect("the case names checks");
    let max_instructions = 1 << 26;
    let exec = ExecOptions { threads, slice, seed, max_instructions, ..Default::default() };
    Options { sanitize, ..exec.into() }
}

fn matches(case: &Case, finding: &Finding) -> bool {
    let (severity, kind, lines) = &case.expected;
    let lines = lines.iter().map(|line| format!("{}:{line}", case.file));
    let at = |source: &Option<String>| lines.clone().any(|line| Some(&line) == source.as_ref());
    (finding.severity, finding.kind) == (*severity, *kind)
        && (at(&finding.source) || finding.other.as_ref().is_some_and(|other| at(&other.source)))
}

/// What is wrong with the result of a version.
fn verdict(case: &Case, version: Version, checked: &Checked) -> Result<(), String> {
    let findings = &checked.findings;
    let list = || findings.iter().map(|finding| format!("\n{finding}")).collect::<String>();
    match version {
        Version::Right if !findings.is_empty() => Err(format!("false alarms:{}", list())),
        Version::Right => match &checked.outcome {
            Ok(_) => Ok(()),
            Err(fault) => Err(format!("fault: {fault}")),
        },
        Version::Wrong if !findings.iter().any(|finding| matches(case, finding)) => {
            Err(format!("expected {:?}, found:{}\n{:?}", case.expected, list(), checked.outcome))
        }
        Version::Wrong => {
            // A race has two sides and a place.
            let bare = |finding: &&Finding| {
                let Finding { kind, other, address, allocation, .. } = finding;
                *kind == Kind::Race
                    && (other.is_none() || address.is_none() || allocation.is_none())
            };
            if let Some(finding) = findings.iter().find(bare) {
                return Err(format!("a race without its place or other side: {finding}"));
            }
            let (severity, kind, _) = case.expected;
            let stray = |finding: &&Finding| {
                let Finding { severity: weight, kind: other, .. } = finding;
                *weight == Severity::Error
                    && (*other != kind || severity == Severity::Note)
                    && !case.also.contains(other)
            };
            match findings.iter().find(stray) {
                Some(finding) => Err(format!("a finding of another kind: {finding}")),
                None => Ok(()),
            }
        }
    }
}

fn check_file(file: &'static str, text: &'static str, arch: Arch) -> Vec<String> {
    let all = cases(file, text);
    let some: Vec<&Case> =
        all.iter().filter(|case| case.arch.is_none_or(|only| only == arch)).collect();
    if some.is_empty() {
        return Vec::new();
    }
    let code = Code::build(file, text, &some, arch);
    let mut wrong = Vec::new();
    for case in some {
        let name = case.name;
        assert!(!case.expected.2.is_empty(), "{name}: the wrong version is reported nowhere");
        for version in [Version::Wrong, Version::Right] {
            for run in RUNS {
                let checked = code.run(case, version, &options(case, run));
                // Which write of a flag a workgroup sees depends on timing if there are several threads,
                // and with it whether the flag happened to order everything.
                let by_chance = run.0 > 1 && case.grid > 1 && version == Version::Wrong;
                if by_chance && checked.findings.is_empty() {
                    continue;
                }
                if let Err(why) = verdict(case, version, &checked) {
                    let name = case.symbol(version);
                    wrong.push(format!("{arch} {name} (threads, slice and seed {run:?}): {why}"));
                    break;
                }
            }
        }
    }
    wrong
}

fn check_all(arch: Arch) {
    let wrong: Vec<String> =
        FILES.iter().flat_map(|(file, text)| check_file(file, text, arch)).collect();
    assert!(wrong.is_empty(), "{} of the runs:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn the_corpus_on_gfx942() {
    check_all(Arch::Gfx942);
}

#[test]
fn the_corpus_on_gfx950() {
    check_all(Arch::Gfx950);
}

/// A kernel with more hazards in its wrong version than are kept, and what must not be lost among
/// them, in a loop of three turns.
fn many_hazards() -> String {
    let hazard = "\
  v_cmp_eq_u32_e64 s[8:9], v2, v3
  v_cndmask_b32_e64 v1, v2, v3, s[8:9]  ;-
";
    format!(
        "\
; case many_hazards args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 1
  s_movk_i32 s10, 3
  s_waitcnt lgkmcnt(0)
@loop:
{}  global_load_dword v4, v0, s[4:5]
  s_waitcnt vmcnt(0)                    ;+
  v_add_u32_e32 v4, 1, v4               ;!async
  s_waitcnt vmcnt(0)
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 @loop
  global_store_dword v0, v4, s[6:7]
",
        hazard.repeat(120)
    )
}

#[test]
fn findings_are_counted_and_no_kind_hides_another() {
    let (file, text) = ("merged.s", &*many_hazards().leak());
    let all = cases(file, text);
    let some: Vec<&Case> = all.iter().collect();
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let code = Code::build(file, text, &some, arch);
        let run = |version| code.run(some[0], version, &options(some[0], RUNS[0])).findings;
        let findings = run(Version::Wrong);
        let of = |kind| findings.iter().filter(move |finding| finding.kind == kind);
        assert_eq!((of(Kind::Hazard).count(), of(Kind::Async).count()), (100, 1));
        assert_eq!((findings.len(), findings[0].kind), (101, Kind::Async), "hazards come last");
        assert!(findings.iter().all(|finding| finding.count == 3), "{findings:?}");
        assert_eq!(run(Version::Right), []);
    }
}

/// Cases whose right version has a wait or a barrier that orders nothing.
const NEEDLESS: (&str, &str) = ("needless.s", include_str!("cases/needless.s"));

/// Audits the wait or barrier that alone sets right versions apart; returns how many there were.
fn audit_file(file: &'static str, text: &'static str, arch: Arch, needed: bool) -> usize {
    let all = cases(file, text);
    let here = |case: &&Case| case.arch.is_none_or(|only| only == arch);
    let some: Vec<&Case> =
        all.iter().filter(here).filter(|case| case.missing_order(text).is_some()).collect();
    if some.is_empty() {
        return 0;
    }
    let code = Code::build(file, text, &some, arch);
    for case in &some {
        let (line, order) = case.missing_order(text).expect("only such cases were kept");
        let weakened = match order.starts_with("s_barrier") {
            true => Weakened::Barrier,
            false => Weakened::Wait { vector: None, lgkm: None },
        };
        let symbol = case.symbol(Version::Right);
        let offset = code.offset(case, line).expect("the line has code");
        let audit = Arc::new(Audit::new(&symbol, offset, weakened));
        let options = Options { audit: Some(Arc::clone(&audit)), ..Default::default() };
        let checked = code.run(case, Version::Right, &options);
        assert!(checked.outcome.is_ok(), "{symbol}: {:?}", checked.outcome);
        let verdict = audit.verdict();
        assert!(verdict.executed > 0, "{arch} {symbol}: {order} was not executed");
        assert_eq!(verdict.needed.is_some(), needed, "{arch} {symbol}: {order}: {verdict:?}");
    }
    some.len()
}

#[test]
fn an_audit_proves_no_needed_order_needless() {
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let count: usize =
            FILES.iter().map(|(file, text)| audit_file(file, text, arch, true)).sum();
        assert!(count >= 15, "only {count} cases are about one wait or barrier");
    }
}

#[test]
fn an_audit_proves_needless_order_needless() {
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        assert_eq!(audit_file(NEEDLESS.0, NEEDLESS.1, arch, false), 6);
    }
}
