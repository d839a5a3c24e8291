//! Measures how well editions are merged in the demo catalogue, to which 200 duplicates and 90 near misses are added. `cargo
//! bench -p z3950-tests --bench merge` prints the rows of `BENCHMARKS.md`.

use std::collections::BTreeMap;
use std::time::Instant;

use z3950_front::remote::merge::{Edition, clusters};
use z3950_tests::editions::{Judged, PlantedRecords, planted};

fn main() {
    let alone = planted(0, 0);
    for (one, other) in judged(&alone).wrong {
        println!(
            "merged in the demo catalogue itself: {}",
            titles(&alone, one, other)
        );
    }
    let planted = planted(200, 90);
    let judged = judged(&planted);
    for (what, pairs) in [("wrong", &judged.wrong), ("missing", &judged.missing)] {
        let mut by_change: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (one, other) in pairs {
            by_change
                .entry(planted.changes[*other])
                .or_default()
                .push(titles(&planted, *one, *other));
        }
        for (change, pairs) in by_change {
            println!("{what}, {change}: {}", pairs.len());
            pairs.iter().take(5).for_each(|pair| println!("    {pair}"));
        }
    }
    println!(
        "{} records, {} pairs of one edition: {} merged, {} missing, {} wrong; precision {:.3}, recall {:.3}",
        planted.records.len(),
        planted.pairs(),
        judged.right,
        judged.missing.len(),
        judged.wrong.len(),
        judged.precision(),
        judged.recall()
    );
    let thousand: Vec<_> = planted.records.iter().cycle().take(1000).collect();
    let begun = Instant::now();
    let editions: Vec<_> = thousand.iter().map(|record| Edition::of(record)).collect();
    let read = begun.elapsed();
    let number = clusters(&editions).len();
    println!(
        "1,000 records: {read:.1?} to read, {:.1?} in all, {number} clusters",
        begun.elapsed()
    );
}

fn judged(planted: &PlantedRecords) -> Judged {
    let editions: Vec<_> = planted.records.iter().map(Edition::of).collect();
    Judged::new(planted, &clusters(&editions))
}

fn titles(planted: &PlantedRecords, one: usize, other: usize) -> String {
    let title = |number: usize| {
        let field = planted.records[number].fields_by_tag("245").next();
        let title = field.and_then(|field| field.subfield("a"));
        String::from_utf8_lossy(title.unwrap_or_default()).into_owned()
    };
    format!("{} | {}", title(one), title(other))
}
