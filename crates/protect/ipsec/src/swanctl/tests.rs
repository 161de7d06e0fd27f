use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Settings, SyntaxError> {
    parse("swanctl.conf", text, &mut |pattern, _| {
        Err(format!("includes {pattern}"))
    })
}

fn at<'a>(settings: &'a Settings, path: &str) -> &'a Settings {
    path.split('.')
        .fold(settings, |section, name| section.section(name).expect(name))
}

#[test]
fn sections_values_comments_and_quotes_are_read_with_their_lines() {
    let text = "# comment\nconnections {\n  e2 { # to the RIC\n    proposals = a, b  , c # three\n    secret = \"x # } \\\"y\\\"\n z\"\n    \
                local { auth = pubkey }\n    unset =\n  }\n}\n";
    let settings = read(text).unwrap();
    let e2 = at(&settings, "connections.e2");
    assert_eq!(e2.list("proposals"), ["a", "b", "c"]);
    assert_eq!(e2.value("proposals").unwrap().1.to_string(), "swanctl.conf:4");
    assert_eq!(e2.value("secret").unwrap().0, "x # } \"y\"\n z");
    assert_eq!(at(e2, "local").value("auth").unwrap().0, "pubkey");
    assert_eq!(at(e2, "local").value("auth").unwrap().1.line, 7);
    assert_eq!(e2.value("unset"), None);
}

#[test]
fn a_section_says_it_before_what_it_refers_to_and_twice_the_same_section_is_one() {
    let text = "base { proposals = weak\n version = 2\n children { net { mode = tunnel } } }\nother { version = 1\n dpd_delay = 5 }\n\
                connections { e2 : base, other { proposals = strong } }\nconnections { e2 { children { net { mode = transport\n x = y } } } }\n";
    let settings = read(text).unwrap();
    let e2 = at(&settings, "connections.e2");
    assert_eq!(e2.list("proposals"), ["strong"]);
    assert_eq!(e2.value("version").unwrap().0, "2");
    assert_eq!(e2.value("dpd_delay").unwrap().0, "5");
    assert_eq!(at(e2, "children.net").value("mode").unwrap().0, "transport");
}

#[test]
fn included_files_are_read_in_their_place_with_their_own_names() {
    let mut include = |pattern: &str, from: &str| {
        assert_eq!((pattern, from), ("conf.d/*.conf", "swanctl.conf"));
        Ok(vec![(
            "conf.d/ric.conf".to_owned(),
            "\nric { version = 2 }\n".to_owned(),
        )])
    };
    let settings = parse("swanctl.conf", "connections { include conf.d/*.conf\n}", &mut include).unwrap();
    let (_, place) = at(&settings, "connections.ric").value("version").unwrap();
    assert_eq!(place.to_string(), "conf.d/ric.conf:2");
    let mut itself = |_: &str, from: &str| Ok(vec![(from.to_owned(), "include itself\n".to_owned())]);
    let error = parse("a", "include itself\n", &mut itself).unwrap_err();
    assert!(error.cause.contains("include each other"), "{error}");
}

#[test]
fn what_is_no_configuration_is_refused_by_its_line() {
    for (text, wanted) in [
        ("a {\n b = c\n", "swanctl.conf:3: the section `a` has no end"),
        ("\n}", "swanctl.conf:2: a `}` without its `{`"),
        ("a b", "swanctl.conf:1: neither `=` nor `{` after `a`"),
        ("a {\n = x }", "swanctl.conf:2: `=` where a name is due"),
        ("a = \"x\n\n", "swanctl.conf:1: a quoted value has no end"),
        ("a : b {}", "swanctl.conf:1: no section is called `b`"),
        (
            "a : a {}",
            "swanctl.conf:1: `a`: references lead more than 16 deep, or in a circle",
        ),
        ("a :\n {}", "swanctl.conf:2: no section is named after `:`"),
        ("include x.conf\n", "swanctl.conf:1: includes x.conf"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text:?}: {error}");
    }
    let deep = "a {".repeat(1000);
    assert!(read(&deep).unwrap_err().cause.contains("10 deep"));
    // Each refers to the one before twice: what comes out would double sixteen times.
    let mut doubling = "s0 { a { x = 1 } b { x = 1 } c { x = 1 } }\n".to_owned();
    for index in 1..=16 {
        let before = index - 1;
        doubling += &format!("s{index} {{ l : s{before} {{ }} r : s{before} {{ }} }}\n");
    }
    assert!(read(&doubling).unwrap_err().cause.contains("too many settings"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(?s).{0,300}") {
        let _ = read(&text);
    }

    #[test]
    fn words_of_configurations_do_not_either(words in proptest::collection::vec("[a-c] |[a-c]\\{|\\}|=|:|,|#|\"|\\\\|\n|include ", 0..60)) {
        let _ = read(&words.concat());
    }
}
