//! Build information of this binary for measurement records: commit, changes to the sources, cargo
//! features, compiler, and versions of the libraries that take time in a measurement.

#[path = "build/commit.rs"]
mod commit;
#[path = "build/libraries.rs"]
mod libraries;

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Sources of the product's binary, seen from the root of the repository: whether one differs from the commit is recorded.
const PRODUCT: &[&str] = &[
    "bartizan/src",
    "bartizan/build",
    "bartizan/build.rs",
    "crates",
    "deploy/free5gc-compose/deployment.yaml",
    "Cargo.lock",
    "Cargo.toml",
];
/// Sources of the laboratory's binary, which has this same build script.
const LABORATORY: &[&str] = &["bartizan/build", "bartizan/build.rs", "crates", "lab", "Cargo.toml"];

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let is_laboratory = variable("CARGO_PKG_NAME") == "bartizan-lab";
    let (root, sources) = if is_laboratory {
        (package.join("../.."), LABORATORY)
    } else {
        (package.join(".."), PRODUCT)
    };
    // The profile's `strip = "symbols"` does not reach a package with settings of its own.
    if !is_laboratory && variable("PROFILE") == "release" {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
    println!("cargo:rerun-if-env-changed={}", commit::VARIABLE);
    for source in sources {
        println!("cargo:rerun-if-changed={}", root.join(source).display());
    }
    let found = commit::find(&root, sources, env::var(commit::VARIABLE).ok().as_deref());
    for path in &found.watch {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    // Tests start this program thousands of times, and a quarter of a million addresses would be written each time.
    if variable("PROFILE") == "debug" && variable("TARGET") == variable("HOST") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    let set = |name: &str, value: &str| println!("cargo:rustc-env=BARTIZAN_BUILD_{name}={value}");
    match &found.commit {
        Ok(commit) => set("COMMIT", commit),
        Err(reason) => set("NO_COMMIT", reason),
    }
    set(
        "MODIFIED",
        found
            .modified
            .map_or("", |modified| if modified { "yes" } else { "no" }),
    );
    let features = env::vars().filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase()));
    let mut features: Vec<String> = features.collect();
    features.sort_unstable();
    set("FEATURES", &features.join(","));
    set("PROFILE", &variable("PROFILE"));
    set("OPTIMISED", &variable("OPT_LEVEL"));
    set("TARGET", &variable("TARGET"));
    // Builds that replace machine paths do not record the original paths.
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let flags = flags
        .split('\u{1f}')
        .filter(|flag| !flag.starts_with("--remap-path-prefix"));
    set("FLAGS", &flags.collect::<Vec<_>>().join(" "));
    let compiler = Command::new(variable("RUSTC")).arg("--version").output();
    let compiler = compiler.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    set("COMPILER", &compiler.unwrap_or_default());
    let lock = std::fs::read_to_string(package.join("../Cargo.lock")).unwrap_or_default();
    set("LIBRARIES", &libraries::versions(&lock).join(","));
}
