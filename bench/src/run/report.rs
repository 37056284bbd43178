//! Output of figures and verdicts: on the terminal, as Markdown, as JSON. Must not judge.

use std::fmt::Write;
use std::fs;

use serde_json::{Value, json};

use super::Bench;
use super::figures::{Measure, Summary};
use super::verdict::Line;

const HOW: &str = "\
Median over the rounds, and in brackets the least and the greatest. Subjects take turns within a round; what \
relates two of them is computed round by round.";

/// The machine. Figures are meaningless without it.
pub(super) struct Machine {
    cores: usize,
    cpu: String,
    kernel: String,
    /// Load of the machine before the run.
    load: String,
}

impl Machine {
    pub(super) fn read() -> Self {
        let file = |path| fs::read_to_string(path).unwrap_or_default();
        let cpu = file("/proc/cpuinfo").lines().find_map(|line| {
            line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned())
        });
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            kernel: file("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: file("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    fn line(&self) -> String {
        let Self { cores, cpu, kernel, load } = self;
        let plural = if *cores == 1 { "" } else { "s" };
        format!("{cores} core{plural} ({cpu}), Linux {kernel}, load before the run {load}")
    }
}

pub(super) fn terminal(machine: &Machine, bench: &Bench, lines: &[Line]) -> String {
    let mut text = format!("\n{}: {}\n\n", bench.suite.name(), machine.line());
    text.push_str(&aligned(&figure_rows(bench)));
    if !lines.is_empty() {
        text.push('\n');
        text.push_str(&aligned(&verdict_rows(lines)));
    }
    for failure in bench.figures.failures() {
        let _ = write!(text, "\nFAILED: {failure}");
    }
    let _ = write!(text, "\n{HOW}");
    text
}

pub(super) fn markdown(machine: &Machine, bench: &Bench, lines: &[Line]) -> String {
    let mut text = format!("# Benchmark: {}\n\n{}. {HOW}\n", bench.suite.name(), machine.line());
    for rows in [verdict_rows(lines), figure_rows(bench)] {
        let Some((head, body)) = rows.split_first().filter(|(_, body)| !body.is_empty()) else { continue };
        let _ = writeln!(text, "\n| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
        for row in body {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    for failure in bench.figures.failures() {
        let _ = write!(text, "\n**Failed**: {failure}\n");
    }
    text
}

pub(super) fn json(machine: &Machine, bench: &Bench, lines: &[Line]) -> Value {
    let mut figures = Vec::new();
    for measure in Measure::all() {
        for (index, subject) in bench.subjects.iter().enumerate() {
            let Some(summary) = bench.figures.summary(measure, index) else { continue };
            let rounds: Vec<f64> = bench.figures.rounds(measure, index).collect();
            figures.push(json!({
                "measure": measure.key(), "unit": measure.unit(), "subject": subject.name,
                "summary": summary_json(summary), "rounds": rounds,
            }));
        }
    }
    let targets: Vec<Value> = lines
        .iter()
        .map(|line| {
            json!({
                "title": line.title, "unit": line.unit, "summary": line.value.map(summary_json),
                "target": line.target(), "verdict": line.verdict.word(),
            })
        })
        .collect();
    let failures: Vec<&str> = bench.figures.failures().collect();
    let Machine { cores, cpu, kernel, load } = machine;
    json!({
        "suite": bench.suite.name(),
        "machine": { "cores": cores, "cpu": cpu, "kernel": kernel, "load": load },
        "payload": bench.options.payload.name(), "figures": figures, "targets": targets, "failures": failures,
    })
}

fn summary_json(summary: Summary) -> Value {
    json!({ "median": summary.median, "min": summary.least, "max": summary.greatest })
}

fn figure_rows(bench: &Bench) -> Vec<Vec<String>> {
    let names = bench.subjects.iter().map(|subject| subject.name.clone());
    let mut rows = vec![["figure".to_owned(), "unit".to_owned()].into_iter().chain(names).collect()];
    for measure in Measure::all().filter(|measure| bench.figures.measured(*measure)) {
        let mut row = vec![measure.title().to_owned(), measure.unit().to_owned()];
        row.extend((0..bench.subjects.len()).map(|subject| value(bench.figures.summary(measure, subject))));
        rows.push(row);
    }
    rows
}

fn verdict_rows(lines: &[Line]) -> Vec<Vec<String>> {
    let mut rows = vec![["promise", "unit", "target", "value", "verdict"].map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(|line| {
        let verdict = line.verdict.word().to_owned();
        vec![line.title.clone(), line.unit.to_owned(), line.target(), value(line.value), verdict]
    }));
    rows
}

fn value(summary: Option<Summary>) -> String {
    let Some(Summary { median, least, greatest }) = summary else { return "–".to_owned() };
    let decimals = match median.abs() {
        size if size >= 1_000.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{median:.decimals$} ({least:.decimals$}–{greatest:.decimals$})")
}

/// Columns as wide as their widest cell.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}
