//! Commands of an operator from an empty daemon to an SA that is up: `bartizan up`, or `swanctl
//! --load-all` and `swanctl --initiate` over the same connection.

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bartizan_deployment::{Deployment, day_of};
use bartizan_host::{Namespace, Program};
use bartizan_ipsec::render::{Connection, Credentials, connections};
use bartizan_ipsec::vici::{Section, Value};
use bartizan_ipsec::{Charon, drive};

use super::link::{ENDS, Link};
use crate::stand_in::charons::{PATIENCE, Papers, refused};
use crate::workload::Error;

/// The key exchange of the policy `hybrid`, which is the one there is here.
pub(super) const KEY_EXCHANGE: &str = "x25519-ke1_mlkem768";

/// Run with: root, directory of the charon, swanctl's directory, child, connection. The mounts are
/// in a namespace of their own.
const SWANCTL: &str = r#"set -e
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=755 tmpfs "$1/run"
mkdir "$1/run/bartizan" "$1/run/swanctl"
mount --bind "$2" "$1/run/bartizan"
mount --bind "$3" "$1/run/swanctl"
export SWANCTL_DIR=/run/swanctl
chroot "$1" /usr/sbin/swanctl --load-all --uri unix:///run/bartizan/charon.vici
exec chroot "$1" /usr/sbin/swanctl --initiate --child "$4" --ike "$5" --uri unix:///run/bartizan/charon.vici"#;

/// Names of files in swanctl's directory.
const CERTIFICATE: &str = "own.pem";
const ROOT: &str = "root.pem";

/// A deployment of the two ends, and the same as swanctl has it.
pub(super) struct Whole {
    own: PathBuf,
    file: PathBuf,
    swanctl: PathBuf,
    root: PathBuf,
    connection: String,
    child: String,
}

impl Whole {
    /// Writes both into the folder, and has the responder's charon configured by `bartizan up`.
    pub(super) fn prepare(
        folder: &Path,
        own: &Path,
        root: &Path,
        link: &Link,
        number: u8,
        papers: &Papers,
    ) -> Result<Self, Error> {
        let place = papers.folder();
        let file = place.join("up.yaml");
        let node = |end: usize, function: &str| {
            let (name, identity) = (ENDS[end], papers.identity(end));
            format!(
                "  {name}: {{ function: {function}, address: 10.77.{number}.{}, names: {{ dns: [{identity}] }}, \
                 ipsec: {{ certificate: {identity}.crt.pem, key: {identity}.key.pem, roots: ca.crt.pem }} }}\n",
                end + 1
            )
        };
        let text = format!(
            "policy: hybrid\nnodes:\n{}{}interfaces:\n  - {{ kind: E2, between: [{}, {}], with: ipsec, \
             ipsec: {{ inner: {{ {}: [10.78.{number}.1], {}: [10.78.{number}.2] }} }} }}\n",
            node(0, "O-CU-CP"),
            node(1, "near-RT RIC"),
            ENDS[0],
            ENDS[1],
            ENDS[0],
            ENDS[1],
        );
        // Next to the certificates, which it names as they stand there.
        fs::write(&file, &text).map_err(Error::file(&file))?;
        let ours = |error: &dyn std::fmt::Display| Error::Configuration(format!("up.yaml: {error}"));
        let deployment = Deployment::parse(&text, "up.yaml", place).map_err(|error| ours(&error))?;
        let connection = rendered(&deployment, link).map_err(|error| ours(&*error))?;
        let whole = Self {
            own: own.to_owned(),
            file,
            swanctl: folder.join("swanctl"),
            root: root.to_owned(),
            child: connection
                .children
                .first()
                .map(|child| child.name.clone())
                .unwrap_or_default(),
            connection: connection.name.clone(),
        };
        whole.write_swanctl(&connection, papers)?;
        whole.reported(1, link.responder(), &link.responder_socket(), PATIENCE)?;
        Ok(whole)
    }

    fn write_swanctl(&self, connection: &Connection, papers: &Papers) -> Result<(), Error> {
        let (certificate, key) = papers.of(0);
        let text = swanctl_conf(&connection.load());
        let files: [(&str, &str, &[u8]); 4] = [
            ("", "swanctl.conf", text.as_bytes()),
            ("x509", CERTIFICATE, certificate),
            ("x509ca", ROOT, papers.root()),
            ("private", CERTIFICATE, key),
        ];
        for (directory, name, bytes) in files {
            let directory = self.swanctl.join(directory);
            fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
            let path = directory.join(name);
            let mut options = fs::OpenOptions::new();
            let file = options.write(true).create_new(true).mode(0o600).open(&path);
            let written = file.and_then(|mut file| io::Write::write_all(&mut file, bytes));
            written.map_err(Error::file(&path))?;
        }
        Ok(())
    }

    /// Takes everything out of the initiator's charon, so that it is configured anew.
    pub(super) fn forget(&self, link: &Link) -> Result<(), Error> {
        let mut client = link.client()?;
        for name in drive::list_connections(&mut client).map_err(refused)? {
            let ask = Section::new().with("name", name);
            client.command("unload-conn", ask).map_err(refused)?;
        }
        client.command("clear-creds", Section::new()).map(drop).map_err(refused)
    }

    /// `bartizan up` at the initiator.
    pub(super) fn up(&self, link: &Link, patience: Duration) -> Result<(), Error> {
        self.reported(0, link.initiator(), &link.socket(), patience)
    }

    /// Next to its charon, whose host is where `up` sees to it that nothing leaves unencrypted.
    fn reported(&self, end: usize, host: &Namespace, socket: &Path, patience: Duration) -> Result<(), Error> {
        let program = Program::new(&self.own).inside(host).argument("up").argument(&self.file);
        let program = program.arguments(["--node", ENDS[end], "--vici"]).argument(socket);
        program.run(patience)?;
        Ok(())
    }

    /// `swanctl --load-all` and `swanctl --initiate` at the initiator.
    pub(super) fn swanctl(&self, link: &Link, patience: Duration) -> Result<(), Error> {
        let socket = link.socket();
        let program = Program::new("unshare")
            .package("util-linux")
            .arguments(["--mount", "--propagation", "private", "sh", "-c", SWANCTL, "swanctl"])
            .argument(&self.root)
            .argument(socket.parent().unwrap_or(&socket))
            .argument(&self.swanctl)
            .arguments([&self.child, &self.connection]);
        program.run(patience)?;
        Ok(())
    }
}

/// The connection that `bartizan up` loads into the initiator's charon.
fn rendered(deployment: &Deployment, link: &Link) -> Result<Connection, Box<dyn std::error::Error>> {
    let files = deployment.node(ENDS[0]).and_then(|node| node.ipsec.clone());
    let credentials = Credentials::read(&files.ok_or("no files")?)?;
    let charon = Charon::ask(&mut link.client()?)?;
    let today = day_of(SystemTime::now());
    let all = connections(deployment, ENDS[0], &credentials, charon.means(), today)?;
    Ok(all.into_iter().next().ok_or("no connection")?)
}

/// A message of `load-conn` as swanctl.conf(5) has it; certificates are files there.
fn swanctl_conf(message: &Section) -> String {
    format!("connections {{\n{}}}\n", settings(message))
}

fn settings(section: &Section) -> String {
    let line = |(name, value): (&str, &Value)| match value {
        Value::Section(section) => format!("{name} {{\n{}}}\n", settings(section)),
        Value::List(_) if name == "certs" => format!("{name} = {CERTIFICATE}\n"),
        Value::List(_) if name == "cacerts" => format!("{name} = {ROOT}\n"),
        Value::List(_) => format!("{name} = {}\n", section.list(name).collect::<Vec<_>>().join(", ")),
        Value::Data(_) => format!("{name} = {}\n", section.text(name).unwrap_or_default()),
    };
    section.entries().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_written_for_swanctl_with_its_certificates_as_files() {
        let local = Section::new().with("auth", "pubkey").with_list("certs", [[0x30, 0x82]]);
        let connection = Section::new()
            .with("version", "2")
            .with_list("proposals", ["one", "other"])
            .with_section("local", local);
        assert_eq!(
            swanctl_conf(&Section::new().with_section("a--b", connection)),
            "connections {\na--b {\nversion = 2\nproposals = one, other\nlocal {\nauth = pubkey\ncerts = own.pem\n}\n}\n}\n"
        );
    }
}
