//! The page in Chromium: from an ISBN to the record, its file and its URL; and every page in light and dark, on a desk and on a phone,
//! with axe-core. Pictures of the pages are in `target/tmp/page`.

use std::path::Path;

use z3950_tests::browser::{Browser, View, axe_core};
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
    assert_eq!(taken, "Taken as the ISBN 978-0-14-143958-7.");
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
    let downloaded = browser.downloaded("records.mrc");
    assert_eq!(downloaded, record.octets, "the octets of the record");
    // The URL leads through the gateway to the same record.
    browser.open(&format!("http://{}/", daemon.address()));
    browser.type_into("#q", &url);
    browser.follow("form button");
    let place = format!("http://127.0.0.1:{port}/get?url=");
    assert!(browser.url().starts_with(&place), "{}", browser.url());
    assert_eq!(browser.text("h1"), title);
    browser.click("a[href$='format=marc']");
    assert_eq!(browser.downloaded("pg158.mrc"), record.octets);
}

/// The pages of a server, each with the text of its heading.
const PAGES: [(&str, &str, &str); 11] = [
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
    (
        "record",
        "/search?q=isbn:9780141439587&target=books&at=1",
        "Emma",
    ),
    ("targets", "/targets", "Databases"),
    ("failure", "/search?q=%40attr+1%3D", "Bad Request"),
    (
        "gateway-record",
        "/get?url=z39.50r://SERVER/books?pg158",
        "Emma",
    ),
    (
        "gateway-failure",
        "/get?url=z39.50r://lib.example/books?pg158",
        "Forbidden",
    ),
];

/// Records with words that do not fit, with letters from right to left, and with controls.
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
        for (name, path, heading) in PAGES {
            let path = path.replace("SERVER", &server);
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
