//! The process that does the trials of a part, one at a time, as the runner asks for them.
//!
//! It is a process of its own so that a workload that crashes or hangs can be ended with everything
//! it has started, and so that it can run in a network namespace of its own and before other
//! programs.

mod calibration;
mod message;

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bartizan_host::Facts;
use bartizan_machine::Priority;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::runner::experiment::Levels;
use crate::runner::trial::{Environment, KernelKind, Steal, load_average};
use crate::stand_in::proxies::Tools;
use crate::workload::{Error, Kind, Setting, Target, Trial, Workload};
use calibration::Calibrator;
pub(crate) use message::{Done, Measured, Order, Reply, Start, TrialOrder};

/// Does what the runner asks for over this socket, or over standard input and output, until it is closed.
///
/// # Errors
/// Fails if an order is invalid, or the runner is gone in the middle of an answer.
pub fn work(socket: Option<&Path>) -> io::Result<()> {
    let Some(socket) = socket else {
        return serve(io::stdin().lock(), io::stdout().lock());
    };
    let stream = UnixStream::connect(socket)?;
    serve(BufReader::new(stream.try_clone()?), stream)
}

fn serve(orders: impl BufRead, mut stream: impl Write) -> io::Result<()> {
    let mut lines = orders.lines();
    let Some(first) = lines.next().transpose()? else {
        return Ok(());
    };
    let Order::Start(start) = order(&first)? else {
        return Err(io::Error::other("a worker is started before it is asked for trials"));
    };
    let ready = Ready::of(&start);
    let (mut ready, reply) = match ready {
        Ok(ready) => {
            let environment = ready.environment.clone();
            (Some(ready), Reply::Ready(Box::new(environment)))
        }
        Err(error) => {
            let refused = Reply::Refused {
                error: error.to_string(),
                hint: error.hint(),
            };
            (None, refused)
        }
    };
    say(&mut stream, &reply)?;
    for line in lines {
        let reply = match (order(&line?)?, &mut ready) {
            (Order::Ping, _) => Reply::Pong,
            (Order::Trial(trial), Some(ready)) => Reply::Done(Box::new(ready.trial(&trial))),
            (Order::Trial(_) | Order::Start(_), _) => {
                return Err(io::Error::other("a trial was asked for where none can be"));
            }
        };
        say(&mut stream, &reply)?;
    }
    Ok(())
}

fn order(line: &str) -> io::Result<Order> {
    Ok(serde_json::from_str(line)?)
}

fn say(stream: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

/// A workload that can be asked for trials.
struct Ready {
    workload: Box<dyn Workload>,
    /// The same once more, with programs, keys and connections of its own, for trials of twins.
    twin: Option<Box<dyn Workload>>,
    calibrator: Calibrator,
    environment: Environment,
    /// Held while trials are done.
    _priority: Option<Priority>,
}

impl Ready {
    fn of(start: &Start) -> Result<Self, Error> {
        let ours = |error: String| Error::Configuration(error);
        let kind = Kind::named(&start.workload).ok_or_else(|| ours(format!("no workload {}", start.workload)))?;
        let own = std::env::current_exe().map_err(Error::file("this program"))?;
        let tools = Tools::find(own, start.binary.as_deref())?.with_other(start.other.as_deref())?;
        let target = start.target.as_deref();
        let target = target.map(|target| Target::parse(target, start.target_ca.as_deref()));
        let target = target.transpose().map_err(ours)?;
        let (environment, priority) = environment(start)?;
        // The last one: interrupts prefer the first. What is started may run anywhere, unless the
        // workload puts it somewhere.
        bartizan_machine::pin_this_thread(last(&environment.processors))?;
        let workload = |combinations: &[Levels], folder: &Path| {
            (kind.start)(&Setting {
                part: &start.part,
                combinations,
                parameters: &start.parameters,
                tools: &tools,
                folder,
                seed: start.seed,
                quick: start.quick,
                target: target.as_ref(),
                processors: &environment.processors,
            })
        };
        let one = workload(&start.combinations, &start.folder)?;
        let twin = if start.controls.is_empty() {
            None
        } else {
            let folder = start.folder.join("twin");
            fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
            // All of them, as the other has: what a program was set up for is in its messages (the
            // authorities of an IKE_AUTH).
            Some(workload(&start.combinations, &folder)?)
        };
        Ok(Self {
            workload: one,
            twin,
            calibrator: Calibrator::new().map_err(Error::Broken)?,
            environment,
            _priority: priority,
        })
    }

    fn trial(&mut self, order: &TrialOrder) -> Done {
        let load = load_average().unwrap_or(-1.0);
        let missing = || Error::Configuration("a trial of a twin, which the part does not have".to_owned());
        let workload = if order.twin {
            self.twin.as_mut()
        } else {
            Some(&mut self.workload)
        };
        let calibration = self.calibrator.calibrate(&self.environment.processors);
        let (at, stolen) = (now(), bartizan_machine::stolen());
        let began = Instant::now();
        let result = match (workload, &calibration) {
            (None, _) => Err(missing()),
            (_, Err(error)) => Err(Error::Configuration(format!("calibrating: {error}"))),
            (Some(workload), Ok(_)) => workload.trial(&Trial {
                levels: &order.levels,
                repetition: order.repetition,
                seed: order.seed,
                deadline: began + Duration::from_millis(order.bound_ms),
            }),
        };
        let elapsed = began.elapsed();
        Done {
            began: at,
            elapsed_ms: elapsed.as_secs_f64() * 1e3,
            // Said by the kernel: where a workload pins itself, that shows.
            cores: bartizan_machine::processors().unwrap_or_default(),
            calibration: calibration.unwrap_or_default(),
            steal: stolen.zip(bartizan_machine::stolen()).map(|(before, after)| Steal {
                before: before.as_secs_f64() * 1e3,
                after: after.as_secs_f64() * 1e3,
            }),
            load,
            programs: self.workload.programs(),
            result: result
                .map(|observation| Measured {
                    values: observation
                        .values
                        .into_iter()
                        .map(|(metric, values)| (metric.to_owned(), values))
                        .collect(),
                    facts: observation.facts,
                })
                .map_err(|error| error.to_string()),
        }
    }
}

/// The last of these processors, where there is one.
fn last(processors: &[usize]) -> &[usize] {
    processors.last().map_or(&[], std::slice::from_ref)
}

/// Raises the priority and looks at the machine.
fn environment(start: &Start) -> Result<(Environment, Option<Priority>), Error> {
    let raised = Priority::highest();
    let facts = Facts::gather();
    let priority = match &raised {
        Ok(_) => "nice -20".to_owned(),
        Err(error) => format!("not raised: {error}"),
    };
    let raised = raised.ok();
    let environment = Environment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: Some(start.build.clone()),
        kernel: facts.kernel,
        kernel_kind: kernel_kind(),
        processor: facts.cpu,
        processor_flags: bartizan_machine::processor_flags(),
        clock_source: bartizan_machine::clock_source(),
        processors: bartizan_machine::processors()?,
        priority,
        autogroup: raised.as_ref().and_then(Priority::autogroup),
        namespace: start.namespace.clone(),
        programs: Vec::new(),
    };
    Ok((environment, raised))
}

fn kernel_kind() -> KernelKind {
    if bartizan_testing::Guest::is_here() {
        KernelKind::Guest
    } else {
        KernelKind::Host
    }
}

/// The time of day by RFC 3339.
pub(crate) fn now() -> String {
    // A year of more than four digits is the only thing that cannot be written.
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}
