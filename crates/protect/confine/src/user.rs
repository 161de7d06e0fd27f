//! From root to a user of the sidecar's own.

use nix::unistd::{Gid, Uid, geteuid, getgroups, getresgid, getresuid, setgroups, setresgid, setresuid};

use super::Outcome;

/// A user and its primary group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The numeric user id.
    pub id: u32,
    /// The numeric id of its group.
    pub group: u32,
    /// The name it was found by.
    pub name: String,
}

/// Errors for a user or group without an entry on this host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownUser {
    /// The user.
    #[error("no user is called `{0}`")]
    User(String),
    /// The group behind the colon.
    #[error("no group is called `{0}`")]
    Group(String),
}

impl User {
    /// Finds a user by its name or by its id, with the group of its entry or that behind a colon. Ids need no entry (as in a container).
    ///
    /// # Errors
    /// Fails if the host knows no such name.
    pub fn find(text: &str) -> Result<Self, UnknownUser> {
        if let Some((user, group)) = text.split_once(':') {
            let id = Self::find(user)?.id;
            let group = match group.parse() {
                Ok(id) => id,
                Err(_) => match nix::unistd::Group::from_name(group) {
                    Ok(Some(entry)) => entry.gid.as_raw(),
                    _ => return Err(UnknownUser::Group(group.to_owned())),
                },
            };
            return Ok(Self {
                id,
                group,
                name: text.to_owned(),
            });
        }
        let by_id = text.parse().ok();
        let entry = match by_id {
            Some(id) => nix::unistd::User::from_uid(Uid::from_raw(id)),
            None => nix::unistd::User::from_name(text),
        };
        match (entry, by_id) {
            (Ok(Some(entry)), _) => Ok(Self {
                id: entry.uid.as_raw(),
                group: entry.gid.as_raw(),
                name: entry.name,
            }),
            (_, Some(id)) => Ok(Self {
                id,
                group: id,
                name: text.to_owned(),
            }),
            _ => Err(UnknownUser::User(text.to_owned())),
        }
    }
}

/// Changes group and user, in all threads (the C library does that), and drops supplementary groups.
pub(super) fn become_user(user: Option<&User>) -> Outcome {
    let now = geteuid();
    match user {
        None if now.is_root() => Outcome::Partly(
            "still root: start it as another user, or name one with --user; Landlock and seccomp hold all the same"
                .to_owned(),
        ),
        None => Outcome::Done(format!("runs as user {now}, as it was started")),
        Some(user) if user.id == 0 => Outcome::Failed("the user asked for is root".to_owned()),
        Some(user) if now.is_root() => match change(user) {
            Ok(()) => Outcome::Done(format!("root became {} ({}:{})", user.name, user.id, user.group)),
            Err(errno) => Outcome::Failed(format!("root cannot become {}: {errno}", user.name)),
        },
        Some(user) if now.as_raw() == user.id => Outcome::Done(format!("runs as {} already", user.name)),
        Some(user) => Outcome::Failed(format!("user {now} cannot become {}: that takes root", user.name)),
    }
}

fn change(user: &User) -> nix::Result<()> {
    let (id, group) = (Uid::from_raw(user.id), Gid::from_raw(user.group));
    // In this order: each needs the rights that the next drops.
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(id, id, id)?;
    // Believed only when seen.
    let users = getresuid()?;
    let groups = getresgid()?;
    let changed = [users.real, users.effective, users.saved] == [id; 3]
        && [groups.real, groups.effective, groups.saved] == [group; 3]
        && getgroups()?.iter().all(|supplementary| *supplementary == group);
    if changed { Ok(()) } else { Err(nix::errno::Errno::EPERM) }
}
