//! From text to sections as they are written.

use super::resolve::{Raw, resolve};
use super::{Place, Settings, SyntaxError};

/// Sections within sections, and files that include files; strongSwan allows ten of the latter.
const DEEPEST: usize = 10;

/// Values and sections of all files together.
const MOST: usize = 100_000;

/// Resolver of includes: takes the pattern as written and the including file, and returns names and
/// texts of the matching files.
pub type Include<'a> = dyn FnMut(&str, &str) -> Result<Vec<(String, String)>, String> + 'a;

/// Reads a configuration. `file` names it in places; `include` brings the text of what it includes.
///
/// # Errors
///
/// Fails if the text is not of the format, a reference leads nowhere or in a circle, or a bound is
/// passed.
pub fn parse(file: &str, text: &str, include: &mut Include<'_>) -> Result<Settings, SyntaxError> {
    let mut root = Raw::default();
    let mut budget = MOST;
    Reader::new(file, text, 0, &mut budget, include).file(&mut root)?;
    resolve(&root, &mut budget)
}

struct Reader<'a, 'b> {
    file: &'a str,
    rest: &'a str,
    line: u32,
    /// Number of nested includes.
    depth: usize,
    budget: &'a mut usize,
    include: &'a mut Include<'b>,
}

impl<'a, 'b> Reader<'a, 'b> {
    fn new(file: &'a str, text: &'a str, depth: usize, budget: &'a mut usize, include: &'a mut Include<'b>) -> Self {
        Self {
            file,
            rest: text,
            line: 1,
            depth,
            budget,
            include,
        }
    }

    fn place(&self) -> Place {
        Place {
            file: self.file.to_owned(),
            line: self.line,
        }
    }

    fn wrong<T>(&self, cause: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError {
            place: self.place(),
            cause: cause.into(),
        })
    }

    /// The whole file, into what there is.
    fn file(mut self, root: &mut Raw) -> Result<(), SyntaxError> {
        if self.depth > DEEPEST {
            return self.wrong(format!("files include each other more than {DEEPEST} deep"));
        }
        self.content(root, 0)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => self.wrong("a `}` without its `{`"),
        }
    }

    /// Reads the content of a section, up to its `}`, which is left, or the end.
    fn content(&mut self, section: &mut Raw, depth: usize) -> Result<(), SyntaxError> {
        loop {
            self.blank(true);
            let Some(next) = self.peek().filter(|next| *next != '}') else {
                return Ok(());
            };
            self.spend()?;
            let place = self.place();
            let name = self.name();
            if name.is_empty() {
                return self.wrong(format!("`{next}` where a name is due"));
            }
            if name == "include" && self.peek().is_some_and(|next| next == ' ' || next == '\t') {
                self.included(section)?;
                continue;
            }
            self.blank(true);
            match self.peek() {
                Some('=') => {
                    self.take();
                    let value = self.value()?;
                    section.set(name, value, place);
                }
                Some('{') => self.inner(section, &name, Vec::new(), place, depth)?,
                Some(':') => {
                    self.take();
                    let references = self.references()?;
                    self.inner(section, &name, references, place, depth)?;
                }
                _ => return self.wrong(format!("neither `=` nor `{{` after `{name}`")),
            }
        }
    }

    fn inner(
        &mut self,
        section: &mut Raw,
        name: &str,
        references: Vec<(String, Place)>,
        place: Place,
        depth: usize,
    ) -> Result<(), SyntaxError> {
        if depth == DEEPEST {
            return self.wrong(format!("sections are more than {DEEPEST} deep"));
        }
        if self.peek() != Some('{') {
            return self.wrong(format!("no `{{` after `{name}`"));
        }
        self.take();
        let inner = section.section(name, place);
        inner.refer(references);
        self.content(inner, depth + 1)?;
        if self.peek() != Some('}') {
            return self.wrong(format!("the section `{name}` has no end"));
        }
        self.take();
        Ok(())
    }

    fn references(&mut self) -> Result<Vec<(String, Place)>, SyntaxError> {
        let mut references = Vec::new();
        loop {
            self.blank(true);
            let place = self.place();
            let name = self.name();
            if name.is_empty() {
                return self.wrong("no section is named after `:`");
            }
            self.spend()?;
            references.push((name, place));
            self.blank(true);
            if self.peek() != Some(',') {
                return Ok(references);
            }
            self.take();
        }
    }

    fn included(&mut self, section: &mut Raw) -> Result<(), SyntaxError> {
        let pattern = self.value()?;
        let files = match (self.include)(&pattern, self.file) {
            Ok(files) => files,
            Err(cause) => return self.wrong(cause),
        };
        for (file, text) in files {
            self.spend()?;
            Reader::new(&file, &text, self.depth + 1, self.budget, self.include).file(section)?;
        }
        Ok(())
    }

    /// A name goes up to what has a meaning.
    fn name(&mut self) -> String {
        let ends = |letter: char| letter.is_whitespace() || "#{}=:,\"".contains(letter);
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        name.to_owned()
    }

    /// A value goes to the end of its line, a comment, or the end of its section; quoted parts go on.
    fn value(&mut self) -> Result<String, SyntaxError> {
        let mut value = String::new();
        // Blanks at the end belong to nothing, unless they were quoted.
        let mut kept = 0;
        self.blank(false);
        while let Some(next) = self.peek().filter(|next| !"#}\r\n".contains(*next)) {
            self.take();
            if next == '"' {
                self.quoted(&mut value)?;
                kept = value.len();
            } else {
                value.push(next);
                if !next.is_whitespace() {
                    kept = value.len();
                }
            }
        }
        value.truncate(kept);
        Ok(value)
    }

    fn quoted(&mut self, value: &mut String) -> Result<(), SyntaxError> {
        let begun = self.place();
        while let Some(next) = self.take() {
            match next {
                '"' => return Ok(()),
                '\\' => match self.take() {
                    Some('n') => value.push('\n'),
                    Some('r') => value.push('\r'),
                    Some('t') => value.push('\t'),
                    Some('\n') | None => {}
                    Some(other) => value.push(other),
                },
                other => value.push(other),
            }
        }
        let cause = "a quoted value has no end".to_owned();
        Err(SyntaxError { place: begun, cause })
    }

    /// Blanks, and where `lines` is set also line ends and comments.
    fn blank(&mut self, lines: bool) {
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' => {}
                '\r' | '\n' if lines => {}
                '#' if lines => {
                    let length = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[length..];
                    continue;
                }
                _ => return,
            }
            self.take();
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        self.line += u32::from(next == '\n');
        Some(next)
    }

    fn spend(&mut self) -> Result<(), SyntaxError> {
        match self.budget.checked_sub(1) {
            Some(left) => *self.budget = left,
            None => return self.wrong(format!("more than {MOST} settings")),
        }
        Ok(())
    }
}
