use super::*;
use crate::config::FilterConfig;
use crate::config::tests::Scratch;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

fn server(name: &str, command: &str) -> ServerConfig {
    ServerConfig::for_command(name, command, vec!["-y".into()])
}

fn shelf(scratch: &Scratch) -> Shelf {
    Shelf::new(&scratch.path("state"))
}

/// Path of the file for this server and profile.
fn file(scratch: &Scratch, server: &ServerConfig, profile: &str) -> PathBuf {
    scratch.path("state/catalogue").join(format!(
        "{}-{}{ENDING}",
        launch_key(server),
        key_hash(&OfferKey::anywhere(profile))
    ))
}

fn names(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.path("state/catalogue")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn age(path: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

fn key(profile: &str) -> OfferKey {
    OfferKey::anywhere(profile)
}

fn pair(profile: &str, payload: &[u8]) -> (OfferKey, Bytes) {
    (key(profile), Bytes::copy_from_slice(payload))
}

#[test]
fn saved_catalogues_load_newest_first() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    assert_eq!(shelf.load(&server), []);
    shelf.save(&server, &key("one"), b"\n{\xff\0}\n").unwrap();
    shelf.save(&server, &key("two \"\n"), b"").unwrap();
    age(&file(&scratch, &server, "one"), 10);
    assert_eq!(shelf.load(&server), [pair("two \"\n", b""), pair("one", b"\n{\xff\0}\n")]);
    shelf.save(&server, &key("one"), b"new").unwrap();
    age(&file(&scratch, &server, "two \"\n"), 10);
    assert_eq!(shelf.load(&server), [pair("one", b"new"), pair("two \"\n", b"")]);
    assert_eq!(names(&scratch).len(), 2, "no drafts");
}

#[test]
fn the_header_says_whose_it_is() {
    let scratch = Scratch::new();
    let server = server("s", "c");
    shelf(&scratch).save(&server, &key("p"), b"rest").unwrap();
    let text = fs::read_to_string(file(&scratch, &server, "p")).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let header: serde_json::Value = serde_json::from_str(header).unwrap();
    assert_eq!(
        (&header["format"], &header["server"], &header["profile"]),
        (&1.into(), &"s".into(), &"p".into())
    );
    assert!(header["saved"].as_str().unwrap().ends_with('Z'));
    assert_eq!(rest, "rest");
}

#[test]
fn a_launch_is_what_is_started() {
    let plain = ServerConfig { expand: true, ..server("s", "c") };
    let env = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect::<Vec<_>>().into()
    };
    let same = [
        ServerConfig { name: "t".into(), ..plain.clone() },
        ServerConfig {
            tools: FilterConfig { allow: vec!["a".into()], ..Default::default() },
            ..plain.clone()
        },
        ServerConfig { timeout: Duration::from_secs(1), lazy: false, ..plain.clone() },
    ];
    for other in same {
        assert_eq!(launch_key(&plain), launch_key(&other), "{other:?}");
    }
    let others = [
        plain.clone(),
        ServerConfig { command: "d".into(), ..plain.clone() },
        ServerConfig { args: vec!["-".into(), "y".into()], ..plain.clone() },
        ServerConfig { args: vec!["-y".into(), String::new()], ..plain.clone() },
        ServerConfig { args: Vec::new(), ..plain.clone() },
        ServerConfig { env: env(&[("A", "${B}")]), ..plain.clone() },
        ServerConfig { env: env(&[("A", "b")]), ..plain.clone() },
        ServerConfig { cwd: Some(String::new()), ..plain.clone() },
        ServerConfig { cwd: Some("/x".into()), ..plain.clone() },
        ServerConfig { expand: false, ..plain.clone() },
    ];
    let mut launches: Vec<String> = others.iter().map(launch_key).collect();
    launches.sort();
    launches.dedup();
    assert_eq!(launches.len(), others.len());
}

#[test]
fn each_server_gets_its_own() {
    let scratch = Scratch::new();
    let shelf = shelf(&scratch);
    let servers = [server("a", "1"), server("b", "2"), server("c", "3"), server("again", "1")];
    shelf.save(&servers[0], &key("p"), b"A").unwrap();
    shelf.save(&servers[2], &key("p"), b"C").unwrap();
    let (a, c) = (vec![pair("p", b"A")], vec![pair("p", b"C")]);
    assert_eq!(shelf.load_all(&servers), [a.clone(), vec![], c, a]);
    assert_eq!(shelf.load_all(&[]), Vec::<Vec<(OfferKey, Bytes)>>::new());
}

#[test]
fn truncated_files_count_as_missing() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    shelf.save(&server, &key("p"), b"payload").unwrap();
    let path = file(&scratch, &server, "p");
    let whole = fs::read(&path).unwrap();
    let other_format = String::from_utf8(whole.clone()).unwrap().replace("\"format\":1", "\"format\":2");
    let other_profile =
        String::from_utf8(whole.clone()).unwrap().replace("\"profile\":\"p\"", "\"profile\":\"q\"");
    let longer = [&whole[..], b"!"].concat();
    let mut damaged: Vec<&[u8]> = vec![other_format.as_bytes(), other_profile.as_bytes(), &longer];
    damaged.extend((0..whole.len()).map(|end| &whole[..end]));
    damaged.extend([&b"\n"[..], b"\0\0\0\n", b"{}\n{}", b"[]\n", b"\xff\xfe\n"]);
    for content in damaged {
        fs::write(&path, content).unwrap();
        assert_eq!(shelf.load(&server), [], "{}", String::from_utf8_lossy(content));
    }
    shelf.save(&server, &key("p"), b"payload").unwrap();
    assert_eq!(shelf.load(&server), [pair("p", b"payload")]);
}

#[test]
fn oversized_files_are_not_read_or_written() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    shelf.save(&server, &key("p"), b"x").unwrap();
    File::options()
        .write(true)
        .open(file(&scratch, &server, "p"))
        .unwrap()
        .set_len(MAX_FILE_BYTES + 1)
        .unwrap();
    assert_eq!(shelf.load(&server), []);
    assert!(shelf.save(&server, &key("q"), &vec![b'x'; MAX_FILE_BYTES as usize]).is_err());
    assert_eq!(names(&scratch).len(), 1);
}

#[test]
fn foreign_files_are_harmless() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    shelf.save(&server, &key("p"), b"x").unwrap();
    let folder = scratch.path("state/catalogue");
    fs::write(folder.join("README"), "words").unwrap();
    fs::write(folder.join(ENDING), "words").unwrap();
    fs::write(folder.join(format!("-{ENDING}")), "words").unwrap();
    fs::create_dir(file(&scratch, &server, "folder")).unwrap();
    assert_eq!(shelf.load(&server), [pair("p", b"x")]);
    assert!(shelf.save(&server, &key("folder"), b"y").is_err(), "a folder is in its place");
    shelf.save(&server, &key("q"), b"y").unwrap();
    assert_eq!(shelf.load(&server).len(), 2);
    assert!(names(&scratch).iter().all(|name| !name.ends_with(".draft")));
}

#[test]
fn missing_folder_is_a_mild_error() {
    let scratch = Scratch::new();
    scratch.file("state/catalogue", "a file is in its place");
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    assert!(shelf.save(&server, &key("p"), b"x").is_err());
    assert_eq!(shelf.load(&server), []);
}

#[cfg(unix)]
#[test]
fn files_of_others_are_ignored() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    shelf.save(&server, &key("p"), b"x").unwrap();
    let (folder, path) = (scratch.path("state/catalogue"), file(&scratch, &server, "p"));
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));

    chmod(&path, 0o622);
    assert_eq!(shelf.load(&server), [], "others may have written it");
    chmod(&path, 0o600);
    assert_eq!(shelf.load(&server).len(), 1);
    let elsewhere = scratch.path("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    symlink(&elsewhere, &path).unwrap();
    assert_eq!(shelf.load(&server), [], "a link");
    fs::remove_file(&path).unwrap();
    fs::rename(&elsewhere, &path).unwrap();
    chmod(&folder, 0o777);
    assert_eq!(shelf.load(&server), [], "others may have put it there");
    assert!(shelf.save(&server, &key("p"), b"x").is_err());
}

#[test]
fn the_oldest_profiles_go() {
    let scratch = Scratch::new();
    let (shelf, server, other) = (shelf(&scratch), server("s", "c"), server("s", "d"));
    shelf.save(&other, &key("p"), b"x").unwrap();
    age(&file(&scratch, &other, "p"), 10_000);
    for number in 0..MAX_PROFILES_PER_LAUNCH + 3 {
        let profile = number.to_string();
        shelf.save(&server, &key(&profile), b"x").unwrap();
        age(&file(&scratch, &server, &profile), 1000 - number as u64);
    }
    let profiles: Vec<String> =
        shelf.load(&server).into_iter().map(|(key, _)| key.profile.to_string()).collect();
    let expect: Vec<String> =
        (3..MAX_PROFILES_PER_LAUNCH + 3).rev().map(|number| number.to_string()).collect();
    assert_eq!(profiles, expect);
    assert_eq!(shelf.load(&other).len(), 1);
}

#[test]
fn the_oldest_files_and_drafts_go() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    shelf.save(&server, &key("p"), b"x").unwrap();
    let folder = scratch.path("state/catalogue");
    for number in 0..MAX_FILES + 10 {
        let path = folder.join(format!("{number:064x}-{number:064x}{ENDING}"));
        fs::write(&path, "x").unwrap();
        age(&path, 100 + number as u64);
    }
    let (old, new) = (folder.join("x.1-0.draft"), folder.join("y.1-0.draft"));
    fs::write(&old, "").unwrap();
    fs::write(&new, "").unwrap();
    age(&old, 2 * 60 * 60);
    shelf.save(&server, &key("q"), b"x").unwrap();
    assert!(!old.exists() && new.exists());
    assert_eq!(names(&scratch).len(), MAX_FILES + 1);
    assert_eq!(shelf.load(&server).len(), 2);
}

#[test]
fn two_may_write_at_the_same_time() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    let write = |writer: u8| {
        for _ in 0..25 {
            shelf.save(&server, &key("p"), &vec![b'0' + writer; 10_000]).unwrap();
            let loaded = shelf.load(&server);
            let [(_, payload)] = &loaded[..] else { panic!("{} of them", loaded.len()) };
            assert!(payload.len() == 10_000 && payload.iter().all(|byte| *byte == payload[0]));
        }
    };
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || write(writer));
        }
    });
    assert_eq!(names(&scratch).len(), 1);
}

#[test]
fn lists_are_stored_by_root() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    let at = |root: &str| OfferKey { root: Some(root.into()), ..key("p") };
    shelf.save(&server, &at("/a"), b"a").unwrap();
    shelf.save(&server, &at("/b"), b"b").unwrap();
    shelf.save(&server, &key("p"), b"anywhere").unwrap();
    let mut loaded = shelf.load(&server);
    loaded.sort();
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    assert_eq!(loaded, [(key("p"), bytes("anywhere")), (at("/a"), bytes("a")), (at("/b"), bytes("b"))]);
    shelf.forget(&server);
    assert_eq!(shelf.load(&server), []);
}

/// Numbers of tokens end with the process, so their lists are not stored; but nor do those for everybody stay.
#[test]
fn private_lists_are_the_owners() {
    let scratch = Scratch::new();
    let (shelf, server) = (shelf(&scratch), server("s", "c"));
    let only = |principal: Principal| OfferKey { principal: Some(principal), ..key("p") };
    let public = pair("p", b"public");
    let owners = (only(Principal::OWNER), Bytes::from_static(b"owner's"));
    shelf.save(&server, &public.0, &public.1).unwrap();
    shelf.save(&server, &owners.0, &owners.1).unwrap();
    assert_eq!(shelf.load(&server), std::slice::from_ref(&owners), "it has turned private");
    shelf.save(&server, &only(Principal(7)), b"token's").unwrap();
    assert_eq!(shelf.load(&server), [owners]);
    shelf.save(&server, &public.0, &public.1).unwrap();
    assert_eq!(shelf.load(&server), [public], "it has turned public");
    shelf.save(&server, &only(Principal::ANONYMOUS), b"anyone's").unwrap();
    assert_eq!(shelf.load(&server), []);
}
