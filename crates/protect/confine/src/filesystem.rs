//! Landlock: the files it may open, no new listening ports, no signals to others.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort, PathBeneath, PathFd,
    RestrictSelfAttr, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::{Confinement, Outcome};

/// The newest ABI asked for; kernels with an older one enforce their part, which is reported.
const ASKED: ABI = ABI::V7;
/// Directory of the process itself, which it reads for its metrics.
const OWN: &str = "/proc/self";

pub(super) fn restrict(confinement: &Confinement, others: usize) -> Outcome {
    let missing: Vec<_> = confinement
        .read
        .iter()
        .chain(&confinement.write)
        .filter(|path| !path.exists())
        .map(|path| path.display().to_string())
        .collect();
    let status = match enforce(confinement) {
        Ok(status) => status,
        Err(error) => return Outcome::Failed(error.to_string()),
    };
    let abi = match status.landlock {
        LandlockStatus::NotImplemented => return Outcome::Unavailable("this kernel was built without it".to_owned()),
        LandlockStatus::NotEnabled => {
            return Outcome::Unavailable("this kernel was started without it (lsm=)".to_owned());
        }
        LandlockStatus::Available { effective_abi, .. } => effective_abi as i32,
    };
    let mut left_out = Vec::new();
    if abi < 4 {
        left_out.push("new listening ports (ABI 4)".to_owned());
    }
    if abi < 6 {
        left_out.push("signals to other processes (ABI 6)".to_owned());
    }
    if others > 0 && !status.all_threads {
        left_out.push(format!("threads that ran before: {others}"));
    }
    if !missing.is_empty() {
        left_out.push(format!("what is not there: {}", missing.join(", ")));
    }
    let allowed = format!(
        "reads {}; writes {}; opens no new port",
        list(&confinement.read),
        list(&confinement.write)
    );
    match status.ruleset {
        RulesetStatus::NotEnforced => Outcome::Failed("no rule is in effect".to_owned()),
        _ if left_out.is_empty() => Outcome::Done(allowed),
        _ => Outcome::Partly(format!("{allowed}; not covered: {}", left_out.join(", "))),
    }
}

fn enforce(confinement: &Confinement) -> Result<landlock::RestrictionStatus, RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let writing =
        reading | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Refer;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ASKED))?
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?
        // Port 0 is any free port: what a connection with a chosen source address takes.
        .add_rule(NetPort::new(0, AccessNet::BindTcp))?;
    for path in confinement.read.iter().map(PathBuf::as_path).chain([Path::new(OWN)]) {
        rules = add(rules, path, reading)?;
    }
    for path in &confinement.write {
        rules = add(rules, path, writing)?;
    }
    rules.all_threads(true)?.restrict_self()
}

/// A rule for a path; one that is not there is left out, which the caller has noted.
fn add(
    rules: landlock::RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    let Ok(file) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(ASKED)
    };
    rules.add_rule(PathBeneath::new(file, access))
}

fn list(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "nothing".to_owned();
    }
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}
