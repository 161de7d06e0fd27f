//! Vectors of NIST and of RFC 8439, through what seals and opens packets: CAVP's of AES-GCM with
//! nonces of 12 octets (gcmEncryptExtIV) and of AES-CCM with those of 11 (VNT), the first ones of
//! each length.

use bartizan_registry::{TransformKind, transform_named};
use data_encoding::HEXLOWER;

use crate::cipher::{Associated, Opening, Sealing};
use crate::suite::Suite;

/// Bits of the key, the key, nonce, what is authenticated alone, content, and what is sealed of it
/// with the check value behind.
type Vector = (
    u16,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// CAVS 11.0, VNT128.rsp, VNT192.rsp and VNT256.rsp, `[Nlen = 11]`, counts 40 to 42.
const AES_CCM: [Vector; 9] = [
    (
        128,
        "e6ab9e70a4fb51b01c2e262233e64c0d",
        "74e689eb5af9441dd690a6",
        "42f6518ee0fbe42f28e13b4bb2eb60517b37c9744394d9143393a879c3e107c7",
        "ba15916733550d7aa82b2f6b117cd3f54c83ddc16cd0288a",
        "dcc151443288f35d39ed8fae6f0ce1d1eb656f4f7fd65c0b16f322ce85d7c54e71ac560fd4da9651",
    ),
    (
        128,
        "e6ab9e70a4fb51b01c2e262233e64c0d",
        "eb118fb41284bfcb1bc338",
        "b5a6067fbac46578cfc8d3fe04108588c9de077eb009249374f205553bba9d02",
        "863da00c7accf45418d47c1eda72338734dcc49cd599f328",
        "d64de7a56146b971e21bf5784d67bab32dd837cfb81591da4a0177883346dc896eb39e8a32bc1393",
    ),
    (
        128,
        "e6ab9e70a4fb51b01c2e262233e64c0d",
        "caba2716d07e95de83855e",
        "0e0ff2c73ea5fa8f8726a3514cf906ce1610a1a6dc19b22682f9e4619f762d82",
        "2af6d5636ab65db2058b2ba16df257369fc4e8aef8b9481c",
        "3c9e006c7d8eff5f448b0cc9c27c964713241aa7fed3665d775ea25fb272981de8b8aa0a637498fb",
    ),
    (
        192,
        "af84c6f302c59aeee6d5728ed5da2e3c64a5a781c52c4d1b",
        "df990c42a268950677c433",
        "a6ab5d78427f297a4b7e21f1091ff3a5b20caa3fe1cbcb09459d9df596a6c8e1",
        "6db41aeb5f7c24df8929dbc30483b3c7934b3bd1cdce5bb9",
        "8c9328258bf71970d33e23a3ff81cc1c9cbe196a1294264bfd6a7255e4801963bb30a63de3fc5b82",
    ),
    (
        192,
        "af84c6f302c59aeee6d5728ed5da2e3c64a5a781c52c4d1b",
        "b7ea72641bbe2dca6d85e7",
        "4e0f2ddf183281ec131693bdcea3fc9743733c07a486a42d5737735b3f6e3fdf",
        "726844e41b1e4d883024b32fee0dcea38c889cb328885b7c",
        "9a133e4582c2ebc445862a9c6f2f4e39223c84081e322c8f262de30da6ef505fe640c53d765f672c",
    ),
    (
        192,
        "af84c6f302c59aeee6d5728ed5da2e3c64a5a781c52c4d1b",
        "446fee1e75e79c0dfc9ddc",
        "42b598eaee271e06d9e98dd94152b28ef10f506d65bd660b2fb8b1be9a2d7254",
        "0cdcf348ecc9c3588001802c2106fb64be9c301adcc66e73",
        "0c2657b0482b6ca92e1b1c8fdf75eae3b0cd3af205e9bca396ecb1e46beb16000d585e1d9559ee22",
    ),
    (
        256,
        "97bc7482a87ba005475dfa3448f59d4b3f9c4c969d08b39b1b21ef965c0f5125",
        "0bcf78103ec52d6df28887",
        "049c10f0cb37ae08eae2d0766563b7c5a8454f841c2061a4f71a0a2158ae6ce5",
        "b99bf4dc781795fc4d3a8467b06e1665d4e543657f23129f",
        "0d3891fa0caac1f7ebe41b480920ffd34d4155064c24f3b17a483163dd8f228d1f20cd4f86cf38fd",
    ),
    (
        256,
        "97bc7482a87ba005475dfa3448f59d4b3f9c4c969d08b39b1b21ef965c0f5125",
        "ab6374c6b2faefd92fa3d3",
        "f19c044023e5cf339203738ee70e76527519763664c06ae00e002a5ba94c32c6",
        "a2e5c51f516db01688b64c173bb25645182a005018022ee1",
        "f70c598df3c64d3527ebb7fc8408b7de2cfaa1da7984ec361f1ad61758d828b70d4881b7d6ae8cd0",
    ),
    (
        256,
        "97bc7482a87ba005475dfa3448f59d4b3f9c4c969d08b39b1b21ef965c0f5125",
        "cfb89e7ddcba601e875110",
        "052714010da516c896ac5842a839ae845324643cddb080e6206148432d0d0407",
        "037f206cab78a6ca0745dc8fc137e22e14f3d7183917ef83",
        "ccd675862502a2e2520a33250150b8b7b220e84db854888c316dd62075fc761e2bc80edc5c564bdf",
    ),
];

/// gcmEncryptExtIV128.rsp, gcmEncryptExtIV192.rsp and gcmEncryptExtIV256.rsp, `[IVlen = 96]`,
/// `[Taglen = 128]`, count 0 of three lengths.
const AES_GCM: [Vector; 9] = [
    (
        128,
        "d4a22488f8dd1d5c6c19a7d6ca17964c",
        "f3d5837f22ac1a0425e0d1d5",
        "f1c5d424b83f96c6ad8cb28ca0d20e475e023b5a",
        "7b43016a16896497fb457be6d2a54122",
        "c2bd67eef5e95cac27e3b06e3031d0a8f23eacf9d1cdf8737726c58648826e9c",
    ),
    (
        128,
        "3c50622868f450aa0928990c15e1eb36",
        "811d5290768d57e7d87bb6c7",
        "dae2c7e0a3d3fd2bc04eca19b15178a003b5cf84890c28c2a615f20f8adb427f70698c12b2ef87780c1193fbb8cd1674",
        "edd0a8f82833e919740fe2bf9edecf4ac86c72dc89490cef7b6983aaaf99fc856c5cc87d63f98a7c861bf3271fea6da86a15ab",
        "a51425b0608d3b4b46d4ec05ca1ddaf02bdd2089ae0554ecfb2a1c84c63d82dc71ddb9ab1b1f0b49de2ad27c2b5173e7000aa6bd9b5efca48008cd973a4f7d2c723844",
    ),
    (
        128,
        "77be63708971c4e240d1cb79e8d77feb",
        "e0e00f19fed7ba0136a797f3",
        "7a43ec1d9c0a5a78a0b16533a6213cab",
        "",
        "209fcc8d3675ed938e9c7166709dd946",
    ),
    (
        192,
        "95e5c8dcee4ef17571e1becc3f2d4ac8d5aa73e74b3f1115",
        "e3b91649120f92b4f712644b",
        "68b093733bd1e77448fe5687b74796834d1797cf",
        "eca3606b9e2a0c7a1c6c4b765176f643",
        "0ff6d858cf0f5309c0f4b2747f6b551f94d6ac2796a9b9901933a0f9e5377979",
    ),
    (
        192,
        "ffffc617dc4fd5d23011e695d9f13bf9fd63eab22b4648a0",
        "b342ea5568bdc307d895e1e6",
        "20ebd0298b0d0c8e27559b9e16077e1c688a44bfa58062311e6a0527d1edb52eb9a33327bc1cecbb25c75e2d03d7a34e",
        "6a1ba0b0547b1f3a80bdab8611ed2b9ccd5838ae7210382903cf79f77436d9e923a9bba505ead8afd7b18ff340ab5e64695842",
        "1751c24b540380a7a1baa9d174b249573f1648a1f7124120eee9baf8c28bff62281d063986800c20d5ebb5c9360b38d58cf323659a7f80f486e5484c28d164bab5999b",
    ),
    (
        192,
        "41c5da8667ef725220ffe39ae0ac590ac9fca729ab60ada0",
        "05ad13a5e2c2ab667e1a6fbc",
        "8b5c124bef6e2f0fe4d8c95cd5fa4cf1",
        "",
        "204bdb1bd62154bf08922aaa54eed705",
    ),
    (
        256,
        "83688deb4af8007f9b713b47cfa6c73e35ea7a3aa4ecdb414dded03bf7a0fd3a",
        "0b459724904e010a46901cf3",
        "794a14ccd178c8ebfd1379dc704c5e208f9d8424",
        "33d893a2114ce06fc15d55e454cf90c3",
        "cc66bee423e3fcd4c0865715e95866960fb291bd3dba94a1dfd8b286cfb97ac5",
    ),
    (
        256,
        "463b412911767d57a0b33969e674ffe7845d313b88c6fe312f3d724be68e1fca",
        "611ce6f9a6880750de7da6cb",
        "0a682fbc6192e1b47a5e0868787ffdafe5a50cead3575849990cdd2ea9b3597749403efb4a56684f0c6bde352d4aeec5",
        "e7d1dcf668e2876861940e012fe52a98dacbd78ab63c08842cc9801ea581682ad54af0c34d0d7f6f59e8ee0bf4900e0fd85042",
        "8886e196010cb3849d9c1a182abe1eeab0a5f3ca423c3669a4a8703c0f146e8e956fb122e0d721b869d2b6fcd4216d7d4d37582469cecd70fd98fec9264f71df1aee9a",
    ),
    (
        256,
        "78dc4e0aaf52d935c3c01eea57428f00ca1fd475f5da86a49c8dd73d68c8e223",
        "d79cf22d504cc793c3fb6c8a",
        "b96baa8c1c75a671bfb2d08d06be5f36",
        "",
        "3e5d486aa2e30b22e040b85723a06e76",
    ),
];

fn bytes(digits: &str) -> Vec<u8> {
    HEXLOWER.decode(digits.as_bytes()).unwrap()
}

/// Both directions; and that a change of any bit of vector, content, check value and what is
/// authenticated alone is refused.
fn holds(name: &str, bits: Option<u16>, keys: &[u8], nonce: &[u8], header: &[u8], content: &[u8], sealed: &[u8]) {
    let id = transform_named(TransformKind::Encryption, name).unwrap().id;
    let suite = Suite::of(id, bits, None).unwrap();
    let (_, _, icv) = suite.framing();
    // The salt is the begin of the nonce, the vector its end.
    let (salt, vector) = nonce.split_at(nonce.len() - 8);
    let keys = [keys, salt].concat();
    let sealing = Sealing::new(suite, &keys).unwrap();
    let opening = Opening::new(suite, &keys).unwrap();
    let whole = [vector, sealed].concat();

    let mut packet = [vector, content, &vec![0; icv]].concat();
    sealing.seal(Associated { header, upper: None }, &mut packet).unwrap();
    assert_eq!(packet, whole, "{name} {bits:?}");
    let opened = opening.open(Associated { header, upper: None }, &mut packet).unwrap();
    assert_eq!(opened, content, "{name} {bits:?}");

    for bit in 0..8 * whole.len() {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let opened = opening.open(Associated { header, upper: None }, &mut changed);
        assert!(opened.is_err(), "{name} {bits:?}: bit {bit}");
    }
    for bit in 0..8 * header.len() {
        let mut changed = header.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        let (header, mut packet) = (&changed[..], whole.clone());
        let opened = opening.open(Associated { header, upper: None }, &mut packet);
        assert!(opened.is_err(), "{name} {bits:?}: bit {bit} of the header");
    }
}

#[test]
fn aes_ccm_and_aes_gcm_are_those_of_cavp_and_no_other_bit_is_taken() {
    for (name, vectors) in [("ENCR_AES_CCM_16", AES_CCM), ("ENCR_AES_GCM_16", AES_GCM)] {
        for (bits, key, nonce, header, content, sealed) in vectors {
            let [key, nonce, header, content, sealed] = [key, nonce, header, content, sealed].map(bytes);
            holds(name, Some(bits), &key, &nonce, &header, &content, &sealed);
        }
    }
}

/// RFC 8439, section 2.8.2.
#[test]
fn chacha20_poly1305_is_that_of_rfc_8439() {
    let key: Vec<u8> = (0x80..=0x9f).collect();
    let content = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
    let sealed = bytes(concat!(
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b",
        "1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc",
        "3ff4def08e4b7a9de576d26586cec64b6116",
        "1ae10b594f09e26a7e902ecbd0600691",
    ));
    let (nonce, header) = (bytes("070000004041424344454647"), bytes("50515253c0c1c2c3c4c5c6c7"));
    holds("ENCR_CHACHA20_POLY1305", None, &key, &nonce, &header, content, &sealed);
}
