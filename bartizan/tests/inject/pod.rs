//! A pod's containers started from its specification, as a kubelet and a runtime do: one after the
//! other, each probe before the next, with the user, the groups and the capabilities of its
//! security context, in one network namespace. The images' file system is this machine's: paths
//! under which volumes are mounted are replaced by the volumes' own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_host::{Namespace, Process, Program};
use serde_json::Value;

use crate::redirect_stage::LONG;

/// A pod on one host of the stage.
pub(crate) struct Pod<'a> {
    spec: Value,
    namespace: &'a Namespace,
    address: &'a str,
    /// Folder of the volumes, and of the binary.
    folder: PathBuf,
}

impl<'a> Pod<'a> {
    /// `files` are the contents of ConfigMaps and Secrets, by their names and keys.
    pub(crate) fn new(
        pod: &Value,
        namespace: &'a Namespace,
        address: &'a str,
        folder: PathBuf,
        files: &dyn Fn(&str, &str) -> Option<Vec<u8>>,
    ) -> Self {
        let spec = pod["spec"].clone();
        for volume in spec["volumes"].as_array().unwrap() {
            let name = volume["name"].as_str().unwrap();
            if name.starts_with("bartizan-") {
                make(volume, &folder.join(name), files);
            }
        }
        Self {
            spec,
            namespace,
            address,
            folder,
        }
    }

    /// The init container of this place, started, and probed until a kubelet would start the next.
    pub(crate) fn start(&self, place: usize) -> Process {
        let container = &self.spec["initContainers"][place];
        assert_eq!(container["restartPolicy"], "Always", "it would have to end first");
        let line = [words(&container["command"]), words(&container["args"])].concat();
        let mut process = self.command(container, &line).start().unwrap();
        let probe = &container["startupProbe"];
        let number = |key: &str| probe[key].as_u64().unwrap();
        let patience = Duration::from_secs(number("periodSeconds") * number("failureThreshold"));
        let began = Instant::now();
        while !self.answers(container, "startupProbe") {
            let ended = process.ended().unwrap();
            assert!(ended.is_none(), "{}", process.tail());
            assert!(
                began.elapsed() < patience,
                "its probe never succeeded\n{}",
                process.tail()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        process
    }

    /// Returns true if a probe of a container succeeds.
    pub(crate) fn answers(&self, container: &Value, probe: &str) -> bool {
        let probe = &container[probe];
        let program = match &probe["httpGet"] {
            Value::Null => self.command(container, &words(&probe["exec"]["command"])),
            get => Program::new("curl")
                .arguments(["--silent", "--fail", "--max-time"])
                .argument(probe["timeoutSeconds"].to_string())
                .argument(format!(
                    "http://{}:{}{}",
                    self.address,
                    get["port"],
                    get["path"].as_str().unwrap()
                ))
                .inside(self.namespace),
        };
        program.run(LONG).is_ok()
    }

    pub(crate) fn container(&self, place: usize) -> &Value {
        &self.spec["initContainers"][place]
    }

    /// A command line with the rights of a container.
    fn command(&self, container: &Value, line: &[String]) -> Program {
        let security = &container["securityContext"];
        let number = |key: &str| security[key].as_u64().unwrap().to_string();
        assert_eq!(security["capabilities"]["drop"], serde_json::json!(["ALL"]));
        let mut capabilities = "-all".to_owned();
        for added in security["capabilities"]["add"].as_array().into_iter().flatten() {
            capabilities += &format!(",+{}", added.as_str().unwrap().to_ascii_lowercase());
        }
        assert_eq!(security["allowPrivilegeEscalation"], false);
        Program::new("setpriv")
            .arguments([
                "--reuid",
                &number("runAsUser"),
                "--regid",
                &number("runAsGroup"),
                "--clear-groups",
            ])
            .arguments([
                "--bounding-set",
                &capabilities,
                "--inh-caps",
                &capabilities,
                "--no-new-privs",
            ])
            .arguments(line.iter().map(|word| self.here(container, word)))
            .inside(self.namespace)
    }

    /// A path in the container, on this machine.
    fn here(&self, container: &Value, word: &str) -> String {
        if word == "/usr/bin/bartizan" {
            return self.folder.join("bartizan").display().to_string();
        }
        for mount in container["volumeMounts"].as_array().unwrap() {
            let path = mount["mountPath"].as_str().unwrap();
            if let Some(rest) = word.strip_prefix(path) {
                let volume = self.folder.join(mount["name"].as_str().unwrap());
                return format!("{}{rest}", volume.display());
            }
        }
        word.to_owned()
    }
}

fn words(list: &Value) -> Vec<String> {
    let all = list.as_array().into_iter().flatten();
    all.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// A volume as a kubelet makes it: files of root in a folder with a date, behind a link that is
/// exchanged when they change.
fn make(volume: &Value, folder: &Path, files: &dyn Fn(&str, &str) -> Option<Vec<u8>>) {
    fs::create_dir_all(folder).unwrap();
    if !volume["emptyDir"].is_null() {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        return;
    }
    let sources: Vec<&Value> = match &volume["projected"]["sources"] {
        Value::Null => vec![&volume["configMap"]],
        sources => {
            let all = sources.as_array().unwrap().iter();
            all.map(|source| {
                if source["secret"].is_null() {
                    &source["configMap"]
                } else {
                    &source["secret"]
                }
            })
            .collect()
        }
    };
    let mode = [&volume["projected"], &volume["configMap"]]
        .iter()
        .find_map(|one| one["defaultMode"].as_u64())
        .expect("a mode");
    let dated = folder.join("..2026_11_25_12_00_00");
    fs::create_dir(&dated).unwrap();
    symlink("..2026_11_25_12_00_00", folder.join("..data")).unwrap();
    for source in sources {
        let name = source["name"].as_str().unwrap();
        for item in source["items"].as_array().unwrap() {
            let (key, path) = (item["key"].as_str().unwrap(), item["path"].as_str().unwrap());
            let Some(bytes) = files(name, key) else {
                assert_eq!(source["optional"], true, "{name} has no {key}: the pod would not start");
                continue;
            };
            fs::write(dated.join(path), bytes).unwrap();
            fs::set_permissions(
                dated.join(path),
                fs::Permissions::from_mode(u32::try_from(mode).unwrap()),
            )
            .unwrap();
            chown(dated.join(path), Some(0), Some(0)).unwrap();
            symlink(format!("..data/{path}"), folder.join(path)).unwrap();
        }
    }
}
