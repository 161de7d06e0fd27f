//! A program: where it is, what it calls itself, and what it can do, found out by having it do it.

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bartizan_host::{Finished, LabRoot, Program};
use serde::Serialize;

use super::thing::{Examined, Presence, Thing, in_a_line};

/// Timeout of one question, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that Bartizan runs or speaks with.
pub(super) struct Kind {
    pub(super) program: &'static str,
    /// The Debian package that has it.
    pub(super) package: &'static str,
    /// Thing that its presence in `PATH` stands for.
    pub(super) thing: Thing,
    /// Path that Bartizan tries if the program is not in `PATH`.
    pub(super) elsewhere: Option<&'static str>,
    /// Arguments that make it print its version and exit.
    pub(super) version: &'static [&'static str],
    /// The status that it ends with then: hostapd calls it a failure.
    pub(super) version_status: i32,
    pub(super) abilities: &'static [Ability],
}

/// Something that a program may be able to do.
pub(super) struct Ability {
    pub(super) thing: Thing,
    pub(super) name: &'static str,
    /// Has it done; what more there is to say, or why it cannot.
    pub(super) attempt: fn(&Place) -> Result<Option<String>, String>,
    /// Hint to install a capable program.
    pub(super) get: &'static str,
}

/// Location of a program.
pub(super) enum Place {
    Host(PathBuf),
    Root(LabRoot, &'static str, Reach),
}

/// Way to run a program of a lab root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Seeing the root's files alone, which takes root.
    Inside,
    /// Through the root's loader, without privileges.
    Loader,
}

/// A program that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tool {
    pub(super) program: &'static str,
    /// The host, or the directory of a lab root.
    pub(super) of: String,
    pub(super) path: Option<PathBuf>,
    pub(super) version: Option<String>,
    #[serde(flatten)]
    pub(super) presence: Presence,
    pub(super) abilities: Vec<Examined>,
}

/// Value of [`Tool::of`] for a program of this machine.
pub(super) const HOST: &str = "host";

impl Place {
    /// The program, ready for arguments.
    pub(super) fn program(&self) -> Result<Program, String> {
        match self {
            Self::Host(path) => Ok(Program::new(path)),
            // Only there it finds what it loads from places of its own.
            Self::Root(root, name, Reach::Inside) => Ok(root.chroot(name)),
            Self::Root(root, name, Reach::Loader) => root.command(name).map_err(|error| in_a_line(&error)),
        }
    }

    /// Runs it to its end, which must be status 0.
    pub(super) fn ask(&self, arguments: &[&str]) -> Result<Finished, String> {
        let program = self.program()?.arguments(arguments).environment("LC_ALL", "C");
        program.run(PATIENCE).map_err(|error| in_a_line(&error))
    }

    /// The same, where the status is to be this.
    fn ask_for(&self, status: i32, arguments: &[&str]) -> Result<Finished, String> {
        if status == 0 {
            return self.ask(arguments);
        }
        let program = self.program()?.arguments(arguments).environment("LC_ALL", "C");
        let finished = program.start().and_then(|process| process.finish(PATIENCE));
        let finished = finished.map_err(|error| in_a_line(&error))?;
        match finished.status.code() {
            Some(code) if code == status => Ok(finished),
            _ => Err(format!("it ended with {}", finished.status)),
        }
    }

    /// Returns true if a line of its output satisfies the predicate. The output may exceed the pipe
    /// reader's buffer.
    pub(super) fn prints(&self, arguments: &[&str], wanted: impl Fn(&str) -> bool) -> Result<bool, String> {
        let file = tempfile::NamedTempFile::new().map_err(|error| format!("a temporary file: {error}"))?;
        let program = self.program()?.arguments(arguments).environment("LC_ALL", "C");
        program
            .log(file.path())
            .run(PATIENCE)
            .map_err(|error| in_a_line(&error))?;
        let bytes = std::fs::read(file.path()).map_err(|error| format!("{}: {error}", file.path().display()))?;
        Ok(String::from_utf8_lossy(&bytes).lines().any(wanted))
    }
}

impl Kind {
    /// On this machine.
    pub(super) fn on_host(&self) -> Tool {
        let absent = |reason: String, get: String| Tool {
            program: self.program,
            of: HOST.to_owned(),
            path: None,
            version: None,
            presence: Presence::Absent { reason, get },
            abilities: Vec::new(),
        };
        let found = in_path(self.program).or_else(|| self.elsewhere.map(PathBuf::from).filter(|path| runs(path)));
        let Some(path) = found else {
            let elsewhere =
                ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(|folder| Path::new(folder).join(self.program));
            return match elsewhere.into_iter().find(|path| runs(path)) {
                Some(path) => absent(
                    format!("it is {}, which PATH does not have", path.display()),
                    format!("PATH=$PATH:{}", path.parent().unwrap_or(Path::new("/")).display()),
                ),
                None => absent("not in PATH".to_owned(), format!("apt-get install {}", self.package)),
            };
        };
        self.at(&Place::Host(path.clone()), HOST.to_owned(), path)
    }

    /// In a lab root; `None` where the root has no such program.
    pub(super) fn in_root(&self, root: &LabRoot, reach: Reach) -> Option<Tool> {
        let _ = root.command(self.program).ok()?;
        let of = root.directory().display().to_string();
        let place = Place::Root(root.clone(), self.program, reach);
        Some(self.at(&place, of, root.directory().to_owned()))
    }

    fn at(&self, place: &Place, of: String, path: PathBuf) -> Tool {
        let version = place
            .ask_for(self.version_status, self.version)
            .map(|finished| first_line(&finished));
        let presence = match &version {
            Ok(_) => Presence::present(),
            Err(reason) => Presence::absent(
                format!("{} does not run: {reason}", path.display()),
                format!("apt-get install --reinstall {}", self.package),
            ),
        };
        // One that cannot even say what it is would only fail at each of them again.
        let abilities = if version.is_ok() { self.abilities } else { &[] };
        Tool {
            program: self.program,
            of,
            path: Some(path),
            version: version.ok().flatten(),
            presence,
            abilities: abilities.iter().map(|ability| ability.examine(place)).collect(),
        }
    }
}

impl Ability {
    fn examine(&self, place: &Place) -> Examined {
        Examined::new(self.thing, self.name, Presence::tried((self.attempt)(place), self.get))
    }
}

/// The file that a shell would run.
pub(super) fn in_path(program: &str) -> Option<PathBuf> {
    // Without PATH the C library looks here.
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|path| runs(path))
}

fn runs(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// First line of its output, on either stream.
fn first_line(finished: &Finished) -> Option<String> {
    [&finished.stdout, &finished.stderr].into_iter().find_map(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.to_owned())
    })
}
