//! TEMPORARY.
use std::collections::BTreeMap;
use switchboard_testkit::pool::{Stats, run};
#[test]
fn survey() {
    let n: u64 = std::env::var("N").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let mut kinds: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    let mut total = Stats::default();
    let mut good = 0;
    std::panic::set_hook(Box::new(|_| {}));
    for seed in 0..n {
        match run(seed) {
            Ok(stats) => { good += 1; total.merge(&stats) }
            Err(f) => {
                let kind: String = f.broken.chars().filter(|c| !c.is_ascii_digit()).take(55).collect();
                let e = kinds.entry(kind).or_insert((0, seed, f.broken.clone()));
                e.0 += 1;
            }
        }
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    kinds.sort_by_key(|k| std::cmp::Reverse(k.0));
    for (count, seed, text) in kinds { println!("{count:>5}  seed {seed}: {}", text.chars().take(250).collect::<String>()); }
    println!("{good} of {n} good");
    if std::env::var_os("STATS").is_some() { println!("{total}"); }
    let missed: Vec<&str> = total.iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect();
    println!("missed {missed:?}");
}
