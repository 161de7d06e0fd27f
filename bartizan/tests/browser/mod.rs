//! Chromium without a window, driven by the Chrome DevTools Protocol over a pair of pipes: what a
//! page draws, and what the browser itself counts of it.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

const LONG: Duration = bartizan_testing::PATIENCE;
/// Nothing is asked of other hosts, which would be refused many times at once here.
const OPTIONS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
    "--window-size=1400,1000",
];
/// Frames as the compositor reports them, each with its end.
const FRAMES: &str = "cc,benchmark,disabled-by-default-devtools.timeline.frame";

/// A browser with one tab.
pub(crate) struct Chromium {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    /// Messages that came while another was waited for.
    waiting: VecDeque<Value>,
    asked: u64,
    session: String,
    _profile: tempfile::TempDir,
}

/// Frames of a period, as counted by the compositor.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// Shown, in whole or in part.
    pub(crate) presented: usize,
    /// Dropped.
    pub(crate) dropped: usize,
    /// Dropped frames that a viewer could notice: something was in motion.
    pub(crate) noticed: usize,
}

impl Chromium {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // Its pipes are descriptors 3 and 4.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            // Its temporary files are deleted with the profile, also when it is killed.
            .env("TMPDIR", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut process = command.spawn().expect("a shell");
        let to = process.stdin.take().unwrap();
        let from = read(process.stdout.take().unwrap());
        let mut this = Self {
            process,
            to,
            from,
            waiting: VecDeque::new(),
            asked: 0,
            session: String::new(),
            _profile: profile,
        };
        let target = this.ask("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = this.ask(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        );
        this.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            this.ask(&format!("{domain}.enable"), &json!({}));
        }
        this
    }

    /// Sends a command and returns its answer.
    pub(crate) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if !self.session.is_empty() {
            command["sessionId"] = self.session.as_str().into();
        }
        let mut text = command.to_string().into_bytes();
        text.push(0);
        self.to
            .write_all(&text)
            .expect("chromium reads: `apt-get install chromium` where it is not here");
        self.to.flush().unwrap();
        let answer = self.wait(method, |message| message["id"] == id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The next message like this; the others are kept.
    fn wait(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.waiting.iter().position(&is) {
            return self.waiting.remove(found).unwrap();
        }
        let end = Instant::now() + LONG;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.from.recv_timeout(left);
            let message =
                message.unwrap_or_else(|error| panic!("{what}: chromium says nothing ({error}); is it installed?"));
            if is(&message) {
                return message;
            }
            self.waiting.push_back(message);
        }
    }

    /// Goes to a page, and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str) {
        let gone = self.ask("Page.navigate", &json!({ "url": url }));
        assert!(gone.get("errorText").is_none(), "{gone}");
        self.wait("the page", |message| message["method"] == "Page.loadEventFired");
    }

    /// The value of an expression, awaited.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let said = self.ask("Runtime.evaluate", &parameters);
        assert!(said.get("exceptionDetails").is_none(), "{expression}: {said}");
        said["result"]["value"].clone()
    }

    pub(crate) fn until(&mut self, expression: &str) {
        let began = Instant::now();
        while self.value(expression) != true {
            assert!(began.elapsed() < LONG, "never true: {expression}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Milliseconds from the start of navigation to the first paint, by the browser's Paint Timing.
    pub(crate) fn first_paint(&mut self) -> f64 {
        let paint = "performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint')?.startTime ?? -1";
        self.until(&format!("({paint}) >= 0"));
        self.value(paint).as_f64().unwrap()
    }

    /// Errors of scripts, and what the Content-Security-Policy or the network refused.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        while let Ok(message) = self.from.try_recv() {
            self.waiting.push_back(message);
        }
        let of = |message: &Value| match message["method"].as_str()? {
            "Runtime.exceptionThrown" => Some(message["params"].to_string()),
            "Log.entryAdded" if message["params"]["entry"]["level"] == "error" => Some(message["params"].to_string()),
            _ => None,
        };
        self.waiting.iter().filter_map(of).collect()
    }

    /// Begins to count frames.
    pub(crate) fn count_frames(&mut self) {
        let parameters = json!({ "traceConfig": { "includedCategories": FRAMES.split(',').collect::<Vec<_>>() } });
        let session = std::mem::take(&mut self.session);
        self.ask("Tracing.start", &parameters);
        self.session = session;
    }

    /// Frames counted since.
    pub(crate) fn frames(&mut self) -> Frames {
        let session = std::mem::take(&mut self.session);
        self.ask("Tracing.end", &json!({}));
        self.session = session;
        self.wait("the trace", |message| message["method"] == "Tracing.tracingComplete");
        let mut frames = Frames::default();
        self.waiting.retain(|message| {
            let is_trace = message["method"] == "Tracing.dataCollected";
            for event in message["params"]["value"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|_| is_trace)
            {
                frames.take(event);
            }
            !is_trace
        });
        frames
    }
}

impl Frames {
    /// An event of the trace; only those of frames of the page count.
    fn take(&mut self, event: &Value) {
        if event["name"] != "PipelineReporter" {
            return;
        }
        let report = ["chrome_frame_reporter", "frame_reporter"]
            .iter()
            .find_map(|name| event["args"].get(name));
        let Some(report) = report else { return };
        match report["state"].as_str() {
            Some("STATE_PRESENTED_ALL" | "STATE_PRESENTED_PARTIAL") => self.presented += 1,
            Some("STATE_DROPPED") => {
                self.dropped += 1;
                self.noticed += usize::from(report["affects_smoothness"] == true);
            }
            _ => {}
        }
    }
}

/// Messages, which end with a zero.
fn read(from: ChildStdout) -> Receiver<Value> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut message = Vec::new();
        while from.read_until(0, &mut message).is_ok_and(|read| read > 0) {
            message.pop();
            if let Ok(value) = serde_json::from_slice(&message)
                && sender.send(value).is_err()
            {
                return;
            }
            message.clear();
        }
    });
    receiver
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It has children of its own.
        let group = Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.process.wait();
    }
}
