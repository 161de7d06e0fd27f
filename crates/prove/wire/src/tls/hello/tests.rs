use proptest::prelude::*;

use super::*;

/// Writes hellos as their standards have them.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn vector8(self, bytes: &[u8]) -> Self {
        let length = u8::try_from(bytes.len()).unwrap();
        self.u8(length).bytes(bytes)
    }

    fn vector16(self, bytes: &[u8]) -> Self {
        let length = u16::try_from(bytes.len()).unwrap();
        self.u16(length).bytes(bytes)
    }

    fn extension(self, kind: u16, data: Self) -> Self {
        self.u16(kind).vector16(&data.0)
    }
}

fn codes(codes: impl Iterator<Item = u16>) -> Vec<u8> {
    codes.flat_map(u16::to_be_bytes).collect()
}

fn write_client_hello(hello: &ClientHello) -> Vec<u8> {
    let new = Writer::default;
    let mut block = new();
    if let Some(name) = &hello.server_name {
        let entry = new().u8(0).vector16(name.as_bytes());
        block = block.extension(0, new().vector16(&entry.0));
    }
    if !hello.supported_groups.is_empty() {
        block = block.extension(
            10,
            new().vector16(&codes(hello.supported_groups.iter().map(|group| group.0))),
        );
    }
    if !hello.signature_algorithms.is_empty() {
        block = block.extension(
            13,
            new().vector16(&codes(hello.signature_algorithms.iter().map(|scheme| scheme.0))),
        );
    }
    if !hello.alpn.is_empty() {
        let list = hello
            .alpn
            .iter()
            .fold(new(), |list, name| list.vector8(name.as_bytes()));
        block = block.extension(16, new().vector16(&list.0));
    }
    if hello.early_data {
        block = block.extension(42, new());
    }
    if !hello.supported_versions.is_empty() {
        block = block.extension(
            43,
            new().vector8(&codes(hello.supported_versions.iter().map(|version| version.0))),
        );
    }
    // psk_key_exchange_modes, of which nothing is kept.
    block = block.extension(45, new().vector8(&[1]));
    if !hello.signature_algorithms_cert.is_empty() {
        let list = codes(hello.signature_algorithms_cert.iter().map(|scheme| scheme.0));
        block = block.extension(50, new().vector16(&list));
    }
    if !hello.key_shares.is_empty() {
        let shares = hello.key_shares.iter().fold(new(), |list, share| {
            list.u16(share.group.0).vector16(&vec![7; share.length.into()])
        });
        block = block.extension(51, new().vector16(&shares.0));
    }
    if hello.pre_shared_keys > 0 {
        let identities = (0..hello.pre_shared_keys).fold(new(), |list, _| list.vector16(b"ticket").bytes(&[0; 4]));
        let binders = new().vector8(&[0; 32]);
        block = block.extension(41, new().vector16(&identities.0).vector16(&binders.0));
    }
    let mut body = new()
        .u16(hello.legacy_version.0)
        .bytes(&hello.random)
        .vector8(&hello.session_id)
        .vector16(&codes(hello.cipher_suites.iter().copied()))
        .vector8(&[0]);
    if !block.0.is_empty() {
        body = body.vector16(&block.0);
    }
    body.0
}

fn server_hello(random: [u8; 32], extensions: &Writer) -> Vec<u8> {
    Writer::default()
        .u16(0x0303)
        .bytes(&random)
        .vector8(&[1; 32])
        .u16(0x1302)
        .u8(0)
        .vector16(&extensions.0)
        .0
}

fn hello() -> impl Strategy<Value = ClientHello> {
    let list = || prop::collection::vec(any::<u16>(), 0..12);
    let name = || prop::option::of("[a-z0-9.-]{1,40}");
    let sizes = (0usize..33, 0usize..4, any::<bool>(), any::<[u8; 32]>(), any::<u16>());
    let lists = (
        list(),
        list(),
        list(),
        list(),
        prop::collection::vec(any::<u16>(), 0..100),
    );
    let shares = prop::collection::vec((any::<u16>(), 0u16..1700), 0..4);
    (
        sizes,
        lists,
        shares,
        name(),
        prop::collection::vec("[a-z0-9/.]{1,12}", 0..4),
    )
        .prop_map(
            |((session_id, pre_shared_keys, early_data, random, version), lists, shares, server_name, alpn)| {
                let (groups, schemes, schemes_cert, versions, cipher_suites) = lists;
                let mut hello = ClientHello {
                    legacy_version: Version(version),
                    random,
                    session_id: SessionId::new(&vec![9; session_id]).unwrap(),
                    cipher_suites,
                    server_name,
                    alpn,
                    supported_versions: versions.into_iter().map(Version).collect(),
                    supported_groups: groups.into_iter().map(NamedGroup).collect(),
                    key_shares: shares
                        .into_iter()
                        .map(|(group, length): (u16, u16)| {
                            KeyShare::new(NamedGroup(group), Side::Client, &vec![7; length.into()])
                        })
                        .collect(),
                    signature_algorithms: schemes.into_iter().map(SignatureScheme).collect(),
                    signature_algorithms_cert: schemes_cert.into_iter().map(SignatureScheme).collect(),
                    pre_shared_keys,
                    early_data,
                    encrypted_client_hello: false,
                    omitted: 0,
                    length: 0,
                };
                hello.length = write_client_hello(&hello).len() + 4;
                hello
            },
        )
}

#[test]
fn hello_retry_request_is_known_by_its_random_and_asks_for_a_group() {
    let extensions = Writer::default()
        .extension(43, Writer::default().u16(0x0304))
        .extension(51, Writer::default().u16(0x11ec));
    let read = ServerHello::read(&server_hello(HELLO_RETRY_REQUEST, &extensions)).unwrap();
    assert!(read.is_hello_retry_request());
    assert_eq!(read.version, Version::TLS13);
    let share = read.key_share.unwrap();
    assert_eq!((share.group, share.length), (NamedGroup::X25519MLKEM768, 0));
}

#[test]
fn server_hello_names_group_version_and_the_key_it_resumes() {
    let extensions = Writer::default()
        .extension(43, Writer::default().u16(0x0304))
        .extension(51, Writer::default().u16(0x0202).vector16(&[0; 1568]))
        .extension(41, Writer::default().u16(1));
    let read = ServerHello::read(&server_hello([5; 32], &extensions)).unwrap();
    assert!(!read.is_hello_retry_request());
    let share = read.key_share.unwrap();
    assert_eq!((share.group, share.length), (NamedGroup::MLKEM1024, 1568));
    assert_eq!((read.pre_shared_key, read.cipher_suite), (Some(1), 0x1302));
}

#[test]
fn a_server_hello_without_supported_versions_is_of_its_legacy_version() {
    let body = server_hello([5; 32], &Writer::default().extension(23, Writer::default()));
    assert_eq!(ServerHello::read(&body).unwrap().version, Version::TLS12);
}

#[test]
fn an_extension_that_appears_twice_is_malformed() {
    let version = || Writer::default().u16(0x0304);
    let extensions = Writer::default().extension(43, version()).extension(43, version());
    assert_eq!(
        ServerHello::read(&server_hello([5; 32], &extensions)),
        Err(Malformed("an extension that appears twice"))
    );
}

#[test]
fn bytes_left_over_in_an_extension_are_malformed() {
    let extensions = Writer::default().extension(43, Writer::default().u16(0x0304).u8(0));
    assert_eq!(
        ServerHello::read(&server_hello([5; 32], &extensions)),
        Err(Malformed("extension supported_versions"))
    );
}

#[test]
fn lists_beyond_any_client_are_cut_and_counted() {
    let groups = codes((0..1000).map(|index| 0x2000 + index));
    let block = Writer::default().extension(10, Writer::default().vector16(&groups));
    let body = Writer::default()
        .u16(0x0303)
        .bytes(&[0; 32])
        .vector8(&[])
        .vector16(&[0x13, 0x01])
        .vector8(&[0])
        .vector16(&block.0)
        .0;
    let read = ClientHello::read(&body).unwrap();
    assert_eq!((read.supported_groups.len(), read.omitted), (256, 744));
}

#[test]
fn a_client_without_supported_versions_offers_what_its_hello_says() {
    let body = Writer::default()
        .u16(0x0302)
        .bytes(&[0; 32])
        .vector8(&[])
        .vector16(&[0x00, 0x2f])
        .vector8(&[0])
        .0;
    let read = ClientHello::read(&body).unwrap();
    assert!(read.offers_version(Version(0x0302)));
    assert!(!read.offers_version(Version::TLS12));
}

proptest! {
    #[test]
    fn every_client_hello_written_is_read(hello in hello()) {
        prop_assert_eq!(ClientHello::read(&write_client_hello(&hello)), Ok(hello));
    }

    #[test]
    fn a_client_hello_cut_anywhere_is_malformed(hello in hello(), cut in any::<prop::sample::Index>()) {
        let body = write_client_hello(&hello);
        let cut = cut.index(body.len());
        // Without its extensions a ClientHello is whole: RFC 5246 lets them be absent.
        let bare = 2 + 32 + 1 + hello.session_id.len() + 2 + 2 * hello.cipher_suites.len() + 2;
        prop_assert_eq!(ClientHello::read(&body[..cut]).is_ok(), cut == bare);
    }

    #[test]
    fn no_bytes_make_a_hello_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ClientHello::read(&bytes);
        let _ = ServerHello::read(&bytes);
    }

    #[test]
    fn no_changed_byte_makes_a_hello_panic(hello in hello(), place in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut body = write_client_hello(&hello);
        let place = place.index(body.len());
        body[place] = value;
        if let Ok(read) = ClientHello::read(&body) {
            prop_assert!(read.supported_groups.len() <= LIST);
        }
    }
}
