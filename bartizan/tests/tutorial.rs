//! The tutorial, typed line by line as it stands in `docs/tutorial.md`, and what it shows compared with what comes.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod as_root {
    use std::path::Path;
    use std::time::Duration;

    use bartizan_host::Program;

    /// Names of network namespaces are mounts: a mount namespace of its own, with its own directory
    /// for them, keeps them apart from those of other tests.
    const ALONE: &str = "mkdir -p /run/netns; mount -t tmpfs none /run/netns; exec bash -euo pipefail \"$1\"";
    const STEP: &str = "--- step";

    /// Input of one step, and the output lines that the tutorial shows.
    struct Step<'a> {
        typed: &'a str,
        shown: Vec<&'a str>,
    }

    fn steps(page: &str) -> Vec<Step<'_>> {
        let mut steps: Vec<Step<'_>> = Vec::new();
        for block in page.split("\n```").skip(1).step_by(2) {
            let (language, text) = block.split_once('\n').unwrap();
            match language {
                "sh" => steps.push(Step {
                    typed: text,
                    shown: Vec::new(),
                }),
                "text" => steps.last_mut().unwrap().shown.extend(text.lines()),
                other => panic!("a block of {other:?} in the tutorial is neither typed nor shown"),
            }
        }
        steps
    }

    /// A line without what differs each time: serial numbers, dates, the number of a packet and of bytes.
    fn constant(line: &str) -> String {
        let mut before = "";
        let words = line.split(' ').map(|word| {
            let serial = word.len() >= 16 && word.chars().all(|digit| digit.is_ascii_hexdigit());
            let date = word.contains('-') && word.starts_with("20");
            let counted = matches!(before, "(packet" | "of") && word.starts_with(|digit: char| digit.is_ascii_digit());
            before = word;
            if serial || date || counted { "..." } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_line_of_the_tutorial_works_and_shows_what_the_page_says() {
        bartizan_testing::needs_root();
        let steps = steps(include_str!("../../docs/tutorial.md"));
        assert!(steps.len() >= 10 && steps.iter().any(|step| step.shown.len() > 4));
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("tutorial.sh");
        let lines = steps.iter().map(|step| format!("echo '{STEP}'\n{}\n", step.typed));
        std::fs::write(&script, lines.collect::<String>()).unwrap();
        let own = Path::new(env!("CARGO_BIN_EXE_bartizan")).parent().unwrap();
        let path = format!("{}:{}", own.display(), std::env::var("PATH").unwrap());
        let done = Program::new("unshare")
            .arguments([
                "--mount",
                "--net",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "bash",
                "-c",
                ALONE,
            ])
            .arguments(["tutorial"])
            .argument(&script)
            .directory(directory.path())
            .environment("PATH", path)
            .run(Duration::from_secs(600))
            .unwrap_or_else(|error| panic!("{error}"));
        let output = done.text();
        let mut outputs = output.split(STEP).skip(1);
        for step in &steps {
            let seen = outputs
                .next()
                .unwrap_or_else(|| panic!("{}\ndid not run:\n{output}", step.typed));
            let seen: Vec<String> = seen.lines().map(constant).collect();
            for line in &step.shown {
                assert!(
                    seen.contains(&constant(line)),
                    "the tutorial shows {line:?} after\n{}\nwhich gave\n{}",
                    step.typed,
                    seen.join("\n")
                );
            }
        }
    }
}
