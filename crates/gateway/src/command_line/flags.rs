//! Flags that may precede a package, by runner. An unlisted flag makes the package unknown, since the
//! next word could be its value.

/// Flags of one program.
pub(super) struct Flags {
    /// Flags whose value is the package.
    pub(super) package: &'static [&'static str],
    /// Flags that take a value, by kind.
    pub(super) values: &'static [(Value, &'static [&'static str])],
    /// Flags without a value. So is every other flag that starts with `--no-`.
    pub(super) plain: &'static [&'static str],
    /// Flags that run something else than the package's own program.
    pub(super) instead: &'static [&'static str],
}

impl Flags {
    /// Kind of a flag's value. `None` if the flag takes none, or is unknown.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        self.values.iter().find(|(_, names)| names.contains(&name)).map(|(kind, _)| *kind)
    }
}

/// Kinds of values, by whether they can name a file of the working folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A file or folder.
    File,
    /// A Python version, or the path of an interpreter.
    Python,
    /// `SOURCE:TARGET` of a container; the source is a folder or the name of a volume.
    Volume,
    /// `type=bind,src=SOURCE,dst=TARGET` of a container.
    Mount,
    /// Never a path on this machine, even with a slash.
    Text,
    /// A path only if it looks like one.
    Other,
}

pub(super) const NPM: Flags = Flags {
    package: &["-p", "--package"],
    values: &[
        (
            Value::File,
            &["--prefix", "--cache", "--userconfig", "--globalconfig", "--cafile", "--node-options"],
        ),
        (
            Value::Other,
            &[
                "--registry",
                "--loglevel",
                "--proxy",
                "--https-proxy",
                "--noproxy",
                "--script-shell",
                "--before",
                "--tag",
            ],
        ),
    ],
    plain: &[
        "-y",
        "--yes",
        "-q",
        "--quiet",
        "-s",
        "--silent",
        "-d",
        "-dd",
        "-ddd",
        "--verbose",
        "-f",
        "--force",
        "--offline",
        "--prefer-offline",
        "--prefer-online",
        "--ignore-existing",
        "--ignore-scripts",
        "--legacy-peer-deps",
        "--strict-ssl",
        "--include-workspace-root",
    ],
    instead: &["-c", "--call"],
};

pub(super) const PNPM: Flags = Flags {
    package: &["--package"],
    values: &[
        (Value::File, &["--dir", "-C", "--store-dir"]),
        (Value::Other, &["--registry", "--reporter", "--loglevel", "--allow-build"]),
    ],
    plain: &["-s", "--silent", "--offline", "--prefer-offline", "--color", "--ignore-scripts"],
    instead: &["-c", "--shell-mode"],
};

pub(super) const BUN: Flags = Flags {
    package: &["-p", "--package"],
    values: &[(Value::File, &["--cwd", "--config"]), (Value::Other, &["--registry"])],
    plain: &["-y", "--yes", "--bun", "-b", "--verbose", "--silent"],
    instead: &[],
};

pub(super) const YARN: Flags = Flags {
    package: &["-p", "--package"],
    values: &[(Value::File, &["--cwd"])],
    plain: &["-q", "--quiet"],
    instead: &[],
};

pub(super) const UV: Flags = Flags {
    package: &["--from"],
    values: &[
        (
            Value::File,
            &[
                "--with-editable",
                "--with-requirements",
                "-f",
                "--find-links",
                "--cache-dir",
                "--config-file",
                "--directory",
                "--project",
                "--env-file",
                "-c",
                "--constraints",
                "--overrides",
                "-b",
                "--build-constraints",
            ],
        ),
        (Value::Python, &["-p", "--python"]),
        (
            Value::Other,
            &[
                "-w",
                "--with",
                "--index",
                "--default-index",
                "-i",
                "--index-url",
                "--extra-index-url",
                "--index-strategy",
                "--keyring-provider",
                "--resolution",
                "--prerelease",
                "--fork-strategy",
                "--exclude-newer",
                "--link-mode",
                "--color",
                "--python-platform",
                "--python-preference",
                "--torch-backend",
                "-P",
                "--upgrade-package",
                "--refresh-package",
                "--reinstall-package",
                "-C",
                "--config-setting",
                "--no-build-package",
                "--no-binary-package",
                "--no-build-isolation-package",
                "--allow-insecure-host",
            ],
        ),
    ],
    plain: &[
        "-q",
        "--quiet",
        "-v",
        "--verbose",
        "-n",
        "-U",
        "--upgrade",
        "--isolated",
        "--offline",
        "--native-tls",
        "--system-certs",
        "--refresh",
        "--reinstall",
        "--managed-python",
        "--compile-bytecode",
    ],
    instead: &[],
};

pub(super) const PIPX: Flags = Flags {
    package: &["--spec"],
    values: &[
        (Value::File, &["--pip-args"]),
        (Value::Python, &["--python"]),
        (Value::Other, &["-i", "--index-url", "--with", "--backend"]),
    ],
    plain: &["-q", "--quiet", "-v", "--verbose", "--system-site-packages", "--fetch-missing-python"],
    instead: &["--path"],
};

pub(super) const DOCKER: Flags = Flags {
    package: &[],
    values: &[
        (Value::File, &["--env-file", "--cidfile"]),
        (Value::Volume, &["-v", "--volume"]),
        (Value::Mount, &["--mount"]),
        (Value::Other, &["--security-opt"]),
        (
            Value::Text,
            &[
                "-e",
                "--env",
                "--tmpfs",
                "-w",
                "--workdir",
                "--name",
                "--network",
                "--net",
                "-p",
                "--publish",
                "--platform",
                "--pull",
                "-u",
                "--user",
                "-l",
                "--label",
                "-h",
                "--hostname",
                "--add-host",
                "--dns",
                "-m",
                "--memory",
                "--cpus",
                "--shm-size",
                "--ulimit",
                "--restart",
                "--cap-add",
                "--cap-drop",
                "--log-driver",
                "--log-opt",
                "--pids-limit",
            ],
        ),
    ],
    plain: &[
        "-i",
        "-t",
        "-it",
        "-ti",
        "--interactive",
        "--tty",
        "--rm",
        "--init",
        "--read-only",
        "--privileged",
        "-q",
        "--quiet",
    ],
    instead: &["--entrypoint"],
};

/// Flags of node, bun and deno, whose first other word is a script.
pub(super) const SCRIPT: Flags = Flags {
    package: &[],
    values: &[
        (
            Value::File,
            &[
                "-r",
                "--require",
                "--import",
                "--loader",
                "--experimental-loader",
                "--env-file",
                "--cwd",
                "-c",
                "--config",
            ],
        ),
        (Value::Other, &["-C", "--conditions", "--max-old-space-size"]),
    ],
    plain: &[
        "--enable-source-maps",
        "--trace-warnings",
        "--use-system-ca",
        "--experimental-fetch",
        "--experimental-strip-types",
        "--bun",
        "-b",
        "-A",
        "--allow-all",
        "--allow-net",
        "--allow-env",
        "--allow-read",
        "--allow-write",
        "--allow-run",
        "--allow-sys",
        "--allow-ffi",
        "-q",
        "--quiet",
    ],
    instead: &["-e", "--eval", "-p", "--print"],
};

pub(super) const PYTHON: Flags = Flags {
    package: &[],
    values: &[(Value::Other, &["-X", "-W"])],
    plain: &["-m", "-u", "-I", "-s", "-S", "-E", "-B", "-O", "-OO", "-P", "-q", "-v"],
    instead: &["-c"],
};

impl Value {
    /// Path that a value of this kind names, if any. It may be absolute.
    pub(super) fn path(self, value: &str) -> Option<&str> {
        let looks_like_path = |value: &str| value.starts_with('.') || value.contains(['/', '\\']);
        match self {
            Self::File => Some(value),
            Self::Python => (!is_python_version(value)).then_some(value),
            Self::Volume => {
                let (source, _) = value.split_once(':')?;
                looks_like_path(source).then_some(source)
            }
            Self::Mount => {
                let source = value
                    .split(',')
                    .find_map(|part| part.strip_prefix("src=").or_else(|| part.strip_prefix("source=")))?;
                // A bind mount takes a bare word for a folder; for a volume it is a name.
                (looks_like_path(source) || value.contains("type=bind")).then_some(source)
            }
            Self::Text => None,
            Self::Other => looks_like_path(value).then_some(value),
        }
    }
}

/// `3.12`, `>=3.11`, `python3.12`, `cpython@3.12`, `pypy`: not a path such as `.venv`.
fn is_python_version(value: &str) -> bool {
    let names = ["cpython", "python", "pypy", "graalpy"];
    let version = names.iter().find_map(|name| value.strip_prefix(name)).unwrap_or(value);
    let is_named = version.len() < value.len();
    let is_version =
        |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || "<>=~!@-".contains(first));
    !value.contains(['/', '\\']) && ((is_named && version.is_empty()) || is_version(version))
}
