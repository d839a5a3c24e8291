//! Databases at other servers: a `[[database]]` with `targets`.

use z3950_front::remote::RemoteOptions;

use super::section::{Section, duration, number, octets, word};

/// The keys that only such a database has.
const KEYS: [&str; 8] = [
    "fresh",
    "target-time",
    "total-time",
    "sessions",
    "cache-octets",
    "merge",
    "merge-records",
    "sorted-records",
];

/// The database of a table, if it has targets.
pub(super) fn read(section: &Section<'_>, name: &str) -> Option<RemoteOptions> {
    let target = |value| word(value).map(|text| text.trim().to_owned());
    let targets = section.list("targets", "a text", target);
    let mut options = RemoteOptions::new(name, targets);
    let time = "a time such as \"10s\"";
    section.set("fresh", time, duration, &mut options.fresh);
    section.set("target-time", time, duration, &mut options.target_time);
    section.set("total-time", time, duration, &mut options.total_time);
    section.set("sessions", "a number", number, &mut options.sessions);
    let size = "a number of octets such as \"64MiB\"";
    section.set("cache-octets", size, octets, &mut options.cache_octets);
    options.merge = section.flag("merge").unwrap_or(false);
    let records = "a number";
    section.set("merge-records", records, number, &mut options.merge_records);
    section.set(
        "sorted-records",
        records,
        number,
        &mut options.sorted_records,
    );
    if options.targets.is_empty() {
        for key in KEYS.into_iter().filter(|key| section.has(key)) {
            section.note_whole(format!("{key} is for databases with targets"));
        }
        return None;
    }
    if ["files", "save", "docid"]
        .into_iter()
        .any(|key| section.has(key))
    {
        section.note_whole("a database has either targets, or files, save and docid");
    }
    if name.contains('@') {
        section.note_whole(
            "the name of a database with targets has no @, which begins the name of a target",
        );
    }
    if options.target_time.is_zero() {
        section.note_less("target-time", "1ms");
    }
    if options.total_time.is_zero() {
        section.note_less("total-time", "1ms");
    }
    if options.sessions == 0 {
        section.note_less("sessions", 1);
    }
    if !(1..=RemoteOptions::MAX_MERGE_RECORDS).contains(&options.merge_records) {
        let most = RemoteOptions::MAX_MERGE_RECORDS;
        section.note_whole(format!("merge-records must be from 1 to {most}"));
    }
    if !(1..=RemoteOptions::MAX_SORTED_RECORDS).contains(&options.sorted_records) {
        let most = RemoteOptions::MAX_SORTED_RECORDS;
        section.note_whole(format!("sorted-records must be from 1 to {most}"));
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use crate::config::Config;

    #[test]
    fn settings_are_read() {
        let text = "[[database]]\nname = \"union\"\ntitle = \"All\"\ntargets = [\" a.example/x \", \"loc\"]\n\
            fresh = 0\ntarget-time = \"2s\"\ntotal-time = \"3s\"\nsessions = 1\ncache-octets = \"1MiB\"\n\
            merge = true\nmerge-records = 1000\nsorted-records = 100000";
        let config = Config::parse(text, Path::new("")).expect(text);
        assert!(config.databases.is_empty());
        let [union] = &*config.remotes else {
            panic!("{:?}", config.remotes);
        };
        assert_eq!(union.name, "union");
        assert_eq!(union.title.as_deref(), Some("All"));
        assert_eq!(union.targets, ["a.example/x", "loc"]);
        let times = [union.fresh, union.target_time, union.total_time];
        assert_eq!(times, [0, 2, 3].map(Duration::from_secs));
        assert_eq!((union.sessions, union.cache_octets), (1, 1 << 20));
        assert_eq!((union.merge, union.merge_records), (true, 1000));
        assert_eq!(union.sorted_records, 100_000);
    }

    #[test]
    fn errors_are_named() {
        let targets = "targets = [\"a.example\"]";
        for (table, expected) in [
            (
                "name = \"a\"\nfiles = [\"b\"]\nfresh = 1",
                "fresh is for databases with targets",
            ),
            (
                &*format!("name = \"a\"\n{targets}\nfiles = [\"b\"]"),
                "a database has either targets, or files, save and docid",
            ),
            (
                &format!("name = \"a@b\"\n{targets}"),
                "the name of a database with targets has no @",
            ),
            (
                &format!("name = \"a\"\n{targets}\nsessions = 0"),
                "sessions must be at least 1",
            ),
            (
                &format!("name = \"a\"\n{targets}\ntarget-time = 0"),
                "target-time must be at least 1ms",
            ),
            (
                &format!("name = \"a\"\n{targets}\nmerge-records = 1001"),
                "merge-records must be from 1 to 1000",
            ),
            (
                &format!("name = \"a\"\n{targets}\nsorted-records = 100001"),
                "sorted-records must be from 1 to 100000",
            ),
            (
                &format!("name = \"a\"\n{targets}\nsorted-records = 0"),
                "sorted-records must be from 1 to 100000",
            ),
            (
                &format!("name = \"a\"\n{targets}\nmerge-records = 0"),
                "merge-records must be from 1 to 1000",
            ),
            (
                "name = \"a\"\ntargets = []",
                "without files, save, targets and engine, it has no records",
            ),
        ] {
            let text = format!("[[database]]\n{table}");
            let errors = Config::parse(&text, Path::new("")).expect_err(&text);
            let is_named = errors.iter().any(|(_, reason)| reason.contains(expected));
            assert!(is_named, "{text}: {errors:?}");
        }
    }
}
