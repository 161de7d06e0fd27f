//! Kernel of each part's trials, and combinations that no kernel can run.

use std::collections::BTreeSet;

use bartizan_host::Feature;
use bartizan_testing::{Guest, GuestKernel, Progress};

use crate::runner::experiment::{Levels, Part};
use crate::runner::run::{Observer, RunError, floor};
use crate::runner::trial::{KernelChoice, LeftOut};
use crate::stand_in::proxies::Tools;
use crate::workload::Lack;

/// Kernel of each part, by the choice.
#[derive(Debug)]
pub(super) struct Placed {
    guest: Option<Guest>,
    /// Ids of the parts that run on it.
    parts: BTreeSet<String>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Placed {
    /// The guest of a part; `None` when it runs on this machine's kernel.
    pub(super) fn guest(&self, part: &Part) -> Option<&Guest> {
        self.guest.as_ref().filter(|_| self.parts.contains(&part.id))
    }
}

/// Decides for each part, as a whole: what is compared runs on one kernel. Says each lack once.
pub(super) fn place(
    parts: &[Part],
    tools: &Tools,
    choice: KernelChoice,
    observer: &mut dyn Observer,
) -> Result<Placed, RunError> {
    let mut lacks = Vec::new();
    for part in parts {
        let lacking = part.combinations.iter();
        lacks.extend(lacking.filter_map(|levels| Some((part, levels, (part.workload.lacks)(levels, tools)?))));
    }
    let wanted = wanted(
        parts,
        &lacks.iter().map(|(part, _, lack)| (*part, lack)).collect::<Vec<_>>(),
        choice,
    );
    let guest = match wanted.is_empty() {
        true => None,
        false => match guest(&lacks, observer) {
            Err(error) if choice == KernelChoice::Auto => {
                observer.note(&format!("no guest kernel for what this machine's lacks: {error}"));
                None
            }
            guest => Some(guest?),
        },
    };
    if let Some(guest) = &guest {
        let parts: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let (parts, release) = (parts.join(", "), guest.release());
        observer.note(&format!(
            "on a guest's kernel, Linux {release}: {parts}; speeds there are not this machine's"
        ));
    }
    let (mut left_out, mut said) = (Vec::new(), BTreeSet::new());
    for (part, levels, lack) in lacks {
        if lack.feature.is_some() && guest.is_some() && wanted.contains(&part.id) {
            continue;
        }
        if said.insert(lack.what.clone()) {
            observer.left_out(&lack);
        }
        left_out.push(LeftOut {
            part: part.id.clone(),
            levels: levels.clone(),
            what: lack.what,
            reason: lack.reason,
        });
    }
    Ok(Placed {
        guest,
        parts: wanted,
        left_out,
    })
}

/// Ids of the parts that shall run on a guest's kernel. The runner's own floor goes with the others
/// when all of them go.
fn wanted(parts: &[Part], lacks: &[(&Part, &Lack)], choice: KernelChoice) -> BTreeSet<String> {
    let of_kernel = |part: &Part| {
        let mut of_part = lacks.iter().filter(|(lacking, _)| lacking.id == part.id);
        of_part.any(|(_, lack)| lack.feature.is_some())
    };
    let mut wanted: BTreeSet<String> = match choice {
        KernelChoice::Host => BTreeSet::new(),
        KernelChoice::Guest => parts.iter().map(|part| part.id.clone()).collect(),
        KernelChoice::Auto => {
            let lacking = parts.iter().filter(|part| of_kernel(part));
            lacking.map(|part| part.id.clone()).collect()
        }
    };
    let mut others = parts.iter().filter(|part| part.id != floor::RUNNER).peekable();
    if others.peek().is_some() && others.all(|part| wanted.contains(&part.id)) {
        wanted.insert(floor::RUNNER.to_owned());
    }
    wanted
}

/// The fastest kernel that has all that these lack; where neither has it, what is still lacking is said by the trial.
fn guest(lacks: &[(&Part, &Levels, Lack)], observer: &mut dyn Observer) -> Result<Guest, bartizan_host::Error> {
    let features: Vec<Feature> = lacks.iter().filter_map(|(_, _, lack)| lack.feature).collect();
    let kernel = GuestKernel::with(&features, 1).unwrap_or(GuestKernel::Debian);
    Guest::ensure(kernel, &mut |progress| match progress {
        Progress::Building { directory, .. } => {
            let place = directory.display();
            observer.note(&format!(
                "building {place} for a guest's kernel: this takes a few minutes, once"
            ));
        }
        Progress::Waiting => observer.note("another process builds what a guest needs: waiting for it"),
        _ => {}
    })
}

#[cfg(test)]
mod tests {
    use bartizan_host::Feature;

    use super::*;
    use crate::runner::run::runner_part;

    fn lack(feature: Option<Feature>) -> Lack {
        Lack {
            what: "it".to_owned(),
            reason: "it is not".to_owned(),
            hint: "none".to_owned(),
            feature,
        }
    }

    #[test]
    fn a_part_that_lacks_a_feature_of_the_kernel_goes_to_a_guest_and_the_floor_follows_when_all_go() {
        let part = |id: &str| Part {
            id: id.to_owned(),
            ..runner_part()
        };
        let parts = [runner_part(), part("sctp"), part("tcp")];
        let (kernel, program) = (lack(Some(Feature::Sctp)), lack(None));
        let names = |parts: &[Part], lacks: &[(&Part, &Lack)], choice| -> Vec<String> {
            wanted(parts, lacks, choice).into_iter().collect()
        };
        let lacks = [(&parts[1], &kernel), (&parts[2], &program)];
        assert_eq!(names(&parts, &lacks, KernelChoice::Auto), ["sctp"]);
        assert_eq!(names(&parts[..2], &lacks, KernelChoice::Auto), ["runner", "sctp"]);
        assert!(names(&parts, &lacks, KernelChoice::Host).is_empty());
        assert_eq!(names(&parts, &[], KernelChoice::Guest), ["runner", "sctp", "tcp"]);
        assert!(names(&parts, &[], KernelChoice::Auto).is_empty());
    }
}
