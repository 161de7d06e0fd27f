//! The log on standard error: a line for each event, its fields in logfmt.

use std::fmt::Write as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::debug_fn;

use crate::output::is_coloured;

/// Starts the log for people.
pub(crate) fn start(filter: EnvFilter) {
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured(&std::io::stderr()))
        .with_target(false)
        .fmt_fields(fields())
        .init();
}

/// Fields as `name=value`; the message stands alone.
fn fields() -> impl for<'a> FormatFields<'a> + Send + Sync + 'static {
    debug_fn(|writer, field, value| match field.name() {
        "message" => write!(writer, "{value:?}"),
        name => write!(writer, "{name}={}", quoted(format!("{value:?}"))),
    })
    .delimited(" ")
}

/// A value as parsers of logfmt take it: one with blanks, quotes or `=` in quotes.
fn quoted(text: String) -> String {
    let is_quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    let is_plain = !text.is_empty() && !text.contains(|one: char| one.is_whitespace() || one == '"' || one == '=');
    match is_quoted || is_plain {
        true => text,
        false => {
            let mut quoted = String::new();
            // Writing into a String cannot fail.
            let _ = write!(quoted, "{text:?}");
            quoted
        }
    }
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
        });
        let written = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(
            written,
            " INFO in use: x = y subject=\"O=Bartizan, CN=nrf\" subject=\"O=Bartizan, CN=nrf\" file=a.pem file=\"a.pem\" \
             count=3 none=\"\" subject=\"O=Bartizan, CN=nrf\"\n INFO refused detail=\"said \\\"no\\\"\"\n"
        );
    }
}
