//! Redirect, guard and fence in this network namespace: installed, removed, and compared with what they should be.

use std::sync::OnceLock;
use std::time::Duration;

use bartizan_host::nftables::{self, Listing, Table};

use super::earlier::{self, Earlier};
use super::gateway::GATEWAY;
use super::probe::COMPARED_PROBE_SOURCE;
use super::ruleset::{COMPARED, GUARD, MARK, REDIRECT, STRICT};
use super::strict::{self, Refused};
use super::{Error, Plan, fence};

/// Which tables to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// The redirect alone: functions' requests then fail, none leaves unencrypted.
    Redirect,
    /// Redirect, guard and fence: functions then talk unencrypted.
    All,
}

bartizan_registry::named! {
    /// One of the mechanisms.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Part, name {
        /// The table that leads connections to the sidecar.
        Redirect = "redirect",
        /// The table that refuses what is not led there.
        Guard = "guard",
        /// The table that leads SCTP to the sidecar and refuses it elsewhere, where a gateway carries it.
        Gateway = "gateway",
        /// The table that refuses what the file does not list, where that is asked for.
        Strict = "strict",
        /// The part outside nftables.
        Fence = "fence",
    }
}

/// Parts to install besides redirect and guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The fence.
    pub fence: bool,
    /// That nothing leaves but what the file lists.
    pub strict: bool,
}

/// State of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleState {
    /// Nothing.
    Absent,
    /// All of it, as the file asks for, and nothing else.
    Installed,
    /// Written for another node or from another state of the file.
    Other {
        /// The comment that names which.
        mark: String,
    },
    /// Written from this file and changed since: each difference as a sentence.
    Damaged(Vec<String>),
}

bartizan_registry::made! {
    /// The rules of a plan, with what is known of how this host lists them.
    #[derive(Debug)]
    pub struct Installed,
    /// The rules of a plan.
    pub new(plan: Plan, options: Options) {
        let tables = plan.tables(options.strict).into_iter();
        let tables = tables.map(|table| (Part::of(&table), table, OnceLock::new()));
        plan: Plan,
        /// Each with how it is listed once that was asked for.
        tables: Vec<(Part, Table, OnceLock<Listing>)> = tables.collect(),
        options: Options,
    }
}

impl Part {
    fn of(table: &Table) -> Self {
        match table.name() {
            REDIRECT => Self::Redirect,
            GATEWAY => Self::Gateway,
            STRICT => Self::Strict,
            _ => Self::Guard,
        }
    }
}

impl Installed {
    /// The plan that they are derived from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Input for `nft -f -`, and, as comments, for `ip`.
    pub fn script(&self) -> String {
        let mut script: String = self.tables.iter().map(|(_, table, _)| table.script()).collect();
        for (options, batch) in fence::batches(&self.plan).iter().filter(|_| self.options.fence) {
            let options: String = options.iter().map(|option| format!(" {option}")).collect();
            script.extend(batch.lines().map(|line| format!("# ip{options} {line}\n")));
        }
        script
    }

    /// Installs both tables, all or nothing, in place of what is installed under their names, resets connections that were open before and would
    /// go past the sidecar, then installs the fence.
    ///
    /// # Errors
    /// Fails if `nft` or `ip` is missing or not permitted, or the kernel does not take the rules.
    /// After a failure of `nft` the tables are as they were.
    pub fn install(&self) -> Result<Earlier, Error> {
        let tables: Vec<_> = self.tables.iter().map(|(_, table, _)| table.clone()).collect();
        Table::install(&tables)?;
        // Tables that an earlier state of the file asked for and this one does not.
        for name in [STRICT, GATEWAY, REDIRECT, GUARD] {
            if !tables.iter().any(|table| table.name() == name) {
                Table::remove(name)?;
            }
        }
        // Before the fence, which the resets could not pass.
        let earlier = earlier::reset(&self.plan);
        if self.options.fence {
            fence::install(&self.plan)?;
        } else {
            fence::remove()?;
        }
        Ok(earlier)
    }

    /// State of the rules in this network namespace, compared object by object with the plan.
    /// If there is to be no fence, it is left out.
    ///
    /// # Errors
    /// Fails if `nft` or `ip` is missing, is not permitted, or prints text that cannot be read.
    pub fn state(&self) -> Result<Vec<(Part, RuleState)>, Error> {
        let mut found = self.of_tables()?;
        found.extend(self.of_fence()?);
        Ok(found)
    }

    /// The state of the tables.
    pub(super) fn of_tables(&self) -> Result<Vec<(Part, RuleState)>, Error> {
        let tables = self.tables.iter();
        tables
            .map(|(part, table, wanted)| Ok((*part, self.of_table(table, wanted)?)))
            .collect()
    }

    /// The state of the fence, where there is to be one.
    pub(super) fn of_fence(&self) -> Result<Option<(Part, RuleState)>, Error> {
        if !self.options.fence {
            return Ok(None);
        }
        let state = match fence::differences(&self.plan)? {
            (false, _) => RuleState::Absent,
            (true, differences) if differences.is_empty() => RuleState::Installed,
            (true, differences) => RuleState::Damaged(differences),
        };
        Ok(Some((Part::Fence, state)))
    }

    /// Its tables, as they are where nothing of them was changed.
    pub(super) fn intact(&self) -> Vec<(Part, RuleState)> {
        let parts = self.tables.iter().map(|(part, ..)| *part);
        parts.map(|part| (part, RuleState::Installed)).collect()
    }

    fn of_table(&self, table: &Table, wanted: &OnceLock<Listing>) -> Result<RuleState, Error> {
        let Some(here) = Table::listed(table.name())? else {
            return Ok(RuleState::Absent);
        };
        let ours = self.plan.mark();
        let mark = here.comments().find(|comment| comment.starts_with(MARK));
        if let Some(mark) = mark.filter(|mark| *mark != ours) {
            return Ok(RuleState::Other { mark: mark.to_owned() });
        }
        let differences: Vec<_> = here
            .differences(table.wanted_once(wanted)?)
            .iter()
            .map(ToString::to_string)
            .collect();
        Ok(if differences.is_empty() {
            RuleState::Installed
        } else {
            RuleState::Damaged(differences)
        })
    }

    /// Packets that the strict table has refused; none where it is not installed.
    ///
    /// # Errors
    /// Those of [`Installed::state`].
    pub fn refused(&self) -> Result<Option<Refused>, Error> {
        let listing = Table::listed(STRICT)?;
        Ok(listing.map(|listing| strict::refused(&self.plan, &listing)))
    }

    /// Has the guard answer, for this long, that the rules are what they should be; the sidecar asks for it.
    ///
    /// # Errors
    /// Fails if there is no guard, or `nft` is missing or is not permitted.
    pub fn confirm(&self, lasting: Duration) -> Result<(), Error> {
        if self.plan.probed.is_none() {
            return Ok(());
        }
        // The time of an element that is there is not changed by adding it again.
        let element = format!("element inet {GUARD} {COMPARED} {{ {COMPARED_PROBE_SOURCE}");
        let seconds = lasting.as_secs().max(1);
        let script = format!("add {element} }}\ndelete {element} }}\nadd {element} timeout {seconds}s }}\n");
        Ok(nftables::apply(&script)?)
    }

    /// Has it answer so no more.
    ///
    /// # Errors
    /// Those of [`Installed::confirm`].
    pub fn deny(&self) -> Result<(), Error> {
        if self.plan.probed.is_none() {
            return Ok(());
        }
        let element = format!("element inet {GUARD} {COMPARED} {{ {COMPARED_PROBE_SOURCE} }}");
        Ok(nftables::apply(&format!("add {element}\ndelete {element}\n"))?)
    }
}

/// Returns true if the strict table is installed.
///
/// # Errors
/// Fails if `nft` is missing or is not permitted.
pub fn is_strict() -> Result<bool, Error> {
    Ok(Table::listed(STRICT)?.is_some())
}

/// Removes tables and, with the guard, the fence; what is not there is no error. It needs no file.
///
/// # Errors
/// Fails if `nft` or `ip` is missing or is not permitted.
pub fn remove(tables: Tables) -> Result<(), Error> {
    // One transaction each: the guard goes only once the redirect is gone.
    Table::remove(REDIRECT)?;
    if tables == Tables::All {
        Table::remove(STRICT)?;
        Table::remove(GATEWAY)?;
        Table::remove(GUARD)?;
        fence::remove()?;
    }
    Ok(())
}
