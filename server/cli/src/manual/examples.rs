//! Examples for the help and the manual pages. A test creates the files that the examples name, and runs every example that
//! starts a server or checks settings.

use z3950_help::Examples;

#[rustfmt::skip]
pub(super) const EXAMPLES: &[Examples] = &[
    ("", &[
        ("Serve files of records, or the built-in catalogue", "z3950d records.mrc maps.mrk"),
        ("", "z3950d --demo"),
        ("", "z3950d --database cat=records.mrc --listen 0.0.0.0:2100"),
        ("", "z3950d --database books=a.mrc --database books=b.mrc --database maps=maps.mrk --docid '035$a'"),
        ("Check the records; the exit code is 8 if some would be repaired or left out", "z3950d --database cat=records.mrc --check"),
        ("Keep the changes of clients", "z3950d --database cat=records.mrc --save cat=saved.mrc"),
        ("", "z3950d --database cat=records.mrc --listen 0.0.0.0:2100 --anyone-may-update"),
        ("", "z3950d --fold saved.mrc"),
        ("Write a settings file, and check it", "z3950d --print-config > z3950d.toml"),
        ("", "z3950d --config z3950d.toml --check"),
        ("Write the map of a catalogue to a file, to change it", "z3950d --print-map koha > map.toml"),
        ("Listen with TLS", "z3950d --demo --listen tls:127.0.0.1:2101 --certificate cert.pem --key key.pem"),
        ("Log sessions, and answer /metrics and /healthz", "z3950d --demo --access-log access.log --status 127.0.0.1:9210"),
        ("Test a client: faults, another server's habits, recorded conversations", "z3950d --demo --fault 'on search db=books nth=2: delay 500ms' --fault 'on search: surrogate 14'"),
        ("", "z3950d --imitate yaz-ztest --listen 127.0.0.1:0 --transcript said.jsonl"),
        ("", "z3950d --record said.jsonl --upstream z3950.example.org:210 --overwrite"),
        ("", "z3950d --replay said.jsonl"),
        ("", "z3950d --replay said.jsonl --report-missing missing.jsonl --overwrite"),
        ("Judge by the standard what clients send", "z3950d --demo --judge report.json --judge report.xml --overwrite"),
        ("", "z3950d --demo --judge report.txt --fault 'on search nth=2: close' --overwrite"),
    ]),
    ("engine-create", &[
        ("", "z3950d engine-create --config z3950d.toml"),
        ("", "z3950d engine-create --config z3950d.toml --dry-run"),
    ]),
    ("load", &[
        ("", "z3950d load --config z3950d.toml records.mrc"),
        ("", "z3950d load --config z3950d.toml --state load.state records.mrc more.mrc"),
        ("", "z3950d load --config z3950d.toml --delete withdrawn.mrc"),
        ("Fill a new index while the old one answers", "z3950d load --config z3950d.toml --reload records.mrc"),
    ]),
    ("try-catalogue", &[
        ("", "z3950d try-catalogue http://127.0.0.1:9200/koha_library_biblios"),
        ("", "z3950d try-catalogue http://127.0.0.1:8983/solr/biblio"),
        ("", "z3950d try-catalogue https://es.example.org:9200/koha_library_biblios --ca ca.pem --credentials es.password"),
    ]),
    ("hash-password", &[
        ("Type the password twice", "z3950d hash-password"),
        ("Read it from a file", "z3950d hash-password < password.txt"),
    ]),
    ("completions", &[("", "z3950d completions bash > z3950d.bash")]),
    ("man", &[
        ("", "z3950d man > z3950d.1"),
        ("", "z3950d man --output pages"),
    ]),
];
