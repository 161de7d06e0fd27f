//! Commands in messages, completed with the files and options of this call: they run as printed.

use std::ffi::OsStr;
use std::sync::OnceLock;

use clap::ArgMatches;
use clap::parser::ValueSource;

/// Options of this process' command line.
static CALL: OnceLock<Pasted> = OnceLock::new();

/// Remembers the command line, whose files and nodes are those that messages are about.
pub(crate) fn remember(matches: &ArgMatches) {
    // There is one command line.
    let _ = CALL.set(Pasted::of(matches));
}

/// A text whose commands are complete.
pub(crate) fn complete(text: &str) -> String {
    CALL.get()
        .map_or_else(|| text.to_owned(), |pasted| pasted.complete(text))
}

/// Options for the commands that messages name.
#[derive(Debug, Default)]
struct Pasted(Vec<(&'static str, String)>);

impl Pasted {
    fn of(matches: &ArgMatches) -> Self {
        let (mut first, mut leaf) = (None, matches);
        while let Some((name, below)) = leaf.subcommand() {
            first.get_or_insert(name);
            leaf = below;
        }
        let given = |id: &str| {
            let value = leaf.try_get_raw(id).ok().flatten()?.next()?;
            (leaf.value_source(id) == Some(ValueSource::CommandLine)).then(|| quoted(value))
        };
        let mut all = Self::default();
        if first == Some("ca")
            && let Some(dir) = given("dir")
        {
            all.add(&["ca"], &format!("--dir {dir}"));
        }
        if let (Some(file), Some(node)) = (given("file"), given("node")) {
            let place = format!("{file} --node {node}");
            all.add(
                &[
                    "guard install",
                    "guard show",
                    "sidecar redirect install",
                    "sidecar redirect show",
                ],
                &place,
            );
            let more = ["vici", "directory", "with"].map(|option| {
                let value = given(option);
                value.map_or_else(String::new, |value| format!(" --{option} {value}"))
            });
            all.add(&["up", "down", "status", "watch", "rekey"], &(place + &more.concat()));
        }
        all
    }

    /// Adds commands, by their beginning, that take these options.
    fn add(&mut self, commands: &[&'static str], options: &str) {
        self.0
            .extend(commands.iter().map(|command| (*command, options.to_owned())));
    }

    /// Commands in backticks get the options, unless they have them. One that is to be given
    /// elsewhere (`... there`) has its own.
    fn complete(&self, text: &str) -> String {
        let mut complete = String::with_capacity(text.len());
        let mut spans = text.split('`').peekable();
        let mut is_code = false;
        while let Some(span) = spans.next() {
            complete.push_str(span);
            let elsewhere = spans.peek().is_some_and(|next| next.starts_with(" there"));
            if let Some(options) = self.options(span).filter(|_| is_code && !elsewhere) {
                complete.push(' ');
                complete.push_str(options);
            }
            if spans.peek().is_some() {
                complete.push('`');
            }
            is_code = !is_code;
        }
        complete
    }

    fn options(&self, code: &str) -> Option<&str> {
        let arguments = code.strip_prefix("bartizan ")?;
        let is_of = |command: &str| {
            let rest = arguments.strip_prefix(command);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let (_, options) = self.0.iter().find(|(command, _)| is_of(command))?;
        let has = |option: &str| code.split(' ').any(|word| word == option);
        let given = options.split(' ').find(|word| word.starts_with("--")).is_some_and(has);
        (!given && !options.is_empty()).then_some(options)
    }
}

/// A word as a POSIX shell takes it: as it is where no character of it means anything, else in
/// single quotes.
pub(crate) fn quoted(word: &(impl AsRef<OsStr> + ?Sized)) -> String {
    let word = word.as_ref().to_string_lossy();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-:+@%,=".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_message_get_the_options_of_the_call_once() {
        let of = |line: &[&str]| Pasted::of(&crate::command().get_matches_from(line));
        let mut pasted = of(&["bartizan", "ca", "list", "--dir", "my ca"]);
        pasted
            .0
            .extend(of(&["bartizan", "status", "ran.yaml", "--node", "cu"]).0);
        assert!(of(&["bartizan", "ca", "list"]).0.is_empty());
        for (text, complete) in [
            (
                "`bartizan ca list` shows it; `bartizan cabinet` not",
                "`bartizan ca list --dir 'my ca'` shows it; `bartizan cabinet` not",
            ),
            ("`bartizan ca list --dir x`", "`bartizan ca list --dir x`"),
            (
                "run `bartizan guard install` again; `bartizan guard remove --node cu`",
                "run `bartizan guard install ran.yaml --node cu` again; `bartizan guard remove --node cu`",
            ),
            (
                "`bartizan status` there, `bartizan status --json` here",
                "`bartizan status` there, `bartizan status --json ran.yaml --node cu` here",
            ),
            ("bartizan ca list", "bartizan ca list"),
        ] {
            assert_eq!(pasted.complete(text), complete);
        }
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("/etc/bartizan/ca.crl.pem"), "/etc/bartizan/ca.crl.pem");
    }
}
