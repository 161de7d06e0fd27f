//! A run whose trials are done on a guest's kernel.

use crate::stage::{Stage, lines, stderr};

#[test]
fn a_target_outside_cannot_be_reached_from_a_guest() {
    let stage = Stage::new(1, 1);
    let output = stage.run(&["--kernel", "guest", "--target", "http://127.0.0.1:8000"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(said.contains("cannot be reached from a guest's kernel"), "{said}");
    assert!(said.contains("hint: leave --kernel or --target out"), "{said}");
}

mod as_root {
    use super::*;
    use crate::stage::trials;

    #[test]
    fn every_record_of_a_run_in_a_guest_says_so() {
        bartizan_testing::needs_root();
        let stage = Stage::new(2, 1);
        let output = stage.run(&["--quick", "--kernel", "guest"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let release = said
            .split_once("on a guest's kernel, Linux ")
            .and_then(|(_, rest)| rest.split_once(':'));
        let (release, _) = release.unwrap_or_else(|| panic!("{said}"));
        assert!(
            said.contains("empty, runner; speeds there are not this machine's"),
            "{said}"
        );
        let file = stage.records_file();
        assert_eq!(lines(&file, "bartizan-lab-run/1")[0]["kernel"], "guest");
        let trials = trials(&file);
        assert_eq!(trials.len(), 7);
        for trial in &trials {
            let environment = &trial["environment"];
            assert_eq!(trial["outcome"], "measured", "{trial}");
            assert_eq!(environment["kernel_kind"], "guest");
            assert_eq!(environment["namespace"], "the guest's");
            // The guest's own load says nothing of what else its machine does.
            let under = &trial["under"];
            assert!(under["load"].as_f64().is_some_and(|load| load >= 0.0), "{trial}");
            assert!(under["processors"].as_u64().is_some_and(|count| count >= 1), "{trial}");
            assert_eq!(environment["kernel"], release, "{environment}");
        }
    }
}
