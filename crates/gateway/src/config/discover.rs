//! Finds and reads the config file. Trust and loading use the same text, read once: the
//! file cannot change in between.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::owners::{Foreign, Owners};
use super::trust::{Trust, TrustError, TrustVerdict};
use super::variables::Lookup;
use super::{LoadedConfig, Problem, folders, load};

/// Variable that names the config file.
pub const VARIABLE: &str = "SWITCHBOARD_CONFIG";
/// A project's config file, in its folder.
pub const PROJECT_FILE: &str = "switchboard.json";
/// Names of the user's config file in [`folders::config_dir`]; the first one found is used.
pub const USER_FILES: &[&str] = &["config.json", "config.jsonc", "switchboard.json"];

/// Limit far above any file that is written by hand.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// How the file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOrigin {
    /// Named on the command line.
    Given,
    /// Named by [`VARIABLE`].
    Variable,
    /// A trusted project file.
    Project,
    /// The user's own file.
    User,
}

/// A config file with the text that was in it.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub origin: ConfigOrigin,
    pub source: String,
    /// Warnings about other users who can change the file.
    warnings: Vec<Problem>,
}

/// A project's config file that is ignored. `Display` gives the reason and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    pub path: PathBuf,
    pub why: Distrust,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distrust {
    /// Never approved.
    Unknown,
    /// Approved with other content.
    Changed,
    /// The file, or the list of approved files, could not be read.
    Unreadable(String),
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    pub file: Option<ConfigFile>,
    /// The project's file, if it exists but was ignored.
    pub untrusted: Option<Untrusted>,
    /// Paths at which no file was found.
    pub searched: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read the config file {} ({origin}): {cause}", path.display())]
pub struct DiscoverError {
    pub path: PathBuf,
    pub origin: ConfigOrigin,
    pub cause: ReadError,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("not a file")]
    NotAFile,
    #[error("larger than {} MiB", MAX_FILE_BYTES >> 20)]
    TooLarge,
    #[error("not UTF-8; save it as UTF-8 in your editor")]
    NotText,
    #[error(transparent)]
    Foreign(#[from] Foreign),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Finds the config file: the `given` one; the one that [`VARIABLE`] names; the one in the folder
/// `project`, if it is trusted; the user's. A named file must exist; the others need not. `owners`
/// decides whose files are accepted.
pub fn discover(
    given: Option<&Path>,
    project: Option<&Path>,
    owners: Owners,
    vars: Lookup<'_>,
) -> Result<Discovery, DiscoverError> {
    // An empty variable is treated as unset, as shells often leave it.
    let variable = vars(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let named = given
        .map(|path| (path.to_owned(), ConfigOrigin::Given))
        .or_else(|| variable.map(|path| (path, ConfigOrigin::Variable)));
    if let Some((path, origin)) = named {
        let file = Some(open(path, origin, owners)?);
        // A named file replaces the search, so that a missing one is an error and not a silent fallback.
        return Ok(Discovery { file, untrusted: None, searched: Vec::new() });
    }

    let mut searched = Vec::new();
    let mut untrusted = None;
    if let Some(folder) = project {
        let path = folder.join(PROJECT_FILE);
        if exists(&path) {
            match open_project(&path, owners, vars) {
                Ok(file) => return Ok(Discovery { file: Some(file), untrusted: None, searched }),
                // The search goes on: without its approval, a project must not keep the user's own config
                // from working.
                Err(why) => untrusted = Some(Untrusted { path, why }),
            }
        } else {
            searched.push(path);
        }
    }
    for path in user_files(vars) {
        if exists(&path) {
            let file = Some(open(path, ConfigOrigin::User, owners)?);
            return Ok(Discovery { file, untrusted, searched });
        }
        searched.push(path);
    }
    Ok(Discovery { file: None, untrusted, searched })
}

/// Candidate paths of the user's config file; empty without a home folder.
fn user_files(vars: Lookup<'_>) -> Vec<PathBuf> {
    // Without a home folder there is no user's file, but a named one still works.
    let Ok(folder) = folders::config_dir(vars) else { return Vec::new() };
    USER_FILES.iter().map(|name| folder.join(name)).collect()
}

/// Also true for a broken link, which is better reported than ignored.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn open_project(path: &Path, owners: Owners, vars: Lookup<'_>) -> Result<ConfigFile, Distrust> {
    let unreadable = |error: &dyn fmt::Display| Distrust::Unreadable(error.to_string());
    // Approvals are stored in the state folder, so without one nothing is trusted.
    let state = folders::state_dir(vars).map_err(|error| unreadable(&error))?;
    let file = open(path.to_owned(), ConfigOrigin::Project, owners).map_err(|error| unreadable(&error))?;
    let verdict = Trust::new(&state).verdict(path, &file.source);
    match verdict.map_err(|error: TrustError| unreadable(&error))? {
        TrustVerdict::Trusted => Ok(file),
        TrustVerdict::Changed => Err(Distrust::Changed),
        TrustVerdict::Unknown => Err(Distrust::Unknown),
    }
}

fn open(path: PathBuf, origin: ConfigOrigin, owners: Owners) -> Result<ConfigFile, DiscoverError> {
    match read(&path, owners) {
        Ok((source, warnings)) => Ok(ConfigFile { path, origin, source, warnings }),
        Err(cause) => Err(DiscoverError { path, origin, cause }),
    }
}

/// Reads a known file again under the same rules: a project's file must be trusted with its present content.
/// An error states the problem.
pub fn reread(
    path: &Path,
    origin: ConfigOrigin,
    owners: Owners,
    vars: Lookup<'_>,
) -> Result<ConfigFile, String> {
    match origin {
        ConfigOrigin::Project => open_project(path, owners, vars)
            .map_err(|why| Untrusted { path: path.to_owned(), why }.to_string()),
        ConfigOrigin::Given | ConfigOrigin::Variable | ConfigOrigin::User => {
            open(path.to_owned(), origin, owners).map_err(|error| error.to_string())
        }
    }
}

/// Text of a config file, with warnings.
pub fn read(path: &Path, owners: Owners) -> Result<(String, Vec<Problem>), ReadError> {
    // Checked before opening, since opening a named pipe would block until a writer comes.
    if !fs::metadata(path)?.is_file() {
        return Err(ReadError::NotAFile);
    }
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    // Checks the opened file itself, not the path, which may name another file by now.
    let warnings = owners.check(path, &file)??;
    // One byte more than allowed, to tell a file at the limit from a larger one.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge);
    }
    let text = String::from_utf8(bytes).map_err(|_| ReadError::NotText)?;
    Ok((text, warnings))
}

impl ConfigFile {
    /// Loads the content. If others can change the file, the problems include a warning.
    pub fn load(&self) -> LoadedConfig {
        let mut loaded = load(&self.path, &self.source);
        // Before the problems of the content, since they concern the file as a whole.
        loaded.problems.splice(0..0, self.warnings.iter().cloned());
        loaded
    }
}

impl fmt::Display for ConfigOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigOrigin::Given => f.write_str("given on the command line"),
            ConfigOrigin::Variable => write!(f, "named by ${VARIABLE}"),
            ConfigOrigin::Project => f.write_str("of the project"),
            ConfigOrigin::User => f.write_str("your own"),
        }
    }
}

/// Omits the text, which may contain secrets.
impl fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile")
            .field("path", &self.path)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Distrust::Unknown => {
                write!(f, "{path} is not trusted and is ignored: read it, then run `switchboard trust`")
            }
            Distrust::Changed => write!(
                f,
                "{path} has changed since you trusted it and is ignored: read it, then run `switchboard trust`"
            ),
            Distrust::Unreadable(error) => write!(f, "{path} is ignored: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{Scratch, lookup};

    /// Machine with a home folder and a project.
    struct Machine {
        scratch: Scratch,
        home: String,
    }

    impl Machine {
        fn new() -> Self {
            let scratch = Scratch::new();
            fs::create_dir_all(scratch.path("app")).unwrap();
            Self { home: scratch.path("home").to_str().unwrap().to_owned(), scratch }
        }

        fn vars(&self) -> [(&'static str, &str); 3] {
            [("XDG_CONFIG_HOME", &self.home), ("XDG_STATE_HOME", &self.home), ("HOME", &self.home)]
        }

        fn discover(&self, given: Option<&Path>) -> Result<Discovery, DiscoverError> {
            discover(given, Some(&self.scratch.path("app")), Owners::default(), &lookup(&self.vars()))
        }

        fn trust(&self) -> Trust {
            Trust::new(&folders::state_dir(&lookup(&self.vars())).unwrap())
        }

        #[track_caller]
        fn check(&self, origin: ConfigOrigin, source: &str) {
            let file = self.discover(None).unwrap().file.unwrap();
            assert_eq!((file.origin, file.source.as_str()), (origin, source));
        }
    }

    #[test]
    fn takes_the_given_file_then_the_variable() {
        let machine = Machine::new();
        let [a, b] = ["a.json", "b.json"].map(|name| machine.scratch.file(name, name));
        machine.scratch.file("home/switchboard/config.json", "user");
        let vars = [("SWITCHBOARD_CONFIG", b.to_str().unwrap())];
        let found = |given| discover(given, None, Owners::default(), &lookup(&vars)).unwrap().file.unwrap();
        assert_eq!(
            (found(Some(&a)).origin, found(Some(&a)).source),
            (ConfigOrigin::Given, "a.json".to_owned())
        );
        assert_eq!((found(None).origin, found(None).source), (ConfigOrigin::Variable, "b.json".to_owned()));
    }

    #[test]
    fn a_named_file_must_be_there() {
        let machine = Machine::new();
        let missing = machine.scratch.path("missing.json");
        let error = machine.discover(Some(&missing)).unwrap_err().to_string();
        assert!(error.contains("missing.json (given on the command line)"), "{error}");
        let vars = [(VARIABLE, missing.to_str().unwrap())];
        let error = discover(None, None, Owners::default(), &lookup(&vars)).unwrap_err().to_string();
        assert!(error.contains("missing.json (named by $SWITCHBOARD_CONFIG)"), "{error}");
    }

    #[test]
    fn the_users_file_has_three_names() {
        let machine = Machine::new();
        for name in USER_FILES.iter().rev() {
            machine.scratch.file(&format!("home/switchboard/{name}"), name);
            machine.check(ConfigOrigin::User, name);
        }
    }

    #[test]
    fn a_project_file_counts_once_it_is_trusted() {
        let machine = Machine::new();
        machine.scratch.file("home/switchboard/config.json", "user");
        let project = machine.scratch.file("app/switchboard.json", "project");
        let why = |machine: &Machine| machine.discover(None).unwrap().untrusted.unwrap().why;

        machine.check(ConfigOrigin::User, "user");
        assert_eq!(why(&machine), Distrust::Unknown);

        machine.trust().trust(&project, "project").unwrap();
        machine.check(ConfigOrigin::Project, "project");
        assert_eq!(machine.discover(None).unwrap().untrusted, None);

        machine.scratch.file("app/switchboard.json", "evil");
        machine.check(ConfigOrigin::User, "user");
        assert_eq!(why(&machine), Distrust::Changed);

        machine.trust().untrust(&project).unwrap();
        assert_eq!(why(&machine), Distrust::Unknown);
    }

    #[test]
    fn an_untrusted_file_tells_what_to_do() {
        let untrusted = Untrusted { path: "/app/switchboard.json".into(), why: Distrust::Unknown };
        assert_eq!(
            untrusted.to_string(),
            "/app/switchboard.json is not trusted and is ignored: read it, then run `switchboard trust`"
        );
    }

    #[test]
    fn with_no_file_it_says_where_it_looked() {
        let machine = Machine::new();
        let discovery = machine.discover(None).unwrap();
        assert_eq!(discovery.file, None);
        assert_eq!(discovery.searched.len(), 1 + USER_FILES.len());
    }

    #[test]
    fn refuses_what_is_no_config() {
        let scratch = Scratch::new();
        let read = |path: &Path| read(path, Owners::default());
        assert!(matches!(read(&scratch.path(".")), Err(ReadError::NotAFile)));
        let large = scratch.file("large", &" ".repeat(MAX_FILE_BYTES as usize + 1));
        assert!(matches!(read(&large), Err(ReadError::TooLarge)));
        let latin = scratch.path("latin");
        fs::write(&latin, b"\xe9").unwrap();
        assert!(matches!(read(&latin), Err(ReadError::NotText)));
    }

    #[cfg(unix)]
    #[test]
    fn file_that_all_can_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::new();
        let path = scratch.file("config.json", r#"{ "mcpServers": {} }"#);
        let link = scratch.path("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for (mode, warnings) in [(0o600, Some(0)), (0o644, Some(0)), (0o664, Some(1)), (0o606, None)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            for path in [&path, &link] {
                let opened = open(path.clone(), ConfigOrigin::User, Owners::default());
                assert_eq!(opened.ok().map(|file| file.load().problems.len()), warnings, "{mode:o}");
            }
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let folder = path.parent().unwrap();
        for (mode, warnings) in [(0o777, 1), (0o1777, 0), (0o755, 0)] {
            fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
            let file = open(path.clone(), ConfigOrigin::User, Owners::default()).unwrap();
            assert_eq!(file.load().problems.len(), warnings, "a folder with {mode:o}");
        }
    }
}
