//! Tests of URLs in text and in records, first with the table `extract.tsv`, and then with wrapped and mutated texts.

use z3950::url::extract::{Extraction, extract, in_record, scan, wrap};
use z3950::url::{Locator, Mode};
use z3950_marc::Field;
use z3950_marc::Leader;
use z3950_marc::MarcRecord;
use z3950_tests::random::{Random, mutations};

use crate::url::table::{mode_named, octets, rows};

const EXTRACT: &str = include_str!("../../fixtures/urls/extract.tsv");
/// The tables with URLs of every scheme in their third column.
const URLS: [&str; 3] = [
    include_str!("../../fixtures/urls/z3950.tsv"),
    include_str!("../../fixtures/urls/rfc1738.tsv"),
    include_str!("../../fixtures/urls/gopher.tsv"),
];

#[test]
fn texts_give_the_result_of_the_table() {
    for [row, what, text, expected] in rows(EXTRACT) {
        let text = octets(text);
        let found = match what {
            "extract" => shown(&extract(&text)),
            "scan" => shown(&scan(&text)),
            mode => match Locator::parse(&text, mode_named(mode)) {
                Ok(locator) => {
                    let fragment = locator
                        .fragment()
                        .map(|fragment| format!(" fragment={fragment}"));
                    format!("{locator}{}", fragment.unwrap_or_default())
                }
                Err(refusal) => format!("Err {}@{}", refusal.kind().name(), refusal.offset()),
            },
        };
        assert_eq!(found, expected, "{row} {}", text.escape_ascii());
    }
}

fn shown(extraction: &Extraction) -> String {
    let urls = extraction.urls.iter().map(|found| {
        let mut line = format!("{} {}..{}", found.url, found.range.start, found.range.end);
        for (mark, word) in [
            (found.heuristic, " heuristic"),
            (found.written.is_some(), " mended"),
            (found.may_continue, " may-continue"),
        ] {
            line += if mark { word } else { "" };
        }
        let alternates = found
            .alternates
            .iter()
            .map(|alternate| format!(" or {alternate}"));
        alternates.fold(line, |line, alternate| line + &alternate)
    });
    let urls = urls.collect::<Vec<_>>().join(" | ");
    let faults = extraction
        .faults
        .iter()
        .map(|fault| format!("! {}@{}", fault.kind.name(), fault.offset));
    let parts = (!urls.is_empty()).then_some(urls).into_iter().chain(faults);
    parts.collect::<Vec<_>>().join(" ")
}

#[test]
fn alternates_are_bounded() {
    let text = format!("<URL:http://a.example/{}x>", "y-\n".repeat(10_000));
    let found = &extract(text.as_bytes()).urls[0];
    assert_eq!(found.alternates.len(), 8);
    assert!(
        found
            .alternates
            .iter()
            .all(|alternate| alternate.len() < found.url.len())
    );
}

/// L-4.5: canonical forms must survive the wrapping of lines in mail, at every width.
#[test]
fn wrapped_urls_are_found_as_they_were() {
    let mut count = 0;
    for [_, _, text, _] in URLS.into_iter().flat_map(rows) {
        let Ok(locator) = Locator::parse(octets(text), Mode::Lenient) else {
            continue;
        };
        let canonical = locator.canonical();
        for width in 20..=76 {
            let wrapped = wrap(&canonical, width);
            let lines: Vec<&str> = wrapped.lines().collect();
            let too_long = lines.iter().any(|line| line.len() > width);
            let after_hyphen = lines.iter().rev().skip(1).any(|line| line.ends_with('-'));
            assert!(!too_long && !after_hyphen, "{wrapped}");
            let text = format!("see \"{}\", there", wrapped.replace('\n', "\r\n    "));
            let found = extract(text.as_bytes());
            assert_eq!((found.urls.len(), found.faults.len()), (1, 0), "{text}");
            assert_eq!(found.urls[0].url, canonical, "{text}");
            assert_eq!(found.urls[0].alternates, Vec::<String>::new(), "{text}");
        }
        count += 1;
    }
    assert!(count > 300, "{count} URLs");
}

/// RFC 1738 Appendix: lines must not exceed the requested width, even if the URL has hyphens.
#[test]
fn audit_b12_lines_are_no_longer_than_requested() {
    let urls = [
        "http://a.example/a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p".to_owned(),
        format!("x:{}", "-".repeat(200)),
        format!("x:{}a", "-".repeat(100)),
        format!("x:{}a{}", "-".repeat(15), "-".repeat(19)),
        "http://a.example/-".to_owned(),
    ];
    for url in urls {
        for width in 20..=76 {
            let wrapped = wrap(&url, width);
            assert!(wrapped.lines().all(|line| line.len() <= width), "{wrapped}");
            assert_eq!(extract(wrapped.as_bytes()).urls[0].url, url, "{wrapped}");
            let after_hyphen = wrapped.lines().any(|line| line.ends_with('-'));
            assert!(
                !after_hyphen || url.contains(&"-".repeat(width - 7)),
                "{wrapped}"
            );
        }
    }
}

#[test]
fn fields_of_records() {
    let record = MarcRecord {
        leader: Leader::padded(b"00000nam a2200000 a 4500"),
        fields: vec![
            Field::data(
                b"024",
                *b"7 ",
                [("a", "https://doi.example/10.1/x"), ("2", "uri")],
            ),
            Field::data(b"024", *b"7 ", [("a", "10.1/x"), ("2", "doi")]),
            Field::data(b"035", *b"  ", [("a", "(URI)http://id.example/1")]),
            Field::data(b"035", *b"  ", [("a", "(OCoLC)12345")]),
            Field::data(
                b"856",
                *b"40",
                [
                    ("u", " http://a.example/b. "),
                    ("u", "z39.50r://lib.example/cat?x"),
                    ("z", "http://no.example/"),
                ],
            ),
            Field::data(
                b"856",
                *b"40",
                [(
                    "u",
                    "Table: http://c.example/, and <URL:http://d.\nexample/>",
                )],
            ),
        ],
    };
    let found: Vec<String> = in_record(&record, None)
        .urls
        .iter()
        .map(|url| {
            let sure = if url.found.heuristic { "?" } else { "" };
            format!(
                "{}/{}${} {}{sure}",
                url.tag, url.occurrence, url.code, url.found.url
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "856/1$u http://a.example/b.",
            "856/1$u z39.50r://lib.example/cat?x",
            "856/2$u http://c.example/?",
            "856/2$u http://d.example/",
            "024/1$a https://doi.example/10.1/x?",
            "035/1$a http://id.example/1?",
        ]
    );
}

/// A subfield 856 $u contains one URL in the character set of the record. If the URL is truncated, this must be reported.
#[test]
fn audit_b11_urls_of_records_are_whole() {
    let check = |leader: &[u8], value: &[u8], expected: &[&str]| {
        let record = MarcRecord {
            leader: Leader::padded(leader),
            fields: vec![Field::data(b"856", *b"40", [("u", value.to_vec())])],
        };
        let found = in_record(&record, None).urls.into_iter().map(|url| {
            let mended = if url.found.written.is_some() {
                " mended"
            } else {
                ""
            };
            let alternates = url.found.alternates.iter();
            let alternates: String = alternates.map(|url| format!(" or {url}")).collect();
            format!("{}{mended}{alternates}", url.found.url)
        });
        assert_eq!(
            found.collect::<Vec<_>>(),
            expected,
            "{}",
            value.escape_ascii()
        );
    };
    let utf8 = b"00000nam a2200000 a 4500";
    let marc8 = b"00000nam  2200000 a 4500";
    let cafe = "http://a.example/caf%C3%A9 mended";
    check(utf8, "http://a.example/café".as_bytes(), &[cafe]);
    check(marc8, "http://a.example/café".as_bytes(), &[cafe]);
    check(marc8, b"http://a.example/caf\xE2e", &[cafe]);
    check(
        utf8,
        b"http://a.example/b c.pdf",
        &["http://a.example/b%20c.pdf mended or http://a.example/b"],
    );
    check(
        utf8,
        b"http://a.example/ http://b.example/",
        &["http://a.example/", "http://b.example/"],
    );
    check(utf8, b"Table: http://c.example/", &["http://c.example/"]);
}

/// Tests 20,000 mutated texts; `Z3950_MUTATIONS=N` multiplies this number. The ranges that are found must be within the text, in
/// order, and contain the URL.
#[test]
fn urls_found_in_mutated_texts_are_in_the_text() {
    let samples: Vec<Vec<u8>> = rows(EXTRACT).map(|[_, _, text, _]| octets(text)).collect();
    let mut random = Random::new("extract");
    for _ in 0..mutations(20_000) {
        let mut text = random.mutate(&random.clone().pick(&samples).clone(), &samples);
        let at = random.below(text.len() + 1);
        text.insert(at, *random.pick(b"<>:-\n/(>)."));
        let mut end = 0;
        for found in scan(&text).urls {
            assert!(
                found.range.start >= end && found.range.end <= text.len(),
                "{}",
                text.escape_ascii()
            );
            end = found.range.end;
            let graphic = text[found.range]
                .iter()
                .filter(|octet| octet.is_ascii_graphic());
            let url: String = graphic.map(|&octet| char::from(octet)).collect();
            let fits = found.url.bytes().all(|octet| octet.is_ascii_graphic());
            let is_same = found.written.is_some() || url == found.url;
            assert!(fits && is_same, "{} {}", found.url, text.escape_ascii());
        }
    }
}

/// Text full of unfinished schemes, brackets or wrappers must still be read in linear time.
#[test]
fn hostile_texts_are_read_in_linear_time() {
    for piece in [
        "a:",
        "aa://",
        "mailto:",
        "<URL:",
        "<URL:a",
        "aa://)",
        "http://a.example/)))))",
        "news:",
        "[",
        ":",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        scan(text.as_bytes());
    }
}
