use super::*;

#[test]
fn table_takes_the_place_of_one_of_its_name_in_one_transaction() {
    let table = Table::new("t", "  counter c { }\n");
    assert_eq!(
        table.script(),
        "table inet t\ndelete table inet t\ntable inet t {\n  counter c { }\n}\n"
    );
}

#[test]
fn words_of_nft_become_causes() {
    let refusal = refused("Error: Could not process rule: Operation not permitted");
    assert!(matches!(refusal, Error::NotPermitted(_)), "{refusal:?}");
    let refusal = refused("/dev/stdin:1:1-5: Error: syntax error\ntable");
    assert_eq!(
        refusal.to_string(),
        "the rules: nft does not take them: /dev/stdin:1:1-5: Error: syntax error"
    );
}

mod as_root {
    use super::*;
    use crate::Namespace;

    const BODY: &str = "  counter kept { }
  set peers {
    type ipv4_addr . inet_service
    elements = { 10.0.0.1 . 80, 10.0.0.2 . 80 }
  }
  set seen {
    type ipv4_addr
    flags timeout
  }
  chain leaving {
    type filter hook postrouting priority 300; policy accept;
    oifname \"lo\" accept comment \"first\"
    ip daddr . tcp dport @peers counter drop comment \"second\"
    ip saddr { 10.0.0.0/24, 10.1.0.0/16 } ip daddr 10.2.0.0/16 meta l4proto 132 th dport 36421 counter name kept drop
  }
";

    /// Runs the test of this name again in a network namespace of its own; false there.
    fn in_a_namespace(name: &str) -> bool {
        const INSIDE: &str = "BARTIZAN_NFTABLES_TEST";
        if std::env::var_os(INSIDE).is_some() {
            return false;
        }
        bartizan_testing::needs_root();
        let space = Namespace::create("nft").unwrap();
        let finished = Program::new(std::env::current_exe().unwrap())
            .arguments(["--exact", &format!("nftables::tests::as_root::{name}"), "--nocapture"])
            .environment(INSIDE, "1")
            .inside(&space)
            .run(PATIENCE)
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(finished.text().contains("1 passed"), "{}", finished.text());
        true
    }

    fn nft_does(line: &str) {
        nft()
            .argument(line)
            .run(PATIENCE)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    /// Only the last 256 KiB of a listing were read: the guard of thirty IPsec links was no JSON.
    #[test]
    fn a_table_whose_listing_takes_half_a_megabyte_is_read_and_compared_whole() {
        if in_a_namespace("a_table_whose_listing_takes_half_a_megabyte_is_read_and_compared_whole") {
            return;
        }
        let rules = (0..2000_u16).map(|number| {
            let [high, low] = number.to_be_bytes();
            format!("    ip daddr 10.1.{high}.{low} meta l4proto 132 drop\n")
        });
        let rules: String = rules.collect();
        let body = format!("  chain c {{\n    type filter hook output priority 0; policy accept;\n{rules}  }}\n");
        let table = Table::new("large", &body);
        Table::install(std::slice::from_ref(&table)).unwrap();
        let listed = ask(&["-j", "list", "table", "inet", "large"]).unwrap();
        assert!(listed.stdout.len() > 1 << 19, "{}", listed.stdout.len());
        let here = Table::listed("large").unwrap().unwrap();
        let wanted = table.wanted().unwrap();
        assert!(here.differences(&wanted).is_empty());
        nft_does("insert rule inet large c accept");
        let here = Table::listed("large").unwrap().unwrap();
        assert!(!here.differences(&wanted).is_empty());
    }

    #[test]
    fn every_way_to_change_a_table_is_distinguished_from_the_table_as_it_should_be() {
        if in_a_namespace("every_way_to_change_a_table_is_distinguished_from_the_table_as_it_should_be") {
            return;
        }
        let table = Table::new("bartizan-test", BODY);
        let wanted = table.wanted().unwrap();
        let found = || {
            Table::listed(table.name())
                .unwrap()
                .map(|here| here.differences(&wanted))
        };
        let install = || Table::install(std::slice::from_ref(&table)).unwrap();
        assert_eq!(found(), None);
        install();
        assert_eq!(found(), Some(Vec::new()));
        let listing = Table::listed(table.name()).unwrap().unwrap();
        assert_eq!(listing.packets("kept"), Some(0));
        assert_eq!(listing.comments().collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(listing.members("peers").len(), 2);
        let of_now = || generation().unwrap();
        let counted = counters(table.name(), of_now()).unwrap().unwrap();
        assert_eq!(counted.into_iter().collect::<Vec<_>>(), [("kept".to_owned(), 0)]);
        assert_eq!(counters(table.name(), of_now() + 1).unwrap(), None);

        // Elements that pass with time are not a part of it.
        nft_does("add element inet bartizan-test seen { 10.9.9.9 timeout 1h }");
        assert_eq!(found(), Some(Vec::new()));

        let handle = |text: &str| {
            let listed = ask(&["-a", "list", "ruleset"]).unwrap().text();
            let line = listed
                .lines()
                .find(|line| line.contains(text))
                .unwrap_or_else(|| panic!("{listed}"));
            line.rsplit(' ').next().unwrap().to_owned()
        };
        type Change<'a> = (&'a str, &'a dyn Fn() -> String, &'a str);
        let t = "inet bartizan-test";
        let changes: [Change<'_>; 11] = [
            (
                "dormant",
                &|| format!("add table {t} {{ flags dormant; }}"),
                "the table has the flag dormant: none of its rules",
            ),
            (
                "flushed",
                &|| format!("flush chain {t} leaving"),
                "lacks its rule 1: `first`",
            ),
            (
                "accepts",
                &|| {
                    format!(
                        "replace rule {t} leaving handle {} ip daddr 10.2.0.0/16 accept",
                        handle("second")
                    )
                },
                "the chain leaving lacks its rule 2: `second`",
            ),
            (
                "rule gone",
                &|| format!("delete rule {t} leaving handle {}", handle("second")),
                "the chain leaving lacks its rule 2",
            ),
            (
                "rule before",
                &|| format!("insert rule {t} leaving accept"),
                "the chain leaving has another rule at 1",
            ),
            (
                "rule doubled",
                &|| format!("insert rule {t} leaving oifname \"lo\" accept comment \"first\""),
                "the chain leaving has another rule at",
            ),
            (
                "element gone",
                &|| format!("delete element {t} peers {{ 10.0.0.1 . 80 }}"),
                "the set peers lacks",
            ),
            (
                "element added",
                &|| format!("add element {t} peers {{ 10.0.0.3 . 80 }}"),
                "the set peers also has",
            ),
            (
                "chain added",
                &|| format!("add chain {t} more {{ type filter hook input priority 0; }}"),
                "a chain more was added",
            ),
            (
                "policy",
                &|| format!("chain {t} leaving {{ policy drop; }}"),
                "has policy \"drop\", not \"accept\"",
            ),
            (
                "chain gone",
                &|| format!("flush chain {t} leaving; delete chain {t} leaving"),
                "the chain leaving is missing",
            ),
        ];
        for (name, change, said) in changes {
            install();
            let before = of_now();
            assert_eq!(of_now(), before);
            nft_does(&change());
            assert_ne!(of_now(), before, "{name}");
            let differences = found().expect("a table");
            assert!(
                differences
                    .iter()
                    .any(|difference| difference.to_string().contains(said)),
                "{name}: {differences:?}"
            );
        }
        // Another program's table of the same name.
        nft_does(&format!("delete table {t}; add table {t}"));
        assert!(found().is_some_and(|differences| !differences.is_empty()));
    }

    #[test]
    fn the_same_is_found_without_a_namespace_of_its_own_and_nothing_is_left() {
        if in_a_namespace("the_same_is_found_without_a_namespace_of_its_own_and_nothing_is_left") {
            return;
        }
        let table = Table::new("bartizan-test", BODY);
        let apart = table.wanted().unwrap();
        Table::install(std::slice::from_ref(&table)).unwrap();
        let here = table.wanted_here().unwrap();
        assert!(
            here.differences(&apart)
                .iter()
                .all(|difference| difference.to_string().contains("dormant"))
        );
        assert_eq!(Table::listed(table.name()).unwrap().unwrap().differences(&here), []);
        let tables = ask(&["list", "tables"]).unwrap().text();
        assert_eq!(tables, "table inet bartizan-test\n");
        Table::remove(table.name()).unwrap();
        Table::remove(table.name()).unwrap();
        assert_eq!(ask(&["list", "ruleset"]).unwrap().text(), "");
    }

    #[test]
    fn rules_that_the_kernel_does_not_take_leave_what_was_there() {
        if in_a_namespace("rules_that_the_kernel_does_not_take_leave_what_was_there") {
            return;
        }
        let good = Table::new("bartizan-test", BODY);
        let bad = Table::new("bartizan-test", "  chain c {\n    ip daddr 10.0.0.1 frobnicate\n  }\n");
        Table::install(std::slice::from_ref(&good)).unwrap();
        let error = Table::install(std::slice::from_ref(&bad)).unwrap_err();
        assert!(matches!(error, Error::Failed { .. }), "{error}");
        let here = Table::listed(good.name()).unwrap().unwrap();
        assert_eq!(here.differences(&good.wanted().unwrap()), []);
        let error = bad.wanted().unwrap_err();
        assert!(
            error.to_string().starts_with("the rules: nft does not take them: "),
            "{error}"
        );
    }
}
