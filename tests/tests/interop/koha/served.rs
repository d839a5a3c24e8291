//! Tests of `z3950d` in front of Koha's index, with other programs as clients, and of the command that a librarian
//! runs first.

use std::process::Command;

use tempfile::TempDir;
use z3950_tests::koha::{Edition, KohaIndex, made_up, shared_node};
use z3950_tests::peer;
use z3950_tests::program::{self, Daemon, Ran, run, z3950};
use z3950_tests::surroundings::command;

use crate::interop::solr::served::SRUTHI;
use crate::interop::sru::installed;

/// A folder with settings of `z3950d` for an index.
pub(super) struct Home {
    pub(super) folder: TempDir,
}

impl Home {
    pub(super) fn new(index: &KohaIndex<'_>, lines: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = format!(
            "[[database]]\nname = \"town\"\nengine = \"{}\"\n{lines}\n",
            index.address()
        );
        std::fs::write(folder.path().join("z3950d.toml"), settings).expect("written");
        Self { folder }
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(program::path("z3950d"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments), "")
    }

    pub(super) fn serve(&self) -> Daemon {
        let settings = self.folder.path().join("z3950d.toml");
        Daemon::start(["--config", settings.to_str().expect("text")])
    }
}

/// Checks that the texts appear in this order.
pub(super) fn check(printed: &str, expected: &[&str]) {
    let mut rest = printed;
    for text in expected {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}

#[test]
fn clients_search_show_scan_and_sort() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "served", Edition::Current, &made_up(120));
    let home = Home::new(&index, "catalogue = \"koha\"");
    let daemon = home.serve();
    let having = |accepts: &dyn Fn(&str) -> bool| {
        let documents = super::brute::shown(&index);
        documents
            .filter(|document| document.values("title").iter().any(|title| accepts(title)))
            .count()
    };
    let peace = having(&|title| title.to_lowercase().split(' ').any(|word| word == "peace"));
    assert!(peace > 10);
    if let Some(client) = peer::find("yaz-client") {
        let commands = format!(
            "open {}\nbase town\nformat usmarc\nfind @attr 1=4 peace\nshow 1+2\nsort 1=4 <\nshow 1\nscan @attr 1=1003 @attr 4=1 tolstoy\n\
             find @attr 1=12 7\nshow 1\nfind @attr 1=9999 x\nquit\n",
            daemon.address()
        );
        let ran = run(&mut command(client), &commands);
        let hits = format!("Number of hits: {peace},");
        let expected = [
            &*hits,
            "Records: 2",
            "245 ",
            "245 ",
            "245 ",
            "tolstoy, leo",
            "Number of hits: 1,",
            "999    $c 7",
            "[114]",
        ];
        check(&ran.stdout, &expected);
    }
    if let Some(client) = peer::find("zoomsh") {
        let mut zoomsh = command(client);
        zoomsh
            .arg("-e")
            .arg(format!("connect {}/town", daemon.address()));
        zoomsh.args([
            "set preferredRecordSyntax usmarc",
            "search @attr 1=4 @attr 5=1 pea",
            "show 0 1",
            "quit",
        ]);
        let ran = run(&mut zoomsh, "");
        assert!(
            ran.stdout.contains("hits") && ran.stdout.contains("245 "),
            "{}",
            ran.stdout
        );
    }
    if let Some(client) = peer::find("curl") {
        let url = format!(
            "http://{}/town?version=2.0&query=title%3Dpeace&maximumRecords=2",
            daemon.address()
        );
        let ran = run(command(&client).args(["--silent", &url]), "");
        let hits = format!("numberOfRecords>{peace}<");
        check(
            &ran.stdout,
            &[
                &hits,
                "<record xmlns=\"http://www.loc.gov/MARC21/slim\"",
                "tag=\"245\"",
            ],
        );
        let url = format!("http://{}/search?q=ti:peace&target=town", daemon.address());
        let ran = run(command(client).args(["--silent", &url]), "");
        let hits = format!("{peace} records");
        check(&ran.stdout, &[&hits, "Narrow the search"]);
    }
    if let Some(python) = installed("Z3950_SRU_PYTHON", "bin/python") {
        let url = format!("http://{}/town", daemon.address());
        let ran = run(command(python).args(["-c", SRUTHI, &url]), "");
        assert_eq!(ran.stdout, format!("{peace} {peace}\n"), "{}", ran.stderr);
    }
    let target = format!("{}/town", daemon.address());
    let ran = z3950(["search", &*target, "ti:peace", "--count", "0"]);
    assert!(ran.stdout.starts_with(&format!("{peace} ")), "{ran:?}");
}

/// A client's request never changes anything in the index.
#[test]
fn the_engine_gets_requests_that_only_read() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "watched", Edition::Current, &made_up(40));
    let home = Home::new(&index, "catalogue = \"koha\"");
    let before = requests(&index).len();
    let checked = home.run(&["--config", "z3950d.toml", "--check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let daemon = home.serve();
    let target = format!("{}/town", daemon.address());
    for arguments in [
        &[
            "search", &*target, "ti:war", "--sort", "title", "--facets", "author",
        ][..],
        &["search", &target, "@attr 1=4 @attr 5=3 a"],
        &["scan", &target, "@attr 1=1003 @attr 4=1 t"],
    ] {
        let ran = z3950(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    }
    let record = home.folder.path().join("one.mrk");
    std::fs::write(
        &record,
        "=LDR  00000nam a2200000 a 4500\n=001  new\n=245  10$anew\n\n",
    )
    .expect("written");
    let ran = z3950(["update", &target, "insert", record.to_str().expect("text")]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let sent = requests(&index).split_off(before);
    assert!(sent.len() > 4, "{sent:?}");
    let harmless = ["GET /{}/_mapping", "POST /{}/_search", "POST /{}/_analyze"];
    let harmless = harmless.map(|request| request.replace("{}", &index.name));
    let others: Vec<&String> = sent
        .iter()
        .filter(|sent| !harmless.contains(sent))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Returns the requests about an index that its node has received.
pub(super) fn requests(index: &KohaIndex<'_>) -> Vec<String> {
    let of = |request: &String| request.contains(&format!("/{}", index.name));
    index.cluster.requests().into_iter().filter(of).collect()
}

#[test]
fn a_site_changes_a_copy_of_the_map() {
    let Some(cluster) = shared_node() else {
        return;
    };
    let index = KohaIndex::filled(cluster, "mapped", Edition::Current, &made_up(80));
    let home = Home::new(&index, "catalogue = \"map.toml\"");
    let printed = home.run(&["--print-map", "koha"]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let file = home.folder.path().join("map.toml");
    let lines = printed.stdout.lines().count();
    let added = "\n[[index]]\nname = \"shelf\"\nuse = [9001]\nfields = [\"location\"]\n\n[[index]]\nname = \"gone\"\nuse = [9002]\nfields = [\"nowhere\"]\n";
    std::fs::write(&file, format!("{}{added}", printed.stdout)).expect("written");
    let checked = home.run(&["--config", "z3950d.toml", "--check"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.stderr.contains("gone is not offered"),
        "{checked:?}"
    );
    let daemon = home.serve();
    let target = format!("{}/town", daemon.address());
    let expected = super::brute::shown(&index)
        .filter(|document| document.values("location").contains(&"REF".to_owned()))
        .count();
    assert!(expected > 0);
    let ran = z3950(["search", &*target, "@attr 1=9001 ref", "--count", "0"]);
    assert!(ran.stdout.starts_with(&format!("{expected} ")), "{ran:?}");
    let ran = z3950(["search", &*target, "@attr 1=9002 x"]);
    assert!(ran.stderr.contains("114"), "{ran:?}");
    let sorted =
        "\n[[index]]\nname = \"words\"\nuse = [9003]\nwords = [\"title\"]\nsort = [\"title\"]\n";
    let hidden = "\n[[hidden]]\nfield = \"suppress\"\nvalue = \"perhaps\"\n";
    for (added, code, expected) in [
        (
            sorted,
            0,
            "the type of the field title does not allow sort of words",
        ),
        (hidden, 2, "the search engine refuses: "),
    ] {
        std::fs::write(&file, format!("{}{added}", printed.stdout)).expect("written");
        let checked = home.run(&["--config", "z3950d.toml", "--check"]);
        assert_eq!(checked.code, Some(code), "{checked:?}");
        assert!(checked.stderr.contains(expected), "{checked:?}");
    }
    std::fs::write(&file, "engine = \"koha\"\nnonsense = 1\n").expect("written");
    let wrong = home.run(&["--config", "z3950d.toml", "--check"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("map.toml:2: "), "{wrong:?} {lines}");
    let unknown = home.run(&["--print-map", "aleph"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}
