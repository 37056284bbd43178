//! Full state folder: clients are served, and no partly written file is left.

use super::are_root;
use crate::daemon::house::House;
use serde_json::json;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};
use switchboard_testkit::patience;

/// Mounts a full disk at the folder, runs the program, waits for the daemon's end and lists the files.
const IN_A_FULL_FOLDER: &str = r#"
mount -t tmpfs -o size=64k none "$0" || exit 99
cat /dev/zero > "$0/filler" 2> /dev/null
"$@"
code=$?
while [ -n "$(find "$XDG_RUNTIME_DIR/switchboard" -name '*.sock')" ]; do sleep 0.1; done
find "$0" -type f > "$LISTING"
exit $code
"#;

#[test]
fn full_state_folder_keeps_no_drafts() {
    let npx = json!({ "command": "npx", "args": ["-y", "no-such-package-of-ours"] });
    let house = House::new();
    let mut config: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(house.config()).unwrap()).unwrap();
    config["mcpServers"]["runner"] = npx;
    config["listGrace"] = json!("100ms");
    fs::write(house.config(), config.to_string()).unwrap();
    let (state, listing) = (house.path("full"), house.path("listing"));
    fs::create_dir(&state).unwrap();
    let flags: &[&str] = if are_root() { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    let window = house
        .program("a")
        .args(["stdio", "--config"])
        .arg(house.config())
        .env("SWITCHBOARD_STATE_DIR", &state)
        .env("LISTING", &listing)
        .behind(Path::new("unshare"), |_| {
            let words = flags.iter().chain(&["sh", "-c", IN_A_FULL_FOLDER]).map(OsString::from);
            words.chain([state.clone().into()]).collect()
        });
    let mut window = window.start();
    window.initialize();
    let answer = window.call("fake__echo", json!({}));
    assert!(answer.get("result").is_some(), "{answer}");
    // The start fails: there is no room for its settings, or no such package.
    let answer = window.call("runner__anything", json!({}));
    assert!(answer.get("error").is_some(), "{answer}");
    assert_eq!(window.finish().code, Some(0));
    let left = fs::read_to_string(&listing).unwrap();
    let is_log = |line: &&str| line.contains("/logs/") || line.ends_with("/filler");
    let left: Vec<&str> = left.lines().filter(|line| !is_log(line)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Drafts of a process that was killed while it wrote.
#[test]
fn drafts_of_dead_writers_are_removed() {
    let house = House::new();
    let old = ["runs/0123456789ab", "launches/x.1-0.draft", "catalogue/y.1-0.draft"];
    let young = ["runs/ba9876543210", "launches/x.2-0.draft", "catalogue/y.2-0.draft"];
    for path in old.iter().chain(&young).map(|name| house.state(name)) {
        let folder = path.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
    for name in old {
        fs::File::options().append(true).open(house.state(name)).unwrap().set_modified(long_ago).unwrap();
    }
    // The catalogue and the launch facts are written.
    let mut window = house.program("a").args(["stdio", "--config"]).arg(house.config()).start();
    window.initialize();
    window.request("tools/list", json!({}));
    patience::until_true("nothing old is left", || !old.iter().any(|name| house.state(name).exists()));
    assert!(young.iter().all(|name| house.state(name).exists()), "somebody may be writing them");
    assert_eq!(window.finish().code, Some(0));
}
