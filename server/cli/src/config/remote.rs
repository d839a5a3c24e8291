//! Databases at other servers, which are described by `[[database]]` tables with `targets`.

use z3950_front::remote::RemoteOptions;

use super::databases::table::{DatabaseTable, note_keys_of};
use super::section::{Section, text};
use super::setting::settings;

settings! {
    /// A database whose records are at other Z39.50 or SRU servers. Each search is passed on to all of these servers.
    REMOTE "[[database]]": DatabaseTable = DatabaseTable::default() => {
        ///name = "union"
        "name": Other(|_, _| ());
        /// Addresses, URLs, or names of profiles. A single target can be searched as NAME@TARGET, such as
        /// union@127.0.0.1:9903/cat.
        ///targets = ["z39.50s://127.0.0.1:9901/books", "127.0.0.1:9903/cat", "http://127.0.0.1:9902/cat"]
        "targets": Other(|table, value| {
            table.remote.targets = value.list("a text", |value| Some(text(value)?.trim().to_owned()));
        });
        /// The longest wait for one target, and for all targets together. A target that answers later has no hits, and the answer
        /// says so.
        "target-time": Number(Time, MILLISECOND, |table| &mut table.remote.target_time);
        "total-time": Number(Time, MILLISECOND, |table| &mut table.remote.total_time);
        /// The time for which equal searches share an answer after it has arrived.
        "fresh": Number(Time, 0, |table| &mut table.remote.fresh);
        /// The maximum number of sessions with each target, unless its profile allows fewer. Searches share these sessions.
        "sessions": Number(Count, 1, |table| &mut table.remote.sessions);
        /// The size of the record cache, in octets.
        "cache-octets": Number(Octets, 0, |table| &mut table.remote.cache_octets);
        /// The maximum number of records from several targets that a sort puts in order. Diagnostics take the place of later
        /// records.
        "sorted-records": Number(Count, 0, |table| &mut table.remote.sorted_records);
        /// Whether records of one edition become one hit if they are among the first records from their targets, and the number
        /// of records from each target that are compared.
        "merge": Flag(|table| &mut table.remote.merge);
        "merge-records": Number(Count, 0, |table| &mut table.remote.merge_records);
    }
}

/// Returns whether a `[[database]]` table has targets.
pub(super) fn is_chosen(section: &Section<'_>, name: &str, options: &RemoteOptions) -> bool {
    if options.targets.is_empty() {
        note_keys_of(section, &REMOTE, "targets");
        return false;
    }
    if ["files", "save", "docid"]
        .iter()
        .any(|key| section.has(key))
    {
        section.note("a database has either targets, or files, save and docid");
    }
    if name.contains('@') {
        section.note(
            "the name of a database with targets has no @, which begins the name of a target",
        );
    }
    for (key, records, most) in [
        (
            "merge-records",
            options.merge_records,
            RemoteOptions::MAX_MERGE_RECORDS,
        ),
        (
            "sorted-records",
            options.sorted_records,
            RemoteOptions::MAX_SORTED_RECORDS,
        ),
    ] {
        if !(1..=most).contains(&records) {
            section.note(format!("{key} must be from 1 to {most}"));
        }
    }
    true
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
