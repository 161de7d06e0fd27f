//! Writing SVG.

use std::fmt::Write as _;

/// The point of a text that is placed.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A finished plot.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Its title, in one line.
    pub title: String,
    description: String,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// Its elements.
    pub body: String,
}

impl Drawing {
    /// As an element of an HTML page that has the style of plots.
    pub fn inline(&self) -> String {
        let mut out = String::from("<svg class=\"plot\" role=\"img\" viewBox=\"0 0 ");
        let _ = write!(out, "{:.0} {:.0}\"><title>", self.width, self.height);
        escape(&mut out, &self.title);
        out.push_str("</title><desc>");
        escape(&mut out, &self.description);
        out.push_str("</desc>");
        out.push_str(&self.body);
        out.push_str("</svg>");
        out
    }

    /// As a small picture within words, which say the same: it has no title.
    pub fn inside(&self, class: &str) -> String {
        format!(
            "<svg class=\"plot {class}\" aria-hidden=\"true\" viewBox=\"0 0 {:.0} {:.0}\">{}</svg>",
            self.width, self.height, self.body
        )
    }

    /// With what the colours of curves stand for, above it.
    pub fn with_keys(self, names: &[(String, usize)]) -> Self {
        self.above(names, |canvas, (x, y), tone| {
            let class = if tone % 16 < 8 { "curve" } else { "curve dash" };
            canvas.line((x - 4.0, y - 3.5), (x + 12.0, y - 3.5), class);
        })
    }

    /// Keys in as many lines as they need, the plot moved below them.
    pub fn above(mut self, keys: &[(String, usize)], mark: impl Fn(&mut Canvas, (f64, f64), usize)) -> Self {
        let mut canvas = Canvas::default();
        let (mut x, mut y) = (4.0, 14.0);
        for (name, tone) in keys {
            let width = text_width(name, 12.0) + 36.0;
            if x > 4.0 && x + width > self.width {
                (x, y) = (4.0, y + 20.0);
            }
            canvas.open(&format!("t{}", tone % 8), "");
            mark(&mut canvas, (x, y), *tone);
            canvas.text(x + 17.0, y, "key", Anchor::Start, name);
            canvas.close();
            x += width;
        }
        let moved = y + 12.0;
        self.body = format!(
            "{}<g transform=\"translate(0 {moved:.0})\">{}</g>",
            canvas.body, self.body
        );
        self.height += moved;
        self
    }
}

/// A plot being drawn, in units of about a pixel of a page.
#[derive(Debug, Default)]
pub struct Canvas {
    /// Its elements.
    pub body: String,
}

impl Canvas {
    /// The finished plot.
    pub fn finish(self, title: impl Into<String>, description: impl Into<String>, width: f64, height: f64) -> Drawing {
        Drawing {
            title: title.into(),
            description: description.into(),
            width,
            height: height.ceil(),
            body: self.body,
        }
    }

    /// Begins a group with what a pointer on it shows.
    pub fn open(&mut self, class: &str, tip: &str) {
        let _ = write!(self.body, "<g class=\"{class}\">");
        if !tip.is_empty() {
            self.body.push_str("<title>");
            escape(&mut self.body, tip);
            self.body.push_str("</title>");
        }
    }

    /// Begins what leads to another place of the page, with what a pointer on it shows.
    pub fn open_link(&mut self, class: &str, target: &str, tip: &str) {
        let _ = write!(self.body, "<a class=\"{class}\" href=\"#");
        escape(&mut self.body, target);
        self.body.push_str("\"><title>");
        escape(&mut self.body, tip);
        self.body.push_str("</title>");
    }

    /// Ends what leads elsewhere.
    pub fn close_link(&mut self) {
        self.body.push_str("</a>");
    }

    /// A line bent towards a point.
    pub fn bent(&mut self, from: (f64, f64), towards: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<path class=\"{class}\" d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\"/>",
            from.0, from.1, towards.0, towards.1, to.0, to.1
        );
    }

    /// A field with round corners.
    pub fn rounded(&mut self, at: (f64, f64), width: f64, height: f64, radius: f64, class: &str) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" rx=\"{radius:.1}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
            at.0, at.1
        );
    }

    /// Words along a direction (radians, clockwise from the right), beginning `distance` away from
    /// a point. Those that would stand on their head are turned round.
    pub fn text_along(&mut self, at: (f64, f64), direction: f64, distance: f64, class: &str, words: &str) {
        let degrees = direction.to_degrees().rem_euclid(360.0);
        let turned = (90.0..270.0).contains(&degrees);
        let (degrees, distance, anchor) = if turned {
            (degrees + 180.0, -distance, Anchor::End)
        } else {
            (degrees, distance, Anchor::Start)
        };
        let _ = write!(
            self.body,
            "<g transform=\"translate({:.1} {:.1}) rotate({degrees:.1})\">",
            at.0, at.1
        );
        self.text(distance, 4.5, class, anchor, words);
        self.close();
    }

    /// Ends a group.
    pub fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// Text at a point.
    pub fn text(&mut self, x: f64, y: f64, class: &str, anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">"
        );
        escape(&mut self.body, words);
        self.body.push_str("</text>");
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// A rectangle; negative sizes are none.
    pub fn rect(&mut self, at: (f64, f64), width: f64, height: f64, class: &str) {
        let _ = write!(
            self.body,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            at.0,
            at.1,
            width.max(0.0),
            height.max(0.0)
        );
    }

    /// A filled circle.
    pub fn circle(&mut self, at: (f64, f64), radius: f64, class: &str) {
        let _ = write!(
            self.body,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"/>",
            at.0, at.1
        );
    }

    /// A line through these points, closed or open.
    pub fn path(&mut self, points: &[(f64, f64)], close: bool, class: &str) {
        let _ = write!(self.body, "<path class=\"{class}\" d=\"");
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(self.body, "{}{x:.1} {y:.1}", if index == 0 { 'M' } else { 'L' });
        }
        self.body.push_str(if close { "Z\"/>" } else { "\"/>" });
    }
}

/// As text between tags and in attributes; what XML does not allow at all becomes a replacement character.
pub fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            control if control.is_control() || matches!(control, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
}

/// About how wide a text is at this size, by the widths of a wide common sans-serif: no font is at hand.
pub fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|character| match character {
            'i' | 'l' | 'j' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' | '\u{202f}' => 0.3,
            ' ' | '\u{a0}' | 't' | 'f' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | 'I' => 0.4,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
            'A'..='Z' => 0.71,
            _ => 0.63,
        })
        .sum();
    ems * size
}
