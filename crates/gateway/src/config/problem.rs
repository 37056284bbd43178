//! A problem in a config file, in the style of a compiler: message, place, and fix.

use std::fmt;
use std::path::PathBuf;

use super::excerpt::Excerpt;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file is not used.
    Error,
    /// The file is used; this part is ignored, or may not mean what its author thinks.
    Warning,
}

/// One problem of one file. `Display` gives several lines, without a final line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    pub file: PathBuf,
    /// Path in the tree, such as `mcpServers.github.timeout`; empty for the file as a whole.
    pub path: String,
    /// From 1; 0 if the problem has no single place.
    pub line: usize,
    /// In characters, from 1; 0 if `line` is.
    pub column: usize,
    pub message: String,
    /// How to fix it.
    pub remedy: Option<String>,
    pub(super) excerpt: Option<Excerpt>,
}

impl Problem {
    /// Problem of the file itself, without a place in its text.
    pub(super) fn with_file(file: PathBuf, severity: Severity, message: String, remedy: String) -> Self {
        Self {
            severity,
            file,
            path: String::new(),
            line: 0,
            column: 0,
            message,
            remedy: Some(remedy),
            excerpt: None,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.message)?;

        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        write!(f, "\n{gutter}--> {}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{gutter} |\n{number} | {}\n{gutter} | {}", excerpt.text, excerpt.underline())?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n{gutter} = help: {remedy}")?;
        }
        Ok(())
    }
}
