//! Tests of the same conversation between z3950d and four clients: yaz-client, zoomsh, Perl's Net::Z3950::ZOOM and this project's
//! client. Each client uses those services that it supports: search, piggyback, present, scan, sort, delete and update.

use std::path::Path;

use tempfile::TempDir;
use z3950_tests::peer;
use z3950_tests::program::{Daemon, Ran, run, z3950_fed};
use z3950_tests::surroundings::command;

use crate::interop::judged;

/// A server with a database that clients may change.
struct Writable {
    daemon: Daemon,
    folder: TempDir,
}

/// Three books whose order by title, without leading articles, differs from their order by number.
const BOOKS: &str = "\
=LDR  00000nam a2200000 a 4500
=001  id1
=100  1\\$aTolstoy, Leo
=245  10$aWar and peace

=LDR  00000nam a2200000 a 4500
=001  id2
=100  1\\$aWells, H. G.
=245  14$aThe war of the worlds

=LDR  00000nam a2200000 a 4500
=001  id3
=100  1\\$aHasek, Jaroslav
=245  10$aAt war with a good soldier

";

/// The record to insert, in MARCXML.
const NEW: &str = "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000 a 4500</leader>\
<controlfield tag=\"001\">id4</controlfield><datafield tag=\"245\" ind1=\"1\" ind2=\"0\">\
<subfield code=\"a\">Newcomer</subfield></datafield></record>";

fn server() -> Writable {
    server_with(&[], "127.0.0.1:0")
}

fn server_with(options: &[&str], place: &str) -> Writable {
    let folder = tempfile::tempdir().expect("a folder");
    let books = folder.path().join("books.mrk");
    std::fs::write(&books, BOOKS).expect("written");
    let database = format!("books={}", books.display());
    let report = folder.path().join("report.json").display().to_string();
    let own = ["--database", &database, "--judge", &report];
    let daemon = Daemon::listening([&own, options].concat(), &[place]);
    Writable { daemon, folder }
}

impl Writable {
    /// Stops the server. Returns the findings of the client judge about the session that the server has had, each as `fail` or
    /// `hint` followed by the name of the rule.
    fn findings(mut self) -> Vec<String> {
        let [findings] =
            &*judged::findings(&mut self.daemon, &self.folder.path().join("report.json"))
        else {
            panic!("one session")
        };
        findings.clone()
    }
}

/// Checks that the texts appear in the output in this order.
fn stand_in_order(printed: &str, texts: &[&str]) {
    let mut rest = printed;
    for text in texts {
        let Some((_, after)) = rest.split_once(text) else {
            panic!("{text:?} is not in\n{rest}\nof\n{printed}")
        };
        rest = after;
    }
}

#[test]
fn yaz_client_completes_it() {
    let Some(program) = peer::find("yaz-client") else {
        return;
    };
    let server = server();
    yaz_client(&program, &server.daemon.address().to_string());
    assert_eq!(server.findings(), [""; 0]);
}

#[test]
fn audit_c2_yaz_client_completes_it_over_tls() {
    let (Some(program), Some(openssl)) = (peer::find("yaz-client"), peer::find("openssl")) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] =
        ["cert.pem", "key.pem"].map(|name| folder.path().join(name).display().to_string());
    let plain = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost";
    let ran = run(
        command(openssl)
            .args(plain.split(' '))
            .args(["-keyout", &key, "-out", &certificate]),
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let files = ["--certificate", &certificate, "--key", &key];
    let server = server_with(&files, "tls:127.0.0.1:0");
    yaz_client(&program, &format!("ssl:{}", server.daemon.address()));
}

/// Runs yaz-client's conversation with the server at this address.
fn yaz_client(program: &Path, place: &str) {
    let commands = format!(
        "open {place}/books\nssub 1\nlslb 2\nfind @attr 1=1032 id1\nssub 0\nlslb 1\nfind @attr 1=4 war\nshow 1+3\n\
         scan @attr 1=4 war\nsort 1=4 <\nshow 1\nupdate insert id4 \"{}\"\nfind @attr 1=1032 id4\nshow 1\n\
         delete 2\nclose\nquit\n",
        NEW.replace('"', "'"),
    );
    let ran = run(&mut command(program), &commands);
    stand_in_order(
        &ran.stdout,
        &[
            "Number of hits: 1, setno 1",
            "records returned: 1",
            "001 id1",
            "Number of hits: 3, setno 2",
            "001 id1",
            "001 id2",
            "001 id3",
            "war (3)",
            "Received SortResponse: status=success",
            "001 id3",
            "Status: done",
            "Number of hits: 1, setno 3",
            "Newcomer",
            "deleteResultSetResponse status=0",
            "Target has closed the association",
        ],
    );
}

#[test]
fn zoomsh_completes_it() {
    let Some(program) = peer::find("zoomsh") else {
        return;
    };
    let server = server();
    let connect = format!("connect {}/books", server.daemon.address());
    let record = format!("set record {NEW}");
    let commands = [
        "set preferredRecordSyntax usmarc",
        "set count 1",
        "search @attr 1=1032 id1",
        "show 0 1",
        "set count 0",
        "search @attr 1=4 war",
        "sort 1=4 <",
        "show 0 3",
        "scan @attr 1=4 war",
        "set action recordInsert",
        "set recordIdOpaque id4",
        "set syntax xml",
        &record,
        "ext update",
        "search @attr 1=1032 id4",
        "show 0 1",
    ];
    let ran = run(
        command(program)
            .arg("-e")
            .arg(connect)
            .args(commands)
            .arg("quit"),
        "",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    stand_in_order(
        &ran.stdout,
        &[
            "1 hits", "001 id1", "3 hits", "001 id3", "001 id1", "001 id2", "war 3", "1 hits",
            "Newcomer",
        ],
    );
    assert_eq!(server.findings(), LEAVES);
}

/// The finding about ZOOM clients, which end sessions without a Close.
const LEAVES: [&str; 1] = ["hint close.sent"];

/// The Perl program. It prints a line for each step of the conversation.
const PERL: &str = r#"
use strict; use warnings; use ZOOM;
my ($target, $new) = @ARGV;
my $c = ZOOM::Connection->new($target, 0, preferredRecordSyntax => 'usmarc', count => 1);
my $one = $c->search_pqf('@attr 1=1032 id1');
print "one ", $one->size(), " ", $one->record(0)->render() =~ /001 (\S+)/, "\n";
$c->option(count => 0);
my $war = $c->search_pqf('@attr 1=4 war');
$war->sort('yaz', '1=4 <');
print "sorted ", join(' ', map { $war->record($_)->render() =~ /001 (\S+)/ } 0 .. $war->size() - 1), "\n";
my $scan = $c->scan_pqf('@attr 1=4 war');
my ($term, $count) = $scan->term(0);
print "scan $term $count\n";
my $p = $c->package();
$p->option(action => 'recordInsert'); $p->option(recordIdOpaque => 'id4');
$p->option(record => $new); $p->option(syntax => 'xml'); $p->option(databaseName => 'books');
$p->send('update');
print "update\n";
my $four = $c->search_pqf('@attr 1=1032 id4');
print "four ", $four->size(), " ", $four->record(0)->render() =~ /(Newcomer)/, "\n";
eval { $c->search_pqf('@attr 1=9999 x')->size() };
print "error ", $@->code(), "\n";
"#;

#[test]
fn perl_completes_it() {
    let Some(perl) = peer::find("perl").filter(|perl| has_zoom(perl)) else {
        return;
    };
    let server = server();
    let target = format!("{}/books", server.daemon.address());
    let ran = run(command(perl).args(["-e", PERL, &target, NEW]), "");
    assert_eq!(
        ran.stdout,
        "one 1 id1\nsorted id3 id1 id2\nscan war 3\nupdate\nfour 1 Newcomer\nerror 114\n",
        "{}",
        ran.stderr
    );
    assert_eq!(server.findings(), LEAVES);
}

pub(crate) fn has_zoom(perl: &Path) -> bool {
    let ran: Ran = run(command(perl).args(["-MZOOM", "-e", "1"]), "");
    let is_there = ran.code == Some(0);
    assert!(
        is_there || std::env::var("Z3950_PEERS").as_deref() != Ok("required"),
        "Net::Z3950::ZOOM not found"
    );
    if !is_there {
        eprintln!("skipped: Net::Z3950::ZOOM not found");
    }
    is_there
}

#[test]
fn our_client_completes_it() {
    let server = server();
    let url = format!("z39.50s://{}/books", server.daemon.address());
    let new = server.folder.path().join("new.xml");
    std::fs::write(&new, NEW).expect("written");
    let commands = format!(
        "ssub 1\nlslb 2\nfind @attr 1=1032 id1\nssub 0\nlslb 1\nfind @attr 1=4 war\nshow 1+3\n\
         scan @attr 1=4 war\nsort 1=4 <\nshow 1\nupdate insert id4 <{}\nfind @attr 1=1032 id4\nshow 1\n\
         delete 2\nshow 1+1+2\nfind @attr 1=9999 x\nclose\n",
        new.display(),
    );
    let ran = z3950_fed(["open", &url], &commands);
    // The last request of the script is refused, which determines the exit code.
    assert_eq!(ran.code, Some(5), "{ran:?}");
    stand_in_order(
        &ran.stdout,
        &[
            "1 hit\n",
            "001 id1",
            "3 hits\n",
            "001 id1",
            "001 id2",
            "001 id3",
            "       3  war\n",
            "sorted\n",
            "001 id3",
            "task: done",
            "1 hit\n",
            "Newcomer",
            "deleted\n",
        ],
    );
    stand_in_order(&ran.stderr, &["diagnostic 30 ", "diagnostic 114 "]);
    // The script shows records from a result set that it has deleted, and requests a record syntax in searches that do not return
    // records. The judge reports both.
    let asked_for = ["hint search.composition", "fail present.set"];
    assert_eq!(server.findings(), asked_for);
}
