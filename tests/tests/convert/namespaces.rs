//! Tests of the namespaces of MARCXML that servers send: as a complete record, and within OPAC records and task packages.

use quick_xml::events::Event;
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;
use z3950_tests::program::{z3950, z3950_fed};

const SLIM: &str = "http://www.loc.gov/MARC21/slim";

/// Counts the MARCXML elements in the text: those in the MARCXML namespace, and those outside it.
fn elements(text: &str) -> (usize, usize) {
    let mut reader = NsReader::from_str(text);
    let (mut within, mut without) = (0, 0);
    loop {
        let (namespace, event) = reader.read_resolved_event().expect("well-formed XML");
        let name = match &event {
            Event::Start(element) | Event::Empty(element) => element.local_name(),
            Event::Eof => return (within, without),
            _ => continue,
        };
        if matches!(
            name.as_ref(),
            "record" | "leader" | "controlfield" | "datafield" | "subfield"
        ) {
            match namespace {
                ResolveResult::Bound(found) if found.as_ref() == SLIM => within += 1,
                _ => without += 1,
            }
        }
    }
}

fn check(text: &str) {
    let (within, without) = elements(text);
    assert!(within > 10 && without == 0, "{within}, {without}: {text}");
}

#[test]
fn audit_c1_a_record_by_present_has_its_namespace() {
    for element_set in ["f", "b"] {
        let url = format!("z39.50r://localhost/books?pg1342;esn={element_set};rs=xml");
        let ran = z3950(["--demo", "get", "--format", "raw", &url]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
        assert!(ran.stdout.starts_with("<record "), "{}", ran.stdout);
        check(&ran.stdout);
    }
}

#[test]
fn audit_c1_documents_have_the_namespace_once() {
    let ran = z3950([
        "--demo",
        "get",
        "--format",
        "marcxml",
        "z39.50r://localhost/books?pg1342",
        "z39.50r://localhost/books?pg23873;rs=xml",
    ]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    assert_eq!(ran.stdout.matches("xmlns=").count(), 1);
    check(&ran.stdout);
    let converted = z3950_fed(["convert", "--to", "marcxml"], &ran.stdout);
    assert_eq!(converted.stdout, ran.stdout);
}
