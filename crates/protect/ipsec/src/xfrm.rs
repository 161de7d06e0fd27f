//! ESP of the kernel by netlink (linux/xfrm.h): SAs and policies of CHILD_SAs that the engine has negotiated, in the network namespace of the calling
//! thread.

mod asked;
mod codes;
mod installed;
mod layout;
pub(crate) mod policy;

use std::net::IpAddr;

use bartizan_esp::SequenceNumbers;
use bartizan_host::interface_with;
use bartizan_host::netlink::{Family, Refused, Request};
use bartizan_ike::{Child, Mode};
use bartizan_registry::{TransformKind, esp_encryption, esp_integrity, transform};
use bartizan_wire::udp::IKE_NAT;
use zeroize::Zeroizing;

pub use asked::Asked;
pub use installed::{Associations, Installed};
pub use policy::is_same;

use codes::{ANY_VERSION, ESP, EXTENDED};
use layout::{COUNTED, FAILED, Layout, REQID, STATE, family, mode};

/// Failures of the kernel's IPsec.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot, or this does not ask it to.
    #[error("ESP of the kernel is not asked for {0}")]
    Unsupported(&'static str),
    /// ESP in user space does not do it.
    #[error("ESP in user space: {0}")]
    Userspace(String),
    /// It refuses.
    #[error("{doing}: {source}")]
    Refused {
        /// The attempted action.
        doing: &'static str,
        /// Why not.
        #[source]
        source: Refused,
    },
}

fn refused(doing: &'static str) -> impl FnOnce(Refused) -> Error {
    move |source| Error::Refused { doing, source }
}

/// Which way packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To this end.
    In,
    /// From this end.
    Out,
}

/// The ends of a link, and what its SAs and policies have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Source address of the ESP packets that this end sends.
    pub local: IpAddr,
    /// Their destination address.
    pub remote: IpAddr,
    /// The peer's UDP port where ESP is carried in UDP.
    pub remote_port: u16,
    /// Joins policies and SAs of the link.
    pub reqid: u32,
    /// Packets that may arrive out of order; a multiple of 32.
    pub window: u16,
    /// True if the network card with the local address may encrypt and decrypt. One that cannot
    /// leaves it to the kernel.
    pub offload: bool,
}

/// Traffic counters of an SA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Bytes of the packets that it protects.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Packets that came again, or too late.
    pub replayed: u32,
    /// Packets with a wrong integrity check value.
    pub failed: u32,
}

impl Path {
    /// Addresses of the end that sends, and of the other.
    fn ends(&self, direction: Direction) -> (IpAddr, IpAddr) {
        match direction {
            Direction::In => (self.remote, self.local),
            Direction::Out => (self.local, self.remote),
        }
    }

    /// Installs an SA of a CHILD_SA. The one to receive by comes first; where the peer has asked for a rekey that to send by waits until the one that is
    /// replaced is deleted.
    ///
    /// # Errors
    ///
    /// The kernel's error, and an error if it has no such algorithm.
    pub fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
        let (source, destination) = self.ends(direction);
        let (spi, keys) = match direction {
            Direction::In => &child.inbound,
            Direction::Out => &child.outbound,
        };
        let any = match child.mode {
            Mode::Tunnel => ANY_VERSION,
            Mode::Transport => 0,
        };
        let extended = match child.numbers {
            SequenceNumbers::Extended => EXTENDED,
            SequenceNumbers::Bits32 => 0,
        };
        // Without a selector of its own: policies say what passes.
        let state = Layout::new().fill(56).id(destination, *spi).address(source);
        let state = state.lifetimes().fill(REQID).u32(self.reqid).u16(family(source));
        let state = state.u8(mode(child.mode)).u8(0).u8(any | extended).fill(STATE);
        let request = Request::new(Family::Xfrm, codes::NEW_STATE, &state.bytes());
        let request = algorithms(request, child, keys)?.attribute(codes::REPLAY, &self.replay());
        let request = match child.in_udp {
            true => request.attribute(codes::ENCAPSULATION, &in_udp(direction, self.remote_port)),
            false => request,
        };
        let request = match self.card()? {
            Some(index) => request.attribute(codes::OFFLOAD, &to_card(index, direction)),
            None => request,
        };
        let made = request.order(codes::CREATE | codes::EXCLUSIVE);
        made.map_err(refused("installing an SA of ESP"))
    }

    /// The number of the network card that may do the work.
    fn card(&self) -> Result<Option<u32>, Error> {
        if !self.offload {
            return Ok(None);
        }
        let looked = interface_with(self.local).ok().flatten();
        looked
            .map(Some)
            .ok_or(Error::Unsupported("offload: no interface has the local address"))
    }

    /// `xfrm_replay_state_esn`, nothing received or sent.
    fn replay(&self) -> Vec<u8> {
        let words = u32::from(self.window.div_ceil(32).max(1));
        let state = Layout::new().u32(words).fill(5 * 4).u32(words * 32);
        state.fill(6 * 4 + 4 * words as usize).bytes()
    }

    /// `xfrm_usersa_id`.
    fn named(&self, spi: u32, direction: Direction) -> Vec<u8> {
        let (_, destination) = self.ends(direction);
        let id = Layout::new().address(destination).network_u32(spi);
        id.u16(family(destination)).u8(ESP).fill(24).bytes()
    }

    /// Deletes an SA; one that is gone is deleted already.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
        let request = Request::new(Family::Xfrm, codes::DELETE_STATE, &self.named(spi, direction));
        match request.order(0) {
            // ESRCH: it was deleted.
            Err(refused) if refused.source.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            done => done.map_err(refused("deleting an SA of ESP")),
        }
    }

    /// Traffic counters of an SA. None if the kernel has no such SA.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn counted(&self, spi: u32, direction: Direction) -> Result<Option<Counted>, Error> {
        let request = Request::new(Family::Xfrm, codes::GET_STATE, &self.named(spi, direction));
        let mut counted = None;
        let asked = request.ask(&mut |state| counted = read(state));
        match asked {
            Ok(()) => Ok(counted),
            // ESRCH: it was deleted.
            Err(refused) if refused.source.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            Err(source) => Err(refused("reading an SA of ESP")(source)),
        }
    }
}

/// `xfrm_encap_tmpl`: this end by port 4500, the peer by what a translator before it makes of that.
fn in_udp(direction: Direction, remote: u16) -> Vec<u8> {
    let (source, destination) = match direction {
        Direction::In => (remote, IKE_NAT),
        Direction::Out => (IKE_NAT, remote),
    };
    let ports = Layout::new().u16(codes::ESP_IN_UDP).network_u16(source);
    ports.network_u16(destination).fill(24).bytes()
}

/// `xfrm_user_offload`: of encryption and decryption alone.
fn to_card(index: u32, direction: Direction) -> Vec<u8> {
    let flags = match direction {
        Direction::In => codes::OFFLOAD_INBOUND,
        Direction::Out => 0,
    };
    Layout::new().u32(index).u8(flags).fill(8).bytes()
}

/// The attributes of algorithms and keys: of an AEAD one, else of encryption and of integrity.
fn algorithms(request: Request, child: &Child, keys: &[u8]) -> Result<Request, Error> {
    const UNKNOWN: Error = Error::Unsupported("this cipher");
    let of = |kind: TransformKind| {
        let mut agreed = child.transforms.iter();
        agreed.find(|one| one.kind == kind.code()).map(|one| one.id)
    };
    let id = of(TransformKind::Encryption).ok_or(UNKNOWN)?;
    let framing = esp_encryption(id).ok_or(UNKNOWN)?;
    // RFC 4106, RFC 4309 and RFC 7634: the salt stands behind the key.
    let name = match framing.transform().ok_or(UNKNOWN)?.name {
        "ENCR_AES_GCM_16" => "rfc4106(gcm(aes))",
        "ENCR_AES_CCM_8" | "ENCR_AES_CCM_12" | "ENCR_AES_CCM_16" => "rfc4309(ccm(aes))",
        "ENCR_CHACHA20_POLY1305" => "rfc7539esp(chacha20,poly1305)",
        "ENCR_AES_CBC" => "cbc(aes)",
        _ => return Err(UNKNOWN),
    };
    let (encryption, integrity) = keys.split_at_checked(child.suite.keys().0).ok_or(UNKNOWN)?;
    if let Some(icv) = framing.icv {
        let content = algorithm(name, Some(icv), encryption);
        return Ok(request.attribute(codes::AEAD, &content));
    }
    let id = of(TransformKind::Integrity).ok_or(UNKNOWN)?;
    let proof = match transform(TransformKind::Integrity, id).ok_or(UNKNOWN)?.name {
        "AUTH_HMAC_SHA2_256_128" => "hmac(sha256)",
        "AUTH_HMAC_SHA2_384_192" => "hmac(sha384)",
        "AUTH_HMAC_SHA2_512_256" => "hmac(sha512)",
        _ => return Err(UNKNOWN),
    };
    let icv = esp_integrity(id).ok_or(UNKNOWN)?.icv;
    let request = request.attribute(codes::ENCRYPTION, &algorithm(name, None, encryption));
    Ok(request.attribute(codes::INTEGRITY, &algorithm(proof, Some(icv), integrity)))
}

/// `xfrm_algo`, and with bytes of a check value `xfrm_algo_aead` and `xfrm_algo_auth`; lengths are in bits.
fn algorithm(name: &str, icv: Option<u8>, key: &[u8]) -> Zeroizing<Vec<u8>> {
    let layout = Layout::new().name(name).u32(key.len() as u32 * 8);
    let layout = match icv {
        Some(icv) => layout.u32(u32::from(icv) * 8),
        None => layout,
    };
    let mut content = Zeroizing::new(layout.bytes());
    // One buffer with room for the key: one that grew would leave a copy behind.
    let mut whole = Zeroizing::new(Vec::with_capacity(content.len() + key.len()));
    whole.append(&mut content);
    whole.extend(key);
    whole
}

/// Parses the counters of `xfrm_usersa_info`.
fn read(state: &[u8]) -> Option<Counted> {
    let long = |at: usize| Some(u64::from_ne_bytes(*state.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_ne_bytes(*state.get(at..)?.first_chunk()?));
    Some(Counted {
        bytes: long(COUNTED)?,
        packets: long(COUNTED + 8)?,
        replayed: word(FAILED)?,
        failed: word(FAILED + 4)?,
    })
}
