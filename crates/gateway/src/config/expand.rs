//! Expansion of `${VAR}`, `${workspaceFolder}`, `${ignoredFolders}` and `~`. Pure: the
//! environment and the root are arguments.
//!
//! Text is scanned once, from left to right, and inserted values are never scanned again: a variable whose
//! value contains `${…}` yields just that text.

mod error;

pub use error::{ExpandCause, ExpandError};

use std::ffi::OsString;
use std::path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};

use super::model::STDERR;
use super::report::shown;
use super::variables::Lookup;
use super::{AuditConfig, Config, LogConfig, Packages, ServerConfig, Variables, folders};

/// Expanded launch: the arguments of `exec`, except for the inherited environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    pub command: String,
    pub args: Vec<String>,
    pub env: Variables,
    pub cwd: Option<PathBuf>,
    /// Address and headers of a remote server, which has nothing to start.
    pub remote: Option<(String, Variables)>,
}

/// Expands the launch of `server` for `root`.
pub fn launch_parts(
    server: &ServerConfig,
    root: Option<&Path>,
    vars: Lookup<'_>,
) -> Result<Expanded, ExpandError> {
    // Words of a command line have been expanded by the shell already.
    if !server.expand {
        return Ok(Expanded {
            command: server.command.clone(),
            args: server.args.clone(),
            env: server.env.clone(),
            cwd: server.cwd.as_ref().map(PathBuf::from),
            remote: server.remote.as_ref().map(|remote| (remote.url.clone(), remote.headers.clone())),
        });
    }
    let at = |key: String| move |cause| ExpandError { server: Some(server.name.clone()), key, cause };
    let filler = Filler { root, vars, folders: None };
    let listing = Filler { folders: Some(&server.ignored_folders), ..filler };

    if let Some(remote) = &server.remote {
        let url = filler.fill(&remote.url).map_err(at("url".into()))?;
        let mut headers = Variables::default();
        for (name, value) in remote.headers.iter() {
            headers.push((name.clone(), filler.fill(value).map_err(at(format!("headers.{name}")))?));
        }
        let (command, args, env) = (String::new(), Vec::new(), Variables::default());
        return Ok(Expanded { command, args, env, cwd: None, remote: Some((url, headers)) });
    }

    let command = filler.fill_path(&server.command).map_err(at("command".into()))?;
    // A variable may expand to nothing.
    if command.trim().is_empty() {
        return Err(at("command".into())(ExpandCause::NoCommand));
    }
    let mut args = Vec::with_capacity(server.args.len());
    for (index, arg) in server.args.iter().enumerate() {
        args.extend(listing.fill_argument(arg).map_err(at(format!("args[{index}]")))?);
    }
    let mut env = Variables::default();
    for (name, value) in server.env.iter() {
        env.push((name.clone(), listing.fill(value).map_err(at(format!("env.{name}")))?));
    }
    let cwd = server.cwd.as_ref().map(|cwd| filler.fill_path(cwd).map_err(at("cwd".into()))).transpose()?;
    // `join` leaves an absolute path unchanged.
    let cwd = cwd.map(|cwd| root.map_or_else(|| PathBuf::from(&cwd), |root| root.join(&cwd)));
    Ok(Expanded { command, args, env, cwd, remote: None })
}

/// Program that `server` starts, expanded without a root; unexpanded if that fails.
pub(crate) fn command(server: &ServerConfig, vars: Lookup<'_>) -> String {
    let filler = Filler { root: None, vars, folders: None };
    let filled = server.expand.then(|| filler.fill_path(&server.command).ok()).flatten();
    filled.unwrap_or_else(|| server.command.clone())
}

/// Variables in the texts of `server`, with their values; `None` for one that is not set.
pub(crate) fn variables(server: &ServerConfig, vars: Lookup<'_>) -> Vec<(String, Option<OsString>)> {
    let mut found = Vec::new();
    if !server.expand {
        return found;
    }
    let filler = Filler { root: None, vars, folders: None };
    // `~` counts as a variable too, since another home means another file.
    let mut uses_home =
        [Some(&server.command), server.cwd.as_ref()].iter().flatten().any(|text| text.starts_with('~'));
    for text in server.texts().filter(|text| text.contains("${")) {
        for piece in pieces(text).unwrap_or_default() {
            match piece {
                Piece::Fill(Fill::Variable { name, default }) => {
                    found.push((name.to_owned(), filler.variable(name, default).ok().map(OsString::from)));
                }
                Piece::Fill(Fill::Home) => uses_home = true,
                // Roots, separators and lists of folders do not come from the environment.
                Piece::Fill(_) | Piece::Text(_) => {}
            }
        }
    }
    if uses_home {
        found.push(("HOME".to_owned(), folders::home(vars).map(OsString::from)));
    }
    found
}

/// Names of the variables in a text.
pub(crate) fn names_in(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for piece in pieces(text).unwrap_or_default() {
        match piece {
            Piece::Fill(Fill::Variable { name, .. }) => names.push(name),
            Piece::Fill(_) | Piece::Text(_) => {}
        }
    }
    names
}

/// Whether the launch of `server` depends on the root, so that each root needs its own backend. Comparing two
/// made-up roots also catches indirect uses, such as a relative `cwd`.
pub fn uses_root(server: &ServerConfig, vars: Lookup<'_>) -> bool {
    // Packages of the workspace differ from root to root, whatever the texts say.
    if server.packages == Packages::Workspace {
        return true;
    }
    if !could_use_root(server) {
        return false;
    }
    let [one, other] = ["/one", "/other"].map(|root| launch_parts(server, Some(Path::new(root)), vars));
    one != other
}

/// Whether `server` cannot be started without a root.
pub fn needs_root(server: &ServerConfig, vars: Lookup<'_>) -> bool {
    could_use_root(server)
        && launch_parts(server, None, vars).is_err_and(|error| error.cause == ExpandCause::NoRoot)
}

/// Cheap check first: few servers can depend on the root, and this runs at each start.
fn could_use_root(server: &ServerConfig) -> bool {
    server.expand && (server.cwd.is_some() || server.texts().any(|text| text.contains("${")))
}

/// Path of the log file. A relative path starts at the config file's folder.
pub fn log_file(
    log: &LogConfig,
    config_file: &Path,
    vars: Lookup<'_>,
) -> Result<Option<PathBuf>, ExpandError> {
    match log.file.as_deref() {
        // `-` is not a path, so no folder is put before it.
        Some(STDERR) => Ok(Some(STDERR.into())),
        file => beside(config_file, file, "log.file", vars),
    }
}

/// Path of the audit's file, if the config names one. A relative path starts at the config file's folder.
pub fn audit_file(
    audit: &AuditConfig,
    config_file: &Path,
    vars: Lookup<'_>,
) -> Result<Option<PathBuf>, ExpandError> {
    beside(config_file, audit.file.as_deref(), "audit.file", vars)
}

/// Root for requests without a workspace. A relative path starts at the config file's
/// folder. The folder need not exist.
pub fn default_root(
    config: &Config,
    config_file: &Path,
    vars: Lookup<'_>,
) -> Result<Option<PathBuf>, ExpandError> {
    beside(config_file, config.default_root.as_deref(), "defaultRoot", vars)
}

/// Expands a path of the config. A relative one starts at the config file's folder.
pub(crate) fn beside(
    config_file: &Path,
    path: Option<&str>,
    key: &str,
    vars: Lookup<'_>,
) -> Result<Option<PathBuf>, ExpandError> {
    let Some(path) = path else { return Ok(None) };
    let path = Filler { root: None, vars, folders: None }.fill_path(path).map_err(|cause| ExpandError {
        server: None,
        key: key.to_owned(),
        cause,
    })?;
    Ok(Some(config_file.parent().unwrap_or(Path::new("")).join(path)))
}

/// Values available for expansion.
#[derive(Clone, Copy)]
struct Filler<'a> {
    root: Option<&'a Path>,
    vars: Lookup<'a>,
    /// Ignored folders, where they may be used.
    folders: Option<&'a [String]>,
}

impl Filler<'_> {
    fn fill(&self, text: &str) -> Result<String, ExpandCause> {
        self.fill_pieces(&pieces(text)?, None)
    }

    /// Expands one element of `args`, which becomes several if it contains `${ignoredFolder}`.
    fn fill_argument(&self, text: &str) -> Result<Vec<String>, ExpandCause> {
        let pieces = pieces(text)?;
        if !pieces.iter().any(|piece| matches!(piece, Piece::Fill(Fill::EachFolder))) {
            return Ok(vec![self.fill_pieces(&pieces, None)?]);
        }
        let folders = self.folders.unwrap_or_default();
        folders.iter().map(|folder| self.fill_pieces(&pieces, Some(folder))).collect()
    }

    fn fill_pieces(&self, pieces: &[Piece<'_>], folder: Option<&str>) -> Result<String, ExpandCause> {
        let mut filled = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Fill(fill) => filled.push_str(&self.value(*fill, folder)?),
            }
        }
        Ok(filled)
    }

    /// Like `fill`, with `~` at the start.
    fn fill_path(&self, text: &str) -> Result<String, ExpandCause> {
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with(['/', MAIN_SEPARATOR]) => {
                Ok(self.home()? + &self.fill(rest)?)
            }
            // `~user` stays as it is: only the user's own home is known.
            Some(_) | None => self.fill(text),
        }
    }

    fn value(&self, fill: Fill<'_>, folder: Option<&str>) -> Result<String, ExpandCause> {
        match fill {
            Fill::Root => path_text(self.root()?),
            Fill::RootName => path_text(self.root()?.file_name().unwrap_or_default()),
            Fill::Home => self.home(),
            Fill::Separator => Ok(MAIN_SEPARATOR_STR.to_owned()),
            Fill::AllFolders => Ok(self.folders.ok_or(ExpandCause::OnlyInArgsAndEnv)?.join(",")),
            Fill::EachFolder => Ok(folder.ok_or(ExpandCause::OnlyInArgs)?.to_owned()),
            Fill::Variable { name, default } => self.variable(name, default),
        }
    }

    fn root(&self) -> Result<&Path, ExpandCause> {
        self.root.ok_or(ExpandCause::NoRoot)
    }

    fn home(&self) -> Result<String, ExpandCause> {
        path_text(folders::home(self.vars).ok_or(ExpandCause::NoHome)?)
    }

    fn variable(&self, name: &str, default: Option<&str>) -> Result<String, ExpandCause> {
        match ((self.vars)(name), default) {
            // As in a shell, a default also replaces an empty value.
            (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
            (Some(value), _) => value.into_string().map_err(|_| ExpandCause::NotText(name.to_owned())),
            (None, Some(default)) => Ok(default.to_owned()),
            (None, None) => Err(ExpandCause::Unset(name.to_owned())),
        }
    }
}

fn path_text(path: impl Into<OsString>) -> Result<String, ExpandCause> {
    path.into().into_string().map_err(|path| ExpandCause::PathNotText(path.to_string_lossy().into_owned()))
}

/// Part of a text: literal, or to be expanded.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Text(&'a str),
    Fill(Fill<'a>),
}

#[derive(Clone, Copy)]
enum Fill<'a> {
    Root,
    RootName,
    Home,
    Separator,
    /// All ignored folders, joined by commas.
    AllFolders,
    /// One ignored folder at a time.
    EachFolder,
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
}

/// Splits a text at its `${…}`. Any other `$` is literal; `$${` is a literal `${`.
fn pieces(mut text: &str) -> Result<Vec<Piece<'_>>, ExpandCause> {
    let mut pieces = Vec::new();
    while let Some(start) = text.find("${") {
        if text[..start].ends_with('$') {
            // The first `$` escapes the second, so it is dropped.
            pieces.push(Piece::Text(&text[..start - 1]));
            pieces.push(Piece::Text("${"));
            text = &text[start + 2..];
            continue;
        }
        pieces.push(Piece::Text(&text[..start]));
        let inside = &text[start + 2..];
        let end = inside.find('}').ok_or(ExpandCause::Unclosed)?;
        pieces.push(Piece::Fill(fill(&inside[..end])?));
        text = &inside[end + 1..];
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

/// Parses the inside of a `${…}`.
fn fill(inside: &str) -> Result<Fill<'_>, ExpandCause> {
    match inside {
        "root" | "workspaceFolder" => return Ok(Fill::Root),
        "workspaceFolderBasename" => return Ok(Fill::RootName),
        "userHome" => return Ok(Fill::Home),
        "pathSeparator" | "/" => return Ok(Fill::Separator),
        "ignoredFolders" => return Ok(Fill::AllFolders),
        "ignoredFolder" => return Ok(Fill::EachFolder),
        _ => {}
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    // VS Code resolves these itself, by its settings or by asking its user.
    if ["input:", "command:", "config:"].iter().any(|prefix| name.starts_with(prefix)) {
        return Err(ExpandCause::OnlyInVsCode(shown(name)));
    }
    // Parentheses occur in `ProgramFiles(x86)`.
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | ')'));
    if !is_name {
        return Err(ExpandCause::NotAName(shown(name)));
    }
    // `${A:-${B}}` would end at the first brace and leave the second in the text.
    if default.is_some_and(|default| default.contains("${")) {
        return Err(ExpandCause::Nested(name.to_owned()));
    }
    Ok(Fill::Variable { name, default })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::lookup;

    const VARS: &[(&str, &str)] = &[
        ("HOME", if cfg!(windows) { "C:\\home\\me" } else { "/home/me" }),
        ("TOKEN", "t0k"),
        ("EMPTY", ""),
        ("TRICKY", "${TOKEN} ~ $$"),
        ("ProgramFiles(x86)", "C:\\x86"),
    ];

    fn server(arg: &str) -> ServerConfig {
        ServerConfig { expand: true, ..ServerConfig::for_command("s", "cmd", vec![arg.to_owned()]) }
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let expanded = launch_parts(&server(text), Some(Path::new("/home/me/app")), &lookup(VARS));
        assert_eq!(expanded.map(|expanded| expanded.args[0].clone()), Ok(expect.to_owned()), "{text:?}");
    }

    #[track_caller]
    fn check_error(text: &str, expect: ExpandCause) {
        let error = launch_parts(&server(text), None, &lookup(VARS)).unwrap_err();
        assert_eq!((error.key.as_str(), error.cause), ("args[0]", expect), "{text:?}");
    }

    #[test]
    fn fills_in_variables() {
        check("${TOKEN}", "t0k");
        check("a${TOKEN}b${env:TOKEN}", "at0kbt0k");
        check("${NONE:-x}", "x");
        check("${NONE:-}", "");
        check("${env:NONE:-x}", "x");
        check("${EMPTY:-x}", "x");
        check("${EMPTY}", "");
        check("${TOKEN:-x}", "t0k");
        check("${NONE:-http://a:1/$b}", "http://a:1/$b");
        check("${ProgramFiles(x86)}", "C:\\x86");
    }

    #[test]
    fn fills_in_the_root() {
        check("${workspaceFolder}/x", "/home/me/app/x");
        check("${root}", "/home/me/app");
        check("${workspaceFolderBasename}", "app");
        check("${/}${pathSeparator}", &MAIN_SEPARATOR_STR.repeat(2));
        check("${userHome}", VARS[0].1);
    }

    #[test]
    fn leaves_the_rest_alone() {
        for text in ["", "$", "$$", "$TOKEN", "a$", "100%", "}", "$ {TOKEN}", "~/x", "a~", "{}"] {
            check(text, text);
        }
        check("$${TOKEN}", "${TOKEN}");
        check("$$${TOKEN}", "$${TOKEN}");
        check("$${", "${");
        check("é$${é", "é${é");
    }

    #[test]
    fn fills_in_once() {
        check("${TRICKY}", "${TOKEN} ~ $$");
    }

    #[test]
    fn says_what_is_wrong() {
        check_error("${NONE}", ExpandCause::Unset("NONE".into()));
        check_error("${env:NONE}", ExpandCause::Unset("NONE".into()));
        check_error("${root}", ExpandCause::NoRoot);
        check_error("${input:token}", ExpandCause::OnlyInVsCode("input:token".into()));
        check_error("${config:x.y}", ExpandCause::OnlyInVsCode("config:x.y".into()));
        check_error("${", ExpandCause::Unclosed);
        check_error("x${TOKEN", ExpandCause::Unclosed);
        check_error("${}", ExpandCause::NotAName("".into()));
        check_error("${a.b}", ExpandCause::NotAName("a.b".into()));
        check_error("${A:-${B}}", ExpandCause::Nested("A".into()));
    }

    #[test]
    fn error_has_place_and_fix_without_value() {
        let error = launch_parts(&server("${NONE}"), None, &lookup(VARS)).unwrap_err().to_string();
        assert_eq!(
            error,
            "server \"s\", args[0]: the variable NONE is not set; set it where Switchboard is started, \
             or give a default: ${NONE:-…}"
        );
        let error = launch_parts(&server("${no name:-s3cret}"), None, &lookup(VARS)).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }

    #[test]
    fn goes_through_every_part() {
        let server = ServerConfig {
            command: "~/bin/${TOKEN}".into(),
            env: vec![("A".into(), "${TOKEN}".into()), ("B".into(), "~".into())].into(),
            cwd: Some("sub/${TOKEN}".into()),
            ..server("${root}")
        };
        let root = Path::new("/home/me/app");
        let expanded = launch_parts(&server, Some(root), &lookup(VARS)).unwrap();
        assert_eq!(expanded.command, format!("{}/bin/t0k", VARS[0].1));
        assert_eq!(*expanded.env, [("A".to_owned(), "t0k".to_owned()), ("B".to_owned(), "~".to_owned())]);
        assert_eq!(expanded.cwd, Some(root.join("sub/t0k")));
        assert!(uses_root(&server, &lookup(VARS)));
    }

    #[test]
    fn tilde_expands_only_at_the_start() {
        let cwd = |cwd: &str| {
            let server = ServerConfig { cwd: Some(cwd.into()), ..server("") };
            launch_parts(&server, None, &lookup(VARS)).map(|expanded| expanded.cwd.unwrap())
        };
        assert_eq!(cwd("~"), Ok(PathBuf::from(VARS[0].1)));
        assert_eq!(cwd("~other"), Ok(PathBuf::from("~other")));
        assert_eq!(cwd("/a/~"), Ok(PathBuf::from("/a/~")));
        let server = ServerConfig { cwd: Some("~".into()), ..server("") };
        let error = launch_parts(&server, None, &lookup(&[])).unwrap_err();
        assert_eq!(error.cause, ExpandCause::NoHome);
    }

    #[test]
    fn an_empty_command_is_refused() {
        let server = ServerConfig { command: "${EMPTY}".into(), ..server("") };
        let error = launch_parts(&server, None, &lookup(VARS)).unwrap_err();
        assert_eq!(error.cause, ExpandCause::NoCommand);
    }

    #[test]
    fn a_command_line_is_taken_as_it_is() {
        let server = ServerConfig::for_command("s", "sh", vec!["-c".into(), "echo ${x} ${root}".into()]);
        let expanded = launch_parts(&server, None, &lookup(&[])).unwrap();
        assert_eq!(expanded.args[1], "echo ${x} ${root}");
        assert!(!uses_root(&server, &lookup(VARS)));
    }

    #[test]
    fn root_matters_where_the_launch_differs() {
        let uses_root = |server: &ServerConfig| uses_root(server, &lookup(VARS));
        assert!(uses_root(&server("--in=${workspaceFolder}")));
        assert!(uses_root(&ServerConfig { cwd: Some("sub".into()), ..server("") }));
        assert!(!uses_root(&ServerConfig { cwd: Some("~/sub".into()), ..server("") }));
        assert!(!uses_root(&server("$${workspaceFolder}")));
        assert!(!uses_root(&server("${TOKEN}")));
        assert!(!uses_root(&server("${NONE}")));
    }

    fn ignoring(folders: &[&str], arg: &str) -> ServerConfig {
        ServerConfig {
            ignored_folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
            ..server(arg)
        }
    }

    #[test]
    fn ignored_folders_expand_joined_or_singly() {
        let check = |folders: &[&str], arg: &str, expect: &[&str]| {
            let parts = launch_parts(&ignoring(folders, arg), None, &lookup(VARS)).unwrap();
            assert_eq!(parts.args, expect, "{arg}");
        };
        let two = ["node_modules", ".git"];
        check(&two, "--ignore=${ignoredFolders}", &["--ignore=node_modules,.git"]);
        check(&two, "${ignoredFolder}", &["node_modules", ".git"]);
        check(&two, "-x=${ignoredFolder}/${TOKEN}", &["-x=node_modules/t0k", "-x=.git/t0k"]);
        check(&two, "${ignoredFolder}:${ignoredFolder}", &["node_modules:node_modules", ".git:.git"]);
        check(&two, "$${ignoredFolder}", &["${ignoredFolder}"]);
        check(
            &two,
            "${ignoredFolders} ${ignoredFolder}",
            &["node_modules,.git node_modules", "node_modules,.git .git"],
        );
        check(&[], "--ignore=${ignoredFolders}", &["--ignore="]);
        check(&[], "-x=${ignoredFolder}", &[]);
        // A folder's name is never expanded.
        check(&["${TOKEN}"], "${ignoredFolder}", &["${TOKEN}"]);
    }

    #[test]
    fn argument_numbers_survive_expansion() {
        let mut server = ignoring(&["a", "b"], "-x=${ignoredFolder}");
        server.args.push("${NONE}".to_owned());
        let error = launch_parts(&server, None, &lookup(VARS)).unwrap_err();
        assert_eq!(error.key, "args[1]");
    }

    #[test]
    fn misplaced_ignored_folders_are_refused() {
        let env = |value: &str| ServerConfig {
            env: vec![("IGNORE".into(), value.into())].into(),
            ..ignoring(&["a", "b"], "")
        };
        let parts = launch_parts(&env("${ignoredFolders}"), None, &lookup(VARS)).unwrap();
        assert_eq!(*parts.env, [("IGNORE".to_owned(), "a,b".to_owned())]);
        let command = |command: &str| ServerConfig { command: command.into(), ..server("") };
        let cwd = |cwd: &str| ServerConfig { cwd: Some(cwd.into()), ..server("") };
        for (server, place, cause) in [
            (env("${ignoredFolder}"), "env.IGNORE", ExpandCause::OnlyInArgs),
            (command("${ignoredFolder}"), "command", ExpandCause::OnlyInArgs),
            (command("${ignoredFolders}"), "command", ExpandCause::OnlyInArgsAndEnv),
            (cwd("${ignoredFolders}"), "cwd", ExpandCause::OnlyInArgsAndEnv),
        ] {
            let error = launch_parts(&server, None, &lookup(VARS)).unwrap_err();
            assert_eq!((error.key, error.cause), (place.to_owned(), cause));
        }
        let error = launch_parts(&env("${ignoredFolder}"), None, &lookup(VARS)).unwrap_err().to_string();
        assert!(error.ends_with("write ${ignoredFolders} for all of them, joined by commas"), "{error}");
    }

    #[test]
    fn default_root_starts_at_the_config_file() {
        let config = |path: &str| Config { default_root: Some(path.into()), ..Config::default() };
        let at = |path: &str| default_root(&config(path), Path::new("/etc/sb/config.json"), &lookup(VARS));
        assert_eq!(at("/work"), Ok(Some(PathBuf::from("/work"))));
        assert_eq!(at("work"), Ok(Some(PathBuf::from("/etc/sb/work"))));
        assert_eq!(at("~/${TOKEN}"), Ok(Some(PathBuf::from(format!("{}/t0k", VARS[0].1)))));
        assert_eq!(at("${NONE:-/x}"), Ok(Some(PathBuf::from("/x"))));
        let error = at("${root}/x").unwrap_err();
        assert_eq!((error.key.as_str(), error.cause), ("defaultRoot", ExpandCause::NoRoot));
        assert_eq!(default_root(&Config::default(), Path::new("c.json"), &lookup(VARS)), Ok(None));
    }

    #[test]
    fn the_log_file_starts_at_the_config_file() {
        let log = |file: &str| LogConfig { file: Some(file.into()), ..LogConfig::default() };
        let at = |file: &str| log_file(&log(file), Path::new("/etc/sb/config.json"), &lookup(VARS));
        assert_eq!(at("a.log"), Ok(Some(PathBuf::from("/etc/sb/a.log"))));
        assert_eq!(at("${TOKEN}.log"), Ok(Some(PathBuf::from("/etc/sb/t0k.log"))));
        assert_eq!(at("~/a.log"), Ok(Some(PathBuf::from(format!("{}/a.log", VARS[0].1)))));
    }
}
