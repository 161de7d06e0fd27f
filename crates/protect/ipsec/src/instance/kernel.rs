//! ESP implementations: the kernel, or the IKE daemon itself.

use std::time::Duration;

use bartizan_host::{Error, Namespace, Program};

/// Time limit of a query by `ip`.
const PATIENCE: Duration = Duration::from_secs(20);

/// ESP implementation of an IKE daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// The kernel's XFRM, through the plugin `kernel-netlink`.
    Netlink,
    /// charon, through a TUN device and the plugin `kernel-libipsec`: tunnel mode in UDP only.
    Libipsec,
    /// The engine of Bartizan, through a TUN device: tunnel mode in UDP only.
    Userspace,
}

impl Kernel {
    /// Abilities of this machine's kernel: an SA is installed in a namespace of its own, which goes
    /// away with it. That loads the module where it is one.
    ///
    /// # Errors
    ///
    /// Without root or iproute2. A kernel without ESP is no error: it is [`Kernel::Libipsec`].
    pub fn of_this_machine() -> Result<Self, Error> {
        let space = Namespace::create("esp")?;
        // RFC 4106's key is 32 bytes and 4 of salt. It protects nothing: the namespace has no way out.
        let key = format!("0x{}", "00".repeat(36));
        let tried = Program::new("ip")
            .package("iproute2")
            .inside(&space)
            .arguments([
                "xfrm",
                "state",
                "add",
                "src",
                "127.0.0.1",
                "dst",
                "127.0.0.1",
                "proto",
                "esp",
            ])
            .arguments([
                "spi",
                "0x1000",
                "mode",
                "tunnel",
                "aead",
                "rfc4106(gcm(aes))",
                &key,
                "128",
            ])
            .run(PATIENCE);
        match tried {
            Ok(_) => Ok(Self::Netlink),
            Err(Error::Failed { .. }) => Ok(Self::Libipsec),
            Err(error) => Err(error),
        }
    }
}
