//! Checks of policies: hand-written lists must not undermine the profile's promise.

use bartizan_registry::{NamedGroup, SignatureScheme, group};

use super::{Policy, PostQuantum, Profile, quantum_safe_group, quantum_safe_signature};
use crate::error::Fault;

impl Policy {
    /// Lists written by hand must not undermine the profile's promise.
    pub(super) fn check_lists(&self, lab: bool) -> Result<(), Fault> {
        if self.profile == Profile::Classical && !lab {
            let cause = "`classical` protects nothing from a recorder and is for measurements";
            let hint =
                "write `{ profile: classical, lab: true }` in a lab; for peers that have no ML-KEM yet use transition";
            return Err(Fault::new("profile", cause, hint));
        }
        for &code in &self.groups {
            let safe = quantum_safe_group(code);
            if self.post_quantum == PostQuantum::Require && !safe {
                return Err(Fault::new(
                    "groups",
                    format!(
                        "{code} is classical, and the profile {} requires post-quantum",
                        self.profile.name()
                    ),
                    "leave it out, or use the profile transition with a reason and an end",
                ));
            }
            if code == NamedGroup::MLKEM512 && !lab {
                let cause = "MLKEM512 is NIST category 1, below what any profile accepts";
                let hint = "add `lab: true` next to it for a measurement";
                return Err(Fault::new("groups", cause, hint));
            }
        }
        for (place, schemes) in [
            ("signatures", &self.signatures),
            ("chain-signatures", &self.chain_signatures),
        ] {
            for &code in schemes {
                if self.post_quantum == PostQuantum::Require && !quantum_safe_signature(code) {
                    return Err(Fault::new(
                        place,
                        format!(
                            "{code} is classical, and the profile {} requires post-quantum",
                            self.profile.name()
                        ),
                        "leave it out, or use the profile transition with a reason and an end",
                    ));
                }
            }
        }
        if self.profile == Profile::Transition {
            let nothing = |place: &str, what: &str| {
                let cause = "leaves nothing post-quantum to move to";
                let hint = format!("add {what} in addition to what must pass for now");
                Fault::new(place, cause, hint)
            };
            if !self.groups.iter().any(|&code| quantum_safe_group(code)) {
                return Err(nothing("groups", "X25519MLKEM768"));
            }
            if !self.signatures.iter().any(|&code| quantum_safe_signature(code)) {
                return Err(nothing("signatures", "mldsa65"));
            }
            if !self.chain_signatures.iter().any(|&code| quantum_safe_signature(code)) {
                return Err(nothing("chain-signatures", "mldsa65"));
            }
        }
        if self.profile == Profile::Cnsa2 {
            if let Some(code) = self
                .groups
                .iter()
                .find(|code| group(**code).and_then(|g| g.category).is_none_or(|c| c.0 < 5))
            {
                let hint = "MLKEM1024, and SecP384r1MLKEM1024 while migrating, are accepted";
                return Err(Fault::new("groups", format!("CNSA 2.0 does not accept {code}"), hint));
            }
            for (place, schemes) in [
                ("signatures", &self.signatures),
                ("chain-signatures", &self.chain_signatures),
            ] {
                if let Some(code) = schemes.iter().find(|code| **code != SignatureScheme::MLDSA87) {
                    let hint = "use mldsa87";
                    return Err(Fault::new(place, format!("CNSA 2.0 does not accept {code}"), hint));
                }
            }
        }
        Ok(())
    }
}
