//! A folder with an experiment, and the processes of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// Time limit for any step on a busy machine.
pub(crate) const LONG: Duration = bartizan_testing::PATIENCE;

pub(crate) struct Stage {
    folder: TempDir,
}

/// A run that is under way; killed with what it has started when it is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Stage {
    /// With an experiment `floor`, whose trials sleep so many milliseconds.
    pub(crate) fn new(repetitions: usize, milliseconds: usize) -> Self {
        Self::with(&format!(
            "id: floor\ntitle: The floor\nquestion: What does the lab take?\ninvalid: []\nparts:\n\
             \x20 - id: empty\n    workload: clock\n    parameters: {{ readings: 10, sleeps: {milliseconds} }}\n\
             \x20   repetitions: {repetitions}\n    quick: {{ repetitions: 2, parameters: {{ sleeps: 1 }} }}\n\
             \x20   bound: 60\n    metrics: [clock, late, round-trip]\n"
        ))
    }

    pub(crate) fn with(experiment: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("btz-labtest-").tempdir().unwrap();
        let stage = Self { folder };
        fs::create_dir_all(stage.path("experiments/floor")).unwrap();
        fs::create_dir_all(stage.path("tmp")).unwrap();
        fs::write(stage.experiment(), experiment).unwrap();
        stage
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn experiment(&self) -> PathBuf {
        self.path("experiments/floor/experiment.yaml")
    }

    /// `bartizan lab` in this folder, whose experiments it finds by itself.
    pub(crate) fn lab(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bartizan-lab"));
        command.args(arguments).current_dir(self.folder.path());
        command.env("TMPDIR", self.path("tmp")).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.lab(&[&["run", "floor"], arguments].concat()).output().unwrap()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.lab(&[&["run", "floor"], arguments].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    pub(crate) fn records_file(&self) -> PathBuf {
        let files = fs::read_dir(self.path("results/floor")).unwrap().flatten();
        let mut files: Vec<PathBuf> = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }

    pub(crate) fn wait_for_records(&self, count: usize) {
        let began = Instant::now();
        loop {
            let folder = self.path("results/floor");
            if folder.is_dir()
                && fs::read_dir(&folder).unwrap().next().is_some()
                && trials(&self.records_file()).len() >= count
            {
                return;
            }
            assert!(began.elapsed() < LONG, "no {count} records");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().cast_signed()), signal).unwrap();
    }

    /// The worker, once there is one.
    pub(crate) fn worker(&self) -> Pid {
        let began = Instant::now();
        loop {
            if let Some(worker) = children(self.0.id(), "worker").first() {
                return Pid::from_raw(worker.cast_signed());
            }
            assert!(began.elapsed() < LONG, "no worker");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn end(mut self) -> Output {
        let mut output = Output {
            status: self.0.wait().unwrap(),
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        use std::io::Read as _;
        self.0.stdout.take().unwrap().read_to_end(&mut output.stdout).unwrap();
        self.0.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes with this word in their command line that a process has started.
pub(crate) fn children(parent: u32, word: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent_of = stat
                .rsplit_once(')')
                .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
            parent_of == Some(parent) && command_line(*pid).contains(word)
        })
        .collect()
}

/// Processes whose command line has this text.
pub(crate) fn processes_with(text: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| command_line(*pid).contains(text))
        .collect()
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Whole lines of a file that are trials.
pub(crate) fn trials(file: &Path) -> Vec<Value> {
    lines(file, "bartizan-lab-trial/1")
}

pub(crate) fn lines(file: &Path, schema: &str) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["schema"] == schema)
        .collect()
}

/// Numbers of trials in the order of the file.
pub(crate) fn numbers(trials: &[Value]) -> Vec<u64> {
    trials.iter().map(|trial| trial["trial"].as_u64().unwrap()).collect()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
