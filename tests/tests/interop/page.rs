//! Tests in Chromium that the web page leads from an ISBN to the record, its file and its URL, and from a merged hit to the
//! records from its sources. Every page is checked with axe-core in a light and a dark colour scheme, at the widths of a desktop
//! and of a phone. Screenshots of the pages are in `target/tmp/page`.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use z3950_tests::browser::{Browser, View, axe_core};
use z3950_tests::peer::Unheard;
use z3950_tests::program::{Daemon, z3950};

#[test]
fn from_an_isbn_to_the_record_its_file_and_its_url() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let daemon = Daemon::start(["--demo"]);
    browser.open(&format!("http://{}/", daemon.address()));
    browser.type_into("#q", "978-0-14-143958-7");
    browser.follow("form button");
    let taken = browser.text("main > .note");
    assert_eq!(taken, "Interpreted as the ISBN 978-0-14-143958-7.");
    browser.follow("section ol a");
    let title = browser.text("h1");
    assert!(title.starts_with("Emma"), "{title}");
    let holdings = browser.text("#holdings");
    for part in ["PR4034 .E5", "v.1", "available", "due 2026-12-01"] {
        assert!(holdings.contains(part), "{part}: {holdings}");
    }
    browser.click("a[href$='format=marc']");
    let url = browser.property("#url", "value");
    let port = daemon.port();
    assert_eq!(url, format!("z39.50r://127.0.0.1:{port}/books?pg158"));
    let record = z3950(["get", &format!("{url};rs=marc"), "--format", "marc"]);
    assert_eq!(record.code, Some(0), "{}", record.stderr);
    let downloaded = browser.downloaded("pg158.mrc");
    assert_eq!(downloaded, record.octets, "the octets of the record");
    // The URL leads to the same record through the gateway.
    browser.open(&format!("http://{}/", daemon.address()));
    browser.type_into("#q", &url);
    browser.follow("form button");
    let place = format!("http://127.0.0.1:{port}/get?url=");
    assert!(browser.url().starts_with(&place), "{}", browser.url());
    assert_eq!(browser.text("h1"), title);
    browser.click("a[href$='format=marc']");
    assert_eq!(browser.downloaded("pg158.mrc"), record.octets);
}

/// The pages of a server: the name of the screenshot, the path, and the text of the heading.
const PAGES: [(&str, &str, &str); 17] = [
    ("start", "/", "Search the catalogue"),
    ("results", "/search?q=war", "Results"),
    (
        "narrowed",
        "/search?q=war&target=books&narrow=date:1868",
        "Results",
    ),
    ("unusual", "/search?q=war&target=unusual", "Results"),
    ("unusual-record", "/search?q=war&target=unusual&at=1", "War"),
    ("nothing", "/search?q=zyxwvut", "Results"),
    ("misspelt", "/search?q=emmma", "Results"),
    ("sorted", "/search?q=war&sort=newest", "Results"),
    ("no-page", "/nosuch", "Not found"),
    (
        "other-ways",
        "/search?q=%40attr+1%3D1003+%40attr+6%3D3+austen&fallback=1",
        "Results",
    ),
    ("best", "/search?q=isbn:9780141439587&best=1", "Results"),
    (
        "record",
        "/search?q=isbn:9780141439587&target=books&at=1",
        "Emma",
    ),
    ("targets", "/targets", "Databases"),
    (
        "failure",
        "/search?q=%40attr+1%3D",
        "This request is not valid",
    ),
    (
        "nothing-ticked",
        "/search?q=war&tick=none",
        "Search the catalogue",
    ),
    (
        "gateway-record",
        "/get?url=z39.50r://SERVER/books?pg158",
        "Emma",
    ),
    (
        "gateway-failure",
        "/get?url=z39.50r://lib.example/books?pg158",
        "Not allowed",
    ),
];

/// The pages of a server with a merged database, in the same form as [`PAGES`].
const UNION_PAGES: [(&str, &str, &str); 4] = [
    ("union-start", "/", "Search the catalogue"),
    ("union-results", "/search?q=austen", "Results"),
    (
        "union-record",
        "/search?q=isbn:9780141439587&target=union&at=1",
        "Emma",
    ),
    ("union-targets", "/targets", "Databases"),
];

/// Returns records whose titles contain words that are too long for a line, right-to-left letters, and control characters.
fn unusual() -> String {
    let titles = [
        format!("War {}", "x".repeat(500)),
        format!("War {}", "of many words ".repeat(500)),
        "الحرب والسلام war : رواية".to_owned(),
        "war \u{202e}evil \u{2066}<script>alert(1)</script>".to_owned(),
    ];
    let record = |(number, title)| {
        format!("=LDR  00000nam a2200000   4500\n=001  {number}\n=245  10$a{title}\n\n")
    };
    titles.into_iter().enumerate().map(record).collect()
}

/// Two servers, and a server in front of them. Its database merges their records with those of a third server, which is down.
struct Union {
    _servers: [Daemon; 2],
    _gone: Unheard,
    targets: [String; 3],
    front: Daemon,
    _folder: TempDir,
}

impl Union {
    fn start() -> Self {
        let servers = [(); 2].map(|()| Daemon::start(["--demo"]));
        let unheard = Unheard::bind();
        let port = unheard.address().port();
        let [one, two] = servers.each_ref().map(Daemon::address);
        let targets = [
            format!("{one}/books"),
            format!("http://{two}/books"),
            format!("127.0.0.1:{port}/books"),
        ];
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("z3950d.toml");
        let settings = format!(
            "[[database]]\nname = \"union\"\ntitle = \"All libraries\"\nmerge = true\ntargets = {targets:?}\n"
        );
        std::fs::write(&path, settings).expect("written");
        let front = Daemon::start(["--config", path.to_str().expect("text")]);
        Self {
            _servers: servers,
            _gone: unheard,
            targets,
            front,
            _folder: folder,
        }
    }
}

#[test]
fn a_merged_hit_has_the_copies_of_its_sources_and_leads_to_their_records() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let union = Union::start();
    let port = union.front.port();
    browser.open(&format!("http://{}/", union.front.address()));
    browser.type_into("#q", "ti:emma au:austen");
    browser.follow("form button");
    let found = browser.text("section .sources");
    for part in [&*union.targets[0], &union.targets[1], "connection refused"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let list = browser.text("section ol");
    let both = format!("in: {}, {}", union.targets[0], union.targets[1]);
    assert!(list.contains(&both), "{list}");
    browser.follow("section ol a");
    let title = browser.text("h1");
    assert!(title.starts_with("Emma"), "{title}");
    assert_eq!(browser.text("#sources"), both);
    let holdings = browser.text("#holdings");
    for target in &union.targets[..2] {
        assert!(holdings.contains(&format!("in {target}")), "{holdings}");
    }
    assert!(holdings.contains("due 2026-12-01"), "{holdings}");
    browser.follow("#sources a:last-child");
    assert_eq!(browser.text("h1"), title);
    let url = browser.property("#url", "value");
    let name = union.targets[1].replace(':', "%3A").replace('/', "%2F");
    let expected = format!("z39.50r://127.0.0.1:{port}/union%40{name}?pg158");
    assert_eq!(url, expected);
    let record = z3950(["get", &url]);
    assert_eq!(record.code, Some(0), "{}", record.stderr);
    assert!(record.stdout.contains("Emma"), "{}", record.stdout);
}

/// The sections of databases are displayed in the order of the settings, although those of slow databases arrive last.
#[test]
fn r_g_databases_stand_in_the_order_of_the_settings() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let rule = "on search db=books: delay 300ms";
    let daemon = Daemon::start(["--demo", "--fault", rule]);
    browser.open(&format!("http://{}/search?q=war", daemon.address()));
    let in_source = "return [...document.querySelectorAll('section')].map(one => one.id)";
    assert_eq!(browser.evaluate(in_source), json!(["in-2", "in-1"]));
    let top = |id: &str| {
        let script = format!("return document.getElementById('{id}').getBoundingClientRect().top");
        browser.evaluate(&script).as_f64().expect("a number")
    };
    assert!(top("in-1") < top("in-2"));
    let of_slots = "const root = document.getElementById('answers').shadowRoot;
        return [...root.querySelectorAll('slot')].map(one => one.assignedElements().length)";
    let assigned = browser.evaluate(of_slots);
    // The slots contain, in this order: the total, no hint, two links, two sections, and the rest, which consists of facets and
    // files of all databases.
    assert_eq!(assigned, json!([1, 0, 1, 1, 1, 1, 3]), "nothing waits");
    browser.click("#answers > a[href='#in-2']");
    assert!(browser.url().ends_with("#in-2"), "{}", browser.url());
    let total = browser.text("#answers > [slot=total]");
    assert_eq!(total, "In all 19 records in 2 databases.");
}

/// Checks the picture of the page in the documentation. Because fonts differ between machines, only its existence and its size
/// are checked. `Z3950_PICTURES=1 cargo test --workspace --test all picture` creates it again.
#[test]
fn the_picture_of_the_page_is_there_and_small() {
    const SIZE: (u32, u32) = (760, 560);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/docs/page.png");
    if std::env::var_os("Z3950_PICTURES").is_some() {
        let browser = Browser::start().expect("Chromium takes the picture");
        let daemon = Daemon::start(["--demo"]);
        browser.set_view(View {
            width: SIZE.0,
            is_dark: false,
        });
        browser.open(&format!(
            "http://{}/search?q=war&sort=newest",
            daemon.address()
        ));
        browser.picture(&path, SIZE);
    }
    let picture = std::fs::read(&path).expect("the picture is read");
    assert!(picture.len() <= 60 << 10, "{} octets", picture.len());
    // Width and height are in the header of a PNG file (ISO/IEC 15948 §11.2.2).
    let number = |at: usize| {
        let octets: [u8; 4] = picture[at..at + 4].try_into().expect("four octets");
        u32::from_be_bytes(octets)
    };
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!((number(16), number(20)), SIZE);
}

#[test]
fn r_g_numbers_of_lists_are_inside_the_column() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("many.mrk");
    let many: String = (0..10_010)
        .map(|number| format!("=LDR  00000nam a2200000   4500\n=001  {number}\n=245  10$aWar\n\n"))
        .collect();
    std::fs::write(&path, many).expect("written");
    let database = format!("many={}", path.display());
    let daemon = Daemon::start(["--database", &database]);
    browser.set_view(View {
        width: 340,
        is_dark: false,
    });
    for start in [1, 10, 95, 101, 995, 1001, 9995, 10_001] {
        let path = format!("/search?q=war&start={start}");
        browser.open(&format!("http://{}{path}", daemon.address()));
        // The script measures the text of the highest number in the list. It must fit into the padding to the left of the
        // records.
        let script = "const list = document.querySelector('ol');
            const last = list.start + list.children.length - 1;
            const number = document.createElement('span');
            number.textContent = last + '.\u{a0}';
            list.append(number);
            const width = number.getBoundingClientRect().width;
            number.remove();
            const room = parseFloat(getComputedStyle(list).paddingLeft);
            return [room - width, list.children.length]";
        let found = browser.evaluate(script);
        let room = found[0].as_f64().expect("a number");
        assert!((0.0..20.0).contains(&room), "{start}: {room}");
        assert_eq!(browser.overflow(), 0, "{start}");
    }
}

#[test]
fn every_page_fits_and_keeps_nobody_out() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let axe = axe_core();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("unusual.mrk");
    std::fs::write(&path, unusual()).expect("written");
    let database = format!("unusual={}", path.display());
    let daemon = Daemon::start(["--demo", "--database", &database]);
    let server = daemon.address().to_string();
    let union = Union::start();
    let front = union.front.address().to_string();
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&pictures).expect("a folder");
    let mut found = Vec::new();
    for (look, width, is_dark) in [
        ("light", 1280, false),
        ("dark", 1280, true),
        ("narrow", 390, false),
        ("narrowest", 320, true),
    ] {
        browser.set_view(View { width, is_dark });
        let own = PAGES.map(|page| (&server, page));
        let of_union = UNION_PAGES.map(|page| (&front, page));
        for (server, (name, path, heading)) in own.into_iter().chain(of_union) {
            let path = path.replace("SERVER", server);
            browser.open(&format!("http://{server}{path}"));
            let title = browser.text("h1");
            assert!(title.starts_with(heading), "{name}: {title}");
            browser.open_details();
            browser.screenshot(&pictures.join(format!("{name}-{look}.png")));
            let overflow = browser.overflow();
            if overflow > 0 {
                found.push(format!("{name}, {look}: {overflow} pixels too wide"));
            }
            let of_axe = axe.iter().flat_map(|axe| browser.axe(axe));
            found.extend(of_axe.map(|finding| format!("{name}, {look}: {finding}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
