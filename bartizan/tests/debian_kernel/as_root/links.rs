//! The guard together with NAT, forwarding, other tables, other SAs and devices, over SAs that were keyed by hand.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::Duration;

use bartizan_host::Namespace;
use bartizan_testing::{Port, connect};
use nix::sys::socket::sockopt::BindToDevice;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, bind, sendto, setsockopt, socket,
};

use super::hosts::*;
use crate::boot::is_here;

const OWN: [(&str, u16); 2] = [(GNB, 0), (UPF, GTP_U)];
/// Waiting time for packets that must not come.
const SILENCE: Duration = Duration::from_millis(500);
const NOTHING: Left = Left { clear: 0, protected: 0 };
const MASQUERADE: &str =
    "chain p {\ntype nat hook postrouting priority srcnat;\nip saddr 10.80.0.2 snat ip to 10.78.0.1\n}";

#[test]
fn packets_that_nat_makes_the_links_own_leave_encrypted_or_not_at_all() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    let container = [(CONTAINER, 0), (UPF, GTP_U)];
    hosts.others(MASQUERADE);
    // Without a guard the packets are seen.
    let before = hosts.leaving(|| send(&hosts.third, container, 100));
    assert_eq!(before, Left { clear: MANY, ..NOTHING });

    hosts.install();
    let without = hosts.leaving(|| {
        send(&hosts.third, container, 100);
        send(&hosts.gnb, OWN, 100);
    });
    assert_eq!(without, NOTHING);
    assert_eq!(hosts.dropped("leaving"), 2 * MANY as u64);
    hosts.key();
    let with = hosts.leaving(|| {
        send(&hosts.third, container, 100);
        send(&hosts.gnb, OWN, 100);
    });
    assert_eq!(
        with,
        Left {
            protected: 2 * MANY,
            ..NOTHING
        }
    );
    // charon killed, and all that it had in the kernel with it.
    hosts.unkey();
    let after = hosts.leaving(|| send(&hosts.third, container, 100));
    assert_eq!(after, NOTHING);
    assert_eq!(hosts.shown()["guard"], "installed");
}

#[test]
fn packets_of_the_link_that_nat_gives_another_address_do_not_leave() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    // The most common rule there is: it takes the link's packets out of the traffic selectors,
    // after an SA was found for them.
    hosts.others("chain p {\ntype nat hook postrouting priority srcnat;\noifname \"v0\" masquerade\n}");
    hosts.install();
    hosts.key();
    let behind = [(BEHIND, 0), (UPF, GTP_U)];
    let left = hosts.leaving(|| {
        send(&hosts.gnb, OWN, 100);
        send(&hosts.third, behind, 100);
    });
    assert_eq!(left, NOTHING);
    assert_eq!(hosts.dropped("translated"), 2 * MANY as u64);
    // As strongSwan's documents have it: what is to be encrypted is exempt.
    hosts.others(
        "chain p {\ntype nat hook postrouting priority srcnat;\nrt ipsec exists accept\noifname \"v0\" masquerade\n}",
    );
    let left = hosts.leaving(|| send(&hosts.gnb, OWN, 100));
    assert_eq!(
        left,
        Left {
            protected: MANY,
            ..NOTHING
        }
    );
    // Another destination is no way round either.
    hosts.others("chain p {\ntype nat hook output priority -100;\nip daddr 10.78.0.2 dnat ip to 10.77.0.2\n}");
    let left = hosts.leaving(|| send(&hosts.gnb, OWN, 100));
    assert_eq!(left, NOTHING);
    // One by which a packet becomes the link's is judged by what it becomes.
    hosts.others("chain p {\ntype nat hook output priority -100;\nip daddr 10.99.0.9 dnat ip to 10.78.0.2\n}");
    batch(&hosts.gnb, "route add 10.99.0.9 via 10.77.0.2\n");
    let virtual_address = [(GNB, 0), ("10.99.0.9", GTP_U)];
    let left = hosts.leaving(|| send(&hosts.gnb, virtual_address, 100));
    assert_eq!(
        left,
        Left {
            protected: MANY,
            ..NOTHING
        }
    );
    hosts.unkey();
    let left = hosts.leaving(|| send(&hosts.gnb, virtual_address, 100));
    assert_eq!(left, NOTHING);
}

#[test]
fn packets_that_arrive_unprotected_reach_neither_this_host_nor_one_behind_nat() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    let listens = |space: &Namespace, address: &str| {
        let address: SocketAddr = format!("{address}:{GTP_U}").parse().expect("an address");
        space
            .enter(|| UdpSocket::bind(address).expect("a socket"))
            .expect("a namespace")
    };
    // Expected packets are waited for with patience, further ones for a moment.
    let hears = |socket: &UdpSocket, wanted: usize| {
        let mut heard = 0;
        loop {
            let patience = if heard < wanted { LONG } else { SILENCE };
            socket.set_read_timeout(Some(patience)).expect("a bound");
            if socket.recv(&mut [0; 200]).is_err() {
                return heard;
            }
            heard += 1;
        }
    };
    let own = listens(&hosts.gnb, GNB);
    let container = listens(&hosts.third, CONTAINER);
    let to = |address| [(UPF, GTP_U), (address, GTP_U)];
    send(&hosts.upf, to(GNB), 100);
    assert_eq!(hears(&own, MANY), MANY, "it is heard where nothing keeps it");
    hosts.install();
    for address in [GNB, BEHIND] {
        send(&hosts.upf, to(address), 100);
    }
    assert_eq!(hears(&own, 0), 0);
    assert_eq!(hosts.dropped("arriving"), 2 * MANY as u64);

    // For the link's own address, and led to another behind it.
    hosts.others("chain p {\ntype nat hook prerouting priority dstnat;\nip daddr 10.78.0.1 dnat ip to 10.80.0.2\n}");
    send(&hosts.upf, to(GNB), 100);
    assert_eq!((hears(&own, 0), hears(&container, 0)), (0, 0));
    // For another address, and led to the link's own.
    hosts.others("chain p {\ntype nat hook prerouting priority dstnat;\nip daddr 10.77.0.1 dnat ip to 10.78.0.1\n}");
    send(&hosts.upf, to("10.77.0.1"), 100);
    assert_eq!(hears(&own, 0), 0);
    assert_eq!(hosts.dropped("arriving"), 4 * MANY as u64);

    // Packets of an SA of the link arrive, also behind NAT.
    hosts.others("chain p {\ntype nat hook prerouting priority dstnat;\nudp dport 2153 dnat ip to 10.80.0.2:2152\n}");
    hosts.key();
    send(&hosts.upf, to(GNB), 100);
    assert_eq!(hears(&own, MANY), MANY);
    send(&hosts.upf, [(UPF, GTP_U), (GNB, 2153)], 100);
    assert_eq!(hears(&container, MANY), MANY);
}

/// Expressions of the rules for a kernel without `nft_xfrm`, and of operators' own rules.
#[test]
fn whether_an_sa_is_for_a_packet_or_brought_it_is_what_rt_ipsec_and_meta_secpath_say() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    hosts.install();
    hosts.others(
        "counter for { }\ncounter without { }\ncounter brought { }\ncounter bare { }\n\
         chain o {\ntype filter hook postrouting priority 300;\nip daddr != 10.78.0.2 accept\nmeta l4proto != udp accept\n\
         rt ipsec exists counter name for accept\nrt ipsec missing counter name without\n}\n\
         chain i {\ntype filter hook input priority 300;\nip saddr != 10.78.0.2 accept\nmeta l4proto != udp accept\n\
         meta secpath exists counter name brought accept\nmeta secpath missing counter name bare\n}",
    );
    // No socket listens: the ICMP errors are in the link's SAs too, and are not counted.
    let both = || {
        send(&hosts.gnb, OWN, 100);
        send(&hosts.upf, [(UPF, GTP_U), (GNB, GTP_U)], 100);
    };
    let counted = || {
        ["for", "without", "brought", "bare"].map(|counter| {
            let listed = hosts.listed(&["list", "counter", "inet", "others", counter]);
            let words: Vec<_> = listed.split_whitespace().collect();
            let place = words.iter().position(|word| *word == "packets").expect("a counter");
            words[place + 1].parse::<usize>().expect("a number")
        })
    };
    hosts.key();
    both();
    assert_eq!(counted(), [MANY, 0, MANY, 0]);
    hosts.unkey();
    both();
    // Packets without an SA are dropped by the guard before the input hook.
    assert_eq!(counted(), [MANY, MANY, MANY, 0]);
}

#[test]
fn an_sa_of_somebody_else_protects_nothing_of_the_link() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    hosts.install();
    // A tunnel for everything, to another gateway: it has an SA and a policy for the link's packets too.
    let gateway = Namespace::create("gateway").expect("a namespace");
    let port = |space, address| Port::new(space, "g0").address(address).expect("an address");
    connect(&port(&hosts.gnb, "10.76.0.1/24"), &port(&gateway, "10.76.0.2/24"), 1500).expect("a cable");
    hosts.key_as("7", "10.76.0.2", &[("0.0.0.0/0", "0.0.0.0/0")], &gateway);
    let left = hosts.leaving(|| send(&hosts.gnb, OWN, 100));
    assert_eq!(left, NOTHING);
    assert_eq!(hosts.dropped("leaving"), MANY as u64, "it had an SA, of somebody else");
}

#[test]
fn nothing_unprotected_leaves_over_ipv6_in_fragments_from_behind_or_from_raw_and_bound_sockets() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    let everything = || {
        send(&hosts.gnb, [(GNB_V6, 0), (UPF_V6, GTP_U)], 100);
        send(&hosts.gnb, [(GNB_V6, 0), (UPF_V6, GTP_U)], 4000);
        send(&hosts.gnb, OWN, 4000);
        send(&hosts.third, [(BEHIND, 0), (UPF, GTP_U)], 4000);
        raw(&hosts.gnb);
        bound(&hosts.gnb, "v0");
    };
    let before = hosts.leaving(everything);
    // One, three fragments, three, three, one, one; a kernel that sees no more is not the one that is meant.
    assert_eq!(
        before,
        Left {
            clear: 12 * MANY,
            ..NOTHING
        }
    );
    hosts.install();
    assert_eq!(hosts.leaving(everything), NOTHING);
    // With another table that accepts earlier or later, and without connection tracking.
    hosts.others(
        "chain a {\ntype filter hook output priority -400;\naccept\n}\nchain b {\ntype filter hook postrouting priority 500;\naccept\n}\n\
         chain c {\ntype filter hook output priority raw;\nnotrack\n}\nchain d {\ntype filter hook prerouting priority raw;\nnotrack\n}",
    );
    assert_eq!(hosts.leaving(everything), NOTHING);
    hosts.others("");
    // By way of a VRF.
    batch(
        &hosts.gnb,
        "link add red type vrf table 100\nlink set red up\naddress add 10.78.0.1/32 dev red\nroute add table 100 10.78.0.2 via 10.77.0.2 dev v0 onlink\n",
    );
    let left = hosts.leaving(|| bound(&hosts.gnb, "red"));
    assert_eq!(left, NOTHING);
    // All of it passes once there is an SA, but what was bound to a device of another routing table.
    hosts.key();
    let with = hosts.leaving(|| {
        send(&hosts.gnb, [(GNB_V6, 0), (UPF_V6, GTP_U)], 100);
        send(&hosts.gnb, OWN, 100);
        send(&hosts.third, [(BEHIND, 0), (UPF, GTP_U)], 100);
        bound(&hosts.gnb, "v0");
    });
    assert_eq!(
        with,
        Left {
            protected: 4 * MANY,
            ..NOTHING
        }
    );
}

/// A GTP-U packet with an IP header of our own, which no policy of the kernel's ESP sees.
fn raw(space: &Namespace) {
    let open = || {
        socket(
            AddressFamily::Inet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::Raw,
        )
    };
    let socket: OwnedFd = space.enter(open).expect("a namespace").expect("a socket");
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend([10, 78, 0, 1, 10, 78, 0, 2]);
    packet.extend([0x9c, 0x40, 0x08, 0x68, 0, 12, 0, 0]);
    packet.extend(b"GTP?");
    for _ in 0..MANY {
        let _ = sendto(
            socket.as_raw_fd(),
            &packet,
            &SockaddrIn::new(10, 78, 0, 2, 0),
            MsgFlags::empty(),
        );
    }
}

/// From a socket that is bound to a device before it is to the link's address.
fn bound(space: &Namespace, device: &str) {
    let send = || {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
        setsockopt(&socket, BindToDevice, &device.into()).expect("bound to the device");
        bind(socket.as_raw_fd(), &SockaddrIn::new(10, 78, 0, 1, 0)).expect("bound to the address");
        let to = SockaddrIn::new(10, 78, 0, 2, GTP_U);
        for _ in 0..MANY {
            let _ = sendto(socket.as_raw_fd(), &[b'x'; 100], &to, MsgFlags::empty());
        }
    };
    space.enter(send).expect("a namespace");
}

#[test]
fn connections_that_a_flowtable_has_taken_over_pass_no_more_once_the_guard_is_there() {
    if !is_here() {
        return;
    }
    let hosts = Hosts::new();
    // UDP is handed over once it was answered; whatever comes answers itself here.
    let answering = |address: &str| {
        let at = format!("{address}:{GTP_U}");
        let socket = hosts
            .upf
            .enter(|| UdpSocket::bind(at).expect("a socket"))
            .expect("a namespace");
        std::thread::spawn(move || {
            let mut buffer = [0; 200];
            // It ends with the process: nothing tells a blocked receiver to stop.
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..length], from);
            }
        });
    };
    answering(UPF);
    let asking = || {
        let from = format!("{BEHIND}:4001");
        let socket = hosts
            .third
            .enter(|| UdpSocket::bind(from).expect("a socket"))
            .expect("a namespace");
        socket.connect((UPF, GTP_U)).expect("an address");
        socket
    };
    let socket = asking();
    let ask = |patience: Duration| {
        let mut answers = 0;
        socket.set_read_timeout(Some(patience)).expect("a bound");
        for _ in 0..2 * MANY {
            let _ = socket.send(b"GTP?");
            answers += usize::from(socket.recv(&mut [0; 200]).is_ok());
        }
        answers
    };
    hosts.others(
        "flowtable f {\nhook ingress priority 0\ndevices = { v0, b0 }\n}\n\
         chain on {\ntype filter hook forward priority 0\nmeta l4proto udp flow add @f\n}",
    );
    let before = hosts.leaving(|| assert_eq!(ask(LONG), 2 * MANY));
    assert_eq!(
        before,
        Left {
            clear: 2 * MANY,
            ..NOTHING
        }
    );
    hosts.install();
    let without = hosts.leaving(|| assert_eq!(ask(SILENCE), 0));
    assert_eq!(without, NOTHING);
    hosts.key();
    let with = hosts.leaving(|| assert_eq!(ask(LONG), 2 * MANY));
    assert_eq!(
        with,
        Left {
            protected: 2 * MANY,
            ..NOTHING
        }
    );
    hosts.unkey();
    let after = hosts.leaving(|| assert_eq!(ask(SILENCE), 0));
    assert_eq!(after, NOTHING);
    // The flowtable that remains is named in `guard show`.
    assert_eq!(hosts.shown()["flowtables"], serde_json::json!(["inet others f"]));
}
