//! The sidecars of a core, as processes of this same binary.

use std::time::Duration;

use bartizan_host::{Process, Program};
use bartizan_testing::Listening as _;
use bartizan_testing::Usage;

use crate::Failure;
use crate::commands::demo::core::{self, CONSUMERS, Core, PRODUCERS};
use crate::commands::demo::failed;
use crate::commands::demo::stage::Stage;

/// Time limit for a sidecar to be ready: it reads keys and binds ports.
const READY: Duration = Duration::from_secs(60);
/// Time limit for a sidecar to drain and write its ledger.
const DRAIN: Duration = Duration::from_secs(60);

/// The sidecars of every node of a core. Dropping them ends the processes.
pub(super) struct Sidecars {
    consumers: Process,
    producers: Vec<Process>,
}

impl Sidecars {
    /// Starts one per node and waits until each listens.
    pub(super) fn start(stage: &Stage, core: &Core) -> Result<Self, Failure> {
        let mut producers = Vec::new();
        for producer in &PRODUCERS {
            producers.push(
                stage
                    .at_producers(program(core, producer.node)?)
                    .start()
                    .map_err(failed)?,
            );
        }
        for (index, process) in producers.iter_mut().enumerate() {
            process
                .wait_for_port(core::sidecar_address(stage, index), READY)
                .map_err(failed)?;
        }
        // Last, so that the connections it dials ahead find their peers.
        let mut consumers = stage.at_consumers(program(core, CONSUMERS)?).start().map_err(failed)?;
        consumers
            .wait_for_port(core::local_address(stage, PRODUCERS.len() - 1), READY)
            .map_err(failed)?;
        Ok(Self { consumers, producers })
    }

    /// Resources of the consumers' sidecar, and of the producers' together.
    pub(super) fn usage(&self) -> Result<(Usage, Usage), Failure> {
        let mut together = Usage::default();
        for process in &self.producers {
            let usage = Usage::of(process.id()).map_err(failed)?;
            together.cpu += usage.cpu;
            together.resident += usage.resident;
            together.peak_resident += usage.peak_resident;
        }
        Ok((Usage::of(self.consumers.id()).map_err(failed)?, together))
    }

    /// Ends them in order: they drain, and their ledgers are whole.
    pub(super) fn stop(self) -> Result<(), Failure> {
        self.consumers.terminate(DRAIN).map_err(failed)?;
        for process in self.producers {
            process.terminate(DRAIN).map_err(failed)?;
        }
        Ok(())
    }
}

fn program(core: &Core, node: &str) -> Result<Program, Failure> {
    let own = crate::commands::product()?;
    Ok(Program::new(own)
        .argument("sidecar")
        .argument(&core.deployment)
        .arguments(["--node", node])
        .log(core.log(node)))
}
