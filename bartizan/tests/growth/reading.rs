//! Captures and their comparison.

use std::net::Ipv4Addr;

use super::capture::connections;
use super::stage::grows_with;

const READ: &[i32] = &[0, 1];

/// A capture of this many links, each of a client of its own with its own server.
fn links(count: usize) -> Vec<u8> {
    let address = |first: u32, number: usize| Ipv4Addr::from(first + u32::try_from(number).unwrap());
    connections((0..count).map(|number| [address(0x0a00_0001, number), address(0x0b00_0001, number)]))
}

#[test]
fn inspect_grows_with_links() {
    let place = tempfile::tempdir().unwrap();
    let capture = place.path().join("links.pcap");
    grows_with("inspect", 500, READ, |size| {
        std::fs::write(&capture, links(size)).unwrap();
        ["inspect", capture.to_str().unwrap()].map(str::to_owned).to_vec()
    });
}

#[test]
fn comparison_of_two_captures_grows_with_their_links() {
    let place = tempfile::tempdir().unwrap();
    let [before, after] = ["before.pcap", "after.pcap"].map(|name| place.path().join(name));
    grows_with("inspect diff", 500, READ, |size| {
        std::fs::write(&before, links(size)).unwrap();
        std::fs::write(&after, links(size + size / 10)).unwrap();
        let [before, after] = [&before, &after].map(|path| path.to_str().unwrap());
        ["inspect", "diff", before, after].map(str::to_owned).to_vec()
    });
}
