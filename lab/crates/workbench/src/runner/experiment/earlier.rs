//! Texts that an experiment's file had before: one that was only reworded since keeps its records.
//!
//! A record names its experiment by the digest of the file. `scripts/measure keep` puts that file,
//! packed, next to the records (`files/RUN.yaml.gz`), so that a later text can be compared with
//! what was measured.

use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::collection::LARGEST;
use super::{Experiment, Part};

/// The folder of an experiment that has the files its records were made from.
const FILES: &str = "files";

/// Digests of those kept files that ask for the trials of `now`. A text that is refused today, or
/// asks for others, has none.
pub(super) fn digests(folder: &Path, now: &Experiment) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder.join(FILES)) else {
        return Vec::new();
    };
    let mut digests: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let then = Experiment::parse(&text(&path)?, &path).ok()?;
            (then.digest != now.digest && asks_the_same(&then, now)).then_some(then.digest)
        })
        .collect();
    digests.sort_unstable();
    digests.dedup();
    digests
}

fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let mut plain = GzDecoder::new(BufReader::new(File::open(path).ok()?)).take(LARGEST);
    plain.read_to_string(&mut text).ok()?;
    Some(text)
}

/// True if both have the same trials. Sentences, comparisons and plots only describe their results.
fn asks_the_same(one: &Experiment, other: &Experiment) -> bool {
    one.id == other.id
        && one.parts.len() == other.parts.len()
        && one
            .parts
            .iter()
            .zip(&other.parts)
            .all(|(one, other)| same_trials(one, other))
}

fn same_trials(one: &Part, other: &Part) -> bool {
    one.id == other.id
        && one.workload.name == other.workload.name
        && one.factors == other.factors
        && one.combinations == other.combinations
        && one.parameters == other.parameters
        && (one.repetitions, one.warm_up, one.bound) == (other.repetitions, other.warm_up, other.bound)
        && one.metrics == other.metrics
        && one.controls == other.controls
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::*;
    use crate::runner::experiment::Collection;

    const TEXT: &str = "id: small\ntitle: Small\nquestion: Does it pass bare?\ninvalid: [Nothing.]\nparts:\n  - { id: one, workload: body, \
        factors: [ { name: path, levels: [direct, splice] }, { name: bytes, levels: [\"1024\"] } ], \
        parameters: { requests: 4, streams: 1 }, repetitions: 2, quick: { repetitions: 1 }, bound: 30, metrics: [latency] }\n";

    fn keep(folder: &Path, name: &str, text: &[u8]) {
        fs::create_dir_all(folder.join(FILES)).unwrap();
        let mut packed = GzEncoder::new(
            File::create(folder.join(FILES).join(name)).unwrap(),
            Compression::best(),
        );
        packed.write_all(text).unwrap();
        packed.finish().unwrap();
    }

    #[test]
    fn records_of_a_reworded_file_are_its_own_and_those_of_other_trials_are_not() {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("small");
        fs::create_dir(&folder).unwrap();
        let now = TEXT.replace("bare", "unencrypted");
        fs::write(folder.join("experiment.yaml"), &now).unwrap();
        let more = TEXT.replace("repetitions: 2", "repetitions: 3");
        let wider = TEXT.replace("[direct, splice]", "[direct, splice, http2]");
        let renamed = TEXT.replace("name: path", "name: way");
        for (name, text) in [
            ("a", TEXT),
            ("b", &more),
            ("c", &wider),
            ("d", &renamed),
            ("e", "\0"),
            ("f", &now),
        ] {
            keep(&folder, name, text.as_bytes());
        }
        fs::write(folder.join(FILES).join("g"), "not packed").unwrap();

        let experiment = Collection::Folder(all.path().to_owned())
            .load("small")
            .unwrap()
            .experiment;

        let digest = |text: &str| Experiment::parse(text, Path::new("x")).unwrap().digest;
        assert_eq!(experiment.earlier, [digest(TEXT)]);
        assert!(experiment.is_of(&digest(TEXT)) && experiment.is_of(&digest(&now)));
        assert!(!experiment.is_of(&digest(&more)) && !experiment.is_of(&digest(&wider)));
    }
}
