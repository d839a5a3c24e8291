//! Tests the filter for XML from other servers with mutations of unusual records. Whatever it accepts must be a single element
//! for another parser too, wherever it is inserted.

use std::fmt::Write as _;

use z3950_asn1::sru::XmlElement;
use z3950_marc::text::is_unprintable;
use z3950_tests::peer;
use z3950_tests::program::run;
use z3950_tests::random::{Random, mutations};
use z3950_tests::surroundings::command;

use crate::hostile::odd::documents;

/// Markup that is malformed, or damages the document into which it is inserted.
const BROKEN: [&str; 38] = [
    "<",
    ">",
    "</",
    "/>",
    "&",
    ";",
    "'",
    "\"",
    "=",
    " ",
    "\0",
    "\u{1}",
    "\u{FFFE}",
    "\u{FEFF}",
    "<!--",
    "-->",
    "--",
    "<![CDATA[",
    "]]>",
    "<?",
    "?>",
    "<?xml version='1.0'?>",
    "<!DOCTYPE a>",
    "<!ENTITY",
    "&#0;",
    "&#x1F;",
    "&#xD800;",
    "&nbsp;",
    "<a>",
    "</a>",
    "</wrap>",
    "</record>",
    "<zs:a/>",
    "<a:b xmlns:c=''/>",
    " xmlns='urn:b'",
    " zs:b='1'",
    " a=1",
    "</zs:recordData></zs:record>",
];

/// Markup that is allowed wherever text is.
const WHOLE: [&str; 16] = [
    "\n",
    "\r\n",
    "\t",
    "\u{85}",
    "\u{2028}",
    "&#65;",
    "&amp;",
    "&#x10FFFF;",
    "<a/>",
    "<a></a>",
    "<!-- </a> -->",
    "<![CDATA[</a>&]]>",
    "<?a </b>?>",
    "<zs:a xmlns:zs='urn:a'/>",
    "<a xmlns='' b='&#60;>'/>",
    "<é xml:lang='é'>é</é>",
];

/// Returns a changed document. Usually, one to three pieces of markup are inserted, most of them before other markup; otherwise,
/// the octets are mutated.
fn mutant(random: &mut Random, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut octets = random.pick(samples).clone();
    if random.below(4) == 0 {
        return random.mutate(&octets, samples);
    }
    for _ in 0..=random.below(3) {
        let anywhere = random.below(octets.len() + 1);
        let next = octets[anywhere..].iter().position(|octet| *octet == b'<');
        let at = match next {
            Some(next) if random.below(4) > 0 => anywhere + next,
            _ => anywhere,
        };
        let piece = if random.below(3) == 0 {
            *random.pick(&BROKEN)
        } else {
            *random.pick(&WHOLE)
        };
        octets.splice(at..at, piece.bytes());
    }
    octets
}

/// Returns a document in which an element is surrounded by the text that surrounds it in an SRU response.
fn around(element: &[u8]) -> Vec<u8> {
    let before = b"<?xml version='1.0' encoding='UTF-8'?>\n<zs:wrap xmlns:zs='urn:wrap'>";
    [before, element, b"</zs:wrap>"].concat()
}

/// A Python program that reads documents, each with the name of the only element that it should contain, and reports documents
/// that contain anything else.
const READER: &str = "
import json, sys, xml.etree.ElementTree
good = 0
for line in sys.stdin:
    octets, name = json.loads(line)
    octets = bytes.fromhex(octets)
    try:
        root = xml.etree.ElementTree.fromstring(octets)
    except xml.etree.ElementTree.ParseError as error:
        print(error, octets)
        continue
    names = [child.tag for child in root]
    if root.tag != '{urn:wrap}wrap' or names != [name] or root.text or root[0].tail:
        print(root.tag, names, name, octets)
        continue
    good += 1
print(good)
";

#[test]
fn audit_r_x1_mutated_records_are_one_element_or_refused() {
    let mut random = Random::new("mutated records at the gate");
    let documents = documents();
    let samples = documents.iter().map(|(_, _, octets)| octets.clone());
    let samples: Vec<_> = samples.collect();
    let sound = documents.iter().filter(|(_, is_sound, _)| *is_sound);
    let sound: Vec<_> = sound.map(|(_, _, octets)| octets.clone()).collect();
    let (mut accepted, mut lines) = (0, String::new());
    let count = mutations(500);
    for number in 0..count {
        let from = if number % 2 == 0 { &sound } else { &samples };
        let mutant = mutant(&mut random, from);
        match XmlElement::read(mutant.clone()) {
            Ok(element) => {
                accepted += 1;
                let octets = z3950_tests::hex::digits(&around(element.octets()));
                let name = match element.namespace() {
                    "" => element.name().to_owned(),
                    namespace => format!("{{{namespace}}}{}", element.name()),
                };
                let line = serde_json::json!([octets, name]);
                writeln!(lines, "{line}").expect("a string has room");
            }
            Err(error) => {
                let words = error.to_string();
                let shown = mutant.escape_ascii();
                assert!(words.contains(' ') && words.len() < 400, "{shown}: {words}");
                assert!(!words.contains(is_unprintable), "{shown}: {words:?}");
            }
        }
    }
    // Both acceptance and refusal occur often enough for the test to be meaningful.
    assert!(
        (count / 10..count * 9 / 10).contains(&accepted),
        "{accepted}"
    );
    if let Some(python) = peer::find("python3") {
        let ran = run(command(python).args(["-c", READER]), &lines);
        assert_eq!(
            (&*ran.stdout, &*ran.stderr),
            (&*format!("{accepted}\n"), "")
        );
    }
}
