//! Tests of `z3950d --demo` with SRU programs: yaz-client, zoomsh, Catmandu (Perl), sruthi (Python) and `@natlibfi/sru-client`
//! (Node.js). The Python and Node.js libraries are in the folders named by `Z3950_SRU_PYTHON` and `Z3950_SRU_NODE`: a virtual
//! environment, and a folder with `node_modules`.

use std::path::PathBuf;
use std::process::Command;

use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run};
use z3950_tests::surroundings::command;

fn url(daemon: &Daemon) -> String {
    format!("http://{}/books", daemon.address())
}

/// Checks that the texts appear in this order in the output of a program.
fn check(printed: &str, expected: &[&str], about: &str) {
    let mut rest = printed;
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{about}: {text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}

/// The combinations of SRU methods and versions.
const WAYS: [(&str, &str); 9] = [
    ("get", "1.1"),
    ("get", "1.2"),
    ("get", "2.0"),
    ("post", "1.1"),
    ("post", "1.2"),
    ("post", "2.0"),
    ("soap", "1.1"),
    ("soap", "1.2"),
    ("soap", "2.0"),
];

/// Runs yaz-client, and returns its output, or `None` if it is not installed.
fn yaz_client(daemon: &Daemon, (method, version): (&str, &str), commands: &str) -> Option<String> {
    let program = peer::find("yaz-client")?;
    let open = format!("sru {method} {version}\nopen {}", url(daemon));
    let ran = run(&mut command(program), format!("{open}\n{commands}\nquit\n"));
    Some(ran.stdout)
}

#[test]
fn yaz_client_searches_shows_scans_and_explains() {
    let daemon = Daemon::start(["--demo"]);
    for way in WAYS {
        let commands = "find title=war\nshow 8+2\nscan title=war\nexplain\nfind colour=red";
        let Some(printed) = yaz_client(&daemon, way, commands) else {
            return;
        };
        let expected = [
            "Number of hits: 9",
            "pos=8 schema=info:srw/schema/1/marcxml-v1.1",
            "<record xmlns=\"http://www.loc.gov/MARC21/slim\">",
            "pos=9 ",
            "war: 9",
            "wars: 1",
            "<explain xmlns=\"http://explain.z3950.org/dtd/2.0/\">",
            "<database numRecs=\"281\">books</database>",
            "info:srw/diagnostic/1/16",
            "Details: colour",
        ];
        check(&printed, &expected, &format!("{way:?}"));
    }
}

#[test]
fn yaz_client_sorts_and_gets_facets() {
    let daemon = Daemon::start(["--demo"]);
    let commands =
        "facets @attr 1=dc.language @attr 3=2\nfind title=war sortby title/sort.descending\nshow 1";
    let Some(printed) = yaz_client(&daemon, ("get", "2.0"), commands) else {
        return;
    };
    let expected = [
        "Number of hits: 9",
        "dc.language (2)",
        "eng (7)",
        "chi (2)",
        "pos=1",
        "孫子",
    ];
    check(&printed, &expected, "sorted");
}

/// Returns a record in MARCXML, on one line.
fn record(title: &str) -> String {
    format!(
        "<record xmlns='http://www.loc.gov/MARC21/slim'><leader>00000nam a2200000 a 4500</leader>\
         <controlfield tag='001'>new1</controlfield><datafield tag='245' ind1='0' ind2='0'>\
         <subfield code='a'>{title}</subfield></datafield></record>"
    )
}

#[test]
fn yaz_client_updates_records() {
    let daemon = Daemon::start(["--demo"]);
    let folder = tempfile::tempdir().expect("a folder");
    for title in ["Zyxone", "Zyxtwo"] {
        let path = folder.path().join(title);
        std::fs::write(path, record(title)).expect("the file is written");
    }
    let file = |title: &str| folder.path().join(title).display().to_string();
    for (command, title, hits) in [
        (
            format!("update insert new1 <{}", file("Zyxone")),
            "zyxone",
            1,
        ),
        (
            format!("update insert new1 <{}", file("Zyxtwo")),
            "zyxtwo",
            0,
        ),
        (
            format!("update replace new1 <{}", file("Zyxtwo")),
            "zyxtwo",
            1,
        ),
        (
            format!("update delete new1 <{}", file("Zyxtwo")),
            "zyxtwo",
            0,
        ),
    ] {
        let commands = format!("{command}\nfind title={title}");
        let Some(printed) = yaz_client(&daemon, ("soap", "1.1"), &commands) else {
            return;
        };
        check(&printed, &[&format!("Number of hits: {hits}")], &command);
    }
}

fn zoomsh(daemon: &Daemon, before: &[&str], after: &[&str]) -> Option<Ran> {
    let program = peer::find("zoomsh")?;
    let connect = format!("connect {}", url(daemon));
    let mut command = command(program);
    command.args(before).arg(connect).args(after).arg("quit");
    Some(run(&mut command, ""))
}

#[test]
fn zoomsh_reads_25_records() {
    let daemon = Daemon::start(["--demo"]);
    // The client uses SOAP by default.
    for before in [
        &[][..],
        &["set sru get"],
        &["set sru post", "set sru_version 1.2"],
    ] {
        let after = [
            "set schema marcxml",
            "set presentChunk 10",
            "search @attr 1=4 the",
            "show 0 25",
        ];
        let Some(ran) = zoomsh(&daemon, before, &after) else {
            return;
        };
        check(
            &ran.stdout,
            &["90 hits", "24 database="],
            &format!("{before:?}"),
        );
        assert_eq!(ran.stdout.matches("<leader>").count(), 25, "{before:?}");
    }
}

/// Returns whether a program finds its library. If not, prints that the test is skipped.
///
/// # Panics
/// Panics if the library is missing and `Z3950_PEERS=required`.
fn finds(command: &mut Command, library: &str) -> bool {
    let is_found = run(command, "").code == Some(0);
    if !is_found {
        let required = std::env::var("Z3950_PEERS").as_deref() == Ok("required");
        assert!(!required, "{library} is not installed");
        eprintln!("skipped: {library} is not installed");
    }
    is_found
}

const CATMANDU: &str = "my ($url, $version) = @ARGV; my %ids; \
    my $all = Catmandu::Importer::SRU->new(base => $url, query => 'the', version => $version, \
    recordSchema => 'marcxml', parser => 'marcxml', limit => 10); \
    $all->take(25)->each(sub { $ids{$_[0]{_id}} = 1 }); print scalar(keys %ids), qq{ records\\n};";

#[test]
fn catmandu_reads_25_records() {
    let Some(perl) = peer::find("perl") else {
        return;
    };
    let library = "-MCatmandu::Importer::SRU";
    if !finds(command(&perl).args([library, "-e", "1"]), "Catmandu-SRU") {
        return;
    }
    let daemon = Daemon::start(["--demo"]);
    for version in ["1.1", "1.2"] {
        let mut command = command(&perl);
        command.args([library, "-e", CATMANDU, &url(&daemon), version]);
        let ran = run(&mut command, "");
        assert_eq!(ran.stdout, "25 records\n", "{version}: {}", ran.stderr);
    }
}

/// Returns a path in the folder that an environment variable names. If the variable is not set, prints that the test is skipped.
pub(crate) fn installed(variable: &str, path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable);
    if folder.is_none() {
        eprintln!("skipped: {variable} is not set");
    }
    Some(PathBuf::from(folder?).join(path))
}

const SRUTHI: &str = "
import itertools, sys, sruthi
url, version = sys.argv[1:]
client = sruthi.Client(url, maximum_records=10, sru_version=version)
found = client.searchretrieve('the')
records = [record['controlfield'] for record in itertools.islice(found, 25)]
print(found.count, len(records), client.explain().database['title'])
";

#[test]
fn sruthi_reads_25_records() {
    let Some(python) = installed("Z3950_SRU_PYTHON", "bin/python") else {
        return;
    };
    let daemon = Daemon::start(["--demo"]);
    for version in ["1.1", "1.2"] {
        let ran = run(
            command(&python).args(["-c", SRUTHI, &url(&daemon), version]),
            "",
        );
        let expected = "236 25 Demo catalogue: books\n";
        assert_eq!(ran.stdout, expected, "{version}: {}", ran.stderr);
    }
}

const SRU_CLIENT: &str = "
const [url, version] = process.argv.slice(1);
const create = require('@natlibfi/sru-client').default;
const client = create({url, version, recordSchema: 'marcxml', maxRecordsPerRequest: 10});
let records = 0;
client.searchRetrieve('title = the')
  .on('record', () => records++)
  .on('end', () => console.log(records))
  .on('error', error => { console.error(error); process.exit(1); });
";

#[test]
fn sru_client_reads_all_records() {
    let Some(folder) = installed("Z3950_SRU_NODE", "") else {
        return;
    };
    let Some(node) = peer::find("node") else {
        return;
    };
    let daemon = Daemon::start(["--demo"]);
    for version in ["1.1", "1.2", "2.0"] {
        let mut command = command(&node);
        command.current_dir(&folder);
        command.args(["-e", SRU_CLIENT, &url(&daemon), version]);
        let ran = run(&mut command, "");
        assert_eq!(ran.stdout, "90\n", "{version}: {}", ran.stderr);
    }
}
