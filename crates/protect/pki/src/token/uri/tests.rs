use proptest::prelude::*;

use super::*;

const WHOLE: &str =
    "pkcs11:token=my%20ca;serial=0d4b;object=root;id=%01%FF?module-name=softhsm2&pin-source=file:/run/pin";

fn reason(text: &str) -> &'static str {
    match text.parse::<Pkcs11Uri>() {
        Err(Error::Pkcs11Uri { reason, .. }) => reason,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_uri_is_read_with_what_is_percent_encoded() {
    let uri: Pkcs11Uri = WHOLE.parse().unwrap();
    assert_eq!(uri.token.as_deref(), Some("my ca"));
    assert_eq!(uri.serial.as_deref(), Some("0d4b"));
    assert_eq!(uri.object.as_deref(), Some("root"));
    assert_eq!(uri.id.as_deref(), Some(&[1, 255][..]));
    assert_eq!(uri.module, Module::Name("softhsm2".to_owned()));
    assert_eq!(uri.pin_source(), Some(Path::new("/run/pin")));
    let bare: Pkcs11Uri = "PKCS11:object=a&b?module-path=/usr/lib/x.so".parse().unwrap();
    assert_eq!(bare.object.as_deref(), Some("a&b"));
    assert_eq!(bare.module, Module::Path("/usr/lib/x.so".into()));
}

#[test]
fn the_file_of_the_pin_is_a_path_or_a_file_uri() {
    for source in ["/run/pin", "file:/run/pin", "file:///run/pin"] {
        let uri: Pkcs11Uri = format!("pkcs11:object=a?module-name=m&pin-source={source}")
            .parse()
            .unwrap();
        assert_eq!(uri.pin_source(), Some(Path::new("/run/pin")), "{source}");
    }
    for source in ["pin", "file:pin", "file://host/pin", "|cat%20/run/pin"] {
        let text = format!("pkcs11:object=a?module-name=m&pin-source={source}");
        assert!(reason(&text).contains("pin-source"), "{source}");
    }
}

#[test]
fn a_pin_in_the_uri_is_refused_and_not_repeated() {
    let text = "pkcs11:object=a?module-name=m&pin-value=123456";
    let error = text.parse::<Pkcs11Uri>().unwrap_err().to_string();
    assert!(error.contains("pin-value") && !error.contains("123456"), "{error}");
    // Wherever else the URI is wrong.
    for text in [
        "pkcs11:a;PIN-value=123456",
        "pkcs11:a?pin-value=123456",
        "pkcs11:object=%zz?pin-value=123456&x",
    ] {
        let error = text.parse::<Pkcs11Uri>().unwrap_err().to_string();
        assert!(!error.contains("123456"), "{error}");
    }
}

#[test]
fn what_does_not_name_one_key_of_one_module_is_refused() {
    for (text, expected) in [
        ("file:/x", "begin with pkcs11"),
        ("pkcs11:", "no key"),
        ("pkcs11:token=a?module-name=m", "no key"),
        ("pkcs11:object=a", "no module"),
        (
            "pkcs11:object=a?module-name=m&module-path=/x.so",
            "more than one module",
        ),
        ("pkcs11:object=a?module-path=x.so", "not absolute"),
        ("pkcs11:object=a?module-name=/x.so", "is a path"),
        ("pkcs11:object=a;object=b?module-name=m", "twice"),
        ("pkcs11:object=?module-name=m", "empty"),
        ("pkcs11:object=a;?module-name=m", "no equals sign"),
        ("pkcs11:object=a b?module-name=m", "percent-encoded"),
        ("pkcs11:object=a/b?module-name=m", "percent-encoded"),
        ("pkcs11:object=%4?module-name=m", "percent sign"),
        ("pkcs11:object=%+1?module-name=m", "percent sign"),
        ("pkcs11:object=%FF?module-name=m", "UTF-8"),
        ("pkcs11:object=a;slot-id=%2b1?module-name=m", "no number"),
        ("pkcs11:object=a;type=cert?module-name=m", "not private"),
        ("pkcs11:object=a;library-version=3?module-name=m", "not known"),
        ("pkcs11:object=a?module-name=m&x-vendor=1", "not known"),
    ] {
        assert!(reason(text).contains(expected), "{text}: {}", reason(text));
    }
    assert!(reason(&format!("pkcs11:object={}?module-name=m", "a".repeat(5000))).contains("longer"));
}

#[test]
fn a_uri_with_an_added_id_is_known_as_the_one_without() {
    let given: Pkcs11Uri = "pkcs11:object=root?module-name=m".parse().unwrap();
    let made = given.with_id(&[1, 2]);
    assert!(made.specifies(&given) && made.specifies(&made));
    assert!(!given.specifies(&made) && !given.specifies(&given));
    let other: Pkcs11Uri = "pkcs11:object=other?module-name=m".parse().unwrap();
    assert!(!made.specifies(&other) && !made.specifies(&given.with_id(&[3])));
}

fn text() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[^\0]{1,12}")
}

fn uri() -> impl Strategy<Value = Pkcs11Uri> {
    let module = prop_oneof![
        "[^\0]{1,20}".prop_map(|path| Module::Path(format!("/{path}").into())),
        "[^\0/]{1,20}".prop_map(Module::Name),
    ];
    (
        (text(), text(), text(), text(), text()),
        proptest::option::of(any::<u64>()),
        proptest::collection::vec(any::<u8>(), 1..24),
        module,
        proptest::option::of("[^\0/][^\0]{0,20}"),
    )
        .prop_map(|(texts, slot, id, module, pin)| Pkcs11Uri {
            token: texts.0,
            manufacturer: texts.1,
            serial: texts.2,
            model: texts.3,
            slot,
            object: texts.4,
            id: Some(id),
            module,
            pin_source: pin.map(|path| format!("/{path}").into()),
        })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = text.parse::<Pkcs11Uri>();
        let _ = format!("pkcs11:{text}").parse::<Pkcs11Uri>();
        let _ = format!("pkcs11:object=a?{text}").parse::<Pkcs11Uri>();
    }

    #[test]
    fn what_is_written_is_read_as_the_same(uri in uri()) {
        prop_assert_eq!(uri.to_string().parse::<Pkcs11Uri>().unwrap(), uri);
    }
}
