//! A plot as a file of its own, and words cut or broken to a width.

use bartizan_page::plot::canvas::{Anchor, Canvas, escape, text_width};
use bartizan_page::plot::{Drawing, STYLE};

/// A plot as a file of its own, readable on light and dark background: it brings its background along.
/// The title stands above the plot, the note below it.
pub fn standalone(drawing: &Drawing, note: &str) -> String {
    const MARGIN: f64 = 20.0;
    const TITLE: f64 = 34.0;
    const LINE: f64 = 16.0;
    let mut around = Canvas::default();
    around.text(
        0.0,
        14.0,
        "title",
        Anchor::Start,
        &fitting(&drawing.title, 16.0, drawing.width),
    );
    let mut y = TITLE + drawing.height + 10.0;
    for line in lines(note, 11.5, drawing.width) {
        y += LINE;
        around.text(0.0, y, "axis", Anchor::Start, &line);
    }
    let (width, height) = (drawing.width + 2.0 * MARGIN, y + 2.0 * MARGIN);
    let mut title = String::new();
    escape(&mut title, &drawing.title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"-{MARGIN} -{MARGIN} {width:.0} {height:.0}\"><title>{title}</title><style>{STYLE}</style>\
         <rect class=\"paper\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\"/>\
         {}<g transform=\"translate(0 {TITLE})\">{}</g></svg>\n",
        around.finish("", "", 0.0, 0.0).body,
        drawing.body
    )
}

/// Broken at spaces into lines of at most this width.
fn lines(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size * 0.4 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Cut to this width, with what shows that it was.
pub(crate) fn fitting(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if text_width(&kept, size) + size * 0.6 > width {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}
