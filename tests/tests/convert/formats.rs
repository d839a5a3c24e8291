//! Tests of `--format` with `get` and at the prompt: several records in one document, in any script.

use z3950_tests::program::{Ran, z3950, z3950_fed};

const CYRILLIC: &str = "z39.50r://localhost/books?demo-ostrog-bible";
const HEBREW: &str = "z39.50r://localhost/books?demo-tanakh-kittel";
const CHINESE: &str = "z39.50r://localhost/books?pg23873";

fn get(format: &str, urls: &[&str]) -> Ran {
    let ran = z3950(["--demo", "get", "--format", format].iter().chain(urls));
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{format}");
    ran
}

#[test]
fn brief_in_any_script() {
    for (url, text) in [
        (
            CYRILLIC,
            "Библия. Церковнославянский. 1581.\n\
             Библиа сирѣчь книгы ветхаго и новаго завѣта по языку словенску.\n\
             Острог : Иван Федоров, 1581. – 1 volume.\n\
             [demo-ostrog-bible]\n",
        ),
        (
            HEBREW,
            "תנ״ך.\n\
             תורה נביאים וכתובים = Biblia Hebraica / edidit Rud. Kittel.\n\
             Lipsiae : J.C. Hinrichs, 1905-1906. – 2 volumes.\n\
             [demo-tanakh-kittel]\n",
        ),
        (
            CHINESE,
            "詩經.\n\
             毛詩注疏 / 鄭玄箋 ; 孔穎達疏 ; 阮元校刊.\n\
             南昌 : 南昌府學, 嘉慶20 [1815] – 1 volume. – (重栞宋本十三經注疏)\n\
             [pg23873]\n",
        ),
    ] {
        assert_eq!(get("brief", &[url]).stdout, text);
    }
}

#[test]
fn dublin_core_in_any_script() {
    for (url, elements) in [
        (
            CYRILLIC,
            [
                "<dc:title>Библиа сирѣчь книгы",
                "<dc:publisher>Иван Федоров</dc:publisher>",
                "<dc:language>chu<",
            ],
        ),
        (
            HEBREW,
            [
                "<dc:title>תורה נביאים וכתובים = Biblia",
                "<dc:date>1905-1906</dc:date>",
                "<dc:language>heb<",
            ],
        ),
        (
            CHINESE,
            [
                "<dc:title>毛詩注疏<",
                "<dc:publisher>南昌府學<",
                "<dc:contributor>鄭玄, 127-200.<",
            ],
        ),
    ] {
        let text = get("dc", &[url]).stdout;
        for element in elements {
            assert!(text.contains(element), "{element}\n{text}");
        }
    }
}

#[test]
fn several_records_are_one_document() {
    let urls = [CYRILLIC, HEBREW, CHINESE];
    for (format, begin, each, end) in [
        ("marcxml", "<?xml ", "<record>", "</collection>\n"),
        ("dc", "<?xml ", "<oai_dc:dc ", "</oai_dc:dcCollection>\n"),
        ("json", "{\"title\"", "\"fields\":[", "]}\n"),
        (
            "marcxchange",
            "<?xml ",
            "<record format=\"MARC21\" ",
            "</collection>\n",
        ),
        ("mrk", "=LDR  ", "\n=001  ", "\n"),
        ("line", "", "\n001 ", "\n"),
        ("text", "", "\n001 ", "\n"),
    ] {
        let text = get(format, &urls).stdout;
        assert!(text.starts_with(begin) && text.ends_with(end), "{text}");
        assert_eq!(text.matches(each).count(), 3, "{text}");
        assert_eq!(
            text.matches("<?xml").count(),
            begin.matches("<?xml").count()
        );
    }
    assert_eq!(get("json", &urls).stdout.lines().count(), 3);
    let marc = get("marc", &urls).octets;
    let line = z3950_fed(
        ["convert", "--from", "marc"],
        &*String::from_utf8_lossy(&marc),
    );
    assert_eq!(line.stdout, get("line", &urls).stdout);
}

#[test]
fn an_answer_at_the_prompt_is_one_document() {
    let ran = z3950_fed(
        [
            "--demo",
            "open",
            "--format",
            "marcxml",
            "z39.50s://localhost/books",
        ],
        "find @attr 1=4 war\nshow 1+2\nshow 1\n",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for (mark, times) in [("<?xml", 1), ("<record>", 3), ("</collection>", 1)] {
        assert_eq!(
            ran.stdout.matches(mark).count(),
            times,
            "{mark}\n{}",
            ran.stdout
        );
    }
}

#[test]
fn marc_formats_refuse_other_records() {
    let url = "z39.50r://localhost/books?pg1342;rs=sutrs";
    let ran = z3950(["--demo", "get", "--format", "marcxml", url]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert!(ran.stderr.contains("is not MARC"), "{}", ran.stderr);
    assert!(get("brief", &[url]).stdout.contains("Pride and prejudice"));
    let refused = z3950(["--demo", "get", "--charset", "nosuch", url]);
    assert_eq!(refused.code, Some(2));
}
