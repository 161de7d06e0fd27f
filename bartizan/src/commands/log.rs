//! The log on standard error: a line for each event, its fields in logfmt.

use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::debug_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::output::is_coloured;

/// Filter of a log without options.
pub(crate) fn info() -> Targets {
    Targets::new().with_default(LevelFilter::INFO)
}

/// Starts the log for people.
pub(crate) fn start(filter: Targets) {
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured(&std::io::stderr()))
        .with_target(false)
        .fmt_fields(fields())
        .finish()
        .with(filter)
        .init();
}

/// Starts the log for programs.
pub(crate) fn start_json(filter: Targets) {
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .json()
        .flatten_event(true)
        .finish()
        .with(filter)
        .init();
}

/// Fields as `name=value`; the message stands alone. A peer may have chosen a part of either: no
/// control character is written.
fn fields() -> impl for<'a> FormatFields<'a> + Send + Sync + 'static {
    debug_fn(|writer, field, value| match field.name() {
        "message" => {
            let text = format!("{value:?}");
            text.chars().try_for_each(|one| match one.is_control() {
                true => write!(writer, "{}", one.escape_default()),
                false => writer.write_char(one),
            })
        }
        name => write!(writer, "{name}={}", quoted(format!("{value:?}"))),
    })
    .delimited(" ")
}

/// A value as parsers of logfmt take it: one with blanks, quotes or `=` in quotes.
fn quoted(text: String) -> String {
    let is_special = |one: char| one.is_whitespace() || one.is_control() || one == '"' || one == '=';
    let is_plain = !text.is_empty() && !text.contains(is_special);
    if is_plain || is_literal(&text) {
        text
    } else {
        format!("{text:?}")
    }
}

/// True for one literal in quotes, as Debug of a string writes it.
fn is_literal(text: &str) -> bool {
    let Some(body) = text.strip_prefix('"') else {
        return false;
    };
    let mut escaped = false;
    let end = body.char_indices().find(|&(_, one)| {
        let is_end = one == '"' && !escaped;
        escaped = one == '\\' && !escaped;
        is_end || one.is_control()
    });
    end.is_some_and(|(at, one)| one == '"' && at + 1 == body.len())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Kept {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn every_value_is_one_word_or_quoted() {
        let kept = Kept::default();
        let log = tracing_subscriber::fmt()
            .with_writer(kept.clone())
            .with_ansi(false)
            .without_time()
            .with_target(false)
            .fmt_fields(fields());
        tracing::subscriber::with_default(log.finish(), || {
            let (subject, file) = ("O=Bartizan, CN=nrf", "a.pem");
            tracing::info!(%subject, subject, %file, file, count = 3, none = "", %subject, "in use: x = y");
            tracing::info!(detail = %"said \"no\"", "refused");
            tracing::info!(forged = %"\"a\" b=\"c\"", lines = %"\"a\nERROR x\"", escape = %"\u{1b}[2J", "a\nb");
        });
        let written = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            written,
            " INFO in use: x = y subject=\"O=Bartizan, CN=nrf\" subject=\"O=Bartizan, CN=nrf\" file=a.pem file=\"a.pem\" \
             count=3 none=\"\" subject=\"O=Bartizan, CN=nrf\"\n INFO refused detail=\"said \\\"no\\\"\"\n \
             INFO a\\nb forged=\"\\\"a\\\" b=\\\"c\\\"\" lines=\"\\\"a\\nERROR x\\\"\" escape=\"\\u{1b}[2J\"\n"
        );
    }
}
