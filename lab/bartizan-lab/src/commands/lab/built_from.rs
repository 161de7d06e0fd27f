//! Origin of this program, as its build script found it.

use bartizan_workbench::runner::trial::Build;

/// For the records.
pub(in crate::commands) fn build() -> Build {
    let words = |text: &str, by: char| -> Vec<String> {
        let words = text.split(by).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let flags = env!("BARTIZAN_BUILD_FLAGS");
    let compiler = env!("BARTIZAN_BUILD_COMPILER");
    Build {
        commit: option_env!("BARTIZAN_BUILD_COMMIT").map(str::to_owned),
        no_commit: option_env!("BARTIZAN_BUILD_NO_COMMIT").map(str::to_owned),
        modified: match env!("BARTIZAN_BUILD_MODIFIED") {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        },
        profile: format!(
            "{}, opt-level {}",
            env!("BARTIZAN_BUILD_PROFILE"),
            env!("BARTIZAN_BUILD_OPTIMISED")
        ),
        features: words(env!("BARTIZAN_BUILD_FEATURES"), ','),
        target: env!("BARTIZAN_BUILD_TARGET").to_owned(),
        compiler: if flags.is_empty() {
            compiler.to_owned()
        } else {
            format!("{compiler}, RUSTFLAGS {flags}")
        },
        libraries: words(env!("BARTIZAN_BUILD_LIBRARIES"), ','),
    }
}
