//! Reader of the `.ps1` shims of npm and pnpm. Pure. Shims differ only in the script and in variables, so only the lines
//! that start the program are read.

use super::batch::{Shim, World};

/// First line of every such shim.
const OWN_FOLDER_LINE: &str = "$basedir=Split-Path $MyInvocation.MyCommand.Definition -Parent";

/// `None` if the script is not a shim, or sets variables.
pub(in crate::child) fn read(text: &str, world: &World<'_>) -> Option<Shim> {
    if !text.lines().any(|line| line.trim() == OWN_FOLDER_LINE) || text.contains("$env:") {
        return None;
    }
    let folder = world.folder.trim_end_matches(['\\', '/']);
    let shims = text.lines().filter_map(|line| {
        let words = line.trim().strip_prefix("& ")?.strip_suffix(" $args")?;
        let words = words.replace("$basedir", folder).replace("$exe", ".exe");
        let words = super::batch::words(&words)?;
        let (program, args) = words.split_first()?;
        let args = args.iter().map(|arg| arg.replace('/', r"\")).collect();
        Some(Shim { program: program.replace('/', r"\"), args, env: Vec::new() })
    });
    let mut shims: Vec<Shim> = shims.collect();
    // Node beside the shim is preferred to the one in PATH, as the script would do.
    let at = shims.iter().position(|shim| match shim.program.contains('\\') {
        true => (world.is_file)(&shim.program),
        false => true,
    })?;
    Some(shims.swap_remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NPM: &str = "#!/usr/bin/env pwsh\n$basedir=Split-Path $MyInvocation.MyCommand.Definition -Parent\n\n$exe=\"\"\n\
        if ($PSVersionTable.PSVersion -lt \"6.0\" -or $IsWindows) {\n  $exe=\".exe\"\n}\n$ret=0\n\
        if (Test-Path \"$basedir/node$exe\") {\n  if ($MyInvocation.ExpectingInput) {\n    \
        $input | & \"$basedir/node$exe\"  \"$basedir/node_modules/thing/cli.js\" $args\n  } else {\n    \
        & \"$basedir/node$exe\"  \"$basedir/node_modules/thing/cli.js\" $args\n  }\n  $ret=$LASTEXITCODE\n} else {\n    \
        & \"node$exe\"  \"$basedir/node_modules/thing/cli.js\" $args\n}\nexit $ret\n";

    fn read_on(text: &str, files: &[&str]) -> Option<(String, Vec<String>)> {
        let world = World {
            folder: r"C:\npm",
            is_file: &|path| files.contains(&path),
            variable: &|_| None,
            npm_prefix: None,
        };
        read(text, &world).map(|shim| (shim.program, shim.args))
    }

    #[test]
    fn npm_shim_names_node_and_script() {
        let script = vec![r"C:\npm\node_modules\thing\cli.js".to_owned()];
        assert_eq!(read_on(NPM, &[]), Some(("node.exe".into(), script.clone())));
        assert_eq!(read_on(NPM, &[r"C:\npm\node.exe"]), Some((r"C:\npm\node.exe".into(), script)));
    }

    #[test]
    fn other_scripts_are_left_to_power_shell() {
        for text in [
            "",
            "& node x.js $args",
            &NPM.replace("$ret=0", "$env:NODE_PATH=\"x\""),
            &NPM.replace(" $args", ""),
        ] {
            assert_eq!(read_on(text, &[]), None, "{text}");
        }
    }
}
