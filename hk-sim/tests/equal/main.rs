//! Proofs that an alteration changes nothing: each kind of proof with an alteration that it is for
//! and one that is almost like it, but changes something.
//!
//! The examples stand in the texts beside this file, an empty line between two: code, but for the
//! `s_endpgm` that ends all of it, and below one line what may stand in its place, behind `=` if that is
//! proved equal, behind `!` if it is not.

use hk_sim::equal::{Entry, is_equal};
use hk_sim::isa::{Arch, decode};

#[path = "../support/assembled.rs"]
mod assembled;

const ENTRY: Entry = Entry { threads: 256, group: Some(40) };
const ARCH: Arch = Arch::Gfx950;

fn check(examples: &str) {
    for example in examples.split("\n\n") {
        let (mut code, mut altered) = (Vec::new(), Vec::new());
        for text in example.lines().map(str::trim) {
            match text.split_once(' ') {
                Some(("//", _)) => {}
                Some(("=", text)) => altered.push((code.len() - 1, text, true)),
                Some(("!", text)) => altered.push((code.len() - 1, text, false)),
                _ => code.push(text),
            }
        }
        code.push("s_endpgm");
        assert!(!altered.is_empty(), "nothing is altered in {example}");
        let texts = altered.iter().map(|(_, text, _)| *text);
        let lines: Vec<&str> = code.iter().copied().chain(texts).collect();
        let words = assembled::words(&lines, ARCH);
        let (of_code, of_altered) = words.split_at(code.len());
        let placed = assembled::placed(of_code, ARCH);
        for ((line, text, equal), words) in altered.into_iter().zip(of_altered) {
            let inst = decode(ARCH, words).expect("it decodes");
            let proved = is_equal(&placed, ENTRY, &[(placed[line].offset, &inst)]);
            assert_eq!(proved, equal, "{} -> {text} of {example}", code[line]);
        }
    }
}

/// What later instructions take of results.
#[test]
fn what_is_not_demanded_may_differ() {
    check(include_str!("demand.txt"));
}

/// Which lanes execute, and which hold the same.
#[test]
fn what_no_lane_has_may_differ() {
    check(include_str!("lanes.txt"));
}

/// What is known of values, and what operations make of them.
#[test]
fn what_is_known_is_the_same() {
    check(include_str!("bits.txt"));
}
