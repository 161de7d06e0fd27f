//! The TLS stack of a client by its ClientHello, and the setting by which it can do more.

use bartizan_registry::{NamedGroup, SignatureScheme};

/// A TLS stack whose default list of signature schemes differs from that of all others known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    /// OpenSSL, also under curl, Python and Node.js.
    OpenSsl,
    /// Go's crypto/tls.
    Go,
    /// Java's SunJSSE.
    Jdk,
}

impl Stack {
    /// The stack that sends this list by default; none where the list is another's or was configured.
    pub(crate) fn of(schemes: &[SignatureScheme]) -> Option<Self> {
        // ML-DSA (0x09xx) and brainpool (0x081a to 0x081c) come and go with versions.
        let lasting = |code: &&SignatureScheme| code.0 >> 8 != 9 && !(0x081a..=0x081c).contains(&code.0);
        let lasting: Vec<_> = schemes.iter().filter(lasting).take(6).map(|code| code.0).collect();
        match lasting[..] {
            [0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0809] => Some(Self::OpenSsl),
            [0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804] => Some(Self::Jdk),
            [0x0804, 0x0403, 0x0807, 0x0805, 0x0806, _] => Some(Self::Go),
            _ => None,
        }
    }

    /// The setting by which it offers a group.
    pub(crate) fn group(self, code: NamedGroup) -> String {
        match self {
            Self::OpenSsl => format!("OpenSSL 3.5 or later with -groups {code}"),
            Self::Go if code == NamedGroup::MLKEM1024 => format!("Go 1.27 or later with {code} in CurvePreferences"),
            Self::Go => format!("Go 1.24 or later with {code} in CurvePreferences"),
            Self::Jdk if code == NamedGroup::MLKEM1024 => format!("JDK 27 and 28 have no {code}: give it a sidecar"),
            Self::Jdk => format!("JDK 27 or later with jdk.tls.namedGroups={code}"),
        }
    }

    /// The setting by which it verifies a scheme.
    pub(crate) fn signature(self, code: SignatureScheme) -> String {
        match self {
            Self::OpenSsl => format!("OpenSSL 3.5 or later with -sigalgs {code}"),
            Self::Go => "Go 1.27 or later, by default".to_owned(),
            Self::Jdk => format!("JDK 28 or later with jdk.tls.client.SignatureSchemes={code}"),
        }
    }

    /// The setting of one stack in brackets, or of each where it is not known which it is.
    pub(crate) fn options(known: Option<Self>, setting: impl Fn(Self) -> String) -> String {
        let settings: Vec<_> = match known {
            Some(stack) => vec![setting(stack)],
            None => [Self::OpenSsl, Self::Go, Self::Jdk].map(setting).into(),
        };
        format!(" ({})", settings.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schemes: &[u16]) -> Option<Stack> {
        Stack::of(&schemes.iter().copied().map(SignatureScheme).collect::<Vec<_>>())
    }

    #[test]
    fn stacks_are_recognised_by_the_lists_that_they_send_by_default() {
        // As curl 7.88 with OpenSSL 3.0.19, Go 1.26.8 and OpenJDK 17.0.15 sent them.
        let openssl_3_0 = [
            0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0809, 0x080a, 0x080b, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501,
            0x0601, 0x0303, 0x0301, 0x0302, 0x0402, 0x0502, 0x0602,
        ];
        assert_eq!(of(&openssl_3_0), Some(Stack::OpenSsl));
        let openssl_3_5 = [
            0x0905, 0x0906, 0x0904, 0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x081a, 0x081b, 0x081c, 0x0809, 0x080a,
            0x080b, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601,
        ];
        assert_eq!(of(&openssl_3_5), Some(Stack::OpenSsl));
        let jdk = [
            0x0403, 0x0503, 0x0603, 0x0807, 0x0808, 0x0804, 0x0805, 0x0806, 0x0809, 0x080a, 0x080b, 0x0401,
        ];
        assert_eq!(of(&jdk), Some(Stack::Jdk));
        let go = [
            0x0804, 0x0403, 0x0807, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0503, 0x0603,
        ];
        assert_eq!(of(&go), Some(Stack::Go));
        assert_eq!(of(&[&[0x0904, 0x0905, 0x0906], &go[..]].concat()), Some(Stack::Go));
        let nss = [
            0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601, 0x0203, 0x0201,
        ];
        for other in [&nss[..], &[0x0905], &[0x0403], &[]] {
            assert_eq!(of(other), None, "{other:x?}");
        }
    }
}
