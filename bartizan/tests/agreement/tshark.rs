//! tshark 4.4 out of the lab root, and ourselves: the same capture, read by both.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use bartizan_host::LabRoot;
use serde_json::Value;

/// Long enough for a machine that builds something else beside the tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the end of a program's output is kept of (`Finished::stdout`).
const KEPT: usize = 256 * 1024;

/// From field to values, of one packet.
pub(crate) type Row = BTreeMap<String, Vec<String>>;

pub(crate) fn root() -> LabRoot {
    let root = LabRoot::trixie().expect("a cache directory").present();
    root.expect("no lab root: `make lab-root` builds it, and `make test` does so first")
}

/// Runs a program of Wireshark to its end; what it prints.
pub(crate) fn wireshark<A: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = A>) -> String {
    let program = root()
        .command(program)
        .expect("the lab root has it")
        .arguments(arguments);
    let finished = program.run(PATIENCE).unwrap_or_else(|error| panic!("{error}"));
    assert!(finished.stdout.len() < KEPT, "the beginning of its output is lost");
    String::from_utf8(finished.stdout).unwrap()
}

/// The fields of every packet that `filter` lets through.
pub(crate) fn rows(file: &Path, options: &[&str], filter: &str, fields: &[&str]) -> Vec<Row> {
    let mut arguments: Vec<&OsStr> = vec![OsStr::new("-r"), file.as_os_str()];
    let display = ["-Y", filter, "-T", "fields", "-E", "occurrence=a"];
    let separators = ["-E", "aggregator=,", "-E", "separator=/t"];
    let wanted = fields.iter().flat_map(|field| ["-e", field]);
    let all = options.iter().copied().chain(display).chain(separators).chain(wanted);
    arguments.extend(all.map(OsStr::new));
    let row = |line: &str| {
        let values = line.split('\t').map(|cell| {
            let values = cell.split(',').filter(|value| !value.is_empty());
            values.map(str::to_owned).collect()
        });
        fields.iter().map(|field| (*field).to_owned()).zip(values).collect()
    };
    wireshark("tshark", arguments).lines().map(row).collect()
}

/// Code points and sizes, however tshark writes them: `0x11ec` or `4588`.
pub(crate) fn numbers(values: &[String]) -> Vec<u64> {
    let number = |value: &String| match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    values.iter().map(|value| number(value).unwrap()).collect()
}

/// The fields that [`ends`] needs.
pub(crate) const ENDS: [&str; 6] = ["ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport"];

/// Who sent a packet to whom.
pub(crate) fn ends(row: &Row) -> (SocketAddr, SocketAddr) {
    let end = |v4: &str, v6: &str, port: &str| {
        let address = row[v4].first().or(row[v6].first()).expect("an address");
        SocketAddr::new(address.parse().unwrap(), u16::try_from(numbers(&row[port])[0]).unwrap())
    };
    (
        end("ip.src", "ipv6.src", "tcp.srcport"),
        end("ip.dst", "ipv6.dst", "tcp.dstport"),
    )
}

pub(crate) fn capture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/prove/wire/tests/data")
        .join(name)
}

/// Polls until it is so.
pub(crate) fn eventually<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What we read of a capture.
pub(crate) fn inspect(file: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--json"])
        .arg(file)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn connections(document: &Value) -> &Vec<Value> {
    document["files"][0]["connections"].as_array().unwrap()
}

/// Connections by client and server; each capture has a pair once.
pub(crate) fn by_ends(document: &Value) -> BTreeMap<(SocketAddr, SocketAddr), &Value> {
    let end = |connection: &Value, side: &str| connection[side].as_str().unwrap().parse().unwrap();
    let all = connections(document).iter();
    let found: BTreeMap<_, _> = all
        .map(|connection| ((end(connection, "client"), end(connection, "server")), connection))
        .collect();
    assert_eq!(
        found.len(),
        connections(document).len(),
        "a pair of ports was used twice"
    );
    found
}

/// Connections that have this member, by a string in it.
pub(crate) fn by_member<'a>(document: &'a Value, member: &str, key: &str) -> BTreeMap<String, &'a Value> {
    let of = |connection: &'a Value| Some((connection[member][key].as_str()?.to_owned(), connection));
    connections(document).iter().filter_map(of).collect()
}

/// A field of each item of a list.
pub(crate) fn list(value: &Value, field: &str) -> Vec<u64> {
    let items = value.as_array().unwrap().iter();
    items.map(|item| item[field].as_u64().unwrap()).collect()
}

#[test]
fn the_judge_is_tshark_4_4() {
    let version = wireshark("tshark", ["--version"]);
    assert!(version.starts_with("TShark (Wireshark) 4.4."), "{version}");
}
