//! Tests of a database that combines five servers: three `z3950d`, one of which is accessed over SRU, `zebrasrv`, and a server
//! that supports only SRU. yaz-client, zoomsh, sruthi, the web page and our own client must find the records of all servers and,
//! when two servers are down, those of the remaining servers.

use bytes::Bytes;
use tempfile::TempDir;
use z3950_marc::{MarcRecord, iso2709, marcxml, mrk};
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run, z3950};
use z3950_tests::surroundings::command;

use crate::interop::sru::installed;

/// Returns the records for a server. They contain a word that occurs in the records of all servers.
fn records(server: &str) -> Vec<MarcRecord> {
    let text =
        format!("=LDR  00000nam a2200000   4500\n=001  {server}-1\n=245  10$aUnited {server}\n");
    mrk::parse_all(&text).expect("a record")
}

fn iso2709_of(records: &[MarcRecord]) -> Vec<Bytes> {
    let encoded = records.iter().map(iso2709::encode);
    encoded.map(|octets| octets.expect("fits").into()).collect()
}

/// Starts a `z3950d` with the records of a server.
fn daemon(folder: &TempDir, server: &str) -> Daemon {
    let path = folder.path().join(format!("{server}.mrc"));
    std::fs::write(&path, iso2709_of(&records(server)).concat()).expect("written");
    let database = format!("cat={}", path.display());
    Daemon::start(["--database", &database])
}

/// Starts a `z3950d` with a database `union` that combines these targets. The user bob may not search it.
fn front(folder: &TempDir, targets: &[String]) -> Daemon {
    let path = folder.path().join("z3950d.toml");
    let settings = format!(
        "[[database]]\nname = \"union\"\ntargets = {targets:?}\ntarget-time = \"5s\"\nfresh = 0\n\
         [access]\nanonymous = true\n[[access.user]]\nname = \"bob\"\npassword = \"x\"\ndatabases = [\"books\"]\n"
    );
    std::fs::write(&path, settings).expect("written");
    Daemon::start(["--config", path.to_str().expect("text")])
}

fn yaz_client(before: &str, front: &Daemon, database: &str, commands: &str) -> Option<String> {
    let program = peer::find("yaz-client")?;
    let input = format!(
        "{before}open {}/{database}\nformat usmarc\n{commands}\nquit\n",
        front.address()
    );
    Some(run(&mut command(program), &input).stdout)
}

/// Runs zoomsh, and returns its output with the records. `scheme` is `http://` for SRU.
fn zoomsh(front: &Daemon, scheme: &str) -> Option<Ran> {
    let program = peer::find("zoomsh")?;
    let connect = format!("connect {scheme}{}/union", front.address());
    let mut command = command(program);
    command
        .args(["-e", &connect, "set preferredRecordSyntax usmarc"])
        .args(["search @attr 1=4 united", "show 0 5", "quit"]);
    Some(run(&mut command, ""))
}

fn sru(front: &Daemon) -> String {
    let url = format!("http://{}/union", front.address());
    let ran = z3950(["search", &url, "@attr 1=4 united"]);
    format!("{}{}", ran.stdout, ran.stderr)
}

const SRUTHI: &str = "
import sys, sruthi
found = sruthi.Client(sys.argv[1], maximum_records=2, sru_version='1.2').searchretrieve('united')
print(found.count, [str(record) for record in found])
";

/// Runs sruthi, and returns the records that it reads, or `None` if it is not installed.
fn sruthi(front: &Daemon) -> Option<String> {
    let python = installed("Z3950_SRU_PYTHON", "bin/python")?;
    let url = format!("http://{}/union", front.address());
    let ran = run(command(python).args(["-c", SRUTHI, &url]), "");
    Some(format!("{}{}", ran.stdout, ran.stderr))
}

/// Returns the web page with the records of all targets.
fn page(front: &Daemon) -> String {
    let curl = peer::find("curl").expect("curl");
    let url = format!("http://{}/search?q=united", front.address());
    run(command(curl).args(["-s", &url]), "").stdout
}

#[test]
fn a_union_of_five_servers_and_of_those_that_are_left() {
    let folder = TempDir::new().expect("a folder");
    let (one, two) = (daemon(&folder, "one"), daemon(&folder, "two"));
    let three = daemon(&folder, "three");
    let Some(zebra) = peer::zebrasrv(&iso2709_of(&records("zebra"))) else {
        return;
    };
    let of_perl = records("perl");
    let of_perl: Vec<String> = of_perl
        .iter()
        .map(|one| marcxml::to_xml(one).text)
        .collect();
    let Some(perl) = peer::perl_sru(&of_perl) else {
        return;
    };
    let targets = [
        format!("{}/cat", one.address()),
        format!("{}/cat", two.address()),
        format!("http://{}/cat", three.address()),
        format!("127.0.0.1:{}/Default", zebra.port),
        format!("http://127.0.0.1:{}/", perl.port),
    ];
    let front = front(&folder, &targets);
    let all = ["one", "two", "three", "zebra", "perl"];
    let Some(printed) = yaz_client("", &front, "union", "find @attr 1=4 united\nshow 1+5") else {
        return;
    };
    let Some(shown) = zoomsh(&front, "") else {
        return;
    };
    let over_sru = sru(&front);
    let of_sruthi = sruthi(&front);
    let of_page = page(&front);
    for server in all {
        let title = format!("United {server}");
        assert!(printed.contains(&title), "{title}: {printed}");
        assert!(shown.stdout.contains(&title), "{title}: {shown:?}");
        assert!(over_sru.contains(&title), "{title}: {over_sru}");
        if let Some(read) = &of_sruthi {
            assert!(
                read.starts_with("5 ") && read.contains(&title),
                "{title}: {read}"
            );
        }
        assert!(of_page.contains(&title), "{title}: {of_page}");
    }
    for target in &targets {
        let heading = format!("<h2><bdi>union: {target}</bdi>");
        assert!(of_page.contains(&heading), "{heading}: {of_page}");
    }
    let named = format!("[union@{}]", targets[0]);
    assert!(printed.contains(&named), "{printed}");
    // An individual target of the union can be searched, but not by a user who may not search the union.
    let alone = format!("union@{}", targets[1]);
    let printed = yaz_client("", &front, &alone, "find @attr 1=4 united\nshow 1");
    let printed = printed.expect("installed");
    assert!(
        printed.contains("Number of hits: 1") && printed.contains("United two"),
        "{printed}"
    );
    let refused = yaz_client("auth bob/x\n", &front, &alone, "find @attr 1=4 united");
    let refused = refused.expect("installed");
    assert!(refused.contains("236"), "{refused}");
    // SRU explain also describes the individual targets of the union.
    let described = format!(
        "http://{}/union@{}",
        front.address(),
        targets[1].replace('/', "%2F")
    );
    let described = run(
        command(peer::find("curl").expect("curl")).args(["-s", &described]),
        "",
    );
    let database = format!("<database>{alone}</database>");
    assert!(described.stdout.contains(&database), "{described:?}");
    drop((two, perl));
    let printed = yaz_client("", &front, "union", "find @attr 1=4 united\nshow 1+3");
    let printed = printed.expect("installed");
    let over_sru = sru(&front);
    let of_sruthi = sruthi(&front);
    let of_page = page(&front);
    let shown = zoomsh(&front, "http://").expect("installed");
    for server in ["one", "three", "zebra"] {
        let title = format!("United {server}");
        assert!(printed.contains(&title), "{title}: {printed}");
        assert!(over_sru.contains(&title), "{title}: {over_sru}");
        assert!(of_page.contains(&title), "{title}: {of_page}");
        assert!(shown.stdout.contains(&title), "{title}: {shown:?}");
    }
    // sruthi treats every diagnostic as a failure, and prints only the diagnostic.
    if let Some(failed) = &of_sruthi {
        let name = format!("union@{}: ", targets[1]);
        assert!(failed.contains(&name), "{failed}");
    }
    let url = format!("http://{}/union?query=united", front.address());
    let curl = peer::find("curl").expect("curl");
    let answer = run(command(curl).args(["-s", &url]), "").stdout;
    assert!(
        answer.contains("<zs:numberOfRecords>3</zs:numberOfRecords>"),
        "{answer}"
    );
    for gone in [&targets[1], &targets[4]] {
        assert!(answer.contains(&format!("union@{gone}: ")), "{answer}");
        let failed = format!("<h2><bdi>union: {gone}</bdi></h2>\n<p class=\"failure\">");
        assert!(of_page.contains(&failed), "{failed}: {of_page}");
    }
}

#[test]
fn copies_of_yaz_ztest_and_of_an_own_server_are_in_opac_records_and_on_the_page() {
    let (Some(ztest), Some(curl)) = (peer::yaz_ztest(), peer::find("curl")) else {
        return;
    };
    let own = Daemon::start(["--demo"]);
    let folder = TempDir::new().expect("a folder");
    let targets = [
        format!("127.0.0.1:{}/Default", ztest.port),
        format!("{}/books", own.address()),
    ];
    let front = front(&folder, &targets);
    // Both records have information about copies.
    let url = format!("http://{}/search?q=emma", front.address());
    let page = run(command(&curl).args(["-s", &url]), "").stdout;
    let state = "<span class=\"state\">";
    let sections: Vec<_> = page.split("<section").skip(1).collect();
    assert_eq!(sections.len(), 2, "{page}");
    let is_told = sections.iter().all(|section| section.contains(state));
    assert!(is_told, "{page}");
    let commands = "format opac\nfind @attr 1=4 emma\nshow 1+2";
    let Some(printed) = yaz_client("", &front, "union", commands) else {
        return;
    };
    // One record is from yaz-ztest, and the other from our own server.
    for part in ["nucCode: s-FM/GC", "nucCode: Demo Library", "availableNow:"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let url = format!(
        "http://{}/union?query=emma&recordSchema=opac&maximumRecords=2",
        front.address()
    );
    let answer = run(command(&curl).args(["-s", &url]), "").stdout;
    for part in ["s-FM/GC", "<circulation>"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
}

#[test]
fn scans_sorts_and_sets_of_a_union() {
    let folder = TempDir::new().expect("a folder");
    let record = |docid: &str, title: &str| {
        let text =
            format!("=LDR  00000nam a2200000   4500\n=001  {docid}\n=245  10$aUnited {title}\n\n");
        mrk::parse_all(&text).expect("a record")
    };
    let ours = [record("p1", "pear"), record("p3", "apple")].concat();
    let path = folder.path().join("cat.mrc");
    std::fs::write(&path, iso2709_of(&ours).concat()).expect("written");
    let daemon = Daemon::start(["--database", &format!("cat={}", path.display())]);
    let theirs = [record("p2", "fig"), record("p0", "Cherry")].concat();
    let Some(zebra) = peer::zebrasrv(&iso2709_of(&theirs)) else {
        return;
    };
    let Some(ztest) = peer::yaz_ztest() else {
        return;
    };
    let [one, zebra] = [
        format!("{}/cat", daemon.address()),
        format!("127.0.0.1:{}/Default", zebra.port),
    ];
    let three = format!("127.0.0.1:{}/Default", ztest.port);
    // Every scan on yaz-ztest returns the terms war and peace.
    let all = front(&folder, &[one.clone(), zebra.clone(), three]);
    let scan = "scan @attr 1=4 united\nscanpos 3\nscan @attr 1=4 united";
    let Some(printed) = yaz_client("", &all, "union", scan) else {
        return;
    };
    let printed = printed.split_once("2 entries, position=1").expect(&printed);
    let (_, after) = printed;
    assert!(after.contains("* United (4)\n  war (3)\n"), "{after}");
    let around = "  peace (2)\n  pear (1)\n* United (4)\n  war (3)\n";
    assert!(after.contains(around), "{after}");
    drop(all);
    let both = front(&folder, &[one, zebra.clone()]);
    // Our server can also sort by title; Zebra has no sort index for titles.
    let commands = "find @attr 1=4 united\nsort 1=4 ia\nsort 1=12 ia\nshow 1+4\n\
        find @and @set 1 @attr 1=4 fig\nshow 1+1\nfind @not @set 1 @set 2";
    let printed = yaz_client("", &both, "union", commands).expect("installed");
    let hits: Vec<&str> = { printed.lines() }
        .filter_map(|line| line.strip_prefix("Number of hits: "))
        .collect();
    assert_eq!(
        hits,
        ["4, setno 1", "1, setno 2", "3, setno 3"],
        "{printed}"
    );
    let named = format!("[207] Cannot sort according to sequence -- v2 addinfo 'union@{zebra}: ");
    assert!(printed.contains(&named), "{printed}");
    let titles = printed
        .lines()
        .filter_map(|line| line.strip_prefix("245 10 $a United "));
    let titles: Vec<&str> = titles.collect();
    assert_eq!(
        titles,
        ["Cherry", "pear", "fig", "apple", "fig"],
        "{printed}"
    );
}
