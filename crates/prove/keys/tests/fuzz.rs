//! The fuzz targets of `fuzz/`, run for a bounded number of inputs: every file of their corpora,
//! then mutations of these by a seed. `scripts/fuzz` runs the same targets with coverage where a
//! nightly compiler is there.
//!
//! `BARTIZAN_FUZZ_ROUNDS` sets the number of mutations per target, `BARTIZAN_FUZZ_SEED` where they begin.

#[path = "../../../../fuzz/src/targets/mod.rs"]
// In `fuzz/` it is the crate's interface.
#[allow(unreachable_pub)]
mod targets;

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Mutations per target, unless said otherwise: a few seconds for all targets together, unoptimised.
const ROUNDS: u64 = 400;
/// Longest input that is mutated; longer ones are read as they are.
const LONGEST: usize = 1 << 14;

fn folder(place: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..").join(place)
}

/// The files of a target's corpus, by name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let place = folder("fuzz/corpus").join(target);
    // Captures whose evidence is not valid are inputs of the whole as well.
    let invalid = (target == "inspect").then(|| folder("crates/prove/inspect/tests/data"));
    let entries = |place: &PathBuf| fs::read_dir(place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
    let mut files: Vec<_> = entries(&place)
        .chain(invalid.iter().flat_map(entries))
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .path()
                .extension()
                .is_none_or(|ending| ending != "md")
        })
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds nothing to begin with", place.display());
    files
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// One change of the kinds that break readers: a bit, a byte or length of an extreme, a cut, a
    /// piece twice, gone, or from another input.
    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        const EXTREMES: [&[u8]; 8] = [
            &[0],
            &[0xff],
            &[0x7f],
            &[0x80],
            &[0, 0],
            &[0xff, 0xff],
            &[0x3f, 0xff],
            &[0; 4],
        ];
        let at = self.below(bytes.len());
        match self.below(8) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            2 | 3 if !bytes.is_empty() => {
                let extreme = EXTREMES[self.below(EXTREMES.len())];
                let end = (at + extreme.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&extreme[..end - at]);
            }
            4 => bytes.truncate(at),
            5 => {
                let length = self.below(200.min(bytes.len() - at));
                bytes.drain(at..at + length);
            }
            6 => {
                let length = self.below(200.min(bytes.len() - at));
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let from = self.below(other.len());
                let length = self.below(300.min(other.len() - from));
                let piece = other[from..from + length].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    let set = env::var(name).ok();
    set.map_or(default, |value| {
        value.parse().unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

/// Runs a target; an input that breaks it is printed, as a new file for its corpus.
fn survives(target: &str, bytes: &[u8], what: &str) {
    if catch_unwind(AssertUnwindSafe(|| targets::run(target, bytes))).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("{target} breaks on {what}:\n{hex}");
    }
}

fn fuzz(target: &str) {
    let mut files = corpus(target);
    if matches!(target, "capture" | "inspect") {
        // The recordings of this tree are a corpus of captures, too long to be mutated whole: their beginnings are.
        for entry in fs::read_dir(folder("crates/prove/wire/tests/data")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "pcap") {
                let bytes = fs::read(&path).unwrap();
                files.push((
                    path.display().to_string(),
                    bytes[..bytes.len().min(LONGEST / 2)].to_vec(),
                ));
            }
        }
    }
    for (name, bytes) in &files {
        survives(target, bytes, name);
    }
    let (rounds, seed) = (number("BARTIZAN_FUZZ_ROUNDS", ROUNDS), number("BARTIZAN_FUZZ_SEED", 1));
    for round in 0..rounds {
        let mut chance = Chance(seed.wrapping_mul(1 << 32) + round);
        let (name, bytes) = &files[chance.below(files.len())];
        let (_, other) = &files[chance.below(files.len())];
        let mut bytes = bytes.clone();
        for _ in 0..=chance.below(6) {
            chance.change(&mut bytes, other);
            bytes.truncate(LONGEST);
        }
        survives(target, &bytes, &format!("mutation {round} of {name}, seed {seed}"));
    }
}

/// A corpus that opens nothing would leave most of its target unread.
#[test]
fn keys_in_the_corpora_open_what_is_next_to_them() {
    for (name, bytes) in corpus("secrets") {
        assert!(targets::opened_by_secrets(&bytes) > 0, "{name}");
    }
    for (name, bytes) in corpus("ike_keys") {
        assert!(targets::opened_by_ike_keys(&bytes) > 0, "{name}");
    }
}

#[test]
fn the_corpus_of_http2_holds_messages_with_bodies() {
    let (heads, bytes) = corpus("connection").iter().fold((0, 0), |(heads, bytes), (_, file)| {
        let (more, body) = targets::messages_of_http2(file);
        (heads + more, bytes + body)
    });
    assert!(heads > 3 && bytes > 60, "{heads} heads, {bytes} bytes");
}

#[test]
fn the_corpus_of_http1_holds_messages_with_bodies() {
    let (messages, bytes) = corpus("http1_proxy")
        .iter()
        .fold((0, 0), |(messages, bytes), (_, file)| {
            let (more, body) = targets::messages_of_http1(file);
            (messages + more, bytes + body)
        });
    assert!(messages > 8 && bytes > 25, "{messages} messages, {bytes} bytes");
}

#[test]
fn the_corpus_of_the_engine_replaces_sas() {
    let replaced: usize = corpus("engine")
        .iter()
        .map(|(_, file)| targets::replaced_by_engine(file))
        .sum();
    assert!(replaced > 6, "{replaced}");
}

macro_rules! survive_any_bytes {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                fuzz(stringify!($name));
            }
        )*

        #[test]
        fn every_target_is_run_and_has_a_corpus_and_a_fuzzer() {
            let run = [$(stringify!($name)),*];
            let all: Vec<&str> = targets::ALL.iter().map(|(name, _)| *name).collect();
            assert_eq!(run.as_slice(), all.as_slice());
            for name in all {
                let file = folder("fuzz/fuzz_targets").join(format!("{name}.rs"));
                let text = fs::read_to_string(&file).unwrap();
                assert!(text.contains(&format!("\"{name}\"")), "{}", file.display());
            }
        }
    };
}

survive_any_bytes!(capture packet timing segments fragments tls http2 http1 ssh proxy hello ike esp sctp datagrams key_log ike_keys engine secrets
    connection http1_proxy links inspect ledgers deployment);
