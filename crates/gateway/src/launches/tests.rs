use super::*;
use crate::config::tests::Scratch;

fn server(command: &str) -> ServerConfig {
    ServerConfig::for_command("s", command, vec!["-y".into()])
}

fn slow() -> Record {
    Record {
        framing: FramingChoice::Doubt,
        slow: Some(Slow { tries: 3, retry_in: Duration::from_secs(200) }),
        asks_roots: true,
        ..Record::default()
    }
}

#[test]
fn a_record_is_loaded_as_it_was_saved() {
    let scratch = Scratch::new();
    let launches = Launches::new(&scratch.path("state"));
    assert_eq!(launches.load(&server("c")), Record::default());
    launches.save(&server("c"), &slow()).unwrap();
    let loaded = launches.load(&server("c"));
    let left = loaded.slow.unwrap().retry_in.as_secs();
    assert!((190..=200).contains(&left), "{left}");
    assert_eq!(Record { slow: None, ..loaded }, Record { slow: None, ..slow() });
    assert_eq!(launches.load(&server("other")), Record::default());
}

#[test]
fn changed_entry_forgets_slowness() {
    let scratch = Scratch::new();
    let launches = Launches::new(&scratch.path("state"));
    launches.save(&server("c"), &slow()).unwrap();
    let patient = ServerConfig { start_timeout: Duration::from_secs(90), ..server("c") };
    assert_eq!(launches.load(&patient), Record { slow: None, ..slow() });
}

#[test]
fn a_record_of_nothing_is_no_file() {
    let scratch = Scratch::new();
    let launches = Launches::new(&scratch.path("state"));
    launches.save(&server("c"), &slow()).unwrap();
    launches.save(&server("c"), &Record::default()).unwrap();
    assert_eq!(fs::read_dir(scratch.path("state/launches")).unwrap().count(), 0);
    launches.forget(&server("c")).unwrap();
}

#[test]
fn garbage_is_no_record() {
    let scratch = Scratch::new();
    let launches = Launches::new(&scratch.path("state"));
    launches.save(&server("c"), &slow()).unwrap();
    for garbage in
        ["", "{", "[]", r#"{"slow":5}"#, r#"{"framing":"smoke signals"}"#, r#"{"slow":{"tries":1}}"#]
    {
        fs::write(launches.path(&server("c")), garbage).unwrap();
        assert_eq!(launches.load(&server("c")), Record::default(), "{garbage}");
    }
    let far =
        format!(r#"{{"slow":{{"tries":9,"retryAt":99999999999,"entry":"{}"}}}}"#, entry_hash(&server("c")));
    fs::write(launches.path(&server("c")), far).unwrap();
    assert_eq!(launches.load(&server("c")).slow.unwrap().retry_in, Duration::from_secs(3600));
}

/// A verdict on an era lasts for seven days from its day on, whenever the program runs, and a wrong clock makes it no longer.
#[test]
fn verdict_on_an_era_ends() {
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    assert_eq!(SeenEra::GOOD_FOR, week);
    let scratch = Scratch::new();
    let launches = Launches::new(&scratch.path("state"));
    let seen = SeenEra { era: Era::Modern, is_only: false, good_for: week };
    launches.save(&server("c"), &Record { era: Some(seen), ..Record::default() }).unwrap();
    let loaded = launches.load(&server("c")).era.unwrap();
    assert!(loaded.good_for <= week && loaded.good_for > week - Duration::from_secs(60), "{loaded:?}");
    let now = since_1970(SystemTime::now()).as_secs();
    let until =
        |until: u64| StoredEra { name: "legacy".into(), only: false, until }.seen().map(|seen| seen.good_for);
    assert_eq!(until(now - 1), None);
    assert!(until(now + 60).is_some_and(|left| left <= Duration::from_secs(60)));
    assert_eq!(until(now + 10 * week.as_secs()), Some(week), "a clock that was set back");
}
