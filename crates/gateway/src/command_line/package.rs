//! Package, image or program that a command line runs. Only the words that a runner takes for the package
//! count; a command line that is not understood runs an unknown package.

use super::flags::{self, Flags, Value};
use super::runner::{self, FoundRunner, Runner};
use std::ffi::OsStr;
use std::ops::Range;

/// Package that a command line runs, without its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Package {
    Npm(String),
    /// Normalized as PyPI compares names: `mcp_server.time` is `mcp-server-time`.
    PyPi(String),
    Image(String),
    /// Base name of the command itself.
    Program(String),
}

/// Package of a command line, and the role of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageLaunch {
    pub(crate) package: Package,
    /// Index of the argument that names the package. `None` if the command itself is the package.
    pub(crate) at: Option<usize>,
    /// Program that is run, if the command line names it beside the package: `uvx --from PACKAGE PROGRAM`.
    pub(crate) program: Option<String>,
    /// Range of the runner's own flags and their values.
    pub(crate) flags: Range<usize>,
    /// Paths in the runner's flags, each with the index of its argument. They may be absolute.
    pub(crate) paths: Vec<(usize, String)>,
}

/// Analyzes a command line. `None` if its package cannot be told.
pub(crate) fn started(command: &str, args: &[String]) -> Option<PackageLaunch> {
    if let Some(found) = runner::find(OsStr::new(command), args) {
        return of_runner(&found, args);
    }
    let inner = runner::unwrapped(OsStr::new(command), args);
    let (program, own) = match inner {
        0 => (command, args),
        _ => (args[inner - 1].as_str(), &args[inner..]),
    };
    let name = runner::base_name(OsStr::new(program));
    let own = match name.as_str() {
        "node" | "bun" | "deno" => of_script(own),
        "docker" | "podman" => of_image(own),
        // Without a known subcommand, the package of these programs is unknown.
        "npx" | "npm" | "pnpm" | "yarn" | "uv" | "pipx" | "cmd" | "env" | "sh" | "bash" => None,
        _ if is_python(&name) => of_module(own),
        _ => Some(PackageLaunch {
            package: Package::Program(name),
            at: None,
            program: None,
            flags: 0..0,
            paths: Vec::new(),
        }),
    }?;
    Some(PackageLaunch {
        // If the program itself is the package, the wrapper's argument names it.
        at: own.at.map_or(inner.checked_sub(1), |at| Some(inner + at)),
        flags: inner + own.flags.start..inner + own.flags.end,
        paths: own.paths.into_iter().map(|(at, path)| (inner + at, path)).collect(),
        ..own
    })
}

/// `python`, `python3`, `python3.12`, `pypy3`, `py`.
fn is_python(name: &str) -> bool {
    let digits = |rest: &str| rest.chars().all(|char| char.is_ascii_digit() || char == '.');
    ["python", "pypy", "py"].iter().any(|python| name.strip_prefix(python).is_some_and(digits))
}

fn of_runner(found: &FoundRunner, args: &[String]) -> Option<PackageLaunch> {
    if !found.names_package {
        return None;
    }
    let (flags, parse): (_, fn(&str) -> Option<Package>) = match found.runner {
        Runner::Npm => (&flags::NPM, npm),
        Runner::Pnpm => (&flags::PNPM, npm),
        Runner::Bun => (&flags::BUN, npm),
        Runner::Yarn => (&flags::YARN, npm),
        Runner::Uv => (&flags::UV, pypi),
        Runner::Pipx => (&flags::PIPX, pypi),
    };
    // In `uv tool run`, `tool` is a word of its own.
    let is_subcommand =
        |at: usize| found.subcommand_at.is_some_and(|sub| at == sub || (at + 1 == sub && args[at] == "tool"));
    // `npm exec` reads its flags up to `--`, even after the package; the others stop at the first other word.
    let reads_on = found.runner == Runner::Npm && found.subcommand_at.is_some();
    let words =
        (found.args_at..args.len()).filter(|&at| !is_subcommand(at)).map(|at| (at, args[at].as_str()));
    let named = named(words, flags, reads_on)?;
    Some(named.started(parse(named.spec)?, found.args_at))
}

/// Words of a command line that name the package.
struct NamedPackage<'a> {
    at: usize,
    spec: &'a str,
    /// Program beside a package that a flag names.
    program: Option<&'a str>,
    /// Index at which the flags end.
    end: usize,
    paths: Vec<(usize, &'a str)>,
}

impl NamedPackage<'_> {
    fn started(&self, package: Package, flags_at: usize) -> PackageLaunch {
        PackageLaunch {
            package,
            at: Some(self.at),
            program: self.program.map(|program| runner::base_name(OsStr::new(program))),
            flags: flags_at..self.end,
            paths: self.paths.iter().map(|(at, path)| (*at, (*path).to_owned())).collect(),
        }
    }
}

/// Package that the flags name, or else the first word that is not a flag. `None` if a flag is unknown, if
/// there are several packages, or if there is no program to run.
fn named<'a>(
    words: impl Iterator<Item = (usize, &'a str)>,
    flags: &Flags,
    reads_on: bool,
) -> Option<NamedPackage<'a>> {
    let mut words = words;
    let (mut by_flag, mut first, mut paths) = (None, None, Vec::new());
    while let Some((at, word)) = words.next() {
        if word == "--" {
            // Behind `--` stand the package and its own arguments.
            first = first.or_else(|| words.next());
            break;
        }
        if !word.starts_with('-') {
            first = first.or(Some((at, word)));
            if reads_on {
                continue;
            }
            break;
        }
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some((at, value))),
            None => (word, None),
        };
        if flags.package.contains(&name) {
            let value = attached.or_else(|| words.next())?;
            if by_flag.replace(value).is_some() {
                // Of several packages it is unclear which one runs.
                return None;
            }
            continue;
        }
        if flags.instead.contains(&name) {
            // Another program runs in the package's place.
            return None;
        } else if let Some(kind) = flags.value(name) {
            let (at, value) = attached.or_else(|| words.next())?;
            paths.extend(kind.path(value).map(|path| (at, path)));
        } else if flags.plain.contains(&name) || name.starts_with("--no-") {
            continue;
        } else if first.is_none() {
            // An unknown flag may name a file. Without `=`, the next word could be its
            // value, so the package is unknown.
            paths.extend(Value::File.path(attached?.1).map(|path| (at, path)));
        }
    }
    let (end, word) = first?;
    let (at, spec) = by_flag.unwrap_or((end, word));
    Some(NamedPackage { at, spec, program: by_flag.map(|_| word), end, paths })
}

/// `name@1.2`, `@scope/name@latest`, `alias@npm:name@1`.
fn npm(spec: &str) -> Option<Package> {
    let spec = spec.strip_prefix("npm:").unwrap_or(spec);
    let scope = if spec.starts_with('@') { spec.find('/')? + 1 } else { 0 };
    let (name, version) = match spec[scope..].split_once('@') {
        Some((name, version)) => (&spec[..scope + name.len()], version),
        None => (spec, ""),
    };
    // An alias: the package behind it is the one that runs.
    if let Some(real) = version.strip_prefix("npm:") {
        return npm(real);
    }
    let is_plain = |text: &str| !text.contains(['/', '\\', ':']) && !text.starts_with('.');
    let is_name = is_plain(&name[scope..]) && name.len() > scope && !name.ends_with(".tgz");
    (is_name && is_plain(version)).then(|| Package::Npm(name.to_owned()))
}

/// `name==1`, `name[extra]>=2`, `name@latest`.
fn pypi(spec: &str) -> Option<Package> {
    // A path, an address or a file is not a name.
    if spec.contains(['/', '\\', ':']) || spec.ends_with(".whl") || spec.ends_with(".py") {
        return None;
    }
    let name = spec.split(['[', '=', '<', '>', '!', '~', ';', '@', ' ']).next()?;
    (!name.is_empty()).then(|| Package::PyPi(pypi_name(name)))
}

/// Normalizes a name as PyPI does.
pub(crate) fn pypi_name(name: &str) -> String {
    let words: Vec<&str> = name.split(['-', '_', '.']).filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

/// Package of a script: the one in whose `node_modules` folder it lies.
fn of_script(args: &[String]) -> Option<PackageLaunch> {
    // `bun run` and `deno run` take a script like the bare command.
    let run = args.first().filter(|first| *first == "run").map_or(0, |_| 1);
    let words = args.iter().enumerate().skip(run).map(|(at, word)| (at, word.as_str()));
    let named = named(words, &flags::SCRIPT, false)?;
    if let Some(package) = named.spec.strip_prefix("npm:").and_then(npm) {
        return Some(named.started(package, 0));
    }
    let script = named.spec.replace('\\', "/");
    // The innermost one, since packages may contain packages.
    let (_, inside) = script.rsplit_once("node_modules/")?;
    let depth = if inside.starts_with('@') { 2 } else { 1 };
    let name: Vec<&str> = inside.split('/').take(depth).collect();
    // The script is a path like any other, so no argument counts as the package.
    Some(PackageLaunch { at: None, ..named.started(npm(&name.join("/"))?, 0) })
}

fn of_module(args: &[String]) -> Option<PackageLaunch> {
    let words = args.iter().enumerate().map(|(at, word)| (at, word.as_str()));
    let named = named(words, &flags::PYTHON, false)?;
    // `-m` ends python's flags, so the module is the first other word.
    let is_module = named.at > 0 && args[named.at - 1] == "-m";
    is_module.then(|| Some(named.started(pypi(named.spec)?, 0)))?
}

fn of_image(args: &[String]) -> Option<PackageLaunch> {
    let skip = match args.iter().map(String::as_str).take(2).collect::<Vec<_>>()[..] {
        ["run", ..] => 1,
        ["container", "run"] => 2,
        _ => return None,
    };
    let words = args.iter().enumerate().skip(skip).map(|(at, word)| (at, word.as_str()));
    let named = named(words, &flags::DOCKER, false)?;
    let image = named.spec.split('@').next()?;
    // A colon before the last slash belongs to a registry's port.
    let folder = image.rfind('/').map_or(0, |slash| slash + 1);
    let end = image[folder..].find(':').map_or(image.len(), |colon| folder + colon);
    let image = &image[..end];
    // Docker's default registry may be left out.
    let image = image.strip_prefix("docker.io/").unwrap_or(image);
    Some(named.started(Package::Image(image.to_owned()), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect` is `npm:NAME`, `pypi:NAME`, `image:NAME`, `program:NAME`, or empty if unknown.
    #[track_caller]
    fn check(line: &str, expect: &str) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let shown = match started(&words[0], &words[1..]).map(|started| started.package) {
            Some(Package::Npm(name)) => format!("npm:{name}"),
            Some(Package::PyPi(name)) => format!("pypi:{name}"),
            Some(Package::Image(name)) => format!("image:{name}"),
            Some(Package::Program(name)) => format!("program:{name}"),
            None => String::new(),
        };
        assert_eq!(shown, expect, "{line}");
    }

    #[test]
    fn npm_runners() {
        check("npx -y @playwright/mcp@0.0.75 --headless", "npm:@playwright/mcp");
        check("npx thing", "npm:thing");
        check("npx --yes --registry https://r/ thing@latest", "npm:thing");
        check("npx --registry=https://r/ -- thing other", "npm:thing");
        check("npx -y -p @scope/thing@1 bin", "npm:@scope/thing");
        check("npx --package=thing bin", "npm:thing");
        check("npx -p one -p two bin", "");
        check("npx -p one", "");
        check("npx --unheard-of one two", "");
        check("npx -c one", "");
        check("npx -p one --call=two", "");
        check("npx alias@npm:thing@1", "npm:thing");
        check("npm exec thing -p other", "npm:other");
        check("npm exec -- thing -p other", "npm:thing");
        check("npm --loglevel silent x -y thing", "npm:thing");
        check("pnpm dlx thing", "npm:thing");
        check("pnpm --package=thing dlx bin", "npm:thing");
        check("pnpx thing", "npm:thing");
        check("yarn dlx -q -p thing bin", "npm:thing");
        check("bunx --bun thing@1", "npm:thing");
        check("bunx -y thing", "npm:thing");
        check("bun x thing", "npm:thing");
        check("cmd /c npx -y thing", "npm:thing");
        check("env A=1 npx -y thing", "npm:thing");
        check("npm start thing", "");
    }

    #[test]
    fn sources_other_than_the_registry() {
        for spec in
            ["./thing", "file:thing", "user/thing", "github:user/thing", "https://x/thing.tgz", "thing.tgz"]
        {
            check(&format!("npx -y {spec}"), "");
        }
        check("npx thing@file:../thing", "");
        check("npx thing@user/fork", "");
        check("uvx --from git+https://x/thing thing", "");
        check("uvx ./thing", "");
        check("uvx --from thing.whl thing", "");
    }

    #[test]
    fn python_runners() {
        check("uvx mcp-server-time==2025.1 --local-timezone UTC", "pypi:mcp-server-time");
        check("uvx mcp_server_time@latest", "pypi:mcp-server-time");
        check("uvx --python 3.12 --with other thing[x]>=1", "pypi:thing");
        check("uvx --from thing==1 bin", "pypi:thing");
        check("uvx --no-build-package other thing", "pypi:thing");
        check("uvx --index-url https://i/ --quiet thing", "pypi:thing");
        check("uv tool run --from thing bin", "pypi:thing");
        check("uv --offline tool run thing", "pypi:thing");
        check("uv run thing", "");
        check("uv run --with thing bin", "");
        check("pipx run thing", "pypi:thing");
        check("pipx run --spec thing==2 bin", "pypi:thing");
        check("python -m mcp_server_time", "pypi:mcp-server-time");
        check("/usr/bin/python3.12 -u -m mcp_server_time", "pypi:mcp-server-time");
        check("python -m mcp_server_time --local-timezone UTC", "pypi:mcp-server-time");
        check("python3 server.py", "");
        check("python3 server.py -m thing", "");
        check("python -c x -m thing", "");
    }

    #[test]
    fn scripts_images_and_programs() {
        check("node /x/node_modules/@playwright/mcp/cli.js", "npm:@playwright/mcp");
        check(r"node C:\x\node_modules\@playwright\mcp\cli.js", "npm:@playwright/mcp");
        check("node --require /x.js /a/node_modules/b/node_modules/thing/i.js", "npm:thing");
        check("node server.js /x/node_modules/thing/i.js", "");
        check("bun run /x/node_modules/thing/i.js", "npm:thing");
        check("deno run -A npm:@scope/thing@1", "npm:@scope/thing");
        check(
            "docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:1",
            "image:ghcr.io/github/github-mcp-server",
        );
        check("docker run --rm -i docker.io/mcp/time@sha256:0 mcp/fetch", "image:mcp/time");
        check("podman container run -i localhost:5000/mcp/time", "image:localhost:5000/mcp/time");
        check("docker run --entrypoint x mcp/time", "");
        check("docker run --entrypoint=x mcp/time", "");
        check("docker run --unheard-of mcp/fetch mcp/time", "");
        check("docker exec mcp/time", "");
        check("/opt/bin/mcp-server-git --repository .", "program:mcp-server-git");
        check(r"C:\bin\mcp-server-git.EXE", "program:mcp-server-git");
        check("env A=1 mcp-server-git", "program:mcp-server-git");
        check("sh -c mcp-server-git", "");
        check("other mcp-server-git", "program:other");
    }

    #[test]
    fn the_argument_is_named() {
        let at = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            started(&words[0], &words[1..]).unwrap().at
        };
        assert_eq!(at("npx -y thing"), Some(1));
        assert_eq!(at("cmd /c npx -y thing"), Some(3));
        assert_eq!(at("uvx --from thing bin"), Some(1));
        assert_eq!(at("env A=1 thing"), Some(1));
        assert_eq!(at("thing"), None);
        assert_eq!(at("env A=1 docker run -i mcp/time"), Some(4));
    }

    #[test]
    fn flags_name_paths() {
        let paths = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let paths = started(&words[0], &words[1..]).unwrap().paths;
            paths.into_iter().map(|(at, path)| format!("{at}:{path}")).collect::<Vec<_>>().join(" ")
        };
        let check = |line: &str, expect: &str| assert_eq!(paths(line), expect, "{line}");
        check("uvx -q --env-file .env --with one --with ./two thing -c x", "2:.env 6:./two");
        check("uvx --python 3.12 -p cpython@3.12 --python=pypy --python >=3.11 thing", "");
        check("uvx --python .venv --python=venv --python bin/python thing", "1:.venv 2:venv 4:bin/python");
        check("npx --unheard-of=x --cafile=y thing --cafile=z", "0:x 1:y");
        check("npm exec thing --prefix x -- --prefix y", "3:x");
        check("env A=1 docker run -v ./a:/a -v b:/b -v /c -v d/e:/e mcp/time", "4:./a 10:d/e");
        check("docker run --mount type=bind,src=a,dst=/a --mount source=b,dst=/b mcp/time", "2:a");
        check("docker run --platform linux/amd64 -e A=b/c -w ./x mcp/time", "");
    }
}
