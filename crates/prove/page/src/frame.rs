//! The frame of all pages: one HTML file that is XML as well, so that any XML parser can check it.

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use crate::plot;

/// A whole page; `styles` come after those of all pages, `class` is that of its main part.
pub fn page(title: &str, styles: &[&str], class: &str, body: &Markup) -> String {
    let head = markup! {
        style {
            (PreEscaped(plot::STYLE)) (PreEscaped(include_str!("html/style.css")))
            @for style in styles { (PreEscaped(style)) }
        }
    };
    shell(title, &head, class, body)
}

/// Words whose parts between backticks are code.
pub fn coded(words: &str) -> Markup {
    // An odd backtick is one of the words.
    let is_paired = words.matches('`').count().is_multiple_of(2);
    markup! {
        @if is_paired {
            @for (place, part) in words.split('`').enumerate() {
                @if place % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (words) }
    }
}

/// A page with this in its head, next to what all have there.
pub fn shell(title: &str, head: &Markup, class: &str, body: &Markup) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped("<meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"))
                (PreEscaped("<meta name=\"color-scheme\" content=\"light dark\"/>"))
                title { (title) }
                (head)
            }
            body { main class=[(!class.is_empty()).then_some(class)] { (body) } }
        }
    };
    // maud writes void elements as HTML does; control characters from the network are none of XML.
    let allowed = |character: char| match character {
        '\u{fffe}' | '\u{ffff}' => false,
        other => !other.is_control() || other == '\n',
    };
    let page = page.into_string().replace("<br>", "<br/>");
    page.chars()
        .map(|character| if allowed(character) { character } else { '\u{fffd}' })
        .collect()
}
