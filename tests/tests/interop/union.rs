//! One database over five servers: three of `z3950d`, of which one is asked over SRU, `zebrasrv`, and a server of SRU alone. yaz-client,
//! zoomsh, sruthi, the page and our own client find records of all of them, and of those that are left when two are gone.

use std::process::Command;

use bytes::Bytes;
use tempfile::TempDir;
use z3950_marc::{MarcRecord, iso2709, marcxml, mrk};
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run, z3950};

use crate::sru::installed;

/// A record with a word that all servers have.
fn records(server: &str) -> Vec<MarcRecord> {
    let text =
        format!("=LDR  00000nam a2200000   4500\n=001  {server}-1\n=245  10$aUnited {server}\n");
    mrk::parse_all(&text).expect("a record")
}

fn iso2709_of(records: &[MarcRecord]) -> Vec<Bytes> {
    let encoded = records.iter().map(iso2709::encode);
    encoded.map(|octets| octets.expect("fits").into()).collect()
}

/// A `z3950d` with the records of a server.
fn daemon(folder: &TempDir, server: &str) -> Daemon {
    let path = folder.path().join(format!("{server}.mrc"));
    std::fs::write(&path, iso2709_of(&records(server)).concat()).expect("written");
    let database = format!("cat={}", path.display());
    Daemon::start(["--database", &database])
}

/// A `z3950d` with the database `union` at these targets; bob may not search it.
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
    Some(run(&mut Command::new(program), &input).stdout)
}

fn zoomsh(front: &Daemon) -> Option<Ran> {
    let program = peer::find("zoomsh")?;
    let connect = format!("connect {}/union", front.address());
    let mut command = Command::new(program);
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

/// The records that sruthi reads, if it is there.
fn sruthi(front: &Daemon) -> Option<String> {
    let python = installed("Z3950_SRU_PYTHON", "bin/python")?;
    let url = format!("http://{}/union", front.address());
    let ran = run(Command::new(python).args(["-c", SRUTHI, &url]), "");
    Some(format!("{}{}", ran.stdout, ran.stderr))
}

/// The page with the records of all targets.
fn page(front: &Daemon) -> String {
    let curl = peer::find("curl").expect("curl");
    let url = format!("http://{}/search?q=united", front.address());
    run(Command::new(curl).args(["-s", &url]), "").stdout
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
    let Some(shown) = zoomsh(&front) else {
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
        let heading = format!("<h2><bdi>union@{target}</bdi>");
        assert!(of_page.contains(&heading), "{heading}: {of_page}");
    }
    let named = format!("[union@{}]", targets[0]);
    assert!(printed.contains(&named), "{printed}");
    // One target alone, and without the right to search the database.
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
    drop((two, perl));
    let printed = yaz_client("", &front, "union", "find @attr 1=4 united\nshow 1+3");
    let printed = printed.expect("installed");
    let over_sru = sru(&front);
    let of_sruthi = sruthi(&front);
    let of_page = page(&front);
    for server in ["one", "three", "zebra"] {
        let title = format!("United {server}");
        assert!(printed.contains(&title), "{title}: {printed}");
        assert!(over_sru.contains(&title), "{title}: {over_sru}");
        assert!(of_page.contains(&title), "{title}: {of_page}");
    }
    // It takes any diagnostic for a failure, and shows it.
    if let Some(failed) = &of_sruthi {
        let name = format!("union@{}: ", targets[1]);
        assert!(failed.contains(&name), "{failed}");
    }
    let url = format!("http://{}/union?query=united", front.address());
    let curl = peer::find("curl").expect("curl");
    let answer = run(Command::new(curl).args(["-s", &url]), "").stdout;
    assert!(
        answer.contains("<zs:numberOfRecords>3</zs:numberOfRecords>"),
        "{answer}"
    );
    for gone in [&targets[1], &targets[4]] {
        assert!(answer.contains(&format!("union@{gone}: ")), "{answer}");
        let failed = format!("<h2><bdi>union@{gone}</bdi></h2>\n<p class=\"failure\">");
        assert!(of_page.contains(&failed), "{failed}: {of_page}");
    }
}
