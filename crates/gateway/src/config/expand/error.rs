//! Errors of expansion, with their fixes.

/// A text that could not be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{key}: {cause}; {}", server.as_ref().map(|name| format!("server \"{name}\", ")).unwrap_or_default(), cause.remedy())]
pub struct ExpandError {
    /// `None` for a key of the file itself.
    pub server: Option<String>,
    /// Path of the key, such as `env.GITHUB_TOKEN`.
    pub key: String,
    pub cause: ExpandCause,
}

/// Cause of the error. It never quotes a value, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandCause {
    #[error("the variable {0} is not set")]
    Unset(String),
    #[error("the variable {0} is not valid UTF-8")]
    NotText(String),
    #[error("the folder {0} is not valid UTF-8")]
    PathNotText(String),
    #[error("this needs a workspace, and none is known")]
    NoRoot,
    #[error("${{{0}}} works only in VS Code")]
    OnlyInVsCode(String),
    #[error("${{{0}}} is not the name of a variable")]
    NotAName(String),
    #[error("the default of ${{{0}:-…}} contains another ${{…}}, which is not supported")]
    Nested(String),
    #[error("${{ without a }}")]
    Unclosed,
    #[error("~ needs a home folder")]
    NoHome,
    #[error("${{ignoredFolders}} can only be used in `args` and `env`")]
    OnlyInArgsAndEnv,
    #[error("${{ignoredFolder}} repeats an element of `args` for each name, and cannot be used elsewhere")]
    OnlyInArgs,
    #[error("the command is empty after its variables are filled in")]
    NoCommand,
}

impl ExpandCause {
    /// How to fix it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Unset(name) => {
                format!("set it where Switchboard is started, or give a default: ${{{name}:-…}}")
            }
            Self::NotText(_) => "give it another value".to_owned(),
            Self::PathNotText(_) => "give it another name".to_owned(),
            Self::NoRoot => "open a folder in the IDE, or write the path itself".to_owned(),
            Self::OnlyInVsCode(_) => {
                "put the value into an environment variable and write ${NAME}".to_owned()
            }
            Self::NotAName(_) | Self::Unclosed => "for a literal ${ write $${".to_owned(),
            Self::Nested(_) => "write the inner value itself".to_owned(),
            Self::NoHome => "set HOME, or write the path itself".to_owned(),
            Self::OnlyInArgsAndEnv => "write the names themselves".to_owned(),
            Self::OnlyInArgs => "write ${ignoredFolders} for all of them, joined by commas".to_owned(),
            Self::NoCommand => "set the variable in it".to_owned(),
        }
    }
}
