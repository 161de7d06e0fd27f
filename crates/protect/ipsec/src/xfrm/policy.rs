//! Policies: that traffic of a link leaves and is accepted in ESP alone.

use bartizan_host::netlink::{Family, Request};
use bartizan_ike::{Mode, Selector};

use super::codes;
use super::layout::{self, Layout, Prefix, family};
use super::{Direction, Error, Path, refused};

/// Lower ones are asked first; charon's lie above.
const PRIORITY: u32 = 1000;
/// Bytes of `xfrm_userpolicy_info`, `xfrm_userpolicy_id` and `xfrm_user_tmpl`.
const POLICY: usize = 168;
const NAME: usize = 64;
const TEMPLATE: usize = 64;

/// What packets a policy is asked about, by the kernel's numbers.
const IN: u8 = 0;
const OUT: u8 = 1;
const FORWARDED: u8 = 2;

impl Path {
    /// Requires ESP of all traffic between these: of what leaves, arrives and is passed on. Required once, it stays so whether there is an SA or
    /// none.
    ///
    /// # Errors
    ///
    /// What the kernel says, and where it has no selector for that traffic.
    pub fn require(&self, mode: Mode, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        for (selector, kind) in policies(mode, local, remote)? {
            let direction = if kind == OUT { Direction::Out } else { Direction::In };
            let policy = selector.lifetimes().u32(PRIORITY).u32(0).u8(kind).fill(POLICY);
            let request = Request::new(Family::Xfrm, codes::UPDATE_POLICY, &policy.bytes());
            let request = request.attribute(codes::TEMPLATE, &self.template(mode, direction));
            let made = request.order(codes::CREATE);
            made.map_err(refused("installing a policy of ESP"))?;
        }
        Ok(())
    }

    /// Takes the requirement back: that traffic passes unencrypted from now on, unless something else forbids it.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn release(&self, mode: Mode, local: &[Selector], remote: &[Selector]) -> Result<(), Error> {
        for (selector, kind) in policies(mode, local, remote)? {
            let name = selector.u32(0).u8(kind).fill(NAME).bytes();
            let request = Request::new(Family::Xfrm, codes::DELETE_POLICY, &name);
            match request.order(0) {
                // ENOENT: somebody else has deleted it.
                Err(gone) if gone.source.raw_os_error() == Some(libc::ENOENT) => {}
                done => done.map_err(refused("deleting a policy of ESP"))?,
            }
        }
        Ok(())
    }

    /// `xfrm_user_tmpl`: any SA of this link, whatever its algorithms, but one there must be.
    fn template(&self, mode: Mode, direction: Direction) -> Vec<u8> {
        let (source, destination) = self.ends(direction);
        let template = Layout::new().id(destination, 0).u16(family(source)).u16(0);
        let template = template.address(source).u32(self.reqid).u8(layout::mode(mode)).fill(52);
        let any = u32::MAX;
        template.u32(any).u32(any).u32(any).fill(TEMPLATE).bytes()
    }
}

/// The selector and the kind of every policy.
fn policies(mode: Mode, local: &[Selector], remote: &[Selector]) -> Result<Vec<(Layout, u8)>, Error> {
    const NONE: Error = Error::Unsupported("traffic that is no network of a port or of all");
    let mut policies = Vec::new();
    for local in local {
        for remote in remote {
            let [Some(local), Some(remote)] = [local, remote].map(Prefix::of) else {
                return Err(NONE);
            };
            policies.push((Layout::new().selector(&local, &remote), OUT));
            policies.push((Layout::new().selector(&remote, &local), IN));
            if mode == Mode::Tunnel {
                policies.push((Layout::new().selector(&remote, &local), FORWARDED));
            }
        }
    }
    Ok(policies)
}
