//! Where the loader puts what it finds, and what turns places in the text into lines and columns.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use super::excerpt::Excerpt;
use super::problem::{Problem, Severity};

/// A file that is broken all over is not reported line by line: nobody reads the hundredth. Errors and
/// warnings are counted apart, so that no number of warnings can hide an error.
const MAX_PROBLEMS_PER_SEVERITY: usize = 100;

/// A place in a file: where in the tree, and which bytes.
#[derive(Clone, Debug)]
pub(super) struct FilePlace {
    pub(super) path: String,
    pub(super) span: Range<usize>,
    /// Whether the text here may be shown. It may be a secret, so this has to be said.
    pub(super) readable: bool,
}

impl FilePlace {
    /// A place that the tree has no name for.
    pub(super) fn nameless(span: Range<usize>) -> Self {
        Self { path: String::new(), span, readable: false }
    }

    pub(super) fn key(&self, key: &str, span: Range<usize>) -> Self {
        let mut path = self.path.clone();
        if !path.is_empty() {
            path.push('.');
        }
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
        if !key.is_empty() && key.chars().all(is_plain) {
            path.push_str(&shown(key));
        } else {
            let _ = write!(path, "\"{}\"", shown(key));
        }
        Self { path, span, readable: false }
    }

    /// The same place, whose text is known to be no secret.
    pub(super) fn readable(&self) -> Self {
        Self { readable: true, ..self.clone() }
    }

    pub(super) fn index(&self, index: usize, span: Range<usize>) -> Self {
        Self { path: format!("{}[{index}]", self.path), span, readable: false }
    }
}

/// Text from the file as it may stand in a message: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let mut shown: String =
        text.chars().take(MAX_CHARS).map(|c| if c.is_control() { '�' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Collects the problems of one file.
pub(super) struct Report<'a> {
    file: &'a Path,
    source: &'a str,
    findings: Vec<Finding>,
    /// How many there were, those that were not kept included.
    errors: usize,
    warnings: usize,
}

/// A problem whose line and column are still to be counted.
struct Finding {
    severity: Severity,
    place: FilePlace,
    message: String,
    remedy: Option<String>,
}

impl<'a> Report<'a> {
    pub(super) fn new(file: &'a Path, source: &'a str) -> Self {
        Self { file, source, findings: Vec::new(), errors: 0, warnings: 0 }
    }

    pub(super) fn error(&mut self, place: &FilePlace, message: impl Into<String>, remedy: impl Into<String>) {
        self.add(Severity::Error, place, message.into(), Some(remedy.into()));
    }

    pub(super) fn warning(&mut self, place: &FilePlace, message: impl Into<String>, remedy: Option<String>) {
        self.add(Severity::Warning, place, message.into(), remedy);
    }

    /// Whether there was an error.
    pub(super) fn failed(&self) -> bool {
        self.errors > 0
    }

    /// Whether a further problem of this kind would only be counted.
    pub(super) fn is_full_of(&self, severity: Severity) -> bool {
        let count = match severity {
            Severity::Error => self.errors,
            Severity::Warning => self.warnings,
        };
        count >= MAX_PROBLEMS_PER_SEVERITY
    }

    /// All problems, in the order of the file.
    pub(super) fn finish(mut self) -> Vec<Problem> {
        let left_out = self.errors + self.warnings - self.findings.len();
        let severity_of_rest = if self.failed() { Severity::Error } else { Severity::Warning };
        self.findings.sort_by_key(|finding| finding.place.span.start);
        let mut problems = Vec::with_capacity(self.findings.len() + 1);
        // Counted on from problem to problem, so that the text is gone through once.
        let (mut line, mut column, mut counted) = (1, 1, 0);
        for Finding { severity, place, message, remedy } in self.findings {
            for c in self.source[counted..place.span.start].chars() {
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            counted = place.span.start;
            problems.push(Problem {
                severity,
                file: self.file.to_owned(),
                path: place.path,
                line,
                column,
                message,
                remedy,
                excerpt: Some(Excerpt::of(self.source, place.span, place.readable)),
            });
        }
        if left_out > 0 {
            let message = format!("{left_out} more problems in this file are not shown");
            let remedy = "mend those above first".to_owned();
            problems.push(Problem::with_file(self.file.to_owned(), severity_of_rest, message, remedy));
        }
        problems
    }

    fn add(&mut self, severity: Severity, place: &FilePlace, message: String, remedy: Option<String>) {
        if !self.is_full_of(severity) {
            self.findings.push(Finding { severity, place: place.clone(), message, remedy });
        }
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
    }
}
