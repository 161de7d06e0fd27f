//! The page: whole, well-formed, and in need of nothing else.

mod synthetic;

use bartizan_report::{
    AnswerPiece, File, Quickness, Report, html, json, markdown, samples_csv, standalone, summary_csv,
};
use bartizan_workbench::runner::trial::Outcome;
use roxmltree::{Document, ParsingOptions};

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}"))
}

fn report(repetitions: usize) -> Report {
    let experiment = synthetic::experiment();
    let file = synthetic::file(&experiment, repetitions, 7);
    Report::of(&experiment, Some(&synthetic::published()), &[file])
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_from_anywhere() {
    let report = report(30);
    let page = html(&report);
    let document = parse(&page);
    let mut drawings = 0;
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        drawings += usize::from(node.tag_name().name() == "svg");
        assert!(!["script", "link", "img", "iframe", "object", "embed"].contains(&node.tag_name().name()));
        for attribute in node.attributes() {
            let local = ["#", "data:"].iter().any(|start| attribute.value().starts_with(start));
            assert!(
                !["src", "href", "srcset", "action"].contains(&attribute.name()) || local,
                "{attribute:?}"
            );
            assert!(!attribute.name().starts_with("on"), "{attribute:?}");
        }
    }
    assert_eq!(drawings, 7);
    let styles: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name("style"))
        .filter_map(|node| node.text())
        .collect();
    assert!(
        !styles.is_empty()
            && styles
                .iter()
                .all(|style| !style.contains("url(") && !style.contains("@import"))
    );
}

#[test]
fn words_from_files_are_words_and_no_markup() {
    let mut experiment = synthetic::experiment();
    let evil = "</style><script>alert(1)</script>\"'&\u{0}";
    let mut file = synthetic::file(&experiment, 6, 3);
    experiment.title = evil.to_owned();
    experiment.parts[0].question = Some(evil.to_owned());
    experiment.invalid = vec![evil.to_owned()];
    let mut published = synthetic::published();
    published.values[0].note = Some(evil.to_owned());
    published.values[0].place = evil.to_owned();
    file.name = evil.to_owned();
    for record in &mut file.records.trials {
        record.environment.programs = vec![evil.to_owned()];
        record.environment.kernel = evil.to_owned();
        if record.repetition == 5 {
            record.outcome = Outcome::Failed { error: evil.to_owned() };
        }
    }
    let report = Report::of(&experiment, Some(&published), &[file]);
    // A control character of a file is none of XML.
    let page = html(&report);
    assert!(!page.contains("<script"));
    parse(&page);
    assert!(!markdown(&report).contains("<script"));
    for figure in report.parts.iter().flat_map(|part| &part.figures) {
        let picture = standalone(&figure.drawing, evil);
        assert!(!picture.contains("<script"));
        Document::parse(&picture).unwrap();
    }
}

#[test]
fn nothing_one_trial_and_failures_alone_make_a_report_all_the_same() {
    let experiment = synthetic::experiment();
    let published = synthetic::published();
    let one = synthetic::file(&experiment, 1, 1);
    let mut failed = synthetic::file(&experiment, 2, 1);
    for record in &mut failed.records.trials {
        record.outcome = Outcome::Failed {
            error: "the proxy died".to_owned(),
        };
    }
    let mut strange = synthetic::file(&experiment, 2, 1);
    for record in &mut strange.records.trials {
        if let Outcome::Measured { values, .. } = &mut record.outcome {
            for samples in values.values_mut() {
                *samples = if record.repetition == 0 {
                    vec![f64::NAN, 1.0]
                } else {
                    vec![0.0, -1.0, 1e300]
                };
            }
        }
    }
    for files in [vec![], vec![one], vec![failed], vec![strange]] {
        let report = Report::of(&experiment, Some(&published), &files);
        parse(&html(&report));
        assert!(!markdown(&report).is_empty() && json(&report).is_object());
        assert!(!summary_csv(&report).is_empty() && !samples_csv(&report).is_empty());
        assert!(!report.warnings.is_empty());
        for table in report.parts.iter().flat_map(|part| &part.tables) {
            // Fewer than six trials have no interval.
            assert!(
                table
                    .rows
                    .iter()
                    .filter_map(|row| row.statistics)
                    .all(|statistics| statistics.interval.is_none())
            );
        }
    }
}

#[test]
fn a_quick_run_is_called_one_wherever_its_figures_stand() {
    let experiment = synthetic::experiment();
    let mut file = synthetic::file(&experiment, 6, 1);
    for record in &mut file.records.trials {
        record.quick = true;
    }
    let report = Report::of(&experiment, Some(&synthetic::published()), &[file]);
    assert_eq!(report.quickness, Quickness::Quick);
    let page = html(&report);
    let document = parse(&page);
    let figures = document.descendants().filter(|node| node.has_tag_name("figure"));
    for figure in figures {
        let words: String = figure.descendants().filter_map(|node| node.text()).collect();
        assert!(words.contains("quick run"));
    }
    let tables = markdown(&report).matches("Quick run.").count();
    assert_eq!(tables, report.parts.iter().map(|part| part.tables.len()).sum::<usize>());
    assert!(
        summary_csv(&report)
            .lines()
            .skip(1)
            .all(|line| line.starts_with("synthetic,true,"))
    );
    assert_eq!(json(&report)["quick"], true);
}

#[test]
fn the_same_records_give_the_same_page() {
    let pages: Vec<String> = (0..2).map(|_| html(&report(7))).collect();
    assert_eq!(pages[0], pages[1]);
}

#[test]
fn the_markdown_of_known_records_is_as_before() {
    let experiment = synthetic::experiment();
    let file: File = synthetic::file(&experiment, 6, 2);
    insta::assert_snapshot!(markdown(&Report::of(
        &experiment,
        Some(&synthetic::published()),
        &[file]
    )));
}

#[test]
fn an_answer_without_records_says_that_nothing_was_measured() {
    let report = Report::of(&synthetic::experiment(), None, &[]);
    let missing = report
        .answer
        .iter()
        .filter(|piece| matches!(piece, AnswerPiece::Missing(_)))
        .count();
    assert_eq!(missing, 2);
}
