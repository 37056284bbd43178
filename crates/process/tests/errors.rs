//! Errors when a program does not start, with their hints.

use crate::support::*;
use std::{ffi::OsStr, path::Path};
use switchboard_process::child::{Launch, SpawnError, resolve, spawn};

fn error(launch: &Launch) -> SpawnError {
    match spawn(launch) {
        Ok(spawned) => panic!("it started as {}", spawned.child.pid()),
        Err(error) => error,
    }
}

fn started(program: impl AsRef<Path>, path_var: &str) -> SpawnError {
    let mut launch = launch(program.as_ref().to_str().unwrap(), ["argument"]);
    launch.env = vec![("PATH".into(), path_var.into())];
    error(&launch)
}

#[tokio::test]
async fn unknown_program_is_explained() {
    let error = started("no-such-program", PATH);
    assert_eq!(error.to_string(), "`no-such-program` was not found (searched: /usr/bin:/bin)");
    assert!(error.hint().contains("short PATH (dock or launcher)"), "{}", error.hint());
    let SpawnError::NotFound { program, searched, hint } = error else { panic!("{error}") };
    assert_eq!((program.to_str(), searched.to_str()), (Some("no-such-program"), Some(PATH)));
    assert!(hint.contains("full path"));

    let long = started("no-such-program", "/home/me/bin:/usr/bin");
    assert!(long.hint().contains("spelling"), "{}", long.hint());
    let mut without = launch("no-such-program", [""; 0]);
    without.env.clear();
    assert!(super::errors::error(&without).hint().contains("no PATH is set"));
}

#[tokio::test]
async fn missing_file_is_explained() {
    let error = started("./no-such-file", PATH);
    assert!(matches!(&error, SpawnError::NotFound { searched, .. } if Path::new(searched).is_absolute()));
    assert!(error.hint().contains("cwd"), "{}", error.hint());
    assert!(matches!(started("", PATH), SpawnError::NotFound { .. }));
}

#[tokio::test]
async fn unexecutable_file_is_explained() {
    let folder = Folder::new();
    let file = folder.file("plain", "#!/bin/sh\n");
    let folder_itself = folder.path().to_owned();
    for (program, path_var, expect) in [
        (file.as_path(), PATH, &file),
        (Path::new("plain"), folder.path().to_str().unwrap(), &file),
        (folder.path(), PATH, &folder_itself),
    ] {
        let error = started(program, path_var);
        assert!(matches!(&error, SpawnError::NotExecutable { path } if path == expect), "{error:?}");
        assert!(error.hint().contains("chmod +x"));
    }
}

#[tokio::test]
async fn missing_interpreter_is_explained() {
    let folder = Folder::new();
    for (first_line, missing, hint) in [
        ("#!/no/such/interpreter", "/no/such/interpreter", "install"),
        ("#! /no/such/interpreter  -x ", "/no/such/interpreter", "install"),
        ("#!/usr/bin/env no-such-node", "no-such-node", "PATH"),
        ("#!/usr/bin/env -S no-such-node --flag", "no-such-node", "PATH"),
        ("#!/bin/sh\r", "/bin/sh\r", "line endings"),
        ("#!/usr/bin/env sh\r", "sh\r", "line endings"),
    ] {
        let script = folder.program("script", format!("{first_line}\nexit 0\n")).await;
        let error = started(&script, PATH);
        assert!(error.hint().contains(hint), "{}", error.hint());
        let SpawnError::NoInterpreter { path, interpreter } = error else {
            panic!("{first_line:?}: {error:?}")
        };
        assert_eq!((path, interpreter.to_str()), (script, Some(missing)));
    }
    let script = folder.program("script", "#!/usr/bin/env sh\nexit 0\n").await;
    assert!(spawn(&launch(script.to_str().unwrap(), [""; 0])).unwrap().child.wait().await.success());
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", target_endian = "little"))]
#[tokio::test]
async fn missing_loader_is_explained() {
    let folder = Folder::new();
    let mut binary = std::fs::read("/bin/cat").unwrap();
    let at = binary.windows(4).position(|window| window == b"/lib").unwrap();
    binary[at..at + 4].copy_from_slice(b"/LIB");
    let error = started(folder.program("alien", binary).await, PATH);
    assert!(
        matches!(&error, SpawnError::NoInterpreter { interpreter, .. } if interpreter.to_str().unwrap().starts_with("/LIB")),
        "{error:?}"
    );
}

#[tokio::test]
async fn missing_folder_is_explained() {
    let folder = Folder::new();
    for cwd in [folder.path().join("missing"), folder.file("file", "")] {
        let mut launch = launch("sh", ["-c", "exit"]);
        launch.cwd = Some(cwd.clone());
        let error = error(&launch);
        assert!(matches!(&error, SpawnError::NoFolder { cwd: told } if *told == cwd), "{error:?}");
        assert!(!error.hint().is_empty());
    }
}

#[tokio::test]
async fn other_errors_keep_the_system_text() {
    let folder = Folder::new();
    let nonsense = folder.program("nonsense", "neither a script nor a binary").await;
    let error = started(&nonsense, PATH);
    assert!(matches!(&error, SpawnError::Other { path, .. } if *path == nonsense), "{error:?}");

    let error = super::errors::error(&launch("sh", ["-c", "exit\0"]));
    assert!(matches!(error, SpawnError::Other { .. }), "{error:?}");
}

#[tokio::test]
async fn name_is_resolved_as_in_a_shell() {
    let folder = Folder::new();
    folder.file("plain/tool", "");
    std::fs::create_dir_all(folder.path().join("folder/tool")).unwrap();
    let tool = folder.program("good/tool", "#!/bin/sh\n").await;
    let here = Some(folder.path());
    let check = |program: &str, path_var: &str, expect: &Path| {
        assert_eq!(
            resolve(OsStr::new(program), Some(OsStr::new(path_var)), here).unwrap(),
            expect,
            "{program}"
        );
    };
    // Relative entries count from the folder; files that cannot be executed are skipped.
    check("tool", "missing:plain:folder:good", &tool);
    check("good/tool", "", &tool);
    check("./good/tool", "/bin", &folder.path().join("./good/tool"));
    check(tool.to_str().unwrap(), "", &tool);
    let good = tool.parent();
    assert_eq!(resolve(OsStr::new("tool"), Some(OsStr::new("/nowhere:")), good).unwrap(), tool);
    assert!(resolve(OsStr::new("tool"), None, here).is_err());
    assert!(resolve(OsStr::new("."), Some(OsStr::new(".")), here).is_err());
}
