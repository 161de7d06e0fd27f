//! A sheet as one HTML page that needs nothing else.

use maud::{Markup, PreEscaped, html as markup};

use super::{Field, Grid, Section, Sheet, Tone};
use crate::frame::{self, coded};

/// The page.
pub fn sheet_html(sheet: &Sheet) -> String {
    let body = markup! {
        header {
            p.kicker { (sheet.command) }
            h1 { (sheet.title) }
            @if !sheet.question.is_empty() { p.question { (sheet.question) } }
        }
        @if !sheet.answer.is_empty() { p.answer { span.by { "Answer" } (coded(&sheet.answer)) } }
        @for part in &sheet.sections { (section(part)) }
        @if !sheet.limits.is_empty() {
            section id="limits" { h2 { "What the model leaves out" } ul { @for limit in &sheet.limits { li { (coded(limit)) } } } }
        }
        @if !sheet.sources.is_empty() {
            section id="sources" { h2 { "Where the numbers come from" } ul { @for source in &sheet.sources { li { (source) } } } }
        }
        @if !sheet.again.is_empty() { section id="again" { h2 { "To compute it again" } pre { (sheet.again) } } }
        footer { "Made by Bartizan " (env!("CARGO_PKG_VERSION")) ". The same input gives the same page." }
    };
    frame::page(&sheet.title, &[include_str!("style.css")], "sheet", &body)
}

fn section(part: &Section) -> Markup {
    markup! {
        section {
            h2 { (part.heading) }
            @for words in &part.text { p { (coded(words)) } }
            @for (drawing, caption) in &part.drawings {
                figure { div.drawing { (PreEscaped(drawing.inline())) } @if !caption.is_empty() { figcaption { (caption) } } }
            }
            @for grid in &part.tables { (table(grid)) }
        }
    }
}

fn table(grid: &Grid) -> Markup {
    markup! {
        // Outside of what scrolls: a narrow screen shows all of it.
        @if !grid.caption.is_empty() { p.caption { (grid.caption) } }
        div.wide { table {
            thead { tr { @for column in &grid.columns { th class=[column.is_number.then_some("number")] { (column.heading) } } } }
            tbody { @for row in &grid.rows { tr {
                @for (index, field) in row.iter().enumerate() {
                    @let is_number = grid.columns.get(index).is_some_and(|column| column.is_number);
                    (cell(field, is_number))
                }
            } } }
        } }
    }
}

fn cell(field: &Field, is_number: bool) -> Markup {
    let tone = match field.tone {
        Tone::Plain => "",
        Tone::Red => "red",
        Tone::Grey => "grey",
        Tone::Blue => "blue",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Faint => "note",
    };
    let class = format!("{}{tone}", if is_number { "number " } else { "" });
    let class = class.trim();
    markup! { td class=[(!class.is_empty()).then_some(class)] { (field.text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_xml_and_says_what_the_sheet_says() {
        let mut grid = Grid::under("A <table>", ["what", "#us"]);
        grid.push([Field::from("total"), Field::toned("1 & 2", Tone::Red)]);
        let mut section = Section::new("Parts");
        section.tables.push(grid);
        let sheet = Sheet {
            command: "bartizan plan delay".to_owned(),
            title: "Delay".to_owned(),
            answer: "It takes 3 us.".to_owned(),
            sections: vec![section],
            limits: vec!["One hop, as `plan` has it.".to_owned()],
            sources: vec!["RFC 4303".to_owned()],
            ..Sheet::default()
        };
        let page = sheet_html(&sheet);
        let document = page.strip_prefix("<!DOCTYPE html>").unwrap();
        let parsed = roxmltree::Document::parse(document).unwrap();
        let text: String = parsed.descendants().filter_map(|node| node.text()).collect();
        for words in ["It takes 3 us.", "A <table>", "1 & 2", "One hop, as ", "RFC 4303"] {
            assert!(text.contains(words), "{words}");
        }
        assert!(page.contains("class=\"number red\""), "{page}");
        assert!(page.contains("as <code>plan</code> has it."), "{page}");
    }
}
