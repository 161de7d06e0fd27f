//! Panics, which are faults of the program: they end the work for one peer, or else the process.

use std::cell::Cell;
use std::future::Future;
use std::panic;
use std::pin::Pin;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// Exit code of a process that a panic ends: a failure, as for every other one.
const FAILURE: i32 = 2;

static CONTAINED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Ends the process at each panic that is not [contained], in any thread or task. Without
/// that the loss of a task that serves all peers would go unnoticed. A service manager starts the
/// process again.
#[expect(
    clippy::disallowed_methods,
    reason = "a panic has left the state of the process unknown"
)]
pub fn end_process_on_panic() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        if !IS_CONTAINED.get() {
            print(panicked);
            tracing::error!("a panic, which is a fault of Bartizan, ends the process");
            process::exit(FAILURE);
        }
        let panics = CONTAINED.fetch_add(1, Ordering::Relaxed) + 1;
        // A peer that has found such a fault can repeat it.
        if panics.is_power_of_two() {
            print(panicked);
            tracing::error!(
                panics,
                "a panic, which is a fault of Bartizan, ended the work for one peer"
            );
        }
    }));
}

/// Number of contained panics since the process began.
pub fn contained_panics() -> u64 {
    CONTAINED.load(Ordering::Relaxed)
}

/// Does work for one peer. A panic ends this work alone.
pub fn containing<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_CONTAINED.set(self.0);
        }
    }
    let _before = Before(IS_CONTAINED.replace(true));
    work()
}

pin_project_lite::pin_project! {
    /// A task that serves one peer. A panic ends this task alone.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless awaited"]
    pub struct Contained<F> {
        #[pin]
        task: F,
    }
}

/// The task of one connection or request: its panic ends nothing else.
pub const fn contained<F: Future>(task: F) -> Contained<F> {
    Contained { task }
}

impl<F: Future> Future for Contained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        containing(|| self.project().task.poll(context))
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::{Command, Output};
    use std::thread;

    use tokio::task::{spawn_blocking, yield_now};

    use super::*;

    const CASE: &str = "BARTIZAN_TEST_PANIC";

    /// Runs a case of this program's in a process of its own.
    fn process(case: &str) -> Output {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "panics::tests::a_process_with_a_panic", "--nocapture"])
            .env(CASE, case)
            .output();
        output.unwrap()
    }

    #[test]
    fn a_process_with_a_panic() {
        let Ok(case) = env::var(CASE) else { return };
        end_process_on_panic();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            match case.as_str() {
                "thread" => drop(thread::spawn(|| panic!("of a thread")).join()),
                "task" => drop(tokio::spawn(async { panic!("of a task") }).await),
                "blocking" => drop(spawn_blocking(|| panic!("of blocking work")).await),
                "contained" => {
                    let task = contained(async {
                        yield_now().await;
                        panic!("of a connection")
                    });
                    assert!(tokio::spawn(task).await.is_err());
                    let work = || containing(|| panic!("of a request"));
                    assert!(spawn_blocking(work).await.is_err());
                    assert_eq!(contained_panics(), 2);
                    assert!(!IS_CONTAINED.get());
                }
                // The mark is of a poll, not of the thread.
                "next" => {
                    tokio::spawn(contained(std::future::pending::<()>()));
                    yield_now().await;
                    drop(tokio::spawn(async { panic!("of the next task") }).await);
                }
                other => unreachable!("{other}"),
            }
        });
        println!("went on");
    }

    #[test]
    fn a_panic_of_a_background_thread_or_task_ends_the_process() {
        for (case, text) in [
            ("thread", "of a thread"),
            ("task", "of a task"),
            ("blocking", "of blocking work"),
            ("next", "of the next task"),
        ] {
            let output = process(case);
            let (printed, errors) = (output.stdout, String::from_utf8(output.stderr).unwrap());
            assert_eq!(output.status.code(), Some(FAILURE), "{case}: {errors}");
            assert!(errors.contains(text), "{case}: {errors}");
            assert!(!String::from_utf8(printed).unwrap().contains("went on"), "{case}");
        }
    }

    #[test]
    fn a_panic_of_a_connection_or_a_request_ends_it_alone_and_is_counted() {
        let output = process("contained");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        assert!(String::from_utf8(output.stdout).unwrap().contains("went on"));
        assert!(
            errors.contains("of a connection") && errors.contains("of a request"),
            "{errors}"
        );
    }
}
