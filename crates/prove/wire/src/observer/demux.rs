//! From a captured frame to what its packet belongs to: through tags, labels and tunnels, and fragments put together.

use super::associations::Associations;
use super::datagrams::Datagrams;
use super::ipsec::Ipsec;
use super::memory::Bounds;
use super::paths::PathId;
use super::{Arrived, FlowKind, Observer, Sink, Unread};
use crate::connection::Captured;
use crate::datagrams::DatagramProtocol;
use crate::decapsulation::{self, DEPTH, Payload};
use crate::end::{Address, End};
use crate::frames::{FrameProtocol, Station};
use crate::housekeeping::{self, Content};
use crate::ip::{self, Datagram, Fragment, Taken};
use crate::link::{self, Frame};
use crate::path::{Encapsulation, Layer};
use crate::{Moment, Packet, tcp, udp};

/// State that a packet may belong to, and its limits.
pub(super) struct Parts<'a> {
    datagrams: &'a mut Datagrams,
    pub(super) ipsec: &'a mut Ipsec,
    associations: &'a mut Associations,
    pub(super) bounds: Bounds<'a>,
}

/// The header of a packet's transport is not there, or cannot be right.
pub(super) struct Unreadable;

/// The packets of the capture that brought something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin {
    /// The one that completed it.
    pub(super) at: Moment,
    /// The first with a part of it.
    pub(super) first: Moment,
    pub(super) captured: Captured,
    /// Bytes of its last frame that were not captured.
    pub(super) missing: usize,
}

impl Origin {
    /// The same, for what is counted elsewhere.
    pub(super) fn uncounted(&self) -> Self {
        Self {
            captured: Captured::default(),
            ..*self
        }
    }
}

impl Observer {
    /// Follows a packet to what it belongs to.
    pub(super) fn follow(&mut self, packet: &Packet<'_>, at: Moment, sink: &mut impl Sink) {
        let origin = Origin {
            at,
            first: at,
            captured: Captured {
                packets: 1,
                bytes: packet.data.len() as u64,
            },
            missing: (packet.original_length as usize).saturating_sub(packet.data.len()),
        };
        let mut layers = std::mem::take(&mut self.layers);
        layers.clear();
        let unread = match link::carried(packet.link, packet.data) {
            Frame::Carries(carried) => {
                let payload = decapsulation::reach(carried, &mut layers);
                let merged = self.interfaces.is_of_several(packet.interface, &payload, &layers);
                self.totals.merged += u64::from(merged);
                let followed = self.payload(payload, &origin, &mut layers, sink);
                (!followed).then_some(Unread::Malformed)
            }
            Frame::UnknownLink => Some(Unread::LinkType(packet.link.0)),
            Frame::Short => Some(Unread::Malformed),
        };
        if let Some(unread) = unread {
            self.unread(unread, origin.captured);
        }
        self.layers = layers;
    }

    /// Follows what a frame or a tunnel carries; says whether it could be read.
    fn payload(
        &mut self,
        payload: Payload<'_>,
        origin: &Origin,
        layers: &mut Vec<Layer>,
        sink: &mut impl Sink,
    ) -> bool {
        match payload {
            Payload::Ip(bytes) => match ip::datagram(bytes) {
                Some(datagram) => {
                    match bytes.split_first_chunk::<40>() {
                        Some((header, rest)) if datagram.source.is_ipv6() => {
                            self.options(header[6], rest, &datagram, origin, layers);
                        }
                        _ => {
                            let options = ip::unread_options_of_ipv4(bytes).unwrap_or_default();
                            self.surplus(options, &datagram, origin, layers);
                        }
                    }
                    let trailer = bytes.get(datagram.length..).unwrap_or_default();
                    if !housekeeping::is_trailer(trailer) {
                        self.surplus(trailer, &datagram, origin, layers);
                    }
                    self.datagram(datagram, origin, layers, sink);
                    true
                }
                None => false,
            },
            Payload::Other(protocol, _, bytes) if housekeeping::is_within_frame(protocol, bytes) => {
                self.unread(Unread::Frame(protocol), origin.captured);
                true
            }
            Payload::Other(protocol, stations, bytes) => self.frame(protocol, stations, bytes, origin, layers, sink),
            Payload::Short => false,
        }
    }

    /// A frame without IP: it is between its stations, or between the ends of the tunnel it came in.
    fn frame(
        &mut self,
        protocol: FrameProtocol,
        stations: Option<[Station; 2]>,
        bytes: &[u8],
        origin: &Origin,
        layers: &[Layer],
        sink: &mut impl Sink,
    ) -> bool {
        if let (FrameProtocol::Type(kind), Some(stations)) = (protocol, stations)
            && let Some(path) = self.paths.id(layers, origin.at.time, &mut self.memory)
        {
            let Parts {
                datagrams, mut bounds, ..
            } = self.parts();
            if datagrams.frame(kind, stations, bytes, path, origin, &mut bounds, sink) {
                return true;
            }
        }
        let tunnel = layers.iter().rev().find_map(|layer| layer.between);
        let ends = match (stations, tunnel) {
            (Some(stations), _) => stations.map(End::Station),
            (None, Some(hosts)) => hosts.map(End::Host),
            (None, None) => {
                // Beyond the bounds of its kind.
                let contradicts = protocol.is_housekeeping();
                let unread = if contradicts {
                    Unread::Malformed
                } else {
                    Unread::Frame(protocol)
                };
                self.unread(unread, origin.captured);
                return true;
            }
        };
        self.anonymous(
            DatagramProtocol::Frame(protocol),
            ends,
            bytes.len() as u64,
            origin,
            layers,
        );
        true
    }

    /// Unknown options of IPv6 are a conversation of its hosts of their own, whatever else the packet carries.
    fn options(&mut self, protocol: u8, rest: &[u8], datagram: &Datagram<'_>, origin: &Origin, layers: &[Layer]) {
        let Some(header) = ip::unread_options(protocol, rest) else {
            return;
        };
        self.next_to(DatagramProtocol::Ip(header), rest, datagram, origin, layers);
    }

    /// Bytes to which no length leads are one as well.
    fn surplus(&mut self, bytes: &[u8], datagram: &Datagram<'_>, origin: &Origin, layers: &[Layer]) {
        if bytes.iter().any(|byte| *byte != 0) {
            self.next_to(DatagramProtocol::Surplus, bytes, datagram, origin, layers);
        }
    }

    /// A conversation of the hosts of a packet that is counted with what it carries.
    fn next_to(
        &mut self,
        protocol: DatagramProtocol,
        bytes: &[u8],
        datagram: &Datagram<'_>,
        origin: &Origin,
        layers: &[Layer],
    ) {
        let ends = [datagram.source, datagram.destination].map(End::Host);
        let origin = origin.uncounted();
        self.anonymous(protocol, ends, bytes.len() as u64, &origin, layers);
    }

    fn datagram(&mut self, datagram: Datagram<'_>, origin: &Origin, layers: &mut Vec<Layer>, sink: &mut impl Sink) {
        if datagram.fragment == Fragment::Whole {
            return self.transport(&datagram, origin, layers, sink);
        }
        let Some(path) = self.paths.id(layers, origin.at.time, &mut self.memory) else {
            return self.omit_unnamed(&datagram, origin);
        };
        let taken = self.fragments.take_in(path.0, &datagram, origin.at, origin.captured);
        self.abandoned();
        let Taken::Whole {
            payload,
            protocol,
            length,
            first,
            captured,
            ..
        } = taken
        else {
            return;
        };
        self.totals.reassembled += 1;
        let origin = Origin {
            first,
            captured,
            ..*origin
        };
        let parts = Datagram { length, ..datagram };
        if parts.source.is_ipv6() {
            self.options(protocol, &payload, &parts, &origin, layers);
        }
        match ip::put_together(&parts, protocol, &payload) {
            Some(whole) => self.transport(&whole, &origin, layers, sink),
            None => self.unreadable(&parts, &origin, layers),
        }
    }

    /// Parts of packets that were given up since belong to their hosts.
    pub(super) fn abandoned(&mut self) {
        for one in self.fragments.take_abandoned() {
            let origin = Origin {
                at: one.last,
                first: one.first,
                captured: one.captured,
                missing: 0,
            };
            let ends = [one.source, one.destination].map(End::Host);
            let protocol = DatagramProtocol::Fragments(one.protocol);
            let Parts {
                datagrams, mut bounds, ..
            } = self.parts();
            datagrams.anonymous(
                protocol,
                ends,
                one.captured.bytes,
                PathId(one.path),
                &origin,
                &mut bounds,
            );
        }
    }

    /// Follows a whole packet: into the tunnel it is of, or to its flow.
    fn transport(&mut self, datagram: &Datagram<'_>, origin: &Origin, layers: &mut Vec<Layer>, sink: &mut impl Sink) {
        if datagram.protocol == ip::AH && layers.len() < DEPTH {
            return match ip::behind_authentication(datagram) {
                Some(inner) => {
                    layers.push(Layer::new(Encapsulation::Ah, None));
                    self.transport(&inner, origin, layers, sink);
                }
                None => self.unreadable(datagram, origin, layers),
            };
        }
        if datagram.protocol == ip::UDP
            && let Some(udp) = udp::udp(datagram.payload, datagram.missing)
            && !udp.surplus.is_empty()
        {
            self.surplus(udp.surplus, datagram, origin, layers);
        }
        if let Some(tunnel) = decapsulation::opens(datagram)
            && layers.len() < DEPTH
        {
            let depth = layers.len();
            // GTP-U is judged by itself as well: it is an interface, and what is in it a user's.
            if tunnel.layer.encapsulation == Encapsulation::GtpU {
                let origin = origin.uncounted();
                self.flow(datagram, &origin, layers, sink);
            }
            layers.push(tunnel.layer);
            let payload = decapsulation::reach(tunnel.carried, layers);
            let followed = self.payload(payload, origin, layers, sink);
            layers.truncate(depth);
            if !followed {
                let protocol = DatagramProtocol::Tunnel(tunnel.layer.encapsulation);
                let ends = [datagram.source, datagram.destination].map(End::Host);
                let bytes = (datagram.payload.len() + datagram.missing) as u64;
                self.anonymous(protocol, ends, bytes, origin, layers);
            }
            return;
        }
        self.flow(datagram, origin, layers, sink);
    }

    /// Gives a packet to its flow.
    fn flow(&mut self, datagram: &Datagram<'_>, origin: &Origin, layers: &[Layer], sink: &mut impl Sink) {
        let needless = match housekeeping::of(datagram) {
            Some(Content::Own) => true,
            Some(Content::Quote(quoted)) => self.follows(&quoted, &mut layers.to_vec()),
            _ => false,
        };
        if needless {
            return self.unread(Unread::Protocol(datagram.protocol), origin.captured);
        }
        let Some(path) = self.paths.id(layers, origin.at.time, &mut self.memory) else {
            return self.omit_unnamed(datagram, origin);
        };
        let arrived = Arrived {
            datagram: *datagram,
            at: origin.at,
            first: origin.first,
            captured: origin.captured,
            path,
        };
        let taken = if datagram.protocol == ip::TCP {
            match tcp::segment(datagram.payload, datagram.missing) {
                Some(segment) => {
                    self.segment(&arrived, &segment, |connection| sink.connection(connection));
                    Ok(())
                }
                None => Err(Unreadable),
            }
        } else {
            let Parts {
                datagrams,
                ipsec,
                associations,
                mut bounds,
            } = self.parts();
            match datagram.protocol {
                ip::UDP => match udp::udp(datagram.payload, datagram.missing) {
                    Some(udp) if ipsec.udp(&udp, &arrived, &mut bounds) => Ok(()),
                    Some(udp) => {
                        datagrams.packet(&udp, &arrived, &mut bounds, sink);
                        Ok(())
                    }
                    None => Err(Unreadable),
                },
                ip::ESP => ipsec.esp(&arrived, &mut bounds),
                ip::SCTP => associations.packet(&arrived, &mut bounds, sink),
                other => {
                    let protocol = DatagramProtocol::Ip(other);
                    let ends = [datagram.source, datagram.destination].map(End::Host);
                    let bytes = (datagram.payload.len() + datagram.missing) as u64;
                    datagrams.anonymous(protocol, ends, bytes, path, origin, &mut bounds);
                    Ok(())
                }
            }
        };
        if taken.is_err() {
            self.unreadable(datagram, origin, layers);
        }
    }

    /// A packet whose transport header is not there, or cannot be right: it is between its hosts.
    fn unreadable(&mut self, datagram: &Datagram<'_>, origin: &Origin, layers: &[Layer]) {
        let ends = [datagram.source, datagram.destination].map(End::Host);
        let bytes = (datagram.payload.len() + datagram.missing) as u64;
        self.anonymous(
            DatagramProtocol::Unreadable(datagram.protocol),
            ends,
            bytes,
            origin,
            layers,
        );
    }

    /// Counts a packet that no reader takes, by its ends.
    fn anonymous(&mut self, protocol: DatagramProtocol, ends: [End; 2], bytes: u64, origin: &Origin, layers: &[Layer]) {
        let Some(path) = self.paths.id(layers, origin.at.time, &mut self.memory) else {
            return self.omit(
                FlowKind::Datagrams(protocol),
                ends.map(End::address),
                origin.at,
                origin.captured,
            );
        };
        let Parts {
            datagrams, mut bounds, ..
        } = self.parts();
        datagrams.anonymous(protocol, ends, bytes, path, origin, &mut bounds);
    }

    pub(super) fn parts(&mut self) -> Parts<'_> {
        Parts {
            datagrams: &mut self.datagrams,
            ipsec: &mut self.ipsec,
            associations: &mut self.associations,
            bounds: Bounds {
                limits: &self.limits,
                memory: &mut self.memory,
                begun: &mut self.begun,
                totals: &mut self.totals,
                keys: self.keys.as_deref(),
                paths: &self.paths,
                omitted: &mut self.omitted,
            },
        }
    }

    /// A packet of which there is no room for what it was carried in.
    fn omit_unnamed(&mut self, datagram: &Datagram<'_>, origin: &Origin) {
        let flow = match datagram.protocol {
            ip::TCP => FlowKind::Connection,
            ip::SCTP => FlowKind::Association,
            ip::ESP => FlowKind::EspSa,
            ip::UDP => FlowKind::Datagrams(DatagramProtocol::Udp),
            other => FlowKind::Datagrams(DatagramProtocol::Ip(other)),
        };
        let ends = [datagram.source, datagram.destination].map(Address::from);
        self.omit(flow, ends, origin.at, origin.captured);
    }
}
