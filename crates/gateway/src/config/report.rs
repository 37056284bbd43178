//! Collection of problems while a file is loaded, with line and column numbers.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use super::excerpt::Excerpt;
use super::problem::{Problem, Severity};

/// A file that is broken throughout is not reported line by line. Errors and warnings are counted separately,
/// so that warnings cannot hide an error.
const MAX_PROBLEMS_PER_SEVERITY: usize = 100;

/// A place in a file: its path in the tree, and its bytes.
#[derive(Clone, Debug)]
pub(super) struct FilePlace {
    pub(super) path: String,
    pub(super) span: Range<usize>,
    /// Whether the text here may be shown. False by default: it may be a secret.
    pub(super) readable: bool,
}

impl FilePlace {
    /// Place without a path in the tree.
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

    /// The same place, marked as free of secrets.
    pub(super) fn readable(&self) -> Self {
        Self { readable: true, ..self.clone() }
    }

    pub(super) fn index(&self, index: usize, span: Range<usize>) -> Self {
        Self { path: format!("{}[{index}]", self.path), span, readable: false }
    }
}

/// Text from the file for use in a message: short, and without control characters.
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
    /// Totals, including problems that were not kept.
    errors: usize,
    warnings: usize,
}

/// Problem without line and column, which are counted at the end.
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

    /// Whether a further problem of this severity would only be counted.
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
        // Counting continues from problem to problem, so that the text is scanned once.
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
            let remedy = "fix the problems above first".to_owned();
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
